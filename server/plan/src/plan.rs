//! What whoever runs a compiled script must know: where its programs are attached, what their records mean, what is in
//! its maps. It is self-contained and travels (as JSON) from the agent, which compiles, to the console, which reads.
//!
//! **Records.** All output of a script goes through one BPF ring. A record begins with [`RecordHeader`], then the site's
//! fields at their offsets. Text is a `u32` length (without NUL) and then its bytes, not filled up; so what follows a text has no
//! fixed place, and a site's fields lie in this order: first all of fixed size at their [`SiteField::offset`], then the
//! texts and buffers ([`Type::has_length`]) one after the other in the order of the fields, each at the next multiple of
//! 4. A text ends at its first NUL if there is one within its length: short ones are sent with all of their room, since
//! counting their bytes would cost more than sending them.
//!
//! **Losses.** The map [`COUNTERS`] is a per-CPU array with one entry of [`COUNTER_WORDS`] words for each probe of the plan.

use serde::{Deserialize, Serialize};

use crate::{Aggregation, Diagnostic, StackMode, Type};

/// The per-CPU array of counters: an entry for each program, by index in [`Plan::programs`].
pub const COUNTERS: &str = "counters";
/// The ring.
pub const RING: &str = "ring";
/// Stack bodies of the kernel and of user space: hash maps from the `u64` hash of the frames to [`STACK_FRAMES`] 8-byte
/// addresses, ending at the first zero.
pub const KERNEL_STACKS: &str = "kernel_stacks";
/// See [`KERNEL_STACKS`].
pub const USER_STACKS: &str = "user_stacks";
/// The most frames of a stack.
pub const STACK_FRAMES: u32 = 127;
/// Words of an entry of [`COUNTERS`], in order: runs of the body, hits filtered (by the predicate or target), records that did not fit into
/// the ring, updates that a full map refused, reads and other helpers that failed, stacks that could not be kept, hits at
/// which too many other runs had begun on the CPU and not ended.
pub const COUNTER_WORDS: u32 = 7;

/// The most rows of unwind tables, of all files of a script together.
pub const MAX_UNWIND_ROWS: u32 = 1 << 20;
/// The most files with unwind tables.
pub const MAX_UNWIND_FILES: u32 = 2048;

/// How each record begins, little endian: `site`, `probe` (index in [`Plan::probes`], or of the program's first one where
/// the program cannot know which it was), `time_ns` (monotonic), `pid`, `tid` (of the host), `cpu`, and `reserved` (0).
/// If [`Plan::comm`] is set, 16 bytes of the thread's name follow. From `time_ns` on a record is zeros where nobody asked for
/// more than what it shows (`CompileOptions::bare` of the compiler).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "described above")]
pub struct RecordHeader {
    pub site: u32,
    pub probe: u32,
    pub time_ns: u64,
    pub pid: u32,
    pub tid: u32,
    pub cpu: u32,
    pub reserved: u32,
}

/// Bytes of a [`RecordHeader`].
pub const HEADER_BYTES: u32 = 32;
/// Bytes of the thread's name after it.
pub const COMM_BYTES: u32 = 16;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Every attach point.
    pub probes: Vec<ProbePlan>,
    /// The programs of the object.
    pub programs: Vec<ProgramPlan>,
    /// What records mean, by their `site`.
    pub sites: Vec<Site>,
    /// The script's maps.
    pub maps: Vec<MapPlan>,
    /// Whether records carry the thread's name.
    pub comm: bool,
    /// Whether the script keeps kernel stacks.
    pub kernel_stacks: bool,
    /// Whether the script keeps user stacks.
    pub user_stacks: bool,
    /// The settings.
    pub config: Config,
    /// Warnings of the compiler.
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// Whether nothing happens after the start: what the script has beside `begin` and `end` are walks over what the kernel
    /// has, which end by themselves, and probes of which `is_missing` (by index in [`Plan::probes`]) says that they could not
    /// be attached.
    pub fn is_over_at_start(&self, is_missing: impl Fn(u32) -> bool) -> bool {
        let ends =
            |point: &AttachPoint| matches!(point, AttachPoint::Begin | AttachPoint::End | AttachPoint::Iterator { .. });
        (0..).zip(&self.probes).all(|(index, probe)| ends(&probe.point) || is_missing(index))
    }

    /// Whether a record's probe is an `end` probe.
    pub fn is_end(&self, probe: u32) -> bool {
        self.probes.get(probe as usize).is_some_and(|probe| probe.point == AttachPoint::End)
    }
}

/// An attach point of the script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// What `probe` gives: `kprobe:vfs_read`.
    pub name: String,
    /// Where.
    pub point: AttachPoint,
    /// Index in [`Plan::programs`].
    pub program: u32,
    /// Line of the probe in the script, from 1.
    pub line: u32,
}

/// A program of the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramPlan {
    /// Its name in the object.
    pub name: String,
    /// What it is loaded as.
    pub kind: ProgramType,
    /// Whether it asks for its attach cookie, which must then be the index of the attach point in [`Plan::probes`].
    pub cookie: bool,
    /// Line of the probe in the script, from 1.
    pub line: u32,
    /// If it is for many system calls: it is attached once, to the tracepoint of all calls, and finds out itself which of its
    /// attach points was hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallSide>,
}

/// A side of all system calls, which has a tracepoint: `raw_syscalls:sys_enter` and `raw_syscalls:sys_exit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallSide {
    /// Before each call.
    Entry,
    /// After each call.
    Exit,
}

impl CallSide {
    /// The subsystem and the name of its tracepoint.
    pub fn tracepoint(self) -> (&'static str, &'static str) {
        match self {
            Self::Entry => ("raw_syscalls", "sys_enter"),
            Self::Exit => ("raw_syscalls", "sys_exit"),
        }
    }

    /// Whether a tracepoint of a single call is on this side.
    pub fn has(self, point: &AttachPoint) -> bool {
        let AttachPoint::Tracepoint { system, name } = point else { return false };
        let begin = match self {
            Self::Entry => "sys_enter_",
            Self::Exit => "sys_exit_",
        };
        system == "syscalls" && name.starts_with(begin)
    }
}

/// What a program is loaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramType {
    /// Run by `BPF_PROG_TEST_RUN` (`raw_tracepoint`): begin, end, self:signal.
    Run,
    /// `tracepoint`.
    Tracepoint,
    /// `tracing` with `BPF_TRACE_RAW_TP`.
    RawTracepoint,
    /// `kprobe` for kernel functions (single or multi: the agent's choice by kernel).
    Kprobe,
    /// `kprobe` for user functions and markers.
    Uprobe,
    /// `tracing` with `BPF_TRACE_FENTRY`.
    Fentry,
    /// `tracing` with `BPF_TRACE_FEXIT`.
    Fexit,
    /// `perf_event`.
    PerfEvent,
    /// `tracing` with `BPF_TRACE_ITER`.
    Iterator,
}

/// Where a program is attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachPoint {
    /// Run before the other probes are attached.
    Begin,
    /// Run after the other probes are detached.
    End,
    /// Run when the console is told to (`self:signal:SIGUSR1`).
    Signal {
        /// Its number.
        number: i32,
    },
    /// A tracepoint.
    Tracepoint {
        /// Its subsystem.
        system: String,
        /// Its name.
        name: String,
    },
    /// A raw tracepoint with types.
    RawTracepoint {
        /// The module that has it; empty for the kernel or if unknown.
        module: String,
        /// Its name.
        name: String,
    },
    /// A kernel function.
    Kprobe {
        /// Its module; empty for any.
        module: String,
        /// Its name; empty if `offset` is an absolute address.
        function: String,
        /// Bytes after its begin.
        offset: u64,
        /// Whether at its return.
        exit: bool,
    },
    /// A kernel function through a trampoline.
    Fentry {
        /// Its module; empty for the kernel.
        module: String,
        /// Its name.
        function: String,
        /// Whether at its return.
        exit: bool,
    },
    /// A place in a file's code.
    Uprobe {
        /// The file, as the agent opens it.
        file: UserFile,
        /// The place, in bytes of the file.
        offset: u64,
        /// Whether at the return of the function that begins there.
        exit: bool,
        /// Only in this process.
        pid: Option<u32>,
        /// The function and offset, as shown.
        symbol: String,
    },
    /// A marker.
    Usdt {
        /// The file.
        file: UserFile,
        /// The place, in bytes of the file.
        offset: u64,
        /// Place of the semaphore in the file; 0 for none.
        semaphore: u64,
        /// Only in this process.
        pid: Option<u32>,
        /// Its provider.
        provider: String,
        /// Its name.
        name: String,
        /// Where its arguments are, at this place.
        arguments: Vec<UsdtArgument>,
    },
    /// On every CPU, so often.
    Profile {
        /// How often.
        every: Period,
    },
    /// On one CPU, so often.
    Interval {
        /// How often.
        every: Period,
    },
    /// A perf event of the kernel's software or the CPU.
    PerfEvent {
        /// Its name as bpftrace has it: `page-faults`, `cache-misses`.
        name: String,
        /// `type` of its `perf_event_attr`.
        kind: u32,
        /// `config` of its `perf_event_attr`.
        config: u64,
        /// One hit for so many events.
        period: u64,
    },
    /// Accesses of memory.
    Watchpoint {
        /// Address.
        address: u64,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Of `r`, `w`, `x`.
        read: bool,
        /// See `read`.
        write: bool,
        /// See `read`.
        execute: bool,
        /// In this process; none for the kernel.
        pid: Option<u32>,
    },
    /// Objects of the kernel, walked once.
    Iterator {
        /// `task`, `task_file`, `task_vma`.
        target: String,
        /// Where it is pinned; none to run it at once.
        pin: Option<String>,
    },
}

/// A file of user space: the console found it, the agent opens it again and must find the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UserFile {
    /// As the process `in_process` sees it, or as the agent does.
    pub path: String,
    /// The process through whose root it is opened.
    pub in_process: Option<u32>,
    /// Device and inode, which the agent compares.
    pub device: u64,
    /// See `device`.
    pub inode: u64,
}

/// Where a marker's argument is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UsdtArgument {
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether it has a sign.
    pub signed: bool,
    /// Where.
    pub place: UsdtPlace,
}

/// Where a marker's argument is; registers by their offset in `pt_regs`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum UsdtPlace {
    /// Nowhere: a number.
    Constant(i64),
    /// In a register, from its bit `shift` on.
    Register { offset: u32, shift: u8 },
    /// In memory at base + index * scale + displacement.
    Memory { base: u32, index: Option<u32>, scale: u8, displacement: i64 },
}

/// How often a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// So many times a second.
    Hertz(u64),
    /// Each so many nanoseconds.
    Nanoseconds(u64),
}

/// A map of the script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapPlan {
    /// Its name with the `@`; `@` alone for the nameless one.
    pub name: String,
    /// Its name in the object.
    pub object_name: String,
    /// What the kernel keeps it as.
    pub kind: MapType,
    /// Its key's parts; empty for a map of one element. Laid out as a tuple.
    pub key: Vec<Type>,
    /// Its values' type.
    pub value: Type,
    /// Bytes of a key; 4 for a map of one element (its index, 0). A multiple of 8 otherwise; the bytes after the last
    /// part are zero, or for a sparse histogram the last 8 are the bucket's number.
    pub key_bytes: u32,
    /// Bytes of a value on each CPU, a multiple of 8; see [`MapPlan::is_single`].
    pub value_bytes: u32,
    /// The most elements.
    pub max_entries: u32,
    /// Where its type was decided, bytes of the script.
    pub start: u32,
    /// See `start`.
    pub end: u32,
}

impl MapPlan {
    /// Whether each CPU has a value of its own.
    pub fn is_per_cpu(&self) -> bool {
        matches!(self.kind, MapType::PerCpuHash | MapType::PerCpuLruHash | MapType::PerCpuArray)
    }

    /// Whether it is a map without keys, of one element that is an array's. The last 8 bytes of its value are not 0 when it
    /// was set to zeros, so that all of the bytes are 0 only as long as nothing was put in.
    pub fn is_single(&self) -> bool {
        self.key.is_empty() && matches!(self.kind, MapType::Array | MapType::PerCpuArray)
    }

    /// Bytes of a value on each CPU without what tells that it is there.
    pub fn content_bytes(&self) -> u32 {
        if self.is_single() { self.value_bytes.saturating_sub(8) } else { self.value_bytes }
    }

    /// What it aggregates.
    pub fn aggregation(&self) -> Option<&Aggregation> {
        match &self.value {
            Type::Aggregate(aggregation) => Some(aggregation),
            _ => None,
        }
    }
}

/// What the kernel keeps a map as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the kernel's names")]
pub enum MapType {
    Hash,
    LruHash,
    PerCpuHash,
    PerCpuLruHash,
    Array,
    PerCpuArray,
}

/// Something that programs send to user space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// What is to be done.
    pub action: Action,
    /// What it carries.
    pub fields: Vec<SiteField>,
    /// Bytes of header and fields of fixed size.
    pub fixed_bytes: u32,
    /// Bytes of the largest record.
    pub max_bytes: u32,
    /// Where it is in the script.
    pub start: u32,
    /// See `start`.
    pub end: u32,
    /// What tells its place: the calls of macros that brought it there, innermost first, each by its start and end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<(u32, u32)>,
}

/// A value that a record carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteField {
    /// Its column's name, unique in the site: `pid`, `filename` (of `args.filename`), or `arg2`.
    pub name: String,
    /// Its type; texts and buffers are as the module says.
    pub ty: Type,
    /// Where it is in the record; of a text: 0.
    pub offset: u32,
}

/// What a record asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum Action {
    /// `printf`, `errorf`, `warnf`: shows the fields by the format.
    Print { to: Output, format: Vec<FormatPiece> },
    /// `print(value)`.
    PrintValue,
    /// `print(@map[, top[, div]])`; none of the fields is set.
    PrintMap { map: u32, top: Option<u64>, div: Option<u64> },
    /// `print(@map[key])`: fields are the key's parts and then, unless it is an aggregation over CPUs, the value.
    PrintElement { map: u32, div: Option<u64> },
    /// `clear(@map)`.
    Clear { map: u32 },
    /// `zero(@map)`.
    Zero { map: u32 },
    /// `time(format)`: the wall clock of the record's time.
    Time { format: String },
    /// `join(array, delimiter)`: the fields are texts.
    Join { delimiter: String },
    /// `cat(format, …)`: shows the file so named.
    Cat { format: Vec<FormatPiece> },
    /// `system(format, …)`.
    System { format: Vec<FormatPiece> },
    /// `exit(code)`: one field, or none for 0.
    Exit,
    /// An element of an array of unknown use failed; reserved for messages of the run: which helper failed, with one field,
    /// its result.
    HelperFailed { helper: String },
}

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Standard output.
    Out,
    /// `errorf`: standard error, with the place in the script.
    Error,
    /// `warnf`.
    Warning,
}

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum FormatPiece {
    /// Text as it is (bytes, since escapes can make any).
    Literal(Vec<u8>),
    /// The next field.
    Field(Conversion),
}

/// How a field is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// `d i u x X o c p s r b B`, with `r` for `%r`; for `%rx` and `%rh` see `raw`.
    pub letter: char,
    /// How many of a number's bytes are shown, from the lowest: 1, 2 or 4; all if it is 0 or 8.
    #[serde(default)]
    pub bytes: u8,
    /// For `r`: `x` hex without `\x`, `h` hex without blanks, `g` for `%gr`: names of the bits of a `gfp_t`.
    pub raw: Option<char>,
    /// `-`
    pub left: bool,
    /// `0`
    pub zeros: bool,
    /// `+`
    pub plus: bool,
    /// A blank.
    pub blank: bool,
    /// `#`
    pub alternate: bool,
    /// Least width; `*` is not part of the language.
    pub width: Option<u32>,
    /// Precision.
    pub precision: Option<u32>,
}

/// The settings of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Room of `str()` and the like, with the NUL.
    pub max_strlen: u32,
    /// Elements of a map that does not say.
    pub max_map_keys: u32,
    /// Attach points.
    pub max_probes: u32,
    /// Programs.
    pub max_bpf_programs: u32,
    /// Bytes shown by `cat()`.
    pub max_cat_bytes: u64,
    /// What is put after a text that was cut.
    pub str_trunc_trailer: String,
    /// Whether maps are printed at the end.
    pub print_maps_on_exit: bool,
    /// How stacks are shown unless said.
    pub stack_mode: StackMode,
    /// What becomes of probes that do not exist.
    pub missing_probes: MissingProbes,
    /// Bytes of the ring; 0 for the usual.
    pub ring_bytes: u32,
    /// Values larger than this are kept off the stack.
    pub on_stack_limit: u32,
    /// Whether C++ names are shown demangled.
    pub cpp_demangle: bool,
    /// Whether names of addresses are looked up when they are shown and not when probes are attached.
    pub lazy_symbolication: bool,
    /// The licence of the programs.
    pub license: String,
}

/// What becomes of probes that do not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingProbes {
    /// The script does not run.
    #[default]
    Error,
    /// It runs with a warning.
    Warn,
    /// It runs.
    Ignore,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_strlen: 1024,
            max_map_keys: 4096,
            max_probes: 1024,
            max_bpf_programs: 1024,
            max_cat_bytes: 10_240,
            str_trunc_trailer: "..".to_owned(),
            print_maps_on_exit: true,
            stack_mode: StackMode::Bpftrace,
            missing_probes: MissingProbes::Error,
            ring_bytes: 0,
            on_stack_limit: 32,
            cpp_demangle: true,
            lazy_symbolication: true,
            license: "GPL".to_owned(),
        }
    }
}

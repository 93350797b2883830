//! Requests and replies.

use bathyscope_bpf::lang::host::Features;
use bathyscope_capture::{Predicate, TracepointName};
use serde::{Deserialize, Serialize};

use crate::script::{
    Bytes, MapPage, ModuleName, ScriptChecked, ScriptEnabled, ScriptFacts, ScriptRefused, ScriptStage, ScriptStarted,
    WireScript,
};

/// Both sides must speak the same version; they are the same binary, so there is no negotiation.
pub const PROTOCOL_VERSION: u32 = 3;
/// The largest packet.
pub const MAX_MESSAGE_BYTES: usize = 128 << 10;
/// The most descriptors with one packet (the kernel's limit is 253).
pub const MAX_MESSAGE_FDS: usize = 128;
/// The most process ids in one reply.
pub const MAX_PROCESS_PAGE: usize = 4096;
/// The most bytes of paths in one reply.
pub const MAX_GROUP_PAGE_BYTES: usize = 32 << 10;
/// The most containers in one request.
pub const MAX_CONTAINER_IDS: usize = 256;
/// The longest name of a container in a reply, in bytes; longer ones are left out.
pub const MAX_CONTAINER_NAME_BYTES: usize = 256;
/// The most captures that one agent runs at a time.
pub const MAX_CAPTURES: usize = 16;
/// The most links of descriptors in one list.
pub const MAX_FILE_LINKS: usize = 4096;

/// Chosen by the console, new for each capture of a connection.
pub type CaptureHandle = u32;

/// What the console asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// First message of a connection.
    Hello {
        /// [`PROTOCOL_VERSION`].
        version: u32,
    },
    /// Try every way to observe this host. Answered by [`Reply::Capabilities`].
    Capabilities,
    /// Open a file of the kernel for reading. Answered by [`Reply::File`] with one descriptor.
    OpenKernelFile {
        /// Which.
        file: KernelFile,
    },
    /// The processes that exist, in ascending order. Answered by [`Reply::Processes`].
    ListProcesses {
        /// Only those with a greater id.
        after: u32,
    },
    /// The control groups of version 2 that exist, in the order of their paths. Answered by [`Reply::Groups`].
    ListGroups {
        /// Only those with a greater path; empty for all.
        after: String,
    },
    /// What container runtimes call these containers. Answered by [`Reply::ContainerNames`].
    ContainerNames {
        /// Their ids, 64 digits of base sixteen in lower case each; at most [`MAX_CONTAINER_IDS`].
        ids: Vec<String>,
    },
    /// Open a file of a process for reading. Answered by [`Reply::File`] with one descriptor.
    OpenProcessFile {
        /// The process.
        pid: u32,
        /// Which.
        file: ProcessFile,
    },
    /// Make a capture's probes. Nothing is recorded before [`Request::Enable`]. Answered by [`Reply::Started`]. May be large
    /// for a trace.
    Start {
        /// Its handle, unused so far.
        capture: CaptureHandle,
        /// What to record.
        method: WireMethod,
        /// Whose events.
        target: WireTarget,
        /// Bytes of each stream's ring; rounded up to a power of two within the agent's limits.
        ring_bytes: u32,
    },
    /// What a capture that is not enabled yet may cost; a capture of which nothing is said is only told of. Answered by
    /// [`Reply::Done`].
    SetBudget {
        /// Which capture.
        capture: CaptureHandle,
        /// The budget.
        budget: Budget,
    },
    /// The descriptors of the rings from index `from` on. Answered by [`Reply::Rings`].
    TakeRings {
        /// Which capture.
        capture: CaptureHandle,
        /// Index of the first ring in [`Started::rings`].
        from: u32,
    },
    /// Begin to record, then let the command run if there is one. Answered by [`Reply::Enabled`]; for a script, whose
    /// `begin` probes run first, by [`Reply::ScriptEnabled`] or [`Reply::ScriptRefused`].
    Enable {
        /// Which capture.
        capture: CaptureHandle,
    },
    /// Counters, cost and state of the target. Answered by [`Reply::Readings`].
    Readings {
        /// Which capture.
        capture: CaptureHandle,
    },
    /// Detach all probes; the rings keep what they hold. Answered by [`Reply::Stopped`] with the final counters.
    Stop {
        /// Which capture.
        capture: CaptureHandle,
        /// Whether a command that still runs is ended (SIGTERM, then SIGKILL).
        end_command: bool,
    },
    /// Forget a stopped capture and free its handle. Answered by [`Reply::Done`].
    Discard {
        /// Which capture.
        capture: CaptureHandle,
    },
    /// Try every event with a name of its own. Answered by [`Reply::PerfEvents`].
    PerfEvents,
    /// What scripts can use on this host. Answered by [`Reply::Features`].
    HostFeatures,
    /// Compile a script and load nothing. Answered by [`Reply::ScriptChecked`]. May be large (see [`crate::large`]).
    CheckScript {
        /// What to compile.
        script: WireScript,
        /// What of the compiler's work is shown too.
        show: Option<ScriptStage>,
    },
    /// What can stand at a place of a script, and what stands there. Answered by [`Reply::ScriptFacts`]. May be large.
    ScriptFacts {
        /// The script as far as it is written, at most [`crate::MAX_SCRIPT_BYTES`].
        text: String,
        /// The place, in bytes.
        offset: u32,
    },
    /// Compile and load a script; nothing runs before [`Request::Enable`]. Answered by [`Reply::ScriptStarted`], or by
    /// [`Reply::ScriptRefused`] if it does not compile or cannot be attached. May be large.
    StartScript {
        /// Its handle, unused so far.
        capture: CaptureHandle,
        /// What to run.
        script: WireScript,
        /// Whose events.
        target: WireTarget,
        /// Bytes of the script's ring; rounded up to a power of two within the agent's limits. The script's own setting
        /// goes before it.
        ring_bytes: u32,
    },
    /// The elements of a script's map. Answered by [`Reply::MapPage`] with one descriptor.
    ReadMap {
        /// Which capture.
        capture: CaptureHandle,
        /// Index in the plan's maps.
        map: u32,
        /// Removes what is read (an array's values are set to zero), so that nothing is lost between reading and clearing.
        take: bool,
        /// [`MapPage::next`] of the page before; none for the first.
        after: Option<Bytes>,
    },
    /// Some elements of a script's map, those that exist, in the order asked for. Answered by [`Reply::MapPage`] with one
    /// descriptor.
    ReadElements {
        /// Which capture.
        capture: CaptureHandle,
        /// Index in the plan's maps.
        map: u32,
        /// At most [`crate::MAX_KEYS`].
        keys: Vec<Bytes>,
    },
    /// Remove all elements of a script's map. Answered by [`Reply::Changed`].
    ClearMap {
        /// Which capture.
        capture: CaptureHandle,
        /// Index in the plan's maps.
        map: u32,
    },
    /// Set all values of a script's map to zero. Answered by [`Reply::Changed`].
    ZeroMap {
        /// Which capture.
        capture: CaptureHandle,
        /// Index in the plan's maps.
        map: u32,
    },
    /// Remove some elements of a script's map. Answered by [`Reply::Changed`].
    DeleteKeys {
        /// Which capture.
        capture: CaptureHandle,
        /// Index in the plan's maps.
        map: u32,
        /// At most [`crate::MAX_KEYS`].
        keys: Vec<Bytes>,
    },
    /// Bodies of stacks, by id. Answered by [`Reply::Stacks`] with one descriptor.
    ReadStacks {
        /// Which capture.
        capture: CaptureHandle,
        /// Whether of user space.
        user: bool,
        /// At most [`crate::MAX_STACK_IDS`].
        ids: Vec<u64>,
    },
    /// Run the `self:signal` probes of a signal. Answered by [`Reply::Ran`].
    RunSignal {
        /// Which capture.
        capture: CaptureHandle,
        /// The signal's number.
        number: i32,
    },
    /// Walk an iterator once more; all are walked once when the capture is enabled. Answered by [`Reply::Ran`].
    ReadIterator {
        /// Which capture.
        capture: CaptureHandle,
        /// Index in the plan's probes.
        probe: u32,
    },
    /// Open a program or library to look up its symbols: regular ELF files of executables and shared objects only.
    /// Answered by [`Reply::UserFile`] with one descriptor.
    OpenUserFile {
        /// An absolute path.
        path: String,
        /// The process through whose root it is looked up; none for the agent's own.
        in_process: Option<u32>,
    },
}

/// What a capture may cost, and what the agent does if it costs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Share of one CPU that its programs may use, in thousandths.
    pub cpu_permille: u32,
    /// Whether more than that, if it lasts, has fewer rows recorded and then the probes detached; otherwise it is only told.
    pub detach: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self { cpu_permille: 50, detach: false }
    }
}

/// Files of the kernel that the console may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelFile {
    /// `/proc/kallsyms`, with addresses.
    Kallsyms,
    /// `available_events` of tracefs: one `system:event` a line.
    AvailableEvents,
    /// `events/SYSTEM/EVENT/format` of tracefs.
    EventFormat {
        /// Which event.
        tracepoint: TracepointName,
    },
    /// `/sys/kernel/notes`, which holds the kernel's build id.
    Notes,
    /// `/sys/kernel/btf/vmlinux`: the kernel's types.
    Btf,
    /// `/sys/kernel/btf/MODULE`: a module's types, which continue the kernel's.
    ModuleBtf {
        /// Which module.
        module: ModuleName,
    },
    /// `available_filter_functions` of tracefs: a function a line, with its module in brackets.
    FilterFunctions,
    /// `events/header_page` of tracefs: the head of a page of its buffers. It must be read in one piece.
    TraceHeaderPage,
    /// `events/header_event` of tracefs: the head of an event in such a page. It must be read in one piece.
    TraceHeaderEvent,
}

/// Files of a process that the console may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProcessFile {
    /// `/proc/PID/maps`.
    Maps,
    /// `/proc/PID/stat`.
    Stat,
    /// `/proc/PID/status`. PID may be a thread's: it tells whose the thread is.
    Status,
    /// `/proc/PID/cmdline`.
    Cmdline,
    /// The file mapped from `start` to `end`, through `/proc/PID/map_files`, so it is the one in use even if it was
    /// deleted or replaced, and whatever mount namespace the process is in.
    Mapped {
        /// First address of the mapping.
        start: u64,
        /// First address after it.
        end: u64,
    },
    /// `/tmp/perf-PID.map` in the process's own root, numbered as the process numbers itself, if it is a regular file
    /// that belongs to the process's user or to root.
    PerfMap,
    /// What descriptors and the working directory of the process are: no file of its own, but a list that the agent
    /// makes of `/proc/PID/cwd` and `/proc/PID/fd`: for each its number (`i32`, -100 for the working directory), the
    /// length of its link (`u16`) and the link, at most [`MAX_FILE_LINKS`].
    Links,
}

/// How events are obtained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WireMethod {
    /// Hits of tracepoints.
    Events {
        /// One program and one BPF ring for each.
        probes: Vec<WireProbe>,
    },
    /// Sampled stacks.
    Profile(WireProfile),
    /// How often events happen.
    Count(WireCount),
    /// What the kernel's own tracer records.
    Trace(Box<WireTrace>),
    /// System calls.
    Syscalls(WireSyscalls),
}

/// A trace by ftrace; see `bathyscope_capture::TraceSpec`, whose rules hold for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WireTrace {
    /// The tracer; none records events only.
    pub tracer: Option<String>,
    /// Functions to trace: patterns, or `PATTERN:mod:MODULE`.
    pub functions: Vec<String>,
    /// Functions not to trace.
    pub not_functions: Vec<String>,
    /// Functions whose calls the graph begins with.
    pub graph_roots: Vec<String>,
    /// Functions that the graph leaves out.
    pub graph_not: Vec<String>,
    /// How deep the graph goes.
    pub max_depth: Option<u32>,
    /// Events to record.
    pub events: Vec<WireTraceEvent>,
    /// Probes to make and record, in the kernel's grammar.
    pub dynamic: Vec<String>,
    /// Options, on or off.
    pub options: Vec<(String, bool)>,
    /// The clock; none means `mono`.
    pub clock: Option<String>,
    /// KiB of buffer for each CPU; none leaves it to the agent.
    pub buffer_kib: Option<u32>,
    /// Whether a full buffer loses its oldest events instead of the new ones.
    pub overwrite: bool,
}

/// An event of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireTraceEvent {
    /// Which.
    pub event: TracepointName,
    /// A condition in the kernel's own filter language.
    pub filter: Option<String>,
}

/// Which system calls, and how much of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSyscalls {
    /// Names and sets; none means all.
    pub calls: Vec<String>,
    /// Which results.
    pub outcome: WireOutcome,
    /// Only calls that took so long.
    pub min_duration_ns: u64,
    /// Only calls with a path that begins so.
    pub path: Option<String>,
    /// Bytes that are kept of a text or buffer that is no path.
    pub string_bytes: u16,
}

/// Which results of system calls are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireOutcome {
    /// All.
    Any,
    /// Errors.
    Failed,
    /// All but errors.
    Succeeded,
}

/// Sampled stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireProfile {
    /// Samples per second and CPU; not used where there is a period.
    pub frequency_hz: u32,
    /// Whether kernel frames are recorded.
    pub kernel_stacks: bool,
    /// Whether user frames are recorded.
    pub user_stacks: bool,
    /// The event; none means cycles where they can be counted, else the CPU's clock.
    pub event: Option<String>,
    /// One sample for so many of the event.
    pub period: Option<u64>,
    /// How frames in user space are found.
    pub call_graph: WireCallGraph,
    /// Bytes of stack to copy with each sample for [`WireCallGraph::Dwarf`]; none means the usual number.
    pub stack_bytes: Option<u32>,
}

/// The registers of user space that samples of [`WireCallGraph::Dwarf`] hold, as `perf_event_attr.sample_regs_user` of
/// x86_64 names them: `rbp`, `rsp`, `rip`, in this order. The rows that frames are found by need no others.
pub const USER_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// How frames in user space are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireCallGraph {
    /// By the kernel, which follows frame pointers.
    FramePointer,
    /// From a copy of registers and stack, by the console.
    Dwarf,
    /// From the CPU's record of its last branches.
    Lbr,
}

/// What is counted. The rows come in one stream, [`StreamLayout::Records`], of a ring that the agent itself writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireCount {
    /// Events, those of a group together or not at all. At least one.
    pub groups: Vec<Vec<String>>,
    /// Milliseconds between two rows of an event.
    pub interval_ms: u32,
    /// What has a row of its own.
    pub per: WireCountPer,
    /// Only on these CPUs; empty for all.
    pub cpus: Vec<u32>,
    /// Everything on the CPUs is counted; the target says only how long.
    pub everywhere: bool,
    /// Only threads of this control group.
    pub cgroup: Option<String>,
}

/// What has a row of its own in each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireCountPer {
    /// Each event.
    Total,
    /// Each event on each CPU.
    Cpu,
    /// Each event of each thread.
    Thread,
}

/// One tracepoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireProbe {
    /// Which.
    pub tracepoint: TracepointName,
    /// Its own fields to record; an array is recorded as one column an element (`args[0]` …).
    pub fields: Vec<String>,
    /// The condition, evaluated in the kernel.
    pub predicate: Option<Predicate>,
}

/// Whose events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WireTarget {
    /// Everybody's.
    System,
    /// One process's.
    Process {
        /// Its id.
        pid: u32,
        /// With those that it forks.
        children: bool,
    },
    /// Those of a program that the agent starts, stopped before its first instruction until [`Request::Enable`].
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// User by name or number; none means `default_uid`.
        user: Option<String>,
        /// With those that it forks.
        children: bool,
    },
    /// Those of a control group (version 2) and of the groups below it.
    Cgroup {
        /// Its path from the root of the file system.
        path: String,
    },
    /// A user's.
    User {
        /// The user by name or number.
        user: String,
    },
    /// Those of threads of this name, with `*` at its beginning, its end or both where more may stand.
    Comm {
        /// The pattern.
        pattern: String,
    },
}

/// What the agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// To [`Request::Hello`].
    Hello {
        /// [`PROTOCOL_VERSION`].
        version: u32,
        /// Whether events are made up by the simulated agent.
        simulated: bool,
    },
    /// To [`Request::Capabilities`].
    Capabilities {
        /// One for each way to observe, in the order to show.
        capabilities: Vec<Capability>,
    },
    /// To the requests that open a file.
    File,
    /// To [`Request::ListProcesses`].
    Processes {
        /// At most [`MAX_PROCESS_PAGE`], ascending.
        pids: Vec<u32>,
        /// Whether there are more after the last.
        more: bool,
    },
    /// To [`Request::ListGroups`].
    Groups {
        /// Their paths from the root of the file system, each beginning with `/`, ascending; at most
        /// [`MAX_GROUP_PAGE_BYTES`] of text. Those that are not UTF-8 are left out.
        paths: Vec<String>,
        /// Whether there are more after the last.
        more: bool,
    },
    /// To [`Request::ContainerNames`].
    ContainerNames {
        /// One for each id, in their order; none where no runtime's state names it.
        names: Vec<Option<String>>,
    },
    /// To [`Request::Start`].
    Started(Started),
    /// To [`Request::TakeRings`]: as many descriptors as travel with the packet, in the order of [`Started::rings`].
    Rings {
        /// How many descriptors.
        count: u32,
    },
    /// To [`Request::Enable`].
    Enabled {
        /// Moment after the last probe was enabled, monotonic nanoseconds.
        time_ns: u64,
    },
    /// To [`Request::Readings`].
    Readings(Readings),
    /// To [`Request::Stop`]: the final counters.
    Stopped(Readings),
    /// To [`Request::SetBudget`] and [`Request::Discard`].
    Done,
    /// To [`Request::PerfEvents`]. May be large.
    PerfEvents {
        /// Hardware, software and cache events, then those that PMUs of the host name.
        events: Vec<PerfEventInfo>,
    },
    /// To [`Request::HostFeatures`].
    Features(Features),
    /// To [`Request::ScriptFacts`].
    ScriptFacts(ScriptFacts),
    /// To [`Request::CheckScript`].
    ScriptChecked(ScriptChecked),
    /// To [`Request::StartScript`].
    ScriptStarted(Box<ScriptStarted>),
    /// To [`Request::StartScript`], or [`Request::Enable`] of a script: what is wrong with the script, or what it needs and
    /// does not get here.
    ScriptRefused(ScriptRefused),
    /// To [`Request::Enable`] of a script.
    ScriptEnabled(ScriptEnabled),
    /// To [`Request::ReadMap`] and [`Request::ReadElements`]: the elements are in the descriptor.
    MapPage(MapPage),
    /// To [`Request::ReadStacks`]: the stacks are in the descriptor, those that exist: `u64` id, `u64` number of frames,
    /// then the frames' addresses.
    Stacks {
        /// How many stacks.
        count: u32,
    },
    /// To [`Request::ClearMap`], [`Request::ZeroMap`] and [`Request::DeleteKeys`].
    Changed {
        /// Elements removed or set to zero.
        count: u32,
    },
    /// To [`Request::RunSignal`] and [`Request::ReadIterator`].
    Ran {
        /// Probes that ran.
        count: u32,
    },
    /// To [`Request::OpenUserFile`].
    UserFile {
        /// Device and inode of the file, which name it for `lang::plan::UserFile`.
        device: u64,
        /// See `device`.
        inode: u64,
        /// Its size.
        bytes: u64,
    },
    /// The request was understood and could not be done. The connection goes on.
    Failed(AgentError),
}

/// An event that can be counted or sampled by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerfEventInfo {
    /// Its name.
    pub name: String,
    /// Another name that is common too.
    pub alias: Option<String>,
    /// `hardware`, `software`, `cache`, or `pmu`.
    pub kind: String,
    /// What it counts; empty for events of PMUs.
    pub meaning: String,
    /// Whether it could be opened.
    pub works: bool,
    /// Why not; empty if it could.
    pub why: String,
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{doing}: {why}. {remedy}")]
pub struct AgentError {
    /// What kind of trouble.
    pub kind: AgentErrorKind,
    /// What was being done, with the value: `attaching to sched:sched_switch`.
    pub doing: String,
    /// Why it failed, without a final stop.
    pub why: String,
    /// What a person can do, one or more whole sentences; may be empty.
    pub remedy: String,
    /// More for those who want it, such as the verifier's log; may be empty.
    pub detail: String,
}

/// What kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// What it names does not exist (any more).
    NotFound,
    /// The agent lacks a privilege.
    Denied,
    /// This kernel cannot do it.
    Unsupported,
    /// Too many or too large.
    Limit,
    /// The kernel or the agent failed.
    Internal,
}

/// A way to observe this host and whether it works here, found by trying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// Stable name: `tracefs`, `tracepoint`, `raw_tracepoint`, `btf_tracepoint`, `btf`, `ring_buffer`, `run_time_stats`,
    /// `cpu_clock_sampling`, `pmu`, `sideband_build_id`, `uprobe`, `uprobe_multi`, `kprobe`, `kprobe_multi`, `fentry`,
    /// `function_graph`, `lockdown`, `kallsyms`.
    pub id: String,
    /// Its name for people: `Tracepoints`.
    pub title: String,
    /// What it is for, a short phrase.
    pub purpose: String,
    /// Whether it works.
    pub state: CapabilityState,
    /// What was tried or found (`attached to sched:sched_switch in 0.4 ms`), or why it does not work.
    pub finding: String,
    /// What to change so that it works; empty where it works or nothing helps.
    pub remedy: String,
}

/// Whether a way to observe works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityState {
    /// It was tried and worked.
    Available,
    /// The agent lacks a capability or right.
    MissingPrivilege,
    /// The kernel was built without it or is too old.
    MissingKernelFeature,
    /// The kernel has it and refuses: lockdown, a paranoid level, a sandbox.
    Refused,
    /// There is no such hardware.
    MissingHardware,
}

/// A capture whose probes exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// One for each stream, in the order of the request; a profile has one.
    pub streams: Vec<StreamLayout>,
    /// One for each descriptor that [`Request::TakeRings`] gives.
    pub rings: Vec<RingInfo>,
    /// Processes that are the target when it begins: the command's, or the given one.
    pub target_pid: Option<u32>,
    /// Whether two more descriptors follow the rings: the read ends of the command's stdout and stderr.
    pub has_output: bool,
    /// Nanoseconds spent on reading formats and compiling.
    pub compile_ns: u64,
    /// Nanoseconds spent on loading.
    pub load_ns: u64,
    /// Nanoseconds spent on attaching.
    pub attach_ns: u64,
    /// Of a trace: what its pages mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TraceFacts>>,
}

/// What the pages of a trace mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFacts {
    /// The clock of the stamps, in nanoseconds: `mono`, `mono_raw` or `boot`.
    pub clock: String,
    /// That clock minus the monotonic clock, nanoseconds, when the capture was made. `mono_raw` drifts from it by up to
    /// 500 ns in a millisecond, `boot` leaps when the machine sleeps.
    pub clock_ahead_ns: i64,
    /// Where the capture's files are in tracefs: `instances/NAME`, or empty for the global instance.
    pub instance: String,
    /// The events that can be in the pages: those asked for, in their order, the dynamic ones in theirs, then the
    /// tracer's own.
    pub events: Vec<TraceFormat>,
}

/// An event that can be in a trace's pages. Its format is that of [`KernelFile::EventFormat`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFormat {
    /// The event's number, `common_type` of its records.
    pub id: u16,
    /// Its group: the subsystem, a group of the capture's own for dynamic events, or `ftrace` for the tracer's own.
    pub group: String,
    /// Its name in the group.
    pub name: String,
    /// What the person called it: `sched:sched_switch`, or a dynamic event's name as it was written, `GROUP:NAME` or
    /// `NAME`; where none was written, its name in the group.
    pub label: String,
    /// Index in the trace's dynamic events, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<u16>,
}

/// How the records of one stream look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StreamLayout {
    /// Records of a BPF ring: fixed size, columns at fixed places, the common ones first.
    Records {
        /// Bytes of each record.
        record_bytes: u32,
        /// The columns, in the stream's order.
        columns: Vec<ColumnLayout>,
    },
    /// `PERF_RECORD_SAMPLE`s of perf rings.
    PerfSamples,
    /// Pages of ftrace's buffers, with events of several kinds; see [`Started::trace`].
    TracePages,
    /// System calls, in records of `bathyscope_bpf::syscalls`.
    Syscalls,
}

/// Where a column is in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLayout {
    /// The column's name.
    pub name: String,
    /// Offset of its first byte.
    pub offset: u32,
    /// What is there.
    pub encoding: ColumnEncoding,
}

/// What is at a column's place, little endian on all supported machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ColumnEncoding {
    /// An unsigned number of 1, 2, 4 or 8 bytes.
    Unsigned {
        /// Bytes.
        bytes: u8,
        /// Whether people read it in base sixteen (pointers, flags).
        hex: bool,
    },
    /// A signed number of 1, 2, 4 or 8 bytes.
    Signed {
        /// Bytes.
        bytes: u8,
    },
    /// Text of a fixed number of bytes, ending at the first NUL.
    FixedText {
        /// Bytes.
        bytes: u16,
    },
    /// An `i32`, then room for text: the number is what the kernel's string helper returned, which is the length with
    /// its NUL, or a negative error. A length of all the room means that the text was cut.
    LengthText {
        /// Bytes of room after the number.
        room: u16,
    },
}

/// A ring buffer that the console maps and reads, or a file of ftrace that it reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingInfo {
    /// Whose layout it has.
    pub kind: RingKind,
    /// What is in it.
    pub content: RingContent,
    /// Bytes of its data area, a power of two; for ftrace, bytes of that CPU's buffer.
    pub data_bytes: u32,
    /// The CPU that writes it; none for a ring that all CPUs share.
    pub cpu: Option<u32>,
}

/// Whose layout a ring has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RingKind {
    /// A BPF ring buffer.
    Bpf,
    /// A perf event's buffer.
    Perf {
        /// `sample_type` of its `perf_event_attr`.
        sample_type: u64,
        /// `read_format` of its `perf_event_attr`.
        read_format: u64,
        /// Whether records other than samples end in the sample's ids (`sample_id_all`).
        sample_id_all: bool,
    },
    /// `trace_pipe_raw` of ftrace, not mapped but read, a page at a time, without waiting.
    TracePipe {
        /// Bytes of a page: what one read takes.
        page_bytes: u32,
    },
}

/// What is in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RingContent {
    /// Rows of a stream, and for a profile also the side-band records.
    Stream {
        /// Its index.
        stream: u16,
    },
    /// Only side-band records: mmap2, comm, fork, exit.
    Sideband,
    /// Records of a script, as its plan describes them.
    Script,
    /// A CPU's pages of a trace.
    TracePages,
}

/// Counters of a capture, totals since it was enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Moment of the reading, monotonic nanoseconds.
    pub time_ns: u64,
    /// One for each stream; for a script one for each program of its plan; for a trace one for all that was written
    /// (`hits`) and lost (`ring_full`), then one for each dynamic event (`hits` and `missed`).
    pub probes: Vec<ProbeReading>,
    /// What became of the target.
    pub target: TargetState,
    /// How far the guard has gone.
    #[serde(default, skip_serializing_if = "GuardStage::is_watching")]
    pub guard: GuardStage,
    /// What is still being detached after a stop.
    #[serde(default, skip_serializing_if = "Detaching::is_done")]
    pub detaching: Detaching,
}

/// What the guard has done about a capture that used more than its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GuardStage {
    /// Nothing: there was no reason.
    #[default]
    Watching,
    /// It has told.
    Warned {
        /// Share of one CPU that was used, in thousandths.
        used_permille: u32,
    },
    /// It lets fewer rows be recorded; what is left out is counted as [`ProbeReading::limited`].
    Thinned {
        /// Share of one CPU that was used, in thousandths.
        used_permille: u32,
        /// At most so many rows a second are recorded, over all CPUs.
        rows_per_s: u64,
    },
    /// It has detached all probes. The rings keep what they hold; the capture can only be stopped.
    Detached {
        /// Share of one CPU that was used, in thousandths.
        used_permille: u32,
    },
}

impl GuardStage {
    /// Whether there was no reason to do anything.
    pub fn is_watching(&self) -> bool {
        *self == Self::Watching
    }
}

/// What is still being detached; it goes on in the background, and readings tell how far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detaching {
    /// Attach points that may still run a program. When none is left a script's `end` probes have run too, and counters,
    /// maps and rings are final.
    pub attached: u32,
    /// Objects of the kernel that run nothing any more and are still being closed.
    pub closing: u32,
}

impl Detaching {
    /// Whether all is detached and closed.
    pub fn is_done(&self) -> bool {
        *self == Self::default()
    }
}

/// Counters of one probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeReading {
    /// Times the probe ran. For a profile: samples taken, where the kernel counts them, else 0.
    pub hits: u64,
    /// Hits rejected by predicate or target.
    pub filtered: u64,
    /// Hits whose record did not fit into the ring.
    pub ring_full: u64,
    /// Hits whose record the guard did not let be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limited: u64,
    /// Hits that the kernel did not deliver to the program.
    pub missed: u64,
    /// Nanoseconds for each hit, from the last window in which run-time statistics were on; none for a profile, where
    /// these statistics do not cover taking the sample.
    pub ns_per_hit: Option<f64>,
    /// Of a script: updates that a full map refused. Of system calls: calls whose thread found no room in the map.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub map_full: u64,
    /// Of a script: reads and other helpers that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub helper_failed: u64,
    /// Of a script: stacks that could not be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stacks_failed: u64,
    /// Of a script: hits that were left out because as many runs as there is memory for had begun on the CPU, were preempted
    /// and had not ended. They are not among `hits`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nested: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What became of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetState {
    /// There is none, or it lives.
    #[default]
    Running,
    /// The process has ended (a process that was not started here: how is not known).
    Gone,
    /// The command has ended.
    Exited {
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

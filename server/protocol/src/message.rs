//! Requests and replies.

mod activity;
mod attached;
mod dynamic;
mod method;
mod readings;
mod started;

use bathyscope_capture::{Budgets, Target, TracepointName, USUAL_BUDGET_BYTES_PER_S};
use bathyscope_plan::Features;
use serde::{Deserialize, Serialize};

use crate::script::{Bytes, MapPage, ModuleName, ScriptChecked, ScriptFacts, ScriptRefused, ScriptStage, WireScript};

pub use activity::*;
pub use attached::*;
pub use dynamic::*;
pub use method::*;
pub use readings::*;
pub use started::*;

/// Both sides must speak the same version; they are the same binary, so there is no negotiation.
pub const PROTOCOL_VERSION: u32 = 10;
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
/// The most BPF programs, or links of them, in one reply.
pub const MAX_BPF_PAGE: usize = 64;
/// The longest name or path of what a BPF program is attached to, in bytes; longer ones are cut.
pub const MAX_ATTACHED_BYTES: usize = 512;
/// The most links of descriptors in one list.
pub const MAX_FILE_LINKS: usize = 4096;
/// The number under which the working directory is among them: `AT_FDCWD`.
pub const WORKING_DIRECTORY_LINK: i32 = -100;

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
    /// What processes use, in ascending order of their ids. Answered by [`Reply::ProcessActivity`] with one descriptor.
    ProcessActivity {
        /// Only those with a greater id.
        after: u32,
    },
    /// Open a file of a process for reading. Answered by [`Reply::File`] with one descriptor.
    OpenProcessFile {
        /// The process.
        pid: u32,
        /// Which.
        file: ProcessFile,
    },
    /// Make a capture's probes. Nothing is recorded before [`Request::Enable`]. Answered by [`Reply::Started`], or by
    /// [`Reply::ScriptRefused`] if a script among them does not compile or cannot be attached. May be large.
    Start {
        /// Its handle, unused so far.
        capture: CaptureHandle,
        /// What to record, at least one and at most [`bathyscope_capture::MAX_SOURCES`]; at most one of them is a script, and
        /// at most one a trace.
        sources: Vec<WireSource>,
        /// Whose events, for all sources.
        target: Target,
        /// Bytes of each stream's ring; rounded up to a power of two within the agent's limits. A script's own setting goes
        /// before it.
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
    /// A file from which the capture's readings can be read also when the agent is gone: see [`crate::counters`].
    /// Answered by [`Reply::File`].
    OpenCounters {
        /// Which capture.
        capture: CaptureHandle,
    },
    /// Begin to record, then let the command run if there is one; a script's `begin` probes run first. Answered by
    /// [`Reply::Enabled`], or by [`Reply::ScriptRefused`] if a script cannot be attached.
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
    /// The BPF programs that the kernel has loaded, whoever did it, in the order of their numbers. Answered by
    /// [`Reply::BpfPrograms`].
    BpfPrograms {
        /// Only those with a greater number.
        after: u32,
    },
    /// What holds BPF programs where they are attached, in the order of its numbers. Answered by [`Reply::BpfLinks`].
    BpfLinks {
        /// Only those with a greater number.
        after: u32,
    },
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
    /// Which dynamic events there are on this host, whoever made them. Answered by [`Reply::DynamicEvents`].
    DynamicEvents,
    /// Switch dynamic events of a capture off, which goes on with the rest. Answered by [`Reply::Changed`].
    DetachEvents {
        /// Which capture; a trace that is enabled.
        capture: CaptureHandle,
        /// Their indices in [`bathyscope_capture::TraceSpec::dynamic`].
        events: Vec<u16>,
    },
    /// Switch a dynamic event off that another agent of this program records, whose capture goes on with the rest. Only an
    /// agent that serves whoever sits at a terminal as root does. Answered by [`Reply::Changed`] with the number of instances
    /// in which it was on.
    DetachOthers {
        /// Its group, which names its owner.
        group: String,
        /// Its name.
        name: String,
    },
    /// Make a dynamic event that is never switched on, and remove it again: only the kernel knows where the instructions of
    /// its functions begin. Answered by [`Reply::Done`].
    TryEvent {
        /// A line as in [`bathyscope_capture::TraceSpec::dynamic`].
        line: String,
    },
    /// Let the kernel replace breakpoints of its probes by jumps, or not, for the whole machine. Answered by
    /// [`Reply::Done`].
    OptimizeKprobes {
        /// Whether it may.
        on: bool,
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
    /// Rows that it may write in a second, over all CPUs; none for as many as there are.
    pub rows_per_s: Option<u64>,
    /// Bytes of records that it may write in a second, over all CPUs; none for [`USUAL_BUDGET_BYTES_PER_S`].
    pub bytes_per_s: Option<u64>,
    /// Share of one CPU that the agent may use while it records, in thousandths.
    pub agent_cpu_permille: u32,
    /// Bytes of memory that the agent may hold while it records.
    pub agent_bytes: u64,
    /// Whether more than that, if it lasts, has fewer rows recorded and then the probes detached; otherwise it is only told.
    pub detach: bool,
}

impl Budget {
    /// So much of a CPU, and otherwise what is usual.
    pub fn of_cpu(cpu_permille: u32, detach: bool) -> Self {
        let Budgets { rows_per_s, bytes_per_s, agent_cpu_permille, agent_bytes } = Budgets::default();
        Self { cpu_permille, rows_per_s, bytes_per_s, agent_cpu_permille, agent_bytes, detach }
    }

    /// What it has beside the time of the probes.
    pub fn budgets(&self) -> Budgets {
        let Self { rows_per_s, bytes_per_s, agent_cpu_permille, agent_bytes, .. } = *self;
        Budgets { rows_per_s, bytes_per_s, agent_cpu_permille, agent_bytes }
    }

    /// The bytes that it may write in a second.
    pub fn most_bytes_per_s(&self) -> u64 {
        self.bytes_per_s.unwrap_or(USUAL_BUDGET_BYTES_PER_S)
    }

    /// With these budgets beside that of the probes' time.
    #[must_use]
    pub fn with(self, budgets: Budgets) -> Self {
        let Budgets { rows_per_s, bytes_per_s, agent_cpu_permille, agent_bytes } = budgets;
        Self { rows_per_s, bytes_per_s, agent_cpu_permille, agent_bytes, ..self }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::of_cpu(50, false)
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
    /// `available_tracers` of tracefs: their names, with blanks between them.
    AvailableTracers,
    /// `trace_options` of tracefs: an option a line, with `no` before it where it is off.
    TraceOptions,
    /// `trace_clock` of tracefs: clocks with blanks between them, the chosen one in brackets.
    TraceClocks,
    /// `dynamic_events` of tracefs: the probes that anyone has made by a text, a line each.
    DynamicEvents,
    /// `kprobes/blacklist` of debugfs: functions that a kprobe would break, a range and a name a line.
    ProbeBlacklist,
    /// `/proc/modules`: a module a line.
    Modules,
    /// `events/header_page` of tracefs: the head of a page of its buffers. It must be read in one piece.
    TraceHeaderPage,
    /// `events/header_event` of tracefs: the head of an event in such a page. It must be read in one piece.
    TraceHeaderEvent,
    /// `/proc/stat`: time of CPUs, and how many threads run or wait for a disk.
    Stat,
    /// `/proc/loadavg`: the load of the last minutes.
    LoadAverage,
    /// `/proc/meminfo`: a kind of memory a line.
    MemoryInfo,
    /// `/proc/vmstat`: counters of memory, such as faults, one a line.
    MemoryStat,
    /// `/proc/diskstats`: a disk or partition a line.
    DiskStat,
    /// `/proc/net/dev`, of the agent's network namespace: a device a line.
    NetworkStat,
    /// `/proc/pressure/RESOURCE`: how long threads waited for it. Kernels without pressure information have none.
    Pressure {
        /// What is waited for.
        resource: PressureResource,
    },
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
    /// `/proc/PID/cgroup`: the control groups that it is in.
    ControlGroups,
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
    /// makes of `/proc/PID/cwd` and `/proc/PID/fd`: for each its number (`i32`, [`WORKING_DIRECTORY_LINK`] for that directory), the
    /// length of its link (`u16`) and the link, at most [`MAX_FILE_LINKS`].
    Links,
    /// `/proc/PID/net/TABLE`: sockets of the process's network namespace, a line each.
    Sockets {
        /// Of which kind.
        table: SocketTable,
    },
}

/// The tables in which the kernel lists sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketTable {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4.
    Udp,
    /// UDP over IPv6.
    Udp6,
    /// Unix sockets.
    Unix,
}

impl SocketTable {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Tcp, Self::Tcp6, Self::Udp, Self::Udp6, Self::Unix];
}

/// What a container's runtime says of it, as far as its state can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerName {
    /// What it is called.
    pub name: Option<String>,
    /// The image that it was made of, such as `nginx:1.27`.
    pub image: Option<String>,
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
        /// One for each id, in their order.
        names: Vec<ContainerName>,
    },
    /// To [`Request::ProcessActivity`]: what was read is in the descriptor, see [`ActivityPage`].
    ProcessActivity(ActivityPage),
    /// To [`Request::Start`]. May be large.
    Started(Started),
    /// To [`Request::TakeRings`]: as many descriptors as travel with the packet, in the order of [`Started::rings`].
    Rings {
        /// How many descriptors.
        count: u32,
    },
    /// To [`Request::Enable`].
    Enabled(Enabled),
    /// To [`Request::Readings`].
    Readings(Readings),
    /// To [`Request::Stop`]: the final counters.
    Stopped(Readings),
    /// To [`Request::SetBudget`], [`Request::Discard`], [`Request::TryEvent`] and [`Request::OptimizeKprobes`].
    Done,
    /// To [`Request::DynamicEvents`]. May be large.
    DynamicEvents(DynamicEvents),
    /// To [`Request::PerfEvents`]. May be large.
    PerfEvents {
        /// Hardware, software and cache events, then those that PMUs of the host name.
        events: Vec<PerfEventInfo>,
    },
    /// To [`Request::HostFeatures`].
    Features(Features),
    /// To [`Request::BpfPrograms`].
    BpfPrograms {
        /// At most [`MAX_BPF_PAGE`], ascending.
        programs: Vec<BpfProgram>,
        /// Whether there are more after the last.
        more: bool,
    },
    /// To [`Request::BpfLinks`].
    BpfLinks {
        /// At most [`MAX_BPF_PAGE`], ascending.
        links: Vec<BpfLink>,
        /// Whether there are more after the last.
        more: bool,
    },
    /// To [`Request::ScriptFacts`].
    ScriptFacts(ScriptFacts),
    /// To [`Request::CheckScript`].
    ScriptChecked(ScriptChecked),
    /// To [`Request::Start`] or [`Request::Enable`] of a script: what is wrong with the script, or what it needs and does not
    /// get here.
    ScriptRefused(ScriptRefused),
    /// To [`Request::ReadMap`] and [`Request::ReadElements`]: the elements are in the descriptor.
    MapPage(MapPage),
    /// To [`Request::ReadStacks`]: the stacks are in the descriptor, those that exist: `u64` id, `u64` number of frames,
    /// then the frames' addresses.
    Stacks {
        /// How many stacks.
        count: u32,
    },
    /// To [`Request::ClearMap`], [`Request::ZeroMap`], [`Request::DeleteKeys`] and [`Request::DetachEvents`].
    Changed {
        /// Elements removed or set to zero, or events switched off.
        count: u32,
    },
    /// To [`Request::RunSignal`] and [`Request::ReadIterator`].
    Ran {
        /// Probes that ran.
        count: u32,
    },
    /// To [`Request::OpenUserFile`].
    UserFile {
        /// Device and inode of the file, which name it for [`bathyscope_plan::UserFile`].
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
    /// `function`, `function_graph`, `lockdown`, `kallsyms`.
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
    /// It could not be found out.
    Unknown,
}

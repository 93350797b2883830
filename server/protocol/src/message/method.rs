//! What is to be recorded, and whose.

use bathyscope_capture::{BranchFilter, Predicate, SampledEvent, TracepointName};
use serde::{Deserialize, Serialize};

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
    /// Whether signals and ends of threads are recorded too.
    pub signals: bool,
    /// Whether it is recorded which sockets and pipes new descriptors are.
    pub inodes: bool,
    /// Whether it is recorded how long calls ran on a CPU.
    pub cpu_time: bool,
    /// Whether it is recorded where programs called from.
    pub addresses: bool,
    /// Whether the stacks of threads are recorded that call, or get a signal.
    pub stacks: bool,
    /// Only processes that descend from this one, and whether only those that it has made itself.
    pub below: Option<(u32, bool)>,
    /// Whether it is recorded from which processes the caller's descends, and whose it is.
    pub ancestors: bool,
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
    /// Whether samples tell of the memory that was accessed.
    pub memory: bool,
    /// Which of the CPU's last branches come with each sample; empty for none.
    pub branches: Vec<BranchFilter>,
    /// Only on these CPUs; empty for all.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// A condition on the fields of a tracepoint, in the kernel's filter language.
    #[serde(default)]
    pub filter: Option<String>,
    /// Milliseconds from [`super::Request::Enable`] to the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
    /// Events that are sampled besides `event`. Each event has a ring on each CPU: those of a CPU follow each other in the
    /// order of the events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<SampledEvent>,
    /// Whether the events are one group of the kernel, led by the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub group: bool,
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

/// What is counted. The rows come in one stream, [`super::StreamLayout::Records`], of a ring that the agent itself writes.
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
    /// Probes that are made for these counts, in the kernel's grammar, each with its group and name; events name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dynamic: Vec<String>,
    /// Milliseconds from [`super::Request::Enable`] until counting begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
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
    /// Those of several processes.
    Processes {
        /// Their ids.
        pids: Vec<u32>,
        /// With those that they fork.
        children: bool,
    },
    /// Those of threads. Only profiles and counts are of threads.
    Threads {
        /// Their ids.
        tids: Vec<u32>,
        /// With the threads and processes that they make.
        children: bool,
    },
    /// Those of others, for as long as a program runs that the agent starts with [`super::Request::Enable`].
    During {
        /// Program and arguments.
        argv: Vec<String>,
        /// As in [`WireTarget::Command`].
        user: Option<String>,
        /// Whose; not a command and not [`WireTarget::During`].
        of: Box<WireTarget>,
    },
    /// Those of a program that the agent starts, stopped before its first instruction until [`super::Request::Enable`].
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// User by name or number; none for the one whom the agent was given first, or whoever started it at a terminal.
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

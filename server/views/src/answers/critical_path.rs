//! The critical path of a thread: what its time went into, part by part, through whoever it waited for.

use serde::Serialize;

use super::TrackLabel;

/// The critical path of a thread over a range of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CriticalPath {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The threads that are referred to. The first is the one whose path it is.
    pub threads: Vec<PathThread>,
    /// The parts, in order of time; each begins where the one before ends.
    pub parts: Vec<PathPart>,
    /// The waits of a thread for another that parts refer to.
    pub waits: Vec<PathWait>,
    /// How the time is shared, as the thread itself saw it: running, waiting for a CPU, for other threads, and so on. The longest
    /// first.
    pub shares: Vec<PathShare>,
    /// For which threads the thread waited itself, the longest first.
    pub waited: Vec<PathWaited>,
    /// How the time is shared among the threads in which the path was, the longest first.
    pub sums: Vec<PathSum>,
    /// Where the path was given up before the range's start; none if it covers all of it.
    pub stopped: Option<PathStop>,
    /// What the capture recorded that tells parts apart.
    pub recorded: PathRecorded,
}

/// Where a path was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PathStop {
    /// The parts are those from this moment on.
    pub time: i64,
    /// The most parts and waits that are followed.
    pub limit: u32,
}

/// What was recorded that tells parts apart. Where something is not, more time is told as something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PathRecorded {
    /// Wake-ups. Without them it is not known who woke a thread.
    pub wakeups: bool,
    /// Interrupts, or stacks of wake-ups. Without them a wake-up by an interrupt counts as one by the thread that it interrupted,
    /// unless that CPU was idle.
    pub interrupts: bool,
    /// System calls, or stacks of where threads went to sleep. Without them locks are not told from other waiting.
    pub calls: bool,
    /// Requests of block devices.
    pub requests: bool,
}

/// A thread of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PathThread {
    /// Its number.
    pub tid: u64,
    /// Its process, 0 where that is not known.
    pub pid: u64,
    /// Its name, made visible.
    pub name: String,
    /// The track of its states, stream and number; none if they were not recorded.
    pub track: Option<String>,
}

/// What the time of a part went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// The thread ran.
    Running,
    /// It could run, and waited for a CPU.
    Cpu,
    /// It waited for another thread; only of the thread's own shares, as parts are those of that other thread then.
    Thread,
    /// It waited for a lock. Of the shares: for a thread that held one; of a part: nobody is known who held it.
    Lock,
    /// It waited for a block device.
    Disk,
    /// It waited until a time.
    Timer,
    /// It waited for another interrupt, such as one of a network card.
    Interrupt,
    /// Not known: see [`PathGap`].
    Unknown,
}

/// Why it is not known what the time of a part went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathGap {
    /// The thread slept and nobody is recorded who woke it.
    NoWakeup,
    /// The thread was not woken before the end of what is recorded.
    NotWoken,
    /// There are no states of the thread then: it is not recorded, or not yet, or events were lost.
    NoStates,
    /// The thread had ended.
    Ended,
    /// Who woke the thread cannot have: it was asleep itself. Events were lost.
    Inconsistent,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathPart {
    /// Its start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// What the time went into.
    pub kind: PathKind,
    /// The thread in whose state it stands, an index.
    pub thread: u32,
    /// The innermost wait that led there, an index; none in the thread itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<u32>,
    /// The CPU where it ran, or on which it waited to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    /// Of waiting for a CPU, which thread had that CPU for the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub had_cpu: Option<TrackLabel>,
    /// The system call that it waited in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The function of the kernel that it waited in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// What ended it: the interrupt, the block request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<PathGap>,
}

/// That a thread waited for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathWait {
    /// The thread that waited, an index.
    pub thread: u32,
    /// The thread that woke it, or that made it.
    pub waker: u32,
    /// From when, within the range.
    pub start: i64,
    /// When it was woken.
    pub woken: i64,
    /// Whether it waited for a lock.
    pub is_lock: bool,
    /// Whether it did not wait but begin: the other thread made it.
    pub is_start: bool,
    /// The system call that it waited in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The function of the kernel that it waited in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The wait within which it counts; none if it is the thread itself that waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outer: Option<u32>,
}

/// How much of a path is of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PathShare {
    /// The kind.
    pub kind: PathKind,
    /// How long, in nanoseconds.
    pub time: u64,
    /// How many parts.
    pub parts: u32,
    /// The longest part, an index.
    pub longest: u32,
}

/// How long the thread waited for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PathWaited {
    /// For which, an index.
    pub thread: u32,
    /// How long, in nanoseconds.
    pub time: u64,
    /// How many parts.
    pub parts: u32,
    /// The longest part, an index.
    pub longest: u32,
}

/// How long a path was in a thread, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PathSum {
    /// The thread, an index.
    pub thread: u32,
    /// What the time went into.
    pub kind: PathKind,
    /// How long, in nanoseconds.
    pub time: u64,
    /// How many parts.
    pub parts: u32,
    /// The longest part, an index.
    pub longest: u32,
}

//! What leads to a row of a track, and on from it.

use serde::Serialize;

/// What leads to a row of a track, and on from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrackFlows {
    /// In order of time, what leads to the row first.
    pub flows: Vec<TrackFlow>,
    /// How many more were found than are told.
    pub more: u64,
    /// Whether there may be further ones, which were not looked for.
    pub is_cut: bool,
    /// Of a thread's state, the system call that the thread was in when it began.
    pub call: Option<ThreadCall>,
}

/// The system call that a thread was in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadCall {
    /// Its name.
    pub name: String,
    /// Its arguments, as text.
    pub args: String,
    /// Its track, stream and number.
    pub track: String,
    /// When it began.
    pub start: i64,
}

/// Whether something leads to a row or on from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowWay {
    /// From another to the row.
    From,
    /// From the row to another.
    To,
}

/// What leads from one row to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowKind {
    /// A thread wakes another.
    WakeUp,
    /// An interrupt wakes a thread.
    Interrupt,
    /// Where the idle task of a CPU stood, a thread was woken: by an interrupt that is not recorded, or by that task.
    Idle,
    /// A thread makes another.
    Start,
    /// A thread issues a block request.
    Issue,
    /// A block request ends and a thread is woken for it.
    Completion,
}

/// What leads to a row or on from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackFlow {
    /// Which way.
    pub way: FlowWay,
    /// What it is.
    pub kind: FlowKind,
    /// When it happened.
    pub time: i64,
    /// The process at the other end; 0 for none.
    pub pid: u64,
    /// The thread at the other end; 0 for none.
    pub tid: u64,
    /// What is at the other end, made visible: a thread, an interrupt, a block request.
    pub name: String,
    /// The track at the other end, stream and number; none if it is not recorded.
    pub track: Option<String>,
    /// The CPU on which it happened.
    pub cpu: Option<u64>,
    /// Of a wake-up, how long it took until the thread ran.
    pub latency: Option<u64>,
    /// Of a wake-up, the stack of who woke, innermost function first, where it is recorded.
    pub stack: Vec<String>,
}

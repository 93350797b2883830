//! System calls of a range.

use serde::Serialize;

use super::{RangeDurations, RangeRest};

/// System calls by what they are told apart by, and the files and sockets that they were about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyscallTable {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// All calls of the query.
    pub all: SyscallTimes,
    /// Whether states of threads are there, by which calls are split into running and waiting.
    pub has_states: bool,
    /// Whether there are more states than can be read for it, so that calls are not split.
    pub has_too_many_states: bool,
    /// Those with most first.
    pub lines: Vec<SyscallLine>,
    /// Other lines.
    pub rest: RangeRest,
    /// Files and sockets, those with most first.
    pub files: Vec<SyscallObject>,
    /// Other files and sockets.
    pub files_rest: RangeRest,
}

/// Calls with something in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyscallLine {
    /// The call; empty where all calls of a process or thread are one line.
    pub call: String,
    /// What the thread was called last; empty where calls of all are one line.
    pub comm: String,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    /// The condition on rows that have it; empty where it cannot be written.
    pub filter: String,
    /// The errors that were returned most often.
    pub errors: Vec<SyscallError>,
    /// How often others were returned.
    pub other_errors: u64,
    /// What they took.
    #[serde(flatten)]
    pub times: SyscallTimes,
}

/// What calls took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyscallTimes {
    /// How long; whole calls, also those that end behind the range.
    #[serde(flatten)]
    pub durations: RangeDurations,
    /// The shortest, in nanoseconds.
    pub shortest: u64,
    /// How many returned an error.
    pub failed: u64,
    /// How many have not returned while they were recorded.
    pub unfinished: u64,
    /// Bytes that they moved, of calls whose result says it.
    pub bytes: u64,
    /// How long they ran on a CPU, of calls of which that is known.
    pub running: u64,
    /// How long these waited.
    pub waiting: u64,
    /// Calls of which it is not known.
    pub unsplit: u64,
}

/// How often an error was returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyscallError {
    /// Its name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// What a file or socket was used for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyscallObject {
    /// `file`, `socket`, `pipe` or `other`.
    pub kind: &'static str,
    /// Its name, as calls had it; made visible.
    pub name: String,
    /// The condition on rows that have it; empty where it cannot be written.
    pub filter: String,
    /// What calls about it took.
    #[serde(flatten)]
    pub times: SyscallTimes,
}

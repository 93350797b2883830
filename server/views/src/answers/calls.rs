//! Calls of functions.

use serde::Serialize;

/// What is known of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Both ends.
    Returned,
    /// Its entry only: it had not returned when recording ended, or its exit was lost. Its end is when that was known.
    Unfinished,
    /// Its exit only: it was entered before recording began, or its entry was lost. Its start is told by its duration.
    Unstarted,
}

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lanes {
    /// A thread.
    Thread,
    /// A CPU: a tree of calls is on the one that its outermost call ended on. Calls of several threads that were open at the
    /// same time are below each other.
    Cpu,
}

/// Calls over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallChart {
    /// Start of the range, relative to the capture's start.
    pub start: i64,
    /// End of the range.
    pub end: i64,
    /// Pixels.
    pub width: u32,
    /// What a lane is.
    pub by: Lanes,
    /// Whether boxes are of the time index: each is the longest of the calls that end in its pixel, and has no id.
    pub coarse: bool,
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// The names that boxes refer to, made visible.
    pub names: Vec<String>,
    /// Lanes that are not here.
    pub more_lanes: u64,
    /// Calls of these lanes that have no box of their own, because another one has their pixel.
    pub hidden: u64,
    /// Calls that there was no room for.
    pub left_out: u64,
}

/// A lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// Names it in addresses: `tid:N`, `cpu:N`, or `idle:N` for the idle thread of a CPU.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// More about it.
    pub sub: String,
    /// Calls of the query that touch the range.
    pub calls: u64,
    /// How many levels it has.
    pub levels: u32,
    /// Its calls.
    pub boxes: CallBoxes,
}

/// Calls of a lane, columns of one length, in the order of their starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallBoxes {
    /// The call; an empty list where the chart is coarse.
    pub id: Vec<u64>,
    /// When it began, relative to the capture's start.
    pub start: Vec<i64>,
    /// How long it took.
    pub duration: Vec<u64>,
    /// On which level it is, from 0.
    pub level: Vec<u32>,
    /// Index of its function's name.
    pub name: Vec<u32>,
    /// 0 for a call with both ends, 1 for one that did not return, 2 for one that was not entered while recorded.
    pub state: Vec<u8>,
    /// Other calls that begin in the same pixel of this level, with all that is within them.
    pub more: Vec<u64>,
}

/// Where a call is: the calls around it, from the root on, and itself at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallPlace {
    /// The way to it.
    pub path: Vec<CallStep>,
    /// The call.
    pub call: CallLine,
}

/// One step of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallStep {
    /// The call.
    pub id: u64,
    /// How many calls that are shown come before it on its level.
    pub index: u64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundCall {
    /// Calls of the query whose functions have the text.
    pub total: u64,
    /// Which of them this is, from 1.
    pub number: u64,
    /// The next one; none if there is none at all.
    pub place: Option<CallPlace>,
}

/// A page of functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionsPage {
    /// How many rows there are.
    pub total: u64,
    /// How many of them come before the page.
    pub offset: u64,
    /// The page.
    pub rows: Vec<FunctionRow>,
    /// All calls of the query.
    pub chosen: u64,
    /// Calls that there was no room for.
    pub left_out: u64,
    /// The sum of [`FunctionRow::own`] over all rows: the whole that is divided.
    pub own: u64,
    /// Whether it was recorded which interrupts were handled.
    pub irqs: bool,
}

/// A function, or a part of its calls. Lengths are nanoseconds, and those of calls of which both ends are known; of calls
/// within calls of the same function each counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionRow {
    /// Its name, made visible.
    pub function: String,
    /// Which part: `CPU 3`, a thread, or an interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The CPU of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    /// The thread of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    /// Calls.
    pub calls: u64,
    /// Calls among them whose length is not known, because one of their ends was not recorded.
    pub cut: u64,
    /// Time in them.
    pub total: u64,
    /// Time in them and in none within.
    pub own: u64,
    /// Mean length.
    pub average: u64,
    /// Median length.
    pub median: u64,
    /// Length that 99 of 100 do not exceed.
    pub p99: u64,
    /// The longest.
    pub longest: u64,
    /// The id of the longest; none if the length of none is known.
    pub longest_id: Option<u64>,
    /// The interrupts handled most often within them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub irqs: Vec<IrqShare>,
}

/// A page of calls that are directly within one call, or of roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallPage {
    /// How many there are on this level.
    pub total: u64,
    /// How many of them come before the page.
    pub offset: u64,
    /// The page.
    pub calls: Vec<CallLine>,
    /// All calls of the query, on all levels.
    pub chosen: u64,
    /// Calls that there was no room for; those of a shorter range are shown.
    pub left_out: u64,
    /// Threads that have calls, the busiest first; only with the first page of roots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<CallThread>,
}

/// A thread that has calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallThread {
    /// Its number.
    pub tid: u64,
    /// Its process.
    pub pid: u64,
    /// Its last name, made visible.
    pub comm: String,
    /// Its calls in the whole capture.
    pub calls: u64,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallLine {
    /// Names it in this capture: the number of its row.
    pub id: u64,
    /// The function, made visible.
    pub function: String,
    /// When it was entered, relative to the capture's start.
    pub start: i64,
    /// How long it took, nanoseconds; at least so long if its state is `unfinished`.
    pub duration: u64,
    /// The part of it that was not in calls within it.
    pub own: u64,
    /// The CPU that it ended on.
    pub cpu: u32,
    /// The process.
    pub pid: u64,
    /// The thread.
    pub tid: u64,
    /// The thread's name, made visible.
    pub comm: String,
    /// How many calls were around it, as the kernel recorded it.
    pub depth: u32,
    /// Which ends are known.
    pub state: CallState,
    /// Calls directly within it that are shown.
    pub children: u64,
    /// All calls within it, shown or not.
    pub inner: u32,
    /// Whether it is one of the query; else it is there for one within it.
    pub hit: bool,
    /// Whether calls between it and the one that it is shown in were not recorded; of a root, those around it.
    pub gap: bool,
}

/// An interrupt that calls of a function handled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IrqShare {
    /// Its handler's name and its number, such as `eth0 (irq 24)`.
    pub name: String,
    /// How often it was handled.
    pub count: u64,
}

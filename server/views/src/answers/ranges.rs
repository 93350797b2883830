//! What can be read from a range of time.

use serde::Serialize;

/// What an answer has no line for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RangeRest {
    /// How many lines are left out.
    pub lines: u64,
    /// How many rows they stand for.
    pub rows: u64,
    /// How much they have of what lines are ordered by: nanoseconds within the range, or bytes.
    pub sum: u64,
    /// Whether there are still more lines than these: there was no room to tell them apart, and only their rows are counted.
    pub has_further: bool,
}

/// How long rows took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeDurations {
    /// How many there are.
    pub count: u64,
    /// Those of them of which nobody knows how long they took, as of calls whose entry was not recorded: they count in none of the
    /// following.
    pub without: u64,
    /// How long they took within the range, in nanoseconds.
    pub time: u64,
    /// The mean of whole rows, in nanoseconds.
    pub mean: f64,
    /// What half of them do not exceed, to 1 %.
    pub p50: u64,
    /// What 90 % do not exceed, to 1 %.
    pub p90: u64,
    /// What 99 % do not exceed, to 1 %.
    pub p99: u64,
    /// The longest, exactly.
    pub longest: u64,
    /// When the longest began.
    pub at: i64,
    /// By powers of two, from the least on: nanoseconds (0, 1, 2, 4, …) from which on until before the double, and how many.
    pub buckets: Vec<(u64, u64)>,
}

/// How long threads were in which state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeThreads {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The states.
    pub states: Vec<String>,
    /// The threads, those that ran longest first.
    pub threads: Vec<RangeThread>,
    /// Other threads.
    pub rest: RangeRest,
}

/// How long a thread was in which state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeThread {
    /// The stream of states.
    pub stream: u16,
    /// Names the track: `tid:N`, or `idle:N` by CPU.
    pub key: String,
    /// Its last name.
    pub name: String,
    /// Its process.
    pub pid: u64,
    /// Its states.
    pub states: Vec<RangeState>,
}

/// How long a thread was in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RangeState {
    /// The state, an index.
    pub state: u32,
    /// How many times.
    pub count: u64,
    /// For how long within the range, in nanoseconds.
    pub time: u64,
    /// The longest time, also where it reaches out of the range.
    pub longest: u64,
    /// When that began.
    pub at: i64,
}

/// Slices by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeSlices {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The streams that have slices.
    pub streams: Vec<SlicedStream>,
    /// The names, those with most time first.
    pub slices: Vec<RangeSlice>,
    /// Other names.
    pub rest: RangeRest,
}

/// A stream that has slices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlicedStream {
    /// The stream.
    pub stream: u16,
    /// The column that slices are called by; empty where all are called as the stream.
    pub column: String,
    /// The column that says how long they took.
    pub duration: String,
    /// Whether the time of a row is when the slice ended, and not when it began.
    pub is_end: bool,
}

/// Slices with a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeSlice {
    /// Their stream.
    pub stream: u16,
    /// Their name.
    pub name: String,
    /// The filter that finds them among the rows of the stream; empty where nothing does.
    pub filter: String,
    /// Names the track of the longest.
    pub key: String,
    /// How long they took within the range without the slices nested in them, in nanoseconds.
    pub own: u64,
    /// How long they took.
    pub durations: RangeDurations,
}

/// How long threads waited for a CPU after they were woken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeWaits {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// All threads.
    pub all: RangeDurations,
    /// The threads, those that waited longest in all first.
    pub threads: Vec<RangeWait>,
    /// Other threads.
    pub rest: RangeRest,
}

/// How long a thread waited for a CPU after it was woken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeWait {
    /// The stream of latencies.
    pub stream: u16,
    /// Names its track: `tid:N`.
    pub key: String,
    /// Its last name.
    pub name: String,
    /// Its process.
    pub pid: u64,
    /// How long it waited.
    pub durations: RangeDurations,
    /// Who woke it most often.
    pub wakers: Vec<RangeWaker>,
    /// How often others did.
    pub by_others: u64,
}

/// Who woke a thread, how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangeWaker {
    /// The thread; 0 for a CPU that was idle and took an interrupt.
    pub tid: u64,
    /// Its last name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// What counters were.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeCounters {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The counters, by stream and name.
    pub counters: Vec<RangeCounter>,
    /// Other counters.
    pub rest: RangeRest,
}

/// What a counter was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeCounter {
    /// Its stream.
    pub stream: u16,
    /// What is counted, and where.
    pub name: String,
    /// What it is measured in: `ns`, `bytes`; empty for numbers.
    pub unit: String,
    /// Whether readings are values of moments, and not what came since the reading before.
    pub is_gauge: bool,
    /// How many readings there are.
    pub count: u64,
    /// The least reading.
    pub least: f64,
    /// The mean of all.
    pub mean: f64,
    /// The greatest.
    pub most: f64,
    /// The first.
    pub first: f64,
    /// The last.
    pub last: f64,
    /// How much more there is at the end: of values of moments the last less the first, of others the sum.
    pub change: f64,
}

/// Who woke whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangeWakeups {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// How many wake-ups are in the table.
    pub total: u64,
    /// Those that woke most.
    pub wakers: Vec<WakeThread>,
    /// How many others woke some, all of them the row after the last.
    pub more_wakers: u64,
    /// Those that were woken most.
    pub wakees: Vec<WakeThread>,
    /// How many others were, all of them the column after the last.
    pub more_wakees: u64,
    /// Row, column, and how many; pairs without wake-ups are left out.
    pub counts: Vec<(u32, u32, u64)>,
    /// Wake-ups that are not in the table: there are too many pairs of threads to tell them apart.
    pub uncounted: u64,
}

/// A thread that woke others or was woken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WakeThread {
    /// The thread; 0 for CPUs that were idle and took an interrupt.
    pub tid: u64,
    /// Its process.
    pub pid: u64,
    /// Its last name.
    pub name: String,
    /// How often in all.
    pub count: u64,
}

/// Bytes by what rows are called, and by thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeAmounts {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// By name, those with most first.
    pub names: Vec<RangeAmount>,
    /// Other names.
    pub names_rest: RangeRest,
    /// By thread, those with most first.
    pub threads: Vec<RangeAmount>,
    /// Other threads.
    pub threads_rest: RangeRest,
}

/// Bytes of some rows of a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RangeAmount {
    /// The stream.
    pub stream: u16,
    /// The column that has them.
    pub column: String,
    /// What the rows are called, or the thread's last name.
    pub name: String,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The filter that finds the rows; empty where nothing does.
    pub filter: String,
    /// How many rows have bytes.
    pub count: u64,
    /// How many bytes in all.
    pub bytes: u64,
    /// The mean of a row.
    pub mean: f64,
    /// The most of a row.
    pub most: u64,
    /// The time of that row.
    pub at: i64,
}

//! Counters.

use serde::Serialize;

/// A capture of counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountView {
    /// Each event of each scope, in the order in which they were told.
    pub counts: Vec<Counted>,
    /// Ends of intervals, relative to the capture's start, ascending.
    pub at: Vec<i64>,
    /// How many intervals are joined in one moment.
    pub joined: u64,
    /// Lines of those that were counted, in the order of `counts`.
    pub lines: Vec<CountLine>,
    /// How many lines were left out.
    pub more_lines: usize,
    /// Pairs of event and scope beyond [`crate::MAX_COUNT_SUMS`], which are not in `counts`.
    pub left_out: u64,
}

/// The sum of an event in a scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counted {
    /// The event as it was written.
    pub event: String,
    /// `all`, `CPU3`, or a thread.
    pub scope: String,
    /// How many; nanoseconds for clocks. Of a gauge the value that came last.
    pub value: u64,
    /// Whether the value is nanoseconds of clocks.
    pub is_clock: bool,
    /// What the value is measured in: `ns`, `bytes`; empty for numbers, and in captures from before rows said it.
    pub unit: String,
    /// Where a gauge went; none of what is counted.
    pub range: Option<ValueRange>,
    /// Whether it was counted at any time.
    pub counted: bool,
    /// Nanoseconds in which it was on a counter.
    pub running_ns: u64,
    /// Length of its intervals, nanoseconds.
    pub span_ns: u64,
    /// Which part of the time it was on a counter, if not all of it; the value is then an estimate.
    pub share: Option<f64>,
    /// What it says together with others.
    pub derived: Option<Derived>,
    /// Why it was not counted; empty if it was.
    pub state: String,
}

/// Where the values of a gauge were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ValueRange {
    /// The least.
    pub least: u64,
    /// The greatest.
    pub most: u64,
}

impl ValueRange {
    /// One value.
    pub fn of(value: u64) -> Self {
        Self { least: value, most: value }
    }

    /// Of this one and the other.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// How an event went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountLine {
    /// Index in [`CountView::counts`].
    pub of: usize,
    /// How many a second in each interval, CPUs for clocks, hundredths of the time for what threads waited; of a gauge its
    /// mean value. None where nothing was told.
    pub values: Vec<Option<f64>>,
}

/// A number that several events make together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Derived {
    /// The number.
    pub value: f64,
    /// What it is, in words: `insn per cycle`.
    pub unit: String,
}

//! Rows in groups, and sums of each.

use bathyscope_capture::{Display, ShownCell};
use serde::Serialize;

/// A table of groups of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pivot {
    /// Rows in the range that satisfy the filter.
    pub rows: u64,
    /// How many groups there are.
    pub groups: u64,
    /// Rows of further groups than there is room for, which are in no line.
    pub left_out: u64,
    /// The columns: first those that rows are grouped by, then what is told of each group.
    pub columns: Vec<PivotColumn>,
    /// The first groups in the order that was asked for.
    pub lines: Vec<PivotLine>,
    /// How the first value of the first lines went over time.
    pub series: Option<PivotSeries>,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PivotColumn {
    /// Its name, such as `sum(bytes)`.
    pub name: String,
    /// `u64`, `i64`, `f64`, `text` or `stack`.
    #[serde(rename = "type")]
    pub ty: &'static str,
    /// How it is written.
    pub display: Display,
    /// Whether values are not exact, because there are too many numbers to keep each: percentiles are at most 1.6 % too high,
    /// and of distinct values there are at least so many.
    pub is_rough: bool,
    /// Rows of all groups that have no number in the column, as signals and calls without an entry have no duration: they count in
    /// no value but how many rows there are.
    pub without: u64,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PivotLine {
    /// One for each column.
    pub cells: Vec<ShownCell>,
    /// The condition that its rows satisfy and no others; none where none can say it.
    pub condition: Option<String>,
}

/// How values went over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PivotSeries {
    /// When the first bin begins.
    pub start: i64,
    /// When the last bin ends.
    pub end: i64,
    /// For each of the first lines a value for each bin; none where it has no rows.
    pub lines: Vec<Vec<Option<f64>>>,
}

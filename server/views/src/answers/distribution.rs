//! How values are spread.

use bathyscope_capture::{Display, ShownCell};
use serde::Serialize;

use super::Unit;

/// Which values are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownValues {
    /// The column.
    pub column: String,
    /// How its values are written.
    pub display: Display,
    /// What they count.
    pub unit: Unit,
}

impl Default for ShownValues {
    fn default() -> Self {
        Self { column: String::new(), display: Display::DurationNs, unit: Unit::Nanoseconds }
    }
}

/// A histogram of a column's values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Which values.
    #[serde(flatten)]
    pub of: ShownValues,
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The least value that was asked for; none for any.
    pub low: Option<ShownCell>,
    /// The first value after those that were asked for; none for any.
    pub high: Option<ShownCell>,
    /// Rows of the range that satisfy the filter.
    pub rows: u64,
    /// Those of them that have no value, as signals among system calls, or calls whose beginning was not
    /// recorded.
    pub without: u64,
    /// Those with a value below what was asked for.
    pub below: u64,
    /// Those with one above.
    pub above: u64,
    /// From which value until before which the buckets are: from the first to the last with something in it, without a gap.
    pub buckets: Vec<(ShownCell, ShownCell)>,
    /// All rows that are in buckets.
    pub all: DistributionGroup,
    /// The column that rows are told apart by; empty for none.
    pub by: String,
    /// The most frequent values of it, the most frequent first.
    pub groups: Vec<DistributionGroup>,
    /// How many more values it has.
    pub more_groups: u64,
    /// Whether there were too many values to count them all.
    pub is_cut: bool,
}

/// The values of some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DistributionGroup {
    /// What these rows have in common; nothing of all rows.
    pub value: Option<ShownCell>,
    /// The condition that they satisfy; empty if there is none.
    pub filter: String,
    /// How many are in buckets.
    pub rows: u64,
    /// The least value, exactly.
    pub least: Option<ShownCell>,
    /// The greatest, exactly.
    pub most: Option<ShownCell>,
    /// The mean.
    pub mean: f64,
    /// The sum.
    pub sum: f64,
    /// Thousandths, and the value that so many of all are not greater than, to 1 %.
    pub percentiles: Vec<(u64, ShownCell)>,
    /// How many are in each bucket.
    pub counts: Vec<u64>,
}

/// Cells of a picture that are not 0, column by column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeatCells {
    /// The column of each.
    pub column: Vec<usize>,
    /// Its row, from bottom to top.
    pub row: Vec<usize>,
    /// What it holds.
    pub count: Vec<u64>,
}

impl HeatCells {
    pub(crate) fn push(&mut self, column: usize, row: usize, count: u64) {
        self.column.push(column);
        self.row.push(row);
        self.count.push(count);
    }
}

/// Rows by time and value, of a part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeatMap {
    /// Which values are from bottom to top; the column is empty for the offset in a period.
    #[serde(flatten)]
    pub of: ShownValues,
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// When the first column begins.
    pub begin: i64,
    /// How long each is, in nanoseconds.
    pub step: u64,
    /// How many there are.
    pub columns: usize,
    /// From which value until before which the rows of the picture are, the lowest first.
    pub buckets: Vec<(ShownCell, ShownCell)>,
    /// How many rows each cell has.
    pub cells: HeatCells,
    /// The least value, to go on with; nothing if there is none.
    pub low: Option<ShownCell>,
    /// The first value after the greatest.
    pub high: Option<ShownCell>,
    /// Rows that were looked at, are in the range and satisfy the filter.
    pub rows: u64,
    /// Those of them that have no value.
    pub without: u64,
    /// Those with a value below what was asked for.
    pub below: u64,
    /// Those with one above.
    pub above: u64,
    /// Rows that were looked at for this answer.
    pub looked_at: u64,
    /// Rows of the stream.
    pub total: u64,
    /// Where to go on, if this is not all.
    pub next: Option<u64>,
}

/// How busy CPUs or devices were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Utilisation {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// How long each column is, in nanoseconds.
    pub step: u64,
    /// How many there are.
    pub columns: usize,
    /// The CPUs or devices, from bottom to top.
    pub keys: Vec<UtilisedKey>,
    /// For how long each was busy in each column, in nanoseconds.
    pub busy: HeatCells,
    /// For how long it is known what each did, in nanoseconds, where rows say it.
    pub known: HeatCells,
    /// Whether rows say it.
    pub tells_idle: bool,
    /// Rows of further CPUs or devices.
    pub left_out: u64,
}

/// A CPU or a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UtilisedKey {
    /// As the list of tracks has it.
    pub key: String,
    /// The condition that its rows satisfy; empty if there is none.
    pub filter: String,
    /// For how long it was busy, in nanoseconds.
    pub busy: u64,
    /// For how long it is known what it did.
    pub known: u64,
    /// Rows that it was busy with.
    pub rows: u64,
}

/// Single rows by time and value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Scatter {
    /// Which values.
    #[serde(flatten)]
    pub of: ShownValues,
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The time of each row.
    pub times: Vec<i64>,
    /// Its value.
    pub values: Vec<ShownCell>,
    /// Its number among the rows of the range that satisfy the filter.
    pub rows: Vec<u64>,
    /// Rows of the range that satisfy the filter.
    pub total: u64,
    /// Those with a value that was asked for: if they are more than `most`, none is told.
    pub shown: u64,
    /// The most that are told.
    pub most: usize,
    /// Rows that have no value.
    pub without: u64,
    /// Those with a value below what was asked for.
    pub below: u64,
    /// Those with one above.
    pub above: u64,
}

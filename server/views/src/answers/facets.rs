//! What the values of columns are.

use bathyscope_capture::ShownCell;
use serde::Serialize;

use super::ColumnHead;

/// The most frequent values of columns, of the rows that a table shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facets {
    /// Rows in the range that satisfy the filter, of those that were looked at.
    pub rows: u64,
    /// How many rows were looked at: those of chunks spread evenly over the range.
    pub looked_at: u64,
    /// Rows in all chunks that the range touches; as many as were looked at in a whole answer.
    pub total: u64,
    /// One for each column that was asked for, in that order.
    pub facets: Vec<Facet>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facet {
    /// The column.
    pub column: ColumnHead,
    /// How many distinct values were counted, of a stack's column functions.
    pub distinct: u64,
    /// How many of them have the text that was looked for; all if none was.
    pub found: u64,
    /// Rows without a value.
    pub missing: u64,
    /// Rows whose value was new when as many distinct values as there is room for were counted already: these are not among the
    /// values, and the counts of the values are right.
    pub left_out: u64,
    /// The most frequent values, the most frequent first, then in their own order.
    pub values: Vec<FacetValue>,
    /// How numbers spread: bars beside one another from the least to the greatest number. Empty for text and stacks.
    pub bars: Vec<FacetBar>,
    /// Whether bars are as wide as their numbers are large, and not all the same.
    pub log: bool,
}

/// A value and its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FacetValue {
    /// As a cell of the table shows it; of a stack's column the name of a function, whose rows have it anywhere in their stacks.
    pub value: ShownCell,
    /// As it is written in a filter; none where no text says it.
    pub literal: Option<String>,
    /// How many rows have it.
    pub rows: u64,
}

/// Rows with a number from `low` to `high`, both included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FacetBar {
    /// The least.
    pub low: ShownCell,
    /// The greatest.
    pub high: ShownCell,
    /// How many.
    pub rows: u64,
}

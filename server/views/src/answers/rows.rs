//! Pages of rows.

use bathyscope_capture::{ColumnType, Display, ShownCell};
use serde::Serialize;

/// A page of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowsPage {
    /// The columns.
    pub columns: Vec<ColumnHead>,
    /// The rows.
    pub rows: Vec<Vec<ShownCell>>,
    /// Which row of the stream each is in the order of time, from 0; empty where they are `offset` and those after it, as in a table
    /// of all rows by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u64>,
    /// Each row as the kernel prints it; empty if the stream has no format for that, and none for a row that it does not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Option<String>>,
    /// Rows in the stream.
    pub total: u64,
    /// Rows in the range that satisfy the filter.
    pub matched: u64,
    /// How many matched rows are before the page.
    pub offset: u64,
}

/// When rows at some places of a table are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowTimes {
    /// Rows in the range that satisfy the filter; 0 of a table that is not by time.
    pub matched: u64,
    /// The times of rows at places that are evenly spread: those of the first and of the last row, and between them.
    pub times: Vec<i64>,
}

/// The head of a column, as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnHead {
    /// Its name.
    pub name: String,
    /// `u64`, `i64`, `text` or `stack`.
    #[serde(rename = "type")]
    pub ty: ColumnType,
    /// How it is written.
    pub display: Display,
}

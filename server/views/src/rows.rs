//! The table of events: filtered, sorted, one page at a time, and row by row for exports.

use serde::Serialize;

use crate::{Cancel, Cell, ColumnHead, Filter, Source, TimeRange, Value, ViewError};

/// The most rows in a page.
pub const MAX_PAGE_ROWS: u32 = 10_000;
/// The furthest row from the top that a page of a sorted table can reach.
pub const MAX_SORTED_ROWS: u64 = 1 << 22;

/// By what rows are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column's name.
    pub column: String,
    /// Whether the greatest comes first. Rows with equal values stay in time order either way.
    pub descending: bool,
}

/// Which rows of which stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsQuery {
    /// The stream.
    pub stream: u16,
    /// From when to when.
    pub range: TimeRange,
    /// Which rows.
    pub filter: Option<Filter>,
    /// The order; none is by time.
    pub order: Option<Order>,
    /// How many rows before the page.
    pub offset: u64,
    /// How many rows in the page, at most [`MAX_PAGE_ROWS`].
    pub limit: u32,
}

/// A page of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowsPage {
    /// The columns.
    pub columns: Vec<ColumnHead>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Rows in the stream.
    pub total: u64,
    /// Rows in the range that satisfy the filter.
    pub matched: u64,
    /// How many matched rows are before the page.
    pub offset: u64,
}

/// Makes a page of rows.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn page(source: &dyn Source, query: &RowsQuery, cancel: &Cancel) -> Result<RowsPage, ViewError> {
    let _ = (source, query, cancel);
    unimplemented!()
}

/// Goes through rows in time order, for exports; holds one chunk at a time.
pub struct RowCursor<'a> {
    source: &'a dyn Source,
}

/// One row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    source: &'a dyn Source,
}

impl<'a> RowCursor<'a> {
    /// The rows of a query; its `offset` and `limit` do not count and its order must be none.
    ///
    /// # Errors
    /// If the query does not fit the capture.
    pub fn new(source: &'a dyn Source, query: &RowsQuery, cancel: &'a Cancel) -> Result<Self, ViewError> {
        let _ = (query, cancel);
        Ok(Self { source })
    }

    /// The columns.
    pub fn schema(&self) -> &'a bathyscope_capture::StreamSchema {
        let _ = self.source;
        unimplemented!()
    }

    /// The next row.
    ///
    /// # Errors
    /// If a chunk cannot be loaded, or the cancel flag was set.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, ViewError> {
        unimplemented!()
    }
}

impl Row<'_> {
    /// The value in a column.
    pub fn value(&self, column: usize) -> Value<'_> {
        let _ = (self.source, column);
        unimplemented!()
    }
}

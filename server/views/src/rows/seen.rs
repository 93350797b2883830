//! All rows of a table in its order, some at a time, for who wants them as they are seen.

use bathyscope_capture::ShownCell;

use super::{FoundPairs, MAX_SORTED_ROWS, RowPlace, RowsQuery, fetch, order, places, scan_of};
use crate::{
    Cancel, Source, ViewError,
    answers::{ColumnHead, RowsPage},
    cell::heads,
    scan::{Scan, schema_of},
};

/// How many rows are read together.
const BATCH: usize = 8192;

/// The rows of a table.
pub struct SeenRows<'a> {
    source: &'a dyn Source,
    query: RowsQuery,
    pairs: Option<FoundPairs>,
    scan: Scan<'a>,
    /// Whether rows come by time, the last first.
    by_time: Option<bool>,
    /// Whether rows are in their order: those that are not by time are sorted when the first are wanted.
    is_sorted: bool,
    /// The chunk that is read next, of rows by time.
    chunk: usize,
    waiting: Vec<RowPlace>,
    at: usize,
}

impl<'a> SeenRows<'a> {
    /// The rows of a query in its order; its `offset` and `limit` do not count. Reads no row yet.
    ///
    /// # Errors
    /// If the query does not fit the capture, or so many rows cannot be sorted.
    pub fn new(source: &'a dyn Source, query: &RowsQuery, cancel: &'a Cancel) -> Result<Self, ViewError> {
        let schema = schema_of(source, query.stream)?;
        let pairs = query.pairs.as_ref().map(|pairs| FoundPairs::new(schema, pairs)).transpose()?;
        let scan = scan_of(source, query, pairs.as_ref(), cancel)?;
        let by_time = order::by_time(schema, &query.order);
        if by_time.is_none() && scan.total() > MAX_SORTED_ROWS {
            return Err(ViewError::TooFar { wanted: scan.total(), limit: MAX_SORTED_ROWS });
        }
        let query = RowsQuery { offset: 0, limit: u32::MAX, ..query.clone() };
        let is_sorted = by_time.is_some();
        Ok(Self { source, query, pairs, scan, by_time, is_sorted, chunk: 0, waiting: Vec::new(), at: 0 })
    }

    /// The columns: those of the stream, then those of pairs.
    pub fn columns(&self) -> Vec<ColumnHead> {
        let schema = self.scan.schema();
        heads(schema).into_iter().chain(self.pairs.iter().flat_map(|pairs| pairs.heads(schema))).collect()
    }

    /// The next rows; none after the last.
    ///
    /// # Errors
    /// If a chunk cannot be loaded, or the cancel flag was set.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<ShownCell>>>, ViewError> {
        if !std::mem::replace(&mut self.is_sorted, true) {
            self.waiting = places(self.source, &mut self.scan, &self.query, self.pairs.as_ref())?.0;
        }
        while self.at >= self.waiting.len() && self.by_time.is_some() {
            let count = self.scan.chunks().len();
            if self.chunk >= count {
                return Ok(None);
            }
            let descending = self.by_time == Some(true);
            let chunk = if descending { count - 1 - self.chunk } else { self.chunk };
            self.chunk += 1;
            let picked = self.scan.picked(chunk)?;
            self.waiting = (0..picked.len()).filter_map(|index| Some((chunk, picked.get(index)?))).collect();
            if descending {
                self.waiting.reverse();
            }
            self.at = 0;
        }
        let end = (self.at + BATCH).min(self.waiting.len());
        let Some(batch) = self.waiting.get(self.at..end).filter(|batch| !batch.is_empty()) else { return Ok(None) };
        self.at = end;
        let schema = self.scan.schema();
        let (rows, _texts) = fetch(self.source, self.query.stream, schema, batch)?;
        let mut page = RowsPage {
            columns: Vec::new(),
            rows,
            numbers: Vec::new(),
            texts: Vec::new(),
            total: 0,
            matched: 0,
            offset: 0,
        };
        if let Some(pairs) = &self.pairs {
            let batch = batch.to_vec();
            pairs.append(self.source, &mut self.scan, &batch, &mut page)?;
        }
        Ok(Some(page.rows))
    }
}

//! The table of events: filtered, sorted, one page at a time, and row by row for exports.

mod order;
mod pairs;
mod seen;
mod when;

use std::collections::BTreeMap;

use bathyscope_capture::{ShownCell, StreamSchema};

pub use pairs::{MAX_PAIR_KEYS, MAX_PAIR_VALUES, RowPairs};
pub use seen::SeenRows;
pub use when::{MAX_TIME_MARKS, row_times};

use self::pairs::FoundPairs;
use crate::{
    Cancel, ChunkMeta, Dictionaries, EventText, Filter, RecordedCell, Source, TimeRange, ViewError,
    answers::RowsPage,
    cell::{self, cells, heads},
    scan::{Hit, Scan, load, schema_of},
};

/// The most rows in a page.
pub const MAX_PAGE_ROWS: u32 = 10_000;
/// The furthest row from the top that a page of a sorted table can reach.
pub const MAX_SORTED_ROWS: u64 = 1 << 22;

/// The most columns that a table is sorted by.
pub const MAX_SORT_COLUMNS: usize = 4;

/// By what rows are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column's name. Text is compared by bytes, stacks by their innermost function; no value is least.
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
    /// The order, the first column first; none is by time.
    pub order: Vec<Order>,
    /// Which rows are told of the row before and the row after with the same key.
    pub pairs: Option<RowPairs>,
    /// How many rows before the page.
    pub offset: u64,
    /// How many rows in the page, at most [`MAX_PAGE_ROWS`].
    pub limit: u32,
}

impl RowsQuery {
    /// All rows of a stream in time order, a hundred in a page.
    pub fn new(stream: u16) -> Self {
        Self { stream, range: TimeRange::ALL, filter: None, order: Vec::new(), pairs: None, offset: 0, limit: 100 }
    }
}

/// Chunk and row.
type RowPlace = (usize, usize);

/// Makes a page of rows.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn page(source: &dyn Source, query: &RowsQuery, cancel: &Cancel) -> Result<RowsPage, ViewError> {
    let limit = u64::from(query.limit);
    ViewError::within("the number of rows in a page", limit, 0, MAX_PAGE_ROWS.into())?;
    let schema = schema_of(source, query.stream)?;
    let pairs = query.pairs.as_ref().map(|pairs| FoundPairs::new(schema, pairs)).transpose()?;
    let mut scan = scan_of(source, query, pairs.as_ref(), cancel)?;
    let (places, matched) = places(source, &mut scan, query, pairs.as_ref())?;
    let total = scan.total();
    let (rows, texts) = fetch(source, query.stream, schema, &places)?;
    let numbers = numbers(&scan, &places, query.offset);
    let mut page = RowsPage { columns: heads(schema), rows, numbers, texts, total, matched, offset: query.offset };
    if let Some(pairs) = pairs {
        pairs.append(source, &mut scan, &places, &mut page)?;
    }
    Ok(page)
}

/// Which row of the stream each place is; nothing where they are `offset` and those after it.
fn numbers(scan: &Scan<'_>, places: &[RowPlace], offset: u64) -> Vec<u64> {
    let sum = |before: &mut u64, chunk: &ChunkMeta| {
        let first = *before;
        *before += u64::from(chunk.rows);
        Some(first)
    };
    let firsts: Vec<u64> = scan.chunks().iter().scan(0, sum).collect();
    let number = |(chunk, row): &RowPlace| firsts.get(*chunk).map_or(0, |first| first + *row as u64);
    let numbers: Vec<u64> = places.iter().map(number).collect();
    if numbers.iter().copied().eq((offset..).take(numbers.len())) { Vec::new() } else { numbers }
}

/// The rows of a query with what its order and its pairs read.
fn scan_of<'a>(
    source: &'a dyn Source,
    query: &RowsQuery,
    pairs: Option<&FoundPairs>,
    cancel: &'a Cancel,
) -> Result<Scan<'a>, ViewError> {
    let schema = schema_of(source, query.stream)?;
    let mut wanted = order::columns(schema, &query.order, pairs.is_some())?;
    wanted.extend(pairs.into_iter().flat_map(FoundPairs::wanted));
    Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)
}

/// The places of a page in the order of its table, and how many rows match.
fn places(
    source: &dyn Source,
    scan: &mut Scan<'_>,
    query: &RowsQuery,
    pairs: Option<&FoundPairs>,
) -> Result<(Vec<RowPlace>, u64), ViewError> {
    let (offset, limit) = (query.offset, u64::from(query.limit));
    let schema = scan.schema();
    if let Some(descending) = order::by_time(schema, &query.order) {
        return in_time_order(scan, descending, offset, limit);
    }
    let intervals = match pairs.filter(|_| order::wants_intervals(schema, &query.order)) {
        Some(pairs) => Some(pairs.intervals(scan)?),
        None => None,
    };
    let sorting = order::Sorting::new(scan, source.dictionaries(), &query.order)?;
    sorting.places(scan, intervals.as_ref(), (offset, offset.saturating_add(limit)))
}

/// The places of a page and how many rows match, in time order: chunks are counted, not loaded, where that is enough.
fn in_time_order(
    scan: &mut Scan<'_>,
    descending: bool,
    offset: u64,
    limit: u64,
) -> Result<(Vec<RowPlace>, u64), ViewError> {
    let (mut places, mut before) = (Vec::new(), 0u64);
    let end = offset.saturating_add(limit);
    let count = scan.chunks().len();
    for n in 0..count {
        let chunk = if descending { count - 1 - n } else { n };
        let picked = scan.picked(chunk)?;
        let rows = picked.len() as u64;
        let from = offset.saturating_sub(before).min(rows) as usize;
        let to = end.saturating_sub(before).min(rows) as usize;
        let turned = |index: usize| if descending { picked.len() - 1 - index } else { index };
        places.extend((from..to).filter_map(|index| picked.get(turned(index))).map(|row| (chunk, row)));
        before += rows;
    }
    Ok((places, before))
}

/// The cells and texts of rows in the order of `places`; each chunk is loaded once.
#[expect(clippy::type_complexity, reason = "two lists, named where they are used")]
fn fetch(
    source: &dyn Source,
    stream: u16,
    schema: &StreamSchema,
    places: &[RowPlace],
) -> Result<(Vec<Vec<ShownCell>>, Vec<Option<String>>), ViewError> {
    let mut by_chunk: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (slot, (chunk, row)) in places.iter().enumerate() {
        by_chunk.entry(*chunk).or_default().push((slot, *row));
    }
    let (dictionaries, origin_ns) = (source.dictionaries(), source.origin_ns());
    // What is not understood is shown by its fields.
    let text = EventText::of(schema, dictionaries).ok().flatten();
    let columns: Vec<usize> = (0..schema.columns.len()).collect();
    let mut rows = vec![Vec::new(); places.len()];
    let mut texts = vec![None; if text.is_some() { places.len() } else { 0 }];
    for (chunk, wanted) in by_chunk {
        let batch = load(source, stream, chunk, &columns)?;
        for (slot, row) in wanted {
            if let Some(cells_of_row) = rows.get_mut(slot) {
                *cells_of_row = cells(dictionaries, schema, &batch, row, origin_ns);
            }
            if let Some((text, slot)) = text.as_ref().zip(texts.get_mut(slot)) {
                let mut printed = String::new();
                let value = |column: usize| {
                    cell::value(dictionaries, (schema, column), batch.columns.get(column), row, origin_ns)
                };
                *slot = text.write(value, &mut printed).then_some(printed);
            }
        }
    }
    Ok((rows, texts))
}

/// Goes through rows in time order, for exports; holds one chunk at a time.
pub struct RowCursor<'a> {
    source: &'a dyn Source,
    scan: Scan<'a>,
    chunk: usize,
    hit: Option<Hit>,
    next: usize,
}

/// One row.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    source: &'a dyn Source,
    schema: &'a StreamSchema,
    hit: &'a Hit,
    row: usize,
}

impl<'a> RowCursor<'a> {
    /// The rows of a query in time order; its `order`, `offset` and `limit` do not count.
    ///
    /// # Errors
    /// If the query does not fit the capture.
    pub fn new(source: &'a dyn Source, query: &RowsQuery, cancel: &'a Cancel) -> Result<Self, ViewError> {
        let columns: Vec<usize> = (0..schema_of(source, query.stream)?.columns.len()).collect();
        let scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &columns, cancel)?;
        Ok(Self { source, scan, chunk: 0, hit: None, next: 0 })
    }

    /// The same without the first chunks of those that the query looks into: for whoever has had their rows.
    #[must_use]
    pub fn after_chunks(self, chunks: usize) -> Self {
        Self { chunk: chunks, ..self }
    }

    /// How many chunks the query looks into.
    pub fn chunks(&self) -> usize {
        self.scan.chunks().len()
    }

    /// The stream's schema.
    pub fn schema(&self) -> &'a StreamSchema {
        self.scan.schema()
    }

    /// The capture's dictionaries.
    pub fn dictionaries(&self) -> &'a Dictionaries {
        self.source.dictionaries()
    }

    /// The next row.
    ///
    /// # Errors
    /// If a chunk cannot be loaded, or the cancel flag was set.
    pub fn next_row(&mut self) -> Result<Option<RowView<'_>>, ViewError> {
        while self.hit.as_ref().is_none_or(|hit| self.next >= hit.picked.len()) {
            if self.chunk >= self.scan.chunks().len() {
                self.hit = None;
                return Ok(None);
            }
            self.hit = self.scan.hit(self.chunk)?;
            self.chunk += 1;
            self.next = 0;
        }
        let row = self.hit.as_ref().and_then(|hit| Some((hit, hit.picked.get(self.next)?)));
        self.next += 1;
        let (source, schema) = (self.source, self.scan.schema());
        Ok(row.map(|(hit, row)| RowView { source, schema, hit, row }))
    }
}

impl<'a> RowView<'a> {
    /// The value in a column; [`bathyscope_capture::Cell::Null`] where there is none.
    pub fn value(&self, column: usize) -> RecordedCell<'a> {
        let data = self.hit.batch.columns.get(column);
        cell::value(self.source.dictionaries(), (self.schema, column), data, self.row, self.source.origin_ns())
    }
}

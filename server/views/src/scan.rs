//! Going through the rows of a range that satisfy a filter, chunk by chunk.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use bathyscope_capture::{Batch, ColumnData, StreamSchema};

use crate::{Cancel, ChunkMeta, Filter, Source, TimeRange, ViewError, filter::Prepared};

/// Rows of one stream in a time range that satisfy a filter.
pub(crate) struct Scan<'a> {
    source: &'a dyn Source,
    stream: u16,
    schema: &'a StreamSchema,
    chunks: &'a [ChunkMeta],
    range: TimeRange,
    filter: Option<Prepared<'a>>,
    wanted: Vec<usize>,
    cancel: &'a Cancel,
}

/// Which rows of a chunk, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// All of these.
    Span(Range<usize>),
    /// These.
    List(Vec<u32>),
}

impl Picked {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Span(span) => span.len(),
            Self::List(list) => list.len(),
        }
    }

    /// The `index`th of them.
    pub(crate) fn get(&self, index: usize) -> Option<usize> {
        match self {
            Self::Span(span) => (index < span.len()).then(|| span.start + index),
            Self::List(list) => list.get(index).map(|row| *row as usize),
        }
    }

    /// Calls `each` for every row; the two cases are compiled apart because this is the innermost loop of all views.
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize)) {
        match self {
            Self::Span(span) => span.clone().for_each(each),
            Self::List(list) => list.iter().for_each(|row| each(*row as usize)),
        }
    }
}

/// The rows of one chunk with the wanted columns.
pub(crate) struct Hit {
    pub(crate) batch: Arc<Batch>,
    pub(crate) picked: Picked,
    stream: u16,
    chunk: usize,
}

impl Hit {
    /// A column of unsigned numbers, as long as the chunk.
    pub(crate) fn u64s(&self, column: usize) -> Result<&[u64], ViewError> {
        match self.batch.columns.get(column) {
            Some(ColumnData::U64(values)) => Ok(values),
            _ => Err(ViewError::Shape { stream: self.stream, chunk: self.chunk, what: "a column is not of numbers" }),
        }
    }

    /// A column of ids, as long as the chunk.
    pub(crate) fn ids(&self, column: usize) -> Result<&[u32], ViewError> {
        match self.batch.columns.get(column) {
            Some(ColumnData::Id(values)) => Ok(values),
            _ => Err(ViewError::Shape { stream: self.stream, chunk: self.chunk, what: "a column is not of ids" }),
        }
    }
}

/// The bits of a value, whatever it is of: those of a number, or the id of a text or stack.
pub(crate) fn bits(data: Option<&ColumnData>, row: usize) -> u64 {
    match data {
        Some(ColumnData::U64(values)) => values.get(row).copied().unwrap_or(0),
        Some(ColumnData::I64(values)) => values.get(row).map_or(0, |value| value.cast_unsigned()),
        Some(ColumnData::Id(ids)) => ids.get(row).copied().map_or(0, u64::from),
        None => 0,
    }
}

/// How much of a chunk is in the range.
enum Cover {
    Nothing,
    Everything,
    Part,
}

/// The schema of a stream, or an error that says how many there are.
pub(crate) fn schema_of(source: &dyn Source, stream: u16) -> Result<&StreamSchema, ViewError> {
    let streams = source.streams();
    streams.get(usize::from(stream)).ok_or(ViewError::NoSuchStream { stream, count: streams.len() })
}

/// Rows that were lost of a stream: its own and those of which it is not known whose they were; of a computed one all, as any of them
/// can be missing in it.
pub(crate) fn lost_of(source: &dyn Source, stream: u16, schema: &StreamSchema) -> u64 {
    let is_of = |of: Option<u16>| !schema.is_recorded() || of.is_none_or(|of| of == stream);
    let lost = source.losses().iter().filter(|loss| loss.stage.is_lost() && is_of(loss.stream));
    lost.map(|loss| loss.count).fold(0, u64::saturating_add)
}

impl<'a> Scan<'a> {
    /// Rows of `stream`; [`Scan::hit`] gives the columns `wanted` of them.
    pub(crate) fn new(
        source: &'a dyn Source,
        stream: u16,
        range: TimeRange,
        filter: Option<&Filter>,
        wanted: &[usize],
        cancel: &'a Cancel,
    ) -> Result<Self, ViewError> {
        let schema = schema_of(source, stream)?;
        let unasked = source.unasked().map(|unasked| unasked.of(schema)).unwrap_or_default();
        let filter = match filter {
            None if unasked.is_empty() => None,
            filter => Some(Prepared::without(source, schema, (filter, unasked), cancel)?),
        };
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        Ok(Self { source, stream, schema, chunks: source.chunks(stream), range, filter, wanted, cancel })
    }

    /// A scan of every stream that `takes` accepts and that has the columns of the filter.
    ///
    /// # Errors
    /// If there are such streams and none has the columns of the filter.
    pub(crate) fn all(
        source: &'a dyn Source,
        range: TimeRange,
        filter: Option<&Filter>,
        wanted: impl Fn(&StreamSchema) -> Vec<usize>,
        cancel: &'a Cancel,
        takes: impl Fn(&StreamSchema) -> bool,
    ) -> Result<Vec<Self>, ViewError> {
        let mut scans = Vec::new();
        let mut refused = None;
        for (stream, schema) in (0u16..).zip(source.streams()).filter(|(_, schema)| takes(schema)) {
            match Self::new(source, stream, range, filter, &wanted(schema), cancel) {
                Ok(scan) => scans.push(scan),
                // Another stream may have the column.
                Err(error) if error.is_misfit() => {
                    refused = refused.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        match refused {
            Some(error) if scans.is_empty() => Err(error),
            _ => Ok(scans),
        }
    }

    /// The same without a filter, of another range.
    pub(crate) fn within(&self, range: TimeRange) -> Self {
        let (source, stream, schema, chunks) = (self.source, self.stream, self.schema, self.chunks);
        Self { source, stream, schema, chunks, range, filter: None, wanted: self.wanted.clone(), cancel: self.cancel }
    }

    /// Whether rows are left out by a filter.
    pub(crate) const fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    pub(crate) fn stream(&self) -> u16 {
        self.stream
    }

    pub(crate) fn schema(&self) -> &'a StreamSchema {
        self.schema
    }

    pub(crate) fn chunks(&self) -> &'a [ChunkMeta] {
        self.chunks
    }

    /// Rows of the stream, whatever the range and filter.
    pub(crate) fn total(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum()
    }

    fn cover(&self, meta: &ChunkMeta) -> Cover {
        if meta.last_ns < self.range.start_ns || meta.first_ns >= self.range.end_ns {
            Cover::Nothing
        } else if meta.first_ns >= self.range.start_ns && meta.last_ns < self.range.end_ns {
            Cover::Everything
        } else {
            Cover::Part
        }
    }

    /// Which rows of a chunk; loads only what it must to tell, and nothing at all where metadata is enough.
    pub(crate) fn picked(&mut self, chunk: usize) -> Result<Picked, ViewError> {
        Ok(self.look(chunk, false)?.0)
    }

    /// Which rows of a chunk, with their wanted columns; none if there are no such rows.
    pub(crate) fn hit(&mut self, chunk: usize) -> Result<Option<Hit>, ViewError> {
        let (picked, batch) = self.look(chunk, true)?;
        let (stream, hit) = (self.stream, batch.filter(|_| picked.len() > 0));
        Ok(hit.map(|batch| Hit { batch, picked, stream, chunk }))
    }

    fn look(&mut self, chunk: usize, with_columns: bool) -> Result<(Picked, Option<Arc<Batch>>), ViewError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        let nothing = (Picked::Span(0..0), None);
        let Some(meta) = self.chunks.get(chunk) else { return Ok(nothing) };
        let rows = meta.rows as usize;
        let part = match self.cover(meta) {
            Cover::Nothing => return Ok(nothing),
            Cover::Part => true,
            Cover::Everything => false,
        };
        if self.filter.as_ref().is_some_and(|filter| !filter.can_match(meta)) {
            return Ok(nothing);
        }
        if !part && !with_columns && self.filter.is_none() {
            return Ok((Picked::Span(0..rows), None));
        }
        let mut columns = if with_columns { self.wanted.clone() } else { Vec::new() };
        columns.extend(part.then_some(StreamSchema::TIME));
        columns.extend(self.filter.iter().flat_map(Prepared::columns));
        columns.sort_unstable();
        columns.dedup();
        let batch = load(self.source, self.stream, chunk, &columns)?;
        let span = if part { self.span(&batch, rows) } else { 0..rows };
        let picked = self.pick(&batch, span);
        // What a filter said of texts that it did not look at any more is not kept.
        if self.filter.is_some() && self.cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        Ok((picked, Some(batch)))
    }

    /// The rows of the time range; rows are sorted by time within a chunk.
    fn span(&self, batch: &Batch, rows: usize) -> Range<usize> {
        let time = batch.columns.get(StreamSchema::TIME).map_or(&[][..], ColumnData::as_u64);
        let start = time.partition_point(|time| *time < self.range.start_ns).min(rows);
        let end = time.partition_point(|time| *time < self.range.end_ns).min(rows);
        start..end.max(start)
    }

    fn pick(&mut self, batch: &Batch, span: Range<usize>) -> Picked {
        match &mut self.filter {
            None => Picked::Span(span),
            // A chunk's rows fit 32 bits: their number is kept in that many.
            Some(filter) => {
                Picked::List(span.filter(|row| filter.matches(batch, *row)).map(|row| row as u32).collect())
            }
        }
    }

    /// Goes through all chunks with rows.
    pub(crate) fn for_each_hit(
        &mut self,
        mut each: impl FnMut(&Hit) -> Result<(), ViewError>,
    ) -> Result<(), ViewError> {
        for chunk in 0..self.chunks.len() {
            if let Some(hit) = self.hit(chunk)? {
                each(&hit)?;
            }
        }
        Ok(())
    }
}

/// Loads columns of a chunk and checks that they are what metadata and schema promise, so that no loop has to.
pub(crate) fn load(source: &dyn Source, stream: u16, chunk: usize, columns: &[usize]) -> Result<Arc<Batch>, ViewError> {
    let schema = schema_of(source, stream)?;
    let meta = source.chunks(stream).get(chunk);
    let rows = meta.map_or(0, |meta| meta.rows as usize);
    let batch = source.batch(stream, chunk, columns)?;
    let shape = |what| Err(ViewError::Shape { stream, chunk, what });
    for column in columns {
        let (Some(described), Some(data)) = (schema.columns.get(*column), batch.columns.get(*column)) else {
            return shape("a column is missing");
        };
        if std::mem::discriminant(data) != std::mem::discriminant(&ColumnData::empty(described.ty)) {
            return shape("a column has another type");
        }
        if data.len() != rows {
            return shape("a column has another number of rows");
        }
    }
    Ok(batch)
}

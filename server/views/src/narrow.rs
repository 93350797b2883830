//! A part of a capture as if it were all of it: what a link for people without a login shows.
//!
//! What is narrowed is what views read, and not what they answer: so no view, picture or export has to know of it, and none
//! can forget it. Which rows are left is found out once. Of a chunk a bit for each row is kept at most.

use std::{
    collections::HashSet,
    ops::Range,
    sync::{Arc, OnceLock, atomic::Ordering},
};

use bathyscope_capture::{
    Batch, ColumnData, ColumnGrid, ColumnStats, ColumnType, Loss, StackId, StreamKind, StreamSchema, TrackDirectory,
    TrackIndexBuilder, TrackRule,
};

use self::tracks::BuiltTracks;
use crate::{
    Cancel, ChunkMeta, DrawnPageMap, Filter, Source, TimeRange, TrackPageMap, ViewError, filter::Prepared,
    range::overlap::overlaps, scan::load,
};

mod tracks;

/// What is left of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Rows of this time, and states and slices of which any part is in it. Of a script's maps also the reading before it, as
    /// that is what they were when it began.
    pub range: TimeRange,
    /// Rows that satisfy this. Streams that do not have its columns have no rows left.
    pub filter: Option<Filter>,
}

/// A capture narrowed to a [`Scope`]: its chunks are parts of those that there are. It has no time index, which tells of other
/// rows too, and tracks of its own.
#[derive(Clone, Debug)]
pub struct Narrowed {
    chunks: Vec<Vec<ChunkMeta>>,
    parts: Vec<Vec<ChunkPart>>,
    losses: Vec<Loss>,
    tracks: BuiltTracks,
    /// The stacks of the rows that are left, once somebody has asked for one by its number.
    stacks: OnceLock<HashSet<StackId>>,
}

/// What is left of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChunkPart {
    /// The chunk's number in the whole capture.
    chunk: usize,
    rows: LeftRows,
}

/// Which rows of a chunk are left.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LeftRows {
    All,
    Span(Range<usize>),
    /// A bit for each row, the lowest first.
    Bits(Box<[u64]>),
}

impl LeftRows {
    /// Of `left`, which says it for each row.
    fn of(left: &[bool]) -> Self {
        let count = left.iter().filter(|left| **left).count();
        let start = left.iter().position(|left| *left).unwrap_or(0);
        if count == left.len() {
            return Self::All;
        }
        if left.get(start..start + count).is_some_and(|span| span.iter().all(|left| *left)) {
            return Self::Span(start..start + count);
        }
        let word = |rows: &[bool]| rows.iter().rev().fold(0, |word, left| word << 1 | u64::from(*left));
        Self::Bits(left.chunks(64).map(word).collect())
    }

    fn pick<T: Copy>(&self, values: &[T]) -> Vec<T> {
        match self {
            Self::All => values.to_vec(),
            Self::Span(span) => values.get(span.clone()).unwrap_or_default().to_vec(),
            Self::Bits(words) => {
                let is_left = |row: usize| words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
                values.iter().enumerate().filter(|(row, _)| is_left(*row)).map(|(_, value)| *value).collect()
            }
        }
    }

    fn of_column(&self, column: &ColumnData) -> ColumnData {
        match column {
            ColumnData::U64(values) => ColumnData::U64(self.pick(values)),
            ColumnData::I64(values) => ColumnData::I64(self.pick(values)),
            ColumnData::Id(ids) => ColumnData::Id(self.pick(ids)),
        }
    }
}

impl Narrowed {
    /// Finds out what is left of `source`. Its time index is not asked, and its tracks are not.
    ///
    /// # Errors
    /// If no stream has the columns of the filter, chunks cannot be loaded, or `cancel` was set.
    pub fn of(source: &dyn Source, scope: &Scope, cancel: &Cancel) -> Result<Self, ViewError> {
        let Scope { range, filter } = scope;
        let in_range = |loss: &&Loss| loss.start_ns < range.end_ns && loss.end_ns >= range.start_ns;
        let losses = source.losses().iter().filter(in_range).cloned().collect();
        let (chunks, parts, tracks) = (Vec::new(), Vec::new(), BuiltTracks::default());
        let mut narrowed = Self { chunks, parts, losses, tracks, stacks: OnceLock::new() };
        let (mut refused, mut is_answered) = (None, filter.is_none());
        for (stream, schema) in (0u16..).zip(source.streams()) {
            let left = match filter.as_ref().map(|filter| Prepared::new(source, schema, filter, cancel)).transpose() {
                Ok(filter) => {
                    is_answered |= !schema.is_absent();
                    Narrowing::new(source, (stream, schema), *range, cancel)?.parts(filter)?
                }
                // Another stream may have the column.
                Err(error) if error.is_misfit() => {
                    refused = refused.or(Some(error));
                    Vec::new()
                }
                Err(error) => return Err(error),
            };
            let (chunks, parts) = left.into_iter().unzip();
            narrowed.chunks.push(chunks);
            narrowed.parts.push(parts);
            narrowed.make_tracks(source, (stream, schema), cancel)?;
        }
        source.dictionaries().check()?;
        match refused {
            Some(error) if !is_answered => Err(error),
            _ => Ok(narrowed),
        }
    }

    fn make_tracks(
        &mut self,
        source: &dyn Source,
        (stream, schema): (u16, &StreamSchema),
        cancel: &Cancel,
    ) -> Result<(), ViewError> {
        // Where the whole has none, as of calls that nest too deep for it, a view says so of the part too.
        let Some(rule) = TrackRule::of(schema).filter(|_| source.tracks().iter().any(|(of, _)| *of == stream)) else {
            return Ok(());
        };
        let columns = rule.columns();
        let mut tracks = TrackIndexBuilder::new(rule);
        for chunk in 0..self.chunks(stream).len() {
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            tracks.add(&*self.batch(stream, chunk, |whole| load(source, stream, whole, &columns))?);
        }
        self.tracks.insert(stream, tracks);
        Ok(())
    }

    /// See [`Source::chunks`].
    pub fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.chunks.get(usize::from(stream)).map_or(&[], Vec::as_slice)
    }

    /// See [`Source::batch`]. `load` gives the chunk of the whole capture of this number.
    ///
    /// # Errors
    /// [`ViewError::Shape`] if there is no such chunk, and those of `load`.
    pub fn batch(
        &self,
        stream: u16,
        chunk: usize,
        load: impl FnOnce(usize) -> Result<Arc<Batch>, ViewError>,
    ) -> Result<Arc<Batch>, ViewError> {
        let part = self.parts.get(usize::from(stream)).and_then(|parts| parts.get(chunk));
        let ChunkPart { chunk, rows } =
            part.ok_or(ViewError::Shape { stream, chunk, what: "there is no such chunk in this part of the capture" })?;
        let whole = load(*chunk)?;
        if *rows == LeftRows::All {
            return Ok(whole);
        }
        Ok(Arc::new(Batch { columns: whole.columns.iter().map(|column| rows.of_column(column)).collect() }))
    }

    /// See [`Source::tracks`].
    pub fn tracks(&self) -> &[(u16, TrackDirectory)] {
        self.tracks.directories()
    }

    /// See [`Source::track_pages`].
    ///
    /// # Errors
    /// [`ViewError::Chunk`] if a page cannot be read back, which would be a defect.
    pub fn track_pages(&self, stream: u16, places: &[(u32, u8, u32)]) -> Result<TrackPageMap, ViewError> {
        self.tracks.pages(stream, places)
    }

    /// See [`Source::drawn_pages`].
    ///
    /// # Errors
    /// As [`Narrowed::track_pages`].
    pub fn drawn_pages(&self, stream: u16, grid: ColumnGrid, places: &[(u32, u64)]) -> Result<DrawnPageMap, ViewError> {
        self.tracks.drawn_pages(stream, grid, places)
    }

    /// How many rows are left of a stream.
    pub fn rows(&self, stream: u16) -> u64 {
        self.chunks(stream).iter().map(|chunk| u64::from(chunk.rows)).sum()
    }

    /// Whether a row that is left has this stack. `part` is the capture narrowed to this.
    ///
    /// # Errors
    /// If chunks cannot be loaded, or `cancel` was set.
    pub fn has_stack(&self, part: &dyn Source, stack: StackId, cancel: &Cancel) -> Result<bool, ViewError> {
        if let Some(stacks) = self.stacks.get() {
            return Ok(stacks.contains(&stack));
        }
        let mut stacks = HashSet::new();
        for (stream, schema) in (0u16..).zip(part.streams()) {
            let is_stack = |(_, column): &(usize, &bathyscope_capture::Column)| column.ty == ColumnType::Stack;
            let columns: Vec<usize> = schema.columns.iter().enumerate().filter(is_stack).map(|(at, _)| at).collect();
            for chunk in 0..self.chunks(stream).len() {
                if cancel.load(Ordering::Relaxed) {
                    return Err(ViewError::Cancelled);
                }
                if columns.is_empty() {
                    continue;
                }
                let batch = load(part, stream, chunk, &columns)?;
                for column in &columns {
                    let ids = batch.columns.get(*column).map_or(&[][..], ColumnData::as_id);
                    stacks.extend(ids);
                }
            }
        }
        Ok(self.stacks.get_or_init(|| stacks).contains(&stack))
    }

    /// See [`Source::losses`]: those that may have happened in the range.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }
}

/// Looking for what is left of one stream.
struct Narrowing<'a> {
    source: &'a dyn Source,
    stream: u16,
    range: TimeRange,
    /// Of states and slices, which may reach into the range.
    rule: Option<TrackRule>,
    cancel: &'a Cancel,
}

impl<'a> Narrowing<'a> {
    fn new(
        source: &'a dyn Source,
        (stream, schema): (u16, &StreamSchema),
        range: TimeRange,
        cancel: &'a Cancel,
    ) -> Result<Self, ViewError> {
        let mut narrowing = Self { source, stream, range, rule: TrackRule::of(schema), cancel };
        if schema.kind == StreamKind::Map {
            narrowing.range.start_ns = narrowing.last_reading()?.unwrap_or(range.start_ns);
        }
        Ok(narrowing)
    }

    /// When the map was last read before the range.
    fn last_reading(&self) -> Result<Option<u64>, ViewError> {
        let start_ns = self.range.start_ns;
        let mut last = None;
        for (chunk, meta) in self.source.chunks(self.stream).iter().enumerate() {
            if meta.first_ns >= start_ns || last.is_some_and(|last| last >= meta.last_ns) {
                continue;
            }
            let time_ns = if meta.last_ns < start_ns {
                Some(meta.last_ns)
            } else {
                let batch = load(self.source, self.stream, chunk, &[StreamSchema::TIME])?;
                times(&batch).iter().copied().filter(|time| *time < start_ns).max()
            };
            last = last.max(time_ns);
        }
        Ok(last)
    }

    /// What is left of each chunk of which anything is.
    fn parts(&self, mut filter: Option<Prepared<'_>>) -> Result<Vec<(ChunkMeta, ChunkPart)>, ViewError> {
        let mut parts = Vec::new();
        for (chunk, meta) in self.source.chunks(self.stream).iter().enumerate() {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            if !self.may_have(meta) || filter.as_ref().is_some_and(|filter| !filter.can_match(meta)) {
                continue;
            }
            let is_inside = self.range.contains(meta.first_ns) && self.range.contains(meta.last_ns);
            if is_inside && filter.is_none() {
                parts.push((meta.clone(), ChunkPart { chunk, rows: LeftRows::All }));
            } else {
                parts.extend(self.part(chunk, meta, filter.as_mut())?);
            }
        }
        // What a filter said of texts that it did not look at any more is not kept.
        if filter.is_some() && self.cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        Ok(parts)
    }

    /// Whether a chunk can have rows in the range, or that reach into it.
    fn may_have(&self, meta: &ChunkMeta) -> bool {
        let longest_ns = self.rule.as_ref().map_or(0, |rule| match meta.stats.get(rule.duration_column()) {
            Some(ColumnStats::U64(_, longest_ns)) => *longest_ns,
            _ => u64::MAX,
        });
        meta.first_ns.saturating_sub(longest_ns) < self.range.end_ns
            && meta.last_ns.saturating_add(longest_ns) >= self.range.start_ns
    }

    fn part(
        &self,
        chunk: usize,
        meta: &ChunkMeta,
        mut filter: Option<&mut Prepared<'_>>,
    ) -> Result<Option<(ChunkMeta, ChunkPart)>, ViewError> {
        let mut columns = vec![StreamSchema::TIME];
        columns.extend(self.rule.as_ref().map(TrackRule::duration_column));
        columns.extend(filter.iter().flat_map(|filter| filter.columns()));
        columns.sort_unstable();
        columns.dedup();
        let batch = load(self.source, self.stream, chunk, &columns)?;
        let times = times(&batch);
        let mut is_left = |(row, time_ns): (usize, &u64)| {
            self.is_in_range(&batch, row, *time_ns) && filter.as_mut().is_none_or(|filter| filter.matches(&batch, row))
        };
        let left: Vec<bool> = times.iter().enumerate().map(&mut is_left).collect();
        let rows = LeftRows::of(&left);
        let of_left = rows.pick(times);
        let (Some(first_ns), Some(last_ns)) = (of_left.first(), of_left.last()) else { return Ok(None) };
        // Extremes of the chunk would tell of rows that are not left.
        let stats = if rows == LeftRows::All { meta.stats.clone() } else { Vec::new() };
        let count = u32::try_from(of_left.len()).unwrap_or(u32::MAX);
        let meta = ChunkMeta { rows: count, first_ns: *first_ns, last_ns: *last_ns, stats };
        Ok(Some((meta, ChunkPart { chunk, rows })))
    }

    fn is_in_range(&self, batch: &Batch, row: usize, time_ns: u64) -> bool {
        let reaches = |rule: &TrackRule| {
            let durations = batch.columns.get(rule.duration_column()).map_or(&[][..], ColumnData::as_u64);
            let (begin_ns, end_ns) = rule.span_ns(time_ns, durations.get(row).copied().unwrap_or(0));
            overlaps(begin_ns, end_ns, self.range)
        };
        self.range.contains(time_ns) || self.rule.as_ref().is_some_and(reaches)
    }
}

fn times(batch: &Batch) -> &[u64] {
    batch.columns.get(StreamSchema::TIME).map_or(&[], ColumnData::as_u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_left_are_kept_as_small_as_they_can_be() {
        let bits = |words: &[u64]| LeftRows::Bits(words.into());
        let mut far = vec![true; 130];
        far[128] = false;
        let cases = [
            (vec![], LeftRows::All),
            (vec![true; 3], LeftRows::All),
            (vec![false, true, true, false], LeftRows::Span(1..3)),
            (vec![false; 2], LeftRows::Span(0..0)),
            (vec![true, false, true], bits(&[0b101])),
            (far, bits(&[u64::MAX, u64::MAX, 0b10])),
        ];
        for (left, expected) in cases {
            let found = LeftRows::of(&left);
            assert_eq!(found, expected, "{left:?}");
            let numbers: Vec<usize> = (0..left.len()).collect();
            let wanted: Vec<usize> = numbers.iter().copied().filter(|row| left[*row]).collect();
            assert_eq!(found.pick(&numbers), wanted, "{left:?}");
        }
    }
}

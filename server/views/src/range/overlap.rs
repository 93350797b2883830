//! Rows of states and slices that lie in a range, or reach into it.

use std::sync::atomic::Ordering;

use bathyscope_capture::{Batch, ColumnData, ColumnStats, StreamSchema, TrackRow, TrackRule};

use crate::{Cancel, ChunkMeta, Source, TimeRange, ViewError, scan::load};

/// A row of a chunk, with its place there.
pub(crate) type PlacedRow = (usize, TrackRow);

/// Rows of a stream of states or slices of which any part is in a range.
pub(crate) struct OverlapScan<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) stream: u16,
    pub(crate) rule: &'a TrackRule,
    pub(crate) range: TimeRange,
    /// Columns that are wanted besides those of the rule.
    pub(crate) more: &'a [usize],
    pub(crate) cancel: &'a Cancel,
}

/// Whether any part of a row is in a range; one that took no time is where it happened.
pub(crate) fn overlaps(begin_ns: u64, end_ns: u64, range: TimeRange) -> bool {
    begin_ns < range.end_ns && (end_ns > range.start_ns || begin_ns >= range.start_ns)
}

/// How long a row is within a range.
pub(crate) fn inside_ns(row: &TrackRow, range: TimeRange) -> u64 {
    let (begin_ns, end_ns) = (row.entry.begin_ns.max(range.start_ns), row.entry.end_ns.min(range.end_ns));
    end_ns.saturating_sub(begin_ns)
}

impl OverlapScan<'_> {
    /// Calls `each` with the rows of every chunk that has some. Slices that nest come in the order of their ends, inner ones first:
    /// so are the chunks of a stream stored, one after the other.
    ///
    /// # Errors
    /// If a chunk cannot be read, `each` fails, or `cancel` was set.
    pub(crate) fn for_each_chunk(
        &self,
        mut each: impl FnMut(&Batch, &[PlacedRow]) -> Result<(), ViewError>,
    ) -> Result<(), ViewError> {
        let mut columns = self.rule.columns();
        columns.extend(self.more);
        columns.sort_unstable();
        columns.dedup();
        for (chunk, meta) in self.source.chunks(self.stream).iter().enumerate() {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            let is_inside = self.range.contains(meta.first_ns) && self.range.contains(meta.last_ns);
            if !self.may_have(meta) || (!is_inside && !self.has_any(chunk)?) {
                continue;
            }
            let batch = load(self.source, self.stream, chunk, &columns)?;
            let (mut rows, mut place) = (Vec::new(), 0);
            self.rule.for_each(&batch, |row| {
                if overlaps(row.entry.begin_ns, row.entry.end_ns, self.range) {
                    rows.push((place, row));
                }
                place += 1;
            });
            // Only what nests depends on the order.
            if rows.iter().any(|(_, row)| row.depth.is_some()) {
                rows.sort_by_key(|(_, row)| (row.entry.end_ns, std::cmp::Reverse(row.depth)));
            }
            each(&batch, &rows)?;
        }
        Ok(())
    }

    /// Whether a chunk can have such rows, by its times and the longest of it.
    fn may_have(&self, meta: &ChunkMeta) -> bool {
        let longest_ns = match meta.stats.get(self.rule.duration_column()) {
            Some(ColumnStats::U64(_, most)) => *most,
            _ => u64::MAX,
        };
        let begin_ns = self.rule.span_ns(meta.first_ns, longest_ns).0;
        let end_ns = self.rule.span_ns(meta.last_ns, longest_ns).1;
        overlaps(begin_ns, end_ns, self.range)
    }

    /// Whether a chunk has such rows, from the two columns that tell.
    fn has_any(&self, chunk: usize) -> Result<bool, ViewError> {
        let duration = self.rule.duration_column();
        let batch = load(self.source, self.stream, chunk, &[StreamSchema::TIME, duration])?;
        let words = |column: usize| batch.columns.get(column).map(ColumnData::as_u64).unwrap_or_default();
        let mut spans = words(StreamSchema::TIME).iter().zip(words(duration));
        Ok(spans.any(|(time_ns, duration_ns)| {
            let (begin_ns, end_ns) = self.rule.span_ns(*time_ns, *duration_ns);
            overlaps(begin_ns, end_ns, self.range)
        }))
    }
}

/// A column's value of a row as a number.
pub(crate) fn word(batch: &Batch, column: usize, row: usize) -> u64 {
    match batch.columns.get(column) {
        Some(ColumnData::U64(words)) => words.get(row).copied().unwrap_or(0),
        Some(ColumnData::I64(words)) => words.get(row).map_or(0, |word| word.cast_unsigned()),
        Some(ColumnData::Id(words)) => words.get(row).copied().unwrap_or(0).into(),
        None => 0,
    }
}

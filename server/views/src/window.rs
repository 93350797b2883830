//! A span of time in bins of a power of two nanoseconds, filled from the time index where there is one, and from rows where
//! there is none, where bins are finer than those of the index, at the ends, and where a filter chooses rows.

use std::sync::atomic::Ordering;

use bathyscope_capture::{Grouping, IndexBlock, IndexBuilder, IndexDirectory, IndexPiece, StreamSchema, index_columns};

use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    scan::{Picked, Scan},
};

/// A range and the bins that it is divided into. The first and the last can reach beyond the range; rows there do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) range: TimeRange,
    shift: u8,
    /// The number of the first bin, on the capture's clock.
    first: u64,
    /// How many bins there are.
    pub(crate) bins: u32,
}

impl Window {
    /// At most `width` bins (or 2), as many as there can be. `what` names the width in errors.
    pub(crate) fn new(range: TimeRange, width: u32, most: u32, what: &'static str) -> Result<Self, ViewError> {
        ViewError::within(what, width.into(), 1, most.into())?;
        let last_ns = range.end_ns.saturating_sub(1).max(range.start_ns);
        let count = |shift: u8| (last_ns >> shift) - (range.start_ns >> shift);
        let shift = (0..63).find(|shift| count(*shift) < u64::from(width.max(2))).unwrap_or(63);
        let bins = if range.span_ns() == 0 { 1 } else { count(shift) as u32 + 1 };
        Ok(Self { range, shift, first: range.start_ns >> shift, bins })
    }

    /// The same bins with all of their rows, so that no rows have to be counted at the ends.
    pub(crate) fn whole(self) -> Self {
        Self { range: self.span(), ..self }
    }

    /// The span of all bins.
    pub(crate) fn span(&self) -> TimeRange {
        TimeRange { start_ns: self.start_of(self.first), end_ns: self.start_of(self.first + u64::from(self.bins)) }
    }

    pub(crate) fn start_of(&self, bin: u64) -> u64 {
        u64::try_from(u128::from(bin) << self.shift).unwrap_or(u64::MAX)
    }

    /// A bin counted from the window's first.
    pub(crate) fn relative(&self, bin: u64) -> u32 {
        u32::try_from(bin.saturating_sub(self.first)).unwrap_or(u32::MAX)
    }

    /// The bins that are within the range from end to end.
    fn inner(&self) -> std::ops::Range<u64> {
        let first = self.range.start_ns.div_ceil(1 << self.shift);
        first..(self.range.end_ns >> self.shift).max(first)
    }

    /// The bins of all tracks of each stream that has events and the columns of the filter; with `streams` only of these.
    ///
    /// # Errors
    /// If a chunk or block cannot be loaded, no stream has the columns of the filter, or `cancel` was set.
    pub(crate) fn fill(
        &self,
        source: &dyn Source,
        filter: Option<&Filter>,
        grouping: Grouping,
        streams: Option<&[u16]>,
        cancel: &Cancel,
    ) -> Result<Vec<(u16, IndexBlock)>, ViewError> {
        let is_wanted = |stream| streams.is_none_or(|streams| streams.contains(&stream));
        let wanted = |schema: &StreamSchema| index_columns(schema, grouping);
        let scans = Scan::all(source, self.range, filter, wanted, cancel, |schema| {
            schema.is_recorded() && grouping.is_of(schema)
        })?;
        let one = |mut scan: Scan<'_>| {
            let mut builder = IndexBuilder::new(self.shift);
            let directory = source.index(scan.stream(), grouping).filter(|_| filter.is_none());
            match directory {
                Some(directory) => self.add_indexed(source, &mut scan, (grouping, directory), cancel, &mut builder)?,
                None => add_rows(&mut scan, grouping, &mut builder, None)?,
            }
            Ok((scan.stream(), builder.finish()))
        };
        scans.into_iter().filter(|scan| is_wanted(scan.stream())).map(one).collect()
    }

    fn add_indexed(
        &self,
        source: &dyn Source,
        scan: &mut Scan<'_>,
        (grouping, directory): (Grouping, &IndexDirectory),
        cancel: &Cancel,
        builder: &mut IndexBuilder,
    ) -> Result<(), ViewError> {
        let (inner, stream) = (self.inner(), scan.stream());
        let inside = TimeRange { start_ns: self.start_of(inner.start), end_ns: self.start_of(inner.end) };
        let chunks = scan.chunks();
        let overlaps = |chunk: u32| {
            let meta = chunks.get(chunk as usize);
            meta.is_some_and(|meta| meta.last_ns >= inside.start_ns && meta.first_ns < inside.end_ns)
        };
        let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let pieces = directory.pieces(count, self.shift, |chunks| chunks.into_iter().any(overlaps));
        for piece in pieces {
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            match piece {
                IndexPiece::Node { level, number } => {
                    builder.add_block(&*source.index_block(stream, grouping, level, number)?, inner.clone());
                }
                IndexPiece::Chunk(chunk) => {
                    add_rows(&mut scan.within(inside), grouping, builder, Some(chunk as usize))?;
                }
            }
        }
        let before = TimeRange { start_ns: self.range.start_ns, end_ns: inside.start_ns.min(self.range.end_ns) };
        let after = TimeRange { start_ns: inside.end_ns.max(before.end_ns), end_ns: self.range.end_ns };
        for edge in [before, after].into_iter().filter(|edge| edge.span_ns() > 0) {
            add_rows(&mut scan.within(edge), grouping, builder, None)?;
        }
        Ok(())
    }
}

/// Adds the rows of a scan, or those of one chunk of it.
fn add_rows(
    scan: &mut Scan<'_>,
    grouping: Grouping,
    builder: &mut IndexBuilder,
    chunk: Option<usize>,
) -> Result<(), ViewError> {
    let schema = scan.schema();
    let chunks = chunk.map_or(0..scan.chunks().len(), |chunk| chunk..chunk + 1);
    for chunk in chunks {
        let Some(hit) = scan.hit(chunk)? else { continue };
        match &hit.picked {
            Picked::Span(span) => builder.add_rows(schema, grouping, &hit.batch, span.clone()),
            Picked::List(list) => {
                builder.add_rows(schema, grouping, &hit.batch, list.iter().map(|row| *row as usize));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_as_many_bins_as_fit() {
        let window = |start_ns, end_ns, width| {
            let window = Window::new(TimeRange { start_ns, end_ns }, width, 8192, "bins").unwrap();
            (window.shift, window.first, window.bins)
        };
        assert_eq!(window(0, 1024, 1024), (0, 0, 1024));
        assert_eq!(window(0, 1025, 1024), (1, 0, 513));
        assert_eq!(window(1, 1025, 1024), (0, 1, 1024));
        assert_eq!(window(1023, 1025, 1), (0, 1023, 2), "two, as they may be on both sides of any boundary");
        assert_eq!(window(5, 5, 100), (0, 5, 1));
        assert_eq!(window(0, u64::MAX, 2), (63, 0, 2));
        assert!(
            Window::new(TimeRange::ALL, 0, 9, "bins").is_err() && Window::new(TimeRange::ALL, 10, 9, "bins").is_err()
        );
    }

    #[test]
    fn the_first_and_the_last_bin_can_reach_beyond_the_range() {
        let window = Window::new(TimeRange { start_ns: 100, end_ns: 900 }, 10, 10, "bins").unwrap();
        assert_eq!((window.span(), window.bins), (TimeRange { start_ns: 0, end_ns: 1024 }, 8));
        assert_eq!((window.inner(), window.relative(7)), (1..7, 7));
    }
}

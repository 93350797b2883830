//! How many rows per bin of time, for each stream, and where events were lost.

use bathyscope_capture::{Loss, LossStage, StreamSchema};
use serde::Serialize;

use crate::{Cancel, Filter, Source, TimeRange, ViewError, scan::Scan, source::relative};

/// The most bins of a rate.
pub const MAX_BINS: u32 = 8192;

/// What to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Into how many bins, 1 to [`MAX_BINS`].
    pub bins: u32,
    /// Which rows. A stream without the columns of the filter counts none.
    pub filter: Option<Filter>,
}

/// Counts per bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Start of the range, relative to the capture's start.
    pub start: i64,
    /// End of the range, relative to the capture's start.
    pub end: i64,
    /// Number of bins.
    pub bins: u32,
    /// The streams, all of them.
    pub streams: Vec<StreamRate>,
    /// Losses that can have happened in the range.
    pub losses: Vec<RateLoss>,
}

/// Counts of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamRate {
    /// The stream.
    pub stream: u16,
    /// Its name.
    pub name: String,
    /// Rows in each bin.
    pub counts: Vec<u64>,
}

/// One loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RateLoss {
    /// The stream, where it can be told.
    pub stream: Option<u16>,
    /// Where it happened.
    pub stage: LossStage,
    /// How many events.
    pub count: u64,
    /// The earliest moment, relative to the capture's start.
    pub start: i64,
    /// The latest moment, relative to the capture's start.
    pub end: i64,
}

/// Counts rows per bin.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn rate(source: &dyn Source, query: &RateQuery, cancel: &Cancel) -> Result<Rate, ViewError> {
    let mut bins = Bins::new(query.range, query.bins, MAX_BINS, "the number of bins")?;
    let names = (0u16..).zip(source.streams());
    let mut streams: Vec<StreamRate> = names
        .map(|(stream, schema)| StreamRate { stream, name: schema.name.clone(), counts: vec![0; query.bins as usize] })
        .collect();
    let wanted = [StreamSchema::TIME];
    for mut scan in Scan::all(source, query.range, query.filter.as_ref(), &wanted, cancel, StreamSchema::has_events)? {
        let Some(counted) = streams.get_mut(usize::from(scan.stream())) else { continue };
        count(&mut scan, &mut bins, &mut counted.counts)?;
    }
    let origin = source.origin_ns();
    let (start, end) = (relative(origin, query.range.start_ns), relative(origin, query.range.end_ns));
    let overlaps = |loss: &&Loss| loss.start_ns < query.range.end_ns && loss.end_ns >= query.range.start_ns;
    let losses = source.losses().iter().filter(overlaps).map(|loss| RateLoss {
        stream: loss.stream,
        stage: loss.stage,
        count: loss.count,
        start: relative(origin, loss.start_ns),
        end: relative(origin, loss.end_ns),
    });
    Ok(Rate { start, end, bins: query.bins, streams, losses: losses.collect() })
}

fn count(scan: &mut Scan<'_>, bins: &mut Bins, counts: &mut [u64]) -> Result<(), ViewError> {
    for chunk in 0..scan.chunks().len() {
        // A chunk within one bin is counted without loading its times.
        let within = scan.chunks().get(chunk).and_then(|meta| {
            let (first, last) = (bins.of(meta.first_ns), bins.of(meta.last_ns));
            first.filter(|bin| Some(*bin) == last)
        });
        if let Some(bin) = within {
            let rows = scan.picked(chunk)?.len() as u64;
            add(counts, bin, rows);
            continue;
        }
        let Some(hit) = scan.hit(chunk)? else { continue };
        let times = hit.u64s(StreamSchema::TIME)?;
        hit.picked.for_each(|row| {
            if let Some(bin) = times.get(row).and_then(|time| bins.of(*time)) {
                add(counts, bin, 1);
            }
        });
    }
    Ok(())
}

fn add(counts: &mut [u64], bin: u32, rows: u64) {
    if let Some(count) = counts.get_mut(bin as usize) {
        *count += rows;
    }
}

/// Moments to bins of equal length. Rows come nearly sorted, so the last bin is tried before dividing.
pub(crate) struct Bins {
    range: TimeRange,
    count: u32,
    last: u32,
    last_start_ns: u64,
    last_end_ns: u64,
}

impl Bins {
    /// `count` bins over a range.
    pub(crate) fn new(range: TimeRange, count: u32, most: u32, what: &'static str) -> Result<Self, ViewError> {
        if count == 0 || count > most {
            let (value, most) = (u64::from(count), u64::from(most));
            return Err(ViewError::OutOfRange { what, value, least: 1, most });
        }
        Ok(Self { range, count, last: 0, last_start_ns: 1, last_end_ns: 0 })
    }

    /// The bin of a moment; none outside the range.
    pub(crate) fn of(&mut self, time_ns: u64) -> Option<u32> {
        if self.last_start_ns <= time_ns && time_ns < self.last_end_ns {
            return Some(self.last);
        }
        if !self.range.contains(time_ns) {
            return None;
        }
        let (span, count) = (u128::from(self.range.span_ns()), u128::from(self.count));
        let bin = u128::from(time_ns - self.range.start_ns) * count / span;
        let start_of = |bin: u128| (bin * span).div_ceil(count);
        // Both are within the range, so they fit.
        self.last_start_ns = self.range.start_ns + start_of(bin) as u64;
        self.last_end_ns = self.range.start_ns + start_of(bin + 1) as u64;
        self.last = bin as u32;
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_exact_division() {
        for (start_ns, end_ns, count) in [(0, 10, 3), (7, 8, 5), (100, 1100, 1000), (5, 104, 7), (0, u64::MAX, 8192)] {
            let range = TimeRange { start_ns, end_ns };
            let mut bins = Bins::new(range, count, MAX_BINS, "bins").unwrap();
            let step = (range.span_ns() / 997).max(1);
            for time in (0..998u64).map(|n| start_ns.saturating_add(n * step)).filter(|time| range.contains(*time)) {
                let exact = u128::from(time - start_ns) * u128::from(count) / u128::from(range.span_ns());
                assert_eq!(bins.of(time).map(u128::from), Some(exact), "{time} of {range:?}");
            }
            assert_eq!((bins.of(end_ns), start_ns.checked_sub(1).and_then(|before| bins.of(before))), (None, None));
        }
        assert!(Bins::new(TimeRange::ALL, 0, MAX_BINS, "bins").is_err());
        assert!(Bins::new(TimeRange::ALL, MAX_BINS + 1, MAX_BINS, "bins").is_err());
        assert_eq!(Bins::new(TimeRange { start_ns: 5, end_ns: 5 }, 4, 9, "bins").unwrap().of(5), None);
    }
}

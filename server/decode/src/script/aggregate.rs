//! What maps aggregate: the parts of all CPUs, put together.

use std::collections::BTreeMap;

use bathyscope_plan::{Aggregation, SeriesOf};

use super::{
    DecodeError,
    value::{integer, slice},
};

/// An aggregation over all CPUs.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregated {
    /// A count, sum, minimum, maximum or average; none if no CPU has one.
    Number(Option<i128>),
    /// Count and total; the average follows from them.
    Stats {
        /// How many values.
        count: u64,
        /// Their sum.
        total: i128,
    },
    /// The buckets that are not empty, by their number, ascending.
    Buckets(Vec<(u64, u64)>),
    /// The intervals that have a value, ascending.
    Series(Vec<Point>),
}

/// An interval of a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its number: the time divided by the length of an interval.
    pub interval: u64,
    /// Its value.
    pub value: i128,
}

impl Aggregated {
    /// The number it is, or the average of statistics.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => *number,
            Self::Stats { count, total } => Some(average(*count, *total)),
            Self::Buckets(_) | Self::Series(_) => None,
        }
    }

    /// Whether nothing was aggregated.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Number(number) => number.is_none(),
            Self::Stats { count, .. } => *count == 0,
            Self::Buckets(buckets) => buckets.is_empty(),
            Self::Series(points) => points.is_empty(),
        }
    }
}

/// Rounded towards zero; 0 of nothing.
pub(super) fn average(count: u64, total: i128) -> i128 {
    total.checked_div(i128::from(count)).unwrap_or(0)
}

/// Puts together what each CPU has.
pub(super) fn combine<'a>(
    aggregation: &Aggregation,
    cpus: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Aggregated, DecodeError> {
    let cpus: Vec<&[u8]> = cpus.into_iter().collect();
    match aggregation {
        Aggregation::Count => Ok(Aggregated::Number(Some(words(&cpus, 0, false)?.sum()))),
        Aggregation::Sum { signed } => Ok(Aggregated::Number(Some(words(&cpus, 0, *signed)?.sum()))),
        Aggregation::Min { signed } => Ok(Aggregated::Number(set_words(&cpus, *signed)?.min())),
        Aggregation::Max { signed } => Ok(Aggregated::Number(set_words(&cpus, *signed)?.max())),
        Aggregation::Average { signed } | Aggregation::Stats { signed } => {
            let total = words(&cpus, 0, *signed)?.sum();
            let count = words(&cpus, 8, false)?.sum::<i128>();
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            Ok(match aggregation {
                Aggregation::Average { .. } => Aggregated::Number((count > 0).then(|| average(count, total))),
                _ => Aggregated::Stats { count, total },
            })
        }
        Aggregation::Hist { .. } | Aggregation::LinearHist { .. } => dense(aggregation, &cpus),
        Aggregation::TimeSeries { slots, of, signed, .. } => series(*slots, *of, *signed, &cpus),
    }
}

fn word(bytes: &[u8], at: u32, signed: bool) -> Result<i128, DecodeError> {
    let bits = integer(slice(bytes, at, 8)?);
    Ok(if signed { i128::from(bits.cast_signed()) } else { i128::from(bits) })
}

fn words(cpus: &[&[u8]], at: u32, signed: bool) -> Result<std::vec::IntoIter<i128>, DecodeError> {
    let all: Vec<i128> = cpus.iter().map(|bytes| word(bytes, at, signed)).collect::<Result<_, _>>()?;
    Ok(all.into_iter())
}

fn set_words(cpus: &[&[u8]], signed: bool) -> Result<impl Iterator<Item = i128>, DecodeError> {
    let set = words(cpus, 8, false)?;
    Ok(words(cpus, 0, signed)?.zip(set).filter(|(_, set)| *set != 0).map(|(value, _)| value))
}

/// For a sparse histogram each element holds one bucket; its number is in the key and put in by the reader of the map.
fn dense(aggregation: &Aggregation, cpus: &[&[u8]]) -> Result<Aggregated, DecodeError> {
    let size = aggregation.bytes();
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for bytes in cpus {
        for (number, bucket) in (0..).zip(slice(bytes, 0, size)?.chunks_exact(8)) {
            let count = integer(bucket);
            if count > 0 {
                let sum = counts.entry(number).or_insert(0);
                *sum = sum.saturating_add(count);
            }
        }
    }
    Ok(Aggregated::Buckets(counts.into_iter().collect()))
}

/// The second word is how many values there are (or that there is one); for the last value it is the moment of it, and the
/// latest wins.
fn series(slots: u32, of: SeriesOf, signed: bool, cpus: &[&[u8]]) -> Result<Aggregated, DecodeError> {
    let mut intervals: BTreeMap<u64, (i128, u64)> = BTreeMap::new();
    for bytes in cpus {
        for slot in slice(bytes, 0, slots.checked_mul(24).ok_or(DecodeError::Type)?)?.chunks_exact(24) {
            let (value, count, interval) =
                (word(slot, 0, signed)?, integer(slice(slot, 8, 8)?), integer(slice(slot, 16, 8)?));
            if count == 0 {
                continue;
            }
            intervals
                .entry(interval)
                .and_modify(|known| *known = merged(of, *known, (value, count)))
                .or_insert((value, count));
        }
    }
    let newest = intervals.keys().next_back().copied().unwrap_or(0);
    let kept = intervals.into_iter().filter(|(interval, _)| newest - interval < u64::from(slots));
    let value = |(value, count)| if of == SeriesOf::Average { average(count, value) } else { value };
    Ok(Aggregated::Series(kept.map(|(interval, pair)| Point { interval, value: value(pair) }).collect()))
}

fn merged(of: SeriesOf, (a, a_count): (i128, u64), (b, b_count): (i128, u64)) -> (i128, u64) {
    match of {
        SeriesOf::Last => {
            if b_count > a_count {
                (b, b_count)
            } else {
                (a, a_count)
            }
        }
        SeriesOf::Sum | SeriesOf::Average => (a + b, a_count.saturating_add(b_count)),
        SeriesOf::Min => (a.min(b), a_count),
        SeriesOf::Max => (a.max(b), a_count),
    }
}

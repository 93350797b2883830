//! How long many rows took: count, sums, the longest, percentiles.
//!
//! Values up to 127 have a bucket each, larger ones one of 64 to each power of two. A percentile is told by the middle of its
//! bucket, which is at most 1/128 of the value away from it.

use bathyscope_capture::TrackRow;

use crate::{answers::RangeDurations, source::relative};

/// Buckets of a power of two, as bits.
const SUB_BITS: u32 = 6;
const SUB_BUCKETS: usize = 1 << SUB_BITS;

/// Counts of values by size.
#[derive(Clone, Debug, Default)]
pub(super) struct LogBuckets {
    /// As many buckets at a time as a power of two has, from the least values on; those that have no value are not made.
    parts: Vec<Option<Box<[u32; SUB_BUCKETS]>>>,
}

/// In which part a value is, and where there.
fn place_of(value: u64) -> (usize, usize) {
    let power = value.checked_ilog2().unwrap_or(0);
    if power <= SUB_BITS {
        let value = value as usize;
        return (value / SUB_BUCKETS, value % SUB_BUCKETS);
    }
    let shift = power - SUB_BITS;
    (shift as usize + 1, (value >> shift) as usize % SUB_BUCKETS)
}

/// The least value of a bucket, and how many values it has.
fn values_of(part: usize, place: usize) -> (u64, u64) {
    if part <= 1 {
        return ((part * SUB_BUCKETS + place) as u64, 1);
    }
    let shift = part - 1;
    (((SUB_BUCKETS + place) as u64) << shift, 1 << shift)
}

impl LogBuckets {
    pub(super) fn add(&mut self, value: u64) {
        let (part, place) = place_of(value);
        if self.parts.len() <= part {
            self.parts.resize(part + 1, None);
        }
        let Some(part) = self.parts.get_mut(part) else { return };
        if let Some(count) = part.get_or_insert_with(|| Box::new([0; SUB_BUCKETS])).get_mut(place) {
            *count = count.saturating_add(1);
        }
    }

    /// All buckets that have values, from the least on: the least value, how many values it has, and the count.
    fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.parts.iter().enumerate().flat_map(|(part, counts)| {
            let counts = counts.iter().flat_map(|counts| counts.iter().enumerate());
            counts.filter(|(_, count)| **count > 0).map(move |(place, count)| {
                let (low, wide) = values_of(part, place);
                (low, wide, u64::from(*count))
            })
        })
    }

    /// The value that `permille` of all are not greater than.
    pub(super) fn permille(&self, permille: u64) -> u64 {
        let all: u64 = self.filled().map(|(_, _, count)| count).sum();
        let wanted = (u128::from(all) * u128::from(permille)).div_ceil(1000).max(1);
        let mut before = 0;
        for (low, wide, count) in self.filled() {
            before += u128::from(count);
            if before >= wanted {
                return low + wide / 2;
            }
        }
        0
    }

    /// Counts by powers of two: the least value of each, 0 and powers of two, and how many.
    pub(super) fn powers(&self) -> Vec<(u64, u64)> {
        let mut powers: Vec<(u64, u64)> = Vec::new();
        for (low, _, count) in self.filled() {
            let power = low.checked_ilog2().map_or(0, |bits| 1 << bits);
            match powers.last_mut() {
                Some((last, sum)) if *last == power => *sum += count,
                _ => powers.push((power, count)),
            }
        }
        powers
    }
}

/// How long rows took.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations {
    pub(super) count: u64,
    /// Within the range.
    pub(super) time_ns: u64,
    sum_ns: u128,
    /// The longest, the first of equals; with the key of its track.
    pub(super) longest_ns: u64,
    pub(super) longest_begin_ns: u64,
    pub(super) longest_key: u64,
    buckets: LogBuckets,
}

impl Durations {
    pub(super) fn add(&mut self, row: &TrackRow, inside_ns: u64) {
        let duration_ns = row.entry.duration_ns();
        let begin_ns = row.entry.begin_ns;
        let is_longer = duration_ns > self.longest_ns
            || (duration_ns == self.longest_ns && begin_ns < self.longest_begin_ns)
            || self.count == 0;
        if is_longer {
            (self.longest_ns, self.longest_begin_ns, self.longest_key) = (duration_ns, begin_ns, row.key);
        }
        self.count += 1;
        self.time_ns = self.time_ns.saturating_add(inside_ns);
        self.sum_ns += u128::from(duration_ns);
        self.buckets.add(duration_ns);
    }

    /// As the browser gets it. Percentiles are not beyond the longest, of which the exact length is known.
    pub(super) fn answer(&self, origin_ns: u64) -> RangeDurations {
        let permille = |permille| self.buckets.permille(permille).min(self.longest_ns);
        RangeDurations {
            count: self.count,
            time: self.time_ns,
            mean: if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 },
            p50: permille(500),
            p90: permille(900),
            p99: permille(990),
            longest: self.longest_ns,
            at: relative(origin_ns, self.longest_begin_ns),
            buckets: self.buckets.powers(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_value_is_in_its_bucket_and_near_its_middle() {
        let powers = (0..64).flat_map(|bits| [1_u64 << bits, (1 << bits) - 1, (1 << bits) + (1 << bits) / 3]);
        for value in powers.chain(0..300).chain([u64::MAX]) {
            let (part, place) = place_of(value);
            let (low, wide) = values_of(part, place);
            assert!(low <= value && value - low < wide, "{value} in {low} and {wide} on");
            assert!((low + wide / 2).abs_diff(value) <= value / 100, "{value} is told as {}", low + wide / 2);
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_within_one_in_a_hundred_and_counts_by_powers_are_exact(
            mut values in prop::collection::vec(prop_oneof![0_u64..200, 0_u64..2_000_000_000, any::<u64>()], 1..600),
            permille in 1_u64..=1000,
        ) {
            let mut buckets = LogBuckets::default();
            values.iter().for_each(|value| buckets.add(*value));
            values.sort_unstable();
            let rank = (values.len() as u64 * permille).div_ceil(1000).max(1) as usize;
            let (found, exact) = (buckets.permille(permille), values[rank - 1]);
            prop_assert!(found.abs_diff(exact) <= exact / 100, "{found} for {exact}");
            let mut powers: Vec<(u64, u64)> = Vec::new();
            for value in &values {
                let power = value.checked_ilog2().map_or(0, |bits| 1 << bits);
                match powers.last_mut() {
                    Some((last, count)) if *last == power => *count += 1,
                    _ => powers.push((power, 1)),
                }
            }
            prop_assert_eq!(buckets.powers(), powers);
        }
    }
}

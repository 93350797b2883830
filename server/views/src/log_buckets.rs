//! Buckets of numbers whose width grows with the numbers: so many to each power of two.
//!
//! Values below so many have a bucket each. Buckets are numbered from 0 on without a gap, so those of few to a power of two are
//! made of those of many.

/// Buckets of a power of two of [`LogBuckets`], as bits.
const FINE: LogScale = LogScale { bits: 6 };
const PART: usize = 1 << FINE.bits;

/// How many buckets a power of two has: a power of two itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogScale {
    /// Its logarithm, at most 6.
    pub(crate) bits: u8,
}

impl LogScale {
    /// The number of the bucket that a value is in.
    pub(crate) const fn index(self, value: u64) -> u32 {
        let bits = self.bits as u32;
        let power = match value.checked_ilog2() {
            Some(power) => power,
            None => return 0,
        };
        if power <= bits {
            return value as u32;
        }
        let shift = power - bits;
        (shift << bits) + (value >> shift) as u32
    }

    /// The number of the bucket of a number that may be below 0: those of these are mirrored. It has at most 64 bits.
    pub(crate) fn signed_index(self, value: i128) -> i32 {
        // There are fewer than 2^12 buckets.
        let index = self.index(u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX)).cast_signed();
        if value < 0 { -index } else { index }
    }

    /// The least and the greatest number of such a bucket.
    pub(crate) fn signed_ends(self, index: i32) -> (i128, i128) {
        let (low, wide) = self.values(index.unsigned_abs());
        let (low, high) = (i128::from(low), i128::from(low) + i128::from(wide) - 1);
        if index < 0 { (-high, -low) } else { (low, high) }
    }

    /// The least value of a bucket, and how many values it has.
    pub(crate) const fn values(self, index: u32) -> (u64, u64) {
        let bits = self.bits as u32;
        if index < 2 << bits {
            return (index as u64, 1);
        }
        let shift = (index >> bits) - 1;
        (((index - (shift << bits)) as u64) << shift, 1 << shift)
    }
}

/// Counts of values by size: values up to 127 have a bucket each, larger ones one of 64 to each power of two. A percentile is told
/// by the middle of its bucket, which is at most 1/128 of the value away from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogBuckets {
    /// As many buckets at a time as a power of two has, from the least values on; those that have no value are not made.
    parts: Vec<Option<Box<[u32; PART]>>>,
}

impl LogBuckets {
    pub(crate) fn add(&mut self, value: u64) {
        let index = FINE.index(value) as usize;
        let (part, place) = (index / PART, index % PART);
        if self.parts.len() <= part {
            self.parts.resize(part + 1, None);
        }
        let Some(part) = self.parts.get_mut(part) else { return };
        if let Some(count) = part.get_or_insert_with(|| Box::new([0; PART])).get_mut(place) {
            *count = count.saturating_add(1);
        }
    }

    /// All buckets that have values, from the least on: the least value, how many values it has, and the count.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.parts.iter().enumerate().flat_map(|(part, counts)| {
            let counts = counts.iter().flat_map(|counts| counts.iter().enumerate());
            counts.filter(|(_, count)| **count > 0).map(move |(place, count)| {
                let (low, wide) = FINE.values((part * PART + place) as u32);
                (low, wide, u64::from(*count))
            })
        })
    }

    /// The value that `permille` of all are not greater than.
    pub(crate) fn permille(&self, permille: u64) -> u64 {
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
    pub(crate) fn powers(&self) -> Vec<(u64, u64)> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_value_is_in_its_bucket_and_near_its_middle() {
        let powers = (0..64).flat_map(|bits| [1_u64 << bits, (1 << bits) - 1, (1 << bits) + (1 << bits) / 3]);
        for value in powers.chain(0..300).chain([u64::MAX]) {
            for bits in 0..=6 {
                let scale = LogScale { bits };
                let (low, wide) = scale.values(scale.index(value));
                assert!(low <= value && value - low < wide, "{value} in {low} and {wide} on, {bits} bits");
            }
            let (low, wide) = FINE.values(FINE.index(value));
            assert!((low + wide / 2).abs_diff(value) <= value / 100, "{value} is told as {}", low + wide / 2);
        }
    }

    #[test]
    fn buckets_of_numbers_below_zero_are_mirrored() {
        let numbers = (-700..700_i128).chain([1 << 40, (1 << 63) + 12_345, i128::from(u64::MAX), i128::from(i64::MIN)]);
        for number in numbers {
            for bits in [0, 1, 3, FINE.bits] {
                let scale = LogScale { bits };
                let (low, high) = scale.signed_ends(scale.signed_index(number));
                assert!(low <= number && number <= high, "{number} of {bits} bits: {low} {high}");
                let next = high + 1;
                let follows = scale.signed_index(next) == scale.signed_index(number) + 1;
                assert!(follows || next > i128::from(u64::MAX), "{number} of {bits} bits");
            }
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for bits in 0..=6 {
            let scale = LogScale { bits };
            let mut next = 0_u128;
            for index in 0..=scale.index(u64::MAX) {
                let (low, wide) = scale.values(index);
                assert_eq!(u128::from(low), next, "{index} of {bits} bits");
                assert_eq!(scale.index(low), index);
                next += u128::from(wide);
            }
            assert_eq!(next, 1 << 64);
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

//! How the values of a column are spread, by part of time.

use bathyscope_capture::ShownCell;

use crate::{
    answers::MeasuredNumber,
    chance::{BLOCKS, Draw, spread},
    log_buckets::LogScale,
};

/// Buckets of percentiles: 64 to a power of two.
const FINE: LogScale = LogScale { bits: 6 };
/// Buckets of small histograms: 4 to a power of two.
const COARSE: LogScale = LogScale { bits: 2 };
/// More than the number of any fine bucket.
const OFFSET: i32 = 4096;
/// Rows that must be on either side of a percentile, so that its error can be told.
const MIN_BEYOND: f64 = 10.0;

/// Rows by part of time.
pub(super) type Parts = [u32; BLOCKS as usize];

/// Values of a column.
#[derive(Default)]
pub(super) struct ColumnSpread {
    /// Rows of each bucket, by its number and [`OFFSET`].
    buckets: Vec<Option<Box<Parts>>>,
    pub(super) rows: u64,
    pub(super) least: i128,
    pub(super) most: i128,
}

/// A bucket with rows.
struct Step {
    middle: f64,
    /// The standard deviation of values that are anywhere in it.
    error: f64,
    parts: Draw,
}

impl ColumnSpread {
    pub(super) fn add(&mut self, value: i128, block: usize) {
        if self.rows == 0 {
            (self.least, self.most) = (value, value);
        }
        self.rows += 1;
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        let at = usize::try_from(FINE.signed_index(value) + OFFSET).unwrap_or(0);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, None);
        }
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        if let Some(rows) = bucket.get_or_insert_with(Box::default).get_mut(block) {
            *rows = rows.saturating_add(1);
        }
    }

    fn filled(&self) -> impl Iterator<Item = ((i128, i128), &Parts)> {
        let numbered = (-OFFSET..).zip(&self.buckets);
        numbered.filter_map(|(index, parts)| Some((FINE.signed_ends(index), &**parts.as_ref()?)))
    }

    fn steps(&self) -> Vec<Step> {
        let step = |((low, high), parts): ((i128, i128), &Parts)| {
            let middle = (low + (high - low) / 2).clamp(self.least, self.most) as f64;
            let mut sums = [0.0; BLOCKS as usize];
            sums.iter_mut().zip(parts).for_each(|(sum, rows)| *sum = f64::from(*rows));
            Step { middle, error: (high - low + 1) as f64 / 12_f64.sqrt(), parts: sums }
        };
        self.filled().map(step).collect()
    }

    /// The values that such shares of all are not greater than; `lost` rows are not among them, and `is_signed` says whether there
    /// is no least value.
    pub(super) fn percentiles(
        &self,
        shares: &[f64],
        (lost, is_signed): (u64, bool),
        draws: &[Draw],
    ) -> Vec<MeasuredNumber> {
        let steps = self.steps();
        let whole: Vec<f64> = steps.iter().map(|step| step.parts.iter().sum()).collect();
        let mut drawn: Vec<Vec<f64>> = vec![Vec::with_capacity(draws.len()); shares.len()];
        let mut weights = vec![0.0; steps.len()];
        for draw in draws {
            for (weight, step) in weights.iter_mut().zip(&steps) {
                *weight = draw.iter().zip(&step.parts).map(|(times, rows)| times * rows).sum();
            }
            for (found, share) in drawn.iter_mut().zip(shares) {
                found.extend(at(&steps, &weights, *share).map(|step| step.middle));
            }
        }
        let rows = self.rows as f64;
        let number = |(share, drawn): (&f64, &Vec<f64>)| {
            let value = |share: f64| at(&steps, &whole, share).map_or(0.0, |step| step.middle);
            let bucket = at(&steps, &whole, *share).map_or(0.0, |step| step.error);
            let aside = (share * (1.0 - share) / rows.max(1.0)).sqrt();
            let alone = (value((share + aside).min(1.0)) - value((share - aside).max(0.0))) / 2.0;
            let beyond = rows * share.min(1.0 - share);
            let error = (beyond >= MIN_BEYOND).then(|| spread(drawn).max(alone).max(bucket));
            let (least, most) = bounds(*share, (rows, lost as f64), value);
            let least = least.or((!is_signed).then_some(0.0));
            MeasuredNumber { value: value(*share), error, least, most }
        };
        shares.iter().zip(&drawn).map(number).collect()
    }

    /// Rows by coarse bucket: the number of each, and how many.
    pub(super) fn coarse(&self) -> Vec<(i32, u64)> {
        let mut found: Vec<(i32, u64)> = Vec::new();
        for ((low, _), parts) in self.filled() {
            // A bucket of few is made of whole ones of many.
            let index = COARSE.signed_index(low);
            let rows = parts.iter().map(|rows| u64::from(*rows)).sum::<u64>();
            match found.last_mut() {
                Some((last, sum)) if *last == index => *sum += rows,
                _ => found.push((index, rows)),
            }
        }
        found
    }
}

/// Limits of buckets, and the rows of two columns in each.
type CommonBuckets = (Vec<(ShownCell, ShownCell)>, Vec<u64>, Vec<u64>);

/// Histograms of two columns in the same buckets.
pub(super) fn common_buckets(a: &ColumnSpread, b: &ColumnSpread) -> CommonBuckets {
    let (a, b) = (a.coarse(), b.coarse());
    let indexes = || a.iter().chain(&b).map(|(index, _)| *index);
    let (Some(first), Some(last)) = (indexes().min(), indexes().max()) else { return CommonBuckets::default() };
    let ends = |index: i32| {
        let (low, high) = COARSE.signed_ends(index);
        (ShownCell::Number(low), ShownCell::Number(high + 1))
    };
    let counts = |of: &[(i32, u64)]| {
        let mut counts = vec![0; usize::try_from(last - first + 1).unwrap_or(0)];
        for (index, rows) in of {
            if let Some(count) = usize::try_from(index - first).ok().and_then(|at| counts.get_mut(at)) {
                *count = *rows;
            }
        }
        counts
    };
    ((first..=last).map(ends).collect(), counts(&a), counts(&b))
}

/// The bucket that such a share of all rows is not beyond.
fn at<'s>(steps: &'s [Step], weights: &[f64], share: f64) -> Option<&'s Step> {
    let all: f64 = weights.iter().sum();
    // Shares are not exact: the 55th of 100 is not the 56th.
    let wanted = (all * share * (1.0 - 1e-12)).ceil().max(1.0);
    let mut before = 0.0;
    let mut found = None;
    for (step, weight) in steps.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        found = Some(step);
        before += weight;
        if before >= wanted {
            break;
        }
    }
    found
}

/// Between what a percentile is if all lost rows were least, and if all were greatest; none where the rows say no limit.
fn bounds(share: f64, (rows, lost): (f64, f64), value: impl Fn(f64) -> f64) -> (Option<f64>, Option<f64>) {
    if lost == 0.0 {
        return (Some(value(share)), Some(value(share)));
    }
    if rows == 0.0 {
        return (None, None);
    }
    let rank = share * (rows + lost);
    ((rank > lost).then(|| value((rank - lost) / rows)), (rank <= rows).then(|| value(rank / rows)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use proptest::prelude::*;

    use super::*;
    use crate::chance::draws;

    fn of(values: &[i128]) -> ColumnSpread {
        let mut spread = ColumnSpread::default();
        let blocks = BLOCKS as usize;
        values.iter().enumerate().for_each(|(at, value)| spread.add(*value, at * blocks / values.len()));
        spread
    }

    #[test]
    fn lost_rows_widen_a_percentile_by_what_they_can_have_been() {
        let spread = of(&(1..=100).collect::<Vec<_>>());
        let bounds = |share, lost, is_signed| {
            let found = spread.percentiles(&[share], (lost, is_signed), &draws())[0];
            (found.value, found.least, found.most)
        };
        assert_eq!(bounds(0.5, 0, false), (50.0, Some(50.0), Some(50.0)));
        // Of 110 the 55th: at most 10 of those are lost ones, or none is.
        assert_eq!(bounds(0.5, 10, false), (50.0, Some(45.0), Some(55.0)));
        assert_eq!(bounds(0.99, 10, false), (99.0, Some(99.0), None));
        assert_eq!(bounds(0.05, 10, true), (5.0, None, Some(6.0)));
        assert_eq!(bounds(0.05, 10, false), (5.0, Some(0.0), Some(6.0)));
    }

    #[test]
    fn few_rows_tell_no_error() {
        let error =
            |rows: i128, share| of(&(0..rows).collect::<Vec<_>>()).percentiles(&[share], (0, false), &draws())[0].error;
        assert!(error(19, 0.5).is_none() && error(20, 0.5).is_some());
        assert!(error(999, 0.99).is_none() && error(1001, 0.99).is_some());
        assert!(of(&[]).percentiles(&[0.5], (0, false), &draws())[0].error.is_none());
    }

    proptest! {
        #[test]
        fn percentiles_are_near_and_counts_are_kept(
            values in prop::collection::vec(prop_oneof![-500_i128..500, 0_i128..4_000_000_000], 1..400),
            permille in 1_u32..1000,
        ) {
            let spread = of(&values);
            let share = f64::from(permille) / 1000.0;
            let found = spread.percentiles(&[share], (0, true), &[])[0].value;
            let mut sorted = values.clone();
            sorted.sort_unstable();
            // In whole numbers: 25 times 0.28 is more than 7 as a number with a point.
            let rank = (values.len() * permille as usize).div_ceil(1000);
            let exact = sorted[rank - 1] as f64;
            prop_assert!((found - exact).abs() <= exact.abs() / 64.0 + 1.0, "{found} for {exact}");
            let (buckets, a, b) = common_buckets(&spread, &of(&[7]));
            prop_assert_eq!(a.iter().sum::<u64>(), values.len() as u64);
            prop_assert_eq!((b.iter().sum::<u64>(), a.len(), b.len()), (1, buckets.len(), buckets.len()));
        }
    }
}

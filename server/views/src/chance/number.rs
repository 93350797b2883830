//! A number, and whether two of them differ by more than chance.

use super::{TABLE_CHANCE, deviations};
use crate::answers::{DifferenceVerdict, MeasuredNumber};

impl MeasuredNumber {
    /// Of which nothing was lost.
    pub(crate) const fn of(value: f64, error: Option<f64>) -> Self {
        Self { value, error, least: Some(value), most: Some(value) }
    }

    /// In another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        let scaled = |value: f64| value * factor;
        Self {
            value: scaled(self.value),
            error: self.error.map(scaled),
            least: self.least.map(scaled),
            most: self.most.map(scaled),
        }
    }

    /// Whether both could be one number with what was lost.
    fn can_be(&self, other: &Self) -> bool {
        let reaches = |from: Option<f64>, to: Option<f64>| from.zip(to).is_none_or(|(from, to)| from <= to);
        reaches(self.least, other.most) && reaches(other.least, self.most)
    }
}

/// How much more `b` is than `a`, the standard error of that, and what it is worth, as one of so many differences that are looked at
/// together.
pub fn judge(a: &MeasuredNumber, b: &MeasuredNumber, tests: usize) -> (f64, Option<f64>, DifferenceVerdict) {
    let difference = b.value - a.value;
    let (Some(of_a), Some(of_b)) = (a.error, b.error) else { return (difference, None, DifferenceVerdict::TooFew) };
    let error = of_a.hypot(of_b);
    let limit = deviations(TABLE_CHANCE / tests.max(1) as f64);
    let verdict = if difference.abs() <= limit * error {
        DifferenceVerdict::WithinChance
    } else if a.can_be(b) {
        DifferenceVerdict::LostRows
    } else {
        DifferenceVerdict::BeyondChance
    };
    (difference, Some(error), verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_its_error_and_by_what_was_lost() {
        use DifferenceVerdict::{BeyondChance, LostRows, TooFew, WithinChance};
        let sure = |value: f64| MeasuredNumber::of(value, Some(1.0));
        let wide = |value: f64, least, most| MeasuredNumber { value, error: Some(1.0), least, most };
        let cases = [
            (sure(10.0), sure(10.0), WithinChance),
            (sure(10.0), sure(13.0), WithinChance),
            (sure(10.0), sure(14.0), BeyondChance),
            (sure(14.0), sure(10.0), BeyondChance),
            (MeasuredNumber::of(10.0, None), sure(90.0), TooFew),
            (sure(10.0), wide(20.0, Some(15.0), Some(30.0)), BeyondChance),
            (sure(10.0), wide(20.0, Some(9.0), Some(30.0)), LostRows),
            (sure(10.0), wide(20.0, None, Some(30.0)), LostRows),
            (wide(10.0, Some(10.0), None), sure(20.0), LostRows),
            (sure(20.0), wide(10.0, Some(10.0), None), LostRows),
            (sure(9.0), wide(20.0, Some(15.0), None), BeyondChance),
        ];
        for (a, b, expected) in cases {
            assert_eq!(judge(&a, &b, 1).2, expected, "{a:?} {b:?}");
            assert_eq!(judge(&b, &a, 1).2, expected, "turned: {a:?} {b:?}");
        }
        // The more is looked at together, the more it takes.
        assert_eq!(judge(&sure(10.0), &sure(14.0), 10_000).2, WithinChance);
    }
}

//! Numbers of a line by part of time, and how sure they are.

use std::collections::HashMap;

use super::{MatchedLine, MatchedSide};
use crate::{
    answers::{MeasuredNumber, Normalised},
    chance::{BLOCKS, Draw, spread, sum_of},
};

const SECOND_NS: f64 = 1e9;
/// Rows that a mean is of at least, so that its error can be told.
const MIN_ROWS: f64 = 10.0;

/// Nothing in any part of time.
pub(crate) fn parts() -> Box<Draw> {
    Box::new([0.0; BLOCKS as usize])
}

/// A number of a line.
#[derive(Clone, Debug)]
pub(crate) enum MatchedValue {
    /// How many rows.
    Rows(Box<Draw>),
    /// What numbers of rows make together, and whether they can be below 0.
    Sum(Box<Draw>, bool),
    /// Their mean: sums and rows by part of time, the sum of squares, and whether they can be below 0.
    Mean(Box<Draw>, Box<Draw>, f64, bool),
    /// An amount of which nobody knows when it came.
    Whole(f64),
    /// Another number.
    Level(Option<f64>),
}

/// What amounts of a side are divided by.
pub(crate) struct Scales {
    normalised: Normalised,
    span_ns: f64,
    /// By measure, of shares.
    wholes: Vec<Draw>,
    /// The same of what came nobody knows when.
    sums: Vec<f64>,
}

impl Scales {
    pub(crate) fn of(side: &MatchedSide, lines: &HashMap<String, MatchedLine>, normalised: Normalised) -> Self {
        let count = lines.values().map(|line| line.values.len()).max().unwrap_or(0);
        let (mut wholes, mut sums) = (vec![*parts(); count], vec![0.0; count]);
        let mut add = |at: usize, value: &MatchedValue| {
            if let (Some(amount), Some(whole)) = (value.amount(), wholes.get_mut(at)) {
                whole.iter_mut().zip(amount.iter()).for_each(|(sum, part)| *sum += part);
            }
            if let Some(sum) = sums.get_mut(at) {
                *sum += value.recorded().unwrap_or(0.0);
            }
        };
        for line in lines.values() {
            let own = line.values.iter().enumerate();
            own.filter(|(at, _)| side.wholes.get(*at).is_none_or(Option::is_none))
                .for_each(|(at, value)| add(at, value));
        }
        side.wholes
            .iter()
            .enumerate()
            .filter_map(|(at, whole)| Some((at, whole.as_ref()?)))
            .for_each(|(at, it)| add(at, it));
        Self { normalised, span_ns: (side.range.span_ns() as f64).max(1.0), wholes, sums }
    }

    /// What an amount without a share is multiplied by.
    fn factor(&self) -> f64 {
        if self.normalised == Normalised::Time { SECOND_NS / self.span_ns } else { 1.0 }
    }
}

impl MatchedValue {
    /// What it has by part of time, if it adds up.
    fn amount(&self) -> Option<&Draw> {
        match self {
            Self::Rows(parts) | Self::Sum(parts, _) => Some(parts),
            Self::Mean(..) | Self::Level(_) | Self::Whole(_) => None,
        }
    }

    /// The same of a line that is not there.
    pub(crate) fn empty(&self) -> Self {
        match self {
            Self::Rows(_) => Self::Rows(parts()),
            Self::Sum(_, is_signed) => Self::Sum(parts(), *is_signed),
            Self::Whole(_) => Self::Whole(0.0),
            Self::Mean(..) | Self::Level(_) => Self::Level(None),
        }
    }

    /// Adds another line's to it.
    pub(crate) fn absorb(&mut self, other: Self) {
        let add = |sum: &mut Draw, more: &Draw| sum.iter_mut().zip(more).for_each(|(sum, part)| *sum += part);
        match (self, other) {
            (Self::Rows(sum), Self::Rows(more)) | (Self::Sum(sum, _), Self::Sum(more, _)) => add(sum, &more),
            (Self::Mean(sum, rows, squares, _), Self::Mean(more, more_rows, more_squares, _)) => {
                add(sum, &more);
                add(rows, &more_rows);
                *squares += more_squares;
            }
            (Self::Whole(sum), Self::Whole(more)) => *sum += more,
            // Nobody can say it of both together.
            (level, _) => *level = Self::Level(None),
        }
    }

    /// As it was recorded; none if there is none.
    pub(crate) fn recorded(&self) -> Option<f64> {
        match self {
            Self::Rows(parts) | Self::Sum(parts, _) => Some(parts.iter().sum()),
            Self::Mean(sums, rows, ..) => {
                let count = rows.iter().sum::<f64>();
                (count > 0.0).then(|| sums.iter().sum::<f64>() / count)
            }
            Self::Whole(sum) => Some(*sum),
            Self::Level(level) => *level,
        }
    }

    /// As it is compared, with its error; `lost` rows are not in it.
    pub(crate) fn number(&self, lost: u64, (scales, at): (&Scales, usize), draws: &[Draw]) -> Option<MeasuredNumber> {
        let value = self.recorded()?;
        let number = match self {
            Self::Level(_) => return Some(MeasuredNumber::of(value, None)),
            Self::Mean(sums, rows, squares, is_signed) => {
                return Some(mean(value, (sums, rows), (*squares, *is_signed, lost), draws));
            }
            Self::Whole(_) => MeasuredNumber::of(value, None),
            Self::Rows(parts) => {
                // One more, so that what was never seen has an error too.
                let error = drawn(parts, draws).max((value + 1.0).sqrt());
                MeasuredNumber { most: Some(value + lost as f64), ..MeasuredNumber::of(value, Some(error)) }
            }
            Self::Sum(parts, is_signed) => {
                // How much that varies which is not there is not known.
                let error = Some(drawn(parts, draws)).filter(|error| *error > 0.0);
                let known = (lost == 0).then_some(value);
                let least = if *is_signed { known } else { Some(value) };
                MeasuredNumber { value, error, least, most: known }
            }
        };
        if scales.normalised == Normalised::Total {
            return Some(self.share(number, lost, (scales, at), draws));
        }
        Some(number.times(scales.factor()))
    }

    /// As a share of all lines.
    fn share(
        &self,
        number: MeasuredNumber,
        lost: u64,
        (scales, at): (&Scales, usize),
        draws: &[Draw],
    ) -> MeasuredNumber {
        let sum = scales.sums.get(at).copied().unwrap_or(0.0);
        let whole = if sum == 0.0 { 1.0 } else { sum };
        let value = number.value / whole;
        let (Some(parts), Some(wholes)) = (self.amount(), scales.wholes.get(at)) else {
            return MeasuredNumber::of(value, None);
        };
        let shares = draws.iter().filter_map(|draw| {
            let all = sum_of(draw, wholes);
            (all != 0.0).then(|| sum_of(draw, parts) / all)
        });
        let drawn = spread(&shares.collect::<Vec<f64>>());
        if !matches!(self, Self::Rows(_)) {
            let known = (lost == 0).then_some(value);
            return MeasuredNumber {
                value,
                error: Some(drawn).filter(|error| *error > 0.0),
                least: known,
                most: known,
            };
        }
        let alone = (value * (1.0 - value).max(0.0) / whole).sqrt().max(1.0 / whole);
        let with_lost = whole + lost as f64;
        let (least, most) = (Some(number.value / with_lost), Some((number.value + lost as f64) / with_lost));
        MeasuredNumber { value, error: Some(drawn.max(alone)), least, most }
    }
}

/// The spread of a sum over draws.
fn drawn(parts: &Draw, draws: &[Draw]) -> f64 {
    spread(&draws.iter().map(|draw| sum_of(draw, parts)).collect::<Vec<f64>>())
}

fn mean(
    value: f64,
    (sums, rows): (&Draw, &Draw),
    (squares, is_signed, lost): (f64, bool, u64),
    draws: &[Draw],
) -> MeasuredNumber {
    let count = rows.iter().sum::<f64>();
    let means = draws.iter().filter_map(|draw| {
        let rows = sum_of(draw, rows);
        (rows > 0.0).then(|| sum_of(draw, sums) / rows)
    });
    let alone = ((squares / count - value * value).max(0.0) / count).sqrt();
    let error = (count >= MIN_ROWS).then(|| spread(&means.collect::<Vec<f64>>()).max(alone));
    if lost == 0 {
        return MeasuredNumber::of(value, error);
    }
    // Whatever lost rows had is in none of it.
    let least = (!is_signed).then(|| sums.iter().sum::<f64>() / (count + lost as f64));
    MeasuredNumber { value, error, least, most: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TimeRange, against::MatchedLines, chance::draws};

    fn scales(normalised: Normalised, whole: f64) -> Scales {
        let mut wholes = parts();
        wholes.iter_mut().for_each(|part| *part = whole / f64::from(BLOCKS));
        Scales { normalised, span_ns: 2e9, wholes: vec![*wholes], sums: vec![whole] }
    }

    fn even(sum: f64) -> Box<Draw> {
        Box::new([sum / f64::from(BLOCKS); BLOCKS as usize])
    }

    #[test]
    fn amounts_are_for_each_second_shares_or_as_they_are() {
        let rows = MatchedValue::Rows(even(64.0));
        let value = |normalised| rows.number(0, (&scales(normalised, 640.0), 0), &draws()).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(value(Normalised::Time).value, 32.0);
        close(value(Normalised::Total).value, 0.1);
        close(value(Normalised::None).value, 64.0);
        // At least what independent rows would give.
        close(value(Normalised::None).error.unwrap(), 65.0_f64.sqrt());
        close(value(Normalised::Time).error.unwrap(), 65.0_f64.sqrt() / 2.0);
    }

    #[test]
    fn what_was_lost_is_what_numbers_can_have_been_more() {
        let plain = scales(Normalised::None, 1.0);
        let number = |value: &MatchedValue, lost| value.number(lost, (&plain, 0), &draws()).unwrap();
        assert_eq!(number(&MatchedValue::Rows(even(64.0)), 7).most, Some(71.0));
        let sum = MatchedValue::Sum(even(640.0), false);
        assert_eq!(
            (number(&sum, 0).most, number(&sum, 1).least, number(&sum, 1).most),
            (Some(640.0), Some(640.0), None)
        );
        assert_eq!(number(&MatchedValue::Sum(even(640.0), true), 1).least, None);
        let mean = MatchedValue::Mean(even(640.0), even(64.0), 64.0 * 101.0, false);
        assert_eq!((number(&mean, 0).value, number(&mean, 0).error), (10.0, Some(0.125)));
        assert_eq!((number(&mean, 64).least, number(&mean, 64).most), (Some(5.0), None));
        let few = MatchedValue::Mean(even(64.0), even(9.0), 512.0, false);
        assert_eq!(number(&few, 0).error, None);
    }

    #[test]
    fn lines_that_are_written_the_same_are_one() {
        use bathyscope_capture::ShownCell::{Number, Text};
        let line = |key: &str, rows: f64| MatchedLine {
            key: vec![Text(key.to_owned()), Number(1)],
            values: vec![MatchedValue::Rows(even(rows)), MatchedValue::Level(Some(rows))],
            ..MatchedLine::default()
        };
        let mut lines = MatchedLines::default();
        assert!(lines.add(line("a", 32.0)) && lines.add(line("a", 64.0)) && lines.add(line("b", 1.0)));
        let side = MatchedSide {
            origin_ns: 0,
            range: TimeRange { start_ns: 0, end_ns: 1 },
            rows: 0,
            lost: 0,
            left_out: 0,
            lines: MatchedLines::default(),
            wholes: Vec::new(),
            caution: None,
        };
        let known = lines.take();
        assert_eq!(Scales::of(&side, &known, Normalised::Total).sums, [97.0, 1.0]);
        let mut told: Vec<Option<f64>> =
            known.values().flat_map(|line| line.values.iter().map(MatchedValue::recorded)).collect();
        told.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(told, [None, Some(1.0), Some(1.0), Some(96.0)]);
    }
}

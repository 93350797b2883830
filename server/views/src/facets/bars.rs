//! How numbers spread, as bars of a small histogram: of equal width, or as wide as their numbers are large.

use crate::log_buckets::LogScale;

/// The most bars, about.
const MAX_BARS: i128 = 40;
/// Fine bins for each doubling of a number.
const FINE: LogScale = LogScale { bits: 6 };
/// How much larger than the middle number the greatest is where bars of equal width would put all in one.
const SKEWED: i128 = 16;

/// Rows with numbers from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) low: i128,
    pub(super) high: i128,
    pub(super) rows: u64,
}

/// Bars from the least number to the greatest, without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bars {
    pub(super) bars: Vec<Piece>,
    pub(super) log: bool,
}

/// Counts of numbers of 64 bits in bins of which each doubling has 64.
#[derive(Clone, Debug)]
pub(super) struct FineBins(Vec<u64>);

/// The bin of zero: as many are below as above.
const ZERO: i32 = 1 << 12;

impl Default for FineBins {
    fn default() -> Self {
        Self(vec![0; 2 * ZERO as usize])
    }
}

impl FineBins {
    pub(super) fn add(&mut self, number: i128, rows: u64) {
        let bin = usize::try_from(FINE.signed_index(number) + ZERO).ok();
        if let Some(sum) = bin.and_then(|bin| self.0.get_mut(bin)) {
            *sum += rows;
        }
    }

    pub(super) fn pieces(&self) -> Vec<Piece> {
        let piece = |(bin, rows): (i32, &u64)| {
            let (low, high) = FINE.signed_ends(bin);
            Piece { low, high, rows: *rows }
        };
        (-ZERO..).zip(&self.0).filter(|(_, rows)| **rows > 0).map(piece).collect()
    }
}

impl Bars {
    /// Bars of numbers that are each known, ascending.
    pub(super) fn of_numbers(numbers: &[Piece]) -> Self {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Self::default() };
        let (low, high) = (first.low, last.high);
        let half: u64 = numbers.iter().map(|piece| piece.rows).sum::<u64>() / 2;
        let mut below = 0;
        let middle = numbers.iter().find(|piece| {
            below += piece.rows;
            below > half
        });
        let middle = middle.map_or(low, |piece| piece.low);
        // Seen from the greatest number, whichever side of zero that is on.
        let reach = high.abs().max(low.abs());
        if high - low >= MAX_BARS && reach > middle.abs().saturating_mul(SKEWED).max(SKEWED) {
            return Self::of_bins(numbers);
        }
        let width = step_of(high - low);
        let begin = low.div_euclid(width) * width;
        let bars = (0..=(high - begin) / width).map(|n| {
            let low = begin + n * width;
            Piece { low, high: low + width - 1, rows: 0 }
        });
        let mut bars = Self { bars: bars.collect(), log: false };
        for piece in numbers {
            bars.put((piece.low - begin) / width, piece.rows);
        }
        bars
    }

    /// Bars as wide as their numbers are large, of pieces that lie each in one fine bin.
    pub(super) fn of_bins(pieces: &[Piece]) -> Self {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Self::default() };
        let count = |scale: LogScale| i128::from(scale.signed_index(last.high) - scale.signed_index(first.low) + 1);
        let mut scales = (0..=FINE.bits).rev().map(|bits| LogScale { bits });
        let scale = scales.find(|scale| count(*scale) <= MAX_BARS).unwrap_or(LogScale { bits: 0 });
        let (begin, end) = (scale.signed_index(first.low), scale.signed_index(last.high));
        // Where even whole doublings are too many, bars are several of them.
        let several = i32::try_from((count(scale) + MAX_BARS - 1) / MAX_BARS).unwrap_or(1).max(1);
        let bars = (begin..=end).step_by(several.unsigned_abs() as usize).map(|bin| Piece {
            low: scale.signed_ends(bin).0,
            high: scale.signed_ends((bin + several - 1).min(end)).1,
            rows: 0,
        });
        let mut bars = Self { bars: bars.collect(), log: true };
        for piece in pieces {
            bars.put(i128::from((scale.signed_index(piece.low) - begin) / several), piece.rows);
        }
        bars
    }

    fn put(&mut self, bar: i128, rows: u64) {
        if let Some(bar) = usize::try_from(bar).ok().and_then(|bar| self.bars.get_mut(bar)) {
            bar.rows += rows;
        }
    }
}

/// The width of bars of equal width: 1, 2 or 5 times a power of ten.
fn step_of(span: i128) -> i128 {
    let mut power = 1;
    loop {
        for factor in [1, 2, 5] {
            if span / (factor * power) < MAX_BARS {
                return factor * power;
            }
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(numbers: &[(i128, u64)]) -> Vec<Piece> {
        numbers.iter().map(|(number, rows)| Piece { low: *number, high: *number, rows: *rows }).collect()
    }

    #[test]
    fn bars_touch_and_hold_all_rows() {
        let made: [Vec<(i128, u64)>; 7] = [
            vec![(5, 3)],
            (0..10).map(|n| (n, 1)).collect(),
            (0..1000).map(|n| (n, 2)).collect(),
            (0..60).map(|n| (1 << n, 1)).collect(),
            vec![(-11, 90), (-2, 10), (0, 500), (4096, 20), (1 << 20, 1)],
            vec![(0xffff_8880_0000_0000, 1), (0xffff_8880_0000_1000, 5)],
            vec![(i128::from(i64::MIN), 1), (0, 9), (i128::from(i64::MAX), 1)],
        ];
        for numbers in made {
            let bars = Bars::of_numbers(&pieces(&numbers));
            let rows: u64 = bars.bars.iter().map(|bar| bar.rows).sum();
            assert_eq!(rows, numbers.iter().map(|(_, rows)| rows).sum::<u64>(), "{numbers:?}");
            assert!(bars.bars.len() <= 42, "{} bars of {numbers:?}", bars.bars.len());
            assert!(bars.bars.windows(2).all(|two| two[0].high + 1 == two[1].low), "{bars:?}");
            for bar in &bars.bars {
                let inside = numbers.iter().filter(|(number, _)| bar.low <= *number && *number <= bar.high);
                assert_eq!(bar.rows, inside.map(|(_, rows)| rows).sum::<u64>(), "{bar:?} of {numbers:?}");
            }
        }
        assert!(!Bars::of_numbers(&pieces(&[(0, 1), (100, 1)])).log);
        assert!(Bars::of_numbers(&pieces(&[(1, 100), (1_000_000, 1)])).log);
    }
}

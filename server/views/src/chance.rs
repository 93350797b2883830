//! Whether a difference is more than chance, the same way for whatever is compared.
//!
//! Chance is what recording again would give. The time of each side is cut into [`BLOCKS`] parts, and parts are drawn again with
//! replacement (a block bootstrap: what follows each other is not independent), [`DRAWS`] times. The spread of a number over these
//! draws is its standard error. A difference counts as more than chance if it is so many standard errors that, over all
//! differences of a table together, one false one is expected in a hundred tables (Bonferroni).

mod number;

pub use number::judge;

use crate::TimeRange;

/// Parts of the time of each side.
pub(crate) const BLOCKS: u32 = 32;
/// How often parts are drawn.
const DRAWS: usize = 400;
/// The chance that a table has a difference that is none, in its two tails.
pub(crate) const TABLE_CHANCE: f64 = 0.01;

/// How often each part of time is drawn.
pub(crate) type Draw = [f64; BLOCKS as usize];

/// In which part of a span a moment is; one outside of it is in the first or the last.
pub(crate) fn block_of(span: TimeRange, time_ns: u64) -> usize {
    let scale = f64::from(BLOCKS) / span.span_ns().max(1) as f64;
    let at = time_ns.saturating_sub(span.start_ns) as f64 * scale;
    at.min(f64::from(BLOCKS - 1)) as usize
}

/// Samples of parts of time as numbers to add up.
pub(crate) fn parts_of(parts: &[u64]) -> Draw {
    let mut out = [0.0; BLOCKS as usize];
    out.iter_mut().zip(parts).for_each(|(out, part)| *out = *part as f64);
    out
}

/// What the parts of a draw have together.
pub(crate) fn sum_of(draw: &Draw, parts: &Draw) -> f64 {
    draw.iter().zip(parts).map(|(times, part)| times * part).sum()
}

/// Which parts are drawn, the same ones each time.
pub(crate) fn draws() -> Vec<Draw> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        // The generator of Steele, Lea and Flood (splitmix64).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % u64::from(BLOCKS)) as usize
    };
    let mut draw = || {
        let mut times = [0.0; BLOCKS as usize];
        for _ in 0..BLOCKS {
            if let Some(times) = times.get_mut(next()) {
                *times += 1.0;
            }
        }
        times
    };
    (0..DRAWS).map(|_| draw()).collect()
}

/// The standard deviation of what draws gave.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
}

/// The middle one; 0 of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (middle, count) = (values.len() / 2, values.len());
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    if count.is_multiple_of(2) && count > 0 { f64::midpoint(at(middle - 1), at(middle)) } else { at(middle) }
}

/// How many standard errors are exceeded with this chance, in both tails together: the approximation 26.2.23 of Abramowitz and
/// Stegun, off by less than 0.00045.
pub(crate) fn deviations(chance: f64) -> f64 {
    let t = (-2.0 * (chance / 2.0).clamp(1e-300, 0.5).ln()).sqrt();
    t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_medians_are_those_of_tables() {
        for (chance, expected) in [(0.05, 1.960), (0.01, 2.576), (0.001, 3.291), (1e-6, 4.892)] {
            assert!((deviations(chance) - expected).abs() < 0.001, "{chance}");
        }
        assert_eq!([vec![], vec![3.0], vec![4.0, 1.0], vec![9.0, 1.0, 2.0]].map(median), [0.0, 3.0, 2.5, 2.0]);
    }
}

//! How values are put into buckets.

use std::sync::atomic::Ordering;

use bathyscope_capture::ColumnStats;

use super::values::{KeyRange, Outside, ValueColumn};
use crate::{Cancel, TimeRange, ViewError, log_buckets::LogScale, scan::Scan};

/// The most buckets of equal width.
pub const MAX_LINEAR_BUCKETS: u32 = 4096;
/// The most buckets that a power of two has, as bits.
pub const MAX_LOG_BITS: u8 = 6;

/// How values are put into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueScale {
    /// Of equal width, at most so many: 2 to [`MAX_LINEAR_BUCKETS`]. Widths are 1, 2 or 5 times a power of ten.
    Linear(u32),
    /// Two to the power of so many in each power of two, at most [`MAX_LOG_BITS`]; 0 for powers of two. Those of negative numbers
    /// are the same, mirrored.
    Log(u8),
}

impl ValueScale {
    pub(super) fn check(self) -> Result<(), ViewError> {
        let (what, value, least, most) = match self {
            Self::Linear(buckets) => ("the number of buckets", buckets, 2, MAX_LINEAR_BUCKETS),
            Self::Log(bits) => ("buckets of a power of two, as bits,", u32::from(bits), 0, u32::from(MAX_LOG_BITS)),
        };
        ViewError::within(what, value.into(), least, most.into())
    }
}

/// Buckets of a scale, numbered in the order of their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buckets {
    /// From a first value on, each so wide.
    Linear { first: i128, width: u64, bias: i128 },
    /// By powers of two, on both sides of 0 where there are numbers below.
    Log { scale: LogScale, signed: bool },
}

impl Buckets {
    /// The buckets for keys from the first to the last.
    pub(super) fn new(scale: ValueScale, column: &ValueColumn, (first, last): (u64, u64)) -> Self {
        match scale {
            ValueScale::Log(bits) => Self::Log { scale: LogScale { bits }, signed: column.is_signed() },
            ValueScale::Linear(most) => {
                let (least, greatest) = (column.value(first), column.value(last));
                let width = nice_width(least, greatest, most);
                let first = least.div_euclid(i128::from(width)) * i128::from(width);
                // The key of 0, so that keys are counted from the first value on.
                Self::Linear { first, width, bias: column.value(0) - first }
            }
        }
    }

    /// The number of the bucket that a key is in.
    pub(super) fn index(&self, key: u64) -> i32 {
        match *self {
            Self::Linear { width, bias, .. } => {
                let inside = i128::from(key) + bias;
                u64::try_from(inside).map_or_else(
                    |_| i32::try_from(inside.div_euclid(i128::from(width))).unwrap_or(i32::MAX),
                    |inside| i32::try_from(inside / width).unwrap_or(i32::MAX),
                )
            }
            Self::Log { scale, signed: false } => scale.index(key).cast_signed(),
            Self::Log { scale, signed: true } => scale.signed_index((key ^ 1 << 63).cast_signed().into()),
        }
    }

    /// The least value of a bucket, and the first after it.
    pub(super) fn limits(&self, index: i32) -> (i128, i128) {
        match *self {
            Self::Linear { first, width, .. } => {
                let low = first + i128::from(index) * i128::from(width);
                (low, low + i128::from(width))
            }
            Self::Log { scale, .. } => {
                let (low, last) = scale.signed_ends(index);
                (low, last + 1)
            }
        }
    }
}

/// The least width of 1, 2 or 5 times a power of ten with which at most so many buckets, aligned to it, have all values.
fn nice_width(least: i128, greatest: i128, most: u32) -> u64 {
    let buckets = |width: i128| greatest.div_euclid(width) - least.div_euclid(width) + 1;
    let powers = (0..20).map(|power| 10_i128.pow(power));
    let widths = powers.flat_map(|power| [1, 2, 5].map(|times| times * power));
    let fits = widths.into_iter().find(|width| buckets(*width) <= i128::from(most.max(2)));
    fits.and_then(|width| u64::try_from(width).ok()).unwrap_or(u64::MAX)
}

/// The first and the last key of a scan's rows that count, if there is one. With `exact` those of the rows; else those of their
/// chunks where these say it, which can be further apart.
pub(super) fn extremes(
    scan: &mut Scan<'_>,
    column: &ValueColumn,
    (taken, is_exact): (KeyRange, bool),
    (range, cancel): (TimeRange, &Cancel),
) -> Result<Option<(u64, u64)>, ViewError> {
    let mut found: Option<(u64, u64)> = None;
    let mut add = |first: u64, last: u64| {
        found = Some(found.map_or((first, last), |(least, most): (u64, u64)| (least.min(first), most.max(last))));
    };
    let is_whole = taken.is_all && !scan.is_filtered() && !column.zero_is_none;
    for chunk in 0..scan.chunks().len() {
        if cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        let Some(meta) = scan.chunks().get(chunk) else { continue };
        if meta.last_ns < range.start_ns || meta.first_ns >= range.end_ns {
            continue;
        }
        let is_inside = range.contains(meta.first_ns) && range.contains(meta.last_ns);
        let told = match meta.stats.get(column.index) {
            Some(ColumnStats::U64(least, most)) => Some((column.key_of_word(*least), column.key_of_word(*most))),
            Some(ColumnStats::I64(least, most)) => {
                Some((column.key_of_word(least.cast_unsigned()), column.key_of_word(most.cast_unsigned())))
            }
            Some(ColumnStats::None) | None => None,
        };
        if let Some((first, last)) = told.filter(|_| !is_exact || (is_whole && is_inside)) {
            add(first, last);
            continue;
        }
        let Some(hit) = scan.hit(chunk)? else { continue };
        let mut outside = Outside::default();
        column.for_each(&hit, |_, key| {
            if taken.takes(key, &mut outside) {
                add(key, key);
            }
        });
    }
    Ok(found.and_then(|(first, last)| taken.cut(first, last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_round_and_enough() {
        let cases = [
            (0, 99, 100, 1),
            (0, 100, 100, 2),
            (5, 5, 2, 1),
            (-5, 4, 2, 5),
            (0, 1_000_000, 50, 50_000),
            (17, 1_016, 10, 200),
            (0, i128::from(u64::MAX), 2, 10_000_000_000_000_000_000),
            (i128::from(i64::MIN), i128::from(i64::MAX), 2, 10_000_000_000_000_000_000),
        ];
        for (least, greatest, most, width) in cases {
            assert_eq!(nice_width(least, greatest, most), width, "{least} to {greatest} in {most}");
        }
    }
}

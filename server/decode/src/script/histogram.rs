//! Histograms: the limits of buckets, and the picture.

use std::fmt::Write as _;

use bathyscope_plan::Aggregation;

/// Width of the longest bar.
const BAR: usize = 52;
/// The most buckets that are shown of one histogram, the empty ones between others among them.
const MAX_SHOWN: u64 = 65_536;
const SUFFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// A bucket of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The least value in it; none if there is no limit.
    pub low: Option<i128>,
    /// The first value above it; none if there is no limit.
    pub high: Option<i128>,
    /// How many values fell into it.
    pub count: u64,
}

/// The buckets from the first that is not empty to the last, with the empty ones between.
pub(super) fn buckets(aggregation: &Aggregation, counts: &[(u64, u64)]) -> Vec<Bucket> {
    let (Some((first, _)), Some((last, _))) = (counts.first(), counts.last()) else { return Vec::new() };
    // As many as there can be: numbers come from maps, and may be anything.
    let most = u64::from(aggregation.buckets().unwrap_or(0)).min(first.saturating_add(MAX_SHOWN));
    let mut counts = counts.iter().peekable();
    let mut all = Vec::new();
    for number in *first..=(*last).min(most.saturating_sub(1)) {
        let count = counts.next_if(|(known, _)| *known == number).map_or(0, |(_, count)| *count);
        let (low, high) = limits(aggregation, number);
        all.push(Bucket { low, high, count });
    }
    all
}

/// The limits of the bucket with this number.
pub(super) fn limits(aggregation: &Aggregation, number: u64) -> (Option<i128>, Option<i128>) {
    match aggregation {
        Aggregation::Hist { bits } => {
            let low = number.checked_sub(1).map(|before| hist_begin(*bits, before));
            (low, Some(hist_begin(*bits, number)))
        }
        Aggregation::LinearHist { min, step, .. } => {
            let begin = |number: u64| i128::from(*min) + i128::from(number) * i128::from(*step);
            let low = number.checked_sub(1).map(begin);
            let last = u64::from(aggregation.buckets().unwrap_or(0)).saturating_sub(1);
            (low, (number < last).then(|| begin(number)))
        }
        _ => (None, None),
    }
}

/// The first value of bucket `index` + 1: the small ones one by one, then 2^`bits` to each power of two.
fn hist_begin(bits: u8, index: u64) -> i128 {
    let of_power = 1_u64 << bits.min(5);
    if index <= 2 * of_power {
        return i128::from(index);
    }
    let power = u32::try_from(index / of_power - 1).unwrap_or(64).min(64);
    (1_i128 << power) * i128::from(of_power + index % of_power)
}

/// The picture: a line for each bucket.
pub(super) fn picture(aggregation: &Aggregation, buckets: &[Bucket]) -> String {
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let mut out = String::new();
    for bucket in buckets {
        // In single precision, as the reference has it: otherwise bars differ by one where it rounds.
        let bar = "@".repeat(((bucket.count as f32 / most as f32) * BAR as f32) as usize);
        let (limits, count) = (span(aggregation, bucket), bucket.count);
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "{limits:<16}{count:>8} |{bar:<BAR$}|");
    }
    out
}

fn span(aggregation: &Aggregation, bucket: &Bucket) -> String {
    let label = |value: i128| label(aggregation, value);
    match (bucket.low, bucket.high) {
        (Some(low), Some(high)) if low + 1 == high && is_plain(aggregation, high) => format!("[{}]", label(low)),
        (Some(low), Some(high)) => format!("[{}, {})", label(low), label(high)),
        (None, Some(high)) => format!("(..., {})", label(high)),
        (Some(low), None) => format!("[{}, ...)", label(low)),
        (None, None) => "(..., ...)".to_owned(),
    }
}

/// Whether labels are the numbers themselves, without suffix: only those make `[1]` of `[1, 2)`.
fn is_plain(aggregation: &Aggregation, value: i128) -> bool {
    match aggregation {
        Aggregation::Hist { bits } => value <= 2 << bits,
        Aggregation::LinearHist { step, .. } => !step.is_multiple_of(1024),
        _ => true,
    }
}

fn label(aggregation: &Aggregation, value: i128) -> String {
    match aggregation {
        Aggregation::Hist { bits } if value > 2 << bits => {
            // The suffix goes by the width of the bucket and not by its value, so that every begin is a whole number.
            let power = (127 - value.leading_zeros()).saturating_sub(u32::from(*bits));
            let suffix = SUFFIXES.get(power as usize / 10).copied().unwrap_or_default();
            format!("{}{suffix}", value >> (10 * (power / 10)))
        }
        Aggregation::LinearHist { step, .. } if step.is_multiple_of(1024) && value != 0 => {
            if value % (1 << 20) == 0 {
                format!("{}M", value >> 20)
            } else if value % 1024 == 0 {
                format!("{}K", value >> 10)
            } else {
                value.to_string()
            }
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_have_limits_and_labels() {
        let hist = |bits| Aggregation::Hist { bits };
        let cases: [(u8, u64, &str); 12] = [
            (0, 0, "(..., 0)"),
            (0, 1, "[0]"),
            (0, 2, "[1]"),
            (0, 3, "[2, 4)"),
            (0, 11, "[512, 1K)"),
            (0, 12, "[1K, 2K)"),
            (0, 64, "[4E, 8E)"),
            (1, 4, "[3]"),
            (1, 5, "[4, 6)"),
            (2, 5, "[4]"),
            (2, 9, "[8, 10)"),
            (2, 27, "[192, 224)"),
        ];
        for (bits, number, expected) in cases {
            let (low, high) = limits(&hist(bits), number);
            let text = span(&hist(bits), &Bucket { low, high, count: 1 });
            assert_eq!(text, expected, "{bits} {number}");
        }
    }

    #[test]
    fn every_value_is_within_the_limits_of_its_bucket() {
        for bits in 0..=5_u8 {
            for value in (0..64).flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1]) {
                let small = 1_u64 << bits;
                let number = if value < small {
                    value + 1
                } else {
                    let level = u64::from(63 - value.leading_zeros()) - u64::from(bits);
                    ((level + 1) << bits) + ((value >> level) & (small - 1)) + 1
                };
                let (low, high) = limits(&Aggregation::Hist { bits }, number);
                let value = i128::from(value);
                assert!(low.unwrap() <= value && value < high.unwrap(), "{bits} {value}: {low:?} {high:?}");
            }
        }
    }

    #[test]
    fn linear_buckets_end_open() {
        let lhist = Aggregation::LinearHist { min: 0, max: 10, step: 5 };
        let spans: Vec<String> = (0..4)
            .map(|number| {
                let (low, high) = limits(&lhist, number);
                span(&lhist, &Bucket { low, high, count: 0 })
            })
            .collect();
        assert_eq!(spans, ["(..., 0)", "[0, 5)", "[5, 10)", "[10, ...)"]);
        let kilo = Aggregation::LinearHist { min: 0, max: 4096, step: 1024 };
        assert_eq!(label(&kilo, 2048), "2K");
        assert_eq!(label(&kilo, 1 << 20), "1M");
    }

    #[test]
    fn numbers_of_buckets_that_cannot_be_end_the_picture() {
        let hist = Aggregation::Hist { bits: 0 };
        assert_eq!(buckets(&hist, &[(u64::MAX, 1)]), []);
        assert_eq!(buckets(&hist, &[(1, 1), (u64::MAX, 1)]).len(), 65);
    }
}

//! A range of a capture's time, as verbs take it.

use std::time::Duration;

use bathyscope_reader::ViewQuery;
use clap::Args;

/// From when until when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct RangeArgs {
    /// Only from this time after the capture's start: nanoseconds, or a number with ns, us, ms or s, such as 1.5s
    #[arg(long, visible_alias = "from", value_name = "TIME", allow_hyphen_values = true, value_parser = moment)]
    pub start: Option<i64>,
    /// Only until this time after the capture's start
    #[arg(long, visible_alias = "to", value_name = "TIME", allow_hyphen_values = true, value_parser = moment)]
    pub end: Option<i64>,
}

impl RangeArgs {
    /// A query of a view with this range and a condition.
    pub(super) fn query(self, filter: String) -> ViewQuery {
        ViewQuery { start: self.start, end: self.end, filter, ..ViewQuery::default() }
    }
}

/// Nanoseconds from the start of a capture.
pub(super) fn moment(text: &str) -> Result<i64, String> {
    let wrong = || "write nanoseconds, or a number with ns, us, ms or s, such as 250ms or 1.5s".to_owned();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let units = [("", 1), ("ns", 1), ("us", 1000), ("µs", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let ns = scaled(digits, &units).and_then(|ns| i64::try_from(ns).ok());
    ns.map(|ns| sign * ns).ok_or_else(wrong)
}

/// How long something lasts: `500ms`, `5s`, `1.5s`, `2m`, `1h`, or seconds without a unit; a whole number of milliseconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    elapsed(text).ok().filter(|long| !long.is_zero()).ok_or_else(no_time)
}

/// The same, or none: how long after something it is.
pub(super) fn elapsed(text: &str) -> Result<Duration, String> {
    let units = [("", 1000), ("ms", 1), ("s", 1000), ("m", 60_000), ("min", 60_000), ("h", 3_600_000)];
    scaled(text, &units).map(Duration::from_millis).ok_or_else(no_time)
}

fn no_time() -> String {
    "write a number and ms, s, min or h, such as 500ms or 5s".to_owned()
}

/// A number with or without a point in a unit, of which it gives how large each is; none if it is no whole number then.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let (_, size) = units.iter().find(|(name, _)| *name == unit.trim())?;
    let (whole, part) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    let places = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let all = format!("{whole}{part}");
    let digits =
        all.parse::<u128>().ok().filter(|_| !whole.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit()))?;
    let scaled = digits.checked_mul(u128::from(*size))?;
    if scaled % places == 0 { u64::try_from(scaled / places).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_numbers_with_units() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1500", Some(1500)),
            ("-7", Some(-7)),
            ("1.5s", Some(1_500_000_000)),
            ("250ms", Some(250_000_000)),
            ("0.25us", Some(250)),
            ("-2s", Some(-2_000_000_000)),
            ("1.5", None),
            ("1.", None),
            ("s", None),
            ("", None),
            ("5m", None),
            ("1.2.3s", None),
            ("99999999999999999999", None),
            ("0.1234ms", Some(123_400)),
            ("0.1234567ms", None),
            ("1.5.s", None),
            (".5s", None),
        ] {
            assert_eq!(moment(text).ok(), ns, "{text}");
        }
    }

    #[test]
    fn durations_have_units() {
        let cases = [
            ("500ms", 500),
            ("5s", 5000),
            ("5", 5000),
            ("1.5s", 1500),
            ("0.25", 250),
            ("2m", 120_000),
            ("1.5h", 5_400_000),
        ];
        for (text, ms) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "-1s", "0s", "1d", "0.5ms", "1e3", "99999999999999999999s", "9999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        for none in ["0", "0s", "0ms", "0.0s", "0h"] {
            assert!(duration(none).is_err() && elapsed(none) == Ok(Duration::ZERO), "{none}");
        }
        assert!(elapsed("-1s").is_err() && elapsed("").is_err());
    }
}

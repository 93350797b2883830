//! A range of a capture's time, as verbs take it.

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
    let unit_at = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    let (number, unit) = digits.split_at(unit_at);
    let places = match unit.trim() {
        "" | "ns" => 0,
        "us" | "µs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || part.len() > places || part.contains('.') || (number.contains('.') && part.is_empty()) {
        return Err(wrong());
    }
    let padded = format!("{whole}{part}{}", "0".repeat(places - part.len()));
    padded.parse::<i64>().map(|ns| sign * ns).map_err(|_number| wrong())
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
        ] {
            assert_eq!(moment(text).ok(), ns, "{text}");
        }
    }
}

//! Lengths of time and sizes as people write them, `1.5s` and `4KiB`, and the units that columns are kept in.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// What an amount is an amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmountKind {
    /// Time, in nanoseconds.
    Time,
    /// Memory or data, in bytes.
    Size,
}

/// A number with a unit: whole nanoseconds or whole bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Of what.
    pub kind: AmountKind,
    /// How much: nanoseconds or bytes.
    pub base: i64,
}

/// A text that is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmountError {
    /// Neither digits nor a unit.
    #[error("write a number and a unit, such as 1.5s or 4KiB")]
    Malformed,
    /// A unit that there is not, cut to 12 characters.
    #[error("`{0}` is no unit; there are {TIMES} for times and {SIZES} for sizes")]
    Unit(String),
    /// A part of a nanosecond or of a byte.
    #[error("this is no whole number of {0}")]
    Part(&'static str),
    /// Too large.
    #[error("this is more than 9223372036854775807 {0}")]
    TooLarge(&'static str),
}

/// The units of time, in words.
const TIMES: &str = "ns, us, ms, s, min and h";
/// The units of sizes, in words.
const SIZES: &str = "B, KiB, MiB, GiB, TiB, kB, MB, GB and TB";

/// Units as they are written, with how many nanoseconds or bytes they are.
const UNITS: [(&str, AmountKind, i64); 19] = [
    ("ns", AmountKind::Time, 1),
    ("us", AmountKind::Time, 1_000),
    ("µs", AmountKind::Time, 1_000),
    ("μs", AmountKind::Time, 1_000),
    ("ms", AmountKind::Time, 1_000_000),
    ("s", AmountKind::Time, 1_000_000_000),
    ("min", AmountKind::Time, 60_000_000_000),
    ("m", AmountKind::Time, 60_000_000_000),
    ("h", AmountKind::Time, 3_600_000_000_000),
    ("B", AmountKind::Size, 1),
    ("KiB", AmountKind::Size, 1 << 10),
    ("MiB", AmountKind::Size, 1 << 20),
    ("GiB", AmountKind::Size, 1 << 30),
    ("TiB", AmountKind::Size, 1 << 40),
    ("kB", AmountKind::Size, 1_000),
    ("KB", AmountKind::Size, 1_000),
    ("MB", AmountKind::Size, 1_000_000),
    ("GB", AmountKind::Size, 1_000_000_000),
    ("TB", AmountKind::Size, 1_000_000_000_000),
];

/// In which units an amount is written, the largest first: the first in which it is whole.
const SHOWN_TIMES: [(&str, i64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
const SHOWN_SIZES: [(&str, i64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl AmountKind {
    /// What is counted.
    const fn base_unit(self) -> &'static str {
        match self {
            Self::Time => "nanoseconds",
            Self::Size => "bytes",
        }
    }

    /// In words, with an example.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Time => ("a time", "a time such as 100ms"),
            Self::Size => ("a size", "a size such as 4KiB"),
        }
    }
}

/// Whether a word is a unit.
pub(crate) fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|(name, ..)| *name == word)
}

impl Amount {
    /// The amount of `whole` (digits), `part` (the digits after a point, if there is one) and a unit.
    ///
    /// # Errors
    /// If the unit is none, or it is no whole number of nanoseconds or bytes, or too large.
    pub(crate) fn of_parts(negative: bool, whole: &str, part: &str, unit: &str) -> Result<Self, AmountError> {
        let found = UNITS.iter().find(|(name, ..)| *name == unit);
        let Some((_, kind, factor)) = found else { return Err(AmountError::Unit(unit.chars().take(12).collect())) };
        let too_large = || AmountError::TooLarge(kind.base_unit());
        // 18 digits after the point are more than any whole number of nanoseconds of an hour has.
        let part = part.trim_end_matches('0');
        let places = u32::try_from(part.len()).ok().filter(|places| *places <= 18);
        let Some(places) = places else { return Err(AmountError::Part(kind.base_unit())) };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(part) {
            return Err(AmountError::Malformed);
        }
        let digits: i128 = format!("{whole}{part}").parse().map_err(|_too_long| too_large())?;
        let scaled = digits.checked_mul(i128::from(*factor)).ok_or_else(too_large)?;
        let scale = 10_i128.pow(places);
        if scaled % scale != 0 {
            return Err(AmountError::Part(kind.base_unit()));
        }
        let base = i64::try_from(scaled / scale).map_err(|_large| too_large())?;
        Ok(Self { kind: *kind, base: if negative { -base } else { base } })
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Reads `1.5s`, `-20 ms`, `4KiB`.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let text = text.trim();
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(AmountError::Malformed)?;
        let (number, unit) = text.split_at(unit_at);
        let (whole, part) = match number.split_once('.') {
            Some((_, "")) => return Err(AmountError::Malformed),
            Some(parts) => parts,
            None => (number, ""),
        };
        Self::of_parts(negative, whole, part, unit.trim())
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: &[(&str, i64)] = match self.kind {
            AmountKind::Time => &SHOWN_TIMES,
            AmountKind::Size => &SHOWN_SIZES,
        };
        let fits = |(_, size): &&(&str, i64)| self.base != 0 && self.base % size == 0;
        let (name, size) = units.iter().find(fits).or(units.last()).copied().unwrap_or(("", 1));
        write!(f, "{}{name}", self.base / size)
    }
}

/// Reads a number of seconds, plain or as a time: `90`, `90s`, `1.5min`.
///
/// # Errors
/// In words, if it is none, or no whole number of seconds.
pub fn whole_seconds(text: &str) -> Result<u32, String> {
    whole(text, AmountKind::Time, 1_000_000_000)
        .ok_or_else(|| "write a whole number of seconds, or a time of whole seconds such as 30s or 2min".to_owned())
}

/// Reads a number of MiB, plain or as a size: `64`, `64MiB`, `1GiB`.
///
/// # Errors
/// In words, if it is none, or no whole number of MiB.
pub fn mebibytes(text: &str) -> Result<u32, String> {
    whole(text, AmountKind::Size, 1 << 20)
        .ok_or_else(|| "write a whole number of MiB, or a size of whole MiB such as 64MiB or 1GiB".to_owned())
}

/// A number without a unit, or an amount as a number of `size` nanoseconds or bytes.
fn whole(text: &str, kind: AmountKind, size: i64) -> Option<u32> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let amount: Amount = text.parse().ok()?;
    (amount.kind == kind && amount.base % size == 0).then(|| u32::try_from(amount.base / size).ok())?
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a whole number, or text with a unit such as 30s or 64MiB")]
enum PlainOrText {
    Plain(u32),
    Text(String),
}

fn json_number<'de, D: Deserializer<'de>>(
    deserializer: D,
    read: impl FnOnce(&str) -> Result<u32, String>,
) -> Result<u32, D::Error> {
    match PlainOrText::deserialize(deserializer)? {
        PlainOrText::Plain(number) => Ok(number),
        PlainOrText::Text(text) => read(&text).map_err(|why| {
            let shown: String = text.chars().take(40).collect();
            D::Error::custom(format_args!("`{shown}` cannot be read: {why}"))
        }),
    }
}

/// Reads a number of seconds, or text such as `30s` or `2min`, for a field of JSON.
///
/// # Errors
/// If it is neither, or no whole number of seconds.
pub(crate) fn json_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    json_number(deserializer, whole_seconds)
}

/// Reads a number of MiB, or text such as `64MiB` or `1GiB`, for a field of JSON.
///
/// # Errors
/// If it is neither, or no whole number of MiB.
pub(crate) fn json_mebibytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    json_number(deserializer, mebibytes)
}

/// What the numbers of a column are, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Time.
    Nanoseconds,
    /// Time.
    Microseconds,
    /// Time.
    Milliseconds,
    /// Time.
    Seconds,
    /// Sizes.
    Bytes,
}

/// Endings of names, with what such columns hold.
const ENDINGS: [(&[&str], ColumnUnit); 5] = [
    (&["ns", "nsecs", "nanos", "nanoseconds"], ColumnUnit::Nanoseconds),
    (&["us", "usecs", "micros", "microseconds"], ColumnUnit::Microseconds),
    (&["ms", "msecs", "millis", "milliseconds"], ColumnUnit::Milliseconds),
    (&["s", "sec", "secs", "seconds"], ColumnUnit::Seconds),
    (&["bytes"], ColumnUnit::Bytes),
];

impl ColumnUnit {
    /// What a name ends in: `wait_us`, `us`, `args.wait_us[2]`; a single letter only after another word. The kernel's
    /// `bytes_req` and the like begin so.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("args.").unwrap_or(name);
        let name = name.split('[').next()?;
        let word = name.rsplit('_').next()?.to_ascii_lowercase();
        let fits = |ends: &[&str]| ends.contains(&word.as_str()) && (word.len() > 1 || word.len() < name.len());
        let ending = ENDINGS.iter().find(|(ends, _)| fits(ends)).map(|(_, unit)| *unit);
        ending.or_else(|| name.starts_with("bytes_").then_some(Self::Bytes))
    }

    /// Of what its numbers are amounts.
    pub const fn kind(self) -> AmountKind {
        match self {
            Self::Nanoseconds | Self::Microseconds | Self::Milliseconds | Self::Seconds => AmountKind::Time,
            Self::Bytes => AmountKind::Size,
        }
    }

    /// In a word.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
        }
    }

    /// An amount as a number of this unit; none where it is of another kind, or no whole number.
    pub fn of(self, amount: Amount) -> Option<i64> {
        let size = match self {
            Self::Nanoseconds | Self::Bytes => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        };
        (amount.kind == self.kind() && amount.base % size == 0).then(|| amount.base / size)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by panicking")]

    use super::*;

    #[test]
    fn amounts_are_written_as_they_are_read() {
        let cases = [
            ("100ms", "100ms"),
            ("1.5s", "1500ms"),
            ("1.50 s", "1500ms"),
            ("0.25us", "250ns"),
            ("0.25µs", "250ns"),
            ("2min", "120s"),
            ("2m", "120s"),
            ("1h", "3600s"),
            ("-20ms", "-20ms"),
            ("0ms", "0ns"),
            ("4KiB", "4KiB"),
            ("4kB", "4000B"),
            ("1.5MiB", "1536KiB"),
            ("0B", "0B"),
            ("9223372036854775807ns", "9223372036854775807ns"),
        ];
        for (text, shown) in cases {
            let amount: Amount = text.parse().unwrap();
            assert_eq!(amount.to_string(), shown, "{text}");
            assert_eq!(shown.parse(), Ok(amount), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_in_words() {
        let cases = [
            ("", "write a number and a unit"),
            ("5", "write a number and a unit"),
            ("s", "write a number and a unit"),
            ("1.s", "write a number and a unit"),
            (".5s", "write a number and a unit"),
            ("1.2.3s", "write a number and a unit"),
            ("5k", "`k` is no unit; there are ns, us"),
            ("5 parsecs", "`parsecs` is no unit"),
            ("0.5ns", "no whole number of nanoseconds"),
            ("1.0001KiB", "no whole number of bytes"),
            ("1.0000000000000000001s", "no whole number of nanoseconds"),
            ("9223372036854775808ns", "more than 9223372036854775807 nanoseconds"),
            ("99999999999999999999999999999999999999999999s", "more than"),
        ];
        for (text, part) in cases {
            let why = text.parse::<Amount>().unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn names_tell_units() {
        let cases = [
            ("duration_ns", Some(ColumnUnit::Nanoseconds)),
            ("us", Some(ColumnUnit::Microseconds)),
            ("args.delay_ms", Some(ColumnUnit::Milliseconds)),
            ("waits_s[3]", Some(ColumnUnit::Seconds)),
            ("nr_bytes", Some(ColumnUnit::Bytes)),
            ("bytes_req", Some(ColumnUnit::Bytes)),
            ("s", None),
            ("bus", None),
            ("prio", None),
        ];
        for (name, unit) in cases {
            assert_eq!(ColumnUnit::of_name(name), unit, "{name}");
        }
    }

    #[test]
    fn numbers_with_a_usual_unit_may_have_another() {
        for (text, number) in [("90", 90), ("90s", 90), ("1.5min", 90), (" 1h ", 3600), ("2000ms", 2)] {
            assert_eq!(whole_seconds(text), Ok(number), "{text}");
        }
        for text in ["", "x", "1500ms", "4KiB", "-5s", "-5", "99999999999"] {
            assert!(whole_seconds(text).is_err(), "{text}");
        }
        for (text, number) in [("64", Ok(64)), ("64MiB", Ok(64)), ("1GiB", Ok(1024)), ("0.5GiB", Ok(512))] {
            assert_eq!(mebibytes(text), number, "{text}");
        }
        for text in ["", "64kB", "10s", "-1MiB", "9999999999TiB"] {
            assert!(mebibytes(text).is_err(), "{text}");
        }
    }
}

//! Times as cron has them: five fields, of which every one must fit.

use std::str::FromStr;

/// A time that comes again: minutes, hours, days, months and weekdays as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CronTime {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether day and weekday were both chosen: then either fits.
    either_day: bool,
}

/// A text that is no such time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Not five fields.
    #[error("it has {found} fields and needs 5: minute, hour, day of the month, month and weekday")]
    Fields {
        /// How many there are.
        found: usize,
    },
    /// A field that cannot be read.
    #[error(
        "the {field} `{text}` is not one; write *, numbers from {least} to {most}, ranges such as 1-5, steps such as */5, and commas"
    )]
    Field {
        /// Which.
        field: &'static str,
        /// What was given, cut to 40 characters.
        text: String,
        /// The smallest number.
        least: u32,
        /// The largest.
        most: u32,
    },
}

/// A field of five.
struct FieldRule {
    name: &'static str,
    least: u32,
    most: u32,
    /// Names that may stand for numbers, the first for the least.
    names: &'static [&'static str],
}

const MINUTE: FieldRule = FieldRule { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: FieldRule = FieldRule { name: "hour", least: 0, most: 23, names: &[] };
const DAY: FieldRule = FieldRule { name: "day of the month", least: 1, most: 31, names: &[] };
const MONTH: FieldRule = FieldRule {
    name: "month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Both 0 and 7 are Sunday.
const WEEKDAY: FieldRule =
    FieldRule { name: "weekday", least: 0, most: 7, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl FieldRule {
    fn bits(&self, text: &str) -> Result<u64, CronError> {
        let bits = text.split(',').map(|part| self.part(part)).reduce(|all, part| Some(all? | part?)).flatten();
        bits.ok_or_else(|| CronError::Field {
            field: self.name,
            text: text.chars().take(40).collect(),
            least: self.least,
            most: self.most,
        })
    }

    /// `*`, a number or a range, each with a step or not.
    fn part(&self, part: &str) -> Option<u64> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|step| (1..=60).contains(step))?)),
            None => (part, None),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (self.least, self.most.min(self.last())),
            (_, Some((from, to))) => (self.number(from)?, self.number(to)?),
            // As other programs read it: from there to the end.
            (one, None) if step.is_some() => (self.number(one)?, self.most.min(self.last())),
            (one, None) => (self.number(one)?, self.number(one)?),
        };
        let values = (from..=to).step_by(step.unwrap_or(1) as usize);
        (from <= to).then(|| values.fold(0, |bits, value| bits | 1 << value))
    }

    /// The largest number that is not another name of the smallest.
    fn last(&self) -> u32 {
        if self.names.len() == 7 { 6 } else { self.most }
    }

    fn number(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let number = match named {
            Some(index) => u32::try_from(index).ok()? + self.least,
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            None => return None,
        };
        (self.least..=self.most).contains(&number).then_some(number)
    }
}

impl FromStr for CronTime {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(CronError::Fields { found: fields.len() });
        };
        let weekdays = WEEKDAY.bits(weekday)?;
        Ok(Self {
            minutes: MINUTE.bits(minute)?,
            hours: HOUR.bits(hour)?,
            days: DAY.bits(day)?,
            months: MONTH.bits(month)?,
            // The seventh day is the first.
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }
}

fn has(bits: u64, value: u32) -> bool {
    value < 64 && bits & 1 << value != 0
}

impl CronTime {
    /// Whether a day can have such a time: its month from 1, its day from 1, its weekday from 0 for Sunday.
    pub fn fits_day(&self, month: u32, day: u32, weekday: u32) -> bool {
        let (by_day, by_weekday) = (has(self.days, day), has(self.weekdays, weekday));
        has(self.months, month) && if self.either_day { by_day || by_weekday } else { by_day && by_weekday }
    }

    /// Whether an hour of a day can have such a time.
    pub fn fits_hour(&self, hour: u32) -> bool {
        has(self.hours, hour)
    }

    /// Whether a minute of an hour is such a time.
    pub fn fits_minute(&self, minute: u32) -> bool {
        has(self.minutes, minute)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn fits(text: &str, [month, day, weekday, hour, minute]: [u32; 5]) -> bool {
        let time: CronTime = text.parse().unwrap();
        time.fits_day(month, day, weekday) && time.fits_hour(hour) && time.fits_minute(minute)
    }

    #[test]
    fn times_fit_as_cron_says() {
        // Month, day, weekday, hour, minute.
        let cases = [
            ("* * * * *", [1, 1, 4, 0, 0], true),
            ("*/15 9-17 * * mon-fri", [3, 4, 1, 9, 45], true),
            ("*/15 9-17 * * mon-fri", [3, 4, 1, 9, 46], false),
            ("*/15 9-17 * * mon-fri", [3, 4, 0, 9, 45], false),
            ("0 3 1,15 * *", [7, 15, 2, 3, 0], true),
            ("0 3 1,15 * *", [7, 14, 2, 3, 0], false),
            // A day and a weekday: either.
            ("0 0 13 * fri", [2, 13, 1, 0, 0], true),
            ("0 0 13 * fri", [2, 14, 5, 0, 0], true),
            ("0 0 13 * fri", [2, 14, 6, 0, 0], false),
            ("0 0 * dec 7", [12, 1, 0, 0, 0], true),
            ("0 0 * DEC 0", [12, 1, 0, 0, 0], true),
            ("5/20 * * * *", [1, 1, 1, 1, 45], true),
            ("5/20 * * * *", [1, 1, 1, 1, 20], false),
            ("* * * * 5-7", [1, 1, 0, 1, 1], true),
        ];
        for (text, moment, expected) in cases {
            assert_eq!(fits(text, moment), expected, "{text} {moment:?}");
        }
    }

    #[test]
    fn what_is_no_time_is_told() {
        for (text, expected) in [
            ("", "0 fields"),
            ("* * * *", "4 fields"),
            ("@daily", "1 fields"),
            ("60 * * * *", "minute `60`"),
            ("* 24 * * *", "hour `24`"),
            ("* * 0 * *", "day of the month `0`"),
            ("* * * 13 *", "month `13`"),
            ("* * * * 8", "weekday `8`"),
            ("*/0 * * * *", "minute `*/0`"),
            ("5-1 * * * *", "minute `5-1`"),
            ("1, * * * *", "minute `1,`"),
            ("+1 * * * *", "minute `+1`"),
            ("-1 * * * *", "minute `-1`"),
        ] {
            let error = text.parse::<CronTime>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

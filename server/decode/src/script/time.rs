//! The time of day by the formats of strftime(3) in the C locale, without asking anybody for the zone.

use std::fmt::Write as _;

use super::WallTime;

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAY_SECONDS: i64 = 86_400;

/// A date and time of day in some zone.
struct Civil {
    year: i64,
    /// From 1.
    month: i64,
    /// From 1.
    day: i64,
    /// From 0.
    day_of_year: i64,
    /// 0 is Sunday.
    weekday: i64,
    hour: i64,
    minute: i64,
    second: i64,
    unix_seconds: i64,
    microseconds: i64,
}

impl Civil {
    fn of(wall: &WallTime) -> Self {
        let unix_seconds = i64::try_from(wall.unix_ns.div_euclid(1_000_000_000)).unwrap_or(0);
        let nanoseconds = i64::try_from(wall.unix_ns.rem_euclid(1_000_000_000)).unwrap_or(0);
        let local = unix_seconds.saturating_add(i64::from(wall.offset_seconds));
        let (days, of_day) = (local.div_euclid(DAY_SECONDS), local.rem_euclid(DAY_SECONDS));
        let (year, month, day) = date(days);
        Self {
            year,
            month,
            day,
            day_of_year: days - days_before(year),
            weekday: (days + 4).rem_euclid(7),
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            unix_seconds,
            microseconds: nanoseconds / 1000,
        }
    }

    fn hour12(&self) -> i64 {
        (self.hour + 11) % 12 + 1
    }

    /// Year and week of ISO 8601.
    fn iso_week(&self) -> (i64, i64) {
        let weekday = (self.weekday + 6).rem_euclid(7);
        let week = (self.day_of_year - weekday + 10).div_euclid(7);
        let weeks = |year: i64| {
            let first = (days_before(year) + 4).rem_euclid(7);
            if first == 4 || (first == 3 && is_leap(year)) { 53 } else { 52 }
        };
        if week < 1 {
            (self.year - 1, weeks(self.year - 1))
        } else if week > weeks(self.year) {
            (self.year + 1, 1)
        } else {
            (self.year, week)
        }
    }
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Days from 1970 to the begin of a year.
fn days_before(year: i64) -> i64 {
    let before = year - 1;
    365 * (year - 1970) + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 477
}

fn date(days: i64) -> (i64, i64, i64) {
    // Never too early, and at most a little too late.
    let mut year = 1970 + days.div_euclid(if days < 0 { 366 } else { 365 });
    while days_before(year) > days {
        year -= 1 + (days_before(year) - days - 1) / 366;
    }
    let mut left = days - days_before(year);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (month, length) in (1..).zip(lengths) {
        if left < length {
            return (year, month, left + 1);
        }
        left -= length;
    }
    (year, 12, 31)
}

/// Writes a moment by a format of strftime(3); `%f` is microseconds. What is not known stays as it is.
pub fn format_time(format: &str, wall: &WallTime) -> String {
    let civil = Civil::of(wall);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut rest = chars.clone();
        let mut letter = rest.next();
        // Variants of a locale, of which there is only C.
        if matches!(letter, Some('E' | 'O')) {
            letter = rest.next();
        }
        match letter.and_then(|letter| piece(letter, &civil, wall)) {
            Some(text) => {
                out.push_str(&text);
                chars = rest;
            }
            None => out.push('%'),
        }
    }
    out
}

fn name<'a>(names: &[&'a str], index: i64) -> &'a str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("?")
}

fn short(name: &str) -> String {
    name.chars().take(3).collect()
}

fn piece(letter: char, at: &Civil, wall: &WallTime) -> Option<String> {
    let again = |format: &str| Some(format_time(format, wall));
    let two = |number: i64| Some(format!("{number:02}"));
    match letter {
        'a' => Some(short(name(&DAYS, at.weekday))),
        'A' => Some(name(&DAYS, at.weekday).to_owned()),
        'b' | 'h' => Some(short(name(&MONTHS, at.month - 1))),
        'B' => Some(name(&MONTHS, at.month - 1).to_owned()),
        'c' => again("%a %b %e %H:%M:%S %Y"),
        'C' => two(at.year.div_euclid(100)),
        'd' => two(at.day),
        'D' | 'x' => again("%m/%d/%y"),
        'e' => Some(format!("{:>2}", at.day)),
        'f' => Some(format!("{:06}", at.microseconds)),
        'F' => again("%Y-%m-%d"),
        'g' => two(at.iso_week().0.rem_euclid(100)),
        'G' => Some(at.iso_week().0.to_string()),
        'H' => two(at.hour),
        'I' => two(at.hour12()),
        'j' => Some(format!("{:03}", at.day_of_year + 1)),
        'k' => Some(format!("{:>2}", at.hour)),
        'l' => Some(format!("{:>2}", at.hour12())),
        'm' => two(at.month),
        'M' => two(at.minute),
        'n' => Some("\n".to_owned()),
        'p' => Some(if at.hour < 12 { "AM" } else { "PM" }.to_owned()),
        'P' => Some(if at.hour < 12 { "am" } else { "pm" }.to_owned()),
        'r' => again("%I:%M:%S %p"),
        'R' => again("%H:%M"),
        's' => Some(at.unix_seconds.to_string()),
        'S' => two(at.second),
        't' => Some("\t".to_owned()),
        'T' | 'X' => again("%H:%M:%S"),
        'u' => Some((if at.weekday == 0 { 7 } else { at.weekday }).to_string()),
        'U' => two((at.day_of_year + 7 - at.weekday) / 7),
        'V' => two(at.iso_week().1),
        'w' => Some(at.weekday.to_string()),
        'W' => two((at.day_of_year + 7 - (at.weekday + 6) % 7) / 7),
        'y' => two(at.year.rem_euclid(100)),
        'Y' => Some(at.year.to_string()),
        'z' => Some(offset(wall.offset_seconds)),
        'Z' => Some(wall.zone.clone()),
        '%' => Some("%".to_owned()),
        _ => None,
    }
}

fn offset(seconds: i32) -> String {
    let (sign, ahead) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _infallible = write!(text, "{sign}{:02}{:02}", ahead / 3600, ahead / 60 % 60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, offset_seconds: i32) -> WallTime {
        WallTime { unix_ns: i128::from(seconds) * 1_000_000_000 + 413_296_512, offset_seconds, zone: "CET".to_owned() }
    }

    #[test]
    fn formats_are_those_of_the_c_locale() {
        // Expected values are those of date(1) in the C locale.
        let cases = [
            (1_795_221_527, 0, "%Y-%m-%d %H:%M:%S", "2026-11-21 00:38:47"),
            (1_795_221_527, 0, "%f %j %a %A %b %B %e", "413296 325 Sat Saturday Nov November 21"),
            (1_795_221_527, 3600, "%T %z %Z", "01:38:47 +0100 CET"),
            (1_795_221_527, -12_600, "%H:%M %z", "21:08 -0330"),
            (951_782_400, 0, "%F %j %U %W %V %G %u %w", "2000-02-29 060 09 09 09 2000 2 2"),
            (1_230_768_000, 0, "%F %G-W%V-%u", "2009-01-01 2009-W01-4"),
            (1_262_304_000, 0, "%F %G-W%V-%u", "2010-01-01 2009-W53-5"),
            (
                0,
                0,
                "%c|%D|%r|%R|%I|%p|%s|%y|%C|%%|%n|%t",
                "Thu Jan  1 00:00:00 1970|01/01/70|12:00:00 AM|00:00|12|AM|0|70|19|%|\n|\t",
            ),
            (-1, 0, "%F %T", "1969-12-31 23:59:59"),
            (0, 0, "%Ey %Od %Q %", "70 01 %Q %"),
        ];
        for (seconds, offset, format, expected) in cases {
            assert_eq!(format_time(format, &at(seconds, offset)), expected, "{format}");
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = date(-800_000);
        for days in -799_999..800_000 {
            let today = date(days);
            let next = today.0 == before.0 && today.1 == before.1 && today.2 == before.2 + 1;
            let month = today.0 == before.0 && today.1 == before.1 + 1 && today.2 == 1;
            let year = today == (before.0 + 1, 1, 1) && before.1 == 12 && before.2 == 31;
            assert!(next || month || year, "{before:?} {today:?}");
            before = today;
        }
    }

    #[test]
    fn moments_far_away_are_written_too() {
        for unix_ns in [i128::MAX, i128::MIN, i128::from(i64::MAX) * 1_000_000_000] {
            let wall = WallTime { unix_ns, offset_seconds: 0, zone: String::new() };
            assert!(!format_time("%c", &wall).is_empty());
        }
    }
}

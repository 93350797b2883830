//! A flight recorder: a capture that keeps its last rows in memory and stores them when something happens.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{MAX_NAME_BYTES, SpecError, in_range, one_line};
use crate::{
    CronTime, MAX_PREDICATE_BYTES,
    amount::{json_mebibytes, json_seconds},
    whole_seconds,
};

/// The longest time that is kept, before what happens and after it.
pub const MAX_FLIGHT_S: u32 = 3600;
/// The most memory for rows, MiB.
pub const MAX_FLIGHT_MIB: u32 = 1024;
/// The longest pause between two firings.
const MAX_PAUSE_S: u32 = 24 * 3600;
/// The most captures that one flight recorder stores in a day.
pub const MAX_FLIGHT_PER_DAY: u32 = 1000;
/// The most triggers of one flight recorder.
pub const MAX_TRIGGERS: usize = 16;
/// The most webhooks that one flight recorder tells of its captures.
pub const MAX_ANNOUNCE: usize = 8;
/// The longest name of a webhook.
const MAX_WEBHOOK_BYTES: u64 = 64;
/// The longest time for which a pressure must last.
const MAX_PRESSURE_S: u32 = 600;
/// The longest name of a program, as the kernel keeps it.
const MAX_COMM_BYTES: u64 = 15;

/// What a flight recorder keeps, and when it stores it.
///
/// Rows stay in memory of the console until something fires; then those of the last seconds, and those of the seconds after, become
/// a capture of their own. The recorder goes on. In JSON times may be text such as `"2min"` and the memory such as `"1GiB"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlightSpec {
    /// How many seconds before a firing are kept, at most [`MAX_FLIGHT_S`].
    #[serde(deserialize_with = "json_seconds")]
    pub before_s: u32,
    /// How many seconds after it, at most [`MAX_FLIGHT_S`].
    #[serde(deserialize_with = "json_seconds")]
    pub after_s: u32,
    /// The most memory for rows in MiB, packed as they would be stored: where they need more, fewer seconds are kept.
    #[serde(deserialize_with = "json_mebibytes")]
    pub memory_mib: u32,
    /// The least seconds from one firing to the next.
    #[serde(deserialize_with = "json_seconds")]
    pub pause_s: u32,
    /// The most firings in 24 hours.
    pub per_day: u32,
    /// What fires it, beside a person and whoever has a token; at most [`MAX_TRIGGERS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<FlightTrigger>,
    /// The names of webhooks that are told of each capture, at most [`MAX_ANNOUNCE`]. What they are is not known here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub announce: Vec<String>,
}

impl Default for FlightSpec {
    fn default() -> Self {
        Self {
            before_s: 30,
            after_s: 10,
            memory_mib: 64,
            pause_s: 60,
            per_day: 24,
            triggers: Vec::new(),
            announce: Vec::new(),
        }
    }
}

/// What fires a flight recorder. In JSON and on the command line it is text:
///
/// ```text
/// CONDITION                                    a row of any stream that has the columns
/// on STREAM if CONDITION                       a row of this stream, recorded or computed
/// exit NAME                                    a process of this name ends
/// pressure cpu|memory|io [some|full] > N% for TIME   seconds, or a time such as 2min
/// at MINUTE HOUR DAY MONTH WEEKDAY [ZONE]      as cron has it; the zone by name or as +02:00, UTC if there is none
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum FlightTrigger {
    /// A row for which a condition holds.
    Rows {
        /// The condition, as a filter has it.
        condition: String,
        /// The name of the stream whose rows are looked at; empty for all that were recorded and have the columns.
        stream: String,
    },
    /// The host's pressure is above a share for some time.
    Pressure {
        /// What is waited for.
        resource: PressureOf,
        /// Whether all threads waited at a time, and not only some.
        full: bool,
        /// The share of the time in percent above which it fires, 1 to 99.
        above_percent: u32,
        /// For how many seconds in a row.
        for_s: u32,
    },
    /// A program ends: the first thread of a process of this name.
    Exit {
        /// The name, at most 15 bytes, as the kernel keeps it.
        comm: String,
    },
    /// At set times.
    Schedule {
        /// Minute, hour, day, month and weekday, as cron has them.
        cron: String,
        /// The time zone by name, such as `Europe/Berlin`, or as an offset such as `+02:00`; empty for UTC.
        zone: String,
    },
}

/// What threads wait for, as the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PressureOf {
    /// A CPU.
    Cpu,
    /// Memory.
    Memory,
    /// A disk.
    Io,
}

impl PressureOf {
    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Io => "io",
        }
    }
}

impl FlightSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let longest = u64::from(MAX_FLIGHT_S);
        in_range("the seconds that are kept before a firing", u64::from(self.before_s), 1, longest)?;
        in_range("the seconds that are kept after a firing", u64::from(self.after_s), 0, longest)?;
        let memory = u64::from(self.memory_mib);
        in_range("the memory of the flight recorder in MiB", memory, 1, u64::from(MAX_FLIGHT_MIB))?;
        let pause = u64::from(self.pause_s);
        in_range("the least pause between two firings in seconds", pause, 0, u64::from(MAX_PAUSE_S))?;
        let per_day = u64::from(self.per_day);
        in_range("the largest number of firings a day", per_day, 1, u64::from(MAX_FLIGHT_PER_DAY))?;
        in_range("the number of triggers", self.triggers.len() as u64, 0, MAX_TRIGGERS as u64)?;
        in_range("the number of webhooks", self.announce.len() as u64, 0, MAX_ANNOUNCE as u64)?;
        for name in &self.announce {
            one_line("the name of a webhook", name)?;
            in_range("the length of the name of a webhook", name.len() as u64, 1, MAX_WEBHOOK_BYTES)?;
        }
        self.triggers.iter().try_for_each(FlightTrigger::validate)
    }
}

impl FlightTrigger {
    /// Checks what can be known without a host and without streams.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), SpecError> {
        match self {
            Self::Rows { condition, stream } => {
                let most = MAX_PREDICATE_BYTES as u64;
                in_range("the length of a trigger's condition in bytes", condition.trim().len() as u64, 1, most)?;
                in_range("the length of a stream's name in bytes", stream.len() as u64, 0, MAX_NAME_BYTES as u64)
            }
            Self::Pressure { above_percent, for_s, .. } => {
                in_range("the pressure in percent", u64::from(*above_percent), 1, 99)?;
                in_range("the seconds of the pressure", u64::from(*for_s), 1, u64::from(MAX_PRESSURE_S))
            }
            Self::Exit { comm } => {
                one_line("the name of the program that ends", comm)?;
                in_range("the length of the name of the program that ends", comm.len() as u64, 1, MAX_COMM_BYTES)
            }
            Self::Schedule { cron, zone } => {
                in_range("the length of a time zone's name in bytes", zone.len() as u64, 0, 64)?;
                let bad =
                    |error: crate::CronError| SpecError::Schedule { text: cron.chars().take(80).collect(), error };
                cron.parse::<CronTime>().map(drop).map_err(bad)
            }
        }
    }
}

impl fmt::Display for FlightTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { condition, stream } if stream.is_empty() => f.write_str(condition),
            Self::Rows { condition, stream } => write!(f, "on {stream} if {condition}"),
            Self::Pressure { resource, full, above_percent, for_s } => {
                let share = if *full { "full" } else { "some" };
                write!(f, "pressure {} {share} > {above_percent}% for {for_s}s", resource.as_str())
            }
            Self::Exit { comm } => write!(f, "exit {comm}"),
            Self::Schedule { cron, zone } if zone.is_empty() => write!(f, "at {cron}"),
            Self::Schedule { cron, zone } => write!(f, "at {cron} {zone}"),
        }
    }
}

/// How a pressure is written.
const PRESSURE_RULE: &str = "write pressure cpu, memory or io, then some or full, > a share and for how long, such as pressure memory full > 20% for 10s";

impl FromStr for FlightTrigger {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "exit" => Ok(Self::Exit { comm: rest.to_owned() }),
            "pressure" => pressure(rest).ok_or_else(|| bad(text, PRESSURE_RULE)),
            "at" => {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let (cron, zone) = words.split_at(words.len().min(5));
                Ok(Self::Schedule { cron: cron.join(" "), zone: zone.join(" ") })
            }
            "on" => match rest.split_once(" if ") {
                Some((stream, condition)) if !stream.trim().is_empty() => {
                    Ok(Self::Rows { condition: condition.trim().to_owned(), stream: stream.trim().to_owned() })
                }
                _ => Err(bad(
                    text,
                    "write on, the stream's name, if and the condition, such as on openat if duration_ns > 5000000",
                )),
            },
            _ => Ok(Self::Rows { condition: text.to_owned(), stream: String::new() }),
        }
    }
}

fn bad(text: &str, rule: &'static str) -> SpecError {
    SpecError::TracePart { what: "the trigger", text: text.chars().take(80).collect(), rule }
}

/// What stands after the word: `memory full > 20% for 10s`.
fn pressure(text: &str) -> Option<FlightTrigger> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (resource, rest) = words.split_first()?;
    let resource =
        [PressureOf::Cpu, PressureOf::Memory, PressureOf::Io].into_iter().find(|it| it.as_str() == *resource)?;
    let (full, rest) = match rest.split_first()? {
        (&"full", rest) => (true, rest),
        (&"some", rest) => (false, rest),
        _ => (false, rest),
    };
    let (share, lasts) = match rest {
        [">", share, "for", lasts @ ..] if lasts.len() <= 2 => (share, lasts.concat()),
        _ => return None,
    };
    let above_percent = share.strip_suffix('%').unwrap_or(share).parse().ok()?;
    let for_s = whole_seconds(&lasts).ok()?;
    Some(FlightTrigger::Pressure { resource, full, above_percent, for_s })
}

impl From<FlightTrigger> for String {
    fn from(trigger: FlightTrigger) -> Self {
        trigger.to_string()
    }
}

impl TryFrom<String> for FlightTrigger {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn with(trigger: FlightTrigger) -> FlightSpec {
        FlightSpec { triggers: vec![trigger], ..FlightSpec::default() }
    }

    #[test]
    fn flight_recorders_have_limits() {
        FlightSpec::default().validate().unwrap();
        let usual = FlightSpec::default;
        for wrong in [
            FlightSpec { before_s: 0, ..usual() },
            FlightSpec { before_s: MAX_FLIGHT_S + 1, ..usual() },
            FlightSpec { after_s: MAX_FLIGHT_S + 1, ..usual() },
            FlightSpec { memory_mib: 0, ..usual() },
            FlightSpec { memory_mib: MAX_FLIGHT_MIB + 1, ..usual() },
            FlightSpec { per_day: 0, ..usual() },
            FlightSpec { pause_s: MAX_PAUSE_S + 1, ..usual() },
            FlightSpec { announce: vec!["a".to_owned(); MAX_ANNOUNCE + 1], ..usual() },
            FlightSpec { announce: vec![String::new()], ..usual() },
            FlightSpec { announce: vec!["a\nb".to_owned()], ..usual() },
            FlightSpec { announce: vec!["x".repeat(65)], ..usual() },
            FlightSpec { triggers: vec![FlightTrigger::Exit { comm: "a".to_owned() }; MAX_TRIGGERS + 1], ..usual() },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn triggers_are_text_and_are_checked() {
        let read = |text: &str| text.parse::<FlightTrigger>();
        for (text, again) in [
            (" duration_ns > 5 ", "duration_ns > 5"),
            ("on run-queue latency if duration_ns > 5", "on run-queue latency if duration_ns > 5"),
            ("exit nginx", "exit nginx"),
            ("exit Web Content", "exit Web Content"),
            ("at 0 3 * * mon", "at 0 3 * * mon"),
            ("at  */5 * * * *  Europe/Berlin", "at */5 * * * * Europe/Berlin"),
            ("pressure memory full > 20% for 10s", "pressure memory full > 20% for 10s"),
            ("pressure cpu > 80 for 5", "pressure cpu some > 80% for 5s"),
            ("pressure cpu > 80% for 1.5min", "pressure cpu some > 80% for 90s"),
            ("pressure cpu > 80% for 2 min", "pressure cpu some > 80% for 120s"),
            ("\"exit code\"", "\"exit code\""),
        ] {
            let trigger = read(text).unwrap();
            assert_eq!(trigger.to_string(), again);
            assert_eq!(read(again).unwrap(), trigger);
            with(trigger).validate().unwrap();
        }
        for wrong in [
            "pressure",
            "pressure disk > 5% for 5s",
            "pressure cpu > x% for 5s",
            "pressure cpu > 5% for 5KiB",
            "pressure cpu > 5% for 1500ms",
            "on a",
            "on  if b == 1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for wrong in [
            "",
            "exit",
            "exit much-too-long-a-name",
            "at 60 * * * *",
            "at 1",
            "pressure io > 0% for 1s",
            "pressure io > 5% for 0s",
        ] {
            assert!(with(read(wrong).unwrap()).validate().is_err(), "{wrong}");
        }
        let json = serde_json::to_string(&with(read("on a if b == 1").unwrap())).unwrap();
        assert!(json.contains(r#""triggers":["on a if b == 1"]"#), "{json}");
        assert_eq!(serde_json::from_str::<FlightSpec>(&json).unwrap(), with(read("on a if b == 1").unwrap()));
        assert!(serde_json::from_str::<FlightSpec>(r#"{"seconds":5}"#).is_err());
    }

    #[test]
    fn times_and_memory_are_numbers_or_have_units() {
        let of = |json: &str| serde_json::from_str::<FlightSpec>(json);
        let units = r#"{"before_s":"2min","after_s":"15s","memory_mib":"1GiB","pause_s":"1h"}"#;
        let plain = r#"{"before_s":120,"after_s":15,"memory_mib":1024,"pause_s":3600}"#;
        assert_eq!(of(units).unwrap(), of(plain).unwrap());
        for (json, part) in [
            (r#"{"before_s":"1500ms"}"#, "`1500ms` cannot be read: write a whole number of seconds"),
            (r#"{"pause_s":"4KiB"}"#, "a time of whole seconds such as 30s"),
            (r#"{"memory_mib":"10s"}"#, "a size of whole MiB such as 64MiB"),
            (r#"{"after_s":-5}"#, "a whole number, or text with a unit"),
        ] {
            let why = of(json).unwrap_err().to_string();
            assert!(why.contains(part), "{json}: {why}");
        }
    }
}

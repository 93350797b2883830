//! What fires a flight recorder beside its rows: the time, and the host's pressure.

use std::{sync::Arc, time::Duration};

use bathyscope_capture::{CronTime, FiringKind, FlightTrigger, PressureOf};
use bathyscope_link::{AgentLink, activity::pressure_waited_us};
use bathyscope_protocol::PressureResource;
use jiff::{
    Timestamp, ToSpan as _, Zoned,
    tz::{Offset, TimeZone},
};

use crate::{
    clock::monotonic_ns,
    flight_state::{FireCause, FireRequest, Flight},
    link::words,
    running::Running,
};

/// How often pressure is read: what is told of it is of one second.
const PRESSURE_EVERY: Duration = Duration::from_secs(1);
/// The longest time that is slept: the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// How many days, hours and minutes are looked at for the next time: the 29th of February is at most eight years away.
const MAX_STEPS: usize = 10_000;

/// A time that comes again, in a zone.
pub(crate) struct Schedule {
    time: CronTime,
    zone: TimeZone,
    words: String,
}

/// The schedules among triggers.
///
/// # Errors
/// In words, if a zone is not known.
pub(crate) fn schedules(triggers: &[FlightTrigger]) -> Result<Vec<Schedule>, String> {
    let schedule = |trigger: &FlightTrigger| {
        let FlightTrigger::Schedule { cron, zone } = trigger else { return None };
        let made = || {
            let time = cron.parse::<CronTime>().map_err(|error| error.to_string())?;
            let schedule = Schedule { time, zone: zone_of(zone)?, words: trigger.to_string() };
            match next_after(&schedule, Timestamp::now()) {
                Some(_next) => Ok(schedule),
                None => Err("no such day comes".to_owned()),
            }
        };
        Some(made().map_err(|why: String| format!("the schedule `{cron} {zone}` cannot be used: {why}")))
    };
    triggers.iter().filter_map(schedule).collect()
}

/// The zone of this name or offset; UTC for none.
fn zone_of(name: &str) -> Result<TimeZone, String> {
    if name.is_empty() || name == "Z" {
        return Ok(TimeZone::UTC);
    }
    if let Some(offset) = offset_of(name) {
        return Ok(TimeZone::fixed(offset));
    }
    TimeZone::get(name).map_err(|_unknown| {
        format!("there is no time zone `{name}`; write one such as Europe/Berlin, or an offset such as +02:00")
    })
}

/// An offset such as `+02:00` or `-0330`.
fn offset_of(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = digits.get(2..).filter(|it| !it.is_empty()).map_or(Some(0), |it| it.parse().ok())?;
    (minutes < 60).then(|| Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()).flatten()
}

/// The first moment after `now` that fits; none if none comes.
fn next_after(schedule: &Schedule, now: Timestamp) -> Option<Timestamp> {
    let minute = now.as_second().div_euclid(60) + 1;
    let mut at: Zoned = Timestamp::from_second(minute * 60).ok()?.to_zoned(schedule.zone.clone());
    for _ in 0..MAX_STEPS {
        let part = |value: i8| u32::try_from(value).unwrap_or(0);
        let weekday = part(at.weekday().to_sunday_zero_offset());
        if !schedule.time.fits_day(part(at.month()), part(at.day()), weekday) {
            at = at.tomorrow().ok()?.start_of_day().ok()?;
        } else if !schedule.time.fits_hour(part(at.hour())) {
            let left = 60 - i64::from(at.minute());
            at = at.checked_add(left.minutes()).ok()?;
        } else if !schedule.time.fits_minute(part(at.minute())) {
            at = at.checked_add(1.minute()).ok()?;
        } else {
            return Some(at.timestamp());
        }
    }
    None
}

/// Fires at set times, and at pressure, until the recorder ends.
pub(crate) fn start(running: &Arc<Running>, flight: &Arc<Flight>, link: &AgentLink, schedules: Vec<Schedule>) {
    for schedule in schedules {
        let (running, flight) = (Arc::clone(running), Arc::clone(flight));
        tokio::spawn(async move {
            tokio::select! {
                () = running.stored() => {}
                () = fire_at(&flight, &schedule) => {}
            }
        });
    }
    for trigger in &flight.spec.triggers {
        let FlightTrigger::Pressure { resource, full, above_percent, for_s } = trigger.clone() else { continue };
        let watched = WatchedPressure { resource, full, above_percent, for_s, words: trigger.to_string() };
        let (running, flight, link) = (Arc::clone(running), Arc::clone(flight), link.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = running.stored() => {}
                () = fire_at_pressure(&flight, &link, &watched) => {}
            }
        });
    }
}

fn ask(flight: &Flight, cause: FireCause) {
    // What cannot wait is counted as held back.
    let _counted = flight.ask(FireRequest { cause, reply: None });
}

async fn fire_at(flight: &Flight, schedule: &Schedule) {
    while let Some(next) = next_after(schedule, Timestamp::now()) {
        loop {
            let left = Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO);
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
        }
        let value = next.to_zoned(schedule.zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string();
        ask(flight, FireCause::now(FiringKind::Schedule, schedule.words.clone(), value));
    }
}

/// A pressure that fires.
struct WatchedPressure {
    resource: PressureOf,
    full: bool,
    above_percent: u32,
    for_s: u32,
    words: String,
}

/// How long a pressure has lasted. Fires once, and again when it was below in between.
#[derive(Debug, Default)]
struct PressureCount {
    above_s: u32,
    has_fired: bool,
}

impl PressureCount {
    /// Whether it fires at a second with this share.
    fn second(&mut self, percent: f64, above_percent: u32, for_s: u32) -> bool {
        if percent <= f64::from(above_percent) {
            *self = Self::default();
            return false;
        }
        self.above_s = self.above_s.saturating_add(1);
        let fires = self.above_s >= for_s && !self.has_fired;
        self.has_fired |= fires;
        fires
    }
}

async fn fire_at_pressure(flight: &Flight, link: &AgentLink, watched: &WatchedPressure) {
    let resource = match watched.resource {
        PressureOf::Cpu => PressureResource::Cpu,
        PressureOf::Memory => PressureResource::Memory,
        PressureOf::Io => PressureResource::Io,
    };
    let mut before: Option<(u64, u64)> = None;
    let mut count = PressureCount::default();
    loop {
        match pressure_waited_us(link, resource, watched.full).await {
            Ok(Some(waited_us)) => {
                let now_ns = monotonic_ns();
                if let Some((then_us, then_ns)) = before.replace((waited_us, now_ns)) {
                    let passed_us = now_ns.saturating_sub(then_ns).max(1) as f64 / 1e3;
                    let percent = (waited_us.saturating_sub(then_us) as f64 / passed_us * 100.0).min(100.0);
                    if count.second(percent, watched.above_percent, watched.for_s) {
                        let value = format!("{percent:.0} % in the last second");
                        ask(flight, FireCause::now(FiringKind::Pressure, watched.words.clone(), value));
                    }
                }
            }
            Ok(None) => flight.trouble("this kernel does not tell this pressure, so it cannot fire".to_owned()),
            Err(error) => {
                before = None;
                flight.trouble(format!("pressure cannot be read: {}", words(&error)));
            }
        }
        tokio::time::sleep(PRESSURE_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(cron: &str, zone: &str, now: &str) -> String {
        let schedule = Schedule { time: cron.parse().unwrap(), zone: zone_of(zone).unwrap(), words: String::new() };
        next_after(&schedule, now.parse().unwrap()).map_or_else(String::new, |at| at.to_string())
    }

    #[test]
    fn the_next_time_is_in_its_zone() {
        for (cron, zone, now, expected) in [
            ("* * * * *", "", "2026-11-28T10:00:00Z", "2026-11-28T10:01:00Z"),
            ("*/15 * * * *", "", "2026-11-28T10:45:30Z", "2026-11-28T11:00:00Z"),
            ("0 3 * * *", "Europe/Berlin", "2026-11-28T10:00:00Z", "2026-11-29T02:00:00Z"),
            ("0 3 * * *", "+02:00", "2026-11-28T00:30:00Z", "2026-11-28T01:00:00Z"),
            ("0 3 * * *", "-0330", "2026-11-28T00:30:00Z", "2026-11-28T06:30:00Z"),
            ("30 9 * * mon", "", "2026-11-28T10:00:00Z", "2026-11-30T09:30:00Z"),
            ("0 0 29 2 *", "", "2026-11-28T10:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 31 2 *", "", "2026-11-28T10:00:00Z", ""),
            // The hour that is left out in spring: the day after.
            ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"),
        ] {
            assert_eq!(next(cron, zone, now), expected, "{cron} {zone}");
        }
        for wrong in ["Mars/Olympus", "+2", "+25:99", "02:00"] {
            assert!(zone_of(wrong).is_err(), "{wrong}");
        }
        let at = |zone: &str| FlightTrigger::Schedule { cron: "0 0 31 2 *".to_owned(), zone: zone.to_owned() };
        assert!(schedules(&[at("")]).is_err_and(|why| why.contains("no such day")));
        assert!(schedules(&[at("nowhere")]).is_err_and(|why| why.contains("no time zone `nowhere`")));
    }

    #[test]
    fn pressure_must_last_and_fires_once() {
        let mut count = PressureCount::default();
        let seconds = [30.0, 19.0, 21.0, 22.0, 23.0, 24.0, 20.0, 50.0, 50.0];
        let fired: Vec<bool> = seconds.iter().map(|percent| count.second(*percent, 20, 2)).collect();
        assert_eq!(fired, [false, false, false, true, false, false, false, false, true]);
    }
}

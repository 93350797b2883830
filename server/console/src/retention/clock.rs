//! What time it is for the age of captures (P32): the wall clock, unless it has just leapt.
//!
//! A clock that is years ahead for a minute, as that of a machine without a battery is until it has asked others, must not
//! make everything too old. So a time that does not go on from the one before is believed only after it has held for
//! [`HELD_NS`] of the monotonic clock; meanwhile the one before goes on. Nothing is lost by that but an hour.

/// How long a time has to hold before it is believed.
const HELD_NS: i128 = 3600 * 1_000_000_000;
/// How much a clock may be corrected without having leapt.
const CORRECTED_NS: i128 = 60 * 1_000_000_000;
/// How much later than what was stored last a start is without doubt.
const SINCE_STORED_NS: i128 = 86_400 * 1_000_000_000;

/// The wall clock as it is believed.
#[derive(Debug, Default)]
pub(super) struct AgeClock {
    /// Wall minus monotonic time that is believed.
    believed: Option<i128>,
    /// The same of the last reading, and since when it has held by the monotonic clock.
    seen: Option<(i128, i128)>,
}

impl AgeClock {
    /// The wall time, nanoseconds since 1970, that ages are counted by; none while it is not known. `newest_unix_ns` is
    /// when the last of what is stored came.
    pub(super) fn now(&mut self, wall_unix_ns: i64, monotonic_ns: u64, newest_unix_ns: Option<i64>) -> Option<i64> {
        let (wall, monotonic) = (i128::from(wall_unix_ns), i128::from(monotonic_ns));
        let offset = wall - monotonic;
        let near = |other: i128| (offset - other).abs() <= CORRECTED_NS;
        let since = match self.seen {
            Some((before, since)) if near(before) => since,
            _ => monotonic,
        };
        self.seen = Some((offset, since));
        let follows = newest_unix_ns.is_some_and(|newest| wall - i128::from(newest) <= SINCE_STORED_NS);
        let is_first = self.believed.is_none() && follows;
        if is_first || self.believed.is_some_and(near) || monotonic - since >= HELD_NS {
            self.believed = Some(offset);
        }
        self.believed.map(|offset| i64::try_from(offset + monotonic).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const S: u64 = 1_000_000_000;
    const DAY: i64 = 86_400 * S as i64;
    const T: i64 = 1_800_000_000 * S as i64;

    #[test]
    fn p32_a_clock_that_leaps_makes_nothing_older_until_it_has_held_for_an_hour() {
        let years = 5 * 365 * DAY;
        // Monotonic seconds, how far the wall clock is ahead, and what is believed.
        let readings: [(u64, i64, i64); 8] = [
            (10, 0, 0),
            (600, 20 * S as i64, 20 * S as i64),
            (1200, years, 20 * S as i64),
            (1800, years, 20 * S as i64),
            (2400, 0, 0),
            (3000, -DAY, 0),
            (6000, -DAY, 0),
            (6600, -DAY, -DAY),
        ];
        let mut clock = AgeClock::default();
        for (monotonic_s, ahead_ns, believed_ns) in readings {
            let at = T + (monotonic_s * S) as i64;
            let now = clock.now(at + ahead_ns, monotonic_s * S, Some(T - DAY / 2));
            assert_eq!(now, Some(at + believed_ns), "{monotonic_s}");
        }
    }

    #[test]
    fn p32_a_start_long_after_what_is_stored_is_believed_after_an_hour() {
        let mut clock = AgeClock::default();
        let at = |monotonic_s: u64| T + (monotonic_s * S) as i64;
        assert_eq!(clock.now(at(0), 0, Some(T - 2 * DAY)), None);
        assert_eq!(clock.now(at(3599), 3599 * S, Some(T - 2 * DAY)), None);
        assert_eq!(clock.now(at(3600), 3600 * S, Some(T - 2 * DAY)), Some(at(3600)));
        // A capture that ended meanwhile has the same wrong time, which says nothing; one that was there does.
        let mut clock = AgeClock::default();
        assert_eq!(clock.now(T, 0, None), None);
        assert_eq!(clock.now(T, 0, Some(T - 1)), Some(T));
        // What is of a time to come does not make the clock wrong.
        assert_eq!(AgeClock::default().now(T, 0, Some(T + 9 * DAY)), Some(T));
    }
}

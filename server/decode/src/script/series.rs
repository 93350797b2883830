//! Time series: a chart with a line for each interval.

use std::fmt::Write as _;

use bathyscope_plan::{Aggregation, Clock};

use super::{Names, Point, WallTime, time};

/// What stands above the times.
const HEADING: &str = "hh:mm:ss.ns";
/// Width of the chart, with its frame.
const WIDTH: usize = 53;
/// The most lines, whatever a map says.
const MAX_LINES: u32 = 65_536;
/// Width of the lower limit above and below the chart.
const LEFT: usize = 21;

/// How far the beginning of an interval by the wall clock may be from a round moment: two clocks are read one after the other.
const MAX_SKEW_NS: u64 = 1_000_000;

/// The intervals of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Intervals {
    length_ns: u64,
    phase_ns: u64,
}

impl Intervals {
    pub(super) fn of(aggregation: &Aggregation) -> Self {
        match aggregation {
            Aggregation::TimeSeries { interval_ns, phase_ns, .. } => {
                Self { length_ns: (*interval_ns).max(1), phase_ns: *phase_ns }
            }
            _ => Self { length_ns: 1, phase_ns: 0 },
        }
    }

    /// When an interval begins, by the monotonic clock.
    pub(super) fn begin_ns(self, interval: u64) -> u64 {
        interval.saturating_mul(self.length_ns).saturating_sub(self.phase_ns)
    }

    /// The interval that begins then.
    pub(super) fn number(self, begin_ns: u64) -> u64 {
        begin_ns.saturating_add(self.phase_ns) / self.length_ns
    }

    /// When it begins, by the wall clock: at a multiple of its length, if that is where it was when the script began.
    fn wall_time(self, interval: u64, names: &dyn Names) -> Option<WallTime> {
        let wall = names.wall_time(Clock::Monotonic, self.begin_ns(interval))?;
        let length_ns = i128::from(self.length_ns);
        let behind = wall.unix_ns.rem_euclid(length_ns);
        let skew = if behind * 2 > length_ns { behind - length_ns } else { behind };
        let near = skew.unsigned_abs() <= u128::from(MAX_SKEW_NS.min(self.length_ns / 4));
        Some(if near { WallTime { unix_ns: wall.unix_ns - skew, ..wall } } else { wall })
    }
}

/// The chart of `points`: those of the last `slots` intervals up to `newest`, which may be another element's.
pub(super) fn chart(points: &[Point], (newest, slots): (u64, u32), intervals: Intervals, names: &dyn Names) -> String {
    let begin = newest.saturating_sub(u64::from(slots.clamp(1, MAX_LINES)) - 1);
    let points = points.get(points.partition_point(|point| point.interval < begin)..).unwrap_or_default();
    let (Some(first), Some(low), Some(high)) = (
        points.first().map(|point| point.interval),
        points.iter().map(|point| point.value).min(),
        points.iter().map(|point| point.value).max(),
    ) else {
        return "<no data>".to_owned();
    };
    // A series that stands still is drawn in the middle.
    let (low, high) = if low == high { (low - 1, high + 1) } else { (low, high) };
    // Nine digits whatever the interval, so that columns of several series stand below each other.
    let time_width = HEADING.len() + 7;
    let limits = format!("{:time_width$} {:<LEFT$}{:>rest$}\n", "", low, high, rest = WIDTH - LEFT);
    let mut out = limits.clone();
    write(&mut out, format_args!("{HEADING:<time_width$} |{}|\n", "_".repeat(WIDTH - 2)));
    let zero = (low < 0 && high > 0).then(|| (WIDTH as f32 * -low as f32 / (high - low) as f32) as usize);
    let mut left = points.iter().peekable();
    for interval in first..=newest.max(first) {
        let point = left.next_if(|point| point.interval == interval);
        let mut line = [b' '; WIDTH];
        let mut put = |at: usize, mark: u8| {
            if let Some(place) = line.get_mut(at.min(WIDTH - 1)) {
                *place = mark;
            }
        };
        put(0, b'|');
        put(WIDTH - 1, b'|');
        if let Some(zero) = zero.filter(|zero| *zero > 0) {
            put(zero, b'.');
        }
        if let Some(point) = point {
            put(((WIDTH - 1) as f32 * (point.value - low) as f32 / (high - low) as f32) as usize, b'*');
        }
        let value = point.map_or_else(|| "-".to_owned(), |point| point.value.to_string());
        write(
            &mut out,
            format_args!("{} {} {value}\n", moment(interval, intervals, names), String::from_utf8_lossy(&line)),
        );
    }
    write(&mut out, format_args!("{:time_width$} v{}v\n", "", "_".repeat(WIDTH - 2)));
    out + &limits
}

fn moment(interval: u64, intervals: Intervals, names: &dyn Names) -> String {
    let (text, fraction) = match intervals.wall_time(interval, names) {
        Some(wall) => (time::format_time("%H:%M:%S", &wall), wall.unix_ns.rem_euclid(1_000_000_000)),
        None => {
            let ns = intervals.begin_ns(interval);
            let seconds = ns / 1_000_000_000;
            let text = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
            (text, i128::from(ns % 1_000_000_000))
        }
    };
    format!("{text}.{fraction:09}")
}

/// The moment at which an interval begins, for JSON.
pub(super) fn begin(interval: u64, intervals: Intervals, names: &dyn Names) -> String {
    match intervals.wall_time(interval, names) {
        Some(wall) => {
            let fraction = wall.unix_ns.rem_euclid(1_000_000_000);
            format!("{}.{fraction:09}", time::format_time("%Y-%m-%d %H:%M:%S", &wall))
        }
        None => intervals.begin_ns(interval).to_string(),
    }
}

fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _infallible = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::NoNames;

    /// A wall clock that is so much ahead of the monotonic one.
    struct Wall(i128);

    impl Names for Wall {
        fn wall_time(&self, _clock: Clock, ns: u64) -> Option<WallTime> {
            Some(WallTime { unix_ns: i128::from(ns) + self.0, ..WallTime::default() })
        }
    }

    #[test]
    fn intervals_begin_where_the_wall_clock_is_round() {
        let ahead_ns = 1_700_000_000_345_708_676_u64;
        for length_ns in [100_000_000, 1_000_000_000, 60_000_000_000] {
            let intervals = Intervals { length_ns, phase_ns: ahead_ns % length_ns };
            for begin in [0_u64, 5_000_000_123, 777_777_777_777] {
                let number = (begin + intervals.phase_ns) / length_ns;
                let begin_ns = intervals.begin_ns(number);
                assert_eq!(intervals.number(begin_ns), number);
                // Clocks that are read a little later differ a little; after a jump there is nothing to be round.
                for (skew_ns, round) in [(0, true), (200, true), (5_000_000, false)] {
                    let wall = intervals.wall_time(number, &Wall(i128::from(ahead_ns) + skew_ns)).unwrap();
                    let is_round = wall.unix_ns % i128::from(length_ns) == 0;
                    // What began before the machine has no moment of its own.
                    assert!(begin_ns == 0 || is_round == round, "{length_ns} {begin} {skew_ns}");
                }
            }
        }
    }

    #[test]
    fn a_series_that_stands_still_is_in_the_middle() {
        let points = [Point { interval: 10, value: 4 }, Point { interval: 12, value: 4 }];
        let text = chart(&points, (12, 10), Intervals { length_ns: 100_000_000, phase_ns: 0 }, &NoNames);
        let bar = "_".repeat(51);
        let (blanks, star) = (" ".repeat(51), format!("{0}*{0}", " ".repeat(25)));
        let limits = format!("{:18} {:<21}{:>32}\n", "", 3, 5);
        let expected = format!(
            "{limits}hh:mm:ss.ns        |{bar}|\n00:00:01.000000000 |{star}| 4\n00:00:01.100000000 |{blanks}| -\n\
             00:00:01.200000000 |{star}| 4\n{:18} v{bar}v\n{limits}",
            ""
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn zero_is_marked_between_signs() {
        let points = [Point { interval: 1, value: -10 }, Point { interval: 2, value: 10 }];
        let text = chart(&points, (2, 10), Intervals { length_ns: 1_000_000_000, phase_ns: 0 }, &NoNames);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], format!("hh:mm:ss.ns        |{}|", "_".repeat(51)));
        assert_eq!(lines[2], format!("00:00:01.000000000 *{}.{}| -10", " ".repeat(25), " ".repeat(25)));
        assert_eq!(lines[3], format!("00:00:02.000000000 |{}.{}* 10", " ".repeat(25), " ".repeat(25)));
    }
}

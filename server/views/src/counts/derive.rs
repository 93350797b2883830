//! What counts say about each other: instructions a cycle, misses of a hundred accesses, how much of a CPU was used.

use bathyscope_catalog::perf_events::ProcCounter;

use crate::answers::{Derived, ValueRange};

/// The sum of one event in one scope, with the times in which it was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSum {
    /// The event as it was written, with its modifiers.
    pub event: String,
    /// `all`, `CPU3`, or a thread.
    pub scope: String,
    /// How many, in its unit; of a gauge the value that came last.
    pub value: u64,
    /// Nanoseconds in which it was to be counted, over all counters.
    pub enabled_ns: u64,
    /// Those in which it was.
    pub running_ns: u64,
    /// Length of all intervals.
    pub span_ns: u64,
    /// Why it was not counted; empty if it was.
    pub state: String,
    /// What the value is measured in: `ns`, `bytes`; empty for numbers, and in captures from before rows said it.
    pub unit: String,
    /// Where a gauge went; none of what is counted.
    pub range: Option<ValueRange>,
}

/// An event without its modifiers.
fn base(event: &str) -> &str {
    event.rsplit_once(':').filter(|(base, _)| !base.contains(':')).map_or(event, |(base, letters)| {
        // A tracepoint's name has a colon as well.
        if letters.chars().all(|c| "ukhGHIpPDeW".contains(c)) { base } else { event }
    })
}

/// Whether values of an event are nanoseconds that are read and not counted: times, of which there is no rate.
pub fn is_time(event: &str) -> bool {
    matches!(event, "duration_time" | "user_time" | "system_time")
}

/// Whether values of an event are nanoseconds of a clock.
pub(crate) fn is_clock(event: &str) -> bool {
    matches!(base(event), "task-clock" | "cpu-clock")
}

impl EventSum {
    /// The event without its modifiers.
    fn base(&self) -> &str {
        base(&self.event)
    }

    /// The modifiers with their colon.
    fn suffix(&self) -> &str {
        self.event.get(self.base().len()..).unwrap_or_default()
    }

    /// Adds a value that came later. With a range it is of a gauge, of which the later value counts.
    pub fn add_value(&mut self, value: u64, range: Option<ValueRange>) {
        let Some(range) = range else {
            self.value = self.value.saturating_add(value);
            return;
        };
        self.value = value;
        self.range = Some(self.range.map_or(range, |known| known.with(range)));
    }

    /// Whether its value is a part of the time that passed: how long threads waited.
    pub fn is_share_of_time(&self) -> bool {
        self.unit == "ns" && !self.is_clock() && !is_time(&self.event)
    }

    /// Whether its value is bytes.
    pub fn is_bytes(&self) -> bool {
        self.unit == "bytes"
    }

    /// Whether its value is nanoseconds of a clock.
    pub fn is_clock(&self) -> bool {
        is_clock(&self.event)
    }

    /// Whether it was counted at any time.
    pub fn is_counted(&self) -> bool {
        self.state.is_empty() && (self.running_ns > 0 || self.value > 0)
    }

    /// Which part of the time it was on a counter, if not all of it.
    pub fn share(&self) -> Option<f64> {
        let shared = self.running_ns < self.enabled_ns && self.running_ns > 0;
        shared.then(|| self.running_ns as f64 / self.enabled_ns as f64)
    }
}

/// What `sum` says together with `others`, the sums of the same scope, as `perf stat` has it behind the hash.
pub fn derived(sum: &EventSum, others: &[&EventSum]) -> Option<Derived> {
    if !sum.is_counted() || is_time(&sum.event) || sum.range.is_some() {
        return None;
    }
    if sum.is_share_of_time() {
        let value = 100.0 * sum.value as f64 / (sum.span_ns > 0).then_some(sum.span_ns)? as f64;
        return Some(Derived { value, unit: "% of the time".to_owned() });
    }
    if sum.is_bytes() {
        return bytes_per_second(sum);
    }
    // What the machine does has nothing to do with how much of its CPUs is used.
    if ProcCounter::named(&sum.event).is_some() {
        return per_second(sum, None);
    }
    let find = |base: &str| others.iter().copied().find(|it| it.base() == base && it.suffix() == sum.suffix());
    let ratio = |unit: &str, factor: f64, of: Option<&EventSum>| {
        let of = of.filter(|of| of.is_counted() && of.value > 0)?;
        Some(Derived { value: factor * sum.value as f64 / of.value as f64, unit: unit.to_owned() })
    };
    let clock = others.iter().copied().find(|it| it.is_clock() && it.is_counted());
    let own = match sum.base() {
        "task-clock" | "cpu-clock" if sum.span_ns > 0 => {
            return Some(Derived { value: sum.value as f64 / sum.span_ns as f64, unit: "CPUs utilized".to_owned() });
        }
        "cycles" => ratio("GHz", 1.0, clock),
        "instructions" => ratio("insn per cycle", 1.0, find("cycles")),
        "branch-misses" => ratio("% of all branches", 100.0, find("branches")),
        "cache-misses" => ratio("% of all cache refs", 100.0, find("cache-references")),
        "stalled-cycles-frontend" => ratio("% frontend cycles idle", 100.0, find("cycles")),
        "stalled-cycles-backend" => ratio("% backend cycles idle", 100.0, find("cycles")),
        base => misses_of(base).and_then(|(all, unit)| ratio(&unit, 100.0, find(&all))),
    };
    own.or_else(|| per_second(sum, clock))
}

/// The event that a count of misses is a part of, and what the part is called.
fn misses_of(base: &str) -> Option<(String, String)> {
    let (cache, plural) = [("-load-misses", "loads"), ("-store-misses", "stores"), ("-prefetch-misses", "prefetches")]
        .into_iter()
        .find_map(|(end, plural)| Some((base.strip_suffix(end)?, plural)))?;
    Some((format!("{cache}-{plural}"), format!("% of all {cache} {plural}")))
}

/// How many in a second of the clock that was counted too, else of the time that passed.
fn per_second(sum: &EventSum, clock: Option<&EventSum>) -> Option<Derived> {
    let ns = clock.map_or(sum.span_ns, |clock| clock.value);
    let rate = sum.value as f64 * 1e9 / (ns > 0).then_some(ns)? as f64;
    let (value, unit) = match rate {
        rate if rate >= 1e9 => (rate / 1e9, "G/sec"),
        rate if rate >= 1e6 => (rate / 1e6, "M/sec"),
        rate if rate >= 1e3 => (rate / 1e3, "K/sec"),
        rate => (rate, "/sec"),
    };
    Some(Derived { value, unit: unit.to_owned() })
}

fn bytes_per_second(sum: &EventSum) -> Option<Derived> {
    let rate = sum.value as f64 * 1e9 / (sum.span_ns > 0).then_some(sum.span_ns)? as f64;
    let (value, unit) = match rate / 1024.0 {
        kib if kib >= 1024.0 * 1024.0 => (kib / 1024.0 / 1024.0, "GiB/sec"),
        kib if kib >= 1024.0 => (kib / 1024.0, "MiB/sec"),
        kib => (kib, "KiB/sec"),
    };
    Some(Derived { value, unit: unit.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(event: &str, value: u64) -> EventSum {
        let (enabled_ns, running_ns, span_ns) = (1_000_000_000, 1_000_000_000, 2_000_000_000);
        EventSum { event: event.to_owned(), value, enabled_ns, running_ns, span_ns, ..EventSum::default() }
    }

    fn text(event: &str, all: &[EventSum]) -> String {
        let others: Vec<&EventSum> = all.iter().collect();
        let one = all.iter().find(|sum| sum.event == event).unwrap();
        derived(one, &others).map_or_else(String::new, |it| format!("{:.2} {}", it.value, it.unit))
    }

    #[test]
    fn ratios_are_of_the_events_beside() {
        let mut uncounted = sum("LLC-loads", 0);
        uncounted.state = "not supported".to_owned();
        let all = [
            sum("task-clock", 500_000_000),
            sum("cycles", 2_000_000_000),
            sum("instructions", 3_000_000_000),
            sum("instructions:u", 100),
            sum("branches", 1000),
            sum("branch-misses", 25),
            sum("L1-dcache-loads", 400),
            sum("L1-dcache-load-misses", 100),
            sum("iTLB-load-misses", 5000),
            uncounted,
            sum("LLC-load-misses", 7_000_000),
            sum("page-faults", 100),
            sum("sched:sched_switch", 50),
            sum("kmem:k", 50),
        ];
        let cases = [
            ("task-clock", "0.25 CPUs utilized"),
            ("cycles", "4.00 GHz"),
            ("instructions", "1.50 insn per cycle"),
            ("instructions:u", "200.00 /sec"),
            ("branches", "2.00 K/sec"),
            ("branch-misses", "2.50 % of all branches"),
            ("L1-dcache-load-misses", "25.00 % of all L1-dcache loads"),
            ("iTLB-load-misses", "10.00 K/sec"),
            ("LLC-loads", ""),
            ("LLC-load-misses", "14.00 M/sec"),
            ("page-faults", "200.00 /sec"),
            ("sched:sched_switch", "100.00 /sec"),
        ];
        for (event, expected) in cases {
            assert_eq!(text(event, &all), expected, "{event}");
        }
        let alone = [sum("cs", 10)];
        assert_eq!(text("cs", &alone), "5.00 /sec", "without a clock it is the time that passed");
    }

    #[test]
    fn what_files_tell_has_units_and_gauges_have_no_rate() {
        let told = |event: &str, unit: &str, value| EventSum { unit: unit.to_owned(), ..sum(event, value) };
        let free = EventSum { range: Some(ValueRange::of(4096)), ..told("memory:free", "bytes", 4096) };
        let all = [
            sum("cpu-clock", 4_000_000_000),
            told("pressure:io-some", "ns", 500_000_000),
            told("vm:pgpgin", "bytes", 3 << 20),
            told("vm:pgscan_direct", "", 50),
            EventSum { span_ns: 0, ..told("pressure:io-full", "ns", 5) },
            free,
        ];
        let cases = [
            ("cpu-clock", "2.00 CPUs utilized"),
            ("pressure:io-some", "25.00 % of the time"),
            ("vm:pgpgin", "1.50 MiB/sec"),
            ("vm:pgscan_direct", "25.00 /sec"),
            ("pressure:io-full", ""),
            ("memory:free", ""),
        ];
        for (event, expected) in cases {
            assert_eq!(text(event, &all), expected, "{event}");
        }
        let mut gauge = EventSum::default();
        [7, 3, 5].into_iter().for_each(|value| gauge.add_value(value, Some(ValueRange::of(value))));
        assert_eq!((gauge.value, gauge.range), (5, Some(ValueRange { least: 3, most: 7 })));
        let mut count = EventSum::default();
        [7, u64::MAX].into_iter().for_each(|value| count.add_value(value, None));
        assert_eq!((count.value, count.range), (u64::MAX, None));
    }

    #[test]
    fn what_shared_a_counter_is_told() {
        let half = EventSum { running_ns: 500_000_000, ..sum("cycles", 1) };
        assert_eq!((half.share(), sum("cycles", 1).share()), (Some(0.5), None));
        assert!(!EventSum { running_ns: 0, value: 0, ..sum("cycles", 0) }.is_counted());
    }
}

//! What a hit costs where the kernel does not say: for ftrace, samples and counters no time is kept.
//!
//! That of samples is from the benchmark of costs (`tests/bench/cost.mjs`) on a virtual machine, whose timers cost an exit; that of
//! events that happen in a thread, without an interrupt, from page faults that were timed with and without a profile of them
//! (`docs/measurements.md`, *Page faults under a profile*); the rest is what such things are known to take, and was not measured.
//! Whoever shows them calls them estimates.

use bathyscope_capture::{CallGraph, ProfileSpec, TraceSpec};
use bathyscope_catalog::perf_events::{EventSource, PerfEvent, TYPE_SOFTWARE};

use super::stats::SpentTime;

/// An event of the kernel written into a buffer of ftrace.
const EVENT_NS: f64 = 250.0;
/// A function noted by the function tracer.
const FUNCTION_NS: f64 = 150.0;
/// One end of a call noted by `function_graph`.
const GRAPH_NS: f64 = 200.0;
/// A probe of a dynamic event, which is an exception or two.
const PROBE_NS: f64 = 1500.0;
/// A sample with stacks by frame pointers: the timer, the walk and the record. A machine of its own takes a third of it.
const SAMPLE_NS: f64 = 15_000.0;
/// What a sample without stacks takes.
const BARE_SAMPLE_NS: f64 = 10_000.0;
/// Taking a sample without an interrupt up to the program that rejects it: measured 1.1 µs.
const REJECTED_SAMPLE_NS: f64 = 1200.0;
/// An event in a thread that is no sample, as the period is longer: measured 80 to 100 ns.
const PASSED_EVENT_NS: f64 = 100.0;
/// Walking stacks and writing the record: measured 0.4 to 0.6 µs where stacks have few frames; this is for usual ones.
const WRITTEN_SAMPLE_NS: f64 = SAMPLE_NS - BARE_SAMPLE_NS;
/// Copying a byte of the stack into a sample.
const STACK_BYTE_NS: f64 = 0.25;
/// Counting a tracepoint.
const COUNTED_TRACEPOINT_NS: f64 = 200.0;
/// Counting what the kernel counts anyway.
const COUNTED_SOFTWARE_NS: f64 = 50.0;
/// Counting an access to a byte, which is an exception.
const COUNTED_ACCESS_NS: f64 = 2000.0;

/// An event written by a trace, of whatever kind is likely to be most of them.
pub(crate) fn of_trace(trace: &TraceSpec) -> f64 {
    match trace.tracer.as_deref() {
        Some("function") => FUNCTION_NS,
        Some("function_graph") => GRAPH_NS,
        Some(_) => EVENT_NS,
        None if trace.events.is_empty() => PROBE_NS,
        None => EVENT_NS,
    }
}

/// What samples of an event take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SamplePrice {
    /// One that is written.
    pub(crate) written_ns: f64,
    /// One that the program rejects, as it is of somebody else, or of an idle CPU.
    pub(crate) rejected_ns: f64,
    /// So many are taken a second, whoever runs: what is rejected was asked for as well. With a period it is others who decide
    /// how much there is to pass over.
    pub(crate) by_frequency: bool,
}

/// How many samples of an event there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleCount {
    /// All.
    pub(crate) hits: u64,
    /// Those that the program rejected.
    pub(crate) rejected: u64,
}

impl SamplePrice {
    /// Of `event`; without one, of cycles or the CPU's clock.
    pub(crate) fn of(profile: &ProfileSpec, event: Option<&PerfEvent>, stack_bytes: u32) -> Self {
        let copied = match profile.call_graph {
            CallGraph::Dwarf => f64::from(stack_bytes) * STACK_BYTE_NS,
            CallGraph::FramePointer | CallGraph::Lbr => 0.0,
        };
        let has_stacks = profile.kernel_stacks || profile.user_stacks;
        let rejected_ns = rejected(event, profile.period);
        let written_ns = match (event.is_some_and(is_in_thread), has_stacks) {
            (true, _) => rejected_ns + WRITTEN_SAMPLE_NS,
            (false, true) => SAMPLE_NS,
            (false, false) => BARE_SAMPLE_NS,
        };
        Self { written_ns: written_ns + copied, rejected_ns, by_frequency: profile.period.is_none() }
    }

    /// What so many took.
    pub(crate) fn spent(self, count: SampleCount) -> SpentTime {
        let rejected_ns = (count.rejected as f64 * self.rejected_ns) as u64;
        let asked_ns = (count.hits.saturating_sub(count.rejected) as f64 * self.written_ns) as u64;
        if self.by_frequency {
            return SpentTime { asked_ns: asked_ns.saturating_add(rejected_ns), passing_ns: 0 };
        }
        SpentTime { asked_ns, passing_ns: rejected_ns }
    }
}

/// What the samples of all events of a profile took.
pub(crate) fn of_samples(prices: &[SamplePrice], counts: &[SampleCount]) -> SpentTime {
    let each = prices.iter().zip(counts).map(|(price, count)| price.spent(*count));
    each.fold(SpentTime::default(), SpentTime::plus)
}

/// A sample that is not written. That of a clock or a counter of the CPU is an interrupt all the same, which is the most of a
/// sample without stacks.
fn rejected(event: Option<&PerfEvent>, period: Option<u64>) -> f64 {
    match event {
        Some(event) if is_in_thread(event) => REJECTED_SAMPLE_NS + period.unwrap_or(1) as f64 * PASSED_EVENT_NS,
        _ => BARE_SAMPLE_NS,
    }
}

/// Whether an event happens in a thread that goes on with it, and interrupts none.
fn is_in_thread(event: &PerfEvent) -> bool {
    matches!(event.source, EventSource::Fixed { type_: TYPE_SOFTWARE, .. }) && !event.is_clock()
}

/// One of what is counted. Counters of the hardware cost nothing while they count.
pub(crate) fn of_count(event: &PerfEvent) -> f64 {
    match &event.source {
        EventSource::Tracepoint(_) => COUNTED_TRACEPOINT_NS,
        EventSource::Breakpoint { .. } => COUNTED_ACCESS_NS,
        // What a clock counts are nanoseconds, which nobody counts one by one.
        EventSource::Fixed { .. } if event.is_clock() || event.is_hardware() => 0.0,
        EventSource::Fixed { .. } => COUNTED_SOFTWARE_NS,
        EventSource::Pmu { .. } | EventSource::Tool(_) | EventSource::Proc(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bathyscope_catalog::perf_events::parse_event;
    use bathyscope_protocol::{Budget, BudgetOf, GuardStage};

    use super::*;
    use crate::guard::{Guard, SharedBudget};

    #[test]
    fn what_the_hardware_counts_is_free() {
        let cases =
            [("cycles", 0.0), ("r1a8", 0.0), ("L1-dcache-load-misses", 0.0), ("cpu-clock", 0.0), ("task-clock", 0.0)];
        for (event, expected) in cases {
            assert_eq!(of_count(&parse_event(event).unwrap()), expected, "{event}");
        }
        for event in ["page-faults", "context-switches", "sched:sched_switch", "mem:0x1000:rw"] {
            assert!(of_count(&parse_event(event).unwrap()) > 0.0, "{event}");
        }
    }

    /// The stage of a guard that looks twice at what so many samples of page faults in a second take, one each ten.
    fn stage_of(samples: SampleCount) -> GuardStage {
        let profile = ProfileSpec { period: Some(10), ..ProfileSpec::default() };
        let price = SamplePrice::of(&profile, parse_event("page-faults").ok().as_ref(), 0);
        let cost = of_samples(&[price], &[samples]).cost_since(SpentTime::default(), Duration::from_secs(1));
        let mut guard = Guard::new(SharedBudget::alone(Budget::of_cpu(50, true)), false).on_cpus(2);
        guard.look(cost);
        guard.look(cost);
        guard.stage().clone()
    }

    #[test]
    fn p24_faults_of_others_do_not_end_a_profile_of_one_process() {
        // 200,000 faults a second of a machine that compiles, a thousand of the process.
        assert_eq!(stage_of(SampleCount { hits: 20_000, rejected: 19_900 }), GuardStage::Watching);
        // As many of the process alone are too many, whatever others do.
        let own = stage_of(SampleCount { hits: 20_000, rejected: 0 });
        assert!(matches!(&own, GuardStage::Detached { over } if over.of == BudgetOf::Probes), "{own:?}");
        // Millions of others slow the machine down: they are told, and end it at a quarter of all CPUs.
        let many = stage_of(SampleCount { hits: 150_000, rejected: 150_000 });
        assert!(matches!(&many, GuardStage::Warned { over } if over.of == BudgetOf::Passing), "{many:?}");
        let more = stage_of(SampleCount { hits: 1_000_000, rejected: 1_000_000 });
        assert!(matches!(&more, GuardStage::Detached { over } if over.of == BudgetOf::Passing), "{more:?}");
    }

    #[test]
    fn a_frequency_asks_for_what_is_rejected_too() {
        let price = |profile: &ProfileSpec, event: Option<&str>| {
            let event = event.map(|event| parse_event(event).unwrap());
            SamplePrice::of(profile, event.as_ref(), 0)
        };
        let clock = price(&ProfileSpec::default(), None);
        let idle = clock.spent(SampleCount { hits: 1000, rejected: 1000 });
        assert!(idle.asked_ns > 0 && idle.passing_ns == 0, "{idle:?}");
        assert!(clock.rejected_ns < clock.written_ns);
        let every = |period| ProfileSpec { period: Some(period), ..ProfileSpec::default() };
        // An interrupt costs the same whoever is interrupted; what happens in the thread does not.
        assert_eq!(price(&every(1000), Some("cpu-clock")).rejected_ns, clock.rejected_ns);
        assert_eq!(price(&every(1000), Some("cycles")).rejected_ns, clock.rejected_ns);
        let faults = [1, 10].map(|period| price(&every(period), Some("page-faults")));
        assert!(faults[0].rejected_ns < faults[1].rejected_ns && faults[1].rejected_ns < clock.rejected_ns / 4.0);
        assert!(faults.iter().all(|price| price.written_ns > 2.0 * price.rejected_ns && !price.by_frequency));
        assert!(faults.iter().all(|price| price.written_ns < clock.written_ns), "{faults:?}");
    }
}

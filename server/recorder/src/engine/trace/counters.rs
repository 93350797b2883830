//! What the kernel counted of a trace, whose counters belong to no stream: one buffer takes all events.

use bathyscope_capture::{LossStage, ScriptProbe};
use bathyscope_protocol::SourceReadings;

use crate::counters::{Costs, Counted, CounterLoss, EventCost, KernelCounters};

/// The counters of a trace.
#[derive(Debug)]
pub(super) struct TraceCounters {
    /// Whether a full buffer loses its oldest events; then pages tell where, and the counters only how many.
    overwrite: bool,
    /// The stream of each dynamic event.
    dynamic: Vec<Option<u16>>,
    /// What each is called, its hits, and those that its handler missed.
    probes: Vec<ScriptProbe>,
    hits: u64,
    ring_full: u64,
    /// Lost events that are in the ledger.
    entered: u64,
    /// Records that were read.
    seen: u64,
}

impl TraceCounters {
    /// `dynamic` are the streams of the dynamic events, in their order.
    pub(super) fn new(overwrite: bool, dynamic: Vec<Option<u16>>, names: &[String]) -> Self {
        let probe = |name: &String| ScriptProbe { name: name.clone(), attached: 1, ..ScriptProbe::default() };
        let mut probes: Vec<ScriptProbe> = names.iter().map(probe).collect();
        probes.resize(dynamic.len(), ScriptProbe::default());
        Self { overwrite, dynamic, probes, hits: 0, ring_full: 0, entered: 0, seen: 0 }
    }

    fn untold(&mut self) -> Option<CounterLoss> {
        let count = self.ring_full.saturating_sub(self.entered);
        self.entered += count;
        (count > 0).then_some((None, LossStage::RingFull, count))
    }
}

impl KernelCounters for TraceCounters {
    /// The dynamic events.
    fn programs(&self) -> &[ScriptProbe] {
        &self.probes
    }

    /// What the buffers were given so far, in events.
    fn shared_events(&self) -> Option<u64> {
        Some(self.hits)
    }

    /// A reading has the buffers' counters, then those of the dynamic events.
    fn read(&mut self, readings: &SourceReadings, _seconds: f64) -> Counted {
        let (mut losses, mut costs) = (Vec::new(), Costs::Elsewhere);
        let mut probes = readings.probes.iter();
        if let Some(total) = probes.next() {
            let before = self.hits;
            self.hits = self.hits.max(total.hits);
            self.ring_full = self.ring_full.max(total.ring_full);
            costs = Costs::Shared(EventCost { events: self.hits - before, ns_per_event: total.ns_per_hit });
        }
        if !self.overwrite {
            losses.extend(self.untold());
        }
        for ((stream, known), probe) in self.dynamic.iter().zip(&mut self.probes).zip(probes) {
            let more = probe.missed.saturating_sub(known.missed);
            known.missed = probe.missed.max(known.missed);
            known.hits = probe.hits.max(known.hits);
            if more > 0 {
                losses.push((*stream, LossStage::KernelMissed, more));
            }
        }
        Counted { losses, costs }
    }

    /// Where the kernel could not say how many, at least one; where the counters tell, none.
    fn told(&mut self, count: Option<u64>) -> u64 {
        if !self.overwrite {
            return 0;
        }
        let count = count.unwrap_or(1);
        self.entered = self.entered.saturating_add(count);
        count
    }

    fn seen(&mut self, records: u64) {
        self.seen = self.seen.saturating_add(records);
    }

    fn close(&mut self) -> Vec<CounterLoss> {
        let mut losses: Vec<CounterLoss> = self.untold().into_iter().collect();
        let never_came = self.hits.saturating_sub(self.ring_full.max(self.entered)).saturating_sub(self.seen);
        if never_came > 0 {
            losses.push((None, LossStage::Interrupted, never_came));
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_protocol::ProbeReading;

    use super::*;

    fn readings(hits: u64, ring_full: u64, missed: u64) -> SourceReadings {
        let total = ProbeReading { hits, ring_full, ..ProbeReading::default() };
        let dynamic = ProbeReading { hits: 7, missed, ..ProbeReading::default() };
        SourceReadings { probes: vec![total, dynamic], ..SourceReadings::default() }
    }

    #[test]
    fn dropped_events_are_told_by_the_counters() {
        let mut counters = TraceCounters::new(false, vec![Some(3)], &["probe:mine".to_owned()]);
        assert_eq!(
            counters.read(&readings(10, 4, 1), 1.0).losses,
            [(None, LossStage::RingFull, 4), (Some(3), LossStage::KernelMissed, 1)]
        );
        assert_eq!(counters.read(&readings(12, 5, 1), 1.0).losses, [(None, LossStage::RingFull, 1)]);
        assert_eq!(counters.told(Some(9)), 0);
        let told: Vec<_> = counters.programs().iter().map(|it| (it.name.as_str(), it.hits, it.missed)).collect();
        assert_eq!(told, [("probe:mine", 7, 1)]);
        counters.seen(6);
        assert_eq!(counters.read(&readings(3, 2, 0), 1.0).losses, []);
        assert_eq!(counters.close(), [(None, LossStage::Interrupted, 1)]);
    }

    #[test]
    fn overwritten_events_are_told_by_pages_and_the_rest_at_the_end() {
        let mut counters = TraceCounters::new(true, Vec::new(), &[]);
        assert_eq!(counters.read(&readings(100, 40, 0), 1.0).losses, []);
        assert_eq!((counters.told(Some(30)), counters.told(None)), (30, 1));
        counters.seen(60);
        assert_eq!(counters.close(), [(None, LossStage::RingFull, 9)]);
    }
}

//! What the kernel counted of a trace, whose counters belong to no stream: one buffer takes all events.

use bathyscope_capture::{LossStage, ScriptProbe};
use bathyscope_protocol::Readings;

/// The counters of a trace.
#[derive(Debug)]
pub(super) struct TraceAccounting {
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

/// A loss: of which stream, where, how many.
type Lost = (Option<u16>, LossStage, u64);

impl TraceAccounting {
    /// `dynamic` are the streams of the dynamic events, in their order.
    pub(super) fn new(overwrite: bool, dynamic: Vec<Option<u16>>, names: &[String]) -> Self {
        let probe = |name: &String| ScriptProbe { name: name.clone(), attached: 1, ..ScriptProbe::default() };
        let mut probes: Vec<ScriptProbe> = names.iter().map(probe).collect();
        probes.resize(dynamic.len(), ScriptProbe::default());
        Self { overwrite, dynamic, probes, hits: 0, ring_full: 0, entered: 0, seen: 0 }
    }

    /// The dynamic events as of the last reading.
    pub(super) fn probes(&self) -> &[ScriptProbe] {
        &self.probes
    }

    /// Enters a reading: the buffers' counters, then those of the dynamic events. Gives what was lost since the last and
    /// is not told by pages. Counters never go back, whatever a reading says.
    pub(super) fn read(&mut self, readings: &Readings) -> Vec<Lost> {
        let mut losses = Vec::new();
        let mut probes = readings.probes.iter();
        if let Some(total) = probes.next() {
            self.hits = self.hits.max(total.hits);
            self.ring_full = self.ring_full.max(total.ring_full);
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
        losses
    }

    /// What the buffers were given so far, in events.
    pub(super) fn hits(&self) -> u64 {
        self.hits
    }

    fn untold(&mut self) -> Option<Lost> {
        let count = self.ring_full.saturating_sub(self.entered);
        self.entered += count;
        (count > 0).then_some((None, LossStage::RingFull, count))
    }

    /// A page told that events were lost before it. Gives how many of them are to be entered: where the kernel could not
    /// say how many, at least one; where the counters tell, none.
    pub(super) fn told(&mut self, count: Option<u64>) -> u64 {
        if !self.overwrite {
            return 0;
        }
        let count = count.unwrap_or(1);
        self.entered = self.entered.saturating_add(count);
        count
    }

    /// Records were read, whatever became of them.
    pub(super) fn seen(&mut self, records: u64) {
        self.seen = self.seen.saturating_add(records);
    }

    /// At the end, with the final counters: what is not accounted for yet.
    pub(super) fn close(&mut self) -> Vec<Lost> {
        let mut losses: Vec<Lost> = self.untold().into_iter().collect();
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

    fn readings(hits: u64, ring_full: u64, missed: u64) -> Readings {
        let total = ProbeReading { hits, ring_full, ..ProbeReading::default() };
        let dynamic = ProbeReading { hits: 7, missed, ..ProbeReading::default() };
        Readings { probes: vec![total, dynamic], ..Readings::default() }
    }

    #[test]
    fn dropped_events_are_told_by_the_counters() {
        let mut accounting = TraceAccounting::new(false, vec![Some(3)], &["probe:mine".to_owned()]);
        assert_eq!(
            accounting.read(&readings(10, 4, 1)),
            [(None, LossStage::RingFull, 4), (Some(3), LossStage::KernelMissed, 1)]
        );
        assert_eq!(accounting.read(&readings(12, 5, 1)), [(None, LossStage::RingFull, 1)]);
        assert_eq!(accounting.told(Some(9)), 0);
        let told: Vec<_> = accounting.probes().iter().map(|it| (it.name.as_str(), it.hits, it.missed)).collect();
        assert_eq!(told, [("probe:mine", 7, 1)]);
        accounting.seen(6);
        assert_eq!(accounting.read(&readings(3, 2, 0)), []);
        assert_eq!(accounting.close(), [(None, LossStage::Interrupted, 1)]);
    }

    #[test]
    fn overwritten_events_are_told_by_pages_and_the_rest_at_the_end() {
        let mut accounting = TraceAccounting::new(true, Vec::new(), &[]);
        assert_eq!(accounting.read(&readings(100, 40, 0)), []);
        assert_eq!((accounting.told(Some(30)), accounting.told(None)), (30, 1));
        accounting.seen(60);
        assert_eq!(accounting.close(), [(None, LossStage::RingFull, 9)]);
    }
}

//! How the kernel counts what a source records: by stream, or in another way that the source's engine brings.

use std::fmt;

use bathyscope_capture::{LossStage, ScriptProbe};
use bathyscope_protocol::{ProbeReading, SourceReadings};

/// Events that were lost before the ring: of which stream, if that is known, where, how many.
pub(crate) type CounterLoss = (Option<u16>, LossStage, u64);

/// What the kernel has counted of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelCounts {
    pub(crate) hits: u64,
    pub(crate) filtered: u64,
    /// Events for which the kernel did not call the probe; they are no hits.
    pub(crate) missed: u64,
}

/// Events since the reading before, and what one costs where that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EventCost {
    pub(crate) events: u64,
    pub(crate) ns_per_event: Option<f64>,
}

/// Whose the cost of events is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Costs {
    /// That of each stream, in order.
    ByStream(Vec<EventCost>),
    /// That of all streams together, which share it by the rows that came.
    Shared(EventCost),
    /// That of no stream.
    #[default]
    Elsewhere,
}

/// What a reading tells of the time since the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    pub(crate) losses: Vec<CounterLoss>,
    pub(crate) costs: Costs,
}

/// Follows the kernel's counters of a source. Counters never go back, whatever a reading says.
pub(crate) trait KernelCounters: Send + fmt::Debug {
    /// Enters a reading that was taken so many seconds after the one before.
    fn read(&mut self, readings: &SourceReadings, seconds: f64) -> Counted;

    /// What was counted of a stream; nothing where counters belong to no stream.
    fn of_stream(&self, _stream: usize) -> KernelCounts {
        KernelCounts::default()
    }

    /// Whether each stream has counters, so that what they do not tell is a loss of that stream.
    fn are_by_stream(&self) -> bool {
        false
    }

    /// The programs or dynamic events that are told by themselves, as of the last reading.
    fn programs(&self) -> &[ScriptProbe] {
        &[]
    }

    /// Share of one CPU that is told of no stream, in thousandths, where it is known.
    fn cpu_permille(&self) -> Option<f64> {
        None
    }

    /// Events whose cost is shared by streams, of which a row may be several; none where it is not shared.
    fn shared_events(&self) -> Option<u64> {
        None
    }

    /// Records were read, whatever became of them.
    fn seen(&mut self, _records: u64) {}

    /// A record tells that events were lost before it, and how many if it knows. Gives how many of them are to be entered.
    fn told(&mut self, count: Option<u64>) -> u64 {
        count.unwrap_or(1)
    }

    /// At the end, with the final counters: what is not accounted for yet.
    fn close(&mut self) -> Vec<CounterLoss> {
        Vec::new()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ProbeCounts {
    counts: KernelCounts,
    ring_full: u64,
    limited: u64,
    map_full: u64,
}

impl ProbeCounts {
    fn raise(&mut self, probe: &ProbeReading) {
        let raise = |kept: &mut u64, now: u64| *kept = now.max(*kept);
        raise(&mut self.counts.hits, probe.hits);
        raise(&mut self.counts.filtered, probe.filtered);
        raise(&mut self.counts.missed, probe.missed);
        raise(&mut self.ring_full, probe.ring_full);
        raise(&mut self.limited, probe.limited);
        raise(&mut self.map_full, probe.map_full);
    }
}

/// Counters of sources whose streams have one probe each.
#[derive(Debug)]
pub(crate) struct StreamCounters(Vec<ProbeCounts>);

impl StreamCounters {
    pub(crate) fn new(streams: usize) -> Self {
        Self(vec![ProbeCounts::default(); streams])
    }
}

impl KernelCounters for StreamCounters {
    fn read(&mut self, readings: &SourceReadings, _seconds: f64) -> Counted {
        let (mut losses, mut costs) = (Vec::new(), Vec::new());
        for ((stream, known), probe) in (0_u16..).zip(&mut self.0).zip(&readings.probes) {
            let before = *known;
            known.raise(probe);
            losses.extend([
                (Some(stream), LossStage::RingFull, known.ring_full - before.ring_full),
                (Some(stream), LossStage::Limited, known.limited - before.limited),
                (Some(stream), LossStage::KernelMissed, known.counts.missed - before.counts.missed),
                (Some(stream), LossStage::MapFull, known.map_full - before.map_full),
            ]);
            let events = known.counts.hits - before.counts.hits;
            costs.push(EventCost { events, ns_per_event: probe.ns_per_hit });
        }
        losses.retain(|(_, _, count)| *count > 0);
        Counted { losses, costs: Costs::ByStream(costs) }
    }

    fn of_stream(&self, stream: usize) -> KernelCounts {
        self.0.get(stream).map(|known| known.counts).unwrap_or_default()
    }

    fn are_by_stream(&self) -> bool {
        true
    }
}

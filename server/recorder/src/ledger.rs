//! The ledger of a running capture (P28, P29): what the kernel counted, what was stored, what was lost, where and when.

use std::{collections::VecDeque, ops::Range};

use bathyscope_capture::{Ledger, Loss, LossStage, Reading, ScriptProbe, StreamTotals};
use bathyscope_protocol::{ProcessUse, Readings, SourceReadings};

use super::counters::{Costs, CounterLoss, EventCost, KernelCounters, KernelCounts};

/// The most losses that are told one by one; beyond that neighbours are joined.
const MAX_LOSSES: usize = 512;
/// The most losses told by a ring that wait for the next reading.
const MAX_TOLD: usize = 64;
/// The most losses of the last moments that a flight recorder knows one by one.
const MAX_RECENT: usize = 4096;

/// How much of what was lost is known when the ledger is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossKnowledge {
    /// The kernel's counters were read when nothing was attached any more.
    All,
    /// What happened after the last reading was counted by nobody.
    UntilLastReading,
}

#[derive(Clone, Debug, Default)]
struct StreamAccounting {
    stored: u64,
    /// Rows in appends that are not stored yet.
    pending: u64,
    /// Rows among which the cost of all streams was shared.
    shared: u64,
    lost: u64,
    /// Rows that left the memory of a flight recorder: how many, from when to when.
    not_kept: (u64, u64, u64),
    /// Records that were read and left out by a filter that the kernel cannot decide.
    left_out: u64,
    /// Losses that a perf ring told of: how many, from when to when. Records other than samples are among them, so they
    /// only count where the kernel does not count the samples themselves.
    told: Vec<(u64, u64, u64)>,
}

/// A source whose events are accounted for: how many streams it has, how the kernel counts, and its number among the sources
/// of the capture.
#[derive(Debug)]
pub(crate) struct AccountedSource {
    pub(crate) number: usize,
    pub(crate) streams: usize,
    pub(crate) counters: Box<dyn KernelCounters>,
}

/// The same with where its streams begin among those of the capture.
#[derive(Debug)]
struct SourceCounters {
    number: usize,
    streams: Range<usize>,
    counters: Box<dyn KernelCounters>,
}

impl SourceCounters {
    /// The capture's number of one of its streams.
    fn number_of(&self, stream: u16) -> Option<u16> {
        u16::try_from(self.streams.start + usize::from(stream)).ok()
    }
}

/// Accounts for every event of a capture.
///
/// The kernel's counters are read from time to time, so while a capture runs its ledger may be behind what is stored;
/// `emitted` is then raised to what is accounted for, so that it is never less than the sum of its parts. At the end,
/// with the final counters, `emitted = stored + losses` holds exactly. Events that the kernel did not deliver to the
/// probe count as hits and as lost.
#[derive(Debug)]
pub(crate) struct LossAccounting {
    streams: Vec<StreamAccounting>,
    losses: Vec<Loss>,
    /// The last losses of a flight recorder one by one, and for how long they are kept; none for others.
    recent: Option<(VecDeque<Loss>, u64)>,
    /// Losses of one stream and stage that are no further apart than this are joined.
    join_within_ns: u64,
    start_ns: u64,
    read_ns: u64,
    readings: Vec<Option<Reading>>,
    /// What the agent has used, by its last reading.
    agent: ProcessUse,
    sources: Vec<SourceCounters>,
}

impl LossAccounting {
    /// The accounting of a capture that began at `start_ns`. The streams of its sources stand one behind the other.
    pub(crate) fn new(start_ns: u64, sources: impl IntoIterator<Item = AccountedSource>) -> Self {
        let mut streams = 0;
        let placed = |AccountedSource { number, streams: count, counters }| {
            let start = streams;
            streams += count;
            SourceCounters { number, streams: start..streams, counters }
        };
        let sources = sources.into_iter().map(placed).collect();
        Self {
            streams: vec![StreamAccounting::default(); streams],
            losses: Vec::new(),
            recent: None,
            join_within_ns: 0,
            start_ns,
            read_ns: start_ns,
            readings: vec![None; streams],
            agent: ProcessUse::default(),
            sources,
        }
    }

    /// Records of the source at `index` were read that counters of no stream have, whatever became of them.
    pub(crate) fn seen(&mut self, index: usize, records: u64) {
        if let Some(source) = self.sources.get_mut(index) {
            source.counters.seen(records);
        }
    }

    /// A record of the source at `index` told that so many events of some stream were lost between two moments; none if it does
    /// not know how many.
    pub(crate) fn told(&mut self, index: usize, count: Option<u64>, start_ns: u64, end_ns: u64) {
        let count = self.sources.get_mut(index).map_or(0, |source| source.counters.told(count));
        self.lost_somewhere(LossStage::RingFull, count, start_ns, end_ns);
    }

    /// What the kernel has counted of a stream.
    fn kernel_counts(&self, stream: usize) -> KernelCounts {
        let source = self.sources.iter().find(|source| source.streams.contains(&stream));
        source.map(|source| source.counters.of_stream(stream - source.streams.start)).unwrap_or_default()
    }

    /// Enters what counters tell.
    fn lose_all(&mut self, losses: Vec<CounterLoss>, start_ns: u64, end_ns: u64) {
        for (stream, stage, count) in losses {
            match stream {
                Some(stream) => self.lost(stream, stage, count, start_ns, end_ns),
                None => self.enter(None, stage, count, start_ns, end_ns),
            }
        }
    }

    /// What is told by itself and belongs to no stream, such as the programs of a script, as of the last reading.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &ScriptProbe> {
        self.sources.iter().flat_map(|source| source.counters.programs())
    }

    /// Enters a loss behind the ring that belongs to no stream that could be told.
    pub(crate) fn lost_somewhere(&mut self, stage: LossStage, count: u64, start_ns: u64, end_ns: u64) {
        self.enter(None, stage, count, start_ns.max(self.start_ns), end_ns);
    }

    /// Enters a reading of the kernel's counters. Counters never go back, whatever a reading says.
    pub(crate) fn read(&mut self, readings: &Readings) {
        let (since_ns, now_ns) = (self.read_ns, readings.time_ns.max(self.read_ns));
        self.agent = readings.agent;
        for index in 0..self.sources.len() {
            self.read_source(index, &readings.sources, (since_ns, now_ns));
        }
        self.settle_told();
        self.read_ns = now_ns;
    }

    fn read_source(&mut self, index: usize, readings: &[SourceReadings], (since_ns, now_ns): (u64, u64)) {
        let seconds = now_ns.saturating_sub(since_ns) as f64 / 1e9;
        let Some(source) = self.sources.get_mut(index) else { return };
        let Some(readings) = readings.get(source.number) else { return };
        let counted = source.counters.read(readings, seconds);
        let losses = in_capture(source, counted.losses);
        let streams = source.streams.clone();
        let until = readings.recorded_until_ns;
        for reading in self.readings.get_mut(streams.clone()).unwrap_or_default().iter_mut().filter(|_| until.is_some())
        {
            reading.get_or_insert_default().recorded_until_ns = until;
        }
        self.lose_all(losses, since_ns, now_ns);
        if seconds <= 0.0 {
            return;
        }
        match counted.costs {
            Costs::ByStream(costs) => {
                let costs = streams.zip(costs);
                costs.for_each(|(index, cost)| self.note_cost(index, cost, seconds, now_ns));
            }
            Costs::Shared(cost) => self.share_cost(streams, cost, seconds, now_ns),
            Costs::Elsewhere => {}
        }
    }

    fn note_cost(&mut self, index: usize, EventCost { events, ns_per_event }: EventCost, seconds: f64, now_ns: u64) {
        let lost = self.streams.get(index).map_or(0, |accounting| accounting.lost);
        let Some(reading) = self.readings.get_mut(index) else { return };
        let hits_per_s = events as f64 / seconds;
        let ns_per_hit = ns_per_event.filter(|ns| ns.is_finite() && *ns >= 0.0);
        // ns per second and CPU are parts of 10^9; thousandths are 10^6 of them.
        let cpu_permille = ns_per_hit.map(|ns| ns * hits_per_s / 1e6);
        let before = reading.unwrap_or_default();
        *reading = Some(Reading { time_ns: now_ns, hits_per_s, ns_per_hit, cpu_permille, lost, ..before });
    }

    /// Shares the cost of events among streams by the rows that came, as what costs is the event: a call is two of them.
    fn share_cost(&mut self, streams: Range<usize>, cost: EventCost, seconds: f64, now_ns: u64) {
        let came = |accounting: &mut StreamAccounting| {
            let rows = accounting.stored + accounting.pending + accounting.not_kept.0;
            rows.saturating_sub(std::mem::replace(&mut accounting.shared, rows))
        };
        let shared = self.streams.get_mut(streams.clone()).unwrap_or_default();
        let came: Vec<u64> = shared.iter_mut().map(came).collect();
        let all: u64 = came.iter().sum();
        for (index, rows) in streams.zip(came) {
            let events = (cost.events as f64 * rows as f64 / all.max(1) as f64) as u64;
            self.note_cost(index, EventCost { events, ..cost }, seconds, now_ns);
        }
    }

    /// A perf ring told that it lost records between two moments.
    pub(crate) fn ring_lost(&mut self, stream: u16, count: u64, start_ns: u64, end_ns: u64) {
        if let Some(accounting) = self.streams.get_mut(usize::from(stream)) {
            let full = accounting.told.len() >= MAX_TOLD;
            match accounting.told.last_mut().filter(|_| full) {
                Some(last) => *last = (last.0.saturating_add(count), last.1.min(start_ns), last.2.max(end_ns)),
                None => accounting.told.push((count, start_ns, end_ns)),
            }
        }
    }

    /// Decides about what perf rings told of: the kernel's own count of samples is better, where there is one.
    fn settle_told(&mut self) {
        for index in 0..self.streams.len() {
            let Some(accounting) = self.streams.get_mut(index) else { continue };
            let (told, counted) = (std::mem::take(&mut accounting.told), self.kernel_counts(index).hits > 0);
            for (count, start_ns, end_ns) in told.into_iter().filter(|_| !counted) {
                self.lose(index, LossStage::RingFull, count, start_ns, end_ns);
            }
        }
    }

    /// Records of a stream were read, and a filter asks for none of them: they are as filtered as what the kernel left out.
    pub(crate) fn left_out(&mut self, stream: u16, count: u64) {
        if let Some(accounting) = self.streams.get_mut(usize::from(stream)) {
            accounting.left_out = accounting.left_out.saturating_add(count);
        }
    }

    /// Enters a loss behind the ring.
    pub(crate) fn lost(&mut self, stream: u16, stage: LossStage, count: u64, start_ns: u64, end_ns: u64) {
        self.lose(usize::from(stream), stage, count, start_ns, end_ns);
    }

    fn lose(&mut self, index: usize, stage: LossStage, count: u64, start_ns: u64, end_ns: u64) {
        let (Some(accounting), Ok(stream)) = (self.streams.get_mut(index), u16::try_from(index)) else { return };
        accounting.lost = accounting.lost.saturating_add(count);
        self.enter(Some(stream), stage, count, start_ns, end_ns);
    }

    /// Enters what was lost when something broke off: at least so many, also if nothing is known.
    fn interrupted(&mut self, stream: Option<u16>, count: u64, start_ns: u64, end_ns: u64) {
        if let Some(accounting) = stream.and_then(|stream| self.streams.get_mut(usize::from(stream))) {
            accounting.lost = accounting.lost.saturating_add(count);
        }
        let (stage, end_ns) = (LossStage::Interrupted, end_ns.max(start_ns));
        self.losses.push(Loss { stream, stage, count, start_ns, end_ns });
    }

    fn enter(&mut self, stream: Option<u16>, stage: LossStage, count: u64, start_ns: u64, end_ns: u64) {
        if count == 0 {
            return;
        }
        let loss = Loss { stream, stage, count, start_ns, end_ns: end_ns.max(start_ns) };
        self.remember(&loss);
        if !self.join(&loss) {
            self.losses.push(loss);
        }
        while self.losses.len() > MAX_LOSSES {
            self.join_within_ns = (self.join_within_ns * 2).max(1_000_000_000);
            for loss in std::mem::take(&mut self.losses) {
                if !self.join(&loss) {
                    self.losses.push(loss);
                }
            }
        }
    }

    /// From now on the losses of the last `ns` nanoseconds are known one by one, however many there have been.
    pub(crate) fn remember_for(&mut self, ns: u64) {
        self.recent = Some((VecDeque::new(), ns));
    }

    fn remember(&mut self, loss: &Loss) {
        let Some((recent, for_ns)) = &mut self.recent else { return };
        let since_ns = loss.end_ns.saturating_sub(*for_ns);
        while recent.front().is_some_and(|first| first.end_ns < since_ns) {
            recent.pop_front();
        }
        if recent.len() >= MAX_RECENT {
            let same = |known: &&mut Loss| known.stream == loss.stream && known.stage == loss.stage;
            if let Some(last) = recent.iter_mut().rev().find(same) {
                last.count = last.count.saturating_add(loss.count);
                (last.start_ns, last.end_ns) = (last.start_ns.min(loss.start_ns), last.end_ns.max(loss.end_ns));
                return;
            }
        }
        recent.push_back(loss.clone());
    }

    /// The ledger of a part of a flight recorder that has so many rows of each stream: `filtered` are the hits that had been filtered
    /// when it began. What was lost between its start and its end, or may have been, is lost in it. It balances: what the kernel
    /// counts is not told by moment.
    pub(crate) fn part(&self, [start_ns, end_ns]: [u64; 2], rows: &[u64], filtered: &[u64]) -> Ledger {
        let recent = self.recent.iter().flat_map(|(recent, _)| recent);
        let in_part = |loss: &&Loss| loss.end_ns >= start_ns && loss.start_ns <= end_ns;
        let mut ledger = Ledger { streams: Vec::new(), losses: recent.filter(in_part).cloned().collect() };
        for (index, stored) in rows.iter().enumerate() {
            let lost = u16::try_from(index).map_or(0, |stream| ledger.lost(stream));
            let before = filtered.get(index).copied().unwrap_or(0);
            let filtered = self.totals(index, 0).filtered.saturating_sub(before);
            let emitted = stored.saturating_add(lost);
            let hits = emitted.saturating_add(filtered);
            ledger.streams.push(StreamTotals { hits, filtered, emitted, stored: *stored });
        }
        ledger
    }

    /// Until when the kernel's counters were read.
    pub(crate) fn read_ns(&self) -> u64 {
        self.read_ns
    }

    /// Rows that were on their way left the memory of a flight recorder.
    pub(crate) fn not_kept(&mut self, stream: u16, rows: u64, start_ns: u64, end_ns: u64) {
        let Some(accounting) = self.streams.get_mut(usize::from(stream)).filter(|_| rows > 0) else { return };
        accounting.pending = accounting.pending.saturating_sub(rows);
        let (count, first_ns, last_ns) = accounting.not_kept;
        let first_ns = if count == 0 { start_ns } else { first_ns.min(start_ns) };
        accounting.not_kept = (count.saturating_add(rows), first_ns, last_ns.max(end_ns));
    }

    /// Joins a loss with the last of its stream and stage if that is near enough.
    fn join(&mut self, loss: &Loss) -> bool {
        let same = |known: &&mut Loss| known.stream == loss.stream && known.stage == loss.stage;
        let Some(last) = self.losses.iter_mut().rev().find(same) else { return false };
        let (start_ns, end_ns) = (last.start_ns.min(loss.start_ns), last.end_ns.max(loss.end_ns));
        let near = self.join_within_ns > 0 && end_ns - start_ns <= self.join_within_ns;
        if near || (last.start_ns, last.end_ns) == (loss.start_ns, loss.end_ns) {
            (last.start_ns, last.end_ns) = (start_ns, end_ns);
            last.count = last.count.saturating_add(loss.count);
            return true;
        }
        false
    }

    /// Rows of a stream are on their way to the store.
    pub(crate) fn pending(&mut self, stream: u16, rows: u64) {
        if let Some(accounting) = self.streams.get_mut(usize::from(stream)) {
            accounting.pending += rows;
        }
    }

    /// Rows that were on their way have arrived.
    pub(crate) fn stored(&mut self, stream: u16, rows: u64) {
        if let Some(accounting) = self.streams.get_mut(usize::from(stream)) {
            accounting.pending = accounting.pending.saturating_sub(rows);
            accounting.stored += rows;
        }
    }

    /// Rows that were on their way were refused by the store.
    pub(crate) fn refused(&mut self, stream: u16, rows: u64, start_ns: u64, end_ns: u64) {
        if let Some(accounting) = self.streams.get_mut(usize::from(stream)) {
            accounting.pending = accounting.pending.saturating_sub(rows);
        }
        self.lose(usize::from(stream), LossStage::Store, rows, start_ns, end_ns);
    }

    /// Totals of a stream, counting `arriving` rows as stored.
    fn totals(&self, index: usize, arriving: u64) -> StreamTotals {
        let Some(accounting) = self.streams.get(index) else { return StreamTotals::default() };
        let kernel = self.kernel_counts(index);
        let hits = kernel.hits.saturating_add(kernel.missed);
        let stored = accounting.stored + arriving;
        let accounted = stored.saturating_add(accounting.lost).saturating_add(accounting.not_kept.0);
        let filtered = kernel.filtered.min(hits).saturating_add(accounting.left_out);
        let emitted = hits.saturating_sub(filtered).max(accounted);
        StreamTotals { hits: hits.max(emitted + filtered), filtered, emitted, stored }
    }

    /// The ledger as it will be when `arriving` rows by stream are stored.
    pub(crate) fn ledger(&self, arriving: &[(u16, u64)]) -> Ledger {
        let rows = |index: usize| -> u64 {
            arriving.iter().filter(|(stream, _)| usize::from(*stream) == index).map(|(_, rows)| rows).sum()
        };
        let streams = (0..self.streams.len()).map(|index| self.totals(index, rows(index))).collect();
        let not_kept = |(stream, accounting): (u16, &StreamAccounting)| {
            let (count, start_ns, end_ns) = accounting.not_kept;
            let stage = LossStage::NotKept;
            (count > 0).then_some(Loss { stream: Some(stream), stage, count, start_ns, end_ns })
        };
        let not_kept = (0_u16..).zip(&self.streams).filter_map(not_kept);
        Ledger { streams, losses: self.losses.iter().cloned().chain(not_kept).collect() }
    }

    /// Closes the ledger when all rows are stored or refused. What the kernel counted and nobody has seen is a loss of
    /// its own; the kernel's counters being final, there is none. Where they are not final, each stream has a loss from the
    /// last reading to the end, whose count is only what is known of it. The readings become averages of the whole
    /// capture: the last interval, in which probes were taken off, says nothing about what the capture cost.
    pub(crate) fn close(&mut self, end_ns: u64, known: LossKnowledge) -> Ledger {
        self.settle_told();
        let from_ns = self.read_ns.min(end_ns);
        let by_stream = |index: usize| {
            let counters = self.sources.iter().find(|source| source.streams.contains(&index));
            counters.is_some_and(|source| source.counters.are_by_stream())
        };
        let by_stream: Vec<bool> = (0..self.streams.len()).map(by_stream).collect();
        for (index, unaccounted) in self.ledger(&[]).in_flight().into_iter().enumerate() {
            let count = u64::try_from(unaccounted).unwrap_or(0);
            if count > 0 {
                tracing::warn!(stream = index, count, "events that the kernel counted did not arrive");
            }
            if count > 0 || (known == LossKnowledge::UntilLastReading && by_stream.get(index) == Some(&true)) {
                self.interrupted(u16::try_from(index).ok(), count, from_ns, end_ns);
            }
        }
        let counts_otherwise = |source: &SourceCounters| !source.counters.are_by_stream();
        if known == LossKnowledge::UntilLastReading && self.sources.iter().any(counts_otherwise) {
            self.interrupted(None, 0, from_ns, end_ns);
        }
        let close = |source: &mut SourceCounters| {
            let losses = source.counters.close();
            in_capture(source, losses)
        };
        let losses: Vec<CounterLoss> = self.sources.iter_mut().flat_map(close).collect();
        self.lose_all(losses, self.start_ns.min(end_ns), end_ns);
        let ledger = self.ledger(&[]);
        self.average(&ledger, end_ns);
        ledger
    }

    fn average(&mut self, ledger: &Ledger, end_ns: u64) {
        let seconds = end_ns.saturating_sub(self.start_ns).max(1) as f64 / 1e9;
        for source in &self.sources {
            // Where the cost is shared it is by event, of which a row may be several.
            let totals = ledger.streams.get(source.streams.clone()).unwrap_or_default();
            let rows: u64 = totals.iter().map(|totals| totals.hits).sum();
            let events = source.counters.shared_events();
            let events_a_row = events.map_or(1.0, |events| events as f64 / rows.max(1) as f64);
            for (index, totals) in source.streams.clone().zip(totals) {
                let Some(Some(reading)) = self.readings.get_mut(index) else { continue };
                let hits_per_s = totals.hits as f64 / seconds;
                let cpu_permille = reading.ns_per_hit.map(|ns| ns * hits_per_s * events_a_row / 1e6);
                let lost = self.streams.get(index).map_or(0, |accounting| accounting.lost);
                *reading = Reading { time_ns: end_ns, hits_per_s, cpu_permille, lost, ..*reading };
            }
        }
    }

    /// The last reading of each stream; once the ledger is closed, its average over the capture.
    pub(crate) fn readings(&self) -> &[Option<Reading>] {
        &self.readings
    }

    /// What the agent has used, by its last reading.
    pub(crate) fn agent(&self) -> ProcessUse {
        self.agent
    }

    /// Events lost over all streams.
    pub(crate) fn lost_total(&self) -> u64 {
        let somewhere = |loss: &&Loss| loss.stream.is_none() && loss.stage.is_lost();
        let elsewhere: u64 = self.losses.iter().filter(somewhere).map(|loss| loss.count).sum();
        elsewhere + self.streams.iter().map(|accounting| accounting.lost).sum::<u64>()
    }

    /// Share of one CPU that all probes use together, in thousandths, where it is known of any.
    pub(crate) fn cpu_permille(&self) -> Option<f64> {
        let streams = self.readings.iter().flatten().filter_map(|reading| reading.cpu_permille);
        let elsewhere = self.sources.iter().filter_map(|source| source.counters.cpu_permille());
        streams.chain(elsewhere).reduce(|a, b| a + b)
    }
}

/// Losses of a source with the capture's numbers of its streams.
fn in_capture(source: &SourceCounters, losses: Vec<CounterLoss>) -> Vec<CounterLoss> {
    let placed = |(stream, stage, count): CounterLoss| match stream {
        Some(stream) => (source.number_of(stream), stage, count),
        None => (None, stage, count),
    };
    losses.into_iter().map(placed).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use bathyscope_protocol::ProbeReading;

    use super::*;
    use crate::counters::StreamCounters;

    fn accounting(start_ns: u64) -> LossAccounting {
        LossAccounting::new(start_ns, [source(0, 1)])
    }

    fn source(number: usize, streams: usize) -> AccountedSource {
        AccountedSource { number, streams, counters: Box::new(StreamCounters::new(streams)) }
    }

    fn readings(time_ns: u64, hits: u64, filtered: u64, ring_full: u64, missed: u64) -> Readings {
        let probe =
            ProbeReading { hits, filtered, ring_full, missed, ns_per_hit: Some(200.0), ..ProbeReading::default() };
        let sources = vec![SourceReadings { probes: vec![probe], ..SourceReadings::default() }];
        Readings { time_ns, sources, ..Readings::default() }
    }

    #[test]
    fn sources_have_their_own_counters_in_one_ledger() {
        // The source with number 1 could not be made.
        let mut accounting = LossAccounting::new(0, [source(0, 2), source(2, 1)]);
        let probe = |hits, ring_full| ProbeReading { hits, ring_full, ..ProbeReading::default() };
        let of = |probes: &[ProbeReading]| SourceReadings { probes: probes.to_vec(), ..SourceReadings::default() };
        let sources = vec![of(&[probe(5, 0), probe(7, 2)]), of(&[probe(99, 99)]), of(&[probe(11, 4)])];
        accounting.read(&Readings { time_ns: 100, sources, ..Readings::default() });
        for (stream, rows) in [(0, 5), (1, 5), (2, 7)] {
            accounting.pending(stream, rows);
            accounting.stored(stream, rows);
        }
        let ledger = accounting.close(200, LossKnowledge::All);
        assert_eq!(ledger.streams.iter().map(|totals| totals.hits).collect::<Vec<_>>(), [5, 7, 11]);
        assert_eq!((ledger.lost(0), ledger.lost(1), ledger.lost(2)), (0, 2, 4));
        assert_eq!(ledger.in_flight(), [0, 0, 0]);
    }

    #[test]
    fn p29_a_loss_has_stage_count_and_time_range() {
        let mut accounting = accounting(100);
        accounting.read(&readings(200, 10, 2, 3, 0));
        accounting.read(&readings(300, 20, 2, 3, 1));
        let loss = |stage, count, start_ns, end_ns| Loss { stream: Some(0), stage, count, start_ns, end_ns };
        let expected = [loss(LossStage::RingFull, 3, 100, 200), loss(LossStage::KernelMissed, 1, 200, 300)];
        assert_eq!(accounting.ledger(&[]).losses, expected);
    }

    #[test]
    fn the_cost_is_a_share_of_one_cpu() {
        let mut accounting = accounting(0);
        accounting.read(&readings(1_000_000_000, 500_000, 0, 0, 0));
        let reading = accounting.readings()[0].unwrap();
        assert!((reading.hits_per_s - 500_000.0).abs() < 1.0);
        assert!((accounting.cpu_permille().unwrap() - 100.0).abs() < 0.1, "500,000 × 200 ns are a tenth of a second");
    }

    #[test]
    fn a_closed_ledger_tells_the_cost_of_the_whole_capture() {
        let mut accounting = accounting(0);
        accounting.read(&readings(1_000_000_000, 500_000, 500_000, 0, 0));
        accounting.read(&readings(2_000_000_000, 500_000, 500_000, 0, 0));
        assert!(accounting.cpu_permille().unwrap() < 0.1, "nothing happened in the last second");
        accounting.close(2_000_000_000, LossKnowledge::All);
        let reading = accounting.readings()[0].unwrap();
        assert!((reading.hits_per_s - 250_000.0).abs() < 1.0);
        assert!((reading.cpu_permille.unwrap() - 50.0).abs() < 0.1);
    }

    #[test]
    fn what_a_ring_tells_counts_only_without_a_counter() {
        let mut counted = accounting(0);
        counted.ring_lost(0, 5, 10, 20);
        counted.read(&readings(100, 12, 0, 3, 0));
        assert_eq!(counted.lost_total(), 3, "two of the five were no samples");
        let mut uncounted = accounting(0);
        (0..1000).for_each(|time| uncounted.ring_lost(0, 5, time, time + 1));
        assert_eq!(uncounted.close(2000, LossKnowledge::All).lost(0), 5000);
    }

    #[test]
    fn what_a_filter_leaves_out_behind_the_kernel_is_filtered() {
        let mut accounting = accounting(0);
        accounting.pending(0, 4);
        accounting.left_out(0, 3);
        accounting.stored(0, 4);
        // Records may be read before the counters that have them.
        assert_eq!(accounting.totals(0, 0), StreamTotals { hits: 7, filtered: 3, emitted: 4, stored: 4 });
        accounting.read(&readings(1000, 12, 2, 3, 0));
        let ledger = accounting.close(1000, LossKnowledge::All);
        assert_eq!(ledger.streams[0], StreamTotals { hits: 12, filtered: 5, emitted: 7, stored: 4 });
        assert_eq!((ledger.lost(0), ledger.in_flight()), (3, vec![0]));
    }

    #[test]
    fn many_losses_are_joined_and_none_forgotten() {
        let mut accounting = accounting(0);
        for second in 1..=10_000 {
            accounting.read(&readings(second * 500_000_000, second, 0, second, 0));
        }
        let ledger = accounting.close(u64::MAX, LossKnowledge::All);
        assert!(ledger.losses.len() <= MAX_LOSSES);
        assert_eq!((ledger.lost(0), ledger.in_flight()), (10_000, vec![0]));
    }

    #[test]
    fn what_never_came_is_a_loss() {
        let mut accounting = accounting(0);
        accounting.read(&readings(100, 10, 0, 0, 0));
        accounting.pending(0, 4);
        accounting.stored(0, 4);
        let ledger = accounting.close(500, LossKnowledge::All);
        assert_eq!((ledger.lost(0), ledger.in_flight()), (6, vec![0]));
        assert_eq!(ledger.losses[0].stage, LossStage::Interrupted);
    }

    proptest! {
        /// Whatever is read, stored and refused in whatever order: parts never exceed the whole, and in the end they
        /// are the whole.
        #[test]
        fn p28_the_ledger_balances(
            steps in proptest::collection::vec((0_u64..50, 0_u64..50, 0_u64..50, 0_u64..5, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let mut accounting = accounting(0);
            let (mut kept, mut filtered, mut full, mut missed, mut pending) = (0, 0, 0, 0, 0);
            for (time, (new, rejected, dropped, unseen, read, refuse)) in steps.iter().enumerate() {
                let time = time as u64;
                (kept, filtered, full, missed) = (kept + new, filtered + rejected, full + dropped, missed + unseen);
                accounting.pending(0, *new);
                pending += new;
                if *read {
                    accounting.read(&readings(time, kept + filtered + full, filtered, full, missed));
                }
                let part = pending / 2;
                if *refuse { accounting.refused(0, part, time, time) } else { accounting.stored(0, part) }
                pending -= part;
                prop_assert!(accounting.ledger(&[(0, pending)]).in_flight()[0] >= 0);
            }
            accounting.stored(0, pending);
            accounting.read(&readings(1000, kept + filtered + full, filtered, full, missed));
            let ledger = accounting.close(1000, LossKnowledge::All);
            let totals = ledger.streams[0];
            prop_assert_eq!(ledger.in_flight(), vec![0]);
            prop_assert_eq!(totals.emitted, kept + full + missed);
            prop_assert_eq!(totals.hits, kept + filtered + full + missed);
            prop_assert_eq!(ledger.losses.iter().filter(|loss| loss.stage == LossStage::Interrupted).count(), 0);
        }
    }
}

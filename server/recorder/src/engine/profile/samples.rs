//! Samples of perf rings → rows, in order of time over all rings, when it is known what was mapped where they were taken.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use bathyscope_capture::{Cell, LossStage, ShownCell, StringId, visible};
use bathyscope_decode::perf::{PerfEvent, PerfRecord, Sample, parse_record};
use bathyscope_protocol::RingContent;

use super::rows::{self, SampleColumns, SampleRow, SampledStack, SourceWords};
use crate::{
    engine::{Engine, EngineSetup},
    frames::Need,
    history::{Placed, ProcessHistory},
    lookup::Lookup,
    merge::Merge,
    progress::Progress,
    reader::RecordBatch,
    rings::{PerfRing, perf_rings},
    sink::Sink,
};

/// How long a sample waits for what must be found out about its process.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// The most samples that wait.
const MAX_WAITING: usize = 4096;
/// The most of them whose stack was copied, which can be 64 KiB each.
const MAX_WAITING_COPIES: usize = 512;

/// The stream of samples, and that of their branches.
const SAMPLES: u16 = 0;
const BRANCHES: u16 = 1;

/// A sample whose turn has come, and about which something must be found out.
struct WaitingSample {
    time_ns: u64,
    sample: Sample,
    name: StringId,
    until: Instant,
    need: Need,
}

/// See the module.
pub(super) struct SampleEngine {
    /// By number among all rings of the capture.
    rings: Vec<Option<PerfRing>>,
    merge: Merge<Sample>,
    /// The events that are sampled, if there are several: the rings of a CPU are theirs in turn.
    events: Vec<String>,
    with: SampleColumns,
    sources: SourceWords,
    /// Samples that have a number, by which their branches find them.
    numbered: u64,
    waiting: VecDeque<WaitingSample>,
    progress: std::sync::Arc<Progress>,
}

impl SampleEngine {
    /// Of these events, if they are several; with branches these are the second stream.
    pub(super) fn new(setup: EngineSetup, events: Vec<String>, with: SampleColumns) -> Self {
        let is_of_samples = |content| matches!(content, RingContent::Stream { .. });
        let (rings, count) = perf_rings(&setup.rings, is_of_samples);
        Self {
            rings,
            merge: Merge::new(count),
            events,
            with,
            sources: SourceWords::default(),
            numbered: 0,
            waiting: VecDeque::new(),
            progress: setup.progress,
        }
    }

    fn sample(
        &mut self,
        time_ns: u64,
        mut sample: Sample,
        name: StringId,
        all: bool,
        sink: &mut Sink,
        lookup: &mut Lookup,
    ) {
        let most = if sample.copied.is_some() { MAX_WAITING_COPIES } else { MAX_WAITING };
        let must = all || self.waiting.len() >= most;
        match lookup.history.place(&mut sample, must) {
            Ok(placed) => self.push(time_ns, &sample, name, &placed, sink, &mut lookup.history),
            Err(need) => {
                lookup.history.ask(&need);
                let until = Instant::now() + MAX_WAIT;
                self.waiting.push_back(WaitingSample { time_ns, sample, name, until, need });
            }
        }
    }

    /// Tries again what waits; what `must` not wait any longer, or has waited long enough, goes as it is.
    fn settle_if(&mut self, must: impl Fn(&Sample) -> bool, sink: &mut Sink, history: &mut ProcessHistory) {
        let now = Instant::now();
        for mut waiting in std::mem::take(&mut self.waiting) {
            let must = waiting.until <= now || must(&waiting.sample);
            match history.place(&mut waiting.sample, must) {
                Ok(placed) => {
                    history.answered(&waiting.need);
                    let WaitingSample { time_ns, sample, name, .. } = waiting;
                    let name = if name == 0 { history.last_name(sample.pid, sample.tid) } else { name };
                    self.push(time_ns, &sample, name, &placed, sink, history);
                }
                Err(need) => {
                    history.ask(&need);
                    waiting.need = need;
                    self.waiting.push_back(waiting);
                }
            }
        }
    }

    fn push(
        &mut self,
        time_ns: u64,
        sample: &Sample,
        name: StringId,
        placed: &Placed,
        sink: &mut Sink,
        history: &mut ProcessHistory,
    ) {
        history.count_own(placed.frames.first());
        let mut row = rows::common(time_ns, sample, name);
        row.cells.push(Cell::Stack(SampledStack { id: placed.stack, top: None, depth: placed.frames.len() }));
        if self.with.memory {
            let access = sample.memory.unwrap_or_default();
            let mapping = placed.mapping.as_ref().map_or(0, |name| history.text(name, sink.strings()));
            row.cells.extend(self.sources.cells(&access, mapping, &mut |text| history.text(text, sink.strings())));
        }
        if self.with.event {
            let event = self.events.get(sample.event).map_or("", String::as_str);
            row.cells.push(Cell::Text(history.text(event.as_bytes(), sink.strings())));
        }
        if self.with.branches {
            row.cells.push(Cell::U64(self.numbered));
        }
        append(SAMPLES, sample, row, sink, history);
        if self.with.branches {
            self.push_branches(time_ns, sample, name, placed, sink, history);
        }
    }

    fn push_branches(
        &mut self,
        time_ns: u64,
        sample: &Sample,
        name: StringId,
        placed: &Placed,
        sink: &mut Sink,
        history: &mut ProcessHistory,
    ) {
        let sample_number = self.numbered;
        self.numbered += 1;
        let numbered = (0_u64..).zip(sample.branches.iter().zip(&placed.branches));
        for (index, (branch, ends)) in numbered {
            let mut row = rows::common(time_ns, sample, name);
            let mut text = |text: &str| match text {
                "" => 0,
                text => history.text(text.as_bytes(), sink.strings()),
            };
            row.cells.extend(rows::branch((sample_number, index), branch, *ends, &mut text));
            append(BRANCHES, sample, row, sink, history);
        }
    }

    /// No sample from before this moment will become a row any more.
    fn complete_ns(&self) -> u64 {
        let waiting = self.waiting.iter().map(|waiting| waiting.time_ns).min().unwrap_or(u64::MAX);
        self.pending_ns().min(waiting)
    }
}

impl Engine for SampleEngine {
    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, lookup: &mut Lookup) {
        let Some(Some(PerfRing { merged, format })) = self.rings.get(batch.ring).copied() else { return };
        for bytes in batch.records() {
            let since_ns = self.merge.last_ns(merged);
            let Ok(PerfRecord { time_ns, event }) = parse_record(bytes, format) else {
                // What kind of record it was cannot be told; it counts as a sample rather than as nothing.
                sink.lost(SAMPLES, LossStage::Decode, 1, since_ns, since_ns);
                continue;
            };
            match event {
                PerfEvent::Sample(mut sample) => {
                    sample.event = merged.checked_rem(self.events.len()).unwrap_or(0);
                    self.merge.push(merged, time_ns, bytes.len() + size_of::<Sample>(), sample);
                }
                PerfEvent::Lost { count } => {
                    sink.ring_lost(SAMPLES, count, since_ns, time_ns.unwrap_or(since_ns));
                }
                event => lookup.note(batch.ring, PerfRecord { time_ns, event }, bytes.len()),
            }
        }
    }

    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool, _sink: &mut Sink) {
        if let Some(Some(ring)) = self.rings.get(ring) {
            self.merge.read(ring.merged, read_ns, to_its_end);
        }
    }

    fn next_ns(&self, all: bool) -> Option<u64> {
        self.merge.next_ns(all)
    }

    fn is_full(&self) -> bool {
        self.merge.is_full()
    }

    fn pending_ns(&self) -> u64 {
        self.merge.pending_ns()
    }

    fn release(&mut self, all: bool, sink: &mut Sink, lookup: &mut Lookup) {
        let Some((_, time_ns, sample)) = self.merge.pop_any() else { return };
        let name = lookup.history.thread_name(sample.pid, sample.tid, sink.strings());
        self.sample(time_ns, sample, name, all, sink, lookup);
    }

    fn before_exec(&mut self, pid: u32, sink: &mut Sink, lookup: &mut Lookup) {
        // Samples from before must not be looked up in the memory from after.
        self.settle_if(|sample| sample.pid == pid, sink, &mut lookup.history);
    }

    fn settle(&mut self, all: bool, sink: &mut Sink, lookup: &mut Lookup) {
        self.settle_if(|_| all, sink, &mut lookup.history);
        let complete_ns = self.complete_ns();
        sink.complete(SAMPLES, complete_ns);
        if self.with.branches {
            sink.complete(BRANCHES, complete_ns);
        }
    }

    fn finish(&mut self, _sink: &mut Sink, _lookup: &mut Lookup) {
        if self.sources.says_nothing() {
            self.progress.no_memory_told();
        }
    }

    fn late(&self) -> u64 {
        self.merge.late()
    }
}

fn append(stream: u16, sample: &Sample, row: SampleRow, sink: &mut Sink, history: &ProcessHistory) {
    let Some(mut out) = sink.stream(stream) else { return };
    out.push(row, 0, |row, start_ns| shown(start_ns, sample, row, history), |id, _strings| id, |stack| stack.id);
}

/// A row as it is shown, before functions have names.
fn shown(start_ns: u64, sample: &Sample, row: &SampleRow, history: &ProcessHistory) -> Vec<ShownCell> {
    let text = |id: &StringId| history.text_of(*id).map(visible);
    row.shown(start_ns, text, |stack| match *stack {
        SampledStack { id: 0, .. } => ShownCell::Null,
        SampledStack { id, top, depth } => {
            let top = top.map_or_else(|| innermost(sample, history), |address| history.describe(sample.pid, address));
            ShownCell::Stack { id, top, depth }
        }
    })
}

/// What can be said about the innermost frame before functions have names.
fn innermost(sample: &Sample, history: &ProcessHistory) -> String {
    match (sample.kernel.first(), sample.user.first()) {
        (Some(address), _) => history.describe_kernel(*address),
        (None, Some(address)) => history.describe_user(sample.pid, *address),
        (None, None) => String::new(),
    }
}

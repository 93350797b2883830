//! Records of switches and wake-ups → rows, in order of time with the changes of processes, which know what threads are called.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_capture::{Cell, Row, ShownCell, StatesSpec, StringId, visible};
use bathyscope_decode::{
    perf::Sample,
    states::{StateEvent, StateRecord},
};
use bathyscope_protocol::{RingContent, RingInfo};

use super::{SWITCHES, WAKEUPS, names::ThreadNames, stacks::StackTrimmer};
use crate::{
    engine::{Engine, EngineSetup},
    frames::Need,
    history::ProcessHistory,
    lookup::Lookup,
    merge::Merge,
    reader::RecordBatch,
    row::PlacedStack,
    sink::Sink,
};

/// How long a row waits for what must be found out about the process of its stack.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// The most rows that wait.
const MAX_WAITING: usize = 4096;
/// The most functions that are remembered by their addresses.
const MAX_FUNCTIONS: usize = 1 << 14;
/// All records are in one ring.
const RING: usize = 0;

/// A row, its texts by their ids.
type StateRow = Row<StringId, PlacedStack>;

/// A row whose turn has come, and about whose stack something must be found out.
struct WaitingRow {
    time_ns: u64,
    stream: u16,
    row: StateRow,
    sample: Sample,
    until: Instant,
    need: Need,
}

/// See the module.
pub(super) struct StateEngine {
    spec: StatesSpec,
    /// Whether switches tell which of their threads are the target's.
    of_target: bool,
    rings: Arc<[RingInfo]>,
    merge: Merge<StateRecord>,
    names: ThreadNames,
    trimmer: StackTrimmer,
    /// Words of states that were met.
    words: Vec<(&'static str, StringId)>,
    /// Functions in which threads block, by address.
    functions: HashMap<u64, StringId>,
    waiting: VecDeque<WaitingRow>,
}

impl StateEngine {
    pub(super) fn new(spec: StatesSpec, of_target: bool, setup: EngineSetup) -> Self {
        Self {
            spec,
            of_target,
            rings: setup.rings,
            merge: Merge::new(RING + 1),
            names: ThreadNames::new(setup.link),
            trimmer: StackTrimmer::new(setup.kernel),
            words: Vec::new(),
            functions: HashMap::new(),
            waiting: VecDeque::new(),
        }
    }

    fn is_own(&self, ring: usize) -> bool {
        self.rings.get(ring).is_some_and(|info| matches!(info.content, RingContent::Stream { .. }))
    }

    /// The row of a record, but for its stack.
    fn row(&mut self, record: &StateRecord, sink: &mut Sink, lookup: &mut Lookup) -> (u16, StateRow) {
        let StateRecord { time_ns, cpu, running, other, .. } = *record;
        let number = |number: u32| Cell::U64(u64::from(number));
        let ended = matches!(record.event, StateEvent::Switch { state: "X" | "Z", .. });
        let name = if ended { ThreadNames::of_ended } else { ThreadNames::of };
        let name = name(&mut self.names, running, cpu, sink, lookup);
        let other_name = self.names.of(other, cpu, sink, lookup);
        let mut row = StateRow::common(time_ns, cpu, [running.pid, running.tid], name);
        let ids = [number(other.pid), number(other.tid), Cell::Text(other_name)];
        match record.event {
            StateEvent::Switch { state, target } => {
                row.cells.push(Cell::Text(self.word(state, sink, lookup)));
                row.cells.extend(ids);
                row.cells.push(Cell::Text(self.blocked_function(record, sink, lookup)));
                if self.of_target {
                    row.cells.push(Cell::Text(target.word().map_or(0, |word| self.word(word, sink, lookup))));
                }
                (SWITCHES, row)
            }
            StateEvent::Wakeup { new, target_cpu } => {
                row.cells.extend(ids);
                row.cells.extend([number(target_cpu), Cell::U64(u64::from(new))]);
                (WAKEUPS, row)
            }
        }
    }

    /// The function in which the thread blocks that is left uninterruptible; 0 for others, and where the kernel tells no functions.
    fn blocked_function(&mut self, record: &StateRecord, sink: &mut Sink, lookup: &mut Lookup) -> StringId {
        let (StateEvent::Switch { state: "D", .. }, Some(stacks)) = (record.event, &record.stacks) else { return 0 };
        let Some(address) = self.trimmer.blocks_at(&stacks.kernel) else { return 0 };
        if let Some(id) = self.functions.get(&address) {
            return *id;
        }
        let function = self.trimmer.function(address);
        let id = function.map_or(0, |function| lookup.history.text(function.as_bytes(), sink.strings()));
        if self.functions.len() >= MAX_FUNCTIONS {
            self.functions.clear();
        }
        self.functions.insert(address, id);
        id
    }

    fn word(&mut self, state: &'static str, sink: &mut Sink, lookup: &mut Lookup) -> StringId {
        if let Some((_, id)) = self.words.iter().find(|(known, _)| *known == state) {
            return *id;
        }
        let id = lookup.history.text(state.as_bytes(), sink.strings());
        self.words.push((state, id));
        id
    }

    /// Places the stack of a row, or has the row wait for what must be found out for that.
    fn place(&mut self, mut waiting: WaitingRow, must: bool, sink: &mut Sink, history: &mut ProcessHistory) {
        match history.place(&mut waiting.sample, must) {
            Ok(placed) => {
                history.answered(&waiting.need);
                waiting.row.cells.push(Cell::Stack(PlacedStack { id: placed.stack, depth: placed.frames.len() }));
                append(waiting.stream, waiting.row, sink, history);
            }
            Err(need) => {
                history.ask(&need);
                waiting.need = need;
                self.waiting.push_back(waiting);
            }
        }
    }

    /// Tries again what waits; what `must` not wait any longer, or has waited long enough, goes as it is.
    fn settle_if(&mut self, must: impl Fn(&Sample) -> bool, sink: &mut Sink, history: &mut ProcessHistory) {
        let now = Instant::now();
        for waiting in std::mem::take(&mut self.waiting) {
            let must = waiting.until <= now || must(&waiting.sample);
            self.place(waiting, must, sink, history);
        }
    }
}

impl Engine for StateEngine {
    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, _lookup: &mut Lookup) {
        if !self.is_own(batch.ring) {
            return;
        }
        let mut undecodable = 0;
        for bytes in batch.records() {
            match StateRecord::read(bytes) {
                Some(record) => {
                    let bytes = size_of::<StateRecord>() + bytes.len();
                    self.merge.push_unordered(RING, record.time_ns, bytes, record);
                }
                None => undecodable += 1,
            }
        }
        // What such a record told of cannot be said; it counts as a switch rather than as nothing.
        if let Some(mut stream) = sink.stream(SWITCHES) {
            stream.undecodable(undecodable);
        }
    }

    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool, _sink: &mut Sink) {
        if self.is_own(ring) {
            self.merge.read(RING, read_ns, to_its_end);
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
        let Some((_, time_ns, record)) = self.merge.pop_any() else { return };
        let (stream, mut row) = self.row(&record, sink, lookup);
        let has_column = if stream == SWITCHES { self.spec.sleep_stacks } else { self.spec.wake_stacks };
        match &record.stacks {
            Some(stacks) if has_column => {
                let sample = self.trimmer.sample(&record, stacks);
                let (until, need) = (Instant::now() + MAX_WAIT, Need::Maps(sample.pid));
                let must = all || self.waiting.len() >= MAX_WAITING;
                let waiting = WaitingRow { time_ns, stream, row, sample, until, need };
                self.place(waiting, must, sink, &mut lookup.history);
            }
            _ => {
                if has_column {
                    row.cells.push(Cell::Stack(PlacedStack { id: 0, depth: 0 }));
                }
                append(stream, row, sink, &lookup.history);
            }
        }
    }

    fn before_exec(&mut self, pid: u32, sink: &mut Sink, lookup: &mut Lookup) {
        // Stacks from before must not be looked up in the memory from after.
        self.settle_if(|sample| sample.pid == pid, sink, &mut lookup.history);
    }

    fn settle(&mut self, all: bool, sink: &mut Sink, lookup: &mut Lookup) {
        self.settle_if(|_| all, sink, &mut lookup.history);
        let waiting_ns = self.waiting.iter().map(|waiting| waiting.time_ns).min().unwrap_or(u64::MAX);
        // Rows wait for the processes that they are of.
        let complete_ns = self.pending_ns().min(waiting_ns).min(lookup.history.complete_ns());
        sink.complete(SWITCHES, complete_ns);
        sink.complete(WAKEUPS, complete_ns);
    }

    fn late(&self) -> u64 {
        self.merge.late()
    }
}

fn append(stream: u16, row: StateRow, sink: &mut Sink, history: &ProcessHistory) {
    let Some(mut out) = sink.stream(stream) else { return };
    out.push(row, 0, |row, start_ns| shown(row, start_ns, history), |id, _strings| id, |stack| stack.id);
}

/// A row as it is shown, before functions have names.
fn shown(row: &StateRow, start_ns: u64, history: &ProcessHistory) -> Vec<ShownCell> {
    let text = |id: &StringId| history.text_of(*id).map(visible);
    row.shown(start_ns, text, |stack| match *stack {
        PlacedStack { id: 0, .. } => ShownCell::Null,
        PlacedStack { id, depth } => ShownCell::Stack { id, top: String::new(), depth },
    })
}

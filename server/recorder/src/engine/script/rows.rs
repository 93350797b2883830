//! The records of a script → rows of its capture; map snapshots when the script asks, every second, and at the end.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, mpsc::SyncSender},
    time::{Duration, Instant},
};

use bathyscope_capture::{Cell, Row, StreamSchema, visible};
use bathyscope_decode::script::{MapRows, Names, Record, ScriptRow, ScriptStack, Snapshot, Symbol, WallTime};
use bathyscope_plan::{Action, Clock, Plan};

use super::{
    map_pace::MapPace,
    streams::{ScriptStreams, SiteStream},
};
use crate::{
    AgentLink,
    clock::monotonic_ns,
    engine::Engine,
    link::words,
    live::{LiveHub, LiveMessage},
    lookup::Lookup,
    process_metadata::lock,
    progress::Progress,
    reader::RecordBatch,
    row::{NewRow, PlacedStack},
    running_script::ScriptState,
    script::{Follower, HostNames, MapSnapshot, ScriptEvent},
    sink::Sink,
};

/// How often it is asked which maps are to be read.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What reading a map is taken to cost where the agent is to be spared: each is read again after ten seconds or more.
const SPARED_COST: Duration = Duration::from_millis(200);
/// The most elements of a map whose snapshots are made without being asked for.
const MAX_UNASKED_ELEMENTS: usize = 4096;
/// The most rows of snapshots that were not asked for, in one capture.
const MAX_UNASKED_ROWS: u64 = 200_000;
/// The most rows of a map that viewers get at a time.
const MAX_LIVE_ROWS: usize = 200;
/// Stacks whose frames are kept in memory; when there are more, all are read again.
const MAX_STACKS: usize = 1 << 17;

/// The CPU time of this thread so far. How long something takes says nothing of its cost where threads wait for processors.
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// What the rows of a script are made with.
pub(crate) struct ScriptSetup {
    pub(crate) plan: Arc<Plan>,
    pub(crate) streams: ScriptStreams,
    pub(crate) follower: Follower,
    pub(crate) link: AgentLink,
    pub(crate) names: HostNames,
    pub(crate) state: Arc<Mutex<ScriptState>>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) hub: LiveHub,
    /// Who gets every event too, in order, such as a terminal.
    pub(crate) tap: Option<SyncSender<ScriptEvent>>,
}

/// Makes rows of a script's records.
pub(crate) struct ScriptRows {
    setup: ScriptSetup,
    /// Snapshots so far, by stream.
    snapshots: HashMap<u16, u64>,
    /// Maps that the script shows or empties itself: their snapshots are the script's to choose.
    own: HashSet<u32>,
    unasked_rows: u64,
    next_look: Instant,
    pace: MapPace,
    stacks: StackCache,
}

/// Frames of stacks, and under which ids they are in the capture.
#[derive(Debug, Default)]
struct StackCache {
    bodies: HashMap<(bool, u64), Vec<u64>>,
    ids: HashMap<(bool, u64, u32), PlacedStack>,
}

impl ScriptRows {
    pub(crate) fn new(setup: ScriptSetup) -> Self {
        let own = setup.plan.sites.iter().filter_map(|site| match site.action {
            Action::PrintMap { map, .. } | Action::Clear { map } | Action::Zero { map } => Some(map),
            _ => None,
        });
        let own = own.collect();
        let now = Instant::now();
        let (next_look, pace) = (now + LOOK_EVERY, MapPace::new(setup.plan.maps.len(), now));
        let stacks = StackCache::default();
        Self { setup, snapshots: HashMap::new(), own, unasked_rows: 0, next_look, pace, stacks }
    }

    /// Tells the tap, with the frames that it will need: by the time it comes to them the agent may have forgotten the script.
    /// `false` if it is gone.
    fn tell(&self, event: ScriptEvent) -> bool {
        let Some(tap) = &self.setup.tap else { return true };
        let mut needed = event.stacks(&self.setup.plan);
        needed.sort_unstable();
        needed.dedup();
        let frames = |stack: &(bool, u64)| Some((*stack, self.stacks.bodies.get(stack)?.clone()));
        let stacks: Vec<_> = needed.iter().filter_map(frames).collect();
        (stacks.is_empty() || tap.send(ScriptEvent::Stacks(stacks)).is_ok()) && tap.send(event).is_ok()
    }

    fn event(&mut self, event: &ScriptEvent, lookup: &mut Lookup, rows: &mut Vec<NewRow>) {
        match event {
            ScriptEvent::Record(record) => self.record(record, lookup, rows),
            ScriptEvent::Map { record, snapshot } => self.asked(record, snapshot, lookup, rows),
            ScriptEvent::Exit { code, .. } => {
                lock(&self.setup.state).exit_code = Some(*code);
                let reason = if *code == 0 {
                    "the script ended itself".to_owned()
                } else {
                    format!("the script ended itself with code {code}")
                };
                self.setup.progress.stop(reason);
            }
            ScriptEvent::Trouble(words) => {
                tracing::warn!(words, "an action that a script asked for failed");
                lock(&self.setup.state).trouble(words.clone());
            }
            ScriptEvent::Stacks(_) | ScriptEvent::Final(_) | ScriptEvent::Emptied { .. } => {}
        }
    }

    fn record(&mut self, record: &Record, lookup: &mut Lookup, rows: &mut Vec<NewRow>) {
        let Some(Some((stream, kind))) = self.setup.streams.sites.get(record.site as usize) else { return };
        let stream = *stream;
        let mut row = match kind {
            SiteStream::Fields(fields) => {
                let names = RowNames { host: &self.setup.names, stacks: &self.stacks, lookup: RefCell::new(lookup) };
                fields.row(record, &self.setup.plan, &names)
            }
            SiteStream::Moments => {
                Row::common(record.time_ns, record.cpu, [record.pid, record.tid], record.comm.clone())
            }
            SiteStream::Element => return,
        };
        if self.setup.streams.of_no_thread.get(record.site as usize) == Some(&true) {
            forget_thread(&mut row);
        }
        self.finish_rows(stream, vec![row], lookup, rows);
    }

    /// A map that a record asked for, or one element of it.
    fn asked(&mut self, record: &Record, snapshot: &MapSnapshot, lookup: &mut Lookup, rows: &mut Vec<NewRow>) {
        let element = match self.setup.streams.sites.get(record.site as usize) {
            Some(Some((stream, SiteStream::Element))) => Some(*stream),
            _ => None,
        };
        let stream = element.or_else(|| self.setup.streams.maps.get(snapshot.map as usize).map(|(stream, _)| *stream));
        if let Some(stream) = stream {
            self.snapshot_rows(stream, snapshot, lookup, rows);
        }
    }

    fn snapshot_rows(&mut self, stream: u16, snapshot: &MapSnapshot, lookup: &mut Lookup, rows: &mut Vec<NewRow>) {
        let number = self.snapshots.entry(stream).or_insert(0);
        *number += 1;
        let number = *number;
        let made = self.rows_of(snapshot, number, lookup);
        self.finish_rows(stream, made, lookup, rows);
    }

    fn rows_of(&mut self, snapshot: &MapSnapshot, number: u64, lookup: &mut Lookup) -> Vec<ScriptRow> {
        let plan = Arc::clone(&self.setup.plan);
        let (Some(map), Some((_, layout))) =
            (plan.maps.get(snapshot.map as usize), self.setup.streams.maps.get(snapshot.map as usize))
        else {
            return Vec::new();
        };
        let read = match Snapshot::read(map, snapshot.elements()) {
            Ok(read) => read,
            Err(error) => {
                lock(&self.setup.state).trouble(format!("{}: {error}", map.name));
                return Vec::new();
            }
        };
        if read.faulty > 0 {
            let words = format!("{}: its elements have another size than planned", map.name);
            lock(&self.setup.state).trouble(words);
        }
        let names = RowNames { host: &self.setup.names, stacks: &self.stacks, lookup: RefCell::new(lookup) };
        MapRows::rows(layout, map, &read, (number, snapshot.time_ns), &plan, &names)
    }

    /// Looks up the stacks of rows and adds the rows to `out`.
    fn finish_rows(&mut self, stream: u16, rows: Vec<ScriptRow>, lookup: &mut Lookup, out: &mut Vec<NewRow>) {
        self.load_stacks(&rows);
        for row in rows {
            let cell = |cell: Cell<_, ScriptStack>| cell.with_stack(|stack| self.stacks.place(stack, lookup));
            out.push(NewRow { stream, row: Row { cells: row.cells.into_iter().map(cell).collect() } });
        }
    }

    /// Asks for the frames of all stacks that are not known, at once.
    fn load_stacks(&mut self, rows: &[ScriptRow]) {
        if self.stacks.bodies.len() > MAX_STACKS {
            self.stacks.bodies.clear();
        }
        for user in [false, true] {
            let ids = rows.iter().flat_map(|row| &row.cells).filter_map(|cell| match cell {
                Cell::Stack(stack) if stack.user == user && stack.id != 0 => Some(stack.id),
                _ => None,
            });
            let unknown: HashSet<u64> = ids.filter(|id| !self.stacks.bodies.contains_key(&(user, *id))).collect();
            if unknown.is_empty() {
                continue;
            }
            let ids: Vec<u64> = unknown.into_iter().collect();
            match self.setup.follower.stacks(user, ids, &mut self.setup.link.clone()) {
                Ok(found) => {
                    self.stacks.bodies.extend(found.into_iter().map(|(id, frames)| ((user, id), frames)));
                }
                Err(error) => lock(&self.setup.state).trouble(format!("stacks cannot be read: {}", words(&error))),
            }
        }
    }

    /// Gives how many elements it has.
    fn unasked(&mut self, map: u32, keep: bool, sink: &Sink, lookup: &mut Lookup, rows: &mut Vec<NewRow>) -> usize {
        let snapshot = self.setup.follower.snapshot(map, monotonic_ns(), &mut self.setup.link.clone());
        let Ok(snapshot) =
            snapshot.inspect_err(|error| tracing::debug!(map, error = words(error), "a map is not shown"))
        else {
            return 0;
        };
        let elements = snapshot.elements.len();
        let Some(stream) = self.setup.streams.maps.get(map as usize).map(|(stream, _)| *stream) else {
            return elements;
        };
        // Making rows of a large map is not worth what it costs; it is done at the end.
        if elements > MAX_UNASKED_ELEMENTS {
            return elements;
        }
        let mut made = Vec::new();
        if keep {
            self.snapshot_rows(stream, &snapshot, lookup, &mut made);
        } else {
            let rows = self.rows_of(&snapshot, 0, lookup);
            self.finish_rows(stream, rows, lookup, &mut made);
        }
        if self.setup.hub.has_viewers() && !made.is_empty() {
            // The greatest are last.
            let skipped = made.len().saturating_sub(MAX_LIVE_ROWS);
            let shown = made.iter().skip(skipped).map(|row| row.shown(sink.start_ns())).collect();
            let stream = sink.number_of(stream);
            self.setup.hub.send(LiveMessage::Map { stream, rows: shown, not_shown: skipped as u64 });
        }
        if keep {
            rows.append(&mut made);
        }
        elements
    }
}

impl Engine for ScriptRows {
    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, lookup: &mut Lookup) {
        let before = self.setup.follower.undecodable();
        let mut events = Vec::new();
        let mut link = self.setup.link.clone();
        for record in batch.records() {
            self.setup.follower.follow(record, &mut link, &mut |event| events.push(event));
        }
        let mut rows = Vec::new();
        for event in events {
            self.event(&event, lookup, &mut rows);
            if !self.tell(event) {
                self.setup.progress.stop("its reader went away".to_owned());
                self.setup.tap = None;
            }
        }
        lock(&self.setup.state).after_exit = self.setup.follower.after_exit();
        sink.undecodable(self.setup.follower.undecodable() - before, sink.read_ns(), sink.read_ns());
        sink.push(rows);
    }

    fn ring_read(&mut self, _ring: usize, read_ns: u64, to_its_end: bool, sink: &mut Sink) {
        for stream in (0_u16..).take(self.setup.streams.schemas.len()) {
            sink.ring_read(stream, read_ns, to_its_end);
        }
    }

    /// Maps that the script does not show itself are kept as they are, and viewers see all. How often depends on what it
    /// costs: see [`MapPace`].
    fn tick(&mut self, sink: &mut Sink, lookup: &mut Lookup) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        let watched = self.setup.hub.has_viewers();
        let (mut rows, mut read) = (Vec::new(), false);
        for map in 0..u32::try_from(self.setup.plan.maps.len()).unwrap_or(0) {
            let keep = !self.own.contains(&map) && self.unasked_rows < MAX_UNASKED_ROWS;
            if !self.pace.is_due(map, Instant::now(), watched, keep) {
                continue;
            }
            let cpu_before = thread_cpu_time();
            let elements = self.unasked(map, keep, sink, lookup, &mut rows);
            let large = elements > MAX_UNASKED_ELEMENTS;
            // The agent's part, copying what is made rows here, is the smaller one.
            let cost = 2 * thread_cpu_time().saturating_sub(cpu_before);
            let cost = if lock(&self.setup.state).spared { cost.max(SPARED_COST) } else { cost };
            self.pace.was_read(map, Instant::now(), cost, elements as u64, large);
            read = true;
        }
        if read {
            let name = |index: usize| {
                self.setup.plan.maps.get(index).map_or(String::new(), |map| visible(map.name.as_bytes()))
            };
            lock(&self.setup.state).maps = self.pace.ticks(name);
        }
        self.unasked_rows += rows.len() as u64;
        self.next_look = Instant::now() + LOOK_EVERY;
        sink.push(rows);
    }

    /// All maps as they are at the end.
    fn finish(&mut self, sink: &mut Sink, lookup: &mut Lookup) {
        let mut rows = Vec::new();
        for map in 0..u32::try_from(self.setup.plan.maps.len()).unwrap_or(0) {
            match self.setup.follower.snapshot(map, monotonic_ns(), &mut self.setup.link.clone()) {
                Ok(snapshot) => {
                    if let Some(stream) = self.setup.streams.maps.get(map as usize).map(|(stream, _)| *stream) {
                        self.snapshot_rows(stream, &snapshot, lookup, &mut rows);
                    }
                    if self.setup.plan.config.print_maps_on_exit {
                        // Whoever listened may be gone; nothing is left to be ended.
                        let _gone = self.tell(ScriptEvent::Final(snapshot));
                    }
                }
                Err(error) => {
                    let name = self.setup.plan.maps.get(map as usize).map_or("a map", |map| map.name.as_str());
                    lock(&self.setup.state).trouble(format!("{name} cannot be read: {}", words(&error)));
                }
            }
        }
        sink.push(rows);
    }
}

/// A timer fires in whatever thread runs at that moment: the row is not that thread's.
fn forget_thread(row: &mut ScriptRow) {
    let none = [Cell::U64(0), Cell::U64(0), Cell::Text(Vec::new())];
    row.cells.iter_mut().skip(StreamSchema::PID).zip(none).for_each(|(cell, none)| *cell = none);
}

impl StackCache {
    /// The stack's id in the capture, and how many frames it has.
    fn place(&mut self, stack: ScriptStack, lookup: &mut Lookup) -> PlacedStack {
        let ScriptStack { user, id, pid } = stack;
        if let Some(known) = self.ids.get(&(user, id, pid)) {
            return *known;
        }
        let Some(frames) = self.bodies.get(&(user, id)) else { return PlacedStack { id: 0, depth: 0 } };
        let placed = PlacedStack { id: lookup.place_stack(user, pid, frames), depth: frames.len() };
        if self.ids.len() < MAX_STACKS {
            self.ids.insert((user, id, pid), placed);
        }
        placed
    }
}

/// Names while a row is made.
struct RowNames<'a> {
    host: &'a HostNames,
    stacks: &'a StackCache,
    lookup: RefCell<&'a mut Lookup>,
}

impl Names for RowNames<'_> {
    fn kernel_symbol(&self, address: u64) -> Option<Symbol> {
        self.host.kernel_symbol(address)
    }

    fn user_symbol(&self, pid: u32, address: u64) -> Option<Symbol> {
        self.lookup.borrow_mut().user_symbol(pid, address)
    }

    fn process_name(&self, pid: u32) -> Option<String> {
        self.lookup.borrow_mut().process_name(pid)
    }

    fn user_name(&self, uid: u32) -> Option<String> {
        self.host.user_name(uid)
    }

    fn cgroup_path(&self, id: u64, filter: &str) -> Option<String> {
        self.host.cgroup_path(id, filter)
    }

    fn stack(&self, user: bool, id: u64) -> Option<Vec<u64>> {
        self.stacks.bodies.get(&(user, id)).cloned()
    }

    fn wall_time(&self, clock: Clock, ns: u64) -> Option<WallTime> {
        self.host.wall_time(clock, ns)
    }
}

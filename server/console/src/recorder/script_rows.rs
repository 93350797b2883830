//! The records of a script → rows of its capture; map snapshots when the script asks, every second, and at the end.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, mpsc::SyncSender},
    time::{Duration, Instant},
};

use bathyscope_capture::{
    Batch, Cell as Shown, ColumnData, StackId, StreamSchema, StringDictionary, cut_text, visible,
};
use bathyscope_decode::script::{Cell, MapRows, Names, Record, Snapshot, Symbol, WallTime};
use bathyscope_plan::{Action, Clock, Plan};
use bathyscope_symbols::{FileOptions, FileResolver, Place};

use super::{
    AgentLink,
    clock::monotonic_ns,
    link::words,
    live::{LiveHub, LiveMessage, MapTick},
    map_pace::MapPace,
    mappings::FileKey,
    process_metadata::lock,
    progress::Progress,
    reader::RecordBatch,
    samples::Samples,
    script_streams::{ScriptStreams, SiteStream},
};
use crate::script::{Follower, HostNames, MapSnapshot, ProcessNames, ScriptEvent};

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
/// Longer texts are cut: the store takes 64 KiB.
const MAX_TEXT_BYTES: usize = 60 << 10;
/// Stacks whose frames are kept in memory; when there are more, all are read again.
const MAX_STACKS: usize = 1 << 17;
/// The largest file whose symbols are read while a script runs.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// The most troubles that are told.
const MAX_TROUBLES: usize = 20;

/// What a script's threads tell its controller.
#[derive(Debug, Default)]
pub(crate) struct ScriptState {
    /// What `exit()` said.
    pub(crate) exit_code: Option<i64>,
    /// Records that came after `exit()`.
    pub(crate) after_exit: u64,
    /// What could not be done, the first few.
    pub(crate) troubles: Vec<String>,
    /// What reading maps costs.
    pub(crate) maps: Vec<MapTick>,
    /// Maps are read far more rarely, to spare the agent.
    pub(crate) spared: bool,
}

impl ScriptState {
    pub(crate) fn trouble(&mut self, words: String) {
        if self.troubles.len() < MAX_TROUBLES && !self.troubles.contains(&words) {
            self.troubles.push(words);
        }
    }
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

/// A row of one of the streams.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) stream: u16,
    cells: Vec<RowCell>,
}

/// A cell of a row.
#[derive(Debug)]
pub(crate) enum RowCell {
    Unsigned(u64),
    Signed(i64),
    Text(Vec<u8>),
    Stack {
        id: StackId,
        depth: usize,
    },
    /// No text.
    Null,
}

impl NewRow {
    /// A row with these cells, in the order of the stream's columns.
    pub(crate) fn new(stream: u16, cells: Vec<RowCell>) -> Self {
        Self { stream, cells }
    }

    /// Adds the cells of further columns.
    pub(super) fn extend(&mut self, cells: impl IntoIterator<Item = RowCell>) {
        self.cells.extend(cells);
    }

    /// The number in a column, if one without a sign is there.
    pub(crate) fn number(&self, column: usize) -> Option<u64> {
        match self.cells.get(column) {
            Some(RowCell::Unsigned(number)) => Some(*number),
            _ => None,
        }
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |cell: &RowCell| if let RowCell::Text(text) = cell { text.len() } else { 0 };
        16 * self.cells.len() + self.cells.iter().map(text).sum::<usize>()
    }

    pub(crate) fn time_ns(&self) -> u64 {
        match self.cells.first() {
            Some(RowCell::Unsigned(time_ns)) => *time_ns,
            _ => 0,
        }
    }

    /// As viewers get it.
    pub(crate) fn shown(&self, origin_ns: u64) -> Vec<Shown> {
        let cell = |(index, cell): (usize, &RowCell)| match cell {
            RowCell::Unsigned(time_ns) if index == StreamSchema::TIME => {
                Shown::Number(i128::from(*time_ns) - i128::from(origin_ns))
            }
            RowCell::Unsigned(value) => Shown::Number(i128::from(*value)),
            RowCell::Signed(value) => Shown::Number(i128::from(*value)),
            RowCell::Text(text) => Shown::Text(visible(text)),
            RowCell::Null | RowCell::Stack { id: 0, .. } => Shown::Null,
            RowCell::Stack { id, depth } => Shown::Stack { id: *id, top: String::new(), depth: *depth },
        };
        self.cells.iter().enumerate().map(cell).collect()
    }

    /// Appends it; `false` if it does not have the stream's columns, and then nothing is appended.
    pub(crate) fn push(self, batch: &mut Batch, strings: &mut StringDictionary) -> bool {
        let fits = |(cell, column): (&RowCell, &ColumnData)| {
            matches!(
                (cell, column),
                (RowCell::Unsigned(_), ColumnData::U64(_))
                    | (RowCell::Signed(_), ColumnData::I64(_))
                    | (RowCell::Text(_) | RowCell::Stack { .. } | RowCell::Null, ColumnData::Id(_))
            )
        };
        if self.cells.len() != batch.columns.len() || !self.cells.iter().zip(&batch.columns).all(fits) {
            return false;
        }
        for (cell, column) in self.cells.into_iter().zip(&mut batch.columns) {
            match (cell, column) {
                (RowCell::Unsigned(value), ColumnData::U64(values)) => values.push(value),
                (RowCell::Signed(value), ColumnData::I64(values)) => values.push(value),
                (RowCell::Text(text), ColumnData::Id(ids)) => ids.push(strings.id(&cut_text(&text, MAX_TEXT_BYTES))),
                (RowCell::Stack { id, .. }, ColumnData::Id(ids)) => ids.push(id),
                (RowCell::Null, ColumnData::Id(ids)) => ids.push(0),
                // All fit: see above.
                _ => {}
            }
        }
        true
    }
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
    ids: HashMap<(bool, u64, u32), (StackId, usize)>,
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

    /// Follows the records of a batch; gives the rows, and how many records made no sense.
    pub(crate) fn take(&mut self, batch: &RecordBatch, look: &mut Lookup) -> (Vec<NewRow>, u64) {
        let before = self.setup.follower.undecodable();
        let mut events = Vec::new();
        let mut link = self.setup.link.clone();
        for record in batch.records() {
            self.setup.follower.follow(record, &mut link, &mut |event| events.push(event));
        }
        let mut rows = Vec::new();
        for event in events {
            self.event(&event, look, &mut rows);
            if !self.tell(event) {
                self.setup.progress.stop("its reader went away".to_owned());
                self.setup.tap = None;
            }
        }
        let mut state = lock(&self.setup.state);
        state.after_exit = self.setup.follower.after_exit();
        (rows, self.setup.follower.undecodable() - before)
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

    fn event(&mut self, event: &ScriptEvent, look: &mut Lookup, rows: &mut Vec<NewRow>) {
        match event {
            ScriptEvent::Record(record) => self.record(record, look, rows),
            ScriptEvent::Map { record, snapshot } => self.asked(record, snapshot, look, rows),
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

    fn record(&mut self, record: &Record, look: &mut Lookup, rows: &mut Vec<NewRow>) {
        let Some(Some((stream, kind))) = self.setup.streams.sites.get(record.site as usize) else { return };
        let stream = *stream;
        let mut cells = match kind {
            SiteStream::Fields(fields) => {
                let names = RowNames { host: &self.setup.names, stacks: &self.stacks, look: RefCell::new(look) };
                fields.row(record, &self.setup.plan, &names)
            }
            SiteStream::Moments => vec![
                Cell::U64(record.time_ns),
                Cell::U64(u64::from(record.cpu)),
                Cell::U64(u64::from(record.pid)),
                Cell::U64(u64::from(record.tid)),
                Cell::Text(record.comm.clone()),
            ],
            SiteStream::Element => return,
        };
        if self.setup.streams.of_no_thread.get(record.site as usize) == Some(&true) {
            forget_thread(&mut cells);
        }
        let mut cells = vec![cells];
        self.finish_rows(stream, &mut cells, look, rows);
    }

    /// A map that a record asked for, or one element of it.
    fn asked(&mut self, record: &Record, snapshot: &MapSnapshot, look: &mut Lookup, rows: &mut Vec<NewRow>) {
        let element = match self.setup.streams.sites.get(record.site as usize) {
            Some(Some((stream, SiteStream::Element))) => Some(*stream),
            _ => None,
        };
        let stream = element.or_else(|| self.setup.streams.maps.get(snapshot.map as usize).map(|(stream, _)| *stream));
        if let Some(stream) = stream {
            self.snapshot_rows(stream, snapshot, look, rows);
        }
    }

    fn snapshot_rows(&mut self, stream: u16, snapshot: &MapSnapshot, look: &mut Lookup, rows: &mut Vec<NewRow>) {
        let number = self.snapshots.entry(stream).or_insert(0);
        *number += 1;
        let number = *number;
        let mut cells = self.cells_of(snapshot, number, look);
        self.finish_rows(stream, &mut cells, look, rows);
    }

    fn cells_of(&mut self, snapshot: &MapSnapshot, number: u64, look: &mut Lookup) -> Vec<Vec<Cell>> {
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
        let names = RowNames { host: &self.setup.names, stacks: &self.stacks, look: RefCell::new(look) };
        MapRows::rows(layout, map, &read, (number, snapshot.time_ns), &plan, &names)
    }

    /// Looks up the stacks of rows and adds the rows to `out`.
    fn finish_rows(&mut self, stream: u16, cells: &mut Vec<Vec<Cell>>, look: &mut Lookup, out: &mut Vec<NewRow>) {
        self.load_stacks(cells);
        for row in cells.drain(..) {
            let cell = |cell| match cell {
                Cell::U64(value) => RowCell::Unsigned(value),
                Cell::I64(value) => RowCell::Signed(value),
                Cell::Text(text) => RowCell::Text(text),
                Cell::Stack { user, id, pid } => {
                    let (id, depth) = self.stacks.place(user, id, pid, look, &self.setup.link);
                    RowCell::Stack { id, depth }
                }
            };
            out.push(NewRow { stream, cells: row.into_iter().map(cell).collect() });
        }
    }

    /// Asks for the frames of all stacks that are not known, at once.
    fn load_stacks(&mut self, rows: &[Vec<Cell>]) {
        if self.stacks.bodies.len() > MAX_STACKS {
            self.stacks.bodies.clear();
        }
        for user in [false, true] {
            let ids = rows.iter().flatten().filter_map(|cell| match cell {
                Cell::Stack { user: of, id, .. } if *of == user && *id != 0 => Some(*id),
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

    /// From time to time: maps that the script does not show itself are kept as they are, and viewers see all. How often
    /// depends on what it costs: see [`MapPace`].
    pub(crate) fn tick(&mut self, look: &mut Lookup, origin_ns: u64) -> Vec<NewRow> {
        let now = Instant::now();
        if now < self.next_look {
            return Vec::new();
        }
        let watched = self.setup.hub.has_viewers();
        let (mut rows, mut read) = (Vec::new(), false);
        for map in 0..u32::try_from(self.setup.plan.maps.len()).unwrap_or(0) {
            let keep = !self.own.contains(&map) && self.unasked_rows < MAX_UNASKED_ROWS;
            let clock = Instant::now();
            if !self.pace.is_due(map, clock, watched, keep) {
                continue;
            }
            let elements = self.unasked(map, keep, look, origin_ns, &mut rows);
            let large = elements > MAX_UNASKED_ELEMENTS;
            let cost = clock.elapsed();
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
        rows
    }

    /// Gives how many elements it has.
    fn unasked(&mut self, map: u32, keep: bool, look: &mut Lookup, origin_ns: u64, rows: &mut Vec<NewRow>) -> usize {
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
            self.snapshot_rows(stream, &snapshot, look, &mut made);
        } else {
            let mut cells = self.cells_of(&snapshot, 0, look);
            self.finish_rows(stream, &mut cells, look, &mut made);
        }
        if self.setup.hub.has_viewers() && !made.is_empty() {
            // The greatest are last.
            let skipped = made.len().saturating_sub(MAX_LIVE_ROWS);
            let shown = made.iter().skip(skipped).map(|row| row.shown(origin_ns)).collect();
            self.setup.hub.send(LiveMessage::Map { stream, rows: shown, not_shown: skipped as u64 });
        }
        if keep {
            rows.append(&mut made);
        }
        elements
    }

    /// All maps as they are at the end, when everything is detached.
    pub(crate) fn finish(&mut self, look: &mut Lookup) -> Vec<NewRow> {
        let mut rows = Vec::new();
        for map in 0..u32::try_from(self.setup.plan.maps.len()).unwrap_or(0) {
            match self.setup.follower.snapshot(map, monotonic_ns(), &mut self.setup.link.clone()) {
                Ok(snapshot) => {
                    if let Some(stream) = self.setup.streams.maps.get(map as usize).map(|(stream, _)| *stream) {
                        self.snapshot_rows(stream, &snapshot, look, &mut rows);
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
        rows
    }
}

/// A timer fires in whatever thread runs at that moment: the row is not that thread's.
fn forget_thread(cells: &mut [Cell]) {
    for (cell, none) in
        cells.iter_mut().skip(StreamSchema::PID).zip([Cell::U64(0), Cell::U64(0), Cell::Text(Vec::new())])
    {
        *cell = none;
    }
}

impl StackCache {
    /// The stack's id in the capture, and how many frames it has.
    fn place(&mut self, user: bool, id: u64, pid: u32, look: &mut Lookup, link: &AgentLink) -> (StackId, usize) {
        if let Some(known) = self.ids.get(&(user, id, pid)) {
            return *known;
        }
        let Some(frames) = self.bodies.get(&(user, id)) else { return (0, 0) };
        let placed = (look.samples.place_stack(user, pid, frames, link), frames.len());
        if self.ids.len() < MAX_STACKS {
            self.ids.insert((user, id, pid), placed);
        }
        placed
    }
}

/// The most addresses whose names are kept.
const MAX_NAMES: usize = 1 << 16;

/// Where addresses in processes are looked up. It cannot leave its thread.
pub(crate) struct Lookup {
    pub(crate) samples: Samples,
    link: AgentLink,
    files: FileResolver,
    names: HashMap<(u32, u64), Option<Symbol>>,
    processes: ProcessNames,
}

impl Lookup {
    pub(crate) fn new(samples: Samples, link: AgentLink, private_dir: PathBuf) -> Self {
        let options = FileOptions { private_dir, max_file_bytes: MAX_FILE_BYTES };
        let files = FileResolver::new(options, rustix::process::geteuid().as_raw());
        Self { samples, link, files, names: HashMap::new(), processes: ProcessNames::default() }
    }

    /// The function of a process that an address lies in.
    pub(crate) fn user_symbol(&mut self, pid: u32, address: u64) -> Option<Symbol> {
        if let Some(known) = self.names.get(&(pid, address)) {
            return known.clone();
        }
        let found = self.find(pid, address);
        if self.names.len() >= MAX_NAMES {
            self.names.clear();
        }
        self.names.insert((pid, address), found.clone());
        found
    }

    fn find(&mut self, pid: u32, address: u64) -> Option<Symbol> {
        let (file, mapped) = self.samples.file_at(pid, address, &self.link)?;
        let place = Place { offset: mapped.offset, is_return: false };
        let build_id: &[u8] = if let FileKey::BuildId(id) = &mapped.key { id } else { &[] };
        let symbols = self.files.resolve(&file, build_id, &[place]);
        let symbols = symbols.inspect_err(|error| tracing::debug!(error = words(error), "a file gives no names"));
        let symbol = symbols.ok()?.into_iter().next().flatten()?;
        let module = String::from_utf8_lossy(&mapped.name).into_owned();
        Some(Symbol { name: symbol.function, offset: symbol.offset, module })
    }
}

/// Names while a row is made.
struct RowNames<'a> {
    host: &'a HostNames,
    stacks: &'a StackCache,
    look: RefCell<&'a mut Lookup>,
}

impl Names for RowNames<'_> {
    fn kernel_symbol(&self, address: u64) -> Option<Symbol> {
        self.host.kernel_symbol(address)
    }

    fn user_symbol(&self, pid: u32, address: u64) -> Option<Symbol> {
        self.look.borrow_mut().user_symbol(pid, address)
    }

    fn build_id(&self, _pid: u32, _address: u64) -> Option<(Vec<u8>, u64)> {
        None
    }

    fn process_name(&self, pid: u32) -> Option<String> {
        let look = &mut **self.look.borrow_mut();
        look.processes.name(pid, &look.link).or_else(|| look.samples.process_name(pid))
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

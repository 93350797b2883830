//! What comes through perf rings: samples and the process history, in order of time over all rings.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, mpsc::SyncSender},
    time::{Duration, Instant},
};

use bathyscope_capture::{
    Cell, Frame, FrameId, Mapping, MappingId, ProcessChange, ProcessChangeKind, Stack, StackId, StreamSchema,
    StringDictionary, StringId, visible,
};
use bathyscope_decode::perf::{CopiedStack, PerfEvent, PerfFormat, PerfRecord, Sample, parse_record};
use bathyscope_protocol::{ProcessFile, RingContent, RingInfo};
use bathyscope_symbols::{FileResolver, ProcessMaps};

use super::{
    AgentLink,
    by_name::open_by_name,
    chunks::ChunkBuilder,
    data_areas::{DataAreas, KERNEL_HALF, Unread},
    frames::{Frames, MappedPlace, Need, Wish},
    ledger::LossAccounting,
    mappings::{FileKey, Processes},
    merge::Merge,
    naming::{NamingWork, kernel_symbol},
    perf_format::perf_format,
    process_metadata::{MAX_MAPS_BYTES, MetadataRequest, MetadataResponse, lock, read_some},
    reader::RecordBatch,
    sample_rows::{self, SourceWords, Value},
};

/// How long a sample waits for what must be found out about its process.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// How much is found out for one stack that cannot wait.
const MAX_ASKED_AT_ONCE: usize = 64;
/// The most samples that wait.
const MAX_WAITING: usize = 4096;
/// The most addresses of the kernel outside of stacks that get a name.
const MAX_NOTED: usize = 1 << 16;
/// The most that is read of what the kernel says about a thread.
const MAX_STATUS_BYTES: u64 = 4096;
/// The most of them whose stack was copied, which can be 64 KiB each.
const MAX_WAITING_COPIES: usize = 512;
/// Facts that wait until the records from before them were handled.
const MAX_EARLY_FACTS: usize = 1 << 15;

struct Waiting {
    time_ns: u64,
    sample: Sample,
    name: StringId,
    until: Instant,
    need: Need,
}

type MakeCells<'a> = dyn Fn(u64) -> Vec<Cell> + 'a;
/// Is shown a row of a sample (0) or of a branch (1).
pub(crate) type ShowRow<'a> = dyn FnMut(u16, &MakeCells<'_>) + 'a;

/// Where rows go.
pub(crate) struct Out<'a> {
    /// Those of samples.
    pub(crate) rows: Option<&'a mut ChunkBuilder>,
    /// Those of their branches.
    pub(crate) branches: Option<&'a mut ChunkBuilder>,
    pub(crate) strings: &'a mut StringDictionary,
    /// Is shown each row.
    pub(crate) row: &'a mut ShowRow<'a>,
}

/// What became of the addresses of a sample.
struct Placed {
    stack: StackId,
    frames: Vec<FrameId>,
    /// What the data lies in.
    mapping: Option<Arc<[u8]>>,
    /// From and to of each branch.
    branches: Vec<(StackId, StackId)>,
}

/// Decodes perf rings.
pub(crate) struct Samples {
    /// The stream that samples belong to; none if the rings hold only the side band.
    stream: Option<u16>,
    /// Whether it matters what processes map.
    maps: bool,
    formats: Vec<Option<(PerfFormat, RingContent)>>,
    merge: Merge<PerfEvent>,
    /// The events that are sampled, if there are several: the rings of a CPU are theirs in turn.
    events: Vec<String>,
    /// Perf rings have other numbers in the merge than among all rings.
    merged: Vec<Option<usize>>,
    processes: Processes,
    /// What data lies in; only followed where samples tell addresses of data.
    data: Option<DataAreas>,
    sources: SourceWords,
    /// Samples that have a number, by which their branches find them.
    numbered: u64,
    frames: Frames,
    /// Addresses of the kernel that have a frame though they are in no stack.
    noted: HashSet<u64>,
    waiting: VecDeque<Waiting>,
    early: VecDeque<MetadataResponse>,
    asked: HashSet<Need>,
    requests: VecDeque<MetadataRequest>,
    changes: Vec<ProcessChange>,
    texts: HashMap<StringId, Box<[u8]>>,
    malformed: u64,
    throttled: u64,
}

impl Samples {
    /// For the perf rings among `rings`; others are left alone.
    /// With `maps` what processes map is followed even if there are no samples, for stacks that come otherwise.
    pub(crate) fn new(rings: &[RingInfo], frames: Frames, maps: bool) -> Self {
        let mut count = 0;
        let mut merged = Vec::new();
        let mut formats = Vec::new();
        for ring in rings {
            let format = perf_format(ring.kind);
            merged.push(format.map(|_| count));
            count += usize::from(format.is_some());
            formats.push(format.map(|format| (format, ring.content)));
        }
        let of_stream = |format: &Option<(PerfFormat, RingContent)>| match format {
            Some((_, RingContent::Stream { stream })) => Some(*stream),
            _ => None,
        };
        let has_memory = formats.iter().flatten().any(|(format, _)| format.has_memory());
        let data = has_memory.then(DataAreas::default);
        Self {
            stream: formats.iter().find_map(of_stream),
            maps: maps || formats.iter().any(|format| of_stream(format).is_some()),
            formats,
            events: Vec::new(),
            merge: Merge::new(count),
            merged,
            processes: Processes::default(),
            data,
            sources: SourceWords::default(),
            numbered: 0,
            frames,
            noted: HashSet::new(),
            waiting: VecDeque::new(),
            early: VecDeque::new(),
            asked: HashSet::new(),
            requests: VecDeque::new(),
            changes: Vec::new(),
            texts: HashMap::new(),
            malformed: 0,
            throttled: 0,
        }
    }

    /// The same of several events, whose name each sample tells.
    pub(crate) fn of_events(self, events: Vec<String>) -> Self {
        Self { events, ..self }
    }

    pub(crate) fn stream(&self) -> Option<u16> {
        self.stream
    }

    /// Whether samples were to tell of memory, and none knew anything.
    pub(crate) fn is_memory_untold(&self) -> bool {
        self.sources.says_nothing()
    }

    pub(crate) fn late(&self) -> u64 {
        self.merge.late()
    }

    /// No sample from before this moment will become a row any more.
    pub(crate) fn complete_ns(&self) -> u64 {
        let waiting = self.waiting.iter().map(|waiting| waiting.time_ns).min().unwrap_or(u64::MAX);
        self.merge.complete_ns().min(waiting)
    }

    pub(crate) fn read(&mut self, ring: usize, read_ns: u64, to_its_end: bool) {
        if let Some(Some(ring)) = self.merged.get(ring) {
            self.merge.read(*ring, read_ns, to_its_end);
        }
    }

    /// Takes records of a perf ring.
    pub(crate) fn take(&mut self, batch: &RecordBatch, accounting: &Mutex<LossAccounting>) {
        let Some(Some((format, content))) = self.formats.get(batch.ring).copied() else { return };
        let Some(Some(ring)) = self.merged.get(batch.ring).copied() else { return };
        for bytes in batch.records() {
            let Ok(PerfRecord { time_ns, mut event }) = parse_record(bytes, format) else {
                self.malformed(content, accounting, self.merge.last_ns(ring));
                continue;
            };
            match &mut event {
                PerfEvent::Sample(sample) => sample.event = ring.checked_rem(self.events.len()).unwrap_or(0),
                PerfEvent::Lost { count } => {
                    let since_ns = self.merge.last_ns(ring);
                    if let RingContent::Stream { stream } = content {
                        lock(accounting).ring_lost(stream, *count, since_ns, time_ns.unwrap_or(since_ns));
                    } else {
                        tracing::warn!(count, "changes of processes were lost; some stacks may have no names");
                    }
                }
                // Opened before its turn comes: the process may end soon.
                PerfEvent::Map(map) if self.maps && map.executable => {
                    if let bathyscope_decode::perf::MapFile::BuildId(id) = &map.file {
                        self.frames.seen(&FileKey::BuildId(id.clone()), map.pid, (map.start, map.end), &map.name);
                    }
                }
                PerfEvent::Throttle { begins: true } => self.throttled += 1,
                _ => {}
            }
            self.merge.push(ring, time_ns, bytes.len() + size_of::<PerfEvent>(), event);
        }
    }

    fn malformed(&mut self, content: RingContent, accounting: &Mutex<LossAccounting>, at_ns: u64) {
        self.malformed += 1;
        // What kind of record it was cannot be told; it counts as a sample rather than as nothing.
        if let RingContent::Stream { stream } = content {
            lock(accounting).lost(stream, bathyscope_capture::LossStage::Decode, 1, at_ns, at_ns);
        }
    }

    /// Notes what the metadata thread found out; it takes effect when all records from before were handled.
    pub(crate) fn learn(&mut self, fact: MetadataResponse, strings: &mut StringDictionary) {
        if self.early.len() < MAX_EARLY_FACTS {
            self.early.push_back(fact);
        }
        self.apply_facts(strings, false);
    }

    /// Lets what the metadata thread found out take effect, as far as its time has come.
    pub(crate) fn apply_facts(&mut self, strings: &mut StringDictionary, all: bool) {
        let complete_ns = if all { u64::MAX } else { self.merge.complete_ns() };
        for _ in 0..self.early.len() {
            match self.early.pop_front() {
                Some(MetadataResponse::BuildId { device, inode, build_id }) => {
                    self.frames.learn_build_id(device, inode, build_id)
                }
                Some(MetadataResponse::Unopened { key }) => self.frames.forget(&key),
                Some(MetadataResponse::Process { pid, name, maps, asked_maps, read_ns }) if read_ns <= complete_ns => {
                    if let Some(name) = name {
                        self.existing(pid, &name, strings);
                    }
                    match maps {
                        Some(maps) => self.snapshot(pid, maps),
                        None if asked_maps => self.give_up(pid),
                        None => {}
                    }
                }
                Some(later) => self.early.push_back(later),
                None => {}
            }
        }
    }

    /// What a process has mapped was read.
    fn snapshot(&mut self, pid: u32, maps: ProcessMaps) {
        if let Some(data) = &mut self.data {
            data.snapshot(pid, &maps);
        }
        self.processes.snapshot(pid, maps);
    }

    /// What a process has mapped cannot be read.
    fn give_up(&mut self, pid: u32) {
        if let Some(data) = &mut self.data {
            data.give_up(pid);
        }
        self.processes.give_up(pid);
    }

    fn existing(&mut self, pid: u32, name: &[u8], strings: &mut StringDictionary) {
        let known = self.processes.name(pid, pid);
        let comm = self.text(name, strings);
        self.processes.set_first_name(pid, comm);
        if known == 0 {
            let kind = ProcessChangeKind::Existing { comm };
            self.changes.push(ProcessChange { time_ns: 0, pid, tid: pid, kind });
        }
    }

    fn text(&mut self, text: &[u8], strings: &mut StringDictionary) -> StringId {
        let id = strings.id(text);
        self.texts.entry(id).or_insert_with(|| text.into());
        id
    }

    /// Handles records whose turn has come, or all.
    pub(crate) fn release(&mut self, all: bool, out: &mut Out<'_>) {
        self.apply_facts(out.strings, all);
        while let Some((_, time_ns, event)) = if all { self.merge.pop_any() } else { self.merge.pop() } {
            match event {
                PerfEvent::Sample(sample) => {
                    let name = self.name_of(&sample, out.strings);
                    self.sample(time_ns, sample, name, all, out);
                }
                PerfEvent::Comm { pid, exec: true, .. } => {
                    // Samples from before must not be looked up in the memory from after.
                    self.settle(Some(pid), out);
                    self.change(time_ns, event, out.strings);
                }
                other => self.change(time_ns, other, out.strings),
            }
        }
        self.apply_facts(out.strings, all);
        self.settle(None, out);
    }

    /// Handles changes of processes up to a moment and no later ones, for rows of that moment. There must be no samples.
    pub(crate) fn release_until(&mut self, until_ns: u64, strings: &mut StringDictionary) {
        while self.merge.first_ns().is_some_and(|first_ns| first_ns <= until_ns) {
            let Some((_, time_ns, event)) = self.merge.pop_any() else { return };
            self.change(time_ns, event, strings);
        }
    }

    /// An address of the kernel that is shown as a function there: it gets a name with those of the stacks.
    pub(crate) fn note_address(&mut self, address: u64) {
        if address != 0 && self.noted.len() < MAX_NOTED && self.noted.insert(address) {
            self.frames.kernel_frame(address);
        }
    }

    /// Whose a thread is, and what it is called, byte by byte, as of what has been released. A thread that was not told of is asked for
    /// once; where it has ended unseen, it is taken for a process of one thread and has no name.
    pub(crate) fn thread(
        &mut self,
        tid: u32,
        link: &AgentLink,
        strings: &mut StringDictionary,
    ) -> (u32, Option<&[u8]>) {
        if tid == 0 {
            return (0, Some(b"swapper"));
        }
        if self.processes.leader(tid).is_none() {
            let found = link.call_blocking(move |client| client.open_process_file(tid, ProcessFile::Status));
            let status = found.map(|file| read_some(file, MAX_STATUS_BYTES)).unwrap_or_default();
            let (pid, name) = thread_of_status(&status);
            self.processes.set_leader(tid, pid.unwrap_or(tid));
            if let Some(name) = name {
                let comm = self.text(&name, strings);
                self.processes.set_first_name(tid, comm);
            }
        }
        let pid = self.processes.leader(tid).unwrap_or(tid);
        (pid, self.texts.get(&self.processes.name(pid, tid)).map(|name| &**name))
    }

    fn change(&mut self, time_ns: u64, event: PerfEvent, strings: &mut StringDictionary) {
        let (pid, tid, kind) = match event {
            PerfEvent::Comm { pid, tid, exec, comm } => {
                let comm = self.text(&comm, strings);
                if exec {
                    self.processes.exec(pid);
                    self.data.iter_mut().for_each(|data| data.exec(pid));
                }
                self.processes.set_name(tid, comm);
                self.processes.set_leader(tid, pid);
                (pid, tid, ProcessChangeKind::Comm { comm, exec })
            }
            PerfEvent::Fork { pid, tid, parent_pid, parent_tid } => {
                self.processes.fork(pid, tid, parent_pid, parent_tid);
                if let Some(data) = self.data.as_mut().filter(|_| pid != parent_pid) {
                    data.fork(pid, parent_pid);
                }
                (pid, tid, ProcessChangeKind::Fork { parent_pid })
            }
            PerfEvent::Exit { pid, tid } => {
                for gone in self.processes.exit(pid, tid) {
                    self.data.iter_mut().for_each(|data| data.forget(gone));
                }
                (pid, tid, ProcessChangeKind::Exit)
            }
            PerfEvent::Map(map) => {
                if let Some(data) = &mut self.data {
                    data.map(map.pid, (map.start, map.end), &map.name);
                }
                if self.maps && map.executable {
                    self.processes.map(map);
                }
                return;
            }
            PerfEvent::Sample(_) | PerfEvent::Lost { .. } | PerfEvent::Throttle { .. } | PerfEvent::Other => return,
        };
        self.changes.push(ProcessChange { time_ns, pid, tid, kind });
    }

    fn name_of(&mut self, sample: &Sample, strings: &mut StringDictionary) -> StringId {
        match self.processes.name(sample.pid, sample.tid) {
            0 if sample.pid == 0 => self.text(b"swapper", strings),
            name => name,
        }
    }

    fn sample(&mut self, time_ns: u64, mut sample: Sample, name: StringId, must: bool, out: &mut Out<'_>) {
        let most = if sample.copied.is_some() { MAX_WAITING_COPIES } else { MAX_WAITING };
        let must = must || self.waiting.len() >= most;
        match self.place(&mut sample, must) {
            Ok(placed) => self.push(time_ns, &sample, name, &placed, out),
            Err(need) => {
                self.ask(&need);
                let until = Instant::now() + MAX_WAIT;
                self.waiting.push_back(Waiting { time_ns, sample, name, until, need });
            }
        }
    }

    /// The stack of a sample with its frames and whatever else it has addresses of, or what must be found out first.
    fn place(&mut self, sample: &mut Sample, must: bool) -> Result<Placed, Need> {
        self.frames.unwind(sample, &self.processes, must)?;
        let (stack, frames) = self.frames.stack(sample, &self.processes, must)?;
        let mapping = match (&self.data, &sample.memory) {
            (Some(data), Some(access)) => match data.find(sample.pid, access.address) {
                Ok(mapping) => mapping,
                Err(Unread) if must => None,
                Err(Unread) => return Err(Need::Maps(sample.pid)),
            },
            _ => None,
        };
        let mut branches = Vec::with_capacity(sample.branches.len());
        for branch in &sample.branches {
            let mut at = |address| self.frames.place(sample.pid, address, &self.processes, must);
            branches.push((at(branch.from)?, at(branch.to)?));
        }
        Ok(Placed { stack, frames, mapping, branches })
    }

    fn ask(&mut self, need: &Need) {
        if !self.asked.insert(need.clone()) {
            return;
        }
        let name = |pid: u32, (start, _): (u64, u64)| self.processes.file_name(pid, start).unwrap_or_default();
        self.requests.push_back(match need {
            Need::Maps(pid) => MetadataRequest::Process { pid: *pid, maps: true },
            Need::File { key, pid, range } => {
                MetadataRequest::File { key: key.clone(), pid: *pid, range: *range, name: name(*pid, *range) }
            }
            Need::BuildId { device, inode, pid, range } => {
                let key = FileKey::Inode { device: *device, inode: *inode };
                MetadataRequest::File { key, pid: *pid, range: *range, name: name(*pid, *range) }
            }
        });
    }

    /// Tries again what waits; what belongs to `pid`, or has waited long enough, goes as it is.
    fn settle(&mut self, pid: Option<u32>, out: &mut Out<'_>) {
        let now = Instant::now();
        for mut waiting in std::mem::take(&mut self.waiting) {
            let must = waiting.until <= now || pid == Some(waiting.sample.pid);
            match self.place(&mut waiting.sample, must) {
                Ok(placed) => {
                    self.asked.remove(&waiting.need);
                    let Waiting { time_ns, sample, name, .. } = waiting;
                    let name = if name == 0 { self.processes.name(sample.pid, sample.tid) } else { name };
                    self.push(time_ns, &sample, name, &placed, out);
                }
                Err(need) => {
                    self.ask(&need);
                    waiting.need = need;
                    self.waiting.push_back(waiting);
                }
            }
        }
    }

    fn push(&mut self, time_ns: u64, sample: &Sample, name: StringId, placed: &Placed, out: &mut Out<'_>) {
        let Some(rows) = out.rows.as_deref_mut() else { return };
        self.frames.count_own(placed.frames.first());
        let mut values = sample_rows::common(time_ns, sample, name);
        values.push(Value::Stack { id: placed.stack, top: None, depth: placed.frames.len() });
        if let Some(access) = &sample.memory {
            let mapping = placed.mapping.as_ref().map_or(0, |name| self.text(name, out.strings));
            let mut sources = std::mem::take(&mut self.sources);
            values.extend(sources.values(access, mapping, &mut |text| self.text(text, out.strings)));
            self.sources = sources;
        }
        if let Some(event) = self.events.get(sample.event).cloned() {
            values.push(Value::Text(self.text(event.as_bytes(), out.strings)));
        }
        if out.branches.is_some() {
            values.push(Value::Number(self.numbered));
        }
        sample_rows::push(rows.rows_mut(), &values);
        (out.row)(0, &|origin_ns| self.cells(origin_ns, sample, &values));
        self.push_branches(time_ns, sample, name, placed, out);
    }

    fn push_branches(&mut self, time_ns: u64, sample: &Sample, name: StringId, placed: &Placed, out: &mut Out<'_>) {
        let Some(rows) = out.branches.as_deref_mut() else { return };
        let sample_number = self.numbered;
        self.numbered += 1;
        let numbered = (0_u64..).zip(sample.branches.iter().zip(&placed.branches));
        for (index, (branch, ends)) in numbered {
            let mut values = sample_rows::common(time_ns, sample, name);
            let mut text = |text: &str| match text {
                "" => 0,
                text => self.text(text.as_bytes(), out.strings),
            };
            let number = (sample_number, index);
            values.extend(sample_rows::branch(number, branch, *ends, &mut text));
            sample_rows::push(rows.rows_mut(), &values);
            (out.row)(1, &|origin_ns| self.cells(origin_ns, sample, &values));
        }
    }

    /// The values of a row as they are shown, before functions have names.
    fn cells(&self, origin_ns: u64, sample: &Sample, values: &[Value]) -> Vec<Cell> {
        let cell = |(index, value): (usize, &Value)| match value {
            Value::Number(time_ns) if index == StreamSchema::TIME => {
                Cell::Number(i128::from(time_ns.saturating_sub(origin_ns)))
            }
            Value::Number(number) => Cell::Number(i128::from(*number)),
            Value::Text(id) => self.texts.get(id).map_or(Cell::Null, |text| Cell::Text(visible(text))),
            Value::Stack { id: 0, .. } => Cell::Null,
            Value::Stack { id, top, depth } => {
                let top = top.map_or_else(|| self.top(sample), |address| self.describe(sample.pid, address));
                Cell::Stack { id: *id, top, depth: *depth }
            }
        };
        values.iter().enumerate().map(cell).collect()
    }

    /// What can be said about the innermost frame before functions have names.
    fn top(&self, sample: &Sample) -> String {
        match (sample.kernel.first(), sample.user.first()) {
            (Some(address), _) => self.describe_kernel(*address),
            (None, Some(address)) => self.processes.describe(sample.pid, *address),
            (None, None) => String::new(),
        }
    }

    /// The same of any address.
    fn describe(&self, pid: u32, address: u64) -> String {
        if address >= KERNEL_HALF { self.describe_kernel(address) } else { self.processes.describe(pid, address) }
    }

    fn describe_kernel(&self, address: u64) -> String {
        let place = |kernel: &bathyscope_symbols::Kallsyms| bathyscope_symbols::Place {
            offset: kernel.normalise(address),
            is_return: false,
        };
        let symbol = self.frames.kernel().and_then(|kernel| kernel_symbol(kernel, place(kernel)));
        symbol.map_or_else(|| format!("[kernel] {address:#x}"), |symbol| symbol.function)
    }

    /// The id of a stack that did not come through a ring: what must be known for it is found out at once.
    pub(crate) fn place_stack(&mut self, user: bool, pid: u32, addresses: &[u64], link: &AgentLink) -> StackId {
        let (kernel, user) = if user { (Vec::new(), addresses.to_vec()) } else { (addresses.to_vec(), Vec::new()) };
        let sample = Sample { pid, tid: pid, kernel, user, ..Sample::default() };
        for _ in 0..MAX_ASKED_AT_ONCE {
            match self.frames.stack(&sample, &self.processes, false) {
                Ok((stack, _)) => return stack,
                Err(need) => self.find_out(need, link),
            }
        }
        self.frames.stack(&sample, &self.processes, true).map_or(0, |(stack, _)| stack)
    }

    /// As [`Samples::place_stack`], of a copy of a stack in user space, with how many frames it has.
    pub(crate) fn place_copy(&mut self, pid: u32, copied: CopiedStack, link: &AgentLink) -> (StackId, usize) {
        let mut sample = Sample { pid, tid: pid, copied: Some(Box::new(copied)), ..Sample::default() };
        for _ in 0..MAX_ASKED_AT_ONCE {
            match self.place(&mut sample, false) {
                Ok(placed) => return (placed.stack, placed.frames.len()),
                Err(need) => self.find_out(need, link),
            }
        }
        self.place(&mut sample, true).map_or((0, 0), |placed| (placed.stack, placed.frames.len()))
    }

    /// The files that are kept for names.
    pub(crate) fn held(&self) -> super::process_metadata::SharedHeld {
        self.frames.held()
    }

    /// The name that a process had last, if the side band told.
    pub(crate) fn process_name(&self, pid: u32) -> Option<String> {
        self.texts.get(&self.processes.name(pid, pid)).filter(|name| !name.is_empty()).map(|name| visible(name))
    }

    /// The file that is mapped at an address of a process, and the place in it.
    pub(crate) fn file_at(&mut self, pid: u32, address: u64, link: &AgentLink) -> Option<(Arc<OwnedFd>, MappedPlace)> {
        // Placing it finds out what is to be known and keeps the file.
        self.place_stack(true, pid, &[address], link);
        let place = self.frames.file_at(pid, address, &self.processes)?;
        let held = lock(&self.frames.held()).file(&place.key);
        let file = match held {
            Some(file) => file,
            None => {
                let (start, end) = place.range;
                let mapped = ProcessFile::Mapped { start, end };
                let file = link.call_blocking(move |client| client.open_process_file(pid, mapped)).ok();
                let file = file.or_else(|| open_by_name(link, &place.key, &place.name))?;
                lock(&self.frames.held()).keep(place.key.clone(), file);
                lock(&self.frames.held()).file(&place.key)?
            }
        };
        Some((file, place))
    }

    fn find_out(&mut self, need: Need, link: &AgentLink) {
        let open = |pid, file| link.call_blocking(move |client| client.open_process_file(pid, file));
        match need {
            Need::Maps(pid) => match open(pid, ProcessFile::Maps) {
                Ok(file) => self.snapshot(pid, ProcessMaps::parse(&read_some(file, MAX_MAPS_BYTES))),
                Err(_gone) => self.give_up(pid),
            },
            Need::File { key, pid, range: (start, end) } => {
                let opened = open(pid, ProcessFile::Mapped { start, end }).ok();
                let name = self.processes.file_name(pid, start);
                match opened.or_else(|| open_by_name(link, &key, name.as_deref()?)) {
                    Some(file) => lock(&self.frames.held()).keep(key, file),
                    None => self.frames.forget(&key),
                }
            }
            Need::BuildId { device, inode, pid, range: (start, end) } => {
                let opened = open(pid, ProcessFile::Mapped { start, end }).ok();
                let name = self.processes.file_name(pid, start);
                let by_name = || open_by_name(link, &FileKey::Inode { device, inode }, name.as_deref()?);
                let opened = opened.or_else(by_name);
                let build_id = opened.as_ref().map(|file| FileResolver::build_id(file).unwrap_or_default());
                let build_id = build_id.unwrap_or_default();
                if let Some(file) = opened {
                    let key = match build_id.as_slice() {
                        [] => FileKey::Inode { device, inode },
                        id => FileKey::BuildId(id.to_vec()),
                    };
                    lock(&self.frames.held()).keep(key, file);
                }
                self.frames.learn_build_id(device, inode, build_id);
            }
        }
    }

    /// Sends what is to be found out. What finds no room stays for the next time.
    pub(crate) fn send_requests(&mut self, to: &SyncSender<MetadataRequest>) {
        for wish in self.frames.take_wishes() {
            self.requests.push_back(match wish {
                Wish::File { key, pid, range, name } => MetadataRequest::File { key, pid, range, name },
                Wish::PerfMap(pid) => MetadataRequest::PerfMap { pid },
            });
        }
        while let Some(request) = self.requests.pop_front() {
            if let Err(error) = to.try_send(request) {
                if let std::sync::mpsc::TrySendError::Full(request) = error {
                    self.requests.push_front(request);
                }
                return;
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "as the dictionary gives it")]
    pub(crate) fn take_new(
        &mut self,
        naming: &NamingWork,
    ) -> (Vec<(MappingId, Mapping)>, Vec<(FrameId, Frame)>, Vec<(StackId, Stack)>) {
        self.frames.take_new(naming)
    }

    pub(crate) fn take_processes(&mut self) -> Vec<ProcessChange> {
        std::mem::take(&mut self.changes)
    }
}

/// The process and the name in `/proc/TID/status`, where the kernel writes line ends and backslashes of a name as `\n` and
/// `\\`. Here the name is as the thread has it, as perf and the tracepoints tell it.
fn thread_of_status(status: &[u8]) -> (Option<u32>, Option<Vec<u8>>) {
    let value = |key: &[u8]| {
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(key));
        line.map(|line| line.strip_prefix(b"\t").unwrap_or(line))
    };
    let digits = value(b"Tgid:").map(<[u8]>::trim_ascii);
    let pid = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    (pid, value(b"Name:").map(unescaped))
}

fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    while let [byte, rest @ ..] = name {
        let (byte, rest) = match (byte, rest) {
            (b'\\', [b'n', rest @ ..]) => (b'\n', rest),
            (b'\\', [b'\\', rest @ ..]) => (b'\\', rest),
            _ => (*byte, rest),
        };
        plain.push(byte);
        name = rest;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_whose_a_thread_is() {
        let cases = [
            ("Name:\tworker 1\nUmask:\t0022\nTgid:\t70\nPid:\t75\n", Some(70), Some("worker 1")),
            ("Name:\ta\nTgid:\tx\n", None, Some("a")),
            ("Name:\ta\\nb\\\\n\\x\nTgid:\t7\n", Some(7), Some("a\nb\\n\\x")),
            ("Name:\t two \nTgid:\t7\n", Some(7), Some(" two ")),
            ("", None, None),
            ("Nam", None, None),
        ];
        for (status, pid, name) in cases {
            assert_eq!(thread_of_status(status.as_bytes()), (pid, name.map(|name| name.as_bytes().to_vec())));
        }
    }
}

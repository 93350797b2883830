//! The process history of a capture: what processes are called, what they have mapped, how they begin and end, in order of
//! time over all rings that tell of it. Engines ask it what addresses and threads are.
//!
//! Changes take effect when the decoder says so: when every record from before was made a row.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    os::fd::OwnedFd,
    sync::{Arc, mpsc::SyncSender},
};

use bathyscope_capture::{
    Frame, FrameId, Mapping, MappingId, ProcessChange, ProcessChangeKind, Stack, StackId, StringDictionary, StringId,
    visible,
};
use bathyscope_decode::perf::{CopiedStack, MapFile, PerfEvent, PerfRecord, Sample, parse_record};
use bathyscope_link::processes::read_some;
use bathyscope_protocol::{ProcessFile, RingInfo};
use bathyscope_symbols::{FileResolver, ProcessMaps};

use super::{
    AgentLink,
    by_name::open_by_name,
    data_areas::{DataAreas, KERNEL_HALF, Unread},
    frames::{Frames, MappedPlace, Need, Wish},
    mappings::{FileKey, Processes},
    merge::Merge,
    naming::{NamingWork, kernel_symbol},
    process_metadata::{MAX_MAPS_BYTES, MetadataRequest, MetadataResponse, ProcessOwner, lock},
    process_status::ProcessStatus,
    reader::RecordBatch,
    rings::{PerfRing, perf_rings},
};

/// How much is found out for one stack that cannot wait.
const MAX_ASKED_AT_ONCE: usize = 64;
/// The most addresses of the kernel outside of stacks that get a name.
const MAX_NOTED: usize = 1 << 16;
/// The most that is read of what the kernel says about a thread.
const MAX_STATUS_BYTES: u64 = 4096;
/// The most threads of which it is kept that they were asked for.
const MAX_UNNAMED: usize = 1 << 16;
/// The most processes whose owners are noted.
const MAX_OWNED: usize = 1 << 16;
/// Facts that wait until the records from before them were handled.
const MAX_EARLY_FACTS: usize = 1 << 15;

/// What became of the addresses of a sample.
pub(crate) struct Placed {
    pub(crate) stack: StackId,
    pub(crate) frames: Vec<FrameId>,
    /// What the data lies in.
    pub(crate) mapping: Option<Arc<[u8]>>,
    /// From and to of each branch.
    pub(crate) branches: Vec<(StackId, StackId)>,
}

/// A change of a process whose turn has come.
#[derive(Debug)]
pub(crate) struct NextChange {
    time_ns: u64,
    event: PerfEvent,
}

impl NextChange {
    /// The process that executes another program, whose memory is another one from here on.
    pub(crate) fn executing(&self) -> Option<u32> {
        match self.event {
            PerfEvent::Comm { pid, exec: true, .. } => Some(pid),
            _ => None,
        }
    }
}

/// See the module.
pub(crate) struct ProcessHistory {
    /// Whether it matters what processes map.
    maps: bool,
    /// By number among all rings of the capture.
    rings: Vec<Option<PerfRing>>,
    merge: Merge<PerfEvent>,
    processes: Processes,
    /// What data lies in; only followed where samples tell addresses of data.
    data: Option<DataAreas>,
    frames: Frames,
    /// Addresses of the kernel that have a frame though they are in no stack.
    noted: HashSet<u64>,
    /// Threads that were told of without a name, and asked for.
    unnamed: HashSet<u32>,
    /// Processes of which it is noted whose they are.
    owned: HashSet<u32>,
    early: VecDeque<MetadataResponse>,
    asked: HashSet<Need>,
    requests: VecDeque<MetadataRequest>,
    changes: Vec<ProcessChange>,
    texts: HashMap<StringId, Box<[u8]>>,
    malformed: u64,
}

impl ProcessHistory {
    /// For the perf rings among `rings`; others are left alone. With `maps` what processes map is followed, for stacks.
    pub(crate) fn new(rings: &[RingInfo], frames: Frames, maps: bool) -> Self {
        let (rings, count) = perf_rings(rings, |_any| true);
        let has_memory = rings.iter().flatten().any(|ring| ring.format.has_memory());
        Self {
            maps,
            rings,
            merge: Merge::new(count),
            processes: Processes::default(),
            data: has_memory.then(DataAreas::default),
            frames,
            noted: HashSet::new(),
            unnamed: HashSet::new(),
            owned: HashSet::new(),
            early: VecDeque::new(),
            asked: HashSet::new(),
            requests: VecDeque::new(),
            changes: Vec::new(),
            texts: HashMap::new(),
            malformed: 0,
        }
    }

    /// Changes that came after a later one had taken effect.
    pub(crate) fn late(&self) -> u64 {
        self.merge.late()
    }

    /// Records of rings that have nothing else, and could not be read.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed
    }

    /// No change from before this moment will come any more.
    pub(crate) fn complete_ns(&self) -> u64 {
        self.merge.complete_ns()
    }

    /// A ring of the capture was read: to its end at `read_ns`, or only in part.
    pub(crate) fn read(&mut self, ring: usize, read_ns: u64, to_its_end: bool) {
        if let Some(Some(ring)) = self.rings.get(ring) {
            self.merge.read(ring.merged, read_ns, to_its_end);
        }
    }

    /// Takes records of a ring that tells of processes and nothing else.
    pub(crate) fn take(&mut self, batch: &RecordBatch) {
        let Some(Some(PerfRing { format, .. })) = self.rings.get(batch.ring).copied() else { return };
        for bytes in batch.records() {
            match parse_record(bytes, format) {
                Ok(PerfRecord { event: PerfEvent::Lost { count }, .. }) => {
                    tracing::warn!(count, "changes of processes were lost; some stacks may have no names");
                }
                Ok(record) => self.note(batch.ring, record, bytes.len()),
                Err(_) => self.malformed += 1,
            }
        }
    }

    /// Notes what a record of a perf ring tells of processes, if it tells of them.
    pub(crate) fn note(&mut self, ring: usize, PerfRecord { time_ns, event }: PerfRecord, bytes: usize) {
        let Some(Some(ring)) = self.rings.get(ring) else { return };
        // Opened before its turn comes: the process may end soon.
        if let PerfEvent::Map(map) = &event
            && self.maps
            && map.executable
            && let MapFile::BuildId(id) = &map.file
        {
            self.frames.seen(&FileKey::BuildId(id.clone()), map.pid, (map.start, map.end), &map.name);
        }
        self.merge.push(ring.merged, time_ns, bytes + size_of::<PerfEvent>(), event);
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
                Some(MetadataResponse::Process { pid, name, owner, maps, asked_maps, read_ns })
                    if read_ns <= complete_ns =>
                {
                    let was_there = name.is_some_and(|name| self.existing(pid, &name, strings));
                    self.own(pid, if was_there { 0 } else { read_ns }, &owner, strings);
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

    fn existing(&mut self, pid: u32, name: &[u8], strings: &mut StringDictionary) -> bool {
        self.existing_thread([pid, pid], name, strings)
    }

    /// A thread that nobody told of is called so: it was there before. Whether that is so.
    fn existing_thread(&mut self, [pid, tid]: [u32; 2], name: &[u8], strings: &mut StringDictionary) -> bool {
        let comm = self.text(name, strings);
        let is_new = self.processes.set_first_name(tid, comm);
        if is_new {
            let kind = ProcessChangeKind::Existing { comm };
            self.changes.push(ProcessChange { time_ns: 0, pid, tid, kind });
        }
        is_new
    }

    /// Notes once whose a process is and who started it.
    fn own(&mut self, pid: u32, time_ns: u64, owner: &ProcessOwner, strings: &mut StringDictionary) {
        let ProcessOwner { parent_pid, user, group } = owner;
        if *owner == ProcessOwner::default() || self.owned.len() >= MAX_OWNED || !self.owned.insert(pid) {
            return;
        }
        let user = user.as_ref().map(|name| ProcessChangeKind::User { name: self.text(name.as_bytes(), strings) });
        let group = group.as_ref().map(|path| ProcessChangeKind::Group { path: self.text(path, strings) });
        let parent = parent_pid.map(|parent_pid| ProcessChangeKind::Parent { parent_pid });
        let known = [parent, user, group].into_iter().flatten();
        self.changes.extend(known.map(|kind| ProcessChange { time_ns, pid, tid: 0, kind }));
    }

    /// The id of a text, which is kept for rows that are shown.
    pub(crate) fn text(&mut self, text: &[u8], strings: &mut StringDictionary) -> StringId {
        let id = strings.id(text);
        self.texts.entry(id).or_insert_with(|| text.into());
        id
    }

    /// The next change that is not from after a moment, or any where too many wait.
    pub(crate) fn next_change(&mut self, until_ns: u64) -> Option<NextChange> {
        let due = self.merge.first_ns().is_some_and(|first_ns| first_ns <= until_ns) || self.merge.is_full();
        let (_, time_ns, event) = if due { self.merge.pop_any()? } else { return None };
        Some(NextChange { time_ns, event })
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
        self.ask_for_thread(tid, tid, link, strings);
        let pid = self.processes.leader(tid).unwrap_or(tid);
        (pid, self.texts.get(&self.processes.name(pid, tid)).map(|name| &**name))
    }

    /// What a thread of a process is called, as of what has been released; 0 if nobody tells. A thread that was not told of is asked
    /// for once.
    pub(crate) fn name_of(
        &mut self,
        [pid, tid]: [u32; 2],
        link: &AgentLink,
        strings: &mut StringDictionary,
    ) -> StringId {
        self.ask_for_thread(tid, pid, link, strings);
        self.processes.name(pid, tid)
    }

    /// Finds out whose a thread is and what it is called, if nobody has told; where it has ended unseen, it is a thread of `usual`.
    fn ask_for_thread(&mut self, tid: u32, usual: u32, link: &AgentLink, strings: &mut StringDictionary) {
        // What forked it may never have been told of itself; then neither has a name.
        if self.processes.leader(tid).is_some() && (self.processes.name(usual, tid) != 0 || !self.unnamed.insert(tid)) {
            return;
        }
        if self.unnamed.len() > MAX_UNNAMED {
            self.unnamed.clear();
        }
        let found = link.call_blocking(move |client| client.open_process_file(tid, ProcessFile::Status));
        let status = found.map(|file| read_some(file, MAX_STATUS_BYTES)).unwrap_or_default();
        let ProcessStatus { pid, name, .. } = ProcessStatus::read(&status);
        let pid = pid.unwrap_or(usual);
        self.processes.set_leader(tid, pid);
        if let Some(name) = name {
            self.existing_thread([pid, tid], &name, strings);
        }
        if pid == tid && !self.owned.contains(&pid) {
            self.requests.push_back(MetadataRequest::Process { pid, maps: false });
        }
        if pid != tid {
            // The history tells of processes, not only of those threads that were seen.
            self.ask_for_thread(pid, pid, link, strings);
        }
    }

    /// Lets a change take effect.
    pub(crate) fn apply(&mut self, NextChange { time_ns, event }: NextChange, strings: &mut StringDictionary) {
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
                if pid == tid {
                    self.owned.remove(&pid);
                }
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

    /// A text that was given an id here.
    pub(crate) fn text_of(&self, id: StringId) -> Option<&[u8]> {
        self.texts.get(&id).map(|text| &**text)
    }

    /// What a thread is called, as of what has taken effect; 0 if nobody told.
    pub(crate) fn thread_name(&mut self, pid: u32, tid: u32, strings: &mut StringDictionary) -> StringId {
        match self.processes.name(pid, tid) {
            0 if pid == 0 => self.text(b"swapper", strings),
            name => name,
        }
    }

    /// What a thread was called last; 0 if nobody told.
    pub(crate) fn last_name(&self, pid: u32, tid: u32) -> StringId {
        self.processes.name(pid, tid)
    }

    /// The stack of a sample with its frames and whatever else it has addresses of, or what must be found out first.
    /// With `must` nothing more can be found out.
    pub(crate) fn place(&mut self, sample: &mut Sample, must: bool) -> Result<Placed, Need> {
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

    /// A sample has the frame innermost.
    pub(crate) fn count_own(&mut self, frame: Option<&FrameId>) {
        self.frames.count_own(frame);
    }

    /// What was asked for is known; it may be asked for again.
    pub(crate) fn answered(&mut self, need: &Need) {
        self.asked.remove(need);
    }

    /// Asks the metadata thread, once.
    pub(crate) fn ask(&mut self, need: &Need) {
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

    /// What can be said about an address of a process before functions have names.
    pub(crate) fn describe(&self, pid: u32, address: u64) -> String {
        if address >= KERNEL_HALF { self.describe_kernel(address) } else { self.describe_user(pid, address) }
    }

    /// The same of an address of user space.
    pub(crate) fn describe_user(&self, pid: u32, address: u64) -> String {
        self.processes.describe(pid, address)
    }

    /// The same of an address of the kernel.
    pub(crate) fn describe_kernel(&self, address: u64) -> String {
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

    /// As [`ProcessHistory::place_stack`], of a copy of a stack in user space, with how many frames it has.
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

//! The process metadata thread: one thread for each capture that asks the agent about processes while they still live.
//!
//! It reads what processes existed when the capture began, and opens the files whose code was sampled, so that they can
//! be named after their processes have ended. Descriptors are kept up to a limit, once for each file.

use std::{
    collections::{HashMap, HashSet},
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError},
    },
    time::Duration,
};

use bathyscope_link::processes::{control_group, read_some, user_of};
use bathyscope_protocol::{AgentClient, ProcessFile};
use bathyscope_symbols::{FileResolver, ProcessMaps};

use super::{
    AgentLink, LinkError, by_name::open_by_name, clock::monotonic_ns, mappings::FileKey, process_status::ProcessStatus,
};

/// Requests that may wait.
pub(crate) const QUEUED_REQUESTS: usize = 1024;
/// Facts that may wait for the decoder.
pub(crate) const QUEUED_RESPONSES: usize = 256;
/// The most descriptors that are kept for one capture.
const MAX_HELD: usize = 512;
/// The most that is read of `/proc/PID/maps`.
pub(crate) const MAX_MAPS_BYTES: u64 = 32 << 20;
/// The most that is read of what the kernel says of a process.
const MAX_STATUS_BYTES: u64 = 4096;
/// The most processes whose start state is read.
const MAX_PROCESSES: usize = 1 << 14;

/// What the metadata thread is asked to do.
#[derive(Debug)]
pub(crate) enum MetadataRequest {
    /// Find out what a process is called and, if `maps`, what it has mapped.
    Process { pid: u32, maps: bool },
    /// Open a mapped file and keep it; by its name if the process has ended.
    File { key: FileKey, pid: u32, range: (u64, u64), name: Vec<u8> },
    /// Open what a run-time compiler wrote about its code and keep it.
    PerfMap { pid: u32 },
}

/// What the metadata thread found out.
#[derive(Debug)]
pub(crate) enum MetadataResponse {
    /// About a process, at a moment.
    Process {
        pid: u32,
        name: Option<Vec<u8>>,
        owner: ProcessOwner,
        maps: Option<ProcessMaps>,
        asked_maps: bool,
        read_ns: u64,
    },
    /// The build id of a file, empty where it has none or cannot be read.
    BuildId { device: (u32, u32), inode: u64, build_id: Vec<u8> },
    /// A file could not be opened.
    Unopened { key: FileKey },
}

/// Whose a process is, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessOwner {
    /// Which one started it, or has taken it over since.
    pub(crate) parent_pid: Option<u32>,
    /// The user's name, or number.
    pub(crate) user: Option<String>,
    /// The path of its control group.
    pub(crate) group: Option<Vec<u8>>,
}

/// Names of this host's users, each looked for once.
#[derive(Debug, Default)]
struct UserNames {
    passwd: Option<Vec<u8>>,
    known: HashMap<u32, String>,
}

impl UserNames {
    fn name(&mut self, uid: u32) -> String {
        let passwd = self.passwd.get_or_insert_with(|| std::fs::read("/etc/passwd").unwrap_or_default());
        self.known.entry(uid).or_insert_with(|| user_of(passwd, uid)).clone()
    }
}

/// Descriptors kept for naming.
#[derive(Debug, Default)]
pub(crate) struct Held {
    files: HashMap<FileKey, Arc<OwnedFd>>,
    /// Files with frames in samples; the others were only mapped, and give way.
    sampled: HashSet<FileKey>,
    perf_maps: HashMap<u32, Arc<OwnedFd>>,
    refused: u64,
}

impl Held {
    pub(crate) fn keep(&mut self, key: FileKey, file: OwnedFd) {
        if self.make_room() {
            self.files.insert(key, Arc::new(file));
        } else {
            self.refused += 1;
        }
    }

    fn keep_perf_map(&mut self, pid: u32, file: OwnedFd) {
        if self.make_room() {
            self.perf_maps.entry(pid).or_insert_with(|| Arc::new(file));
        } else {
            self.refused += 1;
        }
    }

    fn make_room(&mut self) -> bool {
        if self.files.len() + self.perf_maps.len() >= MAX_HELD {
            let unused = self.files.keys().find(|key| !self.sampled.contains(key)).cloned();
            unused.is_some_and(|key| self.files.remove(&key).is_some())
        } else {
            true
        }
    }

    /// A file has frames in samples.
    pub(crate) fn sampled(&mut self, key: FileKey) {
        self.sampled.insert(key);
    }

    /// A mapped file.
    pub(crate) fn file(&self, key: &FileKey) -> Option<Arc<OwnedFd>> {
        self.files.get(key).cloned()
    }

    /// What a run-time compiler wrote.
    pub(crate) fn perf_map(&self, pid: u32) -> Option<Arc<OwnedFd>> {
        self.perf_maps.get(&pid).cloned()
    }

    /// How many files could not be kept because of the limit.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

/// [`Held`], shared with who names functions.
pub(crate) type SharedHeld = Arc<Mutex<Held>>;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves plain data behind, which stays usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whose start state is read without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstLook {
    /// Every process's.
    All,
    /// One process's.
    One(u32),
}

/// A metadata thread that does not run yet.
pub(crate) struct MetadataThread {
    pub(crate) link: AgentLink,
    pub(crate) requests: Receiver<MetadataRequest>,
    pub(crate) responses: SyncSender<MetadataResponse>,
    pub(crate) held: SharedHeld,
    pub(crate) first: FirstLook,
    /// Whether mappings are of interest, which they are where there are stacks.
    pub(crate) maps: bool,
}

impl MetadataThread {
    /// Starts the thread, which ends when there can be no more requests or nobody wants responses.
    pub(crate) fn spawn(self) -> std::io::Result<()> {
        let run = move || {
            // It ends where nobody wants to know any more.
            let _nobody_listens = self.run();
        };
        std::thread::Builder::new().name("bathyscope-look".to_owned()).spawn(run).map(drop)
    }

    fn run(&self) -> Option<()> {
        let mut users = UserNames::default();
        let pids = match self.first {
            FirstLook::One(pid) => vec![pid],
            FirstLook::All => self.link.call_blocking(AgentClient::list_processes).unwrap_or_default(),
        };
        let mut pids = pids.into_iter().take(MAX_PROCESSES);
        // What is asked for comes first; between that, all processes in turn.
        loop {
            match self.requests.try_recv() {
                Ok(request) => self.go(request, &mut users)?,
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => match pids.next() {
                    Some(pid) => self.process(pid, self.maps, &mut users)?,
                    None => break,
                },
            }
        }
        loop {
            match self.requests.recv_timeout(Duration::from_secs(1)) {
                Ok(request) => self.go(request, &mut users)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn go(&self, request: MetadataRequest, users: &mut UserNames) -> Option<()> {
        match request {
            MetadataRequest::Process { pid, maps } => self.process(pid, maps, users),
            MetadataRequest::File { key, pid, range, name } => self.file(key, pid, range, &name),
            MetadataRequest::PerfMap { pid } => {
                if let Ok(file) = self.open(pid, ProcessFile::PerfMap) {
                    lock(&self.held).keep_perf_map(pid, file);
                }
                Some(())
            }
        }
    }

    fn open(&self, pid: u32, file: ProcessFile) -> Result<OwnedFd, LinkError> {
        self.link.call_blocking(move |client| client.open_process_file(pid, file))
    }

    fn process(&self, pid: u32, asked_maps: bool, users: &mut UserNames) -> Option<()> {
        let read = |file| self.open(pid, file).map(|file| read_some(file, MAX_STATUS_BYTES)).unwrap_or_default();
        let ProcessStatus { name, parent_pid, uid, .. } = ProcessStatus::read(&read(ProcessFile::Status));
        let group = control_group(&read(ProcessFile::ControlGroups)).map(<[u8]>::to_vec);
        let owner = ProcessOwner { parent_pid, user: uid.map(|uid| users.name(uid)), group };
        let read_ns = monotonic_ns();
        let maps = if asked_maps { self.open(pid, ProcessFile::Maps).ok() } else { None };
        let maps = maps.map(|file| ProcessMaps::parse(&read_some(file, MAX_MAPS_BYTES)));
        self.responses.send(MetadataResponse::Process { pid, name, owner, maps, asked_maps, read_ns }).ok()
    }

    fn file(&self, key: FileKey, pid: u32, (start, end): (u64, u64), name: &[u8]) -> Option<()> {
        let opened = self.open(pid, ProcessFile::Mapped { start, end }).ok();
        let opened = opened.or_else(|| open_by_name(&self.link, &key, name));
        match key {
            FileKey::BuildId(_) => {
                match opened {
                    Some(file) => lock(&self.held).keep(key, file),
                    None => self.responses.send(MetadataResponse::Unopened { key }).ok()?,
                }
                Some(())
            }
            FileKey::Inode { device, inode } => {
                let build_id = opened.as_ref().map(|file| FileResolver::build_id(file).unwrap_or_default());
                let build_id = build_id.unwrap_or_default();
                let key = if build_id.is_empty() { key } else { FileKey::BuildId(build_id.clone()) };
                if let Some(file) = opened {
                    lock(&self.held).keep(key, file);
                }
                self.responses.send(MetadataResponse::BuildId { device, inode, build_id }).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn what_was_only_mapped_gives_way_to_what_was_sampled() {
        let file = || File::open("/dev/null").unwrap().into();
        let key = |number: usize| FileKey::BuildId(number.to_le_bytes().to_vec());
        let mut held = Held::default();
        held.sampled(key(0));
        for number in 0..MAX_HELD + 5 {
            held.keep(key(number), file());
        }
        assert!(held.file(&key(0)).is_some() && held.file(&key(MAX_HELD + 4)).is_some());
        assert_eq!((held.files.len(), held.refused()), (MAX_HELD, 0));
        (0..MAX_HELD + 5).for_each(|number| held.sampled(key(number)));
        held.keep(key(MAX_HELD + 9), file());
        held.keep_perf_map(7, file());
        assert_eq!(held.refused(), 2);
    }
}

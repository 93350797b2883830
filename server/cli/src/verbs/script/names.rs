//! Names of addresses for output: kernel symbols from a table that the agent opened, symbols of processes from the files
//! they run, through the agent. Everything is read when it is first needed, once.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_decode::{
    perf::PerfEvent,
    script::{Names, Symbol, WallTime},
};
use bathyscope_link::{AgentLink, HostNames, ProcessNames};
use bathyscope_plan::Clock;
use bathyscope_protocol::{KernelFile, ProcessFile};
use bathyscope_symbols::{FileOptions, FileResolver, Kallsyms, Place, ProcessMaps};

use super::mapped::Mapped;

/// The most that is read of `/proc/kallsyms`.
const MAX_KALLSYMS_BYTES: u64 = 256 << 20;
/// The most that is read of a process's list of mappings.
const MAX_MAPS_BYTES: u64 = 16 << 20;
/// The largest file whose symbols are read.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// How long a process's mappings are taken for true.
const FRESH: Duration = Duration::from_millis(100);
/// The most processes whose mappings are kept.
const MAX_PROCESSES: usize = 1024;
/// The most addresses whose names are kept.
const MAX_KEPT: usize = 1 << 18;

/// Facts of this host and of the processes on it.
pub(super) struct ScriptNames {
    link: AgentLink,
    host: OnceCell<HostNames>,
    plain: HostNames,
    stacks: RefCell<HashMap<(bool, u64), Vec<u64>>>,
    processes: RefCell<HashMap<u32, Process>>,
    files: RefCell<FileResolver>,
    known: RefCell<Known>,
    mapped: RefCell<Mapped>,
    names: RefCell<ProcessNames>,
}

/// What a process has mapped. It stays known when the process is gone.
#[derive(Clone)]
struct Process {
    maps: ProcessMaps,
    read_at: Instant,
    /// Open files, by where they are mapped; none where one cannot be opened.
    files: HashMap<u64, Option<Arc<OwnedFd>>>,
}

/// Names of addresses that were looked up, by process.
#[derive(Default)]
struct Known {
    processes: HashMap<u32, HashMap<u64, Option<Symbol>>>,
    count: usize,
}

impl Known {
    fn get(&self, pid: u32, address: u64) -> Option<&Option<Symbol>> {
        self.processes.get(&pid)?.get(&address)
    }

    fn keep(&mut self, pid: u32, address: u64, symbol: Option<Symbol>) {
        if self.count < MAX_KEPT && self.processes.entry(pid).or_default().insert(address, symbol).is_none() {
            self.count += 1;
        }
    }

    fn forget(&mut self, pid: u32) {
        self.count -= self.processes.remove(&pid).map_or(0, |names| names.len());
    }
}

impl ScriptNames {
    pub(super) fn new(link: AgentLink) -> Self {
        let options = FileOptions { private_dir: PathBuf::from("/tmp"), max_file_bytes: MAX_FILE_BYTES };
        Self {
            link,
            host: OnceCell::new(),
            plain: HostNames::default(),
            stacks: RefCell::default(),
            processes: RefCell::default(),
            files: RefCell::new(FileResolver::new(options, rustix::process::geteuid().as_raw())),
            known: RefCell::default(),
            names: RefCell::default(),
            mapped: RefCell::default(),
        }
    }

    /// Frames of stacks that will be shown.
    pub(super) fn set_stacks(&self, stacks: impl IntoIterator<Item = ((bool, u64), Vec<u64>)>) {
        self.stacks.borrow_mut().extend(stacks);
    }

    /// Looks at a process while it lives, so that its addresses have names when it is gone, unless that was done within
    /// `fresh`. Its executable files stay open.
    pub(super) fn remember(&self, pid: u32, fresh: Duration) {
        let fresh = |process: &Process| process.read_at.elapsed() < fresh;
        if self.mapped.borrow().has_ended(pid) || self.processes.borrow().get(&pid).is_some_and(fresh) {
            return;
        }
        let Some(maps) = self.read_maps(pid) else { return };
        let mut processes = self.processes.borrow_mut();
        if processes.len() >= MAX_PROCESSES && !processes.contains_key(&pid) {
            return;
        }
        let read_at = Instant::now();
        let process = processes.entry(pid).or_insert_with(|| Process {
            maps: ProcessMaps::default(),
            read_at,
            files: HashMap::new(),
        });
        if maps.maps != process.maps.maps {
            process.files.clear();
            self.known.borrow_mut().forget(pid);
            for map in maps.maps.iter().filter(|map| map.executable && map.inode != 0) {
                let (start, end) = (map.start, map.end);
                let file = self
                    .link
                    .call_blocking(move |client| client.open_process_file(pid, ProcessFile::Mapped { start, end }));
                process.files.insert(start, file.ok().map(Arc::new));
            }
            process.maps = maps;
        }
        process.read_at = read_at;
    }

    fn read_maps(&self, pid: u32) -> Option<ProcessMaps> {
        let file = self.link.call_blocking(move |client| client.open_process_file(pid, ProcessFile::Maps)).ok()?;
        let mut text = Vec::new();
        File::from(file).take(MAX_MAPS_BYTES).read_to_end(&mut text).ok()?;
        let maps = ProcessMaps::parse(&text);
        // A process that is ending has none any more; what was known is worth more.
        (!maps.maps.is_empty()).then_some(maps)
    }

    /// Notes what happened to a process.
    pub(super) fn learn(&self, event: PerfEvent) {
        match &event {
            PerfEvent::Comm { pid, exec: true, .. } => self.forget(*pid),
            PerfEvent::Fork { pid, parent_pid, .. } if pid != parent_pid => {
                self.forget(*pid);
                // A child begins with its parent's memory.
                let mut processes = self.processes.borrow_mut();
                if let Some(parent) = processes.get(parent_pid).filter(|_| processes.len() < MAX_PROCESSES).cloned() {
                    processes.insert(*pid, parent);
                }
            }
            _ => {}
        }
        self.mapped.borrow_mut().learn(event, &self.link);
    }

    fn forget(&self, pid: u32) {
        self.processes.borrow_mut().remove(&pid);
        self.known.borrow_mut().forget(pid);
    }

    fn find(&self, pid: u32, address: u64) -> Option<Symbol> {
        let (file, module, offset) = self.place(pid, address)?;
        let place = Place { offset, is_return: false };
        let found = self.files.borrow_mut().resolve(&file, &[], &[place]).ok()?.pop()??;
        Some(Symbol { name: found.function, offset: found.offset, module })
    }

    /// The file that is mapped at an address, its name, and the place in it: as the process's list of mappings says, or, of
    /// one that is gone or has mapped it since, as the kernel told.
    fn place(&self, pid: u32, address: u64) -> Option<(Arc<OwnedFd>, String, u64)> {
        self.remember(pid, FRESH);
        let listed = || {
            let processes = self.processes.borrow();
            let process = processes.get(&pid)?;
            let map = process.maps.maps.iter().find(|map| map.start <= address && address < map.end)?;
            let file = Arc::clone(process.files.get(&map.start)?.as_ref()?);
            let module = String::from_utf8_lossy(&map.name).into_owned();
            Some((file, module, address - map.start + map.file_offset))
        };
        listed().or_else(|| self.mapped.borrow().place(pid, address))
    }

    fn host(&self) -> &HostNames {
        self.host.get_or_init(|| {
            let file = self.link.call_blocking(|client| client.open_kernel_file(KernelFile::Kallsyms)).ok();
            let mut text = Vec::new();
            let read = file.map(|file| File::from(file).take(MAX_KALLSYMS_BYTES).read_to_end(&mut text));
            let parsed = read.and_then(Result::ok).and_then(|_bytes| Kallsyms::parse(&text).ok());
            if parsed.is_none() {
                tracing::warn!("kernel functions have no names: /proc/kallsyms cannot be read");
            }
            HostNames::new(parsed.map(Arc::new))
        })
    }
}

impl Names for ScriptNames {
    fn kernel_symbol(&self, address: u64) -> Option<Symbol> {
        self.host().kernel_symbol(address)
    }

    fn user_symbol(&self, pid: u32, address: u64) -> Option<Symbol> {
        if let Some(known) = self.known.borrow().get(pid, address) {
            return known.clone();
        }
        let found = self.find(pid, address);
        self.known.borrow_mut().keep(pid, address, found.clone());
        found
    }

    fn build_id(&self, pid: u32, address: u64) -> Option<(Vec<u8>, u64)> {
        let (file, _, offset) = self.place(pid, address)?;
        let id = FileResolver::build_id(&file).ok().filter(|id| !id.is_empty())?;
        Some((id, offset))
    }

    fn process_name(&self, pid: u32) -> Option<String> {
        self.names.borrow_mut().name(pid, &self.link)
    }

    fn user_name(&self, uid: u32) -> Option<String> {
        self.plain.user_name(uid)
    }

    fn cgroup_path(&self, id: u64, filter: &str) -> Option<String> {
        self.plain.cgroup_path(id, filter)
    }

    fn stack(&self, user: bool, id: u64) -> Option<Vec<u64>> {
        self.stacks.borrow().get(&(user, id)).cloned()
    }

    fn wall_time(&self, clock: Clock, ns: u64) -> Option<WallTime> {
        self.plain.wall_time(clock, ns)
    }
}

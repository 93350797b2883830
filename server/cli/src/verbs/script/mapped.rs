//! Files that processes have mapped, as the kernel tells it. Each is opened as soon as it is heard of, once, while its process
//! lives; of a process that is gone by then, by its path, if what is there is still the same file.

use std::{
    collections::{HashMap, HashSet},
    os::fd::OwnedFd,
    sync::Arc,
};

use bathyscope_decode::perf::{MapFile, NewMap, PerfEvent};
use bathyscope_link::AgentLink;
use bathyscope_protocol::ProcessFile;
use bathyscope_recorder::{Backing, FileKey, MappedAt, Processes, open_by_name};

/// The most files that are kept open.
const MAX_FILES: usize = 512;
/// The most processes of which it is kept that they have ended.
const MAX_ENDED: usize = 1 << 15;

/// What is known of processes' memory.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    processes: Processes,
    files: HashMap<FileKey, Arc<OwnedFd>>,
    ended: HashSet<u32>,
}

impl Mapped {
    /// Whether a process has ended, and no other has its number: there is nothing to be read of it any more.
    pub(super) fn has_ended(&self, pid: u32) -> bool {
        self.ended.contains(&pid)
    }

    /// Notes what happened.
    pub(super) fn learn(&mut self, event: PerfEvent, link: &AgentLink) {
        match event {
            PerfEvent::Comm { pid, exec: true, .. } => {
                self.ended.remove(&pid);
                self.processes.exec(pid);
            }
            PerfEvent::Fork { pid, tid, parent_pid, parent_tid } => {
                self.ended.remove(&pid);
                self.processes.fork(pid, tid, parent_pid, parent_tid);
            }
            PerfEvent::Exit { pid, tid } => {
                if pid == tid && self.ended.len() < MAX_ENDED {
                    self.ended.insert(pid);
                }
                self.processes.exit(pid, tid);
            }
            PerfEvent::Map(map) => {
                self.open(&map, link);
                self.processes.map(map);
            }
            _ => {}
        }
    }

    /// The file at an address, its name, and the place in it.
    pub(super) fn place(&self, pid: u32, address: u64) -> Option<(Arc<OwnedFd>, String, u64)> {
        let MappedAt::Area(start, area) = self.processes.find(pid, address) else { return None };
        let Backing::File { key: Some(key), name } = &area.source.backing else { return None };
        let file = Arc::clone(self.files.get(key)?);
        Some((file, String::from_utf8_lossy(name).into_owned(), (address - start).wrapping_add(area.file_offset)))
    }

    fn open(&mut self, map: &NewMap, link: &AgentLink) {
        let key = match &map.file {
            MapFile::BuildId(id) => FileKey::BuildId(id.clone()),
            MapFile::Inode { device, inode } => FileKey::Inode { device: *device, inode: *inode },
            MapFile::Unknown => return,
        };
        // Other mappings, such as `[vdso]` and `//anon`, are of no file.
        if !map.name.starts_with(b"/") || map.name.starts_with(b"//") {
            return;
        }
        if self.files.contains_key(&key) || self.files.len() >= MAX_FILES {
            return;
        }
        let (pid, start, end) = (map.pid, map.start, map.end);
        let by_process = link.call_blocking(move |it| it.open_process_file(pid, ProcessFile::Mapped { start, end }));
        if let Some(file) = by_process.ok().or_else(|| open_by_name(link, &key, &map.name)) {
            self.files.insert(key, Arc::new(file));
        }
    }
}

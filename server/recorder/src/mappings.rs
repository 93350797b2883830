//! What is mapped where in which process, from `/proc/PID/maps` and from the side-band records after it.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

use bathyscope_capture::{MappingId, StringId, visible};
use bathyscope_decode::perf::{MapFile, NewMap};
use bathyscope_symbols::ProcessMaps;

/// The most areas of one process.
const MAX_AREAS: usize = 1 << 16;
/// The most processes whose areas are kept.
const MAX_PROCESSES: usize = 1 << 15;
/// The most threads whose names are kept.
const MAX_THREADS: usize = 1 << 18;
/// How many processes that have ended are remembered: their last samples may still come.
const MAX_ENDED: usize = 1024;

/// How a file is told from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileKey {
    /// By its build id.
    BuildId(Vec<u8>),
    /// By its inode, where it has no build id.
    Inode {
        /// Major and minor number of the device.
        device: (u32, u32),
        /// The number there.
        inode: u64,
    },
}

/// What an area is mapped from.
#[derive(Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file.
    File {
        /// Which file, once that is known.
        key: Option<FileKey>,
        /// Its path, as the process has it.
        name: Vec<u8>,
    },
    /// Code that the kernel lends to every process, such as `[vdso]`.
    Kernel {
        /// As the kernel calls it.
        name: Vec<u8>,
    },
    /// Memory in which a run-time compiler may have put code.
    Anonymous {
        /// As the kernel calls it; often nothing.
        name: Vec<u8>,
    },
}

/// A range of a process's memory that code can run from.
#[derive(Clone, Debug)]
pub struct Area {
    pub end: u64,
    pub file_offset: u64,
    pub source: Arc<MappedFile>,
}

/// What areas of one mapping have in common.
#[derive(Debug)]
pub struct MappedFile {
    pub backing: Backing,
    /// The range as it was mapped, to ask for the file.
    pub range: (u64, u64),
    /// Its id once a frame needed one.
    pub mapping: OnceLock<MappingId>,
}

#[derive(Clone, Debug, Default)]
struct MappingTable {
    areas: Arc<BTreeMap<u64, Area>>,
    /// Whether nothing is missing: it began empty, or a snapshot was entered.
    complete: bool,
    parent: u32,
}

/// What is at an address.
#[derive(Debug)]
pub enum Place {
    /// An area, and where it begins.
    Area(u64, Area),
    /// Nothing that is known.
    Nothing,
    /// The process's mappings have not been read yet.
    Unread,
}

/// The processes of a capture: names of threads, and areas.
#[derive(Debug, Default)]
pub struct Processes {
    tables: HashMap<u32, MappingTable>,
    names: HashMap<u32, StringId>,
    /// Whose threads are.
    leaders: HashMap<u32, u32>,
    ended: VecDeque<u32>,
}

impl Processes {
    /// The name of a thread, or of its process.
    pub fn name(&self, pid: u32, tid: u32) -> StringId {
        self.names.get(&tid).or_else(|| self.names.get(&pid)).copied().unwrap_or(0)
    }

    /// The process that a thread belongs to, if the side band or somebody else told.
    pub fn leader(&self, tid: u32) -> Option<u32> {
        self.leaders.get(&tid).copied()
    }

    /// A thread belongs to a process.
    pub fn set_leader(&mut self, tid: u32, pid: u32) {
        if self.leaders.len() < MAX_THREADS || self.leaders.contains_key(&tid) {
            self.leaders.insert(tid, pid);
        }
    }

    /// A thread got a name.
    pub fn set_name(&mut self, tid: u32, name: StringId) {
        if self.names.len() < MAX_THREADS || self.names.contains_key(&tid) {
            self.names.insert(tid, name);
        }
    }

    /// A thread that existed before got its name read, unless a later one is known.
    ///
    /// Whether it had none before.
    pub fn set_first_name(&mut self, tid: u32, name: StringId) -> bool {
        let is_new = self.names.len() < MAX_THREADS && !self.names.contains_key(&tid);
        if is_new {
            self.names.insert(tid, name);
        }
        is_new
    }

    /// A process executed a program: all its memory is new.
    pub fn exec(&mut self, pid: u32) {
        self.put(pid, MappingTable { complete: true, ..MappingTable::default() });
    }

    /// A process or thread was made.
    pub fn fork(&mut self, pid: u32, tid: u32, parent_pid: u32, parent_tid: u32) {
        self.set_leader(tid, pid);
        let name = self.name(parent_pid, parent_tid);
        if name != 0 {
            self.set_name(tid, name);
        }
        if pid != parent_pid {
            let inherited = self.tables.get(&parent_pid).cloned().unwrap_or_default();
            self.put(pid, MappingTable { parent: parent_pid, ..inherited });
        }
    }

    /// A thread ended. Gives the processes that are forgotten with it: those that ended long before.
    pub fn exit(&mut self, pid: u32, tid: u32) -> Vec<u32> {
        if pid != tid {
            self.names.remove(&tid);
            return Vec::new();
        }
        self.ended.push_back(pid);
        let long_ago: Vec<u32> = self.ended.drain(..self.ended.len().saturating_sub(MAX_ENDED)).collect();
        for pid in &long_ago {
            self.tables.remove(pid);
            self.names.remove(pid);
        }
        long_ago
    }

    fn put(&mut self, pid: u32, table: MappingTable) {
        // The number is in use again, so what is known of it must not be forgotten with the earlier process.
        self.ended.retain(|ended| *ended != pid);
        if self.tables.len() < MAX_PROCESSES || self.tables.contains_key(&pid) {
            self.tables.insert(pid, table);
        }
    }

    /// A process mapped memory over whatever was there.
    pub fn map(&mut self, new: NewMap) {
        if !self.tables.contains_key(&new.pid) {
            self.put(new.pid, MappingTable::default());
        }
        let Some(table) = self.tables.get_mut(&new.pid) else { return };
        let key = match new.file {
            MapFile::BuildId(id) => Some(FileKey::BuildId(id)),
            MapFile::Inode { device, inode } => Some(FileKey::Inode { device, inode }),
            MapFile::Unknown => None,
        };
        let source =
            MappedFile { backing: backing(key, new.name), range: (new.start, new.end), mapping: OnceLock::new() };
        let area = Area { end: new.end, file_offset: new.file_offset, source: Arc::new(source) };
        let areas = Arc::make_mut(&mut table.areas);
        clear(areas, new.start, new.end);
        if areas.len() < MAX_AREAS {
            areas.insert(new.start, area);
        }
    }

    /// Enters what `/proc/PID/maps` says beneath what is known already, which is newer or has a build id.
    pub fn snapshot(&mut self, pid: u32, maps: ProcessMaps) {
        if self.tables.get(&pid).is_some_and(|table| table.complete) {
            return;
        }
        let mut areas = BTreeMap::new();
        for map in maps.maps.into_iter().filter(|map| map.executable).take(MAX_AREAS) {
            let key = (map.inode != 0).then_some(FileKey::Inode { device: map.device, inode: map.inode });
            let source =
                MappedFile { backing: backing(key, map.name), range: (map.start, map.end), mapping: OnceLock::new() };
            let area = Area { end: map.end, file_offset: map.file_offset, source: Arc::new(source) };
            clear(&mut areas, map.start, map.end);
            areas.insert(map.start, area);
        }
        let known = self.tables.get(&pid).cloned().unwrap_or_default();
        for (start, area) in known.areas.iter() {
            clear(&mut areas, *start, area.end);
            areas.insert(*start, area.clone());
        }
        self.put(pid, MappingTable { areas: Arc::new(areas), complete: true, parent: known.parent });
    }

    /// A process's mappings cannot be read: what is known of it, or of the one that forked it, must do.
    pub fn give_up(&mut self, pid: u32) {
        let parent = self.tables.get(&pid).map_or(0, |table| table.parent);
        let inherited = self.tables.get(&parent).filter(|table| table.complete).map(|table| Arc::clone(&table.areas));
        let mut table = self.tables.get(&pid).cloned().unwrap_or_default();
        table.complete = true;
        if let Some(inherited) = inherited {
            let own = std::mem::replace(&mut table.areas, inherited);
            let areas = Arc::make_mut(&mut table.areas);
            for (start, area) in own.iter() {
                clear(areas, *start, area.end);
                areas.insert(*start, area.clone());
            }
        }
        self.put(pid, table);
    }

    /// An address in words: the file's last name and the offset in it.
    pub fn describe(&self, pid: u32, address: u64) -> String {
        let Place::Area(start, area) = self.find(pid, address) else { return format!("{address:#x}") };
        match &area.source.backing {
            Backing::File { name, .. } => {
                let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                format!("{}+{:#x}", visible(last), (address - start).wrapping_add(area.file_offset))
            }
            Backing::Kernel { name } => visible(name),
            Backing::Anonymous { name } => format!("{} {address:#x}", visible(name)),
        }
    }

    /// The name of the file that is mapped at an address of a process.
    pub fn file_name(&self, pid: u32, address: u64) -> Option<Vec<u8>> {
        let Place::Area(_, area) = self.find(pid, address) else { return None };
        if let Backing::File { name, .. } = &area.source.backing { Some(name.clone()) } else { None }
    }

    /// What is at an address of a process.
    pub fn find(&self, pid: u32, address: u64) -> Place {
        let Some(table) = self.tables.get(&pid) else { return Place::Unread };
        match table.areas.range(..=address).next_back().filter(|(_, area)| address < area.end) {
            Some((start, area)) => Place::Area(*start, area.clone()),
            None if table.complete => Place::Nothing,
            None => Place::Unread,
        }
    }
}

/// Removes what lies in a range, and cuts what reaches into it.
fn clear(areas: &mut BTreeMap<u64, Area>, start: u64, end: u64) {
    let before = areas.range(..start).next_back().map(|(start, area)| (*start, area.clone()));
    if let Some((before_start, area)) = before.filter(|(_, area)| area.end > start) {
        if area.end > end {
            areas.insert(end, from(before_start, &area, end));
        }
        areas.insert(before_start, Area { end: start, ..area });
    }
    let inside: Vec<u64> = areas.range(start..end).map(|(start, _)| *start).collect();
    for inner_start in inside {
        if let Some(area) = areas.remove(&inner_start).filter(|area| area.end > end) {
            areas.insert(end, from(inner_start, &area, end));
        }
    }
}

/// The part of an area from `at` on.
fn from(start: u64, area: &Area, at: u64) -> Area {
    Area { file_offset: area.file_offset.wrapping_add(at - start), ..area.clone() }
}

fn backing(key: Option<FileKey>, name: Vec<u8>) -> Backing {
    let starts = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if name == b"[vdso]" || name == b"[vsyscall]" || name == b"[uprobes]" {
        Backing::Kernel { name }
    } else if name.is_empty()
        || starts(&[b"//anon", b"[", b"/memfd:", b"/dev/zero", b"/SYSV", b"/anon_hugepage", b"/dev/shm/"])
    {
        // The kernel's event says `//anon` where /proc says nothing. Files in memory are where compilers put code.
        let named = name.starts_with(b"[") || name.starts_with(b"/memfd:");
        Backing::Anonymous { name: if named { name } else { b"[anon]".to_vec() } }
    } else {
        Backing::File { key, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pid: u32, start: u64, end: u64, file_offset: u64, name: &str) -> NewMap {
        NewMap { pid, start, end, file_offset, file: MapFile::Unknown, name: name.into(), executable: true }
    }

    fn found(processes: &Processes, pid: u32, address: u64) -> String {
        match processes.find(pid, address) {
            Place::Nothing => "nothing".to_owned(),
            Place::Unread => "unread".to_owned(),
            Place::Area(start, area) => {
                let name = match &area.source.backing {
                    Backing::File { name, .. } | Backing::Kernel { name } | Backing::Anonymous { name } => name,
                };
                let offset = address - start + area.file_offset;
                format!("{}+{offset:x}", String::from_utf8_lossy(name))
            }
        }
    }

    #[test]
    fn later_mappings_cover_earlier_ones() {
        let mut processes = Processes::default();
        processes.exec(1);
        processes.map(map(1, 0x1000, 0x5000, 0x100, "/a"));
        processes.map(map(1, 0x2000, 0x3000, 0, "/b"));
        let cases =
            [(0xfff, "nothing"), (0x1010, "/a+110"), (0x2010, "/b+10"), (0x3010, "/a+2110"), (0x5000, "nothing")];
        for (address, expected) in cases {
            assert_eq!(found(&processes, 1, address), expected, "{address:x}");
        }
        processes.map(map(1, 0x800, 0x4800, 0, "/c"));
        assert_eq!(found(&processes, 1, 0x2010), "/c+1810");
        assert_eq!(found(&processes, 1, 0x4900), "/a+3a00");
    }

    #[test]
    fn children_inherit_until_they_execute() {
        let mut processes = Processes::default();
        processes.exec(1);
        processes.map(map(1, 0x1000, 0x2000, 0, "/a"));
        processes.fork(2, 2, 1, 1);
        processes.map(map(1, 0x1000, 0x2000, 0, "/b"));
        assert_eq!((found(&processes, 1, 0x1000), found(&processes, 2, 0x1000)), ("/b+0".into(), "/a+0".into()));
        processes.exec(2);
        assert_eq!(found(&processes, 2, 0x1000), "nothing");
        assert_eq!(found(&processes, 3, 0x1000), "unread");
    }

    #[test]
    fn a_snapshot_lies_beneath_what_happened_since() {
        let mut processes = Processes::default();
        processes.map(map(1, 0x1000, 0x2000, 0, "/newer"));
        assert_eq!(found(&processes, 1, 0x1000), "/newer+0");
        assert_eq!(found(&processes, 1, 0x3000), "unread");
        let text = b"1000-4000 r-xp 00000000 08:01 77 /older\n5000-6000 rw-p 00000000 00:00 0 [heap]\n";
        processes.snapshot(1, ProcessMaps::parse(text));
        assert_eq!(
            (found(&processes, 1, 0x1000), found(&processes, 1, 0x3000)),
            ("/newer+0".into(), "/older+2000".into())
        );
        assert_eq!(found(&processes, 1, 0x5000), "nothing", "it cannot be executed");
        processes.exec(1);
        processes.snapshot(1, ProcessMaps::parse(text));
        assert_eq!(found(&processes, 1, 0x3000), "nothing", "what is complete is newer than any snapshot");
    }

    #[test]
    fn a_child_that_is_gone_falls_back_on_its_parent() {
        let mut processes = Processes::default();
        processes.fork(2, 2, 1, 1);
        processes.map(map(2, 0x9000, 0xa000, 0, "/own"));
        processes.snapshot(1, ProcessMaps::parse(b"1000-4000 r-xp 00000000 08:01 77 /parents\n"));
        processes.give_up(2);
        assert_eq!(
            (found(&processes, 2, 0x1000), found(&processes, 2, 0x9000)),
            ("/parents+0".into(), "/own+0".into())
        );
    }

    #[test]
    fn memory_without_a_file_is_named() {
        let cases = [("", "[anon]"), ("//anon", "[anon]"), ("[anon:jit]", "[anon:jit]"), ("[vdso]", "[vdso]")];
        for (name, expected) in cases {
            let mut processes = Processes::default();
            processes.map(map(1, 0x1000, 0x2000, 0, name));
            assert_eq!(found(&processes, 1, 0x1000), format!("{expected}+0"));
        }
    }

    #[test]
    fn names_of_threads_come_and_go() {
        let mut processes = Processes::default();
        processes.set_first_name(1, 5);
        processes.fork(1, 9, 1, 1);
        assert_eq!((processes.name(1, 9), processes.name(1, 77), processes.name(4, 4)), (5, 5, 0));
        processes.set_name(9, 6);
        processes.set_first_name(9, 7);
        assert_eq!(processes.name(1, 9), 6);
        processes.exit(1, 9);
        assert_eq!(processes.name(1, 9), 5);
        for pid in 100..100 + MAX_ENDED as u32 + 10 {
            processes.exec(pid);
            processes.exit(pid, pid);
        }
        assert!(processes.tables.len() <= MAX_ENDED + 1);
    }
}

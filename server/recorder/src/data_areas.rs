//! What the data of processes lies in: all that they have mapped, where samples tell addresses of data. What code runs
//! from is kept apart (`mappings`), since it is needed always and is far less.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bathyscope_symbols::ProcessMaps;

/// The most areas of one process.
const MAX_AREAS: usize = 1 << 16;
/// The most processes whose areas are kept.
const MAX_PROCESSES: usize = 1 << 12;
/// The first address of the kernel's half.
pub(crate) const KERNEL_HALF: u64 = 1 << 63;

/// A process's mappings have not been read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unread;

type Areas = BTreeMap<u64, (u64, Arc<[u8]>)>;

#[derive(Clone, Debug, Default)]
struct DataTable {
    areas: Arc<Areas>,
    /// Whether nothing is missing: it began empty, or what there was has been read.
    complete: bool,
}

/// The areas of all processes.
#[derive(Debug, Default)]
pub(crate) struct DataAreas {
    tables: HashMap<u32, DataTable>,
}

impl DataAreas {
    /// A process executed a program: all its memory is new.
    pub(crate) fn exec(&mut self, pid: u32) {
        self.put(pid, DataTable { complete: true, ..DataTable::default() });
    }

    /// A process was made, with a copy of what its parent has.
    pub(crate) fn fork(&mut self, pid: u32, parent: u32) {
        let inherited = self.tables.get(&parent).cloned().unwrap_or_default();
        self.put(pid, inherited);
    }

    /// A process ended long ago.
    pub(crate) fn forget(&mut self, pid: u32) {
        self.tables.remove(&pid);
    }

    fn put(&mut self, pid: u32, table: DataTable) {
        if self.tables.len() < MAX_PROCESSES || self.tables.contains_key(&pid) {
            self.tables.insert(pid, table);
        }
    }

    /// A process mapped memory over whatever was there.
    pub(crate) fn map(&mut self, pid: u32, (start, end): (u64, u64), name: &[u8]) {
        if !self.tables.contains_key(&pid) {
            self.put(pid, DataTable::default());
        }
        let Some(table) = self.tables.get_mut(&pid) else { return };
        insert(Arc::make_mut(&mut table.areas), (start, end), named(name));
    }

    /// Enters what `/proc/PID/maps` says beneath what is known already, which is newer.
    pub(crate) fn snapshot(&mut self, pid: u32, maps: &ProcessMaps) {
        if self.tables.get(&pid).is_some_and(|table| table.complete) {
            return;
        }
        let mut areas = Areas::new();
        for map in &maps.maps {
            insert(&mut areas, (map.start, map.end), named(&map.name));
        }
        let known = self.tables.get(&pid).cloned().unwrap_or_default();
        for (start, (end, name)) in known.areas.iter() {
            insert(&mut areas, (*start, *end), Arc::clone(name));
        }
        self.put(pid, DataTable { areas: Arc::new(areas), complete: true });
    }

    /// A process's mappings cannot be read: what is known of it must do.
    pub(crate) fn give_up(&mut self, pid: u32) {
        let known = self.tables.get(&pid).cloned().unwrap_or_default();
        self.put(pid, DataTable { complete: true, ..known });
    }

    /// The name of what is at an address: a path, or `[heap]`, `[stack]`, `[anon]`, `[kernel]`. None where nothing is known.
    pub(crate) fn find(&self, pid: u32, address: u64) -> Result<Option<Arc<[u8]>>, Unread> {
        if address == 0 {
            return Ok(None);
        }
        if address >= KERNEL_HALF {
            return Ok(Some(Arc::from(&b"[kernel]"[..])));
        }
        let Some(table) = self.tables.get(&pid) else { return Err(Unread) };
        match table.areas.range(..=address).next_back().filter(|(_, (end, _))| address < *end) {
            Some((_, (_, name))) => Ok(Some(Arc::clone(name))),
            None if table.complete => Ok(None),
            None => Err(Unread),
        }
    }
}

/// The kernel's event says `//anon` where /proc says nothing.
fn named(name: &[u8]) -> Arc<[u8]> {
    let name = if name.is_empty() || name == b"//anon" { &b"[anon]"[..] } else { name };
    Arc::from(name)
}

/// Puts an area over whatever was there.
fn insert(areas: &mut Areas, (start, end): (u64, u64), name: Arc<[u8]>) {
    let before = areas.range(..start).next_back().map(|(at, (end, name))| (*at, *end, Arc::clone(name)));
    if let Some((at, before_end, before_name)) = before.filter(|(_, before_end, _)| *before_end > start) {
        if before_end > end {
            areas.insert(end, (before_end, Arc::clone(&before_name)));
        }
        areas.insert(at, (start, before_name));
    }
    let inside: Vec<u64> = areas.range(start..end).map(|(at, _)| *at).collect();
    for at in inside {
        if let Some((inner_end, inner_name)) = areas.remove(&at).filter(|(inner_end, _)| *inner_end > end) {
            areas.insert(end, (inner_end, inner_name));
        }
    }
    if areas.len() < MAX_AREAS {
        areas.insert(start, (end, name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(areas: &DataAreas, pid: u32, address: u64) -> String {
        match areas.find(pid, address) {
            Err(Unread) => "unread".to_owned(),
            Ok(None) => "nothing".to_owned(),
            Ok(Some(name)) => String::from_utf8_lossy(&name).into_owned(),
        }
    }

    #[test]
    fn later_areas_cover_earlier_ones() {
        let mut areas = DataAreas::default();
        areas.exec(1);
        areas.map(1, (0x1000, 0x5000), b"/a");
        areas.map(1, (0x2000, 0x3000), b"//anon");
        for (address, expected) in [
            (0xfff, "nothing"),
            (0x1000, "/a"),
            (0x2fff, "[anon]"),
            (0x3000, "/a"),
            (0x5000, "nothing"),
            (0, "nothing"),
            (u64::MAX, "[kernel]"),
        ] {
            assert_eq!(found(&areas, 1, address), expected, "{address:x}");
        }
        areas.map(1, (0x800, 0x4800), b"[heap]");
        assert_eq!((found(&areas, 1, 0x2000), found(&areas, 1, 0x4800)), ("[heap]".into(), "/a".into()));
    }

    #[test]
    fn what_was_there_before_is_read_once() {
        let mut areas = DataAreas::default();
        assert_eq!(found(&areas, 7, 0x1000), "unread");
        areas.map(7, (0x2000, 0x3000), b"/new");
        assert_eq!((found(&areas, 7, 0x1000), found(&areas, 7, 0x2000)), ("unread".into(), "/new".into()));
        let maps = ProcessMaps::parse(
            b"1000-4000 rw-p 00000000 00:00 0 [heap]\n7ff000-800000 rw-p 00000000 00:00 0 [stack]\n",
        );
        areas.snapshot(7, &maps);
        areas.fork(8, 7);
        for pid in [7, 8] {
            assert_eq!(found(&areas, pid, 0x1000), "[heap]");
            assert_eq!(found(&areas, pid, 0x2000), "/new");
            assert_eq!(found(&areas, pid, 0x7ff010), "[stack]");
        }
        areas.map(8, (0x1000, 0x2000), b"/child");
        assert_eq!((found(&areas, 7, 0x1000), found(&areas, 8, 0x1000)), ("[heap]".into(), "/child".into()));
        areas.give_up(9);
        areas.forget(8);
        assert_eq!((found(&areas, 9, 1), found(&areas, 8, 1)), ("nothing".into(), "unread".into()));
    }
}

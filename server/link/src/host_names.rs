//! Names that scripts show and that this process can find by itself: kernel symbols from a table that the agent opened,
//! users, cgroups, wall time.

use std::{
    cell::RefCell,
    collections::HashMap,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use bathyscope_decode::script::{Names, Symbol, WallTime};
use bathyscope_plan::Clock;
use bathyscope_symbols::Kallsyms;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

/// The most directories that are looked through for a cgroup.
const MAX_CGROUPS: usize = 20_000;
/// The most that is read of a table of users.
const MAX_USERS_BYTES: u64 = 16 << 20;

/// Facts of this host, as [`Names`] wants them. Addresses in processes have no names here.
#[derive(Debug, Default)]
pub struct HostNames {
    kernel: Option<Arc<Kallsyms>>,
    users: RefCell<Option<HashMap<u32, String>>>,
    cgroups: RefCell<HashMap<u64, Option<String>>>,
}

impl HostNames {
    /// With the kernel's symbols, where they are known.
    pub fn new(kernel: Option<Arc<Kallsyms>>) -> Self {
        Self { kernel, ..Self::default() }
    }
}

impl Names for HostNames {
    fn kernel_symbol(&self, address: u64) -> Option<Symbol> {
        let kernel = self.kernel.as_deref()?;
        let found = kernel.lookup(kernel.normalise(address))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Symbol {
            name: text(found.name),
            offset: found.offset,
            module: found.module.map(text).unwrap_or_default(),
        })
    }

    fn user_name(&self, uid: u32) -> Option<String> {
        self.users.borrow_mut().get_or_insert_with(users).get(&uid).cloned()
    }

    fn cgroup_path(&self, id: u64, filter: &str) -> Option<String> {
        if !filter.is_empty() && !"unified".contains(filter.trim_matches('*')) {
            return None;
        }
        let mut known = self.cgroups.borrow_mut();
        let path = known.entry(id).or_insert_with(|| cgroup(Path::new("/sys/fs/cgroup"), id));
        path.as_ref().map(|path| format!("unified:{path}"))
    }

    fn wall_time(&self, clock: Clock, ns: u64) -> Option<WallTime> {
        let own_ns = match clock {
            Clock::Monotonic => now_ns(ClockId::Monotonic),
            Clock::Boot => now_ns(ClockId::Boottime),
            Clock::Tai => ns_of(clock_gettime_dynamic(DynamicClockId::Tai).ok()?),
        };
        // Taken anew each time: the wall clock may have been set since.
        Some(local(i128::from(ns) + now_ns(ClockId::Realtime) - own_ns))
    }
}

fn now_ns(clock: ClockId) -> i128 {
    ns_of(clock_gettime(clock))
}

fn ns_of(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// A moment in this host's time zone.
pub fn local(unix_ns: i128) -> WallTime {
    let timestamp = jiff::Timestamp::from_nanosecond(unix_ns).unwrap_or_default();
    let zone = jiff::tz::TimeZone::system();
    let info = zone.to_offset_info(timestamp);
    WallTime { unix_ns, offset_seconds: info.offset().seconds(), zone: info.abbreviation().to_owned() }
}

fn users() -> HashMap<u32, String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open("/etc/passwd") {
        // What can be read of it is used.
        let _partial = file.take(MAX_USERS_BYTES).read_to_end(&mut bytes);
    }
    let line = |line: &[u8]| {
        let mut parts = line.split(|byte| *byte == b':');
        let (name, id) = (parts.next()?, parts.nth(1)?);
        Some((std::str::from_utf8(id).ok()?.parse().ok()?, String::from_utf8_lossy(name).into_owned()))
    };
    bytes.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// The path below `root` of the directory with an inode: a cgroup's id is its directory's inode.
fn cgroup(root: &Path, id: u64) -> Option<String> {
    let mut waiting: Vec<PathBuf> = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(directory) = waiting.pop() {
        if directory.metadata().is_ok_and(|metadata| metadata.ino() == id) {
            let below = directory.strip_prefix(root).ok()?;
            return Some(format!("/{}", below.display()));
        }
        seen += 1;
        if seen > MAX_CGROUPS {
            return None;
        }
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(below.map(|entry| entry.path()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_found_by_its_inode() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let inode = inner.metadata().unwrap().ino();
        assert_eq!(cgroup(root.path(), inode).as_deref(), Some("/a/b"));
        assert_eq!(cgroup(root.path(), root.path().metadata().unwrap().ino()).as_deref(), Some("/"));
        assert_eq!(cgroup(root.path(), 1), None);
    }

    #[test]
    fn the_monotonic_clock_is_told_as_wall_time() {
        let names = HostNames::default();
        let now = names.wall_time(Clock::Monotonic, crate::clock::monotonic_ns()).unwrap();
        assert!((now.unix_ns - now_ns(ClockId::Realtime)).abs() < 60_000_000_000);
        assert_eq!(names.user_name(0).as_deref(), Some("root"));
    }
}

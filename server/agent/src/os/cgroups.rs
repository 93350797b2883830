//! Ids of control groups (version 2).
//!
//! The id of a group is the inode of its folder. Paths come from scripts: only folders of that file system are looked at, and
//! no symbolic link is followed.

use std::path::Path;

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{Mode, OFlags, ResolveFlags},
};

/// The number that statfs(2) gives for the file system of control groups, version 2.
const CGROUP2_MAGIC: u32 = 0x6367_7270;
/// The most places at which it is mounted that are tried.
const MAX_MOUNTS: usize = 16;
/// The deepest group whose threads are looked for.
const MAX_LEVEL: u32 = 24;
const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// As perf wants it: a path alone is not enough.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A control group of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlGroup {
    /// The inode of its folder.
    pub(crate) id: u64,
    /// How many groups are above it; 0 for the root.
    pub(crate) level: u32,
}

/// Where control groups of version 2 are mounted.
pub(crate) fn first_mount() -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mount_points(&mounts).next().map(str::to_owned)
}

/// What `find` gives at the first place where control groups are mounted that has this path: below the place if the path
/// begins with it, else from the root on.
fn at_mount<T>(path: &str, find: impl Fn(&str, &Path) -> Option<T>) -> Option<T> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounts: Vec<&str> = mount_points(&mounts).take(MAX_MOUNTS).collect();
    let with_mount = mounts.iter().find_map(|mount| find(mount, Path::new(path).strip_prefix(mount).ok()?));
    with_mount.or_else(|| mounts.iter().find_map(|mount| find(mount, Path::new(path.trim_start_matches('/')))))
}

/// A control group by its path, which may be written as for [`cgroup_id`].
pub(crate) fn group(path: &str) -> Option<ControlGroup> {
    at_mount(path, |mount, below| {
        let id = rustix::fs::fstat(&open_in(mount, below)?).ok()?.st_ino;
        let parts = below.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
        Some(ControlGroup { id, level: u32::try_from(parts.count()).ok()? })
    })
}

/// The threads of a control group and of those below it; none if it is gone.
pub(crate) fn group_threads(path: &str) -> Vec<u32> {
    fn add(folder: &Path, level: u32, threads: &mut Vec<u32>) {
        let text = std::fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
        threads.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok()));
        let below = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for entry in below.filter(|entry| level > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            add(&entry.path(), level - 1, threads);
        }
    }
    let threads = at_mount(path, |mount, below| {
        open_in(mount, below)?;
        let mut threads = Vec::new();
        add(&Path::new(mount).join(below), MAX_LEVEL, &mut threads);
        Some(threads)
    });
    threads.unwrap_or_default()
}

/// The id of a control group by its path: with the place where the file system is mounted (`/sys/fs/cgroup/system.slice`), or
/// from its root on (`system.slice`, `/system.slice`), as `/proc/PID/cgroup` has it. None if there is no such group.
pub fn cgroup_id(path: &str) -> Option<u64> {
    group(path).map(|group| group.id)
}

/// The folder of a control group, open, by its path as in [`cgroup_id`].
pub(crate) fn open_cgroup(path: &str) -> Option<OwnedFd> {
    at_mount(path, open_in)
}

/// Where control groups of version 2 are mounted. What has unusual characters in its path is left out.
fn mount_points(mounts: &str) -> impl Iterator<Item = &str> {
    mounts.lines().filter_map(|line| {
        let (place, system) = line.split_once(" - ")?;
        let point = place.split_ascii_whitespace().nth(4)?;
        (system.starts_with("cgroup2 ") && !point.contains('\\')).then_some(point)
    })
}

fn open_in(mount: &str, group: &Path) -> Option<OwnedFd> {
    let root = rustix::fs::open(mount, FLAGS, Mode::empty()).ok()?;
    if !is_group(&root) {
        return None;
    }
    let group = if group.as_os_str().is_empty() { Path::new(".") } else { group };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let folder = rustix::fs::openat2(&root, group, FOLDER, Mode::empty(), resolve).ok()?;
    is_group(&folder).then_some(folder)
}

fn is_group(folder: &OwnedFd) -> bool {
    // As many bits as the number has.
    rustix::fs::fstatfs(folder.as_fd()).is_ok_and(|system| system.f_type as u32 == CGROUP2_MAGIC)
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what was skipped is told")]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n\
        42 31 0:38 / /mnt/a\\040b rw - cgroup2 cgroup2 rw\n\
        odd line\n";

    #[test]
    fn only_version_two_counts() {
        assert_eq!(mount_points(MOUNTS).collect::<Vec<_>>(), ["/sys/fs/cgroup/unified"]);
    }

    #[test]
    fn groups_are_found_by_either_path() {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let Some(mount) = mount_points(&mounts).next() else {
            println!("SKIPPED: ids of groups — control groups of version 2");
            return;
        };
        let root = std::fs::metadata(mount).unwrap().ino();
        assert_eq!((cgroup_id(mount), cgroup_id("/"), cgroup_id("")), (Some(root), Some(root), Some(root)));
        for entry in std::fs::read_dir(mount).unwrap().filter_map(Result::ok).filter(|it| it.path().is_dir()).take(3) {
            let (path, name) = (entry.path(), entry.file_name());
            let id = Some(entry.metadata().unwrap().ino());
            assert_eq!((cgroup_id(path.to_str().unwrap()), cgroup_id(name.to_str().unwrap())), (id, id), "{path:?}");
        }
        for wrong in ["/proc", "/etc", "../..", "no such group", "cgroup.procs", "a\0b"] {
            assert_eq!(cgroup_id(wrong), None, "{wrong}");
            assert_eq!(cgroup_id(&format!("{mount}/{wrong}")), None, "{wrong}");
        }
    }
}

//! What processes use: files of `/proc/PID`, collected for the console, which reads them. Nothing of them is looked at here.

use std::{fs::File, io::Read as _};

use bathyscope_protocol::{ActivityPage, AgentError, MAX_ACTIVITY_BYTES, MAX_ACTIVITY_PROCESSES};

use super::files::{ProcessFolder, list_processes};

/// The most of `stat` of a process: a line of 52 numbers and a name.
const MAX_STAT_BYTES: u16 = 1024;
/// The most of `io`: seven lines with a number each.
const MAX_IO_BYTES: u16 = 512;
/// The most of `cgroup`: a path for each hierarchy.
const MAX_CGROUP_BYTES: u16 = 4096;
/// The most bytes that a process adds to a page.
const MAX_PROCESS_BYTES: usize = 14 + (MAX_STAT_BYTES + MAX_IO_BYTES + MAX_CGROUP_BYTES) as usize;

/// A page of the processes with a greater id than `after`; those that have ended meanwhile are not in it.
pub(super) fn page(after: u32) -> Result<(ActivityPage, Vec<u8>), AgentError> {
    let (pids, _all) = list_processes(after, usize::MAX)?;
    let mut bytes = Vec::new();
    let (mut count, mut looked_at, mut last) = (0, 0, after);
    for pid in pids.iter().take(MAX_ACTIVITY_PROCESSES) {
        if bytes.len() + MAX_PROCESS_BYTES > MAX_ACTIVITY_BYTES {
            break;
        }
        (looked_at, last) = (looked_at + 1, *pid);
        count += u32::from(add(&mut bytes, *pid).is_some());
    }
    let left = u32::try_from(pids.len() - looked_at).unwrap_or(u32::MAX);
    Ok((ActivityPage { count, last, left }, bytes))
}

/// Adds a process; none if it has ended.
fn add(bytes: &mut Vec<u8>, pid: u32) -> Option<()> {
    let process = ProcessFolder::open(pid).ok()?;
    // The folder belongs to the user that the process runs as; its files belong to root where it cannot be dumped.
    let uid = rustix::fs::fstat(&process.directory).ok()?.st_uid;
    let stat = read(&process, "stat", MAX_STAT_BYTES);
    if stat.is_empty() {
        return None;
    }
    bytes.extend(pid.to_le_bytes());
    bytes.extend(uid.to_le_bytes());
    for file in [stat, read(&process, "io", MAX_IO_BYTES), read(&process, "cgroup", MAX_CGROUP_BYTES)] {
        bytes.extend(u16::try_from(file.len()).unwrap_or(0).to_le_bytes());
        bytes.extend(file);
    }
    Some(())
}

/// The beginning of a file of a process; empty if it cannot be read.
fn read(process: &ProcessFolder, name: &'static str, most: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    match process.open_own(name) {
        Ok(file) => match File::from(file).take(u64::from(most)).read_to_end(&mut bytes) {
            Ok(_count) => bytes,
            Err(_ended) => Vec::new(),
        },
        Err(_refused) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_read_by_pages_with_their_user() {
        let own = std::process::id();
        let (page, bytes) = page(own - 1).unwrap();
        assert!(page.count >= 1 && page.last >= own, "{page:?}");
        assert_eq!(bytes[..4], own.to_le_bytes());
        assert_eq!(bytes[4..8], rustix::process::geteuid().as_raw().to_le_bytes());
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let stat = String::from_utf8_lossy(&bytes[10..10 + length]).into_owned();
        assert!(stat.starts_with(&format!("{own} (")) && stat.ends_with('\n'), "{stat}");
        let (rest, none) = super::page(u32::MAX).unwrap();
        assert_eq!((rest, none.len()), (ActivityPage { count: 0, last: u32::MAX, left: 0 }, 0));
    }
}

//! Giving up every right, for good, and checking that none is left.

use std::os::fd::OwnedFd;

use bathyscope_protocol::sandbox::{keep_capabilities, shrink_bounding_set};
use bathyscope_recorder::URGENT_NICE_LIMIT;
use rustix::{
    process::{DumpableBehavior, Resource, Rlimit, Signal},
    thread::{CapabilitySet, Gid, Uid},
};

use crate::Failure;

/// Makes this process the console: raises the limits that its work needs, gives up every right, and is told to end when
/// the process `supervisor` ends. To be called before any thread exists.
///
/// # Errors
/// If a right remains, or the supervisor is gone already.
pub fn confine(uid: Option<u32>, gid: Option<u32>, supervisor: Option<u32>) -> Result<(), Failure> {
    raise_limits();
    allow_urgent_threads();
    give_up_rights(uid, gid)?;
    // It stores what it has first.
    supervisor.map_or(Ok(()), |supervisor| follow(supervisor, Signal::TERM))
}

/// Makes this process one that does one thing for the console: gives up every right, and ends with the process `parent` that started
/// it, also when it is stopped. To be called before any thread exists.
///
/// # Errors
/// If a right remains, or the parent is gone already.
pub fn confine_helper(uid: Option<u32>, gid: Option<u32>, parent: u32) -> Result<(), Failure> {
    give_up_rights(uid, gid)?;
    follow(parent, Signal::KILL)
}

/// Has the kernel send this process a signal when its parent ends. After the change of user, which clears it; the parent may
/// have ended before.
fn follow(parent: u32, signal: Signal) -> Result<(), Failure> {
    rustix::process::set_parent_process_death_signal(Some(signal))
        .map_err(|errno| trouble("binding this process to its parent", errno))?;
    let found = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if found == Some(parent) { Ok(()) } else { Err(Failure::new("the process that started this one has ended")) }
}

/// Becomes the user `uid` and group `gid` where they are given (as only root can), gives up all capabilities and other
/// groups, and takes care that neither an executed file nor a debugger can bring anything back. To be called before any
/// thread exists: the kernel keeps rights by thread.
///
/// # Errors
/// If a right remains.
pub fn give_up_rights(uid: Option<u32>, gid: Option<u32>) -> Result<(), Failure> {
    let root = rustix::process::geteuid().is_root();
    if root && (uid.is_none() || gid.is_none()) {
        return Err(Failure::new("the console was started as root without a user to become")
            .remedy("Start it through `bathyscope serve`."));
    }
    // Looked up once and kept. Before 6.4 this reads /proc/self/auxv, which a process that is not dumpable cannot open.
    let _page_bytes = rustix::param::page_size();
    // Where it cannot be shrunk nothing could be gained by it either, as no new rights are taken.
    shrink_bounding_set(CapabilitySet::empty());
    if let Some(gid) = gid {
        let gid = Gid::from_raw(gid);
        rustix::thread::set_thread_groups(&[]).map_err(|errno| trouble("leaving all groups", errno))?;
        rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(|errno| trouble("changing the group", errno))?;
    }
    if let Some(uid) = uid {
        let uid = Uid::from_raw(uid);
        rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(|errno| trouble("changing the user", errno))?;
    }
    keep_capabilities(CapabilitySet::empty()).map_err(|errno| trouble("dropping capabilities", errno))?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| trouble("refusing new rights", errno))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| trouble("protecting the process's memory", errno))?;
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| Failure::because("checking that no right is left", error))?;
    check(&status, uid, gid)
}

/// Makes this process one that makes files in a folder as the user that it has, in spite of what their modes say, and ends with
/// `parent`. To be called before any thread exists.
///
/// # Errors
/// If another right remains, or the parent is gone already.
pub fn confine_to_folder(folder: &OwnedFd, parent: u32) -> Result<(), Failure> {
    shrink_bounding_set(CapabilitySet::empty());
    keep_capabilities(CapabilitySet::DAC_OVERRIDE).map_err(|errno| trouble("dropping capabilities", errno))?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| trouble("refusing new rights", errno))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| trouble("protecting the process's memory", errno))?;
    super::files::restrict_files_to(folder)
        .map_err(|error| Failure::because("limiting which files may be made", error))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| trouble("binding the process to strace", errno))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if now == Some(parent) { Ok(()) } else { Err(Failure::new("strace has ended")) }
}

fn trouble(doing: &str, errno: rustix::io::Errno) -> Failure {
    Failure::because(doing, std::io::Error::from(errno))
}

/// Rings are locked memory and there may be many of them. Without the right to raise a limit its own upper bound is
/// taken, which may be enough: that shows when a ring is mapped.
fn raise_limits() {
    for resource in [Resource::Memlock, Resource::Nofile] {
        let most = rustix::process::getrlimit(resource).maximum;
        let unlimited = Rlimit { current: None, maximum: None };
        let bounded = Rlimit { current: most, maximum: most };
        let wanted = if resource == Resource::Memlock { unlimited } else { bounded };
        if rustix::process::setrlimit(resource, wanted).is_err() {
            let _as_it_was = rustix::process::setrlimit(resource, bounded);
        }
    }
}

/// Lets threads of this process run before others, so far and no further, which people ask for to lose fewer records. Without the
/// right to, it stays as it is, and who asks is told.
pub(super) fn allow_urgent_threads() {
    let nice = Rlimit { current: Some(URGENT_NICE_LIMIT), maximum: Some(URGENT_NICE_LIMIT) };
    let most = rustix::process::getrlimit(Resource::Nice).maximum;
    if most.is_some_and(|most| most != URGENT_NICE_LIMIT) && rustix::process::setrlimit(Resource::Nice, nice).is_err() {
        let _as_far_as_it_goes = rustix::process::setrlimit(Resource::Nice, Rlimit { current: most, maximum: most });
    }
}

/// What `/proc/self/status` must say. The bounding set only matters to root, who can empty it.
fn check(status: &str, uid: Option<u32>, gid: Option<u32>) -> Result<(), Failure> {
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    let zero = |name: &str| line(name).and_then(|bits| u64::from_str_radix(bits, 16).ok()) == Some(0);
    let all_are = |name: &str, id: u32| {
        line(name).is_some_and(|ids| ids.split_ascii_whitespace().all(|found| found.parse() == Ok(id)))
    };
    let mut left = Vec::new();
    for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        if !zero(name) {
            left.push(name);
        }
    }
    if uid.is_some() && !zero("CapBnd") {
        left.push("CapBnd");
    }
    if line("NoNewPrivs") != Some("1") {
        left.push("NoNewPrivs");
    }
    if uid.is_some_and(|uid| !all_are("Uid", uid)) {
        left.push("Uid");
    }
    if gid.is_some_and(|gid| !all_are("Gid", gid))
        || (gid.is_some() && line("Groups").is_none_or(|all| !all.trim().is_empty()))
    {
        left.push("Gid");
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("rights are left after giving them up: {}", left.join(", ")))
        .remedy("Nothing was started. Report this as a defect, with the kernel's version."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "Name:\tx\nUid:\t9\t9\t9\t9\nGid:\t8\t8\t8\t8\nGroups:\t \nCapInh:\t0000000000000000\n\
        CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n\
        CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";

    #[test]
    fn whatever_is_left_is_named() {
        assert!(check(CLEAN, Some(9), Some(8)).is_ok());
        let cases = [
            ("CapEff:\t0000000000000000", "CapEff:\t0000000000200000", "CapEff"),
            ("CapAmb:\t0000000000000000", "CapAmb:\t0000000000000001", "CapAmb"),
            ("CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff", "CapBnd"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0", "NoNewPrivs"),
            ("Uid:\t9\t9\t9\t9", "Uid:\t9\t9\t0\t9", "Uid"),
            ("Gid:\t8\t8\t8\t8", "Gid:\t8\t0\t8\t8", "Gid"),
            ("Groups:\t ", "Groups:\t0 27", "Gid"),
            ("CapPrm:\t0000000000000000\n", "", "CapPrm"),
        ];
        for (from, to, named) in cases {
            let failure = check(&CLEAN.replace(from, to), Some(9), Some(8)).unwrap_err();
            assert!(failure.to_string().ends_with(named), "{failure}");
        }
        let bounded = CLEAN.replace("CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff");
        assert!(check(&bounded, None, None).is_ok(), "a bounding set is no right of somebody who is not root");
    }
}

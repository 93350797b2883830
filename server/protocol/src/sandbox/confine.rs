//! Giving up every right of a process that has just been forked. It has one thread.

use std::{io, os::fd::RawFd};

use rustix::{
    io::Errno,
    process::{DumpableBehavior, Pid, Resource, Rlimit, Signal},
    thread::{CapabilitySet, CapabilitySets},
};

use super::{Limits, SandboxError};

/// User and group of the child where its parent may choose and wants no others: numbers that no distribution gives away,
/// beside those of the console. It owns no file, and no other kind of process has it.
const OWN_ID: u32 = 60_900;
/// Numbers of capabilities that a kernel may know.
pub const CAPABILITIES: u32 = 64;
/// Descriptors that a child with threads may have, for its runtime.
const MAX_FILES: u64 = 64;

/// What a child was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Size = 1,
    Descriptors,
    User,
    Rights,
    Parent,
    Limits,
    Prepare,
    Filter,
}

/// The first message of a child: whether it is confined.
pub(super) fn judge(step: u8, errno: i32) -> Result<(), SandboxError> {
    let step = match step {
        0 => return Ok(()),
        1 => "finding out how much memory it has",
        2 => "closing descriptors",
        3 => "changing its user",
        4 => "giving up capabilities",
        5 => "binding it to its parent",
        6 => "limiting memory and time",
        7 => "preparing its work",
        8 => "filtering its system calls; the kernel needs CONFIG_SECCOMP_FILTER",
        _ => "an unknown step",
    };
    Err(SandboxError::Confine { step, source: io::Error::from_raw_os_error(errno) })
}

type Failed = (Step, io::Error);

fn at(step: Step) -> impl Fn(Errno) -> Failed {
    move |errno| (step, errno.into())
}

/// Gives up descriptors, user, groups and capabilities, and takes the limit of memory.
pub(super) fn give_up_rights(limits: &Limits, kept: &[RawFd], parent: Pid) -> Result<(), Failed> {
    let size = own_bytes().map_err(|error| (Step::Size, error))?;
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    // SAFETY: this process was just forked, and ends without dropping anything of its parent's.
    unsafe { close_all_but(&kept, 0) }.map_err(|error| (Step::Descriptors, error))?;
    drop_user(limits.user.unwrap_or((OWN_ID, OWN_ID)))?;
    keep_capabilities(CapabilitySet::empty()).map_err(at(Step::Rights))?;
    let set = at(Step::Parent);
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(&set)?;
    // A change of the user clears it, so it comes afterwards; the parent may have ended before. A process that is stopped
    // ends by it too.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(&set)?;
    if rustix::process::getppid() != Some(parent) {
        return Err((Step::Parent, Errno::SRCH.into()));
    }
    rustix::thread::set_no_new_privs(true).map_err(at(Step::Rights))?;
    limit(Resource::As, size.saturating_add(limits.memory_bytes))
}

/// Takes the other limits. What was opened and started before is not touched by them.
pub(super) fn take_limits(limits: &Limits) -> Result<(), Failed> {
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, if limits.threads { MAX_FILES } else { 0 })?;
    if !limits.threads {
        limit(Resource::Nproc, 0)?;
    }
    // The first is told by a signal that says what it was; the second cannot be ignored.
    let seconds = Rlimit { current: Some(limits.cpu_seconds), maximum: Some(limits.cpu_seconds.saturating_add(1)) };
    rustix::process::setrlimit(Resource::Cpu, seconds).map_err(at(Step::Limits))
}

fn limit(resource: Resource, most: u64) -> Result<(), Failed> {
    let before = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let most = Some(most.min(before));
    rustix::process::setrlimit(resource, Rlimit { current: most, maximum: most }).map_err(at(Step::Limits))
}

/// Bytes of address space that this process has.
fn own_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: Option<u64> = text.split(' ').next().and_then(|number| number.parse().ok());
    let pages = pages.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Closes every inherited descriptor from `from` on but those that are `kept`, which ascend. Makes system calls only, and
/// does not allocate.
///
/// # Errors
/// If the kernel refuses to close some of them; the others are closed.
///
/// # Safety
/// Only in a freshly forked process, which neither uses nor drops what its parent had open.
pub unsafe fn close_all_but(kept: &[RawFd], from: libc::c_uint) -> io::Result<()> {
    let mut closed = Ok(());
    let mut close = |first: libc::c_uint, last: libc::c_uint| {
        // SAFETY: nothing in this process uses or closes these any more, as promised by the caller.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0 {
            closed = Err(io::Error::last_os_error());
        }
    };
    let mut from = from;
    for fd in kept {
        let fd = fd.unsigned_abs();
        if fd > from {
            close(from, fd - 1);
        }
        from = from.max(fd.saturating_add(1));
    }
    close(from, libc::c_uint::MAX);
    closed
}

/// Takes from the bounding set of this thread all that is not `kept`, as far as it may.
pub fn shrink_bounding_set(kept: CapabilitySet) {
    let all = (0..CAPABILITIES).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for other in all.filter(|one| !kept.contains(*one)) {
        // Without CAP_SETPCAP it cannot be shrunk. Unknown ones are refused too.
        let _unknown_or_refused = rustix::thread::remove_capability_from_bounding_set(other);
    }
}

/// Becomes this user and group. Where the parent may not choose, as another user than root or in a container without these
/// numbers, the child stays who it is: with no capability, no descriptor and no system call that opens anything, being
/// somebody is of no use.
fn drop_user((user, group): (u32, u32)) -> Result<(), Failed> {
    // It takes the right that the change of the user takes away.
    shrink_bounding_set(CapabilitySet::empty());
    let changed = || -> Result<(), Errno> {
        let (user, group) = (rustix::process::Uid::from_raw(user), rustix::process::Gid::from_raw(group));
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_thread_res_gid(group, group, group)?;
        rustix::thread::set_thread_res_uid(user, user, user)
    };
    match changed() {
        // The last is what a filter of the parent's says.
        Ok(()) | Err(Errno::PERM | Errno::INVAL | Errno::NOSYS) => Ok(()),
        Err(errno) => Err((Step::User, errno.into())),
    }
}

/// Keeps of this thread's capabilities only those of `set`, which nothing that is executed inherits, and makes sure.
///
/// # Errors
/// If the kernel refuses, or one is left.
pub fn keep_capabilities(set: CapabilitySet) -> Result<(), Errno> {
    let had = rustix::thread::capabilities(None)?;
    rustix::thread::clear_ambient_capability_set()?;
    let sets = CapabilitySets {
        effective: had.effective.intersection(set),
        permitted: had.permitted.intersection(set),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets)?;
    let left = rustix::thread::capabilities(None)?;
    if set.contains(left.effective | left.permitted) && left.inheritable.is_empty() { Ok(()) } else { Err(Errno::PERM) }
}

//! Taking probes out of the kernel without keeping the console waiting.

use std::{
    os::fd::{AsRawFd as _, OwnedFd, RawFd},
    time::{Duration, Instant},
};

use bathyscope_protocol::sandbox::close_all_but;
use rustix::{
    process::{Pid, WaitId, WaitIdOptions},
    thread::{MembarrierCommand, membarrier},
};

/// The most threads that close links at a time.
const CLOSERS: usize = 512;
/// What such a thread needs; it makes one system call.
const CLOSER_STACK_BYTES: usize = 64 << 10;
/// The most events that this process closes itself: so many may keep it from ending for a fraction of a second.
const MOST_CLOSED_HERE: usize = 8;

/// Closes links, and waits until no CPU is in a program any more. Closing one waits for the kernel's grace period, which
/// several can share: so they are closed side by side.
pub(crate) fn close_links(links: Vec<OwnedFd>) {
    if links.is_empty() {
        return;
    }
    let each = links.len().div_ceil(CLOSERS);
    let mut links = links.into_iter();
    std::thread::scope(|scope| {
        loop {
            let some: Vec<OwnedFd> = links.by_ref().take(each).collect();
            if some.is_empty() {
                break;
            }
            let closer = std::thread::Builder::new().stack_size(CLOSER_STACK_BYTES);
            // Without a thread, they are closed here and now, with the closure.
            let _closing = closer.spawn_scoped(scope, move || drop(some));
        }
    });
    wait_for_programs();
}

/// Waits until every program that was running has returned: this call waits for a grace period of the kernel.
fn wait_for_programs() {
    if membarrier(MembarrierCommand::Global).is_err() {
        // Refused where CPUs run without ticks. Programs at a tracepoint run with preemption off, for microseconds.
        let end = Instant::now() + Duration::from_millis(20);
        while Instant::now() < end {
            std::thread::yield_now();
        }
    }
}

/// What holds events of probes, each of which the kernel takes a while to close: it waits for a grace period, one after the
/// other, whoever closes them.
pub(crate) trait HoldsEvents {
    /// Adds their descriptors.
    fn add_events(&self, to: &mut Vec<RawFd>);
}

impl<T: HoldsEvents> HoldsEvents for Vec<T> {
    fn add_events(&self, to: &mut Vec<RawFd>) {
        self.iter().for_each(|one| one.add_events(to));
    }
}

impl<A: HoldsEvents, B: HoldsEvents> HoldsEvents for (A, B) {
    fn add_events(&self, to: &mut Vec<RawFd>) {
        self.0.add_events(to);
        self.1.add_events(to);
    }
}

/// What is about to be closed.
pub(crate) struct Retired<T> {
    held: Option<T>,
    heir: Option<Heir>,
}

/// Takes leave of `held`: once this returns, this process can end at once, as many events are held by another one.
pub(crate) fn retire<T: HoldsEvents>(held: T) -> Retired<T> {
    let mut events = Vec::new();
    held.add_events(&mut events);
    let heir = if events.len() > MOST_CLOSED_HERE { Heir::start(events) } else { None };
    Retired { held: Some(held).filter(|_| heir.is_none()), heir }
}

impl<T> Retired<T> {
    /// Waits until all is closed.
    pub(crate) fn close(self) {
        drop(self.held);
        if let Some(heir) = self.heir {
            heir.end();
        }
    }
}

/// Drops `held` without waiting for the kernel.
pub(crate) fn drop_aside<T: HoldsEvents + Send + 'static>(held: T) {
    let retired = retire(held);
    let spawned = std::thread::Builder::new().name("bathyscope-end".into()).spawn(move || retired.close());
    if let Err(error) = spawned {
        // The closure, and with it what is held, was dropped here and now: slower, but done.
        tracing::debug!(%error, "the thread that closes probes could not be started");
    }
}

/// A process that holds descriptors until it is told to end, so that the kernel closes them when this process need not wait
/// for it any more: neither its threads nor, at its end, its parent. It never runs anything; what it holds is closed by its
/// end, whatever ends it.
struct Heir {
    pid: Pid,
    told: OwnedFd,
}

impl Heir {
    /// Starts one that holds these; none if there can be no more processes or descriptors.
    fn start(mut held: Vec<RawFd>) -> Option<Self> {
        let (wait, told) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).ok()?;
        held.push(wait.as_raw_fd());
        held.sort_unstable();
        held.dedup();
        // SAFETY: what runs in the child makes system calls only and ends it, without coming back here.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            // SAFETY: this process was just forked, neither uses nor drops what its parent had open, and ends here.
            unsafe {
                let _as_far_as_possible = close_all_but(&held, 0);
                let mut byte = 0_u8;
                libc::read(wait.as_raw_fd(), std::ptr::from_mut(&mut byte).cast(), 1);
                libc::_exit(0)
            }
        }
        let pid = Pid::from_raw(forked).filter(|_| forked > 0)?;
        Some(Self { pid, told })
    }

    /// Lets it end, and waits for that; whoever cannot wait may end without.
    fn end(self) {
        drop(self.told);
        let _status = rustix::process::waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED);
    }
}

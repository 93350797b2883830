//! Taking probes out of the kernel without keeping the console waiting.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::thread::{MembarrierCommand, membarrier};

/// The most threads that close links at a time.
const CLOSERS: usize = 512;
/// What such a thread needs; it makes one system call.
const CLOSER_STACK_BYTES: usize = 64 << 10;

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

/// Drops `things` in a thread of its own: closing a tracepoint's event waits for the kernel each time.
pub(crate) fn drop_aside<T: Send + 'static>(things: T) {
    let spawned = std::thread::Builder::new().name("retire".into()).spawn(move || drop(things));
    if let Err(error) = spawned {
        // The closure, and with it the things, was dropped here and now: slower, but done.
        tracing::debug!(%error, "no thread to close probes in");
    }
}

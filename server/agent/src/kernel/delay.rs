//! Events that are enabled a while after the rest of their capture.

use std::{
    io,
    os::fd::OwnedFd,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, poll};

use crate::os::perf::Event;

/// A thread that waits, then enables events, unless it is ended before.
#[derive(Debug)]
pub(super) struct Delayed {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Delayed {
    /// Enables `events` after `delay`.
    pub(super) fn begin(events: Vec<Event>, delay: Duration) -> io::Result<Self> {
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let stopped = stop.try_clone()?;
        let until = Instant::now() + delay;
        let thread = std::thread::Builder::new().name("bathyscope-dly".into()).spawn(move || {
            if !wait(&stopped, until) {
                return;
            }
            for event in &events {
                // One whose CPU went offline, or whose thread has ended, samples nothing.
                let _gone = event.enable();
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Enables nothing any more.
    pub(super) fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // It only fails when the counter is full, and then the thread is woken all the same.
        let _told = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if thread.join().is_err() {
            tracing::error!("the thread that enables events later failed");
        }
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether the moment came before the end.
fn wait(stop: &OwnedFd, until: Instant) -> bool {
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).unwrap_or_default();
        match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&left)) {
            Ok(0) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ended_before_its_time_does_not_wait_for_it() {
        let clock = Instant::now();
        let mut delayed = Delayed::begin(Vec::new(), Duration::from_secs(3600)).unwrap();
        delayed.end();
        drop(delayed);
        assert!(clock.elapsed() < Duration::from_secs(60));
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        assert!(wait(&stop, Instant::now() + Duration::from_millis(1)));
    }
}

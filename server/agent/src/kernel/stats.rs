//! What a hit costs, from the kernel's own statistics of running programs.
//!
//! The statistics are one switch for the whole host and cost every program two readings of the clock, so they are on
//! for a short window now and then only.

use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use super::bpf::{self, ProgramStats};

/// How long the statistics are on.
const WINDOW: Duration = Duration::from_millis(100);
/// How long they are off in between.
const PAUSE: Duration = Duration::from_millis(1900);

#[derive(Debug, Default)]
struct State {
    ns_per_hit: Vec<Option<f64>>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`; `true` if the measuring has ended.
    fn pause(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

/// Measures a capture's programs while it runs.
#[derive(Debug)]
pub(crate) struct CostMeter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl CostMeter {
    /// Begins to measure `programs`.
    pub(crate) fn start(programs: Vec<OwnedFd>) -> Self {
        let shared = Arc::new(Shared::default());
        shared.lock().ns_per_hit = vec![None; programs.len()];
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("cost-meter".into())
            .spawn(move || measure(&programs, &theirs))
            .inspect_err(|error| tracing::warn!(%error, "the cost of probes is not measured"))
            .ok();
        Self { shared, thread }
    }

    /// Nanoseconds for each hit of program `index`, from the last window in which it was hit.
    pub(crate) fn ns_per_hit(&self, index: usize) -> Option<f64> {
        self.shared.lock().ns_per_hit.get(index).copied().flatten()
    }
}

impl Drop for CostMeter {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It does not panic, and ends at once.
            let _ended = thread.join();
        }
    }
}

fn measure(programs: &[OwnedFd], shared: &Shared) {
    let read = || -> Vec<ProgramStats> {
        programs.iter().map(|program| bpf::program_stats(program.as_fd()).unwrap_or_default()).collect()
    };
    loop {
        let switch = match bpf::enable_stats() {
            Ok(switch) => switch,
            Err(error) => {
                tracing::debug!(%error, "the cost of probes cannot be measured");
                return;
            }
        };
        let before = read();
        let ended = shared.pause(WINDOW);
        let after = read();
        drop(switch);
        let mut state = shared.lock();
        for ((slot, before), after) in state.ns_per_hit.iter_mut().zip(before).zip(after) {
            *slot = cost(before, after).or(*slot);
        }
        drop(state);
        if ended || shared.pause(PAUSE) {
            return;
        }
    }
}

fn cost(before: ProgramStats, after: ProgramStats) -> Option<f64> {
    let hits = after.run_count.saturating_sub(before.run_count);
    let time = after.run_time_ns.saturating_sub(before.run_time_ns);
    (hits > 0).then(|| time as f64 / hits as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_time_by_hits_and_nothing_without_hits() {
        let at = |run_time_ns, run_count| ProgramStats { run_time_ns, run_count, missed: 0 };
        assert_eq!(cost(at(100, 1), at(400, 3)), Some(150.0));
        assert_eq!(cost(at(100, 1), at(100, 1)), None);
        assert_eq!(cost(at(400, 3), at(100, 1)), None);
    }
}

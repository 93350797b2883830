//! Whose the agent's own time is: each capture has an account, and what works for it notes its time there.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::time::{ClockId, clock_gettime};

thread_local! {
    /// The account of what this thread works on now.
    static HERE: RefCell<Spending> = RefCell::default();
    /// How much of this thread's time has been noted.
    static NOTED: RefCell<u64> = const { RefCell::new(0) };
}

/// An account of time on a CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spending(Arc<AtomicU64>);

impl Spending {
    /// That of what this thread works on; a thread that is started for it keeps a copy and notes its own time there.
    pub(crate) fn of_here() -> Self {
        HERE.with_borrow(Self::clone)
    }

    /// Nanoseconds noted so far.
    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes what this thread used since it noted last, for a thread that works for one capture only.
    pub(crate) fn note(&self) {
        let now = thread_ns();
        let before = NOTED.replace(now);
        self.0.fetch_add(now.saturating_sub(before), Ordering::Relaxed);
    }

    /// Notes what was used elsewhere, nanoseconds.
    pub(crate) fn add(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }

    /// Does `work` on this account.
    pub(crate) fn pays<T>(&self, work: impl FnOnce() -> T) -> T {
        let (before, outside) = (thread_ns(), HERE.replace(self.clone()));
        let done = work();
        HERE.set(outside);
        self.0.fetch_add(thread_ns().saturating_sub(before), Ordering::Relaxed);
        done
    }
}

/// What this thread has used of a CPU, nanoseconds.
fn thread_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses some time of a CPU.
    fn work() {
        let (begin, mut sum) = (thread_ns(), 0_u64);
        while thread_ns() - begin < 1_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
    }

    #[test]
    fn who_works_for_a_capture_notes_it_there() {
        let account = Spending::default();
        let theirs = account.pays(|| {
            work();
            Spending::of_here()
        });
        let after = account.ns();
        assert!(after >= 1_000_000, "{after}");
        work();
        assert_eq!(account.ns(), after, "what is done beside it is not its");
        let thread = std::thread::spawn(move || {
            work();
            theirs.note();
        });
        thread.join().unwrap();
        assert!(account.ns() >= after + 1_000_000);
        assert_eq!(Spending::of_here().ns(), 0);
    }
}

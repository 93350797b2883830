//! What is known of each thread.

use bathyscope_capture::{IdMap, StackId, StringId};

use super::input::Task;

/// The most threads that are followed at a time; as many again as Linux can have by default.
pub const MAX_THREADS: usize = 1 << 20;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    /// There was no event of it yet.
    #[default]
    Unseen,
    /// It is not known, because events were lost.
    Lost,
    /// It runs on its CPU.
    Running,
    /// It was woken and waits for a CPU.
    Woken,
    /// It left its CPU while it could have gone on.
    Preempted,
    /// It waits for something, in the state with this name.
    Blocked(StringId),
    /// It has ended.
    Dead,
}

/// Who woke a thread, and the CPU of the run queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waker {
    pub(super) task: Task,
    pub(super) target_cpu: u32,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thread {
    /// 0 while it is not known.
    pub(super) pid: u32,
    /// 0 while it is not known.
    pub(super) comm: StringId,
    pub(super) doing: Doing,
    pub(super) since_ns: u64,
    /// Whether it has been doing so from before `since_ns`.
    pub(super) begin_unknown: bool,
    /// Where it began to.
    pub(super) cpu: u32,
    /// Where it blocked, 0 if that was not recorded.
    pub(super) stack: StackId,
    /// The function in which it blocks, 0 if that was not recorded.
    pub(super) blocked_function: StringId,
    /// Of a woken thread, who woke it. Of a running or blocked one, who woke it while it was still running.
    pub(super) waker: Option<Waker>,
    /// Of a woken thread, whether it is on a run queue.
    pub(super) queued: bool,
    /// Of a woken thread, whether it is not certain that it had been blocked: it may have been waiting for a CPU or running.
    pub(super) is_unsure: bool,
    /// Of a woken thread, whether that was the first event of it.
    pub(super) is_first: bool,
    /// The process of the last thread of this number that the process history tells of, 0 if it tells of none.
    pub(super) forked_pid: u32,
    /// Whether it has begun to end.
    pub(super) exiting: bool,
}

impl Thread {
    /// Takes over what an event says of it.
    pub(super) fn learn(&mut self, task: Task) {
        if task.pid != 0 {
            self.pid = task.pid;
        }
        if task.comm != 0 {
            self.comm = task.comm;
        }
    }

    /// It does something else from now on.
    pub(super) fn begin(&mut self, doing: Doing, time_ns: u64, cpu: u32) {
        (self.doing, self.since_ns, self.cpu, self.begin_unknown) = (doing, time_ns, cpu, false);
        (self.stack, self.blocked_function, self.queued) = (0, 0, false);
        (self.is_unsure, self.is_first) = (false, false);
    }

    /// Whether there is a row for what it does, when that ends.
    pub(super) const fn is_in_a_state(&self) -> bool {
        !matches!(self.doing, Doing::Unseen | Doing::Lost | Doing::Dead)
    }
}

/// The threads that are followed.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: IdMap<u32, Thread>,
    evicted: u64,
    has_forgotten: bool,
}

impl Threads {
    pub(super) fn get_mut(&mut self, tid: u32) -> Option<&mut Thread> {
        self.threads.get_mut(&tid)
    }

    /// The thread, new or known.
    pub(super) fn of(&mut self, tid: u32) -> &mut Thread {
        self.of_at_most(tid, MAX_THREADS)
    }

    fn of_at_most(&mut self, tid: u32, most: usize) -> &mut Thread {
        if self.threads.len() >= most && !self.threads.contains_key(&tid) {
            self.evict();
        }
        self.threads.entry(tid).or_default()
    }

    /// Forgets half of the threads: first those that do nothing, then those that have been doing the same for longest. One
    /// that runs stays, since its CPU knows it; there are as many as CPUs.
    fn evict(&mut self) {
        self.has_forgotten = true;
        let age = |thread: &Thread| if thread.is_in_a_state() { thread.since_ns.saturating_add(1) } else { 0 };
        let mut ages: Vec<u64> = self.threads.values().map(age).collect();
        let middle = ages.len() / 2;
        let oldest = *ages.select_nth_unstable(middle).1;
        let mut left = middle + 1;
        let evicted = &mut self.evicted;
        self.threads.retain(|_, thread| {
            if thread.doing == Doing::Running || age(thread) > oldest || left == 0 {
                return true;
            }
            left -= 1;
            *evicted += u64::from(thread.is_in_a_state());
            false
        });
    }

    /// Whether a thread that is unseen now may have been seen before.
    pub(super) const fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// How many were forgotten with the state they were in.
    pub(super) const fn evicted(&self) -> u64 {
        self.evicted
    }

    /// All threads in a state, in the order in which they came into it; none are left.
    pub(super) fn take_all(&mut self) -> Vec<(u32, Thread)> {
        let all = std::mem::take(&mut self.threads);
        let mut open: Vec<(u32, Thread)> = all.into_iter().filter(|(_, thread)| thread.is_in_a_state()).collect();
        open.sort_unstable_by_key(|(tid, thread)| (thread.since_ns, *tid));
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_too_many_threads_are_forgotten_and_none_that_runs() {
        let mut threads = Threads::default();
        let doings = [Doing::Running, Doing::Blocked(1), Doing::Dead, Doing::Woken, Doing::Preempted];
        for tid in 1..=100_u32 {
            let doing = doings[tid as usize % doings.len()];
            threads.of_at_most(tid, 100).begin(doing, u64::from(tid), 0);
        }
        assert_eq!((threads.evicted(), threads.has_forgotten()), (0, false));
        threads.of_at_most(101, 100);
        assert!(threads.has_forgotten());
        // Of 20 dead, none is left; of 60 that wait, the oldest went.
        let left = threads.take_all();
        assert!((50..=80).contains(&left.len()), "{}", left.len());
        assert_eq!(left.iter().filter(|(_, thread)| thread.doing == Doing::Running).count(), 20);
        let waiting = || left.iter().filter(|(_, thread)| thread.doing != Doing::Running).map(|(tid, _)| *tid);
        assert_eq!(80 - left.len() as u64, threads.evicted());
        let oldest = waiting().min().unwrap();
        assert!((1..oldest).all(|tid| tid % 5 == 0 || !waiting().any(|left| left == tid)));
        assert!(waiting().max().unwrap() > 95);
    }
}

//! Threads and CPUs, followed from event to event.
//!
//! Every event says which thread ran on its CPU, and a switch says which runs next; so each event either agrees with what is
//! known or proves that something was lost. What is known then ends at the last moment at which it was certain, and starts
//! again with the event.

use bathyscope_capture::{ProcessChange, ProcessChangeKind, StackId, StringId};

use super::{
    input::{Moment, RecordedWakeups, Task, WakeKind},
    leaving::{Leaving, LeavingKind},
    rows::{RowUnknown, StateRows},
    threads::{Doing, Thread, Threads, Waker},
};
use crate::{DerivationCount, DerivationCounts, DerivationHost};

/// The most CPUs, as many as Linux can have.
pub const MAX_CPUS: usize = 8192;

/// What is known of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// What it runs; none while that is not known.
    task: Option<Task>,
    since_ns: u64,
    /// Whether it has been running that from before.
    begin_unknown: bool,
    /// The last moment at which it certainly ran that.
    seen_ns: u64,
    /// Whether there was an event of it.
    is_known: bool,
}

/// How a thread leaves its CPU, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) leaving: Leaving,
    /// 0 if it was not recorded.
    pub(super) stack: StackId,
    /// 0 if it was not recorded.
    pub(super) blocked_function: StringId,
}

/// Follows threads and CPUs.
#[derive(Debug)]
pub(super) struct Tracker {
    cpus: Vec<Cpu>,
    threads: Threads,
    rows: StateRows,
    counts: DerivationCounts,
    recorded: RecordedWakeups,
    /// From when on everything was recorded; none once it is not certain any more.
    start_ns: Option<u64>,
    /// Whether a thread with another name may be the target's no more.
    by_name: bool,
}

impl Tracker {
    pub(super) fn new(recorded: RecordedWakeups, (start_ns, by_name): (Option<u64>, bool), rows: StateRows) -> Self {
        let (cpus, threads, counts) = (Vec::new(), Threads::default(), DerivationCounts::default());
        Self { cpus, threads, rows, counts, recorded, start_ns, by_name }
    }

    pub(super) const fn rows_mut(&mut self) -> &mut StateRows {
        &mut self.rows
    }

    pub(super) fn counts(&self) -> DerivationCounts {
        let mut counts = self.counts;
        counts.add(DerivationCount::ThreadsEvicted, self.threads.evicted());
        counts
    }

    pub(super) fn count(&mut self, what: DerivationCount) {
        self.count_more(what, 1);
    }

    pub(super) fn count_more(&mut self, what: DerivationCount, more: u64) {
        self.counts.add(what, more);
        // What was not seen before may have been lost from here on.
        if what.proves_loss() && more > 0 {
            self.start_ns = None;
        }
    }

    /// Takes over from a row whether a thread is the target's. What one does that is no more has no end that is recorded.
    pub(super) fn note_target(&mut self, tid: u32, is_target: bool) {
        if self.rows.note_target(tid, is_target)
            && self.threads.get_mut(tid).is_some_and(|thread| thread.is_in_a_state())
        {
            self.count(DerivationCount::EndUnknown);
        }
    }

    /// Counts what happened to a thread, if all its events should be there.
    fn count_of(&mut self, what: DerivationCount, (pid, tid): (u32, u32)) {
        if self.rows.is_recorded(pid, tid) {
            self.count(what);
        }
    }

    /// Since when everything was recorded, if it was until `time_ns`.
    fn certain_since(&self, time_ns: u64) -> Option<u64> {
        let start_ns = self.start_ns?.min(time_ns);
        let is_certain = !self.threads.has_forgotten() && !self.rows.lost_between(start_ns, time_ns);
        is_certain.then_some(start_ns)
    }

    /// Takes over what the process history says of a thread.
    pub(super) fn learn(&mut self, change: &ProcessChange) {
        let (pid, tid) = (change.pid, change.tid);
        match change.kind {
            _ if tid == 0 => {}
            ProcessChangeKind::Existing { comm } => self.threads.of(tid).learn(Task { pid, tid, comm }),
            ProcessChangeKind::Fork { .. } => {
                let thread = self.threads.of(tid);
                // Its start comes next. It was not there before, so nothing is to be told from its not being seen.
                if matches!(thread.doing, Doing::Unseen | Doing::Lost | Doing::Dead) {
                    *thread = Thread { doing: Doing::Lost, pid, ..Thread::default() };
                }
                thread.forked_pid = pid;
            }
            ProcessChangeKind::Comm { .. } if self.by_name => self.forget(tid, change.time_ns),
            ProcessChangeKind::Comm { .. }
            | ProcessChangeKind::Exit
            | ProcessChangeKind::Parent { .. }
            | ProcessChangeKind::User { .. }
            | ProcessChangeKind::Group { .. } => {}
        }
    }

    /// Nothing is known of a thread until its next row.
    fn forget(&mut self, tid: u32, time_ns: u64) {
        self.note_target(tid, false);
        let Some(thread) = self.threads.get_mut(tid) else { return };
        let (before, cpu) = (thread.doing, thread.cpu);
        thread.begin(Doing::Lost, time_ns, cpu);
        if before == Doing::Running {
            self.forget_task(cpu);
        }
    }

    /// A CPU goes from the thread of `at` to `next`.
    pub(super) fn switch(&mut self, at: Moment, left: Left, next: Task, host: &mut dyn DerivationHost) {
        if self.observe(at, host) {
            self.leave(at, left, host);
            self.enter(at, next, host);
        }
    }

    /// The thread of `at` is about to end.
    pub(super) fn exit(&mut self, at: Moment, host: &mut dyn DerivationHost) {
        if self.observe(at, host)
            && let Some(thread) = self.threads.get_mut(at.task.tid)
        {
            thread.exiting = true;
        }
    }

    /// Somebody, perhaps the thread of `at`, wakes `wakee`.
    pub(super) fn wake(
        &mut self,
        at: Moment,
        kind: WakeKind,
        wakee: Task,
        target_cpu: Option<u32>,
        host: &mut dyn DerivationHost,
    ) {
        if wakee.tid == 0 || !self.observe(at, host) {
            return;
        }
        let thread = self.threads.of(wakee.tid);
        let before = *thread;
        let waker = Waker { task: at.task, target_cpu: target_cpu.unwrap_or(before.cpu) };
        let pid = if wakee.pid == 0 { before.pid } else { wakee.pid };
        let woken = (pid, wakee.tid);
        match before.doing {
            // Nothing is to be waited for: it runs, or may.
            Doing::Running | Doing::Preempted if kind != WakeKind::New => {
                let is_pending = kind == WakeKind::Waking && before.doing == Doing::Running;
                thread.waker = is_pending.then_some(waker);
                if before.doing == Doing::Running && kind == WakeKind::Queued {
                    self.count_of(DerivationCount::WakeupOfRunning, woken);
                }
                return;
            }
            // The second half of its wake-up.
            Doing::Woken if kind == WakeKind::Queued && self.recorded.waking && !before.queued => {
                thread.queued = true;
                return;
            }
            Doing::Blocked(_) if kind == WakeKind::Queued && before.waker.is_some() => {
                // It was woken while it was still on its way off the CPU, so it was never really blocked.
                thread.doing = Doing::Woken;
                thread.queued = true;
                return;
            }
            Doing::Blocked(_) if kind != WakeKind::New => {
                let is_late = kind == WakeKind::Queued && self.recorded.waking;
                self.rows.state((wakee.tid, &before), at.time_ns, RowUnknown::WAKEUP.if_so(is_late), host);
                if is_late {
                    self.count_of(DerivationCount::WakeupWithoutWaking, woken);
                }
            }
            _ => self.wake_of_unfit(&before, kind, woken),
        }
        self.make_woken(at, kind, wakee, waker);
    }

    /// Counts what is wrong with the wake-up of a thread that did not wait for it.
    fn wake_of_unfit(&mut self, before: &Thread, kind: WakeKind, woken: (u32, u32)) {
        let is_new = kind == WakeKind::New;
        match before.doing {
            Doing::Unseen | Doing::Lost | Doing::Dead if is_new => {}
            Doing::Lost => {}
            // It was blocked, and nothing says how.
            Doing::Unseen => self.count_of(DerivationCount::BeginUnknown, woken),
            Doing::Dead => self.count_of(DerivationCount::StartUnseen, woken),
            // It runs on a CPU without events, so it can be woken as often as somebody likes.
            Doing::Woken if !is_new && before.is_first => self.count_of(DerivationCount::WakeupOfRunning, woken),
            Doing::Woken if !is_new => {
                self.count_of(DerivationCount::WokenTwice, woken);
                self.count_of(DerivationCount::EndUnknown, woken);
            }
            Doing::Running | Doing::Woken | Doing::Preempted | Doing::Blocked(_) => {
                self.count_of(DerivationCount::StartUnseen, (before.pid, woken.1));
                self.count_of(DerivationCount::EndUnknown, (before.pid, woken.1));
                if before.doing == Doing::Running {
                    self.forget_task(before.cpu);
                }
            }
        }
    }

    /// It waits for a CPU from now on.
    fn make_woken(&mut self, at: Moment, kind: WakeKind, wakee: Task, waker: Waker) {
        let thread = self.threads.of(wakee.tid);
        // The number may have been another thread's before.
        if kind == WakeKind::New {
            *thread = Thread { pid: thread.forked_pid, ..Thread::default() };
        }
        let was_blocked = matches!(thread.doing, Doing::Blocked(_));
        let is_first = thread.doing == Doing::Unseen || thread.is_first;
        let is_certain = was_blocked && !self.rows.lost_between(thread.since_ns, at.time_ns);
        thread.begin(Doing::Woken, at.time_ns, waker.target_cpu);
        thread.is_unsure = !is_certain && kind != WakeKind::New;
        thread.is_first = is_first && kind != WakeKind::New;
        thread.waker = Some(waker);
        thread.queued = kind != WakeKind::Waking;
        thread.exiting = false;
        thread.learn(wakee);
    }

    /// Makes sure that the thread of `at` is what its CPU is known to run; `false` if there can be no such CPU.
    fn observe(&mut self, at: Moment, host: &mut dyn DerivationHost) -> bool {
        let place = at.cpu as usize;
        if place >= MAX_CPUS {
            self.count(DerivationCount::UnusableRows);
            return false;
        }
        if place >= self.cpus.len() {
            self.cpus.resize(place + 1, Cpu::default());
        }
        let Some(cpu) = self.cpus.get_mut(place) else { return false };
        match cpu.task {
            Some(task) if task.tid == at.task.tid => {
                cpu.seen_ns = at.time_ns;
                return true;
            }
            Some(other) => {
                let pid = self.threads.get_mut(other.tid).map_or(other.pid, |thread| thread.pid);
                let is_recorded =
                    self.rows.is_recorded(pid, other.tid) || self.rows.is_recorded(at.task.pid, at.task.tid);
                if is_recorded {
                    self.count(DerivationCount::OtherThreadRan);
                }
                self.lose_run(at.cpu, host);
                self.begin_unseen_run(at, at.time_ns, host);
            }
            None => {
                let certain_ns = if cpu.is_known { None } else { self.certain_since(at.time_ns) };
                self.begin_unseen_run(at, certain_ns.unwrap_or(at.time_ns), host);
            }
        }
        true
    }

    /// The thread of `at` runs on its CPU since `since_ns` or longer, and the switch to it was not seen.
    fn begin_unseen_run(&mut self, at: Moment, since_ns: u64, host: &mut dyn DerivationHost) {
        let mut since_ns = since_ns;
        if at.task.tid != 0 {
            let mut waker = None;
            let (before, own) = (*self.threads.of(at.task.tid), (at.task.pid, at.task.tid));
            match before.doing {
                Doing::Unseen => {}
                // It was running when it was woken, and may be on its way off the CPU.
                Doing::Woken if before.is_first && since_ns < before.since_ns => {
                    waker = before.waker.filter(|_| !before.queued);
                    self.count_of(DerivationCount::WakeupOfRunning, own);
                }
                Doing::Lost => since_ns = at.time_ns,
                Doing::Dead => {
                    since_ns = at.time_ns;
                    self.count_of(DerivationCount::RunAfterEnd, own);
                }
                Doing::Running => {
                    since_ns = at.time_ns;
                    self.count_of(DerivationCount::RunElsewhere, own);
                    self.lose_run(before.cpu, host);
                }
                Doing::Woken | Doing::Preempted | Doing::Blocked(_) => {
                    since_ns = at.time_ns;
                    self.count_of(DerivationCount::RunWithoutSwitch, own);
                    self.count_of(DerivationCount::EndUnknown, own);
                }
            }
            let thread = self.threads.of(at.task.tid);
            thread.begin(Doing::Running, since_ns, at.cpu);
            thread.begin_unknown = true;
            thread.waker = waker;
            thread.learn(at.task);
        }
        if let Some(cpu) = self.cpus.get_mut(at.cpu as usize) {
            let task = Some(at.task);
            *cpu = Cpu { task, since_ns, begin_unknown: true, seen_ns: at.time_ns, is_known: true };
        }
    }

    /// What a CPU runs ended at some moment after it was seen last.
    fn lose_run(&mut self, place: u32, host: &mut dyn DerivationHost) {
        let Some(cpu) = self.cpus.get_mut(place as usize) else { return };
        let Some(mut task) = cpu.task.take() else { return };
        let cpu = *cpu;
        let is_certain = cpu.seen_ns > cpu.since_ns;
        let unknown = RowUnknown::END.and(RowUnknown::BEGIN.if_so(cpu.begin_unknown));
        if let Some(thread) = self.threads.get_mut(task.tid) {
            task.pid = thread.pid;
            let run = *thread;
            thread.begin(if run.exiting { Doing::Dead } else { Doing::Lost }, cpu.seen_ns, place);
            if is_certain {
                self.rows.state((task.tid, &run), cpu.seen_ns, unknown, host);
            } else {
                self.count_of(DerivationCount::EndUnknown, (task.pid, task.tid));
            }
        }
        if is_certain {
            self.rows.occupation((place, task), (cpu.since_ns, cpu.seen_ns), (None, unknown), host);
        }
    }

    /// It is not known any more what a CPU runs.
    fn forget_task(&mut self, place: u32) {
        if let Some(cpu) = self.cpus.get_mut(place as usize) {
            cpu.task = None;
        }
    }

    /// The thread of `at`, which its CPU is known to run, leaves it.
    fn leave(&mut self, at: Moment, Left { leaving, stack, blocked_function }: Left, host: &mut dyn DerivationHost) {
        let Some(cpu) = self.cpus.get(at.cpu as usize).copied() else { return };
        let tid = at.task.tid;
        // A run that was first seen at its end has no certain part.
        let is_certain = !cpu.begin_unknown || cpu.since_ns < at.time_ns;
        let mut task = at.task;
        if let Some(thread) = self.threads.get_mut(tid) {
            // The name at the beginning of the run, if that is known.
            task.comm = if thread.comm == 0 { at.task.comm } else { thread.comm };
            thread.learn(task);
            let run = *thread;
            let doing = match leaving.kind {
                LeavingKind::Preempted => Doing::Preempted,
                LeavingKind::Blocked(word) => Doing::Blocked(word),
                LeavingKind::Dead => Doing::Dead,
            };
            thread.begin(doing, at.time_ns, at.cpu);
            thread.learn(at.task);
            (thread.stack, thread.blocked_function) = (stack, blocked_function);
            let left = *thread;
            if is_certain {
                self.rows.state((tid, &run), at.time_ns, RowUnknown::default(), host);
            } else {
                self.count_of(DerivationCount::BeginUnknown, (run.pid, tid));
            }
            if left.doing == Doing::Dead {
                self.rows.state((tid, &left), at.time_ns, RowUnknown::default(), host);
            }
        }
        if is_certain {
            let unknown = RowUnknown::BEGIN.if_so(cpu.begin_unknown);
            self.rows.occupation((at.cpu, task), (cpu.since_ns, at.time_ns), (Some(leaving), unknown), host);
        }
    }

    /// The CPU of `at` runs `next` from now on.
    fn enter(&mut self, at: Moment, next: Task, host: &mut dyn DerivationHost) {
        if next.tid != 0 {
            let mut thread = self.threads.of(next.tid);
            if thread.doing == Doing::Running {
                let before = *thread;
                self.count_of(DerivationCount::RunElsewhere, (before.pid, next.tid));
                self.lose_run(before.cpu, host);
                thread = self.threads.of(next.tid);
            }
            thread.learn(Task { comm: if thread.comm == 0 { next.comm } else { 0 }, ..next });
            let before = *thread;
            thread.begin(Doing::Running, at.time_ns, at.cpu);
            thread.learn(next);
            (thread.waker, thread.exiting) = (None, false);
            self.end_wait(at, (next.tid, &before), host);
        }
        if let Some(cpu) = self.cpus.get_mut(at.cpu as usize) {
            let (task, since_ns) = (Some(next), at.time_ns);
            *cpu = Cpu { task, since_ns, begin_unknown: false, seen_ns: since_ns, is_known: true };
        }
    }

    /// Writes what a thread did until it begins to run.
    fn end_wait(&mut self, at: Moment, (tid, before): (u32, &Thread), host: &mut dyn DerivationHost) {
        match before.doing {
            Doing::Unseen => {
                // Whoever is first seen running was waiting for the CPU all the time, if a wake-up or a start would have been
                // seen.
                let is_told = self.recorded.any() && self.recorded.new;
                match self.certain_since(at.time_ns).filter(|_| is_told) {
                    Some(since_ns) => {
                        let waited =
                            Thread { doing: Doing::Woken, since_ns, begin_unknown: true, cpu: at.cpu, ..*before };
                        self.rows.state((tid, &waited), at.time_ns, RowUnknown::default(), host);
                    }
                    None => self.count_of(DerivationCount::BeginUnknown, (before.pid, tid)),
                }
            }
            Doing::Lost | Doing::Running => {}
            Doing::Woken => self.end_latency(at, (tid, before), host),
            Doing::Preempted => self.rows.state((tid, before), at.time_ns, RowUnknown::default(), host),
            Doing::Blocked(_) if before.waker.is_some() => {
                // Woken while it was still on its way off the CPU.
                self.end_latency(at, (tid, &Thread { doing: Doing::Woken, ..*before }), host);
            }
            Doing::Blocked(_) => {
                if self.recorded.any() {
                    self.count_of(DerivationCount::RunWithoutWakeup, (before.pid, tid));
                }
                self.rows.state((tid, before), at.time_ns, RowUnknown::WAKEUP, host);
            }
            Doing::Dead => self.count_of(DerivationCount::RunAfterEnd, (before.pid, tid)),
        }
    }

    /// A woken thread runs.
    fn end_latency(&mut self, at: Moment, (tid, woken): (u32, &Thread), host: &mut dyn DerivationHost) {
        self.rows.state((tid, woken), at.time_ns, RowUnknown::default(), host);
        if let Some(waker) = woken.waker {
            self.rows.latency((tid, woken), (waker, at.cpu), at.time_ns, host);
        }
    }

    /// Writes what everybody did until the end of the capture.
    pub(super) fn finish(&mut self, end_ns: u64, host: &mut dyn DerivationHost) {
        for (place, cpu) in (0_u32..).zip(std::mem::take(&mut self.cpus)) {
            let Some(mut task) = cpu.task else { continue };
            if let Some(thread) = self.threads.get_mut(task.tid) {
                (task.pid, task.comm) = (thread.pid, thread.comm);
            }
            let unknown = RowUnknown::END.and(RowUnknown::BEGIN.if_so(cpu.begin_unknown));
            self.rows.occupation((place, task), (cpu.since_ns, end_ns), (None, unknown), host);
        }
        for (tid, thread) in self.threads.take_all() {
            if thread.is_unsure {
                self.count_of(DerivationCount::BeginUnknown, (thread.pid, tid));
            } else {
                self.rows.state((tid, &thread), end_ns, RowUnknown::END, host);
            }
        }
    }
}

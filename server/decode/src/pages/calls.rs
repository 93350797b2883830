//! Entries and exits of `function_graph`, put together as calls.
//!
//! The kernel keeps a stack for each task and writes the depth into each record, so what was lost shows: an entry that is
//! not deeper than the one before means that an exit is missing. A call that lacks one of both ends is given with that
//! said; nothing is guessed. Records must come in the order of their time, those of all CPUs together, because a
//! task may go on on another CPU between an entry and its exit.

use std::collections::HashMap;

/// The most tasks whose open calls are kept. One more, and all open calls are given up as unfinished.
pub const MAX_TASKS: usize = 1 << 16;
/// The greatest depth that is kept; the kernel's own limit is far lower.
pub const MAX_DEPTH: u32 = 1024;
/// How far a call's beginning by its duration may be from its entry's time, after losses, for both to be one call.
const LEAST_TOLERANCE_NS: u64 = 50_000;

/// A function was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEntry {
    /// Its address; it may lie some bytes into the function.
    pub function: u64,
    /// How many calls are around it.
    pub depth: u32,
    /// The address that it returns to, where the kernel records it.
    pub caller: Option<u64>,
}

/// A function returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallExit {
    /// Its address, as in the entry.
    pub function: u64,
    /// How many calls are around it.
    pub depth: u32,
    /// How long it took by the kernel's local clock, if the kernel records that.
    pub duration_ns: Option<u64>,
    /// Calls of this task that could not be followed because they were too deep.
    pub overrun: u64,
    /// What it returned, if the kernel records that.
    pub value: Option<u64>,
}

/// What is known of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Both ends.
    Returned,
    /// Its entry; it did not return while it was recorded, or its exit was lost.
    Unfinished,
    /// Its exit; it was entered before recording began, or its entry was lost or not recorded.
    Unstarted,
}

impl CallState {
    /// A stable word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Unfinished => "unfinished",
            Self::Unstarted => "unstarted",
        }
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The CPU of the record that completed it; for an unfinished one that of its entry.
    pub cpu: u32,
    /// The task.
    pub tid: u32,
    /// The function's address; it may lie some bytes into the function.
    pub function: u64,
    /// How many calls were around it.
    pub depth: u32,
    /// When it was entered, by the clock of the buffer; none if neither the entry nor a duration was recorded.
    pub start: Option<u64>,
    /// When it returned; for an unfinished one the moment at which that was known.
    pub end: u64,
    /// How long it took; none for an unfinished one.
    pub duration_ns: Option<u64>,
    /// The function that called it: the recorded call around it, else what the kernel recorded; none if neither is known.
    pub caller: Option<u64>,
    /// Which ends are known.
    pub state: CallState,
    /// What it returned, if the kernel records that.
    pub value: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    function: u64,
    depth: u32,
    start: u64,
    cpu: u32,
    caller: Option<u64>,
    /// Events of a CPU that this task ran on were lost since: its exit may be among them.
    doubtful: bool,
}

#[derive(Debug, Default)]
struct Task {
    open: Vec<Open>,
    cpu: u32,
}

/// Puts calls together. Times are those of the buffer's clock.
#[derive(Debug, Default)]
pub struct Calls {
    tasks: HashMap<(u32, u32), Task>,
}

/// Each CPU has an idle task, and all have the number 0.
fn key(cpu: u32, tid: u32) -> (u32, u32) {
    (tid, if tid == 0 { cpu } else { 0 })
}

impl Calls {
    /// A function was entered at `time`; calls that are thereby known never to end are given to `out`.
    pub fn enter(&mut self, cpu: u32, tid: u32, time: u64, entry: CallEntry, out: &mut Vec<Call>) {
        if self.tasks.len() >= MAX_TASKS && !self.tasks.contains_key(&key(cpu, tid)) {
            self.finish(time, out);
        }
        let task = self.tasks.entry(key(cpu, tid)).or_default();
        task.cpu = cpu;
        task.give_up(entry.depth, tid, time, out);
        if entry.depth >= MAX_DEPTH {
            return;
        }
        let around = task.around(entry.depth);
        let CallEntry { function, depth, caller } = entry;
        task.open.push(Open { function, depth, start: time, cpu, caller: around.or(caller), doubtful: false });
    }

    /// A function returned at `time`; its call, and those within it that are thereby known never to end, go to `out`.
    pub fn leave(&mut self, cpu: u32, tid: u32, time: u64, exit: CallExit, out: &mut Vec<Call>) {
        let mut none = Task::default();
        let task = self.tasks.get_mut(&key(cpu, tid)).unwrap_or(&mut none);
        task.cpu = cpu;
        task.give_up(exit.depth.saturating_add(1), tid, time, out);
        let same = |open: &Open| open.depth == exit.depth && open.function == exit.function;
        let entry = match task.open.last().copied() {
            Some(open) if same(&open) && open.is_of(&exit, time) => task.open.pop(),
            Some(open) if open.depth == exit.depth => {
                task.give_up(exit.depth, tid, time, out);
                None
            }
            _ => None,
        };
        let caller = task.around(exit.depth);
        out.push(match entry {
            Some(open) => Call {
                duration_ns: exit.duration_ns.or_else(|| time.checked_sub(open.start)),
                start: Some(open.start),
                caller: open.caller,
                ..exit.call(cpu, tid, time, CallState::Returned)
            },
            None => Call { caller, ..exit.call(cpu, tid, time, CallState::Unstarted) },
        });
        if task.open.is_empty() {
            self.tasks.remove(&key(cpu, tid));
        }
    }

    /// Events of a CPU were lost: of the tasks that were on it last, calls may have ended or begun unseen.
    pub fn lost(&mut self, cpu: u32) {
        for task in self.tasks.values_mut().filter(|task| task.cpu == cpu) {
            task.open.iter_mut().for_each(|open| open.doubtful = true);
        }
    }

    /// Nothing more comes: all open calls are unfinished as of `time`. They are given in the order of their entry.
    pub fn finish(&mut self, time: u64, out: &mut Vec<Call>) {
        let first = out.len();
        for ((tid, _cpu), mut task) in self.tasks.drain() {
            task.give_up(0, tid, time, out);
        }
        if let Some(new) = out.get_mut(first..) {
            new.sort_by_key(|call| (call.start, call.tid, call.depth));
        }
    }

    /// Calls whose end has not been seen.
    pub fn open(&self) -> usize {
        self.tasks.values().map(|task| task.open.len()).sum()
    }
}

impl Task {
    /// Gives up open calls of at least this depth, innermost first.
    fn give_up(&mut self, depth: u32, tid: u32, time: u64, out: &mut Vec<Call>) {
        while let Some(open) = self.open.pop_if(|open| open.depth >= depth) {
            let Open { function, depth, start, cpu, caller, .. } = open;
            let (start, state) = (Some(start), CallState::Unfinished);
            out.push(Call {
                cpu,
                tid,
                function,
                depth,
                start,
                end: time,
                duration_ns: None,
                caller,
                state,
                value: None,
            });
        }
    }

    /// The function right around a call of this depth, if it was recorded.
    fn around(&self, depth: u32) -> Option<u64> {
        self.open.last().filter(|open| open.depth.checked_add(1) == Some(depth)).map(|open| open.function)
    }
}

impl Open {
    /// Whether an exit of the same function and depth is this call's. Where nothing was lost it is; otherwise both ends
    /// must agree about the call's length, else its own exit was lost and this is that of a later call.
    fn is_of(&self, exit: &CallExit, time: u64) -> bool {
        if !self.doubtful {
            return true;
        }
        let Some(duration) = exit.duration_ns else { return false };
        time.saturating_sub(duration).abs_diff(self.start) <= (duration / 8).max(LEAST_TOLERANCE_NS)
    }
}

impl CallExit {
    fn call(&self, cpu: u32, tid: u32, time: u64, state: CallState) -> Call {
        let Self { function, depth, duration_ns, value, .. } = *self;
        let start = duration_ns.map(|duration| time.saturating_sub(duration));
        Call { cpu, tid, function, depth, start, end: time, duration_ns, caller: None, state, value }
    }
}

//! In which state each thread was and when; which thread each CPU ran; how long threads waited for a CPU once they were woken.
//!
//! Made from either of two forms of the same events:
//!
//! - the streams `switches` and `wakeups` of the source kind *states*;
//! - the tracepoints `sched:sched_switch`, `sched:sched_waking`, `sched:sched_wakeup`, `sched:sched_wakeup_new` and
//!   `sched:sched_process_exit`, as far as they were recorded.
//!
//! [`input`] makes events of rows of either form, [`tracker`] follows threads and CPUs through them, and [`rows`] writes what
//! they tell as rows of three streams.
//!
//! A thread is *runnable* from the moment that it is woken until it runs (from `sched_waking` on where that was recorded, as
//! `perf sched` has it), *preempted* if it left its CPU while it could have gone on, and in the state in which it left its CPU
//! otherwise. Without any events of wake-ups, a blocked state lasts until the thread runs again, and is marked so.

mod input;
mod leaving;
mod rows;
mod threads;
mod tracker;

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use bathyscope_capture::{Batch, ProcessChange, StreamSchema};

use crate::{
    DerivationCount, DerivationCounts, DerivationError, DerivationHost, Rule, RuleInput,
    merge::{RowMerge, Until},
};
use input::{SchedInput, SchedInputs};
use leaving::Leavings;
use rows::StateRows;
use tracker::{Left, Tracker};

pub use threads::MAX_THREADS;
pub use tracker::MAX_CPUS;

/// The name of the rule.
pub const THREAD_STATES_RULE: &str = "thread states";
/// The version of the rule; rows of another version may mean something else.
pub const THREAD_STATES_RULE_VERSION: u32 = 1;

/// Changes of processes that are held until rows of their time come.
const MAX_HELD_CHANGES: usize = 1 << 16;

/// What the rule needs to know of a capture beside its streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadStatesOptions {
    /// From when on all switches and wake-ups were recorded on all CPUs, monotonic nanoseconds; none if that is not known.
    /// What was so when the first event of a CPU or thread came was so since then.
    pub start_ns: Option<u64>,
    /// Whose events were recorded, where rows do not tell.
    pub recorded: RecordedThreads,
    /// Whether threads are the target's by their names: one that gets another name may be the target's no more.
    pub by_name: bool,
}

/// The threads all events of which were recorded. Others have no rows, and what is missing of them is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordedThreads {
    /// All that there are.
    #[default]
    All,
    /// Those of these processes.
    OfProcesses(HashSet<u32>),
    /// These, by their ids.
    These(HashSet<u32>),
}

/// The rule of thread states: see the module's description.
#[derive(Debug)]
pub struct ThreadStates {
    inputs: SchedInputs,
    leavings: Leavings,
    merge: RowMerge,
    changes: VecDeque<ProcessChange>,
    streams: Vec<StreamSchema>,
    tracker: Tracker,
}

impl ThreadStates {
    /// The rule for a capture with these streams.
    ///
    /// # Errors
    /// If there are no switches among them, or a column that is needed was not recorded.
    pub fn new(
        streams: &[StreamSchema],
        options: &ThreadStatesOptions,
        host: &mut dyn DerivationHost,
    ) -> Result<Self, DerivationError> {
        let inputs = SchedInputs::of(streams, host)?;
        let outputs = rows::schemas(&inputs);
        // Rows that tell which of their threads are the target's say more than anybody knows before.
        let told = inputs.tells_target().then(|| RecordedThreads::These(HashSet::new()));
        let rows = StateRows::new(&outputs, told.unwrap_or_else(|| options.recorded.clone()), host);
        let tracker = Tracker::new(inputs.recorded, (options.start_ns, options.by_name), rows);
        let leavings = Leavings::new(inputs.flags.clone());
        let (merge, changes) = (RowMerge::default(), VecDeque::new());
        Ok(Self { inputs, leavings, merge, changes, streams: outputs, tracker })
    }

    fn look(&mut self, until: Until, host: &mut dyn DerivationHost) {
        let Self { inputs, leavings, merge, changes, tracker, .. } = self;
        merge.advance(until, |input, rows, row| {
            let Some(input) = inputs.get(input) else { return };
            let Some(at) = input::moment(rows, row) else { return tracker.count(DerivationCount::UnusableRows) };
            while changes.front().is_some_and(|change| change.time_ns <= at.time_ns) {
                changes.pop_front().into_iter().for_each(|change| tracker.learn(&change));
            }
            if !step(input, leavings, tracker, (at, rows, row), host) {
                tracker.count(DerivationCount::UnusableRows);
            }
        });
        tracker.count_more(DerivationCount::LateRows, merge.take_late());
    }
}

/// Takes one row; `false` if it lacks a value.
fn step(
    input: &SchedInput,
    leavings: &mut Leavings,
    tracker: &mut Tracker,
    (at, rows, row): (input::Moment, &Batch, usize),
    host: &mut dyn DerivationHost,
) -> bool {
    match input {
        SchedInput::Switches(columns) => {
            let leaving = leavings.of(columns.state, (rows, row), host);
            let (Some(leaving), Some(next)) = (leaving, columns.next.of(rows, row)) else { return false };
            if let Some([from, to]) = columns.of_target(rows, row) {
                tracker.note_target(at.task.tid, from);
                tracker.note_target(next.tid, to);
            }
            let (stack, blocked_function) = (columns.stack(rows, row), columns.blocked_function(rows, row));
            tracker.switch(at, Left { leaving, stack, blocked_function }, next, host);
        }
        SchedInput::Wakeups(columns) => {
            let Some(wakee) = columns.wakee.of(rows, row) else { return false };
            if columns.of_target {
                tracker.note_target(wakee.tid, true);
            }
            tracker.wake(at, columns.kind(rows, row), wakee, columns.target_cpu(rows, row), host);
        }
        SchedInput::Exits => tracker.exit(at, host),
    }
    true
}

impl Rule for ThreadStates {
    fn streams(&self) -> &[StreamSchema] {
        &self.streams
    }

    fn inputs(&self) -> Vec<RuleInput> {
        self.inputs.list()
    }

    fn push(&mut self, stream: u16, rows: Arc<Batch>, host: &mut dyn DerivationHost) {
        if let Some(input) = self.inputs.place(stream) {
            self.merge.push(input, rows);
            if self.merge.is_full() {
                self.look(Until::Held(crate::MAX_HELD_ROWS / 2), host);
            }
        }
    }

    fn learn(&mut self, change: &ProcessChange) {
        if self.changes.len() >= MAX_HELD_CHANGES
            && let Some(first) = self.changes.pop_front()
        {
            self.tracker.learn(&first);
        }
        self.changes.push_back(change.clone());
    }

    fn add_loss(&mut self, start_ns: u64, end_ns: u64) {
        self.tracker.rows_mut().add_loss(start_ns, end_ns);
    }

    fn advance(&mut self, complete_ns: u64, host: &mut dyn DerivationHost) {
        self.look(Until::Before(complete_ns), host);
    }

    fn flush(&mut self, host: &mut dyn DerivationHost) {
        self.tracker.rows_mut().flush(host);
    }

    fn finish(&mut self, end_ns: u64, host: &mut dyn DerivationHost) {
        self.look(Until::End, host);
        self.tracker.finish(end_ns, host);
        self.tracker.rows_mut().flush(host);
    }

    fn counts(&self) -> DerivationCounts {
        self.tracker.counts()
    }
}

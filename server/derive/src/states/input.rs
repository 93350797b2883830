//! Rows of recorded streams as events of the scheduler.

use bathyscope_capture::{Batch, ColumnType, StackId, StreamSchema, StringId, SwitchSides, column_name_of_field};

use super::leaving::{StateColumn, StateFlags};
use crate::{DerivationError, DerivationHost, RuleInput, column, states::THREAD_STATES_RULE};

/// A thread as an event names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    /// Its process; 0 where the event does not say, and for idle threads.
    pub(super) pid: u32,
    /// 0 for idle threads, of which each CPU has one.
    pub(super) tid: u32,
    /// 0 where the event does not say.
    pub(super) comm: StringId,
}

/// When and where an event happened, and which thread was running there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) time_ns: u64,
    pub(super) cpu: u32,
    pub(super) task: Task,
}

/// What a wake-up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeKind {
    /// Somebody wakes the thread: `sched_waking`, and the wake-ups of the kind *states*.
    Waking,
    /// The thread was put on a run queue, perhaps by another CPU than the waker's: `sched_wakeup`.
    Queued,
    /// The thread begins: `sched_wakeup_new`.
    New,
}

/// Which wake-ups were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedWakeups {
    pub(super) waking: bool,
    pub(super) queued: bool,
    pub(super) new: bool,
}

impl RecordedWakeups {
    /// Whether something tells when a blocked thread is woken.
    pub(super) const fn any(self) -> bool {
        self.waking || self.queued
    }
}

/// Where a row names a thread besides the one that is running.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskColumns {
    pid: Option<usize>,
    tid: usize,
    comm: Option<usize>,
}

impl TaskColumns {
    /// The thread; none if it has no number.
    pub(super) fn of(&self, rows: &Batch, row: usize) -> Option<Task> {
        let tid = column::small(rows, self.tid, row)?;
        let pid = self.pid.and_then(|at| column::small(rows, at, row)).unwrap_or(0);
        Some(Task { pid, tid, comm: self.comm.map_or(0, |at| column::id(rows, at, row)) })
    }

    fn list(&self) -> impl Iterator<Item = usize> {
        [Some(self.tid), self.pid, self.comm].into_iter().flatten()
    }
}

/// The columns of switches; the common ones are of the thread that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct SwitchColumns {
    pub(super) state: StateColumn,
    pub(super) next: TaskColumns,
    stack: Option<usize>,
    blocked_function: Option<usize>,
    of_target: Option<TargetColumn>,
}

/// The column that tells which threads of a switch are the target's, and what its words are.
#[derive(Clone, Copy, Debug)]
struct TargetColumn {
    at: usize,
    /// What stands for the thread that leaves, for the one that gets the CPU, and for both.
    words: [StringId; 3],
}

impl SwitchColumns {
    /// The stack of the thread that leaves, 0 if there is none.
    pub(super) fn stack(&self, rows: &Batch, row: usize) -> StackId {
        self.stack.map_or(0, |at| column::id(rows, at, row))
    }

    /// The function in which the thread that leaves blocks, 0 if that was not recorded.
    pub(super) fn blocked_function(&self, rows: &Batch, row: usize) -> StringId {
        self.blocked_function.map_or(0, |at| column::id(rows, at, row))
    }

    /// Whether the thread that leaves is the target's, and the one that gets the CPU; none if rows do not tell.
    pub(super) fn of_target(&self, rows: &Batch, row: usize) -> Option<[bool; 2]> {
        let TargetColumn { at, words: [from, to, both] } = self.of_target?;
        let told = column::id(rows, at, row);
        Some([told == from || told == both, told == to || told == both])
    }
}

/// The columns of wake-ups; the common ones are of the thread that was running where they were recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct WakeupColumns {
    kind: WakeKind,
    new: Option<usize>,
    pub(super) wakee: TaskColumns,
    target_cpu: Option<usize>,
    /// Whether the woken thread is the target's, of which rows tell in switches.
    pub(super) of_target: bool,
}

impl WakeupColumns {
    /// What this row is.
    pub(super) fn kind(&self, rows: &Batch, row: usize) -> WakeKind {
        let is_new = self.new.and_then(|at| column::number(rows, at, row)).is_some_and(|new| new != 0);
        if is_new { WakeKind::New } else { self.kind }
    }

    /// The CPU whose run queue the thread was on or is put on, if that was recorded.
    pub(super) fn target_cpu(&self, rows: &Batch, row: usize) -> Option<u32> {
        self.target_cpu.and_then(|at| column::small(rows, at, row))
    }
}

/// What rows of an input are.
#[derive(Clone, Copy, Debug)]
pub(super) enum SchedInput {
    /// A CPU goes from one thread to another.
    Switches(SwitchColumns),
    /// A thread is woken.
    Wakeups(WakeupColumns),
    /// The running thread begins to end.
    Exits,
}

/// The inputs of a capture. Of the same moment, those that come first here happened first.
#[derive(Debug)]
pub(super) struct SchedInputs {
    inputs: Vec<(u16, SchedInput)>,
    pub(super) recorded: RecordedWakeups,
    pub(super) flags: StateFlags,
    /// The names of the inputs.
    pub(super) names: Vec<String>,
    /// Whether switches have stacks.
    pub(super) stacks: bool,
    /// Whether switches tell the functions in which threads block.
    pub(super) blocked_functions: bool,
}

/// The common columns of a row; none if a number is too large to be one.
pub(super) fn moment(rows: &Batch, row: usize) -> Option<Moment> {
    let task = Task {
        pid: column::small(rows, StreamSchema::PID, row)?,
        tid: column::small(rows, StreamSchema::TID, row)?,
        comm: column::id(rows, StreamSchema::COMM, row),
    };
    let time_ns = column::number(rows, StreamSchema::TIME, row)?;
    Some(Moment { time_ns, cpu: column::small(rows, StreamSchema::CPU, row)?, task })
}

impl SchedInputs {
    /// The inputs among the streams of a capture. Where both forms were recorded, that of the kind *states* counts; where
    /// several sources recorded the same, the first, and what the source of the switches has.
    pub(super) fn of(streams: &[StreamSchema], host: &mut dyn DerivationHost) -> Result<Self, DerivationError> {
        let find = |name: &str| (0_u16..).zip(streams).find(|(_, schema)| schema.name == name);
        let beside = |switches: &StreamSchema, name: &str| {
            let same = |(_, schema): &(u16, &StreamSchema)| schema.name == name && schema.source == switches.source;
            (0_u16..).zip(streams).find(same).or_else(|| find(name))
        };
        match (find("switches"), find("sched:sched_switch")) {
            (Some((stream, switches)), _) if switches.column("next_tid").is_some() => {
                Self::of_states((stream, switches), beside(switches, "wakeups"), host)
            }
            (_, Some((stream, switches))) => {
                let wakeup = |(name, kind)| Some((beside(switches, name)?, kind));
                let exits = beside(switches, "sched:sched_process_exit");
                Self::of_tracepoints((stream, switches), WAKEUPS.into_iter().filter_map(wakeup).collect(), exits)
            }
            _ => Err(DerivationError::NoStream {
                rule: THREAD_STATES_RULE.to_owned(),
                needed: "the switches of the kind states or sched:sched_switch".to_owned(),
            }),
        }
    }

    fn of_states(
        (stream, switches): (u16, &StreamSchema),
        wakeups: Option<(u16, &StreamSchema)>,
        host: &mut dyn DerivationHost,
    ) -> Result<Self, DerivationError> {
        let state = text(switches, "state").ok_or_else(|| no_column(switches, "state", "text"))?;
        let next = TaskColumns {
            pid: number(switches, "next_pid"),
            tid: required(switches, "next_tid")?,
            comm: text(switches, "next_comm"),
        };
        let stack = column::typed(switches, "stack", |ty| ty == ColumnType::Stack);
        let blocked_function = text(switches, "blocked_function");
        let mut found = Self::empty(StateFlags::default(), stack.is_some());
        found.blocked_functions = blocked_function.is_some();
        let of_target = text(switches, "of_target").map(|at| {
            let words = SwitchSides::WORDS.map(|word| host.string_id(word.as_bytes()));
            TargetColumn { at, words }
        });
        if let Some((stream, schema)) = wakeups {
            let wakee = TaskColumns {
                pid: number(schema, "wakee_pid"),
                tid: required(schema, "wakee_tid")?,
                comm: text(schema, "wakee_comm"),
            };
            let (target_cpu, new) = (number(schema, "target_cpu"), number(schema, "new"));
            found.recorded = RecordedWakeups { waking: true, queued: false, new: new.is_some() };
            let columns =
                WakeupColumns { kind: WakeKind::Waking, new, wakee, target_cpu, of_target: of_target.is_some() };
            found.add(stream, schema, SchedInput::Wakeups(columns));
        }
        let columns = SwitchColumns { state: StateColumn::Text(state), next, stack, blocked_function, of_target };
        found.add(stream, switches, SchedInput::Switches(columns));
        Ok(found)
    }

    fn of_tracepoints(
        (stream, switches): (u16, &StreamSchema),
        wakeups: Vec<((u16, &StreamSchema), WakeKind)>,
        exits: Option<(u16, &StreamSchema)>,
    ) -> Result<Self, DerivationError> {
        let state = StateColumn::Number(required(switches, "prev_state")?);
        let next = TaskColumns { pid: None, tid: required(switches, "next_pid")?, comm: text(switches, "next_comm") };
        let stack = column::typed(switches, "stack", |ty| ty == ColumnType::Stack);
        let mut found = Self::empty(StateFlags::of(switches.format.as_deref()), stack.is_some());
        if let Some((stream, schema)) = exits {
            found.add(stream, schema, SchedInput::Exits);
        }
        for ((stream, schema), kind) in wakeups {
            let tid = required(schema, &column_name_of_field("pid"))?;
            let wakee = TaskColumns { pid: None, tid, comm: text(schema, &column_name_of_field("comm")) };
            let target_cpu = number(schema, "target_cpu");
            found.add(
                stream,
                schema,
                SchedInput::Wakeups(WakeupColumns { kind, new: None, wakee, target_cpu, of_target: false }),
            );
            match kind {
                WakeKind::Waking => found.recorded.waking = true,
                WakeKind::Queued => found.recorded.queued = true,
                WakeKind::New => found.recorded.new = true,
            }
        }
        let columns = SwitchColumns { state, next, stack, blocked_function: None, of_target: None };
        found.add(stream, switches, SchedInput::Switches(columns));
        Ok(found)
    }

    fn empty(flags: StateFlags, stacks: bool) -> Self {
        let (recorded, names) = (RecordedWakeups::default(), Vec::new());
        Self { inputs: Vec::new(), recorded, flags, names, stacks, blocked_functions: false }
    }

    fn add(&mut self, stream: u16, schema: &StreamSchema, input: SchedInput) {
        self.inputs.push((stream, input));
        self.names.push(schema.name.clone());
    }

    /// Whether rows tell which of their threads are the target's.
    pub(super) fn tells_target(&self) -> bool {
        self.inputs
            .iter()
            .any(|(_, input)| matches!(input, SchedInput::Switches(columns) if columns.of_target.is_some()))
    }

    /// The input at this place.
    pub(super) fn get(&self, place: usize) -> Option<&SchedInput> {
        self.inputs.get(place).map(|(_, input)| input)
    }

    /// The place of a stream among the inputs.
    pub(super) fn place(&self, stream: u16) -> Option<usize> {
        self.inputs.iter().position(|(input, _)| *input == stream)
    }

    /// The streams with the columns that are read.
    pub(super) fn list(&self) -> Vec<RuleInput> {
        let one = |(stream, input): &(u16, SchedInput)| {
            let mut columns: Vec<usize> = (0..StreamSchema::COMMON.len()).collect();
            match input {
                SchedInput::Switches(switches) => {
                    columns.extend([switches.state.column()].into_iter().chain(switches.stack));
                    columns.extend(switches.blocked_function);
                    columns.extend(switches.of_target.map(|told| told.at));
                    columns.extend(switches.next.list());
                }
                SchedInput::Wakeups(wakeups) => {
                    columns.extend(wakeups.new.into_iter().chain(wakeups.target_cpu));
                    columns.extend(wakeups.wakee.list());
                }
                SchedInput::Exits => {}
            }
            columns.sort_unstable();
            columns.dedup();
            RuleInput { stream: *stream, columns }
        };
        self.inputs.iter().map(one).collect()
    }
}

/// The tracepoints of wake-ups, in the order in which they happen.
const WAKEUPS: [(&str, WakeKind); 3] = [
    ("sched:sched_waking", WakeKind::Waking),
    ("sched:sched_wakeup", WakeKind::Queued),
    ("sched:sched_wakeup_new", WakeKind::New),
];

fn text(schema: &StreamSchema, name: &str) -> Option<usize> {
    column::typed(schema, name, |ty| ty == ColumnType::Text)
}

fn number(schema: &StreamSchema, name: &str) -> Option<usize> {
    column::typed(schema, name, column::is_number)
}

fn required(schema: &StreamSchema, name: &str) -> Result<usize, DerivationError> {
    number(schema, name).ok_or_else(|| no_column(schema, name, "a number"))
}

fn no_column(schema: &StreamSchema, name: &str, as_what: &'static str) -> DerivationError {
    DerivationError::NoColumn {
        rule: THREAD_STATES_RULE.to_owned(),
        stream: schema.name.clone(),
        column: name.to_owned(),
        as_what,
    }
}

//! The streams of the rule, and how rows are written into them.

use bathyscope_capture::{
    ColumnType, Derivation, Display, RowKind, RowMeaning, SliceTime, StreamKind, StreamSchema, StringId,
};

use super::{
    input::{SchedInputs, Task},
    leaving::Leaving,
    threads::{Doing, Thread, Waker},
};
use crate::{
    DerivationHost,
    column::own,
    losses::Losses,
    output::OutputRows,
    states::{RecordedThreads, THREAD_STATES_RULE, THREAD_STATES_RULE_VERSION},
};

/// The column with the function of the kernel in which an uninterruptible thread blocks.
const BLOCKED_FUNCTION: &str = "blocked_function";
/// The columns of thread states that there always are.
const STATE_COLUMNS: usize = StreamSchema::COMMON.len() + 5;

/// What is not known of a row: bits, of which the words stand in the column `unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowUnknown(u8);

impl RowUnknown {
    /// When it began: it was so at its time, and perhaps before.
    pub(super) const BEGIN: Self = Self(1);
    /// When it ended: it was so until its end, and perhaps longer.
    pub(super) const END: Self = Self(2);
    /// When the thread was woken: the row lasts until something shows that it was.
    pub(super) const WAKEUP: Self = Self(4);
    /// Whether there was something else between: events were lost in its time.
    const LOST: Self = Self(8);
    const NAMES: [&'static str; 4] = ["begin", "end", "wake-up", "lost events"];

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn if_so(self, is_so: bool) -> Self {
        if is_so { self } else { Self(0) }
    }

    fn words(bits: u8) -> String {
        let set = Self::NAMES.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0);
        set.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// The schemas of what is made of these inputs: thread states, occupation of CPUs, latencies; and with stacks time off the CPU.
pub(super) fn schemas(inputs: &SchedInputs) -> Vec<StreamSchema> {
    let duration = || own("duration_ns", ColumnType::U64, Display::DurationNs);
    let number = |name| own(name, ColumnType::U64, Display::Decimal);
    let text = |name| own(name, ColumnType::Text, Display::Text);
    let state = |state: &str| RowKind::State { state: state.to_owned(), duration: Some("duration_ns".to_owned()) };
    let mut states = vec![duration(), text("state"), number("waker_pid"), number("waker_tid"), text("unknown")];
    if inputs.blocked_functions {
        states.push(text(BLOCKED_FUNCTION));
    }
    if inputs.stacks {
        states.push(own("stack", ColumnType::Stack, Display::Text));
    }
    let occupation = vec![duration(), text("state"), text("unknown")];
    let latency = vec![
        duration(),
        number("waker_pid"),
        number("waker_tid"),
        text("waker_comm"),
        number("target_cpu"),
        text("unknown"),
    ];
    let slice = RowKind::Slice { duration: "duration_ns".to_owned(), time: SliceTime::Begin, depth: None };
    let streams = [
        ("thread states", states, RowMeaning::new(state("state"), &["tid"])),
        ("cpu occupation", occupation, RowMeaning::new(state("comm"), &["cpu"])),
        ("run-queue latency", latency, RowMeaning::new(slice, &["tid"])),
    ];
    let derived = Derivation {
        rule: THREAD_STATES_RULE.to_owned(),
        version: THREAD_STATES_RULE_VERSION,
        from: inputs.names.clone(),
    };
    let schema = |(name, kind, columns, rows): (&str, StreamKind, Vec<_>, RowMeaning)| StreamSchema {
        rows: Some(Box::new(rows)),
        derived: Some(Box::new(derived.clone())),
        ..StreamSchema::new(name, kind, columns)
    };
    let off_cpu = inputs.stacks.then(|| {
        let columns = vec![own("stack", ColumnType::Stack, Display::Text), duration(), text("state"), text("unknown")];
        let weight = Some("duration_ns".to_owned());
        let kind = RowKind::Sample { stack: "stack".to_owned(), weight, unit: "ns".to_owned() };
        ("off-CPU", StreamKind::Samples, columns, RowMeaning::new(kind, &["tid"]))
    });
    let streams = streams.into_iter().map(|(name, columns, rows)| (name, StreamKind::Events, columns, rows));
    streams.chain(off_cpu).map(schema).collect()
}

/// The words for what threads do.
#[derive(Debug)]
struct StateWords {
    running: StringId,
    runnable: StringId,
    preempted: StringId,
    dead: StringId,
    /// By the bits of what is not known.
    unknown: [StringId; 16],
}

/// Writes rows.
#[derive(Debug)]
pub(super) struct StateRows {
    words: StateWords,
    states: OutputRows,
    has_blocked_functions: bool,
    has_stacks: bool,
    occupation: OutputRows,
    latency: OutputRows,
    /// Only where there are stacks.
    off_cpu: Option<OutputRows>,
    losses: Losses,
    recorded: RecordedThreads,
}

impl StateRows {
    pub(super) fn new(streams: &[StreamSchema], recorded: RecordedThreads, host: &mut dyn DerivationHost) -> Self {
        let empty = StreamSchema::new("", StreamKind::Events, []);
        let output = |at: usize| OutputRows::new(at, streams.get(at).unwrap_or(&empty));
        let mut word = |text: &str| host.string_id(text.as_bytes());
        let mut unknown = [0; 16];
        for (bits, id) in (0_u8..).zip(&mut unknown).skip(1) {
            *id = word(&RowUnknown::words(bits));
        }
        let words = StateWords {
            running: word("running"),
            runnable: word("runnable"),
            preempted: word("preempted"),
            dead: word("dead"),
            unknown,
        };
        let has = |column| streams.first().is_some_and(|states| states.column(column).is_some());
        let (has_blocked_functions, has_stacks) = (has(BLOCKED_FUNCTION), has("stack"));
        let (losses, off_cpu) = (Losses::default(), has_stacks.then(|| output(3)));
        let (states, occupation, latency) = (output(0), output(1), output(2));
        Self { words, states, has_blocked_functions, has_stacks, occupation, latency, off_cpu, losses, recorded }
    }

    pub(super) fn add_loss(&mut self, start_ns: u64, end_ns: u64) {
        self.losses.add(start_ns, end_ns);
    }

    /// Takes over whether a thread is the target's; says whether it was and is no more.
    pub(super) fn note_target(&mut self, tid: u32, is_target: bool) -> bool {
        let RecordedThreads::These(threads) = &mut self.recorded else { return false };
        match is_target {
            // Idle threads belong to nobody.
            true if tid != 0 => {
                threads.insert(tid);
                false
            }
            true => false,
            false => threads.remove(&tid),
        }
    }

    /// Whether all events of this thread of a process were recorded.
    pub(super) fn is_recorded(&self, pid: u32, tid: u32) -> bool {
        match &self.recorded {
            RecordedThreads::All => true,
            RecordedThreads::OfProcesses(processes) => processes.contains(&pid),
            RecordedThreads::These(threads) => threads.contains(&tid),
        }
    }

    /// Whether events are known to have been lost between these moments.
    pub(super) fn lost_between(&self, start_ns: u64, end_ns: u64) -> bool {
        self.losses.overlap(start_ns, end_ns)
    }

    fn unknown(&self, unknown: RowUnknown, start_ns: u64, end_ns: u64) -> u64 {
        let all = unknown.and(RowUnknown::LOST.if_so(self.lost_between(start_ns, end_ns)));
        self.words.unknown.get(usize::from(all.0)).map_or(0, |id| u64::from(*id))
    }

    /// What a thread did until `end_ns`; what it does otherwise has no row.
    pub(super) fn state(
        &mut self,
        (tid, thread): (u32, &Thread),
        end_ns: u64,
        unknown: RowUnknown,
        host: &mut dyn DerivationHost,
    ) {
        let (word, stack, waker) = match thread.doing {
            Doing::Unseen | Doing::Lost => return,
            Doing::Running => (self.words.running, 0, None),
            Doing::Woken => (self.words.runnable, 0, thread.waker),
            Doing::Preempted => (self.words.preempted, thread.stack, None),
            Doing::Blocked(word) => (word, thread.stack, None),
            Doing::Dead => (self.words.dead, 0, None),
        };
        if !self.is_recorded(thread.pid, tid) {
            return;
        }
        let waker = waker.unwrap_or_default().task;
        let unknown = unknown.and(RowUnknown::BEGIN.if_so(thread.begin_unknown || thread.is_unsure));
        let unknown = self.unknown(unknown, thread.since_ns, end_ns);
        let (stack, duration) = (u64::from(stack), end_ns.saturating_sub(thread.since_ns));
        let common = [thread.since_ns, thread.cpu.into(), thread.pid.into(), tid.into(), thread.comm.into()];
        let [time, cpu, pid, tid, comm] = common;
        let (word, waker_pid, waker_tid) = (u64::from(word), u64::from(waker.pid), u64::from(waker.tid));
        let mut row = [time, cpu, pid, tid, comm, duration, word, waker_pid, waker_tid, unknown, 0, 0];
        let more = [
            self.has_blocked_functions.then_some(u64::from(thread.blocked_function)),
            self.has_stacks.then_some(stack),
        ];
        let mut columns = STATE_COLUMNS;
        for (place, value) in row.iter_mut().skip(STATE_COLUMNS).zip(more.into_iter().flatten()) {
            (*place, columns) = (value, columns + 1);
        }
        self.states.push(row.get(..columns).unwrap_or_default(), host);
        if let Some(off_cpu) = self.off_cpu.as_mut().filter(|_| stack != 0) {
            off_cpu.push(&[time, cpu, pid, tid, comm, stack, duration, word, unknown], host);
        }
    }

    /// What a CPU ran from `start_ns` until `end_ns`, and how it left, if that is known.
    pub(super) fn occupation(
        &mut self,
        (cpu, task): (u32, Task),
        (start_ns, end_ns): (u64, u64),
        (leaving, unknown): (Option<Leaving>, RowUnknown),
        host: &mut dyn DerivationHost,
    ) {
        if !self.is_recorded(task.pid, task.tid) {
            return;
        }
        let row = [
            start_ns,
            u64::from(cpu),
            u64::from(task.pid),
            u64::from(task.tid),
            u64::from(task.comm),
            end_ns.saturating_sub(start_ns),
            leaving.map_or(0, |leaving| u64::from(leaving.name)),
            self.unknown(unknown, start_ns, end_ns),
        ];
        self.occupation.push(&row, host);
    }

    /// That a woken thread ran at `end_ns` on `cpu`.
    pub(super) fn latency(
        &mut self,
        (tid, thread): (u32, &Thread),
        (waker, cpu): (Waker, u32),
        end_ns: u64,
        host: &mut dyn DerivationHost,
    ) {
        if !self.is_recorded(thread.pid, tid) {
            return;
        }
        let row = [
            thread.since_ns,
            u64::from(cpu),
            u64::from(thread.pid),
            u64::from(tid),
            u64::from(thread.comm),
            end_ns.saturating_sub(thread.since_ns),
            u64::from(waker.task.pid),
            u64::from(waker.task.tid),
            u64::from(waker.task.comm),
            u64::from(waker.target_cpu),
            self.unknown(RowUnknown::BEGIN.if_so(thread.is_unsure), thread.since_ns, end_ns),
        ];
        self.latency.push(&row, host);
    }

    /// Gives all rows to the host.
    pub(super) fn flush(&mut self, host: &mut dyn DerivationHost) {
        self.states.flush(host);
        self.occupation.flush(host);
        self.latency.flush(host);
        if let Some(off_cpu) = &mut self.off_cpu {
            off_cpu.flush(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_told_in_words() {
        let all = RowUnknown::BEGIN.and(RowUnknown::END).and(RowUnknown::WAKEUP).and(RowUnknown::LOST);
        assert_eq!(RowUnknown::words(all.0), "begin, end, wake-up, lost events");
        assert_eq!(RowUnknown::words(RowUnknown::END.if_so(true).0), "end");
        assert_eq!(RowUnknown::words(RowUnknown::END.if_so(false).0), "");
    }
}

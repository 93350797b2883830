//! The critical path is that of a naive walk over the schedule that the rows were made of, moment by moment.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, RowKind, RowMeaning, SliceTime, StreamKind, StreamSchema,
};
use bathyscope_views::{
    CriticalPath, CriticalPathQuery, FlowKind, FlowWay, MAX_PATH_PARTS, MemorySource, PathGap, PathKind, PathOf,
    PathPart, TimeRange, TrackMomentQuery, ViewError, critical_path, track_list, track_moment,
};
use proptest::prelude::*;

const START_NS: u64 = 1000;
const CPUS: usize = 2;
/// Threads 1 to 5 have states; what thread 9 does, which wakes them too, is not recorded.
const THREADS: u64 = 5;
const UNRECORDED: u64 = 9;
const STATES: [&str; 6] = ["running", "runnable", "preempted", "sleeping", "uninterruptible", "dead"];
const RUNNING: u32 = 1;
const RUNNABLE: u32 = 2;
const PREEMPTED: u32 = 3;
const SLEEPING: u32 = 4;
const UNINTERRUPTIBLE: u32 = 5;
/// Soft interrupts: timers, network, disk.
const SOFT: [u64; 3] = [1, 3, 4];
const SOFT_NS: u64 = 2;

/// A row of the states of a thread; the waker is 0 for an idle thread.
#[derive(Clone, Copy, Debug)]
struct StateRow {
    tid: u64,
    cpu: u64,
    begin: u64,
    end: u64,
    state: u32,
    waker: u64,
}

#[derive(Clone, Copy, Debug)]
struct Wake {
    time: u64,
    cpu: u64,
    waker: u64,
    wakee: u64,
}

/// A made-up schedule in which nobody acts that does not run.
#[derive(Clone, Debug, Default)]
struct Schedule {
    rows: Vec<StateRow>,
    wakes: Vec<Wake>,
    /// CPU, begin, number.
    soft: Vec<(u64, u64, u64)>,
    /// CPU, thread, begin, end.
    occupied: Vec<(u64, u64, u64, u64)>,
    end: u64,
}

struct World {
    schedule: Schedule,
    now: u64,
    /// Of each thread: its state, since when, on which CPU, woken by whom.
    threads: Vec<StateRow>,
    /// What CPUs run, and since when.
    cpus: [(u64, u64); CPUS],
}

impl World {
    fn new() -> Self {
        let asleep = |tid| StateRow { tid, cpu: 0, begin: START_NS, end: 0, state: SLEEPING, waker: 0 };
        let threads = (0..=THREADS).map(asleep).collect();
        Self { schedule: Schedule::default(), now: START_NS, threads, cpus: [(0, START_NS); CPUS] }
    }

    fn become_state(&mut self, tid: u64, state: u32, cpu: usize, waker: u64) {
        let thread = &mut self.threads[tid as usize];
        self.schedule.rows.push(StateRow { end: self.now, ..*thread });
        *thread = StateRow { tid, cpu: cpu as u64, begin: self.now, end: 0, state, waker };
    }

    fn occupy(&mut self, cpu: usize, tid: u64) {
        let (before, since) = self.cpus[cpu];
        self.schedule.occupied.push((cpu as u64, before, since, self.now));
        self.cpus[cpu] = (tid, self.now);
    }

    /// One thing happens.
    fn act(&mut self, (step, what, who, cpu): (u64, u8, u64, usize)) {
        self.now += step;
        let (running, tid) = (self.cpus[cpu].0, who % THREADS + 1);
        let state = self.threads[tid as usize].state;
        let asleep = state == SLEEPING || state == UNINTERRUPTIBLE;
        match what {
            // What runs goes to sleep, or is preempted.
            0..=2 if running != 0 => {
                let left = [SLEEPING, UNINTERRUPTIBLE, PREEMPTED][usize::from(what)];
                self.become_state(running, left, cpu, 0);
                self.occupy(cpu, 0);
            }
            // A CPU takes who waits.
            3..=5 if running == 0 && (state == RUNNABLE || state == PREEMPTED) => {
                self.become_state(tid, RUNNING, cpu, 0);
                self.occupy(cpu, tid);
            }
            // What runs wakes somebody; an idle CPU has an interrupt.
            6..=9 if asleep => {
                let at = Wake { time: self.now, cpu: cpu as u64, waker: running, wakee: tid };
                self.schedule.wakes.push(at);
                self.become_state(tid, RUNNABLE, cpu, running);
            }
            // An interrupt on top of whatever runs.
            10 if asleep => {
                let soft = SOFT[who as usize % SOFT.len()];
                self.schedule.soft.push((cpu as u64, self.now, soft));
                self.now += 1;
                self.schedule.wakes.push(Wake { time: self.now, cpu: cpu as u64, waker: running, wakee: tid });
                self.become_state(tid, RUNNABLE, cpu, running);
                self.now += SOFT_NS;
            }
            // A thread that is not recorded wakes it.
            11 if asleep => {
                let at = Wake { time: self.now, cpu: CPUS as u64, waker: UNRECORDED, wakee: tid };
                self.schedule.wakes.push(at);
                self.become_state(tid, RUNNABLE, cpu, UNRECORDED);
            }
            _ => {}
        }
    }

    fn end(mut self) -> Schedule {
        self.now += 1;
        for tid in 1..=THREADS {
            self.schedule.rows.push(StateRow { end: self.now, ..self.threads[tid as usize] });
        }
        (0..CPUS).for_each(|cpu| self.occupy(cpu, 0));
        self.schedule.end = self.now;
        self.schedule
    }
}

fn column(name: &str, ty: ColumnType) -> Column {
    Column { name: name.to_owned(), ty, display: Display::Decimal }
}

pub(crate) fn schema(name: &str, kind: RowKind, key: &[&str], own: &[(&str, ColumnType)]) -> StreamSchema {
    let own = own.iter().map(|(name, ty)| column(name, *ty));
    StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, key))),
        ..StreamSchema::new(name, StreamKind::Events, own)
    }
}

pub(crate) fn state(column: &str) -> RowKind {
    RowKind::State { state: column.to_owned(), duration: Some("duration_ns".to_owned()) }
}

/// Common columns and numbers of rows: time, CPU, thread, then the others.
pub(crate) fn batch<const N: usize>(rows: &[[u64; N]], ids: &[usize]) -> Batch {
    let numbers = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<_>>();
    let common = [
        ColumnData::U64(numbers(0)),
        ColumnData::U64(numbers(1)),
        ColumnData::U64(numbers(2)),
        ColumnData::U64(numbers(2)),
        ColumnData::Id(numbers(2).into_iter().map(|tid| 20 + tid as u32).collect()),
    ];
    let own = (3..N).map(|at| match ids.contains(&at) {
        true => ColumnData::Id(numbers(at).into_iter().map(|id| id as u32).collect()),
        false => ColumnData::U64(numbers(at)),
    });
    Batch { columns: common.into_iter().chain(own).collect() }
}

/// Chunks of so many rows, in the order of their ends, and each by its beginnings.
pub(crate) fn chunks<const N: usize>(mut rows: Vec<(u64, [u64; N])>, most: usize, ids: &[usize]) -> Vec<Batch> {
    rows.sort_by_key(|(end, _)| *end);
    let chunk = |part: &[(u64, [u64; N])]| {
        let mut part: Vec<[u64; N]> = part.iter().map(|(_, row)| *row).collect();
        part.sort_by_key(|row| row[0]);
        batch(&part, ids)
    };
    rows.chunks(most).map(chunk).collect()
}

fn source(schedule: &Schedule, chunk_rows: usize) -> MemorySource {
    use ColumnType::{Text, U64};
    let mut source = MemorySource::new(START_NS);
    for (id, text) in (1..).zip(STATES) {
        source.dictionaries.insert_string(id, text.as_bytes());
    }
    let duration = ("duration_ns", U64);
    let states = [duration, ("state", Text), ("waker_tid", U64)];
    let rows = schedule
        .rows
        .iter()
        .map(|row| (row.end, [row.begin, row.cpu, row.tid, row.end - row.begin, row.state.into(), row.waker]));
    source.push_stream(
        schema("thread states", state("state"), &["tid"], &states),
        chunks(rows.collect(), chunk_rows, &[4]),
    );
    let occupied = schedule.occupied.iter().map(|(cpu, tid, begin, end)| (*end, [*begin, *cpu, *tid, end - begin]));
    let cpus = schema("cpu occupation", state("comm"), &["cpu"], &[duration]);
    source.push_stream(cpus, chunks(occupied.collect(), chunk_rows, &[]));
    let soft = schedule.soft.iter().map(|(cpu, begin, vec)| (begin + SOFT_NS, [*begin, *cpu, 0, SOFT_NS, *vec]));
    let slice = RowKind::Slice { duration: "duration_ns".to_owned(), time: SliceTime::Begin, depth: None };
    let soft_schema = schema("soft interrupts", slice, &["cpu", "vec"], &[duration, ("vec", U64)]);
    source.push_stream(soft_schema, chunks(soft.collect(), chunk_rows, &[]));
    let wakes = schedule.wakes.iter().map(|wake| (wake.time, [wake.time, wake.cpu, wake.waker, wake.wakee, 0]));
    let wakeups = schema("wakeups", RowKind::Instant, &[], &[("wakee_tid", U64), ("new", U64)]);
    source.push_stream(wakeups, chunks(wakes.collect(), chunk_rows, &[]));
    source.make_tracks().unwrap();
    source
}

/// In which thread the path is at a moment, in which kind of part, and for whom the first thread waited itself.
fn naive(schedule: &Schedule, tid: u64, time: u64) -> (u64, PathKind, Option<u64>) {
    let own: Vec<&StateRow> = schedule.rows.iter().filter(|row| row.tid == tid && row.begin < row.end).collect();
    let Some(at) = own.iter().position(|row| row.begin <= time && time < row.end) else {
        return (tid, PathKind::Unknown, None);
    };
    let row = own[at];
    match row.state {
        RUNNING => return (tid, PathKind::Running, None),
        RUNNABLE | PREEMPTED => return (tid, PathKind::Cpu, None),
        _ => {}
    }
    let Some(next) = own.get(at + 1) else { return (tid, PathKind::Unknown, None) };
    let wake = schedule.wakes.iter().find(|wake| wake.wakee == tid && wake.time == row.end).unwrap();
    let soft = schedule
        .soft
        .iter()
        .find(|(cpu, begin, _)| *cpu == wake.cpu && *begin <= wake.time && wake.time < begin + SOFT_NS);
    match soft {
        Some((_, _, 1)) => (tid, PathKind::Timer, None),
        Some((_, _, 4)) => (tid, PathKind::Disk, None),
        None if next.waker != 0 => {
            let (thread, kind, _) = naive(schedule, next.waker, time);
            (thread, kind, Some(next.waker))
        }
        _ if row.state == UNINTERRUPTIBLE => (tid, PathKind::Disk, None),
        _ => (tid, PathKind::Interrupt, None),
    }
}

fn ask(source: &MemorySource, tid: u64, range: TimeRange) -> Result<CriticalPath, ViewError> {
    critical_path(source, &CriticalPathQuery { of: PathOf::Thread(tid), range }, &AtomicBool::new(false))
}

/// The outermost wait of a part.
fn outermost(path: &CriticalPath, part: &PathPart) -> Option<usize> {
    let mut wait = part.wait?;
    while let Some(outer) = path.waits[wait as usize].outer {
        wait = outer;
    }
    Some(wait as usize)
}

fn actions() -> impl Strategy<Value = Vec<(u64, u8, u64, usize)>> {
    prop::collection::vec((1_u64..30, 0_u8..12, 0_u64..60, 0..CPUS), 1..500)
}

fn schedule(actions: Vec<(u64, u8, u64, usize)>) -> Schedule {
    let mut world = World::new();
    actions.into_iter().for_each(|action| world.act(action));
    world.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_path_is_what_it_is_moment_by_moment(
        actions in actions(), chunk_rows in 1_usize..300, from in 0.0_f64..0.8, share in 0.05_f64..1.0, tid in 1..=THREADS,
    ) {
        let schedule = schedule(actions);
        let whole = schedule.end - START_NS;
        let start_ns = START_NS + (from * whole as f64) as u64;
        let range = TimeRange { start_ns, end_ns: start_ns + 1 + (share * whole as f64) as u64 };
        let path = ask(&source(&schedule, chunk_rows.max(40)), tid, range).unwrap();
        prop_assert_eq!(path.stopped, None);
        // The parts cover the range, one after the other.
        let edges: Vec<i64> = path.parts.iter().map(|part| part.start).chain([path.end]).collect();
        prop_assert_eq!(edges[0], path.start);
        prop_assert!(path.parts.iter().zip(&edges[1..]).all(|(part, next)| part.end == *next && part.start < part.end));

        let mut by_kind: BTreeMap<PathKind, u64> = BTreeMap::new();
        let mut by_waited: BTreeMap<u64, u64> = BTreeMap::new();
        let mut by_thread: BTreeMap<(u64, PathKind), u64> = BTreeMap::new();
        for time in range.start_ns..range.end_ns {
            let at = (time - START_NS) as i64;
            let part = &path.parts[path.parts.partition_point(|part| part.end <= at)];
            let (thread, kind, waited) = naive(&schedule, tid, time);
            let outer = outermost(&path, part).map(|wait| path.threads[path.waits[wait].waker as usize].tid);
            prop_assert_eq!((path.threads[part.thread as usize].tid, part.kind, outer), (thread, kind, waited), "at {}", at);
            *by_kind.entry(if waited.is_some() { PathKind::Thread } else { kind }).or_default() += 1;
            waited.into_iter().for_each(|waited| *by_waited.entry(waited).or_default() += 1);
            *by_thread.entry((thread, kind)).or_default() += 1;
        }
        let of = |thread: u32| path.threads[thread as usize].tid;
        prop_assert_eq!(path.shares.iter().map(|share| (share.kind, share.time)).collect::<BTreeMap<_, _>>(), by_kind);
        prop_assert_eq!(path.waited.iter().map(|one| (of(one.thread), one.time)).collect::<BTreeMap<_, _>>(), by_waited);
        let sums = path.sums.iter().map(|sum| ((of(sum.thread), sum.kind), sum.time)).collect::<BTreeMap<_, _>>();
        prop_assert_eq!(sums, by_thread);
        for share in &path.shares {
            prop_assert!(path.parts.len() > share.longest as usize && share.parts > 0);
        }
        // A wait is explained by a wake-up, and what it counts for happened while it lasted.
        for wait in path.waits.iter().filter(|wait| !wait.is_start) {
            let (waiter, waker) = (of(wait.thread), of(wait.waker));
            let woken = wait.woken.unsigned_abs() + START_NS;
            let is_told = |wake: &Wake| wake.wakee == waiter && wake.waker == waker && wake.time == woken;
            prop_assert!(schedule.wakes.iter().any(is_told), "{wait:?}");
        }
        for part in path.parts.iter().filter(|part| part.wait.is_some()) {
            let wait = &path.waits[part.wait.unwrap() as usize];
            prop_assert!(wait.waker == part.thread && wait.start <= part.start && part.end <= wait.woken, "{part:?}");
        }
        // Nobody had the CPU for longer than who is named.
        for part in path.parts.iter().filter(|part| part.kind == PathKind::Cpu) {
            let (start, end) = (part.start.unsigned_abs() + START_NS, part.end.unsigned_abs() + START_NS);
            let mut had: BTreeMap<u64, u64> = BTreeMap::new();
            for (cpu, thread, from, until) in &schedule.occupied {
                let time = until.min(&end).saturating_sub(*from.max(&start));
                if Some(*cpu) == part.cpu && *thread != 0 && *thread != of(part.thread) && time > 0 {
                    *had.entry(*thread).or_default() += time;
                }
            }
            let named = part.had_cpu.as_ref().and_then(|label| label.tid).map(|tid| had[&tid.into()]);
            prop_assert_eq!(named, had.values().max().copied());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn flows_of_a_state_are_the_wakeups_that_lead_to_it_and_on_from_it(actions in actions(), chunk_rows in 40_usize..300) {
        let schedule = schedule(actions);
        let source = source(&schedule, chunk_rows);
        let list = track_list(&source, &AtomicBool::new(false)).unwrap();
        let in_soft = |wake: &Wake| {
            let soft = |(cpu, begin, _): &(u64, u64, u64)| {
                *cpu == wake.cpu && *begin <= wake.time && wake.time < begin + SOFT_NS
            };
            schedule.soft.iter().any(soft)
        };
        let by_interrupt = |wake: &Wake| wake.waker == 0 || in_soft(wake);
        for row in schedule.rows.iter().filter(|row| row.begin < row.end).step_by(3) {
            let track = list.tracks.iter().find(|track| track.stream == 0 && track.tid == Some(row.tid)).unwrap();
            let query = TrackMomentQuery { track: track.id.parse().unwrap(), time_ns: row.begin };
            let moment = track_moment(&source, &query, &AtomicBool::new(false)).unwrap();
            prop_assert_eq!(moment.at.unwrap().start.unsigned_abs() + START_NS, row.begin);
            let of = |way: FlowWay| {
                let flows = moment.flows.flows.iter().filter(move |flow| flow.way == way);
                flows.map(|flow| (flow.time.unsigned_abs() + START_NS, flow.tid, flow.kind)).collect::<Vec<_>>()
            };
            // Who woke it into this row, into the one after, or into the one before.
            let woken = match row.state {
                RUNNABLE => Some(row.begin),
                SLEEPING | UNINTERRUPTIBLE => Some(row.end),
                RUNNING => schedule.rows.iter()
                    .find(|other| other.tid == row.tid && other.end == row.begin && other.state == RUNNABLE && other.begin < other.end)
                    .map(|other| other.begin),
                _ => None,
            };
            let wake = schedule.wakes.iter().find(|wake| wake.wakee == row.tid && Some(wake.time) == woken);
            // Where no interrupt is recorded, it may have been the idle task.
            let kind = |wake: &Wake| match wake.waker {
                0 if !in_soft(wake) => FlowKind::Idle,
                _ if by_interrupt(wake) => FlowKind::Interrupt,
                _ => FlowKind::WakeUp,
            };
            let from: Vec<_> = wake.into_iter().map(|wake| (wake.time, wake.waker, kind(wake))).collect();
            prop_assert_eq!(of(FlowWay::From), from);
            let did = |wake: &&Wake| {
                row.state == RUNNING && wake.waker == row.tid && (row.begin..row.end).contains(&wake.time) && !by_interrupt(wake)
            };
            let to: Vec<_> = schedule.wakes.iter().filter(did).map(|wake| (wake.time, wake.wakee, FlowKind::WakeUp)).collect();
            prop_assert_eq!((moment.flows.is_cut, moment.flows.more), (false, 0));
            prop_assert_eq!(of(FlowWay::To), to);
        }
    }
}

fn row(tid: u64, begin: u64, end: u64, state: u32, waker: u64) -> StateRow {
    StateRow { tid, cpu: 0, begin, end, state, waker }
}

#[test]
fn who_cannot_have_woken_a_thread_is_not_followed() {
    // Each of two threads slept when it woke the other.
    let rows = vec![
        row(1, 1000, 1100, SLEEPING, 0),
        row(1, 1100, 1200, RUNNABLE, 2),
        row(2, 1000, 1150, SLEEPING, 0),
        row(2, 1150, 1200, RUNNABLE, 1),
    ];
    let schedule = Schedule { rows, end: 1200, ..Schedule::default() };
    let range = TimeRange { start_ns: 1000, end_ns: 1200 };
    let path = ask(&source(&schedule, 50), 1, range).unwrap();
    let parts: Vec<_> = path.parts.iter().map(|part| (part.end, part.kind, part.gap)).collect();
    assert_eq!(parts, [(100, PathKind::Unknown, Some(PathGap::Inconsistent)), (200, PathKind::Cpu, None)]);
    assert_eq!(path.waits.len(), 1);
}

#[test]
fn a_long_path_says_where_it_stopped() {
    let states = [RUNNING, PREEMPTED];
    let many = 2 * MAX_PATH_PARTS as u64;
    let rows = (0..many).map(|at| row(1, 1000 + at, 1001 + at, states[at as usize % 2], 0)).collect();
    let schedule = Schedule { rows, end: 1000 + many, ..Schedule::default() };
    let source = source(&schedule, 3000);
    let range = TimeRange { start_ns: 1000, end_ns: 1000 + many };
    let path = ask(&source, 1, range).unwrap();
    let stopped = path.stopped.unwrap();
    assert_eq!((path.parts.len(), path.parts[0].start), (MAX_PATH_PARTS, stopped.time));
    assert_eq!(stopped.time as u64, many - MAX_PATH_PARTS as u64);

    let of = PathOf::Thread(77);
    let go_on = AtomicBool::new(false);
    let error = critical_path(&source, &CriticalPathQuery { of, range }, &go_on).unwrap_err();
    assert!(error.is_bad_request() && error.to_string().contains("thread 77"), "{error}");
    for track in ["1.0", "0.9", "7.0"] {
        let of = PathOf::Track(track.parse().unwrap());
        assert!(critical_path(&source, &CriticalPathQuery { of, range }, &go_on).unwrap_err().is_bad_request());
    }
    let cancelled = critical_path(&source, &CriticalPathQuery { of: PathOf::Thread(1), range }, &AtomicBool::new(true));
    assert!(matches!(cancelled, Err(ViewError::Cancelled)));
    let none = ask(&source, 1, TimeRange { start_ns: 1500, end_ns: 1500 }).unwrap();
    assert!(none.parts.is_empty() && none.shares.is_empty());
}

//! Streams that are computed from what was recorded, of captures of the simulated agent.

use std::{collections::BTreeMap, sync::Arc};

use bathyscope_capture::{CaptureId, EventProbe, Limits, Method, SourceSpec, StatesSpec, Target};
use bathyscope_derive::{RuleSpec, Span};
use bathyscope_recorder::{DerivationRefusal, Derivations, derive, rules_of};
use bathyscope_store::{CaptureRecord, DerivationState, SourceState, StoreError};
use tokio::sync::Notify;

use crate::states::{Bench, real, simulated};

/// The queue, and what is told when a capture has other streams.
fn queue(bench: &Bench) -> (Derivations, Arc<Notify>) {
    let changed = Arc::new(Notify::new());
    let told = Arc::clone(&changed);
    (Derivations::new(bench.store.clone(), move |_capture| told.notify_one()), changed)
}

/// Waits until nothing waits any more.
async fn done(bench: &Bench, queue: &Derivations, changed: &Notify, id: CaptureId) -> CaptureRecord {
    while queue.is_busy(id) {
        changed.notified().await;
    }
    bench.store.capture(id).await.unwrap()
}

/// What tells of threads.
fn sched_events() -> SourceSpec {
    let probe = |name: &str, fields: &[&str]| EventProbe {
        tracepoint: name.parse().unwrap(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        predicate: None,
    };
    let switch = probe("sched:sched_switch", &["prev_state", "next_pid", "next_comm"]);
    let probes = vec![probe("sched:sched_wakeup", &["pid", "comm"]), switch];
    SourceSpec { id: "events".to_owned(), ..SourceSpec::of(Method::Events { probes }) }
}

/// Until when it is known what a stream of a capture that has ended would have recorded.
fn recorded_until_ns(record: &CaptureRecord, stream: usize) -> u64 {
    record.streams[stream].reading.unwrap().recorded_until_ns.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_when_a_source_is_detached_does_not_go_on_to_the_end() {
    let bench = simulated("rate=20000").await;
    let states = SourceSpec { id: "states".to_owned(), ..SourceSpec::of(Method::States(StatesSpec::default())) };
    let open =
        EventProbe { tracepoint: "syscalls:sys_enter_openat".parse().unwrap(), fields: Vec::new(), predicate: None };
    let others = SourceSpec { id: "others".to_owned(), ..SourceSpec::of(Method::Events { probes: vec![open] }) };
    // The others alone cost 3.
    let limits = Limits { budget_cpu_permille: 4, ..Limits::default() };
    let (id, record) = bench.record_within(vec![states, others], Target::System, 3000, limits).await;
    assert_eq!(
        record.sources.iter().map(|end| end.state).collect::<Vec<_>>(),
        [SourceState::Detached, SourceState::Ended]
    );
    let (queue, changed) = queue(&bench);
    queue.compute_built_in(id).unwrap();
    let whole = done(&bench, &queue, &changed, id).await;
    let name = |stream: usize| whole.streams[stream].schema.name.as_str();
    assert_eq!([name(0), name(3), name(4)], ["switches", "thread states", "cpu occupation"]);
    let ends = async |stream| {
        let rows = bench.rows(id, &whole, stream).await;
        rows.iter().map(|row| row.number("time") + row.number("duration_ns")).max().unwrap()
    };
    let switches = bench.rows(id, &whole, 0).await;
    let last_ns = switches.iter().map(|row| row.number("time")).max().unwrap();
    let until_ns = recorded_until_ns(&whole, 0);
    assert!(until_ns + 500_000_000 < whole.end_ns, "{until_ns} of {}", whole.end_ns);
    for stream in [3, 4] {
        let end_ns = ends(stream).await;
        assert!(end_ns >= last_ns && end_ns <= last_ns.max(until_ns), "{end_ns}, {last_ns}, {until_ns}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_all_threads_are_computed_once_and_can_be_removed() {
    let bench = simulated("rate=4000").await;
    let source = SourceSpec::of(Method::States(StatesSpec::default()));
    let (id, record) = bench.record(vec![source], Target::System, 500).await;
    let (queue, changed) = queue(&bench);
    queue.compute_built_in(id).unwrap();
    queue.compute_built_in(id).unwrap();
    let whole = done(&bench, &queue, &changed, id).await;
    assert_eq!(whole.derivations.len(), 1, "once");
    assert_eq!(whole.derivations[0].state, DerivationState::Complete, "{:?}", whole.derivations);
    let names: Vec<&str> = whole.streams.iter().map(|stream| stream.schema.name.as_str()).collect();
    assert_eq!(names, ["switches", "wakeups", "thread states", "cpu occupation", "run-queue latency"]);
    assert_eq!(whole.ledger.streams[..2], record.ledger.streams[..2]);

    // A CPU does one thing at a time, from the first moment that it is known to the end.
    let mut at: BTreeMap<u64, u64> = BTreeMap::new();
    for row in bench.rows(id, &whole, 3).await {
        let before = at.insert(row.number("cpu"), row.number("time") + row.number("duration_ns"));
        assert!(before.is_none_or(|end| end == row.number("time")), "{row:?} after {before:?}");
    }
    // What came while the source was detached counts too.
    let mut until_ns = recorded_until_ns(&whole, 0);
    for stream in [0, 1] {
        until_ns = bench.rows(id, &whole, stream).await.iter().map(|row| row.number("time")).fold(until_ns, u64::max);
    }
    assert!(!at.is_empty() && at.values().all(|end| *end == until_ns), "{at:?}, {until_ns}");
    // Of each wake-up that led to a run it is known how long that took.
    let wakeups = bench.rows(id, &whole, 1).await.len();
    let latencies = bench.rows(id, &whole, 4).await.len();
    assert!(latencies <= wakeups && latencies * 10 > wakeups * 9, "{latencies} of {wakeups}");

    let chunks = async |stream| bench.store.chunk(id, stream, 0).await;
    let before = chunks(2).await.unwrap();
    queue.remove(id, 0).await.unwrap();
    assert!(matches!(chunks(2).await, Err(StoreError::NoChunk { .. })));
    queue.compute_built_in(id).unwrap();
    let left = done(&bench, &queue, &changed, id).await;
    assert_eq!(left.derivations[0].state, DerivationState::Removed, "what a person removed stays away");
    queue.compute(id, RuleSpec::ThreadStates).await.unwrap();
    done(&bench, &queue, &changed, id).await;
    assert!(chunks(2).await.unwrap() == before, "the same rows again");
    let again = queue.compute(id, RuleSpec::ThreadStates).await;
    assert!(matches!(again, Err(DerivationRefusal::Known { .. })), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_a_target_are_of_its_processes() {
    let bench = simulated("rate=4000").await;
    let source = || vec![SourceSpec::of(Method::States(StatesSpec::default()))];
    let (all, _) = bench.record(source(), Target::System, 300).await;
    let record = bench.store.capture(all).await.unwrap();
    let mut switches: BTreeMap<u64, usize> = BTreeMap::new();
    for row in bench.rows(all, &record, 0).await {
        *switches.entry(row.number("pid")).or_default() += 1;
    }
    let (pid, _) = switches.into_iter().filter(|(pid, _)| *pid != 0).max_by_key(|(_, count)| *count).unwrap();
    let pid = u32::try_from(pid).unwrap();
    let (id, record) = bench.record(source(), Target::Process { pid, children: false }, 500).await;
    let store = bench.store.blocking();
    let rows = tokio::task::block_in_place(|| derive(&store, &record, &RuleSpec::ThreadStates)).unwrap();
    let whole = bench.store.capture(id).await.unwrap();
    let states = bench.rows(id, &whole, 2).await;
    assert!(rows > 0 && !states.is_empty());
    let others: Vec<_> = states.iter().filter(|row| row.number("pid") != u64::from(pid)).collect();
    assert!(others.is_empty(), "{:?}", others.first());
}

/// A thread that reads byte by byte what it is given, each when it has slept.
struct Reader {
    tid: u32,
    to: std::io::PipeWriter,
    thread: std::thread::JoinHandle<()>,
}

impl Reader {
    fn start() -> Self {
        let (mut from, to) = std::io::pipe().unwrap();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            while std::io::Read::read(&mut from, &mut [0]).is_ok_and(|read| read == 1) {}
        });
        Self { tid: told.recv().unwrap(), to, thread }
    }

    /// Gives it a byte when it sleeps.
    fn wake(&mut self) {
        let stat = format!("/proc/self/task/{}/stat", self.tid);
        while !std::fs::read_to_string(&stat).unwrap().rsplit(") ").next().unwrap().starts_with('S') {
            std::thread::yield_now();
        }
        std::io::Write::write_all(&mut self.to, &[1]).unwrap();
    }

    fn end(self) {
        drop(self.to);
        self.thread.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_a_single_thread_are_of_it_alone_with_its_wakers() {
    let Some(bench) = real().await else { return };
    const ROUNDS: usize = 50;
    let probe = |name: &str, fields: &[&str]| EventProbe {
        tracepoint: name.parse().unwrap(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        predicate: None,
    };
    let switch = probe("sched:sched_switch", &["prev_state", "next_pid", "next_comm"]);
    let waking = probe("sched:sched_waking", &["pid", "comm", "target_cpu"]);
    let tracepoints = SourceSpec::of(Method::Events { probes: vec![switch, waking] });
    for source in [SourceSpec::of(Method::States(StatesSpec::default())), tracepoints] {
        let (mut reader, mut other) = (Reader::start(), Reader::start());
        let target = Target::Threads { tids: vec![reader.tid], children: false };
        let (queue, changed) = queue(&bench);
        let (recorder, store) = (bench.recorder(), &bench.store);
        let id = recorder.start(bench.endless(vec![source], target), "test").await.unwrap();
        let mut viewer = recorder.live(id).unwrap();
        let waker = tokio::task::block_in_place(|| {
            (0..ROUNDS).for_each(|_| {
                reader.wake();
                other.wake();
            });
            rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
        });
        recorder.stop(id, "test");
        while viewer.next().await.is_some() {}
        let tid = u64::from(reader.tid);
        reader.end();
        other.end();
        let record = store.capture(id).await.unwrap();
        assert_eq!(rules_of(&record), [RuleSpec::ThreadStates], "{:?}", record.spec);
        queue.compute_built_in(id).unwrap();
        let whole = done(&bench, &queue, &changed, id).await;
        let rows = bench.rows(id, &whole, 2).await;
        assert!(rows.iter().all(|row| row.number("tid") == tid), "{rows:?}");
        let count = |is: &dyn Fn(&crate::states::Seen) -> bool| rows.iter().filter(|row| is(row)).count();
        let by_us = |row: &crate::states::Seen| row.number("waker_tid") == u64::from(waker);
        assert!(count(&|row| row.text("state") == "sleeping") >= ROUNDS - 1, "{rows:?}");
        assert!(count(&|row| row.text("state") == "runnable" && by_us(row)) >= ROUNDS - 1, "{waker}: {rows:?}");
        let running = count(&|row| row.text("state") == "running");
        assert!((ROUNDS - 1..).contains(&running), "{running}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_of_a_person_are_streams_and_what_cannot_be_is_refused() {
    let bench = simulated("rate=2000").await;
    let source = sched_events();
    let (id, record) = bench.record(vec![source], Target::System, 500).await;
    assert_eq!(rules_of(&record).len(), 1, "states of the whole system");
    let (queue, changed) = queue(&bench);
    let span = |text: &str| RuleSpec::Span(Box::new(text.parse::<Span>().unwrap()));
    let wanted = "between: begin = sched:sched_wakeup on (tid), end = sched:sched_switch on (tid), exclusive";
    queue.compute(id, span(wanted)).await.unwrap();
    let whole = done(&bench, &queue, &changed, id).await;
    let at = whole.streams.iter().position(|stream| stream.schema.name == "between").unwrap();
    let rows = bench.rows(id, &whole, at as u16).await;
    let begins = bench.rows(id, &whole, 0).await;
    let first = rows.first().unwrap();
    let begin = begins.iter().find(|row| row.number("time") == first.number("time")).unwrap();
    assert_eq!(begin.number("tid"), first.number("tid"));
    for (wrong, expected) in [
        ("a: begin = block:none on (tid), end = sched:sched_switch on (tid)", "block:none"),
        ("a: begin = sched:sched_switch on (colour), end = sched:sched_switch on (tid)", "colour"),
        (wanted, "computed already"),
    ] {
        let error = queue.compute(id, span(wrong)).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{wrong}: {error}");
    }
    assert!(matches!(queue.remove(id, 9).await, Err(StoreError::Refused { .. })));
    let of_none = queue.compute(CaptureId::from_bits(1), RuleSpec::ThreadStates).await;
    assert!(matches!(of_none, Err(DerivationRefusal::Store(StoreError::NoCapture { .. }))), "{of_none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_console_was_computing_goes_on_with_the_next_one() {
    let bench = simulated("rate=2000").await;
    let source = SourceSpec::of(Method::States(StatesSpec::default()));
    let (id, record) = bench.record(vec![source], Target::System, 300).await;
    let text = serde_json::to_string(&RuleSpec::ThreadStates).unwrap();
    let streams: Vec<_> = record.streams.iter().map(|stream| stream.schema.clone()).collect();
    let schemas = RuleSpec::ThreadStates.check(&streams).unwrap();
    bench.store.begin_derivation(id, text, schemas).await.unwrap();
    let store = bench.reopened().await;
    assert_eq!(store.capture(id).await.unwrap().derivations[0].state, DerivationState::Computing);
    let changed = Arc::new(Notify::new());
    let told = Arc::clone(&changed);
    let queue = Derivations::new(store.clone(), move |_capture| told.notify_one());
    queue.resume().await.unwrap();
    while queue.is_busy(id) {
        changed.notified().await;
    }
    let whole = store.capture(id).await.unwrap();
    assert_eq!((whole.derivations.len(), whole.derivations[0].state), (1, DerivationState::Complete));
    assert!(whole.streams[2].rows > 0);
}

/// Follows a capture while somebody looks; what followed must be what is computed when it has ended.
async fn follows(source: SourceSpec, target: Target) {
    let bench = &simulated("rate=4000").await;
    let (queue, changed) = queue(bench);
    let (recorder, store) = bench.computing(queue.clone());
    let of = target.to_string();
    let id = recorder.start(bench.endless(vec![source], target), "test").await.unwrap();
    let mut viewer = recorder.live(id).unwrap();
    let recorded = store.capture(id).await.unwrap().streams.len();
    // Rows come while it is recorded.
    loop {
        viewer.next().await.unwrap();
        let during = store.capture(id).await.unwrap();
        if during.streams.get(recorded).is_some_and(|stream| stream.rows > 20) {
            assert_eq!(during.derivations[0].state, DerivationState::Following);
            assert_eq!(during.streams[recorded].schema.name, "thread states");
            break;
        }
    }
    assert!(lag_ns(bench, id, recorded as u16, &mut viewer).await <= 2_000_000_000, "{of}");
    recorder.stop(id, "test");
    while viewer.next().await.is_some() {}
    while store.capture(id).await.unwrap().derivations[0].state.is_filled() || queue.is_busy(id) {
        changed.notified().await;
    }
    let whole = store.capture(id).await.unwrap();
    let states: Vec<DerivationState> = whole.derivations.iter().map(|derivation| derivation.state).collect();
    assert_eq!(states, [DerivationState::Complete], "{of}: {:?}", whole.derivations);
    store.check(id).await.unwrap();
    let followed = sorted(bench, id, &whole, recorded as u16).await;
    queue.remove(id, 0).await.unwrap();
    queue.compute(id, RuleSpec::ThreadStates).await.unwrap();
    let again = done(bench, &queue, &changed, id).await;
    assert_eq!(sorted(bench, id, &again, recorded as u16).await, followed, "{of}: what followed is what is computed");
}

/// How far what is computed is behind: the least that was seen of ten looks, as this machine may stand still for a moment.
async fn lag_ns(bench: &Bench, id: CaptureId, stream: u16, viewer: &mut bathyscope_recorder::Subscription) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..10 {
        viewer.next().await.unwrap();
        let record = bench.store.capture(id).await.unwrap();
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let rows = bench.rows(id, &record, stream).await;
        let end = rows.iter().map(|row| row.number("time") + row.number("duration_ns")).max().unwrap_or(0);
        least = least.min(now_ns.saturating_sub(end));
    }
    least
}

#[tokio::test(flavor = "multi_thread")]
async fn states_follow_a_capture_that_somebody_looks_at() {
    let states = || SourceSpec::of(Method::States(StatesSpec::default()));
    let target = |text: &str| -> Target { serde_json::from_str(text).unwrap() };
    for of in [
        r#""system""#,
        r#"{"process":{"pid":1201,"children":false}}"#,
        r#"{"processes":{"pids":[1201,1310],"children":true}}"#,
        r#"{"user":{"user":"root"}}"#,
        r#"{"cgroup":{"path":"/system.slice"}}"#,
        r#"{"threads":{"tids":[1201],"children":false}}"#,
        r#"{"comm":{"pattern":"web*"}}"#,
    ] {
        follows(states(), target(of)).await;
    }
    follows(sched_events(), Target::System).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_followed_and_could_not_tell_all_is_computed_anew() {
    let bench = simulated("rate=4000,lose_every=40").await;
    let (queue, changed) = queue(&bench);
    let source = SourceSpec::of(Method::States(StatesSpec::default()));
    let (recorder, store) = bench.computing(queue.clone());
    let id = recorder.start(bench.endless(vec![source], Target::System), "test").await.unwrap();
    let mut viewer = recorder.live(id).unwrap();
    loop {
        viewer.next().await.unwrap();
        let during = store.capture(id).await.unwrap();
        let rows = during.streams.get(2).map_or(0, |stream| stream.rows);
        let has_lost = during.ledger.losses.iter().any(|loss| loss.count > 0);
        if rows > 100 && has_lost && !store.track_directories(id).await.unwrap().is_empty() {
            break;
        }
    }
    recorder.stop(id, "test");
    while viewer.next().await.is_some() {}
    let whole = loop {
        let record = store.capture(id).await.unwrap();
        if record.derivations[0].state == DerivationState::Complete && !queue.is_busy(id) {
            break record;
        }
        changed.notified().await;
    };
    assert!(whole.streams[2].rows > 100);
    let tracks: Vec<u16> = store.track_directories(id).await.unwrap().into_iter().map(|(stream, _)| stream).collect();
    assert_eq!(tracks, [2, 3, 4], "with tracks of each stream");
    store.check(id).await.unwrap();
}

/// All rows of the states of threads, in order.
async fn sorted(bench: &Bench, id: CaptureId, record: &CaptureRecord, stream: u16) -> Vec<String> {
    let rows = bench.rows(id, record, stream).await;
    let text = |row: &crate::states::Seen| {
        let numbers = ["time", "tid", "cpu", "duration_ns", "waker_tid"].map(|name| row.number(name));
        format!("{numbers:?} {} {} {}", row.text("state"), row.text("comm"), row.text("unknown"))
    };
    let mut all: Vec<String> = rows.iter().map(text).collect();
    all.sort();
    all
}

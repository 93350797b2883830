//! Captures through the whole pipeline, from the ring to the database, with an agent that knows the truth.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod derived;
#[path = "../../../store/tests/common/faults.rs"]
mod disk;
mod faults;
mod flight;
mod kernel;
mod made_agent;
mod states;
mod trace;

use std::{
    os::fd::AsRawFd,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bathyscope_capture::{
    CaptureId, CaptureSpec, CountSpec, EventProbe, Limits, Loss, LossStage, Method, OutputStream, OverBudget,
    ProfileSpec, SourceSpec, StreamSchema, Target, decode_chunk,
};
use bathyscope_link::{AgentLink, AgentState};
use bathyscope_protocol::{BudgetOf, GuardStage, Overspent};
use bathyscope_recorder::{LiveMessage, Recorder, RecorderOptions, StartError, Subscription};
use bathyscope_store::{CaptureRecord, CaptureState, Options, Store};
use made_agent::{Behaviour, Seen, link};

struct Bench {
    recorder: Recorder,
    store: Store,
    link: AgentLink,
    seen: Arc<Seen>,
    directory: tempfile::TempDir,
}

async fn bench(behaviour: Behaviour) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
    let (link, seen) = link(behaviour);
    assert!(link.connected(Duration::from_secs(5)).await);
    let mut options = RecorderOptions::new(directory.path());
    options.flush_every = Duration::from_millis(100);
    let recorder = Recorder::new(store.clone(), link.clone(), options);
    Bench { recorder, store, link, seen, directory }
}

/// A source that records some of the made events.
fn events(id: &str, names: &[&str]) -> SourceSpec {
    let probe = |name: &&str| EventProbe { tracepoint: name.parse().unwrap(), fields: Vec::new(), predicate: None };
    let probes = names.iter().map(probe).collect();
    SourceSpec { id: id.to_owned(), ..SourceSpec::of(Method::Events { probes }) }
}

/// Made events, each of a source of its own.
fn spec(probes: usize, limits: Limits) -> CaptureSpec {
    let names = ["made:one", "made:two", "made:three"];
    let sources = names.iter().take(probes).map(|name| events(name.trim_start_matches("made:"), &[name])).collect();
    let target = Target::Command { argv: vec!["true".to_owned()], user: None, children: true };
    CaptureSpec { name: String::new(), sources, target, limits }
}

/// The probes used so many thousandths of a CPU, and may use 50.
fn over(used: u64) -> Overspent {
    Overspent { of: BudgetOf::Probes, used, budget: 50 }
}

fn unlimited() -> Limits {
    Limits { duration_ms: None, max_bytes: None, ..Limits::default() }
}

impl Bench {
    async fn start(&self, spec: CaptureSpec) -> CaptureId {
        self.recorder.start(spec, "ada").await.unwrap()
    }

    async fn ended(&self, id: CaptureId) -> CaptureRecord {
        self.recorder.wait(id).await;
        self.store.capture(id).await.unwrap()
    }

    /// The same when functions have their names.
    async fn named(&self, id: CaptureId) -> CaptureRecord {
        let mut viewer = self.recorder.live(id).unwrap();
        while let Some(message) = viewer.next().await {
            if matches!(&*message, LiveMessage::Ended { .. }) {
                break;
            }
        }
        self.store.capture(id).await.unwrap()
    }

    /// The rows of a stream as (time, number), chunk by chunk.
    async fn rows(&self, id: CaptureId, stream: u16) -> Vec<Vec<(u64, u64)>> {
        let record = self.store.capture(id).await.unwrap();
        let schema = &record.streams[usize::from(stream)].schema;
        let number = schema.column("number").unwrap();
        let mut chunks = Vec::new();
        for info in self.store.chunk_index(id, stream, 0).await.unwrap() {
            let bytes = self.store.chunk(id, stream, info.seq).await.unwrap();
            let batch = decode_chunk(schema, &bytes, &[StreamSchema::TIME, number]).unwrap();
            let times = batch.columns[StreamSchema::TIME].as_u64();
            chunks.push(times.iter().copied().zip(batch.columns[number].as_u64().iter().copied()).collect());
        }
        chunks
    }
}

/// The ledger says exactly what the agent knows.
fn assert_ledger_balances(record: &CaptureRecord, seen: &Seen) {
    assert!(record.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", record.ledger);
    for (index, truth) in seen.truths.lock().unwrap().iter().enumerate() {
        let totals = record.ledger.streams[index];
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Acquire);
        let lost = |stage| -> u64 {
            let own = |loss: &&Loss| loss.stream == Some(index as u16) && loss.stage == stage;
            record.ledger.losses.iter().filter(own).map(|loss| loss.count).sum()
        };
        assert_eq!(totals.stored, of(&truth.placed));
        assert_eq!(totals.stored, record.streams[index].rows);
        assert_eq!(totals.filtered, of(&truth.filtered));
        assert_eq!(totals.hits, of(&truth.hits) + of(&truth.missed));
        assert_eq!(totals.emitted, totals.hits - totals.filtered);
        assert_eq!(lost(LossStage::RingFull), of(&truth.ring_full));
        assert_eq!(lost(LossStage::KernelMissed), of(&truth.missed));
    }
    for loss in &record.ledger.losses {
        assert!(loss.start_ns >= record.start_ns && loss.end_ns <= record.end_ns + 1, "{loss:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_the_ledger_balances_at_many_rates_and_losses() {
    let cases = [
        Behaviour { hits: 2_000, ..Behaviour::default() },
        Behaviour { hits: 30_000, burst: 5_000, filter_every: 7, miss_every: 11, ..Behaviour::default() },
        Behaviour { hits: 200_000, burst: 50_000, ring_bytes: 1 << 16, filter_every: 3, ..Behaviour::default() },
        Behaviour { hits: 300_000, burst: 100_000, pause: Duration::ZERO, ring_bytes: 1 << 14, ..Behaviour::default() },
        Behaviour { hits: 1, ..Behaviour::default() },
    ];
    let apart = spec(3, unlimited());
    let together =
        CaptureSpec { sources: vec![events("events", &["made:one", "made:two", "made:three"])], ..apart.clone() };
    let mixed = CaptureSpec {
        sources: vec![events("one", &["made:one"]), events("rest", &["made:two", "made:three"])],
        ..apart.clone()
    };
    for (behaviour, spec) in cases.into_iter().zip([together.clone(), apart.clone(), mixed, together, apart]) {
        let bench = bench(behaviour).await;
        let id = bench.start(spec).await;
        let record = bench.ended(id).await;
        assert_eq!(record.state, CaptureState::Finished);
        assert!(record.reason.starts_with("the command exited with status 3"), "{}", record.reason);
        assert_ledger_balances(&record, &bench.seen);
        for stream in 0..3 {
            let chunks = bench.rows(id, stream).await;
            let numbers: Vec<u64> = chunks.iter().flatten().map(|(_, number)| *number).collect();
            assert!(chunks.iter().all(|chunk| chunk.is_sorted()), "p31: rows of a chunk are in order of time");
            assert!(numbers.is_sorted(), "p31: and nothing came late");
        }
        assert_eq!(bench.seen.alive.load(Ordering::Acquire), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_of_several_kinds_are_one_capture() {
    let behaviour = Behaviour { hits: 500, pause: Duration::from_millis(2), burst: 50, ..Behaviour::default() };
    let bench = bench(behaviour).await;
    let profile = ProfileSpec { kernel_stacks: false, user_stacks: true, ..ProfileSpec::default() };
    let counts = SourceSpec { required: false, ..SourceSpec::of(Method::Count(CountSpec::default())) };
    let sources = vec![
        events("first", &["made:one"]),
        counts,
        SourceSpec::of(Method::Profile(profile)),
        // The same again: its rows are its own.
        events("again", &["made:one", "made:two"]),
    ];
    let id = bench.start(CaptureSpec { sources, ..spec(1, unlimited()) }).await;
    let record = bench.named(id).await;
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    let sources: Vec<&str> = record.streams.iter().map(|stream| stream.schema.source.as_str()).collect();
    assert_eq!(sources, ["first", "profile", "again", "again"]);
    let names: Vec<&str> = record.streams.iter().map(|stream| stream.schema.name.as_str()).collect();
    assert_eq!(names, ["made:one", "cpu-clock", "made:one (again)", "made:two"]);
    assert!(record.streams.iter().all(|stream| stream.rows >= 500), "{:?}", record.streams);
    assert!(record.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", record.ledger);
    assert!(record.reason.contains("; count is not recorded: counting: it is made that way"), "{}", record.reason);
    let symbols = bench.store.symbols(id, 0).await.unwrap();
    assert!(!symbols.is_empty() && symbols.iter().all(|(_, it)| it.function.ends_with("a_function_to_be_named")));
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_one_of_several_sources_is_detached_and_the_others_go_on() {
    let guard = GuardStage::Detached { over: over(180) };
    let bench = bench(Behaviour { guard, ..Behaviour::default() }).await;
    let limits = Limits { over_budget: Some(OverBudget::Detach), ..unlimited() };
    let id = bench.start(spec(2, limits)).await;
    let mut viewer = bench.recorder.live(id).unwrap();
    let told = loop {
        match &*viewer.next().await.unwrap() {
            LiveMessage::State { message, .. } if message.contains("detached") => break message.clone(),
            _ => {}
        }
    };
    let words = "one: the probes used 18 % of one CPU, and the budget is 5.0 %: they were detached";
    assert_eq!(told, words);
    // The other one records on.
    bench.hits(1000).await;
    assert_eq!(bench.recorder.detached(id), None);
    assert!(bench.recorder.stop(id, "ada"));
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    assert_eq!(record.reason, format!("stopped by ada; {words}"));
    assert_ledger_balances(&record, &bench.seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_a_store_that_stands_still_fills_the_ring_and_nothing_else() {
    let bench = bench(Behaviour { burst: 2_000, ..Behaviour::default() }).await;
    let id = bench.start(spec(1, unlimited())).await;
    first_rows(&mut bench.recorder.live(id).unwrap()).await;
    let held = hold_write_lock(&bench.directory.path().join("bathyscope.db"));
    let before = bench.seen.total(|truth| &truth.ring_full);
    while bench.seen.total(|truth| &truth.ring_full) < before + 10_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(held);
    let after = bench.store.capture(id).await.unwrap().streams[0].rows;
    while bench.store.capture(id).await.unwrap().streams[0].rows < after + 10_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(bench.recorder.stop(id, "ada"));
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    assert!(record.ledger.lost_total() > 0);
    assert_ledger_balances(&record, &bench.seen);
}

/// Keeps everybody from writing to the database until the file that it gives back is dropped.
fn hold_write_lock(database: &std::path::Path) -> std::fs::File {
    /// Where SQLite's writers lock a byte of the write-ahead log's index.
    const WRITE_LOCK: i64 = 120;
    let index = std::fs::File::options().read(true).write(true).open(database.with_extension("db-shm")).unwrap();
    let (l_type, l_whence) = (libc::F_WRLCK as i16, libc::SEEK_SET as i16);
    let lock = libc::flock { l_type, l_whence, l_start: WRITE_LOCK, l_len: 1, l_pid: 0 };
    loop {
        // SAFETY: the descriptor is open, and the kernel only reads the structure. A lock of the open file, not of the
        // process, keeps out the SQLite of this very process too.
        if unsafe { libc::fcntl(index.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } == 0 {
            return index;
        }
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_end_a_capture_and_say_so() {
    let events = Limits { max_events: Some(500), ..unlimited() };
    let time = Limits { duration_ms: Some(300), ..unlimited() };
    let bytes = Limits { max_bytes: Some(2_000), ..unlimited() };
    let cases = [
        (events, "at least 500 events were recorded, the most that were asked for"),
        (time, "300 ms have passed"),
        (bytes, "at least 2 KiB were stored, the most that were asked for"),
    ];
    for (limits, reason) in cases {
        let bench = bench(Behaviour::default()).await;
        let id = bench.start(spec(1, limits)).await;
        let record = bench.ended(id).await;
        assert_eq!((record.state, record.reason.as_str()), (CaptureState::Finished, reason));
        assert_ledger_balances(&record, &bench.seen);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_what_the_guard_does_is_told_and_stored() {
    let detached = Behaviour { guard: GuardStage::Detached { over: over(120) }, ..Behaviour::default() };
    let ended = async |target: Target, limits: Limits| {
        let bench = bench(detached.clone()).await;
        let limits = Limits { duration_ms: Some(600), ..limits };
        let id = bench.start(CaptureSpec { target, ..spec(1, limits) }).await;
        bench.ended(id).await.reason
    };
    let told = "the probes used 12 % of one CPU, and the budget is 5.0 %: they were detached";
    let of_command = spec(1, unlimited()).target;
    assert_eq!(ended(Target::System, unlimited()).await, told);
    assert_eq!(ended(of_command.clone(), unlimited()).await, "600 ms have passed");
    let always = Limits { over_budget: Some(OverBudget::Detach), ..unlimited() };
    assert_eq!(ended(of_command, always).await, told);
    let never = Limits { over_budget: Some(OverBudget::Warn), ..unlimited() };
    assert_eq!(ended(Target::System, never).await, "600 ms have passed");

    let thinned = GuardStage::Thinned { over: over(90), rows_per_s: Some(700) };
    let bench = bench(Behaviour { guard: thinned, ..Behaviour::default() }).await;
    let limits = Limits { duration_ms: Some(600), ..unlimited() };
    let id = bench.start(CaptureSpec { target: Target::System, ..spec(1, limits) }).await;
    let reason = bench.ended(id).await.reason;
    assert!(reason.ends_with("over the budget of 5.0 %, so at most 700 rows a second were recorded"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p25_a_capture_that_nobody_looks_at_ends() {
    let mut bench = bench(Behaviour::default()).await;
    let mut options = RecorderOptions::new(bench.directory.path());
    options.idle_stop = Some(Duration::from_millis(600));
    bench.recorder = Recorder::new(bench.store.clone(), bench.link.clone(), options);
    let watched = CaptureSpec { target: Target::System, ..spec(1, unlimited()) };
    let id = bench.start(watched.clone()).await;
    assert_eq!(bench.ended(id).await.reason, "nobody has looked at it for 600 ms");
    // With somebody there, and with an end of its own, it goes on.
    let seen = bench.start(watched.clone()).await;
    let _viewer = bench.recorder.live(seen).unwrap();
    let ends = CaptureSpec { limits: Limits { duration_ms: Some(1500), ..unlimited() }, ..watched };
    let other = bench.start(ends).await;
    assert_eq!(bench.ended(other).await.reason, "1.5 s have passed");
    bench.recorder.stop(seen, "ada");
    assert!(bench.ended(seen).await.reason.contains("ada"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_stops_it_and_the_output_of_the_command_is_kept() {
    let bench = bench(Behaviour::default()).await;
    let id = bench.start(spec(1, unlimited())).await;
    assert_eq!(bench.recorder.running().iter().map(|running| running.id).collect::<Vec<_>>(), [id]);
    let mut viewer = bench.recorder.live(id).unwrap();
    first_rows(&mut viewer).await;
    assert!(bench.recorder.stop(id, "ada"));
    let record = bench.ended(id).await;
    assert_eq!((record.state, record.reason.as_str()), (CaptureState::Finished, "stopped by ada"));
    assert!(!bench.recorder.stop(id, "ada"), "it does not run any more");
    assert_ledger_balances(&record, &bench.seen);
    let output = bench.store.output(id, 0, 100).await.unwrap();
    let of = |stream| output.iter().filter(|l| l.stream == stream).flat_map(|l| l.bytes.clone()).collect::<Vec<u8>>();
    assert_eq!(of(OutputStream::Stdout), b"hello from the command\n");
    assert_eq!(of(OutputStream::Stderr), b"a complaint\n");
    while let Some(message) = viewer.next().await {
        if let LiveMessage::Ended { state, reason } = &*message {
            assert_eq!((*state, reason.as_str()), (CaptureState::Finished, "stopped by ada"));
            return;
        }
    }
    panic!("the viewer was not told of the end");
}

async fn first_rows(viewer: &mut Subscription) -> u64 {
    while let Some(message) = viewer.next().await {
        if let LiveMessage::Rows { rows, not_shown, .. } = &*message {
            return rows.len() as u64 + not_shown;
        }
    }
    panic!("no rows came");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_row_is_shown_soon() {
    // One hit, long after the start: only how long that one takes is measured.
    let behaviour = Behaviour { burst: 1, pause: Duration::from_millis(400), ..Behaviour::default() };
    let bench = bench(behaviour).await;
    let id = bench.start(spec(1, unlimited())).await;
    let mut viewer = bench.recorder.live(id).unwrap();
    first_rows(&mut viewer).await;
    let before = bench.seen.total(|truth| &truth.placed);
    while bench.seen.total(|truth| &truth.placed) == before {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    let placed = Instant::now();
    first_rows(&mut viewer).await;
    let took = placed.elapsed();
    println!("a row reached its viewer {took:?} after it was placed in the ring");
    // Far less than the second after which a chunk is stored at the latest: rows do not wait for the store.
    assert!(took < Duration::from_millis(900), "{took:?}");
    assert!(bench.recorder.stop(id, "ada"));
    bench.ended(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p30_a_viewer_that_reads_nothing_slows_nothing() {
    // At a rate that a busy machine keeps up with: what would slow it here is the viewer.
    let behaviour = Behaviour { hits: 60_000, burst: 1_000, pause: Duration::from_millis(20), ..Behaviour::default() };
    let bench = bench(behaviour).await;
    let id = bench.start(spec(3, unlimited())).await;
    let asleep: Vec<_> = (0..10).map(|_| bench.recorder.live(id).unwrap()).collect();
    let record = bench.ended(id).await;
    assert_eq!(record.ledger.lost_total(), 0);
    assert_ledger_balances(&record, &bench.seen);
    drop(asleep);
}

#[tokio::test(flavor = "multi_thread")]
async fn p41_an_agent_that_dies_takes_no_rows_along() {
    let behaviour = Behaviour { die_after: Some(5_000), ..Behaviour::default() };
    let bench = bench(behaviour).await;
    let id = bench.start(spec(2, unlimited())).await;
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::AgentLost, "{}", record.reason);
    assert!(record.reason.starts_with("the agent ended: "), "{}", record.reason);
    assert!(record.ledger.in_flight().iter().all(|left| *left == 0));
    assert!(record.streams.iter().map(|stream| stream.rows).sum::<u64>() >= 4_000, "{:?}", record.ledger);
    // It is there again, and the next capture is as good as any.
    assert!(bench.link.connected(Duration::from_secs(5)).await);
    assert_eq!(bench.link.status().state, AgentState::Connected);
    let id = bench.start(spec(1, Limits { max_events: Some(100), ..unlimited() })).await;
    let record = bench.ended(id).await;
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    assert_ledger_balances(&record, &bench.seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn p44_a_start_that_nobody_waits_for_is_whole_or_not_at_all() {
    for wait_us in [0, 50, 500, 2_000, 5_000, 10_000, 20_000, 50_000] {
        let bench = bench(Behaviour { answer_after: Duration::from_millis(2), ..Behaviour::default() }).await;
        let limits = Limits { duration_ms: Some(100), ..unlimited() };
        let start = bench.recorder.start(spec(2, limits), "ada");
        let _dropped_on_its_way = tokio::time::timeout(Duration::from_micros(wait_us), start).await;
        let all = loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let page = bench.store.summaries(&Default::default()).await.unwrap();
            let settled = page.items.iter().all(|item| item.state != CaptureState::Recording);
            if settled && bench.seen.alive.load(Ordering::Acquire) == 0 && (!page.items.is_empty() || wait_us == 0) {
                break page.items;
            }
        };
        for item in all {
            let record = bench.store.capture(item.id).await.unwrap();
            assert_eq!((record.state, record.reason.as_str()), (CaptureState::Finished, "100 ms have passed"));
            assert_ledger_balances(&record, &bench.seen);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_refused_leaves_nothing_behind() {
    let bench = bench(Behaviour { refuse_enable: true, ..Behaviour::default() }).await;
    let error = bench.recorder.start(spec(1, unlimited()), "ada").await.unwrap_err();
    assert!(matches!(error, StartError::Agent(_)), "{error}");
    assert_eq!(bench.seen.alive.load(Ordering::Acquire), 0);
    assert!(bench.recorder.running().is_empty());
    let page = bench.store.summaries(&Default::default()).await.unwrap();
    let states: Vec<_> = page.items.iter().map(|item| item.state).collect();
    assert_eq!(states, [CaptureState::Failed], "it is told in the history");
}

#[tokio::test(flavor = "multi_thread")]
async fn p42_a_shutdown_ends_all_captures_in_time() {
    let bench = bench(Behaviour::default()).await;
    let ids = [bench.start(spec(1, unlimited())).await, bench.start(spec(2, unlimited())).await];
    let begun = Instant::now();
    bench.recorder.shutdown(Duration::from_secs(10)).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    for id in ids {
        let record = bench.store.capture(id).await.unwrap();
        assert_eq!((record.state, record.reason.as_str()), (CaptureState::Finished, "the console was stopped"));
    }
    let refused = bench.recorder.start(spec(1, unlimited()), "ada").await;
    assert!(matches!(refused, Err(StartError::ShuttingDown)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_get_the_names_of_their_functions() {
    let behaviour = Behaviour { hits: 50, pause: Duration::from_millis(2), ..Behaviour::default() };
    let bench = bench(behaviour).await;
    let method = Method::Profile(ProfileSpec {
        frequency_hz: 99,
        kernel_stacks: false,
        user_stacks: true,
        ..ProfileSpec::default()
    });
    let id = bench.start(CaptureSpec { sources: vec![SourceSpec::of(method)], ..spec(1, unlimited()) }).await;
    let record = bench.named(id).await;
    assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
    assert_eq!(record.streams[0].rows, 50);
    assert_eq!(record.ledger.in_flight(), [0]);
    let symbols = bench.store.symbols(id, 0).await.unwrap();
    assert!(!symbols.is_empty());
    for (_, symbol) in &symbols {
        assert!(symbol.function.ends_with("a_function_to_be_named"), "{symbol:?}");
    }
    let stacks = bench.store.stacks(id, 0).await.unwrap();
    assert_eq!(stacks.len(), 1);
    assert_eq!(stacks[0].1.len(), 2);
    let mappings = bench.store.mappings(id, 0).await.unwrap();
    assert!(mappings.iter().all(|(_, mapping)| !mapping.build_id.is_empty()), "{mappings:?}");
}

/// Run by hand: `cargo test -p bathyscope --test recorder -- --ignored --nocapture measure`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, not a test"]
async fn measure_the_whole_pipeline() {
    let behaviour = Behaviour {
        hits: 5_000_000,
        burst: 2_000,
        pause: Duration::ZERO,
        ring_bytes: 16 << 20,
        ..Behaviour::default()
    };
    let bench = bench(behaviour).await;
    let begun = Instant::now();
    let id = bench.start(spec(1, unlimited())).await;
    let record = bench.ended(id).await;
    let seconds = begun.elapsed().as_secs_f64();
    let (stored, lost) = (record.ledger.streams[0].stored, record.ledger.lost_total());
    println!("{stored} stored and {lost} lost in {seconds:.2} s: {:.0} stored a second", stored as f64 / seconds);
    println!("{} bytes, {:.1} a row", record.chunk_bytes, record.chunk_bytes as f64 / stored as f64);
    assert_ledger_balances(&record, &bench.seen);
}

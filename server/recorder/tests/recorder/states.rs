//! Thread states, of the simulated agent and of the running kernel.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use bathyscope_agent::{Backend, CommandRights, KernelBackend, SimulatedBackend, serve};
use bathyscope_capture::{
    CaptureId, CaptureSpec, Limits, LossStage, Method, SourceSpec, StatesSpec, StreamSchema, Target, decode_chunk,
};
use bathyscope_link::AgentLink;
use bathyscope_protocol::{AgentClient, Connection};
use bathyscope_recorder::{Derivations, LiveMessage, Recorder, RecorderOptions};
use bathyscope_store::{CaptureRecord, CaptureState, Options, Store};

pub(super) struct Bench {
    recorder: Recorder,
    pub(super) store: Store,
    directory: tempfile::TempDir,
}

async fn bench(make: impl Fn() -> Box<dyn Backend> + Send + Sync + Clone + 'static) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
    let link = AgentLink::new(move || {
        let (ours, theirs) = Connection::pair().unwrap();
        let make = make.clone();
        std::thread::spawn(move || serve(&theirs, make().as_mut()));
        AgentClient::over(ours)
    });
    let link = link.unwrap();
    assert!(link.connected(Duration::from_secs(10)).await);
    let recorder = Recorder::new(store.clone(), link, RecorderOptions::new(directory.path()));
    Bench { recorder, store, directory }
}

/// What records on the running kernel; none without rights, and that is said.
pub(super) async fn real() -> Option<Bench> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return None;
    }
    Some(bench(|| Box::new(KernelBackend::new(CommandRights::AsRoot).at_a_terminal())).await)
}

pub(super) async fn simulated(options: &'static str) -> Bench {
    bench(move || Box::new(SimulatedBackend::new(options.parse().unwrap()))).await
}

/// A row by the names of its columns: numbers, and texts by what they say.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    numbers: HashMap<String, u64>,
    texts: HashMap<String, String>,
}

impl Seen {
    pub(super) fn number(&self, name: &str) -> u64 {
        self.numbers[name]
    }

    pub(super) fn text(&self, name: &str) -> &str {
        &self.texts[name]
    }

    fn sleeps(&self) -> bool {
        matches!(self.text("state"), "S" | "D")
    }
}

impl Bench {
    async fn run(&self, spec: StatesSpec, target: Target, duration_ms: u64) -> (CaptureId, CaptureRecord) {
        self.record(vec![SourceSpec::of(Method::States(spec))], target, duration_ms).await
    }

    pub(super) async fn record(
        &self,
        sources: Vec<SourceSpec>,
        target: Target,
        duration_ms: u64,
    ) -> (CaptureId, CaptureRecord) {
        self.record_within(sources, target, duration_ms, Limits::default()).await
    }

    /// The same within such limits.
    pub(super) async fn record_within(
        &self,
        sources: Vec<SourceSpec>,
        target: Target,
        duration_ms: u64,
        limits: Limits,
    ) -> (CaptureId, CaptureRecord) {
        let limits = Limits { duration_ms: Some(duration_ms), ..limits };
        let spec = CaptureSpec { name: String::new(), sources, target, limits };
        let id = self.recorder.start(spec, "test").await.unwrap();
        let mut viewer = self.recorder.live(id).unwrap();
        while let Some(message) = viewer.next().await {
            if matches!(&*message, LiveMessage::Ended { .. }) {
                break;
            }
        }
        let record = self.store.capture(id).await.unwrap();
        assert_eq!(record.state, CaptureState::Finished, "{}", record.reason);
        assert!(record.ledger.in_flight().iter().all(|left| *left == 0), "{:?}", record.ledger);
        (id, record)
    }

    /// A capture that ends when it is stopped.
    pub(super) fn endless(&self, sources: Vec<SourceSpec>, target: Target) -> CaptureSpec {
        let limits = Limits { duration_ms: None, ..Limits::default() };
        CaptureSpec { name: String::new(), sources, target, limits }
    }

    pub(super) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What records, with streams computed meanwhile, and its database.
    pub(super) fn computing(&self, derivations: Derivations) -> (&Recorder, &Store) {
        self.recorder.compute_streams(derivations);
        (&self.recorder, &self.store)
    }

    /// The database as another process finds it when this one has ended.
    pub(super) async fn reopened(&self) -> Store {
        self.store.close().await;
        Store::open(self.directory.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap()
    }

    pub(super) async fn rows(&self, id: CaptureId, record: &CaptureRecord, stream: u16) -> Vec<Seen> {
        let texts: HashMap<u32, Vec<u8>> = self.store.strings(id, 0).await.unwrap().into_iter().collect();
        let schema = &record.streams[usize::from(stream)].schema;
        let all: Vec<usize> = (0..schema.columns.len()).collect();
        let mut rows = Vec::new();
        for info in self.store.chunk_index(id, stream, 0).await.unwrap() {
            let bytes = self.store.chunk(id, stream, info.seq).await.unwrap();
            let batch = decode_chunk(schema, &bytes, &all).unwrap();
            let times = batch.columns[StreamSchema::TIME].as_u64();
            assert!(times.is_sorted(), "rows are in order of time");
            for at in 0..times.len() {
                let mut row = Seen::default();
                for (column, data) in schema.columns.iter().zip(&batch.columns) {
                    if let Some(number) = data.as_u64().get(at) {
                        row.numbers.insert(column.name.clone(), *number);
                    } else if let Some(id) = data.as_id().get(at) {
                        row.numbers.insert(column.name.clone(), u64::from(*id));
                        let text = texts.get(id).map(|text| String::from_utf8_lossy(text).into_owned());
                        row.texts.insert(column.name.clone(), text.unwrap_or_default());
                    }
                }
                rows.push(row);
            }
        }
        rows
    }
}

fn names(record: &CaptureRecord, stream: usize) -> Vec<&str> {
    let own = record.streams[stream].schema.columns.iter().skip(StreamSchema::COMMON.len());
    own.map(|column| column.name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_cpu_goes_from_thread_to_thread_and_none_runs_that_was_not_woken() {
    let bench = simulated("rate=4000").await;
    let (id, record) = bench.run(StatesSpec::default(), Target::System, 500).await;
    let streams: Vec<&str> = record.streams.iter().map(|stream| stream.schema.name.as_str()).collect();
    assert_eq!(streams, ["switches", "wakeups"]);
    assert_eq!(names(&record, 0), ["state", "next_pid", "next_tid", "next_comm", "blocked_function"]);
    assert_eq!(names(&record, 1), ["wakee_pid", "wakee_tid", "wakee_comm", "target_cpu", "new"]);
    let (switches, wakeups) = (bench.rows(id, &record, 0).await, bench.rows(id, &record, 1).await);
    assert!(switches.len() > 1000 && wakeups.len() > 500, "{} {}", switches.len(), wakeups.len());
    for cpu in 0..2 {
        let own: Vec<&Seen> = switches.iter().filter(|row| row.number("cpu") == cpu).collect();
        for pair in own.windows(2) {
            assert_eq!(pair[0].number("next_tid"), pair[1].number("tid"));
            assert_eq!(pair[0].text("next_comm"), pair[1].text("comm"));
        }
        let idle = own.iter().find(|row| row.number("tid") == 0).unwrap();
        assert_eq!((idle.text("comm"), idle.text("state")), (format!("swapper/{cpu}").as_str(), "R"));
    }
    let known = [(1, "init"), (1202, "webserver"), (1311, "database"), (1422, "<img src=x oner"), (1534, "java")];
    for (tid, name) in known {
        assert!(switches.iter().any(|row| row.number("tid") == tid), "{tid} runs");
        let of = |row: &&Seen| row.number("tid") == tid;
        assert!(switches.iter().filter(of).all(|row| row.text("comm") == name), "{tid} is {name}");
    }
    // What happens to each thread: it leaves, is woken, comes.
    let mut told = BTreeMap::new();
    for (order, row) in switches.iter().enumerate().filter(|(_, row)| row.number("tid") != 0) {
        told.insert((row.number("tid"), row.number("time"), 2, order), if row.sleeps() { 's' } else { 'r' });
    }
    for (order, row) in switches.iter().enumerate().filter(|(_, row)| row.number("next_tid") != 0) {
        told.insert((row.number("next_tid"), row.number("time"), 1, order), 'c');
    }
    for (order, row) in wakeups.iter().enumerate() {
        told.insert((row.number("wakee_tid"), row.number("time"), 0, order), 'w');
        assert_eq!((row.number("target_cpu"), row.number("new")), (row.number("cpu"), 0));
    }
    let mut by_thread = BTreeMap::<u64, String>::new();
    told.iter().for_each(|((tid, ..), what)| by_thread.entry(*tid).or_default().push(*what));
    for (tid, story) in by_thread {
        assert!(!story.contains("sc") && !story.contains("rw") && !story.contains("ss"), "{tid}: {story}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_what_is_lost_of_switches_and_of_wakeups_is_counted_apart() {
    let bench = simulated("rate=4000,lose_every=5").await;
    let (_, record) = bench.run(StatesSpec::default(), Target::System, 400).await;
    for (stream, totals) in (0_u16..).zip(&record.ledger.streams) {
        let losses = record.ledger.losses.iter().filter(|loss| loss.stream == Some(stream));
        let lost: u64 = losses.clone().map(|loss| loss.count).sum();
        assert!(losses.into_iter().all(|loss| loss.stage == LossStage::RingFull));
        assert_eq!((totals.emitted, totals.filtered), (totals.stored + lost, 0));
        assert!(lost > 0, "of stream {stream} something is lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_has_its_switches_and_its_wakers() {
    let bench = simulated("rate=4000").await;
    let target = Target::Process { pid: 1201, children: true };
    let (id, record) = bench.run(StatesSpec::default(), target, 300).await;
    let (switches, wakeups) = (bench.rows(id, &record, 0).await, bench.rows(id, &record, 1).await);
    assert!(!switches.is_empty() && !wakeups.is_empty());
    assert!(switches.iter().all(|row| row.number("pid") == 1201 || row.number("next_pid") == 1201));
    assert!(wakeups.iter().all(|row| row.number("wakee_pid") == 1201 && row.text("wakee_comm") == "webserver"));
    assert!(wakeups.iter().any(|row| row.number("pid") != 1201), "others wake it");
    assert!(record.ledger.streams.iter().all(|totals| totals.filtered > 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_thread_has_its_switches_and_its_wakers() {
    let bench = simulated("rate=4000").await;
    let (all, record) = bench.run(StatesSpec::default(), Target::System, 300).await;
    let mut busiest: BTreeMap<u64, usize> = BTreeMap::new();
    for row in bench.rows(all, &record, 0).await.iter().filter(|row| row.number("tid") != row.number("pid")) {
        *busiest.entry(row.number("tid")).or_default() += 1;
    }
    let (tid, _) = busiest.into_iter().max_by_key(|(_, count)| *count).expect("a thread that is not the first");
    let target = Target::Threads { tids: vec![tid.try_into().unwrap()], children: false };
    let (id, record) = bench.run(StatesSpec::default(), target, 300).await;
    let (switches, wakeups) = (bench.rows(id, &record, 0).await, bench.rows(id, &record, 1).await);
    assert!(!switches.is_empty() && !wakeups.is_empty());
    for row in &switches {
        let sides = [("tid", ["from", "both"]), ("next_tid", ["to", "both"])];
        let is_own = |(column, words): (&str, [&str; 2])| {
            assert_eq!(row.number(column) == tid, words.contains(&row.text("of_target")), "{row:?}");
            row.number(column) == tid
        };
        assert!(sides.map(is_own).contains(&true), "{row:?}");
    }
    assert!(wakeups.iter().all(|row| row.number("wakee_tid") == tid && row.number("tid") != tid));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_blocks_in_the_kernel_tells_the_function() {
    let bench = simulated("rate=2000").await;
    for sleep_stacks in [false, true] {
        let spec = StatesSpec { sleep_stacks, wake_stacks: false };
        let (id, record) = bench.run(spec, Target::System, 300).await;
        let switches = bench.rows(id, &record, 0).await;
        let blocked: Vec<&Seen> = switches.iter().filter(|row| row.text("state") == "D").collect();
        assert!(!blocked.is_empty() && blocked.iter().all(|row| row.text("blocked_function") == "vfs_read"));
        let others = switches.iter().filter(|row| row.text("state") != "D");
        assert!(others.clone().count() > 0 && others.clone().all(|row| row.number("blocked_function") == 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_waits_for_the_disk_tells_where() {
    let Some(bench) = real().await else { return };
    // A parent that waits for its child after vfork is uninterruptible whatever the disk does.
    let script = "import ctypes, os\nfor _ in range(20):\n  pid = ctypes.CDLL(None).vfork()\n  if pid == 0:\n    os._exit(0)\n  os.waitpid(pid, 0)";
    let argv = ["/usr/bin/python3", "-c", script].map(str::to_owned).to_vec();
    let target = Target::Command { argv, user: None, children: true };
    let (id, record) = bench.run(StatesSpec::default(), target, 60_000).await;
    let switches = bench.rows(id, &record, 0).await;
    let blocked: Vec<&Seen> =
        switches.iter().filter(|row| row.text("state") == "D" && row.text("of_target") != "to").collect();
    let functions: Vec<&str> = blocked.iter().map(|row| row.text("blocked_function")).collect();
    assert!(!functions.is_empty() && functions.iter().all(|function| !function.is_empty()), "{functions:?}");
    let own = ["schedule", "__schedule", "io_schedule", "wait_for_completion", "mutex_lock", "schedule_timeout"];
    assert!(functions.iter().all(|function| !own.contains(function)), "{functions:?}");
    println!("{} of {} switches: {functions:?}", functions.len(), switches.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_are_of_threads_that_sleep_and_of_wakers() {
    let bench = simulated("rate=2000").await;
    let spec = StatesSpec { sleep_stacks: true, wake_stacks: true };
    let (id, record) = bench.run(spec, Target::System, 500).await;
    assert_eq!((names(&record, 0).last(), names(&record, 1).last()), (Some(&"stack"), Some(&"stack")));
    let (switches, wakeups) = (bench.rows(id, &record, 0).await, bench.rows(id, &record, 1).await);
    assert!(switches.iter().all(|row| (row.number("stack") != 0) == row.sleeps()));
    assert!(wakeups.iter().all(|row| row.number("stack") != 0));
    let symbols: HashMap<_, _> = bench.store.symbols(id, 0).await.unwrap().into_iter().collect();
    let stacks: HashMap<u32, _> = bench.store.stacks(id, 0).await.unwrap().into_iter().collect();
    let web = switches.iter().find(|row| row.number("pid") == 1201 && row.sleeps()).unwrap();
    let frames = stacks[&u32::try_from(web.number("stack")).unwrap()].to_vec();
    let functions: Vec<&str> = frames.iter().map(|frame| symbols[frame].function.as_str()).collect();
    let expected = ["schedule", "vfs_read", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"];
    assert_eq!(functions[..4], expected, "{functions:?}");
    assert_eq!(functions[4..], ["handle_request", "event_loop", "main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_followed_from_its_first_switch_to_its_last() {
    let Some(bench) = real().await else { return };
    let script = "for i in 1 2 3; do sleep 0.02; done; echo done | cat >/dev/null";
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let target = Target::Command { argv, user: None, children: true };
    let spec = StatesSpec { sleep_stacks: true, wake_stacks: false };
    let (id, record) = bench.run(spec, target, 60_000).await;
    assert!(record.reason.starts_with("the command exited with status 0"), "{}", record.reason);
    let (switches, wakeups) = (bench.rows(id, &record, 0).await, bench.rows(id, &record, 1).await);
    let born: Vec<&Seen> = wakeups.iter().filter(|row| row.number("new") == 1).collect();
    // Others of that name, which a thread of the command follows on a CPU, are not its.
    let is_own = |row: &Seen| born.iter().any(|one| one.number("wakee_pid") == row.number("pid"));
    let sleeps: Vec<&Seen> = switches.iter().filter(|row| row.text("comm") == "sleep" && is_own(row)).collect();
    assert!(sleeps.iter().filter(|row| row.text("state") == "S").count() >= 3, "each of them waits");
    let ends = sleeps.iter().filter(|row| matches!(row.text("state"), "Z" | "X")).count();
    assert_eq!(ends, 3, "each of them ends");
    assert!(sleeps.iter().filter(|row| row.text("state") == "S").all(|row| row.number("stack") != 0));
    // The first switch to a process is that of its birth, which its parent tells.
    assert!(born.len() >= 5 && born.iter().all(|row| row.text("comm") == "sh"), "{born:?}");
    for row in born {
        let runs = |it: &&Seen| it.number("next_tid") == row.number("wakee_tid");
        let first = switches.iter().find(runs).expect("it runs");
        assert!(first.number("time") > row.number("time"));
    }
    let own = |pid: u64| switches.iter().any(|row| row.number("pid") == pid);
    assert!(wakeups.iter().all(|row| own(row.number("wakee_pid"))), "only its own are woken");
}

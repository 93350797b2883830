//! What leads to a row and on from it is that of a naive walk over all rows: block requests from their issue to their end and who
//! was woken, and threads from who started them.

use std::sync::atomic::AtomicBool;

use bathyscope_capture::{ColumnType, RowKind, SliceTime};
use bathyscope_views::{
    FlowKind, FlowWay, MemorySource, TrackFlow, TrackList, TrackMoment, TrackMomentQuery, track_list, track_moment,
};
use proptest::prelude::*;

use super::critical_path::{chunks, schema, state};

const START_NS: u64 = 1_000_000;
/// A thread is woken for a request within this time after its end.
const AFTER_REQUEST_NS: u64 = 1_000_000;
const THREADS: u64 = 4;
const CPUS: u64 = 2;
const STATES: [&str; 3] = ["running", "runnable", "sleeping"];
const RUNNING: u64 = 1;
const RUNNABLE: u64 = 2;
const SLEEPING: u64 = 3;
const DEVICE: u64 = 8 << 20;

#[derive(Clone, Copy, Debug)]
struct Row {
    tid: u64,
    begin: u64,
    end: u64,
    state: u64,
}

#[derive(Clone, Copy, Debug)]
struct Wake {
    time: u64,
    cpu: u64,
    waker: u64,
    wakee: u64,
    is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    begin: u64,
    end: u64,
    tid: u64,
    end_cpu: u64,
}

#[derive(Clone, Debug, Default)]
struct Recorded {
    rows: Vec<Row>,
    wakes: Vec<Wake>,
    requests: Vec<Request>,
}

/// Of each thread so many turns, and of all so many requests.
type Plan = (Vec<Vec<(u64, u64, u64, u64, u64)>>, Vec<(u64, u64, u64, u64)>);

fn recorded((turns, requests): Plan) -> Recorded {
    let mut all = Recorded::default();
    for (tid, turns) in (1..).zip(turns) {
        let mut now = START_NS + tid;
        for (turn, (waits, runs, sleeps, cpu, waker)) in turns.into_iter().enumerate() {
            // Nobody starts himself.
            let waker = if turn == 0 { tid % THREADS + 1 } else { waker };
            all.wakes.push(Wake { time: now, cpu, waker, wakee: tid, is_new: turn == 0 });
            for (state, length) in [(RUNNABLE, waits), (RUNNING, runs), (SLEEPING, sleeps)] {
                all.rows.push(Row { tid, begin: now, end: now + length, state });
                now += length;
            }
        }
    }
    let request = |(begin, length, tid, end_cpu): (u64, u64, u64, u64)| Request {
        begin: START_NS + begin,
        end: START_NS + begin + length,
        tid,
        end_cpu,
    };
    all.requests = requests.into_iter().map(request).collect();
    all
}

fn source(all: &Recorded, chunk_rows: usize) -> MemorySource {
    use ColumnType::{Text, U64};
    let mut source = MemorySource::new(START_NS);
    for (id, text) in (1..).zip(STATES) {
        source.dictionaries.insert_string(id, text.as_bytes());
    }
    let duration = ("duration_ns", U64);
    let rows = all.rows.iter().map(|row| (row.end, [row.begin, 0, row.tid, row.end - row.begin, row.state]));
    let states = schema("thread states", state("state"), &["tid"], &[duration, ("state", Text)]);
    source.push_stream(states, chunks(rows.collect(), chunk_rows, &[4]));
    let wakes = all.wakes.iter().map(|it| (it.time, [it.time, it.cpu, it.waker, it.wakee, it.is_new.into()]));
    let wakeups = schema("wakeups", RowKind::Instant, &[], &[("wakee_tid", U64), ("new", U64)]);
    source.push_stream(wakeups, chunks(wakes.collect(), chunk_rows, &[]));
    let slice = RowKind::Slice { duration: "duration_ns".to_owned(), time: SliceTime::Begin, depth: None };
    let requests =
        all.requests.iter().map(|it| (it.end, [it.begin, 0, it.tid, it.end - it.begin, it.end_cpu, DEVICE, it.begin]));
    let of_device = [duration, ("end_cpu", U64), ("dev", U64), ("sector", U64)];
    let schema = schema("block requests", slice, &["dev", "sector"], &of_device);
    source.push_stream(schema, chunks(requests.collect(), chunk_rows, &[]));
    source.make_tracks().unwrap();
    source
}

/// The row of a stream that begins then and takes so long, on whichever track of the key it is.
fn moment(source: &MemorySource, list: &TrackList, (stream, key): (u16, &str), begin: u64, end: u64) -> TrackMoment {
    let tracks = list.tracks.iter().filter(|track| track.stream == stream && track.key == key);
    let at = |id: &str| {
        let query = TrackMomentQuery { track: id.parse().unwrap(), time_ns: begin };
        track_moment(source, &query, &AtomicBool::new(false)).unwrap()
    };
    let mut found = tracks.map(|track| at(&track.id));
    let is_it = |moment: &TrackMoment| {
        let at = moment.at.as_ref().unwrap();
        (at.start.unsigned_abs() + START_NS, at.duration) == (begin, end - begin)
    };
    found.find(|moment| moment.at.is_some() && is_it(moment)).unwrap()
}

/// When and with whom.
type Told = Vec<(u64, u64)>;

fn told(moment: &TrackMoment, way: FlowWay, kind: FlowKind) -> Told {
    let flows = moment.flows.flows.iter().filter(|flow| (flow.way, flow.kind) == (way, kind));
    let one = |flow: &TrackFlow| (flow.time.unsigned_abs() + START_NS, flow.tid);
    let mut all: Told = flows.map(one).collect();
    all.sort_unstable();
    all
}

fn plan() -> impl Strategy<Value = Plan> {
    let length = || 1_u64..2_000_000;
    let turn = (length(), length(), length(), 0..CPUS, 0..=THREADS);
    let turns = prop::collection::vec(turn, 1..30);
    let request = (0_u64..60_000_000, 1_u64..8_000_000, 1..=THREADS, 0..CPUS);
    (prop::collection::vec(turns, THREADS as usize), prop::collection::vec(request, 0..60))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn block_requests_lead_from_who_issued_them_to_who_was_woken(plan in plan(), chunk_rows in 40_usize..200) {
        let all = recorded(plan);
        let source = source(&all, chunk_rows);
        let list = track_list(&source, &AtomicBool::new(false)).unwrap();
        for request in &all.requests {
            let found = moment(&source, &list, (2, "8:0"), request.begin, request.end);
            let from: Told = told(&found, FlowWay::From, FlowKind::Issue);
            // Requests that began and ended together are told apart by nothing else.
            let is_same = |it: &&Request| (it.begin, it.end) == (request.begin, request.end);
            prop_assert!(all.requests.iter().filter(is_same).any(|it| from == [(it.begin, it.tid)]), "{from:?}");
            let woken = all.wakes.iter()
                .filter(|it| it.cpu == request.end_cpu && (request.end..request.end + AFTER_REQUEST_NS).contains(&it.time))
                .min_by_key(|it| it.time);
            let kind = |it: &Wake| if it.is_new { FlowKind::Start } else { FlowKind::Completion };
            let to: Vec<_> = found.flows.flows.iter().filter(|flow| flow.way == FlowWay::To)
                .map(|flow| (flow.time.unsigned_abs() + START_NS, flow.tid, flow.kind)).collect();
            prop_assert_eq!(to, woken.map(|it| (it.time, it.wakee, kind(it))).into_iter().collect::<Vec<_>>());
        }
        for row in all.rows.iter().filter(|row| row.state == RUNNING) {
            let found = moment(&source, &list, (0, &format!("tid:{}", row.tid)), row.begin, row.end);
            let issued = all.requests.iter().filter(|it| it.tid == row.tid && (row.begin..row.end).contains(&it.begin));
            let mut issued: Told = issued.map(|it| (it.begin, 0)).collect();
            issued.sort_unstable();
            prop_assert_eq!(told(&found, FlowWay::To, FlowKind::Issue), issued);
        }
        // Whom no thread woke was woken for its own request, if one ended just before.
        for row in all.rows.iter().filter(|row| row.state == RUNNABLE) {
            let found = moment(&source, &list, (0, &format!("tid:{}", row.tid)), row.begin, row.end);
            let wake = all.wakes.iter().find(|it| it.wakee == row.tid && it.time == row.begin).unwrap();
            let ended = all.requests.iter()
                .filter(|it| it.tid == row.tid && it.end <= row.begin && it.end + AFTER_REQUEST_NS >= row.begin)
                .map(|it| it.end).max();
            let is_interrupt = wake.waker == 0 || wake.waker == row.tid;
            let wanted: Told = ended.filter(|_| is_interrupt).map(|end| (end, 0)).into_iter().collect();
            prop_assert_eq!(told(&found, FlowWay::From, FlowKind::Completion), wanted);
        }
    }

    #[test]
    fn threads_lead_from_who_started_them(plan in plan(), chunk_rows in 40_usize..200) {
        let all = recorded(plan);
        let source = source(&all, chunk_rows);
        let list = track_list(&source, &AtomicBool::new(false)).unwrap();
        for row in &all.rows {
            let found = moment(&source, &list, (0, &format!("tid:{}", row.tid)), row.begin, row.end);
            let start = all.wakes.iter().find(|it| it.is_new && it.wakee == row.tid).unwrap();
            let ran = all.rows.iter().find(|it| it.tid == row.tid && it.state == RUNNING).unwrap();
            // Its first state, in which it waits for a CPU, and the one after that.
            let is_first = row.begin == start.time || row.begin == ran.begin;
            let wanted: Told = is_first.then_some((start.time, start.waker)).into_iter().collect();
            prop_assert_eq!(told(&found, FlowWay::From, FlowKind::Start), wanted);
            let is_child = |it: &&Wake| {
                it.is_new && it.waker == row.tid && row.state == RUNNING && (row.begin..row.end).contains(&it.time)
            };
            let mut children: Told = all.wakes.iter().filter(is_child).map(|it| (it.time, it.wakee)).collect();
            children.sort_unstable();
            prop_assert_eq!(told(&found, FlowWay::To, FlowKind::Start), children);
        }
    }
}

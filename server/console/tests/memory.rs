//! What the fold of very many stacks takes in memory (P43). The measured work runs in a process of its own, which is this
//! program again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::{path::Path, process::Command, sync::Arc};

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, Column, ColumnData, ColumnType, Display, Frame, HostFacts, Ledger, Mapping,
    MappingKind, Method, ProfileSpec, StreamKind, StreamSchema, StreamTotals, Symbol, Target, encode_chunk,
};
use bathyscope_reader::CaptureCache;
use bathyscope_store::{CaptureState, End, NewCapture, Options, Store};
use bathyscope_views::{Cancel, FlameQuery, GroupBy, TimeRange, flame};

const ID: CaptureId = CaptureId::from_bits(43);
const STACKS: u32 = 300_000;
/// So many that half of the stacks have more names than a flame graph keeps.
const DEPTH: u32 = 130;
const FUNCTIONS: u32 = 1000;
const CHUNK: u32 = 50_000;
const START_NS: u64 = 1_000_000_000;
/// Says to the second process where the capture is, and how many of its stacks to fold.
const DIRECTORY: &str = "BATHYSCOPE_TEST_P43_DIRECTORY";
const FOLDED: &str = "BATHYSCOPE_TEST_P43_STACKS";

fn schema() -> StreamSchema {
    let own = [Column { name: "stack".to_owned(), ty: ColumnType::Stack, display: Display::Decimal }];
    StreamSchema::new("cpu-clock", StreamKind::Samples, own)
}

/// No two are alike: the innermost frames spell the number.
fn stack(number: u32) -> Arc<[u32]> {
    let inner = [number % FUNCTIONS, number / FUNCTIONS].map(|digit| 1 + digit);
    inner.into_iter().chain((0..DEPTH).map(|level| 1 + (level * 7 + number % 5) % FUNCTIONS)).collect()
}

fn rows(first: u32) -> Append {
    let numbers = first..first + CHUNK;
    let column = |value: fn(u32) -> u64| ColumnData::U64(numbers.clone().map(value).collect());
    let ids = |value: fn(u32) -> u32| ColumnData::Id(numbers.clone().map(value).collect());
    let time = column(|number| START_NS + u64::from(number));
    let columns = vec![time, column(|_| 0), column(|_| 7), column(|_| 7), ids(|_| 1), ids(|number| number)];
    let chunk = encode_chunk(&schema(), &Batch { columns }).unwrap();
    let stacks = numbers.clone().map(|number| (number, stack(number))).collect();
    Append { chunks: vec![(0, chunk)], stacks, end_ns: START_NS + u64::from(first + CHUNK), ..Append::default() }
}

async fn make(store: &Store) {
    let method = Method::Profile(ProfileSpec::default());
    let new = NewCapture {
        id: ID,
        title: "distinct stacks".to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(method, Target::System),
        host: HostFacts::default(),
        streams: vec![schema()],
        started_unix_ns: 1,
        start_ns: START_NS,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
    let mapping = Mapping { kind: MappingKind::File, build_id: Vec::new(), name: b"/usr/bin/many".to_vec(), pid: 0 };
    let symbol = |id| (id, Symbol { function: format!("function_{id}"), offset: 0, lines: Vec::new() });
    let names = Append {
        strings: vec![(1, b"many".to_vec())],
        mappings: vec![(1, mapping)],
        frames: (1..=FUNCTIONS).map(|id| (id, Frame { mapping: 1, offset: u64::from(id) * 16 })).collect(),
        symbols: (1..=FUNCTIONS).map(symbol).collect(),
        ..Append::default()
    };
    store.append(ID, names).await.unwrap();
    for first in (1..=STACKS).step_by(CHUNK as usize) {
        store.append(ID, rows(first)).await.unwrap();
    }
    let stored = u64::from(STACKS);
    let totals = StreamTotals { hits: stored, filtered: 0, emitted: stored, stored };
    let ledger = Ledger { streams: vec![totals], losses: Vec::new() };
    let (state, reason, end_ns) = (CaptureState::Finished, "done".to_owned(), START_NS + stored + 1);
    store
        .finish(ID, End { state, reason, end_ns, ledger, readings: vec![None], script: None, sources: Vec::new() })
        .await
        .unwrap();
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells the peak");
    line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap()
}

/// The work of the second process: folds, checks, and prints by how much its peak grew.
async fn fold(directory: &Path, stacks: u32) {
    let store = Store::open_read_only(directory).await.unwrap();
    let view = CaptureCache::new(store).view(ID, false).await.unwrap();
    let before = peak_kib();
    let work = move || {
        let range = TimeRange { start_ns: 0, end_ns: START_NS + u64::from(stacks) + 1 };
        let query = FlameQuery { range, by: GroupBy::None, width: 8192, ..FlameQuery::default() };
        view.checked(flame(&view, &query, &Cancel::new(false))).unwrap()
    };
    let graph = tokio::task::spawn_blocking(work).await.unwrap();
    assert_eq!(graph.total, u64::from(stacks), "every sample counts");
    let other = graph.names.iter().position(|name| name == "[other stacks]").expect("some are left out");
    let node = graph.nodes.name.iter().position(|name| *name as usize == other).unwrap();
    assert_eq!((graph.nodes.depth[node], graph.nodes.own[node]), (1, graph.nodes.value[node]));
    let shown: u64 =
        (0..graph.nodes.id.len()).filter(|i| graph.nodes.depth[*i] == 1).map(|i| graph.nodes.value[i]).sum();
    assert_eq!(shown, graph.total, "what is left out is told");
    println!("grew {}", peak_kib() - before);
}

/// By how many KiB the peak of a process grows that folds so many stacks.
fn growth(directory: &Path, stacks: u32) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "p43_the_memory_of_a_fold_does_not_grow_with_its_stacks", "--nocapture"]);
    let ended = child.env(DIRECTORY, directory).env(FOLDED, stacks.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    let line = said.lines().find_map(|line| line.split("grew ").nth(1));
    line.unwrap_or_else(|| panic!("it said no number: {said}")).trim().parse().unwrap()
}

/// Half of the stacks are more than is kept in memory already: twice as many take only their counters more.
#[tokio::test(flavor = "multi_thread")]
async fn p43_the_memory_of_a_fold_does_not_grow_with_its_stacks() {
    if let (Some(directory), Ok(stacks)) = (std::env::var_os(DIRECTORY), std::env::var(FOLDED)) {
        return fold(Path::new(&directory), stacks.parse().unwrap()).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).await.unwrap();
    make(&store).await;
    store.close().await;
    let [half, all] = [STACKS / 2, STACKS].map(|stacks| growth(dir.path(), stacks));
    let file_kib = std::fs::metadata(dir.path().join("bathyscope.db")).unwrap().len() >> 10;
    println!("{} KiB with half of the stacks, {} KiB with all {STACKS}, which take {file_kib} KiB on disk", half, all);
    assert!(all < half + (24 << 10), "memory grew with the stacks: {half} to {all} KiB");
    assert!(all < 300 << 10, "the fold took {all} KiB");
}

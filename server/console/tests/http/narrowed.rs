//! A stored capture narrowed to a part of it: its views have nothing else, and the whole stays as it is.

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, Column, ColumnData, ColumnType, Display, Grouping, HostFacts, Ledger, Loss,
    LossStage, Method, ProfileSpec, StreamKind, StreamSchema, StreamTotals, Target, encode_chunk,
};
use bathyscope_reader::{CaptureCache, CaptureView};
use bathyscope_store::{CaptureState, End, NewCapture, Options, Store};
use bathyscope_views::{
    CallForest, Cancel, Filter, RowsQuery, Scope, Source as _, TimeRange, ViewError, calls_stream, page,
};

const ID: CaptureId = CaptureId::from_bits(7);
static GO: Cancel = Cancel::new(false);

/// Calls of functions, one inside the other where `depth` says so.
fn schema() -> StreamSchema {
    let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
    let own = [
        column("func", ColumnType::Text, Display::Text),
        column("depth", ColumnType::U64, Display::Decimal),
        column("duration_ns", ColumnType::U64, Display::DurationNs),
        column("state", ColumnType::Text, Display::Text),
    ];
    StreamSchema::new("function_graph", StreamKind::Events, own)
}

/// Calls that ended at 100, 200 and so on, each of which took 50.
fn rows(from: u64, count: u64) -> Batch {
    let numbers = |of: fn(u64) -> u64| ColumnData::U64((from..from + count).map(of).collect());
    let ids = |id| ColumnData::Id(vec![id; count as usize]);
    let columns = vec![
        numbers(|at| at * 100),
        numbers(|at| at % 2),
        numbers(|_| 3),
        numbers(|_| 3),
        ids(1),
        ids(2),
        numbers(|_| 0),
        numbers(|_| 50),
        ids(0),
    ];
    Batch { columns }
}

async fn begin(store: &Store) {
    let new = NewCapture {
        id: ID,
        title: "narrowed".to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(Method::Profile(ProfileSpec::default()), Target::System),
        host: HostFacts::default(),
        streams: vec![schema()],
        started_unix_ns: 1,
        start_ns: 0,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
    let chunk = |from| (0, encode_chunk(&schema(), &rows(from, 10)).unwrap());
    let strings = vec![(1, b"sh".to_vec()), (2, b"vfs_read".to_vec())];
    store.append(ID, Append { strings, chunks: vec![chunk(1), chunk(11)], ..Append::default() }).await.unwrap();
}

async fn finish(store: &Store) {
    let loss =
        |start_ns| Loss { stream: Some(0), stage: LossStage::RingFull, count: 1, start_ns, end_ns: start_ns + 9 };
    let totals = StreamTotals { hits: 22, filtered: 0, emitted: 22, stored: 20 };
    let ledger = Ledger { streams: vec![totals], losses: vec![loss(300), loss(1500)] };
    let (state, reason) = (CaptureState::Finished, "done".to_owned());
    let end = End { state, reason, end_ns: 2100, ledger, readings: vec![None], script: None, sources: Vec::new() };
    store.finish(ID, end).await.unwrap();
}

/// When the rows were that a view has, and how many it says that there are.
fn times(view: &CaptureView) -> (Vec<i128>, u64) {
    let found = page(view, &RowsQuery { limit: 100, ..RowsQuery::new(0) }, &GO).unwrap();
    let time = |row: &Vec<bathyscope_capture::ShownCell>| match row[0] {
        bathyscope_capture::ShownCell::Number(time) => time,
        _ => panic!("a time is a number"),
    };
    (found.rows.iter().map(time).collect(), found.total)
}

fn calls(view: &CaptureView) -> usize {
    assert_eq!(calls_stream(view), Some(0));
    let forest: std::sync::Arc<CallForest> = view.calls(TimeRange::ALL, &GO).unwrap();
    forest.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_capture_is_narrowed_for_all_views_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).await.unwrap();
    begin(&store).await;
    let cache = CaptureCache::new(store.clone());
    let scope = Scope { range: TimeRange { start_ns: 970, end_ns: 1200 }, filter: None };
    let running = cache.view(ID, true).await.unwrap();
    let refused = tokio::task::spawn_blocking({
        let scope = scope.clone();
        move || running.narrowed(1, &scope, &GO).err()
    });
    assert!(matches!(refused.await.unwrap(), Some(ViewError::NarrowedWhileRunning)));
    finish(&store).await;
    let whole = cache.view(ID, false).await.unwrap();
    let look = move || {
        let all: Vec<i128> = (1..=20).map(|at| at * 100).collect();
        assert_eq!((times(&whole), calls(&whole)), ((all.clone(), 20), 20));
        // What ended at 1200 began in the range.
        let part = whole.narrowed(1, &scope, &GO).unwrap();
        assert_eq!((times(&part), calls(&part)), ((vec![1000, 1100, 1200], 3), 3));
        assert!(part.kept().is_none() && part.index(0, Grouping::Cpu).is_none(), "what is kept is of the whole");
        assert_eq!(part.losses(), &whole.losses()[..0]);
        assert_eq!(part.record().ledger.losses, []);
        // Who asks again gets the same.
        assert_eq!(times(&whole.narrowed(1, &scope, &GO).unwrap()), (vec![1000, 1100, 1200], 3));
        assert_eq!((part.record().streams[0].rows, part.record().ledger.streams[0].hits), (3, 3));
        let lossy = Scope { range: TimeRange { start_ns: 250, end_ns: 450 }, filter: None };
        let lossy = whole.narrowed(3, &lossy, &GO).unwrap();
        let totals = lossy.record().ledger.streams[0];
        assert_eq!((totals.stored, totals.emitted, lossy.losses().len()), (2, 3, 1), "the books of a part balance too");
        // A part of the part is no more than that.
        let more = Scope { range: TimeRange::ALL, filter: Filter::parse("cpu == 1").unwrap() };
        assert_eq!(times(&part.narrowed(2, &more, &GO).unwrap()).0, [1100]);
        let odd = whole.narrowed(2, &more, &GO).unwrap();
        assert_eq!((times(&odd).1, calls(&odd), odd.losses().len()), (10, 10, 2));
        assert_eq!((times(&whole), calls(&whole)), ((all, 20), 20), "and the whole is as it was");
        assert!(odd.batch(0, 2, &[0]).is_err() && part.batch(0, 2, &[0]).is_err());
    };
    tokio::task::spawn_blocking(look).await.unwrap();
}

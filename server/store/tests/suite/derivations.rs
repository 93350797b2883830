//! Streams that are computed from others: seen when they are whole, removed without a trace, and no part of what was recorded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use std::path::Path;

use bathyscope_capture::{
    Batch, BuiltPage, ColumnData, Derivation, EncodedChunk, MAX_CHUNK_ROWS, StreamKind, StreamSchema, encode_chunk,
};
use bathyscope_store::{DerivationState, SourceState, Store, StoreError, TrackChanges};
use common::*;

fn schema(name: &str) -> StreamSchema {
    let derived = Derivation { rule: "made".to_owned(), version: 1, from: vec!["cpu-clock".to_owned()] };
    StreamSchema { derived: Some(Box::new(derived)), ..StreamSchema::new(name, StreamKind::Events, []) }
}

/// Rows of a computed stream with the text `comm`.
fn rows(name: &str, rows: usize, comm: u32) -> EncodedChunk {
    let numbers = || ColumnData::U64((START_NS..).take(rows).collect());
    let same = |value| ColumnData::U64(vec![value; rows]);
    let columns = vec![numbers(), same(0), same(7), same(7), ColumnData::Id(vec![comm; rows])];
    encode_chunk(&schema(name), &Batch { columns }).unwrap()
}

/// Begins the rule and adds rows to both of its streams.
async fn compute(store: &Store, rule: &str) -> u16 {
    let begun = store.begin_derivation(ID, rule.to_owned(), vec![schema("one"), schema("two")]).await.unwrap();
    let ids = store.derived_string_ids(ID, vec![b"running".to_vec(), b"bash".to_vec()]).await.unwrap();
    assert_eq!(ids, [3, 1], "bash is a text of the capture");
    // Enough rows for a time index.
    let chunks = vec![(0, rows("one", MAX_CHUNK_ROWS, ids[0])), (1, rows("two", 10, ids[1]))];
    store.append_derived(ID, begun.number, chunks, Vec::new()).await.unwrap();
    begun.number
}

async fn exported(store: &Store, dir: &Path, name: &str) -> Vec<u8> {
    let path = dir.join(name);
    store.export_file(ID, &path).await.unwrap();
    std::fs::read(path).unwrap()
}

#[tokio::test]
async fn computed_streams_are_seen_when_they_are_whole_and_go_without_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "recorded").await;
    let (before, file) = (store.capture(ID).await.unwrap(), exported(&store, dir.path(), "before.bathy").await);
    let number = compute(&store, "rule").await;
    let during = store.capture(ID).await.unwrap();
    assert_eq!(during.derivations[0].state, DerivationState::Computing);
    assert_eq!(
        during.streams.iter().map(|stream| stream.schema.is_absent()).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    assert!(store.chunk_index(ID, 2, 0).await.unwrap().is_empty(), "nobody sees a part");
    assert!(store.index(ID).await.unwrap().keys().all(|(stream, _)| *stream < 2));

    store.finish_derivation(ID, number, "[]".to_owned()).await.unwrap();
    let whole = store.capture(ID).await.unwrap();
    assert_eq!((whole.derivations[0].state, whole.derivations[0].has(3)), (DerivationState::Complete, true));
    let names: Vec<(&str, u64)> = whole.streams.iter().map(|it| (it.schema.name.as_str(), it.rows)).collect();
    assert_eq!(names, [("sched:sched_switch", 100), ("cpu-clock", 10), ("one", 65_536), ("two", 10)]);
    assert!(store.index(ID).await.unwrap().keys().any(|(stream, _)| *stream == 2), "there is a time index of it");
    assert!(whole.size_bytes > before.size_bytes && whole.chunk_bytes > before.chunk_bytes, "bytes count");
    let summary = store.summaries(&bathyscope_store::SummaryQuery::default()).await.unwrap();
    assert_eq!(summary.items[0].rows, 110, "rows are those that were recorded");
    store.check(ID).await.unwrap();
    assert!(exported(&store, dir.path(), "after.bathy").await == file, "what was recorded is as it was");
    assert_eq!(store.import_bytes(&file, "ada", NOW).await.unwrap(), ID, "it is the same recording");

    store.remove_derivation(ID, number, None).await.unwrap();
    let removed = store.capture(ID).await.unwrap();
    assert_eq!(removed.derivations[0].state, DerivationState::Removed);
    assert_eq!((removed.chunk_bytes, removed.streams.len()), (before.chunk_bytes, 4));
    // The one text that was new stays.
    assert_eq!(removed.size_bytes, before.size_bytes + "running".len() as u64);
    assert!(matches!(store.chunk(ID, 2, 0).await, Err(StoreError::NoChunk { .. })));
    assert_eq!(compute(&store, "rule").await, number, "the same rule comes to the same place");
    store.finish_derivation(ID, number, "[]".to_owned()).await.unwrap();
    assert_eq!(store.capture(ID).await.unwrap().streams.len(), 4);
    store.check(ID).await.unwrap();
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_capture_is_read_while_streams_of_it_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "recorded").await;
    let changing = store.clone();
    let changes = tokio::spawn(async move {
        for _ in 0..60 {
            let streams = vec![schema("one"), schema("two")];
            let begun = changing.begin_derivation(ID, "rule".to_owned(), streams).await.unwrap();
            changing.append_derived(ID, begun.number, vec![(1, rows("two", 10, 1))], Vec::new()).await.unwrap();
            changing.finish_derivation(ID, begun.number, "[]".to_owned()).await.unwrap();
            changing.remove_derivation(ID, begun.number, None).await.unwrap();
        }
    });
    while !changes.is_finished() {
        let record = store.capture(ID).await.expect("what is read is of one moment");
        assert_eq!(record.ledger.streams.len(), 2, "what is computed is in no ledger");
    }
    changes.await.unwrap();
}

/// Pages of a track, and a directory that stands for one.
fn tracks(pages: &[(u32, u8, u64, &[u8])], directory: Option<&[u8]>) -> TrackChanges {
    let page = |(track, level, number, bytes): &(u32, u8, u64, &[u8])| BuiltPage {
        track: *track,
        level: *level,
        number: *number,
        bytes: bytes.to_vec(),
    };
    TrackChanges { stream: 1, pages: pages.iter().map(page).collect(), directory: directory.map(<[u8]>::to_vec) }
}

#[tokio::test]
async fn tracks_of_computed_streams_are_read_by_their_places_and_go_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "recorded").await;
    let number = compute(&store, "rule").await;
    let before = store.capture(ID).await.unwrap().size_bytes;
    let put = |changes| store.append_derived(ID, number, Vec::new(), vec![changes]);
    put(tracks(&[(0, 0, 0, b"whole"), (0, 0, 1, b"begun"), (7, 1, 0, b"sums")], Some(b"first"))).await.unwrap();
    assert!(store.track_directories(ID).await.unwrap().is_empty(), "nobody sees a part");
    put(tracks(&[(0, 0, 1, b"longer by eight")], Some(b"directory"))).await.unwrap();
    let bytes = [&b"whole"[..], b"longer by eight", b"sums", b"directory"].map(|part| part.len() as u64);
    assert_eq!(store.capture(ID).await.unwrap().size_bytes - before, bytes.iter().sum::<u64>(), "bytes count once");
    store.finish_derivation(ID, number, "[]".to_owned()).await.unwrap();
    assert_eq!(store.track_directories(ID).await.unwrap(), [(3, b"directory".to_vec())]);
    let wanted = vec![(7, 1, 0), (0, 0, 1), (0, 0, 2), (1, 0, 0)];
    let mut pages = store.track_pages(ID, 3, wanted).await.unwrap();
    pages.sort();
    assert_eq!(pages, [((0, 0, 1), b"longer by eight".to_vec()), ((7, 1, 0), b"sums".to_vec())]);
    assert!(store.track_pages(ID, 2, vec![(0, 0, 0)]).await.unwrap().is_empty());
    let large = vec![0; bathyscope_capture::MAX_TRACK_PAGE_BYTES + 1];
    assert!(put(tracks(&[(0, 0, 0, &large)], None)).await.is_err());
    assert!(put(tracks(&[(0, 99, 0, b"of no level")], None)).await.is_err(), "nothing is left out in silence");

    store.remove_derivation(ID, number, None).await.unwrap();
    assert!(store.track_directories(ID).await.unwrap().is_empty());
    assert!(store.track_pages(ID, 3, vec![(0, 0, 0)]).await.unwrap().is_empty());
    assert_eq!(compute(&store, "rule").await, number);
    assert_eq!(store.capture(ID).await.unwrap().size_bytes, before);
    store.delete(ID).await.unwrap();
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn what_cannot_be_computed_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(id(2), "running")).await.unwrap();
    let begin = |capture, schema| store.begin_derivation(capture, "rule".to_owned(), vec![schema]);
    assert!(matches!(store.derived_string_ids(id(2), vec![b"x".to_vec()]).await, Err(StoreError::Recording { .. })));
    assert!(matches!(begin(id(9), schema("one")).await, Err(StoreError::NoCapture { .. })));
    record(&store, ID, "recorded").await;
    let recorded = StreamSchema::new("one", StreamKind::Events, []);
    assert!(
        matches!(begin(ID, recorded).await, Err(StoreError::Refused { .. })),
        "it does not say that it was computed"
    );
    let before = store.capture(ID).await.unwrap();
    let number = begin(ID, schema("one")).await.unwrap().number;
    assert!(matches!(begin(ID, schema("one")).await, Err(StoreError::Refused { .. })), "it is being computed");
    let of_none = store.append_derived(ID, number, vec![(1, rows("one", 1, 1))], Vec::new()).await;
    assert!(matches!(of_none, Err(StoreError::Refused { .. })), "{of_none:?}");
    store.append_derived(ID, number, vec![(0, rows("one", 5000, 1))], Vec::new()).await.unwrap();
    store.remove_derivation(ID, number, Some("the disk is full".to_owned())).await.unwrap();
    let late = store.append_derived(ID, number, vec![(0, rows("one", 1, 1))], Vec::new()).await;
    assert!(matches!(late, Err(StoreError::Refused { .. })), "{late:?}");
    assert!(store.finish_derivation(ID, number, String::new()).await.is_err());
    let failed = store.capture(ID).await.unwrap();
    assert_eq!(
        (failed.derivations[0].state, failed.derivations[0].reason.as_str()),
        (DerivationState::Failed, "the disk is full")
    );
    assert_eq!((failed.size_bytes, &failed.ledger), (before.size_bytes, &before.ledger));
    store.delete(ID).await.unwrap();
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn what_a_process_was_computing_when_it_ended_is_hidden_and_can_begin_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "recorded").await;
    compute(&store, "rule").await;
    store.close().await;
    let store = open(dir.path()).await;
    let [(capture, record)] = &store.interrupted_derivations().await.unwrap()[..] else { panic!() };
    assert_eq!((*capture, record.rule.as_str()), (ID, "rule"));
    assert!(store.capture(ID).await.unwrap().streams[2].schema.is_absent());
    let number = compute(&store, "rule").await;
    store.finish_derivation(ID, number, "[]".to_owned()).await.unwrap();
    assert_eq!(store.capture(ID).await.unwrap().streams[3].rows, 10, "rows of before are gone");
    assert!(store.interrupted_derivations().await.unwrap().is_empty());
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn what_follows_a_capture_is_seen_and_is_no_part_of_its_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "running")).await.unwrap();
    store.append(ID, full_append()).await.unwrap();
    let begun = store.begin_derivation(ID, "rule".to_owned(), vec![schema("one")]).await.unwrap();
    assert_eq!(begun.state, DerivationState::Following);
    store.append_derived(ID, begun.number, vec![(0, rows("one", 5, 1))], Vec::new()).await.unwrap();
    let during = store.capture(ID).await.unwrap();
    assert_eq!((during.streams[2].rows, during.streams[2].schema.name.as_str()), (5, "one"));
    assert!(matches!(store.finish_derivation(ID, 0, String::new()).await, Err(StoreError::Recording { .. })));
    // The console ends before the capture does.
    store.close().await;
    let store = open(dir.path()).await;
    let after = store.capture(ID).await.unwrap();
    assert!(after.streams[2].schema.is_absent());
    assert!(after.ledger.losses.iter().all(|loss| loss.stream != Some(2)), "{:?}", after.ledger);
    assert_eq!(store.interrupted_derivations().await.unwrap().len(), 1);
    assert_eq!(compute_one(&store).await, begun.number);
    let whole = store.capture(ID).await.unwrap();
    assert_eq!((whole.derivations[0].state, whole.streams[2].rows), (DerivationState::Complete, 7));
    store.close().await;
    integrity(dir.path()).await;
}

/// The rule with one stream, from its begin to its end.
async fn compute_one(store: &Store) -> u16 {
    let number = store.begin_derivation(ID, "rule".to_owned(), vec![schema("one")]).await.unwrap().number;
    store.append_derived(ID, number, vec![(0, rows("one", 7, 1))], Vec::new()).await.unwrap();
    store.finish_derivation(ID, number, String::new()).await.unwrap();
    number
}

#[tokio::test]
async fn what_became_of_sources_is_kept_and_goes_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "recorded").await;
    let kept = store.capture(ID).await.unwrap().sources;
    assert_eq!((kept[0].state, kept[0].reason.as_str()), (SourceState::Thinned, "it cost too much"));
    let file = exported(&store, dir.path(), "a.bathy").await;
    store.delete(ID).await.unwrap();
    assert_eq!(store.import_bytes(&file, "ada", NOW).await.unwrap(), ID);
    assert_eq!(store.capture(ID).await.unwrap().sources, kept);
}

//! Captures are made, filled, read, named, and deleted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use crate::common;

use std::{pin::Pin, sync::Arc, task::Poll, time::Instant};

use bathyscope_capture::{Append, Ledger, LossStage, Severity, Symbol, decode_chunk};
use bathyscope_store::{CaptureState, StoreError, SummaryQuery};
use common::*;

#[tokio::test]
async fn everything_that_is_appended_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "all").await;
    let made = full_append();
    let capture = store.capture(ID).await.unwrap();
    assert_eq!((capture.state, capture.reason.as_str()), (CaptureState::Finished, "its time was over"));
    assert_eq!((capture.start_ns, capture.end_ns), (START_NS, START_NS + 1000));
    assert_eq!(Some(capture.ledger), made.ledger);
    assert_eq!(capture.output_bytes, 10);
    assert_eq!(capture.streams.iter().map(|s| (s.rows, s.chunks)).collect::<Vec<_>>(), [(100, 1), (10, 1)]);
    assert_eq!(capture.streams.into_iter().map(|s| s.schema).collect::<Vec<_>>(), schemas());
    assert_eq!(store.strings(ID, 0).await.unwrap(), made.strings);
    assert_eq!(store.strings(ID, 1).await.unwrap(), made.strings[1..]);
    assert_eq!(store.mappings(ID, 0).await.unwrap(), made.mappings);
    assert_eq!(store.frames(ID, 0).await.unwrap(), made.frames);
    assert_eq!(store.frames(ID, 2).await.unwrap(), []);
    assert_eq!(store.stacks(ID, 0).await.unwrap(), made.stacks);
    assert_eq!(store.symbols(ID, 0).await.unwrap(), made.symbols);
    assert_eq!(store.processes(ID).await.unwrap(), made.processes);
    assert_eq!(store.output(ID, 0, 10).await.unwrap(), made.output);
    assert_eq!(store.output(ID, 1, 10).await.unwrap(), made.output[1..]);
    for (stream, chunk) in made.chunks {
        let index = store.chunk_index(ID, stream, 0).await.unwrap();
        assert_eq!(index.len(), 1);
        assert_eq!((index[0].seq, index[0].rows), (0, chunk.rows));
        assert_eq!((index[0].first_ns, index[0].last_ns), (chunk.first_ns, chunk.last_ns));
        assert_eq!(index[0].stats, chunk.stats);
        assert_eq!(store.chunk(ID, stream, 0).await.unwrap(), chunk.bytes);
        assert!(store.chunk_index(ID, stream, 1).await.unwrap().is_empty());
    }
    assert!(matches!(store.chunk(ID, 0, 1).await, Err(StoreError::NoChunk { .. })));
    assert!(matches!(store.capture(id(1)).await, Err(StoreError::NoCapture { .. })));
}

#[tokio::test]
async fn a_refused_append_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    store.append(ID, full_append()).await.unwrap();
    let text = |id, length| Append { strings: vec![(id, vec![b'a'; length])], ..Append::default() };
    let frame = Append { frames: vec![(9, bathyscope_capture::Frame { mapping: 77, offset: 0 })], ..Append::default() };
    let before = store.capture(ID).await.unwrap();
    let cases = [
        (text(1, 3), "an id was used twice"),
        (text(5, 65_537), "at most 65536"),
        (frame, "an id was not known"),
        (Append { chunks: vec![(0, chunk(9, 1)), (2, chunk(9, 1))], ..Append::default() }, "no stream 2"),
    ];
    for (append, expected) in cases {
        let error = store.append(ID, append).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }) && error.to_string().contains(expected), "{error}");
        assert_eq!(store.capture(ID).await.unwrap(), before, "{expected}");
    }
    assert_eq!(store.strings(ID, 0).await.unwrap().len(), 2);
    let missing = store.append(id(3), Append::default()).await;
    assert!(matches!(missing, Err(StoreError::NoCapture { .. })));
    assert!(matches!(store.create(new_capture(ID, "again")).await, Err(StoreError::Exists { .. })));
}

#[tokio::test]
async fn an_ended_capture_is_closed_to_appends() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "t").await;
    let late = store.append(ID, Append::default()).await;
    assert!(matches!(late, Err(StoreError::NotRecording { state: CaptureState::Finished, .. })));
    let again = store.finish(ID, end(Ledger::default())).await;
    assert!(matches!(again, Err(StoreError::NotRecording { .. })));
    let better = Symbol { function: "better".to_owned(), offset: 0, lines: Vec::new() };
    store.put_symbols(ID, vec![(1, better.clone()), (2, better.clone())]).await.unwrap();
    assert_eq!(store.symbols(ID, 0).await.unwrap(), [(1, better.clone()), (2, better)]);
}

#[tokio::test]
async fn the_ledger_is_replaced_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    let loss = |count| bathyscope_capture::Loss { count, ..full_append().ledger.unwrap().losses[0].clone() };
    let lists = [vec![loss(1)], vec![loss(1), loss(2)], vec![loss(1), loss(3), loss(4)], vec![loss(9)], vec![]];
    for losses in lists {
        let ledger = Ledger { streams: vec![totals(1, 2), totals(3, 4)], losses };
        store.append(ID, Append { ledger: Some(ledger.clone()), ..Append::default() }).await.unwrap();
        assert_eq!(store.capture(ID).await.unwrap().ledger, ledger);
        let page = store.summaries(&SummaryQuery::default()).await.unwrap();
        assert_eq!(page.items[0].lost, ledger.lost_total());
    }
}

#[tokio::test]
async fn the_list_is_searched_and_paged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=5 {
        store.create(new_capture(id(number), &format!("Größe {number} 100%"))).await.unwrap();
    }
    let find = |text: &str, limit, offset| SummaryQuery { limit, offset, ..SummaryQuery::parse(text, 0).unwrap() };
    let cases = [
        (find("", 2, 0), 5, vec![5, 4]),
        (find("", 2, 4), 5, vec![1]),
        (find("GRÖSSE", 9, 0), 0, vec![]),
        (find("GRÖßE 3", 9, 0), 1, vec![3]),
        (find("leviathan ada profile 4711", 9, 0), 5, vec![5, 4, 3, 2, 1]),
        (find("100%", 1, 0), 5, vec![5]),
        (find("\"' OR 1=1 --\"", 1, 0), 0, vec![]),
    ];
    for (query, total, expected) in cases {
        let page = store.summaries(&query).await.unwrap();
        let ids: Vec<u64> = page.items.iter().map(|item| item.id.bits()).collect();
        assert_eq!((page.total, ids), (total, expected), "{query:?}");
    }
    store.rename(id(2), "other").await.unwrap();
    let page = store.summaries(&find("other", 9, 0)).await.unwrap();
    assert_eq!((page.items[0].title.as_str(), page.items[0].target.as_str()), ("other", "pid 4711"));
    assert!(matches!(store.rename(id(2), &"x".repeat(257)).await, Err(StoreError::Refused { .. })));
    assert!(matches!(store.rename(id(77), "x").await, Err(StoreError::NoCapture { .. })));
}

#[tokio::test]
async fn p39_deletion_leaves_nothing_and_refuses_a_running_capture() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "gone").await;
    store.create(new_capture(id(2), "running")).await.unwrap();
    store.append(id(2), full_append()).await.unwrap();
    assert!(matches!(store.delete(id(2)).await, Err(StoreError::Recording { .. })));
    store.delete(ID).await.unwrap();
    assert!(matches!(store.capture(ID).await, Err(StoreError::NoCapture { .. })));
    assert!(matches!(store.delete(ID).await, Err(StoreError::NoCapture { .. })));
    assert!(store.strings(ID, 0).await.unwrap().is_empty() && store.chunk(ID, 0, 0).await.is_err());
    assert_eq!(store.strings(id(2), 0).await.unwrap().len(), 2, "the other capture is whole");
    record(&store, ID, "the same id again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p39_a_large_deletion_lets_appends_through_and_gives_the_space_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "large")).await.unwrap();
    for part in 0..40_u32 {
        let strings = (1..=500).map(|n| (part * 500 + n, format!("name {part} {n}").into_bytes())).collect();
        let mut large = chunk(u64::from(part) * 100_000, 100);
        large.bytes = noise(1 << 20, part);
        store.append(ID, Append { chunks: vec![(0, large)], strings, ..Append::default() }).await.unwrap();
    }
    store.finish(ID, end(Ledger::default())).await.unwrap();
    store.create(new_capture(id(2), "running")).await.unwrap();
    let deletion = tokio::spawn({
        let store = store.clone();
        async move { store.delete(ID).await }
    });
    let mut longest = std::time::Duration::ZERO;
    let mut appends = 0;
    while !deletion.is_finished() {
        let start = Instant::now();
        let append = Append { chunks: vec![(0, chunk(appends * 10, 10))], ..Append::default() };
        store.append(id(2), append).await.unwrap();
        longest = longest.max(start.elapsed());
        appends += 1;
    }
    deletion.await.unwrap().unwrap();
    println!("{appends} appends during the deletion of 40 MiB, the longest waited {longest:?}");
    assert!(appends > 3, "only {appends} appends came through");
    store.close().await;
    let size = std::fs::metadata(database(dir.path())).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes are left");
}

/// Bytes that do not compress.
fn noise(length: usize, seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed) + 0x9e37_79b9;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test]
async fn p34_a_capture_being_recorded_is_interrupted_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "cut")).await.unwrap();
    let mut append = full_append();
    // 4 events of stream 0 were in flight when the ledger was made.
    append.ledger.as_mut().unwrap().streams[0].emitted += 4;
    store.append(ID, append).await.unwrap();
    // Rows that no ledger speaks of yet.
    store.append(ID, Append { chunks: vec![(1, samples(START_NS + 90, 5))], ..Append::default() }).await.unwrap();
    store.close().await;
    let store = open(dir.path()).await;
    let capture = store.capture(ID).await.unwrap();
    assert_eq!(capture.state, CaptureState::Interrupted);
    assert!(!capture.reason.is_empty());
    assert_eq!(capture.ledger.in_flight(), [0, 0]);
    assert_eq!(capture.ledger.streams[1].stored, 15);
    let cut: Vec<_> = capture.ledger.losses.iter().filter(|loss| loss.stage == LossStage::Interrupted).collect();
    assert_eq!(cut.iter().map(|loss| (loss.stream, loss.count)).collect::<Vec<_>>(), [(Some(0), 4), (Some(1), 0)]);
    assert!(cut.iter().all(|loss| loss.severity() == Severity::Error && loss.start_ns <= loss.end_ns));
    assert_eq!(store.summaries(&SummaryQuery::default()).await.unwrap().items[0].lost, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_readers_see_whole_appends_while_there_are_more() {
    const APPENDS: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    let read = |store: bathyscope_store::Store| async move {
        let mut seen = 0;
        while seen < APPENDS {
            let index = store.chunk_index(ID, 0, 0).await.unwrap();
            let strings = store.strings(ID, 0).await.unwrap();
            assert!(strings.len() >= index.len() && index.len() as u64 >= seen);
            for (seq, info) in (0_u32..).zip(&index).skip(seen as usize) {
                let bytes = store.chunk(ID, 0, seq).await.unwrap();
                let batch = decode_chunk(&schemas()[0], &bytes, &[0]).unwrap();
                assert_eq!(batch.columns[0].as_u64()[0], info.first_ns);
            }
            seen = index.len() as u64;
        }
    };
    let readers: Vec<_> = (0..3).map(|_| tokio::spawn(read(store.clone()))).collect();
    for number in 0..APPENDS {
        let strings = vec![(u32::try_from(number).unwrap() + 1, number.to_le_bytes().to_vec())];
        let chunks = vec![(0, chunk(number * 1000, 50))];
        store.append(ID, Append { chunks, strings, ..Append::default() }).await.unwrap();
    }
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_the_log_stays_small_under_readers() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let reader = tokio::spawn({
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        async move {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for info in store.chunk_index(ID, 0, 0).await.unwrap() {
                    store.chunk(ID, 0, info.seq).await.unwrap();
                }
            }
        }
    });
    let mut most = 0;
    for part in 0..150 {
        let mut large = chunk(u64::from(part) * 100_000, 100);
        large.bytes = noise(1 << 20, part);
        store.append(ID, Append { chunks: vec![(0, large)], ..Append::default() }).await.unwrap();
        let log = std::fs::metadata(dir.path().join("bathyscope.db-wal")).unwrap().len();
        most = most.max(log);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    reader.await.unwrap();
    println!("150 MiB appended, the log had {most} bytes at most");
    assert!(most < 64 << 20, "the log grew to {most} bytes");
}

async fn poll_once<F: Future>(mut future: Pin<&mut F>) {
    std::future::poll_fn(|context| {
        let _ready = future.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn p44_a_change_is_made_even_if_nobody_waits() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=50 {
        // Polled a few times only, so that it is dropped at different points.
        let polls = number % 7;
        let mut create = Box::pin(store.create(new_capture(id(number), "dropped")));
        for _ in 0..polls {
            poll_once(create.as_mut()).await;
            tokio::task::yield_now().await;
        }
        drop(create);
        let whole = match store.capture(id(number)).await {
            Ok(capture) => capture.streams.len() == 2,
            Err(StoreError::NoCapture { .. }) => true,
            Err(error) => panic!("{error}"),
        };
        assert!(whole, "a capture without its streams");
    }
    record(&store, ID, "deleted").await;
    let mut delete = Box::pin(store.delete(ID));
    poll_once(delete.as_mut()).await;
    drop(delete);
    while store.capture(ID).await.is_ok() {
        tokio::task::yield_now().await;
    }
    store.close().await;
    assert!(matches!(store.capture(ID).await, Err(StoreError::Closed)));
    assert!(matches!(store.create(new_capture(id(99), "late")).await, Err(StoreError::Closed)));
    let store = open(dir.path()).await;
    assert!(matches!(store.capture(ID).await, Err(StoreError::NoCapture { .. })));
}

#[tokio::test]
async fn p35_a_second_process_may_read_beside_the_first_but_not_write() {
    let dir = tempfile::tempdir().unwrap();
    let missing = bathyscope_store::Store::open_read_only(dir.path()).await;
    assert!(matches!(missing, Err(StoreError::NoDirectory { .. })) && !database(dir.path()).exists());
    let first = open(dir.path()).await;
    first.create(new_capture(ID, "running")).await.unwrap();
    let second = bathyscope_store::Store::open_read_only(dir.path()).await.unwrap();
    assert_eq!(second.capture(ID).await.unwrap().state, CaptureState::Recording, "it is not taken for interrupted");
    first.append(ID, full_append()).await.unwrap();
    assert_eq!(second.chunk_index(ID, 0, 0).await.unwrap().len(), 1, "it sees what comes");
    assert!(matches!(second.rename(ID, "x").await, Err(StoreError::Closed)));
    second.close().await;
    first.append(ID, Append { chunks: vec![(0, chunk(9_000_000_000, 5))], ..Append::default() }).await.unwrap();
}

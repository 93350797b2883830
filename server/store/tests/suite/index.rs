//! The time index is written with the chunks, and is what they say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use bathyscope_capture::{Append, CaptureId, Grouping, IndexBlock, IndexPiece, Ledger};
use bathyscope_store::Store;
use common::*;

const ROWS: usize = 4096;

async fn append(store: &Store, numbers: std::ops::Range<u64>, rows: usize) {
    for number in numbers {
        let chunks = vec![(0, chunk(START_NS + number * 100_000, rows))];
        let strings = if number == 0 { vec![(1, b"bash".to_vec())] } else { Vec::new() };
        store.append(ID, Append { chunks, strings, ..Append::default() }).await.unwrap();
    }
}

async fn block(store: &Store, id: CaptureId, grouping: Grouping, level: u8, number: u32) -> IndexBlock {
    let bytes = store.index_block(id, (0, grouping, level, number)).await.unwrap().unwrap();
    IndexBlock::decode(&bytes).unwrap()
}

/// The pieces of a window over everything, in bins of any length.
async fn pieces(store: &Store, id: CaptureId, grouping: Grouping, chunks: u32) -> Vec<IndexPiece> {
    let directories = store.index(id).await.unwrap();
    directories.get(&(0, grouping)).map_or_else(Vec::new, |directory| directory.pieces(chunks, 63, |_| true))
}

const fn node(level: u8, number: u32) -> IndexPiece {
    IndexPiece::Node { level, number }
}

#[tokio::test]
async fn nodes_come_with_their_last_chunk_and_the_last_with_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    append(&store, 0..33, ROWS).await;
    append(&store, 33..34, 10).await;
    for grouping in [Grouping::Cpu, Grouping::Thread] {
        let found = pieces(&store, ID, grouping, 34).await;
        // Chunk 33 has too few rows for a leaf of its own.
        assert_eq!(found, [node(2, 0), node(2, 1), node(0, 32), IndexPiece::Chunk(33)]);
        let rows: u64 = block(&store, ID, grouping, 2, 1).await.tracks.iter().map(|track| track.rows()).sum();
        let dropped = block(&store, ID, grouping, 2, 1).await.dropped_tracks;
        assert_eq!(rows + dropped, 16 * ROWS as u64, "each row is of a thread of its own");
    }
    assert!(store.index_block(ID, (0, Grouping::Cpu, 3, 0)).await.unwrap().is_none());
    store.finish(ID, end(Ledger::default())).await.unwrap();
    assert_eq!(pieces(&store, ID, Grouping::Cpu, 34).await, [node(3, 0)]);
    let root = block(&store, ID, Grouping::Cpu, 3, 0).await;
    assert_eq!(root.tracks.iter().map(|track| track.rows()).sum::<u64>(), 33 * ROWS as u64 + 10);
    assert_eq!((root.tracks.len(), root.tracks[0].names_at(0).first()), (4, Some(1)));

    let (file, other) = (dir.path().join("c.bathy"), tempfile::tempdir().unwrap());
    store.export_file(ID, &file).await.unwrap();
    let second = open(other.path()).await;
    second.import_file(&file, "grace", NOW).await.unwrap();
    assert_eq!(second.index(ID).await.unwrap(), store.index(ID).await.unwrap(), "it is made anew");
    assert_eq!(block(&second, ID, Grouping::Cpu, 3, 0).await, root);

    store.delete(ID).await.unwrap();
    assert!(store.index(ID).await.unwrap().is_empty());
    assert!(store.index_block(ID, (0, Grouping::Cpu, 3, 0)).await.unwrap().is_none());
}

#[tokio::test]
async fn what_was_taken_back_is_in_no_node() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    append(&store, 0..3, ROWS).await;
    let no_such_stream = vec![(0, chunk(START_NS + 400_000, ROWS)), (9, chunk(START_NS, 1))];
    store.append(ID, Append { chunks: no_such_stream, ..Append::default() }).await.unwrap_err();
    append(&store, 3..20, ROWS).await;
    store.finish(ID, end(Ledger::default())).await.unwrap();
    let root = block(&store, ID, Grouping::Cpu, 3, 0).await;
    assert_eq!(root.tracks.iter().map(|track| track.rows()).sum::<u64>(), 20 * ROWS as u64);
}

#[tokio::test]
async fn p34_a_capture_that_was_interrupted_keeps_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "t")).await.unwrap();
    append(&store, 0..17, ROWS).await;
    store.close().await;
    let store = open(dir.path()).await;
    assert_eq!(pieces(&store, ID, Grouping::Thread, 17).await, [node(2, 0), node(0, 16)]);
}

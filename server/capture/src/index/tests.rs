#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Batch, ChunkError, Column, ColumnData, ColumnType, Display, StreamKind, StreamSchema, StringId};

use super::{
    FAN_OUT, Grouping, IndexBlock, IndexBuilder, IndexDirectory, IndexForest, IndexNode, IndexPiece, MAX_BLOCK_TRACKS,
    leaf_blocks,
};

/// Time, CPU, thread, name.
type Row = (u64, u64, u64, StringId);

fn schema(kind: StreamKind) -> StreamSchema {
    let duration = Column { name: "duration_ns".to_owned(), ty: ColumnType::U64, display: Display::DurationNs };
    StreamSchema::new("s", kind, [duration])
}

/// How long a row took.
const fn duration_ns(time: u64) -> u64 {
    time % 997
}

fn batch(rows: &[Row]) -> Batch {
    let numbers = |of: fn(&Row) -> u64| ColumnData::U64(rows.iter().map(of).collect());
    let names = ColumnData::Id(rows.iter().map(|row| row.3).collect());
    Batch {
        columns: vec![
            numbers(|row| row.0),
            numbers(|row| row.1),
            numbers(|row| row.2 / 4 * 4),
            numbers(|row| row.2),
            names,
            numbers(|row| duration_ns(row.0)),
        ],
    }
}

/// All blocks of a stream of these chunks, as they would be stored.
fn forest(schema: &StreamSchema, chunks: &[Vec<Row>], grouping: Grouping) -> BTreeMap<(u8, u32), IndexBlock> {
    let mut forest = IndexForest::default();
    let mut nodes = Vec::new();
    for (number, rows) in (0..).zip(chunks) {
        let [cpus, threads] = leaf_blocks(schema, &batch(rows)).unwrap();
        let block = if grouping == Grouping::Cpu { cpus } else { threads };
        nodes.extend(forest.push(number, &block));
        nodes.push(IndexNode { level: 0, number, block });
    }
    nodes.extend(forest.close());
    nodes.into_iter().map(|node| ((node.level, node.number), node.block)).collect()
}

/// Rows by name, and how long the longest took.
type Bin = (BTreeMap<StringId, u64>, u64);

/// Bins by track and number, the plain way.
fn naive(rows: &[Row], grouping: Grouping, shift: u8) -> BTreeMap<(u64, u64), Bin> {
    let mut bins: BTreeMap<(u64, u64), Bin> = BTreeMap::new();
    for (time, cpu, tid, name) in rows {
        let key = if grouping == Grouping::Cpu { *cpu } else { *tid };
        let bin = bins.entry((key, time >> shift)).or_default();
        *bin.0.entry(*name).or_default() += 1;
        bin.1 = bin.1.max(duration_ns(*time));
    }
    bins
}

fn check(block: &IndexBlock, rows: &[Row], grouping: Grouping) {
    let expected = naive(rows, grouping, block.shift);
    assert!(block.has_longest);
    let mut found = 0;
    for track in &block.tracks {
        assert!(track.bins.is_sorted_by(|a, b| a.number < b.number));
        for bin in &track.bins {
            let (names, longest_ns) = expected.get(&(track.key, bin.number)).unwrap();
            assert_eq!(bin.longest_ns, *longest_ns);
            assert_eq!(bin.rows, names.values().sum::<u64>());
            // There are no more names than are kept, so that the names are exact too.
            let top = names.iter().max_by_key(|(name, rows)| (**rows, std::cmp::Reverse(**name))).unwrap().0;
            assert_eq!(bin.names.first(), Some(*top));
            found += 1;
        }
    }
    assert_eq!(found, expected.len());
}

/// Chunks whose times go on, sometimes back a little, sometimes far ahead.
fn chunks() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (0..1u64 << 34, 0..5u64, 0..9u64, 1..4u32);
    let chunk = (proptest::collection::vec(row, 1..40), 1..34u32);
    proptest::collection::vec(chunk, 1..40).prop_map(|chunks| {
        let mut now = 1_000_000_u64;
        let next = |(rows, scale): (Vec<Row>, u32)| {
            let start = now.saturating_sub(500);
            let mut rows: Vec<Row> =
                rows.into_iter().map(|(time, cpu, tid, name)| (start + (time >> scale), cpu, tid, name)).collect();
            rows.sort_by_key(|row| row.0);
            now = rows.last().map_or(now, |row| row.0);
            rows
        };
        chunks.into_iter().map(next).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn every_node_has_what_a_scan_of_its_chunks_counts(chunks in chunks()) {
        for grouping in Grouping::ALL {
            for ((level, number), block) in forest(&schema(StreamKind::Samples), &chunks, grouping) {
                let first = (u64::from(FAN_OUT).pow(level.into()) * u64::from(number)) as usize;
                let size = u64::from(FAN_OUT).pow(level.into()) as usize;
                let rows: Vec<Row> = chunks.iter().skip(first).take(size).flatten().copied().collect();
                check(&block, &rows, grouping);
                prop_assert_eq!(IndexBlock::decode(&block.encode()).unwrap(), block);
            }
        }
    }

    #[test]
    fn a_window_of_blocks_and_rows_is_that_of_a_scan(chunks in chunks(), shift in 0..40u8, skip in 0..30usize) {
        let schema = schema(StreamKind::Samples);
        for grouping in Grouping::ALL {
            let mut blocks = forest(&schema, &chunks, grouping);
            // As if some had never been stored.
            for key in blocks.keys().copied().skip(skip).step_by(3).collect::<Vec<_>>() {
                blocks.remove(&key);
            }
            let mut directory = IndexDirectory::default();
            blocks.iter().for_each(|((level, number), block)| directory.insert(*level, *number, block.shift));
            let mut builder = IndexBuilder::new(shift);
            for piece in directory.pieces(chunks.len() as u32, shift, |_| true) {
                match piece {
                    IndexPiece::Node { level, number } => builder.add_block(&blocks[&(level, number)], 0..u64::MAX),
                    IndexPiece::Chunk(chunk) => {
                        let rows = &chunks[chunk as usize];
                        builder.add_rows(&schema, grouping, &batch(rows), 0..rows.len());
                    }
                }
            }
            let window = builder.finish();
            prop_assert_eq!(window.shift, shift);
            check(&window, &chunks.concat(), grouping);
        }
    }

    #[test]
    fn damaged_blocks_are_refused(chunks in chunks(), at in any::<prop::sample::Index>(), bit in 0..8u32) {
        let [block, _] = leaf_blocks(&schema(StreamKind::Events), &batch(&chunks[0])).unwrap();
        let mut bytes = block.encode();
        for length in 0..bytes.len() {
            prop_assert!(IndexBlock::decode(&bytes[..length]).is_err());
        }
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(IndexBlock::decode(&bytes).is_err(), "{}", at);
    }

    /// Bytes with a right sum that nobody encoded.
    #[test]
    fn made_up_blocks_never_panic(body in proptest::collection::vec(any::<u8>(), 0..300), tracks in 0..20u64) {
        let body: Vec<u8> = tracks.to_le_bytes().into_iter().chain(0_u64.to_le_bytes()).chain(body).collect();
        let mut bytes = b"BIDX\x01\x00\x0a\x00".to_vec();
        let sum = crc32fast::hash(&[&bytes[..], &body[..]].concat());
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&body);
        let _refused_or_not: Result<IndexBlock, ChunkError> = IndexBlock::decode(&bytes);
    }
}

#[test]
fn the_largest_nodes_are_taken_that_are_fine_enough() {
    let mut directory = IndexDirectory::default();
    for chunk in 0..40 {
        directory.insert(0, chunk, 10);
    }
    directory.insert(1, 0, 14);
    directory.insert(1, 1, 14);
    directory.insert(1, 2, 13);
    directory.insert(2, 0, 18);
    let node = |level, number| IndexPiece::Node { level, number };
    assert_eq!(directory.pieces(40, 18, |_| true), [node(2, 0)]);
    assert_eq!(directory.pieces(40, 17, |_| true), [node(1, 0), node(1, 1), node(1, 2)]);
    assert_eq!(directory.pieces(40, 17, |chunks| chunks.contains(&20)), [node(1, 1)]);
    let mixed = directory.pieces(40, 13, |_| true);
    assert_eq!((mixed.len(), mixed[0], mixed[32]), (33, node(0, 0), node(1, 2)));
    assert_eq!(directory.pieces(40, 9, |chunks| chunks.contains(&7)), [IndexPiece::Chunk(7)]);
}

#[test]
fn the_busiest_of_many_threads_are_kept_and_the_rest_is_counted() {
    let rows: Vec<Row> = (0..6000).flat_map(|tid| (0..=tid / 3000).map(move |n| (tid * 10 + n, 0, tid, 1))).collect();
    let [cpus, threads] = leaf_blocks(&schema(StreamKind::Events), &batch(&rows)).unwrap();
    assert_eq!((cpus.tracks.len(), cpus.tracks[0].rows(), cpus.dropped_tracks), (1, 9000, 0));
    assert_eq!((threads.tracks.len() as u64 + threads.dropped_tracks, threads.tracks.len()), (6000, MAX_BLOCK_TRACKS));
    let kept: u64 = threads.tracks.iter().map(super::IndexTrack::rows).sum();
    assert_eq!(kept, 3000 * 2 + (MAX_BLOCK_TRACKS as u64 - 3000));
}

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Batch, ChunkError, Column, ColumnData, ColumnType, Display, StreamKind, StreamSchema, StringId};

use super::{
    CallLevel, CounterBin, FAN_OUT, Grouping, IndexBlock, IndexBuilder, IndexDirectory, IndexForest, IndexNode,
    IndexPiece, MAX_BINS, MAX_BLOCK_TRACKS, Measure, counter_key, counter_of, leaf_blocks,
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

fn leaf(schema: &StreamSchema, batch: &Batch, grouping: Grouping) -> IndexBlock {
    leaf_blocks(schema, batch).into_iter().find(|(of, _)| *of == grouping).unwrap().1
}

const CPU_AND_THREAD: [Grouping; 2] = [Grouping::Cpu, Grouping::Thread];

/// All blocks of a stream of these chunks, as they would be stored.
fn forest(schema: &StreamSchema, chunks: &[Vec<Row>], grouping: Grouping) -> BTreeMap<(u8, u32), IndexBlock> {
    let mut forest = IndexForest::default();
    let mut nodes = Vec::new();
    for (number, rows) in (0..).zip(chunks) {
        let block = leaf(schema, &batch(rows), grouping);
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
    assert_eq!(block.measure, Measure::Longest);
    let mut found = 0;
    for track in &block.tracks {
        assert!(track.bins.is_sorted_by(|a, b| a.number < b.number));
        for (at, bin) in track.bins.iter().enumerate() {
            let (names, longest_ns) = expected.get(&(track.key, bin.number)).unwrap();
            assert_eq!(bin.most, *longest_ns);
            assert_eq!(bin.rows, names.values().sum::<u64>());
            // There are no more names than are kept, so that the names are exact too.
            let top = names.iter().max_by_key(|(name, rows)| (**rows, std::cmp::Reverse(**name))).unwrap().0;
            assert_eq!(track.names_at(at).first(), Some(*top));
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
        for grouping in CPU_AND_THREAD {
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
        for grouping in CPU_AND_THREAD {
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
        let block = leaf(&schema(StreamKind::Events), &batch(&chunks[0]), Grouping::Cpu);
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
    fn made_up_blocks_never_panic(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        tracks in 0..20u64,
        measure in 0..5u8,
    ) {
        let body: Vec<u8> = tracks.to_le_bytes().into_iter().chain(0_u64.to_le_bytes()).chain(body).collect();
        let mut bytes = b"BIDX\x01\x00\x0a".to_vec();
        bytes.push(measure);
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
    directory.insert(2, 0, 14);
    directory.insert(2, 1, 14);
    directory.insert(2, 2, 13);
    directory.insert(4, 0, 18);
    let node = |level, number| IndexPiece::Node { level, number };
    assert_eq!(directory.pieces(40, 18, |_| true), [node(4, 0)]);
    assert_eq!(directory.pieces(40, 17, |_| true), [node(2, 0), node(2, 1), node(2, 2)]);
    assert_eq!(directory.pieces(40, 17, |chunks| chunks.contains(&20)), [node(2, 1)]);
    let mixed = directory.pieces(40, 13, |_| true);
    assert_eq!((mixed.len(), mixed[0], mixed[32]), (33, node(0, 0), node(2, 2)));
    assert_eq!(directory.pieces(40, 9, |chunks| chunks.contains(&7)), [IndexPiece::Chunk(7)]);
}

#[test]
fn the_busiest_of_many_threads_are_kept_and_the_rest_is_counted() {
    let rows: Vec<Row> = (0..6000).flat_map(|tid| (0..=tid / 3000).map(move |n| (tid * 10 + n, 0, tid, 1))).collect();
    let [cpus, threads] = CPU_AND_THREAD.map(|grouping| leaf(&schema(StreamKind::Events), &batch(&rows), grouping));
    assert_eq!((cpus.tracks.len(), cpus.tracks[0].rows(), cpus.dropped_tracks), (1, 9000, 0));
    assert_eq!((threads.tracks.len() as u64 + threads.dropped_tracks, threads.tracks.len()), (6000, MAX_BLOCK_TRACKS));
    let kept: u64 = threads.tracks.iter().map(super::IndexTrack::rows).sum();
    assert_eq!(kept, 3000 * 2 + (MAX_BLOCK_TRACKS as u64 - 3000));
}

/// Time, thread, depth, how long, function.
type Call = (u64, u64, u64, u64, StringId);

fn column(name: &str, ty: ColumnType) -> Column {
    Column { name: name.to_owned(), ty, display: Display::Decimal }
}

fn calls(rows: &[Call]) -> (StreamSchema, Batch) {
    let own =
        [column("func", ColumnType::Text), column("depth", ColumnType::U64), column("duration_ns", ColumnType::U64)];
    let numbers = |of: fn(&Call) -> u64| ColumnData::U64(rows.iter().map(of).collect());
    let columns = vec![
        numbers(|call| call.0),
        numbers(|call| call.1 % 3),
        numbers(|call| call.1),
        numbers(|call| call.1),
        ColumnData::Id(vec![7; rows.len()]),
        ColumnData::Id(rows.iter().map(|call| call.4).collect()),
        numbers(|call| call.2),
        numbers(|call| call.3),
    ];
    (StreamSchema::new("function_graph", StreamKind::Events, own), Batch { columns })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn the_longest_call_of_each_level_is_known_by_its_function(
        mut rows in proptest::collection::vec((0..1u64 << 20, 0..4u64, 0..300u64, 0..5000u64, 1..9u32), 1..400),
        parts in 1..9usize,
        shift in 0..22u8,
    ) {
        rows.sort_unstable();
        let size = rows.len().div_ceil(parts);
        let mut builder = IndexBuilder::new(shift);
        for part in rows.chunks(size) {
            let (schema, batch) = calls(part);
            let block = leaf(&schema, &batch, Grouping::Level);
            prop_assert_eq!(&IndexBlock::decode(&block.encode()).unwrap(), &block);
            // A leaf can be coarser than the window: then its rows are counted.
            if block.shift <= shift {
                builder.add_block(&block, 0..u64::MAX);
            } else {
                builder.add_rows(&schema, Grouping::Level, &batch, 0..part.len());
            }
        }
        let block = builder.finish();
        prop_assert_eq!(block.measure, Measure::LongestNamed);
        let mut expected: BTreeMap<(u64, u64), (u64, u64, StringId)> = BTreeMap::new();
        for (time, tid, depth, duration, function) in &rows {
            let key = CallLevel::of(*tid, tid % 3, *depth).key();
            let bin = expected.entry((key, time >> shift)).or_insert((0, *duration, *function));
            bin.0 += 1;
            // Of equally long ones the first.
            if *duration > bin.1 {
                (bin.1, bin.2) = (*duration, *function);
            }
        }
        let mut found = BTreeMap::new();
        for track in &block.tracks {
            for (at, bin) in track.bins.iter().enumerate() {
                let name = track.names_at(at).first().unwrap();
                found.insert((track.key, bin.number), (bin.rows, bin.most, name));
            }
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_counter_knows_its_least_greatest_and_last_value(
        mut rows in proptest::collection::vec((0..1u64 << 16, 1..4u32, 0..1000u64, 0..3u64), 1..300),
        parts in 1..9usize,
        shift in 0..18u8,
        has_gauges: bool,
    ) {
        /// The event of which rows have the value of the moment.
        const GAUGE: u32 = 3;
        rows.sort_unstable();
        let own = [
            ("event", ColumnType::Text),
            ("scope", ColumnType::Text),
            ("value", ColumnType::U64),
            ("span_ns", ColumnType::U64),
            // Captures from before there were gauges do not have it.
            ("gauge", ColumnType::U64),
        ];
        let own = own.iter().take(if has_gauges { 5 } else { 4 });
        let schema = StreamSchema::new("counts", StreamKind::Events, own.map(|(name, ty)| column(name, *ty)));
        let is_gauge = |event: u32| has_gauges && event == GAUGE;
        let size = rows.len().div_ceil(parts);
        let mut builder = IndexBuilder::new(shift);
        for part in rows.chunks(size) {
            let zeroes = || ColumnData::U64(vec![0; part.len()]);
            let numbers = |of: fn(&(u64, u32, u64, u64)) -> u64| ColumnData::U64(part.iter().map(of).collect());
            let mut columns = vec![
                numbers(|row| row.0), zeroes(), zeroes(), zeroes(), ColumnData::Id(vec![0; part.len()]),
                ColumnData::Id(part.iter().map(|row| row.1).collect()),
                ColumnData::Id(vec![9; part.len()]),
                numbers(|row| row.2),
                numbers(|row| row.3 * 500_000_000),
                numbers(|row| u64::from(row.1 == GAUGE)),
            ];
            columns.truncate(schema.columns.len());
            let batch = Batch { columns };
            let leaves = leaf_blocks(&schema, &batch);
            match leaves.into_iter().find(|(of, _)| *of == Grouping::Counter) {
                Some((_, block)) if block.shift <= shift => {
                    prop_assert_eq!(&IndexBlock::decode(&block.encode()).unwrap(), &block);
                    builder.add_block(&block, 0..u64::MAX);
                }
                _ => builder.add_rows(&schema, Grouping::Counter, &batch, 0..part.len()),
            }
        }
        let mut expected: BTreeMap<(u64, u64), (u64, u64, CounterBin)> = BTreeMap::new();
        for (time, event, value, halves) in rows.iter().filter(|row| row.3 > 0) {
            let rate = if is_gauge(*event) { value * 1000 } else { value * 2000 / halves };
            let new = (0, 0, CounterBin { least: u64::MAX, last: 0 });
            let bin = expected.entry((counter_key(*event, 9), time >> shift)).or_insert(new);
            *bin = (bin.0 + 1, bin.1.max(rate), CounterBin { least: bin.2.least.min(rate), last: rate });
        }
        let mut found = BTreeMap::new();
        for track in &builder.finish().tracks {
            for (bin, counter) in track.bins.iter().zip(&track.counters) {
                found.insert((track.key, bin.number), (bin.rows, bin.most, *counter));
            }
        }
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn keys_of_levels_and_counters_can_be_read_back() {
    for (tid, cpu, depth) in [(1, 5, 0), (u64::from(u32::MAX), 0, 255), (0, 0, 0), (0, 8191, 3)] {
        let level = CallLevel::of(tid, cpu, depth);
        assert_eq!(CallLevel::from_key(level.key()), level);
    }
    assert_eq!(CallLevel::of(7, 1, 1000).depth, 255);
    assert_eq!(counter_of(counter_key(u32::MAX, 3)), (u32::MAX, 3));
}

#[test]
fn a_few_early_rows_do_not_make_the_bins_of_the_others_coarser() {
    let hour = 3_600_000_000_000;
    let rows: Vec<Row> = (0..10).map(|n| (n * 1000, 0, 1, 1)).chain((0..4000).map(|n| (hour + n, 0, 1, 1))).collect();
    let schema = schema(StreamKind::Events);
    let block = leaf(&schema, &batch(&rows), Grouping::Cpu);
    assert!(block.shift <= 3, "{}", block.shift);
    check(&block, &rows, Grouping::Cpu);
    let nodes = forest(
        &schema,
        &[rows.clone(), rows.iter().map(|row| (row.0 + 4000, row.1, row.2, row.3)).collect()],
        Grouping::Cpu,
    );
    let root = &nodes[&(1, 0)];
    assert!(root.shift <= 5 && root.tracks[0].bins.len() as u64 <= MAX_BINS, "{}", root.shift);
}

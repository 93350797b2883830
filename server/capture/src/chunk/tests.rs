#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use proptest::{collection, prelude::*};

use super::*;
use crate::{Column, Display, StreamKind};

fn schema() -> StreamSchema {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    let own = [column("stack", ColumnType::Stack), column("signed", ColumnType::I64), column("x", ColumnType::U64)];
    StreamSchema::new("made:up", StreamKind::Samples, own)
}

fn all(schema: &StreamSchema) -> Vec<usize> {
    (0..schema.columns.len()).collect()
}

/// A batch of [`schema`] whose times are sorted.
fn batch(mut times: Vec<u64>, others: &[(u64, u32, i64)]) -> Batch {
    times.sort_unstable();
    let numbers = || ColumnData::U64(others.iter().map(|other| other.0).collect());
    let ids = || ColumnData::Id(others.iter().map(|other| other.1).collect());
    let signed = ColumnData::I64(others.iter().map(|other| other.2).collect());
    let constant = ColumnData::U64(vec![7; times.len()]);
    Batch { columns: vec![ColumnData::U64(times), constant, numbers(), numbers(), ids(), ids(), signed, numbers()] }
}

fn edge_u64() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), Just(1 << 63), any::<u64>(), 0..300_u64]
}

fn edge_i64() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1), any::<i64>(), -200..200_i64]
}

fn edge_u32() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX), any::<u32>(), 0..40_u32]
}

fn batches() -> impl Strategy<Value = Batch> {
    let row = (edge_u64(), edge_u64(), edge_u32(), edge_i64());
    collection::vec(row, 1..300).prop_map(|rows| {
        let others: Vec<_> = rows.iter().map(|row| (row.1, row.2, row.3)).collect();
        batch(rows.iter().map(|row| row.0).collect(), &others)
    })
}

/// A schema in which columns may tell others.
fn told_schema() -> StreamSchema {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    let numbers = ["duration_ns", "waker_tid", "waker_pid"].map(|name| column(name, ColumnType::U64));
    let own = numbers.into_iter().chain([column("prev_pid", ColumnType::I64), column("prev_comm", ColumnType::Text)]);
    StreamSchema::new("made:up", StreamKind::Events, own)
}

/// Rows of threads that follow each other, but for those of which `noise` says something else.
fn told_batch(rows: &[(u8, u8, u32)], noise: &[(usize, u64)]) -> Batch {
    let schema = told_schema();
    let at = |name: &str| schema.columns.iter().position(|column| column.name == name).unwrap();
    let mut times = Vec::new();
    for (_, _, gap) in rows {
        times.push(times.last().map_or(1 << 60, |last| last + u64::from(*gap)));
    }
    let next = |i: usize| {
        (i + 1..rows.len()).find(|later| rows[*later].0 == rows[i].0).map_or(9, |later| times[later] - times[i])
    };
    let mut batch = Batch::empty(&schema);
    for (index, column) in schema.columns.iter().enumerate() {
        let value = |i: usize| match column.name.as_str() {
            "time" => times[i],
            "tid" => u64::from(rows[i].0) << 40,
            "pid" => u64::from(rows[i].0 / 3) + 1000,
            "comm" => u64::from(rows[i].0 / 2),
            "prev_comm" => u64::from(rows[i].1 / 2),
            "waker_tid" | "prev_pid" => u64::from(rows[i].1),
            "waker_pid" => u64::from(rows[i].1 / 4),
            "duration_ns" => next(i),
            _ => u64::from(rows[i].2),
        };
        let noisy = |i: usize| {
            let other = noise.iter().find(|(row, _)| row % rows.len() == i && index != at("time"));
            other.map_or_else(|| value(i), |(_, other)| other.rotate_left(index as u32))
        };
        let values = (0..rows.len()).map(noisy);
        batch.columns[index] = match column.ty {
            ColumnType::U64 => ColumnData::U64(values.collect()),
            ColumnType::I64 => ColumnData::I64(values.map(u64::cast_signed).collect()),
            ColumnType::Text | ColumnType::Stack => ColumnData::Id(values.map(|value| value as u32).collect()),
        };
    }
    batch
}

proptest! {
    #[test]
    fn columns_that_others_tell_come_back(
        rows in collection::vec((0..20_u8, any::<u8>(), 0..5000_u32), 1..400),
        noise in collection::vec((any::<usize>(), any::<u64>()), 0..12),
        wanted in collection::vec(0..told_schema().columns.len(), 0..4),
    ) {
        let (schema, batch) = (told_schema(), told_batch(&rows, &noise));
        let chunk = encode_chunk(&schema, &batch).unwrap();
        prop_assert_eq!(&decode_chunk(&schema, &chunk.bytes, &all(&schema)).unwrap(), &batch);
        let part = decode_chunk(&schema, &chunk.bytes, &wanted).unwrap();
        for index in wanted {
            prop_assert_eq!(&part.columns[index], &batch.columns[index]);
        }
    }

    #[test]
    fn what_is_encoded_is_decoded(batch in batches()) {
        let schema = schema();
        let chunk = encode_chunk(&schema, &batch).unwrap();
        prop_assert_eq!(chunk.rows as usize, batch.rows());
        prop_assert_eq!(decode_chunk(&schema, &chunk.bytes, &all(&schema)).unwrap(), batch);
    }

    #[test]
    fn a_projection_has_only_what_was_asked_for(batch in batches(), wanted in collection::vec(0..8_usize, 0..4)) {
        let schema = schema();
        let chunk = encode_chunk(&schema, &batch).unwrap();
        let part = decode_chunk(&schema, &chunk.bytes, &wanted).unwrap();
        for (index, column) in part.columns.iter().enumerate() {
            let expected = if wanted.contains(&index) { batch.columns[index].len() } else { 0 };
            prop_assert_eq!(column.len(), expected);
            prop_assert!(column.is_empty() || *column == batch.columns[index]);
        }
    }

    #[test]
    fn damage_is_an_error(batch in batches(), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let schema = schema();
        let mut bytes = encode_chunk(&schema, &batch).unwrap().bytes;
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(decode_chunk(&schema, &bytes, &all(&schema)).is_err());
    }

    #[test]
    fn much_damage_is_an_error(
        batch in batches(),
        from in any::<prop::sample::Index>(),
        noise in collection::vec(any::<u8>(), 1..64),
    ) {
        let schema = schema();
        let good = encode_chunk(&schema, &batch).unwrap().bytes;
        let mut bytes = good.clone();
        let from = from.index(bytes.len());
        bytes.iter_mut().skip(from).zip(&noise).for_each(|(byte, noise)| *byte = *noise);
        prop_assume!(bytes != good);
        prop_assert!(decode_chunk(&schema, &bytes, &all(&schema)).is_err());
    }

    #[test]
    fn a_cut_or_longer_chunk_is_an_error(batch in batches(), cut in any::<prop::sample::Index>(), more in 1..9_usize) {
        let schema = schema();
        let mut bytes = encode_chunk(&schema, &batch).unwrap().bytes;
        prop_assert!(decode_chunk(&schema, &bytes[..cut.index(bytes.len())], &all(&schema)).is_err());
        bytes.resize(bytes.len() + more, 0);
        prop_assert!(decode_chunk(&schema, &bytes, &[]).is_err());
    }

    #[test]
    fn noise_with_right_checksums_never_panics(
        entries in collection::vec((0..5_u8, 0..17_u8, 0..10_u8, any::<u64>(), any::<u64>(), 0..10_u8), 8),
        bodies in collection::vec(collection::vec(any::<u8>(), 0..40), 8),
        rows in prop_oneof![Just(0), Just(65_537), 1..9_u32],
        version in 0..4_u16,
    ) {
        let schema = schema();
        let mut directory = Vec::new();
        for ((ty, flags, width, base, step, key), body) in entries.into_iter().zip(&bodies) {
            directory.extend([ty, flags, width, key]);
            directory.extend((body.len() as u32).to_le_bytes());
            directory.extend(base.to_le_bytes());
            directory.extend(step.to_le_bytes());
            directory.extend(crc32fast::hash(body).to_le_bytes());
        }
        let mut bytes = [&MAGIC[..], &version.to_le_bytes(), &8_u16.to_le_bytes(), &rows.to_le_bytes()].concat();
        bytes.extend(head_crc(&bytes, &directory).to_le_bytes());
        bytes.extend(directory);
        bytes.extend(bodies.concat());
        if let Ok(batch) = decode_chunk(&schema, &bytes, &all(&schema)) {
            prop_assert!(batch.columns.iter().all(|column| column.len() == rows as usize));
        }
    }

    #[test]
    fn noise_never_panics(bytes in collection::vec(any::<u8>(), 0..400)) {
        let schema = schema();
        prop_assert!(decode_chunk(&schema, &bytes, &all(&schema)).is_err());
    }
}

#[test]
fn a_full_chunk_and_a_single_row_come_back() {
    let schema = schema();
    for rows in [1, 2, SAMPLE_EDGE, SAMPLE_EDGE + 1, MAX_CHUNK_ROWS] {
        let others = (0..rows as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i as u32, -(i as i64)));
        let made = batch((0..rows as u64).map(|i| 1_000_000 * i).collect(), &others.collect::<Vec<_>>());
        let chunk = encode_chunk(&schema, &made).unwrap();
        assert_eq!(decode_chunk(&schema, &chunk.bytes, &all(&schema)).unwrap(), made, "{rows} rows");
        assert!(chunk.bytes.len() <= MAX_CHUNK_BYTES);
    }
}

const SAMPLE_EDGE: usize = 4096;

#[test]
fn the_description_of_a_chunk_is_right() {
    let made = batch(vec![30, 10, 20], &[(5, 1, -3), (u64::MAX, 2, 9), (0, 0, 0)]);
    let chunk = encode_chunk(&schema(), &made).unwrap();
    assert_eq!((chunk.rows, chunk.first_ns, chunk.last_ns), (3, 10, 30));
    let numbers = ColumnStats::U64(0, u64::MAX);
    let (none, constant) = (ColumnStats::None, ColumnStats::U64(7, 7));
    let expected = [ColumnStats::U64(10, 30), constant, numbers, numbers, none, none, ColumnStats::I64(-3, 9), numbers];
    assert_eq!(chunk.stats, expected);
}

#[test]
fn what_is_not_a_chunk_is_refused() {
    let good = batch(vec![1, 2], &[(1, 1, 1), (2, 2, 2)]);
    let change = |f: fn(&mut Batch)| {
        let mut changed = good.clone();
        f(&mut changed);
        encode_chunk(&schema(), &changed).unwrap_err().to_string()
    };
    type Change = fn(&mut Batch);
    let cases: [(Change, &str); 7] = [
        (|b| b.columns[0] = ColumnData::U64(vec![2, 1]), "order of time"),
        (|b| b.columns.iter_mut().for_each(|c| *c = c.none()), "no rows"),
        (|b| b.columns[3] = ColumnData::U64(vec![1]), "different lengths"),
        (|b| b.columns[3] = ColumnData::I64(vec![1, 1]), "schema's type"),
        (|b| b.columns.truncate(3), "number of columns"),
        (|b| b.columns.clear(), "number of columns"),
        (|b| b.columns[0] = ColumnData::U64(vec![1; MAX_CHUNK_ROWS + 1]), "more than 65,536"),
    ];
    for (damage, expected) in cases {
        let message = change(damage);
        assert!(message.contains(expected), "{message} should say {expected}");
    }
}

impl ColumnData {
    fn none(&self) -> Self {
        match self {
            Self::U64(_) => Self::U64(Vec::new()),
            Self::I64(_) => Self::I64(Vec::new()),
            Self::Id(_) => Self::Id(Vec::new()),
        }
    }
}

#[test]
fn another_schema_is_refused() {
    let chunk = encode_chunk(&schema(), &batch(vec![1], &[(1, 1, 1)])).unwrap();
    let mut fewer = schema();
    fewer.columns.pop();
    let mut other = schema();
    other.columns[7].ty = ColumnType::I64;
    for wrong in [fewer, other] {
        assert!(decode_chunk(&wrong, &chunk.bytes, &[]).is_err());
    }
    assert!(decode_chunk(&schema(), &chunk.bytes, &[8]).is_err(), "a column that the schema does not have");
}

#[test]
fn damage_in_a_column_does_not_stop_others() {
    let made = batch(vec![1, 2, 3], &[(1, 1, 1), (9, 2, 2), (4, 3, 3)]);
    let mut bytes = encode_chunk(&schema(), &made).unwrap().bytes;
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(decode_chunk(&schema(), &bytes, &[0]).unwrap().columns[0], made.columns[0]);
    assert!(decode_chunk(&schema(), &bytes, &[7]).is_err());
}

/// Bytes of each column's body.
fn body_bytes(schema: &StreamSchema, chunk: &EncodedChunk) -> Vec<u32> {
    let (_, entries) = read_directory(schema, &mut Reader { bytes: &chunk.bytes, offset: 0 }).unwrap();
    entries.iter().map(|entry| entry.length).collect()
}

#[test]
fn what_a_thread_tells_takes_next_to_nothing() {
    let schema = told_schema();
    let mut dice = 1_u32;
    let mut roll = || {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        dice >> 8
    };
    let rows: Vec<(u8, u8, u32)> = (0..20_000).map(|_| ((roll() % 50) as u8, roll() as u8, roll() % 90_000)).collect();
    let batch = told_batch(&rows, &[]);
    let chunk = encode_chunk(&schema, &batch).unwrap();
    assert_eq!(chunk.bytes[4], 2, "the version");
    assert_eq!(decode_chunk(&schema, &chunk.bytes, &all(&schema)).unwrap(), batch);
    let bytes = body_bytes(&schema, &chunk);
    for (column, bytes) in schema.columns.iter().zip(bytes) {
        let is_told = ["pid", "comm", "duration_ns", "waker_pid", "prev_comm"].contains(&column.name.as_str());
        assert!(!is_told || bytes < 2500, "{}: {bytes} bytes of {} rows", column.name, rows.len());
        assert!(is_told || column.name == "stack" || bytes > 10_000, "{}: {bytes} bytes", column.name);
    }
    // Who tells others must be whole.
    let tid = schema.columns.iter().position(|column| column.name == "tid").unwrap();
    let at = 16 + 28 * schema.columns.len() + body_bytes(&schema, &chunk)[..tid].iter().sum::<u32>() as usize;
    let mut damaged = chunk.bytes.clone();
    damaged[at] ^= 1;
    let column = |name: &str| schema.columns.iter().position(|column| column.name == name).unwrap();
    assert!(decode_chunk(&schema, &damaged, &[column("pid")]).is_err());
    assert!(decode_chunk(&schema, &damaged, &[column("waker_pid"), column("waker_tid")]).is_ok());
}

#[test]
fn a_compression_bomb_stops_at_the_size_of_the_column() {
    let schema = StreamSchema {
        name: "t".into(),
        kind: StreamKind::Events,
        columns: vec![schema().columns[0].clone()],
        format: None,
        rows: None,
        source: String::new(),
        derived: None,
    };
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    let mut directory = vec![1, 2, 8, 0];
    directory.extend((bomb.len() as u32).to_le_bytes());
    directory.extend([0; 16]);
    directory.extend(crc32fast::hash(&bomb).to_le_bytes());
    let mut bytes = [&MAGIC[..], &1_u16.to_le_bytes(), &1_u16.to_le_bytes(), &100_u32.to_le_bytes()].concat();
    bytes.extend(head_crc(&bytes, &directory).to_le_bytes());
    bytes.extend(directory);
    bytes.extend(bomb);
    let error = decode_chunk(&schema, &bytes, &[0]).unwrap_err().to_string();
    assert!(error.contains("cannot be decompressed"), "{error}");
}

//! What is found in all of a capture is what a walk through all rows finds.

use std::{collections::BTreeSet, sync::atomic::AtomicBool};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, RowKind, RowMeaning, SliceTime, StreamKind, StreamSchema,
};
use bathyscope_views::{
    Filter, FindQuery, FindStepQuery, FoundPlace, FoundRows, MemorySource, TimeRange, ViewError, find, find_step,
};
use proptest::prelude::*;

const START_NS: u64 = 1000;
const TEXTS: [&str; 5] = ["openat", "read", "Reader", "close", "bash"];

/// A row: time, thread, text, number.
type FindRow = (u64, u64, u32, i64);

fn schema(name: &str) -> StreamSchema {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    StreamSchema::new(name, StreamKind::Events, [column("call", ColumnType::Text), column("ret", ColumnType::I64)])
}

/// Two streams, of which the second has no number; chunks overlap where the rows are not in order.
fn source(streams: &[Vec<FindRow>; 2], chunk_rows: usize) -> MemorySource {
    let mut source = MemorySource::new(START_NS);
    for (id, text) in (1..).zip(TEXTS) {
        source.dictionaries.insert_string(id, text.as_bytes());
    }
    for (name, rows) in ["syscalls", "reads"].into_iter().zip(streams) {
        let batch = |part: &[FindRow]| {
            let mut part = part.to_vec();
            part.sort_by_key(|row| row.0);
            let numbers = |of: fn(&FindRow) -> u64| ColumnData::U64(part.iter().map(of).collect());
            let ids = |of: fn(&FindRow) -> u32| ColumnData::Id(part.iter().map(of).collect());
            let mut columns = vec![
                numbers(|row| row.0),
                numbers(|row| row.1 % 2),
                numbers(|row| row.1),
                numbers(|row| row.1),
                ids(|_| 5),
            ];
            columns.push(ids(|row| row.2));
            if name == "syscalls" {
                columns.push(ColumnData::I64(part.iter().map(|row| row.3).collect()));
            }
            Batch { columns }
        };
        let mut schema = schema(name);
        schema.columns.truncate(if name == "syscalls" { 7 } else { 6 });
        source.push_stream(schema, rows.chunks(chunk_rows).map(batch).collect());
    }
    source
}

/// All rows with a text, marked where they are.
fn looked_for(text: &str, range: TimeRange, columns: u32) -> FindQuery {
    let filter = Filter::parse(text).unwrap().unwrap();
    FindQuery { filter, range, columns, reach_ns: 0, long_ns: None, skip: 0, budget_rows: 100_000 }
}

/// The same rows as they are stored: place and thread, in order of places, of those that `takes` accepts.
fn naive(
    streams: &[Vec<FindRow>; 2],
    chunk_rows: usize,
    takes: impl Fn(usize, &FindRow) -> bool,
) -> Vec<(FoundPlace, u64)> {
    let mut found = Vec::new();
    for (stream, rows) in streams.iter().enumerate() {
        let mut number = 0;
        for part in rows.chunks(chunk_rows) {
            let mut part = part.to_vec();
            part.sort_by_key(|row| row.0);
            for row in part {
                if takes(stream, &row) {
                    found.push((FoundPlace { time_ns: row.0, row: Some((stream as u16, number)) }, row.1));
                }
                number += 1;
            }
        }
    }
    found.sort();
    found
}

fn all(source: &MemorySource, query: &FindQuery) -> FoundRows {
    let cancel = AtomicBool::new(false);
    let mut whole = find(source, query, &cancel).unwrap();
    let (mut skip, mut looked_at) = (whole.next, whole.looked_at);
    while let Some(next) = skip {
        let part = find(source, &FindQuery { skip: next, ..query.clone() }, &cancel).unwrap();
        (skip, looked_at) = (part.next, looked_at + part.looked_at);
        for (column, count) in part.marked.iter().zip(part.counts) {
            match whole.marked.binary_search(column) {
                Ok(at) => whole.counts[at] += count,
                Err(at) => {
                    whole.marked.insert(at, *column);
                    whole.counts.insert(at, count);
                }
            }
        }
        whole.streams.extend(part.streams);
    }
    assert_eq!(looked_at, whole.rows, "every row is looked at once");
    whole
}

fn rows() -> impl Strategy<Value = [Vec<FindRow>; 2]> {
    let row = || (START_NS..START_NS + 5000, 0_u64..4, 1_u32..5, -3_i64..3);
    [prop::collection::vec(row(), 0..200), prop::collection::vec(row(), 0..200)]
}

/// Whether a row of a stream is what is looked for.
type Takes = fn(usize, &FindRow) -> bool;

fn needle() -> impl Strategy<Value = (&'static str, Takes)> {
    let cases: [(&str, Takes); 5] = [
        // The second stream is called so.
        ("read", |stream, row| stream == 1 || row.2 == 2 || row.2 == 3),
        ("CLOSE", |_, row| row.2 == 4),
        ("bash", |_, _| true),
        ("ret == -2", |stream, row| stream == 0 && row.3 == -2),
        ("call ~ \"no such text\"", |_, _| false),
    ];
    prop::sample::select(cases.to_vec())
}

/// Something that took from one moment to another: begin, length, thread, CPU.
type Lasting = (u64, u64, u64, u64);

/// A stream of such rows, of which the time is either end, in chunks.
fn lasting(rows: &[Lasting], time: SliceTime, chunk_rows: usize) -> MemorySource {
    let mut source = MemorySource::new(START_NS);
    source.dictionaries.insert_string(5, *b"bash");
    let column = Column { name: "duration_ns".to_owned(), ty: ColumnType::U64, display: Display::Decimal };
    let kind = RowKind::Slice { duration: "duration_ns".to_owned(), time, depth: None };
    let schema = StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["tid"]))),
        ..StreamSchema::new("work", StreamKind::Events, [column])
    };
    let time_of = move |row: &Lasting| if time == SliceTime::End { row.0 + row.1 } else { row.0 };
    let mut rows = rows.to_vec();
    rows.sort_by_key(time_of);
    let batch = |part: &[Lasting]| {
        let numbers = |of: &dyn Fn(&Lasting) -> u64| ColumnData::U64(part.iter().map(of).collect());
        let tids = || numbers(&|row| row.2);
        let comms = ColumnData::Id(vec![5; part.len()]);
        Batch { columns: vec![numbers(&time_of), numbers(&|row| row.3), tids(), tids(), comms, numbers(&|row| row.1)] }
    };
    source.push_stream(schema, rows.chunks(chunk_rows).map(batch).collect());
    source
}

proptest! {
    #[test]
    fn rows_are_marked_over_their_length(
        rows in prop::collection::vec((START_NS..START_NS + 5000, 0_u64..900, 1_u64..4, 0_u64..3), 0..150),
        ends in any::<bool>(),
        chunk_rows in 1_usize..40,
        columns in 1_u32..300,
        (from, length) in (0_u64..5000, 1_u64..3000),
        (reach_ns, long_ns) in (900_u64..1000, prop::option::of(0_u64..900)),
    ) {
        let time = if ends { SliceTime::End } else { SliceTime::Begin };
        let source = lasting(&rows, time, chunk_rows);
        // A column has a whole moment at least.
        let columns = columns.min(length as u32);
        let range = TimeRange { start_ns: START_NS + from, end_ns: START_NS + from + length };
        let query = FindQuery { reach_ns, long_ns, ..looked_for("bash", range, columns) };
        let found = find(&source, &query, &AtomicBool::new(false)).unwrap();
        // Column by column: whether a moment in it is one of the row's.
        let column = |time_ns: u64| ((time_ns - range.start_ns) * u64::from(columns) / length) as u32;
        let marked = |runs: &[u32]| -> BTreeSet<u32> { runs.chunks(2).flat_map(|run| run[0]..run[0] + run[1]).collect() };
        for tid in 1..4 {
            let mine = rows.iter().filter(|row| row.2 == tid);
            let moments = mine.flat_map(|row| row.0..(row.0 + row.1).max(row.0 + 1)).filter(|at| range.contains(*at));
            // A row that ends where the range begins counts, as its time is in it: it is marked there.
            let ended = rows.iter().filter(|row| row.2 == tid && ends && row.0 + row.1 == range.start_ns).map(|_| 0);
            let expected: BTreeSet<u32> = moments.map(column).chain(ended).collect();
            let track = found.tracks.iter().find(|track| track.key == format!("tid:{tid}"));
            prop_assert_eq!(track.map_or_else(BTreeSet::new, |track| marked(&track.runs)), expected, "tid {}", tid);
            let reaches = |row: &&Lasting| {
                row.2 == tid
                    && row.0 < range.end_ns
                    && (row.0 + row.1 > range.start_ns || row.0 >= range.start_ns || (ends && row.0 + row.1 == range.start_ns))
            };
            let mut long: Vec<(i64, i64)> = rows.iter().filter(reaches).filter(|row| long_ns.is_some_and(|long_ns| row.1 > long_ns))
                .map(|row| ((row.0 - START_NS) as i64, (row.0 + row.1 - START_NS) as i64)).collect();
            long.sort_unstable();
            let mut told: Vec<(i64, i64)> =
                track.map_or(&[][..], |track| &track.long).chunks(2).map(|pair| (pair[0], pair[1])).collect();
            told.sort_unstable();
            prop_assert_eq!(told, long);
        }
        let time_of = |row: &Lasting| if ends { row.0 + row.1 } else { row.0 };
        for cpu in 0..3 {
            let times = rows.iter().filter(|row| row.3 == cpu).map(time_of).filter(|at| range.contains(*at));
            let on_cpu = found.cpus.iter().find(|one| one.cpu == cpu);
            prop_assert_eq!(on_cpu.map_or_else(BTreeSet::new, |one| marked(&one.runs)), times.map(column).collect());
        }
        let counted = rows.iter().filter(|row| range.contains(time_of(row))).count() as u64;
        prop_assert_eq!(found.counts.iter().sum::<u64>(), counted);
        prop_assert_eq!((found.left_out, found.long_left_out), (0, 0));
    }

    #[test]
    fn what_is_found_is_what_all_rows_say(
        streams in rows(),
        chunk_rows in 1_usize..40,
        (text, takes) in needle(),
        columns in 1_u32..300,
        budget_rows in prop::sample::select(vec![1_u64, 50, 100_000]),
        (from, length) in (0_u64..5000, 1_u64..6000),
    ) {
        let source = source(&streams, chunk_rows);
        let range = TimeRange { start_ns: START_NS + from, end_ns: START_NS + from + length };
        let query = FindQuery { budget_rows, ..looked_for(text, range, columns) };
        let found = all(&source, &query);
        let expected: Vec<_> =
            naive(&streams, chunk_rows, takes).into_iter().filter(|(place, _)| range.contains(place.time_ns)).collect();
        let sum = |stream: u16| -> u64 {
            found.streams.iter().filter(|one| one.stream == stream).map(|one| one.rows).sum()
        };
        for stream in [0, 1] {
            let those = expected.iter().filter(|(place, _)| place.row.unwrap().0 == stream).count();
            prop_assert_eq!(sum(stream), those as u64);
        }
        let column = |time_ns: u64| ((time_ns - range.start_ns) * u64::from(columns) / length) as u32;
        let mut marks = std::collections::BTreeMap::<u32, u64>::new();
        expected.iter().for_each(|(place, _)| *marks.entry(column(place.time_ns)).or_default() += 1);
        prop_assert_eq!(found.marked, marks.keys().copied().collect::<Vec<_>>());
        prop_assert_eq!(found.counts, marks.values().copied().collect::<Vec<_>>());
        // By thread, where all is one answer.
        if budget_rows == 100_000 {
            for tid in 0..4 {
                let key = if tid == 0 { "idle:0".to_owned() } else { format!("tid:{tid}") };
                let mut those: Vec<u32> =
                    expected.iter().filter(|one| one.1 == tid).map(|one| column(one.0.time_ns)).collect();
                those.dedup();
                let runs = found.tracks.iter().find(|track| track.key == key).map_or(&[][..], |track| &track.runs);
                let marked: Vec<u32> = runs.chunks(2).flat_map(|run| run[0]..run[0] + run[1]).collect();
                prop_assert_eq!(marked, those, "{}", key);
            }
            prop_assert_eq!(found.left_out, 0);
        }
    }

    #[test]
    fn steps_go_through_all_that_is_found(
        streams in rows(),
        chunk_rows in 1_usize..40,
        (text, takes) in needle(),
        back in any::<bool>(),
        budget_rows in prop::sample::select(vec![1_u64, 60, 100_000]),
        columns in 1_u32..50,
    ) {
        let source = source(&streams, chunk_rows);
        let cancel = AtomicBool::new(false);
        let mut expected = naive(&streams, chunk_rows, takes);
        if back {
            expected.reverse();
        }
        let range = TimeRange::of(&source);
        let end = if back { u64::MAX } else { 0 };
        let mut query = FindStepQuery {
            filter: Filter::parse(text).unwrap().unwrap(),
            from: FoundPlace { time_ns: end, row: None },
            back,
            range,
            columns,
            skip: 0,
            budget_rows,
        };
        let mut found = Vec::new();
        loop {
            let step = find_step(&source, &query, &cancel).unwrap();
            if let Some(skip) = step.next {
                query.skip = skip;
                continue;
            }
            query.skip = 0;
            let Some(row) = step.row else { break };
            let place = FoundPlace { time_ns: START_NS + row.time as u64, row: Some((row.stream, row.row)) };
            let in_column = |time_ns: u64| {
                ((time_ns - range.start_ns) * u64::from(columns) / range.span_ns()).min(u64::from(columns) - 1) as u32
            };
            prop_assert_eq!(row.column, in_column(place.time_ns));
            if let Some(before) = row.before {
                let earlier = expected.iter().filter(|(one, _)| *one < place && in_column(one.time_ns) == row.column);
                prop_assert_eq!(before, earlier.count() as u64);
            }
            prop_assert!(budget_rows < 100_000 || row.before.is_some());
            found.push(place);
            query.from = place;
        }
        prop_assert_eq!(found, expected.into_iter().map(|one| one.0).collect::<Vec<_>>());
    }
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let source = source(&[vec![(START_NS, 1, 1, 0)], vec![]], 10);
    let query = |text: &str, columns| looked_for(text, TimeRange::of(&source), columns);
    let ask = |query: &FindQuery, cancelled| find(&source, query, &AtomicBool::new(cancelled));
    assert!(matches!(ask(&query("nothing == 3", 5), false), Err(ViewError::NoSuchColumn { .. })));
    assert!(matches!(ask(&query("read", 0), false), Err(ViewError::OutOfRange { .. })));
    assert!(matches!(ask(&query("read", 4097), false), Err(ViewError::OutOfRange { .. })));
    assert!(matches!(ask(&query("read", 5), true), Err(ViewError::Cancelled)));
    assert_eq!(ask(&query("openat", 5), false).unwrap().streams.len(), 1);
}

#[test]
fn a_slice_is_found_with_its_times_and_its_track() {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    let kind = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
    let own = [column("duration_ns", ColumnType::U64), column("state", ColumnType::Text)];
    let schema = StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["cpu"]))),
        ..StreamSchema::new("who runs", StreamKind::Events, own)
    };
    let mut source = MemorySource::new(START_NS);
    source.dictionaries.insert_string(1, *b"bash");
    let number = |value: u64| ColumnData::U64(vec![value]);
    let columns = vec![
        number(START_NS + 7),
        number(3),
        number(4),
        number(4),
        ColumnData::Id(vec![1]),
        number(20),
        ColumnData::Id(vec![1]),
    ];
    source.push_stream(schema, vec![Batch { columns }]);
    source.make_tracks().unwrap();
    let query = FindStepQuery {
        filter: Filter::parse("BASH").unwrap().unwrap(),
        from: FoundPlace { time_ns: 0, row: None },
        back: false,
        range: TimeRange::of(&source),
        columns: 10,
        skip: 0,
        budget_rows: 10,
    };
    let row = find_step(&source, &query, &AtomicBool::new(false)).unwrap().row.unwrap();
    assert_eq!((row.time, row.start, row.end, row.key.as_str(), row.before), (7, 7, 27, "cpu:3", Some(0)));
}

//! Captures of counts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::fixture::golden;

use std::sync::atomic::AtomicBool;

use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StreamKind, StreamSchema, StringDictionary};
use bathyscope_views::{
    CountQuery, CountView, CounterValues, Group, MemorySource, TimeRange, TimelineQuery, ValueRange, ViewError,
    count_view, timeline,
};
use proptest::{collection::vec, prelude::*};

const ORIGIN: u64 = 1_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn schema() -> StreamSchema {
    let text = |name: &str| Column { name: name.to_owned(), ty: ColumnType::Text, display: Display::Text };
    let number = |name: &str| Column { name: name.to_owned(), ty: ColumnType::U64, display: Display::Decimal };
    let own = [
        text("event"),
        text("scope"),
        number("value"),
        number("enabled_ns"),
        number("running_ns"),
        number("span_ns"),
        number("group"),
        text("state"),
    ];
    StreamSchema::new("counts", StreamKind::Events, own)
}

/// Time in seconds, event, scope, value, running of a second, state.
type Row<'a> = (u64, &'a str, &'a str, u64, u64, &'a str);

fn source(rows: &[Row<'_>]) -> MemorySource {
    let mut strings = StringDictionary::default();
    let mut source = MemorySource::new(ORIGIN);
    let schema = schema();
    // Two chunks: what belongs together is in both.
    let batches = rows.chunks(rows.len().div_ceil(2)).map(|rows| {
        let mut batch = Batch::empty(&schema);
        for (time, event, scope, value, running, state) in rows {
            let span = if state.is_empty() { SECOND } else { 0 };
            let ids = [event, scope, state].map(|text| strings.id(text.as_bytes()));
            let cells = [
                ORIGIN + time * SECOND,
                0,
                0,
                0,
                0,
                ids[0].into(),
                ids[1].into(),
                *value,
                span,
                *running,
                span,
                0,
                ids[2].into(),
            ];
            for (column, cell) in batch.columns.iter_mut().zip(cells) {
                match column {
                    ColumnData::U64(values) => values.push(cell),
                    ColumnData::Id(values) => values.push(u32::try_from(cell).unwrap()),
                    ColumnData::I64(_) => panic!(),
                }
            }
        }
        batch
    });
    let batches = batches.collect();
    for (id, text) in strings.take_new() {
        source.dictionaries.insert_string(id, text);
    }
    source.push_stream(schema, batches);
    source
}

/// Time in seconds, event, value, gauge, unit.
type FileRow<'a> = (u64, &'a str, u64, u64, &'a str);

/// A capture whose rows say what they are; each interval lasts a second.
fn source_of_files(rows: &[FileRow<'_>]) -> MemorySource {
    let mut schema = schema();
    let more = [("gauge", ColumnType::U64, Display::Decimal), ("unit", ColumnType::Text, Display::Text)];
    schema.columns.extend(more.map(|(name, ty, display)| Column { name: name.to_owned(), ty, display }));
    let mut strings = StringDictionary::default();
    let mut source = MemorySource::new(ORIGIN);
    let mut batch = Batch::empty(&schema);
    for (time, event, value, gauge, unit) in rows {
        let [event, all, none, unit] = [event, "all", "", unit].map(|text| u64::from(strings.id(text.as_bytes())));
        let common = [ORIGIN + time * SECOND, 0, 0, 0, none];
        let own = [event, all, *value, SECOND, SECOND, SECOND, 0, none, *gauge, unit];
        for (column, cell) in batch.columns.iter_mut().zip(common.into_iter().chain(own)) {
            match column {
                ColumnData::U64(values) => values.push(cell),
                ColumnData::Id(values) => values.push(u32::try_from(cell).unwrap()),
                ColumnData::I64(_) => panic!(),
            }
        }
    }
    for (id, text) in strings.take_new() {
        source.dictionaries.insert_string(id, text);
    }
    source.push_stream(schema, vec![batch]);
    source
}

const FILE_ROWS: [FileRow<'static>; 9] = [
    (1, "memory:free", 4000, 1, "bytes"),
    (1, "pressure:io-some", SECOND / 4, 0, "ns"),
    (1, "vm:pgpgin", 1 << 20, 0, "bytes"),
    (2, "memory:free", 1000, 1, "bytes"),
    (2, "pressure:io-some", SECOND / 2, 0, "ns"),
    (2, "vm:pgpgin", 0, 0, "bytes"),
    (3, "memory:free", 3000, 1, "bytes"),
    (3, "pressure:io-some", 0, 0, "ns"),
    (3, "vm:pgpgin", 2 << 20, 0, "bytes"),
];

#[test]
fn gauges_are_values_of_the_moment_and_pressure_a_share_of_the_time() {
    let source = source_of_files(&FILE_ROWS);
    let of = |points: u32| {
        let query = CountQuery { range: TimeRange::ALL, points };
        count_view(&source, 0, query, &AtomicBool::new(false)).unwrap()
    };
    let view = of(100);
    let [free, pressure, read] = view.counts.as_slice() else { panic!("{view:?}") };
    assert_eq!(
        (free.value, free.unit.as_str(), free.range),
        (3000, "bytes", Some(ValueRange { least: 1000, most: 4000 }))
    );
    assert!(free.derived.is_none() && free.share.is_none() && free.counted && !free.is_clock, "{free:?}");
    assert_eq!((pressure.value, pressure.unit.as_str(), pressure.range), (SECOND * 3 / 4, "ns", None));
    let derived = pressure.derived.as_ref().unwrap();
    assert_eq!((derived.value, derived.unit.as_str(), pressure.is_clock), (25.0, "% of the time", false));
    assert_eq!((read.value, read.derived.as_ref().unwrap().unit.as_str()), (3 << 20, "MiB/sec"));
    let lines = |view: &CountView| view.lines.iter().map(|line| line.values.clone()).collect::<Vec<_>>();
    let values = |values: [f64; 3]| values.map(Some).to_vec();
    let mib = f64::from(1 << 20);
    let expected = [values([4000.0, 1000.0, 3000.0]), values([25.0, 50.0, 0.0]), values([mib, 0.0, 2.0 * mib])];
    assert_eq!(lines(&view), expected);
    // Where intervals are joined, the mean of a gauge and not its sum.
    assert_eq!(lines(&of(2))[0], [Some(2500.0), Some(3000.0)]);
}

#[test]
fn the_timeline_has_gauges_as_they_were() {
    let mut source = source_of_files(&FILE_ROWS);
    let drawn = |source: &MemorySource| {
        let range = TimeRange { start_ns: ORIGIN, end_ns: ORIGIN + 3 * SECOND + 1 };
        let query =
            TimelineQuery { range, width: 8192, group: Group::Counter, filter: None, limit_tracks: 10, streams: None };
        timeline(source, &query, &AtomicBool::new(false)).unwrap()
    };
    let plain = drawn(&source);
    let tracks: Vec<_> = plain.tracks.iter().map(|it| (it.label.as_str(), it.is_gauge, it.unit, it.is_clock)).collect();
    let expected = [
        ("memory:free", true, "bytes", false),
        ("pressure:io-some", false, "ns", false),
        ("vm:pgpgin", false, "bytes", false),
    ];
    assert_eq!(tracks, expected);
    let last = |track: usize| plain.bins[track].values.iter().map(|it| it.last).collect::<Vec<_>>();
    assert_eq!(last(0), [4_000_000, 1_000_000, 3_000_000]);
    assert_eq!(last(1), [250_000_000_000, 500_000_000_000, 0]);
    source.make_index();
    assert_eq!(drawn(&source), plain, "the index says the same");
}

fn view(rows: &[Row<'_>], points: u32) -> CountView {
    let query = CountQuery { range: TimeRange::ALL, points };
    count_view(&source(rows), 0, query, &AtomicBool::new(false)).unwrap()
}

const ROWS: [Row<'static>; 9] = [
    (0, "LLC-loads", "all", 0, 0, "not supported: no counter"),
    (1, "task-clock", "all", SECOND / 2, SECOND, ""),
    (1, "cs", "all", 10, SECOND, ""),
    (2, "task-clock", "all", SECOND, SECOND, ""),
    (2, "cs", "all", 30, SECOND / 2, ""),
    (3, "task-clock", "all", 0, SECOND, ""),
    (3, "cs", "all", 0, SECOND, ""),
    (4, "task-clock", "all", SECOND / 2, SECOND, ""),
    (4, "cs", "all", 20, SECOND, ""),
];

#[test]
fn sums_and_lines_are_of_all_intervals() {
    let view = view(&ROWS, 100);
    let summary: Vec<_> = view.counts.iter().map(|it| (it.event.as_str(), it.value, it.counted, it.span_ns)).collect();
    let expected =
        [("LLC-loads", 0, false, 0), ("task-clock", 2 * SECOND, true, 4 * SECOND), ("cs", 60, true, 4 * SECOND)];
    assert_eq!(summary, expected);
    assert_eq!(view.counts[0].state, "not supported: no counter");
    assert_eq!(view.counts[1].derived.as_ref().unwrap().value, 0.5);
    assert_eq!((view.counts[1].share, view.counts[2].share), (None, Some(0.875)));
    assert_eq!(view.at, [1, 2, 3, 4].map(|second| second * SECOND as i64));
    let lines: Vec<_> = view.lines.iter().map(|line| (line.of, line.values.clone())).collect();
    let values = |values: [f64; 4]| values.map(Some).to_vec();
    assert_eq!(lines, [(1, values([0.5, 1.0, 0.0, 0.5])), (2, values([10.0, 30.0, 0.0, 20.0]))]);
}

#[test]
fn many_intervals_are_joined() {
    let view = view(&ROWS, 3);
    assert_eq!((view.joined, view.at.len()), (2, 3));
    // The first moment has only what is not counted beside it.
    assert_eq!(view.lines[1].values, [Some(10.0), Some(15.0), Some(20.0)]);
    assert_eq!(view.counts[2].value, 60);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn sums_are_those_of_all_rows_and_lines_those_of_their_moments(
        moments in vec(vec((0usize..2, 0usize..2, 0u64..1000), 1..5), 1..25), points in 1u32..30,
    ) {
        let (events, scopes) = (["cs", "faults"], ["all", "cpu 0"]);
        let rows: Vec<Row<'_>> = (1_u64..).zip(&moments).flat_map(|(second, rows)| {
            rows.iter().map(move |(event, scope, value)| (second, events[*event], scopes[*scope], *value, SECOND, ""))
        }).collect();
        let found = view(&rows, points);
        let joined = moments.len().div_ceil(points as usize);
        prop_assert_eq!(found.joined, joined as u64);
        let ends: Vec<i64> = (1..=moments.len()).collect::<Vec<_>>().chunks(joined)
            .map(|seconds| seconds[seconds.len() - 1] as i64 * SECOND as i64)
            .collect();
        prop_assert_eq!(&found.at, &ends);
        let kinds: std::collections::BTreeSet<_> = rows.iter().map(|row| (row.1, row.2)).collect();
        prop_assert_eq!(found.counts.len(), kinds.len());
        for (at, sum) in found.counts.iter().enumerate() {
            let of_sum = |row: &&Row<'_>| (row.1, row.2) == (sum.event.as_str(), sum.scope.as_str());
            let own: Vec<&Row<'_>> = rows.iter().filter(of_sum).collect();
            prop_assert_eq!(sum.value, own.iter().map(|row| row.3).sum::<u64>());
            prop_assert_eq!((sum.span_ns, sum.running_ns), (own.len() as u64 * SECOND, own.len() as u64 * SECOND));
            let line = found.lines.iter().find(|line| line.of == at).unwrap();
            for (point, value) in line.values.iter().enumerate() {
                let of_point: Vec<f64> = own.iter()
                    .filter(|row| (row.0 as usize - 1) / joined == point)
                    .map(|row| row.3 as f64)
                    .collect();
                let expected = (!of_point.is_empty()).then(|| of_point.iter().sum::<f64>() / of_point.len() as f64);
                match (value, expected) {
                    (Some(value), Some(expected)) => prop_assert!((value - expected).abs() < 1e-6),
                    (value, expected) => prop_assert_eq!(*value, expected),
                }
            }
        }
    }
}

#[test]
fn what_is_no_stream_of_counts_is_refused() {
    let mut source = MemorySource::new(ORIGIN);
    source.push_stream(StreamSchema::new("x", StreamKind::Events, []), Vec::new());
    let query = CountQuery { range: TimeRange::ALL, points: 10 };
    let go = AtomicBool::new(false);
    assert!(matches!(count_view(&source, 0, query, &go), Err(ViewError::NoSuchColumn { .. })));
    assert!(matches!(count_view(&source, 1, query, &go), Err(ViewError::NoSuchStream { .. })));
    let none = CountQuery { points: 0, ..query };
    assert!(matches!(count_view(&source, 0, none, &go), Err(ViewError::OutOfRange { .. })));
}

#[test]
fn a_timeline_has_the_least_the_greatest_and_the_last_rate_of_each_counter() {
    let mut source = source(&ROWS);
    let drawn = |source: &MemorySource, width: u32| {
        let range = TimeRange { start_ns: ORIGIN, end_ns: ORIGIN + 4 * SECOND + 1 };
        let query =
            TimelineQuery { range, width, group: Group::Counter, filter: None, limit_tracks: 10, streams: None };
        timeline(source, &query, &AtomicBool::new(false)).unwrap()
    };
    // Bins of 2^32 nanoseconds: the last second is in the second one.
    let coarse = drawn(&source, 2);
    let tracks: Vec<_> =
        coarse.tracks.iter().map(|it| (it.label.as_str(), it.sub.as_str(), it.rows, it.is_clock)).collect();
    assert_eq!(tracks, [("task-clock", "all", 4, true), ("cs", "all", 4, false)], "what was not counted has no track");
    let values = |least, most, last| CounterValues { least, most, last };
    let half_cpu = 500_000_000_000;
    assert_eq!(coarse.bins[0].values, [values(0, 2 * half_cpu, 0), values(half_cpu, half_cpu, half_cpu)]);
    assert_eq!(coarse.bins[1].values, [values(0, 30_000, 0), values(20_000, 20_000, 20_000)]);
    assert!(coarse.has_values && coarse.names.is_empty() && coarse.bins[1].count == [3, 1]);
    // The front end's tests read it.
    golden("timeline-counters.json", &serde_json::to_vec_pretty(&coarse).unwrap());
    golden("timeline-counters.bin", &coarse.encode(&serde_json::to_vec(&coarse).unwrap()));
    let fine = drawn(&source, 8192);
    assert_eq!(fine.bins[1].values.iter().map(|it| it.last).collect::<Vec<_>>(), [10_000, 30_000, 0, 20_000]);
    source.make_index();
    assert_eq!((drawn(&source, 2), drawn(&source, 8192)), (coarse, fine), "the index says the same");
    let encoded = drawn(&source, 2).encode(b"{}");
    // Head, then for each track: counts of two bins in 32 bytes with padding, and three lists of values.
    assert_eq!(encoded.len(), 16 + 2 * (8 + 2 * 12 + 3 * 2 * 8));
}

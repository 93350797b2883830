//! Captures of counts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::fixture::golden;

use std::sync::atomic::AtomicBool;

use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StreamKind, StreamSchema, StringDictionary};
use bathyscope_views::{
    CountQuery, CountView, CounterValues, Group, MemorySource, TimeRange, TimelineQuery, ViewError, count_view,
    timeline,
};

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
        let query = TimelineQuery { range, width, group: Group::Counter, filter: None, limit_tracks: 10 };
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

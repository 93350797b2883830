//! A sample or instant at a moment, and its neighbours, are those of a naive search through all rows.

use std::sync::atomic::AtomicBool;

use bathyscope_capture::{ColumnType, RowKind, SliceTime};
use bathyscope_views::{
    Filter, Group, MAX_TICK_CHUNKS, MemorySource, TickQuery, TimeRange, TimelineQuery, TrackMoment, TrackRowLine,
    ViewError, tick_moment, timeline, track_list,
};
use proptest::prelude::*;

use super::critical_path::{chunks, schema};

const START_NS: u64 = 1000;

/// Time and thread of the rows of each stream, in order of time.
type Rows = Vec<Vec<(u64, u64)>>;

fn source(rows: &Rows, chunk_rows: usize) -> MemorySource {
    let mut source = MemorySource::new(START_NS);
    for (stream, rows) in rows.iter().enumerate() {
        let schema = schema(&format!("event {stream}"), RowKind::Instant, &[], &[("value", ColumnType::U64)]);
        let rows = rows.iter().map(|(time, tid)| (*time, [*time, 0, *tid, time % 3]));
        source.push_stream(schema, chunks(rows.collect(), chunk_rows, &[]));
    }
    source
}

fn rows() -> impl Strategy<Value = Rows> {
    let one = prop::collection::vec((0_u64..400, 1_u64..4), 0..200);
    prop::collection::vec(one, 3).prop_map(|all| {
        let sorted = |mut rows: Vec<(u64, u64)>| {
            rows.iter_mut().for_each(|row| row.0 += START_NS);
            rows.sort_by_key(|row| row.0);
            rows
        };
        all.into_iter().map(sorted).collect()
    })
}

fn place(line: &TrackRowLine) -> (u64, u16, u64) {
    (line.start.unsigned_abs() + START_NS, line.stream, line.number)
}

fn ask(source: &MemorySource, query: &TickQuery) -> TrackMoment {
    tick_moment(source, query, &AtomicBool::new(false)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_row_and_its_neighbours_are_found(
        rows in rows(), chunk_rows in 1_usize..60, time in 0_u64..420, tid in prop::option::of(1_u64..5),
        filtered in any::<bool>(),
    ) {
        let source = source(&rows, chunk_rows);
        let streams = vec![0, 2];
        let filter = if filtered { Filter::parse("value == 1").unwrap() } else { None };
        let mut wanted: Vec<(u64, u16, u64)> = Vec::new();
        for stream in &streams {
            for (number, (time, of)) in (0..).zip(&rows[usize::from(*stream)]) {
                if tid.is_none_or(|tid| tid == *of) && (!filtered || time % 3 == 1) {
                    wanted.push((*time, *stream, number));
                }
            }
        }
        wanted.sort_unstable();
        let query = TickQuery { streams, tid, filter, time_ns: START_NS + time, row: None };
        let mut found = ask(&source, &query);
        let first = wanted.partition_point(|place| place.0 < START_NS + time);
        prop_assert_eq!(found.at.as_ref().map(place), wanted.get(first).copied());
        prop_assert!(!found.is_cut);
        // From one to the next, to the end.
        for at in first..wanted.len() {
            prop_assert_eq!(found.at.as_ref().map(place), Some(wanted[at]));
            prop_assert_eq!(found.before.as_ref().map(place), at.checked_sub(1).map(|at| wanted[at]));
            prop_assert_eq!(found.after.as_ref().map(place), wanted.get(at + 1).copied());
            prop_assert!(found.fields.is_some());
            let Some(after) = found.after else { break };
            found = ask(&source, &TickQuery { row: Some((after.stream, after.number)), ..query.clone() });
        }
    }

    #[test]
    fn a_timeline_of_streams_counts_their_rows(rows in rows(), chunk_rows in 1_usize..60, width in 2_u32..40) {
        let source = source(&rows, chunk_rows);
        let range = TimeRange { start_ns: START_NS, end_ns: START_NS + 401 };
        let streams = Some(vec![0, 1]);
        let query = TimelineQuery { range, width, group: Group::Stream, filter: None, limit_tracks: 8, streams };
        let found = timeline(&source, &query, &AtomicBool::new(false)).unwrap();
        let told: Vec<(&str, u64)> = found.tracks.iter().map(|track| (track.key.as_str(), track.rows)).collect();
        let all = [("stream:0", rows[0].len() as u64), ("stream:1", rows[1].len() as u64)];
        prop_assert_eq!(told, all.into_iter().filter(|one| one.1 > 0).collect::<Vec<_>>());
        for (track, bins) in found.tracks.iter().zip(&found.bins) {
            prop_assert_eq!(bins.count.iter().map(|count| u64::from(*count)).sum::<u64>(), track.rows);
            prop_assert!(bins.name.iter().all(|name| found.names[*name as usize] == track.label));
        }
    }
}

#[test]
fn ticks_are_samples_and_instants_that_were_recorded_and_not_what_states_are_made_of() {
    let mut source = MemorySource::new(START_NS);
    let sample = RowKind::Sample { stack: "stack".to_owned(), weight: None, unit: "samples".to_owned() };
    let slice = RowKind::Slice { duration: "value".to_owned(), time: SliceTime::Begin, depth: None };
    let streams = [
        ("cpu-clock", sample, 1),
        ("block:block_rq_issue", RowKind::Instant, 2),
        ("switches", RowKind::Instant, 2),
        ("sched:sched_switch", RowKind::Instant, 2),
        ("sched:sched_process_exit", RowKind::Instant, 1),
        ("syscalls", slice, 1),
        ("irq:irq_handler_entry", RowKind::Instant, 0),
    ];
    for (name, kind, rows) in streams {
        let schema = schema(name, kind, &[], &[("value", ColumnType::U64), ("stack", ColumnType::Stack)]);
        let rows = (0..rows).map(|row| (START_NS + row, [START_NS + row, 0, 7 + row, 0, 0]));
        source.push_stream(schema, chunks(rows.collect(), 10, &[4]));
    }
    let list = track_list(&source, &AtomicBool::new(false)).unwrap().binned;
    assert_eq!(list.tick_streams, [0, 1, 4]);
    let ticks: Vec<_> = list.ticks.iter().map(|track| (track.key.as_str(), track.rows)).collect();
    assert_eq!((ticks, list.more, list.counters.len()), (vec![("tid:7", 3), ("tid:8", 1)], 0, 0));
}

#[test]
fn chunks_that_cannot_have_a_thread_are_passed_over_and_others_are_read_up_to_a_limit() {
    let far = MAX_TICK_CHUNKS as u64 + 50;
    let of = |tid| TickQuery { streams: vec![0], tid, filter: None, time_ns: START_NS, row: None };
    // One row a chunk, of which the first and the last are of thread 5.
    let alone = (0..=far).map(|at| (START_NS + at, if at % far == 0 { 5 } else { 1 })).collect();
    let found = ask(&source(&vec![alone], 1), &of(Some(5)));
    let after = found.after.as_ref().map(place);
    assert_eq!((after, found.is_cut), (Some((START_NS + far, 0, far)), false));
    // Two rows a chunk, of threads 1 and 9: any of them could have one of thread 5, and only the last has.
    let mixed = (0..2 * far).map(|at| (START_NS + at, if at + 1 == 2 * far { 5 } else { [1, 9][at as usize % 2] }));
    let found = ask(&source(&vec![mixed.collect()], 2), &of(Some(5)));
    assert_eq!((found.at, found.is_cut), (None, true));
}

#[test]
fn what_is_no_stream_and_no_row_is_refused() {
    let source = source(&vec![vec![(START_NS, 1)]], 10);
    let query = TickQuery { streams: vec![0], tid: None, filter: None, time_ns: START_NS, row: None };
    let error = |query: &TickQuery| tick_moment(&source, query, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error(&TickQuery { streams: vec![], ..query.clone() }), ViewError::StreamNumber(_)));
    assert!(matches!(error(&TickQuery { streams: vec![7], ..query.clone() }), ViewError::NoSuchStream { .. }));
    let none = ask(&source, &TickQuery { row: Some((0, 5)), ..query.clone() });
    assert_eq!(none, TrackMoment::default());
    let cancelled = tick_moment(&source, &query, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(cancelled, ViewError::Cancelled));
}

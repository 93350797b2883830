//! What views load, refuse, and bound.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::fixture;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicBool},
};

use bathyscope_capture::{
    Batch, Cell, ColumnData, Grouping, IndexBlock, IndexDirectory, Loss, MappingKind, ProcessChange, ProcessChangeKind,
    StreamKind, StreamSchema,
};
use bathyscope_views::{
    ChunkMeta, Dictionaries, Filter, FlameQuery, Group, MATCH_BELOW, MAX_FLAME_NODES, MAX_SORTED_ROWS, MemorySource,
    NodeId, Order, RateQuery, RowCursor, RowsQuery, Source, TimeRange, TimelineQuery, ViewError, flame, page, rate,
    timeline,
};
use fixture::{Build, GO, ORIGIN, Own, events, profile, symbol};

/// Passes on what it is asked for, and notes which chunks and columns that was.
struct Watched {
    inner: MemorySource,
    loads: RefCell<Vec<(u16, usize, Vec<usize>)>>,
    damage: Option<fn(&mut Batch)>,
    /// Instead of the real ones.
    metas: Option<Vec<ChunkMeta>>,
}

impl Watched {
    fn new(inner: MemorySource) -> Self {
        Self { inner, loads: RefCell::default(), damage: None, metas: None }
    }

    fn chunks_loaded(&self) -> Vec<usize> {
        self.loads.take().into_iter().map(|(_, chunk, _)| chunk).collect()
    }
}

impl Source for Watched {
    fn origin_ns(&self) -> u64 {
        self.inner.origin_ns()
    }
    fn streams(&self) -> &[StreamSchema] {
        self.inner.streams()
    }
    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.metas.as_deref().unwrap_or_else(|| self.inner.chunks(stream))
    }
    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        self.loads.borrow_mut().push((stream, chunk, wanted.to_vec()));
        let mut batch = Batch::clone(&*self.inner.batch(stream, chunk, wanted)?);
        for (index, (column, described)) in
            batch.columns.iter_mut().zip(&self.inner.streams()[usize::from(stream)].columns).enumerate()
        {
            if !wanted.contains(&index) {
                *column = ColumnData::empty(described.ty);
            }
        }
        if let Some(damage) = self.damage {
            damage(&mut batch);
        }
        Ok(Arc::new(batch))
    }
    fn index(&self, stream: u16, grouping: Grouping) -> Option<&IndexDirectory> {
        self.inner.index(stream, grouping)
    }
    fn index_block(
        &self,
        stream: u16,
        grouping: Grouping,
        level: u8,
        number: u32,
    ) -> Result<Arc<IndexBlock>, ViewError> {
        self.inner.index_block(stream, grouping, level, number)
    }
    fn dictionaries(&self) -> &Dictionaries {
        self.inner.dictionaries()
    }
    fn losses(&self) -> &[Loss] {
        self.inner.losses()
    }
}

/// Ten chunks of ten events, one a microsecond; `pid` is the number of the chunk.
fn ten_chunks() -> Watched {
    let mut build = Build::default();
    build.stream("a:b", StreamKind::Events, &[]);
    for n in 0..100u64 {
        if n > 0 && n % 10 == 0 {
            build.chunk();
        }
        build.event((n * 1000, 0, n / 10, n, b"x"), &[]);
    }
    Watched::new(build.finish())
}

#[test]
fn only_what_is_needed_is_loaded() {
    let mut source = ten_chunks();
    let all = RowsQuery { limit: 5, ..RowsQuery::new(0) };
    let filter = |text| Filter::parse(text).unwrap();
    let cases = [
        ("a page without filter", RowsQuery { offset: 62, ..all.clone() }, vec![6]),
        ("over a boundary", RowsQuery { offset: 58, ..all.clone() }, vec![5, 6]),
        (
            "part of the time",
            RowsQuery { range: TimeRange::relative(ORIGIN, 15_000, 35_000), ..all.clone() },
            vec![1, 3, 1],
        ),
        ("extremes tell", RowsQuery { filter: filter("pid == 4"), ..all.clone() }, vec![4, 4]),
        ("extremes tell of both", RowsQuery { filter: filter("pid == 4 && tid < 30"), ..all.clone() }, vec![]),
        ("beyond the end", RowsQuery { offset: 1000, ..all }, vec![]),
    ];
    for (what, query, chunks) in cases {
        page(&source, &query, &GO).unwrap();
        assert_eq!(source.chunks_loaded(), chunks, "{what}");
    }
    // Drawing CPUs loads times, CPUs and names.
    let range = TimeRange::relative(ORIGIN, 0, 100_000);
    let query = TimelineQuery { range, width: 100, group: Group::Cpu, filter: None, limit_tracks: 4, streams: None };
    timeline(&source, &query, &GO).unwrap();
    let columns: BTreeSet<Vec<usize>> = source.loads.take().into_iter().map(|(_, _, columns)| columns).collect();
    assert_eq!(columns, BTreeSet::from([vec![0, 1, 4]]));
    // With an index no rows are loaded, unless there is a filter or bins are finer than those of the index. A rate ends
    // where it is asked to, so rows at its ends are counted.
    source.inner.make_index();
    let inside = TimeRange::relative(ORIGIN, 15_000, 85_000);
    timeline(&source, &TimelineQuery { range: inside, width: 20, ..query.clone() }, &GO).unwrap();
    assert_eq!(source.chunks_loaded(), [0; 0]);
    rate(&source, &RateQuery { range: inside, bins: 20, filter: None }, &GO).unwrap();
    assert_eq!(source.chunks_loaded(), [1, 8]);
    let filtered = Filter::parse("pid == 4").unwrap();
    timeline(&source, &TimelineQuery { filter: filtered, ..query.clone() }, &GO).unwrap();
    assert_eq!(source.chunks_loaded(), [4]);
    let short = TimeRange::relative(ORIGIN, 21_000, 39_000);
    timeline(&source, &TimelineQuery { range: short, width: 8192, ..query }, &GO).unwrap();
    assert_eq!(source.chunks_loaded().into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([2, 3]));
}

#[test]
fn a_range_has_its_start_and_not_its_end() {
    let source = ten_chunks();
    let cases = [(0, 100_000, 100), (0, 9_000, 9), (0, 9_001, 10), (9_000, 10_001, 2), (9_001, 10_000, 0), (7, 7, 0)];
    for (start, end, rows) in cases {
        let range = TimeRange::relative(ORIGIN, start, end);
        assert_eq!(
            page(&source, &RowsQuery { range, ..RowsQuery::new(0) }, &GO).unwrap().matched,
            rows,
            "{start}..{end}"
        );
        let counted = rate(&source, &RateQuery { range, bins: 3, filter: None }, &GO).unwrap();
        assert_eq!(counted.streams[0].counts.iter().sum::<u64>(), rows, "{start}..{end}");
    }
}

#[test]
fn a_timeline_of_some_streams_has_their_rows() {
    let source = events();
    let range = TimeRange::of(&source);
    let of =
        |streams| TimelineQuery { range, width: 10, group: Group::Thread, filter: None, limit_tracks: 100, streams };
    let rows = |streams| {
        let window = timeline(&source, &of(streams), &GO).unwrap();
        window.tracks.iter().map(|track| track.rows).sum::<u64>()
    };
    let of_each = [0, 1].map(|stream| page(&source, &RowsQuery::new(stream), &GO).unwrap().matched);
    assert!(of_each.iter().all(|rows| *rows > 0));
    assert_eq!([vec![0], vec![1], vec![]].map(|streams| rows(Some(streams))), [of_each[0], of_each[1], 0]);
    assert_eq!([Some(vec![1, 0]), None].map(rows), [of_each[0] + of_each[1]; 2]);
    let refused = timeline(&source, &of(Some(vec![0, 2])), &GO).unwrap_err();
    assert_eq!(refused.to_string(), "there is no stream 2; this capture has 2, counted from 0");
}

#[test]
fn a_set_flag_ends_every_view() {
    let (stop, source, samples) = (AtomicBool::new(true), events(), profile());
    let range = TimeRange::of(&source);
    let query = TimelineQuery { range, width: 10, group: Group::Thread, filter: None, limit_tracks: 4, streams: None };
    let order = vec![Order { column: "comm".to_owned(), descending: true }];
    let results = [
        page(&source, &RowsQuery::new(0), &stop).map(|_| ()),
        page(&source, &RowsQuery { order, ..RowsQuery::new(0) }, &stop).map(|_| ()),
        rate(&source, &RateQuery { range, bins: 10, filter: None }, &stop).map(|_| ()),
        timeline(&source, &query, &stop).map(|_| ()),
        flame(&samples, &FlameQuery::default(), &stop).map(|_| ()),
        RowCursor::new(&source, &RowsQuery::new(0), &stop).unwrap().next_row().map(|_| ()),
    ];
    for result in results {
        assert!(matches!(result, Err(ViewError::Cancelled)), "{result:?}");
    }
}

#[test]
fn what_does_not_fit_the_capture_is_refused_with_a_reason() {
    let source = events();
    let filtered = |text: &str| RowsQuery { filter: Filter::parse(text).unwrap(), ..RowsQuery::new(0) };
    let ordered = |column: &str| {
        let order = vec![Order { column: column.to_owned(), descending: false }];
        RowsQuery { order, ..RowsQuery::new(0) }
    };
    let columns = "time, cpu, pid, tid, comm, prev_comm, prev_prio, args.pid";
    let cases = [
        (RowsQuery::new(9), "there is no stream 9; this capture has 2, counted from 0".to_owned()),
        (filtered("nothing == 1"), format!("there is no column `nothing`; there are {columns}")),
        (ordered("nothing"), format!("there is no column `nothing`; there are {columns}")),
        (
            filtered("comm == 1"),
            "`comm` is text; it cannot be compared with a number; put the text in double quotes".to_owned(),
        ),
        (filtered("pid == \"x\""), "`pid` is a number; it cannot be compared with text".to_owned()),
        (
            RowsQuery { limit: 10_001, ..RowsQuery::new(0) },
            "the number of rows in a page is 10001; it must be from 0 to 10000".to_owned(),
        ),
    ];
    for (query, message) in cases {
        let error = page(&source, &query, &GO).unwrap_err();
        assert!(error.is_bad_request());
        assert_eq!(error.to_string(), message);
    }
    assert!(matches!(flame(&source, &FlameQuery::default(), &GO), Err(ViewError::NoSamples)));
    for width in [0, 8193] {
        let query = FlameQuery { width, ..FlameQuery::default() };
        assert!(flame(&profile(), &query, &GO).unwrap_err().is_bad_request());
    }
    let error = page(&profile(), &filtered("stack == 1"), &GO).unwrap_err();
    assert!(error.to_string().starts_with("`stack` is a stack"), "{error}");
}

#[test]
fn a_sorted_table_has_a_furthest_row() {
    let meta = ChunkMeta { rows: 1 << 16, first_ns: ORIGIN, last_ns: ORIGIN, stats: Vec::new() };
    let source = Watched { metas: Some(vec![meta; 65]), ..Watched::new(events()) };
    let at = |offset| {
        let order = vec![Order { column: "cpu".to_owned(), descending: true }];
        page(&source, &RowsQuery { order, offset, limit: 10, ..RowsQuery::new(0) }, &GO).unwrap_err()
    };
    // Within the limit the chunks are loaded, and these are not as long as they say.
    for offset in [MAX_SORTED_ROWS - 11, MAX_SORTED_ROWS - 10] {
        assert!(matches!(at(offset), ViewError::Shape { .. }));
    }
    for offset in [MAX_SORTED_ROWS - 9, u64::MAX] {
        let error = at(offset);
        assert!(error.is_bad_request() && matches!(error, ViewError::TooFar { .. }), "{error}");
    }
}

#[test]
fn a_filter_over_several_streams_takes_those_that_have_its_columns() {
    let source = events();
    let range = TimeRange::of(&source);
    let count = |text: &str| {
        let query = RateQuery { range, bins: 1, filter: Filter::parse(text).unwrap() };
        rate(&source, &query, &GO)
            .map(|rate| rate.streams.iter().map(|stream| stream.counts.iter().sum::<u64>()).collect::<Vec<_>>())
    };
    assert_eq!(count("").unwrap(), [30, 10]);
    assert_eq!(count("flags == 0x40").unwrap(), [0, 1]);
    assert_eq!(count("prev_prio < 0").unwrap(), [23, 0]);
    assert_eq!(count("cat").unwrap(), [0, 10]);
    assert!(matches!(count("nothing == 1"), Err(ViewError::NoSuchColumn { .. })));
}

#[test]
fn damaged_chunks_are_errors() {
    let damages: [fn(&mut Batch); 3] = [
        |batch| drop(batch.columns.pop()),
        |batch| batch.columns[StreamSchema::COMM] = ColumnData::U64(vec![1; 25]),
        |batch| match &mut batch.columns[StreamSchema::PID] {
            ColumnData::U64(values) => values.push(1),
            _ => panic!("not numbers"),
        },
    ];
    for damage in damages {
        let source = Watched { damage: Some(damage), ..Watched::new(profile()) };
        let error = flame(&source, &FlameQuery::default(), &GO).unwrap_err();
        assert!(matches!(error, ViewError::Shape { stream: 0, chunk: 0, .. }), "{error}");
        assert!(!error.is_bad_request());
    }
}

#[test]
fn deep_and_broad_stacks_stay_bounded() {
    let mut build = Build::default();
    build.profile();
    let frames: Vec<u32> =
        (0..1100u64).map(|n| build.frame(MappingKind::File, b"/bin/x", n, symbol(&format!("f{n:04}"), &[]))).collect();
    // A thousand stacks of 512 frames that differ from the root on: 512,000 nodes of three samples.
    for n in 0..1000u64 {
        let stack = build
            .stacks
            .stack(&frames.iter().rev().take(511).chain([&frames[n as usize]]).copied().collect::<Vec<_>>());
        for _ in 0..3 {
            build.sample((n, 0, 1, 1, b"deep"), stack);
        }
    }
    let source = build.finish();
    let query = FlameQuery { width: 8192, search: Some("f1099".to_owned()), ..FlameQuery::default() };
    let graph = flame(&source, &query, &GO).unwrap();
    let kept = graph.nodes.id.len();
    assert_eq!((graph.total, kept), (3000, MAX_FLAME_NODES));
    assert_eq!(graph.cut.nodes as usize + kept, 512 * 1000 + 2);
    assert_eq!(graph.matched_samples, 3000);
    assert!(graph.nodes.matched.iter().any(|bits| bits & MATCH_BELOW != 0));
    // Each kept node stands on a kept node.
    for index in 1..kept {
        assert!(graph.nodes.depth[index] <= graph.nodes.depth[index - 1] + 1);
    }
    let narrow = flame(&source, &FlameQuery { width: 100, ..query }, &GO).unwrap();
    assert_eq!((narrow.nodes.id.len(), narrow.cut.nodes, narrow.cut.samples), (2, 512_000, 3000));
    assert_eq!((narrow.matched_samples, narrow.nodes.matched.as_slice()), (3000, &[0, MATCH_BELOW][..]));
}

#[test]
fn a_focus_that_is_not_there_is_no_focus() {
    let source = profile();
    let all = flame(&source, &FlameQuery::default(), &GO).unwrap();
    let focus = Some(NodeId(42));
    assert_eq!(flame(&source, &FlameQuery { focus, ..FlameQuery::default() }, &GO).unwrap(), all);
    let id: NodeId = "00000000000000ff".parse().unwrap();
    assert_eq!((id, id.to_string().as_str()), (NodeId(255), "00000000000000ff"));
    for bad in ["", "ff", "00000000000000FF", "+0000000000000ff"] {
        assert!(bad.parse::<NodeId>().is_err());
    }
}

#[test]
fn processes_are_called_what_they_were_called_at_that_moment() {
    let mut dictionaries = Dictionaries::default();
    let kinds = [
        (0, 1, 1, ProcessChangeKind::Existing { comm: 1 }),
        (10, 2, 2, ProcessChangeKind::Fork { parent_pid: 1 }),
        (20, 2, 2, ProcessChangeKind::Comm { comm: 2, exec: true }),
        (25, 2, 3, ProcessChangeKind::Comm { comm: 9, exec: false }),
        (30, 2, 2, ProcessChangeKind::Exit),
        (40, 2, 2, ProcessChangeKind::Fork { parent_pid: 7 }),
    ];
    for (time_ns, pid, tid, kind) in kinds {
        dictionaries.insert_process(&ProcessChange { time_ns, pid, tid, kind });
    }
    let cases = [
        (1, 0, Some(1)),
        (1, 99, Some(1)),
        (2, 5, Some(1)),
        (2, 15, Some(1)),
        (2, 20, Some(2)),
        (2, 29, Some(2)),
        (3, 50, None),
    ];
    for (pid, time, name) in cases {
        assert_eq!(dictionaries.process_name(pid, time), name, "{pid} at {time}");
    }
}

#[test]
fn a_cursor_gives_every_row_once_with_its_values() {
    let source = Watched::new(events());
    let query = RowsQuery { filter: Filter::parse("args.pid == 3").unwrap(), limit: 0, ..RowsQuery::new(0) };
    let mut cursor = RowCursor::new(&source, &query, &GO).unwrap();
    let mut times = Vec::new();
    while let Some(row) = cursor.next_row().unwrap() {
        assert_eq!((row.value(7), row.value(99)), (Cell::U64(3), Cell::Null));
        let Cell::I64(time) = row.value(0) else { panic!("a moment is a number") };
        times.push(time);
    }
    assert_eq!(times, [3i64, 10, 17, 24].map(|n| n * n * 100));
    assert!(cursor.next_row().unwrap().is_none());
    let mut build = Build::default();
    build.stream(
        "a:b",
        StreamKind::Events,
        &[("t", bathyscope_capture::ColumnType::Text, bathyscope_capture::Display::Text)],
    );
    build.event((0, 0, 0, 0, b""), &[Own::Missing]);
    let source = build.finish();
    let mut cursor = RowCursor::new(&source, &RowsQuery::new(0), &GO).unwrap();
    let row = cursor.next_row().unwrap().unwrap();
    assert_eq!((row.value(4), row.value(5)), (Cell::Text(&b""[..]), Cell::Null));
}

//! Views of a part of a capture are those of a capture that has only its rows.

use std::{fmt::Debug, sync::Arc};

use bathyscope_capture::{
    Batch, ColumnGrid, ColumnType, Display, Loss, LossStage, MappingKind, StreamKind, StreamSchema, TrackDirectory,
};
use bathyscope_views::{
    ChunkMeta, Dictionaries, DrawnPageMap, Facets, FacetsQuery, Filter, FlameQuery, Group, MemorySource, Narrowed,
    RateQuery, RowsQuery, Scope, Source, TimeRange, TimelineQuery, TrackPageMap, TrackWindowQuery, ViewError, facets,
    flame, page, rate, timeline, track_list, track_window,
};
use proptest::{collection::vec, prelude::*};
use serde::Serialize;

use crate::fixture::{Build, GO, ORIGIN, Own, symbol};

/// A part of a capture, as views read it.
struct PartSource {
    whole: MemorySource,
    part: Narrowed,
}

impl Source for PartSource {
    fn origin_ns(&self) -> u64 {
        self.whole.origin_ns()
    }

    fn streams(&self) -> &[StreamSchema] {
        self.whole.streams()
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.part.chunks(stream)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        self.part.batch(stream, chunk, |chunk| self.whole.batch(stream, chunk, wanted))
    }

    fn tracks(&self) -> &[(u16, TrackDirectory)] {
        self.part.tracks()
    }

    fn track_pages(&self, stream: u16, places: &[(u32, u8, u32)]) -> Result<TrackPageMap, ViewError> {
        self.part.track_pages(stream, places)
    }

    fn drawn_pages(&self, stream: u16, grid: ColumnGrid, places: &[(u32, u64)]) -> Result<DrawnPageMap, ViewError> {
        self.part.drawn_pages(stream, grid, places)
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.whole.dictionaries()
    }

    fn losses(&self) -> &[Loss] {
        self.part.losses()
    }
}

/// time, cpu, tid, comm, number, text, stack.
type Row = (u64, u64, u64, usize, i64, usize, usize);

const COMMS: [&str; 3] = ["sh", "nginx", "kworker/0:1"];
const TEXTS: [&str; 4] = ["", "alpha", "beta", "ALPHABET"];
const NAMES: [&str; 4] = ["main", "read", "write", "parse"];
/// How long every system call took.
const CALL_NS: u64 = 90;
const EVENTS: usize = 0;
const CALLS: usize = 1;
const SAMPLES: usize = 2;
const MAP: usize = 3;

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0_u64..60, 0_u64..3, 1_u64..5, 0_usize..3, -5_i64..5, 0_usize..4, 0_usize..9);
    vec(row, 1..150).prop_map(|rows| {
        let mut time = 200;
        let mut advance = |row: Row| {
            time += row.0;
            (time, row.1, row.2, row.3, row.4, row.5, row.6)
        };
        rows.into_iter().map(&mut advance).collect()
    })
}

/// How long an event took, up to its time.
fn took_ns(row: &Row) -> u64 {
    row.0 * 7 % 97
}

/// The id of a made-up stack of up to three frames.
fn stack_of(build: &mut Build, stack: usize) -> u32 {
    let frame = |build: &mut Build, level: usize| {
        let name = NAMES[(stack + level) % NAMES.len()];
        build.frame(MappingKind::File, b"/bin/x", name.len() as u64, symbol(name, &[]))
    };
    let frames: Vec<u32> = (0..stack % 4).map(|level| frame(build, level)).collect();
    build.stacks.stack(&frames)
}

/// A capture of a stream of each sort: what ends at its time, what begins then, samples, and readings of a map.
fn capture(streams: &[Vec<Row>; 4], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    // Where two names are alike, the one with the lesser id is taken, and stacks are answered by id: both are those of the whole.
    for text in COMMS.iter().chain(&TEXTS[1..]) {
        build.strings.id(text.as_bytes());
    }
    for stack in 0..9 {
        stack_of(&mut build, stack);
    }
    let text = |name| (name, ColumnType::Text, Display::Text);
    let took = ("duration_ns", ColumnType::U64, Display::DurationNs);
    let result = ("result", ColumnType::I64, Display::Decimal);
    let number = |name| (name, ColumnType::U64, Display::Decimal);
    for (stream, rows) in streams.iter().enumerate() {
        match stream {
            EVENTS => build.stream(
                "a:b",
                StreamKind::Events,
                &[("number", ColumnType::I64, Display::Decimal), text("text"), took],
            ),
            CALLS => build.stream("syscalls", StreamKind::Events, &[text("call"), result, took]),
            SAMPLES => build.profile(),
            _ => build.stream("@", StreamKind::Map, &[number("snapshot"), text("key"), number("count")]),
        }
        for (index, row) in rows.iter().enumerate() {
            if index > 0 && index % chunk == 0 {
                build.chunk();
            }
            let common = (row.0, row.1, row.2 / 2, row.2, COMMS[row.3].as_bytes());
            match stream {
                EVENTS => {
                    let text = if row.5 == 0 { Own::Missing } else { Own::T(TEXTS[row.5].as_bytes()) };
                    build.event(common, &[Own::I(row.4), text, Own::U(took_ns(row))]);
                }
                CALLS => build.event(common, &[Own::T(b"openat"), Own::I(row.4), Own::U(CALL_NS)]),
                SAMPLES => {
                    let stack = stack_of(&mut build, row.6);
                    build.sample(common, stack);
                }
                _ => build.event(common, &[Own::U(row.0), Own::T(b"k"), Own::U(row.5 as u64)]),
            }
        }
    }
    let mut source = build.finish();
    source.make_tracks().unwrap();
    source
}

/// Which rows of a stream a plain loop leaves.
fn plainly(rows: &[Row], stream: usize, range: TimeRange, keep: fn(usize, &Row) -> bool) -> Vec<Row> {
    let time = |row: &Row| ORIGIN + row.0;
    let before = rows.iter().map(time).filter(|time| *time < range.start_ns).max().unwrap_or(range.start_ns);
    let is_in = |row: &&Row| {
        let (begin, end) = match stream {
            EVENTS => (time(row) - took_ns(row), time(row)),
            CALLS => (time(row), time(row) + CALL_NS),
            MAP => return before <= time(row) && time(row) < range.end_ns,
            _ => return range.contains(time(row)),
        };
        range.contains(time(row)) || (begin < range.end_ns && end > range.start_ns)
    };
    rows.iter().filter(is_in).filter(|row| keep(stream, row)).copied().collect()
}

type Case = (&'static str, fn(usize, &Row) -> bool);

const FILTERS: [Case; 6] = [
    ("", |_, _| true),
    ("comm == \"nginx\"", |_, row| row.3 == 1),
    ("number > 0", |stream, row| stream == EVENTS && row.4 > 0),
    ("duration_ns > 40", |stream, row| stream == CALLS || (stream == EVENTS && took_ns(row) > 40)),
    ("alpha", |stream, row| stream == EVENTS && matches!(row.5, 1 | 3)),
    ("time > 900 && cpu != 1", |_, row| row.0 > 900 && row.1 != 1),
];

/// An answer, or why there is none.
fn told<T: Serialize, E: Debug>(answer: Result<T, E>) -> String {
    answer.map_or_else(|error| format!("{error:?}"), |answer| serde_json::to_string(&answer).unwrap())
}

/// What views answer of it, asked with a range and a filter of who looks.
fn answers(source: &dyn Source, range: TimeRange, filter: Option<Filter>) -> Vec<String> {
    let mut all = Vec::new();
    for stream in 0..4 {
        let of_rows = RowsQuery { range, filter: filter.clone(), limit: 100, ..RowsQuery::new(stream) };
        all.push(told(page(source, &of_rows, &GO)));
        let of_values = FacetsQuery { range, filter: filter.clone(), ..FacetsQuery::new(stream, &["comm", "cpu"]) };
        // How many rows were looked at depends on what of a chunk is known without them.
        let values = facets(source, &of_values, &GO).map(|found| Facets { looked_at: 0, total: 0, ..found });
        all.push(told(values));
    }
    let group = Group::Thread;
    let of_time = TimelineQuery { range, width: 50, group, filter: filter.clone(), limit_tracks: 9, streams: None };
    all.push(told(timeline(source, &of_time, &GO)));
    all.push(told(rate(source, &RateQuery { range, bins: 20, filter: filter.clone() }, &GO)));
    all.push(told(flame(source, &FlameQuery { range, filter, width: 500, ..FlameQuery::default() }, &GO)));
    let list = track_list(source, &GO).unwrap();
    let tracks = list.tracks.iter().map(|track| track.id.parse().unwrap()).collect();
    all.push(told(Ok::<_, ViewError>(&list)));
    all.push(told(track_window(source, &TrackWindowQuery { range, width: 64, tracks }, &GO)));
    all
}

fn spans() -> impl Strategy<Value = TimeRange> {
    prop_oneof![
        Just(TimeRange::ALL),
        (0_u64..4_000, 0_u64..4_000).prop_map(|(a, b)| TimeRange::relative(ORIGIN, a.min(b), a.max(b))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn views_of_a_part_are_those_of_its_rows(
        rows in rows(), chunk in 1_usize..60, range in spans(), filter in 0_usize..6, asked in spans(), asking in 0_usize..6,
        is_indexed: bool,
    ) {
        let mut whole = capture(&[(); 4].map(|()| rows.clone()), chunk);
        if is_indexed {
            whole.make_index();
        }
        let (text, keep) = FILTERS[filter];
        let left = [EVENTS, CALLS, SAMPLES, MAP].map(|stream| plainly(&rows, stream, range, keep));
        let scope = Scope { range, filter: Filter::parse(text).unwrap() };
        let part = Narrowed::of(&whole, &scope, &GO).unwrap();
        for (stream, left) in (0..).zip(&left) {
            let kept: usize = part.chunks(stream).iter().map(|chunk| chunk.rows as usize).sum();
            prop_assert_eq!(kept, left.len(), "stream {}", stream);
        }
        let (part, plain) = (PartSource { whole, part }, capture(&left, chunk));
        prop_assert_eq!(TimeRange::of(&part), TimeRange::of(&plain));
        let asking = Filter::parse(FILTERS[asking].0).unwrap();
        for (found, expected) in answers(&part, asked, asking.clone()).into_iter().zip(answers(&plain, asked, asking)) {
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn nothing_tells_of_rows_that_are_not_left() {
    let rows: Vec<Row> = (0_u64..100).map(|at| (200 + at * 10, 0, 1, 0, at.cast_signed(), 1, 1)).collect();
    let mut whole = capture(&[(); 4].map(|()| rows.clone()), 30);
    whole.make_index();
    let lost = |start_ns, end_ns| Loss { stream: None, stage: LossStage::RingFull, count: 3, start_ns, end_ns };
    whole.losses = vec![lost(ORIGIN, ORIGIN + 100), lost(ORIGIN + 100, ORIGIN + 500), lost(ORIGIN + 900, ORIGIN + 950)];
    let range = TimeRange::relative(ORIGIN, 405, 600);
    let part = Narrowed::of(&whole, &Scope { range, filter: None }, &GO).unwrap();
    assert_eq!(part.losses(), &whole.losses[1..2]);
    for stream in 0..4 {
        let chunks = part.chunks(stream);
        assert!(!chunks.is_empty() && chunks.len() < 4, "{chunks:?}");
        // A whole chunk may say its extremes, of a part they would be those of other rows too.
        assert!(chunks.iter().all(|chunk| chunk.rows == 30 || chunk.stats.is_empty()), "{chunks:?}");
        let beyond = part.batch(stream, chunks.len(), |chunk| whole.batch(stream, chunk, &[0]));
        assert!(matches!(beyond, Err(ViewError::Shape { .. })), "{beyond:?}");
    }
}

#[test]
fn a_filter_that_no_stream_has_the_columns_of_is_refused() {
    let whole = capture(&[(); 4].map(|()| vec![(200, 0, 1, 0, 1, 1, 1)]), 30);
    let of = |text: &str| {
        let scope = Scope { range: TimeRange::ALL, filter: Filter::parse(text).unwrap() };
        Narrowed::of(&whole, &scope, &GO)
    };
    assert!(matches!(of("nothing == 1"), Err(ViewError::NoSuchColumn { .. })));
    assert!(matches!(of("number == \"a\""), Err(ViewError::Mismatch { .. } | ViewError::NoSuchColumn { .. })));
    assert!(of("number > 4KiB").is_err_and(|error| error.is_misfit()), "nothing says what it is in");
    let [plain, in_units] = ["duration_ns == 90", "duration_ns == 0.09us"].map(|text| of(text).unwrap());
    let chunks = |part: &Narrowed| (0..4).map(|stream| part.chunks(stream).len()).collect::<Vec<_>>();
    assert_eq!(chunks(&plain), chunks(&in_units));
    assert!(chunks(&plain).contains(&1));
    let one = of("result == 1").unwrap();
    let left: Vec<usize> = (0..4).map(|stream| one.chunks(stream).len()).collect();
    assert_eq!(left, [0, 1, 0, 0]);
    let cancel = std::sync::atomic::AtomicBool::new(true);
    let all = Scope { range: TimeRange::ALL, filter: None };
    assert!(matches!(Narrowed::of(&whole, &all, &cancel), Err(ViewError::Cancelled)));
}

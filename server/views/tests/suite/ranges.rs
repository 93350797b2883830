//! What is read from a range is what all rows say.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Derivation, Display, RowKind, RowMeaning, SliceTime, StreamKind,
    StreamSchema,
};
use bathyscope_views::{
    Cancel, MAX_RANGE_LINES, MAX_WAKEUP_THREADS, MemorySource, RangeDurations, RangeQuery, RangeRest, Source as _,
    TimeRange, TrackId, ViewError, range_amounts, range_counters, range_slices, range_threads, range_waits,
    range_wakeups,
};
use proptest::prelude::*;

const START_NS: u64 = 1000;
const TEXTS: [&str; 8] = ["running", "runnable", "sleeping", "read", "openat", "R", "worker", "fsync \"now\""];
const RUNNING: u64 = 1;
const READ: u64 = 4;
const WORKER: u64 = 7;

/// A row: a word for each column.
type Words = Vec<u64>;

fn column(name: &str, ty: ColumnType) -> Column {
    Column { name: name.to_owned(), ty, display: Display::Decimal }
}

fn made(name: &str, kind: RowKind, key: &[&str], own: Vec<Column>, derived: bool) -> StreamSchema {
    let derived = derived
        .then(|| Box::new(Derivation { rule: "thread states".to_owned(), version: 1, from: vec!["sched".to_owned()] }));
    let rows = Some(Box::new(RowMeaning::new(kind, key)));
    StreamSchema { rows, derived, ..StreamSchema::new(name, StreamKind::Events, own) }
}

fn slice(time: SliceTime, depth: bool) -> RowKind {
    RowKind::Slice { duration: "duration_ns".to_owned(), time, depth: depth.then(|| "depth".to_owned()) }
}

/// Adds a stream whose rows come in the order of `end`, so many in a chunk and there by their times, as they are recorded.
fn push(source: &mut MemorySource, schema: StreamSchema, mut rows: Vec<Words>, chunk: usize, end: fn(&Words) -> u64) {
    rows.sort_by_key(end);
    let batch = |part: &[Words]| {
        let mut part = part.to_vec();
        part.sort_by_key(|row| row[0]);
        let columns = schema.columns.iter().enumerate().map(|(at, column)| {
            let words = part.iter().map(|row| row[at]);
            match column.ty {
                ColumnType::U64 => ColumnData::U64(words.collect()),
                ColumnType::I64 => ColumnData::I64(words.map(u64::cast_signed).collect()),
                ColumnType::Text | ColumnType::Stack => ColumnData::Id(words.map(|word| word as u32).collect()),
            }
        });
        Batch { columns: columns.collect() }
    };
    let batches = rows.chunks(chunk).map(batch).collect();
    source.push_stream(schema, batches);
}

fn empty() -> MemorySource {
    let mut source = MemorySource::new(START_NS);
    for (id, text) in (1..).zip(TEXTS) {
        source.dictionaries.insert_string(id, text.as_bytes());
    }
    source
}

fn text(id: u64) -> &'static str {
    (id as usize).checked_sub(1).and_then(|at| TEXTS.get(at)).copied().unwrap_or_default()
}

/// A row of something that took time: thread, CPU, when it began, for how long, what it is, how deep.
#[derive(Clone, Copy, Debug)]
struct Timed {
    tid: u64,
    cpu: u64,
    begin: u64,
    length: u64,
    name: u64,
    depth: u64,
}

impl Timed {
    fn end(&self) -> u64 {
        self.begin + self.length
    }

    fn is_in(&self, range: TimeRange) -> bool {
        self.begin < range.end_ns && (self.end() > range.start_ns || self.begin >= range.start_ns)
    }

    fn inside(&self, range: TimeRange) -> u64 {
        self.end().min(range.end_ns).saturating_sub(self.begin.max(range.start_ns))
    }

    fn common(&self, time: u64) -> Words {
        vec![time, self.cpu, self.tid / 2 * 2, self.tid, WORKER]
    }
}

/// What some rows are together, from all of them.
fn naive(rows: &[&Timed], range: TimeRange) -> (u64, u64, f64, u64, i64, Vec<u64>) {
    let mut lengths: Vec<u64> = rows.iter().map(|row| row.length).collect();
    lengths.sort_unstable();
    let longest = lengths.last().copied().unwrap_or(0);
    let at = rows.iter().filter(|row| row.length == longest).map(|row| row.begin).min().unwrap_or(START_NS);
    let mean = lengths.iter().sum::<u64>() as f64 / lengths.len().max(1) as f64;
    (rows.len() as u64, rows.iter().map(|row| row.inside(range)).sum(), mean, longest, (at - START_NS) as i64, lengths)
}

fn same(found: &RangeDurations, rows: &[&Timed], range: TimeRange) -> Result<(), TestCaseError> {
    let (count, time, mean, longest, at, lengths) = naive(rows, range);
    prop_assert_eq!((found.count, found.time, found.longest, found.at), (count, time, longest, at));
    prop_assert!((found.mean - mean).abs() <= mean * 1e-9);
    for (share, told) in [(0.5, found.p50), (0.9, found.p90), (0.99, found.p99)] {
        let exact = lengths[((lengths.len() as f64 * share).ceil() as usize).max(1) - 1];
        prop_assert!(told.abs_diff(exact) <= exact / 100, "{told} for {exact}");
    }
    prop_assert_eq!(found.buckets.iter().map(|(_, count)| count).sum::<u64>(), count);
    prop_assert!(found.buckets.is_sorted_by(|a, b| a.0 < b.0));
    Ok(())
}

/// Rows of four threads one after another, some long.
fn sequence() -> impl Strategy<Value = Vec<Timed>> {
    let lengths = prop_oneof![6 => 0_u64..60, 2 => 500_u64..20_000];
    prop::collection::vec((0_u64..5, 0_u64..3, lengths, 1_u64..6), 1..600).prop_map(|parts| {
        let mut last = [START_NS; 5];
        let row = |(tid, cpu, length, name): (u64, u64, u64, u64)| {
            // The idle threads of several CPUs have the same number.
            let cpu = if tid == 0 { 0 } else { cpu };
            let begin = last[tid as usize];
            last[tid as usize] += length;
            Timed { tid, cpu, begin, length, name, depth: 0 }
        };
        parts.into_iter().map(row).collect()
    })
}

/// Slices of three threads, nested: a slice begins, or the innermost ends, and time passes.
fn nested() -> impl Strategy<Value = Vec<Timed>> {
    prop::collection::vec((1_u64..4, any::<bool>(), 1_u64..50, 1_u64..6), 2..600).prop_map(|steps| {
        let (mut open, mut done): (Vec<Vec<Timed>>, Vec<Timed>) = (vec![Vec::new(); 4], Vec::new());
        let mut now = START_NS;
        let mut end = |open: &mut Vec<Timed>, now: u64| {
            done.extend(open.pop().map(|row| Timed { length: now - row.begin, ..row }));
        };
        for (tid, begins, pass, name) in steps {
            now += pass;
            let open = &mut open[tid as usize];
            if begins && open.len() < 6 {
                let depth = open.len() as u64;
                open.push(Timed { tid, cpu: 1, begin: now, length: 0, name, depth });
            } else {
                end(open, now);
            }
        }
        for open in &mut open {
            while !open.is_empty() {
                now += 1;
                end(open, now);
            }
        }
        done
    })
}

fn range_of(rows: &[Timed], from: f64, share: f64) -> TimeRange {
    let end = rows.iter().map(Timed::end).max().unwrap_or(START_NS) + 1;
    let start_ns = START_NS + (from * (end - START_NS) as f64) as u64;
    TimeRange { start_ns, end_ns: start_ns + 1 + (share * (end - START_NS) as f64) as u64 }
}

fn states(rows: &[Timed], chunk: usize) -> MemorySource {
    let mut source = empty();
    let kind = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
    let own = vec![column("duration_ns", ColumnType::U64), column("state", ColumnType::Text)];
    let words = rows.iter().map(|row| [row.common(row.begin), vec![row.length, row.name]].concat()).collect();
    push(&mut source, made("thread states", kind, &["tid"], own, true), words, chunk, |row| row[0] + row[5]);
    source.make_tracks().unwrap();
    source
}

fn track_of(source: &MemorySource, key: u64) -> TrackId {
    let (stream, directory) = &source.tracks()[0];
    let track = directory.tracks.iter().position(|track| track.key == key).unwrap() as u32;
    TrackId { stream: *stream, track }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn states_by_thread_are_those_of_all_rows(
        rows in sequence(), chunk in 1_usize..300, from in 0.0_f64..1.0, share in 0.001_f64..1.0, marked in any::<bool>(),
    ) {
        let (source, range) = (states(&rows, chunk), range_of(&rows, from, share));
        let one = rows[0].tid;
        let key = if one == 0 { 1 << 63 } else { one };
        let tracks = if marked { vec![track_of(&source, key)] } else { Vec::new() };
        let found = range_threads(&source, &RangeQuery { range, tracks }, &Cancel::new(false)).unwrap();
        let mut expected: BTreeMap<(String, &str), Vec<&Timed>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_in(range) && (!marked || row.tid == one)) {
            let key = if row.tid == 0 { "idle:0".to_owned() } else { format!("tid:{}", row.tid) };
            expected.entry((key, text(row.name))).or_default().push(row);
        }
        let lines: usize = found.threads.iter().map(|thread| thread.states.len()).sum();
        prop_assert_eq!((lines, found.rest), (expected.len(), RangeRest::default()));
        let running = |states: &[bathyscope_views::RangeState]| -> u64 {
            states.iter().filter(|it| found.states[it.state as usize] == text(RUNNING)).map(|it| it.time).sum()
        };
        prop_assert!(found.threads.is_sorted_by_key(|thread| std::cmp::Reverse(running(&thread.states))));
        for thread in &found.threads {
            prop_assert_eq!(thread.name.as_str(), text(WORKER));
            for state in &thread.states {
                let key = (thread.key.clone(), found.states[state.state as usize].as_str());
                let (count, time, _, longest, at, _) = naive(&expected[&key], range);
                prop_assert_eq!((state.count, state.time, state.longest, state.at), (count, time, longest, at));
            }
        }
    }

    #[test]
    fn slices_by_name_are_those_of_all_rows_and_own_times_leave_out_what_is_inside(
        rows in nested(), chunk in 1_usize..200, from in 0.0_f64..1.0, share in 0.001_f64..1.0, at_end in any::<bool>(),
    ) {
        let mut source = empty();
        let time = if at_end { SliceTime::End } else { SliceTime::Begin };
        let own =
            ["duration_ns", "depth"].map(|name| column(name, ColumnType::U64)).into_iter().chain([column("name", ColumnType::Text)]);
        let words = rows.iter()
            .map(|row| [row.common(if at_end { row.end() } else { row.begin }), vec![row.length, row.depth, row.name]].concat())
            .collect();
        let end = if at_end { |row: &Words| row[0] } else { |row: &Words| row[0] + row[5] };
        push(&mut source, made("calls", slice(time, true), &["tid"], own.collect(), false), words, chunk, end);
        let range = range_of(&rows, from, share);
        let found = range_slices(&source, &RangeQuery { range, tracks: Vec::new() }, &Cancel::new(false)).unwrap();
        let mut expected: BTreeMap<&str, Vec<&Timed>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_in(range)) {
            expected.entry(text(row.name)).or_default().push(row);
        }
        prop_assert_eq!(found.slices.len(), expected.len());
        for line in &found.slices {
            let of_name = &expected[line.name.as_str()];
            same(&line.durations, of_name, range)?;
            let inside = |parent: &Timed| -> u64 {
                let is_child = |row: &&Timed| row.tid == parent.tid && row.depth == parent.depth + 1
                    && row.begin >= parent.begin && row.end() <= parent.end();
                rows.iter().filter(is_child).map(|row| row.inside(range)).sum()
            };
            let own: u64 = of_name.iter().map(|row| row.inside(range) - inside(row)).sum();
            prop_assert_eq!(line.own, own, "{}", line.name);
            prop_assert!(line.filter.starts_with("name == \""), "{}", line.filter);
        }
    }

    #[test]
    fn waits_and_wake_ups_are_those_of_all_rows(
        rows in sequence(), chunk in 1_usize..300, from in 0.0_f64..1.0, share in 0.001_f64..1.0,
    ) {
        let mut source = empty();
        let own = vec![
            column("duration_ns", ColumnType::U64), column("waker_pid", ColumnType::U64),
            column("waker_tid", ColumnType::U64), column("waker_comm", ColumnType::Text),
        ];
        // Who wakes is told by the name.
        let words = rows.iter()
            .map(|row| [row.common(row.begin), vec![row.length, 0, row.name * 10, row.name]].concat()).collect();
        let schema = made("run-queue latency", slice(SliceTime::Begin, false), &["tid"], own, true);
        push(&mut source, schema, words, chunk, |row| row[0] + row[5]);
        let range = range_of(&rows, from, share);
        let query = RangeQuery { range, tracks: Vec::new() };
        let waits = range_waits(&source, &query, &Cancel::new(false)).unwrap();
        let inside: Vec<&Timed> = rows.iter().filter(|row| row.is_in(range)).collect();
        if !inside.is_empty() {
            same(&waits.all, &inside, range)?;
        }
        for thread in &waits.threads {
            let of_thread: Vec<&Timed> = inside.iter().copied()
                .filter(|row| thread.key == format!("tid:{}", row.tid) || (thread.key == "idle:0" && row.tid == 0)).collect();
            same(&thread.durations, &of_thread, range)?;
            let told: u64 = thread.wakers.iter().map(|waker| waker.count).sum();
            prop_assert_eq!(told + thread.by_others, thread.durations.count);
            for waker in &thread.wakers {
                prop_assert_eq!(waker.count, of_thread.iter().filter(|row| row.name * 10 == waker.tid).count() as u64);
            }
        }
        prop_assert!(range_slices(&source, &query, &Cancel::new(false)).unwrap().slices.is_empty());
        let matrix = range_wakeups(&source, &query, &Cancel::new(false)).unwrap();
        let woken: Vec<&Timed> = rows.iter().filter(|row| range.contains(row.begin)).collect();
        prop_assert_eq!((matrix.total, matrix.uncounted), (woken.len() as u64, 0));
        for (row, column, count) in &matrix.counts {
            let (waker, wakee) = (&matrix.wakers[*row as usize], &matrix.wakees[*column as usize]);
            let exact = woken.iter().filter(|row| row.name * 10 == waker.tid && row.tid == wakee.tid).count() as u64;
            prop_assert_eq!(*count, exact);
        }
    }

    #[test]
    fn bytes_are_those_of_all_rows(
        rows in sequence(), chunk in 1_usize..300, from in 0.0_f64..1.0, share in 0.001_f64..1.0,
    ) {
        let mut source = empty();
        let own = vec![
            column("call", ColumnType::Text), column("result", ColumnType::I64), column("duration_ns", ColumnType::U64),
        ];
        // Every third result is an error.
        let result = |row: &Timed| if row.length.is_multiple_of(3) { -5_i64 } else { row.length as i64 };
        let words = rows.iter()
            .map(|row| [row.common(row.begin), vec![row.name, result(row).cast_unsigned(), row.length]].concat()).collect();
        let schema = made("syscalls", slice(SliceTime::Begin, false), &["tid"], own, false);
        push(&mut source, schema, words, chunk, |row| row[0] + row[7]);
        let range = range_of(&rows, from, share);
        let found = range_amounts(&source, &RangeQuery { range, tracks: Vec::new() }, &Cancel::new(false)).unwrap();
        let moved: Vec<&Timed> = rows.iter()
            .filter(|row| range.contains(row.begin) && row.name == READ && result(row) > 0).collect();
        let sum = |rows: &[&Timed]| rows.iter().map(|row| row.length).sum::<u64>();
        let names: Vec<_> = found.names.iter().map(|line| (line.name.as_str(), line.count, line.bytes)).collect();
        let expected = if moved.is_empty() { vec![] } else { vec![("read", moved.len() as u64, sum(&moved))] };
        prop_assert_eq!(names, expected);
        prop_assert_eq!(found.threads.iter().map(|line| line.bytes).sum::<u64>(), sum(&moved));
        for line in &found.threads {
            let of_thread: Vec<&Timed> = moved.iter().copied().filter(|row| Some(row.tid) == line.tid).collect();
            prop_assert_eq!((line.bytes, line.count), (sum(&of_thread), of_thread.len() as u64));
            prop_assert_eq!(line.most, of_thread.iter().map(|row| row.length).max().unwrap());
            prop_assert_eq!(&line.filter, &format!("tid == {}", line.tid.unwrap()));
        }
    }
}

#[test]
fn counters_are_told_by_their_readings() {
    let mut source = empty();
    let own = vec![
        column("event", ColumnType::Text),
        column("scope", ColumnType::Text),
        column("value", ColumnType::U64),
        column("span_ns", ColumnType::U64),
        column("state", ColumnType::Text),
        column("gauge", ColumnType::U64),
    ];
    let kind = RowKind::Counter {
        value: "value".to_owned(),
        span: Some("span_ns".to_owned()),
        unit: Some("bytes".to_owned()),
        gauge: Some("gauge".to_owned()),
        unit_of: None,
    };
    let row = |time: u64, event: u64, value: u64, state: u64, gauge: u64| {
        vec![START_NS + time, 0, 0, 0, 0, event, 0, value, 10, state, gauge]
    };
    // A counter, a gauge, and one that could not be counted.
    let rows = [(5, 7), (10, 3), (20, 8), (30, 4), (45, 100)].into_iter().flat_map(|(time, value)| {
        [row(time, 3, value, 0, 0), row(time, 4, 50 - value.min(50), 0, 1), row(time, 5, 0, 6, 0)]
    });
    push(&mut source, made("counts", kind, &["event", "scope"], own, false), rows.collect(), 4, |row| row[0]);
    let range = TimeRange { start_ns: START_NS + 10, end_ns: START_NS + 45 };
    let found = range_counters(&source, &RangeQuery { range, tracks: Vec::new() }, &Cancel::new(false)).unwrap();
    let told: Vec<_> = found
        .counters
        .iter()
        .map(|it| (it.name.trim(), it.is_gauge, it.count, [it.least, it.mean, it.most, it.first, it.last, it.change]))
        .collect();
    let expected = [
        ("read", true, 3, [42.0, 45.0, 47.0, 47.0, 46.0, -1.0]),
        ("sleeping", false, 3, [3.0, 5.0, 8.0, 3.0, 4.0, 15.0]),
    ];
    assert_eq!(told, expected);
    assert_eq!(found.counters[0].unit, "bytes");
}

#[test]
fn who_wakes_beyond_the_table_is_counted_together() {
    let mut source = empty();
    let own = vec![
        column("duration_ns", ColumnType::U64),
        column("waker_pid", ColumnType::U64),
        column("waker_tid", ColumnType::U64),
        column("waker_comm", ColumnType::Text),
    ];
    let most = MAX_WAKEUP_THREADS as u64;
    // Thread 100 + n wakes thread 200 + n, the first ones more often.
    let pairs = (0..most + 3).flat_map(|n| std::iter::repeat_n(n, (2 * (most + 3) - n) as usize));
    let rows: Vec<Words> =
        pairs.zip(0..).map(|(n, time)| vec![START_NS + time, 0, 200 + n, 200 + n, 1, 5, 100 + n, 100 + n, 1]).collect();
    let total = rows.len() as u64;
    let schema = made("run-queue latency", slice(SliceTime::Begin, false), &["tid"], own, true);
    push(&mut source, schema, rows, 50, |row| row[0] + row[5]);
    let query = RangeQuery { range: TimeRange::ALL, tracks: Vec::new() };
    let matrix = range_wakeups(&source, &query, &Cancel::new(false)).unwrap();
    assert_eq!((matrix.wakers.len() as u64, matrix.more_wakers, matrix.more_wakees), (most, 3, 3));
    assert_eq!((matrix.wakers[0].tid, matrix.wakees[0].tid, matrix.total), (100, 200, total));
    let corner = (most..most + 3).map(|n| 2 * (most + 3) - n).sum();
    assert_eq!(matrix.counts.last(), Some(&(most as u32, most as u32, corner)));
    assert_eq!(matrix.counts.iter().map(|(_, _, count)| count).sum::<u64>(), total);
}

#[test]
fn names_beyond_the_lines_are_the_rest() {
    let mut source = empty();
    let own = vec![column("duration_ns", ColumnType::U64), column("vec", ColumnType::U64)];
    let names = MAX_RANGE_LINES as u64 + 7;
    let rows: Vec<Words> = (0..names).map(|n| vec![START_NS + n, n % 2, 1, 1, 1, 1 + names - n, n]).collect();
    let schema = made("soft interrupts", slice(SliceTime::Begin, false), &["cpu", "vec"], own, true);
    push(&mut source, schema, rows, 64, |row| row[0] + row[5]);
    let query = RangeQuery { range: TimeRange::ALL, tracks: Vec::new() };
    let found = range_slices(&source, &query, &Cancel::new(false)).unwrap();
    assert_eq!((found.slices[0].name.as_str(), found.slices[0].filter.as_str()), ("HI", "vec == 0"));
    assert_eq!(found.slices.len(), MAX_RANGE_LINES);
    let sum = (0..7).map(|n| n + 2).sum();
    assert_eq!(found.rest, RangeRest { lines: 7, rows: 7, sum, has_further: false });
}

#[test]
fn a_range_is_given_up_and_bad_tracks_are_refused() {
    let rows = [Timed { tid: 1, cpu: 0, begin: START_NS, length: 9, name: RUNNING, depth: 0 }];
    let source = states(&rows, 1);
    let all = RangeQuery { range: TimeRange::ALL, tracks: Vec::new() };
    let stop = AtomicBool::new(false);
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(range_threads(&source, &all, &stop), Err(ViewError::Cancelled)));
    let none = RangeQuery { tracks: vec![TrackId { stream: 0, track: 9 }], ..all.clone() };
    assert!(matches!(range_slices(&source, &none, &Cancel::new(false)), Err(ViewError::NoTrack { track: 9, .. })));
    let many = RangeQuery { tracks: vec![TrackId { stream: 0, track: 0 }; 513], ..all };
    assert!(matches!(range_waits(&source, &many, &Cancel::new(false)), Err(ViewError::OutOfRange { .. })));
}

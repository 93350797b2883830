//! Two sides in one table: sums against plain lists, differences whose truth is known, and what cannot be compared.

use std::collections::BTreeMap;

use bathyscope_capture::{
    CaptureSpec, ColumnType, Display, Loss, LossStage, Method, ShownCell, StreamKind, SyscallSpec, Target,
};
use bathyscope_views::{
    AgainstBy, AgainstLine, AgainstQuery, AgainstTable, Aggregate, AskedOfBoth, CallChoice, CallForest, CallQuery,
    DifferenceVerdict, Filter, HeatAxis, HeatQuery, MapShape, MeasuredSide, MemorySource, Normalised, OnlySide,
    PivotQuery, SideCalls, SideMap, Source, SyscallGroup, SyscallQuery, TimeRange, UnaskedRows, ValueLimits,
    ValueScale, ViewError, calls_against, compare_captures, groups_against, heat_map, heat_pair, map_against,
    matching_stream, syscall_table, syscalls_against,
};

use crate::fixture::{Build, GO, ORIGIN, Own};

use DifferenceVerdict::{BeyondChance, LostRows, TooFew, Untested, WithinChance};

const SECOND: u64 = 1_000_000_000;

/// A generator of numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % sides
    }
}

fn whole(seconds: u64) -> TimeRange {
    TimeRange::relative(ORIGIN, 0, seconds * SECOND)
}

fn query(normalised: Normalised) -> AgainstQuery {
    AgainstQuery { normalised, measure: 0, by: None, limit: 100 }
}

/// System calls of some seconds: each name with how many a second, how long they take, and by whom. Texts get their numbers in the
/// order of the list, so turning it round gives others.
fn calls(seed: u64, seconds: u64, all: &[(&str, u64, u64, &str)]) -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("call", ColumnType::Text, Display::Text),
        ("args", ColumnType::Text, Display::Text),
        ("result", ColumnType::I64, Display::Decimal),
        ("error", ColumnType::Text, Display::Text),
        ("duration_ns", ColumnType::U64, Display::DurationNs),
        ("kind", ColumnType::Text, Display::Text),
        ("cpu_ns", ColumnType::U64, Display::DurationNs),
    ];
    build.stream("syscalls", StreamKind::Events, &own);
    let mut dice = Dice(seed);
    let mut rows: Vec<(u64, &str, u64, &str)> = Vec::new();
    for (name, rate, duration, comm) in all {
        for _ in 0..rate * seconds {
            rows.push((dice.roll(seconds * SECOND), name, duration / 2 + dice.roll(*duration), comm));
        }
    }
    rows.sort_unstable();
    for (time, name, duration, comm) in rows {
        let error = if *name == *"openat" && dice.roll(4) == 0 { Own::T(b"ENOENT") } else { Own::Missing };
        let cells = [
            Own::T(name.as_bytes()),
            Own::T(b"3</x>"),
            Own::I(7),
            error,
            Own::U(duration),
            Own::T(b"call"),
            Own::U(duration / 2),
        ];
        build.event((time, 0, seed + 40, seed + 40, comm.as_bytes()), &cells);
    }
    build.finish()
}

fn calls_query(seconds: u64, group: SyscallGroup) -> SyscallQuery {
    SyscallQuery { range: whole(seconds), filter: None, group, by_bytes: false }
}

fn compared(here: (&MemorySource, u64), there: (&MemorySource, u64), normalised: Normalised) -> AgainstTable {
    let of = |seconds| calls_query(seconds, SyscallGroup::Call);
    let (one, two) = (of(here.1), of(there.1));
    syscalls_against((here.0, &one), (there.0, &two), &query(normalised), &GO).unwrap()
}

fn line<'a>(table: &'a AgainstTable, key: &str) -> &'a AgainstLine {
    let is_it = |line: &&AgainstLine| line.key.first() == Some(&ShownCell::Text(key.to_owned()));
    table.lines.iter().find(is_it).unwrap_or_else(|| panic!("there is no line {key}"))
}

#[test]
fn what_only_one_side_asked_for_is_left_out_and_counted() {
    let spec = |calls: &[&str], signals| {
        let calls = calls.iter().map(|call| (*call).to_owned()).collect();
        let syscalls = SyscallSpec { calls, signals, ..SyscallSpec::default() };
        CaptureSpec::of(Method::Syscalls(syscalls), Target::System)
    };
    let (all, few) = (spec(&[], true), spec(&["clock_nanosleep", "nanosleep"], true));
    let unasked = |a: &CaptureSpec, b: &CaptureSpec| UnaskedRows::between((a, "x86_64"), (b, "x86_64"));
    assert_eq!(unasked(&all, &all), None);
    assert_eq!(unasked(&few, &spec(&["nanosleep", "clock_nanosleep"], true)), None, "their order says nothing");
    assert_eq!(unasked(&all, &CaptureSpec::of(Method::Profile(Default::default()), Target::System)), None);
    assert!(unasked(&all, &spec(&[], false)).is_some());
    let of_both = unasked(&all, &few).unwrap();
    assert_eq!(unasked(&few, &all), Some(of_both.clone()));
    // Sleeping is as it was; all the rest is only in the one that asked for it.
    let sleeps = ("clock_nanosleep", 100, 2000, "sh");
    let there = calls(1, 4, &[("write", 160, 2000, "sh"), ("read", 7, 2000, "cat"), sleeps]);
    let here = calls(2, 4, &[sleeps]);
    let judged = compared((&here, 4), (&there, 4), Normalised::Time);
    assert_eq!(line(&judged, "write").only, Some(OnlySide::There), "nothing but the specs can tell");
    let (one, two) = (AskedOfBoth::new(&here, &of_both), AskedOfBoth::new(&there, &of_both));
    let of = |group| calls_query(4, group);
    for (group, lines) in [(SyscallGroup::Call, 1), (SyscallGroup::Process, 1)] {
        let query_of = of(group);
        let table = syscalls_against((&one, &query_of), (&two, &query_of), &query(Normalised::Time), &GO).unwrap();
        assert_eq!((table.compared, table.changed, table.only_there), (lines, 0, 0), "{table:?}");
        assert_eq!((table.here.rows, table.there.rows), (400, 400));
    }
    let filter = Filter::parse("duration_ns > 0").unwrap();
    let groups = PivotQuery { filter, ..pivot_query(&["comm"], &["count"]) };
    let table = groups_against((&one, &groups), (&two, &groups), &query(Normalised::Time), &GO).unwrap();
    assert_eq!((table.compared, table.there.rows), (1, 400), "{table:?}");
    let side = |source| MeasuredSide { source, span: whole(4) };
    let found = compare_captures(side(&two), side(&one), &GO).unwrap();
    assert!(found.names.iter().all(|name| name.name != "write" && name.name != "cat"), "{:?}", found.names);
    assert_eq!((found.names_changed, found.streams[0].a.rows), (0, 400));
    // What was left out is counted.
    let count = of_both.count(&there, None, (whole(4), None), &GO).unwrap();
    assert_eq!(count.rows, 668);
    let told = count.sentence("there", "was not asked for here").unwrap();
    assert_eq!(
        told,
        "Not recorded on both sides: 668 rows there of what was not asked for here (write 640, read 28). They are left out."
    );
    let none = of_both.count(&here, Some(0), (whole(4), None), &GO).unwrap();
    assert_eq!((none.rows, none.sentence("here", "was not asked for there")), (0, None));
}

#[test]
fn system_calls_are_matched_by_name_and_compared_for_each_second() {
    let usual = [("read", 400, 2000, "nginx"), ("futex", 300, 9000, "nginx"), ("openat", 200, 3000, "sh")];
    let there = calls(1, 4, &usual);
    // The other lasts twice as long, has more reads, slower futexes, no openat and something new; its texts have other numbers.
    let here = calls(2, 8, &[("epoll_wait", 50, 7, "sh"), ("futex", 300, 30_000, "sh"), ("read", 700, 2000, "nginx")]);
    let table = compared((&here, 8), (&there, 4), Normalised::Time);
    let names: Vec<&str> = table.measures.iter().map(|measure| measure.name.as_str()).collect();
    assert_eq!(names, ["calls", "errors", "time", "mean", "p99", "longest", "bytes"]);
    let read = line(&table, "read");
    let calls = read.values[0];
    assert_eq!((calls.here, calls.there), (Some(5600.0), Some(1600.0)));
    assert_eq!((calls.by_here, calls.by_there, calls.difference), (Some(700.0), Some(400.0), Some(300.0)));
    assert_eq!((calls.verdict, read.values[3].verdict, read.values[4].verdict), (BeyondChance, WithinChance, Untested));
    assert_eq!(read.filter, "call == \"read\"");
    let futex = line(&table, "futex");
    assert_eq!((futex.values[0].verdict, futex.values[3].verdict), (WithinChance, BeyondChance));
    assert_eq!(
        (line(&table, "openat").only, line(&table, "epoll_wait").only),
        (Some(OnlySide::There), Some(OnlySide::Here))
    );
    assert_eq!((table.compared, table.only_here, table.only_there, table.changed), (4, 1, 1, 4));
    let gone = &line(&table, "openat").values;
    assert_eq!((gone[0].here, gone[0].verdict, gone[3].here), (Some(0.0), BeyondChance, None));
    assert_eq!((gone[2].verdict, gone[3].verdict, gone[3].difference), (TooFew, Untested, None));
    // As they were counted, and as shares.
    let counted = line(&compared((&here, 8), (&there, 4), Normalised::None), "futex").values[0];
    assert_eq!((counted.by_here, counted.by_there, counted.verdict), (Some(2400.0), Some(1200.0), BeyondChance));
    let share = line(&compared((&here, 8), (&there, 4), Normalised::Total), "read").values[0];
    assert!(
        (share.by_here.unwrap() - 700.0 / 1050.0).abs() < 1e-9
            && (share.by_there.unwrap() - 400.0 / 900.0).abs() < 1e-9
    );
    // The same numbers as in the table of one side.
    let one = syscall_table(&here, &calls_query(8, SyscallGroup::Call), &GO).unwrap();
    for of_one in &one.lines {
        let both = &line(&table, &of_one.call).values;
        let expected = [of_one.times.durations.count, of_one.times.failed, of_one.times.durations.time];
        assert_eq!([both[0].here, both[1].here, both[2].here], expected.map(|number| Some(number as f64)));
        assert_eq!(both[4].here, Some(of_one.times.durations.p99 as f64));
        let counted = line(&table, &of_one.call).histogram.as_ref().unwrap().here.iter().sum::<u64>();
        assert_eq!(counted, of_one.times.durations.count);
    }
}

#[test]
fn what_is_recorded_again_changes_nothing() {
    let usual =
        [("read", 400, 2000, "a"), ("write", 90, 700, "a"), ("futex", 300, 9000, "b"), ("openat", 20, 3000, "b")];
    let marked: u64 = (0..12)
        .map(|seed| {
            let (there, here) = (calls(seed, 3, &usual), calls(seed + 100, 5, &usual));
            compared((&here, 5), (&there, 3), Normalised::Time).changed
        })
        .sum();
    assert_eq!(marked, 0);
}

#[test]
fn processes_count_by_name_as_their_numbers_are_others() {
    let there = calls(1, 4, &[("read", 100, 2000, "nginx"), ("read", 50, 2000, "sh")]);
    let here = calls(7, 4, &[("read", 100, 2000, "nginx"), ("write", 60, 2000, "sh")]);
    let of = |group| {
        let query_of = calls_query(4, group);
        syscalls_against((&here, &query_of), (&there, &query_of), &query(Normalised::Time), &GO).unwrap()
    };
    let by_process = of(SyscallGroup::Process);
    assert_eq!(by_process.lines.len(), 2);
    assert_eq!(line(&by_process, "nginx").values[0].by_here, Some(100.0));
    let by_both = of(SyscallGroup::ProcessCall);
    let keys: Vec<&str> = by_both.keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!((keys, by_both.lines.len(), by_both.only_here, by_both.only_there), (vec!["call", "comm"], 3, 1, 1));
    let filter = &by_both.lines.iter().find(|line| line.only == Some(OnlySide::Here)).unwrap().filter;
    assert_eq!(filter, "call == \"write\" && comm == \"sh\"");
}

#[test]
fn lost_rows_explain_what_they_can_and_an_order_is_kept() {
    let there = calls(1, 4, &[("read", 100, 2000, "a"), ("write", 100, 2000, "a")]);
    let mut here = calls(2, 4, &[("read", 60, 2000, "a"), ("write", 300, 2000, "a")]);
    here.losses.push(Loss {
        stage: LossStage::RingFull,
        stream: Some(0),
        count: 200,
        start_ns: ORIGIN,
        end_ns: ORIGIN + 9,
    });
    let table = compared((&here, 4), (&there, 4), Normalised::Time);
    assert_eq!(
        (line(&table, "read").values[0].verdict, line(&table, "write").values[0].verdict),
        (LostRows, BeyondChance)
    );
    assert_eq!(table.here.lost, 200);
    assert!(
        table.cautions.iter().any(|caution| caution.starts_with("200 rows were lost here")),
        "{:?}",
        table.cautions
    );
    let order = |text: &str| {
        let (measure, by) = AgainstQuery::order(text).unwrap();
        let of = calls_query(4, SyscallGroup::Call);
        let asked = AgainstQuery { measure, by, ..query(Normalised::Time) };
        let table = syscalls_against((&here, &of), (&there, &of), &asked, &GO).unwrap();
        table.lines.iter().map(|line| format!("{:?}", line.key[0])).collect::<Vec<_>>().join(" ")
    };
    let (read, write) = ("Text(\"read\")", "Text(\"write\")");
    for (text, first, second) in [
        ("", write, read),
        ("0.difference", read, write),
        ("-0.difference", write, read),
        ("-0.ratio", write, read),
        ("0.here", read, write),
        ("-2.here", write, read),
    ] {
        assert_eq!(order(text), format!("{first} {second}"), "{text}");
    }
    assert_eq!(AgainstQuery::order("-2.ratio").unwrap(), (2, Some((AgainstBy::Ratio, true))));
    for wrong in ["x", "0.most", "-", "999.here", "0.here.there"] {
        assert!(matches!(AgainstQuery::order(wrong), Err(ViewError::AgainstOrder(_))), "{wrong}");
    }
    let of = calls_query(4, SyscallGroup::Call);
    let asked = AgainstQuery { measure: 7, ..query(Normalised::Time) };
    assert!(matches!(syscalls_against((&here, &of), (&there, &of), &asked, &GO), Err(ViewError::OutOfRange { .. })));
}

/// Rows with a text and a number.
fn rows(stream: &str, number: ColumnType, all: &[(u64, &str, u64)]) -> MemorySource {
    let mut build = Build::default();
    let own = [("name", ColumnType::Text, Display::Text), ("bytes", number, Display::Decimal)];
    build.stream(stream, StreamKind::Events, &own);
    for (time, name, bytes) in all {
        let value = if number == ColumnType::U64 { Own::U(*bytes) } else { Own::T(b"x") };
        build.event((*time, 1, 2, 3, b"sh"), &[Own::T(name.as_bytes()), value]);
    }
    build.finish()
}

fn spread(rate: u64, name: &'static str, bytes: u64) -> Vec<(u64, &'static str, u64)> {
    (0..rate).map(|at| (at * 4 * SECOND / rate, name, bytes + at % 3)).collect()
}

fn pivot_query(by: &[&str], values: &[&str]) -> PivotQuery {
    PivotQuery {
        stream: 0,
        range: whole(4),
        filter: None,
        by: by.iter().map(|name| (*name).to_owned()).collect(),
        values: values.iter().map(|text| Aggregate::parse(text).unwrap()).collect(),
        sort: None,
        descending: true,
        limit: 100,
        bins: 0,
    }
}

#[test]
fn groups_of_rows_are_compared_by_their_key() {
    let made = |parts: Vec<Vec<(u64, &'static str, u64)>>| {
        let mut all = parts.concat();
        all.sort_unstable();
        rows("a:b", ColumnType::U64, &all)
    };
    let there = made(vec![spread(400, "x", 10), spread(300, "y", 100)]);
    let here = made(vec![spread(900, "z", 5), spread(400, "x", 50), spread(300, "y", 100)]);
    let of = pivot_query(&["name"], &["count", "sum:bytes", "mean:bytes", "max:bytes", "distinct:bytes"]);
    let table = groups_against((&here, &of), (&there, &of), &query(Normalised::Time), &GO).unwrap();
    let verdicts = |name: &str| line(&table, name).values.iter().map(|value| value.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts("x"), [WithinChance, BeyondChance, BeyondChance, Untested, Untested]);
    assert_eq!(verdicts("y"), [WithinChance, WithinChance, WithinChance, Untested, Untested]);
    let x = &line(&table, "x").values;
    assert_eq!(
        (x[1].there, x[2].there, x[3].there, x[3].here),
        (Some(4399.0), Some(4399.0 / 400.0), Some(12.0), Some(52.0))
    );
    assert_eq!((line(&table, "z").only, line(&table, "z").filter.as_str()), (Some(OnlySide::Here), "name == \"z\""));
    assert_eq!((table.here.rows, table.there.rows), (1600, 700));
    // All rows are one group without any column, and a filter narrows one side.
    let all = pivot_query(&[], &["count"]);
    let narrow = PivotQuery { filter: Filter::parse("name == \"x\"").unwrap(), ..all.clone() };
    let table = groups_against((&here, &all), (&here, &narrow), &query(Normalised::None), &GO).unwrap();
    assert_eq!((table.lines[0].values[0].here, table.lines[0].values[0].there), (Some(1600.0), Some(400.0)));
}

#[test]
fn streams_that_do_not_match_are_refused_in_words() {
    let (one, other) =
        (rows("a:b", ColumnType::U64, &spread(9, "x", 1)), rows("a:c", ColumnType::U64, &spread(9, "x", 1)));
    let text = rows("a:b", ColumnType::Text, &spread(9, "x", 1));
    let told = |error: ViewError| {
        assert!(error.is_bad_request(), "{error}");
        error.to_string()
    };
    assert!(told(matching_stream(&one, 0, &other).unwrap_err()).contains("has no stream `a:b`"));
    assert_eq!(matching_stream(&one, 0, &text).unwrap(), 0);
    let ask = |by: &[&str], values: &[&str], there: &MemorySource| {
        let of = pivot_query(by, values);
        groups_against((&one, &of), (there, &of), &query(Normalised::Time), &GO).unwrap_err()
    };
    assert!(told(ask(&["bytes"], &["count"], &text)).contains("`bytes` is of another type"));
    assert!(told(ask(&["name"], &["sum:bytes"], &text)).contains("`bytes` is of another type"));
    let stacks = crate::fixture::profile();
    let of = pivot_query(&["stack"], &["count"]);
    let refused = groups_against((&stacks, &of), (&stacks, &of), &query(Normalised::Time), &GO).unwrap_err();
    assert!(told(refused).contains("compared as flame graphs"));
    let calls = calls(1, 1, &[("read", 10, 10, "a")]);
    let of = calls_query(1, SyscallGroup::Call);
    let refused = syscalls_against((&calls, &of), (&one, &of), &query(Normalised::Time), &GO).unwrap_err();
    assert!(matches!(&refused, ViewError::OfOther(inner) if matches!(**inner, ViewError::NoSystemCalls)), "{refused}");
    assert!(refused.is_bad_request());
}

/// Calls of functions: in each round `outer` calls `inner` so many times, and `inner` takes so long.
fn functions(rounds: u64, inner: u64, length: u64, name: &str) -> MemorySource {
    let mut build = Build::default();
    let number = |name| (name, ColumnType::U64, Display::Decimal);
    let text = |name| (name, ColumnType::Text, Display::Text);
    let own = [text("func"), number("depth"), number("duration_ns"), text("caller"), text("state")];
    build.stream("function_graph", StreamKind::Events, &own);
    for round in 0..rounds {
        let start = round * 4 * SECOND / rounds;
        let mut time = start;
        let mut call = |end: u64, name: &str, depth: u64, took: u64| {
            let cells = [Own::T(name.as_bytes()), Own::U(depth), Own::U(took), Own::T(b""), Own::T(b"returned")];
            build.event((end, 0, 9, 9, b"work"), &cells);
        };
        for at in 0..inner {
            let took = length + (at + round) % 5;
            time += took + 10;
            call(time, name, 1, took);
        }
        call(time + 10, "outer", 0, time + 10 - start);
    }
    build.finish()
}

fn of_calls(source: &MemorySource) -> (CallForest, CallChoice) {
    let forest = CallForest::build(source, TimeRange::ALL, &GO).unwrap();
    let choice = CallChoice::new(source, &forest, &CallQuery::default(), &GO).unwrap();
    (forest, choice)
}

#[test]
fn calls_are_compared_by_function_and_by_the_way_that_leads_to_them() {
    let (here, there) = (functions(200, 4, 90, "inner"), functions(200, 2, 90, "inner"));
    let (a, b) = (of_calls(&here), of_calls(&there));
    let range = whole(4);
    let of_here = SideCalls { source: &here, forest: &a.0, choice: &a.1, range };
    let of_there = SideCalls { source: &there, forest: &b.0, choice: &b.1, range };
    let ask = |way: Option<&[&str]>| {
        let way: Option<Vec<String>> = way.map(|way| way.iter().map(|name| (*name).to_owned()).collect());
        calls_against(of_here, of_there, way.as_deref(), &query(Normalised::None), &GO).unwrap()
    };
    let all = ask(None);
    let inner = line(&all, "inner");
    assert_eq!((inner.values[0].here, inner.values[0].there), (Some(800.0), Some(400.0)));
    assert_eq!((inner.values[0].verdict, inner.values[3].verdict), (BeyondChance, WithinChance));
    assert_eq!(line(&all, "outer").values[0].verdict, WithinChance);
    assert!(!inner.has_inner);
    let roots = ask(Some(&[]));
    assert_eq!((roots.lines.len(), line(&roots, "outer").has_inner), (1, true));
    let within = ask(Some(&["outer"]));
    assert_eq!((within.lines.len(), line(&within, "inner").values[0]), (1, inner.values[0]));
    assert!(ask(Some(&["outer", "inner"])).lines.is_empty() && ask(Some(&["nobody"])).lines.is_empty());
    // What has another name on one side is only there.
    let other = functions(200, 4, 90, "other");
    let c = of_calls(&other);
    let of_other = SideCalls { source: &other, forest: &c.0, choice: &c.1, range };
    let table = calls_against(of_here, of_other, Some(&["outer".to_owned()]), &query(Normalised::Time), &GO).unwrap();
    assert_eq!((table.only_here, table.only_there), (1, 1));
    // All of the own time is what shares are of.
    let shares = calls_against(of_here, of_there, None, &query(Normalised::Total), &GO).unwrap();
    let own = |name: &str| line(&shares, name).values[2].by_here.unwrap();
    assert!(
        (own("inner") + own("outer") - 1.0).abs() < 1e-9 && line(&shares, "outer").values[1].by_here.unwrap() > 0.999
    );
}

/// A map with a key of text: readings at each of these moments, with the count of each key.
fn map(name: &str, value: &str, readings: &[(u64, &[(&str, u64)])]) -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("snapshot", ColumnType::U64, Display::Decimal),
        ("key", ColumnType::Text, Display::Text),
        (value, ColumnType::U64, Display::Decimal),
    ];
    build.stream(name, StreamKind::Map, &own);
    for (number, (time, elements)) in (1_u64..).zip(readings) {
        for (key, count) in *elements {
            build.event((*time, 0, 0, 0, b""), &[Own::U(number), Own::T(key.as_bytes()), Own::U(*count)]);
        }
    }
    build.finish()
}

fn side<'a>(source: &'a MemorySource, shape: &'a MapShape, range: TimeRange) -> SideMap<'a> {
    SideMap { source, shape, range }
}

fn shape(source: &MemorySource) -> MapShape {
    MapShape::of(0, &source.streams()[0], false).unwrap()
}

#[test]
fn maps_are_compared_by_key_and_tell_chance_by_their_readings() {
    let made = |rates: &'static [(&'static str, u64)]| {
        let of = |at: u64| rates.iter().map(|(key, rate)| (*key, rate * at + at % 2)).collect::<Vec<_>>();
        let readings: Vec<(u64, Vec<(&str, u64)>)> = (1..=39).map(|at| (at * SECOND / 10, of(at))).collect();
        let readings: Vec<(u64, &[(&str, u64)])> = readings.iter().map(|(time, all)| (*time, all.as_slice())).collect();
        map("@calls", "count", &readings)
    };
    let (here, there) = (made(&[("b", 50), ("a", 90)]), made(&[("a", 30), ("b", 50), ("c", 4)]));
    let (one, two) = (shape(&here), shape(&there));

    let ask = |range: TimeRange, normalised| {
        map_against(side(&here, &one, range), side(&there, &two, range), &query(normalised), &GO).unwrap()
    };
    let table = ask(whole(4), Normalised::None);
    let a = line(&table, "a").values[0];
    assert_eq!((a.here, a.there, a.verdict), (Some(90.0 * 39.0 + 1.0), Some(30.0 * 39.0 + 1.0), BeyondChance));
    assert_eq!((line(&table, "b").values[0].verdict, line(&table, "c").only), (WithinChance, Some(OnlySide::There)));
    assert!(table.cautions.is_empty(), "{:?}", table.cautions);
    // What came in within a range: between the readings at its ends.
    let part = line(&ask(TimeRange::relative(ORIGIN, SECOND, 3 * SECOND + 1), Normalised::None), "a").values[0];
    assert_eq!((part.here, part.there), (Some(90.0 * 20.0), Some(30.0 * 20.0)));
    let rate = line(&ask(whole(4), Normalised::Time), "b").values[0];
    assert_eq!(rate.by_here, Some((50.0 * 39.0 + 1.0) / 4.0));
    // Few readings tell nothing of chance.
    let few = ask(TimeRange::relative(ORIGIN, SECOND, SECOND + 3 * SECOND / 10), Normalised::None);
    assert_eq!((line(&few, "a").values[0].verdict, few.cautions.len()), (TooFew, 2));
    // What is something else there is refused.
    let refused = |other: &MemorySource| {
        let shape = shape(other);
        let (one, two) = (side(&here, &one, whole(4)), side(other, &shape, whole(4)));
        map_against(one, two, &query(Normalised::Time), &GO).unwrap_err().to_string()
    };
    assert!(refused(&map("@calls", "sum", &[(1, &[("a", 1)])])).contains("it is a count here and a sum there"));
}

#[test]
fn histograms_of_maps_lie_in_the_same_buckets() {
    let made = |counts: &[(&str, i64, i64, u64)]| {
        let mut build = Build::default();
        let own = [
            ("snapshot", ColumnType::U64, Display::Decimal),
            ("key", ColumnType::Text, Display::Text),
            ("low", ColumnType::I64, Display::Decimal),
            ("high", ColumnType::I64, Display::Decimal),
            ("count", ColumnType::U64, Display::Decimal),
        ];
        build.stream("@us", StreamKind::Map, &own);
        for (key, low, high, count) in counts {
            let cells = [Own::U(1), Own::T(key.as_bytes()), Own::I(*low), Own::I(*high), Own::U(*count)];
            build.event((SECOND, 0, 0, 0, b""), &cells);
        }
        build.finish()
    };
    let here = made(&[("y", 0, 2, 3), ("x", 2, 4, 5), ("x", 8, 16, 1)]);
    let there = made(&[("x", 1, 2, 7), ("x", 2, 4, 2)]);
    let (one, two) = (shape(&here), shape(&there));
    let (a, b) = (
        SideMap { source: &here, shape: &one, range: whole(4) },
        SideMap { source: &there, shape: &two, range: whole(4) },
    );
    let table = map_against(a, b, &query(Normalised::None), &GO).unwrap();
    let x = line(&table, "x").histogram.as_ref().unwrap();
    let number = |low, high| (ShownCell::Number(low), ShownCell::Number(high));
    assert_eq!(x.buckets, [number(1, 2), number(2, 4), number(8, 16)]);
    assert_eq!((x.here.as_slice(), x.there.as_slice()), (&[0, 5, 1][..], &[7, 2, 0][..]));
    assert_eq!((line(&table, "x").values[0].here, line(&table, "x").values[0].there), (Some(6.0), Some(9.0)));
}

#[test]
fn heat_maps_have_the_same_rows_and_columns_of_one_length() {
    let made = |seconds: u64, least: u64, most: u64| {
        let mut dice = Dice(seconds);
        let mut all: Vec<(u64, &str, u64)> =
            (0..500).map(|_| (dice.roll(seconds * SECOND), "x", least + dice.roll(most - least))).collect();
        all.sort_unstable();
        rows("a:b", ColumnType::U64, &all)
    };
    let (here, there) = (made(8, 1000, 9000), made(3, 20, 400));
    for scale in [ValueScale::Log(2), ValueScale::Linear(40)] {
        let of = |seconds| HeatQuery {
            stream: 0,
            range: whole(seconds),
            filter: None,
            axis: HeatAxis::Value { column: "bytes".to_owned(), scale, limits: ValueLimits::default() },
            columns: 80,
            skip: 0,
            budget_rows: 1,
        };
        let pair = heat_pair((&here, &of(8)), (&there, &of(3)), &GO).unwrap();
        assert_eq!((pair.here.step, pair.there.step), (SECOND / 10, SECOND / 10));
        assert_eq!(
            (pair.here.columns, pair.there.columns, pair.here_ns, pair.there_ns),
            (80, 30, 8 * SECOND, 3 * SECOND)
        );
        assert_eq!(pair.here.buckets, pair.there.buckets);
        let low = |at: usize| format!("{:?}", pair.here.buckets[at].0);
        assert!(pair.here.buckets.windows(2).all(|two| two[0].1 == two[1].0), "without a gap");
        for (map, source, seconds) in [(&pair.here, &here, 8), (&pair.there, &there, 3)] {
            assert_eq!(map.cells.count.iter().sum::<u64>(), 500);
            // By row and column the same as a map of that side alone, whose buckets of powers are the same.
            if scale == ValueScale::Log(2) {
                let alone = HeatQuery { columns: seconds * 10, budget_rows: u64::MAX, ..of(u64::from(seconds)) };
                let alone = heat_map(source, &alone, &GO).unwrap();
                let cells = |map: &bathyscope_views::HeatMap, low: &dyn Fn(usize) -> String| {
                    let cells = map.cells.column.iter().zip(&map.cells.row).zip(&map.cells.count);
                    cells.map(|((column, row), count)| ((*column, low(*row)), *count)).collect::<BTreeMap<_, _>>()
                };
                assert_eq!(cells(map, &low), cells(&alone, &|at| format!("{:?}", alone.buckets[at].0)));
            }
        }
        let offsets = HeatQuery { axis: HeatAxis::Offset { period_ns: SECOND, rows: 10 }, ..of(8) };
        assert!(matches!(heat_pair((&here, &offsets), (&there, &of(3)), &GO), Err(ViewError::AgainstOffsets)));
    }
}

//! Stacks weighted by rows and by columns, below every first level, against plain sums over the rows.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::{ColumnType, Display, MappingKind, StreamKind, StreamSchema};
use bathyscope_views::{
    CompareQuery, ComparedSide, Dictionaries, Filter, FlameQuery, FunctionOrder, GroupBy, LeftOutRows, MemorySource,
    Normalised, RowWeight, SampleUnit, Source, StackChartQuery, SvgOptions, Transform, ViewError, Weight, compare,
    flame, fold, offered_weights, sampled_functions, sandwich, stack_chart, svg,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, Own, symbol};

const FUNCTIONS: [&str; 4] = ["main", "read", "write", "sync"];
const COMMS: [&[u8]; 3] = [b"sh", b"nginx", b"db"];
const GROUPS: [&[u8]; 3] = [b"/system.slice/db.service", b"/lxc.payload.web", b""];

/// One row: frames from the root, frames of the other stack, which comm, CPU, control group, `size`, `took_ns`, and the stream.
type WorkRow = (Vec<usize>, Vec<usize>, usize, u64, usize, i64, u64, bool);

const OWN: [(&str, ColumnType, Display); 5] = [
    ("stack", ColumnType::Stack, Display::Text),
    ("size", ColumnType::I64, Display::Decimal),
    ("took_ns", ColumnType::U64, Display::DurationNs),
    ("cgroup_path", ColumnType::Text, Display::Text),
    ("ustack", ColumnType::Stack, Display::Text),
];

fn stack(build: &mut Build, frames: &[usize]) -> u32 {
    let ids: Vec<u32> = frames
        .iter()
        .rev()
        .map(|at| build.frame(MappingKind::File, b"/bin/x", *at as u64, symbol(FUNCTIONS[*at], &[])))
        .collect();
    build.stacks.stack(&ids)
}

/// Two streams that are both called `work`, and samples that count by themselves.
fn source(rows: &[WorkRow]) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    let sampled = stack(&mut build, &[0]);
    build.sample((0, 0, 1, 1, b"sh"), sampled);
    for second in [false, true] {
        build.stream("work", StreamKind::Events, &OWN);
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.7 == second) {
            let (frames, others) = (stack(&mut build, &row.0), stack(&mut build, &row.1));
            let tid = 10 + row.2 as u64;
            let own = [Own::S(frames), Own::I(row.5), Own::U(row.6), Own::T(GROUPS[row.4]), Own::S(others)];
            build.event((1 + at as u64, row.3, tid, tid, COMMS[row.2]), &own);
        }
    }
    build.finish()
}

fn rows() -> impl Strategy<Value = Vec<WorkRow>> {
    let frames = || vec(0..FUNCTIONS.len(), 1..5);
    let row =
        (frames(), frames(), 0..COMMS.len(), 0u64..3, 0..GROUPS.len(), -50i64..1000, 0u64..1 << 40, any::<bool>());
    vec(row, 1..40)
}

fn weight(column: Option<&str>, stack: Option<&str>) -> Weight {
    let owned = |name: &str| name.to_owned();
    Weight::Rows(RowWeight { stream: "work".to_owned(), stack: stack.map(owned), column: column.map(owned) })
}

/// What a row counts for, if it is not left out.
fn value(row: &WorkRow, column: Option<&str>) -> Option<u64> {
    match column {
        Some("size") => u64::try_from(row.5).ok(),
        Some(_) => Some(row.6),
        None => Some(1),
    }
}

fn group(row: &WorkRow, by: GroupBy) -> Option<String> {
    let comm = String::from_utf8(COMMS[row.2].to_vec()).unwrap();
    match by {
        GroupBy::Process | GroupBy::Comm => Some(comm),
        GroupBy::Thread => Some(format!("{comm} {}", 10 + row.2)),
        GroupBy::Cpu => Some(format!("CPU {}", row.3)),
        GroupBy::Container => {
            Some(["/system.slice/db.service", "lxc web", "[no control group recorded]"][row.4].to_owned())
        }
        // Both streams are called so.
        GroupBy::Source => Some("work".to_owned()),
        GroupBy::None => None,
    }
}

fn folded(source: &MemorySource, query: &FlameQuery) -> BTreeMap<Vec<String>, u64> {
    let folded = fold(source, query, &GO).unwrap();
    let names = |frames: Vec<(&str, _)>| frames.into_iter().map(|(name, _)| name.to_owned()).collect();
    let mut sums = BTreeMap::new();
    for stack in folded.iter() {
        *sums.entry(names(stack.frames)).or_default() += stack.samples;
    }
    sums
}

const LEVELS: [GroupBy; 7] = [
    GroupBy::Process,
    GroupBy::Thread,
    GroupBy::Comm,
    GroupBy::Cpu,
    GroupBy::Container,
    GroupBy::Source,
    GroupBy::None,
];

proptest! {
    #[test]
    fn weights_are_sums_over_rows(rows in rows(), cpu in 0u64..3) {
        let source = source(&rows);
        let filter = Filter::parse(&format!("cpu != {cpu}")).unwrap();
        let wanted: Vec<&WorkRow> = rows.iter().filter(|row| row.3 != cpu).collect();
        for (column, other, unit) in [
            (None, None, "rows"),
            (Some("size"), None, "values"),
            (Some("took_ns"), None, "nanoseconds"),
            (Some("size"), Some("ustack"), "values"),
        ] {
            let weight = weight(column, other);
            let counted = wanted.iter().filter_map(|row| Some((*row, value(row, column)?)));
            let negative = wanted.len() - counted.clone().count();
            let total: u64 = counted.clone().map(|(_, value)| value).sum();
            let frames = |row: &WorkRow| -> Vec<usize> { if other.is_some() { row.1.clone() } else { row.0.clone() } };
            for by in LEVELS {
                let query = FlameQuery {
                    weight: weight.clone(), by, filter: filter.clone(), width: 8192, ..FlameQuery::default()
                };
                let mut expected: BTreeMap<Vec<String>, u64> = BTreeMap::new();
                for (row, value) in counted.clone().filter(|(_, value)| *value > 0) {
                    let names = frames(row).into_iter().map(|at| FUNCTIONS[at].to_owned());
                    *expected.entry(group(row, by).into_iter().chain(names).collect()).or_default() += value;
                }
                prop_assert_eq!(folded(&source, &query), expected, "{:?} {:?}", column, by);
                let graph = flame(&source, &query, &GO).unwrap();
                prop_assert_eq!((graph.total, graph.recorded, graph.unit), (total, total, unit));
                prop_assert_eq!(graph.left_out, LeftOutRows { missing: 0, negative: negative as u64 });
            }
            let query = FlameQuery { weight, filter: filter.clone(), by: GroupBy::None, width: 8192, ..FlameQuery::default() };
            let listed = sampled_functions(&source, &query, FunctionOrder::Own, 100, &GO).unwrap();
            prop_assert_eq!((listed.unit, listed.samples, listed.left_out.negative), (unit, total, negative as u64));
            for (at, name) in FUNCTIONS.iter().enumerate() {
                let sum = |has: &dyn Fn(&[usize]) -> bool| -> u64 {
                    counted.clone().filter(|(row, _)| has(&frames(row))).map(|(_, value)| value).sum()
                };
                let (own, all) = (sum(&|frames| frames.last() == Some(&at)), sum(&|frames| frames.contains(&at)));
                let line = listed.functions.iter().find(|function| function.name == *name);
                prop_assert_eq!(line.map_or((0, 0), |line| (line.own, line.total)), (own, all));
                let found = sandwich(&source, &query, name, &GO).unwrap();
                prop_assert_eq!((found.own, found.total, found.callers.unit), (own, all, unit));
                let only = Transform::FocusFunction { name: (*name).to_owned(), inverted: false };
                let only = flame(&source, &FlameQuery { transforms: vec![only], ..query.clone() }, &GO).unwrap();
                prop_assert_eq!((only.total, only.left_out), (all, LeftOutRows { missing: 0, negative: negative as u64 }));
            }
        }
    }

    #[test]
    fn both_sides_of_a_comparison_count_the_same(rows in rows(), others in rows()) {
        let query = FlameQuery { weight: weight(Some("size"), None), by: GroupBy::None, width: 8192, ..FlameQuery::default() };
        let sum = |rows: &[WorkRow]| -> u64 { rows.iter().filter_map(|row| value(row, Some("size"))).sum() };
        let side = |rows: &[WorkRow]| ComparedSide::read(&source(rows), &query, &GO).unwrap();
        let compared = CompareQuery { flame: query.clone(), normalised: Normalised::None };
        let found = compare(&side(&rows), &[side(&others)], &compared).unwrap();
        prop_assert_eq!((found.graph.total, found.other_totals), (sum(&rows), vec![sum(&others)]));
        prop_assert_eq!(found.other[0], sum(&others) as f64);
        prop_assert_eq!(found.other_left_out.negative, others.iter().filter(|row| row.5 < 0).count() as u64);
    }

    #[test]
    fn every_weight_is_called_as_its_text_says(text in ".{0,40}") {
        let source = source(&[(vec![0], vec![1], 0, 0, 0, 1, 1, false)]);
        match Weight::named(&text, &source) {
            Ok(Weight::Rows(row)) => prop_assert_eq!(row.to_string(), text),
            Ok(_) => prop_assert!(["", "samples"].contains(&text.as_str())),
            Err(error) => prop_assert!(error.to_string().contains("there are: samples")),
        }
    }
}

/// A source whose samples stand for so much time, where that is known.
struct Clocked(MemorySource, Option<u64>);

impl Source for Clocked {
    fn origin_ns(&self) -> u64 {
        self.0.origin_ns()
    }

    fn streams(&self) -> &[StreamSchema] {
        self.0.streams()
    }

    fn chunks(&self, stream: u16) -> &[bathyscope_views::ChunkMeta] {
        self.0.chunks(stream)
    }

    fn batch(
        &self,
        stream: u16,
        chunk: usize,
        wanted: &[usize],
    ) -> Result<std::sync::Arc<bathyscope_capture::Batch>, ViewError> {
        self.0.batch(stream, chunk, wanted)
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.0.dictionaries()
    }

    fn losses(&self) -> &[bathyscope_capture::Loss] {
        self.0.losses()
    }

    fn sample_period_ns(&self, stream: u16) -> Option<u64> {
        self.1.filter(|_| stream == 0)
    }
}

/// Samples of two streams, two of the first and three of the second.
fn two_profiles() -> MemorySource {
    let mut build = Build::default();
    for count in [2, 3] {
        build.profile();
        let frames = stack(&mut build, &[0, 1]);
        (0..count).for_each(|time| build.sample((time, 0, 1, 1, b"sh"), frames));
    }
    build.finish()
}

#[test]
fn samples_of_a_clock_stand_for_time() {
    let source = Clocked(two_profiles(), Some(10_101_010));
    let weight = Weight::named("cpu_time", &source).unwrap();
    assert_eq!(weight, Weight::CpuTime);
    let graph = flame(&source, &FlameQuery { weight, ..FlameQuery::default() }, &GO).unwrap();
    assert_eq!((graph.total, graph.unit, graph.counted.as_str()), (20_202_020, "nanoseconds", "CPU time"));
    assert_eq!(graph.left_out, LeftOutRows { missing: 3, negative: 0 }, "of the other stream it is not known");
    for absent in ["cpu_time", "nanoseconds", "bytes"] {
        let refused = Weight::named(absent, &Clocked(two_profiles(), None)).unwrap_err();
        assert!(matches!(refused, ViewError::NoSuchWeight { .. }), "{refused}");
    }
}

#[test]
fn weights_are_offered_once_and_in_words() {
    let source = Clocked(source(&[(vec![0], vec![1], 0, 0, 0, 1, 1, false)]), Some(1));
    let streams = (0_u16..).zip(source.streams());
    let offered: Vec<(String, String, &str)> = offered_weights(streams, |stream| source.sample_period_ns(stream))
        .into_iter()
        .map(|weight| (weight.value, weight.title, weight.unit))
        .collect();
    let expected = [
        ("samples", "Samples", "samples"),
        ("cpu_time", "CPU time", "nanoseconds"),
        ("@work", "Rows of work", "rows"),
        ("size@work", "size of work", "values"),
        ("took_ns@work", "took_ns of work", "nanoseconds"),
        ("@work#ustack", "Rows of work, by ustack", "rows"),
        ("size@work#ustack", "size of work, by ustack", "values"),
        ("took_ns@work#ustack", "took_ns of work, by ustack", "nanoseconds"),
    ];
    assert_eq!(offered, expected.map(|(value, title, unit)| (value.to_owned(), title.to_owned(), unit)));
    let texts: BTreeSet<&String> = offered.iter().map(|(value, ..)| value).collect();
    assert_eq!(texts.len(), offered.len());
    for (value, ..) in &offered {
        Weight::named(value, &source).unwrap();
    }
    // Who asks for a sum of numbers that name something gets it.
    Weight::named("pid@work", &source).unwrap();
}

#[test]
fn calls_without_a_length_are_left_out_and_told() {
    let mut build = Build::default();
    let own = [
        ("call", ColumnType::Text, Display::Text),
        ("result", ColumnType::I64, Display::Decimal),
        ("duration_ns", ColumnType::U64, Display::DurationNs),
        ("kind", ColumnType::Text, Display::Text),
        ("stack", ColumnType::Stack, Display::Text),
    ];
    build.stream("syscalls", StreamKind::Events, &own);
    let frames = stack(&mut build, &[0, 1]);
    for (time, length, kind) in [(1, 700, "call"), (2, 0, "call"), (3, 0, "signal"), (4, 30, "call")] {
        let own = [Own::T(b"read"), Own::I(0), Own::U(length), Own::T(kind.as_bytes()), Own::S(frames)];
        build.event((time, 0, 1, 1, b"sh"), &own);
    }
    let source = build.finish();
    let weight = Weight::named("duration_ns@syscalls", &source).unwrap();
    let query = FlameQuery { weight, ..FlameQuery::default() };
    let graph = flame(&source, &query, &GO).unwrap();
    assert_eq!((graph.total, graph.left_out), (730, LeftOutRows { missing: 2, negative: 0 }));
    let file = svg(&graph, &SvgOptions::default());
    assert!(
        file.contains("730 ns (duration_ns of syscalls)") && file.contains("2 rows without a value left out"),
        "{file}"
    );
    // Without samples it is rows of what has stacks.
    let plain = flame(&source, &FlameQuery::default(), &GO).unwrap();
    assert_eq!((plain.total, plain.unit, plain.counted.as_str()), (4, "rows", "rows of syscalls"));
    // In the order of time rows are drawn whatever they count for.
    let lanes = StackChartQuery { lanes: bathyscope_views::Lanes::Cpu, limit_lanes: 8 };
    let chart = stack_chart(&source, &query, lanes, &GO).unwrap();
    assert_eq!((chart.recorded, chart.unit), (4, "rows"));
}

#[test]
fn sums_that_do_not_fit_are_refused() {
    let row = |took| (vec![0], vec![0], 0, 0, 0, 1, took, false);
    let source = source(&[row(u64::MAX - 5), row(6)]);
    let query = FlameQuery { weight: weight(Some("took_ns"), None), ..FlameQuery::default() };
    let refused = flame(&source, &query, &GO).unwrap_err();
    assert!(matches!(&refused, ViewError::WeightTooLarge(words) if words == "took_ns of work"), "{refused}");
    let fits = self::source(&[row(u64::MAX - 5), row(5)]);
    assert_eq!(flame(&fits, &query, &GO).unwrap().total, u64::MAX);
}

#[test]
fn containers_that_were_not_recorded_are_told_in_words() {
    let source = two_profiles();
    let query = FlameQuery { by: GroupBy::Container, ..FlameQuery::default() };
    assert!(matches!(flame(&source, &query, &GO), Err(ViewError::NoContainers)));
    let own = FlameQuery { weight: Weight::Own(Some(SampleUnit::Samples)), ..FlameQuery::default() };
    assert_eq!(flame(&source, &own, &GO).unwrap().total, 5);
}

#[test]
fn control_groups_by_number_are_told_apart() {
    let mut build = Build::default();
    build.stream(
        "work",
        StreamKind::Events,
        &[("stack", ColumnType::Stack, Display::Text), ("cgroup", ColumnType::U64, Display::Decimal)],
    );
    let frames = stack(&mut build, &[0]);
    for (time, group) in [(1, 1 << 40), (2, 77), (3, 1 << 40), (4, 0)] {
        build.event((time, 0, 1, 1, b"sh"), &[Own::S(frames), Own::U(group)]);
    }
    let found = folded(&build.finish(), &FlameQuery { by: GroupBy::Container, ..FlameQuery::default() });
    let expected = [("[no control group recorded]", 1), ("control group 1099511627776", 2), ("control group 77", 1)];
    let expected = expected.map(|(group, rows)| (vec![group.to_owned(), "main".to_owned()], rows));
    assert_eq!(found, BTreeMap::from(expected));
}

//! Stacks in the order of time against boxes that are grown sample by sample.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use bathyscope_capture::{ColumnData, ColumnType, Display, MappingKind, RowKind, RowMeaning, StreamKind};
use bathyscope_views::{
    FlameQuery, Lanes, MemorySource, SampleUnit, StackChart, StackChartQuery, StackLane, TimeRange, Transform,
    ViewError, Weight, stack_chart,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, ORIGIN, symbol};

const NAMES: [&str; 5] = ["main", "walk", "read", "sys_read", "spin"];
/// Start, end, level, name, samples.
type NaiveBox = (u64, u64, u32, String, u64);
/// Time, CPU, thread, names from the root.
type Sample = (u64, u64, u64, Vec<usize>);

fn stack(build: &mut Build, names: &[usize]) -> u32 {
    let frame = |build: &mut Build, name: usize| {
        let (kind, module): (_, &[u8]) =
            if name == 3 { (MappingKind::Kernel, b"[kernel.kallsyms]") } else { (MappingKind::File, b"/bin/x") };
        build.frame(kind, module, name as u64, symbol(NAMES[name], &[]))
    };
    let ids: Vec<u32> = names.iter().rev().map(|name| frame(build, *name)).collect();
    build.stacks.stack(&ids)
}

fn source(samples: &[Sample]) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    for (at, (time, cpu, tid, names)) in samples.iter().enumerate() {
        let stack = stack(&mut build, names);
        build.sample((*time, *cpu, 7, *tid, b"x"), stack);
        if at % 7 == 6 {
            build.chunk();
        }
    }
    build.finish()
}

/// Samples whose times ascend: distances are mostly 4, sometimes more.
fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let distance = prop_oneof![6 => Just(4u64), 1 => 0u64..30];
    vec((distance, 0u64..2, 0u64..3, vec(0..NAMES.len(), 0..6)), 1..80).prop_map(|rows| {
        let mut time = 0;
        rows.into_iter()
            .map(|(distance, cpu, tid, names)| {
                time += distance;
                (time, cpu, 10 + tid, names)
            })
            .collect()
    })
}

fn chart(source: &MemorySource, query: &FlameQuery, lanes: Lanes) -> StackChart {
    stack_chart(source, query, StackChartQuery { lanes, limit_lanes: 9 }, &GO).unwrap()
}

fn within(start: u64, end: u64) -> TimeRange {
    TimeRange::relative(ORIGIN, start, end)
}

fn boxes(lane: &StackLane, names: &[String]) -> Vec<NaiveBox> {
    let it = &lane.boxes;
    let name = |at: usize| names[it.name[at] as usize].clone();
    let mut all: Vec<NaiveBox> = (0..it.start.len())
        .map(|at| (it.start[at] as u64, it.start[at] as u64 + it.duration[at], it.level[at], name(at), it.samples[at]))
        .collect();
    all.sort();
    all
}

fn keys(samples: &[Sample], by: Lanes) -> BTreeMap<u64, Vec<&Sample>> {
    let mut lanes: BTreeMap<u64, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        lanes.entry(if by == Lanes::Cpu { sample.1 } else { sample.2 }).or_default().push(sample);
    }
    lanes
}

/// The median distance of neighbours, those at the same time left out.
fn period(samples: &[Sample], by: Lanes) -> u64 {
    let lanes = keys(samples, by);
    let distances = lanes.values().flat_map(|lane| lane.windows(2).map(|pair| pair[1].0 - pair[0].0));
    let mut distances: Vec<u64> = distances.filter(|distance| *distance > 0).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or(0)
}

/// Each level of each sample by itself, then neighbours made one.
fn naive(lane: &[&Sample], period: u64) -> Vec<NaiveBox> {
    let mut whole: Vec<(u64, u64, Vec<String>)> = Vec::new();
    for (at, (time, _, _, names)) in lane.iter().enumerate() {
        let next = lane.get(at + 1).map(|next| next.0).filter(|next| next - time <= period * 2);
        let names: Vec<String> = names.iter().map(|name| NAMES[*name].to_owned()).collect();
        let names = if names.is_empty() { vec!["[no stack]".to_owned()] } else { names };
        whole.push((*time, next.unwrap_or(time + period.max(1)), names));
    }
    let mut out: Vec<NaiveBox> = Vec::new();
    for level in 0..8 {
        let mut last: Option<(NaiveBox, Vec<String>)> = None;
        for (start, end, names) in &whole {
            let path = names.get(..=level).map(<[String]>::to_vec);
            if let (Some((one, before)), Some(path)) = (&mut last, &path)
                && one.1 == *start
                && before == path
            {
                (one.1, one.4) = (*end, one.4 + 1);
                continue;
            }
            out.extend(last.take().map(|(one, _)| one));
            last = path.map(|path| ((*start, *end, level as u32, path[level].clone(), 1), path));
        }
        out.extend(last.map(|(one, _)| one));
    }
    out.retain(|one| one.0 < one.1);
    out.sort();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2000 }))]

    #[test]
    fn boxes_are_those_of_samples_that_follow_each_other(samples in samples(), by_cpu: bool) {
        let by = if by_cpu { Lanes::Cpu } else { Lanes::Thread };
        let end = samples.last().map_or(0, |last| last.0) + 100;
        // Finer than a nanosecond, so that no box has the place of another.
        let query = FlameQuery { range: within(0, end), width: 8192, ..FlameQuery::default() };
        prop_assume!(end < 8192);
        let found = chart(&source(&samples), &query, by);
        let period = period(&samples, by);
        prop_assert_eq!((found.period, found.step, found.grid), (period, 1, 1));
        prop_assert_eq!(found.recorded, samples.len() as u64);
        let lanes = keys(&samples, by);
        prop_assert_eq!(found.lanes.len(), lanes.len());
        for (lane, (key, of_lane)) in found.lanes.iter().zip(&lanes) {
            let wanted = format!("{}:{key}", if by_cpu { "cpu" } else { "tid" });
            prop_assert_eq!((&lane.key, lane.samples), (&wanted, of_lane.len() as u64));
            // Those of the same moment have no length, so whose boxes begin there is not told apart.
            let same_time = of_lane.windows(2).any(|pair| pair[0].0 == pair[1].0);
            if !same_time {
                prop_assert_eq!(boxes(lane, &found.names), naive(of_lane, period));
                prop_assert_eq!(found.hidden, 0);
            }
        }
    }

    #[test]
    fn every_box_is_drawn_or_counted(samples in samples(), width in 1u32..40) {
        let end = samples.last().map_or(0, |last| last.0) + 100;
        let range = within(0, end);
        let of = |width| {
            let found = chart(&source(&samples), &FlameQuery { range, width, ..FlameQuery::default() }, Lanes::Thread);
            let drawn: u64 = found.lanes.iter().map(|lane| lane.boxes.start.len() as u64).sum();
            (drawn + found.hidden, drawn, found.lanes.iter().map(|lane| u64::from(lane.levels)).sum::<u64>())
        };
        let (all, fine, _) = of(8192);
        let (same, coarse, levels) = of(width);
        prop_assert_eq!(all, same);
        prop_assert!(coarse <= fine && coarse <= levels * u64::from(width));
    }
}

#[test]
fn samples_before_the_range_last_into_it_and_none_is_drawn_outside() {
    let samples: Vec<Sample> = (0..10).map(|at| (at * 10, 0, 10, vec![0, usize::from(at % 2 == 0)])).collect();
    let range = within(45, 62);
    let found = chart(&source(&samples), &FlameQuery { range, ..FlameQuery::default() }, Lanes::Thread);
    let of = |start, end, level, name: &str, samples| (start, end, level, name.to_owned(), samples);
    let wanted =
        [of(45, 50, 1, "walk", 1), of(45, 62, 0, "main", 7), of(50, 60, 1, "main", 1), of(60, 62, 1, "walk", 1)];
    assert_eq!(boxes(&found.lanes[0], &found.names), wanted);
    assert_eq!((found.lanes[0].samples, found.recorded), (2, 2), "two of them are in the range");
}

#[test]
fn transforms_and_the_search_are_those_of_the_graph() {
    let samples: Vec<Sample> =
        (0..6).map(|at| (at * 10, 0, 10, if at < 3 { vec![0, 1, 3] } else { vec![0, 4] })).collect();
    let source = source(&samples);
    let lanes = |transforms: &str, search: &str| {
        let search = Some(search.to_owned()).filter(|text| !text.is_empty());
        let transforms = Transform::list(transforms).unwrap();
        let query = FlameQuery { range: within(0, 100), transforms, search, ..FlameQuery::default() };
        chart(&source, &query, Lanes::Thread)
    };
    let names = |found: &StackChart| -> Vec<(String, u32, u64)> {
        boxes(&found.lanes[0], &found.names)
            .into_iter()
            .map(|(_, _, level, name, samples)| (name, level, samples))
            .collect()
    };
    let of = |name: &str, level, samples| (name.to_owned(), level, samples);
    let hidden = lanes("k", "WALK");
    assert_eq!(names(&hidden), [of("walk", 1, 3), of("main", 0, 6), of("spin", 1, 3)]);
    let found: Vec<&str> =
        hidden.names.iter().zip(&hidden.found).filter(|(_, found)| **found).map(|(name, _)| name.as_str()).collect();
    assert_eq!((found, hidden.transforms.len()), (vec!["walk"], 1));
    assert_eq!(names(&lanes("d.walk", "")), [of("main", 0, 3), of("spin", 1, 3)]);
    assert_eq!(names(&lanes("f.walk", "")), [of("walk", 0, 3), of("sys_read", 1, 3)]);
    let none = lanes("d.main", "");
    assert_eq!((none.lanes[0].boxes.start.len(), none.recorded), (0, 6));
}

#[test]
fn time_off_cpus_lasts_as_long_as_it_was_and_is_of_threads() {
    let mut build = Build::default();
    build.stream(
        "off-CPU",
        StreamKind::Samples,
        &[("stack", ColumnType::Stack, Display::Text), ("took", ColumnType::U64, Display::Decimal)],
    );
    let kind = RowKind::Sample { stack: "stack".to_owned(), weight: Some("took".to_owned()), unit: "ns".to_owned() };
    build.streams[0].0.rows = Some(Box::new(RowMeaning::new(kind, &["tid"])));
    for (time, tid, took) in [(100_u64, 10, 5_000_000_000_u64), (7_000, 11, 10), (7_005, 11, 10)] {
        let stack = stack(&mut build, &[0, 2]);
        build.sample((time, 0, 7, tid, b"x"), stack);
        match &mut build.streams[0].1[0].columns[6] {
            ColumnData::U64(values) => values.push(took),
            _ => unreachable!(),
        }
    }
    let source = build.finish();
    let range = within(4_000_000_000, 4_000_000_100);
    let query = FlameQuery { range, weight: Weight::Own(Some(SampleUnit::Nanoseconds)), ..FlameQuery::default() };
    let found = chart(&source, &query, Lanes::Thread);
    assert_eq!((found.lanes.len(), found.unit, found.period), (1, "nanoseconds", 0), "only one thread still waits");
    let wanted = |level, name: &str| (4_000_000_000, 4_000_000_100, level, name.to_owned(), 1);
    assert_eq!(boxes(&found.lanes[0], &found.names), [wanted(0, "main"), wanted(1, "read")]);
    let query = StackChartQuery { lanes: Lanes::Cpu, limit_lanes: 1 };
    let by_cpu = stack_chart(&source, &FlameQuery { range, ..FlameQuery::default() }, query, &GO);
    assert!(matches!(by_cpu, Err(ViewError::TimesByCpu)));
}

#[test]
fn limits_are_told_and_cancelling_ends_it() {
    let samples: Vec<Sample> = (0..30).map(|at| (at, at % 2, 10 + at % 5, vec![0, 1])).collect();
    let source = source(&samples);
    let query = FlameQuery { range: within(0, 100), ..FlameQuery::default() };
    let of = |limit_lanes, go: &AtomicBool| {
        stack_chart(&source, &query, StackChartQuery { lanes: Lanes::Thread, limit_lanes }, go)
    };
    let found = of(2, &GO).unwrap();
    assert_eq!((found.lanes.len(), found.more_lanes, found.recorded), (2, 3, 30));
    assert!(matches!(of(0, &GO), Err(ViewError::OutOfRange { .. })));
    assert!(matches!(of(2, &AtomicBool::new(true)), Err(ViewError::Cancelled)));
}

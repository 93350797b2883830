//! What must hold for every capture, against plain and slow models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::fixture;

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::{ColumnType, Display, MappingKind, ShownCell, StreamKind};
use bathyscope_views::{
    Filter, FlameGraph, FlameQuery, FunctionOrder, Group, GroupBy, MATCH_BELOW, MATCH_SELF, MemorySource, Order,
    RateQuery, RowsQuery, SampledFunction, TimeRange, TimelineQuery, flame, fold, page, rate, sampled_functions,
    timeline,
};
use fixture::{Build, GO, ORIGIN, Own, symbol};
use proptest::{collection::vec, prelude::*};

/// time, cpu, tid, comm, number, text, stack.
type Row = (u64, u64, u64, usize, i64, usize, usize);

const COMMS: [&str; 4] = ["sh", "nginx", "Nginx2", "kworker/0:1"];
const TEXTS: [&str; 4] = ["", "alpha", "beta", "ALPHABET"];
const NAMES: [&str; 6] = ["main", "read", "write", "parse", "__read", "Main"];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0u64..400, 0u64..3, 0u64..6, 0usize..4, -5i64..5, 0usize..4, 0usize..12);
    vec(row, 1..200).prop_map(|rows| {
        let mut time = 0;
        let mut advance = |row: Row| {
            time += row.0;
            (time, row.1, row.2, row.3, row.4, row.5, row.6)
        };
        rows.into_iter().map(&mut advance).collect()
    })
}

fn chunked(build: &mut Build, rows: &[Row], chunk: usize, mut add: impl FnMut(&mut Build, &Row)) {
    for (index, part) in rows.chunks(chunk).enumerate() {
        if index > 0 {
            build.chunk();
        }
        part.iter().for_each(|row| add(build, row));
    }
}

fn events(rows: &[Row], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("number", ColumnType::I64, Display::Decimal),
        ("text", ColumnType::Text, Display::Text),
        ("duration_ns", ColumnType::U64, Display::DurationNs),
    ];
    build.stream("a:b", StreamKind::Events, &own);
    chunked(&mut build, rows, chunk, |build, row| {
        let text = if row.5 == 0 { Own::Missing } else { Own::T(TEXTS[row.5].as_bytes()) };
        build.event(
            (row.0, row.1, row.2 / 2, row.2, COMMS[row.3].as_bytes()),
            &[Own::I(row.4), text, Own::U(took_ns(row))],
        );
    });
    build.finish()
}

fn took_ns(row: &Row) -> u64 {
    row.0 % 97
}

/// Names of a made-up stack, outermost first.
fn stack_names(stack: usize) -> Vec<&'static str> {
    (0..stack % 5).map(|level| NAMES[(stack * 7 + level * (1 + stack / 5)) % NAMES.len()]).collect()
}

fn samples(rows: &[Row], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let frame = |build: &mut Build, name: &&str| {
        let offset = NAMES.iter().position(|other| other == name).unwrap() as u64;
        build.frame(MappingKind::File, b"/bin/x", offset, symbol(name, &[]))
    };
    build.profile();
    chunked(&mut build, rows, chunk, |build, row| {
        let frames: Vec<u32> = stack_names(row.6).iter().rev().map(|name| frame(build, name)).collect();
        let stack = build.stacks.stack(&frames);
        build.sample((row.0, row.1, row.2 / 2, row.2, COMMS[row.3].as_bytes()), stack);
    });
    build.finish()
}

fn in_range(rows: &[Row], range: TimeRange) -> Vec<Row> {
    rows.iter().filter(|row| range.contains(ORIGIN + row.0)).copied().collect()
}

/// Node by path of names: value and own.
fn by_path(graph: &FlameGraph) -> BTreeMap<Vec<String>, (u64, u64)> {
    let mut path: Vec<String> = Vec::new();
    let mut all = BTreeMap::new();
    for index in 0..graph.nodes.id.len() {
        path.truncate(graph.nodes.depth[index] as usize);
        path.push(graph.names[graph.nodes.name[index] as usize].clone());
        let node = (graph.nodes.value[index], graph.nodes.own[index]);
        assert!(all.insert(path.clone(), node).is_none(), "{path:?} is there twice");
    }
    all
}

/// The paths of all samples, and every node with its value and own samples.
type Model = (Vec<Vec<String>>, BTreeMap<Vec<String>, (u64, u64)>);

fn model(rows: &[Row], by: GroupBy, invert: bool) -> Model {
    let mut paths = Vec::new();
    for row in rows {
        let mut path: Vec<String> = stack_names(row.6).iter().map(|name| (*name).to_owned()).collect();
        if path.is_empty() {
            path.push("[no stack]".to_owned());
        }
        if by == GroupBy::Process {
            path.insert(0, COMMS[row.3].to_owned());
        }
        if invert {
            path.reverse();
        }
        path.insert(0, "all".to_owned());
        paths.push(path);
    }
    let mut nodes: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
    nodes.entry(vec!["all".to_owned()]).or_default();
    for path in &paths {
        for depth in 1..=path.len() {
            nodes.entry(path[..depth].to_vec()).or_default().0 += 1;
        }
        nodes.entry(path.clone()).or_default().1 += 1;
    }
    (paths, nodes)
}

fn spans() -> impl Strategy<Value = TimeRange> {
    prop_oneof![
        Just(TimeRange::ALL),
        (0u64..40_000, 0u64..40_000).prop_map(|(a, b)| TimeRange::relative(ORIGIN, a.min(b), a.max(b))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn bins_sum_to_the_rows_of_the_range(
        rows in rows(), chunk in 1usize..70, a in 0u64..30_000, length in 1u64..30_000, width in 1u32..300,
        limit_tracks in 1u32..8, by_cpu: bool, profile: bool, only_sh: bool, indexed: bool,
    ) {
        let mut source = if profile { samples(&rows, chunk) } else { events(&rows, chunk) };
        if indexed {
            source.make_index();
        }
        let range = TimeRange::relative(ORIGIN, a, a + length);
        let chosen = |range: TimeRange| {
            let mut found = in_range(&rows, range);
            found.retain(|row| !only_sh || row.3 == 0);
            found
        };
        let filter = only_sh.then(|| Filter::parse("comm == \"sh\"").unwrap().unwrap());
        let group = if by_cpu { Group::Cpu } else { Group::Thread };
        let query = TimelineQuery { range, width, group, filter: filter.clone(), limit_tracks, streams: None };
        let window = timeline(&source, &query, &GO).unwrap();
        // All rows of the bins that the range touches.
        let absolute = |relative: i64| (relative + ORIGIN as i64).cast_unsigned();
        let expected = chosen(TimeRange { start_ns: absolute(window.start), end_ns: absolute(window.end) });

        let bin_ns = ((window.end - window.start) / i64::from(window.width)).cast_unsigned();
        prop_assert!(window.width <= width.max(2) && bin_ns.is_power_of_two());
        prop_assert!(window.start <= a.cast_signed() && window.end >= (a + length).cast_signed());
        prop_assert!(bin_ns == 1 || window.width > width.max(2) / 2 - 1, "{} of {}", window.width, width);
        let key_of = |row: &Row| if by_cpu { row.1 } else { row.2 };
        let keys: BTreeSet<u64> = expected.iter().map(key_of).collect();
        prop_assert_eq!(window.tracks.len(), keys.len().min(limit_tracks as usize));
        prop_assert_eq!(window.more_tracks as usize, keys.len() - window.tracks.len());
        for (track, bins) in window.tracks.iter().zip(&window.bins) {
            let key = if by_cpu { track.cpu } else { track.tid }.unwrap();
            let of_track: Vec<&Row> = expected.iter().filter(|row| key_of(row) == key).collect();
            let mut model: BTreeMap<u32, BTreeMap<&str, u32>> = BTreeMap::new();
            let mut longest: BTreeMap<u32, u64> = BTreeMap::new();
            for row in &of_track {
                let bin = ((row.0.cast_signed() - window.start).cast_unsigned() / bin_ns) as u32;
                let name = if by_cpu || profile { COMMS[row.3] } else { "a:b" };
                *model.entry(bin).or_default().entry(name).or_default() += 1;
                let known = longest.entry(bin).or_default();
                *known = took_ns(row).max(*known);
            }
            prop_assert_eq!(track.rows, of_track.len() as u64);
            prop_assert_eq!(&bins.bin, &model.keys().copied().collect::<Vec<_>>());
            let sums: Vec<u32> = model.values().map(|names| names.values().sum()).collect();
            prop_assert_eq!(&bins.count, &sums);
            let longest = if profile { Vec::new() } else { longest.into_values().collect() };
            prop_assert_eq!(&bins.longest_ns, &longest);
            for (names, index) in model.values().zip(&bins.name) {
                let shown = window.names[*index as usize].as_str();
                prop_assert_eq!(names.get(shown), names.values().max());
            }
        }
        let rates = rate(&source, &RateQuery { range, bins: width, filter }, &GO).unwrap();
        prop_assert_eq!(rates.streams[0].counts.iter().sum::<u64>(), chosen(range).len() as u64);
        let encoded = window.encode(&serde_json::to_vec(&window).unwrap());
        prop_assert_eq!(encoded.len() % 8, 0);
    }

    #[test]
    fn pages_are_those_of_a_sorted_list(
        rows in rows(), chunk in 1usize..70, range in spans(), column in 0usize..4, descending: bool, filter in 0usize..6,
        offset in 0u64..120, limit in 0u32..40,
    ) {
        let source = events(&rows, chunk);
        let (text, keep): (&str, fn(&Row) -> bool) = [
            ("", (|_| true) as fn(&Row) -> bool),
            ("number < -1 || number >= 3", |row| row.4 < -1 || row.4 >= 3),
            ("comm ~ \"*nginx*\" && cpu != 1", |row| row.3 == 1 && row.1 != 1),
            ("!(text == \"beta\")", |row| row.5 != 2),
            ("alpha", |row| row.5 == 1 || row.5 == 3),
            ("time > 500 && tid & 0x2", |row| row.0 > 500 && row.2 & 2 != 0),
        ][filter];
        let mut expected = in_range(&rows, range);
        expected.retain(keep);
        let (matched, total) = (expected.len() as u64, rows.len() as u64);
        // Stable, so equal rows stay in time order either way; time itself is turned round whole.
        match (column, descending) {
            (0, false) => {}
            (0, true) => expected.reverse(),
            (1, false) => expected.sort_by_key(|row| row.4),
            (1, true) => expected.sort_by_key(|row| std::cmp::Reverse(row.4)),
            (2, false) => expected.sort_by_key(|row| Some(TEXTS[row.5]).filter(|text| !text.is_empty())),
            (2, true) => {
                expected.sort_by_key(|row| std::cmp::Reverse(Some(TEXTS[row.5]).filter(|text| !text.is_empty())));
            }
            (_, false) => expected.sort_by_key(|row| row.1),
            (_, true) => expected.sort_by_key(|row| std::cmp::Reverse(row.1)),
        }
        let order = vec![Order { column: ["time", "number", "text", "cpu"][column].to_owned(), descending }];
        let filter = Filter::parse(text).unwrap();
        let query = RowsQuery { range, filter, order, offset, limit, ..RowsQuery::new(0) };
        let found = page(&source, &query, &GO).unwrap();
        let cells = |row: &Row| vec![
            ShownCell::Number(row.0.into()), ShownCell::Number(row.1.into()), ShownCell::Number((row.2 / 2).into()),
            ShownCell::Number(row.2.into()), ShownCell::Text(COMMS[row.3].to_owned()), ShownCell::Number(row.4.into()),
            if row.5 == 0 { ShownCell::Null } else { ShownCell::Text(TEXTS[row.5].to_owned()) },
            ShownCell::Number(took_ns(row).into()),
        ];
        let expected: Vec<_> = expected.iter().skip(offset as usize).take(limit as usize).map(cells).collect();
        prop_assert_eq!(found.rows, expected);
        prop_assert_eq!((found.matched, found.total), (matched, total));
    }

    #[test]
    fn flame_graphs_are_those_of_a_plain_tree(
        rows in rows(), chunk in 1usize..70, range in spans(), invert: bool, by_process: bool, width in 1u32..60,
        pick in any::<prop::sample::Index>(),
    ) {
        let source = samples(&rows, chunk);
        let by = if by_process { GroupBy::Process } else { GroupBy::None };
        let wide = FlameQuery { range, by, invert, width: 8192, search: Some("READ".to_owned()), ..FlameQuery::default() };
        let (paths, nodes) = model(&in_range(&rows, range), by, invert);
        let full = flame(&source, &wide, &GO).unwrap();
        prop_assert_eq!(full.total, paths.len() as u64);
        prop_assert_eq!(full.nodes.value[0], full.total);
        prop_assert_eq!(&by_path(&full), &nodes);
        let has_hit = |path: &&Vec<String>| path.iter().any(|name| name.contains("read"));
        let hits = paths.iter().filter(has_hit).count() as u64;
        prop_assert_eq!(full.matched_samples, hits);

        // A node of its own width: children lie within it, in the order of names, and do not overlap.
        let mut right: Vec<u64> = Vec::new();
        let mut end_of_last: Vec<u64> = vec![0];
        for index in 0..full.nodes.id.len() {
            let depth = full.nodes.depth[index] as usize;
            right.truncate(depth);
            end_of_last.truncate(depth + 1);
            let (x, end) = (full.nodes.x[index], full.nodes.x[index] + full.nodes.value[index]);
            prop_assert!(right.last().is_none_or(|right| end <= *right) && end_of_last[depth] <= x);
            end_of_last[depth] = end;
            end_of_last.push(x);
            right.push(end);
        }

        // Narrow: fewer nodes, the same numbers, nothing that was found is forgotten.
        let narrow = flame(&source, &FlameQuery { width, ..wide.clone() }, &GO).unwrap();
        let kept = by_path(&narrow);
        prop_assert!(kept.iter().all(|(path, node)| nodes.get(path) == Some(node)));
        let wide_enough = |value: u64| value * u64::from(width) >= full.total;
        prop_assert_eq!(kept.len(), nodes.values().filter(|node| wide_enough(node.0)).count());
        prop_assert_eq!(narrow.cut.nodes as usize, nodes.len() - kept.len());
        let outermost = |path: &Vec<String>| !kept.contains_key(path) && kept.contains_key(&path[..path.len() - 1]);
        let cut: u64 = nodes.iter().filter(|(path, _)| outermost(path)).map(|(_, node)| node.0).sum();
        prop_assert_eq!(narrow.cut.samples, cut);
        prop_assert_eq!((narrow.matched_samples, narrow.unresolved), (full.matched_samples, full.unresolved));
        for (path, bits) in kept.keys().zip(by_path_matched(&narrow).values()) {
            let cut_hit = |other: &&Vec<String>| {
                let base = (1..other.len()).rev().find(|depth| kept.contains_key(&other[..*depth])).unwrap_or(0);
                !kept.contains_key(*other) && other.last().unwrap().contains("read") && other[..base] == path[..]
            };
            prop_assert_eq!(bits & MATCH_SELF != 0, path.last().unwrap().contains("read"));
            prop_assert_eq!(bits & MATCH_BELOW != 0, nodes.keys().any(|other| cut_hit(&other)), "{:?}", path);
        }

        // Focus: the node fills the width, those below it keep their values.
        let chosen = pick.index(full.nodes.id.len());
        let focus = Some(full.nodes.id[chosen]);
        let focused = flame(&source, &FlameQuery { focus, ..wide.clone() }, &GO).unwrap();
        prop_assert_eq!((focused.focus, focused.focus_total), (focus, full.nodes.value[chosen]));
        prop_assert_eq!(focused.total, full.total);
        prop_assert!(by_path(&focused).iter().all(|(path, node)| nodes.get(path) == Some(node)));
        let end = (chosen + 1..full.nodes.id.len()).find(|i| full.nodes.depth[*i] <= full.nodes.depth[chosen]);
        let above = end.unwrap_or(full.nodes.id.len()) - chosen;
        prop_assert_eq!(focused.nodes.id.len(), above + full.nodes.depth[chosen] as usize);

        let folded = fold(&source, &wide, &GO).unwrap();
        prop_assert_eq!(folded.iter().map(|stack| stack.samples).sum::<u64>(), full.total);

        // Functions: the same sums as by walking over every stack.
        let plain = FlameQuery { by: GroupBy::None, invert: false, search: None, ..wide.clone() };
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for stack in fold(&source, &plain, &GO).unwrap().iter() {
            let names: BTreeSet<&str> = stack.frames.iter().map(|(name, _)| *name).collect();
            names.into_iter().for_each(|name| sums.entry(name.to_owned()).or_default().1 += stack.samples);
            sums.get_mut(stack.frames.last().unwrap().0).unwrap().0 += stack.samples;
        }
        for order in [FunctionOrder::Own, FunctionOrder::Total] {
            let listed = sampled_functions(&source, &FlameQuery { search: None, ..wide.clone() }, order, 1000, &GO).unwrap();
            let all = listed.functions.iter().map(|one| (one.name.clone(), (one.own, one.total))).collect();
            prop_assert_eq!(&sums, &all);
            let key = |one: &SampledFunction| if order == FunctionOrder::Own { one.own } else { one.total };
            prop_assert!(listed.functions.is_sorted_by(|a, b| key(a) >= key(b)));
            let one = sampled_functions(&source, &FlameQuery { search: Some("READ".into()), ..wide.clone() }, order, 1, &GO).unwrap();
            prop_assert_eq!(one.total, sums.keys().filter(|name| name.to_lowercase().contains("read")).count());
            prop_assert!(one.functions.len() <= 1);
        }
    }
}

fn by_path_matched(graph: &FlameGraph) -> BTreeMap<Vec<String>, u8> {
    let mut path: Vec<String> = Vec::new();
    let mut all = BTreeMap::new();
    for index in 0..graph.nodes.id.len() {
        path.truncate(graph.nodes.depth[index] as usize);
        path.push(graph.names[graph.nodes.name[index] as usize].clone());
        all.insert(path.clone(), graph.nodes.matched[index]);
    }
    all
}

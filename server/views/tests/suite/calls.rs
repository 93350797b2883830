//! Calls of functions against plain models: the nesting, the choice, the ranking, the chart and the flame graph.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::fixture;

use std::collections::BTreeMap;

use bathyscope_capture::{ColumnType, Display, StreamKind};
use bathyscope_views::{
    CallChoice, CallForest, CallLine, CallQuery, CallState, ChartQuery, Filter, FlameQuery, FunctionRank,
    FunctionsQuery, GroupBy, Lanes, MAX_CALL_LINES, MemorySource, Part, TimeRange, ViewError, all_call_lines,
    call_chart, call_flame, call_lines, call_overview, call_page, find_call, flame, places, rank_functions,
};
use fixture::{Build, GO, ORIGIN, Own};
use proptest::{collection::vec, prelude::*};

const NAMES: [&str; 6] = ["vfs_read", "vfs_write", "schedule", "do_irq", "kmalloc", "kfree"];

/// A call as it was made.
#[derive(Clone, Debug, PartialEq)]
struct Made {
    tid: u64,
    cpu: u64,
    function: usize,
    depth: u64,
    start: u64,
    end: u64,
    state: &'static str,
}

impl Made {
    fn contains(&self, other: &Self) -> bool {
        self.tid == other.tid && self.depth < other.depth && self.start < other.start && other.end < self.end
    }
}

/// A thread's calls by steps: down into a function, or up out of one; some are not recorded.
fn walk(tid: u64, steps: &[(bool, usize, u64, bool)]) -> Vec<Made> {
    let (mut open, mut done, mut time) = (Vec::<(Made, bool)>::new(), Vec::new(), tid);
    for (down, function, passed, lost) in steps {
        // No two things at one moment.
        time += 8 + passed * 8;
        if *down && open.len() < 6 {
            let (depth, cpu) = (open.len() as u64, (tid + *function as u64 % 2) % 3);
            open.push((Made { tid, cpu, function: *function, depth, start: time, end: 0, state: "returned" }, *lost));
        } else if let Some((call, lost)) = open.pop() {
            done.extend((!lost).then_some(Made { end: time, ..call }));
        }
    }
    // What is still open ends at one moment, the outer ones first, as the recorder gives them.
    time += 1 << 20;
    let end = time - time % (1 << 20);
    done.extend(open.into_iter().filter(|(_, lost)| !lost).map(|(call, _)| Made { end, state: "unfinished", ..call }));
    done
}

fn calls() -> impl Strategy<Value = Vec<Made>> {
    let step = (any::<bool>(), 0_usize..6, 0_u64..50, prop::bool::weighted(0.1));
    vec(vec(step, 0..80), 1..4).prop_map(|threads| {
        let walks = (1_u64..).zip(&threads).flat_map(|(tid, steps)| walk(tid, steps));
        let mut all: Vec<Made> = walks.collect();
        all.sort_by_key(|call| call.end);
        all
    })
}

fn source(calls: &[Made], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let text = |name| (name, ColumnType::Text, Display::Text);
    let number = |name| (name, ColumnType::U64, Display::Decimal);
    let own = [text("func"), number("depth"), number("duration_ns"), text("caller"), text("state")];
    build.stream("function_graph", StreamKind::Events, &own);
    for (index, call) in calls.iter().enumerate() {
        if index > 0 && index % chunk == 0 {
            build.chunk();
        }
        let common = (call.end, call.cpu, call.tid, call.tid, &b"work"[..]);
        let duration = Own::U(call.end - call.start);
        let name = Own::T(NAMES[call.function].as_bytes());
        build.event(common, &[name, Own::U(call.depth), duration, Own::T(b""), Own::T(call.state.as_bytes())]);
    }
    build.finish()
}

fn all(source: &MemorySource) -> (CallForest, CallChoice) {
    chosen(source, &CallQuery::default())
}

fn chosen(source: &MemorySource, query: &CallQuery) -> (CallForest, CallChoice) {
    let forest = CallForest::build(source, TimeRange::ALL, &GO).unwrap();
    let choice = CallChoice::new(source, &forest, query, &GO).unwrap();
    (forest, choice)
}

/// All levels, by paging with pages of `limit`: each call with the index of the one that it is shown in.
fn unfolded(
    source: &MemorySource,
    forest: &CallForest,
    choice: &CallChoice,
    limit: u32,
) -> Vec<(Option<u64>, CallLine)> {
    let mut found = Vec::new();
    let mut open: Vec<Option<u64>> = vec![None];
    while let Some(parent) = open.pop() {
        let mut offset = 0;
        loop {
            let page = call_page(source, forest, choice, parent, offset, limit);
            assert_eq!(page.calls.len() as u64, u64::from(limit).min(page.total - offset));
            offset += page.calls.len() as u64;
            for call in page.calls {
                open.extend((call.children > 0).then_some(Some(call.id)));
                found.push((parent, call));
            }
            if offset == page.total {
                break;
            }
        }
    }
    found
}

/// The call right around another one, of those that were recorded.
fn parent_of(calls: &[Made], call: &Made) -> Option<usize> {
    let around = calls.iter().enumerate().filter(|(_, outer)| outer.contains(call) || is_open_around(outer, call));
    around.max_by_key(|(_, outer)| outer.depth).map(|(index, _)| index)
}

/// Both never ended: their ends are one moment.
fn is_open_around(outer: &Made, call: &Made) -> bool {
    let both = outer.state == "unfinished" && call.state == "unfinished";
    both && outer.tid == call.tid && outer.depth < call.depth && outer.start < call.start
}

fn inner_ns(calls: &[Made], of: usize) -> u64 {
    let own = calls.iter().filter(|call| parent_of(calls, call) == Some(of));
    own.map(|call| call.end - call.start).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_tree_is_what_was_called_within_what(calls in calls(), chunk in 1_usize..40, limit in 1_u32..9) {
        let source = source(&calls, chunk);
        let (forest, choice) = all(&source);
        let found = unfolded(&source, &forest, &choice, limit);
        prop_assert_eq!(found.len(), calls.len());
        for (parent, line) in &found {
            let call = &calls[line.id as usize];
            prop_assert_eq!(parent.map(|id| id as usize), parent_of(&calls, call), "{:?}", call);
            prop_assert_eq!(&line.function, NAMES[call.function]);
            prop_assert_eq!((line.start, line.duration), (call.start as i64, call.end - call.start));
            prop_assert_eq!(line.own, (call.end - call.start).saturating_sub(inner_ns(&calls, line.id as usize)));
            let expected = parent_of(&calls, call).map_or(0, |outer| calls[outer].depth + 1);
            prop_assert_eq!(line.gap, call.depth != expected);
            prop_assert_eq!(line.state == CallState::Unfinished, call.state == "unfinished");
        }
        // A text has the same calls, in order of time within each call, with the outer ones first.
        let (lines, more) = call_lines(&source, &forest, &choice, None);
        prop_assert!(!more && lines.len() == calls.len());
        prop_assert_eq!(all_call_lines(&source, &forest, &choice, None).collect::<Vec<_>>(), lines.clone());
        prop_assert!(lines.iter().filter(|line| parent_of(&calls, &calls[line.id as usize]).is_none()).is_sorted_by_key(|line| line.start));
    }

    #[test]
    fn a_choice_keeps_what_is_around_it(
        calls in calls(), longer in 0_u64..600, a in 0_u64..4000, length in 1_u64..4000, name in 0_usize..6, filtered: bool,
    ) {
        let source = source(&calls, 16);
        let range = TimeRange::relative(ORIGIN, a, a + length);
        let filter = filtered.then(|| Filter::parse(&format!("func == \"{}\"", NAMES[name])).unwrap().unwrap());
        let query = CallQuery { range, filter, longer_ns: longer, ..CallQuery::default() };
        let (forest, choice) = chosen(&source, &query);
        let found = unfolded(&source, &forest, &choice, 7);
        let is_hit = |call: &Made| (!filtered || call.function == name) && call.end - call.start >= longer
            && call.start < a + length && call.end >= a;
        for (index, call) in calls.iter().enumerate() {
            let below = |other: &Made| {
                let mut at = parent_of(&calls, other);
                while at.is_some_and(|outer| outer != index) { at = parent_of(&calls, &calls[at.unwrap()]); }
                at == Some(index)
            };
            let shown = is_hit(call) || calls.iter().any(|other| is_hit(other) && below(other));
            let line = found.iter().find(|(_, line)| line.id as usize == index);
            prop_assert_eq!(line.is_some(), shown);
            prop_assert!(line.is_none_or(|(_, line)| line.hit == is_hit(call)));
        }
        // Each place leads to its call.
        for (_, line) in &found {
            let place = &places(&source, &forest, &choice, &[line.id])[0];
            let mut parent = None;
            for step in &place.path {
                let page = call_page(&source, &forest, &choice, parent, step.index, 1);
                prop_assert_eq!(page.calls[0].id, step.id);
                parent = Some(step.id);
            }
            prop_assert_eq!(parent, Some(line.id));
        }
    }

    #[test]
    fn functions_have_the_numbers_of_their_calls(calls in calls(), by_cpu: bool) {
        let source = source(&calls, 16);
        let (forest, choice) = all(&source);
        let part = if by_cpu { Part::Cpu } else { Part::Whole };
        let query = FunctionsQuery { part, rank: FunctionRank::Longest, ascending: false, search: String::new(), offset: 0, limit: 1000 };
        let page = rank_functions(&source, &forest, &choice, &query, &GO).unwrap();
        let mut expected: BTreeMap<(usize, Option<u64>), Vec<usize>> = BTreeMap::new();
        for (index, call) in calls.iter().enumerate() {
            expected.entry((call.function, by_cpu.then_some(call.cpu))).or_default().push(index);
        }
        prop_assert_eq!(page.rows.len(), expected.len());
        prop_assert!(page.rows.is_sorted_by_key(|row| std::cmp::Reverse(row.longest)));
        for row in &page.rows {
            let function = NAMES.iter().position(|name| *name == row.function).unwrap();
            let indexes = &expected[&(function, row.cpu)];
            let known: Vec<usize> = indexes.iter().copied().filter(|index| calls[*index].state == "returned").collect();
            let mut durations: Vec<u64> = known.iter().map(|index| calls[*index].end - calls[*index].start).collect();
            durations.sort_unstable();
            prop_assert_eq!((row.calls, row.cut), (indexes.len() as u64, (indexes.len() - known.len()) as u64));
            prop_assert_eq!(row.total, durations.iter().sum::<u64>());
            let own = known.iter().map(|index| (calls[*index].end - calls[*index].start) - inner_ns(&calls, *index));
            prop_assert_eq!(row.own, own.sum::<u64>());
            prop_assert_eq!(row.longest, durations.last().copied().unwrap_or(0));
            let at_most = |value: u64| durations.iter().filter(|duration| **duration <= value).count();
            for (value, hundredths) in [(row.median, 50), (row.p99, 99)] {
                prop_assert!(durations.is_empty() || (durations.contains(&value) && at_most(value) * 100 >= durations.len() * hundredths));
                prop_assert!(value == 0 || at_most(value - 1) * 100 < durations.len() * hundredths);
            }
            let longest = row.longest_id.map(|id| calls[id as usize].end - calls[id as usize].start);
            prop_assert_eq!(longest, durations.last().copied());
        }
    }

    #[test]
    fn a_chart_has_or_counts_every_call(calls in calls(), width in 1_u32..300, by_cpu: bool) {
        let source = source(&calls, 16);
        let range = TimeRange::of(&source);
        let (forest, choice) = chosen(&source, &CallQuery { range, ..CallQuery::default() });
        let lanes = if by_cpu { Lanes::Cpu } else { Lanes::Thread };
        let chart = call_chart(&source, &forest, &choice, ChartQuery { width, lanes, limit_lanes: 100 }).unwrap();
        prop_assert_eq!(chart.lanes.iter().map(|lane| lane.calls).sum::<u64>(), calls.len() as u64);
        for lane in &chart.lanes {
            let boxes = &lane.boxes;
            prop_assert_eq!(boxes.id.len() as u64 + boxes.more.iter().sum::<u64>(), lane.calls);
            for level in 0..lane.levels {
                let on_level: Vec<usize> = (0..boxes.id.len()).filter(|index| boxes.level[*index] == level).collect();
                prop_assert!(on_level.len() <= width as usize);
                // Nothing of a level lies over another.
                for pair in on_level.windows(2) {
                    prop_assert!(boxes.start[pair[0]] + boxes.duration[pair[0]] as i64 <= boxes.start[pair[1]], "{:?}", lane);
                }
            }
            for (index, id) in boxes.id.iter().enumerate() {
                prop_assert_eq!(&chart.names[boxes.name[index] as usize], NAMES[calls[*id as usize].function]);
            }
        }
    }

    #[test]
    fn a_flame_graph_has_the_time_of_calls(calls in calls(), a in 0_u64..3000, length in 1_u64..5000) {
        let source = source(&calls, 16);
        for range in [TimeRange::ALL, TimeRange::relative(ORIGIN, a, a + length)] {
            let query = FlameQuery { range, by: GroupBy::None, width: 8192, ..FlameQuery::default() };
            let graph = flame(&source, &query, &GO).unwrap();
            let (forest, _) = all(&source);
            prop_assert_eq!(&call_flame(&source, &forest, &query, &GO).unwrap(), &graph);
            prop_assert_eq!(graph.unit, "nanoseconds");
            let clipped = |call: &Made| (call.end + ORIGIN).min(range.end_ns).saturating_sub((call.start + ORIGIN).max(range.start_ns));
            let own = |index: usize| {
                let inner: u64 = calls.iter().filter(|call| parent_of(&calls, call) == Some(index)).map(clipped).sum();
                clipped(&calls[index]) - inner
            };
            let known = (0..calls.len()).filter(|index| calls[*index].state == "returned");
            prop_assert_eq!(graph.total, known.map(own).sum::<u64>());
        }
    }

    #[test]
    fn a_search_goes_round_in_order(calls in calls()) {
        let source = source(&calls, 16);
        let (forest, choice) = all(&source);
        let first = find_call(&source, &forest, &choice, "VFS_", None, false);
        prop_assert_eq!(first.total, calls.iter().filter(|call| call.function < 2).count() as u64);
        let (mut from, mut seen) = (None, Vec::new());
        for number in 1..=first.total {
            let found = find_call(&source, &forest, &choice, "VFS_", from, false);
            prop_assert_eq!(found.number, number);
            from = Some(found.place.unwrap().call.id);
            seen.push(from);
        }
        for expected in seen.iter().rev().skip(1) {
            from = Some(find_call(&source, &forest, &choice, "VFS_", from, true).place.unwrap().call.id);
            prop_assert_eq!(from, *expected);
        }
    }
}

/// Boxes of an overview: thread, level, and the pixel that its calls end in, or none where they end after the window.
type Pixel = (String, u32, Option<u64>);

/// The longest call of each pixel of a level, and how many others end there.
fn longest(calls: &[Made], range: (u64, u64), bin_ns: u64) -> BTreeMap<Pixel, (u64, Vec<usize>, u64)> {
    let inside = |call: &&Made| call.end >= range.0 && call.end < range.1;
    let across = |call: &&Made| call.end >= range.1 && call.start < range.1;
    let tops = |tid: u64| {
        let shown = calls.iter().filter(|call| inside(call) || across(call));
        shown.filter(|call| call.tid == tid).map(|call| call.depth).min().unwrap_or(0)
    };
    let mut pixels: BTreeMap<Pixel, (u64, Vec<usize>, u64)> = BTreeMap::new();
    for call in calls.iter().filter(|call| inside(call) || across(call)) {
        let bin = inside(&call).then(|| (ORIGIN + call.end) / bin_ns);
        let key = (format!("tid:{}", call.tid), (call.depth - tops(call.tid)) as u32, bin);
        let (most, functions, count) = pixels.entry(key).or_default();
        let took = call.end - call.start;
        if *count == 0 || took > *most {
            (*most, *functions) = (took, vec![call.function]);
        } else if took == *most {
            functions.push(call.function);
        }
        *count += 1;
    }
    pixels
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn an_overview_has_the_longest_call_of_each_pixel_from_the_index_as_from_rows(
        calls in calls(),
        (a, length) in (0_u64..3000, 1_u64..5000),
        width in 2_u32..300,
    ) {
        let mut source = source(&calls, 16);
        let range = TimeRange::relative(ORIGIN, a, a + length);
        let query = ChartQuery { width, lanes: Lanes::Thread, limit_lanes: 256 };
        let from_rows = call_overview(&source, range, query, &GO).unwrap();
        source.make_index();
        let chart = call_overview(&source, range, query, &GO).unwrap();
        prop_assert_eq!(&chart, &from_rows);
        prop_assert!(chart.coarse);
        // Bins are a power of two of nanoseconds.
        let last = ORIGIN + a + length - 1;
        let bin_ns = (0..63).map(|shift| 1_u64 << shift).find(|ns| last / ns - (ORIGIN + a) / ns < u64::from(width)).unwrap();
        let mut expected = longest(&calls, (a, a + length), bin_ns);
        // Of calls across the end only the innermost of a level can be.
        let mut hidden = 0;
        for lane in &chart.lanes {
            prop_assert!(lane.boxes.start.is_sorted() && lane.boxes.id.is_empty());
            for at in 0..lane.boxes.start.len() {
                let (start, took, level) = (lane.boxes.start[at], lane.boxes.duration[at], lane.boxes.level[at]);
                let end = (start + took as i64 + ORIGIN as i64) as u64;
                let across = end > range.end_ns.next_multiple_of(bin_ns);
                let key = |bin| (lane.key.clone(), level, bin);
                let short = took < bin_ns;
                let bin = if short { (start + ORIGIN as i64) as u64 / bin_ns } else { end / bin_ns - 1 };
                let found = if across { None } else { expected.remove(&key(Some(bin))) };
                let found = found.or_else(|| expected.remove(&key(None)));
                let (most, functions, count) = found.unwrap_or_else(|| panic!("{lane:?} {at}"));
                prop_assert_eq!((most, count - 1), (took, lane.boxes.more[at]));
                let name = &chart.names[lane.boxes.name[at] as usize];
                prop_assert!(functions.iter().any(|function| NAMES[*function] == name));
                hidden += count - 1;
            }
        }
        prop_assert!(expected.is_empty(), "{expected:?}");
        prop_assert_eq!(chart.hidden, hidden);
    }
}

#[test]
fn only_as_many_calls_as_fit_are_put_together() {
    let steps: Vec<_> = (0..100).map(|step| (step % 2 == 0, 0, 1, false)).collect();
    let calls = walk(1, &steps);
    let source = source(&calls, 8);
    let range = TimeRange::relative(ORIGIN, calls[20].end, u64::MAX / 2);
    let forest = CallForest::of_at_most(10, &source, range, &GO).unwrap();
    assert_eq!((forest.len(), forest.left_out()), (10, 20));
    let choice = CallChoice::new(&source, &forest, &CallQuery::default(), &GO).unwrap();
    // Names of calls are those of the whole.
    let page = call_page(&source, &forest, &choice, None, 0, 3);
    assert_eq!(page.calls.iter().map(|call| call.id).collect::<Vec<_>>(), [20, 21, 22]);
    let filter = Filter::parse("func == \"vfs_read\"").unwrap();
    let choice = CallChoice::new(&source, &forest, &CallQuery { filter, ..CallQuery::default() }, &GO).unwrap();
    assert_eq!(call_page(&source, &forest, &choice, None, 0, 3).chosen, 10);
}

#[test]
fn interrupts_are_told_by_their_events() {
    let call = |function, depth, start, end| Made { tid: 7, cpu: 1, function, depth, start, end, state: "returned" };
    // do_irq within vfs_read, twice, and once alone.
    let calls = [call(3, 1, 110, 190), call(3, 1, 210, 240), call(0, 0, 100, 300), call(3, 0, 400, 500)];
    let mut build = Build::default();
    let own = [("irq", ColumnType::I64, Display::Decimal), ("name", ColumnType::Text, Display::Text)];
    build.stream("irq:irq_handler_entry", StreamKind::Events, &own);
    for (time, irq, name) in [(120, 24, "eth0"), (220, 25, "nvme0q1"), (450, 24, "eth0"), (600, 1, "i8042")] {
        build.event((time, 1, 7, 7, b"work"), &[Own::I(irq), Own::T(name.as_bytes())]);
    }
    let text = |name| (name, ColumnType::Text, Display::Text);
    let number = |name| (name, ColumnType::U64, Display::Decimal);
    build.stream(
        "function_graph",
        StreamKind::Events,
        &[text("func"), number("depth"), number("duration_ns"), text("state")],
    );
    for call in &calls {
        let duration = Own::U(call.end - call.start);
        let name = Own::T(NAMES[call.function].as_bytes());
        build.event((call.end, 1, 7, 7, b"work"), &[name, Own::U(call.depth), duration, Own::T(b"returned")]);
    }
    let source = build.finish();
    let (forest, choice) = all(&source);
    let query = FunctionsQuery {
        part: Part::Irq,
        rank: FunctionRank::Longest,
        ascending: false,
        search: String::new(),
        offset: 0,
        limit: 10,
    };
    let page = rank_functions(&source, &forest, &choice, &query, &GO).unwrap();
    let rows: Vec<_> = page
        .rows
        .iter()
        .map(|row| (row.function.as_str(), row.part.as_deref().unwrap(), row.calls, row.longest))
        .collect();
    assert_eq!(rows, [("do_irq", "eth0 (irq 24)", 2, 100), ("do_irq", "nvme0q1 (irq 25)", 1, 30)]);
    let whole = rank_functions(&source, &forest, &choice, &FunctionsQuery { part: Part::Whole, ..query }, &GO).unwrap();
    let irqs = |name: &str| {
        whole
            .rows
            .iter()
            .find(|row| row.function == name)
            .unwrap()
            .irqs
            .iter()
            .map(|irq| (irq.name.clone(), irq.count))
            .collect::<Vec<_>>()
    };
    assert_eq!(irqs("do_irq"), [("eth0 (irq 24)".to_owned(), 2), ("nvme0q1 (irq 25)".to_owned(), 1)]);
    // It only called what handled them.
    assert_eq!(irqs("vfs_read"), []);
    assert!(whole.irqs);
}

#[test]
fn captures_without_calls_say_so() {
    let mut build = Build::default();
    build.stream("sched:sched_switch", StreamKind::Events, &[]);
    let source = build.finish();
    let refused = CallForest::build(&source, TimeRange::ALL, &GO);
    assert!(matches!(refused, Err(ViewError::NoCalls)));
    assert!(matches!(flame(&source, &FlameQuery::default(), &GO), Err(ViewError::NoSamples)));
}

#[test]
fn a_text_of_calls_has_no_limit_where_it_is_streamed() {
    let made = |index: u64| Made {
        tid: 7,
        cpu: 0,
        function: 0,
        depth: 0,
        start: index * 10,
        end: index * 10 + 5,
        state: "returned",
    };
    let calls: Vec<Made> = (0..MAX_CALL_LINES as u64 + 500).map(made).collect();
    let source = source(&calls, 4096);
    let (forest, choice) = all(&source);
    let (lines, more) = call_lines(&source, &forest, &choice, None);
    assert!(more && lines.len() == MAX_CALL_LINES);
    let streamed = all_call_lines(&source, &forest, &choice, None).count();
    assert_eq!(streamed, calls.len());
}

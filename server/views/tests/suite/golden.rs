//! What the views of small captures look like, byte for byte (P48).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::fixture;

use bathyscope_capture::{ColumnType, Display, StreamKind};
use bathyscope_views::{
    Filter, FlameQuery, Group, GroupBy, MemorySource, NameColours, Order, RateQuery, RowsQuery, Source, SvgOptions,
    TimeRange, TimelineQuery, flame, page, rate, svg, timeline,
};
use fixture::{Build, GO, ORIGIN, Own, events, golden, profile};
use serde::Serialize;

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).unwrap();
    text.push('\n');
    text.into_bytes()
}

fn filter(text: &str) -> Option<Filter> {
    Filter::parse(text).unwrap()
}

#[test]
fn rows() {
    let source = events();
    let cases = [
        ("rows-first.json", RowsQuery { limit: 4, ..RowsQuery::new(0) }),
        (
            "rows-filtered-sorted.json",
            RowsQuery {
                filter: filter("prev_comm == \"cron\" && args.pid >= 2"),
                order: vec![Order { column: "prev_prio".to_owned(), descending: false }],
                offset: 1,
                limit: 5,
                ..RowsQuery::new(0)
            },
        ),
        (
            "rows-big-and-missing.json",
            RowsQuery {
                order: vec![Order { column: "flags".to_owned(), descending: true }],
                limit: 10,
                ..RowsQuery::new(1)
            },
        ),
    ];
    for (name, query) in cases {
        golden(name, &json(&page(&source, &query, &GO).unwrap()));
    }
    let query = RowsQuery { filter: filter("NGX_"), limit: 3, ..RowsQuery::new(0) };
    golden("rows-samples.json", &json(&page(&profile(), &query, &GO).unwrap()));
}

#[test]
fn rates_and_losses() {
    let source = events();
    let query = RateQuery { range: TimeRange::of(&source), bins: 10, filter: None };
    golden("rate.json", &json(&rate(&source, &query, &GO).unwrap()));
}

/// Rows that take time: the longest of a bin is told with it.
fn timed() -> MemorySource {
    let mut build = Build::default();
    build.stream("function_graph", StreamKind::Events, &[("duration_ns", ColumnType::U64, Display::Decimal)]);
    for (time_ns, cpu, duration_ns) in [(10, 0, 5), (2_000, 0, 1_000), (9_000, 0, 70), (30_000, 1, 20_000)] {
        build.event((time_ns, cpu, 7, 7, b"work"), &[Own::U(duration_ns)]);
    }
    build.finish()
}

#[test]
fn timelines() {
    let range = TimeRange::relative(ORIGIN, 0, 40_000);
    let cases = [
        ("timeline-profile-cpu", profile(), Group::Cpu, ""),
        ("timeline-profile-thread", profile(), Group::Thread, "pid != 0"),
        ("timeline-events-cpu", events(), Group::Cpu, ""),
        ("timeline-events-thread", events(), Group::Thread, ""),
        ("timeline-timed-cpu", timed(), Group::Cpu, ""),
    ];
    for (name, source, group, text) in cases {
        let query = TimelineQuery { range, width: 8, group, filter: filter(text), limit_tracks: 3, streams: None };
        let window = timeline(&source, &query, &GO).unwrap();
        let head = serde_json::to_vec(&window).unwrap();
        golden(&format!("{name}.json"), &json(&window));
        golden(&format!("{name}.bin"), &window.encode(&head));
    }
}

#[test]
fn flame_graphs() {
    let source = profile();
    let plain = FlameQuery { width: 1000, ..FlameQuery::default() };
    let graph = flame(&source, &plain, &GO).unwrap();
    let name = graph.names.iter().position(|name| name == "do_syscall_64").unwrap();
    let node = graph.nodes.name.iter().position(|index| *index as usize == name).unwrap();
    let focus = Some(graph.nodes.id[node]);
    let cases = [
        ("flame", plain.clone()),
        ("flame-focus", FlameQuery { focus, ..plain.clone() }),
        ("flame-invert", FlameQuery { invert: true, ..plain.clone() }),
        ("flame-no-process", FlameQuery { by: GroupBy::None, pid: Some(10), tid: Some(11), ..plain.clone() }),
        ("flame-search", FlameQuery { search: Some("NGX".to_owned()), width: 12, ..plain.clone() }),
        ("flame-filtered", FlameQuery { filter: filter("comm ~ \"node*\""), ..plain }),
    ];
    for (name, query) in cases {
        let graph = flame(&source, &query, &GO).unwrap();
        golden(&format!("{name}.json"), &json(&graph));
        let options = SvgOptions {
            colours: NameColours::of(&source, TimeRange::of(&source), &GO).unwrap(),
            title: format!("profile at 99 Hz, {name}"),
            subtitle: "2026-11-20 21:30 on host, 10 s".to_owned(),
            notice: if name == "flame" { "17 samples were lost".to_owned() } else { String::new() },
            width: 900,
            ..SvgOptions::default()
        };
        let drawn = svg(&graph, &options);
        fixture::xml::read(&drawn).unwrap();
        golden(&format!("{name}.svg"), drawn.as_bytes());
    }
}

#[test]
fn a_capture_without_rows_has_views_too() {
    let mut build = Build::default();
    build.profile();
    let source = build.finish();
    assert_eq!(page(&source, &RowsQuery::new(0), &GO).unwrap().matched, 0);
    let graph = flame(&source, &FlameQuery::default(), &GO).unwrap();
    assert_eq!((graph.total, graph.nodes.value.as_slice()), (0, &[0][..]));
    fixture::xml::read(&svg(&graph, &SvgOptions::default())).unwrap();
    let range = TimeRange::of(&source);
    let query = TimelineQuery { range, width: 100, group: Group::Cpu, filter: None, limit_tracks: 10, streams: None };
    assert!(timeline(&source, &query, &GO).unwrap().tracks.is_empty());
    assert_eq!(range.start_ns, source.origin_ns());
}

//! How long calls took of which that is not known: every view leaves them out, and says so, by the same rule.

use bathyscope_capture::{ColumnType, Display, ShownCell, StreamKind};
use bathyscope_views::{
    Aggregate, DistributionQuery, FacetsQuery, Filter, MemorySource, Order, PivotQuery, RangeQuery, RowsQuery,
    SyscallGroup, SyscallQuery, TimeRange, ValueLimits, ValueScale, distribution, facets, page, pivot, range_slices,
    syscall_table,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, Own};

/// Which call, and how long it took; 0 where nobody knows.
type Took = (usize, u64);

const CALLS: [&str; 3] = ["read", "write", "exit_group"];

fn source(calls: &[Took], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("call", ColumnType::Text, Display::Text),
        ("args", ColumnType::Text, Display::Text),
        ("result", ColumnType::I64, Display::Decimal),
        ("error", ColumnType::Text, Display::Text),
        ("duration_ns", ColumnType::U64, Display::DurationNs),
        ("kind", ColumnType::Text, Display::Text),
    ];
    build.stream("syscalls", StreamKind::Events, &own);
    for (time, (call, duration)) in (0_u64..).zip(calls) {
        if time > 0 && time % chunk as u64 == 0 {
            build.chunk();
        }
        let args: &[u8] = if *duration == 0 { b"?" } else { b"3" };
        let own = [
            Own::T(CALLS[*call].as_bytes()),
            Own::T(args),
            Own::I(0),
            Own::Missing,
            Own::U(*duration),
            Own::T(b"call"),
        ];
        build.event((time * 1000, 0, 1, 1, b"sh"), &own);
    }
    build.finish()
}

fn matched(source: &MemorySource, text: &str) -> u64 {
    let filter = Filter::parse(text).unwrap();
    page(source, &RowsQuery { filter, ..RowsQuery::new(0) }, &GO).unwrap().matched
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn every_view_leaves_out_the_same_rows(
        calls in vec((0_usize..3, prop_oneof![1 => Just(0_u64), 2 => 1..2000_u64]), 1..60),
        chunk in 1_usize..30,
        bound in 0_u64..2000,
    ) {
        let source = source(&calls, chunk);
        let lengths = |of: Option<usize>| {
            let of_call = calls.iter().filter(move |(call, _)| of.is_none_or(|of| of == *call));
            let mut known: Vec<u64> = of_call.map(|(_, length)| *length).filter(|length| *length > 0).collect();
            known.sort_unstable();
            known
        };
        let known = lengths(None);
        let without = (calls.len() - known.len()) as u64;

        let spread = DistributionQuery {
            stream: 0, column: String::new(), range: TimeRange::ALL, filter: None, scale: ValueScale::Linear(9),
            limits: ValueLimits::default(), by: None, groups: 1,
        };
        let spread = distribution(&source, &spread, &GO).unwrap();
        prop_assert_eq!((spread.without, spread.all.rows), (without, known.len() as u64));

        let ways = ["count", "sum", "mean", "min", "max", "p50", "distinct", "first"];
        let values = ways.map(|way| if way == "count" { way.to_owned() } else { format!("{way}:duration_ns") });
        let values = values.iter().map(|text| Aggregate::parse(text).unwrap()).collect();
        let query = PivotQuery {
            stream: 0, range: TimeRange::ALL, filter: None, by: vec!["call".to_owned()], values, sort: Some(0),
            descending: false, limit: 10, bins: 0,
        };
        let groups = pivot(&source, &query, &GO).unwrap();
        for (column, way) in groups.columns.iter().skip(1).zip(ways) {
            prop_assert_eq!(column.without, if way == "count" { 0 } else { without }, "{}", way);
        }
        for line in &groups.lines {
            let call = CALLS.iter().position(|call| line.cells[0] == ShownCell::Text((*call).to_owned())).unwrap();
            let known = lengths(Some(call));
            let number = |number: Option<u64>| number.map_or(ShownCell::Null, |number| ShownCell::Number(number.into()));
            let (sum, count) = (known.iter().sum::<u64>(), known.len());
            let mut distinct = known.clone();
            distinct.dedup();
            let of_call = calls.iter().filter(|(of, _)| *of == call);
            let first = of_call.clone().map(|(_, length)| *length).next().filter(|length| *length > 0);
            let expected = [
                number(Some(of_call.count() as u64)),
                number((count > 0).then_some(sum)),
                if count > 0 { ShownCell::Real(sum as f64 / count as f64) } else { ShownCell::Null },
                number(known.first().copied()),
                number(known.last().copied()),
                number(known.get(count.div_ceil(2).saturating_sub(1)).copied()),
                number(Some(distinct.len() as u64)),
                number(first),
            ];
            prop_assert_eq!(&line.cells[1..], expected);
        }

        // Rows of a group without a length are found again by its condition.
        let by_length = PivotQuery {
            by: vec!["duration_ns".to_owned()], values: vec![Aggregate::Count], limit: 100, ..query
        };
        for line in pivot(&source, &by_length, &GO).unwrap().lines {
            let ShownCell::Number(rows) = line.cells[1] else { panic!("{line:?}") };
            prop_assert_eq!(i128::from(matched(&source, line.condition.as_deref().unwrap())), rows);
            prop_assert_eq!(line.cells[0] == ShownCell::Null, rows == i128::from(without)
                && line.condition.as_deref() == Some("!(duration_ns ~ \"*\")"), "{:?}", line);
        }

        let facet = &facets(&source, &FacetsQuery::new(0, &["duration_ns"]), &GO).unwrap().facets[0];
        prop_assert_eq!(facet.missing, without);
        prop_assert!(facet.values.iter().all(|one| one.value != ShownCell::Number(0)));

        // What is missing satisfies no comparison, and so it does satisfy the opposite.
        let less = known.iter().filter(|length| **length < bound).count() as u64;
        prop_assert_eq!(matched(&source, &format!("duration_ns < {bound}")), less);
        prop_assert_eq!(matched(&source, "duration_ns != 5"), known.iter().filter(|length| **length != 5).count() as u64);
        prop_assert_eq!(matched(&source, &format!("!(duration_ns < {bound})")), calls.len() as u64 - less);
        prop_assert_eq!(matched(&source, "duration_ns ~ \"*\""), known.len() as u64);
        prop_assert_eq!(matched(&source, "duration_ns == 0"), 0);

        let order = vec![Order { column: "duration_ns".to_owned(), descending: false }];
        let rows = page(&source, &RowsQuery { order, ..RowsQuery::new(0) }, &GO).unwrap().rows;
        let shown = rows.iter().filter(|row| row[9] == ShownCell::Null).count();
        prop_assert_eq!(shown as u64, without);
        prop_assert!(rows[..shown].iter().all(|row| row[9] == ShownCell::Null), "no value is least");

        let query = SyscallQuery { range: TimeRange::ALL, filter: None, group: SyscallGroup::Call, by_bytes: false };
        let all = syscall_table(&source, &query, &GO).unwrap().all;
        prop_assert_eq!((all.durations.count, all.durations.without), (calls.len() as u64, without));
        prop_assert_eq!((all.shortest, all.durations.longest), (known.first().copied().unwrap_or(0), known.last().copied().unwrap_or(0)));
        let slices = range_slices(&source, &RangeQuery { range: TimeRange::ALL, tracks: Vec::new() }, &GO).unwrap();
        prop_assert_eq!(slices.slices.iter().map(|slice| slice.durations.without).sum::<u64>(), without);
        for slice in &slices.slices {
            let known = lengths(CALLS.iter().position(|call| *call == slice.name));
            let mean = known.iter().sum::<u64>() as f64 / known.len().max(1) as f64;
            prop_assert!((slice.durations.mean - mean).abs() < 1e-6);
        }
    }
}

#[test]
fn zeros_are_values_elsewhere() {
    let mut build = Build::default();
    build.stream("a:b", StreamKind::Events, &[("duration_ns", ColumnType::U64, Display::DurationNs)]);
    build.event((0, 0, 1, 1, b"x"), &[Own::U(0)]);
    let source = build.finish();
    assert_eq!(matched(&source, "duration_ns == 0"), 1);
    assert_eq!(facets(&source, &FacetsQuery::new(0, &["duration_ns"]), &GO).unwrap().facets[0].missing, 0);
    let refused = Filter::parse("duration_ns ~ \"1*\"").unwrap();
    let refused = page(&source, &RowsQuery { filter: refused, ..RowsQuery::new(0) }, &GO).unwrap_err();
    assert!(refused.is_bad_request(), "{refused}");
}

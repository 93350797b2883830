//! Values of columns, against a plain count of the rows.

use std::collections::BTreeMap;

use bathyscope_capture::{ColumnType, Display, MappingKind, ShownCell, StreamKind};
use bathyscope_views::{
    Cancel, Facet, FacetsQuery, Filter, MAX_FACET_TOLD, MAX_FACET_VALUES, MemorySource, RowsQuery, TimeRange,
    ViewError, facets, page,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, ORIGIN, Own, hostile_names, symbol};

/// cpu, comm, signed number, text (0 is missing), how large a number is, stack.
type Row = (u64, usize, i64, usize, u32, usize);

const COMMS: [&str; 4] = ["sh", "nginx", "Nginx2", "kworker/0:1"];
const TEXTS: [&str; 5] = ["", "alpha", "be\"ta", "ALPHABET", "a*b"];
const FUNCTIONS: [&str; 5] = ["main", "read", "write", "operator*", "std::vector<int>::push"];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    vec((0u64..3, 0usize..4, -5i64..5, 0usize..5, 0u32..64, 0usize..9), 1..200)
}

fn large(row: &Row) -> u64 {
    (1_u64 << row.4).wrapping_mul(3)
}

fn functions_of(stack: usize) -> Vec<&'static str> {
    (0..stack % 5).map(|level| FUNCTIONS[(stack * 3 + level * 2) % FUNCTIONS.len()]).collect()
}

fn source(rows: &[Row], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("number", ColumnType::I64, Display::Decimal),
        ("text", ColumnType::Text, Display::Text),
        ("large", ColumnType::U64, Display::Hex),
    ];
    build.stream("a:b", StreamKind::Events, &own);
    for (time, row) in (0_u64..).zip(rows) {
        if time > 0 && time % chunk as u64 == 0 {
            build.chunk();
        }
        let text = if row.3 == 0 { Own::Missing } else { Own::T(TEXTS[row.3].as_bytes()) };
        let common = (time * 10, row.0, row.0, row.0, COMMS[row.1].as_bytes());
        build.event(common, &[Own::I(row.2), text, Own::U(large(row))]);
    }
    build.profile();
    for (time, row) in (0_u64..).zip(rows) {
        if time > 0 && time % chunk as u64 == 0 {
            build.chunk();
        }
        let frame = |name: &&str| {
            let offset = FUNCTIONS.iter().position(|other| other == name).unwrap() as u64;
            build.frame(MappingKind::File, b"/bin/x", offset, symbol(name, &[]))
        };
        let frames: Vec<u32> = functions_of(row.5).iter().map(frame).collect();
        let stack = build.stacks.stack(&frames);
        build.sample((time * 10, row.0, row.0, row.0, COMMS[row.1].as_bytes()), stack);
    }
    build.finish()
}

/// Values with their rows as told, in a plain form.
fn told(facet: &Facet) -> Vec<(String, u64)> {
    let text = |value: &ShownCell| match value {
        ShownCell::Number(number) => number.to_string(),
        ShownCell::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    facet.values.iter().map(|one| (text(&one.value), one.rows)).collect()
}

/// The most frequent first, then by `V`.
fn naive<V: Ord + ToString>(values: impl IntoIterator<Item = V>) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<V, u64> = BTreeMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
    let mut all: Vec<(V, u64)> = counts.into_iter().collect();
    all.sort_by(|(a, rows_a), (b, rows_b)| rows_b.cmp(rows_a).then_with(|| a.cmp(b)));
    all.into_iter().map(|(value, rows)| (value.to_string(), rows)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn facets_are_those_of_a_plain_count(
        rows in rows(), chunk in 1usize..70, start in 0u64..500, length in 1u64..2000, filter in 0usize..4, limit in 1u32..6,
        search in 0usize..3,
    ) {
        let source = source(&rows, chunk);
        let (text, keep): (&str, fn(&Row) -> bool) = [
            ("", (|_| true) as fn(&Row) -> bool),
            ("number in (-1, 2, 4)", |row| [-1, 2, 4].contains(&row.2)),
            ("text contains \"a\" and number not between -2 and 2", |row| {
                [1, 2, 4].contains(&row.3) && !(-2..=2).contains(&row.2)
            }),
            ("comm matches \"^(?i)NGINX[0-9]?$\"", |row| row.1 == 1 || row.1 == 2),
        ][filter];
        let search = ["", "a", "1"][search];
        let range = TimeRange::relative(ORIGIN, start, start + length);
        let kept: Vec<Row> = (0_u64..).zip(&rows)
            .filter(|(time, row)| (start..start + length).contains(&(time * 10)) && keep(row))
            .map(|(_, row)| *row)
            .collect();
        let query = FacetsQuery {
            range, filter: Filter::parse(text).unwrap(), limit, search: search.to_owned(),
            ..FacetsQuery::new(0, &["cpu", "comm", "number", "text", "large"])
        };
        let found = facets(&source, &query, &GO).unwrap();
        prop_assert_eq!(found.rows, kept.len() as u64);
        prop_assert_eq!(found.looked_at, found.total);
        let lower = |text: &str| text.to_lowercase().contains(search);
        let expected = [
            naive(kept.iter().map(|row| row.0)),
            naive(kept.iter().map(|row| COMMS[row.1])),
            naive(kept.iter().map(|row| row.2)),
            naive(kept.iter().filter(|row| row.3 > 0).map(|row| TEXTS[row.3])),
            naive(kept.iter().map(large)),
        ];
        for (facet, all) in found.facets.iter().zip(expected) {
            let hex = facet.column.display == Display::Hex;
            let shown = |text: &str| if hex { format!("{:#x}", text.parse::<u64>().unwrap()) } else { text.to_owned() };
            let wanted: Vec<_> = all.iter().filter(|(text, _)| lower(&shown(text))).cloned().collect();
            prop_assert_eq!((facet.distinct, facet.found), (all.len() as u64, wanted.len() as u64));
            prop_assert_eq!(facet.missing, kept.len() as u64 - all.iter().map(|(_, rows)| rows).sum::<u64>());
            prop_assert_eq!(told(facet), wanted.into_iter().take(limit as usize).collect::<Vec<_>>());
            // What is told of a value is what the filter finds by its literal.
            for value in &facet.values {
                let both = [text.to_owned(), format!("{} == {}", facet.column.name, value.literal.as_ref().unwrap())];
                let both = both.iter().filter(|one| !one.is_empty()).map(|one| format!("({one})")).collect::<Vec<_>>();
                let filter = Filter::parse(&both.join(" && ")).unwrap();
                let page = page(&source, &RowsQuery { range, filter, ..RowsQuery::new(0) }, &GO).unwrap();
                prop_assert_eq!(page.matched, value.rows);
            }
            prop_assert_eq!(facet.bars.is_empty(), facet.column.ty == ColumnType::Text || kept.is_empty());
            for bar in &facet.bars {
                let (ShownCell::Number(low), ShownCell::Number(high)) = (&bar.low, &bar.high) else { panic!("{bar:?}") };
                let within = |text: &str| text.parse::<i128>().is_ok_and(|number| *low <= number && number <= *high);
                let rows: u64 = all.iter().filter(|(text, _)| within(text)).map(|(_, rows)| rows).sum();
                prop_assert_eq!(bar.rows, rows);
            }
        }
    }

    #[test]
    fn functions_are_those_of_the_stacks_that_have_them(rows in rows(), chunk in 1usize..70) {
        let source = source(&rows, chunk);
        let found = facets(&source, &FacetsQuery::new(1, &["stack"]), &GO).unwrap();
        let facet = &found.facets[0];
        let names = |row: &Row| functions_of(row.5).into_iter().collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(told(facet), naive(rows.iter().flat_map(names)));
        for value in facet.values.iter().filter(|value| value.value != ShownCell::Text("operator*".to_owned())) {
            let filter = Filter::parse(&format!("has stack frame {}", value.literal.as_ref().unwrap())).unwrap();
            let page = page(&source, &RowsQuery { filter, ..RowsQuery::new(1) }, &GO).unwrap();
            prop_assert_eq!(page.matched, value.rows);
        }
    }

    #[test]
    fn a_budget_looks_at_chunks_all_over_the_range(count in 1usize..300, chunk in 1usize..20, budget in 1u64..400) {
        let rows: Vec<Row> = (0..count).map(|n| (0, 0, 0, 0, 0, n % 9)).collect();
        let query = FacetsQuery { budget_rows: budget, ..FacetsQuery::new(0, &["cpu"]) };
        let found = facets(&source(&rows, chunk), &query, &GO).unwrap();
        prop_assert_eq!(found.total, count as u64);
        prop_assert!(found.looked_at <= budget + chunk as u64 && found.rows == found.looked_at, "{}", found.looked_at);
        prop_assert_eq!(found.looked_at == found.total, budget >= found.total || count <= chunk);
    }
}

#[test]
fn more_values_than_there_is_room_for_are_told() {
    let mut build = Build::default();
    build.stream("a:b", StreamKind::Events, &[("n", ColumnType::U64, Display::Decimal)]);
    let count = MAX_FACET_VALUES as u64 + 1000;
    for n in 0..count {
        // From the room for large values on, which small ones do not use.
        build.event((n, 0, 0, 0, b"x"), &[Own::U(10_000 + n)]);
    }
    build.event((count, 0, 0, 0, b"x"), &[Own::U(10_000)]);
    let found = facets(&build.finish(), &FacetsQuery::new(0, &["n"]), &GO).unwrap();
    let facet = &found.facets[0];
    assert_eq!(facet.distinct + facet.left_out, count);
    assert!(facet.left_out > 1000, "{}", facet.left_out);
    assert_eq!((facet.values[0].value.clone(), facet.values[0].rows), (ShownCell::Number(10_000), 2));
    assert_eq!(facet.bars.iter().map(|bar| bar.rows).sum::<u64>(), count + 1);
}

#[test]
fn hostile_texts_have_literals_or_none() {
    let mut build = Build::default();
    build.stream("a:b", StreamKind::Events, &[("t", ColumnType::Text, Display::Text)]);
    for (time, name) in (0..).zip(hostile_names()) {
        build.event((time, 0, 0, 0, b"x"), &[Own::T(&name)]);
    }
    let source = build.finish();
    let query = FacetsQuery { limit: MAX_FACET_TOLD, ..FacetsQuery::new(0, &["t"]) };
    let found = facets(&source, &query, &GO).unwrap();
    let (with, without): (Vec<_>, Vec<_>) = found.facets[0].values.iter().partition(|value| value.literal.is_some());
    assert!(with.len() > 30 && without.len() > 3, "{} {}", with.len(), without.len());
    for value in with {
        let filter = Filter::parse(&format!("t == {}", value.literal.as_ref().unwrap())).unwrap();
        let page = page(&source, &RowsQuery { filter, ..RowsQuery::new(0) }, &GO).unwrap();
        assert_eq!(page.matched, value.rows, "{value:?}");
    }
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let source = source(&[(0, 0, 0, 0, 0, 0)], 1);
    let refused = |query: FacetsQuery| facets(&source, &query, &GO).unwrap_err();
    assert!(matches!(refused(FacetsQuery::new(9, &["cpu"])), ViewError::NoSuchStream { .. }));
    assert!(matches!(refused(FacetsQuery::new(0, &["nope"])), ViewError::NoSuchColumn { .. }));
    assert!(matches!(refused(FacetsQuery::new(0, &[])), ViewError::OutOfRange { .. }));
    for limit in [0, MAX_FACET_TOLD + 1] {
        assert!(matches!(
            refused(FacetsQuery { limit, ..FacetsQuery::new(0, &["cpu"]) }),
            ViewError::OutOfRange { .. }
        ));
    }
    let stop = Cancel::new(true);
    assert!(matches!(facets(&source, &FacetsQuery::new(0, &["cpu"]), &stop).unwrap_err(), ViewError::Cancelled));
}

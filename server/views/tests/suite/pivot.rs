//! Groups of rows, against a plain list of the rows of each.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::{ColumnType, Display, ShownCell, StreamKind};
use bathyscope_views::{
    Aggregate, Filter, MAX_PIVOT_GROUPS, MemorySource, PivotQuery, RowsQuery, TimeRange, ViewError, page, pivot,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, ORIGIN, Own};

/// cpu, comm, signed number, text (0 is missing), how large a number is.
type Row = (u64, usize, i64, usize, u32);

const COMMS: [&str; 4] = ["sh", "nginx", "Nginx2", "kworker/0:1"];
const TEXTS: [&str; 4] = ["", "alpha", "be\"ta", "ALPHABET"];
const STEP: u64 = 10;

fn rows() -> impl Strategy<Value = Vec<Row>> {
    vec((0u64..3, 0usize..4, -5i64..5, 0usize..4, 0u32..63), 1..150)
}

fn large(row: &Row) -> u64 {
    (1_u64 << row.4) + row.0
}

fn source(rows: &[Row], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let own = [
        ("number", ColumnType::I64, Display::Decimal),
        ("text", ColumnType::Text, Display::Text),
        ("large", ColumnType::U64, Display::Decimal),
    ];
    build.stream("a:b", StreamKind::Events, &own);
    for (time, row) in (0_u64..).zip(rows) {
        if time > 0 && time % chunk as u64 == 0 {
            build.chunk();
        }
        let text = if row.3 == 0 { Own::Missing } else { Own::T(TEXTS[row.3].as_bytes()) };
        build.event(
            (time * STEP, row.0, row.0, row.0, COMMS[row.1].as_bytes()),
            &[Own::I(row.2), text, Own::U(large(row))],
        );
    }
    build.finish()
}

fn query(by: &[&str], values: &[&str]) -> PivotQuery {
    PivotQuery {
        stream: 0,
        range: TimeRange::ALL,
        filter: None,
        by: by.iter().map(|name| (*name).to_owned()).collect(),
        values: values.iter().map(|text| Aggregate::parse(text).unwrap()).collect(),
        sort: None,
        descending: true,
        limit: 1000,
        bins: 0,
    }
}

fn text_cell(text: usize) -> ShownCell {
    if text == 0 { ShownCell::Null } else { ShownCell::Text(TEXTS[text].to_owned()) }
}

const VALUES: [&str; 11] = [
    "count",
    "sum:large",
    "mean:number",
    "min:number",
    "max:large",
    "p50:number",
    "p99.5:large",
    "p0:number",
    "distinct:text",
    "first:text",
    "last:number",
];

/// What all of `VALUES` are of some rows, slowly.
fn naive(rows: &[Row]) -> Vec<ShownCell> {
    let number = |number: i128| ShownCell::Number(number);
    let nth = |mut all: Vec<i128>, percent: f64| {
        all.sort_unstable();
        let rank = (all.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
        number(all[rank - 1])
    };
    let numbers = || rows.iter().map(|row| i128::from(row.2));
    let larges = || rows.iter().map(|row| i128::from(large(row)));
    vec![
        number(rows.len() as i128),
        number(larges().sum()),
        ShownCell::Real(numbers().sum::<i128>() as f64 / rows.len() as f64),
        number(numbers().min().unwrap()),
        number(larges().max().unwrap()),
        nth(numbers().collect(), 50.0),
        nth(larges().collect(), 99.5),
        nth(numbers().collect(), 0.0),
        number(rows.iter().map(|row| row.3).filter(|text| *text > 0).collect::<BTreeSet<_>>().len() as i128),
        text_cell(rows[0].3),
        number(rows[rows.len() - 1].2.into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn groups_are_those_of_a_plain_list(
        rows in rows(), chunk in 1usize..70, start in 0u64..500, length in 1u64..2000, by_text: bool, filtered: bool,
    ) {
        let source = source(&rows, chunk);
        let range = TimeRange::relative(ORIGIN, start, start + length);
        let text = if filtered { "number >= 0" } else { "" };
        let kept = (0_u64..).zip(&rows)
            .filter(|(time, row)| (start..start + length).contains(&(time * STEP)) && (!filtered || row.2 >= 0))
            .map(|(_, row)| *row);
        let mut groups: BTreeMap<(u64, usize), Vec<Row>> = BTreeMap::new();
        let mut count = 0;
        for row in kept {
            count += 1;
            groups.entry((row.0, if by_text { row.3 } else { row.1 })).or_default().push(row);
        }
        let by = if by_text { ["cpu", "text"] } else { ["cpu", "comm"] };
        let query = PivotQuery { range, filter: Filter::parse(text).unwrap(), bins: 7, ..query(&by, &VALUES) };
        let found = pivot(&source, &query, &GO).unwrap();
        prop_assert_eq!((found.rows, found.groups, found.left_out), (count, groups.len() as u64, 0));
        prop_assert!(found.lines.windows(2).all(|two| match (&two[0].cells[2], &two[1].cells[2]) {
            (ShownCell::Number(a), ShownCell::Number(b)) => a >= b,
            _ => false,
        }), "the most rows first");
        let series = found.series.unwrap();
        for (n, line) in found.lines.iter().enumerate() {
            let ShownCell::Number(cpu) = line.cells[0] else { panic!("{line:?}") };
            let second = match &line.cells[1] {
                ShownCell::Null => 0,
                ShownCell::Text(text) if by_text => TEXTS.iter().position(|one| one == text).unwrap(),
                ShownCell::Text(text) => COMMS.iter().position(|one| one == text).unwrap(),
                other => panic!("{other:?}"),
            };
            let of_group = &groups[&(u64::try_from(cpu).unwrap(), second)];
            prop_assert_eq!(&line.cells[2..], naive(of_group));
            // The condition of a line is that of its rows.
            let both = [text, line.condition.as_deref().unwrap()];
            let both: Vec<_> = both.iter().filter(|text| !text.is_empty()).map(|text| format!("({text})")).collect();
            let filter = Filter::parse(&both.join(" && ")).unwrap();
            let page = page(&source, &RowsQuery { range, filter, ..RowsQuery::new(0) }, &GO).unwrap();
            prop_assert_eq!(page.matched, of_group.len() as u64);
            if let Some(bins) = series.lines.get(n) {
                prop_assert_eq!(bins.iter().flatten().sum::<f64>(), of_group.len() as f64);
            }
        }
        prop_assert_eq!(series.lines.len(), found.lines.len().min(12));
    }

    #[test]
    fn the_first_value_over_time_is_that_of_the_rows_of_each_bin(
        rows in rows(), chunk in 1usize..70, first in 0..VALUES.len(), bins in 1u32..12, start in 0u64..300, length in 1u64..2000,
    ) {
        let source = source(&rows, chunk);
        let range = TimeRange::relative(ORIGIN, start, start + length);
        let query = PivotQuery { range, bins, ..query(&["cpu"], &[VALUES[first]]) };
        let found = pivot(&source, &query, &GO).unwrap();
        let series = found.series.unwrap();
        let end = (start + length).min((rows.len() as u64 - 1) * STEP + 1).max(start + 1);
        let count = u64::from(bins).min(end - start);
        for (line, values) in found.lines.iter().zip(&series.lines) {
            prop_assert_eq!(values.len() as u64, count);
            for (bin, value) in (0_u64..).zip(values) {
                let inside = |time: u64| (start..end).contains(&time) && (time - start) * count / (end - start) == bin;
                let of_bin: Vec<Row> = (0_u64..).zip(&rows)
                    .filter(|(time, row)| inside(time * STEP) && line.cells[0] == ShownCell::Number(row.0.into()))
                    .map(|(_, row)| *row)
                    .collect();
                let expected = (!of_bin.is_empty()).then(|| naive(&of_bin).swap_remove(first));
                let expected = match expected {
                    Some(ShownCell::Number(0)) if VALUES[first].starts_with("distinct") => None,
                    Some(ShownCell::Number(number)) => Some(number as f64),
                    Some(ShownCell::Real(number)) => Some(number),
                    _ => None,
                };
                prop_assert_eq!(*value, expected, "{} {}", VALUES[first], bin);
            }
        }
    }

    #[test]
    fn lines_are_in_order_of_any_column(rows in rows(), sort in 0usize..4, descending: bool, limit in 1u32..9) {
        let source = source(&rows, 50);
        let query = query(&["text", "number"], &["count", "mean:large"]);
        let found = pivot(&source, &PivotQuery { sort: Some(sort), descending, limit, ..query.clone() }, &GO).unwrap();
        let all = pivot(&source, &PivotQuery { sort: Some(sort), descending, ..query }, &GO).unwrap();
        prop_assert_eq!(&all.lines[..found.lines.len()], &found.lines[..]);
        prop_assert_eq!(found.lines.len() as u64, all.groups.min(limit.into()));
        let rank = |cell: &ShownCell| match cell {
            ShownCell::Null => (f64::NEG_INFINITY, String::new()),
            ShownCell::Number(number) => (*number as f64, String::new()),
            ShownCell::Real(number) => (*number, String::new()),
            ShownCell::Text(text) => (0.0, text.clone()),
            other => panic!("{other:?}"),
        };
        for two in all.lines.windows(2) {
            let (a, b) = (rank(&two[0].cells[sort]), rank(&two[1].cells[sort]));
            prop_assert!(if descending { a >= b } else { a <= b }, "{:?} {:?}", a, b);
        }
    }
}

#[test]
fn all_rows_are_one_group_where_nothing_divides_them() {
    let rows: Vec<Row> = (0..10).map(|n| (n % 3, 0, n as i64, 0, 1)).collect();
    let found = pivot(&source(&rows, 4), &query(&[], &["count", "max:number"]), &GO).unwrap();
    assert_eq!(found.lines.len(), 1);
    assert_eq!(found.lines[0].cells, [ShownCell::Number(10), ShownCell::Number(9)]);
    assert_eq!(found.lines[0].condition, None);
    let names: Vec<_> = found.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["rows", "max(number)"]);
}

#[test]
fn more_groups_than_there_is_room_for_are_told() {
    let mut build = Build::default();
    build.stream("a:b", StreamKind::Events, &[("n", ColumnType::U64, Display::Decimal)]);
    let count = MAX_PIVOT_GROUPS as u64 + 10;
    for n in 0..count {
        build.event((n, 0, 0, 0, b"x"), &[Own::U(n)]);
    }
    let found = pivot(&build.finish(), &query(&["n"], &["count"]), &GO).unwrap();
    assert_eq!((found.groups, found.left_out, found.rows), (MAX_PIVOT_GROUPS as u64, 10, count));
}

#[test]
fn what_cannot_be_grouped_is_refused() {
    let source = source(&[(0, 0, 0, 0, 0)], 1);
    let refused = |query: PivotQuery| pivot(&source, &query, &GO).unwrap_err();
    let limits = [
        query(&["cpu"; 5], &["count"]),
        query(&["cpu"], &[]),
        query(&["cpu"], &["count"; 13]),
        PivotQuery { limit: 0, ..query(&["cpu"], &["count"]) },
        PivotQuery { bins: 1001, ..query(&["cpu"], &["count"]) },
        PivotQuery { sort: Some(2), ..query(&["cpu"], &["count"]) },
    ];
    for query in limits {
        assert!(matches!(refused(query), ViewError::OutOfRange { .. }));
    }
    assert!(matches!(refused(query(&["nope"], &["count"])), ViewError::NoSuchColumn { .. }));
    assert!(matches!(refused(query(&["cpu"], &["sum:comm"])), ViewError::Mismatch { .. }));
    let said = Aggregate::parse("median:cpu").unwrap_err();
    assert!(said.is_bad_request() && said.to_string().contains("median"), "{said}");
}

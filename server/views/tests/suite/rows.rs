//! Rows sorted by several columns, and their neighbours of the same key, against plain lists.

use std::cmp::Reverse;

use bathyscope_capture::{ColumnType, Display, ShownCell, StreamKind};
use bathyscope_views::{
    Filter, MemorySource, Order, RowPairs, RowsQuery, SeenRows, TimeRange, ViewError, page, row_times,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, ORIGIN, Own};

/// How long after the row before, cpu, comm, signed number, text (0 is missing).
type Row = (u64, u64, usize, i64, usize);

const COMMS: [&str; 3] = ["sh", "nginx", "kworker/0:1"];
const TEXTS: [&str; 4] = ["", "alpha", "beta", "ALPHABET"];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    vec((0u64..40, 0u64..3, 0usize..3, -3i64..3, 0usize..4), 1..150)
}

fn times(rows: &[Row]) -> Vec<u64> {
    rows.iter()
        .scan(0, |time, row| {
            *time += row.0;
            Some(*time)
        })
        .collect()
}

fn source(rows: &[Row], chunk: usize) -> MemorySource {
    let mut build = Build::default();
    let own = [("number", ColumnType::I64, Display::Decimal), ("text", ColumnType::Text, Display::Text)];
    build.stream("a:b", StreamKind::Events, &own);
    for (n, (row, time)) in rows.iter().zip(times(rows)).enumerate() {
        if n > 0 && n % chunk == 0 {
            build.chunk();
        }
        let text = if row.4 == 0 { Own::Missing } else { Own::T(TEXTS[row.4].as_bytes()) };
        build.event((time, row.1, row.1, row.1, COMMS[row.2].as_bytes()), &[Own::I(row.3), text]);
    }
    build.finish()
}

fn order(column: &str, descending: bool) -> Order {
    Order { column: column.to_owned(), descending }
}

fn times_of(rows: &[Vec<ShownCell>]) -> Vec<u64> {
    let time = |row: &Vec<ShownCell>| match row[0] {
        ShownCell::Number(time) => u64::try_from(time).unwrap(),
        _ => panic!("{row:?}"),
    };
    rows.iter().map(time).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn rows_are_sorted_by_several_columns(
        rows in rows(), chunk in 1usize..70, first: bool, second: bool, third: bool, offset in 0usize..60, limit in 0usize..60,
    ) {
        let source = source(&rows, chunk);
        let times = times(&rows);
        let mut expected: Vec<usize> = (0..rows.len()).collect();
        let turned = |less: std::cmp::Ordering, descending: bool| if descending { less.reverse() } else { less };
        expected.sort_by(|a, b| {
            let (a_row, b_row) = (&rows[*a], &rows[*b]);
            let text = |row: &Row| Some(TEXTS[row.4]).filter(|text| !text.is_empty());
            turned(text(a_row).cmp(&text(b_row)), first)
                .then_with(|| turned(a_row.3.cmp(&b_row.3), second))
                .then_with(|| turned(times[*a].cmp(&times[*b]), third))
        });
        let query = RowsQuery {
            order: vec![order("text", first), order("number", second), order("time", third)],
            offset: offset as u64, limit: limit as u32, ..RowsQuery::new(0)
        };
        let found = page(&source, &query, &GO).unwrap();
        let expected: Vec<u64> = expected.iter().skip(offset).take(limit).map(|row| times[*row]).collect();
        prop_assert_eq!(times_of(&found.rows), expected);
        prop_assert_eq!(found.matched, rows.len() as u64);
    }

    #[test]
    fn neighbours_are_those_of_a_plain_list(
        rows in rows(), chunk in 1usize..40, start in 0u64..1500, length in 1u64..3000, filtered: bool, by_comm: bool,
        offset in 0usize..90, limit in 1usize..40, way in 0usize..4,
    ) {
        let source = source(&rows, chunk);
        let times = times(&rows);
        let range = TimeRange::relative(ORIGIN, start, start + length);
        let shown: Vec<usize> = (0..rows.len())
            .filter(|n| (start..start + length).contains(&times[*n]) && (!filtered || rows[*n].3 >= 0))
            .collect();
        let key = |n: usize| (rows[n].1, if by_comm { rows[n].2 } else { 0 });
        let previous = |at: usize| shown[..at].iter().rev().find(|n| key(**n) == key(shown[at])).copied();
        let next = |at: usize| shown[at + 1..].iter().find(|n| key(**n) == key(shown[at])).copied();
        let since = |at: usize| previous(at).map(|n| times[shown[at]] - times[n]);
        let until = |at: usize| next(at).map(|n| times[n] - times[shown[at]]);
        let mut places: Vec<usize> = (0..shown.len()).collect();
        let orders = match way {
            0 => vec![],
            1 => {
                places.reverse();
                vec![order("time", true)]
            }
            2 => {
                places.sort_by_key(|at| Reverse(since(*at)));
                vec![order("since_previous", true)]
            }
            _ => {
                places.sort_by_key(|at| (rows[shown[*at]].3, until(*at)));
                vec![order("number", false), order("until_next", false)]
            }
        };
        let keys: &[&str] = if by_comm { &["cpu", "comm"] } else { &["cpu"] };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let query = RowsQuery {
            range, filter: Filter::parse(if filtered { "number >= 0" } else { "" }).unwrap(), order: orders,
            pairs: Some(RowPairs { keys: names(keys), values: names(&["text", "time"]) }),
            offset: offset as u64, limit: limit as u32, ..RowsQuery::new(0)
        };
        let found = page(&source, &query, &GO).unwrap();
        let heads: Vec<_> = found.columns.iter().skip(7).map(|head| head.name.clone()).collect();
        let expected = ["since_previous", "until_next", "previous text", "next text", "previous time", "next time"];
        prop_assert_eq!(heads, expected);
        let number = |number: Option<u64>| number.map_or(ShownCell::Null, |number| ShownCell::Number(number.into()));
        let text = |n: Option<usize>| match n.map(|n| TEXTS[rows[n].4]) {
            None | Some("") => ShownCell::Null,
            Some(text) => ShownCell::Text(text.to_owned()),
        };
        let expected: Vec<Vec<ShownCell>> = places.iter().skip(offset).take(limit).map(|at| vec![
            number(since(*at)), number(until(*at)), text(previous(*at)), text(next(*at)),
            number(previous(*at).map(|n| times[n])), number(next(*at).map(|n| times[n])),
        ]).collect();
        let found: Vec<Vec<ShownCell>> = found.rows.iter().map(|row| row[7..].to_vec()).collect();
        prop_assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn a_table_is_read_whole_in_its_order(
        rows in rows(), chunk in 1usize..40, way in 0usize..4, filtered: bool, has_pairs: bool, marks in 2u32..40,
    ) {
        let source = source(&rows, chunk);
        let order = match way {
            0 => vec![],
            1 => vec![order("time", true)],
            2 => vec![order("text", true), order("number", false)],
            _ => vec![order("cpu", false), order("time", true)],
        };
        let query = RowsQuery {
            filter: Filter::parse(if filtered { "number >= 0" } else { "" }).unwrap(), order, limit: 1000,
            pairs: has_pairs.then(|| RowPairs { keys: vec!["cpu".to_owned()], values: vec!["text".to_owned()] }),
            ..RowsQuery::new(0)
        };
        let expected = page(&source, &query, &GO).unwrap();
        let mut seen = SeenRows::new(&source, &query, &GO).unwrap();
        prop_assert_eq!(seen.columns(), expected.columns);
        let mut all = Vec::new();
        while let Some(rows) = seen.next_rows().unwrap() {
            prop_assert!(!rows.is_empty());
            all.extend(rows);
        }
        let times = times_of(&expected.rows);
        prop_assert_eq!(all, expected.rows);
        let told = row_times(&source, &query, marks, &GO).unwrap();
        if way > 1 || times.is_empty() {
            prop_assert!(told.times.is_empty());
        } else {
            let last = told.times.len() - 1;
            prop_assert_eq!(told.matched, times.len() as u64);
            let place = |mark: usize| (mark * (times.len() - 1)).checked_div(last).unwrap_or(0);
            for (mark, time) in told.times.iter().enumerate() {
                // Turned round, places are rounded the other way.
                let near = [place(mark), (place(mark) + 1).min(times.len() - 1)];
                prop_assert!(near.iter().any(|at| times[*at] == time.cast_unsigned()), "{} {:?}", mark, told.times);
            }
        }
    }
}

#[test]
fn what_cannot_be_sorted_or_paired_is_refused() {
    let source = source(&[(1, 0, 0, 0, 0)], 1);
    let refused = |query: RowsQuery| page(&source, &query, &GO).unwrap_err();
    let by = |columns: &[&str]| RowsQuery {
        order: columns.iter().map(|column| order(column, false)).collect(),
        ..RowsQuery::new(0)
    };
    assert!(matches!(refused(by(&["cpu"; 5])), ViewError::OutOfRange { .. }));
    assert!(matches!(refused(by(&["cpu", "nope"])), ViewError::NoSuchColumn { .. }));
    assert!(matches!(refused(by(&["since_previous"])), ViewError::NoSuchColumn { .. }), "without pairs");
    let pairs = |keys: &[&str], values: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        RowsQuery { pairs: Some(RowPairs { keys: names(keys), values: names(values) }), ..RowsQuery::new(0) }
    };
    assert!(matches!(refused(pairs(&["cpu"; 4], &[])), ViewError::OutOfRange { .. }));
    assert!(matches!(refused(pairs(&["cpu"], &["cpu"; 5])), ViewError::OutOfRange { .. }));
    assert!(matches!(refused(pairs(&["nope"], &[])), ViewError::NoSuchColumn { .. }));
}

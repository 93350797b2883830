//! Conditions on columns give what a plain look at every row gives, however chunks are passed over.

use bathyscope_capture::{ColumnType, Display, StreamKind};
use proptest::prelude::*;

use crate::{
    ask, capture,
    fixture::{Build, Own},
};

#[derive(Clone, Debug)]
struct Made {
    step: u64,
    unsigned: u64,
    signed: i64,
    begins_chunk: bool,
}

fn edge_u64() -> impl Strategy<Value = u64> {
    prop_oneof![0..6_u64, Just(u64::MAX), Just(1 << 63), Just((1 << 63) - 1), any::<u64>()]
}

fn edge_i64() -> impl Strategy<Value = i64> {
    prop_oneof![-4..5_i64, Just(i64::MAX), Just(i64::MIN), any::<i64>()]
}

fn made() -> impl Strategy<Value = Made> {
    let row = (0..4_u64, edge_u64(), edge_i64(), proptest::bool::weighted(0.2));
    row.prop_map(|(step, unsigned, signed, begins_chunk)| Made { step, unsigned, signed, begins_chunk })
}

#[derive(Clone, Debug)]
struct Condition {
    column: usize,
    op: &'static str,
    value: i64,
    half: bool,
}

fn condition() -> impl Strategy<Value = Condition> {
    let ops = prop_oneof![Just("="), Just("<"), Just("<="), Just(">"), Just(">="), Just("in")];
    let value = prop_oneof![-4..60_i64, Just(i64::MAX), Just(i64::MIN + 1), any::<i64>()];
    let value = value.prop_map(|value| value.max(i64::MIN + 1));
    (0..3_usize, ops, value, any::<bool>()).prop_map(|(column, op, value, half)| Condition { column, op, value, half })
}

impl Condition {
    fn is_half(&self) -> bool {
        self.half && self.value.abs() < 1000 && self.op != "in"
    }

    fn sql(&self, plus: &str) -> String {
        let column = ["time", "u", "s"][self.column];
        let value = if self.is_half() { format!("{}.5", self.value) } else { self.value.to_string() };
        match self.op {
            "in" => format!("{plus}{column} in ({value}, 3, {value})"),
            op => format!("{plus}{column} {op} {value}"),
        }
    }

    fn holds(&self, row: &[i64; 3]) -> bool {
        // Doubled, so that halves are whole numbers. -3.5 is written as -3 with .5 behind it.
        let toward = if self.value < 0 { -1 } else { 1 };
        let half = if self.is_half() { toward } else { 0 };
        let (number, value) = (i128::from(row[self.column]) * 2, i128::from(self.value) * 2 + half);
        match self.op {
            "=" => number == value,
            "<" => number < value,
            "<=" => number <= value,
            ">" => number > value,
            ">=" => number >= value,
            _ => number == value || number == 6,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn conditions_give_the_rows_that_satisfy_them(
        rows in prop::collection::vec(made(), 1..60),
        conditions in prop::collection::vec(condition(), 1..4),
    ) {
        let mut build = Build::default();
        let own = [("u", ColumnType::U64, Display::Decimal), ("s", ColumnType::I64, Display::Decimal)];
        build.stream("s", StreamKind::Events, &own);
        let (mut time, mut plain) = (0, Vec::new());
        for row in &rows {
            if row.begins_chunk {
                build.chunk();
            }
            time += row.step;
            build.event((time, 0, 1, 1, b"x"), &[Own::U(row.unsigned), Own::I(row.signed)]);
            plain.push([time as i64, row.unsigned.cast_signed(), row.signed]);
        }
        let capture = capture(build.finish());
        // `-0.5` cannot be written as -0 with .5 behind it.
        let conditions: Vec<_> = conditions.into_iter().filter(|c| !(c.is_half() && c.value == 0)).collect();
        let kept = plain.iter().filter(|row| conditions.iter().all(|condition| condition.holds(row)));
        let expected: Vec<String> = kept.map(|[t, u, s]| format!("{t}|{u}|{s}")).collect();
        let all = |plus: &str| {
            let words: Vec<String> = conditions.iter().map(|condition| condition.sql(plus)).collect();
            if words.is_empty() { "1".to_owned() } else { words.join(" and ") }
        };
        for plus in ["", "+"] {
            let sql = format!("select time, u, s from s where {}", all(plus));
            prop_assert_eq!(crate::lines(&ask(&capture, &sql).unwrap()), expected.clone(), "{}", sql);
        }
        let sql = format!("select time, u, s from s where {} order by time desc", all(""));
        let mut backwards = crate::lines(&ask(&capture, &sql).unwrap());
        backwards.reverse();
        prop_assert_eq!(&backwards, &expected);
        let sql = format!("select u, count(*), min(s) from s where {} group by u order by u", all(""));
        let slow = format!("select +u, count(*), min(s) from s where {} group by +u order by +u", all("+"));
        prop_assert_eq!(crate::lines(&ask(&capture, &sql).unwrap()), crate::lines(&ask(&capture, &slow).unwrap()));
    }

    #[test]
    fn aggregates_are_those_of_rows_one_by_one(
        rows in prop::collection::vec(made(), 0..60),
        conditions in prop::collection::vec(condition(), 0..3),
        group in 0..4_usize,
    ) {
        let mut build = Build::default();
        let own = [("u", ColumnType::U64, Display::Decimal), ("s", ColumnType::I64, Display::Decimal)];
        build.stream("s", StreamKind::Events, &own);
        let (mut time, comms) = (0, [b"one".as_slice(), b"two", b"three"]);
        for (n, row) in (0..).zip(&rows) {
            if row.begins_chunk {
                build.chunk();
            }
            time += row.step;
            build.event((time, n % 3, 7, n % 5, comms[n as usize % 3]), &[Own::U(row.unsigned), Own::I(row.signed)]);
        }
        let capture = capture(build.finish());
        let conditions: Vec<_> = conditions.into_iter().filter(|c| !(c.is_half() && c.value == 0)).collect();
        let words: Vec<String> = conditions.iter().map(|condition| condition.sql("")).collect();
        let wheres = if words.is_empty() { String::new() } else { format!("where {}", words.join(" and ")) };
        let (keys, groups) = [("", ""), ("cpu, ", "group by cpu"), ("comm, tid, ", "group by comm, tid"), ("s, ", "group by s")][group];
        let ends = if group == 3 { "max(u)" } else { "max(u), min(s)" };
        let sums = format!("count(*), count(u), sum(tid), total(pid), avg(time), min(time), {ends}, sum(tid) / 2 + max(pid)");
        for rest in ["", "order by 2 desc, 1", "limit 2"] {
            if rest.starts_with("order") && group == 0 {
                continue;
            }
            let lines = |more: &str| {
                let sql = format!("select {keys}{sums}{more} from s {wheres} {groups} {rest}");
                crate::lines(&ask(&capture, &sql).unwrap())
            };
            // What counts different values takes rows one by one.
            let one_by_one: Vec<String> = lines(", count(distinct 'x')")
                .into_iter()
                .map(|line| line.rsplit_once('|').unwrap().0.to_owned())
                .collect();
            prop_assert_eq!(lines(""), one_by_one, "{} {} {}", wheres, groups, rest);
        }
    }
}

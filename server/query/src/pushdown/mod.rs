//! Aggregates that are computed where the rows are: SQLite gets one row for each chunk or group instead of each row.
//!
//! A query such as `select cpu, sum(bytes) from t group by cpu` only adds up what a table gives. Where the program that SQLite
//! makes of it says so ([`program`]), its tables give one row for many ([`crate::members::Members`]), whose columns stand for all of them, and
//! `count`, `sum`, `total`, `avg`, `min` and `max` are functions of ours that add up all that a row stands for. What else the
//! query does with the sums (expressions, order, limit) SQLite does as ever. Any other query runs row by row.

mod program;

use std::sync::{Arc, PoisonError};

use rusqlite::{
    Connection, Error, Result,
    functions::{Aggregate, Context, FunctionFlags},
    types::{Value, ValueRef},
};

use crate::{functions::Held, shared::Shared};

pub(crate) use program::is_summed;

/// What an aggregate tells of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tally {
    Count,
    Sum,
    Total,
    Average,
    Least,
    Most,
}

const SUMS: [(&str, Tally); 6] = [
    ("count", Tally::Count),
    ("sum", Tally::Sum),
    ("total", Tally::Total),
    ("avg", Tally::Average),
    ("min", Tally::Least),
    ("max", Tally::Most),
];

/// Whether a query has words of aggregates at all.
pub(crate) fn may_sum(sql: &str) -> bool {
    let lower = sql.to_ascii_lowercase();
    SUMS.iter().any(|(name, _)| lower.contains(name))
}

/// Puts the aggregates of [`SUMS`] in place of SQLite's own.
pub(crate) fn add(connection: &Connection, shared: &Arc<Shared>) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    for (name, sum) in SUMS {
        let own = || BulkAggregate { shared: Held(Arc::clone(shared)), sum };
        connection.create_aggregate_function(name, 1, flags, own())?;
    }
    connection.create_aggregate_function(
        "count",
        0,
        flags,
        BulkAggregate { shared: Held(Arc::clone(shared)), sum: Tally::Count },
    )
}

struct BulkAggregate {
    shared: Held,
    sum: Tally,
}

/// What was added up so far. No sum of 2^64 numbers of 64 bits is too large for it.
#[derive(Default)]
struct Running {
    rows: u64,
    sum: i128,
    ends: Option<(i64, i64)>,
}

impl Aggregate<Running, Value> for BulkAggregate {
    fn init(&self, _context: &mut Context<'_>) -> Result<Running> {
        Ok(Running::default())
    }

    fn step(&self, context: &mut Context<'_>, running: &mut Running) -> Result<()> {
        let members = self.shared.0.members.lock().unwrap_or_else(PoisonError::into_inner);
        if context.is_empty() {
            running.rows += members.len();
            return Ok(());
        }
        // A column of such a row has its own number as its value.
        let column = match context.get_raw(0) {
            ValueRef::Integer(column) => usize::try_from(column).ok(),
            _ => None,
        };
        let column = column.ok_or_else(|| Error::UserFunctionError("a column without a number".into()))?;
        running.rows += members.count(column);
        match self.sum {
            Tally::Count => {}
            Tally::Least | Tally::Most => {
                if let Some((least, most)) = members.ends(column) {
                    let (from, to) = running.ends.unwrap_or((least, most));
                    running.ends = Some((least.min(from), most.max(to)));
                }
            }
            _ => running.sum += members.sum(column),
        }
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, running: Option<Running>) -> Result<Value> {
        let Running { rows, sum, ends } = running.unwrap_or_default();
        let some = |value: Value| if rows == 0 { Value::Null } else { value };
        Ok(match self.sum {
            Tally::Count => Value::Integer(rows.cast_signed()),
            Tally::Total => Value::Real(sum as f64),
            Tally::Average => some(Value::Real(sum as f64 / rows as f64)),
            Tally::Least => ends.map_or(Value::Null, |(least, _)| Value::Integer(least)),
            Tally::Most => ends.map_or(Value::Null, |(_, most)| Value::Integer(most)),
            Tally::Sum => {
                let whole = i64::try_from(sum).map_err(|_large| Error::UserFunctionError("integer overflow".into()))?;
                some(Value::Integer(whole))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::{sync::atomic::AtomicBool, time::Instant};

    use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, ShownCell, StreamKind, StreamSchema};
    use bathyscope_views::MemorySource;

    use super::*;
    use crate::{Capture, Limits, run::attempt, shared::RowMode};

    fn capture() -> Capture {
        let mut source = MemorySource::new(0);
        let own = [Column { name: "bytes".to_owned(), ty: ColumnType::U64, display: Display::Decimal }];
        let numbers = |values: [u64; 3]| ColumnData::U64(values.to_vec());
        let batch = |first: u64| {
            let columns =
                vec![numbers([first, first + 1, first + 2]), numbers([0, 1, 0]), numbers([1; 3]), numbers([1; 3])];
            let rest = [ColumnData::Id(vec![1, 2, 1]), numbers([first * 10, 5, 7])];
            Batch { columns: columns.into_iter().chain(rest).collect() }
        };
        source.dictionaries.insert_string(1, *b"one");
        source.dictionaries.insert_string(2, *b"two");
        source.push_stream(StreamSchema::new("t", StreamKind::Events, own), vec![batch(0), batch(3)]);
        Capture::new(Arc::new(source))
    }

    fn summed(sql: &str) -> Option<Vec<String>> {
        let cancel = Arc::new(AtomicBool::new(false));
        let answer = attempt(&capture(), sql, &Limits::USUAL, &cancel, Instant::now(), RowMode::Summed).ok()?;
        let word = |cell: &ShownCell| match cell {
            ShownCell::Number(number) => number.to_string(),
            ShownCell::Real(number) => format!("{number:?}"),
            ShownCell::Text(text) => text.clone(),
            ShownCell::Null | ShownCell::Stack { .. } => "-".to_owned(),
        };
        Some(answer.rows.iter().map(|row| row.iter().map(word).collect::<Vec<_>>().join("|")).collect())
    }

    #[test]
    fn what_only_adds_up_takes_no_rows_one_by_one() {
        let cases: [(&str, &[&str]); 9] = [
            ("select count(*), sum(bytes), max(cpu) from t", &["6|54|1"]),
            ("select avg(bytes), total(cpu), min(time) from t where time > 1", &["12.25|1.0|2"]),
            ("select sum(bytes) / count(*) from t where comm = 'one' and time between 1 and 4", &["18"]),
            ("select cpu, count(*), sum(bytes) from t group by cpu order by 2 desc limit 1", &["0|4|44"]),
            ("select comm, max(bytes) as most from t group by comm having most > 5 order by most", &["one|30"]),
            ("select min(bytes), count(*) from t where cpu = 9", &["-|0"]),
            ("select count(*) from t", &["6"]),
            ("select round(sum(bytes) * 1.0 / 4, 1) from t", &["13.5"]),
            ("with a as (select sum(bytes) as s from t) select s from a", &["54"]),
        ];
        for (sql, expected) in cases {
            let found = summed(sql);
            assert!(found.is_some() || sql.starts_with("with"), "{sql}");
            assert!(found.as_ref().is_none_or(|rows| rows == expected), "{sql}: {found:?}");
        }
    }

    #[test]
    fn what_needs_rows_takes_them_one_by_one() {
        for sql in [
            "select comm, max(bytes) from t",
            "select bytes, max(bytes) from t",
            "select max(comm) from t",
            "select count(comm) from t",
            "select sum(bytes + 1) from t",
            "select count(distinct cpu) from t",
            "select sum(bytes) from t where bytes > cpu",
            "select sum(bytes) filter (where cpu = 0) from t",
            "select cpu, sum(cpu) from t group by cpu",
            "select count(*) from strings",
            "select sum(a.bytes) from t a, t b",
            "select sum(bytes) over (order by time) from t",
            "select max(bytes, cpu) from t",
            "select sum(1) from t",
            "select percentile(bytes, 50), count(*) from t",
            "select count(*) from t where time = '1'",
            "select nonsense",
        ] {
            assert_eq!(summed(sql), None, "{sql}");
        }
    }
}

//! Snapshots of maps, made again from the rows that were kept of them ([`super::MapRows`]).

use std::collections::HashMap;

use bathyscope_plan::{Aggregation, MapPlan};

use super::{Aggregated, Entry, Point, Snapshot, Value, histogram, series};

/// A row of a map's stream.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptRow {
    /// The parts of the key.
    pub key: Vec<Value>,
    /// The columns of the value: of an aggregation its numbers, in the order of the columns; else the value, as one.
    pub value: Vec<Value>,
}

impl Snapshot {
    /// The snapshot that these rows were made of, in their order.
    pub fn of_rows(map: &MapPlan, rows: impl IntoIterator<Item = KeptRow>) -> Self {
        let mut snapshot = Self::default();
        let numbers = map.aggregation().map(bucket_numbers).unwrap_or_default();
        for KeptRow { key, value } in rows {
            let Some(aggregation) = map.aggregation() else {
                let value = value.into_iter().next().unwrap_or(Value::None);
                snapshot.entries.push(Entry { key, value });
                continue;
            };
            let Some(value) = aggregated(aggregation, &value, &numbers) else {
                snapshot.faulty += 1;
                continue;
            };
            // Each bucket and each interval has a row.
            let last = snapshot.entries.last_mut().filter(|entry| entry.key == key);
            let joined = last.is_some_and(|entry| match &mut entry.value {
                Value::Aggregate(whole) => join(whole, &value),
                _ => false,
            });
            if !joined {
                snapshot.entries.push(Entry { key, value: Value::Aggregate(value) });
            }
        }
        snapshot
    }
}

/// How many columns the value of a map has, if it is an aggregation.
pub fn value_columns(map: &MapPlan) -> Option<usize> {
    Some(super::rows::aggregate_columns(map.aggregation()?).len())
}

/// Numbers of a histogram's buckets by where they begin.
fn bucket_numbers(aggregation: &Aggregation) -> HashMap<i128, u64> {
    if !matches!(aggregation, Aggregation::Hist { .. } | Aggregation::LinearHist { .. }) {
        return HashMap::new();
    }
    let least = i128::from(i64::MIN);
    let begin =
        |number: u64| histogram::limits(aggregation, number).0.unwrap_or(least).clamp(least, i128::from(i64::MAX));
    // Of two that were cut to the same number the first is as good.
    (0..u64::from(aggregation.buckets().unwrap_or(0))).rev().map(|number| (begin(number), number)).collect()
}

fn aggregated(aggregation: &Aggregation, value: &[Value], buckets: &HashMap<i128, u64>) -> Option<Aggregated> {
    let number = |index: usize| value.get(index).and_then(Value::number);
    let unsigned = |index| number(index).and_then(|number| u64::try_from(number).ok());
    Some(match aggregation {
        Aggregation::Stats { .. } => Aggregated::Stats { count: unsigned(0)?, total: number(2)? },
        Aggregation::Hist { .. } | Aggregation::LinearHist { .. } => {
            Aggregated::Buckets(vec![(*buckets.get(&number(0)?)?, unsigned(2)?)])
        }
        Aggregation::TimeSeries { .. } => {
            let interval = series::Intervals::of(aggregation).number(unsigned(0)?);
            Aggregated::Series(vec![Point { interval, value: number(1)? }])
        }
        _ => Aggregated::Number(Some(number(0)?)),
    })
}

/// Adds the next row of the same element; `false` if it is one of another.
fn join(whole: &mut Aggregated, part: &Aggregated) -> bool {
    match (whole, part) {
        (Aggregated::Buckets(whole), Aggregated::Buckets(part)) => whole.extend(part),
        (Aggregated::Series(whole), Aggregated::Series(part)) => whole.extend(part),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::{Cell, StreamSchema};

    use super::*;
    use crate::script::{MapRows, NoNames, ScriptRow, ScriptStack};
    use bathyscope_plan::{MapType, Plan, SeriesOf, Type};

    fn map(key: Vec<Type>, value: Type) -> MapPlan {
        let (name, object_name) = ("@m".to_owned(), "m".to_owned());
        let (kind, key_bytes, value_bytes, max_entries) = (MapType::PerCpuHash, 8, 8, 100);
        MapPlan { name, object_name, kind, key, value, key_bytes, value_bytes, max_entries, start: 0, end: 1 }
    }

    /// The snapshot through its rows and back.
    fn kept(map: &MapPlan, snapshot: &Snapshot) -> Snapshot {
        let rows = MapRows::new(map).rows(map, snapshot, (1, 5), &Plan::default(), &NoNames);
        let value = |cell: Cell<_, ScriptStack>| match cell {
            Cell::U64(number) => Value::Unsigned(number),
            Cell::I64(number) => Value::Signed(number),
            Cell::Text(text) => Value::Text(text),
            Cell::Stack(ScriptStack { id, pid, .. }) => Value::Stack { id, pid },
            Cell::Null => Value::None,
        };
        let row = |row: ScriptRow| {
            let mut own = row.cells.into_iter().skip(StreamSchema::COMMON.len() + 1).map(value);
            let key = own.by_ref().take(map.key.len()).collect();
            KeptRow { key, value: own.collect() }
        };
        Snapshot::of_rows(map, rows.into_iter().map(row))
    }

    #[test]
    fn what_was_aggregated_comes_back_from_its_rows() {
        let point = |interval, value| Point { interval, value };
        let linear = Aggregation::LinearHist { min: -10, max: 50, step: 10 };
        let series =
            Aggregation::TimeSeries { interval_ns: 1000, phase_ns: 300, slots: 8, of: SeriesOf::Sum, signed: true };
        let cases = [
            (Aggregation::Count, Aggregated::Number(Some(3))),
            (Aggregation::Min { signed: true }, Aggregated::Number(Some(-3))),
            (Aggregation::Stats { signed: true }, Aggregated::Stats { count: 3, total: -10 }),
            (Aggregation::Hist { bits: 0 }, Aggregated::Buckets(vec![(0, 1), (1, 2), (2, 3), (40, 4)])),
            (Aggregation::Hist { bits: 3 }, Aggregated::Buckets(vec![(1, 2), (70, 4)])),
            (linear, Aggregated::Buckets(vec![(0, 9), (3, 2), (7, 1)])),
            (series, Aggregated::Series(vec![point(7, -1), point(9, 5)])),
        ];
        for (aggregation, aggregated) in cases {
            let map = map(vec![Type::I64, Type::Text { bytes: 16 }], Type::Aggregate(aggregation));
            let key = |name: &[u8]| vec![Value::Signed(-7), Value::Text(name.to_vec())];
            let entry = |name: &[u8]| Entry { key: key(name), value: Value::Aggregate(aggregated.clone()) };
            let snapshot = Snapshot { entries: vec![entry(b"one"), entry(b"two")], faulty: 0 };
            assert_eq!(kept(&map, &snapshot), snapshot);
        }
    }

    #[test]
    fn plain_values_come_back_and_nonsense_is_counted() {
        let plain = map(vec![Type::I64], Type::U64);
        let entries = vec![Entry { key: vec![Value::Signed(1)], value: Value::Unsigned(2) }];
        let snapshot = Snapshot { entries, faulty: 0 };
        assert_eq!(kept(&plain, &snapshot), snapshot);
        let histogram = map(vec![Type::I64], Type::Aggregate(Aggregation::Hist { bits: 0 }));
        let wrong = KeptRow { key: vec![Value::Signed(1)], value: vec![Value::Signed(3), Value::None] };
        assert_eq!(Snapshot::of_rows(&histogram, [wrong]), Snapshot { entries: Vec::new(), faulty: 1 });
    }
}

//! The rows that one row of a table stands for.

use std::{ops::Range, sync::Arc};

use bathyscope_capture::{Batch, ColumnData};

use crate::values::{Reading, relative};

/// What was added up of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Added {
    count: u64,
    sum: i128,
    least: i64,
    most: i64,
}

impl Default for Added {
    fn default() -> Self {
        Self { count: 0, sum: 0, least: i64::MAX, most: i64::MIN }
    }
}

impl Added {
    pub(crate) fn add(&mut self, number: i64) {
        self.count += 1;
        self.sum += i128::from(number);
        self.least = self.least.min(number);
        self.most = self.most.max(number);
    }
}

/// Rows of a decoded batch, or what was added up of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) origin_ns: u64,
    pub(crate) readings: Arc<[Reading]>,
    /// None where no column is read.
    pub(crate) batch: Option<Arc<Batch>>,
    /// Rows of `picked`, if there is such a list, else of the batch.
    pub(crate) rows: Range<usize>,
    pub(crate) picked: Option<Arc<Vec<u32>>>,
    /// By column, of rows that were added up before; then there is no batch.
    pub(crate) added: Vec<(usize, Added)>,
}

impl Members {
    /// How many.
    pub(crate) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// How many have a value in a column.
    pub(crate) fn count(&self, column: usize) -> u64 {
        match (self.of(column), self.readings.get(column)) {
            (Some(added), _) => added.count,
            (None, Some(Reading::Length)) => self.fold(column, 0, |count, _| count + 1),
            (None, _) => self.len(),
        }
    }

    /// The sum of a column.
    pub(crate) fn sum(&self, column: usize) -> i128 {
        match self.of(column) {
            Some(added) => added.sum,
            None => self.fold(column, 0, |sum, number| sum + i128::from(number)),
        }
    }

    /// The least and the greatest number of a column; none if there are no rows.
    pub(crate) fn ends(&self, column: usize) -> Option<(i64, i64)> {
        let all = |(least, most): (i64, i64), number: i64| (number.min(least), number.max(most));
        let (least, most) = match self.of(column) {
            Some(added) => (added.least, added.most),
            None => self.fold(column, (i64::MAX, i64::MIN), all),
        };
        (least <= most).then_some((least, most))
    }

    fn of(&self, column: usize) -> Option<&Added> {
        self.added.iter().find(|(other, _)| *other == column).map(|(_, added)| added)
    }

    /// Goes through the numbers of a column, as [`Reading::number`] reads them; those that are no value are left out.
    fn fold<T>(&self, column: usize, first: T, each: impl Fn(T, i64) -> T) -> T {
        let data = self.batch.as_ref().and_then(|batch| batch.columns.get(column));
        let (Some(data), Some(reading)) = (data, self.readings.get(column)) else { return first };
        match (data, reading) {
            (ColumnData::U64(values), Reading::Time) => {
                self.fold_values(values, first, |all, value| each(all, relative(self.origin_ns, value)))
            }
            (ColumnData::U64(values), Reading::Length) => {
                let each = |all: T, value: u64| if value == 0 { all } else { each(all, value.cast_signed()) };
                self.fold_values(values, first, each)
            }
            (ColumnData::U64(values), _) => {
                self.fold_values(values, first, |all, value| each(all, value.cast_signed()))
            }
            (ColumnData::I64(values), _) => self.fold_values(values, first, each),
            (ColumnData::Id(values), _) => self.fold_values(values, first, |all, value| each(all, value.into())),
        }
    }

    fn fold_values<V: Copy, T>(&self, values: &[V], first: T, each: impl Fn(T, V) -> T) -> T {
        match &self.picked {
            None => values.get(self.rows.clone()).unwrap_or(&[]).iter().fold(first, |all, value| each(all, *value)),
            Some(picked) => {
                let picked = picked.get(self.rows.clone()).unwrap_or(&[]).iter();
                picked.filter_map(|row| values.get(*row as usize)).fold(first, |all, value| each(all, *value))
            }
        }
    }
}

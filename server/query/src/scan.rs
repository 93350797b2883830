//! Goes through the rows of a stream: passes chunks over by their extremes, decodes only what is read, and leaves out
//! rows that a condition excludes.
//!
//! SQLite checks conditions again, except those whose value is a number or a text when a statement is prepared
//! ([`decides`]): of these a scan gives just the rows that satisfy them, of others it may give too many but never too few.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use bathyscope_capture::{Batch, StreamSchema};
use rusqlite::types::ValueRef;

use crate::{
    members::Members,
    plan::{Op, Plan, Term},
    shared::Shared,
    values::{Reading, relative},
};

/// What a column's numbers must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// From the first to the last.
    Between(i64, i64),
    /// One of these, ascending; never empty.
    AnyOf(Vec<i64>),
}

impl Want {
    fn admits(&self, number: i64) -> bool {
        match self {
            Self::Between(least, most) => (*least..=*most).contains(&number),
            Self::AnyOf(numbers) => numbers.binary_search(&number).is_ok(),
        }
    }

    /// Whether any number from `least` to `most` can be wanted.
    fn overlaps(&self, (least, most): (i64, i64)) -> bool {
        match self {
            Self::Between(from, to) => *from <= most && least <= *to,
            Self::AnyOf(numbers) => {
                numbers.get(numbers.partition_point(|number| *number < least)).is_some_and(|number| *number <= most)
            }
        }
    }

    /// Whether all numbers from `least` to `most` are wanted.
    fn covers(&self, (least, most): (i64, i64)) -> bool {
        matches!(self, Self::Between(from, to) if *from <= least && most <= *to)
    }
}

/// Whole numbers that compare so with a real one.
fn real_range(op: Op, value: f64) -> (i128, i128) {
    // Beyond what fits, the ends of the type are as good: all numbers of columns lie between.
    let (floor, ceil) = (value.floor() as i128, value.ceil() as i128);
    match op {
        Op::Equal | Op::In => (ceil, floor),
        Op::Less => (i128::MIN, ceil - 1),
        Op::LessOrEqual => (i128::MIN, floor),
        Op::Greater => (floor + 1, i128::MAX),
        Op::GreaterOrEqual => (ceil, i128::MAX),
    }
}

fn whole_range(op: Op, value: i64) -> (i128, i128) {
    let value = i128::from(value);
    match op {
        Op::Equal | Op::In => (value, value),
        Op::Less => (i128::MIN, value - 1),
        Op::LessOrEqual => (i128::MIN, value),
        Op::Greater => (value + 1, i128::MAX),
        Op::GreaterOrEqual => (value, i128::MAX),
    }
}

/// What numbers a condition leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// All of them, as far as is known here.
    All,
    /// Not one.
    None,
    /// Some.
    Some(Want),
}

/// What a comparison of a number with `value` leaves.
pub(crate) fn compared(op: Op, value: ValueRef<'_>) -> Left {
    let (least, most) = match value {
        ValueRef::Integer(value) => whole_range(op, value),
        ValueRef::Real(value) if value.abs() < 1e30 => real_range(op, value),
        ValueRef::Null => return Left::None,
        // Text may be a number to SQLite; it decides.
        _ => return Left::All,
    };
    let (least, most) = (least.max(i128::from(i64::MIN)), most.min(i128::from(i64::MAX)));
    match (i64::try_from(least), i64::try_from(most)) {
        (Ok(least), Ok(most)) if least <= most => Left::Some(Want::Between(least, most)),
        _ => Left::None,
    }
}

/// Whether [`compared`] (of numbers) or [`texts`] leave just the rows that satisfy a comparison with this value.
pub(crate) fn decides(reading: Reading, value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Integer(_) => reading.is_number(),
        ValueRef::Real(value) => reading.is_number() && value.abs() < 1e30,
        ValueRef::Text(_) => reading == Reading::Text,
        ValueRef::Null | ValueRef::Blob(_) => false,
    }
}

/// What `column in (values)` leaves of numbers.
pub(crate) fn one_of<'v>(values: impl Iterator<Item = ValueRef<'v>>) -> Left {
    let mut numbers = Vec::new();
    for value in values {
        match compared(Op::In, value) {
            Left::All => return Left::All,
            Left::Some(Want::Between(number, _)) => numbers.push(number),
            Left::None | Left::Some(Want::AnyOf(_)) => {}
        }
    }
    any_of(numbers)
}

fn any_of(mut numbers: Vec<i64>) -> Left {
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.is_empty() { Left::None } else { Left::Some(Want::AnyOf(numbers)) }
}

/// What equality with one of some texts leaves of ids.
pub(crate) fn texts<'v>(shared: &Shared, values: impl Iterator<Item = ValueRef<'v>>) -> Left {
    let mut ids = Vec::new();
    for value in values {
        match value {
            ValueRef::Text(text) => {
                let found = shared.texts().ids(shared.capture.source.dictionaries(), text);
                ids.extend(found.into_iter().map(i64::from));
            }
            ValueRef::Null => {}
            // A number may be compared as text; SQLite decides.
            _ => return Left::All,
        }
    }
    any_of(ids)
}

/// A stream being read as a plan says.
pub(crate) struct Scan {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stream: u16,
    pub(crate) readings: Arc<[Reading]>,
    /// Columns that are decoded.
    columns: Vec<usize>,
    wants: Vec<(usize, Want)>,
    nothing: bool,
}

/// The rows of a chunk that a scan gives.
pub(crate) struct Hit {
    pub(crate) chunk: usize,
    /// None if no column is read.
    pub(crate) batch: Option<Arc<Batch>>,
    rows: Range<usize>,
    picked: Option<Arc<Vec<u32>>>,
}

impl Hit {
    /// All of them as one.
    pub(crate) fn members(&self, scan: &Scan) -> Members {
        Members {
            origin_ns: scan.origin_ns(),
            readings: Arc::clone(&scan.readings),
            batch: self.batch.clone(),
            rows: self.picked.as_ref().map_or(self.rows.clone(), |picked| 0..picked.len()),
            picked: self.picked.clone(),
            added: Vec::new(),
        }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.picked.as_ref().map_or(self.rows.len(), |picked| picked.len())
    }

    /// The row in the chunk of the hit with that index.
    pub(crate) fn row(&self, index: usize) -> usize {
        match &self.picked {
            Some(picked) => picked.get(index).map_or(usize::MAX, |row| *row as usize),
            None => self.rows.start + index,
        }
    }
}

impl Scan {
    pub(crate) fn new(shared: &Arc<Shared>, stream: u16, plan: &Plan, left: Vec<(Term, Left)>) -> Self {
        let schema = shared.capture.source.streams().get(usize::from(stream));
        let readings: Arc<[Reading]> = schema.map(Reading::of).unwrap_or_default().into();
        let nothing = left.iter().any(|(_, left)| *left == Left::None);
        let wants: Vec<(usize, Want)> = left
            .into_iter()
            .filter_map(|(term, left)| match left {
                Left::Some(want) => Some((term.column, want)),
                Left::All | Left::None => None,
            })
            .collect();
        let is_wanted = |column: &usize| plan.uses(*column) || wants.iter().any(|(wanted, _)| wanted == column);
        let columns = (0..readings.len()).filter(is_wanted).collect();
        Self { shared: Arc::clone(shared), stream, readings, columns, wants, nothing }
    }

    pub(crate) fn origin_ns(&self) -> u64 {
        self.shared.capture.source.origin_ns()
    }

    /// How many chunks the stream has.
    pub(crate) fn chunks(&self) -> usize {
        self.shared.capture.source.chunks(self.stream).len()
    }

    /// The rows of a chunk; none if there are none.
    pub(crate) fn hit(&self, chunk: usize) -> rusqlite::Result<Option<Hit>> {
        let Some(meta) = self.shared.capture.source.chunks(self.stream).get(chunk) else { return Ok(None) };
        let extremes = |column: usize| self.readings.get(column)?.extremes(self.origin_ns(), meta, column);
        let impossible = |(column, want): &(usize, Want)| extremes(*column).is_some_and(|ends| !want.overlaps(ends));
        if self.nothing || self.wants.iter().any(impossible) {
            self.shared.skipped.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let mut rows = 0..meta.rows as usize;
        let open: Vec<&(usize, Want)> = self
            .wants
            .iter()
            .filter(|(column, want)| {
                // Rows without a value are wanted by no condition.
                let may_lack = |least: i64| self.readings.get(*column).is_some_and(|it| it.is_none(least));
                extremes(*column).is_none_or(|ends| !want.covers(ends) || may_lack(ends.0))
            })
            .collect();
        if self.columns.is_empty() {
            self.shared.rows.fetch_add(u64::from(meta.rows), Ordering::Relaxed);
            return Ok(Some(Hit { chunk, batch: None, rows, picked: None }));
        }
        let batch = self.shared.batch(self.stream, chunk, &self.columns)?;
        self.shared.rows.fetch_add(u64::from(meta.rows), Ordering::Relaxed);
        // The time first: it only cuts, so that less is left to look at.
        let is_span =
            |(column, want): &&&(usize, Want)| *column == StreamSchema::TIME && matches!(want, Want::Between(..));
        for (_time, want) in open.iter().filter(is_span) {
            if let Want::Between(least, most) = want {
                self.narrow(&batch, &mut rows, (*least, *most));
            }
        }
        let mut picked: Option<Vec<u32>> = None;
        for (column, want) in open.iter().filter(|open| !is_span(open)) {
            picked = Some(self.pick(&batch, *column, want, &rows, picked));
        }
        let hit = Hit { chunk, batch: Some(batch), rows, picked: picked.map(Arc::new) };
        Ok((hit.len() > 0).then_some(hit))
    }

    /// Cuts the rows to those of a span of time, by which they are sorted.
    fn narrow(&self, batch: &Batch, rows: &mut Range<usize>, (least, most): (i64, i64)) {
        let times = batch.columns.get(StreamSchema::TIME).map_or(&[][..], |column| column.as_u64());
        let at = |time: &u64| relative(self.origin_ns(), *time);
        let from = times.partition_point(|time| at(time) < least);
        let to = times.partition_point(|time| at(time) <= most);
        rows.start = rows.start.max(from);
        rows.end = rows.end.min(to).max(rows.start);
    }

    /// The rows, of those that were picked before or else of `rows`, whose number in a column is wanted.
    fn pick(
        &self,
        batch: &Batch,
        column: usize,
        want: &Want,
        rows: &Range<usize>,
        before: Option<Vec<u32>>,
    ) -> Vec<u32> {
        let reading = self.readings.get(column).copied().unwrap_or(Reading::Unsigned);
        let Some(data) = batch.columns.get(column) else { return before.unwrap_or_default() };
        let origin_ns = self.origin_ns();
        let is_wanted = |row: &u32| {
            let number = reading.number(origin_ns, data, *row as usize);
            number.is_some_and(|number| want.admits(number) && !reading.is_none(number))
        };
        match before {
            Some(mut picked) => {
                picked.retain(is_wanted);
                picked
            }
            None => {
                let end = u32::try_from(rows.end).unwrap_or(u32::MAX);
                (u32::try_from(rows.start).unwrap_or(u32::MAX)..end).filter(is_wanted).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_leave_just_the_numbers_that_satisfy_them() {
        let ops = [Op::Equal, Op::Less, Op::LessOrEqual, Op::Greater, Op::GreaterOrEqual];
        let holds = |op, number: f64, value: f64| match op {
            Op::Equal | Op::In => number == value,
            Op::Less => number < value,
            Op::LessOrEqual => number <= value,
            Op::Greater => number > value,
            Op::GreaterOrEqual => number >= value,
        };
        for op in ops {
            for value in [-2.5, -2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0] {
                for number in -4_i64..5 {
                    let expected = holds(op, number as f64, value);
                    let mut given = vec![ValueRef::Real(value)];
                    if value.fract() == 0.0 {
                        given.push(ValueRef::Integer(value as i64));
                    }
                    for value in given {
                        let found = match compared(op, value) {
                            Left::All => true,
                            Left::None => false,
                            Left::Some(want) => want.admits(number),
                        };
                        assert_eq!(found, expected, "{number} {op:?} {value:?}");
                    }
                }
            }
        }
        assert_eq!(compared(Op::Greater, ValueRef::Integer(i64::MAX)), Left::None);
        assert_eq!(compared(Op::Less, ValueRef::Integer(i64::MIN)), Left::None);
        assert_eq!(compared(Op::Equal, ValueRef::Null), Left::None);
        assert_eq!(compared(Op::Equal, ValueRef::Text(b"1")), Left::All);
        assert_eq!(compared(Op::Less, ValueRef::Real(1e300)), Left::All);
        let some = one_of([3, 1, 3].map(ValueRef::Integer).into_iter());
        assert_eq!(some, Left::Some(Want::AnyOf(vec![1, 3])));
        assert_eq!(one_of([ValueRef::Null].into_iter()), Left::None);
    }

    #[test]
    fn chunks_are_passed_over_only_if_nothing_in_them_is_wanted() {
        let cases = [
            (Want::Between(3, 5), (0, 2), false, false),
            (Want::Between(3, 5), (5, 9), true, false),
            (Want::Between(3, 5), (4, 5), true, true),
            (Want::AnyOf(vec![1, 9]), (2, 8), false, false),
            (Want::AnyOf(vec![1, 9]), (9, 9), true, false),
        ];
        for (want, ends, overlaps, covers) in cases {
            assert_eq!((want.overlaps(ends), want.covers(ends)), (overlaps, covers), "{want:?} {ends:?}");
        }
    }
}

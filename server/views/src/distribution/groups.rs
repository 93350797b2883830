//! The values of a column that rows are told apart by: which are the most frequent.

use std::collections::HashMap;

use bathyscope_capture::{ColumnData, ColumnType, CompareOp, Literal, Predicate, ShownCell, StreamSchema};

use super::values::ValueColumn;
use crate::{
    Source, ViewError,
    cell::{shown_cell, value},
    filter::no_such_column,
    range::word,
    scan::Scan,
};

/// Values up to this are counted by their place; ids, CPUs and most others are so small.
const MAX_PLACES: u64 = 1 << 20;
/// The most greater values that are counted.
const MAX_COUNTED: usize = 1 << 18;

/// What rows are told apart by.
pub(super) struct Groups {
    pub(super) column: usize,
    /// The most frequent values, and how many rows have them.
    pub(super) top: Vec<u64>,
    /// How many more values there are.
    pub(super) more: u64,
    /// Whether not all values were counted: there can be more, and a value that came late can be missing.
    pub(super) is_cut: bool,
}

#[derive(Default)]
struct WordCounts {
    places: Vec<u64>,
    others: HashMap<u64, u64>,
    is_cut: bool,
}

impl WordCounts {
    fn add(&mut self, word: u64) {
        if word < MAX_PLACES {
            let place = word as usize;
            if self.places.len() <= place {
                self.places.resize((place + 1).next_power_of_two(), 0);
            }
            if let Some(count) = self.places.get_mut(place) {
                *count += 1;
            }
        } else if self.others.len() < MAX_COUNTED || self.others.contains_key(&word) {
            *self.others.entry(word).or_insert(0) += 1;
        } else {
            self.is_cut = true;
        }
    }

    /// Values with their counts, those with most first, the least of equals.
    fn sorted(self) -> Vec<(u64, u64)> {
        let places = (0..).zip(self.places).filter(|(_, count)| *count > 0);
        let mut all: Vec<(u64, u64)> = places.chain(self.others).collect();
        all.sort_unstable_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
        all
    }
}

impl Groups {
    /// The `most` most frequent values of the column called `name` in the rows of a scan, which has to load it.
    pub(super) fn of(
        scan: &mut Scan<'_>,
        (column, most): (usize, usize),
        values: &ValueColumn,
    ) -> Result<Self, ViewError> {
        let mut counts = WordCounts::default();
        scan.for_each_hit(|hit| {
            values.for_each(hit, |row, _| counts.add(word(&hit.batch, column, row)));
            Ok(())
        })?;
        let is_cut = counts.is_cut;
        let sorted = counts.sorted();
        let more = sorted.len().saturating_sub(most) as u64;
        Ok(Self { column, top: sorted.into_iter().take(most).map(|(word, _)| word).collect(), more, is_cut })
    }

    /// Which of the most frequent values it is.
    pub(super) fn place(&self, word: u64) -> Option<usize> {
        self.top.iter().position(|known| *known == word)
    }
}

/// The column that rows are told apart by.
pub(super) fn group_column(schema: &StreamSchema, name: &str) -> Result<usize, ViewError> {
    schema.column(name).ok_or_else(|| no_such_column(schema, name))
}

/// A value of a column by its word, as people read it, and the condition that rows with it satisfy; empty where none does.
pub(crate) fn group_value(
    source: &dyn Source,
    schema: &StreamSchema,
    (column, word): (usize, u64),
) -> (ShownCell, String) {
    let Some(of) = schema.columns.get(column) else { return (ShownCell::Null, String::new()) };
    let data = match of.ty {
        ColumnType::U64 => ColumnData::U64(vec![word]),
        ColumnType::I64 => ColumnData::I64(vec![word.cast_signed()]),
        ColumnType::Text | ColumnType::Stack => ColumnData::Id(vec![u32::try_from(word).unwrap_or(0)]),
    };
    let (dictionaries, origin_ns) = (source.dictionaries(), source.origin_ns());
    let shown = shown_cell(dictionaries, value(dictionaries, (schema, column), Some(&data), 0, origin_ns));
    let literal = match (of.ty, &shown) {
        (ColumnType::Stack, _) => None,
        (ColumnType::Text, _) => {
            let text = u32::try_from(word).ok().and_then(|id| dictionaries.text(id));
            text.and_then(|text| std::str::from_utf8(text).ok()).map(|text| Literal::Text(text.to_owned()))
        }
        (_, ShownCell::Number(number)) => u64::try_from(*number).map_or_else(
            |_| i64::try_from(*number).ok().map(Literal::Negative),
            |number| Some(Literal::Number(number)),
        ),
        _ => None,
    };
    let condition = literal.map(|value| Predicate::Compare { field: of.name.clone(), op: CompareOp::Eq, value });
    // Text that no predicate can have, such as one with a NUL, has no condition.
    let condition = condition.filter(|condition| condition.validate().is_ok());
    (shown, condition.map(|condition| condition.to_string()).unwrap_or_default())
}

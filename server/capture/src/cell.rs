//! Rows: what is in them as it was recorded, and as people see it.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Batch, ColumnData, StackId, StreamSchema, StringId};

/// The greatest whole number that a browser keeps exactly, 2^53 − 1.
pub const MAX_EXACT_NUMBER: u64 = (1 << 53) - 1;

/// A value of a row, by the type of its column. `T` is what a text is where the row stands (bytes, or their id in the capture),
/// `S` what a stack is (its id in the capture, or in the maps of a script).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<T = Vec<u8>, S = StackId> {
    /// No text or stack: there is none, or it could not be read.
    Null,
    /// For [`ColumnType::U64`](crate::ColumnType::U64).
    U64(u64),
    /// For [`ColumnType::I64`](crate::ColumnType::I64).
    I64(i64),
    /// For [`ColumnType::Text`](crate::ColumnType::Text).
    Text(T),
    /// For [`ColumnType::Stack`](crate::ColumnType::Stack).
    Stack(S),
}

impl<T, S> Cell<T, S> {
    /// As people see it, with what texts and stacks are for them; `None` is a text that is not there.
    pub fn shown(&self, text: impl FnOnce(&T) -> Option<String>, stack: impl FnOnce(&S) -> ShownCell) -> ShownCell {
        match self {
            Self::Null => ShownCell::Null,
            Self::U64(number) => ShownCell::Number(i128::from(*number)),
            Self::I64(number) => ShownCell::Number(i128::from(*number)),
            Self::Text(value) => text(value).map_or(ShownCell::Null, ShownCell::Text),
            Self::Stack(value) => stack(value),
        }
    }

    /// The same with what a stack is elsewhere.
    pub fn with_stack<R>(self, stack: impl FnOnce(S) -> R) -> Cell<T, R> {
        match self {
            Self::Null => Cell::Null,
            Self::U64(number) => Cell::U64(number),
            Self::I64(number) => Cell::I64(number),
            Self::Text(text) => Cell::Text(text),
            Self::Stack(value) => Cell::Stack(stack(value)),
        }
    }

    /// Whether a column of this kind can hold it.
    const fn fits(&self, column: &ColumnData) -> bool {
        matches!(
            (self, column),
            (Self::U64(_), ColumnData::U64(_))
                | (Self::I64(_), ColumnData::I64(_))
                | (Self::Text(_) | Self::Stack(_) | Self::Null, ColumnData::Id(_))
        )
    }
}

/// Cells that there is room for from the beginning: as many as a row of system calls has.
const USUAL_CELLS: usize = 16;

/// A row of a stream: a cell for each of the stream's columns, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<T = Vec<u8>, S = StackId> {
    /// The cells.
    pub cells: Vec<Cell<T, S>>,
}

impl<T, S> Row<T, S> {
    /// A row with the common columns of every stream, before those of its own.
    pub fn common(time_ns: u64, cpu: u32, [pid, tid]: [u32; 2], comm: T) -> Self {
        let number = |number: u32| Cell::U64(u64::from(number));
        let mut cells = Vec::with_capacity(USUAL_CELLS);
        cells.extend([Cell::U64(time_ns), number(cpu), number(pid), number(tid), Cell::Text(comm)]);
        Self { cells }
    }

    /// Its moment, monotonic; 0 if it has none.
    pub fn time_ns(&self) -> u64 {
        match self.cells.get(StreamSchema::TIME) {
            Some(Cell::U64(time_ns)) => *time_ns,
            _ => 0,
        }
    }

    /// As people see it: its moment relative to `origin_ns`, the rest as [`Cell::shown`].
    pub fn shown(
        &self,
        origin_ns: u64,
        mut text: impl FnMut(&T) -> Option<String>,
        mut stack: impl FnMut(&S) -> ShownCell,
    ) -> Vec<ShownCell> {
        let cell = |(index, cell): (usize, &Cell<T, S>)| match cell.shown(&mut text, &mut stack) {
            ShownCell::Number(time_ns) if index == StreamSchema::TIME => {
                ShownCell::Number(time_ns - i128::from(origin_ns))
            }
            shown => shown,
        };
        self.cells.iter().enumerate().map(cell).collect()
    }

    /// Appends it to the columns of its stream, with the ids of its texts and stacks. `false` if it does not have the stream's
    /// columns; then nothing is appended.
    pub fn append(
        self,
        batch: &mut Batch,
        mut text: impl FnMut(T) -> StringId,
        mut stack: impl FnMut(S) -> StackId,
    ) -> bool {
        let fits = |(cell, column): (&Cell<T, S>, &ColumnData)| cell.fits(column);
        if self.cells.len() != batch.columns.len() || !self.cells.iter().zip(&batch.columns).all(fits) {
            return false;
        }
        for (cell, column) in self.cells.into_iter().zip(&mut batch.columns) {
            match (cell, column) {
                (Cell::U64(value), ColumnData::U64(values)) => values.push(value),
                (Cell::I64(value), ColumnData::I64(values)) => values.push(value),
                (Cell::Text(value), ColumnData::Id(ids)) => ids.push(text(value)),
                (Cell::Stack(value), ColumnData::Id(ids)) => ids.push(stack(value)),
                (Cell::Null, ColumnData::Id(ids)) => ids.push(0),
                // All fit: see above.
                _ => {}
            }
        }
        true
    }
}

/// A value as people see it; in JSON as the browser gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownCell {
    /// `null`.
    Null,
    /// A JSON number up to [`MAX_EXACT_NUMBER`] in size, else a string of digits.
    Number(i128),
    /// A JSON number; a string where JSON has none, as for infinity.
    Real(f64),
    /// Text, made visible.
    Text(String),
    /// `{id, top, depth}`.
    Stack {
        /// The stack.
        id: StackId,
        /// The innermost function, made visible.
        top: String,
        /// How many frames there are, inlined functions not counted.
        depth: usize,
    },
}

impl Serialize for ShownCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Number(number) => match i64::try_from(*number) {
                Ok(exact) if exact.unsigned_abs() <= MAX_EXACT_NUMBER => serializer.serialize_i64(exact),
                _ => serializer.collect_str(number),
            },
            Self::Real(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Real(number) => serializer.collect_str(number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Stack { id, top, depth } => {
                let mut cell = serializer.serialize_struct("Stack", 3)?;
                cell.serialize_field("id", id)?;
                cell.serialize_field("top", top)?;
                cell.serialize_field("depth", depth)?;
                cell.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, ColumnType, Display, StreamKind};

    #[test]
    fn numbers_a_browser_would_round_are_strings() {
        let cases: [(i128, &str); 6] = [
            (0, "0"),
            (9_007_199_254_740_991, "9007199254740991"),
            (9_007_199_254_740_992, "\"9007199254740992\""),
            (-9_007_199_254_740_991, "-9007199254740991"),
            (-9_007_199_254_740_992, "\"-9007199254740992\""),
            (u64::MAX as i128, "\"18446744073709551615\""),
        ];
        for (number, expected) in cases {
            assert_eq!(serde_json::to_string(&ShownCell::Number(number)).unwrap(), expected);
        }
        assert_eq!(serde_json::to_string(&ShownCell::Real(0.5)).unwrap(), "0.5");
        assert_eq!(serde_json::to_string(&ShownCell::Real(f64::INFINITY)).unwrap(), "\"inf\"");
    }

    fn schema() -> StreamSchema {
        let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
        let own = [column("value", ColumnType::I64), column("path", ColumnType::Text), column("at", ColumnType::Stack)];
        StreamSchema::new("made", StreamKind::Events, own)
    }

    fn row(more: impl IntoIterator<Item = Cell<&'static str, u32>>) -> Row<&'static str, u32> {
        let mut row = Row::common(1_005, 3, [7, 8], "made");
        row.cells.extend(more);
        row
    }

    #[test]
    fn a_row_is_shown_with_its_moment_relative() {
        let row = row([Cell::I64(-2), Cell::Null, Cell::Stack(4)]);
        let stack = |id: &u32| ShownCell::Stack { id: *id, top: "main".to_owned(), depth: 2 };
        let shown = row.shown(1_000, |text| Some(text.to_uppercase()), stack);
        let number = ShownCell::Number;
        let expected = [
            number(5),
            number(3),
            number(7),
            number(8),
            ShownCell::Text("MADE".to_owned()),
            number(-2),
            ShownCell::Null,
            stack(&4),
        ];
        assert_eq!((shown.as_slice(), row.time_ns()), (expected.as_slice(), 1_005));
    }

    #[test]
    fn a_row_is_appended_whole_or_not_at_all() {
        let mut batch = Batch::empty(&schema());
        let mut append = |row: Row<&'static str, u32>| row.append(&mut batch, |text| text.len() as u32, |stack| stack);
        assert!(append(row([Cell::I64(-2), Cell::Null, Cell::Stack(4)])));
        assert!(append(row([Cell::I64(9), Cell::Text("/x"), Cell::Null])));
        for wrong in [vec![], vec![Cell::U64(1), Cell::Null, Cell::Null], vec![Cell::I64(1), Cell::I64(1), Cell::Null]]
        {
            assert!(!append(row(wrong)));
        }
        assert_eq!(batch.rows(), 2);
        assert_eq!(
            batch.columns[5..],
            [ColumnData::I64(vec![-2, 9]), ColumnData::Id(vec![0, 2]), ColumnData::Id(vec![4, 0])]
        );
    }
}

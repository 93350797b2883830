//! Values of rows, typed and as JSON cells.

use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StackId, StreamSchema};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Dictionaries, frame_names, needle::shown, source::relative};

/// The greatest whole number that a browser keeps exactly, 2^53 − 1.
pub const MAX_EXACT_NUMBER: u64 = (1 << 53) - 1;

/// A value as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// No value: it could not be read.
    Null,
    /// An unsigned number.
    U64(u64),
    /// A signed number; moments are nanoseconds relative to the capture's start.
    I64(i64),
    /// Text, as bytes.
    Text(&'a [u8]),
    /// A stack.
    Stack(StackId),
}

/// A value as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `null`.
    Null,
    /// A JSON number up to [`MAX_EXACT_NUMBER`] in size, else a string of digits.
    Number(i128),
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

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Number(number) => match i64::try_from(*number) {
                Ok(exact) if exact.unsigned_abs() <= MAX_EXACT_NUMBER => serializer.serialize_i64(exact),
                _ => serializer.collect_str(number),
            },
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

/// The head of a column, as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnHead {
    /// Its name.
    pub name: String,
    /// `u64`, `i64`, `text` or `stack`.
    #[serde(rename = "type")]
    pub ty: ColumnType,
    /// How it is written.
    pub display: Display,
}

/// The heads of a stream's columns.
pub fn heads(schema: &StreamSchema) -> Vec<ColumnHead> {
    let head = |column: &Column| ColumnHead { name: column.name.clone(), ty: column.ty, display: column.display };
    schema.columns.iter().map(head).collect()
}

/// The value of a row in a column; [`Value::Null`] where there is none.
pub(crate) fn value<'a>(
    dictionaries: &'a Dictionaries,
    column: &Column,
    data: Option<&ColumnData>,
    row: usize,
    origin_ns: u64,
) -> Value<'a> {
    let found = match data {
        Some(ColumnData::U64(values)) => values.get(row).map(|value| match column.display {
            Display::TimeNs => Value::I64(relative(origin_ns, *value)),
            _ => Value::U64(*value),
        }),
        Some(ColumnData::I64(values)) => values.get(row).map(|value| Value::I64(*value)),
        Some(ColumnData::Id(values)) => values.get(row).and_then(|id| match column.ty {
            ColumnType::Stack => (*id != 0).then_some(Value::Stack(*id)),
            _ => dictionaries.text(*id).map(Value::Text),
        }),
        None => None,
    };
    found.unwrap_or(Value::Null)
}

fn cell(dictionaries: &Dictionaries, value: Value<'_>) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::U64(number) => Cell::Number(i128::from(number)),
        Value::I64(number) => Cell::Number(i128::from(number)),
        Value::Text(bytes) => Cell::Text(shown(bytes).into_owned()),
        Value::Stack(id) => {
            Cell::Stack { id, top: top_of(dictionaries, id), depth: dictionaries.stack(id).map_or(0, <[_]>::len) }
        }
    }
}

/// The innermost function of a stack, made visible.
pub(crate) fn top_of(dictionaries: &Dictionaries, id: StackId) -> String {
    let innermost = dictionaries.stack(id).and_then(|frames| frames.first());
    let names = innermost.map(|frame| frame_names(dictionaries, *frame)).unwrap_or_default();
    names.into_iter().next().map_or_else(|| "[no stack]".to_owned(), |(name, _)| name)
}

/// The cells of one row, as in a page of rows; for rows that are sent as they are recorded.
pub fn cells(
    dictionaries: &Dictionaries,
    schema: &StreamSchema,
    batch: &Batch,
    row: usize,
    origin_ns: u64,
) -> Vec<Cell> {
    let columns = schema.columns.iter().enumerate();
    columns
        .map(|(index, column)| {
            cell(dictionaries, value(dictionaries, column, batch.columns.get(index), row, origin_ns))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(serde_json::to_string(&Cell::Number(number)).unwrap(), expected);
        }
    }
}

//! Values of rows, typed and as cells.

use bathyscope_capture::{Batch, Cell, Column, ColumnData, ColumnType, Display, StackId, StreamSchema};
use serde::Serialize;

use crate::{Dictionaries, frame_names, needle::shown, source::relative};

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

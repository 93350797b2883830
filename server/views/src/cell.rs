//! Values of rows, typed and as cells.

use bathyscope_capture::{Batch, Cell, Column, ColumnData, ColumnType, Display, ShownCell, StackId, StreamSchema};

use crate::{Dictionaries, answers::ColumnHead, frame_names, needle::shown, source::relative};

/// A value as it was recorded. Moments are nanoseconds relative to the capture's start.
pub type RecordedCell<'a> = Cell<&'a [u8]>;

/// The heads of a stream's columns.
pub fn heads(schema: &StreamSchema) -> Vec<ColumnHead> {
    let head = |column: &Column| ColumnHead { name: column.name.clone(), ty: column.ty, display: column.display };
    schema.columns.iter().map(head).collect()
}

/// The value of a row in a column; [`Cell::Null`] where there is none.
pub(crate) fn value<'a>(
    dictionaries: &'a Dictionaries,
    (schema, at): (&StreamSchema, usize),
    data: Option<&ColumnData>,
    row: usize,
    origin_ns: u64,
) -> RecordedCell<'a> {
    let Some(column) = schema.columns.get(at) else { return Cell::Null };
    let found = match data {
        Some(ColumnData::U64(values)) => values.get(row).map(|value| match column.display {
            Display::TimeNs => Cell::I64(relative(origin_ns, *value)),
            _ if *value == 0 && schema.zero_is_none(at) => Cell::Null,
            _ => Cell::U64(*value),
        }),
        Some(ColumnData::I64(values)) => values.get(row).map(|value| Cell::I64(*value)),
        Some(ColumnData::Id(values)) => values.get(row).and_then(|id| match column.ty {
            ColumnType::Stack => (*id != 0).then_some(Cell::Stack(*id)),
            _ => dictionaries.text(*id).map(Cell::Text),
        }),
        None => None,
    };
    found.unwrap_or(Cell::Null)
}

pub(crate) fn shown_cell(dictionaries: &Dictionaries, cell: RecordedCell<'_>) -> ShownCell {
    cell.shown(|text| Some(shown(text).into_owned()), |id| stack_cell(dictionaries, *id))
}

/// A stack as people see it.
pub fn stack_cell(dictionaries: &Dictionaries, id: StackId) -> ShownCell {
    ShownCell::Stack { id, top: top_of(dictionaries, id), depth: dictionaries.stack(id).map_or(0, <[_]>::len) }
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
) -> Vec<ShownCell> {
    let cell =
        |at: usize| shown_cell(dictionaries, value(dictionaries, (schema, at), batch.columns.get(at), row, origin_ns));
    (0..schema.columns.len()).map(cell).collect()
}

//! Values of single rows.

use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StreamSchema};

/// A number of a row; none if the column has none there, or it is below zero.
pub(crate) fn number(rows: &Batch, column: usize, row: usize) -> Option<u64> {
    match rows.columns.get(column)? {
        ColumnData::U64(values) => values.get(row).copied(),
        ColumnData::I64(values) => values.get(row).and_then(|value| u64::try_from(*value).ok()),
        ColumnData::Id(_) => None,
    }
}

/// A number of a row that has at most 32 bits.
pub(crate) fn small(rows: &Batch, column: usize, row: usize) -> Option<u32> {
    number(rows, column, row).and_then(|number| u32::try_from(number).ok())
}

/// The id of a text or stack of a row, 0 where there is none.
pub(crate) fn id(rows: &Batch, column: usize, row: usize) -> u32 {
    match rows.columns.get(column) {
        Some(ColumnData::Id(ids)) => ids.get(row).copied().unwrap_or(0),
        _ => 0,
    }
}

/// A value of a row by its bits, as rows of derived streams are made; 0 where there is none.
pub(crate) fn bits(rows: &Batch, column: usize, row: usize) -> u64 {
    match rows.columns.get(column) {
        Some(ColumnData::U64(values)) => values.get(row).copied().unwrap_or(0),
        Some(ColumnData::I64(values)) => values.get(row).copied().unwrap_or(0).cast_unsigned(),
        Some(ColumnData::Id(ids)) => ids.get(row).map_or(0, |id| u64::from(*id)),
        None => 0,
    }
}

/// The column of this name if it has a type that `fits`.
pub(crate) fn typed(schema: &StreamSchema, name: &str, fits: impl Fn(ColumnType) -> bool) -> Option<usize> {
    schema.column(name).filter(|at| schema.columns.get(*at).is_some_and(|column| fits(column.ty)))
}

/// Whether values of a column are numbers.
pub(crate) const fn is_number(ty: ColumnType) -> bool {
    matches!(ty, ColumnType::U64 | ColumnType::I64)
}

/// A column of a derived stream.
pub(crate) fn own(name: &str, ty: ColumnType, display: Display) -> Column {
    Column { name: name.to_owned(), ty, display }
}

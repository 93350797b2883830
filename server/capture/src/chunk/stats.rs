//! The extremes of columns.

use crate::ColumnData;

/// The extremes of a column of numbers in a chunk, to skip chunks that cannot match; ids have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnStats {
    /// Least and greatest unsigned value.
    U64(u64, u64),
    /// Least and greatest signed value.
    I64(i64, i64),
    /// None kept.
    None,
}

impl ColumnStats {
    /// The extremes of `data`; none for ids and for a column without values.
    pub fn of(data: &ColumnData) -> Self {
        match data {
            ColumnData::U64(values) => extremes(values).map_or(Self::None, |(least, most)| Self::U64(least, most)),
            ColumnData::I64(values) => extremes(values).map_or(Self::None, |(least, most)| Self::I64(least, most)),
            ColumnData::Id(_) => Self::None,
        }
    }
}

fn extremes<T: Copy + Ord>(values: &[T]) -> Option<(T, T)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(least, most), value| (least.min(*value), most.max(*value))))
}

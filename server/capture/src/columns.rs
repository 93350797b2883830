//! Rows in memory, column by column.

use crate::{ColumnType, StreamSchema};

/// The values of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnData {
    /// For [`ColumnType::U64`].
    U64(Vec<u64>),
    /// For [`ColumnType::I64`].
    I64(Vec<i64>),
    /// For [`ColumnType::Text`] and [`ColumnType::Stack`]: ids, 0 where there is no value.
    Id(Vec<u32>),
}

impl ColumnData {
    /// An empty column for values of `ty`.
    pub fn empty(ty: ColumnType) -> Self {
        match ty {
            ColumnType::U64 => Self::U64(Vec::new()),
            ColumnType::I64 => Self::I64(Vec::new()),
            ColumnType::Text | ColumnType::Stack => Self::Id(Vec::new()),
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Id(values) => values.len(),
        }
    }

    /// Whether both hold values of the same kind.
    pub(crate) const fn same_kind(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::U64(_), Self::U64(_)) | (Self::I64(_), Self::I64(_)) | (Self::Id(_), Self::Id(_))
        )
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values if they are unsigned numbers, else nothing.
    pub fn as_u64(&self) -> &[u64] {
        if let Self::U64(values) = self { values } else { &[] }
    }

    /// The values if they are signed numbers, else nothing.
    pub fn as_i64(&self) -> &[i64] {
        if let Self::I64(values) = self { values } else { &[] }
    }

    /// The values if they are ids, else nothing.
    pub fn as_id(&self) -> &[u32] {
        if let Self::Id(values) = self { values } else { &[] }
    }
}

/// Rows of one stream. All columns have the same length, but for those that were left out when a chunk was decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The columns, in the schema's order.
    pub columns: Vec<ColumnData>,
}

impl Batch {
    /// No rows of `schema`.
    pub fn empty(schema: &StreamSchema) -> Self {
        Self { columns: schema.columns.iter().map(|column| ColumnData::empty(column.ty)).collect() }
    }

    /// How many rows there are. Columns that were not asked for when a chunk was decoded are empty and do not count.
    pub fn rows(&self) -> usize {
        self.columns.iter().map(ColumnData::len).max().unwrap_or(0)
    }
}

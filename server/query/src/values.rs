//! Values of columns as SQL sees them.

use std::borrow::Cow;

use bathyscope_capture::{Column, ColumnData, ColumnStats, ColumnType, Display, StreamSchema};
use bathyscope_views::{ChunkMeta, Dictionaries};
use rusqlite::{
    types::{ToSqlOutput, ValueRef},
    vtab::Context,
};

/// A value of a virtual table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SqlValue<'a> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// Text as bytes of no particular encoding.
    Text(Cow<'a, [u8]>),
}

impl<'a> SqlValue<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(match text.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        })
    }

    pub(crate) fn unsigned(number: u64) -> Self {
        Self::Integer(number.cast_signed())
    }

    /// Gives it to SQLite as the value of a cell.
    pub(crate) fn give(&self, context: &mut Context) -> rusqlite::Result<()> {
        match self {
            Self::Null => context.set_result(&rusqlite::types::Null),
            Self::Integer(number) => context.set_result(number),
            Self::Text(bytes) => context.set_result(&ToSqlOutput::Borrowed(ValueRef::Text(bytes))),
        }
    }
}

/// How the numbers of a column become SQL's, which are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Unsigned moments, relative to the capture's start.
    Time,
    /// Unsigned numbers; those from 2^63 on become the negative ones with the same bits.
    Unsigned,
    /// Unsigned numbers of which 0 is no value, as of how long a call took whose entry was not recorded.
    Length,
    /// Signed numbers.
    Signed,
    /// Ids of text.
    Text,
    /// Ids of stacks; 0 is no value.
    Stack,
}

impl Reading {
    /// Those of all columns of a stream.
    pub(crate) fn of(schema: &StreamSchema) -> Vec<Self> {
        let reading = |(at, column): (usize, &Column)| match (column.ty, column.display) {
            (ColumnType::U64, Display::TimeNs) => Self::Time,
            (ColumnType::U64, _) if schema.zero_is_none(at) => Self::Length,
            (ColumnType::U64, _) => Self::Unsigned,
            (ColumnType::I64, _) => Self::Signed,
            (ColumnType::Text, _) => Self::Text,
            (ColumnType::Stack, _) => Self::Stack,
        };
        schema.columns.iter().enumerate().map(reading).collect()
    }

    /// Whether values are numbers.
    pub(crate) fn is_number(self) -> bool {
        !matches!(self, Self::Text | Self::Stack)
    }

    /// Whether a number of [`Reading::number`] stands for no value.
    pub(crate) fn is_none(self, number: i64) -> bool {
        number == 0 && matches!(self, Self::Length | Self::Stack)
    }

    /// An unsigned number as SQL has it; rises with it for [`Reading::Time`].
    pub(crate) fn unsigned(self, origin_ns: u64, value: u64) -> i64 {
        match self {
            Self::Time => relative(origin_ns, value),
            _ => value.cast_signed(),
        }
    }

    /// The number at `row`; ids as they are. None if there is no such row.
    pub(crate) fn number(self, origin_ns: u64, data: &ColumnData, row: usize) -> Option<i64> {
        match data {
            ColumnData::U64(values) => values.get(row).map(|value| self.unsigned(origin_ns, *value)),
            ColumnData::I64(values) => values.get(row).copied(),
            ColumnData::Id(values) => values.get(row).map(|id| i64::from(*id)),
        }
    }

    /// The value that a number of [`Reading::number`] stands for.
    pub(crate) fn value(self, dictionaries: &Dictionaries, number: i64) -> SqlValue<'_> {
        match self {
            Self::Text => {
                let text = u32::try_from(number).ok().and_then(|id| dictionaries.text(id));
                text.map_or(SqlValue::Null, |text| SqlValue::Text(Cow::Borrowed(text)))
            }
            _ if self.is_none(number) => SqlValue::Null,
            _ => SqlValue::Integer(number),
        }
    }

    /// Least and greatest number of a chunk in a column, where that is known.
    pub(crate) fn extremes(self, origin_ns: u64, meta: &ChunkMeta, column: usize) -> Option<(i64, i64)> {
        if column == StreamSchema::TIME {
            return Some((relative(origin_ns, meta.first_ns), relative(origin_ns, meta.last_ns)));
        }
        match *meta.stats.get(column)? {
            ColumnStats::None => None,
            ColumnStats::I64(least, most) => Some((least, most)),
            ColumnStats::U64(least, most) => {
                let ends = (self.unsigned(origin_ns, least), self.unsigned(origin_ns, most));
                // Between 2^63 - 1 and 2^63 the numbers turn negative, and the ends are no longer the extremes.
                (ends.0 <= ends.1).then_some(ends)
            }
        }
    }
}

/// `time_ns` relative to `origin_ns`, negative before it; never beyond what SQL can hold.
pub(crate) fn relative(origin_ns: u64, time_ns: u64) -> i64 {
    let difference = i128::from(time_ns) - i128::from(origin_ns);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

//! The numbers of a column in one order, whatever their sign.

use bathyscope_capture::{ColumnData, ColumnType, Display, RowKind, StreamSchema};

use super::ValueLimits;
use crate::{
    Source, ViewError,
    answers::{ShownValues, Unit},
    filter::no_such_column,
    scan::{Hit, Picked},
};

/// The sign bit: adding it puts signed numbers in the order of unsigned ones.
const SIGN: u64 = 1 << 63;

/// How numbers become keys, which are in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOf {
    Unsigned,
    Signed,
    /// Of the monotonic clock; people read them from the capture's start on.
    Moment(u64),
}

/// A column of numbers.
#[derive(Clone, Debug)]
pub(crate) struct ValueColumn {
    pub(super) index: usize,
    /// What answers say of it.
    pub(crate) of: ShownValues,
    key: KeyOf,
    /// Whether rows with 0 have no value ([`StreamSchema::zero_is_none`]).
    pub(super) zero_is_none: bool,
}

impl ValueColumn {
    /// The column called `name`; the one that rows are about if it is empty.
    pub(crate) fn of(source: &dyn Source, schema: &StreamSchema, name: &str) -> Result<Self, ViewError> {
        let at = if name.is_empty() { Some(main_column(schema)) } else { schema.column(name) };
        let found = at.and_then(|at| Some((at, schema.columns.get(at)?)));
        let (index, column) = found.ok_or_else(|| no_such_column(schema, name))?;
        let key = match column.ty {
            ColumnType::U64 if column.display == Display::TimeNs => KeyOf::Moment(source.origin_ns()),
            ColumnType::U64 => KeyOf::Unsigned,
            ColumnType::I64 => KeyOf::Signed,
            ColumnType::Text | ColumnType::Stack => {
                let is = if column.ty == ColumnType::Text { "text" } else { "a stack" };
                let wanted = "put into buckets; choose a column of numbers, or tell values apart by this one";
                return Err(ViewError::Mismatch { field: column.name.clone(), is, wanted });
            }
        };
        let of = ShownValues { column: column.name.clone(), display: column.display, unit: unit_of(schema, index) };
        Ok(Self { index, of, key, zero_is_none: schema.zero_is_none(index) })
    }

    /// The column that is read.
    pub(crate) const fn index(&self) -> usize {
        self.index
    }

    pub(crate) const fn is_signed(&self) -> bool {
        !matches!(self.key, KeyOf::Unsigned)
    }

    /// The number with a key, as people read it.
    pub(crate) fn value(&self, key: u64) -> i128 {
        match self.key {
            KeyOf::Unsigned => i128::from(key),
            KeyOf::Signed | KeyOf::Moment(_) => i128::from((key ^ SIGN).cast_signed()),
        }
    }

    /// The key of a number; the nearest where the column cannot have it.
    pub(super) fn key(&self, value: i128) -> u64 {
        match self.key {
            KeyOf::Unsigned => u64::try_from(value).unwrap_or(if value < 0 { 0 } else { u64::MAX }),
            KeyOf::Signed | KeyOf::Moment(_) => {
                let least = if value < 0 { i64::MIN } else { i64::MAX };
                i64::try_from(value).unwrap_or(least).cast_unsigned() ^ SIGN
            }
        }
    }

    /// The key of a word of a chunk's extremes.
    pub(super) fn key_of_word(&self, word: u64) -> u64 {
        match self.key {
            KeyOf::Unsigned => word,
            KeyOf::Signed => word ^ SIGN,
            KeyOf::Moment(origin_ns) => moment_key(word, origin_ns),
        }
    }

    /// The keys that limits let through: from the first to the last; none if there is none.
    pub(super) fn range(&self, limits: ValueLimits) -> KeyRange {
        let (least, most) = (self.value(0), self.value(u64::MAX));
        let low = limits.low.unwrap_or(least);
        let last = limits.high.map_or(most, |high| high.saturating_sub(1));
        if low > most || last < least || low > last {
            return KeyRange { first: 1, last: 0, is_all: false };
        }
        KeyRange { first: self.key(low), last: self.key(last), is_all: low <= least && last >= most }
    }

    /// Calls `each` for every picked row that has a value, with its key; gives how many have none.
    pub(crate) fn for_each(&self, hit: &Hit, mut each: impl FnMut(usize, u64)) -> u64 {
        let data = hit.batch.columns.get(self.index);
        if !self.zero_is_none {
            self.keys(data, &hit.picked, each);
            return 0;
        }
        let mut without = 0;
        self.keys(data, &hit.picked, |row, key| match key {
            0 => without += 1,
            key => each(row, key),
        });
        without
    }

    /// Its values in a chunk, row by row.
    pub(crate) fn of_chunk<'a>(&self, hit: &'a Hit) -> ChunkValues<'a> {
        let data = hit.batch.columns.get(self.index);
        ChunkValues { data, key: self.key, zero_is_none: self.zero_is_none }
    }

    /// What the numbers of a column count, as far as the stream says it.
    pub(crate) fn unit_of(schema: &StreamSchema, at: usize) -> Unit {
        unit_of(schema, at)
    }

    /// Each representation has a loop of its own, because this is the innermost one.
    fn keys(&self, data: Option<&ColumnData>, picked: &Picked, mut each: impl FnMut(usize, u64)) {
        match (data, self.key) {
            (Some(ColumnData::U64(words)), KeyOf::Unsigned) => picked.for_each(|row| {
                if let Some(word) = words.get(row) {
                    each(row, *word);
                }
            }),
            (Some(ColumnData::U64(words)), KeyOf::Moment(origin_ns)) => picked.for_each(|row| {
                if let Some(word) = words.get(row) {
                    each(row, moment_key(*word, origin_ns));
                }
            }),
            (Some(ColumnData::I64(words)), _) => picked.for_each(|row| {
                if let Some(word) = words.get(row) {
                    each(row, word.cast_unsigned() ^ SIGN);
                }
            }),
            _ => {}
        }
    }
}

/// The values of a column in one chunk.
pub(crate) struct ChunkValues<'a> {
    data: Option<&'a ColumnData>,
    key: KeyOf,
    zero_is_none: bool,
}

impl ChunkValues<'_> {
    /// The value of a row; none if it has none.
    pub(crate) fn at(&self, row: usize) -> Option<i128> {
        let value = match (self.data, self.key) {
            (Some(ColumnData::U64(words)), KeyOf::Moment(origin_ns)) => {
                crate::source::relative(origin_ns, *words.get(row)?).into()
            }
            (Some(ColumnData::U64(words)), _) => (*words.get(row)?).into(),
            (Some(ColumnData::I64(words)), _) => (*words.get(row)?).into(),
            _ => return None,
        };
        Some(value).filter(|value| !self.zero_is_none || *value != 0)
    }
}

/// Keys from a first to a last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyRange {
    first: u64,
    last: u64,
    pub(super) is_all: bool,
}

/// How many values are on either side of a range.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outside {
    pub(super) below: u64,
    pub(super) above: u64,
}

impl KeyRange {
    /// What of the keys from `first` to `last` is inside; none if nothing is.
    pub(super) fn cut(self, first: u64, last: u64) -> Option<(u64, u64)> {
        let (first, last) = (first.max(self.first), last.min(self.last));
        (first <= last).then_some((first, last))
    }

    /// Whether a key is inside; counted if it is not. Where there is none inside, all are above.
    pub(super) fn takes(self, key: u64, outside: &mut Outside) -> bool {
        if key > self.last {
            outside.above += 1;
            return false;
        }
        if key < self.first {
            outside.below += 1;
            return false;
        }
        true
    }
}

fn moment_key(time_ns: u64, origin_ns: u64) -> u64 {
    crate::source::relative(origin_ns, time_ns).cast_unsigned() ^ SIGN
}

/// The column that rows are about: how long they took, the value, the weight; else the first number of their own, or the CPU.
pub(crate) fn main_column(schema: &StreamSchema) -> usize {
    let named = match schema.meaning().kind {
        RowKind::Slice { duration, .. } => Some(duration),
        RowKind::State { duration, .. } => duration,
        RowKind::Sample { weight, .. } => weight,
        RowKind::Counter { value, .. } => Some(value),
        RowKind::Instant | RowKind::Snapshot { .. } => None,
    };
    let own = || {
        let mut columns = schema.columns.iter().enumerate().skip(StreamSchema::COMMON.len());
        columns.find(|(_, column)| matches!(column.ty, ColumnType::U64 | ColumnType::I64)).map(|(at, _)| at)
    };
    named.and_then(|name| schema.column(&name)).or_else(own).unwrap_or(StreamSchema::CPU)
}

/// What the numbers of a column count, as far as the stream says it.
fn unit_of(schema: &StreamSchema, at: usize) -> Unit {
    let is_samples = || match schema.meaning().kind {
        RowKind::Counter { value, unit: Some(unit), .. } | RowKind::Sample { weight: Some(value), unit, .. } => {
            unit == "samples" && schema.column(&value) == Some(at)
        }
        _ => false,
    };
    let known = schema.unit_of(at).map(Unit::from);
    known.or_else(|| is_samples().then_some(Unit::Samples)).unwrap_or_default()
}

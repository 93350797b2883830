//! The numbers of a column in one order, whatever their sign.

use bathyscope_capture::{ColumnData, ColumnType, Display, RowKind, StreamSchema};

use super::ValueLimits;
use crate::{
    Dictionaries, Source, ViewError,
    answers::{ShownValues, Unit},
    filter::no_such_column,
    scan::{Hit, Picked},
};

/// The sign bit: adding it puts signed numbers in the order of unsigned ones.
const SIGN: u64 = 1 << 63;
/// Kinds of rows of a stream of system calls that take no time.
const UNTIMED: [&[u8]; 4] = [b"signal", b"exit", b"data", b"thread exit"];

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
    pub(super) of: ShownValues,
    key: KeyOf,
    /// The column that says of which kind a row is, where rows of some kinds have no value.
    kind: Option<usize>,
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
        let has_calls = schema.column("call").is_some() && schema.duration_column() == Some(index);
        let kind = schema.column("kind").filter(|at| has_calls && is_text(schema, *at));
        let of = ShownValues { column: column.name.clone(), display: column.display, unit: unit_of(schema, index) };
        Ok(Self { index, of, key, kind })
    }

    /// The columns that are read.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        [Some(self.index), self.kind].into_iter().flatten()
    }

    pub(super) const fn is_signed(&self) -> bool {
        !matches!(self.key, KeyOf::Unsigned)
    }

    /// The number with a key, as people read it.
    pub(super) fn value(&self, key: u64) -> i128 {
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
    pub(super) fn for_each(
        &self,
        hit: &Hit,
        dictionaries: &Dictionaries,
        mut each: impl FnMut(usize, u64),
    ) -> Result<u64, ViewError> {
        let data = hit.batch.columns.get(self.index);
        let Some(kind) = self.kind else {
            self.keys(data, &hit.picked, each);
            return Ok(0);
        };
        let kinds = hit.ids(kind)?;
        let (mut without, mut known) = (0, Kinds::default());
        self.keys(data, &hit.picked, |row, key| {
            // Calls that began before they were recorded have the length 0, which no call has.
            match key > 0 && kinds.get(row).is_none_or(|kind| known.is_timed(*kind, dictionaries)) {
                true => each(row, key),
                false => without += 1,
            }
        });
        Ok(without)
    }

    /// Its values in a chunk, row by row.
    ///
    /// # Errors
    /// If a column is not what it should be.
    pub(crate) fn of_chunk<'a>(
        &self,
        hit: &'a Hit,
        dictionaries: &'a Dictionaries,
    ) -> Result<ChunkValues<'a>, ViewError> {
        let kinds = self.kind.map(|kind| hit.ids(kind)).transpose()?;
        let data = hit.batch.columns.get(self.index);
        Ok(ChunkValues { data, key: self.key, kinds, known: Kinds::default(), dictionaries })
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
    /// What rows are, where those of some kinds have no value.
    kinds: Option<&'a [u32]>,
    known: Kinds,
    dictionaries: &'a Dictionaries,
}

impl ChunkValues<'_> {
    /// The value of a row; none if it has none.
    pub(crate) fn at(&mut self, row: usize) -> Option<i128> {
        let value = match (self.data, self.key) {
            (Some(ColumnData::U64(words)), KeyOf::Moment(origin_ns)) => {
                crate::source::relative(origin_ns, *words.get(row)?).into()
            }
            (Some(ColumnData::U64(words)), _) => (*words.get(row)?).into(),
            (Some(ColumnData::I64(words)), _) => (*words.get(row)?).into(),
            _ => return None,
        };
        let Some(kinds) = self.kinds else { return Some(value) };
        // Calls that began before they were recorded have the length 0, which no call has.
        let is_timed = value > 0 && kinds.get(row).is_none_or(|kind| self.known.is_timed(*kind, self.dictionaries));
        is_timed.then_some(value)
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

/// Which kinds of rows take time, each looked at once.
#[derive(Default)]
struct Kinds(Vec<(u32, bool)>);

impl Kinds {
    fn is_timed(&mut self, kind: u32, dictionaries: &Dictionaries) -> bool {
        if let Some((_, is_timed)) = self.0.iter().find(|(known, _)| *known == kind) {
            return *is_timed;
        }
        let is_timed = !dictionaries.text(kind).is_some_and(|text| UNTIMED.contains(&text));
        // There are a handful; those of a damaged capture must not make this list long.
        if self.0.len() < 64 {
            self.0.push((kind, is_timed));
        }
        is_timed
    }
}

fn moment_key(time_ns: u64, origin_ns: u64) -> u64 {
    crate::source::relative(origin_ns, time_ns).cast_unsigned() ^ SIGN
}

fn is_text(schema: &StreamSchema, at: usize) -> bool {
    schema.columns.get(at).is_some_and(|column| column.ty == ColumnType::Text)
}

/// The column that rows are about: how long they took, the value, the weight; else the first number of their own, or the CPU.
fn main_column(schema: &StreamSchema) -> usize {
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
    let Some(column) = schema.columns.get(at) else { return Unit::Values };
    if matches!(column.display, Display::DurationNs | Display::TimeNs) {
        return Unit::Nanoseconds;
    }
    let said = match schema.meaning().kind {
        RowKind::Counter { value, unit, .. } if value == column.name => unit,
        RowKind::Sample { weight: Some(weight), unit, .. } if weight == column.name => Some(unit),
        _ => None,
    };
    said.and_then(|unit| Unit::of_word(&unit)).or_else(|| Unit::of_word(&column.name)).unwrap_or_default()
}

//! What the columns of a map's stream are, and which snapshots there are.

use bathyscope_capture::{Batch, ColumnData, ColumnType, ShownCell, StreamKind, StreamSchema};

use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{At, KeyId, MapKind, Unit},
    hash::{FNV1A_64, fnv1a_64},
    scan::{Scan, schema_of},
    source::relative,
};

/// Where key and value of a map are among the columns of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapShape {
    /// The map's stream.
    pub stream: u16,
    /// What its values are.
    pub kind: MapKind,
    /// Columns of the key; none for a map of one element.
    pub key: Vec<usize>,
    /// Columns of the value.
    pub value: Vec<usize>,
    /// Column of the snapshot's number.
    pub snapshot: usize,
    /// Whether the script empties the map, so that each snapshot begins anew.
    pub resets: bool,
    /// What the values count.
    pub unit: Unit,
}

/// One snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its number, from 1.
    pub number: u64,
    /// When, monotonic nanoseconds.
    pub time_ns: u64,
    /// Its rows.
    pub rows: u64,
}

impl SnapshotInfo {
    pub(super) fn at(&self, source: &dyn Source) -> At {
        At { snapshot: self.number, time: relative(source.origin_ns(), self.time_ns) }
    }
}

impl MapShape {
    /// The shape of a map's stream; none if the stream is none.
    pub fn of(stream: u16, schema: &StreamSchema, resets: bool) -> Option<Self> {
        let common = StreamSchema::COMMON.len();
        if schema.kind != StreamKind::Map || schema.columns.get(common).is_none_or(|column| column.name != "snapshot") {
            return None;
        }
        let own = || schema.columns.iter().enumerate().skip(common + 1);
        let is_key = |name: &str| {
            let rest = name.strip_prefix("key").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let key = own().filter(|(_, column)| is_key(&column.name)).map(|(index, _)| index).collect();
        let value: Vec<usize> = own().filter(|(_, column)| !is_key(&column.name)).map(|(index, _)| index).collect();
        let names: Vec<&str> =
            value.iter().filter_map(|index| schema.columns.get(*index)).map(|c| c.name.as_str()).collect();
        let kind = match names.as_slice() {
            ["low", "high", "count"] => MapKind::Histogram,
            ["begin", "value"] => MapKind::TimeSeries,
            ["count", "average", "total"] => MapKind::Stats,
            ["count"] => MapKind::Count,
            ["sum"] => MapKind::Sum,
            ["min"] => MapKind::Min,
            ["max"] => MapKind::Max,
            ["average"] => MapKind::Average,
            _ => MapKind::Value,
        };
        let unit = Unit::of_map(&schema.name, kind, "");
        Some(Self { stream, kind, key, value, snapshot: common, resets, unit })
    }

    /// Whether a part of the key is a stack.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn has_stacks(&self, source: &dyn Source) -> Result<bool, ViewError> {
        let schema = schema_of(source, self.stream)?;
        let is_stack = |index: &usize| schema.columns.get(*index).is_some_and(|column| column.ty == ColumnType::Stack);
        Ok(self.key.iter().any(is_stack))
    }

    /// What elements are compared by: the count of a bucket, the total of statistics, else the first value.
    pub(super) fn main_column(&self) -> Option<usize> {
        match self.kind {
            MapKind::Histogram | MapKind::Stats => self.value.last().copied(),
            MapKind::TimeSeries => self.value.last().copied(),
            _ => self.value.first().copied(),
        }
    }

    pub(super) fn number(&self, row: &[ShownCell]) -> Option<i128> {
        match row.get(self.main_column()?)? {
            ShownCell::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether a row belongs to a range by what it holds: the intervals of a time series are within its last reading.
    pub(super) fn is_in(&self, row: &[ShownCell], range: TimeRange, origin_ns: u64) -> bool {
        let begin = self.value.first().filter(|_| self.kind == MapKind::TimeSeries).and_then(|column| row.get(*column));
        let Some(ShownCell::Number(begin)) = begin else { return true };
        let time_ns = i128::from(origin_ns).saturating_add(*begin);
        i128::from(range.start_ns) <= time_ns && time_ns < i128::from(range.end_ns)
    }

    /// The value as a weight in a flame graph.
    pub(super) fn weight(&self, row: &[ShownCell]) -> u64 {
        u64::try_from(self.number(row).unwrap_or(0).max(0)).unwrap_or(u64::MAX)
    }

    pub(super) fn key_id(&self, batch: &Batch, row: usize) -> KeyId {
        let hash = self.key.iter().fold(FNV1A_64, |hash, column| {
            let value = match batch.columns.get(*column) {
                Some(ColumnData::U64(values)) => values.get(row).copied(),
                Some(ColumnData::I64(values)) => values.get(row).map(|value| value.cast_unsigned()),
                Some(ColumnData::Id(values)) => values.get(row).map(|id| u64::from(*id)),
                None => None,
            };
            fnv1a_64(hash, &value.unwrap_or(0).to_le_bytes())
        });
        KeyId(hash)
    }

    /// Gives every row of a snapshot to `each`.
    pub(super) fn each(
        &self,
        source: &dyn Source,
        info: &SnapshotInfo,
        cancel: &Cancel,
        each: &mut dyn FnMut(&StreamSchema, &Batch, usize),
    ) -> Result<(), ViewError> {
        let range = TimeRange { start_ns: info.time_ns, end_ns: info.time_ns.saturating_add(1) };
        self.each_in(source, range, cancel, &mut |number, schema, batch, row| {
            if number == info.number {
                each(schema, batch, row);
            }
        })
    }

    /// Gives every row of a range to `each`, with its snapshot's number.
    pub(super) fn each_in(
        &self,
        source: &dyn Source,
        range: TimeRange,
        cancel: &Cancel,
        each: &mut dyn FnMut(u64, &StreamSchema, &Batch, usize),
    ) -> Result<(), ViewError> {
        let schema = schema_of(source, self.stream)?;
        let all: Vec<usize> = (0..schema.columns.len()).collect();
        let mut scan = Scan::new(source, self.stream, range, None, &all, cancel)?;
        scan.for_each_hit(|hit| {
            let numbers = hit.u64s(self.snapshot)?;
            hit.picked.for_each(|row| {
                if let Some(number) = numbers.get(row) {
                    each(*number, schema, &hit.batch, row);
                }
            });
            Ok(())
        })
    }
}

/// The snapshots of a map that have rows, in order.
///
/// # Errors
/// If there is no such stream, a chunk cannot be loaded, or `cancel` was set.
pub fn snapshots(source: &dyn Source, shape: &MapShape, cancel: &Cancel) -> Result<Vec<SnapshotInfo>, ViewError> {
    let wanted = [StreamSchema::TIME, shape.snapshot];
    let mut scan = Scan::new(source, shape.stream, TimeRange::ALL, None, &wanted, cancel)?;
    let mut all: Vec<SnapshotInfo> = Vec::new();
    scan.for_each_hit(|hit| {
        let (times, numbers) = (hit.u64s(StreamSchema::TIME)?, hit.u64s(shape.snapshot)?);
        hit.picked.for_each(|row| {
            let (Some(time_ns), Some(number)) = (times.get(row), numbers.get(row)) else { return };
            match all.last_mut() {
                Some(last) if last.number == *number => last.rows += 1,
                _ => all.push(SnapshotInfo { number: *number, time_ns: *time_ns, rows: 1 }),
            }
        });
        Ok(())
    })?;
    all.sort_by_key(|info| info.number);
    Ok(all)
}

//! On which track a row is, and from when until when.

use bathyscope_capture::{Batch, ColumnData, RowKind, SliceTime, StreamSchema, TrackKind, TrackRule};

use crate::{Source, TimeRange, tracks::value_text};

/// What the track of a row is of. Rows of streams without tracks are on that of their thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TrackKeyOfRow {
    /// A thread.
    Thread(u64),
    /// The idle thread of a CPU.
    Idle(u64),
    /// A CPU.
    Cpu(u64),
    /// A value of a column of a stream.
    Value(u16, u64),
}

impl TrackKeyOfRow {
    /// The stream of whose values it is one.
    pub(super) const fn stream(self) -> Option<u16> {
        match self {
            Self::Value(stream, _) => Some(stream),
            Self::Thread(_) | Self::Idle(_) | Self::Cpu(_) => None,
        }
    }

    /// As the list of tracks has it.
    pub(super) fn text(self, source: &dyn Source) -> String {
        match self {
            Self::Thread(tid) => format!("tid:{tid}"),
            Self::Idle(cpu) => format!("idle:{cpu}"),
            Self::Cpu(cpu) => format!("cpu:{cpu}"),
            Self::Value(stream, key) => value_text(source, stream, key),
        }
    }
}

/// How the place of a stream's rows is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPlaces {
    stream: u16,
    of: KeyColumn,
    duration: Option<usize>,
    ends: bool,
}

#[derive(Clone, Copy, Debug)]
enum KeyColumn {
    Thread,
    Cpu,
    Value(usize),
}

impl RowPlaces {
    pub(super) fn new(source: &dyn Source, stream: u16, schema: &StreamSchema) -> Self {
        let has_tracks = source.tracks().iter().any(|(number, _)| *number == stream);
        let rule = TrackRule::of(schema).filter(|_| has_tracks);
        let of = match rule.as_ref().map(TrackRule::kind) {
            Some(TrackKind::Cpu) => KeyColumn::Cpu,
            Some(TrackKind::Value(name)) => schema.column(name).map_or(KeyColumn::Thread, KeyColumn::Value),
            Some(TrackKind::Thread) | None => KeyColumn::Thread,
        };
        let (duration, ends) = duration_of(schema);
        Self { stream, of, duration, ends }
    }

    /// The columns that are read, whatever the stream's tracks are.
    pub(super) fn columns(schema: &StreamSchema) -> Vec<usize> {
        let key = TrackRule::of(schema).and_then(|rule| match rule.kind() {
            TrackKind::Value(name) => schema.column(name),
            _ => None,
        });
        let common = [StreamSchema::TIME, StreamSchema::CPU, StreamSchema::TID];
        common.into_iter().chain(key).chain(duration_of(schema).0).collect()
    }

    /// The track of a row.
    pub(super) fn key_of(self, batch: &Batch, row: usize) -> TrackKeyOfRow {
        match (self.of, word(batch, StreamSchema::TID, row)) {
            (KeyColumn::Cpu, _) => TrackKeyOfRow::Cpu(word(batch, StreamSchema::CPU, row)),
            (KeyColumn::Value(column), _) => TrackKeyOfRow::Value(self.stream, word(batch, column, row)),
            (KeyColumn::Thread, 0) => TrackKeyOfRow::Idle(word(batch, StreamSchema::CPU, row)),
            (KeyColumn::Thread, tid) => TrackKeyOfRow::Thread(tid),
        }
    }

    /// The times of rows that can reach into a range: all within it, and as much beside it as rows may be long that last.
    pub(super) fn reached(self, range: TimeRange, reach_ns: u64) -> TimeRange {
        match (self.duration, self.ends) {
            (None, _) => range,
            (Some(_), false) => TimeRange { start_ns: range.start_ns.saturating_sub(reach_ns), ..range },
            (Some(_), true) => TimeRange { end_ns: range.end_ns.saturating_add(reach_ns), ..range },
        }
    }

    /// From when until when what a row tells of lasted.
    pub(super) fn times_of(self, batch: &Batch, row: usize) -> (u64, u64) {
        let time_ns = word(batch, StreamSchema::TIME, row);
        let duration_ns = self.duration.map_or(0, |column| word(batch, column, row));
        if self.ends {
            (time_ns.saturating_sub(duration_ns), time_ns)
        } else {
            (time_ns, time_ns.saturating_add(duration_ns))
        }
    }
}

/// The column that says how long rows last, and whether their time is that of their end.
fn duration_of(schema: &StreamSchema) -> (Option<usize>, bool) {
    match schema.meaning().kind {
        RowKind::State { duration: Some(duration), .. } => (schema.column(&duration), false),
        RowKind::Slice { duration, time, .. } => (schema.column(&duration), time == SliceTime::End),
        _ => (None, false),
    }
}

/// A number of a row; 0 where the chunk does not have it.
pub(super) fn word(batch: &Batch, column: usize, row: usize) -> u64 {
    match batch.columns.get(column) {
        Some(ColumnData::U64(words)) => words.get(row).copied().unwrap_or(0),
        Some(ColumnData::I64(words)) => words.get(row).map_or(0, |word| word.cast_unsigned()),
        Some(ColumnData::Id(words)) => words.get(row).copied().unwrap_or(0).into(),
        None => 0,
    }
}

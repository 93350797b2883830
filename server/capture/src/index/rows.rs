//! Which columns of a row make it part of a track, and what it adds to its bin.

use crate::{Batch, ColumnData, ColumnType, StreamSchema, StringId};

use super::{CallLevel, Grouping, Measure, counter_key};

/// The columns that rows of such a stream are added by, ascending; all streams have those of CPUs and threads.
pub fn index_columns(schema: &StreamSchema, grouping: Grouping) -> Vec<usize> {
    let own = Columns::of(schema, grouping).map(Columns::list).unwrap_or_default();
    let mut columns: Vec<usize> = [StreamSchema::TIME].into_iter().chain(own).collect();
    columns.sort_unstable();
    columns
}

/// The columns of a grouping's own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Columns {
    Cpu { duration: Option<usize> },
    Thread { duration: Option<usize> },
    Level { depth: usize, duration: usize, function: usize },
    Counter { event: usize, scope: usize, value: usize, span: usize, gauge: Option<usize> },
}

impl Columns {
    /// None if the stream has no such tracks.
    pub(super) fn of(schema: &StreamSchema, grouping: Grouping) -> Option<Self> {
        let typed = |name: &str, ty: ColumnType| {
            schema.column(name).filter(|at| schema.columns.get(*at).is_some_and(|column| column.ty == ty))
        };
        let duration = schema.duration_column();
        match grouping {
            Grouping::Cpu => Some(Self::Cpu { duration }),
            Grouping::Thread => Some(Self::Thread { duration }),
            Grouping::Level => Some(Self::Level {
                depth: typed("depth", ColumnType::U64)?,
                duration: duration?,
                function: typed("func", ColumnType::Text)?,
            }),
            Grouping::Counter => Some(Self::Counter {
                event: typed("event", ColumnType::Text)?,
                scope: typed("scope", ColumnType::Text)?,
                value: typed("value", ColumnType::U64)?,
                span: typed("span_ns", ColumnType::U64)?,
                gauge: typed("gauge", ColumnType::U64),
            }),
        }
    }

    fn list(self) -> Vec<usize> {
        let (cpu, pid, tid, comm) = (StreamSchema::CPU, StreamSchema::PID, StreamSchema::TID, StreamSchema::COMM);
        match self {
            Self::Cpu { duration } => [cpu, comm].into_iter().chain(duration).collect(),
            Self::Thread { duration } => [pid, tid, comm].into_iter().chain(duration).collect(),
            Self::Level { depth, duration, function } => vec![cpu, pid, tid, comm, depth, duration, function],
            Self::Counter { event, scope, value, span, gauge } => {
                [event, scope, value, span].into_iter().chain(gauge).collect()
            }
        }
    }

    pub(super) const fn measure(self) -> Measure {
        match self {
            Self::Cpu { duration: None } | Self::Thread { duration: None } => Measure::Nothing,
            Self::Cpu { .. } | Self::Thread { .. } => Measure::Longest,
            Self::Level { .. } => Measure::LongestNamed,
            Self::Counter { .. } => Measure::Values,
        }
    }
}

/// What a row is to the index.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IndexedRow {
    pub(super) key: u64,
    pub(super) pid: u64,
    /// How long it took, or its value.
    pub(super) measured: u64,
    /// Its name in its bin.
    pub(super) name: Option<StringId>,
    /// The thread's name.
    pub(super) comm: Option<StringId>,
}

/// The rows of a chunk, by the columns that are needed.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    columns: Columns,
    batch: &'a Batch,
    named: bool,
}

impl<'a> Rows<'a> {
    pub(super) fn new(schema: &StreamSchema, grouping: Grouping, batch: &'a Batch) -> Option<Self> {
        Some(Self { columns: Columns::of(schema, grouping)?, batch, named: grouping.has_names(schema) })
    }

    fn numbers(&self, column: usize) -> &'a [u64] {
        self.batch.columns.get(column).map_or(&[], ColumnData::as_u64)
    }

    fn ids(&self, column: usize) -> &'a [u32] {
        self.batch.columns.get(column).map_or(&[], ColumnData::as_id)
    }

    pub(super) const fn measure(&self) -> Measure {
        self.columns.measure()
    }

    pub(super) fn times(&self) -> &'a [u64] {
        self.numbers(StreamSchema::TIME)
    }

    /// Calls `each` with every row of `rows` and its moment; the groupings are told apart outside of the loops.
    pub(super) fn for_each(&self, rows: impl Iterator<Item = usize>, mut each: impl FnMut(u64, IndexedRow)) {
        let times = self.times();
        let comms = self.ids(StreamSchema::COMM);
        match self.columns {
            Columns::Cpu { duration } => {
                let (keys, durations) = (self.numbers(StreamSchema::CPU), self.durations(duration));
                for row in rows {
                    let (Some(time), Some(key)) = (times.get(row), keys.get(row)) else { continue };
                    let (name, measured) = (comms.get(row).copied(), durations.get(row).copied().unwrap_or(0));
                    each(*time, IndexedRow { key: *key, measured, name, ..IndexedRow::default() });
                }
            }
            Columns::Thread { duration } => {
                let (keys, pids) = (self.numbers(StreamSchema::TID), self.numbers(StreamSchema::PID));
                let durations = self.durations(duration);
                for row in rows {
                    let (Some(time), Some(key)) = (times.get(row), keys.get(row)) else { continue };
                    let (comm, measured) = (comms.get(row).copied(), durations.get(row).copied().unwrap_or(0));
                    let pid = pids.get(row).copied().unwrap_or(0);
                    each(*time, IndexedRow { key: *key, pid, measured, name: comm.filter(|_| self.named), comm });
                }
            }
            Columns::Level { .. } | Columns::Counter { .. } => {
                for row in rows {
                    let (Some(time), Some(found)) = (times.get(row), self.rare(row)) else { continue };
                    each(*time, found);
                }
            }
        }
    }

    fn durations(&self, column: Option<usize>) -> &'a [u64] {
        column.map_or(&[], |column| self.numbers(column))
    }

    /// A row of calls or of counts, of which there are fewer.
    fn rare(&self, row: usize) -> Option<IndexedRow> {
        let number = |column: usize| self.numbers(column).get(row).copied();
        let id = |column: usize| self.ids(column).get(row).copied();
        match self.columns {
            Columns::Level { depth, duration, function } => {
                let level = CallLevel::of(number(StreamSchema::TID)?, number(StreamSchema::CPU)?, number(depth)?);
                let (measured, comm) = (number(duration)?, id(StreamSchema::COMM));
                let pid = number(StreamSchema::PID).unwrap_or(0);
                Some(IndexedRow { key: level.key(), pid, measured, name: id(function), comm })
            }
            Columns::Counter { event, scope, value, span, gauge } => {
                // What was not counted has no span.
                let span_ns = number(span).filter(|span_ns| *span_ns > 0)?;
                let value = u128::from(number(value)?);
                // A value of the moment has no rate.
                let measured = match gauge.and_then(number) {
                    None | Some(0) => value * 1_000_000_000_000 / u128::from(span_ns),
                    Some(_) => value * 1000,
                };
                let measured = u64::try_from(measured).unwrap_or(u64::MAX);
                Some(IndexedRow { key: counter_key(id(event)?, id(scope)?), measured, ..IndexedRow::default() })
            }
            Columns::Cpu { .. } | Columns::Thread { .. } => None,
        }
    }
}

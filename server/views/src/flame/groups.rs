//! What the first level of a flame graph is: a number for each sample, and what such a number is called.

use std::borrow::Cow;

use bathyscope_capture::{StreamSchema, StringId};

use crate::{Source, TimeRange, ViewError, answers::GroupBy, hash::IdMap, needle::shown, scan::Hit};

/// The most threads whose name is kept; others are called by their number.
const MAX_THREADS: usize = 1 << 20;

/// What makes a group.
#[derive(Clone, Copy)]
enum GroupKey {
    Of(GroupBy),
    /// Parts of equal length of a range of time.
    Time(TimeRange, u32),
}

/// The groups of samples.
pub(super) struct SampleGroups<'a> {
    source: &'a dyn Source,
    by: GroupKey,
    /// By thread, what it was called last.
    comms: IdMap<u32, StringId>,
}

/// The groups of the rows of one chunk.
pub(super) struct ChunkGroups<'a> {
    by: GroupKey,
    stream: u32,
    numbers: &'a [u64],
    comms: &'a [u32],
    times: &'a [u64],
}

impl<'a> SampleGroups<'a> {
    pub(super) fn new(source: &'a dyn Source, by: GroupBy) -> Self {
        Self { source, by: GroupKey::Of(by), comms: IdMap::default() }
    }

    /// So many parts of equal length of a range, called by their numbers.
    pub(super) fn of_time(source: &'a dyn Source, range: TimeRange, parts: u32) -> Self {
        Self { source, by: GroupKey::Time(range, parts), comms: IdMap::default() }
    }

    /// Whether a group is a CPU.
    pub(super) fn is_cpu(&self) -> bool {
        matches!(self.by, GroupKey::Of(GroupBy::Cpu))
    }

    /// The columns that groups are read from.
    pub(super) fn columns(&self) -> &'static [usize] {
        let GroupKey::Of(by) = self.by else { return &[StreamSchema::TIME] };
        match by {
            GroupBy::Process => &[StreamSchema::TIME, StreamSchema::PID, StreamSchema::COMM],
            GroupBy::Thread => &[StreamSchema::TID, StreamSchema::COMM],
            GroupBy::Comm => &[StreamSchema::COMM],
            GroupBy::Cpu => &[StreamSchema::CPU],
            GroupBy::Source | GroupBy::None => &[],
        }
    }

    /// Those of a chunk of a stream.
    ///
    /// # Errors
    /// If a column is not what it should be.
    pub(super) fn of_chunk<'h>(&self, stream: u16, hit: &'h Hit) -> Result<ChunkGroups<'h>, ViewError> {
        let (by, stream) = (self.by, stream.into());
        let (mut numbers, mut comms, mut times): (&[u64], &[u32], &[u64]) = Default::default();
        let GroupKey::Of(key) = by else {
            times = hit.u64s(StreamSchema::TIME)?;
            return Ok(ChunkGroups { by, stream, numbers, comms, times });
        };
        match key {
            GroupBy::Process => {
                (numbers, times) = (hit.u64s(StreamSchema::PID)?, hit.u64s(StreamSchema::TIME)?);
                comms = hit.ids(StreamSchema::COMM)?;
            }
            GroupBy::Thread => (numbers, comms) = (hit.u64s(StreamSchema::TID)?, hit.ids(StreamSchema::COMM)?),
            GroupBy::Comm => comms = hit.ids(StreamSchema::COMM)?,
            GroupBy::Cpu => numbers = hit.u64s(StreamSchema::CPU)?,
            GroupBy::Source | GroupBy::None => {}
        }
        Ok(ChunkGroups { by, stream, numbers, comms, times })
    }

    /// The group of a row; 0 where there are no groups.
    pub(super) fn of_row(&mut self, chunk: &ChunkGroups<'_>, row: usize) -> u32 {
        let number = || chunk.numbers.get(row).copied().map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX));
        let comm = chunk.comms.get(row).copied().unwrap_or(0);
        let time_ns = chunk.times.get(row).copied().unwrap_or(0);
        let by = match chunk.by {
            GroupKey::Of(by) => by,
            GroupKey::Time(range, parts) => {
                let within = u128::from(time_ns.saturating_sub(range.start_ns)) * u128::from(parts);
                let part = within / u128::from(range.span_ns().max(1));
                return part.min(u128::from(parts.saturating_sub(1))) as u32;
            }
        };
        match by {
            GroupBy::Process => self.source.dictionaries().process_name(number(), time_ns).unwrap_or(comm),
            GroupBy::Thread => {
                let tid = number();
                if self.comms.len() < MAX_THREADS || self.comms.contains_key(&tid) {
                    self.comms.insert(tid, comm);
                }
                tid
            }
            GroupBy::Comm => comm,
            GroupBy::Cpu => number(),
            GroupBy::Source => chunk.stream,
            GroupBy::None => 0,
        }
    }

    /// What a group is called; none where there are no groups.
    pub(super) fn name(&self, group: u32) -> Option<Cow<'_, str>> {
        let text = |id| self.source.dictionaries().text(id).map(shown).unwrap_or("[no name]".into());
        let GroupKey::Of(by) = self.by else { return Some(group.to_string().into()) };
        match by {
            GroupBy::Process | GroupBy::Comm => Some(text(group)),
            GroupBy::Thread => {
                let comm = self.comms.get(&group).copied().map_or("thread".into(), text);
                Some(format!("{comm} {group}").into())
            }
            GroupBy::Cpu => Some(format!("CPU {group}").into()),
            GroupBy::Source => {
                let schema = self.source.streams().get(group as usize);
                Some(schema.map_or("[no name]".into(), |schema| shown(schema.name.as_bytes())))
            }
            GroupBy::None => None,
        }
    }
}

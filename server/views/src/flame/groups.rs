//! What the first level of a flame graph is: a number for each sample, and what such a number is called.

use std::borrow::Cow;

use bathyscope_capture::{Column, ColumnData, ColumnType, StreamSchema, StringId};
use bathyscope_catalog::groups::name_of;

use crate::{Source, TimeRange, ViewError, answers::GroupBy, hash::IdMap, needle::shown, scan::Hit};

/// The most threads whose name is kept; others are called by their number.
const MAX_THREADS: usize = 1 << 20;

/// The most control groups that are known by a number each; what is beyond is one group.
const MAX_NUMBERED: usize = 1 << 20;
/// The bit of a group that is a control group's number, not the text of its path.
const NUMBERED: u32 = 1 << 31;
/// The group of rows that do not say their control group.
const NOT_RECORDED: u32 = u32::MAX;
/// The group of those beyond [`MAX_NUMBERED`].
const OTHER_NUMBERS: u32 = u32::MAX - 1;
/// The letters of a container's id that are shown, as its tools do.
const ID_LETTERS: usize = 12;

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
    /// Numbers of control groups, each once, and where each is.
    numbers: Vec<u64>,
    by_number: IdMap<u64, u32>,
}

/// The control groups of a chunk's rows.
#[derive(Clone, Copy)]
enum ContainerColumn<'a> {
    NotRecorded,
    Numbers(&'a [u64]),
    Paths(&'a [u32]),
}

/// The groups of the rows of one chunk.
pub(super) struct ChunkGroups<'a> {
    by: GroupKey,
    stream: u32,
    numbers: &'a [u64],
    comms: &'a [u32],
    times: &'a [u64],
    containers: ContainerColumn<'a>,
}

/// The column with the control group of a row: its number, or its path.
pub(super) fn cgroup_column(schema: &StreamSchema) -> Option<usize> {
    let is_group = |column: &Column| {
        matches!(column.name.as_str(), "cgroup" | "cgroup_id" | "cgroup_path" | "container")
            && matches!(column.ty, ColumnType::U64 | ColumnType::Text)
    };
    schema.columns.iter().position(is_group)
}

impl<'a> SampleGroups<'a> {
    pub(super) fn new(source: &'a dyn Source, by: GroupBy) -> Self {
        Self::by(source, GroupKey::Of(by))
    }

    fn by(source: &'a dyn Source, by: GroupKey) -> Self {
        Self { source, by, comms: IdMap::default(), numbers: Vec::new(), by_number: IdMap::default() }
    }

    /// That the rows of the streams that `takes` accepts can be told apart so.
    ///
    /// # Errors
    /// If containers are wanted, and none of them says one.
    pub(super) fn check(&self, source: &dyn Source, takes: impl Fn(&StreamSchema) -> bool) -> Result<(), ViewError> {
        let is_container = matches!(self.by, GroupKey::Of(GroupBy::Container));
        let mut counted = source.streams().iter().filter(|schema| takes(schema));
        if is_container && !counted.any(|schema| cgroup_column(schema).is_some()) {
            return Err(ViewError::NoContainers);
        }
        Ok(())
    }

    /// So many parts of equal length of a range, called by their numbers.
    pub(super) fn of_time(source: &'a dyn Source, range: TimeRange, parts: u32) -> Self {
        Self::by(source, GroupKey::Time(range, parts))
    }

    /// Whether a group is a CPU.
    pub(super) fn is_cpu(&self) -> bool {
        matches!(self.by, GroupKey::Of(GroupBy::Cpu))
    }

    /// The columns of a stream that groups are read from.
    pub(super) fn columns(&self, schema: &StreamSchema) -> Vec<usize> {
        let GroupKey::Of(by) = self.by else { return vec![StreamSchema::TIME] };
        match by {
            GroupBy::Process => vec![StreamSchema::TIME, StreamSchema::PID, StreamSchema::COMM],
            GroupBy::Thread => vec![StreamSchema::TID, StreamSchema::COMM],
            GroupBy::Comm => vec![StreamSchema::COMM],
            GroupBy::Cpu => vec![StreamSchema::CPU],
            GroupBy::Container => cgroup_column(schema).into_iter().collect(),
            GroupBy::Source | GroupBy::None => Vec::new(),
        }
    }

    /// Those of a chunk of a stream.
    ///
    /// # Errors
    /// If a column is not what it should be.
    pub(super) fn of_chunk<'h>(
        &self,
        (stream, schema): (u16, &StreamSchema),
        hit: &'h Hit,
    ) -> Result<ChunkGroups<'h>, ViewError> {
        let (numbers, comms, times): (&[u64], &[u32], &[u64]) = Default::default();
        let containers = ContainerColumn::NotRecorded;
        let mut out = ChunkGroups { by: self.by, stream: stream.into(), numbers, comms, times, containers };
        let GroupKey::Of(key) = self.by else {
            out.times = hit.u64s(StreamSchema::TIME)?;
            return Ok(out);
        };
        match key {
            GroupBy::Process => {
                (out.numbers, out.times) = (hit.u64s(StreamSchema::PID)?, hit.u64s(StreamSchema::TIME)?);
                out.comms = hit.ids(StreamSchema::COMM)?;
            }
            GroupBy::Thread => (out.numbers, out.comms) = (hit.u64s(StreamSchema::TID)?, hit.ids(StreamSchema::COMM)?),
            GroupBy::Comm => out.comms = hit.ids(StreamSchema::COMM)?,
            GroupBy::Cpu => out.numbers = hit.u64s(StreamSchema::CPU)?,
            GroupBy::Container => {
                out.containers = match cgroup_column(schema).and_then(|at| hit.batch.columns.get(at)) {
                    Some(ColumnData::U64(numbers)) => ContainerColumn::Numbers(numbers),
                    Some(ColumnData::Id(paths)) => ContainerColumn::Paths(paths),
                    _ => ContainerColumn::NotRecorded,
                };
            }
            GroupBy::Source | GroupBy::None => {}
        }
        Ok(out)
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
            GroupBy::Container => self.container(chunk.containers, row),
            GroupBy::Source => chunk.stream,
            GroupBy::None => 0,
        }
    }

    fn container(&mut self, column: ContainerColumn<'_>, row: usize) -> u32 {
        let number = match column {
            ContainerColumn::NotRecorded => return NOT_RECORDED,
            ContainerColumn::Paths(paths) => return paths.get(row).map_or(NOT_RECORDED, |path| path & !NUMBERED),
            ContainerColumn::Numbers(numbers) => numbers.get(row).copied().unwrap_or(0),
        };
        if let Some(known) = self.by_number.get(&number) {
            return NUMBERED | known;
        }
        if self.numbers.len() >= MAX_NUMBERED {
            return OTHER_NUMBERS;
        }
        let index = self.numbers.len() as u32;
        self.by_number.insert(number, index);
        self.numbers.push(number);
        NUMBERED | index
    }

    fn container_name(&self, group: u32) -> String {
        let not_recorded = "[no control group recorded]".to_owned();
        match group {
            NOT_RECORDED | 0 => not_recorded,
            OTHER_NUMBERS => "[other control groups]".to_owned(),
            numbered if numbered & NUMBERED != 0 => match self.numbers.get((numbered & !NUMBERED) as usize) {
                Some(0) | None => not_recorded,
                Some(number) => format!("control group {number}"),
            },
            path => self.source.dictionaries().text(path).map_or(not_recorded, container_words),
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
            GroupBy::Container => Some(self.container_name(group).into()),
            GroupBy::Source => {
                let schema = self.source.streams().get(group as usize);
                Some(schema.map_or("[no name]".into(), |schema| shown(schema.name.as_bytes())))
            }
            GroupBy::None => None,
        }
    }
}

/// A container by its name, or by what runs it and its id, as the path of its control group tells them; else the path.
fn container_words(path: &[u8]) -> String {
    let text = shown(path);
    let container = name_of(&text).container;
    match container {
        Some(container) => match container.name {
            Some(name) => format!("{} {name}", container.runtime),
            None => format!("{} {}", container.runtime, container.id.get(..ID_LETTERS).unwrap_or(container.id)),
        },
        None if text.is_empty() => "[no control group recorded]".to_owned(),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_control_groups_name_containers() {
        let id = "4f".repeat(32);
        for (path, expected) in [
            (format!("/system.slice/docker-{id}.scope"), "docker 4f4f4f4f4f4f"),
            (format!("unified:/docker/{id}"), "docker 4f4f4f4f4f4f"),
            ("/lxc.payload.web/system.slice".to_owned(), "lxc web"),
            ("/system.slice/nginx.service".to_owned(), "/system.slice/nginx.service"),
            (String::new(), "[no control group recorded]"),
        ] {
            assert_eq!(container_words(path.as_bytes()), expected, "{path}");
        }
    }
}

//! Samples by stack and by the values that the whole sample has: names, numbers, control group.

use std::collections::HashMap;

use bathyscope_capture::{ColumnType, StackId, StreamSchema, StringId};

use super::{ReportKey, ReportQuery, ReportValue, text_of};
use crate::{
    Cancel, Source, ViewError,
    flame::{count::weight_of, groups::cgroup_column},
    hash::IdMap,
    scan::{Hit, Scan},
};

/// The most pairs of a stack and values; samples beyond them are counted by their values alone.
const MAX_PAIRS: usize = 1 << 22;
/// The most values that are told apart.
const MAX_VALUES: usize = 1 << 20;

/// Samples with the same stack and the same values.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackPair {
    stack: StackId,
    /// Which values, of [`SampleKeys`].
    pub(super) keys: u32,
    pub(super) weight: u64,
    pub(super) samples: u64,
}

/// All samples of a query.
pub(super) struct CountedSamples {
    /// Sorted by stack.
    pairs: Vec<StackPair>,
    beyond: Vec<(u32, u64, u64)>,
    pub(super) keys: SampleKeys,
    pub(super) samples: u64,
    pub(super) weight: u64,
}

/// The values of samples, each combination once.
#[derive(Default)]
pub(super) struct SampleKeys {
    wanted: Vec<ReportKey>,
    values: Vec<Vec<u64>>,
    by_values: HashMap<Vec<u64>, u32>,
    /// What processes and threads were called last, and the texts of names and groups.
    process_names: IdMap<u64, StringId>,
    thread_names: IdMap<u64, StringId>,
    texts: HashMap<StringId, String>,
    is_text_group: bool,
}

impl CountedSamples {
    /// Counts them.
    ///
    /// # Errors
    /// As [`super::sample_report`].
    pub(super) fn read(source: &dyn Source, query: &ReportQuery, cancel: &Cancel) -> Result<Self, ViewError> {
        let mut wanted = vec![StreamSchema::STACK];
        let of_sample: Vec<ReportKey> = query.keys.iter().copied().filter(|key| !key.is_of_frame()).collect();
        let schema = crate::scan::schema_of(source, query.stream)?;
        let columns: Vec<usize> = of_sample.iter().filter_map(|key| column_of(schema, *key)).collect();
        wanted.extend(&columns);
        if of_sample.iter().any(|key| matches!(key, ReportKey::Pid | ReportKey::Tid)) {
            wanted.extend([StreamSchema::TIME, StreamSchema::COMM]);
        }
        let weight_column = weight_of(schema);
        wanted.extend(weight_column);
        let mut keys = SampleKeys { wanted: of_sample, ..SampleKeys::default() };
        let mut counts: IdMap<(StackId, u32), (u64, u64)> = IdMap::default();
        let mut others: IdMap<u32, (u64, u64)> = IdMap::default();
        let (mut samples, mut weight) = (0_u64, 0_u64);
        let mut scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)?;
        let schema = scan.schema();
        scan.for_each_hit(|hit| {
            let stacks = hit.ids(StreamSchema::STACK)?;
            let weights = weight_column.map(|column| hit.u64s(column)).transpose()?;
            let chunk = ChunkKeys::of(schema, &keys.wanted, hit)?;
            let mut last: Option<(Vec<u64>, u32)> = None;
            hit.picked.for_each(|row| {
                let Some(stack) = stacks.get(row) else { return };
                let one = weights.map_or(1, |weights| weights.get(row).copied().unwrap_or(0));
                let number = keys.number(source, &chunk, row, &mut last);
                samples += 1;
                weight = weight.saturating_add(one);
                let is_full = counts.len() >= MAX_PAIRS;
                let sum = match counts.get_mut(&(*stack, number)) {
                    Some(sum) => sum,
                    None if is_full => others.entry(number).or_default(),
                    None => counts.entry((*stack, number)).or_default(),
                };
                *sum = (sum.0.saturating_add(one), sum.1 + 1);
            });
            Ok(())
        })?;
        keys.keep_texts(source);
        let pair = |((stack, keys), (weight, samples))| StackPair { stack, keys, weight, samples };
        let mut pairs: Vec<StackPair> = counts.into_iter().map(pair).collect();
        pairs.sort_unstable_by_key(|pair| (pair.stack, pair.keys));
        let mut beyond: Vec<_> = others.into_iter().map(|(keys, (weight, samples))| (keys, weight, samples)).collect();
        beyond.sort_unstable();
        Ok(Self { pairs, beyond, keys, samples, weight })
    }

    /// The stacks that samples have, ascending, each once.
    pub(super) fn stacks(&self) -> impl Iterator<Item = StackId> {
        self.pairs.chunk_by(|a, b| a.stack == b.stack).filter_map(|same| same.first()).map(|pair| pair.stack)
    }

    /// The pairs of a stack.
    pub(super) fn of_stack(&self, stack: StackId) -> &[StackPair] {
        let start = self.pairs.partition_point(|pair| pair.stack < stack);
        let rest = self.pairs.get(start..).unwrap_or(&[]);
        let end = rest.partition_point(|pair| pair.stack == stack);
        rest.get(..end).unwrap_or(&[])
    }

    /// Weight and number of samples whose stacks are not told apart, by their values.
    pub(super) fn beyond(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        self.beyond.iter().copied()
    }
}

fn column_of(schema: &StreamSchema, key: ReportKey) -> Option<usize> {
    match key {
        ReportKey::Comm => Some(StreamSchema::COMM),
        ReportKey::Cpu => Some(StreamSchema::CPU),
        ReportKey::Pid => Some(StreamSchema::PID),
        ReportKey::Tid => Some(StreamSchema::TID),
        ReportKey::Cgroup => cgroup_column(schema),
        ReportKey::Dso | ReportKey::Symbol | ReportKey::SourceLine => None,
    }
}

/// A column of a chunk.
enum SampleColumn<'h> {
    Numbers(&'h [u64]),
    Ids(&'h [u32]),
}

/// The columns of a chunk that keys are read from.
struct ChunkKeys<'h> {
    columns: Vec<(ReportKey, SampleColumn<'h>)>,
    times: &'h [u64],
    comms: &'h [u32],
}

impl<'h> ChunkKeys<'h> {
    fn of(schema: &StreamSchema, wanted: &[ReportKey], hit: &'h Hit) -> Result<Self, ViewError> {
        let mut columns = Vec::with_capacity(wanted.len());
        for key in wanted {
            let Some(at) = column_of(schema, *key) else { continue };
            let is_text = schema.columns.get(at).is_some_and(|column| column.ty == ColumnType::Text);
            let column = if is_text { SampleColumn::Ids(hit.ids(at)?) } else { SampleColumn::Numbers(hit.u64s(at)?) };
            columns.push((*key, column));
        }
        let names = wanted.iter().any(|key| matches!(key, ReportKey::Pid | ReportKey::Tid));
        let (mut times, mut comms): (&[u64], &[u32]) = Default::default();
        if names {
            (times, comms) = (hit.u64s(StreamSchema::TIME)?, hit.ids(StreamSchema::COMM)?);
        }
        Ok(Self { columns, times, comms })
    }
}

impl SampleKeys {
    /// The number of a row's values.
    fn number(
        &mut self,
        source: &dyn Source,
        chunk: &ChunkKeys<'_>,
        row: usize,
        last: &mut Option<(Vec<u64>, u32)>,
    ) -> u32 {
        if chunk.columns.is_empty() {
            return self.intern(&[]);
        }
        let comm = chunk.comms.get(row).copied().unwrap_or(0);
        let mut values = [0_u64; ReportKey::ALL.len()];
        for (slot, (key, column)) in values.iter_mut().zip(&chunk.columns) {
            *slot = match column {
                SampleColumn::Numbers(numbers) => numbers.get(row).copied().unwrap_or(0),
                SampleColumn::Ids(ids) => ids.get(row).copied().unwrap_or(0).into(),
            };
            match key {
                ReportKey::Pid => {
                    let time_ns = chunk.times.get(row).copied().unwrap_or(0);
                    let pid = u32::try_from(*slot).unwrap_or(u32::MAX);
                    let name = source.dictionaries().process_name(pid, time_ns).unwrap_or(comm);
                    self.process_names.insert(*slot, name);
                }
                ReportKey::Tid => _ = self.thread_names.insert(*slot, comm),
                ReportKey::Cgroup => self.is_text_group = matches!(column, SampleColumn::Ids(_)),
                _ => {}
            }
        }
        let values = values.get(..chunk.columns.len()).unwrap_or(&[]);
        if let Some((known, number)) = last
            && known.as_slice() == values
        {
            return *number;
        }
        let number = self.intern(values);
        *last = Some((values.to_vec(), number));
        number
    }

    fn intern(&mut self, values: &[u64]) -> u32 {
        if let Some(number) = self.by_values.get(values) {
            return *number;
        }
        if self.values.len() >= MAX_VALUES {
            return u32::MAX;
        }
        let number = self.values.len() as u32;
        self.values.push(values.to_vec());
        self.by_values.insert(values.to_vec(), number);
        number
    }

    /// Looks up the texts that values are ids of.
    fn keep_texts(&mut self, source: &dyn Source) {
        let mut ids: Vec<StringId> = self.process_names.values().chain(self.thread_names.values()).copied().collect();
        for (at, key) in self.wanted.iter().enumerate() {
            let is_text = *key == ReportKey::Comm || (*key == ReportKey::Cgroup && self.is_text_group);
            let of_key = self.values.iter().filter_map(|values| values.get(at)).map(|id| *id as StringId);
            ids.extend(of_key.filter(|_| is_text));
        }
        ids.sort_unstable();
        ids.dedup();
        self.texts = ids.into_iter().map(|id| (id, text_of(source, id))).collect();
    }

    /// The value of a key.
    pub(super) fn value(&self, number: u32, key: ReportKey) -> ReportValue {
        let at = self.wanted.iter().position(|wanted| *wanted == key);
        let value = self.values.get(number as usize).and_then(|values| values.get(at?)).copied();
        let Some(value) = value else { return ReportValue::Other };
        let text = |id: StringId| self.texts.get(&id).cloned().unwrap_or_default();
        let named = |names: &IdMap<u64, StringId>| ReportValue::Thread {
            id: value,
            comm: names.get(&value).copied().map(text).unwrap_or_default(),
        };
        match key {
            ReportKey::Comm => ReportValue::Text(text(value as StringId)),
            ReportKey::Pid => named(&self.process_names),
            ReportKey::Tid => named(&self.thread_names),
            ReportKey::Cgroup if self.is_text_group => ReportValue::Text(text(value as StringId)),
            _ => ReportValue::Number(value),
        }
    }
}

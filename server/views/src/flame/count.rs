//! Samples by stack and group: one counter for each stack, and a bounded number for those that several groups have.

use bathyscope_capture::{ColumnType, RowKind, StackId, StreamKind, StreamSchema};

use super::{
    FlameQuery,
    groups::SampleGroups,
    weight::{Counting, RowValue},
};
use crate::{
    Cancel, Source, ViewError,
    answers::{LeftOutRows, SampleUnit},
    hash::IdMap,
    scan::Scan,
};

/// The most stacks that have counters. What is beyond goes to [`Counts::beyond`].
const MAX_STACKS: usize = 1 << 25;
/// The most pairs of a stack and a group beyond the first group of each stack.
const MAX_PAIRS: usize = 1 << 22;

/// How many samples each stack has, and of which groups ([`SampleGroups`]).
pub(super) struct Counts {
    /// By stack: the group that had it first, and that one's samples; 0 where there are none.
    groups: Vec<u32>,
    samples: Vec<u32>,
    /// Samples of other groups, and those that did not fit above.
    more: IdMap<(StackId, u32), u64>,
    most_pairs: usize,
    /// Samples of groups that are not counted by stack, because there are too many.
    beyond: IdMap<u32, u64>,
    /// All together; none if that does not fit.
    total: Option<u64>,
    pub(super) left_out: LeftOutRows,
}

impl Counts {
    /// None yet, of stacks up to this one.
    pub(super) fn up_to(last_stack: StackId) -> Self {
        Self::new(last_stack, MAX_PAIRS)
    }

    fn new(last_stack: StackId, most_pairs: usize) -> Self {
        let stacks = (last_stack as usize).min(MAX_STACKS) + 1;
        // Zeros that nobody writes to take no memory.
        let (groups, samples) = (vec![0; stacks], vec![0; stacks]);
        let (more, beyond, total, left_out) = (IdMap::default(), IdMap::default(), Some(0), LeftOutRows::default());
        Self { groups, samples, more, most_pairs, beyond, total, left_out }
    }

    /// Adds a sample that counts for so much; `stack` is at most the largest that was promised.
    pub(super) fn add(&mut self, group: u32, stack: StackId, weight: u64) {
        self.total = self.total.and_then(|total| total.checked_add(weight));
        let place = stack as usize;
        let (Some(known), Some(samples)) = (self.groups.get_mut(place), self.samples.get_mut(place)) else {
            return Self::add_to(&mut self.beyond, group, weight);
        };
        if *samples == 0 {
            *known = group;
        }
        let room = if *known == group { u64::from(u32::MAX - *samples) } else { 0 };
        let here = weight.min(room);
        *samples += here as u32;
        if weight > here {
            self.add_more(group, stack, weight - here);
        }
    }

    /// Adds what a row counts for, or counts that it is left out.
    pub(super) fn add_row(&mut self, group: u32, stack: StackId, value: RowValue) {
        match value {
            RowValue::Counts(weight) => self.add(group, stack, weight),
            RowValue::Missing => self.left_out.missing += 1,
            RowValue::Negative => self.left_out.negative += 1,
        }
    }

    /// That the sum of all fits.
    ///
    /// # Errors
    /// If it does not.
    pub(super) fn check_total(&self, counting: &Counting) -> Result<(), ViewError> {
        let large = || ViewError::WeightTooLarge(counting.words.clone());
        self.total.map(drop).ok_or_else(large)
    }

    fn add_more(&mut self, group: u32, stack: StackId, weight: u64) {
        if let Some(samples) = self.more.get_mut(&(stack, group)) {
            *samples = samples.saturating_add(weight);
        } else if self.more.len() < self.most_pairs {
            self.more.insert((stack, group), weight);
        } else {
            Self::add_to(&mut self.beyond, group, weight);
        }
    }

    fn add_to(beyond: &mut IdMap<u32, u64>, group: u32, weight: u64) {
        let samples = beyond.entry(group).or_insert(0);
        *samples = samples.saturating_add(weight);
    }

    /// The stacks with samples, ascending; 0 stands for none and for those that no dictionary has.
    pub(super) fn stacks(&self) -> impl Iterator<Item = StackId> {
        (0..).zip(&self.samples).filter(|(_, samples)| **samples > 0).map(|(stack, _)| stack)
    }

    /// The most that a stack's id can be.
    pub(super) fn end(&self) -> usize {
        self.samples.len()
    }

    /// Samples by stack of those that [`Counts::first`] does not tell.
    pub(super) fn more_by_stack(&self) -> IdMap<StackId, u64> {
        let mut sums = IdMap::default();
        for ((stack, _group), samples) in &self.more {
            *sums.entry(*stack).or_insert(0) += samples;
        }
        sums
    }

    /// The samples of the first group of a stack.
    pub(super) fn first(&self, stack: StackId) -> u64 {
        self.samples.get(stack as usize).copied().unwrap_or(0).into()
    }

    /// Each group with each of its stacks and samples. A pair may come twice.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, StackId, u64)> {
        let first = (0..).zip(self.groups.iter().zip(&self.samples)).filter(|(_, (_, samples))| **samples > 0);
        let first = first.map(|(stack, (group, samples))| (*group, stack, u64::from(*samples)));
        first.chain(self.more.iter().map(|((stack, group), samples)| (*group, *stack, *samples)))
    }

    /// Samples of groups that are in no pair.
    pub(super) fn beyond(&self) -> impl Iterator<Item = (u32, u64)> {
        self.beyond.iter().map(|(group, samples)| (*group, *samples))
    }
}

/// What the samples of a stream count; none if it has none.
pub fn sample_unit(schema: &StreamSchema) -> Option<SampleUnit> {
    if schema.kind != StreamKind::Samples {
        return None;
    }
    match schema.meaning().kind {
        RowKind::Sample { unit, weight: Some(_), .. } if unit == "ns" => Some(SampleUnit::Nanoseconds),
        RowKind::Sample { unit, weight: Some(_), .. } if unit == "bytes" => Some(SampleUnit::Bytes),
        _ => Some(SampleUnit::Samples),
    }
}

/// The column of what a sample of a stream counts for; none where each counts for one.
pub(super) fn weight_of(schema: &StreamSchema) -> Option<usize> {
    match schema.meaning().kind {
        RowKind::Sample { weight: Some(weight), .. } if sample_unit(schema) != Some(SampleUnit::Samples) => {
            schema.column(&weight).filter(|at| schema.columns.get(*at).is_some_and(|it| it.ty == ColumnType::U64))
        }
        _ => None,
    }
}

/// Counts the samples of a query, by the groups of `groups`.
pub(super) fn count(
    source: &dyn Source,
    query: &FlameQuery,
    groups: &mut SampleGroups<'_>,
    cancel: &Cancel,
) -> Result<Counts, ViewError> {
    count_within(source, query, groups, cancel, MAX_PAIRS)
}

pub(super) fn count_within(
    source: &dyn Source,
    query: &FlameQuery,
    groups: &mut SampleGroups<'_>,
    cancel: &Cancel,
    most_pairs: usize,
) -> Result<Counts, ViewError> {
    let counting = Counting::of(source, &query.weight)?.ok_or(ViewError::NoSamples)?;
    groups.check(source, |schema| counting.takes(schema))?;
    let by_groups: &SampleGroups<'_> = groups;
    let columns = |schema: &StreamSchema| -> Vec<usize> {
        let tid = query.tid.map(|_| StreamSchema::TID);
        let common = [Some(StreamSchema::PID), tid].into_iter().flatten();
        common.chain(by_groups.columns(schema)).chain(counting.columns(source, schema)).collect()
    };
    let last_stack = source.dictionaries().last_stack();
    let mut counts = Counts::new(last_stack, most_pairs);
    let scans =
        Scan::all(source, query.range, query.filter.as_ref(), columns, cancel, |schema| counting.takes(schema))?;
    for mut scan in scans {
        let (schema, stream) = (scan.schema(), scan.stream());
        let of_stream = counting.of_stream(source, stream)?;
        scan.for_each_hit(|hit| {
            let weights = of_stream.of_chunk(hit)?;
            let (stacks, pids) = (hit.ids(of_stream.stack)?, hit.u64s(StreamSchema::PID)?);
            let tids = if query.tid.is_some() { hit.u64s(StreamSchema::TID)? } else { &[] };
            let of_chunk = groups.of_chunk((stream, schema), hit)?;
            hit.picked.for_each(|row| {
                let (Some(stack), Some(pid)) = (stacks.get(row), pids.get(row)) else { return };
                let other_process = query.pid.is_some_and(|wanted| wanted != *pid);
                let other_thread = query.tid.is_some() && query.tid.as_ref() != tids.get(row);
                if other_process || other_thread {
                    return;
                }
                let stack = if *stack <= last_stack { *stack } else { 0 };
                counts.add_row(groups.of_row(&of_chunk, row), stack, weights.at(row));
            });
            counts.check_total(&counting)
        })?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_may_be_larger_than_a_counter() {
        let mut counts = Counts::new(1, 9);
        let large = u64::from(u32::MAX);
        for (process, stack, weight) in [(7, 1, 3 * large), (8, 1, 5), (7, 1, 2), (8, 9, large + 1), (7, 0, 0)] {
            counts.add(process, stack, weight);
        }
        let of = |wanted: u32| -> u64 {
            counts.pairs().filter(|(process, ..)| *process == wanted).map(|(_, _, weight)| weight).sum()
        };
        assert_eq!((of(7), of(8)), (3 * large + 2, 5));
        assert_eq!(counts.beyond().collect::<Vec<_>>(), [(8, large + 1)]);
        assert_eq!(counts.stacks().collect::<Vec<_>>(), [1], "what takes no time has no width");
    }

    #[test]
    fn every_sample_is_counted_once_however_many_pairs_there_are() {
        for (most_pairs, left) in [(0, 6), (2, 3), (9, 0)] {
            let mut counts = Counts::new(3, most_pairs);
            let seen = [(7, 1), (7, 1), (8, 1), (8, 1), (9, 1), (9, 2), (7, 2), (7, 2), (8, 2), (7, 0)];
            seen.iter().for_each(|(process, stack)| counts.add(*process, *stack, 1));
            let counted: u64 = counts.pairs().map(|(_, _, samples)| samples).sum();
            let beyond: u64 = counts.beyond().map(|(_, samples)| samples).sum();
            assert_eq!((counted + beyond, counts.stacks().collect::<Vec<_>>()), (10, vec![0, 1, 2]), "{most_pairs}");
            assert_eq!(beyond, left, "{most_pairs}");
            let more = counts.more_by_stack();
            let of = |stack| counts.first(stack) + more.get(&stack).copied().unwrap_or(0);
            assert_eq!((0..4).map(of).sum::<u64>(), counted);
        }
    }
}

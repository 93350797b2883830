//! Samples to distinct stacks of names with counts, in the order of the names.
//!
//! Each stack that occurs is read and named once, whoever had it. Memory is bounded whatever the capture: names up to
//! [`MAX_NAMES`], and a few bytes for each stack of the capture ([`super::count`]).

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use bathyscope_capture::{FrameId, StackId};

use super::{
    FlameQuery,
    calls::fold_calls,
    count::{Counts, count},
    groups::SampleGroups,
    names::{FrameName, Names, sorted_names},
    paths::{Paths, common, order},
    weight::Counting,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{AppliedTransform, LeftOutRows, NodeKind},
    calls::calls_stream,
    chance::BLOCKS,
    hash::IdMap,
};

/// The most names in all distinct stacks together. The rarest stacks beyond it become `[other stacks]`.
const MAX_NAMES: usize = 1 << 24;
/// What stands for stacks that are left out.
pub(super) const OTHER: &str = "[other stacks]";
/// In place of a group: there is none.
pub(super) const NO_GROUP: u32 = u32::MAX;

/// All stacks of a query with their counts, sorted by names; stacks with the same names are one.
#[derive(Clone, Debug)]
pub struct FoldedStacks {
    /// What is counted.
    pub(super) unit: &'static str,
    /// The same in words, where the unit does not say it.
    pub(super) counted: String,
    /// Rows that are no part of any sum.
    pub(super) left_out: LeftOutRows,
    /// Sorted, so that the order of indexes is that of names.
    names: Vec<String>,
    /// By the index that levels have; the first is empty and stands for what is not known.
    modules: Vec<String>,
    paths: Paths,
    stacks: Vec<Entry>,
    /// What transforms did, in their order.
    applied: Vec<AppliedTransform>,
    /// All samples, also those that transforms left out.
    recorded: u64,
    /// Whether the group is the last name of a stack, not the first.
    group_last: bool,
    /// Whether a name stands for several kinds of nodes.
    pub(super) kinds_vary: bool,
    total: u64,
}

impl Default for FoldedStacks {
    fn default() -> Self {
        let (names, modules, paths, stacks, applied, recorded, total) = Default::default();
        let (group_last, kinds_vary, counted, left_out) = (false, false, String::new(), LeftOutRows::default());
        Self {
            unit: "samples",
            counted,
            left_out,
            names,
            modules,
            paths,
            stacks,
            applied,
            recorded,
            group_last,
            kinds_vary,
            total,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// The name of the first level, or [`NO_GROUP`].
    group: u32,
    path: u32,
    samples: u64,
}

/// One of them: names and kinds from the root (the process, if grouped so) to the leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedStack<'a> {
    /// The names, made visible.
    pub frames: Vec<(&'a str, NodeKind)>,
    /// How many samples.
    pub samples: u64,
}

/// One stack as the layout reads it.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    first: Option<u32>,
    names: &'a [u32],
    kinds: &'a [NodeKind],
    modules: &'a [u16],
    last: Option<u32>,
    is_unresolved: bool,
    pub(super) samples: u64,
    /// The same for stacks that differ in their group alone.
    pub(super) number: u32,
}

impl Path<'_> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.names.len() + usize::from(self.last.is_some())
    }

    /// The name and kind of a level, from 0.
    pub(super) fn at(&self, level: usize) -> Option<(u32, NodeKind)> {
        let group = |name| (name, NodeKind::Process);
        match (self.first, level) {
            (Some(first), 0) => Some(group(first)),
            (first, level) => {
                let index = level - usize::from(first.is_some());
                let inner = self.names.get(index).copied().zip(self.kinds.get(index).copied());
                inner.or_else(|| self.last.filter(|_| index == self.names.len()).map(group))
            }
        }
    }

    /// The module of a level; 0 where it is not known.
    pub(super) fn module(&self, level: usize) -> u16 {
        let index = level.checked_sub(usize::from(self.first.is_some()));
        index.and_then(|index| self.modules.get(index)).copied().unwrap_or(0)
    }

    /// Name, kind and module of each level.
    pub(super) fn for_each_level(&self, mut each: impl FnMut(FrameName)) {
        let group = |name: u32| (name, NodeKind::Process, 0);
        self.first.map(group).into_iter().for_each(&mut each);
        for ((name, kind), module) in self.names.iter().zip(self.kinds).zip(self.modules) {
            each((*name, *kind, *module));
        }
        self.last.map(group).into_iter().for_each(each);
    }

    /// How many levels it has in common with another.
    pub(super) fn common(&self, other: &Self) -> usize {
        if self.first != other.first {
            return 0;
        }
        let shared = common(self.names, other.names);
        let group = usize::from(self.first.is_some());
        if self.last.is_none() || shared < self.names.len().min(other.names.len()) {
            return group + shared;
        }
        let name = |path: &Self| path.at(group + shared).map(|(name, _)| name);
        let also = name(self).is_some() && name(self) == name(other);
        group + shared + usize::from(also)
    }

    /// Whether it has a place without a name.
    pub(super) fn is_unresolved(&self) -> bool {
        self.is_unresolved
    }

    /// The name of its group.
    pub(super) fn group(&self) -> Option<u32> {
        self.first.or(self.last)
    }
}

impl FoldedStacks {
    /// The stacks in order.
    pub fn iter(&self) -> impl Iterator<Item = FoldedStack<'_>> {
        (0..self.stacks.len()).map(|index| {
            let path = self.path(index);
            let levels = (0..path.len()).filter_map(|level| path.at(level));
            let frames = levels.map(|(name, kind)| (self.name(name), kind)).collect();
            FoldedStack { frames, samples: path.samples }
        })
    }

    /// How many distinct stacks there are.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// All samples.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What it takes in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|name| name.capacity() + size_of::<String>()).sum();
        names + self.counted.capacity() + self.paths.memory_bytes() + size_of_val(self.stacks.as_slice())
    }

    /// What transforms did, in their order.
    pub fn applied(&self) -> &[AppliedTransform] {
        &self.applied
    }

    /// All samples of the query, also those that transforms left out.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Tells of these transforms in place of those that were done last.
    pub(super) fn keep_applied(&mut self, applied: &[AppliedTransform]) {
        self.applied = applied.to_vec();
    }

    /// Samples that end in a function; the stacks are not inverted.
    pub(super) fn own_of(&self, function: &str) -> u64 {
        let Some(name) = self.names.iter().position(|name| name == function) else { return 0 };
        let paths = (0..self.len()).map(|index| self.path(index));
        let ends = paths.filter(|path| path.names.last() == Some(&(name as u32)));
        ends.map(|path| path.samples).sum()
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn modules(&self) -> &[String] {
        &self.modules
    }

    /// Empty where it is not known.
    pub(super) fn module_name(&self, module: u16) -> &str {
        self.modules.get(usize::from(module)).map_or("", String::as_str)
    }

    /// No stacks yet, with these names instead of those of others, which levels are going to be pushed for. `is_plain`: the names
    /// are the same ones.
    pub(super) fn from_levels(of: &Self, names: Vec<String>, is_plain: bool) -> Self {
        let (unit, counted, left_out, recorded) = (of.unit, of.counted.clone(), of.left_out, of.recorded);
        let mut out = Self { unit, counted, left_out, modules: of.modules.clone(), recorded, ..Self::default() };
        // Their groups are levels like others.
        (out.names, out.kinds_vary) = (names, of.kinds_vary || !is_plain);
        out.paths.reserve(of.len(), MAX_NAMES);
        out
    }

    /// Adds a stack, whose levels are told from the root; with `invert` they are turned round.
    pub(super) fn push_levels(&mut self, levels: impl Iterator<Item = FrameName>, invert: bool, samples: u64) {
        let start = self.paths.names();
        levels.for_each(|(name, kind, module)| self.paths.push(name, kind, module));
        let path = self.paths.close(start, !invert);
        self.total = self.total.saturating_add(samples);
        self.stacks.push(Entry { group: NO_GROUP, path, samples });
    }

    /// Sorts what was pushed.
    pub(super) fn finish_levels(mut self, applied: Vec<AppliedTransform>) -> Self {
        let (names, ranks) = sorted_names(std::mem::take(&mut self.names));
        self.names = names;
        let numbers = self.paths.sort(&ranks);
        for entry in &mut self.stacks {
            entry.path = numbers.get(entry.path as usize).copied().unwrap_or(u32::MAX);
        }
        self.sort();
        self.applied = applied;
        self
    }

    pub(super) fn name(&self, index: u32) -> &str {
        self.names.get(index as usize).map_or("", String::as_str)
    }

    /// The index of a name.
    pub(super) fn name_index(&self, text: &str) -> Option<u32> {
        let found = self.names.binary_search_by(|name| name.as_str().cmp(text)).ok()?;
        u32::try_from(found).ok()
    }

    /// The stack below a group ([`NO_GROUP`] if there are none) that has these names from the root on. These are not inverted.
    pub(super) fn position(&self, group: u32, names: &[u32]) -> Option<usize> {
        let by_names = |entry: &Entry| order(self.paths.get(entry.path).names, names);
        self.stacks.binary_search_by(|entry| entry.group.cmp(&group).then_with(|| by_names(entry))).ok()
    }

    /// Names in all stacks together, about.
    pub(super) fn all_names(&self) -> usize {
        self.paths.names() + self.stacks.len()
    }

    /// The names of stacks without their groups, by [`Path::number`].
    pub(super) fn numbered_names(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.paths.len() as u32).map(|number| self.paths.get(number).names)
    }

    pub(super) fn path(&self, index: usize) -> Path<'_> {
        let none = Entry { group: NO_GROUP, path: u32::MAX, samples: 0 };
        let Entry { group, path: number, samples } = self.stacks.get(index).copied().unwrap_or(none);
        let super::paths::Levels { names, kinds, modules, is_unresolved } = self.paths.get(number);
        let group = (group != NO_GROUP).then_some(group);
        let (first, last) = if self.group_last { (None, group) } else { (group, None) };
        Path { first, names, kinds, modules, last, is_unresolved, samples, number }
    }
}

/// Folds samples. `focus`, `search` and `width` do not count.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn fold(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<Arc<FoldedStacks>, ViewError> {
    query.arranged_of(source, cancel, |query| {
        if Counting::of(source, &query.weight)?.is_none() && calls_stream(source).is_some() {
            return fold_calls(source, query, cancel);
        }
        let mut groups = SampleGroups::new(source, query.by);
        let counts = count(source, query, &mut groups, cancel)?;
        fold_counted(source, query, (&counts, &groups), cancel)
    })
}

/// Folds samples that were counted, without transforms.
pub(super) fn fold_counted(
    source: &dyn Source,
    query: &FlameQuery,
    counted: (&Counts, &SampleGroups<'_>),
    cancel: &Cancel,
) -> Result<FoldedStacks, ViewError> {
    fold_counts(source, query, counted, MAX_NAMES, cancel)
}

/// Folds samples, not inverted, below the part of the range in which they are, one of [`BLOCKS`].
pub(super) fn fold_blocks(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<FoldedStacks, ViewError> {
    query.arranged(cancel, |query| {
        let mut groups = SampleGroups::of_time(source, query.range, BLOCKS);
        let counts = count(source, query, &mut groups, cancel)?;
        fold_counted(source, query, (&counts, &groups), cancel)
    })
}

fn fold_counts(
    source: &dyn Source,
    query: &FlameQuery,
    (counts, sample_groups): (&Counts, &SampleGroups<'_>),
    most_names: usize,
    cancel: &Cancel,
) -> Result<FoldedStacks, ViewError> {
    let mut builder = FoldBuilder::new(source, query);
    if let Some(counting) = Counting::of(source, &query.weight)? {
        (builder.out.unit, builder.out.counted) = (counting.unit, counting.words);
    }
    builder.out.left_out = counts.left_out;
    let paths = match builder.add_all(counts, |_stack| true, most_names, cancel)? {
        Some(paths) => paths,
        None => builder.add_most(counts, most_names, cancel)?,
    };
    let mut groups: IdMap<u32, u32> = IdMap::default();
    let mut group = |builder: &mut FoldBuilder<'_>, number: u32| {
        let index =
            || sample_groups.name(number).map_or(NO_GROUP, |text| builder.names.index(&text, NodeKind::Process));
        *groups.entry(number).or_insert_with(index)
    };
    let mut others: IdMap<u32, u64> = IdMap::default();
    for (number, stack, samples) in counts.pairs() {
        let group = group(&mut builder, number);
        match paths.get(stack as usize).and_then(|path| path.checked_sub(1)) {
            Some(path) => builder.push(Entry { group, path, samples }),
            None => *others.entry(group).or_insert(0) += samples,
        }
    }
    for (number, samples) in counts.beyond() {
        *others.entry(group(&mut builder, number)).or_insert(0) += samples;
    }
    for (group, samples) in others {
        let path = builder.single(OTHER);
        builder.push(Entry { group, path, samples });
    }
    Ok(builder.finish())
}

/// A stack with a weight that is not a number of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weighted {
    /// What the first level is.
    pub(crate) group: String,
    /// Stacks, the inner one first.
    pub(crate) stacks: Vec<StackId>,
    /// Its weight.
    pub(crate) weight: u64,
}

/// Stacks of names that are folded as they come.
pub(super) struct NamedStacks<'a>(FoldBuilder<'a>);

impl<'a> NamedStacks<'a> {
    pub(crate) fn new(source: &'a dyn Source, query: &'a FlameQuery) -> Self {
        let mut builder = FoldBuilder::new(source, query);
        builder.out.unit = "nanoseconds";
        Self(builder)
    }

    /// Adds a stack of functions of the kernel, the inner one first, below a group.
    pub(crate) fn add(&mut self, group: Option<&str>, names: &[&str], weight: u64) {
        let start = self.0.out.paths.names();
        for name in names {
            let unnamed = name.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
            self.0.push_text(name, if unnamed { NodeKind::Unresolved } else { NodeKind::Kernel });
        }
        self.0.close(start, group, weight);
    }

    pub(crate) fn finish(self) -> FoldedStacks {
        self.0.finish()
    }
}

/// Folds stacks that are no samples; `grouped` says whether there is a first level of groups, `unit` what weights count.
pub(crate) fn fold_weighted(
    source: &dyn Source,
    query: &FlameQuery,
    mut stacks: Vec<Weighted>,
    grouped: bool,
    unit: &'static str,
) -> FoldedStacks {
    stacks.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| (&a.group, &a.stacks).cmp(&(&b.group, &b.stacks))));
    let mut builder = FoldBuilder::new(source, query);
    builder.out.unit = unit;
    for stack in stacks {
        let group = grouped.then_some(if stack.group.is_empty() { "[no name]" } else { stack.group.as_str() });
        let start = builder.out.paths.names();
        if start > MAX_NAMES {
            builder.push_text(OTHER, NodeKind::Unresolved);
        } else {
            let frames = stack.stacks.iter().map(|id| source.dictionaries().stack(*id).unwrap_or(&[]));
            frames.for_each(|frames| builder.push_frames(frames));
        }
        builder.close(start, group, stack.weight);
    }
    builder.finish()
}

struct FoldBuilder<'a> {
    source: &'a dyn Source,
    leaf_first: bool,
    names: Names<'a>,
    out: FoldedStacks,
}

impl<'a> FoldBuilder<'a> {
    fn new(source: &'a dyn Source, query: &FlameQuery) -> Self {
        let out = FoldedStacks { group_last: query.invert, ..FoldedStacks::default() };
        Self { source, leaf_first: query.invert, names: Names::new(source.dictionaries()), out }
    }

    /// Adds the stacks that are wanted, each once. Gives by stack the number of its names from 1, with 0 for what is not
    /// wanted; nothing at all if there are too many names.
    fn add_all(
        &mut self,
        counts: &Counts,
        mut wanted: impl FnMut(StackId) -> bool,
        most_names: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u32>>, ViewError> {
        self.out.paths.clear();
        self.out.paths.reserve(counts.stacks().count(), most_names);
        let mut paths = vec![0; counts.end()];
        let mut done = 0_u32;
        let stacks = counts.stacks().filter(|stack| wanted(*stack));
        let added = self.source.dictionaries().for_each_stack(stacks, |stack, frames| {
            done = done.wrapping_add(1);
            if done.is_multiple_of(4096) && cancel.load(Ordering::Relaxed) {
                return Err(Some(ViewError::Cancelled));
            }
            let start = self.out.paths.names();
            self.push_frames(frames.unwrap_or(&[]));
            if self.out.paths.names() > most_names {
                return Err(None);
            }
            let path = self.close_path(start);
            if let Some(slot) = paths.get_mut(stack as usize) {
                *slot = path + 1;
            }
            Ok(())
        });
        match added {
            Ok(()) => Ok(Some(paths)),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    /// Adds the stacks with the most samples, as many as have names that fit. The stacks are read twice for that: first to
    /// learn how many names those with the same number of samples have.
    fn add_most(&mut self, counts: &Counts, most_names: usize, cancel: &Cancel) -> Result<Vec<u32>, ViewError> {
        let more = counts.more_by_stack();
        let samples = |stack: StackId| counts.first(stack) + more.get(&stack).copied().unwrap_or(0);
        let mut names_of: BTreeMap<u64, usize> = BTreeMap::new();
        let dictionaries = self.source.dictionaries();
        dictionaries.for_each_stack(counts.stacks(), |stack, frames| {
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            *names_of.entry(samples(stack)).or_insert(0) += self.names_in(frames.unwrap_or(&[]));
            Ok(())
        })?;
        let mut room = most_names;
        let mut least = u64::MAX;
        for (samples, names) in names_of.into_iter().rev() {
            least = samples;
            match room.checked_sub(names) {
                Some(rest) => room = rest,
                None => break,
            }
        }
        // Of those with the least samples only the first that fit; those with more have the rest for themselves.
        let mut end: StackId = 0;
        let rarest = counts.stacks().filter(|stack| samples(*stack) == least);
        let _no_room = dictionaries.for_each_stack(rarest, |stack, frames| {
            room = room.checked_sub(self.names_in(frames.unwrap_or(&[]))).ok_or(())?;
            end = stack.saturating_add(1);
            Ok::<_, ()>(())
        });
        let wanted = |stack: StackId| samples(stack) > least || (samples(stack) == least && stack < end);
        let paths = self.add_all(counts, wanted, most_names, cancel)?;
        Ok(paths.unwrap_or_default())
    }

    /// How many names frames have.
    fn names_in(&mut self, frames: &[FrameId]) -> usize {
        frames.iter().map(|frame| self.names.frame(*frame).len()).sum::<usize>().max(1)
    }

    fn push_frames(&mut self, frames: &[FrameId]) {
        for frame in frames {
            for (name, kind, module) in self.names.frame(*frame) {
                self.out.paths.push(*name, *kind, *module);
            }
        }
    }

    fn push_text(&mut self, text: &str, kind: NodeKind) {
        let name = self.names.index(text, kind);
        self.out.paths.push(name, kind, 0);
    }

    /// Ends the stack whose names begin at `start`.
    fn close_path(&mut self, start: usize) -> u32 {
        if self.out.paths.is_open_empty(start) {
            self.push_text("[no stack]", NodeKind::Unresolved);
        }
        self.out.paths.close(start, self.leaf_first)
    }

    /// A stack of one name.
    fn single(&mut self, text: &str) -> u32 {
        let start = self.out.paths.names();
        self.push_text(text, NodeKind::Unresolved);
        self.out.paths.close(start, self.leaf_first)
    }

    /// Ends the stack whose names begin at `start`, and adds it below a group.
    fn close(&mut self, start: usize, group: Option<&str>, samples: u64) {
        let path = self.close_path(start);
        let group = group.map_or(NO_GROUP, |group| self.names.index(group, NodeKind::Process));
        self.push(Entry { group, path, samples });
    }

    fn push(&mut self, entry: Entry) {
        self.out.total = self.out.total.saturating_add(entry.samples);
        self.out.stacks.push(entry);
    }

    fn finish(mut self) -> FoldedStacks {
        let mut out = self.out;
        out.kinds_vary = self.names.kinds_vary();
        out.modules = self.names.take_modules();
        out.recorded = out.total;
        let (names, ranks) = self.names.into_sorted();
        out.names = names;
        let numbers = out.paths.sort(&ranks);
        for entry in &mut out.stacks {
            entry.group = ranks.get(entry.group as usize).copied().unwrap_or(NO_GROUP);
            entry.path = numbers.get(entry.path as usize).copied().unwrap_or(u32::MAX);
        }
        out.sort();
        out
    }
}

impl FoldedStacks {
    /// Sorts the stacks by their names, and makes one of those with the same.
    fn sort(&mut self) {
        let mut stacks = std::mem::take(&mut self.stacks);
        if self.group_last {
            // With the group behind them stacks are not in the order of their numbers.
            let names = |entry: &Entry| {
                let group = (entry.group != NO_GROUP).then_some(entry.group);
                self.paths.get(entry.path).names.iter().copied().chain(group).chain([u32::MAX])
            };
            stacks.sort_unstable_by(|a, b| names(a).cmp(names(b)));
        } else {
            stacks.sort_unstable_by_key(|entry| (entry.group, entry.path));
        }
        stacks.dedup_by(|entry, kept| {
            let same = (entry.group, entry.path) == (kept.group, kept.path);
            kept.samples += if same { entry.samples } else { 0 };
            same
        });
        self.stacks = stacks;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use bathyscope_capture::{
        Batch, Column, ColumnData, ColumnType, Display, Frame, RowKind, RowMeaning, StreamKind, StreamSchema, Symbol,
    };

    use super::*;
    use crate::{MemorySource, Weight, answers::SampleUnit, flame::count::count_within};

    /// Stack `n` has `n` frames that have one name each, and samples of processes `a` and `b`.
    fn source(samples: &[(StackId, u64, u64)]) -> MemorySource {
        let mut source = MemorySource::new(0);
        source.dictionaries.insert_string(1, *b"a");
        source.dictionaries.insert_string(2, *b"b");
        for &(stack, _, _) in samples {
            source.dictionaries.insert_stack(stack, vec![stack; stack as usize].into());
            source.dictionaries.insert_frame(stack, Frame { mapping: 0, offset: 0 });
            let function = format!("f{stack}");
            source.dictionaries.insert_symbol(stack, Symbol { function, offset: 0, lines: Vec::new() });
        }
        let rows: Vec<(u32, u32)> = samples
            .iter()
            .flat_map(|(stack, a, b)| (0..*a).map(|_| (1, *stack)).chain((0..*b).map(|_| (2, *stack))))
            .collect();
        let numbers = || ColumnData::U64(vec![0; rows.len()]);
        let ids = |value: fn(&(u32, u32)) -> u32| ColumnData::Id(rows.iter().map(value).collect());
        let columns = vec![numbers(), numbers(), numbers(), numbers(), ids(|row| row.0), ids(|row| row.1)];
        let own = [Column { name: "stack".to_owned(), ty: ColumnType::Stack, display: Display::Decimal }];
        source.push_stream(StreamSchema::new("clock", StreamKind::Samples, own), vec![Batch { columns }]);
        source
    }

    fn folded(samples: &[(StackId, u64, u64)], invert: bool, most_names: usize, most_pairs: usize) -> String {
        let (source, go) = (source(samples), Cancel::new(false));
        let query = FlameQuery { invert, ..FlameQuery::default() };
        let mut groups = SampleGroups::new(&source, query.by);
        let counts = count_within(&source, &query, &mut groups, &go, most_pairs).unwrap();
        let folded = fold_counts(&source, &query, (&counts, &groups), most_names, &go).unwrap();
        let line = |stack: FoldedStack<'_>| {
            let names: Vec<&str> = stack.frames.iter().map(|(name, _)| *name).collect();
            format!("{} {}", names.join(";"), stack.samples)
        };
        folded.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn samples_count_time_where_that_is_their_weight() {
        let mut source = source(&[(1, 2, 1), (2, 1, 0)]);
        let own = [("stack", ColumnType::Stack), ("took", ColumnType::U64)];
        let own = own.map(|(name, ty)| Column { name: name.to_owned(), ty, display: Display::Decimal });
        let numbers = || ColumnData::U64(vec![0; 2]);
        let columns = vec![numbers(), numbers(), numbers(), numbers(), ColumnData::Id(vec![1, 2])];
        let own_data = [ColumnData::Id(vec![2, 2]), ColumnData::U64(vec![1000, 30])];
        let kind =
            RowKind::Sample { stack: "stack".to_owned(), weight: Some("took".to_owned()), unit: "ns".to_owned() };
        let schema = StreamSchema {
            rows: Some(Box::new(RowMeaning::new(kind, &["tid"]))),
            ..StreamSchema::new("off-CPU", StreamKind::Samples, own)
        };
        source.push_stream(schema, vec![Batch { columns: columns.into_iter().chain(own_data).collect() }]);
        for (unit, total, word) in [
            (None, 4, "samples"),
            (Some(SampleUnit::Samples), 4, "samples"),
            (Some(SampleUnit::Nanoseconds), 1030, "nanoseconds"),
            // What no samples count.
            (Some(SampleUnit::Bytes), 4, "samples"),
        ] {
            let query = FlameQuery { weight: Weight::Own(unit), ..FlameQuery::default() };
            let folded = fold(&source, &query, &Cancel::new(false)).unwrap();
            assert_eq!((folded.total(), folded.unit), (total, word), "{unit:?}");
        }
    }

    #[test]
    fn the_rarest_stacks_become_one_where_there_are_too_many_names() {
        let samples = [(1, 2, 1), (2, 1, 0), (3, 5, 0), (4, 1, 0)];
        let all = "a;f1 2, a;f2;f2 1, a;f3;f3;f3 5, a;f4;f4;f4;f4 1, b;f1 1";
        let cases = [
            (10, 9, all),
            (6, 9, "a;[other stacks] 1, a;f1 2, a;f2;f2 1, a;f3;f3;f3 5, b;f1 1"),
            (5, 9, "a;[other stacks] 2, a;f1 2, a;f3;f3;f3 5, b;f1 1"),
            (3, 9, "a;[other stacks] 4, a;f3;f3;f3 5, b;[other stacks] 1"),
            (0, 9, "a;[other stacks] 9, b;[other stacks] 1"),
            (10, 0, "a;f1 2, a;f2;f2 1, a;f3;f3;f3 5, a;f4;f4;f4;f4 1, b;[other stacks] 1"),
        ];
        for (most_names, most_pairs, expected) in cases {
            assert_eq!(folded(&samples, false, most_names, most_pairs), expected, "{most_names} {most_pairs}");
        }
    }

    #[test]
    fn turned_round_the_process_is_last() {
        let samples = [(1, 2, 1), (2, 1, 1)];
        assert_eq!(folded(&samples, true, 10, 9), "f1;a 2, f1;b 1, f2;f2;a 1, f2;f2;b 1");
        assert_eq!(folded(&samples, true, 1, 9), "[other stacks];a 1, [other stacks];b 1, f1;a 2, f1;b 1");
    }
}

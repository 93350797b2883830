//! Samples to distinct stacks of names with counts, in the order of the names.

use std::{cmp::Reverse, sync::atomic::Ordering};

use bathyscope_capture::{StackId, StreamKind, StreamSchema, StringId};

use super::{FlameQuery, GroupBy, NodeKind, names::Names};
use crate::{
    Cancel, Source, ViewError,
    calls::{calls_stream, fold_calls},
    hash::IdMap,
    needle::shown,
    scan::Scan,
};

/// The most names in one stack; what is above is left out.
const MAX_STACK_NAMES: usize = 2048;
/// The most names in all stacks together. The rarest stacks beyond it become `[other stacks]`, so that memory is bounded
/// whatever the capture.
const MAX_NAMES: usize = 1 << 25;
/// After the last name of a stack: greater than any name, so that what calls on comes before what ends.
const END: u32 = u32::MAX;

/// All stacks of a query with their counts, sorted by names; stacks with the same names are one.
#[derive(Clone, Debug)]
pub struct FoldedStacks {
    /// What is counted.
    pub(super) unit: &'static str,
    /// Sorted, so that the order of indexes is that of names.
    names: Vec<String>,
    /// The names of all stacks one after another, each with [`END`] after it.
    path_names: Vec<u32>,
    path_kinds: Vec<NodeKind>,
    stacks: Vec<Span>,
    total: u64,
}

impl Default for FoldedStacks {
    fn default() -> Self {
        let (names, path_names, path_kinds, stacks, total) = Default::default();
        Self { unit: "samples", names, path_names, path_kinds, stacks, total }
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    /// Without the end mark.
    len: usize,
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
    pub(super) names: &'a [u32],
    pub(super) kinds: &'a [NodeKind],
    pub(super) samples: u64,
}

impl FoldedStacks {
    /// The stacks in order.
    pub fn iter(&self) -> impl Iterator<Item = FoldedStack<'_>> {
        (0..self.stacks.len()).map(|index| {
            let path = self.path(index);
            let frames = path.names.iter().zip(path.kinds).map(|(name, kind)| (self.name(*name), *kind)).collect();
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

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn name(&self, index: u32) -> &str {
        self.names.get(index as usize).map_or("", String::as_str)
    }

    pub(super) fn path(&self, index: usize) -> Path<'_> {
        let span = self.stacks.get(index).copied().unwrap_or(Span { start: 0, len: 0, samples: 0 });
        let range = span.start..span.start + span.len;
        let names = self.path_names.get(range.clone()).unwrap_or(&[]);
        Path { names, kinds: self.path_kinds.get(range).unwrap_or(&[]), samples: span.samples }
    }
}

/// Folds samples. `focus`, `search` and `width` do not count.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn fold(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<FoldedStacks, ViewError> {
    let has_samples = source.streams().iter().any(|schema| schema.kind == StreamKind::Samples);
    if !has_samples && calls_stream(source).is_some() {
        return fold_calls(source, query, cancel);
    }
    let mut counts: Vec<_> = count(source, query, cancel)?.into_iter().collect();
    // The most frequent first, because those beyond the limit become one.
    counts.sort_unstable_by_key(|(key, samples)| (Reverse(*samples), *key));
    let mut builder = Builder { source, query, names: Names::new(source.dictionaries()), out: FoldedStacks::default() };
    for (done, ((process, stack), samples)) in counts.into_iter().enumerate() {
        if done % 4096 == 0 && cancel.load(Ordering::Relaxed) {
            return Err(ViewError::Cancelled);
        }
        let text = || source.dictionaries().text(process).map(shown).unwrap_or("[no name]".into());
        let process = (query.by == GroupBy::Process).then(text);
        builder.add(process.as_deref(), &[stack], samples);
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
pub(crate) struct NamedStacks<'a>(Builder<'a>);

impl<'a> NamedStacks<'a> {
    pub(crate) fn new(source: &'a dyn Source, query: &'a FlameQuery) -> Self {
        let names = Names::new(source.dictionaries());
        Self(Builder { source, query, names, out: FoldedStacks { unit: "nanoseconds", ..FoldedStacks::default() } })
    }

    /// Adds a stack of functions of the kernel, the inner one first, below a group.
    pub(crate) fn add(&mut self, group: Option<&str>, names: &[&str], weight: u64) {
        let start = self.0.out.path_names.len();
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

/// Folds stacks that are no samples; `grouped` says whether there is a first level of groups.
pub(crate) fn fold_weighted(
    source: &dyn Source,
    query: &FlameQuery,
    mut stacks: Vec<Weighted>,
    grouped: bool,
) -> FoldedStacks {
    stacks.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| (&a.group, &a.stacks).cmp(&(&b.group, &b.stacks))));
    let mut builder = Builder { source, query, names: Names::new(source.dictionaries()), out: FoldedStacks::default() };
    for stack in stacks {
        let group = grouped.then_some(if stack.group.is_empty() { "[no name]" } else { stack.group.as_str() });
        builder.add(group, &stack.stacks, stack.weight);
    }
    builder.finish()
}

/// Samples by process name (0 if they are not grouped by it) and stack.
pub(super) fn count(
    source: &dyn Source,
    query: &FlameQuery,
    cancel: &Cancel,
) -> Result<IdMap<(StringId, StackId), u64>, ViewError> {
    let mut wanted = vec![StreamSchema::STACK, StreamSchema::PID];
    if query.by == GroupBy::Process {
        wanted.extend([StreamSchema::TIME, StreamSchema::COMM]);
    }
    wanted.extend(query.tid.map(|_| StreamSchema::TID));
    if !source.streams().iter().any(|schema| schema.kind == StreamKind::Samples) {
        return Err(ViewError::NoSamples);
    }
    let samples = |schema: &StreamSchema| schema.kind == StreamKind::Samples;
    let mut counts = IdMap::default();
    for mut scan in Scan::all(source, query.range, query.filter.as_ref(), |_schema| wanted.clone(), cancel, samples)? {
        scan.for_each_hit(|hit| {
            let (stacks, pids) = (hit.ids(StreamSchema::STACK)?, hit.u64s(StreamSchema::PID)?);
            let tids = if query.tid.is_some() { hit.u64s(StreamSchema::TID)? } else { &[] };
            let (times, comms) = match query.by {
                GroupBy::Process => (hit.u64s(StreamSchema::TIME)?, hit.ids(StreamSchema::COMM)?),
                GroupBy::None => (&[][..], &[][..]),
            };
            hit.picked.for_each(|row| {
                let (Some(stack), Some(pid)) = (stacks.get(row), pids.get(row)) else { return };
                let other_process = query.pid.is_some_and(|wanted| wanted != *pid);
                let other_thread = query.tid.is_some() && query.tid.as_ref() != tids.get(row);
                if other_process || other_thread {
                    return;
                }
                let process = match times.get(row).zip(comms.get(row)) {
                    Some((time, comm)) => {
                        let known = source.dictionaries().process_name(u32::try_from(*pid).unwrap_or(0), *time);
                        known.unwrap_or(*comm)
                    }
                    None => 0,
                };
                *counts.entry((process, *stack)).or_insert(0) += 1;
            });
            Ok(())
        })?;
    }
    Ok(counts)
}

struct Builder<'a> {
    source: &'a dyn Source,
    query: &'a FlameQuery,
    names: Names<'a>,
    out: FoldedStacks,
}

impl Builder<'_> {
    /// Adds stacks, the inner one first, below a group.
    fn add(&mut self, group: Option<&str>, stacks: &[StackId], samples: u64) {
        let start = self.out.path_names.len();
        // From the leaf; turned round below.
        if start > MAX_NAMES {
            self.push_text("[other stacks]", NodeKind::Unresolved);
        } else {
            for stack in stacks {
                let frames = self.source.dictionaries().stack(*stack).unwrap_or(&[]);
                for frame in frames {
                    for (name, kind) in self.names.frame(*frame) {
                        self.out.path_names.push(*name);
                        self.out.path_kinds.push(*kind);
                    }
                }
            }
            if self.out.path_names.len() == start {
                self.push_text("[no stack]", NodeKind::Unresolved);
            }
        }
        self.close(start, group, samples);
    }

    /// Ends the stack whose names begin at `start`.
    fn close(&mut self, start: usize, group: Option<&str>, samples: u64) {
        if let Some(group) = group {
            self.push_text(group, NodeKind::Process);
        }
        if !self.query.invert {
            self.out.path_names.get_mut(start..).unwrap_or_default().reverse();
            self.out.path_kinds.get_mut(start..).unwrap_or_default().reverse();
        }
        let len = (self.out.path_names.len() - start).min(MAX_STACK_NAMES);
        self.out.path_names.truncate(start + len);
        self.out.path_kinds.truncate(start + len);
        self.out.path_names.push(END);
        self.out.path_kinds.push(NodeKind::Unresolved);
        self.out.stacks.push(Span { start, len, samples });
        self.out.total = self.out.total.saturating_add(samples);
    }

    fn push_text(&mut self, text: &str, kind: NodeKind) {
        let name = self.names.index(text);
        self.out.path_names.push(name);
        self.out.path_kinds.push(kind);
    }

    fn finish(self) -> FoldedStacks {
        let mut out = self.out;
        let (names, ranks) = self.names.into_sorted();
        out.names = names;
        for name in &mut out.path_names {
            // The end mark has no rank and stays.
            *name = ranks.get(*name as usize).copied().unwrap_or(*name);
        }
        let path_names = &out.path_names;
        let with_end = |span: &Span| path_names.get(span.start..=span.start + span.len).unwrap_or(&[]);
        out.stacks.sort_by(|a, b| with_end(a).cmp(with_end(b)));
        let mut merged: Vec<Span> = Vec::with_capacity(out.stacks.len());
        for span in &out.stacks {
            match merged.last_mut() {
                Some(last) if with_end(last) == with_end(span) => last.samples += span.samples,
                _ => merged.push(*span),
            }
        }
        out.stacks = merged;
        out
    }
}

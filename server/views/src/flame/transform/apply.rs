//! Transforms, done: each reads the stacks that the one before leaves, as lists of levels from the root.

use std::{collections::HashMap, sync::atomic::Ordering};

use super::{Transform, text::base_name};
use crate::{
    Cancel, ViewError,
    answers::{AppliedTransform, NodeId, NodeKind},
    flame::{fold::FoldedStacks, layout::id_of},
    hash::FNV1A_64,
};

/// What a stack is called of which every frame is hidden.
const HIDDEN: &str = "[hidden frames]";
/// Files of run-time libraries: beginnings of their names.
const RUNTIME_FILES: [&str; 8] =
    ["libc.so", "libc-2", "ld-linux", "ld-2", "libpthread", "libstdc++", "libgcc_s", "ld-musl"];
/// Names of functions that programs are started by and that run-time libraries are linked into programs with.
const RUNTIME_NAMES: [&str; 10] = [
    "_start",
    "__libc_start",
    "start_thread",
    "clone",
    "std::",
    "core::",
    "alloc::",
    "runtime.",
    "<alloc::",
    "<core::",
];

/// One level of a stack.
#[derive(Clone, Copy)]
pub(in crate::flame) struct StackLevel {
    pub(in crate::flame) name: u32,
    pub(in crate::flame) kind: NodeKind,
    pub(in crate::flame) module: u16,
}

/// A stack: where its levels are, its samples, and its number among those that transforms began with.
struct WorkStack {
    levels: std::ops::Range<usize>,
    samples: u64,
    origin: usize,
}

/// Stacks that transforms are done with.
struct WorkStacks {
    names: Vec<String>,
    modules: Vec<String>,
    levels: Vec<StackLevel>,
    stacks: Vec<WorkStack>,
}

/// What a transform does with one stack: gives the levels that are left, or false if its samples are left out.
type Rule<'a> = Box<dyn FnMut(&[StackLevel], &mut Vec<StackLevel>) -> bool + 'a>;

/// The stacks as transforms leave them, inverted at last if that is wanted. `folded` is not inverted.
pub(in crate::flame) fn transformed(
    folded: &FoldedStacks,
    transforms: &[Transform],
    invert: bool,
    cancel: &Cancel,
) -> Result<FoldedStacks, ViewError> {
    let mut work = WorkStacks::of(folded);
    let applied = work.apply_all(transforms, cancel)?;
    let mut out = FoldedStacks::from_levels(folded, work.names, transforms.is_empty());
    for stack in &work.stacks {
        let levels = work.levels.get(stack.levels.clone()).unwrap_or(&[]);
        let levels = levels.iter().map(|level| (level.name, level.kind, level.module));
        out.push_levels(levels, invert, stack.samples);
    }
    Ok(out.finish_levels(applied))
}

/// What transforms leave of each stack by itself.
pub(in crate::flame) struct TracedStacks {
    work: WorkStacks,
    /// By the number of a stack before: where it is in `work`, from 1; 0 where its samples are left out.
    places: Vec<usize>,
    /// What transforms did, in their order.
    pub(in crate::flame) applied: Vec<AppliedTransform>,
}

impl TracedStacks {
    /// What is left of the stack that had this number; none if its samples are left out.
    pub(in crate::flame) fn levels(&self, origin: usize) -> Option<&[StackLevel]> {
        let place = self.places.get(origin)?.checked_sub(1)?;
        self.work.levels.get(self.work.stacks.get(place)?.levels.clone())
    }

    /// A name by its number.
    pub(in crate::flame) fn name(&self, name: u32) -> &str {
        self.work.names.get(name as usize).map_or("", String::as_str)
    }

    /// A module by its number; empty where it is not known.
    pub(in crate::flame) fn module(&self, module: u16) -> &str {
        self.work.modules.get(usize::from(module)).map_or("", String::as_str)
    }
}

/// Does transforms, and keeps of each stack what is left of it. `folded` is not inverted.
///
/// # Errors
/// [`ViewError::Cancelled`] if `cancel` was set.
pub(in crate::flame) fn traced(
    folded: &FoldedStacks,
    transforms: &[Transform],
    cancel: &Cancel,
) -> Result<TracedStacks, ViewError> {
    let mut work = WorkStacks::of(folded);
    let applied = work.apply_all(transforms, cancel)?;
    let mut places = vec![0; folded.len()];
    for (place, stack) in (1..).zip(&work.stacks) {
        if let Some(slot) = places.get_mut(stack.origin) {
            *slot = place;
        }
    }
    Ok(TracedStacks { work, places, applied })
}

impl FoldedStacks {
    /// The stacks as transforms leave them, inverted at last if that is wanted. These are not inverted.
    ///
    /// # Errors
    /// [`ViewError::Cancelled`] if `cancel` was set.
    pub fn transformed(&self, transforms: &[Transform], invert: bool, cancel: &Cancel) -> Result<Self, ViewError> {
        transformed(self, transforms, invert, cancel)
    }
}

impl WorkStacks {
    fn of(folded: &FoldedStacks) -> Self {
        let mut work = Self {
            names: folded.names().to_vec(),
            modules: folded.modules().to_vec(),
            levels: Vec::with_capacity(folded.all_names()),
            stacks: Vec::with_capacity(folded.len()),
        };
        for index in 0..folded.len() {
            let (path, start) = (folded.path(index), work.levels.len());
            path.for_each_level(|(name, kind, module)| work.levels.push(StackLevel { name, kind, module }));
            let levels = start..work.levels.len();
            work.stacks.push(WorkStack { levels, samples: path.samples, origin: index });
        }
        work
    }

    fn apply_all(&mut self, transforms: &[Transform], cancel: &Cancel) -> Result<Vec<AppliedTransform>, ViewError> {
        let mut applied = Vec::with_capacity(transforms.len());
        for transform in transforms {
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            applied.push(self.apply(transform));
        }
        if cancel.load(Ordering::Relaxed) { Err(ViewError::Cancelled) } else { Ok(applied) }
    }

    fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }

    /// Does it, and says what it did.
    fn apply(&mut self, transform: &Transform) -> AppliedTransform {
        let mut node = None;
        let problem = match transform {
            Transform::FocusNode { node: id, inverted } | Transform::MergeNode { node: id, inverted } => {
                match self.path_of(*id, *inverted) {
                    Some(path) => {
                        node = path.last().and_then(|name| self.names.get(*name as usize)).cloned();
                        let merges = matches!(transform, Transform::MergeNode { .. });
                        self.pass(node_rule(&path, *inverted, merges));
                        None
                    }
                    None => Some("there is no such frame in this grouping, range and filter"),
                }
            }
            Transform::Rename { pattern, text } => self.rename(pattern, text),
            Transform::CollapseModule(module) => self.collapse_module(module),
            Transform::HideKernel => {
                self.hide_kernel();
                None
            }
            Transform::HideRuntime => {
                self.hide_runtime();
                None
            }
            Transform::FocusFunction { name, .. }
            | Transform::MergeFunction(name)
            | Transform::DropFunction(name)
            | Transform::CollapseFunction(name)
            | Transform::CollapseRecursion { name, .. } => match self.names.iter().position(|other| other == name) {
                Some(index) => {
                    self.pass(function_rule(transform, index as u32));
                    None
                }
                None if matches!(transform, Transform::FocusFunction { .. }) => {
                    self.pass(Box::new(|_, _| false));
                    Some("no stack has this function")
                }
                None => Some("no stack has this function"),
            },
        };
        let (text, words) = (transform.to_string(), transform.words(node.as_deref()));
        AppliedTransform { text, words, samples: self.samples(), problem }
    }

    /// Makes all stacks anew by a rule.
    fn pass(&mut self, mut rule: Rule<'_>) {
        let hidden = self.names.len() as u32;
        let mut levels = Vec::with_capacity(self.levels.len());
        let mut stacks = Vec::with_capacity(self.stacks.len());
        let mut hides = false;
        for stack in &self.stacks {
            let start = levels.len();
            if !rule(self.levels.get(stack.levels.clone()).unwrap_or(&[]), &mut levels) {
                levels.truncate(start);
                continue;
            }
            let is_empty = |level: &StackLevel| level.kind == NodeKind::Process;
            if levels.get(start..).is_none_or(|left| left.iter().all(is_empty)) {
                hides = true;
                levels.push(StackLevel { name: hidden, kind: NodeKind::User, module: 0 });
            }
            stacks.push(WorkStack { levels: start..levels.len(), samples: stack.samples, origin: stack.origin });
        }
        (self.levels, self.stacks) = (levels, stacks);
        if hides {
            let known = self.names.iter().position(|name| name == HIDDEN);
            match known {
                Some(known) => {
                    let new = self.levels.iter_mut().filter(|level| level.name == hidden);
                    new.for_each(|level| level.name = known as u32);
                }
                None => self.names.push(HIDDEN.to_owned()),
            }
        }
    }

    /// The names from the root (or the leaf) to a node.
    fn path_of(&self, wanted: NodeId, inverted: bool) -> Option<Vec<u32>> {
        let mut names: Vec<u32> = Vec::new();
        let mut ids: Vec<u64> = Vec::new();
        for stack in &self.stacks {
            let levels = self.levels.get(stack.levels.clone())?;
            let level =
                |at: usize| if inverted { levels.get(levels.len().checked_sub(at + 1)?) } else { levels.get(at) };
            let shared =
                (0..names.len()).take_while(|at| level(*at).map(|it| it.name) == names.get(*at).copied()).count();
            names.truncate(shared);
            ids.truncate(shared);
            while let Some(next) = level(names.len()) {
                let text = self.names.get(next.name as usize).map_or("", String::as_str);
                let id = id_of(ids.last().copied().unwrap_or(FNV1A_64), text);
                names.push(next.name);
                ids.push(id);
                if id == wanted.0 {
                    return Some(names);
                }
            }
        }
        None
    }

    fn rename(&mut self, pattern: &str, text: &str) -> Option<&'static str> {
        let Ok(pattern) = regex_lite::Regex::new(pattern) else { return Some("its pattern is no regular expression") };
        let mut names: Vec<String> = Vec::new();
        let mut by_text: HashMap<String, u32> = HashMap::new();
        let mut changed = false;
        let mut renamed = |name: &String| {
            let new = pattern.replace_all(name, text).into_owned();
            changed |= new != *name;
            let new = if new.is_empty() { "[no name]".to_owned() } else { new };
            *by_text.entry(new).or_insert_with_key(|new| {
                names.push(new.clone());
                names.len() as u32 - 1
            })
        };
        let numbers: Vec<u32> = self.names.iter().map(&mut renamed).collect();
        for level in &mut self.levels {
            level.name = numbers.get(level.name as usize).copied().unwrap_or(level.name);
        }
        self.names = names;
        (!changed).then_some("no name matches the pattern")
    }

    fn collapse_module(&mut self, module: &str) -> Option<&'static str> {
        let wanted = self.modules.iter().position(|other| other == module && !other.is_empty());
        let Some(wanted) = wanted.map(|index| index as u16) else { return Some("no stack has functions of it") };
        let text = base_name(module);
        let name = match self.names.iter().position(|name| name == text) {
            Some(known) => known as u32,
            None => {
                self.names.push(text.to_owned());
                self.names.len() as u32 - 1
            }
        };
        self.pass(Box::new(move |levels, out| {
            let mut within = false;
            for level in levels {
                let is_of = level.module == wanted && level.kind != NodeKind::Process;
                match (is_of, within) {
                    (true, true) => {}
                    (true, false) => out.push(StackLevel { name, ..*level }),
                    (false, _) => out.push(*level),
                }
                within = is_of;
            }
            true
        }));
        None
    }

    /// Also what of it has no symbol.
    fn hide_kernel(&mut self) {
        let mut of_kernel = vec![false; self.modules.len()];
        for level in self.levels.iter().filter(|level| level.kind == NodeKind::Kernel && level.module > 0) {
            if let Some(slot) = of_kernel.get_mut(usize::from(level.module)) {
                *slot = true;
            }
        }
        self.pass(Box::new(move |levels, out| {
            keep(levels, out, |level| {
                let is_module = of_kernel.get(usize::from(level.module)).copied().unwrap_or(false);
                level.kind != NodeKind::Kernel && !(level.kind == NodeKind::Unresolved && is_module)
            })
        }));
    }

    fn hide_runtime(&mut self) {
        let begins = |text: &str, beginnings: &[&str]| beginnings.iter().any(|beginning| text.starts_with(beginning));
        let files: Vec<bool> = self.modules.iter().map(|path| begins(base_name(path), &RUNTIME_FILES)).collect();
        let names: Vec<bool> = self.names.iter().map(|name| begins(name, &RUNTIME_NAMES)).collect();
        let is = |list: &[bool], at: usize| list.get(at).copied().unwrap_or(false);
        self.pass(Box::new(move |levels, out| {
            keep(levels, out, |level| {
                let of_programs = !matches!(level.kind, NodeKind::Process | NodeKind::Kernel);
                !(of_programs && (is(&files, level.module.into()) || is(&names, level.name as usize)))
            })
        }));
    }
}

fn keep(levels: &[StackLevel], out: &mut Vec<StackLevel>, is_kept: impl Fn(&StackLevel) -> bool) -> bool {
    out.extend(levels.iter().filter(|level| is_kept(level)));
    true
}

/// The rule of a transform that is about a function.
fn function_rule(transform: &Transform, name: u32) -> Rule<'_> {
    let is = move |level: &StackLevel| level.name == name && level.kind != NodeKind::Process;
    let groups = |levels: &[StackLevel]| levels.iter().take_while(|level| level.kind == NodeKind::Process).count();
    match transform {
        Transform::FocusFunction { inverted: false, .. } => Box::new(move |levels, out| {
            let Some(first) = levels.iter().position(is) else { return false };
            out.extend(levels.iter().take(groups(levels)).chain(levels.iter().skip(first)));
            true
        }),
        Transform::FocusFunction { .. } => Box::new(move |levels, out| {
            let Some(last) = levels.iter().rposition(is) else { return false };
            out.extend(levels.iter().take(last + 1));
            true
        }),
        Transform::DropFunction(_) => Box::new(move |levels, out| {
            out.extend_from_slice(levels);
            !levels.iter().any(is)
        }),
        Transform::CollapseFunction(_) => Box::new(move |levels, out| {
            let until = levels.iter().position(is).map_or(levels.len(), |first| first + 1);
            out.extend(levels.iter().take(until));
            true
        }),
        Transform::CollapseRecursion { direct: false, .. } => Box::new(move |levels, out| {
            let (first, last) = (levels.iter().position(is), levels.iter().rposition(is));
            let (first, last) = first.zip(last).unwrap_or((levels.len(), levels.len()));
            out.extend(levels.iter().take(first + 1).chain(levels.iter().skip(last + 1)));
            true
        }),
        Transform::CollapseRecursion { .. } => Box::new(move |levels, out| {
            let mut before = false;
            out.extend(levels.iter().filter(|level| !(std::mem::replace(&mut before, is(level)) && is(level))));
            true
        }),
        _ => Box::new(move |levels, out| keep(levels, out, |level| !is(level))),
    }
}

/// The rule of a transform that is about a node, by the names that lead to it.
fn node_rule(path: &[u32], inverted: bool, merges: bool) -> Rule<'_> {
    Box::new(move |levels, out| {
        let ordered = |at: usize| if inverted { levels.len().checked_sub(at + 1) } else { Some(at) };
        let level = |at: usize| ordered(at).and_then(|at| levels.get(at));
        let is_below = path.iter().enumerate().all(|(at, name)| level(at).is_some_and(|level| level.name == *name));
        let depth = path.len();
        if merges {
            let left_out = if is_below { ordered(depth - 1) } else { None };
            out.extend(levels.iter().enumerate().filter(|(at, _)| Some(*at) != left_out).map(|(_, level)| level));
            return true;
        }
        if inverted {
            out.extend(levels.iter().take(levels.len().saturating_sub(depth - 1)));
        } else {
            let is_group =
                |at: &usize| *at + 1 < depth && levels.get(*at).is_some_and(|it| it.kind == NodeKind::Process);
            out.extend((0..levels.len()).filter(|at| *at + 1 >= depth || is_group(at)).filter_map(|at| levels.get(at)));
        }
        is_below
    })
}

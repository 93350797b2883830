//! Pages of a call tree, and its lines as text would have them.

use bathyscope_capture::{StringId, visible};

use super::{
    CallChoice, CallForest,
    forest::{NONE, Record, Task},
};
use crate::{
    Source,
    answers::{CallLine, CallPage, CallThread},
    source::relative,
};

/// The most calls of a page.
pub const MAX_CALL_PAGE: u32 = 1000;
/// The most threads that are told with a page.
const MAX_THREADS: usize = 200;
/// The most lines of a text.
pub const MAX_CALL_LINES: usize = 20_000;

/// A page of the calls within `parent`; of roots if it is none.
pub fn call_page(
    source: &dyn Source,
    forest: &CallForest,
    choice: &CallChoice,
    parent: Option<u64>,
    offset: u64,
    limit: u32,
) -> CallPage {
    let index = parent.map(|id| forest.index(id).unwrap_or(NONE));
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let limit = limit.min(MAX_CALL_PAGE) as usize;
    let calls = choice.level(forest, index).skip(skip).take(limit);
    CallPage {
        total: choice.level(forest, index).count() as u64,
        offset,
        calls: calls.filter_map(|index| line(source, forest, choice, index)).collect(),
        chosen: choice.count,
        left_out: forest.left_out(),
        threads: if parent.is_none() && offset == 0 { threads(source, forest) } else { Vec::new() },
    }
}

fn threads(source: &dyn Source, forest: &CallForest) -> Vec<CallThread> {
    let mut tasks: Vec<&Task> = forest.tasks.iter().collect();
    tasks.sort_by_key(|task| (std::cmp::Reverse(task.calls), task.tid, task.cpu));
    let mut threads = Vec::<CallThread>::new();
    for task in tasks {
        // The idle threads of all CPUs have one number.
        let is_full = threads.len() >= MAX_THREADS;
        match threads.iter_mut().find(|known| known.tid == task.tid) {
            Some(idle) => idle.calls += task.calls,
            None if is_full => {}
            None => {
                let comm = comm_of(source, task.tid, task.comm);
                threads.push(CallThread { tid: task.tid, pid: task.pid, comm, calls: task.calls });
            }
        }
    }
    threads
}

/// What a thread is called.
pub(crate) fn comm_of(source: &dyn Source, tid: u64, comm: u32) -> String {
    match source.dictionaries().text(comm).filter(|text| !text.is_empty()) {
        Some(text) => visible(text),
        None if tid == 0 => "<idle>".to_owned(),
        None => "<...>".to_owned(),
    }
}

pub(crate) fn function_of(source: &dyn Source, call: &Record) -> String {
    function_text(source, call.function)
}

pub(super) fn function_text(source: &dyn Source, function: StringId) -> String {
    source.dictionaries().text(function).map_or_else(|| "[no name]".to_owned(), visible)
}

/// A call as it is sent.
pub(super) fn line(source: &dyn Source, forest: &CallForest, choice: &CallChoice, index: u32) -> Option<CallLine> {
    let call = forest.call(index)?;
    let task = forest.task(call)?;
    let expected = forest.call(call.parent).map_or(0, |parent| parent.depth.saturating_add(1));
    Some(CallLine {
        id: forest.id(index),
        function: function_of(source, call),
        start: relative(source.origin_ns(), call.start_ns),
        duration: call.duration_ns(),
        own: call.own_ns(),
        cpu: call.cpu,
        pid: task.pid,
        tid: task.tid,
        comm: comm_of(source, task.tid, call.comm),
        depth: call.depth,
        state: call.state,
        children: choice.level(forest, Some(index)).count() as u64,
        inner: call.inner,
        hit: choice.is_hit(index),
        gap: call.depth != expected,
    })
}

/// Calls in the order in which a text shows them: outer ones before those within them. `root` and what is within it, or all
/// that the query shows.
pub fn all_call_lines<'a>(
    source: &'a dyn Source,
    forest: &'a CallForest,
    choice: &'a CallChoice,
    root: Option<u64>,
) -> impl Iterator<Item = CallLine> + 'a {
    let mut open: Vec<u32> = match root {
        Some(id) => forest.index(id).into_iter().collect(),
        None => Vec::new(),
    };
    let mut roots = forest.roots.iter().filter(move |_| root.is_none());
    std::iter::from_fn(move || {
        loop {
            let index = open.pop().or_else(|| roots.next().copied())?;
            if !choice.is_shown(index) {
                continue;
            }
            let within: Vec<u32> = forest.children(index).map(|(child, _)| child).collect();
            open.extend(within.into_iter().rev());
            if let Some(line) = line(source, forest, choice, index) {
                return Some(line);
            }
        }
    })
}

/// The first of these, at most [`MAX_CALL_LINES`], and whether there are more.
pub fn call_lines(
    source: &dyn Source,
    forest: &CallForest,
    choice: &CallChoice,
    root: Option<u64>,
) -> (Vec<CallLine>, bool) {
    let mut all = all_call_lines(source, forest, choice, root);
    let lines: Vec<CallLine> = all.by_ref().take(MAX_CALL_LINES).collect();
    let more = all.next().is_some();
    (lines, more)
}

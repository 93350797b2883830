//! Calls folded into a flame graph, weighted by the time in a call and in none within it.

use super::{FlameQuery, FoldedStacks, checked_width, fold::NamedStacks};
use crate::{
    Cancel, Source, ViewError,
    answers::{FlameGraph, GroupBy},
    calls::{CallChoice, CallForest, CallQuery, NONE, Record, comm_of, function_of},
    hash::IdMap,
};

/// A flame graph of calls: nanoseconds instead of samples. Of calls that reach beyond the range only what is within it
/// counts, and nothing of calls whose length is not known, except what is within them.
///
/// # Errors
/// If the query does not fit the calls, a chunk cannot be loaded, or `cancel` was set.
pub fn call_flame(
    source: &dyn Source,
    forest: &CallForest,
    query: &FlameQuery,
    cancel: &Cancel,
) -> Result<FlameGraph, ViewError> {
    checked_width(query.width)?;
    let search = query.searched()?;
    let folded = query.arranged(cancel, |query| fold_forest(source, forest, query, cancel))?;
    Ok(folded.graph(query.focus, search.as_ref(), query.width))
}

/// Folds the calls of a capture.
pub(super) fn fold_calls(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<FoldedStacks, ViewError> {
    fold_forest(source, &CallForest::build(source, query.range, cancel)?, query, cancel)
}

/// A function below the same functions, of one process.
struct CallFlameNode {
    above: u32,
    name: String,
    weight_ns: u64,
}

/// What the first level above a call is called. Calls have no stream of their own, and move between CPUs.
fn group_of(source: &dyn Source, by: GroupBy, (pid, tid): (u64, u64), call: &Record) -> String {
    let comm = |comm| comm_of(source, tid, comm);
    match by {
        GroupBy::Thread => format!("{} {tid}", comm(call.comm)),
        GroupBy::Comm => comm(call.comm),
        _ => {
            let known = u32::try_from(pid).ok().and_then(|pid| source.dictionaries().process_name(pid, call.end_ns));
            comm(known.unwrap_or(call.comm))
        }
    }
}

fn fold_forest(
    source: &dyn Source,
    forest: &CallForest,
    query: &FlameQuery,
    cancel: &Cancel,
) -> Result<FoldedStacks, ViewError> {
    if matches!(query.by, GroupBy::Cpu | GroupBy::Container | GroupBy::Source) {
        return Err(ViewError::CallGroups);
    }
    let (range, filter, tid) = (query.range, query.filter.clone(), query.tid);
    let choice = CallChoice::new(source, forest, &CallQuery { range, filter, tid, ..CallQuery::default() }, cancel)?;
    let mut nodes: Vec<CallFlameNode> = Vec::new();
    let mut by_key: IdMap<(u32, u32), u32> = IdMap::default();
    // By call; the processes have numbers of their own below them.
    let mut node_of = vec![NONE; forest.len()];
    let mut groups: std::collections::HashMap<String, u32> = std::collections::HashMap::new();
    let grouped = query.by != GroupBy::None;
    for index in forest.preorder() {
        let Some(call) = forest.call(index).filter(|_| choice.is_shown(index)) else { continue };
        let Some(task) = forest.task(call).filter(|task| query.pid.is_none_or(|pid| pid == task.pid)) else { continue };
        let above = match node_of.get(call.parent as usize) {
            Some(above) => *above,
            None if grouped => {
                let name = group_of(source, query.by, (task.pid, task.tid), call);
                *groups.entry(name).or_insert_with_key(|name| {
                    nodes.push(CallFlameNode { above: NONE, name: name.clone(), weight_ns: 0 });
                    nodes.len() as u32 - 1
                })
            }
            None => NONE,
        };
        let node = *by_key.entry((above, call.function)).or_insert_with(|| {
            nodes.push(CallFlameNode { above, name: function_of(source, call), weight_ns: 0 });
            nodes.len() as u32 - 1
        });
        if let Some(slot) = node_of.get_mut(index as usize) {
            *slot = node;
        }
        let within = |call: &Record| call.end_ns.min(range.end_ns).saturating_sub(call.start_ns.max(range.start_ns));
        if choice.is_hit(index) && call.is_measured() {
            let inner: u64 = forest.children(index).map(|(_, child)| within(child)).sum();
            if let Some(node) = nodes.get_mut(node as usize) {
                node.weight_ns += within(call).saturating_sub(inner);
            }
        }
    }
    let mut stacks = NamedStacks::new(source, query);
    for node in nodes.iter().filter(|node| node.weight_ns > 0) {
        let mut names = vec![node.name.as_str()];
        let mut above = node.above;
        while let Some(node) = nodes.get(above as usize) {
            names.push(&node.name);
            above = node.above;
        }
        let group = if grouped { names.pop() } else { None };
        stacks.add(group, &names, node.weight_ns);
    }
    Ok(stacks.finish())
}

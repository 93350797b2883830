//! Folded stacks to nodes: one pass over the sorted stacks, with memory for what is kept and one open path.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{FoldedStacks, MATCH_BELOW, MATCH_SELF, MAX_FLAME_NODES, fold::Path};
use crate::{
    answers::{Cut, FlameGraph, NodeId, NodeKind, Nodes},
    hash::{FNV1A_64, fnv1a_64},
    needle::NameSearch,
};

/// The name of the root.
const ROOT: &str = "all";

/// The id of the node called `name` above the node `parent`.
pub(super) fn id_of(parent: u64, name: &str) -> u64 {
    // 0xff is in no name, so no two paths are hashed alike by construction.
    fnv1a_64(fnv1a_64(parent, &[0xff]), name.as_bytes())
}

#[derive(Clone, Copy)]
struct LayoutNode {
    depth: u32,
    x: u64,
    value: u64,
    own: u64,
    /// None for the root.
    name: Option<u32>,
    kind: NodeKind,
    module: u16,
    matched: u8,
    /// Samples of nodes directly above it that were cut.
    cut: u64,
}

/// The part of the stacks under the focused node.
struct Focus {
    id: Option<NodeId>,
    /// Levels below it, and so its depth.
    depth: usize,
    stacks: std::ops::Range<usize>,
}

impl FoldedStacks {
    /// The flame graph of these stacks: `focus` fills `width` pixels (clamped to at least 1), and names are marked that
    /// contain `search`.
    pub fn graph(&self, focus: Option<NodeId>, search: Option<&NameSearch>, width: u32) -> FlameGraph {
        let focus = self.find(focus);
        let paths = focus.stacks.clone().map(|index| self.path(index));
        let focus_total: u64 = paths.clone().map(|path| path.samples).sum();
        let matches = |name: &String| search.is_some_and(|search| search.is_in(name));
        let hits: Vec<bool> = self.names().iter().map(matches).collect();
        let mut layout = Layout {
            folded: self,
            path_hits: self.path_hits(&hits),
            hits,
            least: focus_total.div_ceil(u64::from(width.max(1))),
            keep_depth: focus.depth,
            open: Vec::new(),
            out: Vec::new(),
            cut_nodes: 0,
            x: 0,
            matched_samples: 0,
            unresolved: 0,
        };
        layout.open_root();
        let mut before: Option<Path<'_>> = None;
        for path in paths {
            layout.add(before.map_or(0, |before| before.common(&path)), path);
            before = Some(path);
        }
        layout.close(0);
        self.restore_values(&focus, &mut layout.out);
        layout.limit(MAX_FLAME_NODES);
        layout.into_graph(focus.id, focus_total)
    }

    /// The stacks that go through the node; all, if it is none of theirs.
    fn find(&self, focus: Option<NodeId>) -> Focus {
        let all = Focus { id: None, depth: 0, stacks: 0..self.len() };
        let Some(wanted) = focus else { return all };
        if wanted.0 == FNV1A_64 {
            return Focus { id: Some(wanted), ..all };
        }
        let mut ids: Vec<u64> = Vec::new();
        let mut before: Option<Path<'_>> = None;
        for index in 0..self.len() {
            let path = self.path(index);
            ids.truncate(before.map_or(0, |before| before.common(&path)));
            while let Some((name, _)) = path.at(ids.len()) {
                let id = id_of(ids.last().copied().unwrap_or(FNV1A_64), self.name(name));
                ids.push(id);
                if id == wanted.0 {
                    let depth = ids.len();
                    let same = |other: &usize| self.path(*other).common(&path) >= depth;
                    let end = index + (index..self.len()).take_while(same).count();
                    return Focus { id: Some(wanted), depth, stacks: index..end };
                }
            }
            before = Some(path);
        }
        all
    }

    /// By the number of a stack: whether one of its names is a hit, without its group's; nothing if there are no hits.
    fn path_hits(&self, hits: &[bool]) -> Vec<bool> {
        if !hits.contains(&true) {
            return Vec::new();
        }
        let is_hit = |names: &[u32]| names.iter().any(|name| hits.get(*name as usize) == Some(&true));
        self.numbered_names().map(is_hit).collect()
    }

    /// Gives the nodes below the focused one what they have in the whole capture; the pass saw only what is above it.
    fn restore_values(&self, focus: &Focus, out: &mut [LayoutNode]) {
        if focus.depth == 0 {
            return;
        }
        let through = self.path(focus.stacks.start);
        for node in out.iter_mut().take(focus.depth) {
            (node.value, node.own) = (0, 0);
        }
        for path in (0..self.len()).map(|index| self.path(index)) {
            let shared = path.common(&through);
            for node in out.iter_mut().take(focus.depth.min(shared + 1)) {
                node.value += path.samples;
                node.own += if path.len() == node.depth as usize { path.samples } else { 0 };
            }
        }
    }
}

struct Layout<'a> {
    folded: &'a FoldedStacks,
    /// By name: whether it has the searched text.
    hits: Vec<bool>,
    /// By number of a stack, as [`FoldedStacks::path_hits`] gives it.
    path_hits: Vec<bool>,
    /// Nodes with fewer samples are cut.
    least: u64,
    /// Nodes up to this depth are never cut.
    keep_depth: usize,
    /// The nodes of the path that is being built, by their places in the output.
    open: Vec<usize>,
    out: Vec<LayoutNode>,
    cut_nodes: u64,
    x: u64,
    matched_samples: u64,
    unresolved: u64,
}

impl Layout<'_> {
    fn open_root(&mut self) {
        let (kind, matched) = (NodeKind::Root, 0);
        self.push(LayoutNode { depth: 0, x: 0, value: 0, own: 0, name: None, kind, module: 0, matched, cut: 0 });
    }

    fn push(&mut self, node: LayoutNode) {
        self.open.push(self.out.len());
        self.out.push(node);
    }

    fn is_hit(&self, name: u32) -> bool {
        self.hits.get(name as usize).copied().unwrap_or(false)
    }

    /// Adds a stack of which the first `shared` levels are open.
    fn add(&mut self, shared: usize, path: Path<'_>) {
        self.close(shared + 1);
        if self.folded.kinds_vary {
            // Below are the shared nodes, without the root.
            for (level, index) in self.open.iter().skip(1).enumerate() {
                if let Some((node, (_, kind))) = self.out.get_mut(*index).zip(path.at(level)) {
                    node.kind = node.kind.min(kind);
                }
            }
        }
        for level in shared..path.len() {
            let Some((name, kind)) = path.at(level) else { break };
            let matched = if self.is_hit(name) { MATCH_SELF } else { 0 };
            let (depth, module, name) = (self.open.len() as u32, path.module(level), Some(name));
            self.push(LayoutNode { depth, x: self.x, value: 0, own: 0, name, kind, module, matched, cut: 0 });
        }
        if let Some(leaf) = self.open.last().and_then(|index| self.out.get_mut(*index)) {
            leaf.own += path.samples;
            leaf.value += path.samples;
        }
        self.x += path.samples;
        let in_group = path.group().is_some_and(|group| self.is_hit(group));
        if in_group || self.path_hits.get(path.number as usize) == Some(&true) {
            self.matched_samples += path.samples;
        }
        if path.is_unresolved() {
            self.unresolved += path.samples;
        }
    }

    /// Ends the open nodes from this depth on, the uppermost first.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some((index, node)) = self.open.pop().and_then(|index| Some((index, *self.out.get(index)?))) else {
                return;
            };
            let kept = node.value >= self.least || node.depth as usize <= self.keep_depth;
            if !kept {
                // All above it has at most its samples and is gone already, so it is the last.
                self.out.truncate(index);
                self.cut_nodes += 1;
            }
            if let Some(parent) = self.open.last().and_then(|index| self.out.get_mut(*index)) {
                parent.value += node.value;
                if !kept {
                    parent.cut += node.value;
                    parent.matched |= if node.matched == 0 { 0 } else { MATCH_BELOW };
                }
            }
        }
    }

    /// Cuts the nodes with the fewest samples until at most `most` are left. A node has at least the samples of each one
    /// above it and comes before it, so no node loses the one that it stands on.
    fn limit(&mut self, most: usize) {
        if self.out.len() <= most {
            return;
        }
        let mut order: Vec<usize> = (0..self.out.len()).collect();
        order.sort_unstable_by_key(|index| (self.out.get(*index).map(|node| Reverse(node.value)), *index));
        let mut keep = vec![false; self.out.len()];
        for index in order.into_iter().take(most) {
            if let Some(slot) = keep.get_mut(index) {
                *slot = true;
            }
        }
        let mut kept: Vec<LayoutNode> = Vec::with_capacity(most);
        // The kept nodes below the present one, as indexes.
        let mut below: Vec<usize> = Vec::new();
        for (node, keep) in std::mem::take(&mut self.out).into_iter().zip(keep) {
            while below.last().and_then(|index| kept.get(*index)).is_some_and(|last| last.depth >= node.depth) {
                below.pop();
            }
            if keep {
                below.push(kept.len());
                kept.push(node);
                continue;
            }
            self.cut_nodes += 1;
            if let Some(stands_on) = below.last().and_then(|index| kept.get_mut(*index)) {
                stands_on.matched |= if node.matched == 0 { 0 } else { MATCH_BELOW };
                // What stands on a cut node is in that one's samples.
                stands_on.cut += if stands_on.depth + 1 == node.depth { node.value } else { 0 };
            }
        }
        self.out = kept;
    }

    fn into_graph(self, focus: Option<NodeId>, focus_total: u64) -> FlameGraph {
        let used: Vec<u32> =
            self.out.iter().filter_map(|node| node.name).collect::<BTreeSet<_>>().into_iter().collect();
        let modules: Vec<u16> = self.out.iter().map(|node| node.module).collect::<BTreeSet<_>>().into_iter().collect();
        let mut nodes = Nodes::default();
        // Of the nodes below the present one.
        let mut ids: Vec<u64> = Vec::new();
        for node in &self.out {
            ids.truncate(node.depth as usize);
            let above = |parent: &u64| id_of(*parent, node.name.map_or("", |name| self.folded.name(name)));
            let id = ids.last().map_or(FNV1A_64, above);
            ids.push(id);
            nodes.id.push(NodeId(id));
            nodes.depth.push(node.depth);
            nodes.x.push(node.x);
            nodes.value.push(node.value);
            nodes.own.push(node.own);
            // The root's name is the first.
            let index = node.name.map_or(0, |name| 1 + used.partition_point(|other| *other < name));
            nodes.name.push(index as u32);
            nodes.kind.push(node.kind);
            nodes.module.push(modules.partition_point(|other| *other < node.module) as u32);
            nodes.matched.push(node.matched);
        }
        let names = std::iter::once(ROOT).chain(used.iter().map(|name| self.folded.name(*name)));
        FlameGraph {
            unit: self.folded.unit,
            counted: self.folded.counted.clone(),
            left_out: self.folded.left_out,
            total: self.folded.total(),
            focus_total,
            focus,
            max_depth: nodes.depth.iter().copied().max().unwrap_or(0),
            names: names.map(str::to_owned).collect(),
            modules: modules.iter().map(|module| self.folded.module_name(*module).to_owned()).collect(),
            nodes,
            recorded: self.folded.recorded(),
            transforms: self.folded.applied().to_vec(),
            cut: Cut { nodes: self.cut_nodes, samples: self.out.iter().map(|node| node.cut).sum() },
            matched_samples: self.matched_samples,
            unresolved: self.unresolved,
        }
    }
}

//! Folded stacks to nodes: one pass over the sorted stacks, with memory for what is kept and one open path.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{
    Cut, FlameGraph, FoldedStacks, MATCH_BELOW, MATCH_SELF, MAX_FLAME_NODES, NodeId, NodeKind, Nodes, fold::Path,
};
use crate::{
    hash::{FNV1A_64, fnv1a_64},
    needle::Needle,
};

/// The name of the root.
const ROOT: &str = "all";

/// The id of the node called `name` above the node `parent`.
fn id_of(parent: u64, name: &str) -> u64 {
    // 0xff is in no name, so no two paths are hashed alike by construction.
    fnv1a_64(fnv1a_64(parent, &[0xff]), name.as_bytes())
}

/// How many names two stacks have in common, from the root.
fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[derive(Clone, Copy)]
struct Node {
    id: u64,
    depth: u32,
    x: u64,
    value: u64,
    own: u64,
    /// None for the root.
    name: Option<u32>,
    kind: NodeKind,
    matched: u8,
    /// Samples of nodes directly above it that were cut.
    cut: u64,
}

/// A node on the path that is being built.
struct Open {
    node: Node,
    /// Where in the output it is.
    index: usize,
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
    pub fn graph(&self, focus: Option<NodeId>, search: Option<&str>, width: u32) -> FlameGraph {
        let focus = self.find(focus);
        let paths = focus.stacks.clone().map(|index| self.path(index));
        let focus_total: u64 = paths.clone().map(|path| path.samples).sum();
        let needle = search.and_then(Needle::new);
        let matches = |name: &String| needle.as_ref().is_some_and(|needle| needle.is_in(name));
        let hits: Vec<bool> = self.names().iter().map(matches).collect();
        let mut layout = Layout {
            folded: self,
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
        let mut before: &[u32] = &[];
        for path in paths {
            layout.add(before, path);
            before = path.names;
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
        let mut before: &[u32] = &[];
        for index in 0..self.len() {
            let names = self.path(index).names;
            ids.truncate(common(before, names));
            for name in names.iter().skip(ids.len()) {
                let id = id_of(ids.last().copied().unwrap_or(FNV1A_64), self.name(*name));
                ids.push(id);
                if id == wanted.0 {
                    let depth = ids.len();
                    let same = |other: &usize| common(self.path(*other).names, names) >= depth;
                    let end = index + (index..self.len()).take_while(same).count();
                    return Focus { id: Some(wanted), depth, stacks: index..end };
                }
            }
            before = names;
        }
        all
    }

    /// Gives the nodes below the focused one what they have in the whole capture; the pass saw only what is above it.
    fn restore_values(&self, focus: &Focus, out: &mut [Node]) {
        if focus.depth == 0 {
            return;
        }
        let through = self.path(focus.stacks.start).names;
        for node in out.iter_mut().take(focus.depth) {
            (node.value, node.own) = (0, 0);
        }
        for path in (0..self.len()).map(|index| self.path(index)) {
            let shared = common(path.names, through);
            for node in out.iter_mut().take(focus.depth.min(shared + 1)) {
                node.value += path.samples;
                node.own += if path.names.len() == node.depth as usize { path.samples } else { 0 };
            }
        }
    }
}

struct Layout<'a> {
    folded: &'a FoldedStacks,
    /// By name: whether it has the searched text.
    hits: Vec<bool>,
    /// Nodes with fewer samples are cut.
    least: u64,
    /// Nodes up to this depth are never cut.
    keep_depth: usize,
    open: Vec<Open>,
    out: Vec<Node>,
    cut_nodes: u64,
    x: u64,
    matched_samples: u64,
    unresolved: u64,
}

impl Layout<'_> {
    fn open_root(&mut self) {
        let (kind, matched) = (NodeKind::Root, 0);
        self.push(Node { id: FNV1A_64, depth: 0, x: 0, value: 0, own: 0, name: None, kind, matched, cut: 0 });
    }

    fn push(&mut self, node: Node) {
        self.open.push(Open { node, index: self.out.len() });
        self.out.push(node);
    }

    fn is_hit(&self, name: u32) -> bool {
        self.hits.get(name as usize).copied().unwrap_or(false)
    }

    fn add(&mut self, before: &[u32], path: Path<'_>) {
        let shared = common(before, path.names);
        self.close(shared + 1);
        // Below are the shared nodes, without the root.
        for (open, kind) in self.open.iter_mut().skip(1).zip(path.kinds) {
            open.node.kind = open.node.kind.min(*kind);
        }
        for (name, kind) in path.names.iter().zip(path.kinds).skip(shared) {
            let parent = self.open.last().map_or(FNV1A_64, |open| open.node.id);
            let id = id_of(parent, self.folded.name(*name));
            let matched = if self.is_hit(*name) { MATCH_SELF } else { 0 };
            let depth = self.open.len() as u32;
            let (x, kind) = (self.x, *kind);
            self.push(Node { id, depth, x, value: 0, own: 0, name: Some(*name), kind, matched, cut: 0 });
        }
        if let Some(leaf) = self.open.last_mut() {
            leaf.node.own += path.samples;
            leaf.node.value += path.samples;
        }
        self.x += path.samples;
        if path.names.iter().any(|name| self.is_hit(*name)) {
            self.matched_samples += path.samples;
        }
        if path.kinds.contains(&NodeKind::Unresolved) {
            self.unresolved += path.samples;
        }
    }

    /// Ends the open nodes from this depth on, the uppermost first.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(ended) = self.open.pop() else { return };
            let node = ended.node;
            let kept = node.value >= self.least || node.depth as usize <= self.keep_depth;
            if kept {
                if let Some(slot) = self.out.get_mut(ended.index) {
                    *slot = node;
                }
            } else {
                // All above it has at most its samples and is gone already, so it is the last.
                self.out.truncate(ended.index);
                self.cut_nodes += 1;
            }
            if let Some(parent) = self.open.last_mut() {
                parent.node.value += node.value;
                if !kept {
                    parent.node.cut += node.value;
                    parent.node.matched |= if node.matched == 0 { 0 } else { MATCH_BELOW };
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
        let mut kept: Vec<Node> = Vec::with_capacity(most);
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
        let mut nodes = Nodes::default();
        for node in &self.out {
            nodes.id.push(NodeId(node.id));
            nodes.depth.push(node.depth);
            nodes.x.push(node.x);
            nodes.value.push(node.value);
            nodes.own.push(node.own);
            // The root's name is the first.
            let index = node.name.map_or(0, |name| 1 + used.partition_point(|other| *other < name));
            nodes.name.push(index as u32);
            nodes.kind.push(node.kind);
            nodes.matched.push(node.matched);
        }
        let names = std::iter::once(ROOT).chain(used.iter().map(|name| self.folded.name(*name)));
        FlameGraph {
            unit: self.folded.unit,
            total: self.folded.total(),
            focus_total,
            focus,
            max_depth: nodes.depth.iter().copied().max().unwrap_or(0),
            names: names.map(str::to_owned).collect(),
            nodes,
            cut: Cut { nodes: self.cut_nodes, samples: self.out.iter().map(|node| node.cut).sum() },
            matched_samples: self.matched_samples,
            unresolved: self.unresolved,
        }
    }
}

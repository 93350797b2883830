//! Chains of calls as a tree, in which names that follow each other without a branch are one node.

use super::{Place, is_inlined};
use crate::hash::IdMap;

/// The most names of a row's tree; what is beyond ends at its last name.
const MAX_CHAIN_NAMES: usize = 1 << 20;

/// Names of a chain that follow each other, and what comes behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainNode {
    /// Functions from the root on, and whether each was inlined into its caller.
    pub names: Vec<(String, bool)>,
    /// The weight of samples that have them.
    pub value: u64,
    /// That of samples whose chain ends here.
    pub own: u64,
    /// That of branches that are too small to be shown.
    pub hidden: u64,
    /// What follows, the heaviest first.
    pub below: Vec<ChainNode>,
}

/// One name while a tree is built.
#[derive(Clone, Debug)]
struct Name {
    name: u32,
    is_inlined: bool,
    value: u64,
    own: u64,
    below: Vec<u32>,
}

/// A tree while it is built; node 0 is above all roots.
#[derive(Clone, Debug)]
pub(super) struct ChainBuilder {
    nodes: Vec<Name>,
    by_name: IdMap<(u32, u32), u32>,
}

impl Default for ChainBuilder {
    fn default() -> Self {
        let root = Name { name: u32::MAX, is_inlined: false, value: 0, own: 0, below: Vec::new() };
        Self { nodes: vec![root], by_name: IdMap::default() }
    }
}

impl ChainBuilder {
    /// Adds a chain, from its root on.
    pub(super) fn add(&mut self, chain: &mut dyn Iterator<Item = Place>, weight: u64) {
        let mut at = 0_u32;
        self.count(at, weight);
        for place in chain {
            let key = (at, place.name);
            at = match self.by_name.get(&key) {
                Some(known) => *known,
                None if self.nodes.len() >= MAX_CHAIN_NAMES => break,
                None => {
                    let next = self.nodes.len() as u32;
                    let (name, is_inlined) = (place.name, is_inlined(place.kind));
                    self.nodes.push(Name { name, is_inlined, value: 0, own: 0, below: Vec::new() });
                    if let Some(above) = self.nodes.get_mut(at as usize) {
                        above.below.push(next);
                    }
                    self.by_name.insert(key, next);
                    next
                }
            };
            self.count(at, weight);
        }
        if let Some(end) = self.nodes.get_mut(at as usize) {
            end.own += weight;
        }
    }

    fn count(&mut self, at: u32, weight: u64) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.value += weight;
        }
    }

    /// The trees below the root, without branches that have less than `least`.
    pub(super) fn finish<'n>(&self, least: u64, name: impl Fn(u32) -> &'n str) -> Vec<ChainNode> {
        let (below, _) = self.below(0, least, &name);
        below
    }

    fn node(&self, at: u32) -> Option<&Name> {
        self.nodes.get(at as usize)
    }

    fn below<'n>(&self, at: u32, least: u64, name: &dyn Fn(u32) -> &'n str) -> (Vec<ChainNode>, u64) {
        let numbers = self.node(at).map_or(&[][..], |node| node.below.as_slice());
        let value = |number: u32| self.node(number).map_or(0, |node| node.value);
        let shown = numbers.iter().copied().filter(|number| value(*number) >= least);
        let mut nodes: Vec<ChainNode> = shown.map(|number| self.shown(number, least, name)).collect();
        nodes.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.names.cmp(&b.names)));
        let all: u64 = numbers.iter().map(|number| value(*number)).sum();
        let hidden = all - nodes.iter().map(|node| node.value).sum::<u64>();
        (nodes, hidden)
    }

    fn shown<'n>(&self, first: u32, least: u64, name: &dyn Fn(u32) -> &'n str) -> ChainNode {
        let (mut names, mut at) = (Vec::new(), first);
        let mut value = 0;
        while let Some(node) = self.node(at) {
            names.push((name(node.name).to_owned(), node.is_inlined));
            value = value.max(node.value);
            // A name with all that the one before has belongs to it.
            match node.below.as_slice() {
                [only] if node.own == 0 => at = *only,
                _ => break,
            }
        }
        let own = self.node(at).map_or(0, |node| node.own);
        let (below, hidden) = self.below(at, least, name);
        ChainNode { names, value, own, hidden, below }
    }
}

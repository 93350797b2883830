//! Distinct stacks as lists of names, from the root to the leaf (or turned round), in the order of the names.

use crate::answers::NodeKind;
use std::cmp::Ordering;

/// The most names in one stack; what is above is left out.
pub(super) const MAX_STACK_NAMES: usize = 2048;
/// Names of a usual stack.
const USUAL_NAMES: usize = 24;
/// Instead of a name: the stack has ended. No name has this number.
const ENDED: u32 = u32::MAX;
/// So many stacks are sorted by comparing them.
const FEW: usize = 16;

/// Stacks of names, one after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    names: Vec<u32>,
    kinds: Vec<NodeKind>,
    /// By name: what its code was mapped from, as [`super::names::Names`] counts modules.
    modules: Vec<u16>,
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    len: u16,
    /// Whether it has a place without a name.
    is_unresolved: bool,
}

/// One of them.
#[derive(Clone, Copy)]
pub(super) struct Levels<'a> {
    pub(super) names: &'a [u32],
    pub(super) kinds: &'a [NodeKind],
    pub(super) modules: &'a [u16],
    pub(super) is_unresolved: bool,
}

/// How many names two stacks have in common, from the root.
pub(super) fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// By names; what goes on comes before what ends.
pub(super) fn order(a: &[u32], b: &[u32]) -> Ordering {
    let both = a.len().min(b.len());
    let (a_begin, b_begin) = (a.get(..both).unwrap_or(a), b.get(..both).unwrap_or(b));
    a_begin.cmp(b_begin).then_with(|| b.len().cmp(&a.len()))
}

impl Paths {
    /// What they take in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(self.names.as_slice())
            + size_of_val(self.kinds.as_slice())
            + size_of_val(self.modules.as_slice())
            + size_of_val(self.spans.as_slice())
    }

    /// Names in all of them.
    pub(super) fn names(&self) -> usize {
        self.names.len()
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.kinds.clear();
        self.modules.clear();
        self.spans.clear();
    }

    /// Makes room at once for stacks that are usual: what grows step by step leaves holes in memory.
    pub(super) fn reserve(&mut self, stacks: usize, most_names: usize) {
        let names = stacks.saturating_mul(USUAL_NAMES).min(most_names);
        self.names.reserve(names);
        self.kinds.reserve(names);
        self.modules.reserve(names);
        self.spans.reserve(stacks.min(most_names));
    }

    /// Adds a name to the stack that is open, from the leaf on.
    pub(super) fn push(&mut self, name: u32, kind: NodeKind, module: u16) {
        self.names.push(name);
        self.kinds.push(kind);
        self.modules.push(module);
    }

    /// Whether the stack that began at `start` has no names yet.
    pub(super) fn is_open_empty(&self, start: usize) -> bool {
        self.names.len() == start
    }

    /// Ends the stack that began at `start`, turns it round unless the leaf is to stay first, and gives its number.
    pub(super) fn close(&mut self, start: usize, leaf_first: bool) -> u32 {
        if !leaf_first {
            self.names.get_mut(start..).unwrap_or_default().reverse();
            self.kinds.get_mut(start..).unwrap_or_default().reverse();
            self.modules.get_mut(start..).unwrap_or_default().reverse();
        }
        let len = (self.names.len() - start).min(MAX_STACK_NAMES);
        self.names.truncate(start + len);
        self.kinds.truncate(start + len);
        self.modules.truncate(start + len);
        let is_unresolved = self.kinds.get(start..).unwrap_or_default().contains(&NodeKind::Unresolved);
        self.spans.push(Span { start, len: len as u16, is_unresolved });
        (self.spans.len() - 1) as u32
    }

    pub(super) fn get(&self, number: u32) -> Levels<'_> {
        let none = Span { start: 0, len: 0, is_unresolved: false };
        let span = self.spans.get(number as usize).copied().unwrap_or(none);
        let range = span.start..span.start + usize::from(span.len);
        Levels {
            names: self.names.get(range.clone()).unwrap_or(&[]),
            kinds: self.kinds.get(range.clone()).unwrap_or(&[]),
            modules: self.modules.get(range).unwrap_or(&[]),
            is_unresolved: span.is_unresolved,
        }
    }

    /// Gives names other numbers, sorts the stacks by them, and makes one of those with the same names. Gives the new
    /// number of each stack.
    pub(super) fn sort(&mut self, ranks: &[u32]) -> Vec<u32> {
        for name in &mut self.names {
            *name = ranks.get(*name as usize).copied().unwrap_or(*name);
        }
        let names = |number: &u32| self.get(*number).names;
        let mut sorted: Vec<u32> = (0..self.spans.len() as u32).collect();
        self.sort_numbers(&mut sorted);
        let mut numbers = vec![0; sorted.len()];
        let mut spans: Vec<Span> = Vec::with_capacity(sorted.len());
        let mut before: Option<u32> = None;
        for number in &sorted {
            if before.is_none_or(|before| names(&before) != names(number)) {
                spans.extend(self.spans.get(*number as usize));
                before = Some(*number);
            }
            if let Some(slot) = numbers.get_mut(*number as usize) {
                *slot = spans.len() as u32 - 1;
            }
        }
        self.spans = spans;
        numbers
    }

    /// The name of a stack at a depth; what ends before it comes behind what goes on.
    fn key(&self, number: u32, depth: usize) -> u32 {
        let span = self.spans.get(number as usize).filter(|span| depth < usize::from(span.len));
        span.and_then(|span| self.names.get(span.start + depth)).copied().unwrap_or(ENDED)
    }

    /// Sorts numbers of stacks by their names, then by themselves. Stacks next to each other have most of their names in common, so
    /// parts that are alike up to a depth are told apart by the next name alone (multikey quicksort), instead of all names again at
    /// each comparison.
    fn sort_numbers(&self, numbers: &mut [u32]) {
        let rest = |number: u32, depth: usize| self.get(number).names.get(depth..).unwrap_or(&[]);
        let mut parts = vec![(0, numbers.len(), 0)];
        while let Some((start, end, depth)) = parts.pop() {
            let Some(part) = numbers.get_mut(start..end) else { continue };
            if part.len() <= FEW {
                part.sort_unstable_by(|a, b| order(rest(*a, depth), rest(*b, depth)).then(a.cmp(b)));
                continue;
            }
            let at = |index: usize| part.get(index).map_or(ENDED, |number| self.key(*number, depth));
            let (first, middle, last) = (at(0), at(part.len() / 2), at(part.len() - 1));
            let pivot = first.max(middle).min(first.min(middle).max(last));
            let (less, more) = self.divide(part, depth, pivot);
            parts.push((start, start + less, depth));
            parts.push((start + more, end, depth));
            if pivot == ENDED {
                part.get_mut(less..more).unwrap_or_default().sort_unstable();
            } else {
                parts.push((start + less, start + more, depth + 1));
            }
        }
    }

    /// Puts the stacks whose name at a depth is before `pivot` first and those behind it last; gives where those with it begin and
    /// end.
    fn divide(&self, part: &mut [u32], depth: usize, pivot: u32) -> (usize, usize) {
        let (mut less, mut at, mut more) = (0, 0, part.len());
        while at < more {
            let Some(number) = part.get(at) else { break };
            match self.key(*number, depth).cmp(&pivot) {
                Ordering::Less => {
                    part.swap(less, at);
                    (less, at) = (less + 1, at + 1);
                }
                Ordering::Equal => at += 1,
                Ordering::Greater => {
                    more -= 1;
                    part.swap(at, more);
                }
            }
        }
        (less, more)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn stacks_are_in_the_order_of_their_names(
            ways in vec(vec(0u32..5, 0..12), 1..9), stacks in vec((0usize..9, vec(0u32..9, 0..6)), 0..300)
        ) {
            let mut paths = Paths::default();
            let whole = |(way, more): &(usize, Vec<u32>)| [&ways[way % ways.len()][..], more].concat();
            let stacks: Vec<Vec<u32>> = stacks.iter().map(whole).collect();
            for names in &stacks {
                let start = paths.names();
                names.iter().for_each(|name| paths.push(*name, NodeKind::User, 0));
                paths.close(start, true);
            }
            let mut expected: Vec<u32> = (0..stacks.len() as u32).collect();
            expected.sort_by(|a, b| order(&stacks[*a as usize], &stacks[*b as usize]).then(a.cmp(b)));
            let mut numbers: Vec<u32> = (0..stacks.len() as u32).rev().collect();
            paths.sort_numbers(&mut numbers);
            prop_assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn stacks_are_sorted_and_one_where_they_are_the_same() {
        let mut paths = Paths::default();
        let given: [&[u32]; 6] = [&[2, 1], &[1], &[0, 1], &[2, 1], &[], &[9, 9, 1]];
        for names in given {
            let start = paths.names();
            names.iter().for_each(|name| paths.push(*name, NodeKind::User, 0));
            paths.close(start, false);
        }
        // Ranks turn the order of 0, 1 and 2 round.
        let numbers = paths.sort(&[2, 1, 0]);
        assert_eq!(numbers, [0, 3, 1, 0, 4, 2]);
        let sorted: Vec<&[u32]> = (0..paths.len() as u32).map(|number| paths.get(number).names).collect();
        assert_eq!(sorted, [&[1, 0][..], &[1, 2], &[1, 9, 9], &[1], &[]]);
    }
}

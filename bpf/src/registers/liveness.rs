//! Which registers hold a value that is still read, and which blocks are loops.
//!
//! Most registers live in one block only. Only the others are in the sets of the blocks' edges, so that these stay small
//! in long programs.

use crate::ir::{Body, Reg};

/// A set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set {
    words: Vec<u64>,
}

impl Set {
    fn new(size: usize) -> Self {
        Self { words: vec![0; size.div_ceil(64)] }
    }

    fn insert(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit as usize)
            })
        })
    }
}

/// The register that stands for the context, after the body's own.
pub(crate) fn context_register(body: &Body) -> Reg {
    Reg(body.registers)
}

/// The registers that some block reads before it assigns them, so that they hold values between blocks.
fn crossing(body: &Body) -> Vec<usize> {
    let mut assigned_in = vec![usize::MAX; body.registers as usize + 1];
    let mut seen = vec![false; assigned_in.len()];
    let mut found = Vec::new();
    for (index, block) in body.blocks.iter().enumerate() {
        let mut read = |reg: usize, assigned_in: &[usize]| {
            if assigned_in.get(reg) != Some(&index)
                && let Some(seen @ false) = seen.get_mut(reg)
            {
                *seen = true;
                found.push(reg);
            }
        };
        for op in &block.ops {
            op.each_source(&mut |reg| read(reg.index(), &assigned_in));
            if op.reads_context() {
                read(context_register(body).index(), &assigned_in);
            }
            if let Some(entry) = op.target().and_then(|to| assigned_in.get_mut(to.index())) {
                *entry = index;
            }
        }
        block.end.sources().into_iter().for_each(|reg| read(reg.index(), &assigned_in));
    }
    found
}

/// Which registers hold a value that is still read, at the edges of each block.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// The registers in the sets.
    names: Vec<usize>,
    before: Vec<Set>,
    after: Vec<Set>,
}

impl Liveness {
    pub(crate) fn of(body: &Body) -> Self {
        let names = crossing(body);
        let mut numbers = vec![usize::MAX; body.registers as usize + 1];
        for (number, name) in names.iter().enumerate() {
            if let Some(entry) = numbers.get_mut(*name) {
                *entry = number;
            }
        }
        let (mut needs, mut sets) = (Vec::new(), Vec::new());
        for (index, block) in body.blocks.iter().enumerate() {
            let _: usize = index;
            let (mut need, mut set) = (Set::new(names.len()), Set::new(names.len()));
            let number = |reg: usize| numbers.get(reg).copied().filter(|number| *number != usize::MAX);
            let has =
                |set: &Set, number: usize| set.words.get(number / 64).is_some_and(|w| w & (1 << (number % 64)) != 0);
            let mut read = |reg: usize, set: &Set| {
                if let Some(number) = number(reg).filter(|number| !has(set, *number)) {
                    need.insert(number);
                }
            };
            for op in &block.ops {
                op.each_source(&mut |reg| read(reg.index(), &set));
                if op.reads_context() {
                    read(context_register(body).index(), &set);
                }
                if let Some(number) = op.target().and_then(|to| number(to.index())) {
                    set.insert(number);
                }
            }
            block.end.sources().into_iter().for_each(|reg| read(reg.index(), &set));
            needs.push(need);
            sets.push(set);
        }
        let after = vec![Set::new(names.len()); body.blocks.len()];
        let mut liveness = Self { names, before: needs, after };
        while liveness.step(body, &sets) {}
        liveness
    }

    /// One round from the last block to the first; tells whether anything became live.
    fn step(&mut self, body: &Body, sets: &[Set]) -> bool {
        let mut changed = false;
        for (index, block) in body.blocks.iter().enumerate().rev() {
            let Some(after) = self.after.get_mut(index) else { continue };
            for target in block.end.targets() {
                let Some(before) = self.before.get(target.index()) else { continue };
                for (word, more) in after.words.iter_mut().zip(&before.words) {
                    changed |= *more & !*word != 0;
                    *word |= more;
                }
            }
            let (Some(before), Some(set)) = (self.before.get_mut(index), sets.get(index)) else { continue };
            for ((word, after), set) in before.words.iter_mut().zip(&after.words).zip(&set.words) {
                let more = after & !set;
                changed |= more & !*word != 0;
                *word |= more;
            }
        }
        changed
    }

    fn registers(&self, sets: &[Set], block: usize) -> impl Iterator<Item = usize> {
        let of = sets.get(block).into_iter().flat_map(Set::iter);
        of.filter_map(|number| self.names.get(number).copied())
    }

    /// The registers that are live where the block begins.
    pub(crate) fn before(&self, block: usize) -> impl Iterator<Item = usize> {
        self.registers(&self.before, block)
    }

    /// The registers that are live after the block's end.
    pub(crate) fn after(&self, block: usize) -> impl Iterator<Item = usize> {
        self.registers(&self.after, block)
    }
}

/// The loops of a body whose blocks are in order: each jump back closes one, of the blocks that lead to it without
/// passing its head.
#[derive(Debug)]
pub(crate) struct Loops {
    /// By block, the loops that it is in.
    of_block: Vec<Vec<usize>>,
    /// By loop, its head and the block that jumps back.
    pub spans: Vec<(usize, usize)>,
}

impl Loops {
    pub(crate) fn of(body: &Body) -> Self {
        let mut loops = Self { of_block: vec![Vec::new(); body.blocks.len()], spans: Vec::new() };
        for (index, block) in body.blocks.iter().enumerate() {
            let back = block.end.targets().into_iter().filter(|target| target.index() <= index);
            loops.spans.extend(back.map(|target| (target.index(), index)));
        }
        if loops.spans.is_empty() {
            return loops;
        }
        let mut predecessors = vec![Vec::new(); body.blocks.len()];
        for (index, block) in body.blocks.iter().enumerate() {
            for target in block.end.targets() {
                if let Some(list) = predecessors.get_mut(target.index()) {
                    list.push(index);
                }
            }
        }
        for (number, (head, last)) in loops.spans.iter().enumerate() {
            let mut pending = vec![*last, *head];
            while let Some(index) = pending.pop() {
                let Some(list) = loops.of_block.get_mut(index).filter(|list| list.last() != Some(&number)) else {
                    continue;
                };
                list.push(number);
                if index != *head {
                    pending.extend(predecessors.get(index).into_iter().flatten());
                }
            }
        }
        loops
    }

    /// How many loops the block is in.
    pub(crate) fn depth(&self, block: usize) -> usize {
        self.of_block.get(block).map_or(0, Vec::len)
    }

    /// Whether going from one block to another leaves a loop.
    pub(crate) fn is_left(&self, from: usize, to: usize) -> bool {
        let inside = self.of_block.get(to).map_or(&[][..], Vec::as_slice);
        self.of_block.get(from).is_some_and(|all| all.iter().any(|number| !inside.contains(number)))
    }
}

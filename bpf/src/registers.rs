//! Register allocation: liveness, then linear scan over one interval for each virtual register.
//!
//! BPF has r0 to r9 and the frame pointer r10. A call clobbers r0 to r5, so what lives across one must be in r6 to r9
//! or on the stack. r0 and r5 are kept free: with two scratch registers every instruction can work on operands that
//! are on the stack, and no second round of allocation is needed.

use crate::ir::{Op, Program, Reg};

/// Registers that calls clobber and that hold short-lived values.
const VOLATILE: [u8; 4] = [1, 2, 3, 4];
/// Registers that survive calls.
const PRESERVED: [u8; 4] = [6, 7, 8, 9];

/// A set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    words: Vec<u64>,
}

impl Set {
    fn new(size: usize) -> Self {
        Self { words: vec![0; size.div_ceil(64)] }
    }

    pub(crate) fn insert(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(crate) fn remove(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    pub(crate) fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    fn add_all(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
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

/// The register that stands for the context, after the program's own.
pub(crate) fn context_register(program: &Program) -> Reg {
    Reg(program.registers)
}

fn reads_context(op: &Op) -> bool {
    matches!(op, Op::ContextAddress { .. } | Op::LoadContext { .. })
}

/// Which registers hold a value that is still read, at the edges of each block.
#[derive(Debug)]
pub(crate) struct Liveness {
    before: Vec<Set>,
    after: Vec<Set>,
}

impl Liveness {
    pub(crate) fn of(program: &Program) -> Self {
        let size = program.registers as usize + 1;
        let context = context_register(program).index();
        let mut needs = Vec::with_capacity(program.blocks.len());
        let mut sets = Vec::with_capacity(program.blocks.len());
        for block in &program.blocks {
            let (mut need, mut set) = (Set::new(size), Set::new(size));
            let mut read = |reg: usize, set: &Set| {
                if !set.contains(reg) {
                    need.insert(reg);
                }
            };
            for op in &block.ops {
                op.sources().into_iter().for_each(|reg| read(reg.index(), &set));
                if reads_context(op) {
                    read(context, &set);
                }
                if let Some(to) = op.target() {
                    set.insert(to.index());
                }
            }
            block.end.sources().into_iter().for_each(|reg| read(reg.index(), &set));
            needs.push(need);
            sets.push(set);
        }
        let mut liveness = Self { before: needs.clone(), after: vec![Set::new(size); program.blocks.len()] };
        while liveness.step(program, &needs, &sets) {}
        liveness
    }

    /// One round from the last block to the first; tells whether anything became live.
    fn step(&mut self, program: &Program, needs: &[Set], sets: &[Set]) -> bool {
        let mut changed = false;
        for (index, block) in program.blocks.iter().enumerate().rev() {
            let Some(mut after) = self.after.get(index).cloned() else { continue };
            for target in block.end.targets() {
                if let Some(before) = self.before.get(target.index()) {
                    after.add_all(before);
                }
            }
            let (Some(need), Some(set)) = (needs.get(index), sets.get(index)) else { continue };
            let mut before = after.clone();
            for (word, set) in before.words.iter_mut().zip(&set.words) {
                *word &= !set;
            }
            before.add_all(need);
            if self.before.get(index) != Some(&before) || self.after.get(index) != Some(&after) {
                changed = true;
            }
            if let Some(entry) = self.before.get_mut(index) {
                *entry = before;
            }
            if let Some(entry) = self.after.get_mut(index) {
                *entry = after;
            }
        }
        changed
    }

    pub(crate) fn after(&self, block: usize) -> Set {
        self.after.get(block).cloned().unwrap_or_else(|| Set::new(0))
    }
}

/// Where a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is never assigned.
    Nowhere,
    /// In a register.
    Register(u8),
    /// On the stack, at this offset from r10.
    Stack(i16),
}

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// By virtual register; the last is the context.
    pub places: Vec<Place>,
    /// Offset of each slot from r10.
    pub slots: Vec<i16>,
    /// Bytes of stack.
    pub stack_bytes: u32,
}

/// The span in which a virtual register holds a value. Operation `i` reads at `2 i` and writes at `2 i + 1`.
#[derive(Clone, Copy, Debug)]
struct Interval {
    reg: usize,
    start: usize,
    end: usize,
    uses: u32,
    crosses_call: bool,
    /// The argument register in which its last reader wants it.
    hint: Option<u8>,
}

impl Interval {
    fn extend(&mut self, at: usize) {
        self.start = self.start.min(at);
        self.end = self.end.max(at);
    }

    /// Reads and writes for each position held: what is used least for its length goes to the stack first.
    fn weight(&self) -> u64 {
        u64::from(self.uses) * 1_000_000 / (self.end - self.start + 1) as u64
    }
}

fn intervals(program: &Program) -> Vec<Interval> {
    let liveness = Liveness::of(program);
    let size = program.registers as usize + 1;
    let context = context_register(program).index();
    let none = |reg| Interval { reg, start: usize::MAX, end: 0, uses: 0, crosses_call: false, hint: None };
    let mut all: Vec<Interval> = (0..size).map(none).collect();
    let mut calls = Vec::new();
    let touch = |all: &mut Vec<Interval>, reg: usize, at: usize| {
        if let Some(interval) = all.get_mut(reg) {
            interval.extend(at);
            interval.uses += 1;
        }
    };
    let mut at = 1;
    for (index, block) in program.blocks.iter().enumerate() {
        let first = at;
        for op in &block.ops {
            if let Op::Call { arguments, .. } = op {
                calls.push(2 * at);
                for (argument, register) in arguments.iter().zip(1_u8..) {
                    if let crate::ir::Operand::Reg(reg) = argument
                        && let Some(interval) = all.get_mut(reg.index())
                    {
                        interval.hint = Some(register);
                    }
                }
            }
            op.sources().into_iter().for_each(|reg| touch(&mut all, reg.index(), 2 * at));
            if reads_context(op) {
                touch(&mut all, context, 2 * at);
                touch(&mut all, context, 1);
            }
            if let Some(to) = op.target() {
                touch(&mut all, to.index(), 2 * at + 1);
            }
            at += 1;
        }
        block.end.sources().into_iter().for_each(|reg| touch(&mut all, reg.index(), 2 * at));
        let last = at;
        at += 1;
        let edges = [(liveness.before.get(index), 2 * first), (liveness.after.get(index), 2 * last + 1)];
        for (live, edge) in edges {
            for interval in live.into_iter().flat_map(Set::iter) {
                if let Some(interval) = all.get_mut(interval) {
                    interval.extend(edge);
                }
            }
        }
    }
    all.retain(|interval| interval.start <= interval.end);
    for interval in &mut all {
        let next_call = calls.partition_point(|call| *call <= interval.start);
        interval.crosses_call = calls.get(next_call).is_some_and(|call| *call < interval.end);
    }
    all.sort_by_key(|interval| (interval.start, interval.reg));
    all
}

/// Gives every virtual register a place.
pub(crate) fn allocate(program: &Program) -> Allocation {
    let context = context_register(program).index();
    let mut places = vec![Place::Nowhere; context + 1];
    let mut active = Vec::<(Interval, u8)>::new();
    let mut spilled = Vec::<Interval>::new();
    for mut interval in intervals(program) {
        if interval.reg == context {
            // It arrives there.
            interval.hint = Some(1);
        }
        active.retain(|(other, _)| other.end >= interval.start);
        let free = |register: &u8| active.iter().all(|(_, taken)| taken != register);
        let volatile = if interval.crosses_call { &[][..] } else { &VOLATILE[..] };
        let hinted = interval.hint.filter(|hint| volatile.contains(hint) && free(hint));
        let register = hinted.or_else(|| volatile.iter().chain(&PRESERVED).copied().find(free));
        let register = match register {
            Some(register) => register,
            None => match take_cheaper(&mut active, &interval, volatile) {
                Some((other, register)) => {
                    spilled.push(other);
                    register
                }
                None => {
                    spilled.push(interval);
                    continue;
                }
            },
        };
        active.push((interval, register));
        set(&mut places, interval.reg, Place::Register(register));
    }
    finish(program, places, spilled)
}

/// Takes the register of the active interval that is used least, if that is less than `interval` is.
fn take_cheaper(active: &mut Vec<(Interval, u8)>, interval: &Interval, volatile: &[u8]) -> Option<(Interval, u8)> {
    let usable = |register: u8| PRESERVED.contains(&register) || volatile.contains(&register);
    let candidates = active.iter().enumerate().filter(|(_, (_, register))| usable(*register));
    let (at, (other, _)) = candidates.min_by_key(|(_, (other, _))| other.weight())?;
    (other.weight() < interval.weight()).then(|| active.swap_remove(at))
}

fn set(places: &mut [Place], reg: usize, place: Place) {
    if let Some(entry) = places.get_mut(reg) {
        *entry = place;
    }
}

/// Lays out the stack: the slots, then what did not fit into registers, sharing where spans do not overlap.
fn finish(program: &Program, mut places: Vec<Place>, mut spilled: Vec<Interval>) -> Allocation {
    let mut depth = 0_u32;
    let mut slots = Vec::with_capacity(program.slots.len());
    for bytes in &program.slots {
        depth = depth.saturating_add(bytes.div_ceil(8).saturating_mul(8));
        slots.push(below(depth));
    }
    spilled.sort_by_key(|interval| interval.start);
    let mut cells = Vec::<(usize, i16)>::new();
    for interval in spilled {
        let offset = match cells.iter_mut().find(|(end, _)| *end < interval.start) {
            Some(cell) => {
                cell.0 = interval.end;
                cell.1
            }
            None => {
                depth = depth.saturating_add(8);
                cells.push((interval.end, below(depth)));
                below(depth)
            }
        };
        set(&mut places, interval.reg, Place::Stack(offset));
    }
    Allocation { places, slots, stack_bytes: depth }
}

/// The offset from r10 of what ends `depth` bytes below it. Programs deeper than the stack are refused later.
fn below(depth: u32) -> i16 {
    i16::try_from(depth).map_or(i16::MIN, |depth| -depth)
}

//! Register allocation: liveness, then linear scan over one interval for each virtual register.
//!
//! BPF has r0 to r9 and the frame pointer r10. A call clobbers r0 to r5, so what lives across one must be in r6 to r9
//! or on the stack. r0 and r5 are kept free: with two scratch registers every instruction can work on operands that
//! are on the stack, and no second round of allocation is needed. Only what the very next operation uses up may stay in
//! r0, where calls leave their results.

mod liveness;
mod stack;

use crate::ir::{Body, End, Op, Operand, Parameter, Reg};

pub(crate) use liveness::{Liveness, Loops, context_register};

/// Registers that calls clobber and that hold short-lived values.
const VOLATILE: [u8; 4] = [1, 2, 3, 4];
/// Registers that survive calls.
const PRESERVED: [u8; 4] = [6, 7, 8, 9];
/// Where calls leave their results.
const RESULT: u8 = 0;
/// The deepest loop for which a use counts more than in the loop around it.
const MAX_WEIGHT_DEPTH: usize = 5;

/// Where a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterLocation {
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
    pub places: Vec<RegisterLocation>,
    /// Offset of each slot from r10.
    pub slots: Vec<i16>,
    /// Offset of 8 bytes for operations that need some themselves.
    pub key_cell: i16,
    /// Bytes of stack.
    pub stack_bytes: u32,
}

/// The span in which a virtual register holds a value. Operation `i` reads at `2 i` and writes at `2 i + 1`.
#[derive(Clone, Copy, Debug)]
struct Interval {
    reg: usize,
    start: usize,
    end: usize,
    uses: u64,
    crosses_call: bool,
    /// The argument register in which it comes or its last reader wants it.
    hint: Option<u8>,
    /// The virtual register from which it is computed: in the same place it needs no move.
    like: Option<usize>,
    /// Whether an operation reads it that works while it is in r0.
    in_result: bool,
}

impl Interval {
    fn extend(&mut self, at: usize) {
        self.start = self.start.min(at);
        self.end = self.end.max(at);
    }

    /// Whether it is used up by the operation after the one that makes it, and may be in r0 for that.
    fn is_brief(&self) -> bool {
        self.in_result && !self.start.is_multiple_of(2) && self.end == self.start + 1
    }

    /// Reads and writes for each position held: what is used least for its length goes to the stack first.
    fn weight(&self) -> u64 {
        self.uses.saturating_mul(1_000_000) / (self.end - self.start + 1) as u64
    }
}

/// Numbers the operations and finds the spans.
struct Spans {
    all: Vec<Interval>,
    calls: Vec<usize>,
    /// First and last position of each block.
    blocks: Vec<(usize, usize)>,
}

impl Spans {
    fn touch(&mut self, reg: usize, at: usize, uses: u64) {
        if let Some(interval) = self.all.get_mut(reg) {
            interval.extend(at);
            interval.uses += uses;
        }
    }

    fn op(&mut self, op: &Op, at: usize, uses: u64, context: usize) {
        if op.is_call() {
            self.calls.push(2 * at);
        }
        if let Op::Call { arguments, .. } | Op::CallFunction { arguments, .. } = op {
            for (argument, register) in arguments.iter().zip(1_u8..) {
                if let Some(interval) = argument.reg().and_then(|reg| self.all.get_mut(reg.index())) {
                    interval.hint = Some(register);
                }
            }
        }
        op.each_source(&mut |reg| self.touch(reg.index(), 2 * at, uses));
        if let Some(interval) = taken_from_result(op).and_then(|reg| self.all.get_mut(reg.index())) {
            interval.in_result = true;
        }
        if op.reads_context() {
            self.touch(context, 2 * at, uses);
            self.touch(context, 1, 0);
        }
        if let Some(to) = op.target() {
            self.touch(to.index(), 2 * at + 1, uses);
            let like = match op {
                Op::Set { value: Operand::Reg(from), .. }
                | Op::Binary { left: from, .. }
                | Op::Unary { from, .. }
                | Op::Extend { from, .. }
                | Op::Untype { from, .. } => Some(from.index()),
                _ => None,
            };
            if let (Some(like), Some(interval)) = (like, self.all.get_mut(to.index())) {
                interval.like.get_or_insert(like);
            }
        }
    }

    fn of(body: &Body, parameters: Option<&[Parameter]>) -> Self {
        let (liveness, loops) = (Liveness::of(body), Loops::of(body));
        let context = context_register(body).index();
        let none = |reg| Interval {
            reg,
            start: usize::MAX,
            end: 0,
            uses: 0,
            crosses_call: false,
            hint: None,
            like: None,
            in_result: false,
        };
        let mut spans = Self { all: (0..=context).map(none).collect(), calls: Vec::new(), blocks: Vec::new() };
        let mut at = 1;
        for (index, block) in body.blocks.iter().enumerate() {
            let first = at;
            let uses = 8_u64.pow(u32::try_from(loops.depth(index).min(MAX_WEIGHT_DEPTH)).unwrap_or(0));
            for op in block.ops.iter().filter(|op| !matches!(op, Op::Position(_))) {
                spans.op(op, at, uses, context);
                at += 1;
            }
            block.end.sources().into_iter().for_each(|reg| spans.touch(reg.index(), 2 * at, uses));
            let taken = match &block.end {
                End::Branch { left, right, .. } if right.reg() != Some(*left) => Some(*left),
                End::Return(Operand::Reg(value)) => Some(*value),
                _ => None,
            };
            if let Some(interval) = taken.and_then(|reg| spans.all.get_mut(reg.index())) {
                interval.in_result = true;
            }
            liveness.before(index).for_each(|reg| spans.touch(reg, 2 * first, 0));
            liveness.after(index).for_each(|reg| spans.touch(reg, 2 * at + 1, 0));
            spans.blocks.push((2 * first, 2 * at + 1));
            at += 1;
        }
        spans.arrive(parameters, context);
        for interval in &mut spans.all {
            let next_call = spans.calls.partition_point(|call| *call <= interval.start);
            interval.crosses_call = spans.calls.get(next_call).is_some_and(|call| *call < interval.end);
        }
        spans
    }

    /// What is there from the start: the context, or the parameters.
    fn arrive(&mut self, parameters: Option<&[Parameter]>, context: usize) {
        let arrivals: Vec<(usize, u8)> = match parameters {
            None => vec![(context, 1)],
            Some(parameters) => {
                let own = (0..parameters.len()).zip(1_u8..);
                let context = parameters.iter().zip(1_u8..).filter(|(kind, _)| **kind == Parameter::Context);
                own.chain(context.map(|(_, register)| (context_of(self), register))).collect()
            }
        };
        let _: usize = context;
        for (reg, register) in arrivals {
            if let Some(interval) = self.all.get_mut(reg).filter(|interval| interval.start <= interval.end) {
                interval.extend(1);
                interval.hint = Some(register);
            }
        }
    }
}

/// The register that the operation can take from r0 while it has other operands to load.
fn taken_from_result(op: &Op) -> Option<Reg> {
    let (taken, other) = match op {
        Op::Store { base, value: Operand::Reg(value), .. } => (*value, Some(*base)),
        Op::StoreSlot { value: Operand::Reg(value), .. } | Op::Set { value: Operand::Reg(value), .. } => (*value, None),
        Op::Binary { left, right, .. } => (*left, right.reg()),
        Op::Extend { from, .. } | Op::Unary { from, .. } | Op::Load { base: from, .. } => (*from, None),
        Op::Atomic { base, value, .. } => (*base, Some(*value)),
        _ => return None,
    };
    (other != Some(taken)).then_some(taken)
}

/// The context is the last.
fn context_of(spans: &Spans) -> usize {
    spans.all.len().saturating_sub(1)
}

/// Gives every virtual register a place. `parameters` are those of a function; the program itself has none.
pub(crate) fn allocate(body: &Body, parameters: Option<&[Parameter]>) -> Allocation {
    let mut places = vec![RegisterLocation::Nowhere; body.registers as usize + 1];
    let mut active = Vec::<(Interval, u8)>::new();
    let mut spilled = Vec::<Interval>::new();
    let spans = Spans::of(body, parameters);
    let mut intervals: Vec<Interval> =
        spans.all.iter().filter(|interval| interval.start <= interval.end).copied().collect();
    intervals.sort_by_key(|interval| (interval.start, interval.reg));
    for interval in intervals {
        if interval.is_brief() {
            set(&mut places, interval.reg, RegisterLocation::Register(RESULT));
            continue;
        }
        active.retain(|(other, _)| other.end >= interval.start);
        let free = |register: &u8| active.iter().all(|(_, taken)| taken != register);
        let volatile = if interval.crosses_call { &[][..] } else { &VOLATILE[..] };
        let usable = |register: &u8| (volatile.contains(register) || PRESERVED.contains(register)) && free(register);
        let like = interval.like.and_then(|like| match places.get(like) {
            Some(RegisterLocation::Register(register)) => Some(*register),
            _ => None,
        });
        let hinted = interval.hint.filter(usable).or(like.filter(usable));
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
        set(&mut places, interval.reg, RegisterLocation::Register(register));
    }
    stack::lay_out(body, &spans, places, &spilled)
}

/// Takes the register of the active interval that is used least, if that is less than `interval` is.
fn take_cheaper(active: &mut Vec<(Interval, u8)>, interval: &Interval, volatile: &[u8]) -> Option<(Interval, u8)> {
    let usable = |register: u8| PRESERVED.contains(&register) || volatile.contains(&register);
    let candidates = active.iter().enumerate().filter(|(_, (_, register))| usable(*register));
    let (at, (other, _)) = candidates.min_by_key(|(_, (other, _))| other.weight())?;
    (other.weight() < interval.weight()).then(|| active.swap_remove(at))
}

fn set(places: &mut [RegisterLocation], reg: usize, place: RegisterLocation) {
    if let Some(entry) = places.get_mut(reg) {
        *entry = place;
    }
}

/// The slot, or the slot's address in a register, that an operation mentions.
fn slot_of(op: &Op) -> impl Iterator<Item = usize> {
    use crate::ir::Memory;
    let of_memory = |memory: &Memory| match memory {
        Memory::Slot(slot, _) => Some(slot.index()),
        Memory::Pointer(..) | Memory::Context(_) => None,
    };
    let (first, second) = match op {
        Op::SlotAddress { slot, .. }
        | Op::LoadSlot { slot, .. }
        | Op::StoreSlot { slot, .. }
        | Op::StoreContext { slot, .. } => (Some(slot.index()), None),
        Op::Copy { to, from, .. } => (of_memory(to), of_memory(from)),
        Op::Zero { to, .. } => (of_memory(to), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// The register from which an operation computes another pointer to the same thing.
fn pointer_source(op: &Op) -> Option<(Reg, Reg)> {
    use crate::ir::IrBinaryOp;
    match op {
        Op::Set { to, value: Operand::Reg(from) } => Some((*to, *from)),
        Op::Binary { to, op: IrBinaryOp::Add | IrBinaryOp::Sub, left, .. } => Some((*to, *left)),
        _ => None,
    }
}

//! Checks a program for what the kernel's verifier would refuse, so that a fault in a lowering is reported in the
//! program's own terms, and before anything runs as root.
//!
//! It follows what every register holds along all paths: numbers, pointers of each kind, pointers that may be null
//! until a branch has excluded it; and whether a record of a ring is reserved, which must be submitted or discarded
//! before the end. It does not follow ranges of numbers, so it is no proof that the verifier accepts a program.

use crate::ir::{
    Argument, BinaryOp, Block, End, Helper, MapDefinition, MapId, MapKind, Op, Operand, Program, ProgramKind, Reg,
    Size, SlotId, Test, Width,
};

/// The most virtual registers of a program.
const MAX_REGISTERS: u32 = 1 << 16;
/// The most blocks of a program.
const MAX_BLOCKS: usize = 1 << 15;
/// The longest name of a program or map. The kernel keeps 15 characters.
const MAX_NAME_BYTES: usize = 64;
/// The first bytes of a tracepoint's record, which a program cannot read.
const HIDDEN_CONTEXT_BYTES: u32 = 8;

/// A program that the kernel would refuse, or that would confuse the compiler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program {program} is malformed in block {block}: {what}")]
pub struct Fault {
    /// The program.
    pub program: String,
    /// The block's index.
    pub block: usize,
    /// What is wrong.
    pub what: String,
}

/// What a register holds. Offsets are known until a number that is not constant is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Nothing yet, or different things on different paths.
    Nothing,
    Number,
    Context(Option<u32>),
    Slot(SlotId, Option<u32>),
    Map(MapId),
    MaybeValue(MapId),
    Value(MapId, Option<u32>),
    MaybeRecord(u32),
    Record(u32, Option<u32>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    held: Vec<Held>,
    /// Whether a record is reserved on the paths that lead here.
    reserved: bool,
}

impl State {
    fn get(&self, reg: Reg) -> Held {
        self.held.get(reg.index()).copied().unwrap_or(Held::Nothing)
    }

    fn set(&mut self, reg: Reg, held: Held) {
        if let Some(entry) = self.held.get_mut(reg.index()) {
            *entry = held;
        }
    }
}

struct Checker<'a> {
    program: &'a Program,
}

/// Checks a program.
///
/// # Errors
/// The first fault.
pub fn validate(program: &Program) -> Result<(), Fault> {
    let checker = Checker { program };
    let fault = |block: usize| move |what: String| Fault { program: program.name.clone(), block, what };
    checker.frame().map_err(fault(0))?;
    let entry = State { held: vec![Held::Nothing; program.registers as usize], reserved: false };
    let mut states: Vec<Option<State>> = vec![None; program.blocks.len()];
    let mut pending = vec![(0, entry)];
    while let Some((index, incoming)) = pending.pop() {
        let (Some(known), Some(block)) = (states.get_mut(index), program.blocks.get(index)) else { continue };
        let merged = merge(known.as_ref(), &incoming).map_err(fault(index))?;
        if known.as_ref() == Some(&merged) {
            continue;
        }
        *known = Some(merged.clone());
        pending.extend(checker.block(block, merged).map_err(fault(index))?);
    }
    Ok(())
}

fn merge(known: Option<&State>, incoming: &State) -> Result<State, String> {
    let Some(known) = known else { return Ok(incoming.clone()) };
    if known.reserved != incoming.reserved {
        return Err("a record is reserved on one path that leads here and not on another".to_owned());
    }
    let both = known.held.iter().zip(&incoming.held);
    let held = both.map(|(a, b)| if a == b { *a } else { unite(*a, *b) }).collect();
    Ok(State { held, reserved: known.reserved })
}

/// What holds for both; pointers to one thing at different offsets are one at an unknown offset.
fn unite(a: Held, b: Held) -> Held {
    match (a, b) {
        (Held::Slot(a, _), Held::Slot(b, _)) if a == b => Held::Slot(a, None),
        (Held::Value(a, _), Held::Value(b, _)) if a == b => Held::Value(a, None),
        (Held::Record(a, _), Held::Record(b, _)) if a == b => Held::Record(a, None),
        (Held::Context(_), Held::Context(_)) => Held::Context(None),
        _ => Held::Nothing,
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(allowed)
}

impl Checker<'_> {
    /// Names, limits, and that everything named exists.
    fn frame(&self) -> Result<(), String> {
        let program = self.program;
        if !is_name(&program.name) {
            return Err("its name is not one".to_owned());
        }
        if program.blocks.is_empty() || program.blocks.len() > MAX_BLOCKS || program.registers > MAX_REGISTERS {
            return Err("it has no blocks, or too many blocks or registers".to_owned());
        }
        for (index, map) in program.maps.iter().enumerate() {
            let ring = map.kind == MapKind::RingBuffer;
            let sizes = if ring {
                map.key_bytes == 0 && map.value_bytes == 0
            } else {
                map.key_bytes > 0 && map.value_bytes > 0
            };
            if !is_name(&map.name) || !sizes || map.max_entries == 0 {
                return Err(format!("map {index} has no proper name or sizes"));
            }
            if program.maps.iter().take(index).any(|earlier| earlier.name == map.name) {
                return Err(format!("map {index} has the name of another"));
            }
        }
        let targets = program.blocks.iter().flat_map(|block| block.end.targets());
        if targets.into_iter().any(|target| target.index() >= program.blocks.len()) {
            return Err("a block leads to one that does not exist".to_owned());
        }
        let registers = |block: &Block| {
            let ops = block.ops.iter().flat_map(|op| op.sources().into_iter().chain(op.target()));
            ops.chain(block.end.sources()).all(|reg| reg.0 < program.registers)
        };
        if !program.blocks.iter().all(registers) {
            return Err("a register does not exist".to_owned());
        }
        Ok(())
    }

    /// Follows a block; gives the states in which its targets are entered.
    fn block(&self, block: &Block, mut state: State) -> Result<Vec<(usize, State)>, String> {
        for op in &block.ops {
            self.op(op, &mut state)?;
        }
        match &block.end {
            End::Jump(target) => Ok(vec![(target.index(), state)]),
            End::Return(value) => {
                number(&state, *value)?;
                if state.reserved {
                    return Err("a record is neither submitted nor discarded at the end".to_owned());
                }
                Ok(Vec::new())
            }
            End::Branch { test, width, left, right, then, otherwise } => {
                let (mut on_then, mut on_otherwise) = (state.clone(), state.clone());
                match state.get(*left) {
                    Held::Number => number(&state, *right)?,
                    maybe @ (Held::MaybeValue(_) | Held::MaybeRecord(_)) => {
                        let (null, there) = match test {
                            Test::Eq => (&mut on_then, &mut on_otherwise),
                            Test::Ne => (&mut on_otherwise, &mut on_then),
                            _ => return Err("a pointer is compared otherwise than with null".to_owned()),
                        };
                        if *right != Operand::Constant(0) || *width != Width::W64 {
                            return Err("a pointer is compared with something else than null".to_owned());
                        }
                        null.set(*left, Held::Number);
                        if let Held::MaybeValue(map) = maybe {
                            there.set(*left, Held::Value(map, Some(0)));
                        } else if let Held::MaybeRecord(bytes) = maybe {
                            there.set(*left, Held::Record(bytes, Some(0)));
                            null.reserved = false;
                        }
                    }
                    _ => return Err(format!("v{} is compared and is neither a number nor a new pointer", left.0)),
                }
                Ok(vec![(then.index(), on_then), (otherwise.index(), on_otherwise)])
            }
        }
    }

    fn op(&self, op: &Op, state: &mut State) -> Result<(), String> {
        match op {
            Op::Set { to, value } => {
                let held = match value {
                    Operand::Constant(_) => Held::Number,
                    Operand::Reg(reg) => assigned(state, *reg)?,
                };
                state.set(*to, held);
            }
            Op::Binary { to, op, width, left, right } => {
                let held = binary(state, *op, *width, *left, *right)?;
                state.set(*to, held);
            }
            Op::Extend { to, from, .. } => {
                number(state, Operand::Reg(*from))?;
                state.set(*to, Held::Number);
            }
            Op::ContextAddress { to, offset } => state.set(*to, Held::Context(Some(*offset))),
            Op::SlotAddress { to, slot, offset } => {
                self.in_slot(*slot, *offset, 0)?;
                state.set(*to, Held::Slot(*slot, Some(*offset)));
            }
            Op::MapAddress { to, map } => {
                self.map(*map)?;
                state.set(*to, Held::Map(*map));
            }
            Op::LoadContext { to, offset, size, .. } => {
                let hidden = self.program.kind == ProgramKind::Tracepoint && *offset < HIDDEN_CONTEXT_BYTES;
                if hidden || !offset.is_multiple_of(size.bytes()) || *offset > i16::MAX.unsigned_abs().into() {
                    return Err(format!("{} bytes cannot be read from the context at {offset}", size.bytes()));
                }
                state.set(*to, Held::Number);
            }
            Op::LoadSlot { to, slot, offset, size, .. } => {
                self.aligned_in_slot(*slot, *offset, *size)?;
                state.set(*to, Held::Number);
            }
            Op::Load { to, base, offset, size, .. } => {
                self.pointer(state.get(*base), *offset, *size)?;
                state.set(*to, Held::Number);
            }
            Op::StoreSlot { slot, offset, size, value } => {
                self.aligned_in_slot(*slot, *offset, *size)?;
                number(state, *value)?;
            }
            Op::Store { base, offset, size, value } => {
                self.pointer(state.get(*base), *offset, *size)?;
                number(state, *value)?;
            }
            Op::AtomicAdd { base, offset, value } => {
                self.pointer(state.get(*base), *offset, Size::B8)?;
                if offset % 8 != 0 {
                    return Err("an atomic addition is not aligned".to_owned());
                }
                number(state, Operand::Reg(*value))?;
            }
            Op::Call { to, helper, arguments } => self.call(*to, *helper, arguments, state)?,
        }
        Ok(())
    }

    fn map(&self, map: MapId) -> Result<&MapDefinition, String> {
        self.program.maps.get(map.index()).ok_or_else(|| format!("map {} does not exist", map.0))
    }

    fn in_slot(&self, slot: SlotId, offset: u32, bytes: u32) -> Result<(), String> {
        let room = self.program.slots.get(slot.index()).copied().unwrap_or(0);
        match offset.checked_add(bytes) {
            Some(end) if end <= room => Ok(()),
            _ => Err(format!("{bytes} bytes at {offset} are not in slot {}", slot.0)),
        }
    }

    fn aligned_in_slot(&self, slot: SlotId, offset: u32, size: Size) -> Result<(), String> {
        if !offset.is_multiple_of(size.bytes()) {
            return Err(format!("an access to slot {} at {offset} is not aligned", slot.0));
        }
        self.in_slot(slot, offset, size.bytes())
    }

    fn pointer(&self, base: Held, offset: i16, size: Size) -> Result<(), String> {
        let (room, start) = match base {
            Held::Slot(slot, at) => (self.program.slots.get(slot.index()).copied().unwrap_or(0), at),
            Held::Value(map, at) => (self.map(map)?.value_bytes, at),
            Held::Record(bytes, at) => (bytes, at),
            Held::MaybeValue(_) | Held::MaybeRecord(_) => {
                return Err("a pointer may be null where it is used".to_owned());
            }
            _ => return Err("what is used as a pointer is none".to_owned()),
        };
        let Some(start) = start else { return Ok(()) };
        let first = i64::from(start) + i64::from(offset);
        if first < 0 || first + i64::from(size.bytes()) > i64::from(room) {
            return Err(format!("{} bytes at {first} are outside of {room}", size.bytes()));
        }
        Ok(())
    }

    fn call(&self, to: Option<Reg>, helper: Helper, arguments: &[Operand], state: &mut State) -> Result<(), String> {
        let kinds = helper.arguments();
        let name = helper.name();
        if kinds.len() != arguments.len() {
            return Err(format!("{name} takes {} arguments", kinds.len()));
        }
        let mut map = None;
        for (index, (kind, argument)) in kinds.iter().zip(arguments).enumerate() {
            let bytes = match arguments.get(index + 1) {
                Some(Operand::Constant(bytes)) => u32::try_from(*bytes).unwrap_or(0),
                _ => 0,
            };
            self.argument(*kind, *argument, bytes, state, &mut map)
                .map_err(|what| format!("argument {} of {name}: {what}", index + 1))?;
        }
        match helper {
            Helper::RingbufReserve if state.reserved => return Err("a second record is reserved".to_owned()),
            Helper::RingbufReserve => state.reserved = true,
            Helper::RingbufSubmit | Helper::RingbufDiscard => {
                state.reserved = false;
                let gone = |held: &&mut Held| matches!(held, Held::Record(..) | Held::MaybeRecord(_));
                state.held.iter_mut().filter(gone).for_each(|held| *held = Held::Nothing);
            }
            _ => {}
        }
        let result = match (helper, map, arguments.get(1)) {
            (Helper::MapLookup, Some(map), _) => Held::MaybeValue(map),
            (Helper::RingbufReserve, _, Some(Operand::Constant(bytes))) => {
                Held::MaybeRecord(u32::try_from(*bytes).unwrap_or(0))
            }
            _ => Held::Number,
        };
        match to {
            Some(to) => state.set(to, result),
            None if helper == Helper::RingbufReserve => return Err("a reserved record is ignored".to_owned()),
            None => {}
        }
        Ok(())
    }

    fn argument(
        &self,
        kind: Argument,
        argument: Operand,
        bytes: u32,
        state: &State,
        map: &mut Option<MapId>,
    ) -> Result<(), String> {
        let held = match argument {
            Operand::Reg(reg) => Some(assigned(state, reg)?),
            Operand::Constant(_) => None,
        };
        let fits = match (kind, held, argument) {
            (Argument::Any, Some(_), _) | (Argument::Any | Argument::Constant, _, Operand::Constant(_)) => true,
            (Argument::Bytes, _, Operand::Constant(bytes)) => bytes > 0,
            (Argument::Map | Argument::Ring, Some(Held::Map(id)), _) => {
                *map = Some(id);
                (self.map(id)?.kind == MapKind::RingBuffer) == (kind == Argument::Ring)
            }
            (Argument::Record, Some(Held::Record(_, Some(0))), _) => true,
            (Argument::Room, Some(held), _) => return self.room(held, bytes),
            // Key and value are of different sizes; the smaller is enough to find the slips that happen.
            (Argument::Memory, Some(held), _) => {
                let definition = map.map(|map| self.map(map)).transpose()?;
                let least = definition.map_or(1, |map| map.key_bytes.min(map.value_bytes));
                return self.room(held, least);
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err("it is not of the kind that the helper takes".to_owned()) }
    }

    fn room(&self, held: Held, bytes: u32) -> Result<(), String> {
        let Some(last) = bytes.checked_sub(1).and_then(|last| i16::try_from(last).ok()) else {
            return Err("the number of bytes is not a constant from 1 to 32768".to_owned());
        };
        self.pointer(held, 0, Size::B1)?;
        self.pointer(held, last, Size::B1)
    }
}

fn assigned(state: &State, reg: Reg) -> Result<Held, String> {
    match state.get(reg) {
        Held::Nothing => Err(format!("v{} is read where it may not be set, or not to one kind of thing", reg.0)),
        held => Ok(held),
    }
}

fn number(state: &State, operand: Operand) -> Result<(), String> {
    match operand {
        Operand::Constant(_) => Ok(()),
        Operand::Reg(reg) => match assigned(state, reg)? {
            Held::Number => Ok(()),
            _ => Err(format!("v{} is a pointer where a number is needed", reg.0)),
        },
    }
}

fn binary(state: &State, op: BinaryOp, width: Width, left: Reg, right: Operand) -> Result<Held, String> {
    number(state, right)?;
    let zero = right == Operand::Constant(0)
        || (width == Width::W32 && matches!(right, Operand::Constant(c) if c & 0xffff_ffff == 0));
    if zero && matches!(op, BinaryOp::Div | BinaryOp::Mod) {
        return Err("a division by the constant zero".to_owned());
    }
    let held = assigned(state, left)?;
    if held == Held::Number {
        return Ok(Held::Number);
    }
    if width != Width::W64 || !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
        return Err(format!("v{} is a pointer; a number can only be added or subtracted", left.0));
    }
    let moved = |at: Option<u32>| match right {
        Operand::Constant(by) => {
            let by = if op == BinaryOp::Sub { by.checked_neg()? } else { by };
            u32::try_from(i64::from(at?).checked_add(by)?).ok()
        }
        Operand::Reg(_) => None,
    };
    match held {
        Held::Context(at) => Ok(Held::Context(moved(at))),
        Held::Slot(slot, at) => Ok(Held::Slot(slot, moved(at))),
        Held::Value(map, at) => Ok(Held::Value(map, moved(at))),
        Held::Record(bytes, at) => Ok(Held::Record(bytes, moved(at))),
        _ => Err(format!("v{} is no pointer that can be moved", left.0)),
    }
}

//! Single operations.

use super::{
    BodyValidator, State,
    held::{Held, assigned, binary, number},
};
use crate::ir::{MapId, MapKind, Memory, Op, Operand, Parameter, ProgramKind, Reg, Size, SlotId, Width};

/// The first bytes of a tracepoint's record, which a program cannot read.
const HIDDEN_CONTEXT_BYTES: u32 = 8;

/// What is done with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl BodyValidator<'_> {
    pub(super) fn op(&self, op: &Op, state: &mut State) -> Result<(), String> {
        match op {
            Op::Position(_) => {}
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
            Op::Unary { to, from, .. } | Op::Extend { to, from, .. } => {
                number(state, Operand::Reg(*from))?;
                state.set(*to, Held::Number);
            }
            // Of any pointer: that it is none any more is what this is for.
            Op::Untype { to, from } => {
                assigned(state, *from)?;
                state.set(*to, Held::Number);
            }
            Op::Call { to, helper, arguments } => self.call(*to, *helper, arguments, state)?,
            Op::CallFunction { to, function, arguments } => {
                self.call_function(*function, arguments, state)?;
                if let Some(to) = to {
                    state.set(*to, Held::Number);
                }
            }
            Op::ContextAddress { .. }
            | Op::SlotAddress { .. }
            | Op::MapAddress { .. }
            | Op::FunctionAddress { .. }
            | Op::ArrayValue { .. }
            | Op::GlobalAddress { .. } => self.address(op, state)?,
            _ => self.memory(op, state)?,
        }
        Ok(())
    }

    fn address(&self, op: &Op, state: &mut State) -> Result<(), String> {
        let (to, held) = match op {
            Op::ContextAddress { to, offset } => {
                self.has_context()?;
                (*to, Held::Context(Some(*offset)))
            }
            Op::SlotAddress { to, slot, offset } => {
                self.in_slot(*slot, *offset, 0)?;
                (*to, Held::Slot(*slot, Some(*offset)))
            }
            Op::MapAddress { to, map } => {
                if self.map(*map)?.kind.is_global() {
                    return Err(format!("map {} is reached by its value's address only", map.0));
                }
                (*to, Held::Map(*map))
            }
            Op::FunctionAddress { to, function } => (*to, Held::Function(*function)),
            Op::ArrayValue { to, map, index } => {
                let definition = self.map(*map)?;
                let array = matches!(definition.kind, MapKind::Array | MapKind::PerCpuArray);
                if !array || *index >= definition.max_entries {
                    return Err(format!("map {} is no array with an index {index}", map.0));
                }
                if state.reserved {
                    return Err("an array's value is asked for while a record is reserved".to_owned());
                }
                (*to, Held::Value(*map, Some(0)))
            }
            Op::GlobalAddress { to, map, offset } => {
                let definition = self.map(*map)?;
                if !definition.kind.is_global() || *offset >= definition.value_bytes {
                    return Err(format!("map {} is no global with a byte {offset}", map.0));
                }
                (*to, Held::Value(*map, Some(*offset)))
            }
            _ => return Ok(()),
        };
        state.set(to, held);
        Ok(())
    }

    fn memory(&self, op: &Op, state: &mut State) -> Result<(), String> {
        match op {
            Op::LoadContext { to, offset, size, .. } => {
                let held = self.context_load(*offset, *size)?;
                state.set(*to, held);
            }
            Op::LoadSlot { to, slot, offset, size, .. } => {
                self.aligned_in_slot(*slot, *offset, *size)?;
                state.set(*to, Held::Number);
            }
            Op::Load { to, base, offset, size, .. } => {
                let base = assigned(state, *base)?;
                let held = if base == Held::Typed { Held::Typed } else { Held::Number };
                self.pointer(base, *offset, size.bytes(), Access::Read)?;
                state.set(*to, held);
            }
            Op::StoreSlot { slot, offset, size, value } => {
                self.aligned_in_slot(*slot, *offset, *size)?;
                number(state, *value)?;
            }
            Op::StoreContext { slot, offset } => {
                self.has_context()?;
                self.aligned_in_slot(*slot, *offset, Size::B8)?;
            }
            Op::Store { base, offset, size, value } => {
                self.pointer(assigned(state, *base)?, *offset, size.bytes(), Access::Write)?;
                number(state, *value)?;
            }
            Op::Atomic { to, width, base, offset, value, .. } => {
                self.atomic(state, *width, *base, *offset)?;
                number(state, Operand::Reg(*value))?;
                if let Some(to) = to {
                    state.set(*to, Held::Number);
                }
            }
            Op::CompareExchange { to, width, base, offset, expected, value } => {
                self.atomic(state, *width, *base, *offset)?;
                number(state, *expected)?;
                number(state, Operand::Reg(*value))?;
                state.set(*to, Held::Number);
            }
            Op::Copy { to, from, bytes } => {
                self.area(state, *from, *bytes, Access::Read)?;
                self.area(state, *to, *bytes, Access::Write)?;
            }
            Op::Zero { to, bytes } => self.area(state, *to, *bytes, Access::Write)?,
            _ => {}
        }
        Ok(())
    }

    fn atomic(&self, state: &State, width: Width, base: Reg, offset: i16) -> Result<(), String> {
        let bytes = if width == Width::W32 { 4 } else { 8 };
        if i32::from(offset) % bytes != 0 {
            return Err("an atomic operation is not aligned".to_owned());
        }
        self.pointer(assigned(state, base)?, offset, bytes.unsigned_abs(), Access::Write)
    }

    fn area(&self, state: &State, memory: Memory, bytes: u32, access: Access) -> Result<(), String> {
        if bytes == 0 {
            return Err("no bytes are moved".to_owned());
        }
        match memory {
            Memory::Slot(slot, offset) => self.in_slot(slot, offset, bytes),
            Memory::Pointer(base, offset) => {
                let last = u32::from(offset.unsigned_abs()).saturating_add(bytes);
                if last > i16::MAX.unsigned_abs().into() {
                    return Err("more bytes are moved than can be reached".to_owned());
                }
                self.pointer(assigned(state, base)?, offset, bytes, access)
            }
            Memory::Context(offset) if access == Access::Read => {
                self.has_context()?;
                let end = offset.saturating_add(bytes);
                let hidden = self.program.kind == ProgramKind::Tracepoint && offset < HIDDEN_CONTEXT_BYTES;
                if hidden || end > i16::MAX.unsigned_abs().into() {
                    return Err(format!("{bytes} bytes cannot be read from the context at {offset}"));
                }
                Ok(())
            }
            Memory::Context(_) => Err("the context cannot be written".to_owned()),
        }
    }

    pub(super) fn has_context(&self) -> Result<(), String> {
        let has =
            |parameter: &Parameter| matches!(parameter, Parameter::Context | Parameter::Frame { context: Some(_), .. });
        match self.function {
            Some(function) if !function.parameters.iter().any(has) => {
                Err("the function does not get the context".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn context_load(&self, offset: u32, size: Size) -> Result<Held, String> {
        self.has_context()?;
        let kind = self.program.kind;
        let hidden = kind == ProgramKind::Tracepoint && offset < HIDDEN_CONTEXT_BYTES;
        // These are presented as 8-byte values, and read in no other way.
        let narrow = (kind.has_typed_context() || kind == ProgramKind::PerfEvent) && size != Size::B8;
        if hidden || narrow || !offset.is_multiple_of(size.bytes()) || offset > i16::MAX.unsigned_abs().into() {
            return Err(format!("{} bytes cannot be read from the context at {offset}", size.bytes()));
        }
        Ok(if kind.has_typed_context() { Held::Typed } else { Held::Number })
    }

    fn in_slot(&self, slot: SlotId, offset: u32, bytes: u32) -> Result<(), String> {
        let room = self.body.slots.get(slot.index()).copied().unwrap_or(0);
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

    fn value_room(&self, map: MapId, access: Access) -> Result<u32, String> {
        let definition = self.map(map)?;
        let fixed =
            definition.kind == MapKind::Constant || definition.flags & crate::ir::MapDefinition::READ_ONLY_PROGRAM != 0;
        if access == Access::Write && fixed {
            return Err(format!("map {} cannot be written", map.0));
        }
        Ok(definition.value_bytes)
    }

    /// Whether `bytes` bytes can be accessed at an offset from a pointer, as far as its own offset is known.
    pub(super) fn pointer(&self, base: Held, offset: i16, bytes: u32, access: Access) -> Result<(), String> {
        let (room, start) = match base {
            Held::Slot(slot, at) => (self.body.slots.get(slot.index()).copied().unwrap_or(0), at),
            Held::Frame(bytes, at) => (bytes, at),
            Held::Value(map, at) => (self.value_room(map, access)?, at),
            Held::Key(map, at) if access == Access::Read => (self.map(map)?.key_bytes, at),
            Held::Key(map, _) => return Err(format!("a key of map {} cannot be written", map.0)),
            Held::Record(bytes, at) => (bytes, at),
            Held::Typed if access == Access::Read => return Ok(()),
            Held::MaybeValue(_) | Held::MaybeRecord(_) => {
                return Err("a pointer may be null where it is used".to_owned());
            }
            _ => return Err("what is used as a pointer is none".to_owned()),
        };
        let Some(start) = start else { return Ok(()) };
        let first = i64::from(start) + i64::from(offset);
        if first < 0 || first + i64::from(bytes) > i64::from(room) {
            return Err(format!("{bytes} bytes at {first} are outside of {room}"));
        }
        Ok(())
    }
}

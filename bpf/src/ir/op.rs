//! Operations.

use super::{
    AtomicOp, FunctionId, Helper, IrBinaryOp, IrUnaryOp, MapId, Memory, Operand, Position, Reg, Size, SlotId, Width,
};

/// One operation.
///
/// Copies and zeroing of memory, and signed division, become several simpler operations before the optimiser sees
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the operands that each variant's description names")]
pub enum Op {
    /// What follows in this block comes from there in the source. Written by [`super::Builder::at`].
    Position(Position),
    /// `to` becomes the value.
    Set { to: Reg, value: Operand },
    /// `to` becomes the result of the operation.
    Binary { to: Reg, op: IrBinaryOp, width: Width, left: Reg, right: Operand },
    /// `to` becomes the result of the operation.
    Unary { to: Reg, op: IrUnaryOp, width: Width, from: Reg },
    /// `to` becomes the low bytes of `from`, extended by zeros or by the sign.
    Extend { to: Reg, from: Reg, size: Size, signed: bool },
    /// `to` becomes the address of the context plus the offset.
    ContextAddress { to: Reg, offset: u32 },
    /// `to` becomes the address of a byte of a stack slot.
    SlotAddress { to: Reg, slot: SlotId, offset: u32 },
    /// `to` becomes the map, for a helper.
    MapAddress { to: Reg, map: MapId },
    /// `to` becomes the function, for a helper that calls it back.
    FunctionAddress { to: Reg, function: FunctionId },
    /// `to` becomes the address of the value at a constant index of an array or per-CPU array. It is never null: the
    /// question that the verifier wants to see asked is part of it (the program or function returns 0 where the kernel
    /// would find nothing, which cannot be). Asked again where it was asked before, it costs nothing. It counts as a
    /// call, and cannot be done while a record is reserved.
    ArrayValue { to: Reg, map: MapId, index: u32 },
    /// `to` becomes the address of a byte in a [`super::MapKind::Global`] or [`super::MapKind::Constant`]. It costs one
    /// instruction.
    GlobalAddress { to: Reg, map: MapId, offset: u32 },
    /// `to` becomes what is in the context at a constant offset.
    LoadContext { to: Reg, offset: u32, size: Size, signed: bool },
    /// `to` becomes what is in a stack slot at a constant offset.
    LoadSlot { to: Reg, slot: SlotId, offset: u32, size: Size, signed: bool },
    /// `to` becomes what is behind a pointer (into a map's value, a record, a stack slot, or a typed pointer).
    Load { to: Reg, base: Reg, offset: i16, size: Size, signed: bool },
    /// Writes into a stack slot.
    StoreSlot { slot: SlotId, offset: u32, size: Size, value: Operand },
    /// Keeps the context in 8 bytes of a stack slot, for a callback with [`super::Parameter::Frame`].
    StoreContext { slot: SlotId, offset: u32 },
    /// Writes behind a pointer.
    Store { base: Reg, offset: i16, size: Size, value: Operand },
    /// Changes the 4 or 8 bytes behind a pointer into a map's value at once, whatever other CPUs do; `to` becomes what
    /// was there ([`AtomicOp::Exchange`] always fetches; leave it out for the others if it is not needed: it is cheaper).
    Atomic { to: Option<Reg>, op: AtomicOp, width: Width, base: Reg, offset: i16, value: Reg },
    /// Writes `value` behind a pointer if `expected` is there; `to` becomes what was there.
    CompareExchange { to: Reg, width: Width, base: Reg, offset: i16, expected: Operand, value: Reg },
    /// Copies `bytes` bytes, which must not overlap. Up to 256 bytes are moved by loads and stores, more by the helper
    /// `probe_read_kernel`. Registers are taken to hold addresses that are multiples of 8.
    Copy { to: Memory, from: Memory, bytes: u32 },
    /// Fills `bytes` bytes with zeros.
    Zero { to: Memory, bytes: u32 },
    /// `to` becomes `from` as a plain number: the verifier forgets what it points to. Needed before arithmetic (other
    /// than adding a constant) on pointers that come out of a typed context or [`Helper::GetCurrentTaskBtf`].
    Untype { to: Reg, from: Reg },
    /// Calls the kernel; `to` becomes the result.
    Call { to: Option<Reg>, helper: Helper, arguments: Vec<Operand> },
    /// Calls a function of the program; `to` becomes the result.
    CallFunction { to: Option<Reg>, function: FunctionId, arguments: Vec<Operand> },
}

impl Op {
    /// The register it assigns.
    pub fn target(&self) -> Option<Reg> {
        match self {
            Self::Set { to, .. }
            | Self::Binary { to, .. }
            | Self::Unary { to, .. }
            | Self::Extend { to, .. }
            | Self::ContextAddress { to, .. }
            | Self::SlotAddress { to, .. }
            | Self::MapAddress { to, .. }
            | Self::FunctionAddress { to, .. }
            | Self::ArrayValue { to, .. }
            | Self::GlobalAddress { to, .. }
            | Self::LoadContext { to, .. }
            | Self::LoadSlot { to, .. }
            | Self::Load { to, .. }
            | Self::Untype { to, .. }
            | Self::CompareExchange { to, .. } => Some(*to),
            Self::Call { to, .. } | Self::CallFunction { to, .. } | Self::Atomic { to, .. } => *to,
            Self::StoreSlot { .. }
            | Self::StoreContext { .. }
            | Self::Store { .. }
            | Self::Copy { .. }
            | Self::Zero { .. }
            | Self::Position(_) => None,
        }
    }

    /// The registers that it reads, in order.
    pub fn sources(&self) -> Vec<Reg> {
        let mut all = Vec::new();
        self.each_source(&mut |reg| all.push(reg));
        all
    }

    /// Calls `see` with each register that it reads.
    pub(crate) fn each_source(&self, see: &mut impl FnMut(Reg)) {
        let operand = |operand: &Operand, see: &mut dyn FnMut(Reg)| {
            if let Operand::Reg(reg) = operand {
                see(*reg);
            }
        };
        let memory = |memory: &Memory, see: &mut dyn FnMut(Reg)| {
            if let Memory::Pointer(reg, _) = memory {
                see(*reg);
            }
        };
        match self {
            Self::Set { value, .. } | Self::StoreSlot { value, .. } => operand(value, see),
            Self::Binary { left, right, .. } => {
                see(*left);
                operand(right, see);
            }
            Self::Unary { from, .. } | Self::Extend { from, .. } | Self::Untype { from, .. } => see(*from),
            Self::Load { base, .. } => see(*base),
            Self::Store { base, value, .. } => {
                see(*base);
                operand(value, see);
            }
            Self::Atomic { base, value, .. } => {
                see(*base);
                see(*value);
            }
            Self::CompareExchange { base, expected, value, .. } => {
                see(*base);
                operand(expected, see);
                see(*value);
            }
            Self::Copy { to, from, .. } => {
                memory(to, see);
                memory(from, see);
            }
            Self::Zero { to, .. } => memory(to, see),
            Self::Call { arguments, .. } | Self::CallFunction { arguments, .. } => {
                arguments.iter().for_each(|argument| operand(argument, see));
            }
            Self::Position(_)
            | Self::ContextAddress { .. }
            | Self::SlotAddress { .. }
            | Self::MapAddress { .. }
            | Self::FunctionAddress { .. }
            | Self::ArrayValue { .. }
            | Self::GlobalAddress { .. }
            | Self::LoadContext { .. }
            | Self::LoadSlot { .. }
            | Self::StoreContext { .. } => {}
        }
    }

    /// The function of the program that it refers to.
    pub(crate) fn function(&self) -> Option<FunctionId> {
        match self {
            Self::FunctionAddress { function, .. } | Self::CallFunction { function, .. } => Some(*function),
            _ => None,
        }
    }

    /// Whether the registers r0 to r5 are lost.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::CallFunction { .. } | Self::ArrayValue { .. })
    }

    /// Whether it reads the context.
    pub(crate) fn reads_context(&self) -> bool {
        matches!(self, Self::ContextAddress { .. } | Self::LoadContext { .. } | Self::StoreContext { .. })
    }

    /// Whether nothing but its result depends on it.
    pub(crate) fn is_pure(&self) -> bool {
        match self {
            Self::Call { helper, .. } => helper.is_pure(),
            Self::Position(_)
            | Self::StoreSlot { .. }
            | Self::StoreContext { .. }
            | Self::Store { .. }
            | Self::Atomic { .. }
            | Self::CompareExchange { .. }
            | Self::Copy { .. }
            | Self::Zero { .. }
            | Self::CallFunction { .. } => false,
            Self::Set { .. }
            | Self::Binary { .. }
            | Self::Unary { .. }
            | Self::Extend { .. }
            | Self::ContextAddress { .. }
            | Self::SlotAddress { .. }
            | Self::MapAddress { .. }
            | Self::FunctionAddress { .. }
            | Self::ArrayValue { .. }
            | Self::GlobalAddress { .. }
            | Self::LoadContext { .. }
            | Self::LoadSlot { .. }
            | Self::Load { .. }
            | Self::Untype { .. } => true,
        }
    }
}

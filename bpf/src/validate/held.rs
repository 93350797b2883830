//! What a register holds.

use super::State;
use crate::ir::{FunctionId, IrBinaryOp, MapId, Operand, Parameter, Reg, SlotId, Width};

/// What a register holds. Offsets are known until a number that is not constant is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Nothing yet, or different things on different paths.
    Nothing,
    Number,
    /// A number, or a pointer whose type the verifier knows; what can be done with it is its own business.
    Typed,
    Context(Option<u32>),
    Slot(SlotId, Option<u32>),
    /// So many bytes in a caller.
    Frame(u32, Option<u32>),
    Map(MapId),
    Function(FunctionId),
    MaybeValue(MapId),
    Value(MapId, Option<u32>),
    /// A key that a callback gets.
    Key(MapId, Option<u32>),
    MaybeRecord(u32),
    Record(u32, Option<u32>),
}

impl Held {
    pub(super) fn of_parameter(parameter: Parameter) -> Self {
        match parameter {
            Parameter::Number => Self::Number,
            Parameter::Context => Self::Context(Some(0)),
            Parameter::Frame { bytes, .. } => Self::Frame(bytes, Some(0)),
            Parameter::Map(map) => Self::Map(map),
            Parameter::Key(map) => Self::Key(map, Some(0)),
            Parameter::Value(map) => Self::Value(map, Some(0)),
            Parameter::MaybeValue(map) => Self::MaybeValue(map),
        }
    }

    /// The same thing at another offset, where it is something that has one.
    fn at(self, change: impl Fn(Option<u32>) -> Option<u32>) -> Option<Self> {
        Some(match self {
            Self::Context(at) => Self::Context(change(at)),
            Self::Slot(slot, at) => Self::Slot(slot, change(at)),
            Self::Frame(bytes, at) => Self::Frame(bytes, change(at)),
            Self::Value(map, at) => Self::Value(map, change(at)),
            Self::Key(map, at) => Self::Key(map, change(at)),
            Self::Record(bytes, at) => Self::Record(bytes, change(at)),
            _ => return None,
        })
    }
}

/// What holds for both; pointers to one thing at different offsets are one at an unknown offset.
pub(super) fn unite(a: Held, b: Held) -> Held {
    match (a, b) {
        (Held::Typed | Held::Number, Held::Typed | Held::Number) => Held::Typed,
        _ => match (a.at(|_| None), b.at(|_| None)) {
            (Some(a), Some(b)) if a == b => a,
            _ => Held::Nothing,
        },
    }
}

pub(super) fn assigned(state: &State, reg: Reg) -> Result<Held, String> {
    match state.get(reg) {
        Held::Nothing => Err(format!("v{} is read where it may not be set, or not to one kind of thing", reg.0)),
        held => Ok(held),
    }
}

pub(super) fn number(state: &State, operand: Operand) -> Result<(), String> {
    match operand {
        Operand::Constant(_) => Ok(()),
        Operand::Reg(reg) => match assigned(state, reg)? {
            Held::Number | Held::Typed => Ok(()),
            _ => Err(format!("v{} is a pointer where a number is needed", reg.0)),
        },
    }
}

/// What an operation on two operands gives.
pub(super) fn binary(state: &State, op: IrBinaryOp, width: Width, left: Reg, right: Operand) -> Result<Held, String> {
    number(state, right)?;
    let zero = right == Operand::Constant(0)
        || (width == Width::W32 && matches!(right, Operand::Constant(c) if c & 0xffff_ffff == 0));
    let divides = matches!(op, IrBinaryOp::Div | IrBinaryOp::Mod | IrBinaryOp::SignedDiv | IrBinaryOp::SignedMod);
    if zero && divides {
        return Err("a division by the constant zero".to_owned());
    }
    let held = assigned(state, left)?;
    if held == Held::Number {
        return Ok(Held::Number);
    }
    let moves = width == Width::W64 && matches!(op, IrBinaryOp::Add | IrBinaryOp::Sub);
    if held == Held::Typed {
        // A typed pointer with a constant added is still one.
        return Ok(if moves && matches!(right, Operand::Constant(_)) { Held::Typed } else { Held::Number });
    }
    if !moves {
        return Err(format!("v{} is a pointer; a number can only be added or subtracted", left.0));
    }
    let moved = |at: Option<u32>| match right {
        Operand::Constant(by) => {
            let by = if op == IrBinaryOp::Sub { by.checked_neg()? } else { by };
            u32::try_from(i64::from(at?).checked_add(by)?).ok()
        }
        Operand::Reg(_) => None,
    };
    held.at(moved).ok_or_else(|| format!("v{} is no pointer that can be moved", left.0))
}

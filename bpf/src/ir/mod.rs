//! The intermediate representation: what the probe language and the capture programs are lowered to.
//!
//! A program is a list of basic blocks over any number of 64-bit virtual registers, which may be assigned more than
//! once. Memory is reached in four typed ways (context, stack slot, pointer, map), because the kernel's verifier treats
//! each by its own rules. Nothing here depends on BPF's eleven registers or its two-operand instructions.

mod builder;
mod helper;
mod kind;
mod map;
mod memory;
mod op;
mod print;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

pub use self::{
    builder::{Builder, Round},
    helper::Helper,
    kind::ProgramKind,
    map::{MapDefinition, MapKind},
    memory::Memory,
    op::Op,
};
pub(crate) use self::{
    helper::ArgumentKind,
    memory::{moved, piece},
};

/// A virtual register of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub(crate) u32);

/// A basic block of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub(crate) u32);

/// A piece of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub(crate) u32);

/// A function of a program, by its index in [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub(crate) u32);

/// A map of a program, by its index in [`Program::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MapId(pub(crate) u32);

impl Reg {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl BlockId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl SlotId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl FunctionId {
    /// Its index in [`Program::functions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl MapId {
    /// Its index in [`Program::maps`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bytes moved by a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// One.
    B1,
    /// Two.
    B2,
    /// Four.
    B4,
    /// Eight.
    B8,
}

impl Size {
    /// How many bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::B2 => 2,
            Self::B4 => 4,
            Self::B8 => 8,
        }
    }

    /// The size of `bytes` bytes: 1, 2, 4 or 8.
    pub fn of(bytes: u32) -> Option<Self> {
        match bytes {
            1 => Some(Self::B1),
            2 => Some(Self::B2),
            4 => Some(Self::B4),
            8 => Some(Self::B8),
            _ => None,
        }
    }
}

/// Whether an operation works on the low 32 bits (and clears the high ones of its result) or on all 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IrBinaryOp {
    /// Sum, wrapping.
    Add,
    /// Difference, wrapping.
    Sub,
    /// Product, wrapping.
    Mul,
    /// Unsigned quotient; 0 where the divisor is 0.
    Div,
    /// Unsigned remainder; the dividend where the divisor is 0.
    Mod,
    /// Signed quotient, rounded towards 0; 0 where the divisor is 0. The smallest number by -1 is itself.
    SignedDiv,
    /// Signed remainder, with the sign of the dividend; the dividend where the divisor is 0.
    SignedMod,
    /// Bits in both.
    And,
    /// Bits in either.
    Or,
    /// Bits in one.
    Xor,
    /// Shift to the left; only the low 5 or 6 bits of the distance count.
    Shl,
    /// Shift to the right, filling with zeros.
    Shr,
    /// Shift to the right, filling with the sign.
    Sar,
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IrUnaryOp {
    /// The number with the other sign.
    Negate,
    /// All bits the other way.
    Not,
    /// The low 2 bytes in reverse order, the others 0.
    Swap16,
    /// The low 4 bytes in reverse order, the others 0.
    Swap32,
    /// All 8 bytes in reverse order. The width does not matter to swaps.
    Swap64,
}

/// An operation on memory that no other CPU sees half done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Adds.
    Add,
    /// Keeps the bits that are in both.
    And,
    /// Sets bits.
    Or,
    /// Turns bits.
    Xor,
    /// Replaces.
    Exchange,
}

/// A place in the source text, both from 1. A line of 0 is no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, which counts up to 1023.
    pub column: u32,
}

/// The text that a program was made from; the verifier's log then shows its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A comparison that a branch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less.
    Lt,
    /// Unsigned less or equal.
    Le,
    /// Unsigned greater.
    Gt,
    /// Unsigned greater or equal.
    Ge,
    /// Signed less.
    SignedLt,
    /// Signed less or equal.
    SignedLe,
    /// Signed greater.
    SignedGt,
    /// Signed greater or equal.
    SignedGe,
    /// Some bit is set in both.
    Bits,
}

/// A register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A constant of 64 bits.
    Constant(i64),
}

impl Operand {
    /// The register.
    pub(crate) fn reg(self) -> Option<Reg> {
        match self {
            Self::Reg(reg) => Some(reg),
            Self::Constant(_) => None,
        }
    }
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Self::Constant(value)
    }
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the operands that each variant's description names")]
pub enum End {
    /// Goes on there.
    Jump(BlockId),
    /// Goes on at `then` if the test holds, else at `otherwise`.
    Branch { test: Test, width: Width, left: Reg, right: Operand, then: BlockId, otherwise: BlockId },
    /// Ends the program with this result.
    Return(Operand),
}

impl End {
    /// The blocks that may follow.
    pub fn targets(&self) -> Vec<BlockId> {
        match self {
            Self::Jump(target) => vec![*target],
            Self::Branch { then, otherwise, .. } => vec![*then, *otherwise],
            Self::Return(_) => Vec::new(),
        }
    }

    /// The registers that it reads.
    pub fn sources(&self) -> Vec<Reg> {
        match self {
            Self::Branch { left, right: Operand::Reg(right), .. } => vec![*left, *right],
            Self::Branch { left, .. } => vec![*left],
            Self::Return(Operand::Reg(reg)) => vec![*reg],
            Self::Return(Operand::Constant(_)) | Self::Jump(_) => Vec::new(),
        }
    }
}

/// Operations that run one after the other, and what comes then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// The operations.
    pub ops: Vec<Op>,
    /// What comes then.
    pub end: End,
}

/// What a program or one of its functions does. The first block is where it begins. The registers and slots are its
/// own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Bytes of each stack slot; each is aligned to 8. Slots that are never in use at the same time share their place.
    pub slots: Vec<u32>,
    /// The blocks.
    pub blocks: Vec<BasicBlock>,
    /// How many virtual registers there are.
    pub registers: u32,
}

/// What a function gets in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A number.
    Number,
    /// The context of the program. The function's own context operations refer to it.
    Context,
    /// Memory in the caller: what a callback gets as its last argument, or a plain call as any; the address of a slot
    /// with at least this many bytes, all of them written before the call. With `context`, the 8 bytes at that offset
    /// are the context ([`Op::StoreContext`]), and the function's context operations refer to it.
    Frame {
        /// How many.
        bytes: u32,
        /// Where in them the context is.
        context: Option<u32>,
    },
    /// A map, as callbacks of [`Helper::ForEachMapElem`] get it first.
    Map(MapId),
    /// A key of the map, which cannot be written.
    Key(MapId),
    /// A value of the map. For callbacks over per-CPU maps it is this CPU's.
    Value(MapId),
    /// A value of the map, or null as far as the verifier knows. Only as the first parameter of a function whose others are
    /// numbers: the kernel verifies such a function once and by itself, and not again for each way to each of its calls.
    MaybeValue(MapId),
}

/// A function of a program: a callback, or what it calls itself. It returns a number; a callback 0 to go on and 1 to
/// stop. It may have 5 parameters, which are its first registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// What it gets.
    pub parameters: Vec<Parameter>,
    /// What it does.
    pub body: Body,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name: letters, digits and `_`; the kernel shows the first 15.
    pub name: String,
    /// What it is attached to.
    pub kind: ProgramKind,
    /// The name of what a typed program is attached to ([`ProgramKind::has_target`]); else empty.
    pub target: String,
    /// The maps it uses.
    pub maps: Vec<MapDefinition>,
    /// The functions it uses.
    pub functions: Vec<Function>,
    /// What it does.
    pub body: Body,
    /// Where it comes from.
    pub source: Option<Arc<Source>>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::program(self, f)
    }
}

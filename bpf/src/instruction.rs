//! BPF instructions and their encoding.

use serde::{Deserialize, Serialize};

use crate::ir::{AtomicOp, Helper, IrBinaryOp, Size, Test};

pub(crate) const LD_IMM64: u8 = 0x18;
const LDX_MEM: u8 = 0x61;
const ST_MEM: u8 = 0x62;
const STX_MEM: u8 = 0x63;
pub(crate) const STX_ATOMIC_W: u8 = 0xc3;
pub(crate) const STX_ATOMIC_DW: u8 = 0xdb;
pub(crate) const NEG: u8 = 0x80;
pub(crate) const END_TO_BE: u8 = 0xdc;
pub(crate) const FETCH: i32 = 1;
pub(crate) const XCHG: i32 = 0xe1;
pub(crate) const CMPXCHG: i32 = 0xf1;
const ALU32: u8 = 0x04;
const JMP64: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
/// The second operand is a register.
pub(crate) const X: u8 = 0x08;
pub(crate) const MOV: u8 = 0xb0;
pub(crate) const JA: u8 = 0x05;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;
/// `src` of a [`LD_IMM64`] whose constant is a map; the loader sets it.
pub(crate) const PSEUDO_MAP_FD: u8 = 1;
/// `src` of a [`LD_IMM64`] whose constant is the address of a map's only value.
pub(crate) const PSEUDO_MAP_VALUE: u8 = 2;
/// `src` of a [`LD_IMM64`] whose constant is a function.
pub(crate) const PSEUDO_FUNC: u8 = 4;
/// `src` of a call of a function of the program.
pub(crate) const PSEUDO_CALL: u8 = 1;

/// One BPF instruction of 8 bytes. It travels as the number that they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u64", from = "u64")]
pub struct Instruction {
    /// Class and operation.
    pub code: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register.
    pub src: u8,
    /// Offset.
    pub off: i16,
    /// Constant.
    pub imm: i32,
}

impl From<Instruction> for u64 {
    fn from(instruction: Instruction) -> Self {
        Self::from_le_bytes(instruction.bytes())
    }
}

impl From<u64> for Instruction {
    fn from(number: u64) -> Self {
        let [code, registers, o0, o1, i0, i1, i2, i3] = number.to_le_bytes();
        let (off, imm) = (i16::from_le_bytes([o0, o1]), i32::from_le_bytes([i0, i1, i2, i3]));
        Self { code, dst: registers & 0x0f, src: registers >> 4, off, imm }
    }
}

/// The second operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    Reg(u8),
    Imm(i32),
}

fn size_bits(size: Size) -> u8 {
    match size {
        Size::B4 => 0x00,
        Size::B2 => 0x08,
        Size::B1 => 0x10,
        Size::B8 => 0x18,
    }
}

fn alu_bits(op: IrBinaryOp) -> u8 {
    match op {
        IrBinaryOp::Add => 0x00,
        IrBinaryOp::Sub => 0x10,
        IrBinaryOp::Mul => 0x20,
        IrBinaryOp::Div | IrBinaryOp::SignedDiv => 0x30,
        IrBinaryOp::Or => 0x40,
        IrBinaryOp::And => 0x50,
        IrBinaryOp::Shl => 0x60,
        IrBinaryOp::Shr => 0x70,
        IrBinaryOp::Mod | IrBinaryOp::SignedMod => 0x90,
        IrBinaryOp::Xor => 0xa0,
        IrBinaryOp::Sar => 0xc0,
    }
}

fn test_bits(test: Test) -> u8 {
    match test {
        Test::Eq => 0x10,
        Test::Gt => 0x20,
        Test::Ge => 0x30,
        Test::Bits => 0x40,
        Test::Ne => 0x50,
        Test::SignedGt => 0x60,
        Test::SignedGe => 0x70,
        Test::Lt => 0xa0,
        Test::Le => 0xb0,
        Test::SignedLt => 0xc0,
        Test::SignedLe => 0xd0,
    }
}

impl Instruction {
    const fn new(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Self {
        Self { code, dst, src, off, imm }
    }

    fn with_second(code: u8, dst: u8, second: Second, off: i16) -> Self {
        match second {
            Second::Reg(src) => Self::new(code | X, dst, src, off, 0),
            Second::Imm(imm) => Self::new(code, dst, 0, off, imm),
        }
    }

    pub(crate) fn alu(wide: bool, op: IrBinaryOp, dst: u8, second: Second) -> Self {
        Self::with_second(alu_bits(op) | if wide { ALU64 } else { ALU32 }, dst, second, 0)
    }

    pub(crate) fn mov(wide: bool, dst: u8, second: Second) -> Self {
        Self::with_second(MOV | if wide { ALU64 } else { ALU32 }, dst, second, 0)
    }

    /// Both halves of the load of a 64-bit constant.
    pub(crate) fn constant(dst: u8, value: i64) -> [Self; 2] {
        let bytes = value.to_le_bytes();
        let [a, b, c, d, e, f, g, h] = bytes;
        let low = i32::from_le_bytes([a, b, c, d]);
        let high = i32::from_le_bytes([e, f, g, h]);
        [Self::new(LD_IMM64, dst, 0, 0, low), Self::new(0, 0, 0, 0, high)]
    }

    pub(crate) fn load(size: Size, dst: u8, base: u8, off: i16) -> Self {
        Self::new(LDX_MEM | size_bits(size), dst, base, off, 0)
    }

    pub(crate) fn store(size: Size, base: u8, off: i16, value: Second) -> Self {
        match value {
            Second::Reg(src) => Self::new(STX_MEM | size_bits(size), base, src, off, 0),
            Second::Imm(imm) => Self::new(ST_MEM | size_bits(size), base, 0, off, imm),
        }
    }

    pub(crate) fn atomic(wide: bool, op: AtomicOp, fetch: bool, base: u8, off: i16, src: u8) -> Self {
        let imm = match op {
            AtomicOp::Add => 0x00,
            AtomicOp::Or => 0x40,
            AtomicOp::And => 0x50,
            AtomicOp::Xor => 0xa0,
            AtomicOp::Exchange => XCHG,
        };
        let code = if wide { STX_ATOMIC_DW } else { STX_ATOMIC_W };
        Self::new(code, base, src, off, if fetch { imm | FETCH } else { imm })
    }

    pub(crate) fn compare_exchange(wide: bool, base: u8, off: i16, src: u8) -> Self {
        Self::new(if wide { STX_ATOMIC_DW } else { STX_ATOMIC_W }, base, src, off, CMPXCHG)
    }

    pub(crate) fn negate(wide: bool, dst: u8) -> Self {
        Self::new(NEG | if wide { ALU64 } else { ALU32 }, dst, 0, 0, 0)
    }

    /// Reverses the low bytes. (It is the conversion to big endian: both kinds of machines that are supported are
    /// little endian.)
    pub(crate) const fn swap(dst: u8, bits: i32) -> Self {
        Self::new(END_TO_BE, dst, 0, 0, bits)
    }

    pub(crate) const fn call_function() -> Self {
        Self::new(CALL, 0, PSEUDO_CALL, 0, 0)
    }

    pub(crate) fn branch(wide: bool, test: Test, left: u8, right: Second) -> Self {
        Self::with_second(test_bits(test) | if wide { JMP64 } else { JMP32 }, left, right, 0)
    }

    pub(crate) const fn jump() -> Self {
        Self::new(JA, 0, 0, 0, 0)
    }

    pub(crate) fn call(helper: Helper) -> Self {
        Self::new(CALL, 0, 0, 0, helper.number())
    }

    pub(crate) const fn exit() -> Self {
        Self::new(EXIT, 0, 0, 0, 0)
    }

    /// The 8 bytes, little endian.
    pub fn bytes(self) -> [u8; 8] {
        let [o0, o1] = self.off.to_le_bytes();
        let [i0, i1, i2, i3] = self.imm.to_le_bytes();
        [self.code, self.dst | self.src << 4, o0, o1, i0, i1, i2, i3]
    }
}

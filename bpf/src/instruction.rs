//! BPF instructions: their encoding, and their text for people and golden files.

use std::fmt::{self, Write as _};

use crate::{
    Code,
    ir::{BinaryOp, Helper, Size, Test},
};

pub(crate) const LD_IMM64: u8 = 0x18;
const LDX_MEM: u8 = 0x61;
const ST_MEM: u8 = 0x62;
const STX_MEM: u8 = 0x63;
const STX_ATOMIC_DW: u8 = 0xdb;
const ALU32: u8 = 0x04;
const JMP64: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
/// The second operand is a register.
const X: u8 = 0x08;
const MOV: u8 = 0xb0;
const JA: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// `src` of a [`LD_IMM64`] whose constant is a map; the loader sets it.
pub(crate) const PSEUDO_MAP_FD: u8 = 1;

/// One BPF instruction of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

fn alu_bits(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Add => 0x00,
        BinaryOp::Sub => 0x10,
        BinaryOp::Mul => 0x20,
        BinaryOp::Div => 0x30,
        BinaryOp::Or => 0x40,
        BinaryOp::And => 0x50,
        BinaryOp::Shl => 0x60,
        BinaryOp::Shr => 0x70,
        BinaryOp::Mod => 0x90,
        BinaryOp::Xor => 0xa0,
        BinaryOp::Sar => 0xc0,
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

    pub(crate) fn alu(wide: bool, op: BinaryOp, dst: u8, second: Second) -> Self {
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

    pub(crate) const fn atomic_add(base: u8, off: i16, src: u8) -> Self {
        Self::new(STX_ATOMIC_DW, base, src, off, 0)
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

/// The instructions as text, one a line, with helpers and maps by name and jumps by the index of their target.
pub fn disassemble(code: &Code) -> String {
    let mut text = String::new();
    let mut second_half = None;
    for (index, instruction) in code.instructions.iter().enumerate() {
        if let Some(low) = second_half.take() {
            // Shown with the first half.
            let _: i32 = low;
            continue;
        }
        let _infallible = write!(text, "{index:4}: ");
        let reference = code.map_references.iter().find(|(at, _map)| *at == index);
        if let Some((_, map)) = reference {
            let name = code.maps.get(map.index()).map_or("?", |map| map.name.as_str());
            let _infallible = writeln!(text, "r{} = map {name}", instruction.dst);
            second_half = Some(0);
        } else if instruction.code == LD_IMM64 {
            let high = code.instructions.get(index + 1).map_or(0, |next| next.imm);
            let value = (i64::from(high) << 32) | i64::from(instruction.imm.cast_unsigned());
            let _infallible = writeln!(text, "r{} = {value:#x} ll", instruction.dst);
            second_half = Some(instruction.imm);
        } else {
            let _infallible = writeln!(text, "{}", Shown { instruction: *instruction, index });
        }
    }
    text
}

struct Shown {
    instruction: Instruction,
    index: usize,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Instruction { code, dst, src, off, imm } = self.instruction;
        let target = self.index as i64 + 1 + i64::from(off);
        let register = |narrow: bool| if narrow { 'w' } else { 'r' };
        let second = |narrow: bool| {
            if code & X == 0 { imm.to_string() } else { format!("{}{src}", register(narrow)) }
        };
        match (code, code & 0x07) {
            (EXIT, _) => f.write_str("exit"),
            (JA, _) => write!(f, "goto {target}"),
            (CALL, _) => match Helper::ALL.iter().find(|helper| helper.number() == imm) {
                Some(helper) => write!(f, "call {}", helper.name()),
                None => write!(f, "call {imm}"),
            },
            (STX_ATOMIC_DW, _) => write!(f, "lock *(u64 *)(r{dst} {off:+}) += r{src}"),
            (_, 0x01) => write!(f, "r{dst} = *({} *)(r{src} {off:+})", size_name(code)),
            (_, 0x02) => write!(f, "*({} *)(r{dst} {off:+}) = {imm}", size_name(code)),
            (_, 0x03) => write!(f, "*({} *)(r{dst} {off:+}) = r{src}", size_name(code)),
            (_, class @ (0x04 | 0x07)) => {
                let narrow = class == 0x04;
                write!(f, "{}{dst} {} {}", register(narrow), alu_name(code), second(narrow))
            }
            (_, class) => {
                let narrow = class == 0x06;
                write!(f, "if {}{dst} {} {} goto {target}", register(narrow), test_name(code), second(narrow))
            }
        }
    }
}

fn size_name(code: u8) -> &'static str {
    match code & 0x18 {
        0x00 => "u32",
        0x08 => "u16",
        0x10 => "u8",
        _ => "u64",
    }
}

fn alu_name(code: u8) -> &'static str {
    match code & 0xf0 {
        0x00 => "+=",
        0x10 => "-=",
        0x20 => "*=",
        0x30 => "/=",
        0x40 => "|=",
        0x50 => "&=",
        0x60 => "<<=",
        0x70 => ">>=",
        0x90 => "%=",
        0xa0 => "^=",
        MOV => "=",
        0xc0 => "s>>=",
        _ => "?=",
    }
}

fn test_name(code: u8) -> &'static str {
    match code & 0xf0 {
        0x10 => "==",
        0x20 => ">",
        0x30 => ">=",
        0x40 => "&",
        0x50 => "!=",
        0x60 => "s>",
        0x70 => "s>=",
        0xa0 => "<",
        0xb0 => "<=",
        0xc0 => "s<",
        0xd0 => "s<=",
        _ => "?",
    }
}

//! BPF instructions: their encoding, and their text for people and golden files.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use crate::{
    Code,
    ir::{AtomicOp, Helper, IrBinaryOp, Size, Test},
};

pub(crate) const LD_IMM64: u8 = 0x18;
const LDX_MEM: u8 = 0x61;
const ST_MEM: u8 = 0x62;
const STX_MEM: u8 = 0x63;
const STX_ATOMIC_W: u8 = 0xc3;
const STX_ATOMIC_DW: u8 = 0xdb;
const NEG: u8 = 0x80;
const END_TO_BE: u8 = 0xdc;
const FETCH: i32 = 1;
const XCHG: i32 = 0xe1;
const CMPXCHG: i32 = 0xf1;
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

/// The instructions as text, one a line, with helpers, maps and functions by name and jumps by the index of their
/// target.
pub fn disassemble(code: &Code) -> String {
    let mut text = String::new();
    let mut second_half = false;
    let (mut maps, mut functions) = (code.map_references.iter().peekable(), code.function_references.iter().peekable());
    for (index, instruction) in code.instructions.iter().enumerate() {
        let named = code.functions.iter().skip(1).find(|function| function.start == index);
        if let Some(function) = named {
            let _infallible = writeln!(text, "{}:", function.name);
        }
        if std::mem::take(&mut second_half) {
            continue;
        }
        let _infallible = write!(text, "{index:4}: ");
        let next = code.instructions.get(index + 1).map_or(0, |next| next.imm);
        if let Some((_, map)) = maps.next_if(|(at, _map)| *at == index) {
            let name = code.maps.get(map.index()).map_or("?", |map| map.name.as_str());
            let _infallible = match instruction.src {
                PSEUDO_MAP_FD => writeln!(text, "r{} = map {name}", instruction.dst),
                _ => writeln!(text, "r{} = value of {name} {next:+}", instruction.dst),
            };
            second_half = true;
        } else if let Some((_, function)) = functions.next_if(|(at, _)| *at == index) {
            let name = code.functions.get(*function).map_or("?", |function| function.name.as_str());
            second_half = instruction.code == LD_IMM64;
            let _infallible = match second_half {
                true => writeln!(text, "r{} = function {name}", instruction.dst),
                false => writeln!(text, "call function {name}"),
            };
        } else if instruction.code == LD_IMM64 {
            let value = (i64::from(next) << 32) | i64::from(instruction.imm.cast_unsigned());
            let _infallible = writeln!(text, "r{} = {value:#x} ll", instruction.dst);
            second_half = true;
        } else {
            let _infallible = writeln!(text, "{}", ShownInstruction { instruction: *instruction, index });
        }
    }
    text
}

struct ShownInstruction {
    instruction: Instruction,
    index: usize,
}

impl fmt::Display for ShownInstruction {
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
            (CALL, _) => match Helper::of_number(imm) {
                Some(helper) => write!(f, "call {}", helper.name()),
                None => write!(f, "call {imm}"),
            },
            (STX_ATOMIC_DW | STX_ATOMIC_W, _) => {
                let place = format!("*({} *)(r{dst} {off:+})", size_name(code));
                match (imm, imm & FETCH) {
                    (CMPXCHG, _) => write!(f, "r0 = cmpxchg {place}, r0, r{src}"),
                    (XCHG, _) => write!(f, "r{src} = xchg {place}, r{src}"),
                    (_, 0) => write!(f, "lock {place} {} r{src}", atomic_name(imm)),
                    _ => write!(f, "r{src} = fetch lock {place} {} r{src}", atomic_name(imm)),
                }
            }
            (END_TO_BE, _) => write!(f, "r{dst} = swap{imm} r{dst}"),
            (_, class @ (0x04 | 0x07)) if code & 0xf0 == NEG => {
                let register = register(class == 0x04);
                write!(f, "{register}{dst} = -{register}{dst}")
            }
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

fn atomic_name(imm: i32) -> &'static str {
    match imm & !FETCH {
        0x40 => "|=",
        0x50 => "&=",
        0xa0 => "^=",
        _ => "+=",
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

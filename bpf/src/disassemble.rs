//! The text of instructions, for people and golden files.

use std::fmt::{self, Write as _};

use crate::{
    code::Code,
    instruction::{
        CALL, CMPXCHG, END_TO_BE, EXIT, FETCH, Instruction, JA, LD_IMM64, MOV, NEG, PSEUDO_MAP_FD, STX_ATOMIC_DW,
        STX_ATOMIC_W, X, XCHG,
    },
    ir::Helper,
};

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

//! The IR as text, for tests, golden files and people who look for a fault.

use std::fmt;

use crate::ir::{BinaryOp, End, MapKind, Op, Operand, Program, Size, Test, Width};

pub(crate) fn program(program: &Program, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "program {} ({})", program.name, program.kind.section())?;
    for (index, map) in program.maps.iter().enumerate() {
        let kind = match map.kind {
            MapKind::Hash => "hash",
            MapKind::Array => "array",
            MapKind::PerCpuHash => "per-CPU hash",
            MapKind::PerCpuArray => "per-CPU array",
            MapKind::RingBuffer => "ring",
        };
        write!(f, "  map {index}: {} {kind}", map.name)?;
        writeln!(f, " {} -> {} x {}", map.key_bytes, map.value_bytes, map.max_entries)?;
    }
    for (index, bytes) in program.slots.iter().enumerate() {
        writeln!(f, "  slot {index}: {bytes} bytes")?;
    }
    for (index, block) in program.blocks.iter().enumerate() {
        writeln!(f, "b{index}:")?;
        for op in &block.ops {
            writeln!(f, "  {}", Shown(op))?;
        }
        writeln!(f, "  {}", ShownEnd(&block.end))?;
    }
    Ok(())
}

struct Shown<'a>(&'a Op);

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Reg(reg) => format!("v{}", reg.0),
        Operand::Constant(value) => value.to_string(),
    }
}

fn type_of(size: Size, signed: bool) -> String {
    format!("{}{}", if signed { 's' } else { 'u' }, size.bytes() * 8)
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Op::Set { to, value } => write!(f, "v{} = {}", to.0, operand(*value)),
            Op::Binary { to, op, width, left, right } => {
                write!(f, "v{} = v{} {}{} {}", to.0, left.0, sign(*op), narrow(*width), operand(*right))
            }
            Op::Extend { to, from, size, signed } => write!(f, "v{} = {}(v{})", to.0, type_of(*size, *signed), from.0),
            Op::ContextAddress { to, offset } => write!(f, "v{} = context + {offset}", to.0),
            Op::SlotAddress { to, slot, offset } => write!(f, "v{} = slot {} + {offset}", to.0, slot.0),
            Op::MapAddress { to, map } => write!(f, "v{} = map {}", to.0, map.0),
            Op::LoadContext { to, offset, size, signed } => {
                write!(f, "v{} = {} context[{offset}]", to.0, type_of(*size, *signed))
            }
            Op::LoadSlot { to, slot, offset, size, signed } => {
                write!(f, "v{} = {} slot {}[{offset}]", to.0, type_of(*size, *signed), slot.0)
            }
            Op::Load { to, base, offset, size, signed } => {
                write!(f, "v{} = {} v{}[{offset}]", to.0, type_of(*size, *signed), base.0)
            }
            Op::StoreSlot { slot, offset, size, value } => {
                write!(f, "slot {}[{offset}] = {} {}", slot.0, type_of(*size, false), operand(*value))
            }
            Op::Store { base, offset, size, value } => {
                write!(f, "v{}[{offset}] = {} {}", base.0, type_of(*size, false), operand(*value))
            }
            Op::AtomicAdd { base, offset, value } => write!(f, "atomic v{}[{offset}] += v{}", base.0, value.0),
            Op::Call { to, helper, arguments } => {
                if let Some(to) = to {
                    write!(f, "v{} = ", to.0)?;
                }
                let arguments: Vec<_> = arguments.iter().map(|argument| operand(*argument)).collect();
                write!(f, "{}({})", helper.name(), arguments.join(", "))
            }
        }
    }
}

struct ShownEnd<'a>(&'a End);

impl fmt::Display for ShownEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            End::Jump(target) => write!(f, "jump b{}", target.0),
            End::Return(value) => write!(f, "return {}", operand(*value)),
            End::Branch { test, width, left, right, then, otherwise } => {
                let (test, narrow) = (test_sign(*test), narrow(*width));
                write!(f, "if v{} {test}{narrow} {} b{} else b{}", left.0, operand(*right), then.0, otherwise.0)
            }
        }
    }
}

fn narrow(width: Width) -> &'static str {
    match width {
        Width::W32 => ".32",
        Width::W64 => "",
    }
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Sar => "s>>",
    }
}

fn test_sign(test: Test) -> &'static str {
    match test {
        Test::Eq => "==",
        Test::Ne => "!=",
        Test::Lt => "<",
        Test::Le => "<=",
        Test::Gt => ">",
        Test::Ge => ">=",
        Test::SignedLt => "s<",
        Test::SignedLe => "s<=",
        Test::SignedGt => "s>",
        Test::SignedGe => "s>=",
        Test::Bits => "&",
    }
}

//! The IR as text, for tests, golden files and people who look for a fault.

use std::fmt;

use super::{
    AtomicOp, Body, End, IrBinaryOp, IrUnaryOp, MapKind, Memory, Op, Operand, Parameter, Program, Size, Test, Width,
};

pub(super) fn program(program: &Program, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "program {} ({}", program.name, program.kind.section())?;
    writeln!(f, "{}{})", if program.target.is_empty() { "" } else { "/" }, program.target)?;
    for (index, map) in program.maps.iter().enumerate() {
        write!(f, "  map {index}: {} {}", map.name, kind_name(map.kind))?;
        write!(f, " {} -> {} x {}", map.key_bytes, map.value_bytes, map.max_entries)?;
        writeln!(f, "{}", if map.flags == 0 { String::new() } else { format!(" flags {:#x}", map.flags) })?;
    }
    body(&program.body, f)?;
    for (index, function) in program.functions.iter().enumerate() {
        let parameters: Vec<_> = function.parameters.iter().map(parameter).collect();
        writeln!(f, "function {index}: {}({})", function.name, parameters.join(", "))?;
        body(&function.body, f)?;
    }
    Ok(())
}

fn kind_name(kind: MapKind) -> &'static str {
    match kind {
        MapKind::Hash => "hash",
        MapKind::Array => "array",
        MapKind::PerCpuHash => "per-CPU hash",
        MapKind::PerCpuArray => "per-CPU array",
        MapKind::LruHash => "LRU hash",
        MapKind::LruPerCpuHash => "per-CPU LRU hash",
        MapKind::StackTrace => "stacks",
        MapKind::RingBuffer => "ring",
        MapKind::Global => "global",
        MapKind::Constant => "constant",
    }
}

fn parameter(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Number => "number".to_owned(),
        Parameter::Context => "context".to_owned(),
        Parameter::Frame { bytes, context: None } => format!("frame of {bytes}"),
        Parameter::Frame { bytes, context: Some(at) } => format!("frame of {bytes} with the context at {at}"),
        Parameter::Map(map) => format!("map {}", map.0),
        Parameter::Key(map) => format!("key of map {}", map.0),
        Parameter::Value(map) => format!("value of map {}", map.0),
        Parameter::MaybeValue(map) => format!("value of map {} or null", map.0),
    }
}

fn body(body: &Body, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, bytes) in body.slots.iter().enumerate() {
        writeln!(f, "  slot {index}: {bytes} bytes")?;
    }
    for (index, block) in body.blocks.iter().enumerate() {
        writeln!(f, "b{index}:")?;
        for op in &block.ops {
            writeln!(f, "  {}", ShownOp(op))?;
        }
        writeln!(f, "  {}", ShownEnd(&block.end))?;
    }
    Ok(())
}

struct ShownOp<'a>(&'a Op);

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Reg(reg) => format!("v{}", reg.0),
        Operand::Constant(value) => value.to_string(),
    }
}

fn memory(memory: &Memory) -> String {
    match memory {
        Memory::Slot(slot, offset) => format!("slot {}[{offset}]", slot.0),
        Memory::Pointer(reg, offset) => format!("v{}[{offset}]", reg.0),
        Memory::Context(offset) => format!("context[{offset}]"),
    }
}

fn atomic_sign(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "+",
        AtomicOp::And => "&",
        AtomicOp::Or => "|",
        AtomicOp::Xor => "^",
        AtomicOp::Exchange => "",
    }
}

fn type_of(size: Size, signed: bool) -> String {
    format!("{}{}", if signed { 's' } else { 'u' }, size.bytes() * 8)
}

impl fmt::Display for ShownOp<'_> {
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
            Op::Atomic { to, op, width, base, offset, value } => {
                let to = to.map_or(String::new(), |to| format!("v{} = ", to.0));
                let (sign, narrow) = (atomic_sign(*op), narrow(*width));
                write!(f, "{to}atomic v{}[{offset}] {sign}={narrow} v{}", base.0, value.0)
            }
            Op::CompareExchange { to, width, base, offset, expected, value } => {
                let (narrow, expected) = (narrow(*width), operand(*expected));
                write!(f, "v{} = atomic v{}[{offset}] if {expected} ={narrow} v{}", to.0, base.0, value.0)
            }
            Op::Copy { to, from, bytes } => write!(f, "{} = {} bytes {}", memory(to), bytes, memory(from)),
            Op::Zero { to, bytes } => write!(f, "{} = {} bytes zero", memory(to), bytes),
            Op::Untype { to, from } => write!(f, "v{} = number v{}", to.0, from.0),
            Op::Position(position) => write!(f, "at {}:{}", position.line, position.column),
            Op::Unary { to, op, width, from } => {
                let name = match op {
                    IrUnaryOp::Negate => "-",
                    IrUnaryOp::Not => "~",
                    IrUnaryOp::Swap16 => "swap16 ",
                    IrUnaryOp::Swap32 => "swap32 ",
                    IrUnaryOp::Swap64 => "swap64 ",
                };
                write!(f, "v{} = {name}{}v{}", to.0, narrow(*width), from.0)
            }
            Op::FunctionAddress { to, function } => write!(f, "v{} = function {}", to.0, function.0),
            Op::ArrayValue { to, map, index } => write!(f, "v{} = address of map {}[{index}]", to.0, map.0),
            Op::GlobalAddress { to, map, offset } => write!(f, "v{} = address of map {} + {offset}", to.0, map.0),
            Op::StoreContext { slot, offset } => write!(f, "slot {}[{offset}] = context", slot.0),
            Op::CallFunction { to, function, arguments } => {
                if let Some(to) = to {
                    write!(f, "v{} = ", to.0)?;
                }
                let arguments: Vec<_> = arguments.iter().map(|argument| operand(*argument)).collect();
                write!(f, "function {}({})", function.0, arguments.join(", "))
            }
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

fn sign(op: IrBinaryOp) -> &'static str {
    match op {
        IrBinaryOp::Add => "+",
        IrBinaryOp::Sub => "-",
        IrBinaryOp::Mul => "*",
        IrBinaryOp::Div => "/",
        IrBinaryOp::Mod => "%",
        IrBinaryOp::SignedDiv => "s/",
        IrBinaryOp::SignedMod => "s%",
        IrBinaryOp::And => "&",
        IrBinaryOp::Or => "|",
        IrBinaryOp::Xor => "^",
        IrBinaryOp::Shl => "<<",
        IrBinaryOp::Shr => ">>",
        IrBinaryOp::Sar => "s>>",
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

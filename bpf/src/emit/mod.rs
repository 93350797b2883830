//! From IR with places to instructions.

mod compute;
mod transfer;

use crate::{
    error::CompileError,
    instruction::{Instruction, PSEUDO_FUNC, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, Second},
    ir::{
        BlockId, Body, End, FunctionId, IrBinaryOp, MapId, Op, Operand, Parameter, Position, Program, Reg, Size,
        SlotId, Test, Width,
    },
    registers::{Allocation, Loops, RegisterLocation, context_register},
};

const RESULT: u8 = 0;
const FRAME: u8 = 10;
/// Free for operands that are on the stack; no virtual register is ever there.
const SCRATCH: [u8; 2] = [0, 5];
/// Put aside where an instruction needs a third.
const DISPLACED: u8 = 9;

/// The instructions of a body.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub instructions: Vec<Instruction>,
    /// Which instructions load the address of which map.
    pub maps: Vec<(usize, MapId)>,
    /// Which instructions refer to which function.
    pub functions: Vec<(usize, FunctionId)>,
    /// From which instruction on which place in the source counts.
    pub positions: Vec<(usize, Position)>,
    pub stack_bytes: u32,
}

struct Emitter<'a> {
    program: &'a Program,
    body: &'a Body,
    allocation: &'a Allocation,
    out: Vec<Instruction>,
    maps: Vec<(usize, MapId)>,
    functions: Vec<(usize, FunctionId)>,
    positions: Vec<(usize, Position)>,
    /// Jumps by index, and where they go.
    jumps: Vec<(usize, BlockId)>,
    /// Jumps by index to the end that returns 0 because an array had no value where it must have one.
    bails: Vec<usize>,
    loops: Loops,
}

pub(crate) fn emit(
    program: &Program,
    body: &Body,
    parameters: Option<&[Parameter]>,
    allocation: &Allocation,
) -> Result<Emitted, CompileError> {
    let mut emitter = Emitter {
        program,
        body,
        allocation,
        out: Vec::new(),
        maps: Vec::new(),
        functions: Vec::new(),
        positions: Vec::new(),
        jumps: Vec::new(),
        bails: Vec::new(),
        loops: Loops::of(body),
    };
    emitter.enter(parameters);
    let mut starts = Vec::with_capacity(body.blocks.len());
    for (index, block) in body.blocks.iter().enumerate() {
        starts.push(emitter.out.len());
        block.ops.iter().for_each(|op| emitter.op(op));
        emitter.end(&block.end, index);
    }
    emitter.bail();
    emitter.resolve_jumps(&starts)?;
    Ok(Emitted {
        instructions: emitter.out,
        maps: emitter.maps,
        functions: emitter.functions,
        positions: emitter.positions,
        stack_bytes: allocation.stack_bytes,
    })
}

fn small(value: i64) -> Option<i32> {
    i32::try_from(value).ok()
}

/// The low half, for operations on 32 bits.
fn low_half(value: i64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

fn wide(width: Width) -> bool {
    width == Width::W64
}

fn inverse(test: Test) -> Option<Test> {
    Some(match test {
        Test::Eq => Test::Ne,
        Test::Ne => Test::Eq,
        Test::Lt => Test::Ge,
        Test::Le => Test::Gt,
        Test::Gt => Test::Le,
        Test::Ge => Test::Lt,
        Test::SignedLt => Test::SignedGe,
        Test::SignedLe => Test::SignedGt,
        Test::SignedGt => Test::SignedLe,
        Test::SignedGe => Test::SignedLt,
        Test::Bits => return None,
    })
}

impl Emitter<'_> {
    fn place(&self, reg: Reg) -> RegisterLocation {
        self.allocation.places.get(reg.index()).copied().unwrap_or(RegisterLocation::Nowhere)
    }

    fn slot(&self, slot: SlotId, offset: u32) -> i16 {
        let base = self.allocation.slots.get(slot.index()).copied().unwrap_or(i16::MIN);
        base.saturating_add(i16::try_from(offset).unwrap_or(i16::MAX))
    }

    fn push(&mut self, instruction: Instruction) {
        self.out.push(instruction);
    }

    fn mov(&mut self, to: u8, from: u8) {
        if to != from {
            self.push(Instruction::mov(true, to, Second::Reg(from)));
        }
    }

    fn constant(&mut self, to: u8, value: i64) {
        match (small(value), u32::try_from(value)) {
            (Some(imm), _) => self.push(Instruction::mov(true, to, Second::Imm(imm))),
            // Clears the high half.
            (None, Ok(low)) => self.push(Instruction::mov(false, to, Second::Imm(low.cast_signed()))),
            (None, Err(_)) => self.out.extend(Instruction::constant(to, value)),
        }
    }

    /// The register that holds `reg`; loads it into `scratch` if it is on the stack.
    fn read(&mut self, reg: Reg, scratch: u8) -> u8 {
        match self.place(reg) {
            RegisterLocation::Register(register) => register,
            RegisterLocation::Stack(offset) => {
                self.push(Instruction::load(Size::B8, scratch, FRAME, offset));
                scratch
            }
            RegisterLocation::Nowhere => scratch,
        }
    }

    fn second(&mut self, operand: Operand, width: Width, scratch: u8) -> Second {
        match operand {
            Operand::Reg(reg) => Second::Reg(self.read(reg, scratch)),
            Operand::Constant(value) if width == Width::W32 => Second::Imm(low_half(value)),
            Operand::Constant(value) => match small(value) {
                Some(imm) => Second::Imm(imm),
                None => {
                    self.constant(scratch, value);
                    Second::Reg(scratch)
                }
            },
        }
    }

    /// The register in which to compute `to`; [`Self::written`] must follow.
    fn target(&self, to: Reg) -> u8 {
        match self.place(to) {
            RegisterLocation::Register(register) => register,
            RegisterLocation::Stack(_) | RegisterLocation::Nowhere => SCRATCH[0],
        }
    }

    fn written(&mut self, to: Reg, register: u8) {
        match self.place(to) {
            RegisterLocation::Register(place) => self.mov(place, register),
            RegisterLocation::Stack(offset) => {
                self.push(Instruction::store(Size::B8, FRAME, offset, Second::Reg(register)));
            }
            RegisterLocation::Nowhere => {}
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Set { to, value } => self.set(*to, *value),
            Op::Binary { to, op, width, left, right } => self.binary(*to, *op, *width, *left, *right),
            Op::Extend { to, from, size, signed } => {
                let register = self.target(*to);
                let from = self.read(*from, SCRATCH[0]);
                self.extend(register, from, *size, *signed);
                self.written(*to, register);
            }
            Op::ContextAddress { to, offset } => {
                let context = context_register(self.body);
                self.binary(*to, IrBinaryOp::Add, Width::W64, context, Operand::Constant(i64::from(*offset)));
            }
            Op::SlotAddress { to, slot, offset } => {
                let register = self.target(*to);
                self.frame_address(register, self.slot(*slot, *offset));
                self.written(*to, register);
            }
            Op::MapAddress { to, map } => self.wide_address(*to, *map, PSEUDO_MAP_FD, 0),
            Op::GlobalAddress { to, map, offset } => self.wide_address(*to, *map, PSEUDO_MAP_VALUE, *offset),
            Op::FunctionAddress { to, function } => {
                let register = self.target(*to);
                self.functions.push((self.out.len(), *function));
                let [mut first, second] = Instruction::constant(register, 0);
                first.src = PSEUDO_FUNC;
                self.out.extend([first, second]);
                self.written(*to, register);
            }
            Op::ArrayValue { to, map, index } => self.array_value(*to, *map, *index),
            Op::StoreContext { slot, offset } => {
                let context = self.read(context_register(self.body), SCRATCH[0]);
                let offset = self.slot(*slot, *offset);
                self.push(Instruction::store(Size::B8, FRAME, offset, Second::Reg(context)));
            }
            Op::Unary { to, op, width, from } => self.unary(*to, *op, *width, *from),
            Op::Untype { to, from } => {
                let register = self.target(*to);
                let from = self.read(*from, register);
                self.mov(register, from);
                // The verifier does not follow what becomes of a pointer here, and takes the result as a number.
                self.push(Instruction::negate(true, register));
                self.push(Instruction::negate(true, register));
                self.written(*to, register);
            }
            Op::CompareExchange { to, width, base, offset, expected, value } => {
                self.compare_exchange(*to, *width, (*base, *offset), *expected, *value);
            }
            Op::Atomic { to, op, width, base, offset, value } => {
                self.atomic(*to, *op, *width, (*base, *offset), *value);
            }
            Op::CallFunction { to, function, arguments } => {
                self.arguments(arguments);
                self.functions.push((self.out.len(), *function));
                self.push(Instruction::call_function());
                if let Some(to) = to {
                    self.written(*to, RESULT);
                }
            }
            // No place: what was said before goes on.
            Op::Position(position) if position.line == 0 => {}
            Op::Position(position) => {
                let here = self.out.len();
                // Of several places of one instruction the last counts.
                self.positions.pop_if(|(at, _)| *at == here);
                self.positions.push((here, *position));
            }
            // They were replaced by what they consist of.
            Op::Copy { .. } | Op::Zero { .. } => {}
            Op::LoadContext { to, offset, size, signed } => {
                let base = self.read(context_register(self.body), SCRATCH[1]);
                let offset = i16::try_from(*offset).unwrap_or(i16::MAX);
                self.load(*to, base, offset, *size, *signed);
            }
            Op::LoadSlot { to, slot, offset, size, signed } => {
                let offset = self.slot(*slot, *offset);
                self.load(*to, FRAME, offset, *size, *signed);
            }
            Op::Load { to, base, offset, size, signed } => {
                let base = self.read(*base, SCRATCH[1]);
                self.load(*to, base, *offset, *size, *signed);
            }
            Op::StoreSlot { slot, offset, size, value } => {
                let value = self.second(*value, store_width(*size), SCRATCH[1]);
                let offset = self.slot(*slot, *offset);
                self.push(Instruction::store(*size, FRAME, offset, value));
            }
            Op::Store { base, offset, size, value } => {
                // A value that is still in r0 needs no second scratch register.
                let in_result =
                    value.reg().is_some_and(|value| self.place(value) == RegisterLocation::Register(RESULT));
                let base = self.read(*base, SCRATCH[usize::from(in_result)]);
                let value = self.second(*value, store_width(*size), SCRATCH[1]);
                self.push(Instruction::store(*size, base, *offset, value));
            }
            Op::Call { to, helper, arguments } => self.call(*to, *helper, arguments),
        }
    }

    fn jump_to(&mut self, instruction: Instruction, target: BlockId) {
        self.jumps.push((self.out.len(), target));
        self.push(instruction);
    }

    /// Whether going from one block to another leaves a loop.
    fn leaves_loop(&self, from: usize, to: BlockId) -> bool {
        self.loops.is_left(from, to.index())
    }

    fn end(&mut self, end: &End, index: usize) {
        let next = index + 1;
        match end {
            End::Jump(target) if target.index() == next => {}
            End::Jump(target) => self.jump_to(Instruction::jump(), *target),
            End::Return(value) => {
                match value {
                    Operand::Constant(value) => self.constant(RESULT, *value),
                    Operand::Reg(reg) => {
                        let register = self.read(*reg, RESULT);
                        self.mov(RESULT, register);
                    }
                }
                self.push(Instruction::exit());
            }
            End::Branch { test, width, left, right, then, otherwise } => {
                let left = self.read(*left, SCRATCH[0]);
                let right = self.second(*right, *width, SCRATCH[1]);
                let branch = |test| Instruction::branch(wide(*width), test, left, right);
                // The verifier follows the way without a jump first and remembers the other, of which it has room for
                // 8192. So that way leaves the loop: else all ways out of all rounds would be remembered at once.
                let then_falls = match (self.leaves_loop(index, *then), self.leaves_loop(index, *otherwise)) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => then.index() == next,
                };
                let (test, jump, fall) = match inverse(*test) {
                    Some(inverse) if then_falls => (inverse, *otherwise, *then),
                    _ => (*test, *then, *otherwise),
                };
                self.jump_to(branch(test), jump);
                if fall.index() != next {
                    self.jump_to(Instruction::jump(), fall);
                }
            }
        }
    }

    fn resolve_jumps(&mut self, starts: &[usize]) -> Result<(), CompileError> {
        for (at, target) in &self.jumps {
            let start = starts.get(target.index()).copied().unwrap_or(0);
            let distance = i16::try_from(start as i64 - *at as i64 - 1);
            match (distance, self.out.get_mut(*at)) {
                (Ok(distance), Some(instruction)) => instruction.off = distance,
                _ => {
                    return Err(CompileError::Length {
                        program: self.program.name.clone(),
                        instructions: self.out.len(),
                        most: i16::MAX.unsigned_abs().into(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// A store of less than 8 bytes takes the low bytes of any constant.
fn store_width(size: Size) -> Width {
    if size == Size::B8 { Width::W64 } else { Width::W32 }
}

/// The kernel refuses constant distances that BPF would reduce.
fn shift_distance(op: IrBinaryOp, width: Width, right: Operand) -> Operand {
    let bits = if width == Width::W64 { 63 } else { 31 };
    match (op, right) {
        (IrBinaryOp::Shl | IrBinaryOp::Shr | IrBinaryOp::Sar, Operand::Constant(distance)) => {
            Operand::Constant(distance & bits)
        }
        _ => right,
    }
}

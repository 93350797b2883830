//! From IR with places to instructions.

use crate::{
    compile::{Code, CompileError},
    instruction::{Instruction, PSEUDO_MAP_FD, Second},
    ir::{BinaryOp, BlockId, End, Helper, Op, Operand, Program, Reg, Size, SlotId, Test, Width},
    registers::{Allocation, Place, context_register},
};

const RESULT: u8 = 0;
const CONTEXT: u8 = 1;
const FRAME: u8 = 10;
/// Free for operands that are on the stack; no virtual register is ever there.
const SCRATCH: [u8; 2] = [0, 5];

struct Emitter<'a> {
    program: &'a Program,
    allocation: &'a Allocation,
    out: Vec<Instruction>,
    maps: Vec<(usize, crate::ir::MapId)>,
    /// Jumps by index, and where they go.
    jumps: Vec<(usize, BlockId)>,
    loops: Vec<Loop>,
}

/// The blocks of a loop.
type Loop = Vec<bool>;

pub(crate) fn emit(program: &Program, allocation: &Allocation) -> Result<Code, CompileError> {
    let (out, maps, jumps, loops) = (Vec::new(), Vec::new(), Vec::new(), loops(program));
    let mut emitter = Emitter { program, allocation, out, maps, jumps, loops };
    emitter.keep_context();
    let mut starts = Vec::with_capacity(program.blocks.len());
    for (index, block) in program.blocks.iter().enumerate() {
        starts.push(emitter.out.len());
        block.ops.iter().for_each(|op| emitter.op(op));
        emitter.end(&block.end, index);
    }
    emitter.resolve_jumps(&starts)?;
    Ok(Code {
        name: program.name.clone(),
        kind: program.kind,
        maps: program.maps.clone(),
        instructions: emitter.out,
        map_references: emitter.maps,
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
    fn place(&self, reg: Reg) -> Place {
        self.allocation.places.get(reg.index()).copied().unwrap_or(Place::Nowhere)
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
            Place::Register(register) => register,
            Place::Stack(offset) => {
                self.push(Instruction::load(Size::B8, scratch, FRAME, offset));
                scratch
            }
            Place::Nowhere => scratch,
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
            Place::Register(register) => register,
            Place::Stack(_) | Place::Nowhere => SCRATCH[0],
        }
    }

    fn written(&mut self, to: Reg, register: u8) {
        match self.place(to) {
            Place::Register(place) => self.mov(place, register),
            Place::Stack(offset) => {
                self.push(Instruction::store(Size::B8, FRAME, offset, Second::Reg(register)));
            }
            Place::Nowhere => {}
        }
    }

    fn keep_context(&mut self) {
        match self.place(context_register(self.program)) {
            Place::Register(register) => self.mov(register, CONTEXT),
            Place::Stack(offset) => {
                self.push(Instruction::store(Size::B8, FRAME, offset, Second::Reg(CONTEXT)));
            }
            Place::Nowhere => {}
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
                let context = context_register(self.program);
                self.binary(*to, BinaryOp::Add, Width::W64, context, Operand::Constant(i64::from(*offset)));
            }
            Op::SlotAddress { to, slot, offset } => {
                let register = self.target(*to);
                let offset = i32::from(self.slot(*slot, *offset));
                self.mov(register, FRAME);
                self.push(Instruction::alu(true, BinaryOp::Add, register, Second::Imm(offset)));
                self.written(*to, register);
            }
            Op::MapAddress { to, map } => {
                let register = self.target(*to);
                self.maps.push((self.out.len(), *map));
                let [mut first, second] = Instruction::constant(register, 0);
                first.src = PSEUDO_MAP_FD;
                self.out.extend([first, second]);
                self.written(*to, register);
            }
            Op::LoadContext { to, offset, size, signed } => {
                let base = self.read(context_register(self.program), SCRATCH[1]);
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
                let base = self.read(*base, SCRATCH[0]);
                let value = self.second(*value, store_width(*size), SCRATCH[1]);
                self.push(Instruction::store(*size, base, *offset, value));
            }
            Op::AtomicAdd { base, offset, value } => {
                let base = self.read(*base, SCRATCH[0]);
                let value = self.read(*value, SCRATCH[1]);
                self.push(Instruction::atomic_add(base, *offset, value));
            }
            Op::Call { to, helper, arguments } => self.call(*to, *helper, arguments),
        }
    }

    fn set(&mut self, to: Reg, value: Operand) {
        let register = self.target(to);
        match value {
            Operand::Constant(value) => self.constant(register, value),
            Operand::Reg(from) => {
                let from = self.read(from, register);
                self.mov(register, from);
            }
        }
        self.written(to, register);
    }

    fn binary(&mut self, to: Reg, op: BinaryOp, width: Width, left: Reg, right: Operand) {
        let right = self.second(shift_distance(op, width, right), width, SCRATCH[1]);
        let left_place = self.place(left);
        let register = match (self.target(to), right) {
            // The result must not overwrite the right operand before it is used.
            (target, Second::Reg(right)) if target == right && left_place != Place::Register(target) => SCRATCH[0],
            (target, _) => target,
        };
        let left = self.read(left, register);
        self.mov(register, left);
        self.push(Instruction::alu(wide(width), op, register, right));
        self.written(to, register);
    }

    fn extend(&mut self, to: u8, from: u8, size: Size, signed: bool) {
        match (size, signed) {
            (Size::B8, _) => self.mov(to, from),
            (Size::B4, false) => self.push(Instruction::mov(false, to, Second::Reg(from))),
            (_, false) => {
                self.mov(to, from);
                let mask = if size == Size::B1 { 0xff } else { 0xffff };
                self.push(Instruction::alu(true, BinaryOp::And, to, Second::Imm(mask)));
            }
            (_, true) => {
                self.mov(to, from);
                let distance = Second::Imm(if size == Size::B1 {
                    56
                } else if size == Size::B2 {
                    48
                } else {
                    32
                });
                self.push(Instruction::alu(true, BinaryOp::Shl, to, distance));
                self.push(Instruction::alu(true, BinaryOp::Sar, to, distance));
            }
        }
    }

    fn load(&mut self, to: Reg, base: u8, offset: i16, size: Size, signed: bool) {
        let register = self.target(to);
        self.push(Instruction::load(size, register, base, offset));
        if signed {
            self.extend(register, register, size, true);
        }
        self.written(to, register);
    }

    /// Moves the arguments into r1 to r5, all at once as it were: first the registers, none overwritten before it was
    /// read, then what comes from the stack and the constants.
    fn call(&mut self, to: Option<Reg>, helper: Helper, arguments: &[Operand]) {
        let mut moves = Vec::<(u8, u8)>::new();
        let mut later = Vec::<(u8, Operand)>::new();
        for (argument, register) in arguments.iter().zip(1_u8..) {
            match argument {
                Operand::Reg(reg) => match self.place(*reg) {
                    Place::Register(from) => moves.push((register, from)),
                    Place::Stack(_) | Place::Nowhere => later.push((register, *argument)),
                },
                Operand::Constant(_) => later.push((register, *argument)),
            }
        }
        moves.retain(|(to, from)| to != from);
        while let Some((_, first)) = moves.first().copied() {
            let harmless = moves.iter().position(|(to, _)| moves.iter().all(|(_, from)| from != to));
            match harmless {
                Some(at) => {
                    let (to, from) = moves.swap_remove(at);
                    self.mov(to, from);
                }
                // A ring: one register of it is kept aside.
                None => {
                    self.mov(SCRATCH[0], first);
                    moves.iter_mut().filter(|(_, from)| *from == first).for_each(|entry| entry.1 = SCRATCH[0]);
                }
            }
        }
        for (register, argument) in later {
            match argument {
                Operand::Constant(value) => self.constant(register, value),
                Operand::Reg(reg) => {
                    self.read(reg, register);
                }
            }
        }
        self.push(Instruction::call(helper));
        if let Some(to) = to {
            self.written(to, RESULT);
        }
    }

    fn jump_to(&mut self, instruction: Instruction, target: BlockId) {
        self.jumps.push((self.out.len(), target));
        self.push(instruction);
    }

    /// Whether going from one block to another leaves a loop.
    fn leaves_loop(&self, from: usize, to: BlockId) -> bool {
        self.loops.iter().any(|body| body.get(from) == Some(&true) && body.get(to.index()) != Some(&true))
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

/// The loops of a program whose blocks are in order: each jump back closes one, of the blocks that lead to it without
/// passing its head.
fn loops(program: &Program) -> Vec<Loop> {
    let mut predecessors = vec![Vec::new(); program.blocks.len()];
    let mut closing = Vec::new();
    for (index, block) in program.blocks.iter().enumerate() {
        for target in block.end.targets() {
            if let Some(list) = predecessors.get_mut(target.index()) {
                list.push(index);
            }
            if target.index() <= index {
                closing.push((index, target.index()));
            }
        }
    }
    let body = |(last, head): (usize, usize)| {
        let mut body = vec![false; program.blocks.len()];
        let mut pending = vec![last, head];
        while let Some(index) = pending.pop() {
            if let Some(inside @ false) = body.get_mut(index) {
                *inside = true;
                if index != head {
                    pending.extend(predecessors.get(index).into_iter().flatten());
                }
            }
        }
        body
    };
    closing.into_iter().map(body).collect()
}

/// A store of less than 8 bytes takes the low bytes of any constant.
fn store_width(size: Size) -> Width {
    if size == Size::B8 { Width::W64 } else { Width::W32 }
}

/// The kernel refuses constant distances that BPF would reduce.
fn shift_distance(op: BinaryOp, width: Width, right: Operand) -> Operand {
    let bits = if width == Width::W64 { 63 } else { 31 };
    match (op, right) {
        (BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Sar, Operand::Constant(distance)) => {
            Operand::Constant(distance & bits)
        }
        _ => right,
    }
}

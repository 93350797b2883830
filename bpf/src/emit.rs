//! From IR with places to instructions.

use crate::{
    compile::CompileError,
    instruction::{Instruction, PSEUDO_FUNC, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, Second},
    ir::{
        AtomicOp, BinaryOp, BlockId, Body, End, FunctionId, Helper, MapId, Op, Operand, Parameter, Position, Program,
        Reg, Size, SlotId, Test, UnaryOp, Width,
    },
    registers::{Allocation, Loops, Place, context_register},
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

    /// Puts what arrives in r1 to r5 where it is wanted, all at once as it were: the context, or the parameters of a
    /// function.
    fn enter(&mut self, parameters: Option<&[Parameter]>) {
        let context = self.place(context_register(self.body));
        let mut arrivals = Vec::new();
        let mut in_frame = None;
        match parameters {
            None => arrivals.push((context, 1)),
            Some(parameters) => {
                for ((index, parameter), from) in (0..).zip(parameters).zip(1_u8..) {
                    arrivals.push((self.place(Reg(index)), from));
                    match parameter {
                        Parameter::Context => arrivals.push((context, from)),
                        Parameter::Frame { context: Some(offset), .. } => in_frame = Some((from, *offset)),
                        _ => {}
                    }
                }
            }
        }
        let mut spare = SCRATCH[0];
        if let Some((from, offset)) = in_frame.filter(|_| context != Place::Nowhere) {
            let offset = i16::try_from(offset).unwrap_or(i16::MAX);
            self.push(Instruction::load(Size::B8, RESULT, from, offset));
            arrivals.push((context, RESULT));
            // A function with the context in a frame has 4 parameters at most.
            spare = SCRATCH[1];
        }
        let mut moves = Vec::new();
        for (place, from) in arrivals {
            match place {
                Place::Register(to) => moves.push((to, from)),
                Place::Stack(offset) => self.push(Instruction::store(Size::B8, FRAME, offset, Second::Reg(from))),
                Place::Nowhere => {}
            }
        }
        self.move_all(moves, spare);
    }

    /// Moves between registers, none overwritten before it was read. `spare` holds nothing.
    fn move_all(&mut self, mut moves: Vec<(u8, u8)>, spare: u8) {
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
                    self.mov(spare, first);
                    moves.iter_mut().filter(|(_, from)| *from == first).for_each(|entry| entry.1 = spare);
                }
            }
        }
    }

    /// What an array has no value for leads here.
    fn bail(&mut self) {
        let here = self.out.len();
        if self.bails.is_empty() {
            return;
        }
        self.constant(RESULT, 0);
        self.push(Instruction::exit());
        for at in std::mem::take(&mut self.bails) {
            // Too far is found by `resolve_jumps`, which sees the whole length.
            if let (Some(instruction), Ok(distance)) = (self.out.get_mut(at), i16::try_from(here - at - 1)) {
                instruction.off = distance;
            }
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
                self.binary(*to, BinaryOp::Add, Width::W64, context, Operand::Constant(i64::from(*offset)));
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
                let in_result = value.reg().is_some_and(|value| self.place(value) == Place::Register(RESULT));
                let base = self.read(*base, SCRATCH[usize::from(in_result)]);
                let value = self.second(*value, store_width(*size), SCRATCH[1]);
                self.push(Instruction::store(*size, base, *offset, value));
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

    /// Moves the arguments into r1 to r5, all at once as it were: first the registers, then what comes from the stack
    /// and the constants.
    fn arguments(&mut self, arguments: &[Operand]) {
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
        self.move_all(moves, SCRATCH[0]);
        for (register, argument) in later {
            match argument {
                Operand::Constant(value) => self.constant(register, value),
                Operand::Reg(reg) => {
                    self.read(reg, register);
                }
            }
        }
    }

    fn call(&mut self, to: Option<Reg>, helper: Helper, arguments: &[Operand]) {
        self.arguments(arguments);
        self.push(Instruction::call(helper));
        if let Some(to) = to {
            self.written(to, RESULT);
        }
    }

    fn frame_address(&mut self, register: u8, offset: i16) {
        self.mov(register, FRAME);
        self.push(Instruction::alu(true, BinaryOp::Add, register, Second::Imm(i32::from(offset))));
    }

    fn wide_address(&mut self, to: Reg, map: MapId, kind: u8, offset: u32) {
        let register = self.target(to);
        self.load_map(register, map, kind, offset);
        self.written(to, register);
    }

    fn load_map(&mut self, register: u8, map: MapId, kind: u8, offset: u32) {
        self.maps.push((self.out.len(), map));
        let [mut first, mut second] = Instruction::constant(register, 0);
        first.src = kind;
        second.imm = offset.cast_signed();
        self.out.extend([first, second]);
    }

    /// A lookup whose key is a constant in a cell of its own, and the question whether it found something.
    fn array_value(&mut self, to: Reg, map: MapId, index: u32) {
        let key = self.allocation.key_cell;
        self.push(Instruction::store(Size::B4, FRAME, key, Second::Imm(index.cast_signed())));
        self.load_map(1, map, PSEUDO_MAP_FD, 0);
        self.frame_address(2, key);
        self.push(Instruction::call(Helper::MapLookup));
        self.bails.push(self.out.len());
        self.push(Instruction::branch(true, Test::Eq, RESULT, Second::Imm(0)));
        self.written(to, RESULT);
    }

    fn unary(&mut self, to: Reg, op: UnaryOp, width: Width, from: Reg) {
        let register = self.target(to);
        let from = self.read(from, register);
        match op {
            UnaryOp::Negate => {
                self.mov(register, from);
                self.push(Instruction::negate(wide(width), register));
            }
            UnaryOp::Not => {
                self.mov(register, from);
                self.push(Instruction::alu(wide(width), BinaryOp::Xor, register, Second::Imm(-1)));
            }
            UnaryOp::Swap16 | UnaryOp::Swap32 | UnaryOp::Swap64 => {
                self.mov(register, from);
                let bits = match op {
                    UnaryOp::Swap16 => 16,
                    UnaryOp::Swap32 => 32,
                    _ => 64,
                };
                self.push(Instruction::swap(register, bits));
            }
        }
        self.written(to, register);
    }

    fn atomic(&mut self, to: Option<Reg>, op: AtomicOp, width: Width, (base, offset): (Reg, i16), value: Reg) {
        let base = self.read(base, SCRATCH[0]);
        let fetch = to.is_some() || op == AtomicOp::Exchange;
        let value = self.read(value, SCRATCH[1]);
        if !fetch {
            return self.push(Instruction::atomic(wide(width), op, false, base, offset, value));
        }
        // The instruction leaves what was there in the register of the value, which may still be wanted.
        self.mov(SCRATCH[1], value);
        self.push(Instruction::atomic(wide(width), op, true, base, offset, SCRATCH[1]));
        if let Some(to) = to {
            self.written(to, SCRATCH[1]);
        }
    }

    fn compare_exchange(&mut self, to: Reg, width: Width, base: (Reg, i16), expected: Operand, value: Reg) {
        let (base, offset) = base;
        let value = self.read(value, SCRATCH[1]);
        match expected {
            Operand::Constant(expected) => self.constant(RESULT, expected),
            Operand::Reg(expected) => {
                let expected = self.read(expected, RESULT);
                self.mov(RESULT, expected);
            }
        }
        // With r0 and r5 taken, a base on the stack displaces a register for the moment.
        let displaces = value == SCRATCH[1] && matches!(self.place(base), Place::Stack(_));
        let cell = self.allocation.key_cell;
        if displaces {
            self.push(Instruction::store(Size::B8, FRAME, cell, Second::Reg(DISPLACED)));
        }
        let base_register = self.read(base, if displaces { DISPLACED } else { SCRATCH[1] });
        self.push(Instruction::compare_exchange(wide(width), base_register, offset, value));
        if displaces {
            self.push(Instruction::load(Size::B8, DISPLACED, FRAME, cell));
        }
        self.written(to, RESULT);
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
fn shift_distance(op: BinaryOp, width: Width, right: Operand) -> Operand {
    let bits = if width == Width::W64 { 63 } else { 31 };
    match (op, right) {
        (BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Sar, Operand::Constant(distance)) => {
            Operand::Constant(distance & bits)
        }
        _ => right,
    }
}

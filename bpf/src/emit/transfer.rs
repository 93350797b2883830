//! Into the body and out of it: parameters, calls, and what they need.

use super::{Emitter, FRAME, RESULT, SCRATCH};
use crate::{
    instruction::{Instruction, PSEUDO_MAP_FD, Second},
    ir::{Helper, IrBinaryOp, MapId, Operand, Parameter, Reg, Size, Test},
    registers::{RegisterLocation, context_register},
};

impl Emitter<'_> {
    /// Puts what arrives in r1 to r5 where it is wanted, all at once as it were: the context, or the parameters of a
    /// function.
    pub(super) fn enter(&mut self, parameters: Option<&[Parameter]>) {
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
        if let Some((from, offset)) = in_frame.filter(|_| context != RegisterLocation::Nowhere) {
            let offset = i16::try_from(offset).unwrap_or(i16::MAX);
            self.push(Instruction::load(Size::B8, RESULT, from, offset));
            arrivals.push((context, RESULT));
            // A function with the context in a frame has 4 parameters at most.
            spare = SCRATCH[1];
        }
        let mut moves = Vec::new();
        for (place, from) in arrivals {
            match place {
                RegisterLocation::Register(to) => moves.push((to, from)),
                RegisterLocation::Stack(offset) => {
                    self.push(Instruction::store(Size::B8, FRAME, offset, Second::Reg(from)))
                }
                RegisterLocation::Nowhere => {}
            }
        }
        self.move_all(moves, spare);
    }

    /// Moves between registers, none overwritten before it was read. `spare` holds nothing.
    pub(super) fn move_all(&mut self, mut moves: Vec<(u8, u8)>, spare: u8) {
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
    pub(super) fn bail(&mut self) {
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

    /// Moves the arguments into r1 to r5, all at once as it were: first the registers, then what comes from the stack
    /// and the constants.
    pub(super) fn arguments(&mut self, arguments: &[Operand]) {
        let mut moves = Vec::<(u8, u8)>::new();
        let mut later = Vec::<(u8, Operand)>::new();
        for (argument, register) in arguments.iter().zip(1_u8..) {
            match argument {
                Operand::Reg(reg) => match self.place(*reg) {
                    RegisterLocation::Register(from) => moves.push((register, from)),
                    RegisterLocation::Stack(_) | RegisterLocation::Nowhere => later.push((register, *argument)),
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

    pub(super) fn call(&mut self, to: Option<Reg>, helper: Helper, arguments: &[Operand]) {
        self.arguments(arguments);
        self.push(Instruction::call(helper));
        if let Some(to) = to {
            self.written(to, RESULT);
        }
    }

    pub(super) fn frame_address(&mut self, register: u8, offset: i16) {
        self.mov(register, FRAME);
        self.push(Instruction::alu(true, IrBinaryOp::Add, register, Second::Imm(i32::from(offset))));
    }

    pub(super) fn wide_address(&mut self, to: Reg, map: MapId, kind: u8, offset: u32) {
        let register = self.target(to);
        self.load_map(register, map, kind, offset);
        self.written(to, register);
    }

    pub(super) fn load_map(&mut self, register: u8, map: MapId, kind: u8, offset: u32) {
        self.maps.push((self.out.len(), map));
        let [mut first, mut second] = Instruction::constant(register, 0);
        first.src = kind;
        second.imm = offset.cast_signed();
        self.out.extend([first, second]);
    }

    /// A lookup whose key is a constant in a cell of its own, and the question whether it found something.
    pub(super) fn array_value(&mut self, to: Reg, map: MapId, index: u32) {
        let key = self.allocation.key_cell;
        self.push(Instruction::store(Size::B4, FRAME, key, Second::Imm(index.cast_signed())));
        self.load_map(1, map, PSEUDO_MAP_FD, 0);
        self.frame_address(2, key);
        self.push(Instruction::call(Helper::MapLookup));
        self.bails.push(self.out.len());
        self.push(Instruction::branch(true, Test::Eq, RESULT, Second::Imm(0)));
        self.written(to, RESULT);
    }
}

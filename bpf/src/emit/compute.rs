//! Operations on numbers and memory.

use super::{DISPLACED, Emitter, FRAME, RESULT, SCRATCH, shift_distance, wide};
use crate::{
    instruction::{Instruction, Second},
    ir::{AtomicOp, IrBinaryOp, IrUnaryOp, Operand, Reg, Size, Width},
    registers::RegisterLocation,
};

impl Emitter<'_> {
    pub(super) fn set(&mut self, to: Reg, value: Operand) {
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

    pub(super) fn binary(&mut self, to: Reg, op: IrBinaryOp, width: Width, left: Reg, right: Operand) {
        let right = self.second(shift_distance(op, width, right), width, SCRATCH[1]);
        let left_place = self.place(left);
        let register = match (self.target(to), right) {
            // The result must not overwrite the right operand before it is used.
            (target, Second::Reg(right)) if target == right && left_place != RegisterLocation::Register(target) => {
                SCRATCH[0]
            }
            (target, _) => target,
        };
        let left = self.read(left, register);
        self.mov(register, left);
        self.push(Instruction::alu(wide(width), op, register, right));
        self.written(to, register);
    }

    pub(super) fn extend(&mut self, to: u8, from: u8, size: Size, signed: bool) {
        match (size, signed) {
            (Size::B8, _) => self.mov(to, from),
            (Size::B4, false) => self.push(Instruction::mov(false, to, Second::Reg(from))),
            (_, false) => {
                self.mov(to, from);
                let mask = if size == Size::B1 { 0xff } else { 0xffff };
                self.push(Instruction::alu(true, IrBinaryOp::And, to, Second::Imm(mask)));
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
                self.push(Instruction::alu(true, IrBinaryOp::Shl, to, distance));
                self.push(Instruction::alu(true, IrBinaryOp::Sar, to, distance));
            }
        }
    }

    pub(super) fn unary(&mut self, to: Reg, op: IrUnaryOp, width: Width, from: Reg) {
        let register = self.target(to);
        let from = self.read(from, register);
        match op {
            IrUnaryOp::Negate => {
                self.mov(register, from);
                self.push(Instruction::negate(wide(width), register));
            }
            IrUnaryOp::Not => {
                self.mov(register, from);
                self.push(Instruction::alu(wide(width), IrBinaryOp::Xor, register, Second::Imm(-1)));
            }
            IrUnaryOp::Swap16 | IrUnaryOp::Swap32 | IrUnaryOp::Swap64 => {
                self.mov(register, from);
                let bits = match op {
                    IrUnaryOp::Swap16 => 16,
                    IrUnaryOp::Swap32 => 32,
                    _ => 64,
                };
                self.push(Instruction::swap(register, bits));
            }
        }
        self.written(to, register);
    }

    pub(super) fn load(&mut self, to: Reg, base: u8, offset: i16, size: Size, signed: bool) {
        let register = self.target(to);
        self.push(Instruction::load(size, register, base, offset));
        if signed {
            self.extend(register, register, size, true);
        }
        self.written(to, register);
    }

    pub(super) fn atomic(
        &mut self,
        to: Option<Reg>,
        op: AtomicOp,
        width: Width,
        (base, offset): (Reg, i16),
        value: Reg,
    ) {
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

    pub(super) fn compare_exchange(&mut self, to: Reg, width: Width, base: (Reg, i16), expected: Operand, value: Reg) {
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
        let displaces = value == SCRATCH[1] && matches!(self.place(base), RegisterLocation::Stack(_));
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
}

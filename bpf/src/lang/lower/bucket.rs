//! Which bucket of a histogram a number belongs to.

use bathyscope_plan::Aggregation;

use super::program::Lower;
use crate::ir::{IrBinaryOp, IrUnaryOp, Operand, Reg, Test};

impl Lower<'_> {
    /// The bucket of a number: 0 for negative ones; else one for each number below `2^bits`, and then `2^bits` for each
    /// power of two.
    pub(super) fn hist_bucket(&mut self, number: Operand, bits: u8, unsigned: bool) -> Operand {
        if let Operand::Constant(number) = number {
            return Operand::Constant(hist_bucket_of(number, bits, unsigned));
        }
        let number = self.in_register(number);
        let result = self.b.set(0);
        let done = self.b.block();
        if !unsigned {
            let positive = self.b.block();
            self.b.branch(Test::SignedLt, number, 0, done, positive);
            self.b.switch_to(positive);
        }
        if bits == 0 {
            let length = self.bit_length(number);
            let bucket = self.b.binary(IrBinaryOp::Add, length, 1);
            self.b.assign(result, bucket);
        } else {
            let (small, large) = (self.b.block(), self.b.block());
            self.b.branch(Test::Lt, number, 1 << bits, small, large);
            self.b.switch_to(small);
            let bucket = self.b.binary(IrBinaryOp::Add, number, 1);
            self.b.assign(result, bucket);
            self.b.jump(done);
            self.b.switch_to(large);
            let length = self.bit_length(number);
            // The power of two, less the bits below it that count.
            let level = self.b.binary(IrBinaryOp::Sub, length, i64::from(bits) + 1);
            let level = self.b.binary(IrBinaryOp::And, level, 63);
            let low = self.b.binary(IrBinaryOp::Shr, number, level);
            let low = self.b.binary(IrBinaryOp::And, low, (1 << bits) - 1);
            let next = self.b.binary(IrBinaryOp::Add, level, 1);
            let base = self.b.binary(IrBinaryOp::Shl, next, i64::from(bits));
            let bucket = self.b.binary(IrBinaryOp::Add, base, low);
            let bucket = self.b.binary(IrBinaryOp::Add, bucket, 1);
            self.b.assign(result, bucket);
        }
        self.b.jump(done);
        self.b.switch_to(done);
        result.into()
    }

    /// How many bits a number has, without branches: each step asks whether the upper half of the bits that are left has
    /// any, by the sign of a difference, and shifts them down if so.
    fn bit_length(&mut self, number: Reg) -> Reg {
        let length = self.b.binary(IrBinaryOp::Shr, number, 32);
        let to = self.b.unary(IrUnaryOp::Negate, length);
        self.b.assign(length, to);
        self.change_register(length, IrBinaryOp::Shr, 58);
        self.change_register(length, IrBinaryOp::And, 32);
        let rest = self.b.binary(IrBinaryOp::Shr, number, length);
        for half in [16_i64, 8, 4, 2, 1] {
            let step = self.b.set((1_i64 << half) - 1);
            self.change_register(step, IrBinaryOp::Sub, rest);
            // The sign bit, moved to where it stands for the number of bits.
            self.change_register(step, IrBinaryOp::Shr, 63 - i64::from(half.ilog2()));
            self.change_register(step, IrBinaryOp::And, half);
            self.change_register(rest, IrBinaryOp::Shr, step);
            self.change_register(length, IrBinaryOp::Or, step);
        }
        // What is left is 0 or 1.
        self.b.binary(IrBinaryOp::Add, length, rest)
    }

    pub(super) fn linear_bucket(&mut self, number: Operand, min: i64, max: i64, step: u64, unsigned: bool) -> Operand {
        let step = step.max(1).cast_signed();
        let last =
            i64::from(Aggregation::LinearHist { min, max, step: step.cast_unsigned() }.buckets().unwrap_or(2)) - 1;
        let number = self.in_register(number);
        let result = self.b.set(0);
        let [above, inside, done] = [(); 3].map(|()| self.b.block());
        // Above the signed numbers, every number is above all buckets.
        if unsigned {
            let small = self.b.block();
            self.b.branch(Test::SignedLt, number, 0, above, small);
            self.b.switch_to(small);
        }
        let from_min = self.b.block();
        self.b.branch(Test::SignedLt, number, min, done, from_min);
        self.b.switch_to(from_min);
        self.b.branch(Test::SignedGe, number, max, above, inside);
        self.b.switch_to(above);
        self.b.assign(result, last);
        self.b.jump(done);
        self.b.switch_to(inside);
        let distance = self.b.binary(IrBinaryOp::Sub, number, min);
        let full = self.b.binary(IrBinaryOp::Div, distance, step);
        let bucket = self.b.binary(IrBinaryOp::Add, full, 1);
        self.b.assign(result, bucket);
        self.b.jump(done);
        self.b.switch_to(done);
        result.into()
    }
}

/// The bucket of a constant.
fn hist_bucket_of(number: i64, bits: u8, unsigned: bool) -> i64 {
    if number < 0 && !unsigned {
        return 0;
    }
    let number = number.cast_unsigned();
    if number < 1 << bits {
        return number.cast_signed() + 1;
    }
    let level = number.ilog2() - u32::from(bits);
    let low = (number >> level) & ((1 << bits) - 1);
    ((i64::from(level) + 1) << bits) + low.cast_signed() + 1
}

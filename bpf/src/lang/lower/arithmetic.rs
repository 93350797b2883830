//! Arithmetic, by the width and sign of the result's type.

use bathyscope_plan::Type;

use super::{
    program::{Lower, is_signed},
    scalar::normal,
};
use crate::{
    ir::{IrBinaryOp, Op, Operand, Test, Width},
    lang::hir::ArithmeticOp,
};

impl Lower<'_> {
    pub(super) fn arithmetic(&mut self, op: ArithmeticOp, left: Operand, right: Operand, ty: &Type) -> Operand {
        use ArithmeticOp as A;
        let signed = is_signed(ty);
        if let (Operand::Constant(left), Operand::Constant(right)) = (left, right) {
            return Operand::Constant(normal(folded(op, left, right, signed), ty));
        }
        let op = match op {
            A::Add => IrBinaryOp::Add,
            A::Subtract => IrBinaryOp::Sub,
            A::Multiply => IrBinaryOp::Mul,
            A::Divide | A::Modulo => return self.division(op, left, right, ty),
            A::BitAnd => IrBinaryOp::And,
            A::BitOr => IrBinaryOp::Or,
            A::BitXor => IrBinaryOp::Xor,
            A::ShiftLeft | A::ShiftRight => return self.shift(op, left, right, ty),
        };
        // What is extended alike on both sides stays so without a carry.
        let carries = matches!(op, IrBinaryOp::Add | IrBinaryOp::Sub | IrBinaryOp::Mul);
        let left = self.in_register(left);
        let to = self.b.reg();
        let width = if carries && ty.bytes() == 4 && !signed { Width::W32 } else { Width::W64 };
        self.b.push(Op::Binary { to, op, width, left, right });
        if !carries || width == Width::W32 { to.into() } else { self.narrowed(to.into(), ty) }
    }

    fn division(&mut self, op: ArithmeticOp, left: Operand, right: Operand, ty: &Type) -> Operand {
        let divide = op == ArithmeticOp::Divide;
        if right == Operand::Constant(0) {
            return if divide { Operand::Constant(0) } else { left };
        }
        let op = match (divide, is_signed(ty)) {
            (true, true) => IrBinaryOp::SignedDiv,
            (true, false) => IrBinaryOp::Div,
            (false, true) => IrBinaryOp::SignedMod,
            (false, false) => IrBinaryOp::Mod,
        };
        let to = self.binary(op, left, right);
        // Only the smallest number by -1 leaves the type.
        if divide && is_signed(ty) { self.narrowed(to.into(), ty) } else { to.into() }
    }

    fn shift(&mut self, op: ArithmeticOp, left: Operand, right: Operand, ty: &Type) -> Operand {
        let (op, sign) = match (op, is_signed(ty)) {
            (ArithmeticOp::ShiftLeft, _) => (IrBinaryOp::Shl, false),
            (_, false) => (IrBinaryOp::Shr, false),
            (_, true) => (IrBinaryOp::Sar, true),
        };
        let left = self.in_register(left);
        let shifted: Operand = match right {
            Operand::Constant(0..=63) => self.b.binary(op, left, right).into(),
            Operand::Constant(_) if sign => self.b.binary(op, left, 63).into(),
            Operand::Constant(_) => return Operand::Constant(0),
            Operand::Reg(distance) if sign => {
                let distance = self.b.select(Test::Gt, Width::W64, distance, 63, 63, distance);
                self.b.binary(op, left, distance).into()
            }
            Operand::Reg(distance) => {
                let shifted = self.b.binary(op, left, distance);
                self.b.select(Test::Gt, Width::W64, distance, 63, 0, shifted).into()
            }
        };
        if op == IrBinaryOp::Shl { self.narrowed(shifted, ty) } else { shifted }
    }
}

/// What constants give; as the instructions would.
fn folded(op: ArithmeticOp, left: i64, right: i64, signed: bool) -> i64 {
    use ArithmeticOp as A;
    let (a, b) = (left.cast_unsigned(), right.cast_unsigned());
    match op {
        A::Add => left.wrapping_add(right),
        A::Subtract => left.wrapping_sub(right),
        A::Multiply => left.wrapping_mul(right),
        A::Divide if right == 0 => 0,
        A::Modulo if right == 0 => left,
        A::Divide if signed => left.wrapping_div(right),
        A::Modulo if signed => left.wrapping_rem(right),
        A::Divide => (a / b).cast_signed(),
        A::Modulo => (a % b).cast_signed(),
        A::BitAnd => left & right,
        A::BitOr => left | right,
        A::BitXor => left ^ right,
        A::ShiftLeft => {
            if b > 63 {
                0
            } else {
                left << b
            }
        }
        A::ShiftRight if signed => left >> b.min(63),
        A::ShiftRight => {
            if b > 63 {
                0
            } else {
                (a >> b).cast_signed()
            }
        }
    }
}

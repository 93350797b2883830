//! Conditions as branches, and truth values as numbers.

use super::{
    Result,
    program::{Lower, is_signed},
};
use crate::{
    ir::{BlockId, Operand, Test, Width},
    lang::hir::{CompareOp, TypedExpr, TypedExprKind},
};

impl Lower<'_> {
    /// Ends the block: goes to `yes` if the value is not 0, else to `no`.
    pub(super) fn branch_on(&mut self, expr: &TypedExpr, yes: BlockId, no: BlockId) -> Result<()> {
        match &expr.kind {
            TypedExprKind::Not(of) => return self.branch_on(of, no, yes),
            TypedExprKind::And(left, right) => {
                let next = self.b.block();
                self.branch_on(left, next, no)?;
                self.b.switch_to(next);
                return self.branch_on(right, yes, no);
            }
            TypedExprKind::Or(left, right) => {
                let next = self.b.block();
                self.branch_on(left, yes, next)?;
                self.b.switch_to(next);
                return self.branch_on(right, yes, no);
            }
            TypedExprKind::Compare { op, left, right } => return self.branch_compare(*op, left, right, yes, no),
            TypedExprKind::Same { left, right, most } => return self.branch_same(left, right, *most, yes, no),
            TypedExprKind::HasKey { map, key } => {
                let found = self.find_element(*map, key.as_deref())?;
                self.b.branch(Test::Ne, found, 0, yes, no);
                return Ok(());
            }
            TypedExprKind::Convert(of) if of.ty.bytes() <= expr.ty.bytes() && of.ty.is_scalar() => {
                return self.branch_on(of, yes, no);
            }
            TypedExprKind::Block(statements, value) => {
                self.statements(statements)?;
                return self.branch_on(value, yes, no);
            }
            _ => {}
        }
        match self.scalar(expr)? {
            Operand::Constant(value) => self.b.jump(if value == 0 { no } else { yes }),
            Operand::Reg(value) => self.b.branch(Test::Ne, value, 0, yes, no),
        }
        Ok(())
    }

    fn branch_compare(
        &mut self,
        op: CompareOp,
        left: &TypedExpr,
        right: &TypedExpr,
        yes: BlockId,
        no: BlockId,
    ) -> Result<()> {
        let signed = is_signed(&left.ty);
        let test = match (op, signed) {
            (CompareOp::Equal, _) => Test::Eq,
            (CompareOp::NotEqual, _) => Test::Ne,
            (CompareOp::Less, false) => Test::Lt,
            (CompareOp::LessEqual, false) => Test::Le,
            (CompareOp::Greater, false) => Test::Gt,
            (CompareOp::GreaterEqual, false) => Test::Ge,
            (CompareOp::Less, true) => Test::SignedLt,
            (CompareOp::LessEqual, true) => Test::SignedLe,
            (CompareOp::Greater, true) => Test::SignedGt,
            (CompareOp::GreaterEqual, true) => Test::SignedGe,
        };
        let left = self.scalar(left)?;
        let right = self.scalar(right)?;
        let (left, right, test) = match (left, right) {
            (Operand::Constant(_), Operand::Reg(right)) => (right, left, mirrored(test)),
            _ => (self.in_register(left), right, test),
        };
        self.b.branch(test, left, right, yes, no);
        Ok(())
    }

    /// 1 if the value is not 0, else 0.
    pub(super) fn truth_of(&mut self, expr: &TypedExpr) -> Result<Operand> {
        let (yes, no, join) = (self.b.block(), self.b.block(), self.b.block());
        self.branch_on(expr, yes, no)?;
        let to = self.b.reg();
        for (block, value) in [(yes, 1), (no, 0)] {
            self.b.switch_to(block);
            self.b.assign(to, value);
            self.b.jump(join);
        }
        self.b.switch_to(join);
        Ok(to.into())
    }

    /// The value, or another where it is greater (as a number without sign).
    pub(super) fn unless_greater(&mut self, value: Operand, most: i64) -> Operand {
        let value = self.in_register(value);
        self.b.select(Test::Gt, Width::W64, value, most, most, value).into()
    }
}

/// The test with its sides exchanged.
fn mirrored(test: Test) -> Test {
    match test {
        Test::Lt => Test::Gt,
        Test::Le => Test::Ge,
        Test::Gt => Test::Lt,
        Test::Ge => Test::Le,
        Test::SignedLt => Test::SignedGt,
        Test::SignedLe => Test::SignedGe,
        Test::SignedGt => Test::SignedLt,
        Test::SignedGe => Test::SignedLe,
        Test::Eq | Test::Ne | Test::Bits => test,
    }
}

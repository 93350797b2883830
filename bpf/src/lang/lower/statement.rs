//! Statements.

use bathyscope_plan::Diagnostic;

use super::{
    Result,
    program::{Around, Lower, ScriptCounter},
};
use crate::{
    ir::{Helper, Operand},
    lang::{
        hir::{TypedExpr, TypedStatement, TypedStatementKind},
        limits::MAX_PROGRAM_OPS,
    },
};

impl Lower<'_> {
    /// Writes statements; what they took of scratch memory is free afterwards.
    pub(super) fn statements(&mut self, statements: &[TypedStatement]) -> Result<()> {
        for statement in statements {
            let outer = std::mem::replace(&mut self.statement, statement.span);
            let mark = self.scratch.mark();
            self.at(statement.span);
            self.one(statement)?;
            if self.b.size() > MAX_PROGRAM_OPS {
                let message = "this probe becomes too large for one program";
                let hint = "use a loop instead of `unroll`, or do parts of it in a second probe at the same place";
                return Err(Diagnostic::error(self.statement, message).hint(hint));
            }
            self.scratch.release(mark);
            self.statement = outer;
        }
        Ok(())
    }

    fn one(&mut self, statement: &TypedStatement) -> Result<()> {
        use TypedStatementKind as K;
        match &statement.kind {
            K::Expression(expr) => self.effect(expr),
            K::SetLocal { local, value } if value.ty.is_scalar() => {
                let value = self.scalar(value)?;
                self.set_local(*local, value);
                Ok(())
            }
            K::SetLocal { local, value } => self.set_memory_local(*local, value),
            K::SetMap { map, key, value } => self.set_map(*map, key.as_ref(), value),
            K::Aggregate { map, key, value } => self.aggregate(*map, key.as_ref(), value.as_ref()),
            K::Delete { map, key } => self.delete(*map, key.as_ref()),
            K::Emit { site, arguments } => self.emit(*site, arguments),
            K::If { condition, then, otherwise } => self.choose(condition, then, otherwise),
            K::ForRange { .. } | K::ForMap { .. } | K::While { .. } => self.repeat(statement),
            K::Break => {
                match self.around.last() {
                    Some(Around::Loop { after, .. }) => self.b.jump(*after),
                    Some(Around::Callback) => self.b.ret(1),
                    None => return self.error("`break` stands in no loop"),
                }
                self.unreachable();
                Ok(())
            }
            K::Continue => {
                match self.around.last() {
                    Some(Around::Loop { next, .. }) => self.b.jump(*next),
                    Some(Around::Callback) => self.b.ret(0),
                    None => return self.error("`continue` stands in no loop"),
                }
                self.unreachable();
                Ok(())
            }
            K::Return(value) => {
                let value = value.as_ref().map_or(Ok(Operand::Constant(0)), |value| self.scalar(value))?;
                // What a program may return is the kernel's business; only the numbers that all accept are given.
                let value = if matches!(value, Operand::Constant(0 | 1)) { value } else { Operand::Constant(0) };
                self.finish(value);
                self.unreachable();
                Ok(())
            }
            K::Block(body) => self.statements(body),
            K::Signal { number, thread } => {
                let number = self.scalar(number)?;
                let helper = if *thread { Helper::SendSignalThread } else { Helper::SendSignal };
                let failed = self.b.call(helper, &[number]);
                self.count_unless_zero(failed, ScriptCounter::HelperFailed);
                Ok(())
            }
            K::Override(value) => {
                let value = self.scalar(value)?;
                let context = self.context();
                self.b.call_only(Helper::OverrideReturn, &[context.into(), value]);
                Ok(())
            }
            K::WriteUser { address, value } => self.write_user(address, value),
        }
    }

    /// What follows in this block of the script is never reached, but may be written.
    fn unreachable(&mut self) {
        let dead = self.b.block();
        self.b.switch_to(dead);
    }

    /// An expression whose value nobody asks for.
    fn effect(&mut self, expr: &TypedExpr) -> Result<()> {
        use crate::lang::hir::TypedExprKind as E;
        match &expr.kind {
            E::AtomicStep { map, key, by, .. } => {
                self.step_map(*map, key.as_deref(), *by, None)?;
                Ok(())
            }
            E::Block(statements, value) => {
                self.statements(statements)?;
                self.effect(value)
            }
            _ if expr.ty == bathyscope_plan::Type::None => Ok(()),
            _ if expr.ty.is_scalar() => self.scalar(expr).map(|_value| ()),
            _ => self.place(expr).map(|_place| ()),
        }
    }

    fn choose(&mut self, condition: &TypedExpr, then: &[TypedStatement], otherwise: &[TypedStatement]) -> Result<()> {
        let (yes, no, join) = (self.b.block(), self.b.block(), self.b.block());
        self.branch_on(condition, yes, no)?;
        for (block, body) in [(yes, then), (no, otherwise)] {
            self.b.switch_to(block);
            self.statements(body)?;
            self.b.jump(join);
        }
        self.b.switch_to(join);
        Ok(())
    }

    fn write_user(&mut self, address: &TypedExpr, value: &TypedExpr) -> Result<()> {
        let bytes = value.ty.bytes().max(1);
        let from = self.temporary(bytes)?;
        self.write(value, from, bytes, true)?;
        let address = self.scalar(address)?;
        let from = self.b.address_of(from);
        let failed = self.b.call(Helper::ProbeWriteUser, &[address, from.into(), i64::from(bytes).into()]);
        self.count_unless_zero(failed, ScriptCounter::HelperFailed);
        Ok(())
    }
}

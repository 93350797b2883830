//! Elements of arrays, and bytes of texts.

use bathyscope_plan::{Space, Type};

use super::{Result, program::Lower};
use crate::{
    ir::{BlockId, IrBinaryOp, Memory, Operand, Test, moved},
    lang::hir::{TypedExpr, TypedExprKind},
};

impl Lower<'_> {
    /// The address of an element whose index is inside, at the end of the block; outside it goes to `outside`.
    fn element_address(
        &mut self,
        of: &TypedExpr,
        index: &TypedExpr,
        bytes: u32,
        outside: BlockId,
    ) -> Result<(Operand, Option<Space>)> {
        let count = match &of.ty {
            Type::Array { count, .. } => *count,
            other => other.bytes() / bytes.max(1),
        };
        let base: (Operand, Option<Space>) = match &of.kind {
            TypedExprKind::Read { address, offset, space, .. } => {
                let address = self.scalar(address)?;
                (self.binary(IrBinaryOp::Add, address, (*offset).into()).into(), Some(*space))
            }
            _ => {
                let place = self.place_outside_context(of)?;
                (self.b.address_of(place).into(), None)
            }
        };
        let index = self.register(index)?;
        let inside = self.b.block();
        self.b.branch(Test::Ge, index, i64::from(count), outside, inside);
        self.b.switch_to(inside);
        let distance = self.b.binary(IrBinaryOp::Mul, index, i64::from(bytes));
        Ok((self.binary(IrBinaryOp::Add, base.0, distance.into()).into(), base.1))
    }

    /// An element that is a number.
    pub(super) fn element(&mut self, of: &TypedExpr, index: &TypedExpr, ty: &Type) -> Result<Operand> {
        if let TypedExprKind::Integer(at) = index.kind
            && let Some(place) = self.constant_element(of, at, ty.bytes())?
        {
            return Ok(self.load(place, ty));
        }
        let (outside, join) = (self.b.block(), self.b.block());
        let to = self.b.reg();
        let (address, space) = self.element_address(of, index, ty.bytes(), outside)?;
        let value = match space {
            Some(space) => self.read_at(address, 0, space, None, ty)?,
            None => {
                let base = self.in_register(address);
                self.load(Memory::Pointer(base, 0), ty)
            }
        };
        self.b.assign(to, value);
        self.b.jump(join);
        self.b.switch_to(outside);
        self.b.assign(to, 0);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(to.into())
    }

    fn constant_element(&mut self, of: &TypedExpr, at: i64, bytes: u32) -> Result<Option<Memory>> {
        let offset = u32::try_from(at).ok().and_then(|at| at.checked_mul(bytes));
        let Some(offset) = offset.filter(|offset| offset + bytes <= of.ty.bytes()) else { return Ok(None) };
        if matches!(of.kind, TypedExprKind::Read { .. }) {
            return Ok(None);
        }
        let place = moved(self.place(of)?, offset);
        Ok(match place {
            Memory::Context(at) if !at.is_multiple_of(bytes) => None,
            place => Some(place),
        })
    }

    pub(super) fn write_element(&mut self, of: &TypedExpr, index: &TypedExpr, to: Memory, bytes: u32) -> Result<()> {
        let (outside, join) = (self.b.block(), self.b.block());
        let (address, space) = self.element_address(of, index, bytes, outside)?;
        self.read_into(to, i64::from(bytes).into(), address, 0, space.unwrap_or(Space::Kernel));
        self.b.jump(join);
        self.b.switch_to(outside);
        self.b.zero(to, bytes);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(())
    }
}

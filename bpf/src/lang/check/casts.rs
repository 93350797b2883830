//! Casts: `(type)x`.

use bathyscope_plan::{Pointee, Space, Span, Type};

use super::{
    Checked, Failed,
    body::BodyChecker,
    describe::{Join, describe, join, number},
    values::{CheckedOperand, MemoryPlace},
};
use crate::lang::hir::{TypedExpr, TypedExprKind};

impl BodyChecker<'_, '_> {
    /// `(type)x`.
    pub(super) fn cast(&mut self, ty: Type, of: CheckedOperand, span: Span) -> Checked<CheckedOperand> {
        if let (CheckedOperand::Place(place), Type::Struct(_) | Type::Array { .. }) = (&of, &ty)
            && place.bits.is_none()
            && ty.bytes() <= place.ty.bytes()
            && !place.ty.is_scalar()
        {
            let ty = in_space(&ty, place.space);
            let CheckedOperand::Place(place) = of else { return Err(Failed) };
            return Ok(CheckedOperand::Place(MemoryPlace { ty, span, ..place }));
        }
        let value = self.load(of)?;
        self.cast_value(ty, value, span).map(|value| CheckedOperand::Value(TypedExpr { span, ..value }))
    }

    /// A value of another type.
    pub(super) fn cast_value(&mut self, ty: Type, value: TypedExpr, span: Span) -> Checked<TypedExpr> {
        let number_like = |ty: &Type| number(ty).is_some();
        match (&ty, &value.ty) {
            (Type::Pointer { .. }, from) if from.is_scalar() => {
                let space = self.space_of(&value);
                Ok(value.convert(in_space(&ty, space)))
            }
            (Type::Pointer { .. }, Type::Array { .. }) if value.ty.bytes() == 8 => {
                Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (to, Type::Pointer { .. }) if number_like(to) => Ok(value.convert(ty)),
            (to, from) if number_like(to) && from.is_scalar() && !matches!(from, Type::Shown(_)) => {
                Ok(value.convert(ty))
            }
            (to, Type::Shown(_)) if number_like(to) && value.ty.is_scalar() => Ok(value.convert(ty)),
            (to, Type::Array { .. } | Type::Struct(_)) if number_like(to) && value.ty.bytes() >= ty.bytes() => {
                Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (Type::Array { of, count }, from) if number_like(from) || matches!(from, Type::Array { .. }) => {
                // The array takes all of a known number's 8 bytes, as its type is only the smallest that fits.
                let value = if value.constant().is_some() { value.convert(Type::U64) } else { value };
                let size = of.bytes().max(1);
                let count = if *count == 0 { value.ty.bytes() / size } else { *count };
                if count == 0 || count * size > value.ty.bytes() {
                    return self.bad_cast(&ty, &value, span);
                }
                let ty = Type::Array { of: of.clone(), count };
                Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (Type::Array { of, count }, Type::Text { bytes }) if of.bytes() == 1 && count <= bytes => {
                let count = if *count == 0 { *bytes } else { *count };
                let ty = Type::Array { of: of.clone(), count };
                Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (Type::Text { .. }, Type::Text { .. }) | (Type::Buffer { .. }, Type::Buffer { .. }) => {
                self.coerce(value, &ty, true)
            }
            (Type::Struct(_), Type::Struct(_) | Type::Array { .. }) if value.ty.bytes() >= ty.bytes() => {
                Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (to, from) if to == from => Ok(value),
            (Type::Tuple(_) | Type::Record(_), _) if join(&ty, &value.ty) == Join::To(ty.clone()) => {
                self.coerce(value, &ty, true)
            }
            _ => self.bad_cast(&ty, &value, span),
        }
    }

    fn bad_cast<T>(&mut self, ty: &Type, value: &TypedExpr, span: Span) -> Checked<T> {
        let hint = match ty {
            Type::Struct(it) => format!("cast to a pointer: `({} *)…`", it.name),
            Type::Text { .. } => "read a text with `str(…)`".to_owned(),
            _ => String::new(),
        };
        self.fail(span, format!("{} cannot be cast to {}", describe(&value.ty), describe(ty)), hint)
    }
}

/// A type with its pointers in a space.
pub(super) fn in_space(ty: &Type, space: Space) -> Type {
    match ty {
        Type::Pointer { to, .. } => {
            let to = match &**to {
                Pointee::Type(ty) => Pointee::Type(in_space(ty, space)),
                other => other.clone(),
            };
            Type::Pointer { to: Box::new(to), space }
        }
        Type::Array { of, count } => Type::Array { of: Box::new(in_space(of, space)), count: *count },
        Type::Struct(it) => {
            let mut it = it.clone();
            it.space = space;
            Type::Struct(it)
        }
        other => other.clone(),
    }
}

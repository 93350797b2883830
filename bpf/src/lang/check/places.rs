//! Elements, parts, and what addresses point to.

use bathyscope_plan::{Pointee, Space, Span, Type};

use super::{
    Checked,
    body::BodyChecker,
    checker::ScriptChecker,
    describe::{describe, number},
    values::{CheckedOperand, MemoryPlace},
};
use crate::lang::{
    ast,
    hir::{ArithmeticOp, TypedExpr, TypedExprKind},
};

impl BodyChecker<'_, '_> {
    /// What an address points to.
    pub(super) fn dereference(&mut self, value: TypedExpr, span: Span) -> Checked<MemoryPlace> {
        match value.ty.clone() {
            Type::Pointer { to, space } => match self.cx.behind(&to, space) {
                Some(ty) => Ok(MemoryPlace { address: value, offset: 0, space, bits: None, ty, span }),
                None => {
                    let message = format!("what {} points to is not known", describe(&value.ty));
                    self.fail(span, message, "cast it first: `*(uint64 *)…`")
                }
            },
            Type::Integer { .. } => {
                let space = self.space_of(&value);
                let address = value.convert(Type::Pointer { to: Box::new(Pointee::Type(Type::U64)), space });
                Ok(MemoryPlace { address, offset: 0, space, bits: None, ty: Type::U64, span })
            }
            other => self.fail(span, format!("`*` needs an address, not {}", describe(&other)), ""),
        }
    }

    pub(super) fn address_of(&mut self, of: &ast::Expr, span: Span) -> Checked<TypedExpr> {
        match self.operand(of)? {
            CheckedOperand::Place(MemoryPlace { bits: Some(_), .. }) => {
                self.fail(span, "a bit field has no address", "")
            }
            CheckedOperand::Place(place) => {
                let (ty, space) = (place.ty.clone(), place.space);
                let mut address = place.into_address();
                address.ty = Type::Pointer { to: Box::new(ScriptChecker::pointee(ty)), space };
                Ok(address)
            }
            CheckedOperand::Value(value)
                if matches!(value.kind, TypedExprKind::Local(_) | TypedExprKind::Map { .. }) =>
            {
                let to = Box::new(ScriptChecker::pointee(value.ty.clone()));
                let ty = Type::Pointer { to, space: Space::Kernel };
                Ok(TypedExpr::new(TypedExprKind::AddressOf(Box::new(value)), ty, span))
            }
            CheckedOperand::Value(TypedExpr { kind: TypedExprKind::Context { offset }, ty, .. }) => {
                let ty = Type::Pointer { to: Box::new(ScriptChecker::pointee(ty)), space: Space::Kernel };
                Ok(TypedExpr::new(TypedExprKind::ContextAddress { offset }, ty, span))
            }
            other => self.fail(other.span(), "only variables, maps and members have addresses", ""),
        }
    }

    pub(super) fn tuple_element(&mut self, base: CheckedOperand, index: usize, span: Span) -> Checked<CheckedOperand> {
        if let CheckedOperand::Pair { key, value, .. } = base {
            return match (index, value) {
                (0, _) => Ok(CheckedOperand::Value(TypedExpr { span, ..key })),
                (1, Some(value)) => Ok(CheckedOperand::Value(TypedExpr { span, ..value })),
                (1, None) => self.load(CheckedOperand::Pair { key, value: None, span }).map(CheckedOperand::Value),
                _ => self.fail(
                    span,
                    "the variable of a loop over a map has two parts",
                    "`.0` is the key, `.1` the value",
                ),
            };
        }
        let value = self.load(base)?;
        let count = match &value.ty {
            Type::Tuple(parts) => parts.len(),
            Type::Record(parts) => parts.len(),
            other => {
                let message = format!("{} is no tuple", describe(other));
                return self.fail(span, message, "");
            }
        };
        match Self::tuple_part(value, index, span) {
            Some(part) => Ok(CheckedOperand::Value(part)),
            None => {
                let message = format!("the tuple has {count} parts, and no `.{index}`");
                self.fail(span, message, "parts are counted from 0")
            }
        }
    }

    /// `a[i]`.
    pub(super) fn index(&mut self, base: CheckedOperand, index: TypedExpr, span: Span) -> Checked<CheckedOperand> {
        if number(&index.ty).is_none() {
            return self.fail(index.span, format!("an index is a number, not {}", describe(&index.ty)), "");
        }
        if let CheckedOperand::Place(place) = base {
            return match place.ty.clone() {
                Type::Array { of, count } => self.place_element(place, *of, count, index, span),
                Type::Text { bytes } => {
                    self.place_element(place, Type::Integer { bytes: 1, signed: true }, bytes, index, span)
                }
                _ => {
                    let value = self.load_place_for_index(place)?;
                    self.index(value, index, span)
                }
            };
        }
        if let (CheckedOperand::Pair { .. }, Some(constant)) = (&base, index.constant()) {
            return self.tuple_element(base, usize::try_from(constant).unwrap_or(usize::MAX), span);
        }
        let value = self.load(base)?;
        match value.ty.clone() {
            Type::Pointer { to, space } => {
                let Some(of) = self.cx.behind(&to, space) else {
                    let message = format!("what {} points to is not known", describe(&value.ty));
                    return self.fail(span, message, "cast it first: `((uint64 *)…)[i]`");
                };
                let place = MemoryPlace { address: value, offset: 0, space, bits: None, ty: of.clone(), span };
                self.place_element(place, of, 0, index, span)
            }
            Type::Array { of, count } => self.value_element(value, *of, count, index, span).map(CheckedOperand::Value),
            Type::Text { bytes } => {
                let of = Type::Integer { bytes: 1, signed: true };
                self.value_element(value, of, bytes, index, span).map(CheckedOperand::Value)
            }
            Type::Tuple(_) | Type::Record(_) => match index.constant().and_then(|it| usize::try_from(it).ok()) {
                Some(index) => self.tuple_element(CheckedOperand::Value(value), index, span),
                None => self.fail(index.span, "the part of a tuple is a constant", ""),
            },
            other => self.fail(
                span,
                format!("{} cannot be indexed", describe(&other)),
                "only arrays, pointers, texts and tuples can",
            ),
        }
    }

    fn load_place_for_index(&mut self, place: MemoryPlace) -> Checked<CheckedOperand> {
        self.load(CheckedOperand::Place(place)).map(CheckedOperand::Value)
    }

    fn outside<T>(&mut self, at: Span, index: i64, count: u32) -> Checked<T> {
        let message = format!("the index {index} is outside of the array, which has {count} elements");
        self.fail(at, message, format!("use 0 to {}", count.saturating_sub(1)))
    }

    /// An element of memory; `count` is 0 if nobody knows how many there are.
    fn place_element(
        &mut self,
        place: MemoryPlace,
        of: Type,
        count: u32,
        index: TypedExpr,
        span: Span,
    ) -> Checked<CheckedOperand> {
        let size = i64::from(of.bytes().max(1));
        if let Some(constant) = index.constant() {
            if count > 0 && !(0..i64::from(count)).contains(&constant) {
                return self.outside(index.span, constant, count);
            }
            let offset = place.offset.saturating_add(constant.saturating_mul(size));
            return Ok(CheckedOperand::Place(MemoryPlace { offset, ty: of, span, ..place }));
        }
        let ty = place.address.ty.clone();
        let step = scaled(index, size, &ty);
        let address = TypedExpr::new(
            TypedExprKind::Binary { op: ArithmeticOp::Add, left: Box::new(place.address), right: Box::new(step) },
            ty,
            span,
        );
        Ok(CheckedOperand::Place(MemoryPlace { address, ty: of, span, ..place }))
    }

    fn value_element(
        &mut self,
        value: TypedExpr,
        of: Type,
        count: u32,
        index: TypedExpr,
        span: Span,
    ) -> Checked<TypedExpr> {
        let size = of.bytes().max(1);
        match index.constant() {
            Some(constant) => match u32::try_from(constant) {
                Ok(at) if at < count => Ok(Self::part(value, at * size, None, of, span)),
                _ => self.outside(index.span, constant, count),
            },
            None => {
                let index = Box::new(index.convert(Type::U64));
                Ok(TypedExpr::new(TypedExprKind::Element { of: Box::new(value), index }, of, span))
            }
        }
    }
}

/// A number of elements as bytes to add to an address of type `ty`.
pub(super) fn scaled(index: TypedExpr, size: i64, ty: &Type) -> TypedExpr {
    let span = index.span;
    if let Some(constant) = index.constant() {
        return TypedExpr::integer(constant.wrapping_mul(size), ty.clone(), span);
    }
    let index = index.convert(Type::I64);
    let bytes = if size == 1 {
        index
    } else {
        let right = Box::new(TypedExpr::integer(size, Type::I64, span));
        TypedExpr::new(
            TypedExprKind::Binary { op: ArithmeticOp::Multiply, left: Box::new(index), right },
            Type::I64,
            span,
        )
    };
    bytes.convert(ty.clone())
}

//! Values on their way through the checker: places in memory that are read only when their value is needed, numbers that are
//! known, and how one type is made of another.

use bathyscope_plan::{Pointee, Shown, Space, Span, Type, layout};

use super::{
    Checked, Failed,
    body::BodyChecker,
    describe::{Join, describe, fits, join, join_all, literal_type, number, truncate},
};
use crate::lang::{
    ast::BinaryOp,
    hir::{ArithmeticOp, LocalId, TypedExpr, TypedExprKind, TypedStatementKind},
};

/// The largest value that is copied out of memory at once.
const MAX_COPIED_BYTES: u32 = 16 * 1024;

/// What an expression denotes.
#[derive(Clone, Debug)]
pub(super) enum CheckedOperand {
    /// A value.
    Value(TypedExpr),
    /// Something in memory.
    Place(MemoryPlace),
    /// `args`.
    Args(Span),
    /// `ctx` of an iterator.
    IteratorContext(Span),
    /// The variable of a loop over a map.
    Pair { key: TypedExpr, value: Option<TypedExpr>, span: Span },
}

/// Something in memory.
#[derive(Clone, Debug)]
pub(super) struct MemoryPlace {
    pub(super) address: TypedExpr,
    pub(super) offset: i64,
    pub(super) space: Space,
    pub(super) bits: Option<(u8, u8)>,
    pub(super) ty: Type,
    pub(super) span: Span,
}

impl TypedExpr {
    pub(super) fn new(kind: TypedExprKind, ty: Type, span: Span) -> Self {
        Self { kind, ty, span }
    }

    /// A number of a given type.
    pub(super) fn integer(value: i64, ty: Type, span: Span) -> Self {
        Self::new(TypedExprKind::Integer(value), ty, span)
    }

    /// The number, if it is known.
    pub(super) fn constant(&self) -> Option<i64> {
        match self.kind {
            TypedExprKind::Integer(value) => Some(value),
            _ => None,
        }
    }

    fn boxed(self) -> Box<Self> {
        Box::new(self)
    }

    /// The scalar as another scalar type.
    pub(super) fn convert(self, ty: Type) -> Self {
        if self.ty == ty {
            return self;
        }
        let span = self.span;
        if let Some(value) = self.constant() {
            let value = number(&ty).map_or(value, |(bytes, signed)| match ty {
                Type::Bool => i64::from(value != 0),
                _ => truncate(value, bytes, signed),
            });
            return Self::integer(value, ty, span);
        }
        // Widening twice is widening once; narrowing is not.
        if let TypedExprKind::Convert(inner) = &self.kind
            && let (Some((from, _)), Some((through, signed)), Some(_)) =
                (number(&inner.ty), number(&self.ty), number(&ty))
            && (from < through || inner.ty == self.ty)
            && matches!(number(&inner.ty), Some((_, inner_signed)) if !inner_signed || signed)
            && !matches!(ty, Type::Bool)
            && !matches!(self.ty, Type::Bool)
        {
            return Self::new(TypedExprKind::Convert(inner.clone()), ty, span);
        }
        Self::new(TypedExprKind::Convert(self.boxed()), ty, span)
    }

    /// Adds a number of bytes to an address.
    pub(super) fn plus(self, bytes: i64) -> Self {
        if bytes == 0 {
            return self;
        }
        let (ty, span) = (self.ty.clone(), self.span);
        match self.kind {
            TypedExprKind::Integer(value) => Self::integer(value.wrapping_add(bytes), ty, span),
            TypedExprKind::ContextAddress { offset } if u32::try_from(i64::from(offset) + bytes).is_ok() => {
                let offset = u32::try_from(i64::from(offset) + bytes).unwrap_or(offset);
                Self::new(TypedExprKind::ContextAddress { offset }, ty, span)
            }
            _ => {
                let right = Self::integer(bytes, ty.clone(), span).boxed();
                Self::new(TypedExprKind::Binary { op: ArithmeticOp::Add, left: self.boxed(), right }, ty, span)
            }
        }
    }
}

impl MemoryPlace {
    /// Its address.
    pub(super) fn into_address(self) -> TypedExpr {
        let ty = Type::Pointer { to: Box::new(Pointee::Type(self.ty)), space: self.space };
        let mut address = self.address.plus(self.offset);
        address.ty = ty;
        address.span = self.span;
        address
    }
}

impl CheckedOperand {
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Value(value) => value.span,
            Self::Place(place) => place.span,
            Self::Args(span) | Self::IteratorContext(span) | Self::Pair { span, .. } => *span,
        }
    }
}

impl BodyChecker<'_, '_> {
    /// The value of what an expression denotes.
    pub(super) fn load(&mut self, operand: CheckedOperand) -> Checked<TypedExpr> {
        match operand {
            CheckedOperand::Value(value) => Ok(value),
            CheckedOperand::Place(place) => self.load_place(place),
            CheckedOperand::Args(span) => self.all_args(span),
            CheckedOperand::IteratorContext(span) => {
                Ok(TypedExpr::new(TypedExprKind::ContextAddress { offset: 0 }, self.void_pointer(), span))
            }
            CheckedOperand::Pair { key, value: Some(value), span } => {
                let ty = Type::Tuple(vec![key.ty.clone(), value.ty.clone()]);
                Ok(TypedExpr::new(TypedExprKind::Tuple(vec![key, value]), ty, span))
            }
            CheckedOperand::Pair { value: None, span, .. } => {
                self.error(span, "the values of this map are aggregations that cannot be read here")
                    .hint("use `.0` for the key; `print(@map)` shows the values");
                Err(Failed)
            }
        }
    }

    fn void_pointer(&self) -> Type {
        Type::Pointer { to: Box::new(Pointee::Void), space: Space::Kernel }
    }

    fn load_place(&mut self, place: MemoryPlace) -> Checked<TypedExpr> {
        let MemoryPlace { address, offset, space, bits, ty, span } = place;
        let bytes = ty.bytes();
        if bytes == 0 {
            self.error(span, format!("a value of type {} has no size and cannot be read", describe(&ty)))
                .hint("take an element, or its address with `&`");
            return Err(Failed);
        }
        if bytes > MAX_COPIED_BYTES {
            self.error(span, format!("{} has {bytes} bytes: too much to copy", describe(&ty)))
                .hint("read the members that are needed");
            return Err(Failed);
        }
        if let (TypedExprKind::ContextAddress { offset: base }, None, true) = (&address.kind, bits, ty.is_scalar())
            && let Ok(offset) = u32::try_from(i64::from(*base) + offset)
        {
            return Ok(TypedExpr::new(TypedExprKind::Context { offset }, ty, span));
        }
        if matches!(ty, Type::Text { .. }) {
            let address = Box::new(address.plus(offset));
            return Ok(TypedExpr::new(TypedExprKind::ReadText { address, space, length: None }, ty, span));
        }
        Ok(TypedExpr::new(TypedExprKind::Read { address: Box::new(address), offset, space, bits }, ty, span))
    }

    /// A part of a value that is in memory of the program.
    pub(super) fn part(of: TypedExpr, offset: u32, bits: Option<(u8, u8)>, ty: Type, span: Span) -> TypedExpr {
        match of.kind {
            TypedExprKind::Part { of, offset: outer, bits: None } => {
                TypedExpr::new(TypedExprKind::Part { of, offset: outer.saturating_add(offset), bits }, ty, span)
            }
            TypedExprKind::Context { offset: outer } if bits.is_none() => {
                TypedExpr::new(TypedExprKind::Context { offset: outer.saturating_add(offset) }, ty, span)
            }
            _ => TypedExpr::new(TypedExprKind::Part { of: Box::new(of), offset, bits }, ty, span),
        }
    }

    /// The `index`-th part of a tuple or record.
    pub(super) fn tuple_part(of: TypedExpr, index: usize, span: Span) -> Option<TypedExpr> {
        let types: Vec<&Type> = match &of.ty {
            Type::Tuple(parts) => parts.iter().collect(),
            Type::Record(parts) => parts.iter().map(|(_, ty)| ty).collect(),
            _ => return None,
        };
        let ty = (*types.get(index)?).clone();
        let offset = layout(types.into_iter()).0.get(index).copied()?;
        if let TypedExprKind::Tuple(parts) = of.kind {
            return parts.into_iter().nth(index);
        }
        Some(Self::part(of, offset, None, ty, span))
    }

    /// Whether an expression may be evaluated twice without anybody noticing.
    pub(super) fn is_simple(expr: &TypedExpr) -> bool {
        match &expr.kind {
            TypedExprKind::Integer(_)
            | TypedExprKind::Text(_)
            | TypedExprKind::Local(_)
            | TypedExprKind::Context { .. } => true,
            TypedExprKind::Register { .. } | TypedExprKind::ContextAddress { .. } => true,
            TypedExprKind::Convert(of) => Self::is_simple(of),
            TypedExprKind::Part { of, .. } => Self::is_simple(of),
            _ => false,
        }
    }

    /// Keeps a value in a variable of its own: the statement that does it, and the variable.
    pub(super) fn bind(&mut self, value: TypedExpr) -> (crate::lang::hir::TypedStatement, TypedExpr) {
        let (ty, span) = (value.ty.clone(), value.span);
        let local = self.temporary(ty.clone());
        let statement = crate::lang::hir::TypedStatement { kind: TypedStatementKind::SetLocal { local, value }, span };
        (statement, TypedExpr::new(TypedExprKind::Local(local), ty, span))
    }

    /// Uses a value several times while it is evaluated once.
    pub(super) fn once(
        &mut self,
        value: TypedExpr,
        make: impl FnOnce(&mut Self, TypedExpr) -> Checked<TypedExpr>,
    ) -> Checked<TypedExpr> {
        if Self::is_simple(&value) {
            return make(self, value);
        }
        let (statement, local) = self.bind(value);
        let result = make(self, local)?;
        let (ty, span) = (result.ty.clone(), result.span);
        Ok(TypedExpr::new(TypedExprKind::Block(vec![statement], Box::new(result)), ty, span))
    }

    /// The value as exactly that type, which it can be joined to. `exact` if texts must have all of the room.
    pub(super) fn coerce(&mut self, value: TypedExpr, ty: &Type, exact: bool) -> Checked<TypedExpr> {
        if value.ty == *ty {
            return Ok(value);
        }
        let span = value.span;
        match (&value.ty, ty) {
            (Type::Text { .. }, Type::Text { .. }) | (Type::Buffer { .. }, Type::Buffer { .. }) => {
                if matches!(value.kind, TypedExprKind::Text(_)) {
                    return Ok(TypedExpr::new(value.kind, ty.clone(), span));
                }
                if exact {
                    Ok(TypedExpr::new(TypedExprKind::Convert(Box::new(value)), ty.clone(), span))
                } else {
                    Ok(value)
                }
            }
            (Type::Tuple(_) | Type::Record(_), Type::Tuple(_) | Type::Record(_)) => self.coerce_parts(value, ty),
            _ if value.ty.is_scalar() && ty.is_scalar() => Ok(value.convert(ty.clone())),
            // Other values of memory differ in what is known of them, not in how they lie.
            _ if value.ty.bytes() == ty.bytes() => Ok(TypedExpr::new(value.kind, ty.clone(), span)),
            _ => Ok(TypedExpr::new(TypedExprKind::Convert(Box::new(value)), ty.clone(), span)),
        }
    }

    fn coerce_parts(&mut self, value: TypedExpr, ty: &Type) -> Checked<TypedExpr> {
        let types: Vec<Type> = match ty {
            Type::Tuple(parts) => parts.clone(),
            Type::Record(parts) => parts.iter().map(|(_, ty)| ty.clone()).collect(),
            _ => return Ok(value),
        };
        let span = value.span;
        let value = self.in_order(value, ty)?;
        if value.ty == *ty {
            return Ok(value);
        }
        if let TypedExprKind::Tuple(parts) = value.kind {
            let parts: Checked<Vec<TypedExpr>> =
                parts.into_iter().zip(&types).map(|(part, ty)| self.coerce(part, ty, true)).collect();
            return Ok(TypedExpr::new(TypedExprKind::Tuple(parts?), ty.clone(), span));
        }
        let ty = ty.clone();
        self.once(value, move |body, value| {
            let mut parts = Vec::with_capacity(types.len());
            for (index, of) in types.iter().enumerate() {
                let part = Self::tuple_part(value.clone(), index, span).ok_or(Failed)?;
                parts.push(body.coerce(part, of, true)?);
            }
            Ok(TypedExpr::new(TypedExprKind::Tuple(parts), ty, span))
        })
    }

    /// A record with its fields in the order of another one.
    fn in_order(&mut self, value: TypedExpr, ty: &Type) -> Checked<TypedExpr> {
        let (Type::Record(wanted), Type::Record(given)) = (ty, value.ty.clone()) else { return Ok(value) };
        let place = |name: &String| given.iter().position(|(other, _)| other == name);
        let order: Option<Vec<usize>> = wanted.iter().map(|(name, _)| place(name)).collect();
        let Some(order) = order.filter(|order| !order.is_sorted()) else { return Ok(value) };
        let types: Vec<(String, Type)> = order.iter().filter_map(|at| given.get(*at).cloned()).collect();
        let span = value.span;
        self.once(value, move |_, value| {
            let parts: Option<Vec<TypedExpr>> =
                order.iter().map(|at| Self::tuple_part(value.clone(), *at, span)).collect();
            Ok(TypedExpr::new(TypedExprKind::Tuple(parts.ok_or(Failed)?), Type::Record(types), span))
        })
    }

    /// The type that a value has once it is kept: known numbers take 64 bits.
    pub(super) fn kept_type(value: &TypedExpr) -> Type {
        match (&value.ty, &value.kind) {
            (Type::Integer { signed, .. }, TypedExprKind::Integer(_)) => Type::Integer { bytes: 8, signed: *signed },
            (Type::Tuple(_), TypedExprKind::Tuple(parts)) => Type::Tuple(parts.iter().map(Self::kept_type).collect()),
            (Type::Record(types), TypedExprKind::Tuple(parts)) => {
                let kept = types.iter().zip(parts).map(|((name, _), part)| (name.clone(), Self::kept_type(part)));
                Type::Record(kept.collect())
            }
            _ => value.ty.clone(),
        }
    }

    /// Joins the type of a place with that of a value that goes into it; a known number takes the place's type if it fits.
    pub(super) fn join_value(place: &Type, value: &TypedExpr) -> Join {
        if let (Some((bytes, signed)), Some(constant)) = (number(place), value.constant())
            && matches!(value.ty, Type::Integer { .. } | Type::Bool)
        {
            let unsigned_literal = value.ty == Type::U64;
            if fits(constant, bytes, signed) && !(unsigned_literal && signed) && *place != Type::Bool {
                return Join::To(match place {
                    Type::Enum { .. } => Type::Integer { bytes, signed },
                    other => other.clone(),
                });
            }
        }
        if let (Type::Pointer { .. }, Some(0)) = (place, value.constant()) {
            return Join::To(place.clone());
        }
        if let (Type::Tuple(types), TypedExprKind::Tuple(parts)) = (place, &value.kind)
            && types.len() == parts.len()
        {
            return join_all(types.iter().zip(parts).map(|(ty, part)| Self::join_value(ty, part)), Type::Tuple);
        }
        if let (Type::Record(types), Type::Record(of), TypedExprKind::Tuple(parts)) = (place, &value.ty, &value.kind)
            && types.iter().map(|it| &it.0).eq(of.iter().map(|it| &it.0))
        {
            let names: Vec<String> = types.iter().map(|it| it.0.clone()).collect();
            let joins = types.iter().zip(parts).map(|((_, ty), part)| Self::join_value(ty, part));
            return join_all(joins, |types| Type::Record(names.into_iter().zip(types).collect()));
        }
        join(place, &Self::kept_type(value))
    }

    /// Both as numbers of one type, for arithmetic and comparison. `None` if one is no number.
    pub(super) fn common(
        &mut self,
        left: TypedExpr,
        right: TypedExpr,
        op: BinaryOp,
        span: Span,
    ) -> (TypedExpr, TypedExpr, Type) {
        let (a, b) = (number(&left.ty).unwrap_or((8, false)), number(&right.ty).unwrap_or((8, false)));
        let mut signed = match (a.1, b.1) {
            (x, y) if x == y => x,
            // A known number that is not negative is as good unsigned.
            (true, false) if left.constant().is_some_and(|value| value >= 0) => false,
            (false, true) if right.constant().is_some_and(|value| value >= 0) => false,
            (x, _) => {
                let (unsigned, other) = if x { (&right, &left) } else { (&left, &right) };
                let wide = number(&unsigned.ty).is_some_and(|(bytes, _)| bytes == 8);
                let quiet = unsigned.constant().is_some_and(|value| value >= 0)
                    || other.constant().is_some()
                    || matches!(unsigned.kind, TypedExprKind::Register { .. } | TypedExprKind::StackArgument { .. });
                // Where both signs give the same bits, nothing is lost.
                let same_bits = !matches!(
                    op,
                    BinaryOp::Divide
                        | BinaryOp::Modulo
                        | BinaryOp::Less
                        | BinaryOp::LessEqual
                        | BinaryOp::Greater
                        | BinaryOp::GreaterEqual
                );
                if wide && !quiet && !same_bits {
                    let what = format!(
                        "`{}` of {} and {}: the unsigned side is taken as int64",
                        symbol(op),
                        describe(&left.ty),
                        describe(&right.ty)
                    );
                    self.warn(span, what).hint("cast one side to say which is meant: `(uint64)x` or `(int64)x`");
                }
                true
            }
        };
        // That an unsigned number is below zero can only be meant of a signed one.
        let below_zero = matches!((op, right.constant()), (BinaryOp::Less | BinaryOp::GreaterEqual, Some(0)));
        if below_zero && number(&left.ty) == Some((8, false)) {
            signed = true;
        }
        let ty = Type::Integer { bytes: 8, signed };
        (left.convert(ty.clone()), right.convert(ty.clone()), ty)
    }

    /// A number written in the script.
    pub(super) fn literal(value: u64, unsigned: bool, span: Span) -> TypedExpr {
        match i64::try_from(value) {
            Ok(value) if !unsigned => TypedExpr::integer(value, literal_type(value), span),
            Ok(value) => {
                let Type::Integer { bytes, .. } = literal_type(value) else {
                    return TypedExpr::integer(value, Type::U64, span);
                };
                TypedExpr::integer(value, Type::Integer { bytes, signed: false }, span)
            }
            Err(_above) => TypedExpr::integer(value.cast_signed(), Type::U64, span),
        }
    }

    /// A value as a condition: a scalar that is not 0.
    pub(super) fn condition(&mut self, value: TypedExpr) -> Checked<TypedExpr> {
        if value.ty.is_scalar() {
            return Ok(value);
        }
        let hint = match &value.ty {
            Type::Text { .. } => "compare it: `x != \"\"`",
            _ => "a condition is a number, a pointer or a comparison",
        };
        self.error(value.span, format!("a value of type {} is no condition", describe(&value.ty))).hint(hint);
        Err(Failed)
    }

    /// A scalar as an address in its space.
    pub(super) fn address(&mut self, value: TypedExpr, what: &str) -> Checked<(TypedExpr, Space)> {
        match &value.ty {
            Type::Pointer { space, .. } => {
                let space = *space;
                Ok((value, space))
            }
            Type::Integer { .. } | Type::Enum { .. } | Type::Shown(Shown::KernelSymbol) => {
                let space = self.space_of(&value);
                let ty = Type::Pointer { to: Box::new(Pointee::Void), space };
                Ok((value.convert(ty), space))
            }
            other => {
                let message = format!("{what} needs an address, not {}", describe(other));
                self.error(value.span, message);
                Err(Failed)
            }
        }
    }

    /// In whose memory a number would point.
    pub(super) fn space_of(&self, value: &TypedExpr) -> Space {
        match &value.ty {
            Type::Pointer { space, .. } => *space,
            _ => match &value.kind {
                TypedExprKind::Convert(of) => self.space_of(of),
                TypedExprKind::Binary { left, right, .. } if right.constant().is_some() => self.space_of(left),
                TypedExprKind::Binary { left, right, .. } if left.constant().is_some() => self.space_of(right),
                TypedExprKind::Binary { left, right, .. } => match (self.space_of(left), self.space_of(right)) {
                    (Space::User, _) | (_, Space::User) => Space::User,
                    _ => Space::Kernel,
                },
                _ => self.shape.space,
            },
        }
    }

    /// A new variable without a name in the script.
    pub(super) fn temporary(&mut self, ty: Type) -> LocalId {
        let name = format!("#{}", self.locals.len());
        self.local(name, ty)
    }
}

/// The operator as written.
pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
    }
}

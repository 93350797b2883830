//! Operators with two sides.

use bathyscope_plan::{Action, FormatPiece, Output, Pointee, Shown, Span, Type};

use super::{
    Checked,
    body::BodyChecker,
    describe::{Join, describe, fits, join, literal_type, number},
    places::scaled,
    values::symbol,
};
use crate::lang::{
    ast::{self, BinaryOp},
    hir::{ArithmeticOp, CompareOp, TypedExpr, TypedExprKind},
};

impl BodyChecker<'_, '_> {
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Checked<TypedExpr> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            return self.logical(op, left, right, span);
        }
        let (left, right) = (self.value(left), self.value(right));
        self.combine(op, left?, right?, span)
    }

    fn logical(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Checked<TypedExpr> {
        let left = self.value(left)?;
        let left = self.condition(left)?;
        let decided = left.constant().map(|value| (value != 0) == (op == BinaryOp::Or));
        if decided == Some(true) {
            return Ok(TypedExpr::integer(i64::from(op == BinaryOp::Or), Type::Bool, span));
        }
        let right = self.value(right)?;
        let right = self.condition(right)?;
        if decided == Some(false) {
            return Ok(match right.constant() {
                Some(value) => TypedExpr::integer(i64::from(value != 0), Type::Bool, span),
                None => truth(right, span),
            });
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = if op == BinaryOp::And { TypedExprKind::And(left, right) } else { TypedExprKind::Or(left, right) };
        Ok(TypedExpr::new(kind, Type::Bool, span))
    }

    /// Two values and an operator between them.
    pub(super) fn combine(
        &mut self,
        op: BinaryOp,
        left: TypedExpr,
        right: TypedExpr,
        span: Span,
    ) -> Checked<TypedExpr> {
        match op {
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => self.compare(op, left, right, span),
            _ => self.arithmetic(op, left, right, span),
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, left: TypedExpr, right: TypedExpr, span: Span) -> Checked<TypedExpr> {
        if let Type::Pointer { .. } = left.ty {
            return self.pointer_arithmetic(op, left, right, span);
        }
        if let (Type::Pointer { .. }, BinaryOp::Add) = (&right.ty, op) {
            return self.pointer_arithmetic(op, right, left, span);
        }
        let (left, right) = (self.operand_of(op, left)?, self.operand_of(op, right)?);
        if let (Some(a), Some(b)) = (left.constant(), right.constant())
            && let Some(folded) = fold(op, (a, &left.ty), (b, &right.ty), span)
        {
            return Ok(folded);
        }
        if matches!(op, BinaryOp::Divide | BinaryOp::Modulo) {
            if right.constant() == Some(0) {
                return self.fail(right.span, "this divides by zero", "");
            }
            if right.constant().is_none() {
                return self.division(op, left, right, span);
            }
        }
        let arithmetic = arithmetic_op(op);
        if matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) {
            // The sign is that of what is shifted; by how much has none.
            let signed = number(&left.ty).is_some_and(|(_, signed)| signed);
            if right.constant().is_some_and(|by| !(0..64).contains(&by)) {
                self.warn(right.span, "a number has 64 bits: all of them are shifted out").hint("");
            }
            let ty = Type::Integer { bytes: 8, signed };
            let (left, right) = (Box::new(left.convert(ty.clone())), Box::new(right.convert(ty.clone())));
            return Ok(TypedExpr::new(TypedExprKind::Binary { op: arithmetic, left, right }, ty, span));
        }
        self.computed_of(op, left, right, span)
    }

    /// A division by what may be zero: then the result is 1, and a warning is sent.
    fn division(&mut self, op: BinaryOp, left: TypedExpr, right: TypedExpr, span: Span) -> Checked<TypedExpr> {
        self.once(left, |body, left| {
            body.once(right, |body, right| {
                let condition = body.condition(right.clone())?;
                let divided = body.computed_of(op, left, right, span)?;
                let text = b"division or modulo by 0, 1 is taken as the result\n".to_vec();
                let action = Action::Print { to: Output::Warning, format: vec![FormatPiece::Literal(text)] };
                let warning = body.emit(action, Vec::new(), span)?;
                let ty = divided.ty.clone();
                let one = Box::new(TypedExpr::integer(1, ty.clone(), span));
                let instead = Box::new(TypedExpr::new(TypedExprKind::Block(vec![warning], one), ty.clone(), span));
                let (condition, then) = (Box::new(condition), Box::new(divided));
                Ok(TypedExpr::new(TypedExprKind::Select { condition, then, otherwise: instead }, ty, span))
            })
        })
    }

    /// Two numbers and an operator that is no shift, as one type.
    fn computed_of(&mut self, op: BinaryOp, left: TypedExpr, right: TypedExpr, span: Span) -> Checked<TypedExpr> {
        let arithmetic = arithmetic_op(op);
        let (left, right, ty) = self.common(left, right, op, span);
        // What is subtracted may be more than there is.
        let (left, right, ty) = if op == BinaryOp::Subtract && ty == Type::U64 {
            (left.convert(Type::I64), right.convert(Type::I64), Type::I64)
        } else {
            (left, right, ty)
        };
        let kind = TypedExprKind::Binary { op: arithmetic, left: Box::new(left), right: Box::new(right) };
        Ok(TypedExpr::new(kind, ty, span))
    }

    /// A side of arithmetic: a number.
    fn operand_of(&mut self, op: BinaryOp, value: TypedExpr) -> Checked<TypedExpr> {
        if number(&value.ty).is_some() {
            return Ok(value);
        }
        let hint = match (&value.ty, op) {
            (Type::Text { .. }, BinaryOp::Add) => "texts are put together with `str_concat(a, b)`",
            (Type::Stack { .. }, _) => "stacks can be keys of maps and be printed",
            (Type::Shown(Shown::Time { .. }), _) => "compute with the nanoseconds before they are formatted",
            (Type::Pointer { .. }, _) => "cast the pointer to a number: `(uint64)p`",
            _ => "",
        };
        let message = format!("`{}` needs numbers, not {}", symbol(op), describe(&value.ty));
        self.fail(value.span, message, hint)
    }

    fn pointer_arithmetic(
        &mut self,
        op: BinaryOp,
        left: TypedExpr,
        right: TypedExpr,
        span: Span,
    ) -> Checked<TypedExpr> {
        let Type::Pointer { to, space } = left.ty.clone() else { return self.operand_of(op, left) };
        if !matches!(op, BinaryOp::Add | BinaryOp::Subtract) {
            // Masks and the like are meant of the address.
            let (left, right) = (left.convert(Type::U64), self.address_as_number(right));
            return self.arithmetic(op, left, right, span);
        }
        if let Type::Pointer { .. } = right.ty {
            let (left, right) = (left.convert(Type::I64), right.convert(Type::I64));
            return self.arithmetic(op, left, right, span);
        }
        let right = self.operand_of(op, right)?;
        let size = match &*to {
            Pointee::Void => 1,
            to => self.cx.behind(to, space).map_or(1, |ty| i64::from(ty.bytes().max(1))),
        };
        let ty = left.ty.clone();
        if let Some(constant) = right.constant() {
            let bytes = constant.wrapping_mul(size);
            let bytes = if op == BinaryOp::Add { bytes } else { bytes.wrapping_neg() };
            return Ok(TypedExpr { span, ..left.plus(bytes) });
        }
        let right = Box::new(scaled(right, size, &ty));
        let op = arithmetic_op(op);
        Ok(TypedExpr::new(TypedExprKind::Binary { op, left: Box::new(left), right }, ty, span))
    }

    fn address_as_number(&self, value: TypedExpr) -> TypedExpr {
        if matches!(value.ty, Type::Pointer { .. }) { value.convert(Type::U64) } else { value }
    }

    fn compare(&mut self, op: BinaryOp, left: TypedExpr, right: TypedExpr, span: Span) -> Checked<TypedExpr> {
        let equality = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
        if left.ty.is_scalar() && right.ty.is_scalar() && !is_shown(&left.ty) && !is_shown(&right.ty) {
            return self.compare_scalars(op, left, right, span);
        }
        if !equality {
            let message = format!(
                "`{}` needs numbers, not {}",
                symbol(op),
                describe(if left.ty.is_scalar() { &right.ty } else { &left.ty })
            );
            return self.fail(span, message, "these can only be compared with `==` and `!=`");
        }
        if let Some(same) = known_same(&left, &right) {
            return Ok(TypedExpr::integer(i64::from(same == (op == BinaryOp::Equal)), Type::Bool, span));
        }
        let (left, right) = self.comparable(left, right, span)?;
        let same = TypedExpr::new(
            TypedExprKind::Same { left: Box::new(left), right: Box::new(right), most: None },
            Type::Bool,
            span,
        );
        Ok(if op == BinaryOp::Equal {
            same
        } else {
            TypedExpr::new(TypedExprKind::Not(Box::new(same)), Type::Bool, span)
        })
    }

    /// Both sides as memory that can be compared.
    fn comparable(&mut self, left: TypedExpr, right: TypedExpr, span: Span) -> Checked<(TypedExpr, TypedExpr)> {
        if is_text(&left.ty) && is_text(&right.ty) {
            return Ok((left, right));
        }
        // Bytes of an array are also a text, as far as they go.
        if let (Type::Array { of, count }, Type::Text { .. }) = (&left.ty, &right.ty)
            && of.bytes() == 1
        {
            let ty = Type::Text { bytes: *count };
            let span = left.span;
            return Ok((TypedExpr::new(TypedExprKind::Reinterpret(Box::new(left)), ty, span), right));
        }
        if matches!((&left.ty, &right.ty), (Type::Text { .. }, Type::Array { .. })) {
            let (right, left) = self.comparable(right, left, span)?;
            return Ok((left, right));
        }
        let joined = match (&left.ty, &right.ty) {
            (Type::Stack { user: true, .. }, _)
            | (Type::Shown(_), Type::Text { .. })
            | (Type::Text { .. }, Type::Shown(_))
            | (Type::Shown(Shown::ProcessName), _) => Join::Never,
            (Type::Tuple(_), Type::Tuple(_)) | (Type::Record(_), Type::Record(_)) => join(&left.ty, &right.ty),
            (a, b) if a == b => Join::To(a.clone()),
            (Type::Buffer { .. }, Type::Buffer { .. }) => join(&left.ty, &right.ty),
            _ => Join::Never,
        };
        match joined {
            Join::To(ty) | Join::Lossy(ty) => Ok((self.coerce(left, &ty, true)?, self.coerce(right, &ty, true)?)),
            Join::Never => {
                let message = format!("{} and {} cannot be compared", describe(&left.ty), describe(&right.ty));
                self.fail(span, message, comparison_hint(&left.ty, &right.ty))
            }
        }
    }

    fn compare_scalars(&mut self, op: BinaryOp, left: TypedExpr, right: TypedExpr, span: Span) -> Checked<TypedExpr> {
        let pointer = |ty: &Type| matches!(ty, Type::Pointer { .. } | Type::Stack { .. });
        let (left, right) = if pointer(&left.ty) || pointer(&right.ty) {
            (left.convert(Type::U64), right.convert(Type::U64))
        } else {
            if let Some(outcome) = self.always(op, &left, &right) {
                self.warn(span, format!("this is always {outcome}")).hint(format!(
                    "{} cannot be {} {}",
                    describe(&left.ty),
                    symbol(op),
                    right.constant().unwrap_or_default()
                ));
            }
            let (left, right, _) = self.common(left, right, op, span);
            (left, right)
        };
        let compare = match op {
            BinaryOp::Equal => CompareOp::Equal,
            BinaryOp::NotEqual => CompareOp::NotEqual,
            BinaryOp::Less => CompareOp::Less,
            BinaryOp::LessEqual => CompareOp::LessEqual,
            BinaryOp::Greater => CompareOp::Greater,
            _ => CompareOp::GreaterEqual,
        };
        if let (Some(a), Some(b)) = (left.constant(), right.constant()) {
            let order = if left.ty == Type::U64 { a.cast_unsigned().cmp(&b.cast_unsigned()) } else { a.cmp(&b) };
            let holds = match compare {
                CompareOp::Equal => order.is_eq(),
                CompareOp::NotEqual => order.is_ne(),
                CompareOp::Less => order.is_lt(),
                CompareOp::LessEqual => order.is_le(),
                CompareOp::Greater => order.is_gt(),
                CompareOp::GreaterEqual => order.is_ge(),
            };
            return Ok(TypedExpr::integer(i64::from(holds), Type::Bool, span));
        }
        let kind = TypedExprKind::Compare { op: compare, left: Box::new(left), right: Box::new(right) };
        Ok(TypedExpr::new(kind, Type::Bool, span))
    }

    /// Whether a comparison of a small number with a constant that it cannot be has one outcome only.
    fn always(&self, op: BinaryOp, left: &TypedExpr, right: &TypedExpr) -> Option<bool> {
        let (bytes, signed) = number(&left.ty)?;
        let constant = right.constant()?;
        // A literal above what 64 bits hold with a sign looks negative here.
        if bytes == 8 || right.ty == Type::U64 || left.constant().is_some() || left.ty == Type::Bool {
            return None;
        }
        if fits(constant, bytes, signed) {
            return None;
        }
        // Negative numbers are often meant of what C has as unsigned: errors, `-1` for none.
        match op {
            BinaryOp::Equal => Some(false),
            BinaryOp::NotEqual => Some(true),
            _ => None,
        }
    }
}

/// Whether two values are the same, if both are written in the script or known when it is compiled.
fn known_same(left: &TypedExpr, right: &TypedExpr) -> Option<bool> {
    match (&left.kind, &right.kind) {
        (TypedExprKind::Text(left), TypedExprKind::Text(right)) => Some(left == right),
        (TypedExprKind::Tuple(left), TypedExprKind::Tuple(right)) if left.len() == right.len() => {
            let parts: Option<Vec<bool>> =
                left.iter().zip(right).map(|(left, right)| known_same(left, right)).collect();
            Some(parts?.into_iter().all(|same| same))
        }
        // The same ids have the same name, but different ones may have it too.
        _ if left.ty == Type::Shown(Shown::ProcessName) => None,
        _ => Some(left.constant()? == right.constant()?),
    }
}

/// A scalar as 0 or 1.
fn truth(value: TypedExpr, span: Span) -> TypedExpr {
    if value.ty == Type::Bool {
        return value;
    }
    let ty = if value.ty == Type::U64 { Type::U64 } else { value.ty.clone() };
    let zero = Box::new(TypedExpr::integer(0, ty, span));
    TypedExpr::new(
        TypedExprKind::Compare { op: CompareOp::NotEqual, left: Box::new(value), right: zero },
        Type::Bool,
        span,
    )
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Text { .. } | Type::Shown(Shown::Path { .. }))
}

/// Whether comparing it with a number would not be what it seems.
fn is_shown(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Shown(
            Shown::Probe
                | Shown::ProcessName
                | Shown::Time { .. }
                | Shown::Strerror
                | Shown::SignalName
                | Shown::SyscallName
                | Shown::FlagNames { .. }
        )
    )
}

fn comparison_hint(left: &Type, right: &Type) -> &'static str {
    match (left, right) {
        (Type::Shown(Shown::Probe), _) | (_, Type::Shown(Shown::Probe)) => {
            "the name of the probe is known only when it is shown; write two probes"
        }
        (Type::Shown(Shown::Function | Shown::KernelSymbol | Shown::UserSymbol), _)
        | (_, Type::Shown(Shown::Function | Shown::KernelSymbol | Shown::UserSymbol)) => {
            "names of functions are looked up when they are shown; compare addresses: `reg(\"ip\") == kaddr(\"…\")`"
        }
        (Type::Shown(Shown::ProcessName), _) | (_, Type::Shown(Shown::ProcessName)) => {
            "this name is looked up when it is shown; compare ids, or read it from a task: `pcomm(task) == \"…\"`"
        }
        (Type::Shown(_), _) | (_, Type::Shown(_)) => "this text is made when it is shown; compare the number itself",
        (Type::Pointer { .. }, Type::Text { .. }) | (Type::Text { .. }, Type::Pointer { .. }) => {
            "read the text that the pointer points to: `str(…)`"
        }
        (Type::Text { .. }, _) | (_, Type::Text { .. }) => "compare a text with a text",
        _ => "both must be of one type",
    }
}

fn arithmetic_op(op: BinaryOp) -> ArithmeticOp {
    match op {
        BinaryOp::Subtract => ArithmeticOp::Subtract,
        BinaryOp::Multiply => ArithmeticOp::Multiply,
        BinaryOp::Divide => ArithmeticOp::Divide,
        BinaryOp::Modulo => ArithmeticOp::Modulo,
        BinaryOp::BitAnd => ArithmeticOp::BitAnd,
        BinaryOp::BitOr => ArithmeticOp::BitOr,
        BinaryOp::BitXor => ArithmeticOp::BitXor,
        BinaryOp::ShiftLeft => ArithmeticOp::ShiftLeft,
        BinaryOp::ShiftRight => ArithmeticOp::ShiftRight,
        _ => ArithmeticOp::Add,
    }
}

/// Arithmetic with two known numbers.
fn fold(op: BinaryOp, (a, a_ty): (i64, &Type), (b, b_ty): (i64, &Type), span: Span) -> Option<TypedExpr> {
    let wide = |ty: &Type, value: i64| *ty == Type::U64 && value < 0;
    let unsigned = wide(a_ty, a) || wide(b_ty, b) || (*a_ty == Type::U64 && *b_ty == Type::U64);
    let bits = u32::try_from(b).ok().filter(|bits| *bits < 64);
    let (x, y) = (a.cast_unsigned(), b.cast_unsigned());
    let value = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide if unsigned => x.checked_div(y).unwrap_or(0).cast_signed(),
        BinaryOp::Divide if b != 0 => a.wrapping_div(b),
        BinaryOp::Modulo if unsigned => x.checked_rem(y).unwrap_or(x).cast_signed(),
        BinaryOp::Modulo if b != 0 => a.wrapping_rem(b),
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::ShiftLeft => bits.map_or(0, |bits| a << bits),
        BinaryOp::ShiftRight if unsigned => bits.map_or(0, |bits| (x >> bits).cast_signed()),
        BinaryOp::ShiftRight => a >> bits.unwrap_or(63),
        _ => return None,
    };
    // A sum of numbers that are not negative is none either.
    let grows = matches!(op, BinaryOp::Add | BinaryOp::Multiply | BinaryOp::ShiftLeft);
    let natural = grows && a >= 0 && b >= 0;
    let literal = *a_ty == literal_type(a) && *b_ty == literal_type(b);
    let ty = match () {
        () if (unsigned || natural) && value < 0 => Type::U64,
        () if literal || *a_ty == Type::Bool || *b_ty == Type::Bool => literal_type(value),
        // What was cast is no literal any more: it is computed with 64 bits.
        () => Type::Integer { bytes: 8, signed: !unsigned },
    };
    Some(TypedExpr::integer(value, ty, span))
}

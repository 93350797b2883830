//! Expressions that are not calls.

use bathyscope_plan::{Span, Type};

use super::{
    Checked, Failed,
    body::{Binding, BodyChecker},
    describe::{Join, describe, join, number},
    maps::is_steppable,
    values::CheckedOperand,
};
use crate::lang::{
    ast::{self, ExprKind, Name, UnaryOp},
    hir::{TypedExpr, TypedExprKind, TypedStatement, TypedUnaryOp},
};

impl BodyChecker<'_, '_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &ast::Expr) -> Checked<TypedExpr> {
        let operand = self.operand(expr)?;
        self.load(operand)
    }

    /// What an expression denotes.
    pub(super) fn operand(&mut self, expr: &ast::Expr) -> Checked<CheckedOperand> {
        self.cx.steps += 1;
        let operand = self.denoted(expr)?;
        if self.cx.watch.is_some() {
            self.watched(&operand, expr.span);
        }
        Ok(operand)
    }

    fn denoted(&mut self, expr: &ast::Expr) -> Checked<CheckedOperand> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Integer { value, unsigned } => Ok(CheckedOperand::Value(Self::literal(*value, *unsigned, span))),
            ExprKind::Bool(value) => Ok(CheckedOperand::Value(TypedExpr::integer(i64::from(*value), Type::Bool, span))),
            ExprKind::Text(bytes) => Ok(CheckedOperand::Value(Self::text(bytes.clone(), span))),
            ExprKind::Identifier(name) => self.identifier(name, span),
            ExprKind::Variable(name) => self.variable(name, span),
            ExprKind::Map { name, keys } => {
                let element = self.element(name, keys, span)?;
                self.whole_element(&element)?;
                self.read_element(element).map(CheckedOperand::Value)
            }
            ExprKind::Member { base, name } => {
                let base = self.operand(base)?;
                self.member(base, name, span)
            }
            ExprKind::Element { base, index } => {
                let base = self.operand(base)?;
                self.tuple_element(base, *index as usize, span)
            }
            ExprKind::Index { base, index } => {
                let base = self.operand(base)?;
                let index = self.value(index)?;
                self.index(base, index, span)
            }
            ExprKind::Unary { op, of } => self.unary(*op, of, span),
            ExprKind::Cast { ty, of } => {
                let ty = self.written_type(ty)?;
                let of = self.operand(of)?;
                self.cast(ty, of, span)
            }
            ExprKind::If { condition, comptime: true, then, otherwise } => {
                self.comptime(condition, then, otherwise.as_ref(), span)
            }
            ExprKind::If { condition, comptime: false, then, otherwise } => {
                self.either(condition, then, otherwise.as_ref(), span).map(CheckedOperand::Value)
            }
            other => self.computed(other, span).map(CheckedOperand::Value),
        }
    }

    /// Expressions that are always values.
    fn computed(&mut self, kind: &ExprKind, span: Span) -> Checked<TypedExpr> {
        match kind {
            ExprKind::Step { place, add, prefix } => self.step(place, *add, !*prefix, span),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, span),
            ExprKind::Ternary { condition, then, otherwise } => {
                self.ternary(condition, then.as_deref(), otherwise, span)
            }
            ExprKind::Call { function, arguments } => self.call(function, arguments, span),
            ExprKind::Tuple(parts) => {
                let parts: Checked<Vec<TypedExpr>> = parts.iter().map(|part| self.part_value(part)).collect();
                let parts = parts?;
                let ty = Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
                Ok(TypedExpr::new(TypedExprKind::Tuple(parts), ty, span))
            }
            ExprKind::Record(parts) => {
                let (mut types, mut values) = (Vec::new(), Vec::new());
                for (name, part) in parts {
                    let value = self.part_value(part)?;
                    if types.iter().any(|(known, _): &(String, Type)| *known == name.text) {
                        return self.fail(name.span, format!("the record has `{}` twice", name.text), "");
                    }
                    types.push((name.text.clone(), value.ty.clone()));
                    values.push(value);
                }
                Ok(TypedExpr::new(TypedExprKind::Tuple(values), Type::Record(types), span))
            }
            ExprKind::SizeOf(ty) => {
                let ty = self.written_type(ty)?;
                self.size_of(&ty, span)
            }
            ExprKind::OffsetOf { ty, path } => {
                let ty = self.written_type(ty)?;
                self.offset_of(&ty, path, span)
            }
            ExprKind::Block(block) => self.block_value(block, span),
            ExprKind::Positional(number) => {
                self.fail(span, format!("there is no parameter ${number} here"), "give it after the script's name")
            }
            ExprKind::PositionalCount => Ok(TypedExpr::integer(0, Type::I64, span)),
            ExprKind::Type(_) => {
                self.fail(span, "a type is no value", "it can be used in sizeof, offsetof, typeof and casts")
            }
            _ => Err(Failed),
        }
    }

    fn part_value(&mut self, part: &ast::Expr) -> Checked<TypedExpr> {
        let value = self.value(part)?;
        match value.ty {
            Type::None | Type::Aggregate(_) => self.fail(part.span, "a tuple cannot hold this", "it has no value"),
            _ => Ok(value),
        }
    }

    /// A text written in the script.
    pub(super) fn text(bytes: Vec<u8>, span: Span) -> TypedExpr {
        let room = u32::try_from(bytes.len() + 1).unwrap_or(u32::MAX);
        TypedExpr::new(TypedExprKind::Text(bytes), Type::Text { bytes: room }, span)
    }

    /// Refuses a keyed map as a value without its key.
    fn whole_element(&mut self, element: &super::maps::MapElement) -> Checked<()> {
        let keyed = self.cx.maps.get(element.map).and_then(|map| map.key.as_ref()).is_some_and(|key| !key.is_empty());
        if keyed && element.key.is_none() {
            let name = self.cx.maps.get(element.map).map(|map| map.name.clone()).unwrap_or_default();
            return self.fail(
                element.span,
                format!("{name} has a key, but is used without one"),
                format!("write `{name}[…]`"),
            );
        }
        Ok(())
    }

    fn unary(&mut self, op: UnaryOp, of: &ast::Expr, span: Span) -> Checked<CheckedOperand> {
        match op {
            UnaryOp::Dereference => {
                let value = self.value(of)?;
                self.dereference(value, span).map(CheckedOperand::Place)
            }
            UnaryOp::AddressOf => self.address_of(of, span).map(CheckedOperand::Value),
            UnaryOp::Not => {
                let value = self.value(of)?;
                let value = self.condition(value)?;
                Ok(CheckedOperand::Value(match value.constant() {
                    Some(value) => TypedExpr::integer(i64::from(value == 0), Type::Bool, span),
                    None => TypedExpr::new(TypedExprKind::Not(Box::new(value)), Type::Bool, span),
                }))
            }
            UnaryOp::Negate | UnaryOp::Complement => {
                let value = self.value(of)?;
                let Some((_, signed)) = number(&value.ty) else {
                    let sign = if op == UnaryOp::Negate { "-" } else { "~" };
                    return self.fail(span, format!("`{sign}` needs a number, not {}", describe(&value.ty)), "");
                };
                let literal = matches!(of.kind, ExprKind::Integer { .. });
                if let Some(constant) = value.constant()
                    && (op == UnaryOp::Negate || literal)
                {
                    let result = if op == UnaryOp::Negate { constant.wrapping_neg() } else { !constant };
                    let ty = if op == UnaryOp::Complement { Type::U64 } else { super::describe::literal_type(result) };
                    return Ok(CheckedOperand::Value(TypedExpr::integer(result, ty, span)));
                }
                let (op, ty) = match op {
                    UnaryOp::Negate => (TypedUnaryOp::Negate, Type::I64),
                    // As wide as what is inferred, and without a sign unless 64 bits were asked for with one.
                    _ => {
                        let inferred = self.inferred(of).unwrap_or_else(|| value.ty.clone());
                        let bytes = number(&inferred).map_or(8, |(bytes, _)| bytes);
                        (TypedUnaryOp::Complement, Type::Integer { bytes, signed: signed && bytes == 8 })
                    }
                };
                let of = Box::new(value.convert(ty.clone()));
                Ok(CheckedOperand::Value(TypedExpr::new(TypedExprKind::Unary { op, of }, ty, span)))
            }
        }
    }

    fn step(&mut self, place: &ast::Expr, add: bool, gives_old: bool, span: Span) -> Checked<TypedExpr> {
        let by = if add { 1 } else { -1 };
        match &place.kind {
            ExprKind::Map { name, keys } => {
                let element = self.element(name, keys, place.span)?;
                self.step_element(element, by, gives_old, span)
            }
            ExprKind::Variable(name) => self.step_variable(name, by, gives_old, span, place.span),
            _ => self.fail(span, "`++` and `--` need a variable or a map", ""),
        }
    }

    /// Adds to a map's element, atomically.
    pub(super) fn step_element(
        &mut self,
        element: super::maps::MapElement,
        by: i64,
        gives_old: bool,
        span: Span,
    ) -> Checked<TypedExpr> {
        self.whole_element(&element)?;
        let known = self.cx.maps.get(element.map).and_then(|map| map.value.clone());
        if let Some(Type::Pointer { to, space }) = &known {
            let size = self.cx.behind(to, *space).map_or(1, |ty| i64::from(ty.bytes().max(1)));
            let (ty, key) = (known.unwrap_or(Type::U64), element.key.map(Box::new));
            let by = by.saturating_mul(size);
            return Ok(TypedExpr::new(TypedExprKind::AtomicStep { map: element.map, key, by, gives_old }, ty, span));
        }
        if let Some(ty) = &known
            && !is_steppable(ty)
            && !matches!(ty, Type::Aggregate(_))
        {
            let message = format!("{} cannot be counted up or down", describe(ty));
            return self.fail(span, message, "only numbers can");
        }
        // Only what is counted down must have a sign.
        let one = if by < 0 && known != Some(Type::U64) { -1 } else { 1 };
        let one = TypedExpr::integer(one, Type::Integer { bytes: 8, signed: known != Some(Type::U64) }, span);
        let ty = self.put(element.map, &one, span)?;
        let key = element.key.map(Box::new);
        Ok(TypedExpr::new(TypedExprKind::AtomicStep { map: element.map, key, by, gives_old }, ty, span))
    }

    fn step_variable(&mut self, name: &str, by: i64, gives_old: bool, span: Span, at: Span) -> Checked<TypedExpr> {
        let value = self.variable(name, at)?;
        let value = self.load(value)?;
        if let (Type::Pointer { to, space }, TypedExprKind::Local(local)) = (&value.ty, &value.kind) {
            let size = self.cx.behind(to, *space).map_or(1, |ty| i64::from(ty.bytes().max(1)));
            let by = by.saturating_mul(size);
            return Ok(TypedExpr::new(TypedExprKind::LocalStep { local: *local, by, gives_old }, value.ty, span));
        }
        let Some((_, signed)) = number(&value.ty) else {
            return self.fail(
                span,
                format!("{} cannot be counted up or down", describe(&value.ty)),
                "only numbers can",
            );
        };
        let fixed = matches!(self.binding(name), Some(Binding::Variable { fixed: true, .. }));
        if !fixed {
            // It may grow beyond what it was assigned.
            let one = TypedExpr::new(
                TypedExprKind::Local(crate::lang::hir::LocalId(0)),
                Type::Integer { bytes: 8, signed },
                span,
            );
            self.assign_variable(&Name { text: name.to_owned(), span: at }, one)?;
        }
        match self.binding(name) {
            Some(Binding::Variable { local, .. }) => {
                let local = *local;
                let ty = self.locals.get(local.0 as usize).map_or(Type::I64, |it| it.ty.clone());
                Ok(TypedExpr::new(TypedExprKind::LocalStep { local, by, gives_old }, ty, span))
            }
            _ => self.fail(span, format!("${name} is the variable of a loop and cannot be changed"), ""),
        }
    }

    fn ternary(
        &mut self,
        condition: &ast::Expr,
        then: Option<&ast::Expr>,
        otherwise: &ast::Expr,
        span: Span,
    ) -> Checked<TypedExpr> {
        let condition = self.value(condition)?;
        let Some(then) = then else {
            let other = self.value(otherwise)?;
            return self.once(condition, move |body, value| {
                let test = body.condition(value.clone())?;
                body.select(test, value, other, span)
            });
        };
        let condition = self.condition(condition)?;
        match condition.constant() {
            Some(0) => return self.value(otherwise),
            Some(_) => return self.value(then),
            None => {}
        }
        let (then, otherwise) = (self.value(then), self.value(otherwise));
        self.select(condition, then?, otherwise?, span)
    }

    /// `if` as a value.
    fn either(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Block,
        otherwise: Option<&ast::Block>,
        span: Span,
    ) -> Checked<TypedExpr> {
        let condition = self.value(condition)?;
        let condition = self.condition(condition)?;
        let then = self.block_value(then, span);
        let otherwise = match otherwise {
            Some(block) => self.block_value(block, span),
            None => Ok(Self::effect(Vec::new(), span)),
        };
        self.select(condition, then?, otherwise?, span)
    }

    /// One of two values, which are made of one type.
    pub(super) fn select(
        &mut self,
        condition: TypedExpr,
        then: TypedExpr,
        otherwise: TypedExpr,
        span: Span,
    ) -> Checked<TypedExpr> {
        if let Some(constant) = condition.constant() {
            return Ok(if constant == 0 { otherwise } else { then });
        }
        if then.ty == Type::None && otherwise.ty == Type::None {
            let (then, otherwise) = (statements_of(then), statements_of(otherwise));
            let kind = crate::lang::hir::TypedStatementKind::If { condition, then, otherwise };
            return Ok(Self::effect(vec![TypedStatement { kind, span }], span));
        }
        let joined = match (then.constant().is_some(), otherwise.constant().is_some()) {
            (true, false) => Self::join_value(&otherwise.ty, &then),
            (false, true) => Self::join_value(&then.ty, &otherwise),
            _ => join(&Self::kept_type(&then), &Self::kept_type(&otherwise)),
        };
        let ty = match joined {
            Join::To(ty) | Join::Lossy(ty) => ty,
            Join::Never => {
                let message =
                    format!("the two sides of `?:` are {} and {}", describe(&then.ty), describe(&otherwise.ty));
                return self.fail(span, message, "both must be of one type");
            }
        };
        let then = Box::new(self.coerce(then, &ty, true)?);
        let otherwise = Box::new(self.coerce(otherwise, &ty, true)?);
        Ok(TypedExpr::new(TypedExprKind::Select { condition: Box::new(condition), then, otherwise }, ty, span))
    }

    /// Statements as an expression without a value.
    pub(super) fn effect(statements: Vec<TypedStatement>, span: Span) -> TypedExpr {
        TypedExpr::new(
            TypedExprKind::Block(statements, Box::new(TypedExpr::integer(0, Type::None, span))),
            Type::None,
            span,
        )
    }

    fn block_value(&mut self, block: &ast::Block, span: Span) -> Checked<TypedExpr> {
        self.in_block(block, |body| {
            let statements = body.statements(&block.statements);
            let Some(value) = &block.value else { return Ok(Self::effect(statements, span)) };
            let value = body.value(value)?;
            if statements.is_empty() {
                return Ok(value);
            }
            let ty = value.ty.clone();
            Ok(TypedExpr::new(TypedExprKind::Block(statements, Box::new(value)), ty, span))
        })
    }

    fn comptime(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Block,
        otherwise: Option<&ast::Block>,
        span: Span,
    ) -> Checked<CheckedOperand> {
        let chosen = if self.comptime_condition(condition)? { Some(then) } else { otherwise };
        match chosen {
            Some(block) => self.block_value(block, span).map(CheckedOperand::Value),
            None => Ok(CheckedOperand::Value(Self::effect(Vec::new(), span))),
        }
    }

    /// A condition that the compiler decides.
    pub(super) fn comptime_condition(&mut self, condition: &ast::Expr) -> Checked<bool> {
        let value = self.value(condition)?;
        match (value.constant(), &value.kind) {
            (Some(value), _) => Ok(value != 0),
            (None, TypedExprKind::Text(bytes)) => Ok(!bytes.is_empty()),
            _ => {
                self.fail(condition.span, "`comptime` needs a condition that is known when the script is compiled", "")
            }
        }
    }
}

/// The statements of an expression without a value.
pub(super) fn statements_of(expr: TypedExpr) -> Vec<TypedStatement> {
    let span = expr.span;
    match expr.kind {
        TypedExprKind::Block(mut statements, value) => {
            if !matches!(value.kind, TypedExprKind::Integer(_) | TypedExprKind::Text(_) | TypedExprKind::Local(_)) {
                statements.extend(statements_of(*value));
            }
            statements
        }
        TypedExprKind::Integer(_) if expr.ty == Type::None => Vec::new(),
        _ => vec![TypedStatement { kind: crate::lang::hir::TypedStatementKind::Expression(expr), span }],
    }
}

//! Expressions that are not calls.

use super::{
    Checked, Failed,
    body::{Binding, Body},
    checker::Checker,
    describe::{Join, describe, join, number},
    maps::is_steppable,
    values::{Operand, Place},
};
use crate::lang::{
    Span,
    ast::{self, ExprKind as Ast, Name, UnaryOp},
    hir::{ArithmeticOp, Expr, ExprKind, Statement, UnaryOp as HirUnary},
    types::{Pointee, Space, Type},
};

impl Body<'_, '_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &ast::Expr) -> Checked<Expr> {
        let operand = self.operand(expr)?;
        self.load(operand)
    }

    /// What an expression denotes.
    pub(super) fn operand(&mut self, expr: &ast::Expr) -> Checked<Operand> {
        self.cx.steps += 1;
        let operand = self.denoted(expr)?;
        if self.cx.watch.is_some() {
            self.watched(&operand, expr.span);
        }
        Ok(operand)
    }

    fn denoted(&mut self, expr: &ast::Expr) -> Checked<Operand> {
        let span = expr.span;
        match &expr.kind {
            Ast::Integer { value, unsigned } => Ok(Operand::Value(Self::literal(*value, *unsigned, span))),
            Ast::Bool(value) => Ok(Operand::Value(Expr::integer(i64::from(*value), Type::Bool, span))),
            Ast::Text(bytes) => Ok(Operand::Value(Self::text(bytes.clone(), span))),
            Ast::Identifier(name) => self.identifier(name, span),
            Ast::Variable(name) => self.variable(name, span),
            Ast::Map { name, keys } => {
                let element = self.element(name, keys, span)?;
                self.whole_element(&element)?;
                self.read_element(element).map(Operand::Value)
            }
            Ast::Member { base, name } => {
                let base = self.operand(base)?;
                self.member(base, name, span)
            }
            Ast::Element { base, index } => {
                let base = self.operand(base)?;
                self.tuple_element(base, *index as usize, span)
            }
            Ast::Index { base, index } => {
                let base = self.operand(base)?;
                let index = self.value(index)?;
                self.index(base, index, span)
            }
            Ast::Unary { op, of } => self.unary(*op, of, span),
            Ast::Cast { ty, of } => {
                let ty = self.written_type(ty)?;
                let of = self.operand(of)?;
                self.cast(ty, of, span)
            }
            Ast::IfComptime { condition, then, otherwise } => self.comptime(condition, then, otherwise.as_ref(), span),
            other => self.computed(other, span).map(Operand::Value),
        }
    }

    /// Expressions that are always values.
    fn computed(&mut self, kind: &Ast, span: Span) -> Checked<Expr> {
        match kind {
            Ast::Step { place, add, before } => self.step(place, *add, *before, span),
            Ast::Binary { op, left, right } => self.binary(*op, left, right, span),
            Ast::Ternary { condition, then, otherwise } => self.ternary(condition, then.as_deref(), otherwise, span),
            Ast::Call { function, arguments } => self.call(function, arguments, span),
            Ast::Tuple(parts) => {
                let parts: Checked<Vec<Expr>> = parts.iter().map(|part| self.part_value(part)).collect();
                let parts = parts?;
                let ty = Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
                Ok(Expr::new(ExprKind::Tuple(parts), ty, span))
            }
            Ast::Record(parts) => {
                let (mut types, mut values) = (Vec::new(), Vec::new());
                for (name, part) in parts {
                    let value = self.part_value(part)?;
                    if types.iter().any(|(known, _): &(String, Type)| *known == name.text) {
                        return self.fail(name.span, format!("the record has `{}` twice", name.text), "");
                    }
                    types.push((name.text.clone(), value.ty.clone()));
                    values.push(value);
                }
                Ok(Expr::new(ExprKind::Tuple(values), Type::Record(types), span))
            }
            Ast::SizeOf(ty) => {
                let ty = self.written_type(ty)?;
                self.size_of(&ty, span)
            }
            Ast::OffsetOf { ty, path } => {
                let ty = self.written_type(ty)?;
                self.offset_of(&ty, path, span)
            }
            Ast::Block(block) => self.block_value(block, span),
            Ast::Positional(number) => {
                self.fail(span, format!("there is no parameter ${number} here"), "give it after the script's name")
            }
            Ast::PositionalCount => Ok(Expr::integer(0, Type::I64, span)),
            Ast::Type(_) => {
                self.fail(span, "a type is no value", "it can be used in sizeof, offsetof, typeof and casts")
            }
            _ => Err(Failed),
        }
    }

    fn part_value(&mut self, part: &ast::Expr) -> Checked<Expr> {
        let value = self.value(part)?;
        match value.ty {
            Type::None | Type::Aggregate(_) => self.fail(part.span, "a tuple cannot hold this", "it has no value"),
            _ => Ok(value),
        }
    }

    /// A text written in the script.
    pub(super) fn text(bytes: Vec<u8>, span: Span) -> Expr {
        let room = u32::try_from(bytes.len() + 1).unwrap_or(u32::MAX);
        Expr::new(ExprKind::Text(bytes), Type::Text { bytes: room }, span)
    }

    /// Refuses a keyed map as a value without its key.
    fn whole_element(&mut self, element: &super::maps::Element) -> Checked<()> {
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

    fn unary(&mut self, op: UnaryOp, of: &ast::Expr, span: Span) -> Checked<Operand> {
        match op {
            UnaryOp::Dereference => {
                let value = self.value(of)?;
                self.dereference(value, span).map(Operand::Place)
            }
            UnaryOp::AddressOf => self.address_of(of, span).map(Operand::Value),
            UnaryOp::Not => {
                let value = self.value(of)?;
                let value = self.condition(value)?;
                Ok(Operand::Value(match value.constant() {
                    Some(value) => Expr::integer(i64::from(value == 0), Type::Bool, span),
                    None => Expr::new(ExprKind::Not(Box::new(value)), Type::Bool, span),
                }))
            }
            UnaryOp::Negate | UnaryOp::Complement => {
                let value = self.value(of)?;
                let Some((_, signed)) = number(&value.ty) else {
                    let sign = if op == UnaryOp::Negate { "-" } else { "~" };
                    return self.fail(span, format!("`{sign}` needs a number, not {}", describe(&value.ty)), "");
                };
                if let Some(constant) = value.constant() {
                    let result = if op == UnaryOp::Negate { constant.wrapping_neg() } else { !constant };
                    let ty = if value.ty == Type::U64 && op == UnaryOp::Complement {
                        Type::U64
                    } else {
                        super::describe::literal_type(result)
                    };
                    return Ok(Operand::Value(Expr::integer(result, ty, span)));
                }
                let (op, ty) = match op {
                    UnaryOp::Negate => (HirUnary::Negate, Type::I64),
                    _ => (HirUnary::Complement, Type::Integer { bytes: 8, signed }),
                };
                let of = Box::new(value.convert(ty.clone()));
                Ok(Operand::Value(Expr::new(ExprKind::Unary { op, of }, ty, span)))
            }
        }
    }

    /// What an address points to.
    pub(super) fn dereference(&mut self, value: Expr, span: Span) -> Checked<Place> {
        match value.ty.clone() {
            Type::Pointer { to, space } => match self.cx.behind(&to, space) {
                Some(ty) => Ok(Place { address: value, offset: 0, space, bits: None, ty, span }),
                None => {
                    let message = format!("what {} points to is not known", describe(&value.ty));
                    self.fail(span, message, "cast it first: `*(uint64 *)…`")
                }
            },
            Type::Integer { .. } => {
                let space = self.space_of(&value);
                let address = value.convert(Type::Pointer { to: Box::new(Pointee::Type(Type::U64)), space });
                Ok(Place { address, offset: 0, space, bits: None, ty: Type::U64, span })
            }
            other => self.fail(span, format!("`*` needs an address, not {}", describe(&other)), ""),
        }
    }

    fn address_of(&mut self, of: &ast::Expr, span: Span) -> Checked<Expr> {
        match self.operand(of)? {
            Operand::Place(Place { bits: Some(_), .. }) => self.fail(span, "a bit field has no address", ""),
            Operand::Place(place) => {
                let (ty, space) = (place.ty.clone(), place.space);
                let mut address = place.into_address();
                address.ty = Type::Pointer { to: Box::new(Checker::pointee(ty)), space };
                Ok(address)
            }
            Operand::Value(value) if matches!(value.kind, ExprKind::Local(_) | ExprKind::Map { .. }) => {
                let to = Box::new(Checker::pointee(value.ty.clone()));
                let ty = Type::Pointer { to, space: Space::Kernel };
                Ok(Expr::new(ExprKind::AddressOf(Box::new(value)), ty, span))
            }
            Operand::Value(Expr { kind: ExprKind::Context { offset }, ty, .. }) => {
                let ty = Type::Pointer { to: Box::new(Checker::pointee(ty)), space: Space::Kernel };
                Ok(Expr::new(ExprKind::ContextAddress { offset }, ty, span))
            }
            other => self.fail(other.span(), "only variables, maps and members have addresses", ""),
        }
    }

    fn tuple_element(&mut self, base: Operand, index: usize, span: Span) -> Checked<Operand> {
        if let Operand::Pair { key, value, .. } = base {
            return match (index, value) {
                (0, _) => Ok(Operand::Value(Expr { span, ..key })),
                (1, Some(value)) => Ok(Operand::Value(Expr { span, ..value })),
                (1, None) => self.load(Operand::Pair { key, value: None, span }).map(Operand::Value),
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
            Some(part) => Ok(Operand::Value(part)),
            None => {
                let message = format!("the tuple has {count} parts, and no `.{index}`");
                self.fail(span, message, "parts are counted from 0")
            }
        }
    }

    /// `a[i]`.
    pub(super) fn index(&mut self, base: Operand, index: Expr, span: Span) -> Checked<Operand> {
        if number(&index.ty).is_none() {
            return self.fail(index.span, format!("an index is a number, not {}", describe(&index.ty)), "");
        }
        if let Operand::Place(place) = base {
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
        if let (Operand::Pair { .. }, Some(constant)) = (&base, index.constant()) {
            return self.tuple_element(base, usize::try_from(constant).unwrap_or(usize::MAX), span);
        }
        let value = self.load(base)?;
        match value.ty.clone() {
            Type::Pointer { to, space } => {
                let Some(of) = self.cx.behind(&to, space) else {
                    let message = format!("what {} points to is not known", describe(&value.ty));
                    return self.fail(span, message, "cast it first: `((uint64 *)…)[i]`");
                };
                let place = Place { address: value, offset: 0, space, bits: None, ty: of.clone(), span };
                self.place_element(place, of, 0, index, span)
            }
            Type::Array { of, count } => self.value_element(value, *of, count, index, span).map(Operand::Value),
            Type::Text { bytes } => {
                let of = Type::Integer { bytes: 1, signed: true };
                self.value_element(value, of, bytes, index, span).map(Operand::Value)
            }
            Type::Tuple(_) | Type::Record(_) => match index.constant().and_then(|it| usize::try_from(it).ok()) {
                Some(index) => self.tuple_element(Operand::Value(value), index, span),
                None => self.fail(index.span, "the part of a tuple is a constant", ""),
            },
            other => self.fail(
                span,
                format!("{} cannot be indexed", describe(&other)),
                "only arrays, pointers, texts and tuples can",
            ),
        }
    }

    fn load_place_for_index(&mut self, place: Place) -> Checked<Operand> {
        self.load(Operand::Place(place)).map(Operand::Value)
    }

    fn outside<T>(&mut self, at: Span, index: i64, count: u32) -> Checked<T> {
        let message = format!("the index {index} is outside of the array, which has {count} elements");
        self.fail(at, message, format!("use 0 to {}", count.saturating_sub(1)))
    }

    /// An element of memory; `count` is 0 if nobody knows how many there are.
    fn place_element(&mut self, place: Place, of: Type, count: u32, index: Expr, span: Span) -> Checked<Operand> {
        let size = i64::from(of.bytes().max(1));
        if let Some(constant) = index.constant() {
            if count > 0 && !(0..i64::from(count)).contains(&constant) {
                return self.outside(index.span, constant, count);
            }
            let offset = place.offset.saturating_add(constant.saturating_mul(size));
            return Ok(Operand::Place(Place { offset, ty: of, span, ..place }));
        }
        let ty = place.address.ty.clone();
        let step = scaled(index, size, &ty);
        let address = Expr::new(
            ExprKind::Binary { op: ArithmeticOp::Add, left: Box::new(place.address), right: Box::new(step) },
            ty,
            span,
        );
        Ok(Operand::Place(Place { address, ty: of, span, ..place }))
    }

    fn value_element(&mut self, value: Expr, of: Type, count: u32, index: Expr, span: Span) -> Checked<Expr> {
        let size = of.bytes().max(1);
        match index.constant() {
            Some(constant) => match u32::try_from(constant) {
                Ok(at) if at < count => Ok(Self::part(value, at * size, None, of, span)),
                _ => self.outside(index.span, constant, count),
            },
            None => {
                let index = Box::new(index.convert(Type::U64));
                Ok(Expr::new(ExprKind::Element { of: Box::new(value), index }, of, span))
            }
        }
    }

    fn step(&mut self, place: &ast::Expr, add: bool, before: bool, span: Span) -> Checked<Expr> {
        let by = if add { 1 } else { -1 };
        match &place.kind {
            Ast::Map { name, keys } => {
                let element = self.element(name, keys, place.span)?;
                self.step_element(element, by, before, span)
            }
            Ast::Variable(name) => self.step_variable(name, by, before, span, place.span),
            _ => self.fail(span, "`++` and `--` need a variable or a map", ""),
        }
    }

    /// Adds to a map's element, atomically.
    pub(super) fn step_element(
        &mut self,
        element: super::maps::Element,
        by: i64,
        before: bool,
        span: Span,
    ) -> Checked<Expr> {
        self.whole_element(&element)?;
        let known = self.cx.maps.get(element.map).and_then(|map| map.value.clone());
        if let Some(ty) = &known
            && !is_steppable(ty)
            && !matches!(ty, Type::Aggregate(_))
        {
            let message = format!("{} cannot be counted up or down", describe(ty));
            return self.fail(span, message, "only numbers can");
        }
        // Only what is counted down must have a sign.
        let one = if by < 0 && known != Some(Type::U64) { -1 } else { 1 };
        let one = Expr::integer(one, Type::Integer { bytes: 8, signed: known != Some(Type::U64) }, span);
        let ty = self.put(element.map, &one, span)?;
        let key = element.key.map(Box::new);
        Ok(Expr::new(ExprKind::AtomicStep { map: element.map, key, by, before }, ty, span))
    }

    fn step_variable(&mut self, name: &str, by: i64, before: bool, span: Span, at: Span) -> Checked<Expr> {
        let value = self.variable(name, at)?;
        let value = self.load(value)?;
        if let (Type::Pointer { to, space }, ExprKind::Local(local)) = (&value.ty, &value.kind) {
            let size = self.cx.behind(to, *space).map_or(1, |ty| i64::from(ty.bytes().max(1)));
            let by = by.saturating_mul(size);
            return Ok(Expr::new(ExprKind::LocalStep { local: *local, by, before }, value.ty, span));
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
            let one =
                Expr::new(ExprKind::Local(crate::lang::hir::LocalId(0)), Type::Integer { bytes: 8, signed }, span);
            self.assign_variable(&Name { text: name.to_owned(), span: at }, one)?;
        }
        match self.binding(name) {
            Some(Binding::Variable { local, .. }) => {
                let local = *local;
                let ty = self.locals.get(local.0 as usize).map_or(Type::I64, |it| it.ty.clone());
                Ok(Expr::new(ExprKind::LocalStep { local, by, before }, ty, span))
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
    ) -> Checked<Expr> {
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

    /// One of two values, which are made of one type.
    pub(super) fn select(&mut self, condition: Expr, then: Expr, otherwise: Expr, span: Span) -> Checked<Expr> {
        if let Some(constant) = condition.constant() {
            return Ok(if constant == 0 { otherwise } else { then });
        }
        if then.ty == Type::None && otherwise.ty == Type::None {
            let (then, otherwise) = (statements_of(then), statements_of(otherwise));
            let kind = crate::lang::hir::StatementKind::If { condition, then, otherwise };
            return Ok(Self::effect(vec![Statement { kind, span }], span));
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
        Ok(Expr::new(ExprKind::Select { condition: Box::new(condition), then, otherwise }, ty, span))
    }

    /// Statements as an expression without a value.
    pub(super) fn effect(statements: Vec<Statement>, span: Span) -> Expr {
        Expr::new(ExprKind::Block(statements, Box::new(Expr::integer(0, Type::None, span))), Type::None, span)
    }

    fn block_value(&mut self, block: &ast::Block, span: Span) -> Checked<Expr> {
        self.scoped(|body| {
            let statements = body.statements(&block.statements);
            let Some(value) = &block.value else { return Ok(Self::effect(statements, span)) };
            let value = body.value(value)?;
            if statements.is_empty() {
                return Ok(value);
            }
            let ty = value.ty.clone();
            Ok(Expr::new(ExprKind::Block(statements, Box::new(value)), ty, span))
        })
    }

    fn comptime(
        &mut self,
        condition: &ast::Expr,
        then: &ast::Block,
        otherwise: Option<&ast::Block>,
        span: Span,
    ) -> Checked<Operand> {
        let chosen = if self.comptime_condition(condition)? { Some(then) } else { otherwise };
        match chosen {
            Some(block) => self.block_value(block, span).map(Operand::Value),
            None => Ok(Operand::Value(Self::effect(Vec::new(), span))),
        }
    }

    /// A condition that the compiler decides.
    pub(super) fn comptime_condition(&mut self, condition: &ast::Expr) -> Checked<bool> {
        let value = self.value(condition)?;
        match (value.constant(), &value.kind) {
            (Some(value), _) => Ok(value != 0),
            (None, ExprKind::Text(bytes)) => Ok(!bytes.is_empty()),
            _ => {
                self.fail(condition.span, "`comptime` needs a condition that is known when the script is compiled", "")
            }
        }
    }

    /// `(type)x`.
    fn cast(&mut self, ty: Type, of: Operand, span: Span) -> Checked<Operand> {
        if let (Operand::Place(place), Type::Struct(_) | Type::Array { .. }) = (&of, &ty)
            && place.bits.is_none()
            && ty.bytes() <= place.ty.bytes()
            && !place.ty.is_scalar()
        {
            let ty = in_space(&ty, place.space);
            let Operand::Place(place) = of else { return Err(Failed) };
            return Ok(Operand::Place(Place { ty, span, ..place }));
        }
        let value = self.load(of)?;
        self.cast_value(ty, value, span).map(|value| Operand::Value(Expr { span, ..value }))
    }

    /// A value of another type.
    pub(super) fn cast_value(&mut self, ty: Type, value: Expr, span: Span) -> Checked<Expr> {
        let number_like = |ty: &Type| number(ty).is_some();
        match (&ty, &value.ty) {
            (Type::Pointer { .. }, from) if from.is_scalar() => {
                let space = self.space_of(&value);
                Ok(value.convert(in_space(&ty, space)))
            }
            (Type::Pointer { .. }, Type::Array { .. }) if value.ty.bytes() == 8 => {
                Ok(Expr::new(ExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (to, Type::Pointer { .. }) if number_like(to) => Ok(value.convert(ty)),
            (to, from) if number_like(to) && from.is_scalar() && !matches!(from, Type::Shown(_)) => {
                Ok(value.convert(ty))
            }
            (to, Type::Shown(_)) if number_like(to) && value.ty.is_scalar() => Ok(value.convert(ty)),
            (to, Type::Array { .. } | Type::Struct(_)) if number_like(to) && value.ty.bytes() >= ty.bytes() => {
                Ok(Expr::new(ExprKind::Reinterpret(Box::new(value)), ty, span))
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
                Ok(Expr::new(ExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (Type::Text { .. }, Type::Text { .. }) | (Type::Buffer { .. }, Type::Buffer { .. }) => {
                self.coerce(value, &ty, true)
            }
            (Type::Struct(_), Type::Struct(_) | Type::Array { .. }) if value.ty.bytes() >= ty.bytes() => {
                Ok(Expr::new(ExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            (to, from) if to == from => Ok(value),
            (Type::Tuple(_) | Type::Record(_), _) if join(&ty, &value.ty) == Join::To(ty.clone()) => {
                self.coerce(value, &ty, true)
            }
            _ => self.bad_cast(&ty, &value, span),
        }
    }

    fn bad_cast<T>(&mut self, ty: &Type, value: &Expr, span: Span) -> Checked<T> {
        let hint = match ty {
            Type::Struct(it) => format!("cast to a pointer: `({} *)…`", it.name),
            Type::Text { .. } => "read a text with `str(…)`".to_owned(),
            _ => String::new(),
        };
        self.fail(span, format!("{} cannot be cast to {}", describe(&value.ty), describe(ty)), hint)
    }
}

/// The statements of an expression without a value.
pub(super) fn statements_of(expr: Expr) -> Vec<Statement> {
    let span = expr.span;
    match expr.kind {
        ExprKind::Block(mut statements, value) => {
            if !matches!(value.kind, ExprKind::Integer(_) | ExprKind::Text(_) | ExprKind::Local(_)) {
                statements.extend(statements_of(*value));
            }
            statements
        }
        ExprKind::Integer(_) if expr.ty == Type::None => Vec::new(),
        _ => vec![Statement { kind: crate::lang::hir::StatementKind::Expression(expr), span }],
    }
}

/// A number of elements as bytes to add to an address of type `ty`.
pub(super) fn scaled(index: Expr, size: i64, ty: &Type) -> Expr {
    let span = index.span;
    if let Some(constant) = index.constant() {
        return Expr::integer(constant.wrapping_mul(size), ty.clone(), span);
    }
    let index = index.convert(Type::I64);
    let bytes = if size == 1 {
        index
    } else {
        let right = Box::new(Expr::integer(size, Type::I64, span));
        Expr::new(ExprKind::Binary { op: ArithmeticOp::Multiply, left: Box::new(index), right }, Type::I64, span)
    };
    bytes.convert(ty.clone())
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

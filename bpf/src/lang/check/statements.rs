//! Statements.

use bathyscope_plan::{Aggregation, Span, Type};

use super::{
    Checked, Failed,
    body::{Binding, BodyChecker},
    calls::aggregations::is_aggregating,
    describe::{describe, number},
    expressions::statements_of,
    maps::{MapElement, read_type},
};
use crate::lang::{
    ast::{self, BinaryOp, Block, ExprKind, Name, StatementKind, TypeText},
    hir::{TypedExpr, TypedExprKind, TypedStatement, TypedStatementKind},
    limits::MAX_UNROLLED_PARTS,
};

/// How often a block is repeated at most by `unroll`.
const MAX_UNROLLED: u32 = 100;
/// How often `while` runs its body at most; what a kernel verifies is less if the body is long.
const MAX_WHILE_ROUNDS: u32 = 1 << 16;
/// How deep loops may be nested: each is a function of its own with a frame on the program's small stack.
const MAX_LOOP_DEPTH: u32 = 6;

/// An element of a map as it is written.
#[derive(Clone, Copy)]
struct MapPlace<'p> {
    name: &'p str,
    keys: &'p [ast::Expr],
    at: Span,
}

impl BodyChecker<'_, '_> {
    /// A block with a scope of its own.
    pub(super) fn block(&mut self, block: &Block) -> Vec<TypedStatement> {
        self.in_block(block, |body| {
            let mut statements = body.statements(&block.statements);
            if let Some(value) = &block.value {
                statements.extend(body.expression_statement(value).unwrap_or_default());
            }
            statements
        })
    }

    /// Statements one after the other; one that is wrong is left out.
    pub(super) fn statements(&mut self, statements: &[ast::Statement]) -> Vec<TypedStatement> {
        let mut all = Vec::new();
        let mut ended = false;
        for statement in statements {
            if ended {
                self.warn(statement.span, "this is never reached").hint("");
                break;
            }
            ended = ends(&statement.kind);
            all.extend(self.statement(statement).unwrap_or_default());
        }
        all
    }

    fn statement(&mut self, statement: &ast::Statement) -> Checked<Vec<TypedStatement>> {
        self.cx.steps += 1;
        let span = statement.span;
        let one = |kind: TypedStatementKind| Ok(vec![TypedStatement { kind, span }]);
        match &statement.kind {
            StatementKind::Expression(expr) => self.expression_statement(expr),
            StatementKind::Let { variable, ty, value } => {
                self.let_statement(variable, ty.as_ref(), value.as_ref(), span)
            }
            StatementKind::Assign { place, op, value } => self.assign(place, *op, value, span),
            StatementKind::If { condition, comptime, then, otherwise } => {
                self.if_statement(condition, *comptime, then, otherwise.as_ref(), span)
            }
            StatementKind::Unroll { count, body } => self.unroll(count, body, span),
            StatementKind::While { condition, body } => self.while_loop(condition, body, span),
            StatementKind::ForRange { variable, first, end, body } => self.for_range(variable, first, end, body, span),
            StatementKind::ForMap { variable, map, body } => self.for_map(variable, map, body, span),
            StatementKind::Break | StatementKind::Continue if self.loops == 0 => {
                let word = if statement.kind == StatementKind::Break { "break" } else { "continue" };
                self.fail(span, format!("`{word}` is not in a loop"), "`return` ends the probe")
            }
            StatementKind::Break => one(TypedStatementKind::Break),
            StatementKind::Continue => one(TypedStatementKind::Continue),
            StatementKind::Return(value) => {
                let value = match value {
                    None => None,
                    Some(value) => {
                        let value = self.value(value)?;
                        if number(&value.ty).is_none() {
                            return self.fail(
                                value.span,
                                format!("a probe returns a number, not {}", describe(&value.ty)),
                                "",
                            );
                        }
                        Some(value.convert(Type::I64))
                    }
                };
                one(TypedStatementKind::Return(value))
            }
            StatementKind::Block(block) => {
                let statements = self.block(block);
                one(TypedStatementKind::Block(statements))
            }
        }
    }

    fn while_loop(&mut self, condition: &ast::Expr, body: &Block, span: Span) -> Checked<Vec<TypedStatement>> {
        // One message for what stands within each other; whoever calls a macro cannot change it.
        if self.whiles == 0 && self.calls.is_empty() {
            self.warn(span, "`while` is deprecated in this language and may go in a later version of it")
                .hint("a `for` over a range does the same: `for ($i : 0..10) { … }`");
        }
        let condition = self.value(condition)?;
        let condition = self.condition(condition)?;
        if condition.constant() == Some(0) {
            return Ok(Vec::new());
        }
        self.whiles += 1;
        let body = self.looped(span, |it| it.block(body));
        self.whiles -= 1;
        let kind = TypedStatementKind::While { condition, body: body?, limit: MAX_WHILE_ROUNDS };
        Ok(vec![TypedStatement { kind, span }])
    }

    /// An expression for its effect.
    fn expression_statement(&mut self, expr: &ast::Expr) -> Checked<Vec<TypedStatement>> {
        let span = expr.span;
        let used = has_effect(expr);
        let value = match &expr.kind {
            // Without a result, `delete` needs no look whether the element is there.
            ExprKind::Call { function, arguments } => self.call_statement(function, arguments, span)?,
            _ => self.value(expr)?,
        };
        if value.ty == Type::None {
            return Ok(statements_of(value));
        }
        if !used {
            self.warn(span, "the result of this is not used").hint("write `_ = …` if that is meant");
        }
        if value.constant().is_some() {
            return Ok(Vec::new());
        }
        Ok(vec![TypedStatement { kind: TypedStatementKind::Expression(value), span }])
    }

    fn let_statement(
        &mut self,
        variable: &Name,
        ty: Option<&TypeText>,
        value: Option<&ast::Expr>,
        span: Span,
    ) -> Checked<Vec<TypedStatement>> {
        if self.declared_here(&variable.text) {
            let message = format!("${} is declared twice in this block", variable.text);
            self.error(variable.span, message).hint("leave out the second `let`");
        }
        let ty = match ty {
            Some(ty) => Some(self.written_type(ty)?),
            None => None,
        };
        // The value may use an outer variable of the same name.
        let value = value.map(|value| self.value(value));
        if let Some(Err(failed)) = value {
            self.bind_name(&variable.text, Binding::Unknown);
            return Err(failed);
        }
        self.declare(variable, ty);
        let Some(value) = value else { return Ok(Vec::new()) };
        let (local, value) = self.assign_variable(variable, value?)?;
        Ok(vec![TypedStatement { kind: TypedStatementKind::SetLocal { local, value }, span }])
    }

    fn assign(
        &mut self,
        place: &ast::Expr,
        op: Option<BinaryOp>,
        value: &ast::Expr,
        span: Span,
    ) -> Checked<Vec<TypedStatement>> {
        let one = |kind: TypedStatementKind| Ok(vec![TypedStatement { kind, span }]);
        match &place.kind {
            ExprKind::Identifier(name) if name == "_" => {
                let value = self.value(value)?;
                if value.ty == Type::None {
                    return Ok(statements_of(value));
                }
                one(TypedStatementKind::Expression(value))
            }
            ExprKind::Variable(name) => {
                let name = Name { text: name.clone(), span: place.span };
                let value = match op {
                    None => {
                        let value = self.value(value);
                        self.assigned(&name.text, value)?
                    }
                    Some(op) => {
                        let current = self.variable(&name.text, place.span)?;
                        let current = self.load(current)?;
                        let value = self.value(value)?;
                        self.combine(op, current, value, span)?
                    }
                };
                let (local, value) = self.assign_variable(&name, value)?;
                one(TypedStatementKind::SetLocal { local, value })
            }
            ExprKind::Map { name, keys } => match op {
                None => self.assign_map(name, keys, value, place.span, span),
                Some(op) => self.assign_map_op(name, keys, op, value, place.span, span),
            },
            ExprKind::Unary { .. } | ExprKind::Member { .. } | ExprKind::Index { .. } => self.fail(
                place.span,
                "memory of the kernel and of processes cannot be assigned",
                "assign a variable `$x` or a map `@x`; `write_user()` writes into a process",
            ),
            _ => self.fail(place.span, "this cannot be assigned", "assign a variable `$x` or a map `@x`"),
        }
    }

    fn assign_map(
        &mut self,
        name: &str,
        keys: &[ast::Expr],
        value: &ast::Expr,
        place: Span,
        span: Span,
    ) -> Checked<Vec<TypedStatement>> {
        let one = |kind: TypedStatementKind| Ok(vec![TypedStatement { kind, span }]);
        if let Some(aggregated) = self.aggregate(MapPlace { name, keys, at: place }, value, span, None) {
            return one(aggregated?);
        }
        // `@x = count`, without parentheses.
        if let ExprKind::Identifier(word) = &value.kind
            && word == "count"
        {
            let MapElement { map, key, .. } = self.element(name, keys, place)?;
            self.put_aggregation(map, &Aggregation::Count, span)?;
            return one(TypedStatementKind::Aggregate { map, key, value: None });
        }
        let value = self.value(value);
        let value = self.put_or_doubt(name, place, value);
        let element = self.element(name, keys, place);
        let (value, MapElement { map, key, .. }) = (value?, element?);
        let ty = self.put(map, &value, span)?;
        let value = self.coerce(value, &ty, true)?;
        one(TypedStatementKind::SetMap { map, key, value })
    }

    /// `@x = avg(…)`, also at the end of blocks: `@x = { $a = 5; avg($a) }`, as macros are too. None if it is no aggregation.
    fn aggregate(
        &mut self,
        to: MapPlace<'_>,
        value: &ast::Expr,
        span: Span,
        element: Option<MapElement>,
    ) -> Option<Checked<TypedStatementKind>> {
        let found = |body: &mut Self| element.map_or_else(|| body.element(to.name, to.keys, to.at), Ok);
        match &value.kind {
            ExprKind::Call { function, arguments } => {
                let aggregation = self.aggregation(function, arguments, value.span)?;
                Some(self.put_or_doubt(to.name, to.at, aggregation).and_then(|(aggregation, value)| {
                    let MapElement { map, key, .. } = found(self)?;
                    let joined = self.put_aggregation(map, &aggregation, span)?;
                    let value = value.map(|value| as_aggregated(value, &joined));
                    Ok(TypedStatementKind::Aggregate { map, key, value })
                }))
            }
            ExprKind::Block(block) => {
                let last = block.value.as_deref().filter(|last| is_aggregation(last))?;
                // What the key says is meant as it is outside of the block.
                Some(found(self).and_then(|element| {
                    self.in_block(block, |body| {
                        let mut statements = body.statements(&block.statements);
                        if let Some(kind) = body.aggregate(to, last, span, Some(element)) {
                            statements.push(TypedStatement { kind: kind?, span });
                        }
                        Ok(TypedStatementKind::Block(statements))
                    })
                }))
            }
            _ => None,
        }
    }

    fn assign_map_op(
        &mut self,
        name: &str,
        keys: &[ast::Expr],
        op: BinaryOp,
        value: &ast::Expr,
        place: Span,
        span: Span,
    ) -> Checked<Vec<TypedStatement>> {
        let value = self.value(value);
        let value = self.put_or_doubt(name, place, value)?;
        let element = self.element(name, keys, place)?;
        let map = element.map;
        let known = self.cx.maps.get(map).and_then(|map| map.value.clone());
        let by = value.constant().filter(|_| matches!(op, BinaryOp::Add | BinaryOp::Subtract));
        if let Some(by) = by
            && known.as_ref().is_none_or(|ty| number(ty).is_some())
        {
            let by = if op == BinaryOp::Add { by } else { by.wrapping_neg() };
            let step = self.step_element(element, by, false, span)?;
            return Ok(vec![TypedStatement { kind: TypedStatementKind::Expression(step), span }]);
        }
        if known.is_none() {
            // `@x += n` alone says that it is a number.
            let signed = op == BinaryOp::Subtract || number(&value.ty).is_none_or(|(_, signed)| signed);
            let zero = TypedExpr::integer(0, Type::Integer { bytes: 8, signed }, span);
            self.put(map, &zero, span)?;
        }
        let key = element.key.clone();
        let (bound, key) = match key {
            Some(key) if !Self::is_simple(&key) => {
                let (statement, local) = self.bind(key);
                (Some(statement), Some(local))
            }
            key => (None, key),
        };
        let current = self.read_element(MapElement { map, key: key.clone(), span: place })?;
        if let Some(Type::Aggregate(_)) = known {
            // Says which function the map holds.
            self.put(map, &current, span)?;
        }
        let value = self.combine(op, current, value, span)?;
        let ty = self.put(map, &value, span)?;
        let value = self.coerce(value, &ty, true)?;
        let mut statements: Vec<TypedStatement> = bound.into_iter().collect();
        statements.push(TypedStatement { kind: TypedStatementKind::SetMap { map, key, value }, span });
        Ok(statements)
    }

    fn if_statement(
        &mut self,
        condition: &ast::Expr,
        comptime: bool,
        then: &Block,
        otherwise: Option<&Block>,
        span: Span,
    ) -> Checked<Vec<TypedStatement>> {
        let chosen = if comptime {
            Some(self.comptime_condition(condition)?)
        } else {
            let value = self.value(condition);
            let Ok(value) = value.and_then(|value| self.condition(value)) else {
                // What else is wrong is told at once.
                self.block(then);
                if let Some(otherwise) = otherwise {
                    self.block(otherwise);
                }
                return Err(Failed);
            };
            match value.constant() {
                Some(constant) => Some(constant != 0),
                None => {
                    let then = self.block(then);
                    let otherwise = otherwise.map(|block| self.block(block)).unwrap_or_default();
                    let kind = TypedStatementKind::If { condition: value, then, otherwise };
                    return Ok(vec![TypedStatement { kind, span }]);
                }
            }
        };
        let block = if chosen == Some(true) { Some(then) } else { otherwise };
        Ok(match block {
            Some(block) => vec![TypedStatement { kind: TypedStatementKind::Block(self.block(block)), span }],
            None => Vec::new(),
        })
    }

    fn unroll(&mut self, count: &ast::Expr, body: &Block, span: Span) -> Checked<Vec<TypedStatement>> {
        let count = self.count(count, "the count of `unroll`", u64::from(MAX_UNROLLED))?;
        let mut rounds = Vec::new();
        self.loops += 1;
        let unrolled = self.cx.unrolled;
        let before = self.cx.steps;
        for _ in 0..count {
            let statements = self.block(body);
            rounds.push(TypedStatement { kind: TypedStatementKind::Block(statements), span });
            if self.cx.has_errors() {
                // The next rounds would say the same.
                break;
            }
            // What blocks within this one made is among its own steps.
            self.cx.unrolled = unrolled + (self.cx.steps - before);
            if self.cx.unrolled > MAX_UNROLLED_PARTS {
                self.loops -= 1;
                return self.fail(
                    span,
                    format!("`unroll` makes more than {MAX_UNROLLED_PARTS} statements and expressions of this script"),
                    "use a loop instead: `for $i : 0..100 { … }` or `while`",
                );
            }
        }
        self.loops -= 1;
        if !leaves(body) {
            return Ok(rounds);
        }
        // `break` and `continue` mean these rounds: each is a loop's round.
        let counter = self.temporary(Type::I64);
        let mut chosen: Vec<TypedStatement> = Vec::new();
        for (round, statement) in rounds.into_iter().enumerate().rev() {
            let number = TypedExpr::integer(i64::try_from(round).unwrap_or(0), Type::I64, span);
            let condition = TypedExpr::new(
                TypedExprKind::Compare {
                    op: crate::lang::hir::CompareOp::Equal,
                    left: Box::new(TypedExpr::new(TypedExprKind::Local(counter), Type::I64, span)),
                    right: Box::new(number),
                },
                Type::Bool,
                span,
            );
            let kind =
                TypedStatementKind::If { condition, then: vec![statement], otherwise: std::mem::take(&mut chosen) };
            chosen.push(TypedStatement { kind, span });
        }
        let kind = TypedStatementKind::ForRange {
            variable: Some(counter),
            first: TypedExpr::integer(0, Type::I64, span),
            end: TypedExpr::integer(i64::from(count), Type::I64, span),
            body: chosen,
        };
        Ok(vec![TypedStatement { kind, span }])
    }

    fn looped<T>(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> T) -> Checked<T> {
        if self.depth == MAX_LOOP_DEPTH {
            return self.fail(
                span,
                format!("loops are nested deeper than {MAX_LOOP_DEPTH}"),
                "use fewer loops within each other",
            );
        }
        self.loops += 1;
        self.depth += 1;
        let result = inside(self);
        self.loops -= 1;
        self.depth -= 1;
        Ok(result)
    }

    fn for_range(
        &mut self,
        variable: &Name,
        first: &ast::Expr,
        end: &ast::Expr,
        body: &Block,
        span: Span,
    ) -> Checked<Vec<TypedStatement>> {
        let (first, end) = (self.bound(first)?, self.bound(end)?);
        let (local, body) = self.looped(span, |it| {
            it.scoped(|it| {
                let local = it.local(variable.text.clone(), Type::I64);
                it.bind_name(&variable.text, Binding::Counter(local));
                (local, it.block(body))
            })
        })?;
        let kind = TypedStatementKind::ForRange { variable: Some(local), first, end, body };
        Ok(vec![TypedStatement { kind, span }])
    }

    fn bound(&mut self, expr: &ast::Expr) -> Checked<TypedExpr> {
        let value = self.value(expr)?;
        match number(&value.ty) {
            Some(_) => Ok(value.convert(Type::I64)),
            None => self.fail(
                value.span,
                format!("a range has numbers, not {}", describe(&value.ty)),
                "write `for ($i : 0..10)`",
            ),
        }
    }

    fn for_map(&mut self, variable: &Name, map: &Name, body: &Block, span: Span) -> Checked<Vec<TypedStatement>> {
        let id = self.map_id(&map.text, map.span);
        let value_type = self.map_value_type(id, map.span)?;
        let key_type = match self.cx.maps.get(id).and_then(|map| map.key.clone()).as_deref() {
            None => return Err(Failed),
            Some([]) => {
                let message = format!("@{} has no keys to go through", map.text);
                return self.fail(map.span, message, "use its value directly");
            }
            Some([ty]) => ty.clone(),
            Some(parts) => Type::Tuple(parts.to_vec()),
        };
        let value_type = match value_type {
            Type::Aggregate(aggregation) => read_type(&aggregation),
            ty => Some(ty),
        };
        let (key, value, body) = self.looped(span, |it| {
            it.scoped(|it| {
                let key = it.local(format!("{}.0", variable.text), key_type.clone());
                let value = value_type.as_ref().map(|ty| it.local(format!("{}.1", variable.text), ty.clone()));
                let read = |local, ty: &Type| TypedExpr::new(TypedExprKind::Local(local), ty.clone(), variable.span);
                let pair = Binding::Pair {
                    key: read(key, &key_type),
                    value: value.zip(value_type.as_ref()).map(|(local, ty)| read(local, ty)),
                };
                it.bind_name(&variable.text, pair);
                (key, value, it.block(body))
            })
        })?;
        Ok(vec![TypedStatement { kind: TypedStatementKind::ForMap { map: id, key, value, body }, span }])
    }
}

/// The value as the aggregation takes it.
fn as_aggregated(value: TypedExpr, aggregation: &Aggregation) -> TypedExpr {
    let signed = match aggregation {
        Aggregation::Sum { signed }
        | Aggregation::Min { signed }
        | Aggregation::Max { signed }
        | Aggregation::Average { signed }
        | Aggregation::Stats { signed }
        | Aggregation::TimeSeries { signed, .. } => *signed,
        Aggregation::Count => false,
        Aggregation::Hist { .. } | Aggregation::LinearHist { .. } => true,
    };
    value.convert(Type::Integer { bytes: 8, signed })
}

/// Whether an expression does something besides having a value.
fn has_effect(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Step { .. } => true,
        ExprKind::Call { function, .. } => !super::reference::is_pure(&function.text),
        ExprKind::Ternary { then, otherwise, .. } => {
            then.as_ref().is_some_and(|then| has_effect(then)) || has_effect(otherwise)
        }
        ExprKind::Block(block) => block.value.as_ref().is_none_or(|value| has_effect(value)),
        ExprKind::If { .. } => true,
        _ => false,
    }
}

/// Whether an expression is a function that maps aggregate by, or a block that ends in one.
fn is_aggregation(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { function, .. } => is_aggregating(&function.text),
        ExprKind::Block(block) => block.value.as_deref().is_some_and(is_aggregation),
        _ => false,
    }
}

/// Whether nothing behind a statement runs.
fn ends(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Break | StatementKind::Continue | StatementKind::Return(_) => true,
        StatementKind::Expression(expr) => {
            matches!(&expr.kind, ExprKind::Call { function, .. } if function.text == "exit")
        }
        _ => false,
    }
}

/// Whether a block has a `break` or `continue` of its own, not of a loop in it.
fn leaves(block: &Block) -> bool {
    block.statements.iter().any(|statement| match &statement.kind {
        StatementKind::Break | StatementKind::Continue => true,
        StatementKind::If { then, otherwise, .. } => leaves(then) || otherwise.as_ref().is_some_and(leaves),
        StatementKind::Block(block) => leaves(block),
        _ => false,
    })
}

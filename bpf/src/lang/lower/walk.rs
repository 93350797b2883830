//! Visits the parts of statements and expressions.

use crate::lang::hir::{Countable, TypedExpr, TypedExprKind, TypedStatement, TypedStatementKind};

/// The expressions directly in an expression, in the order of evaluation, and the statements of a block.
pub(super) fn parts(expr: &TypedExpr) -> (Vec<&TypedExpr>, &[TypedStatement]) {
    use TypedExprKind as K;
    let mut statements: &[TypedStatement] = &[];
    let inside: Vec<&TypedExpr> = match &expr.kind {
        K::Integer(_)
        | K::Text(_)
        | K::Local(_)
        | K::LocalStep { .. }
        | K::Length(Countable::Map(_))
        | K::Context { .. }
        | K::ContextAddress { .. }
        | K::Register { .. }
        | K::StackArgument { .. }
        | K::UsdtArgument { .. }
        | K::DynamicText { .. }
        | K::DynamicAddress { .. }
        | K::Stack
        | K::UnwoundStack
        | K::Builtin(_) => Vec::new(),
        K::Map { key, .. } | K::HasKey { key, .. } | K::AtomicStep { key, .. } => key.as_deref().into_iter().collect(),
        K::Length(Countable::Stack(of))
        | K::Part { of, .. }
        | K::Convert(of)
        | K::Unary { of, .. }
        | K::TextLength(of)
        | K::Not(of)
        | K::AddressOf(of)
        | K::ByteSwap(of)
        | K::Reinterpret(of) => vec![of],
        K::Read { address, .. } | K::WithProcess { address } | K::Path { address } | K::SocketCookie { address } => {
            vec![address]
        }
        K::Element { of, index } => vec![index, of],
        K::ReadText { address, length, .. } | K::ReadBuffer { address, length, .. } => {
            std::iter::once(&**address).chain(length.as_deref()).collect()
        }
        K::BufferOf { of, length } => std::iter::once(&**of).chain(length.as_deref()).collect(),
        K::Inet { family: other, address } | K::PerCpuAddress { address, cpu: other } => {
            other.as_deref().into_iter().chain([&**address]).collect()
        }
        K::Binary { left, right, .. }
        | K::Compare { left, right, .. }
        | K::Same { left, right, .. }
        | K::Difference { left, right, .. }
        | K::Concat { left, right }
        | K::Find { text: left, needle: right }
        | K::And(left, right)
        | K::Or(left, right) => vec![left, right],
        K::Select { condition, then, otherwise } => vec![condition, then, otherwise],
        K::Tuple(parts) => parts.iter().collect(),
        K::Block(inner, value) => {
            statements = inner;
            vec![value]
        }
    };
    (inside, statements)
}

/// The expressions directly in a statement, in the order of evaluation; not those of statements within it.
pub(super) fn expressions(statement: &TypedStatement) -> Vec<&TypedExpr> {
    use TypedStatementKind as K;
    match &statement.kind {
        K::Expression(expr) | K::Override(expr) | K::SetLocal { value: expr, .. } => vec![expr],
        K::SetMap { key, value, .. } => std::iter::once(value).chain(key).collect(),
        K::Aggregate { key, value, .. } => value.iter().chain(key).collect(),
        K::Delete { key, .. } => key.iter().collect(),
        K::Emit { arguments, .. } => arguments.iter().collect(),
        K::If { condition, .. } | K::While { condition, .. } => vec![condition],
        K::ForRange { first, end, .. } => vec![first, end],
        K::Return(value) => value.iter().collect(),
        K::Signal { number, .. } => vec![number],
        K::WriteUser { address, value } => vec![address, value],
        K::ForMap { .. } | K::Break | K::Continue | K::Block(_) => Vec::new(),
    }
}

/// The statements directly in a statement.
pub(super) fn bodies(statement: &TypedStatement) -> [&[TypedStatement]; 2] {
    match &statement.kind {
        TypedStatementKind::If { then, otherwise, .. } => [then, otherwise],
        TypedStatementKind::ForRange { body, .. }
        | TypedStatementKind::ForMap { body, .. }
        | TypedStatementKind::While { body, .. }
        | TypedStatementKind::Block(body) => [body, &[]],
        _ => [&[], &[]],
    }
}

/// Whether something holds for a statement or one within it, including those in expressions.
pub(super) fn any_statement(statements: &[TypedStatement], found: &mut dyn FnMut(&TypedStatement) -> bool) -> bool {
    statements.iter().any(|statement| {
        found(statement)
            || expressions(statement).into_iter().any(|expr| any_statement_in(expr, found))
            || bodies(statement).into_iter().any(|body| any_statement(body, found))
    })
}

fn any_statement_in(expr: &TypedExpr, found: &mut dyn FnMut(&TypedStatement) -> bool) -> bool {
    let (inside, statements) = parts(expr);
    any_statement(statements, found) || inside.into_iter().any(|expr| any_statement_in(expr, found))
}

/// Whether something holds for an expression or one within it.
pub(super) fn any_expression(expr: &TypedExpr, found: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
    if found(expr) {
        return true;
    }
    let (inside, statements) = parts(expr);
    inside.into_iter().any(|expr| any_expression(expr, found)) || any_expression_of(statements, found)
}

/// Whether something holds for an expression anywhere in statements.
pub(super) fn any_expression_of(statements: &[TypedStatement], found: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
    statements.iter().any(|statement| {
        expressions(statement).into_iter().any(|expr| any_expression(expr, found))
            || bodies(statement).into_iter().any(|body| any_expression_of(body, found))
    })
}

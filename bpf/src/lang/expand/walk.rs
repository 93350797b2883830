//! Looking at every part of a tree, in the order of the text.

use super::super::ast::{
    Block, Expr, ExprKind, Item, Name, PathStep, Script, Statement, StatementKind, TypeBase, TypeSuffix, TypeText,
};

/// A part of a tree that is looked at.
pub(super) enum VisitedNode<'a> {
    /// An expression; its parts follow.
    Expr(&'a Expr),
    /// A variable gets its name or a value: `let`, `for`, or an assignment.
    Variable(&'a str),
}

type Look<'f, 'a> = &'f mut dyn FnMut(VisitedNode<'a>);

pub(super) fn script<'a>(script: &'a Script, look: Look<'_, 'a>) {
    for item in &script.items {
        match item {
            Item::Probe(probe) => {
                probe.predicate.iter().for_each(|it| expr(it, look));
                block(&probe.body, look);
            }
            Item::Macro(item) => block(&item.body, look),
            Item::Map(map) => expr(&map.entries, look),
        }
    }
}

pub(super) fn block<'a>(block: &'a Block, look: Look<'_, 'a>) {
    for it in &block.statements {
        statement(it, look);
    }
    if let Some(value) = &block.value {
        expr(value, look);
    }
}

fn loop_body<'a>(variable: &'a Name, body: &'a Block, look: Look<'_, 'a>) {
    look(VisitedNode::Variable(&variable.text));
    block(body, look);
}

fn statement<'a>(statement: &'a Statement, look: Look<'_, 'a>) {
    match &statement.kind {
        StatementKind::Expression(it) | StatementKind::Return(Some(it)) => expr(it, look),
        StatementKind::Let { variable, ty: of, value } => {
            look(VisitedNode::Variable(&variable.text));
            of.iter().for_each(|it| ty(it, look));
            value.iter().for_each(|it| expr(it, look));
        }
        StatementKind::Assign { place, value, .. } => {
            if let ExprKind::Variable(name) = &place.kind {
                look(VisitedNode::Variable(name));
            }
            expr(place, look);
            expr(value, look);
        }
        StatementKind::If { condition, then, otherwise, .. } => {
            expr(condition, look);
            block(then, look);
            otherwise.iter().for_each(|it| block(it, look));
        }
        StatementKind::Unroll { count: it, body } | StatementKind::While { condition: it, body } => {
            expr(it, look);
            block(body, look);
        }
        StatementKind::ForRange { variable, first, end, body } => {
            expr(first, look);
            expr(end, look);
            loop_body(variable, body, look);
        }
        StatementKind::ForMap { variable, body, .. } => loop_body(variable, body, look),
        StatementKind::Block(it) => block(it, look),
        StatementKind::Break | StatementKind::Continue | StatementKind::Return(None) => {}
    }
}

fn ty<'a>(ty: &'a TypeText, look: Look<'_, 'a>) {
    if let TypeBase::Of(of) = &ty.base {
        expr(of, look);
    }
    for suffix in &ty.suffixes {
        if let TypeSuffix::Array(Some(count)) = suffix {
            expr(count, look);
        }
    }
}

pub(super) fn expr<'a>(of: &'a Expr, look: Look<'_, 'a>) {
    look(VisitedNode::Expr(of));
    match &of.kind {
        ExprKind::Unary { of, .. } | ExprKind::Step { place: of, .. } => expr(of, look),
        ExprKind::Member { base, .. } | ExprKind::Element { base, .. } => expr(base, look),
        ExprKind::Binary { left, right, .. } | ExprKind::Index { base: left, index: right } => {
            expr(left, look);
            expr(right, look);
        }
        ExprKind::Ternary { condition, then, otherwise } => {
            expr(condition, look);
            then.iter().for_each(|it| expr(it, look));
            expr(otherwise, look);
        }
        ExprKind::If { condition, then, otherwise, .. } => {
            expr(condition, look);
            block(then, look);
            otherwise.iter().for_each(|it| block(it, look));
        }
        ExprKind::Cast { ty: to, of } => {
            ty(to, look);
            expr(of, look);
        }
        ExprKind::Map { keys: parts, .. } | ExprKind::Call { arguments: parts, .. } | ExprKind::Tuple(parts) => {
            parts.iter().for_each(|it| expr(it, look));
        }
        ExprKind::Record(fields) => fields.iter().for_each(|(_, it)| expr(it, look)),
        ExprKind::SizeOf(it) | ExprKind::Type(it) => ty(it, look),
        ExprKind::OffsetOf { ty: of, path } => {
            ty(of, look);
            for step in path {
                if let PathStep::Index(index) = step {
                    expr(index, look);
                }
            }
        }
        ExprKind::Block(it) => block(it, look),
        ExprKind::Integer { .. }
        | ExprKind::Bool(_)
        | ExprKind::Text(_)
        | ExprKind::Identifier(_)
        | ExprKind::Positional(_)
        | ExprKind::PositionalCount
        | ExprKind::Variable(_) => {}
    }
}

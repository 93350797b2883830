//! What a body uses, without knowing what it means.

use std::collections::BTreeSet;

use crate::lang::ast::{
    Block, Expr, ExprKind, PathStep, Probe, Statement, StatementKind, TypeBase, TypeSuffix, TypeText,
};

/// What of its arguments a body uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Members of `args` by name.
    pub(super) fields: BTreeSet<String>,
    /// `args` as a whole.
    pub(super) whole: bool,
    /// `argN`.
    pub(super) numbered: bool,
    /// `retval`.
    pub(super) returned: bool,
    /// `uaddr()`.
    pub(super) addresses: bool,
}

impl Uses {
    pub(super) fn of(probe: &Probe) -> Self {
        let mut uses = Self::default();
        if let Some(predicate) = &probe.predicate {
            uses.expr(predicate);
        }
        uses.block(&probe.body);
        uses
    }

    /// Whether anything of `args` is used.
    pub(super) fn args(&self) -> bool {
        self.whole || !self.fields.is_empty()
    }

    fn block(&mut self, block: &Block) {
        block.statements.iter().for_each(|statement| self.statement(statement));
        if let Some(value) = &block.value {
            self.expr(value);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Expression(it) => self.expr(it),
            StatementKind::Let { ty, value, .. } => {
                ty.iter().for_each(|ty| self.ty(ty));
                value.iter().for_each(|it| self.expr(it));
            }
            StatementKind::Assign { place, value, .. } => {
                self.expr(place);
                self.expr(value);
            }
            StatementKind::If { condition, then, otherwise, .. } => {
                self.expr(condition);
                self.block(then);
                otherwise.iter().for_each(|block| self.block(block));
            }
            StatementKind::Unroll { count, body } => {
                self.expr(count);
                self.block(body);
            }
            StatementKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StatementKind::ForRange { first, end, body, .. } => {
                self.expr(first);
                self.expr(end);
                self.block(body);
            }
            StatementKind::ForMap { body, .. } | StatementKind::Block(body) => self.block(body),
            StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Return(value) => value.iter().for_each(|it| self.expr(it)),
        }
    }

    fn name(&mut self, name: &str) {
        let numbered = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        match name {
            "args" => self.whole = true,
            "retval" => self.returned = true,
            _ if numbered("arg") => self.numbered = true,
            _ => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Identifier(name) => self.name(name),
            ExprKind::Call { function, arguments } => {
                if arguments.is_empty() {
                    self.name(&function.text);
                }
                self.addresses |= function.text == "uaddr";
                arguments.iter().for_each(|it| self.expr(it));
            }
            ExprKind::Member { base, name } => match &base.kind {
                ExprKind::Identifier(args) if args == "args" => {
                    self.fields.insert(name.text.clone());
                }
                _ => self.expr(base),
            },
            ExprKind::Map { keys: parts, .. } | ExprKind::Tuple(parts) => parts.iter().for_each(|it| self.expr(it)),
            ExprKind::Record(parts) => parts.iter().for_each(|(_, it)| self.expr(it)),
            ExprKind::Unary { of, .. } | ExprKind::Step { place: of, .. } | ExprKind::Element { base: of, .. } => {
                self.expr(of);
            }
            ExprKind::Binary { left, right, .. } | ExprKind::Index { base: left, index: right } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Ternary { condition, then, otherwise } => {
                self.expr(condition);
                then.iter().for_each(|it| self.expr(it));
                self.expr(otherwise);
            }
            ExprKind::If { condition, then, otherwise, .. } => {
                self.expr(condition);
                self.block(then);
                otherwise.iter().for_each(|block| self.block(block));
            }
            ExprKind::Cast { ty, of } => {
                self.ty(ty);
                self.expr(of);
            }
            ExprKind::SizeOf(ty) | ExprKind::Type(ty) => self.ty(ty),
            ExprKind::OffsetOf { ty, path } => {
                self.ty(ty);
                for step in path {
                    if let PathStep::Index(it) = step {
                        self.expr(it);
                    }
                }
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Integer { .. }
            | ExprKind::Bool(_)
            | ExprKind::Text(_)
            | ExprKind::Positional(_)
            | ExprKind::PositionalCount
            | ExprKind::Variable(_) => {}
        }
    }

    fn ty(&mut self, ty: &TypeText) {
        if let TypeBase::Of(expr) = &ty.base {
            self.expr(expr);
        }
        for suffix in &ty.suffixes {
            if let TypeSuffix::Array(Some(count)) = suffix {
                self.expr(count);
            }
        }
    }
}

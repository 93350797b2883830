//! Expressions and statements of both languages.

use bathyscope_plan::Span;

use crate::{
    MAX_DEPTH,
    refusal::{Result, refuse},
};

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expr {
    pub(crate) span: Span,
    pub(crate) kind: ExprKind,
    /// How high the tree below it is.
    height: u32,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExprKind {
    Number(u64),
    Text(String),
    Name(String),
    Member {
        of: Box<Expr>,
        name: String,
    },
    Index {
        of: Box<Expr>,
        keys: Vec<Expr>,
    },
    Call {
        name: String,
        arguments: Vec<Expr>,
    },
    Prefix {
        operator: &'static str,
        of: Box<Expr>,
    },
    Postfix {
        operator: &'static str,
        of: Box<Expr>,
    },
    Binary {
        operator: &'static str,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Ternary {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Assign {
        operator: &'static str,
        to: Box<Expr>,
        value: Box<Expr>,
    },
    Cast {
        to: String,
        of: Box<Expr>,
    },
    /// `[a, b] in array`.
    In {
        keys: Vec<Expr>,
        array: Box<Expr>,
    },
}

impl Expr {
    pub(crate) fn new(kind: ExprKind, span: Span) -> Result<Self> {
        let height = 1 + kind.children().iter().map(|child| child.height).max().unwrap_or(0);
        if height > MAX_DEPTH {
            return refuse(span, "this expression is nested too deep", "keep a part of it in a variable");
        }
        Ok(Self { span, kind, height })
    }

    /// The name, if it is one.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The number, if it is one that is written so; `-1` is one.
    pub(crate) fn number(&self) -> Option<i64> {
        match &self.kind {
            ExprKind::Number(number) => i64::try_from(*number).ok(),
            ExprKind::Prefix { operator: "-", of } => of.number()?.checked_neg(),
            _ => None,
        }
    }

    /// Whether this or something in it is such.
    pub(crate) fn any(&self, is: &mut dyn FnMut(&Expr) -> bool) -> bool {
        is(self) || self.kind.children().into_iter().any(|child| child.any(is))
    }
}

impl ExprKind {
    fn children(&self) -> Vec<&Expr> {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Name(_) => Vec::new(),
            Self::Member { of, .. } | Self::Prefix { of, .. } | Self::Postfix { of, .. } | Self::Cast { of, .. } => {
                vec![of]
            }
            Self::Index { of, keys } => std::iter::once(&**of).chain(keys).collect(),
            Self::In { keys, array } => keys.iter().chain(std::iter::once(&**array)).collect(),
            Self::Call { arguments, .. } => arguments.iter().collect(),
            Self::Binary { left, right, .. } => vec![left, right],
            Self::Assign { to, value, .. } => vec![to, value],
            Self::Ternary { condition, then, otherwise } => vec![condition, then, otherwise],
        }
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) span: Span,
    pub(crate) kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    Expr(Expr),
    Block(Vec<Statement>),
    If { condition: Expr, then: Box<Statement>, otherwise: Option<Box<Statement>> },
    While { condition: Expr, body: Box<Statement> },
    For { first: Option<Expr>, condition: Option<Expr>, step: Option<Expr>, body: Box<Statement> },
    Foreach(Foreach),
    Delete(Expr),
    Return(Option<Expr>),
    Next,
    Break,
    Continue,
}

/// `foreach ([a, b] in array- limit 10) …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreach {
    pub(crate) keys: Vec<String>,
    pub(crate) value: Option<String>,
    pub(crate) array: String,
    pub(crate) array_span: Span,
    /// The sign behind the array: by value.
    pub(crate) by_value: Option<char>,
    /// The sign behind a key.
    pub(crate) by_key: Option<Span>,
    pub(crate) limit: Option<Expr>,
    pub(crate) body: Box<Statement>,
}

impl Statement {
    /// Whether an expression in it is such.
    pub(crate) fn any(&self, is: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let in_expr =
            |expr: &Option<Expr>, is: &mut dyn FnMut(&Expr) -> bool| expr.as_ref().is_some_and(|expr| expr.any(is));
        match &self.kind {
            StatementKind::Expr(expr) | StatementKind::Delete(expr) => expr.any(is),
            StatementKind::Block(body) => body.iter().any(|it| it.any(is)),
            StatementKind::If { condition, then, otherwise } => {
                condition.any(is) || then.any(is) || otherwise.as_ref().is_some_and(|it| it.any(is))
            }
            StatementKind::While { condition, body } => condition.any(is) || body.any(is),
            StatementKind::For { first, condition, step, body } => {
                in_expr(first, is) || in_expr(condition, is) || in_expr(step, is) || body.any(is)
            }
            StatementKind::Foreach(it) => in_expr(&it.limit, is) || it.body.any(is),
            StatementKind::Return(value) => in_expr(value, is),
            StatementKind::Next | StatementKind::Break | StatementKind::Continue => false,
        }
    }
}

//! The numbers among `#define`s, for sizes in C definitions.

use std::collections::BTreeMap;

use super::super::{
    ast::{BinaryOp, Define, Expr, ExprKind, UnaryOp},
    limits::MAX_TREE_DEPTH,
};

/// The values of all that are numbers.
pub(super) fn of(defines: &[Define]) -> BTreeMap<String, i64> {
    let mut reader = DefineEvaluator { defines: BTreeMap::new(), values: BTreeMap::new() };
    for define in defines {
        reader.defines.insert(&define.name.text, define.value.as_ref());
    }
    for define in defines {
        reader.named(&define.name.text, 0);
    }
    reader.values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

struct DefineEvaluator<'a> {
    defines: BTreeMap<&'a str, Option<&'a Expr>>,
    /// What was found out; none for what is no number.
    values: BTreeMap<&'a str, Option<i64>>,
}

impl<'a> DefineEvaluator<'a> {
    fn named(&mut self, name: &'a str, depth: u32) -> Option<i64> {
        if let Some(known) = self.values.get(name) {
            return *known;
        }
        let expr = self.defines.get(name).copied().flatten()?;
        // While it is being found out it is no number, so that one defined by itself is none.
        self.values.insert(name, None);
        let value = self.value(expr, depth);
        self.values.insert(name, value);
        value
    }

    fn value(&mut self, expr: &'a Expr, depth: u32) -> Option<i64> {
        let depth = depth + 1;
        if depth > MAX_TREE_DEPTH {
            return None;
        }
        match &expr.kind {
            // As in C, the bits stay.
            ExprKind::Integer { value, .. } => Some(i64::from_ne_bytes(value.to_ne_bytes())),
            ExprKind::Identifier(name) => self.named(name, depth),
            ExprKind::Unary { op, of } => {
                let value = self.value(of, depth)?;
                match op {
                    UnaryOp::Negate => value.checked_neg(),
                    UnaryOp::Complement => Some(!value),
                    UnaryOp::Not => Some(i64::from(value == 0)),
                    UnaryOp::Dereference | UnaryOp::AddressOf => None,
                }
            }
            ExprKind::Binary { op, left, right } => {
                let (left, right) = (self.value(left, depth)?, self.value(right, depth)?);
                computed(*op, left, right)
            }
            _ => None,
        }
    }
}

fn computed(op: BinaryOp, left: i64, right: i64) -> Option<i64> {
    let places = || u32::try_from(right).ok();
    match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Modulo => left.checked_rem(right),
        BinaryOp::BitAnd => Some(left & right),
        BinaryOp::BitOr => Some(left | right),
        BinaryOp::BitXor => Some(left ^ right),
        BinaryOp::ShiftLeft => left.checked_shl(places()?),
        BinaryOp::ShiftRight => left.checked_shr(places()?),
        BinaryOp::And => Some(i64::from(left != 0 && right != 0)),
        BinaryOp::Or => Some(i64::from(left != 0 || right != 0)),
        BinaryOp::Equal => Some(i64::from(left == right)),
        BinaryOp::NotEqual => Some(i64::from(left != right)),
        BinaryOp::Less => Some(i64::from(left < right)),
        BinaryOp::LessEqual => Some(i64::from(left <= right)),
        BinaryOp::Greater => Some(i64::from(left > right)),
        BinaryOp::GreaterEqual => Some(i64::from(left >= right)),
    }
}

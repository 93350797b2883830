//! Names of values.

use bathyscope_bpf::lang::ast::{Expr, ExprKind};

use crate::texts::expression;

/// What a value is called whose expression has no name.
const OTHER: &str = "value";

/// What the value of an expression is called, as the compiler calls its column; `value` where it has no name.
pub fn default_name(expr: &str) -> String {
    expression(expr).ok().and_then(|expr| named(&expr)).unwrap_or_else(|| OTHER.to_owned())
}

fn named(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(name) | ExprKind::Variable(name) => Some(name.clone()),
        ExprKind::Map { name, .. } if !name.is_empty() => Some(name.clone()),
        ExprKind::Member { name, .. } => Some(name.text.clone()),
        ExprKind::Cast { of, .. } | ExprKind::Unary { of, .. } => named(of),
        ExprKind::Element { base, .. } | ExprKind::Index { base, .. } => named(base),
        ExprKind::Binary { left, right, .. } if matches!(right.kind, ExprKind::Integer { .. }) => named(left),
        ExprKind::Call { function, arguments } => match arguments.as_slice() {
            [] => Some(function.text.clone()),
            [_, of] if function.text == "flag_names" => named(of),
            [first, ..] => named(first),
        },
        _ => None,
    }
    .filter(|name| is_name(name))
}

/// The name, or with a number behind it the first that nobody has.
pub(crate) fn unused(name: &str, taken: &[String]) -> String {
    let free = |name: &String| !taken.contains(name);
    let numbered = (2..).map(|number: u32| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(free).unwrap_or_default()
}

/// Whether a text can name a map or a column.
pub(crate) fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_called_as_their_columns() {
        for (expr, name) in [
            ("args.filename", "filename"),
            ("args.skb->len", "len"),
            ("args.flags & 0x3", "flags"),
            ("(uint32)args.prio", "prio"),
            ("curtask->mm->pgd", "pgd"),
            ("comm", "comm"),
            ("arg0", "arg0"),
            ("args.addr[2]", "addr"),
            ("flag_names(\"open\", args.flags)", "flags"),
            ("a + b", "value"),
            ("1", "value"),
            ("}", "value"),
        ] {
            assert_eq!(default_name(expr), name, "{expr}");
        }
        assert_eq!(unused("pid", &["pid".to_owned(), "pid_2".to_owned()]), "pid_3");
    }
}

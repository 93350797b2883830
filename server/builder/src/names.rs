//! Names of values.

use bathyscope_bpf::lang::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

use crate::texts::expression;

/// What a value is called whose expression has no name.
const OTHER: &str = "value";

/// What the value of an expression is called, as the compiler calls its column, and with the offset behind the name where it is
/// memory at an offset from a register; `value` where it has no name.
pub fn default_name(expr: &str) -> String {
    let name = expression(expr).ok().and_then(|expr| at_offset(&expr).or_else(|| named(&expr)));
    name.filter(|name| is_name(name)).unwrap_or_else(|| OTHER.to_owned())
}

/// The name of memory at an offset from a register: `arg0_8` of `arg0 + 8` and of `*(uint32 *)(arg0 + 8)`.
fn at_offset(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Unary { op: UnaryOp::Dereference, of } => match &of.kind {
            ExprKind::Cast { of, .. } => at_offset(of).or_else(|| register(of)),
            _ => None,
        },
        ExprKind::Binary { op: BinaryOp::Add, left, right } => match right.kind {
            ExprKind::Integer { value, .. } => Some(format!("{}_{value}", at_offset(left).or_else(|| register(left))?)),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a register: `arg0`, `di` of `reg("di")`.
fn register(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(name) => {
            let number = name.strip_prefix("arg")?;
            (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| name.clone())
        }
        ExprKind::Call { function, arguments } if function.text == "reg" => match arguments.as_slice() {
            [Expr { kind: ExprKind::Text(name), .. }] => String::from_utf8(name.clone()).ok(),
            _ => None,
        },
        _ => None,
    }
}

fn named(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(name) | ExprKind::Variable(name) => Some(name.clone()),
        ExprKind::Map { name, .. } if !name.is_empty() => Some(name.clone()),
        ExprKind::Member { name, .. } => Some(name.text.clone()),
        ExprKind::Cast { of, .. } | ExprKind::Unary { of, .. } => named(of),
        ExprKind::Element { base, .. } | ExprKind::Index { base, .. } => named(base),
        ExprKind::Binary { left, right, .. } if matches!(right.kind, ExprKind::Integer { .. }) => named(left),
        ExprKind::Call { .. } if register(expr).is_some() => register(expr),
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
            ("*(uint32 *)(arg0 + 8)", "arg0_8"),
            ("*(uint64 *)(*(uint64 *)(arg0 + 8) + 16)", "arg0_8_16"),
            ("*(uint64 *)reg(\"di\")", "di"),
            ("reg(\"di\") + 4", "di_4"),
            ("args.prio + 1", "prio"),
            ("a + b", "value"),
            ("1", "value"),
            ("}", "value"),
        ] {
            assert_eq!(default_name(expr), name, "{expr}");
        }
        assert_eq!(unused("pid", &["pid".to_owned(), "pid_2".to_owned()]), "pid_3");
    }
}

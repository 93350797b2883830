//! The normal form of a predicate: `&&`, `||`, `!( … )`, decimal numbers (hexadecimal after `&`), amounts in the
//! largest unit in which they are whole, double quotes.

use std::fmt;

use super::{CompareOp, Literal, Predicate};

/// Counts down, so that a tree from elsewhere is not written out whole to learn that it is too long.
pub(super) struct LengthCounter {
    pub(super) left: usize,
}

impl fmt::Write for LengthCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { field, op, value } => write_comparison(f, field, *op, value),
            Self::In { field, values } => {
                write!(f, "{field} in (")?;
                for (i, value) in values.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    write!(f, "{value}")?;
                }
                f.write_str(")")
            }
            Self::Between { field, low, high } => write!(f, "{field} between {low} and {high}"),
            Self::HasFrame { name } => {
                f.write_str("has stack frame ")?;
                write_text(f, name)
            }
            Self::Not(inner) => write!(f, "!({inner})"),
            Self::All(parts) => write_group(f, parts, " && "),
            Self::Any(parts) => write_group(f, parts, " || "),
        }
    }
}

fn write_group(f: &mut fmt::Formatter<'_>, parts: &[Predicate], separator: &str) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        // Parentheses also where precedence would do: `a && b || c` is misread too easily.
        match part {
            Predicate::All(_) | Predicate::Any(_) => write!(f, "({part})")?,
            _ => write!(f, "{part}")?,
        }
    }
    Ok(())
}

fn write_comparison(f: &mut fmt::Formatter<'_>, field: &str, op: CompareOp, value: &Literal) -> fmt::Result {
    write!(f, "{field} {} ", op.sign())?;
    match value {
        Literal::Number(number) if op == CompareOp::AnyBit => write!(f, "{number:#x}"),
        value => write!(f, "{value}"),
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Negative(number) => write!(f, "{number}"),
            Self::Amount { amount, .. } => write!(f, "{amount}"),
            Self::Text(text) => write_text(f, text),
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c if crate::text::hides_or_moves_text(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

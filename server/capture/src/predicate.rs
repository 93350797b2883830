//! Conditions on an event, as a tree. The same tree is compiled to BPF for the kernel and evaluated on stored rows.
//!
//! As text:
//!
//! ```text
//! predicate  := all ( ( "||" | "or" ) all )*
//! all        := not ( ( "&&" | "and" ) not )*
//! not        := ( "!" | "not" ) not | "(" predicate ")" | comparison
//! comparison := field ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) number
//!             | field ( "==" | "!=" | "~" | "!~" ) text
//!             | field "&" number
//! field      := [ "args." ] name [ "[" index "]" ]
//! ```
//!
//! Numbers are decimal or hexadecimal (`0x1f`), and may be negative; text stands in double or single quotes.

mod parse;
#[cfg(test)]
mod tests;
pub mod text;

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest predicate text that is parsed, and the longest normal form of a valid tree.
pub const MAX_PREDICATE_BYTES: usize = 1 << 10;
/// The deepest nesting of a predicate; one comparison has depth 1.
pub const MAX_PREDICATE_DEPTH: usize = 16;
/// The longest name of a field in a predicate.
const MAX_FIELD_BYTES: usize = 128;

/// A condition on one event.
///
/// Names are resolved in this order: `pid` (tgid), `tid`, `cpu`, `comm` of the current task; then the event's own
/// fields. `args.NAME` always means the event's own field.
///
/// Numbers are compared by their value, whatever the width and the sign of the field: an unsigned field is never below
/// zero. A value that is not there (text that could not be read) satisfies no comparison, not even `!=`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Predicate {
    /// A field against a constant.
    Compare {
        /// The field's name.
        field: String,
        /// How it is compared.
        op: CompareOp,
        /// With what.
        value: Literal,
    },
    /// The condition does not hold.
    Not(Box<Predicate>),
    /// All conditions hold; at least two.
    All(Vec<Predicate>),
    /// At least one condition holds; at least two.
    Any(Vec<Predicate>),
}

/// How a field is compared with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareOp {
    /// `==`, for numbers and text.
    Eq,
    /// `!=`, for numbers and text.
    Ne,
    /// `<`, signed or unsigned as the field is.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `&`: at least one bit of the constant is set.
    AnyBit,
    /// `~`: text begins with the constant (written with a final `*`), contains it (a `*` on both sides), ends in it (a
    /// first `*`), or is equal to it (no `*`).
    Matches,
}

impl CompareOp {
    /// As it is written, here and in the kernel's filters of events.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::AnyBit => "&",
            Self::Matches => "~",
        }
    }
}

/// A constant in a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Literal {
    /// A number below zero.
    Negative(i64),
    /// A number from zero up.
    Number(u64),
    /// Text.
    Text(String),
}

/// What a [`CompareOp::Matches`] asks of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPattern<'a> {
    /// It is this.
    Exact(&'a str),
    /// It begins with this.
    Prefix(&'a str),
    /// It ends in this.
    Suffix(&'a str),
    /// It contains this.
    Contains(&'a str),
}

impl<'a> TextPattern<'a> {
    /// Reads a pattern; every `*` inside it stands for itself (a valid predicate has none there).
    pub fn new(pattern: &'a str) -> Self {
        match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(rest), Some(_)) => Self::Contains(rest.strip_suffix('*').unwrap_or("")),
            (Some(rest), None) => Self::Suffix(rest),
            (None, Some(rest)) => Self::Prefix(rest),
            (None, None) => Self::Exact(pattern),
        }
    }

    /// The text without the `*`s.
    pub fn text(&self) -> &'a str {
        match self {
            Self::Exact(text) | Self::Prefix(text) | Self::Suffix(text) | Self::Contains(text) => text,
        }
    }

    /// Whether `text` is what the pattern asks for.
    pub fn matches(&self, text: &[u8]) -> bool {
        let wanted = self.text().as_bytes();
        match self {
            Self::Exact(_) => text == wanted,
            Self::Prefix(_) => text.starts_with(wanted),
            Self::Suffix(_) => text.ends_with(wanted),
            Self::Contains(_) => wanted.is_empty() || text.windows(wanted.len()).any(|window| window == wanted),
        }
    }
}

/// The value of a field when a predicate is evaluated on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// Text, without a final NUL.
    Text(&'a [u8]),
}

/// A predicate that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PredicateError {
    /// The text is not a predicate.
    #[error("{message} at character {offset}")]
    Syntax {
        /// Where, in characters from 0.
        offset: usize,
        /// What was expected or found.
        message: String,
    },
    /// Nested deeper than [`MAX_PREDICATE_DEPTH`] or longer than [`MAX_PREDICATE_BYTES`].
    #[error("the predicate is too {what}; the limit is {limit}")]
    TooLarge {
        /// `long` or `deep`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A tree that no text can stand for.
    #[error("the predicate is malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

impl Predicate {
    /// Reads a predicate from text.
    ///
    /// # Errors
    /// If the text is too long, nested too deep, or not a predicate; then with the place and what was expected there.
    pub fn parse(text: &str) -> Result<Self, PredicateError> {
        let predicate = parse::parse(text)?;
        predicate.validate()?;
        Ok(predicate)
    }

    /// Checks sizes, depth and operands of a tree that came from elsewhere. A valid tree has a normal form that parses
    /// back to it.
    ///
    /// # Errors
    /// If it is too deep or too large, or if no text stands for it.
    pub fn validate(&self) -> Result<(), PredicateError> {
        self.validate_level(1)?;
        let mut counter = LengthCounter { left: MAX_PREDICATE_BYTES };
        match fmt::write(&mut counter, format_args!("{self}")) {
            Ok(()) => Ok(()),
            Err(fmt::Error) => Err(PredicateError::TooLarge { what: "long", limit: MAX_PREDICATE_BYTES }),
        }
    }

    fn validate_level(&self, depth: usize) -> Result<(), PredicateError> {
        if depth > MAX_PREDICATE_DEPTH {
            return Err(PredicateError::TooLarge { what: "deep", limit: MAX_PREDICATE_DEPTH });
        }
        match self {
            Self::Compare { field, op, value } => {
                if !parse::is_field(field) {
                    return Err(PredicateError::Malformed { what: "a field's name has characters it cannot have" });
                }
                check_operand(*op, value).map_err(|what| PredicateError::Malformed { what })
            }
            Self::Not(inner) => inner.validate_level(depth + 1),
            Self::All(parts) | Self::Any(parts) => {
                if parts.len() < 2 {
                    return Err(PredicateError::Malformed { what: "a group has less than two conditions" });
                }
                parts.iter().try_for_each(|part| part.validate_level(depth + 1))
            }
        }
    }

    /// The names of the fields, each once, in the order of their first use.
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.collect_fields(&mut names);
        names
    }

    fn collect_fields<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Compare { field, .. } => {
                if !names.contains(&field.as_str()) {
                    names.push(field);
                }
            }
            Self::Not(inner) => inner.collect_fields(names),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.collect_fields(names)),
        }
    }

    /// Whether the condition holds for the row whose values `value_of` gives; `None` where a row has no such value.
    pub fn eval<'v>(&self, value_of: &mut dyn FnMut(&str) -> Option<Value<'v>>) -> bool {
        match self {
            Self::Compare { field, op, value } => value_of(field).is_some_and(|found| compare(found, *op, value)),
            Self::Not(inner) => !inner.eval(value_of),
            Self::All(parts) => parts.iter().all(|part| part.eval(value_of)),
            Self::Any(parts) => parts.iter().any(|part| part.eval(value_of)),
        }
    }
}

fn check_operand(op: CompareOp, value: &Literal) -> Result<(), &'static str> {
    match (op, value) {
        (_, Literal::Negative(0..)) => Err("a negative number is not below zero"),
        (CompareOp::AnyBit, Literal::Number(_)) => Ok(()),
        (CompareOp::AnyBit, _) => Err("& needs a number from zero up, such as 0x10"),
        (CompareOp::Matches, Literal::Text(text)) if TextPattern::new(text).text().contains('*') => {
            Err("a * may stand only at the beginning and at the end of a pattern")
        }
        (CompareOp::Matches | CompareOp::Eq | CompareOp::Ne, Literal::Text(text)) if text.contains('\0') => {
            Err("text cannot contain a NUL character")
        }
        (CompareOp::Matches | CompareOp::Eq | CompareOp::Ne, Literal::Text(_)) => Ok(()),
        (CompareOp::Matches, _) => Err("~ needs text in quotes, such as \"ssh*\""),
        (_, Literal::Text(_)) => Err("text can be compared with ==, != and ~ only"),
        (_, Literal::Negative(_) | Literal::Number(_)) => Ok(()),
    }
}

fn compare(found: Value<'_>, op: CompareOp, wanted: &Literal) -> bool {
    let constant = match wanted {
        Literal::Negative(number) => i128::from(*number),
        Literal::Number(number) => i128::from(*number),
        Literal::Text(wanted) => {
            let Value::Text(text) = found else { return false };
            return match op {
                CompareOp::Eq => text == wanted.as_bytes(),
                CompareOp::Ne => text != wanted.as_bytes(),
                CompareOp::Matches => TextPattern::new(wanted).matches(text),
                _ => false,
            };
        }
    };
    let (number, bits) = match found {
        Value::Unsigned(number) => (i128::from(number), number),
        Value::Signed(number) => (i128::from(number), number.cast_unsigned()),
        Value::Text(_) => return false,
    };
    match op {
        CompareOp::Eq => number == constant,
        CompareOp::Ne => number != constant,
        CompareOp::Lt => number < constant,
        CompareOp::Le => number <= constant,
        CompareOp::Gt => number > constant,
        CompareOp::Ge => number >= constant,
        CompareOp::AnyBit => matches!(wanted, Literal::Number(mask) if bits & mask != 0),
        CompareOp::Matches => false,
    }
}

/// Counts down, so that a tree from elsewhere is not written out whole to learn that it is too long.
struct LengthCounter {
    left: usize,
}

impl fmt::Write for LengthCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// The normal form: `&&`, `||`, `!( … )`, decimal numbers (hexadecimal after `&`), double quotes.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { field, op, value } => write_comparison(f, field, *op, value),
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
            Predicate::Compare { .. } | Predicate::Not(_) => write!(f, "{part}")?,
        }
    }
    Ok(())
}

fn write_comparison(f: &mut fmt::Formatter<'_>, field: &str, op: CompareOp, value: &Literal) -> fmt::Result {
    write!(f, "{field} {} ", op.sign())?;
    match value {
        Literal::Number(number) if op == CompareOp::AnyBit => write!(f, "{number:#x}"),
        Literal::Number(number) => write!(f, "{number}"),
        Literal::Negative(number) => write!(f, "{number}"),
        Literal::Text(text) => {
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
    }
}

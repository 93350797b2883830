//! Conditions on an event, as a tree. The same tree is compiled to BPF for the kernel and evaluated on stored rows.
//!
//! As text:
//!
//! ```text
//! predicate  := all ( ( "||" | "or" ) all )*
//! all        := not ( ( "&&" | "and" ) not )*
//! not        := ( "!" | "not" ) not | "(" predicate ")" | comparison
//! comparison := field ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) ( number | amount )
//!             | field ( "==" | "!=" | "~" | "!~" ) text
//!             | field "&" number
//!             | field [ "not" ] "in" "(" value ( "," value )* ")"
//!             | field [ "not" ] "between" ( number "and" number | amount "and" amount )
//!             | field [ "not" ] ( "contains" | "matches" ) text
//!             | "has" "stack" "frame" text
//! field      := [ "args." ] name [ "[" index "]" ]
//! amount     := [ "-" ] digits [ "." digits ] unit
//! ```
//!
//! Numbers are decimal or hexadecimal (`0x1f`), and may be negative; text stands in double or single quotes. A number with a unit,
//! such as `100ms` or `4KiB` ([`Amount`]), is for fields whose unit is known: whoever knows the fields makes a plain number of it
//! first, or refuses it ([`Predicate::in_units`]). `matches` takes a
//! regular expression. It and `has stack frame` are for rows that are stored, no program in the kernel can do them
//! ([`Predicate::rows_only`]).

mod parse;
mod show;
#[cfg(test)]
mod tests;
pub mod text;
mod units;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use units::Place;

use crate::{Amount, AmountKind};

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
    /// A field is one of several constants: all numbers, or all texts.
    In {
        /// The field's name.
        field: String,
        /// The constants, at least one.
        values: Vec<Literal>,
    },
    /// A field is a number from one constant to another, both included.
    Between {
        /// The field's name.
        field: String,
        /// The least.
        low: Literal,
        /// The greatest.
        high: Literal,
    },
    /// A function in a row's stack is called so; a `*` at the beginning and at the end is as in [`CompareOp::Matches`].
    HasFrame {
        /// Its name.
        name: String,
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
    /// `contains`: the constant is in the text, whatever characters it has.
    Contains,
    /// `matches`: the constant is a regular expression that matches a part of the text as it is shown.
    Regex,
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
            Self::Contains => "contains",
            Self::Regex => "matches",
        }
    }
}

impl CompareOp {
    /// Whether it compares text.
    pub const fn takes_text(self) -> bool {
        matches!(self, Self::Eq | Self::Ne) || self.is_of_text()
    }

    /// Whether it compares nothing but text.
    pub const fn is_of_text(self) -> bool {
        matches!(self, Self::Matches | Self::Contains | Self::Regex)
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
    /// A number with a unit.
    Amount {
        /// How much of what.
        amount: Amount,
        /// Where it stands.
        #[serde(skip)]
        at: Place,
    },
    /// Text.
    Text(String),
}

impl Literal {
    /// Its value, if it is a number without a unit.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Negative(number) => Some(i128::from(*number)),
            Self::Number(number) => Some(i128::from(*number)),
            Self::Amount { .. } | Self::Text(_) => None,
        }
    }

    /// What it can be compared with: numbers with numbers, amounts with amounts of the same, texts with texts.
    const fn sort(&self) -> LiteralSort {
        match self {
            Self::Negative(_) | Self::Number(_) => LiteralSort::Number,
            Self::Amount { amount, .. } => LiteralSort::Amount(amount.kind),
            Self::Text(_) => LiteralSort::Text,
        }
    }

    /// Whether it is text.
    pub const fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// Constants that belong together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LiteralSort {
    Number,
    Amount(AmountKind),
    Text,
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
    /// A number has a unit that does not fit what it is compared with.
    #[error("{message}{}", units::place_words(.offset.as_ref()))]
    Unit {
        /// Where, in characters from 0; none if the condition was not read from text here.
        offset: Option<u32>,
        /// What does not fit, and what would.
        message: String,
    },
    /// What rules and programs, which see each row once as it comes, cannot ask.
    #[error("`{what}` can be asked of stored rows alone; leave it out here, and filter the rows by it")]
    RowsOnly {
        /// What, as it is written.
        what: &'static str,
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
        let mut counter = show::LengthCounter { left: MAX_PREDICATE_BYTES };
        match fmt::write(&mut counter, format_args!("{self}")) {
            Ok(()) => Ok(()),
            Err(fmt::Error) => Err(PredicateError::TooLarge { what: "long", limit: MAX_PREDICATE_BYTES }),
        }
    }

    fn validate_level(&self, depth: usize) -> Result<(), PredicateError> {
        if depth > MAX_PREDICATE_DEPTH {
            return Err(PredicateError::TooLarge { what: "deep", limit: MAX_PREDICATE_DEPTH });
        }
        let malformed = |what| PredicateError::Malformed { what };
        let named = |field: &str| match parse::is_field(field) {
            true => Ok(()),
            false => Err(malformed("a field's name has characters it cannot have")),
        };
        match self {
            Self::Compare { field, op, value } => {
                named(field)?;
                check_operand(*op, value).map_err(malformed)
            }
            Self::In { field, values } => {
                named(field)?;
                check_list(values).map_err(malformed)
            }
            Self::Between { field, low, high } => {
                named(field)?;
                check_bounds(low, high).map_err(malformed)
            }
            Self::HasFrame { name } => check_frame(name).map_err(malformed),
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
            Self::Compare { field, .. } | Self::In { field, .. } | Self::Between { field, .. } => {
                if !names.contains(&field.as_str()) {
                    names.push(field);
                }
            }
            Self::HasFrame { .. } => {}
            Self::Not(inner) => inner.collect_fields(names),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.collect_fields(names)),
        }
    }

    /// What of it can be asked of stored rows alone, as it is written; none if programs in the kernel and rules, which see each
    /// row once as it comes, can do it all.
    pub fn rows_only(&self) -> Option<&'static str> {
        match self {
            Self::HasFrame { .. } => Some("has stack frame"),
            Self::Compare { op: CompareOp::Regex, .. } => Some(CompareOp::Regex.sign()),
            Self::Compare { .. } | Self::In { .. } | Self::Between { .. } => None,
            Self::Not(inner) => inner.rows_only(),
            Self::All(parts) | Self::Any(parts) => parts.iter().find_map(Self::rows_only),
        }
    }

    /// The same said by comparisons alone, where it is a list or a pair of bounds; for whoever knows nothing else.
    #[must_use]
    pub fn as_comparisons(&self) -> Option<Self> {
        let compare =
            |field: &String, op, value: &Literal| Self::Compare { field: field.clone(), op, value: value.clone() };
        match self {
            Self::In { field, values } => {
                let mut each: Vec<Self> = values.iter().map(|value| compare(field, CompareOp::Eq, value)).collect();
                if each.len() == 1 { each.pop() } else { Some(Self::Any(each)) }
            }
            Self::Between { field, low, high } => {
                Some(Self::All(vec![compare(field, CompareOp::Ge, low), compare(field, CompareOp::Le, high)]))
            }
            Self::Compare { .. } | Self::HasFrame { .. } | Self::Not(_) | Self::All(_) | Self::Any(_) => None,
        }
    }

    /// Whether the condition holds for the row whose values `value_of` gives; `None` where a row has no such value. What
    /// [`Predicate::rows_only`] names holds for none here: views judge it by what they know of texts and stacks. Numbers with
    /// units are equal to none either: [`Predicate::in_units`] comes before.
    pub fn eval<'v>(&self, value_of: &mut dyn FnMut(&str) -> Option<Value<'v>>) -> bool {
        match self {
            Self::Compare { field, op, value } => value_of(field).is_some_and(|found| compare(found, *op, value)),
            Self::In { field, values } => {
                value_of(field).is_some_and(|found| values.iter().any(|value| compare(found, CompareOp::Eq, value)))
            }
            Self::Between { field, low, high } => value_of(field)
                .is_some_and(|found| compare(found, CompareOp::Ge, low) && compare(found, CompareOp::Le, high)),
            Self::HasFrame { .. } => false,
            Self::Not(inner) => !inner.eval(value_of),
            Self::All(parts) => parts.iter().all(|part| part.eval(value_of)),
            Self::Any(parts) => parts.iter().any(|part| part.eval(value_of)),
        }
    }
}

fn check_operand(op: CompareOp, value: &Literal) -> Result<(), &'static str> {
    match (op, value) {
        (_, Literal::Negative(0..)) => Err("a negative number is not below zero"),
        (_, Literal::Amount { amount, .. }) if amount.base == i64::MIN => {
            Err("an amount is below all that can be written")
        }
        (CompareOp::AnyBit, Literal::Number(_)) => Ok(()),
        (CompareOp::AnyBit, _) => Err("& needs a number from zero up, such as 0x10"),
        (CompareOp::Matches, Literal::Text(text)) if TextPattern::new(text).text().contains('*') => {
            Err("a * may stand only at the beginning and at the end of a pattern")
        }
        (op, Literal::Text(text)) if op.takes_text() && text.contains('\0') => {
            Err("text cannot contain a NUL character")
        }
        (CompareOp::Contains, Literal::Text(text)) if text.is_empty() => Err("contains needs a text to look for"),
        (CompareOp::Regex, Literal::Text(text)) if text.is_empty() => Err("matches needs a regular expression"),
        (op, Literal::Text(_)) if op.takes_text() => Ok(()),
        (CompareOp::Matches, _) => Err("~ needs text in quotes, such as \"ssh*\""),
        (CompareOp::Contains, _) => Err("contains needs text in quotes, such as \"ssh\""),
        (CompareOp::Regex, _) => Err("matches needs a regular expression in quotes, such as \"^ssh[0-9]\""),
        (_, Literal::Text(_)) => Err("text can be compared with ==, !=, ~, contains and matches only"),
        (_, Literal::Negative(_) | Literal::Number(_) | Literal::Amount { .. }) => Ok(()),
    }
}

/// What is wrong with the constants of a list.
fn check_list(values: &[Literal]) -> Result<(), &'static str> {
    let Some(first) = values.first() else { return Err("in needs at least one value") };
    values.iter().try_for_each(|value| check_operand(CompareOp::Eq, value))?;
    if values.iter().all(|value| value.is_text() == first.is_text()) {
        let alike = values.iter().all(|value| value.sort() == first.sort());
        if alike { Ok(()) } else { Err("the values of in (…) have all units of time, all units of size, or none") }
    } else {
        Err("the values of in (…) are all numbers or all texts")
    }
}

/// What is wrong with two bounds.
fn check_bounds(low: &Literal, high: &Literal) -> Result<(), &'static str> {
    let size = |bound: &Literal| match bound {
        Literal::Amount { amount, .. } => Some(i128::from(amount.base)),
        plain => plain.number(),
    };
    match (size(low), size(high)) {
        (Some(_), Some(_)) if low.sort() != high.sort() => {
            Err("the numbers of between have both units of time, both units of size, or none")
        }
        (Some(least), Some(most)) if least > most => Err("the first number of between is the smaller one"),
        (Some(_), Some(_)) => {
            check_operand(CompareOp::Ge, low)?;
            check_operand(CompareOp::Le, high)
        }
        _ => Err("between needs two numbers, such as 10 and 20"),
    }
}

/// What is wrong with the name of a function.
fn check_frame(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("has stack frame needs a function's name, such as \"tcp_*\""),
        name if name.contains('\0') => Err("text cannot contain a NUL character"),
        _ => Ok(()),
    }
}

fn compare(found: Value<'_>, op: CompareOp, wanted: &Literal) -> bool {
    let constant = match wanted {
        Literal::Negative(number) => i128::from(*number),
        Literal::Number(number) => i128::from(*number),
        Literal::Amount { .. } => return false,
        Literal::Text(wanted) => {
            let Value::Text(text) = found else { return false };
            return match op {
                CompareOp::Eq => text == wanted.as_bytes(),
                CompareOp::Ne => text != wanted.as_bytes(),
                CompareOp::Matches => TextPattern::new(wanted).matches(text),
                CompareOp::Contains => TextPattern::Contains(wanted).matches(text),
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
        CompareOp::Matches | CompareOp::Contains | CompareOp::Regex => false,
    }
}

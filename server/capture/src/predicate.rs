//! Conditions on an event, as a tree. The same tree is compiled to BPF for the kernel and evaluated on stored rows.

use serde::{Deserialize, Serialize};

/// The longest predicate text that is parsed.
pub const MAX_PREDICATE_BYTES: usize = 1 << 10;
/// The deepest nesting of a predicate.
pub const MAX_PREDICATE_DEPTH: usize = 16;

/// A condition on one event.
///
/// Names are resolved in this order: `pid` (tgid), `tid`, `cpu`, `comm` of the current task; then the event's own
/// fields. `args.NAME` always means the event's own field.
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
    /// All conditions hold.
    All(Vec<Predicate>),
    /// At least one condition holds.
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
    /// `~`: text begins with the constant (written with a final `*`), contains it, or ends in it.
    Matches,
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
}

impl Predicate {
    /// Checks sizes and depth of a tree that came from elsewhere.
    ///
    /// # Errors
    /// If it is too deep or too large.
    pub fn validate(&self) -> Result<(), PredicateError> {
        unimplemented!()
    }
}

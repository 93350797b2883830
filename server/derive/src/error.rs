//! Why a rule cannot be applied to a capture.

use bathyscope_capture::PredicateError;

/// Why a rule cannot be applied to a capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DerivationError {
    /// A stream that the rule needs was not recorded.
    #[error("{rule} is made from {needed}, which the capture does not have; record it and try again")]
    NoStream {
        /// The rule.
        rule: String,
        /// The stream, or those of which one is needed.
        needed: String,
    },
    /// A column that the rule needs was not recorded, or has values of another type.
    #[error(
        "{rule} needs the column {column} of {stream} as {as_what}, which was not recorded so; record it and try again"
    )]
    NoColumn {
        /// The rule.
        rule: String,
        /// The stream.
        stream: String,
        /// The column.
        column: String,
        /// What its values have to be.
        as_what: &'static str,
    },
    /// The definition of a span is not one.
    #[error("the span {name:?} cannot be: {what}")]
    Span {
        /// Its name.
        name: String,
        /// What is wrong, and how it has to be.
        what: &'static str,
    },
    /// The condition of a span is not one.
    #[error("the condition on {stream} in the span {name:?} cannot be used: {error}")]
    Condition {
        /// The span's name.
        name: String,
        /// The stream.
        stream: String,
        /// Why.
        error: PredicateError,
    },
}

//! What has no equal, and where.

use bathyscope_plan::{Diagnostic, Span};

pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// A refusal at a place, with the nearest that works.
pub(crate) fn refuse<T>(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Result<T> {
    Err(Box::new(Diagnostic::error(span, message).hint(hint)))
}

/// From the begin of one place to the end of another.
pub(crate) fn join(from: Span, to: Span) -> Span {
    Span { start: from.start, end: to.end.max(from.start) }
}

/// A range of bytes of a text that is within [`crate::MAX_TEXT_BYTES`].
pub(crate) fn span(start: usize, end: usize) -> Span {
    Span { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
}

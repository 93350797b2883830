//! What is wrong with a script, and where.

use serde::{Deserialize, Serialize};

/// A range of bytes of the script's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The first byte after it.
    pub end: u32,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The script cannot run.
    Error,
    /// It runs, and may not do what was meant.
    Warning,
}

/// One message about a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, without a final stop: "no field `filname` in args of tracepoint:syscalls:sys_enter_openat".
    pub message: String,
    /// What would be right: "did you mean `filename`?"; may be empty.
    pub hint: String,
    /// First byte of what it is about.
    pub start: u32,
    /// First byte after it.
    pub end: u32,
    /// More for those who want it, such as the verifier's log; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Diagnostic {
    /// An error.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        let (message, hint, detail) = (message.into(), String::new(), String::new());
        Self { severity: Severity::Error, message, hint, start: span.start, end: span.end, detail }
    }

    /// A warning.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// With a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// What it is about.
    pub fn span(&self) -> Span {
        Span { start: self.start, end: self.end }
    }
}

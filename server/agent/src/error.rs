//! Making [`AgentError`]s: what was being done, why it failed, what helps.

use std::io;

use bathyscope_protocol::{AgentError, AgentErrorKind};

/// An error of `kind`: `doing` with the value, `why` without a final stop, `remedy` in whole sentences.
pub(crate) fn failed(
    kind: AgentErrorKind,
    doing: impl Into<String>,
    why: impl Into<String>,
    remedy: impl Into<String>,
) -> AgentError {
    AgentError { kind, doing: doing.into(), why: why.into(), remedy: remedy.into(), detail: String::new() }
}

/// The kind that an error of the operating system is for a person.
pub(crate) fn kind_of(error: &io::Error) -> AgentErrorKind {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => AgentErrorKind::Denied,
        Some(libc::ENOENT | libc::ESRCH) => AgentErrorKind::NotFound,
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::ENODEV) => AgentErrorKind::Unsupported,
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOSPC | libc::E2BIG) => AgentErrorKind::Limit,
        _ => AgentErrorKind::Internal,
    }
}

/// What the operating system said, without the number that Rust appends.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => lower_first(text.get(..end).unwrap_or(&text)),
        None => lower_first(&text),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}

/// An error of the operating system while `doing`, with what helps.
pub(crate) fn refused(doing: impl Into<String>, error: &io::Error, remedy: impl Into<String>) -> AgentError {
    failed(kind_of(error), doing, words(error), remedy)
}

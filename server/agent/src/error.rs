//! Making [`AgentError`]s: what was being done, why it failed, what helps.

use std::io;

use bathyscope_protocol::{AgentError, AgentErrorKind};

use crate::needs::Remedy;

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

/// An error of the operating system while `doing`, with what helps: a text, or the right that is needed, if it is one that
/// was missing.
pub(crate) fn refused(doing: impl Into<String>, error: &io::Error, remedy: impl Into<Remedy>) -> AgentError {
    let kind = kind_of(error);
    let remedy = match remedy.into() {
        Remedy::Text(text) => text,
        Remedy::Right(need) if kind == AgentErrorKind::Denied => need.remedy(),
        // Rights are no help against what has nothing to do with them.
        Remedy::Right(_) => String::new(),
    };
    failed(kind, doing, words(error), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::Need;

    #[test]
    fn rights_are_only_told_where_one_was_missing() {
        let told = |errno, remedy: Remedy| refused("this", &io::Error::from_raw_os_error(errno), remedy).remedy;
        for need in [Need::Programs, Need::Events, Need::Administrator, Need::Files] {
            assert_eq!(told(libc::EPERM, need.into()), need.remedy());
            for errno in [libc::EINVAL, libc::ENOENT, libc::ENOMEM, libc::EINTR] {
                assert_eq!(told(errno, need.into()), "");
            }
        }
        assert_eq!(told(libc::EINVAL, "Ask for less.".into()), "Ask for less.");
    }
}

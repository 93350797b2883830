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

/// An error of the operating system while `doing`, with what helps: `remedy`, if it is of any use here.
pub(crate) fn refused(doing: impl Into<String>, error: &io::Error, remedy: impl Into<String>) -> AgentError {
    let kind = kind_of(error);
    failed(kind, doing, words(error), suited(kind, remedy.into(), has_all_rights()))
}

/// Advice to become root, where that can help: only against a right that is missing, and nobody who has it.
fn suited(kind: AgentErrorKind, remedy: String, has_all_rights: bool) -> String {
    let is_about_rights = remedy.contains("as root");
    match (is_about_rights, kind, has_all_rights) {
        (false, ..) | (true, AgentErrorKind::Denied, false) => remedy,
        (true, AgentErrorKind::Denied, true) => {
            "The agent has every right already: the kernel's lockdown, a security module \
            or a sandbox forbids it. `bathyscope doctor` tells what works here."
                .to_owned()
        }
        (true, ..) => String::new(),
    }
}

/// Whether more rights than this process has would change nothing.
fn has_all_rights() -> bool {
    let sets = rustix::thread::capabilities(None);
    rustix::process::geteuid().is_root()
        && sets.is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_who_is_root_is_told_to_be_root() {
        let advice = || "Run the agent as root, or give it CAP_BPF.".to_owned();
        assert_eq!(suited(AgentErrorKind::Denied, advice(), false), advice());
        assert!(suited(AgentErrorKind::Denied, advice(), true).contains("lockdown"));
        // Rights are no help against what has nothing to do with them.
        for kind in [AgentErrorKind::Internal, AgentErrorKind::Invalid, AgentErrorKind::NotFound] {
            assert_eq!(suited(kind, advice(), false), "", "{kind:?}");
        }
        let other = "Ask for a smaller buffer.".to_owned();
        assert_eq!(suited(AgentErrorKind::Internal, other.clone(), true), other);
    }
}

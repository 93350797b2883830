//! Putting what the kernel answered into words.

use std::io;

use bathyscope_protocol::CapabilityState;

use crate::error::words;
pub(super) use crate::needs::{Need, Rights};

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) state: CapabilityState,
    pub(super) finding: String,
    pub(super) remedy: String,
}

impl Verdict {
    pub(super) fn new(state: CapabilityState, finding: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state, finding: finding.into(), remedy: remedy.into() }
    }

    pub(super) fn works(finding: impl Into<String>) -> Self {
        Self::new(CapabilityState::Available, finding, "")
    }

    pub(super) fn absent(finding: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(CapabilityState::MissingKernelFeature, finding, remedy)
    }
}

impl Rights {
    /// The verdict on a call that failed: a missing right is only blamed where the process really lacks it.
    pub(super) fn judge(self, what: &str, error: &io::Error, need: Need, option: &str) -> Verdict {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) if self.lacks(need) => {
                let finding = format!("{what} was not allowed: the agent lacks the right to it");
                Verdict::new(CapabilityState::MissingPrivilege, finding, self.remedy(need))
            }
            Some(libc::EPERM | libc::EACCES) => Verdict::new(
                CapabilityState::Refused,
                format!("{what} was refused although the agent has the right to it: {}", words(error)),
                self.remedy(need),
            ),
            _ => {
                let finding = format!("{what} failed: {}", words(error));
                let remedy = if option.is_empty() { String::new() } else { format!("Use a kernel with {option}.") };
                Verdict::absent(finding, remedy)
            }
        }
    }
}

/// A length of time for people, in milliseconds.
pub(super) fn milliseconds(since: std::time::Instant) -> String {
    format!("{:.1} ms", since.elapsed().as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use rustix::thread::CapabilitySet;

    use super::*;

    #[test]
    fn a_missing_right_is_only_blamed_where_it_is_missing() {
        let none = Rights::of(CapabilitySet::empty(), false);
        let all = Rights::of(CapabilitySet::all(), true);
        let tracing = Rights::of(CapabilitySet::BPF | CapabilitySet::PERFMON, false);
        let cases = [
            (none, libc::EPERM, Need::Programs, CapabilityState::MissingPrivilege),
            (none, libc::EACCES, Need::Events, CapabilityState::MissingPrivilege),
            (tracing, libc::EPERM, Need::Programs, CapabilityState::Refused),
            (tracing, libc::EPERM, Need::Administrator, CapabilityState::MissingPrivilege),
            (all, libc::EPERM, Need::Programs, CapabilityState::Refused),
            (all, libc::EOPNOTSUPP, Need::Programs, CapabilityState::MissingKernelFeature),
            (none, libc::ENOENT, Need::Programs, CapabilityState::MissingKernelFeature),
        ];
        for (rights, errno, need, expected) in cases {
            let verdict = rights.judge("this", &io::Error::from_raw_os_error(errno), need, "CONFIG_X");
            assert_eq!(verdict.state, expected, "{errno} {need:?}");
            assert!(!verdict.finding.is_empty() && !verdict.remedy.is_empty());
        }
    }
}

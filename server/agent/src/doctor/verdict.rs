//! Putting what the kernel answered into words.

use std::io;

use bathyscope_protocol::CapabilityState;
use rustix::thread::CapabilitySet;

use crate::{
    error::words,
    kernel::lockdown::{self, Lockdown},
};

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

/// The rights of this process that matter to tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    effective: CapabilitySet,
}

/// What a way to observe needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Loading programs for tracing.
    Programs,
    /// perf events of the whole system.
    Events,
    /// What only the administrator may do.
    Administrator,
}

impl Need {
    fn capabilities(self) -> (CapabilitySet, &'static str) {
        match self {
            Self::Programs => (CapabilitySet::BPF | CapabilitySet::PERFMON, "CAP_BPF and CAP_PERFMON"),
            Self::Events => (CapabilitySet::PERFMON, "CAP_PERFMON"),
            Self::Administrator => (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
        }
    }
}

impl Rights {
    pub(super) fn of_this_process() -> Self {
        let sets = rustix::thread::capabilities(None);
        Self { effective: sets.map_or(CapabilitySet::empty(), |sets| sets.effective) }
    }

    #[cfg(test)]
    pub(super) fn of(effective: CapabilitySet) -> Self {
        Self { effective }
    }

    fn lacks(self, need: Need) -> bool {
        !self.effective.contains(CapabilitySet::SYS_ADMIN) && !self.effective.contains(need.capabilities().0)
    }

    /// The verdict on a call that failed: a missing right is only blamed where the process really lacks it.
    pub(super) fn judge(self, what: &str, error: &io::Error, need: Need, option: &str) -> Verdict {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) if self.lacks(need) => {
                let names = need.capabilities().1;
                let finding = format!("{what} was not allowed: the agent lacks {names}");
                let paranoid = match need {
                    Need::Events => paranoid_level(),
                    Need::Programs | Need::Administrator => String::new(),
                };
                let remedy = format!("Run the agent as root, or give it {names}.{paranoid}");
                Verdict::new(CapabilityState::MissingPrivilege, finding, remedy)
            }
            Some(libc::EPERM | libc::EACCES) => Verdict::new(
                CapabilityState::Refused,
                format!("{what} was refused although the agent has the right to it: {}", words(error)),
                refusal_remedy(Lockdown::of_this_kernel()),
            ),
            _ => {
                let finding = format!("{what} failed: {}", words(error));
                let remedy = if option.is_empty() { String::new() } else { format!("Use a kernel with {option}.") };
                Verdict::absent(finding, remedy)
            }
        }
    }
}

/// What may refuse somebody who has the right.
fn refusal_remedy(lockdown: &Lockdown) -> String {
    match lockdown {
        Lockdown::Level(level) => format!("The kernel is locked down to `{level}`. {}", lockdown::REMEDY),
        Lockdown::None => {
            "A security module or a sandbox forbids it; in a container, look at its seccomp profile.".to_owned()
        }
        Lockdown::Unknown(_) => {
            format!("Perhaps the kernel is locked down, or a sandbox forbids it. {}", lockdown::REMEDY)
        }
    }
}

fn paranoid_level() -> String {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match level.trim() {
        "" => String::new(),
        level => format!(" Or set the sysctl kernel.perf_event_paranoid, which is {level}, to -1."),
    }
}

/// A length of time for people, in milliseconds.
pub(super) fn milliseconds(since: std::time::Instant) -> String {
    format!("{:.1} ms", since.elapsed().as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_only_blamed_where_it_is_missing() {
        let none = Rights::of(CapabilitySet::empty());
        let all = Rights::of(CapabilitySet::all());
        let tracing = Rights::of(CapabilitySet::BPF | CapabilitySet::PERFMON);
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

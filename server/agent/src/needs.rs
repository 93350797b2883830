//! What a way to observe needs of rights, and what helps where it is refused: by what is missing, never to become what one
//! is already.

use rustix::thread::CapabilitySet;

use crate::lockdown::{self, Lockdown};

/// What is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Loading programs for tracing.
    Programs,
    /// perf events of the whole system.
    Events,
    /// What only the administrator may do.
    Administrator,
    /// Files that belong to root, such as those of tracefs.
    Files,
    /// Addresses of the kernel's symbols.
    Symbols,
    /// Becoming another user.
    Users,
}

impl Need {
    /// The capabilities that are enough, and how they are called.
    fn capabilities(self) -> (CapabilitySet, &'static str) {
        match self {
            Self::Programs => (CapabilitySet::BPF | CapabilitySet::PERFMON, "CAP_BPF and CAP_PERFMON"),
            Self::Events => (CapabilitySet::PERFMON, "CAP_PERFMON"),
            Self::Administrator => (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
            Self::Files => (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
            Self::Symbols => (CapabilitySet::SYSLOG, "CAP_SYSLOG"),
            Self::Users => (CapabilitySet::SETUID | CapabilitySet::SETGID, "CAP_SETUID and CAP_SETGID"),
        }
    }

    /// What helps this process where the kernel has refused it: a right that it lacks, or else what may forbid it all the same.
    pub(crate) fn remedy(self) -> String {
        Rights::of_this_process().remedy(self)
    }
}

/// The rights of a process that matter to tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    effective: CapabilitySet,
    is_root: bool,
}

impl Rights {
    pub(crate) fn of_this_process() -> Self {
        let sets = rustix::thread::capabilities(None);
        let effective = sets.map_or(CapabilitySet::empty(), |sets| sets.effective);
        Self { effective, is_root: rustix::process::geteuid().is_root() }
    }

    #[cfg(test)]
    pub(crate) fn of(effective: CapabilitySet, is_root: bool) -> Self {
        Self { effective, is_root }
    }

    /// Whether it does not have what is needed.
    pub(crate) fn lacks(self, need: Need) -> bool {
        let has = |capabilities| self.effective.contains(capabilities);
        match need {
            Need::Programs | Need::Events | Need::Administrator => {
                !has(CapabilitySet::SYS_ADMIN) && !has(need.capabilities().0)
            }
            // They are root's own.
            Need::Files => !self.is_root && !has(need.capabilities().0),
            Need::Symbols | Need::Users => !has(need.capabilities().0),
        }
    }

    /// What helps where something that needs a right was refused.
    pub(crate) fn remedy(self, need: Need) -> String {
        if !self.lacks(need) {
            return beyond_rights(Lockdown::of_this_kernel());
        }
        let names = need.capabilities().1;
        let root = if self.is_root {
            format!("Give the agent {names}: it is root without it.")
        } else {
            format!("Run the agent as root, or give it {names}.")
        };
        match need {
            Need::Events => root + &paranoid_level(),
            _ => root,
        }
    }
}

/// What may refuse somebody who has the right.
fn beyond_rights(lockdown: &Lockdown) -> String {
    match lockdown {
        Lockdown::Level(level) => format!("The kernel is locked down to `{level}`. {}", lockdown::REMEDY),
        Lockdown::None => {
            "The agent has the right: a security module or a sandbox forbids it. In a container, look at its seccomp profile."
                .to_owned()
        }
        Lockdown::Unknown(_) => format!(
            "The agent has the right: the kernel's lockdown, a security module or a sandbox forbids it. {}",
            lockdown::REMEDY
        ),
    }
}

fn paranoid_level() -> String {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match level.trim() {
        "" => String::new(),
        level => format!(" Or set the sysctl kernel.perf_event_paranoid, which is {level}, to -1."),
    }
}

/// What helps against an error: a text, or a right, where one was missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Whole sentences; may be empty.
    Text(String),
    /// See [`Need::remedy`]; nothing where the error is not about rights.
    Right(Need),
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Remedy {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Need> for Remedy {
    fn from(need: Need) -> Self {
        Self::Right(need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Need; 6] = [Need::Programs, Need::Events, Need::Administrator, Need::Files, Need::Symbols, Need::Users];

    #[test]
    fn nobody_who_is_root_is_told_to_be_root() {
        for need in ALL {
            let of = |effective, is_root| Rights::of(effective, is_root).remedy(need);
            let nobody = of(CapabilitySet::empty(), false);
            assert!(nobody.starts_with("Run the agent as root, or give it CAP_"), "{need:?}: {nobody}");
            let root = of(CapabilitySet::all(), true);
            assert!(!root.contains("as root") && !root.is_empty(), "{need:?}: {root}");
            // A container's root has few capabilities.
            let bare = of(CapabilitySet::empty(), true);
            assert!(!bare.contains("as root") && !bare.is_empty(), "{need:?}: {bare}");
        }
    }

    #[test]
    fn a_right_is_lacking_where_neither_it_nor_one_that_includes_it_is_there() {
        let cases = [
            (CapabilitySet::BPF | CapabilitySet::PERFMON, false, Need::Programs, false),
            (CapabilitySet::BPF, false, Need::Programs, true),
            (CapabilitySet::SYS_ADMIN, false, Need::Events, false),
            (CapabilitySet::SYS_ADMIN, false, Need::Symbols, true),
            (CapabilitySet::empty(), true, Need::Files, false),
            (CapabilitySet::DAC_OVERRIDE, false, Need::Files, false),
            (CapabilitySet::empty(), true, Need::Users, true),
        ];
        for (effective, is_root, need, lacks) in cases {
            assert_eq!(Rights::of(effective, is_root).lacks(need), lacks, "{effective:?} {need:?}");
        }
    }
}

//! What confines the two processes beyond their users and capabilities.

use std::{io, path::Path};

use super::{Trial, verdict::Verdict};
use crate::{error::words, seccomp};

/// What a kernel with filters tells of them.
const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";
/// The request for Landlock's version.
const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;

pub(super) fn seccomp(_trial: &mut Trial<'_>) -> Verdict {
    match seccomp::is_installed() {
        Some(true) => Verdict::works("the agent has its filter, and so has the console"),
        _ if Path::new(ACTIONS).exists() => Verdict::works("the kernel has them; this process has not asked for one"),
        _ => Verdict::absent(
            "this kernel has none: agent and console may make every system call that their rights allow",
            "Use a kernel with CONFIG_SECCOMP_FILTER.",
        ),
    }
}

pub(super) fn landlock(_trial: &mut Trial<'_>) -> Verdict {
    // SAFETY: no pointer is given; with this flag the call only tells a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, LANDLOCK_CREATE_RULESET_VERSION)
    };
    match u32::try_from(version) {
        Ok(version) => Verdict::works(of_version(version)),
        Err(_negative) => without(&io::Error::last_os_error()),
    }
}

/// What the versions of Linux 6.1 and later limit.
fn of_version(version: u32) -> String {
    let lacks = match version {
        ..=3 => "; it limits neither ports (version 4, Linux 6.7) nor signals to others (version 6, Linux 6.12)",
        4..=5 => "; it does not limit signals to others (version 6, Linux 6.12)",
        6.. => "",
    };
    format!("version {version}{lacks}")
}

fn without(error: &io::Error) -> Verdict {
    let open = "the console may open what its user may";
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Verdict::absent(
            format!("it is switched off in this kernel: {open}"),
            "Add `landlock` to `lsm=` among the kernel's parameters.",
        ),
        Some(libc::ENOSYS) => {
            Verdict::absent(format!("this kernel has none: {open}"), "Use a kernel with CONFIG_SECURITY_LANDLOCK.")
        }
        _ => Verdict::absent(
            format!("asking for its version failed: {}", words(error)),
            "In a container, look at its seccomp profile.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_protocol::CapabilityState;

    use super::*;

    #[test]
    fn p94_what_a_kernel_does_not_limit_is_told() {
        assert!(
            of_version(2).contains("neither ports")
                && of_version(4).contains("signals")
                && of_version(6) == "version 6"
        );
        for errno in [libc::EOPNOTSUPP, libc::ENOSYS, libc::EPERM] {
            let verdict = without(&io::Error::from_raw_os_error(errno));
            assert_eq!(verdict.state, CapabilityState::MissingKernelFeature);
            assert!(!verdict.finding.is_empty() && !verdict.remedy.is_empty(), "{errno}");
        }
    }
}

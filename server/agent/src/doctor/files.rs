//! What can be read.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
};

use bathyscope_protocol::{AgentErrorKind, CapabilityState};

use super::{
    Trial,
    verdict::{Need, Verdict},
};
use crate::{
    lockdown::{self, Lockdown},
    os::tracefs::Tracefs,
};

pub(super) fn tracefs(_trial: &mut Trial<'_>) -> Verdict {
    match Tracefs::find() {
        Ok(tracefs) if tracefs.mounted_here() => {
            Verdict::works(format!("it was not mounted, so it was mounted at {}", tracefs.path().display()))
        }
        Ok(tracefs) => match tracefs.open("available_events") {
            Ok(file) => {
                let events = BufReader::new(File::from(file)).lines().map_while(Result::ok).count();
                Verdict::works(format!("mounted at {}, {events} events", tracefs.path().display()))
            }
            Err(error) => Verdict::new(
                CapabilityState::MissingPrivilege,
                format!(
                    "it is mounted at {} and may not be read: {}",
                    tracefs.path().display(),
                    crate::error::words(&error)
                ),
                Need::Files.remedy(),
            ),
        },
        Err(error) => {
            let state = match error.kind {
                AgentErrorKind::Unsupported => CapabilityState::MissingKernelFeature,
                _ => CapabilityState::MissingPrivilege,
            };
            Verdict::new(state, format!("{} failed: {}", error.doing, error.why), error.remedy)
        }
    }
}

/// How many symbols are looked at: enough to find one with an address.
const SYMBOLS: usize = 1000;

pub(super) fn kallsyms(trial: &mut Trial<'_>) -> Verdict {
    let file = match File::open("/proc/kallsyms") {
        Ok(file) => file,
        Err(error) => {
            return trial.rights.judge("opening /proc/kallsyms", &error, Need::Administrator, "CONFIG_KALLSYMS");
        }
    };
    let lines = BufReader::new(file).lines().map_while(Result::ok).take(SYMBOLS);
    let address = |line: String| u64::from_str_radix(line.split(' ').next()?, 16).ok();
    if lines.filter_map(address).any(|address| address != 0) {
        return Verdict::works("/proc/kallsyms tells addresses");
    }
    let restricted = std::fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap_or_default();
    match restricted.trim() {
        "2" => Verdict::new(
            CapabilityState::Refused,
            "/proc/kallsyms hides all addresses, because kernel.kptr_restrict is 2",
            "Set it to 1: sysctl kernel.kptr_restrict=1",
        ),
        _ => Verdict::new(
            CapabilityState::MissingPrivilege,
            "/proc/kallsyms hides all addresses from this process",
            Need::Symbols.remedy(),
        ),
    }
}

pub(super) fn lockdown(_trial: &mut Trial<'_>) -> Verdict {
    match Lockdown::of_this_kernel() {
        Lockdown::None => Verdict::works("the kernel is not locked down"),
        Lockdown::Level(level) if level == "integrity" => Verdict::works(
            "the kernel is locked down to `integrity`: probes may read its memory; whether it lets functions be traced is \
             said above, where that is tried",
        ),
        Lockdown::Level(level) => Verdict::new(
            CapabilityState::Refused,
            format!("the kernel is locked down to `{level}`: reading its memory from probes is refused"),
            lockdown::REMEDY,
        ),
        Lockdown::Unknown(why) => Verdict::new(
            CapabilityState::Unknown,
            format!("whether the kernel is locked down is not known: {why}"),
            "Mount it: mount -t securityfs securityfs /sys/kernel/security; or run the agent with CAP_SYS_ADMIN.",
        ),
    }
}

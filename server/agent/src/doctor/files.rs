//! What can be read.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
};

use bathyscope_protocol::{AgentErrorKind, CapabilityState};

use super::{
    Trial,
    verdict::{Need, Verdict},
};
use crate::kernel::tracefs::Tracefs;

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
                "Run the agent as root.",
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

/// How many symbols are looked at: enough to meet one with an address.
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
            "Run the agent as root, or give it CAP_SYSLOG.",
        ),
    }
}

pub(super) fn lockdown(_trial: &mut Trial<'_>) -> Verdict {
    let mut text = String::new();
    let read = File::open("/sys/kernel/security/lockdown").and_then(|file| file.take(256).read_to_string(&mut text));
    if read.is_err() {
        return Verdict::works("no lockdown is reported: this kernel has none, or securityfs is not mounted");
    }
    match text.split_once('[').and_then(|(_before, rest)| rest.split_once(']')) {
        Some(("none", _)) => Verdict::works("the kernel is not locked down"),
        Some(("integrity", _)) => {
            Verdict::works("the kernel is locked down to `integrity`, which leaves tracing as it is")
        }
        Some((level, _)) => Verdict::new(
            CapabilityState::Refused,
            format!("the kernel is locked down to `{level}`: reading its memory from probes is refused"),
            "Start the kernel without lockdown=confidentiality; where Secure Boot sets it, switch that off.",
        ),
        None => Verdict::works("the level of lockdown is not reported"),
    }
}

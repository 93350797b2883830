//! What the CPU can tell with a sample: its last branches, and the access to memory.

use std::io;

use bathyscope_protocol::CapabilityState;
use perf_event_open_sys::bindings as sys;

use super::{
    Trial,
    verdict::{Need, Verdict},
};
use crate::os::{
    perf::{self, Event, Scope},
    perf_event::memory_events,
};

const NO_HARDWARE: &str = "Run on a machine whose CPU has it; virtual machines seldom pass it on.";

fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL))
}

pub(super) fn branches(trial: &mut Trial<'_>) -> Verdict {
    let mut attributes = perf::attributes(sys::PERF_TYPE_HARDWARE, u64::from(sys::PERF_COUNT_HW_CPU_CYCLES));
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes.__bindgen_anon_1.sample_period = 1 << 24;
    attributes.sample_type = u64::from(sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_BRANCH_STACK);
    attributes.branch_sample_type = u64::from(sys::PERF_SAMPLE_BRANCH_USER | sys::PERF_SAMPLE_BRANCH_ANY);
    match Event::open(&mut attributes, Scope::ThisThread) {
        Ok(_closed) => Verdict::works("the cycle counter can tell the branches before a sample"),
        Err(error) if is_missing(&error) => Verdict::new(
            CapabilityState::MissingHardware,
            "this CPU keeps no record of branches with its cycle counter",
            NO_HARDWARE,
        ),
        Err(error) => trial.rights.judge("opening the cycle counter with branches", &error, Need::Events, ""),
    }
}

/// Names of events are enough here: `list perf` tries each.
pub(super) fn memory(_trial: &mut Trial<'_>) -> Verdict {
    match memory_events().as_slice() {
        [] => Verdict::new(
            CapabilityState::MissingHardware,
            "no counter has events of memory; samples of page faults have an address only",
            NO_HARDWARE,
        ),
        names => Verdict::works(format!("there are {}", names.join(", "))),
    }
}

//! What samples hold beside their stack: the memory that was accessed, and the CPU's last branches.

use std::io;

use bathyscope_capture::{CallGraph, ProfileSpec};
use bathyscope_catalog::{perf_branches::branch_sample_type, perf_events::PerfEvent};
use bathyscope_protocol::{AgentError, AgentErrorKind, StreamLayout};
use perf_event_open_sys::bindings as sys;

use super::perf::{Attributes, Event, Scope};
use crate::error::failed;

/// Address, where the data came from, and what it cost; every kernel from 5.12 on knows the three parts of the weight.
const MEMORY: u64 =
    sys::PERF_SAMPLE_ADDR as u64 | sys::PERF_SAMPLE_DATA_SRC as u64 | sys::PERF_SAMPLE_WEIGHT_STRUCT as u64;
/// Calls that have not returned, in user space.
const CALL_STACK: u64 = (sys::PERF_SAMPLE_BRANCH_USER
    | sys::PERF_SAMPLE_BRANCH_CALL_STACK
    | sys::PERF_SAMPLE_BRANCH_NO_FLAGS
    | sys::PERF_SAMPLE_BRANCH_NO_CYCLES) as u64;

/// The bits of `sample_type` for what is wanted.
pub(super) fn sample_type(profile: &ProfileSpec) -> u64 {
    let memory = if profile.memory { MEMORY } else { 0 };
    let branches = if branches(profile) != 0 { u64::from(sys::PERF_SAMPLE_BRANCH_STACK) } else { 0 };
    memory | branches
}

/// `branch_sample_type`: for stacks, for rows, or zero.
pub(super) fn branches(profile: &ProfileSpec) -> u64 {
    match profile.call_graph {
        CallGraph::Lbr => CALL_STACK,
        CallGraph::FramePointer | CallGraph::Dwarf => branch_sample_type(&profile.branches),
    }
}

/// The streams of a profile.
pub(super) fn streams(profile: &ProfileSpec) -> Vec<StreamLayout> {
    let branches = (!profile.branches.is_empty()).then_some(StreamLayout::PerfBranches);
    std::iter::once(StreamLayout::PerfSamples).chain(branches).collect()
}

/// Why an event cannot be opened that asks for branches or memory, if it is these that it cannot tell: without them it
/// opens, or it is the CPU's counters that are missing and nothing else could tell of branches.
pub(super) fn refusal(
    wanted: Attributes,
    profile: &ProfileSpec,
    event: Option<&PerfEvent>,
    (doing, cpu, error): (&str, u32, &io::Error),
) -> Option<AgentError> {
    let code = error.raw_os_error();
    let unsupported = |why: &str, remedy: &str| Some(failed(AgentErrorKind::Unsupported, doing, why, remedy));
    if profile.memory && code == Some(libc::ENODATA) {
        let why = "this CPU tells of loads only together with an auxiliary event, which is not supported";
        return unsupported(why, "Use an event of stores, such as cpu/mem-stores/P, or leave memory out.");
    }
    if !matches!(code, Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOENT | libc::ENODEV)) {
        return None;
    }
    let opens = |without: u64| {
        let mut plain = wanted;
        plain.sample_type &= !without;
        if without & u64::from(sys::PERF_SAMPLE_BRANCH_STACK) != 0 {
            plain.branch_sample_type = 0;
        }
        Event::open(&mut plain, Scope::Cpu(cpu)).is_ok()
    };
    if profile.memory && opens(MEMORY) {
        let why = "the event cannot tell of memory";
        return unsupported(why, "Leave memory out, or sample an event of memory; `bathyscope list perf` shows them.");
    }
    if profile.branches.is_empty() {
        return None;
    }
    if opens(u64::from(sys::PERF_SAMPLE_BRANCH_STACK)) {
        let why = "the CPU keeps no record of branches for this event, or not with this filter";
        let remedy = "Sample a hardware event such as cycles, with `any` as filter; virtual machines and software events \
                      have no such record.";
        return unsupported(why, remedy);
    }
    // Without an event it is the cycles that are sampled.
    event.is_none_or(PerfEvent::is_hardware).then(|| {
        let why = "branches come with the CPU's counters, and this machine has none for this event";
        let remedy = "Virtual machines often have none: record on the host, or leave branches out.";
        failed(AgentErrorKind::Unsupported, doing, why, remedy)
    })
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::BranchFilter;

    use super::*;

    #[test]
    fn words_of_the_filter_are_the_kernels_bits() {
        let bits = [
            (BranchFilter::Any, sys::PERF_SAMPLE_BRANCH_ANY),
            (BranchFilter::AnyCall, sys::PERF_SAMPLE_BRANCH_ANY_CALL),
            (BranchFilter::AnyRet, sys::PERF_SAMPLE_BRANCH_ANY_RETURN),
            (BranchFilter::IndCall, sys::PERF_SAMPLE_BRANCH_IND_CALL),
            (BranchFilter::IndJmp, sys::PERF_SAMPLE_BRANCH_IND_JUMP),
            (BranchFilter::Cond, sys::PERF_SAMPLE_BRANCH_COND),
            (BranchFilter::Call, sys::PERF_SAMPLE_BRANCH_CALL),
            (BranchFilter::U, sys::PERF_SAMPLE_BRANCH_USER),
            (BranchFilter::K, sys::PERF_SAMPLE_BRANCH_KERNEL),
            (BranchFilter::Hv, sys::PERF_SAMPLE_BRANCH_HV),
            (BranchFilter::InTx, sys::PERF_SAMPLE_BRANCH_IN_TX),
            (BranchFilter::NoTx, sys::PERF_SAMPLE_BRANCH_NO_TX),
            (BranchFilter::AbortTx, sys::PERF_SAMPLE_BRANCH_ABORT_TX),
            (BranchFilter::SaveType, sys::PERF_SAMPLE_BRANCH_TYPE_SAVE),
        ];
        assert_eq!(bits.map(|(word, _)| word), BranchFilter::ALL);
        for (word, bit) in bits {
            // Beside another kind, so that no kind is added.
            let all = branch_sample_type(&[BranchFilter::Any, word]);
            assert_eq!(all, u64::from(bit | sys::PERF_SAMPLE_BRANCH_ANY), "{word}");
        }
    }
}

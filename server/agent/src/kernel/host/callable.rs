//! Which functions of the kernel its programs may call.
//!
//! The kernel keeps lists of them, by type of program, that cannot be read. So a program is loaded that does nothing but call
//! the function: the verifier refuses it in any case for the arguments that are missing, unless it refuses the call itself.

use bathyscope_catalog::types::{TypeKind, Types};
use bathyscope_plan::ProgramType;

use crate::os::bpf::programs::{self, Load};

/// What the verifier says about a function that is not on the list.
const NOT_ALLOWED: &str = "is not allowed";
/// What it says about one that may sleep, which no program of a script may.
const SLEEPS: &str = "must be sleepable";
/// Where the typed programs that are tried would be attached.
const TRACEPOINT: &str = "btf_trace_sched_switch";
/// `BPF_TRACE_RAW_TP`.
const TRACE_RAW_TRACEPOINT: u32 = 23;

/// Whether programs of a type may call a function of the kernel itself; none if it cannot be found out.
pub(super) fn may_call(types: &Types, name: &str, program: ProgramType) -> Option<bool> {
    let function = types.btf_id(types.function(None, name)?.id)?.id;
    let (kind, attach, target) = match program {
        ProgramType::Kprobe | ProgramType::Uprobe => (2, 0, 0),
        ProgramType::Tracepoint => (5, 0, 0),
        ProgramType::PerfEvent => (7, 0, 0),
        ProgramType::Run => (17, 0, 0),
        ProgramType::RawTracepoint | ProgramType::Fentry | ProgramType::Fexit | ProgramType::Iterator => {
            let target = types.btf_id(types.find(TypeKind::Typedef, TRACEPOINT)?)?.id;
            (26, TRACE_RAW_TRACEPOINT, target)
        }
    };
    let code = calling(function);
    let (types, target_types) = (None, None);
    let load = Load { name: "bathyscope_try", kind, attach, target, target_types, code: &code, license: c"GPL", types };
    match programs::load(&load) {
        Ok(_program) => Some(true),
        Err(refusal) if refusal.log.is_empty() => {
            tracing::debug!(error = %refusal.error, name, "a call cannot be tried");
            None
        }
        Err(refusal) => Some(!refusal.log.contains(NOT_ALLOWED) && !refusal.log.contains(SLEEPS)),
    }
}

/// A program that calls a function and returns 0.
fn calling(function: u32) -> Vec<u8> {
    let id = function.to_le_bytes();
    // call (by the number of its type); r0 = 0; exit
    let call = [0x85, 0x20, 0, 0, id[0], id[1], id[2], id[3]];
    [call, [0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]].concat()
}

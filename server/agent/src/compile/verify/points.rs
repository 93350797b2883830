//! Attach points and what is loaded for them.

use std::collections::HashSet;

use bathyscope_bpf::{Code, lang::denied_function};
use bathyscope_capture::{TracepointName, visible};
use bathyscope_plan::{Action, AttachPoint, Plan, ProgramPlan, ProgramType, UserFile};
use bathyscope_protocol::{AgentError, WireScript};

use super::{Allowed, denied, is_name, unexpected};

/// Kinds of perf events that scripts count: the CPU's own and the kernel's.
const COUNTED: [u32; 2] = [0, 1];

/// Checks that programs are of the types that their attach points want, and that each place may be probed.
pub(super) fn check(plan: &Plan, codes: &[Code], script: &WireScript, allowed: Allowed) -> Result<(), AgentError> {
    for (program, code) in plan.programs.iter().zip(codes) {
        if code.kind.program_type() != number_of(program.kind) || !is_name(&code.name) {
            return Err(unexpected(format!(
                "the program {} is of another type than planned",
                visible(code.name.as_bytes())
            )));
        }
    }
    if !allowed.change && plan.sites.iter().any(|site| matches!(site.action, Action::System { .. })) {
        return Err(denied("it starts programs"));
    }
    let places = places(script);
    for probe in &plan.probes {
        let program = plan.programs.get(probe.program as usize);
        let of_calls = |program: &ProgramPlan| program.calls.is_none_or(|side| side.has(&probe.point));
        if program.is_none_or(|program| !belongs(&probe.point, program.kind) || !of_calls(program)) {
            return Err(unexpected(format!("the program of {} is not for it", visible(probe.name.as_bytes()))));
        }
        check_place(&probe.point, &places, allowed)?;
    }
    Ok(())
}

/// `enum bpf_prog_type`.
fn number_of(kind: ProgramType) -> u32 {
    match kind {
        ProgramType::Kprobe | ProgramType::Uprobe => 2,
        ProgramType::Tracepoint => 5,
        ProgramType::PerfEvent => 7,
        ProgramType::Run => 17,
        ProgramType::RawTracepoint | ProgramType::Fentry | ProgramType::Fexit | ProgramType::Iterator => 26,
    }
}

fn belongs(point: &AttachPoint, program: ProgramType) -> bool {
    match point {
        AttachPoint::Begin | AttachPoint::End | AttachPoint::Signal { .. } => program == ProgramType::Run,
        AttachPoint::Tracepoint { .. } => program == ProgramType::Tracepoint,
        AttachPoint::RawTracepoint { .. } => program == ProgramType::RawTracepoint,
        AttachPoint::Kprobe { .. } => program == ProgramType::Kprobe,
        AttachPoint::Fentry { exit, .. } => program == if *exit { ProgramType::Fexit } else { ProgramType::Fentry },
        AttachPoint::Uprobe { .. } | AttachPoint::Usdt { .. } => program == ProgramType::Uprobe,
        AttachPoint::Profile { .. }
        | AttachPoint::Interval { .. }
        | AttachPoint::PerfEvent { .. }
        | AttachPoint::Watchpoint { .. } => program == ProgramType::PerfEvent,
        AttachPoint::Iterator { .. } => program == ProgramType::Iterator,
    }
}

type FileOffset<'a> = (&'a UserFile, u64);

/// The places in user space that came with the script.
fn places(script: &WireScript) -> HashSet<FileOffset<'_>> {
    let places = script.user_places.iter().flat_map(|point| &point.places);
    places.map(|place| (&place.file, place.offset)).collect()
}

fn check_place(point: &AttachPoint, places: &HashSet<FileOffset<'_>>, allowed: Allowed) -> Result<(), AgentError> {
    let sound = |names: &[&str]| names.iter().all(|name| name.is_empty() || is_kernel_name(name));
    let odd = || Err(unexpected("an attach point has a name that is none"));
    match point {
        AttachPoint::Kprobe { function, module, .. } | AttachPoint::Fentry { function, module, .. } => {
            if !sound(&[function, module]) {
                return odd();
            }
            let raw = function.is_empty();
            if raw && !matches!(point, AttachPoint::Kprobe { .. }) {
                return odd();
            }
            let why = if raw { Some("it is a raw address") } else { denied_function(function) };
            match why {
                Some(why) if !allowed.change => Err(denied(format!("it probes `{function}` in the kernel, and {why}"))),
                _ => Ok(()),
            }
        }
        AttachPoint::Uprobe { file, offset, .. } | AttachPoint::Usdt { file, offset, .. } => {
            let given = places.contains(&(file, *offset));
            if given { Ok(()) } else { Err(unexpected("it probes a place in user space that it was not given")) }
        }
        AttachPoint::Tracepoint { system, name } => {
            if format!("{system}:{name}").parse::<TracepointName>().is_ok() {
                Ok(())
            } else {
                odd()
            }
        }
        AttachPoint::RawTracepoint { module, name } => {
            if sound(&[module, name]) {
                Ok(())
            } else {
                odd()
            }
        }
        AttachPoint::Iterator { target, .. } => {
            if sound(&[target]) {
                Ok(())
            } else {
                odd()
            }
        }
        AttachPoint::PerfEvent { kind, .. } if !COUNTED.contains(kind) => {
            Err(unexpected(format!("it counts events of kind {kind}")))
        }
        _ => Ok(()),
    }
}

/// Functions of the kernel have letters, digits, `_` and what compilers add.
fn is_kernel_name(name: &str) -> bool {
    is_name(name) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-'))
}

//! Telling what is wrong with a script at its place in the text.

use bathyscope_bpf::Code;
use bathyscope_plan::{Diagnostic, MissingProbes, Plan, Span};
use bathyscope_protocol::{AgentError, AgentErrorKind, ProbeFailure, ScriptRefused};

use crate::{
    engine::EngineError,
    error::{failed, kind_of, words},
    needs::Need,
    os::bpf::programs::ProgramRefusal,
};

/// The most of a verifier's log that is passed on.
const MAX_LOG_BYTES: usize = 64 << 10;
/// The most failures that are told one by one.
const MAX_TOLD: usize = 20;

/// Line `line` (from 1) of a text, without the blanks around it.
pub(super) fn line_span(text: &str, line: u32) -> Span {
    let mut start = 0;
    for (number, content) in (1_u32..).zip(text.split_inclusive('\n')) {
        if number == line {
            let kept = content.trim_end();
            let blanks = kept.len() - kept.trim_start().len();
            return span(start + blanks, start + kept.len());
        }
        start += content.len();
    }
    span(text.len(), text.len())
}

fn span(start: usize, end: usize) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: place(start), end: place(end) }
}

/// Tells that an attach point cannot be had.
pub(super) fn of_probe(plan: &Plan, text: &str, failure: &ProbeFailure) -> Diagnostic {
    let probe = plan.probes.get(failure.probe as usize);
    let span = line_span(text, probe.map_or(0, |probe| probe.line));
    let AgentError { doing, why, remedy, detail, .. } = &failure.error;
    let mut told = Diagnostic::error(span, format!("{doing}: {why}")).hint(remedy.clone());
    told.detail.clone_from(detail);
    told
}

/// What the script's settings make of attach points that cannot be had: those that it runs without, or the refusal.
pub(super) fn judge(
    plan: &Plan,
    text: &str,
    failures: Vec<ProbeFailure>,
    attached: usize,
) -> Result<Vec<ProbeFailure>, EngineError> {
    let fatal = |failure: &ProbeFailure| {
        // What is missing may be missing; what is not allowed, or goes wrong, is something else.
        matches!(failure.error.kind, AgentErrorKind::Denied | AgentErrorKind::Limit | AgentErrorKind::Internal)
    };
    let strict = plan.config.missing_probes == MissingProbes::Error;
    if failures.is_empty() || !(strict || attached == 0 || failures.iter().any(fatal)) {
        return Ok(failures);
    }
    let mut diagnostics: Vec<Diagnostic> =
        failures.iter().take(MAX_TOLD).map(|failure| of_probe(plan, text, failure)).collect();
    if let (Some(last), true) = (diagnostics.last_mut(), failures.len() > MAX_TOLD) {
        last.hint = format!("{} {} more attach points failed.", last.hint, failures.len() - MAX_TOLD).trim().to_owned();
    }
    Err(EngineError::Script(ScriptRefused { diagnostics }))
}

/// What to make of a program that was not loaded: a diagnostic at the line that the verifier stopped at.
pub(super) fn of_program(code: &Code, line: u32, text: &str, refusal: &ProgramRefusal) -> EngineError {
    let ProgramRefusal { error, log } = refusal;
    let doing = "loading the script's programs";
    if log.is_empty() && kind_of(error) == AgentErrorKind::Denied {
        return failed(AgentErrorKind::Denied, doing, "the kernel does not allow programs", Need::Programs.remedy())
            .into();
    }
    let at = last_instruction(log).and_then(|instruction| line_of(code, instruction)).unwrap_or(line);
    let (message, hint) = explain(error, log);
    let mut told = Diagnostic::error(line_span(text, at), message).hint(hint);
    told.detail = tail(log).to_owned();
    EngineError::Script(ScriptRefused { diagnostics: vec![told] })
}

/// Whether a typed program was refused for its target, before the verifier looked at any instruction.
pub(super) fn is_about_target(refusal: &ProgramRefusal) -> bool {
    let denied = matches!(refusal.error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOMEM));
    !denied && last_instruction(&refusal.log).is_none()
}

/// The last instruction that the verifier looked at: its lines begin with the number.
fn last_instruction(log: &str) -> Option<usize> {
    let number = |line: &str| {
        let (number, rest) = line.split_once(": ")?;
        // `12: (85) call …`; `12: R0_w=…` tells the state after it.
        (rest.starts_with('(') || rest.starts_with('R')).then(|| number.parse().ok())?
    };
    log.lines().rev().find_map(number)
}

/// The line of the script that an instruction comes from.
fn line_of(code: &Code, instruction: usize) -> Option<u32> {
    let before = code.positions.partition_point(|(at, _position)| *at <= instruction);
    let (_at, position) = code.positions.get(before.checked_sub(1)?)?;
    (position.line > 0).then_some(position.line)
}

fn explain(error: &std::io::Error, log: &str) -> (String, String) {
    let says = |what: &str| log.contains(what);
    let message = |text: &str| text.to_owned();
    if says("unknown func ") || says("program of this type cannot use helper") {
        let after = |line: &'_ str, word| Some(line.split_once(word)?.1.split(['#', ' ']).next()?.to_owned());
        let name =
            log.lines().rev().find_map(|line| after(line, "unknown func ").or_else(|| after(line, "use helper ")));
        let helper = name.unwrap_or_else(|| "such helper".to_owned());
        if helper == "bpf_probe_write_user" {
            let message = message("the kernel does not allow `write_user`: it is locked down");
            return (message, "Boot it without lockdown, or leave `write_user` out.".to_owned());
        }
        let message = format!("this kernel has no {helper} for this kind of probe");
        return (message, "Leave out what needs it, or use another kind of probe.".to_owned());
    }
    if says("helper call is not allowed in probe") {
        let hint = "The kernel allows it in filp_close, dentry_open, vfs_getattr, vfs_truncate, vfs_fallocate, \
                    security_file_open and security_file_permission, and in iterators.";
        return (message("the kernel does not allow `path` at this function"), hint.to_owned());
    }
    if says("BPF program is too large") || error.raw_os_error() == Some(libc::E2BIG) {
        let hint = "Make loops shorter or the probe smaller, or split it into several.";
        return (message("this probe is too much work for the kernel's verifier"), hint.to_owned());
    }
    let why = log.lines().rev().find(|line| is_verdict(line)).map_or_else(|| words(error), str::to_owned);
    let message = format!("the kernel's verifier refused the program: {why}");
    (message, "Report this as a defect, with the details.".to_owned())
}

/// Whether a line of the log is a sentence and not an instruction, a state or a sum.
fn is_verdict(line: &str) -> bool {
    let first = line.chars().next().unwrap_or(' ');
    let sums = ["processed ", "verification time", "stack depth", "peak_states", "max_states", "from ", "mark_precise"];
    (first.is_ascii_alphabetic()) && !sums.iter().any(|sum| line.starts_with(sum)) && !line.contains("=scalar(")
}

fn tail(log: &str) -> &str {
    let start = log.len().saturating_sub(MAX_LOG_BYTES);
    let start = (start..=log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(0);
    log.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_the_text() {
        let text = "one\n  two  \n\nfour";
        let cases = [(1, "one"), (2, "two"), (3, ""), (4, "four"), (5, ""), (0, "")];
        for (line, expected) in cases {
            let Span { start, end } = line_span(text, line);
            assert_eq!(&text[start as usize..end as usize], expected, "{line}");
        }
    }

    #[test]
    fn the_verifiers_log_tells_place_and_reason() {
        let log = "func#0 @0\n0: R1=ctx() R10=fp0\n; @f = 1 @ x.bt:3\n0: (79) r6 = *(u64 *)(r1 +8)\n\
            12: (85) call bpf_probe_read_kernel#113\nR1 type=scalar expected=fp\nprocessed 12 insns (limit 1000000)";
        assert_eq!(last_instruction(log), Some(12));
        let denied = std::io::Error::from_raw_os_error(libc::EACCES);
        assert!(explain(&denied, log).0.ends_with("refused the program: R1 type=scalar expected=fp"));
        let unknown = "5: (85) call bpf_dynptr_read#201\nunknown func bpf_dynptr_read#201\nprocessed 6 insns";
        assert!(explain(&denied, unknown).0.contains("no bpf_dynptr_read for"), "{:?}", explain(&denied, unknown));
        let newer =
            "5: (85) call bpf_override_return#58\nprogram of this type cannot use helper bpf_override_return#58";
        assert!(explain(&denied, newer).0.contains("no bpf_override_return for"), "{:?}", explain(&denied, newer));
        let locked =
            "5: (85) call bpf_probe_write_user#36\nprogram of this type cannot use helper bpf_probe_write_user#36";
        assert!(explain(&denied, locked).0.contains("locked down"), "{:?}", explain(&denied, locked));
        let path = "9: (85) call bpf_d_path#147\nhelper call is not allowed in probe";
        assert!(explain(&denied, path).1.contains("filp_close"), "{:?}", explain(&denied, path));
        assert_eq!(last_instruction(""), None);
        let large = std::io::Error::from_raw_os_error(libc::E2BIG);
        assert!(explain(&large, "").0.contains("too much work"));
    }
}

//! Compiling a script: the same for the running kernel and for the simulated one.

use std::{sync::Arc, time::Instant};

use bathyscope_bpf::{
    Code, disassemble,
    lang::{
        self, CheckOptions, Diagnostic, ExpandOptions, LowerOptions, Severity, Span, TaskOffsets, host::Host,
        plan::Plan,
    },
    probe::TargetFilter,
};
use bathyscope_catalog::types::Types;
use bathyscope_protocol::{AgentError, AgentErrorKind, ScriptChecked, WireScript};

use crate::{backend::monotonic_ns, error::failed};

/// What is not in the script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// Whose hits count.
    pub(crate) filter: TargetFilter,
    /// The first process of the target, else 0.
    pub(crate) pid: u32,
    /// Bytes of the ring unless the script says.
    pub(crate) ring_bytes: u32,
}

impl Default for Around {
    fn default() -> Self {
        Self { filter: TargetFilter::System, pid: 0, ring_bytes: 1 << 20 }
    }
}

/// A compiled script.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The plan's programs.
    pub(crate) codes: Vec<Code>,
    /// What to know about them.
    pub(crate) plan: Plan,
}

/// Compiles a script.
pub(crate) fn compile(script: &WireScript, host: &dyn Host, around: Around) -> Result<Compiled, Vec<Diagnostic>> {
    let expand = ExpandOptions { params: script.parameters.clone(), environment: script.settings.clone() };
    let expanded = lang::expand(&lang::parse(&script.text)?, &expand)?;
    let pid = (around.pid != 0).then_some(around.pid);
    let options = CheckOptions { unsafe_allowed: script.allow_unsafe, pid };
    let checked = lang::check(&expanded, &script.text, host, &options)?;
    let lowered = lang::lower(&checked, &lower_options(script, host, around))?;
    let code = |program| bathyscope_bpf::compile(program).map_err(|error| internal(&error.to_string()));
    let codes = lowered.programs.iter().map(code).collect::<Result<_, _>>()?;
    Ok(Compiled { codes, plan: lowered.plan })
}

fn internal(why: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(Span { start: 0, end: 0 }, format!("compiling failed: {why}"))]
}

fn lower_options(script: &WireScript, host: &dyn Host, around: Around) -> LowerOptions {
    let features = host.features();
    // Finding a symbol takes longer than everything else together.
    let per_cpu = script.text.contains("percpu").then(|| host.kernel_symbol("__per_cpu_offset")).flatten();
    LowerOptions {
        name: script.name.clone(),
        target: around.filter,
        comm: script.comm,
        ring_bytes: around.ring_bytes,
        possible_cpus: features.possible_cpus,
        pid_namespace: features.pid_namespace,
        target_pid: around.pid,
        begin_ns: monotonic_ns(),
        task: task_offsets(host.types()),
        per_cpu_offset: per_cpu,
        ..LowerOptions::new(Arc::<str>::from(script.text.as_str()), features.architecture)
    }
}

fn task_offsets(types: &Types) -> Option<TaskOffsets> {
    let task = types.spelled("struct task_struct")?;
    let offset = |name| u32::try_from(types.field(task, name)?.byte_offset()).ok();
    Some(TaskOffsets {
        comm: offset("comm")?,
        tgid: offset("tgid")?,
        group_leader: offset("group_leader")?,
        real_parent: offset("real_parent")?,
    })
}

/// Compiles a script for its messages alone, and its programs as text if `listing` says so.
pub(crate) fn check(script: &WireScript, host: &dyn Host, listing: bool) -> ScriptChecked {
    let clock = Instant::now();
    let compiled = compile(script, host, Around::default());
    let compile_ns = elapsed_ns(clock);
    match compiled {
        Ok(Compiled { codes, plan }) => ScriptChecked {
            diagnostics: plan.warnings.clone(),
            plan: Some(plan),
            listing: if listing { codes.iter().map(disassemble).collect::<Vec<_>>().join("\n") } else { String::new() },
            compile_ns,
        },
        Err(diagnostics) => ScriptChecked { diagnostics, compile_ns, ..ScriptChecked::default() },
    }
}

/// Whether there is an error among `diagnostics`.
pub(crate) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|one| one.severity == Severity::Error)
}

/// Refuses a script that wants to change the host where that is not allowed.
pub(crate) fn check_unsafe(script: &WireScript, allowed: bool) -> Result<(), AgentError> {
    if !script.allow_unsafe || allowed {
        return Ok(());
    }
    let remedy = "Start Bathyscope with --unsafe-scripts, if those who may run scripts may change this host.";
    let why = "scripts that change what they observe are not allowed here";
    Err(failed(AgentErrorKind::Denied, "checking the script", why, remedy))
}

/// Nanoseconds since `clock`.
pub(crate) fn elapsed_ns(clock: Instant) -> u64 {
    u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

//! Compiling a script: the same for the running kernel and for the simulated one.

use std::time::Instant;

use bathyscope_bpf::{
    lang::{self, CheckOptions, CompileOptions, Compiled, Diagnostic, ExpandOptions, Severity, Stage, host::Host},
    probe::TargetFilter,
};
use bathyscope_protocol::{AgentError, AgentErrorKind, ScriptChecked, ScriptStage, WireScript};

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

/// Compiles a script.
pub(crate) fn compile(script: &WireScript, host: &dyn Host, around: Around) -> Result<Compiled, Vec<Diagnostic>> {
    let pid = (around.pid != 0).then_some(around.pid);
    let options = CompileOptions {
        name: script.name.clone(),
        expand: ExpandOptions { params: script.parameters.clone(), environment: script.settings.clone() },
        check: CheckOptions { unsafe_allowed: script.allow_unsafe, pid },
        target: around.filter,
        comm: script.comm,
        ring_bytes: around.ring_bytes,
        target_pid: around.pid,
        begin_ns: monotonic_ns(),
    };
    lang::compile(&script.text, host, &options)
}

/// Compiles a script for its messages alone, and for what the compiler made on its way to `show`.
pub(crate) fn check(script: &WireScript, host: &dyn Host, show: Option<ScriptStage>) -> ScriptChecked {
    let clock = Instant::now();
    let compiled = compile(script, host, Around::default());
    let compile_ns = elapsed_ns(clock);
    match compiled {
        Ok(compiled) => ScriptChecked {
            diagnostics: compiled.plan.warnings.clone(),
            shown: show.map_or_else(String::new, |show| shown(&compiled, show, &script.text)),
            plan: Some(compiled.plan),
            compile_ns,
        },
        Err(diagnostics) => ScriptChecked { diagnostics, compile_ns, ..ScriptChecked::default() },
    }
}

fn shown(compiled: &Compiled, show: ScriptStage, text: &str) -> String {
    let text = |stage| String::from_utf8_lossy(&compiled.stage(stage, text)).into_owned();
    match show {
        ScriptStage::Ast => text(Stage::Ast),
        ScriptStage::Types => text(Stage::Types),
        ScriptStage::Ir => text(Stage::Ir),
        ScriptStage::Bpf => text(Stage::Bpf),
        ScriptStage::Elf => compiled.object.iter().fold(String::new(), |mut digits, byte| {
            use std::fmt::Write as _;
            // Writing to a String cannot fail.
            let _infallible = write!(digits, "{byte:02x}");
            digits
        }),
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

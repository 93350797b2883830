//! Compiling a script: the same for the running kernel and for the simulated one.
//!
//! A script is the text of a stranger. So it is read, checked and compiled by a [`child`] without rights, and what that says
//! is [`verify`]ed by what this agent allows before anything of it is loaded.

mod child;
mod messages;
mod verify;

use std::{sync::Arc, time::Instant};

use bathyscope_bpf::{
    Code,
    ir::Source,
    lang::{self, CheckOptions, CompileOptions, Compiled, ExpandOptions, Stage, host::Host},
    probe::TargetFilter,
};
use bathyscope_plan::{Diagnostic, Plan, Severity};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ScriptChecked, ScriptCompletion, ScriptFacts, ScriptHover, ScriptRefused, ScriptStage,
    WireScript,
};

pub(crate) use self::{
    child::AgentChannel,
    messages::{Missing, Question, Told},
};
use self::{
    messages::{Job, JobResult},
    verify::Allowed,
};
use crate::{
    clock::{elapsed_ns, monotonic_ns},
    engine::EngineError,
    error::failed,
};

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

/// What the child is told about the host it compiles for.
pub(crate) trait Facts {
    /// The host as the compiler asks it, in the child. What is not known there it asks for through `channel`.
    fn inside<'a>(&'a self, script: &'a WireScript, channel: &'a AgentChannel) -> Box<dyn Host + 'a>;

    /// Answers a question of the child, in the agent.
    fn tell(&self, question: &Question) -> Told;

    /// Reads what the child cannot do without, in the agent; the next child has it.
    fn read(&self, missing: Missing);
}

/// A compiled script: what a loader needs of it.
#[derive(Debug)]
pub(crate) struct CompiledScript {
    /// Its programs, in the order of [`Plan::programs`].
    pub(crate) codes: Vec<Code>,
    /// What to know about them.
    pub(crate) plan: Plan,
}

/// Has a script compiled, and checks that what came of it is allowed to a script with these rights.
///
/// # Errors
/// What is wrong with the script; or how the child failed.
pub(crate) fn compile(
    script: &WireScript,
    facts: &dyn Facts,
    around: Around,
    rights: ScriptRights,
) -> Result<CompiledScript, EngineError> {
    match child::run(&Job::Compile(around), script, facts)? {
        JobResult::Compiled { mut codes, plan } => {
            let source = Arc::new(Source { name: script.name.clone(), text: script.text.clone() });
            for code in &mut codes {
                code.source = Some(Arc::clone(&source));
            }
            let compiled = CompiledScript { codes, plan };
            verify::check(&compiled, script, Allowed::of(script, rights))?;
            Ok(compiled)
        }
        JobResult::Refused { diagnostics } => Err(EngineError::Script(ScriptRefused { diagnostics })),
        _other => Err(child::wrong_answer().into()),
    }
}

/// Has a script compiled for its messages alone, and for what the compiler made on its way to `show`.
///
/// # Errors
/// How the child failed.
pub(crate) fn check(
    script: &WireScript,
    facts: &dyn Facts,
    show: Option<ScriptStage>,
) -> Result<ScriptChecked, AgentError> {
    match child::run(&Job::Check(show), script, facts)? {
        JobResult::Checked(checked) => Ok(checked),
        _other => Err(child::wrong_answer()),
    }
}

/// What can stand at a byte of a script, and what stands there.
///
/// # Errors
/// How the child failed.
pub(crate) fn facts(script: &WireScript, facts: &dyn Facts, offset: u32) -> Result<ScriptFacts, AgentError> {
    match child::run(&Job::Facts(offset), script, facts)? {
        JobResult::Facts(facts) => Ok(facts),
        _other => Err(child::wrong_answer()),
    }
}

/// Does a job, in the child.
fn work(job: &Job, script: &WireScript, host: &dyn Host) -> JobResult {
    match job {
        Job::Compile(around) => match compile_here(script, host, *around) {
            Ok(Compiled { codes, plan, .. }) => JobResult::Compiled { codes, plan },
            Err(diagnostics) => JobResult::Refused { diagnostics },
        },
        Job::Check(show) => JobResult::Checked(check_here(script, host, *show)),
        Job::Facts(offset) => JobResult::Facts(facts_here(script, host, *offset)),
    }
}

fn compile_here(script: &WireScript, host: &dyn Host, around: Around) -> Result<Compiled, Vec<Diagnostic>> {
    let pid = (around.pid != 0).then_some(around.pid);
    let options = CompileOptions {
        name: script.name.clone(),
        expand: ExpandOptions { params: script.parameters.clone(), environment: script.settings.clone() },
        check: CheckOptions { unsafe_allowed: script.allow_unsafe, pid },
        target: around.filter,
        comm: script.comm,
        bare: script.bare,
        ring_bytes: around.ring_bytes,
        target_pid: around.pid,
        begin_ns: monotonic_ns(),
        unwind: unwind_sizes(script),
    };
    lang::compile(&script.text, host, &options)
}

/// Rows and files of a script's unwind tables.
pub(crate) fn unwind_sizes(script: &WireScript) -> (u32, u32) {
    let rows = script.unwind.iter().map(|table| table.rows.0.len()).sum::<usize>();
    let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
    (number(rows), number(script.unwind.len()))
}

fn facts_here(script: &WireScript, host: &dyn Host, offset: u32) -> ScriptFacts {
    let completion = |it: lang::Completion| ScriptCompletion {
        label: it.label,
        kind: format!("{:?}", it.kind).to_ascii_lowercase(),
        detail: it.detail,
        insert: it.insert,
        start: it.replace.start,
    };
    let hover =
        |it: lang::Hover| ScriptHover { title: it.title, text: it.about, start: it.span.start, end: it.span.end };
    ScriptFacts {
        completions: lang::complete(&script.text, offset, host).into_iter().map(completion).collect(),
        hover: lang::hover(&script.text, offset, host).map(hover),
    }
}

fn check_here(script: &WireScript, host: &dyn Host, show: Option<ScriptStage>) -> ScriptChecked {
    let clock = Instant::now();
    let compiled = compile_here(script, host, Around::default());
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

/// What scripts may do here. Whoever starts the agent decides; the console cannot widen it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScriptRights {
    /// None runs.
    #[default]
    Off,
    /// They observe. That is as much as to read all memory of the host.
    Observe,
    /// Those that ask for it may change what they observe.
    Change,
}

/// Refuses to run a script that may not run here.
pub(crate) fn check_rights(script: &WireScript, rights: ScriptRights) -> Result<(), AgentError> {
    let denied = |why: &str, remedy: &str| Err(failed(AgentErrorKind::Denied, "starting the script", why, remedy));
    match rights {
        ScriptRights::Off => denied(
            "scripts are switched off here",
            "Whoever starts Bathyscope can switch them on: a script can read all memory of this host.",
        ),
        ScriptRights::Observe if script.allow_unsafe => denied(
            "scripts that change what they observe are not allowed here",
            "Whoever starts Bathyscope can allow them: they can do everything to this host.",
        ),
        ScriptRights::Observe | ScriptRights::Change => Ok(()),
    }
}

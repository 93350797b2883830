//! Scripts on the running kernel.

mod attach;
mod content;
mod detach;
mod failures;
mod inside;
mod object;
mod points;
mod running;
mod sampling;
mod unwind;

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what was measured or skipped is told")]
mod tests;

use std::{os::fd::AsFd as _, time::Instant};

use bathyscope_bpf::{Code, probe::TARGETS_MAP};
use bathyscope_plan::{COUNTERS, Diagnostic, KERNEL_STACKS, Plan, RING, STACK_FRAMES, Shown, Span, Type, USER_STACKS};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ObjectStats, RingContent, RingInfo, RingKind, ScriptChecked, ScriptFacts, ScriptStage,
    ScriptStarted, StartedSource, WireScript,
};

use self::{content::Content, object::Object, points::Preparing, running::ScriptEngine};
use super::{
    KernelBackend,
    events::Following,
    host::{KernelFacts, KernelHost},
    target::ResolvedTarget,
};
use crate::{
    clock::elapsed_ns,
    compile::{self, Around, CompiledScript, ScriptRights},
    engine::{EngineError, ProcessReports},
    error::{failed, refused},
    memory::SourceMemory,
    os::{bpf::maps, sideband::Sideband},
};

/// Words in the text of a script that is about modules from the begin.
const ABOUT_MODULES: [&str; 9] =
    ["fentry", "fexit", "kfunc", "kretfunc", "rawtracepoint", "f:", "fr:", "rt:", "kfunc_"];

/// Compiles a script for its messages.
pub(super) fn check(
    host: &KernelHost,
    script: &WireScript,
    show: Option<ScriptStage>,
) -> Result<ScriptChecked, AgentError> {
    let checked = compile::check(script, &KernelFacts::new(host, wants_modules(script)), show)?;
    if !compile::has_errors(&checked.diagnostics) || wants_modules(script) || !host.has_module_types() {
        return Ok(checked);
    }
    compile::check(script, &KernelFacts::new(host, true), show)
}

pub(super) fn facts(host: &KernelHost, script: &WireScript, offset: u32) -> Result<ScriptFacts, AgentError> {
    compile::facts(script, &KernelFacts::new(host, wants_modules(script)), offset)
}

/// Reading the types of all modules takes a while, and few scripts need one. So it is only done at once for scripts whose
/// probes are looked up in them, and otherwise if the script does not compile without.
fn wants_modules(script: &WireScript) -> bool {
    ABOUT_MODULES.iter().any(|word| script.text.contains(word))
}

fn compile(
    host: &KernelHost,
    script: &WireScript,
    around: Around,
    rights: ScriptRights,
) -> Result<CompiledScript, EngineError> {
    let attempt = |modules| compile::compile(script, &KernelFacts::new(host, modules), around, rights);
    match attempt(wants_modules(script)) {
        Err(EngineError::Script(_refused)) if !wants_modules(script) && host.has_module_types() => attempt(true),
        compiled => compiled,
    }
}

/// Compiles and loads a script, and prepares everything that it is attached to.
///
/// # Errors
/// What is wrong with the script, or why it cannot be loaded or attached.
pub(crate) fn start(
    kernel: &KernelBackend,
    script: &WireScript,
    target: &ResolvedTarget,
    memory: SourceMemory,
    reports: ProcessReports,
) -> Result<ScriptEngine, EngineError> {
    let (host, rights) = (&kernel.host, kernel.scripts);
    let filter = target.filter();
    let clock = Instant::now();
    let pid = target.pid().or(target.command_pid()).unwrap_or(0);
    let around = Around { filter, pid, ring_bytes: memory.ring_bytes };
    let compiled = compile(host, script, around, rights)?;
    let compile_ns = elapsed_ns(clock);
    let made = make(host, compiled, (script, memory.map_bytes), (target, reports), compile_ns);
    if made.is_err() {
        // The number of a tracepoint may have been an old one: its module was removed and came back.
        host.forget_formats();
    }
    made
}

/// Loads a compiled script.
fn make(
    host: &KernelHost,
    compiled: CompiledScript,
    (script, map_bytes): (&WireScript, u64),
    (target, reports): (&ResolvedTarget, ProcessReports),
    compile_ns: u64,
) -> Result<ScriptEngine, EngineError> {
    let CompiledScript { mut codes, mut plan } = compiled;
    let text = script.text.as_str();
    let clock = Instant::now();
    let follow = if target.follows_children() { add_follow_programs(&mut codes)? } else { Vec::new() };
    let register = unwind::add_program(&mut codes, host, script)?;
    let cpus = host.features().possible_cpus;
    let object = Object::make(&codes, &plan.config.license, cpus, map_bytes)?;
    for pid in target.mapped() {
        add_target(&object, pid)?;
    }
    let filled = unwind::fill(&object, &codes, register, &script.unwind, text)?;
    plan.warnings.extend(filled.warning.map(|warning| Diagnostic::warning(Span::default(), warning)));
    let maps_ns = elapsed_ns(clock);
    let prepared = Preparing::run(&plan, &codes, text, &object, host)?;
    let following = Preparing::follow(&codes, text, &object, &follow)?;
    let contents = contents(&plan, &object, cpus)?;
    check_fixed_maps(&plan, &object)?;
    let sideband = if shows_user_addresses(&plan) { Some(Sideband::open(reports)?) } else { None };
    let failed = failures::judge(&plan, text, prepared.failed.clone(), prepared.points())?;
    let stats = ObjectStats {
        programs: u32::try_from(prepared.loaded.iter().map(Vec::len).sum::<usize>()).unwrap_or(u32::MAX),
        instructions: prepared.instructions,
        map_bytes: object.map_bytes,
    };
    let ring = object.map(RING).map(|ring| RingInfo {
        kind: RingKind::Bpf,
        content: RingContent::Script,
        data_bytes: ring.definition.max_entries,
        cpu: None,
    });
    let more = sideband.iter().flat_map(|sideband| sideband.infos().iter().cloned());
    let all_ns = elapsed_ns(clock);
    let started = StartedSource {
        rings: ring.into_iter().chain(more).collect(),
        compile_ns,
        load_ns: maps_ns + prepared.load_ns,
        attach_ns: all_ns.saturating_sub(maps_ns + prepared.load_ns),
        ..StartedSource::default()
    };
    let made = (started, ScriptStarted { plan, cpus, failed, stats });
    let mut engine = ScriptEngine::new(made, text, prepared, following, object, contents);
    (engine.sideband, engine.mapped) = (sideband, filled.mapped);
    Ok(engine)
}

fn internal(why: &str) -> AgentError {
    failed(AgentErrorKind::Internal, "loading the script", why, "Report this as a defect.")
}

/// Adds the programs that follow the target's children. Returns the number of each one's tracepoint.
fn add_follow_programs(codes: &mut Vec<Code>) -> Result<Vec<(usize, u32)>, AgentError> {
    let mut added = Vec::new();
    for (_tracepoint, id, program) in Following::programs(bathyscope_bpf::probe::Parents::Processes)? {
        let code = bathyscope_bpf::compile(&program).map_err(|error| internal(&error.to_string()))?;
        added.push((codes.len(), id));
        codes.push(code);
    }
    Ok(added)
}

fn add_target(object: &Object, pid: u32) -> Result<(), AgentError> {
    let map = object.map(TARGETS_MAP).filter(|map| (map.definition.key_bytes, map.definition.value_bytes) == (4, 4));
    let map = map.ok_or_else(|| internal("there is no map of targets"))?;
    // SAFETY: key and value were just found to have 4 bytes.
    unsafe { maps::update(map.fd.as_fd(), &pid.to_ne_bytes(), &1_u32.to_ne_bytes()) }
        .map_err(|error| refused("setting the script's target", &error, ""))
}

/// The plan's maps, which must be those of the object: what is read into buffers of the plan's sizes rests on it.
fn contents(plan: &Plan, object: &Object, cpus: u32) -> Result<Vec<Content>, AgentError> {
    let mut contents = Vec::with_capacity(plan.maps.len());
    for map in &plan.maps {
        let found = object.map(&map.object_name).filter(|found| {
            let definition = &found.definition;
            (definition.key_bytes, definition.value_bytes) == (map.key_bytes, map.value_bytes)
                && definition.kind.is_per_cpu() == map.is_per_cpu()
        });
        // A map that no program uses any more is not in the object.
        let fd = match found {
            Some(found) => Some(
                found.fd.try_clone().map_err(|error| refused("loading the script", &error, "Raise `ulimit -n`."))?,
            ),
            None if object.map(&map.object_name).is_none() => None,
            None => return Err(internal(&format!("the map `{}` is not as planned", map.object_name))),
        };
        contents.push(Content::new(map, fd, cpus));
    }
    Ok(contents)
}

/// The maps that every script has are of fixed sizes.
fn check_fixed_maps(plan: &Plan, object: &Object) -> Result<(), AgentError> {
    let counters = 8 * bathyscope_plan::COUNTER_WORDS;
    let sizes = [(COUNTERS, 4, counters), (KERNEL_STACKS, 8, 8 * STACK_FRAMES), (USER_STACKS, 8, 8 * STACK_FRAMES)];
    for (name, key, value) in sizes {
        let found = object.map(name).map(|map| (map.definition.key_bytes, map.definition.value_bytes));
        if found.is_some_and(|found| found != (key, value)) {
            return Err(internal(&format!("the map `{name}` is not as planned")));
        }
    }
    let wanted = [(plan.kernel_stacks, KERNEL_STACKS), (plan.user_stacks, USER_STACKS)];
    let missing = wanted.into_iter().find(|(wanted, name)| *wanted && object.map(name).is_none());
    missing.map_or(Ok(()), |(_wanted, name)| Err(internal(&format!("there is no map `{name}`"))))
}

/// Whether something is shown for which the console must know what processes had mapped.
fn shows_user_addresses(plan: &Plan) -> bool {
    let site_fields = plan.sites.iter().flat_map(|site| &site.fields).map(|field| &field.ty);
    let map_parts = plan.maps.iter().flat_map(|map| map.key.iter().chain([&map.value]));
    plan.user_stacks || site_fields.chain(map_parts).any(has_user_address)
}

fn has_user_address(ty: &Type) -> bool {
    match ty {
        Type::Stack { user, .. } => *user,
        Type::Shown(shown) => matches!(shown, Shown::UserSymbol | Shown::Function),
        Type::Tuple(parts) => parts.iter().any(has_user_address),
        Type::Record(parts) => parts.iter().any(|(_name, ty)| has_user_address(ty)),
        Type::Array { of, .. } => has_user_address(of),
        _ => false,
    }
}

//! `trace -l`: what can be probed, by a pattern; with `-v` what a probe has for arguments, or how a type is defined.

use bathyscope_agent::Simulation;
use bathyscope_bpf::lang::{
    self,
    host::{Host as _, KernelFunction},
};
use bathyscope_capture::visible;
use bathyscope_catalog::{
    matches_wildcards,
    types::{TypeKind, Types},
};
use bathyscope_link::AgentLink;
use serde::Serialize;

use super::facts::{HostFacts, link, request, script_failure};
use crate::{Failure, Outcome, launch::OwnAgent};

/// Events of `software:`, as they are sorted with the `:` behind them.
const SOFTWARE: [&str; 14] = [
    "alignment-faults",
    "bpf-output",
    "context-switches",
    "cpu-clock",
    "cpu-migrations",
    "cpu",
    "cs",
    "dummy",
    "emulation-faults",
    "faults",
    "major-faults",
    "minor-faults",
    "page-faults",
    "task-clock",
];
/// Events of `hardware:`.
const HARDWARE: [&str; 12] = [
    "backend-stalls",
    "branch-instructions",
    "branch-misses",
    "branches",
    "bus-cycles",
    "cache-misses",
    "cache-references",
    "cpu-cycles",
    "cycles",
    "frontend-stalls",
    "instructions",
    "ref-cycles",
];
/// Units of `interval:` and `profile:`.
const UNITS: [&str; 4] = ["hz", "ms", "s", "us"];
const ITERATORS: [&str; 3] = ["task", "task_file", "task_vma"];
/// The most types of one kind that are looked through.
const MAX_TYPES: usize = 1_000_000;

/// A probe, as it is written in a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Probe {
    probe: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<Argument>>,
}

/// An argument of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Argument {
    #[serde(rename = "type")]
    ty: String,
    name: String,
}

/// Lists what matches.
///
/// # Errors
/// If there is no agent, or nothing matches.
pub(super) fn run(
    patterns: &[String],
    verbose: bool,
    json: bool,
    pid: Option<u32>,
    simulate: Option<&Simulation>,
) -> Outcome {
    let mut agent = OwnAgent::start(simulate, None)?;
    let mut link = link(agent.client()?)?;
    let host = HostFacts::new(link.clone(), Vec::new())?;
    if let [pattern] = patterns
        && let Some((kind, name)) = type_pattern(pattern)
    {
        return super::print_all(&definitions(host.types(), kind, name, verbose)?);
    }
    let mut found = Vec::new();
    for pattern in patterns {
        let more = find(&host, &mut link, pattern, pid)?;
        found.extend(more.into_iter().filter(|probe| !found.contains(probe)).collect::<Vec<_>>());
    }
    if found.is_empty() {
        let shown = visible(patterns.join(", ").as_bytes());
        return Err(Failure::new(format!("no probe matches {shown}")).remedy(
            "Write a kind of probe and wildcards, such as 'tracepoint:sched:*', or a part of a name: '*sleep*'.",
        ));
    }
    if verbose {
        for probe in &mut found {
            probe.arguments = Some(arguments(&host, &probe.probe));
        }
    }
    super::print_all(&if json { json_of(&found)? } else { text_of(&found) })
}

/// `struct NAME`, `union NAME`, `enum NAME`.
fn type_pattern(pattern: &str) -> Option<(TypeKind, &str)> {
    let (kind, name) = pattern.trim().split_once(' ')?;
    let kind = match kind {
        "struct" => TypeKind::Struct,
        "union" => TypeKind::Union,
        "enum" => TypeKind::Enum,
        _ => return None,
    };
    Some((kind, name.trim()))
}

fn definitions(types: &Types, kind: TypeKind, pattern: &str, verbose: bool) -> Result<String, Failure> {
    let word = match kind {
        TypeKind::Struct => "struct",
        TypeKind::Union => "union",
        _ => "enum",
    };
    let mut names: Vec<&str> = if pattern.contains(['*', '?']) {
        let all = types.complete(kind, "", MAX_TYPES);
        all.names.into_iter().filter(|name| matches_wildcards(pattern, name)).collect()
    } else {
        types.find(kind, pattern).map(|_| pattern).into_iter().collect()
    };
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        let shown = visible(pattern.as_bytes());
        let remedy = match types.closest(kind, pattern) {
            Some(close) => format!("Did you mean `{close}`?"),
            None => "The kernel tells only types that its own code uses.".to_owned(),
        };
        return Err(Failure::new(format!("the kernel has no {word} {shown}")).remedy(remedy));
    }
    let one = |name: &str| match types.find(kind, name) {
        Some(id) if verbose => format!("vmlinux: {}\n", types.render_definition(id).trim_end()),
        _ => format!("{word} {name}\n"),
    };
    Ok(names.into_iter().map(one).collect())
}

/// Everything that matches, in the order of its kinds.
fn find(host: &HostFacts, link: &mut AgentLink, pattern: &str, pid: Option<u32>) -> Result<Vec<Probe>, Failure> {
    if let Some(kind) = lang::provider(pattern).filter(|kind| matches!(kind.name, "begin" | "end")) {
        return Ok(kernel_probes(host, kind.name, |_own| true));
    }
    let Some((word, rest)) = pattern.split_once(':') else {
        let whole = |kind: &str| kernel_probes(host, kind, |probe| matches_wildcards(pattern, probe));
        return Ok(["tracepoint", "rawtracepoint", "kprobe", "software", "hardware", "interval", "profile", "iter"]
            .map(whole)
            .concat());
    };
    if matches!(lang::provider(word).map(|kind| kind.name), Some("uprobe" | "uretprobe" | "usdt")) {
        return user_probes(link, pattern, pid);
    }
    let kinds: Vec<&str> = match lang::provider(word) {
        Some(kind) => vec![kind.name],
        None => lang::PROVIDERS.iter().map(|kind| kind.name).filter(|name| matches_wildcards(word, name)).collect(),
    };
    if kinds.is_empty() {
        let close = lang::suggest(word, lang::PROVIDERS.iter().map(|kind| kind.name));
        let remedy = close.map_or_else(String::new, |close| format!("Did you mean `{close}`?"));
        return Err(Failure::new(format!("there is no kind of probe `{}`", visible(word.as_bytes()))).remedy(remedy));
    }
    let of_kind = |kind: &str| {
        // How often is no part of the name.
        let rest = match (kind, rest.split_once(':')) {
            ("software" | "hardware" | "interval" | "profile", Some((name, _))) => name,
            _ => rest,
        };
        let full = format!("{kind}:{rest}");
        kernel_probes(host, kind, |probe| matches_wildcards(&full, probe.trim_end_matches(':')))
    };
    Ok(kinds.into_iter().flat_map(of_kind).collect())
}

/// Probes of one kind in the kernel.
fn kernel_probes(host: &HostFacts, kind: &str, matches: impl Fn(&str) -> bool) -> Vec<Probe> {
    let named = |name: &str| format!("{kind}:{name}");
    let all: Vec<String> = match kind {
        "tracepoint" => host.tracepoints().iter().map(|name| named(name)).collect(),
        "rawtracepoint" => host.raw_tracepoints().iter().map(|name| named(name)).collect(),
        "kprobe" | "kretprobe" => host.functions().iter().map(|function| named(&full_name(function, false))).collect(),
        "fentry" | "fexit" => {
            // The kernel's own may be written without `vmlinux`.
            let wanted = |function: &&KernelFunction| {
                matches(&named(&full_name(function, true))) || matches(&named(&full_name(function, false)))
            };
            let typed = |function: &&KernelFunction| {
                let module = module_of(function);
                types_for(host, module).function(module, &function.name).is_some()
            };
            let functions = host.functions().iter().filter(wanted).filter(typed);
            let probe = |function| Probe { probe: named(&full_name(function, true)), arguments: None };
            return functions.map(probe).collect();
        }
        "software" => SOFTWARE.iter().map(|name| format!("{kind}:{name}:")).collect(),
        "hardware" => HARDWARE.iter().map(|name| format!("{kind}:{name}:")).collect(),
        "interval" | "profile" => UNITS.iter().map(|unit| format!("{kind}:{unit}:")).collect(),
        "self" => vec![named("signal:SIGUSR1"), named("signal:SIGUSR2")],
        "begin" | "end" => vec![kind.to_owned()],
        "iter" => ITERATORS.iter().map(|name| named(name)).collect(),
        _ => Vec::new(),
    };
    let found = all.into_iter().filter(|probe| matches(probe));
    found.map(|probe| Probe { probe, arguments: None }).collect()
}

/// The types that a function is described in. Those of modules are only read if it is in one.
fn types_for<'a>(host: &'a HostFacts, module: Option<&str>) -> &'a Types {
    if module.is_some() { host.types_with_modules() } else { host.types() }
}

fn module_of(function: &KernelFunction) -> Option<&str> {
    Some(function.module.as_str()).filter(|module| !module.is_empty())
}

/// With its module: always where the kernel itself is called `vmlinux`, else only for functions of modules.
fn full_name(function: &KernelFunction, always: bool) -> String {
    match (function.module.as_str(), always) {
        ("", false) => function.name.clone(),
        ("", true) => format!("vmlinux:{}", function.name),
        (module, _) => format!("{module}:{}", function.name),
    }
}

fn user_probes(link: &mut AgentLink, pattern: &str, pid: Option<u32>) -> Result<Vec<Probe>, Failure> {
    let doing = format!("looking for {}", visible(pattern.as_bytes()));
    // The places of a script with this attach point alone.
    let places = bathyscope_link::script::places_of(link, &request(&format!("{pattern} {{}}"), &[], pid));
    let places = places.map_err(|error| script_failure(&doing, error))?;
    let mut found: Vec<String> = Vec::new();
    for point in &places {
        if point.places.is_empty() && !point.trouble.is_empty() {
            return Err(Failure::new(format!("{doing}: {}", visible(point.trouble.as_bytes()))));
        }
        let kind = lang::provider(point.point.split(':').next().unwrap_or_default()).map_or("uprobe", |kind| kind.name);
        // A path from a folder on, or into an archive, is shown as it was written.
        let written = point.point.split(':').nth(1).unwrap_or_default().trim_matches('"');
        let is_relative = written.contains('/') && !written.starts_with('/') && !written.contains(['*', '?']);
        let as_written = is_relative || written.contains("!/");
        found.extend(point.places.iter().map(|place| {
            let provider = if place.provider.is_empty() { String::new() } else { format!("{}:", place.provider) };
            let path = if as_written { written } else { place.file.path.as_str() };
            format!("{kind}:{path}:{provider}{}", place.symbol)
        }));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found.into_iter().map(|probe| Probe { probe, arguments: None }).collect())
}

/// What a probe has, by its type information; nothing where there is none.
fn arguments(host: &HostFacts, probe: &str) -> Vec<Argument> {
    let parts: Vec<&str> = probe.split(':').collect();
    match parts.as_slice() {
        ["tracepoint", system, name] => match host.tracepoint(system, name) {
            Ok(Some(format)) => {
                let field = |field: &bathyscope_catalog::EventField| Argument {
                    ty: field.type_name.clone(),
                    name: field.name.clone(),
                };
                format.fields.iter().map(field).collect()
            }
            _ => Vec::new(),
        },
        [kind @ ("fentry" | "kprobe" | "fexit" | "kretprobe"), place @ .., name] => {
            let module = place.first().copied().filter(|module| *module != "vmlinux");
            signature(types_for(host, module), module, name, matches!(*kind, "fexit" | "kretprobe"))
        }
        _ => Vec::new(),
    }
}

fn signature(types: &Types, module: Option<&str>, function: &str, result: bool) -> Vec<Argument> {
    let found = types.function(module, function).and_then(|function| types.signature(function.id));
    let Some(signature) = found else { return Vec::new() };
    let parameter = |(index, parameter): (usize, &bathyscope_catalog::types::Parameter<'_>)| Argument {
        ty: types.render(parameter.ty),
        name: if parameter.name.is_empty() { format!("arg{index}") } else { parameter.name.to_owned() },
    };
    let own = signature.parameters.iter().enumerate().map(parameter);
    let result = result.then(|| Argument { ty: types.render(signature.returns), name: "retval".to_owned() });
    own.chain(result).collect()
}

fn text_of(found: &[Probe]) -> String {
    let mut out = String::new();
    for probe in found {
        out.push_str(&visible(probe.probe.as_bytes()));
        out.push('\n');
        for argument in probe.arguments.iter().flatten() {
            let (ty, name) = (visible(argument.ty.as_bytes()), visible(argument.name.as_bytes()));
            // As C declares it: what an array has stands behind its name.
            let (ty, count) = ty.split_at(ty.find('[').unwrap_or(ty.len()));
            out.push_str(&format!("    {} {name}{count}\n", ty.trim_end()));
        }
    }
    out
}

fn json_of(found: &[Probe]) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(found);
    Ok(text.map_err(|error| Failure::because("writing JSON", error))? + "\n")
}

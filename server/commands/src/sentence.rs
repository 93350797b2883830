//! What is understood, in words.

use bathyscope_capture::{
    CallGraph, CaptureSpec, CountPer, Method, ProfileSpec, ScriptSpec, SyscallOutcome, Target, TraceSpec,
};

use crate::answer::{Planned, ViewName};

/// How many names a list has before the rest is counted.
const MOST_NAMES: usize = 4;

/// What a capture records, of whom, how long, and what it opens.
pub(crate) fn of_capture(planned: &Planned) -> String {
    let Planned { spec, opens, missing } = planned;
    let methods: Vec<String> = spec.methods().map(of_method).collect();
    let mut text = methods.join("; ");
    let whose = of_target(&spec.target, missing.is_some());
    // A script runs on a target, and records of it what it says itself.
    text.push_str(&if spec.script().is_some() { whose.replacen(" of ", " on ", 1) } else { whose });
    let opens = of_view(spec, *opens);
    text.push_str(&format!("{} and opens {opens}.", until(spec)));
    if let Some(missing) = missing {
        text.push_str(&format!(" Before it starts, {missing} has to be chosen."));
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// What a capture costs those who run meanwhile: for each source what one hit takes, in orders of magnitude. The figures are those of
/// `docs/measurements.md` and of the guard's estimates.
pub fn cost_of(spec: &CaptureSpec) -> String {
    let mut each: Vec<String> = spec.methods().map(|method| cost_of_method(method, &spec.target)).collect();
    each.dedup();
    let limit = f64::from(spec.limits.budget_cpu_permille) / 10.0;
    format!("Costs {}. The limit is {limit} % of one CPU.", each.join("; "))
}

fn cost_of_method(method: &Method, target: &Target) -> String {
    if let Some(profile) = method.profile() {
        let often = match profile.period {
            Some(_) => String::new(),
            None => format!(", {} a second on each CPU", profile.frequency_hz),
        };
        let copied = if profile.call_graph == CallGraph::Dwarf { " and a copy of its stack" } else { "" };
        return format!("5 to 15 µs{copied} for each sample{often}");
    }
    if let Some(count) = method.counts() {
        let probes = if count.dynamic.is_empty() { "" } else { ", 1 to 2 µs for each hit of a probe" };
        return format!("little: at most 0.2 µs for each event that the kernel counts for it{probes}");
    }
    if let Some(trace) = method.trace() {
        return cost_of_trace(trace);
    }
    if let Some(calls) = method.syscalls() {
        let stacks = if calls.stacks { " and a copy of its stack" } else { "" };
        let others = if *target == Target::System { "" } else { ", 0.2 µs for each call of others" };
        return format!("about 1 µs{stacks} for each system call{others}");
    }
    if method.script().is_some() {
        return "0.1 to 0.5 µs for each hit of a probe in the kernel, 1 to 2 µs for one in a program, and 2 µs more for a stack"
            .to_owned();
    }
    if method.tracepoints().is_empty() {
        return "0.2 µs for each switch and wake-up of a thread, 2 to 3 µs with stacks".to_owned();
    }
    "0.2 to 0.5 µs for each hit".to_owned()
}

fn cost_of_trace(trace: &TraceSpec) -> String {
    let mut parts = Vec::new();
    if let Some(tracer @ ("function" | "function_graph")) = trace.tracer.as_deref() {
        let call = if tracer == "function" { "0.2 µs" } else { "0.4 µs" };
        let all = trace.functions.is_empty() && trace.graph_roots.is_empty();
        let many = if all { " of all functions, of which there are millions a second" } else { "" };
        parts.push(format!("{call} for each call{many}"));
    }
    if !trace.events.is_empty() || parts.is_empty() && trace.dynamic.is_empty() {
        parts.push("0.3 µs for each event".to_owned());
    }
    if !trace.dynamic.is_empty() {
        parts.push("1 to 2 µs for each hit of a probe".to_owned());
    }
    parts.join(", ")
}

fn of_view(_spec: &CaptureSpec, view: ViewName) -> &'static str {
    view.words()
}

fn of_method(method: &Method) -> String {
    if let Some(profile) = method.profile() {
        return of_profile(profile);
    }
    if let Some(count) = method.counts() {
        let mut names: Vec<String> = count.groups.iter().flatten().cloned().collect();
        names.extend(count.dynamic.iter().map(|probe| probe.typed.clone()));
        let what = if names.is_empty() { "the default events".to_owned() } else { list(&names) };
        let per = match count.per {
            CountPer::Total => "",
            CountPer::Cpu => " on each CPU",
            CountPer::Thread => " of each thread",
        };
        let detail = if count.detail > 0 { " and more events of caches" } else { "" };
        let cpus = cpus(&count.cpus);
        return format!("counts {what}{detail}{per}{cpus} every {}", duration(u64::from(count.interval_ms)));
    }
    if let Some(trace) = method.trace() {
        return of_trace(trace);
    }
    if let Some(calls) = method.syscalls() {
        let failed = match calls.outcome {
            SyscallOutcome::Any => "",
            SyscallOutcome::Failed => "failed ",
            SyscallOutcome::Succeeded => "successful ",
        };
        let names = if calls.calls.is_empty() {
            "all system calls".to_owned()
        } else {
            format!("the {failed}system calls {}", list(&calls.calls))
        };
        let names =
            if calls.calls.is_empty() && !failed.is_empty() { format!("all {failed}system calls") } else { names };
        let filter = calls.filter.as_deref().map(|filter| format!(" that match `{filter}`")).unwrap_or_default();
        let slow = if calls.min_duration_ns > 0 {
            format!(" that take at least {}", nanoseconds(calls.min_duration_ns))
        } else {
            String::new()
        };
        let stacks = if calls.stacks { " with their stacks" } else { "" };
        return format!("records {names}{filter}{slow}{stacks}");
    }
    if let Some(script) = method.script() {
        let with = if script.params.is_empty() { String::new() } else { format!(" with {}", script.params.join(" ")) };
        let title = without_settings(script).title();
        return match title.strip_prefix("Translated from ") {
            Some(language) => format!("runs a script translated from {}{with}", language.trim_end_matches(':')),
            None => format!("runs the script `{title}`{with}"),
        };
    }
    let probes: Vec<String> = method.tracepoints().iter().map(|probe| probe.tracepoint.to_string()).collect();
    if probes.is_empty() {
        "records switches and wake-ups of threads".to_owned()
    } else {
        format!("records {}", list(&probes))
    }
}

fn of_profile(profile: &ProfileSpec) -> String {
    let stacks = match (profile.kernel_stacks, profile.user_stacks) {
        (true, false) => "kernel stacks",
        (false, true) => "user stacks",
        _ => "stacks",
    };
    let events: Vec<String> =
        profile.event.iter().cloned().chain(profile.more.iter().map(|more| more.event.clone())).collect();
    let often = match (profile.period, events.as_slice()) {
        (Some(1), events) => format!("at every {}", list(events)),
        (Some(period), events) => format!("at every {period}th {}", list(events)),
        (None, []) => format!("{} times a second", profile.frequency_hz),
        (None, events) => format!("{} times a second by {}", profile.frequency_hz, list(events)),
    };
    let filter = profile.filter.as_deref().map(|filter| format!(" if {filter}")).unwrap_or_default();
    let more = if profile.memory { " with the memory that was accessed" } else { "" };
    let branches = if profile.branches.is_empty() { "" } else { " with the CPU's last branches" };
    format!("records {stacks} {often}{filter}{more}{branches}{}", cpus(&profile.cpus))
}

fn of_trace(trace: &TraceSpec) -> String {
    let mut parts = Vec::new();
    match trace.tracer.as_deref() {
        Some("function_graph") => {
            let from = if trace.graph_roots.is_empty() {
                String::new()
            } else {
                format!(" from {} on", list(&trace.graph_roots))
            };
            let of = if trace.functions.is_empty() { String::new() } else { format!(" of {}", list(&trace.functions)) };
            parts.push(format!("the tree of kernel functions{of}{from}"));
        }
        Some("function") if trace.functions.is_empty() => parts.push("each call of a kernel function".to_owned()),
        Some("function") => parts.push(format!("each call of {}", list(&trace.functions))),
        Some(tracer) => parts.push(format!("what the tracer {tracer} finds")),
        None => {}
    }
    if !trace.events.is_empty() {
        let event = |event: &bathyscope_capture::TraceEvent| match &event.filter {
            Some(filter) => format!("{} if {filter}", event.event),
            None => event.event.to_string(),
        };
        parts.push(list(&trace.events.iter().map(event).collect::<Vec<_>>()));
    }
    if !trace.dynamic.is_empty() {
        let probes: Vec<String> = trace.dynamic.iter().map(|probe| format!("`{}`", probe.typed)).collect();
        parts.push(format!("the {} {}", if probes.len() == 1 { "probe" } else { "probes" }, list(&probes)));
    }
    format!("records {}", parts.join(" and "))
}

fn of_target(target: &Target, is_missing: bool) -> String {
    if is_missing {
        return " of a process".to_owned();
    }
    let forks = |children: bool| if children { " and what it starts" } else { "" };
    match target {
        Target::System => " of the whole system".to_owned(),
        Target::Process { pid, children } => format!(" of pid {pid}{}", forks(*children)),
        Target::Command { argv, children, .. } => format!(" of `{}`{}", argv.join(" "), forks(*children)),
        Target::During { argv, of, .. } => format!("{} while `{}` runs", of_target(of, false), argv.join(" ")),
        target => format!(" of {target}"),
    }
}

fn until(spec: &CaptureSpec) -> String {
    match (spec.limits.duration_ms, spec.target.command()) {
        (Some(ms), _) => format!(" for {}", duration(ms)),
        (None, Some(_)) => String::new(),
        (None, None) => " until it is stopped".to_owned(),
    }
}

fn cpus(cpus: &[u32]) -> String {
    match cpus {
        [] => String::new(),
        [one] => format!(" on CPU {one}"),
        some => format!(" on CPUs {}", some.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
    }
}

/// A time in words.
pub(crate) fn duration(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

fn nanoseconds(ns: u64) -> String {
    match ns {
        ns if ns.is_multiple_of(1_000_000) => format!("{} ms", ns / 1_000_000),
        ns if ns.is_multiple_of(1000) => format!("{} µs", ns / 1000),
        ns => format!("{ns} ns"),
    }
}

/// A script without the settings that variables of the environment have put before it, which do not name it.
fn without_settings(script: &ScriptSpec) -> ScriptSpec {
    let text = match script.text.split_once('\n') {
        Some((first, rest)) if first.starts_with("config = {") => rest.to_owned(),
        _ => script.text.clone(),
    };
    ScriptSpec { text, ..script.clone() }
}

/// The first names of a list, and how many more there are.
pub(crate) fn list(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST_NAMES) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

//! The machine's own tracing instance, and settings that all instances share: used only while nobody else does, and put
//! back as they were.
//!
//! Before 6.11 or so `function_graph` worked in this instance only, and roots and depth of a graph are the machine's on
//! later kernels too. Everybody's tools use this instance, so a capture takes it only if it is idle: no tracer, no event,
//! nobody's choice of functions or processes, and an empty buffer, since reading a buffer empties it.

use std::io;

use bathyscope_capture::{TraceSpec, visible};
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::{area::Area, journal::Restore};
use crate::error::{failed, refused};

/// The options that every trace sets.
pub(crate) const OWN_OPTIONS: [&str; 3] = ["overwrite", "event-fork", "function-fork"];
/// What shows that an instance is in use if it is not empty, and in words what is there then.
const LISTS: [(&str, &str); 9] = [
    ("set_event", "events are enabled"),
    ("set_ftrace_filter", "functions are chosen"),
    ("set_ftrace_notrace", "functions are left out"),
    ("set_graph_function", "roots of a graph are chosen"),
    ("set_graph_notrace", "functions of a graph are left out"),
    ("set_event_pid", "processes are chosen"),
    ("set_event_notrace_pid", "processes are left out"),
    ("set_ftrace_pid", "processes are chosen"),
    ("set_ftrace_notrace_pid", "processes are left out"),
];

/// Whether a list of tracefs has no entries: comments and the words `no pid` are none.
fn is_empty(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#') || line == "no pid")
}

/// Why the machine's own instance cannot be taken; none if it is idle.
fn busy(machine: &Area, cpus: &[u32]) -> io::Result<Option<String>> {
    let tracer = machine.read("current_tracer")?;
    if tracer.trim() != "nop" {
        return Ok(Some(format!("its tracer is {}", tracer.trim())));
    }
    for (file, words) in LISTS.iter().filter(|(file, _)| machine.has(file)) {
        if !is_empty(&machine.read(file)?) {
            return Ok(Some(format!("in its {file} {words}")));
        }
    }
    if machine.has("max_graph_depth") && machine.read("max_graph_depth")?.trim() != "0" {
        return Ok(Some("its max_graph_depth is set".to_owned()));
    }
    for cpu in cpus {
        let stats = machine.read(&format!("per_cpu/cpu{cpu}/stats"))?;
        if stats.lines().any(|line| line.strip_prefix("entries: ").is_some_and(|count| count.trim() != "0")) {
            return Ok(Some("its buffer holds what somebody recorded".to_owned()));
        }
    }
    Ok(None)
}

fn in_use(doing: &str, why: String, area: &Area) -> AgentError {
    let path = area.tracefs().path().display();
    let remedy = format!(
        "This kernel has it once for the whole machine, and somebody else may depend on it. End the other tracing, save \
         its buffer and clear it with `echo > {path}/trace`, or use a kernel from 6.12, where captures have instances of \
         their own."
    );
    failed(AgentErrorKind::Limit, doing, why, remedy)
}

/// Somebody has set a file of graphs, of which there is one for all instances in every kernel.
fn graph_in_use(doing: &str, machine: &Area, file: &str) -> AgentError {
    let path = machine.tracefs().path().display();
    let text = machine.read(file).unwrap_or_default();
    let value = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    let why = format!(
        "the machine's {file} is set by somebody else (`{}`), and holds for every graph, also those of instances",
        visible(value.as_bytes())
    );
    let clear = if file == "max_graph_depth" { "echo 0 >" } else { "echo >" };
    let remedy = format!("If nobody needs it, clear it with `{clear} {path}/{file}`.");
    failed(AgentErrorKind::Limit, doing, why, remedy)
}

/// The value in brackets of `local [global] mono`.
fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// The size that a buffer has when it is used: `1408` of `7 (expanded: 1408)`.
fn expanded(text: &str) -> Option<&str> {
    let text = text.trim();
    let size = text.split_once("expanded: ").map_or(text, |(_, size)| size.trim_end_matches(')'));
    size.bytes().all(|byte| byte.is_ascii_digit()).then_some(size).filter(|size| !size.is_empty())
}

fn restore(file: impl Into<String>, before: &str) -> Restore {
    Restore { file: file.into(), before: before.to_owned(), ours: None }
}

/// Checks that the machine's own instance is idle. Returns how all that the trace sets there is put back.
pub(crate) fn take(machine: &Area, wire: &TraceSpec, group: &str, cpus: &[u32]) -> Result<Vec<Restore>, AgentError> {
    let doing = "taking the machine's own tracing instance";
    let trouble = |error: io::Error| refused(doing, &error, super::area::remedy_of(&error));
    if let Some(why) = busy(machine, cpus).map_err(trouble)? {
        return Err(in_use(doing, why, machine));
    }
    let read = |file: &str| machine.read(file).map_err(trouble);
    let odd = |file: &str, text: &str| in_use(doing, format!("its {file} is `{}`", text.trim()), machine);
    let (clock, size, on) = (read("trace_clock")?, read("buffer_size_kb")?, read("tracing_on")?);
    let mut all = vec![restore("tracing_on", "0"), restore("current_tracer", "nop")];
    for event in &wire.events {
        let directory = format!("events/{}/{}", event.event.system(), event.event.name());
        all.push(restore(format!("{directory}/enable"), "0"));
        all.extend(event.filter.as_ref().map(|_filter| restore(format!("{directory}/filter"), "0")));
    }
    if !wire.dynamic.is_empty() {
        all.push(restore(format!("events/{group}/enable"), "0"));
    }
    for option in OWN_OPTIONS.into_iter().chain(wire.options.iter().map(|(name, _on)| name.as_str())) {
        let file = format!("options/{option}");
        if machine.has(&file) {
            all.push(restore(&file, read(&file)?.trim()));
        }
    }
    let pids = ["set_ftrace_filter", "set_ftrace_notrace", "set_event_pid", "set_ftrace_pid"];
    all.extend(pids.into_iter().filter(|file| machine.has(file)).map(|file| restore(file, "")));
    all.extend(graph_settings(wire));
    all.push(restore("trace_clock", chosen(&clock).ok_or_else(|| odd("trace_clock", &clock))?));
    all.push(restore("buffer_size_kb", expanded(&size).ok_or_else(|| odd("buffer_size_kb", &size))?));
    all.push(restore("tracing_on", on.trim()));
    Ok(all)
}

fn graph_settings(wire: &TraceSpec) -> Vec<Restore> {
    let mut all = Vec::new();
    if !wire.graph_roots.is_empty() {
        all.push(restore("set_graph_function", ""));
    }
    if !wire.graph_not.is_empty() {
        all.push(restore("set_graph_notrace", ""));
    }
    if wire.max_depth.is_some() {
        all.push(restore("max_graph_depth", "0"));
    }
    all
}

/// Checks that roots and depth of graphs, which are the machine's, are nobody's, and that no other instance draws graphs
/// where this trace sets them. Returns how they are put back.
pub(crate) fn take_graph(machine: &Area, own: &Area, wire: &TraceSpec) -> Result<Vec<Restore>, AgentError> {
    let doing = "setting roots and depth of the graph";
    let set = ["set_graph_function", "set_graph_notrace"]
        .into_iter()
        .find(|file| machine.has(file) && machine.read(file).is_ok_and(|text| !is_empty(&text)));
    let depth = machine.read("max_graph_depth").unwrap_or_default();
    let set = set.or_else(|| (!matches!(depth.trim(), "" | "0")).then_some("max_graph_depth"));
    if let Some(file) = set {
        return Err(graph_in_use(doing, machine, file));
    }
    let settings: Vec<Restore> = graph_settings(wire).into_iter().filter(|it| !own.has(&it.file)).collect();
    if settings.is_empty() {
        return Ok(settings);
    }
    let instances = machine.tracefs().instances();
    let tracers = instances.iter().map(|name| format!("instances/{name}/current_tracer"));
    for file in tracers.chain(["current_tracer".to_owned()]) {
        let tracer = machine.read(&file).unwrap_or_default();
        if tracer.trim() == "function_graph" {
            let why = format!("{file} is function_graph: roots and depth would hold for that trace too");
            let remedy = "End that trace first, or trace without roots and depth (-g, --max-graph-depth).";
            return Err(failed(AgentErrorKind::Limit, doing, why, remedy));
        }
    }
    Ok(settings)
}

/// Puts one setting back. What is not there any more needs nothing.
pub(crate) fn put_back(machine: &Area, setting: &Restore) -> io::Result<()> {
    let Restore { file, before, ours } = setting;
    if ours.as_ref().is_some_and(|ours| machine.read(file).is_ok_and(|now| now.trim() != ours)) {
        return Ok(());
    }
    let done = if before.is_empty() { machine.tracefs().empty(file) } else { machine.write(file, before) };
    match done {
        Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_without_entries_are_empty() {
        for text in ["", "#### all functions enabled ####\n", "no pid\n", "#### no functions disabled ####\n"] {
            assert!(is_empty(text), "{text:?}");
        }
        for text in ["vfs_read\n", "1\n", "#### all functions enabled ####\nschedule:traceoff:unlimited\n"] {
            assert!(!is_empty(text), "{text:?}");
        }
    }

    #[test]
    fn what_somebody_set_for_all_graphs_is_told_with_how_to_clear_it() {
        let directory = std::env::temp_dir().join(format!("bathyscope-graph-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("set_graph_function"), "#### all functions enabled ####\nvfs_read\n").unwrap();
        let tracefs = std::sync::Arc::new(crate::os::tracefs::Tracefs::at(&directory).unwrap());
        let (machine, own) = (Area::machine(&tracefs), Area::instance(&tracefs, "x"));
        let error = take_graph(&machine, &own, &TraceSpec::default()).unwrap_err();
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(error.why.contains("(`vfs_read`)"), "{}", error.why);
        assert!(error.remedy.contains("echo >") && !error.remedy.contains("6.12"), "{}", error.remedy);
    }

    #[test]
    fn settings_are_read_as_they_are_shown() {
        assert_eq!(chosen("local [global] mono\n"), Some("global"));
        assert_eq!(chosen("local\n"), None);
        assert_eq!(expanded("7 (expanded: 1408)\n"), Some("1408"));
        assert_eq!(expanded("4096\n"), Some("4096"));
        assert_eq!(expanded("X\n"), None);
    }
}

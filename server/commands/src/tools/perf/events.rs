//! The events behind `-e`.

use bathyscope_capture::{DynamicProbe, TracepointName};
use bathyscope_catalog::{
    dynamic::missing_dynamic_event,
    matches_wildcards,
    perf_events::{EventSource, PerfEvent, parse_events},
};

use crate::{
    answer::{Refusal, Result, SpanKind},
    call::Call,
    options::{Arguments, Given},
};

/// What is recorded or counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// An event of the kernel.
    Event(PerfEvent),
    /// A probe that the text defines.
    Probe(DynamicProbe),
}

impl Asked {
    /// The tracepoint, of one.
    pub(super) fn tracepoint(&self) -> Option<&TracepointName> {
        match self {
            Self::Event(PerfEvent { source: EventSource::Tracepoint(name), .. }) => Some(name),
            _ => None,
        }
    }
}

/// One `-e` with the filter behind it.
#[derive(Clone, Debug)]
pub(super) struct EventList {
    /// Where it stands.
    pub(super) given: Given,
    /// Its events, those of a group together.
    pub(super) groups: Vec<Vec<Asked>>,
    /// What `--filter` says of them.
    pub(super) filter: Option<String>,
}

/// All `-e` of a command with their filters.
///
/// # Errors
/// What is no event; a filter without an event.
pub(super) fn lists(arguments: &Arguments, call: &mut Call<'_>) -> Result<Vec<EventList>> {
    let mut lists: Vec<EventList> = Vec::new();
    for given in &arguments.given {
        match given.key {
            "-e" => {
                let groups = groups(given, call)?;
                lists.push(EventList { given: given.clone(), groups, filter: None });
            }
            "--filter" => {
                let filter = given.text()?;
                match lists.last_mut() {
                    Some(list) => list.filter = Some(filter),
                    None => {
                        return given.refuse("the filter has no event before it", "Write -e EVENT --filter FILTER.");
                    }
                }
            }
            _ => {}
        }
    }
    Ok(lists)
}

fn groups(given: &Given, call: &mut Call<'_>) -> Result<Vec<Vec<Asked>>> {
    let word = given.word();
    call.marks.mark(&word.source, SpanKind::Event);
    let text = word.pattern()?.to_owned();
    // Without braces and slashes a pattern is a whole part of the list.
    if text.contains(['*', '?']) && !text.contains(['{', '/']) {
        let mut groups = Vec::new();
        for part in word.split(',') {
            if part.text.contains(['*', '?']) {
                let probes = call.probes_named(&part.text, &part.source);
                let has_probes = !probes.is_empty();
                groups.extend(probes.into_iter().map(|one| vec![Asked::Probe(one.probe)]));
                match matching(&part.text, call, &part.source) {
                    Ok(found) => groups.extend(found.into_iter().map(|name| vec![Asked::Event(event_of(&name))])),
                    Err(_) if has_probes => {}
                    Err(refusal) => return Err(refusal),
                }
            } else {
                groups.extend(parsed(&part.text, given, call)?);
            }
        }
        return Ok(groups);
    }
    parsed(&text, given, call)
}

fn event_of(name: &TracepointName) -> PerfEvent {
    PerfEvent { source: EventSource::Tracepoint(name.clone()), modifiers: Default::default() }
}

/// The tracepoints that match a pattern.
///
/// # Errors
/// If there are none, or nobody knows.
pub(super) fn matching(pattern: &str, call: &Call<'_>, at: &std::ops::Range<usize>) -> Result<Vec<TracepointName>> {
    let Some(all) = call.host.tracepoints() else {
        let why = format!("which events match `{pattern}` is not known without asking the host");
        return Err(Refusal::new(at.clone(), why, "Name them."));
    };
    let found: Vec<_> = all.iter().filter(|name| matches_wildcards(pattern, &name.to_string())).cloned().collect();
    if found.is_empty() {
        let why = format!("this kernel has no event that matches `{pattern}`");
        return Err(Refusal::new(at.clone(), why, "Search for it in the catalogue."));
    }
    Ok(found)
}

fn parsed(text: &str, given: &Given, call: &mut Call<'_>) -> Result<Vec<Vec<Asked>>> {
    let groups = parse_events(text)
        .or_else(|error| given.refuse(error.to_string(), "Write the name as `perf list` shows it."))?;
    groups.into_iter().map(|group| group.into_iter().map(|event| asked(event, given, call)).collect()).collect()
}

/// An event, or the probe of the text that is called so.
fn asked(event: PerfEvent, given: &Given, call: &mut Call<'_>) -> Result<Asked> {
    let EventSource::Tracepoint(name) = &event.source else { return Ok(Asked::Event(event)) };
    if let Some(defined) = call.probes_named(&name.to_string(), &given.word().source).into_iter().next() {
        return Ok(Asked::Probe(defined.probe));
    }
    let is_there = call.host.tracepoints().map(|all| all.contains(name));
    if is_there != Some(true)
        && let Some(probe) = probe_named(name)
    {
        call.marks
            .note(&given.word().source, format!("`{name}` is not there: the probe `{}` is made for it", probe.typed));
        return Ok(Asked::Probe(probe));
    }
    match is_there {
        Some(false) => {
            let remedy = missing_dynamic_event(name.system(), name.name());
            given.refuse(
                format!("this kernel has no event `{name}`"),
                remedy.unwrap_or_else(|| "Search for it in the catalogue.".to_owned()),
            )
        }
        None if is_of_probes(name.system()) => given.refuse(
            format!("the probe `{name}` is not defined in this text"),
            "Paste the line `perf probe --add …` that defines it before the command.",
        ),
        _ => Ok(Asked::Event(event)),
    }
}

/// The probe that `perf probe --add FUNCTION` gives this name.
pub(super) fn probe_named(name: &TracepointName) -> Option<DynamicProbe> {
    let function = (name.system() == "probe").then_some(name.name())?;
    let typed = match function.strip_suffix("__return") {
        Some(function) => format!("{function}%return"),
        None => function.to_owned(),
    };
    Some(DynamicProbe::from(typed.as_str()))
}

/// Whether events of a subsystem are made with `perf probe`.
fn is_of_probes(system: &str) -> bool {
    system == "probe" || system.starts_with("probe_") || matches!(system, "kprobes" | "uprobes")
}

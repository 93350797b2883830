//! One kind of the inventory: its names, and what is known about each beside its name.

use std::sync::Arc;

use bathyscope_capture::refused_tracer;
use bathyscope_catalog::{
    KernelFunction, Probing,
    names::{Name, Names, NamesBuilder, NewName},
    types::Types,
};
use bathyscope_protocol::{BpfLink, BpfProgram, PerfEventInfo};

use super::EntryKind;

/// Something that this host keeps from being seen, or does not have, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hidden {
    /// What is missing, a sentence.
    pub what: String,
    /// What to do, one or more sentences; may be empty.
    pub remedy: String,
    /// Of which kind; none if it is of all that are read with it.
    #[serde(skip)]
    pub kind: Option<EntryKind>,
}

impl Hidden {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into(), kind: None }
    }

    /// Of one kind only.
    pub(super) fn of(self, kind: EntryKind) -> Self {
        Self { kind: Some(kind), ..self }
    }
}

/// What is known about an entry, by the number that its name carries.
#[derive(Clone, Debug)]
pub(super) enum Facts {
    /// Functions and types: everything is in the flags, or in the types.
    Kernel(Arc<Kernel>),
    /// Tracepoints: their formats are read when they are asked for.
    None,
    Tracers(Vec<TracerFacts>),
    Perf(Vec<PerfEventInfo>),
    Probes(Vec<ProbeFacts>),
    Programs(Vec<ProgramFacts>),
    Files(Vec<MappedFile>),
}

/// The kernel's types, and by which means its functions can be probed.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) types: Types,
    pub(super) probing: Probing,
}

#[derive(Clone, Debug)]
pub(super) struct TracerFacts {
    pub(super) name: String,
    pub(super) purpose: &'static str,
    pub(super) available: bool,
    pub(super) option: &'static str,
}

#[derive(Clone, Debug)]
pub(super) struct ProbeFacts {
    pub(super) what: &'static str,
    pub(super) place: String,
    pub(super) arguments: String,
    pub(super) maker: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct ProgramFacts {
    pub(super) program: BpfProgram,
    /// Where it is attached, in words.
    pub(super) places: Vec<String>,
    pub(super) links: Vec<BpfLink>,
}

/// A file with code that processes have mapped.
#[derive(Clone, Debug)]
pub(super) struct MappedFile {
    /// Through whose root it is opened.
    pub(super) pid: u32,
    /// The first processes that have it mapped: pid and name.
    pub(super) processes: Vec<(u32, String)>,
    /// How many have.
    pub(super) count: usize,
}

/// The names of one kind.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: EntryKind,
    pub(super) names: Arc<Names>,
    pub(super) facts: Facts,
}

impl Part {
    /// Of entries with a name each and facts in the same order.
    pub(super) fn numbered(kind: EntryKind, names: impl Iterator<Item = (String, usize)>, facts: Facts) -> Self {
        let mut builder = NamesBuilder::new();
        for (index, (text, own_at)) in names.enumerate() {
            builder.add(NewName { text: &text, own_at, value: index as u64, ..NewName::default() });
        }
        Self { kind, names: Arc::new(builder.finish()), facts }
    }

    /// What the list says beside a name, and whether it can be used here.
    pub(super) fn note(&self, name: &Name<'_>) -> (String, bool) {
        let index = usize::try_from(name.value).unwrap_or(usize::MAX);
        match &self.facts {
            Facts::Kernel(kernel) if self.kind == EntryKind::Function => function_note(kernel, name),
            Facts::Kernel(_) | Facts::None => (String::new(), true),
            Facts::Tracers(all) => all.get(index).map_or_else(Default::default, tracer_note),
            Facts::Perf(all) => all.get(index).map_or_else(Default::default, perf_note),
            Facts::Probes(all) => all.get(index).map_or_else(Default::default, |it| {
                let whose = if it.maker.is_some() { ", made by Bathyscope" } else { "" };
                (format!("{} at {}{whose}", it.what, it.place), true)
            }),
            Facts::Programs(all) => all.get(index).map_or_else(Default::default, |it| (program_note(it), true)),
            Facts::Files(all) => all.get(index).map_or_else(Default::default, |it| (processes(it), true)),
        }
    }
}

fn function_note(kernel: &Kernel, name: &Name<'_>) -> (String, bool) {
    let denied = bathyscope_bpf::lang::denied_function(name.text);
    let ways = kernel.probing.ways(KernelFunction::of_flags(name.flags), denied);
    let works: Vec<&str> = ways.iter().filter(|way| way.why_not.is_none()).map(|way| way.id).collect();
    match works.as_slice() {
        // Where the kernel has none of the means, that is said once above the list and not on each line.
        [] if kernel.probing.kprobe.is_some() && kernel.probing.ftrace.is_some() => (String::new(), false),
        [] => ("cannot be probed".to_owned(), false),
        _ => (works.join(", "), true),
    }
}

fn tracer_note(tracer: &TracerFacts) -> (String, bool) {
    match (tracer.available, tracer.option) {
        // No tracer at all is what there is without one.
        (true, _) if tracer.name != "nop" && refused_tracer(&tracer.name).is_some() => {
            let why = refused_tracer(&tracer.name).unwrap_or_default();
            (format!("{}; not here: {why}", tracer.purpose), false)
        }
        (true, _) if tracer.purpose.is_empty() => ("a tracer that is not known to Bathyscope".to_owned(), true),
        (true, _) => (tracer.purpose.to_owned(), true),
        (false, option) => (format!("{}; needs {option}", tracer.purpose), false),
    }
}

fn perf_note(event: &PerfEventInfo) -> (String, bool) {
    match (event.works, event.meaning.is_empty()) {
        (true, true) => (event.kind.clone(), true),
        (true, false) => (event.meaning.clone(), true),
        (false, true) => (format!("not here: {}", event.why), false),
        (false, false) => (format!("{}; not here: {}", event.meaning, event.why), false),
    }
}

fn program_note(facts: &ProgramFacts) -> String {
    let kind = bathyscope_catalog::bpf_program_kind(facts.program.kind);
    let whose = if facts.program.ours { ", loaded by Bathyscope" } else { "" };
    match facts.places.as_slice() {
        [] => format!("{kind}{whose}"),
        [one] => format!("{kind} at {one}{whose}"),
        [first, rest @ ..] => format!("{kind} at {first} and {} more{whose}", rest.len()),
    }
}

/// Who has a file mapped, in words.
pub(super) fn processes(file: &MappedFile) -> String {
    let shown: Vec<String> = file.processes.iter().take(3).map(|(pid, comm)| format!("{comm} {pid}")).collect();
    let more = file.count.saturating_sub(shown.len());
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

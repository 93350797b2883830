//! Setting up a trace, step by step, switched off until all of it is there. What fails on the way is undone.

use std::{io, sync::Arc};

use bathyscope_capture::{DynamicProbe, TraceSpec, TracepointName, visible};
use bathyscope_catalog::parse_event_format;
use bathyscope_protocol::{AgentError, AgentErrorKind, TraceFormat};

use super::{
    area::{Area, no_function, remedy_of},
    dynamic::{Dynamic, DynamicEventKind},
    journal::{self, JournalEntry, Restore},
    machine, refusals,
    undo::Undo,
};
use crate::{
    compile::ScriptRights,
    error::{failed, refused, words},
    kernel::{
        host::function_bytes,
        target::{ResolvedTarget, threads},
    },
    needs::Need,
    os::{busy::busy, cpus, owner::Owner, tracefs::Tracefs},
};

/// KiB of buffer for each CPU unless the trace says: of one of events, and of one of functions, of which there are many.
const EVENTS_BUFFER_KIB: u32 = 2048;
const FUNCTIONS_BUFFER_KIB: u32 = 16 << 10;
/// The most KiB of usual buffers over all CPUs.
const MOST_USUAL_KIB: u64 = 256 << 10;
/// No instruction is longer, on any processor that there are kernels for here.
const MAX_INSTRUCTION_BYTES: u64 = 15;
/// The longest list of threads that is made the target.
const MAX_THREADS: usize = 65_536;

/// A trace that is set up and records nothing yet.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) area: Area,
    /// The group of its dynamic events.
    pub(super) group: String,
    pub(super) dynamic: Vec<Dynamic>,
    pub(super) formats: Vec<TraceFormat>,
    pub(super) cpus: Vec<u32>,
    /// Bytes of each CPU's buffer, as the kernel rounded it.
    pub(super) buffer_bytes: u32,
    /// Removes it all again.
    _undo: Undo,
}

impl Set {
    /// Its events as folders below `events`.
    pub(super) fn own_events(&self) -> Vec<String> {
        let own = self.formats.iter().filter(|format| format.group != "ftrace");
        own.map(|format| format!("{}/{}", format.group, format.name)).collect()
    }
}

struct Setup<'a> {
    wire: &'a TraceSpec,
    tracefs: Arc<Tracefs>,
    area: Area,
    group: String,
    cpus: Vec<u32>,
    undo: Undo,
}

/// Sets up what `wire` asks for, of the processes of `target`.
pub(super) fn set_up(wire: &TraceSpec, dynamic: Vec<Dynamic>, target: &ResolvedTarget) -> Result<Set, AgentError> {
    let tracefs = Arc::new(Tracefs::find()?);
    let owner = Owner::this().ok_or_else(no_owner)?;
    let cpus = cpus::online().map_err(|error| refused("listing the CPUs", &error, ""))?;
    let area = Area::machine(&tracefs);
    let undo = Undo::new(area.clone());
    let mut setup = Setup { wire, tracefs, area, group: owner.name('_'), cpus, undo };
    setup.choose_area(&owner)?;
    let buffer_bytes = setup.set_buffer()?;
    let waiting = setup.set_options(wire.options.iter())?;
    setup.choose_functions()?;
    setup.choose_processes(target)?;
    dynamic.iter().try_for_each(|event| setup.make_event(event))?;
    let mut formats = setup.enable_events()?;
    for (index, event) in (0_u16..).zip(&dynamic) {
        formats.push(setup.enable_dynamic(index, event)?);
    }
    setup.set_tracer()?;
    // A tracer's own options are there when it is.
    if let Some((name, _on)) = setup.set_options(waiting.into_iter())?.first() {
        return Err(setup.no_option(name));
    }
    formats.extend(setup.own_formats());
    let Setup { area, group, cpus, undo, .. } = setup;
    Ok(Set { area, group, dynamic, formats, cpus, buffer_bytes, _undo: undo })
}

/// Dynamic events without an instance: for counters, which the kernel's perf subsystem keeps. Dropping it removes them, when
/// nobody counts them any more.
#[derive(Debug)]
pub(crate) struct MadeEvents {
    /// What each was called, and what it is called.
    pub(crate) names: Vec<(String, TracepointName)>,
    _dynamic: Vec<Dynamic>,
    _undo: Undo,
}

/// Makes the events of these lines in a group of their own.
pub(crate) fn make_events(probes: &[DynamicProbe], rights: ScriptRights) -> Result<MadeEvents, AgentError> {
    let dynamic = super::dynamic::prepare(probes, rights)?;
    let tracefs = Arc::new(Tracefs::find()?);
    let owner = Owner::this().ok_or_else(no_owner)?;
    let area = Area::machine(&tracefs);
    let (group, undo, wire) = (owner.name('_'), Undo::new(area.clone()), TraceSpec::default());
    let mut setup = Setup { wire: &wire, tracefs, area, group, cpus: Vec::new(), undo };
    let mut names = Vec::new();
    for event in &dynamic {
        setup.make_event(event)?;
        let name = format!("{}:{}", setup.group, event.name).parse::<TracepointName>();
        let doing = "naming a dynamic event";
        let name = name.map_err(|error| failed(AgentErrorKind::Internal, doing, error.to_string(), ""))?;
        names.push((event.label.clone(), name));
    }
    Ok(MadeEvents { names, _dynamic: dynamic, _undo: setup.undo })
}

/// Makes an event that nobody switches on, and removes it.
pub(crate) fn try_event(line: &str, rights: ScriptRights) -> Result<(), AgentError> {
    make_events(&[DynamicProbe::of_line(line)], rights).map(drop)
}

fn no_owner() -> AgentError {
    let why = "/proc does not tell when this process started";
    failed(AgentErrorKind::Internal, "naming what is made in tracefs", why, "Mount proc at /proc.")
}

impl Setup<'_> {
    /// An instance of the capture's own; the machine's where this kernel cannot have the tracer in others.
    fn choose_area(&mut self, owner: &Owner) -> Result<(), AgentError> {
        let name = owner.name('-');
        let ticket = journal::note(JournalEntry::Instance { name: name.clone() })?;
        self.undo.instance(name.clone(), ticket);
        let doing = "making a tracing instance";
        self.tracefs.make_instance(&name).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT) => {
                let remedy = "Use a kernel with CONFIG_TRACING and instances, as distributions have.";
                failed(AgentErrorKind::Unsupported, doing, "this kernel has no tracing instances", remedy)
            }
            _ => refused(doing, &error, remedy_of(&error)),
        })?;
        let own = Area::instance(&self.tracefs, &name);
        self.undo.moved(own.clone());
        own.set("tracing_on", "0")?;
        if !self.needs_machine(&own)? {
            self.area = own;
            return self.take_graph();
        }
        self.undo.drop_instance().map_err(|error| refused("removing a tracing instance", &error, ""))?;
        self.undo.moved(self.area.clone());
        // A trace that has just ended may still be on its way out.
        super::undo::settle(super::SETTLE_TIME);
        let restore = machine::take(&self.area, self.wire, &self.group, &self.cpus)?;
        self.change(self.wire.tracer.clone().unwrap_or_default(), restore)?;
        self.area.set("tracing_on", "0")
    }

    /// Writes down how settings are put back, before they are changed.
    fn change(&mut self, tracer: String, restore: Vec<Restore>) -> Result<(), AgentError> {
        if !restore.is_empty() {
            let ticket = journal::note(JournalEntry::Settings { tracer, restore: restore.clone() })?;
            self.undo.settings(restore, ticket);
        }
        Ok(())
    }

    /// Whether the tracer works in the machine's own instance only.
    fn needs_machine(&self, own: &Area) -> Result<bool, AgentError> {
        let Some(tracer) = &self.wire.tracer else { return Ok(false) };
        let doing = format!("looking for the tracer `{}`", visible(tracer.as_bytes()));
        let list =
            |area: &Area| area.read("available_tracers").map_err(|error| refused(&doing, &error, remedy_of(&error)));
        let has = |list: &str| list.split_ascii_whitespace().any(|name| name == tracer);
        if has(&list(own)?) {
            return Ok(false);
        }
        let all = list(&Area::machine(&self.tracefs))?;
        if has(&all) {
            return Ok(true);
        }
        let why = format!("this kernel does not have it; it has: {}", all.trim());
        Err(failed(AgentErrorKind::Unsupported, doing, why, "Choose one of these, or use another kernel."))
    }

    /// Roots and depth of graphs are the machine's even where the tracer has an instance.
    fn take_graph(&mut self) -> Result<(), AgentError> {
        if self.wire.tracer.as_deref() != Some("function_graph") {
            return Ok(());
        }
        let restore = machine::take_graph(&Area::machine(&self.tracefs), &self.area, self.wire)?;
        self.change(String::new(), restore)
    }

    /// Clock and size. Returns the bytes of each CPU's buffer.
    fn set_buffer(&self) -> Result<u32, AgentError> {
        self.area.set("trace_clock", self.wire.clock.as_deref().unwrap_or("mono"))?;
        let kib = self.wire.buffer_kib.unwrap_or_else(|| usual_kib(self.wire.tracer.is_some(), self.cpus.len() as u64));
        let all_kib = u64::from(kib).saturating_mul(self.cpus.len() as u64);
        if let Some(available) = available_kib().filter(|available| all_kib > available / 2) {
            let why = format!("{kib} KiB for each of {} CPUs are more than half of the free memory", self.cpus.len());
            let remedy = format!("Ask for at most {} KiB.", available / 2 / self.cpus.len().max(1) as u64);
            return Err(failed(AgentErrorKind::Limit, "making the trace's buffers", why, remedy));
        }
        self.area.set("buffer_size_kb", &kib.to_string())?;
        let now = self.area.read("buffer_size_kb").ok().and_then(|text| text.trim().parse().ok());
        Ok(now.unwrap_or(kib).saturating_mul(1024))
    }

    /// Sets options. Returns those that there are not (yet).
    fn set_options<'o>(
        &mut self,
        options: impl Iterator<Item = &'o (String, bool)>,
    ) -> Result<Vec<&'o (String, bool)>, AgentError> {
        let mut missing = Vec::new();
        for option in options {
            let (name, on) = option;
            let (file, value) = (format!("options/{name}"), if *on { "1" } else { "0" });
            if !self.area.has(&file) {
                missing.push(option);
                continue;
            }
            // Some of a tracer's options are the same for all instances: then the machine's changes with ours.
            let machine = Area::machine(&self.tracefs);
            let before = machine.read(&file).ok().filter(|_text| !self.area.is_machine());
            let shared = before.filter(|before| before.trim() != value);
            let ticket = match &shared {
                Some(before) => {
                    let (before, ours) = (before.trim().to_owned(), Some(value.to_owned()));
                    let restore = vec![Restore { file: file.clone(), before, ours }];
                    let entry = JournalEntry::Settings { tracer: String::new(), restore: restore.clone() };
                    Some((restore, journal::note(entry)?))
                }
                None => None,
            };
            let set = self.area.set(&file, value);
            match ticket {
                Some((_restore, ticket)) if machine.read(&file).ok() == shared => ticket.done(),
                Some((restore, ticket)) => self.undo.settings(restore, ticket),
                None => {}
            }
            set?;
        }
        Ok(missing)
    }

    fn no_option(&self, name: &str) -> AgentError {
        let doing = format!("setting the option `{}`", visible(name.as_bytes()));
        let all = self.area.read("trace_options").unwrap_or_default();
        let all: Vec<&str> = all.lines().map(|line| line.strip_prefix("no").unwrap_or(line)).collect();
        let remedy = format!("There are: {}.", all.join(", "));
        failed(AgentErrorKind::NotFound, doing, "this kernel has no such option for this tracer", remedy)
    }

    fn choose_functions(&self) -> Result<(), AgentError> {
        let TraceSpec { functions, not_functions, graph_roots, graph_not, max_depth, .. } = self.wire;
        self.area.set_functions("set_ftrace_filter", functions)?;
        self.area.set_functions("set_ftrace_notrace", not_functions)?;
        self.with_graph_file("set_graph_function").set_functions("set_graph_function", graph_roots)?;
        self.with_graph_file("set_graph_notrace").set_functions("set_graph_notrace", graph_not)?;
        match max_depth {
            Some(depth) => self.with_graph_file("max_graph_depth").set("max_graph_depth", &depth.to_string()),
            None => Ok(()),
        }
    }

    fn with_graph_file(&self, file: &str) -> Area {
        if self.area.has(file) { self.area.clone() } else { Area::machine(&self.tracefs) }
    }

    /// The kernel filters by thread, so all threads of the target are named.
    fn choose_processes(&self, target: &ResolvedTarget) -> Result<(), AgentError> {
        let overwrite = if self.wire.overwrite { "1" } else { "0" };
        self.area.set("options/overwrite", overwrite)?;
        target.must_be_known_by_thread("traces")?;
        let threads: Box<dyn Fn() -> Vec<u32>> = match target.watched() {
            ResolvedTarget::Cgroup { path, .. } => Box::new(move || crate::os::cgroups::group_threads(path)),
            watched => {
                let pids = watched.pids();
                if pids.is_empty() {
                    return Ok(());
                }
                let of = |pid: &u32| threads(*pid, usize::MAX).unwrap_or_default();
                Box::new(move || pids.iter().flat_map(of).collect())
            }
        };
        let files = ["set_event_pid", "set_ftrace_pid"].into_iter().filter(|file| self.area.has(file));
        let files: Vec<_> = files.filter(|file| self.wire.tracer.is_some() || *file != "set_ftrace_pid").collect();
        // Whoever is forked in a control group is in it.
        let follows = target.follows_children() || matches!(target.watched(), ResolvedTarget::Cgroup { .. });
        let follow = if follows { "1" } else { "0" };
        for option in ["options/event-fork", "options/function-fork"] {
            if self.area.has(option) {
                self.area.set(option, follow)?;
            }
        }
        let mut named = Vec::new();
        loop {
            // Those that began meanwhile are named in the next round.
            let new: Vec<u32> = threads().into_iter().filter(|thread| !named.contains(thread)).collect();
            if new.is_empty() && named.is_empty() {
                // Without a name in these files the kernel would trace everybody.
                let why = "it has no processes now";
                let remedy = "Begin the trace when it has one; those that come later are then traced too.";
                return Err(failed(AgentErrorKind::NotFound, "choosing whose events are traced", why, remedy));
            }
            if new.is_empty() || named.len() > MAX_THREADS {
                return Ok(());
            }
            for file in &files {
                for some in new.chunks(256) {
                    let list: Vec<String> = some.iter().map(u32::to_string).collect();
                    let written = self.area.write(file, &format!("{}\n", list.join(" ")));
                    written.map_err(|error| no_function(format!("choosing threads in {file}"), &error))?;
                }
            }
            named.extend(new);
        }
    }

    fn make_event(&mut self, event: &Dynamic) -> Result<(), AgentError> {
        let doing = format!("making the probe `{}`", visible(event.given.as_bytes()));
        let line = event.line(&self.group);
        match self.define(&event.name, &line)? {
            Ok(()) => Ok(()),
            Err(error) => Err(self.no_event(doing, event, &line, &error)),
        }
    }

    /// Writes down that an event is made, and makes it.
    fn define(&mut self, name: &str, line: &str) -> Result<io::Result<()>, AgentError> {
        let name = format!("{}/{name}", self.group);
        let ticket = journal::note(JournalEntry::Event { name: name.clone() })?;
        let made = self.tracefs.write("dynamic_events", line);
        match made {
            Ok(()) => self.undo.event(name, ticket),
            Err(_) => ticket.done(),
        }
        Ok(made)
    }

    fn no_event(&mut self, doing: String, event: &Dynamic, line: &str, error: &io::Error) -> AgentError {
        let log = self.tracefs.read("error_log").unwrap_or_default();
        let refusal = refusals::last(&log, line);
        let detail = refusal.as_ref().map_or_else(String::new, |refusal| {
            refusals::marked(&event.given, event.place_in_given(&self.group, refusal.at))
        });
        let why = refusal.as_ref().map_or_else(|| words(error), |refusal| refusal.words.clone());
        let (kind, why, remedy) = match error.raw_os_error() {
            // 6.12 says EINVAL with these words, 6.1 ENOENT.
            Some(libc::ENOENT | libc::EINVAL) if why.ends_with("address or symbol") => {
                let remedy =
                    "Look the function up in /proc/kallsyms; it may be inlined, or in a module that is not loaded.";
                (AgentErrorKind::NotFound, why, remedy.to_owned())
            }
            Some(libc::ENOENT | libc::ENODEV) => {
                (AgentErrorKind::NotFound, why, "Look the name up with `bathyscope list`.".to_owned())
            }
            Some(libc::EPERM | libc::EACCES) => {
                let others =
                    "A kernel that is locked down lets nobody probe its functions; events and probes in programs work.";
                (AgentErrorKind::Denied, why, format!("{} {others}", Need::Files.remedy()))
            }
            Some(libc::EINVAL) if event.function.as_deref().is_some_and(is_blocked) => {
                let why = "the kernel's own list has it among the functions that are never probed".to_owned();
                (AgentErrorKind::Invalid, why, "Probe what calls it.".to_owned())
            }
            Some(libc::EILSEQ | libc::EINVAL) if event.inside.is_some() => {
                (AgentErrorKind::Invalid, why, self.neighbours(event).unwrap_or_default())
            }
            Some(libc::EINVAL | libc::EOPNOTSUPP) if refusal.is_none() && !self.knows(event.kind) => {
                let (what, option) = event.kind.words();
                let why = format!("this kernel has no probes {what}");
                let remedy = format!("Use a kernel with {option}, as distributions have, or record an event instead.");
                (AgentErrorKind::Unsupported, why, remedy)
            }
            Some(libc::EADDRNOTAVAIL) => {
                let remedy = "Name the module, or probe a function that calls it.".to_owned();
                (AgentErrorKind::NotFound, why, remedy)
            }
            _ => (
                AgentErrorKind::Invalid,
                why,
                "The grammar is in tracefs' README and the kernel's kprobetrace.rst.".into(),
            ),
        };
        AgentError { detail, ..failed(kind, doing, why, remedy) }
    }

    /// Whether the kernel has events of this kind, asked when it refused one without a word.
    fn knows(&self, kind: DynamicEventKind) -> bool {
        match kind {
            DynamicEventKind::Kprobe => self.tracefs.has("kprobe_events"),
            DynamicEventKind::Uprobe => self.tracefs.has("uprobe_events"),
            // A kernel that has them tells in its log what it refuses; the README has them in any case.
            DynamicEventKind::Eprobe => false,
            DynamicEventKind::Fprobe => self.tracefs.read("README").is_ok_and(|text| text.contains("f[:[")),
            DynamicEventKind::Tprobe => self.tracefs.read("README").is_ok_and(|text| text.contains("t[:[")),
        }
    }

    /// The nearest places of a function that can be probed. The kernel knows where instructions begin, and answers when it
    /// is asked for probes there.
    fn neighbours(&mut self, event: &Dynamic) -> Option<String> {
        let (function, offset) = event.inside.clone()?;
        let bytes = function_bytes(&function);
        if let Some(bytes) = bytes.filter(|bytes| offset >= *bytes) {
            return Some(format!("The function has {bytes} bytes, and {offset} is behind its end."));
        }
        let mut begins = |offset: u64| {
            let name = format!("near_{offset}");
            let made = event.line_at(&self.group, &name, offset).map(|line| self.define(&name, &line));
            matches!(made, Some(Ok(Ok(()))))
        };
        let before = (offset.saturating_sub(MAX_INSTRUCTION_BYTES)..offset).rev().find(|at| *at == 0 || begins(*at));
        let end = bytes.unwrap_or(u64::MAX).min(offset.saturating_add(MAX_INSTRUCTION_BYTES + 1));
        let after = (offset + 1..end).find(|at| begins(*at));
        // Where the whole function is blocked there is nothing near.
        if after.is_none() && before.is_none_or(|at| at == 0) {
            return None;
        }
        let place = |at: u64| if at == 0 { function.clone() } else { format!("{function}+{at}") };
        let near: Vec<String> = before.into_iter().chain(after).map(place).collect();
        Some(format!("The nearest places where an instruction begins are {}.", near.join(" and ")))
    }

    /// Filters, then enables.
    fn enable_events(&self) -> Result<Vec<TraceFormat>, AgentError> {
        let mut formats = Vec::new();
        for one in &self.wire.events {
            let directory = format!("events/{}/{}", one.event.system(), one.event.name());
            let (group, name) = (one.event.system().to_owned(), one.event.name().to_owned());
            let id = self.id_of(&one.event)?;
            formats.push(TraceFormat { id, group, name, label: one.event.to_string(), dynamic: None });
            if let Some(filter) = &one.filter {
                self.area.set_filter(&one.event.to_string(), &directory, filter)?;
            }
        }
        for one in &self.wire.events {
            self.enable(&one.event)?;
        }
        Ok(formats)
    }

    fn enable(&self, event: &TracepointName) -> Result<(), AgentError> {
        let enabled = self.area.write(&format!("events/{}/{}/enable", event.system(), event.name()), "1");
        enabled.map_err(|error| match error.raw_os_error() {
            Some(libc::EINTR) => busy(format!("enabling {event}"), event),
            _ => refused(format!("enabling {event}"), &error, remedy_of(&error)),
        })
    }

    fn enable_dynamic(&self, index: u16, event: &Dynamic) -> Result<TraceFormat, AgentError> {
        let Dynamic { name, label, given, .. } = event;
        let doing = || format!("enabling the probe `{}`", visible(given.as_bytes()));
        let (group, name) = (self.group.clone(), name.clone());
        let tracepoint = format!("{group}:{name}").parse::<TracepointName>();
        let tracepoint =
            tracepoint.map_err(|error| failed(AgentErrorKind::Internal, doing(), error.to_string(), ""))?;
        let id = self.id_of(&tracepoint)?;
        let enabled = self.area.write(&format!("events/{group}/{name}/enable"), "1");
        enabled.map_err(|error| {
            let why = match error.raw_os_error() {
                // 524: the kernel's own number for what is not supported.
                Some(524 | libc::EOPNOTSUPP | libc::EINVAL) => {
                    "the kernel cannot probe the instruction there".to_owned()
                }
                _ => words(&error),
            };
            failed(AgentErrorKind::Invalid, doing(), why, "Probe another place, where an instruction begins.")
        })?;
        Ok(TraceFormat { id, group, name, label: label.clone(), dynamic: Some(index) })
    }

    fn id_of(&self, tracepoint: &TracepointName) -> Result<u16, AgentError> {
        let doing = || format!("reading the format of {tracepoint}");
        let bytes = self.tracefs.read_format(tracepoint)?;
        let format = parse_event_format(&bytes);
        let format = format.map_err(|error| {
            failed(AgentErrorKind::Unsupported, doing(), error.to_string(), "Report this as a defect.")
        })?;
        u16::try_from(format.id)
            .map_err(|_large| failed(AgentErrorKind::Unsupported, doing(), format!("its number is {}", format.id), ""))
    }

    fn set_tracer(&self) -> Result<(), AgentError> {
        let Some(tracer) = &self.wire.tracer else { return Ok(()) };
        self.area.write("current_tracer", tracer).map_err(|error| {
            let doing = format!("starting the tracer {tracer}");
            match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) if tracer.starts_with("function") => no_function(doing, &error),
                Some(libc::EBUSY) => failed(AgentErrorKind::Limit, doing, "another tracer is in use", "End it first."),
                _ => refused(doing, &error, remedy_of(&error)),
            }
        })
    }

    /// The formats of what tracers write themselves, as far as they can be read; nothing else depends on them.
    fn own_formats(&self) -> Vec<TraceFormat> {
        let format = |name: String| {
            let tracepoint = format!("ftrace:{name}").parse::<TracepointName>().ok()?;
            let id = self.id_of(&tracepoint).ok()?;
            Some(TraceFormat { id, group: "ftrace".to_owned(), label: tracepoint.to_string(), name, dynamic: None })
        };
        let mut formats: Vec<_> = self.tracefs.events_of("ftrace").into_iter().filter_map(format).collect();
        formats.sort_by_key(|format| format.id);
        formats
    }
}

/// KiB of buffer for each of `cpus` CPUs where nobody said, with a tracer or without.
pub(crate) fn usual_kib(traces_functions: bool, cpus: u64) -> u32 {
    if !traces_functions {
        return EVENTS_BUFFER_KIB;
    }
    let affordable = MOST_USUAL_KIB.min(available_kib().unwrap_or(u64::MAX) / 8) / cpus.max(1);
    u32::try_from(affordable).unwrap_or(u32::MAX).clamp(EVENTS_BUFFER_KIB, FUNCTIONS_BUFFER_KIB)
}

/// Whether the kernel's own list of functions that are never probed has this one, where it can be read. A line has two
/// addresses and the name.
fn is_blocked(function: &str) -> bool {
    let text = std::fs::read_to_string("/sys/kernel/debug/kprobes/blacklist").unwrap_or_default();
    text.lines().any(|line| line.split_ascii_whitespace().nth(1) == Some(function))
}

/// KiB of memory that can be had without swapping.
fn available_kib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

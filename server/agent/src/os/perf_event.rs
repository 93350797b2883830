//! What people call an event → the attributes with which the kernel opens it.
//!
//! Texts are parsed by `catalog::perf_events`; here the host is asked for what only it knows: ids of tracepoints, numbers and
//! formats of PMUs.

use std::{fs::File, io, io::Read as _};

use bathyscope_capture::visible;
use bathyscope_catalog::perf_events::{
    EventSource, Modifiers, PerfEvent, TYPE_TRACEPOINT, Term, encode_terms, listed, parse_event,
};
use bathyscope_protocol::{AgentError, AgentErrorKind, PerfEventInfo};
use perf_event_open_sys::bindings as sys;

use super::{
    busy::busy,
    cpus,
    perf::{self, Attributes, Event, Scope},
    proc_counters::{CountedScope, ProcCounters},
    tracefs::Tracefs,
};
use crate::{
    error::{failed, refused},
    needs::Need,
};

/// Where PMUs describe themselves.
const DEVICES: &str = "/sys/bus/event_source/devices";
/// The longest file of a PMU that is read.
const MAX_PMU_FILE_BYTES: u64 = 4096;
/// The most events that PMUs name.
const MAX_PMU_EVENTS: usize = 4096;

/// What helps where something that is read was to be sampled.
const COUNT_IT: &str = "Count it with `bathyscope stat`; to sample by time, choose cpu-clock.";

/// The event that a text names. The console has read it too, but it may be anybody by now.
///
/// # Errors
/// If it is no event.
pub(crate) fn read_event(text: Option<&str>) -> Result<Option<PerfEvent>, AgentError> {
    let Some(text) = text else { return Ok(None) };
    let event = parse_event(text).map_err(|error| {
        let doing = format!("reading the event `{}`", visible(text.as_bytes()));
        failed(AgentErrorKind::Invalid, doing, error.to_string(), "")
    });
    event.map(Some)
}

/// The events that texts name, in their groups.
///
/// # Errors
/// If one is no event.
pub(crate) fn read_events(groups: &[Vec<String>]) -> Result<Vec<Vec<PerfEvent>>, AgentError> {
    let of_group = |group: &Vec<String>| {
        let events = group.iter().map(|text| read_event(Some(text)));
        events.filter_map(Result::transpose).collect()
    };
    groups.iter().map(of_group).collect()
}

/// Attributes of an event that is created disabled and counts.
///
/// # Errors
/// If the host has no such tracepoint or PMU, or the PMU not such a field.
pub(crate) fn attributes(event: &PerfEvent) -> Result<Attributes, AgentError> {
    let mut attributes = match &event.source {
        EventSource::Fixed { type_, config } => perf::attributes(*type_, *config),
        EventSource::Tracepoint(name) => {
            let id = Tracefs::find()?.event_id(name)?;
            perf::attributes(TYPE_TRACEPOINT, id)
        }
        EventSource::Tool(_) => {
            let why = "it is a time, which is read and does not happen";
            return Err(failed(AgentErrorKind::Unsupported, format!("opening {event}"), why, COUNT_IT));
        }
        EventSource::Proc(_) => {
            let why = "it is a number in a file, which is read and does not happen";
            return Err(failed(AgentErrorKind::Unsupported, format!("opening {event}"), why, COUNT_IT));
        }
        EventSource::Breakpoint { address, bytes, access } => breakpoint(*address, *bytes, u32::from(*access)),
        EventSource::Pmu { pmu, terms } => of_pmu(event, pmu, terms)?,
    };
    modify(&mut attributes, event);
    Ok(attributes)
}

/// Attributes of a breakpoint; `access` has the bits 1 read, 2 write, 4 execute.
pub(crate) fn breakpoint(address: u64, bytes: u8, access: u32) -> Attributes {
    let mut attributes = perf::attributes(sys::PERF_TYPE_BREAKPOINT, 0);
    attributes.bp_type = access;
    attributes.__bindgen_anon_3.bp_addr = address;
    // x86 wants the length of a word where code is executed.
    attributes.__bindgen_anon_4.bp_len = if access & 4 != 0 { 8 } else { u64::from(bytes) };
    attributes
}

fn modify(attributes: &mut Attributes, event: &PerfEvent) {
    let Modifiers { user, kernel, hypervisor, guest, host, not_idle, precise, pinned, exclusive } = event.modifiers;
    if user || kernel || hypervisor {
        attributes.set_exclude_user(u64::from(!user));
        attributes.set_exclude_kernel(u64::from(!kernel));
        attributes.set_exclude_hv(u64::from(!hypervisor));
    }
    if guest || host {
        attributes.set_exclude_guest(u64::from(!guest));
        attributes.set_exclude_host(u64::from(!host));
    } else if event.is_hardware() {
        attributes.set_exclude_guest(1);
    }
    attributes.set_exclude_idle(u64::from(not_idle));
    attributes.set_precise_ip(u64::from(precise));
    attributes.set_pinned(u64::from(pinned));
    attributes.set_exclusive(u64::from(exclusive));
}

/// A file of a PMU; its name and the file's were checked to be plain names.
fn pmu_file(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_PMU_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn of_pmu(event: &PerfEvent, pmu: &str, terms: &[Term]) -> Result<Attributes, AgentError> {
    let doing = format!("looking for the event {}", event.name());
    let number = pmu_file(&format!("{DEVICES}/{pmu}/type")).and_then(|text| text.trim().parse().ok());
    let number: u32 = number.ok_or_else(|| {
        let remedy = format!("The folder {DEVICES} lists those that there are. {}", instead_of(event));
        failed(AgentErrorKind::Unsupported, &doing, format!("this host has no PMU `{pmu}`"), remedy.trim_end())
    })?;
    let format = |name: &str| pmu_file(&format!("{DEVICES}/{pmu}/format/{name}"));
    let named = |name: &str| pmu_file(&format!("{DEVICES}/{pmu}/events/{name}"));
    let words = encode_terms(terms, &format, &named)
        .map_err(|error| failed(AgentErrorKind::Invalid, doing, error.to_string(), ""))?
        .words;
    let [config, config1, config2, config3] = words;
    let mut attributes = perf::attributes(number, config);
    attributes.__bindgen_anon_3.config1 = config1;
    attributes.__bindgen_anon_4.config2 = config2;
    attributes.config3 = config3;
    Ok(attributes)
}

/// Tries every event with a name of its own, and those that PMUs name.
pub(crate) fn try_all() -> Vec<PerfEventInfo> {
    let listed = listed().map(|listed| (listed.name, listed.alias, listed.kind, listed.meaning));
    let of_pmus = pmu_events().into_iter().map(|name| (name, None, "pmu", String::new()));
    let info = |(name, alias, kind, meaning): (String, Option<String>, &str, String)| {
        let why = try_event(&name).err().map_or_else(String::new, |error| error.why);
        PerfEventInfo { works: why.is_empty(), kind: kind.to_owned(), name, alias, meaning, why }
    };
    listed.chain(of_pmus).map(info).collect()
}

/// Opens an event in this thread, or on a CPU where it is of CPUs only.
fn try_event(name: &str) -> Result<(), AgentError> {
    let doing = format!("trying {name}");
    let event = parse_event(name).map_err(|error| failed(AgentErrorKind::Invalid, &doing, error.to_string(), ""))?;
    match event.source {
        // It is read from files that there always are.
        EventSource::Tool(_) => return Ok(()),
        EventSource::Proc(counter) => {
            CountedScope::Machine.check(counter)?;
            return ProcCounters::of(None).add(counter).map(drop);
        }
        _ => {}
    }
    let mut attributes = attributes(&event)?;
    let first = cpus::online().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0);
    match Event::open(&mut attributes, Scope::ThisThread) {
        Ok(_closed) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Event::open(&mut attributes, Scope::Cpu(first))
            .map(drop)
            .map_err(|error| cannot_open(&event, doing, &error)),
        Err(error) => Err(cannot_open(&event, doing, &error)),
    }
}

/// The events that PMUs name, sorted: `PMU/NAME/`.
fn pmu_events() -> Vec<String> {
    let names = |path: &str| {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for pmu in names(DEVICES) {
        // Beside an event its scale and unit have files of their own, with a point in the name.
        let events = names(&format!("{DEVICES}/{pmu}/events")).into_iter().filter(|name| !name.contains('.'));
        all.extend(events.map(|event| format!("{pmu}/{event}/")));
    }
    all.sort();
    all.truncate(MAX_PMU_EVENTS);
    all
}

/// Events whose samples tell of memory, as far as PMUs name them; AMD's samples of operations have no name.
pub(crate) fn memory_events() -> Vec<String> {
    let is_memory = |name: &String| ["/mem-loads", "/mem-stores", "/ldlat-"].iter().any(|part| name.contains(part));
    let mut found: Vec<String> = pmu_events().into_iter().filter(is_memory).collect();
    found.extend(pmu_file(&format!("{DEVICES}/ibs_op/type")).map(|_number| "ibs_op//".to_owned()));
    found
}

/// What to use where there is no counter for an event.
fn instead_of(event: &PerfEvent) -> String {
    event.nearest_software().map_or_else(String::new, |nearest| format!("The nearest event that works is {nearest}."))
}

/// Why `event` cannot be opened.
pub(crate) fn cannot_open(event: &PerfEvent, doing: String, error: &io::Error) -> AgentError {
    if let (EventSource::Tracepoint(name), Some(libc::EINTR)) = (&event.source, error.raw_os_error()) {
        return busy(doing, name);
    }
    let refusal = no_event(doing, error);
    match (refusal.kind, event.nearest_software()) {
        (AgentErrorKind::Unsupported, Some(_)) => {
            let remedy = format!("{} Virtual machines often have no counters.", instead_of(event));
            AgentError { remedy, ..refusal }
        }
        _ => refusal,
    }
}

/// Why an event cannot be opened, in words.
pub(crate) fn no_event(doing: String, error: &io::Error) -> AgentError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => failed(
            AgentErrorKind::Unsupported,
            doing,
            "this machine has no counter for it",
            "Virtual machines often have none: use a software event, or the host.",
        ),
        Some(libc::EINVAL) => {
            let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
            let remedy = format!("At most {} Hz are allowed (sysctl kernel.perf_event_max_sample_rate).", most.trim());
            refused(doing, error, remedy)
        }
        Some(libc::ENOSPC) => {
            let why = "all of the CPU's counters or breakpoints are in use";
            failed(AgentErrorKind::Limit, doing, why, "Watch fewer addresses, or end another tracer.")
        }
        _ => refused(doing, error, Need::Events),
    }
}

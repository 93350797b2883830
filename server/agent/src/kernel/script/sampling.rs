//! Events that come by themselves: timers, counters that overflow, accesses of memory.

use bathyscope_plan::{AttachPoint, Period};
use bathyscope_protocol::{AgentError, AgentErrorKind};
use perf_event_open_sys::bindings as sys;

use crate::{
    error::{failed, refused},
    os::{
        cpus,
        perf::{self, Attributes, Event, Scope},
        perf_event::{breakpoint, no_event},
    },
};

/// The shortest time between two hits of a timer on a CPU; the kernel's own limit.
const MIN_PERIOD_NS: u64 = 10_000;
/// The most threads of a process whose memory is watched.
const MAX_THREADS: usize = 4096;
const READ: u32 = 1;
const WRITE: u32 = 2;
const EXECUTE: u32 = 4;

/// Some CPU: an event that is not of a CPU has to be opened on one.
pub(super) fn first_cpu() -> u32 {
    cpus::online().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0)
}

/// Opens the events of an attach point, disabled.
pub(super) fn open(point: &AttachPoint, doing: String) -> Result<Vec<Event>, AgentError> {
    match point {
        AttachPoint::Profile { every } => on_all_cpus(&mut timer(*every, &doing)?, &doing),
        AttachPoint::Interval { every } => {
            let event = Event::open(&mut timer(*every, &doing)?, Scope::Cpu(first_cpu()));
            Ok(vec![event.map_err(|error| no_event(doing, &error))?])
        }
        AttachPoint::PerfEvent { kind, config, period, .. } => {
            let mut attributes = perf::attributes(*kind, *config);
            attributes.__bindgen_anon_1.sample_period = (*period).max(1);
            if *kind == sys::PERF_TYPE_HARDWARE || *kind == sys::PERF_TYPE_HW_CACHE {
                attributes.set_exclude_guest(1);
            }
            let clock = matches!(*config as u32, sys::PERF_COUNT_SW_CPU_CLOCK | sys::PERF_COUNT_SW_TASK_CLOCK);
            if *kind == sys::PERF_TYPE_SOFTWARE && clock && *period < MIN_PERIOD_NS {
                return Err(too_often(doing));
            }
            on_all_cpus(&mut attributes, &doing)
        }
        AttachPoint::Watchpoint { .. } => watch(point, &doing),
        _ => Err(failed(AgentErrorKind::Internal, doing, "its program is of another kind", "Report this as a defect.")),
    }
}

fn too_often(doing: String) -> AgentError {
    let why = format!("a timer fires at most every {} µs", MIN_PERIOD_NS / 1000);
    failed(AgentErrorKind::Limit, doing, why, "Let it be rarer.")
}

fn timer(every: Period, doing: &str) -> Result<Attributes, AgentError> {
    let mut attributes = perf::attributes(sys::PERF_TYPE_SOFTWARE, u64::from(sys::PERF_COUNT_SW_CPU_CLOCK));
    match every {
        Period::Hertz(hertz) if (1..=1_000_000_000 / MIN_PERIOD_NS).contains(&hertz) => {
            attributes.set_freq(1);
            attributes.__bindgen_anon_1.sample_freq = hertz;
        }
        Period::Nanoseconds(ns) if ns >= MIN_PERIOD_NS => attributes.__bindgen_anon_1.sample_period = ns,
        _ => return Err(too_often(doing.to_owned())),
    }
    Ok(attributes)
}

fn on_all_cpus(attributes: &mut Attributes, doing: &str) -> Result<Vec<Event>, AgentError> {
    let online = cpus::online().map_err(|error| refused("listing the CPUs", &error, ""))?;
    let mut events = Vec::with_capacity(online.len());
    for cpu in online {
        match Event::open(attributes, Scope::Cpu(cpu)) {
            Ok(event) => events.push(event),
            // It went offline in between.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(no_event(doing.to_owned(), &error)),
        }
    }
    Ok(events)
}

fn watch(point: &AttachPoint, doing: &str) -> Result<Vec<Event>, AgentError> {
    let AttachPoint::Watchpoint { address, bytes, read, write, execute, pid } = *point else {
        return Ok(Vec::new());
    };
    let access = [(read, READ), (write, WRITE), (execute, EXECUTE)];
    let access = access.into_iter().filter_map(|(wanted, bit)| wanted.then_some(bit)).sum();
    let mut attributes = breakpoint(address, bytes, access);
    attributes.__bindgen_anon_1.sample_period = 1;
    let Some(pid) = pid else { return on_all_cpus(&mut attributes, doing) };
    // A breakpoint is of a thread; those that come later inherit it.
    attributes.set_inherit(1);
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .map_err(|error| refused(doing, &error, "Choose a process that runs."))?;
    let threads = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut events = Vec::new();
    for thread in threads.take(MAX_THREADS) {
        match Event::open(&mut attributes, Scope::Thread(thread)) {
            Ok(event) => events.push(event),
            // It ended in between.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(no_event(doing.to_owned(), &error)),
        }
    }
    Ok(events)
}

//! Opening the counters: each event on each CPU, or in each thread of the target, and files that numbers are read from.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
};

use bathyscope_capture::{CountPer, CountSpec, TracepointName};
use bathyscope_catalog::perf_events::{EventSource, PerfEvent, ProcCounter};
use bathyscope_protocol::{AgentError, AgentErrorKind};
use perf_event_open_sys::bindings as sys;

use super::{CountedBy, Counter, ProcSlot, Slot};
use crate::{
    count_row::CountRow,
    error::{failed, refused},
    kernel::target::{ResolvedTarget, threads},
    os::{
        cgroups::open_cgroup,
        cpus,
        perf::{Attributes, Event, Scope},
        perf_event,
        proc_counters::{CountedScope, ProcCounters},
    },
};

/// The most counters of the kernel in one capture; each is a descriptor.
const MAX_COUNTERS: usize = 16 << 10;
/// The most threads of a process that are counted.
const MAX_THREADS: usize = 4096;
const READ_FORMAT: u64 = (sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING) as u64;

/// What was opened.
pub(super) struct Opened {
    pub(super) counters: Vec<Counter>,
    /// What some of them are read from.
    pub(super) files: ProcCounters,
    /// The kernel enables them itself when the command is executed.
    pub(super) on_exec: bool,
    /// Everything is counted, not processes.
    pub(super) everywhere: bool,
}

/// A place where events are counted, and which of the rows it belongs to.
struct CounterScope {
    scope: Scope,
    row: usize,
}

/// The places of a capture, and what its rows tell of them.
struct Places {
    places: Vec<CounterScope>,
    /// Without event and numbers.
    rows: Vec<CountRow>,
    /// Open while events of it are made; then files of it are read.
    cgroup: Option<OwnedFd>,
}

/// Opens the events of `groups`, disabled.
///
/// # Errors
/// If none of them can be counted, or one does not exist.
pub(super) fn open(
    wish: &CountSpec,
    groups: &[Vec<PerfEvent>],
    names: &[(String, TracepointName)],
    target: &ResolvedTarget,
) -> Result<Opened, AgentError> {
    let everywhere = wish.everywhere || target.pids().is_empty();
    let places = places(wish, target, everywhere)?;
    let scope = match places.cgroup {
        Some(_) => CountedScope::Group,
        None if everywhere => CountedScope::Machine,
        None => CountedScope::Processes,
    };
    let folder = places.cgroup.as_ref().map(OwnedFd::try_clone).transpose();
    let folder = folder.map_err(|error| refused("opening the control group", &error, ""))?;
    // What is only read takes no counter.
    let events = groups.iter().flatten().filter(|event| event.can_be_sampled()).count();
    let wanted = places.places.len().saturating_mul(events);
    if wanted > MAX_COUNTERS {
        let why = format!("{events} events at {} places take {wanted} counters", places.places.len());
        let remedy = format!("At most {MAX_COUNTERS} are opened: count fewer events, CPUs or threads.");
        return Err(failed(AgentErrorKind::Limit, "opening counters", why, remedy));
    }
    // What is to begin later does not begin with the command.
    let on_exec = !everywhere && target.is_command() && wish.delay_ms.unwrap_or(0) == 0;
    let mut opener = CounterOpener {
        places: &places,
        on_exec,
        inherit: Inherit::of(target, everywhere),
        counters: Vec::new(),
        files: ProcCounters::of(folder),
        scope,
        names,
    };
    let mut first_error = None;
    for (index, group) in groups.iter().enumerate() {
        opener.group(u32::try_from(index).unwrap_or(u32::MAX), group, &mut first_error)?;
    }
    let CounterOpener { counters, files, .. } = opener;
    let counts_something = counters.iter().any(Counter::is_counted);
    match first_error.filter(|_| !counts_something) {
        Some(error) => Err(error),
        None => Ok(Opened { counters, files, on_exec, everywhere }),
    }
}

/// Who begins to be counted when a counted thread makes it.
#[derive(Clone, Copy)]
enum Inherit {
    Nobody,
    Threads,
    All,
}

impl Inherit {
    fn of(target: &ResolvedTarget, everywhere: bool) -> Self {
        match (everywhere, target.follows_children()) {
            (true, _) => Self::Nobody,
            // A chosen thread's own threads are not it.
            (false, false) if !target.threads().is_empty() => Self::Nobody,
            (false, false) => Self::Threads,
            (false, true) => Self::All,
        }
    }
}

struct CounterOpener<'a> {
    places: &'a Places,
    on_exec: bool,
    inherit: Inherit,
    counters: Vec<Counter>,
    files: ProcCounters,
    /// Whose numbers files are to tell.
    scope: CountedScope,
    /// What events that were made for this are called, and what they are.
    names: &'a [(String, TracepointName)],
}

impl CounterOpener<'_> {
    /// Opens the events of a group everywhere. The first error is kept; one that cannot be counted here has a row that
    /// says so, and one that does not exist ends it.
    fn group(
        &mut self,
        index: u32,
        group: &[PerfEvent],
        first_error: &mut Option<AgentError>,
    ) -> Result<(), AgentError> {
        // The first event of the group at each place.
        let mut leaders: Vec<Option<(usize, usize)>> = self.places.places.iter().map(|_| None).collect();
        for event in group {
            let first = self.counters.len();
            // What is read has one row, whatever the others are of: nobody counts it by CPU or thread.
            let row = |row: &CountRow| CountRow {
                event: event.to_string(),
                group: index,
                unit: event.unit().text(),
                ..row.clone()
            };
            let opened = match event.source {
                EventSource::Tool(tool) => {
                    self.counters.push(Counter { row: row(&all()), counted: CountedBy::Time { tool, told_ns: 0 } });
                    Ok(())
                }
                EventSource::Proc(counter) => self.number(counter, row(&all())),
                _ => {
                    let empty = |of: &CountRow| Counter { row: row(of), counted: CountedBy::Events(Vec::new()) };
                    self.counters.extend(self.places.rows.iter().map(empty));
                    self.event(event, first, group.len() > 1, &mut leaders)
                }
            };
            let Err(error) = opened else { continue };
            if !matches!(error.kind, AgentErrorKind::Unsupported | AgentErrorKind::Limit) {
                return Err(error);
            }
            self.counters.truncate(first);
            let row = CountRow { state: format!("not supported: {}", error.why), ..row(&all()) };
            self.counters.push(Counter { row, counted: CountedBy::Nothing { told: false } });
            first_error.get_or_insert(error);
        }
        Ok(())
    }

    /// A number that is read from a file.
    fn number(&mut self, counter: ProcCounter, row: CountRow) -> Result<(), AgentError> {
        self.scope.check(counter)?;
        let place = self.files.add(counter)?;
        let row = CountRow { is_gauge: counter.is_gauge(), ..row };
        let slot = ProcSlot { place, told: self.files.value(place).unwrap_or(0), told_ns: 0 };
        self.counters.push(Counter { row, counted: CountedBy::Proc(slot) });
        Ok(())
    }

    /// The same event, under the name that it was made with if it was made for this.
    fn really(&self, event: &PerfEvent) -> PerfEvent {
        let EventSource::Tracepoint(name) = &event.source else { return event.clone() };
        let made = self.names.iter().find(|(label, _)| *label == name.to_string());
        let source = made.map_or_else(|| event.source.clone(), |(_, name)| EventSource::Tracepoint(name.clone()));
        PerfEvent { source, modifiers: event.modifiers }
    }

    fn event(
        &mut self,
        event: &PerfEvent,
        first: usize,
        in_group: bool,
        leaders: &mut [Option<(usize, usize)>],
    ) -> Result<(), AgentError> {
        let mut attributes = perf_event::attributes(&self.really(event))?;
        for (place, leader) in self.places.places.iter().zip(leaders) {
            let led = leader.and_then(|(counter, slot)| Some(&self.counters.get(counter)?.slots().get(slot)?.event));
            self.prepare(&mut attributes, led.is_none());
            let made = match Event::open_in(&mut attributes, place.scope, led) {
                Ok(made) => made,
                // The thread ended, or the CPU went offline, in between.
                Err(error) if is_gone(&error, place.scope) => continue,
                Err(error) => return Err(cannot_count(event, &error)),
            };
            let counter = first + place.row;
            let Some(CountedBy::Events(slots)) = self.counters.get_mut(counter).map(|of| &mut of.counted) else {
                continue;
            };
            if in_group && leader.is_none() {
                *leader = Some((counter, slots.len()));
            }
            slots.push(Slot { event: made, told: [0; 3] });
        }
        Ok(())
    }

    fn prepare(&self, attributes: &mut Attributes, leads: bool) {
        attributes.read_format = READ_FORMAT;
        // What is led by another counts when that does.
        attributes.set_disabled(u64::from(leads));
        attributes.set_enable_on_exec(u64::from(leads && self.on_exec));
        attributes.set_inherit(u64::from(!matches!(self.inherit, Inherit::Nobody)));
        attributes.set_inherit_thread(u64::from(matches!(self.inherit, Inherit::Threads)));
    }
}

fn is_gone(error: &io::Error, scope: Scope) -> bool {
    match error.raw_os_error() {
        Some(libc::ESRCH) => true,
        Some(libc::ENODEV) => match scope {
            Scope::Cpu(cpu) | Scope::Cgroup(_, cpu) | Scope::ThreadOnCpu(_, cpu) => {
                cpus::online().is_ok_and(|online| !online.contains(&cpu))
            }
            Scope::ThisThread | Scope::Thread(_) => false,
        },
        _ => false,
    }
}

fn cannot_count(event: &PerfEvent, error: &io::Error) -> AgentError {
    let doing = format!("counting {event}");
    match error.raw_os_error() {
        Some(libc::EINVAL) => {
            let why = "the kernel does not count it with these modifiers, or not in this group";
            failed(AgentErrorKind::Unsupported, doing, why, "Leave the modifiers or the braces out.")
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            let remedy = "Count fewer events, CPUs or threads, or raise the limit of open files.";
            failed(AgentErrorKind::Denied, doing, "no more files can be opened", remedy)
        }
        _ => perf_event::cannot_open(event, doing, error),
    }
}

fn places(wish: &CountSpec, target: &ResolvedTarget, everywhere: bool) -> Result<Places, AgentError> {
    let chosen = cpus::chosen(&wish.cpus)?;
    if everywhere { on_cpus(wish, &chosen) } else { of_threads(wish, target, &chosen) }
}

fn on_cpus(wish: &CountSpec, cpus: &[u32]) -> Result<Places, AgentError> {
    let cgroup = match &wish.cgroup {
        None => None,
        Some(path) => Some(open_cgroup(path).ok_or_else(|| {
            let doing = format!("looking for the control group `{}`", bathyscope_capture::visible(path.as_bytes()));
            let remedy = "Give its path below /sys/fs/cgroup (version 2), as /proc/PID/cgroup has it.";
            failed(AgentErrorKind::NotFound, doing, "there is no such group", remedy)
        })?),
    };
    let place = |(index, cpu): (usize, &u32)| CounterScope {
        scope: cgroup.as_ref().map_or(Scope::Cpu(*cpu), |folder| Scope::Cgroup(folder.as_raw_fd(), *cpu)),
        row: if wish.per == CountPer::Cpu { index } else { 0 },
    };
    let places = cpus.iter().enumerate().map(place).collect();
    let rows = if wish.per == CountPer::Cpu { cpus.iter().map(|cpu| cpu_row(*cpu)).collect() } else { vec![all()] };
    Ok(Places { places, rows, cgroup })
}

fn all() -> CountRow {
    CountRow { scope: "all".to_owned(), ..CountRow::default() }
}

fn cpu_row(cpu: u32) -> CountRow {
    CountRow { cpu, scope: format!("CPU{cpu}"), ..CountRow::default() }
}

/// The threads that a process has now; a command has one until it is executed.
fn threads_of(pid: u32, is_command: bool) -> Result<Vec<u32>, AgentError> {
    if is_command {
        return Ok(vec![pid]);
    }
    let doing = format!("listing the threads of process {pid}");
    let mut threads =
        threads(pid, MAX_THREADS + 1).map_err(|error| refused(&doing, &error, "Choose a process that runs."))?;
    threads.sort_unstable();
    if threads.len() > MAX_THREADS {
        let why = format!("it has more than {MAX_THREADS} threads");
        return Err(failed(AgentErrorKind::Limit, doing, why, "Count the whole system, or its control group."));
    }
    Ok(threads)
}

fn comm_of(pid: u32, tid: u32) -> String {
    let name = std::fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// The threads of a target, each with its process, when it begins.
pub(in crate::kernel) fn threads_of_target(target: &ResolvedTarget) -> Result<Vec<(u32, u32)>, AgentError> {
    let chosen = target.threads();
    if !chosen.is_empty() {
        return Ok(chosen.iter().map(|held| (held.pid, held.tid)).collect());
    }
    let mut threads = Vec::new();
    for pid in target.pids() {
        threads.extend(threads_of(pid, target.is_command())?.into_iter().map(|tid| (pid, tid)));
    }
    Ok(threads)
}

fn of_threads(wish: &CountSpec, target: &ResolvedTarget, cpus: &[u32]) -> Result<Places, AgentError> {
    let (threads, pids) = (threads_of_target(target)?, target.pids());
    let by_cpu = wish.per == CountPer::Cpu || !wish.cpus.is_empty();
    let mut places = Vec::new();
    for (thread, (_, tid)) in threads.iter().enumerate() {
        let row = |cpu| match wish.per {
            CountPer::Total => 0,
            CountPer::Cpu => cpu,
            CountPer::Thread => thread,
        };
        if by_cpu {
            let on =
                |(index, cpu): (usize, &u32)| CounterScope { scope: Scope::ThreadOnCpu(*tid, *cpu), row: row(index) };
            places.extend(cpus.iter().enumerate().map(on));
        } else {
            places.push(CounterScope { scope: Scope::Thread(*tid), row: row(0) });
        }
    }
    // A row of several processes is nobody's in particular.
    let of_process = |row: CountRow| match pids.as_slice() {
        [pid] => CountRow { pid: *pid, tid: *pid, comm: comm_of(*pid, *pid), ..row },
        _ => row,
    };
    let rows = match wish.per {
        CountPer::Total => vec![of_process(all())],
        CountPer::Cpu => cpus.iter().map(|cpu| of_process(cpu_row(*cpu))).collect(),
        CountPer::Thread => threads
            .iter()
            .map(|(pid, tid)| {
                let comm = comm_of(*pid, *tid);
                CountRow { pid: *pid, tid: *tid, scope: format!("{comm}-{tid}"), comm, ..CountRow::default() }
            })
            .collect(),
    };
    Ok(Places { places, rows, cgroup: None })
}

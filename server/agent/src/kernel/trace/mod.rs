//! A trace by the kernel's own tracer, ftrace.
//!
//! Each capture has a tracing instance of its own, with its own buffers, events, filters, functions and tracer, so that
//! other tools go on as before; what only the machine's own instance can do is done there if it is idle ([`machine`]).
//! Before anything is made in tracefs it is written to a journal ([`journal`]), so that what a killed agent leaves can be
//! told from what is others' and removed ([`leftovers`]).
//!
//! The pages are read by the console, from descriptors of `trace_pipe_raw` that are opened here: nothing that was recorded
//! is looked at with privileges. Recorded are threads by their ids; whose they are tell the perf events of the side band.

mod area;
mod counters;
mod dynamic;
mod journal;
mod leftovers;
mod listing;
mod machine;
mod others;
mod refusals;
mod setup;
mod undo;

use std::{
    cell::Cell,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use bathyscope_capture::TraceSpec;
use bathyscope_protocol::{
    AgentError, ProbeReading, RingContent, RingInfo, RingKind, ScriptEnabled, SourceReadings, StartedSource,
    StreamLayout, TraceFacts,
};
use rustix::time::{ClockId, clock_gettime};

pub(crate) use leftovers::remove_leftovers;
pub use leftovers::{Leftover, cleanup};
pub(crate) use listing::{dynamic_events, optimize_kprobes, probe_events};
pub(crate) use others::detach_others;
pub(crate) use setup::{MadeEvents, make_events, try_event, usual_kib};

use super::{
    KernelBackend, estimates,
    stats::{CostMeter, Estimate, Guarded, SpentTime, Written},
    target::ResolvedTarget,
};
use crate::{
    clock::elapsed_ns,
    compile::ScriptRights,
    engine::{Engine, EngineError, ProcessReports},
    error::refused,
    guard::SharedBudget,
    os::sideband::Sideband,
};
use area::Area;
use counters::{Hits, Stats};
use dynamic::DynamicEventKind;
use setup::Set;

/// How long it is waited for traces that are being removed, before another one is made.
const SETTLE_TIME: Duration = Duration::from_secs(5);
/// The same at the end of a process that serves one verb: taking a tracer of functions out of a kernel waits for every CPU
/// several times, which a slow or busy machine takes more than a few seconds for.
const LAST_SETTLE_TIME: Duration = Duration::from_secs(30);

/// Waits a while for traces that are being removed; for the end of a process.
pub(crate) fn settle() {
    if !undo::settle(LAST_SETTLE_TIME) {
        tracing::warn!("traces are not out of the kernel yet; the next agent will remove what is left of them");
    }
}

/// A trace.
#[derive(Debug)]
pub(crate) struct TraceEngine {
    started: StartedSource,
    pages: Vec<OwnedFd>,
    sideband: Sideband,
    set: Set,
    /// What each dynamic event counted when it was last known.
    hits: Vec<Hits>,
    stats: Stats,
    /// What an event of it takes, about.
    ns_per_event: f64,
    budget: SharedBudget,
    cost: Option<CostMeter>,
    /// Set when it records no more.
    stopped: bool,
}

/// The trace's clock minus the monotonic one, nanoseconds.
fn clock_ahead_ns(clock: &str) -> i64 {
    let id = match clock {
        "boot" => ClockId::Boottime,
        "mono_raw" => ClockId::MonotonicRaw,
        _ => return 0,
    };
    let nanoseconds = |id| {
        let now = clock_gettime(id);
        now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
    };
    nanoseconds(id).saturating_sub(nanoseconds(ClockId::Monotonic))
}

/// Sets the instance of a trace up; records nothing.
///
/// # Errors
/// If anything of it cannot be made; then all of it is undone.
pub(crate) fn start(
    kernel: &KernelBackend,
    wire: &TraceSpec,
    target: &ResolvedTarget,
    reports: ProcessReports,
) -> Result<TraceEngine, AgentError> {
    TraceEngine::make(wire, target, kernel.scripts, reports)
}

impl TraceEngine {
    /// Sets everything up; records nothing.
    fn make(
        wire: &TraceSpec,
        target: &ResolvedTarget,
        rights: ScriptRights,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let clock = Instant::now();
        let events = dynamic::prepare(&wire.dynamic, rights)?;
        let compile_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let set = setup::set_up(wire, events, target)?;
        let load_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let open = |cpu: &u32| {
            set.area.open_pages(*cpu).map_err(|error| refused(format!("opening the pages of CPU {cpu}"), &error, ""))
        };
        let pages = set.cpus.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let sideband = Sideband::open(reports)?;
        let page_bytes = page_bytes(&set);
        let ring = |cpu: &u32| RingInfo {
            kind: RingKind::TracePipe { page_bytes },
            content: RingContent::TracePages,
            data_bytes: set.buffer_bytes,
            cpu: Some(*cpu),
        };
        let clock_name = wire.clock.as_deref().unwrap_or("mono");
        let facts = TraceFacts {
            clock: clock_name.to_owned(),
            clock_ahead_ns: clock_ahead_ns(clock_name),
            instance: set.area.name().to_owned(),
            events: set.formats.clone(),
        };
        let started = StartedSource {
            streams: vec![StreamLayout::TracePages],
            rings: set.cpus.iter().map(ring).chain(sideband.infos().iter().cloned()).collect(),
            compile_ns,
            load_ns,
            attach_ns: elapsed_ns(clock),
            trace: Some(Box::new(facts)),
            ..StartedSource::default()
        };
        let hits = vec![(0, 0); set.dynamic.len()];
        Ok(Self {
            started,
            pages,
            sideband,
            set,
            hits,
            stats: Stats::default(),
            ns_per_event: estimates::of_trace(wire),
            budget: SharedBudget::default(),
            cost: None,
            stopped: false,
        })
    }

    /// Watches over what it costs, by what the buffers have taken and refused. Half of the calls of a graph would be worth
    /// less than none, so it is detached or not.
    fn guard(&mut self) {
        let (area, cpus, ns_per_hit) = (self.set.area.clone(), self.set.cpus.clone(), self.ns_per_event);
        let spent = move || {
            let events = read_stats(&area, &cpus).map_or(0, |stats| stats.written.saturating_add(stats.dropped));
            SpentTime::asked((events as f64 * ns_per_hit) as u64)
        };
        let (area, events) = (self.set.area.clone(), self.set.own_events());
        let guarded = Guarded::whole(self.budget.clone(), move || quieten(&area, &events));
        let (area, cpus) = (self.set.area.clone(), self.set.cpus.clone());
        let so_far = Cell::new(Written::default());
        let guarded = guarded.writing(move || {
            if let Some(Stats { written, dropped, each_bytes, .. }) = read_stats(&area, &cpus) {
                let (last, rows) = (so_far.get(), written.saturating_add(dropped));
                let bytes = last.bytes + rows.saturating_sub(last.rows).saturating_mul(each_bytes);
                so_far.set(Written { rows, bytes, ..last });
            }
            so_far.get()
        });
        self.cost = Some(CostMeter::estimate(Estimate { spent: Box::new(spent), ns_per_hit }, guarded));
    }

    /// Takes the counters; those that cannot be read stay as they were.
    fn count(&mut self) {
        self.stats = read_stats(&self.set.area, &self.set.cpus).unwrap_or(self.stats);
        for (kind, events, profile) in [
            (DynamicEventKind::Kprobe, "kprobe_events", "kprobe_profile"),
            (DynamicEventKind::Uprobe, "uprobe_events", "uprobe_profile"),
        ] {
            if !self.set.dynamic.iter().any(|event| event.kind == kind) {
                continue;
            }
            let read = |file: &str| self.set.area.tracefs().read(file).unwrap_or_default();
            let counted = counters::hits(&read(events), &read(profile), &self.set.group);
            for (event, hits) in self.set.dynamic.iter().zip(&mut self.hits) {
                if let Some((_name, now)) = counted.iter().find(|(name, _)| event.kind == kind && *name == event.name) {
                    *hits = *now;
                }
            }
        }
    }
}

/// What the buffers of all CPUs took and lost; none if one cannot be read.
fn read_stats(area: &Area, cpus: &[u32]) -> Option<Stats> {
    let of_cpu = |cpu: &u32| area.read(&format!("per_cpu/cpu{cpu}/stats")).ok();
    let all: Option<Vec<String>> = cpus.iter().map(of_cpu).collect();
    Some(all?.iter().map(|text| Stats::parse(text)).fold(Stats::default(), Stats::plus))
}

/// Stops writing and unhooks what was traced: events are disabled, and since the tracer itself stays while the console holds
/// pages open, its functions are taken from it instead (which 6.12 ignores for function_graph in an instance: there they
/// stay hooked until the console closes its pages). In the machine's instance, of which the capture has all settings that
/// are put back with it, only its own events are disabled.
fn quieten(area: &Area, own_events: &[String]) {
    let mut steps = vec![("tracing_on".to_owned(), "0")];
    if area.is_machine() {
        steps.extend(own_events.iter().map(|event| (format!("events/{event}/enable"), "0")));
    } else {
        steps.push(("events/enable".to_owned(), "0"));
    }
    if area.read("current_tracer").is_ok_and(|tracer| tracer.starts_with("function")) {
        steps.push(("set_ftrace_notrace".to_owned(), "*"));
    }
    for (file, text) in steps {
        if let Err(error) = area.write(&file, text) {
            tracing::warn!(file, %error, "a trace over its budget could not be thinned");
        }
    }
}

/// What one read of a buffer takes.
fn page_bytes(set: &Set) -> u32 {
    let kib = set.area.read("buffer_subbuf_size_kb").ok().and_then(|text| text.trim().parse::<u32>().ok());
    let page = u32::try_from(rustix::param::page_size()).unwrap_or(4096);
    kib.and_then(|kib| kib.checked_mul(1024)).filter(|bytes| *bytes >= page).unwrap_or(page)
}

impl Engine for TraceEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        if let Some(pages) = self.pages.get(index) {
            return Some(pages.as_fd());
        }
        self.sideband.descriptor(index - self.pages.len())
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    /// First what reports processes, then the trace.
    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        self.sideband.enable()?;
        self.set.area.set("tracing_on", "1")?;
        self.guard();
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        if !self.stopped {
            self.count();
        }
        let Stats { written, overrun, dropped, .. } = self.stats;
        let total = ProbeReading {
            hits: written.saturating_add(dropped),
            ring_full: overrun.saturating_add(dropped),
            ns_per_hit: Some(self.ns_per_event),
            ..ProbeReading::default()
        };
        let one = |(hits, missed): &Hits| ProbeReading { hits: *hits, missed: *missed, ..ProbeReading::default() };
        let probes = std::iter::once(total).chain(self.hits.iter().map(one)).collect();
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        SourceReadings { probes, guard, ..SourceReadings::default() }
    }

    /// The events stay, since their records name them; nothing hits them any more.
    fn detach_events(&mut self, events: &[u16]) -> Result<u32, AgentError> {
        self.count();
        let mut count = 0;
        for index in events {
            let Some(event) = self.set.dynamic.get(usize::from(*index)) else { continue };
            let file = format!("events/{}/{}/enable", self.set.group, event.name);
            // The kernel shows `1*` where it is on in a special way.
            if self.set.area.read(&file).is_ok_and(|text| text.trim() != "0") {
                self.set.area.set(&file, "0")?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn detach(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        quieten(&self.set.area, &self.set.own_events());
    }

    /// Nothing is written from now on, and the pages can be read to their end; the rest is removed with the capture.
    fn stop(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        if let Err(error) = self.set.area.write("tracing_on", "0") {
            tracing::warn!(%error, "a trace could not be stopped");
        }
        self.sideband.disable();
        self.count();
        self.stopped = true;
    }
}

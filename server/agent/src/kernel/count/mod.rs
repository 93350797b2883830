//! A capture of counts: events and files of the kernel are opened where they are to be counted, and a thread reads them at
//! each interval and writes rows into a ring.
//!
//! The thread also waits for the target's end, so that the last interval ends with it and not when somebody asks next.

mod open;
mod reader;
mod times;

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread::JoinHandle,
    time::Instant,
};

use bathyscope_capture::CountSpec;
use bathyscope_catalog::perf_events::ToolEvent;
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeReading, RingContent, RingInfo, RingKind, ScriptEnabled, SourceReadings,
    StartedSource, rings::SimulatedBpfRing,
};
use rustix::event::EventfdFlags;

use super::{
    KernelBackend, estimates,
    stats::{CostMeter, Estimate, Guarded, SpentTime},
    target::ResolvedTarget,
    trace::{MadeEvents, make_events},
};
use crate::{
    clock::{elapsed_ns, monotonic_ns},
    compile::ScriptRights,
    count_row,
    engine::{Engine, EngineError},
    error::{failed, refused},
    guard::SharedBudget,
    os::{
        perf::Event,
        perf_event::{read_event, read_events},
        proc_counters::ProcPlace,
    },
    spending::Spending,
};
use open::Opened;
pub(super) use open::threads_of_target;
use reader::Reader;
use times::Times;

/// How many intervals become one when reading them costs the agent too much.
const RARER: u32 = 8;

/// What a row tells of.
#[derive(Debug)]
struct Counter {
    /// What stays the same in its rows.
    row: count_row::CountRow,
    counted: CountedBy,
}

/// How it is counted.
#[derive(Debug)]
enum CountedBy {
    /// An event at a place, by one counter of the kernel or the sum of many; none where all were gone already.
    Events(Vec<Slot>),
    /// A time that is read, and how much of it was told.
    Time { tool: ToolEvent, told_ns: u64 },
    /// A number in a file of the kernel.
    Proc(ProcSlot),
    /// Not at all, and whether that was told.
    Nothing { told: bool },
}

impl Counter {
    fn slots(&self) -> &[Slot] {
        if let CountedBy::Events(slots) = &self.counted { slots } else { &[] }
    }

    fn is_counted(&self) -> bool {
        match &self.counted {
            CountedBy::Events(slots) => !slots.is_empty(),
            CountedBy::Time { .. } | CountedBy::Proc(_) => true,
            CountedBy::Nothing { .. } => false,
        }
    }
}

/// A number in a file: where it is read, and what was told of it when.
#[derive(Debug)]
struct ProcSlot {
    place: ProcPlace,
    told: u64,
    told_ns: u64,
}

/// A counter of the kernel and its words as they were last told.
#[derive(Debug)]
struct Slot {
    event: Event,
    told: [u64; 3],
}

/// A capture of counts.
#[derive(Debug)]
pub(crate) struct CountEngine {
    started: StartedSource,
    ring: OwnedFd,
    /// The kernel enables the events itself when the command is executed.
    on_exec: bool,
    ready: Option<Reader>,
    thread: Option<JoinHandle<()>>,
    stop: OwnedFd,
    told: Arc<Mutex<ProbeReading>>,
    /// See [`Reader`].
    rarer: Arc<AtomicU32>,
    budget: SharedBudget,
    cost: Option<CostMeter>,
    /// Events that were made for it; counted until the last counter is closed.
    _made: Option<MadeEvents>,
}

/// The events of `counters` whose counting costs something, with what one takes.
fn dear(counters: &[Counter]) -> io::Result<Vec<(Event, f64)>> {
    let mut dear = Vec::new();
    for counter in counters {
        let Ok(Some(event)) = read_event(Some(&counter.row.event)) else { continue };
        let ns_each = estimates::of_count(&event);
        if ns_each > 0.0 {
            for slot in counter.slots() {
                dear.push((slot.event.try_clone()?, ns_each));
            }
        }
    }
    Ok(dear)
}

fn spent_ns(events: &[(Event, f64)]) -> u64 {
    let of_event =
        |(event, ns_each): &(Event, f64)| event.read_words().map_or(0.0, |[count, ..]| count as f64 * ns_each);
    events.iter().map(of_event).sum::<f64>() as u64
}

/// Descriptors of its own.
fn own(borrowed: &[BorrowedFd<'_>]) -> io::Result<Vec<OwnedFd>> {
    borrowed.iter().map(BorrowedFd::try_clone_to_owned).collect()
}

/// Opens the counters of a capture of counts; nothing is counted yet.
///
/// # Errors
/// If one of them cannot be opened.
pub(crate) fn start(
    kernel: &KernelBackend,
    wish: &CountSpec,
    target: &ResolvedTarget,
    ring_bytes: u32,
) -> Result<CountEngine, AgentError> {
    CountEngine::make(wish, target, ring_bytes, kernel.scripts)
}

impl CountEngine {
    /// Opens everything, disabled.
    pub(crate) fn make(
        wish: &CountSpec,
        target: &ResolvedTarget,
        ring_bytes: u32,
        rights: ScriptRights,
    ) -> Result<Self, AgentError> {
        let clock = Instant::now();
        target.must_be_known_by_thread("counts")?;
        let of_group;
        let wish = match target.watched() {
            ResolvedTarget::Cgroup { path, .. } => {
                of_group = CountSpec { cgroup: Some(path.clone()), everywhere: true, ..wish.clone() };
                &of_group
            }
            _ => wish,
        };
        let events = read_events(&wish.groups)?;
        let trouble = |error: &io::Error| refused("making the ring of a capture of counts", error, "");
        let made = (!wish.dynamic.is_empty()).then(|| make_events(&wish.dynamic, rights)).transpose()?;
        let names = made.as_ref().map_or(&[][..], |made| &made.names);
        let Opened { counters, files, on_exec, everywhere } = open::open(wish, &events, names, target)?;
        let ring = SimulatedBpfRing::create(ring_bytes).map_err(|error| trouble(&error))?;
        let reading_end = ring.as_fd().try_clone_to_owned().map_err(|error| trouble(&error))?;
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| trouble(&errno.into()))?;
        let told = Arc::new(Mutex::new(ProbeReading::default()));
        let rarer = Arc::new(AtomicU32::new(1));
        let reader = Reader {
            counters,
            files,
            ring,
            interval_ms: wish.interval_ms,
            delay_ms: wish.delay_ms.unwrap_or(0),
            targets: own(&target.pidfds()).map_err(|error| trouble(&error))?,
            times: Times::of(target, everywhere).map_err(|error| trouble(&error))?,
            stop: stop.try_clone().map_err(|error| trouble(&error))?,
            told: Arc::clone(&told),
            rarer: Arc::clone(&rarer),
            spending: Spending::of_here(),
            last_ns: 0,
            spent_ns: 0,
        };
        let content = RingContent::Stream { stream: 0 };
        let started = StartedSource {
            streams: vec![count_row::layout()],
            rings: vec![RingInfo { kind: RingKind::Bpf, content, data_bytes: ring_bytes, cpu: None }],
            attach_ns: elapsed_ns(clock),
            ..StartedSource::default()
        };
        Ok(Self {
            started,
            ring: reading_end,
            on_exec,
            ready: Some(reader),
            thread: None,
            stop,
            told,
            rarer,
            budget: SharedBudget::default(),
            cost: None,
            _made: made,
        })
    }

    /// Watches over what the counting costs, if any of it does.
    fn guard(&mut self, counters: &[Counter]) {
        let Ok(counted) = dear(counters).map(Arc::new) else { return };
        if counted.is_empty() {
            return;
        }
        let detached = Arc::clone(&counted);
        let estimate = Estimate { spent: Box::new(move || SpentTime::asked(spent_ns(&counted))), ns_per_hit: 0.0 };
        // One whose CPU went offline is disabled already.
        let detach = move || detached.iter().for_each(|(event, _)| drop(event.disable()));
        let guarded = Guarded::whole(self.budget.clone(), detach);
        self.cost = Some(CostMeter::estimate(estimate, guarded));
    }

    fn end_thread(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        let Some(thread) = self.thread.take() else { return };
        // It only fails when the counter is full, and then the thread is woken all the same.
        let _told = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if thread.join().is_err() {
            tracing::error!("the thread that reads counters failed");
        }
    }
}

impl Engine for CountEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        (index == 0).then_some(self.ring.as_fd())
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        let doing = "enabling the counters";
        let mut reader =
            self.ready.take().ok_or_else(|| failed(AgentErrorKind::Invalid, doing, "they are enabled already", ""))?;
        if !self.on_exec && reader.delay_ms == 0 {
            reader.enable().map_err(|error| refused(doing, &error, ""))?;
        }
        let begin_ns = monotonic_ns();
        reader.last_ns = begin_ns;
        reader.times.begin(begin_ns);
        self.guard(&reader.counters);
        let thread = std::thread::Builder::new().name("bathyscope-cnt".into()).spawn(move || reader.run());
        self.thread = Some(thread.map_err(|error| refused("starting the thread that reads counters", &error, ""))?);
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        let probe = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        SourceReadings { probes: vec![probe], guard, ..SourceReadings::default() }
    }

    fn throttle(&mut self) -> bool {
        self.rarer.store(RARER, Ordering::Relaxed);
        true
    }

    fn detach(&mut self) {
        self.end_thread();
    }

    fn stop(&mut self) {
        self.end_thread();
        self.ready = None;
    }
}

impl Drop for CountEngine {
    fn drop(&mut self) {
        self.end_thread();
    }
}

#[cfg(test)]
mod tests;

//! A simulated engine: a thread that makes events while it is enabled.

use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use bathyscope_protocol::{
    AgentError, GuardStage, ProbeReading, RingInfo, ScriptEnabled, SourceReadings, StartedSource, StreamLayout,
    TraceFacts,
};

use super::{events::CPUS, target::MadeTarget};
use crate::{
    clock::monotonic_ns,
    engine::{Engine, EngineError},
    error::refused,
    guard::{Action, Cost, Guard, SharedBudget},
};

/// How often events are made.
const TICK: Duration = Duration::from_millis(2);
/// The most that is made at once.
const STEP_NS: u64 = 50_000_000;
/// Bytes of a row, about.
const ROW_BYTES: u32 = 64;
/// How often the guard looks.
const LOOK_EVERY_NS: u64 = 300_000_000;

/// What a simulated engine makes.
pub(super) trait Work: Send + 'static {
    /// How its streams look.
    fn layouts(&self) -> Vec<StreamLayout>;
    /// What its pages mean, if it is a trace.
    fn facts(&self) -> Option<TraceFacts> {
        None
    }
    /// Its rings.
    fn rings(&self) -> Vec<RingInfo>;
    /// Descriptors of its rings, in order.
    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>>;
    /// Makes what is due `now_ns`, after having begun at `start_ns`, and returns all counters.
    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading>;
}

#[derive(Debug, Default)]
struct EngineState {
    probes: Vec<ProbeReading>,
    guard: GuardStage,
    ended: bool,
}

#[derive(Debug, Default)]
struct EngineShared {
    state: Mutex<EngineState>,
    changed: Condvar,
}

impl EngineShared {
    fn lock(&self) -> MutexGuard<'_, EngineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), TICK, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

/// A simulated engine.
pub(crate) struct SimulatedEngine {
    started: StartedSource,
    descriptors: Vec<OwnedFd>,
    work: Option<Box<dyn Work>>,
    shared: Arc<EngineShared>,
    thread: Option<JoinHandle<()>>,
    /// Whether it has a target, so that what others do is passed over.
    has_target: bool,
    budget: SharedBudget,
    /// How long after it was enabled something is made.
    delay_ns: u64,
}

/// Watches a simulated capture, which costs what its readings say.
struct Watch {
    guard: Guard,
    looked_ns: u64,
    used_ns: f64,
    passing_ns: f64,
    rows: u64,
    /// Whether it has a target, so that what others do is passed over.
    has_target: bool,
}

impl Watch {
    fn used_ns(probes: &[ProbeReading]) -> f64 {
        probes.iter().map(|probe| probe.hits as f64 * probe.ns_per_hit.unwrap_or(0.0)).sum()
    }

    fn passing_ns(&self, probes: &[ProbeReading]) -> f64 {
        let passed = |probe: &ProbeReading| probe.filtered as f64 * probe.ns_per_hit.unwrap_or(0.0);
        if self.has_target { probes.iter().map(passed).sum() } else { 0.0 }
    }

    /// Whether the probes are to be detached.
    fn look(&mut self, now_ns: u64, probes: &[ProbeReading]) -> bool {
        let since_ns = now_ns.saturating_sub(self.looked_ns);
        if since_ns < LOOK_EVERY_NS {
            return false;
        }
        let passing_ns = self.passing_ns(probes);
        let used_ns = Self::used_ns(probes) - passing_ns;
        let permille = |now: f64, before: f64| (now - before).max(0.0) * 1000.0 / since_ns as f64;
        let cpu_permille = permille(used_ns, self.used_ns);
        let passing_permille = permille(passing_ns, self.passing_ns);
        (self.looked_ns, self.used_ns, self.passing_ns) = (now_ns, used_ns, passing_ns);
        let rows = |probes: &[ProbeReading]| probes.iter().map(|probe| probe.hits - probe.filtered).sum::<u64>();
        let rows_now = rows(probes);
        let new_rows = rows_now.saturating_sub(std::mem::replace(&mut self.rows, rows_now));
        let rows_per_s = new_rows as f64 * 1e9 / since_ns as f64;
        let bytes_per_s = rows_per_s * f64::from(ROW_BYTES);
        let cost = Cost { cpu_permille, passing_permille, rows_per_s, bytes_per_s, ..Cost::default() };
        self.guard.look(cost) == Action::Detach
    }
}

impl SimulatedEngine {
    pub(super) fn new(work: impl Work, target: &MadeTarget) -> Result<Self, AgentError> {
        let descriptors = work.descriptors().map_err(|error| refused("making a simulated capture", &error, ""))?;
        let started = StartedSource {
            streams: work.layouts(),
            rings: work.rings(),
            compile_ns: 100_000,
            load_ns: 200_000,
            attach_ns: 300_000,
            trace: work.facts().map(Box::new),
            ..StartedSource::default()
        };
        let shared = Arc::new(EngineShared::default());
        shared.lock().probes = vec![ProbeReading::default(); started.streams.len()];
        Ok(Self {
            started,
            descriptors,
            work: Some(Box::new(work)),
            shared,
            thread: None,
            has_target: target.among.is_some(),
            budget: SharedBudget::default(),
            delay_ns: 0,
        })
    }

    /// The same, that makes nothing for so long.
    pub(super) fn later(mut self, delay_ms: Option<u32>) -> Self {
        self.delay_ns = u64::from(delay_ms.unwrap_or(0)) * 1_000_000;
        self
    }

    fn end_thread(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It does not panic, and ends at once.
            let _ended = thread.join();
        }
    }
}

impl Engine for SimulatedEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.descriptors.get(index).map(OwnedFd::as_fd)
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        let start_ns = monotonic_ns();
        let shared = Arc::clone(&self.shared);
        let Some(mut work) = self.work.take() else { return Ok(None) };
        let guard = Guard::new(self.budget.clone(), false).on_cpus(CPUS);
        let has_target = self.has_target;
        let mut watch = Watch { guard, looked_ns: start_ns, used_ns: 0.0, passing_ns: 0.0, rows: 0, has_target };
        let begin_ns = start_ns.saturating_add(self.delay_ns);
        let run = move || {
            while monotonic_ns() < begin_ns {
                if shared.pause() {
                    return;
                }
            }
            let mut reached_ns = begin_ns;
            loop {
                // One that does not keep up goes on in short steps, between which it can be stopped.
                let behind = monotonic_ns().saturating_sub(reached_ns) > STEP_NS;
                let ended = if behind { shared.lock().ended } else { shared.pause() };
                let now_ns = monotonic_ns();
                reached_ns = now_ns.min(reached_ns.saturating_add(STEP_NS));
                let probes = work.make_until(begin_ns, reached_ns);
                let detached = watch.look(now_ns, &probes);
                let mut state = shared.lock();
                (state.probes, state.guard) = (probes, watch.guard.stage().clone());
                if ended || detached {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("bathyscope-sim".into()).spawn(run);
        self.thread = Some(thread.map_err(|error| refused("starting the simulation", &error, ""))?);
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        let state = self.shared.lock();
        let (probes, guard) = (state.probes.clone(), state.guard.clone());
        SourceReadings { probes, guard, ..SourceReadings::default() }
    }

    fn detach(&mut self) {
        self.end_thread();
    }

    fn stop(&mut self) {
        self.end_thread();
    }
}

impl Drop for SimulatedEngine {
    fn drop(&mut self) {
        self.end_thread();
    }
}

//! A capture of switches and wake-ups of threads: three programs at raw tracepoints, which share one ring.
//!
//! Attached in this order: what reports processes, what follows children, the switches, the wake-ups.

use std::{
    ffi::CStr,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex},
    time::Instant,
};

use bathyscope_bpf::{
    ir::Program,
    probe::TargetFilter,
    states::{RING, SWITCH_COUNTERS, StatePlaces, StateProbe, WAKE_COUNTERS, programs},
};
use bathyscope_capture::{STATE_RECORD_BYTES, StatesSpec};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeReading, RingContent, RingInfo, RingKind, ScriptEnabled, SourceReadings,
    StartedSource, StreamLayout, rings::RingProgress,
};

use super::{
    KernelBackend,
    events::{Following, hold, hold_rates, take},
    host::KernelHost,
    retire::close_links,
    stats::{Asked, CostMeter, Guarded, Written},
    target::ResolvedTarget,
};
use crate::{
    clock::elapsed_ns,
    engine::{Engine, EngineError, ProcessReports},
    error::{failed, refused},
    guard::{Guard, SharedBudget},
    needs::Need,
    os::{
        bpf,
        loader::{Allowance, Counters, Counts, Loaded, Loader, compile},
        sideband::Sideband,
    },
};

const DOING: &str = "loading the programs for thread states";

/// A program and the raw tracepoint that it is for.
type RawProgram = (&'static CStr, OwnedFd);

/// The counters of switches and those of wake-ups.
type StreamCounters = [Arc<Counters>; 2];

/// A capture of switches and wake-ups.
#[derive(Debug)]
pub(crate) struct StatesEngine {
    started: StartedSource,
    ring: OwnedFd,
    counters: StreamCounters,
    last: [Counts; 2],
    following: Option<Following>,
    /// Of switches, of wake-ups, and of those of new threads.
    programs: Vec<RawProgram>,
    links: Arc<Mutex<Vec<OwnedFd>>>,
    sideband: Sideband,
    /// Whose switches and wake-ups its programs record.
    filter: TargetFilter,
    budget: SharedBudget,
    /// Until the guard takes it.
    allowance: Option<Allowance>,
    cost: Option<CostMeter>,
    /// Keeps the maps that nothing else holds.
    _loaded: Loaded,
}

/// Compiles and loads the programs of a capture of thread states; nothing is attached yet.
///
/// # Errors
/// If anything of it cannot be made; then all of it is undone.
pub(crate) fn start(
    kernel: &KernelBackend,
    wanted: StatesSpec,
    target: &ResolvedTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<StatesEngine, AgentError> {
    let KernelBackend { loader, host, .. } = kernel;
    StatesEngine::make(loader, host, wanted, target, ring_bytes, reports)
}

/// Where this kernel keeps what the programs read.
fn places(host: &KernelHost) -> Result<StatePlaces, AgentError> {
    let untold = || {
        let why = "this kernel does not tell its types";
        failed(AgentErrorKind::Unsupported, DOING, why, "Use a kernel with CONFIG_DEBUG_INFO_BTF.")
    };
    StatePlaces::find(host.types()).ok_or_else(untold)
}

impl StatesEngine {
    /// Compiles, loads, and opens everything; attaches nothing.
    pub(crate) fn make(
        loader: &Loader,
        host: &KernelHost,
        wanted: StatesSpec,
        target: &ResolvedTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let clock = Instant::now();
        let StatesSpec { sleep_stacks, wake_stacks } = wanted;
        let filter = target.filter();
        let probe = StateProbe { target: filter, ring_bytes, sleep_stacks, wake_stacks, places: places(host)? };
        let refusal = "Choose another target: a process, a command or the whole system.";
        let made =
            programs(&probe).map_err(|error| failed(AgentErrorKind::Unsupported, DOING, error.to_string(), refusal))?;
        let follow = Following::programs_for(target)?;
        let own = [(c"sched_switch", made.switch), (c"sched_waking", made.waking), (c"sched_wakeup_new", made.new)];
        let all: Vec<Program> = own
            .iter()
            .map(|(_, program)| program)
            .chain(follow.iter().map(|(_, _, program)| program))
            .cloned()
            .collect();
        let object = compile(&all, "compiling the capture's programs")?;
        let compile_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let mut loaded = loader.load(&object, DOING)?;
        for pid in target.mapped() {
            loaded.add_target(pid, "setting the capture's target")?;
        }
        let mut programs = Vec::new();
        for (name, program) in own {
            let doing = format!("loading the program for {}", name.to_string_lossy());
            programs.push((name, loaded.load_program(&program.name, &doing)?));
        }
        let following = Following::open(&mut loaded, &follow)?;
        let ring = loaded.ring(RING, DOING)?;
        let counters = [loaded.counters(SWITCH_COUNTERS, DOING)?, loaded.counters(WAKE_COUNTERS, DOING)?].map(Arc::new);
        let allowance = Some(loaded.allowance(DOING)?);
        let load_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let sideband = Sideband::open(reports)?;
        let content = RingContent::Stream { stream: 0 };
        let info = RingInfo { kind: RingKind::Bpf, content, data_bytes: ring_bytes, cpu: None };
        let started = StartedSource {
            streams: vec![StreamLayout::Switches, StreamLayout::Wakeups],
            rings: std::iter::once(info).chain(sideband.infos().iter().cloned()).collect(),
            compile_ns,
            load_ns,
            attach_ns: elapsed_ns(clock),
            ..StartedSource::default()
        };
        Ok(Self {
            started,
            ring,
            counters,
            last: [Counts::default(); 2],
            following,
            programs,
            links: Arc::default(),
            sideband,
            filter,
            budget: SharedBudget::default(),
            allowance,
            cost: None,
            _loaded: loaded,
        })
    }

    /// What the guard works with. Rates of rows and bytes that somebody has chosen are held by the programs themselves.
    fn guarded(&mut self) -> Result<Guarded, AgentError> {
        let thin = hold_rates(self.allowance.take(), *self.budget)?;
        let progress = RingProgress::of(self.ring.as_fd())
            .inspect_err(|error| tracing::warn!(%error, "what a capture writes is only known by its rows"))
            .ok();
        let counters = self.counters.clone();
        // Of a target, what others do is passed over, and nobody has asked for that.
        let of_target = (self.filter != TargetFilter::System).then(|| counters.clone());
        let links = Arc::clone(&self.links);
        Ok(Guarded {
            guard: Guard::new(self.budget.clone(), true).holding_rates(),
            written: Box::new(move || written(&counters, progress.as_ref())),
            asked: of_target
                .map(|counters| -> Box<dyn Fn() -> Option<Asked> + Send> { Box::new(move || asked(&counters)) }),
            thin,
            detach: Box::new(move || close_links(take(&links))),
        })
    }

    fn detach(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        close_links(take(&self.links));
        if let Some(following) = &mut self.following {
            following.disable();
        }
        self.sideband.disable();
    }
}

/// How often programs ran for what they did not reject. What that costs is not told apart: as much as any run.
fn asked(counters: &StreamCounters) -> Option<Asked> {
    let wanted = |counters: &Arc<Counters>| {
        let Counts { hits, filtered, .. } = counters.read().ok()?;
        Some(hits.saturating_sub(filtered))
    };
    let runs = counters.iter().map(wanted).sum::<Option<u64>>()?;
    Some(Asked { runs, spent_ns: 0 })
}

/// What programs have written and what they were not let write. How long records with stacks are only the ring tells.
fn written(counters: &StreamCounters, progress: Option<&RingProgress>) -> Written {
    let mut sum = Written::default();
    for Counts { hits, filtered, ring_full, limited } in counters.iter().filter_map(|counters| counters.read().ok()) {
        // Those of a running program are of slightly different moments.
        sum.rows += hits.saturating_sub(filtered + ring_full + limited);
        sum.held_rows += limited;
    }
    let each = u64::from(STATE_RECORD_BYTES);
    Written { bytes: progress.map_or(sum.rows * each, RingProgress::bytes), held_bytes: sum.held_rows * each, ..sum }
}

impl Engine for StatesEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        let Some(index) = index.checked_sub(1) else { return Some(self.ring.as_fd()) };
        self.sideband.descriptor(index)
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        self.sideband.enable()?;
        if let Some(following) = &mut self.following {
            following.enable()?;
        }
        // Limits hold from the first hit on.
        let guarded = self.guarded()?;
        for (name, program) in &self.programs {
            let doing = format!("attaching to {}", name.to_string_lossy());
            let link = bpf::open_raw_tracepoint(Some(name), program.as_fd());
            hold(&self.links, link.map_err(|error| refused(doing, &error, Need::Programs))?);
        }
        let programs = self.programs.iter().map(|(_, program)| program.try_clone()).collect::<Result<_, _>>();
        let programs = programs.map_err(|error| refused("attaching the programs", &error, "Raise `ulimit -n`."))?;
        self.cost = Some(CostMeter::start(programs, guarded));
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        let missed = |at: usize| {
            let program = self.programs.get(at);
            program.map_or(0, |(_, program)| bpf::program_stats(program.as_fd()).unwrap_or_default().missed)
        };
        let missed = [missed(0), missed(1) + missed(2)];
        let mut probes = Vec::new();
        for (stream, (last, counters)) in self.last.iter_mut().zip(&self.counters).enumerate() {
            // A map that cannot be read keeps its last counts, which is better than none.
            *last = counters.read().unwrap_or(*last);
            // New threads are few, and cost what others do.
            let ns_per_hit = self.cost.as_ref().and_then(|cost| cost.ns_per_hit(stream));
            let missed = missed.get(stream).copied().unwrap_or(0);
            probes.push(ProbeReading { missed, ns_per_hit, ..(*last).into() });
        }
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        SourceReadings { probes, guard, ..SourceReadings::default() }
    }

    fn detach(&mut self) {
        Self::detach(self);
    }

    fn stop(&mut self) {
        Self::detach(self);
    }
}

impl Drop for StatesEngine {
    fn drop(&mut self) {
        self.detach();
    }
}

//! What is to be recorded: each kind of source checks what it is asked for, and makes its engine of it.
//!
//! [`source_of`] is the only place that tells kinds apart. All else that depends on a kind is asked of [`SourceSpec`],
//! which each kind implements in a file here: that is what knows both the engine on the running kernel and the simulated
//! one, and these know nothing of each other.

mod count;
mod events;
mod making;
mod profile;
mod script;
mod script_sizes;
mod states;
mod syscalls;
mod trace;

use std::fmt;

use bathyscope_capture::{CaptureSpec, MAX_SOURCES, Method, Target};
use bathyscope_protocol::{AgentError, AgentErrorKind, RingsCut, WireMethod, WireSource};

pub(crate) use script_sizes::check_script_sizes;

use crate::{
    compile::ScriptRights,
    engine::{EngineError, MadeEngine, ProcessReports},
    error::failed,
    host_requests::HostRequests,
    kernel::{KernelBackend, ResolvedTarget},
    memory::{MAX_MAP_BYTES, MAX_RING_BYTES, MIN_RING_BYTES, MemoryLeft, SourceMemory},
    running::RunningCapture,
    simulated::{MadeTarget, SimulatedBackend, SimulatedTarget, Simulation},
};

/// The most bytes of what the console calls a source.
const MAX_ID_BYTES: usize = 32;

/// How well a source can report what happens to processes, for itself and the others of its capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reporting {
    /// It cannot.
    Never,
    /// Where it shows something for which that has to be known.
    WhereNeeded,
    /// Into the rings of its samples, of the CPUs that it samples.
    WithSamples,
    /// Into rings of their own, of all CPUs.
    Beside,
}

/// A source as it was asked for. The console may be anybody by now.
pub(crate) trait SourceSpec: fmt::Debug + Send + Sync {
    /// Checks everything that can be checked without the kernel.
    ///
    /// # Errors
    /// The first thing that is wrong.
    fn check(&self, target: &Target) -> Result<(), AgentError>;

    /// Refuses what this agent was not started for, before anything is made.
    ///
    /// # Errors
    /// If it is that.
    fn allow(&self, _rights: ScriptRights) -> Result<(), AgentError> {
        Ok(())
    }

    /// How well it can report what happens to processes.
    fn reporting(&self) -> Reporting {
        Reporting::Never
    }

    /// Whether mappings of data have to be reported, as it tells addresses of data.
    fn tells_data(&self) -> bool {
        false
    }

    /// Cuts its rings so that they fit into what memory is left, and takes that; says what was cut. Most have one ring.
    ///
    /// # Errors
    /// If there is too little memory for it.
    fn fit(&mut self, memory: &mut SourceMemory, left: &mut MemoryLeft) -> Result<Option<RingsCut>, AgentError> {
        left.fit_rings(1, &mut memory.ring_bytes, 0)
    }

    /// Whether no other source is made while this one is: one that has a child of this process work for it, in which what another
    /// thread had locked would stay locked.
    fn is_made_alone(&self) -> bool {
        false
    }

    /// Makes its engine on the running kernel; nothing is recorded yet.
    ///
    /// # Errors
    /// If anything of it cannot be made; then all of it is undone.
    fn start(
        &self,
        kernel: &KernelBackend,
        target: &ResolvedTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine;

    /// Makes an engine that makes the events up.
    ///
    /// # Errors
    /// If the simulated host has nothing of the kind.
    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine;
}

/// The source of each kind.
fn source_of(method: WireMethod) -> Box<dyn SourceSpec> {
    match method {
        WireMethod::Events { probes } => Box::new(probes),
        WireMethod::Profile(profile) => Box::new(profile),
        WireMethod::Count(count) => Box::new(count),
        WireMethod::Script(script) => script,
        WireMethod::Trace(trace) => trace,
        WireMethod::Syscalls(calls) => Box::new(calls),
        WireMethod::States(states) => Box::new(states),
    }
}

/// A source of a capture as it was asked for, checked.
#[derive(Debug)]
pub(crate) struct PlannedSource {
    spec: Box<dyn SourceSpec>,
    /// What errors call it, where there are others.
    name: Option<String>,
    required: bool,
    /// The memory that it may take.
    memory: SourceMemory,
    rings_cut: Option<RingsCut>,
}

/// A capture as it was asked for, checked.
#[derive(Debug)]
pub struct CapturePlan {
    /// What to record.
    sources: Vec<PlannedSource>,
    /// Whose events.
    target: Target,
}

impl CapturePlan {
    /// Checks everything that can be checked without the kernel.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn checked(sources: Vec<WireSource>, target: Target, ring_bytes: u32) -> Result<Self, AgentError> {
        let doing = "checking the capture";
        check_numbers(&sources)?;
        let ring_bytes = ring_bytes.checked_next_power_of_two().unwrap_or(u32::MAX);
        if !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&ring_bytes) {
            let why = format!("a ring of {ring_bytes} bytes is outside of {MIN_RING_BYTES} to {MAX_RING_BYTES}");
            return Err(failed(AgentErrorKind::Limit, doing, why, "Ask for another size."));
        }
        let memory = SourceMemory { ring_bytes, map_bytes: MAX_MAP_BYTES };
        let several = sources.len() > 1;
        let planned = |WireSource { id, method, required }| {
            let spec = source_of(method);
            spec.check(&target)?;
            let name = several.then_some(id).filter(|id| !id.is_empty());
            Ok(PlannedSource { spec, name, required, memory, rings_cut: None })
        };
        let sources = sources.into_iter().map(planned).collect::<Result<_, AgentError>>()?;
        Ok(Self { sources, target })
    }

    /// Makes it fit into the memory that is left, of which each source has its share.
    ///
    /// # Errors
    /// If there is too little for one of them.
    pub(crate) fn fit(&mut self, mut left: MemoryLeft) -> Result<(), AgentError> {
        let reporter = self.reporters().first().copied();
        let mut behind = self.sources.len() as u64;
        for (number, source) in self.sources.iter_mut().enumerate() {
            let mut share = left.share(behind, reporter == Some(number));
            source.rings_cut = source.spec.fit(&mut source.memory, &mut share)?;
            left.take_as(share);
            behind -= 1;
        }
        Ok(())
    }

    /// The numbers of the sources that can report processes, the best first.
    fn reporters(&self) -> Vec<usize> {
        let reporting = |number: usize| self.sources.get(number).map_or(Reporting::Never, |it| it.spec.reporting());
        let mut able: Vec<usize> = (0..self.sources.len()).filter(|it| reporting(*it) > Reporting::Never).collect();
        able.sort_by_key(|number| std::cmp::Reverse(reporting(*number)));
        able
    }
}

/// Checks how many sources of which kind there are.
fn check_numbers(sources: &[WireSource]) -> Result<(), AgentError> {
    let refused = |why: String| Err(failed(AgentErrorKind::Invalid, "checking the capture", why, ""));
    if !(1..=MAX_SOURCES).contains(&sources.len()) {
        return refused(format!("{} sources are outside of 1 to {MAX_SOURCES}", sources.len()));
    }
    let count = |is: fn(&WireMethod) -> bool| sources.iter().filter(|source| is(&source.method)).count();
    let alone = [("scripts", count(WireMethod::has_plan)), ("traces", count(WireMethod::is_trace))];
    if let Some(source) = sources.iter().find(|source| source.id.len() > MAX_ID_BYTES) {
        return refused(format!("the id of a source has {} bytes, and may have {MAX_ID_BYTES}", source.id.len()));
    }
    match alone.into_iter().find(|(_what, count)| *count > 1) {
        // What is asked of a capture's script or trace later does not say which.
        Some((what, count)) => refused(format!("it has {count} {what}, and may have one")),
        None => Ok(()),
    }
}

/// Where events come from: the kernel, or a simulation.
pub trait Backend: HostRequests {
    /// Takes hold of the target and makes what records; nothing is recorded yet.
    ///
    /// # Errors
    /// If anything of it cannot be made; then all of it is undone.
    fn start(&mut self, plan: &CapturePlan) -> Result<RunningCapture, EngineError>;
}

impl Backend for KernelBackend {
    fn start(&mut self, plan: &CapturePlan) -> Result<RunningCapture, EngineError> {
        let rights = self.script_rights();
        plan.sources.iter().try_for_each(|source| source.spec.allow(rights))?;
        let target = self.take_target(&plan.target)?;
        let kernel = &*self;
        let sources = plan.engines(|source, reports| source.spec.start(kernel, &target, source.memory, reports))?;
        Ok(RunningCapture { sources, target: Box::new(target) })
    }
}

impl Backend for SimulatedBackend {
    fn start(&mut self, plan: &CapturePlan) -> Result<RunningCapture, EngineError> {
        let target = MadeTarget::of(&plan.target)?;
        let simulation = self.simulation();
        let sources =
            plan.engines(|source, reports| source.spec.simulate(simulation, &target, source.memory, reports))?;
        Ok(RunningCapture { sources, target: Box::new(SimulatedTarget::new(target)?) })
    }
}

/// Checks a source and a target by the rules of specs.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn check_spec(method: Method, target: &Target) -> Result<(), AgentError> {
    let spec = CaptureSpec::of(method, target.clone());
    let invalid = |why: String| failed(AgentErrorKind::Invalid, "checking the capture", why, "");
    spec.validate().map_err(|error| invalid(error.to_string()))
}

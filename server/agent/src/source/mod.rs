//! What is to be recorded: each kind of source checks what it is asked for, and makes its engine of it.
//!
//! [`source_of`] is the only place that tells kinds apart. All else that depends on a kind is asked of [`SourceSpec`],
//! which each kind implements in a file here: that is what knows both the engine on the running kernel and the simulated
//! one, and these know nothing of each other.

mod count;
mod events;
mod profile;
mod script;
mod script_sizes;
mod syscalls;
mod trace;

use std::fmt;

use bathyscope_capture::{CaptureSpec, Method, Target};
use bathyscope_protocol::{AgentError, AgentErrorKind, RingsCut, WireMethod};

pub(crate) use script_sizes::check_script_sizes;

use crate::{
    compile::ScriptRights,
    engine::{EngineError, MadeEngine, RunningCapture},
    error::failed,
    host_requests::HostRequests,
    kernel::{KernelBackend, ResolvedTarget},
    memory::{MAX_MAP_BYTES, MAX_RING_BYTES, MIN_RING_BYTES, MemoryLeft, SourceMemory},
    simulated::{MadeTarget, SimulatedBackend, SimulatedTarget, Simulation},
};

/// A source as it was asked for. The console may be anybody by now.
pub(crate) trait SourceSpec: fmt::Debug {
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

    /// Cuts its rings so that they fit into what memory is left; says what was cut. Most have one ring.
    ///
    /// # Errors
    /// If there is too little memory for it.
    fn fit(&mut self, memory: &mut SourceMemory, left: MemoryLeft) -> Result<Option<RingsCut>, AgentError> {
        left.fit_rings(1, &mut memory.ring_bytes, 0)
    }

    /// Makes its engine on the running kernel; nothing is recorded yet.
    ///
    /// # Errors
    /// If anything of it cannot be made; then all of it is undone.
    fn start(&self, kernel: &mut KernelBackend, target: &ResolvedTarget, memory: SourceMemory) -> MadeEngine;

    /// Makes an engine that makes the events up.
    ///
    /// # Errors
    /// If the simulated host has nothing of the kind.
    fn simulate(&self, simulation: &Simulation, target: &MadeTarget, memory: SourceMemory) -> MadeEngine;
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
    }
}

/// A capture as it was asked for, checked.
#[derive(Debug)]
pub struct CapturePlan {
    /// What to record.
    pub(crate) source: Box<dyn SourceSpec>,
    /// Whose events.
    pub(crate) target: Target,
    /// The memory that it may take.
    pub(crate) memory: SourceMemory,
}

impl CapturePlan {
    /// Checks everything that can be checked without the kernel.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn checked(method: WireMethod, target: Target, ring_bytes: u32) -> Result<Self, AgentError> {
        let source = source_of(method);
        source.check(&target)?;
        let ring_bytes = ring_bytes.checked_next_power_of_two().unwrap_or(u32::MAX);
        if !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&ring_bytes) {
            let why = format!("a ring of {ring_bytes} bytes is outside of {MIN_RING_BYTES} to {MAX_RING_BYTES}");
            return Err(failed(AgentErrorKind::Limit, "checking the capture", why, "Ask for another size."));
        }
        Ok(Self { source, target, memory: SourceMemory { ring_bytes, map_bytes: MAX_MAP_BYTES } })
    }

    /// Makes it fit into the memory that is left; says what was cut of it.
    pub(crate) fn fit(&mut self, left: MemoryLeft) -> Result<Option<RingsCut>, AgentError> {
        self.source.fit(&mut self.memory, left)
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
        plan.source.allow(self.script_rights())?;
        let target = self.take_target(&plan.target)?;
        let engine = plan.source.start(self, &target, plan.memory)?;
        Ok(RunningCapture { engine, target: Box::new(target) })
    }
}

impl Backend for SimulatedBackend {
    fn start(&mut self, plan: &CapturePlan) -> Result<RunningCapture, EngineError> {
        let target = MadeTarget::of(&plan.target)?;
        let engine = plan.source.simulate(self.simulation(), &target, plan.memory)?;
        Ok(RunningCapture { engine, target: Box::new(SimulatedTarget::new(target)?) })
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

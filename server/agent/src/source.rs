//! What is to be recorded: each kind of source checks what it is asked for, and makes its engine of it.
//!
//! [`source_of`] is the only place that tells kinds apart. All else that depends on a kind is asked of [`SourceSpec`], which
//! each kind implements in its folder below `kernel`.

use std::fmt;

use bathyscope_capture::{CaptureSpec, Limits, Method, Target, visible};
use bathyscope_protocol::{AgentError, AgentErrorKind, RingsCut, WireMethod};

use crate::{
    compile::ScriptRights,
    engine::MadeEngine,
    error::failed,
    kernel::{KernelBackend, ResolvedTarget},
    memory::MemoryLeft,
    simulated::{MadeTarget, Simulation},
};

/// The smallest ring of a stream.
pub const MIN_RING_BYTES: u32 = 64 << 10;
/// The largest ring of a stream.
pub const MAX_RING_BYTES: u32 = 64 << 20;
/// The most bytes of a script's maps, however much there is.
pub(crate) const MAX_MAP_BYTES: u64 = 1 << 30;

/// The kernel's memory that a source may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceMemory {
    /// Bytes of each stream's ring, a power of two within the limits.
    pub(crate) ring_bytes: u32,
    /// The most bytes that its maps may take, with the ring.
    pub(crate) map_bytes: u64,
}

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

/// Checks a source and a target by the rules of specs.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn check_spec(method: Method, target: &Target) -> Result<(), AgentError> {
    let spec = CaptureSpec { name: String::new(), method, target: target.clone(), limits: Limits::default() };
    let invalid = |why: String| failed(AgentErrorKind::Invalid, "checking the capture", why, "");
    spec.validate().map_err(|error| invalid(error.to_string()))
}

/// Why the agent does not look for a unit or a container: it parses no names of others, the console does.
pub(crate) fn unresolved(name: &str) -> AgentError {
    let doing = format!("looking for the processes of `{}`", visible(name.as_bytes()));
    failed(AgentErrorKind::Invalid, doing, "the agent takes control groups by their path only", "")
}

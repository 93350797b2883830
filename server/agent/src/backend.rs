//! What a session needs of whatever makes the events: the kernel, or a simulation.

use std::os::fd::{BorrowedFd, OwnedFd};

use bathyscope_capture::{CaptureSpec, EventProbe, Limits, Method, Target};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, Capability, KernelFile, ProcessFile, Readings, Started, WireMethod, WireTarget,
};

use crate::error::failed;

/// The smallest ring of a stream.
pub const MIN_RING_BYTES: u32 = 64 << 10;
/// The largest ring of a stream.
pub const MAX_RING_BYTES: u32 = 64 << 20;

/// A capture as it was asked for, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What to record.
    pub method: WireMethod,
    /// Whose events.
    pub target: WireTarget,
    /// Bytes of each stream's ring, a power of two within the limits.
    pub ring_bytes: u32,
}

impl Plan {
    /// Checks everything that can be checked without the kernel: the console may be anybody by now.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn checked(method: WireMethod, target: WireTarget, ring_bytes: u32) -> Result<Self, AgentError> {
        let invalid = |why: String| failed(AgentErrorKind::Invalid, "checking the capture", why, "");
        spec_of(&method, &target).validate().map_err(|error| invalid(error.to_string()))?;
        let ring_bytes = ring_bytes.checked_next_power_of_two().unwrap_or(u32::MAX);
        if !(MIN_RING_BYTES..=MAX_RING_BYTES).contains(&ring_bytes) {
            let why = format!("a ring of {ring_bytes} bytes is outside of {MIN_RING_BYTES} to {MAX_RING_BYTES}");
            return Err(failed(AgentErrorKind::Limit, "checking the capture", why, "Ask for another size."));
        }
        Ok(Self { method, target, ring_bytes })
    }
}

/// The same request as a spec, whose own rules then hold for the wire too.
fn spec_of(method: &WireMethod, target: &WireTarget) -> CaptureSpec {
    let method = match method {
        WireMethod::Events { probes } => Method::Events {
            probes: probes
                .iter()
                .map(|probe| EventProbe {
                    tracepoint: probe.tracepoint.clone(),
                    fields: probe.fields.clone(),
                    predicate: probe.predicate.clone(),
                })
                .collect(),
        },
        &WireMethod::Profile { frequency_hz, kernel_stacks, user_stacks } => {
            Method::Profile { frequency_hz, kernel_stacks, user_stacks }
        }
    };
    let target = match target.clone() {
        WireTarget::System => Target::System,
        WireTarget::Process { pid, children } => Target::Process { pid, children },
        WireTarget::Command { argv, user, children } => Target::Command { argv, user, children },
    };
    CaptureSpec { name: String::new(), method, target, limits: Limits::default() }
}

/// Where events come from.
pub trait Backend {
    /// Whether they are made up.
    fn simulated(&self) -> bool;

    /// Tries every way to observe.
    fn capabilities(&mut self) -> Vec<Capability>;

    /// Opens a file of the kernel.
    ///
    /// # Errors
    /// If it does not exist or may not be read.
    fn open_kernel_file(&mut self, file: &KernelFile) -> Result<OwnedFd, AgentError>;

    /// Processes with a greater id than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn list_processes(&mut self, after: u32, limit: usize) -> Result<(Vec<u32>, bool), AgentError>;

    /// Opens a file of a process.
    ///
    /// # Errors
    /// If it or the process does not exist or may not be read.
    fn open_process_file(&mut self, pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError>;

    /// Makes a capture's probes; nothing is recorded before [`RunningCapture::enable`].
    ///
    /// # Errors
    /// If anything of it cannot be made; then all of it is undone.
    fn start(&mut self, plan: &Plan) -> Result<Box<dyn RunningCapture>, AgentError>;
}

/// A capture's probes. Dropping it detaches and closes everything, and ends its command.
pub trait RunningCapture {
    /// What was made.
    fn started(&self) -> &Started;

    /// Descriptor `index`: the rings in order, then the read ends of the command's two outputs.
    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>>;

    /// Begins to record. Returns the moment after, monotonic nanoseconds.
    ///
    /// # Errors
    /// If a probe cannot be attached or the command cannot be executed; the capture can then only be stopped.
    fn enable(&mut self) -> Result<u64, AgentError>;

    /// Counters and states.
    fn readings(&mut self) -> Readings;

    /// Detaches; the rings keep what they hold. Returns the final counters.
    fn stop(&mut self, end_command: bool) -> Readings;
}

/// Now, by the clock of all captures.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

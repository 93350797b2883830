//! What is to be recorded. Whose events, and how each kind is chosen, is told in the types of the capture itself, which the
//! agent validates again: the console may be anybody by now. A type stands here only where its shape differs.

use bathyscope_capture::{CountSpec, EventProbe, ProfileSpec, StatesSpec, SyscallSpec, TraceSpec};
use serde::{Deserialize, Serialize};

use crate::WireScript;

/// How events are obtained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WireMethod {
    /// Hits of tracepoints.
    Events {
        /// One program and one BPF ring for each.
        probes: Vec<EventProbe>,
    },
    /// Sampled stacks.
    Profile(ProfileSpec),
    /// How often events happen. The events are named one by one, at least one. The rows come in one stream,
    /// [`super::StreamLayout::Records`], of a ring that the agent itself writes.
    Count(CountSpec),
    /// What a script prints and keeps in its maps.
    Script(Box<WireScript>),
    /// What the kernel's own tracer records.
    Trace(Box<TraceSpec>),
    /// System calls.
    Syscalls(WireSyscalls),
    /// Switches and wake-ups of threads: a stream of each, [`super::StreamLayout::Switches`] and
    /// [`super::StreamLayout::Wakeups`].
    States(StatesSpec),
}

/// One of the sources of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSource {
    /// What the console calls it, which errors tell of one of several; may be empty.
    pub id: String,
    /// What it records.
    pub method: WireMethod,
    /// Whether the capture is not to begin without it. Else it may fail, with its reason in the reply.
    pub required: bool,
}

impl From<WireMethod> for WireSource {
    /// A source that is required.
    fn from(method: WireMethod) -> Self {
        Self { id: String::new(), method, required: true }
    }
}

impl From<WireMethod> for Vec<WireSource> {
    /// The only source of a capture.
    fn from(method: WireMethod) -> Self {
        vec![method.into()]
    }
}

impl WireMethod {
    /// Whether a plan tells what its records and maps mean ([`super::StartedSource::script`]).
    pub fn has_plan(&self) -> bool {
        matches!(self, Self::Script(_))
    }

    /// Whether it has pages whose meaning is told ([`super::StartedSource::trace`]).
    pub fn is_trace(&self) -> bool {
        matches!(self, Self::Trace(_))
    }
}

/// Which system calls, and what lies beside each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSyscalls {
    /// The calls. How they are written and what is decided behind the kernel's programs is the console's: `look` and `filter`
    /// are not read.
    pub calls: SyscallSpec,
    /// Whether it is recorded from which processes the caller's descends, and whose it is.
    pub ancestors: bool,
    /// Whether calls that say what descriptors are (`OPENING` of the catalogue of calls) are recorded too, whatever else
    /// is asked of a call.
    pub opening: bool,
}

/// The registers of user space that samples with [`bathyscope_capture::CallGraph::Dwarf`] hold, as
/// `perf_event_attr.sample_regs_user` of x86_64 names them: `rbp`, `rsp`, `rip`, in this order. The rows that frames are
/// found by need no others.
pub const USER_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

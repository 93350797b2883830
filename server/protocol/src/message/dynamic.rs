//! Dynamic events of the host.

use serde::{Deserialize, Serialize};

/// The dynamic events that there are, and what limits them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicEvents {
    /// In the kernel's order, the newest first.
    pub events: Vec<DynamicEvent>,
    /// Whether the kernel may replace breakpoints of its probes by jumps (`debug.kprobes-optimization`); none where it cannot
    /// be told.
    pub optimization: Option<bool>,
    /// What hides symbols or denies probes here.
    pub limits: Vec<ProbeLimit>,
}

/// A dynamic event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicEvent {
    /// Its group.
    pub group: String,
    /// Its name in it.
    pub name: String,
    /// The line by which the kernel shows it.
    pub line: String,
    /// How often it was hit; none where the kernel does not count.
    pub hits: Option<u64>,
    /// Hits that its handler missed; none where the kernel does not count them.
    pub missed: Option<u64>,
    /// What the kernel says of a probe of its own code: `OPTIMIZED` (a jump), `FTRACE`, `DISABLED`, `GONE`; empty for a
    /// breakpoint, none where it cannot be told.
    pub marks: Option<Vec<String>>,
    /// The agent that made it; none if somebody else did.
    pub owner: Option<EventOwner>,
    /// Whether its capture goes on without it: it was detached.
    pub detached: bool,
}

/// The agent that made an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventOwner {
    /// Its process, in its own pid namespace.
    pub pid: u32,
    /// Whether it is the agent that answers.
    pub this: bool,
    /// Whether it has ended; what is left then is removed by the next agent.
    pub ended: bool,
}

/// Something that hides symbols or denies probes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeLimit {
    /// What it is: `kernel.kptr_restrict`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What follows from it, a sentence.
    pub effect: String,
    /// What to set, a sentence.
    pub remedy: String,
}

//! Counters of a capture and what became of it.

use serde::{Deserialize, Serialize};

/// Counters of a capture, totals since it was enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Moment of the reading, monotonic nanoseconds.
    pub time_ns: u64,
    /// One for each stream; for a script one for each program of its plan; for a trace one for all that was written
    /// (`hits`) and lost (`ring_full`), then one for each dynamic event (`hits` and `missed`).
    pub probes: Vec<ProbeReading>,
    /// What became of the target.
    pub target: TargetState,
    /// How far the guard has gone.
    #[serde(default, skip_serializing_if = "GuardStage::is_watching")]
    pub guard: GuardStage,
    /// What is still being detached after a stop.
    #[serde(default, skip_serializing_if = "Detaching::is_done")]
    pub detaching: Detaching,
}

/// What the guard has done about a capture that used more than its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GuardStage {
    /// Nothing: there was no reason.
    #[default]
    Watching,
    /// It has told.
    Warned {
        /// Share of one CPU that was used, in thousandths.
        used_permille: u32,
    },
    /// It lets fewer rows be recorded; what is left out is counted as [`ProbeReading::limited`].
    Thinned {
        /// Share of one CPU that was used, in thousandths.
        used_permille: u32,
        /// At most so many rows a second are recorded, over all CPUs.
        rows_per_s: u64,
    },
    /// It has detached all probes. The rings keep what they hold; the capture can only be stopped.
    Detached {
        /// Share of one CPU that was used, in thousandths.
        used_permille: u32,
    },
}

impl GuardStage {
    /// Whether there was no reason to do anything.
    pub fn is_watching(&self) -> bool {
        *self == Self::Watching
    }
}

/// What is still being detached; it goes on in the background, and readings tell how far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detaching {
    /// Attach points that may still run a program. When none is left a script's `end` probes have run too, and counters,
    /// maps and rings are final.
    pub attached: u32,
    /// Objects of the kernel that run nothing any more and are still being closed.
    pub closing: u32,
}

impl Detaching {
    /// Whether all is detached and closed.
    pub fn is_done(&self) -> bool {
        *self == Self::default()
    }
}

/// Counters of one probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeReading {
    /// Times the probe ran. For a profile: samples taken, where the kernel counts them, else 0.
    pub hits: u64,
    /// Hits rejected by predicate or target.
    pub filtered: u64,
    /// Hits whose record did not fit into the ring.
    pub ring_full: u64,
    /// Hits whose record the guard did not let be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limited: u64,
    /// Hits that the kernel did not deliver to the program.
    pub missed: u64,
    /// Nanoseconds for each hit, from the last window in which run-time statistics were on; none for a profile, where
    /// these statistics do not cover taking the sample.
    pub ns_per_hit: Option<f64>,
    /// Of a script: updates that a full map refused. Of system calls: calls whose thread found no room in the map.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub map_full: u64,
    /// Of a script: reads and other helpers that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub helper_failed: u64,
    /// Of a script: stacks that could not be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stacks_failed: u64,
    /// Of a script: hits that were left out because as many runs as there is memory for had begun on the CPU, were preempted
    /// and had not ended. They are not among `hits`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nested: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What became of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetState {
    /// There is none, or it lives.
    #[default]
    Running,
    /// The process has ended (a process that was not started here: how is not known).
    Gone,
    /// The command has ended.
    Exited {
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

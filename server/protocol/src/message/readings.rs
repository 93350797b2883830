//! Counters of a capture and what became of it.

use serde::{Deserialize, Serialize};

/// Counters of a capture, totals since it was enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Moment of the reading, monotonic nanoseconds.
    pub time_ns: u64,
    /// One for each source, in their order.
    pub sources: Vec<SourceReadings>,
    /// What became of the target.
    pub target: TargetState,
    /// What the command has used, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CpuTime>,
    /// What the agent itself has used.
    #[serde(default)]
    pub agent: ProcessUse,
}

impl Readings {
    /// What is still being detached of all sources.
    pub fn detaching(&self) -> Detaching {
        let sum = |of: fn(&Detaching) -> u32| self.sources.iter().map(|source| of(&source.detaching)).sum();
        Detaching { attached: sum(|it| it.attached), closing: sum(|it| it.closing) }
    }

    /// How far the guard has gone with the source with which it has gone furthest.
    pub fn guard(&self) -> GuardStage {
        self.sources.iter().fold(GuardStage::Watching, |furthest, source| furthest.further(source.guard.clone()))
    }
}

/// Counters and state of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceReadings {
    /// One for each stream; for a script one for each program of its plan; for a trace one for all that was written
    /// (`hits`) and lost (`ring_full`), then one for each dynamic event (`hits` and `missed`). None if it does not record.
    pub probes: Vec<ProbeReading>,
    /// How far the guard has gone.
    #[serde(default, skip_serializing_if = "GuardStage::is_watching")]
    pub guard: GuardStage,
    /// What is still being detached after a stop.
    #[serde(default, skip_serializing_if = "Detaching::is_done")]
    pub detaching: Detaching,
    /// Until when everything was recorded that it records, monotonic nanoseconds, once it is being detached, which takes its time
    /// on a busy machine; none before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_until_ns: Option<u64>,
}

/// Time on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTime {
    /// In user space, nanoseconds.
    pub user_ns: u64,
    /// In the kernel, nanoseconds.
    pub system_ns: u64,
}

/// What a process has used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessUse {
    /// Time on a CPU, nanoseconds.
    pub cpu_ns: u64,
    /// The most memory that it had resident, bytes.
    pub peak_bytes: u64,
}

impl ProcessUse {
    /// Of the process that asks, with what its children without rights used that have ended.
    pub fn own() -> Self {
        Self { cpu_ns: Self::own_cpu_ns() + crate::sandbox::children_cpu_ns(), peak_bytes: peak_bytes() }
    }

    /// Time on a CPU of the process that asks alone, nanoseconds: its children work for whoever asks for a script too, and no
    /// running capture must end for that.
    pub fn own_cpu_ns() -> u64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
    }
}

/// `VmHWM` of the own process; 0 if it cannot be read.
fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// Bytes of memory that this process has resident now; 0 if that cannot be read.
pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// What a capture used more of than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overspent {
    /// Of what.
    pub of: BudgetOf,
    /// How much, in the unit of that.
    pub used: u64,
    /// How much it may use.
    pub budget: u64,
}

/// What there are budgets of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetOf {
    /// Time of the probes, thousandths of one CPU.
    Probes,
    /// Time of the probes to pass over what others did, thousandths of one CPU: the budget is that of the probes for each
    /// CPU of the machine.
    Passing,
    /// Rows, a second.
    Rows,
    /// Bytes of records, a second.
    Bytes,
    /// Time of the agent, thousandths of one CPU.
    AgentCpu,
    /// Memory of the agent, bytes.
    AgentMemory,
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
        /// Why.
        over: Overspent,
    },
    /// It lets fewer rows be recorded, which are counted as [`ProbeReading::limited`], or has counters read more rarely.
    Thinned {
        /// Why.
        over: Overspent,
        /// At most so many rows a second are recorded, over all CPUs; none where no rows are left out.
        rows_per_s: Option<u64>,
    },
    /// It has detached all probes. The rings keep what they hold; the capture can only be stopped.
    Detached {
        /// Why.
        over: Overspent,
    },
}

impl GuardStage {
    /// Whether there was no reason to do anything.
    pub fn is_watching(&self) -> bool {
        *self == Self::Watching
    }

    /// Whether nothing runs any more.
    pub fn is_detached(&self) -> bool {
        matches!(self, Self::Detached { .. })
    }

    /// Why something was done.
    pub fn over(&self) -> Option<Overspent> {
        match self {
            Self::Watching => None,
            Self::Warned { over } | Self::Thinned { over, .. } | Self::Detached { over } => Some(*over),
        }
    }

    /// The one of two guards that has gone further.
    #[must_use]
    pub fn further(self, other: Self) -> Self {
        let step = |stage: &Self| match stage {
            Self::Watching => 0,
            Self::Warned { .. } => 1,
            Self::Thinned { .. } => 2,
            Self::Detached { .. } => 3,
        };
        if step(&other) > step(&self) { other } else { self }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_what_it_uses() {
        let before = ProcessUse::own();
        let mut sum = 0_u64;
        while ProcessUse::own().cpu_ns <= before.cpu_ns {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(before.peak_bytes > 1 << 20, "a test program is larger than a MiB: {before:?}");
    }
}

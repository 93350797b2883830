//! What one look at the running capture gave.

use bathyscope_link::activity::Activity;
use serde::Serialize;

/// Samples of a function, or of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct SampledLine {
    /// The function, or the process's name.
    pub(super) name: String,
    /// The file that the function is in; empty of a process.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) module: String,
    /// Whether the function is the kernel's.
    pub(super) is_kernel: bool,
    /// The process; 0 of a function.
    pub(super) pid: u64,
    /// Weight of samples in itself.
    pub(super) own: u64,
    /// The same with what it called.
    pub(super) total: u64,
    /// How many samples were in itself.
    pub(super) samples: u64,
}

/// All of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct TopData {
    /// What is sampled by.
    pub(super) event: String,
    /// Seconds since the capture began.
    pub(super) elapsed_s: f64,
    /// What weights count.
    pub(super) unit: &'static str,
    /// Samples that the lines are of.
    pub(super) samples: u64,
    /// Their weight.
    pub(super) weight: u64,
    /// Samples that were lost since the capture began.
    pub(super) lost: u64,
    /// Share of one CPU that this process uses, in thousandths.
    pub(super) own_cpu_permille: f64,
    /// The same of the agent.
    pub(super) agent_cpu_permille: f64,
    /// What the guard has done and why; empty if nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) guard: String,
    /// Functions.
    pub(super) functions: Vec<SampledLine>,
    /// Processes by their samples.
    pub(super) processes: Vec<SampledLine>,
    /// What processes use; none before the counters were read twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) activity: Option<Activity>,
    /// Why the counters were not read; empty if they were.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) absent: String,
}

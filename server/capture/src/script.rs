//! What a capture keeps of the script that made it, besides its rows.

use serde::{Deserialize, Serialize};

/// A compiled script, and what became of its probes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptRecord {
    /// What its rows and maps mean: the compiler's plan as JSON, kept as it was so that output can be made again from rows.
    pub plan: String,
    /// One for each program.
    pub probes: Vec<ScriptProbe>,
    /// What `exit()` said; none if the script did not end itself.
    pub exit_code: Option<i64>,
}

/// Totals of one program of a script. `hits = filtered + ran`; what a hit that ran sends or counts is the script's choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptProbe {
    /// Its attach points, as `probe` gives them, the first few of many.
    pub name: String,
    /// Line of the script, from 1.
    pub line: u32,
    /// How many attach points it has.
    pub attached: u32,
    /// Times it ran.
    pub hits: u64,
    /// Hits that predicate or target rejected.
    pub filtered: u64,
    /// Records that did not fit into the ring.
    pub ring_full: u64,
    /// Updates that a full map refused.
    pub map_full: u64,
    /// Reads and other helpers that failed: the value is empty or zero.
    pub helper_failed: u64,
    /// Stacks that could not be kept.
    pub stack_lost: u64,
    /// Hits that the kernel did not deliver.
    pub missed: u64,
    /// Hits that were left out because too many runs on the CPU had been preempted and not ended.
    pub nested: u64,
    /// Nanoseconds for each hit, where they were measured.
    pub ns_per_hit: Option<f64>,
    /// Why some of its attach points are missing; empty if none is.
    pub trouble: String,
}

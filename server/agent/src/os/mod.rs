//! What the operating system offers, as it is: bpf(2), perf_event_open(2), tracefs, counters in files, CPUs, control groups.
//!
//! Nothing here knows of captures, sessions or requests; engines, trials and budgets are made of it.

pub(crate) mod bpf;
pub(crate) mod busy;
pub(crate) mod cgroups;
pub(crate) mod cpus;
pub(crate) mod loader;
pub(crate) mod owner;
pub(crate) mod perf;
pub(crate) mod perf_event;
pub(crate) mod proc_counters;
pub(crate) mod sideband;
pub(crate) mod tracefs;

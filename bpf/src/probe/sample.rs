use super::{ProbeError, TargetFilter};
use crate::ir::Program;

/// Which samples of a perf event are kept.
#[derive(Clone, Copy, Debug)]
pub struct SampleFilter<'a> {
    /// The program's name, which its counters' name begins with: at most 8 letters, digits and `_`.
    pub name: &'a str,
    /// Whose samples.
    pub target: TargetFilter,
    /// Whether samples of idle CPUs (thread 0) are dropped.
    pub skip_idle: bool,
}

/// A program of type perf_event that returns 1 for the samples to keep, and the name of its counters.
///
/// # Errors
/// If the name cannot be one.
pub fn sample_filter_program(filter: &SampleFilter<'_>) -> Result<(Program, String), ProbeError> {
    let _ = filter;
    unimplemented!()
}

//! The program that decides which samples of a perf event are kept.

use super::{ProbeError, TargetFilter, frame::Frame};
use crate::ir::{End, Operand, Program, ProgramKind, Test};

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

/// A program of type perf_event that returns 1 for the samples to keep, and the name of its counters (as
/// [`super::ProbeProgram::counters`]; `ring_full` stays 0).
///
/// # Errors
/// If the name cannot be one.
pub fn sample_filter_program(filter: &SampleFilter<'_>) -> Result<(Program, String), ProbeError> {
    let mut frame = Frame::new(filter.name, ProgramKind::PerfEvent)?;
    if filter.skip_idle {
        let tid = frame.tid();
        let busy = frame.builder.block();
        frame.builder.branch(Test::Eq, tid, 0, frame.filtered, busy);
        frame.builder.switch_to(busy);
    }
    frame.require_target(filter.target);
    frame.builder.end(End::Return(Operand::Constant(1)));
    let counters = frame.counters_name.clone();
    Ok((frame.finish(), counters))
}

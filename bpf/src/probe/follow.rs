use bathyscope_catalog::EventFormat;

use super::ProbeError;
use crate::ir::Program;

/// The most processes and threads that are followed at a time.
pub const TARGETS_MAX: u32 = 1 << 16;

/// A program for `sched:sched_process_fork` that adds the child to the targets where the parent is one.
///
/// # Errors
/// If the name or the format does not fit.
pub fn fork_program(name: &str, format: &EventFormat) -> Result<Program, ProbeError> {
    let _ = (name, format);
    unimplemented!()
}

/// A program for `sched:sched_process_free` that removes a process that is gone.
///
/// # Errors
/// If the name or the format does not fit.
pub fn free_program(name: &str, format: &EventFormat) -> Result<Program, ProbeError> {
    let _ = (name, format);
    unimplemented!()
}

use super::{ProbeError, ProbeProgram, TracepointProbe};

/// The program of one tracepoint of a capture.
///
/// # Errors
/// If a field or the predicate does not fit the event, or a size or name its limits.
pub fn tracepoint_program(probe: &TracepointProbe<'_>) -> Result<ProbeProgram, ProbeError> {
    let _ = probe;
    unimplemented!()
}

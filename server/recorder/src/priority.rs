//! Whether the threads that read a capture run before other programs.
//!
//! The console has no rights. Whoever starts it lets it raise its own threads so far and no further (`RLIMIT_NICE`), and its filter
//! of system calls lets each thread change its own niceness only.

use bathyscope_capture::ReadingPriority;
use rustix::process::Resource;

use crate::StartError;

/// The niceness of threads that read urgently.
pub(crate) const URGENT_NICENESS: i32 = -10;
/// What the limit of niceness has to be for that: the kernel counts it from 20 downwards.
pub const URGENT_NICE_LIMIT: u64 = 20 + URGENT_NICENESS.unsigned_abs() as u64;

/// Refuses a priority that the threads of this process cannot have.
pub(crate) fn check(wanted: ReadingPriority) -> Result<(), StartError> {
    // Without a value it has no limit.
    let limit = rustix::process::getrlimit(Resource::Nice).current;
    match wanted {
        ReadingPriority::High if limit.is_some_and(|limit| limit < URGENT_NICE_LIMIT) => Err(StartError::Priority),
        _ => Ok(()),
    }
}

/// Gives this thread the priority.
pub(crate) fn take(wanted: ReadingPriority) {
    // None is the calling thread: each has a niceness of its own.
    if wanted == ReadingPriority::High
        && let Err(error) = rustix::process::setpriority_process(None, URGENT_NICENESS)
    {
        tracing::warn!(%error, "a thread that reads a capture runs with the usual priority");
    }
}

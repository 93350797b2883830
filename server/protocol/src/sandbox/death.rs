//! How a child ended, in words.

use std::io;

use rustix::process::WaitIdStatus;

use super::Limits;

/// The status of a child whose work has panicked.
pub(super) const PANICKED: i32 = 101;

/// Why a child gave no answer. Each text tells what happened; what it was for is the caller's to say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// It could not be started.
    #[error("{doing} failed")]
    Start {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It could not give up a right, and ended.
    #[error("the process without rights could not be confined: {step}")]
    Confine {
        /// What failed.
        step: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It wanted more memory than it may have, or more stack.
    #[error("it needs more than {mib} MiB of memory")]
    Memory {
        /// What it may have.
        mib: u64,
    },
    /// It took too long.
    #[error("it took longer than {seconds} s")]
    Time {
        /// What it may take.
        seconds: u64,
    },
    /// It made a system call that it may not make.
    #[error("the process without rights made a system call that is forbidden to it, and was ended")]
    Forbidden,
    /// It was ended by a signal.
    #[error("the process without rights was ended by signal {signal}")]
    Killed {
        /// Which.
        signal: i32,
    },
    /// It ended before its work was done.
    #[error("the process without rights ended with status {status} before its work was done")]
    Ended {
        /// Its status.
        status: i32,
    },
    /// It closed its socket and did not end.
    #[error("the process without rights did not answer, and was ended")]
    Silent,
    /// It said more than it may.
    #[error("its answer has {bytes} bytes, and at most {most} are taken")]
    TooLarge {
        /// How much.
        bytes: usize,
        /// What it may say.
        most: usize,
    },
}

/// What a status means.
pub(super) fn of_status(status: &WaitIdStatus, limits: &Limits) -> SandboxError {
    let Some(signal) = status.terminating_signal() else {
        return SandboxError::Ended { status: status.exit_status().unwrap_or(-1) };
    };
    match signal {
        libc::SIGXCPU => SandboxError::Time { seconds: limits.cpu_seconds },
        // Where there is no memory, the standard library aborts; where there is no stack, either.
        libc::SIGABRT | libc::SIGSEGV | libc::SIGBUS => SandboxError::Memory { mib: limits.memory_bytes >> 20 },
        libc::SIGSYS => SandboxError::Forbidden,
        signal => SandboxError::Killed { signal },
    }
}

//! The programs that record what threads do: which of them has which CPU, and who wakes whom.
//!
//! Three raw tracepoints tell all of it. `sched_switch` runs as the thread that leaves the CPU and gives the one that gets it,
//! `sched_waking` runs as the waker, and so does `sched_wakeup_new` for a thread that has never run. `sched_wakeup` has no
//! program: it runs wherever the thread is put into a queue, often not as the waker, and tells nothing that `sched_waking` and
//! the next switch do not tell. Neither has `sched_process_exit`: the last switch of a thread tells that it has ended.
//!
//! A raw tracepoint's arguments are the kernel's structures. Where their members are comes from the kernel's types
//! ([`StatePlaces`]), and a switch reads one place of the thread that gets the CPU; of the one that leaves it, all is told by
//! the arguments and by whose context the program runs in. Typed raw tracepoints (`tp_btf`) would save that one read and cost
//! a trampoline instead.
//!
//! A switch from a thread that is left uninterruptible has the innermost frames of its stack, which tell where it blocks: no
//! tracepoint of the kernels from 6.1 on does (`sched_blocked_reason` is only in Android's).
//!
//! Names are not recorded: the process history has them.
//!
//! A switch is a target's where either thread is, a wake-up where the woken thread is, whoever wakes it. `hits = filtered +
//! limited + ring_full + records`, for switches and for wake-ups.

mod places;
mod programs;
mod task;

use crate::{
    ir,
    probe::{ProbeError, TargetFilter},
};

pub use places::{CgroupPlaces, StatePlaces};
pub use programs::programs;

/// The ring's name.
pub const RING: &str = "states_ring";
/// The name of the counters of switches: as of any probe ([`crate::probe::COUNTERS_BYTES`]).
pub const SWITCH_COUNTERS: &str = "switch_count";
/// The name of the counters of wake-ups.
pub const WAKE_COUNTERS: &str = "wake_count";

/// What the programs shall record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateProbe {
    /// Whose switches and wake-ups.
    pub target: TargetFilter,
    /// Bytes of the ring: a power of two, at least a page.
    pub ring_bytes: u32,
    /// Whether whole stacks are recorded where a thread of the target goes to sleep, however it does.
    pub sleep_stacks: bool,
    /// Whether stacks of wakers are recorded.
    pub wake_stacks: bool,
    /// Where the kernel has what.
    pub places: StatePlaces,
}

/// The programs, each for the raw tracepoint of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePrograms {
    /// For `sched_switch`.
    pub switch: ir::Program,
    /// For `sched_waking`.
    pub waking: ir::Program,
    /// For `sched_wakeup_new`.
    pub new: ir::Program,
}

/// Programs that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The ring has no possible size.
    #[error(transparent)]
    Ring(#[from] ProbeError),
    /// The kernel does not tell where it keeps what the target asks of a thread that does not run.
    #[error("this kernel does not tell {what} of a thread that is not running")]
    Untold {
        /// What, in words.
        what: &'static str,
    },
}

//! The programs that record system calls, for `raw_syscalls:sys_enter` and `sys_exit`.
//!
//! The entry program decides whether the call is wanted, and keeps its arguments and the memory that they point to. The
//! exit program adds the result, the time and the memory that the call has filled, and gives all of it to the ring as
//! one record of the length that it needs, in order of the calls' ends.
//!
//! What is kept between entry and exit belongs to the thread, and stays in the map until the thread ends: so a call
//! costs one lookup at each end, and no insertion or removal. The map does not allocate its entries beforehand: most
//! hosts have far fewer threads than it has room for, and an entry has some kilobytes. It does not forget what was not
//! used for long (LRU) either: a thread that waits in a call for hours is what people look for.
//!
//! Which calls are wanted, and what of their memory is copied, is a table that the programs search by the call's number;
//! so there is one pair of programs however many calls are recorded.
//!
//! Counting: `hits = filtered + ring_full + no_room + records`. A call counts when it is decided about: at the entry if
//! it is not wanted or does not return, else at the exit. One whose entry was not seen, because it began before the
//! capture, is recorded without start and arguments.
//!
//! Calls of 32-bit programs have numbers of their own, which tracepoints do not tell from the others; they are taken
//! for calls of 64-bit programs.

mod copy;
mod plan;
mod programs;
mod record;

use std::collections::BTreeSet;

use bathyscope_catalog::constants::Arch;

use crate::{ir, probe::TargetFilter};

pub use programs::programs;
pub use record::Record;

/// The ring's name.
pub const RING: &str = "sys_ring";
/// The name of the counters: a per-CPU array of one value of [`COUNTERS_BYTES`].
pub const COUNTERS: &str = "sys_count";
/// Bytes of the counters: hits, filtered, ring_full, no_room, each a `u64`.
pub const COUNTERS_BYTES: u32 = 32;
/// The most threads that are in calls or have made one.
pub const MAX_THREADS: u32 = 1 << 15;
/// Bytes of a record before its pieces.
pub const HEADER_BYTES: u32 = 120;
/// The most bytes of a text that is no path.
pub const MAX_STRING_BYTES: u16 = 1024;
/// The longest path that is asked for.
pub const MAX_PATH_BYTES: usize = 128;
/// In the map of targets: all calls of the process are recorded.
pub const TARGET_RUNS: u32 = 1;
/// In the map of targets: the process is ours until it executes the command; only that call is recorded.
pub const TARGET_WILL_EXECUTE: u32 = 2;

/// Where a record has what, little endian. After the header come pieces: argument, part, 1 if copied at the exit, 0
/// (a byte each), the length or a negative error (`i32`), then the bytes, filled up to a multiple of 8.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields of a record, explained by their names")]
pub struct Place;

#[allow(missing_docs, reason = "the fields of a record, explained by their names")]
impl Place {
    pub const START_NS: u32 = 0;
    pub const DURATION_NS: u32 = 8;
    pub const RESULT: u32 = 16;
    pub const PID: u32 = 24;
    pub const TID: u32 = 28;
    pub const NUMBER: u32 = 32;
    pub const CPU: u32 = 36;
    pub const ARGUMENTS: u32 = 40;
    pub const COMM: u32 = 88;
    /// Bytes of pieces.
    pub const USED: u32 = 104;
    /// [`RecordFlags`].
    pub const FLAGS: u32 = 108;
    /// Bits of entry pieces that could not be read, tried again at the exit.
    pub(crate) const FAILED: u32 = 112;
    /// Whether a path was the one asked for.
    pub(crate) const MATCHED: u32 = 116;
}

/// Bits of [`Place::FLAGS`].
#[derive(Clone, Copy, Debug)]
pub struct RecordFlags;

impl RecordFlags {
    /// Its thread is in the call.
    pub const ACTIVE: i64 = 1;
    /// Its entry was not seen: there are no arguments, and the start is the moment of its end.
    pub const NO_START: i64 = 2;
    /// It does not return: there is no result.
    pub const NO_RETURN: i64 = 4;
}

/// Which results are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// All.
    #[default]
    Any,
    /// Errors.
    Failed,
    /// All but errors.
    Succeeded,
}

/// What the programs shall record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyscallProbe {
    /// The processor, which says what the numbers mean.
    pub arch: Arch,
    /// The numbers of the calls; others than the tables have are left out.
    pub calls: BTreeSet<i64>,
    /// Whose calls.
    pub target: TargetFilter,
    /// Processes whose calls are not recorded: those that record, whose own calls would make more calls.
    pub excluded: Vec<u32>,
    /// Which results.
    pub outcome: Outcome,
    /// Only calls that took so long, 0 for all.
    pub min_duration_ns: u64,
    /// Only calls with a path that begins so, at most [`MAX_PATH_BYTES`].
    pub path: Option<Vec<u8>>,
    /// Bytes that are kept of a text or buffer, at most [`MAX_STRING_BYTES`].
    pub string_bytes: u16,
    /// Bytes of the ring: a power of two, at least a page.
    pub ring_bytes: u32,
}

/// The programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyscallPrograms {
    /// For `raw_syscalls:sys_enter`; to be attached last.
    pub enter: ir::Program,
    /// For `raw_syscalls:sys_exit`.
    pub exit: ir::Program,
    /// For `sched:sched_process_exit`; to be attached first.
    pub forget: ir::Program,
}

/// Programs that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyscallError {
    /// A number is outside its limits.
    #[error("{what} is {value}; it must be from {least} to {most}")]
    OutOfRange {
        /// What it is, in words.
        what: &'static str,
        /// What was given.
        value: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
}

impl SyscallProbe {
    fn check(&self) -> Result<(), SyscallError> {
        let within = |what: &'static str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(SyscallError::OutOfRange { what, value, least, most })
            }
        };
        within("the size of the ring", u64::from(self.ring_bytes), 4096, 1 << 30)?;
        within("whether the size of the ring is a power of two", u64::from(self.ring_bytes.is_power_of_two()), 1, 1)?;
        within("the length of texts", u64::from(self.string_bytes), 0, u64::from(MAX_STRING_BYTES))?;
        within("the number of calls", self.calls.len() as u64, 1, bathyscope_catalog::syscalls::MAX_CALLS as u64)?;
        within("the number of processes left out", self.excluded.len() as u64, 0, 8)?;
        match &self.path {
            Some(path) => within("the length of the path", path.len() as u64, 1, MAX_PATH_BYTES as u64),
            None => Ok(()),
        }
    }
}

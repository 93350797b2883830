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
//! Counting: `hits = filtered + ring_full + no_room + records`. A call counts when it is decided about: at
//! the entry if it is not wanted or does not return, else at the exit. One whose entry was not seen, because it began before
//! the capture, is recorded without start and arguments. Calls of processes that are no target count as `others` at their
//! entries, in a program that does as little as it can for them: they are everything else that the machine does.
//!
//! What calls cost that are recorded is measured by the programs themselves, for one of [`SAMPLED`] calls: so it can be told
//! apart from what it costs to pass over the others, which the kernel's statistics have in the same number.
//!
//! A call that does not end is recorded too: when its thread ends in it, by the program that forgets the thread; when the
//! capture ends before it, by a program that is run by hand once everything is detached and walks the map. Signals and
//! the ends of threads are records of the same ring, so that they stand in the order of what happened.
//!
//! On x86_64 calls of 32-bit programs have numbers of their own, which tracepoints do not tell from the others; any program
//! can make such calls. The kernel notes in the thread what kind of call it is in, and the programs read that
//! ([`CompatPlace`]): such a call's number has a bit of [`Abi`](bathyscope_catalog::syscalls::Abi) then, and is another
//! entry of the table. What is made through `socketcall` and `ipc` is recorded as the call that is meant. Calls of x32 have
//! their bit already. A kernel that does not tell its types does not tell where that note is: then no call's number has the
//! bit, and whoever asked is told so. On aarch64 the kernel has no such note; calls of 32-bit programs are taken for calls
//! of 64-bit programs there.
//!
//! At some ends the number is not that of the entry: a program that was executed has that of `execve` where it runs, and a
//! return from a signal's handler has none. There the number is the one that was kept.

mod beside;
mod compat;
mod copy;
mod data;
mod ends;
mod entries;
mod exits;
mod family;
mod places;
mod plan;
mod programs;
mod registers;
mod sockets;
mod stacks;

use std::collections::BTreeSet;

use bathyscope_capture::{Below, SyscallData, SyscallOutcome};
use bathyscope_catalog::{
    constants::Arch,
    types::{TypeKind, Types},
};

use crate::{ir, probe::TargetFilter};

pub(crate) use ends::kernel_number_by;
pub(crate) use places::place;
pub use places::{FamilyPlaces, FilePlaces, KernelPlaces, ProgramPlaces, SocketPlaces, TimePlaces};
pub use programs::programs;

/// The ring's name.
pub const RING: &str = "sys_ring";
/// The name of the counters: a per-CPU array of one value of [`COUNTERS_BYTES`].
pub const COUNTERS: &str = "sys_count";
/// Words of the counters, each a `u64`: hits, filtered, ring_full, no_room, others, and the nanoseconds that were spent on
/// calls that were recorded.
pub const COUNTERS_WORDS: usize = 6;
/// Bytes of the counters.
pub const COUNTERS_BYTES: u32 = 8 * COUNTERS_WORDS as u32;
/// Of so many calls one is measured, and counts for all of them: a power of two.
pub const SAMPLED: i64 = 1 << SAMPLED_SHIFT;
pub(crate) const SAMPLED_SHIFT: i64 = 4;
/// The most threads that are in calls or have made one.
pub const MAX_THREADS: u32 = 1 << 15;
/// The most bytes of a text that is no path.
pub const MAX_STRING_BYTES: u16 = 16 << 10;
/// The most bytes of a stack that are copied.
pub const STACK_BYTES: u32 = 16 << 10;
/// The most bytes of one record of data, and of all that a call has read or written.
pub const DATA_BYTES: u32 = 16 << 10;
/// See [`DATA_BYTES`].
pub const MAX_DATA_BYTES: u32 = 1 << 20;
/// The longest path that is asked for.
pub const MAX_PATH_BYTES: usize = 128;
/// In the map of targets: all calls of the process are recorded.
pub const TARGET_RUNS: u32 = 1;
/// In the map of targets: the process is ours until it executes the command; only that call is recorded.
pub const TARGET_WILL_EXECUTE: u32 = 2;

/// Where the kernel keeps how a thread ended, in bytes from the beginning of the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPlaces {
    /// `task_struct.exit_code`.
    pub exit_code: u32,
    /// `task_struct.signal`.
    pub signal: u32,
    /// `signal_struct.live`.
    pub live: u32,
    /// `signal_struct.flags`.
    pub flags: u32,
    /// `signal_struct.group_exit_code`.
    pub group_exit_code: u32,
}

impl EndPlaces {
    /// Looks the places up in the kernel's types; none if one is not there.
    pub fn find(types: &Types) -> Option<Self> {
        let place = |structure: &str, member: &str| {
            let field = types.field(types.find(TypeKind::Struct, structure)?, member)?;
            u32::try_from(field.byte_offset()).ok()
        };
        Some(Self {
            exit_code: place("task_struct", "exit_code")?,
            signal: place("task_struct", "signal")?,
            live: place("signal_struct", "live")?,
            flags: place("signal_struct", "flags")?,
            group_exit_code: place("signal_struct", "group_exit_code")?,
        })
    }
}

/// Where an x86_64 kernel notes that a thread is in a call of a 32-bit program: the bit 2 of a number of 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompatPlace {
    /// Bytes from the beginning of `task_struct`: of `thread_info.status`.
    pub status: u32,
}

impl CompatPlace {
    /// The bit: `TS_COMPAT`.
    pub(crate) const BIT: i64 = 2;

    /// Looks the place up in the kernel's types; none if it is not there.
    pub fn find(types: &Types) -> Option<Self> {
        let place = |structure: &str, member: &str| {
            let field = types.field(types.find(TypeKind::Struct, structure)?, member)?;
            u32::try_from(field.byte_offset()).ok()
        };
        Some(Self { status: place("task_struct", "thread_info")? + place("thread_info", "status")? })
    }
}

/// What the programs shall record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyscallProbe {
    /// The processor, which says what the numbers mean.
    pub arch: Arch,
    /// The numbers of the calls; others than the tables have are left out.
    pub calls: BTreeSet<i64>,
    /// Numbers of calls that are recorded as well, with whatever outcome, duration and path.
    pub besides: BTreeSet<i64>,
    /// Whose calls.
    pub target: TargetFilter,
    /// Processes whose calls are not recorded: those that record, whose own calls would make more calls.
    pub excluded: Vec<u32>,
    /// Which results.
    pub outcome: SyscallOutcome,
    /// Only calls that took so long, 0 for all.
    pub min_duration_ns: u64,
    /// Only calls with a path that begins so, at most [`MAX_PATH_BYTES`].
    pub path: Option<Vec<u8>>,
    /// Bytes that are kept of a text or buffer, at most [`MAX_STRING_BYTES`].
    pub string_bytes: u16,
    /// Bytes of the ring: a power of two, at least a page.
    pub ring_bytes: u32,
    /// Whether signals are recorded.
    pub signals: bool,
    /// Where the kernel keeps how threads ended, if that is recorded.
    pub ends: Option<EndPlaces>,
    /// Where the kernel tells calls of 32-bit programs, on x86_64. Without it they are taken for calls of 64-bit programs.
    pub compat: Option<CompatPlace>,
    /// Where the kernel keeps what is read beside calls.
    pub places: KernelPlaces,
    /// Whether entry and exit are raw tracepoints' programs: the kernel makes no record for them, which costs more than what
    /// the programs do for a call that they pass over. It has to tell its types for that.
    pub raw: bool,
    /// Whether it is recorded what descriptors without a path are.
    pub inodes: bool,
    /// Whether it is recorded how long calls ran on a CPU.
    pub cpu_time: bool,
    /// Whether it is recorded where programs called from.
    pub addresses: bool,
    /// Whether the stacks of threads are recorded that call, or get a signal.
    pub stacks: bool,
    /// Of which descriptors the data are recorded that are read and written.
    pub data: SyscallData,
    /// Only processes that descend from this one, and whether only those that it has made itself.
    pub below: Option<Below>,
    /// Whether it is recorded from which processes the caller's descends, and whose it is.
    pub ancestors: bool,
}

/// The programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyscallPrograms {
    /// For `raw_syscalls:sys_enter`, or the raw tracepoint `sys_enter`; to be attached last.
    pub enter: ir::Program,
    /// For `raw_syscalls:sys_exit`, or the raw tracepoint `sys_exit`.
    pub exit: ir::Program,
    /// For `sched:sched_process_exit`; to be attached first.
    pub forget: ir::Program,
    /// For the raw tracepoint `signal_deliver`, if signals are recorded.
    pub signal: Option<ir::Program>,
    /// To be run by hand once after the others were detached: records the calls that have not returned.
    pub inside: ir::Program,
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
        within("the number of calls", self.calls.len() as u64, 0, plan::PLACES.cast_unsigned())?;
        within("the number of processes left out", self.excluded.len() as u64, 0, 8)?;
        match &self.path {
            Some(path) => within("the length of the path", path.len() as u64, 1, MAX_PATH_BYTES as u64),
            None => Ok(()),
        }
    }
}

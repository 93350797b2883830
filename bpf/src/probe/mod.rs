//! The programs that a capture attaches, as IR.
//!
//! Every program counts each hit first, then asks for the target, then the predicate; what they reject is counted as
//! filtered. What remains reserves a record of constant size in the ring; if the ring is full that is counted, else the
//! record is filled and submitted without waking anybody, because readers poll.

mod condition;
mod follow;
mod frame;
mod record;
mod sample;
mod target;
mod text;

use bathyscope_capture::{Predicate, PredicateError};
use bathyscope_catalog::{EventFormat, FieldError};

use crate::ir;

pub use follow::{Parents, TARGETS_MAX, fork_program, free_program};
pub(crate) use frame::{Frame, ProbeCounter};
pub(crate) use record::check_ring;
pub use record::tracepoint_program;
pub use sample::{SampleFilter, sample_filter_program};
pub use target::{CommPattern, TargetFilter};
pub(crate) use target::{look_up, require_comm, targets_map, tgid_of};

/// Room for text that an event carries (`__data_loc`), with its final NUL.
pub const DYNAMIC_TEXT_ROOM: u16 = 64;
/// Room for text in a process's memory, such as a path, with its final NUL.
pub const USER_TEXT_ROOM: u16 = 256;
/// Bytes of a thread's name, with its final NUL.
pub const COMM_BYTES: u16 = 16;
/// The largest record.
pub const MAX_RECORD_BYTES: u32 = 16 << 10;
/// The name of the map of target processes, which the programs of a capture share.
pub const TARGETS_MAP: &str = "targets";
/// Bytes of the value of a counters map: hits, filtered, ring_full, limited, then two that the limit of rows needs, each a
/// `u64`, at key 0, one for each CPU.
pub const COUNTERS_BYTES: u32 = 48;
/// The name of the map with the guard's limits, which the programs of a capture share: at key 0 so many `u64` as
/// [`ALLOWANCE_WORDS`]. The first are limits for each window of [`ALLOWANCE_WINDOW_NS`], 0 for none: rows of one program on
/// one CPU, rows of the capture, bytes of its records. The others are the programs' own.
pub const ALLOWANCE_MAP: &str = "allowance";
/// Words of the value of the map of limits.
pub const ALLOWANCE_WORDS: usize = 6;
/// The time for which an allowance holds.
pub const ALLOWANCE_WINDOW_NS: u64 = 1 << 27;

/// What a tracepoint's program shall do.
#[derive(Clone, Copy, Debug)]
pub struct TracepointProbe<'a> {
    /// Its name, which its maps' names begin with: at most 8 letters, digits and `_`.
    pub name: &'a str,
    /// The tracepoint.
    pub format: &'a EventFormat,
    /// Its own fields to record; see [`bathyscope_catalog::columns_of`] for how they may be written.
    pub fields: &'a [String],
    /// The condition.
    pub predicate: Option<&'a Predicate>,
    /// Whose hits.
    pub target: TargetFilter,
    /// Bytes of the ring: a power of two, at least a page.
    pub ring_bytes: u32,
}

/// A program with the layout of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeProgram {
    /// The program.
    pub program: ir::Program,
    /// Where the columns are in a record, the common ones first.
    pub layout: Vec<ColumnPlace>,
    /// Bytes of a record.
    pub record_bytes: u32,
    /// The ring's name.
    pub ring: String,
    /// The name of the counters: a per-CPU array of one value of [`COUNTERS_BYTES`].
    pub counters: String,
}

/// Where a column is in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPlace {
    /// The column's name.
    pub name: String,
    /// Offset of its first byte.
    pub offset: u32,
    /// What is there.
    pub encoding: Encoding,
}

/// What is at a column's place, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// An unsigned number.
    Unsigned {
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Whether people read it in base sixteen.
        hex: bool,
    },
    /// A signed number.
    Signed {
        /// 1, 2, 4 or 8.
        bytes: u8,
    },
    /// Text that ends at the first NUL or after `bytes`.
    FixedText {
        /// Room for it.
        bytes: u16,
    },
    /// An `i32` that is the length with the NUL, or a negative error; then room for text.
    LengthText {
        /// Bytes of room after the number.
        room: u16,
    },
}

/// A program that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// A field or a name in the predicate does not fit the event.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The predicate is malformed.
    #[error("the predicate cannot be compiled")]
    Predicate(#[from] PredicateError),
    /// The program's name cannot be one.
    #[error("`{name}` cannot name a program; use 1 to {most} letters, digits and _")]
    Name {
        /// What was given, cut.
        name: String,
        /// The most characters.
        most: usize,
    },
    /// The ring's size cannot be one.
    #[error("a ring of {bytes} bytes is not possible; use a power of two from {least} to {most}")]
    Ring {
        /// What was given.
        bytes: u32,
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A record would be too large.
    #[error("a record of {bytes} bytes is larger than {MAX_RECORD_BYTES}; record fewer fields")]
    Record {
        /// Its bytes.
        bytes: u32,
    },
    /// The tracepoint lacks a field that the program needs.
    #[error("{tracepoint} has no number called `{field}`, which following child processes needs")]
    Lacking {
        /// The event.
        tracepoint: String,
        /// The field.
        field: &'static str,
    },
}

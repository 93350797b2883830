//! What a recorder hands to the store at one time: one transaction, so a capture always ends at such a boundary.

use serde::{Deserialize, Serialize};

use crate::{EncodedChunk, Frame, FrameId, FunctionCode, Ledger, Mapping, MappingId, Stack, StackId, StringId, Symbol};

/// New rows and everything that they refer to. Dictionaries hold only what earlier appends did not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Append {
    /// Chunks by stream index.
    pub chunks: Vec<(u16, EncodedChunk)>,
    /// New strings.
    pub strings: Vec<NewString>,
    /// New mappings.
    pub mappings: Vec<(MappingId, Mapping)>,
    /// New frames.
    pub frames: Vec<(FrameId, Frame)>,
    /// New stacks.
    pub stacks: Vec<(StackId, Stack)>,
    /// Names of frames, new or better than before.
    pub symbols: Vec<(FrameId, Symbol)>,
    /// Instructions of functions, new or better than before.
    pub code: Vec<FunctionCode>,
    /// Changes of the process history, in time order.
    pub processes: Vec<ProcessChange>,
    /// What the traced command printed.
    pub output: Vec<OutputLine>,
    /// The ledger as of these rows; replaces the one before.
    pub ledger: Option<Ledger>,
    /// The latest moment covered, monotonic nanoseconds; 0 where it does not advance.
    pub end_ns: u64,
}

/// A string with its id.
pub type NewString = (StringId, Vec<u8>);

/// Something that happened to a process or thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessChange {
    /// When, monotonic nanoseconds; 0 for what was so when the capture began.
    pub time_ns: u64,
    /// The process (tgid).
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What happened.
    pub kind: ProcessChangeKind,
}

/// What happened to a process or thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessChangeKind {
    /// It existed when the capture began, with this name.
    Existing {
        /// Its name.
        comm: StringId,
    },
    /// It was forked by `parent_pid`.
    Fork {
        /// The process that forked it.
        parent_pid: u32,
    },
    /// It was renamed, or executed a program if `exec`.
    Comm {
        /// The new name.
        comm: StringId,
        /// Whether by execve.
        exec: bool,
    },
    /// It ended.
    Exit,
    /// Of a process that was there before: which one started it, or has taken it over since. `tid` is 0.
    Parent {
        /// That process.
        parent_pid: u32,
    },
    /// It runs as this user. `tid` is 0.
    User {
        /// The user's name, or number where it has none.
        name: StringId,
    },
    /// It is in this control group. `tid` is 0.
    Group {
        /// The path from the root of the file system of control groups.
        path: StringId,
    },
}

/// Which of its outputs a traced command wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of the output of a traced command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLine {
    /// When it was read, monotonic nanoseconds.
    pub time_ns: u64,
    /// Where it was written.
    pub stream: OutputStream,
    /// The bytes, at most 64 KiB.
    pub bytes: Vec<u8>,
}

//! Values as columns keep them, and back.

use bathyscope_capture::{
    CodeMissing, ColumnStats, FrameId, LossStage, Machine, MappingKind, OutputStream, ProcessChangeKind,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::StoreError;

/// A struct that is read from the columns of a row that are called like its fields. By hand because the derive macro of sqlx
/// builds sqlx and SQLite a second time, for the compiler.
macro_rules! row_struct {
    ($(#[$attribute:meta])* struct $name:ident { $($column:ident: $ty:ty,)* }) => {
        $(#[$attribute])*
        struct $name {
            $($column: $ty,)*
        }

        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                Ok(Self { $($column: sqlx::Row::try_get(row, stringify!($column))?,)* })
            }
        }
    };
}
pub(crate) use row_struct;

/// Bytes that one column's extremes take.
const STATS_BYTES: usize = 17;

/// An unsigned number as the signed one with the same bits: SQLite has no unsigned ones.
pub(crate) const fn sql(value: u64) -> i64 {
    value.cast_signed()
}

/// The unsigned number that [`sql`] kept.
pub(crate) const fn unsigned(value: i64) -> u64 {
    value.cast_unsigned()
}

/// Tags of a capture as a row has them, with blanks around each.
pub(crate) fn tags_from(stored: &str) -> std::collections::BTreeSet<String> {
    stored.split_whitespace().map(str::to_owned).collect()
}

/// A number that was stored as a 32-bit one.
pub(crate) fn narrow<T: TryFrom<i64>>(value: i64, what: &'static str) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_range| unreadable(what))
}

/// For a value in the database that no version of this program writes.
pub(crate) fn unreadable(what: &str) -> StoreError {
    StoreError::Damaged { path: std::path::PathBuf::new(), why: format!("it holds {what} that cannot be read") }
}

pub(crate) fn to_json(value: &impl Serialize, what: &'static str) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused { what, why: error.to_string() })
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T, StoreError> {
    serde_json::from_slice(text.as_bytes()).map_err(|_syntax| unreadable(what))
}

pub(crate) fn stats_to_bytes(stats: &[ColumnStats]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stats.len() * STATS_BYTES);
    for column in stats {
        let (tag, least, most) = match *column {
            ColumnStats::None => (0, 0, 0),
            ColumnStats::U64(least, most) => (1, least, most),
            ColumnStats::I64(least, most) => (2, least.cast_unsigned(), most.cast_unsigned()),
        };
        out.push(tag);
        out.extend_from_slice(&least.to_le_bytes());
        out.extend_from_slice(&most.to_le_bytes());
    }
    out
}

pub(crate) fn stats_from_bytes(bytes: &[u8]) -> Result<Vec<ColumnStats>, StoreError> {
    let bad = || unreadable("extremes of a chunk");
    let (entries, rest) = bytes.as_chunks::<STATS_BYTES>();
    if !rest.is_empty() {
        return Err(bad());
    }
    let read = |entry: &[u8; STATS_BYTES]| {
        let number = |at: usize| entry.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let (least, most) = (number(1)?, number(9)?);
        match entry.first()? {
            0 => Some(ColumnStats::None),
            1 => Some(ColumnStats::U64(least, most)),
            2 => Some(ColumnStats::I64(least.cast_signed(), most.cast_signed())),
            _ => None,
        }
    };
    entries.iter().map(read).collect::<Option<_>>().ok_or_else(bad)
}

pub(crate) fn stack_to_bytes(stack: &[FrameId]) -> Vec<u8> {
    stack.iter().flat_map(|frame| frame.to_le_bytes()).collect()
}

pub(crate) fn stack_from_bytes<S: FromIterator<FrameId>>(bytes: &[u8]) -> Result<S, StoreError> {
    let (frames, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() {
        Ok(frames.iter().map(|frame| u32::from_le_bytes(*frame)).collect())
    } else {
        Err(unreadable("a stack"))
    }
}

pub(crate) const fn mapping_kind(kind: MappingKind) -> &'static str {
    match kind {
        MappingKind::Kernel => "kernel",
        MappingKind::File => "file",
        MappingKind::Anonymous => "anonymous",
        MappingKind::Unknown => "unknown",
    }
}

pub(crate) fn mapping_kind_from(text: &str) -> Result<MappingKind, StoreError> {
    let all = [MappingKind::Kernel, MappingKind::File, MappingKind::Anonymous, MappingKind::Unknown];
    all.into_iter().find(|kind| mapping_kind(*kind) == text).ok_or_else(|| unreadable("a kind of mapping"))
}

pub(crate) const fn machine(machine: Machine) -> &'static str {
    match machine {
        Machine::X86_64 => "x86_64",
        Machine::X86 => "x86",
        Machine::Aarch64 => "aarch64",
        Machine::Other => "other",
    }
}

pub(crate) fn machine_from(text: &str) -> Result<Machine, StoreError> {
    let all = [Machine::X86_64, Machine::X86, Machine::Aarch64, Machine::Other];
    all.into_iter().find(|known| machine(*known) == text).ok_or_else(|| unreadable("a machine"))
}

pub(crate) const fn code_missing(why: CodeMissing) -> &'static str {
    match why {
        CodeMissing::NoFile => "no_file",
        CodeMissing::OtherFile => "other_file",
        CodeMissing::Unreadable => "unreadable",
        CodeMissing::NoRoom => "no_room",
    }
}

pub(crate) fn code_missing_from(text: &str) -> Result<CodeMissing, StoreError> {
    use CodeMissing::{NoFile, NoRoom, OtherFile, Unreadable};
    let all = [NoFile, OtherFile, Unreadable, NoRoom];
    all.into_iter().find(|why| code_missing(*why) == text).ok_or_else(|| unreadable("a reason for missing code"))
}

pub(crate) fn loss_stage_from(text: &str) -> Result<LossStage, StoreError> {
    let all = [
        LossStage::KernelMissed,
        LossStage::Limited,
        LossStage::RingFull,
        LossStage::MapFull,
        LossStage::StackLost,
        LossStage::HelperFailed,
        LossStage::Decode,
        LossStage::Store,
        LossStage::Interrupted,
        LossStage::NotKept,
    ];
    all.into_iter().find(|stage| stage.as_str() == text).ok_or_else(|| unreadable("a stage of a loss"))
}

/// What the columns `kind` and `value` have. No thread has the number 0, so what rows with it say of a process is of its own: who
/// started it, its user, its control group.
pub(crate) const fn process_change(kind: &ProcessChangeKind) -> (&'static str, u32) {
    match *kind {
        ProcessChangeKind::Parent { parent_pid } => ("fork", parent_pid),
        ProcessChangeKind::User { name } => ("comm", name),
        ProcessChangeKind::Group { path } => ("existing", path),
        ProcessChangeKind::Existing { comm } => ("existing", comm),
        ProcessChangeKind::Fork { parent_pid } => ("fork", parent_pid),
        ProcessChangeKind::Comm { comm, exec: false } => ("comm", comm),
        ProcessChangeKind::Comm { comm, exec: true } => ("exec", comm),
        ProcessChangeKind::Exit => ("exit", 0),
    }
}

/// What happened to a process or thread, by these columns. The idle process is the only one whose thread has the number 0.
pub(crate) fn process_change_from(
    [pid, tid]: [u32; 2],
    (kind, value): (&str, u32),
) -> Result<ProcessChangeKind, StoreError> {
    match kind {
        "fork" if tid == 0 && pid > 0 => Ok(ProcessChangeKind::Parent { parent_pid: value }),
        "comm" if tid == 0 && pid > 0 => Ok(ProcessChangeKind::User { name: value }),
        "existing" if tid == 0 && pid > 0 => Ok(ProcessChangeKind::Group { path: value }),
        "existing" => Ok(ProcessChangeKind::Existing { comm: value }),
        "fork" => Ok(ProcessChangeKind::Fork { parent_pid: value }),
        "comm" => Ok(ProcessChangeKind::Comm { comm: value, exec: false }),
        "exec" => Ok(ProcessChangeKind::Comm { comm: value, exec: true }),
        "exit" => Ok(ProcessChangeKind::Exit),
        _ => Err(unreadable("a change of a process")),
    }
}

pub(crate) const fn descriptor(stream: OutputStream) -> i64 {
    match stream {
        OutputStream::Stdout => 1,
        OutputStream::Stderr => 2,
    }
}

pub(crate) fn descriptor_from(number: i64) -> Result<OutputStream, StoreError> {
    match number {
        1 => Ok(OutputStream::Stdout),
        2 => Ok(OutputStream::Stderr),
        _ => Err(unreadable("a piece of output")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let stats = [ColumnStats::None, ColumnStats::U64(3, u64::MAX), ColumnStats::I64(i64::MIN, -1)];
        assert_eq!(stats_from_bytes(&stats_to_bytes(&stats)).unwrap(), stats);
        assert!(stats_from_bytes(&[0; 16]).is_err() && stats_from_bytes(&[9; 17]).is_err());
        assert_eq!(stack_from_bytes::<Vec<_>>(&stack_to_bytes(&[1, u32::MAX])).unwrap(), [1, u32::MAX]);
        assert!(stack_from_bytes::<Vec<_>>(&[1, 2, 3]).is_err());
        assert_eq!(unsigned(sql(u64::MAX)), u64::MAX);
        let of_thread = [
            ProcessChangeKind::Existing { comm: 3 },
            ProcessChangeKind::Fork { parent_pid: 7 },
            ProcessChangeKind::Comm { comm: 4, exec: true },
            ProcessChangeKind::Comm { comm: 4, exec: false },
            ProcessChangeKind::Exit,
        ];
        for kind in of_thread {
            let (text, value) = process_change(&kind);
            for ids in [[7, 7], [7, 9], [0, 0]] {
                assert_eq!(process_change_from(ids, (text, value)).unwrap(), kind);
            }
        }
        let of_process = [
            ProcessChangeKind::Parent { parent_pid: 1 },
            ProcessChangeKind::User { name: 5 },
            ProcessChangeKind::Group { path: 6 },
        ];
        for kind in of_process {
            let (text, value) = process_change(&kind);
            assert_eq!(process_change_from([7, 0], (text, value)).unwrap(), kind);
        }
        assert!(process_change_from([7, 0], ("born", 1)).is_err());
    }
}

//! What can go wrong, in words that say what to do about it.

use std::{
    io,
    path::{Path, PathBuf},
};

use bathyscope_capture::{CaptureId, NoteId};

use crate::{CaptureState, InvestigationId, LibraryKind};

/// The store could not do what was asked. What had been stored before stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The data directory does not exist.
    #[error("the data directory {} does not exist; create it, or name another with --data", path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// Another process has the database open.
    #[error("the database in {} is in use by {owner}; end it, or name another directory with --data", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who holds it, such as `process 4711`.
        owner: String,
    },
    /// The directory or the file cannot be written.
    #[error(
        "{} cannot be written; give this user the right to write there, mount it writable, or name another directory \
         with --data",
        path.display()
    )]
    ReadOnly {
        /// What cannot be written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody removed or replaced the file that is open.
    #[error(
        "{} was removed or replaced while it was in use: what is written is lost; put the file back, \
         or restart the console to use the file that is there now",
        path.display()
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The database was written by a newer version.
    #[error(
        "{} has schema version {found}, this program knows versions up to {known}; start the newer program, or name \
         another directory with --data",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The file is not a database of this program, or it is damaged.
    #[error(
        "{} cannot be used as a database: {why}; it was left as it is: restore a copy of it, or move it away to begin \
         with an empty one",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A part of a capture is not what was stored.
    #[error(
        "the {what} {first} to {last} of capture {id} are damaged on the disk: their checksum is wrong; restore a copy of \
         the database, or delete the capture"
    )]
    DamagedPart {
        /// The capture.
        id: CaptureId,
        /// Which part, such as `strings`.
        what: &'static str,
        /// The first id that the checksum is of.
        first: u32,
        /// The last id that the checksum is of.
        last: u32,
    },
    /// A chunk is not what was stored.
    #[error(
        "chunk {seq} of stream {stream} of capture {id} is damaged on the disk: {why}; restore a copy of the database, or \
         delete the capture"
    )]
    DamagedChunk {
        /// The capture.
        id: CaptureId,
        /// The stream's index.
        stream: u16,
        /// The chunk's number.
        seq: u32,
        /// What is wrong with it.
        why: String,
    },
    /// The tables of an older version could not be brought up to date. The file was left as it was.
    #[error("{} could not be brought from schema version {from} to {to}; it was left as it was", path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// Its version.
        from: i64,
        /// The version it should have got.
        to: i64,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process holds a lock in the database; nothing was changed, and the same call may be made again.
    #[error("the database is locked by another process; end that process, or wait until it is done")]
    Locked,
    /// There is no room for it; nothing of it was stored, and everything stored before stays.
    #[error(
        "the disk with the database is full: {free_bytes} bytes are free and {reserve_bytes} are kept free; \
         delete captures or free disk space"
    )]
    DiskFull {
        /// Free bytes on the file system when it was noticed.
        free_bytes: u64,
        /// Bytes that appends leave free.
        reserve_bytes: u64,
    },
    /// There is no such capture.
    #[error("there is no capture {id}")]
    NoCapture {
        /// Which was asked for.
        id: CaptureId,
    },
    /// There is no such note.
    #[error("capture {id} has no note {note}; it may have been removed meanwhile")]
    NoNote {
        /// The capture.
        id: CaptureId,
        /// Which was asked for.
        note: NoteId,
    },
    /// A note is not as it was when whoever changes it read it.
    #[error("note {note} was changed meanwhile; look at it as it is now, and change that")]
    NoteChanged {
        /// Which.
        note: NoteId,
    },
    /// There is no such investigation, or no such block of it.
    #[error("there is no investigation {id}, or no such block of it; it may have been deleted meanwhile")]
    NoInvestigation {
        /// The investigation.
        id: InvestigationId,
    },
    /// An investigation or a block is not as it was when whoever changes it read it.
    #[error("{what} was changed meanwhile; look at it as it is now, and change that")]
    InvestigationChanged {
        /// What.
        what: &'static str,
    },
    /// The description of a capture is not as it was when whoever changes it read it.
    #[error("the description of {id} was changed meanwhile; look at it as it is now, and change that")]
    DescriptionChanged {
        /// The capture.
        id: CaptureId,
    },
    /// There is no such chunk.
    #[error("capture {id} has no chunk {seq} in stream {stream}")]
    NoChunk {
        /// The capture.
        id: CaptureId,
        /// The stream's index.
        stream: u16,
        /// The chunk's number.
        seq: u32,
    },
    /// A capture with that id exists already.
    #[error("there is already a capture {id}")]
    Exists {
        /// The id.
        id: CaptureId,
    },
    /// An account has the name already.
    #[error("there is an account `{name}` already; names that differ in capitals only are the same")]
    AccountExists {
        /// The name.
        name: String,
    },
    /// Without it no enabled account would be an admin's.
    #[error(
        "{name} is the only admin who can log in by password; make another admin first, or do it at a terminal of this host"
    )]
    LastAdmin {
        /// The name.
        name: String,
    },
    /// The library has one of the name already, of the same owner or shared.
    #[error("there is a {} `{name}` in the library already", kind.as_str())]
    LibraryNameTaken {
        /// What it is.
        kind: LibraryKind,
        /// The name.
        name: String,
    },
    /// There is nothing of this id in the library that is whose it was thought to be.
    #[error("there is nothing with the id {id} in the library; it may have been deleted meanwhile")]
    NoLibraryItem {
        /// Which was asked for.
        id: u32,
    },
    /// Something of the library is not as it was when whoever changes it read it.
    #[error("`{name}` was changed meanwhile; look at it as it is now, and change that")]
    LibraryChanged {
        /// Its name.
        name: String,
    },
    /// The capture is being recorded and cannot be deleted or exported now.
    #[error("capture {id} is being recorded; stop it first")]
    Recording {
        /// The capture.
        id: CaptureId,
    },
    /// The capture has ended, so nothing can be added to it.
    #[error("nothing can be added to capture {id}: it is {state}")]
    NotRecording {
        /// The capture.
        id: CaptureId,
        /// How it ended.
        state: CaptureState,
    },
    /// A value is outside its limits.
    #[error("{what} cannot be stored: {why}")]
    Refused {
        /// Which part.
        what: &'static str,
        /// What is wrong and what the limit is.
        why: String,
    },
    /// A file cannot be imported; nothing of it was kept.
    #[error("the file is not a capture that can be imported: {why}")]
    Import {
        /// What is wrong with it.
        why: String,
    },
    /// A file could not be read or written.
    #[error("{doing} {}", path.display())]
    File {
        /// What was being done, such as `cannot create`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// SQLite refused in a way that has no words of its own here.
    #[error("the database failed while {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: sqlx::Error,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

/// Primary result codes of SQLite that have an error of their own here.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const IO: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
}

/// Turns an error of the database into one of the store's. Paths and free space are put in by [`StoreError::complete`],
/// where they are known.
pub(crate) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| {
        let database = source.as_database_error();
        let extended = database.and_then(|error| error.code()?.parse::<i32>().ok());
        let path = PathBuf::new();
        match extended.map(|extended| extended & 0xff) {
            Some(code::BUSY | code::LOCKED) => StoreError::Locked,
            Some(code::FULL) => StoreError::DiskFull { free_bytes: 0, reserve_bytes: 0 },
            Some(code::CORRUPT | code::NOTADB) => {
                let why = database.map(|error| error.message().to_owned()).unwrap_or_default();
                StoreError::Damaged { path, why }
            }
            Some(code::READONLY | code::CANTOPEN) => StoreError::ReadOnly { path, source: io::Error::other(source) },
            _ => StoreError::Database { doing, source },
        }
    }
}

impl StoreError {
    /// Whether SQLite could not read or write, which on a full disk is how some of its files fail.
    pub(crate) fn is_io(&self) -> bool {
        let Self::Database { source, .. } = self else { return false };
        let extended = source.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
        extended.is_some_and(|extended| extended & 0xff == code::IO)
    }

    /// Fills in what was not known where the error arose: the database's path, and how full its disk is.
    pub(crate) fn complete(self, database: &Path, space: impl FnOnce() -> (u64, u64)) -> Self {
        let empty = |path: &PathBuf| path.as_os_str().is_empty();
        match self {
            Self::Damaged { path, why } if empty(&path) => Self::Damaged { path: database.to_owned(), why },
            Self::ReadOnly { path, source } if empty(&path) => Self::ReadOnly { path: database.to_owned(), source },
            Self::DiskFull { free_bytes: 0, reserve_bytes: 0 } => {
                let (free_bytes, reserve_bytes) = space();
                Self::DiskFull { free_bytes, reserve_bytes }
            }
            other if other.is_io() => {
                let (free_bytes, reserve_bytes) = space();
                if free_bytes < FULL_BYTES { Self::DiskFull { free_bytes, reserve_bytes } } else { other }
            }
            other => other,
        }
    }
}

/// With less than this free, a failed write is taken for a full disk.
const FULL_BYTES: u64 = 256 << 10;

//! The door to the database.

use std::{path::Path, sync::Arc};

use bathyscope_capture::{
    Append, CaptureId, Frame, FrameId, Mapping, MappingId, OutputLine, ProcessChange, Stack, StackId, StringId, Symbol,
};

use crate::{
    AuditEntry, AuditRecord, CaptureRecord, ChunkInfo, End, NewCapture, NewSession, Options, Role, Session, StoreError,
    SummaryPage, SummaryQuery, TokenHash,
};

/// An open database. Cheap to clone; all clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {}

#[allow(clippy::unimplemented, clippy::unused_async, unused_variables, reason = "skeleton")]
impl Store {
    /// Opens the database `bathyscope.db` in `dir`, which must exist, or makes an empty one.
    ///
    /// Brings an older database up to date, with a copy of it beside it (`bathyscope.db.v1.bak`). Captures that were
    /// being recorded when the last process ended become `interrupted`, with a loss of stage `Interrupted` in each
    /// stream. Deletions that were not finished go on in the background.
    ///
    /// # Errors
    /// If the directory is missing, read-only or in use, or the file is damaged or newer: see [`StoreError`]. The file
    /// is then as it was.
    pub async fn open(dir: &Path, options: Options) -> Result<Self, StoreError> {
        unimplemented!()
    }

    /// Opens the database for reading, beside a process that has it open. Calls that change something fail with
    /// [`StoreError::Closed`].
    ///
    /// # Errors
    /// If there is no database, or it is damaged or newer.
    pub async fn open_read_only(dir: &Path) -> Result<Self, StoreError> {
        unimplemented!()
    }

    /// Ends the writer after the changes that wait, moves the write-ahead log into the file, and gives up the lock.
    /// Calls after that fail with [`StoreError::Closed`].
    pub async fn close(&self) {
        unimplemented!()
    }

    /// Makes a capture in state `recording`. On disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::Refused`] for what is too large, or the database's.
    pub async fn create(&self, new: NewCapture) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Adds rows and what they refer to, in one transaction. When it returns, they survive the end of this process by
    /// whatever means; a power failure may take the last seconds (control data is safe from that too).
    ///
    /// The chunks get numbers in the order in which they are given. Take an `Arc` to try again what was refused with
    /// [`StoreError::Locked`] or [`StoreError::DiskFull`]: nothing of it was stored.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`], [`StoreError::Locked`], [`StoreError::NotRecording`], [`StoreError::NoCapture`],
    /// [`StoreError::Refused`], or the database's.
    pub async fn append(&self, id: CaptureId, append: impl Into<Arc<Append>>) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Ends a capture. On disk when it returns; works on a full disk.
    ///
    /// # Errors
    /// [`StoreError::NotRecording`] if it has ended already, [`StoreError::NoCapture`], or the database's.
    pub async fn finish(&self, id: CaptureId, end: End) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Lists captures, newest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn summaries(&self, query: &SummaryQuery) -> Result<SummaryPage, StoreError> {
        unimplemented!()
    }

    /// Everything about a capture but its rows and dictionaries.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], or the database's.
    pub async fn capture(&self, id: CaptureId) -> Result<CaptureRecord, StoreError> {
        unimplemented!()
    }

    /// The chunks of a stream with numbers from `from_seq` on, in order; none for what does not exist.
    ///
    /// # Errors
    /// The database's.
    pub async fn chunk_index(&self, id: CaptureId, stream: u16, from_seq: u32) -> Result<Vec<ChunkInfo>, StoreError> {
        unimplemented!()
    }

    /// The bytes of a chunk, for `bathyscope_capture::decode_chunk`.
    ///
    /// # Errors
    /// [`StoreError::NoChunk`], or the database's.
    pub async fn chunk(&self, id: CaptureId, stream: u16, seq: u32) -> Result<Vec<u8>, StoreError> {
        unimplemented!()
    }

    /// The strings with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub async fn strings(&self, id: CaptureId, after: StringId) -> Result<Vec<(StringId, Vec<u8>)>, StoreError> {
        unimplemented!()
    }

    /// The mappings with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub async fn mappings(&self, id: CaptureId, after: MappingId) -> Result<Vec<(MappingId, Mapping)>, StoreError> {
        unimplemented!()
    }

    /// The frames with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub async fn frames(&self, id: CaptureId, after: FrameId) -> Result<Vec<(FrameId, Frame)>, StoreError> {
        unimplemented!()
    }

    /// The stacks with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub async fn stacks(&self, id: CaptureId, after: StackId) -> Result<Vec<(StackId, Stack)>, StoreError> {
        unimplemented!()
    }

    /// The symbols of frames with ids above `after`, in order of ids; 0 for all. Frames without a name are left out.
    ///
    /// # Errors
    /// The database's.
    pub async fn symbols(&self, id: CaptureId, after: FrameId) -> Result<Vec<(FrameId, Symbol)>, StoreError> {
        unimplemented!()
    }

    /// Adds or replaces names of frames, also after the capture has ended.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], [`StoreError::Refused`], [`StoreError::DiskFull`], or the database's.
    pub async fn put_symbols(&self, id: CaptureId, symbols: Vec<(FrameId, Symbol)>) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// The process history, in the order in which it was appended.
    ///
    /// # Errors
    /// The database's.
    pub async fn processes(&self, id: CaptureId) -> Result<Vec<ProcessChange>, StoreError> {
        unimplemented!()
    }

    /// At most `limit` pieces of the traced command's output, without the first `offset`.
    ///
    /// # Errors
    /// The database's.
    pub async fn output(&self, id: CaptureId, offset: u64, limit: u32) -> Result<Vec<OutputLine>, StoreError> {
        unimplemented!()
    }

    /// Gives a capture another name, at most 256 bytes.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], [`StoreError::Refused`], or the database's.
    pub async fn rename(&self, id: CaptureId, title: &str) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Deletes a capture. It disappears from all lists at once; its rows go in short steps between which others write,
    /// and the space they took is given back. Goes on if the caller stops waiting, and after a restart.
    ///
    /// # Errors
    /// [`StoreError::Recording`], [`StoreError::NoCapture`], or the database's.
    pub async fn delete(&self, id: CaptureId) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Writes a capture to a new file `path` (`.bathy`): a database of the same schema that holds nothing else.
    /// The file appears only when it is complete.
    ///
    /// # Errors
    /// [`StoreError::Recording`], [`StoreError::NoCapture`], [`StoreError::File`] if it exists already or cannot be
    /// written, or the database's.
    pub async fn export_file(&self, id: CaptureId, path: &Path) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Reads a capture from a file that [`Store::export_file`] made here or elsewhere, treats it as hostile, and gives
    /// it to `owner`. Keeps the id if it is free; gives the id of the capture that is already here if it has the same
    /// content; otherwise a new id made from the content.
    ///
    /// # Errors
    /// [`StoreError::Import`] if anything in it is not as it should be, and nothing of it is kept then;
    /// [`StoreError::DiskFull`]; or the database's.
    pub async fn import_file(&self, path: &Path, owner: &str) -> Result<CaptureId, StoreError> {
        unimplemented!()
    }

    /// As [`Store::import_file`], from the file's bytes.
    ///
    /// # Errors
    /// As [`Store::import_file`].
    pub async fn import_bytes(&self, bytes: &[u8], owner: &str) -> Result<CaptureId, StoreError> {
        unimplemented!()
    }

    /// Tells which clock the seconds of sessions and login tokens are of, such as the boot id for a clock that counts
    /// from boot. If it is not the one of the last call, all sessions and login tokens are forgotten.
    ///
    /// # Errors
    /// The database's.
    pub async fn begin_session_epoch(&self, epoch: &str) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Keeps a token that lets `user` (at most 64 bytes) in once with `role` before `expires_s`.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a name that is too long, or the database's.
    pub async fn add_login_token(
        &self,
        hash: TokenHash,
        user: &str,
        role: Role,
        expires_s: u64,
    ) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Uses up a login token, at most once however many ask at the same time: its user and role if it exists, has not
    /// been used and has not expired by `now_s`.
    ///
    /// # Errors
    /// The database's.
    pub async fn redeem_login_token(
        &self,
        hash: TokenHash,
        now_s: u64,
    ) -> Result<Option<(String, Role)>, StoreError> {
        unimplemented!()
    }

    /// Keeps a session.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a name that is too long, or the database's.
    pub async fn add_session(&self, session: NewSession) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// The session if it exists, has not expired and was used within its idle limit. Changes nothing.
    ///
    /// # Errors
    /// The database's.
    pub async fn session(&self, hash: TokenHash, now_s: u64) -> Result<Option<Session>, StoreError> {
        unimplemented!()
    }

    /// Notes that a session was used. Call it once a minute at most, not with every request.
    ///
    /// # Errors
    /// The database's.
    pub async fn touch_session(&self, hash: TokenHash, now_s: u64) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Forgets a session; says whether it existed.
    ///
    /// # Errors
    /// The database's.
    pub async fn delete_session(&self, hash: TokenHash) -> Result<bool, StoreError> {
        unimplemented!()
    }

    /// Forgets sessions and login tokens that have ended by `now_s`; says how many.
    ///
    /// # Errors
    /// The database's.
    pub async fn purge_sessions(&self, now_s: u64) -> Result<u64, StoreError> {
        unimplemented!()
    }

    /// Adds an entry to the audit log, for ever.
    ///
    /// # Errors
    /// The database's.
    pub async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// At most `limit` entries of the audit log with numbers below `before` (0 for the newest), newest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn audit(&self, before: u64, limit: u32) -> Result<Vec<AuditRecord>, StoreError> {
        unimplemented!()
    }
}

//! The door to the database.

use std::{collections::HashMap, path::Path, sync::Arc};

use bathyscope_capture::{
    Append, CaptureId, Frame, FrameId, FunctionCode, Grouping, IndexDirectory, Mapping, MappingId, OutputLine,
    ProcessChange, ScriptRecord, Stack, StackId, StringId, Symbol, decode_chunk,
};
use futures_util::future::BoxFuture;
use sqlx::migrate::Migrator;
use tokio::sync::{Notify, broadcast};

use crate::{
    AuditEntry, AuditRecord, CaptureRecord, ChunkInfo, End, FireToken, InvestigationId, LoginToken, NewCapture,
    Options, RetainedCapture, Room, Session, Sight, StoreError, SummaryPage, SummaryQuery, TokenHash, append,
    database::Database,
    entry, export, finish, firings,
    import::{self, NextMessage, Receiver},
    index, listing, read,
    remove::{self, Why},
    retention,
    rows::{stack_to_bytes, unsigned},
    schema,
    sums::{self, ChecksummedPart},
};

mod blocking;
mod deleted;
mod derivations;
mod dictionaries;
mod investigations;
mod labels;
mod library;
mod notes;
mod people;
mod rights;
mod runs;
mod shares;
mod webhooks;

pub use blocking::BlockingStore;
pub use rights::SeenStore;

/// What a call on [`Store`] answers. Boxed, so that the call is compiled here, once: the body of an `async fn` is compiled
/// again in each crate that waits for it.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// An open database. Cheap to clone; all clones are the same store, and it closes when the last one is gone.
#[derive(Clone, Debug)]
pub struct Store {
    database: Database,
    changes: broadcast::Sender<StoreChange>,
    /// That captures have ended or were imported.
    came: Arc<Notify>,
    /// That there may be messages to webhooks.
    announced: Arc<Notify>,
}

/// What people write that changed, for those who look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreChange {
    /// The notes of a capture.
    Notes(CaptureId),
    /// An investigation, or that it is there.
    Investigation(InvestigationId),
    /// Who may read which captures.
    Rights,
}

/// How many changes wait for a listener; one that takes them more slowly is told how many it missed.
const CHANGES_WAITING: usize = 256;

fn no_listeners() -> broadcast::Sender<StoreChange> {
    broadcast::channel(CHANGES_WAITING).0
}

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
    pub fn open(dir: &Path, options: Options) -> StoreFuture<'_, Self> {
        Box::pin(async move { Self::open_with(dir, options, &schema::MIGRATIONS).await })
    }

    /// As [`Store::open`], with these migrations.
    pub(crate) async fn open_with(dir: &Path, options: Options, migrations: &Migrator) -> Result<Self, StoreError> {
        let database = Database::open(dir, options, migrations).await?;
        Ok(Self { database, changes: no_listeners(), came: Arc::default(), announced: Arc::default() })
    }

    /// What people write in this process and that changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<StoreChange> {
        self.changes.subscribe()
    }

    /// Waits until a capture has ended or was imported since this was asked before. For one listener: two would hear of half each.
    pub async fn one_came(&self) {
        self.came.notified().await;
    }

    fn tell(&self, change: StoreChange) {
        // Nobody may look at it.
        let _unheard = self.changes.send(change);
    }

    /// A capture that was imported, which may bring notes to one that is here.
    fn imported(&self, id: Result<CaptureId, StoreError>) -> Result<CaptureId, StoreError> {
        self.database.wake_indexing();
        let id = self.database.done(id)?;
        self.came.notify_one();
        self.tell(StoreChange::Notes(id));
        Ok(id)
    }

    /// For whom a file is read.
    fn receiver(&self, owner: &str, now_unix_ns: i64) -> Receiver {
        Receiver { owner: owner.to_owned(), now_unix_ns, max_bytes: self.database.options().max_import_bytes }
    }

    /// Opens the database for reading, beside a process that has it open. Calls that change something fail with
    /// [`StoreError::Closed`].
    ///
    /// # Errors
    /// If there is no database, or it is damaged or newer.
    pub fn open_read_only(dir: &Path) -> StoreFuture<'_, Self> {
        Box::pin(async move {
            let database = Database::open_read_only(dir, &schema::MIGRATIONS).await?;
            Ok(Self { database, changes: no_listeners(), came: Arc::default(), announced: Arc::default() })
        })
    }

    /// Ends the writer after the changes that wait, moves the write-ahead log into the file, and gives up the lock.
    /// Calls after that fail with [`StoreError::Closed`].
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.database.close())
    }

    /// Makes a capture in state `recording`, if there is room to begin one. On disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::DiskFull`], [`StoreError::Refused`] for what is too large, or the
    /// database's.
    pub fn create(&self, new: NewCapture) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let announces = new.firing.is_some();
            let made =
                self.database.write(move |writer| Box::pin(async move { append::create(writer, &new).await })).await;
            if announces {
                self.announced.notify_one();
            }
            made
        })
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
    pub fn append(&self, id: CaptureId, append: impl Into<Arc<Append>>) -> StoreFuture<'_, ()> {
        self.append_shared(id, append.into())
    }

    fn append_shared(&self, id: CaptureId, append: Arc<Append>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(async move { append::append(writer, id, &append).await })).await
        })
    }

    /// Whether there is room to begin a capture.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`] if less than what is kept free would be left.
    pub fn has_room(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.database.write(|writer| Box::pin(writer.has_room_for(append::START_BYTES))).await })
    }

    /// Ends a capture. On disk when it returns; works on a full disk.
    ///
    /// If the database fails, the end is kept all the same: reads give it, and it is stored as soon as that is possible,
    /// by the next process too where the room that is set aside for it could be written.
    ///
    /// # Errors
    /// [`StoreError::NotRecording`] if it has ended already, [`StoreError::NoCapture`], or the database's.
    pub fn finish(&self, id: CaptureId, end: End) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(finish::finish(writer, id, end))).await?;
            self.database.wake_indexing();
            self.came.notify_one();
            Ok(())
        })
    }

    /// Puts what events brought into what searches look into, of all captures that lack it: what happens in the background anyway.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`], or the database's.
    pub fn index_texts(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.database.done(self.database.index_texts().await) })
    }

    /// Lists captures, newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn summaries<'a>(&'a self, query: &'a SummaryQuery) -> StoreFuture<'a, SummaryPage> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let asked = (query, &Sight::ALL);
            self.database.done(listing::summaries(&mut reader, asked, self.database.ends()).await)
        })
    }

    /// Everything about a capture but its rows and dictionaries.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], or the database's.
    pub fn capture(&self, id: CaptureId) -> StoreFuture<'_, CaptureRecord> {
        Box::pin(self.database.capture(id))
    }

    /// Reads everything of a capture that has a checksum, and decodes every chunk; the first thing that is not as it was
    /// stored is the error.
    ///
    /// # Errors
    /// [`StoreError::DamagedPart`], [`StoreError::DamagedChunk`], [`StoreError::NoCapture`], or the database's.
    pub fn check(&self, id: CaptureId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let record = self.capture(id).await?;
            self.database.done(sums::check_all(&mut *self.database.reader().await?, id).await)?;
            for (stream, of) in (0_u16..).zip(&record.streams) {
                let all: Vec<usize> = (0..of.schema.columns.len()).collect();
                for seq in 0..of.chunks {
                    let bytes = self.chunk(id, stream, seq).await?;
                    let decoded = decode_chunk(&of.schema, &bytes, &all);
                    decoded.map_err(|source| StoreError::DamagedChunk { id, stream, seq, why: source.to_string() })?;
                }
            }
            Ok(())
        })
    }

    /// The chunks of a stream with numbers from `from_seq` on, in order; none for what does not exist.
    ///
    /// # Errors
    /// The database's.
    pub fn chunk_index(&self, id: CaptureId, stream: u16, from_seq: u32) -> StoreFuture<'_, Vec<ChunkInfo>> {
        Box::pin(async move {
            self.database.done(read::chunk_index(&mut *self.database.reader().await?, id, stream, from_seq).await)
        })
    }

    /// The bytes of a chunk, for `bathyscope_capture::decode_chunk`.
    ///
    /// # Errors
    /// [`StoreError::NoChunk`], or the database's.
    pub fn chunk(&self, id: CaptureId, stream: u16, seq: u32) -> StoreFuture<'_, Vec<u8>> {
        Box::pin(
            async move { self.database.done(read::chunk(&mut *self.database.reader().await?, id, stream, seq).await) },
        )
    }

    /// Which blocks of the time index there are, by stream and grouping; captures from before there was one have none.
    ///
    /// # Errors
    /// The database's.
    pub fn index(&self, id: CaptureId) -> StoreFuture<'_, HashMap<(u16, Grouping), IndexDirectory>> {
        Box::pin(async move { self.database.done(index::directories(&mut *self.database.reader().await?, id).await) })
    }

    /// The bytes of a block of the time index, for `bathyscope_capture::IndexBlock::decode`; none if there is no such block.
    ///
    /// # Errors
    /// The database's.
    pub fn index_block(&self, id: CaptureId, place: (u16, Grouping, u8, u32)) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move { self.database.done(index::block(&mut *self.database.reader().await?, id, place).await) })
    }

    /// The strings with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub fn strings(&self, id: CaptureId, after: StringId) -> StoreFuture<'_, Vec<(StringId, Vec<u8>)>> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let page = (id, ChecksummedPart::Strings, after);
            let read = sums::checked(
                &mut reader,
                page,
                |conn, from| Box::pin(read::strings(conn, id, from, read::ALL)),
                |(id, text)| (*id, sums::string(*id, text)),
            );
            self.database.done(read.await)
        })
    }

    /// The mappings with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub fn mappings(&self, id: CaptureId, after: MappingId) -> StoreFuture<'_, Vec<(MappingId, Mapping)>> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let page = (id, ChecksummedPart::Mappings, after);
            let read = sums::checked(
                &mut reader,
                page,
                |conn, from| Box::pin(read::mappings(conn, id, from, read::ALL)),
                |(id, it)| (*id, sums::mapping(*id, it)),
            );
            self.database.done(read.await)
        })
    }

    /// The frames with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub fn frames(&self, id: CaptureId, after: FrameId) -> StoreFuture<'_, Vec<(FrameId, Frame)>> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let page = (id, ChecksummedPart::Frames, after);
            let read = sums::checked(
                &mut reader,
                page,
                |conn, from| Box::pin(read::frames(conn, id, from, read::ALL)),
                |(id, it)| (*id, sums::frame(*id, it)),
            );
            self.database.done(read.await)
        })
    }

    /// The stacks with ids above `after`, in order of ids; 0 for all.
    ///
    /// # Errors
    /// The database's.
    pub fn stacks(&self, id: CaptureId, after: StackId) -> StoreFuture<'_, Vec<(StackId, Stack)>> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let page = (id, ChecksummedPart::Stacks, after);
            let read = sums::checked(
                &mut reader,
                page,
                |conn, from| Box::pin(read::stacks(conn, id, from, read::ALL)),
                |(id, it)| (*id, sums::stack(*id, &stack_to_bytes(it))),
            );
            self.database.done(read.await)
        })
    }

    /// The symbols of frames with ids above `after`, in order of ids; 0 for all. Frames without a name are left out.
    ///
    /// # Errors
    /// The database's.
    pub fn symbols(&self, id: CaptureId, after: FrameId) -> StoreFuture<'_, Vec<(FrameId, Symbol)>> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let sum = |(id, function, place, lines): &read::SymbolRow| {
                (*id, sums::symbol(*id, function.as_bytes(), unsigned(*place), lines.as_bytes()))
            };
            let read = sums::checked(
                &mut reader,
                (id, ChecksummedPart::Symbols, after),
                |conn, from| Box::pin(read::symbol_rows(conn, id, from, read::ALL)),
                sum,
            );
            self.database.done(read.await.and_then(read::symbols_of))
        })
    }

    /// Adds or replaces names of frames, also after the capture has ended.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], [`StoreError::Refused`], [`StoreError::DiskFull`], or the database's.
    pub fn put_symbols(&self, id: CaptureId, symbols: Vec<(FrameId, Symbol)>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database
                .write(move |writer| Box::pin(async move { append::put_symbols(writer, id, &symbols).await }))
                .await
        })
    }

    /// Adds or replaces instructions of functions, also after the capture has ended.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], [`StoreError::Refused`], [`StoreError::DiskFull`], or the database's.
    pub fn put_code(&self, id: CaptureId, code: Vec<FunctionCode>) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.database.write(move |writer| Box::pin(append::put_code(writer, id, code))).await })
    }

    /// The instructions of the function that begins at an offset of a mapping; none if none were kept.
    ///
    /// # Errors
    /// The database's.
    pub fn code_at(&self, id: CaptureId, mapping: MappingId, start: u64) -> StoreFuture<'_, Option<FunctionCode>> {
        Box::pin(async move {
            self.database.done(read::code_at(&mut *self.database.reader().await?, id, mapping, start).await)
        })
    }

    /// Keeps what was compiled for a capture that is being recorded by a script, or replaces it.
    ///
    /// # Errors
    /// [`StoreError::NotRecording`], [`StoreError::NoCapture`], [`StoreError::Refused`] for what is too large,
    /// [`StoreError::DiskFull`], or the database's.
    pub fn put_script(&self, id: CaptureId, script: ScriptRecord) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database
                .write(move |writer| Box::pin(async move { append::put_script(writer, id, &script).await }))
                .await
        })
    }

    /// The captures that a flight recorder has stored, by its own capture: those that are shown, newest first, at most `most`.
    ///
    /// # Errors
    /// The database's.
    pub fn stored_by(&self, recorder: CaptureId, most: u32) -> StoreFuture<'_, Vec<CaptureId>> {
        Box::pin(async move {
            self.database.done(firings::of_recorder(&mut *self.database.reader().await?, recorder, most).await)
        })
    }

    /// Keeps the hash of a token that fires a flight recorder, in place of the one before.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], [`StoreError::Refused`], or the database's.
    pub fn put_fire_token(&self, id: CaptureId, hash: TokenHash, token: FireToken) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let put = self.database.control(move |conn| {
                let token = token.clone();
                Box::pin(async move { firings::put_token(conn, id, hash, &token).await })
            });
            put.await
        })
    }

    /// Forgets such a token; says whether there was one.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_fire_token(&self, id: CaptureId) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.database.control(move |conn| Box::pin(firings::remove_token(conn, id))).await })
    }

    /// The token that fires a flight recorder, if it has one; with a hash only if it is this one.
    ///
    /// # Errors
    /// The database's.
    pub fn fire_token(&self, id: CaptureId, hash: Option<TokenHash>) -> StoreFuture<'_, Option<FireToken>> {
        Box::pin(async move { self.database.done(firings::token(&mut *self.database.reader().await?, id, hash).await) })
    }

    /// What was compiled for a capture; none if it was not made by a script.
    ///
    /// # Errors
    /// The database's.
    pub fn script(&self, id: CaptureId) -> StoreFuture<'_, Option<ScriptRecord>> {
        Box::pin(async move {
            let waiting = self.database.ends().get(id).and_then(|end| end.script);
            let script = self.database.done(read::script(&mut *self.database.reader().await?, id).await)?;
            Ok(script.map(|script| match waiting {
                Some(end) => ScriptRecord { plan: script.plan, probes: end.probes, exit_code: end.exit_code },
                None => script,
            }))
        })
    }

    /// The process history, in the order in which it was appended.
    ///
    /// # Errors
    /// The database's.
    pub fn processes(&self, id: CaptureId) -> StoreFuture<'_, Vec<ProcessChange>> {
        Box::pin(async move {
            self.database.done(read::processes(&mut *self.database.reader().await?, id, 0, read::ALL).await)
        })
    }

    /// At most `limit` pieces of the traced command's output, without the first `offset`.
    ///
    /// # Errors
    /// The database's.
    pub fn output(&self, id: CaptureId, offset: u64, limit: u32) -> StoreFuture<'_, Vec<OutputLine>> {
        Box::pin(async move {
            self.database.done(read::output(&mut *self.database.reader().await?, id, offset, i64::from(limit)).await)
        })
    }

    /// Gives a capture another name, at most 256 bytes.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], [`StoreError::Refused`], or the database's.
    pub fn rename<'a>(&'a self, id: CaptureId, title: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let title = title.to_owned();
            self.database.write(move |writer| Box::pin(append::rename(writer, id, title))).await
        })
    }

    /// Pins a capture, so that [`Store::delete_unpinned`] leaves it, or takes that back. Works on a full disk.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], or the database's.
    pub fn set_pinned(&self, id: CaptureId, pinned: bool) -> StoreFuture<'_, ()> {
        Box::pin(
            async move { self.database.control(move |conn| Box::pin(retention::set_pinned(conn, id, pinned))).await },
        )
    }

    /// What a decision on which captures are kept needs to know of each, in no particular order.
    ///
    /// # Errors
    /// The database's.
    pub fn retained(&self) -> StoreFuture<'_, Vec<RetainedCapture>> {
        Box::pin(async move {
            let mut all = self.database.done(retention::all(&mut *self.database.reader().await?).await)?;
            for capture in &mut all {
                capture.recording &= !self.database.ends().has(capture.id);
            }
            Ok(all)
        })
    }

    /// Bytes of all captures together, and of those of them that are pinned, as [`RetainedCapture::size_bytes`] counts.
    ///
    /// # Errors
    /// The database's.
    pub fn sizes(&self) -> StoreFuture<'_, (u64, u64)> {
        Box::pin(async move { self.database.done(retention::sizes(&mut *self.database.reader().await?).await) })
    }

    /// As [`Store::delete`], unless the capture is pinned at that moment; says whether it was deleted. `entry` goes into
    /// the audit log in the same change.
    ///
    /// # Errors
    /// As [`Store::delete`].
    pub fn delete_unpinned(&self, id: CaptureId, entry: AuditEntry) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let marked =
                self.database.write(move |writer| Box::pin(remove::mark(writer, id, Why::Rule(entry)))).await?;
            if marked {
                self.database.remove_marked(id).await?;
            }
            Ok(marked)
        })
    }

    /// Why nothing can be stored, if somebody removed or replaced the file. Looks at files only.
    pub fn trouble(&self) -> Option<StoreError> {
        self.database.trouble()
    }

    /// How much room there is. Looks at files only.
    pub fn room(&self) -> Room {
        self.database.room()
    }

    /// Deletes a capture. It disappears from all lists at once; its rows go in short steps between which others write,
    /// and the space they took is given back. Goes on if the caller stops waiting, and after a restart.
    ///
    /// # Errors
    /// [`StoreError::Recording`], [`StoreError::NoCapture`], or the database's.
    pub fn delete(&self, id: CaptureId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(remove::mark(writer, id, Why::Asked))).await?;
            self.database.remove_marked(id).await
        })
    }

    /// Writes a capture to a new file `path` (`.bathy`): a database of the same schema that holds nothing else.
    /// The file appears only when it is complete.
    ///
    /// # Errors
    /// [`StoreError::Recording`], [`StoreError::NoCapture`], [`StoreError::File`] if it exists already or cannot be
    /// written, or the database's.
    pub fn export_file<'a>(&'a self, id: CaptureId, path: &'a Path) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.database.done(export::export(&self.database, id, path).await) })
    }

    /// Reads a capture from a file that [`Store::export_file`] made here or elsewhere, treats it as hostile, and gives
    /// it to `owner` at this wall time. Keeps the id if it is free; gives the id of the capture that is already here if it has the same
    /// content; otherwise a new id made from the content.
    ///
    /// # Errors
    /// [`StoreError::Import`] if anything in it is not as it should be, and nothing of it is kept then;
    /// [`StoreError::DiskFull`]; or the database's.
    pub fn import_file<'a>(&'a self, path: &'a Path, owner: &'a str, now_unix_ns: i64) -> StoreFuture<'a, CaptureId> {
        Box::pin(async move {
            let id = import::import(&self.database, path, self.receiver(owner, now_unix_ns)).await;
            self.imported(id)
        })
    }

    /// As [`Store::import_file`], from the file's bytes.
    ///
    /// # Errors
    /// As [`Store::import_file`].
    pub fn import_bytes<'a>(&'a self, bytes: &'a [u8], owner: &'a str, now_unix_ns: i64) -> StoreFuture<'a, CaptureId> {
        Box::pin(async move {
            let id = import::import_bytes(&self.database, bytes, self.receiver(owner, now_unix_ns)).await;
            self.imported(id)
        })
    }

    /// As [`Store::import_file`], from what [`tell_file`](crate::tell_file) says in a process without rights, which is
    /// hostile as the file is.
    ///
    /// # Errors
    /// As [`Store::import_file`].
    pub fn import_messages<'a>(
        &'a self,
        next: NextMessage,
        owner: &'a str,
        now_unix_ns: i64,
    ) -> StoreFuture<'a, CaptureId> {
        Box::pin(async move {
            let id = import::import_messages(&self.database, next, self.receiver(owner, now_unix_ns)).await;
            self.imported(id)
        })
    }

    /// Tells which clock the seconds of sessions and login tokens are of, such as the boot id for a clock that counts
    /// from boot. If it is not the one of the last call, all sessions and login tokens are forgotten.
    ///
    /// # Errors
    /// The database's.
    pub fn begin_session_epoch<'a>(&'a self, epoch: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let epoch = epoch.to_owned();
            self.database.control(move |conn| Box::pin(async move { entry::begin_epoch(conn, &epoch).await })).await
        })
    }

    /// Keeps a token that lets somebody in once.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a name that is too long, or the database's.
    pub fn add_login_token(&self, token: LoginToken) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { entry::add_login_token(conn, &token).await })).await
        })
    }

    /// The login tokens that were not used and have not expired by `now_s`.
    ///
    /// # Errors
    /// The database's.
    pub fn login_tokens(&self, now_s: u64) -> StoreFuture<'_, Vec<LoginToken>> {
        Box::pin(
            async move { self.database.done(entry::login_tokens(&mut *self.database.reader().await?, now_s).await) },
        )
    }

    /// Forgets a login token that was not used; says whether there was one.
    ///
    /// # Errors
    /// The database's.
    pub fn delete_login_token(&self, hash: TokenHash) -> StoreFuture<'_, bool> {
        Box::pin(
            async move { self.database.control(move |conn| Box::pin(entry::delete_login_token(conn, hash))).await },
        )
    }

    /// All sessions that have not expired and were used within their idle limit, by [`Store::touch_session`].
    ///
    /// # Errors
    /// The database's.
    pub fn sessions(&self, now_s: u64) -> StoreFuture<'_, Vec<Session>> {
        Box::pin(async move { self.database.done(entry::sessions(&mut *self.database.reader().await?, now_s).await) })
    }

    /// Uses up a login token, at most once however many ask at the same time: the token if it exists, has not been used
    /// and has not expired by `now_s`.
    ///
    /// # Errors
    /// The database's.
    pub fn redeem_login_token(&self, hash: TokenHash, now_s: u64) -> StoreFuture<'_, Option<LoginToken>> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(entry::redeem_login_token(conn, hash, now_s))).await
        })
    }

    /// Whether a login token exists that was not used and has not expired. Changes nothing.
    ///
    /// # Errors
    /// The database's.
    pub fn has_login_token(&self, hash: TokenHash, now_s: u64) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            self.database.done(entry::has_login_token(&mut *self.database.reader().await?, hash, now_s).await)
        })
    }

    /// The session if it exists, has not expired and was used within its idle limit. Changes nothing.
    ///
    /// # Errors
    /// The database's.
    pub fn session(&self, hash: TokenHash, now_s: u64) -> StoreFuture<'_, Option<Session>> {
        Box::pin(
            async move { self.database.done(entry::session(&mut *self.database.reader().await?, hash, now_s).await) },
        )
    }

    /// Notes that a session was used. Call it once a minute at most, not with every request.
    ///
    /// # Errors
    /// The database's.
    pub fn touch_session(&self, hash: TokenHash, now_s: u64) -> StoreFuture<'_, ()> {
        Box::pin(
            async move { self.database.control(move |conn| Box::pin(entry::touch_session(conn, hash, now_s))).await },
        )
    }

    /// Forgets a session; says whether it existed.
    ///
    /// # Errors
    /// The database's.
    pub fn delete_session(&self, hash: TokenHash) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.database.control(move |conn| Box::pin(entry::delete_session(conn, hash))).await })
    }

    /// Forgets sessions and login tokens that have ended by `now_s`; says how many.
    ///
    /// # Errors
    /// The database's.
    pub fn purge_sessions(&self, now_s: u64) -> StoreFuture<'_, u64> {
        Box::pin(async move { self.database.control(move |conn| Box::pin(entry::purge(conn, now_s))).await })
    }

    /// A hash of everything in the database but for when sessions were last used: equal before and after what must not
    /// change anything.
    ///
    /// # Errors
    /// The database's.
    #[cfg(feature = "testing")]
    pub fn fingerprint(&self) -> StoreFuture<'_, [u8; 32]> {
        Box::pin(async move {
            self.database.done(crate::fingerprint::fingerprint(&mut *self.database.reader().await?).await)
        })
    }

    /// Adds an entry to the audit log, for ever.
    ///
    /// # Errors
    /// The database's.
    pub fn add_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { entry::add_audit(conn, &entry).await })).await
        })
    }

    /// At most `limit` entries of the audit log with numbers below `before` (0 for the newest), newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn audit(&self, before: u64, limit: u32) -> StoreFuture<'_, Vec<AuditRecord>> {
        Box::pin(
            async move { self.database.done(entry::audit(&mut *self.database.reader().await?, before, limit).await) },
        )
    }
}

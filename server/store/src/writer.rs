//! The only connection that writes: its transactions, its log, and room for them on the disk.
//!
//! How much a change may take with it when the *power* fails is decided here. Control data (captures beginning and
//! ending, names, deletions, sessions, audit) is committed with `synchronous=FULL`: it is on disk when the call returns.
//! Appends are committed with `NORMAL`: they wait for no disk, because a tracer that causes disk writes several times a
//! second sees itself; a power failure can take those since the last control change or checkpoint. Neither is lost when
//! only the process ends, by `kill -9` too: the kernel has the pages. The log is one sequence, so what is left after a
//! power failure is always the state after some change, never a mixture.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bathyscope_capture::{CaptureId, Loss};
use futures_util::future::BoxFuture;
use sqlx::{Connection as _, SqliteConnection};

use crate::{StoreError, disk::Place, ends::Ends, error::failed, index::Forests, schema::PAGE_BYTES};

/// Log that is not yet in the database before it is moved there.
const CHECKPOINT_BYTES: u64 = 8 << 20;
/// Size of the log at which the writer waits for readers to let it begin anew.
const RESTART_BYTES: u64 = 32 << 20;

/// Less than this free, and small changes of control data may not fit.
const SCARCE_BYTES: u64 = 1 << 20;

/// A change to be made.
pub(crate) type Job = Box<dyn for<'w> FnOnce(&'w mut Writer) -> BoxFuture<'w, ()> + Send>;

/// Makes room on a full disk with what can be done without; `false` if there is no such thing any more.
pub(crate) type GiveWay = for<'w> fn(&'w mut Writer) -> BoxFuture<'w, Result<bool, StoreError>>;

/// What a change keeps when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Everything, once it has returned.
    Full,
    /// A state some seconds old.
    Normal,
}

/// The only connection that writes.
pub(crate) struct Writer {
    pub(crate) conn: SqliteConnection,
    place: Arc<Place>,
    /// Ends that the database could not take yet.
    pub(crate) ends: Arc<Ends>,
    give_way: GiveWay,
    /// Whether the room that is set aside was used.
    lacks_ballast: bool,
    /// Whether the file that is open does not lie there any more, as of the last look.
    is_gone: bool,
    durability: Option<Durability>,
    /// The losses that are stored of captures being recorded, so that an append writes only those that are new.
    pub(crate) losses: HashMap<CaptureId, Vec<Loss>>,
    /// The time indexes of captures that grow.
    pub(crate) forests: HashMap<CaptureId, Forests>,
    /// Rules that this process applies now, with their numbers in their captures.
    pub(crate) deriving: HashSet<(CaptureId, u16)>,
    stopped: bool,
    /// Bytes in the log that are not in the database yet.
    log_bytes: u64,
}

impl Writer {
    pub(crate) fn new(conn: SqliteConnection, place: Arc<Place>, ends: Arc<Ends>, give_way: GiveWay) -> Self {
        Self {
            conn,
            place,
            ends,
            give_way,
            lacks_ballast: true,
            is_gone: false,
            durability: None,
            losses: HashMap::new(),
            forests: HashMap::new(),
            deriving: HashSet::new(),
            stopped: false,
            log_bytes: 0,
        }
    }

    /// Looks whether the file that is open still lies there, and tells when that has changed.
    pub(crate) fn look(&mut self) -> Result<(), StoreError> {
        let there = self.place.check_there();
        if there.is_err() != self.is_gone {
            self.is_gone = there.is_err();
            match &there {
                Ok(()) => tracing::info!("the database file is back"),
                Err(error) => tracing::error!(%error, "nothing can be stored"),
            }
        }
        there
    }

    /// Makes this change the last but for those that wait already.
    pub(crate) const fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether [`Writer::stop`] was called.
    pub(crate) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Moves the log into the database and closes it.
    pub(crate) async fn close(mut self) {
        self.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)").await;
        if let Err(error) = self.conn.close().await {
            tracing::warn!(%error, "the database was not closed in order; nothing is lost");
        }
    }

    /// As [`Writer::begin`], for changes that must work on a full disk: they come with little, so that the log's own
    /// room is enough once there is some.
    pub(crate) async fn begin_with_room(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.place.space().0 < SCARCE_BYTES {
            self.make_room().await;
        }
        self.begin(durability).await
    }

    /// Begins a transaction. [`Writer::end`] must follow.
    ///
    /// Not sqlx's: when SQLite has rolled back by itself, as it does on a full disk, sqlx still counts a transaction.
    pub(crate) async fn begin(&mut self, durability: Durability) -> Result<(), StoreError> {
        self.look()?;
        if self.durability != Some(durability) {
            let pragma = match durability {
                Durability::Full => "PRAGMA synchronous = FULL",
                Durability::Normal => "PRAGMA synchronous = NORMAL",
            };
            sqlx::query(pragma).execute(&mut self.conn).await.map_err(failed("choosing how to write"))?;
            self.durability = Some(durability);
        }
        let begun = sqlx::query("BEGIN IMMEDIATE").execute(&mut self.conn).await;
        begun.map(|_done| ()).map_err(failed("beginning a change"))
    }

    /// Commits if `result` is good, else rolls back.
    pub(crate) async fn end<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let ended = match result {
            Ok(value) => {
                let committed = sqlx::query("COMMIT").execute(&mut self.conn).await;
                // Into a file that somebody has just removed it was in vain.
                committed.map_err(failed("committing a change")).and_then(|_done| self.look()).map(|()| value)
            }
            Err(error) => Err(error),
        };
        if ended.is_err() {
            // Fails where SQLite has rolled back already.
            let _rolled_back = sqlx::query("ROLLBACK").execute(&mut self.conn).await;
        }
        ended
    }

    /// Runs a change that must work on a full disk: if there is no room, makes some and tries once more.
    pub(crate) async fn with_room<T>(
        &mut self,
        change: impl for<'w> Fn(&'w mut Self) -> BoxFuture<'w, Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let first = change(self).await;
        let full = match &first {
            Err(StoreError::DiskFull { .. }) => true,
            Err(error) => error.is_io(),
            Ok(_) => false,
        };
        if !full {
            return first;
        }
        self.make_room().await;
        change(self).await
    }

    async fn make_room(&mut self) {
        let dropped = self.place.drop_ballast();
        self.lacks_ballast = true;
        if dropped {
            tracing::warn!("the disk is full; the reserved space is used");
        }
        self.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)").await;
    }

    /// Whether `bytes` may be appended. Where they may not, deleted captures that could be restored give way first.
    pub(crate) async fn has_room_for(&mut self, bytes: u64) -> Result<(), StoreError> {
        let mut room = self.find_room(bytes).await;
        while room.is_err() && (self.give_way)(self).await? {
            room = self.find_room(bytes).await;
        }
        room
    }

    /// Whether there is room for so many bytes as it is: nothing gives way for them. What waits in the log will take its place in the
    /// database too.
    pub(crate) fn has_free(&self, bytes: u64) -> bool {
        self.place.has_room_for(bytes.saturating_add(self.log_bytes)).is_ok()
    }

    async fn find_room(&mut self, bytes: u64) -> Result<(), StoreError> {
        if self.has_free(bytes) {
            return Ok(());
        }
        self.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)").await;
        self.place.take_ballast();
        self.place.has_room_for(bytes.saturating_add(self.log_bytes))
    }

    /// Sets aside again what was used, when there is room, and keeps the write-ahead log small. SQLite's own way would
    /// never begin it anew under readers that overlap.
    pub(crate) async fn tidy(&mut self) {
        if self.lacks_ballast {
            self.ends.take_room();
            self.place.take_ballast();
            self.lacks_ballast = self.place.lacks_ballast();
        }
        let size = self.checkpoint("PRAGMA wal_checkpoint(NOOP)").await;
        if size >= RESTART_BYTES {
            self.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)").await;
        } else if self.log_bytes >= CHECKPOINT_BYTES {
            self.checkpoint("PRAGMA wal_checkpoint(PASSIVE)").await;
        }
    }

    /// Moves the log into the database, or only looks at it. Gives its bytes, and notes those not in the database yet.
    async fn checkpoint(&mut self, pragma: &'static str) -> u64 {
        let counts: Result<(i64, i64, i64), _> = sqlx::query_as(pragma).fetch_one(&mut self.conn).await;
        match counts {
            Ok((_busy, log, done)) => {
                let bytes = |pages: i64| u64::try_from(pages).unwrap_or(0) * u64::from(PAGE_BYTES);
                self.log_bytes = bytes(log - done);
                bytes(log)
            }
            Err(error) => {
                // The log grows until it works again; on a full disk, until captures are deleted.
                tracing::warn!(%error, "the write-ahead log could not be moved into the database");
                0
            }
        }
    }
}

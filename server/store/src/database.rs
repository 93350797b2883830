//! The database that is open: how it is opened and closed, and how changes and reads of it are run.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bathyscope_capture::CaptureId;
use futures_util::future::BoxFuture;
use sqlx::{
    ConnectOptions as _, Connection as _, Sqlite, SqliteConnection, SqlitePool, migrate::Migrator,
    pool::PoolConnection, sqlite::SqlitePoolOptions,
};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

use crate::{
    CaptureRecord, DerivationRecord, DerivationState, Options, Room, StoreError, deleted, derivations,
    disk::{DirectoryLock, Place, touch_database},
    ends::Ends,
    error::failed,
    finish, firings, listed, read, remove, retention, schema, sources, sums, task, terms, texts,
    writer::{Durability, Job, Writer},
};

/// After how long it is looked again for texts to index when nobody told of some: what had no room has some meanwhile.
const INDEX_AGAIN: Duration = Duration::from_secs(60);

/// A database that is open. Cheap to clone; it closes when the last clone is gone.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    place: Arc<Place>,
    /// Ends of captures that the database could not take yet.
    ends: Arc<Ends>,
    options: Options,
    jobs: mpsc::Sender<Job>,
    readers: SqlitePool,
    /// The writer, which holds the lock on the directory until it has ended.
    task: Mutex<Option<JoinHandle<()>>>,
    /// Numbers the temporary files of this process.
    temporaries: AtomicU64,
    /// Held by the import that runs: of two of the same file, the second then finds the first's capture.
    importing: tokio::sync::Mutex<()>,
    /// Held while texts of captures are put into what searches look into.
    indexing: tokio::sync::Mutex<()>,
    /// Told when there may be captures whose texts are to be.
    to_index: Arc<Notify>,
}

/// What a change runs as: the writer is lent to it.
pub(crate) type Change<'w, T> = BoxFuture<'w, Result<T, StoreError>>;

impl Database {
    pub(crate) async fn open(dir: &Path, options: Options, migrations: &Migrator) -> Result<Self, StoreError> {
        let lock = DirectoryLock::take(dir)?;
        let place = Arc::new(Place::new(dir, &options));
        place.remove_leftovers();
        let ends = Arc::new(Ends::open(&place.database));
        let opened = open_database((&place, &ends), migrations, &options).await;
        let (writer, readers) = opened.map_err(|error| error.complete(&place.database, || place.space()))?;
        let (jobs, waiting) = mpsc::channel(options.queue.max(1));
        let task = tokio::spawn(async move {
            task::run(writer, waiting).await;
            drop(lock);
        });
        let (task, temporaries) = (Mutex::new(Some(task)), AtomicU64::new(0));
        let importing = tokio::sync::Mutex::new(());
        let (indexing, to_index) = (tokio::sync::Mutex::new(()), Arc::new(Notify::new()));
        let inner = Inner { place, ends, options, jobs, readers, task, temporaries, importing, indexing, to_index };
        let database = Self { inner: Arc::new(inner) };
        database.resume_removals().await?;
        tokio::spawn(keep_indexing(Arc::downgrade(&database.inner), Arc::clone(&database.inner.to_index)));
        Ok(database)
    }

    pub(crate) async fn open_read_only(dir: &Path, migrations: &Migrator) -> Result<Self, StoreError> {
        let options = Options { ballast_bytes: 0, ..Options::default() };
        let place = Arc::new(Place::new(dir, &options));
        let opened = read_database(&place, migrations, &options).await;
        let readers = opened.map_err(|error| error.complete(&place.database, || place.space()))?;
        // Nobody receives: every change is refused.
        let (jobs, _nobody) = mpsc::channel(1);
        let (task, temporaries) = (Mutex::new(None), AtomicU64::new(0));
        let importing = tokio::sync::Mutex::new(());
        let ends = Arc::new(Ends::read(&place.database));
        let (indexing, to_index) = (tokio::sync::Mutex::new(()), Arc::new(Notify::new()));
        let inner = Inner { place, ends, options, jobs, readers, task, temporaries, importing, indexing, to_index };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Ends the writer after the changes that wait; see [`crate::Store::close`].
    pub(crate) async fn close(&self) {
        self.inner.readers.close().await;
        // The writer ends at this job: nothing that is sent after it is received.
        let task = self.inner.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(task) = task else { return };
        let stop: Job = Box::new(|writer| Box::pin(async { writer.stop() }));
        if self.inner.jobs.send(stop).await.is_ok() {
            let _ended = task.await;
        }
    }

    /// How it was opened.
    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Ends of captures that the database could not take yet.
    pub(crate) fn ends(&self) -> &Ends {
        &self.inner.ends
    }

    /// Why nothing can be stored, if somebody removed or replaced the file. Looks at files only.
    pub(crate) fn trouble(&self) -> Option<StoreError> {
        self.inner.place.check_there().err()
    }

    /// How much room there is. Looks at files only.
    pub(crate) fn room(&self) -> Room {
        self.inner.place.room()
    }

    /// Everything about a capture but its rows and dictionaries.
    pub(crate) async fn capture(&self, id: CaptureId) -> Result<CaptureRecord, StoreError> {
        let mut reader = self.reader().await?;
        // Before the database is read: an end that is stored meanwhile is found in the one or the other.
        let waiting = self.inner.ends.get(id);
        let read = async {
            // All of one moment: streams that are being computed come and go with their checksums.
            let mut view = reader.begin().await.map_err(failed("reading a capture"))?;
            let record = read::capture(&mut view, id).await?;
            sums::check_head(&mut view, id).await?;
            let record = retention::complete(&mut view, record).await?;
            let record = sources::complete(&mut view, record).await?;
            let record = firings::complete(&mut view, record).await?;
            derivations::complete(&mut view, record).await
        };
        let record = self.done(read.await)?;
        Ok(match waiting {
            Some(end) => record.ended(end),
            None => record,
        })
    }

    /// Hands a change to the writer and waits for it. It is made even if nobody waits.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        change: impl for<'w> FnOnce(&'w mut Writer) -> Change<'w, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |writer| {
            Box::pin(async move {
                // Nobody may be waiting any more.
                let _unheard = answer.send(change(writer).await);
            })
        });
        self.inner.jobs.send(job).await.map_err(|_closed| StoreError::Closed)?;
        self.done(answered.await.map_err(|_closed| StoreError::Closed)?)
    }

    /// A change of control data: its own transaction, on disk when it returns, also on a full disk.
    pub(crate) async fn control<T: Send + 'static>(
        &self,
        change: impl for<'c> FnOnce(&'c mut SqliteConnection) -> Change<'c, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(move |writer| {
            Box::pin(async move {
                writer.begin_with_room(Durability::Full).await?;
                let done = change(&mut writer.conn).await;
                writer.end(done).await
            })
        })
        .await
    }

    /// A connection for reading.
    pub(crate) async fn reader(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        match self.inner.readers.acquire().await {
            Ok(reader) => Ok(reader),
            Err(sqlx::Error::PoolClosed) => Err(StoreError::Closed),
            // A connection that broke cannot be made anew where the file is gone.
            Err(error) => Err(self.trouble().unwrap_or_else(|| failed("waiting for a connection to read")(error))),
        }
    }

    /// Puts into an error what is known here.
    pub(crate) fn done<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let place = &self.inner.place;
        result.map_err(|error| error.complete(&place.database, || place.space()))
    }

    /// Waits until no other import runs.
    pub(crate) async fn importing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.inner.importing.lock().await
    }

    /// Tells the task that indexes texts that there may be some.
    pub(crate) fn wake_indexing(&self) {
        self.inner.to_index.notify_one();
    }

    /// Puts what events brought into the words of all captures that lack it, one after the other, and keeps the index of words in few parts.
    pub(crate) async fn index_texts(&self) -> Result<(), StoreError> {
        let _one_at_a_time = self.inner.indexing.lock().await;
        loop {
            let mut reader = self.reader().await?;
            let (mut batch, mut bytes) = (Vec::new(), 0);
            for id in texts::pending(&mut reader).await? {
                // One that cannot be read is found by what people say of it; `captures check` tells what is damaged.
                let brought = texts::brought(&mut reader, id).await.unwrap_or_else(|error| {
                    tracing::warn!(capture = %id, %error, "its texts cannot be read: searches do not look into them");
                    texts::Brought::default()
                });
                bytes += brought.bytes();
                batch.push((id, brought));
                if bytes >= texts::ENOUGH_BYTES {
                    break;
                }
            }
            drop(reader);
            if batch.is_empty() {
                break;
            }
            self.write(move |writer| Box::pin(async move { texts::put_brought(writer, &batch).await })).await?;
        }
        self.merge_texts().await
    }

    /// Merges parts of the index of words until they are few. That it fails costs time only.
    async fn merge_texts(&self) -> Result<(), StoreError> {
        loop {
            match self.write(|writer| Box::pin(texts::merge(writer))).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(StoreError::Closed) => return Err(StoreError::Closed),
                Err(error) => {
                    tracing::warn!(%error, "the index of words is not merged: searches take longer");
                    return Ok(());
                }
            }
        }
    }

    /// The name of a temporary file in the data directory that no other has.
    pub(crate) fn temporary(&self, what: &str) -> PathBuf {
        let number = self.inner.temporaries.fetch_add(1, Ordering::Relaxed);
        self.inner.place.temporary(&format!("{what}-{number}"))
    }

    /// As [`Database::remove_rows`], in a task of its own, so that it goes on when the caller stops waiting.
    pub(crate) async fn remove_marked(&self, id: CaptureId) -> Result<(), StoreError> {
        let database = self.clone();
        tokio::spawn(async move { database.remove_rows(id).await }).await.map_err(|_ended| StoreError::Closed)?
    }

    /// Deletes the rows of a capture that is marked.
    pub(crate) async fn remove_rows(&self, id: CaptureId) -> Result<(), StoreError> {
        let mut next = Some(remove::Progress::START);
        while let Some(progress) = next {
            next = self.write(move |writer| Box::pin(remove::step(writer, id, progress))).await?;
        }
        self.shrink().await
    }

    /// Removes the rows of a rule's streams, which are hidden, in a task of its own, so that it goes on when the caller stops
    /// waiting.
    pub(crate) async fn clear_derived(&self, id: CaptureId, record: DerivationRecord) -> Result<(), StoreError> {
        let database = self.clone();
        let cleared = tokio::spawn(async move { database.clear_rows(id, Arc::new(record)).await });
        cleared.await.map_err(|_ended| StoreError::Closed)?
    }

    async fn clear_rows(&self, id: CaptureId, record: Arc<DerivationRecord>) -> Result<(), StoreError> {
        let mut next = Some(remove::Progress::START);
        while let Some(progress) = next {
            let record = Arc::clone(&record);
            next = self
                .write(move |writer| {
                    Box::pin(async move { derivations::clear_step(writer, (id, &record), progress).await })
                })
                .await?;
        }
        self.shrink().await
    }

    /// Gives free pages back to the disk.
    async fn shrink(&self) -> Result<(), StoreError> {
        let mut next = Some(remove::Progress::START);
        while let Some(progress) = next {
            next = self.write(move |writer| Box::pin(remove::shrink_step(writer, progress))).await?;
        }
        Ok(())
    }

    /// Goes on in the background with what an earlier process did not finish.
    async fn resume_removals(&self) -> Result<(), StoreError> {
        let unfinished = self.write(|writer| Box::pin(derivations::unfinished(&mut writer.conn))).await?;
        for (id, record) in unfinished.into_iter().filter(|(_, it)| it.state != DerivationState::Computing) {
            let database = self.clone();
            tokio::spawn(async move {
                if let Err(error) = database.clear_derived(id, record).await {
                    tracing::warn!(capture = %id, %error, "computed rows are not removed yet; the next start goes on");
                }
            });
        }
        for id in self.write(|writer| Box::pin(remove::unfinished(writer))).await? {
            let database = self.clone();
            tokio::spawn(async move {
                if let Err(error) = database.remove_rows(id).await {
                    tracing::warn!(capture = %id, %error, "a capture is not deleted yet; the next start goes on");
                }
            });
        }
        Ok(())
    }
}

/// Indexes texts whenever there are some, until the database is closed.
async fn keep_indexing(inner: Weak<Inner>, to_index: Arc<Notify>) {
    loop {
        let Some(inner) = inner.upgrade() else { return };
        match (Database { inner }).index_texts().await {
            Ok(()) => {}
            Err(StoreError::Closed) => return,
            Err(error) => tracing::warn!(%error, "texts of captures are not searched yet; it is tried again"),
        }
        tokio::select! {
            () = to_index.notified() => {}
            () = tokio::time::sleep(INDEX_AGAIN) => {}
        }
    }
}

/// The writer and the readers of a database that is in order.
async fn open_database(
    (place, ends): (&Arc<Place>, &Arc<Ends>),
    migrations: &Migrator,
    options: &Options,
) -> Result<(Writer, SqlitePool), StoreError> {
    const DOING: &str = "opening the database";
    touch_database(&place.database)?;
    schema::bring_up_to_date(place, migrations).await?;
    let conn = schema::writing(&place.database).connect().await.map_err(failed(DOING))?;
    let mut writer =
        Writer::new(conn, Arc::clone(place), Arc::clone(ends), |writer| Box::pin(deleted::give_way(writer)));
    place.note_opened();
    listed::keep(&mut writer.conn).await?;
    finish::interrupt_all(&mut writer, options.now.as_ref()).await?;
    derivations::stop_following(&mut writer.conn).await?;
    place.take_ballast();
    let readers = connect_readers(place, options).await?;
    Ok((writer, readers))
}

/// All connections for reading, now and for good: one that were made later could open another file than the writer has.
async fn connect_readers(place: &Place, options: &Options) -> Result<SqlitePool, StoreError> {
    const DOING: &str = "opening the database";
    let readers = options.readers.max(1);
    let pool = SqlitePoolOptions::new().min_connections(readers).max_connections(readers);
    // A connection to a file does not break while it is idle, and asking it costs as much as a short read.
    let pool = pool.idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    let pool = pool.after_connect(|conn, _meta| Box::pin(terms::attach(conn)));
    let pool = pool.connect_with(schema::reading(&place.database)).await.map_err(failed(DOING))?;
    let mut all = Vec::new();
    for _ in 0..readers {
        all.push(pool.acquire().await.map_err(failed(DOING))?);
    }
    drop(all);
    Ok(pool)
}

/// The readers of a database that another process may be writing; nothing of it is changed.
async fn read_database(place: &Place, migrations: &Migrator, options: &Options) -> Result<SqlitePool, StoreError> {
    let (path, known) = (&place.database, schema::newest(migrations));
    if !path.is_file() {
        return Err(StoreError::NoDirectory { path: place.dir.clone() });
    }
    match schema::inspect(path).await? {
        schema::State::Version(found) if found > known => {
            return Err(StoreError::Newer { path: path.clone(), found, known });
        }
        schema::State::Version(found) if found == known => {}
        _ => {
            let why = "its tables are not up to date; the program that has it open is another version".to_owned();
            return Err(StoreError::Damaged { path: path.clone(), why });
        }
    }
    connect_readers(place, options).await
}

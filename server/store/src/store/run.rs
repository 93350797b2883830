//! How a store is opened, and how its changes and reads are run.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bathyscope_capture::CaptureId;
use sqlx::{
    ConnectOptions as _, Sqlite, SqliteConnection, SqlitePool, migrate::Migrator, pool::PoolConnection,
    sqlite::SqlitePoolOptions,
};
use tokio::sync::{mpsc, oneshot};

use super::{Change, Inner, Store};
use crate::{
    Options, StoreError, append,
    disk::{DirectoryLock, Place, touch_database},
    ends::Ends,
    error::failed,
    import::Receiver,
    remove, schema,
    writer::{Durability, Job, Writer},
};

impl Store {
    pub(crate) async fn open_with(dir: &Path, options: Options, migrations: &Migrator) -> Result<Self, StoreError> {
        let lock = DirectoryLock::take(dir)?;
        let place = Arc::new(Place::new(dir, &options));
        place.remove_leftovers();
        let ends = Arc::new(Ends::open(&place.database));
        let opened = open_database((&place, &ends), migrations, &options).await;
        let (writer, readers) = opened.map_err(|error| error.complete(&place.database, || place.space()))?;
        let (jobs, waiting) = mpsc::channel(options.queue.max(1));
        let task = tokio::spawn(async move {
            writer.run(waiting).await;
            drop(lock);
        });
        let (task, temporaries) = (Mutex::new(Some(task)), AtomicU64::new(0));
        let importing = tokio::sync::Mutex::new(());
        let store =
            Self { inner: Arc::new(Inner { place, ends, options, jobs, readers, task, temporaries, importing }) };
        store.resume_removals().await?;
        Ok(store)
    }

    pub(crate) async fn open_read_only_with(dir: &Path, migrations: &Migrator) -> Result<Self, StoreError> {
        let options = Options { ballast_bytes: 0, ..Options::default() };
        let place = Arc::new(Place::new(dir, &options));
        let opened = read_database(&place, migrations, &options).await;
        let readers = opened.map_err(|error| error.complete(&place.database, || place.space()))?;
        // Nobody receives: every change is refused.
        let (jobs, _nobody) = mpsc::channel(1);
        let (task, temporaries) = (Mutex::new(None), AtomicU64::new(0));
        let importing = tokio::sync::Mutex::new(());
        let ends = Arc::new(Ends::read(&place.database));
        Ok(Self { inner: Arc::new(Inner { place, ends, options, jobs, readers, task, temporaries, importing }) })
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
    pub(super) async fn control<T: Send + 'static>(
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

    /// The name of a temporary file in the data directory that no other has.
    pub(crate) fn temporary(&self, what: &str) -> PathBuf {
        let number = self.inner.temporaries.fetch_add(1, Ordering::Relaxed);
        self.inner.place.temporary(&format!("{what}-{number}"))
    }

    /// For whom a file is read.
    pub(super) fn receiver(&self, owner: &str, now_unix_ns: i64) -> Receiver {
        Receiver { owner: owner.to_owned(), now_unix_ns, max_bytes: self.inner.options.max_import_bytes }
    }

    /// As [`Store::remove_rows`], in a task of its own, so that it goes on when the caller stops waiting.
    pub(super) async fn remove_marked(&self, id: CaptureId) -> Result<(), StoreError> {
        let store = self.clone();
        tokio::spawn(async move { store.remove_rows(id).await }).await.map_err(|_ended| StoreError::Closed)?
    }

    /// Deletes the rows of a capture that is marked.
    pub(crate) async fn remove_rows(&self, id: CaptureId) -> Result<(), StoreError> {
        let mut next = Some(remove::Progress::START);
        while let Some(progress) = next {
            next = self.write(move |writer| Box::pin(remove::step(writer, id, progress))).await?;
        }
        let mut next = Some(remove::Progress::START);
        while let Some(progress) = next {
            next = self.write(move |writer| Box::pin(remove::shrink_step(writer, progress))).await?;
        }
        Ok(())
    }

    /// Goes on in the background with what an earlier process did not finish.
    async fn resume_removals(&self) -> Result<(), StoreError> {
        for id in self.write(|writer| Box::pin(remove::unfinished(writer))).await? {
            let store = self.clone();
            tokio::spawn(async move {
                if let Err(error) = store.remove_rows(id).await {
                    tracing::warn!(capture = %id, %error, "a capture is not deleted yet; the next start goes on");
                }
            });
        }
        Ok(())
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
    let mut writer = Writer::new(conn, Arc::clone(place), Arc::clone(ends));
    place.note_opened();
    append::interrupt_all(&mut writer, options.now.as_ref()).await?;
    place.take_ballast();
    let readers = connect_readers(place, options).await?;
    Ok((writer, readers))
}

/// All connections for reading, now and for good: one that were made later could open another file than the writer has.
async fn connect_readers(place: &Place, options: &Options) -> Result<SqlitePool, StoreError> {
    const DOING: &str = "opening the database";
    let readers = options.readers.max(1);
    let pool = SqlitePoolOptions::new().min_connections(readers).max_connections(readers);
    let pool = pool.idle_timeout(None).max_lifetime(None);
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

//! Writing a capture to a file of its own.

use std::{ffi::OsString, io, path::Path, path::PathBuf};

use bathyscope_capture::CaptureId;
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteJournalMode, SqliteSynchronous},
};

use crate::{
    CaptureRecord, CaptureState, StoreError,
    append::{Phase, insert_capture, insert_script, put_ledger},
    database::Database,
    disk::Unfinished,
    error::failed,
    finish::put_end,
    insert::insert_append,
    notes,
    pages::{self, Cursor},
    read,
    schema::{self, MIGRATIONS},
    sums,
};

/// Small pages: most exported captures are small, and every table takes at least one.
const PAGE_BYTES: u32 = 4096;

pub(crate) async fn export(database: &Database, id: CaptureId, path: &Path) -> Result<(), StoreError> {
    // An end that waits for room is exported as it is.
    let record = database.capture(id).await?.recorded();
    if record.state == CaptureState::Recording {
        return Err(StoreError::Recording { id });
    }
    let problem = |doing, source| StoreError::File { doing, path: path.to_owned(), source };
    if path.exists() {
        return Err(problem("cannot create", io::ErrorKind::AlreadyExists.into()));
    }
    // The file gets checksums of its own: what is damaged here must not become right there.
    sums::check_all(&mut *database.reader().await?, id).await?;
    let partial = partial(path);
    let (unfinished, file) = Unfinished::create(partial.clone())?;
    let written = write(database, &record, &partial).await;
    written.map_err(|error| match error {
        StoreError::DiskFull { .. } => problem("cannot write", io::ErrorKind::StorageFull.into()),
        other => other,
    })?;
    file.sync_all().map_err(|source| problem("cannot flush", source))?;
    std::fs::rename(&partial, path).map_err(|source| problem("cannot name", source))?;
    unfinished.keep();
    Ok(())
}

/// The file's name until it is complete.
fn partial(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    name.into()
}

async fn write(database: &Database, record: &CaptureRecord, path: &Path) -> Result<(), StoreError> {
    const DOING: &str = "writing a file";
    let options = schema::connecting(path)
        .page_size(PAGE_BYTES)
        .journal_mode(SqliteJournalMode::Memory)
        .synchronous(SqliteSynchronous::Off)
        // What is freed is overwritten, so that no time is left in it.
        .pragma("secure_delete", "ON");
    let mut conn = options.connect().await.map_err(failed(DOING))?;
    schema::run(&MIGRATIONS, &mut conn).await.map_err(failed(DOING))?;
    // The same capture gives the same bytes: when the tables were made does not belong to it, and `user_version` says which.
    // Whoever imports the file makes the words anew: a virtual table of somebody else's is code that runs.
    for statement in ["DROP TABLE _sqlx_migrations", "DROP TABLE search", "BEGIN"] {
        sqlx::query(statement).execute(&mut conn).await.map_err(failed(DOING))?;
    }
    copy(database, record, &mut conn).await?;
    sqlx::query("COMMIT").execute(&mut conn).await.map_err(failed(DOING))?;
    conn.close().await.map_err(failed(DOING))
}

async fn copy(database: &Database, record: &CaptureRecord, conn: &mut SqliteConnection) -> Result<(), StoreError> {
    insert_capture(conn, &record.to_new(record.id, &record.owner), Phase::Ready, record.origin).await?;
    if let Some(script) = read::script(&mut *database.reader().await?, record.id).await? {
        insert_script(conn, record.id, &script).await?;
    }
    let mut cursor = Cursor::of_recorded(&mut *database.reader().await?, record.id).await?;
    loop {
        // A connection for each page: nothing is held in the database while the file is written.
        let page = pages::next(&mut *database.reader().await?, record, &mut cursor).await?;
        let Some(page) = page else { break };
        insert_append(conn, record.id, &page).await?;
    }
    let noted = notes::with_versions(&mut *database.reader().await?, record.id).await?;
    notes::insert(conn, record.id, &noted).await?;
    put_ledger(conn, record.id, &record.ledger, &[]).await?;
    put_end(conn, record.id, &record.to_end()).await
}

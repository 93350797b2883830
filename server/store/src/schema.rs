//! The tables: which version a database has, whether they are as they should be, and how older ones are renewed.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, SqlSafeStr as _, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use crate::{
    StoreError,
    disk::{Place, Unfinished, sync_directory},
    error::failed,
    sums,
};

/// Large pages: chunks are tens to hundreds of kilobytes.
pub(crate) const PAGE_BYTES: u32 = 16 << 10;
/// "BATH", as the first migration sets it.
const APPLICATION_ID: i64 = 0x4241_5448;
/// Rows that a reader's thread gives before it waits for who asked: as many as most reads have, so that nobody waits for rows one
/// by one.
const ROWS_IN_ADVANCE: usize = 512;
/// How long a change waits for a lock that another process holds.
const BUSY: Duration = Duration::from_secs(5);

/// The files of `migrations/`, built in: version, description, text. Written out because the macro of sqlx that would read
/// the folder builds sqlx and SQLite a second time, for the compiler. A test compares the list with the folder.
const FILES: [(i64, &str, &str); 26] = [
    (1, "first", include_str!("../../../migrations/0001_first.sql")),
    (2, "scripts", include_str!("../../../migrations/0002_scripts.sql")),
    (3, "limited", include_str!("../../../migrations/0003_limited.sql")),
    (4, "time index", include_str!("../../../migrations/0004_time_index.sql")),
    (5, "code", include_str!("../../../migrations/0005_code.sql")),
    (6, "retention", include_str!("../../../migrations/0006_retention.sql")),
    (7, "levels", include_str!("../../../migrations/0007_levels.sql")),
    (8, "checksums links", include_str!("../../../migrations/0008_checksums_links.sql")),
    (9, "derivations", include_str!("../../../migrations/0009_derivations.sql")),
    (10, "tracks", include_str!("../../../migrations/0010_tracks.sql")),
    (11, "notes", include_str!("../../../migrations/0011_notes.sql")),
    (12, "library", include_str!("../../../migrations/0012_library.sql")),
    (13, "labels", include_str!("../../../migrations/0013_labels.sql")),
    (14, "shares", include_str!("../../../migrations/0014_shares.sql")),
    (15, "deleted", include_str!("../../../migrations/0015_deleted.sql")),
    (16, "search", include_str!("../../../migrations/0016_search.sql")),
    (17, "firings", include_str!("../../../migrations/0017_firings.sql")),
    (18, "note threads", include_str!("../../../migrations/0018_note_threads.sql")),
    (19, "investigations", include_str!("../../../migrations/0019_investigations.sql")),
    (20, "people", include_str!("../../../migrations/0020_people.sql")),
    (21, "runs", include_str!("../../../migrations/0021_runs.sql")),
    (22, "rights", include_str!("../../../migrations/0022_rights.sql")),
    (23, "share choices", include_str!("../../../migrations/0023_share_choices.sql")),
    (24, "outbound", include_str!("../../../migrations/0024_outbound.sql")),
    (25, "login groups", include_str!("../../../migrations/0025_login_groups.sql")),
    (26, "listed by start", include_str!("../../../migrations/0026_listed_by_start.sql")),
];

/// All migrations.
pub(crate) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migration = |(version, description, text): (i64, &'static str, &'static str)| {
        Migration::new(version, description.into(), MigrationType::Simple, text.into_sql_str(), false)
    };
    Migrator::with_migrations(FILES.into_iter().map(migration).collect())
});

/// The virtual table of words, which no file of a capture has.
pub(crate) const SEARCH: &str = "search";

/// A table, index or trigger: type, name, and the text that made it.
pub(crate) type Object = (String, String, String);

/// The migrations up to a version.
pub(crate) fn up_to(migrations: &Migrator, version: i64) -> Migrator {
    let earlier = migrations.iter().filter(|migration| migration.version <= version).cloned();
    Migrator::with_migrations(earlier.collect())
}

/// The newest version that these migrations make.
pub(crate) fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// What every connection to a file has. Journals of single statements and sorters stay in memory: the console's user may
/// have no folder for temporary files that it can write (a read-only system with a private /tmp of somebody else's).
pub(crate) fn connecting(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).pragma("temp_store", "MEMORY").disable_statement_logging()
}

/// How the writer opens a database.
pub(crate) fn writing(path: &Path) -> SqliteConnectOptions {
    connecting(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY)
        .pragma("wal_autocheckpoint", "0")
        .pragma("trusted_schema", "OFF")
        .pragma("cache_size", "-16384")
}

/// How readers open a database.
pub(crate) fn reading(path: &Path) -> SqliteConnectOptions {
    connecting(path)
        .read_only(true)
        .busy_timeout(BUSY)
        .pragma("query_only", "ON")
        .pragma("trusted_schema", "OFF")
        .pragma("cache_size", "-8192")
        .row_buffer_size(ROWS_IN_ADVANCE)
}

/// The tables, indexes and triggers of a database, without those that SQLite makes itself, which are those of [`SEARCH`] too, and
/// without the history of migrations, whose text is sqlx's and may change with it.
pub(crate) async fn objects(conn: &mut SqliteConnection) -> Result<BTreeSet<Object>, sqlx::Error> {
    let select = "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name <> '_sqlx_migrations' AND \
                  (sql IS NOT NULL OR name NOT LIKE 'sqlite_autoindex_%') AND \
                  name NOT IN ('search_data', 'search_idx', 'search_content', 'search_docsize', 'search_config')";
    let rows: Vec<(String, String, Option<String>)> = sqlx::query_as(select).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(kind, name, sql)| (kind, name, sql.unwrap_or_default())).collect())
}

/// What [`objects`] finds in a database that these migrations made.
pub(crate) async fn expected_objects(migrations: &Migrator) -> Result<BTreeSet<Object>, StoreError> {
    const DOING: &str = "making the tables in memory";
    let memory = SqliteConnectOptions::new().in_memory(true).disable_statement_logging();
    let mut conn = memory.connect().await.map_err(failed(DOING))?;
    let made = migrations.run_direct(None, &mut conn, false).await;
    made.map_err(|error| StoreError::Database { doing: DOING, source: error.into() })?;
    let found = objects(&mut conn).await.map_err(failed(DOING))?;
    conn.close().await.map_err(failed(DOING))?;
    Ok(found)
}

/// What state the tables of a database are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There are none yet.
    Empty,
    /// They are those of this version.
    Version(i64),
}

/// Finds the version of a database without changing anything.
pub(crate) async fn inspect(path: &Path) -> Result<State, StoreError> {
    const DOING: &str = "looking at the tables";
    check_head(path)?;
    let mut conn = reading(path).connect().await.map_err(failed(DOING))?;
    let state = inspect_connection(&mut conn).await;
    conn.close().await.map_err(failed(DOING))?;
    state
}

/// Looks at the first bytes: SQLite takes some files that are not its own for empty ones.
fn check_head(path: &Path) -> Result<(), StoreError> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut head));
    read.map_err(|source| StoreError::File { doing: "cannot read", path: path.to_owned(), source })?;
    if head.is_empty() || head == *b"SQLite format 3\0" {
        return Ok(());
    }
    Err(not_ours("it is not a database".to_owned()))
}

pub(crate) async fn inspect_connection(conn: &mut SqliteConnection) -> Result<State, StoreError> {
    const DOING: &str = "looking at the tables";
    let found = objects(conn).await.map_err(failed(DOING))?;
    let (id, _) = application_and_version(conn).await?;
    let select = "SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations' AND type = 'table'";
    let (history,): (i64,) = sqlx::query_as(select).fetch_one(&mut *conn).await.map_err(failed(DOING))?;
    let applied: Vec<(i64, bool)> = if history > 0 {
        let select = "SELECT version, success FROM _sqlx_migrations ORDER BY version";
        sqlx::query_as(select).fetch_all(conn).await.map_err(failed(DOING))?
    } else {
        Vec::new()
    };
    if let Some((version, _)) = applied.iter().find(|(_, success)| !success) {
        return Err(not_ours(format!("its migration to schema version {version} was not finished")));
    }
    match applied.last() {
        // Also when killed while the first tables were made: then the history is there, and empty.
        None if found.is_empty() && id == 0 => Ok(State::Empty),
        Some((version, _)) if id == APPLICATION_ID => Ok(State::Version(*version)),
        _ => Err(not_ours("it belongs to another program".to_owned())),
    }
}

/// What the file's head says: whose it is, and the schema version.
async fn application_and_version(conn: &mut SqliteConnection) -> Result<(i64, i64), StoreError> {
    const DOING: &str = "looking at the head of the file";
    let (id,): (i64,) = sqlx::query_as("PRAGMA application_id").fetch_one(&mut *conn).await.map_err(failed(DOING))?;
    let (version,): (i64,) = sqlx::query_as("PRAGMA user_version").fetch_one(conn).await.map_err(failed(DOING))?;
    Ok((id, version))
}

/// The schema version of a file that holds one capture; none if it is not such a file.
pub(crate) async fn file_version(conn: &mut SqliteConnection) -> Result<Option<i64>, StoreError> {
    let (id, version) = application_and_version(conn).await?;
    Ok((id == APPLICATION_ID).then_some(version))
}

fn not_ours(why: String) -> StoreError {
    StoreError::Damaged { path: PathBuf::new(), why }
}

/// Brings the database to the newest version, in one step and only if all goes well.
pub(crate) async fn bring_up_to_date(place: &Place, migrations: &Migrator) -> Result<(), StoreError> {
    let path = &place.database;
    let known = newest(migrations);
    roll_back_unfinished(path).await?;
    match inspect(path).await? {
        State::Empty => create_tables(path, migrations).await?,
        State::Version(found) if found > known => return Err(StoreError::Newer { path: path.clone(), found, known }),
        State::Version(from) if from < known => migrate_copy(place, migrations, from, known).await?,
        State::Version(_) => {}
    }
    check_tables(path, migrations).await
}

/// Undoes what a process had written when it was killed while it made the file, before there was a write-ahead log: such
/// a journal cannot be undone by a connection that only reads.
async fn roll_back_unfinished(path: &Path) -> Result<(), StoreError> {
    const DOING: &str = "undoing an unfinished change";
    if !PathBuf::from(format!("{}-journal", path.display())).exists() {
        return Ok(());
    }
    check_head(path)?;
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(BUSY).disable_statement_logging();
    let mut conn = options.connect().await.map_err(failed(DOING))?;
    let read = sqlx::query("SELECT count(*) FROM sqlite_schema").execute(&mut conn).await;
    read.map_err(failed(DOING))?;
    conn.close().await.map_err(failed(DOING))
}

async fn create_tables(path: &Path, migrations: &Migrator) -> Result<(), StoreError> {
    const DOING: &str = "making the tables";
    // Only when the file is made: later these would write to it each time it is opened.
    let options = writing(path).page_size(PAGE_BYTES).auto_vacuum(SqliteAutoVacuum::Incremental);
    let mut conn = options.connect().await.map_err(failed(DOING))?;
    run(migrations, &mut conn).await.map_err(failed(DOING))?;
    conn.close().await.map_err(failed(DOING))
}

/// Runs the migrations that are missing.
pub(crate) async fn run(migrations: &Migrator, conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    migrations.run_direct(None, conn, false).await.map_err(|error| match error {
        sqlx::migrate::MigrateError::Execute(source) => source,
        other => other.into(),
    })
}

/// Migrates a copy and exchanges the files; the old one stays as the backup. Whatever fails, the old file is in place.
async fn migrate_copy(place: &Place, migrations: &Migrator, from: i64, to: i64) -> Result<(), StoreError> {
    let path = &place.database;
    let copy_path = place.temporary("migration");
    let why = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Migration {
        path: path.clone(),
        from,
        to,
        source,
    };
    let (copy, _file) = Unfinished::create(copy_path.clone())?;
    let migrated = async {
        copy_database(path, &copy_path).await?;
        let mut conn = writing(&copy_path).journal_mode(SqliteJournalMode::Memory).connect().await?;
        run(migrations, &mut conn).await?;
        if from < sums::SINCE {
            make_sums(&mut conn).await?;
        }
        let (check,): (String,) = sqlx::query_as("PRAGMA quick_check(1)").fetch_one(&mut conn).await?;
        conn.close().await?;
        if check == "ok" { Ok(()) } else { Err(sqlx::Error::Protocol(check)) }
    };
    migrated.await.map_err(|error| why(error.into()))?;
    let log = PathBuf::from(format!("{}-wal", path.display()));
    if log.exists() {
        // Somebody else has it open, past our lock; its log would be taken for the new file's.
        return Err(StoreError::Locked);
    }
    exchange(path, &copy_path, from).map_err(|source| why(source.into()))?;
    copy.keep();
    sync_directory(&place.dir)
}

/// Adds the checksums of captures from before there were any.
async fn make_sums(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let mut change = conn.begin().await?;
    let made = sums::make_all(&mut change).await;
    made.map_err(|error| sqlx::Error::Protocol(error.to_string()))?;
    change.commit().await
}

/// A compact copy of the database, which is afterwards closed with nothing left in its log.
async fn copy_database(path: &Path, copy: &Path) -> Result<(), sqlx::Error> {
    let mut conn = writing(path).connect().await?;
    sqlx::query("VACUUM INTO ?").bind(copy.display().to_string()).execute(&mut conn).await?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await?;
    conn.close().await
}

fn exchange(path: &Path, copy: &Path, from: i64) -> std::io::Result<()> {
    File::open(copy)?.sync_all()?;
    let names = (1..).map(|n| if n == 1 { String::new() } else { format!(".{n}") });
    let candidates = names.map(|n| PathBuf::from(format!("{}.v{from}{n}.bak", path.display())));
    for backup in candidates.take(100) {
        match std::fs::hard_link(path, &backup) {
            Ok(()) => return std::fs::rename(copy, path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("there are a hundred backups already"))
}

/// All tables must be there as the migrations made them. Others may be there too.
async fn check_tables(path: &Path, migrations: &Migrator) -> Result<(), StoreError> {
    const DOING: &str = "checking the tables";
    let mut conn = reading(path).connect().await.map_err(failed(DOING))?;
    let found = objects(&mut conn).await.map_err(failed(DOING))?;
    conn.close().await.map_err(failed(DOING))?;
    let expected = expected_objects(migrations).await?;
    match expected.difference(&found).next() {
        None => Ok(()),
        Some((kind, name, _)) => {
            let version = newest(migrations);
            Err(not_ours(format!("its {kind} {name} is missing or is not that of schema version {version}")))
        }
    }
}

#[cfg(test)]
mod tests;

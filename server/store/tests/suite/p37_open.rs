//! P37: what cannot be opened is refused with cause and remedy, and left as it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use crate::common;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use bathyscope_store::{Store, StoreError};
use common::*;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// A data directory with one finished capture, closed.
async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "t").await;
    store.close().await;
    dir
}

async fn execute(dir: &Path, statement: &'static str) {
    let options = SqliteConnectOptions::new().filename(database(dir));
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

async fn refused(dir: &Path) -> StoreError {
    match Store::open(dir, options()).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

fn words(error: &StoreError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains(';'), "one line with cause; remedy: {text}");
    text
}

#[tokio::test]
async fn p37_files_that_are_not_ours_are_left_alone() {
    let sql: [(&str, &str); 7] = [
        ("UPDATE _sqlx_migrations SET success = 0", "was not finished"),
        (
            "INSERT INTO _sqlx_migrations SELECT 9999, description, installed_on, 1, checksum, 0 FROM _sqlx_migrations \
             WHERE version = 1",
            "9999",
        ),
        ("PRAGMA application_id = 77", "another program"),
        ("DROP TABLE output", "its table output"),
        ("DROP TRIGGER audit_is_not_changed", "its trigger audit_is_not_changed"),
        ("ALTER TABLE captures RENAME COLUMN lost TO found", "its table captures"),
        ("DROP TABLE _sqlx_migrations", "another program"),
    ];
    for (statement, expected) in sql {
        let dir = filled().await;
        execute(dir.path(), statement).await;
        let before = fs::read(database(dir.path())).unwrap();
        let error = refused(dir.path()).await;
        assert!(words(&error).contains(expected), "{statement}: {error}");
        assert!(fs::read(database(dir.path())).unwrap() == before, "{statement}: the file was changed");
    }
}

#[tokio::test]
async fn p37_damaged_files_are_left_alone() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("garbage", |file| *file = b"this is not a database, but somebody's text".repeat(100)),
        ("short garbage", |file| *file = b"x".to_vec()),
        ("cut in the first page", |file| file.truncate(700)),
        ("schema overwritten", |file| file[100..4000].fill(0xa5)),
    ];
    for (what, damage) in damages {
        let dir = filled().await;
        let mut file = fs::read(database(dir.path())).unwrap();
        damage(&mut file);
        fs::write(database(dir.path()), &file).unwrap();
        let error = refused(dir.path()).await;
        assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {error:?}");
        assert!(words(&error).contains("bathyscope.db"), "{what}: {error}");
        assert!(fs::read(database(dir.path())).unwrap() == file, "{what}: the file was changed");
    }
}

#[tokio::test]
async fn p37_damage_inside_is_told_when_it_is_met() {
    let dir = filled().await;
    let mut file = fs::read(database(dir.path())).unwrap();
    let at = file.windows(4).position(|window| window == b"BCHK").expect("a chunk is in the file");
    file[at + 20] ^= 0xff;
    fs::write(database(dir.path()), &file).unwrap();
    let store = open(dir.path()).await;
    let bytes = store.chunk(ID, 0, 0).await.unwrap();
    let others = store.chunk(ID, 1, 0).await.unwrap();
    let decode = |stream: usize, bytes: &[u8]| {
        let all: Vec<usize> = (0..schemas()[stream].columns.len()).collect();
        bathyscope_capture::decode_chunk(&schemas()[stream], bytes, &all)
    };
    assert!(decode(0, &bytes).is_err() != decode(1, &others).is_err(), "one of the chunks is damaged, and says so");
}

#[tokio::test]
async fn p37_directories_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let missing = refused(&dir.path().join("none")).await;
    assert!(matches!(missing, StoreError::NoDirectory { .. }) && words(&missing).contains("--data"), "{missing}");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(refused(&file).await, StoreError::NoDirectory { .. }));
    fs::create_dir(database(dir.path())).unwrap();
    let error = refused(dir.path()).await;
    assert!(words(&error).contains("is a directory"), "{error}");
}

#[tokio::test]
async fn p37_a_read_only_directory_is_refused() {
    let dir = filled().await;
    let mounted = Mount::read_only(dir.path());
    if !mounted.is_mounted() {
        if rustix::process::geteuid().is_root() {
            println!("SKIPPED: a read-only mount cannot be made here");
            return;
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
        fs::set_permissions(dir.path().join("bathyscope.lock"), fs::Permissions::from_mode(0o400)).unwrap();
    }
    let error = refused(dir.path()).await;
    drop(mounted);
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert!(words(&error).contains("mount it writable"), "{error}");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn p37_an_empty_file_or_half_made_tables_become_a_database() {
    let half = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on \
                TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, \
                execution_time BIGINT NOT NULL)";
    for statement in ["SELECT 1", half] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(database(dir.path()), "").unwrap();
        execute(dir.path(), statement).await;
        let store = open(dir.path()).await;
        record(&store, ID, "t").await;
        let mode = fs::metadata(database(dir.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, if statement == half { 0o644 } else { mode & 0o777 });
    }
    let dir = tempfile::tempdir().unwrap();
    let _store = open(dir.path()).await;
    for name in ["bathyscope.db", "bathyscope.db-wal", "bathyscope.lock"] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} can be read by others");
    }
}

#[tokio::test]
async fn p37_a_second_store_on_one_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path()).await;
    let error = refused(dir.path()).await;
    let owner = format!("process {}", std::process::id());
    assert!(matches!(&error, StoreError::InUse { owner: found, .. } if *found == owner), "{error:?}");
    assert!(words(&error).contains("--data"));
    record(&first, ID, "the first goes on").await;
    first.close().await;
    let _again = open(dir.path()).await;
}

#[tokio::test]
async fn p37_the_lock_of_a_dead_process_holds_nobody_up() {
    let dir = filled().await;
    fs::write(dir.path().join("bathyscope.lock"), "process 4194000\n").unwrap();
    let store = open(dir.path()).await;
    let owner = fs::read_to_string(dir.path().join("bathyscope.lock")).unwrap();
    assert_eq!(owner.trim(), format!("process {}", std::process::id()));
    store.close().await;
}

#[tokio::test]
async fn p37_a_database_locked_by_another_program_is_told_and_recovers() {
    let dir = filled().await;
    let store = open(dir.path()).await;
    store.create(new_capture(id(5), "t")).await.unwrap();
    let options = SqliteConnectOptions::new().filename(database(dir.path()));
    let mut outsider = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut outsider).await.unwrap();
    let append = std::sync::Arc::new(full_append());
    let error = store.append(id(5), std::sync::Arc::clone(&append)).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked), "{error:?}");
    assert_eq!(store.capture(ID).await.unwrap().streams[0].rows, 100, "reading goes on");
    sqlx::raw_sql("ROLLBACK").execute(&mut outsider).await.unwrap();
    store.append(id(5), append).await.unwrap();
}

#[tokio::test]
async fn p37_unfinished_files_of_earlier_processes_are_removed() {
    let dir = filled().await;
    let (ours, other) = (dir.path().join("bathyscope.unfinished-import-3"), dir.path().join("notes.txt"));
    fs::write(&ours, "half").unwrap();
    fs::write(&other, "mine").unwrap();
    let _store = open(dir.path()).await;
    assert!(!ours.exists() && other.exists());
}

/// A directory mounted over itself, read-only.
struct Mount<'a>(Option<&'a Path>);

impl<'a> Mount<'a> {
    fn read_only(dir: &'a Path) -> Self {
        use rustix::mount::{MountFlags, mount_bind, mount_remount};
        let made = mount_bind(dir, dir).and_then(|()| mount_remount(dir, MountFlags::BIND | MountFlags::RDONLY, c""));
        Self(made.is_ok().then_some(dir))
    }

    const fn is_mounted(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        if let Some(dir) = self.0 {
            rustix::mount::unmount(dir, rustix::mount::UnmountFlags::empty()).unwrap();
        }
    }
}

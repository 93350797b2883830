//! P39: what decides how long a capture is kept is counted, and a rule deletes nothing that is pinned or recorded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use std::{fs, path::Path};

use bathyscope_capture::{Append, CaptureId};
use bathyscope_store::{AuditEntry, RetainedCapture, Role, Store, StoreError, SummaryQuery};
use common::*;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

fn entry(id: CaptureId) -> AuditEntry {
    AuditEntry {
        time_unix_ns: NOW,
        user: "retention".to_owned(),
        role: Role::Admin,
        action: "capture.expire".to_owned(),
        object: id.to_string(),
        detail: "it is older than 7 days".to_owned(),
    }
}

async fn one(store: &Store, id: CaptureId) -> RetainedCapture {
    store.retained().await.unwrap().into_iter().find(|one| one.id == id).expect("the capture")
}

/// What the database really has of a capture.
async fn counted(dir: &Path, id: CaptureId) -> u64 {
    let options = SqliteConnectOptions::new().filename(database(dir)).read_only(true);
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    let mut sum = 0;
    for select in [
        "SELECT coalesce(sum(octet_length(data)), 0) FROM chunk_data WHERE capture_id = ?",
        "SELECT coalesce(sum(octet_length(data)), 0) FROM index_data WHERE capture_id = ?",
        "SELECT coalesce(sum(octet_length(text)), 0) FROM strings WHERE capture_id = ?",
        "SELECT coalesce(sum(octet_length(text)), 0) FROM output WHERE capture_id = ?",
        "SELECT coalesce(sum(octet_length(name) + octet_length(build_id)), 0) FROM mappings WHERE capture_id = ?",
        "SELECT coalesce(sum(octet_length(frames)), 0) FROM stacks WHERE capture_id = ?",
        "SELECT 12 * count(*) FROM frames WHERE capture_id = ?",
        "SELECT 24 * count(*) FROM processes WHERE capture_id = ?",
    ] {
        let query = sqlx::query_as(select).bind(id.bits().cast_signed());
        let (bytes,): (i64,) = query.fetch_one(&mut conn).await.unwrap();
        sum += u64::try_from(bytes).unwrap();
    }
    conn.close().await.unwrap();
    sum
}

#[tokio::test]
async fn p39_a_pinned_capture_is_left_by_the_rule_and_not_by_people() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "kept").await;
    record(&store, id(2), "gone").await;
    store.create(new_capture(id(3), "running")).await.unwrap();
    store.set_pinned(ID, true).await.unwrap();
    assert!(store.capture(ID).await.unwrap().pinned && one(&store, ID).await.pinned);
    assert!(!store.delete_unpinned(ID, entry(ID)).await.unwrap());
    assert!(store.delete_unpinned(id(2), entry(id(2))).await.unwrap());
    let running = store.delete_unpinned(id(3), entry(id(3))).await;
    assert!(matches!(running, Err(StoreError::Recording { .. })), "{running:?}");
    let again = store.delete_unpinned(id(2), entry(id(2))).await;
    assert!(matches!(again, Err(StoreError::NoCapture { .. })), "{again:?}");
    // Only what was done is in the audit log.
    let audit = store.audit(0, 99).await.unwrap();
    assert_eq!(audit.iter().map(|one| one.entry.clone()).collect::<Vec<_>>(), [entry(id(2))]);
    assert!(store.strings(id(2), 0).await.unwrap().is_empty());
    let page = store.summaries(&SummaryQuery::default()).await.unwrap();
    assert_eq!(page.items.iter().map(|item| (item.id, item.pinned)).collect::<Vec<_>>(), [(ID, true), (id(3), false)]);

    store.close().await;
    let store = open(dir.path()).await;
    assert!(one(&store, ID).await.pinned, "after a restart");
    store.set_pinned(ID, false).await.unwrap();
    assert!(!one(&store, ID).await.pinned);
    store.set_pinned(ID, true).await.unwrap();
    store.delete(ID).await.unwrap();
    let missing = store.set_pinned(ID, true).await;
    assert!(matches!(missing, Err(StoreError::NoCapture { .. })), "{missing:?}");
}

#[tokio::test]
async fn p39_the_size_of_a_capture_is_what_its_rows_have() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "small").await;
    assert_eq!(one(&store, ID).await.size_bytes, counted(dir.path(), ID).await);
    // With a time index, of which the last nodes come with the end, and an append that is taken back.
    store.create(new_capture(id(2), "large")).await.unwrap();
    for number in 0..20 {
        let chunks = vec![(0, chunk(START_NS + number * 100_000, 4096))];
        let strings = if number == 0 { vec![(1, b"bash".to_vec())] } else { Vec::new() };
        store.append(id(2), Append { chunks, strings, ..Append::default() }).await.unwrap();
    }
    let bad = vec![(0, chunk(START_NS, 4096)), (9, chunk(START_NS, 1))];
    store
        .append(id(2), Append { chunks: bad, strings: vec![(2, vec![0; 999])], ..Append::default() })
        .await
        .unwrap_err();
    assert_eq!(one(&store, id(2)).await.size_bytes, counted(dir.path(), id(2)).await);
    store.finish(id(2), end(bathyscope_capture::Ledger::default())).await.unwrap();
    let (size, record) = (counted(dir.path(), id(2)).await, store.capture(id(2)).await.unwrap());
    assert_eq!((record.size_bytes, one(&store, id(2)).await.size_bytes), (size, size));
    assert!(size > record.chunk_bytes, "the index counts");
    let page = store.summaries(&SummaryQuery::default()).await.unwrap();
    assert_eq!(page.items.iter().find(|item| item.id == id(2)).unwrap().size_bytes, size);
    let all = counted(dir.path(), ID).await + size;
    assert_eq!(store.sizes().await.unwrap(), (all, 0));
    store.set_pinned(id(2), true).await.unwrap();
    assert_eq!(store.sizes().await.unwrap(), (all, size));
    let room = store.room();
    assert!(room.database_bytes > size && room.free_bytes > 0, "{room:?}");
}

#[tokio::test]
async fn p39_age_counts_from_the_end_or_from_the_import() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "recorded").await;
    let started = new_capture(ID, "t").started_unix_ns;
    // It covers 1000 ns.
    assert_eq!(one(&store, ID).await.since_unix_ns, started + 1000);
    store.create(new_capture(id(2), "interrupted")).await.unwrap();
    assert_eq!(one(&store, id(2)).await.since_unix_ns, new_capture(id(2), "t").started_unix_ns);
    store.append(id(2), full_append()).await.unwrap();
    assert!(one(&store, id(2)).await.recording);

    // A file says nothing of pins, and the same capture gives the same file.
    let (file, again) = (dir.path().join("1.bathy"), dir.path().join("2.bathy"));
    store.export_file(ID, &file).await.unwrap();
    store.set_pinned(ID, true).await.unwrap();
    store.export_file(ID, &again).await.unwrap();
    assert!(fs::read(&file).unwrap() == fs::read(&again).unwrap());
    let other = tempfile::tempdir().unwrap();
    let second = open(other.path()).await;
    second.import_file(&file, "grace", NOW).await.unwrap();
    let imported = one(&second, ID).await;
    assert_eq!((imported.since_unix_ns, imported.pinned, imported.recording), (NOW, false, false));
    assert_eq!(imported.size_bytes, one(&store, ID).await.size_bytes);

    store.close().await;
    let store = open(dir.path()).await;
    let interrupted = one(&store, id(2)).await;
    assert_eq!(
        (interrupted.since_unix_ns, interrupted.recording),
        (new_capture(id(2), "t").started_unix_ns + 100, false)
    );
}

/// Of an older version: nothing is pinned, ages are those of the ends, and sizes are counted from the rows.
#[tokio::test]
async fn p38_what_older_databases_hold_is_counted() {
    let fixtures = [
        &include_bytes!("../fixtures/v1.db")[..],
        include_bytes!("../fixtures/v3.db"),
        include_bytes!("../fixtures/v5.db"),
    ];
    for fixture in fixtures {
        let dir = tempfile::tempdir().unwrap();
        fs::write(database(dir.path()), fixture).unwrap();
        let store = open(dir.path()).await;
        let (record, kept) = (store.capture(ID).await.unwrap(), one(&store, ID).await);
        let duration = i64::try_from(record.end_ns - record.start_ns).unwrap();
        assert_eq!((kept.pinned, kept.since_unix_ns), (false, record.started_unix_ns + duration));
        assert_eq!(kept.size_bytes, counted(dir.path(), ID).await);
    }
}

/// A row whose clock was wrong: lists have it, and it can be pinned and deleted like any other.
#[tokio::test]
async fn p32_a_capture_of_a_time_that_has_not_come_is_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (number, started_unix_ns) in [(1, i64::MAX), (2, 0), (3, i64::MIN), (4, NOW)] {
        store.create(bathyscope_store::NewCapture { started_unix_ns, ..new_capture(id(number), "t") }).await.unwrap();
        store.append(id(number), full_append()).await.unwrap();
        store.finish(id(number), end(full_append().ledger.unwrap())).await.unwrap();
    }
    let page = store.summaries(&SummaryQuery::default()).await.unwrap();
    assert_eq!(page.items.iter().map(|item| item.id.bits()).collect::<Vec<_>>(), [1, 4, 2, 3], "newest first");
    assert_eq!(one(&store, id(1)).await.since_unix_ns, i64::MAX);
    assert_eq!(one(&store, id(3)).await.since_unix_ns, i64::MIN + 1000);
    store.set_pinned(id(1), true).await.unwrap();
    let file = dir.path().join("future.bathy");
    store.export_file(id(1), &file).await.unwrap();
    for number in 1..=4 {
        store.delete(id(number)).await.unwrap();
    }
    assert_eq!(store.import_file(&file, "grace", NOW).await.unwrap(), id(1));
    assert_eq!(one(&store, id(1)).await.since_unix_ns, NOW);
}

//! Captures leave as files and come back; hostile files do not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use bathyscope_capture::{OutputLine, OutputStream};
use bathyscope_store::{CaptureState, NextMessage, Options, Origin, Store, StoreError, SummaryQuery, tell_file};
use common::*;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// A directory with the store's own directory and a file `good.bathy` in it.
async fn exported() -> (tempfile::TempDir, Store, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    let store = open(&dir.path().join("data")).await;
    record(&store, ID, "exported").await;
    store.add_note(ID, note(1)).await.unwrap();
    let file = dir.path().join("good.bathy");
    store.export_file(ID, &file).await.unwrap();
    (dir, store, file)
}

/// An empty store.
async fn other() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    (dir, store)
}

async fn titles(store: &Store) -> Vec<String> {
    let page = store.summaries(&SummaryQuery::default()).await.unwrap();
    page.items.into_iter().map(|item| item.title).collect()
}

#[tokio::test]
async fn a_capture_survives_the_way_out_and_in() {
    let (dir, store, file) = exported().await;
    let (_other, second) = other().await;
    assert_eq!(second.import_file(&file, "grace", NOW).await.unwrap(), ID);
    let (mut there, here) = (store.capture(ID).await.unwrap(), second.capture(ID).await.unwrap());
    assert_eq!((here.origin, here.owner.as_str()), (Origin::Imported, "grace"));
    (there.origin, there.owner, there.since_unix_ns) = (here.origin, here.owner.clone(), NOW);
    assert_eq!(here, there);
    assert_eq!(second.strings(ID, 0).await.unwrap(), store.strings(ID, 0).await.unwrap());
    assert_eq!(second.symbols(ID, 0).await.unwrap(), store.symbols(ID, 0).await.unwrap());
    for code in code() {
        assert_eq!(second.code_at(ID, code.mapping, code.start).await.unwrap(), Some(code));
    }
    assert_eq!(second.code_at(ID, 2, 49).await.unwrap(), None);
    assert_eq!(second.stacks(ID, 0).await.unwrap(), store.stacks(ID, 0).await.unwrap());
    assert_eq!(second.processes(ID).await.unwrap(), store.processes(ID).await.unwrap());
    assert_eq!(second.script(ID).await.unwrap(), Some(script()));
    assert_eq!(second.output(ID, 0, 99).await.unwrap(), store.output(ID, 0, 99).await.unwrap());
    for stream in [0, 1] {
        assert_eq!(second.chunk_index(ID, stream, 0).await.unwrap(), store.chunk_index(ID, stream, 0).await.unwrap());
        assert_eq!(second.chunk(ID, stream, 0).await.unwrap(), store.chunk(ID, stream, 0).await.unwrap());
    }
    // From bytes, and again: the same capture, whatever it is called now.
    second.rename(ID, "another name").await.unwrap();
    assert_eq!(second.import_bytes(&fs::read(&file).unwrap(), "grace", NOW).await.unwrap(), ID);
    assert_eq!(titles(&second).await, ["another name"]);
    // The same capture gives the same bytes, and small ones.
    let again = dir.path().join("again.bathy");
    store.export_file(ID, &again).await.unwrap();
    assert!(fs::read(&again).unwrap() == fs::read(&file).unwrap());
    let size = fs::metadata(&file).unwrap().len();
    // Tables and indexes that the file has no rows of take a page of 4 KiB each.
    assert!(size < 450_000, "{size}");
    assert!(!dir.path().join("again.bathy.partial").exists());
}

/// A file of the version before, as a release made it.
#[tokio::test]
async fn a_file_of_version_3_is_read_as_it_is() {
    let (_dir, second) = other().await;
    let file = include_bytes!("../fixtures/v3.bathy");
    assert_eq!(second.import_bytes(file, "grace", NOW).await.unwrap(), ID);
    assert_eq!(second.symbols(ID, 0).await.unwrap().len(), 1);
    assert_eq!(second.code_at(ID, 2, 48).await.unwrap(), None, "there was no code then");
    assert_eq!(second.import_bytes(file, "grace", NOW).await.unwrap(), ID, "known by its content");
}

#[tokio::test]
async fn another_capture_under_the_same_id_gets_a_new_one() {
    let (_dir, _store, file) = exported().await;
    let (_other, second) = other().await;
    second.create(new_capture(ID, "mine")).await.unwrap();
    let imported = second.import_file(&file, "grace", NOW).await.unwrap();
    assert_ne!(imported, ID);
    assert_eq!(second.capture(imported).await.unwrap().title, "exported");
    assert_eq!(second.capture(ID).await.unwrap().state, CaptureState::Recording);
    assert_eq!(second.import_file(&file, "grace", NOW).await.unwrap(), imported, "known by its content");
}

#[tokio::test]
async fn two_imports_of_one_file_give_one_capture() {
    let (_dir, _store, file) = exported().await;
    let (_other, second) = other().await;
    let (one, two) = tokio::join!(second.import_file(&file, "a", NOW), second.import_file(&file, "b", NOW));
    assert_eq!((one.unwrap(), two.unwrap()), (ID, ID));
    assert_eq!(titles(&second).await.len(), 1);
}

#[tokio::test]
async fn exports_that_cannot_be_made_leave_nothing() {
    let (dir, store, file) = exported().await;
    store.create(new_capture(id(2), "running")).await.unwrap();
    let target = dir.path().join("new.bathy");
    assert!(matches!(store.export_file(id(2), &target).await, Err(StoreError::Recording { .. })));
    assert!(matches!(store.export_file(id(3), &target).await, Err(StoreError::NoCapture { .. })));
    assert!(matches!(store.export_file(ID, &file).await, Err(StoreError::File { .. })), "it exists already");
    assert!(matches!(store.export_file(ID, &dir.path().join("none/new.bathy")).await, Err(StoreError::File { .. })));
    assert!(!target.exists() && !dir.path().join("new.bathy.partial").exists());
}

async fn refused(store: &Store, file: &Path) -> String {
    match store.import_file(file, "grace", NOW).await {
        Err(StoreError::Import { why }) => why,
        other => panic!("{other:?}"),
    }
}

/// Statements that make a good file bad, and a part of what is said about it.
const HOSTILE: [(&str, &str); 105] = [
    ("CREATE VIEW v AS SELECT load_extension('x')", "its view v"),
    ("CREATE TRIGGER t AFTER INSERT ON captures BEGIN DELETE FROM captures; END", "its trigger t"),
    ("CREATE TABLE more (a)", "its table more"),
    ("CREATE TABLE _sqlx_migrations (version, success)", "whole database"),
    ("CREATE INDEX evil ON strings (hex(text))", "its index evil"),
    ("ALTER TABLE strings ADD COLUMN g TEXT GENERATED ALWAYS AS (hex(text)) VIRTUAL", "table strings"),
    ("DROP TABLE stacks; CREATE VIEW stacks AS SELECT 1 AS capture_id, 1 AS id, x'00' AS frames", "stacks"),
    ("DROP TRIGGER audit_is_not_deleted", "audit_is_not_deleted"),
    ("PRAGMA application_id = 3", "another program"),
    ("PRAGMA user_version = 27", "schema version 27"),
    ("PRAGMA user_version = 25", "its "),
    ("PRAGMA user_version = 24", "its "),
    ("PRAGMA user_version = 23", "its "),
    ("PRAGMA user_version = 22", "its "),
    ("PRAGMA user_version = 21", "its "),
    ("PRAGMA user_version = 20", "its "),
    ("PRAGMA user_version = 19", "its "),
    ("PRAGMA user_version = 18", "its "),
    ("PRAGMA user_version = 17", "its "),
    ("PRAGMA user_version = 16", "its "),
    ("PRAGMA user_version = 15", "its "),
    ("PRAGMA user_version = 14", "its "),
    ("PRAGMA user_version = 13", "its "),
    ("PRAGMA user_version = 12", "its "),
    ("PRAGMA user_version = 11", "its "),
    ("PRAGMA user_version = 10", "its "),
    ("UPDATE notes SET text = printf('%.8193c', 'x')", "notes that are too many or too long"),
    ("UPDATE notes SET author = printf('%.65c', 'x')", "notes that are too many or too long"),
    (
        "WITH n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) INSERT INTO notes SELECT capture_id, i, \
         'moment', 1, 1, NULL, NULL, '', '', 0, NULL, 'ada', 'ada', 0, 0, NULL, NULL, NULL, NULL, 1 FROM notes, n WHERE id = 1",
        "notes that are too many or too long",
    ),
    ("UPDATE notes SET text = 'a' || char(8238)", "U+202E, which hides or moves text"),
    ("UPDATE notes SET kind = 'row'", "what a note is tied to"),
    ("UPDATE notes SET kind = 'row', place = '1.x'", "what a note is tied to"),
    ("UPDATE notes SET kind = 'wish'", "what a note is tied to"),
    ("UPDATE notes SET kind = 'frame', place = 'main main'", "names no frame"),
    ("UPDATE notes SET kind = 'answer', place = '00000000000000aa'", "it answers no note"),
    ("UPDATE notes SET place = printf('%.4201c', 'x')", "notes that are too many or too long"),
    ("UPDATE notes SET view = 'a b'", "no query of an address"),
    (
        "UPDATE notes SET resolved_unix_ns = 1, resolved_by = printf('%.65c', 'x')",
        "notes that are too many or too long",
    ),
    ("INSERT INTO note_versions SELECT capture_id, id, 1, '{}', 1, 'ada' FROM notes WHERE id = 1", "what a note said"),
    (
        "INSERT INTO note_versions SELECT capture_id, id, 1, printf('%.131073c', 'x'), 1, 'ada' FROM notes WHERE id = 1",
        "versions of notes that are too many or too long",
    ),
    ("INSERT INTO runs SELECT id, 1, NULL, 1, 1, '[]', '' FROM captures", "runs of series and marks"),
    ("INSERT INTO groups VALUES ('ops')", "rights and groups of people"),
    ("INSERT INTO capture_rights SELECT id, 'everybody', '', 'change' FROM captures", "rights and groups of people"),
    ("INSERT INTO tag_rights VALUES ('slow', 'person', 'eve', 'change')", "rights and groups of people"),
    (
        "PRAGMA foreign_keys = OFF; INSERT INTO session_groups VALUES (zeroblob(32), 'https://x', 'ops')",
        "groups of logins",
    ),
    ("INSERT INTO marks VALUES (1, 0, '', 'x', 'https://x', 'eve', 0)", "runs of series and marks"),
    ("INSERT INTO investigations VALUES (1, 'x', 'open', '', 'eve', 0, 0, 'eve', 1, NULL)", "investigations"),
    ("INSERT INTO webhooks VALUES ('x', 'https://x', zeroblob(32), 'eve', 0, 0, 0)", "webhooks and identities"),
    ("INSERT INTO deliveries VALUES (1, 'x', NULL, '', '', 0, 'waiting', 0, NULL, '', 0)", "webhooks and identities"),
    (
        "PRAGMA foreign_keys = OFF; INSERT INTO identities VALUES ('x', 'https://x', 'eve', 1, 0)",
        "webhooks and identities",
    ),
    ("UPDATE notes SET end_ns = -1", "what a note is tied to"),
    ("UPDATE notes SET kind = 'range', end_ns = -1", "no range of time"),
    ("PRAGMA user_version = 9", "its "),
    ("PRAGMA user_version = 8", "its "),
    ("INSERT INTO track_directories SELECT id, 0, x'00' FROM captures", "pages of the track index"),
    ("INSERT INTO track_pages SELECT id, 0, 0, 0, 0, x'00' FROM captures", "pages of the track index"),
    ("INSERT INTO library VALUES (1, 'recipe', 'mine', 'eve', '', '', 1, 1, 0, 0, NULL)", "entries of a library"),
    ("INSERT INTO labels SELECT id, 'x', ' t ' FROM captures", "labels of captures"),
    (
        "INSERT INTO shares VALUES (1, zeroblob(32), 'capture', '', '{}', '', 'eve', 0, 1, NULL, 0, '', NULL)",
        "it holds shares",
    ),
    ("INSERT INTO accounts (name, role, created_unix_ns) VALUES ('eve', 'admin', 0)", "it holds accounts"),
    (
        "INSERT INTO api_tokens (hash, owner, name, role, created_unix_ns, expires_unix_ns) VALUES (zeroblob(32), 'eve', '', \
         'admin', 0, 9)",
        "it holds accounts",
    ),
    ("INSERT INTO deleted SELECT id, 0, 'eve' FROM captures", "it holds deleted captures"),
    ("INSERT INTO fire_tokens SELECT id, zeroblob(32), 'eve', 0 FROM captures", "tokens of flight recorders"),
    (
        "INSERT INTO firings SELECT id, 1, 'row', printf('%.2000c', 'x'), '', 0, 0, 0 FROM captures",
        "firings that are too many or too long",
    ),
    ("PRAGMA foreign_keys = OFF; INSERT INTO library_versions VALUES (1, 1, 'x', 'eve', 0)", "entries of a library"),
    ("INSERT INTO derivations SELECT id, 0, '{}', 'complete', '', 1, 1, 0, '[]' FROM captures", "computed streams"),
    (
        "UPDATE streams SET schema = json_set(schema, '$.derived', json('{\"rule\":\"r\",\"version\":1,\"from\":[]}'))",
        "a stream was computed",
    ),
    ("UPDATE sources SET number = 1", "sources that are too many"),
    ("UPDATE sources SET reason = printf('%.2000c', 'x')", "too long a reason"),
    ("UPDATE sources SET state = 'gone'", "the state of a source"),
    ("INSERT INTO sources SELECT id, 1, 'ended', '' FROM captures", "more of sources than there are"),
    ("PRAGMA user_version = 1", "its "),
    ("PRAGMA user_version = 7", "its "),
    ("UPDATE checksums SET sum = sum + 1 WHERE part = 0", "its strings 1 to 2048 are damaged"),
    ("PRAGMA user_version = 3", "its "),
    ("UPDATE scripts SET probes = 'x'", "the probes of a script"),
    ("UPDATE scripts SET plan = printf('%.5000000c', 'x')", "too long"),
    ("DELETE FROM captures", "more or less than one capture"),
    ("UPDATE captures SET state = 'recording'", "has not ended"),
    ("UPDATE captures SET phase = 'importing'", "no capture that has ended"),
    ("UPDATE captures SET title = printf('%.300c', 'x')", "too long"),
    ("UPDATE captures SET spec = '{}'", "the spec of a capture"),
    ("UPDATE captures SET spec = replace(spec, '99', '99999999')", "its spec"),
    ("UPDATE captures SET end_ns = 1", "ends before it begins"),
    ("UPDATE captures SET end_ns = -1", "ends before it begins"),
    ("UPDATE streams SET chunk_count = 4000000000", "not numbered"),
    ("UPDATE streams SET stream = 9 WHERE stream = 1", "not numbered"),
    ("UPDATE streams SET schema = replace(schema, '\"comm\"', '\"cpu\"')", "common columns"),
    ("UPDATE streams SET schema = replace(schema, '\"next_pid\"', '\"comm\"')", "the same name"),
    ("UPDATE streams SET hits = -1", "more than can be"),
    ("UPDATE losses SET count = -1", "more than can be"),
    ("UPDATE losses SET stream = 2", "does not exist"),
    ("UPDATE chunk_data SET data = zeroblob(2000)", "does not begin as a chunk"),
    ("UPDATE chunk_data SET data = substr(data, 1, length(data) - 1) WHERE stream = 0", "damaged"),
    ("DELETE FROM chunk_data WHERE stream = 1", "is missing"),
    ("DELETE FROM strings WHERE id = 1", "not numbered"),
    ("DELETE FROM strings", "does not exist"),
    ("UPDATE strings SET text = zeroblob(70000) WHERE id = 2", "too long"),
    ("UPDATE stacks SET frames = x'63000000'", "does not exist"),
    ("UPDATE frames SET mapping_id = 9", "not known"),
    ("UPDATE code SET bytes = zeroblob(70000)", "too long"),
    ("UPDATE code SET mapping_id = 9 WHERE mapping_id = 2", "not known"),
    ("UPDATE code SET lines = '[]'", "the lines of a function"),
    ("UPDATE code SET machine = 'z80'", "a machine"),
    ("UPDATE processes SET value = -5", "cannot be read"),
];

#[tokio::test]
async fn hostile_files_are_refused_and_leave_nothing() {
    let (dir, _store, file) = exported().await;
    let (other_dir, second) = other().await;
    for (number, (statement, expected)) in HOSTILE.iter().enumerate() {
        let bad = dir.path().join(format!("{number}.bathy"));
        fs::copy(&file, &bad).unwrap();
        let options =
            SqliteConnectOptions::new().filename(&bad).foreign_keys(false).pragma("ignore_check_constraints", "ON");
        let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(*statement)).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        let why = refused(&second, &bad).await;
        assert!(why.contains(expected), "{statement}: {why}");
    }
    assert!(titles(&second).await.is_empty());
    assert_eq!(
        second.import_file(&file, "grace", NOW).await.unwrap(),
        ID,
        "the good one is imported after all of them"
    );
    second.delete(ID).await.unwrap();
    second.close().await;
    let left: Vec<_> = fs::read_dir(other_dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    let options = SqliteConnectOptions::new().filename(database(other_dir.path()));
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    for table in [
        "captures",
        "streams",
        "chunks",
        "chunk_data",
        "strings",
        "frames",
        "stacks",
        "processes",
        "output",
        "scripts",
        "retention",
        "code",
        "checksums",
        "derivations",
        "sources",
        "notes",
    ] {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        let (rows,): (i64,) = sqlx::query_as(count).fetch_one(&mut conn).await.unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_database_are_refused() {
    let (dir, store, file) = exported().await;
    let good = fs::read(&file).unwrap();
    for bytes in [&b""[..], b"x", b"SQLite format 3\0", &[0; 9000], &good[..5000]] {
        let error = store.import_bytes(bytes, "grace", NOW).await.unwrap_err();
        assert!(matches!(error, StoreError::Import { .. }), "{error:?}");
    }
    // Noise at many places of a good file: refused, or what it says is what was exported.
    let (_other, second) = other().await;
    for round in 0..if is_long() { 300 } else { 100_usize } {
        let mut bytes = good.clone();
        let at = round * 7919 % bytes.len();
        let end = (at + 1 + round % 40).min(bytes.len());
        bytes[at..end].iter_mut().enumerate().for_each(|(i, byte)| *byte = byte.wrapping_add((round + i) as u8 | 1));
        match second.import_bytes(&bytes, "grace", NOW).await {
            Ok(id) => second.delete(id).await.unwrap(),
            Err(StoreError::Import { .. }) => {}
            Err(error) => panic!("{at}: {error:?}"),
        }
    }
    assert!(matches!(store.import_file(dir.path(), "grace", NOW).await, Err(StoreError::Import { .. })), "a directory");
    assert!(matches!(store.import_file(&dir.path().join("none"), "grace", NOW).await, Err(StoreError::File { .. })));
    let small = tempfile::tempdir().unwrap();
    let limited = Store::open(small.path(), Options { max_import_bytes: 1000, ..options() }).await.unwrap();
    assert!(refused(&limited, &file).await.contains("at most 1000"));
}

/// What an honest child says of the file.
async fn said(file: &Path) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    tell_file(fs::read(file).unwrap(), &mut |message| {
        all.push(message.to_vec());
        Ok(())
    })
    .await
    .unwrap();
    all
}

/// The header with something else in it.
fn header(honest: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let mut value = serde_json::from_slice(&honest[1..]).unwrap();
    change(&mut value);
    [b"H", serde_json::to_vec(&value).unwrap().as_slice()].concat()
}

type Lie = Vec<Result<Option<Vec<u8>>, String>>;

/// What a child that was taken over could say, and a part of what is said about it.
fn lies(honest: &[Vec<u8>]) -> Vec<(&'static str, Lie, &'static str)> {
    const ODD: &str = "said what cannot be";
    let all = || honest.iter().cloned().map(|message| Ok(Some(message))).collect::<Lie>();
    let first =
        |message: Vec<u8>| -> Lie { [Ok(Some(message))].into_iter().chain(all().into_iter().skip(1)).collect() };
    let changed = |change: fn(&mut serde_json::Value)| first(header(&honest[0], change));
    let at = |letter: u8| honest.iter().position(|message| message[0] == letter).unwrap();
    let without =
        |index: usize| all().into_iter().enumerate().filter(|(at, _)| *at != index).map(|(_, it)| it).collect();
    let with = |index: usize, message: Vec<u8>| {
        let mut all = all();
        all.insert(index, Ok(Some(message)));
        all
    };
    let in_place = |index: usize, change: fn(&mut Vec<u8>)| {
        let mut all = all();
        let mut message = honest[index].clone();
        change(&mut message);
        all[index] = Ok(Some(message));
        all
    };
    let (page, chunk) = (at(b'P'), at(b'C'));
    vec![
        ("nothing", vec![Ok(None)], ODD),
        ("an empty message", vec![Ok(Some(Vec::new()))], ODD),
        ("no header", without(0), ODD),
        ("a header twice", with(1, honest[0].clone()), ODD),
        ("a header that is none", first(b"H{}".to_vec()), ODD),
        ("a header of brackets", first([b"H".as_slice(), &vec![b'['; 1 << 20]].concat()), ODD),
        ("a letter that is none", with(1, b"Zx".to_vec()), ODD),
        ("a capture that records", changed(|it| it["record"]["state"] = "recording".into()), "has not ended"),
        ("an end before the beginning", changed(|it| it["record"]["end_ns"] = 0.into()), "before it begins"),
        ("too large sums", changed(|it| it["record"]["ledger"]["streams"][0]["hits"] = u64::MAX.into()), "more than can be"),
        ("a title that is too long", changed(|it| it["record"]["title"] = "x".repeat(300).into()), ODD),
        ("another digest", changed(|it| it["digest"][0] = (it["digest"][0].as_u64().unwrap() ^ 1).into()), "changed"),
        ("more chunks than come", changed(|it| it["record"]["streams"][0]["chunks"] = 1_000_000.into()), ODD),
        ("a page twice", with(page, honest[page].clone()), ODD),
        ("a page that is cut", in_place(page, |it| it.truncate(it.len() / 2)), ODD),
        ("an empty page", with(page, b"P{\"strings\":[],\"mappings\":[],\"frames\":[],\"stacks\":[],\"symbols\":[],\"code\":[],\"processes\":[],\"output\":[]}".to_vec()), ODD),
        ("no page", without(page), ""),
        ("a chunk of no stream", in_place(chunk, |it| it[1] = 0xee), ODD),
        ("a chunk twice", with(chunk, honest[chunk].clone()), ODD),
        ("a chunk with another bit", in_place(chunk, |it| *it.last_mut().unwrap() ^= 1), ""),
        ("a chunk that is cut", in_place(chunk, |it| it.truncate(3)), ""),
        ("an early end", with(chunk, b"E".to_vec()), ODD),
        ("an end that says more", in_place(honest.len() - 1, |it| it.push(0)), ODD),
        ("no end", without(honest.len() - 1), ODD),
        ("a refusal with control characters", with(page, b"Fbecause\x1b[31m\n".to_vec()), "because\\x1b[31m"),
        ("its death", { let mut all = all(); all[page] = Err("it was ended by signal 9".to_owned()); all }, "signal 9"),
    ]
}

/// A child that reads a file is as hostile as the file: whatever it says, it is refused in words, and nothing is stored.
#[tokio::test]
async fn p18_a_child_that_lies_is_refused_and_leaves_nothing() {
    let (_dir, _store, file) = exported().await;
    let honest = said(&file).await;
    let (_other, second) = other().await;
    for (what, lie, expected) in lies(&honest) {
        let mut lie = lie.into_iter();
        let next: NextMessage = Box::new(move || lie.next().unwrap_or(Ok(None)));
        match second.import_messages(next, "grace", NOW).await {
            Err(StoreError::Import { why }) => {
                assert!(!why.is_empty() && why.contains(expected), "{what}: {why}");
                assert!(!why.chars().any(char::is_control), "{what}: {why:?}");
            }
            other => panic!("{what}: {other:?}"),
        }
        assert!(titles(&second).await.is_empty(), "{what}");
        assert!(matches!(second.capture(ID).await, Err(StoreError::NoCapture { .. })), "{what}");
    }
    // One that never ends.
    let small = tempfile::tempdir().unwrap();
    let limited = Store::open(small.path(), Options { max_import_bytes: 1 << 20, ..options() }).await.unwrap();
    let page = honest.iter().find(|message| message[0] == b'P').unwrap().clone();
    let output = br#"P{"strings":[],"mappings":[],"frames":[],"stacks":[],"symbols":[],"code":[],"processes":[],"output":[OUT]}"#;
    let line = serde_json::to_string(&OutputLine { time_ns: 1, stream: OutputStream::Stdout, bytes: vec![b'x'; 4096] });
    let endless = String::from_utf8_lossy(output).replace("OUT", &line.unwrap()).into_bytes();
    let mut begin = vec![honest[0].clone(), page].into_iter();
    let next: NextMessage = Box::new(move || Ok(Some(begin.next().unwrap_or_else(|| endless.clone()))));
    let error = limited.import_messages(next, "grace", NOW).await.unwrap_err().to_string();
    assert!(error.contains("holds more than 1 MiB"), "{error}");
    assert!(titles(&limited).await.is_empty());
    // The same store takes what is honest.
    let mut all = honest.into_iter();
    let next: NextMessage = Box::new(move || Ok(all.next()));
    assert_eq!(second.import_messages(next, "grace", NOW).await.unwrap(), ID);
}

#[tokio::test]
async fn an_import_that_was_cut_off_is_removed_at_the_next_start() {
    let (_dir, _store, file) = exported().await;
    let (other_dir, second) = other().await;
    second.import_file(&file, "grace", NOW).await.unwrap();
    second.close().await;
    let options = SqliteConnectOptions::new().filename(database(other_dir.path()));
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(
        "UPDATE captures SET phase = 'importing'; UPDATE listed SET shown = 0, indexed = 0; DELETE FROM search",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    conn.close().await.unwrap();
    let second = open(other_dir.path()).await;
    assert!(titles(&second).await.is_empty());
    // It may still be going on in the background; the id is free, or another one is found.
    second.import_file(&file, "grace", NOW).await.unwrap();
    assert_eq!(titles(&second).await, ["exported"]);
}

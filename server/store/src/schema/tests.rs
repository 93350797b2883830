//! P38: migrations run on a copy, leave a backup, and a failure leaves the old file usable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{borrow::Cow, path::Path};

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, ColumnData, HostFacts, Method, ProfileSpec, StreamKind, StreamSchema,
    Target, encode_chunk,
};
use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType},
};

use super::*;
use crate::{CaptureState, NewCapture, Options, Reserve, Store};

const ID: CaptureId = CaptureId::from_bits(7);

fn options() -> Options {
    Options { reserve: Reserve::Bytes(0), ballast_bytes: 0, ..Options::default() }
}

/// The migrations of this version and one that adds a column, fills it, and then runs `more`.
fn with_next(more: &'static str) -> Migrator {
    let next = newest(&MIGRATIONS) + 1;
    let text = format!(
        "PRAGMA user_version = {next}; ALTER TABLE captures ADD COLUMN note TEXT NOT NULL DEFAULT 'old'; {more}"
    );
    let text = sqlx::AssertSqlSafe(text).into_sql_str();
    let kind = MigrationType::Simple;
    let added = Migration::new(next, Cow::Borrowed("next"), kind, text, false);
    Migrator::with_migrations(MIGRATIONS.iter().cloned().chain([added]).collect())
}

/// A database of this version with a capture that is being recorded.
async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let schema = StreamSchema::new("t:e", StreamKind::Events, []);
    let method = Method::Profile(ProfileSpec {
        frequency_hz: 1,
        kernel_stacks: true,
        user_stacks: false,
        ..ProfileSpec::default()
    });
    let new = NewCapture {
        id: ID,
        title: "filled".to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(method, Target::System),
        host: HostFacts::default(),
        streams: vec![schema.clone()],
        started_unix_ns: 1,
        start_ns: 1,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
    let numbers = || ColumnData::U64(vec![5; 10]);
    let columns = vec![numbers(), numbers(), numbers(), numbers(), ColumnData::Id(vec![1; 10])];
    let chunk = encode_chunk(&schema, &Batch { columns }).unwrap();
    let strings = vec![(1, b"x".to_vec())];
    store.append(ID, Append { chunks: vec![(0, chunk)], strings, ..Append::default() }).await.unwrap();
    store.close().await;
    dir
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn whole(store: &Store) {
    let capture = store.capture(ID).await.unwrap();
    assert_eq!((capture.state, capture.streams[0].rows), (CaptureState::Interrupted, 10));
    assert_eq!(store.strings(ID, 0).await.unwrap().len(), 1);
    store.chunk(ID, 0, 0).await.unwrap();
}

#[tokio::test]
async fn p38_a_migration_keeps_everything_and_leaves_a_backup() {
    let dir = filled().await;
    let before = std::fs::read(dir.path().join("bathyscope.db")).unwrap();
    let next = with_next("UPDATE captures SET title = title || '!'");
    let store = Store::open_with(dir.path(), options(), &next).await.unwrap();
    whole(&store).await;
    assert_eq!(store.capture(ID).await.unwrap().title, "filled!");
    store.close().await;
    assert!(std::fs::read(dir.path().join("bathyscope.db.v26.bak")).unwrap() == before, "the backup is the old file");
    let expected = ["bathyscope.db", "bathyscope.db.v26.bak", "bathyscope.ends", "bathyscope.lock"];
    assert_eq!(names(dir.path()), expected);
    let Err(error) = Store::open(dir.path(), options()).await else { panic!("an older program opened it") };
    assert!(matches!(error, StoreError::Newer { found: 27, known: 26, .. }), "{error:?}");
    // Put back, the backup works, and can be migrated again beside its own backup.
    std::fs::copy(dir.path().join("bathyscope.db.v26.bak"), dir.path().join("bathyscope.db")).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    whole(&store).await;
    store.close().await;
    Store::open_with(dir.path(), options(), &next).await.unwrap().close().await;
    assert!(dir.path().join("bathyscope.db.v26.2.bak").exists());
}

#[tokio::test]
async fn p38_a_failed_migration_leaves_the_old_file_usable() {
    let failures =
        ["UPDATE captures SET nothing = 1", "INSERT INTO frames VALUES (1, 1, 77, 0)", "DELETE FROM streams"];
    for failure in failures {
        let dir = filled().await;
        let before = std::fs::read(dir.path().join("bathyscope.db")).unwrap();
        let Err(error) = Store::open_with(dir.path(), options(), &with_next(failure)).await else {
            panic!("{failure}: it was opened")
        };
        assert!(matches!(error, StoreError::Migration { from: 26, to: 27, .. }), "{failure}: {error:?}");
        assert!(std::fs::read(dir.path().join("bathyscope.db")).unwrap() == before, "{failure}: the file was changed");
        assert_eq!(names(dir.path()), ["bathyscope.db", "bathyscope.ends", "bathyscope.lock"]);
        whole(&Store::open(dir.path(), options()).await.unwrap()).await;
    }
}

#[tokio::test]
async fn p38_the_log_of_a_killed_process_is_not_left_out() {
    let dir = filled().await;
    // A log that was never moved into the file, as after kill -9.
    let other = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    store.rename(ID, "only in the log").await.unwrap();
    for name in ["bathyscope.db", "bathyscope.db-wal"] {
        std::fs::copy(dir.path().join(name), other.path().join(name)).unwrap();
    }
    let store = Store::open_with(other.path(), options(), &with_next("SELECT 1")).await.unwrap();
    assert_eq!(store.capture(ID).await.unwrap().title, "only in the log");
}

/// A database with something in every table, as a program of that version made it.
async fn is_renewed(version: u32, fixture: &[u8]) {
    const WHOLE: CaptureId = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let capture = store.capture(WHOLE).await.unwrap();
    assert_eq!((capture.title.as_str(), capture.state), ("whole", CaptureState::Finished));
    let loss = &capture.ledger.losses[0];
    assert_eq!((loss.stage, loss.count), (bathyscope_capture::LossStage::RingFull, 3));
    assert_eq!(capture.streams.iter().map(|stream| stream.rows).collect::<Vec<_>>(), [100, 10]);
    store.chunk(WHOLE, 1, 0).await.unwrap();
    // Everything has a checksum, also what was stored before there were any.
    for capture in store.summaries(&crate::SummaryQuery { limit: 100, ..Default::default() }).await.unwrap().items {
        store.check(capture.id).await.unwrap();
    }
    assert_eq!(store.symbols(WHOLE, 0).await.unwrap().len(), 1);
    assert_eq!((store.processes(WHOLE).await.unwrap().len(), store.output(WHOLE, 0, 9).await.unwrap().len()), (4, 2));
    assert_eq!(store.script(WHOLE).await.unwrap().is_some(), version >= 2);
    assert_eq!(store.code_at(WHOLE, 2, 48).await.unwrap(), None);
    let code = bathyscope_capture::FunctionCode::without(2, 48, bathyscope_capture::CodeMissing::NoFile);
    store.put_code(WHOLE, vec![code.clone()]).await.unwrap();
    assert_eq!(store.code_at(WHOLE, 2, 48).await.unwrap(), Some(code));
    let kept = store.retained().await.unwrap();
    let kept = kept.iter().find(|kept| kept.id == WHOLE).unwrap();
    assert!(!kept.pinned && kept.size_bytes > capture.chunk_bytes + capture.output_bytes);
    assert_eq!(store.audit(0, 9).await.unwrap().len(), 1);
    let token = store.redeem_login_token(crate::TokenHash::of(b"token"), 20).await.unwrap().unwrap();
    assert_eq!((token.user.as_str(), token.role), ("ada", crate::Role::Admin));
    assert!(token.session_expires_s > token.expires_s);
    assert_eq!(store.session(crate::TokenHash::of(b"cookie"), 20).await.unwrap().unwrap().user, "grace");
    store.close().await;
    let backup = dir.path().join(format!("bathyscope.db.v{version}.bak"));
    if i64::from(version) == newest(&MIGRATIONS) {
        assert!(!backup.exists(), "nothing was changed");
    } else {
        assert!(std::fs::read(backup).unwrap() == fixture, "the backup is the old file");
    }
}

#[tokio::test]
async fn p38_a_database_of_version_1_is_renewed() {
    is_renewed(1, include_bytes!("../../tests/fixtures/v1.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_3_is_renewed() {
    is_renewed(3, include_bytes!("../../tests/fixtures/v3.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_5_is_renewed() {
    is_renewed(5, include_bytes!("../../tests/fixtures/v5.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_6_is_renewed() {
    let fixture = include_bytes!("../../tests/fixtures/v6.db");
    is_renewed(6, fixture).await;
    // Its index has a leaf and a node of sixteen leaves, which is two levels above it now.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let id = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    let mut found = Vec::new();
    for level in 0..=3 {
        let block = store.index_block(id, (0, bathyscope_capture::Grouping::Cpu, level, 0)).await.unwrap();
        found.push(block.is_some());
    }
    assert_eq!(found, [true, false, true, false]);
}

#[tokio::test]
async fn p38_a_database_of_version_7_is_renewed() {
    is_renewed(7, include_bytes!("../../tests/fixtures/v7.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_8_is_renewed() {
    is_renewed(8, include_bytes!("../../tests/fixtures/v8.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_9_is_renewed() {
    is_renewed(9, include_bytes!("../../tests/fixtures/v9.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_10_is_renewed() {
    is_renewed(10, include_bytes!("../../tests/fixtures/v10.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_11_is_renewed() {
    let fixture = include_bytes!("../../tests/fixtures/v11.db");
    is_renewed(11, fixture).await;
    // Recipes are in the library now, shared as they were, with the text that they had.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let recipes = store.kept_of(Some("grace"), crate::LibraryKind::Recipe).await.unwrap();
    let found: Vec<_> =
        recipes.iter().map(|item| (item.entry.name.as_str(), item.entry.owner.as_str(), item.text.as_str())).collect();
    assert_eq!(found, [("fast", "grace", "{\"name\":\"fast\"}"), ("own", "ada", "{\"name\":\"own\"}")]);
    assert!(recipes.iter().all(|item| item.entry.shared && item.entry.version == 1));
    assert_eq!(store.kept_versions(recipes[1].entry.id).await.unwrap().len(), 1);
}

#[test]
fn every_migration_sets_its_version_and_the_numbers_have_no_gaps() {
    for (number, migration) in (1..).zip(MIGRATIONS.iter()) {
        assert_eq!(migration.version, number);
        let text = migration.sql.as_str();
        assert!(text.contains(&format!("PRAGMA user_version = {number};")), "{number}");
    }
}

#[test]
fn every_file_of_the_folder_is_built_in_under_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = names.filter(|name| name.ends_with(".sql")).collect();
    let built_in = MIGRATIONS.iter().map(|m| format!("{:04}_{}.sql", m.version, m.description.replace(' ', "_")));
    assert_eq!(built_in.collect::<BTreeSet<_>>(), files);
    // What sqlx reads from the text of a migration itself when it makes the list.
    assert!(MIGRATIONS.iter().all(|migration| !migration.sql.as_str().starts_with("-- no-transaction")));
}

#[tokio::test]
async fn every_table_and_column_has_a_comment() {
    for (kind, name, text) in expected_objects(&MIGRATIONS).await.unwrap() {
        if kind != "table" {
            continue;
        }
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        for pair in lines.windows(2) {
            let [before, line] = pair else { continue };
            let column = line.starts_with(|c: char| c.is_ascii_lowercase());
            assert!(!column || before.starts_with("--"), "{name}: {line}");
        }
        let is_virtual = text.starts_with("CREATE VIRTUAL TABLE");
        assert!(is_virtual || text.ends_with("STRICT") || text.ends_with("WITHOUT ROWID"), "{name}");
        let migration = MIGRATIONS.iter().find(|m| m.sql.as_str().contains(&text)).unwrap();
        let before = migration.sql.as_str().split(&text).next().unwrap();
        assert!(before.trim_end().lines().last().unwrap().starts_with("--"), "{name} has no comment");
    }
}

#[tokio::test]
async fn p38_a_database_of_version_12_is_renewed() {
    let fixture = include_bytes!("../../tests/fixtures/v12.db");
    is_renewed(12, fixture).await;
    // Its notes are found.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let id = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    let note = store.notes(id).await.unwrap().remove(0);
    let word = note.content.text.split_whitespace().next().unwrap().to_owned();
    store.index_texts().await.unwrap();
    let found = store.summaries(&crate::SummaryQuery::parse(&word, 0).unwrap()).await.unwrap();
    assert_eq!(found.items.iter().map(|item| item.id).collect::<Vec<_>>(), [id], "{word}");
}

#[tokio::test]
async fn p38_a_database_of_version_13_is_renewed() {
    is_renewed(13, include_bytes!("../../tests/fixtures/v13.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_14_is_renewed() {
    is_renewed(14, include_bytes!("../../tests/fixtures/v14.db")).await;
}

#[tokio::test]
async fn p38_a_database_of_version_15_is_renewed() {
    let fixture = include_bytes!("../../tests/fixtures/v15.db");
    is_renewed(15, fixture).await;
    // Its captures are found by what events brought, its tags and description are as they were, and what was deleted is not found.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    store.index_texts().await.unwrap();
    let id = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    assert_eq!(store.deleted().await.unwrap().len(), 1);
    let labels = store.labels(id).await.unwrap();
    assert!(!labels.tags.is_empty() && !labels.description.is_empty(), "{labels:?}");
    let texts = store.strings(id, 0).await.unwrap();
    let text = texts.iter().find_map(|(_, text)| std::str::from_utf8(text).ok()).unwrap();
    let found = store.summaries(&crate::SummaryQuery::parse(&format!("\"{text}\""), 0).unwrap()).await.unwrap();
    assert_eq!(found.items.iter().map(|item| item.id).collect::<Vec<_>>(), [id], "{text}");
    assert_eq!(found.unsearched, Some(crate::Unsearched::default()));
    // Its note stays as it was written, and is changed to one of Markdown.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let id = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    let note = store.notes(id).await.unwrap().remove(0);
    assert!(note.content.plain && note.resolved.is_none());
    assert_eq!((note.content.text.as_str(), note.content.anchor.times()), ("seen", Some((100, 100))));
    let change = crate::NoteChange { unix_ns: 5, user: "ada".to_owned() };
    let content = bathyscope_capture::NoteContent { plain: false, text: "**seen**".to_owned(), ..note.content.clone() };
    store.change_note(id, (note.id, 1), content, change).await.unwrap();
    let changed = store.note(id, note.id).await.unwrap().unwrap();
    assert_eq!((changed.earlier[0].content.text.as_str(), changed.earlier[0].saved.user.as_str()), ("seen", "ada"));
}

#[tokio::test]
async fn p38_a_database_of_version_21_is_renewed() {
    let fixture = include_bytes!("../../tests/fixtures/v21.db");
    is_renewed(21, fixture).await;
    // People, pages, runs and links are as they were; nobody is kept from anything, and links tell all that they did.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let id = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    let account = store.account("ADA").await.unwrap().unwrap();
    assert_eq!((account.role, account.password.is_some()), (crate::Role::Operator, false));
    assert_eq!(store.api_tokens(Some("ada"), 2).await.unwrap().len(), 1);
    let (page, blocks) = store.investigation(crate::InvestigationId::from_bits(5)).await.unwrap().unwrap();
    assert_eq!((page.conclusion.as_str(), page.version, blocks.len()), ("**the disk**", 2, 1));
    assert_eq!(store.marks(0, i64::MAX).await.unwrap()[0].mark.text, "shop 2.1");
    let place = store.run_places(vec![id]).await.unwrap()[&id];
    assert_eq!((place.series.bits(), place.runs, place.baseline), (7, 1, Some(id)));
    assert!(store.fire_token(id, None).await.unwrap().is_some());
    assert_eq!(store.capture(id).await.unwrap().firing.unwrap().value, "duration_ns 7");
    let shares = store.shares(None, 0).await.unwrap();
    assert_eq!((shares.len(), shares[0].removes.as_str(), shares[0].has_preview), (1, "", false));
    let sight = store.sight("eve").await.unwrap();
    assert_eq!(store.seen_by(&sight).right(id).await.unwrap(), crate::CaptureRight::Read);
    assert!(store.groups().await.unwrap().is_empty() && store.tag_rights().await.unwrap().is_empty());
}

#[tokio::test]
async fn p38_a_database_of_version_24_is_renewed() {
    let fixture = include_bytes!("../../tests/fixtures/v24.db");
    is_renewed(24, fixture).await;
    // Who may read what, what links do not tell, what is announced and who logs in elsewhere are as they were.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bathyscope.db"), fixture).unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let id = CaptureId::from_bits(0xfedc_ba98_7654_3210);
    let may = [("eve", None), ("GRACE", Some(crate::CaptureRight::Read)), ("linus", Some(crate::CaptureRight::Change))];
    for (user, right) in may {
        let sight = store.sight(user).await.unwrap();
        assert_eq!(store.seen_by(&sight).right(id).await.ok(), right, "{user}");
    }
    assert_eq!(store.groups().await.unwrap()["kernel team"], ["grace"]);
    assert_eq!(store.tag_rights().await.unwrap()["disk"].len(), 1);
    let shares = store.shares(None, 0).await.unwrap();
    assert_eq!((shares[0].removes.as_str(), shares[0].has_preview), ("arguments paths", true));
    let webhook = store.webhook("CHAT").await.unwrap().unwrap();
    assert_eq!((webhook.url.as_str(), webhook.delivered, webhook.secret.0[31]), ("https://chat.test/hook", 1, 31));
    assert_eq!(store.last_deliveries(9).await.unwrap()[0].trigger, "duration > 20 ms");
    assert_eq!(store.identity("ada").await.unwrap().unwrap().subject.as_deref(), Some("248289761001"));
    let note = store.notes(id).await.unwrap().remove(0);
    let note = store.note(id, note.id).await.unwrap().unwrap();
    assert_eq!((note.content.text.as_str(), note.earlier[0].content.text.as_str()), ("seen again", "seen"));
    assert_eq!(note.earlier[0].saved.user, "ada");
}

#[tokio::test]
async fn p38_lists_of_version_24_say_the_same_with_groups_of_logins_beside_them() {
    use sqlx::Connection as _;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bathyscope.db");
    let options_of = writing(&path).create_if_missing(true);
    let mut conn = SqliteConnection::connect_with(&options_of).await.unwrap();
    up_to(&MIGRATIONS, 24).run(&mut conn).await.unwrap();
    for insert in [
        "INSERT INTO groups VALUES ('Ops')",
        "INSERT INTO group_members VALUES ('ops', 'Eve')",
        "INSERT INTO tag_rights VALUES ('slow', 'owner', '', 'change')",
        "INSERT INTO tag_rights VALUES ('slow', 'group', 'OPS', 'change')",
        "INSERT INTO tag_rights VALUES ('slow', 'person', 'Bob', 'read')",
    ] {
        sqlx::query(insert).execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    let store = Store::open(dir.path(), options()).await.unwrap();
    let given = |to, may| crate::GivenRight { to, may };
    let expected = [
        given(crate::RightHolder::Person("Bob".to_owned()), crate::CaptureRight::Read),
        given(crate::RightHolder::Group("OPS".to_owned()), crate::CaptureRight::Change),
    ];
    assert_eq!(store.tag_rights().await.unwrap()["slow"], expected);
    assert!(store.remove_group("ops".to_owned()).await.unwrap());
    assert_eq!(store.tag_rights().await.unwrap()["slow"], expected[..1]);
}

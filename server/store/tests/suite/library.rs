//! What people keep by name: kept, changed with the texts that it had, shared, deleted and restored.

use bathyscope_store::{LibraryChange, LibraryEntry, LibraryKind, NewLibraryItem, Store, StoreError};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::common::*;

const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

fn new(name: &str, owner: &str, shared: bool) -> NewLibraryItem {
    NewLibraryItem {
        kind: LibraryKind::Probe,
        name: name.to_owned(),
        owner: owner.to_owned(),
        description: "for".to_owned(),
        tags: vec!["a".to_owned(), "b".to_owned()],
        shared,
        text: format!("of {owner}"),
        at_unix_ns: NOW,
    }
}

fn change(author: &str) -> LibraryChange {
    LibraryChange { author: author.to_owned(), at_unix_ns: NOW + 1, ..LibraryChange::default() }
}

async fn names(store: &Store, reader: Option<&str>) -> Vec<String> {
    let listed = store.kept(reader, None, false).await.unwrap();
    listed.into_iter().map(|entry| format!("{} of {}", entry.name, entry.owner)).collect()
}

fn is_taken<T: std::fmt::Debug>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LibraryNameTaken { .. }))
}

#[tokio::test]
async fn everybody_reads_their_own_and_what_is_shared() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let hers = store.keep(new("x", "ada", false)).await.unwrap();
    // A name that somebody else has for themselves is free.
    let his = store.keep(new("x", "bob", true)).await.unwrap();
    store.keep(new("y", "bob", false)).await.unwrap();
    assert!(is_taken(store.keep(new("x", "ada", false)).await), "she has one");
    assert!(is_taken(store.keep(new("x", "eve", true)).await), "one is shared");
    store.keep(new("x", "eve", false)).await.unwrap();
    assert_eq!(names(&store, Some("ada")).await, ["x of ada", "x of bob"]);
    assert_eq!(names(&store, Some("eve")).await, ["x of eve", "x of bob"]);
    assert_eq!(names(&store, Some("vera")).await, ["x of bob"]);
    assert_eq!(names(&store, None).await.len(), 4);
    let sharing = LibraryChange { shared: Some(true), ..change("ada") };
    assert!(is_taken(store.change_kept(hers, "ada".to_owned(), sharing).await));
    let (same, other) = (store.kept_item(hers).await.unwrap().unwrap(), store.kept_item(his).await.unwrap().unwrap());
    assert_eq!((same.entry.shared, same.text.as_str(), other.text.as_str()), (false, "of ada", "of bob"));
    let of_kind = store.kept_of(Some("ada"), LibraryKind::Probe).await.unwrap();
    assert_eq!((of_kind.len(), store.kept_of(None, LibraryKind::Query).await.unwrap().len()), (2, 0));
    let LibraryEntry { tags, description, version, .. } = &of_kind[0].entry;
    assert_eq!((tags.join("+").as_str(), description.as_str(), *version), ("a+b", "for", 1));
}

#[tokio::test]
async fn each_text_is_a_version_and_nobody_loses_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let id = store.keep(new("x", "ada", true)).await.unwrap();
    let text =
        |text: &str, seen: u32| LibraryChange { text: Some(text.to_owned()), seen: Some(seen), ..change("root") };
    let ada = || "ada".to_owned();
    assert_eq!(store.change_kept(id, ada(), text("second", 1)).await.unwrap().version, 2);
    let late = store.change_kept(id, ada(), text("lost", 1)).await;
    assert!(matches!(late, Err(StoreError::LibraryChanged { .. })), "{late:?}");
    assert_eq!(store.change_kept(id, ada(), text("second", 2)).await.unwrap().version, 2, "it is the same text");
    let about = LibraryChange { description: Some("other".to_owned()), ..change("ada") };
    assert_eq!(store.change_kept(id, ada(), about).await.unwrap().version, 2);
    let versions = store.kept_versions(id).await.unwrap();
    let found: Vec<_> = versions.iter().map(|one| (one.version, one.author.as_str(), one.text.as_str())).collect();
    assert_eq!(found, [(2, "root", "second"), (1, "ada", "of ada")]);
    let wrong = store.change_kept(id, "bob".to_owned(), change("bob")).await;
    assert!(matches!(wrong, Err(StoreError::NoLibraryItem { .. })), "{wrong:?}");
    for number in 2..130 {
        store.change_kept(id, ada(), text(&format!("text {number}"), number)).await.unwrap();
    }
    let versions = store.kept_versions(id).await.unwrap();
    assert_eq!((versions.len(), versions[0].version, versions[99].version), (100, 130, 31));
    store.close().await;
    let store = open(dir.path()).await;
    assert_eq!(store.kept_item(id).await.unwrap().unwrap().text, "text 129");
}

#[tokio::test]
async fn what_was_deleted_comes_back_for_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let id = store.keep(new("x", "ada", true)).await.unwrap();
    let delete = async |owner: &str| store.delete_kept(id, owner.to_owned(), NOW).await.unwrap();
    assert_eq!((delete("bob").await, delete("ada").await, delete("ada").await), (false, true, false));
    assert_eq!(names(&store, None).await, [""; 0]);
    let deleted = async |reader: Option<&str>| store.kept(reader, None, true).await.unwrap().len();
    assert_eq!((deleted(Some("ada")).await, deleted(Some("bob")).await, deleted(None).await), (1, 0, 1));
    let undelete = async |owner: &str| store.undelete_kept(id, owner.to_owned()).await;
    assert!(undelete("bob").await.is_err());
    assert_eq!(undelete("ada").await.unwrap().name, "x");
    assert_eq!(names(&store, None).await, ["x of ada"]);
    delete("ada").await;
    let other = store.keep(new("x", "ada", false)).await.unwrap();
    assert!(is_taken(undelete("ada").await), "its name is another's now");
    assert!(store.delete_kept(other, "ada".to_owned(), NOW).await.unwrap());
    store.keep(NewLibraryItem { at_unix_ns: NOW + 31 * DAY_NS, ..new("z", "ada", false) }).await.unwrap();
    assert_eq!(deleted(None).await, 0, "after a month it is gone");
    assert!(store.kept_item(id).await.unwrap().is_none());
}

#[tokio::test]
async fn what_is_kept_is_limited_in_number_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let refused = async |new: NewLibraryItem| match store.keep(new).await {
        Err(StoreError::Refused { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(new(&"n".repeat(65), "ada", false)).await, "the name");
    assert_eq!(refused(new("n", &"a".repeat(65), false)).await, "the user's name");
    assert_eq!(
        refused(NewLibraryItem { text: "x".repeat((64 << 10) + 1), ..new("n", "ada", false) }).await,
        "the text"
    );
    assert_eq!(
        refused(NewLibraryItem { description: "x".repeat(501), ..new("n", "ada", false) }).await,
        "the description"
    );
    for number in 0..100 {
        store.keep(new(&format!("n{number}"), "ada", false)).await.unwrap();
    }
    assert_eq!(refused(new("more", "ada", false)).await, "another one of this user in the library");
    store.keep(NewLibraryItem { kind: LibraryKind::Query, ..new("more", "ada", false) }).await.unwrap();
    store.keep(new("more", "grace", false)).await.unwrap();
}

#[tokio::test]
async fn a_file_of_a_capture_has_nothing_of_a_library() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "x").await;
    store.keep(new("secret", "ada", true)).await.unwrap();
    let file = dir.path().join("x.bathy");
    store.export_file(ID, &file).await.unwrap();
    let mut conn = SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(&file)).await.unwrap();
    for table in ["library", "library_versions"] {
        let count = sqlx::query_as(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
        let (count,): (i64,) = count.fetch_one(&mut conn).await.unwrap();
        assert_eq!(count, 0, "{table}");
    }
    let insert = "INSERT INTO library VALUES (1, 'recipe', 'disk', 'eve', '', '', 1, 1, 0, 0, NULL)";
    sqlx::query(insert).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    // One that somebody has put into it comes to nobody.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = open(elsewhere.path()).await;
    let refused = other.import_file(&file, "bob", NOW).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(other.kept(None, None, false).await.unwrap(), []);
}

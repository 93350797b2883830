//! Login tokens, sessions, and the audit log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use bathyscope_store::{AuditEntry, LoginToken, NewSession, Role, StoreError, TokenHash};
use common::*;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

fn hash(token: &str) -> TokenHash {
    TokenHash::of(token.as_bytes())
}

fn session(token: &str) -> NewSession {
    let (created_s, expires_s, idle_limit_s) = (100, 1000, 300);
    NewSession { hash: hash(token), role: Role::Operator, user: "ada".to_owned(), created_s, expires_s, idle_limit_s }
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_login_token_works_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_login_token(login_token(hash("one"), Role::Admin, 50)).await.unwrap();
    store.add_login_token(login_token(hash("late"), Role::Admin, 50)).await.unwrap();
    let attempts: Vec<_> = (0..20)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.redeem_login_token(hash("one"), 49).await.unwrap() })
        })
        .collect();
    let mut let_in = 0;
    for attempt in attempts {
        if let Some(LoginToken { user, role, .. }) = attempt.await.unwrap() {
            assert_eq!((user.as_str(), role), ("grace", Role::Admin));
            let_in += 1;
        }
    }
    assert_eq!(let_in, 1);
    let long =
        store.add_login_token(LoginToken { user: "x".repeat(65), ..login_token(hash("long"), Role::Viewer, 50) }).await;
    assert!(matches!(long, Err(StoreError::Refused { .. })));
    assert_eq!(store.redeem_login_token(hash("late"), 50).await.unwrap(), None, "expired");
    assert_eq!(store.redeem_login_token(hash("other"), 1).await.unwrap(), None, "unknown");
}

#[tokio::test]
async fn p05_sessions_end_by_time_by_idleness_and_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.begin_session(session("a"), None, NOW).await.unwrap();
    let found = async |now_s| store.session(hash("a"), now_s).await.unwrap();
    assert_eq!(found(100).await.unwrap().role, Role::Operator);
    assert!(found(399).await.is_some() && found(400).await.is_none(), "idle");
    store.touch_session(hash("a"), 390).await.unwrap();
    store.touch_session(hash("a"), 200).await.unwrap();
    assert_eq!(found(600).await.unwrap().last_used_s, 390, "an older use changes nothing");
    store.touch_session(hash("a"), 990).await.unwrap();
    assert!(found(999).await.is_some() && found(1000).await.is_none(), "absolute");
    assert!(store.session(hash("b"), 1).await.unwrap().is_none());
    assert!(store.delete_session(hash("a")).await.unwrap() && !store.delete_session(hash("a")).await.unwrap());
    assert!(found(999).await.is_none());
    let long = NewSession { user: "x".repeat(65), ..session("c") };
    assert!(matches!(store.begin_session(long, None, NOW).await, Err(StoreError::Refused { .. })));
}

#[tokio::test]
async fn ended_sessions_and_used_tokens_are_purged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.begin_session(session("idle"), None, NOW).await.unwrap();
    store.begin_session(NewSession { idle_limit_s: 5000, ..session("good") }, None, NOW).await.unwrap();
    store.add_login_token(login_token(hash("used"), Role::Viewer, 5000)).await.unwrap();
    store.add_login_token(login_token(hash("unused"), Role::Viewer, 5000)).await.unwrap();
    store.redeem_login_token(hash("used"), 1).await.unwrap();
    assert_eq!(store.purge_sessions(500).await.unwrap(), 2);
    assert!(store.session(hash("good"), 500).await.unwrap().is_some());
    assert_eq!(
        store.redeem_login_token(hash("unused"), 1).await.unwrap(),
        Some(login_token(hash("unused"), Role::Viewer, 5000))
    );
}

#[tokio::test]
async fn another_epoch_forgets_everybody() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (epoch, stays) in [("boot-1", false), ("boot-1", true), ("boot-2", false)] {
        store.begin_session_epoch(epoch).await.unwrap();
        let found = store.session(hash("a"), 100).await.unwrap().is_some();
        assert_eq!(found, stays, "{epoch}");
        if !found {
            store.begin_session(session("a"), None, NOW).await.unwrap();
        }
    }
}

#[tokio::test]
async fn no_token_is_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let token = "a-token-that-nobody-may-find-0123456789";
    store.add_login_token(login_token(hash(token), Role::Admin, 50)).await.unwrap();
    store.begin_session(session(token), None, NOW).await.unwrap();
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()));
    }
    assert!(!format!("{:?}", hash(token)).contains(token));
}

fn entry(action: &str) -> AuditEntry {
    AuditEntry {
        time_unix_ns: -5,
        user: "ada".to_owned(),
        role: Role::Operator,
        action: action.to_owned(),
        object: "00000000000000ff".to_owned(),
        detail: String::new(),
    }
}

#[tokio::test]
async fn p50_the_audit_log_only_grows() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=5 {
        store.add_audit(entry(&format!("a{number}"))).await.unwrap();
    }
    store.add_audit(AuditEntry { detail: "ü".repeat(4000), ..entry("long") }).await.unwrap();
    let newest = store.audit(0, 2).await.unwrap();
    assert_eq!(newest.iter().map(|record| record.number).collect::<Vec<_>>(), [6, 5]);
    assert_eq!(newest[0].entry.detail.len(), 4096);
    assert_eq!(newest[1].entry, entry("a5"));
    let older = store.audit(5, 100).await.unwrap();
    assert_eq!(older.iter().map(|record| record.entry.action.as_str()).collect::<Vec<_>>(), ["a4", "a3", "a2", "a1"]);
    let options = SqliteConnectOptions::new().filename(database(dir.path()));
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    let attacks = [
        "UPDATE audit SET user = 'eve' WHERE number = 1",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit VALUES (1, 0, 'eve', 'viewer', '', '', '')",
    ];
    for attack in attacks {
        let error = sqlx::query(attack).execute(&mut conn).await.unwrap_err().to_string();
        assert!(error.contains("append-only"), "{attack}: {error}");
    }
    assert_eq!(store.audit(0, 100).await.unwrap().len(), 6);
}

#[cfg(feature = "testing")]
#[tokio::test]
async fn p04_the_fingerprint_sees_changes_and_not_reads() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "t").await;
    store.begin_session(session("a"), None, NOW).await.unwrap();
    let before = store.fingerprint().await.unwrap();
    store.capture(ID).await.unwrap();
    store.touch_session(hash("a"), 200).await.unwrap();
    assert_eq!(store.fingerprint().await.unwrap(), before);
    store.rename(ID, "u").await.unwrap();
    let renamed = store.fingerprint().await.unwrap();
    store.add_audit(entry("x")).await.unwrap();
    assert!(renamed != before && store.fingerprint().await.unwrap() != renamed);
}

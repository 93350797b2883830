//! Accounts and tokens: one name is one person's, changes end sessions in the same step, links and tokens work as long as they may.

use bathyscope_store::{
    AccountChange, ApiTokenUse, KeptPassword, NewAccount, NewApiToken, NewSession, PasswordLink, Role, Store,
    StoreError, TokenHash,
};

use crate::common::*;

const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

fn hash(text: &str) -> TokenHash {
    TokenHash::of(text.as_bytes())
}

fn kept(text: &str) -> KeptPassword {
    KeptPassword(text.to_owned())
}

fn new(name: &str, role: Role) -> NewAccount {
    let link = PasswordLink { hash: hash(&format!("link of {name}")), expires_unix_ns: NOW + DAY_NS };
    NewAccount { name: name.to_owned(), role, created_unix_ns: NOW, link }
}

fn session(token: &str, user: &str, role: Role) -> NewSession {
    NewSession { hash: hash(token), role, user: user.to_owned(), created_s: 1, expires_s: 1000, idle_limit_s: 1000 }
}

fn token(text: &str, owner: &str, role: Role) -> NewApiToken {
    NewApiToken {
        hash: hash(text),
        owner: owner.to_owned(),
        name: text.to_owned(),
        role,
        created_unix_ns: NOW,
        expires_unix_ns: NOW + DAY_NS,
    }
}

async fn change(store: &Store, name: &str, change: AccountChange) -> Vec<TokenHash> {
    let changed = store.change_account(name, change, false).await.unwrap().unwrap();
    changed.ended.into_iter().map(|session| session.hash).collect()
}

#[tokio::test]
async fn a_name_is_one_account_however_it_is_spelt() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    assert!(!store.has_accounts().await.unwrap());
    store.begin_session(session("before", "ALICE", Role::Admin), None, NOW).await.unwrap().unwrap();
    let added = store.add_account(new("Alice", Role::Viewer)).await.unwrap();
    assert_eq!(added.ended.iter().map(|one| one.hash).collect::<Vec<_>>(), [hash("before")]);
    assert!(store.has_accounts().await.unwrap());
    assert!(store.session(hash("before"), 2).await.unwrap().is_none(), "it was a link's");
    let again = store.add_account(new("aLICE", Role::Admin)).await;
    assert!(matches!(again, Err(StoreError::AccountExists { .. })), "{again:?}");
    let long = store.add_account(new(&"x".repeat(65), Role::Admin)).await;
    assert!(matches!(long, Err(StoreError::Refused { .. })));
    store.add_account(new(&"x".repeat(64), Role::Admin)).await.unwrap();
    let found = store.account("alice").await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.role, found.password), ("Alice", Role::Viewer, None));
    let begun = store.begin_session(session("link", "ALICE", Role::Admin), None, NOW + 5).await.unwrap().unwrap();
    assert_eq!((begun.user.as_str(), begun.role), ("Alice", Role::Viewer), "no more than the account");
    let listed = store.accounts(2, NOW).await.unwrap();
    let alice = &listed[0];
    assert_eq!((alice.account.name.as_str(), alice.sessions, alice.tokens), ("Alice", 1, 0));
    assert_eq!(alice.account.last_login_unix_ns, Some(NOW + 5));
    assert_eq!(store.accounts(2000, NOW).await.unwrap()[0].sessions, 0, "sessions end by time");
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_link_lets_one_password_be_chosen_while_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_account(new("alice", Role::Viewer)).await.unwrap();
    let link = hash("link of alice");
    for (now, there) in [(NOW, true), (NOW + DAY_NS - 1, true), (NOW + DAY_NS, false)] {
        assert_eq!(store.account_of_link(link, now).await.unwrap().is_some(), there);
    }
    assert_eq!(store.choose_password(link, kept("late"), NOW + DAY_NS).await.unwrap(), None);
    assert_eq!(store.choose_password(hash("other"), kept("x"), NOW).await.unwrap(), None);
    change(&store, "alice", AccountChange::Disable { now_unix_ns: NOW }).await;
    assert_eq!(store.choose_password(link, kept("disabled"), NOW).await.unwrap(), None);
    change(&store, "alice", AccountChange::Enable).await;
    let attempts: Vec<_> = (0..10)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.choose_password(link, kept(&number.to_string()), NOW).await.unwrap() })
        })
        .collect();
    let mut chosen = Vec::new();
    for attempt in attempts {
        chosen.extend(attempt.await.unwrap());
    }
    assert_eq!(chosen.len(), 1, "once, however many ask");
    assert_eq!(store.account("alice").await.unwrap().unwrap().password, chosen[0].account.password);
    let long = store.add_account(new("bob", Role::Viewer)).await.is_ok()
        && store.choose_password(hash("link of bob"), kept(&"x".repeat(257)), NOW).await.is_err();
    assert!(long, "what is kept of a password is bounded");
}

#[tokio::test]
async fn p05_changes_end_the_sessions_of_the_account_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_account(new("alice", Role::Operator)).await.unwrap();
    store.choose_password(hash("link of alice"), kept("old"), NOW).await.unwrap().unwrap();
    let begin = async |token: &str, password: Option<&str>| {
        store.begin_session(session(token, "alice", Role::Admin), password.map(kept), NOW).await.unwrap().is_some()
    };
    store.begin_session(session("bob", "bob", Role::Admin), None, NOW).await.unwrap().unwrap();
    assert!(begin("a", Some("old")).await && begin("b", None).await);
    assert!(!begin("c", Some("wrong")).await, "its password is another one");
    let nobody = store.begin_session(session("n", "nobody", Role::Admin), Some(kept("old")), NOW).await.unwrap();
    assert_eq!(nobody, None, "nobody has a password without an account");
    assert_eq!(change(&store, "alice", AccountChange::Role(Role::Operator)).await, [], "nothing changes");
    let new_password =
        |old: &str, keep| AccountChange::Password { old: kept(old), new: kept("new"), now_unix_ns: NOW, keep };
    let wrong = store.change_account("alice", new_password("wrong", None), false).await.unwrap();
    assert_eq!(wrong, None);
    assert_eq!(change(&store, "ALICE", new_password("old", Some(hash("a")))).await, [hash("b")]);
    assert_eq!(change(&store, "alice", AccountChange::Role(Role::Viewer)).await, [hash("a")]);
    assert!(!begin("d", Some("old")).await && begin("d", Some("new")).await);
    let link = PasswordLink { hash: hash("again"), expires_unix_ns: NOW + DAY_NS };
    assert_eq!(change(&store, "alice", AccountChange::Reset(link)).await, [hash("d")]);
    assert!(!begin("e", Some("new")).await && begin("e", None).await, "the password is gone");
    assert_eq!(change(&store, "alice", AccountChange::Disable { now_unix_ns: NOW + 7 }).await, [hash("e")]);
    assert!(!begin("f", None).await);
    change(&store, "alice", AccountChange::Disable { now_unix_ns: NOW + 9 }).await;
    assert_eq!(store.account("alice").await.unwrap().unwrap().disabled_unix_ns, Some(NOW + 7), "since the first");
    store.add_login_token(login_token(hash("login"), Role::Admin, 50)).await.unwrap();
    change(&store, "alice", AccountChange::Remove).await;
    assert_eq!(store.account("alice").await.unwrap(), None);
    assert!(store.session(hash("bob"), 2).await.unwrap().is_some());
    assert_eq!(store.change_account("alice", AccountChange::Enable, false).await.unwrap(), None);
    assert!(store.has_login_token(hash("login"), 2).await.unwrap(), "that of somebody else");
}

#[tokio::test]
async fn login_links_of_an_account_count_while_it_is_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    // Of `grace`.
    store.add_login_token(login_token(hash("link"), Role::Admin, 50)).await.unwrap();
    store.add_account(new("Grace", Role::Viewer)).await.unwrap();
    change(&store, "grace", AccountChange::Disable { now_unix_ns: NOW }).await;
    assert!(!store.has_login_token(hash("link"), 1).await.unwrap());
    assert_eq!(store.redeem_login_token(hash("link"), 1).await.unwrap(), None);
    change(&store, "grace", AccountChange::Enable).await;
    assert!(store.has_login_token(hash("link"), 1).await.unwrap(), "it was not used up");
    change(&store, "grace", AccountChange::Remove).await;
    assert!(!store.has_login_token(hash("link"), 1).await.unwrap(), "gone with the account");
}

#[tokio::test]
async fn the_last_admin_is_kept_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_account(new("alice", Role::Admin)).await.unwrap();
    store.add_account(new("bob", Role::Operator)).await.unwrap();
    let keeping = async |name: &str, change: AccountChange| store.change_account(name, change, true).await;
    let leaving =
        [AccountChange::Remove, AccountChange::Disable { now_unix_ns: NOW }, AccountChange::Role(Role::Operator)];
    for change in leaving.clone() {
        assert!(matches!(keeping("alice", change).await, Err(StoreError::LastAdmin { .. })));
    }
    assert!(keeping("alice", AccountChange::Role(Role::Admin)).await.is_ok());
    assert!(keeping("bob", AccountChange::Remove).await.unwrap().is_some(), "he is none");
    store.add_account(new("carol", Role::Admin)).await.unwrap();
    assert!(keeping("alice", AccountChange::Disable { now_unix_ns: NOW }).await.is_ok(), "there is another");
    assert!(matches!(keeping("carol", AccountChange::Remove).await, Err(StoreError::LastAdmin { .. })));
    assert!(store.change_account("carol", AccountChange::Remove, false).await.is_ok());
}

#[tokio::test]
async fn p05_a_token_may_no_more_than_its_owner_and_lives_as_long_as_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    assert!(matches!(store.add_api_token(token("t", "alice", Role::Admin)).await, Err(StoreError::Refused { .. })));
    store.add_account(new("Alice", Role::Operator)).await.unwrap();
    store.add_account(new("bob", Role::Operator)).await.unwrap();
    store.add_api_token(token("t", "ALICE", Role::Admin)).await.unwrap();
    store.add_api_token(token("v", "alice", Role::Viewer)).await.unwrap();
    store.add_api_token(token("b", "bob", Role::Viewer)).await.unwrap();
    let role = async |text: &str, now| store.api_token(hash(text), now).await.unwrap().map(|token| token.role);
    assert_eq!(role("t", NOW).await, Some(Role::Operator));
    assert_eq!((role("v", NOW).await, role("x", NOW).await), (Some(Role::Viewer), None));
    assert_eq!((role("t", NOW + DAY_NS - 1).await, role("t", NOW + DAY_NS).await), (Some(Role::Operator), None));
    change(&store, "alice", AccountChange::Role(Role::Viewer)).await;
    assert_eq!(role("t", NOW).await, Some(Role::Viewer));
    change(&store, "alice", AccountChange::Disable { now_unix_ns: NOW }).await;
    assert!(!store.api_token(hash("t"), NOW).await.unwrap().unwrap().enabled);
    assert!(matches!(store.add_api_token(token("n", "alice", Role::Viewer)).await, Err(StoreError::Refused { .. })));
    change(&store, "alice", AccountChange::Enable).await;
    let owned = store.api_tokens(Some("alice"), NOW).await.unwrap();
    assert!(owned.iter().all(|token| token.owner == "Alice") && owned.len() == 2);
    assert_eq!(store.api_tokens(None, NOW).await.unwrap().len(), 3);
    let used = |text: &str, last_used_unix_ns| ApiTokenUse { hash: hash(text), last_used_unix_ns };
    store.note_api_token_uses(vec![used("t", NOW + 9), used("gone", NOW)]).await.unwrap();
    store.note_api_token_uses(vec![used("t", NOW + 3)]).await.unwrap();
    let last = store.api_token(hash("t"), NOW).await.unwrap().unwrap().last_used_unix_ns;
    assert_eq!(last, Some(NOW + 9), "a clock that was turned back");
    assert!(store.revoke_api_token(hash("v")).await.unwrap() && !store.revoke_api_token(hash("v")).await.unwrap());
    assert_eq!(store.purge_api_tokens(NOW + DAY_NS).await.unwrap(), 2);
    store.add_api_token(token("t", "alice", Role::Viewer)).await.unwrap();
    change(&store, "alice", AccountChange::Remove).await;
    assert_eq!(store.api_token(hash("t"), NOW).await.unwrap(), None);
}

#[tokio::test]
async fn p14_accounts_and_tokens_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_account(new("alice", Role::Viewer)).await.unwrap();
    for number in 0..50 {
        store.add_api_token(token(&format!("t{number}"), "alice", Role::Viewer)).await.unwrap();
    }
    let more = store.add_api_token(token("one more", "alice", Role::Viewer)).await;
    assert!(matches!(more, Err(StoreError::Refused { .. })), "{more:?}");
    store.revoke_api_token(hash("t0")).await.unwrap();
    store.add_api_token(token("one more", "alice", Role::Viewer)).await.unwrap();
    store.revoke_api_token(hash("t1")).await.unwrap();
    let refused = async |new: NewApiToken| matches!(store.add_api_token(new).await, Err(StoreError::Refused { .. }));
    let long = |days: i64| NewApiToken { expires_unix_ns: NOW + days * DAY_NS, ..token("long", "alice", Role::Viewer) };
    assert!(refused(long(367)).await && refused(long(0)).await && !refused(long(366)).await);
    assert!(refused(NewApiToken { name: "x".repeat(65), ..token("name", "alice", Role::Viewer) }).await);
    for number in 1..1000 {
        store.add_account(new(&format!("person{number}"), Role::Viewer)).await.unwrap();
    }
    let more = store.add_account(new("one-more", Role::Viewer)).await;
    assert!(matches!(more, Err(StoreError::Refused { .. })), "{more:?}");
    store.change_account("person1", AccountChange::Remove, true).await.unwrap().unwrap();
    store.add_account(new("one-more", Role::Viewer)).await.unwrap();
}

//! Logins by a provider: one person there is one account here, and a name alone opens none.

use bathyscope_store::{
    AccountChange, GroupOrigin, IdentityLogin, IdentityOutcome, IdentityRefusal, LoginGroups, NewAccount, NewSession,
    PasswordLink, Role, Store, StoreError, TokenHash,
};

use crate::common::*;

const ISSUER: &str = "https://id.example";

fn login(subject: &str, name: &str, role: Option<Role>) -> IdentityLogin {
    let session = NewSession {
        hash: TokenHash::of(format!("{subject} {name} {role:?}").as_bytes()),
        role: Role::Admin,
        user: "whatever".to_owned(),
        created_s: 1,
        expires_s: 1000,
        idle_limit_s: 1000,
    };
    IdentityLogin {
        issuer: ISSUER.to_owned(),
        subject: subject.to_owned(),
        name: name.to_owned(),
        role,
        groups: LoginGroups::said(GroupOrigin::Oidc, []),
        session,
        now_unix_ns: NOW,
    }
}

/// The same with groups, in a session of its own.
fn login_in(session: &str, groups: &[&str]) -> IdentityLogin {
    let mut login = login("1", "ada", Some(Role::Operator));
    login.session.hash = TokenHash::of(session.as_bytes());
    login.groups = LoginGroups::said(GroupOrigin::Oidc, groups.iter().copied());
    login
}

async fn account(store: &Store, name: &str, role: Role) {
    let link = PasswordLink { hash: TokenHash::of(name.as_bytes()), expires_unix_ns: NOW + 9 };
    store.add_account(NewAccount { name: name.to_owned(), role, created_unix_ns: NOW, link }).await.unwrap();
}

/// What came of it in short: name and role with whether the account was made or bound, or why not.
async fn came(store: &Store, login: IdentityLogin) -> String {
    match store.log_in_by_identity(login).await.unwrap() {
        IdentityOutcome::Begun { session, ended, left_groups, made, linked } => {
            assert!(left_groups.is_empty());
            let user = session.user;
            format!("{user} {} made={made} linked={linked} ended={}", session.role.as_str(), ended.len())
        }
        IdentityOutcome::Refused(IdentityRefusal::Disabled { name }) => format!("disabled {name}"),
        IdentityOutcome::Refused(IdentityRefusal::NameTaken { name }) => format!("taken {name}"),
        IdentityOutcome::Refused(IdentityRefusal::NoRole) => "no role".to_owned(),
    }
}

#[tokio::test]
async fn who_has_no_account_gets_one_that_is_theirs() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let operator = Some(Role::Operator);
    assert_eq!(came(&store, login("1", "ada", None)).await, "no role");
    assert_eq!(came(&store, login("1", "ada", operator)).await, "ada operator made=true linked=false ended=0");
    // The provider calls her otherwise now: it is the same account. Another ada is another person.
    assert_eq!(came(&store, login("1", "ada2", operator)).await, "ada operator made=false linked=false ended=0");
    assert_eq!(came(&store, login("2", "ADA", operator)).await, "taken ada");
    // Her groups decide at each login; sessions with another role end.
    assert_eq!(came(&store, login("1", "ada", Some(Role::Viewer))).await, "ada viewer made=false linked=false ended=2");
    assert_eq!(came(&store, login("1", "ada", None)).await, "no role");
    let session = store.session(login("1", "ada", Some(Role::Viewer)).session.hash, 2).await.unwrap().unwrap();
    assert_eq!((session.user.as_str(), session.role), ("ada", Role::Viewer));
    store.change_account("ada", AccountChange::Disable { now_unix_ns: NOW }, false).await.unwrap();
    assert_eq!(came(&store, login("1", "ada", operator)).await, "disabled ada");
    let listed = store.accounts(2, NOW).await.unwrap();
    let identity = listed[0].identity.as_ref().unwrap();
    assert_eq!((identity.subject.as_deref(), identity.made_at_login), (Some("1"), true));
    store.change_account("ada", AccountChange::Remove, false).await.unwrap();
    assert_eq!(came(&store, login("2", "ada", operator)).await, "ada operator made=true linked=false ended=0");
}

#[tokio::test]
async fn groups_are_of_one_session_and_end_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let left = async |login| match store.log_in_by_identity(login).await.unwrap() {
        IdentityOutcome::Begun { ended, left_groups, .. } => (ended.len(), left_groups.len()),
        refused @ IdentityOutcome::Refused(_) => panic!("{refused:?}"),
    };
    let groups = async |session: &str| {
        let session = store.session(TokenHash::of(session.as_bytes()), 2).await.unwrap()?;
        let Some((issuer, groups)) = session.groups else { return Some(String::new()) };
        assert_eq!(issuer, ISSUER);
        Some(groups.names().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(left(login_in("a", &["ops", "Ops", "cn=x,dc=y"])).await, (0, 0));
    assert_eq!(left(login_in("b", &["ops", "Ops", "cn=x,dc=y", "more"])).await, (0, 0), "who is in more groups stays");
    assert_eq!(groups("a").await.as_deref(), Some("Ops cn=x,dc=y ops"));
    assert_eq!(groups("b").await.as_deref(), Some("Ops cn=x,dc=y more ops"));
    // A session of the same account by another way is in none.
    let by_link = NewSession { user: "ada".to_owned(), hash: TokenHash::of(b"link"), ..login_in("", &[]).session };
    store.begin_session(by_link, None, NOW).await.unwrap();
    assert_eq!(groups("link").await.as_deref(), Some(""));
    // Who has left a group is out of it in all sessions at the next login.
    assert_eq!(left(login_in("c", &["ops", "more"])).await, (0, 2));
    assert_eq!((groups("a").await, groups("b").await), (None, None));
    assert_eq!(groups("c").await.as_deref(), Some("more ops"));
    assert_eq!(groups("link").await.as_deref(), Some(""), "what had no group has none to leave");
    assert_eq!(left(login_in("d", &["OPS", "more"])).await, (0, 1), "another group, with other capitals");
    // Another provider's groups are others.
    let elsewhere = IdentityLogin { issuer: "https://other.example".to_owned(), ..login_in("e", &["OPS"]) };
    assert!(matches!(store.log_in_by_identity(elsewhere).await.unwrap(), IdentityOutcome::Refused(_)));
    // They go with the session, whatever ends it.
    assert!(store.delete_session(TokenHash::of(b"d")).await.unwrap());
    assert_eq!(left(login_in("d", &[])).await, (0, 0));
    assert_eq!(groups("d").await.as_deref(), Some(""));
}

#[tokio::test]
async fn an_account_of_before_is_bound_only_if_somebody_allowed_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    account(&store, "Root", Role::Admin).await;
    let viewer = Some(Role::Viewer);
    assert_eq!(came(&store, login("1", "root", viewer)).await, "taken Root");
    assert_eq!(store.allow_identity("nobody", ISSUER, NOW).await.unwrap(), None);
    store.allow_identity("root", "https://other.example", NOW).await.unwrap().unwrap();
    assert_eq!(came(&store, login("1", "root", viewer)).await, "taken Root");
    store.allow_identity("root", ISSUER, NOW).await.unwrap().unwrap();
    // Its role stays that of the account, whatever the groups say.
    assert_eq!(came(&store, login("1", "root", None)).await, "Root admin made=false linked=true ended=0");
    assert_eq!(came(&store, login("1", "x", viewer)).await, "Root admin made=false linked=false ended=0");
    assert_eq!(came(&store, login("2", "root", viewer)).await, "taken Root");
    let refused = store.allow_identity("root", ISSUER, NOW).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(store.identity("root").await.unwrap().unwrap().subject.as_deref(), Some("1"));
    assert_eq!(store.forget_identity("root").await.unwrap().unwrap().ended.len(), 2);
    assert_eq!(store.forget_identity("root").await.unwrap(), None);
    assert_eq!(came(&store, login("1", "root", viewer)).await, "taken Root");
    // Allowed and disabled: it stays closed, and nobody is bound to it.
    store.allow_identity("root", ISSUER, NOW).await.unwrap().unwrap();
    store.change_account("root", AccountChange::Disable { now_unix_ns: NOW }, false).await.unwrap();
    assert_eq!(came(&store, login("3", "root", viewer)).await, "disabled Root");
    assert_eq!(store.identity("root").await.unwrap().unwrap().subject, None);
}

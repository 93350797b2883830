//! Tokens for programs: what they may, when they are of no use, and that they never mix with sessions.

use std::time::Duration;

use axum::body::Body;
use bathyscope_console::http::{AskedToken, Doer, PersonChange};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{NewApiToken, Role, TokenHash};
use http::{Request, header};
use http_body_util::BodyExt as _;
use serde_json::json;

use super::{
    harness::{Answer, Console, HOST, own_page},
    people::{account, log_in_as},
};

const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

/// A token of an account, which is made without a password if there is none.
pub async fn token_of(console: &Console, owner: &str, role: Role) -> String {
    let people = console.state.people();
    if people.one(owner).await.unwrap().is_none() {
        people.add(owner, role, Doer::TERMINAL).await.unwrap();
    }
    let asked = AskedToken { name: "a program".to_owned(), role: Some(role), days: None };
    people.make_token(owner, asked, Doer::TERMINAL).await.unwrap().0.reveal().to_owned()
}

/// A request as a program sends it.
pub fn by_token(method: &str, path: &str, token: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
    request.header(header::AUTHORIZATION, format!("Bearer {token}")).body(Body::empty()).unwrap()
}

async fn status(console: &Console, path: &str, token: &str) -> u16 {
    console.send(by_token("GET", path, token)).await.status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_token_is_of_no_use_once_it_is_revoked_expired_or_its_account_disabled_or_removed() {
    let console = Console::new().await;
    let people = console.state.people();
    let token = token_of(&console, "alice", Role::Operator).await;
    assert_eq!(status(&console, "/api/captures", &token).await, 200);
    let set = async |disabled| {
        let disabled = Some(disabled);
        let change = PersonChange { disabled, ..PersonChange::default() };
        people.change("alice", change, Doer::TERMINAL).await.unwrap();
    };
    set(true).await;
    assert_eq!(status(&console, "/api/captures", &token).await, 401, "disabled");
    set(false).await;
    assert_eq!(status(&console, "/api/captures", &token).await, 200, "enabled again");
    let item = people.tokens().list(None).await.unwrap().remove(0);
    assert!(people.revoke_token(&item.id, Some("bob"), Doer::TERMINAL).await.unwrap().is_none(), "not his");
    assert!(people.revoke_token(&item.id, Some("alice"), Doer::TERMINAL).await.unwrap().is_some());
    assert_eq!(status(&console, "/api/captures", &token).await, 401, "revoked");
    let now = wall_unix_ns();
    let mut kept = Vec::new();
    for (name, until, expected) in [("expired", now - 1, 401), ("lives", now + DAY_NS, 200)] {
        let token = format!("bathyscope_{}", if expected == 200 { "a" } else { "b" }.repeat(64));
        let new = NewApiToken {
            hash: TokenHash::of(token.as_bytes()),
            owner: "alice".to_owned(),
            name: name.to_owned(),
            role: Role::Viewer,
            created_unix_ns: now - DAY_NS,
            expires_unix_ns: until,
        };
        console.store.add_api_token(new).await.unwrap();
        assert_eq!(status(&console, "/api/captures", &token).await, expected, "{name}");
        kept.push(token);
    }
    people.remove("alice", Doer::TERMINAL).await.unwrap();
    assert_eq!(status(&console, "/api/captures", &kept[1]).await, 401, "the account is removed");
    people.add("alice", Role::Admin, Doer::TERMINAL).await.unwrap();
    assert_eq!(status(&console, "/api/captures", &kept[1]).await, 401, "and comes back without its tokens");
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_streams_of_a_token_end_within_a_second() {
    let console = Console::new().await;
    let people = console.state.people();
    for what in ["revoked", "disabled", "removed", "role"] {
        let token = token_of(&console, "alice", Role::Operator).await;
        let other = token_of(&console, "bob", Role::Viewer).await;
        let open = async |token: &str| console.send(by_token("GET", "/api/live", token)).await.into_body();
        let (mut mine, mut others) = (open(&token).await, open(&other).await);
        assert!(mine.frame().await.is_some() && others.frame().await.is_some(), "both begin");
        let change = |role, disabled| PersonChange { role, disabled, provider_login: None };
        match what {
            "revoked" => {
                let items = people.tokens().list(Some("alice")).await.unwrap();
                people.revoke_token(&items[0].id, None, Doer::TERMINAL).await.unwrap().unwrap();
            }
            "disabled" => drop(people.change("alice", change(None, Some(true)), Doer::TERMINAL).await.unwrap()),
            "role" => {
                drop(people.change("alice", change(Some(Role::Viewer), None), Doer::TERMINAL).await.unwrap());
                let as_viewer = console.send(by_token("GET", "/api/shares", &token)).await;
                assert_eq!(as_viewer.status(), 404, "it may what its owner may now");
            }
            _ => drop(people.remove("alice", Doer::TERMINAL).await.unwrap()),
        }
        let ended = tokio::time::timeout(Duration::from_secs(1), mine.collect()).await;
        assert!(ended.is_ok(), "the stream goes on: {what}");
        let goes_on = tokio::time::timeout(Duration::from_millis(50), others.collect()).await;
        assert!(goes_on.is_err(), "that of somebody else ended: {what}");
        people.remove("alice", Doer::TERMINAL).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p02_who_asks_is_said_in_one_way() {
    let console = Console::new().await;
    let token = token_of(&console, "alice", Role::Admin).await;
    let cookie = console.cookie("bob", Role::Viewer).await;
    let send = async |method: &str, headers: &[(&str, &str)]| {
        let mut request = Request::builder().method(method).uri("/api/captures").header(header::HOST, HOST);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(console.send(request.body(Body::empty()).unwrap()).await).await
    };
    let bearer = format!("Bearer {token}");
    let other = format!("Bearer {}", "c".repeat(64));
    let bad = format!("Bearer bathyscope_{}", "0".repeat(64));
    let cookies = cookie.as_str();
    for (method, headers, expected) in [
        ("GET", vec![("authorization", bearer.as_str())], 200),
        ("GET", vec![("authorization", &*bearer.replace("Bearer", "bearer"))], 200),
        ("GET", vec![("authorization", &*bearer), ("cookie", cookies)], 400),
        ("GET", vec![("authorization", &*bad), ("cookie", cookies)], 400),
        ("GET", vec![("authorization", &*bearer), ("cookie", "bathyscope_session=")], 400),
        // Another cookie is none of ours.
        ("GET", vec![("authorization", &*bearer), ("cookie", "theme=dark")], 200),
        ("GET", vec![("authorization", &*bearer), ("authorization", &*bearer)], 400),
        ("GET", vec![("authorization", "Basic eDp5"), ("authorization", &*bearer)], 400),
        // A proxy's own login beside a session.
        ("GET", vec![("authorization", "Basic eDp5"), ("cookie", cookies)], 200),
        ("GET", vec![("authorization", &*other), ("cookie", cookies)], 200),
        ("GET", vec![("authorization", &*other)], 401),
        ("GET", vec![("authorization", "Bearer bathyscope_")], 401),
        ("GET", vec![("authorization", "Bearer bathyscope_../../")], 401),
        ("GET", vec![("authorization", &*bad)], 401),
        // A program changes things without a page; a browser does not, whatever it has.
        ("POST", vec![("authorization", &*bearer), ("content-type", "application/json")], 400),
        ("POST", vec![("authorization", &*bearer), ("sec-fetch-site", "cross-site")], 403),
        ("POST", vec![("authorization", &*bearer), ("origin", "http://evil.example")], 403),
        ("POST", vec![("authorization", &*other), ("content-type", "application/json")], 403),
        ("POST", vec![("cookie", cookies), ("content-type", "application/json")], 403),
    ] {
        assert_eq!(send(method, &headers).await.status.as_u16(), expected, "{method} {headers:?}");
    }
    let both = send("GET", &[("authorization", &bearer), ("cookie", cookies)]).await;
    let why = both.json()["error"]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("a token and the cookie of a session"), "{why}");
    assert_eq!(console.get("/api/captures", &cookie).await.status, 200, "the session is as it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_wrong_tokens_are_limited_and_valid_ones_are_not() {
    let console = Console::new().await;
    let token = token_of(&console, "alice", Role::Viewer).await;
    let wrong = format!("bathyscope_{}", "0".repeat(64));
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(status(&console, "/api/captures", &wrong).await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 10, "{statuses:?}");
    assert_eq!(statuses.last(), Some(&429));
    assert_eq!(status(&console, "/api/captures", &token).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_what_a_token_may_be_is_bounded() {
    let console = Console::new().await;
    account(&console, "alice", Role::Operator, "correct horse battery").await;
    let cookie = log_in_as(&console, "alice", "correct horse battery").await;
    let make = async |asked: serde_json::Value| {
        console.ask("POST", "/api/own/tokens", Some(&cookie), Some(&asked.to_string())).await
    };
    for (asked, expected) in [
        (json!({"name": "x"}), 201),
        (json!({"name": "x".repeat(63), "days": 365}), 201),
        (json!({"name": "x".repeat(64), "days": 366}), 201),
        (json!({"name": "x", "days": 1, "role": "viewer"}), 201),
        (json!({"name": "x".repeat(65)}), 400),
        (json!({"name": ""}), 400),
        (json!({"name": "   "}), 400),
        (json!({"name": "a\nb"}), 400),
        (json!({"name": "\u{202e}evil"}), 400),
        (json!({"name": "\u{1b}[2K"}), 400),
        (json!({"name": "<img src=x onerror=alert(1)>"}), 201),
        (json!({"name": "x", "days": 0}), 400),
        (json!({"name": "x", "days": 367}), 400),
        (json!({"name": "x", "days": -1}), 400),
        (json!({"name": "x", "role": "admin"}), 400),
        (json!({"name": "x", "role": "root"}), 400),
        (json!({"name": "x", "owner": "bob"}), 400),
    ] {
        let answer = make(asked.clone()).await;
        assert_eq!(answer.status.as_u16(), expected, "{asked} {}", answer.text());
    }
    let own = console.get("/api/own", &cookie).await.json();
    assert_eq!(own["tokens"].as_array().unwrap().len(), 5);
    let lives = |item: &serde_json::Value| {
        (item["expires_unix_ns"].as_i64().unwrap() - item["created_unix_ns"].as_i64().unwrap()) / DAY_NS
    };
    assert_eq!(lives(&own["tokens"][4]), 90, "if nothing is said");
    let linked = console.cookie("grace", Role::Admin).await;
    let refused = console.ask("POST", "/api/own/tokens", Some(&linked), Some(r#"{"name":"x"}"#)).await;
    assert_eq!(refused.status, 409, "tokens are of accounts");
    // Somebody who has come for less gets no more by a token.
    let lower = console.cookie("alice", Role::Viewer).await;
    let made = console.ask("POST", "/api/own/tokens", Some(&lower), Some(r#"{"name":"low"}"#)).await;
    assert_eq!(made.json()["item"]["role"], "viewer");
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_tokens_are_their_owners_and_admins() {
    let console = Console::new().await;
    account(&console, "alice", Role::Operator, "correct horse battery").await;
    account(&console, "bob", Role::Operator, "correct horse battery").await;
    let (alice, bob) = (
        log_in_as(&console, "alice", "correct horse battery").await,
        log_in_as(&console, "bob", "correct horse battery").await,
    );
    let made = console.ask("POST", "/api/own/tokens", Some(&alice), Some(r#"{"name":"hers"}"#)).await.json();
    let (token, id) = (made["token"].as_str().unwrap(), made["item"]["id"].as_str().unwrap());
    let revoke = async |path: &str, cookie: &str| {
        console.ask("DELETE", &format!("{path}/{id}"), Some(cookie), None).await.status.as_u16()
    };
    assert_eq!(revoke("/api/own/tokens", &bob).await, 404);
    assert_eq!(revoke("/api/tokens", &bob).await, 404);
    assert_eq!(console.get("/api/own", &bob).await.json()["tokens"], json!([]));
    assert_eq!(status(&console, "/api/captures", token).await, 200);
    let refused = Answer::of(console.send(by_token("DELETE", &format!("/api/own/tokens/{id}"), token)).await).await;
    assert_eq!((refused.status.as_u16(), refused.json()["error"]["kind"].as_str().unwrap()), (403, "in_person"));
    let admin = console.cookie("root", Role::Admin).await;
    let listed = console.get("/api/tokens", &admin).await.json();
    assert_eq!((&listed["items"][0]["owner"], &listed["items"][0]["id"]), (&json!("alice"), &json!(id)));
    assert_eq!(revoke("/api/tokens", &admin).await, 204);
    assert_eq!(status(&console, "/api/captures", token).await, 401);
    let audit = console.get("/api/audit", &admin).await.json();
    let acts: Vec<_> = audit["items"].as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(acts[..2], ["token.revoke", "token.make"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p04_the_use_of_a_token_is_written_by_no_get_and_its_text_nowhere() {
    let console = Console::new().await;
    let token = token_of(&console, "alice", Role::Viewer).await;
    let before = console.store.fingerprint().await.unwrap();
    assert_eq!(status(&console, "/api/captures", &token).await, 200);
    assert_eq!(console.store.fingerprint().await.unwrap(), before);
    let tokens = console.state.people().tokens();
    assert!(tokens.list(None).await.unwrap()[0].last_used_unix_ns.is_some(), "it is told at once");
    assert_eq!(console.store.api_tokens(None, 0).await.unwrap()[0].last_used_unix_ns, None);
    tokens.sweep().await.unwrap();
    assert!(console.store.api_tokens(None, 0).await.unwrap()[0].last_used_unix_ns.is_some());
    let cookie = console.cookie("root", Role::Admin).await;
    for path in ["/api/tokens", "/api/people", "/api/audit"] {
        assert!(!console.get(path, &cookie).await.text().contains(&token[20..]), "{path}");
    }
    console.store.close().await;
    for entry in std::fs::read_dir(console.dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_file() {
            let bytes = std::fs::read(&entry).unwrap();
            let bits = token.strip_prefix("bathyscope_").unwrap().as_bytes();
            assert!(!bytes.windows(bits.len()).any(|window| window == bits), "{}", entry.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_makes_a_capture_change_and_is_named_in_it() {
    let console = Console::new().await;
    let id = console.capture("a capture", "alice", 10).await;
    let token = token_of(&console, "alice", Role::Operator).await;
    let mut request = by_token("PATCH", &format!("/api/captures/{id}"), &token);
    request.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    *request.body_mut() = Body::from(r#"{"title":"by a program"}"#);
    assert_eq!(console.send(request).await.status(), 204);
    let admin = console.cookie("root", Role::Admin).await;
    assert_eq!(console.get("/api/audit", &admin).await.json()["items"][0]["user"], "alice");
    let page = console.send(own_page("GET", "/captures", None, None)).await;
    assert_eq!(page.status(), 303, "a page without any of it leads to the login");
}

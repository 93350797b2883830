//! A proxy in front that says who asks: believed from named addresses with its secret, and refused in words from anybody else.

use std::{net::IpAddr, time::Duration};

use axum::body::Body;
use bathyscope_capture::CaptureId;
use bathyscope_console::{
    config::{ProxySecret, ProxyUsers},
    http::{Doer, PersonChange},
};
use bathyscope_store::Role;
use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{
    harness::{Answer, Console, HOST},
    tokens::token_of,
};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

async fn console() -> Console {
    let from = vec!["10.0.0.0/24".parse().unwrap(), "127.0.0.1".parse().unwrap()];
    let groups = vec!["ops=operator".parse().unwrap(), "root=admin".parse().unwrap(), "all=viewer".parse().unwrap()];
    let header = || "X-Forwarded-User".parse().unwrap();
    let groups = (Some("X-Forwarded-Groups".parse().unwrap()), groups);
    Console::behind(ProxyUsers::new(header(), (from, Some(ProxySecret::of(SECRET))), groups).unwrap()).await
}

type Sent<'a> = (&'a str, &'a [u8]);

async fn send(console: &Console, from: &str, (method, path): (&str, &str), headers: &[Sent<'_>]) -> Response<Body> {
    let from: IpAddr = from.parse().unwrap();
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, HOST);
    request = request.header("sec-fetch-site", "same-origin");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    console.send_from(from, request.body(Body::empty()).unwrap()).await
}

const USER: &str = "x-forwarded-user";
const GROUPS: &str = "x-forwarded-groups";
const OWN: Sent<'static> = ("bathyscope-proxy-secret", SECRET.as_bytes());

#[tokio::test(flavor = "multi_thread")]
async fn only_the_proxy_says_who_asks() {
    let console = console().await;
    console.state.people().add("alice", Role::Operator, Doer::TERMINAL).await.unwrap();
    let long = vec![b'x'; 4096];
    let cases: &[(&str, &[Sent<'_>], u16)] = &[
        ("10.0.0.7", &[(USER, b"alice"), OWN], 200),
        ("10.0.0.7", &[(USER, b"ALICE"), OWN], 200),
        ("127.0.0.1", &[(USER, b"alice"), OWN], 200),
        // Nobody else says it, with the secret or without, and nothing of it is ignored.
        ("10.0.1.7", &[(USER, b"alice"), OWN], 403),
        ("10.0.0.7", &[(USER, b"alice")], 403),
        ("10.0.0.7", &[(USER, b"alice"), ("bathyscope-proxy-secret", b"wrong")], 403),
        ("10.0.0.7", &[(USER, b"alice"), OWN, OWN], 403),
        ("127.0.0.1", &[(USER, b"alice")], 403),
        ("192.0.2.1", &[(USER, b"")], 403),
        ("192.0.2.1", &[(GROUPS, b"root")], 403),
        // What the proxy sends is a name.
        ("10.0.0.7", &[(USER, b""), OWN], 400),
        ("10.0.0.7", &[(USER, b"alice"), (USER, b"alice"), OWN], 400),
        ("10.0.0.7", &[(USER, b"alice, bob"), OWN], 400),
        ("10.0.0.7", &[(USER, b"../"), OWN], 400),
        ("10.0.0.7", &[(USER, b"<b>alice</b>"), OWN], 400),
        ("10.0.0.7", &[(USER, b"ali\tce"), OWN], 400),
        ("10.0.0.7", &[(USER, b"\xe2\x80\xaealice"), OWN], 400),
        ("10.0.0.7", &[(USER, b"\xff\xfe"), OWN], 400),
        ("10.0.0.7", &[(USER, &long), OWN], 400),
        ("10.0.0.7", &[(USER, b"admin"), OWN], 400),
        ("10.0.0.7", &[(GROUPS, b"root"), OWN], 400),
        // Somebody whom nobody has given a role.
        ("10.0.0.7", &[(USER, b"bob"), OWN], 403),
        ("10.0.0.7", &[(USER, b"bob"), (GROUPS, b"others, op"), OWN], 403),
        ("10.0.0.7", &[(USER, b"bob"), (GROUPS, b"others, ops"), OWN], 200),
        // Nothing of it: as without a proxy.
        ("10.0.0.7", &[OWN], 401),
        ("192.0.2.1", &[], 401),
    ];
    for (from, headers, expected) in cases {
        let answer = Answer::of(send(&console, from, ("GET", "/api/captures"), headers).await).await;
        assert_eq!(answer.status.as_u16(), *expected, "{from} {headers:?}: {}", answer.text());
        if *expected == 403 || *expected == 400 {
            assert!(!answer.json()["error"]["why"].as_str().unwrap().is_empty());
        }
    }
    // Not even where nobody needs to be logged in.
    for path in ["/login", "/healthz", "/s/00000000000000aa"] {
        assert_eq!(send(&console, "192.0.2.1", ("GET", path), &[(USER, b"alice")]).await.status(), 403, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_decides_and_else_the_groups() {
    let console = console().await;
    let people = console.state.people();
    people.add("alice", Role::Viewer, Doer::TERMINAL).await.unwrap();
    let role = async |user: &'static str, groups: &'static str| {
        let headers = [(USER, user.as_bytes()), (GROUPS, groups.as_bytes()), OWN];
        let answer = Answer::of(send(&console, "10.0.0.2", ("GET", "/api/own"), &headers).await).await;
        answer.json()["role"].as_str().map(str::to_owned).unwrap_or_default()
    };
    assert_eq!(role("alice", "root").await, "viewer", "the account");
    assert_eq!(role("bob", "all, ops").await, "operator", "the highest of the groups");
    assert_eq!(role("bob", "root").await, "admin");
    let change = |role, disabled| PersonChange { role, disabled, provider_login: None };
    people.change("alice", change(Some(Role::Admin), None), Doer::TERMINAL).await.unwrap();
    assert_eq!(role("alice", "").await, "admin", "at once");
    let headers = [(USER, b"alice".as_slice()), OWN];
    let mut stream = send(&console, "10.0.0.2", ("GET", "/api/live"), &headers).await.into_body();
    assert!(stream.frame().await.is_some());
    people.change("alice", change(None, Some(true)), Doer::TERMINAL).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(1), stream.collect()).await;
    assert!(ended.is_ok(), "the stream goes on");
    let answer = Answer::of(send(&console, "10.0.0.2", ("GET", "/api/own"), &headers).await).await;
    assert_eq!(answer.status, 403, "disabled, whatever the groups");
    assert!(answer.text().contains("the account alice is disabled"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p02_what_the_proxy_says_is_no_login_by_another_page_and_ends_other_sessions() {
    let console = console().await;
    console.state.people().add("alice", Role::Admin, Doer::TERMINAL).await.unwrap();
    let own = console.cookie("bob", Role::Operator).await;
    let same = console.cookie("alice", Role::Viewer).await;
    let user = (USER, b"alice".as_slice());
    // The identity is added to whatever comes through the proxy, so pages of others change nothing.
    let request = Request::post("/api/people").header(header::HOST, HOST).header("sec-fetch-site", "cross-site");
    let request = request.header(USER, "alice").header(OWN.0, OWN.1).body(Body::empty()).unwrap();
    assert_eq!(console.send_from("10.0.0.2".parse().unwrap(), request).await.status(), 403);
    let answer = send(&console, "10.0.0.2", ("GET", "/api/own"), &[user, OWN, ("cookie", same.as_bytes())]).await;
    let answer = Answer::of(answer).await.json();
    assert_eq!((&answer["user"], &answer["role"], &answer["by"]), (&"alice".into(), &"admin".into(), &"proxy".into()));
    assert_eq!(console.get("/api/captures", &same).await.status, 200, "her own session stays");
    let answer = send(&console, "10.0.0.2", ("GET", "/api/own"), &[user, OWN, ("cookie", own.as_bytes())]).await;
    assert_eq!(Answer::of(answer).await.json()["user"], "alice");
    assert_eq!(console.get("/api/captures", &own).await.status, 401, "that of somebody else has ended");
    let token = format!("Bearer {}", token_of(&console, "alice", Role::Viewer).await);
    let both =
        send(&console, "10.0.0.2", ("GET", "/api/captures"), &[user, OWN, ("authorization", token.as_bytes())]).await;
    assert_eq!(both.status(), 400);
    let alone = send(&console, "10.0.0.2", ("GET", "/api/captures"), &[("authorization", token.as_bytes())]).await;
    assert_eq!(alone.status(), 200);
    let login = send(&console, "10.0.0.2", ("POST", "/login"), &[user, OWN]).await;
    assert_eq!(login.status(), 409, "who it is is said already");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_option_the_header_means_nothing() {
    let console = Console::new().await;
    let answer =
        send(&console, "127.0.0.1", ("GET", "/api/captures"), &[(USER, b"root"), (GROUPS, b"admin"), OWN]).await;
    assert_eq!(answer.status(), 401);
}

/// Who asks, the headers of groups, and what they see.
type Case<'a> = (&'a str, &'a [&'a [u8]], (u16, &'a str));

/// What somebody whom the proxy names sees of captures, with the groups that it says.
async fn titles(console: &Console, user: &str, groups: &[&[u8]]) -> (u16, String) {
    let mut headers = vec![(USER, user.as_bytes()), OWN];
    headers.extend(groups.iter().map(|groups| (GROUPS, *groups)));
    let answer = Answer::of(send(console, "10.0.0.2", ("GET", "/api/captures"), &headers).await).await;
    let items = answer.json()["items"].as_array().cloned().unwrap_or_default();
    let titles: Vec<&str> = items.iter().filter_map(|item| item["title"].as_str()).collect();
    (answer.status.as_u16(), titles.join(" "))
}

async fn give(console: &Console, capture: CaptureId, to: Value) {
    let admin = console.cookie("root", Role::Admin).await;
    let body = json!({ "list": [{ "to": to, "may": "read" }] }).to_string();
    let said = console.ask("PUT", &format!("/api/captures/{capture}/rights"), Some(&admin), Some(&body)).await;
    assert_eq!(said.status, 200, "{}", said.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_rights_of_the_proxys_groups_are_of_each_request_and_of_nobody_else() {
    let console = console().await;
    let id = console.capture("payroll", "ada", 10).await;
    let local = console.capture("local", "ada", 20).await;
    let people = console.state.people();
    people.add("alice", Role::Operator, Doer::TERMINAL).await.unwrap();
    let admin = console.cookie("root", Role::Admin).await;
    let group = json!({ "people": ["bob"] }).to_string();
    assert_eq!(console.ask("PUT", "/api/rights/groups/finance", Some(&admin), Some(&group)).await.status, 200);
    give(&console, id, json!({ "proxy_group": "finance" })).await;
    give(&console, local, json!({ "group": "finance" })).await;
    let long = [vec![b'x'; 4000], b",finance".to_vec()].concat();
    let cases: &[Case<'_>] = &[
        ("alice", &[], (200, "")),
        ("alice", &[b"ops, finance"], (200, "payroll")),
        ("alice", &[b"ops", b"finance"], (200, "payroll")),
        ("alice", &[&long], (200, "payroll")),
        // Nobody is let in by a name that is nearly the same, or by one of this console.
        ("alice", &[b"Finance, finance2, financ\xc3\xa9, group:finance, proxy-group:finance, *, %"], (200, "")),
        ("alice", &[b"finance') OR 1=1 --, [\"finance\"]"], (200, "")),
        ("bob", &[b"all"], (200, "local")),
        ("bob", &[b"all,finance"], (200, "local payroll")),
        ("alice", &[b"finance\xff"], (400, "")),
    ];
    for (user, groups, expected) in cases {
        let (status, titles) = titles(&console, user, groups).await;
        let mut sorted: Vec<&str> = titles.split(' ').collect();
        sorted.sort_unstable();
        assert_eq!((status, sorted.join(" ").as_str()), *expected, "{user} {groups:?}");
    }
    // Not by a session, a token, or an address that is not the proxy's.
    let (cookie, token) =
        (console.cookie("alice", Role::Operator).await, token_of(&console, "alice", Role::Operator).await);
    assert_eq!(console.get(&format!("/api/captures/{id}"), &cookie).await.status, 404);
    let bearer = format!("Bearer {token}");
    let path = format!("/api/captures/{id}");
    let with_token = [("authorization", bearer.as_bytes())];
    assert_eq!(send(&console, "10.0.0.2", ("GET", &path), &with_token).await.status(), 404);
    let with_groups = [("authorization", bearer.as_bytes()), (GROUPS, b"finance".as_slice()), OWN];
    assert_eq!(send(&console, "10.0.0.2", ("GET", &path), &with_groups).await.status(), 400, "groups of nobody");
    let from_elsewhere = [(USER, b"alice".as_slice()), (GROUPS, b"finance".as_slice()), OWN];
    assert_eq!(send(&console, "192.0.2.7", ("GET", &path), &from_elsewhere).await.status(), 403);
    // What counts is told, and how much does not.
    let many: Vec<String> = (0..300).map(|number| format!("g{number}")).collect();
    let own = [(USER, b"alice".as_slice()), (GROUPS, many.join(",").leak().as_bytes()), OWN];
    let own = Answer::of(send(&console, "10.0.0.2", ("GET", "/api/own"), &own).await).await.json();
    assert_eq!(own["groups"]["names"].as_array().map(Vec::len), Some(256));
    assert_eq!((&own["groups"]["origin"], &own["groups"]["left_out"]), (&json!("proxy"), &json!(44)));
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_what_is_open_ends_when_the_proxy_says_other_groups() {
    let console = console().await;
    let id = console.capture("payroll", "ada", 10).await;
    console.state.people().add("alice", Role::Viewer, Doer::TERMINAL).await.unwrap();
    give(&console, id, json!({ "proxy_group": "finance" })).await;
    let headers = [(USER, b"alice".as_slice()), (GROUPS, b"finance".as_slice()), OWN];
    let mut stream = send(&console, "10.0.0.2", ("GET", "/api/live"), &headers).await;
    assert_eq!(stream.status(), 200);
    let mut stream = std::mem::take(stream.body_mut());
    assert!(stream.frame().await.is_some());
    assert_eq!(titles(&console, "alice", &[b"finance"]).await, (200, "payroll".to_owned()));
    assert_eq!(titles(&console, "alice", &[b"others"]).await, (200, String::new()));
    let ended = tokio::time::timeout(Duration::from_secs(1), stream.collect()).await;
    assert!(ended.is_ok(), "the stream goes on");
}

//! P05: sessions. P06: attempts to log in. P50: the audit log.

use std::{net::Ipv4Addr, time::Duration};

use bathyscope_store::Role;
use http_body_util::BodyExt as _;

use super::harness::{Answer, Console, own_page};

const HOUR_S: u64 = 3600;

async fn token(console: &Console) -> String {
    console.state.sessions().login_token("somebody", Role::Operator).await.unwrap().reveal().to_owned()
}

fn cookie_of(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn is_in(console: &Console, cookie: &str) -> bool {
    console.get("/api/captures", cookie).await.status == 200
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_token_becomes_a_session_once() {
    let console = Console::new().await;
    let token = token(&console).await;
    let form = format!("token={token}");
    let answer = console.ask("POST", "/login", None, Some(&form)).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/"));
    let attributes = answer.header("set-cookie").split_once("; ").unwrap().1.to_owned();
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/");
    let cookie = cookie_of(&answer);
    let secret = cookie.strip_prefix("bathyscope_session=").unwrap();
    assert_eq!(secret.len(), 64, "256 bits in hexadecimal");
    assert!(is_in(&console, &cookie).await);
    assert_eq!(console.ask("POST", "/login", None, Some(&form)).await.status, 401, "it works once");
    console.store.close().await;
    for entry in std::fs::read_dir(console.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let holds = |secret: &str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!holds(secret) && !holds(&token), "{} holds a secret", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_pasted_link_is_a_token_too() {
    let console = Console::new().await;
    let form = format!("token=http%3A%2F%2F127.0.0.1%3A7070%2Flogin%23token%3D{}%20", token(&console).await);
    assert_eq!(console.ask("POST", "/login", None, Some(&form)).await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_sessions_end_by_time() {
    let console = Console::new().await;
    let cookie = console.cookie("a", Role::Viewer).await;
    console.later(11 * HOUR_S);
    assert!(is_in(&console, &cookie).await, "used within its idle limit");
    console.later(11 * HOUR_S);
    assert!(is_in(&console, &cookie).await, "the limit counts from the last use");
    console.later(12 * HOUR_S);
    assert!(!is_in(&console, &cookie).await, "idle for too long");
    let busy = console.cookie("b", Role::Viewer).await;
    for _ in 0..15 {
        console.later(11 * HOUR_S);
        assert!(is_in(&console, &busy).await);
    }
    console.later(3 * HOUR_S);
    assert!(!is_in(&console, &busy).await, "seven days are the end however busy it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_login_links_end_by_time() {
    let console = Console::new().await;
    let token = token(&console).await;
    console.later(HOUR_S);
    assert_eq!(console.ask("POST", "/login", None, Some(&format!("token={token}"))).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_restart_keeps_sessions_and_a_reboot_does_not() {
    let console = Console::new().await;
    let cookie = console.cookie("a", Role::Viewer).await;
    console.later(11 * HOUR_S);
    assert!(is_in(&console, &cookie).await);
    let console = console.restarted("first boot").await;
    console.later(11 * HOUR_S);
    assert!(is_in(&console, &cookie).await, "the last use was kept");
    let console = console.restarted("second boot").await;
    assert!(!is_in(&console, &cookie).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_login_ends_the_session_before() {
    let console = Console::new().await;
    let first = console.cookie("a", Role::Viewer).await;
    let form = format!("token={}", token(&console).await);
    let answer = console.ask("POST", "/login", Some(&first), Some(&form)).await;
    assert!(is_in(&console, &cookie_of(&answer)).await);
    assert!(!is_in(&console, &first).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_logout_ends_open_streams_within_a_second() {
    let console = Console::new().await;
    let (mine, other) = (console.cookie("a", Role::Viewer).await, console.cookie("b", Role::Viewer).await);
    let open = async |cookie: &str| console.send(own_page("GET", "/api/live", Some(cookie), None)).await.into_body();
    let (mut my_stream, mut other_stream) = (open(&mine).await, open(&other).await);
    assert!(my_stream.frame().await.is_some() && other_stream.frame().await.is_some(), "both begin");
    let answer = console.ask("POST", "/logout", Some(&mine), None).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/login"));
    assert!(answer.header("set-cookie").contains("Max-Age=0"));
    let ended = tokio::time::timeout(Duration::from_secs(1), my_stream.collect()).await;
    assert!(ended.is_ok(), "the stream goes on after logout");
    assert!(!is_in(&console, &mine).await);
    assert!(is_in(&console, &other).await);
    console.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(1), other_stream.collect()).await;
    assert!(ended.is_ok(), "the stream goes on after the console");
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_foreign_cookie_of_the_same_name_does_not_lock_out() {
    let console = Console::new().await;
    let cookie = console.cookie("a", Role::Viewer).await;
    assert!(is_in(&console, &format!("bathyscope_session=planted; {cookie}")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_wrong_used_and_old_tokens_get_one_answer() {
    let console = Console::new().await;
    let (used, old) = (token(&console).await, token(&console).await);
    assert_eq!(console.ask("POST", "/login", None, Some(&format!("token={used}"))).await.status, 303);
    console.later(2 * HOUR_S);
    let mut answers = Vec::new();
    for wrong in [used.as_str(), old.as_str(), &"0".repeat(64), "short", ""] {
        let answer = console.ask("POST", "/login", None, Some(&format!("token={wrong}"))).await;
        let policy = answer.header("content-security-policy").to_owned();
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        answers.push((answer.status, answer.text().replace(&nonce, "")));
    }
    assert_eq!(answers[0].0, 401);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_attempts_are_limited() {
    let console = Console::new().await;
    let attempt = async |source: Ipv4Addr, form: &str| {
        console.send_from(source.into(), own_page("POST", "/login", None, Some(form))).await.status().as_u16()
    };
    let (mine, other) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(attempt(mine, "token=wrong").await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 10, "{statuses:?}");
    assert_eq!(statuses.last(), Some(&429));
    let right = format!("token={}", token(&console).await);
    assert_eq!(attempt(mine, &right).await, 303, "a valid token passes: 256 bits cannot be guessed");
    assert_eq!(attempt(mine, &right).await, 429, "it works once");
    assert_eq!(attempt(other, "token=wrong").await, 401, "others have a limit of their own");
}

#[tokio::test(flavor = "multi_thread")]
async fn p50_who_did_what_is_noted() {
    let console = Console::new().await;
    let form = format!("token={}", token(&console).await);
    let login = console.ask("POST", "/login", None, Some(&form)).await;
    let cookie = cookie_of(&login);
    let id = console.capture("a capture", "somebody", 10).await;
    let path = format!("/api/captures/{id}");
    assert_eq!(console.ask("PATCH", &path, Some(&cookie), Some(r#"{"title":"new"}"#)).await.status, 204);
    assert_eq!(console.ask("DELETE", &path, Some(&cookie), None).await.status, 200);
    let admin = console.cookie("root", Role::Admin).await;
    let log = console.get("/api/audit", &admin).await.json();
    let entry = |entry: &serde_json::Value| {
        let word = |name: &str| entry[name].as_str().unwrap().to_owned();
        (word("user"), word("role"), word("action"), word("object"))
    };
    let entries: Vec<_> = log["items"].as_array().unwrap().iter().map(entry).collect();
    let expected = |action: &str, object: &str| {
        ("somebody".to_owned(), "operator".to_owned(), action.to_owned(), object.to_owned())
    };
    let id = id.to_string();
    let actions = ["capture.delete", "capture.rename"].map(|action| expected(action, &id));
    assert_eq!(entries[..2], actions);
    assert_eq!(entries[2], expected("login", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn p74_sessions_and_links_are_listed_and_ended_by_admins() {
    let console = Console::new().await;
    let (admin, eve) = (console.cookie("root", Role::Admin).await, console.cookie("eve", Role::Operator).await);
    let unused = token(&console).await;
    console.later(90);
    assert!(is_in(&console, &admin).await);
    let listed = console.get("/api/access", &admin).await.json();
    let of = |user: &str| {
        let all = listed["sessions"].as_array().unwrap().iter();
        all.clone().find(|session| session["user"] == user).unwrap().clone()
    };
    assert_eq!((&of("root")["current"], &of("root")["unused_s"]), (&true.into(), &0.into()));
    assert_eq!(
        (&of("eve")["current"], &of("eve")["unused_s"], &of("eve")["age_s"]),
        (&false.into(), &90.into(), &90.into())
    );
    assert_eq!(
        (&listed["links"][0]["user"], &listed["links"][0]["ends_in_s"]),
        (&"somebody".into(), &(HOUR_S - 90).into())
    );
    let text = listed.to_string();
    for secret in [admin.as_str(), eve.as_str(), unused.as_str()] {
        assert!(!text.contains(secret.trim_start_matches("bathyscope_session=")), "a list holds what logs in");
    }
    // A stream of the session ends with it, at once.
    let mut stream = console.send(own_page("GET", "/api/live", Some(&eve), None)).await.into_body();
    assert!(stream.frame().await.is_some());
    let end = format!("/api/access/sessions/{}", of("eve")["id"].as_str().unwrap());
    assert_eq!(console.ask("DELETE", &end, Some(&eve), None).await.status, 404, "only for admins");
    assert_eq!(console.ask("DELETE", &end, Some(&admin), None).await.status, 204);
    assert!(tokio::time::timeout(Duration::from_secs(1), stream.collect()).await.is_ok(), "the stream goes on");
    assert!(!is_in(&console, &eve).await && is_in(&console, &admin).await);
    let end = format!("/api/access/links/{}", listed["links"][0]["id"].as_str().unwrap());
    assert_eq!(console.ask("DELETE", &end, Some(&admin), None).await.status, 204);
    assert_eq!(console.ask("POST", "/login", None, Some(&format!("token={unused}"))).await.status, 401);
    let log = console.get("/api/audit", &admin).await.json().to_string();
    assert!(log.contains("session.end") && log.contains("link.end"), "{log}");
    // A session that this process has not seen yet, as after a restart, is ended too.
    let other = console.cookie("mallory", Role::Viewer).await;
    let console = console.restarted("first boot").await;
    let listed = console.get("/api/access", &admin).await.json();
    let id = listed["sessions"].as_array().unwrap().iter().find(|one| one["user"] == "mallory").unwrap()["id"].clone();
    let end = format!("/api/access/sessions/{}", id.as_str().unwrap());
    assert_eq!(console.ask("DELETE", &end, Some(&admin), None).await.status, 204);
    assert!(!is_in(&console, &other).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p74_a_link_lives_as_long_as_it_says() {
    let console = Console::new().await;
    let cookie = async |lasts_s: u64| {
        let token = console.state.sessions().login_token_for("contractor", Role::Viewer, lasts_s).await.unwrap().0;
        let answer = console.ask("POST", "/login", None, Some(&format!("token={}", token.reveal()))).await;
        cookie_of(&answer)
    };
    let (short, long) = (cookie(600).await, cookie(2 * HOUR_S).await);
    console.later(599);
    assert!(is_in(&console, &short).await && is_in(&console, &long).await);
    console.later(1);
    assert!(!is_in(&console, &short).await, "its time is over however much it was used");
    assert!(is_in(&console, &long).await);
    // The time counts from when the link was made, not from its use.
    let token = console.state.sessions().login_token_for("contractor", Role::Viewer, 600).await.unwrap().0;
    console.later(500);
    let form = format!("token={}", token.reveal());
    let late = cookie_of(&console.ask("POST", "/login", None, Some(&form)).await);
    console.later(100);
    assert!(!is_in(&console, &late).await);
    let token = console.state.sessions().login_token_for("contractor", Role::Viewer, 600).await.unwrap().0;
    console.later(600);
    let form = format!("token={}", token.reveal());
    assert_eq!(console.ask("POST", "/login", None, Some(&form)).await.status, 401, "the link itself ends with it");
}

//! People who have an account: how they come in, what ends their sessions, and who may change what.

use std::{net::Ipv4Addr, time::Duration};

use bathyscope_console::http::{Doer, PersonChange};
use bathyscope_store::Role;
use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use serde_json::json;

use super::harness::{Answer, Console, own_page};

const PASSWORD: &str = "correct horse battery";

/// Makes an account whose owner has chosen this password.
pub async fn account(console: &Console, name: &str, role: Role, password: &str) {
    let invitation = console.state.people().add(name, role, Doer::TERMINAL).await.unwrap();
    let answer = choose(console, &invitation.path, password).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, json!({ "name": name })));
}

/// The cookie of somebody who has logged in by name and password.
pub async fn log_in_as(console: &Console, name: &str, password: &str) -> String {
    let answer = log_in(console, None, name, password).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    cookie_of(&answer)
}

fn cookie_of(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn choose(console: &Console, path: &str, password: &str) -> Answer {
    let token = path.rsplit_once("token=").unwrap().1;
    let body = json!({ "token": token, "password": password }).to_string();
    console.ask("POST", "/api/password", None, Some(&body)).await
}

/// A form as a browser sends it.
fn form(name: &str, password: &str) -> String {
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    format!("name={}&password={}&next=", encoded(name), encoded(password))
}

async fn log_in(console: &Console, cookie: Option<&str>, name: &str, password: &str) -> Answer {
    console.ask("POST", "/login", cookie, Some(&form(name, password))).await
}

async fn attempt(console: &Console, source: Ipv4Addr, name: &str, password: &str) -> u16 {
    let request = own_page("POST", "/login", None, Some(&form(name, password)));
    console.send_from(source.into(), request).await.status().as_u16()
}

async fn is_in(console: &Console, cookie: &str) -> bool {
    console.get("/api/captures", cookie).await.status == 200
}

/// A page without what differs in each answer.
fn without_nonce(answer: &Answer) -> String {
    let policy = answer.header("content-security-policy").to_owned();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    answer.text().replace(nonce, "")
}

fn source(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + number)
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_an_admin_adds_a_person_who_chooses_a_password_and_logs_in() {
    let console = Console::new().await;
    let first = console.ask("GET", "/login", None, None).await;
    assert!(first.text().contains("bathyscope people add") && !first.text().contains("by-password"));
    let admin = console.cookie("root", Role::Admin).await;
    let asked = json!({ "name": "Alice", "role": "operator" }).to_string();
    let made = console.ask("POST", "/api/people", Some(&admin), Some(&asked)).await;
    assert_eq!(made.status, 201);
    let path = made.json()["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with("/password#name=Alice&token="), "{path}");
    assert_eq!(console.ask("POST", "/api/people", Some(&admin), Some(&asked)).await.status, 409);
    let other_case = asked.replace("Alice", "aLICE");
    assert_eq!(console.ask("POST", "/api/people", Some(&admin), Some(&other_case)).await.status, 409);
    assert_eq!(log_in(&console, None, "Alice", PASSWORD).await.status, 401, "there is no password yet");
    for (password, expected) in
        [("elevenchars", 400), (&*"x".repeat(257), 400), ("", 400), (&*"é".repeat(12), 200), (PASSWORD, 404)]
    {
        let answer = choose(&console, &path, password).await;
        assert_eq!(answer.status.as_u16(), expected, "{password:.20}: {}", answer.text());
    }
    let page = console.ask("GET", "/login", None, None).await;
    assert!(page.text().contains("by-password") && !page.text().contains("people add"));
    let login = log_in(&console, None, "alice", &"é".repeat(12)).await;
    assert_eq!((login.status.as_u16(), login.header("location")), (303, "/"));
    assert!(login.header("set-cookie").contains("HttpOnly; SameSite=Strict"));
    let cookie = cookie_of(&login);
    let own = console.get("/api/own", &cookie).await.json();
    assert_eq!((&own["user"], &own["role"]), (&json!("Alice"), &json!("operator")), "as the account spells it");
    assert_eq!(own["sessions"][0]["current"], true);
    let again = log_in(&console, Some(&cookie), "Alice", &"é".repeat(12)).await;
    assert!(
        !is_in(&console, &cookie).await && is_in(&console, &cookie_of(&again)).await,
        "a login ends the session before"
    );
    let people = console.get("/api/people", &admin).await.json();
    let person = &people["items"][0];
    assert_eq!((&person["sessions"], &person["tokens"], &person["has_password"]), (&json!(1), &json!(0), &json!(true)));
    assert!(person["last_login_unix_ns"].is_i64());
    console.later(12 * 3600);
    assert!(!is_in(&console, &cookie_of(&again)).await, "idle for too long");
    let audit = console.get("/api/audit", &console.cookie("root", Role::Admin).await).await.json();
    let act = |line: &serde_json::Value| (line["user"].clone(), line["action"].clone());
    let acts: Vec<_> = audit["items"].as_array().unwrap().iter().map(act).collect();
    let expected = [
        ("Alice", "login"),
        ("Alice", "login"),
        ("Alice", "person.password"),
        ("not logged in", "login.refused"),
        ("root", "person.add"),
    ];
    assert_eq!(acts, expected.map(|(user, action)| (json!(user), json!(action))));
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_one_answer_for_a_name_that_is_wrong_and_for_a_password() {
    let console = Console::new().await;
    account(&console, "alice", Role::Viewer, PASSWORD).await;
    account(&console, "off", Role::Viewer, PASSWORD).await;
    let people = console.state.people();
    people.add("new", Role::Viewer, Doer::TERMINAL).await.unwrap();
    people
        .change("off", PersonChange { disabled: Some(true), ..PersonChange::default() }, Doer::TERMINAL)
        .await
        .unwrap();
    let long = "x".repeat(4096);
    let mut answers = Vec::new();
    for (number, (name, password)) in [
        ("alice", "wrong horse battery"),
        ("nobody", PASSWORD),
        ("off", PASSWORD),
        ("new", PASSWORD),
        ("", ""),
        ("alice", ""),
        ("../", PASSWORD),
        ("<img src=x onerror=1>", PASSWORD),
        ("ali\nce", PASSWORD),
        ("\u{202e}alice", PASSWORD),
        ("alice\0", PASSWORD),
        (long.as_str(), PASSWORD),
        ("nobody", long.as_str()),
        ("alice' OR '1'='1", PASSWORD),
    ]
    .into_iter()
    .enumerate()
    {
        let request = own_page("POST", "/login", None, Some(&form(name, password)));
        let from = source(u32::try_from(number).unwrap());
        let answer = Answer::of(console.send_from(from.into(), request).await).await;
        assert_eq!(answer.status, 401, "{name:.20}");
        answers.push(without_nonce(&answer));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    // As much is computed for a name that nobody has, or whose account is disabled or has no password, as for a wrong password.
    for (number, name) in ["alice", "nobody", "off", "new"].into_iter().enumerate() {
        let before = console.state.people().hashes_computed();
        attempt(&console, source(100 + u32::try_from(number).unwrap()), name, "wrong horse battery").await;
        assert_eq!(console.state.people().hashes_computed() - before, 1, "{name}");
    }
    // Each is in the audit log, by its name if an account has it: what nobody is called may be a password in the wrong field.
    let root = console.cookie("root", Role::Admin).await;
    let refused = async || {
        let audit = console.get("/api/audit?limit=1000", &root).await;
        let items = audit.json()["items"].as_array().unwrap().clone();
        items.into_iter().filter(|entry| entry["action"] == "login.refused").collect::<Vec<_>>()
    };
    let noted = refused().await;
    assert_eq!(noted.len(), 14 + 4);
    let mut names: Vec<&str> = noted.iter().map(|entry| entry["object"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["", "alice", "new", "off"]);
    assert!(noted.iter().all(|entry| entry["user"] == "not logged in" && entry["role"] == "viewer"), "{noted:?}");
    let last = noted.first().unwrap();
    assert_eq!(
        (&last["object"], &last["detail"]),
        (&json!("new"), &json!(format!("by password, from {}", source(103))))
    );
    // No more than the limit of attempts lets through.
    for _ in 0..15 {
        attempt(&console, source(200), "alice' OR", "wrong horse battery").await;
    }
    assert_eq!(refused().await.len(), 14 + 4 + 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_passwords_are_limited_by_source_and_name_and_links_are_not() {
    let console = Console::new().await;
    account(&console, "alice", Role::Viewer, PASSWORD).await;
    account(&console, "bob", Role::Viewer, PASSWORD).await;
    // What is right takes nothing away, so one below the limit is as good as none.
    let names: Vec<String> = (0..12).map(|number| format!("nobody{number}")).collect();
    let wrong = async |names: &[String]| {
        let attempts = names.iter().map(|name| attempt(&console, source(1), name, "wrong horse battery"));
        join_all(attempts).await
    };
    assert_eq!(wrong(&names[..9]).await, [401; 9]);
    for _ in 0..3 {
        assert_eq!(attempt(&console, source(1), "alice", PASSWORD).await, 303, "at one below the limit");
    }
    assert_eq!(wrong(&names[9..10]).await, [401], "at the limit");
    let beyond = wrong(&names[10..]).await;
    assert!(beyond.contains(&429), "beyond the limit: {beyond:?}");
    // By name, from wherever they come; names that nobody has are limited alike.
    for (first, name) in [(100, "alice"), (200, "nobody")] {
        let attempts = (0..12).map(|at| attempt(&console, source(first + at), name, "wrong horse battery"));
        let statuses = join_all(attempts).await;
        assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 10, "{name} {statuses:?}");
    }
    assert_eq!(
        attempt(&console, source(300), "ALICE", PASSWORD).await,
        429,
        "whatever the password, however it is spelt"
    );
    assert_eq!(attempt(&console, source(301), "bob", PASSWORD).await, 303, "others have a limit of their own");
    let token = console.state.sessions().login_token("alice", Role::Viewer).await.unwrap();
    let request = own_page("POST", "/login", None, Some(&format!("token={}", token.reveal())));
    assert_eq!(console.send_from(source(1).into(), request).await.status(), 303, "a valid link is never refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_changes_of_an_account_end_its_sessions_and_say_why() {
    for (what, says) in [
        ("role", "The role of your account was changed"),
        ("disable", "Your account was disabled"),
        ("reset", "The password of your account was changed"),
        ("remove", "Your account was removed"),
        ("end", "Your session was ended in the list of sessions"),
    ] {
        let console = Console::new().await;
        account(&console, "alice", Role::Operator, PASSWORD).await;
        account(&console, "bob", Role::Operator, PASSWORD).await;
        let admin = console.cookie("root", Role::Admin).await;
        let (cookie, other) =
            (log_in_as(&console, "alice", PASSWORD).await, log_in_as(&console, "bob", PASSWORD).await);
        let mut stream = console.send(own_page("GET", "/api/live", Some(&cookie), None)).await.into_body();
        assert!(stream.frame().await.is_some());
        let ask = async |method: &str, path: &str, body: Option<&str>| {
            let answer = console.ask(method, path, Some(&admin), body).await;
            assert!(answer.status.is_success(), "{what}: {}", answer.text());
        };
        match what {
            "role" => ask("PATCH", "/api/people/alice", Some(r#"{"role":"viewer"}"#)).await,
            "disable" => ask("PATCH", "/api/people/alice", Some(r#"{"disabled":true}"#)).await,
            "reset" => ask("POST", "/api/people/alice/reset", None).await,
            "remove" => ask("DELETE", "/api/people/alice", None).await,
            _ => {
                let list = console.get("/api/access", &admin).await.json();
                let sessions = list["sessions"].as_array().unwrap();
                let id = sessions.iter().find(|one| one["user"] == "alice").unwrap()["id"].as_str().unwrap().to_owned();
                ask("DELETE", &format!("/api/access/sessions/{id}"), None).await;
            }
        }
        let ended = tokio::time::timeout(Duration::from_secs(1), stream.collect()).await;
        assert!(ended.is_ok(), "the stream goes on: {what}");
        let refused = console.get("/api/captures", &cookie).await;
        assert_eq!(refused.status, 401, "{what}");
        assert!(refused.json()["error"]["remedy"].as_str().unwrap().starts_with(says), "{what}");
        assert!(console.get("/login?next=%2Fcaptures", &cookie).await.text().contains(says), "{what}");
        assert!(is_in(&console, &other).await, "{what}: somebody else");
        let stays = matches!(what, "role" | "end");
        let expected = if stays { 303 } else { 401 };
        assert_eq!(log_in(&console, None, "alice", PASSWORD).await.status.as_u16(), expected, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p05_a_new_password_ends_the_other_sessions_and_asks_for_the_old_one() {
    let console = Console::new().await;
    account(&console, "alice-of-example", Role::Viewer, PASSWORD).await;
    let name = "alice-of-example";
    let (mine, other) = (log_in_as(&console, name, PASSWORD).await, log_in_as(&console, name, PASSWORD).await);
    let change = async |old: &str, new: &str| {
        let body = json!({ "old": old, "new": new }).to_string();
        console.ask("POST", "/api/own/password", Some(&mine), Some(&body)).await
    };
    for (old, new, expected) in [
        ("wrong horse battery", "another horse battery", "the old password is wrong"),
        (PASSWORD, "short", "fewer than 12 characters"),
        (PASSWORD, "Alice-Of-Example", "it is the name"),
        (PASSWORD, &*"x".repeat(257), "more than 256 characters"),
        (PASSWORD, PASSWORD, "it is the password that it was"),
    ] {
        let answer = change(old, new).await;
        assert_eq!(answer.status, 400);
        let why = answer.json()["error"]["why"].as_str().unwrap().to_owned();
        assert!(why.contains(expected), "{why}");
    }
    assert!(is_in(&console, &other).await);
    assert_eq!(change(PASSWORD, "another horse battery").await.status, 204);
    assert!(is_in(&console, &mine).await && !is_in(&console, &other).await);
    assert_eq!(log_in(&console, None, name, PASSWORD).await.status, 401);
    let fresh = log_in_as(&console, name, "another horse battery").await;
    assert!(is_in(&console, &fresh).await);
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(change("wrong horse battery", "yet another horse").await.status.as_u16());
    }
    assert!(statuses.contains(&429), "the old password cannot be guessed here either: {statuses:?}");
    let linked = console.cookie("grace", Role::Admin).await;
    let body = json!({ "old": PASSWORD, "new": "another horse battery" }).to_string();
    let refused = console.ask("POST", "/api/own/password", Some(&linked), Some(&body)).await;
    assert!(refused.status.is_client_error(), "who has no account has no password");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_admin_stays_one_but_for_a_terminal() {
    let console = Console::new().await;
    account(&console, "alice", Role::Admin, PASSWORD).await;
    account(&console, "bob", Role::Viewer, PASSWORD).await;
    let alice = log_in_as(&console, "alice", PASSWORD).await;
    let ask = async |method: &str, path: &str, body: Option<&str>| {
        console.ask(method, path, Some(&alice), body).await.status.as_u16()
    };
    assert_eq!(ask("PATCH", "/api/people/alice", Some(r#"{"role":"viewer"}"#)).await, 409);
    assert_eq!(ask("PATCH", "/api/people/alice", Some(r#"{"disabled":true}"#)).await, 409);
    assert_eq!(ask("DELETE", "/api/people/alice", None).await, 409);
    assert_eq!(ask("PATCH", "/api/people/alice", Some(r#"{"role":"admin"}"#)).await, 200, "nothing changes");
    assert!(is_in(&console, &alice).await);
    assert_eq!(ask("PATCH", "/api/people/bob", Some(r#"{"role":"admin"}"#)).await, 200);
    assert_eq!(ask("PATCH", "/api/people/BOB", Some(r#"{"disabled":true}"#)).await, 200, "there is another");
    assert_eq!(ask("DELETE", "/api/people/alice", None).await, 409, "one that is disabled is none");
    for body in [r#"{"role":"root"}"#, r#"{"name":"x"}"#, "7"] {
        assert_eq!(ask("PATCH", "/api/people/bob", Some(body)).await, 400, "{body}");
    }
    console.state.people().remove("alice", Doer::TERMINAL).await.unwrap();
    assert!(!is_in(&console, &alice).await);
    let link = console.state.sessions().login_token("admin", Role::Admin).await.unwrap();
    let (_secret, session) = console.state.sessions().login(link.reveal(), None).await.unwrap().unwrap();
    assert_eq!((session.user(), session.role()), ("admin", Role::Admin), "a link always logs an admin in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_link_for_the_name_of_an_account_logs_in_as_that() {
    let console = Console::new().await;
    let sessions = console.state.sessions();
    let before = console.cookie("alice", Role::Admin).await;
    let old_link = sessions.login_token("ALICE", Role::Admin).await.unwrap();
    account(&console, "alice", Role::Operator, PASSWORD).await;
    assert!(!is_in(&console, &before).await, "a session of before the account is not the account's");
    for (asked, given) in
        [(Role::Viewer, Role::Viewer), (Role::Operator, Role::Operator), (Role::Admin, Role::Operator)]
    {
        let (link, told) = sessions.login_token_for("Alice", asked, 3600).await.unwrap();
        let (_secret, session) = sessions.login(link.reveal(), None).await.unwrap().unwrap();
        assert_eq!((told, session.role(), session.user()), (given, given, "alice"), "{asked}");
    }
    let (_secret, session) = sessions.login(old_link.reveal(), None).await.unwrap().unwrap();
    assert_eq!((session.role(), session.user()), (Role::Operator, "alice"), "a link of before the account");
    let link = sessions.login_token("alice", Role::Viewer).await.unwrap();
    let disabled = PersonChange { disabled: Some(true), ..PersonChange::default() };
    console.state.people().change("alice", disabled, Doer::TERMINAL).await.unwrap();
    assert!(session.ended().is_cancelled());
    let form = format!("token={}", link.reveal());
    assert_eq!(console.ask("POST", "/login", None, Some(&form)).await.status, 401);
    assert!(sessions.login_token("alice", Role::Viewer).await.is_err(), "no link is made for it");
    let enabled = PersonChange { disabled: Some(false), ..PersonChange::default() };
    console.state.people().change("alice", enabled, Doer::TERMINAL).await.unwrap();
    assert_eq!(console.ask("POST", "/login", None, Some(&form)).await.status, 303, "the link was not used up");
    assert!(is_in(&console, &console.cookie("somebody else", Role::Admin).await).await, "other names are as before");
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_names_that_are_none_are_refused() {
    let console = Console::new().await;
    let admin = console.cookie("root", Role::Admin).await;
    let add = async |name: &str| {
        let body = json!({ "name": name, "role": "viewer" }).to_string();
        console.ask("POST", "/api/people", Some(&admin), Some(&body)).await
    };
    let (at, above) = ("x".repeat(64), "x".repeat(65));
    for name in [
        "",
        " ",
        "..",
        "../",
        "a/b",
        "a b",
        "a\u{0}",
        "a\u{7}b",
        "a\nb",
        "\u{1b}[2K",
        "\u{202e}alice",
        "a\u{200b}b",
        "é",
        "<img src=x onerror=alert(1)>",
        "</script>",
        "-rf",
        "admin",
        "Operator",
        "terminal",
        &above,
        &"x".repeat(4096),
    ] {
        let answer = add(name).await;
        assert_eq!(answer.status, 400, "{name:.20}: {}", answer.text());
        assert!(
            name.len() < 5 || !answer.text().contains(name) || name == "admin" || name == "terminal",
            "it is not repeated"
        );
    }
    assert_eq!(add(&at).await.status, 201);
    for path in ["/api/people/..", "/api/people/%2e%2e", "/api/people/%00", "/api/people/%3Cb%3E", "/api/people/a%2fb"]
    {
        let status = console.ask("DELETE", path, Some(&admin), None).await.status;
        assert_eq!(status, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_sessions_are_ended_by_their_owners_and_admins() {
    let console = Console::new().await;
    account(&console, "alice", Role::Operator, PASSWORD).await;
    let (mine, other) = (log_in_as(&console, "alice", PASSWORD).await, log_in_as(&console, "alice", PASSWORD).await);
    let bob = console.cookie("bob", Role::Operator).await;
    let own = console.get("/api/own", &mine).await.json();
    let sessions = own["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2, "not that of bob");
    let id = sessions.iter().find(|one| one["current"] == false).unwrap()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/own/sessions/{id}");
    assert_eq!(console.ask("DELETE", &path, Some(&bob), None).await.status, 404);
    assert!(is_in(&console, &other).await);
    assert_eq!(console.ask("DELETE", &path, Some(&mine), None).await.status, 204);
    assert!(!is_in(&console, &other).await && is_in(&console, &mine).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_links_to_choose_a_password_are_limited_and_say_nothing() {
    let console = Console::new().await;
    let invitation = console.state.people().add("alice", Role::Viewer, Doer::TERMINAL).await.unwrap();
    let mut answers = Vec::new();
    for wrong in ["", "short", &"0".repeat(64), &"x".repeat(4096), "../", "\u{202e}"] {
        let answer = choose(&console, &format!("token={wrong}"), PASSWORD).await;
        let mut body = answer.json();
        body["error"]["request_id"] = json!("");
        answers.push((answer.status.as_u16(), body));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 404), "{answers:?}");
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(choose(&console, "token=wrong", PASSWORD).await.status.as_u16());
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    let disabled = |disabled| PersonChange { disabled: Some(disabled), ..PersonChange::default() };
    console.state.people().change("alice", disabled(true), Doer::TERMINAL).await.unwrap();
    assert_ne!(choose(&console, &invitation.path, PASSWORD).await.status, 200, "its account is disabled");
    console.state.people().change("alice", disabled(false), Doer::TERMINAL).await.unwrap();
    let again = console.state.people().reset("alice", Doer::TERMINAL).await.unwrap();
    assert_ne!(choose(&console, &invitation.path, PASSWORD).await.status, 200, "a newer link takes its place");
    assert_eq!(choose(&console, &again.path, PASSWORD).await.status, 200, "a valid link is never refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_password_and_no_link_is_in_any_file() {
    let console = Console::new().await;
    let invitation = console.state.people().add("alice", Role::Viewer, Doer::TERMINAL).await.unwrap();
    assert_eq!(choose(&console, &invitation.path, PASSWORD).await.status, 200);
    log_in_as(&console, "alice", PASSWORD).await;
    let token = invitation.path.rsplit_once("token=").unwrap().1.to_owned();
    assert!(!format!("{invitation:?}").contains(&token));
    console.store.close().await;
    for entry in std::fs::read_dir(console.dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_file() {
            let bytes = std::fs::read(&entry).unwrap();
            let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!has(PASSWORD) && !has(&token), "{}", entry.display());
        }
    }
}

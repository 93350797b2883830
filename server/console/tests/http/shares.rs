//! P07: a share shows what it names and nothing else, to nobody but who has its token, until it ends.

use std::collections::BTreeSet;

use bathyscope_capture::CaptureId;
use bathyscope_console::http::{RouteKind, Shares, table};
use bathyscope_store::{NewShare, Role, TokenHash};
use futures_util::StreamExt as _;
use http::header;

use super::{
    harness::{Answer, Console, own_page, simulated},
    roles::address,
};

/// A link that was made, and who opens it.
pub struct Link {
    id: String,
    token: String,
}

impl Link {
    fn cookie(&self) -> String {
        format!("bathyscope_share={}", self.token)
    }

    /// The address of a route below it.
    fn below(&self, path: &str) -> String {
        format!("/s/{}{path}", self.id)
    }

    pub async fn get(&self, console: &Console, path: &str) -> Answer {
        console.ask("GET", &self.below(path), Some(&self.cookie()), None).await
    }

    async fn revoke(&self, console: &Console, cookie: &str) -> u16 {
        let revoked = console.ask("DELETE", &format!("/api/shares/{}", self.id), Some(cookie), None).await;
        revoked.status.as_u16()
    }
}

/// Makes a link as somebody.
pub async fn share(console: &Console, cookie: &str, body: serde_json::Value) -> Link {
    let made = console.ask("POST", "/api/shares", Some(cookie), Some(&body.to_string())).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let (path, id) = (made["path"].as_str().unwrap(), made["share"]["id"].as_str().unwrap().to_owned());
    let token = path.strip_prefix(&format!("/s/{id}#")).unwrap().to_owned();
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "256 bits");
    Link { id, token }
}

async fn open(console: &Console, id: &str, token: &str) -> Answer {
    let body = serde_json::json!({ "token": token }).to_string();
    console.ask("POST", &format!("/s/{id}/open"), None, Some(&body)).await
}

/// Where a link leads.
pub async fn opened(console: &Console, link: &Link) -> String {
    let opened = open(console, &link.id, &link.token).await;
    opened.json()["url"].as_str().unwrap().to_owned()
}

/// A link whose time is over, which no route makes.
async fn expired(console: &Console, capture: CaptureId) -> Link {
    let (id, token) = (0xe0_u64, "e".repeat(64));
    let created_unix_ns = 1_600_000_000_000_000_000;
    let new = NewShare {
        id,
        token: TokenHash::of(token.as_bytes()),
        kind: "capture".to_owned(),
        object: capture.to_string(),
        scope: r#"{"view":"","part":null}"#.to_owned(),
        title: "over".to_owned(),
        owner: "ada".to_owned(),
        created_unix_ns,
        expires_unix_ns: created_unix_ns + 60_000_000_000,
        removes: String::new(),
        preview: None,
    };
    console.store.add_share(new).await.unwrap();
    Link { id: format!("{id:016x}"), token }
}

/// The routes that a share may ask, as they stand in the table.
fn below_shares() -> BTreeSet<&'static str> {
    table().iter().map(|route| route.path).filter_map(|path| path.strip_prefix("/s/{share}/")).collect()
}

/// Those of them that are about captures, or about investigations.
fn below_shares_of(what: &str) -> BTreeSet<&'static str> {
    let named = format!("{what}/{{id}}");
    // What is read by a block of an investigation has a test of its own.
    let is_of_block = |path: &str| path.starts_with("blocks/");
    below_shares().into_iter().filter(|path| path.contains(&named) && !is_of_block(path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_every_route_below_a_share_answers_only_with_its_own_token() {
    let console = Console::new().await;
    let (id, other) = (console.capture("shared", "ada", 10).await, console.capture("other", "ada", 20).await);
    let ada = console.cookie("ada", Role::Operator).await;
    let whole = share(&console, &ada, serde_json::json!({ "capture": id })).await;
    let part = share(&console, &ada, serde_json::json!({ "capture": id, "part": { "filter": "cpu == 1" } })).await;
    let of_other = share(&console, &ada, serde_json::json!({ "capture": other })).await;
    let revoked = share(&console, &ada, serde_json::json!({ "capture": id })).await;
    assert_eq!(revoked.revoke(&console, &ada).await, 204);
    let expired = expired(&console, id).await;
    let mut refusals = BTreeSet::new();
    for path in below_shares_of("captures") {
        let ask = async |link: &Link, cookie: Option<String>, capture: CaptureId| {
            let path = link.below(&address(&format!("/{path}"), capture));
            let answer = Answer::of(console.send(own_page("GET", &path, cookie.as_deref(), None)).await).await;
            let text = String::from_utf8_lossy(&answer.body).replace(answer.header("x-request-id"), "");
            (answer.status.as_u16(), text)
        };
        // What a viewer is answered, which may be that there is nothing of this kind.
        let seen = ask(&whole, Some(whole.cookie()), id).await;
        let of_part = ask(&part, Some(part.cookie()), id).await;
        for (status, text) in [&seen, &of_part] {
            assert!([200, 400, 404].contains(status) && !text.contains("this link, which"), "{path}: {status} {text}");
            assert!(!text.contains("opening this link"), "{path}: {text}");
        }
        let session = console.cookie("root", Role::Admin).await;
        let refused = [
            ask(&whole, None, id).await,
            ask(&whole, Some(session), id).await,
            ask(&whole, Some("bathyscope_share=".to_owned()), id).await,
            ask(&whole, Some(format!("bathyscope_share={}", "0".repeat(64))), id).await,
            ask(&whole, Some(part.cookie()), id).await,
            ask(&whole, Some(of_other.cookie()), id).await,
            ask(&of_other, Some(of_other.cookie()), id).await,
            ask(&whole, Some(whole.cookie()), other).await,
            ask(&part, Some(part.cookie()), other).await,
            ask(&revoked, Some(revoked.cookie()), id).await,
            ask(&expired, Some(expired.cookie()), id).await,
            ask(&Link { id: "00000000000000aa".to_owned(), token: String::new() }, Some(whole.cookie()), id).await,
            ask(&Link { id: "nothing".to_owned(), token: String::new() }, Some(whole.cookie()), id).await,
        ];
        for (status, text) in refused {
            assert_eq!(status, 404, "{path}: {text}");
            if path != "captures/{id}" {
                refusals.insert(text);
            }
        }
    }
    assert_eq!(refusals.len(), 1, "one and the same answer: {refusals:?}");
}

/// An investigation with a view of a capture and a note on it.
async fn investigation(console: &Console, cookie: &str, capture: CaptureId) -> (String, String) {
    let post = async |path: &str, body: serde_json::Value| {
        let made = console.ask("POST", path, Some(cookie), Some(&body.to_string())).await;
        assert_eq!(made.status, 201, "{path}: {}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let id = post("/api/investigations", serde_json::json!({ "title": "Why <b>?" })).await;
    let blocks = format!("/api/investigations/{id}/blocks");
    let on = serde_json::json!({ "on": { "kind": "capture" }, "text": "a note" });
    let note = post(&format!("/api/captures/{capture}/notes"), on).await;
    let view = serde_json::json!({ "kind": "view", "capture": capture, "view": "v=3&tab=events" });
    let view = post(&blocks, serde_json::json!({ "content": view })).await;
    let note = serde_json::json!({ "kind": "note", "capture": capture, "note": note });
    post(&blocks, serde_json::json!({ "content": note })).await;
    (id, view)
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_share_of_an_investigation_shows_its_page_and_no_capture() {
    let console = Console::new().await;
    let capture = console.capture("shared", "ada", 10).await;
    let (ada, root) = (console.cookie("ada", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let (id, view) = investigation(&console, &ada, capture).await;
    let (other, other_view) = investigation(&console, &ada, capture).await;
    let link = share(&console, &ada, serde_json::json!({ "investigation": id })).await;
    let of_capture = share(&console, &ada, serde_json::json!({ "capture": capture })).await;
    let opened = open(&console, &link.id, &link.token).await;
    assert_eq!(opened.json()["url"], format!("/s/{}/investigations/{id}", link.id));
    let page = link.get(&console, &format!("/investigations/{id}")).await;
    assert!(
        page.status == 200 && page.text().contains("data-shared") && !page.text().contains("<b>"),
        "{}",
        page.text()
    );
    let read = link.get(&console, &format!("/api/investigations/{id}")).await.json();
    assert_eq!((&read["share"]["owner"], &read["can_write"]), (&"ada".into(), &false.into()));
    assert_eq!((&read["head"]["can_delete"], &read["public_url"]), (&false.into(), &serde_json::Value::Null));
    assert!(read["no_shares"].as_str().unwrap().contains("read only"));
    assert_eq!(read["blocks"][1]["content"]["note"]["text"], "a note");
    let picture = link.get(&console, &format!("/api/investigations/{id}/blocks/{view}/picture")).await;
    assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, "image/svg+xml"));
    // Whoever is logged in is told that they may share it.
    assert!(console.get(&format!("/api/investigations/{id}"), &ada).await.json()["no_shares"].is_null());
    // Of everything that is below shares only this is below this one.
    let refused = async |link: &Link, cookie: Option<String>, path: &str| {
        let answer = Answer::of(console.send(own_page("GET", &link.below(path), cookie.as_deref(), None)).await).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(answer.text().contains("opening this link"), "{path}: {}", answer.text());
    };
    for path in below_shares_of("captures") {
        for id in [capture.to_string(), id.clone()] {
            refused(&link, Some(link.cookie()), &address(&format!("/{path}"), id)).await;
        }
    }
    let session = console.cookie("root", Role::Admin).await;
    for path in below_shares_of("investigations") {
        let path = format!("/{path}");
        let at = |id: &str, block: &str| address(&path.replace("{block}", block), id);
        for cookie in [None, Some(session.clone()), Some(of_capture.cookie()), Some("bathyscope_share=".to_owned())] {
            refused(&link, cookie, &at(&id, &view)).await;
        }
        refused(&link, Some(link.cookie()), &at(&other, &other_view)).await;
        refused(&link, Some(link.cookie()), &at(&capture.to_string(), &view)).await;
        refused(&of_capture, Some(of_capture.cookie()), &at(&id, &view)).await;
        refused(&of_capture, Some(of_capture.cookie()), &at(&capture.to_string(), &view)).await;
    }
    // A block of another page is none of this one.
    let foreign = link.get(&console, &format!("/api/investigations/{id}/blocks/{other_view}/picture")).await;
    assert_eq!(foreign.status, 404);
    let listed = console.get("/api/shares", &ada).await.json();
    let items = listed["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["investigation"] == id.as_str()).unwrap();
    assert_eq!((&item["capture"], &item["title"]), (&serde_json::Value::Null, &"Why <b>?".into()));
    for (body, status) in [
        (serde_json::json!({ "investigation": id, "capture": capture }), 400),
        (serde_json::json!({ "investigation": id, "part": { "filter": "" } }), 400),
        (serde_json::json!({ "investigation": id, "view": "v=3" }), 400),
        (serde_json::json!({}), 400),
        (serde_json::json!({ "investigation": "0000000000000001" }), 404),
        (serde_json::json!({ "investigation": "x" }), 400),
    ] {
        let made = console.ask("POST", "/api/shares", Some(&ada), Some(&body.to_string())).await;
        assert_eq!(made.status, status, "{body}: {}", made.text());
    }
    // Deleted, it is nowhere; restored, it is there again; revoked, it is gone.
    let path = format!("/investigations/{id}");
    assert!(console.ask("DELETE", &format!("/api{path}"), Some(&root), None).await.status.is_success());
    refused(&link, Some(link.cookie()), &path).await;
    let made = console.ask("POST", "/api/shares", Some(&ada), Some(&format!(r#"{{"investigation":"{id}"}}"#))).await;
    assert_eq!(made.status, 404);
    assert!(console.ask("POST", &format!("/api{path}/restore"), Some(&root), None).await.status.is_success());
    assert_eq!(link.get(&console, &path).await.status, 200);
    assert_eq!(link.revoke(&console, &ada).await, 204);
    refused(&link, Some(link.cookie()), &format!("/api{path}")).await;
    let audit = console.get("/api/audit", &root).await.json();
    let of = |action: &str| {
        let mut entries = audit["items"].as_array().unwrap().iter();
        entries.any(|entry| entry["action"] == action && entry["object"] == id.as_str())
    };
    assert!(of("share.create") && of("share.revoke"), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_share_opens_nothing_else() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 10).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let link = share(&console, &ada, serde_json::json!({ "capture": id })).await;
    let as_session = format!("bathyscope_session={}; {}", link.token, link.cookie());
    let shared: BTreeSet<String> = below_shares().into_iter().map(|path| format!("/{path}")).collect();
    for route in table() {
        if route.path.starts_with("/s/") || route.least.is_none() {
            continue;
        }
        let (method, path) = (route.method.as_str(), address(route.path, id));
        // Its token is no login.
        let answer = console.ask(method, &path, Some(&as_session), None).await;
        let expected = if route.kind == RouteKind::Page && method == "GET" { 303 } else { 401 };
        let expected = if route.path == "/logout" { 303 } else { expected };
        assert_eq!(answer.status, expected, "{method} {path}");
        // And nothing but what reads the capture is below it.
        if method != "GET" || !shared.contains(route.path) {
            let answer = console.ask(method, &link.below(&path), Some(&link.cookie()), None).await;
            assert!([404, 405].contains(&answer.status.as_u16()), "{method} {path}: {}", answer.status);
        }
    }
    for path in
        ["/api/captures/{id}/rows", "/api/captures/:id/rows", "//api/captures/00/rows", "/api%2fcaptures", "/", "//"]
    {
        assert_eq!(link.get(&console, path).await.status, 404, "{path}");
    }
    for head in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        for path in ["", "/nothing", &format!("/captures/{id}"), &format!("/api/captures/{id}/rows")] {
            assert_eq!(link.get(&console, path).await.header(head.0), head.1, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_link_is_opened_with_its_token_and_the_cookie_is_for_it_alone() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 10).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let link = share(&console, &ada, serde_json::json!({ "capture": id, "view": "v=3&tab=timeline" })).await;
    let opened = open(&console, &link.id, &link.token).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    assert_eq!(opened.json()["url"], format!("/s/{}/captures/{id}?v=3&tab=timeline", link.id));
    let cookie = format!("bathyscope_share={}; HttpOnly; SameSite=Strict; Path=/s/{}", link.token, link.id);
    assert_eq!(opened.header("set-cookie"), cookie);
    let wrong = [
        open(&console, &link.id, &"0".repeat(64)).await,
        open(&console, &link.id, "").await,
        open(&console, &link.id, &link.token[1..]).await,
        open(&console, "00000000000000aa", &link.token).await,
        open(&console, "x", &link.token).await,
        console.ask("POST", &format!("/s/{}/open", link.id), None, Some("{}")).await,
        console.ask("POST", &format!("/s/{}/open", link.id), None, None).await,
    ];
    let texts: BTreeSet<String> =
        wrong.iter().map(|answer| answer.text().replace(answer.header("x-request-id"), "")).collect();
    assert!(wrong.iter().all(|answer| answer.status == 404 && answer.header("set-cookie").is_empty()));
    assert_eq!(texts.len(), 1, "{texts:?}");
    let mut from_elsewhere = own_page("POST", &format!("/s/{}/open", link.id), None, Some("{}"));
    from_elsewhere.headers_mut().insert("sec-fetch-site", header::HeaderValue::from_static("cross-site"));
    assert_eq!(console.send(from_elsewhere).await.status(), 403);
    // The page itself is the same for every link, whether there is one or not.
    let door = async |id: &str| {
        let answer = console.ask("GET", &format!("/s/{id}"), None, None).await;
        let nonce = answer.text().split("nonce=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        (answer.status.as_u16(), answer.text().replace(&nonce, ""))
    };
    assert_eq!(door(&link.id).await, door("00000000000000aa").await);
    assert_eq!(door(&link.id).await.0, 200);
    let page = link.get(&console, &format!("/captures/{id}")).await;
    assert!(page.status == 200 && page.text().contains("data-shared"), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_part_is_all_that_can_be_asked() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 40).await;
    let ada = console.cookie("ada", Role::Operator).await;
    // Rows are a microsecond apart, CPUs in turns; `marker-comm` is the name of every other one.
    let part = serde_json::json!({ "start": 4000, "end": 20000, "filter": "cpu == 1" });
    let link = share(&console, &ada, serde_json::json!({ "capture": id, "part": part })).await;
    let read = async |path: &str| link.get(&console, &format!("/api/captures/{id}{path}")).await;
    let times = |answer: &Answer| -> Vec<i64> {
        let rows = answer.json()["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row[0].as_i64().or_else(|| row[0].as_str()?.parse().ok()).unwrap()).collect()
    };
    let inside = vec![5000, 9000, 13000, 17000];
    for query in
        ["", "?start=0&end=100000", "?start=-5", "?filter=cpu%20%3E=%200", "?filter=pid%20%3E%200&sort=time&offset=0"]
    {
        let rows = read(&format!("/rows{query}")).await;
        assert_eq!(
            (times(&rows), rows.json()["total"].as_u64()),
            (inside.clone(), Some(4)),
            "{query}: {}",
            rows.text()
        );
    }
    assert_eq!(times(&read("/rows?filter=cpu%20==%202").await), [0_i64; 0]);
    assert_eq!(read("/rows?stream=7").await.status, 400);
    // Row 1 of four has the second name, and the first is only in rows that are not in the share.
    for path in [
        "/rows",
        "/facets",
        "/pivot?by=comm",
        "/export?format=csv",
        "/export?format=ndjson",
        "/timeline",
        "/find?find=marker",
    ] {
        let answer = read(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        let has = answer.body.windows(11).any(|bytes| bytes == b"marker-comm");
        assert!(!has, "{path} tells a name that is in no row of the share");
    }
    assert_eq!(read("/export?format=csv").await.text().lines().count(), 5);
    // What tells of all of it.
    for path in ["/export?format=bathy", "/output", "/processes", "/live", "/script", "/stacks/1"] {
        assert_eq!(read(path).await.status, 404, "{path}");
    }
    let page = read("").await.json();
    assert_eq!((&page["streams"][0]["rows"], &page["ledger"]["streams"][0]["hits"]), (&4.into(), &4.into()));
    assert_eq!((&page["share"]["owner"], &page["share"]["part"]["filter"]), (&"ada".into(), &"cpu == 1".into()));
    assert_eq!(
        (&page["can_change"], &page["can_delete"], &page["can_pin"]),
        (&false.into(), &false.into(), &false.into())
    );
    // Those who are logged in see all of it as before.
    let whole = console.get(&format!("/api/captures/{id}/rows?limit=100"), &ada).await;
    assert_eq!(whole.json()["total"], 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_shown_that_are_in_the_part() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 40).await;
    let ada = console.cookie("ada", Role::Operator).await;
    for (start, end, text) in [(5000, None, "inside"), (5000, Some(25000), "reaches-out"), (30000, None, "outside")] {
        let body = serde_json::json!({ "start": start, "end": end, "text": text }).to_string();
        let path = format!("/api/captures/{id}/notes");
        assert_eq!(console.ask("POST", &path, Some(&ada), Some(&body)).await.status, 201);
    }
    let notes = async |part: serde_json::Value| {
        let link = share(&console, &ada, serde_json::json!({ "capture": id, "part": part })).await;
        let list = link.get(&console, &format!("/api/captures/{id}/notes")).await.json();
        assert_eq!(list["can_write"], false);
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(notes(serde_json::json!({ "start": 4000, "end": 20000 })).await, ["inside"]);
    assert_eq!(notes(serde_json::Value::Null).await, ["inside", "reaches-out", "outside"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_part_shows_no_notes_on_what_may_lie_outside_of_it() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 40).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let path = format!("/api/captures/{id}/notes");
    let write = async |body: serde_json::Value| {
        let written = console.ask("POST", &path, Some(&ada), Some(&body.to_string())).await;
        assert_eq!(written.status, 201, "{}", written.text());
        written.json()["id"].clone()
    };
    let inside = write(serde_json::json!({ "start": 5000, "text": "inside", "view": "v=3&filter=cpu+%3D%3D+1" })).await;
    let outside = write(serde_json::json!({ "start": 30000, "text": "outside" })).await;
    for (to, text) in [(&inside, "answer inside"), (&outside, "answer outside")] {
        write(serde_json::json!({ "on": { "kind": "answer", "to": to }, "text": text })).await;
    }
    write(serde_json::json!({ "start": 5000, "track": "tid:7", "text": "on a track" })).await;
    write(serde_json::json!({ "on": { "kind": "row", "stream": 0, "row": 5 }, "start": 5000, "text": "row" })).await;
    write(serde_json::json!({ "on": { "kind": "capture" }, "text": "capture" })).await;
    write(serde_json::json!({ "on": { "kind": "function", "name": "secret" }, "text": "function" })).await;
    let frame = serde_json::json!({ "kind": "frame", "node": "00ff00ff00ff00ff", "name": "secret" });
    write(serde_json::json!({ "on": frame, "text": "frame" })).await;
    write(serde_json::json!({ "on": { "kind": "track" }, "track": "tid:7", "text": "track" })).await;
    let shown = async |part: serde_json::Value| {
        let link = share(&console, &ada, serde_json::json!({ "capture": id, "part": part })).await;
        let list = link.get(&console, &path).await;
        let items = list.json()["items"].as_array().unwrap().clone();
        let mut texts: Vec<_> = items.iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect();
        texts.sort();
        (texts, list.text().contains("filter="))
    };
    let (texts, tells_filter) = shown(serde_json::json!({ "start": 4000, "end": 20000 })).await;
    assert_eq!(texts, ["answer inside", "inside", "on a track"]);
    assert!(!tells_filter, "the view in which a note was written tells of more than the part");
    // Whether the filter leaves the track is not known.
    let (texts, _) = shown(serde_json::json!({ "start": 4000, "end": 20000, "filter": "cpu == 0" })).await;
    assert_eq!(texts, ["answer inside", "inside"]);
    assert_eq!(shown(serde_json::Value::Null).await.0.len(), 10, "all of a capture has all of its notes");
    // What a note said once is for nobody with a share.
    let link = share(&console, &ada, serde_json::json!({ "capture": id })).await;
    let versions = link.get(&console, &format!("{path}/{}/versions", inside.as_str().unwrap())).await;
    assert_eq!(versions.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_are_made_listed_and_revoked_by_those_who_may() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 10).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let bob = console.cookie("bob", Role::Operator).await;
    let root = console.cookie("root", Role::Admin).await;
    let first = share(&console, &ada, serde_json::json!({ "capture": id, "title": " of ada ", "days": 30 })).await;
    let second = share(&console, &bob, serde_json::json!({ "capture": id })).await;
    let titles = async |cookie: &str| {
        let list = console.get("/api/shares", cookie).await.json();
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&ada).await, ["of ada"]);
    assert_eq!(titles(&bob).await, ["shared"]);
    assert_eq!(titles(&root).await, ["shared", "of ada"]);
    // A use is told before it is written, and after.
    assert_eq!(open(&console, &first.id, &first.token).await.status, 200);
    first.get(&console, &format!("/api/captures/{id}/rows")).await;
    for _ in 0..2 {
        let listed = console.get("/api/shares", &ada).await.json();
        let item = &listed["items"][0];
        assert_eq!((&item["opened"], item["last_used_unix_ns"].is_i64()), (&1.into(), true), "{item}");
        let lives_ns = item["expires_unix_ns"].as_i64().unwrap() - item["created_unix_ns"].as_i64().unwrap();
        assert_eq!(lives_ns, 30 * 24 * 3600 * 1_000_000_000);
        console.state.shares().sweep().await.unwrap();
    }
    assert!(!console.get("/api/shares", &root).await.text().contains(&first.token), "the token is told once");
    assert_eq!(second.revoke(&console, &ada).await, 404, "it is bob's");
    assert_eq!(first.revoke(&console, &ada).await, 204);
    assert_eq!(first.revoke(&console, &ada).await, 404);
    assert_eq!(second.revoke(&console, &root).await, 204);
    for (body, status) in [
        (serde_json::json!({ "capture": id, "days": 0 }), 400),
        (serde_json::json!({ "capture": id, "days": 367 }), 400),
        (serde_json::json!({ "capture": id, "view": "a b" }), 400),
        (serde_json::json!({ "capture": id, "part": { "filter": "cpu ==" } }), 400),
        (serde_json::json!({ "capture": id, "part": { "filter": "nothing == 1" } }), 400),
        (serde_json::json!({ "capture": id, "part": { "start": 5, "end": 5 } }), 400),
        (serde_json::json!({ "capture": id, "part": { "start": 6, "end": 5 } }), 400),
        (serde_json::json!({ "capture": id, "part": { "start": 3_600_000_000_000_i64 } }), 400),
        (serde_json::json!({ "capture": id, "part": { "end": 0 } }), 400),
        (serde_json::json!({ "capture": id, "title": "x".repeat(300) }), 400),
        (serde_json::json!({ "capture": id, "remove": ["wishes"] }), 400),
        (serde_json::json!({ "capture": id, "wishes": true }), 400),
        (serde_json::json!({ "capture": "0000000000000001" }), 404),
    ] {
        let made = console.ask("POST", "/api/shares", Some(&ada), Some(&body.to_string())).await;
        assert_eq!(made.status, status, "{body}: {}", made.text());
    }
    let audit = console.get("/api/audit", &root).await;
    let deeds: Vec<String> = audit.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"].as_str().unwrap().starts_with("share."))
        .map(|entry| format!("{} {}", entry["user"].as_str().unwrap(), entry["action"].as_str().unwrap()))
        .collect();
    assert_eq!(deeds, ["root share.revoke", "ada share.revoke", "bob share.create", "ada share.create"]);
    assert!(!audit.text().contains(&first.token) && !audit.text().contains(&second.token));
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_show_nothing_while_they_are_not_allowed() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 10).await;
    let (ada, root) = (console.cookie("ada", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let link = share(&console, &ada, serde_json::json!({ "capture": id })).await;
    let rows = format!("/api/captures/{id}/rows");
    let page = format!("/api/captures/{id}");
    let allow = async |allowed: bool| {
        let body = serde_json::json!({ "allowed": allowed }).to_string();
        assert_eq!(console.ask("POST", "/api/shares/allowed", Some(&ada), Some(&body)).await.status, 404);
        assert_eq!(console.ask("POST", "/api/shares/allowed", Some(&root), Some(&body)).await.status, 204);
    };
    assert!(console.get(&page, &ada).await.json()["no_shares"].is_null());
    allow(false).await;
    assert_eq!(link.get(&console, &rows).await.status, 404);
    assert_eq!(open(&console, &link.id, &link.token).await.status, 404);
    let body = serde_json::json!({ "capture": id }).to_string();
    assert_eq!(console.ask("POST", "/api/shares", Some(&ada), Some(&body)).await.status, 409);
    assert!(console.get(&page, &ada).await.json()["no_shares"].as_str().unwrap().contains("not allowed"));
    allow(true).await;
    assert_eq!(link.get(&console, &rows).await.status, 200);
    let viewer = console.cookie("vera", Role::Viewer).await;
    assert!(console.get(&page, &viewer).await.json()["no_shares"].as_str().unwrap().contains("operators"));
    // A capture that is deleted takes its links with it.
    assert_eq!(console.ask("DELETE", &page, Some(&root), None).await.status, 200);
    let refused = link.get(&console, &rows).await;
    assert!(refused.status == 404 && refused.text().contains("opening this link"), "{}", refused.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_ends_a_stream_that_is_open() {
    let console = Console::with_link(simulated("rate=1000")).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let spec = serde_json::json!({
        "name": "runs", "target": "system", "limits": {},
        "sources": [{"id": "e", "method": {"events": {"probes": [{"tracepoint": "sched:sched_switch", "fields": []}]}}}],
    });
    let started = console.ask("POST", "/api/captures", Some(&ada), Some(&spec.to_string())).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let id = started.json()["id"].as_str().unwrap().to_owned();
    let of_part = serde_json::json!({ "capture": id, "part": { "filter": "cpu == 0" } }).to_string();
    let refused = console.ask("POST", "/api/shares", Some(&ada), Some(&of_part)).await;
    assert!(refused.status == 400 && refused.text().contains("still being recorded"), "{}", refused.text());
    for by in ["revoke", "forbid"] {
        let link = share(&console, &ada, serde_json::json!({ "capture": id })).await;
        let ask = || own_page("GET", &link.below(&format!("/api/captures/{id}/live")), Some(&link.cookie()), None);
        let mut from_elsewhere = ask();
        from_elsewhere.headers_mut().insert("sec-fetch-site", header::HeaderValue::from_static("cross-site"));
        assert_eq!(console.send(from_elsewhere).await.status(), 403);
        let request = ask();
        let response = console.send(request).await;
        assert_eq!(response.status(), 200);
        let mut events = response.into_body().into_data_stream();
        assert!(events.next().await.is_some_and(|event| event.is_ok()), "it runs");
        if by == "revoke" {
            assert_eq!(link.revoke(&console, &ada).await, 204);
        } else {
            console.state.shares().allow(false).await.unwrap();
        }
        // What was under way may still come; then it is at its end.
        let rest = async { while events.next().await.is_some() {} };
        tokio::time::timeout(std::time::Duration::from_secs(20), rest).await.expect("the stream ends");
    }
    console.state.recorder().shutdown(std::time::Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_outlive_a_restart_and_tokens_are_stored_nowhere() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 10).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let link = share(&console, &ada, serde_json::json!({ "capture": id, "part": { "start": 3000 } })).await;
    let console = console.restarted("another boot").await;
    let rows = link.get(&console, &format!("/api/captures/{id}/rows")).await;
    assert_eq!((rows.status.as_u16(), &rows.json()["total"]), (200, &7.into()));
    console.store.close().await;
    for file in std::fs::read_dir(console.dir.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        assert!(!bytes.windows(64).any(|window| window == link.token.as_bytes()), "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_tells_when_shares_are_allowed_and_forbidden_also_by_a_start() {
    let console = Console::new().await;
    let root = console.cookie("root", Role::Admin).await;
    let allow = async |allowed: bool| {
        let body = serde_json::json!({ "allowed": allowed }).to_string();
        assert_eq!(console.ask("POST", "/api/shares/allowed", Some(&root), Some(&body)).await.status, 204);
    };
    // A start allows them again, and one after that has nothing to tell.
    allow(false).await;
    let stop = tokio_util::sync::CancellationToken::new();
    for _start in 0..2 {
        assert!(Shares::open(console.store.clone(), true, &stop).await.unwrap().are_allowed());
    }
    allow(true).await;
    let told = console.get("/api/audit", &root).await.json();
    let told: Vec<String> = told["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap().to_owned();
            [text("user"), text("action"), text("detail")].join(" ")
        })
        .collect();
    let of_shares: Vec<&str> = told.iter().map(|one| one.trim()).filter(|one| one.contains("share.")).collect();
    assert_eq!(of_shares, ["root share.allow", "terminal share.allow serve --allow-shares", "root share.forbid"]);
}

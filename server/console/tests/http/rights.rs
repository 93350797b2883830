//! P08: who may read and change a capture, where a list of it or of one of its tags says so: to others it is not there.

use axum::body::Body;
use bathyscope_capture::CaptureId;
use bathyscope_console::http::{Route, RouteKind, table};
use bathyscope_store::Role;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{
    harness::{Answer, Console, held_by, own_page, simulated},
    roles::address,
    shares::share,
};

async fn put(console: &Console, path: &str, cookie: &str, body: Value) -> Answer {
    console.ask("PUT", path, Some(cookie), Some(&body.to_string())).await
}

/// A console with a capture that only its owner, alice, reads.
async fn closed() -> (Console, CaptureId, String) {
    let console = Console::new().await;
    let id = console.capture("payroll is slow", "alice", 10).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let said = put(&console, &format!("/api/captures/{id}/rights"), &alice, json!({ "list": [] })).await;
    assert_eq!(said.status, 200, "{}", said.text());
    (console, id, alice)
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_no_route_of_a_capture_tells_those_who_may_not_read_it_that_it_is_there() {
    let (console, id, _) = closed().await;
    let nowhere = CaptureId::from_bits(0xee);
    let (vera, otto) = (console.cookie("vera", Role::Viewer).await, console.cookie("otto", Role::Operator).await);
    let of_captures = |route: &Route| route.path.contains("/captures/{id}") && !route.path.starts_with("/s/");
    let routes: Vec<Route> = table().into_iter().filter(of_captures).collect();
    assert!(routes.len() > 60, "{}", routes.len());
    for route in &routes {
        for cookie in [&vera, &otto] {
            let ask = async |id: CaptureId| {
                let answer = console.ask(route.method.as_str(), &address(route.path, id), Some(cookie), None).await;
                let text = answer.text().split("\"request_id\"").next().unwrap().replace(&id.to_string(), "ID");
                (answer.status.as_u16(), text)
            };
            let (status, text) = ask(id).await;
            // What is wrong with the request itself may be said first, for what is not there as well.
            assert_eq!(status, 404, "{} {}", route.method, route.path);
            assert!(!text.contains("payroll"), "{} {}", route.method, route.path);
            if route.kind == RouteKind::Api {
                assert_eq!((status, text), ask(nowhere).await, "{} {}", route.method, route.path);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_lists_searches_and_comparisons_have_what_is_read() {
    let (console, closed, alice) = closed().await;
    let open = console.capture("open", "alice", 20).await;
    let (vera, root) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    console.store.index_texts().await.unwrap();
    console.state.series_task().compute().await.unwrap();
    let total = async |cookie: &str, search: &str| {
        let list = console.get(&format!("/api/captures?q={search}"), cookie).await;
        assert_eq!(list.status, 200, "{}", list.text());
        (list.json()["total"].as_u64().unwrap(), list.text().contains("payroll"))
    };
    for (cookie, all, words) in
        [(&vera, (1, false), (0, false)), (&alice, (2, true), (1, true)), (&root, (2, true), (1, true))]
    {
        assert_eq!((total(cookie, "").await, total(cookie, "payroll").await), (all, words));
    }
    let compare = format!("/api/compare?a={open}&b={closed}");
    assert_eq!(console.get(&compare, &vera).await.status, 404);
    assert_eq!(console.get(&compare, &alice).await.status, 200);
    // Runs of the same are counted of what is read.
    let runs =
        async |cookie: &str| console.get(&format!("/api/captures/{open}"), cookie).await.json()["run"]["runs"].clone();
    assert_eq!((runs(&vera).await, runs(&alice).await), (json!(1), json!(2)));
    assert_eq!(console.get("/api/series", &vera).await.json()["items"], json!([]));
    for path in ["/api/tags", "/api/retention", "/api/series"] {
        assert!(!console.get(path, &vera).await.text().contains("payroll"), "{path}");
    }
    // An investigation says of it that it is not there.
    let made =
        console.ask("POST", "/api/investigations", Some(&alice), Some(&json!({ "title": "Slow" }).to_string())).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let page = format!("/api/investigations/{}", made.json()["id"].as_str().unwrap());
    let block = json!({ "content": { "kind": "view", "capture": closed, "view": "v=3", "caption": "all of it" } });
    let bob = console.cookie("bob", Role::Operator).await;
    let add = async |cookie: &str| {
        console.ask("POST", &format!("{page}/blocks"), Some(cookie), Some(&block.to_string())).await
    };
    assert_eq!(add(&bob).await.status, 404, "nobody puts on a page what they do not see");
    let added = add(&alice).await;
    assert!(added.status.is_success(), "{}", added.text());
    let block = |cookie| {
        let page = page.clone();
        let console = &console;
        async move { console.get(&page, cookie).await.json()["blocks"][0]["content"].clone() }
    };
    let title = |content: Value| content["title"].clone();
    assert_eq!((title(block(&vera).await), title(block(&alice).await)), (Value::Null, json!("payroll is slow")));
    // A link to the page shows what its maker sees, as it is then.
    let link = share(&console, &alice, json!({ "investigation": page.rsplit('/').next() })).await;
    let seen = link.get(&console, &page).await.json();
    assert_eq!(seen["blocks"][0]["content"]["title"], "payroll is slow");
    let others = share(&console, &bob, json!({ "investigation": page.rsplit('/').next() })).await;
    let seen = others.get(&console, &page).await.json();
    assert_eq!(seen["blocks"][0]["content"]["title"], Value::Null);
    let id = seen["blocks"][0]["id"].as_str().unwrap().to_owned();
    let picture = format!("{page}/blocks/{id}/picture");
    assert_eq!(others.get(&console, &picture).await.status, 404);
    assert_eq!(link.get(&console, &picture).await.status, 200);
    assert_eq!(console.get(&picture, &vera).await.status, 404);
    // Neither is it in a file of theirs, whatever asks for it; whoever reads it has it there.
    for (cookie, views) in [(&vera, 0), (&alice, 1)] {
        let (data, answers) = held_by(&console.get(&format!("{page}/file"), cookie).await);
        assert_eq!(data["views"].as_array().unwrap().len(), views, "{data}");
        let told = answers.values().any(|bytes| String::from_utf8_lossy(bytes).contains("payroll"));
        assert_eq!(told, views == 1);
    }
    assert_eq!(console.get(&format!("/api/captures/{closed}/file"), &vera).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_who_has_been_given_a_right_has_it_and_gives_none() {
    let (console, id, alice) = closed().await;
    let path = format!("/api/captures/{id}");
    let rights = format!("{path}/rights");
    let (vera, otto) = (console.cookie("vera", Role::Viewer).await, console.cookie("otto", Role::Operator).await);
    let root = console.cookie("root", Role::Admin).await;
    let change =
        json!([{ "to": { "person": "OTTO" }, "may": "change" }, { "to": { "person": "vera" }, "may": "change" }]);
    assert_eq!(put(&console, &rights, &alice, json!({ "list": change })).await.status, 200);
    let rename =
        async |cookie: &str| console.ask("PATCH", &path, Some(cookie), Some(r#"{"title":"renamed"}"#)).await.status;
    assert_eq!((rename(&otto).await, rename(&vera).await), (204.try_into().unwrap(), 404.try_into().unwrap()));
    let told = console.get(&path, &otto).await.json();
    assert_eq!(
        (&told["can_change"], &told["can_give"], &told["is_limited"]),
        (&json!(true), &json!(false), &json!(true))
    );
    assert_eq!(put(&console, &rights, &otto, json!({ "list": null })).await.status, 404);
    assert_eq!(console.get(&rights, &otto).await.status, 404);
    // A tag that says who may read is put on and taken off by the owner and admins.
    assert_eq!(put(&console, "/api/rights/tags/secret", &root, json!({ "list": [] })).await.status, 200);
    let tag =
        async |cookie: &str, body: &str| console.ask("PATCH", &path, Some(cookie), Some(body)).await.status.as_u16();
    assert_eq!(tag(&otto, r#"{"add_tags":[" Secret "]}"#).await, 403);
    assert_eq!(tag(&otto, r#"{"add_tags":["other"]}"#).await, 204);
    assert_eq!(tag(&alice, r#"{"add_tags":["secret"]}"#).await, 204);
    assert_eq!(tag(&otto, r#"{"remove_tags":["secret"]}"#).await, 403);
    // Its own list counts, and the tag's where it has none.
    assert_eq!(console.get(&path, &vera).await.status, 200);
    assert_eq!(put(&console, &rights, &alice, json!({ "list": null })).await.status, 200);
    assert_eq!(console.get(&path, &vera).await.status, 404);
    let told = console.get(&rights, &alice).await.json();
    assert_eq!((&told["list"], &told["tags"]), (&Value::Null, &json!([{ "tag": "secret", "list": [] }])));
    // Groups are made by admins, and what names none is refused.
    let group = json!([{ "to": { "group": "ops" }, "may": "read" }]);
    let refused = put(&console, &rights, &alice, json!({ "list": group })).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let made = put(&console, "/api/rights/groups/ops", &root, json!({ "people": ["vera"] })).await;
    assert_eq!((made.status.as_u16(), &made.json()["groups"][0]["people"]), (200, &json!(["vera"])));
    assert_eq!(put(&console, &rights, &alice, json!({ "list": group })).await.status, 200);
    assert_eq!(console.get(&path, &vera).await.status, 200);
    // A link that somebody has shows it all the same, and the owner is told so.
    let link = share(&console, &alice, json!({ "capture": id })).await;
    assert_eq!(console.get(&rights, &alice).await.json()["links"], 1);
    assert_eq!(put(&console, &rights, &alice, json!({ "list": [] })).await.status, 200);
    assert_eq!(link.get(&console, &path).await.status, 200);
    let asked = json!({ "capture": id }).to_string();
    assert_eq!(console.ask("POST", "/api/shares", Some(&otto), Some(&asked)).await.status, 404);
    let audit = console.store.audit(0, 50).await.unwrap();
    let count = |action: &str| audit.iter().filter(|record| record.entry.action == action).count();
    assert_eq!((count("rights.capture"), count("rights.tag"), count("group.set")), (5, 1, 1));
}

/// Recorded until it is stopped.
const RUNNING: &str = r#"{"sources":[{"id":"calls","method":{"syscalls":{}}}],"target":"system"}"#;

/// The next event of this name.
async fn heard(stream: &mut Body, name: &str) -> Value {
    loop {
        let frame = stream.frame().await.expect("the stream goes on").unwrap().into_data().unwrap();
        let text = String::from_utf8_lossy(&frame).into_owned();
        let data = text.lines().find_map(|line| line.strip_prefix("data: ").or_else(|| line.strip_prefix("data:")));
        if text.contains(&format!("event: {name}")) || text.contains(&format!("event:{name}")) {
            return serde_json::from_str(data.unwrap()).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_what_is_open_ends_with_the_right() {
    let console = Console::with_link(simulated("rate=2000")).await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let started = console.ask("POST", "/api/captures", Some(&alice), Some(RUNNING)).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let id = started.json()["id"].as_str().unwrap().to_owned();
    let live = format!("/api/captures/{id}/live");
    let open = async |path: &str| console.send(own_page("GET", path, Some(&vera), None)).await.into_body();
    let (mut of_capture, mut of_all) = (open(&live).await, open("/api/live").await);
    assert_eq!(heard(&mut of_all, "running").await["items"][0]["id"], json!(id));
    heard(&mut of_capture, "rows").await;
    // Somebody else's right changes nothing for her.
    let rights = format!("/api/captures/{id}/rights");
    let list = |who: &str| json!({ "list": [{ "to": { "person": who }, "may": "read" }] });
    assert_eq!(put(&console, &rights, &alice, list("vera")).await.status, 200);
    heard(&mut of_capture, "tick").await;
    assert_eq!(put(&console, &rights, &alice, list("bob")).await.status, 200);
    while let Some(frame) = of_capture.frame().await {
        frame.unwrap();
    }
    while heard(&mut of_all, "running").await["items"] != json!([]) {}
    assert_eq!(console.get(&live, &vera).await.status, 404);
    let stopped = console.ask("POST", &format!("/api/captures/{id}/stop"), Some(&alice), None).await;
    assert_eq!(stopped.status, 200);
    console.state.recorder().wait(id.parse::<CaptureId>().unwrap()).await;
}

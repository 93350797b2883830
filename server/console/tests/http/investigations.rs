//! Investigations: written by operators together, read by everybody, with what captures and notes are now.

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Answer, Console};

async fn ask(console: &Console, (method, path): (&str, &str), cookie: &str, body: &Value) -> Answer {
    console.ask(method, path, Some(cookie), Some(&body.to_string())).await
}

async fn begun(console: &Console, cookie: &str, body: &Value) -> String {
    let begun = ask(console, ("POST", "/api/investigations"), cookie, body).await;
    assert_eq!(begun.status, 201, "{}", begun.text());
    format!("/api/investigations/{}", begun.json()["id"].as_str().unwrap())
}

async fn added(console: &Console, cookie: &str, path: &str, content: &Value) -> String {
    let added = ask(console, ("POST", &format!("{path}/blocks")), cookie, &json!({ "content": content })).await;
    assert_eq!(added.status, 201, "{}", added.text());
    format!("{path}/blocks/{}", added.json()["id"].as_str().unwrap())
}

fn kinds(page: &Value) -> Vec<String> {
    let blocks = page["blocks"].as_array().unwrap().iter();
    blocks.map(|block| block["content"]["kind"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_has_texts_tasks_views_notes_and_results_in_order() {
    let console = Console::new().await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let id = console.capture("slow <b>", "alice", 10).await;
    let note = json!({ "on": { "kind": "capture" }, "text": "**late**" });
    let note = ask(&console, ("POST", &format!("/api/captures/{id}/notes")), &alice, &note).await.json();
    let path = begun(&console, &alice, &json!({ "title": "Why is it slow?" })).await;
    added(&console, &alice, &path, &json!({ "kind": "text", "text": "It *began* <img src=x onerror=alert(1)>" })).await;
    let view = json!({ "kind": "view", "capture": id, "view": "?v=3&tab=events&start=2&end=8", "caption": "here" });
    let view = added(&console, &alice, &path, &view).await;
    added(&console, &alice, &path, &json!({ "kind": "note", "capture": id, "note": note["id"] })).await;
    let stream = console.get(&format!("/api/captures/{id}"), &alice).await.json()["streams"][0]["name"].clone();
    let sql = format!("select count(*) as n from \"{}\"", stream.as_str().unwrap());
    added(&console, &alice, &path, &json!({ "kind": "query", "capture": id, "sql": sql })).await;
    let task = added(&console, &alice, &path, &json!({ "kind": "task", "text": "compare" })).await;
    let page = console.get(&path, &vera).await.json();
    assert_eq!(kinds(&page), ["text", "view", "note", "query", "task"]);
    assert_eq!((&page["can_write"], &page["head"]["blocks"]), (&json!(false), &json!(5)));
    let body = &page["blocks"][0]["content"]["body"][0]["children"];
    assert_eq!(body[3]["text"], "<img src=x onerror=alert(1)>", "{body}");
    assert_eq!(page["blocks"][1]["content"]["view"], "v=3&tab=events&start=2&end=8");
    assert_eq!(page["blocks"][2]["content"]["note"]["text"], "**late**");
    assert_eq!(page["blocks"][3]["content"]["result"]["rows"], json!([["10"]]));
    let picture = console.get(&format!("{view}/picture"), &vera).await;
    assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, "image/svg+xml"));
    assert!(picture.text().starts_with("<svg") && picture.text().contains("<rect"), "{}", picture.text());
    assert_eq!(console.get(&format!("{task}/picture"), &vera).await.status, 404);
    // What a result was stays, also when the capture is gone; the rest says so.
    let root = console.cookie("root", Role::Admin).await;
    assert!(console.ask("DELETE", &format!("/api/captures/{id}"), Some(&root), None).await.status.is_success());
    let page = console.get(&path, &vera).await.json();
    assert_eq!(page["blocks"][3]["content"]["result"]["rows"], json!([["10"]]));
    assert_eq!(page["blocks"][1]["content"]["title"], Value::Null);
    assert_eq!(page["blocks"][2]["content"]["note"], Value::Null);
    assert_eq!(console.get(&format!("{view}/picture"), &vera).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_lose_nothing_of_each_other() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let path = begun(&console, &alice, &json!({ "title": "Why?" })).await;
    let first = added(&console, &alice, &path, &json!({ "kind": "text", "text": "one" })).await;
    let second = added(&console, &bob, &path, &json!({ "kind": "task", "text": "two" })).await;
    let change = |text: &str| json!({ "version": 1, "content": { "kind": "text", "text": text } });
    assert_eq!(ask(&console, ("PATCH", &first), &bob, &change("bob's")).await.status, 200);
    let late = ask(&console, ("PATCH", &first), &alice, &change("alice's")).await;
    assert_eq!(late.status, 409);
    assert!(late.text().contains("was changed meanwhile"), "{}", late.text());
    // Another block, and the head, are not touched by that.
    let done = json!({ "version": 1, "content": { "kind": "task", "text": "two", "done": true } });
    assert_eq!(ask(&console, ("PATCH", &second), &alice, &done).await.json()["blocks"][1]["content"]["done"], true);
    let head = json!({ "version": 1, "state": "found", "conclusion": "It was **the disk**." });
    let page = ask(&console, ("PATCH", &path), &bob, &head).await.json();
    assert_eq!((&page["head"]["state"], &page["head"]["changed_by"]), (&json!("found"), &json!("bob")));
    assert_eq!(ask(&console, ("PATCH", &path), &alice, &head).await.status, 409);
    let moved = json!({ "before": first.rsplit('/').next().unwrap() });
    assert_eq!(ask(&console, ("POST", &format!("{second}/move")), &alice, &moved).await.status, 204);
    assert_eq!(kinds(&console.get(&path, &bob).await.json()), ["task", "text"]);
    assert_eq!(console.ask("DELETE", &second, Some(&bob), None).await.status, 204);
    assert_eq!(kinds(&console.get(&path, &bob).await.json()), ["text"]);
    assert_eq!(console.ask("POST", &format!("{second}/restore"), Some(&alice), None).await.status, 204);
    assert_eq!(kinds(&console.get(&path, &bob).await.json()), ["task", "text"], "at its place");
    let audit = console.store.audit(0, 20).await.unwrap();
    let actions: Vec<&str> = audit.iter().map(|entry| entry.entry.action.as_str()).rev().collect();
    assert_eq!(actions[0], "investigation.create");
    assert!(actions.contains(&"investigation.move") && actions.contains(&"investigation.remove"), "{actions:?}");
    assert!(audit.iter().all(|entry| !entry.entry.detail.contains("bob's")), "no text in the audit log");
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_a_page_is_written_by_operators_and_deleted_by_who_began_it_and_admins() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (vera, root) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let path = begun(&console, &alice, &json!({ "title": "Why?" })).await;
    let block = added(&console, &bob, &path, &json!({ "kind": "text", "text": "one" })).await;
    let body = json!({ "content": { "kind": "text", "text": "mine" } });
    assert_eq!(ask(&console, ("POST", &format!("{path}/blocks")), &vera, &body).await.status, 404);
    assert_eq!(console.ask("DELETE", &block, Some(&vera), None).await.status, 404);
    for cookie in [&bob, &vera] {
        assert_eq!(console.ask("DELETE", &path, Some(cookie), None).await.status, 404);
    }
    assert_eq!(console.ask("DELETE", &path, Some(&root), None).await.status, 204);
    assert_eq!(console.get(&path, &alice).await.status, 404);
    assert_eq!(console.get(&path.replace("/api", ""), &alice).await.status, 404);
    let deleted = console.get("/api/investigations?deleted=true", &vera).await.json();
    assert_eq!(deleted["items"][0]["title"], "Why?");
    assert_eq!(console.ask("POST", &format!("{path}/restore"), Some(&bob), None).await.status, 404);
    assert_eq!(console.ask("POST", &format!("{path}/restore"), Some(&alice), None).await.status, 204);
    assert_eq!(console.get(&path, &vera).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_is_refused_in_words_and_lists_are_found() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let id = console.capture("slow", "alice", 10).await;
    for (bad, words) in [
        (json!({}), "has a title of one line"),
        (json!({ "title": "a\u{202e}b" }), "U+202E"),
        (json!({ "title": "t".repeat(257) }), "at most 256"),
        (json!({ "title": "x", "template": "slow" }), "there is no template `slow`"),
    ] {
        let refused = ask(&console, ("POST", "/api/investigations"), &alice, &bad).await;
        assert_eq!(refused.status, 400, "{bad}");
        assert!(refused.text().contains(words), "{bad}: {}", refused.text());
    }
    let path = begun(&console, &alice, &json!({ "template": "slow-service" })).await;
    let page = console.get(&path, &alice).await.json();
    assert_eq!(page["head"]["title"], "A service is slow");
    assert_eq!(kinds(&page)[..2], ["text", "step"]);
    let blocks = format!("{path}/blocks");
    for (bad, status, words) in [
        (json!({ "kind": "text", "text": " " }), 400, "says nothing"),
        (json!({ "kind": "text", "text": "x".repeat(49_153) }), 400, "at most 49152"),
        (json!({ "kind": "wish" }), 400, "unknown variant"),
        (json!({ "kind": "view", "capture": id, "view": "a b" }), 400, "query of a capture's page"),
        (json!({ "kind": "view", "capture": "0".repeat(16), "view": "" }), 404, "capture"),
        (json!({ "kind": "note", "capture": id, "note": "0".repeat(16) }), 404, "not"),
        (json!({ "kind": "query", "capture": id, "sql": "select nothing" }), 400, "nothing"),
        (json!({ "kind": "query", "capture": id, "sql": "" }), 400, ""),
    ] {
        let refused = ask(&console, ("POST", &blocks), &alice, &json!({ "content": bad })).await;
        assert_eq!(refused.status, status, "{bad}: {}", refused.text());
        assert!(refused.text().contains(words), "{bad}: {}", refused.text());
    }
    let found = async |q: &str| {
        let list = console.get(&format!("/api/investigations?q={q}"), &alice).await.json();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!((found("SERVICE+open").await, found("closed").await, found("").await), (1, 0, 1));
}

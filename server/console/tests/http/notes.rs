//! Notes on captures: who may write, change and remove them, and what is refused.

use bathyscope_store::Role;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::harness::{Answer, Console, own_page};

async fn ask(console: &Console, (method, path): (&str, &str), cookie: &str, body: &Value) -> Answer {
    console.ask(method, path, Some(cookie), Some(&body.to_string())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_written_seen_by_all_changed_as_it_was_seen_and_removed() {
    let console = Console::new().await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let id = console.capture("noted", "somebody", 10).await;
    let path = format!("/api/captures/{id}/notes");
    let flag = json!({ "start": 2, "track": "tid:7", "text": " late\r\nagain ", "colour": 3 });
    let written = ask(&console, ("POST", &path), &alice, &flag).await;
    assert_eq!(written.status, 201, "{}", written.text());
    let range = ask(&console, ("POST", &path), &alice, &json!({ "start": 1, "end": 9 })).await.json();
    assert_eq!((&range["start"], &range["end"], &range["text"]), (&json!(1), &json!(9), &json!("")));
    let seen = console.get(&path, &vera).await.json();
    assert_eq!(seen["can_write"], false);
    let one = &seen["items"][1];
    assert_eq!((&one["text"], &one["start"], &one["end"]), (&json!("late\nagain"), &json!(2), &Value::Null));
    assert_eq!(
        (&one["author"], &one["can_change"], &one["imported_by"]),
        (&json!("alice"), &json!(false), &Value::Null)
    );
    assert_eq!(console.get(&path, &alice).await.json()["items"][1]["can_change"], true);
    let its = format!("{path}/{}", one["id"].as_str().unwrap());
    let change = json!({ "start": 3, "text": "earlier", "version": 1 });
    let changed = ask(&console, ("PATCH", &its), &alice, &change).await.json();
    assert_eq!((&changed["version"], &changed["changed_by"]), (&json!(2), &json!("alice")));
    let late = ask(&console, ("PATCH", &its), &alice, &change).await;
    assert_eq!(late.status, 409);
    assert!(late.text().contains("was changed meanwhile"), "{}", late.text());
    assert_eq!(ask(&console, ("PATCH", &its), &alice, &json!({ "start": 3 })).await.status, 400);
    assert_eq!(console.ask("DELETE", &its, Some(&alice), None).await.status, 204);
    assert_eq!(console.ask("DELETE", &its, Some(&alice), None).await.status, 404);
    let audit = console.store.audit(0, 9).await.unwrap();
    let mut actions: Vec<&str> = audit.iter().map(|entry| entry.entry.action.as_str()).collect();
    actions.retain(|action| action.starts_with("note."));
    assert_eq!(actions, ["note.remove", "note.change", "note.write", "note.write"]);
    assert!(audit.iter().all(|entry| !entry.entry.detail.contains("late")), "no text in the audit log");
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_only_who_wrote_a_note_and_admins_change_and_remove_it() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (vera, admin) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let id = console.capture("noted", "bob", 10).await;
    let path = format!("/api/captures/{id}/notes");
    let note = json!({ "start": 2, "text": "mine" });
    assert_eq!(ask(&console, ("POST", &path), &vera, &note).await.status, 404);
    let written = ask(&console, ("POST", &path), &alice, &note).await.json();
    let its = format!("{path}/{}", written["id"].as_str().unwrap());
    let change = json!({ "start": 2, "text": "theirs", "version": 1 });
    for cookie in [&bob, &vera] {
        assert_eq!(ask(&console, ("PATCH", &its), cookie, &change).await.status, 404);
        assert_eq!(console.ask("DELETE", &its, Some(cookie), None).await.status, 404);
    }
    let changed = ask(&console, ("PATCH", &its), &admin, &change).await.json();
    assert_eq!((&changed["author"], &changed["changed_by"]), (&json!("alice"), &json!("root")));
    assert_eq!(console.ask("DELETE", &its, Some(&admin), None).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_as_a_note_is_refused_in_words() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let id = console.capture("noted", "alice", 10).await;
    let path = format!("/api/captures/{id}/notes");
    for (bad, words) in [
        (json!({ "start": 2, "text": "a\u{202e}b" }), "U+202E"),
        (json!({ "start": 2, "text": "x".repeat(8193) }), "8193 bytes"),
        (json!({}), "`start` is missing"),
        (json!({ "start": 2, "on": { "kind": "range" } }), "`end` is missing"),
        (json!({ "start": 2, "on": { "kind": "capture" } }), "`start` is of moments"),
        (json!({ "start": 2, "end": 3, "on": { "kind": "moment" } }), "`end` is of ranges only"),
        (json!({ "on": { "kind": "track" } }), "does not say which"),
        (json!({ "on": { "kind": "row", "stream": 0, "row": 10 }, "start": 2 }), "has 10 rows, and no row 10"),
        (json!({ "on": { "kind": "row", "stream": 9, "row": 0 }, "start": 2 }), "stream 9 has 0 rows"),
        (json!({ "on": { "kind": "frame", "node": "main", "name": "main" } }), "names no frame"),
        (json!({ "on": { "kind": "function", "name": "" } }), "from 1 to 4096"),
        (json!({ "on": { "kind": "wish" } }), "unknown variant"),
        (json!({ "on": { "kind": "capture" }, "view": "a b" }), "no query of an address"),
        (json!({ "start": 2, "end": 2 }), "no range of time"),
        (json!({ "start": i64::MIN }), "no time of its clock"),
        (json!({ "start": i64::MAX }), "no range of time"),
        (json!({ "start": 2, "colour": 8 }), "colour 8"),
        (json!({ "start": 2, "track": "t".repeat(257) }), "at most 256"),
        (json!({ "start": 2, "frame": 3 }), "unknown field"),
    ] {
        let refused = ask(&console, ("POST", &path), &alice, &bad).await;
        assert_eq!(refused.status, 400, "{bad}");
        assert!(refused.text().contains(words), "{bad}: {}", refused.text());
    }
    let none = format!("/api/captures/{}/notes", "0".repeat(16));
    assert_eq!(ask(&console, ("POST", &none), &alice, &json!({ "start": 2 })).await.status, 404);
    assert_eq!(console.get(&none, &alice).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_on_more_than_times_and_say_markdown_as_a_tree() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let id = console.capture("noted", "alice", 10).await;
    let path = format!("/api/captures/{id}/notes");
    let hostile = "**late** <img src=x onerror=alert(1)> [x](javascript:alert(1)) [own](/captures/0)";
    for on in [
        json!({ "kind": "capture" }),
        json!({ "kind": "function", "name": "vfs_read" }),
        json!({ "kind": "frame", "node": "00ff00ff00ff00ff", "name": "vfs_read" }),
    ] {
        let body = json!({ "on": on, "text": hostile, "view": "v=3&tab=flame" });
        let written = ask(&console, ("POST", &path), &alice, &body).await;
        assert_eq!(written.status, 201, "{}", written.text());
        let note = written.json();
        assert_eq!((&note["on"], &note["start"], &note["view"]), (&on, &Value::Null, &json!("v=3&tab=flame")));
        let tree = json!([{ "tag": "paragraph", "children": [
            { "tag": "strong", "children": [{ "tag": "text", "text": "late" }] },
            { "tag": "text", "text": " " },
            { "tag": "text", "text": "<img src=x onerror=alert(1)>" },
            { "tag": "text", "text": " " },
            { "tag": "text", "text": "x" },
            { "tag": "text", "text": " (javascript:alert(1))" },
            { "tag": "text", "text": " " },
            { "tag": "link", "href": "/captures/0", "children": [{ "tag": "text", "text": "own" }] },
        ]}]);
        assert_eq!(note["body"], tree, "{}", note["body"]);
    }
    let row = json!({ "on": { "kind": "row", "stream": 0, "row": 4 }, "start": 4, "text": "this one" });
    assert_eq!(ask(&console, ("POST", &path), &alice, &row).await.json()["start"], 4);
    let track = json!({ "on": { "kind": "track" }, "track": "tid:7", "text": "always late" });
    assert_eq!(ask(&console, ("POST", &path), &alice, &track).await.json()["track"], "tid:7");
    // Rows tell their number in the stream, whatever the filter and the order.
    let rows = console.get(&format!("/api/captures/{id}/rows?limit=2&offset=3"), &alice).await.json();
    assert_eq!(rows["numbers"], Value::Null, "those of all rows by time are the places themselves");
    let time = rows["columns"][0]["name"].as_str().unwrap();
    let rows = console.get(&format!("/api/captures/{id}/rows?sort={time}&order=desc&limit=2"), &alice).await.json();
    assert_eq!(rows["numbers"], json!([9, 8]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_answered_resolved_by_anybody_who_may_write_and_its_history_is_read() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let vera = console.cookie("vera", Role::Viewer).await;
    let id = console.capture("noted", "alice", 10).await;
    let path = format!("/api/captures/{id}/notes");
    let written = ask(&console, ("POST", &path), &alice, &json!({ "start": 2, "text": "why?" })).await.json();
    let note = written["id"].as_str().unwrap().to_owned();
    let its = format!("{path}/{note}");
    let answer = json!({ "on": { "kind": "answer", "to": note }, "text": "because" });
    let answered = ask(&console, ("POST", &path), &bob, &answer).await;
    assert_eq!(answered.status, 201, "{}", answered.text());
    let deeper = json!({ "on": { "kind": "answer", "to": answered.json()["id"] }, "text": "really?" });
    assert_eq!(ask(&console, ("POST", &path), &bob, &deeper).await.status, 400);
    assert_eq!(ask(&console, ("POST", &path), &vera, &answer).await.status, 404, "a viewer reads");
    let resolved = json!({ "resolved": true });
    assert_eq!(ask(&console, ("POST", &format!("{its}/resolved")), &vera, &resolved).await.status, 404);
    let done = ask(&console, ("POST", &format!("{its}/resolved")), &bob, &resolved).await.json();
    assert_eq!((&done["resolved_by"], &done["version"]), (&json!("bob"), &json!(1)));
    let open = ask(&console, ("POST", &format!("{its}/resolved")), &alice, &json!({ "resolved": false })).await.json();
    assert_eq!(open["resolved_by"], Value::Null);
    let change = json!({ "start": 2, "text": "why so late?", "version": 1 });
    ask(&console, ("PATCH", &its), &alice, &change).await.json();
    let versions = console.get(&format!("{its}/versions"), &vera).await.json();
    let texts: Vec<_> = versions["items"].as_array().unwrap().iter().map(|it| it["text"].clone()).collect();
    assert_eq!(texts, [json!("why so late?"), json!("why?")]);
    assert_eq!(versions["items"][1]["saved_by"], "alice");
    let none = format!("{path}/{}/versions", "0".repeat(16));
    assert_eq!(console.get(&none, &vera).await.status, 404);
    assert_eq!(console.ask("DELETE", &its, Some(&alice), None).await.status, 204);
    assert_eq!(console.get(&path, &vera).await.json()["items"], json!([]), "answers of others go with it");
    let audit = console.store.audit(0, 9).await.unwrap();
    let actions: Vec<&str> = audit.iter().map(|entry| entry.entry.action.as_str()).collect();
    assert_eq!(actions[..6], ["note.remove", "note.change", "note.reopen", "note.resolve", "note.write", "note.write"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hear_at_once_that_notes_are_others() {
    let console = Console::new().await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let id = console.capture("noted", "alice", 10).await;
    let stream = console.send(own_page("GET", "/api/live", Some(&vera), None)).await;
    let mut events = stream.into_body().into_data_stream();
    let note = json!({ "start": 2, "text": "seen?" });
    ask(&console, ("POST", &format!("/api/captures/{id}/notes")), &alice, &note).await;
    let mut heard = String::new();
    while !heard.contains("event: written") {
        heard += std::str::from_utf8(&events.next().await.unwrap().unwrap()).unwrap();
    }
    assert!(heard.contains(&format!("\"notes\":[\"{id}\"]")), "{heard}");
}

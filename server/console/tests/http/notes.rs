//! Notes on captures: who may write, change and remove them, and what is refused.

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Answer, Console};

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
        (json!({ "start": 2, "text": "x".repeat(2049) }), "at most 2048"),
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

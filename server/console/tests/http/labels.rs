//! Tags and descriptions of captures: who may change them, what is refused, what is found by them, and the audit log.

use bathyscope_store::Role;
use serde_json::json;

use crate::harness::Console;

#[tokio::test(flavor = "multi_thread")]
async fn p08_who_may_rename_a_capture_may_tag_and_describe_it() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (viewer, admin) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let id = console.capture("hers", "alice", 10).await;
    let path = format!("/api/captures/{id}");
    let change =
        json!({ "add_tags": ["Slow", "disk"], "description": { "seen": "", "text": " why <b>it</b> is late " } });
    for cookie in [&bob, &viewer] {
        assert_eq!(console.ask("PATCH", &path, Some(cookie), Some(&change.to_string())).await.status, 404);
    }
    assert_eq!(console.ask("PATCH", &path, Some(&alice), Some(&change.to_string())).await.status, 204);
    let shown = console.get(&path, &viewer).await.json();
    assert_eq!((&shown["tags"], &shown["description"]), (&json!(["disk", "slow"]), &json!("why <b>it</b> is late")));
    let more = json!({ "add_tags": ["other"], "remove_tags": ["disk"] });
    assert_eq!(console.ask("PATCH", &path, Some(&admin), Some(&more.to_string())).await.status, 204);
    let list = console.get("/api/captures?q=tag:slow", &viewer).await.json();
    assert_eq!((&list["total"], &list["items"][0]["tags"]), (&json!(1), &json!(["other", "slow"])));
    let tags = console.get("/api/tags", &viewer).await.json();
    assert_eq!(tags["items"], json!([{ "tag": "other", "captures": 1 }, { "tag": "slow", "captures": 1 }]));
    // Who has not seen the description as it is loses nothing of it.
    let late = console.ask("PATCH", &path, Some(&alice), Some(&change.to_string())).await;
    assert_eq!(late.status, 409, "{}", late.text());
    let shown = console.get(&path, &viewer).await.json();
    assert_eq!((&shown["tags"], &shown["description"]), (&json!(["other", "slow"]), &json!("why <b>it</b> is late")));
    let audit = console.get("/api/audit", &admin).await.json();
    let items = audit["items"].as_array().unwrap();
    let told: Vec<_> = items.iter().filter(|item| item["action"] == "capture.label").collect();
    assert_eq!(told.len(), 2, "{audit}");
    assert!(told.iter().all(|item| !item.to_string().contains("late")), "the text is not in the log: {audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_tag_or_a_search_is_refused_in_words() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let id = console.capture("hers", "alice", 10).await;
    let long = "x".repeat(4097);
    for (change, words) in [
        (json!({ "add_tags": ["two words"] }), "has a character that tags do not have"),
        (json!({ "add_tags": ["<img src=x onerror=alert(1)>"] }), "has a character that tags do not have"),
        (json!({ "description": { "seen": "", "text": long } }), "at most 4096"),
        (json!({ "add_tags": "slow" }), "add_tags"),
        (json!({ "tags": ["slow"] }), "unknown field"),
    ] {
        let answer =
            console.ask("PATCH", &format!("/api/captures/{id}"), Some(&alice), Some(&change.to_string())).await;
        assert!(answer.status.is_client_error() && answer.text().contains(words), "{change}: {}", answer.text());
    }
    for (query, words) in [
        ("q=is:late", "is one of pinned"),
        ("q=newer:soon", "such as 30s"),
        ("sort=colour", "one of started, duration"),
        ("sort=--rows", "one of started"),
    ] {
        let answer = console.get(&format!("/api/captures?{query}"), &alice).await;
        assert!(answer.status == 400 && answer.text().contains(words), "{query}: {}", answer.text());
    }
    for sort in ["started", "-started", "rows", "-title", "bytes", "lost", "host", "owner", "duration"] {
        assert_eq!(console.get(&format!("/api/captures?sort={sort}"), &alice).await.json()["total"], 1, "{sort}");
    }
}

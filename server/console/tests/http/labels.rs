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

#[tokio::test(flavor = "multi_thread")]
async fn words_are_found_with_their_places_as_scripts_count_them() {
    let console = Console::new().await;
    let (viewer, alice) = (console.cookie("vera", Role::Viewer).await, console.cookie("alice", Role::Operator).await);
    let id = console.capture("<script>alert(1)</script> of checkout", "alice", 10).await;
    console.capture("another", "alice", 11).await;
    let text = "😀 größe <img src=x onerror=alert(1)> \u{202e}of it";
    let description = json!({ "description": { "seen": "", "text": text } });
    let path = format!("/api/captures/{id}");
    assert_eq!(console.ask("PATCH", &path, Some(&alice), Some(&description.to_string())).await.status, 204);
    console.store.index_texts().await.unwrap();
    let list = console.get("/api/captures?q=description:gr%C3%B6%C3%9Fe+onerror+checkout", &viewer).await.json();
    assert_eq!((&list["total"], &list["items"][0]["id"]), (&json!(1), &json!(id.to_string())));
    assert_eq!(list["unsearched"], json!({ "captures": 0, "texts": 0, "cut": 0 }));
    let found = list["items"][0]["found"].as_array().unwrap();
    let fields: Vec<_> = found.iter().map(|place| place["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["title", "description"]);
    let units: Vec<u16> = found[1]["text"].as_str().unwrap().encode_utf16().collect();
    let marks = found[1]["marks"].as_array().unwrap().iter().map(|mark| {
        let at = |end: usize| usize::try_from(mark[end].as_u64().unwrap()).unwrap();
        String::from_utf16(&units[at(0)..at(1)]).unwrap()
    });
    assert_eq!(marks.collect::<Vec<_>>(), ["größe", "onerror"]);
    assert!(found[1]["text"].as_str().unwrap().contains("\\u{202e}"), "what turns text around is shown");
    // Without words nothing is said of places, and the order is told.
    let list = console.get("/api/captures?q=by:alice+sort:-title", &viewer).await.json();
    assert_eq!((&list["unsearched"], &list["sort"], &list["total"]), (&json!(null), &json!("-title"), &json!(2)));
    assert_eq!(list["items"][0].get("found"), None);
    let list = console.get("/api/captures?q=sort:-title&sort=rows", &viewer).await.json();
    assert_eq!((&list["sort"], &list["hint"], &list["total_exceeded"]), (&json!("rows"), &json!(null), &json!(false)));
    let list = console.get("/api/captures?q=titel:gr%C3%B6%C3%9Fe", &viewer).await.json();
    assert!(list["hint"].as_str().unwrap().ends_with("did you mean `title:größe`?"), "{list}");
    for (query, words) in
        [("q=%22", ""), ("q=lost:few", "such as 0, 500"), ("q=--", "a letter or digit"), ("q=sort:x", "one of started")]
    {
        let answer = console.get(&format!("/api/captures?{query}"), &viewer).await;
        assert_eq!(answer.status.as_u16(), if words.is_empty() { 200 } else { 400 }, "{query}: {}", answer.text());
        assert!(answer.text().contains(words), "{query}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_kept_in_the_library_own_and_shared() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let viewer = console.cookie("vera", Role::Viewer).await;
    let search = |name: &str, text: &str, shared: bool| {
        json!({ "kind": "search", "name": name, "text": text, "description": "", "shared": shared }).to_string()
    };
    let kept = async |cookie: &str, body: String| console.ask("POST", "/api/library", Some(cookie), Some(&body)).await;
    assert!(kept(&alice, search("slow-ones", "tag:slow sort:-bytes", true)).await.status.is_success());
    assert!(kept(&alice, search("mine", "by:alice", false)).await.status.is_success());
    let refused = kept(&alice, search("wrong", "older:soon", true)).await;
    assert!(refused.status.is_client_error() && refused.text().contains("such as 30s"), "{}", refused.text());
    assert!(kept(&viewer, search("hers", "tag:slow", false)).await.status.is_client_error());
    let names = async |cookie: &str| {
        let items = console.get("/api/library?kind=search", cookie).await.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&alice).await, names(&bob).await),
        (vec!["mine".into(), "slow-ones".into()], vec!["slow-ones".to_owned()])
    );
    assert_eq!(names(&viewer).await, ["slow-ones"]);
}

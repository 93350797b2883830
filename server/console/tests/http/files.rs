//! A view, and an investigation with its views, as one file: it holds what the console answers to whoever makes it, and nothing else.

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::{
    harness::{Console, held_by},
    shares::share,
};

async fn made(console: &Console, cookie: &str, (path, body): (&str, Value)) -> Value {
    let made = console.ask("POST", path, Some(cookie), Some(&body.to_string())).await;
    assert!(made.status.is_success(), "{}", made.text());
    made.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_holds_what_the_console_answers() {
    let console = Console::new().await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let id = console.capture("Why <b>", "alice", 7000).await;
    let path = format!("/api/captures/{id}");
    let file =
        console.get(&format!("{path}/file?view=v%3D3%26tab%3Devents%26sort%3Dcomm&tabs=events,timeline"), &vera).await;
    assert_eq!((file.status.as_u16(), file.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"Why_b_-{id}.html\""));
    assert_eq!((file.header("content-security-policy"), file.header("bathyscope-left-out")), ("sandbox", ""));
    let (data, answers) = held_by(&file);
    let view = &data["views"][0];
    assert_eq!((&view["title"], &view["tabs"]), (&json!("Why <b>"), &json!(["events", "timeline"])));
    assert_eq!(view["view"], "v=3&sort=comm&tab=events");
    let from = data["from"].as_str().unwrap();
    assert_eq!(from, format!("http://127.0.0.1:7070/captures/{id}?v=3&sort=comm&tab=events"));
    assert_eq!(answers.len(), view["answers"].as_array().unwrap().len());
    // Each is what a page is answered now.
    for (address, bytes) in &answers {
        let now = console.get(address, &vera).await;
        assert_eq!((now.status.as_u16(), &now.body == bytes), (200, true), "{address}");
    }
    let pages: Vec<&String> = answers.keys().filter(|address| address.contains("/rows?")).collect();
    assert_eq!(pages.len(), 2, "7,000 rows come in two pages: {pages:?}");
    assert!(answers.keys().filter(|address| address.contains("/timeline?")).count() > 2, "zooms");
    assert!(answers.contains_key(&path) && answers.contains_key(&format!("{path}/notes")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_file_cannot_have_is_refused_or_told() {
    let console = Console::new().await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let id = console.capture("slow", "alice", 60_001).await;
    let path = format!("/api/captures/{id}/file");
    for (query, why) in [
        ("?tabs=sql", "SQL asks Bathyscope itself"),
        ("?view=tab%3Dsql", "SQL asks Bathyscope itself"),
        ("?tabs=events,calls", "this capture has no `calls`; it has: events, timeline"),
        ("?tabs=nothing", "there is no tab `nothing`"),
        ("?tab=events", "unknown field"),
        ("?view=filter%3Dcpu%2B%253D%253D", "filter"),
        ("?most_bytes=30000000", "a file has at most 20000000 bytes"),
    ] {
        let refused = console.get(&format!("{path}{query}"), &vera).await;
        assert_eq!(refused.status, 400, "{query}: {}", refused.text());
        assert!(refused.text().contains(why), "{query}: {}", refused.text());
    }
    let file =
        console.get(&format!("{path}?view=tab%3Devents%26find%3Dabc%26filter%3Dcpu%2B%253E%253D%2B0"), &vera).await;
    let told = "Of 60,001 rows it has the first 50,000. It opens without what asks Bathyscope again: rows found by a text in the timeline.";
    assert_eq!(file.header("bathyscope-left-out"), told, "{}", file.status);
    let (data, _) = held_by(&file);
    assert_eq!(data["left_out"].as_array().unwrap().len(), 2);
    assert!(!data["views"][0]["view"].as_str().unwrap().contains("find"));
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_file_of_a_share_has_what_the_share_shows() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let id = console.capture("slow", "alice", 1000).await;
    let all = console.get(&format!("/api/captures/{id}/rows?stream=0&limit=1000"), &alice).await.json();
    let time = |at: usize| all["rows"][at][0].as_i64().unwrap();
    let part = json!({ "start": time(100), "end": time(200), "filter": "" });
    let link = share(&console, &alice, json!({ "capture": id, "part": part })).await;
    let file = link.get(&console, &format!("/api/captures/{id}/file?tabs=events,timeline,info,processes")).await;
    assert_eq!(file.status, 200, "{}", file.text());
    let (data, answers) = held_by(&file);
    assert_eq!(data["from"], Value::Null, "a share's address opens nothing elsewhere");
    let rows = answers.iter().find(|(address, _)| address.contains("/rows?")).unwrap().1;
    let rows: Value = serde_json::from_slice(rows).unwrap();
    assert_eq!((&rows["matched"], &rows["rows"][0][0]), (&json!(100), &json!(time(100))));
    // What the share does not show is not in its file.
    for below in ["/processes", "/output"] {
        assert!(!answers.keys().any(|address| address.contains(below)), "{below}");
    }
    // Another capture is not read by it.
    let other = console.capture("other", "alice", 20).await;
    assert_eq!(link.get(&console, &format!("/api/captures/{other}/file")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_investigation_has_its_page_its_pictures_and_its_views() {
    let console = Console::new().await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let (id, gone) = (console.capture("slow", "alice", 50).await, console.capture("gone", "alice", 60).await);
    let begun = made(&console, &alice, ("/api/investigations", json!({ "title": "Why?" }))).await;
    let page = format!("/api/investigations/{}", begun["id"].as_str().unwrap());
    let blocks = format!("{page}/blocks");
    let mut ids = Vec::new();
    for content in [
        json!({ "kind": "text", "text": "It **began** then" }),
        json!({ "kind": "view", "capture": id, "view": "v=3&tab=events&filter=cpu+%3E%3D+0", "caption": "all" }),
        json!({ "kind": "view", "capture": id, "view": "v=3&tab=timeline&start=1&end=900", "caption": "a part" }),
        json!({ "kind": "view", "capture": id, "view": "v=3&tab=sql", "caption": "asked" }),
        json!({ "kind": "comparison", "capture": id, "view": "v=3&tab=flame&against=self", "caption": "other" }),
        json!({ "kind": "view", "capture": gone, "view": "v=3&tab=events", "caption": "no more" }),
    ] {
        let block = made(&console, &alice, (&blocks, json!({ "content": content }))).await;
        ids.push(block["id"].as_str().unwrap().to_owned());
    }
    let deleted = console.ask("DELETE", &format!("/api/captures/{gone}"), Some(&alice), None).await;
    assert!(deleted.status.is_success(), "{}", deleted.text());
    let file = console.get(&format!("{page}/file"), &vera).await;
    assert_eq!(file.status, 200, "{}", file.text());
    let (data, answers) = held_by(&file);
    let told: Value = serde_json::from_slice(&answers[&page]).unwrap();
    assert_eq!((&told["can_write"], told["blocks"].as_array().unwrap().len()), (&json!(false), 6));
    let views = data["views"].as_array().unwrap();
    let of_views: Vec<&str> = views.iter().map(|view| view["block"].as_str().unwrap()).collect();
    assert_eq!(of_views, [&ids[1], &ids[2], &ids[4]], "SQL and what is gone do not open");
    assert_eq!((&views[0]["tabs"][0], &views[1]["tabs"][0]), (&json!("events"), &json!("timeline")));
    assert_eq!(views[1]["view"], "v=3&end=900&start=1&tab=timeline");
    let pictures = &data["investigation"]["pictures"];
    assert_eq!(pictures[0]["block"], ids[3]);
    assert_eq!(pictures[0]["why"], "Only a picture: SQL asks Bathyscope itself, which no file can.");
    assert_eq!(
        file.header("bathyscope-left-out"),
        "The view of block 4 is only a picture: SQL asks Bathyscope itself, which no file can."
    );
    // Rows without stacks have no picture of a comparison.
    for (block, has) in ids.iter().zip([false, true, true, true, false, false]) {
        let address = format!("{blocks}/{block}/picture?v=1");
        assert_eq!(answers.contains_key(&address), has, "{address}");
    }
    // With less room fewer open, and each other says why it is a picture.
    let held: usize = data["answers"].as_array().unwrap().iter().map(|one| one["gzip"].as_str().unwrap().len()).sum();
    let (mut seen, mut most) = (vec![], file.body.len() - held + 30_000);
    while seen.last() != Some(&3) {
        let small = console.get(&format!("{page}/file?most_bytes={most}"), &vera).await;
        assert!(small.status == 200 && small.body.len() <= most, "{most}: {} {}", small.status, small.body.len());
        let (data, _) = held_by(&small);
        let opens: Vec<&Value> = data["views"].as_array().unwrap().iter().map(|view| &view["block"]).collect();
        let of_page = [&ids[1], &ids[2], &ids[4]].into_iter().filter(|id| opens.iter().any(|block| block == id));
        assert!(opens.iter().copied().eq(of_page), "in the order of the page: {opens:?}");
        let why = "is only a picture: with it the file would be larger than ";
        let told = small.header("bathyscope-left-out").matches(why).count();
        let pictures = data["investigation"]["pictures"].as_array().unwrap().len();
        assert_eq!((told, pictures), (3 - opens.len(), 4 - opens.len()));
        seen.push(opens.len());
        most += 4000;
    }
    seen.dedup();
    assert!(seen.len() > 2 && seen.is_sorted(), "{seen:?}");
    let refused = console.get(&format!("{page}/file?most_bytes=20000001"), &vera).await;
    assert!(
        refused.status == 400 && refused.text().contains("a file has at most 20000000 bytes"),
        "{}",
        refused.text()
    );
    assert_eq!(console.get(&format!("{page}/file?most_bytes=1000"), &vera).await.status, 413);
    // Both views are of one capture, whose facts are there once.
    let facts: Vec<_> = answers.keys().filter(|address| address.ends_with(&format!("/captures/{id}"))).collect();
    assert_eq!(facts.len(), 1);
    // A link to it shows pictures, in a file too.
    let link = share(&console, &alice, json!({ "investigation": begun["id"] })).await;
    let shared = link.get(&console, &format!("{page}/file")).await;
    let (data, answers) = held_by(&shared);
    assert_eq!((data["views"].as_array().unwrap().len(), &data["from"]), (0, &Value::Null));
    assert!(answers.keys().all(|address| address.starts_with("/api/investigations/")), "{:?}", answers.keys());
}

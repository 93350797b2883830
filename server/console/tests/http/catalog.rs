//! The inventory of the simulated host: what is found, what each entry tells, and what is told that is missing.

use std::time::Duration;

use bathyscope_link::AgentLink;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Console, no_agent, simulated};

async fn console() -> (Console, String) {
    let link = simulated("");
    assert!(link.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let cookie = console.cookie("op", Role::Operator).await;
    (console, cookie)
}

fn names(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn fact<'a>(entry: &'a Value, label: &str) -> &'a str {
    let all = entry["facts"].as_array().unwrap();
    all.iter().find(|fact| fact["label"] == label).map_or("", |fact| fact["value"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_all_kinds_are_found_the_best_first() {
    let (console, op) = console().await;
    let cases: [(&str, &[&str]); 8] = [
        ("q=vfs_read", &["vfs_read"]),
        ("q=vfs&kind=function", &["vfs_read", "vfs_write"]),
        ("q=vfs_*&kind=function&offset=1", &["vfs_write"]),
        ("q=sched%20switch&kind=tracepoint", &["sched:sched_switch"]),
        ("kind=tracer&q=blk", &["blk"]),
        ("kind=file&q=webserver", &["/usr/bin/webserver"]),
        ("kind=probe", &["kprobes:slow_read", "uprobes:<b>done"]),
        ("kind=function&q=nothing_like_it", &[]),
    ];
    for (query, expected) in cases {
        let answer = console.get(&format!("/api/catalog?{query}"), &op).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        assert_eq!(names(&answer.json()), expected, "{query}");
    }
    let all = console.get("/api/catalog?limit=0", &op).await.json();
    let sum: u64 = all["kinds"].as_array().unwrap().iter().map(|kind| kind["count"].as_u64().unwrap()).sum();
    assert_eq!(all["total"], sum, "{all}");
    let kinds = console.get("/api/catalog/kinds", &op).await.json();
    for kind in kinds["kinds"].as_array().unwrap() {
        assert_eq!(kind["state"], "ready", "{kind}");
        assert!(kind["count"].as_u64().is_some(), "{kind}");
    }
    assert_eq!(console.get("/api/catalog?kind=spaceships", &op).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn p12_names_that_others_made_up_are_shown_visibly() {
    let (console, op) = console().await;
    let programs = console.get("/api/catalog?kind=program", &op).await.json();
    assert_eq!(names(&programs), ["<img src=x\\x1b[ #7", "count_reads #3"]);
    let files = console.get("/api/catalog?kind=file&q=/opt", &op).await.json();
    assert_eq!(
        (files["items"][0]["name"].as_str(), files["items"][0]["shown"].as_str()),
        (Some("/opt/a b;c\nd"), Some("/opt/a b;c\\nd"))
    );
    // Names that are no words of a script never get into one.
    let path = "/api/catalog/entry?kind=user&in=/usr/bin/webserver&name=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E";
    let entry = console.get(path, &op).await;
    assert_eq!(entry.status, 200, "{}", entry.text());
    assert_eq!(entry.json()["code"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_tells_how_it_can_be_traced_and_why_not() {
    let (console, op) = console().await;
    let of = async |query: &str| {
        let answer = console.get(&format!("/api/catalog/entry?{query}"), &op).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        answer.json()
    };
    let function = of("kind=function&name=entry_SYSCALL_64_after_hwframe").await;
    let kprobe = function["means"].as_array().unwrap().iter().find(|it| it["id"] == "kprobe").unwrap();
    assert_eq!(kprobe["works"], false, "{function}");
    assert!(!kprobe["why_not"].as_str().unwrap().is_empty());

    let tracepoint = of("kind=tracepoint&name=sched:sched_switch").await;
    let fields: Vec<_> =
        tracepoint["fields"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(fields.contains(&"next_pid"), "{tracepoint}");
    assert_eq!(tracepoint["actions"][0]["params"], json!([["method", "events"], ["tracepoint", "sched:sched_switch"]]));
    assert!(tracepoint["code"][0]["text"].as_str().unwrap().contains("tracepoint:sched:sched_switch {"));

    let tracer = of("kind=tracer&name=irqsoff").await;
    assert!(fact(&tracer, "not here").contains("CONFIG_IRQSOFF_TRACER"), "{tracer}");
    assert_eq!(tracer["actions"], json!([]));

    let program = of("kind=program&name=count_reads%20%233").await;
    assert_eq!(fact(&program, "attached to"), "kernel function vfs_read");
    assert_eq!(fact(&program, "runs"), "60 while statistics were on, 2000 ns each");

    assert_eq!(console.get("/api/catalog/entry?kind=function&name=no_such", &op).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_a_program_are_read_when_they_are_asked_for() {
    let (console, op) = console().await;
    let nothing = console.get("/api/catalog?kind=user&q=handle", &op).await.json();
    assert_eq!(nothing["total"], 0, "no file was read yet");
    let found = console.get("/api/catalog?kind=user&in=/usr/bin/webserver&q=handle", &op).await.json();
    assert_eq!(names(&found), ["handle_request"], "{found}");
    assert_eq!(found["items"][0]["in"], "/usr/bin/webserver");
    // Rust names are read without mangling, and known by both forms.
    let rust = console.get("/api/catalog?kind=user&q=write_str", &op).await.json();
    assert_eq!(names(&rust), ["core::fmt::Formatter::write_str"]);
    assert_eq!(rust["items"][0]["raw"], "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE");
    // What was read is found among everything.
    assert_eq!(names(&console.get("/api/catalog?q=handle_request", &op).await.json()), ["handle_request"]);
    let entry = console.get("/api/catalog/entry?kind=user&in=/usr/bin/webserver&name=handle_request", &op).await.json();
    assert!(
        entry["code"][0]["text"].as_str().unwrap().contains("uprobe:/usr/bin/webserver:handle_request {"),
        "{entry}"
    );
    let missing = console.get("/api/catalog?kind=user&in=/no/such/file", &op).await;
    assert_eq!(missing.status, 422, "{}", missing.text());
    assert_eq!(console.ask("POST", "/api/catalog/refresh", Some(&op), None).await.status, 200);
    assert_eq!(console.get("/api/catalog?kind=user&q=handle", &op).await.json()["total"], 0, "it was forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_is_counted_before_anything_is_attached() {
    let (console, op) = console().await;
    let of = async |query: &str| console.get(&format!("/api/catalog/count?{query}"), &op).await.json();
    assert_eq!(of("kind=function&pattern=vfs_*").await["total"], 2);
    assert_eq!(of("kind=function&pattern=vfs_read").await["total"], 1);
    assert_eq!(of("kind=function&pattern=vfs").await["total"], 0, "a pattern is a whole name");
    assert_eq!(of("kind=function&pattern=*:mod:ext4").await["total"], 0);
    assert_eq!(
        of("kind=tracepoint&pattern=sched:*").await["usable"],
        of("kind=tracepoint&pattern=sched:*").await["total"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_agent_it_says_so() {
    let console = Console::with_link(AgentLink::new(no_agent).unwrap()).await;
    let op = console.cookie("op", Role::Operator).await;
    let answer = console.get("/api/catalog?q=vfs", &op).await;
    assert_eq!((answer.status.as_u16(), answer.json()["error"]["kind"].as_str().is_some()), (503, true));
    let kinds = console.get("/api/catalog/kinds", &op).await.json();
    assert_eq!(kinds["kinds"][0]["state"], "failed", "{kinds}");
    assert!(kinds["kinds"][0]["error"].as_str().unwrap().contains("agent"), "{kinds}");
}

//! The probe builder with the simulated agent.

use std::time::Duration;

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Console, simulated};

async fn console() -> Console {
    let link = simulated("rate=2000");
    assert!(link.connected(Duration::from_secs(10)).await);
    Console::with_link(link).await
}

async fn post(console: &Console, cookie: &str, path: &str, body: Value) -> Value {
    let answer = console.ask("POST", path, Some(cookie), Some(&body.to_string())).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_becomes_a_script_and_the_script_the_form() {
    let console = console().await;
    let operator = console.cookie("o", Role::Operator).await;
    let form = json!({
        "sites": ["tracepoint:syscalls:sys_enter_openat"],
        "values": [{"expr": "args.filename", "format": "text", "late": true}, {"expr": "args.mode", "format": {"bytes": 8}}],
        "until": {"sites": ["tracepoint:syscalls:sys_exit_openat"], "duration": true},
        "kernel_stack": true,
    });
    let written = post(&console, &operator, "/api/builder/write", json!({ "forms": [form] })).await;
    let script = written["script"].as_str().unwrap();
    assert!(script.contains("str(@filename[tid])"), "{script}");
    let read = post(&console, &operator, "/api/builder/read", json!({ "text": script })).await;
    assert_eq!(read["forms"][0]["values"][0]["name"], "filename", "{read}");
    assert_eq!(read["forms"][0]["until"]["sites"], form["until"]["sites"]);
    assert_eq!(read["messages"], json!([]));
    let none =
        post(&console, &operator, "/api/builder/write", json!({ "forms": [form, { "sites": ["nonsense"] }] })).await;
    assert!(none["script"].is_null() && none["why"].as_str().unwrap().contains("no probe site"), "{none}");
    assert_eq!(none["form"], 1, "{none}");
    let both = json!({ "forms": [form, { "sites": ["tracepoint:sched:sched_switch"] }] });
    let written = post(&console, &operator, "/api/builder/write", both).await;
    let read = post(&console, &operator, "/api/builder/read", json!({ "text": written["script"] })).await;
    assert_eq!(read["forms"][1]["sites"], json!(["tracepoint:sched:sched_switch"]), "{read}");
    let other = "begin { $x = 1; }";
    let read = post(&console, &operator, "/api/builder/read", json!({ "text": other })).await;
    assert_eq!(read["forms"], json!([]), "{read}");
    assert_eq!((&read["messages"][0]["line"], &read["messages"][0]["column"]), (&json!(1), &json!(9)), "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn places_are_found_with_what_is_to_be_known_of_them() {
    let console = console().await;
    let operator = console.cookie("o", Role::Operator).await;
    let get = async |path: &str| {
        let answer = console.get(path, &operator).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    let found = get("/api/builder/find?q=switch+sched").await;
    let first = &found["items"][0];
    assert_eq!((&first["site"], &first["works"]), (&json!("tracepoint:sched:sched_switch"), &json!(true)), "{found}");
    let timers = get("/api/builder/find?q=timer+second").await;
    let items = timers["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["site"] == "interval:s:1"), "{timers}");
    let facts = get("/api/builder/site?site=tracepoint:sched:sched_wakeup").await;
    assert_eq!(facts["partners"][0]["end_key"], json!(["args.next_pid"]), "{facts}");
    let pattern = get("/api/builder/site?site=tracepoint:sched:*").await;
    assert!(pattern["count"].as_u64().unwrap() > 1, "{pattern}");
    let missing = get("/api/builder/site?site=tracepoint:sched:nothing").await;
    assert!(missing["why_not"].as_str().unwrap().contains("no tracepoint"), "{missing}");
    let list = get("/api/builder/arguments?site=tracepoint:sched:sched_switch").await;
    let names: Vec<&str> = list["nodes"].as_array().unwrap().iter().filter_map(|node| node["name"].as_str()).collect();
    assert!(names.contains(&"prev_comm"), "{names:?}");
    let wrong = console.get("/api/builder/arguments?site=interval:s:1&path=nothing", &operator).await;
    assert_eq!(wrong.status, 404, "{}", wrong.text());
    let wrong = console.get("/api/builder/arguments?site=nothing", &operator).await;
    assert_eq!(wrong.status, 400, "{}", wrong.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_shows_rows_and_keeps_nothing() {
    let console = console().await;
    let admin = console.cookie("a", Role::Admin).await;
    let text = "tracepoint:sched:sched_switch { printf(\"next_pid=%s\\n\", args.next_pid); }";
    let trial = post(&console, &admin, "/api/builder/try", json!({ "text": text, "duration_ms": 300 })).await;
    let lines = trial["output"]["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["text"].as_str().unwrap().starts_with("next_pid=")), "{trial}");
    assert!(trial["probes"][0]["hits"].as_u64().unwrap() > 0, "{trial}");
    let text = "tracepoint:sched:sched_switch { @[args.next_comm] = count(); }";
    let trial = post(&console, &admin, "/api/builder/try", json!({ "text": text, "duration_ms": 300 })).await;
    assert!(trial["tables"][0]["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{trial}");
    let kept = console.get("/api/captures", &admin).await.json();
    assert_eq!(kept["total"], 0, "{kept}");
    let wrong = json!({ "text": "tracepoint:sched:nothing { @ = count(); }" }).to_string();
    let refused = console.ask("POST", "/api/builder/try", Some(&admin), Some(&wrong)).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert_eq!(console.get("/api/captures", &admin).await.json()["total"], 0);
}

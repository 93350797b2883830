//! Commands of other tools, explained.

use bathyscope_store::Role;
use serde_json::json;

use crate::{harness::simulated, recording::console};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_explained_and_what_it_asks_for_can_be_started() {
    let console = console(simulated("")).await;
    let (viewer, operator) = (console.cookie("v", Role::Viewer).await, console.cookie("o", Role::Operator).await);
    let explain = async |cookie: &str, text: &str| {
        let body = json!({ "text": text }).to_string();
        let answer = console.ask("POST", "/api/commands/explain", Some(cookie), Some(&body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let profile = explain(&viewer, "perf record -F 99 -g -p 1 -- sleep 2").await;
    assert!(profile["words"].as_str().unwrap().starts_with("Records stacks 99 times a second of pid 1"), "{profile}");
    assert_eq!(profile["capture"]["opens"], "flame");
    assert!(profile["spans"].as_array().unwrap().iter().any(|span| span["kind"] == "target"));
    // What events there are is not told to a viewer.
    let events = "trace-cmd record -e sched_switch sleep 1";
    assert!(explain(&viewer, events).await["refused"]["why"].as_str().unwrap().contains("without asking the host"));
    let asked = explain(&operator, events).await;
    assert_eq!(asked["capture"]["spec"]["limits"]["duration_ms"], 1000, "{asked}");
    let started =
        console.ask("POST", "/api/captures", Some(&operator), Some(&profile["capture"]["spec"].to_string())).await;
    assert!(started.status.is_success(), "{} {}", started.status, started.text());
    let refused = explain(&operator, "strace -Q ls").await;
    assert_eq!((&refused["refused"]["start"], &refused["refused"]["end"]), (&json!(7), &json!(9)));
    let long = json!({ "text": "x".repeat(70_000) }).to_string();
    let long = console.ask("POST", "/api/commands/explain", Some(&viewer), Some(&long)).await;
    assert!(long.status.is_client_error(), "{}", long.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_leads_back_to_commands() {
    let console = console(simulated("")).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let same = async |spec: serde_json::Value| {
        let answer = console.ask("POST", "/api/commands/same", Some(&viewer), Some(&spec.to_string())).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["items"].as_array().unwrap().clone()
    };
    let profile = json!({ "profile": { "frequency_hz": 99, "kernel_stacks": true, "user_stacks": true } });
    let calls = json!({ "syscalls": { "calls": ["openat"], "outcome": "failed" } });
    let spec = |sources: serde_json::Value| {
        json!({ "sources": sources, "target": { "process": { "pid": 7, "children": true } },
            "limits": { "duration_ms": 2000, "max_events": 10 } })
    };
    let one = same(spec(json!([{ "id": "profile", "method": profile }]))).await;
    assert_eq!(one[0]["text"], "perf record -F 99 -g -p 7 -- sleep 2");
    assert_eq!(one[0]["differs"], json!(["limits that it does not have: max events"]));
    assert_eq!(one[1]["text"], "bathyscope run 'perf record -F 99 -g -p 7 -- sleep 2'");
    let two = same(spec(json!([{ "id": "cpu", "method": profile }, { "id": "calls", "method": calls }]))).await;
    let of = |tool: &str| two.iter().find(|one| one["text"].as_str().unwrap().starts_with(tool)).unwrap();
    assert_eq!(of("perf record")["differs"][0], "what is recorded: only the source cpu, of 2");
    assert_eq!(of("timeout 2 strace")["differs"][0], "what is recorded: only the source calls, of 2");
    let bad = console.ask("POST", "/api/commands/same", Some(&viewer), Some("{\"sources\":7}")).await;
    assert_eq!(bad.status, 400, "{}", bad.text());
}

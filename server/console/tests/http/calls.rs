//! Calls of functions of a simulated trace, through the API.

use std::{collections::BTreeMap, time::Duration};

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use serde_json::Value;

use super::harness::{Console, simulated};

const TRACE: &str = r#"{"method":{"trace":{"tracer":"function_graph",
    "events":[{"event":"irq:irq_handler_entry"}]}},"target":"system","limits":{"duration_ms":700,"budget_cpu_permille":50}}"#;

async fn traced(options: &str) -> (Console, String, CaptureId) {
    let link = simulated(options);
    assert!(link.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let cookie = console.cookie("alice", Role::Operator).await;
    let answer = console.ask("POST", "/api/captures", Some(&cookie), Some(TRACE)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id: CaptureId = answer.json()["id"].as_str().unwrap().parse().unwrap();
    console.state.recorder().wait(id).await;
    (console, cookie, id)
}

async fn json(console: &Console, cookie: &str, id: CaptureId, rest: &str) -> Value {
    let answer = console.get(&format!("/api/captures/{id}/calls{rest}"), cookie).await;
    assert_eq!(answer.status, 200, "{rest}: {}", answer.text());
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_unfolded_level_by_level() {
    let (console, cookie, id) = traced("rate=20000").await;
    let page = json(&console, &cookie, id, "?limit=40").await;
    let roots = page["calls"].as_array().unwrap();
    assert!(page["total"].as_u64().unwrap() > 100 && roots.len() == 40, "{page}");
    assert!(page["chosen"].as_u64().unwrap() > 4 * page["total"].as_u64().unwrap());
    assert!(page["threads"].as_array().unwrap().len() > 3);
    // What was called before the recording says so.
    let states: Vec<&str> = roots.iter().map(|call| call["state"].as_str().unwrap()).collect();
    assert_eq!(states.iter().filter(|state| **state == "unstarted").count(), 2, "{states:?}");
    let root = roots.iter().find(|call| call["state"] == "returned").unwrap();
    assert_eq!((&root["function"], &root["depth"], &root["gap"]), (&"do_syscall_64".into(), &0.into(), &false.into()));
    let mut names = Vec::new();
    let mut at = root.clone();
    while at["children"].as_u64().unwrap() > 0 {
        let within = json(&console, &cookie, id, &format!("?parent={}", at["id"])).await;
        assert_eq!(within["total"], at["children"]);
        let inner = within["calls"][0].clone();
        assert!(
            inner["start"].as_i64() >= at["start"].as_i64() && inner["duration"].as_u64() < at["duration"].as_u64()
        );
        names.push(inner["function"].as_str().unwrap().to_owned());
        at = inner;
    }
    assert!(names.len() >= 3 && names[0].starts_with("ksys_") && names[1].starts_with("vfs_"), "{names:?}");
    let places = json(&console, &cookie, id, &format!("?places={}.99999999", at["id"])).await;
    assert_eq!(places["places"].as_array().unwrap().len(), 1);
    assert_eq!(places["places"][0]["path"][0]["id"], root["id"]);
    let found = json(&console, &cookie, id, "?search=SCHEDULE").await;
    assert_eq!(found["place"]["call"]["function"], "schedule", "{found}");
    let only = json(&console, &cookie, id, "?filter=func+%3D%3D+%22schedule%22&longer=50000").await;
    assert_eq!(only["calls"][0]["hit"], false, "what is around it is there too");
    assert!(only["chosen"].as_u64().unwrap() <= found["total"].as_u64().unwrap());
    let text = console.get(&format!("/api/captures/{id}/calls/text?parent={}", root["id"]), &cookie).await;
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    assert!(text.text().contains("|  do_syscall_64() {\n") && text.text().ends_with("|  }\n"), "{}", text.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_charts_and_flames_agree() {
    let (console, cookie, id) = traced("rate=20000").await;
    let page = json(&console, &cookie, id, "/functions?rank=calls&limit=100").await;
    let rows = page["rows"].as_array().unwrap();
    let calls: u64 = rows.iter().map(|row| row["calls"].as_u64().unwrap()).sum();
    assert_eq!(page["chosen"], calls);
    let order: Vec<u64> = rows.iter().map(|row| row["calls"].as_u64().unwrap()).collect();
    assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
    let own: u64 = rows.iter().map(|row| row["own"].as_u64().unwrap()).sum();
    assert_eq!(page["own"], own);
    // F8: which interrupt has the highest latency.
    let irqs = json(&console, &cookie, id, "/functions?part=irq&rank=longest").await;
    assert_eq!(irqs["irqs"], true);
    let by_name: BTreeMap<&str, u64> = irqs["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["function"] == "handle_irq_event")
        .map(|row| (row["part"].as_str().unwrap(), row["longest"].as_u64().unwrap()))
        .collect();
    assert_eq!(by_name.keys().copied().collect::<Vec<_>>(), ["eth0 (irq 24)", "i8042 (irq 1)", "nvme0q1 (irq 25)"]);
    assert!(by_name["nvme0q1 (irq 25)"] > by_name["eth0 (irq 24)"], "{by_name:?}");
    assert!(irqs["rows"][0]["part"] == "nvme0q1 (irq 25)", "{irqs}");
    for lanes in ["thread", "cpu"] {
        let chart = json(&console, &cookie, id, &format!("/chart?width=300&lanes={lanes}&limit_lanes=100")).await;
        let lanes = chart["lanes"].as_array().unwrap();
        let boxes: usize = lanes.iter().map(|lane| lane["boxes"]["id"].as_array().unwrap().len()).sum();
        assert_eq!(chart["hidden"].as_u64().unwrap() + boxes as u64, calls);
    }
    // Of calls of known length the flame graph has all the time, and a search in it.
    let flame =
        console.get(&format!("/api/captures/{id}/flame?width=1000&by=none&search=schedule"), &cookie).await.json();
    assert_eq!((&flame["unit"], &flame["total"]), (&"nanoseconds".into(), &own.into()));
    let schedule = rows.iter().find(|row| row["function"] == "schedule").unwrap();
    assert!(flame["matched_samples"].as_u64() >= schedule["own"].as_u64());
    let svg = console.get(&format!("/api/captures/{id}/export?format=svg"), &cookie).await;
    assert!(
        svg.text().contains("do_syscall_64") && svg.text().contains(" ns"),
        "{}",
        svg.text().chars().take(200).collect::<String>()
    );
}

/// Beside the rows, where other programs read them as before.
async fn p73_files_tell_what_is_missing(console: &Console, cookie: &str, id: CaptureId, lost: u64) {
    let words = format!("{lost} events were lost");
    for (format, extension) in [("csv", "csv"), ("ndjson", "ndjson"), ("folded", "folded.txt"), ("svg", "svg")] {
        let answer = console.get(&format!("/api/captures/{id}/export?format={format}"), cookie).await;
        assert_eq!((answer.status.as_u16(), answer.header("bathyscope-losses")), (200, words.as_str()), "{format}");
        let name = format!("attachment; filename=\"bathyscope-{id}-incomplete.{extension}\"");
        assert_eq!(answer.header("content-disposition"), name);
        let text = answer.text();
        assert_eq!(
            text.contains("bathyscope_ledger"),
            format == "ndjson",
            "{format}: only where a line can be told apart"
        );
        if format == "ndjson" {
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            let expected = serde_json::json!({"bathyscope_ledger": {"lost": lost, "at_least": false, "words": words}});
            assert_eq!(last, expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn losses_leave_calls_without_their_ends() {
    let (console, cookie, id) = traced("rate=20000,lose_every=50").await;
    let page = json(&console, &cookie, id, "/functions?limit=100").await;
    let cut: u64 = page["rows"].as_array().unwrap().iter().map(|row| row["cut"].as_u64().unwrap()).sum();
    let shown = console.get(&format!("/api/captures/{id}"), &cookie).await.json();
    let losses = shown["ledger"]["losses"].as_array().unwrap();
    let lost: u64 = losses.iter().map(|loss| loss["count"].as_u64().unwrap()).sum();
    assert!(lost > 50 && cut > 10, "{lost} lost, {cut} cut");
    p73_files_tell_what_is_missing(&console, &cookie, id, lost).await;
    for query in ["?parent=99999999", "?places=5.x.7"] {
        json(&console, &cookie, id, query).await;
    }
    for (query, word) in
        [("?filter=pid+%3D%3D", "filter"), ("/chart?width=0", "width"), ("/functions?rank=best", "rank")]
    {
        let answer = console.get(&format!("/api/captures/{id}/calls{query}"), &cookie).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text().to_lowercase().contains(word), "{query}: {}", answer.text());
    }
}

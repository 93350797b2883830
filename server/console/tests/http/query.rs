//! SQL over captures: what a viewer gets, what is refused, and that nobody's query outlives its asker.

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Answer, Console, simulated};

const ENDLESS: &str = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r";

async fn ask(console: &Console, cookie: &str, id: CaptureId, body: &Value) -> Answer {
    let path = format!("/api/captures/{id}/query");
    console.ask("POST", &path, Some(cookie), Some(&body.to_string())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_asks_a_capture_by_sql() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let sql =
        "select comm, pid, count(*) as n, min(time) as first from sched_switch group by comm, pid order by n, 1, 2";
    let answer = ask(&console, &viewer, id, &json!({"sql": sql, "limits": {"rows": 2}})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let names: Vec<_> = answer["columns"].as_array().unwrap().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["comm", "pid", "n", "first"]);
    assert_eq!(answer["columns"][0], json!({"name": "comm", "type": "text", "display": "text"}));
    assert_eq!(answer["rows"], json!([["marker-comm", 101, 166, 4000], ["other\\x1b[2K", 102, 166, 5000]]));
    assert_eq!((&answer["truncated"], &answer["scanned"]["rows"]), (&json!("rows"), &json!(1000)));
    assert!(answer["elapsed_ms"].is_u64());
    let text = ask(&console, &viewer, id, &json!({"sql": "select comm from sched_switch where time = 1000"})).await;
    assert_eq!(text.json()["rows"], json!([["other\\x1b[2K"]]), "text is made visible");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_asked_is_listed_and_examples_run() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 100).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let listed = console.get(&format!("/api/captures/{id}/query"), &viewer).await.json();
    let table = &listed["tables"][0];
    assert_eq!(
        (&table["name"], &table["alias"], &table["rows"]),
        (&json!("sched:sched_switch"), &json!("sched_switch"), &json!(100))
    );
    assert_eq!(table["columns"][5], json!({"name": "next_pid", "type": "i64", "display": "decimal"}));
    let examples = listed["examples"].as_array().unwrap();
    assert!(examples.len() > 4);
    for example in examples {
        let answer = ask(&console, &viewer, id, &json!({"sql": example["sql"]})).await;
        assert_eq!(answer.status, 200, "{example}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_reaches_no_other_table_and_no_other_capture() {
    let console = Console::new().await;
    let (mine, other) = (console.capture("mine", "a", 10).await, console.capture("other", "b", 20).await);
    let viewer = console.cookie("v", Role::Viewer).await;
    let count = ask(&console, &viewer, mine, &json!({"sql": "select count(*) from sched_switch"})).await;
    assert_eq!(count.json()["rows"], json!([[10]]));
    let count = ask(&console, &viewer, other, &json!({"sql": "select count(*) from sched_switch"})).await;
    assert_eq!(count.json()["rows"], json!([[20]]));
    let database = console.dir.path().join("bathyscope.db");
    let before = console.store.fingerprint().await.unwrap();
    let attach = format!("attach '{}' as x", database.display());
    for sql in [
        "select * from sessions",
        "select * from login_tokens",
        "select * from audit",
        "select * from captures",
        "select * from chunk_data",
        attach.as_str(),
        "pragma database_list",
        "delete from sched_switch",
        "create table t (x)",
        "select load_extension('x')",
    ] {
        let answer = ask(&console, &viewer, mine, &json!({"sql": sql})).await;
        assert_eq!(answer.status, 400, "{sql}: {}", answer.text());
        assert_eq!(answer.json()["error"]["kind"], "invalid");
    }
    assert_eq!(console.store.fingerprint().await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_with_its_place_and_a_remedy() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let error = ask(&console, &viewer, id, &json!({"sql": "select\n tiem from sched_switch"})).await.json();
    let error = &error["error"];
    assert_eq!(error["why"], "line 2, column 2: no such column: tiem");
    assert!(error["remedy"].as_str().unwrap().contains("sched_switch has time, cpu, pid"), "{error}");
    let slow = ask(&console, &viewer, id, &json!({"sql": ENDLESS, "limits": {"time_ms": 50}})).await;
    assert_eq!((slow.status.as_u16(), &slow.json()["error"]["kind"]), (422, &json!("limit")));
    for body in
        [json!({}), json!({"sql": 1}), json!({"sql": "select 1", "limits": {"memory": 1}}), json!({"sql": "x", "y": 1})]
    {
        assert_eq!(ask(&console, &viewer, id, &body).await.status, 400, "{body}");
    }
    assert_eq!(ask(&console, &viewer, CaptureId::from_bits(9), &json!({"sql": "select 1"})).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn p44_a_query_ends_when_its_asker_goes_away() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let endless = json!({"sql": ENDLESS, "limits": {"time_ms": 60_000}});
    // As many as may run at a time, and more.
    for _ in 0..5 {
        let gone = tokio::time::timeout(Duration::from_millis(200), ask(&console, &viewer, id, &endless)).await;
        assert!(gone.is_err(), "it has no end");
    }
    let answer = ask(&console, &viewer, id, &json!({"sql": "select 1"})).await;
    assert_eq!(answer.status, 200, "their places are free again: {}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_is_being_recorded_answers_with_what_is_stored() {
    let link = simulated("rate=5000");
    let connected = link.clone();
    assert!(connected.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let spec = r#"{"method":{"events":{"probes":[{"tracepoint":"sched:sched_switch","fields":["next_pid"]}]}},
        "target":"system","limits":{"duration_ms":60000}}"#;
    let started = console.ask("POST", "/api/captures", Some(&operator), Some(spec)).await.json();
    let id: CaptureId = started["id"].as_str().unwrap().parse().unwrap();
    let count = json!({"sql": "select count(*) from sched_switch"});
    let rows = async || ask(&console, &operator, id, &count).await.json()["rows"][0][0].as_u64().unwrap();
    let mut seen = 0;
    while seen == 0 {
        seen = rows().await;
    }
    while rows().await <= seen {}
    let stopped = console.ask("POST", &format!("/api/captures/{id}/stop"), Some(&operator), None).await;
    assert_eq!(stopped.status, 200, "{}", stopped.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p75_one_viewers_slow_queries_refuse_nobody_elses() {
    let console = std::sync::Arc::new(Console::new().await);
    let id = console.capture("a capture", "somebody", 10).await;
    let (slow, other) = (console.cookie("mallory", Role::Viewer).await, console.cookie("ada", Role::Viewer).await);
    let endless = json!({"sql": ENDLESS, "limits": {"time_ms": 60_000}});
    let hogs: Vec<_> = (0..8)
        .map(|_| {
            let (console, slow, endless) = (std::sync::Arc::clone(&console), slow.clone(), endless.clone());
            tokio::spawn(async move { ask(&console, &slow, id, &endless).await.status })
        })
        .collect();
    let cheap = json!({"sql": "select 1"});
    // The first of them runs by now, or it will in a moment: either way the other is answered.
    for _ in 0..5 {
        let asking = ask(&console, &other, id, &cheap);
        let answer = tokio::time::timeout(Duration::from_secs(5), asking).await.expect("it waits for another user's");
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    // What can be asked is told meanwhile, also to the one whose queries run.
    let tables = console.get(&format!("/api/captures/{id}/query"), &slow).await;
    assert_eq!(tables.status, 200);
    hogs.into_iter().for_each(|hog| hog.abort());
}

//! Dynamic events through the router, with the simulated agent: read, looked up, refused with their places.

use std::time::Duration;

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Console, simulated};

async fn console() -> Console {
    let link = simulated("rate=2000");
    assert!(link.connected(Duration::from_secs(10)).await);
    Console::with_link(link).await
}

async fn check(console: &Console, cookie: &str, body: Value) -> Value {
    let answer = console.ask("POST", "/api/dynamic/check", Some(cookie), Some(&body.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_becomes_lines_for_the_kernel() {
    let console = console().await;
    let operator = console.cookie("alice", Role::Operator).await;
    let text =
        "# echo 'r:out vfs_read $retval:s64' >> kprobe_events\nvfs_write+4 count=%dx\nvfs_write\nvfs_write\ncat trace";
    let found = check(&console, &operator, json!({ "text": text })).await;
    assert_eq!(found["ok"], true, "{found}");
    let lines: Vec<&str> = found["probes"].as_array().unwrap().iter().map(|it| it["line"].as_str().unwrap()).collect();
    assert_eq!(
        lines,
        [
            "r:out vfs_read $retval:s64",
            "p:probe/vfs_write vfs_write+0x4 count=%dx",
            "p:probe/vfs_write_1 vfs_write",
            "p:probe/vfs_write_2 vfs_write"
        ]
    );
    let first = &found["probes"][0];
    assert_eq!(
        (&first["name"], &first["returns"], &first["place"]),
        (&json!("kprobes:out"), &json!(true), &json!("vfs_read"))
    );
    assert_eq!(first["arguments"], json!([{ "name": null, "text": "$retval:s64" }]));
    assert_eq!(found["skipped"][0]["text"], "cat trace");

    let body = json!({ "text": "query%return $retval\nmain+0x10", "file": "/usr/bin/webserver" });
    let found = check(&console, &operator, body).await;
    assert_eq!(found["ok"], true, "{found}");
    let line = found["probes"][0]["line"].as_str().unwrap();
    assert!(line.starts_with("r:probe_webserver/query__return /usr/bin/webserver:0x"), "{line}");
    assert_eq!(found["probes"][1]["name"], "probe_webserver:main");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_at_its_place() {
    let console = console().await;
    let operator = console.cookie("alice", Role::Operator).await;
    let cases = [
        (json!({ "text": "vfs_write\nvfs_raed count" }), 2, 1, "did you mean `vfs_read`?"),
        (json!({ "text": "p:x vfs_read %rdi" }), 1, 15, "the kernel calls this register %di"),
        (json!({ "text": "vfs_read count" }), 1, 10, "does not describe `vfs_read`"),
        (json!({ "text": "quary", "file": "/usr/bin/webserver" }), 1, 1, "did you mean `query`?"),
        (json!({ "text": "query count", "file": "/usr/bin/webserver" }), 1, 7, "debug information"),
        (json!({ "text": "main", "file": "/usr/bin/none" }), 1, 1, "cannot be opened"),
        (json!({ "text": "p:a vfs_read\np:a vfs_write" }), 2, 1, "there are two with the name `a`"),
        (json!({ "text": "-:a" }), 1, 1, "removed with their capture"),
    ];
    for (body, line, column, words) in cases {
        let found = check(&console, &operator, body.clone()).await;
        assert_eq!(found["ok"], false, "{body}: {found}");
        let message = &found["messages"][0];
        assert!(message["message"].as_str().unwrap().contains(words), "{body}: {message}");
        assert_eq!((&message["line"], &message["column"]), (&json!(line), &json!(column)), "{body}: {message}");
    }
    let long = json!({ "text": "x".repeat(65 << 10) }).to_string();
    assert!(console.ask("POST", "/api/dynamic/check", Some(&operator), Some(&long)).await.status.as_u16() >= 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_and_variables_are_looked_up() {
    let console = console().await;
    let operator = console.cookie("alice", Role::Operator).await;
    let kernel = console.get("/api/dynamic/functions?q=vfs", &operator).await.json();
    assert_eq!(kernel, json!({ "file": null, "total": 2, "items": ["vfs_read", "vfs_write"] }));
    let file = console.get("/api/dynamic/functions?q=que&file=/usr/bin/webserver", &operator).await.json();
    assert_eq!((&file["file"], &file["items"][0]), (&json!("/usr/bin/webserver"), &json!("query")));
    assert_eq!(console.get("/api/dynamic/functions?file=/nothing", &operator).await.status, 404);
    let unknown = console.get("/api/dynamic/variables?function=vfs_read", &operator).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"]["why"].as_str().unwrap().contains("$arg1"), "{}", unknown.text());
    let typo = console.get("/api/dynamic/variables?function=vfs_raed", &operator).await.json();
    assert!(typo["error"]["why"].as_str().unwrap().contains("`vfs_read`"), "{typo}");
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_listed_and_only_own_ones_detached() {
    let console = console().await;
    let (operator, admin) = (console.cookie("alice", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let all = console.get("/api/dynamic", &operator).await.json();
    let event = &all["events"][0];
    assert_eq!((&event["group"], &event["owner"], &event["capture"]), (&json!("probe"), &Value::Null, &Value::Null));
    assert_eq!((&event["hits"], &event["marks"]), (&json!(4711), &json!(["FTRACE"])));

    let spec = json!({ "method": { "events": { "probes": [{ "tracepoint": "sched:sched_switch" }] } }, "target": "system",
        "limits": { "duration_ms": 60000, "budget_cpu_permille": 50 } });
    let started = console.ask("POST", "/api/captures", Some(&operator), Some(&spec.to_string())).await.json();
    let detach = format!("/api/captures/{}/probes/detach", started["id"].as_str().unwrap());
    let pattern = Some(r#"{"pattern":"*"}"#);
    let none = console.ask("POST", &detach, Some(&operator), pattern).await;
    assert_eq!(none.status, 404, "{}", none.text());
    assert!(none.json()["error"]["why"].as_str().unwrap().contains("it has none"), "{}", none.text());
    let stop = format!("/api/captures/{}/stop", started["id"].as_str().unwrap());
    console.ask("POST", &stop, Some(&operator), None).await;
    console.state.recorder().wait(started["id"].as_str().unwrap().parse().unwrap()).await;
    assert_eq!(console.ask("POST", &detach, Some(&operator), pattern).await.status, 409);

    let setting = Some(r#"{"optimization":false}"#);
    assert_eq!(console.ask("POST", "/api/host/kprobes", Some(&operator), setting).await.status, 404);
    assert_eq!(console.ask("POST", "/api/host/kprobes", Some(&admin), setting).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_with_wrong_probes_is_refused_with_their_places() {
    let console = console().await;
    let (operator, admin) = (console.cookie("alice", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let spec =
        |dynamic: Value| json!({ "method": { "trace": { "dynamic": dynamic } }, "target": "system" }).to_string();
    let wrong = spec(json!(["vfs_read", { "typed": "quary", "file": "/usr/bin/webserver" }]));
    let refused = console.ask("POST", "/api/captures", Some(&admin), Some(&wrong)).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let message = &refused.json()["error"]["diagnostics"][0];
    assert_eq!((&message["line"], &message["column"]), (&json!(2), &json!(1)), "{message}");
    assert!(message["message"].as_str().unwrap().contains("`query`"), "{message}");
    // They read memory as scripts do, which only admins may run here.
    let denied = console.ask("POST", "/api/captures", Some(&operator), Some(&spec(json!(["vfs_read"])))).await;
    assert_eq!((denied.status.as_u16(), &denied.json()["error"]["kind"]), (422, &json!("denied")));
    // It is understood; the simulated kernel has no tracer.
    let made = console.ask("POST", "/api/captures", Some(&admin), Some(&spec(json!(["vfs_read"])))).await;
    assert_eq!((made.status.as_u16(), &made.json()["error"]["kind"]), (422, &json!("unsupported")), "{}", made.text());
}

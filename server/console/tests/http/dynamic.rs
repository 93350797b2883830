//! Dynamic events through the router, with the simulated agent: read, looked up, refused with their places.

use std::time::Duration;

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Console, simulated};

async fn console() -> Console {
    console_of("rate=2000").await
}

async fn console_of(options: &str) -> Console {
    let link = simulated(options);
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
    let found = check(&console, &operator, json!({ "text": "p:q /usr/bin/webserver:0x1500 $arg1" })).await;
    assert_eq!(found["ok"], true, "{found}");
    assert!(!found["probes"][0]["line"].as_str().unwrap().contains("$arg"), "{found}");
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
        (json!({ "text": "perf probe -V query -x /usr/bin/webserver" }), 1, 15, "debug information"),
        (json!({ "text": "cat trace\nperf probe -L vfs_read" }), 2, 12, "source lines are found in the probe builder"),
        (json!({ "text": "perf probe -V vfs_raed" }), 1, 15, "did you mean `vfs_read`?"),
        (json!({ "text": "echo ’p:a vfs_raed’" }), 1, 11, "did you mean `vfs_read`?"),
        (json!({ "text": "p /usr/bin/webserver:0x1504 $arg1" }), 1, 30, "arguments are known only"),
        (json!({ "text": "query+4 $arg1", "file": "/usr/bin/webserver" }), 1, 10, "arguments are known only"),
        (json!({ "text": "-:" }), 1, 3, "a name has letters"),
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
    for (name, words) in [("malloc", "-x libc malloc"), ("vfs_raed", "did you mean `vfs_read`?")] {
        let found = console.get(&format!("/api/dynamic/functions?q={name}"), &operator).await.json();
        assert!(found["hint"].as_str().unwrap().contains(words), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_of_a_probe_asks_the_host() {
    let console = console_of("kprobes=0").await;
    let (operator, admin) = (console.cookie("alice", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let found = check(&console, &operator, json!({ "text": "main\nvfs_read count=%dx\nr vfs_write" })).await;
    assert_eq!(found["ok"], false, "{found}");
    let message = |text: &Value| text["message"].as_str().unwrap_or_default().to_owned();
    let read = &found["messages"][1];
    assert_eq!((&read["line"], &read["column"]), (&json!(2), &json!(1)), "{found}");
    assert!(message(read).contains("CONFIG_KPROBE_EVENTS") && !message(read).contains("UPROBE"), "{found}");
    let program = check(&console, &operator, json!({ "text": "query", "file": "/usr/bin/webserver" })).await;
    assert_eq!(program["ok"], true, "{program}");
    let spec = json!({ "method": { "trace": { "dynamic": ["vfs_read"] } }, "target": "system" }).to_string();
    let refused = console.ask("POST", "/api/captures", Some(&admin), Some(&spec)).await;
    assert_eq!(refused.status, 400, "{}", refused.text());

    let console = console_of("rate=2000").await;
    let operator = console.cookie("alice", Role::Operator).await;
    let inside = check(&console, &operator, json!({ "text": "vfs_read+4\nvfs_read+1" })).await;
    let message = &inside["messages"][0];
    assert_eq!((&inside["ok"], &message["line"]), (&json!(false), &json!(2)), "{inside}");
    let words = message["message"].as_str().unwrap();
    assert!(words.contains("not an instruction boundary") && words.contains("vfs_read+0 and vfs_read+4"), "{inside}");
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_moved_are_told_before_a_trace_begins() {
    let console = console().await;
    let admin = console.cookie("root", Role::Admin).await;
    for (part, words) in [
        (json!({ "graph_roots": ["vfs_write", "vfs_raed"] }), "did you mean `vfs_read`?"),
        (json!({ "functions": ["malloc"] }), "-x libc malloc"),
        (json!({ "not_functions": ["dtmalloc"] }), "kmem:kmalloc"),
        (json!({ "graph_not": ["zzzzzzzzzzzzzzz"] }), "it may be inlined"),
    ] {
        let mut trace = part.clone();
        trace["tracer"] = json!("function_graph");
        let spec = json!({ "method": { "trace": trace }, "target": "system" }).to_string();
        let refused = console.ask("POST", "/api/captures", Some(&admin), Some(&spec)).await;
        assert_eq!(refused.status, 400, "{part}: {}", refused.text());
        let message = &refused.json()["error"]["diagnostics"][0]["message"];
        assert!(message.as_str().unwrap().contains(words), "{part}: {message}");
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pasted_with_its_surroundings_is_answered() {
    let console = console().await;
    let (operator, admin) = (console.cookie("alice", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let lines = |found: &Value| -> Vec<String> {
        let probes = found["probes"].as_array().unwrap().iter();
        probes.map(|it| it["line"].as_str().unwrap().to_owned()).collect()
    };
    // What was made, read, and removed: it goes with the capture.
    let seed = "echo ‘p vfs_read %di’ >> kprobe_events\necho 1 > events/kprobes/p_vfs_read_0/enable\ncat trace\n\
                echo ‘– p_vfs_read_0’ >> kprobe_events";
    let found = check(&console, &operator, json!({ "text": seed })).await;
    assert_eq!(found["ok"], true, "{found}");
    assert_eq!(lines(&found), ["p:p_vfs_read_0 vfs_read %di"]);
    let why = found["skipped"].as_array().unwrap().last().unwrap();
    assert!(why["why"].as_str().unwrap().contains("goes with its capture"), "{found}");
    assert_eq!(found["notes"][0], "‘ was read as '", "{found}");
    // What was removed before anything used it is not made; others' probes stay.
    let text = "p:a vfs_read\n-:a\np:a vfs_write\nperf probe --del 'x*'";
    let found = check(&console, &operator, json!({ "text": text })).await;
    assert_eq!((&found["ok"], lines(&found)), (&json!(true), vec!["p:a vfs_write".to_owned()]), "{found}");
    let last = found["skipped"].as_array().unwrap().last().unwrap();
    assert!(last["why"].as_str().unwrap().contains("are not removed here"), "{found}");
    // Questions are answered.
    let text = "perf probe -x /usr/bin/webserver --funcs 'que*'\nperf probe -n vfs_read\nperf probe --list\nvfs_write";
    let found = check(&console, &operator, json!({ "text": text })).await;
    assert_eq!(
        (&found["ok"], lines(&found)),
        (&json!(true), vec!["p:probe/vfs_write vfs_write".to_owned()]),
        "{found}"
    );
    assert_eq!(found["answers"][0]["lines"], json!(["query"]), "{found}");
    assert_eq!(found["answers"][1]["lines"], json!(["p:probe/vfs_read vfs_read"]), "{found}");
    assert!(found["answers"][2]["lines"][0].as_str().unwrap().contains("bathyscope probe --list"), "{found}");

    let start = async |dynamic: Value| {
        let spec = json!({ "method": { "trace": { "dynamic": dynamic } }, "target": "system" }).to_string();
        console.ask("POST", "/api/captures", Some(&admin), Some(&spec)).await
    };
    let asks = start(json!(["vfs_read", "perf probe -n vfs_write"])).await;
    assert_eq!(asks.status, 400, "{}", asks.text());
    let message = &asks.json()["error"]["diagnostics"][0];
    assert!(message["line"] == 2 && message["message"].as_str().unwrap().contains("makes no probe"), "{message}");
    // The lines around probes do no harm: it is understood, and the simulated kernel has no tracer.
    let lines: Vec<&str> = seed.split('\n').collect();
    let made = start(json!(lines)).await;
    assert_eq!((made.status.as_u16(), &made.json()["error"]["kind"]), (422, &json!("unsupported")), "{}", made.text());
    let nothing = start(json!(["cat trace", "perf probe --del x"])).await;
    assert!(nothing.text().contains("there is no probe here"), "{}", nothing.text());
}

//! What people keep by name: whose it is, who reads and changes it, its versions, files, and what names it.

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::{
    harness::{Answer, Console, simulated},
    recording::console as recording,
};

async fn keep(console: &Console, cookie: &str, thing: &Value) -> Answer {
    console.ask("POST", "/api/library", Some(cookie), Some(&thing.to_string())).await
}

async fn patch(console: &Console, cookie: &str, id: &Value, edit: Value) -> Answer {
    console.ask("PATCH", &format!("/api/library/{id}"), Some(cookie), Some(&edit.to_string())).await
}

fn probe(text: &str) -> Value {
    json!({ "kind": "probe", "text": text })
}

async fn names(console: &Console, cookie: &str, query: &str) -> Vec<String> {
    let list = console.get(&format!("/api/library?{query}"), cookie).await.json();
    let items = list["items"].as_array().unwrap().clone();
    items
        .iter()
        .map(|item| format!("{} of {}", item["name"].as_str().unwrap(), item["owner"].as_str().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_a_private_thing_of_somebody_else_is_not_told() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (vera, root) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let hers = keep(&console, &alice, &probe("vfs_read count")).await;
    assert_eq!(hers.status, 201, "{}", hers.text());
    let id = hers.json()["id"].clone();
    assert_eq!((&hers.json()["name"], &hers.json()["owner"]), (&json!("probe:vfs_read"), &json!("alice")));
    // Its name is free for others, it is in no list of theirs, and its id is that of nothing.
    let address = format!("/api/library/{id}");
    for cookie in [&bob, &vera] {
        assert_eq!(names(&console, cookie, "").await, [""; 0]);
        assert_eq!(console.get(&address, cookie).await.status, 404);
        assert_eq!(console.get(&format!("{address}/file"), cookie).await.status, 404);
    }
    assert_eq!(patch(&console, &bob, &id, json!({ "shared": true })).await.status, 404);
    assert_eq!(console.ask("DELETE", &address, Some(&bob), None).await.status, 404);
    let explain = async |cookie: &str, text: &str| {
        let body = json!({ "text": text }).to_string();
        console.ask("POST", "/api/commands/explain", Some(cookie), Some(&body)).await.json()
    };
    let asked = "perf record -e probe:vfs_* -a";
    assert!(explain(&alice, asked).await["capture"]["spec"].to_string().contains("vfs_read count"));
    assert!(explain(&bob, asked).await["refused"].is_object());
    let his = keep(&console, &bob, &probe("vfs_read")).await;
    assert_eq!(his.status, 201, "{}", his.text());
    let mut all = names(&console, &root, "kind=probe").await;
    all.sort();
    assert_eq!(all, ["probe:vfs_read of alice", "probe:vfs_read of bob"]);
    // What is shared is read by all, and changed by whose it is and by admins.
    assert_eq!(patch(&console, &alice, &id, json!({ "shared": true })).await.status, 200);
    assert_eq!(names(&console, &vera, "").await, ["probe:vfs_read of alice"]);
    assert_eq!(console.get(&address, &vera).await.json()["can_change"], false);
    assert_eq!(names(&console, &bob, "").await, ["probe:vfs_read of bob", "probe:vfs_read of alice"]);
    assert_eq!(patch(&console, &bob, &id, json!({ "description": "mine" })).await.status, 404);
    let both = patch(&console, &bob, &his.json()["id"], json!({ "shared": true })).await;
    assert_eq!(both.status, 409, "{}", both.text());
    assert_eq!(patch(&console, &root, &id, json!({ "description": "reads" })).await.status, 200);
    // One's own goes before what is shared.
    assert!(!explain(&bob, asked).await["capture"]["spec"].to_string().contains("count"));
    assert!(explain(&vera, asked).await["capture"]["spec"].to_string().contains("vfs_read count"));
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_versions_that_come_back_and_what_is_deleted_does_too() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let query = json!({ "kind": "query", "name": "calls", "text": "select 1", "tags": ["a"], "description": " one " });
    let kept = keep(&console, &alice, &query).await.json();
    let id = &kept["id"];
    assert_eq!(keep(&console, &alice, &query).await.status, 409);
    let second = patch(&console, &alice, id, json!({ "seen": 1, "text": "select 2", "name": "more" })).await.json();
    assert_eq!(
        (&second["version"], &second["name"], &second["description"]),
        (&json!(2), &json!("more"), &json!("one"))
    );
    assert_eq!(patch(&console, &alice, id, json!({ "seen": 1, "text": "select 3" })).await.status, 409);
    let back = patch(&console, &alice, id, json!({ "restore": 1 })).await.json();
    assert_eq!((&back["version"], &back["text"]), (&json!(3), &json!("select 1")));
    let texts: Vec<&Value> = back["versions"].as_array().unwrap().iter().map(|one| &one["text"]).collect();
    assert_eq!(texts, [&json!("select 1"), &json!("select 2"), &json!("select 1")]);
    let address = format!("/api/library/{id}");
    assert_eq!(console.ask("DELETE", &address, Some(&alice), None).await.status, 204);
    assert_eq!((names(&console, &alice, "").await.len(), names(&console, &alice, "deleted=true").await.len()), (0, 1));
    let undeleted = console.ask("POST", &format!("{address}/undelete"), Some(&alice), None).await;
    assert_eq!((undeleted.status.as_u16(), undeleted.json()["text"].clone()), (200, json!("select 1")));
    for (words, found) in [("MORE%20alice", 1), ("one", 1), ("a%20query", 1), ("nothing", 0)] {
        assert_eq!(names(&console, &alice, &format!("q={words}")).await.len(), found, "{words}");
    }
    for (bad, status) in [
        (json!({ "kind": "spell", "text": "x" }), 400),
        (json!({ "kind": "query", "name": "a/b", "text": "x" }), 400),
        (json!({ "kind": "filter", "name": "f", "text": "pid ==" }), 400),
        (json!({ "kind": "script", "name": "s", "text": "begin {" }), 400),
        (json!({ "kind": "recipe", "name": "disk", "text": "{}" }), 400),
        (json!({ "kind": "query", "name": "q", "text": "x", "tags": ["a b"] }), 400),
        (json!({ "kind": "query", "name": "q", "text": "x", "description": "a\nb" }), 400),
        (json!({ "kind": "query", "name": "q", "text": "x", "owner": "eve" }), 400),
    ] {
        let answer = keep(&console, &alice, &bad).await;
        assert_eq!(answer.status, status, "{bad}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thing_is_a_text_file_and_comes_back_from_it() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let script = json!({ "kind": "script", "name": "who", "shared": true, "tags": ["cpu"], "description": "Who runs",
        "text": "// mine\ntracepoint:sched:sched_switch { @[args.next_comm] = count(); }\n" });
    let id = keep(&console, &alice, &script).await.json()["id"].clone();
    let file = console.get(&format!("/api/library/{id}/file"), &alice).await;
    let text = file.text().to_owned();
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"who.bt\"");
    assert!(
        text.starts_with(
            "// bathyscope script\n// name: who\n// description: Who runs\n// tags: cpu\n// shared: yes\n\n// mine\n"
        ),
        "{text}"
    );
    let import = async |cookie: &str, text: &str| {
        let body = json!({ "text": text }).to_string();
        console.ask("POST", "/api/library/import", Some(cookie), Some(&body)).await
    };
    // The same is no new version; a change is one.
    assert_eq!(import(&alice, &text).await.json()["version"], 1);
    let changed = import(&alice, &text.replace("count()", "sum(1)")).await.json();
    assert_eq!((&changed["version"], &changed["id"]), (&json!(2), &id));
    // What is shared already by somebody else is not shared twice.
    assert_eq!(import(&bob, &text).await.status, 409);
    let his = import(&bob, &text.replace("shared: yes", "shared: no")).await;
    assert_eq!((his.status.as_u16(), his.json()["owner"].clone()), (200, json!("bob")));
    let bad = import(&alice, "#!/bin/sh\n").await;
    assert!(bad.status == 400 && bad.text().contains("first line"), "{}", bad.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_kept_listed_and_deleted_as_perf_probe_does() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let probes =
        async |body: Value| console.ask("POST", "/api/library/probes", Some(&alice), Some(&body.to_string())).await;
    let add = json!({ "add": [{ "typed": "vfs_read count" }, { "typed": "readline", "file": "bash" }] });
    let dry = probes(json!({ "add": add["add"], "dry_run": true })).await.json();
    assert_eq!((dry["added"].as_array().unwrap().len(), names(&console, &alice, "").await.len()), (2, 0));
    let done = probes(add.clone()).await.json();
    assert_eq!(done["added"][1], json!({ "name": "probe_bash:readline", "text": "-x bash readline" }));
    assert_eq!(probes(add).await.json()["already"], json!(["probe:vfs_read", "probe_bash:readline"]));
    let taken = probes(json!({ "add": [{ "typed": "vfs_read" }] })).await;
    assert!(taken.status == 409 && taken.text().contains("--force"), "{}", taken.text());
    let forced = probes(json!({ "add": [{ "typed": "vfs_read" }], "force": true })).await.json();
    assert_eq!(forced["added"][0], json!({ "name": "probe:vfs_read_1", "text": "probe:vfs_read_1=vfs_read" }));
    let none = probes(json!({ "remove": ["vfs_raed"] })).await;
    assert!(none.status == 404 && none.text().contains("did you mean `probe:vfs_read`?"), "{}", none.text());
    let removed = probes(json!({ "remove": ["vfs_*"] })).await.json();
    assert_eq!(removed["removed"].as_array().unwrap().len(), 2);
    assert_eq!(names(&console, &alice, "").await, ["probe_bash:readline of alice"]);
    assert_eq!(probes(json!({})).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_names_kept_probes_records_them() {
    let console = recording(simulated("rate=2000")).await;
    let root = console.cookie("root", Role::Admin).await;
    for text in ["slow_read=vfs_read count=%dx", "vfs_write"] {
        assert_eq!(keep(&console, &root, &probe(text)).await.status, 201);
    }
    // The simulated kernel makes no dynamic events: that is said of what the name stands for, which is read before.
    for typed in ["probe:slow_*", "probe:vfs_write"] {
        let spec = json!({ "method": { "trace": { "dynamic": [{ "typed": typed }] } }, "target": "system" });
        let answer = console.ask("POST", "/api/captures", Some(&root), Some(&spec.to_string())).await;
        assert!(answer.status == 422 && answer.text().contains("no dynamic events"), "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_completed_with_options_and_names_of_the_host() {
    let console = recording(simulated("")).await;
    let operator = console.cookie("o", Role::Operator).await;
    keep(&console, &operator, &probe("sched_fast=vfs_read")).await;
    let complete = async |text: &str| {
        let body = json!({ "text": text, "at": text.len() }).to_string();
        let answer = console.ask("POST", "/api/commands/complete", Some(&operator), Some(&body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let words = |answer: &Value| -> Vec<String> {
        answer["items"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    };
    let options = complete("perf record --call").await;
    assert_eq!(
        (words(&options), &options["start"], &options["end"]),
        (vec!["--call-graph".to_owned()], &json!(12), &json!(18))
    );
    let events = words(&complete("perf record -e sched").await);
    assert!(events.contains(&"sched:sched_switch".to_owned()), "{events:?}");
    assert_eq!(words(&complete("perf stat -e probe:sch").await), ["probe:sched_fast"]);
    let fields = words(&complete("trace-cmd record -e sched:sched_switch -f 'next_p").await);
    assert!(fields.contains(&"next_pid".to_owned()), "{fields:?}");
    let processes = complete("strace -p java").await;
    assert_eq!(processes["items"][0]["text"], "1533", "{processes}");
    assert_eq!(words(&complete("ls -").await), [""; 0]);
    let long = json!({ "text": "x".repeat(70_000), "at": 1 }).to_string();
    let long = console.ask("POST", "/api/commands/complete", Some(&operator), Some(&long)).await;
    assert!(long.status.is_client_error(), "{}", long.status);
}

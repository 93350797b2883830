//! What each route that takes JSON may be asked with: the examples of `openapi.json`, each of which a test sends through the router.

use bathyscope_capture::CaptureId;
use bathyscope_console::http::Doer;
use bathyscope_store::{NewAccount, PasswordLink, Role, TokenHash};
use serde_json::{Value, json};

use super::{
    super::{
        harness::{Answer, Console, simulated},
        others::connecting_to,
    },
    ANSWERS, check,
};

/// The capture that examples name.
const CAPTURE: CaptureId = CaptureId::from_bits(0x00f1_e2d3_c4b5_a697);
/// The token of a link to choose a password, in the example of that.
const TOKEN: &str = "5f0c3a6b9d2e81475f0c3a6b9d2e81475f0c3a6b9d2e81475f0c3a6b9d2e8147";

/// What a route may be asked with.
pub struct Example {
    pub method: &'static str,
    pub path: &'static str,
    body: &'static str,
    /// What is answered where nothing of the kind is there: of two routes the simulated host has not what they change.
    refused: Option<u16>,
}

const fn example(method: &'static str, path: &'static str, body: &'static str) -> Example {
    Example { method, path, body, refused: None }
}

const fn refused(status: u16, method: &'static str, path: &'static str, body: &'static str) -> Example {
    Example { method, path, body, refused: Some(status) }
}

/// In the order in which the test sends them: who has a password changes it.
pub const EXAMPLES: [Example; 43] = [
    example(
        "POST",
        "/api/password",
        r#"{"token": "5f0c3a6b9d2e81475f0c3a6b9d2e81475f0c3a6b9d2e81475f0c3a6b9d2e8147", "password": "correct horse battery"}"#,
    ),
    example(
        "POST",
        "/api/own/password",
        r#"{"old": "correct horse battery", "new": "another horse, another battery"}"#,
    ),
    example("POST", "/api/own/tokens", r#"{"name": "nightly captures", "role": "operator", "days": 30}"#),
    example("POST", "/api/people", r#"{"name": "alice", "role": "operator"}"#),
    example("PATCH", "/api/people/{name}", r#"{"role": "viewer"}"#),
    example("PUT", "/api/rights/groups/{name}", r#"{"people": ["alice", "bob"]}"#),
    example(
        "PUT",
        "/api/rights/tags/{tag}",
        r#"{"list": [{"to": {"group": "finance"}, "may": "read"}, {"to": {"oidc_group": "sre"}, "may": "change"}]}"#,
    ),
    example(
        "PUT",
        "/api/captures/{id}/rights",
        r#"{"list": [{"to": {"person": "bob"}, "may": "read"}, {"to": {"proxy_group": "ops"}, "may": "change"}]}"#,
    ),
    example(
        "POST",
        "/api/captures",
        r#"{
            "name": "slow reads",
            "sources": [{"id": "calls", "method": {"syscalls": {"calls": ["read"]}}}],
            "target": {"comm": {"pattern": "nginx"}},
            "limits": {"duration_ms": 10000}
        }"#,
    ),
    example("PATCH", "/api/captures/{id}", r#"{"title": "before the release", "add_tags": ["slow"], "pinned": true}"#),
    example(
        "POST",
        "/api/captures/{id}/computed",
        r#"{"span_text": "turns: begin = sched:sched_switch on (cpu), end = sched:sched_switch on (cpu) if next_pid > 0"}"#,
    ),
    example(
        "POST",
        "/api/captures/{id}/notes",
        r#"{"on": {"kind": "track"}, "track": "tid:42", "text": "The reader waits for the **disk**", "colour": 2}"#,
    ),
    example(
        "PATCH",
        "/api/captures/{id}/notes/{note}",
        r#"{"start": 3000000, "end": 8000000, "text": "It began here", "version": 1}"#,
    ),
    example("POST", "/api/captures/{id}/notes/{note}/resolved", r#"{"resolved": true}"#),
    refused(404, "POST", "/api/captures/{id}/probes/detach", r#"{"pattern": "vfs_*"}"#),
    example(
        "POST",
        "/api/captures/{id}/query",
        r#"{"sql": "select comm, count(*) from \"sched:sched_switch\" group by comm", "limits": {"rows": 100}}"#,
    ),
    example("POST", "/api/builder/read", r#"{"text": "kprobe:vfs_read { @[comm] = count(); }"}"#),
    example(
        "POST",
        "/api/builder/try",
        r#"{"text": "tracepoint:sched:sched_switch { printf(\"%s\\n\", args.next_comm); }", "duration_ms": 200, "target": "system"}"#,
    ),
    example(
        "POST",
        "/api/builder/write",
        r#"{"forms": [{"sites": ["tracepoint:syscalls:sys_enter_openat"], "values": [{"expr": "args.filename", "format": "text"}]}]}"#,
    ),
    example("POST", "/api/commands/complete", r#"{"text": "strace -", "at": 8}"#),
    example("POST", "/api/commands/explain", r#"{"text": "perf record -F 99 -g -p 42 -- sleep 10"}"#),
    example(
        "POST",
        "/api/commands/same",
        r#"{"sources": [{"id": "calls", "method": {"syscalls": {}}}], "target": {"process": {"pid": 42, "children": true}}}"#,
    ),
    example("POST", "/api/dynamic/check", r#"{"text": "vfs_read count"}"#),
    refused(422, "POST", "/api/host/kprobes", r#"{"optimization": false}"#),
    example("POST", "/api/investigations", r#"{"title": "Why is it slow since Monday?"}"#),
    example(
        "PATCH",
        "/api/investigations/{id}",
        r#"{"version": 1, "state": "found", "conclusion": "The **disk** is full."}"#,
    ),
    example(
        "POST",
        "/api/investigations/{id}/blocks",
        r#"{"content": {"kind": "view", "capture": "00f1e2d3c4b5a697", "view": "v=3&tab=events", "caption": "the switches"}}"#,
    ),
    example(
        "PATCH",
        "/api/investigations/{id}/blocks/{block}",
        r#"{"version": 1, "content": {"kind": "text", "text": "It *began* on Monday"}}"#,
    ),
    example("POST", "/api/investigations/{id}/blocks/{block}/move", r#"{"before": null}"#),
    example(
        "POST",
        "/api/library",
        r#"{"kind": "filter", "name": "slow-calls", "text": "duration_ns > 100ms", "shared": true, "tags": ["latency"]}"#,
    ),
    example(
        "POST",
        "/api/library/import",
        r#"{"text": "// bathyscope script\n// name: who\n// shared: yes\n\ntracepoint:sched:sched_switch { @[args.next_comm] = count(); }\n"}"#,
    ),
    example("POST", "/api/library/probes", r#"{"add": [{"typed": "vfs_read count"}], "dry_run": true}"#),
    example("PATCH", "/api/library/{id}", r#"{"description": "Calls that people notice"}"#),
    example("POST", "/api/marks", r#"{"text": "shop 2.1 deployed", "link": "https://ci.example/builds/42"}"#),
    example(
        "POST",
        "/api/recipes",
        r#"{
            "name": "why-slow",
            "question": "Why is it slow?",
            "of": "process",
            "opens": "flame",
            "sources": [{"id": "cpu", "method": {"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}}}],
            "limits": {"duration_ms": 5000}
        }"#,
    ),
    example("POST", "/api/scripts/check", r#"{"text": "tracepoint:sched:sched_switch { @[comm] = count(); }"}"#),
    example(
        "POST",
        "/api/scripts/compile",
        r#"{"text": "tracepoint:sched:sched_switch { @[comm] = count(); }", "emit": "plan"}"#,
    ),
    example("POST", "/api/scripts/complete", r#"{"text": "tracepoint:sched:sched_sw", "offset": 25}"#),
    example("POST", "/api/scripts/hover", r#"{"text": "begin { printf(\"\"); }", "offset": 10}"#),
    example("PATCH", "/api/series/{series}", r#"{"baseline": "00f1e2d3c4b5a697"}"#),
    example(
        "POST",
        "/api/shares",
        r#"{"capture": "00f1e2d3c4b5a697", "title": "Why it is slow", "days": 3, "part": {"start": 0, "filter": "cpu == 0"}}"#,
    ),
    example("POST", "/api/shares/allowed", r#"{"allowed": true}"#),
    example("POST", "/api/webhooks", r#"{"name": "on call", "url": "https://hooks.example/bathyscope"}"#),
];

/// The body of a route's example.
pub fn of(method: &str, path: &str) -> Option<Value> {
    let found = EXAMPLES.iter().find(|example| example.method == method && example.path == path)?;
    Some(serde_json::from_str(found.body).unwrap_or_else(|error| panic!("{method} {path}: {error}")))
}

/// Where what examples change is.
struct Places {
    /// Parts of paths that stand for what is there, the longer ones first.
    of: Vec<(&'static str, String)>,
}

impl Places {
    async fn made(console: &Console) -> Self {
        let root = console.cookie("root", Role::Admin).await;
        let id = async |path: &str, body: Value| {
            let made = console.ask("POST", path, Some(&root), Some(&body.to_string())).await;
            assert!(made.status.is_success(), "{path}: {}", made.text());
            made.json()["id"].clone()
        };
        let words = |id: Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let capture = format!("/api/captures/{CAPTURE}");
        let note = words(id(&format!("{capture}/notes"), json!({ "start": 1, "text": "x" })).await);
        let page = words(id("/api/investigations", json!({ "title": "x" })).await);
        let page = format!("/api/investigations/{page}");
        let block = id(&format!("{page}/blocks"), json!({ "content": { "kind": "text", "text": "x" } })).await;
        let kept = words(id("/api/library", json!({ "kind": "filter", "name": "x", "text": "pid == 1" })).await);
        while !console.state.series_task().compute().await.unwrap() {
            tokio::task::yield_now().await;
        }
        let series = words(console.get(&capture, &root).await.json()["run"]["series"].clone());
        let running = json!({ "sources": [{ "id": "calls", "method": { "syscalls": {} } }], "target": "system" });
        let running = words(id("/api/captures", running).await);
        let of = vec![
            ("/api/captures/{id}/probes", format!("/api/captures/{running}/probes")),
            ("/api/captures/{id}", capture),
            ("/notes/{note}", format!("/notes/{note}")),
            ("/api/investigations/{id}", page),
            ("/blocks/{block}", format!("/blocks/{}", words(block))),
            ("/api/library/{id}", format!("/api/library/{kept}")),
            ("/api/series/{series}", format!("/api/series/{series}")),
            ("/api/people/{name}", "/api/people/bob".to_owned()),
            ("/groups/{name}", "/groups/finance".to_owned()),
            ("/tags/{tag}", "/tags/payroll".to_owned()),
        ];
        Self { of }
    }

    fn address(&self, path: &str) -> String {
        self.of.iter().fold(path.to_owned(), |address, (part, place)| address.replace(part, place))
    }
}

async fn console() -> Console {
    let link = simulated("rate=2000");
    assert!(link.connected(std::time::Duration::from_secs(10)).await);
    let public_url = Some("https://trace.example");
    let console = Console::connecting(connecting_to(&["hooks.example"]), public_url, link).await;
    console.store_capture(CAPTURE, "reads", "root", 20).await;
    let people = console.state.people();
    people.add("bob", Role::Operator, Doer::TERMINAL).await.unwrap();
    // The link of `root`, who owns what is there, has the token of the example.
    let link = PasswordLink { hash: TokenHash::of(TOKEN.as_bytes()), expires_unix_ns: i64::MAX };
    let (name, role) = ("root".to_owned(), Role::Admin);
    console.store.add_account(NewAccount { name, role, created_unix_ns: 0, link }).await.unwrap();
    console
}

#[test]
fn every_route_with_a_body_has_an_example_of_its_shape() {
    let answers = &*ANSWERS;
    for route in &answers.routes {
        let found = of(&route.method, &route.path);
        assert_eq!(
            found.is_some(),
            route.asked.json.is_some(),
            "{} {}: an example in answers/examples.rs",
            route.method,
            route.path
        );
        if let (Some(found), Some(shape)) = (found, &route.asked.json) {
            let fits = check::conforms(&found, shape, &answers.asked);
            fits.unwrap_or_else(|why| panic!("{} {}: {why}", route.method, route.path));
        }
    }
    let known =
        |example: &Example| answers.routes.iter().any(|it| it.method == example.method && it.path == example.path);
    assert!(EXAMPLES.iter().all(known), "no example is of a route that is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_a_request_is_taken() {
    let console = console().await;
    let places = Places::made(&console).await;
    let mut wrong = Vec::new();
    for example in &EXAMPLES {
        // Some of them end sessions.
        let root = console.cookie("root", Role::Admin).await;
        let body = serde_json::from_str::<Value>(example.body).unwrap().to_string();
        let address = places.address(example.path);
        let answer: Answer = console.ask(example.method, &address, Some(&root), Some(&body)).await;
        let is_expected = match example.refused {
            None => answer.status.is_success(),
            Some(expected) => answer.status.as_u16() == expected,
        };
        if !is_expected {
            wrong.push(format!("{} {address}: {} {}", example.method, answer.status, answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

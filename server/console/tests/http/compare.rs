//! Captures beside each other.

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::{
    harness::{Console, simulated},
    recording::start,
    shares::share,
};

fn texts(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_captures_are_beside_each_other_with_what_differs() {
    let console = Console::new().await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let a = console.capture("before <b>\u{1b}[2K", "alice", 1000).await;
    let b = console.capture("after", "alice", 3000).await;
    let answer = console.get(&format!("/api/compare?a={a}&b={b}"), &vera).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    assert_eq!(found["a"]["title"], "before <b>\\x1b[2K");
    assert_eq!((&found["a"]["rows"], &found["b"]["rows"]), (&json!(1000), &json!(3000)));
    let spec = found["spec"].as_array().unwrap();
    assert!(spec.iter().all(|line| line["same"] == true), "the title is not asked for: {spec:?}");
    let fields = spec.iter().find(|line| line["what"].as_str().unwrap().ends_with("sched:sched_switch: fields"));
    assert_eq!(fields.unwrap()["a"], "next_pid");
    assert!(
        texts(&found["cautions"]).iter().any(|text| text.starts_with("One lasted longer")),
        "{}",
        found["cautions"]
    );
    let stream = &found["rows"]["streams"][0];
    assert_eq!(stream["name"], "sched:sched_switch");
    assert_eq!(stream["numbers"][0]["what"], "count");
    assert_eq!(stream["numbers"][0]["difference"], 2000.0);
    assert_eq!(stream["columns"][0]["column"], "next_pid");
    // Half of the rows are of each thread in both.
    assert_eq!(found["rows"]["names_compared"], 2);
    assert_eq!(found["functions"]["why_not"], "neither has sampled stacks");
    assert_eq!(console.get("/compare", &vera).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_compared_is_refused_and_no_share_reaches_it() {
    let console = Console::new().await;
    let (vera, root) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let (a, b) = (console.capture("a", "alice", 10).await, console.capture("b", "alice", 20).await);
    let status = async |query: &str, cookie: &str| console.get(&format!("/api/compare{query}"), cookie).await;
    let same = status(&format!("?a={a}&b={a}"), &vera).await;
    assert_eq!(same.status, 400);
    assert!(same.text().contains("the same capture"), "{}", same.text());
    for query in ["", "?a=x&b=y", &format!("?a={a}"), &format!("?a={a}&b=../../etc/passwd")] {
        assert_eq!(status(query, &vera).await.status, 400, "{query}");
    }
    assert_eq!(status(&format!("?a={a}&b=00000000000000ee"), &vera).await.status, 404);
    let link = share(&console, &root, json!({ "capture": a })).await;
    let own = link.get(&console, &format!("/api/captures/{a}")).await;
    assert_eq!(own.status, 200);
    for path in ["/api/compare", "/compare"] {
        let below = link.get(&console, &format!("{path}?a={a}&b={b}")).await;
        assert_eq!(below.status, 404, "{path}: it is of two captures");
    }
    assert!(console.ask("DELETE", &format!("/api/captures/{b}"), Some(&root), None).await.status.is_success());
    assert_eq!(status(&format!("?a={a}&b={b}"), &vera).await.status, 404, "it was deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_asked_for_has_not_gone() {
    let console = Console::with_link(simulated("rate=4000")).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let spec = |calls: &[&str]| {
        json!({ "name": "", "sources": [{ "id": "calls", "method": { "syscalls": { "calls": calls } } }],
                "target": "system", "limits": { "duration_ms": 400 } })
        .to_string()
    };
    let mut ids = Vec::new();
    for calls in [&[][..], &["openat", "clock_nanosleep"]] {
        let id = start(&console, &alice, &spec(calls)).await;
        console.state.recorder().wait(id).await;
        ids.push(id);
    }
    let found = console.get(&format!("/api/compare?a={}&b={}", ids[0], ids[1]), &alice).await.json();
    let calls = found["rows"]["names"].as_array().unwrap().iter().filter(|name| name["kind"] != "process");
    let calls: Vec<&str> = calls.map(|name| name["name"].as_str().unwrap()).collect();
    assert!(!calls.is_empty() && calls.iter().all(|call| ["openat", "clock_nanosleep"].contains(call)), "{calls:?}");
    let said = |cautions: &Value, words: &str| texts(cautions).iter().any(|text| text.contains(words));
    assert!(said(&found["cautions"], "of the first of what the second did not ask for"), "{}", found["cautions"]);
    assert!(said(&found["cautions"], "They were not asked for the same (calls: "), "{}", found["cautions"]);
    let path = format!("/api/captures/{}", ids[1]);
    for view in ["syscalls/compare?calls_by=call", "pivot/compare?by=call"] {
        let table = console.get(&format!("{path}/{view}&with={}", ids[0]), &alice).await.json();
        assert_eq!(table["only_there"], 0, "{table}");
        assert!(said(&table["cautions"], "rows there of what was not asked for here"), "{}", table["cautions"]);
    }
    // A range of itself was asked for the same.
    let own = console.get(&format!("{path}/pivot/compare?by=call&with_end=200000000"), &alice).await.json();
    assert!(!said(&own["cautions"], "asked for"), "{}", own["cautions"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_profiles_have_their_functions_beside_each_other() {
    let console = Console::with_link(simulated("rate=2000")).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let spec = |hz: u32| {
        let method = json!({ "profile": { "frequency_hz": hz, "kernel_stacks": true, "user_stacks": true } });
        json!({ "name": "", "sources": [{ "id": "cpu", "method": method }], "target": "system",
                "limits": { "duration_ms": 300 } })
        .to_string()
    };
    let mut ids = Vec::new();
    for hz in [99, 199] {
        let id = start(&console, &alice, &spec(hz)).await;
        console.state.recorder().wait(id).await;
        ids.push(id);
    }
    let found = console.get(&format!("/api/compare?a={}&b={}", ids[0], ids[1]), &alice).await.json();
    let differing: Vec<&Value> =
        found["spec"].as_array().unwrap().iter().filter(|line| line["same"] == false).collect();
    assert!(
        differing.iter().any(|line| line["part"] == "cpu" && line["a"] == "99" && line["b"] == "199"),
        "{differing:?}"
    );
    let functions = &found["functions"];
    assert_eq!(functions["why_not"], Value::Null);
    assert!(functions["compared"].as_u64().unwrap() > 0 && functions["b_total"].as_u64().unwrap() > 0, "{functions}");
    assert!(texts(&found["cautions"]).iter().any(|text| text.contains("were made up")));
}

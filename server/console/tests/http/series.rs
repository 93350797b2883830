//! Series: runs of the same with their key numbers, a baseline, and marked moments.

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::{
    harness::{Answer, Console, simulated},
    shares::share,
};

const SYSCALLS: &str =
    r#"{"sources":[{"id":"calls","method":{"syscalls":{}}}],"target":"system","limits":{"duration_ms":300}}"#;

async fn ask(console: &Console, (method, path): (&str, &str), cookie: &str, body: &Value) -> Answer {
    console.ask(method, path, Some(cookie), Some(&body.to_string())).await
}

/// Records the same again, and waits until its numbers are there.
async fn run(console: &Console, cookie: &str, again: Option<&str>) -> String {
    let query = again.map_or_else(String::new, |id| format!("?again={id}"));
    let started = console.ask("POST", &format!("/api/captures{query}"), Some(cookie), Some(SYSCALLS)).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let id = started.json()["id"].as_str().unwrap().to_owned();
    // It is of its series from the beginning.
    let own = console.get(&format!("/api/captures/{id}"), cookie).await.json();
    assert_eq!(own["run"]["again_of"], again.map_or(Value::Null, Value::from));
    console.state.recorder().wait(id.parse::<CaptureId>().unwrap()).await;
    while !console.state.series_task().compute().await.unwrap() {
        tokio::task::yield_now().await;
    }
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_the_same_are_one_line_with_key_numbers_and_a_baseline() {
    let console = Console::with_link(simulated("rate=3000")).await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let first = run(&console, &alice, None).await;
    let second = run(&console, &alice, Some(&first)).await;
    let third = run(&console, &alice, Some(&second)).await;
    let own = console.get(&format!("/api/captures/{third}"), &vera).await.json();
    let series = own["run"]["series"].as_str().unwrap().to_owned();
    assert_eq!((&own["run"]["runs"], &own["run"]["again_of"]), (&json!(3), &json!(second)));
    let path = format!("/api/series/{series}");
    let page = console.get(&path, &vera).await.json();
    let ids: Vec<&str> = page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&third, &second, &first]);
    let keys: Vec<&str> = page["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap()).collect();
    for key in ["rate@syscalls", "count@syscalls", "p50:duration_ns@syscalls", "p99:duration_ns@syscalls"] {
        assert!(keys.contains(&key), "{key}: {keys:?}");
    }
    let at = keys.iter().position(|key| *key == "count@syscalls").unwrap();
    for run in page["runs"].as_array().unwrap() {
        assert_eq!((&run["computed"], &run["problem"]), (&json!(true), &json!("")));
        assert!(run["numbers"][at]["value"].as_f64().unwrap() > 0.0, "{run}");
        assert_eq!(run["numbers"][at]["verdict"], Value::Null, "there is no baseline");
    }
    assert_eq!(page["can_change"], false);
    // The list of captures leads there.
    let listed = console.get("/api/captures", &vera).await.json();
    assert_eq!(listed["items"][0]["series"], json!({ "id": series, "runs": 3 }));
    let all = console.get("/api/series", &vera).await.json();
    assert_eq!((&all["items"][0]["id"], &all["items"][0]["runs"]), (&json!(series), &json!(3)));
    assert_eq!(console.get(&format!("/series/{series}"), &vera).await.status, 200);
    // A baseline.
    assert_eq!(ask(&console, ("PATCH", &path), &vera, &json!({ "baseline": first })).await.status, 404);
    let page = ask(&console, ("PATCH", &path), &alice, &json!({ "baseline": second })).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let page = page.json();
    let verdicts = |at: usize| -> Vec<&Value> {
        page["runs"][at]["numbers"].as_array().unwrap().iter().map(|number| &number["verdict"]).collect()
    };
    assert_eq!((&page["baseline"], &page["can_change"]), (&json!(second), &json!(true)));
    assert!(verdicts(0).iter().all(|verdict| verdict.is_string()), "{:?}", verdicts(0));
    assert!(verdicts(1).iter().chain(&verdicts(2)).all(|verdict| verdict.is_null()));
    let other = console.capture("another", "alice", 10).await;
    assert_eq!(ask(&console, ("PATCH", &path), &alice, &json!({ "baseline": other })).await.status, 400);
    assert_eq!(ask(&console, ("PATCH", &path), &alice, &json!({ "baseline": Value::Null })).await.status, 200);
    // A deleted one is no run.
    let root = console.cookie("root", Role::Admin).await;
    assert!(console.ask("DELETE", &format!("/api/captures/{first}"), Some(&root), None).await.status.is_success());
    assert_eq!(console.get(&path, &vera).await.json()["runs"].as_array().unwrap().len(), 2);
    let audit = console.store.audit(0, 50).await.unwrap();
    assert_eq!(audit.iter().filter(|entry| entry.entry.action == "series.baseline").count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_hostile_names_or_is_of_a_share_tells_no_more_than_it_may() {
    let console = Console::new().await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let hostile = "<img src=x onerror=alert(1)>\u{1b}[2K";
    let (a, _) = (console.capture(hostile, "alice", 100).await, console.capture("b", "alice", 200).await);
    console.state.series_task().compute().await.unwrap();
    let own = console.get(&format!("/api/captures/{a}"), &vera).await.json();
    assert_eq!(own["run"]["runs"], 2, "its title and length say nothing");
    let series = own["run"]["series"].as_str().unwrap().to_owned();
    let page = console.get(&format!("/api/series/{series}"), &vera).await;
    assert!(page.text().contains("<img src=x onerror=alert(1)>\\\\x1b[2K"), "{}", page.text());
    let link = share(&console, &alice, json!({ "capture": a })).await;
    let shared = link.get(&console, &format!("/api/captures/{a}")).await;
    assert_eq!((shared.status.as_u16(), &shared.json()["run"]), (200, &Value::Null));
    for path in [format!("/api/series/{series}"), "/api/series".to_owned(), "/api/marks".to_owned()] {
        assert_eq!(link.get(&console, &path).await.status, 404, "{path}");
    }
    for id in ["00000000000000ee", "x", "..%2f"] {
        assert!(console.get(&format!("/api/series/{id}"), &vera).await.status.is_client_error(), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moments_are_marked_by_operators_and_removed_by_who_marked_them_and_admins() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (vera, root) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let mark = async |cookie: &str, body: Value| ask(&console, ("POST", "/api/marks"), cookie, &body).await;
    assert_eq!(mark(&vera, json!({ "text": "x" })).await.status, 404);
    let made = mark(&alice, json!({ "text": "shop 2.1 <script>", "link": "https://ci.example/7" })).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let made = made.json();
    assert_eq!((&made["author"], &made["text"]), (&json!("alice"), &json!("shop 2.1 <script>")));
    for body in [
        json!({ "text": "" }),
        json!({ "text": "x", "link": "javascript:alert(1)" }),
        json!({ "text": "x\u{1b}[2K" }),
        json!({ "text": "x", "time_unix_ns": -5 }),
        json!({ "text": "x", "colour": "red" }),
        json!({}),
    ] {
        assert_eq!(mark(&alice, body.clone()).await.status, 400, "{body}");
    }
    // Its time is that of the captures: a mark before all of them is on no chart.
    let a = console.capture("a", "alice", 10).await;
    console.capture("b", "alice", 20).await;
    console.state.series_task().compute().await.unwrap();
    let before = mark(&bob, json!({ "text": "old", "time_unix_ns": 1 })).await;
    assert_eq!(before.status, 200);
    let elsewhere = json!({ "text": "elsewhere", "host": "another-host" });
    assert_eq!(mark(&bob, elsewhere).await.status, 200);
    let own = console.get(&format!("/api/captures/{a}"), &vera).await.json();
    let page = console.get(&format!("/api/series/{}", own["run"]["series"].as_str().unwrap()), &vera).await.json();
    let texts: Vec<&str> =
        page["marks"].as_array().unwrap().iter().map(|mark| mark["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["shop 2.1 <script>"]);
    assert_eq!(console.get("/api/marks", &vera).await.json()["items"].as_array().unwrap().len(), 3);
    let path = format!("/api/marks/{}", made["id"]);
    for cookie in [&bob, &vera] {
        assert_eq!(console.ask("DELETE", &path, Some(cookie), None).await.status, 404);
    }
    assert_eq!(console.ask("DELETE", &path, Some(&root), None).await.status, 204);
    assert_eq!(console.ask("DELETE", &path, Some(&root), None).await.status, 404);
    let audit = console.store.audit(0, 50).await.unwrap();
    let actions: Vec<&str> = audit.iter().map(|entry| entry.entry.action.as_str()).collect();
    assert!(actions.contains(&"mark.add") && actions.contains(&"mark.remove"), "{actions:?}");
}

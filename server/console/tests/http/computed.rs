//! Streams that are computed from what a capture has recorded.

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::{
    harness::{Console, simulated},
    recording::{console, start},
};

const STATES: &str = r#"{"sources":[{"id":"states","method":{"states":{}}}],"target":"system",
    "limits":{"duration_ms":300,"budget_cpu_permille":50}}"#;

/// The capture's page when nothing is being computed of it.
pub async fn settled(console: &Console, cookie: &str, id: CaptureId) -> Value {
    console.state.recorder().ended(id).await;
    loop {
        let page = console.get(&format!("/api/captures/{id}"), cookie).await.json();
        if page["computed"]["is_busy"] == false {
            return page;
        }
        tokio::task::yield_now().await;
    }
}

async fn asked(console: &Console, cookie: &str, id: CaptureId, sql: &str) -> (u16, Value) {
    let body = json!({ "sql": sql }).to_string();
    let answer = console.ask("POST", &format!("/api/captures/{id}/query"), Some(cookie), Some(&body)).await;
    (answer.status.as_u16(), answer.json())
}

async fn what_is_read_from_tracks(console: &Console, cookie: &str, id: CaptureId) {
    let path = format!("/api/captures/{id}/tracks");
    let tracks = console.get(&path, cookie).await.json();
    let of = |stream: &str| tracks["streams"].as_array().unwrap().iter().find(|it| it["name"] == stream).cloned();
    assert_eq!(of("thread states").unwrap()["of"], "thread");
    assert_eq!(of("cpu occupation").unwrap()["of"], "cpu");
    let track = tracks["tracks"].as_array().unwrap().iter().max_by_key(|it| it["rows"].as_u64()).unwrap();
    let (one, time) = (track["id"].as_str().unwrap(), track["start"].as_i64().unwrap());
    let window = console.get(&format!("{path}/window?tracks={one}&width=400"), cookie).await;
    assert_eq!((window.status.as_u16(), &window.body[..4]), (200, &b"BTW2"[..]));
    let moment = console.get(&format!("{path}/moment?tracks={one}&time={time}"), cookie).await.json();
    assert_eq!((&moment["at"]["start"], &moment["before"]), (&json!(time), &Value::Null), "{moment:#}");
    assert!(moment["fields"]["cells"].is_array(), "the row that it was made of is found");
    let of_threads = tracks["tracks"].as_array().unwrap().iter().filter(|it| it["tid"].is_u64());
    let thread = of_threads.max_by_key(|it| it["rows"].as_u64()).unwrap()["key"].as_str().unwrap();
    let found = console.get(&format!("{path}/critical-path?thread={thread}"), cookie).await.json();
    let sum: u64 = found["shares"].as_array().unwrap().iter().map(|it| it["time"].as_u64().unwrap()).sum();
    let covered = found["stopped"]["time"].as_i64().or(found["start"].as_i64()).unwrap();
    assert_eq!(Some(sum), found["end"].as_u64().map(|end| end.strict_sub_signed(covered)), "{found:#}");
    assert!(found["waits"][0]["waker"].is_u64(), "threads are woken by others");
    for bad in [
        "window?tracks=none",
        "window",
        "window?tracks=2.0&width=0",
        "moment?tracks=2.0,2.1",
        "moment?tracks=9.9",
        "critical-path",
        "critical-path?thread=tid:99999999",
        "critical-path?thread=3.0",
    ] {
        assert_eq!(console.get(&format!("{path}/{bad}"), cookie).await.status, 400, "{bad}");
    }
}

/// What is read from all of a capture of states: over all tracks, over one, and what is refused.
async fn what_is_read_from_ranges(console: &Console, cookie: &str, id: CaptureId) {
    let path = format!("/api/captures/{id}/range");
    let all = console.get(&format!("{path}/threads"), cookie).await.json();
    let threads = all["threads"].as_array().unwrap();
    assert!(threads.len() > 1 && threads[0]["states"][0]["count"].as_u64().unwrap() > 0, "{all:#}");
    let tracks = console.get(&format!("/api/captures/{id}/tracks"), cookie).await.json();
    let of_thread =
        tracks["tracks"].as_array().unwrap().iter().find(|track| track["key"] == threads[0]["key"]).unwrap();
    let track = of_thread["id"].as_str().unwrap();
    let one = console.get(&format!("{path}/threads?tracks={track}"), cookie).await.json();
    assert_eq!(one["threads"][0], threads[0], "{one:#}");
    assert_eq!(one["threads"].as_array().unwrap().len(), 1, "{one:#}");
    let waits = console.get(&format!("{path}/waits"), cookie).await.json();
    let wakeups = console.get(&format!("{path}/wakeups"), cookie).await.json();
    assert!(waits["all"]["count"].as_u64() > Some(0) && waits["all"]["count"] == wakeups["total"], "{wakeups:#}");
    for (name, list) in [("slices", "slices"), ("counters", "counters"), ("amounts", "names")] {
        let answer = console.get(&format!("{path}/{name}?start=0&end=1000"), cookie).await.json();
        assert_eq!(answer[list], json!([]), "{name}: states are none of these");
    }
    for bad in ["threads?tracks=none", "waits?tracks=9.9"] {
        assert_eq!(console.get(&format!("{path}/{bad}"), cookie).await.status, 400, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_are_computed_when_a_capture_has_ended_and_can_be_removed_and_computed_again() {
    let console = console(simulated("rate=4000")).await;
    let operator = console.cookie("bob", Role::Operator).await;
    let id = start(&console, &operator, STATES).await;
    let page = settled(&console, &operator, id).await;
    let rule = &page["computed"]["rules"][0];
    assert_eq!((&rule["name"], &rule["state"]), (&json!("thread states"), &json!("complete")), "{page:#}");
    assert_eq!((&page["computed"]["possible"], &page["sources"][0]["state"]), (&json!([]), &json!("ended")));
    assert_eq!(page["streams"][2]["rule"], "thread states");
    assert_eq!(page["streams"][2]["row"], "state");
    let (status, answer) = asked(&console, &operator, id, "select count(*) from states").await;
    assert_eq!(status, 200, "{answer:#}");
    let rate = console.get(&format!("/api/captures/{id}/rate?bins=8"), &operator).await.json();
    assert_eq!(rate["streams"].as_array().unwrap().len(), 2, "what was recorded is counted once: {rate}");

    what_is_read_from_tracks(&console, &operator, id).await;
    what_is_read_from_ranges(&console, &operator, id).await;

    let address = format!("/api/captures/{id}/computed");
    let removed = console.ask("DELETE", &format!("{address}/0"), Some(&operator), None).await;
    assert_eq!(removed.status, 204);
    let page = console.get(&format!("/api/captures/{id}"), &operator).await.json();
    assert_eq!(page["computed"]["rules"][0]["state"], "removed");
    assert_eq!((&page["streams"][2]["columns"], &page["streams"][2]["name"]), (&json!([]), &json!("")));
    assert_eq!(page["computed"]["possible"], json!(["thread states"]));
    let path = format!("/api/captures/{id}/tracks");
    assert_eq!(console.get(&path, &operator).await.json()["tracks"], json!([]), "tracks go with their streams");
    let (status, answer) = asked(&console, &operator, id, "select * from thread_states").await;
    assert_eq!((status, answer.to_string().contains("no such table")), (400, true), "{answer:#}");
    let rows = console.get(&format!("/api/captures/{id}/rows?stream=2"), &operator).await;
    assert_ne!(rows.status, 500, "{}", rows.text());

    let compute = async |who: &str, body: &str| console.ask("POST", &address, Some(who), Some(body)).await;
    assert_eq!(compute(&operator, r#"{"rule":"thread states"}"#).await.status, 202);
    let page = settled(&console, &operator, id).await;
    assert_eq!(page["computed"]["rules"][0]["state"], "complete");
    let span = r#"{"span":{"name":"<b>naps","begin":{"stream":"switches","key":["tid"],"condition":"state == \"S\""},
        "end":{"stream":"wakeups","key":["wakee_tid"]},"pairing":"exclusive"}}"#;
    let made = compute(&operator, span).await;
    assert_eq!(made.status, 202, "{}", made.text());
    let page = settled(&console, &operator, id).await;
    assert_eq!(
        (&page["computed"]["rules"][1]["state"], &page["streams"][5]["name"]),
        (&json!("complete"), &json!("<b>naps"))
    );
    assert_eq!(page["computed"]["rules"][0]["span"], Value::Null, "a rule of the program");
    let text = page["computed"]["rules"][1]["span"].as_str().unwrap();
    assert!(text.starts_with("<b>naps: begin = switches on (tid) if state =="), "{text}");
    assert_eq!(console.ask("DELETE", &format!("{address}/1"), Some(&operator), None).await.status, 204);
    let again = compute(&operator, &json!({ "span_text": text }).to_string()).await;
    assert_eq!(again.status, 202, "{}", again.text());
    let anew = settled(&console, &operator, id).await;
    assert_eq!(anew["computed"], page["computed"], "the text of a span is the span");

    for (body, expected) in [
        (r#"{"rule":"thread states"}"#, "computed already"),
        (r#"{"rule":"block requests"}"#, "it can have: thread states"),
        (span, "computed already"),
        (
            r#"{"span":{"name":"a","begin":{"stream":"none","key":["tid"]},"end":{"stream":"wakeups","key":["tid"]},"pairing":"nested"}}"#,
            "none",
        ),
        (
            r#"{"span":{"name":"a","begin":{"stream":"switches","key":["tid"],"condition":"tid =="},"end":{"stream":"wakeups","key":["tid"]},"pairing":"nested"}}"#,
            "cannot be read",
        ),
        (r#"{"span_text":"naps of threads"}"#, "a span is written"),
        ("{}", ""),
    ] {
        let refused = compute(&operator, body).await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text());
        assert!(refused.text().contains(expected), "{body}: {}", refused.text());
    }
    let (other, viewer) = (console.cookie("eve", Role::Operator).await, console.cookie("vic", Role::Viewer).await);
    for who in [&other, &viewer] {
        assert_eq!(compute(who, r#"{"rule":"thread states"}"#).await.status, 404);
        assert_eq!(console.ask("DELETE", &format!("{address}/0"), Some(who), None).await.status, 404);
    }
    let actions = |action: &str| {
        let action = action.to_owned();
        let store = console.store.clone();
        async move { store.audit(0, 100).await.unwrap().into_iter().filter(|it| it.entry.action == action).count() }
    };
    assert_eq!((actions("capture.compute").await, actions("capture.remove_computed").await), (3, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_computed_of_a_capture_that_is_being_recorded() {
    let console = console(simulated("rate=100")).await;
    let operator = console.cookie("bob", Role::Operator).await;
    let long = STATES.replace("300", "60000");
    let id = start(&console, &operator, &long).await;
    let (address, body) = (format!("/api/captures/{id}/computed"), r#"{"rule":"thread states"}"#);
    let refused = console.ask("POST", &address, Some(&operator), Some(body)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("when the capture has ended"), "{}", refused.text());
    let stopped = console.ask("POST", &format!("/api/captures/{id}/stop"), Some(&operator), None).await;
    assert_eq!(stopped.status, 200);
    let page = settled(&console, &operator, id).await;
    assert_eq!(page["computed"]["rules"][0]["state"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn system_calls_are_on_tracks_when_a_capture_has_ended() {
    let spec = r#"{"sources":[{"id":"calls","method":{"syscalls":{}}}],"target":"system",
        "limits":{"duration_ms":300,"budget_cpu_permille":50}}"#;
    let console = console(simulated("rate=4000")).await;
    let operator = console.cookie("bob", Role::Operator).await;
    let id = start(&console, &operator, spec).await;
    let page = settled(&console, &operator, id).await;
    let rows = page["streams"][0]["rows"].as_u64().unwrap();
    let path = format!("/api/captures/{id}/tracks");
    let tracks = console.get(&path, &operator).await.json();
    assert_eq!((&tracks["streams"][0]["row"], &tracks["streams"][0]["of"]), (&json!("slice"), &json!("thread")));
    let all: u64 = tracks["tracks"].as_array().unwrap().iter().map(|track| track["rows"].as_u64().unwrap()).sum();
    assert_eq!((all, &tracks["left_out"]), (rows, &json!(0)), "each call is on a track");
    let longest = tracks["tracks"].as_array().unwrap().iter().max_by_key(|track| track["longest"].as_u64()).unwrap();
    let (one, start) = (longest["id"].as_str().unwrap(), longest["start"].as_i64().unwrap());
    let moment = console.get(&format!("{path}/moment?tracks={one}&time={start}"), &operator).await.json();
    let columns: Vec<_> = moment["fields"]["columns"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    let call = columns.iter().position(|name| *name == "call").unwrap();
    assert_eq!(moment["fields"]["cells"][call], moment["at"]["name"]["text"], "the call is the name");
}

//! Flight recorders: started, seen, fired and told of, with the simulated agent.

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;

use super::{
    harness::{Console, simulated},
    recording::{console, start},
};

const FLIGHT: &str = r#"{"sources":[{"id":"calls","method":{"syscalls":{"calls":["read"]}}}],"target":"system",
    "limits":{"duration_ms":null,"flight":{"before_s":60,"after_s":0,"pause_s":0,"triggers":[TRIGGERS]}}}"#;

async fn page(console: &Console, cookie: &str, id: CaptureId) -> serde_json::Value {
    console.ask("GET", &format!("/api/captures/{id}"), Some(cookie), None).await.json()
}

/// The page of a capture when it is as is wanted.
async fn page_when(
    console: &Console,
    cookie: &str,
    id: CaptureId,
    wanted: impl Fn(&serde_json::Value) -> bool,
) -> serde_json::Value {
    for _ in 0..3000 {
        let page = page(console, cookie, id).await;
        if wanted(&page) {
            return page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never was so: {}", page(console, cookie, id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_recorder_is_fired_by_who_may_and_tells_what_it_did() {
    let console = console(simulated("rate=2000")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let other = console.cookie("bob", Role::Operator).await;
    let id = start(&console, &operator, &FLIGHT.replace("TRIGGERS", "")).await;
    let held = page_when(&console, &operator, id, |page| page["flight"]["held_rows"].as_u64() > Some(0)).await;
    assert_eq!((held["stored"].as_array().unwrap().len(), &held["firing"]), (0, &serde_json::Value::Null));
    let path = format!("/api/captures/{id}/fire");
    // Somebody else's looks like one that does not exist.
    assert_eq!(console.ask("POST", &path, Some(&other), None).await.status, 404);
    let fired = console.ask("POST", &path, Some(&operator), None).await;
    assert_eq!(fired.status, 201, "{}", fired.text());
    let stored: CaptureId = fired.json()["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(fired.header("location"), format!("/captures/{stored}"));
    let told = page_when(&console, &operator, stored, |page| page["state"] == "finished").await;
    assert_eq!(
        (told["firing"]["kind"].as_str(), told["firing"]["trigger"].as_str()),
        (Some("hand"), Some("by hand of alice"))
    );
    assert_eq!(told["firing"]["recorder"], id.to_string());
    assert!(told["streams"][0]["rows"].as_u64() > Some(0), "{told}");
    let own = page(&console, &operator, id).await;
    assert_eq!(own["stored"][0], stored.to_string());
    assert_eq!(own["streams"][0]["rows"], 0);
    let rows = console.ask("GET", &format!("/api/captures/{stored}/rows?stream=0"), Some(&operator), None).await;
    assert!(rows.json()["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{}", rows.text());
    assert_eq!(console.ask("POST", &format!("/api/captures/{id}/stop"), Some(&operator), None).await.status, 200);
    console.state.recorder().wait(id).await;
    let gone = console.ask("POST", &path, Some(&operator), None).await;
    assert_eq!(gone.status, 409, "{}", gone.text());
    let admin = console.cookie("root", Role::Admin).await;
    let audit = console.ask("GET", "/api/audit", Some(&admin), None).await;
    assert!(audit.text().contains("capture.fire") && audit.text().contains(&format!("stored as {stored}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_on_rows_fires_and_one_that_fits_nothing_is_refused() {
    let console = console(simulated("rate=2000")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    for (triggers, expected) in [
        (r#""no_such_column == 1""#, "no_such_column"),
        (r#""pressure disk > 5% for 1s""#, "pressure cpu, memory or io"),
        (r#""at 61 * * * *""#, "minute"),
        (r#""duration_ns > 4KiB""#, "write a time such as 100ms, or a number without a unit at character 14"),
        (r#""on no_such if duration_ns > 1ms""#, "there is no stream"),
    ] {
        let spec = FLIGHT.replace("TRIGGERS", triggers);
        let answer = console.ask("POST", "/api/captures", Some(&operator), Some(&spec)).await;
        assert_eq!(answer.status, 400, "{triggers}: {}", answer.text());
        assert!(answer.text().contains(expected), "{triggers}: {}", answer.text());
    }
    let id = start(&console, &operator, &FLIGHT.replace("TRIGGERS", r#""duration_ns >= 0.001us""#)).await;
    let own = page_when(&console, &operator, id, |page| !page["stored"].as_array().unwrap().is_empty()).await;
    let stored = own["stored"].as_array().unwrap().last().unwrap().as_str().unwrap().parse().unwrap();
    let told = page_when(&console, &operator, stored, |page| page["state"] == "finished").await;
    assert_eq!(
        (told["firing"]["kind"].as_str(), told["firing"]["trigger"].as_str()),
        (Some("row"), Some("duration_ns >= 0.001us"))
    );
    assert!(told["firing"]["value"].as_str().unwrap().contains("duration_ns "), "{told}");
    assert!(console.state.recorder().stop(id, "alice"));
    console.state.recorder().wait(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_monitoring_system_fires_it_with_a_token_that_is_kept_as_a_hash() {
    let console = console(simulated("rate=2000")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let id = start(&console, &operator, &FLIGHT.replace("TRIGGERS", "").replace("\"pause_s\":0", "\"pause_s\":\"1h\""))
        .await;
    assert_eq!(page(&console, &operator, id).await["spec"]["limits"]["flight"]["pause_s"], 3600);
    page_when(&console, &operator, id, |page| page["flight"]["held_rows"].as_u64() > Some(0)).await;
    let made = console.ask("POST", &format!("/api/captures/{id}/fire-token"), Some(&operator), None).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let token = made.json()["token"].as_str().unwrap().to_owned();
    assert!(made.json()["url"].as_str().unwrap().ends_with(&format!("/api/fire/{id}")));
    let told = page(&console, &operator, id).await;
    assert_eq!(told["fire_token"]["made_by"], "alice");
    assert!(!told.to_string().contains(&token));
    let post = async |token: &str, more: Option<(&str, &str)>| {
        let request = http::Request::builder().method("POST").uri(format!("/api/fire/{id}"));
        let request = request.header("host", super::harness::HOST).header("authorization", format!("Bearer {token}"));
        let request = more.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        super::harness::Answer::of(console.send(request.body(axum::body::Body::empty()).unwrap()).await).await
    };
    assert_eq!(post("wrong", None).await.status, 404);
    // A page of another site does not get so far.
    assert_eq!(post(&token, Some(("origin", "http://attacker.example"))).await.status, 403);
    let fired = post(&token, None).await;
    assert_eq!(fired.status, 201, "{}", fired.text());
    let stored: CaptureId = fired.json()["id"].as_str().unwrap().parse().unwrap();
    let told = page_when(&console, &operator, stored, |page| page["state"] == "finished").await;
    assert_eq!(
        (told["firing"]["kind"].as_str(), told["firing"]["trigger"].as_str()),
        (Some("token"), Some("a request with the token"))
    );
    let again = post(&token, None).await;
    assert_eq!(again.status, 429, "{}", again.text());
    assert!(again.text().contains("pause"), "{}", again.text());
    let revoke = format!("/api/captures/{id}/fire-token");
    assert_eq!(console.ask("DELETE", &revoke, Some(&operator), None).await.status, 204);
    assert_eq!(post(&token, None).await.status, 404);
    assert!(console.state.recorder().stop(id, "alice"));
    console.state.recorder().wait(id).await;
}

//! Webhooks: made by admins, tried, and told of what flight recorders store, signed and without text of events.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::State, routing::post};
use bathyscope_capture::CaptureId;
use bathyscope_console::webhooks::signature;
use bathyscope_store::Role;
use http::{HeaderMap, StatusCode};

use super::{
    harness::{Console, no_agent, simulated},
    others::{connecting_to, serving},
    recording::start,
};

const FLIGHT: &str = r#"{"sources":[{"id":"calls","method":{"syscalls":{"calls":["read"]}}}],"target":"system",
    "limits":{"duration_ms":null,"flight":{"before_s":60,"after_s":0,"pause_s":3600,"triggers":["duration_ns > 0"],
    "announce":[ANNOUNCE]}}}"#;

/// Somebody who takes messages, and answers with the next of these statuses, the last for ever.
#[derive(Clone, Default)]
struct Receiver {
    statuses: Arc<Mutex<Vec<u16>>>,
    messages: Arc<Mutex<Vec<(HeaderMap, String)>>>,
}

async fn take(State(receiver): State<Receiver>, headers: HeaderMap, body: String) -> StatusCode {
    receiver.messages.lock().unwrap().push((headers, body));
    let mut statuses = receiver.statuses.lock().unwrap();
    let status = if statuses.len() > 1 { statuses.remove(0) } else { statuses[0] };
    StatusCode::from_u16(status).unwrap()
}

impl Receiver {
    async fn answering(statuses: &[u16]) -> (Self, String) {
        let receiver = Self { statuses: Arc::new(Mutex::new(statuses.to_vec())), ..Self::default() };
        let url = serving(Router::new().route("/hook", post(take)).with_state(receiver.clone())).await;
        (receiver, url)
    }

    /// The messages that have come, when there are so many.
    async fn messages(&self, wanted: usize) -> Vec<(HeaderMap, String)> {
        for _ in 0..3000 {
            let messages = self.messages.lock().unwrap().clone();
            if messages.len() >= wanted {
                return messages;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("only {} messages came", self.messages.lock().unwrap().len());
    }
}

async fn made(console: &Console, admin: &str, name: &str, url: &str) -> String {
    let body = serde_json::json!({ "name": name, "url": url }).to_string();
    let made = console.ask("POST", "/api/webhooks", Some(admin), Some(&body)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["secret"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_made_tried_and_removed_by_an_admin() {
    let (receiver, url) = Receiver::answering(&[204, 503, 410]).await;
    let link = bathyscope_link::AgentLink::new(no_agent).unwrap();
    let console = Console::connecting(connecting_to(&[&url]), Some("https://trace.example"), link).await;
    let admin = console.cookie("root", Role::Admin).await;
    for (name, at, words) in [
        ("a/b", format!("{url}/hook"), "the name of a webhook"),
        ("chat", "https://elsewhere.example/".to_owned(), "elsewhere.example:443 is not among the hosts"),
        ("chat", "nonsense".to_owned(), "it is no address"),
    ] {
        let body = serde_json::json!({ "name": name, "url": at }).to_string();
        let refused = console.ask("POST", "/api/webhooks", Some(&admin), Some(&body)).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains(words), "{}", refused.text());
    }
    let secret = made(&console, &admin, "On call", &format!("{url}/hook")).await;
    assert_eq!(secret.len(), 64);
    let listed = console.get("/api/webhooks", &admin).await;
    assert_eq!(listed.json()["items"][0]["name"], "On call");
    assert!(listed.json()["problem"].is_null() && !listed.text().contains(&secret), "{}", listed.text());
    let test = async || console.ask("POST", "/api/webhooks/on%20call/test", Some(&admin), None).await;
    let sent = test().await;
    assert_eq!((sent.status.as_u16(), sent.json()["state"].as_str()), (200, Some("delivered")), "{}", sent.text());
    assert_eq!(sent.json()["status"], 204);
    let (headers, body) = receiver.messages(1).await.remove(0);
    let header = |name: &str| headers.get(name).unwrap().to_str().unwrap();
    let timestamp = header("bathyscope-timestamp").parse().unwrap();
    assert_eq!(header("bathyscope-signature"), format!("v1={}", signature(&secret, timestamp, &body)));
    assert_eq!(header("content-type"), "application/json");
    assert!(body.contains(r#""event":"test""#), "{body}");
    let failed = test().await;
    assert_eq!(failed.json()["state"], "given_up");
    assert_eq!(failed.json()["error"], "it was answered with 503");
    assert!(test().await.json()["error"].as_str().unwrap().contains("nobody takes messages there any more"));
    let listed = console.get("/api/webhooks", &admin).await.json();
    assert_eq!((&listed["items"][0]["delivered"], &listed["items"][0]["given_up"]), (&1.into(), &2.into()));
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 3);
    let operator = console.cookie("alice", Role::Operator).await;
    assert_eq!(console.get("/api/webhooks/names", &operator).await.json()["names"][0], "On call");
    assert_eq!(console.ask("DELETE", "/api/webhooks/On%20Call", Some(&admin), None).await.status, 204);
    assert_eq!(test().await.status, 404);
    let audit = console.get("/api/audit", &admin).await;
    for action in ["webhook.add", "webhook.test", "webhook.remove"] {
        assert!(audit.text().contains(action), "{action}");
    }
    assert!(!audit.text().contains("/hook") && !audit.text().contains(&secret), "an address may be a secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_flight_recorder_stores_is_announced_once_and_without_text_of_events() {
    let (receiver, url) = Receiver::answering(&[200]).await;
    let console =
        Console::connecting(connecting_to(&[&url]), Some("https://trace.example"), simulated("rate=2000")).await;
    let admin = console.cookie("root", Role::Admin).await;
    made(&console, &admin, "chat", &format!("{url}/hook")).await;
    let spec = FLIGHT.replace("ANNOUNCE", r#""nobody""#);
    let refused = console.ask("POST", "/api/captures", Some(&admin), Some(&spec)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("there is no webhook nobody"), "{}", refused.text());
    let id = start(&console, &admin, &FLIGHT.replace("ANNOUNCE", r#""chat""#)).await;
    let (_headers, body) = receiver.messages(1).await.remove(0);
    let message: serde_json::Value = serde_json::from_str(&body).unwrap();
    let stored: CaptureId = message["capture"]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(message["capture"]["url"], format!("https://trace.example/captures/{stored}"));
    assert_eq!((&message["event"], &message["trigger"]), (&"capture".into(), &"duration_ns > 0".into()));
    let record = console.store.capture(stored).await.unwrap();
    let firing = record.firing.unwrap();
    assert_eq!(firing.recorder, id);
    assert!(!firing.value.is_empty() && !body.contains(&firing.value), "{body}");
    assert_eq!(message["fired_unix_ns"], firing.fired_unix_ns);
    assert!(console.state.recorder().stop(id, "root"));
    console.state.recorder().wait(id).await;
    assert_eq!(receiver.messages(1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_may_be_connected_to_nothing_is_promised() {
    let console = Console::with_link(simulated("rate=2000")).await;
    let admin = console.cookie("root", Role::Admin).await;
    let body = r#"{"name":"chat","url":"https://hooks.example/"}"#;
    let refused = console.ask("POST", "/api/webhooks", Some(&admin), Some(body)).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("--outbound-allow HOST"), "{}", refused.text());
    let spec = FLIGHT.replace("ANNOUNCE", r#""chat""#);
    assert_eq!(console.ask("POST", "/api/captures", Some(&admin), Some(&spec)).await.status, 409);
    let listed = console.get("/api/webhooks", &admin).await.json();
    assert!(listed["problem"].as_str().unwrap().starts_with("Nothing is sent: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_arrive_waits_and_is_told() {
    let (receiver, url) = Receiver::answering(&[500]).await;
    let console = Console::connecting(connecting_to(&[&url]), None, simulated("rate=2000")).await;
    let admin = console.cookie("root", Role::Admin).await;
    made(&console, &admin, "chat", &format!("{url}/hook")).await;
    let id = start(&console, &admin, &FLIGHT.replace("ANNOUNCE", r#""chat""#)).await;
    let (_headers, body) = receiver.messages(1).await.remove(0);
    assert!(body.contains("There is no link: the console was started without --public-url"), "{body}");
    let tried = async || {
        let listed = console.get("/api/webhooks", &admin).await.json();
        let delivery = listed["deliveries"][0].clone();
        (delivery["attempts"] == 1).then_some(delivery)
    };
    let mut delivery = tried().await;
    while delivery.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        delivery = tried().await;
    }
    let delivery = delivery.unwrap();
    assert_eq!((&delivery["state"], &delivery["status"]), (&"waiting".into(), &500.into()), "{delivery}");
    assert_eq!(delivery["error"], "it was answered with 500");
    assert!(console.state.recorder().stop(id, "root"));
    console.state.recorder().wait(id).await;
}

//! Webhooks: one for each name, messages that are made with captures and outlive the process, and what has become of them.

use bathyscope_capture::{CaptureSpec, Firing, FiringKind, FlightSpec, Limits};
use bathyscope_store::{
    DeliveryAttempt, DeliveryRecord, DeliveryState, NewCapture, NewWebhook, Store, StoreError, WebhookSecret,
};

use crate::common::*;

fn webhook(name: &str) -> NewWebhook {
    NewWebhook {
        name: name.to_owned(),
        url: "https://hooks.example/x".to_owned(),
        secret: WebhookSecret([7; 32]),
        made_by: "ada".to_owned(),
        created_unix_ns: NOW,
    }
}

fn fired(number: u64, announce: &[&str]) -> NewCapture {
    let firing = Firing {
        recorder: id(1),
        kind: FiringKind::Row,
        trigger: "duration_ns > 5".to_owned(),
        value: "secret of an event".to_owned(),
        fired_ns: START_NS,
        fired_unix_ns: NOW,
        complete_from_ns: START_NS,
    };
    let announce = announce.iter().map(|name| (*name).to_owned()).collect();
    let flight = FlightSpec { announce, ..FlightSpec::default() };
    let new = new_capture(id(number), "fired");
    let limits = Limits { flight: Some(Box::new(flight)), ..new.spec.limits.clone() };
    NewCapture { firing: Some(firing), spec: CaptureSpec { limits, ..new.spec.clone() }, ..new }
}

async fn attempt(store: &Store, id: u64, state: DeliveryState, error: &str) -> bool {
    let attempt = DeliveryAttempt { id, state, status: Some(503), error: error.to_owned(), changed_unix_ns: NOW + 9 };
    store.delivery_attempted(attempt).await.unwrap()
}

fn in_short(record: &DeliveryRecord) -> (&str, DeliveryState, u32, &str) {
    (&record.webhook, record.state, record.attempts, &record.error)
}

#[tokio::test]
async fn a_name_is_one_webhook_however_it_is_spelt() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_webhook(webhook("On call")).await.unwrap();
    let again = store.add_webhook(webhook("on CALL")).await;
    assert!(again.unwrap_err().to_string().contains("there is one called on CALL already"));
    for wrong in [webhook(&"x".repeat(65)), NewWebhook { url: "x".repeat(1025), ..webhook("x") }] {
        assert!(matches!(store.add_webhook(wrong).await, Err(StoreError::Refused { .. })));
    }
    let found = store.webhook("ON CALL").await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.delivered, found.given_up), ("On call", 0, 0));
    assert_eq!(format!("{:?}", found.secret), "WebhookSecret(…)");
    for number in 1..50 {
        store.add_webhook(webhook(&number.to_string())).await.unwrap();
    }
    assert!(matches!(store.add_webhook(webhook("one too many")).await, Err(StoreError::Refused { .. })));
    assert_eq!(store.webhooks().await.unwrap().len(), 50);
    assert_eq!(store.remove_webhook("on call").await.unwrap(), Some(found));
    assert_eq!(store.remove_webhook("on call").await.unwrap(), None);
}

#[tokio::test]
async fn a_capture_that_was_stored_has_its_messages_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_webhook(webhook("Chat")).await.unwrap();
    store.create(fired(7, &["chat", "gone"])).await.unwrap();
    store.one_announced().await;
    store.create(NewCapture { firing: None, ..fired(8, &["chat"]) }).await.unwrap();
    store.finish(id(7), end(bathyscope_capture::Ledger::default())).await.unwrap();
    store.close().await;
    let store = open(dir.path()).await;
    let waiting = store.waiting_deliveries(9).await.unwrap();
    let [message] = waiting.as_slice() else { panic!("{waiting:?}") };
    assert_eq!(
        (message.capture, message.title.as_str(), message.trigger.as_str()),
        (Some(id(7)), "fired", "duration_ns > 5")
    );
    assert!(!format!("{message:?}").contains("secret"), "no text of events");
    let last = store.last_deliveries(9).await.unwrap();
    let told: Vec<_> = last.iter().map(in_short).collect();
    let gone = "there is no webhook of this name any more";
    assert_eq!(told, [("gone", DeliveryState::GivenUp, 0, gone), ("chat", DeliveryState::Waiting, 0, "")]);
    // An imported file announces nothing.
    let file = dir.path().join("fired.bathy");
    store.export_file(id(7), &file).await.unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = open(elsewhere.path()).await;
    other.add_webhook(webhook("chat")).await.unwrap();
    other.import_file(&file, "grace", 5).await.unwrap();
    assert_eq!(other.last_deliveries(9).await.unwrap(), []);
    // What waits goes with its capture.
    store.delete(id(7)).await.unwrap();
    assert_eq!(store.last_deliveries(9).await.unwrap(), []);
}

#[tokio::test]
async fn attempts_are_counted_and_what_was_given_up_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_webhook(webhook("chat")).await.unwrap();
    assert_eq!(store.test_webhook("nobody", NOW).await.unwrap(), None);
    let one = store.test_webhook("CHAT", NOW).await.unwrap().unwrap();
    let two = store.test_webhook("chat", NOW).await.unwrap().unwrap();
    assert!(attempt(&store, one, DeliveryState::Waiting, &"x".repeat(2000)).await);
    assert!(attempt(&store, one, DeliveryState::Delivered, "").await);
    assert!(!attempt(&store, one, DeliveryState::GivenUp, "").await, "it does not wait any more");
    assert!(attempt(&store, two, DeliveryState::GivenUp, "no").await);
    let last = store.last_deliveries(9).await.unwrap();
    let told: Vec<_> = last.iter().map(in_short).collect();
    assert_eq!(told, [("chat", DeliveryState::GivenUp, 1, "no"), ("CHAT", DeliveryState::Delivered, 2, "")]);
    assert_eq!((last[0].status, last[0].changed_unix_ns, last[0].capture), (Some(503), NOW + 9, None));
    let record = store.webhook("chat").await.unwrap().unwrap();
    assert_eq!((record.delivered, record.given_up), (1, 1));
    for _ in 0..60 {
        let id = store.test_webhook("chat", NOW).await.unwrap().unwrap();
        attempt(&store, id, DeliveryState::Delivered, "").await;
    }
    assert_eq!(store.last_deliveries(100).await.unwrap().len(), 50, "the last ones are kept");
    assert_eq!(store.last_deliveries(3).await.unwrap().len(), 3);
    assert_eq!(store.webhook("chat").await.unwrap().unwrap().delivered, 61);
}

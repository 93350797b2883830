//! What is sent: the link to a capture, what fired in words, and a signature. No text of events.

use bathyscope_store::{DeliveryRecord, WebhookRecord, WebhookSecret};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use sha2::Sha256;

use crate::{
    hex::hex,
    outbound::{OutboundMethod, OutboundRequest},
};

/// When a message was signed, seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "bathyscope-timestamp";
/// `v1=` and the signature.
pub const SIGNATURE_HEADER: &str = "bathyscope-signature";
/// Names a message: one that comes twice has the same.
pub const DELIVERY_HEADER: &str = "bathyscope-delivery";
/// How long a receiver may take.
const TIMEOUT_MS: u32 = 10_000;

/// The body of a message.
#[derive(Serialize)]
struct Message<'a> {
    /// `capture` or `test`.
    event: &'static str,
    webhook: &'a str,
    /// For people: what happened, and how to get to it.
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'a str>,
    /// When it happened, nanoseconds since 1970.
    fired_unix_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<AnnouncedCapture<'a>>,
}

#[derive(Serialize)]
struct AnnouncedCapture<'a> {
    id: String,
    title: &'a str,
    /// Its address; null if nobody has said by which address others reach the console.
    url: Option<String>,
}

/// The key of a webhook's signatures, as its receiver is told it.
pub(super) fn key_text(secret: &WebhookSecret) -> String {
    hex(&secret.0)
}

/// The signature of a body that is sent at a time, seconds since 1970: HMAC-SHA256 of `TIME.BODY` in hex. The key is the text of the
/// secret as it was told.
pub fn signature(secret: &str, timestamp_s: i64, body: &str) -> String {
    // Keys of any length are taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(format!("{timestamp_s}.{body}").as_bytes());
    hex(&mac.finalize().into_bytes())
}

fn body(record: &DeliveryRecord, public_url: Option<&str>) -> String {
    let capture = record.capture.map(|id| {
        let url = public_url.map(|url| format!("{url}/captures/{id}"));
        AnnouncedCapture { id: id.to_string(), title: &record.title, url }
    });
    let text = match &capture {
        None => format!("Somebody tries the webhook {} of Bathyscope.", record.webhook),
        Some(AnnouncedCapture { url: Some(url), title, .. }) => {
            format!("A flight recorder of Bathyscope has fired and stores the capture “{title}”: {url}")
        }
        Some(AnnouncedCapture { id, title, .. }) => format!(
            "A flight recorder of Bathyscope has fired and stores the capture “{title}” ({id}). There is no link: the \
             console was started without --public-url."
        ),
    };
    let trigger = capture.is_some().then_some(record.trigger.as_str());
    let event = if capture.is_some() { "capture" } else { "test" };
    let (webhook, fired_unix_ns) = (record.webhook.as_str(), record.fired_unix_ns);
    // Texts and numbers can always be written.
    serde_json::to_string(&Message { event, webhook, text, trigger, fired_unix_ns, capture }).unwrap_or_default()
}

/// The request that brings a message, signed now.
pub(super) fn request(
    webhook: &WebhookRecord,
    record: &DeliveryRecord,
    public_url: Option<&str>,
    now_s: i64,
) -> OutboundRequest {
    let body = body(record, public_url);
    let signature = format!("v1={}", signature(&key_text(&webhook.secret), now_s, &body));
    let headers = [
        ("content-type", "application/json".to_owned()),
        (TIMESTAMP_HEADER, now_s.to_string()),
        (SIGNATURE_HEADER, signature),
        (DELIVERY_HEADER, format!("{}-{}", record.id, record.fired_unix_ns)),
    ];
    OutboundRequest {
        method: OutboundMethod::Post,
        url: webhook.url.clone(),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        body,
        timeout_ms: TIMEOUT_MS,
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::CaptureId;
    use bathyscope_store::DeliveryState;

    use super::*;

    fn record(capture: Option<u64>) -> DeliveryRecord {
        DeliveryRecord {
            id: 12,
            webhook: "chat".to_owned(),
            capture: capture.map(CaptureId::from_bits),
            title: "calls: \"slow\"".to_owned(),
            trigger: "duration_ns > 5".to_owned(),
            fired_unix_ns: 1_700_000_000_000_000_001,
            state: DeliveryState::Waiting,
            attempts: 0,
            status: None,
            error: String::new(),
            changed_unix_ns: 0,
        }
    }

    #[test]
    fn a_message_has_the_link_and_what_fired() {
        let message: serde_json::Value =
            serde_json::from_str(&body(&record(Some(255)), Some("https://t.example"))).unwrap();
        let expected = serde_json::json!({
            "event": "capture",
            "webhook": "chat",
            "text": "A flight recorder of Bathyscope has fired and stores the capture “calls: \"slow\"”: \
                https://t.example/captures/00000000000000ff",
            "trigger": "duration_ns > 5",
            "fired_unix_ns": 1_700_000_000_000_000_001_i64,
            "capture": {
                "id": "00000000000000ff",
                "title": "calls: \"slow\"",
                "url": "https://t.example/captures/00000000000000ff",
            },
        });
        assert_eq!(message, expected);
        let without: serde_json::Value = serde_json::from_str(&body(&record(Some(255)), None)).unwrap();
        assert!(without["capture"]["url"].is_null() && without["text"].as_str().unwrap().contains("--public-url"));
        let test: serde_json::Value = serde_json::from_str(&body(&record(None), None)).unwrap();
        assert_eq!((test["event"].as_str(), test.get("capture"), test.get("trigger")), (Some("test"), None, None));
    }

    #[test]
    fn a_signature_is_what_other_programs_compute() {
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac key
        assert_eq!(
            signature("key", 1_700_000_000, "{}"),
            "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
        );
    }
}

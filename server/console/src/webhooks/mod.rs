//! Webhooks: addresses that are told when a flight recorder has stored a capture.
//!
//! An admin makes one, by a name; flight recorders name those that are told. The message is made with the capture, in one transaction
//! of the store, and waits there until it has arrived or was tried so often that it is given up ([`task`]): so it outlives this process.
//! It carries the link to the capture and no text of events ([`message`]), and is signed.

mod message;
mod task;

use std::{sync::Arc, time::Duration};

use bathyscope_capture::{FlightSpec, shown};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{
    DeliveryRecord, DeliveryState, NewWebhook, Role, Store, StoreError, WebhookRecord, WebhookSecret,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use message::{DELIVERY_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signature};

use crate::{audit::audit, outbound::Outbound};

/// The longest name, bytes.
const NAME_BYTES: usize = 64;
/// The messages of each webhook that are shown.
const SHOWN: u32 = 10;
/// How long it is waited for what came of a message by which somebody tries a webhook.
pub(crate) const TEST_PATIENCE: Duration = Duration::from_secs(20);
/// What is said where no process may connect.
const NOT_CONFIGURED: &str = "this console connects to nobody: start it with --outbound-allow HOST, or --outbound-private HOST for a \
                              host on a private network";
/// What is said where nobody knows the console's address.
const NO_ADDRESS: &str = "Messages have no link to the capture, as this console has no address that others can open: start it with \
                          --public-url.";

/// Who does something: name and role, for the audit log.
type By<'a> = (&'a str, Role);

/// Why something of a webhook could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It is not as it must be.
    #[error("{0}")]
    Refused(String),
    /// There is none of this name.
    #[error("there is no webhook {}", shown(.0))]
    NoWebhook(String),
    /// Nobody may be connected to.
    #[error("{NOT_CONFIGURED}")]
    NotConfigured,
    /// The kernel gave no randomness.
    #[error("no random bytes for a secret")]
    Random(#[source] getrandom::Error),
    /// The store failed, or refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A webhook that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedWebhook {
    /// Its name, at most 64 bytes.
    pub name: String,
    /// Its address, of a host that is listed.
    pub url: String,
}

/// A webhook in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookItem {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Why nothing can be sent there now; none if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Who made it.
    pub made_by: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// How many messages have arrived.
    pub delivered: u64,
    /// How many have not, and are not tried any more.
    pub given_up: u64,
}

/// A message in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryItem {
    /// The name of the webhook, which may be gone.
    pub webhook: String,
    /// The capture that it is about; none if somebody tried the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// What the capture was called.
    pub title: String,
    /// What fired, in words.
    pub trigger: String,
    /// When it happened, nanoseconds since 1970 by the wall clock.
    pub fired_unix_ns: i64,
    /// `waiting`, `delivered` or `given_up`.
    pub state: String,
    /// How often it was tried.
    pub attempts: u32,
    /// The status of the last answer; none if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why the last attempt failed, in words; empty if it did not.
    pub error: String,
    /// When it was last tried, or else made, nanoseconds since 1970 by the wall clock.
    pub changed_unix_ns: i64,
}

/// All webhooks, and what became of the last messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookList {
    /// What keeps all of them from working, or takes something from their messages; none if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The webhooks, by name.
    pub items: Vec<WebhookItem>,
    /// The last messages of each, the newest first.
    pub deliveries: Vec<DeliveryItem>,
}

/// A webhook that was made, with what its messages are signed with, which is told once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeWebhook {
    /// Its name.
    pub name: String,
    /// The key of its signatures, 64 characters: its bytes as text are the key.
    pub secret: String,
}

impl std::fmt::Debug for MadeWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MadeWebhook").field("name", &self.name).finish_non_exhaustive()
    }
}

impl From<DeliveryRecord> for DeliveryItem {
    fn from(record: DeliveryRecord) -> Self {
        let DeliveryRecord { webhook, capture, title, trigger, fired_unix_ns, state, attempts, status, error, .. } =
            record;
        Self {
            webhook,
            capture: capture.map(|id| id.to_string()),
            title,
            trigger,
            fired_unix_ns,
            state: state.as_str().to_owned(),
            attempts,
            status,
            error,
            changed_unix_ns: record.changed_unix_ns,
        }
    }
}

/// All webhooks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Webhooks {
    inner: Arc<SharedWebhooks>,
}

#[derive(Debug)]
struct SharedWebhooks {
    store: Store,
    outbound: Option<Outbound>,
    /// What links begin with; none if nobody said it.
    public_url: Option<String>,
    /// That something became of a message.
    attempted: Notify,
    stop: CancellationToken,
}

impl Webhooks {
    /// The webhooks that `store` keeps, to which `outbound` connects, if anything does, until `stop` is cancelled.
    pub fn new(store: Store, outbound: Option<Outbound>, public_url: Option<String>, stop: &CancellationToken) -> Self {
        let (attempted, stop) = (Notify::new(), stop.clone());
        Self { inner: Arc::new(SharedWebhooks { store, outbound, public_url, attempted, stop }) }
    }

    /// All of them, with the last messages.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<WebhookList, StoreError> {
        let problem = match (&self.inner.outbound, &self.inner.public_url) {
            (None, _) => Some(format!("Nothing is sent: {NOT_CONFIGURED}.")),
            (Some(_), None) => Some(NO_ADDRESS.to_owned()),
            (Some(_), Some(_)) => None,
        };
        let items = self.inner.store.webhooks().await?.into_iter().map(|record| self.item(record)).collect();
        let deliveries = self.inner.store.last_deliveries(SHOWN).await?.into_iter().map(DeliveryItem::from).collect();
        Ok(WebhookList { problem, items, deliveries })
    }

    fn item(&self, record: WebhookRecord) -> WebhookItem {
        let WebhookRecord { name, url, made_by, created_unix_ns, delivered, given_up, secret: _ } = record;
        let targets = self.inner.outbound.as_ref().map(Outbound::targets);
        let problem = targets.and_then(|targets| targets.target(&url).err()).map(|error| error.to_string());
        WebhookItem { name, url, problem, made_by, created_unix_ns, delivered, given_up }
    }

    /// The names of all, for whoever chooses among them.
    ///
    /// # Errors
    /// The store's.
    pub async fn names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.inner.store.webhooks().await?.into_iter().map(|record| record.name).collect())
    }

    /// Makes one.
    ///
    /// # Errors
    /// If its name or address is not as it must be, the name is taken, or nobody may be connected to.
    pub async fn add(&self, asked: AskedWebhook, by: By<'_>) -> Result<MadeWebhook, WebhookError> {
        let AskedWebhook { name, url } = asked;
        let outbound = self.inner.outbound.as_ref().ok_or(WebhookError::NotConfigured)?;
        if let Some(why) = name_refusal(&name) {
            return Err(WebhookError::Refused(why.to_owned()));
        }
        let refused = |error: crate::outbound::TargetError| {
            WebhookError::Refused(format!("nothing can be sent to this address: {error}"))
        };
        let host = outbound.targets().target(&url).map_err(refused)?.host();
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(WebhookError::Random)?;
        let secret = WebhookSecret(secret);
        let made = MadeWebhook { name: name.clone(), secret: message::key_text(&secret) };
        let made_by = by.0.to_owned();
        let new = NewWebhook { name: name.clone(), url, secret, made_by, created_unix_ns: wall_unix_ns() };
        self.inner.store.add_webhook(new).await?;
        // Of the address only the host: the rest may be a secret of the receiver's.
        self.note(by, "webhook.add", (&name, &format!("to {host}"))).await;
        Ok(made)
    }

    /// Removes one, with its messages; those that wait are not sent.
    ///
    /// # Errors
    /// If there is none of this name.
    pub async fn remove(&self, name: &str, by: By<'_>) -> Result<String, WebhookError> {
        let removed = self.inner.store.remove_webhook(name).await?;
        let removed = removed.ok_or_else(|| WebhookError::NoWebhook(name.to_owned()))?;
        self.note(by, "webhook.remove", (&removed.name, "")).await;
        Ok(removed.name)
    }

    /// Sends a message by which somebody tries one, and waits for what comes of it, so long at most. It is tried once.
    ///
    /// # Errors
    /// If there is none of this name, or nobody may be connected to.
    pub async fn test(&self, name: &str, by: By<'_>, patience: Duration) -> Result<DeliveryItem, WebhookError> {
        if self.inner.outbound.is_none() {
            return Err(WebhookError::NotConfigured);
        }
        let made = self.inner.store.test_webhook(name, wall_unix_ns()).await?;
        let id = made.ok_or_else(|| WebhookError::NoWebhook(name.to_owned()))?;
        self.note(by, "webhook.test", (name, "")).await;
        let sent = tokio::time::timeout(patience, self.settled(id)).await;
        let settled = match sent {
            Ok(settled) => settled?,
            Err(_elapsed) => self.delivery(id).await?,
        };
        settled.map(DeliveryItem::from).ok_or_else(|| WebhookError::NoWebhook(name.to_owned()))
    }

    /// Waits until something has become of a message; none if it is gone.
    async fn settled(&self, id: u64) -> Result<Option<DeliveryRecord>, StoreError> {
        loop {
            let mut attempted = std::pin::pin!(self.inner.attempted.notified());
            attempted.as_mut().enable();
            match self.delivery(id).await? {
                Some(record) if record.state == DeliveryState::Waiting => attempted.await,
                record => return Ok(record),
            }
        }
    }

    async fn delivery(&self, id: u64) -> Result<Option<DeliveryRecord>, StoreError> {
        let all = self.inner.store.last_deliveries(u32::MAX).await?;
        Ok(all.into_iter().find(|record| record.id == id))
    }

    /// Whether a flight recorder may name those that it names.
    ///
    /// # Errors
    /// If one is not there, or nobody may be connected to.
    pub async fn check(&self, flight: Option<&FlightSpec>) -> Result<(), WebhookError> {
        let Some(flight) = flight.filter(|flight| !flight.announce.is_empty()) else { return Ok(()) };
        if self.inner.outbound.is_none() {
            return Err(WebhookError::NotConfigured);
        }
        for name in &flight.announce {
            if self.inner.store.webhook(name).await?.is_none() {
                let why = format!("{}; an admin makes webhooks", WebhookError::NoWebhook(name.clone()));
                return Err(WebhookError::Refused(why));
            }
        }
        Ok(())
    }

    async fn note(&self, by: By<'_>, action: &str, (object, detail): (&str, &str)) {
        audit(&self.inner.store, by, action, (object, detail)).await;
    }
}

/// Why a text is no name of a webhook; none if it is.
fn name_refusal(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '_' | '-' | '@');
    let is_trimmed = name.trim() == name && !name.is_empty();
    let is_name = is_trimmed && name.len() <= NAME_BYTES && name.chars().all(plain);
    (!is_name).then_some(
        "the name of a webhook is 1 to 64 letters, digits, spaces and . _ - @, and begins and ends with no space",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for name in ["a", "On call", "ops@example", "Bereitschaft für Köln", &"x".repeat(64)] {
            assert_eq!(name_refusal(name), None, "{name}");
        }
        for name in ["", " ", " a", "a ", "a\nb", "a/b", "a,b", "<b>", "\u{202e}a", &"x".repeat(65)] {
            assert!(name_refusal(name).is_some(), "{name}");
        }
    }
}

//! Sends messages to webhooks until they have arrived, or were tried so often that they are given up.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{DeliveryAttempt, DeliveryRecord, DeliveryState, StoreError};
use futures_util::{StreamExt as _, stream};

use super::{Webhooks, message};
use crate::outbound::Outbound;

/// The seconds after each attempt that failed; after the last one there is no other.
const RETRY_S: [u64; 7] = [10, 30, 120, 600, 1_800, 7_200, 21_600];
/// How often is looked for messages that nobody told of.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Messages that are sent at a time.
const AT_ONCE: usize = 4;
/// Messages that are looked at in one round.
const MOST: u32 = 2_000;
/// The answer of a receiver that is gone for good.
const GONE: u16 = 410;

/// When messages are tried again that this process has tried. What an earlier one tried is tried at once.
type Due = HashMap<u64, Instant>;

impl Webhooks {
    /// Sends what waits, and what comes, until the console stops. Where nobody may be connected to, it waits.
    pub async fn keep(self) {
        let Some(outbound) = self.inner.outbound.clone() else { return };
        let sending = async {
            let mut due = Due::new();
            loop {
                let wait = self.round(&outbound, &mut due).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "messages to webhooks could not be looked at; it is tried again");
                    LOOK_EVERY
                });
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = self.inner.store.one_announced() => {}
                }
            }
        };
        tokio::select! {
            () = sending => {}
            () = self.inner.stop.cancelled() => {}
        }
    }

    /// Tries what is due; how long it is until something is.
    async fn round(&self, outbound: &Outbound, due: &mut Due) -> Result<Duration, StoreError> {
        let waiting = self.inner.store.waiting_deliveries(MOST).await?;
        due.retain(|id, _at| waiting.iter().any(|record| record.id == *id));
        let now = Instant::now();
        let ready = waiting.into_iter().filter(|record| due.get(&record.id).is_none_or(|at| *at <= now));
        let attempts: Vec<_> = stream::iter(ready.collect::<Vec<_>>())
            .map(|record| async move { (self.attempt(outbound, &record).await, record) })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for (attempted, record) in attempts {
            match attempted? {
                DeliveryState::Waiting => due.insert(record.id, Instant::now() + pause(record.attempts)),
                DeliveryState::Delivered | DeliveryState::GivenUp => due.remove(&record.id),
            };
        }
        let next = due.values().min().map(|at| at.saturating_duration_since(Instant::now()));
        Ok(next.map_or(LOOK_EVERY, |next| next.min(LOOK_EVERY)))
    }

    /// Tries a message once; what has become of it.
    async fn attempt(&self, outbound: &Outbound, record: &DeliveryRecord) -> Result<DeliveryState, StoreError> {
        let Some(webhook) = self.inner.store.webhook(&record.webhook).await? else {
            return Ok(DeliveryState::GivenUp);
        };
        let now_unix_ns = wall_unix_ns();
        let request = message::request(&webhook, record, self.inner.public_url.as_deref(), now_unix_ns / 1_000_000_000);
        let (status, error) = match outbound.ask(request).await {
            Ok(answer) => (Some(answer.status), said(answer.status)),
            Err(error) => (None, error.in_words()),
        };
        let state = after(status, &error, record);
        if state == DeliveryState::GivenUp {
            tracing::warn!(
                webhook = webhook.name,
                attempts = record.attempts + 1,
                error,
                "a message to a webhook is given up"
            );
        }
        let attempt = DeliveryAttempt { id: record.id, state, status, error, changed_unix_ns: wall_unix_ns() };
        self.inner.store.delivery_attempted(attempt).await?;
        self.inner.attempted.notify_waiters();
        Ok(state)
    }
}

/// Why an answer does not say that the message has arrived; empty if it does.
fn said(status: u16) -> String {
    match status {
        200..=299 => String::new(),
        300..=399 => format!("it was answered with {status}: another address, which is not followed"),
        GONE => "it was answered with 410: nobody takes messages there any more".to_owned(),
        _ => format!("it was answered with {status}"),
    }
}

/// What becomes of a message after an attempt.
fn after(status: Option<u16>, error: &str, record: &DeliveryRecord) -> DeliveryState {
    let is_test = record.capture.is_none();
    let is_last = usize::try_from(record.attempts).is_ok_and(|before| before >= RETRY_S.len());
    match status {
        Some(_) if error.is_empty() => DeliveryState::Delivered,
        Some(GONE) => DeliveryState::GivenUp,
        _ if is_test || is_last => DeliveryState::GivenUp,
        _ => DeliveryState::Waiting,
    }
}

/// How long it is until the next attempt, after so many before the last one.
fn pause(before: u32) -> Duration {
    let at = usize::try_from(before).unwrap_or(usize::MAX);
    Duration::from_secs(RETRY_S.get(at).or(RETRY_S.last()).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::CaptureId;

    use super::*;

    fn record(attempts: u32, is_test: bool) -> DeliveryRecord {
        DeliveryRecord {
            id: 1,
            webhook: "chat".to_owned(),
            capture: (!is_test).then(|| CaptureId::from_bits(1)),
            title: String::new(),
            trigger: String::new(),
            fired_unix_ns: 0,
            state: DeliveryState::Waiting,
            attempts,
            status: None,
            error: String::new(),
            changed_unix_ns: 0,
        }
    }

    #[test]
    fn a_message_is_tried_eight_times_ever_more_slowly() {
        use DeliveryState::{Delivered, GivenUp, Waiting};
        let became = |status: Option<u16>, attempts, is_test| {
            let error = status.map_or_else(|| "no answer".to_owned(), said);
            after(status, &error, &record(attempts, is_test))
        };
        for (status, attempts, is_test, expected) in [
            (Some(200), 0, false, Delivered),
            (Some(204), 7, false, Delivered),
            (Some(301), 0, false, Waiting),
            (Some(404), 0, false, Waiting),
            (Some(410), 0, false, GivenUp),
            (Some(503), 6, false, Waiting),
            (Some(503), 7, false, GivenUp),
            (None, 0, false, Waiting),
            (None, 7, false, GivenUp),
            (None, 0, true, GivenUp),
            (Some(200), 0, true, Delivered),
        ] {
            assert_eq!(became(status, attempts, is_test), expected, "{status:?} {attempts} {is_test}");
        }
        let pauses: Vec<u64> = (0..8).map(|before| pause(before).as_secs()).collect();
        assert_eq!(pauses, [10, 30, 120, 600, 1_800, 7_200, 21_600, 21_600]);
    }
}

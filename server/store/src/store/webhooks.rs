//! Webhooks and the messages to them.

use super::{Store, StoreFuture};
use crate::{DeliveryAttempt, DeliveryRecord, NewWebhook, WebhookRecord, webhooks};

impl Store {
    /// Makes a webhook.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if its name is taken, it is too long or there are too many; or the database's.
    pub fn add_webhook(&self, new: NewWebhook) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { webhooks::add(conn, &new).await })).await
        })
    }

    /// All webhooks, by name.
    ///
    /// # Errors
    /// The database's.
    pub fn webhooks(&self) -> StoreFuture<'_, Vec<WebhookRecord>> {
        Box::pin(async move { self.database.done(webhooks::list(&mut *self.database.reader().await?).await) })
    }

    /// The webhook of a name, however that is spelt.
    ///
    /// # Errors
    /// The database's.
    pub fn webhook<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<WebhookRecord>> {
        Box::pin(async move { self.database.done(webhooks::one(&mut *self.database.reader().await?, name).await) })
    }

    /// Removes a webhook with its messages; gives what it was.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_webhook(&self, name: &str) -> StoreFuture<'_, Option<WebhookRecord>> {
        let name = name.to_owned();
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { webhooks::remove(conn, &name).await })).await
        })
    }

    /// Makes a message by which somebody tries a webhook; gives its number, or none if there is no such webhook. Messages of captures are made with
    /// the captures ([`Store::create`]).
    ///
    /// # Errors
    /// The database's.
    pub fn test_webhook(&self, name: &str, now_unix_ns: i64) -> StoreFuture<'_, Option<u64>> {
        let name = name.to_owned();
        Box::pin(async move {
            let made = self
                .database
                .control(move |conn| Box::pin(async move { webhooks::test(conn, &name, now_unix_ns).await }))
                .await;
            self.announced.notify_one();
            made
        })
    }

    /// The messages that wait, the oldest first, at most `most`.
    ///
    /// # Errors
    /// The database's.
    pub fn waiting_deliveries(&self, most: u32) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        Box::pin(async move { self.database.done(webhooks::waiting(&mut *self.database.reader().await?, most).await) })
    }

    /// The last messages of all webhooks, the newest first, at most `most` of each.
    ///
    /// # Errors
    /// The database's.
    pub fn last_deliveries(&self, most: u32) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        Box::pin(async move { self.database.done(webhooks::last(&mut *self.database.reader().await?, most).await) })
    }

    /// Writes what came of an attempt; says whether the message waited.
    ///
    /// # Errors
    /// The database's.
    pub fn delivery_attempted(&self, attempt: DeliveryAttempt) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { webhooks::attempted(conn, &attempt).await })).await
        })
    }

    /// Waits until there may be a message since this was asked before. For one listener: two would hear of half each.
    pub async fn one_announced(&self) {
        self.announced.notified().await;
    }
}

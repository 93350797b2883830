//! Addresses that are told of captures that flight recorders store, and the messages to them: those that wait outlive the process.
//!
//! What is sent, and when it is tried again, is decided where connections are made.

use std::fmt;

use bathyscope_capture::{CaptureId, Firing};
use sqlx::SqliteConnection;

use crate::{
    StoreError,
    error::failed,
    limits::{at_most, cut, limit},
    rows::{narrow, row_struct, sql, unreadable, unsigned},
};

const READING: &str = "reading webhooks";
const WRITING: &str = "writing messages to webhooks";

/// What messages to a webhook are signed with. It is not shown in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(pub [u8; 32]);

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// A webhook that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    /// Its name, at most 64 bytes. No other one has it, however it is spelt.
    pub name: String,
    /// The address, at most 1 KiB.
    pub url: String,
    /// What its messages are signed with.
    pub secret: WebhookSecret,
    /// Who makes it.
    pub made_by: String,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
}

/// A webhook that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookRecord {
    /// Its name, as it was spelt when it was made.
    pub name: String,
    /// The address.
    pub url: String,
    /// What its messages are signed with.
    pub secret: WebhookSecret,
    /// Who made it.
    pub made_by: String,
    /// When, nanoseconds since 1970 by the wall clock: a label.
    pub created_unix_ns: i64,
    /// How many messages have arrived.
    pub delivered: u64,
    /// How many have not, and are not tried any more.
    pub given_up: u64,
}

/// What has become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is tried, or tried again.
    Waiting,
    /// It has arrived.
    Delivered,
    /// It has not, and is not tried any more.
    GivenUp,
}

impl DeliveryState {
    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }

    fn of(text: &str) -> Option<Self> {
        [Self::Waiting, Self::Delivered, Self::GivenUp].into_iter().find(|state| state.as_str() == text)
    }
}

/// A message to a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Names it.
    pub id: u64,
    /// The name of the webhook, which may be gone.
    pub webhook: String,
    /// The capture that it is about; none if somebody tries the webhook.
    pub capture: Option<CaptureId>,
    /// What the capture was called.
    pub title: String,
    /// What fired, in words.
    pub trigger: String,
    /// When it happened, nanoseconds since 1970 by the wall clock: a label.
    pub fired_unix_ns: i64,
    /// What has become of it.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
    /// The status of the last answer; none if there was none.
    pub status: Option<u16>,
    /// Why the last attempt failed, in words; empty if it did not.
    pub error: String,
    /// When it was last tried, or else made, likewise.
    pub changed_unix_ns: i64,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The message.
    pub id: u64,
    /// What has become of it.
    pub state: DeliveryState,
    /// The status of the answer; none if there was none.
    pub status: Option<u16>,
    /// Why it failed, in words; empty if it did not. What is beyond 1 KiB is left out.
    pub error: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub changed_unix_ns: i64,
}

row_struct! {
    struct WebhookRow {
        name: String,
        url: String,
        secret: Vec<u8>,
        made_by: String,
        created_unix_ns: i64,
        delivered: i64,
        given_up: i64,
    }
}

row_struct! {
    struct DeliveryRow {
        id: i64,
        webhook: String,
        capture_id: Option<i64>,
        title: String,
        condition: String,
        fired_unix_ns: i64,
        state: String,
        attempts: i64,
        status: Option<i64>,
        error: String,
        changed_unix_ns: i64,
    }
}

impl WebhookRow {
    fn into_record(self) -> Result<WebhookRecord, StoreError> {
        let Self { name, url, secret, made_by, created_unix_ns, delivered, given_up } = self;
        let secret = secret.try_into().map_err(|_length| unreadable("the secret of a webhook"))?;
        let (delivered, given_up) = (unsigned(delivered), unsigned(given_up));
        Ok(WebhookRecord { name, url, secret: WebhookSecret(secret), made_by, created_unix_ns, delivered, given_up })
    }
}

impl DeliveryRow {
    fn into_record(self) -> Result<DeliveryRecord, StoreError> {
        let Self { id, webhook, capture_id, title, condition, fired_unix_ns, state, attempts, status, error, .. } =
            self;
        Ok(DeliveryRecord {
            id: unsigned(id),
            webhook,
            capture: capture_id.map(|id| CaptureId::from_bits(unsigned(id))),
            title,
            trigger: condition,
            fired_unix_ns,
            state: DeliveryState::of(&state).ok_or_else(|| unreadable("the state of a message"))?,
            attempts: narrow(attempts, "how often a message was tried")?,
            status: status.map(|status| narrow(status, "the status of an answer")).transpose()?,
            error,
            changed_unix_ns: self.changed_unix_ns,
        })
    }
}

/// Makes a webhook.
pub(crate) async fn add(conn: &mut SqliteConnection, new: &NewWebhook) -> Result<(), StoreError> {
    const DOING: &str = "making a webhook";
    at_most("the name of a webhook", new.name.len(), limit::USER_BYTES)?;
    at_most("the address of a webhook", new.url.len(), limit::WEBHOOK_URL_BYTES)?;
    at_most("the user's name", new.made_by.len(), limit::USER_BYTES)?;
    let refused = |why: String| Err(StoreError::Refused { what: "a webhook", why });
    let select = "SELECT count(*), coalesce(sum(name = ?), 0) FROM webhooks";
    let select = sqlx::query_as(select).bind(&new.name);
    let (count, same): (i64, i64) = select.fetch_one(&mut *conn).await.map_err(failed(DOING))?;
    if same > 0 {
        return refused(format!("there is one called {} already; remove it first, or choose another name", new.name));
    }
    if count >= limit::WEBHOOKS {
        return refused(format!("there are {count} webhooks already; remove some first"));
    }
    let insert = "INSERT INTO webhooks VALUES (?, ?, ?, ?, ?, 0, 0)";
    let insert = sqlx::query(insert).bind(&new.name).bind(&new.url).bind(new.secret.0.as_slice());
    let insert = insert.bind(&new.made_by).bind(new.created_unix_ns);
    insert.execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// All of them, by name.
pub(crate) async fn list(conn: &mut SqliteConnection) -> Result<Vec<WebhookRecord>, StoreError> {
    let rows: Result<Vec<WebhookRow>, _> = sqlx::query_as("SELECT * FROM webhooks ORDER BY name").fetch_all(conn).await;
    rows.map_err(failed(READING))?.into_iter().map(WebhookRow::into_record).collect()
}

/// The one of a name.
pub(crate) async fn one(conn: &mut SqliteConnection, name: &str) -> Result<Option<WebhookRecord>, StoreError> {
    let select = sqlx::query_as("SELECT * FROM webhooks WHERE name = ?").bind(name);
    let row: Option<WebhookRow> = select.fetch_optional(conn).await.map_err(failed(READING))?;
    row.map(WebhookRow::into_record).transpose()
}

/// Removes one, with its messages; gives what it was.
pub(crate) async fn remove(conn: &mut SqliteConnection, name: &str) -> Result<Option<WebhookRecord>, StoreError> {
    let Some(record) = one(conn, name).await? else { return Ok(None) };
    for delete in ["DELETE FROM deliveries WHERE webhook = ?", "DELETE FROM webhooks WHERE name = ?"] {
        sqlx::query(delete).bind(name).execute(&mut *conn).await.map_err(failed("removing a webhook"))?;
    }
    Ok(Some(record))
}

/// Makes the messages of a capture that was stored, in the transaction that is open: one to each webhook that is named. One that is
/// gone meanwhile, or for which too many wait, is told among the messages.
pub(crate) async fn announce(
    conn: &mut SqliteConnection,
    (id, title): (CaptureId, &str),
    firing: &Firing,
    webhooks: &[String],
) -> Result<(), StoreError> {
    for name in webhooks {
        let about = Message { capture: Some(id), title, trigger: &firing.trigger, fired_unix_ns: firing.fired_unix_ns };
        send(conn, name, &about).await?;
    }
    Ok(())
}

/// Makes a message by which somebody tries a webhook; gives its number, or none if there is no such webhook.
pub(crate) async fn test(conn: &mut SqliteConnection, name: &str, now_unix_ns: i64) -> Result<Option<u64>, StoreError> {
    if one(conn, name).await?.is_none() {
        return Ok(None);
    }
    let about = Message { capture: None, title: "", trigger: "", fired_unix_ns: now_unix_ns };
    send(conn, name, &about).await.map(Some)
}

/// What a message is about.
struct Message<'a> {
    capture: Option<CaptureId>,
    title: &'a str,
    trigger: &'a str,
    fired_unix_ns: i64,
}

async fn send(conn: &mut SqliteConnection, webhook: &str, about: &Message<'_>) -> Result<u64, StoreError> {
    let select = "SELECT (SELECT count(*) FROM webhooks WHERE name = ?1), \
                  (SELECT count(*) FROM deliveries WHERE webhook = ?1 AND state = 'waiting')";
    let select = sqlx::query_as(select).bind(webhook);
    let (there, waiting): (i64, i64) = select.fetch_one(&mut *conn).await.map_err(failed(WRITING))?;
    let (state, error) = match (there, waiting) {
        (0, _) => (DeliveryState::GivenUp, "there is no webhook of this name any more".to_owned()),
        (_, limit::WAITING_DELIVERIES..) => {
            (DeliveryState::GivenUp, format!("{waiting} messages to it wait already, which is the most"))
        }
        _ => (DeliveryState::Waiting, String::new()),
    };
    let insert = "INSERT INTO deliveries (webhook, capture_id, title, condition, fired_unix_ns, state, attempts, error, \
                  changed_unix_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?5)";
    let insert = sqlx::query(insert).bind(webhook).bind(about.capture.map(|id| sql(id.bits())));
    let insert = insert.bind(cut(about.title, limit::TITLE_BYTES)).bind(cut(about.trigger, limit::REASON_BYTES));
    let insert = insert.bind(about.fired_unix_ns).bind(state.as_str()).bind(error);
    let id = insert.execute(&mut *conn).await.map_err(failed(WRITING))?.last_insert_rowid();
    if state == DeliveryState::GivenUp {
        count(conn, webhook, state).await?;
    }
    Ok(unsigned(id))
}

async fn count(conn: &mut SqliteConnection, webhook: &str, state: DeliveryState) -> Result<(), StoreError> {
    let update = "UPDATE webhooks SET delivered = delivered + (?2 = 'delivered'), given_up = given_up + (?2 = 'given_up') \
                  WHERE name = ?1";
    let update = sqlx::query(update).bind(webhook).bind(state.as_str());
    update.execute(&mut *conn).await.map_err(failed(WRITING))?;
    let delete = "DELETE FROM deliveries WHERE webhook = ?1 AND state <> 'waiting' AND id NOT IN \
                  (SELECT id FROM deliveries WHERE webhook = ?1 AND state <> 'waiting' ORDER BY id DESC LIMIT ?2)";
    let delete = sqlx::query(delete).bind(webhook).bind(limit::KEPT_DELIVERIES);
    delete.execute(conn).await.map_err(failed(WRITING))?;
    Ok(())
}

/// The messages that wait, the oldest first, at most `most`.
pub(crate) async fn waiting(conn: &mut SqliteConnection, most: u32) -> Result<Vec<DeliveryRecord>, StoreError> {
    let select = sqlx::query_as("SELECT * FROM deliveries WHERE state = 'waiting' ORDER BY id LIMIT ?").bind(most);
    let rows: Result<Vec<DeliveryRow>, _> = select.fetch_all(conn).await;
    rows.map_err(failed(READING))?.into_iter().map(DeliveryRow::into_record).collect()
}

/// The last messages, of all webhooks, those that are gone too: the newest first, at most `most` of each.
pub(crate) async fn last(conn: &mut SqliteConnection, most: u32) -> Result<Vec<DeliveryRecord>, StoreError> {
    let select = "SELECT d.* FROM deliveries d WHERE \
                  (SELECT count(*) FROM deliveries newer WHERE newer.webhook = d.webhook AND newer.id > d.id) < ? \
                  ORDER BY d.id DESC";
    let rows: Result<Vec<DeliveryRow>, _> = sqlx::query_as(select).bind(most).fetch_all(conn).await;
    rows.map_err(failed(READING))?.into_iter().map(DeliveryRow::into_record).collect()
}

/// Writes what came of an attempt; says whether the message waited. One that is gone meanwhile is none.
pub(crate) async fn attempted(conn: &mut SqliteConnection, attempt: &DeliveryAttempt) -> Result<bool, StoreError> {
    let update = "UPDATE deliveries SET state = ?2, attempts = attempts + 1, status = ?3, error = ?4, changed_unix_ns = ?5 \
                  WHERE id = ?1 AND state = 'waiting' RETURNING webhook";
    let update = sqlx::query_as(update).bind(sql(attempt.id)).bind(attempt.state.as_str()).bind(attempt.status);
    let update = update.bind(cut(&attempt.error, limit::REASON_BYTES)).bind(attempt.changed_unix_ns);
    let row: Option<(String,)> = update.fetch_optional(&mut *conn).await.map_err(failed(WRITING))?;
    let Some((webhook,)) = row else { return Ok(false) };
    if attempt.state != DeliveryState::Waiting {
        count(conn, &webhook, attempt.state).await?;
    }
    Ok(true)
}

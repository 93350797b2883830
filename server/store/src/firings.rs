//! What made a flight recorder store a capture.

use bathyscope_capture::{CaptureId, Firing, FiringKind, MAX_FIRING_TEXT_BYTES};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use crate::{
    CaptureRecord, StoreError, TokenHash,
    error::failed,
    limits::{at_most, limit},
    read::state_of,
    rows::{row_struct, sql, unreadable, unsigned},
    select::of,
};

const DOING: &str = "reading what fired";
/// The schema version from which on there are firings.
pub(crate) const FIRINGS_SINCE: i64 = 17;

row_struct! {
    struct FiringRow {
        recorder_id: i64,
        kind: String,
        condition: String,
        value: String,
        fired_ns: i64,
        fired_unix_ns: i64,
        complete_from_ns: i64,
    }
}

const fn word(kind: FiringKind) -> &'static str {
    match kind {
        FiringKind::Hand => "hand",
        FiringKind::Row => "row",
        FiringKind::Pressure => "pressure",
        FiringKind::Exit => "exit",
        FiringKind::Schedule => "schedule",
        FiringKind::Token => "token",
    }
}

fn kind_of(text: &str) -> Option<FiringKind> {
    let all = [
        FiringKind::Hand,
        FiringKind::Row,
        FiringKind::Pressure,
        FiringKind::Exit,
        FiringKind::Schedule,
        FiringKind::Token,
    ];
    all.into_iter().find(|kind| word(*kind) == text)
}

/// Keeps what fired, in the transaction that is open.
pub(crate) async fn insert(conn: &mut SqliteConnection, id: CaptureId, firing: &Firing) -> Result<(), StoreError> {
    at_most("what fired", firing.trigger.len().max(firing.value.len()), MAX_FIRING_TEXT_BYTES)?;
    let insert = of("INSERT INTO firings VALUES (?, ?, ?, ?, ?, ?, ?, ?)", id);
    let insert = insert.bind(sql(firing.recorder.bits())).bind(word(firing.kind)).bind(&firing.trigger);
    let insert = insert.bind(&firing.value).bind(sql(firing.fired_ns)).bind(firing.fired_unix_ns);
    insert.bind(sql(firing.complete_from_ns)).execute(conn).await.map_err(failed("noting what fired"))?;
    Ok(())
}

/// What fired for a capture; none if it was recorded as such.
pub(crate) async fn one(conn: &mut SqliteConnection, id: CaptureId) -> Result<Option<Firing>, StoreError> {
    let select = "SELECT recorder_id, kind, condition, value, fired_ns, fired_unix_ns, complete_from_ns FROM firings \
                  WHERE capture_id = ?";
    let row: Option<FiringRow> =
        sqlx::query_as(select).bind(sql(id.bits())).fetch_optional(conn).await.map_err(failed(DOING))?;
    let firing = |row: FiringRow| {
        Ok(Firing {
            recorder: CaptureId::from_bits(unsigned(row.recorder_id)),
            kind: kind_of(&row.kind).ok_or_else(|| unreadable("what sort of thing fired"))?,
            trigger: row.condition,
            value: row.value,
            fired_ns: unsigned(row.fired_ns),
            fired_unix_ns: row.fired_unix_ns,
            complete_from_ns: unsigned(row.complete_from_ns),
        })
    };
    row.map(firing).transpose()
}

/// Adds to a record what fired.
pub(crate) async fn complete(
    conn: &mut SqliteConnection,
    mut record: CaptureRecord,
) -> Result<CaptureRecord, StoreError> {
    record.firing = one(conn, record.id).await?;
    Ok(record)
}

/// The captures that are shown and that a flight recorder has stored, newest first, at most `most`.
pub(crate) async fn of_recorder(
    conn: &mut SqliteConnection,
    recorder: CaptureId,
    most: u32,
) -> Result<Vec<CaptureId>, StoreError> {
    let select = "SELECT f.capture_id FROM firings f JOIN captures c ON c.id = f.capture_id \
                  WHERE f.recorder_id = ? AND c.phase = 'ready' ORDER BY f.fired_ns DESC LIMIT ?";
    let rows: Vec<(i64,)> = crate::select::all(conn, of(select, recorder).bind(most), DOING).await?;
    Ok(rows.into_iter().map(|(id,)| CaptureId::from_bits(unsigned(id))).collect())
}

/// That a flight recorder can be fired with a token. The token itself is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FireToken {
    /// Who made it.
    pub made_by: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
}

/// Keeps the hash of a token in place of the one before.
pub(crate) async fn put_token(
    conn: &mut SqliteConnection,
    id: CaptureId,
    hash: TokenHash,
    token: &FireToken,
) -> Result<(), StoreError> {
    at_most("the user's name", token.made_by.len(), limit::USER_BYTES)?;
    state_of(conn, id).await?;
    let put = of("INSERT OR REPLACE INTO fire_tokens VALUES (?, ?, ?, ?)", id).bind(hash.bytes().as_slice());
    let put = put.bind(&token.made_by).bind(token.created_unix_ns);
    put.execute(conn).await.map_err(failed("keeping a token"))?;
    Ok(())
}

/// Forgets the token of a flight recorder; says whether there was one.
pub(crate) async fn remove_token(conn: &mut SqliteConnection, id: CaptureId) -> Result<bool, StoreError> {
    let removed = of("DELETE FROM fire_tokens WHERE capture_id = ?", id).execute(conn).await;
    Ok(removed.map_err(failed("revoking a token"))?.rows_affected() > 0)
}

/// The token of a flight recorder, if it has one; with a hash only if it is this one.
pub(crate) async fn token(
    conn: &mut SqliteConnection,
    id: CaptureId,
    hash: Option<TokenHash>,
) -> Result<Option<FireToken>, StoreError> {
    let select =
        "SELECT made_by, created_unix_ns FROM fire_tokens WHERE capture_id = ?1 AND (?2 IS NULL OR token = ?2)";
    let hash = hash.map(|hash| hash.bytes().to_vec());
    let rows: Vec<(String, i64)> = crate::select::all(conn, of(select, id).bind(hash), "looking for a token").await?;
    Ok(rows.into_iter().next().map(|(made_by, created_unix_ns)| FireToken { made_by, created_unix_ns }))
}

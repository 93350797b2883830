//! What became of the sources of a capture.

use bathyscope_capture::CaptureId;
use sqlx::SqliteConnection;

use crate::{
    CaptureRecord, SourceEnd, SourceState, StoreError,
    insert::insert_all,
    limits::{cut, limit},
    rows::{sql, unreadable},
    select::{all, of},
};

/// Sources of a capture.
const MAX_SOURCES: usize = 256;

/// Keeps what became of each source, in the transaction that is open.
pub(crate) async fn put(conn: &mut SqliteConnection, id: CaptureId, ends: &[SourceEnd]) -> Result<(), StoreError> {
    let numbered: Vec<(i64, &SourceEnd)> = (0..).zip(ends).take(MAX_SOURCES).collect();
    insert_all(conn, "INSERT INTO sources ", &numbered, "storing what became of sources", |row, (number, end)| {
        row.push_bind(sql(id.bits())).push_bind(*number).push_bind(end.state.as_str());
        row.push_bind(cut(&end.reason, limit::REASON_BYTES).to_owned());
    })
    .await
}

/// What became of each source, in the order of the spec.
pub(crate) async fn list(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<SourceEnd>, StoreError> {
    let select = "SELECT state, reason FROM sources WHERE capture_id = ? ORDER BY number";
    let rows: Vec<(String, String)> = all(conn, of(select, id), "reading what became of sources").await?;
    let end = |(state, reason): (String, String)| {
        let state = SourceState::named(&state).ok_or_else(|| unreadable("the state of a source"))?;
        Ok(SourceEnd { state, reason })
    };
    rows.into_iter().map(end).collect()
}

/// Adds to a record what became of its sources.
pub(crate) async fn complete(
    conn: &mut SqliteConnection,
    mut record: CaptureRecord,
) -> Result<CaptureRecord, StoreError> {
    record.sources = list(conn, record.id).await?;
    Ok(record)
}

//! Captures that somebody deleted and that can still be restored: hidden, with all their rows.

use bathyscope_capture::CaptureId;
use sqlx::SqliteConnection;

use crate::{
    CaptureState, StoreError,
    append::{Phase, set_phase},
    error::failed,
    limits::{at_most, limit},
    read::state_of,
    remove::{self, Progress},
    rows::{row_struct, sql, unsigned},
    texts,
    writer::{Durability, Writer},
};

const DELETING: &str = "deleting a capture";
const RESTORING: &str = "restoring a capture";

/// A capture that was deleted and can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedCapture {
    /// Which.
    pub id: CaptureId,
    /// What it is called.
    pub title: String,
    /// Whose it is.
    pub owner: String,
    /// The wall time at which it began, nanoseconds since 1970: a label.
    pub started_unix_ns: i64,
    /// Bytes that it takes, as [`crate::RetainedCapture::size_bytes`] counts them.
    pub size_bytes: u64,
    /// When it was deleted, nanoseconds since 1970 by the wall clock.
    pub deleted_unix_ns: i64,
    /// Who deleted it.
    pub deleted_by: String,
}

row_struct! {
    struct DeletedRow {
        id: i64,
        title: String,
        owner: String,
        started_unix_ns: i64,
        size_bytes: i64,
        deleted_unix_ns: i64,
        deleted_by: String,
    }
}

impl From<DeletedRow> for DeletedCapture {
    fn from(row: DeletedRow) -> Self {
        let DeletedRow { id, title, owner, started_unix_ns, size_bytes, deleted_unix_ns, deleted_by } = row;
        let (id, size_bytes) = (CaptureId::from_bits(unsigned(id)), unsigned(size_bytes));
        Self { id, title, owner, started_unix_ns, size_bytes, deleted_unix_ns, deleted_by }
    }
}

/// Hides a capture that is shown, so that [`restore`] shows it again.
pub(crate) async fn hide(writer: &mut Writer, id: CaptureId, (unix_ns, user): (i64, &str)) -> Result<(), StoreError> {
    at_most("the user's name", user.len(), limit::USER_BYTES)?;
    writer.begin_with_room(Durability::Full).await?;
    let hidden = hide_in(&mut writer.conn, id, (unix_ns, user)).await;
    writer.end(hidden).await?;
    writer.deriving.retain(|(capture, _)| *capture != id);
    Ok(())
}

async fn hide_in(conn: &mut SqliteConnection, id: CaptureId, (unix_ns, user): (i64, &str)) -> Result<(), StoreError> {
    if state_of(conn, id).await? == CaptureState::Recording {
        return Err(StoreError::Recording { id });
    }
    set_phase(conn, id, Phase::Deleting, DELETING).await?;
    texts::remove(conn, id).await?;
    let insert = sqlx::query("INSERT INTO deleted VALUES (?, ?, ?)").bind(sql(id.bits())).bind(unix_ns).bind(user);
    insert.execute(conn).await.map_err(failed(DELETING))?;
    Ok(())
}

/// Shows a deleted capture again; `false` if there is none of this id.
pub(crate) async fn restore(conn: &mut SqliteConnection, id: CaptureId) -> Result<bool, StoreError> {
    let is_there = forget(conn, id).await?;
    if is_there {
        set_phase(conn, id, Phase::Ready, RESTORING).await?;
        texts::renew(conn, id).await?;
    }
    Ok(is_there)
}

/// From here on it is one whose rows are being removed; `false` if there is none of this id.
pub(crate) async fn forget(conn: &mut SqliteConnection, id: CaptureId) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM deleted WHERE capture_id = ?").bind(sql(id.bits()));
    Ok(delete.execute(conn).await.map_err(failed(RESTORING))?.rows_affected() > 0)
}

/// Whether one of this id can be restored.
pub(crate) async fn has(conn: &mut SqliteConnection, id: CaptureId) -> Result<bool, StoreError> {
    let select = sqlx::query_as("SELECT 1 FROM deleted WHERE capture_id = ?").bind(sql(id.bits()));
    let row: Option<(i64,)> = select.fetch_optional(conn).await.map_err(failed("looking for a deleted capture"))?;
    Ok(row.is_some())
}

/// Removes the one that was deleted first, as the disk is full; `false` if there is none.
pub(crate) async fn give_way(writer: &mut Writer) -> Result<bool, StoreError> {
    let select = sqlx::query_as("SELECT capture_id FROM deleted ORDER BY deleted_unix_ns, capture_id LIMIT 1");
    let oldest: Option<(i64,)> = select.fetch_optional(&mut writer.conn).await.map_err(failed(DELETING))?;
    let Some((id,)) = oldest else { return Ok(false) };
    let id = CaptureId::from_bits(unsigned(id));
    tracing::warn!(capture = %id, "the disk is full: a deleted capture cannot be restored any more");
    writer.begin_with_room(Durability::Full).await?;
    let forgotten = forget(&mut writer.conn, id).await;
    writer.end(forgotten).await?;
    let mut next = Some(Progress::START);
    while let Some(progress) = next {
        next = remove::step(writer, id, progress).await?;
    }
    let mut next = Some(Progress::START);
    while let Some(progress) = next {
        next = remove::shrink_step(writer, progress).await?;
    }
    Ok(true)
}

/// Those that can be restored, the one that was deleted first first.
pub(crate) async fn list(conn: &mut SqliteConnection) -> Result<Vec<DeletedCapture>, StoreError> {
    let select = "SELECT id, title, owner, started_unix_ns, deleted_unix_ns, deleted_by, \
                  chunk_bytes + output_bytes + index_bytes + dictionary_bytes AS size_bytes \
                  FROM deleted JOIN captures ON id = deleted.capture_id \
                  JOIN retention ON retention.capture_id = id ORDER BY deleted_unix_ns, id";
    let rows: Vec<DeletedRow> =
        sqlx::query_as(select).fetch_all(conn).await.map_err(failed("listing deleted captures"))?;
    Ok(rows.into_iter().map(DeletedCapture::from).collect())
}

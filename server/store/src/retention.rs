//! How long a capture is kept: its pin, from when its age counts, and how many bytes it has.
//!
//! Only facts: which captures have to go is decided where the clock is, and what goes is deleted like any other.

use bathyscope_capture::CaptureId;
use sqlx::SqliteConnection;

use crate::{
    CaptureRecord, CaptureState, RetainedCapture, StoreError,
    error::failed,
    read::state_of,
    rows::{sql, tags_from, unsigned},
};

const ADDING: &str = "adding to a capture";

/// The row of a capture that begins.
pub(crate) async fn begin(conn: &mut SqliteConnection, id: CaptureId, started_unix_ns: i64) -> Result<(), StoreError> {
    let insert = sqlx::query("INSERT INTO retention VALUES (?, 0, ?, 0, 0)").bind(sql(id.bits())).bind(started_unix_ns);
    insert.execute(conn).await.map_err(failed("making a capture"))?;
    Ok(())
}

/// From when the capture's age counts.
pub(crate) async fn since(conn: &mut SqliteConnection, id: CaptureId, unix_ns: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE retention SET since_unix_ns = ? WHERE capture_id = ?").bind(unix_ns);
    update.bind(sql(id.bits())).execute(conn).await.map_err(failed("noting when a capture ended"))?;
    Ok(())
}

/// A capture that was recorded here has ended: its age counts from there.
pub(crate) async fn ended(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    const DOING: &str = "noting when a capture ended";
    let select = sqlx::query_as("SELECT started_unix_ns, start_ns, end_ns FROM captures WHERE id = ?");
    let row = select.bind(sql(id.bits())).fetch_one(&mut *conn).await.map_err(failed(DOING))?;
    let (started_unix_ns, start_ns, end_ns): (i64, i64, i64) = row;
    let duration_ns = unsigned(end_ns).saturating_sub(unsigned(start_ns));
    since(conn, id, started_unix_ns.saturating_add_unsigned(duration_ns)).await
}

/// What a capture has grown by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddedBytes {
    pub(crate) index_bytes: u64,
    pub(crate) dictionary_bytes: u64,
}

/// Counts what was added, in the transaction that is open.
pub(crate) async fn add(conn: &mut SqliteConnection, id: CaptureId, added: AddedBytes) -> Result<(), StoreError> {
    let AddedBytes { index_bytes, dictionary_bytes } = added;
    if index_bytes == 0 && dictionary_bytes == 0 {
        return Ok(());
    }
    let update = sqlx::query(
        "UPDATE retention SET index_bytes = index_bytes + ?, dictionary_bytes = dictionary_bytes + ? WHERE capture_id = ?",
    );
    let update = update.bind(sql(index_bytes)).bind(sql(dictionary_bytes)).bind(sql(id.bits()));
    update.execute(conn).await.map_err(failed(ADDING))?;
    Ok(())
}

/// Pins a capture that is shown, or takes that back.
pub(crate) async fn set_pinned(conn: &mut SqliteConnection, id: CaptureId, pinned: bool) -> Result<(), StoreError> {
    state_of(conn, id).await?;
    let update = sqlx::query("UPDATE retention SET pinned = ? WHERE capture_id = ?").bind(pinned);
    update.bind(sql(id.bits())).execute(conn).await.map_err(failed("pinning a capture"))?;
    Ok(())
}

/// Whether somebody pinned it.
pub(crate) async fn is_pinned(conn: &mut SqliteConnection, id: CaptureId) -> Result<bool, StoreError> {
    let select = sqlx::query_as("SELECT pinned FROM retention WHERE capture_id = ?").bind(sql(id.bits()));
    let row: Option<(bool,)> = select.fetch_optional(conn).await.map_err(failed("looking for a capture"))?;
    Ok(row.is_some_and(|(pinned,)| pinned))
}

/// Adds how a capture of this database is kept.
pub(crate) async fn complete(
    conn: &mut SqliteConnection,
    mut record: CaptureRecord,
) -> Result<CaptureRecord, StoreError> {
    let select = "SELECT pinned, since_unix_ns, index_bytes + dictionary_bytes FROM retention WHERE capture_id = ?";
    let query = sqlx::query_as(select).bind(sql(record.id.bits()));
    let row: Option<(bool, i64, i64)> = query.fetch_optional(conn).await.map_err(failed("reading a capture"))?;
    let (pinned, since_unix_ns, more) = row.ok_or(StoreError::NoCapture { id: record.id })?;
    (record.pinned, record.since_unix_ns) = (pinned, since_unix_ns);
    record.size_bytes = record.size_bytes.saturating_add(unsigned(more));
    Ok(record)
}

/// Bytes of all captures that are shown, and of those of them that are pinned.
pub(crate) async fn sizes(conn: &mut SqliteConnection) -> Result<(u64, u64), StoreError> {
    // A sum of REAL cannot overflow; what is rounded is less than what is shown.
    let select =
        "SELECT total(size_bytes), total(size_bytes * pinned) FROM listed INDEXED BY listed_by_size WHERE shown = 1";
    let row = sqlx::query_as(select).fetch_one(conn).await.map_err(failed("listing captures"))?;
    let (all, pinned): (f64, f64) = row;
    Ok((all as u64, pinned as u64))
}

/// Every capture that is shown.
pub(crate) async fn all(conn: &mut SqliteConnection) -> Result<Vec<RetainedCapture>, StoreError> {
    type Row = (i64, String, String, String, String, bool, i64, i64);
    let select = "SELECT l.capture_id, title, owner, tags, state, l.pinned, since_unix_ns, size_bytes \
                  FROM listed l JOIN retention r ON r.capture_id = l.capture_id WHERE shown = 1";
    let rows: Vec<Row> = sqlx::query_as(select).fetch_all(conn).await.map_err(failed("listing captures"))?;
    let capture = |(id, title, owner, tags, state, pinned, since_unix_ns, size_bytes): Row| RetainedCapture {
        id: CaptureId::from_bits(unsigned(id)),
        title,
        owner,
        tags: tags_from(&tags),
        recording: state == CaptureState::Recording.as_str(),
        pinned,
        since_unix_ns,
        size_bytes: unsigned(size_bytes),
    };
    Ok(rows.into_iter().map(capture).collect())
}

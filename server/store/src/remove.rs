//! Deleting captures, a little at a time.
//!
//! The first step only marks the capture, which hides it. Then its rows go in steps of a bounded time, children before
//! parents, so that appends of running captures come in between; then the pages it took are given back to the disk. A
//! process that ends on the way goes on at the next start.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_capture::CaptureId;

use crate::{
    AuditEntry, CaptureState, StoreError,
    append::{Phase, set_phase},
    entry,
    error::failed,
    read::state_of,
    retention,
    rows::{sql, unsigned},
    texts,
    writer::{Durability, Writer},
};

/// What a step should take. It is aimed at from below: others wait behind it.
const STEP: Duration = Duration::from_millis(20);
/// The most pages given back in one step.
const MAX_PAGES: u32 = 1024;

/// What removes the rows of a capture, children first. Each statement takes the capture's id and how many rows.
const STATEMENTS: [&str; 31] = [
    "DELETE FROM track_pages WHERE rowid IN (SELECT rowid FROM track_pages WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM track_directories WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM index_data WHERE rowid IN (SELECT rowid FROM index_data WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM index_blocks WHERE (capture_id, stream, grouping, level, number) IN \
     (SELECT capture_id, stream, grouping, level, number FROM index_blocks WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM chunk_data WHERE rowid IN (SELECT rowid FROM chunk_data WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM chunks WHERE (capture_id, stream, seq) IN \
     (SELECT capture_id, stream, seq FROM chunks WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM symbols WHERE capture_id = ?1 AND frame_id IN \
     (SELECT frame_id FROM symbols WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM frames WHERE capture_id = ?1 AND id IN (SELECT id FROM frames WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM code WHERE rowid IN (SELECT rowid FROM code WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM mappings WHERE capture_id = ?1 AND id IN (SELECT id FROM mappings WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM stacks WHERE capture_id = ?1 AND id IN (SELECT id FROM stacks WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM strings WHERE capture_id = ?1 AND id IN (SELECT id FROM strings WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM processes WHERE capture_id = ?1 AND seq IN (SELECT seq FROM processes WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM output WHERE capture_id = ?1 AND seq IN (SELECT seq FROM output WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM losses WHERE capture_id = ?1 AND seq IN (SELECT seq FROM losses WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM checksums WHERE (capture_id, part, page) IN \
     (SELECT capture_id, part, page FROM checksums WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM note_versions WHERE (capture_id, note_id, version) IN \
     (SELECT capture_id, note_id, version FROM note_versions WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM notes WHERE capture_id = ?1 AND id IN (SELECT id FROM notes WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM labels WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM capture_rights WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM runs WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM shares WHERE kind = 'capture' AND object = printf('%016x', ?1) AND ?2 > 0",
    "DELETE FROM derivations WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM sources WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM firings WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM fire_tokens WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM deliveries WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM streams WHERE capture_id = ?1 AND stream IN (SELECT stream FROM streams WHERE capture_id = ?1 LIMIT ?2)",
    "DELETE FROM scripts WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM retention WHERE capture_id = ?1 AND ?2 > 0",
    "DELETE FROM captures WHERE id = ?1 AND ?2 > 0",
];

/// How far a deletion is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Which statement is next.
    statement: usize,
    /// How many rows, or pages, the next step takes.
    size: u32,
}

impl Progress {
    pub(crate) const START: Self = Self { statement: 0, size: 4 };

    /// Which statement is next.
    pub(crate) const fn statement(self) -> usize {
        self.statement
    }

    /// How many rows the next step takes.
    pub(crate) const fn size(self) -> u32 {
        self.size
    }

    /// A step has deleted so many rows.
    pub(crate) fn pass(&mut self, deleted: u64, took: Duration) {
        if deleted < u64::from(self.size) {
            self.statement += 1;
            self.size = self.size.min(256);
        } else {
            self.adapt(took);
        }
    }

    /// More if the step was short, fewer if it was long.
    fn adapt(&mut self, took: Duration) {
        if took > STEP {
            self.size = (self.size / 2).max(1);
        } else if took < STEP / 3 {
            self.size = self.size.saturating_mul(2).min(1 << 16);
        }
    }
}

/// On whose word a capture goes.
#[derive(Clone, Debug)]
pub(crate) enum Why {
    /// A person's, who may delete what is pinned too.
    Asked,
    /// A rule's: not if it is pinned, and with an entry of the audit log.
    Rule(AuditEntry),
}

/// Hides the capture, if it may go; says whether it did. From here on it is being deleted.
pub(crate) async fn mark(writer: &mut Writer, id: CaptureId, why: Why) -> Result<bool, StoreError> {
    let why = Arc::new(why);
    let marked = writer
        .with_room(|writer| {
            let why = Arc::clone(&why);
            Box::pin(async move {
                writer.begin(Durability::Full).await?;
                let marked = mark_in(writer, id, &why).await;
                writer.end(marked).await
            })
        })
        .await?;
    if marked {
        writer.ends.release(id);
    }
    Ok(marked)
}

async fn mark_in(writer: &mut Writer, id: CaptureId, why: &Why) -> Result<bool, StoreError> {
    // One whose end waits for room is not recorded any more: deleting it is what makes room.
    if state_of(&mut writer.conn, id).await? == CaptureState::Recording && !writer.ends.has(id) {
        return Err(StoreError::Recording { id });
    }
    if let Why::Rule(entry) = why {
        if retention::is_pinned(&mut writer.conn, id).await? {
            return Ok(false);
        }
        entry::add_audit(&mut writer.conn, entry).await?;
    }
    set_phase(&mut writer.conn, id, Phase::Deleting, "deleting a capture").await?;
    texts::remove(&mut writer.conn, id).await?;
    Ok(true)
}

/// Captures whose deletion or import was not finished.
pub(crate) async fn unfinished(writer: &mut Writer) -> Result<Vec<CaptureId>, StoreError> {
    let select = "SELECT id FROM captures WHERE phase <> 'ready' AND id NOT IN (SELECT capture_id FROM deleted)";
    let select = sqlx::query_as(select);
    let ids: Vec<(i64,)> = select.fetch_all(&mut writer.conn).await.map_err(failed("looking for captures"))?;
    Ok(ids.into_iter().map(|(id,)| CaptureId::from_bits(unsigned(id))).collect())
}

/// One step of deleting the rows; none when they are gone.
pub(crate) async fn step(
    writer: &mut Writer,
    id: CaptureId,
    mut progress: Progress,
) -> Result<Option<Progress>, StoreError> {
    let Some(statement) = STATEMENTS.get(progress.statement).copied() else { return Ok(None) };
    writer.forests.remove(&id);
    writer.deriving.retain(|(capture, _)| *capture != id);
    let size = progress.size;
    let start = Instant::now();
    let deleted = writer
        .with_room(|writer| {
            Box::pin(async move {
                writer.begin(Durability::Normal).await?;
                let delete = sqlx::query(statement).bind(sql(id.bits())).bind(size);
                let done = delete.execute(&mut writer.conn).await.map_err(failed("deleting a capture"));
                writer.end(done).await
            })
        })
        .await?;
    progress.pass(deleted.rows_affected(), start.elapsed());
    Ok(Some(progress))
}

/// One step of giving free pages back to the disk; none when there are none.
pub(crate) async fn shrink_step(writer: &mut Writer, mut progress: Progress) -> Result<Option<Progress>, StoreError> {
    const DOING: &str = "giving space back";
    let select = sqlx::query_as("PRAGMA freelist_count");
    let (free,): (i64,) = select.fetch_one(&mut writer.conn).await.map_err(failed(DOING))?;
    if free == 0 {
        return Ok(None);
    }
    let start = Instant::now();
    let pages = progress.size.min(MAX_PAGES);
    let pragma = sqlx::AssertSqlSafe(format!("PRAGMA incremental_vacuum({pages})"));
    sqlx::query(pragma).persistent(false).fetch_all(&mut writer.conn).await.map_err(failed(DOING))?;
    progress.adapt(start.elapsed());
    let (left,): (i64,) =
        sqlx::query_as("PRAGMA freelist_count").fetch_one(&mut writer.conn).await.map_err(failed(DOING))?;
    // A step that frees nothing would be repeated for ever.
    Ok((left > 0 && left < free).then_some(progress))
}

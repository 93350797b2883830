//! Streams that are computed from others of their capture after it has ended.
//!
//! They have numbers after those of the recorded streams, and rows, time index and texts like these. Until all of a rule's streams are
//! complete nobody sees them, and what is removed goes in short steps, as captures do. Their numbers stay: when the rule is
//! applied again its streams come to the same place.
//!
//! What a rule is does not matter here: its text tells it from others of the capture.

use std::time::Instant;

use bathyscope_capture::{CaptureId, EncodedChunk, StreamSchema, StringId};
use sqlx::SqliteConnection;

use crate::{
    CaptureRecord, CaptureState, DerivationRecord, DerivationState, StoreError, StreamRecord,
    append::{end_growing, insert_stream},
    error::failed,
    finish::close_index,
    insert::{insert_chunk, insert_new_strings},
    limits::{at_most, cut, few_enough, limit},
    read::state_of,
    remove::Progress,
    retention::{self, AddedBytes},
    rows::{narrow, sql, to_json, unreadable, unsigned},
    select::{all, of},
    sums::{self, ChecksumChanges, ChecksummedPart},
    tracks::{self, TrackChanges},
    writer::{Durability, Writer},
};

/// The longest text of a rule, and of what it could not tell.
const RULE_BYTES: usize = 64 << 10;
/// The most rules of a capture.
const MAX_DERIVATIONS: usize = 128;
/// What a chunk needs beside its bytes.
const CHUNK_OVERHEAD_BYTES: u64 = 64 << 10;

/// The rules that were applied to a capture, in order of their numbers.
pub(crate) async fn list(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<DerivationRecord>, StoreError> {
    type Row = (i64, String, String, String, i64, i64, String);
    let select = "SELECT number, rule, state, reason, first_stream, stream_count, counts FROM derivations \
                  WHERE capture_id = ? ORDER BY number";
    let rows: Vec<Row> = all(conn, of(select, id), "reading what was computed").await?;
    let record = |(number, rule, state, reason, first_stream, stream_count, counts): Row| {
        Ok(DerivationRecord {
            number: narrow(number, "the number of a derivation")?,
            rule,
            state: DerivationState::named(&state).ok_or_else(|| unreadable("the state of a derivation"))?,
            reason,
            first_stream: narrow(first_stream, "the stream of a derivation")?,
            stream_count: narrow(stream_count, "the streams of a derivation")?,
            counts,
        })
    };
    rows.into_iter().map(record).collect()
}

/// Adds to the record of a capture of this database what was computed, and hides the streams that are not complete.
pub(crate) async fn complete(
    conn: &mut SqliteConnection,
    mut record: CaptureRecord,
) -> Result<CaptureRecord, StoreError> {
    record.derivations = list(conn, record.id).await?;
    let whole = |stream| record.derivations.iter().any(|it| it.state.is_shown() && it.has(stream));
    // No ledger counts what is computed.
    let recorded = record.streams.iter().take_while(|stream| stream.schema.derived.is_none()).count();
    record.ledger.streams.truncate(recorded);
    for (number, stream) in (0_u16..).zip(&mut record.streams) {
        if stream.schema.derived.is_some() && !whole(number) {
            *stream = StreamRecord::absent();
        }
    }
    Ok(record)
}

/// The last of the capture's own strings, if texts of computed streams come after them.
pub(crate) async fn last_recorded_string(
    conn: &mut SqliteConnection,
    id: CaptureId,
) -> Result<Option<StringId>, StoreError> {
    let select = "SELECT min(recorded_strings) FROM derivations WHERE capture_id = ?";
    let rows: Vec<(Option<i64>,)> = all(conn, of(select, id), "reading what was computed").await?;
    rows.first().and_then(|row| row.0).map(|last| narrow(last, "the number of strings")).transpose()
}

/// Rules that are not complete, of all captures: which were being computed when the last process ended, and which have rows
/// that it had not removed.
pub(crate) async fn unfinished(conn: &mut SqliteConnection) -> Result<Vec<(CaptureId, DerivationRecord)>, StoreError> {
    let select = "SELECT DISTINCT capture_id FROM derivations JOIN captures ON id = capture_id WHERE phase = 'ready' AND \
                  derivations.state NOT IN ('following', 'complete')";
    let ids: Vec<(i64,)> = sqlx::query_as(select).fetch_all(&mut *conn).await.map_err(failed(UNFINISHED))?;
    let mut found = Vec::new();
    for (id,) in ids {
        let id = CaptureId::from_bits(unsigned(id));
        for record in list(conn, id).await?.into_iter().filter(|it| !it.state.is_shown()) {
            if record.state == DerivationState::Computing || has_rows(conn, id, &record).await? {
                found.push((id, record));
            }
        }
    }
    Ok(found)
}

const UNFINISHED: &str = "looking for streams that are not complete";

/// Whether rows of a rule's streams are there.
async fn has_rows(conn: &mut SqliteConnection, id: CaptureId, record: &DerivationRecord) -> Result<bool, StoreError> {
    let select = "SELECT EXISTS (SELECT 1 FROM streams WHERE capture_id = ?1 AND stream >= ?2 AND stream < ?2 + ?3 AND \
                  chunk_count > 0)";
    let query = of(select, id).bind(record.first_stream).bind(record.stream_count);
    let rows: Vec<(bool,)> = all(conn, query, UNFINISHED).await?;
    Ok(rows.first().is_some_and(|row| row.0))
}

/// What followed captures that the last process was recording is to be computed anew: their last rows are missing.
pub(crate) async fn stop_following(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE derivations SET state = 'computing' WHERE state = 'following'");
    update.execute(conn).await.map_err(failed("ending what was being computed"))?;
    Ok(())
}

/// What has to be removed before a rule can be applied: rows that it gave before. What another process was computing when it
/// ended is hidden first.
pub(crate) async fn leftover(
    writer: &mut Writer,
    id: CaptureId,
    rule: &str,
) -> Result<Option<DerivationRecord>, StoreError> {
    let known = list(&mut writer.conn, id).await?.into_iter().find(|it| it.rule == rule);
    let Some(known) = known.filter(|it| it.state != DerivationState::Complete) else { return Ok(None) };
    if known.state.is_filled() {
        if writer.deriving.contains(&(id, known.number)) {
            return Ok(None);
        }
        return hide(writer, (id, known.number), None).await.map(Some);
    }
    Ok(has_rows(&mut writer.conn, id, &known).await?.then_some(known))
}

/// Makes room for the streams of a rule, which are empty: new ones after all that there are, or those that it had. What is
/// recorded is followed.
pub(crate) async fn begin(
    writer: &mut Writer,
    id: CaptureId,
    (rule, schemas): (&str, &[StreamSchema]),
) -> Result<DerivationRecord, StoreError> {
    at_most("the rule of a derivation", rule.len(), RULE_BYTES)?;
    writer.has_room_for(crate::append::START_BYTES).await?;
    writer.begin(Durability::Full).await?;
    let begun = begin_in(&mut writer.conn, id, (rule, schemas)).await;
    let begun = writer.end(begun).await?;
    writer.deriving.insert((id, begun.number));
    Ok(begun)
}

async fn begin_in(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (rule, schemas): (&str, &[StreamSchema]),
) -> Result<DerivationRecord, StoreError> {
    let follows = state_of(conn, id).await? == CaptureState::Recording;
    if schemas.iter().any(|schema| schema.derived.is_none()) {
        let why = "a stream does not say what it was computed from".to_owned();
        return Err(StoreError::Refused { what: "a derivation", why });
    }
    let known = list(conn, id).await?;
    let same = known.iter().find(|it| it.rule == rule);
    let record = match same {
        Some(same) if same.state.is_filled() || same.state == DerivationState::Complete => {
            let why = "it is there already, or is being computed".to_owned();
            return Err(StoreError::Refused { what: "a derivation", why });
        }
        // A newer version of the rule may have other streams; those of the older one stay empty and unseen.
        Some(same) if usize::from(same.stream_count) == schemas.len() => same.clone(),
        Some(same) => placed(conn, id, (same.number, rule), schemas).await?,
        None => {
            few_enough("the rules of a capture", known.len() + 1, MAX_DERIVATIONS)?;
            let number = known.last().map_or(0, |last| last.number + 1);
            placed(conn, id, (number, rule), schemas).await?
        }
    };
    for (stream, schema) in (record.first_stream..).zip(schemas) {
        put_schema(conn, id, (stream, schema)).await?;
    }
    let state = if follows { DerivationState::Following } else { DerivationState::Computing };
    let begun = DerivationRecord { state, reason: String::new(), ..record };
    put(conn, id, &begun).await?;
    Ok(begun)
}

/// A place for streams after all that the capture has.
async fn placed(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (number, rule): (u16, &str),
    schemas: &[StreamSchema],
) -> Result<DerivationRecord, StoreError> {
    let select = of("SELECT count(*) FROM streams WHERE capture_id = ?", id);
    let rows: Vec<(i64,)> = all(conn, select, "counting streams").await?;
    let first: u16 = narrow(rows.first().map_or(0, |row| row.0), "a number of streams")?;
    few_enough("the list of streams", usize::from(first) + schemas.len(), limit::STREAMS)?;
    Ok(DerivationRecord {
        number,
        rule: rule.to_owned(),
        state: DerivationState::Computing,
        reason: String::new(),
        first_stream: first,
        stream_count: schemas.len() as u16,
        counts: String::new(),
    })
}

/// Adds a stream without rows, or replaces the columns of one.
async fn put_schema(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (stream, schema): (u16, &StreamSchema),
) -> Result<(), StoreError> {
    let select = "SELECT schema, chunk_count FROM streams WHERE capture_id = ? AND stream = ?";
    let rows: Vec<(String, i64)> = all(conn, of(select, id).bind(stream), "reading a stream").await?;
    let Some((old, chunks)) = rows.into_iter().next() else {
        let mut added = ChecksumChanges::default();
        insert_stream(conn, id, (u32::from(stream), schema), &mut added).await?;
        return added.store(conn, id).await;
    };
    if chunks != 0 {
        let why = "its rows from before are not removed yet".to_owned();
        return Err(StoreError::Refused { what: "a derivation", why });
    }
    let new = to_json(schema, "the columns of a stream")?;
    at_most("the columns of a stream", new.len(), limit::JSON_BYTES)?;
    let (page, mut changes) = (u32::from(stream), ChecksumChanges::default());
    changes.page(ChecksummedPart::Columns, page, sums::columns(page, &new) - sums::columns(page, &old));
    let update = of("UPDATE streams SET schema = ?2 WHERE capture_id = ?1 AND stream = ?3", id).bind(new).bind(stream);
    update.execute(&mut *conn).await.map_err(failed("making a stream"))?;
    changes.store(conn, id).await
}

async fn put(conn: &mut SqliteConnection, id: CaptureId, record: &DerivationRecord) -> Result<(), StoreError> {
    let insert = "INSERT INTO derivations VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, CASE ?4 WHEN 'following' THEN 4294967295 ELSE \
                  (SELECT coalesce(max(id), 0) FROM strings WHERE capture_id = ?1) END, '') \
                  ON CONFLICT (capture_id, number) DO UPDATE SET state = excluded.state, reason = '', counts = '', \
                  first_stream = excluded.first_stream, stream_count = excluded.stream_count, \
                  recorded_strings = min(recorded_strings, excluded.recorded_strings)";
    let insert = of(insert, id).bind(record.number).bind(&record.rule).bind(record.state.as_str());
    insert
        .bind(record.first_stream)
        .bind(record.stream_count)
        .execute(conn)
        .await
        .map_err(failed("beginning a derivation"))?;
    Ok(())
}

/// Fails unless the streams of a derivation are being filled.
async fn filled(conn: &mut SqliteConnection, id: CaptureId, number: u16) -> Result<DerivationRecord, StoreError> {
    state_of(conn, id).await?;
    let found = list(conn, id).await?.into_iter().find(|it| it.number == number);
    found.filter(|it| it.state.is_filled()).ok_or_else(|| {
        let why = "it was removed, or has ended".to_owned();
        StoreError::Refused { what: "rows of a derivation", why }
    })
}

/// Adds chunks and tracks to streams that are being computed, by their place among the rule's.
pub(crate) async fn append(
    writer: &mut Writer,
    (id, number): (CaptureId, u16),
    (chunks, tracks): (Vec<(u16, EncodedChunk)>, Vec<TrackChanges>),
) -> Result<(), StoreError> {
    let chunk_bytes: u64 = chunks.iter().map(|(_, chunk)| chunk.bytes.len() as u64 + CHUNK_OVERHEAD_BYTES).sum();
    let track_bytes: u64 = tracks.iter().map(TrackChanges::bytes).sum();
    writer.has_room_for(2 * (chunk_bytes + track_bytes)).await?;
    writer.begin(Durability::Normal).await?;
    let done = append_in(writer, (id, number), (chunks, &tracks)).await;
    end_growing(writer, id, done).await
}

async fn append_in(
    writer: &mut Writer,
    (id, number): (CaptureId, u16),
    (mut chunks, tracks): (Vec<(u16, EncodedChunk)>, &[TrackChanges]),
) -> Result<(), StoreError> {
    let record = filled(&mut writer.conn, id, number).await?;
    let mut track_bytes = 0;
    for changes in tracks.iter().filter(|changes| changes.stream < record.stream_count) {
        track_bytes += tracks::put(&mut writer.conn, id, record.first_stream + changes.stream, changes).await?;
    }
    let (mut bytes, mut numbers) = (0, Vec::with_capacity(chunks.len()));
    for (stream, chunk) in &mut chunks {
        if *stream >= record.stream_count {
            return Err(StoreError::Refused { what: "a chunk", why: format!("the rule has no stream {stream}") });
        }
        *stream += record.first_stream;
        numbers.push(insert_chunk(&mut writer.conn, id, *stream, chunk).await?);
        bytes += chunk.bytes.len() as u64;
    }
    add_bytes(&mut writer.conn, id, sql(bytes)).await?;
    let mut forests = writer.forests.remove(&id).unwrap_or_default();
    let indexed = forests.insert_leaves(&mut writer.conn, id, &chunks, &numbers).await;
    writer.forests.insert(id, forests);
    retention::add(&mut writer.conn, id, AddedBytes { index_bytes: indexed? + track_bytes, dictionary_bytes: 0 }).await
}

/// Counts bytes of chunks that were added, or taken away with a negative number. Rows of computed streams are not counted
/// with those that were recorded.
async fn add_bytes(conn: &mut SqliteConnection, id: CaptureId, bytes: i64) -> Result<(), StoreError> {
    let update = of("UPDATE captures SET chunk_bytes = chunk_bytes + ?2 WHERE id = ?1", id).bind(bytes);
    update.execute(conn).await.map_err(failed("counting the bytes of a capture"))?;
    Ok(())
}

/// The ids of texts in a capture that has ended, each new or known.
pub(crate) async fn string_ids(
    writer: &mut Writer,
    id: CaptureId,
    texts: Vec<Vec<u8>>,
) -> Result<Vec<StringId>, StoreError> {
    writer.begin(Durability::Normal).await?;
    let found = string_ids_in(&mut writer.conn, id, texts).await;
    writer.end(found).await
}

async fn string_ids_in(
    conn: &mut SqliteConnection,
    id: CaptureId,
    texts: Vec<Vec<u8>>,
) -> Result<Vec<StringId>, StoreError> {
    const DOING: &str = "looking for a text";
    if state_of(conn, id).await? == CaptureState::Recording {
        // Its recorder gives them ids.
        return Err(StoreError::Recording { id });
    }
    let mut ids = Vec::with_capacity(texts.len());
    for text in texts {
        let select = "SELECT id FROM strings WHERE capture_id = ?1 AND text = ?2 LIMIT 1";
        let known: Vec<(i64,)> = all(conn, of(select, id).bind(&text), DOING).await?;
        if let Some((known,)) = known.first() {
            ids.push(narrow(*known, "the id of a string")?);
            continue;
        }
        let select = of("SELECT coalesce(max(id), 0) + 1 FROM strings WHERE capture_id = ?1", id);
        let next: Vec<(i64,)> = all(conn, select, DOING).await?;
        let next: StringId = narrow(next.first().map_or(1, |row| row.0), "the id of a string")?;
        insert_new_strings(conn, id, &[(next, text)]).await?;
        ids.push(next);
    }
    Ok(ids)
}

/// Ends a derivation whose rows are all there; its streams are seen from then on. `counts` is what it could not tell.
pub(crate) async fn finish(
    writer: &mut Writer,
    (id, number): (CaptureId, u16),
    counts: &str,
) -> Result<(), StoreError> {
    at_most("what a rule could not tell", counts.len(), RULE_BYTES)?;
    if state_of(&mut writer.conn, id).await? == CaptureState::Recording {
        return Err(StoreError::Recording { id });
    }
    close_index(writer, id).await;
    writer.begin(Durability::Full).await?;
    let done = async {
        filled(&mut writer.conn, id, number).await?;
        set_state(&mut writer.conn, (id, number), (DerivationState::Complete, "", counts)).await
    };
    let done = done.await;
    writer.end(done).await?;
    writer.deriving.remove(&(id, number));
    Ok(())
}

/// Hides the streams of a rule: it failed for this reason, or is removed. Its rows are to go by [`clear_step`] then.
pub(crate) async fn hide(
    writer: &mut Writer,
    (id, number): (CaptureId, u16),
    failure: Option<&str>,
) -> Result<DerivationRecord, StoreError> {
    if writer.deriving.remove(&(id, number)) {
        writer.forests.remove(&id);
    }
    writer.begin_with_room(Durability::Full).await?;
    let state = if failure.is_some() { DerivationState::Failed } else { DerivationState::Removed };
    let hidden = async {
        state_of(&mut writer.conn, id).await?;
        let reason = cut(failure.unwrap_or_default(), limit::REASON_BYTES);
        set_state(&mut writer.conn, (id, number), (state, reason, "")).await?;
        let found = list(&mut writer.conn, id).await?.into_iter().find(|it| it.number == number);
        found.ok_or_else(|| StoreError::Refused { what: "a derivation", why: format!("there is no number {number}") })
    };
    let hidden = hidden.await;
    writer.end(hidden).await
}

async fn set_state(
    conn: &mut SqliteConnection,
    (id, number): (CaptureId, u16),
    (state, reason, counts): (DerivationState, &str, &str),
) -> Result<(), StoreError> {
    let update = "UPDATE derivations SET state = ?3, reason = ?4, counts = ?5 WHERE capture_id = ?1 AND number = ?2";
    let update = of(update, id).bind(number).bind(state.as_str()).bind(reason).bind(counts);
    update.execute(conn).await.map_err(failed("noting how far a derivation is"))?;
    Ok(())
}

/// What removes the rows of streams, children first. Each statement takes the capture's id, how many rows, and the first
/// and last stream.
const STATEMENTS: [&str; 6] = [
    "DELETE FROM track_pages WHERE rowid IN (SELECT rowid FROM track_pages WHERE capture_id = ?1 AND \
     stream BETWEEN ?3 AND ?4 LIMIT ?2)",
    "DELETE FROM track_directories WHERE capture_id = ?1 AND ?2 > 0 AND stream BETWEEN ?3 AND ?4",
    "DELETE FROM index_data WHERE rowid IN (SELECT rowid FROM index_data WHERE capture_id = ?1 AND \
     stream BETWEEN ?3 AND ?4 LIMIT ?2)",
    "DELETE FROM index_blocks WHERE (capture_id, stream, grouping, level, number) IN (SELECT capture_id, stream, grouping, \
     level, number FROM index_blocks WHERE capture_id = ?1 AND stream BETWEEN ?3 AND ?4 LIMIT ?2)",
    "DELETE FROM chunk_data WHERE rowid IN (SELECT rowid FROM chunk_data WHERE capture_id = ?1 AND \
     stream BETWEEN ?3 AND ?4 LIMIT ?2)",
    "DELETE FROM chunks WHERE (capture_id, stream, seq) IN (SELECT capture_id, stream, seq FROM chunks \
     WHERE capture_id = ?1 AND stream BETWEEN ?3 AND ?4 LIMIT ?2)",
];

/// One step of removing the rows of a rule's streams; none when they are gone. Only for one that is hidden.
pub(crate) async fn clear_step(
    writer: &mut Writer,
    (id, record): (CaptureId, &DerivationRecord),
    mut progress: Progress,
) -> Result<Option<Progress>, StoreError> {
    let Some(last) = (record.first_stream + record.stream_count).checked_sub(1) else { return Ok(None) };
    let streams = (record.first_stream, last);
    let Some(statement) = STATEMENTS.get(progress.statement()).copied() else {
        writer.begin_with_room(Durability::Normal).await?;
        let done = forget_rows(&mut writer.conn, id, streams).await;
        writer.end(done).await?;
        return Ok(None);
    };
    let start = Instant::now();
    writer.begin_with_room(Durability::Normal).await?;
    let freed = delete_some(&mut writer.conn, statement, (id, streams), progress.size()).await;
    let deleted = writer.end(freed).await?;
    progress.pass(deleted, start.elapsed());
    Ok(Some(progress))
}

/// Runs one of [`STATEMENTS`]; says how many rows went.
async fn delete_some(
    conn: &mut SqliteConnection,
    statement: &'static str,
    (id, (first, last)): (CaptureId, (u16, u16)),
    size: u32,
) -> Result<u64, StoreError> {
    const DOING: &str = "removing computed streams";
    let delete = of(statement, id).bind(size).bind(first).bind(last);
    let done = delete.execute(conn).await.map_err(failed(DOING))?;
    Ok(done.rows_affected())
}

/// Streams of which all rows are gone have none, and the capture is smaller by them.
async fn forget_rows(conn: &mut SqliteConnection, id: CaptureId, (first, last): (u16, u16)) -> Result<(), StoreError> {
    const DOING: &str = "removing computed streams";
    let select = "SELECT coalesce(sum(chunk_bytes), 0) FROM streams WHERE capture_id = ?1 AND stream BETWEEN ?2 AND ?3";
    let rows: Vec<(i64,)> = all(conn, of(select, id).bind(first).bind(last), DOING).await?;
    let bytes = rows.first().map_or(0, |row| row.0);
    let update = "UPDATE streams SET chunk_count = 0, row_count = 0, chunk_bytes = 0 WHERE capture_id = ?1 AND \
                  stream BETWEEN ?2 AND ?3";
    of(update, id).bind(first).bind(last).execute(&mut *conn).await.map_err(failed(DOING))?;
    add_bytes(conn, id, bytes.saturating_neg()).await?;
    // What is left of the indexes is that of the others.
    let update = "UPDATE retention SET index_bytes = coalesce((SELECT sum(octet_length(data)) FROM index_data WHERE \
                  capture_id = ?1), 0) + coalesce((SELECT sum(octet_length(data)) FROM track_pages WHERE capture_id = ?1), 0) + \
                  coalesce((SELECT sum(octet_length(data)) FROM track_directories WHERE capture_id = ?1), 0) \
                  WHERE capture_id = ?1";
    of(update, id).execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

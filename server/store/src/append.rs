//! Making, filling and ending captures: what runs in the writer.

use bathyscope_capture::{
    Append, CaptureId, CaptureSpec, EncodedChunk, Frame, FrameId, Ledger, Loss, LossStage, MAX_CHUNK_BYTES, Mapping,
    MappingId, Method, OutputLine, ProcessChange, Stack, StackId, StreamTotals, StringId, Symbol, Target,
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::{
    CaptureState, End, NewCapture, Origin, StoreError,
    error::failed,
    rows::{
        descriptor, loss_stage, mapping_kind, process_change, sql, stack_to_bytes, stats_to_bytes, to_json, unsigned,
    },
    writer::{Durability, Writer},
};

/// Limits on what is stored, here and from files.
pub(crate) mod limit {
    pub(crate) const TITLE_BYTES: usize = 256;
    pub(crate) const USER_BYTES: usize = 64;
    pub(crate) const REASON_BYTES: usize = 1 << 10;
    pub(crate) const JSON_BYTES: usize = 4 << 20;
    pub(crate) const STREAMS: usize = 256;
    pub(crate) const STRING_BYTES: usize = 64 << 10;
    pub(crate) const NAME_BYTES: usize = 64 << 10;
    pub(crate) const BUILD_ID_BYTES: usize = 64;
    pub(crate) const STACK_FRAMES: usize = 4096;
    pub(crate) const SYMBOL_BYTES: usize = 256 << 10;
    pub(crate) const OUTPUT_BYTES: usize = 64 << 10;
    pub(crate) const LOSSES: usize = 100_000;
}

/// Rows in one INSERT: enough that the round trip no longer counts, few enough values for any build of SQLite.
const BATCH: usize = 200;

pub(crate) fn at_most(what: &'static str, bytes: usize, most: usize) -> Result<(), StoreError> {
    if bytes <= most {
        return Ok(());
    }
    Err(StoreError::Refused { what, why: format!("it has {bytes} bytes or entries; at most {most} are stored") })
}

/// The longest beginning of `text` of at most `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// Makes a capture in its own transaction.
pub(crate) async fn create(writer: &mut Writer, new: &NewCapture) -> Result<(), StoreError> {
    writer.begin(Durability::Full).await?;
    let made = insert_capture(&mut writer.conn, new, Phase::Ready, Origin::Recorded).await;
    writer.end(made).await
}

/// Whether a capture is shown, or being made or removed behind the scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Ready,
    Importing,
    Deleting,
}

impl Phase {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Importing => "importing",
            Self::Deleting => "deleting",
        }
    }
}

pub(crate) const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded",
        Origin::Imported => "imported",
    }
}

const fn method_of(spec: &CaptureSpec) -> &'static str {
    match spec.method {
        Method::Events { .. } => "events",
        Method::Profile { .. } => "profile",
    }
}

fn target_of(spec: &CaptureSpec) -> String {
    let text = match &spec.target {
        Target::System => "system".to_owned(),
        Target::Process { pid, .. } => format!("pid {pid}"),
        Target::Command { argv, .. } => argv.join(" "),
    };
    cut(&text, 256).to_owned()
}

/// What the search of the list looks into.
pub(crate) fn search_text(title: &str, owner: &str, rest: [&str; 3]) -> String {
    [title, owner].into_iter().chain(rest).collect::<Vec<_>>().join("\n").to_lowercase()
}

/// Adds the rows of a capture that has no events yet, in the transaction that is open.
pub(crate) async fn insert_capture(
    conn: &mut SqliteConnection,
    new: &NewCapture,
    phase: Phase,
    from: Origin,
) -> Result<(), StoreError> {
    at_most("the capture's name", new.title.len(), limit::TITLE_BYTES)?;
    at_most("the owner's name", new.owner.len(), limit::USER_BYTES)?;
    at_most("the list of streams", new.streams.len(), limit::STREAMS)?;
    let (spec, host) = (to_json(&new.spec, "the spec")?, to_json(&new.host, "the facts of the host")?);
    let (method, target, host_name) = (method_of(&new.spec), target_of(&new.spec), cut(&new.host.hostname, 256));
    let search = search_text(&new.title, &new.owner, [host_name, method, &target]);
    at_most("the spec", spec.len().max(host.len()), limit::JSON_BYTES)?;
    let inserted = sqlx::query(
        "INSERT INTO captures (id, phase, state, reason, origin, title, owner, spec, host, method, target, host_name, \
         search, started_unix_ns, start_ns, end_ns, row_count, chunk_bytes, output_bytes, lost, simulated) \
         VALUES (?, ?, 'recording', '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?)",
    )
    .bind(sql(new.id.bits()))
    .bind(phase.as_str())
    .bind(origin(from))
    .bind(&new.title)
    .bind(&new.owner)
    .bind(spec)
    .bind(host)
    .bind(method)
    .bind(&target)
    .bind(host_name)
    .bind(search)
    .bind(new.started_unix_ns)
    .bind(sql(new.start_ns))
    .bind(sql(new.start_ns))
    .bind(new.simulated)
    .execute(&mut *conn)
    .await;
    match inserted {
        Err(error) if error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation) => {
            return Err(StoreError::Exists { id: new.id });
        }
        other => other.map_err(failed("making a capture"))?,
    };
    for (stream, schema) in (0_i64..).zip(&new.streams) {
        let schema = to_json(schema, "the columns of a stream")?;
        at_most("the columns of a stream", schema.len(), limit::JSON_BYTES)?;
        sqlx::query(
            "INSERT INTO streams (capture_id, stream, schema, chunk_count, row_count, chunk_bytes, hits, filtered, \
             emitted, stored) VALUES (?, ?, ?, 0, 0, 0, 0, 0, 0, 0)",
        )
        .bind(sql(new.id.bits()))
        .bind(stream)
        .bind(schema)
        .execute(&mut *conn)
        .await
        .map_err(failed("making a capture"))?;
    }
    Ok(())
}

/// Appends in its own transaction, if there is room.
pub(crate) async fn append(writer: &mut Writer, id: CaptureId, append: &Append) -> Result<(), StoreError> {
    writer.has_room_for(2 * size_of(append)).await?;
    writer.begin(Durability::Normal).await?;
    let done = append_in(writer, id, append).await;
    writer.end(done).await?;
    if let Some(ledger) = &append.ledger {
        writer.losses.insert(id, ledger.losses.clone());
    }
    Ok(())
}

/// About how many bytes an append takes on the disk.
pub(crate) fn size_of(append: &Append) -> u64 {
    let chunks: usize = append.chunks.iter().map(|(_, chunk)| chunk.bytes.len() + 256).sum();
    let strings: usize = append.strings.iter().map(|(_, text)| text.len() + 16).sum();
    let stacks: usize = append.stacks.iter().map(|(_, stack)| stack.len() * 4 + 16).sum();
    let output: usize = append.output.iter().map(|line| line.bytes.len() + 32).sum();
    let small = append.mappings.len() * 128 + append.frames.len() * 32 + append.processes.len() * 40;
    (chunks + strings + stacks + output + small + append.symbols.len() * 160 + (64 << 10)) as u64
}

async fn append_in(writer: &mut Writer, id: CaptureId, append: &Append) -> Result<(), StoreError> {
    must_be_recording(&mut writer.conn, id).await?;
    insert_append(&mut writer.conn, id, append).await?;
    if let Some(ledger) = &append.ledger {
        let known = writer.losses.get(&id).map_or(&[][..], Vec::as_slice);
        put_ledger(&mut writer.conn, id, ledger, known).await?;
    }
    Ok(())
}

/// Fails unless rows can be added to the capture.
async fn must_be_recording(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    match state_of(conn, id).await? {
        CaptureState::Recording => Ok(()),
        state => Err(StoreError::NotRecording { id, state }),
    }
}

/// The state of a capture that is shown.
pub(crate) async fn state_of(conn: &mut SqliteConnection, id: CaptureId) -> Result<CaptureState, StoreError> {
    let select = sqlx::query_as("SELECT state FROM captures WHERE id = ? AND phase = 'ready'").bind(sql(id.bits()));
    let row: Option<(String,)> = select.fetch_optional(conn).await.map_err(failed("looking for a capture"))?;
    let (state,) = row.ok_or(StoreError::NoCapture { id })?;
    state.parse().map_err(|_unknown| crate::rows::unreadable("the state of a capture"))
}

/// Adds what an append holds but for its ledger, in the transaction that is open.
pub(crate) async fn insert_append(
    conn: &mut SqliteConnection,
    id: CaptureId,
    append: &Append,
) -> Result<(), StoreError> {
    insert_strings(conn, id, &append.strings).await?;
    insert_mappings(conn, id, &append.mappings).await?;
    insert_frames(conn, id, &append.frames).await?;
    insert_stacks(conn, id, &append.stacks).await?;
    insert_symbols(conn, id, &append.symbols).await?;
    insert_processes(conn, id, &append.processes).await?;
    let output_bytes = insert_output(conn, id, &append.output).await?;
    let (mut rows, mut bytes) = (0, 0);
    for (stream, chunk) in &append.chunks {
        insert_chunk(conn, id, *stream, chunk).await?;
        rows += u64::from(chunk.rows);
        bytes += chunk.bytes.len() as u64;
    }
    sqlx::query(
        "UPDATE captures SET row_count = row_count + ?, chunk_bytes = chunk_bytes + ?, output_bytes = output_bytes + ?, \
         end_ns = max(end_ns, ?) WHERE id = ?",
    )
    .bind(sql(rows))
    .bind(sql(bytes))
    .bind(sql(output_bytes))
    .bind(sql(append.end_ns))
    .bind(sql(id.bits()))
    .execute(conn)
    .await
    .map_err(failed("adding to a capture"))?;
    Ok(())
}

async fn insert_chunk(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    chunk: &EncodedChunk,
) -> Result<(), StoreError> {
    const DOING: &str = "storing a chunk";
    at_most("a chunk", chunk.bytes.len(), MAX_CHUNK_BYTES)?;
    let (capture, bytes) = (sql(id.bits()), sql(chunk.bytes.len() as u64));
    let seq: Option<(i64,)> = sqlx::query_as(
        "UPDATE streams SET chunk_count = chunk_count + 1, row_count = row_count + ?1, chunk_bytes = chunk_bytes + ?2 \
         WHERE capture_id = ?3 AND stream = ?4 RETURNING chunk_count - 1",
    )
    .bind(chunk.rows)
    .bind(bytes)
    .bind(capture)
    .bind(stream)
    .fetch_optional(&mut *conn)
    .await
    .map_err(failed(DOING))?;
    let Some((seq,)) = seq else {
        return Err(StoreError::Refused { what: "a chunk", why: format!("the capture has no stream {stream}") });
    };
    sqlx::query("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(capture)
        .bind(stream)
        .bind(seq)
        .bind(chunk.rows)
        .bind(sql(chunk.first_ns))
        .bind(sql(chunk.last_ns))
        .bind(bytes)
        .bind(stats_to_bytes(&chunk.stats))
        .execute(&mut *conn)
        .await
        .map_err(failed(DOING))?;
    let insert = sqlx::query("INSERT INTO chunk_data VALUES (?, ?, ?, ?)").bind(capture).bind(stream).bind(seq);
    insert.bind(chunk.bytes.as_slice()).execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// Runs one INSERT for each batch of `values`.
async fn insert_all<T>(
    conn: &mut SqliteConnection,
    head: &'static str,
    values: &[T],
    doing: &'static str,
    bind: impl Fn(&mut sqlx::query_builder::Separated<'_, Sqlite, &'static str>, &T) + Send,
) -> Result<(), StoreError>
where
    T: Sync,
{
    for batch in values.chunks(BATCH) {
        let mut query = QueryBuilder::<Sqlite>::new(head);
        query.push_values(batch, |mut row, value| bind(&mut row, value));
        let done = query.build().persistent(batch.len() == BATCH).execute(&mut *conn).await;
        done.map_err(|error| dictionary_error(error, doing))?;
    }
    Ok(())
}

/// An id that was given twice, or that refers to nothing, is the caller's error.
fn dictionary_error(error: sqlx::Error, doing: &'static str) -> StoreError {
    use sqlx::error::ErrorKind::{ForeignKeyViolation, UniqueViolation};
    match error.as_database_error().map(sqlx::error::DatabaseError::kind) {
        Some(UniqueViolation) => {
            StoreError::Refused { what: "a dictionary entry", why: format!("an id was used twice while {doing}") }
        }
        Some(ForeignKeyViolation) => {
            StoreError::Refused { what: "a dictionary entry", why: format!("an id was not known while {doing}") }
        }
        _ => failed(doing)(error),
    }
}

async fn insert_strings(
    conn: &mut SqliteConnection,
    id: CaptureId,
    strings: &[(StringId, Vec<u8>)],
) -> Result<(), StoreError> {
    for (_, text) in strings {
        at_most("a string", text.len(), limit::STRING_BYTES)?;
    }
    insert_all(conn, "INSERT INTO strings ", strings, "storing strings", |row, (string, text)| {
        row.push_bind(sql(id.bits())).push_bind(*string).push_bind(text.clone());
    })
    .await
}

async fn insert_mappings(
    conn: &mut SqliteConnection,
    id: CaptureId,
    mappings: &[(MappingId, Mapping)],
) -> Result<(), StoreError> {
    for (_, mapping) in mappings {
        at_most("the name of a mapping", mapping.name.len(), limit::NAME_BYTES)?;
        at_most("a build id", mapping.build_id.len(), limit::BUILD_ID_BYTES)?;
    }
    insert_all(conn, "INSERT INTO mappings ", mappings, "storing mappings", |row, (mapping, value)| {
        row.push_bind(sql(id.bits())).push_bind(*mapping).push_bind(mapping_kind(value.kind));
        row.push_bind(value.build_id.clone()).push_bind(value.name.clone()).push_bind(value.pid);
    })
    .await
}

async fn insert_frames(
    conn: &mut SqliteConnection,
    id: CaptureId,
    frames: &[(FrameId, Frame)],
) -> Result<(), StoreError> {
    insert_all(conn, "INSERT INTO frames ", frames, "storing frames", |row, (frame, value)| {
        row.push_bind(sql(id.bits())).push_bind(*frame).push_bind(value.mapping).push_bind(sql(value.offset));
    })
    .await
}

async fn insert_stacks(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stacks: &[(StackId, Stack)],
) -> Result<(), StoreError> {
    for (_, stack) in stacks {
        at_most("a stack", stack.len(), limit::STACK_FRAMES)?;
    }
    insert_all(conn, "INSERT INTO stacks ", stacks, "storing stacks", |row, (stack, frames)| {
        row.push_bind(sql(id.bits())).push_bind(*stack).push_bind(stack_to_bytes(frames));
    })
    .await
}

/// Adds or replaces names of frames, in the transaction that is open.
pub(crate) async fn insert_symbols(
    conn: &mut SqliteConnection,
    id: CaptureId,
    symbols: &[(FrameId, Symbol)],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(symbols.len());
    for (frame, symbol) in symbols {
        let lines = to_json(&symbol.lines, "the lines of a symbol")?;
        at_most("a symbol", symbol.function.len() + lines.len(), limit::SYMBOL_BYTES)?;
        rows.push((*frame, symbol.function.clone(), sql(symbol.offset), lines));
    }
    insert_all(
        conn,
        "INSERT OR REPLACE INTO symbols ",
        &rows,
        "storing symbols",
        |row, (frame, function, at, lines)| {
            row.push_bind(sql(id.bits())).push_bind(*frame).push_bind(function.clone());
            row.push_bind(*at).push_bind(lines.clone());
        },
    )
    .await
}

async fn next_seq(conn: &mut SqliteConnection, select: &'static str, id: CaptureId) -> Result<i64, StoreError> {
    let next = sqlx::query_as(select).bind(sql(id.bits())).fetch_one(conn).await;
    next.map(|(next,): (i64,)| next).map_err(failed("adding to a capture"))
}

async fn insert_processes(
    conn: &mut SqliteConnection,
    id: CaptureId,
    changes: &[ProcessChange],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let select = "SELECT coalesce(max(seq) + 1, 0) FROM processes WHERE capture_id = ?";
    let first = next_seq(conn, select, id).await?;
    let rows: Vec<_> = (first..).zip(changes).collect();
    insert_all(conn, "INSERT INTO processes ", &rows, "storing the process history", |row, (seq, change)| {
        let (kind, value) = process_change(&change.kind);
        row.push_bind(sql(id.bits())).push_bind(*seq).push_bind(sql(change.time_ns));
        row.push_bind(change.pid).push_bind(change.tid).push_bind(kind).push_bind(value);
    })
    .await
}

/// Adds output; says how many bytes.
async fn insert_output(conn: &mut SqliteConnection, id: CaptureId, lines: &[OutputLine]) -> Result<u64, StoreError> {
    if lines.is_empty() {
        return Ok(0);
    }
    for line in lines {
        at_most("a piece of output", line.bytes.len(), limit::OUTPUT_BYTES)?;
    }
    let first = next_seq(conn, "SELECT coalesce(max(seq) + 1, 0) FROM output WHERE capture_id = ?", id).await?;
    let rows: Vec<_> = (first..).zip(lines).collect();
    insert_all(conn, "INSERT INTO output ", &rows, "storing output", |row, (seq, line)| {
        row.push_bind(sql(id.bits())).push_bind(*seq).push_bind(sql(line.time_ns));
        row.push_bind(descriptor(line.stream)).push_bind(line.bytes.clone());
    })
    .await?;
    Ok(lines.iter().map(|line| line.bytes.len() as u64).sum())
}

/// Replaces the ledger, in the transaction that is open. `known` are the losses that are stored: those that begin the new
/// ledger too are left alone.
pub(crate) async fn put_ledger(
    conn: &mut SqliteConnection,
    id: CaptureId,
    ledger: &Ledger,
    known: &[Loss],
) -> Result<(), StoreError> {
    const DOING: &str = "storing the ledger";
    at_most("the list of losses", ledger.losses.len(), limit::LOSSES)?;
    let capture = sql(id.bits());
    for (stream, totals) in (0_i64..).zip(&ledger.streams) {
        sqlx::query(
            "UPDATE streams SET hits = ?, filtered = ?, emitted = ?, stored = ? WHERE capture_id = ? AND stream = ?",
        )
        .bind(sql(totals.hits))
        .bind(sql(totals.filtered))
        .bind(sql(totals.emitted))
        .bind(sql(totals.stored))
        .bind(capture)
        .bind(stream)
        .execute(&mut *conn)
        .await
        .map_err(failed(DOING))?;
    }
    let same = known.iter().zip(&ledger.losses).take_while(|(known, new)| known == new).count();
    if same < known.len() {
        let delete = sqlx::query("DELETE FROM losses WHERE capture_id = ? AND seq >= ?").bind(capture);
        delete.bind(sql(same as u64)).execute(&mut *conn).await.map_err(failed(DOING))?;
    }
    let new: Vec<_> = (0_i64..).zip(&ledger.losses).skip(same).collect();
    insert_all(conn, "INSERT INTO losses ", &new, DOING, |row, (seq, loss)| {
        row.push_bind(capture).push_bind(*seq).push_bind(loss.stream).push_bind(loss_stage(loss.stage));
        row.push_bind(sql(loss.count)).push_bind(sql(loss.start_ns)).push_bind(sql(loss.end_ns));
    })
    .await?;
    let update = sqlx::query("UPDATE captures SET lost = ? WHERE id = ?").bind(sql(ledger.lost_total())).bind(capture);
    update.execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// Adds or replaces names of frames of a capture in any state.
pub(crate) async fn put_symbols(
    writer: &mut Writer,
    id: CaptureId,
    symbols: &[(FrameId, Symbol)],
) -> Result<(), StoreError> {
    writer.has_room_for(symbols.len() as u64 * 512).await?;
    writer.begin(Durability::Normal).await?;
    let done = async {
        state_of(&mut writer.conn, id).await?;
        insert_symbols(&mut writer.conn, id, symbols).await
    };
    let done = done.await;
    writer.end(done).await
}

/// Gives a capture another name.
pub(crate) async fn rename(writer: &mut Writer, id: CaptureId, title: String) -> Result<(), StoreError> {
    at_most("the capture's name", title.len(), limit::TITLE_BYTES)?;
    writer.begin_with_room(Durability::Full).await?;
    let done = rename_in(&mut writer.conn, id, &title).await;
    writer.end(done).await
}

async fn rename_in(conn: &mut SqliteConnection, id: CaptureId, title: &str) -> Result<(), StoreError> {
    const DOING: &str = "renaming a capture";
    let select = "SELECT owner, host_name, method, target FROM captures WHERE id = ? AND phase = 'ready'";
    let query = sqlx::query_as(select).bind(sql(id.bits()));
    let row: Option<(String, String, String, String)> =
        query.fetch_optional(&mut *conn).await.map_err(failed(DOING))?;
    let (owner, host, method, target) = row.ok_or(StoreError::NoCapture { id })?;
    let search = search_text(title, &owner, [&host, &method, &target]);
    let update = sqlx::query("UPDATE captures SET title = ?, search = ? WHERE id = ?").bind(title).bind(search);
    update.bind(sql(id.bits())).execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// Ends a capture, also on a full disk.
pub(crate) async fn finish(writer: &mut Writer, id: CaptureId, end: End) -> Result<(), StoreError> {
    if end.state == CaptureState::Recording {
        return Err(StoreError::Refused { what: "the end of a capture", why: "it cannot end as recording".to_owned() });
    }
    let end = std::sync::Arc::new(end);
    let finished = writer
        .with_room(|writer| {
            let end = std::sync::Arc::clone(&end);
            Box::pin(async move {
                writer.begin(Durability::Full).await?;
                let known = writer.losses.get(&id).cloned().unwrap_or_default();
                let done = finish_in(&mut writer.conn, id, &end, &known).await;
                writer.end(done).await
            })
        })
        .await;
    if finished.is_ok() {
        writer.losses.remove(&id);
    }
    finished
}

async fn finish_in(conn: &mut SqliteConnection, id: CaptureId, end: &End, known: &[Loss]) -> Result<(), StoreError> {
    must_be_recording(conn, id).await?;
    put_ledger(conn, id, &end.ledger, known).await?;
    put_end(conn, id, end).await
}

/// Sets state, reason, end and readings, in the transaction that is open.
pub(crate) async fn put_end(conn: &mut SqliteConnection, id: CaptureId, end: &End) -> Result<(), StoreError> {
    const DOING: &str = "ending a capture";
    for (stream, reading) in (0_i64..).zip(&end.readings) {
        let Some(reading) = reading else { continue };
        let update = sqlx::query("UPDATE streams SET reading = ? WHERE capture_id = ? AND stream = ?");
        let reading = to_json(reading, "a reading")?;
        update.bind(reading).bind(sql(id.bits())).bind(stream).execute(&mut *conn).await.map_err(failed(DOING))?;
    }
    sqlx::query("UPDATE captures SET state = ?, reason = ?, end_ns = max(end_ns, ?) WHERE id = ?")
        .bind(end.state.as_str())
        .bind(cut(&end.reason, limit::REASON_BYTES))
        .bind(sql(end.end_ns))
        .bind(sql(id.bits()))
        .execute(conn)
        .await
        .map_err(failed(DOING))?;
    Ok(())
}

/// Ends the captures that the last process was recording when it ended. The last ledger stays as it was, what was in
/// flight then becomes a loss, and so the books balance; what came after it was never counted, which is why the loss is
/// of severity error and there is one even if nothing was in flight.
pub(crate) async fn interrupt_all(writer: &mut Writer) -> Result<(), StoreError> {
    let select = sqlx::query_as("SELECT id FROM captures WHERE state = 'recording' AND phase = 'ready'");
    let ids: Vec<(i64,)> = select.fetch_all(&mut writer.conn).await.map_err(failed("looking for captures"))?;
    for (id,) in ids {
        let id = CaptureId::from_bits(unsigned(id));
        writer
            .with_room(|writer| {
                Box::pin(async move {
                    writer.begin(Durability::Full).await?;
                    let done = interrupt(&mut writer.conn, id).await;
                    writer.end(done).await
                })
            })
            .await?;
        tracing::info!(capture = %id, "a capture was interrupted");
    }
    Ok(())
}

async fn interrupt(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    let (start_ns, end_ns) = crate::read::span(conn, id).await?;
    let mut ledger = crate::read::ledger(conn, id).await?;
    let known = ledger.losses.clone();
    let select = "SELECT s.row_count, coalesce((SELECT last_ns FROM chunks c WHERE c.capture_id = s.capture_id AND \
                  c.stream = s.stream ORDER BY seq DESC LIMIT 1), ?) FROM streams s WHERE capture_id = ? ORDER BY stream";
    let query = sqlx::query_as(select).bind(sql(start_ns)).bind(sql(id.bits()));
    let stored: Vec<(i64, i64)> = query.fetch_all(&mut *conn).await.map_err(failed("reading a ledger"))?;
    for (stream, (rows, last_ns)) in (0_u16..).zip(stored) {
        let lost = ledger.lost(stream);
        let Some(totals) = ledger.streams.get_mut(usize::from(stream)) else { continue };
        balance(totals, unsigned(rows), lost);
        let count = totals.emitted - totals.stored - lost;
        let (start_ns, end_ns) = (unsigned(last_ns).min(end_ns), end_ns);
        ledger.losses.push(Loss { stream: Some(stream), stage: LossStage::Interrupted, count, start_ns, end_ns });
    }
    put_ledger(conn, id, &ledger, &known).await?;
    let reason = "the console ended before the capture did".to_owned();
    let end = End { state: CaptureState::Interrupted, reason, end_ns, ledger, readings: Vec::new() };
    put_end(conn, id, &end).await
}

/// Makes totals that may be older than the last rows agree with the rows.
fn balance(totals: &mut StreamTotals, rows: u64, lost: u64) {
    totals.stored = rows;
    totals.emitted = totals.emitted.max(rows.saturating_add(lost));
    totals.hits = totals.hits.max(totals.emitted.saturating_add(totals.filtered));
}

//! Making, filling and naming captures: what runs in the writer.

use bathyscope_capture::{
    Append, CaptureId, CaptureSpec, FrameId, FunctionCode, HostFacts, Ledger, Loss, ScriptRecord, StreamSchema, Symbol,
    Target,
};
use sqlx::SqliteConnection;

use crate::{
    CaptureState, NewCapture, Origin, StoreError,
    error::failed,
    firings,
    insert::{insert_all, insert_append, insert_code, insert_symbols},
    limits::{at_most, cut, few_enough, limit},
    read::state_of,
    retention::{self, AddedBytes},
    rows::{sql, to_json},
    sums, texts, webhooks,
    writer::{Durability, Writer},
};

/// What a capture needs to begin with: less, and it would end at once.
pub(crate) const START_BYTES: u64 = 1 << 20;

/// Makes a capture in its own transaction, if there is room to begin one.
pub(crate) async fn create(writer: &mut Writer, new: &NewCapture) -> Result<(), StoreError> {
    writer.has_room_for(START_BYTES).await?;
    writer.begin(Durability::Full).await?;
    let made = async {
        insert_capture(&mut writer.conn, new, Phase::Ready, Origin::Recorded).await?;
        // With the capture: what has fired is told once, whatever becomes of this process.
        if let (Some(firing), Some(flight)) = (&new.firing, &new.spec.limits.flight) {
            webhooks::announce(&mut writer.conn, (new.id, &new.title), firing, &flight.announce).await?;
        }
        texts::renew(&mut writer.conn, new.id).await
    };
    let made = made.await;
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

/// Shows a capture, or hides it.
pub(crate) async fn set_phase(
    conn: &mut SqliteConnection,
    id: CaptureId,
    phase: Phase,
    doing: &'static str,
) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE captures SET phase = ? WHERE id = ?").bind(phase.as_str()).bind(sql(id.bits()));
    update.execute(conn).await.map_err(failed(doing))?;
    Ok(())
}

pub(crate) const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Recorded => "recorded",
        Origin::Imported => "imported",
    }
}

fn target_of(spec: &CaptureSpec, host: &HostFacts) -> String {
    let text = match &spec.target {
        Target::System => "system".to_owned(),
        Target::Command { argv, .. } => argv.join(" "),
        Target::During { argv, of, .. } => format!("{of} while {}", argv.join(" ")),
        target => target.to_string(),
    };
    let named = if host.target_name.is_empty() { text } else { format!("{} ({text})", host.target_name) };
    cut(&named, 256).to_owned()
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
    few_enough("the list of streams", new.streams.len(), limit::STREAMS)?;
    let (spec, host) = (to_json(&new.spec, "the spec")?, to_json(&new.host, "the facts of the host")?);
    let (method, target, host_name) =
        (new.spec.kind_names(), target_of(&new.spec, &new.host), cut(&new.host.hostname, 256));
    let spec_sum = sums::spec(&spec, &host);
    at_most("the spec", spec.len().max(host.len()), limit::JSON_BYTES)?;
    let inserted = sqlx::query(
        "INSERT INTO captures (id, phase, state, reason, origin, title, owner, spec, host, method, target, host_name, \
         search, started_unix_ns, start_ns, end_ns, row_count, chunk_bytes, output_bytes, lost, simulated) \
         VALUES (?, ?, 'recording', '', ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, 0, 0, 0, 0, ?)",
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
    retention::begin(conn, new.id, new.started_unix_ns).await?;
    let mut added = sums::ChecksumChanges::default();
    added.page(sums::ChecksummedPart::Spec, 0, spec_sum);
    for stream in (0_u32..).zip(&new.streams) {
        insert_stream(conn, new.id, stream, &mut added).await?;
    }
    if let Some(firing) = &new.firing {
        firings::insert(conn, new.id, firing).await?;
    }
    added.store(conn, new.id).await
}

/// Adds a stream without rows, in the transaction that is open; its checksum is to be stored with it.
pub(crate) async fn insert_stream(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (stream, schema): (u32, &StreamSchema),
    added: &mut sums::ChecksumChanges,
) -> Result<(), StoreError> {
    let schema = to_json(schema, "the columns of a stream")?;
    at_most("the columns of a stream", schema.len(), limit::JSON_BYTES)?;
    added.page(sums::ChecksummedPart::Columns, stream, sums::columns(stream, &schema));
    sqlx::query(
        "INSERT INTO streams (capture_id, stream, schema, chunk_count, row_count, chunk_bytes, hits, filtered, \
         emitted, stored) VALUES (?, ?, ?, 0, 0, 0, 0, 0, 0, 0)",
    )
    .bind(sql(id.bits()))
    .bind(stream)
    .bind(schema)
    .execute(conn)
    .await
    .map_err(failed("making a stream"))?;
    Ok(())
}

/// Appends in its own transaction, if there is room.
pub(crate) async fn append(writer: &mut Writer, id: CaptureId, append: &Append) -> Result<(), StoreError> {
    writer.has_room_for(2 * size_of(append)).await?;
    writer.begin(Durability::Normal).await?;
    let done = append_in(writer, id, append).await;
    end_growing(writer, id, done).await?;
    if let Some(ledger) = &append.ledger {
        writer.losses.insert(id, ledger.losses.clone());
    }
    Ok(())
}

/// Ends the transaction that an append of [`grow`] is in.
pub(crate) async fn end_growing(
    writer: &mut Writer,
    id: CaptureId,
    done: Result<(), StoreError>,
) -> Result<(), StoreError> {
    let ended = writer.end(done).await;
    if let Some(forests) = writer.forests.get_mut(&id) {
        forests.settle(ended.is_ok());
    }
    ended
}

/// Adds what an append holds but for its ledger, and its part of the time index, in the transaction that is open.
pub(crate) async fn grow(writer: &mut Writer, id: CaptureId, append: &Append) -> Result<(), StoreError> {
    let numbers = insert_append(&mut writer.conn, id, append).await?;
    let mut forests = writer.forests.remove(&id).unwrap_or_default();
    let indexed = forests.insert_leaves(&mut writer.conn, id, &append.chunks, &numbers).await;
    let indexed = match indexed {
        Ok(bytes) => retention::add(&mut writer.conn, id, AddedBytes { index_bytes: bytes, dictionary_bytes: 0 }).await,
        Err(error) => Err(error),
    };
    writer.forests.insert(id, forests);
    indexed
}

/// About how many bytes an append takes on the disk.
pub(crate) fn size_of(append: &Append) -> u64 {
    let chunks: usize = append.chunks.iter().map(|(_, chunk)| chunk.bytes.len() + 256).sum();
    let strings: usize = append.strings.iter().map(|(_, text)| text.len() + 16).sum();
    let stacks: usize = append.stacks.iter().map(|(_, stack)| stack.len() * 4 + 16).sum();
    let output: usize = append.output.iter().map(|line| line.bytes.len() + 32).sum();
    let code: usize = append.code.iter().map(|code| code.bytes.len() + code.lines.rows.len() * 16 + 256).sum();
    let small = append.mappings.len() * 128 + append.frames.len() * 32 + append.processes.len() * 40;
    (chunks + strings + stacks + output + code + small + append.symbols.len() * 160 + (64 << 10)) as u64
}

async fn append_in(writer: &mut Writer, id: CaptureId, append: &Append) -> Result<(), StoreError> {
    must_be_recording(&mut writer.conn, id).await?;
    grow(writer, id, append).await?;
    if let Some(ledger) = &append.ledger {
        let known = writer.losses.get(&id).map_or(&[][..], Vec::as_slice);
        put_ledger(&mut writer.conn, id, ledger, known).await?;
    }
    Ok(())
}

/// Fails unless rows can be added to the capture.
pub(crate) async fn must_be_recording(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    match state_of(conn, id).await? {
        CaptureState::Recording => Ok(()),
        state => Err(StoreError::NotRecording { id, state }),
    }
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
    few_enough("the list of losses", ledger.losses.len(), limit::LOSSES)?;
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
        row.push_bind(capture).push_bind(*seq).push_bind(loss.stream).push_bind(loss.stage.as_str());
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

/// Adds or replaces instructions of functions of a capture in any state.
pub(crate) async fn put_code(writer: &mut Writer, id: CaptureId, code: Vec<FunctionCode>) -> Result<(), StoreError> {
    let append = Append { code, ..Append::default() };
    writer.has_room_for(2 * size_of(&append)).await?;
    writer.begin(Durability::Normal).await?;
    let done = async {
        state_of(&mut writer.conn, id).await?;
        insert_code(&mut writer.conn, id, &append.code).await
    };
    let done = done.await;
    writer.end(done).await
}

/// Keeps what was compiled for a capture, or replaces it.
pub(crate) async fn put_script(writer: &mut Writer, id: CaptureId, script: &ScriptRecord) -> Result<(), StoreError> {
    writer.has_room_for(2 * script.plan.len() as u64).await?;
    writer.begin(Durability::Normal).await?;
    let done = async {
        must_be_recording(&mut writer.conn, id).await?;
        insert_script(&mut writer.conn, id, script).await
    };
    let done = done.await;
    writer.end(done).await
}

/// Adds or replaces a script, in the transaction that is open.
pub(crate) async fn insert_script(
    conn: &mut SqliteConnection,
    id: CaptureId,
    script: &ScriptRecord,
) -> Result<(), StoreError> {
    let probes = to_json(&script.probes, "the probes of a script")?;
    at_most("the plan of a script", script.plan.len(), limit::JSON_BYTES)?;
    at_most("the probes of a script", probes.len(), limit::JSON_BYTES)?;
    let insert = sqlx::query("INSERT OR REPLACE INTO scripts VALUES (?, ?, ?, ?)").bind(sql(id.bits()));
    let insert = insert.bind(&script.plan).bind(probes).bind(script.exit_code);
    insert.execute(conn).await.map_err(failed("storing a script"))?;
    Ok(())
}

/// Gives a capture another name.
pub(crate) async fn rename(writer: &mut Writer, id: CaptureId, title: String) -> Result<(), StoreError> {
    at_most("the capture's name", title.len(), limit::TITLE_BYTES)?;
    writer.begin_with_room(Durability::Full).await?;
    let done = rename_in(&mut writer.conn, id, &title).await;
    writer.end(done).await
}

async fn rename_in(conn: &mut SqliteConnection, id: CaptureId, title: &str) -> Result<(), StoreError> {
    state_of(conn, id).await?;
    let update = sqlx::query("UPDATE captures SET title = ? WHERE id = ?").bind(title).bind(sql(id.bits()));
    update.execute(&mut *conn).await.map_err(failed("renaming a capture"))?;
    texts::renew(conn, id).await
}

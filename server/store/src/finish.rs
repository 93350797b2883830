//! Ending captures: what runs in the writer when one ends, and for those whose recording ended with the last process.

use bathyscope_capture::{CaptureId, Loss, LossStage, StreamTotals};
use sqlx::SqliteConnection;

use crate::{
    BootTime, CaptureState, End, StoreError,
    append::{must_be_recording, put_ledger},
    error::failed,
    index::{self, Forests, LastNodes},
    limits::{at_most, cut, limit},
    read, retention,
    rows::{sql, to_json, unsigned},
    sources,
    writer::{Durability, Writer},
};

/// Ends a capture, also on a full disk. What the database does not take waits in [`Writer::ends`].
pub(crate) async fn finish(writer: &mut Writer, id: CaptureId, end: End) -> Result<(), StoreError> {
    if end.state == CaptureState::Recording {
        return Err(StoreError::Refused { what: "the end of a capture", why: "it cannot end as recording".to_owned() });
    }
    close_index(writer, id).await;
    let end = std::sync::Arc::new(end);
    let finished = writer
        .with_room(|writer| {
            let end = std::sync::Arc::clone(&end);
            Box::pin(async move { try_to_finish(writer, id, &end).await })
        })
        .await;
    match &finished {
        Ok(()) => writer.ends.release(id),
        // What another try would not make good.
        Err(StoreError::NotRecording { .. } | StoreError::NoCapture { .. } | StoreError::Refused { .. }) => {}
        Err(_) => writer.ends.hold(id, &end),
    }
    finished
}

async fn try_to_finish(writer: &mut Writer, id: CaptureId, end: &End) -> Result<(), StoreError> {
    writer.begin(Durability::Full).await?;
    let known = writer.losses.get(&id).cloned();
    let done = finish_in(&mut writer.conn, id, end, known).await;
    writer.end(done).await?;
    writer.losses.remove(&id);
    Ok(())
}

/// Tries to store the ends that wait, without the room that is set aside.
pub(crate) async fn store_waiting_ends(writer: &mut Writer) {
    let ends = std::sync::Arc::clone(&writer.ends);
    for (id, end) in ends.all() {
        match try_to_finish(writer, id, &end).await {
            Ok(()) => tracing::info!(capture = %id, state = %end.state, "an end that had to wait is stored"),
            // It was stored, or the capture deleted, meanwhile.
            Err(StoreError::NotRecording { .. } | StoreError::NoCapture { .. }) => {}
            Err(_still) => continue,
        }
        ends.release(id);
    }
}

async fn finish_in(
    conn: &mut SqliteConnection,
    id: CaptureId,
    end: &End,
    known: Option<Vec<Loss>>,
) -> Result<(), StoreError> {
    must_be_recording(conn, id).await?;
    let known = match known {
        Some(known) => known,
        None => read::ledger(conn, id).await?.losses,
    };
    put_ledger(conn, id, &end.ledger, &known).await?;
    put_end(conn, id, end).await?;
    retention::ended(conn, id).await
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
    if let Some(script) = &end.script {
        let probes = to_json(&script.probes, "the probes of a script")?;
        at_most("the probes of a script", probes.len(), limit::JSON_BYTES)?;
        let update = sqlx::query("UPDATE scripts SET probes = ?, exit_code = ? WHERE capture_id = ?").bind(probes);
        let update = update.bind(script.exit_code).bind(sql(id.bits()));
        update.execute(&mut *conn).await.map_err(failed(DOING))?;
    }
    sources::put(conn, id, &end.sources).await?;
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
/// flight then becomes a loss, and so the ledger balances; what came after it was never counted, which is why the loss is
/// of severity error and there is one even if nothing was in flight.
///
/// The loss lasts until it is found, if `now` is of the boot that the capture is of: when the last process ended nobody
/// knows.
pub(crate) async fn interrupt_all(writer: &mut Writer, now: Option<&BootTime>) -> Result<(), StoreError> {
    let select = sqlx::query_as("SELECT id FROM captures WHERE state = 'recording' AND phase = 'ready'");
    let ids: Vec<(i64,)> = select.fetch_all(&mut writer.conn).await.map_err(failed("looking for captures"))?;
    store_waiting_ends(writer).await;
    for (id,) in ids {
        let id = CaptureId::from_bits(unsigned(id));
        if must_be_recording(&mut writer.conn, id).await.is_err() || writer.ends.has(id) {
            // Its end was known, and is stored now, or still waits.
            continue;
        }
        let now = now.cloned();
        writer
            .with_room(|writer| {
                let now = now.clone();
                Box::pin(async move {
                    writer.begin(Durability::Full).await?;
                    let done = interrupt(&mut writer.conn, id, now).await;
                    writer.end(done).await
                })
            })
            .await?;
        tracing::info!(capture = %id, "a capture was interrupted");
    }
    Ok(())
}

async fn interrupt(conn: &mut SqliteConnection, id: CaptureId, now: Option<BootTime>) -> Result<(), StoreError> {
    let (start_ns, end_ns) = read::span(conn, id).await?;
    let boot_id = read::host(conn, id).await?.boot_id;
    let now = now.filter(|now| !boot_id.is_empty() && now.boot_id == boot_id);
    let found_ns = now.map_or(end_ns, |now| now.monotonic_ns.max(end_ns));
    let mut ledger = read::ledger(conn, id).await?;
    let known = ledger.losses.clone();
    // Streams that are computed come after those that are recorded, and no ledger counts them.
    let select = "SELECT s.row_count, coalesce((SELECT last_ns FROM chunks c WHERE c.capture_id = s.capture_id AND \
                  c.stream = s.stream ORDER BY seq DESC LIMIT 1), ?1) FROM streams s WHERE capture_id = ?2 AND \
                  NOT EXISTS (SELECT 1 FROM derivations d WHERE d.capture_id = ?2 AND s.stream >= d.first_stream AND \
                  s.stream < d.first_stream + d.stream_count) ORDER BY stream";
    let query = sqlx::query_as(select).bind(sql(start_ns)).bind(sql(id.bits()));
    let stored: Vec<(i64, i64)> = query.fetch_all(&mut *conn).await.map_err(failed("reading a ledger"))?;
    for (stream, (rows, last_ns)) in (0_u16..).zip(stored) {
        let lost = ledger.lost(stream).saturating_add(ledger.not_kept(stream));
        let Some(totals) = ledger.streams.get_mut(usize::from(stream)) else { continue };
        balance(totals, unsigned(rows), lost);
        let count = totals.emitted - totals.stored - lost;
        let (stage, start_ns) = (LossStage::Interrupted, unsigned(last_ns).min(end_ns));
        ledger.losses.push(Loss { stream: Some(stream), stage, count, start_ns, end_ns: found_ns });
    }
    put_ledger(conn, id, &ledger, &known).await?;
    retention::ended(conn, id).await?;
    let reason = "the console ended before the capture did".to_owned();
    let (state, readings) = (CaptureState::Interrupted, Vec::new());
    let end = End { state, reason, end_ns, ledger, readings, script: None, sources: Vec::new() };
    put_end(conn, id, &end).await
}

/// Makes totals that may be older than the last rows agree with the rows.
fn balance(totals: &mut StreamTotals, rows: u64, lost: u64) {
    totals.stored = rows;
    totals.emitted = totals.emitted.max(rows.saturating_add(lost));
    totals.hits = totals.hits.max(totals.emitted.saturating_add(totals.filtered));
}

/// Writes the nodes that end with a capture, if there is room; in a transaction of its own.
pub(crate) async fn close_index(writer: &mut Writer, id: CaptureId) {
    let Some(nodes) = writer.forests.remove(&id).and_then(Forests::close) else { return };
    if let Err(error) = write_last_nodes(writer, id, &nodes).await {
        tracing::warn!(%error, capture = %id, "the last nodes of the time index were not written; views are slower");
    }
}

async fn write_last_nodes(writer: &mut Writer, id: CaptureId, nodes: &[LastNodes]) -> Result<(), StoreError> {
    let bins = nodes.iter().flat_map(|(_, _, nodes)| nodes).flat_map(|node| &node.block.tracks);
    let bytes: usize = bins.map(|track| 64 + 16 * track.bins.len()).sum();
    writer.has_room_for(bytes as u64).await?;
    writer.begin(Durability::Normal).await?;
    let done = index::insert_nodes(&mut writer.conn, id, nodes).await;
    writer.end(done).await
}

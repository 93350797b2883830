//! Reading: each function is one or a few short statements, and holds nothing when it returns.

use bathyscope_capture::{
    CaptureId, Frame, FrameId, FunctionCode, HostFacts, Ledger, Loss, Mapping, MappingId, OutputLine, ProcessChange,
    ScriptRecord, Stack, StackId, StreamTotals, StringId, Symbol,
};
use sqlx::SqliteConnection;

use crate::{
    CaptureRecord, CaptureState, ChunkInfo, Origin, StoreError, StreamRecord,
    error::failed,
    rows::{
        code_missing_from, descriptor_from, from_json, loss_stage_from, machine_from, mapping_kind_from, narrow,
        process_change_from, row_struct, sql, stack_from_bytes, stats_from_bytes, unreadable, unsigned,
    },
    select::{all, of},
};

pub(crate) fn origin_from(text: &str) -> Result<Origin, StoreError> {
    match text {
        "recorded" => Ok(Origin::Recorded),
        "imported" => Ok(Origin::Imported),
        _ => Err(unreadable("the origin of a capture")),
    }
}

row_struct! {
    struct CaptureRow {
        title: String,
        owner: String,
        state: String,
        reason: String,
        origin: String,
        spec: String,
        host: String,
        started_unix_ns: i64,
        start_ns: i64,
        end_ns: i64,
        chunk_bytes: i64,
        output_bytes: i64,
        simulated: bool,
    }
}

/// What a capture is, as files of any version have it too; how it is kept is added by [`crate::retention::complete`].
pub(crate) async fn capture(conn: &mut SqliteConnection, id: CaptureId) -> Result<CaptureRecord, StoreError> {
    state_of(conn, id).await?;
    shown_or_hidden(conn, id).await
}

/// The same of a capture that may be hidden.
pub(crate) async fn shown_or_hidden(conn: &mut SqliteConnection, id: CaptureId) -> Result<CaptureRecord, StoreError> {
    const DOING: &str = "reading a capture";
    let select = "SELECT title, owner, state, reason, origin, spec, host, started_unix_ns, start_ns, end_ns, \
                  chunk_bytes, output_bytes, simulated FROM captures WHERE id = ?";
    let row = sqlx::query_as(select).bind(sql(id.bits())).fetch_optional(&mut *conn).await.map_err(failed(DOING))?;
    let row: CaptureRow = row.ok_or(StoreError::NoCapture { id })?;
    let ledger = ledger(conn, id).await?;
    Ok(CaptureRecord {
        id,
        title: row.title,
        owner: row.owner,
        state: row.state.parse().map_err(|_unknown| unreadable("the state of a capture"))?,
        reason: row.reason,
        origin: origin_from(&row.origin)?,
        spec: from_json(&row.spec, "the spec of a capture")?,
        host: from_json(&row.host, "the facts of a host")?,
        streams: streams(conn, id).await?,
        started_unix_ns: row.started_unix_ns,
        start_ns: unsigned(row.start_ns),
        end_ns: unsigned(row.end_ns),
        ledger,
        chunk_bytes: unsigned(row.chunk_bytes),
        output_bytes: unsigned(row.output_bytes),
        size_bytes: unsigned(row.chunk_bytes).saturating_add(unsigned(row.output_bytes)),
        pinned: false,
        since_unix_ns: row.started_unix_ns,
        simulated: row.simulated,
        sources: Vec::new(),
        derivations: Vec::new(),
        firing: None,
    })
}

/// The state of a capture that is shown.
pub(crate) async fn state_of(conn: &mut SqliteConnection, id: CaptureId) -> Result<CaptureState, StoreError> {
    let select = sqlx::query_as("SELECT state FROM captures WHERE id = ? AND phase = 'ready'").bind(sql(id.bits()));
    let row: Option<(String,)> = select.fetch_optional(conn).await.map_err(failed("looking for a capture"))?;
    let (state,) = row.ok_or(StoreError::NoCapture { id })?;
    state.parse().map_err(|_unknown| unreadable("the state of a capture"))
}

/// What was compiled for a capture; none if it was not made by a script.
pub(crate) async fn script(conn: &mut SqliteConnection, id: CaptureId) -> Result<Option<ScriptRecord>, StoreError> {
    let select = "SELECT plan, probes, exit_code FROM scripts WHERE capture_id = ?";
    let rows: Vec<(String, String, Option<i64>)> = all(conn, of(select, id), "reading a script").await?;
    let script = |(plan, probes, exit_code): (String, String, Option<i64>)| {
        Ok(ScriptRecord { plan, probes: from_json(&probes, "the probes of a script")?, exit_code })
    };
    rows.into_iter().next().map(script).transpose()
}

/// The streams of a capture, in order.
pub(crate) async fn streams(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<StreamRecord>, StoreError> {
    type Row = (String, i64, i64, i64, Option<String>);
    let select = "SELECT schema, row_count, chunk_count, chunk_bytes, reading FROM streams WHERE capture_id = ? \
                  ORDER BY stream";
    let rows: Vec<Row> = all(conn, of(select, id), "reading streams").await?;
    let stream = |(schema, rows, chunks, bytes, reading): Row| {
        Ok(StreamRecord {
            schema: from_json(&schema, "the columns of a stream")?,
            rows: unsigned(rows),
            chunks: narrow(chunks, "a number of chunks")?,
            bytes: unsigned(bytes),
            reading: reading.map(|text| from_json(&text, "a reading")).transpose()?,
        })
    };
    rows.into_iter().map(stream).collect()
}

/// Start and end of a capture, monotonic nanoseconds.
pub(crate) async fn span(conn: &mut SqliteConnection, id: CaptureId) -> Result<(u64, u64), StoreError> {
    let rows: Vec<(i64, i64)> =
        all(conn, of("SELECT start_ns, end_ns FROM captures WHERE id = ?", id), "reading a capture").await?;
    rows.first().map(|(start, end)| (unsigned(*start), unsigned(*end))).ok_or(StoreError::NoCapture { id })
}

/// Where a capture was made.
pub(crate) async fn host(conn: &mut SqliteConnection, id: CaptureId) -> Result<HostFacts, StoreError> {
    let rows: Vec<(String,)> = all(conn, of("SELECT host FROM captures WHERE id = ?", id), "reading a capture").await?;
    let (host,) = rows.first().ok_or(StoreError::NoCapture { id })?;
    from_json(host, "the facts of a host")
}

pub(crate) async fn ledger(conn: &mut SqliteConnection, id: CaptureId) -> Result<Ledger, StoreError> {
    const DOING: &str = "reading a ledger";
    let select = "SELECT hits, filtered, emitted, stored FROM streams WHERE capture_id = ? ORDER BY stream";
    let totals: Vec<(i64, i64, i64, i64)> = all(conn, of(select, id), DOING).await?;
    let total = |(hits, filtered, emitted, stored)| StreamTotals {
        hits: unsigned(hits),
        filtered: unsigned(filtered),
        emitted: unsigned(emitted),
        stored: unsigned(stored),
    };
    type Row = (Option<i64>, String, i64, i64, i64);
    let select = "SELECT stream, stage, count, start_ns, end_ns FROM losses WHERE capture_id = ? ORDER BY seq";
    let losses: Vec<Row> = all(conn, of(select, id), DOING).await?;
    let loss = |(stream, stage, count, start_ns, end_ns): Row| {
        Ok::<_, StoreError>(Loss {
            stream: stream.map(|stream| narrow(stream, "a loss")).transpose()?,
            stage: loss_stage_from(&stage)?,
            count: unsigned(count),
            start_ns: unsigned(start_ns),
            end_ns: unsigned(end_ns),
        })
    };
    let losses = losses.into_iter().map(loss).collect::<Result<_, _>>()?;
    Ok(Ledger { streams: totals.into_iter().map(total).collect(), losses })
}

pub(crate) async fn chunk_index(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    from_seq: u32,
) -> Result<Vec<ChunkInfo>, StoreError> {
    let select = "SELECT seq, row_count, first_ns, last_ns, bytes, stats FROM chunks WHERE capture_id = ?1 AND \
                  stream = ?2 AND seq >= ?3 AND NOT EXISTS (SELECT 1 FROM derivations d WHERE d.capture_id = ?1 AND \
                  d.state NOT IN ('following', 'complete') AND ?2 >= d.first_stream AND ?2 < d.first_stream + d.stream_count) ORDER BY seq";
    let rows: Vec<ChunkRow> = all(conn, of(select, id).bind(stream).bind(from_seq), DIRECTORY).await?;
    rows.into_iter().map(info_from).collect()
}

/// One entry of the directory.
pub(crate) async fn chunk_info(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    seq: u32,
) -> Result<ChunkInfo, StoreError> {
    let select = "SELECT seq, row_count, first_ns, last_ns, bytes, stats FROM chunks WHERE capture_id = ? AND \
                  stream = ? AND seq = ?";
    let rows: Vec<ChunkRow> = all(conn, of(select, id).bind(stream).bind(seq), DIRECTORY).await?;
    info_from(rows.into_iter().next().ok_or(StoreError::NoChunk { id, stream, seq })?)
}

const DIRECTORY: &str = "reading the chunks' directory";
type ChunkRow = (i64, i64, i64, i64, i64, Vec<u8>);

fn info_from((seq, rows, first_ns, last_ns, bytes, stats): ChunkRow) -> Result<ChunkInfo, StoreError> {
    Ok(ChunkInfo {
        seq: narrow(seq, "a chunk's number")?,
        rows: narrow(rows, "a chunk's rows")?,
        first_ns: unsigned(first_ns),
        last_ns: unsigned(last_ns),
        bytes: narrow(bytes, "a chunk's size")?,
        stats: stats_from_bytes(&stats)?,
    })
}

pub(crate) async fn chunk(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    seq: u32,
) -> Result<Vec<u8>, StoreError> {
    let select = "SELECT data FROM chunk_data WHERE capture_id = ? AND stream = ? AND seq = ?";
    let rows: Vec<(Vec<u8>,)> = all(conn, of(select, id).bind(stream).bind(seq), "reading a chunk").await?;
    rows.into_iter().next().map(|(data,)| data).ok_or(StoreError::NoChunk { id, stream, seq })
}

/// How many entries of a dictionary are read: all of them, or a page for copying.
pub(crate) type Most = i64;
/// SQLite's way to say no limit.
pub(crate) const ALL: Most = -1;

pub(crate) async fn strings(
    conn: &mut SqliteConnection,
    id: CaptureId,
    after: StringId,
    most: Most,
) -> Result<Vec<(StringId, Vec<u8>)>, StoreError> {
    let select = "SELECT id, text FROM strings WHERE capture_id = ? AND id > ? ORDER BY id LIMIT ?";
    let rows: Vec<(i64, Vec<u8>)> = all(conn, of(select, id).bind(after).bind(most), "reading strings").await?;
    rows.into_iter().map(|(string, text)| Ok((narrow(string, "a string's id")?, text))).collect()
}

pub(crate) async fn mappings(
    conn: &mut SqliteConnection,
    id: CaptureId,
    after: MappingId,
    most: Most,
) -> Result<Vec<(MappingId, Mapping)>, StoreError> {
    type Row = (i64, String, Vec<u8>, Vec<u8>, i64);
    let select =
        "SELECT id, kind, build_id, name, pid FROM mappings WHERE capture_id = ? AND id > ? ORDER BY id LIMIT ?";
    let rows: Vec<Row> = all(conn, of(select, id).bind(after).bind(most), "reading mappings").await?;
    let mapping = |(mapping, kind, build_id, name, pid): Row| {
        let pid = narrow(pid, "a process id")?;
        Ok((narrow(mapping, "a mapping's id")?, Mapping { kind: mapping_kind_from(&kind)?, build_id, name, pid }))
    };
    rows.into_iter().map(mapping).collect()
}

pub(crate) async fn frames(
    conn: &mut SqliteConnection,
    id: CaptureId,
    after: FrameId,
    most: Most,
) -> Result<Vec<(FrameId, Frame)>, StoreError> {
    let select = "SELECT id, mapping_id, place FROM frames WHERE capture_id = ? AND id > ? ORDER BY id LIMIT ?";
    let rows: Vec<(i64, i64, i64)> = all(conn, of(select, id).bind(after).bind(most), "reading frames").await?;
    let frame = |(frame, mapping, offset)| {
        let mapping = narrow(mapping, "a mapping's id")?;
        Ok((narrow(frame, "a frame's id")?, Frame { mapping, offset: unsigned(offset) }))
    };
    rows.into_iter().map(frame).collect()
}

pub(crate) async fn stacks(
    conn: &mut SqliteConnection,
    id: CaptureId,
    after: StackId,
    most: Most,
) -> Result<Vec<(StackId, Stack)>, StoreError> {
    let select = "SELECT id, frames FROM stacks WHERE capture_id = ? AND id > ? ORDER BY id LIMIT ?";
    let rows: Vec<(i64, Vec<u8>)> = all(conn, of(select, id).bind(after).bind(most), "reading stacks").await?;
    rows.into_iter().map(|(stack, frames)| Ok((narrow(stack, "a stack's id")?, stack_from_bytes(&frames)?))).collect()
}

pub(crate) async fn symbols(
    conn: &mut SqliteConnection,
    id: CaptureId,
    after: FrameId,
    most: Most,
) -> Result<Vec<(FrameId, Symbol)>, StoreError> {
    symbols_of(symbol_rows(conn, id, after, most).await?)
}

pub(crate) fn symbols_of(rows: Vec<SymbolRow>) -> Result<Vec<(FrameId, Symbol)>, StoreError> {
    let symbol = |(frame, function, offset, lines): SymbolRow| {
        let lines = from_json(&lines, "the lines of a symbol")?;
        Ok((frame, Symbol { function, offset: unsigned(offset), lines }))
    };
    rows.into_iter().map(symbol).collect()
}

/// A symbol as it is stored: frame, function, place, lines.
pub(crate) type SymbolRow = (FrameId, String, i64, String);

pub(crate) async fn symbol_rows(
    conn: &mut SqliteConnection,
    id: CaptureId,
    after: FrameId,
    most: Most,
) -> Result<Vec<SymbolRow>, StoreError> {
    type Row = (i64, String, i64, String);
    let select = "SELECT frame_id, function, place, lines FROM symbols WHERE capture_id = ? AND frame_id > ? \
                  ORDER BY frame_id LIMIT ?";
    let rows: Vec<Row> = all(conn, of(select, id).bind(after).bind(most), "reading symbols").await?;
    let symbol = |(frame, function, place, lines)| Ok((narrow(frame, "a frame's id")?, function, place, lines));
    rows.into_iter().map(symbol).collect()
}

type CodeRow = (i64, i64, i64, i64, String, Option<String>, Vec<u8>, String);

fn function_code(row: CodeRow) -> Result<FunctionCode, StoreError> {
    let (mapping, start, address, length, machine, missing, bytes, lines) = row;
    Ok(FunctionCode {
        mapping: narrow(mapping, "a mapping's id")?,
        start: unsigned(start),
        address: unsigned(address),
        length: unsigned(length),
        machine: machine_from(&machine)?,
        bytes,
        lines: from_json(&lines, "the lines of a function")?,
        missing: missing.as_deref().map(code_missing_from).transpose()?,
    })
}

/// Instructions of functions, the first `offset` left out.
pub(crate) async fn code(
    conn: &mut SqliteConnection,
    id: CaptureId,
    offset: u64,
    most: Most,
) -> Result<Vec<FunctionCode>, StoreError> {
    let select = "SELECT mapping_id, place, address, length, machine, missing, bytes, lines FROM code \
                  WHERE capture_id = ? ORDER BY mapping_id, place LIMIT ? OFFSET ?";
    let query = of(select, id).bind(most).bind(sql(offset));
    let rows: Vec<CodeRow> = all(conn, query, "reading instructions").await?;
    rows.into_iter().map(function_code).collect()
}

/// The instructions of the function that begins at a place.
pub(crate) async fn code_at(
    conn: &mut SqliteConnection,
    id: CaptureId,
    mapping: MappingId,
    start: u64,
) -> Result<Option<FunctionCode>, StoreError> {
    let select = "SELECT mapping_id, place, address, length, machine, missing, bytes, lines FROM code \
                  WHERE capture_id = ? AND mapping_id = ? AND place = ?";
    let query = of(select, id).bind(mapping).bind(sql(start));
    let rows: Vec<CodeRow> = all(conn, query, "reading instructions").await?;
    rows.into_iter().next().map(function_code).transpose()
}

pub(crate) async fn processes(
    conn: &mut SqliteConnection,
    id: CaptureId,
    offset: u64,
    most: Most,
) -> Result<Vec<ProcessChange>, StoreError> {
    type Row = (i64, i64, i64, String, i64);
    let select = "SELECT time_ns, pid, tid, kind, value FROM processes WHERE capture_id = ? AND seq >= ? \
                  ORDER BY seq LIMIT ?";
    let query = of(select, id).bind(sql(offset)).bind(most);
    let rows: Vec<Row> = all(conn, query, "reading the process history").await?;
    let change = |(time_ns, pid, tid, kind, value): Row| {
        let (pid, tid) = (narrow(pid, "a process id")?, narrow(tid, "a thread id")?);
        let kind = process_change_from([pid, tid], (&kind, narrow(value, "a change of a process")?))?;
        Ok(ProcessChange { time_ns: unsigned(time_ns), pid, tid, kind })
    };
    rows.into_iter().map(change).collect()
}

pub(crate) async fn output(
    conn: &mut SqliteConnection,
    id: CaptureId,
    offset: u64,
    most: Most,
) -> Result<Vec<OutputLine>, StoreError> {
    let select = "SELECT time_ns, descriptor, text FROM output WHERE capture_id = ? AND seq >= ? ORDER BY seq LIMIT ?";
    let query = of(select, id).bind(sql(offset)).bind(most);
    let rows: Vec<(i64, i64, Vec<u8>)> = all(conn, query, "reading output").await?;
    let line = |(time_ns, descriptor, bytes)| {
        Ok(OutputLine { time_ns: unsigned(time_ns), stream: descriptor_from(descriptor)?, bytes })
    };
    rows.into_iter().map(line).collect()
}

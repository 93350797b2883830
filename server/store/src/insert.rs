//! Rows of an append: chunks, dictionaries, process history, output.

use std::collections::HashMap;

use bathyscope_capture::{
    Append, CaptureId, EncodedChunk, Frame, FrameId, FunctionCode, MAX_CHUNK_BYTES, MAX_CODE_BYTES, Mapping, MappingId,
    OutputLine, ProcessChange, Stack, StackId, StringId, Symbol,
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::{
    StoreError,
    error::failed,
    limits::{at_most, few_enough, limit},
    retention::{self, AddedBytes},
    rows::{
        code_missing, descriptor, machine, mapping_kind, narrow, process_change, sql, stack_to_bytes, stats_to_bytes,
        to_json, unsigned,
    },
    sums::{self, ChecksummedPart},
};

/// Rows in one INSERT: enough that the round trip no longer counts, few enough values for any build of SQLite.
const BATCH: usize = 200;

/// Adds what an append holds but for its ledger, in the transaction that is open. Gives the numbers of its chunks.
pub(crate) async fn insert_append(
    conn: &mut SqliteConnection,
    id: CaptureId,
    append: &Append,
) -> Result<Vec<u32>, StoreError> {
    insert_strings(conn, id, &append.strings).await?;
    insert_mappings(conn, id, &append.mappings).await?;
    insert_frames(conn, id, &append.frames).await?;
    insert_stacks(conn, id, &append.stacks).await?;
    sums_of(append).store(conn, id).await?;
    insert_symbols(conn, id, &append.symbols).await?;
    insert_code(conn, id, &append.code).await?;
    insert_processes(conn, id, &append.processes).await?;
    let output_bytes = insert_output(conn, id, &append.output).await?;
    let (mut rows, mut bytes, mut numbers) = (0, 0, Vec::with_capacity(append.chunks.len()));
    for (stream, chunk) in &append.chunks {
        numbers.push(insert_chunk(conn, id, *stream, chunk).await?);
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
    .execute(&mut *conn)
    .await
    .map_err(failed("adding to a capture"))?;
    retention::add(conn, id, AddedBytes { index_bytes: 0, dictionary_bytes: dictionary_bytes(append) }).await?;
    Ok(numbers)
}

/// What an append adds to the checksums, but for its symbols, which may replace others.
fn sums_of(append: &Append) -> sums::ChecksumChanges {
    let mut added = sums::ChecksumChanges::default();
    for (id, text) in &append.strings {
        added.entry(ChecksummedPart::Strings, *id, sums::string(*id, text));
    }
    for (id, mapping) in &append.mappings {
        added.entry(ChecksummedPart::Mappings, *id, sums::mapping(*id, mapping));
    }
    for (id, frame) in &append.frames {
        added.entry(ChecksummedPart::Frames, *id, sums::frame(*id, frame));
    }
    for (id, stack) in &append.stacks {
        added.entry(ChecksummedPart::Stacks, *id, sums::stack(*id, &stack_to_bytes(stack)));
    }
    added
}

/// What the dictionaries and the process history of an append count, as migration 6 counts them.
fn dictionary_bytes(append: &Append) -> u64 {
    let strings: usize = append.strings.iter().map(|(_, text)| text.len()).sum();
    let mappings: usize = append.mappings.iter().map(|(_, mapping)| mapping.name.len() + mapping.build_id.len()).sum();
    let stacks: usize = append.stacks.iter().map(|(_, stack)| stack.len() * size_of::<FrameId>()).sum();
    (strings + mappings + stacks + append.frames.len() * 12 + append.processes.len() * 24) as u64
}

/// Adds a chunk to a stream, in the transaction that is open; gives its number.
pub(crate) async fn insert_chunk(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    chunk: &EncodedChunk,
) -> Result<u32, StoreError> {
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
    narrow(seq, "a chunk's number")
}

/// Runs one INSERT for each batch of `values`.
pub(crate) async fn insert_all<T>(
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

/// Adds strings with their checksums and counts their bytes, in the transaction that is open.
pub(crate) async fn insert_new_strings(
    conn: &mut SqliteConnection,
    id: CaptureId,
    strings: &[(StringId, Vec<u8>)],
) -> Result<(), StoreError> {
    let append = Append { strings: strings.to_vec(), ..Append::default() };
    insert_strings(conn, id, &append.strings).await?;
    sums_of(&append).store(conn, id).await?;
    retention::add(conn, id, AddedBytes { index_bytes: 0, dictionary_bytes: dictionary_bytes(&append) }).await
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
        few_enough("a stack", stack.len(), limit::STACK_FRAMES)?;
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
    // Of two of one frame the later one stays.
    let last: HashMap<FrameId, usize> = rows.iter().enumerate().map(|(at, row)| (row.0, at)).collect();
    let rows: Vec<_> =
        rows.into_iter().enumerate().filter(|(at, row)| last.get(&row.0) == Some(at)).map(|(_, row)| row).collect();
    let mut added = sums::ChecksumChanges::default();
    for (frame, function, place, lines) in &rows {
        let sum = sums::symbol(*frame, function.as_bytes(), unsigned(*place), lines.as_bytes());
        added.entry(ChecksummedPart::Symbols, *frame, sum);
    }
    take_away_replaced(conn, id, &rows.iter().map(|row| row.0).collect::<Vec<_>>(), &mut added).await?;
    added.store(conn, id).await?;
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

/// Takes the symbols that these frames have already out of the checksums.
async fn take_away_replaced(
    conn: &mut SqliteConnection,
    id: CaptureId,
    frames: &[FrameId],
    added: &mut sums::ChecksumChanges,
) -> Result<(), StoreError> {
    for batch in frames.chunks(BATCH) {
        let mut query =
            QueryBuilder::<Sqlite>::new("SELECT frame_id, function, place, lines FROM symbols WHERE capture_id = ");
        query.push_bind(sql(id.bits())).push(" AND frame_id IN (");
        let mut list = query.separated(", ");
        for frame in batch {
            list.push_bind(*frame);
        }
        query.push(")");
        let old = query.build_query_as().persistent(batch.len() == BATCH).fetch_all(&mut *conn).await;
        let old: Vec<(u32, String, i64, String)> = old.map_err(failed("replacing symbols"))?;
        for (frame, function, place, lines) in old {
            let sum = sums::symbol(frame, function.as_bytes(), unsigned(place), lines.as_bytes());
            added.entry(ChecksummedPart::Symbols, frame, -sum);
        }
    }
    Ok(())
}

/// Adds or replaces instructions of functions, in the transaction that is open.
pub(crate) async fn insert_code(
    conn: &mut SqliteConnection,
    id: CaptureId,
    code: &[FunctionCode],
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(code.len());
    for function in code {
        at_most("the instructions of a function", function.bytes.len(), MAX_CODE_BYTES)?;
        let lines = to_json(&function.lines, "the lines of a function")?;
        at_most("the lines of a function", lines.len(), limit::CODE_LINES_BYTES)?;
        rows.push((function, lines));
    }
    insert_all(conn, "INSERT OR REPLACE INTO code ", &rows, "storing instructions", |row, (function, lines)| {
        row.push_bind(sql(id.bits())).push_bind(function.mapping).push_bind(sql(function.start));
        row.push_bind(sql(function.address)).push_bind(sql(function.length)).push_bind(machine(function.machine));
        row.push_bind(function.missing.map(code_missing)).push_bind(function.bytes.clone()).push_bind(lines.clone());
    })
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

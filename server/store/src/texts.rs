//! The words of captures that searches look into: the table `search`, and what is put into it.
//!
//! A capture that is shown has a row there. What is known when it begins and what people say of it is in the row at once, in the
//! same change; what events brought once it has ended, up to a bound, by a task that works between other changes. A capture that is
//! hidden has none.

use bathyscope_capture::{CaptureId, shown, visible};
use sqlx::SqliteConnection;

use crate::{
    StoreError,
    error::failed,
    limits::{cut, limit},
    rows::{sql, unsigned},
    select::{all, of},
    writer::{Durability, Writer},
};

const DOING: &str = "keeping the words of a capture";
/// What every row has: so that one can be asked for that has not some other word. No text that people see has it.
pub(crate) const EVERY: char = '\u{e000}';
/// How many texts are read at once.
const PAGE: i64 = 1024;
/// How many captures are indexed in one change at most, and from how many bytes on it has enough: others wait behind it.
const BATCH: i64 = 32;
pub(crate) const ENOUGH_BYTES: usize = 128 << 10;
/// How many pages of the index of words are merged in one change, each of 4 KiB.
const MERGED_PAGES: i64 = 64;
/// What free room a merge needs beyond these pages: what it merges is removed only afterwards.
const ROOM_TO_MERGE_BYTES: u64 = 16 << 20;

/// What is put into the row at once.
struct Said {
    title: String,
    tags: String,
    description: String,
    notes: String,
    owner: String,
    host: String,
    command: String,
    spec: String,
    script: String,
}

/// The number and state of a capture's row; none if it is not listed.
async fn place(conn: &mut SqliteConnection, id: CaptureId) -> Result<Option<(i64, i64)>, StoreError> {
    let select = of("SELECT number, indexed FROM listed WHERE capture_id = ?", id);
    Ok(all(conn, select, DOING).await?.into_iter().next())
}

/// Puts what is known from the beginning and what people say of a capture into its row, in the transaction that is open.
pub(crate) async fn renew(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    let Some((number, indexed)) = place(conn, id).await? else { return Ok(()) };
    let said = said(conn, id).await?;
    let statement = if indexed == 0 {
        "INSERT INTO search (title, tags, description, notes, owner, host, command, spec, script, processes, texts, output, rowid) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', ?)"
    } else {
        "UPDATE search SET title = ?, tags = ?, description = ?, notes = ?, owner = ?, host = ?, command = ?, spec = ?, \
         script = ? WHERE rowid = ?"
    };
    let Said { title, tags, description, notes, owner, host, command, spec, script } = said;
    let query = sqlx::query(statement).bind(title).bind(tags).bind(description).bind(notes).bind(owner).bind(host);
    let query = query.bind(command).bind(spec).bind(script).bind(number);
    query.execute(&mut *conn).await.map_err(failed(DOING))?;
    set_indexed(conn, number, indexed.max(1)).await
}

async fn set_indexed(conn: &mut SqliteConnection, number: i64, indexed: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE listed SET indexed = ? WHERE number = ?").bind(indexed).bind(number);
    update.execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// Removes the row of a capture that is shown no more, in the transaction that is open.
pub(crate) async fn remove(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    let Some((number, _)) = place(conn, id).await? else { return Ok(()) };
    let delete = sqlx::query("DELETE FROM search WHERE rowid = ?").bind(number);
    delete.execute(&mut *conn).await.map_err(failed(DOING))?;
    set_indexed(conn, number, 0).await
}

async fn said(conn: &mut SqliteConnection, id: CaptureId) -> Result<Said, StoreError> {
    type Row = (String, String, String, String, String);
    let select = of("SELECT title, owner, host_name, target, spec FROM captures WHERE id = ?", id);
    let rows: Vec<Row> = all(conn, select, DOING).await?;
    let (title, owner, host, target, spec) = rows.into_iter().next().ok_or(StoreError::NoCapture { id })?;
    let select = of("SELECT text FROM notes WHERE capture_id = ? ORDER BY start_ns, end_ns, id", id);
    let notes: Vec<(String,)> = all(conn, select, DOING).await?;
    let select = of("SELECT description, tags FROM labels WHERE capture_id = ?", id);
    let labels: Vec<(String, String)> = all(conn, select, DOING).await?;
    let (description, tags) = labels.into_iter().next().unwrap_or_default();
    let (spec, script) = texts_of_spec(&spec);
    Ok(Said {
        title: shown(&title),
        tags: tags.trim().to_owned(),
        description: lines(&description),
        notes: notes.iter().map(|(text,)| lines(text)).collect::<Vec<_>>().join("\n"),
        owner: format!("{} {EVERY}", shown(&owner)),
        host: shown(&host),
        command: shown(&target),
        spec,
        script,
    })
}

/// A text of people, line by line.
fn lines(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<_>>().join("\n")
}

/// The texts of a spec as it is stored, and those of its scripts.
fn texts_of_spec(stored: &str) -> (String, String) {
    let Ok(spec) = serde_json::from_str::<serde_json::Value>(stored) else { return Default::default() };
    let (mut texts, mut scripts) = (Vec::new(), Vec::new());
    collect(&spec["sources"], None, (&mut texts, &mut scripts));
    let joined = |texts: Vec<&str>| texts.into_iter().map(lines).collect::<Vec<_>>().join("\n");
    (
        cut(&joined(texts), limit::SEARCHED_SPEC_BYTES).to_owned(),
        cut(&joined(scripts), limit::SEARCHED_SCRIPT_BYTES).to_owned(),
    )
}

/// Depth is that of the spec, which was read from JSON and so is bounded.
fn collect<'v>(value: &'v serde_json::Value, key: Option<&str>, out: (&mut Vec<&'v str>, &mut Vec<&'v str>)) {
    use serde_json::Value;
    let (texts, scripts) = out;
    match value {
        Value::String(text) if key == Some("text") => scripts.push(text),
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, key, (&mut *texts, &mut *scripts))),
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| collect(value, Some(key), (&mut *texts, &mut *scripts)));
        }
        _ => {}
    }
}

/// What events brought, to be put into the row of a capture that has ended.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    processes: Bounded,
    texts: Bounded,
    output: Bounded,
}

/// Lines up to a number of bytes, and how many bytes were more.
#[derive(Debug, Default)]
struct Bounded {
    text: String,
    left_out_bytes: u64,
}

impl Bounded {
    fn add(&mut self, bytes: &[u8], most: usize) {
        let room = most.saturating_sub(self.text.len());
        if room <= bytes.len() {
            self.left_out_bytes += bytes.len() as u64;
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&visible(bytes));
    }
}

impl Brought {
    pub(crate) fn bytes(&self) -> usize {
        self.processes.text.len() + self.texts.text.len() + self.output.text.len()
    }
}

/// The next captures whose rows lack what events brought: those that have just ended first, then the newest.
pub(crate) async fn pending(conn: &mut SqliteConnection) -> Result<Vec<CaptureId>, StoreError> {
    for indexed in [1, 0] {
        let select = "SELECT capture_id FROM listed WHERE shown = 1 AND indexed = ? AND state <> 'recording' \
                      ORDER BY number DESC LIMIT ?";
        let query = sqlx::query_as(select).bind(indexed).bind(BATCH);
        let rows: Vec<(i64,)> = query.fetch_all(&mut *conn).await.map_err(failed(DOING))?;
        if !rows.is_empty() {
            return Ok(rows.into_iter().map(|(id,)| CaptureId::from_bits(unsigned(id))).collect());
        }
    }
    Ok(Vec::new())
}

/// Reads what the events of a capture brought.
pub(crate) async fn brought(conn: &mut SqliteConnection, id: CaptureId) -> Result<Brought, StoreError> {
    let mut found = Brought::default();
    let select = of(
        "SELECT text FROM strings WHERE capture_id = ?1 AND id IN (SELECT value FROM processes WHERE capture_id = ?1 AND \
         tid <> 0 AND kind IN ('existing', 'comm', 'exec')) ORDER BY id",
        id,
    );
    let names: Vec<(Vec<u8>,)> = all(conn, select, DOING).await?;
    names.iter().for_each(|(name,)| found.processes.add(name, limit::SEARCHED_PROCESSES_BYTES));
    let texts = "SELECT id, text FROM strings WHERE capture_id = ? AND id > ? ORDER BY id LIMIT ?";
    let rest = "SELECT total(octet_length(text)) FROM strings WHERE capture_id = ? AND id > ?";
    read_to_bound(conn, id, (texts, rest), (&mut found.texts, limit::SEARCHED_TEXTS_BYTES)).await?;
    let output = "SELECT seq, text FROM output WHERE capture_id = ? AND seq > ? ORDER BY seq LIMIT ?";
    let rest = "SELECT total(octet_length(text)) FROM output WHERE capture_id = ? AND seq > ?";
    read_to_bound(conn, id, (output, rest), (&mut found.output, limit::SEARCHED_OUTPUT_BYTES)).await?;
    Ok(found)
}

/// Reads texts page by page until there are no more, or no more are taken: then what is left is only measured.
async fn read_to_bound(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (select, rest): (&'static str, &'static str),
    (into, most): (&mut Bounded, usize),
) -> Result<(), StoreError> {
    let mut after = -1_i64;
    while into.left_out_bytes == 0 {
        let rows: Vec<(i64, Vec<u8>)> = all(conn, of(select, id).bind(after).bind(PAGE), DOING).await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        rows.iter().for_each(|(_, text)| into.add(text, most));
    }
    let rows: Vec<(f64,)> = all(conn, of(rest, id).bind(after), DOING).await?;
    into.left_out_bytes += rows.first().map_or(0, |(bytes,)| *bytes as u64);
    Ok(())
}

/// Puts what events brought into the rows of captures that are still shown and have ended.
pub(crate) async fn put_brought(writer: &mut Writer, all: &[(CaptureId, Brought)]) -> Result<(), StoreError> {
    let bytes: usize = all.iter().map(|(_, brought)| 8 * brought.bytes() + (64 << 10)).sum();
    writer.has_room_for(bytes as u64).await?;
    writer.begin(Durability::Normal).await?;
    let done = async {
        for (id, brought) in all {
            put_brought_in(&mut writer.conn, *id, brought).await?;
        }
        Ok(())
    };
    let done = done.await;
    writer.end(done).await
}

/// Merges some of the parts that the index of words consists of: each change adds one, and all are looked into for each word of each
/// capture. Gives whether there is more to merge. Without room it is left to another time.
pub(crate) async fn merge(writer: &mut Writer) -> Result<bool, StoreError> {
    if !writer.has_free(ROOM_TO_MERGE_BYTES) {
        return Ok(false);
    }
    writer.begin(Durability::Normal).await?;
    let merged = merge_pages(&mut writer.conn).await;
    writer.end(merged).await
}

async fn merge_pages(conn: &mut SqliteConnection) -> Result<bool, StoreError> {
    // Two of like size become one, so that there are few. It is kept in the database, as it is told once.
    let pairs = "INSERT INTO search (search, rank) SELECT 'usermerge', 2 \
                 WHERE NOT EXISTS (SELECT 1 FROM search_config WHERE k = 'usermerge' AND v = 2)";
    sqlx::query(pairs).execute(&mut *conn).await.map_err(failed(DOING))?;
    let before = total_changes(conn).await?;
    let merge = sqlx::query("INSERT INTO search (search, rank) VALUES ('merge', ?)").bind(MERGED_PAGES);
    merge.execute(&mut *conn).await.map_err(failed(DOING))?;
    // The statement itself is one change.
    Ok(total_changes(conn).await? - before >= 2)
}

async fn total_changes(conn: &mut SqliteConnection) -> Result<i64, StoreError> {
    let (changes,) = sqlx::query_as("SELECT total_changes()").fetch_one(conn).await.map_err(failed(DOING))?;
    Ok(changes)
}

async fn put_brought_in(conn: &mut SqliteConnection, id: CaptureId, brought: &Brought) -> Result<(), StoreError> {
    let select =
        of("SELECT number, indexed FROM listed WHERE capture_id = ? AND shown = 1 AND state <> 'recording'", id);
    let rows: Vec<(i64, i64)> = all(conn, select, DOING).await?;
    let Some((number, indexed)) = rows.into_iter().next().filter(|(_, indexed)| *indexed < 2) else { return Ok(()) };
    if indexed == 0 {
        renew(conn, id).await?;
    }
    let Brought { processes, texts, output } = brought;
    if brought.bytes() > 0 {
        let update = sqlx::query("UPDATE search SET processes = ?, texts = ?, output = ? WHERE rowid = ?");
        let update = update.bind(&processes.text).bind(&texts.text).bind(&output.text).bind(number);
        update.execute(&mut *conn).await.map_err(failed(DOING))?;
    }
    let left_out_bytes = processes.left_out_bytes + texts.left_out_bytes + output.left_out_bytes;
    let update = sqlx::query("UPDATE listed SET indexed = 2, left_out_bytes = ? WHERE number = ?");
    update.bind(sql(left_out_bytes)).bind(number).execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

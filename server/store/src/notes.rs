//! Notes of people on captures.
//!
//! Who may write, change and remove one is decided where people are known. A note belongs to no recording: it can be written on
//! any capture that is shown, and two captures with other notes are the same recording.

use bathyscope_capture::{CaptureId, NoteAnchor, NoteContent, NoteId};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use crate::{
    StoreError,
    error::failed,
    labels,
    limits::{at_most, limit},
    read::state_of,
    rows::{narrow, sql, unreadable, unsigned},
    select::{all, of},
    writer::{Durability, Writer},
};

const SAVING: &str = "saving a note";
const WHAT: &str = "a note";
/// What a note takes beside its texts.
const NOTE_OVERHEAD_BYTES: usize = 128;
/// The schema version from which on there are notes.
pub(crate) const NOTES_SINCE: i64 = 11;

/// A note of somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteRecord {
    /// Names it.
    pub id: NoteId,
    /// What it is tied to, and what it says.
    pub content: NoteContent,
    /// Who wrote it first; of an imported note, what the file says.
    pub author: String,
    /// Who may change it: who wrote it here, or imported it.
    pub owner: String,
    /// Whether it came with a file.
    pub imported: bool,
    /// When it was written, nanoseconds since 1970 by the wall clock: a label, never compared.
    pub created_unix_ns: i64,
    /// When it was changed last, likewise, and by whom; none if it never was.
    pub changed: Option<NoteChange>,
    /// 1, and one more for each change.
    pub version: u32,
}

/// The last change of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteChange {
    /// When, nanoseconds since 1970 by the wall clock.
    pub unix_ns: i64,
    /// Who.
    pub user: String,
}

impl NoteRecord {
    /// The bytes that a capture grows by.
    fn size(&self) -> i64 {
        let track = self.content.track.as_ref().map_or(0, String::len);
        sql((NOTE_OVERHEAD_BYTES + self.content.text.len() + track) as u64)
    }

    fn check(&self) -> Result<(), StoreError> {
        let changer = self.changed.as_ref().map_or(0, |change| change.user.len());
        at_most("the user's name", self.author.len().max(self.owner.len()).max(changer), limit::USER_BYTES)?;
        self.content.check().map_err(|error| StoreError::Refused { what: WHAT, why: error.to_string() })
    }
}

/// Whether notes of a file can be taken.
pub(crate) fn check(notes: &[NoteRecord]) -> Result<(), StoreError> {
    at_most("the notes of a capture", notes.len(), limit::NOTES)?;
    notes.iter().try_for_each(NoteRecord::check)
}

/// Writes a note that is new.
pub(crate) async fn add(writer: &mut Writer, id: CaptureId, note: &NoteRecord) -> Result<(), StoreError> {
    writer.has_room_for(note.size().unsigned_abs()).await?;
    writer.begin(Durability::Full).await?;
    let added = add_in(&mut writer.conn, id, note).await;
    writer.end(added).await
}

async fn add_in(conn: &mut SqliteConnection, id: CaptureId, note: &NoteRecord) -> Result<(), StoreError> {
    state_of(conn, id).await?;
    insert(conn, id, std::slice::from_ref(note)).await?;
    labels::renew(conn, id).await?;
    has_few(conn, id).await
}

/// Adds notes of a file to a capture that is shown, in the name of who imports it and in the transaction that is open. Those that
/// the capture has already stay as they are.
pub(crate) async fn add_imported(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (notes, owner): (Vec<NoteRecord>, &str),
) -> Result<(), StoreError> {
    state_of(conn, id).await?;
    let taken = |note: NoteRecord| NoteRecord { owner: owner.to_owned(), imported: true, ..note };
    let notes: Vec<NoteRecord> = notes.into_iter().map(taken).collect();
    insert(conn, id, &notes).await?;
    labels::renew(conn, id).await?;
    has_few(conn, id).await
}

/// The bytes of some notes.
pub(crate) fn size(notes: &[NoteRecord]) -> u64 {
    notes.iter().map(|note| note.size().unsigned_abs()).sum()
}

async fn has_few(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    let rows: Vec<(i64,)> = all(conn, of("SELECT count(*) FROM notes WHERE capture_id = ?", id), SAVING).await?;
    if rows.first().is_some_and(|row| row.0.unsigned_abs() > limit::NOTES as u64) {
        let why = format!("a capture has at most {} notes; remove some first", limit::NOTES);
        return Err(StoreError::Refused { what: "another note", why });
    }
    Ok(())
}

/// Puts notes into tables as they are, in the transaction that is open. What is there already stays.
pub(crate) async fn insert(conn: &mut SqliteConnection, id: CaptureId, notes: &[NoteRecord]) -> Result<(), StoreError> {
    let mut grown = 0;
    for note in notes {
        note.check()?;
        let NoteContent { anchor, track, text, colour } = &note.content;
        let (start_ns, end_ns) = anchor.times();
        let kind = match anchor {
            NoteAnchor::Moment { .. } => "moment",
            NoteAnchor::Range { .. } => "range",
        };
        let insert = "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) ON CONFLICT DO NOTHING";
        let insert = of(insert, id).bind(sql(note.id.bits())).bind(kind).bind(sql(start_ns)).bind(sql(end_ns));
        let insert = insert.bind(track).bind(text).bind(*colour).bind(&note.author).bind(&note.owner);
        let insert = insert.bind(note.imported).bind(note.created_unix_ns);
        let insert = insert.bind(note.changed.as_ref().map(|it| it.unix_ns));
        let insert = insert.bind(note.changed.as_ref().map(|it| &it.user)).bind(note.version.max(1));
        if insert.execute(&mut *conn).await.map_err(failed(SAVING))?.rows_affected() > 0 {
            grown += note.size();
        }
    }
    grow(conn, id, grown).await
}

/// Counts bytes of notes with those of the capture's texts.
async fn grow(conn: &mut SqliteConnection, id: CaptureId, bytes: i64) -> Result<(), StoreError> {
    let update = "UPDATE retention SET dictionary_bytes = max(0, dictionary_bytes + ?2) WHERE capture_id = ?1";
    of(update, id).bind(bytes).execute(conn).await.map_err(failed(SAVING))?;
    Ok(())
}

/// What becomes of a note that somebody changes.
#[derive(Clone, Debug)]
pub(crate) struct ChangedNote {
    pub(crate) id: NoteId,
    /// The version that was seen.
    pub(crate) version: u32,
    pub(crate) content: NoteContent,
    pub(crate) change: NoteChange,
}

/// Changes what a note says, if it is still as it was seen; the note as it is now.
pub(crate) async fn change(writer: &mut Writer, id: CaptureId, changed: ChangedNote) -> Result<NoteRecord, StoreError> {
    writer.has_room_for(changed.content.text.len() as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = change_in(&mut writer.conn, id, changed).await;
    writer.end(done).await
}

async fn change_in(conn: &mut SqliteConnection, id: CaptureId, changed: ChangedNote) -> Result<NoteRecord, StoreError> {
    let before = one(conn, id, changed.id).await?.ok_or(StoreError::NoNote { id, note: changed.id })?;
    if before.version != changed.version {
        return Err(StoreError::NoteChanged { note: changed.id });
    }
    let ChangedNote { content, change, .. } = changed;
    let version = before.version.saturating_add(1);
    let after = NoteRecord { content, changed: Some(change), version, ..before.clone() };
    remove_row(conn, id, &before).await?;
    insert(conn, id, std::slice::from_ref(&after)).await?;
    labels::renew(conn, id).await?;
    Ok(after)
}

async fn remove_row(conn: &mut SqliteConnection, id: CaptureId, note: &NoteRecord) -> Result<(), StoreError> {
    let delete = of("DELETE FROM notes WHERE capture_id = ? AND id = ?", id).bind(sql(note.id.bits()));
    delete.execute(&mut *conn).await.map_err(failed("removing a note"))?;
    grow(conn, id, -note.size()).await
}

/// Removes a note; says whether there was one.
pub(crate) async fn remove(conn: &mut SqliteConnection, id: CaptureId, note: NoteId) -> Result<bool, StoreError> {
    let Some(found) = one(conn, id, note).await? else { return Ok(false) };
    remove_row(conn, id, &found).await?;
    labels::renew(conn, id).await?;
    Ok(true)
}

/// The note of this id; none if there is none, or its capture is not shown.
pub(crate) async fn one(
    conn: &mut SqliteConnection,
    id: CaptureId,
    note: NoteId,
) -> Result<Option<NoteRecord>, StoreError> {
    Ok(of_shown(conn, id).await?.into_iter().find(|it| it.id == note))
}

/// The notes of a capture that is shown.
pub(crate) async fn of_shown(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<NoteRecord>, StoreError> {
    state_of(conn, id).await?;
    list(conn, id).await
}

/// A row of the table, but for its capture: id, kind, start, end, track, text, colour, author, owner, imported, created, changed,
/// by whom, version.
type NoteRow = (
    i64,
    String,
    i64,
    i64,
    Option<String>,
    String,
    Option<i64>,
    String,
    String,
    bool,
    i64,
    Option<i64>,
    Option<String>,
    i64,
);

/// The notes of a capture, in order of their times.
pub(crate) async fn list(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<NoteRecord>, StoreError> {
    let select = "SELECT id, kind, start_ns, end_ns, track, text, colour, author, owner, imported, created_unix_ns, \
                  changed_unix_ns, changed_by, version FROM notes WHERE capture_id = ? ORDER BY start_ns, end_ns, id";
    let rows: Vec<NoteRow> = all(conn, of(select, id), "reading notes").await?;
    rows.into_iter().map(record).collect()
}

fn record(row: NoteRow) -> Result<NoteRecord, StoreError> {
    let (id, kind, start, end, track, text, colour, author, owner, imported, created_unix_ns, changed, by, version) =
        row;
    let (start_ns, end_ns) = (unsigned(start), unsigned(end));
    let anchor = match kind.as_str() {
        "moment" if start == end => NoteAnchor::Moment { start_ns },
        "range" => NoteAnchor::Range { start_ns, end_ns },
        _ => return Err(unreadable("what a note is tied to")),
    };
    let colour = colour.map(|colour| narrow(colour, "the colour of a note")).transpose()?;
    Ok(NoteRecord {
        id: NoteId::from_bits(unsigned(id)),
        content: NoteContent { anchor, track, text, colour },
        author,
        owner,
        imported,
        created_unix_ns,
        changed: changed.zip(by).map(|(unix_ns, user)| NoteChange { unix_ns, user }),
        version: narrow(version, "the version of a note")?,
    })
}

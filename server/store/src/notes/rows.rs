//! Notes as rows of tables.

use std::collections::HashMap;

use bathyscope_capture::{CaptureId, NoteAnchor, NoteContent, NoteId};
use sqlx::{FromRow, Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{NOTES_SINCE, NoteChange, NoteRecord, NoteVersion, SAVING, THREADS_SINCE, grow, size_of};
use crate::{
    StoreError,
    error::failed,
    rows::{from_json, narrow, sql, to_json, unreadable, unsigned},
    select::{all, of},
};

const READING: &str = "reading notes";
const ANCHOR: &str = "what a note is tied to";

/// Puts notes with their earlier versions into tables as they are, in the transaction that is open. What is there already stays.
pub(crate) async fn insert(conn: &mut SqliteConnection, id: CaptureId, notes: &[NoteRecord]) -> Result<(), StoreError> {
    let mut grown = 0;
    for note in notes {
        note.check()?;
        if insert_one(conn, id, note).await? {
            grown += note.size();
            for earlier in &note.earlier {
                insert_version(conn, id, (note.id, earlier)).await?;
            }
        }
    }
    grow(conn, id, grown).await
}

async fn insert_one(conn: &mut SqliteConnection, id: CaptureId, note: &NoteRecord) -> Result<bool, StoreError> {
    let NoteContent { anchor, track, view, text, plain, colour } = &note.content;
    let (start_ns, end_ns) = anchor.times().unwrap_or_default();
    let (kind, place) = stored(anchor);
    let insert = "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, \
                  ?20) ON CONFLICT DO NOTHING";
    let insert = of(insert, id).bind(sql(note.id.bits())).bind(kind).bind(sql(start_ns)).bind(sql(end_ns));
    let insert = insert.bind(track).bind(place).bind(view).bind(text).bind(plain).bind(*colour);
    let insert = insert.bind(&note.author).bind(&note.owner).bind(note.imported).bind(note.created_unix_ns);
    let insert = [&note.changed, &note.resolved].into_iter().fold(insert, |insert, change| {
        insert.bind(change.as_ref().map(|it| it.unix_ns)).bind(change.as_ref().map(|it| &it.user))
    });
    let done = insert.bind(note.version.max(1)).execute(conn).await.map_err(failed(SAVING))?;
    Ok(done.rows_affected() > 0)
}

/// Keeps what a note said.
pub(crate) async fn insert_version(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (note, version): (NoteId, &NoteVersion),
) -> Result<(), StoreError> {
    let insert = of("INSERT INTO note_versions VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING", id);
    let insert = insert.bind(sql(note.bits())).bind(version.version.max(1)).bind(to_json(&version.content, "a note")?);
    let insert = insert.bind(version.saved.unix_ns).bind(&version.saved.user);
    insert.execute(&mut *conn).await.map_err(failed(SAVING))?;
    grow(conn, id, size_of(&version.content)).await
}

/// Removes the row of a note; what it said before stays.
pub(crate) async fn delete(conn: &mut SqliteConnection, id: CaptureId, note: &NoteRecord) -> Result<(), StoreError> {
    let delete = of("DELETE FROM notes WHERE capture_id = ? AND id = ?", id).bind(sql(note.id.bits()));
    delete.execute(&mut *conn).await.map_err(failed("removing a note"))?;
    grow(conn, id, -note.size()).await
}

/// The name of an anchor's kind, and what else names the place.
fn stored(anchor: &NoteAnchor) -> (&'static str, Option<String>) {
    match anchor {
        NoteAnchor::Moment { .. } => ("moment", None),
        NoteAnchor::Range { .. } => ("range", None),
        NoteAnchor::Row { stream, row, .. } => ("row", Some(format!("{stream}.{row}"))),
        NoteAnchor::Track => ("track", None),
        NoteAnchor::Frame { node, name } => ("frame", Some(format!("{node} {name}"))),
        NoteAnchor::Function { name } => ("function", Some(name.clone())),
        NoteAnchor::Capture => ("capture", None),
        NoteAnchor::Answer { to } => ("answer", Some(to.to_string())),
    }
}

fn anchor_of(kind: &str, (start, end): (i64, i64), place: Option<String>) -> Result<NoteAnchor, StoreError> {
    let (start_ns, end_ns) = (unsigned(start), unsigned(end));
    let place = place.unwrap_or_default();
    let read = match kind {
        "moment" if start == end => Some(NoteAnchor::Moment { start_ns }),
        "range" => Some(NoteAnchor::Range { start_ns, end_ns }),
        "row" => place.split_once('.').and_then(|(stream, row)| {
            Some(NoteAnchor::Row { stream: stream.parse().ok()?, row: row.parse().ok()?, start_ns })
        }),
        "track" => Some(NoteAnchor::Track),
        "frame" => {
            place.split_once(' ').map(|(node, name)| NoteAnchor::Frame { node: node.to_owned(), name: name.to_owned() })
        }
        "function" => Some(NoteAnchor::Function { name: place }),
        "capture" => Some(NoteAnchor::Capture),
        "answer" => place.parse().ok().map(|to| NoteAnchor::Answer { to }),
        _ => None,
    };
    read.ok_or_else(|| unreadable(ANCHOR))
}

/// A row of the table, but for its capture.
struct NoteRow {
    id: i64,
    kind: String,
    times: (i64, i64),
    track: Option<String>,
    place: Option<String>,
    view: String,
    text: String,
    plain: bool,
    colour: Option<i64>,
    author: String,
    owner: String,
    imported: bool,
    created_unix_ns: i64,
    changed: (Option<i64>, Option<String>),
    resolved: (Option<i64>, Option<String>),
    version: i64,
}

impl FromRow<'_, SqliteRow> for NoteRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            kind: row.try_get("kind")?,
            times: (row.try_get("start_ns")?, row.try_get("end_ns")?),
            track: row.try_get("track")?,
            place: row.try_get("place")?,
            view: row.try_get("view")?,
            text: row.try_get("text")?,
            plain: row.try_get("plain")?,
            colour: row.try_get("colour")?,
            author: row.try_get("author")?,
            owner: row.try_get("owner")?,
            imported: row.try_get("imported")?,
            created_unix_ns: row.try_get("created_unix_ns")?,
            changed: (row.try_get("changed_unix_ns")?, row.try_get("changed_by")?),
            resolved: (row.try_get("resolved_unix_ns")?, row.try_get("resolved_by")?),
            version: row.try_get("version")?,
        })
    }
}

fn record(row: NoteRow) -> Result<NoteRecord, StoreError> {
    let change = |(unix_ns, user): (Option<i64>, Option<String>)| {
        unix_ns.zip(user).map(|(unix_ns, user)| NoteChange { unix_ns, user })
    };
    let content = NoteContent {
        anchor: anchor_of(&row.kind, row.times, row.place)?,
        track: row.track,
        view: row.view,
        text: row.text,
        plain: row.plain,
        colour: row.colour.map(|colour| narrow(colour, "the colour of a note")).transpose()?,
    };
    Ok(NoteRecord {
        id: NoteId::from_bits(unsigned(row.id)),
        content,
        author: row.author,
        owner: row.owner,
        imported: row.imported,
        created_unix_ns: row.created_unix_ns,
        changed: change(row.changed),
        resolved: change(row.resolved),
        version: narrow(row.version, "the version of a note")?,
        earlier: Vec::new(),
    })
}

/// The notes of a capture as they are now, in order of their times; those without one first.
pub(crate) async fn list(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<NoteRecord>, StoreError> {
    let select = "SELECT * FROM notes WHERE capture_id = ? ORDER BY start_ns, end_ns, created_unix_ns, id";
    let rows: Vec<NoteRow> = all(conn, of(select, id), READING).await?;
    rows.into_iter().map(record).collect()
}

/// The notes of a file of this version with all that they said before; none in one that is older than notes.
pub(crate) async fn of_file(
    conn: &mut SqliteConnection,
    id: CaptureId,
    version: i64,
) -> Result<Vec<NoteRecord>, StoreError> {
    if version < NOTES_SINCE {
        return Ok(Vec::new());
    }
    if version < THREADS_SINCE {
        let select = "SELECT *, NULL AS place, '' AS view, 1 AS plain, NULL AS resolved_unix_ns, NULL AS resolved_by \
                      FROM notes WHERE capture_id = ? ORDER BY start_ns, end_ns, id";
        let rows: Vec<NoteRow> = all(conn, of(select, id), READING).await?;
        return rows.into_iter().map(record).collect();
    }
    with_versions(conn, id).await
}

/// The notes of a capture with all that they said before.
pub(crate) async fn with_versions(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<NoteRecord>, StoreError> {
    let mut earlier: HashMap<NoteId, Vec<NoteVersion>> = HashMap::new();
    let select = "SELECT note_id, version, content, saved_unix_ns, saved_by FROM note_versions WHERE capture_id = ? \
                  ORDER BY note_id, version";
    let rows: Vec<VersionRow> = all(conn, of(select, id), READING).await?;
    for row in rows {
        let (note, version) = version_of(row)?;
        earlier.entry(note).or_default().push(version);
    }
    let mut notes = list(conn, id).await?;
    for note in &mut notes {
        note.earlier = earlier.remove(&note.id).unwrap_or_default();
    }
    Ok(notes)
}

/// Note, version, content, when and by whom it was saved.
type VersionRow = (i64, i64, String, i64, String);

fn version_of((note, version, content, unix_ns, user): VersionRow) -> Result<(NoteId, NoteVersion), StoreError> {
    let version = NoteVersion {
        version: narrow(version, "a version of a note")?,
        content: from_json(&content, "what a note said")?,
        saved: NoteChange { unix_ns, user },
    };
    Ok((NoteId::from_bits(unsigned(note)), version))
}

/// What a note said before, the first version first.
pub(crate) async fn versions(
    conn: &mut SqliteConnection,
    id: CaptureId,
    note: NoteId,
) -> Result<Vec<NoteVersion>, StoreError> {
    let select = "SELECT note_id, version, content, saved_unix_ns, saved_by FROM note_versions \
                  WHERE capture_id = ? AND note_id = ? ORDER BY version";
    let rows: Vec<VersionRow> = all(conn, of(select, id).bind(sql(note.bits())), READING).await?;
    rows.into_iter().map(|row| version_of(row).map(|(_note, version)| version)).collect()
}

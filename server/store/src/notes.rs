//! Notes of people on captures.
//!
//! Who may write, change and remove one is decided where people are known. A note belongs to no recording: it can be written on
//! any capture that is shown, and two captures with other notes are the same recording. Answers are notes that are tied to another
//! one and go with it. What a note said before a change is kept with it; files carry that too.

mod rows;

use std::collections::HashMap;

use bathyscope_capture::{CaptureId, NoteAnchor, NoteContent, NoteId};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

use crate::{
    StoreError,
    error::failed,
    limits::{at_most, few_enough, limit},
    read::state_of,
    rows::sql,
    select::{all, of},
    texts,
    writer::{Durability, Writer},
};

use self::rows::{delete, insert_version, list, versions};
pub(crate) use self::rows::{insert, of_file, with_versions};

const SAVING: &str = "saving a note";
const WHAT: &str = "a note";
/// What a note takes beside its texts.
const NOTE_OVERHEAD_BYTES: usize = 128;
/// The schema version from which on there are notes.
pub(crate) const NOTES_SINCE: i64 = 11;
/// The schema version from which on notes have answers and versions, and are tied to more than times.
pub(crate) const THREADS_SINCE: i64 = 18;

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
    /// When it was resolved, likewise, and by whom; none if it is open.
    #[serde(default)]
    pub resolved: Option<NoteChange>,
    /// 1, and one more for each change.
    pub version: u32,
    /// What it said before, the first version first; empty where only the present one was asked for.
    #[serde(default)]
    pub earlier: Vec<NoteVersion>,
}

/// What a note was tied to and said once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteVersion {
    /// 1, and one more for each change.
    pub version: u32,
    /// What it was tied to, and what it said.
    pub content: NoteContent,
    /// When it was saved, and by whom.
    pub saved: NoteChange,
}

/// A change of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteChange {
    /// When, nanoseconds since 1970 by the wall clock.
    pub unix_ns: i64,
    /// Who.
    pub user: String,
}

impl NoteRecord {
    /// The bytes that a capture grows by.
    pub(crate) fn size(&self) -> i64 {
        size_of(&self.content)
    }

    /// The version that it has now, to be kept beside the next one.
    pub fn present(&self) -> NoteVersion {
        let written = || NoteChange { unix_ns: self.created_unix_ns, user: self.author.clone() };
        let saved = self.changed.clone().unwrap_or_else(written);
        NoteVersion { version: self.version, content: self.content.clone(), saved }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let changes = [&self.changed, &self.resolved].into_iter().flatten();
        let changes = changes.chain(self.earlier.iter().map(|earlier| &earlier.saved));
        let changer = changes.map(|change| change.user.len()).max().unwrap_or(0);
        at_most("the user's name", self.author.len().max(self.owner.len()).max(changer), limit::USER_BYTES)?;
        few_enough("the versions of a note", self.earlier.len() + 1, limit::NOTE_VERSIONS)?;
        let contents = self.earlier.iter().map(|earlier| &earlier.content).chain([&self.content]);
        for content in contents {
            content.check().map_err(|error| StoreError::Refused { what: WHAT, why: error.to_string() })?;
        }
        Ok(())
    }
}

/// The bytes that a capture grows by for a text of a note.
pub(crate) fn size_of(content: &NoteContent) -> i64 {
    let track = content.track.as_ref().map_or(0, String::len);
    let name = match &content.anchor {
        NoteAnchor::Frame { name, .. } | NoteAnchor::Function { name } => name.len(),
        _ => 0,
    };
    sql((NOTE_OVERHEAD_BYTES + content.text.len() + track + name + content.view.len()) as u64)
}

/// Whether notes of a file can be taken.
pub(crate) fn check(notes: &[NoteRecord]) -> Result<(), StoreError> {
    few_enough("the notes of a capture", notes.len(), limit::NOTES)?;
    let answers: HashMap<NoteId, bool> = notes.iter().map(|note| (note.id, is_answer(&note.content))).collect();
    for note in notes {
        note.check()?;
        let NoteAnchor::Answer { to } = note.content.anchor else { continue };
        if answers.get(&to) != Some(&false) {
            return Err(StoreError::Refused { what: WHAT, why: "it answers no note of the capture".to_owned() });
        }
    }
    Ok(())
}

const fn is_answer(content: &NoteContent) -> bool {
    matches!(content.anchor, NoteAnchor::Answer { .. })
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
    if let NoteAnchor::Answer { to } = note.content.anchor {
        let answered = one(conn, id, to).await?.ok_or(StoreError::NoNote { id, note: to })?;
        if is_answer(&answered.content) {
            let why = "it answers an answer; answer the note that begins the thread".to_owned();
            return Err(StoreError::Refused { what: WHAT, why });
        }
    }
    insert(conn, id, std::slice::from_ref(note)).await?;
    texts::renew(conn, id).await?;
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
    texts::renew(conn, id).await?;
    has_few(conn, id).await
}

/// The bytes of some notes.
pub(crate) fn size(notes: &[NoteRecord]) -> u64 {
    let earlier = |note: &NoteRecord| note.earlier.iter().map(|it| size_of(&it.content)).sum::<i64>();
    notes.iter().map(|note| (note.size() + earlier(note)).unsigned_abs()).sum()
}

async fn has_few(conn: &mut SqliteConnection, id: CaptureId) -> Result<(), StoreError> {
    let rows: Vec<(i64,)> = all(conn, of("SELECT count(*) FROM notes WHERE capture_id = ?", id), SAVING).await?;
    if rows.first().is_some_and(|row| row.0.unsigned_abs() > limit::NOTES as u64) {
        let why = format!("a capture has at most {} notes and answers; remove some first", limit::NOTES);
        return Err(StoreError::Refused { what: "another note", why });
    }
    Ok(())
}

/// Counts bytes of notes with those of the capture's texts.
pub(crate) async fn grow(conn: &mut SqliteConnection, id: CaptureId, bytes: i64) -> Result<(), StoreError> {
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
    // What it said is kept too.
    writer.has_room_for(2 * size_of(&changed.content).unsigned_abs()).await?;
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
    let (is, was) = (&content.anchor, &before.content.anchor);
    if is != was && (is_answer(&content) || is_answer(&before.content)) {
        let why = "an answer stays with the note that it answers".to_owned();
        return Err(StoreError::Refused { what: WHAT, why });
    }
    let kept = versions(conn, id, before.id).await?.len();
    if kept + 1 >= limit::NOTE_VERSIONS {
        let why =
            format!("it was changed {kept} times already, and each version is kept; write an answer, or another note");
        return Err(StoreError::Refused { what: "the change of a note", why });
    }
    insert_version(conn, id, (before.id, &before.present())).await?;
    let version = before.version.saturating_add(1);
    let after = NoteRecord { content, changed: Some(change), version, ..before.clone() };
    delete(conn, id, &before).await?;
    insert(conn, id, std::slice::from_ref(&after)).await?;
    texts::renew(conn, id).await?;
    Ok(after)
}

/// Resolves a note, or opens it again; the note as it is now. One that is so already stays as it is.
pub(crate) async fn resolve(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (note, resolved): (NoteId, Option<NoteChange>),
) -> Result<NoteRecord, StoreError> {
    let mut found = one(conn, id, note).await?.ok_or(StoreError::NoNote { id, note })?;
    if is_answer(&found.content) {
        let why = "it is an answer; the note that begins the thread is resolved".to_owned();
        return Err(StoreError::Refused { what: "resolving a note", why });
    }
    if found.resolved.is_some() == resolved.is_some() {
        return Ok(found);
    }
    let update = "UPDATE notes SET resolved_unix_ns = ?3, resolved_by = ?4 WHERE capture_id = ?1 AND id = ?2";
    let (unix_ns, user) = resolved.clone().map(|it| (it.unix_ns, it.user)).unzip();
    let update = of(update, id).bind(sql(note.bits())).bind(unix_ns).bind(user);
    update.execute(conn).await.map_err(failed(SAVING))?;
    found.resolved = resolved;
    Ok(found)
}

/// Removes a note with its answers; says whether there was one.
pub(crate) async fn remove(conn: &mut SqliteConnection, id: CaptureId, note: NoteId) -> Result<bool, StoreError> {
    let all = of_shown(conn, id).await?;
    if !all.iter().any(|it| it.id == note) {
        return Ok(false);
    }
    let goes = |it: &&NoteRecord| it.id == note || it.content.anchor == (NoteAnchor::Answer { to: note });
    for going in all.iter().filter(goes) {
        delete(conn, id, going).await?;
        remove_versions(conn, id, going.id).await?;
    }
    texts::renew(conn, id).await?;
    Ok(true)
}

async fn remove_versions(conn: &mut SqliteConnection, id: CaptureId, note: NoteId) -> Result<(), StoreError> {
    let bytes: i64 = versions(conn, id, note).await?.iter().map(|it| size_of(&it.content)).sum();
    let delete = of("DELETE FROM note_versions WHERE capture_id = ? AND note_id = ?", id).bind(sql(note.bits()));
    delete.execute(&mut *conn).await.map_err(failed("removing a note"))?;
    grow(conn, id, -bytes).await
}

/// The note of this id with all that it said before; none if there is none, or its capture is not shown.
pub(crate) async fn whole(
    conn: &mut SqliteConnection,
    id: CaptureId,
    note: NoteId,
) -> Result<Option<NoteRecord>, StoreError> {
    let Some(mut found) = one(conn, id, note).await? else { return Ok(None) };
    found.earlier = versions(conn, id, note).await?;
    Ok(Some(found))
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

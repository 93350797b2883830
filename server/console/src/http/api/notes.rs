//! Notes of people on a capture, for everybody who may see it.
//!
//! A *note* is tied to a moment or a range of time, which may be on one track. Whoever may record may write notes on every capture;
//! a note is changed and removed by who wrote (or imported) it, and by admins.
//!
//! * `GET /api/captures/{id}/notes` (viewer) → `{items:[note], can_write}`, in order of their times.
//! * `POST /api/captures/{id}/notes` (operator) `{start, end?, track?, text?, colour?}` → 201 and the note; a moment without `end`.
//! * `PATCH /api/captures/{id}/notes/{note}` (operator: own ones, admin: all): the same with `version`, the one that was seen → the
//!   note; 409 if somebody has changed it meanwhile, 404 if it is gone or of another.
//! * `DELETE /api/captures/{id}/notes/{note}` (likewise) → 204, or 404.

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, NoteAnchor, NoteContent, NoteId, shown};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{NoteChange, NoteRecord, Role};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Operator, Reader, Who},
        error::ApiError,
        extract::{self, Path},
        share::Share,
        state::{AppState, to_its_end},
    },
    captures::{CapturePath, may_change},
};

const WRITING: &str = "writing a note";

/// The notes of a capture.
#[derive(Serialize)]
pub(in crate::http) struct NoteList {
    items: Vec<NoteItem>,
    /// Whether whoever asks may write one.
    can_write: bool,
}

/// A note. Times are nanoseconds from the capture's start.
#[derive(Serialize)]
pub(in crate::http) struct NoteItem {
    /// Names it in addresses.
    id: NoteId,
    /// From when.
    start: i64,
    /// Until before when; none for a moment.
    end: Option<i64>,
    /// The track that it is on, by the key that addresses of pages have.
    track: Option<String>,
    /// Plain text.
    text: String,
    /// Which of the colours of categories it has.
    colour: Option<u8>,
    /// Who wrote it first.
    author: String,
    /// Who imported it, if it came with a file: then the file says who wrote it.
    imported_by: Option<String>,
    /// When it was written, nanoseconds since 1970 by the wall clock.
    created_unix_ns: i64,
    /// When it was changed last.
    changed_unix_ns: Option<i64>,
    /// Who changed it last.
    changed_by: Option<String>,
    /// What a change has to name.
    version: u32,
    /// Whether whoever asks may change and remove it.
    can_change: bool,
}

impl NoteItem {
    /// As `who` sees it, if they are logged in.
    fn new(note: NoteRecord, start_ns: u64, who: Option<&Who>) -> Self {
        let can_change = who.is_some_and(|who| may_change(who, &note.owner));
        let relative = |time_ns: u64| time_ns.cast_signed().wrapping_sub_unsigned(start_ns);
        let NoteContent { anchor, track, text, colour } = note.content;
        let end = match anchor {
            NoteAnchor::Moment { .. } => None,
            NoteAnchor::Range { end_ns, .. } => Some(relative(end_ns)),
        };
        let (changed_unix_ns, changed_by) = note.changed.map(|it| (it.unix_ns, shown(&it.user))).unzip();
        Self {
            id: note.id,
            start: relative(anchor.times().0),
            end,
            track,
            text,
            colour,
            author: shown(&note.author),
            imported_by: note.imported.then(|| shown(&note.owner)),
            created_unix_ns: note.created_unix_ns,
            changed_unix_ns,
            changed_by,
            version: note.version,
            can_change,
        }
    }
}

/// All notes of a capture.
pub(in crate::http) async fn list(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<NoteList>, ApiError> {
    let start_ns = state.store().capture(id).await?.start_ns;
    let who = reader.who();
    let item = |note| NoteItem::new(note, start_ns, who);
    let items = state.store().notes(id).await?.into_iter().map(item);
    let part = reader.share().and_then(Share::part);
    let items = items.filter(|note| part.is_none_or(|part| part.has_note(note.start, note.end))).collect();
    Ok(Json(NoteList { items, can_write: who.is_some_and(|who| who.role() >= Role::Operator) }))
}

/// What is written of a note.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct WrittenNote {
    start: i64,
    #[serde(default)]
    end: Option<i64>,
    #[serde(default)]
    track: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    colour: Option<u8>,
    /// Which version of it was seen, to change it.
    #[serde(default)]
    version: Option<u32>,
}

impl WrittenNote {
    /// As it is kept, on a capture that began then.
    fn content(self, start_ns: u64) -> Result<NoteContent, ApiError> {
        let absolute = |relative: i64| {
            let why = || format!("{relative} ns from the capture's start is no time of its clock");
            start_ns.checked_add_signed(relative).ok_or_else(|| ApiError::invalid(WRITING, why()))
        };
        let anchor = match self.end {
            None => NoteAnchor::Moment { start_ns: absolute(self.start)? },
            Some(end) => NoteAnchor::Range { start_ns: absolute(self.start)?, end_ns: absolute(end)? },
        };
        let text = self.text.trim().replace("\r\n", "\n");
        let content = NoteContent { anchor, track: self.track, text, colour: self.colour };
        content.check().map_err(|error| ApiError::invalid(WRITING, error.to_string()))?;
        Ok(content)
    }
}

/// Writes a note.
pub(in crate::http) async fn write(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(written): extract::Json<WrittenNote>,
) -> Result<(StatusCode, Json<NoteItem>), ApiError> {
    let start_ns = state.store().capture(id).await?.start_ns;
    let content = written.content(start_ns)?;
    let bits = getrandom::u64().map_err(|error| ApiError::internal("drawing a random id", error))?;
    let note = NoteRecord {
        id: NoteId::from_bits(bits),
        content,
        author: who.user().to_owned(),
        owner: who.user().to_owned(),
        imported: false,
        created_unix_ns: wall_unix_ns(),
        changed: None,
        version: 1,
    };
    let writing = async move {
        state.store().add_note(id, note.clone()).await?;
        state.audit(&who.session, "note.write", &id.to_string(), &format!("note {}", note.id)).await;
        Ok::<_, ApiError>(NoteItem::new(note, start_ns, Some(&who)))
    };
    let item = to_its_end(writing).await??;
    Ok((StatusCode::CREATED, Json(item)))
}

/// The note in a path.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::http) struct NotePath {
    id: CaptureId,
    note: NoteId,
}

/// Goes on only for somebody who may change the note (P08); to others it is not there. Says whose it is.
async fn admit(state: &AppState, who: &Who, NotePath { id, note }: NotePath) -> Result<String, ApiError> {
    let found = state.store().note(id, note).await?.filter(|note| may_change(who, &note.owner));
    found.map(|note| note.owner).ok_or_else(ApiError::not_found)
}

/// Changes what a note says.
pub(in crate::http) async fn change(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(path): Path<NotePath>,
    extract::Json(written): extract::Json<WrittenNote>,
) -> Result<Json<NoteItem>, ApiError> {
    let owner = admit(&state, &who, path).await?;
    let why = "`version` is missing: it says which version of the note was seen";
    let version = written.version.ok_or_else(|| ApiError::invalid("changing a note", why))?;
    let NotePath { id, note } = path;
    let start_ns = state.store().capture(id).await?.start_ns;
    let content = written.content(start_ns)?;
    let changing = async move {
        let change = NoteChange { unix_ns: wall_unix_ns(), user: who.user().to_owned() };
        let changed = state.store().change_note(id, (note, version), content, change).await?;
        state.audit(&who.session, "note.change", &id.to_string(), &format!("note {note} of {owner}")).await;
        Ok::<_, ApiError>(NoteItem::new(changed, start_ns, Some(&who)))
    };
    Ok(Json(to_its_end(changing).await??))
}

/// Removes a note for good.
pub(in crate::http) async fn remove(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(path): Path<NotePath>,
) -> Result<StatusCode, ApiError> {
    let owner = admit(&state, &who, path).await?;
    let NotePath { id, note } = path;
    let removing = async move {
        if !state.store().remove_note(id, note).await? {
            return Err(ApiError::not_found());
        }
        state.audit(&who.session, "note.remove", &id.to_string(), &format!("note {note} of {owner}")).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(removing).await??;
    Ok(StatusCode::NO_CONTENT)
}

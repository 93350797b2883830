//! Notes of people on a capture, for everybody who may see it.
//!
//! A *note* is tied to a moment, a range of time, a row, a track, a frame of a flame graph, a function, or the capture as a whole; an
//! *answer* to a note. Both are Markdown, told as it was written and as a tree (`body`). Whoever may record may write, answer and
//! resolve notes on every capture; a note is changed and removed by who wrote (or imported) it, and by admins.
//!
//! * `GET /api/captures/{id}/notes` (viewer) → `{items:[note], can_write}`, in order of their times, those without one first. A share
//!   of a part shows those on moments and ranges in the part, with their answers.
//! * `POST /api/captures/{id}/notes` (operator) `{on?, start?, end?, track?, view?, text?, colour?}` → 201 and the note. `on` is
//!   `{kind}` of `moment`, `range`, `row` (`stream`, `row`), `track`, `frame` (`node`, `name`), `function` (`name`), `capture` or
//!   `answer` (`to`); without it, it is a range if there is an `end`, else a moment.
//! * `PATCH /api/captures/{id}/notes/{note}` (operator: own ones, admin: all): the same with `version`, the one that was seen → the
//!   note; 409 if somebody has changed it meanwhile, 404 if it is gone or of another.
//! * `DELETE /api/captures/{id}/notes/{note}` (likewise) → 204, or 404. Its answers go with it.
//! * `POST /api/captures/{id}/notes/{note}/resolved` (operator) `{resolved}` → the note.
//! * `GET /api/captures/{id}/notes/{note}/versions` (viewer) → `{items:[version]}`: what it said, when and by whom, the present one
//!   first.
//!
//! Pages hear of each change by `GET /api/live`.

use std::collections::HashSet;

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, NoteId};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{CaptureRecord, NoteChange, NoteRecord, Role};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Operator, Reader, Viewer, Who},
        error::ApiError,
        extract::{self, Path},
        share::{Share, SharedPart},
        state::{AppState, to_its_end},
    },
    captures::{CapturePath, may_change},
};
use crate::investigations::left_note;
use crate::notes::{NoteItem, NotePlace, NoteVersionItem, WrittenNote, new_note};

const WRITING: &str = "writing a note";

/// The notes of a capture.
#[derive(Serialize)]
pub(in crate::http) struct NoteList {
    items: Vec<NoteItem>,
    /// Whether whoever asks may write one.
    can_write: bool,
}

/// As `who` sees it, if they are logged in.
fn item(note: NoteRecord, origin_ns: u64, who: Option<&Who>) -> NoteItem {
    let can_change = who.is_some_and(|who| may_change(who, &note.owner));
    NoteItem::new(note, origin_ns, can_change)
}

/// What of notes a share of a part shows: those on moments and ranges of it, and what was answered to them. What others are tied to
/// may lie outside of it, and so may a track where there is a filter.
fn in_part(part: &SharedPart, items: Vec<NoteItem>) -> Vec<NoteItem> {
    let is_in = |note: &&NoteItem| {
        matches!(note.on, NotePlace::Moment | NotePlace::Range)
            && (note.track.is_none() || part.filter.is_empty())
            && note.start.is_some_and(|start| part.has_note(start, note.end))
    };
    let shown: HashSet<NoteId> = items.iter().filter(is_in).map(|note| note.id).collect();
    let is_shown = |note: &NoteItem| match &note.on {
        NotePlace::Answer { to } => shown.contains(to),
        _ => shown.contains(&note.id),
    };
    // The view in which one was written may tell of more.
    items.into_iter().filter(is_shown).map(|note| NoteItem { view: String::new(), ..note }).collect()
}

/// Lists all notes of a capture.
pub(in crate::http) async fn list(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<NoteList>, ApiError> {
    reader.admit(id)?;
    let who = reader.who();
    if reader.share().is_some_and(|share| !share.choices().has_notes()) {
        return Ok(Json(NoteList { items: Vec::new(), can_write: false }));
    }
    let origin_ns = state.store().capture(id).await?.start_ns;
    let items = state.store().notes(id).await?.into_iter().map(|note| item(note, origin_ns, who)).collect();
    let items = match reader.share().and_then(Share::part) {
        Some(part) => in_part(part, items),
        None => items,
    };
    let items = match reader.removal() {
        Some(removal) => items.into_iter().map(|note| left_note(note, removal)).collect(),
        None => items,
    };
    Ok(Json(NoteList { items, can_write: who.is_some_and(|who| who.role() >= Role::Operator) }))
}

/// As it is kept, on this capture.
fn content(written: WrittenNote, capture: &CaptureRecord) -> Result<bathyscope_capture::NoteContent, ApiError> {
    written.content(capture).map_err(|why| ApiError::invalid(WRITING, why))
}

/// Writes a note on a capture.
pub(in crate::http) async fn write(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(written): extract::Json<WrittenNote>,
) -> Result<(StatusCode, Json<NoteItem>), ApiError> {
    let capture = state.store().capture(id).await?;
    let content = content(written, &capture)?;
    let bits = getrandom::u64().map_err(|error| ApiError::internal("drawing a random id", error))?;
    let note = new_note(bits, content, who.user());
    let writing = async move {
        state.store().add_note(id, note.clone()).await?;
        state.audit(&who.session, "note.write", &id.to_string(), &format!("note {}", note.id)).await;
        Ok::<_, ApiError>(item(note, capture.start_ns, Some(&who)))
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
    let capture = state.store().capture(id).await?;
    let content = content(written, &capture)?;
    let changing = async move {
        let change = NoteChange { unix_ns: wall_unix_ns(), user: who.user().to_owned() };
        let changed = state.store().change_note(id, (note, version), content, change).await?;
        state.audit(&who.session, "note.change", &id.to_string(), &format!("note {note} of {owner}")).await;
        Ok::<_, ApiError>(item(changed, capture.start_ns, Some(&who)))
    };
    Ok(Json(to_its_end(changing).await??))
}

/// Whether a note is to be resolved.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Resolved {
    resolved: bool,
}

/// Resolves a note, or opens it again.
pub(in crate::http) async fn resolve(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(NotePath { id, note }): Path<NotePath>,
    extract::Json(Resolved { resolved }): extract::Json<Resolved>,
) -> Result<Json<NoteItem>, ApiError> {
    let origin_ns = state.store().capture(id).await?.start_ns;
    let resolving = async move {
        let change = resolved.then(|| NoteChange { unix_ns: wall_unix_ns(), user: who.user().to_owned() });
        let found = state.store().resolve_note(id, note, change).await?;
        let action = if resolved { "note.resolve" } else { "note.reopen" };
        state.audit(&who.session, action, &id.to_string(), &format!("note {note}")).await;
        Ok::<_, ApiError>(item(found, origin_ns, Some(&who)))
    };
    Ok(Json(to_its_end(resolving).await??))
}

/// What a note said.
#[derive(Serialize)]
pub(in crate::http) struct NoteVersionList {
    items: Vec<NoteVersionItem>,
}

/// All versions of a note. Not for shares: what was taken out of a note is not shown to others.
pub(in crate::http) async fn versions(
    _: Viewer,
    State(state): State<AppState>,
    Path(NotePath { id, note }): Path<NotePath>,
) -> Result<Json<NoteVersionList>, ApiError> {
    let origin_ns = state.store().capture(id).await?.start_ns;
    let found = state.store().note(id, note).await?.ok_or_else(ApiError::not_found)?;
    Ok(Json(NoteVersionList { items: NoteVersionItem::all(&found, origin_ns) }))
}

/// Removes a note for good, with its answers.
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

//! Investigations: pages that people write on what they look for. Everybody who is logged in reads them; whoever may record writes on all
//! of them, and deletes own ones; admins delete all. Whoever has a share of one reads that one.
//!
//! * `GET /api/investigations?q=&deleted=` (viewer) → `{items:[head], templates:[{name, title}], can_write}`: those that have all words of
//!   `q` in title, owner or state, the one that was changed last first.
//! * `POST /api/investigations` (operator) `{title?, template?}` → 201 and `{id}`.
//! * `GET /api/investigations/{id}` (viewer, or a share) → `{head, conclusion, conclusion_body, blocks:[block], can_write, public_url, share,
//!   no_shares}`. A block's `content` has a `kind`: `text`, `task`, `view`, `comparison`, `note`, `query`, `step`; for a share that removes something also `left_out`, `{what}`. `share` is what is told of
//!   the link to whoever reads by one, `no_shares` why whoever asks may make none.
//! * `PATCH /api/investigations/{id}` (operator) `{version, title?, state?, conclusion?}` → the same; 409 if it was changed meanwhile.
//! * `DELETE /api/investigations/{id}` (operator: own ones, admin: all) → 204; `POST …/restore` (likewise) → 204, for 30 days.
//! * `POST /api/investigations/{id}/blocks` (operator) `{content, before?}` → 201 and `{id}`. A `query` is asked now, and its result stays.
//! * `PATCH /api/investigations/{id}/blocks/{block}` (operator) `{version, content}` → the page; 409 if the block was changed meanwhile.
//! * `POST …/blocks/{block}/move` (operator) `{before?}` → 204; at the end without `before`.
//! * `DELETE …/blocks/{block}` (operator) → 204; `POST …/blocks/{block}/restore` → 204.
//! * `GET …/blocks/{block}/picture` (viewer, or a share): SVG of the view that a block shows, as it is now.
//!
//! Pages hear of each change by `GET /api/live`.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_reader::{CaptureView, Removal, ViewQuery};
use bathyscope_store::{
    BlockRecord, HeadChange, InvestigationId, InvestigationRecord, InvestigationState, Role, Sight,
};
use http::{
    StatusCode, Uri,
    header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{InvestigationReader, Operator, Viewer, Who, sight_of_maker},
        error::ApiError,
        extract::{self, Path, Query},
        share::Share,
        state::{AppState, to_its_end},
    },
    captures::{ReadShare, may_change, no_shares},
};
use crate::{
    investigations::{
        BlockContent, InvestigationHead, InvestigationItem, InvestigationTemplate, PictureOf, QueryResult, ShownAnyway,
        WrittenBlock, change_by, checked_conclusion, checked_title, json_of, left_for_picture, left_page, new_block,
        new_investigation, picture, query_result, templates, told_page,
    },
    previews::preview_picture,
};

/// The investigation in a path.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::http) struct InvestigationPath {
    pub(in crate::http) id: InvestigationId,
}

/// A block in a path.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::http) struct BlockPath {
    pub(super) id: InvestigationId,
    pub(super) block: InvestigationId,
}

/// Which are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct InvestigationQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    deleted: bool,
}

/// The investigations.
#[derive(Serialize)]
pub(in crate::http) struct InvestigationList {
    items: Vec<InvestigationHead>,
    templates: Vec<InvestigationTemplate>,
    /// Whether whoever asks may begin one.
    can_write: bool,
}

/// Lists all investigations.
pub(in crate::http) async fn list(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Query(InvestigationQuery { q, deleted }): Query<InvestigationQuery>,
) -> Result<Json<InvestigationList>, ApiError> {
    let words: Vec<String> = q.split_whitespace().map(str::to_lowercase).collect();
    let has_words = |(record, _): &(InvestigationRecord, u64)| {
        let text = format!("{} {} {}", record.title, record.owner, record.state.as_str()).to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let found = state.store().investigations(deleted).await?.into_iter().filter(has_words);
    let head = |(record, blocks): (InvestigationRecord, u64)| {
        let can_delete = may_change(&who, &record.owner);
        InvestigationHead::new(record, blocks, can_delete)
    };
    let items = found.map(head).collect();
    Ok(Json(InvestigationList { items, templates: templates(), can_write: who.role() >= Role::Operator }))
}

/// A new investigation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewInvestigation {
    #[serde(default)]
    title: String,
    #[serde(default)]
    template: Option<String>,
}

/// What was made.
#[derive(Serialize)]
pub(in crate::http) struct MadeId {
    id: InvestigationId,
}

/// Begins an investigation.
pub(in crate::http) async fn begin(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(NewInvestigation { title, template }): extract::Json<NewInvestigation>,
) -> Result<(StatusCode, Json<MadeId>), ApiError> {
    let (record, blocks) = new_investigation(&title, template.as_deref(), who.user())?;
    let id = record.id;
    let beginning = async move {
        state.store().add_investigation(record, blocks).await?;
        note(&state, &who, "investigation.create", id, "").await;
        Ok::<_, ApiError>(())
    };
    to_its_end(beginning).await??;
    Ok((StatusCode::CREATED, Json(MadeId { id })))
}

async fn note(state: &AppState, who: &Who, action: &str, id: InvestigationId, detail: &str) {
    state.audit(&who.session, action, &id.to_string(), detail).await;
}

/// An investigation with its blocks; one that was deleted is not there.
async fn found(state: &AppState, id: InvestigationId) -> Result<(InvestigationRecord, Vec<BlockRecord>), ApiError> {
    let found = state.store().investigation(id).await?;
    found.filter(|(record, _)| record.deleted_unix_ns.is_none()).ok_or_else(ApiError::not_found)
}

/// An investigation as whoever reads it is told of it.
#[derive(Serialize)]
pub(in crate::http) struct InvestigationAnswer {
    #[serde(flatten)]
    pub(super) page: InvestigationItem,
    /// The address by which others reach the console; none if it was not said, or by a share.
    public_url: Option<String>,
    /// The link by which it is read; none if whoever asks is logged in.
    pub(super) share: Option<ReadShare>,
    /// Why whoever asks may not share it; none if they may.
    pub(super) no_shares: Option<&'static str>,
}

async fn told(state: &AppState, who: &Who, id: InvestigationId) -> Result<Json<InvestigationAnswer>, ApiError> {
    let page = found(state, id).await?;
    let rights = (who.role() >= Role::Operator, may_change(who, &page.0.owner));
    let page = told_page((state.store(), who.sight()), page, rights).await?;
    let public_url = state.hosts().public_url().map(ToString::to_string);
    Ok(Json(InvestigationAnswer { page, public_url, share: None, no_shares: no_shares(state, Some(who)) }))
}

/// Reads an investigation with its blocks.
pub(in crate::http) async fn one(
    reader: InvestigationReader,
    State(state): State<AppState>,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
) -> Result<Json<InvestigationAnswer>, ApiError> {
    reader.admit(id)?;
    if let Some(who) = reader.who() {
        return told(&state, who, id).await;
    }
    let sight = sight_of_page(&state, &reader).await?;
    let page = told_page((state.store(), &sight), found(&state, id).await?, (false, false)).await?;
    let choices = reader.share().map(Share::choices);
    let page = match choices.and_then(|choices| Some((choices, choices.removal()?))) {
        Some((choices, removal)) => {
            let shown = ShownAnyway { notes: choices.has_notes(), results: choices.has_results() };
            left_page(page, removal, shown)
        }
        None => page,
    };
    let share = reader.share().map(ReadShare::from);
    Ok(Json(InvestigationAnswer { page, public_url: None, share, no_shares: no_shares(&state, None) }))
}

/// What becomes of a head.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ChangedHead {
    version: u32,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    state: Option<InvestigationState>,
    #[serde(default)]
    conclusion: Option<String>,
}

/// Changes the title, state or conclusion of an investigation.
pub(in crate::http) async fn change(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
    extract::Json(asked): extract::Json<ChangedHead>,
) -> Result<Json<InvestigationAnswer>, ApiError> {
    let change = HeadChange {
        title: asked.title.map(|title| checked_title(&title)).transpose()?,
        state: asked.state,
        conclusion: asked.conclusion.map(|text| checked_conclusion(&text)).transpose()?,
    };
    let changing = async move {
        let by = change_by(who.user());
        let changed = state.store().change_investigation(id, asked.version, (change, by)).await?;
        note(&state, &who, "investigation.change", id, changed.state.as_str()).await;
        told(&state, &who, id).await
    };
    to_its_end(changing).await?
}

/// Goes on only for somebody who may delete it; to others it is not there.
async fn admit_delete(state: &AppState, who: &Who, id: InvestigationId) -> Result<(), ApiError> {
    let found = state.store().investigation(id).await?.filter(|(record, _)| may_change(who, &record.owner));
    found.map(drop).ok_or_else(ApiError::not_found)
}

async fn set_deleted(state: AppState, who: Who, id: InvestigationId, deleted: bool) -> Result<StatusCode, ApiError> {
    admit_delete(&state, &who, id).await?;
    let deleting = async move {
        let now = change_by(who.user()).unix_ns;
        if !state.store().delete_investigation(id, deleted.then_some(now)).await? {
            return Err(ApiError::not_found());
        }
        let action = if deleted { "investigation.delete" } else { "investigation.restore" };
        note(&state, &who, action, id, "").await;
        Ok(StatusCode::NO_CONTENT)
    };
    to_its_end(deleting).await?
}

/// Deletes an investigation, so that it can be restored.
pub(in crate::http) async fn delete(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
) -> Result<StatusCode, ApiError> {
    set_deleted(state, who, id, true).await
}

/// Restores a deleted investigation.
pub(in crate::http) async fn restore(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
) -> Result<StatusCode, ApiError> {
    set_deleted(state, who, id, false).await
}

/// A new block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewBlock {
    content: WrittenBlock,
    #[serde(default)]
    before: Option<InvestigationId>,
}

/// What a block's query is answered now, if it has one; and that captures and notes that it is about are there.
async fn asked_now(state: &AppState, who: &Who, block: &WrittenBlock) -> Result<Option<QueryResult>, ApiError> {
    match block {
        WrittenBlock::View { capture, .. } | WrittenBlock::Comparison { capture, .. } => {
            state.seen(who).right(*capture).await?;
        }
        WrittenBlock::Note { capture, note } => {
            state.seen(who).right(*capture).await?;
            state.store().note(*capture, *note).await?.ok_or_else(ApiError::not_found)?;
        }
        _ => {}
    }
    let Some((capture, sql)) = block.query() else { return Ok(None) };
    let sql = sql.to_owned();
    state.seen(who).right(capture).await?;
    let capture = super::query::capture(state, capture).await?;
    let run = move |cancel: &_| query_result(&capture, &sql, cancel);
    Ok(Some(state.workers().query(who.user(), run).await?))
}

/// Adds a block to an investigation.
pub(in crate::http) async fn add(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
    extract::Json(NewBlock { content, before }): extract::Json<NewBlock>,
) -> Result<(StatusCode, Json<MadeId>), ApiError> {
    let result = asked_now(&state, &who, &content).await?;
    let block = new_block(&content.content(result)?, who.user())?;
    let made = MadeId { id: block.id };
    let adding = async move {
        let detail = format!("block {}", block.id);
        state.store().add_block(id, block, before).await?;
        note(&state, &who, "investigation.write", id, &detail).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(adding).await??;
    Ok((StatusCode::CREATED, Json(made)))
}

/// What becomes of a block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ChangedBlock {
    version: u32,
    content: WrittenBlock,
}

/// Changes a block of an investigation.
pub(in crate::http) async fn change_block(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(BlockPath { id, block }): Path<BlockPath>,
    extract::Json(ChangedBlock { version, content }): extract::Json<ChangedBlock>,
) -> Result<Json<InvestigationAnswer>, ApiError> {
    let result = asked_now(&state, &who, &content).await?;
    let content = json_of(&content.content(result)?)?;
    let changing = async move {
        let by = change_by(who.user());
        state.store().change_block(id, (block, version), (content, by)).await?;
        note(&state, &who, "investigation.write", id, &format!("block {block}")).await;
        told(&state, &who, id).await
    };
    to_its_end(changing).await?
}

/// Where a block goes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct MovedBlock {
    #[serde(default)]
    before: Option<InvestigationId>,
}

/// Moves a block of an investigation.
pub(in crate::http) async fn move_block(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(BlockPath { id, block }): Path<BlockPath>,
    extract::Json(MovedBlock { before }): extract::Json<MovedBlock>,
) -> Result<StatusCode, ApiError> {
    let moving = async move {
        state.store().move_block(id, (block, before), change_by(who.user())).await?;
        note(&state, &who, "investigation.move", id, &format!("block {block}")).await;
        Ok::<_, ApiError>(StatusCode::NO_CONTENT)
    };
    to_its_end(moving).await?
}

async fn set_block_deleted(
    state: AppState,
    who: Who,
    BlockPath { id, block }: BlockPath,
    deleted: bool,
) -> Result<StatusCode, ApiError> {
    let deleting = async move {
        if !state.store().delete_block(id, (block, deleted), change_by(who.user())).await? {
            return Err(ApiError::not_found());
        }
        let action = if deleted { "investigation.remove" } else { "investigation.write" };
        note(&state, &who, action, id, &format!("block {block}")).await;
        Ok(StatusCode::NO_CONTENT)
    };
    to_its_end(deleting).await?
}

/// Deletes a block, so that it can be restored.
pub(in crate::http) async fn remove_block(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(path): Path<BlockPath>,
) -> Result<StatusCode, ApiError> {
    set_block_deleted(state, who, path, true).await
}

/// Restores a block at its place.
pub(in crate::http) async fn restore_block(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(path): Path<BlockPath>,
) -> Result<StatusCode, ApiError> {
    set_block_deleted(state, who, path, false).await
}

/// What of a view's address a picture shows.
#[derive(Deserialize)]
struct SeenParts {
    #[serde(default)]
    tab: String,
    from: Option<i64>,
    to: Option<i64>,
}

/// The picture of the view that a block shows.
pub(in crate::http) async fn block_picture(
    reader: InvestigationReader,
    State(state): State<AppState>,
    Path(BlockPath { id, block }): Path<BlockPath>,
) -> Result<Response, ApiError> {
    reader.admit(id)?;
    let (_, blocks) = found(&state, id).await?;
    let sight = sight_of_page(&state, &reader).await?;
    let removal = reader.share().and_then(|share| Some((share.id().bits(), Arc::clone(share.choices().removal()?))));
    picture_of((&state, &sight), (&blocks, block), removal).await
}

/// Whose sight of captures a page is told by: that of whoever reads it, and by a link that of whoever made the link, as it is now. Roles of
/// people without an account are not kept, so what not everybody may read is on no page that such a person shared.
async fn sight_of_page(state: &AppState, reader: &InvestigationReader) -> Result<Sight, ApiError> {
    if let Some(who) = reader.who() {
        return Ok(who.sight().clone());
    }
    let Some(share) = reader.share() else { return Err(ApiError::no_share()) };
    sight_of_maker(state, share).await
}

/// The picture of the view that one of these blocks shows, without what the share removes that asks for it.
async fn picture_of(
    (state, sight): (&AppState, &Sight),
    (blocks, block): (&[BlockRecord], InvestigationId),
    removal: Option<(u64, Arc<Removal>)>,
) -> Result<Response, ApiError> {
    let found = blocks.iter().find(|one| one.id == block).ok_or_else(ApiError::not_found)?;
    let content: Option<BlockContent> = serde_json::from_str(&found.content).ok();
    let shown = content.as_ref().and_then(|content| content.capture().zip(content.view()));
    let (capture, view) = shown.ok_or_else(ApiError::not_found)?;
    let of = seen(view).ok_or_else(|| ApiError::invalid("drawing the view", "its address cannot be read"))?;
    state.store().seen_by(sight).right(capture).await?;
    let capture = state.view(capture).await?;
    let draw = move |view: &CaptureView, cancel: &_| match removal {
        Some((share, removal)) => {
            let (left, of) = left_for_picture(view, (of, &removal), share, cancel)?;
            left.checked(picture(&left, &of, cancel))
        }
        None => picture(view, &of, cancel),
    };
    let svg = state.workers().view(capture, draw).await?;
    let head = [(CONTENT_TYPE, "image/svg+xml"), (CONTENT_SECURITY_POLICY, "sandbox")];
    Ok((head, svg).into_response())
}

/// The picture of an investigation for those who are only told that there is one: of the first view on it that can be drawn, how many
/// rows there were over time; none if there is no such view.
pub(super) async fn first_rows(state: &AppState, who: &Who, id: InvestigationId) -> Result<Option<Vec<u8>>, ApiError> {
    let (_, blocks) = found(state, id).await?;
    for block in blocks {
        let content: Option<BlockContent> = serde_json::from_str(&block.content).ok();
        let shown = content.as_ref().and_then(|content| content.capture().zip(content.view()));
        let Some((capture, of)) = shown.and_then(|(capture, view)| Some((capture, seen(view)?))) else { continue };
        // Of what is gone or not seen, or of what the view does not fit, there is no picture.
        if state.seen(who).right(capture).await.is_err() {
            continue;
        }
        let Ok(view) = state.view(capture).await else { continue };
        let draw = move |view: &CaptureView, cancel: &_| preview_picture(view, &of.query, cancel);
        if let Ok(picture) = state.workers().view(view, draw).await {
            return Ok(Some(picture));
        }
    }
    Ok(None)
}

/// What is drawn of the query of a page's address; none if it is none.
fn seen(view: &str) -> Option<PictureOf> {
    let uri: Uri = format!("/?{view}").parse().ok()?;
    let axum::extract::Query(query) = axum::extract::Query::<ViewQuery>::try_from_uri(&uri).ok()?;
    let axum::extract::Query(parts) = axum::extract::Query::<SeenParts>::try_from_uri(&uri).ok()?;
    Some(PictureOf { query, is_flame: parts.tab == "flame", window: parts.from.zip(parts.to) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_address_of_a_view_says_what_is_drawn() {
        let flame = seen("v=3&tab=flame&start=5&end=9&filter=cpu+%3D%3D+1&by=thread&invert=1").unwrap();
        assert!(flame.is_flame);
        assert_eq!((flame.query.start, flame.query.end, flame.query.filter.as_str()), (Some(5), Some(9), "cpu == 1"));
        let timeline = seen("v=3&tab=timeline&from=1&to=7").unwrap();
        assert_eq!((timeline.is_flame, timeline.window), (false, Some((1, 7))));
        assert!(seen("v=3&start=soon").is_none());
    }
}

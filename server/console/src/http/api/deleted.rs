//! Deleted captures, which can be restored for a day.
//!
//! A *deleted capture* is `{id, title, owner, started_unix_ns, bytes, deleted_unix_ns, deleted_by, restorable_until_unix_ns}`.
//!
//! * `GET /api/deleted` (operator: own ones, admin: all) → `{items:[deleted]}`, the one that was deleted last first.
//! * `POST /api/deleted/{id}/restore` (likewise) → 204, or 404: the capture is as it was.
//! * `DELETE /api/deleted/{id}` (likewise) → 204, or 404: it is gone for good.

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, shown};
use bathyscope_store::DeletedCapture;
use http::StatusCode;
use serde::Serialize;

use super::{
    super::{
        access::{Operator, Who},
        error::ApiError,
        extract::Path,
        state::{AppState, to_its_end},
    },
    captures::{CapturePath, may_change},
};
use crate::retention::restorable_until;

/// Captures that can be restored.
#[derive(Serialize)]
pub(in crate::http) struct DeletedList {
    items: Vec<DeletedItem>,
}

/// One of them.
#[derive(Serialize)]
pub(in crate::http) struct DeletedItem {
    /// Which.
    id: CaptureId,
    /// What it is called.
    title: String,
    /// Whose it is.
    owner: String,
    /// When it began, nanoseconds since 1970 by the wall clock.
    started_unix_ns: i64,
    /// Bytes that it takes.
    bytes: u64,
    /// When it was deleted, likewise.
    deleted_unix_ns: i64,
    /// Who deleted it.
    deleted_by: String,
    /// When it goes for good, likewise.
    restorable_until_unix_ns: i64,
}

impl DeletedItem {
    fn new(one: &DeletedCapture) -> Self {
        Self {
            id: one.id,
            title: shown(&one.title),
            owner: shown(&one.owner),
            started_unix_ns: one.started_unix_ns,
            bytes: one.size_bytes,
            deleted_unix_ns: one.deleted_unix_ns,
            deleted_by: shown(&one.deleted_by),
            restorable_until_unix_ns: restorable_until(one.deleted_unix_ns),
        }
    }
}

/// Those that `who` may restore.
async fn of(state: &AppState, who: &Who) -> Result<Vec<DeletedCapture>, ApiError> {
    let all = state.store().deleted().await?.into_iter();
    Ok(all.filter(|one| may_change(who, &one.owner)).collect())
}

/// Goes on only for somebody who may restore this one; to others it is not there.
async fn admit(state: &AppState, who: &Who, id: CaptureId) -> Result<(), ApiError> {
    let is_there = of(state, who).await?.iter().any(|one| one.id == id);
    if is_there { Ok(()) } else { Err(ApiError::not_found()) }
}

/// Lists deleted captures that can be restored.
pub(in crate::http) async fn list(
    Operator(who): Operator,
    State(state): State<AppState>,
) -> Result<Json<DeletedList>, ApiError> {
    let items = of(&state, &who).await?.iter().rev().map(DeletedItem::new).collect();
    Ok(Json(DeletedList { items }))
}

/// Restores a deleted capture.
pub(in crate::http) async fn restore(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<StatusCode, ApiError> {
    admit(&state, &who, id).await?;
    let restoring = async move {
        if !state.store().restore(id).await? {
            return Err(ApiError::not_found());
        }
        state.audit(&who.session, "capture.restore", &id.to_string(), "").await;
        Ok(())
    };
    to_its_end(restoring).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a deleted capture for good.
pub(in crate::http) async fn discard(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<StatusCode, ApiError> {
    admit(&state, &who, id).await?;
    let discarding = async move {
        if !state.store().discard(id).await? {
            return Err(ApiError::not_found());
        }
        state.audit(&who.session, "capture.delete", &id.to_string(), "for good").await;
        Ok(())
    };
    to_its_end(discarding).await??;
    Ok(StatusCode::NO_CONTENT)
}

//! `GET /api/compare?a=ID&b=ID` (viewer) → two captures beside each other: what was asked for, hosts, losses, numbers of their rows,
//! and what changed most. It is not below a share, which is of one capture.

use axum::{Json, extract::State};
use bathyscope_capture::CaptureId;
use bathyscope_reader::{CaptureView, ComparedCaptures, compared_captures};
use serde::Deserialize;

use super::{
    super::{access::Viewer, error::ApiError, extract::Query, state::AppState},
    stacks::name_functions,
};

/// Which two.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::http) struct CompareQuery {
    /// What it was before.
    a: CaptureId,
    /// What it is now.
    b: CaptureId,
}

/// Compares two captures.
pub(in crate::http) async fn captures(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Query(CompareQuery { a, b }): Query<CompareQuery>,
) -> Result<Json<ComparedCaptures>, ApiError> {
    if a == b {
        let why = "both are the same capture; choose another one to compare it with";
        return Err(ApiError::invalid("comparing captures", why));
    }
    for id in [a, b] {
        state.seen(&who).right(id).await?;
        name_functions(&state, id).await?;
    }
    let (first, second) = (state.view(a).await?, state.view(b).await?);
    let make = move |second: &CaptureView, cancel: &_| compared_captures(&first, second, cancel);
    Ok(Json(state.workers().view(second, make).await?))
}

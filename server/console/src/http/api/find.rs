//! Looking for rows in all of a capture.
//!
//! * `GET /api/captures/{id}/find?find=…&columns=…` (viewer) → how many rows there are by stream, and in which columns of the range
//!   and on which tracks. It looks at a bounded number of rows; `next`, given as `skip`, goes on.
//! * `GET /api/captures/{id}/find/step?find=…&from=…` → the next row after a moment, or with `stream` and `row` after that row;
//!   with `back=1` the one before.

use axum::{Json, extract::State};
use bathyscope_reader::{CaptureView, FindParams};
use bathyscope_views::{FoundRows, FoundStep, find, find_step};

use super::{
    super::{
        access::Viewer,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
};

/// Counts and marks what is looked for.
pub(in crate::http) async fn search(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<FindParams>,
) -> Result<Json<FoundRows>, ApiError> {
    let view = state.view(id).await?;
    let make = move |view: &CaptureView, cancel: &_| find(view, &query.search(view)?, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// Goes to the next row, or the one before.
pub(in crate::http) async fn step(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<FindParams>,
) -> Result<Json<FoundStep>, ApiError> {
    let view = state.view(id).await?;
    let make = move |view: &CaptureView, cancel: &_| find_step(view, &query.step(view)?, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

//! The critical path of a thread.

use axum::{Json, extract::State};
use bathyscope_reader::{CaptureView, PathQuery};
use bathyscope_views::{CriticalPath, critical_path};

use super::{
    super::{
        access::Viewer,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
};

/// What the time of a thread went into, through whoever it waited for.
pub(in crate::http) async fn path(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<PathQuery>,
) -> Result<Json<CriticalPath>, ApiError> {
    let view = state.view(id).await?;
    let make = move |view: &CaptureView, cancel: &_| critical_path(view, &query.path(view)?, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

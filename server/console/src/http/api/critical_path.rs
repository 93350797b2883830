//! The critical path of a thread.

use axum::{Json, extract::State};
use bathyscope_reader::PathQuery;
use bathyscope_views::{CriticalPath, critical_path};

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    read_view,
};

/// What the time of a thread went into, through whoever it waited for.
pub(in crate::http) async fn path(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<PathQuery>,
) -> Result<Json<CriticalPath>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| critical_path(view, &query.path(view)?, cancel)).await
}

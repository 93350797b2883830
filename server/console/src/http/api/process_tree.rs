//! The processes of a capture as a tree.

use axum::{Json, extract::State};
use bathyscope_reader::{CaptureView, ViewQuery};
use bathyscope_views::{ProcessTree, process_tree};

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

/// Reads the tree of processes of a capture.
pub(in crate::http) async fn tree(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<ProcessTree>, ApiError> {
    // What started what is told of the whole time, whoever ran in it.
    reader.admit_whole(path.id, "the tree of processes")?;
    let changes = state.store().processes(path.id).await?;
    let make = move |view: &CaptureView, cancel: &_| process_tree(view, &changes, query.rows(view)?.range, cancel);
    read_view(&reader, &state, path, make).await
}

//! System calls of a capture by call, process and thread, with the files that they were about.

use axum::{Json, extract::State};
use bathyscope_reader::{CaptureView, SyscallParams, ViewQuery};
use bathyscope_views::{SyscallTable, syscall_table};

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

/// Reads the table of system calls of a capture.
pub(in crate::http) async fn table(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
    Query(params): Query<SyscallParams>,
) -> Result<Json<SyscallTable>, ApiError> {
    let make = move |view: &CaptureView, cancel: &_| syscall_table(view, &params.query(&query, view)?, cancel);
    read_view(&reader, &state, path, make).await
}

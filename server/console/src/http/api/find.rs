//! Looking for rows in all of a capture.
//!
//! * `GET /api/captures/{id}/find?find=…&columns=…` (viewer) → how many rows there are by stream, in which columns of the range, on
//!   which tracks over their length, and on which CPUs. `reach` is how long rows may be that lie in the range although their time
//!   does not, `long` from which length on rows are told with their times. It looks at a bounded number of rows; `next`, given as
//!   `skip`, goes on.
//! * `GET /api/captures/{id}/find/step?find=…&from=…` → the next row after a moment, or with `stream` and `row` after that row;
//!   with `back=1` the one before.

use axum::{Json, extract::State};
use bathyscope_reader::FindParams;
use bathyscope_views::{FoundRows, FoundStep, find, find_step};

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

/// Counts and marks the rows of a capture that have what is looked for.
pub(in crate::http) async fn search(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<FindParams>,
) -> Result<Json<FoundRows>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| find(view, &query.search(view)?, cancel)).await
}

/// Finds the next row of a capture that has what is looked for, or the one before.
pub(in crate::http) async fn step(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<FindParams>,
) -> Result<Json<FoundStep>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| find_step(view, &query.step(view)?, cancel)).await
}

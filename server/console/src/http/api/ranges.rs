//! What can be read from a range of a capture.

use axum::{Json, extract::State};
use bathyscope_reader::TracksQuery;
use bathyscope_views::{
    Cancel, RangeAmounts, RangeCounters, RangeQuery, RangeSlices, RangeThreads, RangeWaits, RangeWakeups, Source,
    ViewError, range_amounts, range_counters, range_slices, range_threads, range_waits, range_wakeups,
};

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

type Read<T> = fn(&dyn Source, &RangeQuery, &Cancel) -> Result<T, ViewError>;

async fn answer<T: Send + 'static>(
    (reader, state): (Reader, AppState),
    path: CapturePath,
    query: TracksQuery,
    read: Read<T>,
) -> Result<Json<T>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| read(view, &query.range(view)?, cancel)).await
}

/// Sums how long threads were in which state in a range.
pub(in crate::http) async fn threads(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<RangeThreads>, ApiError> {
    answer((reader, state), path, query, range_threads).await
}

/// Sums how long slices of a range took, by name.
pub(in crate::http) async fn slices(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<RangeSlices>, ApiError> {
    answer((reader, state), path, query, range_slices).await
}

/// Sums how long threads waited for a CPU in a range.
pub(in crate::http) async fn waits(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<RangeWaits>, ApiError> {
    answer((reader, state), path, query, range_waits).await
}

/// Reads what counters were in a range.
pub(in crate::http) async fn counters(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<RangeCounters>, ApiError> {
    answer((reader, state), path, query, range_counters).await
}

/// Counts which thread woke which in a range.
pub(in crate::http) async fn wakeups(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<RangeWakeups>, ApiError> {
    answer((reader, state), path, query, range_wakeups).await
}

/// Sums how many bytes rows of a range moved.
pub(in crate::http) async fn amounts(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<RangeAmounts>, ApiError> {
    answer((reader, state), path, query, range_amounts).await
}

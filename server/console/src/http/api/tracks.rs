//! Tracks of a capture: which there are, windows of them, what is at a moment, and sums over a range.

use axum::{Json, extract::State, response::Response};
use bathyscope_reader::{CaptureView, TracksQuery};
use bathyscope_views::{
    TrackList, TrackMoment, TrackTotals, TrackWindow, track_list, track_moment, track_totals, track_window,
};

use super::{
    super::{
        access::Viewer,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    read_binary_view, read_view,
};

/// All tracks.
pub(in crate::http) async fn list(
    _: Viewer,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
) -> Result<Json<TrackList>, ApiError> {
    read_view(&state, path, |view, _cancel| Ok(track_list(view))).await
}

/// What is on some tracks, in its binary form.
pub(in crate::http) async fn window(
    _: Viewer,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Response, ApiError> {
    let make = move |view: &CaptureView, cancel: &_| track_window(view, &query.window(view)?, cancel);
    read_binary_view(&state, path, make, TrackWindow::encode, "writing a window of tracks").await
}

/// The rows of a track at a moment.
pub(in crate::http) async fn moment(
    _: Viewer,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<TrackMoment>, ApiError> {
    read_view(&state, path, move |view, cancel| track_moment(view, &query.moment(view)?, cancel)).await
}

/// How long rows of each name took on some tracks.
pub(in crate::http) async fn totals(
    _: Viewer,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<TrackTotals>, ApiError> {
    read_view(&state, path, move |view, cancel| track_totals(view, &query.window(view)?, cancel)).await
}

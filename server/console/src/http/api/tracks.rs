//! Tracks of a capture: which there are, windows of them, and what is at a moment.

use axum::{Json, extract::State, response::Response};
use bathyscope_reader::{CaptureView, InstantQuery, TracksQuery};
use bathyscope_views::{TrackList, TrackMoment, TrackWindow, tick_moment, track_list, track_moment, track_window};

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    read_binary_view, read_view,
};

/// Lists all tracks of the timeline of a capture.
pub(in crate::http) async fn list(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
) -> Result<Json<TrackList>, ApiError> {
    read_view(&reader, &state, path, |view, cancel| track_list(view, cancel)).await
}

/// Reads what is on some tracks of the timeline, in its binary form.
pub(in crate::http) async fn window(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Response, ApiError> {
    let make = move |view: &CaptureView, cancel: &_| track_window(view, &query.window(view)?, cancel);
    read_binary_view(&reader, &state, path, make, TrackWindow::encode, "writing a window of tracks").await
}

/// The rows of a track at a moment.
pub(in crate::http) async fn moment(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<TrackMoment>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| track_moment(view, &query.moment(view)?, cancel)).await
}

/// A sample or an instant at a moment.
pub(in crate::http) async fn instant(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<InstantQuery>,
) -> Result<Json<TrackMoment>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| tick_moment(view, &query.tick(view)?, cancel)).await
}

//! Tracks of a capture: which there are, windows of them, what is at a moment, and sums over a range.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_reader::{CaptureView, TracksQuery};
use bathyscope_views::{
    TrackList, TrackMoment, TrackTotals, TrackWindow, track_list, track_moment, track_totals, track_window,
};
use http::header::CONTENT_TYPE;

use super::{
    super::{
        access::Viewer,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
};

/// All tracks.
pub(in crate::http) async fn list(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<TrackList>, ApiError> {
    let view = state.view(id).await?;
    Ok(Json(state.workers().view(view, |view: &CaptureView, _cancel: &_| Ok(track_list(view))).await?))
}

/// What is on some tracks, in its binary form.
pub(in crate::http) async fn window(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Response, ApiError> {
    let view = state.view(id).await?;
    let make = move |view: &CaptureView, cancel: &_| Ok(encode(&track_window(view, &query.window(view)?, cancel)?));
    let bytes = state.workers().view(view, make).await?;
    let bytes = bytes.map_err(|error| ApiError::internal("writing a window of tracks", error))?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

fn encode(window: &TrackWindow) -> Result<Vec<u8>, serde_json::Error> {
    let head = serde_json::to_vec(window)?;
    Ok(window.encode(&head))
}

/// The rows of a track at a moment.
pub(in crate::http) async fn moment(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<TrackMoment>, ApiError> {
    let view = state.view(id).await?;
    let make = move |view: &CaptureView, cancel: &_| track_moment(view, &query.moment(view)?, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// How long rows of each name took on some tracks.
pub(in crate::http) async fn totals(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<TracksQuery>,
) -> Result<Json<TrackTotals>, ApiError> {
    let view = state.view(id).await?;
    let make = move |view: &CaptureView, cancel: &_| track_totals(view, &query.window(view)?, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

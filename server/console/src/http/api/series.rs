//! Series: captures of the same as one line with its key numbers over time, their baseline, and marked moments.
//!
//! * `GET /api/series` (viewer) → series with more than one run.
//! * `GET /api/series/{series}` → its runs with their key numbers, and marks of that time.
//! * `PATCH /api/series/{series}` (operator) with `{"baseline": ID or null}` → names the run that later ones are compared with.
//! * `GET /api/marks`, `POST /api/marks` and `DELETE /api/marks/{id}` → moments that people or scripts mark, such as deployments.

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, SeriesId, shown};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{MarkRecord, Role, StoreError};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Operator, Viewer, Who},
    error::ApiError,
    extract::{self, Path},
    state::{AppState, to_its_end},
};
use crate::series::{AskedMark, MarkItem, SeriesItem, SeriesPage, checked_mark, recipe_keys, series_page};

/// The series in a path.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::http) struct SeriesPath {
    pub(in crate::http) series: SeriesId,
}

/// The mark in a path.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::http) struct MarkPath {
    mark: i64,
}

#[derive(Serialize)]
pub(in crate::http) struct SeriesList {
    items: Vec<SeriesItem>,
}

#[derive(Serialize)]
pub(in crate::http) struct MarkList {
    items: Vec<MarkItem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct BaselineChange {
    baseline: Option<CaptureId>,
}

/// Lists series with more than one run.
pub(in crate::http) async fn list(
    Viewer(who): Viewer,
    State(state): State<AppState>,
) -> Result<Json<SeriesList>, ApiError> {
    let items = state.seen(&who).series().await?.into_iter().map(SeriesItem::from).collect();
    Ok(Json(SeriesList { items }))
}

/// Reads a series with its runs and their key numbers.
pub(in crate::http) async fn one(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Path(SeriesPath { series }): Path<SeriesPath>,
) -> Result<Json<SeriesPage>, ApiError> {
    Ok(Json(page(&state, series, &who).await?))
}

/// The page of a series.
///
/// # Errors
/// If it has no run that is shown.
async fn page(state: &AppState, series: SeriesId, who: &Who) -> Result<SeriesPage, ApiError> {
    let runs = state.seen(who).series_runs(series).await?;
    let (Some(last), Some(first)) = (runs.first(), runs.last()) else { return Err(ApiError::not_found()) };
    let wished = match state.store().capture(last.id).await {
        Ok(record) => recipe_keys(&record.spec),
        // It was deleted meanwhile, or cannot be read: its numbers are told all the same.
        Err(StoreError::Closed) => return Err(StoreError::Closed.into()),
        Err(_) => &[],
    };
    let marks = state.store().marks(first.started_unix_ns, i64::MAX).await?;
    Ok(series_page(series, runs, (wished, marks, who.role() >= Role::Operator)))
}

/// Names the baseline of a series, or takes it back.
pub(in crate::http) async fn set_baseline(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(SeriesPath { series }): Path<SeriesPath>,
    extract::Json(BaselineChange { baseline }): extract::Json<BaselineChange>,
) -> Result<Json<SeriesPage>, ApiError> {
    // What is not there is not there, whatever shall be done with it.
    page(&state, series, &who).await?;
    if let Some(id) = baseline {
        state.seen(&who).right(id).await?;
    }
    let changing = async move {
        state.store().set_baseline(series, baseline).await?;
        let detail = baseline.map_or_else(|| "none".to_owned(), |id| id.to_string());
        state.audit(&who.session, "series.baseline", &series.to_string(), &detail).await;
        page(&state, series, &who).await
    };
    Ok(Json(to_its_end(changing).await??))
}

/// Lists all marks, in order of time.
pub(in crate::http) async fn marks(_: Viewer, State(state): State<AppState>) -> Result<Json<MarkList>, ApiError> {
    let items = state.store().marks(0, i64::MAX).await?.into_iter().map(MarkItem::from).collect();
    Ok(Json(MarkList { items }))
}

/// Marks a moment, such as a deployment.
pub(in crate::http) async fn mark(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(asked): extract::Json<AskedMark>,
) -> Result<Json<MarkItem>, ApiError> {
    let new = checked_mark(asked, who.user(), wall_unix_ns());
    let new = new.map_err(|error| ApiError::invalid("marking a moment", error.to_string()))?;
    let marking = async move {
        let id = state.store().add_mark(new.clone()).await?;
        state.audit(&who.session, "mark.add", &id.to_string(), &shown(&new.text)).await;
        Ok::<_, ApiError>(MarkItem::from(MarkRecord { id, mark: new }))
    };
    Ok(Json(to_its_end(marking).await??))
}

/// Removes a mark: one's own, or as an admin any.
pub(in crate::http) async fn unmark(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(MarkPath { mark }): Path<MarkPath>,
) -> Result<StatusCode, ApiError> {
    let found = state.store().mark(mark).await?.filter(|found| may_remove(&who, &found.mark.author));
    found.ok_or_else(ApiError::not_found)?;
    let removing = async move {
        state.store().remove_mark(mark).await?;
        state.audit(&who.session, "mark.remove", &mark.to_string(), "").await;
        Ok::<_, ApiError>(())
    };
    to_its_end(removing).await??;
    Ok(StatusCode::NO_CONTENT)
}

fn may_remove(who: &Who, author: &str) -> bool {
    who.role() >= Role::Admin || who.user() == author
}

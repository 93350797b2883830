//! A function between its callers and what it calls, stacks in the order of time, and flame graphs compared.

use axum::{Json, extract::State};
use bathyscope_capture::CaptureId;
use bathyscope_reader::{CaptureView, CompareParams, ViewQuery};
use bathyscope_store::CaptureState;
use bathyscope_views::{FlameDifference, Sandwich, StackChart, sandwich, stack_chart};
use serde::Deserialize;

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
};

/// Which function.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::http) struct SandwichFunction {
    /// Its name, as the list of functions has it.
    function: String,
}

/// What calls a function and what it calls, of the samples that a query of flame graphs asks for.
pub(in crate::http) async fn between(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
    Query(SandwichFunction { function }): Query<SandwichFunction>,
) -> Result<Json<Sandwich>, ApiError> {
    let view = named_view(&reader, &state, id).await?;
    let make = move |view: &CaptureView, cancel: &_| sandwich(view, &query.flame(view)?, &function, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// Stacks in the order of time, of the samples that a query of flame graphs asks for.
pub(in crate::http) async fn chart(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<StackChart>, ApiError> {
    let view = named_view(&reader, &state, id).await?;
    let make =
        move |view: &CaptureView, cancel: &_| stack_chart(view, &query.flame(view)?, query.stack_chart(), cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// A flame graph beside what another range, filter or capture has in its nodes.
pub(in crate::http) async fn difference(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
    Query(params): Query<CompareParams>,
) -> Result<Json<FlameDifference>, ApiError> {
    let others = others(&reader, &state, &params).await?;
    let view = named_view(&reader, &state, id).await?;
    let make = move |view: &CaptureView, cancel: &_| params.answer(&query, view, &others, cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// The captures that a view is compared with, which whoever asks may read too.
pub(super) async fn others(
    reader: &Reader,
    state: &AppState,
    params: &CompareParams,
) -> Result<Vec<CaptureView>, ApiError> {
    let mut others = Vec::new();
    for other in params.captures()? {
        reader.admit_other(state, other).await?;
        others.push(named_view(reader, state, other).await?);
    }
    Ok(others)
}

/// The view of a capture; while it records, its functions get their names first.
pub(super) async fn named_view(reader: &Reader, state: &AppState, id: CaptureId) -> Result<CaptureView, ApiError> {
    name_functions(state, id).await?;
    reader.view(state, id).await
}

/// Gives the functions of a capture that records their names.
pub(super) async fn name_functions(state: &AppState, id: CaptureId) -> Result<(), ApiError> {
    if state.store().capture(id).await?.state == CaptureState::Recording {
        state.recorder().name_functions(id).await;
    }
    Ok(())
}

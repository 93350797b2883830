//! Tables and heat maps of a capture beside another one, or beside another range or filter of itself, as flame graphs are.
//!
//! * `GET /api/captures/{id}/syscalls/compare`, `/pivot/compare`, `/calls/compare`, `/maps/{n}/compare` (viewer) → a table of both
//!   sides, line by line, with what each difference is worth. They take what their view takes, and beside it `with`, `with_start`,
//!   `with_end`, `with_filter`, `normalised`, `lines_by` and `lines`; of calls also `way`.
//! * `GET /api/captures/{id}/distribution/heat/compare` (viewer) → two heat maps with the same rows and columns of the same length.
//!
//! Who asks must be able to read both captures; below a share a capture is compared with itself alone.

use axum::{Json, extract::State};
use bathyscope_capture::CaptureId;
use bathyscope_reader::{
    AgainstParams, CallsQuery, CaptureView, CompareParams, DistributionParams, PivotParams, SyscallParams, ViewQuery,
};
use bathyscope_views::{AgainstTable, HeatPair, matching_stream, no_matching_stream};
use serde::Deserialize;

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    maps::{MapPath, script_of},
    stacks::others,
};

/// The capture that a route names, and the others.
async fn sides(
    reader: &Reader,
    state: &AppState,
    (id, params): (CaptureId, &CompareParams),
) -> Result<(CaptureView, Vec<CaptureView>), ApiError> {
    let others = others(reader, state, params).await?;
    Ok((reader.view(state, id).await?, others))
}

/// System calls of two sides.
pub(in crate::http) async fn syscalls(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
    Query(calls): Query<SyscallParams>,
    Query(params): Query<CompareParams>,
    Query(against): Query<AgainstParams>,
) -> Result<Json<AgainstTable>, ApiError> {
    let (view, others) = sides(&reader, &state, (id, &params)).await?;
    let make =
        move |view: &CaptureView, cancel: &_| against.syscalls((&params, &query, &calls), (view, &others), cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// Groups of rows of two sides.
pub(in crate::http) async fn groups(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<PivotParams>,
    Query(params): Query<CompareParams>,
    Query(against): Query<AgainstParams>,
) -> Result<Json<AgainstTable>, ApiError> {
    let (view, others) = sides(&reader, &state, (id, &params)).await?;
    let make = move |view: &CaptureView, cancel: &_| against.groups((&params, &query), (view, &others), cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// Calls of functions of two sides: by function, or by the way of functions that leads to them.
pub(in crate::http) async fn calls(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<CallsQuery>,
    Query(params): Query<CompareParams>,
    Query(against): Query<AgainstParams>,
) -> Result<Json<AgainstTable>, ApiError> {
    let (view, others) = sides(&reader, &state, (id, &params)).await?;
    let make = move |view: &CaptureView, cancel: &_| against.calls((&params, &query), (view, &others), cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// Which part of a map's history.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::http) struct MapSpan {
    start: Option<i64>,
    end: Option<i64>,
}

/// A map of two sides by key.
pub(in crate::http) async fn map(
    reader: Reader,
    State(state): State<AppState>,
    Path(MapPath { id, n }): Path<MapPath>,
    Query(MapSpan { start, end }): Query<MapSpan>,
    Query(params): Query<CompareParams>,
    Query(against): Query<AgainstParams>,
) -> Result<Json<AgainstTable>, ApiError> {
    let (view, others) = sides(&reader, &state, (id, &params)).await?;
    let script = script_of(&state, &view).await?;
    let shape = script.shape(&view, n).ok_or_else(ApiError::not_found)?;
    let there = params.other(&view, &others)?;
    let stream = matching_stream(&view, n, there)?;
    let of_there = match script_of(&state, there).await {
        Ok(script) => script.shape(there, stream),
        Err(_no_script) => None,
    };
    // A stream of this name that is no map of a script.
    let of_there = of_there.ok_or_else(|| no_matching_stream(&view, n))?;
    let make = move |view: &CaptureView, cancel: &_| {
        against.map((&params, start, end), (view, &shape), (&others, &of_there), cancel)
    };
    Ok(Json(state.workers().view(view, make).await?))
}

/// Compares heat maps of two sides.
pub(in crate::http) async fn heat(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<DistributionParams>,
    Query(params): Query<CompareParams>,
) -> Result<Json<HeatPair>, ApiError> {
    let (view, others) = sides(&reader, &state, (id, &params)).await?;
    let make = move |view: &CaptureView, cancel: &_| params.heat(&query, (view, &others), cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

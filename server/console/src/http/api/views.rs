//! Rows, rates, timelines, flame graphs and stacks of a capture.

use axum::{Json, extract::State, response::Response};
use bathyscope_capture::{CaptureId, FrameId, RowKind, StackId, StreamKind, visible};
use bathyscope_reader::{CaptureView, FacetsParams, PivotParams, ViewQuery};
use bathyscope_store::StreamRecord;
use bathyscope_views::{
    CountView, Dictionaries, Facets, FlameGraph, FunctionOrder, NodeKind, Pivot, Rate, RowTimes, RowsPage,
    SampledFunctions, Source as _, Timeline, ViewError, Weight, call_flame, calls_stream, frame_names,
    sampled_functions,
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    read_binary_view, read_view,
    stacks::named_view,
};

/// At how many places of a table its times are told if nothing is said.
const DEFAULT_MARKS: u32 = 200;

/// Reads a page of rows of a capture.
pub(in crate::http) async fn rows(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<RowsPage>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| bathyscope_views::page(view, &query.rows(view)?, cancel)).await
}

/// When rows at some places of the table are.
pub(in crate::http) async fn row_times(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<RowTimes>, ApiError> {
    let marks = query.marks.unwrap_or(DEFAULT_MARKS);
    read_view(&reader, &state, path, move |view, cancel| {
        bathyscope_views::row_times(view, &query.rows(view)?, marks, cancel)
    })
    .await
}

/// The most frequent values of columns, of the rows that the table shows.
pub(in crate::http) async fn facets(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<FacetsParams>,
) -> Result<Json<Facets>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| bathyscope_views::facets(view, &query.query(view)?, cancel))
        .await
}

/// Rows in groups by the values of columns.
pub(in crate::http) async fn pivot(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<PivotParams>,
) -> Result<Json<Pivot>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| bathyscope_views::pivot(view, &query.query(view)?, cancel))
        .await
}

/// Rows in bins of time, and where events were lost.
pub(in crate::http) async fn rate(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<Rate>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| bathyscope_views::rate(view, &query.rate(view)?, cancel)).await
}

/// Sums of a capture of counts, and how they went over time.
pub(in crate::http) async fn counts(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<CountView>, ApiError> {
    let view = reader.view(&state, id).await?;
    let counts = |stream: &StreamRecord| matches!(stream.schema.meaning().kind, RowKind::Counter { .. });
    let stream = view.record().streams.iter().position(counts).ok_or_else(ApiError::not_found)?;
    let stream = u16::try_from(stream).unwrap_or(u16::MAX);
    let make =
        move |view: &CaptureView, cancel: &_| bathyscope_views::count_view(view, stream, query.counts(view), cancel);
    Ok(Json(state.workers().view(view, make).await?))
}

/// A window of the timeline, in its binary form.
pub(in crate::http) async fn timeline(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Response, ApiError> {
    let make = move |view: &CaptureView, cancel: &_| bathyscope_views::timeline(view, &query.timeline(view)?, cancel);
    read_binary_view(&reader, &state, path, make, Timeline::encode, "writing the timeline").await
}

/// Reads a flame graph of a capture.
pub(in crate::http) async fn flame(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<FlameGraph>, ApiError> {
    let view = named_view(&reader, &state, id).await?;
    let make = move |view: &CaptureView, cancel: &_| -> Result<FlameGraph, ViewError> {
        let query = query.flame(view)?;
        let has_samples = view.streams().iter().any(|stream| stream.kind == StreamKind::Samples);
        if query.weight == Weight::default() && !has_samples && calls_stream(view).is_some() {
            return call_flame(view, &*view.calls(query.range, cancel)?, &query, cancel);
        }
        bathyscope_views::flame(view, &query, cancel)
    };
    Ok(Json(state.workers().view(view, make).await?))
}

/// The most functions of an answer.
const FUNCTIONS: usize = 1000;

/// The functions of a capture's samples, those with the most samples first: their own, or with `sort=total` also of what
/// they called.
pub(in crate::http) async fn functions(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<SampledFunctions>, ApiError> {
    let view = named_view(&reader, &state, id).await?;
    let order = if query.sort.as_deref() == Some("total") { FunctionOrder::Total } else { FunctionOrder::Own };
    let make = move |view: &CaptureView, cancel: &_| -> Result<SampledFunctions, ViewError> {
        sampled_functions(view, &query.flame(view)?, order, FUNCTIONS, cancel)
    };
    Ok(Json(state.workers().view(view, make).await?))
}

/// The stack in a path.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::http) struct StackPath {
    id: CaptureId,
    stack: StackId,
}

#[derive(Serialize)]
pub(in crate::http) struct Stack {
    frames: Vec<StackFrame>,
}

#[derive(Serialize)]
struct StackFrame {
    name: String,
    kind: NodeKind,
    /// What the code was mapped from, as the process saw it; empty where that is not known.
    module: String,
}

/// The frames of one stack, innermost first, inlined functions too.
pub(in crate::http) async fn stack(
    reader: Reader,
    State(state): State<AppState>,
    Path(StackPath { id, stack }): Path<StackPath>,
) -> Result<Json<Stack>, ApiError> {
    let view = named_view(&reader, &state, id).await?;
    let make = move |view: &CaptureView, cancel: &_| {
        // Stacks have numbers that anybody can count.
        if !view.has_stack(stack, cancel)? {
            return Ok(None);
        }
        let described =
            |frames: &[FrameId]| frames.iter().flat_map(|frame| described(view.dictionaries(), *frame)).collect();
        Ok(view.dictionaries().stack(stack).map(described))
    };
    let frames = state.workers().view(view, make).await?.ok_or_else(ApiError::not_found)?;
    Ok(Json(Stack { frames }))
}

fn described(dictionaries: &Dictionaries, frame: FrameId) -> impl Iterator<Item = StackFrame> {
    let mapping = dictionaries.frame(frame).and_then(|place| dictionaries.mapping(place.mapping));
    let module = mapping.map(|mapping| visible(&mapping.name)).unwrap_or_default();
    let named = move |(name, kind)| StackFrame { name, kind, module: module.clone() };
    frame_names(dictionaries, frame).into_iter().map(named)
}

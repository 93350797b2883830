//! Calls of functions: the tree, the ranking, the chart, and a text.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_formats::{GraphEnd, write_graph_text};
use bathyscope_reader::{CallsQuery, CaptureView};
use bathyscope_views::{
    CallChart, CallChoice, CallForest, CallPage, CallPlace, Cancel, FoundCall, FunctionsPage, ViewError, call_chart,
    call_lines, call_overview, call_page, find_call, needs_overview, places, rank_functions,
};
use http::header::CONTENT_TYPE;
use serde::Serialize;

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
};

/// A page of the tree, places in it, or what a search found.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::http) enum Tree {
    Page(CallPage),
    Places { places: Vec<CallPlace> },
    Found(Box<FoundCall>),
}

/// Does something with the calls that a query takes.
async fn with_calls<T: Send + 'static>(
    (reader, state): (&Reader, &AppState),
    path: CapturePath,
    query: CallsQuery,
    make: impl FnOnce(&CaptureView, &CallForest, &CallChoice, &CallsQuery, &Cancel) -> Result<T, ViewError> + Send + 'static,
) -> Result<T, ApiError> {
    let view = reader.view(state, path.id).await?;
    let work = move |view: &CaptureView, cancel: &Cancel| {
        let forest = view.calls(query.range(view), cancel)?;
        let choice = CallChoice::new(view, &forest, &query.calls(view)?, cancel)?;
        make(view, &forest, &choice, &query, cancel)
    };
    state.workers().view(view, work).await
}

/// Reads the tree of calls of a capture.
pub(in crate::http) async fn tree(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<CallsQuery>,
) -> Result<Json<Tree>, ApiError> {
    let made = with_calls((&reader, &state), path, query, |view, forest, choice, query, _cancel| {
        if !query.places.is_empty() {
            return Ok(Tree::Places { places: places(view, forest, choice, &query.wanted_places()) });
        }
        if !query.search.is_empty() {
            let found = find_call(view, forest, choice, &query.search, query.after, query.back == Some(1));
            return Ok(Tree::Found(Box::new(found)));
        }
        Ok(Tree::Page(call_page(view, forest, choice, query.parent, query.offset, query.page_limit())))
    });
    Ok(Json(made.await?))
}

/// Functions by what their calls took.
pub(in crate::http) async fn functions(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<CallsQuery>,
) -> Result<Json<FunctionsPage>, ApiError> {
    let made = with_calls((&reader, &state), path, query, |view, forest, choice, query, cancel| {
        rank_functions(view, forest, choice, &query.functions(), cancel)
    });
    Ok(Json(made.await?))
}

/// Reads calls of a capture over time.
pub(in crate::http) async fn chart(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<CallsQuery>,
) -> Result<Json<CallChart>, ApiError> {
    let view = reader.view(&state, path.id).await?;
    let work = move |view: &CaptureView, cancel: &Cancel| {
        let range = query.range(view);
        if query.is_everything_by_thread() && needs_overview(view, range) {
            return call_overview(view, range, query.chart(), cancel);
        }
        let forest = view.calls(range, cancel)?;
        // A chart has a beginning and an end.
        let calls = bathyscope_views::CallQuery { range, ..query.calls(view)? };
        let choice = CallChoice::new(view, &forest, &calls, cancel)?;
        call_chart(view, &forest, &choice, query.chart())
    };
    Ok(Json(state.workers().view(view, work).await?))
}

/// Calls as the kernel's own text has them.
pub(in crate::http) async fn text(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<CallsQuery>,
) -> Result<Response, ApiError> {
    let made = with_calls((&reader, &state), path, query, |view, forest, choice, query, _cancel| {
        let (lines, more) = call_lines(view, forest, choice, query.parent);
        let mut text = Vec::new();
        write_graph_text(lines, if more { GraphEnd::Cut } else { GraphEnd::All }, &mut text)
            .map_err(ViewError::Write)?;
        Ok(text)
    });
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], made.await?).into_response())
}

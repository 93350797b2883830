//! SQL over one capture.
//!
//! * `GET /api/captures/{id}/query` (viewer) → `{tables:[{name, alias?, about, rows, columns:[{name, type, display}]}],
//!   examples:[{title, sql}]}`: what a query can read, and queries to begin with.
//! * `POST /api/captures/{id}/query` (viewer) `{sql, limits?:{rows?, time_ms?}}` → `{columns:[{name, type, display}],
//!   rows:[[…]], truncated?:"rows"|"bytes", elapsed_ms, scanned:{rows, chunks, skipped}}`. `type` is `i64`, `f64`, `text`,
//!   `stack` or `any`; numbers that a browser would round are strings. A capture that is being recorded is read as it is
//!   stored so far. What is wrong with a query is `invalid` (400), what it needs too much of `limit` (422). The query ends
//!   when the client goes away.

use std::time::Duration;

use axum::{Json, extract::State};
use bathyscope_capture::CaptureId;
use bathyscope_query::{Answer, Capture, Example, Limits, TableInfo};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::Viewer,
        error::ApiError,
        extract::{self, Path},
        state::AppState,
    },
    captures::CapturePath,
};

/// The most rows of an answer.
const MOST_ROWS: usize = 50_000;
/// The longest that a query may take.
const MOST_TIME: Duration = Duration::from_secs(60);

/// What can be read.
#[derive(Serialize)]
pub(in crate::http) struct Tables {
    tables: Vec<TableInfo>,
    examples: Vec<Example>,
}

/// The tables of a capture and queries to begin with.
pub(in crate::http) async fn tables(
    _: Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<Tables>, ApiError> {
    let capture = capture(&state, id).await?;
    let tell = move |_: &_| {
        let tables = bathyscope_query::tables(&capture)?;
        Ok(Tables { tables, examples: bathyscope_query::examples(&capture) })
    };
    Ok(Json(state.workers().tell(tell).await?))
}

/// A query.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct QueryBody {
    sql: String,
    #[serde(default)]
    limits: AskedLimits,
}

/// How much it may use; less than what is usual, or up to what is allowed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedLimits {
    rows: Option<usize>,
    time_ms: Option<u64>,
}

impl AskedLimits {
    fn within(self) -> Limits {
        let time = self.time_ms.map_or(Limits::USUAL.time, Duration::from_millis);
        let rows = self.rows.unwrap_or(Limits::USUAL.rows);
        Limits { rows: rows.min(MOST_ROWS), time: time.min(MOST_TIME), ..Limits::USUAL }
    }
}

/// Answers a query in SQL about a capture.
pub(in crate::http) async fn query(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    extract::Json(asked): extract::Json<QueryBody>,
) -> Result<Json<Answer>, ApiError> {
    let capture = capture(&state, id).await?;
    let run = move |cancel: &_| bathyscope_query::run(&capture, &asked.sql, &asked.limits.within(), cancel);
    Ok(Json(state.workers().query(who.user(), run).await?))
}

/// The capture as it is now, with names of functions.
pub(super) async fn capture(state: &AppState, id: CaptureId) -> Result<Capture, ApiError> {
    if state.is_running(id) {
        state.recorder().name_functions(id).await;
    }
    Ok(state.view(id).await?.to_query().await?)
}

//! What a script left behind: its maps and its output.
//!
//! * `GET /api/captures/{id}/script` (viewer) → `{text, file, params, allow_unsafe, exit_code, probes:[{name, line, attached,
//!   hits, filtered, ring_full, map_full, helper_failed, stack_lost, missed, nested, ns_per_hit}]}`; 404 if no script made it.
//! * `GET /api/captures/{id}/maps` (viewer) → `{maps:[{n, name, kind, key:[column], value:[column], snapshots, last, resets,
//!   unit, views:["histogram"|"heatmap"|"flame"|"series"|"table"]}]}`, `n` being the stream's index and the first view the usual one;
//!   `kind` is `histogram time_series stats count sum min max average value`, `unit` what its numbers count: `hits samples
//!   nanoseconds microseconds milliseconds seconds bytes values`.
//! * `GET /api/captures/{id}/maps/{n}?view=&snapshot=&start=&end=&key=&offset=&limit=&order=asc|desc&focus=&search=&width=&invert=1&transforms=`
//!   (viewer), `snapshot` being a number (the last if left out), `key` the id of a key (all together if left out). With
//!   `start` or `end` (and no `snapshot`), what came in between the readings of that range, `since` being the one before it:
//!   * `view=histogram` → `{at:{snapshot, time}|null, since, unit, keys:[{id, key:[cell], total}], more_keys,
//!     buckets:[{low, high, count}], total}`; buckets without anything are left out.
//!   * `view=heatmap` → `{buckets:[[low, high]], columns:[{from, snapshot, time, counts:[…]}], most, snapshots_per_column,
//!     unit}`: what came in since the snapshot before.
//!   * `view=table` → `{at, since, columns:[{name, type, display}], key_columns, main_column, unit, rows:[[cell]], total,
//!     offset, sum}`, by the value in `main_column`.
//!   * `view=series` → `{at:[{snapshot, time}], lines:[{id, key:[cell], values:[number|null]}], more_keys, unit}`.
//!   * `view=flame` → as `GET /api/captures/{id}/flame`, the values as weights.
//! * `GET /api/captures/{id}/text?time=&skip=&limit=` (viewer) → `{lines:[{time, stream, text, snapshot?, left_out?}],
//!   next:{time, skip}|null}`: the output in order of time; where a map was printed, `snapshot` says which. `text` ends
//!   in a line break where the script printed one.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::{CaptureId, visible};
use bathyscope_reader::{
    CaptureView, SortOrder, ViewQuery,
    script_view::{Cursor, MAX_LINES, MapInfo, PrintedText, ScriptView},
};
use bathyscope_store::CaptureState;
use bathyscope_views::{
    KeyId, Period, TableQuery, TimeRange, ViewError, heat, histogram, map_flame, map_table, series,
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
};
use crate::wire;

/// Rows of a map's table in one answer, where nothing is said.
const USUAL_ROWS: u32 = 100;
/// Lines of output in one answer, where nothing is said.
const USUAL_LINES: usize = 1000;

/// The capture and its script.
async fn open(reader: &Reader, state: &AppState, id: CaptureId) -> Result<(CaptureView, ScriptView), ApiError> {
    let view = reader.view(state, id).await?;
    let script = script_of(state, &view).await?;
    Ok((view, script))
}

/// The script of a capture.
pub(super) async fn script_of(state: &AppState, view: &CaptureView) -> Result<ScriptView, ApiError> {
    let script = state.store().script(view.record().id).await?;
    ScriptView::new(view, script.as_ref()).ok_or_else(ApiError::not_found)
}

#[derive(Serialize)]
pub(in crate::http) struct Script {
    text: String,
    file: String,
    params: Vec<String>,
    allow_unsafe: bool,
    exit_code: Option<i64>,
    probes: Vec<wire::Probe>,
}

/// The script that made a capture, and what its probes counted.
pub(in crate::http) async fn script(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<Script>, ApiError> {
    reader.admit_whole(id, "what its script counted")?;
    let record = state.store().capture(id).await?;
    let kept = state.store().script(id).await?;
    let (Some(spec), Some(kept)) = (record.spec.script(), kept) else { return Err(ApiError::not_found()) };
    Ok(Json(Script {
        text: spec.text.clone(),
        file: visible(spec.file.as_bytes()),
        params: spec.params.clone(),
        allow_unsafe: spec.allow_unsafe,
        exit_code: kept.exit_code,
        probes: kept.probes.iter().map(wire::Probe::from).collect(),
    }))
}

#[derive(Serialize)]
pub(in crate::http) struct Maps {
    maps: Vec<MapInfo>,
}

/// Lists the maps that a script filled in a capture.
pub(in crate::http) async fn list(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<Maps>, ApiError> {
    let (view, script) = open(&reader, &state, id).await?;
    let maps = state.workers().view(view, move |view, cancel| script.maps(view, cancel)).await?;
    Ok(Json(Maps { maps }))
}

/// A map of a capture.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::http) struct MapPath {
    pub(super) id: CaptureId,
    pub(super) n: u16,
}

/// Which view of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::http) struct MapQuery {
    view: MapView,
    snapshot: Option<u64>,
    start: Option<i64>,
    end: Option<i64>,
    key: Option<String>,
    offset: u64,
    limit: Option<u32>,
    order: Option<SortOrder>,
    focus: Option<String>,
    search: Option<String>,
    width: Option<u32>,
    invert: Option<u8>,
    transforms: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MapView {
    Histogram,
    Heatmap,
    #[default]
    Table,
    Series,
    Flame,
}

/// Reads a view of a map of a script.
pub(in crate::http) async fn one(
    reader: Reader,
    State(state): State<AppState>,
    Path(MapPath { id, n }): Path<MapPath>,
    Query(query): Query<MapQuery>,
) -> Result<Response, ApiError> {
    if query.view == MapView::Flame && state.store().capture(id).await?.state == CaptureState::Recording {
        state.recorder().name_functions(id).await;
    }
    let (view, script) = open(&reader, &state, id).await?;
    let shape = script.shape(&view, n).ok_or_else(ApiError::not_found)?;
    let key = query.key.as_deref().map(str::parse::<KeyId>).transpose();
    let key = key.map_err(|error| ApiError::invalid("reading the query", error.to_string()))?;
    let period = period(&query, view.record().start_ns);
    let within = if let Period::Range(range) = period { range } else { TimeRange::ALL };
    let workers = state.workers();
    Ok(match query.view {
        MapView::Histogram => {
            Json(workers.view(view, move |view, cancel| histogram(view, &shape, period, key, cancel)).await?)
                .into_response()
        }
        MapView::Heatmap => {
            Json(workers.view(view, move |view, cancel| heat(view, &shape, key, within, cancel)).await?).into_response()
        }
        MapView::Series => {
            Json(workers.view(view, move |view, cancel| series(view, &shape, within, cancel)).await?).into_response()
        }
        MapView::Table => {
            let table = table_query(&query, period);
            Json(workers.view(view, move |view, cancel| map_table(view, &shape, &table, cancel)).await?).into_response()
        }
        MapView::Flame => {
            let flame = move |view: &CaptureView, cancel: &_| -> Result<_, ViewError> {
                let MapQuery { focus, search, width, invert, transforms, .. } = query;
                let transforms = transforms.unwrap_or_default();
                let query = ViewQuery { focus, search, width, invert, transforms, ..ViewQuery::default() };
                map_flame(view, &shape, period, &query.flame(view)?, cancel)
            };
            Json(workers.view(view, flame).await?).into_response()
        }
    })
}

/// Which part of the map's history: a reading, a range, or all of it.
fn period(query: &MapQuery, origin_ns: u64) -> Period {
    let absolute = |relative: i64| origin_ns.saturating_add_signed(relative);
    match (query.snapshot, query.start, query.end) {
        (Some(number), ..) => Period::Snapshot(number),
        (None, None, None) => Period::Last,
        (None, start, end) => {
            Period::Range(TimeRange { start_ns: start.map_or(0, absolute), end_ns: end.map_or(u64::MAX, absolute) })
        }
    }
}

fn table_query(query: &MapQuery, period: Period) -> TableQuery {
    TableQuery {
        period,
        offset: query.offset,
        limit: query.limit.unwrap_or(USUAL_ROWS),
        ascending: query.order == Some(SortOrder::Asc),
    }
}

/// From where on.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::http) struct TextQuery {
    time: u64,
    skip: usize,
    limit: Option<usize>,
}

/// Reads what a script printed in a capture.
pub(in crate::http) async fn text(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(query): Query<TextQuery>,
) -> Result<Json<PrintedText>, ApiError> {
    // What it prints is text of its own around values of rows.
    reader.admit_unchanged(id, "what its script printed")?;
    let (view, script) = open(&reader, &state, id).await?;
    let from = Cursor { time: query.time, skip: query.skip.min(MAX_LINES) };
    let limit = query.limit.unwrap_or(USUAL_LINES).clamp(1, MAX_LINES);
    let text = state.workers().view(view, move |view, cancel| script.text(view, from, limit, cancel)).await?;
    Ok(Json(text))
}

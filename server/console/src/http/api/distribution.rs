//! How values of a capture's rows are spread.
//!
//! * `GET /api/captures/{id}/distribution?stream=…&column=…` (viewer) → a histogram with percentiles, of all rows and, with `by`, of the
//!   most frequent values of another column.
//! * `GET /api/captures/{id}/distribution/heat` → rows by time and value, or with `period` by that and the offset in it. It looks at
//!   a bounded number of rows; `next`, given as `skip`, goes on, with `low` and `high` of the first answer.
//! * `GET /api/captures/{id}/distribution/utilisation` → how busy CPUs or devices were.
//! * `GET /api/captures/{id}/distribution/scatter` → single rows by time and value, if they are few.

use axum::{Json, extract::State};
use bathyscope_reader::DistributionParams;
use bathyscope_views::{Distribution, HeatMap, Scatter, Utilisation, distribution, heat_map, scatter, utilisation};

use super::{
    super::{
        access::Reader,
        error::ApiError,
        extract::{Path, Query},
        state::AppState,
    },
    captures::CapturePath,
    read_view,
};

/// Reads a histogram of a column.
pub(in crate::http) async fn histogram(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<DistributionParams>,
) -> Result<Json<Distribution>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| distribution(view, &query.histogram(view)?, cancel)).await
}

/// Reads a part of a heat map of a column over time.
pub(in crate::http) async fn heat(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<DistributionParams>,
) -> Result<Json<HeatMap>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| heat_map(view, &query.heat(view)?, cancel)).await
}

/// Reads how busy CPUs or devices were.
pub(in crate::http) async fn busy(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<DistributionParams>,
) -> Result<Json<Utilisation>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| utilisation(view, &query.utilisation(view)?, cancel)).await
}

/// Reads single rows as points by time and value.
pub(in crate::http) async fn single(
    reader: Reader,
    State(state): State<AppState>,
    Path(path): Path<CapturePath>,
    Query(query): Query<DistributionParams>,
) -> Result<Json<Scatter>, ApiError> {
    read_view(&reader, &state, path, move |view, cancel| scatter(view, &query.scatter(view)?, cancel)).await
}

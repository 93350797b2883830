//! How long captures are kept, and which go next.
//!
//! * `GET /api/retention?limit=&offset=` (viewer) → the rules, and captures in the order in which they go, with when: by age at
//!   `goes_unix_ns`, by size once all captures have grown by `after_bytes`.

use axum::{Json, extract::State};
use bathyscope_capture::{CaptureId, shown};
use bathyscope_link::clock::wall_unix_ns;
use serde::{Deserialize, Serialize};

use super::super::{access::Viewer, error::ApiError, extract::Query, state::AppState};
use crate::{retention::Forecast, wire};

/// The most captures on a page.
const MOST_LISTED: usize = 500;

/// Which page.
#[derive(Deserialize)]
pub(in crate::http) struct ForecastQuery {
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

/// What goes next.
#[derive(Serialize)]
pub(in crate::http) struct RetentionForecast {
    retention: wire::Retention,
    /// How many captures go some day by the rules as they are.
    total: u64,
    /// Those of this page, the next first.
    items: Vec<ForecastItem>,
}

/// A capture that goes some day.
#[derive(Serialize)]
pub(in crate::http) struct ForecastItem {
    /// Which.
    id: CaptureId,
    /// What it is called.
    title: String,
    /// Whose it is.
    owner: String,
    /// Its tags.
    tags: Vec<String>,
    /// Bytes that it takes.
    bytes: u64,
    /// When it is too old, nanoseconds since 1970 by the wall clock; none if it never is.
    goes_unix_ns: Option<i64>,
    /// The rule of a tag or an owner that says so, as it was given; none for the rule for all.
    rule: Option<String>,
    /// By how many bytes all captures can grow before it goes; none if there is no rule of size.
    after_bytes: Option<u64>,
}

impl From<Forecast> for ForecastItem {
    fn from(Forecast { capture, goes_unix_ns, subject, after_bytes }: Forecast) -> Self {
        Self {
            id: capture.id,
            title: shown(&capture.title),
            owner: shown(&capture.owner),
            tags: capture.tags.into_iter().collect(),
            bytes: capture.size_bytes,
            goes_unix_ns,
            rule: subject.map(|subject| shown(&subject.to_string())),
            after_bytes,
        }
    }
}

/// Lists which captures the rules of retention delete next.
pub(in crate::http) async fn forecast(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Query(query): Query<ForecastQuery>,
) -> Result<Json<RetentionForecast>, ApiError> {
    let busy = state.recorder().worked_on();
    let unseen = state.seen(&who).unseen().await?;
    let captures = state.store().retained().await?;
    let rule = state.retention();
    let all = rule.forecast(wall_unix_ns(), captures, |id| busy.contains(&id));
    // What goes frees room for what is seen: it counts, and is not told.
    let seen = all.into_iter().filter(|one| !unseen.contains(&one.capture.id)).collect::<Vec<_>>();
    let total = seen.len() as u64;
    let page = seen.into_iter().skip(query.offset).take(query.limit.unwrap_or(100).min(MOST_LISTED));
    let retention = wire::Retention::new(rule, state.store().sizes().await?, state.store().room());
    Ok(Json(RetentionForecast { retention, total, items: page.map(ForecastItem::from).collect() }))
}

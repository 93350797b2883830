//! The running kernel's tracepoints and what can be said about their fields.

use axum::{Json, extract::State};
use bathyscope_capture::{Predicate, PredicateError, SpecError, TracepointName, column_name_of_field};
use bathyscope_catalog::{EventField, FieldError, check_predicate, search_tracepoints};
use bathyscope_protocol::PerfEventInfo;
use serde::{Deserialize, Serialize};

use super::super::{
    access::Operator,
    error::ApiError,
    extract::{Path, Query},
    state::AppState,
};

const MOST_FOUND: usize = 1000;

/// What to look for.
#[derive(Deserialize)]
pub(in crate::http) struct TracepointQuery {
    #[serde(default)]
    q: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(in crate::http) struct FoundTracepoint {
    total: usize,
    items: Vec<TracepointName>,
}

/// Lists the tracepoints that match, best first.
pub(in crate::http) async fn search(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<TracepointQuery>,
) -> Result<Json<FoundTracepoint>, ApiError> {
    let names = state.host().tracepoints().await?;
    let found = search_tracepoints(&names, &query.q, query.limit.unwrap_or(50).min(MOST_FOUND));
    Ok(Json(FoundTracepoint { total: found.total, items: found.best.into_iter().cloned().collect() }))
}

#[derive(Serialize)]
pub(in crate::http) struct PerfEvents {
    items: Vec<PerfEventInfo>,
}

/// The events that can be counted and sampled by their names, each tried.
pub(in crate::http) async fn perf_events(
    _: Operator,
    State(state): State<AppState>,
) -> Result<Json<PerfEvents>, ApiError> {
    Ok(Json(PerfEvents { items: state.host().perf_events().await? }))
}

/// The two parts of a tracepoint's name.
#[derive(Deserialize)]
pub(in crate::http) struct TracepointPath {
    system: String,
    name: String,
}

#[derive(Serialize)]
pub(in crate::http) struct DescribedTracepoint {
    name: TracepointName,
    fields: Vec<DescribedField>,
}

/// A field of a tracepoint.
#[derive(Serialize)]
pub(in crate::http) struct DescribedField {
    name: String,
    column: String,
    #[serde(rename = "type")]
    type_name: String,
    kind: &'static str,
    signed: bool,
    size: u32,
    recordable: bool,
    note: &'static str,
}

impl From<&EventField> for DescribedField {
    fn from(field: &EventField) -> Self {
        let obstacle = field.obstacle();
        Self {
            name: field.name.clone(),
            column: column_name_of_field(&field.name),
            type_name: field.type_name.clone(),
            kind: field.kind.word(),
            signed: field.signed,
            size: field.size,
            recordable: obstacle.is_none(),
            note: obstacle.unwrap_or_default(),
        }
    }
}

/// The fields of one tracepoint.
pub(in crate::http) async fn one(
    _: Operator,
    State(state): State<AppState>,
    Path(TracepointPath { system, name }): Path<TracepointPath>,
) -> Result<Json<DescribedTracepoint>, ApiError> {
    let name: TracepointName = format!("{system}:{name}").parse().map_err(|_no_name| ApiError::not_found())?;
    let format = state.host().event_format(&name).await?;
    Ok(Json(DescribedTracepoint { name, fields: format.fields.iter().map(DescribedField::from).collect() }))
}

/// A predicate that somebody types.
#[derive(Deserialize)]
pub(in crate::http) struct PredicateQuery {
    #[serde(default)]
    tracepoint: String,
    #[serde(default)]
    text: String,
}

/// What is said about it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(in crate::http) struct CheckedPredicate {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    normal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// In characters, where it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

/// Whether a predicate can be used with a tracepoint.
pub(in crate::http) async fn predicate(
    _: Operator,
    State(state): State<AppState>,
    Query(PredicateQuery { tracepoint, text }): Query<PredicateQuery>,
) -> Result<Json<CheckedPredicate>, ApiError> {
    let predicate = match Predicate::parse(&text) {
        Ok(predicate) => predicate,
        Err(error) => return Ok(Json(refused(&error))),
    };
    if !tracepoint.is_empty() {
        let name: TracepointName = tracepoint
            .parse()
            .map_err(|error: SpecError| ApiError::invalid("reading the tracepoint's name", error.to_string()))?;
        let format = state.host().event_format(&name).await?;
        if let Err(error) = check_predicate(&format, &predicate) {
            return Ok(Json(misfit(&text, &error)));
        }
    }
    Ok(Json(CheckedPredicate { ok: true, normal: Some(predicate.to_string()), message: None, offset: None }))
}

fn refused(error: &PredicateError) -> CheckedPredicate {
    let (message, offset) = match error {
        PredicateError::Syntax { offset, message } => (message.clone(), Some(*offset)),
        other => (other.to_string(), None),
    };
    CheckedPredicate { ok: false, normal: None, message: Some(message), offset }
}

fn misfit(text: &str, error: &FieldError) -> CheckedPredicate {
    let field = match error {
        FieldError::Unknown { field, .. }
        | FieldError::NotRecordable { field, .. }
        | FieldError::Element { field, .. }
        | FieldError::Mismatch { field, .. } => field.as_str(),
        FieldError::RowsOnly { what, .. } => what,
        _ => "",
    };
    let at = text.find(field).filter(|_| !field.is_empty());
    let offset = match error {
        FieldError::Unit { error: PredicateError::Unit { offset, .. }, .. } => offset.map(|at| at as usize),
        _ => at.and_then(|at| text.get(..at)).map(|before| before.chars().count()),
    };
    CheckedPredicate { ok: false, normal: None, message: Some(error.to_string()), offset }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misfit_points_at_the_name() {
        let (field, tracepoint) = ("nope".to_owned(), "x".to_owned());
        let error = FieldError::Unknown { field, tracepoint, suggestion: None };
        assert_eq!(misfit("comm == \"ä\" && nope == 1", &error).offset, Some(15));
        let error = FieldError::RowsOnly { what: "matches", tracepoint: "x".to_owned(), why: "" };
        assert_eq!(misfit("a == 1 && comm matches \"x\"", &error).offset, Some(15));
    }
}

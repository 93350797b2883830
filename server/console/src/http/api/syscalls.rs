//! System calls: the filter lines of another tool as what the form asks for.
//!
//! `GET /api/syscalls/filter?line=` (operator) → `{target: null | TARGET, syscalls: SPEC, notes: […]}`, as in a capture's
//! spec; the notes say what of a line that was pasted was read as something else.

use axum::Json;
use bathyscope_capture::{SyscallSpec, Target};
use bathyscope_formats::{PastedFilter, parse_pasted_filter};
use serde::{Deserialize, Serialize};

use super::super::{access::Operator, error::ApiError, extract::Query};

/// A line that somebody brings.
#[derive(Deserialize)]
pub(in crate::http) struct LineQuery {
    #[serde(default)]
    line: String,
}

/// What it asks for.
#[derive(Serialize)]
pub(in crate::http) struct AskedCalls {
    target: Option<Target>,
    syscalls: SyscallSpec,
    notes: Vec<String>,
}

/// What a filter line of sysdig asks for.
pub(in crate::http) async fn filter(
    _: Operator,
    Query(LineQuery { line }): Query<LineQuery>,
) -> Result<Json<AskedCalls>, ApiError> {
    match parse_pasted_filter(&line) {
        Ok(PastedFilter { filter, notes }) => {
            Ok(Json(AskedCalls { target: filter.target, syscalls: filter.calls, notes }))
        }
        Err(error) => Err(ApiError::invalid(
            format!("reading the filter, at character {}", characters(&line, error.offset)),
            error.why,
        )
        .remedy(error.remedy)),
    }
}

/// A place in bytes as people count, from 1.
fn characters(line: &str, offset: usize) -> usize {
    line.get(..offset).map_or(0, |before| before.chars().count()) + 1
}

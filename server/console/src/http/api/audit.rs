//! The audit log, for admins.

use axum::{Json, extract::State};
use bathyscope_capture::visible;
use bathyscope_store::AuditRecord;
use serde::{Deserialize, Serialize};

use super::super::{access::Admin, error::ApiError, extract::Query, state::AppState};

const MOST: u32 = 1000;

/// Which entries.
#[derive(Deserialize)]
pub(in crate::http) struct AuditQuery {
    #[serde(default)]
    before: u64,
    limit: Option<u32>,
}

#[derive(Serialize)]
pub(in crate::http) struct Entries {
    items: Vec<AuditLine>,
}

#[derive(Serialize)]
struct AuditLine {
    number: u64,
    time_unix_ns: i64,
    user: String,
    role: &'static str,
    action: String,
    object: String,
    detail: String,
}

/// Lists the newest entries of the audit log, or those before a number.
pub(in crate::http) async fn list(
    _: Admin,
    State(state): State<AppState>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Entries>, ApiError> {
    let records = state.store().audit(query.before, query.limit.unwrap_or(100).min(MOST)).await?;
    let entry = |AuditRecord { number, entry }: AuditRecord| AuditLine {
        number,
        time_unix_ns: entry.time_unix_ns,
        user: visible(entry.user.as_bytes()),
        role: entry.role.as_str(),
        action: entry.action,
        object: entry.object,
        detail: visible(entry.detail.as_bytes()),
    };
    Ok(Json(Entries { items: records.into_iter().map(entry).collect() }))
}

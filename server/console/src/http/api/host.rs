//! This host: what it is, what can be observed here, who and what runs on it.

use axum::{Json, extract::State};
use bathyscope_capture::HostFacts;
use bathyscope_protocol::Capability;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Operator, Viewer},
    error::ApiError,
    extract::Query,
    state::AppState,
};
use crate::{
    host::{Process, users_like},
    recorder::AgentStatus,
};

const MOST_LISTED: usize = 1000;

#[derive(Serialize)]
pub(in crate::http) struct Described {
    facts: HostFacts,
    agent: AgentStatus,
    capabilities: Vec<Capability>,
    /// Handlers of this console that panicked since it began.
    panics: u64,
}

/// What this host is and what can be observed here, as it was found by trying.
pub(in crate::http) async fn host(_: Viewer, State(state): State<AppState>) -> Result<Json<Described>, ApiError> {
    describe(&state, false).await
}

/// Tries again.
pub(in crate::http) async fn check(_: Operator, State(state): State<AppState>) -> Result<Json<Described>, ApiError> {
    describe(&state, true).await
}

async fn describe(state: &AppState, again: bool) -> Result<Json<Described>, ApiError> {
    let host = state.host();
    let capabilities = host.capabilities(again).await;
    Ok(Json(Described { facts: host.facts().await, agent: host.agent(), capabilities, panics: state.panics() }))
}

/// What to look for.
#[derive(Deserialize)]
pub(in crate::http) struct SearchQuery {
    #[serde(default)]
    q: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(in crate::http) struct Processes {
    total: usize,
    items: Vec<Process>,
}

/// The processes whose id begins with, or whose name contains, what is looked for.
pub(in crate::http) async fn processes(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<SearchQuery>,
) -> Result<Json<Processes>, ApiError> {
    let wanted = query.q.trim().to_lowercase();
    let all = state.host().processes().await?;
    let fits = |process: &&Process| {
        process.pid.to_string().starts_with(&wanted) || process.comm.to_lowercase().contains(&wanted)
    };
    let found: Vec<&Process> = all.iter().filter(fits).collect();
    let limit = query.limit.unwrap_or(50).min(MOST_LISTED);
    Ok(Json(Processes { total: found.len(), items: found.into_iter().take(limit).cloned().collect() }))
}

#[derive(Serialize)]
pub(in crate::http) struct Users {
    items: Vec<String>,
}

/// The users of this host whose name contains what is looked for.
pub(in crate::http) async fn users(_: Operator, Query(query): Query<SearchQuery>) -> Result<Json<Users>, ApiError> {
    let limit = query.limit.unwrap_or(50).min(MOST_LISTED);
    let passwd = tokio::fs::read("/etc/passwd").await.unwrap_or_default();
    Ok(Json(Users { items: users_like(&passwd, query.q.trim(), limit) }))
}

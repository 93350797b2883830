//! This host: what it is, what can be observed here, who and what runs on it.

use axum::{Json, extract::State};
use bathyscope_capture::HostFacts;
use bathyscope_link::{
    AgentStatus, groups::Group, host::users_like, process_files::OpenFiles, processes::Process, words,
};
use bathyscope_protocol::Capability;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Operator, Viewer},
    error::{ApiError, ErrorKind},
    extract::{Path, Query},
    state::AppState,
};

const MOST_LISTED: usize = 1000;

#[derive(Serialize)]
pub(in crate::http) struct DescribedHost {
    facts: HostFacts,
    agent: AgentStatus,
    capabilities: Vec<Capability>,
    /// Why nothing can be stored; none if it can.
    trouble: Option<String>,
    /// Handlers of this console that panicked since it began.
    panics: u64,
}

/// What this host is and what can be observed here, as it was found by trying.
pub(in crate::http) async fn host(_: Viewer, State(state): State<AppState>) -> Result<Json<DescribedHost>, ApiError> {
    describe(&state, false).await
}

/// Tries again what can be observed on this host.
pub(in crate::http) async fn check(
    _: Operator,
    State(state): State<AppState>,
) -> Result<Json<DescribedHost>, ApiError> {
    describe(&state, true).await
}

async fn describe(state: &AppState, again: bool) -> Result<Json<DescribedHost>, ApiError> {
    let host = state.host();
    let capabilities = host.capabilities(again).await;
    let trouble = state.store().trouble().map(|error| words(&error));
    let (facts, agent) = (host.facts().await, host.agent());
    Ok(Json(DescribedHost { facts, agent, capabilities, trouble, panics: state.panics() }))
}

/// What to look for.
#[derive(Deserialize)]
pub(in crate::http) struct HostQuery {
    #[serde(default)]
    q: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(in crate::http) struct Processes {
    total: usize,
    items: Vec<Process>,
}

/// The processes whose id begins with, or whose name contains, what is looked for: `{total, items:[{pid, comm, command, user,
/// age_s, cpu_ms, kernel}]}`, exact names first, threads of the kernel last.
pub(in crate::http) async fn processes(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<HostQuery>,
) -> Result<Json<Processes>, ApiError> {
    let limit = query.limit.unwrap_or(50).min(MOST_LISTED);
    let (total, items) = state.host().processes_like(&query.q, limit).await?;
    Ok(Json(Processes { total, items }))
}

/// A process in a path.
#[derive(Deserialize)]
pub(in crate::http) struct ProcessPath {
    pid: u32,
}

/// Which of the processes that had this id.
#[derive(Deserialize)]
pub(in crate::http) struct StartedQuery {
    /// When it was started, in ticks since the host was; whichever has the id now, if it is not given.
    started: Option<u64>,
}

/// What a process has open: its descriptors, and the ends of its sockets.
pub(in crate::http) async fn open_files(
    _: Operator,
    State(state): State<AppState>,
    Path(ProcessPath { pid }): Path<ProcessPath>,
    Query(query): Query<StartedQuery>,
) -> Result<Json<OpenFiles>, ApiError> {
    let found = state.host().open_files(pid, query.started).await?;
    found.map(Json).ok_or_else(|| {
        let doing = format!("listing the open files of process {pid}");
        ApiError::new(ErrorKind::NotFound, doing, "the process has ended")
    })
}

#[derive(Serialize)]
pub(in crate::http) struct Groups {
    total: usize,
    items: Vec<Group>,
}

/// The control groups whose path, unit or container contains what is looked for; units and containers first.
pub(in crate::http) async fn groups(
    _: Operator,
    State(state): State<AppState>,
    Query(query): Query<HostQuery>,
) -> Result<Json<Groups>, ApiError> {
    let wanted = query.q.trim().to_lowercase();
    let all = state.host().groups().await?;
    let has = |text: Option<&str>| text.is_some_and(|text| text.to_lowercase().contains(&wanted));
    let rank = |group: &&Group| match (&group.container, &group.unit) {
        (Some(container), _) if has(container.name.as_deref()) || has(Some(&container.id)) => Some(0_u8),
        (None, Some(unit)) if has(Some(unit)) && group.path.ends_with(unit.as_str()) => Some(1),
        _ => has(Some(&group.path)).then_some(2),
    };
    let mut found: Vec<(u8, &Group)> = all.iter().filter_map(|group| Some((rank(&group)?, group))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    let limit = query.limit.unwrap_or(50).min(MOST_LISTED);
    let items = found.iter().take(limit).map(|(_, group)| (*group).clone()).collect();
    Ok(Json(Groups { total: found.len(), items }))
}

#[derive(Serialize)]
pub(in crate::http) struct Users {
    items: Vec<String>,
}

/// The users of this host whose name contains what is looked for.
pub(in crate::http) async fn users(_: Operator, Query(query): Query<HostQuery>) -> Result<Json<Users>, ApiError> {
    let limit = query.limit.unwrap_or(50).min(MOST_LISTED);
    let passwd = tokio::fs::read("/etc/passwd").await.unwrap_or_default();
    Ok(Json(Users { items: users_like(&passwd, query.q.trim(), limit) }))
}

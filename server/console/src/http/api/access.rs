//! Who can come in: sessions and unused login links, listed and ended.
//!
//! * `GET /api/access` (admin) → `{sessions:[{id, user, role, age_s, unused_s, ends_in_s, current}], links:[{id, user,
//!   role, ends_in_s, session_ends_in_s}]}`
//! * `DELETE /api/access/sessions/{id}`, `DELETE /api/access/links/{id}` (admin) → 204, or 404.

use axum::{Json, extract::State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Admin, InPerson},
    error::ApiError,
    extract::Path,
    session::{AccessList, LinkItem, SessionError, SessionItem},
    state::{AppState, to_its_end},
};

/// What a path names.
#[derive(Deserialize)]
pub(in crate::http) struct AccessPath {
    id: String,
}

#[derive(Serialize)]
pub(in crate::http) struct Listed {
    sessions: Vec<Shown>,
    links: Vec<LinkItem>,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    session: SessionItem,
    /// Whether it is the one that asks.
    current: bool,
}

fn failed(error: SessionError) -> ApiError {
    ApiError::internal("looking at sessions", error)
}

/// Lists all sessions and unused login links.
pub(in crate::http) async fn list(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
) -> Result<Json<Listed>, ApiError> {
    let AccessList { sessions, links } = state.sessions().list().await.map_err(failed)?;
    let own = who.session.id();
    let shown = |session: SessionItem| Shown { current: session.id == own, session };
    Ok(Json(Listed { sessions: sessions.into_iter().map(shown).collect(), links }))
}

/// Ends a session of anybody, with its streams.
pub(in crate::http) async fn end_session(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(AccessPath { id }): Path<AccessPath>,
) -> Result<StatusCode, ApiError> {
    let ending = async move {
        let user = state.sessions().end(&id).await.map_err(failed)?.ok_or_else(ApiError::not_found)?;
        state.audit(&who.session, "session.end", &user, &id).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(ending).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes an unused login link worthless.
pub(in crate::http) async fn end_link(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(AccessPath { id }): Path<AccessPath>,
) -> Result<StatusCode, ApiError> {
    let ending = async move {
        let user = state.sessions().end_link(&id).await.map_err(failed)?.ok_or_else(ApiError::not_found)?;
        state.audit(&who.session, "link.end", &user, &id).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(ending).await??;
    Ok(StatusCode::NO_CONTENT)
}

//! Flight recorders: fired by hand, and by whoever has a token for it.

use std::time::Instant;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::{CaptureId, FiringKind};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_recorder::{FireCause, FireError};
use bathyscope_store::{FireToken, Role, TokenHash};
use http::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, LOCATION},
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Anonymous, InPerson, Operator},
        context::Context,
        error::{ApiError, ErrorKind},
        extract::Path,
        session::new_secret,
        state::{AppState, to_its_end},
    },
    CaptureAddress,
    captures::{CapturePath, admit_change},
};
use crate::audit::audit;

/// Stores what a flight recorder has in memory, and what comes in the seconds after; answers with the capture that comes of it.
pub(in crate::http) async fn fire(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Response, ApiError> {
    admit_change(&state, &who, id).await?;
    let firing = async move {
        let cause = FireCause::now(FiringKind::Hand, format!("by hand of {}", who.user()), "");
        let stored = state.recorder().fire(id, cause).await?;
        state.audit(&who.session, "capture.fire", &id.to_string(), &format!("stored as {stored}")).await;
        Ok::<_, ApiError>(stored)
    };
    let address = CaptureAddress::of(to_its_end(firing).await??);
    Ok((StatusCode::CREATED, [(LOCATION, address.url.clone())], Json(address)).into_response())
}

/// A token that was made: it is told once.
#[derive(Serialize)]
pub(in crate::http) struct MadeToken {
    /// What stands behind `Authorization: Bearer`.
    token: String,
    /// Where a POST with it goes.
    url: String,
}

/// Makes a token with which others fire the flight recorder, in place of the one before.
pub(in crate::http) async fn make_token(
    InPerson(Operator(who)): InPerson<Operator>,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Json<MadeToken>, ApiError> {
    admit_change(&state, &who, id).await?;
    if state.recorder().flight(id).is_none() {
        return Err(FireError::NotRunning.into());
    }
    let making = async move {
        let failed = |error| ApiError::internal("making a token", error);
        let (secret, hash) = new_secret().map_err(failed)?;
        let token = FireToken { made_by: who.user().to_owned(), created_unix_ns: wall_unix_ns() };
        state.store().put_fire_token(id, hash, token).await?;
        state.audit(&who.session, "capture.fire_token", &id.to_string(), "made").await;
        let own = format!("/api/fire/{id}");
        let url = state.hosts().public_url().map_or_else(|| own.clone(), |public| format!("{public}{own}"));
        Ok::<_, ApiError>(MadeToken { token: secret.reveal().to_owned(), url })
    };
    Ok(Json(to_its_end(making).await??))
}

/// Revokes the token with which others fire the flight recorder.
pub(in crate::http) async fn revoke_token(
    InPerson(Operator(who)): InPerson<Operator>,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<StatusCode, ApiError> {
    admit_change(&state, &who, id).await?;
    let revoking = async move {
        let revoked = state.store().remove_fire_token(id).await?;
        if revoked {
            state.audit(&who.session, "capture.fire_token", &id.to_string(), "revoked").await;
        }
        Ok::<_, ApiError>(revoked)
    };
    if to_its_end(revoking).await?? { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::not_found()) }
}

/// The flight recorder in a path, as it is written: whoever has no token learns nothing of what it may be.
#[derive(Deserialize)]
pub(in crate::http) struct FirePath {
    id: String,
}

/// Fires a flight recorder for whoever has its token. Whatever is wrong with id and token has one answer.
pub(in crate::http) async fn fire_by_token(
    _: Anonymous,
    State(state): State<AppState>,
    context: Context,
    Path(FirePath { id }): Path<FirePath>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let source = state.source_of(&context, &headers);
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let known = match (id.parse::<CaptureId>(), given) {
        (Ok(id), Some(token)) => {
            state.store().fire_token(id, Some(TokenHash::of(token.trim().as_bytes()))).await?.map(|token| (id, token))
        }
        _ => None,
    };
    let Some((id, token)) = known else {
        // Attempts that fail are limited as those of logins are.
        if !state.login_limit().attempt(source, Instant::now()) {
            return Err(ApiError::new(ErrorKind::TooMany, "firing a flight recorder", "too many attempts failed"));
        }
        return Err(ApiError::not_found());
    };
    let firing = async move {
        let cause = FireCause::now(FiringKind::Token, "a request with the token", format!("from {source}"));
        let stored = state.recorder().fire(id, cause).await?;
        let user = format!("token of {}", token.made_by);
        let detail = format!("stored as {stored}, from {source}");
        audit(state.store(), (&user, Role::Operator), "capture.fire", (&id.to_string(), &detail)).await;
        Ok::<_, ApiError>(stored)
    };
    let address = CaptureAddress::of(to_its_end(firing).await??);
    Ok((StatusCode::CREATED, [(LOCATION, address.url.clone())], Json(address)).into_response())
}

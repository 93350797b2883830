//! Links for people without a login, made, listed and revoked by those who have one.
//!
//! A *share* is `{id, capture, investigation, title, owner, created_unix_ns, expires_unix_ns, last_used_unix_ns, opened, part, removes,
//! notes, results, preview, views}`; one of `capture` and `investigation` is null, `part` is `{start?, end?, filter}` or null for all of it,
//! `removes` is a list of `arguments`, `paths`, `names`, `addresses`.
//!
//! * `GET /api/shares` (operator: own ones, admin: all) → `{allowed, can_allow, items:[share]}`, the one that was made last first.
//! * `POST /api/shares` (operator) `{capture, title?, days?, view?, part?, remove?, notes?, preview?}` or `{investigation, title?, days?,
//!   remove?, notes?, results?, preview?, views?}` → 201 and `{share, path, left_out}`: the link's path with its token, which nobody can be told
//!   again, and the parameters of the view that it does not have as they may have text that is removed; 409 while shares are not allowed,
//!   400 if a part is wanted of a capture that still changes, or something is to be removed from it. With `preview` whoever knows the id is
//!   shown the title and a picture. With `views` views on the investigation are read below `/s/ID/blocks/BLOCK`, as captures are.
//! * `DELETE /api/shares/{share}` (operator: own ones, admin: all) → 204, or 404. What is open ends.
//! * `POST /api/shares/allowed` (admin) `{allowed}` → 204.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_reader::CaptureView;
use bathyscope_store::Role;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Admin, InPerson, Operator, Who},
        error::ApiError,
        extract::{self, Path},
        share::{AskedShare, ShareError, ShareId, ShareItem, draw_share},
        state::{AppState, to_its_end},
    },
    investigations::first_rows,
};
use crate::investigations::plain_view;

/// The links.
#[derive(Serialize)]
pub(in crate::http) struct ShareList {
    /// Whether shares are allowed in this console.
    allowed: bool,
    /// Whether whoever asks may allow them, and take that back.
    can_allow: bool,
    items: Vec<ShareItem>,
}

/// Whose links somebody sees and revokes: their own, an admin all.
fn owner(who: &Who) -> Option<&str> {
    (who.role() < Role::Admin).then(|| who.user())
}

/// Lists shares: all for an admin, else those of whoever asks.
pub(in crate::http) async fn list(
    Operator(who): Operator,
    State(state): State<AppState>,
) -> Result<Json<ShareList>, ApiError> {
    let items = state.shares().list(owner(&who)).await?;
    Ok(Json(ShareList { allowed: state.shares().are_allowed(), can_allow: who.role() >= Role::Admin, items }))
}

/// A link that was just made.
#[derive(Serialize)]
pub(in crate::http) struct MadeShare {
    share: ShareItem,
    /// Its path, with the token.
    path: String,
    /// Parameters of the view that the link does not open it with, as they may have text that is removed.
    left_out: Vec<String>,
}

/// Makes a share of a capture or an investigation.
pub(in crate::http) async fn make(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(asked): extract::Json<AskedShare>,
) -> Result<Response, ApiError> {
    if !state.shares().are_allowed() {
        return Err(ShareError::NotAllowed.into());
    }
    if let Some(capture) = asked.object()?.capture() {
        state.seen(&who).right(capture).await?;
    }
    let drawn = draw_share().map_err(|error| ApiError::internal("drawing a random id", error))?;
    let picture = match asked.object()?.capture().filter(|_| asked.needs_look()) {
        Some(capture) => {
            let (view, asked) = (state.view(capture).await?, asked.clone());
            // That it has such a part is found out now; whoever opens the link does not wait for it.
            let look = move |view: &CaptureView, cancel: &_| asked.look(&drawn, view, cancel);
            state.workers().view(view, look).await?
        }
        None => match asked.investigation.filter(|_| asked.preview) {
            Some(investigation) => first_rows(&state, &who, investigation).await?.or_else(|| asked.usual_picture()),
            None => asked.usual_picture(),
        },
    };
    let left_out = if asked.remove.is_empty() { Vec::new() } else { plain_view(&asked.view).1 };
    let making = async move { state.shares().create(drawn, (asked, picture), (who.user(), who.role())).await };
    let (secret, share) = to_its_end(making).await??;
    let path = format!("/s/{}#{}", share.id, secret.reveal());
    Ok((StatusCode::CREATED, Json(MadeShare { share, path, left_out })).into_response())
}

/// The link in a path.
#[derive(Clone, Copy, Deserialize)]
pub(in crate::http) struct SharePath {
    share: ShareId,
}

/// Revokes a share.
pub(in crate::http) async fn revoke(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(SharePath { share }): Path<SharePath>,
) -> Result<StatusCode, ApiError> {
    let revoking = async move { state.shares().revoke(share, owner(&who), (who.user(), who.role())).await };
    match to_its_end(revoking).await?? {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(ApiError::not_found()),
    }
}

/// Whether shares are to be allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Allowed {
    allowed: bool,
}

/// Allows shares in this console, or takes that back.
pub(in crate::http) async fn allow(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    extract::Json(Allowed { allowed }): extract::Json<Allowed>,
) -> Result<StatusCode, ApiError> {
    let allowing = async move {
        state.shares().allow(allowed).await?;
        state.audit(&who.session, if allowed { "share.allow" } else { "share.forbid" }, "", "").await;
        Ok::<_, ApiError>(())
    };
    to_its_end(allowing).await??;
    Ok(StatusCode::NO_CONTENT)
}

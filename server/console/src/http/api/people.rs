//! Accounts, for admins, and everybody's tokens.
//!
//! A *person* is `{name, role, disabled_unix_ns, has_password, link_expires_unix_ns, created_unix_ns, last_login_unix_ns, sessions,
//! tokens, identity?}`; an *invitation* `{path, expires_unix_ns}`: the page on which the person chooses a password, once. None of it is done by a
//! token.
//!
//! * `GET /api/people` → `{items:[person], provider?}`, by name.
//! * `POST /api/people` `{name, role}` → 201 and an invitation; 409 if the name is taken.
//! * `PATCH /api/people/{name}` `{role?, disabled?, provider_login?}` → the person; 409 if nobody would be an admin any more.
//! * `POST /api/people/{name}/reset` → an invitation; the password is gone. 409 if the account is disabled.
//! * `DELETE /api/people/{name}` → 204; 409 if nobody would be an admin any more.
//! * `GET /api/tokens` → `{items:[token]}`, as `own` has them, of all.
//! * `DELETE /api/tokens/{token}` → 204, or 404.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_store::Role;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Admin, InPerson},
    error::ApiError,
    extract::{self, Path},
    people::{PasswordInvitation, PersonChange, PersonItem},
    state::{AppState, to_its_end},
    tokens::ApiTokenItem,
};

/// All accounts.
#[derive(Serialize)]
pub(in crate::http) struct PersonList {
    items: Vec<PersonItem>,
    /// What people call the OpenID Connect provider by which they log in; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
}

/// Where a person chooses a password, once.
#[derive(Serialize)]
pub(in crate::http) struct MadeInvitation {
    path: String,
    expires_unix_ns: i64,
}

impl From<PasswordInvitation> for MadeInvitation {
    fn from(PasswordInvitation { path, expires_unix_ns }: PasswordInvitation) -> Self {
        Self { path, expires_unix_ns }
    }
}

/// Who is to have an account.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct AskedPerson {
    name: String,
    role: Role,
}

/// The account in a path.
#[derive(Deserialize)]
pub(in crate::http) struct PersonPath {
    name: String,
}

/// The token in a path.
#[derive(Deserialize)]
pub(in crate::http) struct TokenPath {
    pub(in crate::http) token: String,
}

/// Tokens.
#[derive(Serialize)]
pub(in crate::http) struct TokenList {
    items: Vec<ApiTokenItem>,
}

/// Lists accounts of people.
pub(in crate::http) async fn list(
    _: InPerson<Admin>,
    State(state): State<AppState>,
) -> Result<Json<PersonList>, ApiError> {
    let provider = state.oidc().map(|oidc| oidc.name().to_owned());
    Ok(Json(PersonList { items: state.people().list().await?, provider }))
}

/// Makes an account for somebody.
pub(in crate::http) async fn add(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    extract::Json(AskedPerson { name, role }): extract::Json<AskedPerson>,
) -> Result<Response, ApiError> {
    let adding = async move { state.people().add(&name, role, (&who.session).into()).await };
    let invitation = to_its_end(adding).await??;
    Ok((StatusCode::CREATED, Json(MadeInvitation::from(invitation))).into_response())
}

/// Changes an account's role, disables or enables it.
pub(in crate::http) async fn change(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(PersonPath { name }): Path<PersonPath>,
    extract::Json(change): extract::Json<PersonChange>,
) -> Result<Json<PersonItem>, ApiError> {
    let changing = async move { state.people().change(&name, change, (&who.session).into()).await };
    Ok(Json(to_its_end(changing).await??))
}

/// Takes an account's password.
pub(in crate::http) async fn reset(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(PersonPath { name }): Path<PersonPath>,
) -> Result<Json<MadeInvitation>, ApiError> {
    let resetting = async move { state.people().reset(&name, (&who.session).into()).await };
    Ok(Json(to_its_end(resetting).await??.into()))
}

/// Removes an account of somebody.
pub(in crate::http) async fn remove(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(PersonPath { name }): Path<PersonPath>,
) -> Result<StatusCode, ApiError> {
    let removing = async move { state.people().remove(&name, (&who.session).into()).await };
    to_its_end(removing).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists everybody's tokens.
pub(in crate::http) async fn tokens(
    _: InPerson<Admin>,
    State(state): State<AppState>,
) -> Result<Json<TokenList>, ApiError> {
    Ok(Json(TokenList { items: state.people().tokens().list(None).await? }))
}

/// Revokes anybody's token.
pub(in crate::http) async fn revoke(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(TokenPath { token }): Path<TokenPath>,
) -> Result<StatusCode, ApiError> {
    let revoking = async move { state.people().revoke_token(&token, None, (&who.session).into()).await };
    to_its_end(revoking).await??.map(|_revoked| StatusCode::NO_CONTENT).ok_or_else(ApiError::not_found)
}

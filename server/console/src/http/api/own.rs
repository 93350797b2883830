//! What somebody has of their own: account, sessions, tokens; and choosing a password by a link.
//!
//! A *token* is `{id, owner, name, role, enabled, created_unix_ns, expires_unix_ns, last_used_unix_ns}`. None of it is done by a token.
//!
//! * `GET /api/own` → `{user, role, by, groups, account, password, sessions:[{…, current}], tokens:[token], least_chars, most_chars, days,
//!   most_days}`; `by` is `cookie` or `proxy`, `account` null or the person, as `people` has it; `groups` are those that the
//!   proxy or the provider has told of them at this login, to which rights may be given: `{origin, names, left_out}`, or null.
//! * `POST /api/own/password` `{old, new}` → 204; other sessions end. 400 if the old one is wrong, 429 after too many of those.
//! * `DELETE /api/own/sessions/{id}` → 204, or 404.
//! * `POST /api/own/tokens` `{name, role?, days?}` → 201 and `{token, item}`: its text, which nobody can be told again. 409 without an
//!   account.
//! * `DELETE /api/own/tokens/{token}` → 204, or 404.
//! * `POST /api/password` (anybody who has a link) `{token, password}` → `{name}`; whatever is wrong with the link is one 404.

use std::time::Instant;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::shown;
use bathyscope_store::{GroupOrigin, LoginGroups, Role};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Anonymous, InPerson, Viewer},
        context::Context,
        error::{ApiError, ErrorKind},
        extract::{self, Path},
        people::{PeopleError, PersonItem},
        session::{CameBy, SessionItem},
        state::{AppState, to_its_end},
        tokens::{ApiTokenItem, AskedToken, MOST_TOKEN_DAYS, TOKEN_DAYS},
    },
    people::TokenPath,
};
use crate::passwords::{LEAST_CHARS, MOST_CHARS};

/// What somebody has.
#[derive(Serialize)]
pub(in crate::http) struct OwnAccess {
    user: String,
    role: Role,
    /// By what they ask: `cookie` or `proxy`.
    by: &'static str,
    /// Groups that they are in by this login; none if nobody told of any.
    groups: Option<OwnGroups>,
    /// The account of the name; none where somebody has come by a link, or the proxy alone knows them.
    account: Option<PersonItem>,
    /// Their sessions, the one that was used last first.
    sessions: Vec<OwnSession>,
    /// Their tokens, the one that was made last first.
    tokens: Vec<ApiTokenItem>,
    /// The least number of characters of a password.
    least_chars: usize,
    /// The largest.
    most_chars: usize,
    /// How long a token lives if nothing is said.
    days: u32,
    /// The longest that one lives.
    most_days: u32,
}

/// Groups that somebody is in elsewhere.
#[derive(Serialize)]
struct OwnGroups {
    /// Who says so: `proxy` or `oidc`.
    origin: &'static str,
    /// Their names, which count for rights.
    names: Vec<String>,
    /// How many do not count: more than 256, or no names of groups.
    left_out: usize,
}

impl From<&LoginGroups> for OwnGroups {
    fn from(groups: &LoginGroups) -> Self {
        let origin = match groups.origin {
            GroupOrigin::Proxy => "proxy",
            GroupOrigin::Oidc => "oidc",
        };
        Self { origin, names: groups.names().map(shown).collect(), left_out: groups.left_out() }
    }
}

#[derive(Serialize)]
struct OwnSession {
    #[serde(flatten)]
    session: SessionItem,
    /// Whether it is the one that asks.
    current: bool,
}

fn failed(error: super::super::session::SessionError) -> ApiError {
    ApiError::internal("looking at sessions", error)
}

/// Tells who asks: account, sessions and tokens.
pub(in crate::http) async fn show(
    InPerson(Viewer(who)): InPerson<Viewer>,
    State(state): State<AppState>,
) -> Result<Json<OwnAccess>, ApiError> {
    let current = who.session.id();
    let all = state.sessions().list().await.map_err(failed)?.sessions;
    let is_own = |session: &SessionItem| session.user.eq_ignore_ascii_case(who.user());
    let own = |session: SessionItem| OwnSession { current: session.id == current, session };
    let account = state.people().one(who.user()).await?;
    let tokens = if account.is_some() { state.people().tokens().list(Some(who.user())).await? } else { Vec::new() };
    Ok(Json(OwnAccess {
        user: who.user().to_owned(),
        role: who.role(),
        by: if who.session.by() == CameBy::Proxy { "proxy" } else { "cookie" },
        groups: who.session.groups().map(OwnGroups::from),
        account,
        sessions: all.into_iter().filter(is_own).map(own).collect(),
        tokens,
        least_chars: LEAST_CHARS,
        most_chars: MOST_CHARS,
        days: TOKEN_DAYS,
        most_days: MOST_TOKEN_DAYS,
    }))
}

/// A password in place of another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewPassword {
    old: String,
    new: String,
}

/// Changes the own password.
pub(in crate::http) async fn change_password(
    InPerson(Viewer(who)): InPerson<Viewer>,
    State(state): State<AppState>,
    context: Context,
    headers: HeaderMap,
    extract::Json(NewPassword { old, new }): extract::Json<NewPassword>,
) -> Result<StatusCode, ApiError> {
    let source = state.source_of(&context, &headers);
    if !state.attempt_password(source, who.user()) {
        return Err(too_many("changing the password"));
    }
    let user = who.user().to_owned();
    let changing = state.clone();
    let changed = to_its_end(async move { changing.people().change_own(&who.session, old, new).await }).await?;
    if !matches!(changed, Err(PeopleError::WrongPassword)) {
        state.password_was_right(source, &user);
    }
    changed?;
    Ok(StatusCode::NO_CONTENT)
}

fn too_many(doing: &str) -> ApiError {
    ApiError::new(ErrorKind::TooMany, doing, "too many attempts have failed").remedy("Try again in some minutes.")
}

/// The session in a path.
#[derive(Deserialize)]
pub(in crate::http) struct OwnSessionPath {
    id: String,
}

/// Ends one of the own sessions.
pub(in crate::http) async fn end_session(
    InPerson(Viewer(who)): InPerson<Viewer>,
    State(state): State<AppState>,
    Path(OwnSessionPath { id }): Path<OwnSessionPath>,
) -> Result<StatusCode, ApiError> {
    let ending = async move {
        let all = state.sessions().list().await.map_err(failed)?.sessions;
        let is_it = |one: &SessionItem| one.id == id && one.user.eq_ignore_ascii_case(who.user());
        if !all.iter().any(is_it) {
            return Err(ApiError::not_found());
        }
        let user = state.sessions().end(&id).await.map_err(failed)?.ok_or_else(ApiError::not_found)?;
        state.audit(&who.session, "session.end", &user, &id).await;
        Ok(())
    };
    to_its_end(ending).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// A token that was just made.
#[derive(Serialize)]
pub(in crate::http) struct MadeApiToken {
    /// Its text.
    token: String,
    item: ApiTokenItem,
}

/// Makes a token for a program.
pub(in crate::http) async fn make_token(
    InPerson(Viewer(who)): InPerson<Viewer>,
    State(state): State<AppState>,
    extract::Json(asked): extract::Json<AskedToken>,
) -> Result<Response, ApiError> {
    let making = async move { state.people().make_token(who.user(), asked, (&who.session).into()).await };
    let (secret, item) = to_its_end(making).await??;
    let made = MadeApiToken { token: secret.reveal().to_owned(), item };
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

/// Revokes one of the own tokens.
pub(in crate::http) async fn revoke_token(
    InPerson(Viewer(who)): InPerson<Viewer>,
    State(state): State<AppState>,
    Path(TokenPath { token }): Path<TokenPath>,
) -> Result<StatusCode, ApiError> {
    let revoking = async move { state.people().revoke_token(&token, Some(who.user()), (&who.session).into()).await };
    to_its_end(revoking).await??.map(|_revoked| StatusCode::NO_CONTENT).ok_or_else(ApiError::not_found)
}

/// A password that somebody chooses by a link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ChosenPassword {
    token: String,
    password: String,
}

/// Whose password it is.
#[derive(Serialize)]
pub(in crate::http) struct ChosenFor {
    name: String,
}

/// Chooses a password by a link. A link cannot be guessed, so what others tried refuses none that is valid.
pub(in crate::http) async fn choose_password(
    _: Anonymous,
    State(state): State<AppState>,
    context: Context,
    headers: HeaderMap,
    extract::Json(ChosenPassword { token, password }): extract::Json<ChosenPassword>,
) -> Result<Json<ChosenFor>, ApiError> {
    if state.people().of_link(&token).await?.is_none() {
        let source = state.source_of(&context, &headers);
        if !state.login_limit().attempt(source, Instant::now()) {
            return Err(too_many("choosing a password"));
        }
        return Err(PeopleError::NoLink.into());
    }
    let choosing = async move { state.people().choose(&token, password).await };
    Ok(Json(ChosenFor { name: to_its_end(choosing).await?? }))
}

//! Logging in and out.

use std::{net::IpAddr, time::Instant};

use axum::{
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Response},
};
use bathyscope_store::Role;
use bathyscope_web::{Template as _, pages};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION, SET_COOKIE},
};
use serde::Deserialize;

use super::{
    access::{Anonymous, InPerson, Viewer, identity_of, removal_cookie, session_cookie, session_of, why_ended},
    context::Context,
    error::{ApiError, ErrorKind},
    extract::{Form, Query},
    next,
    session::{Secret, Session, SessionEnd, SessionError},
    sign_in::Oidc,
    site,
    state::{AppState, to_its_end},
};
use crate::audit::audit;

/// One answer for a token that is wrong, used or too old, so that nobody learns which.
const WRONG: &str = "This token is not valid: it was used, has expired, or was mistyped. Print another with \
                     `bathyscope login-link`.";
const TOO_MANY: &str = "This token is not valid, and too many attempts have failed. A valid one, printed by \
                        `bathyscope login-link`, logs in all the same.";

/// Who stands in the audit log where nobody has logged in; a name of an account has no blanks.
const NOBODY: &str = "not logged in";
/// One answer for a name that nobody has, a wrong password, and an account that is disabled or has no password yet.
const WRONG_PASSWORD: &str = "The name or the password is wrong, or nobody may log in by this account now.";
const TOO_MANY_PASSWORDS: &str = "Too many attempts to log in have failed, from your address, for this name, or in all. Try \
                                  again in some minutes, or log in with a link that `bathyscope login-link` prints.";

/// What is said to somebody who comes through a proxy that says who they are.
const BY_PROXY: &str =
    "The proxy in front of this console says who you are: open the start page. To log out, log out there.";

/// What the login page says of an address that it does not lead back to.
const ELSEWHERE: &str = "After the login the start page opens: the link to this page leads back to an address that is no \
                         page of this console.";

#[derive(Deserialize)]
struct LoginForm {
    /// Of a login link; none or empty where somebody has a password.
    token: Option<String>,
    /// Of an account; none where somebody has a link.
    name: Option<String>,
    #[serde(default)]
    password: String,
    /// The page that follows; empty for the start page.
    #[serde(default)]
    next: String,
}

/// What the address of the login page may say.
#[derive(Deserialize)]
pub(super) struct LoginQuery {
    /// The page that follows the login.
    #[serde(default)]
    next: String,
}

/// The page that asks for name and password, or a token. The token of a login link is in the fragment, which is never sent.
pub(super) async fn page(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
    Query(LoginQuery { next }): Query<LoginQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let why = why_ended(&headers, &state).map_or("", SessionEnd::words);
    let problem = if context.proxied().is_some() { BY_PROXY } else { why };
    if next.is_empty() {
        return login_page(&context, &state, StatusCode::OK, &LoginWords { problem, ..LoginWords::default() }).await;
    }
    if !next::is_own(&next) {
        let words = LoginWords { problem: ELSEWHERE, ..LoginWords::default() };
        return login_page(&context, &state, StatusCode::OK, &words).await;
    }
    // Who is logged in has followed a link from another site, with which the browser sends no cookie.
    if identity_of(&context, &headers, &state).await?.is_some() {
        return Ok(redirect(&next, None));
    }
    let ask_again = site::is_from_elsewhere(&headers);
    login_page(&context, &state, StatusCode::OK, &LoginWords { problem, next: &next, ask_again }).await
}

/// Refuses who logs in although the proxy in front says who asks.
pub(super) fn refuse_by_proxy(context: &Context) -> Result<(), ApiError> {
    let is_told = context.proxied().is_some();
    if is_told { Err(ApiError::new(ErrorKind::Conflict, "logging in", BY_PROXY)) } else { Ok(()) }
}

/// Goes on only if what should follow a login is a page of this console, or nothing. The address is not repeated: it may be anything.
pub(super) fn admit_next(next: &str) -> Result<(), ApiError> {
    if next.is_empty() || next::is_own(next) {
        return Ok(());
    }
    Err(ApiError::invalid("logging in", "the address that should follow is no page of this console"))
}

/// Exchanges a token, or name and password, for a session.
pub(super) async fn login(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    refuse_by_proxy(&context)?;
    let source = state.source_of(&context, request.headers());
    let replaces = session_of(request.headers(), &state).await?;
    let Form(form) = Form::from_request(request, &state).await?;
    let LoginForm { token, name, password, next } = form;
    if token.is_none() && name.is_none() {
        return Err(ApiError::invalid("reading the form", "it is not the expected form"));
    }
    // Before the token is used up.
    admit_next(&next)?;
    let begun = match (token.unwrap_or_default(), name) {
        (token, Some(name)) if token.is_empty() => by_password(&state, source, (&name, password), replaces).await?,
        (token, _) => by_token(&state, source, &token, replaces).await?,
    };
    let (secret, session) = match begun {
        Ok(begun) => begun,
        Err(Refused { status, problem }) => {
            let words = LoginWords { problem, next: &next, ask_again: false };
            return login_page(&context, &state, status, &words).await;
        }
    };
    state.audit(&session, "login", "", "").await;
    let cookie = session_cookie(secret.reveal(), state.hosts().is_secure());
    Ok(redirect(if next.is_empty() { "/" } else { &next }, Some(&cookie)))
}

/// Why there is no session: what the login page answers.
struct Refused {
    status: StatusCode,
    problem: &'static str,
}

type Begun = Result<(Secret, Session), Refused>;

fn failed(error: SessionError) -> ApiError {
    ApiError::internal("logging in", error)
}

/// Begins a session by a login link.
async fn by_token(state: &AppState, source: IpAddr, token: &str, replaces: Option<Session>) -> Result<Begun, ApiError> {
    // A person may paste the whole link.
    let token = token.rsplit("token=").next().unwrap_or_default().trim().to_owned();
    // A token has 256 random bits, so nobody guesses one: what others tried, from the same address too, refuses no token
    // that is valid. The limit is for attempts that fail, which fill the log.
    let refused = || {
        if !state.login_limit().attempt(source, Instant::now()) {
            return Err(Refused { status: StatusCode::TOO_MANY_REQUESTS, problem: TOO_MANY });
        }
        tracing::warn!("a login was refused");
        Err(Refused { status: StatusCode::UNAUTHORIZED, problem: WRONG })
    };
    if !state.sessions().is_login_token(&token).await.map_err(failed)? {
        return Ok(refused());
    }
    // Runs to its end even if the browser goes away: a used token without a session would be lost.
    let sessions = state.sessions().clone();
    let begun = to_its_end(async move { sessions.login(&token, replaces.as_ref()).await }).await?;
    Ok(begun.map_err(failed)?.map_or_else(refused, Ok))
}

/// Begins a session by name and password. Passwords can be guessed, so attempts are counted before anything is computed, and whoever
/// is over a limit is refused whatever they say.
async fn by_password(
    state: &AppState,
    source: IpAddr,
    (name, password): (&str, String),
    replaces: Option<Session>,
) -> Result<Begun, ApiError> {
    if !state.attempt_password(source, name) {
        return Ok(Err(Refused { status: StatusCode::TOO_MANY_REQUESTS, problem: TOO_MANY_PASSWORDS }));
    }
    let refused = async || {
        tracing::warn!("a login by password was refused");
        note_refused(state, source, name).await?;
        Ok::<_, ApiError>(Err(Refused { status: StatusCode::UNAUTHORIZED, problem: WRONG_PASSWORD }))
    };
    let Some((account, kept)) = state.people().verified(name, password).await? else { return refused().await };
    let sessions = state.sessions().clone();
    let begun = to_its_end(async move { sessions.login_by_password(&account, kept, replaces.as_ref()).await }).await?;
    let begun = begun.map_err(failed)?;
    if begun.is_some() {
        state.password_was_right(source, name);
    }
    match begun {
        Some(begun) => Ok(Ok(begun)),
        None => refused().await,
    }
}

/// Notes for ever that a login by password failed: of how many, the limits of attempts decide. The name is told if an account has it;
/// else it may be anything, such as a password that was typed in the wrong field.
async fn note_refused(state: &AppState, source: IpAddr, name: &str) -> Result<(), ApiError> {
    let account = state.store().account(name).await?;
    let (object, detail) = match &account {
        Some(account) => (account.name.as_str(), format!("by password, from {source}")),
        None => ("", format!("by password, with a name that no account has, from {source}")),
    };
    audit(state.store(), (NOBODY, Role::Viewer), "login.refused", (object, &detail)).await;
    Ok(())
}

/// Ends the session.
pub(super) async fn logout(
    InPerson(Viewer(who)): InPerson<Viewer>,
    State(state): State<AppState>,
) -> Result<Response, ApiError> {
    let sessions = state.sessions().clone();
    let session = who.session.clone();
    let ended = to_its_end(async move { sessions.logout(&session).await }).await?;
    ended.map_err(|error| ApiError::internal("logging out", error))?;
    state.audit(&who.session, "logout", "", "").await;
    Ok(redirect("/login", Some(&removal_cookie(state.hosts().is_secure()))))
}

/// What a login page says.
#[derive(Clone, Copy, Default)]
pub(super) struct LoginWords<'a> {
    /// Why there is no login yet; may be empty.
    pub(super) problem: &'a str,
    /// The page that follows, which is one of this console; empty for the start page.
    pub(super) next: &'a str,
    /// Whether the browser is to ask again by itself, so that it sends its cookie.
    pub(super) ask_again: bool,
}

pub(super) async fn login_page(
    context: &Context,
    state: &AppState,
    status: StatusCode,
    words: &LoginWords<'_>,
) -> Result<Response, ApiError> {
    let LoginWords { problem, next, ask_again } = *words;
    let has_accounts = state.people().are_there().await?;
    let provider = state.oidc().map(Oidc::name).unwrap_or_default();
    let html = pages::Login { nonce: context.nonce(), problem, next, ask_again, has_accounts, provider }.render();
    let html = html.map_err(|error| ApiError::internal("making the login page", error))?;
    // Written here although it is an error, so that the outer guard leaves it as it is.
    let mut response = (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    response.extensions_mut().insert(super::error::Written);
    Ok(response)
}

pub(super) fn redirect(to: &str, cookie: Option<&str>) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    if let Some(Ok(cookie)) = cookie.map(HeaderValue::from_str) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

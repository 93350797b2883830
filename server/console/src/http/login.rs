//! Logging in and out.

use std::{net::IpAddr, time::Instant};

use axum::{
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Response},
};
use bathyscope_web::{Template as _, pages};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION, SET_COOKIE},
};
use serde::Deserialize;

use super::{
    access::{Anonymous, Viewer, removal_cookie, session_cookie, session_of},
    context::Context,
    error::ApiError,
    extract::{Form, Query},
    next, site,
    state::AppState,
};

/// One answer for a token that is wrong, used or too old, so that nobody learns which.
const WRONG: &str = "This token is not valid: it was used, has expired, or was mistyped. Print another with \
                     `bathyscope login-link`.";
const TOO_MANY: &str = "This token is not valid, and too many attempts have failed. A valid one, printed by \
                        `bathyscope login-link`, logs in all the same.";

/// What the login page says of an address that it does not lead back to.
const ELSEWHERE: &str = "After the login the start page opens: the link to this page leads back to an address that is no \
                         page of this console.";

#[derive(Deserialize)]
struct LoginForm {
    token: String,
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

/// The page that asks for a token. The token of a login link is in the fragment, which is never sent.
pub(super) async fn page(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
    Query(LoginQuery { next }): Query<LoginQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if next.is_empty() {
        return login_page(&context, StatusCode::OK, &LoginWords::default());
    }
    if !next::is_own(&next) {
        return login_page(&context, StatusCode::OK, &LoginWords { problem: ELSEWHERE, ..LoginWords::default() });
    }
    // Who is logged in has followed a link from another site, with which the browser sends no cookie.
    if session_of(&headers, &state).await?.is_some() {
        return Ok(redirect(&next, None));
    }
    let ask_again = site::is_from_elsewhere(&headers);
    login_page(&context, StatusCode::OK, &LoginWords { next: &next, ask_again, ..LoginWords::default() })
}

/// Exchanges a token for a session.
pub(super) async fn login(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let source = state.source_of(&context, request.headers());
    let replaces = session_of(request.headers(), &state).await?;
    let Form(LoginForm { token, next }) = Form::from_request(request, &state).await?;
    if !next.is_empty() && !next::is_own(&next) {
        // Before the token is used up. The address is not repeated: it may be anything.
        return Err(ApiError::invalid("logging in", "the address that should follow is no page of this console"));
    }
    // A person may paste the whole link.
    let token = token.rsplit("token=").next().unwrap_or_default().trim().to_owned();
    let failed = |error| ApiError::internal("logging in", error);
    // A token has 256 random bits, so nobody guesses one: what others tried, from the same address too, refuses no token
    // that is valid. The limit is for attempts that fail, which fill the log.
    if !state.sessions().is_login_token(&token).await.map_err(failed)? {
        return refuse(&context, &state, source, &next);
    }
    // Runs to its end even if the browser goes away: a used token without a session would be lost.
    let sessions = state.sessions().clone();
    let login = tokio::spawn(async move { sessions.login(&token, replaces.as_ref()).await });
    let found = login.await.map_err(|error| ApiError::internal("logging in", error))?;
    let Some((secret, session)) = found.map_err(|error| ApiError::internal("logging in", error))? else {
        return refuse(&context, &state, source, &next);
    };
    state.audit(&session, "login", "", "").await;
    let cookie = session_cookie(secret.reveal(), state.hosts().is_secure());
    Ok(redirect(if next.is_empty() { "/" } else { &next }, Some(&cookie)))
}

/// The answer to a token that is not valid; another one to a source that has tried too often.
fn refuse(context: &Context, state: &AppState, source: IpAddr, next: &str) -> Result<Response, ApiError> {
    let words = |problem| LoginWords { problem, next, ask_again: false };
    if !state.login_limit().attempt(source, Instant::now()) {
        return login_page(context, StatusCode::TOO_MANY_REQUESTS, &words(TOO_MANY));
    }
    tracing::warn!("a login was refused");
    login_page(context, StatusCode::UNAUTHORIZED, &words(WRONG))
}

/// Ends the session.
pub(super) async fn logout(Viewer(who): Viewer, State(state): State<AppState>) -> Result<Response, ApiError> {
    let sessions = state.sessions().clone();
    let session = who.session.clone();
    let logout = tokio::spawn(async move { sessions.logout(&session).await });
    let ended = logout.await.map_err(|error| ApiError::internal("logging out", error))?;
    ended.map_err(|error| ApiError::internal("logging out", error))?;
    state.audit(&who.session, "logout", "", "").await;
    Ok(redirect("/login", Some(&removal_cookie(state.hosts().is_secure()))))
}

/// What a login page says.
#[derive(Clone, Copy, Default)]
struct LoginWords<'a> {
    /// Why there is no login yet; may be empty.
    problem: &'a str,
    /// The page that follows, which is one of this console; empty for the start page.
    next: &'a str,
    /// Whether the browser is to ask again by itself, so that it sends its cookie.
    ask_again: bool,
}

fn login_page(context: &Context, status: StatusCode, words: &LoginWords<'_>) -> Result<Response, ApiError> {
    let LoginWords { problem, next, ask_again } = *words;
    let html = pages::Login { nonce: context.nonce(), problem, next, ask_again }.render();
    let html = html.map_err(|error| ApiError::internal("making the login page", error))?;
    // Written here although it is an error, so that the outer guard leaves it as it is.
    let mut response = (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    response.extensions_mut().insert(super::error::Written);
    Ok(response)
}

fn redirect(to: &str, cookie: Option<&str>) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    if let Some(Ok(cookie)) = cookie.map(HeaderValue::from_str) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

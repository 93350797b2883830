//! Logging in and out.

use std::{net::IpAddr, time::Instant};

use axum::{
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Response},
};
use bathyscope_web::{Template as _, pages};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION, SET_COOKIE},
};
use serde::Deserialize;

use super::{
    access::{Anonymous, Viewer, removal_cookie, session_cookie, session_of},
    context::Context,
    error::ApiError,
    extract::Form,
    state::AppState,
};

/// One answer for a token that is wrong, used or too old, so that nobody learns which.
const WRONG: &str = "This token is not valid: it was used, has expired, or was mistyped. Print another with \
                     `bathyscope login-link`.";
const TOO_MANY: &str = "This token is not valid, and too many attempts have failed. A valid one, printed by \
                        `bathyscope login-link`, logs in all the same.";

#[derive(Deserialize)]
struct LoginForm {
    token: String,
}

/// The page that asks for a token. The token of a login link is in the fragment, which is never sent.
pub(super) async fn page(_: Anonymous, context: Context) -> Result<Response, ApiError> {
    login_page(&context, StatusCode::OK, "")
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
    let Form(LoginForm { token }) = Form::from_request(request, &state).await?;
    // A person may paste the whole link.
    let token = token.rsplit("token=").next().unwrap_or_default().trim().to_owned();
    let failed = |error| ApiError::internal("logging in", error);
    // A token has 256 random bits, so nobody guesses one: what others tried, from the same address too, refuses no token
    // that is valid. The limit is for attempts that fail, which fill the log.
    if !state.sessions().is_login_token(&token).await.map_err(failed)? {
        return refuse(&context, &state, source);
    }
    // Runs to its end even if the browser goes away: a used token without a session would be lost.
    let sessions = state.sessions().clone();
    let login = tokio::spawn(async move { sessions.login(&token, replaces.as_ref()).await });
    let found = login.await.map_err(|error| ApiError::internal("logging in", error))?;
    let Some((secret, session)) = found.map_err(|error| ApiError::internal("logging in", error))? else {
        return refuse(&context, &state, source);
    };
    state.audit(&session, "login", "", "").await;
    let cookie = session_cookie(secret.reveal(), state.hosts().is_secure());
    Ok(redirect("/", &cookie))
}

/// The answer to a token that is not valid; another one to a source that has tried too often.
fn refuse(context: &Context, state: &AppState, source: IpAddr) -> Result<Response, ApiError> {
    if !state.login_limit().attempt(source, Instant::now()) {
        return login_page(context, StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    }
    tracing::warn!("a login was refused");
    login_page(context, StatusCode::UNAUTHORIZED, WRONG)
}

/// Ends the session.
pub(super) async fn logout(Viewer(who): Viewer, State(state): State<AppState>) -> Result<Response, ApiError> {
    let sessions = state.sessions().clone();
    let session = who.session.clone();
    let logout = tokio::spawn(async move { sessions.logout(&session).await });
    let ended = logout.await.map_err(|error| ApiError::internal("logging out", error))?;
    ended.map_err(|error| ApiError::internal("logging out", error))?;
    state.audit(&who.session, "logout", "", "").await;
    Ok(redirect("/login", &removal_cookie(state.hosts().is_secure())))
}

fn login_page(context: &Context, status: StatusCode, problem: &str) -> Result<Response, ApiError> {
    let html = pages::Login { nonce: context.nonce(), problem }.render();
    let html = html.map_err(|error| ApiError::internal("making the login page", error))?;
    // Written here although it is an error, so that the outer guard leaves it as it is.
    let mut response = (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    response.extensions_mut().insert(super::error::Written);
    Ok(response)
}

fn redirect(to: &'static str, cookie: &str) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

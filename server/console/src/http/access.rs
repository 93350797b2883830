//! Who may: the first argument of every handler says the least role that it needs.
//!
//! The role is decided here, in the handler's own extractor, never by looking at the path. A role that does not suffice
//! gets the same answer as an address that does not exist; only pages, which everybody knows of, say that they are for others.

use axum::extract::FromRequestParts;
use bathyscope_store::Role;
use bathyscope_web::pages;
use http::{HeaderMap, header::COOKIE, request::Parts};

use super::{
    context::{Context, RouteKind},
    error::{ApiError, ErrorKind},
    session::Session,
    site,
    slots::Slot,
    state::AppState,
};

/// The name of the session cookie.
pub const COOKIE_NAME: &str = "bathyscope_session";
/// The most cookies of that name that are tried: other programs of this host can set some too.
const COOKIES_TRIED: usize = 4;

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub struct Who {
    /// Their session.
    pub session: Session,
}

impl Who {
    /// The name that captures and the audit log carry.
    pub fn user(&self) -> &str {
        self.session.user()
    }

    /// What they may do.
    pub fn role(&self) -> Role {
        self.session.role()
    }

    /// What pages show of them.
    pub fn frame(&self, page: pages::Nav) -> pages::Frame<'_> {
        let can_record = self.role() >= Role::Operator;
        pages::Frame { user: self.user(), role: self.role().as_str(), can_record, page }
    }
}

/// What stands first among a handler's arguments.
pub trait Access {
    /// The least role; none where nobody needs to be logged in.
    const LEAST: Option<Role>;
}

/// Anybody, logged in or not.
#[derive(Clone, Copy, Debug)]
pub struct Anonymous;
/// Somebody who may read.
#[derive(Clone, Debug)]
pub struct Viewer(pub Who);
/// Somebody who may also record.
#[derive(Clone, Debug)]
pub struct Operator(pub Who);
/// Somebody who may do everything.
#[derive(Clone, Debug)]
pub struct Admin(pub Who);

impl Access for Anonymous {
    const LEAST: Option<Role> = None;
}

impl Access for Viewer {
    const LEAST: Option<Role> = Some(Role::Viewer);
}

impl Access for Operator {
    const LEAST: Option<Role> = Some(Role::Operator);
}

impl Access for Admin {
    const LEAST: Option<Role> = Some(Role::Admin);
}

impl FromRequestParts<AppState> for Anonymous {
    type Rejection = ApiError;

    async fn from_request_parts(_parts: &mut Parts, _state: &AppState) -> Result<Self, ApiError> {
        Ok(Self)
    }
}

impl FromRequestParts<AppState> for Viewer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        admit(parts, state, Role::Viewer).await.map(Self)
    }
}

impl FromRequestParts<AppState> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        admit(parts, state, Role::Operator).await.map(Self)
    }
}

impl FromRequestParts<AppState> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        admit(parts, state, Role::Admin).await.map(Self)
    }
}

impl<S: Sync> FromRequestParts<S> for Context {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let context = parts.extensions.get::<Self>().cloned();
        context.ok_or_else(|| ApiError::new(ErrorKind::Internal, "serving a request", "it has not passed the guard"))
    }
}

async fn admit(parts: &mut Parts, state: &AppState, least: Role) -> Result<Who, ApiError> {
    let context = Context::from_request_parts(parts, state).await?;
    let Some(session) = session_of(&parts.headers, state).await? else {
        return Err(ApiError::unauthenticated());
    };
    if let Some(slot) = parts.extensions.get::<Slot>() {
        slot.used_by(&session);
    }
    let who = Who { session };
    context.set_who(who.clone());
    if who.role() < least {
        let is_page = context.kind() == Some(RouteKind::Page);
        return Err(if is_page { ApiError::read_only(who.user(), who.role()) } else { ApiError::not_found() });
    }
    let from_own_page = || site::is_same_origin(&parts.headers, state.hosts().scheme(), context.host());
    if context.kind() == Some(RouteKind::Stream) && !from_own_page() {
        return Err(ApiError::new(
            ErrorKind::CrossSite,
            "opening an event stream",
            "the request does not come from a page of this console",
        ));
    }
    Ok(who)
}

/// The session that a request's cookie names, if there is one.
///
/// # Errors
/// If the store fails.
pub(super) async fn session_of(headers: &HeaderMap, state: &AppState) -> Result<Option<Session>, ApiError> {
    let values = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let cookies = values.flat_map(cookie::Cookie::split_parse).filter_map(Result::ok);
    for cookie in cookies.filter(|cookie| cookie.name() == COOKIE_NAME).take(COOKIES_TRIED) {
        let found = state.sessions().find(cookie.value()).await;
        if let Some(session) = found.map_err(|error| ApiError::internal("looking up the session", error))? {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

/// The cookie that carries a session.
pub(super) fn session_cookie(secret: &str, secure: bool) -> String {
    cookie(secret, secure).build().to_string()
}

/// The cookie that removes the session's.
pub(super) fn removal_cookie(secure: bool) -> String {
    cookie("", secure).max_age(cookie::time::Duration::ZERO).build().to_string()
}

fn cookie(value: &str, secure: bool) -> cookie::CookieBuilder<'_> {
    cookie::Cookie::build((COOKIE_NAME, value))
        .path("/")
        .http_only(true)
        .same_site(cookie::SameSite::Strict)
        .secure(secure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p05_cookies_are_strict_and_out_of_reach_of_scripts() {
        assert_eq!(session_cookie("ab", false), "bathyscope_session=ab; HttpOnly; SameSite=Strict; Path=/");
        assert_eq!(session_cookie("ab", true), "bathyscope_session=ab; HttpOnly; SameSite=Strict; Secure; Path=/");
        assert!(removal_cookie(false).contains("Max-Age=0"));
    }
}

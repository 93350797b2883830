//! Who may: the first argument of every handler says the least role that it needs.
//!
//! The role is decided here, in the handler's own extractor, never by looking at the path. A role that does not suffice
//! gets the same answer as an address that does not exist; only pages, which everybody knows of, say that they are for others.

use axum::extract::{FromRequestParts, RawPathParams};
use bathyscope_capture::CaptureId;
use bathyscope_reader::CaptureView;
use bathyscope_store::{InvestigationId, Role};
use bathyscope_web::pages;
use http::{HeaderMap, header::COOKIE, request::Parts};

use super::{
    context::{Context, RouteKind},
    error::{ApiError, ErrorKind},
    session::Session,
    share::{Share, SharedObject},
    site,
    slots::Slot,
    state::AppState,
};

/// The name of the session cookie.
pub const COOKIE_NAME: &str = "bathyscope_session";
/// The name of the cookie that holds a share's token, for the addresses of that share alone.
pub const SHARE_COOKIE_NAME: &str = "bathyscope_share";
/// Below which everything is read by a share.
pub const SHARE_PREFIX: &str = "/s/{share}";
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
    /// Whether a share of what is asked for does too, below the share's own address.
    const BY_SHARE: bool = false;
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

/// Whoever may read a capture: somebody who is logged in, or who has a share of it.
#[derive(Clone, Debug)]
pub struct Reader {
    by: ReadBy,
}

/// Whoever may read an investigation: somebody who is logged in, or who has a share of it.
#[derive(Clone, Debug)]
pub struct InvestigationReader {
    by: ReadBy,
}

#[derive(Clone, Debug)]
enum ReadBy {
    Login(Who),
    Share(Share),
}

impl ReadBy {
    fn who(&self) -> Option<&Who> {
        match self {
            Self::Login(who) => Some(who),
            Self::Share(_) => None,
        }
    }

    fn share(&self) -> Option<&Share> {
        match self {
            Self::Login(_) => None,
            Self::Share(share) => Some(share),
        }
    }

    /// Goes on only for what may be read.
    fn admit(&self, object: SharedObject) -> Result<(), ApiError> {
        if self.share().is_none_or(|share| share.object() == object) { Ok(()) } else { Err(ApiError::no_share()) }
    }
}

/// Somebody who has a share of a capture, logged in or not.
#[derive(Clone, Debug)]
pub struct CaptureShareHolder(pub Share);
/// Somebody who has a share of an investigation, logged in or not.
#[derive(Clone, Debug)]
pub struct InvestigationShareHolder(pub Share);

impl InvestigationReader {
    /// Who is logged in; none by a share.
    pub fn who(&self) -> Option<&Who> {
        self.by.who()
    }

    /// The share; none if somebody is logged in.
    pub fn share(&self) -> Option<&Share> {
        self.by.share()
    }

    /// Goes on only for an investigation that may be read.
    pub(super) fn admit(&self, id: InvestigationId) -> Result<(), ApiError> {
        self.by.admit(SharedObject::Investigation(id))
    }
}

impl Reader {
    /// Who is logged in; none by a share.
    pub fn who(&self) -> Option<&Who> {
        self.by.who()
    }

    /// The share; none if somebody is logged in.
    pub fn share(&self) -> Option<&Share> {
        self.by.share()
    }

    /// Goes on only for a capture that may be read.
    fn admit(&self, id: CaptureId) -> Result<(), ApiError> {
        self.by.admit(SharedObject::Capture(id))
    }

    /// Goes on only if all of a capture may be read; `what` is told to be not in the share else.
    pub(super) fn admit_whole(&self, id: CaptureId, what: &str) -> Result<(), ApiError> {
        self.admit(id)?;
        if self.share().is_some_and(|share| share.part().is_some()) {
            return Err(ApiError::not_shared(what));
        }
        Ok(())
    }

    /// A snapshot of what may be read of a capture: all of it, or the only part that the share shows.
    pub(super) async fn view(&self, state: &AppState, id: CaptureId) -> Result<CaptureView, ApiError> {
        self.admit(id)?;
        let view = state.view(id).await?;
        let Some((share, part)) = self.share().and_then(|share| Some((share.id(), share.part()?.clone()))) else {
            return Ok(view);
        };
        let narrow = move |view: &CaptureView, cancel: &_| view.narrowed(share.bits(), &part.scope(view)?, cancel);
        state.workers().view(view, narrow).await
    }

    /// Waits until they may not read any more.
    pub(super) async fn over(self) {
        match self.by {
            ReadBy::Login(who) => who.session.over().await,
            ReadBy::Share(share) => share.over().await,
        }
    }
}

impl Access for Reader {
    const LEAST: Option<Role> = Some(Role::Viewer);
    const BY_SHARE: bool = true;
}

impl Access for InvestigationReader {
    const LEAST: Option<Role> = Some(Role::Viewer);
    const BY_SHARE: bool = true;
}

impl Access for CaptureShareHolder {
    const LEAST: Option<Role> = None;
}

impl Access for InvestigationShareHolder {
    const LEAST: Option<Role> = None;
}

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

impl FromRequestParts<AppState> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        read_by(parts, state, capture_named).await.map(|by| Self { by })
    }
}

impl FromRequestParts<AppState> for InvestigationReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        read_by(parts, state, investigation_named).await.map(|by| Self { by })
    }
}

impl FromRequestParts<AppState> for CaptureShareHolder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        share_of(parts, state, capture_named).await.map(Self)
    }
}

impl FromRequestParts<AppState> for InvestigationShareHolder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        share_of(parts, state, investigation_named).await.map(Self)
    }
}

/// What a path names, as the extractor reads it.
type Named = fn(&str) -> Option<SharedObject>;

fn capture_named(id: &str) -> Option<SharedObject> {
    id.parse().ok().map(SharedObject::Capture)
}

fn investigation_named(id: &str) -> Option<SharedObject> {
    id.parse().ok().map(SharedObject::Investigation)
}

/// By which way somebody reads is decided by the route, never by what the request has in it.
async fn read_by(parts: &mut Parts, state: &AppState, named: Named) -> Result<ReadBy, ApiError> {
    let context = Context::from_request_parts(parts, state).await?;
    if context.route().is_some_and(|path| path.starts_with(SHARE_PREFIX)) {
        let share = share_of(parts, state, named).await?;
        admit_stream(parts, state, &context)?;
        return Ok(ReadBy::Share(share));
    }
    admit(parts, state, Role::Viewer).await.map(ReadBy::Login)
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
    admit_stream(parts, state, &context)?;
    Ok(who)
}

/// Refuses a stream that another site's page opens.
fn admit_stream(parts: &Parts, state: &AppState, context: &Context) -> Result<(), ApiError> {
    let from_own_page = || site::is_same_origin(&parts.headers, state.hosts().scheme(), context.host());
    if context.kind() == Some(RouteKind::Stream) && !from_own_page() {
        return Err(ApiError::new(
            ErrorKind::CrossSite,
            "opening an event stream",
            "the request does not come from a page of this console",
        ));
    }
    Ok(())
}

/// The share that a request's address names, if its cookie has the token and what the address names is what the share shows (P07).
async fn share_of(parts: &mut Parts, state: &AppState, named: Named) -> Result<Share, ApiError> {
    let Ok(path) = RawPathParams::from_request_parts(parts, state).await else { return Err(ApiError::no_share()) };
    let value = |name: &str| path.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    let Some(id) = value("share").and_then(|id| id.parse().ok()) else { return Err(ApiError::no_share()) };
    let Some(object) = value("id").and_then(|id| named(&id)) else { return Err(ApiError::no_share()) };
    for token in cookies(&parts.headers, SHARE_COOKIE_NAME) {
        let Some(share) = state.shares().find(id, &token, false).await? else { continue };
        // What was deleted takes its links with it.
        if share.object() == object && object.title(state.store()).await?.is_some() {
            return Ok(share);
        }
        break;
    }
    Err(ApiError::no_share())
}

/// The values of the cookies of a name, as many as are tried.
fn cookies(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let cookies = values.flat_map(cookie::Cookie::split_parse).filter_map(Result::ok);
    cookies.filter(|cookie| cookie.name() == name).take(COOKIES_TRIED).map(|cookie| cookie.value().to_owned()).collect()
}

/// The session that a request's cookie names, if there is one.
///
/// # Errors
/// If the store fails.
pub(super) async fn session_of(headers: &HeaderMap, state: &AppState) -> Result<Option<Session>, ApiError> {
    for cookie in cookies(headers, COOKIE_NAME) {
        let found = state.sessions().find(&cookie).await;
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

/// The cookie that carries a share's token to the addresses of that share. The browser forgets it when it is closed.
pub(super) fn share_cookie(share: &Share, token: &str, secure: bool) -> String {
    let path = format!("/s/{}", share.id());
    let cookie = cookie::Cookie::build((SHARE_COOKIE_NAME, token)).path(path).http_only(true);
    cookie.same_site(cookie::SameSite::Strict).secure(secure).build().to_string()
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

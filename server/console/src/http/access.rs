//! Who may: the first argument of every handler says the least role that it needs.
//!
//! The role is decided here, in the handler's own extractor, never by looking at the path. A role that does not suffice
//! gets the same answer as an address that does not exist; only pages, which everybody knows of, say that they are for others.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use bathyscope_capture::CaptureId;
use bathyscope_reader::{CaptureView, Removal};
use bathyscope_store::{InvestigationId, Role, Sight, StoreChange, StoreError};
use bathyscope_web::pages;
use http::{
    HeaderMap,
    header::{AUTHORIZATION, COOKIE},
    request::Parts,
};
use tokio::sync::broadcast::error::RecvError;

use super::{
    context::{Context, RouteKind},
    error::{ApiError, ErrorKind},
    session::{CameBy, Session, SessionEnd},
    share::{Share, SharedObject},
    site,
    slots::Slot,
    state::AppState,
    tokens::TOKEN_PREFIX,
};

/// The name of the session cookie.
pub const COOKIE_NAME: &str = "bathyscope_session";
/// The name of the cookie that holds a share's token, for the addresses of that share alone.
pub const SHARE_COOKIE_NAME: &str = "bathyscope_share";
/// The name of the cookie of a login that was begun at a provider.
pub(super) const SIGN_IN_COOKIE_NAME: &str = "bathyscope_sign_in";
/// Below which everything is read by a share.
pub const SHARE_PREFIX: &str = "/s/{share}";
/// Below which the views that stand on a shared investigation are read, each by the block that has it.
pub const SHARED_BLOCK_PREFIX: &str = "/s/{share}/blocks/{block}";
/// The most cookies of that name that are tried: other programs of this host can set some too.
const COOKIES_TRIED: usize = 4;

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub struct Who {
    /// Their session.
    pub session: Session,
    /// Which captures they see.
    pub(super) sight: Sight,
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

    /// Which captures they see.
    pub fn sight(&self) -> &Sight {
        &self.sight
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
    /// Whether a token does not: what manages access.
    const IN_PERSON: bool = false;
}

/// Somebody who asks themselves, and no program of theirs by a token: whatever manages who may come in, and as what.
#[derive(Clone, Copy, Debug)]
pub struct InPerson<A>(pub A);

/// What knows who is logged in.
pub trait LoggedIn {
    /// Who it is.
    fn who(&self) -> &Who;
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
    /// Somebody who is logged in.
    pub(super) fn of(who: Who) -> Self {
        Self { by: ReadBy::Login(who) }
    }

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

/// Goes with a question that the console asks itself, for a file: as whom. No request from outside has it, as it is no part of what is
/// sent.
#[derive(Clone, Debug)]
pub(super) struct Inside(pub(super) Reader);

impl Reader {
    /// Somebody who is logged in.
    pub(super) fn of(who: Who) -> Self {
        Self { by: ReadBy::Login(who) }
    }

    /// Who is logged in; none by a share.
    pub fn who(&self) -> Option<&Who> {
        self.by.who()
    }

    /// The share; none if somebody is logged in.
    pub fn share(&self) -> Option<&Share> {
        self.by.share()
    }

    /// Goes on only for a capture that may be read.
    pub(super) fn admit(&self, id: CaptureId) -> Result<(), ApiError> {
        self.by.admit(SharedObject::Capture(id))
    }

    /// Goes on only if the capture that a question of the console's own names may be read: rights are looked up for each answer, as they
    /// are for requests from outside (P08); of a share each handler checks what it shows.
    async fn admit_inside(&self, parts: &mut Parts, state: &AppState) -> Result<(), ApiError> {
        let Some(who) = self.who().filter(|who| who.sight.is_narrow()) else { return Ok(()) };
        admit_named(parts, state, who).await
    }

    /// Goes on only if all of a capture may be read; `what` is told to be not in the share else.
    pub(super) fn admit_whole(&self, id: CaptureId, what: &str) -> Result<(), ApiError> {
        self.admit_unchanged(id, what)?;
        if self.share().is_some_and(|share| share.part().is_some()) {
            return Err(ApiError::not_shared(what));
        }
        Ok(())
    }

    /// Goes on only if nothing is removed from what may be read of a capture; `what` is told to be not in the share else. It is for
    /// what is read beside the rows, from which nothing can be removed.
    pub(super) fn admit_unchanged(&self, id: CaptureId, what: &str) -> Result<(), ApiError> {
        self.admit(id)?;
        if self.removal().is_some() {
            return Err(ApiError::not_shared(what));
        }
        Ok(())
    }

    /// What is removed from what may be read; none if nothing is.
    pub(super) fn removal(&self) -> Option<&Arc<Removal>> {
        self.share().and_then(|share| share.choices().removal())
    }

    /// Goes on only for a capture that is read beside the one that the route names, and that may be read too: routes look at the one
    /// that they name alone. By a share no other one may.
    pub(super) async fn admit_other(&self, state: &AppState, id: CaptureId) -> Result<(), ApiError> {
        self.admit(id)?;
        if let Some(who) = self.who() {
            state.seen(who).right(id).await?;
        }
        Ok(())
    }

    /// A snapshot of what may be read of a capture: all of it, or the only part that the share shows, without what it removes.
    pub(super) async fn view(&self, state: &AppState, id: CaptureId) -> Result<CaptureView, ApiError> {
        self.admit(id)?;
        let view = state.view(id).await?;
        let Some(share) = self.share() else { return Ok(view) };
        let (name, part, removal) = (share.part_name(), share.part().cloned(), self.removal().cloned());
        if part.is_none() && removal.is_none() {
            return Ok(view);
        }
        let leave = move |whole: &CaptureView, cancel: &_| {
            // The part is found by what was recorded.
            let part = match part {
                Some(part) => whole.narrowed(name, &part.scope(whole)?, cancel)?,
                None => whole.clone(),
            };
            match removal {
                Some(removal) => part.without(&removal, Some(name), cancel),
                None => Ok(part),
            }
        };
        state.workers().view(view, leave).await
    }

    /// Waits until they may not read this capture any more.
    pub(super) async fn over(self, state: AppState, id: CaptureId) {
        match self.by {
            ReadBy::Login(who) => {
                let unseen = unseen(&state, &who, id);
                tokio::select! {
                    () = who.session.over() => {}
                    () = unseen => {}
                }
            }
            ReadBy::Share(share) => share.over().await,
        }
    }
}

impl Access for Reader {
    const LEAST: Option<Role> = Some(Role::Viewer);
    const BY_SHARE: bool = true;
}

impl LoggedIn for Viewer {
    fn who(&self) -> &Who {
        &self.0
    }
}

impl LoggedIn for Operator {
    fn who(&self) -> &Who {
        &self.0
    }
}

impl LoggedIn for Admin {
    fn who(&self) -> &Who {
        &self.0
    }
}

impl<A: Access> Access for InPerson<A> {
    const LEAST: Option<Role> = A::LEAST;
    const IN_PERSON: bool = true;
}

impl<A> FromRequestParts<AppState> for InPerson<A>
where
    A: LoggedIn + FromRequestParts<AppState, Rejection = ApiError> + Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let found = A::from_request_parts(parts, state).await?;
        if found.who().session.by() == CameBy::Token {
            return Err(ApiError::new(
                ErrorKind::InPerson,
                "managing access",
                "no token may do this, whatever its role",
            )
            .remedy("Do it in a browser, or at a terminal with `bathyscope people` and `bathyscope tokens`."));
        }
        Ok(Self(found))
    }
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
        if let Some(Inside(reader)) = parts.extensions.get() {
            let reader = reader.clone();
            reader.admit_inside(parts, state).await?;
            return Ok(reader);
        }
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

/// Waits until somebody who is logged in does not see a capture any more.
async fn unseen(state: &AppState, who: &Who, id: CaptureId) {
    let mut changes = state.store().changes();
    loop {
        match changes.recv().await {
            Ok(StoreChange::Rights) | Err(RecvError::Lagged(_)) => {}
            Ok(_) => continue,
            Err(RecvError::Closed) => return,
        }
        let Ok(sight) = sight_of(state, &who.session).await else { return };
        if state.store().seen_by(&sight).right(id).await.is_err() {
            return;
        }
    }
}

/// Which captures somebody sees: an admin all.
///
/// # Errors
/// The store's.
pub(super) async fn sight_of(state: &AppState, session: &Session) -> Result<Sight, StoreError> {
    if session.role() >= Role::Admin {
        return Ok(Sight::ALL);
    }
    state.store().sight_in(session.user(), session.groups()).await
}

/// What whoever made a link sees now. Groups elsewhere are of a login, and a link has none.
pub(super) async fn sight_of_maker(state: &AppState, share: &Share) -> Result<Sight, ApiError> {
    let account = state.store().account(share.owner()).await?;
    let is_admin = account.is_some_and(|account| account.role >= Role::Admin && account.disabled_unix_ns.is_none());
    Ok(if is_admin { Sight::ALL } else { state.store().sight(share.owner()).await? })
}

/// Routes below these are of one capture. The router's own words are compared, not an address.
const OF_CAPTURES: [&str; 2] = ["/api/captures/{id}", "/captures/{id}"];

/// Goes on only if somebody sees the capture that the route names, if it names one: what they do not see is not there (P08).
async fn admit_capture(parts: &mut Parts, state: &AppState, (context, who): (&Context, &Who)) -> Result<(), ApiError> {
    let is_below = |base: &str, path: &str| path.strip_prefix(base).is_some_and(|r| r.is_empty() || r.starts_with('/'));
    let of_capture = context.route().is_some_and(|path| OF_CAPTURES.iter().any(|base| is_below(base, path)));
    if !of_capture || !who.sight.is_narrow() {
        return Ok(());
    }
    admit_named(parts, state, who).await
}

/// Goes on only if somebody sees the capture in the path.
async fn admit_named(parts: &mut Parts, state: &AppState, who: &Who) -> Result<(), ApiError> {
    let Ok(path) = RawPathParams::from_request_parts(parts, state).await else { return Err(ApiError::not_found()) };
    let id = path.iter().find(|(key, _)| *key == "id").and_then(|(_, id)| id.parse().ok());
    state.seen(who).right(id.ok_or_else(ApiError::not_found)?).await?;
    Ok(())
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
    let Some(session) = identity_of(&context, &parts.headers, state).await? else {
        return Err(ApiError::unauthenticated(why_ended(&parts.headers, state)));
    };
    if let Some(slot) = parts.extensions.get::<Slot>() {
        slot.used_by(&session);
    }
    let sight = sight_of(state, &session).await?;
    let who = Who { session, sight };
    context.set_who(who.clone());
    if who.role() < least {
        let is_page = context.kind() == Some(RouteKind::Page);
        return Err(if is_page { ApiError::read_only(who.user(), who.role(), least) } else { ApiError::not_found() });
    }
    admit_stream(parts, state, &context)?;
    admit_capture(parts, state, (&context, &who)).await?;
    Ok(who)
}

/// Refuses a stream that another site's page opens.
fn admit_stream(parts: &Parts, state: &AppState, context: &Context) -> Result<(), ApiError> {
    // A program says by a token who it is, which no browser sends by itself.
    let by_program = token_in(&parts.headers).is_some() && site::is_no_browser(&parts.headers);
    let from_own_page = || by_program || site::is_same_origin(&parts.headers, state.hosts().scheme(), context.host());
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
    let context = Context::from_request_parts(parts, state).await?;
    let is_of_block = context.route().is_some_and(|route| route.starts_with(SHARED_BLOCK_PREFIX));
    let block = value("block").filter(|_| is_of_block);
    for token in cookies(&parts.headers, SHARE_COOKIE_NAME) {
        let Some(share) = state.shares().find(id, &token, false).await? else { continue };
        let share = match &block {
            Some(block) => {
                let found = share.of_block(state.store(), block).await?.ok_or_else(ApiError::no_share)?;
                // What its maker does not see is on no page that they share.
                let Some(capture) = found.object().capture() else { break };
                let sight = sight_of_maker(state, &share).await?;
                if state.store().seen_by(&sight).right(capture).await.is_err() {
                    break;
                }
                found
            }
            None => share,
        };
        // What was deleted takes its links with it.
        if share.object() == object && object.title(state.store()).await?.is_some() {
            return Ok(share);
        }
        break;
    }
    Err(ApiError::no_share())
}

/// The values of the cookies of a name, as many as are tried.
pub(super) fn cookies(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let cookies = values.flat_map(cookie::Cookie::split_parse).filter_map(Result::ok);
    cookies.filter(|cookie| cookie.name() == name).take(COOKIES_TRIED).map(|cookie| cookie.value().to_owned()).collect()
}

/// The token for programs in a request's head, whatever it is worth.
pub(super) fn token_in(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(AUTHORIZATION).iter().filter_map(|value| value.to_str().ok());
    let mut tokens = values.filter_map(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    // Others may have a header of their own: a proxy in front, or a flight recorder's token.
    tokens.find(|token| token.starts_with(TOKEN_PREFIX))
}

/// Refuses a request that says in more than one way who asks: nobody is to be taken for somebody else by what a proxy or a browser
/// adds.
pub(super) fn admit_identity(context: &Context, headers: &HeaderMap) -> Result<(), ApiError> {
    if token_in(headers).is_none() {
        return Ok(());
    }
    let refused = |with: &str, remedy: &str| {
        let why = format!("it has a token and {with}, and only one of them can say who asks");
        Err(ApiError::invalid("reading who asks", why).remedy(remedy))
    };
    if headers.get_all(AUTHORIZATION).iter().count() > 1 {
        return refused("another header `Authorization`", "Send one of them.");
    }
    if !cookies(headers, COOKIE_NAME).is_empty() {
        return refused("the cookie of a session", "Send the token without cookies.");
    }
    if context.proxied().is_some() {
        return refused(
            "the header of the proxy in front",
            "Let the proxy pass requests with a token on without its own header.",
        );
    }
    Ok(())
}

/// Who asks, if anybody does: by the proxy in front, a token, or the cookie of a session.
///
/// # Errors
/// If the proxy names somebody who may not come in, the token is of no use, or the store fails.
pub(super) async fn identity_of(
    context: &Context,
    headers: &HeaderMap,
    state: &AppState,
) -> Result<Option<Session>, ApiError> {
    if let Some(proxied) = context.proxied() {
        let session = state.people().proxied().find(proxied).await?;
        let by_cookie = session_of(headers, state).await?;
        if let Some(other) = by_cookie.filter(|other| !other.user().eq_ignore_ascii_case(session.user())) {
            let ended = state.sessions().end_of(&other, Some(SessionEnd::OtherPerson)).await;
            ended.map_err(|error| ApiError::internal("ending the session of somebody else", error))?;
            state.audit(&session, "session.end", other.user(), "the proxy in front names somebody else").await;
        }
        return Ok(Some(session));
    }
    let Some(token) = token_in(headers) else { return session_of(headers, state).await };
    if let Some(session) = state.people().tokens().find(token).await? {
        return Ok(Some(session));
    }
    // Attempts that fail are limited as those of logins are.
    if !state.login_limit().attempt(state.source_of(context, headers), std::time::Instant::now()) {
        return Err(ApiError::new(ErrorKind::TooMany, "reading who asks", "too many attempts failed"));
    }
    let why = "the token is of no use: it is not complete, has expired, was revoked, or its account is disabled";
    Err(ApiError::new(ErrorKind::Unauthenticated, "reading who asks", why)
        .remedy("Make another on the page of your account, or with `bathyscope tokens make`."))
}

/// Why the session ended that a request's cookie names; none if it has not, or nobody knows.
pub(super) fn why_ended(headers: &HeaderMap, state: &AppState) -> Option<SessionEnd> {
    cookies(headers, COOKIE_NAME).iter().find_map(|cookie| state.sessions().why_ended(cookie))
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

/// The cookie of a login that was begun at a provider, for the addresses of that alone; without a value the one that removes it.
pub(super) fn sign_in_cookie(value: Option<&str>, secure: bool) -> String {
    let cookie = cookie::Cookie::build((SIGN_IN_COOKIE_NAME, value.unwrap_or_default())).path("/oidc").http_only(true);
    let age = if value.is_some() { cookie::time::Duration::minutes(10) } else { cookie::time::Duration::ZERO };
    cookie.same_site(cookie::SameSite::Strict).secure(secure).max_age(age).build().to_string()
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

//! What went wrong with a request, and the one place where it becomes a status, JSON or a page.

use std::{error::Error, sync::Arc};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bathyscope_link::{LinkError, host::HostError, script::ScriptFailure, words};
use bathyscope_plan::Diagnostic;
use bathyscope_protocol::{AgentError, AgentErrorKind};
use bathyscope_query::QueryError;
use bathyscope_store::{Role, StoreError};
use bathyscope_views::ViewError;
use bathyscope_web::{Template as _, pages};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use serde::Serialize;

use super::{
    context::{Context, RouteKind},
    layers, next,
    people::PeopleError,
    session::SessionEnd,
    share::ShareError,
    tokens::TokenError,
};
use crate::{
    import::ImportError,
    investigations::InvestigationError,
    library::LibraryError,
    passwords::PasswordError,
    recipes::RecipeError,
    webhooks::WebhookError,
    wire::{self, SpecRefusal},
};
use bathyscope_recorder::{DetachError, FireError, StartError};

/// What kind of trouble; each has one status and a stable name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// Nobody is logged in.
    Unauthenticated,
    /// It does not come from a page of this console.
    CrossSite,
    /// It does not exist, or is not for this person to know.
    NotFound,
    /// A page for people who may do more.
    ReadOnly,
    /// Only people themselves may do it, and none of their programs.
    InPerson,
    /// A proxy names somebody and is not believed, or whom it names may not come in.
    Proxy,
    /// The path exists with other methods.
    Method,
    /// It cannot be done in the state that things are in.
    Conflict,
    /// More bytes than are accepted.
    TooLarge,
    /// Too many of it at a time; later it may work.
    Busy,
    /// Too many attempts; later it may work.
    TooMany,
    /// Its body came too slowly.
    Slow,
    /// It took too long.
    Timeout,
    /// The agent is not there.
    AgentAbsent,
    /// The agent lacks a privilege.
    Denied,
    /// A script is wrong, or cannot run here.
    Script,
    /// This kernel cannot do it.
    Unsupported,
    /// Larger or more than the host or the agent allows.
    Limit,
    /// There is no room on the disk.
    DiskFull,
    /// The console or something below it failed.
    Internal,
}

impl ErrorKind {
    /// The status that says it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::CrossSite | Self::ReadOnly | Self::InPerson | Self::Proxy => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy | Self::AgentAbsent => StatusCode::SERVICE_UNAVAILABLE,
            Self::Denied | Self::Script | Self::Unsupported | Self::Limit => StatusCode::UNPROCESSABLE_ENTITY,
            Self::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Its name in answers and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::CrossSite => "cross_site",
            Self::NotFound => "not_found",
            Self::ReadOnly => "read_only",
            Self::InPerson => "in_person",
            Self::Proxy => "proxy",
            Self::Method => "method",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::TooMany => "too_many",
            Self::Slow => "slow",
            Self::Timeout => "timeout",
            Self::AgentAbsent => "agent_absent",
            Self::Denied => "denied",
            Self::Script => "script",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::DiskFull => "disk_full",
            Self::Internal => "internal",
        }
    }

    /// The kind of a status that something below the handlers made, such as the router's 405.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::Method,
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge,
            StatusCode::REQUEST_TIMEOUT => Self::Slow,
            StatusCode::GATEWAY_TIMEOUT => Self::Timeout,
            status if status.is_server_error() => Self::Internal,
            _ => Self::Invalid,
        }
    }
}

/// Why a request was not fulfilled, in words for a person.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {why}")]
pub struct ApiError {
    /// What kind of trouble.
    pub kind: ErrorKind,
    /// What was being done, with the value.
    pub doing: String,
    /// Why it failed.
    pub why: String,
    /// What a person can do, in whole sentences; may be empty.
    pub remedy: String,
    /// What is wrong with a script, if that is what failed.
    pub diagnostics: Vec<wire::ScriptMessage>,
    /// For the log only.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl ApiError {
    /// An error of `kind`.
    pub fn new(kind: ErrorKind, doing: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            kind,
            doing: doing.into(),
            why: why.into(),
            remedy: String::new(),
            diagnostics: Vec::new(),
            source: None,
        }
    }

    /// With what a person can do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Something failed that the client cannot help; the cause goes to the log.
    pub fn internal(doing: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let mut error = Self::new(ErrorKind::Internal, doing, "something failed inside the console")
            .remedy("The log has the cause under this request id.");
        error.source = Some(source.into());
        error
    }

    /// It does not exist, or is not for this person to know.
    pub fn not_found() -> Self {
        Self::new(ErrorKind::NotFound, "opening this address", "the console has no page at it")
    }

    /// A page that somebody's role does not open. That it exists is no secret.
    pub fn read_only(user: &str, role: Role, least: Role) -> Self {
        let (may, remedy) = if least == Role::Admin {
            ("may not manage people", "Ask an admin of this console.")
        } else {
            (
                "may look at captures and not make any",
                "For a login that may record, ask for a link of `bathyscope login-link --role operator`.",
            )
        };
        let why = format!("{user} is logged in as {role}, who {may}");
        Self::new(ErrorKind::ReadOnly, "opening this page", why).remedy(remedy)
    }

    /// What is stored is not what was written: in which part, never its bytes.
    fn damaged(why: String) -> Self {
        Self::new(ErrorKind::Internal, "reading the capture", why)
            .remedy("`bathyscope captures check` says which captures are damaged.")
    }

    /// A capture that is not there.
    pub fn no_capture() -> Self {
        Self::new(
            ErrorKind::NotFound,
            "opening this capture",
            "there is no such capture; it may have been deleted, or be kept from you",
        )
        .remedy("The history lists the captures that exist.")
    }

    /// A link for people without a login that cannot be used, for whatever reason.
    pub fn no_share() -> Self {
        let why = "it is not complete, has expired, or was revoked";
        Self::new(ErrorKind::NotFound, "opening this link", why).remedy("Ask whoever sent it for another.")
    }

    /// A part of a capture that a link does not show.
    pub fn not_shared(what: &str) -> Self {
        let why = format!("this link shows what its maker chose of the capture, without {what}");
        Self::new(ErrorKind::NotFound, "reading the capture", why).remedy("Ask whoever sent it.")
    }

    /// The request is wrong.
    pub fn invalid(doing: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, doing, why)
    }

    /// A script is wrong or cannot run here. `text` is the script's, for lines and columns; empty where it is not at hand.
    pub fn script(text: &str, diagnostics: &[Diagnostic]) -> Self {
        let why = diagnostics.first().map_or("it is not known why", |first| first.message.as_str());
        let mut error = Self::new(ErrorKind::Script, "running the script", why);
        error.remedy = diagnostics.first().map(|first| first.hint.clone()).unwrap_or_default();
        error.diagnostics = diagnostics.iter().map(|diagnostic| wire::ScriptMessage::new(text, diagnostic)).collect();
        error
    }

    /// Dynamic events that cannot be made. `text` has what was written, a line each.
    pub fn probes(text: &str, diagnostics: &[Diagnostic]) -> Self {
        let why = diagnostics.first().map_or("it is not known why", |first| first.message.as_str());
        let mut error = Self::invalid("reading the probes", why);
        error.diagnostics = diagnostics.iter().map(|diagnostic| wire::ScriptMessage::new(text, diagnostic)).collect();
        error
    }

    /// Nobody is logged in, or not any more.
    pub fn unauthenticated(why: Option<SessionEnd>) -> Self {
        let error = Self::new(ErrorKind::Unauthenticated, "asking for this address", "nobody is logged in");
        error.remedy(why.map_or(
            "Log in, open the link that the console printed, or print another with `bathyscope login-link`.",
            SessionEnd::words,
        ))
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let doing = "using the database";
        match &error {
            StoreError::NoCapture { .. } => Self::no_capture(),
            StoreError::Recording { .. } => {
                Self::new(ErrorKind::Conflict, "changing the capture", "it is being recorded").remedy("Stop it first.")
            }
            StoreError::NoNote { .. } => Self::not_found(),
            StoreError::NoteChanged { .. } => Self::new(ErrorKind::Conflict, "changing the note", words(&error)),
            StoreError::DescriptionChanged { .. } => {
                Self::new(ErrorKind::Conflict, "changing the description", words(&error))
            }
            StoreError::NoInvestigation { .. } => Self::not_found(),
            StoreError::InvestigationChanged { .. } => {
                Self::new(ErrorKind::Conflict, "changing the investigation", words(&error))
            }
            StoreError::AccountExists { .. } => Self::new(ErrorKind::Conflict, "adding an account", words(&error)),
            StoreError::LastAdmin { .. } => Self::new(ErrorKind::Conflict, "changing the account", words(&error)),
            StoreError::LibraryNameTaken { .. } => Self::new(ErrorKind::Conflict, doing, words(&error)),
            StoreError::LibraryChanged { .. } => Self::new(ErrorKind::Conflict, "changing it", words(&error)),
            StoreError::NoLibraryItem { .. } => Self::not_found(),
            StoreError::DiskFull { .. } => Self::new(ErrorKind::DiskFull, doing, words(&error)),
            StoreError::Gone { .. } => Self::new(ErrorKind::Internal, doing, words(&error)),
            StoreError::Refused { .. } => Self::invalid("storing the change", words(&error)),
            StoreError::Locked => Self::new(ErrorKind::Busy, doing, words(&error)),
            StoreError::Import { .. } => {
                Self::invalid("importing the file", words(&error)).remedy("Nothing was stored.")
            }
            // Where and what, never the bytes.
            StoreError::DamagedPart { .. } | StoreError::DamagedChunk { .. } => Self::damaged(words(&error)),
            _ => Self::internal(doing, error),
        }
    }
}

/// The damage on the disk that is the cause of an error, in words.
fn damage_in(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = error;
    let damage = loop {
        match cause.downcast_ref::<StoreError>() {
            Some(damage) => break damage,
            None => cause = cause.source()?,
        }
    };
    let is_damage = matches!(damage, StoreError::DamagedPart { .. } | StoreError::DamagedChunk { .. });
    is_damage.then(|| words(damage))
}

impl From<ShareError> for ApiError {
    fn from(error: ShareError) -> Self {
        let doing = "making a share";
        match error {
            ShareError::NotAllowed => Self::new(ErrorKind::Conflict, doing, words(&error)),
            ShareError::Refused(why) => Self::invalid(doing, why),
            ShareError::NoObject => Self::not_found(),
            ShareError::Secret(error) => Self::internal(doing, error),
            ShareError::Store(error) => error.into(),
        }
    }
}

impl From<WebhookError> for ApiError {
    fn from(error: WebhookError) -> Self {
        let doing = "managing webhooks";
        match error {
            WebhookError::Refused(why) => Self::invalid(doing, why),
            WebhookError::NoWebhook(_) => Self::new(ErrorKind::NotFound, doing, words(&error)),
            WebhookError::NotConfigured => Self::new(ErrorKind::Conflict, doing, words(&error)),
            WebhookError::Random(_) => Self::internal(doing, error),
            WebhookError::Store(error) => error.into(),
        }
    }
}

impl From<PeopleError> for ApiError {
    fn from(error: PeopleError) -> Self {
        let doing = "managing accounts";
        match error {
            PeopleError::NoAccount(_) => Self::new(ErrorKind::NotFound, doing, "there is no such account"),
            PeopleError::Refused(why) | PeopleError::Token(TokenError::Refused(why)) => Self::invalid(doing, why),
            PeopleError::Conflict(why) => Self::new(ErrorKind::Conflict, doing, why),
            PeopleError::WrongPassword => Self::invalid("changing the password", words(&error)),
            PeopleError::NoLink => Self::new(ErrorKind::NotFound, "choosing a password", words(&error))
                .remedy("Ask an admin for another link."),
            PeopleError::Password(PasswordError::Busy) => {
                Self::new(ErrorKind::Busy, "checking the password", words(&error)).remedy("Try again in a moment.")
            }
            PeopleError::Password(error) => Self::internal("checking the password", error),
            PeopleError::Secret(error) | PeopleError::Token(TokenError::Secret(error)) => Self::internal(doing, error),
            PeopleError::Store(error) | PeopleError::Token(TokenError::Store(error)) => error.into(),
        }
    }
}

impl From<ViewError> for ApiError {
    fn from(error: ViewError) -> Self {
        match error {
            // Nobody is there any more to read it.
            ViewError::Cancelled => Self::new(ErrorKind::Timeout, "making the view", "it was cancelled"),
            error if error.is_bad_request() => Self::invalid("making the view", words(&error)),
            error @ ViewError::TooMuch { .. } => Self::new(ErrorKind::Limit, "making the view", words(&error)),
            error @ (ViewError::Chunk { .. } | ViewError::Shape { .. }) => Self::damaged(words(&error)),
            error => match damage_in(&error) {
                Some(damage) => Self::damaged(damage),
                None => Self::internal("making the view", error),
            },
        }
    }
}

impl From<QueryError> for ApiError {
    fn from(error: QueryError) -> Self {
        let doing = "answering the query";
        let kind = match error {
            QueryError::Capture(error) => return error.into(),
            QueryError::Time { .. } | QueryError::Memory { .. } => ErrorKind::Limit,
            // Nobody is there any more to read it.
            QueryError::Cancelled => ErrorKind::Timeout,
            _ => ErrorKind::Invalid,
        };
        Self::new(kind, doing, words(&error)).remedy(error.remedy())
    }
}

impl From<LinkError> for ApiError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Refused(AgentError { kind, doing, why, remedy, .. }) => {
                let kind = match kind {
                    AgentErrorKind::Invalid => ErrorKind::Invalid,
                    AgentErrorKind::NotFound => ErrorKind::NotFound,
                    AgentErrorKind::Denied => ErrorKind::Denied,
                    AgentErrorKind::Unsupported => ErrorKind::Unsupported,
                    AgentErrorKind::Limit => ErrorKind::Limit,
                    AgentErrorKind::Internal => ErrorKind::Internal,
                };
                Self::new(kind, doing, why).remedy(remedy)
            }
            LinkError::Script(refused) => Self::script("", &refused.diagnostics),
            LinkError::Busy => Self::new(ErrorKind::Busy, "asking the agent", words(&error)),
            _ => Self::new(ErrorKind::AgentAbsent, "asking the agent", words(&error))
                .remedy("Stored captures can be looked at. The agent is restarted automatically."),
        }
    }
}

impl From<ScriptFailure> for ApiError {
    fn from(error: ScriptFailure) -> Self {
        match error {
            ScriptFailure::Script { diagnostics } => Self::script("", &diagnostics),
            ScriptFailure::Target(error) => Self::new(ErrorKind::NotFound, "finding what to record", words(&error)),
            ScriptFailure::Refused(error) => LinkError::Refused(error).into(),
            ScriptFailure::Absent { message } => LinkError::Absent { message }.into(),
            error => Self::internal("running the script", error),
        }
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Agent(error) => error.into(),
            HostError::Format { .. } => Self::new(ErrorKind::Unsupported, "reading the tracepoint", words(&error)),
            error => Self::internal("asking for this host", error),
        }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        let doing = "starting the capture";
        match error {
            StartError::Spec(error) => Self::invalid("reading what to record", words(&error)),
            StartError::Agent(error) => error.into(),
            StartError::Target(error) => Self::new(ErrorKind::NotFound, "finding what to record", words(&error)),
            StartError::Script(error) => error.into(),
            StartError::Filter(error) => {
                let remedy = error.remedy.clone();
                Self::invalid("reading the filter of calls", words(&StartError::Filter(error))).remedy(remedy)
            }
            StartError::Dynamic { text, diagnostics } => Self::probes(&text, &diagnostics),
            StartError::Store(error) => error.into(),
            StartError::Flight { .. } => Self::invalid("reading what a flight recorder fires at", words(&error)),
            StartError::Priority => Self::invalid(doing, words(&error)),
            StartError::TooMany { .. } => Self::new(ErrorKind::Busy, doing, words(&error)),
            StartError::ShuttingDown => Self::new(ErrorKind::Busy, doing, words(&error)),
            error => Self::internal(doing, error),
        }
    }
}

impl From<DetachError> for ApiError {
    fn from(error: DetachError) -> Self {
        let doing = "detaching probes";
        match error {
            DetachError::NotRunning => Self::new(ErrorKind::Conflict, doing, words(&error)),
            DetachError::NoMatch { .. } => Self::new(ErrorKind::NotFound, doing, words(&error)),
            DetachError::Agent(error) => error.into(),
        }
    }
}

impl From<FireError> for ApiError {
    fn from(error: FireError) -> Self {
        let kind = match error {
            FireError::NotRunning | FireError::NotFlight | FireError::Storing { .. } => ErrorKind::Conflict,
            FireError::Pause { .. } | FireError::Day { .. } | FireError::Busy => ErrorKind::TooMany,
            FireError::Store { .. } => ErrorKind::Busy,
        };
        Self::new(kind, "firing the flight recorder", words(&error))
    }
}

impl From<SpecRefusal> for ApiError {
    fn from(error: SpecRefusal) -> Self {
        Self::invalid("reading what to record", words(&error))
    }
}

impl From<RecipeError> for ApiError {
    fn from(error: RecipeError) -> Self {
        let (doing, why) = ("changing recipes", words(&error));
        match error {
            RecipeError::Refused(_) => Self::invalid(doing, why),
            RecipeError::Spec(error) => error.into(),
            RecipeError::Exists { .. } => Self::new(ErrorKind::Conflict, doing, why),
            RecipeError::OfAnother { .. } => Self::new(ErrorKind::Denied, doing, why),
            RecipeError::Missing { .. } => Self::new(ErrorKind::NotFound, doing, why),
            RecipeError::Store(error) => error.into(),
        }
    }
}

impl From<LibraryError> for ApiError {
    fn from(error: LibraryError) -> Self {
        let (doing, why) = ("changing the library", words(&error));
        match error {
            LibraryError::Exists { .. } => Self::new(ErrorKind::Conflict, doing, why),
            LibraryError::Missing { .. } => Self::new(ErrorKind::NotFound, doing, why),
            LibraryError::Gone => Self::not_found(),
            LibraryError::Spec(error) => error.into(),
            LibraryError::Store(error) => error.into(),
            _ => Self::invalid(doing, why),
        }
    }
}

impl From<InvestigationError> for ApiError {
    fn from(error: InvestigationError) -> Self {
        match error {
            InvestigationError::Refused(why) => Self::invalid("writing the investigation", why),
            InvestigationError::Random(error) => Self::internal("drawing a random id", error),
            InvestigationError::Query(error) => error.into(),
            InvestigationError::Store(error) => error.into(),
        }
    }
}

impl From<ImportError> for ApiError {
    fn from(error: ImportError) -> Self {
        let doing = "importing the file";
        let why = words(&error);
        match error {
            ImportError::Store(error) => error.into(),
            ImportError::File(_) | ImportError::Broken(_) => Self::invalid(doing, why).remedy("Nothing was stored."),
            ImportError::TooLarge => Self::new(ErrorKind::TooLarge, doing, why),
            ImportError::Busy => Self::new(ErrorKind::Busy, doing, why),
            ImportError::NoReader(_) => Self::new(ErrorKind::Unsupported, doing, why)
                .remedy("Stop the console and use `bathyscope captures import FILE`."),
            ImportError::Reader(error) => Self::internal(doing, error),
        }
    }
}

/// Marks a response that is an error and looks as it should already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written;

/// Carried by a response until the outer guard writes it.
#[derive(Clone)]
struct Pending(Arc<ApiError>);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(Pending(Arc::new(self)));
        response
    }
}

/// Why a question of the console's own was refused, as the same words for whoever caused it; none for a failure inside.
pub(super) fn refused(extensions: &http::Extensions) -> Option<ApiError> {
    let Pending(error) = extensions.get::<Pending>()?;
    let again = ApiError::new(error.kind, error.doing.clone(), error.why.clone()).remedy(error.remedy.clone());
    (error.kind == ErrorKind::Invalid).then_some(again)
}

#[derive(Serialize)]
struct Wire<'a> {
    error: WireError<'a>,
}

#[derive(Serialize)]
struct WireError<'a> {
    kind: &'static str,
    doing: &'a str,
    why: &'a str,
    remedy: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    diagnostics: &'a [wire::ScriptMessage],
}

/// Writes the error that a response carries, if it is one: JSON for modules, a page for people. `wants_page` decides
/// where no route matched.
pub(super) fn write(context: &Context, wants_page: bool, response: Response) -> Response {
    let pending = response.extensions().get::<Pending>().map(|pending| pending.0.clone());
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let is_written = response.extensions().get::<Written>().is_some();
    let error = match pending {
        Some(error) => error,
        None if is_error && !is_written => Arc::new(of_bare_status(status, context.route())),
        None => return response,
    };
    log(&error);
    let as_page = context.kind().map_or(wants_page, |kind| kind == RouteKind::Page);
    if as_page && error.kind == ErrorKind::Unauthenticated {
        return (StatusCode::SEE_OTHER, [(LOCATION, next::login_address(context.asked()))]).into_response();
    }
    let written = if as_page { page(context, &error) } else { None };
    let (mime, text) = written.unwrap_or_else(|| json(context, &error));
    let (mut head, _old) = response.into_parts();
    head.headers.remove(http::header::CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, mime);
    Response::from_parts(head, Body::from(text))
}

/// What a status means that a layer or the router answered for the route, without an error.
fn of_bare_status(status: StatusCode, route: Option<&str>) -> ApiError {
    match ErrorKind::of_status(status) {
        ErrorKind::NotFound => ApiError::not_found(),
        ErrorKind::TooLarge => layers::too_large(layers::body_bytes(route.unwrap_or_default())),
        ErrorKind::Timeout => layers::too_late(route.unwrap_or_default()),
        ErrorKind::Method => ApiError::new(ErrorKind::Method, "asking for this address", "it has no such method"),
        kind => ApiError::new(kind, "reading the request", "it is not a request that this console knows"),
    }
}

fn log(error: &ApiError) {
    if error.kind.status().is_server_error() {
        let mut causes = Vec::new();
        let mut cause = error.source();
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        let (kind, doing) = (error.kind.as_str(), error.doing.as_str());
        tracing::warn!(kind, doing, causes = causes.join(": "), "a request failed");
    }
}

fn json(context: &Context, error: &ApiError) -> (HeaderValue, String) {
    let ApiError { kind, doing, why, remedy, diagnostics, .. } = error;
    let wire = WireError { kind: kind.as_str(), doing, why, remedy, request_id: context.request_id(), diagnostics };
    // Text and names only: serialising cannot fail.
    let text = serde_json::to_string(&Wire { error: wire }).unwrap_or_default();
    (HeaderValue::from_static("application/json"), text)
}

fn page(context: &Context, error: &ApiError) -> Option<(HeaderValue, String)> {
    let title = match error.kind {
        ErrorKind::NotFound => "Page not found",
        ErrorKind::ReadOnly => "You may read only",
        ErrorKind::InPerson => "Not by a token",
        ErrorKind::Proxy => "The proxy’s header is refused",
        ErrorKind::CrossSite => "Cross-site request refused",
        ErrorKind::Internal => "Internal error",
        ErrorKind::Busy | ErrorKind::TooMany => "Too many requests",
        _ => "The request failed",
    };
    let why = format!("{}: {}.", error.doing, error.why);
    let page = pages::Error {
        nonce: context.nonce(),
        frame: context.who().map(|who| who.frame(pages::Nav::None)),
        title,
        why: &why,
        remedy: &error.remedy,
        request_id: context.request_id(),
    };
    page.render().ok().map(|html| (HeaderValue::from_static("text/html; charset=utf-8"), html))
}

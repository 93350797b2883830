//! Logging in by an OpenID Connect provider.
//!
//! * `GET /oidc/start?next=…` sends the browser to the provider, with a cookie for ten minutes.
//! * `GET /oidc/callback?code=…&state=…` is where it comes back: a page that changes nothing (P04) and posts what it was given. As that
//!   comes from a page of this console, the browser sends its strict cookies with it, and those of the session it gets then.
//! * `POST /oidc/finish` exchanges the code, and begins a session as any login does.
//!
//! Attempts that fail are limited as those of passwords are (P06): counted before the provider is asked.

use std::time::Instant;

use axum::{
    extract::{FromRequest as _, Request, State},
    response::{Html, IntoResponse as _, Response},
};
use bathyscope_store::IdentityRefusal;
use bathyscope_web::{Template as _, pages};
use http::{HeaderMap, HeaderValue, StatusCode, header::SET_COOKIE};
use serde::Deserialize;

use super::{
    access::{Anonymous, SIGN_IN_COOKIE_NAME, cookies, session_cookie, session_of, sign_in_cookie},
    context::Context,
    error::ApiError,
    extract::{Form, Query},
    login::{LoginWords, admit_next, login_page, redirect, refuse_by_proxy},
    session::IdentityEntry,
    state::{AppState, to_its_end},
};

mod begun;
mod provider;

use begun::{BegunLogin, MAX_NEXT_BYTES};
pub use provider::Oidc;
use provider::OidcError;
pub(super) use provider::OidcPerson;

const TOO_LONG: &str =
    "The address of the page that you wanted is too long to be kept over a login elsewhere. Log in, and open it again.";
const NOT_BEGUN: &str = "This login was not begun in this browser, or more than ten minutes ago. Begin again.";
const TOO_MANY: &str = "Too many attempts to log in have failed, from your address or in all. Try again in some minutes, or log in with \
                        a link that `bathyscope login-link` prints.";

/// What the address says from which the login begins.
#[derive(Deserialize)]
pub(super) struct StartQuery {
    /// The page that follows; empty for the start page.
    #[serde(default)]
    next: String,
}

/// What the provider has said, as the page posts it.
#[derive(Deserialize)]
struct FinishForm {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    /// Why there is no code; empty if there is one.
    #[serde(default)]
    error: String,
    /// Who says so (RFC 9207); empty if the provider does not.
    #[serde(default)]
    iss: String,
}

/// Sends somebody to the provider.
pub(super) async fn start(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
    Query(StartQuery { next }): Query<StartQuery>,
) -> Result<Response, ApiError> {
    let oidc = provider_of(&state)?;
    refuse_by_proxy(&context)?;
    admit_next(&next)?;
    if next.len() > MAX_NEXT_BYTES {
        let words = LoginWords { problem: TOO_LONG, ..LoginWords::default() };
        return login_page(&context, &state, StatusCode::BAD_REQUEST, &words).await;
    }
    let begun = BegunLogin::new(&next, state.sessions().now_s());
    let begun = begun.map_err(|error| ApiError::internal("logging in", error))?;
    match oidc.address(&begun).await {
        Ok(address) => {
            Ok(redirect(&address, Some(&sign_in_cookie(Some(&begun.to_cookie()), state.hosts().is_secure()))))
        }
        Err(error) => refused(&context, &state, StatusCode::BAD_GATEWAY, (&told(oidc, &error), &next)).await,
    }
}

/// Where a browser comes back. The page has nothing of the request in it.
pub(super) async fn callback(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
) -> Result<Response, ApiError> {
    let page = pages::SignedIn { nonce: context.nonce(), provider: provider_of(&state)?.name() };
    let html = page.render().map_err(|error| ApiError::internal("making the page", error))?;
    Ok(Html(html).into_response())
}

/// Exchanges what the provider has given for a session.
pub(super) async fn finish(
    _: Anonymous,
    context: Context,
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let oidc = provider_of(&state)?.clone();
    refuse_by_proxy(&context)?;
    let source = state.source_of(&context, request.headers());
    let replaces = session_of(request.headers(), &state).await?;
    let begun_here = begun_logins(request.headers(), &state);
    let Form(form) = Form::<FinishForm>::from_request(request, &state).await?;
    // Before anything is asked of the provider, as anybody can post here.
    if !state.login_limit().attempt(source, Instant::now()) {
        return refused(&context, &state, StatusCode::TOO_MANY_REQUESTS, (TOO_MANY, "")).await;
    }
    let Some(begun) = begun_here.into_iter().find(|begun| begun.state() == form.state) else {
        tracing::warn!("a login by the provider was refused: it was not begun here");
        return refused(&context, &state, StatusCode::UNAUTHORIZED, (NOT_BEGUN, "")).await;
    };
    let person = match code_of(&oidc, form) {
        Ok(code) => oidc.person(&begun, code).await.map_err(|error| told(&oidc, &error)),
        Err(why) => Err(why),
    };
    let person = match person {
        Ok(person) => person,
        Err(problem) => {
            return refused(&context, &state, StatusCode::UNAUTHORIZED, (&problem, &begun.next)).await;
        }
    };
    let sessions = state.sessions().clone();
    let issuer = oidc.issuer().to_owned();
    let (name, left_out) = (person.name.clone(), person.groups.left_out());
    let entering = async move { sessions.login_by_identity(&issuer, person, replaces.as_ref()).await };
    let entered = to_its_end(entering).await?.map_err(|error| ApiError::internal("logging in", error))?;
    match entered {
        IdentityEntry::Begun { secret, session, made, linked, changed } => {
            state.login_limit().take_back(source);
            if changed {
                state.people().role_has_changed(session.user());
            }
            let how = match (made, linked) {
                (true, _) => "an account was made",
                (_, true) => "the account was bound",
                _ => "",
            };
            let mut detail = format!("by {}{}{how}", oidc.issuer(), if how.is_empty() { "" } else { "; " });
            if left_out > 0 {
                detail +=
                    &format!("; {left_out} of the groups that it says do not count: they are too many, or no names");
            }
            state.audit(&session, "login", "", &detail).await;
            let secure = state.hosts().is_secure();
            let next = if begun.next.is_empty() { "/" } else { &begun.next };
            let mut response = redirect(next, Some(&session_cookie(secret.reveal(), secure)));
            if let Ok(gone) = HeaderValue::from_str(&sign_in_cookie(None, secure)) {
                response.headers_mut().append(SET_COOKIE, gone);
            }
            Ok(response)
        }
        IdentityEntry::Refused(refusal) => {
            tracing::warn!(name, "a login by the provider was refused: no account is theirs");
            let problem = refusal_words(&oidc, &name, &refusal);
            refused(&context, &state, StatusCode::FORBIDDEN, (&problem, &begun.next)).await
        }
    }
}

/// The provider. Where there is none, these addresses are none.
fn provider_of(state: &AppState) -> Result<&Oidc, ApiError> {
    state.oidc().ok_or_else(ApiError::not_found)
}

/// The logins that this browser has begun and that are not over.
fn begun_logins(headers: &HeaderMap, state: &AppState) -> Vec<BegunLogin> {
    let now_s = state.sessions().now_s();
    cookies(headers, SIGN_IN_COOKIE_NAME).iter().filter_map(|text| BegunLogin::of_cookie(text, now_s)).collect()
}

/// The code that the provider has given, or why there is none. What it says is not repeated where it may be anything.
fn code_of(oidc: &Oidc, form: FinishForm) -> Result<String, String> {
    let name = oidc.name();
    if !form.iss.is_empty() && form.iss != oidc.issuer() {
        return Err(format!("This login is not from {name}. Begin again."));
    }
    match form.error.as_str() {
        "" if form.code.is_empty() => Err(format!("{name} has given no code. Begin again.")),
        "" => Ok(form.code),
        "access_denied" => Err(format!("{name} did not let you in, or you cancelled.")),
        _ => Err(format!("{name} could not log you in. Its own log tells more.")),
    }
}

/// What somebody is told who wanted to log in. Nobody knows who that is, so how the provider is reached stays in the log (P09).
fn told(oidc: &Oidc, error: &OidcError) -> String {
    let name = oidc.name();
    tracing::warn!(%error, "a login by the provider failed");
    match error {
        OidcError::Discovery(_) | OidcError::Unreachable(_) => format!(
            "{name} cannot be reached from this console; its log tells why. Other ways to log in work all the same."
        ),
        OidcError::Code => {
            format!("{name} refused the login: it was used already, is too old, or was begun elsewhere. Begin again.")
        }
        OidcError::Answer(_) | OidcError::Token(_) => format!(
            "What {name} says of who you are cannot be believed; the log of this console tells why. Begin again, or ask an admin."
        ),
        OidcError::Name(why) => {
            format!("{name} says no name for you that somebody can have here: {why}. Ask an admin.")
        }
    }
}

fn refusal_words(oidc: &Oidc, name: &str, refusal: &IdentityRefusal) -> String {
    let provider = oidc.name();
    match refusal {
        IdentityRefusal::Disabled { name } => format!("The account {name} is disabled. Ask an admin of this console."),
        IdentityRefusal::NameTaken { name } => format!(
            "There is an account {name} in this console already, which is not known to be yours. An admin allows on the page People \
             that you log in to it with {provider}."
        ),
        IdentityRefusal::NoRole => format!(
            "{provider} knows you as {name}, and none of your groups may do something in this console. Ask an admin of it."
        ),
    }
}

async fn refused(
    context: &Context,
    state: &AppState,
    status: StatusCode,
    (problem, next): (&str, &str),
) -> Result<Response, ApiError> {
    login_page(context, state, status, &LoginWords { problem, next, ask_again: false }).await
}

//! Everything that speaks HTTP.
//!
//! A request passes, in this order: the listener's limits (`listener`), layers of tower-http (`layers`: id, log, limits,
//! panics, compression), the guard (`guard`: host, origin, errors), the router that is built from one table (`routes`),
//! and a handler whose first argument says the role that it needs (`access`). Handlers are thin; views are made by `workers`, off the runtime.

use axum::{body::Body, middleware, response::Response};
use http::Request;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceBuilder};

use crate::tls::ServerTls;

pub mod access;
mod api;
mod assets;
mod context;
mod error;
mod extract;
mod guard;
mod headers;
mod hosts;
mod layers;
mod listener;
mod login;
mod next;
mod pages;
mod people;
mod proxied;
mod rate;
mod routes;
mod saved;
mod session;
mod share;
mod share_pages;
mod sign_in;
mod site;
mod slots;
mod state;
mod tokens;
mod turns;
mod workers;

pub(crate) use api::captures::{audit_words, begin_run};
pub use context::{Peer, RouteKind};
pub use error::{ApiError, ErrorKind};
pub use hosts::HostPolicy;
pub use listener::ListenLimits;
pub use people::{
    Doer, PASSWORD_LINK_DAYS, PasswordInvitation, People, PeopleError, PersonChange, PersonIdentity, PersonItem,
    name_refusal,
};
pub use routes::{Route, table};
pub use saved::{AskedFile, MadeFile, capture_file_at_terminal, investigation_file_at_terminal};
pub(crate) use session::new_secret;
pub use session::{
    AccessList, CameBy, LOGIN_LINK_S, LinkItem, SESSION_S, Secret, Session, SessionClock, SessionEnd, SessionError,
    SessionItem, Sessions,
};
pub use share::{
    AskedShare, DrawnShare, MOST_SHARE_DAYS, ParseShareIdError, SHARE_DAYS, Share, ShareChoices, ShareError, ShareId,
    ShareItem, SharedPart, Shares, draw_share,
};
pub use sign_in::Oidc;
pub use state::{AppState, CommandPolicy, ScriptPolicy, Setup};
pub use tokens::{ApiTokenItem, ApiTokens, AskedToken, MOST_TOKEN_DAYS, TOKEN_DAYS, TokenError};

/// The whole console as a service: what the listener drives, and tests.
pub fn service(
    state: AppState,
) -> impl Service<Request<Body>, Response = Response, Error = std::convert::Infallible, Future: Send> + Clone + Send + 'static
{
    ServiceBuilder::new()
        .layer(layers::secrets())
        .map_request(layers::without_id)
        .layer(layers::request_id())
        .map_response(|response: http::Response<_>| response.map(Body::new))
        .layer(layers::trace())
        .layer(layers::answer_id())
        .layer(headers::fixed())
        .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
        .layer(layers::panics())
        .layer(layers::compression())
        .service(routes::router(state))
}

/// Serves the console on `listener`, with TLS if there is some, until `stop` is cancelled and open requests have had their
/// time.
pub async fn serve(
    listener: (TcpListener, Option<ServerTls>),
    state: AppState,
    limits: ListenLimits,
    stop: CancellationToken,
) {
    listener::serve(listener, service(state), limits, stop).await;
}

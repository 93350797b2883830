//! What every request passes before and after the router.
//!
//! In this order: the host is one of ours, else 421 with an empty body; who asks is said in one way, and by a proxy only where
//! that is believed; an unsafe method comes from an own page, or with a token; the handler runs; a panic is counted; errors are written; every response gets its content security policy.

use std::net::Ipv4Addr;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, header::ACCEPT};

use super::{
    access::{admit_identity, token_in},
    context::{Context, Peer},
    error::{self, ApiError, ErrorKind},
    headers,
    layers::{self, Panicked},
    site,
    state::AppState,
};

/// Programs that are no browsers post here with a token of their own, which no browser sends by itself.
const FIRE_PREFIX: &str = "/api/fire/";

/// The guard around the router.
pub(super) async fn guard(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer(Ipv4Addr::UNSPECIFIED.into()));
    let Some(host) = state.hosts().check(request.uri(), request.headers()) else {
        return without_context(StatusCode::MISDIRECTED_REQUEST);
    };
    let context = layers::id_of(request.extensions()).map(|id| Context::new(id, host, peer));
    let Some(Ok(context)) = context else {
        return without_context(StatusCode::SERVICE_UNAVAILABLE);
    };
    let wants_page = wants_page(request.headers());
    let response = match admit(&state, &context, &request) {
        Ok(()) => {
            request.extensions_mut().insert(context.clone());
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    };
    if response.extensions().get::<Panicked>().is_some() {
        state.count_panic();
    }
    let mut response = error::write(&context, wants_page, response);
    headers::secure(response.headers_mut(), Some(context.nonce()));
    response
}

/// An answer to somebody who may not even learn whom they reached.
fn without_context(status: StatusCode) -> Response {
    let mut response = status.into_response();
    headers::secure(response.headers_mut(), None);
    response
}

/// Whether the request may go on to the router.
fn admit(state: &AppState, context: &Context, request: &Request) -> Result<(), ApiError> {
    let headers = request.headers();
    if let Some(proxied) = state.proxy_users().map_or(Ok(None), |proxy| proxy.named(context.peer().0, headers))? {
        context.set_proxied(proxied);
    }
    admit_identity(context, headers)?;
    let has_own_token = request.uri().path().starts_with(FIRE_PREFIX) || token_in(headers).is_some();
    let by_program = has_own_token && site::is_no_browser(headers);
    if site::is_unsafe(request.method())
        && !by_program
        && !site::is_same_origin(headers, state.hosts().scheme(), context.host())
    {
        return Err(ApiError::new(
            ErrorKind::CrossSite,
            "changing something",
            "the request does not come from a page of this console",
        )
        .remedy("A program that is no browser sends the header `Sec-Fetch-Site: same-origin`."));
    }
    Ok(())
}

/// Whether whoever asks would rather have a page than JSON.
fn wants_page(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("text/html"))
}

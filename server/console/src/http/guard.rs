//! What every request passes before and after the router.
//!
//! In this order: the host is one of ours, else 421 with an empty body; an unsafe method comes from an own page; the
//! body is bounded; the handler runs, and a panic in it stops only this request; errors are written; every response gets
//! the security headers.

use std::{
    future::Future,
    net::Ipv4Addr,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use futures_util::FutureExt as _;
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT, CONTENT_LENGTH},
};
use http_body_util::Limited;

use super::{
    context::{Context, Peer},
    error::{self, ApiError, ErrorKind},
    headers, site,
    state::AppState,
};

/// The largest request body.
pub(super) const BODY_BYTES: usize = 64 << 10;
/// The largest request body with a script of [`bathyscope_capture::MAX_SCRIPT_BYTES`], parameters and JSON's escapes.
const SCRIPT_BODY_BYTES: usize = 512 << 10;
/// How long a request may take: attaching many probes is what takes longest. Bodies have a shorter limit of their own.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// The guard around the router.
pub(super) async fn guard(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer(Ipv4Addr::UNSPECIFIED.into()));
    let Some(host) = state.hosts().check(request.uri(), request.headers()) else {
        return without_context(StatusCode::MISDIRECTED_REQUEST);
    };
    let Ok(context) = Context::new(host, peer) else {
        return without_context(StatusCode::SERVICE_UNAVAILABLE);
    };
    let (method, wants_page) = (request.method().clone(), wants_page(request.headers()));
    let response = match admit(&state, &context, &request) {
        Ok(()) => {
            request.extensions_mut().insert(context.clone());
            let most = body_bytes(request.uri().path());
            let bounded = request.map(|body| Body::new(Limited::new(body, most)));
            contain(&context, || state.count_panic(), next.run(bounded)).await
        }
        Err(refused) => refused.into_response(),
    };
    let mut response = error::write(&context, wants_page, response);
    headers::secure(response.headers_mut(), Some(context.nonce()), context.request_id());
    let (request, route) = (context.request_id(), context.route().unwrap_or("none"));
    let (status, ms) = (response.status().as_u16(), began.elapsed().as_millis());
    tracing::debug!(request, %method, route, status, ms, "request");
    response
}

/// An answer to somebody who may not even learn whom they reached.
fn without_context(status: StatusCode) -> Response {
    let mut response = status.into_response();
    headers::secure(response.headers_mut(), None, "");
    response
}

/// Whether the request may go on to the router.
fn admit(state: &AppState, context: &Context, request: &Request) -> Result<(), ApiError> {
    let headers = request.headers();
    if site::is_unsafe(request.method()) && !site::is_same_origin(headers, state.hosts().scheme(), context.host()) {
        return Err(ApiError::new(
            ErrorKind::CrossSite,
            "changing something",
            "the request does not come from a page of this console",
        )
        .remedy("A program that is no browser sends the header `Sec-Fetch-Site: same-origin`."));
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let most = body_bytes(request.uri().path());
    if length.is_some_and(|length| length > most as u64) {
        let why = format!("its body is larger than {} KiB", most >> 10);
        return Err(ApiError::new(ErrorKind::TooLarge, "reading the request", why));
    }
    Ok(())
}

/// How large a body may be. A path that is no route has no handler that would read it.
fn body_bytes(path: &str) -> usize {
    let has_script = path == "/api/captures" || path.starts_with("/api/scripts/");
    if has_script { SCRIPT_BODY_BYTES } else { BODY_BYTES }
}

/// The response of a handler; a panic becomes an error, is counted, and stops nobody else.
async fn contain(context: &Context, count: impl FnOnce(), handler: impl Future<Output = Response>) -> Response {
    match AssertUnwindSafe(handler).catch_unwind().await {
        Ok(response) => response,
        Err(_payload) => {
            count();
            let (request, route) = (context.request_id(), context.route().unwrap_or("none"));
            // The payload may hold text from events; the panic hook has logged the place.
            tracing::error!(request, route, "a handler panicked");
            ApiError::new(ErrorKind::Internal, "serving a request", "something failed inside the console")
                .remedy("The log has the place under this request id.")
                .into_response()
        }
    }
}

/// The response of a handler if it comes in time; streams and downloads begin in time and may then last.
pub(super) async fn in_time(handler: impl Future<Output = Response>) -> Response {
    let late = || {
        ApiError::new(ErrorKind::Timeout, "serving a request", "it took longer than 90 seconds")
            .remedy("Narrow the time range or the filter.")
            .into_response()
    };
    tokio::time::timeout(REQUEST_TIMEOUT, handler).await.unwrap_or_else(|_elapsed| late())
}

/// Whether whoever asks would rather have a page than JSON.
fn wants_page(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("text/html"))
}

#[cfg(test)]
mod tests {
    use super::{super::hosts::AllowedHost, *};

    #[tokio::test]
    async fn p45_a_panic_is_an_error_that_is_counted_and_named() {
        let context = Context::new(AllowedHost("x".to_owned()), Peer(Ipv4Addr::LOCALHOST.into())).unwrap();
        let mut panics = 0;
        let response = contain(&context, || panics += 1, async { panic!("secret from an event") }).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(panics, 1);
        let body = error::write(&context, false, response).into_body();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let text = std::str::from_utf8(&body).unwrap();
        assert!(text.contains(context.request_id()) && !text.contains("secret"), "{text}");
    }
}

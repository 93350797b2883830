//! What stands around the guard and the router and knows nothing of captures: layers of tower-http, with our settings.
//!
//! From outside to inside: headers that hold secrets are marked, so that no log line shows them; the request gets an id,
//! which every answer and every log line carries; the guard; the router. Around each handler (`routes`): its limit of
//! bytes and of time. Around the router: compression, and the end of a panic.

use std::{any::Any, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version,
    header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, SET_COOKIE},
};
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    classify::{ServerErrorsAsFailures, SharedClassifier},
    compression::{
        CompressionLayer,
        predicate::{Predicate, SizeAbove},
    },
    limit::RequestBodyLimitLayer,
    request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    sensitive_headers::SetSensitiveHeadersLayer,
    timeout::TimeoutLayer,
    trace::{MakeSpan, OnResponse, TraceLayer},
};

use super::{
    context::RouteKind,
    error::{ApiError, ErrorKind},
};
use crate::{
    hex::hex,
    import::{ImportError, MAX_IMPORT_BYTES},
    proxy_users::PROXY_SECRET_HEADER,
};

/// The request's id on its way in and out.
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The largest request body.
const BODY_BYTES: usize = 64 << 10;
/// The largest request body with a script of [`bathyscope_capture::MAX_SCRIPT_BYTES`], parameters and JSON's escapes.
const SCRIPT_BODY_BYTES: usize = 512 << 10;
/// How long a request may take: attaching many probes is what takes longest. Bodies have a shorter limit of their own;
/// streams and downloads begin in time and may then last.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);
/// A file of the largest size takes long to come, and to be stored.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(3600);
/// The route that takes files.
pub(super) const IMPORT: &str = "/api/captures/import";
/// The largest file with a few bytes more, so that the import itself says that it is too large.
const IMPORT_BODY_BYTES: usize = (MAX_IMPORT_BYTES as usize) + (1 << 20);
/// Answers below this are sent as they are: they fit into a packet or two.
const COMPRESS_BYTES: u64 = 1024;

/// Marks headers that hold secrets, in both directions.
pub(super) fn secrets() -> SetSensitiveHeadersLayer {
    SetSensitiveHeadersLayer::new([COOKIE, AUTHORIZATION, SET_COOKIE, HeaderName::from_static(PROXY_SECRET_HEADER)])
}

/// Forgets the id that a client chose: a log line must not be somebody else's.
pub(super) fn without_id(mut request: Request) -> Request {
    request.headers_mut().remove(X_REQUEST_ID);
    request
}

/// Gives each request an id.
pub(super) fn request_id() -> SetRequestIdLayer<RandomId> {
    SetRequestIdLayer::new(X_REQUEST_ID, RandomId)
}

/// Gives each answer the id of its request.
pub(super) fn answer_id() -> PropagateRequestIdLayer {
    PropagateRequestIdLayer::new(X_REQUEST_ID)
}

/// Ids of 64 random bits, as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomId;

impl MakeRequestId for RandomId {
    /// None if the kernel gives no randomness; the guard refuses such a request.
    fn make_request_id<B>(&mut self, _request: &http::Request<B>) -> Option<RequestId> {
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).ok()?;
        HeaderValue::from_str(&hex(&random)).ok().map(RequestId::new)
    }
}

/// The id that [`request_id`] gave.
pub(super) fn id_of(extensions: &Extensions) -> Option<&str> {
    extensions.get::<RequestId>()?.header_value().to_str().ok()
}

/// A span around each request, in which all its log lines are, and a line when it has been answered.
pub(super) fn trace() -> TraceLayer<SharedClassifier<ServerErrorsAsFailures>, RequestSpan, (), AnswerLine, (), (), ()> {
    TraceLayer::new_for_http()
        .make_span_with(RequestSpan)
        .on_request(())
        .on_response(AnswerLine)
        .on_body_chunk(())
        .on_eos(())
        .on_failure(())
}

/// Names the request. Neither its path nor its query: they may hold what nobody else should read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestSpan;

impl<B> MakeSpan<B> for RequestSpan {
    fn make_span(&mut self, request: &http::Request<B>) -> tracing::Span {
        let id = id_of(request.extensions()).unwrap_or_default();
        // As severe as the worst line inside, so that a filter which shows that line shows whose it is.
        tracing::error_span!("request", id, method = %request.method(), route = tracing::field::Empty)
    }
}

/// Logs the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerLine;

impl<B> OnResponse<B> for AnswerLine {
    fn on_response(self, response: &http::Response<B>, latency: Duration, _span: &tracing::Span) {
        tracing::debug!(status = response.status().as_u16(), ms = latency.as_millis(), "answered");
    }
}

/// The largest body that a route takes.
pub(super) fn body_bytes(route: &str) -> usize {
    if route == IMPORT {
        return IMPORT_BODY_BYTES;
    }
    let has_script =
        route == "/api/captures" || ["/api/scripts/", "/api/builder/"].iter().any(|it| route.starts_with(it));
    if has_script { SCRIPT_BODY_BYTES } else { BODY_BYTES }
}

/// Refuses a body that is longer than its route takes: by its stated length before anything is read, or when it is reached.
pub(super) fn body_limit(route: &str) -> RequestBodyLimitLayer {
    RequestBodyLimitLayer::new(body_bytes(route))
}

/// What a body that exceeded [`body_limit`] says.
pub(super) fn too_large(most: usize) -> ApiError {
    if most == IMPORT_BODY_BYTES {
        return ImportError::TooLarge.into();
    }
    let why = format!("its body is larger than {} KiB", most >> 10);
    ApiError::new(ErrorKind::TooLarge, "reading the request", why)
}

/// Ends a request that takes too long to be answered.
pub(super) fn time_limit(route: &str) -> TimeoutLayer {
    TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, request_timeout(route))
}

fn request_timeout(route: &str) -> Duration {
    if route == IMPORT { IMPORT_TIMEOUT } else { REQUEST_TIMEOUT }
}

/// What a handler that exceeded [`time_limit`] says.
pub(super) fn too_late(route: &str) -> ApiError {
    let why = format!("it took longer than {} seconds", request_timeout(route).as_secs());
    let remedy = if route == IMPORT { "Nothing was stored." } else { "Narrow the time range or the filter." };
    ApiError::new(ErrorKind::Timeout, "serving a request", why).remedy(remedy)
}

/// Marks the answer to a request that panicked, so that the guard counts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panicked;

/// What makes an answer of what a panic held.
type PanicHandler = fn(Box<dyn Any + Send>) -> Response<Body>;

/// Makes an error of a panic in a handler, so that it stops only this request.
pub(super) fn panics() -> CatchPanicLayer<PanicHandler> {
    CatchPanicLayer::custom(panicked as PanicHandler)
}

fn panicked(_payload: Box<dyn Any + Send>) -> Response<Body> {
    // The payload may hold text from events; the panic hook has logged the place.
    tracing::error!("a handler panicked");
    let mut response = ApiError::new(ErrorKind::Internal, "serving a request", "something failed inside the console")
        .remedy("The log has the place under this request id.")
        .into_response();
    response.extensions_mut().insert(Panicked);
    response
}

/// Marks an answer that may be compressed.
#[derive(Clone, Copy, Debug)]
struct Compressible;

/// Marks the answer of a route, if it may be compressed. The length of a compressed answer tells something of what is in
/// it, so nothing is compressed that holds a secret beside text of whoever asks: pages have a nonce, a name and what was searched
/// for, and what changes something may answer with a token. Streams must not wait for more to compress, and captures as
/// files are compressed already.
pub(super) fn mark_compressible(kind: RouteKind, method: &Method, route: &str, response: &mut Response) {
    let is_text = |headers: &HeaderMap| headers.get(CONTENT_TYPE).is_some_and(|ty| ty != "application/octet-stream");
    let may = match kind {
        RouteKind::Api => method == Method::GET || route == "/api/captures/{id}/query",
        RouteKind::Download => is_text(response.headers()),
        RouteKind::Page | RouteKind::Stream => false,
    };
    if may && response.status() == StatusCode::OK && !route.starts_with("/assets/") {
        response.extensions_mut().insert(Compressible);
    }
}

/// Compresses what [`mark_compressible`] marked, as the client accepts it: zstd, else gzip. Quickly: it takes time of the host
/// that is looked at.
pub(super) fn compression() -> CompressionLayer<impl Predicate> {
    let marked =
        |_: StatusCode, _: Version, _: &HeaderMap, extensions: &Extensions| extensions.get::<Compressible>().is_some();
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(COMPRESS_BYTES).and(marked))
}

#[cfg(test)]
mod tests {
    use tower::{Layer as _, ServiceExt as _};

    use super::{
        super::{
            context::{Context, Peer},
            error,
            hosts::AllowedHost,
        },
        *,
    };

    #[tokio::test]
    async fn p45_a_panic_is_an_error_that_is_marked_and_named_and_does_not_say_what_it_held() {
        let handler = tower::service_fn(|_request: Request| async {
            if true {
                panic!("secret from an event");
            }
            Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
        });
        let response = panics().layer(handler).oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.extensions().get::<Panicked>().is_some(), "the guard counts it");
        let peer = Peer(std::net::Ipv4Addr::LOCALHOST.into());
        let context = Context::new("0123456789abcdef", AllowedHost("x".to_owned()), peer).unwrap();
        let body = error::write(&context, false, response.map(Body::new)).into_body();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let text = std::str::from_utf8(&body).unwrap();
        assert!(text.contains(context.request_id()) && !text.contains("secret"), "{text}");
    }

    #[test]
    fn only_answers_without_secrets_are_compressed() {
        let octets = HeaderValue::from_static("application/octet-stream");
        let csv = HeaderValue::from_static("text/csv; charset=utf-8");
        for (kind, method, route, ty, expected) in [
            (RouteKind::Api, Method::GET, "/api/captures/{id}/timeline", &octets, true),
            (RouteKind::Api, Method::POST, "/api/captures/{id}/query", &octets, true),
            (RouteKind::Api, Method::POST, "/api/captures", &octets, false),
            (RouteKind::Api, Method::GET, "/assets/{*path}", &csv, false),
            (RouteKind::Download, Method::GET, "/api/captures/{id}/export", &csv, true),
            (RouteKind::Download, Method::GET, "/api/captures/{id}/export", &octets, false),
            (RouteKind::Page, Method::GET, "/captures", &csv, false),
            (RouteKind::Stream, Method::GET, "/api/live", &csv, false),
        ] {
            let mut response = Response::new(Body::empty());
            response.headers_mut().insert(CONTENT_TYPE, ty.clone());
            mark_compressible(kind, &method, route, &mut response);
            assert_eq!(response.extensions().get::<Compressible>().is_some(), expected, "{kind:?} {method} {route}");
        }
    }
}

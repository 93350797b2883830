//! Path, query, form and JSON extractors whose refusals are [`ApiError`]s.

use std::time::Duration;

use axum::extract::{
    FromRequest, FromRequestParts, Request,
    rejection::{FormRejection, JsonRejection},
};
use http::{StatusCode, request::Parts};
use serde::de::DeserializeOwned;

use super::{
    context::Context,
    error::{ApiError, ErrorKind},
    layers,
};

/// How long a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Parsed parts of the path. What cannot be parsed does not exist.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<T>(pub T);

/// Parsed query parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<T>(pub T);

/// A parsed form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form<T>(pub T);

/// A parsed JSON body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json<T>(pub T);

impl<T, S> FromRequestParts<S> for Path<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let found = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        found.map(|axum::extract::Path(value)| Self(value)).map_err(|_unparsed| ApiError::not_found())
    }
}

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let found = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        found
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|error| not_taken("reading the query", &error.body_text()))
    }
}

impl<T, S> FromRequest<S> for Form<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let most = most_bytes(&request);
        let found = in_time(axum::extract::Form::<T>::from_request(request, state), BODY_TIMEOUT).await?;
        // What was posted may be a secret: the refusal does not repeat any of it.
        found.map(|axum::extract::Form(value)| Self(value)).map_err(|error: FormRejection| {
            of_body(error.status(), most)
                .unwrap_or_else(|| ApiError::invalid("reading the form", "it is not the expected form"))
        })
    }
}

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let most = most_bytes(&request);
        let found = in_time(axum::Json::<T>::from_request(request, state), BODY_TIMEOUT).await?;
        found.map(|axum::Json(value)| Self(value)).map_err(|error: JsonRejection| {
            of_body(error.status(), most).unwrap_or_else(|| not_taken("reading the request", &error.body_text()))
        })
    }
}

/// What the libraries say before the place and what is wrong there, and what is said instead.
const PREFIXES: [(&str, &str); 3] = [
    ("Failed to deserialize the JSON body into the target type: ", ""),
    ("Failed to parse the request body as JSON: ", "it is no JSON: "),
    ("Failed to deserialize query string: ", ""),
];

/// A refusal of what does not have the form that a route takes.
fn not_taken(doing: &'static str, said: &str) -> ApiError {
    let stripped = PREFIXES.iter().find_map(|(prefix, instead)| Some((*instead, said.strip_prefix(prefix)?)));
    let (instead, why) = stripped.unwrap_or(("", said));
    let refused = ApiError::invalid(doing, format!("{instead}{why}"));
    refused.remedy("The API reference (/api-reference) says what each route takes.")
}

/// What reading a body gives, if it comes within `limit`.
async fn in_time<T>(reading: impl Future<Output = T>, limit: Duration) -> Result<T, ApiError> {
    let late = |_elapsed| ApiError::new(ErrorKind::Slow, "reading the request", "its body came too slowly");
    tokio::time::timeout(limit, reading).await.map_err(late)
}

/// The longest body that the route of a request takes.
fn most_bytes(request: &Request) -> usize {
    layers::body_bytes(request.extensions().get::<Context>().and_then(Context::route).unwrap_or_default())
}

fn of_body(status: StatusCode, most: usize) -> Option<ApiError> {
    (status == StatusCode::PAYLOAD_TOO_LARGE).then(|| layers::too_large(most))
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, Bytes};

    use super::*;

    #[tokio::test]
    async fn p15_a_body_that_trickles_in_is_cut() {
        let drops = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
        });
        let request = Request::post("/").header("content-type", "application/json").body(Body::from_stream(drops));
        let reading = axum::Json::<u32>::from_request(request.unwrap(), &());
        let refused = in_time(reading, Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Slow);
    }
}

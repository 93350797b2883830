//! Embedded files, with entity tags and gzip; and of them the document that tells other programs of the API.
//!
//! * `GET /api/openapi.json` (viewer): OpenAPI. It is made from the sources of the routes, by a test that compares it with them.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bathyscope_web::assets;
use bytes::Bytes;
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
};
use serde::Deserialize;

use super::{
    access::{Anonymous, Viewer},
    error::ApiError,
    extract::Path,
};

/// The path below `/assets/`.
#[derive(Deserialize)]
pub(super) struct AssetPath {
    path: String,
}

/// One file.
pub(super) async fn asset(
    _: Anonymous,
    Path(AssetPath { path }): Path<AssetPath>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    file(&path, &headers)
}

/// Describes the API, for other programs.
pub(super) async fn openapi(_: Viewer, headers: HeaderMap) -> Result<Response, ApiError> {
    file("openapi.json", &headers)
}

fn file(path: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let asset = assets::get(path).ok_or_else(ApiError::not_found)?;
    let gzip = asset.gzip.filter(|_smaller| accepts_gzip(headers));
    let (bytes, etag) = gzip.map_or((asset.bytes, asset.etag), |gzip| (gzip, asset.gzip_etag));
    let kept = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let head = [(ETAG, etag), (CACHE_CONTROL, kept), (VARY, "accept-encoding"), (CONTENT_TYPE, asset.mime)];
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    if known.flat_map(|value| value.split(',')).any(|tag| tag.trim() == etag || tag.trim() == "*") {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    let mut response = (head, Body::from(Bytes::from_static(bytes))).into_response();
    if gzip.is_some() {
        response.headers_mut().insert(CONTENT_ENCODING, http::HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// Whether `gzip` is accepted, and not with the weight 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused =
            parts.filter_map(|part| part.strip_prefix("q=")).any(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0));
        is_gzip && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_where_it_is_accepted() {
        let cases = [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("br", false),
            ("", false),
            ("xgzip", false),
        ];
        for (value, expected) in cases {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, http::HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
    }
}

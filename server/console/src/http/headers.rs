//! The headers that every response carries, errors included.

use axum::response::Response;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS},
};
use tower_http::set_header::response::SetMultipleResponseHeadersLayer;

const FIXED: [(HeaderName, &str); 6] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The content security policy with this nonce for scripts, or for no scripts at all.
fn policy(nonce: Option<&str>) -> String {
    let scripts = nonce.map_or("'none'".to_owned(), |nonce| format!("'nonce-{nonce}'"));
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// The headers that are the same everywhere, over whatever a handler set.
pub(super) fn fixed() -> SetMultipleResponseHeadersLayer<Response> {
    let fixed = FIXED.map(|(name, value)| (name, HeaderValue::from_static(value)).into());
    SetMultipleResponseHeadersLayer::overriding(fixed.into())
}

/// Adds those that differ. A content security policy or cache rule that a handler set stays: a download has the policy
/// `sandbox`, and assets may be kept.
pub(super) fn secure(headers: &mut HeaderMap, nonce: Option<&str>) {
    if let Ok(value) = HeaderValue::from_str(&policy(nonce)) {
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(value);
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

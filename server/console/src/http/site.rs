//! Whether a request comes from this console's own pages: the guard against cross-site requests.
//!
//! Browsers say where a request comes from in `Sec-Fetch-Site`, and for most requests in `Origin`; pages cannot forge
//! either. Unlike the usual middleware, a request with neither is refused: only browsers are meant to send these, and a
//! script can add the header. The session cookie (`SameSite=Strict`) is a second, separate guard.

use http::{HeaderMap, Method, header::ORIGIN};

use super::hosts::AllowedHost;

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Whether requests of this method change something, so that they must come from an own page.
pub(super) fn is_unsafe(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Whether a request comes from a page of this console.
pub(super) fn is_same_origin(headers: &HeaderMap, scheme: &str, host: &AllowedHost) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    let site = sites.next();
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next();
    if sites.next().is_some() || origins.next().is_some() {
        return false;
    }
    let own = format!("{scheme}://{}", host.0);
    match (site.map(|site| site.as_bytes()), origin.map(|origin| origin.as_bytes())) {
        // A form posts `Origin: null` under our referrer policy; the other header then decides.
        (Some(b"same-origin"), None | Some(b"null")) => true,
        (Some(b"same-origin") | None, Some(origin)) => origin.eq_ignore_ascii_case(own.as_bytes()),
        _ => false,
    }
}

/// Whether a request says nothing of what page it comes from, as those of browsers do.
pub(super) fn is_no_browser(headers: &HeaderMap) -> bool {
    !headers.contains_key(SEC_FETCH_SITE) && !headers.contains_key(ORIGIN)
}

/// Whether a browser says that another site led here. With such a request it sends no cookie that is strict.
pub(super) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get(SEC_FETCH_SITE).is_some_and(|site| matches!(site.as_bytes(), b"cross-site" | b"same-site"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn p02_only_own_pages_are_same_origin() {
        let own = "http://localhost:7070";
        let cases = [
            (Some("same-origin"), None, true),
            (Some("same-origin"), Some("null"), true),
            (Some("same-origin"), Some(own), true),
            (None, Some(own), true),
            (None, None, false),
            (None, Some("null"), false),
            (None, Some("https://localhost:7070"), false),
            (None, Some("http://localhost:7071"), false),
            (None, Some("http://evil.example"), false),
            (Some("same-origin"), Some("http://evil.example"), false),
            (Some("none"), None, false),
            (Some("none"), Some(own), false),
            (Some("same-site"), None, false),
            (Some("same-site"), Some(own), false),
            (Some("cross-site"), None, false),
            (Some("cross-site"), Some(own), false),
            (Some("cross-site"), Some("null"), false),
            (Some("Same-Origin"), None, false),
            (Some(""), None, false),
        ];
        for (site, origin, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in [("sec-fetch-site", site), ("origin", origin)] {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            let host = AllowedHost("localhost:7070".to_owned());
            assert_eq!(is_same_origin(&headers, "http", &host), expected, "{site:?} {origin:?}");
        }
    }

    #[test]
    fn p02_a_header_sent_twice_is_refused() {
        let mut headers = HeaderMap::new();
        headers.append("sec-fetch-site", HeaderValue::from_static("same-origin"));
        headers.append("sec-fetch-site", HeaderValue::from_static("same-origin"));
        assert!(!is_same_origin(&headers, "http", &AllowedHost("localhost:7070".to_owned())));
    }
}

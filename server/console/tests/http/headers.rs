//! P10: headers of every answer. P11: exports are attachments in a sandbox.

use axum::body::Body;
use bathyscope_console::http::table;
use bathyscope_store::Role;
use http::{Request, header};

use super::{
    harness::{Answer, Console, EVERYBODY, HOST, own_page},
    roles::address,
};

const POLICY_END: &str = "style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
                          frame-ancestors 'none'";

/// Checks the headers that all answers have; gives back the nonce of the policy.
fn check(what: &str, answer: &http::HeaderMap) -> String {
    let header = |name: &str| answer.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    assert_eq!(header("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{what}");
    assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{what}");
    assert_eq!(header("referrer-policy"), "no-referrer", "{what}");
    assert!(!header("cache-control").is_empty(), "{what}");
    assert!(!answer.contains_key("access-control-allow-origin"), "{what}");
    assert!(!answer.contains_key("server"), "{what}");
    let policy = header("content-security-policy");
    if policy == "sandbox" {
        return String::new();
    }
    let rest = policy.strip_prefix("default-src 'none'; script-src '").unwrap_or_else(|| panic!("{what}: {policy}"));
    let (scripts, rest) = rest.split_once("'; ").unwrap();
    assert_eq!(rest, POLICY_END, "{what}");
    if scripts == "none" {
        return String::new();
    }
    let nonce = scripts.strip_prefix("nonce-").unwrap();
    assert_eq!(nonce.len(), 32, "{what}");
    nonce.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_every_answer_has_the_headers() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let mut nonces = std::collections::BTreeSet::new();
    let mut answers = 0;
    for who in EVERYBODY {
        for route in table().iter().filter(|route| route.path != "/logout") {
            let cookie = console.cookie_as(who).await;
            let path = address(route.path, id);
            for method in [route.method.as_str(), "PUT", "OPTIONS", "TRACE"] {
                let response = console.send(own_page(method, &path, cookie.as_deref(), None)).await;
                let what = format!("{method} {path} as {who:?}: {}", response.status());
                let nonce = check(&what, response.headers());
                answers += usize::from(!nonce.is_empty());
                nonces.insert(nonce);
            }
        }
    }
    nonces.remove("");
    assert_eq!(nonces.len(), answers, "a nonce was used twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_errors_have_the_headers_too() {
    let console = Console::new().await;
    let admin = console.cookie("root", Role::Admin).await;
    let large = "x".repeat((512 << 10) + 1);
    let cases = [
        (404, own_page("GET", "/nothing", None, None)),
        (404, own_page("GET", "/api/captures/0000000000000001", Some(&admin), None)),
        (405, own_page("DELETE", "/login", None, None)),
        (401, own_page("GET", "/api/host", None, None)),
        (413, own_page("POST", "/api/captures", Some(&admin), Some(&large))),
        (400, own_page("POST", "/api/captures", Some(&admin), Some("{"))),
        (400, own_page("GET", "/api/captures?limit=many", Some(&admin), None)),
        (403, Request::post("/login").header(header::HOST, HOST).body(Body::empty()).unwrap()),
        (421, Request::get("/").header(header::HOST, "x").body(Body::empty()).unwrap()),
        (421, Request::get("/").body(Body::empty()).unwrap()),
    ];
    for (status, request) in cases {
        let what = format!("{} {}", request.method(), request.uri());
        let response = console.send(request).await;
        assert_eq!(response.status(), status, "{what}");
        check(&what, response.headers());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_pages_use_the_nonce_of_their_policy() {
    let console = Console::new().await;
    let admin = console.cookie("root", Role::Admin).await;
    for path in ["/", "/new", "/captures", "/host", "/login"] {
        let answer = console.get(path, &admin).await;
        let nonce = check(path, &answer.headers);
        let html = answer.text();
        assert!(html.contains("<script"), "{path}");
        assert_eq!(html.matches("<script").count(), html.matches(&format!("<script nonce=\"{nonce}\"")).count());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p11_exports_are_attachments_in_a_sandbox() {
    let console = Console::new().await;
    let id = console.capture("\"; filename=evil.html", "somebody", 10).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    for (format, extension, mime) in [
        ("csv", "csv", "text/csv; charset=utf-8"),
        ("ndjson", "ndjson", "application/x-ndjson"),
        ("bathy", "bathy", "application/octet-stream"),
    ] {
        let answer = console.get(&format!("/api/captures/{id}/export?format={format}"), &viewer).await;
        assert_eq!(answer.status, 200, "{format}: {}", String::from_utf8_lossy(&answer.body));
        assert_eq!(answer.header("content-security-policy"), "sandbox");
        assert_eq!(answer.header("content-type"), mime);
        let expected = format!("attachment; filename=\"bathyscope-{id}.{extension}\"");
        assert_eq!(answer.header("content-disposition"), expected);
        assert!(!answer.body.is_empty());
    }
    let left: Vec<_> = std::fs::read_dir(console.dir.path().join("short-lived")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_are_kept_by_their_tag() {
    let console = Console::new().await;
    let plain = console.ask("GET", "/assets/tokens.css", None, None).await;
    assert_eq!(plain.header("cache-control"), "no-cache");
    let mut again = own_page("GET", "/assets/tokens.css", None, None);
    again.headers_mut().insert(header::IF_NONE_MATCH, plain.header("etag").parse().unwrap());
    let again = Answer::of(console.send(again).await).await;
    assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
    let mut packed = own_page("GET", "/assets/tokens.css", None, None);
    packed.headers_mut().insert(header::ACCEPT_ENCODING, "gzip".parse().unwrap());
    let packed = Answer::of(console.send(packed).await).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.body.len() < plain.body.len());
    let version = bathyscope_web::assets::version();
    let kept = console.ask("GET", &format!("/assets/{version}/tokens.css"), None, None).await;
    assert!(kept.header("cache-control").contains("immutable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_secrets_are_compressed_as_the_client_accepts() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 2_000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let asking = |path: &str, accepts: &str| {
        let mut request = own_page("GET", path, Some(&viewer), None);
        request.headers_mut().insert(header::ACCEPT_ENCODING, accepts.parse().unwrap());
        request
    };
    let rows = format!("/api/captures/{id}/rows?stream=0&limit=500");
    let plain = Answer::of(console.send(asking(&rows, "identity")).await).await;
    assert_eq!((plain.status.as_u16(), plain.header("content-encoding")), (200, ""));
    for (accepts, coding) in [("gzip", "gzip"), ("gzip, zstd", "zstd"), ("zstd;q=0, gzip", "gzip")] {
        let packed = Answer::of(console.send(asking(&rows, accepts)).await).await;
        assert_eq!(packed.header("content-encoding"), coding, "{accepts}");
        assert!(packed.header("vary").contains("accept-encoding"), "{accepts}");
        assert!(packed.body.len() * 3 < plain.body.len(), "{} of {}", packed.body.len(), plain.body.len());
    }
    // A page has a nonce, a name and what was asked for; a capture as a file is compressed already.
    let file = format!("/api/captures/{id}/export?format=bathy");
    for path in ["/captures?q=somebody", "/login", "/healthz", file.as_str()] {
        let answer = Answer::of(console.send(asking(path, "gzip, zstd")).await).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (200, ""), "{path}");
    }
    let export = format!("/api/captures/{id}/export?format=csv");
    let export = Answer::of(console.send(asking(&export, "zstd")).await).await;
    assert_eq!((export.status.as_u16(), export.header("content-encoding")), (200, "zstd"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_an_id_of_its_own_that_no_client_chooses() {
    let console = Console::new().await;
    let mut ids = std::collections::BTreeSet::new();
    for path in ["/healthz", "/login", "/nothing", "/api/host"] {
        let mut request = own_page("GET", path, None, None);
        request.headers_mut().insert("x-request-id", "0000000000000000".parse().unwrap());
        let answer = Answer::of(console.send(request).await).await;
        let id = answer.header("x-request-id").to_owned();
        assert!(id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{path}: {id}");
        if path == "/api/host" {
            assert!(answer.text().contains(&id), "the error names it: {}", answer.text());
        }
        ids.insert(id);
    }
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(!ids.contains("0000000000000000"));
}

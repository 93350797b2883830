//! P01: hosts. P02: origins. P04: GET changes nothing.

use axum::body::Body;
use bathyscope_console::http::{RouteKind, table};
use bathyscope_store::Role;
use http::{Method, Request, header};

use super::{
    harness::{Answer, Console, HOST, own_page},
    roles::address,
};

#[tokio::test(flavor = "multi_thread")]
async fn p01_a_foreign_host_gets_421_and_nothing_else() {
    let console = Console::new().await;
    let admin = console.cookie("root", Role::Admin).await;
    let hosts: [&[&str]; 14] = [
        &[],
        &[""],
        &["attacker.example"],
        &["attacker.example:7070"],
        &["127.0.0.1"],
        &["127.0.0.1:80"],
        &["127.0.0.2:7070"],
        &["192.168.0.1:7070"],
        &["localhost.:7070"],
        &["localhost:7070.attacker.example"],
        &["localhost:7070", "attacker.example"],
        &["127.0.0.1:7070", "127.0.0.1:7070"],
        &["[::1]"],
        &["user@127.0.0.1:7070"],
    ];
    for hosts in hosts {
        for path in ["/", "/healthz", "/login", "/nothing", "/api/captures"] {
            let mut request = Request::builder().uri(path).header(header::COOKIE, &admin);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            let answer = Answer::of(console.send(request.body(Body::empty()).unwrap()).await).await;
            assert_eq!((answer.status.as_u16(), answer.body.len()), (421, 0), "{hosts:?} {path}");
        }
    }
    for host in ["127.0.0.1:7070", "localhost:7070", "LocalHost:7070", "[::1]:7070"] {
        let request = Request::builder().uri("/healthz").header(header::HOST, host).body(Body::empty()).unwrap();
        assert_eq!(console.send(request).await.status(), 200, "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p01_a_target_in_absolute_form_names_the_same_host() {
    let console = Console::new().await;
    for (target, status) in [
        ("http://127.0.0.1:7070/healthz", 200),
        ("http://attacker.example/healthz", 421),
        ("http://localhost:7070/healthz", 421),
    ] {
        let request = Request::builder().uri(target).header(header::HOST, HOST).body(Body::empty()).unwrap();
        assert_eq!(console.send(request).await.status(), status, "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p02_changes_and_streams_need_an_own_page_and_a_session() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let admin = console.cookie("root", Role::Admin).await;
    let own = format!("http://{HOST}");
    let sites = [None, Some("same-origin"), Some("none"), Some("same-site"), Some("cross-site")];
    let origins =
        [None, Some(own.as_str()), Some("null"), Some("http://attacker.example"), Some("https://127.0.0.1:7070")];
    for route in table().into_iter().filter(|route| route.method != Method::GET || route.kind == RouteKind::Stream) {
        if route.path == "/logout" {
            continue;
        }
        for site in sites {
            for origin in origins {
                for cookie in [None, Some(&admin)] {
                    let mut request = Request::builder()
                        .method(&route.method)
                        .uri(address(route.path, id))
                        .header(header::HOST, HOST);
                    for (name, value) in
                        [("sec-fetch-site", site), ("origin", origin), ("cookie", cookie.map(String::as_str))]
                    {
                        if let Some(value) = value {
                            request = request.header(name, value);
                        }
                    }
                    let from_own = matches!(
                        (site, origin),
                        (Some("same-origin"), None | Some("null")) | (Some("same-origin") | None, Some(_))
                    ) && !matches!(origin, Some("http://attacker.example" | "https://127.0.0.1:7070"))
                        && (site, origin) != (None, Some("null"));
                    let status = console.send(request.body(Body::empty()).unwrap()).await.status().as_u16();
                    let what = format!("{} {} {site:?} {origin:?} {cookie:?}", route.method, route.path);
                    let is_stream = route.kind == RouteKind::Stream;
                    match (from_own, cookie) {
                        // Below a share a session opens nothing, and without its token there is nothing.
                        (false, _) if is_stream && route.path.starts_with("/s/") => assert_eq!(status, 404, "{what}"),
                        // Who is no browser comes with a token here.
                        (false, _) if route.path == "/api/fire/{id}" && (site, origin) == (None, None) => {
                            assert!(matches!(status, 404 | 429), "{what}");
                        }
                        (false, None) if is_stream => assert_eq!(status, 401, "{what}"),
                        (false, _) => assert_eq!(status, 403, "{what}"),
                        (true, None) if route.least.is_some() => assert_eq!(status, 401, "{what}"),
                        (true, _) => assert_ne!(status, 403, "{what}"),
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p04_get_changes_nothing() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let admin = console.cookie("root", Role::Admin).await;
    let before = console.store.fingerprint().await.unwrap();
    for route in table().into_iter().filter(|route| route.method == Method::GET) {
        console.later(1);
        let request = own_page("GET", &address(route.path, id), Some(&admin), None);
        let response = console.send(request).await;
        // These have no end.
        if !["/api/live", "/api/busy"].contains(&route.path) {
            let _whole = Answer::of(response).await;
        }
    }
    assert_eq!(console.store.fingerprint().await.unwrap(), before);
}

//! P09: what somebody who is not logged in can learn.

use axum::body::Body;
use bathyscope_console::http::table;
use bathyscope_store::Role;
use http::{Request, header};

use super::{
    harness::{Answer, Console, HOST, own_page},
    roles::address,
};

#[tokio::test(flavor = "multi_thread")]
async fn p09_anonymous_answers_tell_nothing() {
    let console = Console::new().await;
    let id = console.capture("marker-title", "marker-owner", 10).await;
    let cookie = console.cookie("marker-user", Role::Admin).await;
    let token = console.state.sessions().login_token("marker-user", Role::Admin).await.unwrap();
    let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let id_text = id.to_string();
    let secret = cookie.split_once('=').unwrap().1;
    let markers = [
        "marker",
        &hostname,
        &release,
        secret,
        token.reveal(),
        env!("CARGO_PKG_VERSION"),
        &id_text,
        "sched",
        "next_pid",
    ];
    let mut paths: Vec<(String, String)> =
        table().iter().map(|route| (route.method.to_string(), address(route.path, id))).collect();
    for (method, path) in [
        ("GET", "/nothing"),
        ("GET", "/api/nothing"),
        ("PUT", "/login"),
        ("DELETE", "/healthz"),
        ("GET", "/api/captures/0000000000000001"),
        ("GET", "/api/captures/not-an-id"),
    ] {
        paths.push((method.to_owned(), path.to_owned()));
    }
    for (method, path) in paths {
        for cookie in [None, Some("bathyscope_session=wrong"), Some("bathyscope_session=")] {
            for accept in ["text/html", "application/json"] {
                let mut request = own_page(&method, &path, cookie, None);
                request.headers_mut().insert(header::ACCEPT, accept.parse().unwrap());
                let answer = Answer::of(console.send(request).await).await;
                if path.starts_with("/assets") {
                    continue;
                }
                // The login leads back to what was asked for, which whoever asked knows.
                let head = format!("{:?}", answer.headers).replace(&format!("/login?next={path}"), "/login");
                for marker in markers {
                    assert!(!head.contains(marker), "{method} {path} tells {marker} in {head}");
                    assert!(!answer.text().contains(marker), "{method} {path} tells {marker}: {}", answer.text());
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p09_a_capture_that_exists_looks_like_one_that_does_not() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    for kind in ["/captures/", "/api/captures/"] {
        let ask = async |id: &str| {
            let path = format!("{kind}{id}");
            let request = Request::builder().uri(path).header(header::HOST, HOST).body(Body::empty()).unwrap();
            let answer = Answer::of(console.send(request).await).await;
            let request_id = answer.header("x-request-id").to_owned();
            (answer.status, answer.text().replace(&request_id, ""))
        };
        assert_eq!(ask(&id.to_string()).await, ask("0000000000000001").await);
    }
}

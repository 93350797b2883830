//! What the pages know of the server's answers: `web/api.d.ts`, which `tsc` checks the front end against.
//!
//! The file is made from the sources of the types that handlers return (`source`, `shape`), as serde writes them, so that it
//! has every variant and every field that may be missing, recorded or not. That serde writes them as the sources are read here
//! is held by all tests of this binary: each JSON answer that one of them gets is compared with its route's shape (`check`).
//! `BLESS=1` writes the file anew.

use std::sync::LazyLock;

use bathyscope_console::http::{RouteKind, table};
use http::StatusCode;
use serde_json::Value;

mod check;
mod routes;
mod shape;
mod source;
mod typescript;

use routes::{Body, RouteAnswer};
use shape::{Shape, Shapes};
use source::Sources;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/api.d.ts");

/// The answers of all routes, and the named shapes that they are made of.
struct Answers {
    routes: Vec<RouteAnswer>,
    shapes: Shapes,
    /// What is answered instead where a request failed.
    failure: Shape,
    /// The head of the binary timeline.
    timeline: Shape,
    /// The head of a window of tracks.
    window: Shape,
}

static ANSWERS: LazyLock<Answers> = LazyLock::new(|| {
    let sources = Sources::read();
    let mut shapes = Shapes::default();
    let routes = routes::answers(&sources, &mut shapes);
    let failure = shapes.named(&sources, "bathyscope_console", &["http", "error"], "Wire");
    let timeline = shapes.named(&sources, "bathyscope_views", &["answers", "timeline"], "Timeline");
    let window = shapes.named(&sources, "bathyscope_views", &["answers", "tracks"], "TrackWindow");
    let of_routes = routes.iter().flat_map(RouteAnswer::shapes);
    shapes.finish(&sources, &of_routes.chain([&failure, &timeline, &window]).collect::<Vec<_>>());
    Answers { routes, shapes, failure, timeline, window }
});

/// Compares a JSON answer with what the pages are told of it.
///
/// # Panics
/// If they differ.
pub fn compare(method: &str, path: &str, status: StatusCode, body: &Value) {
    let answers = &*ANSWERS;
    let path = path.split('?').next().unwrap_or(path);
    let wanted = if status.is_success() {
        let Some(route) = answers.routes.iter().find(|route| route.method == method && route.is_of(path)) else {
            return;
        };
        let Body::Json(shape) = &route.body else {
            panic!("{method} {path} answers JSON, and routes.rs does not know it")
        };
        shape
    } else {
        &answers.failure
    };
    if let Err(why) = check::conforms(body, wanted, &answers.shapes) {
        panic!("{method} {path}: {why}; answers/shape.rs reads the types otherwise than serde writes them");
    }
}

#[test]
fn the_pages_know_every_route_and_what_it_answers() {
    let known: Vec<_> = ANSWERS.routes.iter().map(|route| (route.method.as_str(), route.path.as_str())).collect();
    for route in table().iter().filter(|route| route.kind == RouteKind::Api && route.path.starts_with("/api/")) {
        assert!(
            known.contains(&(route.method.as_str(), route.path)),
            "{} {} is not known here",
            route.method,
            route.path
        );
    }
    let made = typescript::written(&ANSWERS);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(GOLDEN, made).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    let differs = made.lines().zip(golden.lines()).find(|(new, old)| new != old);
    assert!(
        made == golden,
        "what the server answers has changed, first at {differs:?}: run again with BLESS=1, then mend the pages until \
         `tests/run --only web` passes"
    );
}

#[test]
fn an_answer_that_differs_is_found() {
    let (shapes, conforms) =
        (&ANSWERS.shapes, |body: &Value, shape: &Shape| check::conforms(body, shape, &ANSWERS.shapes));
    let route = |path: &str| ANSWERS.routes.iter().find(|route| route.method == "GET" && route.path == path).unwrap();
    let Body::Json(users) = &route("/api/users").body else { panic!("users are JSON") };
    assert!(conforms(&serde_json::json!({ "items": ["root"] }), users).is_ok());
    for (wrong, says) in [
        (serde_json::json!({ "items": [1] }), "items[0]"),
        (serde_json::json!({}), "items"),
        (serde_json::json!({ "items": [], "more": 1 }), "more"),
    ] {
        let why = check::conforms(&wrong, users, shapes).unwrap_err();
        assert!(why.contains(says), "{wrong}: {why}");
    }
}

//! What the pages know of the server's answers: `web/api.d.ts`, which `tsc` checks the front end against; and what other programs know of
//! the API: `web/static/openapi.json`, which the console serves.
//!
//! Both files are made from the sources of the types that handlers take and return (`source`, `shape`), as serde reads and writes them, so
//! that they have every variant and every field that may be missing, recorded or not. That serde writes them as the sources are read here
//! is held by all tests of this binary: each JSON answer that one of them gets is compared with its route's shape (`check`).
//! `BLESS=1` writes the files anew.

use std::sync::LazyLock;

use bathyscope_console::http::{Route, RouteKind, table};
use bathyscope_store::Role;
use http::StatusCode;
use serde_json::Value;

use super::harness::{Answer, Console, own_page};

mod check;
mod examples;
mod links;
mod openapi;
mod routes;
mod shape;
mod source;
mod typescript;

use routes::{Body, RouteAnswer};
use shape::{Shape, Shapes};
use source::{Side, Sources};

const TYPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/api.d.ts");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/static/openapi.json");

/// The answers of all routes, and the named shapes that they are made of; and those of what is asked.
struct Answers {
    routes: Vec<RouteAnswer>,
    shapes: Shapes,
    asked: Shapes,
    /// What is answered instead where a request failed.
    failure: Shape,
    /// The head of the binary timeline.
    timeline: Shape,
    /// The head of a window of tracks.
    window: Shape,
}

static ANSWERS: LazyLock<Answers> = LazyLock::new(|| {
    let sources = Sources::read();
    let (mut shapes, mut asked) = (Shapes::new(Side::Written), Shapes::new(Side::Read));
    let routes = routes::answers(&sources, &mut shapes, &mut asked);
    let failure = shapes.named(&sources, "bathyscope_console", &["http", "error"], "Wire");
    let timeline = shapes.named(&sources, "bathyscope_views", &["answers", "timeline"], "Timeline");
    let window = shapes.named(&sources, "bathyscope_views", &["answers", "tracks"], "TrackWindow");
    let of_routes = routes.iter().flat_map(RouteAnswer::shapes);
    shapes.finish(&sources, &of_routes.chain([&failure, &timeline, &window]).collect::<Vec<_>>());
    asked.finish(&sources, &routes.iter().flat_map(RouteAnswer::asked_shapes).collect::<Vec<_>>());
    Answers { routes, shapes, asked, failure, timeline, window }
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
    is_golden(TYPES, &typescript::written(&ANSWERS));
    is_golden(DOCUMENT, &openapi::written(&ANSWERS, &table()));
}

/// Compares what was made with a file, or writes that anew.
fn is_golden(path: &str, made: &str) {
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, made).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    let differs = made.lines().zip(golden.lines()).find(|(new, old)| new != old);
    assert!(
        made == golden,
        "what the server is asked or answers has changed, first at {differs:?}: run again with BLESS=1, then mend the pages \
         until `tests/run --only web` passes"
    );
}

/// Whoever reads the document has no code: nothing in it leads there, and each route says what it does with which object.
#[test]
fn the_document_of_the_api_is_for_people_without_the_code() {
    let document: Value = serde_json::from_str(&std::fs::read_to_string(DOCUMENT).unwrap()).unwrap();
    let text = document.to_string();
    let link = text.find("[`").map(|at| text[at..].chars().take(60).collect::<String>());
    assert_eq!(link, None, "a link into the code");
    let stands_for_another = ["it", "them", "one", "everything", "something", "again"];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let summary = operation["summary"].as_str().unwrap_or_default();
            let words: Vec<String> =
                summary.split_whitespace().map(|word| word.trim_matches(['.', ',', ':', ';']).to_lowercase()).collect();
            let says_nothing = words.len() < 3
                || (words.len() < 5 && words.iter().any(|word| stands_for_another.contains(&word.as_str())));
            assert!(
                !says_nothing && summary.len() >= 12,
                "{method} {path}: {summary:?} does not say what is done with what"
            );
        }
    }
}

/// What is served is the document, to everybody who is logged in, and has every route of the table.
#[tokio::test(flavor = "multi_thread")]
async fn the_document_of_the_api_has_every_route() {
    let console = Console::new().await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let asked = own_page("GET", "/api/openapi.json", Some(&vera), None);
    let answer = Answer::of(console.send(asked).await).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    let document: utoipa::openapi::OpenApi = serde_json::from_slice(&answer.body).expect("a document of OpenAPI");
    let missing = |route: &&Route| {
        let item = document.paths.get_path_item(route.path);
        let has = item.is_some_and(|item| match route.method.as_str() {
            "GET" => item.get.is_some(),
            "POST" => item.post.is_some(),
            "PATCH" => item.patch.is_some(),
            "PUT" => item.put.is_some(),
            _ => item.delete.is_some(),
        });
        route.path.starts_with("/api/") && !has
    };
    let table = table();
    let missing: Vec<_> = table.iter().filter(missing).map(|route| (&route.method, route.path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // Every name leads to something.
    let text = String::from_utf8_lossy(&answer.body);
    let known = &document.components.as_ref().unwrap().schemas;
    for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(known.contains_key(name), "{name}");
    }
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

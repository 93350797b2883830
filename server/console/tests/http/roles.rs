//! P03: every route and every role. P08: permission checks take the object.

use std::collections::BTreeSet;

use bathyscope_capture::CaptureId;
use bathyscope_console::http::{Route, table};
use bathyscope_store::Role;
use futures_util::StreamExt as _;

use super::harness::{As, Console, EVERYBODY};

/// What every route answers to anonymous, viewer, operator, admin. There is no agent, and bodies are empty.
const EXPECTED: &[(&str, &str, [u16; 4])] = &[
    ("GET", "/healthz", [200; 4]),
    ("GET", "/assets/{*path}", [200; 4]),
    ("GET", "/login", [200; 4]),
    ("POST", "/login", [400; 4]),
    ("POST", "/logout", [303; 4]),
    ("GET", "/", [303, 200, 200, 200]),
    ("GET", "/captures", [303, 200, 200, 200]),
    ("GET", "/captures/{id}", [303, 200, 200, 200]),
    ("GET", "/host", [303, 200, 200, 200]),
    ("GET", "/new", [303, 403, 200, 200]),
    ("GET", "/catalog", [303, 403, 200, 200]),
    ("GET", "/language", [303, 200, 200, 200]),
    ("GET", "/tools", [303, 200, 200, 200]),
    ("GET", "/api/host", [401, 200, 200, 200]),
    ("POST", "/api/host/check", [401, 404, 200, 200]),
    ("GET", "/api/tracepoints", [401, 404, 503, 503]),
    ("GET", "/api/tracepoints/{system}/{name}", [401, 404, 503, 503]),
    ("GET", "/api/perf_events", [401, 404, 503, 503]),
    ("GET", "/api/syscalls/filter", [401, 404, 200, 200]),
    ("GET", "/api/catalog", [401, 404, 503, 503]),
    // How it stands with each kind is told without an agent too.
    ("GET", "/api/catalog/kinds", [401, 404, 200, 200]),
    ("GET", "/api/catalog/entry", [401, 404, 503, 503]),
    ("GET", "/api/catalog/count", [401, 404, 503, 503]),
    ("POST", "/api/catalog/refresh", [401, 404, 200, 200]),
    ("POST", "/api/builder/write", [401, 404, 400, 400]),
    ("POST", "/api/builder/read", [401, 404, 400, 400]),
    ("GET", "/api/builder/find", [401, 404, 503, 503]),
    ("GET", "/api/builder/site", [401, 404, 400, 400]),
    ("GET", "/api/builder/arguments", [401, 404, 400, 400]),
    ("POST", "/api/builder/try", [401, 404, 400, 400]),
    ("GET", "/api/predicate", [401, 404, 200, 200]),
    ("GET", "/api/processes", [401, 404, 503, 503]),
    ("GET", "/api/processes/{pid}/files", [401, 404, 503, 503]),
    ("GET", "/api/busy", [401, 404, 200, 200]),
    ("GET", "/api/users", [401, 404, 200, 200]),
    ("GET", "/api/groups", [401, 404, 503, 503]),
    ("GET", "/api/dynamic", [401, 404, 503, 503]),
    ("POST", "/api/dynamic/check", [401, 404, 400, 400]),
    // Without an agent it is not known.
    ("GET", "/api/dynamic/variables", [401, 404, 404, 404]),
    ("GET", "/api/dynamic/functions", [401, 404, 200, 200]),
    ("POST", "/api/host/kprobes", [401, 404, 404, 400]),
    ("GET", "/api/captures", [401, 200, 200, 200]),
    ("POST", "/api/captures", [401, 404, 400, 400]),
    ("GET", "/api/tags", [401, 200, 200, 200]),
    // An empty file.
    ("POST", "/api/captures/import", [401, 404, 400, 400]),
    ("GET", "/api/captures/{id}", [401, 200, 200, 200]),
    ("PATCH", "/api/captures/{id}", [401, 404, 400, 400]),
    // It is somebody else's capture.
    ("DELETE", "/api/captures/{id}", [401, 404, 404, 200]),
    ("GET", "/api/retention", [401, 200, 200, 200]),
    ("GET", "/api/deleted", [401, 404, 200, 200]),
    ("POST", "/api/deleted/{id}/restore", [401, 404, 404, 404]),
    ("DELETE", "/api/deleted/{id}", [401, 404, 404, 404]),
    ("POST", "/api/captures/{id}/stop", [401, 404, 404, 200]),
    // It does not run.
    ("POST", "/api/captures/{id}/fire", [401, 404, 404, 409]),
    ("POST", "/api/captures/{id}/fire-token", [401, 404, 404, 409]),
    // It has none.
    ("DELETE", "/api/captures/{id}/fire-token", [401, 404, 404, 404]),
    // Without the token.
    ("POST", "/api/fire/{id}", [404; 4]),
    ("POST", "/api/captures/{id}/probes/detach", [401, 404, 400, 400]),
    // There is no rule in an empty body, and the capture has no computed streams.
    ("POST", "/api/captures/{id}/computed", [401, 404, 400, 400]),
    ("DELETE", "/api/captures/{id}/computed/{number}", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/notes", [401, 200, 200, 200]),
    ("POST", "/api/captures/{id}/notes", [401, 404, 400, 400]),
    // There is no such note, or none in an empty body.
    ("PATCH", "/api/captures/{id}/notes/{note}", [401, 404, 400, 400]),
    ("DELETE", "/api/captures/{id}/notes/{note}", [401, 404, 404, 404]),
    ("POST", "/api/captures/{id}/notes/{note}/resolved", [401, 404, 400, 400]),
    ("GET", "/api/captures/{id}/notes/{note}/versions", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/output", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/rows", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/rows/times", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/facets", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/pivot", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/pivot/compare", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/rate", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/timeline", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/tracks", [401, 200, 200, 200]),
    // Without a track.
    ("GET", "/api/captures/{id}/tracks/window", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/tracks/moment", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/tracks/instant", [401, 400, 400, 400]),
    // There is nothing to look for.
    ("GET", "/api/captures/{id}/find", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/find/step", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/range/threads", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/range/slices", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/range/waits", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/range/counters", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/range/wakeups", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/range/amounts", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/tracks/critical-path", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/distribution", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/distribution/heat", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/distribution/heat/compare", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/distribution/scatter", [401, 200, 200, 200]),
    // Its rows are not what CPUs or devices did.
    ("GET", "/api/captures/{id}/distribution/utilisation", [401, 400, 400, 400]),
    // It has no counts.
    ("GET", "/api/captures/{id}/counts", [401, 404, 404, 404]),
    // It has no calls of functions.
    ("GET", "/api/captures/{id}/calls", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/calls/functions", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/calls/chart", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/calls/text", [401, 400, 400, 400]),
    // It has no stacks.
    ("GET", "/api/captures/{id}/flame", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/flame/functions", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/flame/annotate", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/flame/sandwich", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/flame/chart", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/syscalls", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/syscalls/compare", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/calls/compare", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/processes", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/flame/compare", [401, 400, 400, 400]),
    // It has none.
    ("GET", "/api/captures/{id}/stacks/{stack}", [401, 404, 404, 404]),
    // No script made it.
    ("GET", "/api/captures/{id}/script", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/maps", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/maps/{n}", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/maps/{n}/compare", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/text", [401, 404, 404, 404]),
    // There is no text in an empty body.
    ("POST", "/api/commands/explain", [401, 400, 400, 400]),
    ("POST", "/api/commands/same", [401, 400, 400, 400]),
    ("POST", "/api/commands/complete", [401, 404, 400, 400]),
    ("GET", "/library", [303, 200, 200, 200]),
    ("GET", "/api/library", [401, 200, 200, 200]),
    // An empty body.
    ("POST", "/api/library", [401, 404, 400, 400]),
    ("POST", "/api/library/import", [401, 404, 400, 400]),
    ("POST", "/api/library/probes", [401, 404, 400, 400]),
    // There is nothing of this id.
    ("GET", "/api/library/{id}", [401, 404, 404, 404]),
    ("PATCH", "/api/library/{id}", [401, 404, 404, 404]),
    ("DELETE", "/api/library/{id}", [401, 404, 404, 404]),
    ("POST", "/api/library/{id}/undelete", [401, 404, 404, 404]),
    ("GET", "/api/library/{id}/file", [401, 404, 404, 404]),
    ("GET", "/api/commands", [401, 200, 200, 200]),
    ("GET", "/api/scripts", [401, 200, 200, 200]),
    ("POST", "/api/scripts/check", [401, 404, 400, 400]),
    ("POST", "/api/scripts/compile", [401, 404, 400, 400]),
    ("POST", "/api/scripts/complete", [401, 404, 400, 400]),
    ("POST", "/api/scripts/hover", [401, 404, 400, 400]),
    ("GET", "/api/language", [401, 200, 200, 200]),
    ("GET", "/api/openapi.json", [401, 200, 200, 200]),
    ("GET", "/api-reference", [303, 200, 200, 200]),
    ("GET", "/api/recipes", [401, 200, 200, 200]),
    ("POST", "/api/recipes", [401, 404, 400, 400]),
    // Nobody has saved one.
    ("DELETE", "/api/recipes/{name}", [401, 404, 404, 404]),
    ("GET", "/api/tools", [401, 200, 200, 200]),
    // There is no such tool.
    ("GET", "/api/tools/{name}", [401, 404, 404, 404]),
    ("GET", "/api/captures/{id}/query", [401, 200, 200, 200]),
    // There is no query in an empty body.
    ("POST", "/api/captures/{id}/query", [401, 400, 400, 400]),
    ("GET", "/api/captures/{id}/export", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/file", [401, 200, 200, 200]),
    ("GET", "/api/captures/{id}/live", [401, 200, 200, 200]),
    ("GET", "/api/live", [401, 200, 200, 200]),
    ("GET", "/api/samples", [401, 200, 200, 200]),
    // There is no such sample.
    ("POST", "/api/samples/{name}", [401, 404, 404, 404]),
    ("GET", "/compare", [303, 200, 200, 200]),
    // Without captures.
    ("GET", "/api/compare", [401, 400, 400, 400]),
    // There is none of this id.
    ("GET", "/series", [303, 200, 200, 200]),
    ("GET", "/series/{series}", [303, 404, 404, 404]),
    ("GET", "/api/series", [401, 200, 200, 200]),
    ("GET", "/api/series/{series}", [401, 404, 404, 404]),
    // An empty body.
    ("PATCH", "/api/series/{series}", [401, 404, 400, 400]),
    ("GET", "/api/marks", [401, 200, 200, 200]),
    ("POST", "/api/marks", [401, 404, 400, 400]),
    ("DELETE", "/api/marks/{mark}", [401, 404, 404, 404]),
    ("GET", "/investigations", [303, 200, 200, 200]),
    // There is none of this id.
    ("GET", "/investigations/{id}", [303, 404, 404, 404]),
    ("GET", "/api/investigations", [401, 200, 200, 200]),
    // An empty body.
    ("POST", "/api/investigations", [401, 404, 400, 400]),
    ("GET", "/api/investigations/{id}", [401, 404, 404, 404]),
    ("PATCH", "/api/investigations/{id}", [401, 404, 400, 400]),
    ("DELETE", "/api/investigations/{id}", [401, 404, 404, 404]),
    ("POST", "/api/investigations/{id}/restore", [401, 404, 404, 404]),
    ("POST", "/api/investigations/{id}/blocks", [401, 404, 400, 400]),
    ("PATCH", "/api/investigations/{id}/blocks/{block}", [401, 404, 400, 400]),
    ("DELETE", "/api/investigations/{id}/blocks/{block}", [401, 404, 404, 404]),
    ("POST", "/api/investigations/{id}/blocks/{block}/move", [401, 404, 400, 400]),
    ("POST", "/api/investigations/{id}/blocks/{block}/restore", [401, 404, 404, 404]),
    ("GET", "/api/investigations/{id}/blocks/{block}/picture", [401, 404, 404, 404]),
    ("GET", "/api/investigations/{id}/file", [401, 404, 404, 404]),
    ("GET", "/shares", [303, 403, 200, 200]),
    ("GET", "/api/shares", [401, 404, 200, 200]),
    // An empty body.
    ("POST", "/api/shares", [401, 404, 400, 400]),
    // There is none.
    ("DELETE", "/api/shares/{share}", [401, 404, 404, 404]),
    ("POST", "/api/shares/allowed", [401, 404, 404, 400]),
    ("GET", "/s/{share}", [200; 4]),
    ("GET", "/s/{share}/preview.png", [404; 4]),
    ("GET", "/s/{share}/blocks/{block}/captures/{id}", [404; 4]),
    ("POST", "/s/{share}/open", [404; 4]),
    ("GET", "/s/{share}/captures/{id}", [404; 4]),
    ("GET", "/s/{share}/investigations/{id}", [404; 4]),
    ("GET", "/api/access", [401, 404, 404, 200]),
    // There are none with this id.
    ("DELETE", "/api/access/sessions/{id}", [401, 404, 404, 404]),
    ("DELETE", "/api/access/links/{id}", [401, 404, 404, 404]),
    ("GET", "/api/audit", [401, 404, 404, 200]),
    ("GET", "/people", [303, 403, 403, 200]),
    // Nobody logs in by a provider here.
    ("GET", "/oidc/start", [404; 4]),
    ("GET", "/oidc/callback", [404; 4]),
    ("POST", "/oidc/finish", [404; 4]),
    ("GET", "/webhooks", [303, 403, 403, 200]),
    ("GET", "/audit", [303, 403, 403, 200]),
    ("GET", "/api/webhooks", [401, 404, 404, 200]),
    ("GET", "/api/webhooks/names", [401, 404, 200, 200]),
    // An empty body.
    ("POST", "/api/webhooks", [401, 404, 404, 400]),
    // This console connects to nobody, and there is no such webhook.
    ("POST", "/api/webhooks/{name}/test", [401, 404, 404, 409]),
    ("DELETE", "/api/webhooks/{name}", [401, 404, 404, 404]),
    ("GET", "/account", [303, 200, 200, 200]),
    ("GET", "/password", [200; 4]),
    // An operator asks for a capture of somebody else.
    ("GET", "/api/captures/{id}/rights", [401, 404, 404, 200]),
    // An empty body.
    ("PUT", "/api/captures/{id}/rights", [401, 404, 400, 400]),
    ("GET", "/api/rights", [401, 404, 404, 200]),
    ("PUT", "/api/rights/tags/{tag}", [401, 404, 404, 400]),
    ("PUT", "/api/rights/groups/{name}", [401, 404, 404, 400]),
    // There is no such group.
    ("DELETE", "/api/rights/groups/{name}", [401, 404, 404, 404]),
    ("GET", "/api/people", [401, 404, 404, 200]),
    // An empty body.
    ("POST", "/api/people", [401, 404, 404, 400]),
    ("PATCH", "/api/people/{name}", [401, 404, 404, 400]),
    // There is nobody of this name.
    ("DELETE", "/api/people/{name}", [401, 404, 404, 404]),
    ("POST", "/api/people/{name}/reset", [401, 404, 404, 404]),
    ("GET", "/api/tokens", [401, 404, 404, 200]),
    // There is no such token.
    ("DELETE", "/api/tokens/{token}", [401, 404, 404, 404]),
    ("GET", "/api/own", [401, 200, 200, 200]),
    // An empty body.
    ("POST", "/api/own/password", [401, 400, 400, 400]),
    // There is no such session, and no such token.
    ("DELETE", "/api/own/sessions/{id}", [401, 404, 404, 404]),
    ("POST", "/api/own/tokens", [401, 400, 400, 400]),
    ("DELETE", "/api/own/tokens/{token}", [401, 404, 404, 404]),
    // An empty body.
    ("POST", "/api/password", [400; 4]),
];

/// An address that the route answers.
pub fn address(path: &str, id: impl std::fmt::Display) -> String {
    let filled = path
        .replace("{*path}", "tokens.css")
        .replace("{id}", &id.to_string())
        .replace("{share}", "00000000000000aa")
        .replace("{series}", "00000000000000ee")
        .replace("{mark}", "1")
        .replace("{stack}", "1")
        .replace("{pid}", "1")
        .replace("{n}", "0")
        .replace("{block}", "00000000000000ff")
        .replace("{note}", "00000000000000ff")
        .replace("{number}", "0")
        .replace("{system}", "sched")
        .replace("{tag}", "slow")
        .replace("{token}", "00000000000000ee")
        .replace("{name}", "sched_switch");
    match path.trim_start_matches("/s/{share}") {
        "/api/captures/{id}/export" => format!("{filled}?format=csv"),
        "/api/captures/{id}/flame/annotate" | "/api/captures/{id}/flame/sandwich" => format!("{filled}?function=main"),
        "/api/catalog/entry" => format!("{filled}?kind=function&name=vfs_read"),
        "/api/catalog/count" => format!("{filled}?kind=function&pattern=vfs_*"),
        "/api/dynamic/variables" => format!("{filled}?function=vfs_read"),
        "/api/predicate" => format!("{filled}?text=pid==1"),
        _ => filled,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p03_every_route_answers_every_role_as_the_table_says() {
    // Below a share no role opens anything; `shares` has a test of its own for these.
    let is_below = |path: &str| path.starts_with("/s/") && path.contains("/api/");
    let is_own = |route: &&Route| !is_below(route.path);
    let listed: BTreeSet<_> =
        table().iter().filter(is_own).map(|route| (route.method.to_string(), route.path)).collect();
    let expected: BTreeSet<_> = EXPECTED.iter().map(|(method, path, _)| ((*method).to_owned(), *path)).collect();
    assert_eq!(listed, expected, "a route is missing in one of the two tables");
    let each = |(method, path, statuses): &'static (&'static str, &'static str, [u16; 4])| {
        EVERYBODY.into_iter().zip(statuses).map(move |(who, status)| (*method, *path, who, *status))
    };
    let (staying, changing): (Vec<_>, Vec<_>) =
        EXPECTED.iter().flat_map(each).partition(|(method, .., status)| changes_nothing(method, *status));
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    for (method, path, who, status) in staying {
        check(&console, id, (method, path), who, status).await;
    }
    // A console for each of the others, since some delete; several at once, since a new one mostly waits for the disk.
    let checks = changing.into_iter().map(|(method, path, who, status)| async move {
        let console = Console::new().await;
        let id = console.capture("a capture", "somebody", 10).await;
        check(&console, id, (method, path), who, status).await;
    });
    futures_util::stream::iter(checks).buffer_unordered(8).collect::<()>().await;
}

/// Whether the next request may go to the same console: this one reads, or is refused.
fn changes_nothing(method: &str, status: u16) -> bool {
    method == "GET" || status >= 400
}

#[tokio::test(flavor = "multi_thread")]
async fn p03_a_token_may_what_its_role_may_and_manages_no_access() {
    let in_person: BTreeSet<_> = table()
        .into_iter()
        .filter(|route| route.in_person)
        .map(|route| (route.method.to_string(), route.path))
        .collect();
    let of = |method: &str, path: &str| in_person.iter().any(|(one, at)| one == method && *at == path);
    for path in ["/api/people", "/api/own/tokens", "/api/shares/allowed", "/api/captures/{id}/fire-token", "/logout"] {
        assert!(of("POST", path), "{path}");
    }
    assert!(of("GET", "/api/access") && !of("GET", "/api/audit") && !of("POST", "/api/captures"));
    let shared = Console::new().await;
    let shared_id = shared.capture("a capture", "somebody", 10).await;
    let roles = [(1, Role::Viewer), (2, Role::Operator), (3, Role::Admin)];
    let mut shared_tokens = Vec::new();
    for (_, role) in roles {
        let owner = format!("robot-{role}");
        shared_tokens.push(super::tokens::token_of(&shared, &owner, role).await);
    }
    let (shared, shared_tokens) = (&shared, &shared_tokens);
    let checks = EXPECTED.iter().flat_map(|line| roles.map(|(column, role)| (line, column, role)));
    let checks = checks.filter(|((method, ..), _, role)| *method == "GET" || *role != Role::Operator);
    let checks = checks.map(|(&(method, path, statuses), column, role)| {
        let status = match statuses[column] {
            refused @ (401 | 404) if !path.contains('{') => refused,
            // Whoever may not know of it hears no more by a token.
            usual => {
                let least = table().iter().find(|it| it.method == method && it.path == path).unwrap().least;
                if of(method, path) && least.is_some_and(|least| role >= least) { 403 } else { usual }
            }
        };
        async move {
            let ask = async |console: &Console, id, token: &str| {
                let answer = console.send(super::tokens::by_token(method, &address(path, id), token)).await;
                assert_eq!(answer.status().as_u16(), status, "{method} {path} by a token as {role}");
            };
            if changes_nothing(method, status) {
                return ask(shared, shared_id, &shared_tokens[column - 1]).await;
            }
            let own = Console::new().await;
            let id = own.capture("a capture", "somebody", 10).await;
            ask(&own, id, &super::tokens::token_of(&own, "robot", role).await).await;
        }
    });
    futures_util::stream::iter(checks).buffer_unordered(8).collect::<()>().await;
}

/// Asks for a route as somebody, and looks at the status and where a login leads.
async fn check(console: &Console, id: CaptureId, (method, path): (&str, &str), who: As, status: u16) {
    let cookie = console.cookie_as(who).await;
    let request = super::harness::own_page(method, &address(path, id), cookie.as_deref(), None);
    let response = console.send(request).await;
    assert_eq!(response.status().as_u16(), status, "{method} {path} as {who:?}");
    if response.status() == 303 && path != "/logout" {
        let login = response.headers()["location"].to_str().unwrap();
        let expected = if path == "/" { "/login".to_owned() } else { format!("/login?next={}", address(path, id)) };
        assert_eq!(login, expected, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p03_addresses_that_only_look_like_a_route_do_not_exist() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let admin = console.cookie("root", Role::Admin).await;
    for path in [
        "/api/captures/{id}",
        "/api/captures/:id",
        "/captures/{id}",
        "//api/host",
        "/api//host",
        "/api/host/",
        "/API/host",
        "/api%2fhost",
        "/%61pi/host",
        "/api/captures/..",
        "/api/captures/00000000000000FF",
        "/api/captures/0",
        "/assets/../login",
        "/assets/%2e%2e/login",
        "/assets/",
        "/nothing",
    ] {
        assert_eq!(console.get(path, &admin).await.status, 404, "{path}");
    }
    let longer = format!("/api/captures/{id}/rows/");
    assert_eq!(console.get(&longer, &admin).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_only_the_owner_and_admins_delete() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let id = console.capture("hers", "alice", 10).await;
    let path = format!("/api/captures/{id}");
    assert_eq!(console.get(&path, &bob).await.json()["can_delete"], false);
    assert_eq!(console.ask("DELETE", &path, Some(&bob), None).await.status, 404);
    assert_eq!(console.get(&path, &alice).await.json()["can_delete"], true);
    assert_eq!(console.ask("DELETE", &path, Some(&alice), None).await.status, 200);
    assert_eq!(console.get(&path, &alice).await.status, 404);
}

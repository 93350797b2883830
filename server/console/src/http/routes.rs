//! Every route of the console: one line each, with the least role that it needs.
//!
//! The router is built from this table and from nothing else, so a route that is not listed cannot exist. The role of a
//! line is the handler's first argument: a line and its handler cannot differ, because it would not compile.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{LazyLock, Mutex, PoisonError},
};

use axum::{
    Router,
    extract::Request,
    handler::Handler,
    middleware::{self, Next},
    response::Response,
    routing::{MethodFilter, MethodRouter, on},
};
use bathyscope_store::Role;
use http::Method;

use super::{
    access::{
        Access, Admin, Anonymous, CaptureShareHolder, InPerson, InvestigationReader, InvestigationShareHolder,
        Operator, Reader, SHARE_PREFIX, SHARED_BLOCK_PREFIX, Viewer,
    },
    api, assets,
    context::{Context, RouteKind},
    error::ApiError,
    layers, login, pages, share_pages, sign_in,
    state::AppState,
};

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path as the router writes it.
    pub path: &'static str,
    /// What it gives.
    pub kind: RouteKind,
    /// The least role; none where nobody needs to be logged in.
    pub least: Option<Role>,
    /// Whether people have to ask themselves, and tokens of theirs do not.
    pub in_person: bool,
    /// Whether a share of what is in the path does too, below the share's own address.
    by_share: bool,
    handler: MethodRouter<AppState>,
}

/// Handlers whose first argument is `A`.
pub(super) trait FirstIs<A> {}

macro_rules! first_is {
    ($($more:ident),*) => {
        impl<M, A: Access, $($more),*> FirstIs<A> for (M, A, $($more,)*) {}
    };
}

first_is!();
first_is!(B);
first_is!(B, C);
first_is!(B, C, D);
first_is!(B, C, D, E);
first_is!(B, C, D, E, F);
first_is!(B, C, D, E, F, G);

fn route<A, H, T>(kind: RouteKind, method: &Method, path: &'static str, handler: H) -> Route
where
    A: Access,
    H: Handler<T, AppState>,
    T: FirstIs<A> + 'static,
{
    let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET);
    let (least, in_person, by_share) = (A::LEAST, A::IN_PERSON, A::BY_SHARE);
    Route { method: method.clone(), path, kind, least, in_person, by_share, handler: on(filter, handler) }
}

/// The table.
pub fn table() -> Vec<Route> {
    let views = track_routes().into_iter().chain(stack_routes()).chain(distribution_routes());
    let own: Vec<Route> = console_routes()
        .into_iter()
        .chain(page_routes())
        .chain(views)
        .chain(library_routes())
        .chain(builder_routes())
        .chain(note_routes())
        .chain(investigation_routes())
        .chain(people_routes())
        .chain(rights_routes())
        .chain(webhook_routes())
        .chain(comparison_routes())
        .collect();
    let of_capture = |route: &&Route| route.path.starts_with("/api/captures/{id}");
    let below_blocks = own.iter().filter(of_capture).filter_map(|route| below_share(SHARED_BLOCK_PREFIX, route));
    let below_shares: Vec<Route> =
        own.iter().filter_map(|route| below_share(SHARE_PREFIX, route)).chain(below_blocks).collect();
    own.into_iter().chain(share_routes()).chain(below_shares).collect()
}

/// The paths of routes below a share's address. The router wants them for as long as the program runs.
static BELOW_SHARES: LazyLock<Mutex<HashMap<(&'static str, &'static str), &'static str>>> =
    LazyLock::new(Mutex::default);

/// The same route as a share reads it, below `prefix`.
fn below_share(prefix: &'static str, route: &Route) -> Option<Route> {
    let mut paths = BELOW_SHARES.lock().unwrap_or_else(PoisonError::into_inner);
    let below = |_: &_| -> &'static str { format!("{prefix}{}", route.path).leak() };
    let path = *paths.entry((prefix, route.path)).or_insert_with_key(below);
    route.by_share.then(|| Route { path, least: None, ..route.clone() })
}

/// Links for people without a login, and those who have one.
#[rustfmt::skip]
fn share_routes() -> Vec<Route> {
    use RouteKind::{Api, Download, Page};
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Operator, _, _>(Page, GET, "/shares", share_pages::list),
        route::<Operator, _, _>(Api, GET, "/api/shares", api::shares::list),
        route::<Operator, _, _>(Api, POST, "/api/shares", api::shares::make),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/shares/{share}", api::shares::revoke),
        route::<InPerson<Admin>, _, _>(Api, POST, "/api/shares/allowed", api::shares::allow),
        route::<Anonymous, _, _>(Page, GET, "/s/{share}", share_pages::door),
        route::<Anonymous, _, _>(Download, GET, "/s/{share}/preview.png", share_pages::preview_picture),
        route::<Anonymous, _, _>(Api, POST, "/s/{share}/open", share_pages::open),
        route::<CaptureShareHolder, _, _>(Page, GET, "/s/{share}/captures/{id}", share_pages::capture),
        route::<CaptureShareHolder, _, _>(Page, GET, "/s/{share}/blocks/{block}/captures/{id}", share_pages::capture),
        route::<InvestigationShareHolder, _, _>(Page, GET, "/s/{share}/investigations/{id}", share_pages::investigation),
    ]
}

/// Who may read and change captures.
#[rustfmt::skip]
fn rights_routes() -> Vec<Route> {
    use RouteKind::Api;
    const GET: &Method = &Method::GET;
    const PUT: &Method = &Method::PUT;
    vec![
        route::<Operator, _, _>(Api, GET, "/api/captures/{id}/rights", api::rights::capture),
        route::<InPerson<Operator>, _, _>(Api, PUT, "/api/captures/{id}/rights", api::rights::set_capture),
        route::<InPerson<Admin>, _, _>(Api, GET, "/api/rights", api::rights::page),
        route::<InPerson<Admin>, _, _>(Api, PUT, "/api/rights/tags/{tag}", api::rights::set_tag),
        route::<InPerson<Admin>, _, _>(Api, PUT, "/api/rights/groups/{name}", api::rights::set_group),
        route::<InPerson<Admin>, _, _>(Api, &Method::DELETE, "/api/rights/groups/{name}", api::rights::remove_group),
    ]
}

/// Accounts, tokens, and what somebody has of their own.
#[rustfmt::skip]
fn people_routes() -> Vec<Route> {
    use RouteKind::{Api, Page};
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Admin, _, _>(Page, GET, "/people", pages::people),
        route::<Viewer, _, _>(Page, GET, "/account", pages::account),
        route::<Anonymous, _, _>(Page, GET, "/password", pages::password),
        route::<Anonymous, _, _>(Page, GET, "/oidc/start", sign_in::start),
        route::<Anonymous, _, _>(Page, GET, "/oidc/callback", sign_in::callback),
        route::<Anonymous, _, _>(Page, POST, "/oidc/finish", sign_in::finish),
        route::<InPerson<Admin>, _, _>(Api, GET, "/api/people", api::people::list),
        route::<InPerson<Admin>, _, _>(Api, POST, "/api/people", api::people::add),
        route::<InPerson<Admin>, _, _>(Api, &Method::PATCH, "/api/people/{name}", api::people::change),
        route::<InPerson<Admin>, _, _>(Api, &Method::DELETE, "/api/people/{name}", api::people::remove),
        route::<InPerson<Admin>, _, _>(Api, POST, "/api/people/{name}/reset", api::people::reset),
        route::<InPerson<Admin>, _, _>(Api, GET, "/api/tokens", api::people::tokens),
        route::<InPerson<Admin>, _, _>(Api, &Method::DELETE, "/api/tokens/{token}", api::people::revoke),
        route::<InPerson<Viewer>, _, _>(Api, GET, "/api/own", api::own::show),
        route::<InPerson<Viewer>, _, _>(Api, POST, "/api/own/password", api::own::change_password),
        route::<InPerson<Viewer>, _, _>(Api, &Method::DELETE, "/api/own/sessions/{id}", api::own::end_session),
        route::<InPerson<Viewer>, _, _>(Api, POST, "/api/own/tokens", api::own::make_token),
        route::<InPerson<Viewer>, _, _>(Api, &Method::DELETE, "/api/own/tokens/{token}", api::own::revoke_token),
        route::<Anonymous, _, _>(Api, POST, "/api/password", api::own::choose_password),
    ]
}

/// Addresses that are told of captures of flight recorders.
#[rustfmt::skip]
fn webhook_routes() -> Vec<Route> {
    use RouteKind::{Api, Page};
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Admin, _, _>(Page, GET, "/webhooks", pages::webhooks),
        route::<InPerson<Admin>, _, _>(Api, GET, "/api/webhooks", api::webhooks::list),
        route::<Operator, _, _>(Api, GET, "/api/webhooks/names", api::webhooks::names),
        route::<InPerson<Admin>, _, _>(Api, POST, "/api/webhooks", api::webhooks::add),
        route::<InPerson<Admin>, _, _>(Api, POST, "/api/webhooks/{name}/test", api::webhooks::test),
        route::<InPerson<Admin>, _, _>(Api, &Method::DELETE, "/api/webhooks/{name}", api::webhooks::remove),
    ]
}

/// Notes on captures.
#[rustfmt::skip]
fn note_routes() -> Vec<Route> {
    use RouteKind::Api;
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/notes", api::notes::list),
        route::<Operator, _, _>(Api, POST, "/api/captures/{id}/notes", api::notes::write),
        route::<Operator, _, _>(Api, &Method::PATCH, "/api/captures/{id}/notes/{note}", api::notes::change),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/captures/{id}/notes/{note}", api::notes::remove),
        route::<Operator, _, _>(Api, POST, "/api/captures/{id}/notes/{note}/resolved", api::notes::resolve),
        route::<Viewer, _, _>(Api, GET, "/api/captures/{id}/notes/{note}/versions", api::notes::versions),
    ]
}

/// Investigations.
#[rustfmt::skip]
fn investigation_routes() -> Vec<Route> {
    use RouteKind::{Api, Download, Page};
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Viewer, _, _>(Page, GET, "/investigations", pages::investigations),
        route::<Viewer, _, _>(Page, GET, "/investigations/{id}", pages::investigation),
        route::<Viewer, _, _>(Api, GET, "/api/investigations", api::investigations::list),
        route::<Operator, _, _>(Api, POST, "/api/investigations", api::investigations::begin),
        route::<InvestigationReader, _, _>(Api, GET, "/api/investigations/{id}", api::investigations::one),
        route::<Operator, _, _>(Api, &Method::PATCH, "/api/investigations/{id}", api::investigations::change),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/investigations/{id}", api::investigations::delete),
        route::<Operator, _, _>(Api, POST, "/api/investigations/{id}/restore", api::investigations::restore),
        route::<Operator, _, _>(Api, POST, "/api/investigations/{id}/blocks", api::investigations::add),
        route::<Operator, _, _>(Api, &Method::PATCH, "/api/investigations/{id}/blocks/{block}", api::investigations::change_block),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/investigations/{id}/blocks/{block}", api::investigations::remove_block),
        route::<Operator, _, _>(Api, POST, "/api/investigations/{id}/blocks/{block}/move", api::investigations::move_block),
        route::<Operator, _, _>(Api, POST, "/api/investigations/{id}/blocks/{block}/restore", api::investigations::restore_block),
        route::<InvestigationReader, _, _>(Download, GET, "/api/investigations/{id}/blocks/{block}/picture", api::investigations::block_picture),
        route::<InvestigationReader, _, _>(Download, GET, "/api/investigations/{id}/file", api::investigation_file::file),
    ]
}

/// Captures beside each other.
#[rustfmt::skip]
fn comparison_routes() -> Vec<Route> {
    use RouteKind::{Api, Page};
    const GET: &Method = &Method::GET;
    vec![
        route::<Viewer, _, _>(Page, GET, "/compare", pages::compare),
        route::<Viewer, _, _>(Api, GET, "/api/compare", api::compare::captures),
        route::<Viewer, _, _>(Page, GET, "/series", pages::all_series),
        route::<Viewer, _, _>(Page, GET, "/series/{series}", pages::series),
        route::<Viewer, _, _>(Api, GET, "/api/series", api::series::list),
        route::<Viewer, _, _>(Api, GET, "/api/series/{series}", api::series::one),
        route::<Operator, _, _>(Api, &Method::PATCH, "/api/series/{series}", api::series::set_baseline),
        route::<Viewer, _, _>(Api, GET, "/api/marks", api::series::marks),
        route::<Operator, _, _>(Api, &Method::POST, "/api/marks", api::series::mark),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/marks/{mark}", api::series::unmark),
    ]
}

/// The probe builder.
#[rustfmt::skip]
fn builder_routes() -> Vec<Route> {
    use RouteKind::Api;
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Operator, _, _>(Api, POST, "/api/builder/write", api::builder::written),
        route::<Operator, _, _>(Api, POST, "/api/builder/read", api::builder::read_forms),
        route::<Operator, _, _>(Api, GET, "/api/builder/find", api::builder::find),
        route::<Operator, _, _>(Api, GET, "/api/builder/site", api::builder::site),
        route::<Operator, _, _>(Api, GET, "/api/builder/arguments", api::builder::argument_list),
        route::<Operator, _, _>(Api, POST, "/api/builder/try", api::trial::run),
    ]
}

/// What is read from a range of a capture.
#[rustfmt::skip]
fn track_routes() -> Vec<Route> {
    use RouteKind::Api;
    const GET: &Method = &Method::GET;
    vec![
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/tracks", api::tracks::list),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/tracks/window", api::tracks::window),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/tracks/moment", api::tracks::moment),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/tracks/instant", api::tracks::instant),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/tracks/critical-path", api::critical_path::path),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/range/threads", api::ranges::threads),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/range/slices", api::ranges::slices),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/range/waits", api::ranges::waits),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/range/counters", api::ranges::counters),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/range/wakeups", api::ranges::wakeups),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/range/amounts", api::ranges::amounts),
    ]
}

/// How values of a capture's rows are spread.
#[rustfmt::skip]
fn distribution_routes() -> Vec<Route> {
    use RouteKind::Api;
    const GET: &Method = &Method::GET;
    vec![
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/distribution", api::distribution::histogram),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/distribution/heat", api::distribution::heat),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/distribution/utilisation", api::distribution::busy),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/distribution/scatter", api::distribution::single),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/distribution/heat/compare", api::against::heat),
    ]
}

/// What people keep by name.
#[rustfmt::skip]
fn library_routes() -> Vec<Route> {
    use RouteKind::{Api, Download};
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Viewer, _, _>(Api, GET, "/api/library", api::library::list),
        route::<Operator, _, _>(Api, POST, "/api/library", api::library::keep),
        route::<Operator, _, _>(Api, POST, "/api/library/import", api::library::import),
        route::<Operator, _, _>(Api, POST, "/api/library/probes", api::library::probes),
        route::<Viewer, _, _>(Api, GET, "/api/library/{id}", api::library::one),
        route::<Operator, _, _>(Api, &Method::PATCH, "/api/library/{id}", api::library::change),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/library/{id}", api::library::delete),
        route::<Operator, _, _>(Api, POST, "/api/library/{id}/undelete", api::library::undelete),
        route::<Viewer, _, _>(Download, GET, "/api/library/{id}/file", api::library::file),
    ]
}

/// Stacks and calls of a capture.
#[rustfmt::skip]
fn stack_routes() -> Vec<Route> {
    use RouteKind::Api;
    const GET: &Method = &Method::GET;
    vec![
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/calls", api::calls::tree),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/calls/functions", api::calls::functions),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/calls/chart", api::calls::chart),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/calls/text", api::calls::text),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/flame", api::views::flame),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/flame/functions", api::views::functions),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/flame/sandwich", api::stacks::between),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/flame/chart", api::stacks::chart),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/flame/compare", api::stacks::difference),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/syscalls", api::syscall_table::table),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/syscalls/compare", api::against::syscalls),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/calls/compare", api::against::calls),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/processes", api::process_tree::tree),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/flame/annotate", api::annotate::instructions),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/stacks/{stack}", api::views::stack),
    ]
}

/// Pages of those who are logged in.
#[rustfmt::skip]
fn page_routes() -> Vec<Route> {
    use RouteKind::Page;
    const GET: &Method = &Method::GET;
    vec![
        route::<Viewer, _, _>(Page, GET, "/", pages::start),
        route::<Viewer, _, _>(Page, GET, "/captures", pages::history),
        route::<Viewer, _, _>(Page, GET, "/captures/{id}", pages::capture),
        route::<Viewer, _, _>(Page, GET, "/host", pages::host),
        route::<Operator, _, _>(Page, GET, "/catalog", pages::catalog),
        route::<Viewer, _, _>(Page, GET, "/tools", pages::tools),
        route::<Viewer, _, _>(Page, GET, "/library", pages::library),
        route::<Viewer, _, _>(Page, GET, "/language", pages::language),
        route::<Viewer, _, _>(Page, GET, "/api-reference", pages::api_reference),
        route::<Operator, _, _>(Page, GET, "/new", pages::new),
    ]
}

/// Everything else.
#[rustfmt::skip]
fn console_routes() -> Vec<Route> {
    use RouteKind::{Api, Download, Page, Stream};
    const GET: &Method = &Method::GET;
    const POST: &Method = &Method::POST;
    vec![
        route::<Anonymous, _, _>(Api, GET, "/healthz", api::health::healthz),
        route::<Anonymous, _, _>(Api, GET, "/assets/{*path}", assets::asset),
        route::<Anonymous, _, _>(Page, GET, "/login", login::page),
        route::<Anonymous, _, _>(Page, POST, "/login", login::login),
        route::<InPerson<Viewer>, _, _>(Page, POST, "/logout", login::logout),

        route::<Viewer, _, _>(Api, GET, "/api/openapi.json", assets::openapi),
        route::<Viewer, _, _>(Api, GET, "/api/host", api::host::host),
        route::<Operator, _, _>(Api, POST, "/api/host/check", api::host::check),
        route::<Operator, _, _>(Api, GET, "/api/tracepoints", api::tracepoints::search),
        route::<Operator, _, _>(Api, GET, "/api/tracepoints/{system}/{name}", api::tracepoints::one),
        route::<Operator, _, _>(Api, GET, "/api/perf_events", api::tracepoints::perf_events),
        route::<Operator, _, _>(Api, GET, "/api/catalog", api::catalog::search),
        route::<Operator, _, _>(Api, GET, "/api/catalog/kinds", api::catalog::kinds),
        route::<Operator, _, _>(Api, GET, "/api/catalog/entry", api::catalog::entry),
        route::<Operator, _, _>(Api, GET, "/api/catalog/count", api::catalog::count),
        route::<Operator, _, _>(Api, POST, "/api/catalog/refresh", api::catalog::refresh),
        route::<Operator, _, _>(Api, GET, "/api/predicate", api::tracepoints::predicate),
        route::<Operator, _, _>(Api, GET, "/api/syscalls/filter", api::syscalls::filter),
        route::<Operator, _, _>(Api, GET, "/api/processes", api::host::processes),
        route::<Operator, _, _>(Api, GET, "/api/processes/{pid}/files", api::host::open_files),
        route::<Operator, _, _>(Stream, GET, "/api/busy", api::live::activity),
        route::<Operator, _, _>(Api, GET, "/api/users", api::host::users),
        route::<Operator, _, _>(Api, GET, "/api/groups", api::host::groups),

        route::<Operator, _, _>(Api, GET, "/api/dynamic", api::dynamic::list),
        route::<Operator, _, _>(Api, POST, "/api/dynamic/check", api::dynamic::check),
        route::<Operator, _, _>(Api, GET, "/api/dynamic/variables", api::dynamic::variables),
        route::<Operator, _, _>(Api, GET, "/api/dynamic/functions", api::dynamic::functions),
        route::<Admin, _, _>(Api, POST, "/api/host/kprobes", api::dynamic::set_kprobes),

        route::<Viewer, _, _>(Api, GET, "/api/captures", api::captures::list),
        route::<Operator, _, _>(Api, POST, "/api/captures", api::captures::start),
        route::<Viewer, _, _>(Api, GET, "/api/tags", api::captures::tags),
        route::<Operator, _, _>(Api, POST, layers::IMPORT, api::import::import),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}", api::captures::one),
        route::<Operator, _, _>(Api, &Method::PATCH, "/api/captures/{id}", api::captures::change),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/captures/{id}", api::captures::delete),
        route::<Viewer, _, _>(Api, GET, "/api/retention", api::retention::forecast),
        route::<Operator, _, _>(Api, GET, "/api/deleted", api::deleted::list),
        route::<Operator, _, _>(Api, POST, "/api/deleted/{id}/restore", api::deleted::restore),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/deleted/{id}", api::deleted::discard),
        route::<Operator, _, _>(Api, POST, "/api/captures/{id}/stop", api::captures::stop),
        route::<Operator, _, _>(Api, POST, "/api/captures/{id}/fire", api::flight::fire),
        route::<InPerson<Operator>, _, _>(Api, POST, "/api/captures/{id}/fire-token", api::flight::make_token),
        route::<InPerson<Operator>, _, _>(Api, &Method::DELETE, "/api/captures/{id}/fire-token", api::flight::revoke_token),
        route::<Anonymous, _, _>(Api, POST, "/api/fire/{id}", api::flight::fire_by_token),
        route::<Operator, _, _>(Api, POST, "/api/captures/{id}/probes/detach", api::dynamic::detach),
        route::<Operator, _, _>(Api, POST, "/api/captures/{id}/computed", api::derivations::compute),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/captures/{id}/computed/{number}", api::derivations::remove),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/output", api::captures::output),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/rows", api::views::rows),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/rows/times", api::views::row_times),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/facets", api::views::facets),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/pivot", api::views::pivot),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/pivot/compare", api::against::groups),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/rate", api::views::rate),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/timeline", api::views::timeline),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/find", api::find::search),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/find/step", api::find::step),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/counts", api::views::counts),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/script", api::maps::script),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/maps", api::maps::list),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/maps/{n}", api::maps::one),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/maps/{n}/compare", api::against::map),
        route::<Reader, _, _>(Api, GET, "/api/captures/{id}/text", api::maps::text),
        route::<Viewer, _, _>(Api, GET, "/api/captures/{id}/query", api::query::tables),
        route::<Viewer, _, _>(Api, POST, "/api/captures/{id}/query", api::query::query),
        route::<Reader, _, _>(Download, GET, "/api/captures/{id}/export", api::export::export),
        route::<Reader, _, _>(Download, GET, "/api/captures/{id}/file", api::export::file),
        route::<Reader, _, _>(Stream, GET, "/api/captures/{id}/live", api::live::capture),
        route::<Viewer, _, _>(Stream, GET, "/api/live", api::live::running),

        route::<Viewer, _, _>(Api, GET, "/api/commands", api::commands::about),
        route::<Viewer, _, _>(Api, POST, "/api/commands/explain", api::commands::explained),
        route::<Viewer, _, _>(Api, POST, "/api/commands/same", api::commands::same),
        route::<Operator, _, _>(Api, POST, "/api/commands/complete", api::complete::complete),
        route::<Viewer, _, _>(Api, GET, "/api/scripts", api::scripts::about),
        route::<Operator, _, _>(Api, POST, "/api/scripts/check", api::scripts::check),
        route::<Operator, _, _>(Api, POST, "/api/scripts/compile", api::scripts::compile),
        route::<Operator, _, _>(Api, POST, "/api/scripts/complete", api::language::complete),
        route::<Operator, _, _>(Api, POST, "/api/scripts/hover", api::language::hover),
        route::<Viewer, _, _>(Api, GET, "/api/recipes", api::recipes::list),
        route::<Operator, _, _>(Api, POST, "/api/recipes", api::recipes::save),
        route::<Operator, _, _>(Api, &Method::DELETE, "/api/recipes/{name}", api::recipes::delete),
        route::<Viewer, _, _>(Api, GET, "/api/tools", api::language::list),
        route::<Viewer, _, _>(Api, GET, "/api/tools/{name}", api::language::tool),
        route::<Viewer, _, _>(Api, GET, "/api/language", api::language::language),

        route::<Viewer, _, _>(Api, GET, "/api/samples", api::samples::list),
        route::<Viewer, _, _>(Api, POST, "/api/samples/{name}", api::samples::open),

        route::<InPerson<Admin>, _, _>(Api, GET, "/api/access", api::access::list),
        route::<InPerson<Admin>, _, _>(Api, &Method::DELETE, "/api/access/sessions/{id}", api::access::end_session),
        route::<InPerson<Admin>, _, _>(Api, &Method::DELETE, "/api/access/links/{id}", api::access::end_link),
        route::<Admin, _, _>(Page, GET, "/audit", pages::audit),
        route::<Admin, _, _>(Api, GET, "/api/audit", api::audit::list),
    ]
}

/// The patterns of pages that somebody who is logged in can open.
static PAGES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let is_page = |route: &Route| route.kind == RouteKind::Page && route.method == Method::GET && route.least.is_some();
    table().into_iter().filter(is_page).map(|route| route.path).collect()
});

/// Whether `path` is that of a page which somebody who is logged in can open.
pub(super) fn is_page(path: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let fits = |pattern: &str| {
        let (wanted, given) = (pattern.split('/'), path.split('/'));
        wanted.clone().count() == given.clone().count()
            && wanted.zip(given).all(|(want, part)| if want.starts_with('{') { is_name(part) } else { want == part })
    };
    PAGES.iter().any(|pattern| fits(pattern))
}

/// The router of the table.
pub(super) fn router(state: AppState) -> Router {
    let mut router = Router::new();
    for Route { path, kind, handler, .. } in table() {
        let marked = middleware::from_fn(move |request: Request, next: Next| run(kind, path, request, next));
        let limited =
            handler.layer::<_, Infallible>(layers::body_limit(path)).layer::<_, Infallible>(layers::time_limit(path));
        router = router.route(path, limited.layer(marked));
    }
    router.fallback(|| async { ApiError::not_found() }).with_state(state)
}

/// The routes that read captures, for questions that the console asks itself: no route of another kind, and none that changes anything.
pub(super) fn captures_inside(state: AppState) -> Router {
    let is_asked = |route: &Route| {
        route.by_share
            && route.kind == RouteKind::Api
            && route.method == Method::GET
            && route.path.starts_with("/api/captures/{id}")
    };
    let routes = table().into_iter().filter(is_asked);
    routes.fold(Router::new(), |router, route| router.route(route.path, route.handler)).with_state(state)
}

async fn run(kind: RouteKind, path: &'static str, request: Request, next: Next) -> Response {
    if let Some(context) = request.extensions().get::<Context>() {
        context.set_route(kind, path);
        if kind == RouteKind::Page && request.method() == Method::GET {
            context.set_asked(request.uri());
        }
        tracing::Span::current().record("route", path);
    }
    let method = request.method().clone();
    let mut response = next.run(request).await;
    layers::mark_compressible(kind, &method, path, &mut response);
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn p03_no_line_is_listed_twice() {
        let lines: Vec<_> = table().into_iter().map(|route| (route.method.to_string(), route.path)).collect();
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len());
    }
}

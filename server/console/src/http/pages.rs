//! The pages behind the login. They are shells: modules fetch what they show from the API.

use axum::{
    extract::State,
    response::{Html, IntoResponse as _, Response},
};
use bathyscope_web::{Template, pages};

use super::{
    access::{Admin, Anonymous, Operator, Viewer},
    api::{captures::CapturePath, investigations::InvestigationPath, series::SeriesPath},
    context::Context,
    error::ApiError,
    extract::Path,
    state::AppState,
};
use crate::passwords::{LEAST_CHARS, MOST_CHARS};

/// The start page.
pub(super) async fn start(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Start { nonce: context.nonce(), frame: who.frame(pages::Nav::Start) })
}

/// The form for a new capture.
pub(super) async fn new(Operator(who): Operator, context: Context) -> Result<Response, ApiError> {
    render(&pages::New { nonce: context.nonce(), frame: who.frame(pages::Nav::New) })
}

/// All captures.
pub(super) async fn history(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::History { nonce: context.nonce(), frame: who.frame(pages::Nav::History) })
}

/// The scripts that come with the console.
pub(super) async fn tools(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Tools { nonce: context.nonce(), frame: who.frame(pages::Nav::Tools) })
}

/// What people keep by name.
pub(super) async fn library(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Library { nonce: context.nonce(), frame: who.frame(pages::Nav::Library) })
}

/// Everything of this host that can be traced.
pub(super) async fn catalog(Operator(who): Operator, context: Context) -> Result<Response, ApiError> {
    render(&pages::Catalog { nonce: context.nonce(), frame: who.frame(pages::Nav::Catalog) })
}

/// The reference of the probe language.
pub(super) async fn language(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Language { nonce: context.nonce(), frame: who.frame(pages::Nav::Tools) })
}

/// The reference of the API.
pub(super) async fn api_reference(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::ApiReference { nonce: context.nonce(), frame: who.frame(pages::Nav::None) })
}

/// What this host can do.
pub(super) async fn host(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Host { nonce: context.nonce(), frame: who.frame(pages::Nav::Host) })
}

/// Who has an account, for admins.
pub(super) async fn people(Admin(who): Admin, context: Context) -> Result<Response, ApiError> {
    render(&pages::People { nonce: context.nonce(), frame: who.frame(pages::Nav::People) })
}

/// Who is told of captures of flight recorders, for admins.
pub(super) async fn webhooks(Admin(who): Admin, context: Context) -> Result<Response, ApiError> {
    render(&pages::Webhooks { nonce: context.nonce(), frame: who.frame(pages::Nav::None) })
}

/// Who did what, for admins.
pub(super) async fn audit(Admin(who): Admin, context: Context) -> Result<Response, ApiError> {
    render(&pages::Audit { nonce: context.nonce(), frame: who.frame(pages::Nav::People) })
}

/// What somebody has of their own.
pub(super) async fn account(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Account { nonce: context.nonce(), frame: who.frame(pages::Nav::None) })
}

/// The page that a link to choose a password leads to. It is the same whatever there is: nobody has shown a token yet.
pub(super) async fn password(_: Anonymous, context: Context) -> Result<Response, ApiError> {
    render(&pages::Password { nonce: context.nonce(), least_chars: LEAST_CHARS, most_chars: MOST_CHARS })
}

/// One capture.
pub(super) async fn capture(
    Viewer(who): Viewer,
    context: Context,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
) -> Result<Response, ApiError> {
    let record = state.store().capture(id).await?;
    let (id, title) = (id.to_string(), bathyscope_capture::shown(&record.title));
    render(&pages::Capture { nonce: context.nonce(), frame: who.frame(pages::Nav::None), id: &id, title: &title })
}

/// Two captures beside each other.
pub(super) async fn compare(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Compare { nonce: context.nonce(), frame: who.frame(pages::Nav::History) })
}

/// What was recorded more than once.
pub(super) async fn all_series(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::AllSeries { nonce: context.nonce(), frame: who.frame(pages::Nav::History) })
}

/// The runs of a series.
pub(super) async fn series(
    Viewer(who): Viewer,
    context: Context,
    State(state): State<AppState>,
    Path(SeriesPath { series }): Path<SeriesPath>,
) -> Result<Response, ApiError> {
    if state.seen(&who).series_runs(series).await?.is_empty() {
        return Err(ApiError::not_found());
    }
    render(&pages::Series { nonce: context.nonce(), frame: who.frame(pages::Nav::History), id: &series.to_string() })
}

/// The investigations.
pub(super) async fn investigations(Viewer(who): Viewer, context: Context) -> Result<Response, ApiError> {
    render(&pages::Investigations { nonce: context.nonce(), frame: who.frame(pages::Nav::Investigations) })
}

/// One investigation.
pub(super) async fn investigation(
    Viewer(who): Viewer,
    context: Context,
    State(state): State<AppState>,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
) -> Result<Response, ApiError> {
    let found = state.store().investigation(id).await?.filter(|(record, _)| record.deleted_unix_ns.is_none());
    let (record, _blocks) = found.ok_or_else(ApiError::not_found)?;
    let (id, title) = (id.to_string(), bathyscope_capture::shown(&record.title));
    let frame = who.frame(pages::Nav::Investigations);
    render(&pages::Investigation { nonce: context.nonce(), frame, id: &id, title: &title })
}

fn render(page: &impl Template) -> Result<Response, ApiError> {
    let html = page.render().map_err(|error| ApiError::internal("making the page", error))?;
    Ok(Html(html).into_response())
}

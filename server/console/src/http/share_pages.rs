//! Pages of links for people without a login: the one that a link leads to, the capture or investigation that it shows, and the list for
//! those who make some.

use axum::{
    Json,
    extract::State,
    response::{Html, IntoResponse as _, Response},
};
use bathyscope_store::SharePreview;
use bathyscope_web::{Template, pages};
use http::{
    HeaderValue,
    header::{CONTENT_TYPE, SET_COOKIE},
};
use serde::{Deserialize, Serialize};

use super::{
    access::{Anonymous, CaptureShareHolder, InvestigationShareHolder, Operator, share_cookie},
    context::Context,
    error::ApiError,
    extract::{self, Path},
    share::ShareId,
    state::AppState,
};

/// The page that a link leads to. It is the same whatever there is, as nobody has shown a token yet; but where the maker of a share
/// wanted a preview, it has that in its head.
pub(super) async fn door(
    _: Anonymous,
    State(state): State<AppState>,
    context: Context,
    Path(DoorPath { share }): Path<DoorPath>,
) -> Result<Response, ApiError> {
    let preview = previewed(&state, &share).await?;
    let origin = match state.hosts().public_url() {
        Some(url) => url.to_string(),
        None => format!("{}://{}", state.hosts().scheme(), context.host().0),
    };
    let preview = preview.map(|SharePreview { share: record, .. }| pages::SharePreview {
        title: bathyscope_capture::shown(&record.title),
        description: if record.kind == "investigation" { AN_INVESTIGATION } else { A_CAPTURE },
        picture: format!("{origin}/s/{share}/preview.png"),
    });
    render(&pages::ShareDoor { nonce: context.nonce(), preview })
}

/// What a preview says of a share of a capture: nothing of its own.
const A_CAPTURE: &str = "A recording of what a system did, to look at in the browser. Made with Bathyscope.";
/// What it says of one of an investigation.
const AN_INVESTIGATION: &str = "An investigation of what a system did, to read in the browser. Made with Bathyscope.";

/// The preview of a share by its name; none if it has none, or is none.
async fn previewed(state: &AppState, share: &str) -> Result<Option<SharePreview>, ApiError> {
    match share.parse::<ShareId>() {
        Ok(id) => Ok(state.shares().preview(id).await?),
        Err(_) => Ok(None),
    }
}

/// The picture of a preview.
pub(super) async fn preview_picture(
    _: Anonymous,
    State(state): State<AppState>,
    Path(DoorPath { share }): Path<DoorPath>,
) -> Result<Response, ApiError> {
    let found = previewed(&state, &share).await?.ok_or_else(ApiError::no_share)?;
    Ok(([(CONTENT_TYPE, "image/png")], found.picture).into_response())
}

/// The link in a path.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct DoorPath {
    share: String,
}

/// What a link shows, in a path: whoever holds the link was let in for this and nothing else.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ObjectPath {
    id: String,
}

/// What opens a link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    token: String,
}

/// Where a link leads.
#[derive(Serialize)]
pub(super) struct Opened {
    url: String,
}

/// Takes the token, and gives it back as a cookie for this link alone. Whatever is wrong has one answer.
pub(super) async fn open(
    _: Anonymous,
    State(state): State<AppState>,
    Path(DoorPath { share }): Path<DoorPath>,
    key: Result<extract::Json<Key>, ApiError>,
) -> Result<Response, ApiError> {
    let (Ok(id), Ok(extract::Json(Key { token }))) = (share.parse::<ShareId>(), key) else {
        return Err(ApiError::no_share());
    };
    let share = state.shares().find(id, &token, true).await?.ok_or_else(ApiError::no_share)?;
    let mut response = Json(Opened { url: share.address() }).into_response();
    let cookie = share_cookie(&share, &token, state.hosts().is_secure());
    let cookie = HeaderValue::from_str(&cookie).map_err(|error| ApiError::internal("opening a share", error))?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// The capture that a link shows.
pub(super) async fn capture(
    CaptureShareHolder(share): CaptureShareHolder,
    context: Context,
    Path(ObjectPath { id }): Path<ObjectPath>,
) -> Result<Response, ApiError> {
    let title = bathyscope_capture::shown(&share.record().title);
    render(&pages::SharedCapture { nonce: context.nonce(), id: &id, title: &title })
}

/// The investigation that a link shows.
pub(super) async fn investigation(
    InvestigationShareHolder(share): InvestigationShareHolder,
    context: Context,
    Path(ObjectPath { id }): Path<ObjectPath>,
) -> Result<Response, ApiError> {
    let title = bathyscope_capture::shown(&share.record().title);
    render(&pages::SharedInvestigation { nonce: context.nonce(), id: &id, title: &title })
}

/// The links that somebody has made; an admin sees all.
pub(super) async fn list(Operator(who): Operator, context: Context) -> Result<Response, ApiError> {
    render(&pages::Shares { nonce: context.nonce(), frame: who.frame(pages::Nav::None) })
}

fn render(page: &impl Template) -> Result<Response, ApiError> {
    let html = page.render().map_err(|error| ApiError::internal("making the page", error))?;
    Ok(Html(html).into_response())
}

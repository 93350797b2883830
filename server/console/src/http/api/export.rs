//! Captures and views of them as files.
//!
//! * `GET /api/captures/{id}/export?format=…` (viewer, or a share): rows, stacks, calls or all of it in a format of other tools.
//! * `GET /api/captures/{id}/file?view=&tabs=&most_bytes=` (viewer, or a share): a view as one HTML file that opens without this console. `view` is the
//!   query of the page's address; `tabs` which of its tabs the file has, separated by commas: `events`, `timeline`, `flame` and so on, the
//!   view's own if there are none. At most 20 MB: else 413. What is not in it is in the header `Bathyscope-Left-Out`, in sentences.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use bathyscope_reader::{
    ViewQuery,
    export::{self, Format},
};
use bathyscope_views::ViewError;
use http::{
    HeaderName, HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use serde::Deserialize;

use super::{
    super::{
        access::{Reader, Who},
        context::Context,
        error::ApiError,
        extract::{Path, Query},
        saved::{AskedFile, FileMaker, PATIENCE, capture_file, origin},
        state::{AppState, to_its_end},
    },
    captures::CapturePath,
};

/// What the capture lacks, in words, where it lacks something.
const LOSSES: HeaderName = HeaderName::from_static("bathyscope-losses");

/// In which format.
#[derive(Deserialize)]
pub(in crate::http) struct FormatQuery {
    format: Format,
}

/// A file. What is wrong with the query is answered before the file begins.
pub(in crate::http) async fn export(
    reader: Reader,
    State(state): State<AppState>,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(FormatQuery { format }): Query<FormatQuery>,
    Query(query): Query<ViewQuery>,
) -> Result<Response, ApiError> {
    let mut missing = None;
    // A whole capture has its ledger in it.
    let body = if format == Format::Bathy {
        reader.admit_whole(id, "a file of all of it")?;
        let (store, dir) = (state.store().clone(), state.private_dir().to_owned());
        let mut file = to_its_end(async move { export::whole_file(&store, id, &dir).await }).await??;
        let copy = move |out: &mut dyn std::io::Write, _cancel: &_| {
            std::io::copy(&mut file, out).map(drop).map_err(ViewError::Write)
        };
        state.workers().download(copy).await?
    } else {
        let view = reader.view(&state, id).await?;
        export::check(&view, format, &query)?;
        missing = export::missing_words(view.record());
        state.workers().download(move |out, cancel| export::write(&view, format, &query, out, cancel)).await?
    };
    // A GET changes nothing (P04), so this goes to the log and not to the audit log.
    let user = reader.who().map_or("a share", Who::user);
    tracing::info!(capture = %id, user, format = format.extension(), "a capture is exported");
    let whole = if missing.is_some() { "-incomplete" } else { "" };
    let name = format!("attachment; filename=\"bathyscope-{id}{whole}.{}\"", format.extension());
    let head = [
        (CONTENT_TYPE, format.mime().to_owned()),
        (CONTENT_DISPOSITION, name),
        (CONTENT_SECURITY_POLICY, "sandbox".to_owned()),
    ];
    let mut answer = (head, body).into_response();
    // Words of numbers and letters only.
    if let Some(words) = missing.and_then(|words| HeaderValue::try_from(words).ok()) {
        answer.headers_mut().insert(LOSSES, words);
    }
    Ok(answer)
}

/// Which view of a capture, and how much of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FileQuery {
    /// The query of the page's address.
    #[serde(default)]
    view: String,
    /// The tabs of the file, separated by commas.
    #[serde(default)]
    tabs: String,
    /// The most bytes of the file, at most 20,000,000.
    most_bytes: Option<usize>,
}

/// Saves a view of a capture as one HTML file.
pub(in crate::http) async fn file(
    reader: Reader,
    State(state): State<AppState>,
    context: Context,
    Path(CapturePath { id }): Path<CapturePath>,
    Query(FileQuery { view, tabs, most_bytes }): Query<FileQuery>,
) -> Result<Response, ApiError> {
    reader.admit(id)?;
    let tabs = tabs.split(',').filter(|tab| !tab.is_empty()).map(str::to_owned).collect();
    // A share's own address opens nothing elsewhere.
    let page = reader.who().map(|_| format!("{}/captures/{id}", origin(&state, &context)));
    let user = reader.who().map_or_else(|| "a share".to_owned(), |who| who.user().to_owned());
    let asked = AskedFile { view, tabs };
    let _turn = state.workers().file().await?;
    let maker = FileMaker::new(&state, PATIENCE, most_bytes)?;
    let made = capture_file(maker, (reader, id), &asked, page).await?;
    tracing::info!(capture = %id, user, bytes = made.html.len(), "a view is saved as a file");
    Ok(made.response())
}

//! An investigation and its views as one HTML file that opens without this console.
//!
//! * `GET /api/investigations/{id}/file?most_bytes=` (viewer, or a share, whose file has pictures of views only): at most 20 MB. What is not in it is in
//!   the header `Bathyscope-Left-Out`, in sentences.

use axum::{Json, extract::State, response::Response};
use bathyscope_capture::CaptureId;
use bathyscope_store::InvestigationId;
use serde::Deserialize;

use super::{
    super::{
        access::{InvestigationReader, Who},
        context::Context,
        error::ApiError,
        extract::{Path, Query},
        saved::{FileMaker, PATIENCE, investigation_file, origin},
        state::AppState,
    },
    investigations::{BlockPath, InvestigationPath, block_picture, one},
};
use crate::investigations::{BlockItem, ToldBlock};

/// The most bytes of a picture in a file.
const MOST_PICTURE_BYTES: usize = 16 << 20;

/// A block of a file with a picture.
pub(in crate::http) struct FileBlock {
    pub(in crate::http) id: InvestigationId,
    /// Which of all blocks, from 1 on.
    pub(in crate::http) number: usize,
    pub(in crate::http) version: u32,
    /// Whether its view can open: that of a capture that is gone is shown as it is.
    pub(in crate::http) opens: bool,
    pub(in crate::http) capture: CaptureId,
    /// The query of the page's address.
    pub(in crate::http) view: String,
}

/// The page of a file.
pub(in crate::http) struct FilePage {
    pub(in crate::http) title: String,
    /// What [`one`] answers to somebody who only reads.
    pub(in crate::http) json: Vec<u8>,
    pub(in crate::http) blocks: Vec<FileBlock>,
}

/// The page as a file has it.
pub(in crate::http) async fn page_for_file(
    state: &AppState,
    reader: &InvestigationReader,
    id: InvestigationId,
) -> Result<FilePage, ApiError> {
    let Json(mut answer) = one(reader.clone(), State(state.clone()), Path(InvestigationPath { id })).await?;
    answer.page.can_write = false;
    answer.page.head.can_delete = false;
    (answer.share, answer.no_shares) = (None, None);
    let block = |(at, block): (usize, &BlockItem)| {
        let (capture, view, opens) = match &block.content {
            ToldBlock::View { capture, title, view, .. } | ToldBlock::Comparison { capture, title, view, .. } => {
                (*capture, view, title.is_some())
            }
            ToldBlock::Step { capture: Some(capture), title, view, .. } => (*capture, view, title.is_some()),
            _ => return None,
        };
        Some(FileBlock { id: block.id, number: at + 1, version: block.version, opens, capture, view: view.clone() })
    };
    let blocks = answer.page.blocks.iter().enumerate().filter_map(block).collect();
    let json = serde_json::to_vec(&answer).map_err(|error| ApiError::internal("writing the page", error))?;
    Ok(FilePage { title: answer.page.head.title, json, blocks })
}

/// The picture of a block's view, as SVG.
pub(in crate::http) async fn picture_for_file(
    state: &AppState,
    reader: &InvestigationReader,
    (id, block): (InvestigationId, InvestigationId),
) -> Result<Vec<u8>, ApiError> {
    let picture = block_picture(reader.clone(), State(state.clone()), Path(BlockPath { id, block })).await?;
    let svg = axum::body::to_bytes(picture.into_body(), MOST_PICTURE_BYTES).await;
    svg.map(|svg| svg.to_vec()).map_err(|error| ApiError::internal("reading a picture", error))
}

/// How large the file may be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct InvestigationFileQuery {
    /// The most bytes of the file, at most 20,000,000: views for which there is no room are pictures.
    most_bytes: Option<usize>,
}

/// Saves an investigation with its views as one file.
pub(in crate::http) async fn file(
    reader: InvestigationReader,
    State(state): State<AppState>,
    context: Context,
    Path(InvestigationPath { id }): Path<InvestigationPath>,
    Query(InvestigationFileQuery { most_bytes }): Query<InvestigationFileQuery>,
) -> Result<Response, ApiError> {
    reader.admit(id)?;
    // A share's own address opens nothing elsewhere.
    let page = reader.who().map(|_| format!("{}/investigations/{id}", origin(&state, &context)));
    let _turn = state.workers().file().await?;
    let maker = FileMaker::new(&state, PATIENCE, most_bytes)?;
    let made = investigation_file((maker, &state), (&reader, id), page).await?;
    // A GET changes nothing (P04), so this goes to the log and not to the audit log.
    let user = reader.who().map_or("a share", Who::user);
    tracing::info!(investigation = %id, user, bytes = made.html.len(), "an investigation is saved as a file");
    Ok(made.response())
}

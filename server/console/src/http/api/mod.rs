//! The JSON API. Handlers are thin: they read what was asked, let other rooms do it, and say it in wire types.

pub(super) mod access;
pub(super) mod against;
pub(super) mod annotate;
pub(super) mod audit;
pub(super) mod builder;
pub(super) mod calls;
pub(super) mod captures;
pub(super) mod catalog;
pub(super) mod commands;
pub(super) mod compare;
pub(super) mod complete;
pub(super) mod critical_path;
pub(super) mod deleted;
pub(super) mod derivations;
pub(super) mod distribution;
pub(super) mod dynamic;
pub(super) mod export;
pub(super) mod find;
pub(super) mod flight;
mod found_site;
pub(super) mod health;
pub(super) mod host;
pub(super) mod import;
pub(super) mod investigation_file;
pub(super) mod investigations;
pub(super) mod language;
pub(super) mod library;
pub(super) mod live;
pub(super) mod maps;
pub(super) mod notes;
pub(super) mod own;
pub(super) mod people;
pub(super) mod process_tree;
pub(super) mod query;
pub(super) mod ranges;
pub(super) mod recipes;
pub(super) mod retention;
pub(super) mod rights;
pub(super) mod samples;
pub(super) mod scripts;
pub(super) mod series;
pub(super) mod shares;
pub(super) mod stacks;
pub(super) mod syscall_table;
pub(super) mod syscalls;
mod tool_examples;
pub(super) mod tracepoints;
pub(super) mod tracks;
pub(super) mod trial;
pub(super) mod views;
pub(super) mod webhooks;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use bathyscope_capture::CaptureId;
use bathyscope_reader::CaptureView;
use bathyscope_views::{Cancel, ViewError};
use http::header::CONTENT_TYPE;
use serde::Serialize;

use self::captures::CapturePath;
use super::{access::Reader, error::ApiError, state::AppState};

/// What `make` reads from a capture.
async fn read_view<T: Send + 'static>(
    reader: &Reader,
    state: &AppState,
    CapturePath { id }: CapturePath,
    make: impl FnOnce(&CaptureView, &Cancel) -> Result<T, ViewError> + Send + 'static,
) -> Result<Json<T>, ApiError> {
    let view = reader.view(state, id).await?;
    Ok(Json(state.workers().view(view, make).await?))
}

/// The same in a binary form, which `encode` makes of it and of its head as JSON.
async fn read_binary_view<T: Serialize + Send + 'static>(
    reader: &Reader,
    state: &AppState,
    CapturePath { id }: CapturePath,
    make: impl FnOnce(&CaptureView, &Cancel) -> Result<T, ViewError> + Send + 'static,
    encode: fn(&T, &[u8]) -> Vec<u8>,
    doing: &'static str,
) -> Result<Response, ApiError> {
    let view = reader.view(state, id).await?;
    let encoded = move |view: &CaptureView, cancel: &Cancel| {
        let made = make(view, cancel)?;
        Ok(serde_json::to_vec(&made).map(|head| encode(&made, &head)))
    };
    let bytes = state.workers().view(view, encoded).await?.map_err(|error| ApiError::internal(doing, error))?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// Where a capture is.
#[derive(Serialize)]
pub(in crate::http) struct CaptureAddress {
    id: CaptureId,
    url: String,
}

impl CaptureAddress {
    fn of(id: CaptureId) -> Self {
        Self { id, url: format!("/captures/{id}") }
    }
}

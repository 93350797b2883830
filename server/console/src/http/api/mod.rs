//! The JSON API. Handlers are thin: they read what was asked, let other rooms do it, and say it in wire types.

pub(super) mod access;
pub(super) mod annotate;
pub(super) mod audit;
pub(super) mod calls;
pub(super) mod captures;
pub(super) mod catalog;
pub(super) mod commands;
pub(super) mod critical_path;
pub(super) mod derivations;
pub(super) mod dynamic;
pub(super) mod export;
pub(super) mod find;
pub(super) mod health;
pub(super) mod host;
pub(super) mod import;
pub(super) mod language;
pub(super) mod live;
pub(super) mod maps;
pub(super) mod notes;
pub(super) mod query;
pub(super) mod ranges;
pub(super) mod recipes;
pub(super) mod samples;
pub(super) mod scripts;
pub(super) mod syscalls;
pub(super) mod tracepoints;
pub(super) mod tracks;
pub(super) mod views;

use bathyscope_capture::CaptureId;
use serde::Serialize;

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

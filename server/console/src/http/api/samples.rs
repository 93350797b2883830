//! The captures that come with the program.

use axum::{Json, extract::State};
use bathyscope_capture::CaptureId;
use bathyscope_web::samples;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::Viewer,
        error::ApiError,
        extract::Path,
        state::{AppState, to_its_end},
    },
    CaptureAddress,
};

/// Who owns samples: nobody, so that only an admin deletes them.
const OWNER: &str = "samples";

#[derive(Serialize)]
pub(in crate::http) struct SampleList {
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// The capture, if it was opened before.
    id: Option<CaptureId>,
}

/// Lists all samples.
pub(in crate::http) async fn list(_: Viewer, State(state): State<AppState>) -> Result<Json<SampleList>, ApiError> {
    let mut items = Vec::new();
    for sample in samples::all() {
        let known: Option<CaptureId> = sample.id.parse().ok();
        let id = match known {
            Some(id) if state.store().capture(id).await.is_ok() => Some(id),
            _ => None,
        };
        items.push(Item { name: &sample.name, title: &sample.title, about: &sample.about, id });
    }
    Ok(Json(SampleList { items }))
}

/// The sample in a path.
#[derive(Deserialize)]
pub(in crate::http) struct SamplePath {
    name: String,
}

/// Opens a sample: imports it, unless that was done before.
pub(in crate::http) async fn open(
    Viewer(who): Viewer,
    State(state): State<AppState>,
    Path(SamplePath { name }): Path<SamplePath>,
) -> Result<Json<CaptureAddress>, ApiError> {
    let (sample, bytes) = samples::open(&name).ok_or_else(ApiError::not_found)?;
    let opening = async move {
        let id = state.store().import_bytes(&bytes, OWNER, bathyscope_link::clock::wall_unix_ns()).await?;
        state
            .derivations()
            .compute_built_in(id)
            .unwrap_or_else(|error| tracing::warn!(capture = %id, %error, "not computed"));
        state.audit(&who.session, "sample.open", &id.to_string(), &sample.name).await;
        Ok::<_, ApiError>(id)
    };
    let id = to_its_end(opening).await??;
    Ok(Json(CaptureAddress::of(id)))
}

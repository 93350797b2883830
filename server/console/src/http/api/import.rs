//! Captures from files: the body of a request is the file.

use axum::{Json, extract::State};
use bathyscope_capture::visible;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        access::Operator,
        error::ApiError,
        extract::Query,
        state::{AppState, to_its_end},
    },
    CaptureAddress,
};

/// The longest name of a file that the audit log keeps.
const NAME_CHARS: usize = 200;

/// What is said about a file.
#[derive(Deserialize)]
pub(in crate::http) struct ImportQuery {
    /// Its name, for the audit log.
    #[serde(default)]
    name: String,
}

/// Where the capture is, and what reading it cost.
#[derive(Serialize)]
pub(in crate::http) struct ImportAnswer {
    #[serde(flatten)]
    address: CaptureAddress,
    /// What the process that read the file used of a CPU.
    read_cpu_ns: Option<u64>,
}

/// Imports the file in the body. Whoever goes away before the answer imports nothing.
pub(in crate::http) async fn import(
    Operator(who): Operator,
    State(state): State<AppState>,
    Query(ImportQuery { name }): Query<ImportQuery>,
    request: axum::extract::Request,
) -> Result<(StatusCode, Json<ImportAnswer>), ApiError> {
    let cancelled = CancellationToken::new();
    let _when_dropped = cancelled.clone().drop_guard();
    let name: String = visible(name.as_bytes()).chars().take(NAME_CHARS).collect();
    // To its end, so that what was imported is in the audit log; whoever goes away ends it early.
    let importing = async move {
        let body = request.into_body().into_data_stream();
        let imported = state.importer().import(state.store(), who.user(), body, &cancelled).await?;
        state.audit(&who.session, "capture.import", &imported.id.to_string(), &name).await;
        Ok::<_, ApiError>(imported)
    };
    let imported = to_its_end(importing).await??;
    let (address, read_cpu_ns) = (CaptureAddress::of(imported.id), imported.read_cpu_ns);
    Ok((StatusCode::CREATED, Json(ImportAnswer { address, read_cpu_ns })))
}

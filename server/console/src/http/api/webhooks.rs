//! Webhooks, for admins.
//!
//! A *webhook* is `{name, url, problem?, made_by, created_unix_ns, delivered, given_up}`; a *delivery* `{webhook, capture?, title,
//! trigger, fired_unix_ns, state, attempts, status?, error, changed_unix_ns}`. None of it is done by a token.
//!
//! * `GET /api/webhooks` → `{problem?, items:[webhook], deliveries:[delivery]}`: the last messages of each, the newest first.
//! * `GET /api/webhooks/names` → `{names}`, for whoever starts a flight recorder.
//! * `POST /api/webhooks` `{name, url}` → 201 `{name, secret}`: the key of its signatures, which is told once.
//! * `POST /api/webhooks/{name}/test` → a delivery: what came of a message that was sent now.
//! * `DELETE /api/webhooks/{name}` → 204, with its messages.

use axum::{Json, extract::State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::super::{
    access::{Admin, InPerson, Operator},
    error::ApiError,
    extract::{self, Path},
    state::{AppState, to_its_end},
};
use crate::webhooks::{AskedWebhook, DeliveryItem, MadeWebhook, TEST_PATIENCE, WebhookList};

/// The names of webhooks.
#[derive(Serialize)]
pub(in crate::http) struct WebhookNames {
    names: Vec<String>,
}

/// The webhook in a path.
#[derive(Deserialize)]
pub(in crate::http) struct WebhookPath {
    name: String,
}

/// Lists webhooks with their last messages.
pub(in crate::http) async fn list(
    _: InPerson<Admin>,
    State(state): State<AppState>,
) -> Result<Json<WebhookList>, ApiError> {
    Ok(Json(state.webhooks().list().await?))
}

/// Lists the names of webhooks.
pub(in crate::http) async fn names(_: Operator, State(state): State<AppState>) -> Result<Json<WebhookNames>, ApiError> {
    Ok(Json(WebhookNames { names: state.webhooks().names().await? }))
}

/// Makes a webhook.
pub(in crate::http) async fn add(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    extract::Json(asked): extract::Json<AskedWebhook>,
) -> Result<(StatusCode, Json<MadeWebhook>), ApiError> {
    let adding = async move { state.webhooks().add(asked, (who.user(), who.role())).await };
    Ok((StatusCode::CREATED, Json(to_its_end(adding).await??)))
}

/// Sends a test message to a webhook.
pub(in crate::http) async fn test(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(WebhookPath { name }): Path<WebhookPath>,
) -> Result<Json<DeliveryItem>, ApiError> {
    let testing = async move { state.webhooks().test(&name, (who.user(), who.role()), TEST_PATIENCE).await };
    Ok(Json(to_its_end(testing).await??))
}

/// Removes a webhook.
pub(in crate::http) async fn remove(
    InPerson(Admin(who)): InPerson<Admin>,
    State(state): State<AppState>,
    Path(WebhookPath { name }): Path<WebhookPath>,
) -> Result<StatusCode, ApiError> {
    let removing = async move { state.webhooks().remove(&name, (who.user(), who.role())).await };
    to_its_end(removing).await??;
    Ok(StatusCode::NO_CONTENT)
}

//! Recipes: questions, and what to record for an answer.
//!
//! * `GET /api/recipes` (viewer) → `{items:[{name, order, question, about, needs, cost, of, opens, limits, sources}]}`: `sources` and
//!   `limits` are those of a capture's spec, for `POST /api/captures` with a target of one's own.

use axum::Json;
use bathyscope_catalog::recipes::{Recipe, recipes};
use serde::Serialize;

use super::super::access::Viewer;

/// Recipes.
#[derive(Serialize)]
pub(in crate::http) struct Recipes {
    items: &'static [Recipe],
}

/// All recipes, in the order of lists.
pub(in crate::http) async fn list(_: Viewer) -> Json<Recipes> {
    Json(Recipes { items: recipes() })
}

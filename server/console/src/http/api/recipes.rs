//! Recipes: questions, and what to record for an answer. Some come with the program; people save their own.
//!
//! A *recipe* is `{name, order, question, about, needs, cost, of, opens, limits, sources, owner, created_unix_ns, can_delete}`:
//! `sources` and `limits` are those of a capture's spec, for `POST /api/captures` with a target of one's own. Nothing is started by
//! a recipe's name, so it gives nobody a right. `opens` is null where the capture opens in the view that is usual for its sources.
//! `owner` and `created_unix_ns` are null for those that come with the program; `can_delete` says whether whoever asks may replace
//! and delete it.
//!
//! * `GET /api/recipes` (viewer) → `{items:[recipe]}`: those of the program, then own ones by name.
//! * `POST /api/recipes` (operator) `{name, question?, of, opens?, limits?, sources, replace?}` → 201 and the recipe. What it
//!   records must be what whoever asks may start. 409 if they have saved one of this name, unless `replace` is true; 422 if
//!   somebody else has.
//! * `DELETE /api/recipes/{name}` (operator: own ones, admin: all) → 204, or 404.

use axum::{Json, extract::State};
use bathyscope_capture::{Limits, SourceSpec, Target};
use bathyscope_catalog::recipes::{Recipe, RecipeTarget, RecipeView, recipes};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        access::{Operator, Viewer, Who},
        error::ApiError,
        extract::{self, Path},
        state::{AppState, to_its_end},
    },
    captures,
    library::library_user,
};
use crate::recipes::{self as saved, OwnRecipe, RecipeError};

/// Recipes.
#[derive(Serialize)]
pub(in crate::http) struct Recipes {
    items: Vec<RecipeItem>,
}

/// A recipe, and whose it is.
#[derive(Serialize)]
pub(in crate::http) struct RecipeItem {
    #[serde(flatten)]
    recipe: Recipe,
    /// Who saved it; none if it comes with the program.
    owner: Option<String>,
    /// When it was saved, nanoseconds since 1970 by the wall clock.
    created_unix_ns: Option<i64>,
    /// Whether whoever asks may replace and delete it.
    can_delete: bool,
}

impl RecipeItem {
    fn of_program(recipe: &Recipe) -> Self {
        Self { recipe: recipe.clone(), owner: None, created_unix_ns: None, can_delete: false }
    }

    fn own(own: OwnRecipe, who: &Who) -> Self {
        let can_delete = captures::may_change(who, &own.owner);
        let OwnRecipe { recipe, owner, created_unix_ns } = own;
        Self { recipe, owner: Some(owner), created_unix_ns: Some(created_unix_ns), can_delete }
    }
}

/// Lists all recipes, in the order of lists.
pub(in crate::http) async fn list(
    Viewer(who): Viewer,
    State(state): State<AppState>,
) -> Result<Json<Recipes>, ApiError> {
    let own = saved::own_recipes(state.store(), library_user(&who)).await?;
    let of_program = recipes().iter().map(RecipeItem::of_program);
    Ok(Json(Recipes { items: of_program.chain(own.into_iter().map(|one| RecipeItem::own(one, &who))).collect() }))
}

/// What is saved.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewRecipe {
    name: String,
    #[serde(default)]
    question: String,
    of: RecipeTarget,
    #[serde(default)]
    opens: Option<RecipeView>,
    #[serde(default)]
    limits: Limits,
    sources: Vec<SourceSpec>,
    #[serde(default)]
    replace: bool,
}

/// Saves a recipe of one's own.
pub(in crate::http) async fn save(
    Operator(who): Operator,
    State(state): State<AppState>,
    extract::Json(new): extract::Json<NewRecipe>,
) -> Result<(StatusCode, Json<RecipeItem>), ApiError> {
    let NewRecipe { name, question, of, opens, limits, sources, replace } = new;
    let question = question.trim().to_owned();
    let (about, needs, cost) = (String::new(), String::new(), String::new());
    let recipe =
        Recipe { name, order: 0, question, about, needs, cost, of, opens, limits, sources, key_numbers: Vec::new() };
    // Nobody leaves to others what they may not start themselves. There is no command in it.
    captures::admit(&state, &who, &recipe.spec(Target::System))?;
    let saving = async move {
        let (own, replaced) = saved::save(state.store(), recipe, library_user(&who), replace).await?;
        state.audit(&who.session, "recipe.save", &own.recipe.name, &own.audit_words(replaced.as_deref())).await;
        Ok::<_, ApiError>(RecipeItem::own(own, &who))
    };
    let item = to_its_end(saving).await??;
    Ok((StatusCode::CREATED, Json(item)))
}

/// The recipe in a path.
#[derive(Deserialize)]
pub(in crate::http) struct RecipePath {
    name: String,
}

/// Deletes a recipe that somebody has saved.
pub(in crate::http) async fn delete(
    Operator(who): Operator,
    State(state): State<AppState>,
    Path(RecipePath { name }): Path<RecipePath>,
) -> Result<StatusCode, ApiError> {
    let deleting = async move {
        let owner = match saved::delete(state.store(), &name, library_user(&who)).await {
            // As with captures, what somebody may not change is not there to be deleted (P08).
            Err(RecipeError::OfAnother { .. }) => return Err(ApiError::not_found()),
            deleted => deleted?,
        };
        state.audit(&who.session, "recipe.delete", &name, &format!("of {owner}")).await;
        Ok::<_, ApiError>(())
    };
    to_its_end(deleting).await??;
    Ok(StatusCode::NO_CONTENT)
}

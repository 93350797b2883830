//! Recipes of people: saved in the database, beside those that come with the program.
//!
//! A recipe gives no right. It is never started by its name: the form and the terminal make a spec of it, and that is checked as any
//! other is. So what it may record is not looked at here, only whether it could be recorded at all.

use bathyscope_catalog::{
    closest,
    recipes::{OwnRecipeError, Recipe, check_own_name},
};
use bathyscope_store::{Store, StoreError, StoredRecipe};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::wire::{SpecRefusal, check_spec};

/// Whose recipes are that were saved at a terminal.
pub const TERMINAL: &str = "terminal";

/// A recipe of somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnRecipe {
    /// What it records.
    #[serde(flatten)]
    pub recipe: Recipe,
    /// Who saved it last.
    pub owner: String,
    /// When that was, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
}

impl OwnRecipe {
    /// It in the audit log: what it records, what tells it from others, and whose it replaces.
    pub(crate) fn audit_words(&self, replaced: Option<&str>) -> String {
        let json = serde_json::to_vec(&self.recipe).unwrap_or_default();
        let digest: String = Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect();
        let sources: Vec<&str> = self.recipe.sources.iter().map(|source| source.id.as_str()).collect();
        let replaced = replaced.map_or_else(String::new, |owner| format!(", replaces that of {owner}"));
        format!("recipe {digest}{replaced}; sources {}", sources.join(", "))
    }
}

/// Who saves or deletes a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecipeAuthor<'a> {
    /// The name that what is saved belongs to.
    pub user: &'a str,
    /// Whether that may change the recipes of others.
    pub may_change_all: bool,
}

impl RecipeAuthor<'_> {
    /// Whoever may use the database or the console's socket.
    pub const TERMINAL: RecipeAuthor<'static> = RecipeAuthor { user: TERMINAL, may_change_all: true };

    /// Whether the recipes of `owner` may be changed.
    pub fn may_change(self, owner: &str) -> bool {
        self.may_change_all || self.user == owner
    }
}

/// Why a recipe was not saved or deleted.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// It cannot be one.
    #[error(transparent)]
    Refused(#[from] OwnRecipeError),
    /// What it would record cannot be recorded.
    #[error(transparent)]
    Spec(#[from] SpecRefusal),
    /// There is one already that may be replaced.
    #[error("there is a recipe `{name}` already, saved by {owner}; replace it, or choose another name")]
    Exists {
        /// The name.
        name: String,
        /// Who saved it.
        owner: String,
    },
    /// It is somebody else's.
    #[error("the recipe `{name}` is {owner}'s; choose another name")]
    OfAnother {
        /// The name.
        name: String,
        /// Who saved it.
        owner: String,
    },
    /// Nobody has saved such a recipe.
    #[error("nobody has saved a recipe `{name}`{near}")]
    Missing {
        /// What was asked for.
        name: String,
        /// What was probably meant, as the end of a sentence.
        near: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All recipes that people have saved, in the order of their names. What cannot be read is logged and left out.
///
/// # Errors
/// The database's.
pub async fn own_recipes(store: &Store) -> Result<Vec<OwnRecipe>, StoreError> {
    let read = |stored: StoredRecipe| {
        let name = stored.name.clone();
        let unreadable = |error| tracing::warn!(%error, recipe = name, "a recipe of the database is left out");
        own(stored).map_err(unreadable).ok()
    };
    Ok(store.recipes().await?.into_iter().filter_map(read).collect())
}

/// The recipe that somebody has saved under this name; none if nobody has.
///
/// # Errors
/// [`RecipeError::Refused`] if it cannot be read, or the database's.
pub async fn own_recipe(store: &Store, name: &str) -> Result<Option<OwnRecipe>, RecipeError> {
    Ok(store.recipe(name).await?.map(own).transpose()?)
}

fn own(stored: StoredRecipe) -> Result<OwnRecipe, OwnRecipeError> {
    let StoredRecipe { name, owner, created_unix_ns, text } = stored;
    Ok(OwnRecipe { recipe: Recipe::of_own_text(&name, &text)?, owner, created_unix_ns })
}

/// Whether a recipe can be saved as [`save`] does. Gives whose recipe it would replace.
///
/// # Errors
/// Why it cannot.
pub async fn check(
    store: &Store,
    recipe: &Recipe,
    author: RecipeAuthor<'_>,
    replace: bool,
) -> Result<Option<String>, RecipeError> {
    recipe.to_own_text()?;
    check_spec(&recipe.spec(recipe.of.example()))?;
    let name = recipe.name.clone();
    match store.recipe(&name).await?.map(|known| known.owner) {
        Some(owner) if !author.may_change(&owner) => Err(RecipeError::OfAnother { name, owner }),
        Some(owner) if !replace => Err(RecipeError::Exists { name, owner }),
        owner => Ok(owner),
    }
}

/// Saves a recipe. One that is there already is replaced only if `replace` says so and `author` may; it belongs to them then.
/// Gives what was saved, and whose it was.
///
/// # Errors
/// Why it was not saved.
pub async fn save(
    store: &Store,
    recipe: Recipe,
    author: RecipeAuthor<'_>,
    replace: bool,
) -> Result<(OwnRecipe, Option<String>), RecipeError> {
    let replaced = check(store, &recipe, author, replace).await?;
    let (name, text) = (recipe.name.clone(), recipe.to_own_text()?);
    let created_unix_ns = bathyscope_link::clock::wall_unix_ns();
    let owner = author.user.to_owned();
    let stored = StoredRecipe { name, owner: owner.clone(), created_unix_ns, text };
    store.put_recipe(stored, replaced.clone()).await?;
    Ok((OwnRecipe { recipe, owner, created_unix_ns }, replaced))
}

/// Deletes a recipe that somebody has saved. Gives whose it was.
///
/// # Errors
/// Why it was not deleted.
pub async fn delete(store: &Store, name: &str, author: RecipeAuthor<'_>) -> Result<String, RecipeError> {
    let Some(StoredRecipe { owner, .. }) = store.recipe(name).await? else { return Err(missing(store, name).await) };
    if !author.may_change(&owner) {
        return Err(RecipeError::OfAnother { name: name.to_owned(), owner });
    }
    if store.delete_recipe(name, &owner).await? { Ok(owner) } else { Err(missing(store, name).await) }
}

/// Why there is no own recipe of this name.
async fn missing(store: &Store, name: &str) -> RecipeError {
    if let Err(error) = check_own_name(name) {
        return error.into();
    }
    let names: Vec<String> = match store.recipes().await {
        Ok(all) => all.into_iter().map(|one| one.name).collect(),
        Err(error) => return error.into(),
    };
    let near = closest(name, names.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    RecipeError::Missing { name: name.to_owned(), near }
}

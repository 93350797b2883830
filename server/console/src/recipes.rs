//! Recipes of people: kept in their library, beside those that come with the program.
//!
//! A recipe gives no right. It is never started by its name: the form and the terminal make a spec of it, and that is checked as any
//! other is. So what it may record is not looked at here, only whether it could be recorded at all.

use bathyscope_catalog::{
    closest,
    recipes::{OwnRecipeError, Recipe, check_own_name},
};
use bathyscope_store::{LibraryChange, LibraryItem, LibraryKind, NewLibraryItem, Store, StoreError};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    library::LibraryUser,
    wire::{SpecRefusal, check_spec},
};

const KIND: LibraryKind = LibraryKind::Recipe;

/// A recipe of somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnRecipe {
    /// What it records.
    #[serde(flatten)]
    pub recipe: Recipe,
    /// Whose it is.
    pub owner: String,
    /// When it was saved last, nanoseconds since 1970 by the wall clock.
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

/// The recipes that people have saved and `who` may read, in the order of their names; of two with one name the own one. What cannot
/// be read is logged and left out.
///
/// # Errors
/// The database's.
pub async fn own_recipes(store: &Store, who: LibraryUser<'_>) -> Result<Vec<OwnRecipe>, StoreError> {
    let items = store.kept_of(who.reader(), KIND).await?;
    let mut recipes: Vec<OwnRecipe> = Vec::with_capacity(items.len());
    for item in &items {
        let name = &item.entry.name;
        if recipes.last().is_some_and(|last| last.recipe.name == *name) {
            continue;
        }
        match who.meant(name, &items).cloned().map(own) {
            Some(Ok(recipe)) => recipes.push(recipe),
            Some(Err(error)) => tracing::warn!(%error, recipe = name, "a recipe of the database is left out"),
            None => {}
        }
    }
    Ok(recipes)
}

/// The recipe that a name means to `who` among those that people have saved; none if there is none.
///
/// # Errors
/// [`RecipeError::Refused`] if it cannot be read, or the database's.
pub async fn own_recipe(store: &Store, name: &str, who: LibraryUser<'_>) -> Result<Option<OwnRecipe>, RecipeError> {
    Ok(known(store, name, who).await?.map(own).transpose()?)
}

async fn known(store: &Store, name: &str, who: LibraryUser<'_>) -> Result<Option<LibraryItem>, StoreError> {
    let items = store.kept_of(who.reader(), KIND).await?;
    Ok(who.meant(name, &items).cloned())
}

fn own(LibraryItem { entry, text }: LibraryItem) -> Result<OwnRecipe, OwnRecipeError> {
    let recipe = Recipe::of_own_text(&entry.name, &text)?;
    Ok(OwnRecipe { recipe, owner: entry.owner, created_unix_ns: entry.changed_unix_ns })
}

/// Whether a recipe can be saved as [`save`] does. Gives whose recipe it would replace.
///
/// # Errors
/// Why it cannot.
pub async fn check(
    store: &Store,
    recipe: &Recipe,
    who: LibraryUser<'_>,
    replace: bool,
) -> Result<Option<String>, RecipeError> {
    Ok(replaced(store, recipe, who, replace).await?.map(|item| item.entry.owner))
}

async fn replaced(
    store: &Store,
    recipe: &Recipe,
    who: LibraryUser<'_>,
    replace: bool,
) -> Result<Option<LibraryItem>, RecipeError> {
    recipe.to_own_text()?;
    check_spec(&recipe.spec(recipe.of.example()))?;
    let name = recipe.name.clone();
    // What somebody else has and does not share is in nobody's way.
    let before = known(store, &name, who).await?;
    let before = before.filter(|item| item.entry.owner == who.user || item.entry.shared);
    match before.as_ref().map(|item| item.entry.owner.clone()) {
        Some(owner) if !who.may_change(&owner) => Err(RecipeError::OfAnother { name, owner }),
        Some(owner) if !replace => Err(RecipeError::Exists { name, owner }),
        _ => Ok(before),
    }
}

/// Saves a recipe, which everybody may use. One that is there already is replaced only if `replace` says so and `who` may; it belongs
/// to them then, and what it was stays as a version. Gives what was saved, and whose it was.
///
/// # Errors
/// Why it was not saved.
pub async fn save(
    store: &Store,
    recipe: Recipe,
    who: LibraryUser<'_>,
    replace: bool,
) -> Result<(OwnRecipe, Option<String>), RecipeError> {
    let replaced = replaced(store, &recipe, who, replace).await?;
    let (name, text) = (recipe.name.clone(), recipe.to_own_text()?);
    let created_unix_ns = bathyscope_link::clock::wall_unix_ns();
    let owner = who.user.to_owned();
    let before = replaced.map(|item| (item.entry.id, item.entry.owner));
    match before.clone() {
        None => {
            let new = NewLibraryItem {
                kind: KIND,
                name,
                owner: owner.clone(),
                description: recipe.question.clone(),
                tags: Vec::new(),
                shared: true,
                text,
                at_unix_ns: created_unix_ns,
            };
            store.keep(new).await?;
        }
        Some((id, before)) => {
            let change = LibraryChange {
                owner: Some(owner.clone()),
                description: Some(recipe.question.clone()),
                text: Some(text),
                author: owner.clone(),
                at_unix_ns: created_unix_ns,
                ..LibraryChange::default()
            };
            store.change_kept(id, before, change).await?;
        }
    }
    Ok((OwnRecipe { recipe, owner, created_unix_ns }, before.map(|(_, owner)| owner)))
}

/// Deletes a recipe that somebody has saved. Gives whose it was.
///
/// # Errors
/// Why it was not deleted.
pub async fn delete(store: &Store, name: &str, who: LibraryUser<'_>) -> Result<String, RecipeError> {
    let Some(item) = known(store, name, who).await? else { return Err(missing(store, name, who).await) };
    let owner = item.entry.owner;
    if !who.may_change(&owner) {
        return Err(RecipeError::OfAnother { name: name.to_owned(), owner });
    }
    let now = bathyscope_link::clock::wall_unix_ns();
    if store.delete_kept(item.entry.id, owner.clone(), now).await? {
        Ok(owner)
    } else {
        Err(missing(store, name, who).await)
    }
}

/// Why there is no own recipe of this name.
async fn missing(store: &Store, name: &str, who: LibraryUser<'_>) -> RecipeError {
    if let Err(error) = check_own_name(name) {
        return error.into();
    }
    let names: Vec<String> = match store.kept(who.reader(), Some(KIND), false).await {
        Ok(all) => all.into_iter().map(|one| one.name).collect(),
        Err(error) => return error.into(),
    };
    let near = closest(name, names.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    RecipeError::Missing { name: name.to_owned(), near }
}

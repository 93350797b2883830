//! Recipes of people.

use super::{Store, StoreFuture};
use crate::{StoredRecipe, recipes};

impl Store {
    /// Saves a recipe. One that has its name already is replaced if it belongs to `replaces`, and then belongs to the new one's
    /// owner.
    ///
    /// # Errors
    /// [`crate::StoreError::RecipeExists`] if there is one of the name and it is not of `replaces`,
    /// [`crate::StoreError::Refused`] if it is too large or there are too many, [`crate::StoreError::DiskFull`], or the
    /// database's.
    pub fn put_recipe(&self, recipe: StoredRecipe, replaces: Option<String>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database
                .write(move |writer| Box::pin(async move { recipes::put(writer, &recipe, replaces.as_deref()).await }))
                .await
        })
    }

    /// All recipes of people, in the order of their names.
    ///
    /// # Errors
    /// The database's.
    pub fn recipes(&self) -> StoreFuture<'_, Vec<StoredRecipe>> {
        Box::pin(async move { self.database.done(recipes::all(&mut *self.database.reader().await?).await) })
    }

    /// The recipe of this name; none if nobody has saved one.
    ///
    /// # Errors
    /// The database's.
    pub fn recipe<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredRecipe>> {
        Box::pin(async move { self.database.done(recipes::one(&mut *self.database.reader().await?, name).await) })
    }

    /// Forgets the recipe of this name, if it belongs to `owner`; says whether there was one. Works on a full disk.
    ///
    /// # Errors
    /// The database's.
    pub fn delete_recipe<'a>(&'a self, name: &'a str, owner: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (name, owner) = (name.to_owned(), owner.to_owned());
            let delete =
                self.database.control(move |conn| Box::pin(async move { recipes::delete(conn, &name, &owner).await }));
            delete.await
        })
    }
}

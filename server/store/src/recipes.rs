//! Recipes of people in the database: texts under a name, each of whoever wrote it last.
//!
//! What a text says is not looked at here, and who may replace or delete one is decided where people are known: whoever calls
//! says whose recipe is meant, so that nothing is changed that has become another's meanwhile.

use sqlx::SqliteConnection;

use crate::{
    StoreError, StoredRecipe,
    error::failed,
    limits::{at_most, limit},
    writer::{Durability, Writer},
};

const SAVING: &str = "saving a recipe";

type Row = (String, String, i64, String);

fn recipe_from((name, owner, created_unix_ns, text): Row) -> StoredRecipe {
    StoredRecipe { name, owner, created_unix_ns, text }
}

/// Saves a recipe. One that has its name already is replaced only if it belongs to `replaces`.
pub(crate) async fn put(writer: &mut Writer, recipe: &StoredRecipe, replaces: Option<&str>) -> Result<(), StoreError> {
    at_most("the recipe's name", recipe.name.len(), limit::RECIPE_NAME_BYTES)?;
    at_most("the user's name", recipe.owner.len(), limit::USER_BYTES)?;
    at_most("the recipe", recipe.text.len(), limit::RECIPE_BYTES)?;
    writer.has_room_for(recipe.text.len() as u64).await?;
    writer.begin(Durability::Full).await?;
    let done = put_in(&mut writer.conn, recipe, replaces).await;
    writer.end(done).await
}

async fn put_in(conn: &mut SqliteConnection, recipe: &StoredRecipe, replaces: Option<&str>) -> Result<(), StoreError> {
    let StoredRecipe { name, owner, created_unix_ns, text } = recipe;
    let put = sqlx::query(
        "INSERT INTO recipes (name, owner, created_unix_ns, text) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE \
         SET owner = excluded.owner, created_unix_ns = excluded.created_unix_ns, text = excluded.text \
         WHERE recipes.owner = ?5",
    );
    let put = put.bind(name).bind(owner).bind(created_unix_ns).bind(text).bind(replaces);
    if put.execute(&mut *conn).await.map_err(failed(SAVING))?.rows_affected() == 0 {
        return Err(StoreError::RecipeExists { name: name.clone() });
    }
    let count = sqlx::query_as("SELECT count(*), count(*) FILTER (WHERE owner = ?) FROM recipes").bind(owner);
    let (all, of_owner): (i64, i64) = count.fetch_one(conn).await.map_err(failed(SAVING))?;
    let limits =
        [("another recipe of this user", of_owner, limit::RECIPES_OF_OWNER), ("another recipe", all, limit::RECIPES)];
    for (what, count, most) in limits {
        if count > most {
            return Err(StoreError::Refused { what, why: format!("at most {most} are saved; delete one first") });
        }
    }
    Ok(())
}

/// All of them, in the order of their names.
pub(crate) async fn all(conn: &mut SqliteConnection) -> Result<Vec<StoredRecipe>, StoreError> {
    let select = sqlx::query_as("SELECT name, owner, created_unix_ns, text FROM recipes ORDER BY name");
    let rows: Vec<Row> = select.fetch_all(conn).await.map_err(failed("listing recipes"))?;
    Ok(rows.into_iter().map(recipe_from).collect())
}

/// The one of this name.
pub(crate) async fn one(conn: &mut SqliteConnection, name: &str) -> Result<Option<StoredRecipe>, StoreError> {
    let select = sqlx::query_as("SELECT name, owner, created_unix_ns, text FROM recipes WHERE name = ?").bind(name);
    let row: Option<Row> = select.fetch_optional(conn).await.map_err(failed("looking for a recipe"))?;
    Ok(row.map(recipe_from))
}

/// Forgets the one of this name, if it belongs to `owner`; says whether there was one.
pub(crate) async fn delete(conn: &mut SqliteConnection, name: &str, owner: &str) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM recipes WHERE name = ? AND owner = ?").bind(name).bind(owner);
    let deleted = delete.execute(conn).await.map_err(failed("deleting a recipe"))?;
    Ok(deleted.rows_affected() > 0)
}

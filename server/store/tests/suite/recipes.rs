//! Recipes of people: saved under a name, each of whoever wrote it last.

use bathyscope_store::{Store, StoreError, StoredRecipe};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::common::*;

fn recipe(name: &str, owner: &str) -> StoredRecipe {
    StoredRecipe { name: name.to_owned(), owner: owner.to_owned(), created_unix_ns: NOW, text: format!("of {owner}") }
}

async fn put(store: &Store, recipe: StoredRecipe, replaces: Option<&str>) -> Result<(), StoreError> {
    store.put_recipe(recipe, replaces.map(str::to_owned)).await
}

#[tokio::test]
async fn a_recipe_is_replaced_and_deleted_only_as_whose_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    put(&store, recipe("slow", "ada"), None).await.unwrap();
    put(&store, recipe("fast", "bob"), None).await.unwrap();
    for replaces in [None, Some("bob"), Some("")] {
        let again = put(&store, recipe("slow", "bob"), replaces).await;
        assert!(matches!(&again, Err(StoreError::RecipeExists { name }) if name == "slow"), "{again:?}");
    }
    assert_eq!(store.recipe("slow").await.unwrap(), Some(recipe("slow", "ada")));
    put(&store, recipe("slow", "bob"), Some("ada")).await.unwrap();
    assert_eq!(store.recipes().await.unwrap(), [recipe("fast", "bob"), recipe("slow", "bob")]);
    assert!(!store.delete_recipe("slow", "ada").await.unwrap() && !store.delete_recipe("none", "bob").await.unwrap());
    assert!(store.delete_recipe("slow", "bob").await.unwrap());
    assert_eq!(store.recipe("slow").await.unwrap(), None);
    store.close().await;
    let store = open(dir.path()).await;
    assert_eq!(store.recipes().await.unwrap(), [recipe("fast", "bob")]);
}

#[tokio::test]
async fn recipes_are_limited_in_number_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let refused = async |recipe: StoredRecipe| match put(&store, recipe, None).await {
        Err(StoreError::Refused { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(recipe(&"n".repeat(65), "ada")).await, "the recipe's name");
    assert_eq!(refused(recipe("n", &"a".repeat(65))).await, "the user's name");
    assert_eq!(refused(StoredRecipe { text: "x".repeat((64 << 10) + 1), ..recipe("n", "ada") }).await, "the recipe");
    put(&store, StoredRecipe { text: "x".repeat(64 << 10), ..recipe("large", "0") }, None).await.unwrap();
    for number in 1..200 {
        put(&store, recipe(&format!("n{number}"), &(number / 50).to_string()), None).await.unwrap();
        if number == 49 {
            assert_eq!(refused(recipe("more", "0")).await, "another recipe of this user");
        }
    }
    assert_eq!(refused(recipe("more", "grace")).await, "another recipe");
    // What takes the place of one is not one more.
    put(&store, recipe("n1", "0"), Some("0")).await.unwrap();
    assert!(store.delete_recipe("n2", "0").await.unwrap());
    put(&store, recipe("more", "grace"), None).await.unwrap();
    assert_eq!(store.recipes().await.unwrap().len(), 200);
}

#[tokio::test]
async fn a_file_of_a_capture_has_no_recipes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "x").await;
    put(&store, recipe("secret", "ada"), None).await.unwrap();
    let file = dir.path().join("x.bathy");
    store.export_file(ID, &file).await.unwrap();
    let mut conn = SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(&file)).await.unwrap();
    let (count,): (i64,) = sqlx::query_as("SELECT count(*) FROM recipes").fetch_one(&mut conn).await.unwrap();
    assert_eq!(count, 0);
    let insert = "INSERT INTO recipes VALUES ('disk', 'eve', 0, '{}')";
    sqlx::query(insert).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    // One that somebody has put into it comes to nobody.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = open(elsewhere.path()).await;
    let _imported_or_refused = other.import_file(&file, "bob", NOW).await;
    assert_eq!(other.recipes().await.unwrap(), []);
}

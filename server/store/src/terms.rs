//! Words of the index of words that begin with given letters.
//!
//! Each time the index is asked for words with an open end, it gathers the captures of all of them first, unless there are two or three
//! letters. A whole word is read as it stands, so where few begin so, these are asked for.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{Connection as _, SqliteConnection};

use crate::{StoreError, error::failed};

/// Beginnings with the words that begin so, where these are few.
pub(crate) type Endings = BTreeMap<String, Vec<String>>;

/// The most words that are asked for in the place of one with an open end.
const MOST: usize = 4;

/// Makes a connection for reading list the words of the index: a table of its own, in no file.
pub(crate) async fn attach(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // Each is a statement that changes nothing but this connection.
    for statement in [
        "PRAGMA query_only = OFF",
        "CREATE VIRTUAL TABLE temp.search_terms USING fts5vocab (main, search, instance)",
        "PRAGMA query_only = ON",
    ] {
        sqlx::query(statement).execute(&mut *conn).await?;
    }
    conn.clear_cached_statements().await
}

/// The words that begin with each of these.
pub(crate) async fn endings(conn: &mut SqliteConnection, wanted: &BTreeSet<&str>) -> Result<Endings, StoreError> {
    let mut endings = Endings::new();
    for beginning in wanted {
        if let Some(words) = beginning_with(conn, beginning).await? {
            endings.insert((*beginning).to_owned(), words);
        }
    }
    Ok(endings)
}

/// The words that begin with this; none if they are many.
async fn beginning_with(conn: &mut SqliteConnection, beginning: &str) -> Result<Option<Vec<String>>, StoreError> {
    let (mut words, mut least) = (Vec::new(), beginning.to_owned());
    loop {
        // All places of a word are rows of it: the next word is found by asking for more than this one.
        let next = sqlx::query_as("SELECT term FROM temp.search_terms WHERE term >= ? LIMIT 1").bind(&least);
        let next: Option<(String,)> = next.fetch_optional(&mut *conn).await.map_err(failed("listing captures"))?;
        let Some((word,)) = next.filter(|(word,)| word.starts_with(beginning)) else { return Ok(Some(words)) };
        if words.len() == MOST {
            return Ok(None);
        }
        least = format!("{word}\0");
        words.push(word);
    }
}

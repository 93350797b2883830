//! A hash of the whole database, for tests that prove that nothing was changed: but for the list and the words of captures, which
//! follow from the rest and are completed in the background.

use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::{StoreError, error::failed};

/// What changes when somebody only looks.
const VOLATILE: &str = "last_used_s";

pub(crate) async fn fingerprint(conn: &mut SqliteConnection) -> Result<[u8; 32], StoreError> {
    const DOING: &str = "hashing the database";
    let mut hash = Sha256::new();
    let select = "SELECT m.name, group_concat('quote(' || c.name || ')', ' || '','' || ') FROM sqlite_schema m \
                  JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name <> ? AND \
                  m.name <> 'listed' AND m.name NOT LIKE 'search%' GROUP BY m.name ORDER BY m.name";
    let tables: Vec<(String, String)> =
        sqlx::query_as(select).bind(VOLATILE).fetch_all(&mut *conn).await.map_err(failed(DOING))?;
    for (table, values) in tables {
        // Both are names that our own migrations gave.
        let select = AssertSqlSafe(format!("SELECT {values} FROM {table} ORDER BY 1"));
        let rows: Vec<(String,)> = sqlx::query_as(select).fetch_all(&mut *conn).await.map_err(failed(DOING))?;
        hash.update(table);
        rows.iter().for_each(|(row,)| hash.update(row));
    }
    Ok(hash.finalize().into())
}

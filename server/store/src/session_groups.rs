//! The groups of logins in the database, each for the session that the login has begun.

use sqlx::SqliteConnection;

use crate::{GroupOrigin, LoginGroups, StoreError, TokenHash, error::failed};

const KEEPING: &str = "keeping the groups of a login";
const READING: &str = "reading the groups of a login";

/// Keeps those of a session that has just begun.
pub(crate) async fn keep(
    conn: &mut SqliteConnection,
    session: TokenHash,
    (issuer, groups): (&str, &LoginGroups),
) -> Result<(), StoreError> {
    let insert = sqlx::query("INSERT INTO session_groups SELECT ?1, ?2, value FROM json_each(?3)");
    let insert = insert.bind(session.bytes().to_vec()).bind(issuer.to_owned()).bind(groups.json());
    insert.execute(conn).await.map_err(failed(KEEPING))?;
    Ok(())
}

/// Forgets those of sessions that there are no more: to be called after each change that ends some, in the same one.
pub(crate) async fn forget_ended(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM session_groups WHERE session NOT IN (SELECT hash FROM sessions)");
    delete.execute(conn).await.map_err(failed("forgetting the groups of a login"))?;
    Ok(())
}

/// Those of a session, with the provider that said them; none if there are none.
pub(crate) async fn of_session(
    conn: &mut SqliteConnection,
    session: TokenHash,
) -> Result<Option<(String, LoginGroups)>, StoreError> {
    let select = sqlx::query_as("SELECT issuer, name FROM session_groups WHERE session = ?");
    let rows: Vec<(String, String)> =
        select.bind(session.bytes().to_vec()).fetch_all(conn).await.map_err(failed(READING))?;
    let Some((issuer, _)) = rows.first().cloned() else { return Ok(None) };
    let names = rows.iter().map(|(_, name)| name.as_str());
    Ok(Some((issuer, LoginGroups::said(GroupOrigin::Oidc, names))))
}

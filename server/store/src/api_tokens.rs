//! Tokens with which programs ask for people who have an account: made, found by their hash, revoked, and gone when their time is
//! over.

use sqlx::SqliteConnection;

use crate::{
    Role, StoreError, TokenHash,
    entry::role,
    error::failed,
    limits::{at_most, limit},
    rows::{row_struct, unreadable},
};

const READING: &str = "reading tokens";
/// The longest that one lives: a leap year.
const MOST_NS: i64 = 366 * 24 * 3600 * 1_000_000_000;

/// A token that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApiToken {
    /// The hash of the token.
    pub hash: TokenHash,
    /// Whose it is: the name of an account that is enabled.
    pub owner: String,
    /// What its owner calls it, at most 64 bytes.
    pub name: String,
    /// What it may do at most.
    pub role: Role,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// From when on it is of no use, likewise: a year from now at most.
    pub expires_unix_ns: i64,
}

/// A token that there is. The token itself is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiTokenRecord {
    /// The hash of the token.
    pub hash: TokenHash,
    /// Whose it is, as the account spells it.
    pub owner: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may do now: never more than its owner.
    pub role: Role,
    /// Whether its owner's account is enabled: else it is of no use.
    pub enabled: bool,
    /// When it was made, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// From when on it is of no use, likewise.
    pub expires_unix_ns: i64,
    /// When it was last used, likewise; none if it never was.
    pub last_used_unix_ns: Option<i64>,
}

/// That a token was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiTokenUse {
    /// Which one.
    pub hash: TokenHash,
    /// When it was last, nanoseconds since 1970 by the wall clock.
    pub last_used_unix_ns: i64,
}

row_struct! {
    struct ApiTokenRow {
        hash: Vec<u8>,
        owner: String,
        name: String,
        role: String,
        owner_role: String,
        enabled: bool,
        created_unix_ns: i64,
        expires_unix_ns: i64,
        last_used_unix_ns: Option<i64>,
    }
}

impl ApiTokenRow {
    fn into_record(self) -> Result<ApiTokenRecord, StoreError> {
        let Self { owner, name, enabled, created_unix_ns, expires_unix_ns, last_used_unix_ns, .. } = self;
        Ok(ApiTokenRecord {
            hash: TokenHash::from_bytes(&self.hash).ok_or_else(|| unreadable("the hash of a token"))?,
            owner,
            name,
            role: role(&self.role)?.min(role(&self.owner_role)?),
            enabled,
            created_unix_ns,
            expires_unix_ns,
            last_used_unix_ns,
        })
    }
}

/// Makes a token.
pub(crate) async fn add(conn: &mut SqliteConnection, new: &NewApiToken) -> Result<(), StoreError> {
    const DOING: &str = "making a token";
    at_most("the name of a token", new.name.len(), limit::USER_BYTES)?;
    let lives_ns = new.expires_unix_ns.saturating_sub(new.created_unix_ns);
    let refused = |why: String| Err(StoreError::Refused { what: "a token", why });
    if !(1..=MOST_NS).contains(&lives_ns) {
        return refused("it lives for a year at most".to_owned());
    }
    let select = "SELECT (SELECT count(*) FROM accounts WHERE name = ?1 AND disabled_unix_ns IS NULL), \
                  (SELECT count(*) FROM api_tokens WHERE owner = ?1 AND expires_unix_ns > ?2)";
    let select = sqlx::query_as(select).bind(&new.owner).bind(new.created_unix_ns);
    let (accounts, tokens): (i64, i64) = select.fetch_one(&mut *conn).await.map_err(failed(DOING))?;
    if accounts == 0 {
        return refused(format!("{} has no account that is enabled", new.owner));
    }
    if tokens >= limit::TOKENS_OF_OWNER {
        return refused(format!("{} has {tokens} tokens already; revoke some first", new.owner));
    }
    let insert = "INSERT INTO api_tokens (hash, owner, name, role, created_unix_ns, expires_unix_ns) \
                  SELECT ?1, name, ?3, ?4, ?5, ?6 FROM accounts WHERE name = ?2";
    let insert = sqlx::query(insert).bind(new.hash.bytes().as_slice()).bind(&new.owner).bind(&new.name);
    let insert = insert.bind(new.role.as_str()).bind(new.created_unix_ns).bind(new.expires_unix_ns);
    insert.execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// The token of this hash, if it has not expired.
pub(crate) async fn find(
    conn: &mut SqliteConnection,
    hash: TokenHash,
    now_unix_ns: i64,
) -> Result<Option<ApiTokenRecord>, StoreError> {
    let select = "SELECT t.hash, a.name AS owner, t.name, t.role, a.role AS owner_role, \
                  a.disabled_unix_ns IS NULL AS enabled, t.created_unix_ns, t.expires_unix_ns, t.last_used_unix_ns \
                  FROM api_tokens t JOIN accounts a ON a.name = t.owner WHERE t.hash = ?1 AND t.expires_unix_ns > ?2";
    let select = sqlx::query_as(select).bind(hash.bytes().as_slice()).bind(now_unix_ns);
    let row: Option<ApiTokenRow> = select.fetch_optional(conn).await.map_err(failed(READING))?;
    row.map(ApiTokenRow::into_record).transpose()
}

/// Those of an owner, or of all, that have not expired; the one that was made last first.
pub(crate) async fn list(
    conn: &mut SqliteConnection,
    owner: Option<&str>,
    now_unix_ns: i64,
) -> Result<Vec<ApiTokenRecord>, StoreError> {
    let select = "SELECT t.hash, a.name AS owner, t.name, t.role, a.role AS owner_role, \
                  a.disabled_unix_ns IS NULL AS enabled, t.created_unix_ns, t.expires_unix_ns, t.last_used_unix_ns \
                  FROM api_tokens t JOIN accounts a ON a.name = t.owner \
                  WHERE t.expires_unix_ns > ?1 AND (?2 IS NULL OR t.owner = ?2) ORDER BY t.created_unix_ns DESC, t.hash";
    let rows: Result<Vec<ApiTokenRow>, _> = sqlx::query_as(select).bind(now_unix_ns).bind(owner).fetch_all(conn).await;
    rows.map_err(failed(READING))?.into_iter().map(ApiTokenRow::into_record).collect()
}

/// Revokes a token; says whether there was one.
pub(crate) async fn revoke(conn: &mut SqliteConnection, hash: TokenHash) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM api_tokens WHERE hash = ?").bind(hash.bytes().as_slice());
    Ok(delete.execute(conn).await.map_err(failed("revoking a token"))?.rows_affected() > 0)
}

/// Writes that tokens were used; those that are gone meanwhile are none.
pub(crate) async fn note_uses(conn: &mut SqliteConnection, uses: &[ApiTokenUse]) -> Result<(), StoreError> {
    for ApiTokenUse { hash, last_used_unix_ns } in uses {
        let update =
            "UPDATE api_tokens SET last_used_unix_ns = max(coalesce(last_used_unix_ns, ?2), ?2) WHERE hash = ?1";
        let update = sqlx::query(update).bind(hash.bytes().as_slice()).bind(last_used_unix_ns);
        update.execute(&mut *conn).await.map_err(failed("writing uses of tokens"))?;
    }
    Ok(())
}

/// Removes those that have expired; says how many.
pub(crate) async fn purge(conn: &mut SqliteConnection, now_unix_ns: i64) -> Result<u64, StoreError> {
    let delete = sqlx::query("DELETE FROM api_tokens WHERE expires_unix_ns <= ?").bind(now_unix_ns);
    Ok(delete.execute(conn).await.map_err(failed("removing tokens"))?.rows_affected())
}

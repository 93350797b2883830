//! Rows of who accounts are at an OpenID Connect provider.

use sqlx::SqliteConnection;

use crate::{StoreError, error::failed, rows::row_struct};

/// Who an account is at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRecord {
    /// The account, as its name was spelt when this was made.
    pub account: String,
    /// The provider.
    pub issuer: String,
    /// Who it is there; none as long as nobody has logged in since an admin allowed it.
    pub subject: Option<String>,
    /// Whether the account was made at the first login, and its role is that of the groups at each one.
    pub made_at_login: bool,
    /// When it was allowed or made, nanoseconds since 1970 by the wall clock: a label.
    pub created_unix_ns: i64,
}

row_struct! {
    struct IdentityRow {
        account: String,
        issuer: String,
        subject: Option<String>,
        made_at_login: bool,
        created_unix_ns: i64,
    }
}

impl From<IdentityRow> for IdentityRecord {
    fn from(row: IdentityRow) -> Self {
        let IdentityRow { account, issuer, subject, made_at_login, created_unix_ns } = row;
        Self { account, issuer, subject, made_at_login, created_unix_ns }
    }
}

/// Who an account is elsewhere.
pub(crate) async fn of_account(
    conn: &mut SqliteConnection,
    account: &str,
) -> Result<Option<IdentityRecord>, StoreError> {
    let select = sqlx::query_as("SELECT * FROM identities WHERE account = ?").bind(account);
    let row: Option<IdentityRow> = select.fetch_optional(conn).await.map_err(failed("reading who an account is"))?;
    Ok(row.map(IdentityRecord::from))
}

/// Who of a provider's people has an account.
pub(crate) async fn of_subject(
    conn: &mut SqliteConnection,
    (issuer, subject): (&str, &str),
) -> Result<Option<IdentityRecord>, StoreError> {
    let select = sqlx::query_as("SELECT * FROM identities WHERE issuer = ? AND subject = ?").bind(issuer).bind(subject);
    let row: Option<IdentityRow> =
        select.fetch_optional(conn).await.map_err(failed("looking for who an account is"))?;
    Ok(row.map(IdentityRecord::from))
}

/// Keeps who an account is, in the transaction that is open.
pub(crate) async fn keep(conn: &mut SqliteConnection, new: &IdentityRecord) -> Result<(), StoreError> {
    let insert = sqlx::query("INSERT INTO identities VALUES (?, ?, ?, ?, ?)").bind(&new.account).bind(&new.issuer);
    let insert = insert.bind(&new.subject).bind(new.made_at_login).bind(new.created_unix_ns);
    insert.execute(conn).await.map_err(failed("keeping who an account is"))?;
    Ok(())
}

/// Forgets who an account is, in the transaction that is open.
pub(crate) async fn forget(conn: &mut SqliteConnection, account: &str) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM identities WHERE account = ?").bind(account);
    delete.execute(conn).await.map_err(failed("forgetting who an account is"))?;
    Ok(())
}

//! Accounts: people who log in by name and password, what is kept of their passwords, and the links that let them choose one.
//!
//! How a password becomes what is kept, and who may change an account, is decided where people are known. A change that ends
//! sessions ends them in the same transaction, and tells which they were.

use std::fmt;

use sqlx::SqliteConnection;

use crate::{
    IdentityRecord, NewSession, Role, StoreError, TokenHash,
    entry::{insert_session, role},
    error::failed,
    identity_rows,
    limits::{at_most, limit},
    rights,
    rows::{row_struct, sql, unreadable, unsigned},
};

const CHANGING: &str = "changing an account";

/// What is kept of a password, as a PHC string. It is not shown in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptPassword(pub String);

impl fmt::Debug for KeptPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptPassword(…)")
    }
}

/// A link that lets the owner of an account choose a password once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordLink {
    /// The hash of its token.
    pub hash: TokenHash,
    /// From when on it is of no use, nanoseconds since 1970 by the wall clock.
    pub expires_unix_ns: i64,
}

/// An account that is to be made. It has no password yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    /// The name, at most 64 bytes. No other account has it, however it is spelt.
    pub name: String,
    /// What its owner may do.
    pub role: Role,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// The link by which its owner chooses a password.
    pub link: PasswordLink,
}

/// An account that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRecord {
    /// The name, as it was spelt when it was made.
    pub name: String,
    /// What its owner may do.
    pub role: Role,
    /// What is kept of the password; none until one is chosen.
    pub password: Option<KeptPassword>,
    /// Since when nobody comes in by it, nanoseconds since 1970 by the wall clock; none while it is enabled.
    pub disabled_unix_ns: Option<i64>,
    /// When it was made, likewise.
    pub created_unix_ns: i64,
    /// When its password was chosen, likewise.
    pub password_unix_ns: Option<i64>,
    /// When somebody last logged in by it, likewise.
    pub last_login_unix_ns: Option<i64>,
    /// From when on the link to choose a password is of no use, likewise; none if there is no such link.
    pub link_expires_unix_ns: Option<i64>,
}

impl AccountRecord {
    /// Whether people come in by it.
    pub fn is_enabled(&self) -> bool {
        self.disabled_unix_ns.is_none()
    }
}

/// An account in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSummary {
    /// The account.
    pub account: AccountRecord,
    /// Sessions of it that have not ended.
    pub sessions: u64,
    /// Tokens of it that have not expired.
    pub tokens: u64,
    /// Who it is at an OpenID Connect provider; none if nobody.
    pub identity: Option<IdentityRecord>,
}

/// What becomes of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountChange {
    /// Its owner may do this. Its sessions end.
    Role(Role),
    /// Nobody comes in by it from this wall time on. Its sessions end, and its tokens are of no use.
    Disable {
        /// Now, nanoseconds since 1970.
        now_unix_ns: i64,
    },
    /// People come in by it again.
    Enable,
    /// It has no password until its owner chooses one by this link. Its sessions end.
    Reset(PasswordLink),
    /// Its owner has chosen a password in place of `old`. Its sessions end but for `keep`.
    Password {
        /// What was kept of the password before.
        old: KeptPassword,
        /// What is kept of it now.
        new: KeptPassword,
        /// Now, nanoseconds since 1970.
        now_unix_ns: i64,
        /// The session that stays.
        keep: Option<TokenHash>,
    },
    /// It is gone, with its sessions, unused login links and tokens.
    Remove,
}

impl AccountChange {
    /// Whether an admin may be none afterwards.
    const fn may_take_an_admin(&self) -> bool {
        matches!(self, Self::Role(_) | Self::Disable { .. } | Self::Remove)
    }
}

/// A session that was ended by a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedSession {
    /// The hash of its cookie's value.
    pub hash: TokenHash,
    /// When it would have ended, seconds of the session clock.
    pub expires_s: u64,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChanged {
    /// The account as it is now, or was before it was removed.
    pub account: AccountRecord,
    /// The sessions that ended with it.
    pub ended: Vec<EndedSession>,
}

/// A session that was begun: for whom it is, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunSession {
    /// The name, as the account spells it if there is one.
    pub user: String,
    /// What its owner may do: never more than the account of the name.
    pub role: Role,
}

row_struct! {
    struct AccountRow {
        name: String,
        role: String,
        password: Option<String>,
        disabled_unix_ns: Option<i64>,
        created_unix_ns: i64,
        password_unix_ns: Option<i64>,
        last_login_unix_ns: Option<i64>,
        link_expires_unix_ns: Option<i64>,
    }
}

impl AccountRow {
    fn into_record(self) -> Result<AccountRecord, StoreError> {
        let Self { name, disabled_unix_ns, created_unix_ns, password_unix_ns, last_login_unix_ns, .. } = self;
        Ok(AccountRecord {
            name,
            role: role(&self.role)?,
            password: self.password.map(KeptPassword),
            disabled_unix_ns,
            created_unix_ns,
            password_unix_ns,
            last_login_unix_ns,
            link_expires_unix_ns: self.link_expires_unix_ns,
        })
    }
}

/// Makes an account. Sessions of its name, which login links of before have begun, end.
pub(crate) async fn add(conn: &mut SqliteConnection, new: &NewAccount) -> Result<AccountChanged, StoreError> {
    const DOING: &str = "adding an account";
    at_most("the user's name", new.name.len(), limit::USER_BYTES)?;
    if find(conn, &new.name).await?.is_some() {
        return Err(StoreError::AccountExists { name: new.name.clone() });
    }
    has_room(conn).await?;
    let insert =
        "INSERT INTO accounts (name, role, created_unix_ns, link, link_expires_unix_ns) VALUES (?, ?, ?, ?, ?)";
    let insert = sqlx::query(insert).bind(&new.name).bind(new.role.as_str()).bind(new.created_unix_ns);
    let insert = insert.bind(new.link.hash.bytes().as_slice()).bind(new.link.expires_unix_ns);
    insert.execute(&mut *conn).await.map_err(failed(DOING))?;
    let ended = end_sessions(conn, &new.name, None).await?;
    let account = find(conn, &new.name).await?.ok_or_else(|| unreadable("an account"))?;
    Ok(AccountChanged { account, ended })
}

/// Whether there may be another account.
pub(crate) async fn has_room(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let select = sqlx::query_as("SELECT count(*) FROM accounts");
    let (count,): (i64,) = select.fetch_one(conn).await.map_err(failed("counting accounts"))?;
    if count >= limit::ACCOUNTS {
        let why = format!("there are {count} accounts already; remove some first");
        return Err(StoreError::Refused { what: "another account", why });
    }
    Ok(())
}

/// The account of a name.
pub(crate) async fn find(conn: &mut SqliteConnection, name: &str) -> Result<Option<AccountRecord>, StoreError> {
    let select = "SELECT name, role, password, disabled_unix_ns, created_unix_ns, password_unix_ns, last_login_unix_ns, \
                  link_expires_unix_ns FROM accounts WHERE name = ?";
    let row: Option<AccountRow> =
        sqlx::query_as(select).bind(name).fetch_optional(conn).await.map_err(failed("looking for an account"))?;
    row.map(AccountRow::into_record).transpose()
}

/// The enabled account whose link to choose a password has this hash and has not expired.
pub(crate) async fn of_link(
    conn: &mut SqliteConnection,
    link: TokenHash,
    now_unix_ns: i64,
) -> Result<Option<AccountRecord>, StoreError> {
    let select = "SELECT name, role, password, disabled_unix_ns, created_unix_ns, password_unix_ns, last_login_unix_ns, \
                  link_expires_unix_ns FROM accounts \
                  WHERE link = ? AND link_expires_unix_ns > ? AND disabled_unix_ns IS NULL";
    let select = sqlx::query_as(select).bind(link.bytes().as_slice()).bind(now_unix_ns);
    let row: Option<AccountRow> = select.fetch_optional(conn).await.map_err(failed("looking for a link"))?;
    row.map(AccountRow::into_record).transpose()
}

/// Whether there is any account.
pub(crate) async fn are_there(conn: &mut SqliteConnection) -> Result<bool, StoreError> {
    let select = sqlx::query_as("SELECT EXISTS (SELECT 1 FROM accounts)");
    let (there,): (bool,) = select.fetch_one(conn).await.map_err(failed("looking for accounts"))?;
    Ok(there)
}

/// All of them by name, with how many sessions and tokens each has.
pub(crate) async fn list(
    conn: &mut SqliteConnection,
    (now_s, now_unix_ns): (u64, i64),
) -> Result<Vec<AccountSummary>, StoreError> {
    const DOING: &str = "listing accounts";
    let select = "SELECT name, role, password, disabled_unix_ns, created_unix_ns, password_unix_ns, last_login_unix_ns, \
                  link_expires_unix_ns FROM accounts ORDER BY name";
    let rows: Vec<AccountRow> = sqlx::query_as(select).fetch_all(&mut *conn).await.map_err(failed(DOING))?;
    let mut summaries = Vec::with_capacity(rows.len());
    for row in rows {
        let account = row.into_record()?;
        let select = "SELECT (SELECT count(*) FROM sessions WHERE user = ?1 COLLATE NOCASE AND expires_s > ?2 \
                      AND last_used_s + idle_limit_s > ?2), \
                      (SELECT count(*) FROM api_tokens WHERE owner = ?1 AND expires_unix_ns > ?3)";
        let select = sqlx::query_as(select).bind(&account.name).bind(sql(now_s)).bind(now_unix_ns);
        let (sessions, tokens): (i64, i64) = select.fetch_one(&mut *conn).await.map_err(failed(DOING))?;
        let identity = identity_rows::of_account(conn, &account.name).await?;
        summaries.push(AccountSummary { account, sessions: unsigned(sessions), tokens: unsigned(tokens), identity });
    }
    Ok(summaries)
}

/// Changes an account; none if there is none of this name, or its password is another one meanwhile. With `keeps_an_admin` the last
/// enabled admin stays one.
pub(crate) async fn change(
    conn: &mut SqliteConnection,
    (name, change): (&str, &AccountChange),
    keeps_an_admin: bool,
) -> Result<Option<AccountChanged>, StoreError> {
    let Some(before) = find(conn, name).await? else { return Ok(None) };
    let leaves = before.role == Role::Admin && before.is_enabled() && change.may_take_an_admin();
    if keeps_an_admin && leaves && *change != AccountChange::Role(Role::Admin) && !has_other_admin(conn, name).await? {
        return Err(StoreError::LastAdmin { name: before.name });
    }
    let ended = match change {
        AccountChange::Role(role) if *role == before.role => Vec::new(),
        AccountChange::Role(role) => {
            let update = sqlx::query("UPDATE accounts SET role = ?2 WHERE name = ?1").bind(name).bind(role.as_str());
            update.execute(&mut *conn).await.map_err(failed(CHANGING))?;
            end_sessions(conn, name, None).await?
        }
        AccountChange::Disable { now_unix_ns } => {
            let update = "UPDATE accounts SET disabled_unix_ns = coalesce(disabled_unix_ns, ?2) WHERE name = ?1";
            let update = sqlx::query(update).bind(name).bind(now_unix_ns);
            update.execute(&mut *conn).await.map_err(failed(CHANGING))?;
            end_sessions(conn, name, None).await?
        }
        AccountChange::Enable => {
            let update = sqlx::query("UPDATE accounts SET disabled_unix_ns = NULL WHERE name = ?").bind(name);
            update.execute(&mut *conn).await.map_err(failed(CHANGING))?;
            Vec::new()
        }
        AccountChange::Reset(link) => {
            let update = "UPDATE accounts SET password = NULL, password_unix_ns = NULL, link = ?2, \
                          link_expires_unix_ns = ?3 WHERE name = ?1";
            let update = sqlx::query(update).bind(name).bind(link.hash.bytes().as_slice()).bind(link.expires_unix_ns);
            update.execute(&mut *conn).await.map_err(failed(CHANGING))?;
            end_sessions(conn, name, None).await?
        }
        AccountChange::Password { old, new, now_unix_ns, keep } => {
            if before.password.as_ref() != Some(old) || !before.is_enabled() {
                return Ok(None);
            }
            put_password(conn, name, new, *now_unix_ns).await?;
            end_sessions(conn, name, *keep).await?
        }
        AccountChange::Remove => return Ok(Some(remove(conn, before).await?)),
    };
    let account = find(conn, name).await?.ok_or_else(|| unreadable("an account"))?;
    Ok(Some(AccountChanged { account, ended }))
}

/// Uses up a link to choose a password; none if it is unknown, used or too old, or its account is disabled.
pub(crate) async fn choose_password(
    conn: &mut SqliteConnection,
    (link, new): (TokenHash, &KeptPassword),
    now_unix_ns: i64,
) -> Result<Option<AccountChanged>, StoreError> {
    let Some(before) = of_link(conn, link, now_unix_ns).await? else { return Ok(None) };
    put_password(conn, &before.name, new, now_unix_ns).await?;
    let ended = end_sessions(conn, &before.name, None).await?;
    let account = find(conn, &before.name).await?.ok_or_else(|| unreadable("an account"))?;
    Ok(Some(AccountChanged { account, ended }))
}

/// Begins a session, for the account of its name if there is one: with no higher role than that has, and not if that is disabled or
/// its password is not `password` any more, where one is given. Then there must be an account.
pub(crate) async fn begin_session(
    conn: &mut SqliteConnection,
    (new, password): (&NewSession, Option<&KeptPassword>),
    now_unix_ns: i64,
) -> Result<Option<BegunSession>, StoreError> {
    let Some(account) = find(conn, &new.user).await? else {
        if password.is_some() {
            return Ok(None);
        }
        insert_session(conn, new).await?;
        return Ok(Some(BegunSession { user: new.user.clone(), role: new.role }));
    };
    if !account.is_enabled() || password.is_some_and(|password| account.password.as_ref() != Some(password)) {
        return Ok(None);
    }
    let begun = BegunSession { user: account.name, role: account.role.min(new.role) };
    insert_session(conn, &NewSession { user: begun.user.clone(), role: begun.role, ..new.clone() }).await?;
    note_login(conn, &begun.user, now_unix_ns).await?;
    Ok(Some(begun))
}

/// Keeps when somebody last logged in by an account.
pub(crate) async fn note_login(conn: &mut SqliteConnection, name: &str, now_unix_ns: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE accounts SET last_login_unix_ns = ?2 WHERE name = ?1");
    update.bind(name).bind(now_unix_ns).execute(conn).await.map_err(failed("noting a login"))?;
    Ok(())
}

async fn has_other_admin(conn: &mut SqliteConnection, name: &str) -> Result<bool, StoreError> {
    let select =
        "SELECT EXISTS (SELECT 1 FROM accounts WHERE role = 'admin' AND disabled_unix_ns IS NULL AND name <> ?)";
    let (there,): (bool,) =
        sqlx::query_as(select).bind(name).fetch_one(conn).await.map_err(failed("looking for another admin"))?;
    Ok(there)
}

async fn put_password(
    conn: &mut SqliteConnection,
    name: &str,
    new: &KeptPassword,
    now_unix_ns: i64,
) -> Result<(), StoreError> {
    at_most("what is kept of a password", new.0.len(), limit::PASSWORD_BYTES)?;
    let update = "UPDATE accounts SET password = ?2, password_unix_ns = ?3, link = NULL, link_expires_unix_ns = NULL \
                  WHERE name = ?1";
    let update = sqlx::query(update).bind(name).bind(&new.0).bind(now_unix_ns);
    update.execute(conn).await.map_err(failed("keeping a password"))?;
    Ok(())
}

/// Forgets the sessions of a name but for one; tells which they were.
pub(crate) async fn end_sessions(
    conn: &mut SqliteConnection,
    name: &str,
    keep: Option<TokenHash>,
) -> Result<Vec<EndedSession>, StoreError> {
    let delete = "DELETE FROM sessions WHERE user = ?1 COLLATE NOCASE AND (?2 IS NULL OR hash <> ?2) \
                  RETURNING hash, expires_s";
    let keep = keep.map(|hash| hash.bytes().to_vec());
    let rows: Result<Vec<(Vec<u8>, i64)>, _> = sqlx::query_as(delete).bind(name).bind(keep).fetch_all(&mut *conn).await;
    crate::session_groups::forget_ended(conn).await?;
    let ended = |(hash, expires_s): (Vec<u8>, i64)| {
        let hash = TokenHash::from_bytes(&hash).ok_or_else(|| unreadable("a session"))?;
        Ok(EndedSession { hash, expires_s: unsigned(expires_s) })
    };
    rows.map_err(failed("ending sessions"))?.into_iter().map(ended).collect()
}

async fn remove(conn: &mut SqliteConnection, account: AccountRecord) -> Result<AccountChanged, StoreError> {
    let ended = end_sessions(conn, &account.name, None).await?;
    rights::forget_person(conn, &account.name).await?;
    for delete in [
        "DELETE FROM login_tokens WHERE user = ? COLLATE NOCASE",
        "DELETE FROM api_tokens WHERE owner = ?",
        "DELETE FROM identities WHERE account = ?",
        "DELETE FROM accounts WHERE name = ?",
    ] {
        let delete = sqlx::query(delete).bind(&account.name);
        delete.execute(&mut *conn).await.map_err(failed("removing an account"))?;
    }
    Ok(AccountChanged { account, ended })
}

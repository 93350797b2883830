//! Who accounts are at an OpenID Connect provider, and logins by that.
//!
//! A person there is named by issuer and subject, which never become another's; the name that is shown may. So a name alone opens no
//! account that was there before: an admin says of the account that the next who has its name at the provider is its owner. Who has no
//! account gets one, which is bound to issuer and subject from the first moment. Whether somebody is who they say is not looked at here.

use sqlx::SqliteConnection;

use crate::{
    AccountChanged, BegunSession, EndedSession, IdentityRecord, LoginGroups, NewSession, Role, StoreError, TokenHash,
    entry::insert_session,
    error::failed,
    identity_rows,
    limits::{at_most, limit},
    people,
    rows::{unreadable, unsigned},
    session_groups,
};

const DOING: &str = "logging in by a provider";

/// Somebody who has logged in at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityLogin {
    /// The provider.
    pub issuer: String,
    /// Who it is there.
    pub subject: String,
    /// What an account of theirs is called: checked to be a name.
    pub name: String,
    /// What their groups may do; none if no group of theirs is listed.
    pub role: Option<Role>,
    /// The groups that the provider says, which count for the session that begins.
    pub groups: LoginGroups,
    /// The session that is to begin. Its user and role are those of the account, whatever it says.
    pub session: NewSession,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub now_unix_ns: i64,
}

/// Why somebody who has logged in at a provider does not come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityRefusal {
    /// The account is disabled.
    Disabled {
        /// Its name.
        name: String,
    },
    /// An account of the name is there, and nobody has said that this is its owner.
    NameTaken {
        /// Its name.
        name: String,
    },
    /// No group of theirs says what they may do.
    NoRole,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityOutcome {
    /// A session has begun.
    Begun {
        /// For whom, and what they may do.
        session: BegunSession,
        /// Sessions that ended, because the role is another one or an account was made of their name.
        ended: Vec<EndedSession>,
        /// Sessions that ended, because they had a group that the person is not in any more.
        left_groups: Vec<EndedSession>,
        /// Whether an account was made.
        made: bool,
        /// Whether an account of before was bound to this person.
        linked: bool,
    },
    /// None has.
    Refused(IdentityRefusal),
}

/// Allows that the next who has the name of an account at a provider is taken for its owner. None if there is no such account, and
/// refused if it is somebody there already.
pub(crate) async fn allow(
    conn: &mut SqliteConnection,
    (name, issuer): (&str, &str),
    now_unix_ns: i64,
) -> Result<Option<IdentityRecord>, StoreError> {
    at_most("the address of a provider", issuer.len(), limit::ISSUER_BYTES)?;
    let Some(account) = people::find(conn, name).await? else { return Ok(None) };
    match identity_rows::of_account(conn, name).await? {
        Some(known) if known.subject.is_some() => {
            let why = format!("it belongs to somebody at {} already; undo that first", known.issuer);
            return Err(StoreError::Refused { what: "a login of the account by a provider", why });
        }
        Some(_) => identity_rows::forget(conn, name).await?,
        None => {}
    }
    let new = IdentityRecord {
        account: account.name,
        issuer: issuer.to_owned(),
        subject: None,
        made_at_login: false,
        created_unix_ns: now_unix_ns,
    };
    identity_rows::keep(conn, &new).await?;
    Ok(Some(new))
}

/// Forgets who an account is, and ends its sessions; none if it is nobody elsewhere.
pub(crate) async fn unlink(conn: &mut SqliteConnection, name: &str) -> Result<Option<AccountChanged>, StoreError> {
    let Some(account) = people::find(conn, name).await? else { return Ok(None) };
    if identity_rows::of_account(conn, name).await?.is_none() {
        return Ok(None);
    }
    identity_rows::forget(conn, name).await?;
    let ended = people::end_sessions(conn, name, None).await?;
    Ok(Some(AccountChanged { account, ended }))
}

/// Begins a session for somebody who has logged in at a provider.
pub(crate) async fn log_in(conn: &mut SqliteConnection, login: &IdentityLogin) -> Result<IdentityOutcome, StoreError> {
    at_most("the address of a provider", login.issuer.len(), limit::ISSUER_BYTES)?;
    at_most("who somebody is at the provider", login.subject.len(), limit::SUBJECT_BYTES)?;
    at_most("the user's name", login.name.len(), limit::USER_BYTES)?;
    let who = (login.issuer.as_str(), login.subject.as_str());
    if let Some(known) = identity_rows::of_subject(conn, who).await? {
        return log_in_known(conn, login, &known).await;
    }
    let Some(account) = people::find(conn, &login.name).await? else { return make(conn, login).await };
    match identity_rows::of_account(conn, &account.name).await? {
        Some(IdentityRecord { issuer, subject: None, .. }) if issuer == login.issuer => {}
        _ => return Ok(refused(IdentityRefusal::NameTaken { name: account.name })),
    }
    if !account.is_enabled() {
        return Ok(refused(IdentityRefusal::Disabled { name: account.name }));
    }
    let update = sqlx::query("UPDATE identities SET subject = ?2 WHERE account = ?1").bind(&account.name);
    update.bind(&login.subject).execute(&mut *conn).await.map_err(failed(DOING))?;
    let (session, left_groups) = begin(conn, login, (&account.name, account.role)).await?;
    Ok(IdentityOutcome::Begun { session, ended: Vec::new(), left_groups, made: false, linked: true })
}

const fn refused(why: IdentityRefusal) -> IdentityOutcome {
    IdentityOutcome::Refused(why)
}

async fn log_in_known(
    conn: &mut SqliteConnection,
    login: &IdentityLogin,
    known: &IdentityRecord,
) -> Result<IdentityOutcome, StoreError> {
    let Some(account) = people::find(conn, &known.account).await? else {
        return Err(unreadable("the account of an identity"));
    };
    if !account.is_enabled() {
        return Ok(refused(IdentityRefusal::Disabled { name: account.name }));
    }
    let role = if known.made_at_login { login.role } else { Some(account.role) };
    let Some(role) = role else { return Ok(refused(IdentityRefusal::NoRole)) };
    let ended = if role == account.role {
        Vec::new()
    } else {
        let update = sqlx::query("UPDATE accounts SET role = ?2 WHERE name = ?1").bind(&account.name);
        update.bind(role.as_str()).execute(&mut *conn).await.map_err(failed(DOING))?;
        people::end_sessions(conn, &account.name, None).await?
    };
    let (session, left_groups) = begin(conn, login, (&account.name, role)).await?;
    Ok(IdentityOutcome::Begun { session, ended, left_groups, made: false, linked: false })
}

/// Makes an account for somebody who has none.
async fn make(conn: &mut SqliteConnection, login: &IdentityLogin) -> Result<IdentityOutcome, StoreError> {
    let Some(role) = login.role else { return Ok(refused(IdentityRefusal::NoRole)) };
    people::has_room(conn).await?;
    let insert = sqlx::query("INSERT INTO accounts (name, role, created_unix_ns) VALUES (?, ?, ?)");
    let insert = insert.bind(&login.name).bind(role.as_str()).bind(login.now_unix_ns);
    insert.execute(&mut *conn).await.map_err(failed(DOING))?;
    let new = IdentityRecord {
        account: login.name.clone(),
        issuer: login.issuer.clone(),
        subject: Some(login.subject.clone()),
        made_at_login: true,
        created_unix_ns: login.now_unix_ns,
    };
    identity_rows::keep(conn, &new).await?;
    let ended = people::end_sessions(conn, &login.name, None).await?;
    let (session, left_groups) = begin(conn, login, (&login.name, role)).await?;
    Ok(IdentityOutcome::Begun { session, ended, left_groups, made: true, linked: false })
}

async fn begin(
    conn: &mut SqliteConnection,
    login: &IdentityLogin,
    (name, role): (&str, Role),
) -> Result<(BegunSession, Vec<EndedSession>), StoreError> {
    let session = BegunSession { user: name.to_owned(), role };
    let said = (login.issuer.as_str(), &login.groups);
    let left_groups = end_sessions_with_others(conn, name, said).await?;
    insert_session(conn, &NewSession { user: name.to_owned(), role, ..login.session.clone() }).await?;
    session_groups::keep(conn, login.session.hash, said).await?;
    people::note_login(conn, name, login.now_unix_ns).await?;
    Ok((session, left_groups))
}

/// Ends the sessions of somebody that have a group which they are not in any more, as a new login says; tells which they were.
async fn end_sessions_with_others(
    conn: &mut SqliteConnection,
    name: &str,
    (issuer, groups): (&str, &LoginGroups),
) -> Result<Vec<EndedSession>, StoreError> {
    let delete = "DELETE FROM sessions WHERE user = ?1 COLLATE NOCASE AND EXISTS (SELECT 1 FROM session_groups g \
                  WHERE g.session = sessions.hash AND (g.issuer <> ?2 OR g.name NOT IN (SELECT value FROM json_each(?3)))) \
                  RETURNING hash, expires_s";
    let delete = sqlx::query_as(delete).bind(name.to_owned()).bind(issuer.to_owned()).bind(groups.json());
    let rows: Vec<(Vec<u8>, i64)> = delete.fetch_all(&mut *conn).await.map_err(failed("ending sessions"))?;
    session_groups::forget_ended(conn).await?;
    let ended = |(hash, expires_s): (Vec<u8>, i64)| {
        let hash = TokenHash::from_bytes(&hash).ok_or_else(|| unreadable("a session"))?;
        Ok(EndedSession { hash, expires_s: unsigned(expires_s) })
    };
    rows.into_iter().map(ended).collect()
}

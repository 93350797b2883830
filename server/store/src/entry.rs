//! Login tokens, sessions and the audit log in the database.

use sqlx::SqliteConnection;

use crate::{
    AuditEntry, AuditRecord, LoginToken, NewSession, Role, Session, StoreError, TokenHash,
    error::failed,
    limits::{at_most, cut, limit},
    rows::{row_struct, sql, unreadable, unsigned},
    session_groups,
};

/// The most of the detail of an audit entry that is kept.
const DETAIL_BYTES: usize = 4 << 10;
/// The most of an entry's action and object.
const WORD_BYTES: usize = 256;
/// The most entries of the audit log in one answer.
const MAX_AUDIT: u32 = 10_000;

pub(crate) fn role(text: &str) -> Result<Role, StoreError> {
    text.parse().map_err(|_unknown| unreadable("a role"))
}

/// Forgets sessions and tokens of another epoch.
pub(crate) async fn begin_epoch(conn: &mut SqliteConnection, epoch: &str) -> Result<(), StoreError> {
    const DOING: &str = "beginning a session epoch";
    at_most("the session epoch", epoch.len(), WORD_BYTES)?;
    let select = sqlx::query_as("SELECT value FROM settings WHERE name = 'session_epoch'");
    let known: Option<(String,)> = select.fetch_optional(&mut *conn).await.map_err(failed(DOING))?;
    if known.is_some_and(|(known,)| known == epoch) {
        return Ok(());
    }
    for delete in ["DELETE FROM sessions", "DELETE FROM login_tokens"] {
        sqlx::query(delete).execute(&mut *conn).await.map_err(failed(DOING))?;
    }
    session_groups::forget_ended(conn).await?;
    let put = sqlx::query("INSERT OR REPLACE INTO settings (name, value) VALUES ('session_epoch', ?)").bind(epoch);
    put.execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

pub(crate) async fn add_login_token(conn: &mut SqliteConnection, token: &LoginToken) -> Result<(), StoreError> {
    at_most("the user's name", token.user.len(), limit::USER_BYTES)?;
    sqlx::query("INSERT INTO login_tokens VALUES (?, ?, ?, ?, ?, NULL)")
        .bind(token.hash.bytes().as_slice())
        .bind(&token.user)
        .bind(token.role.as_str())
        .bind(sql(token.expires_s))
        .bind(sql(token.session_expires_s))
        .execute(conn)
        .await
        .map_err(failed("adding a login token"))?;
    Ok(())
}

type TokenRow = (Vec<u8>, String, String, i64, i64);

fn token_from((hash, user, text, expires_s, session_expires_s): TokenRow) -> Result<LoginToken, StoreError> {
    let hash = TokenHash::from_bytes(&hash).ok_or_else(|| unreadable("the hash of a login token"))?;
    let (expires_s, session_expires_s) = (unsigned(expires_s), unsigned(session_expires_s));
    Ok(LoginToken { hash, user, role: role(&text)?, expires_s, session_expires_s })
}

/// Those that can be used.
pub(crate) async fn login_tokens(conn: &mut SqliteConnection, now_s: u64) -> Result<Vec<LoginToken>, StoreError> {
    let select = "SELECT hash, user, role, expires_s, session_expires_s FROM login_tokens WHERE used_s IS NULL AND \
                  expires_s > ? ORDER BY expires_s";
    let rows: Result<Vec<TokenRow>, _> = sqlx::query_as(select).bind(sql(now_s)).fetch_all(conn).await;
    rows.map_err(failed("listing login tokens"))?.into_iter().map(token_from).collect()
}

pub(crate) async fn delete_login_token(conn: &mut SqliteConnection, hash: TokenHash) -> Result<bool, StoreError> {
    let delete =
        sqlx::query("DELETE FROM login_tokens WHERE hash = ? AND used_s IS NULL").bind(hash.bytes().as_slice());
    let done = delete.execute(conn).await.map_err(failed("forgetting a login token"))?;
    Ok(done.rows_affected() > 0)
}

pub(crate) async fn redeem_login_token(
    conn: &mut SqliteConnection,
    hash: TokenHash,
    now_s: u64,
) -> Result<Option<LoginToken>, StoreError> {
    let used: Option<TokenRow> = sqlx::query_as(
        "UPDATE login_tokens SET used_s = ?1 WHERE hash = ?2 AND used_s IS NULL AND expires_s > ?1 AND NOT EXISTS \
         (SELECT 1 FROM accounts WHERE name = user AND disabled_unix_ns IS NOT NULL) \
         RETURNING hash, user, role, expires_s, session_expires_s",
    )
    .bind(sql(now_s))
    .bind(hash.bytes().as_slice())
    .fetch_optional(conn)
    .await
    .map_err(failed("using a login token"))?;
    used.map(token_from).transpose()
}

pub(crate) async fn has_login_token(
    conn: &mut SqliteConnection,
    hash: TokenHash,
    now_s: u64,
) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM login_tokens WHERE hash = ?2 AND used_s IS NULL AND expires_s > ?1 AND NOT EXISTS \
         (SELECT 1 FROM accounts WHERE name = user AND disabled_unix_ns IS NOT NULL))",
    )
    .bind(sql(now_s))
    .bind(hash.bytes().as_slice())
    .fetch_one(conn)
    .await
    .map_err(failed("looking up a login token"))
}

/// Keeps a session as it is. Whether it may begin is decided before.
pub(crate) async fn insert_session(conn: &mut SqliteConnection, session: &NewSession) -> Result<(), StoreError> {
    at_most("the user's name", session.user.len(), limit::USER_BYTES)?;
    sqlx::query("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind(session.hash.bytes().as_slice())
        .bind(session.role.as_str())
        .bind(&session.user)
        .bind(sql(session.created_s))
        .bind(sql(session.created_s))
        .bind(sql(session.expires_s))
        .bind(sql(session.idle_limit_s))
        .execute(conn)
        .await
        .map_err(failed("keeping a session"))?;
    Ok(())
}

row_struct! {
    struct SessionRow {
        hash: Vec<u8>,
        role: String,
        user: String,
        created_s: i64,
        last_used_s: i64,
        expires_s: i64,
        idle_limit_s: i64,
    }
}

pub(crate) async fn session(
    conn: &mut SqliteConnection,
    hash: TokenHash,
    now_s: u64,
) -> Result<Option<Session>, StoreError> {
    let row: Option<SessionRow> = sqlx::query_as(
        "SELECT hash, role, user, created_s, last_used_s, expires_s, idle_limit_s FROM sessions \
         WHERE hash = ?1 AND expires_s > ?2 AND last_used_s + idle_limit_s > ?2",
    )
    .bind(hash.bytes().as_slice())
    .bind(sql(now_s))
    .fetch_optional(&mut *conn)
    .await
    .map_err(failed("looking for a session"))?;
    let Some(row) = row else { return Ok(None) };
    let groups = session_groups::of_session(conn, hash).await?;
    Ok(Some(Session { groups, ..row.into_session()? }))
}

/// All that have not ended, the one that was used last first.
pub(crate) async fn sessions(conn: &mut SqliteConnection, now_s: u64) -> Result<Vec<Session>, StoreError> {
    let select = "SELECT hash, role, user, created_s, last_used_s, expires_s, idle_limit_s FROM sessions \
                  WHERE expires_s > ?1 AND last_used_s + idle_limit_s > ?1 ORDER BY last_used_s DESC";
    let rows: Result<Vec<SessionRow>, _> = sqlx::query_as(select).bind(sql(now_s)).fetch_all(conn).await;
    rows.map_err(failed("listing sessions"))?.into_iter().map(SessionRow::into_session).collect()
}

impl SessionRow {
    fn into_session(self) -> Result<Session, StoreError> {
        Ok(Session {
            hash: TokenHash::from_bytes(&self.hash).ok_or_else(|| unreadable("a session"))?,
            role: role(&self.role)?,
            user: self.user,
            created_s: unsigned(self.created_s),
            last_used_s: unsigned(self.last_used_s),
            expires_s: unsigned(self.expires_s),
            idle_limit_s: unsigned(self.idle_limit_s),
            groups: None,
        })
    }
}

pub(crate) async fn touch_session(conn: &mut SqliteConnection, hash: TokenHash, now_s: u64) -> Result<(), StoreError> {
    sqlx::query("UPDATE sessions SET last_used_s = max(last_used_s, ?) WHERE hash = ?")
        .bind(sql(now_s))
        .bind(hash.bytes().as_slice())
        .execute(conn)
        .await
        .map_err(failed("noting the use of a session"))?;
    Ok(())
}

pub(crate) async fn delete_session(conn: &mut SqliteConnection, hash: TokenHash) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM sessions WHERE hash = ?").bind(hash.bytes().as_slice());
    let deleted = delete.execute(&mut *conn).await.map_err(failed("forgetting a session"))?;
    session_groups::forget_ended(conn).await?;
    Ok(deleted.rows_affected() > 0)
}

pub(crate) async fn purge(conn: &mut SqliteConnection, now_s: u64) -> Result<u64, StoreError> {
    let statements = [
        "DELETE FROM sessions WHERE expires_s <= ?1 OR last_used_s + idle_limit_s <= ?1",
        "DELETE FROM login_tokens WHERE expires_s <= ?1 OR used_s IS NOT NULL",
    ];
    let mut gone = 0;
    for statement in statements {
        let delete = sqlx::query(statement).bind(sql(now_s));
        gone += delete.execute(&mut *conn).await.map_err(failed("forgetting sessions"))?.rows_affected();
    }
    session_groups::forget_ended(conn).await?;
    Ok(gone)
}

pub(crate) async fn add_audit(conn: &mut SqliteConnection, entry: &AuditEntry) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO audit (time_unix_ns, user, role, action, object, detail) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(entry.time_unix_ns)
        .bind(cut(&entry.user, WORD_BYTES))
        .bind(entry.role.as_str())
        .bind(cut(&entry.action, WORD_BYTES))
        .bind(cut(&entry.object, WORD_BYTES))
        .bind(cut(&entry.detail, DETAIL_BYTES))
        .execute(conn)
        .await
        .map_err(failed("writing the audit log"))?;
    Ok(())
}

type AuditRow = (i64, i64, String, String, String, String, String);

pub(crate) async fn audit(
    conn: &mut SqliteConnection,
    before: u64,
    limit: u32,
) -> Result<Vec<AuditRecord>, StoreError> {
    let before = if before == 0 { i64::MAX } else { sql(before) };
    let rows: Vec<AuditRow> = sqlx::query_as(
        "SELECT number, time_unix_ns, user, role, action, object, detail FROM audit WHERE number < ? \
         ORDER BY number DESC LIMIT ?",
    )
    .bind(before)
    .bind(limit.min(MAX_AUDIT))
    .fetch_all(conn)
    .await
    .map_err(failed("reading the audit log"))?;
    let record = |(number, time_unix_ns, user, text, action, object, detail): AuditRow| {
        let entry = AuditEntry { time_unix_ns, user, role: role(&text)?, action, object, detail };
        Ok(AuditRecord { number: unsigned(number), entry })
    };
    rows.into_iter().map(record).collect()
}

//! Links for people without a login: made, opened with their token, revoked, and gone when their time is over.
//!
//! What one shows is not looked at here, and whether shares are allowed is decided where people are known.

use sqlx::SqliteConnection;

use crate::{
    StoreError, TokenHash,
    error::failed,
    limits::{at_most, limit},
    rows::{row_struct, sql, unreadable, unsigned},
};

const READING: &str = "reading shares";
/// A link lives at least as long as it takes to send it.
pub(crate) const LEAST_NS: i64 = 60 * 1_000_000_000;
/// The longest that one lives: a leap year.
pub(crate) const MOST_NS: i64 = 366 * 24 * 3600 * 1_000_000_000;

/// A link that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewShare {
    /// Names it: random, and no secret.
    pub id: u64,
    /// The hash of its token.
    pub token: TokenHash,
    /// What sort of thing it shows, such as `capture`.
    pub kind: String,
    /// Which one, as addresses have it.
    pub object: String,
    /// What of that it shows, at most 64 KiB.
    pub scope: String,
    /// What it is called, at most 256 bytes.
    pub title: String,
    /// Who makes it.
    pub owner: String,
    /// Now, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// From when on it shows nothing, likewise: a minute to a year from now.
    pub expires_unix_ns: i64,
    /// What of it is not told: words with a space between, at most 256 bytes; empty if all is.
    pub removes: String,
    /// The picture that is shown to whoever knows its id, a PNG of at most 64 KiB; none for no preview.
    pub preview: Option<Vec<u8>>,
}

/// What is shown of a link to whoever knows its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharePreview {
    /// The link, without its picture.
    pub share: ShareRecord,
    /// The picture, a PNG.
    pub picture: Vec<u8>,
}

/// That a link was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareUse {
    /// Which one.
    pub id: u64,
    /// When it was last, nanoseconds since 1970 by the wall clock.
    pub last_used_unix_ns: i64,
    /// How often it was opened since this was last written.
    pub opened: u64,
}

/// A link that there is. Its token is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareRecord {
    /// Names it.
    pub id: u64,
    /// What sort of thing it shows.
    pub kind: String,
    /// Which one.
    pub object: String,
    /// What of that it shows.
    pub scope: String,
    /// What it is called.
    pub title: String,
    /// Who made it.
    pub owner: String,
    /// When, nanoseconds since 1970 by the wall clock: a label.
    pub created_unix_ns: i64,
    /// From when on it shows nothing, likewise.
    pub expires_unix_ns: i64,
    /// When it was last opened or used, likewise; none if it never was.
    pub last_used_unix_ns: Option<i64>,
    /// How often it was opened.
    pub uses: u64,
    /// What of it is not told: words with a space between; empty if all is.
    pub removes: String,
    /// Whether it has a preview.
    pub has_preview: bool,
}

row_struct! {
    struct ShareRow {
        id: i64,
        kind: String,
        object: String,
        scope: String,
        title: String,
        owner: String,
        created_unix_ns: i64,
        expires_unix_ns: i64,
        last_used_unix_ns: Option<i64>,
        uses: i64,
        removes: String,
        has_preview: bool,
    }
}

/// Columns of a [`ShareRow`].
macro_rules! share_columns {
    () => {
        "id, kind, object, scope, title, owner, created_unix_ns, expires_unix_ns, last_used_unix_ns, uses, removes, \
         preview IS NOT NULL AS has_preview"
    };
}

impl From<ShareRow> for ShareRecord {
    fn from(row: ShareRow) -> Self {
        let ShareRow { id, kind, object, scope, title, owner, created_unix_ns, expires_unix_ns, .. } = row;
        let (last_used_unix_ns, uses) = (row.last_used_unix_ns, unsigned(row.uses));
        let (id, removes, has_preview) = (unsigned(id), row.removes, row.has_preview);
        Self {
            id,
            kind,
            object,
            scope,
            title,
            owner,
            created_unix_ns,
            expires_unix_ns,
            last_used_unix_ns,
            uses,
            removes,
            has_preview,
        }
    }
}

fn check(new: &NewShare) -> Result<(), StoreError> {
    at_most("the kind of a share", new.kind.len(), limit::USER_BYTES)?;
    at_most("what a share shows", new.object.len(), limit::TITLE_BYTES)?;
    at_most("what a share shows of it", new.scope.len(), limit::SHARE_SCOPE_BYTES)?;
    at_most("the title of a share", new.title.len(), limit::TITLE_BYTES)?;
    at_most("the user's name", new.owner.len(), limit::USER_BYTES)?;
    at_most("what a share does not tell", new.removes.len(), limit::TITLE_BYTES)?;
    at_most("the picture of a share's preview", new.preview.as_ref().map_or(0, Vec::len), limit::SHARE_PREVIEW_BYTES)?;
    if (LEAST_NS..=MOST_NS).contains(&new.expires_unix_ns.saturating_sub(new.created_unix_ns)) {
        return Ok(());
    }
    Err(StoreError::Refused {
        what: "a share",
        why: "it lives for a minute at least, and for a year at most".to_owned(),
    })
}

/// Makes a link.
pub(crate) async fn add(conn: &mut SqliteConnection, new: &NewShare) -> Result<(), StoreError> {
    const DOING: &str = "making a share";
    check(new)?;
    let select = sqlx::query_as("SELECT count(*) FROM shares WHERE owner = ? AND expires_unix_ns > ?");
    let select = select.bind(&new.owner).bind(new.created_unix_ns);
    let (count,): (i64,) = select.fetch_one(&mut *conn).await.map_err(failed(DOING))?;
    if count >= limit::SHARES_OF_OWNER {
        let why = format!("{} has {count} shares already; revoke some first", new.owner);
        return Err(StoreError::Refused { what: "another share", why });
    }
    let insert = "INSERT INTO shares \
                  (id, token, kind, object, scope, title, owner, created_unix_ns, expires_unix_ns, removes, preview) \
                  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let insert = sqlx::query(insert).bind(sql(new.id)).bind(new.token.bytes().as_slice()).bind(&new.kind);
    let insert = insert.bind(&new.object).bind(&new.scope).bind(&new.title).bind(&new.owner);
    let insert = insert.bind(new.created_unix_ns).bind(new.expires_unix_ns).bind(&new.removes).bind(&new.preview);
    insert.execute(conn).await.map_err(failed(DOING))?;
    Ok(())
}

/// Those of an owner, or of all, that have not expired: the one that was made last first.
pub(crate) async fn list(
    conn: &mut SqliteConnection,
    owner: Option<&str>,
    now_unix_ns: i64,
) -> Result<Vec<ShareRecord>, StoreError> {
    let select = concat!(
        "SELECT ",
        share_columns!(),
        " FROM shares WHERE expires_unix_ns > ?1 AND (?2 IS NULL OR owner = ?2) ORDER BY created_unix_ns DESC, id"
    );
    let rows: Result<Vec<ShareRow>, _> = sqlx::query_as(select).bind(now_unix_ns).bind(owner).fetch_all(conn).await;
    Ok(rows.map_err(failed(READING))?.into_iter().map(ShareRecord::from).collect())
}

/// The link of this id and token, if it has not expired.
pub(crate) async fn find(
    conn: &mut SqliteConnection,
    (id, token): (u64, TokenHash),
    now_unix_ns: i64,
) -> Result<Option<ShareRecord>, StoreError> {
    // The hash of a token is compared, which nobody who guesses can steer: how long it takes tells nothing of the token.
    let select =
        concat!("SELECT ", share_columns!(), " FROM shares WHERE id = ?1 AND token = ?2 AND expires_unix_ns > ?3");
    let select = sqlx::query_as(select).bind(sql(id)).bind(token.bytes().as_slice()).bind(now_unix_ns);
    let row: Option<ShareRow> = select.fetch_optional(conn).await.map_err(failed("opening a share"))?;
    Ok(row.map(ShareRecord::from))
}

/// The preview of the link of this id, if it has one and has not expired. No token is asked for.
pub(crate) async fn preview(
    conn: &mut SqliteConnection,
    id: u64,
    now_unix_ns: i64,
) -> Result<Option<SharePreview>, StoreError> {
    const DOING: &str = "reading the preview of a share";
    let select = concat!(
        "SELECT ",
        share_columns!(),
        " FROM shares WHERE id = ?1 AND expires_unix_ns > ?2 AND preview IS NOT NULL"
    );
    let select = sqlx::query_as(select).bind(sql(id)).bind(now_unix_ns);
    let row: Option<ShareRow> = select.fetch_optional(&mut *conn).await.map_err(failed(DOING))?;
    let Some(share) = row.map(ShareRecord::from) else { return Ok(None) };
    let select = sqlx::query_as("SELECT preview FROM shares WHERE id = ?1 AND preview IS NOT NULL").bind(sql(id));
    let row: Option<(Vec<u8>,)> = select.fetch_optional(conn).await.map_err(failed(DOING))?;
    Ok(row.map(|(picture,)| SharePreview { share, picture }))
}

/// Writes that links were used; those that are gone meanwhile are none.
pub(crate) async fn note_uses(conn: &mut SqliteConnection, uses: &[ShareUse]) -> Result<(), StoreError> {
    for ShareUse { id, last_used_unix_ns, opened } in uses {
        let update = "UPDATE shares SET uses = uses + ?2, last_used_unix_ns = max(coalesce(last_used_unix_ns, ?3), ?3) \
                      WHERE id = ?1";
        let update = sqlx::query(update).bind(sql(*id)).bind(sql(*opened)).bind(last_used_unix_ns);
        update.execute(&mut *conn).await.map_err(failed("writing uses of shares"))?;
    }
    Ok(())
}

/// Revokes a link that is `owner`'s, or anybody's; says which one it was.
pub(crate) async fn revoke(
    conn: &mut SqliteConnection,
    id: u64,
    owner: Option<&str>,
) -> Result<Option<ShareRecord>, StoreError> {
    let delete =
        concat!("DELETE FROM shares WHERE id = ?1 AND (?2 IS NULL OR owner = ?2) RETURNING ", share_columns!());
    let delete = sqlx::query_as(delete).bind(sql(id)).bind(owner);
    let row: Option<ShareRow> = delete.fetch_optional(conn).await.map_err(failed("revoking a share"))?;
    Ok(row.map(ShareRecord::from))
}

/// Removes those that have expired; says which they were.
pub(crate) async fn purge(conn: &mut SqliteConnection, now_unix_ns: i64) -> Result<Vec<ShareRecord>, StoreError> {
    let delete = concat!("DELETE FROM shares WHERE expires_unix_ns <= ?1 RETURNING ", share_columns!());
    let rows: Result<Vec<ShareRow>, _> = sqlx::query_as(delete).bind(now_unix_ns).fetch_all(conn).await;
    Ok(rows.map_err(failed("removing shares"))?.into_iter().map(ShareRecord::from).collect())
}

/// Whether shares are allowed here; not before somebody says so.
pub(crate) async fn are_allowed(conn: &mut SqliteConnection) -> Result<bool, StoreError> {
    let select = sqlx::query_as("SELECT value FROM settings WHERE name = 'shares'");
    let row: Option<(String,)> = select.fetch_optional(conn).await.map_err(failed(READING))?;
    match row.as_ref().map(|(value,)| value.as_str()) {
        Some("allowed") => Ok(true),
        None | Some("refused") => Ok(false),
        Some(_) => Err(unreadable("whether shares are allowed")),
    }
}

pub(crate) async fn allow(conn: &mut SqliteConnection, allowed: bool) -> Result<(), StoreError> {
    let put = sqlx::query("INSERT OR REPLACE INTO settings (name, value) VALUES ('shares', ?)");
    let put = put.bind(if allowed { "allowed" } else { "refused" });
    put.execute(conn).await.map_err(failed("keeping whether shares are allowed"))?;
    Ok(())
}

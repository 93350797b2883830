//! Moments that people or scripts marked, such as deployments.

use sqlx::SqliteConnection;

use crate::{
    StoreError,
    error::failed,
    limits::{at_most, limit},
    rows::row_struct,
};

const SAVING: &str = "keeping a mark";
const READING: &str = "reading marks";

/// A mark, without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMark {
    /// The moment, wall time in nanoseconds since 1970.
    pub time_unix_ns: i64,
    /// The host that it is about; empty for all.
    pub host: String,
    /// What happened.
    pub text: String,
    /// An address where more is told; empty for none.
    pub link: String,
    /// Who marked it, by name.
    pub author: String,
    /// When, wall time in nanoseconds since 1970: a label.
    pub created_unix_ns: i64,
}

/// A mark that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkRecord {
    /// Its number.
    pub id: i64,
    /// What it says.
    pub mark: NewMark,
}

row_struct! {
    struct MarkRow {
        id: i64,
        time_unix_ns: i64,
        host: String,
        text: String,
        link: String,
        author: String,
        created_unix_ns: i64,
    }
}

/// Keeps a mark; gives its number.
pub(crate) async fn add(conn: &mut SqliteConnection, new: &NewMark) -> Result<i64, StoreError> {
    at_most("the text of a mark", new.text.len(), limit::MARK_TEXT_BYTES)?;
    at_most("the host of a mark", new.host.len(), limit::MARK_HOST_BYTES)?;
    at_most("the link of a mark", new.link.len(), limit::MARK_LINK_BYTES)?;
    at_most("the user's name", new.author.len(), limit::USER_BYTES)?;
    let (count,): (i64,) =
        sqlx::query_as("SELECT count(*) FROM marks").fetch_one(&mut *conn).await.map_err(failed(SAVING))?;
    if count >= limit::MARKS {
        let why = format!("there are {count} marks; delete some first");
        return Err(StoreError::Refused { what: "another mark", why });
    }
    let insert = sqlx::query(
        "INSERT INTO marks (time_unix_ns, host, text, link, author, created_unix_ns) VALUES (?, ?, ?, ?, ?, ?)",
    );
    let insert = insert.bind(new.time_unix_ns).bind(&new.host).bind(&new.text).bind(&new.link).bind(&new.author);
    let done = insert.bind(new.created_unix_ns).execute(conn).await.map_err(failed(SAVING))?;
    Ok(done.last_insert_rowid())
}

/// Marks from one moment until before another, in order of time.
pub(crate) async fn list(
    conn: &mut SqliteConnection,
    (from_unix_ns, until_unix_ns): (i64, i64),
) -> Result<Vec<MarkRecord>, StoreError> {
    let select = "SELECT * FROM marks WHERE time_unix_ns >= ? AND time_unix_ns < ? ORDER BY time_unix_ns, id";
    let rows: Vec<MarkRow> =
        sqlx::query_as(select).bind(from_unix_ns).bind(until_unix_ns).fetch_all(conn).await.map_err(failed(READING))?;
    let record = |row: MarkRow| {
        let MarkRow { id, time_unix_ns, host, text, link, author, created_unix_ns } = row;
        MarkRecord { id, mark: NewMark { time_unix_ns, host, text, link, author, created_unix_ns } }
    };
    Ok(rows.into_iter().map(record).collect())
}

/// The mark of this number; none if there is none.
pub(crate) async fn one(conn: &mut SqliteConnection, id: i64) -> Result<Option<MarkRecord>, StoreError> {
    let row: Option<MarkRow> = sqlx::query_as("SELECT * FROM marks WHERE id = ?")
        .bind(id)
        .fetch_optional(conn)
        .await
        .map_err(failed(READING))?;
    let record = |row: MarkRow| {
        let MarkRow { id, time_unix_ns, host, text, link, author, created_unix_ns } = row;
        MarkRecord { id, mark: NewMark { time_unix_ns, host, text, link, author, created_unix_ns } }
    };
    Ok(row.map(record))
}

/// Removes a mark; says whether there was one.
pub(crate) async fn remove(conn: &mut SqliteConnection, id: i64) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM marks WHERE id = ?").bind(id);
    Ok(delete.execute(conn).await.map_err(failed(SAVING))?.rows_affected() > 0)
}

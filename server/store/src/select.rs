//! Queries about one capture.

use bathyscope_capture::CaptureId;
use sqlx::{FromRow, Sqlite, SqliteConnection, sqlite::SqliteRow};

use crate::{StoreError, error::failed, rows::sql};

/// Every row of a query as tuples.
pub(crate) async fn all<T>(
    conn: &mut SqliteConnection,
    query: Query<'_>,
    doing: &'static str,
) -> Result<Vec<T>, StoreError>
where
    T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
{
    let rows = query.fetch_all(conn).await.map_err(failed(doing))?;
    rows.iter().map(T::from_row).collect::<Result<_, _>>().map_err(failed(doing))
}

pub(crate) type Query<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;

pub(crate) fn of(statement: &'static str, id: CaptureId) -> Query<'static> {
    sqlx::query(statement).bind(sql(id.bits()))
}

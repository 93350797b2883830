//! The track index of captures: pages of tracks and the directory of each stream's, as who makes them gives them.
//!
//! It follows from the rows of its streams, so nothing depends on it: a stream without it is drawn from its rows.

use std::sync::LazyLock;

use bathyscope_capture::{BuiltPage, CaptureId, MAX_TRACK_DIRECTORY_BYTES, MAX_TRACK_PAGE_BYTES};
use sqlx::SqliteConnection;

use crate::{
    CaptureState, StoreError,
    error::failed,
    limits::at_most,
    read::state_of,
    retention::{self, AddedBytes},
    rows::narrow,
    select::{all, of},
    writer::{Durability, Writer},
};

/// Pages that are inserted by one statement.
const PAGES_AT_ONCE: usize = 32;

/// Where a page is: track, level, number.
pub type TrackPlace = (u32, u8, u64);

/// What is new of the tracks of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackChanges {
    /// The stream; of a rule's, its place among these.
    pub stream: u16,
    /// New pages, and those that take the place of others.
    pub pages: Vec<BuiltPage>,
    /// The directory as it is with them; none where it is stored later. Whoever reads the index knows only what the directory
    /// tells.
    pub directory: Option<Vec<u8>>,
}

impl TrackChanges {
    /// The bytes that are to be stored.
    pub(crate) fn bytes(&self) -> u64 {
        let pages: usize = self.pages.iter().map(|page| page.bytes.len()).sum();
        (pages + self.directory.as_ref().map_or(0, Vec::len)) as u64
    }
}

/// Stores changes of the tracks of a recorded stream; the capture must have ended.
pub(crate) async fn store(writer: &mut Writer, id: CaptureId, changes: &TrackChanges) -> Result<(), StoreError> {
    writer.has_room_for(2 * changes.bytes()).await?;
    writer.begin(Durability::Normal).await?;
    let done = store_in(&mut writer.conn, id, changes).await;
    writer.end(done).await
}

async fn store_in(conn: &mut SqliteConnection, id: CaptureId, changes: &TrackChanges) -> Result<(), StoreError> {
    if state_of(conn, id).await? == CaptureState::Recording {
        return Err(StoreError::Recording { id });
    }
    let select = of("SELECT 1 FROM streams WHERE capture_id = ? AND stream = ?", id).bind(changes.stream);
    let known: Vec<(i64,)> = all(conn, select, "looking for a stream").await?;
    if known.is_empty() {
        let why = format!("the capture has no stream {}", changes.stream);
        return Err(StoreError::Refused { what: "tracks", why });
    }
    let index_bytes = put(conn, id, changes.stream, changes).await?;
    retention::add(conn, id, AddedBytes { index_bytes, dictionary_bytes: 0 }).await
}

/// Stores changes of a stream's tracks, in the transaction that is open; says by how many bytes the index has grown.
pub(crate) async fn put(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    changes: &TrackChanges,
) -> Result<u64, StoreError> {
    const DOING: &str = "storing tracks";
    let (mut grown, mut replaced) = (0, 0);
    for page in &changes.pages {
        at_most("a page of a track", page.bytes.len(), MAX_TRACK_PAGE_BYTES)?;
        grown += page.bytes.len() as u64;
    }
    let (whole, rest) = changes.pages.as_chunks::<PAGES_AT_ONCE>();
    for pages in whole {
        if !insert_new(conn, id, stream, pages).await? {
            replaced += insert_or_replace(conn, id, stream, pages).await?;
        }
    }
    replaced += insert_or_replace(conn, id, stream, rest).await?;
    if let Some(directory) = &changes.directory {
        at_most("the directory of tracks", directory.len(), MAX_TRACK_DIRECTORY_BYTES)?;
        let select = "SELECT octet_length(data) FROM track_directories WHERE capture_id = ? AND stream = ?";
        let before: Vec<(i64,)> = all(conn, of(select, id).bind(stream), DOING).await?;
        replaced += before.first().map_or(0, |row| row.0.unsigned_abs());
        grown += directory.len() as u64;
        let insert = of("INSERT OR REPLACE INTO track_directories VALUES (?, ?, ?)", id).bind(stream);
        insert.bind(directory.as_slice()).execute(&mut *conn).await.map_err(failed(DOING))?;
    }
    Ok(grown.saturating_sub(replaced))
}

fn number_of(page: &BuiltPage) -> Result<i64, StoreError> {
    let large = |_large| StoreError::Refused { what: "a page of a track", why: "its number is too large".to_owned() };
    i64::try_from(page.number).map_err(large)
}

/// Inserts pages by one statement, which costs a fifth of as many; or none of them and `false` if one breaks a rule of the table,
/// most likely because there is one in its place.
async fn insert_new(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    pages: &[BuiltPage; PAGES_AT_ONCE],
) -> Result<bool, StoreError> {
    static INSERT: LazyLock<String> = LazyLock::new(|| {
        let row = |at: usize| format!("(?1, ?2, ?{}, ?{}, ?{}, ?{})", at + 3, at + 4, at + 5, at + 6);
        let rows: Vec<String> = (0..PAGES_AT_ONCE).map(|page| row(4 * page)).collect();
        format!("INSERT INTO track_pages VALUES {}", rows.join(", "))
    });
    let mut insert = of(&INSERT, id).bind(stream);
    for page in pages {
        insert = insert.bind(page.track).bind(page.level).bind(number_of(page)?).bind(page.bytes.as_slice());
    }
    match insert.execute(conn).await {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(error)) if error.kind() != sqlx::error::ErrorKind::Other => Ok(false),
        Err(error) => Err(failed("storing tracks")(error)),
    }
}

/// Stores pages one by one; says how long those were in whose place they are now.
async fn insert_or_replace(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    pages: &[BuiltPage],
) -> Result<u64, StoreError> {
    let mut replaced = 0;
    for page in pages {
        let insert = of("INSERT INTO track_pages VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", id).bind(stream);
        let insert = insert.bind(page.track).bind(page.level).bind(number_of(page)?).bind(page.bytes.as_slice());
        let done = insert.execute(&mut *conn).await.map_err(failed("storing tracks"))?;
        if done.rows_affected() == 0 {
            replaced += replace(conn, id, stream, page).await?;
        }
    }
    Ok(replaced)
}

/// Puts a page in the place of one that is there; says how long that was.
async fn replace(conn: &mut SqliteConnection, id: CaptureId, stream: u16, page: &BuiltPage) -> Result<u64, StoreError> {
    const DOING: &str = "storing tracks";
    let at = |statement| {
        let place = of(statement, id).bind(stream).bind(page.track).bind(page.level);
        Ok::<_, StoreError>(place.bind(number_of(page)?))
    };
    let select = "SELECT octet_length(data) FROM track_pages WHERE capture_id = ?1 AND stream = ?2 AND track = ?3 AND \
                  level = ?4 AND number = ?5";
    let before: Vec<(i64,)> = all(conn, at(select)?, DOING).await?;
    let update = "UPDATE track_pages SET data = ?6 WHERE capture_id = ?1 AND stream = ?2 AND track = ?3 AND level = ?4 AND \
                  number = ?5";
    at(update)?.bind(page.bytes.as_slice()).execute(conn).await.map_err(failed(DOING))?;
    Ok(before.first().map_or(0, |row| row.0.unsigned_abs()))
}

/// The directories of all streams of a capture that have tracks and are shown.
pub(crate) async fn directories(conn: &mut SqliteConnection, id: CaptureId) -> Result<Vec<(u16, Vec<u8>)>, StoreError> {
    let select = "SELECT stream, data FROM track_directories t WHERE capture_id = ?1 AND NOT EXISTS (SELECT 1 FROM \
                  derivations d WHERE d.capture_id = ?1 AND d.state NOT IN ('following', 'complete') AND \
                  t.stream >= d.first_stream AND t.stream < d.first_stream + d.stream_count) ORDER BY stream";
    let rows: Vec<(i64, Vec<u8>)> = all(conn, of(select, id), "reading the directories of tracks").await?;
    rows.into_iter().map(|(stream, data)| Ok((narrow(stream, "the stream of tracks")?, data))).collect()
}

/// The bytes of pages of a stream's tracks, by their places; what is not there is left out.
pub(crate) async fn pages(
    conn: &mut SqliteConnection,
    id: CaptureId,
    stream: u16,
    places: &[TrackPlace],
) -> Result<Vec<(TrackPlace, Vec<u8>)>, StoreError> {
    const DOING: &str = "reading pages of tracks";
    const WHAT: &str = "the place of a page";
    let wanted = serde_json::to_string(places)
        .map_err(|_unwritable| StoreError::Refused { what: "a list of pages", why: "it is no JSON".to_owned() })?;
    // In this order: each of the list is looked up by the key.
    let select = "SELECT p.track, p.level, p.number, p.data FROM json_each(?3) j CROSS JOIN track_pages p WHERE \
                  p.capture_id = ?1 AND p.stream = ?2 AND p.track = j.value ->> 0 AND p.level = j.value ->> 1 AND \
                  p.number = j.value ->> 2";
    let rows: Vec<(i64, i64, i64, Vec<u8>)> = all(conn, of(select, id).bind(stream).bind(wanted), DOING).await?;
    let page = |(track, level, number, data): (i64, i64, i64, Vec<u8>)| {
        Ok(((narrow(track, WHAT)?, narrow(level, WHAT)?, narrow(number, WHAT)?), data))
    };
    rows.into_iter().map(page).collect()
}

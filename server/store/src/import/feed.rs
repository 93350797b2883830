//! Where the parts of a capture that is imported come from: from a file that is read here, or from a child without rights
//! that reads it ([`super::messages`]).

use bathyscope_capture::{Append, ScriptRecord};
use sqlx::SqliteConnection;

use super::{SCRIPTS_SINCE, SOURCES_SINCE, check_file, check_record, messages::Messages, of_file, read_record};
use crate::{
    CaptureRecord, StoreError,
    firings::{self, FIRINGS_SINCE},
    notes::{self, NoteRecord},
    pages::{self, Cursor},
    read, sources, sums,
};

/// What is known of a capture before its rows.
#[derive(Debug)]
pub(crate) struct Header {
    /// The capture without its rows.
    pub(crate) record: CaptureRecord,
    /// What was compiled for it.
    pub(crate) script: Option<ScriptRecord>,
    /// What people noted on it.
    pub(crate) notes: Vec<NoteRecord>,
    /// The digest of all of it but the notes.
    pub(crate) digest: [u8; 32],
}

/// The parts of a capture, in order: a header, pages, an end.
pub(crate) enum Feed {
    /// From a file.
    File(Box<FileFeed>),
    /// From a child.
    Messages(Messages),
}

/// A file, how far it was read, and what was found in it.
pub(crate) struct FileFeed {
    conn: SqliteConnection,
    found: Option<(CaptureRecord, i64, Cursor)>,
}

impl FileFeed {
    pub(crate) const fn new(conn: SqliteConnection) -> Self {
        Self { conn, found: None }
    }
}

impl Feed {
    /// Checks what comes before the rows, and gives it.
    pub(crate) async fn header(&mut self) -> Result<Header, StoreError> {
        match self {
            Self::File(file) => file.header().await,
            Self::Messages(messages) => {
                let header = messages.header().await?;
                check_record(&header.record)?;
                notes::check(&header.notes).map_err(of_file)?;
                Ok(header)
            }
        }
    }

    /// The next page, with at least one entry; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Append>, StoreError> {
        match self {
            Self::File(file) => file.next().await,
            Self::Messages(messages) => messages.next().await,
        }
    }

    /// What is checked after all, since it says least: a checksum only tells that something is wrong.
    pub(crate) async fn finish(&mut self) -> Result<(), StoreError> {
        match self {
            Self::File(file) => file.finish().await,
            Self::Messages(messages) => messages.finish().await,
        }
    }

    /// Closes the file.
    pub(crate) async fn close(self) {
        if let Self::File(file) = self {
            let _closed = sqlx::Connection::close(file.conn).await;
        }
    }
}

impl FileFeed {
    async fn header(&mut self) -> Result<Header, StoreError> {
        let conn = &mut self.conn;
        let version = check_file(conn).await.map_err(of_file)?;
        let mut record = read_record(conn).await.map_err(of_file)?;
        if version >= SOURCES_SINCE {
            record.sources = sources::list(conn, record.id).await.map_err(of_file)?;
        }
        if version >= FIRINGS_SINCE {
            record.firing = firings::one(conn, record.id).await.map_err(of_file)?;
        }
        check_record(&record)?;
        let script =
            if version >= SCRIPTS_SINCE { read::script(conn, record.id).await.map_err(of_file)? } else { None };
        let notes = notes::of_file(conn, record.id, version).await.map_err(of_file)?;
        notes::check(&notes).map_err(of_file)?;
        let cursor = Cursor::of_version(version);
        let digest = pages::digest(conn, &record, script.as_ref(), cursor).await.map_err(of_file)?;
        self.found = Some((record.clone(), version, cursor));
        Ok(Header { record, script, notes, digest })
    }

    async fn next(&mut self) -> Result<Option<Append>, StoreError> {
        let Some((record, _version, cursor)) = &mut self.found else { return Ok(None) };
        pages::next(&mut self.conn, record, cursor).await.map_err(of_file)
    }

    async fn finish(&mut self) -> Result<(), StoreError> {
        match &self.found {
            Some((record, version, _cursor)) if *version >= sums::SINCE => {
                sums::check_all(&mut self.conn, record.id).await.map_err(of_file)
            }
            _ => Ok(()),
        }
    }
}

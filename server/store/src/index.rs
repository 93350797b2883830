//! The time index of captures: leaves are written with their chunks, nodes above them as they become complete.
//!
//! It can be made again from the chunks, so nothing depends on it: what is missing of it makes views slower, and a capture
//! ends although its last nodes could not be written.

use std::collections::HashMap;

use bathyscope_capture::{
    CaptureId, EncodedChunk, Grouping, IndexBlock, IndexDirectory, IndexForest, IndexNode, MAX_INDEX_BYTES,
};
use sqlx::SqliteConnection;

use crate::{
    StoreError,
    error::failed,
    retention::{self, AddedBytes},
    rows::{narrow, sql},
    select::{all, of},
};

/// A chunk with fewer rows has no leaves of its own: counting its rows takes no longer than reading them.
const LEAST_ROWS: u32 = 4096;

/// Which grouping, as the database has it.
const fn grouping_number(grouping: Grouping) -> i64 {
    match grouping {
        Grouping::Cpu => 0,
        Grouping::Thread => 1,
        Grouping::Level => 2,
        Grouping::Counter => 3,
    }
}

/// The nodes of a stream and a grouping that end with a capture.
pub(crate) type LastNodes = (u16, i64, Vec<IndexNode>);

/// The forests of a capture that still grows.
#[derive(Debug, Default)]
pub(crate) struct Forests {
    trees: HashMap<(u16, i64), IndexForest>,
    /// Leaves were added in a change that has not ended.
    unsettled: bool,
    /// Such a change was taken back: parents would count what is not there, so there are no more of them.
    broken: bool,
}

impl Forests {
    /// Adds the leaves of chunks with these numbers, and the nodes that they complete, in the transaction that is open; says
    /// how many bytes.
    pub(crate) async fn insert_leaves(
        &mut self,
        conn: &mut SqliteConnection,
        id: CaptureId,
        chunks: &[(u16, EncodedChunk)],
        numbers: &[u32],
    ) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for ((stream, chunk), number) in chunks.iter().zip(numbers) {
            for (grouping, leaf) in &chunk.leaves {
                let grouping = grouping_number(*grouping);
                if chunk.rows >= LEAST_ROWS {
                    bytes += insert(conn, id, (*stream, grouping, 0, *number), leaf).await?;
                }
                if self.broken {
                    continue;
                }
                self.unsettled = true;
                for node in self.trees.entry((*stream, grouping)).or_default().push(*number, leaf) {
                    bytes += insert(conn, id, (*stream, grouping, node.level, node.number), &node.block).await?;
                }
            }
        }
        Ok(bytes)
    }

    /// The nodes that end with the capture; none if parents would count what is not there.
    pub(crate) fn close(self) -> Option<Vec<LastNodes>> {
        let close = |((stream, grouping), forest): (_, IndexForest)| (stream, grouping, forest.close());
        (!self.broken).then(|| self.trees.into_iter().map(close).collect())
    }

    /// The change has ended, and whether it stays.
    pub(crate) fn settle(&mut self, stays: bool) {
        self.broken |= self.unsettled && !stays;
        self.unsettled = false;
    }
}

/// Adds a block, unless it is too large; says how many bytes.
async fn insert(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (stream, grouping, level, number): (u16, i64, u8, u32),
    block: &IndexBlock,
) -> Result<u64, StoreError> {
    const DOING: &str = "storing the time index";
    let bytes = block.encode();
    if bytes.len() > MAX_INDEX_BYTES {
        return Ok(0);
    }
    let length = bytes.len() as u64;
    let insert = sqlx::query("INSERT INTO index_blocks VALUES (?, ?, ?, ?, ?, ?)").bind(sql(id.bits())).bind(stream);
    let insert = insert.bind(grouping).bind(level).bind(number).bind(block.shift);
    insert.execute(&mut *conn).await.map_err(failed(DOING))?;
    let insert = sqlx::query("INSERT INTO index_data VALUES (?, ?, ?, ?, ?, ?)").bind(sql(id.bits())).bind(stream);
    let insert = insert.bind(grouping).bind(level).bind(number).bind(bytes);
    insert.execute(conn).await.map_err(failed(DOING))?;
    Ok(length)
}

/// Adds the nodes that end with a capture, in the transaction that is open.
pub(crate) async fn insert_nodes(
    conn: &mut SqliteConnection,
    id: CaptureId,
    nodes: &[LastNodes],
) -> Result<(), StoreError> {
    let mut bytes = 0;
    for (stream, grouping, nodes) in nodes {
        for node in nodes {
            bytes += insert(conn, id, (*stream, *grouping, node.level, node.number), &node.block).await?;
        }
    }
    retention::add(conn, id, AddedBytes { index_bytes: bytes, dictionary_bytes: 0 }).await
}

/// Which blocks there are, by stream and grouping.
pub(crate) async fn directories(
    conn: &mut SqliteConnection,
    id: CaptureId,
) -> Result<HashMap<(u16, Grouping), IndexDirectory>, StoreError> {
    const WHAT: &str = "an entry of the time index";
    let select = "SELECT stream, grouping, level, number, shift FROM index_blocks b WHERE capture_id = ?1 AND \
                  NOT EXISTS (SELECT 1 FROM derivations d WHERE d.capture_id = ?1 AND d.state NOT IN ('following', 'complete') AND \
                  b.stream >= d.first_stream AND b.stream < d.first_stream + d.stream_count)";
    let rows: Vec<(i64, i64, i64, i64, i64)> = all(conn, of(select, id), "reading the time index").await?;
    let mut directories: HashMap<_, IndexDirectory> = HashMap::new();
    for (stream, grouping, level, number, shift) in rows {
        let known = Grouping::ALL.into_iter().find(|known| grouping_number(*known) == grouping);
        // The schema lets no other number in.
        let Some(grouping) = known else { continue };
        let directory = directories.entry((narrow(stream, WHAT)?, grouping)).or_default();
        directory.insert(narrow(level, WHAT)?, narrow(number, WHAT)?, narrow(shift, WHAT)?);
    }
    Ok(directories)
}

/// The bytes of a block.
pub(crate) async fn block(
    conn: &mut SqliteConnection,
    id: CaptureId,
    (stream, grouping, level, number): (u16, Grouping, u8, u32),
) -> Result<Option<Vec<u8>>, StoreError> {
    let select = "SELECT data FROM index_data WHERE capture_id = ? AND stream = ? AND grouping = ? AND level = ? AND \
                  number = ?";
    let query = of(select, id).bind(stream).bind(grouping_number(grouping)).bind(level).bind(number);
    let rows: Vec<(Vec<u8>,)> = all(conn, query, "reading the time index").await?;
    Ok(rows.into_iter().next().map(|(data,)| data))
}

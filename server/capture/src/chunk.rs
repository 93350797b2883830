//! Columns of up to 64 Ki rows as one block of bytes: delta coded, compressed, with a CRC.

use crate::{Batch, StreamSchema};

/// The most rows in a chunk.
pub const MAX_CHUNK_ROWS: usize = 1 << 16;

/// The extremes of a column of numbers in a chunk, to skip chunks that cannot match; ids have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnStats {
    /// Least and greatest unsigned value.
    U64(u64, u64),
    /// Least and greatest signed value.
    I64(i64, i64),
    /// None kept.
    None,
}

/// A chunk as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedChunk {
    /// Rows in it, at least 1.
    pub rows: u32,
    /// Time of the first row, monotonic nanoseconds.
    pub first_ns: u64,
    /// Time of the last row, monotonic nanoseconds.
    pub last_ns: u64,
    /// One for each column.
    pub stats: Vec<ColumnStats>,
    /// The encoded columns.
    pub bytes: Vec<u8>,
}

/// A chunk that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// It is damaged.
    #[error("a chunk is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where.
        offset: usize,
        /// What does not fit.
        what: &'static str,
    },
    /// The rows cannot be encoded.
    #[error("these rows cannot be a chunk: {what}")]
    Unfit {
        /// What is wrong with them.
        what: &'static str,
    },
}

/// Encodes the rows of `batch`, sorted by time, at least 1 and at most [`MAX_CHUNK_ROWS`].
///
/// # Errors
/// [`ChunkError::Unfit`] if the batch has other columns than the schema, no rows, too many, or rows out of order.
pub fn encode_chunk(schema: &StreamSchema, batch: &Batch) -> Result<EncodedChunk, ChunkError> {
    let _ = (schema, batch);
    unimplemented!()
}

/// Decodes the columns whose index is in `wanted`; the others come back empty.
///
/// # Errors
/// If the bytes are not a chunk of this schema. Never panics, and allocates at most what `MAX_CHUNK_ROWS` needs.
pub fn decode_chunk(schema: &StreamSchema, bytes: &[u8], wanted: &[usize]) -> Result<Batch, ChunkError> {
    let _ = (schema, bytes, wanted);
    unimplemented!()
}

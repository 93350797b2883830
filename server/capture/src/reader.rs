//! Reading chunks and blocks of the time index from bytes that may be damaged.

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

pub(crate) const fn damaged(offset: usize, what: &'static str) -> ChunkError {
    ChunkError::Damaged { offset, what }
}

/// Reads on from an offset, never past the end.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8], ChunkError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let slice = rest.get(..length).ok_or(damaged(self.offset, "it ends too early"))?;
        self.offset += length;
        Ok(slice)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ChunkError> {
        let at = self.offset;
        self.slice(N)?.try_into().map_err(|_length| damaged(at, "it ends too early"))
    }
}

//! A capture in memory, for tests and for rows that are not stored.

use std::sync::Arc;

use bathyscope_capture::{Batch, Loss, StreamSchema};

use crate::{ChunkMeta, Dictionaries, Source, ViewError};

/// A capture in memory.
#[derive(Clone, Debug, Default)]
pub struct MemorySource {
    /// See [`Source::origin_ns`].
    pub origin_ns: u64,
    /// See [`Source::losses`].
    pub losses: Vec<Loss>,
    /// See [`Source::dictionaries`].
    pub dictionaries: Dictionaries,
    schemas: Vec<StreamSchema>,
    chunks: Vec<Vec<ChunkMeta>>,
    batches: Vec<Vec<Arc<Batch>>>,
}

impl MemorySource {
    /// An empty capture that began at `origin_ns`.
    pub fn new(origin_ns: u64) -> Self {
        Self { origin_ns, ..Self::default() }
    }

    /// Adds a stream with the rows of `batches`, one chunk each; empty ones are left out.
    pub fn push_stream(&mut self, schema: StreamSchema, batches: Vec<Batch>) {
        let _ = (schema, batches);
    }
}

impl Source for MemorySource {
    fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    fn streams(&self) -> &[StreamSchema] {
        &self.schemas
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.chunks.get(usize::from(stream)).map_or(&[], Vec::as_slice)
    }

    fn batch(&self, stream: u16, chunk: usize, _wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let found = self.batches.get(usize::from(stream)).and_then(|batches| batches.get(chunk));
        found.cloned().ok_or(ViewError::Shape { stream, chunk, what: "there is no such chunk" })
    }

    fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    fn losses(&self) -> &[Loss] {
        &self.losses
    }
}

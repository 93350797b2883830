//! Parts that captures were narrowed to: finding out what is left of a capture reads its rows, which is not done for each request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bathyscope_views::{ChunkMeta, Narrowed, ViewError};

/// Parts that are kept.
const MAX_PARTS: usize = 32;

/// The chunks of a capture as they were read once. What is read anew is another one.
type Chunks = Arc<Vec<Vec<ChunkMeta>>>;
/// A part, with the chunks that it is a part of.
type Made = Arc<Mutex<Option<(Chunks, Arc<Narrowed>)>>>;

/// Parts of captures by the name that whoever asks gave them.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptParts {
    parts: Arc<Mutex<Parts>>,
}

#[derive(Debug, Default)]
struct Parts {
    made: HashMap<u64, (Made, u64)>,
    asked: u64,
}

impl KeptParts {
    /// The part of this name, which `make` finds out if it is not known of just these chunks: streams that were computed anew since
    /// are in others. Who asks for one that is being made waits for it.
    ///
    /// # Errors
    /// Those of `make`; then nothing is kept.
    pub(crate) fn of(
        &self,
        name: u64,
        chunks: &Chunks,
        make: impl FnOnce() -> Result<Narrowed, ViewError>,
    ) -> Result<Arc<Narrowed>, ViewError> {
        let made = self.place(name);
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, part)) = &*made
            && Arc::ptr_eq(of, chunks)
        {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(make()?);
        *made = Some((Arc::clone(chunks), Arc::clone(&part)));
        Ok(part)
    }

    fn place(&self, name: u64) -> Made {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.asked += 1;
        let asked = parts.asked;
        if parts.made.len() >= MAX_PARTS && !parts.made.contains_key(&name) {
            let oldest = parts.made.iter().min_by_key(|(_name, (_made, asked))| *asked).map(|(name, _)| *name);
            oldest.map(|name| parts.made.remove(&name));
        }
        let (made, used) = parts.made.entry(name).or_default();
        *used = asked;
        Arc::clone(made)
    }
}

//! Decoded chunks, blocks of the time index and pages of tracks, kept for the next view within [`MAX_DECODED_BYTES`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bathyscope_capture::{Batch, CaptureId, ColumnData, Grouping, IndexBlock, TrackPage};
use bathyscope_store::TrackPlace;

/// Bytes that are kept, as they are in memory.
const MAX_DECODED_BYTES: usize = 128 << 20;

/// What is kept of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DecodedKey {
    pub(crate) capture: CaptureId,
    pub(crate) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Chunk(u16, usize),
    Block(BlockPlace),
    Page(u16, TrackPlace),
}

pub(crate) type BlockPlace = (u16, Grouping, u8, u32);

/// Decoded chunks, blocks and pages, the least recently used forgotten first.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    inner: Mutex<DecodedInner>,
}

#[derive(Debug, Default)]
struct DecodedInner {
    parts: HashMap<DecodedKey, DecodedPart>,
    /// When each was used last.
    by_use: BTreeMap<u64, DecodedKey>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct DecodedPart {
    content: Content,
    bytes: usize,
    used: u64,
}

#[derive(Debug)]
enum Content {
    /// A chunk with these columns.
    Chunk(Arc<Batch>, Vec<usize>),
    Block(Arc<IndexBlock>),
    Page(Arc<TrackPage>),
}

impl DecodedInner {
    fn find(&mut self, key: DecodedKey) -> Option<&Content> {
        self.clock += 1;
        let part = self.parts.get_mut(&key)?;
        self.by_use.remove(&part.used);
        part.used = self.clock;
        self.by_use.insert(part.used, key);
        Some(&part.content)
    }

    fn keep(&mut self, key: DecodedKey, content: Content, bytes: usize) {
        self.clock += 1;
        let used = self.clock;
        if let Some(old) = self.parts.insert(key, DecodedPart { content, bytes, used }) {
            self.by_use.remove(&old.used);
            self.bytes -= old.bytes;
        }
        self.by_use.insert(used, key);
        self.bytes += bytes;
        while self.bytes > MAX_DECODED_BYTES {
            let oldest = self.by_use.pop_first().and_then(|(_used, key)| self.parts.remove(&key));
            let Some(oldest) = oldest else { break };
            self.bytes -= oldest.bytes;
        }
    }
}

impl Decoded {
    fn lock(&self) -> MutexGuard<'_, DecodedInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chunk if all wanted columns of it are there, else the columns to decode: the wanted ones and those that
    /// were there.
    pub(crate) fn find(&self, key: DecodedKey, wanted: &[usize]) -> Result<Arc<Batch>, Vec<usize>> {
        let mut inner = self.lock();
        let Some(Content::Chunk(batch, columns)) = inner.find(key) else { return Err(wanted.to_vec()) };
        if wanted.iter().all(|column| columns.contains(column)) {
            return Ok(Arc::clone(batch));
        }
        let mut all: Vec<usize> = columns.iter().chain(wanted).copied().collect();
        all.sort_unstable();
        all.dedup();
        Err(all)
    }

    pub(crate) fn keep(&self, key: DecodedKey, columns: Vec<usize>, batch: &Arc<Batch>) {
        let bytes: usize = batch.columns.iter().map(column_bytes).sum();
        self.lock().keep(key, Content::Chunk(Arc::clone(batch), columns), bytes);
    }

    pub(crate) fn block(&self, capture: CaptureId, place: BlockPlace) -> Option<Arc<IndexBlock>> {
        match self.lock().find(DecodedKey { capture, part: Part::Block(place) }) {
            Some(Content::Block(block)) => Some(Arc::clone(block)),
            _ => None,
        }
    }

    pub(crate) fn keep_block(&self, capture: CaptureId, place: BlockPlace, block: &Arc<IndexBlock>) {
        let key = DecodedKey { capture, part: Part::Block(place) };
        self.lock().keep(key, Content::Block(Arc::clone(block)), block.memory_bytes());
    }

    /// A page of a track.
    pub(crate) fn page(&self, capture: CaptureId, stream: u16, place: TrackPlace) -> Option<Arc<TrackPage>> {
        match self.lock().find(DecodedKey { capture, part: Part::Page(stream, place) }) {
            Some(Content::Page(page)) => Some(Arc::clone(page)),
            _ => None,
        }
    }

    pub(crate) fn keep_page(&self, capture: CaptureId, stream: u16, place: TrackPlace, page: &Arc<TrackPage>) {
        let key = DecodedKey { capture, part: Part::Page(stream, place) };
        self.lock().keep(key, Content::Page(Arc::clone(page)), page.memory_bytes());
    }

    pub(crate) fn forget(&self, capture: CaptureId) {
        let mut inner = self.lock();
        inner.parts.retain(|key, _part| key.capture != capture);
        inner.by_use.retain(|_used, key| key.capture != capture);
        inner.bytes = inner.parts.values().map(|part| part.bytes).sum();
    }
}

fn column_bytes(column: &ColumnData) -> usize {
    match column {
        ColumnData::U64(values) => values.len() * 8,
        ColumnData::I64(values) => values.len() * 8,
        ColumnData::Id(values) => values.len() * 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(chunk: usize) -> DecodedKey {
        DecodedKey { capture: CaptureId::from_bits(1), part: Part::Chunk(0, chunk) }
    }

    fn batch(rows: usize) -> Arc<Batch> {
        Arc::new(Batch { columns: vec![ColumnData::U64(vec![0; rows])] })
    }

    #[test]
    fn columns_that_are_missing_are_decoded_with_those_that_were_there() {
        let decoded = Decoded::default();
        assert_eq!(decoded.find(key(0), &[0, 2]), Err(vec![0, 2]));
        decoded.keep(key(0), vec![0, 2], &batch(1));
        assert!(decoded.find(key(0), &[2]).is_ok());
        assert_eq!(decoded.find(key(0), &[1]), Err(vec![0, 1, 2]));
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let decoded = Decoded::default();
        let third = MAX_DECODED_BYTES / 8 / 3;
        (0..3).for_each(|chunk| decoded.keep(key(chunk), vec![0], &batch(third)));
        assert!(decoded.find(key(0), &[0]).is_ok());
        decoded.keep(key(3), vec![0], &batch(third));
        let there = (0..4).map(|chunk| decoded.find(key(chunk), &[0]).is_ok());
        assert_eq!(there.collect::<Vec<_>>(), [true, false, true, true]);
        decoded.forget(CaptureId::from_bits(1));
        assert_eq!(decoded.inner.lock().unwrap().bytes, 0);
    }
}

//! Decoded chunks, blocks of the time index and pages of tracks, kept for the next view within [`MAX_DECODED_BYTES`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bathyscope_capture::{Batch, CaptureId, ColumnData, DrawnPage, Grouping, IndexBlock, TrackPage};

/// Bytes that are kept, as they are in memory.
const MAX_DECODED_BYTES: usize = 128 << 20;

/// About what it takes to keep something, beside the thing itself.
const KEPT_BYTES: usize = 128;

/// A page, or that there is none.
type KnownDrawn = Option<Arc<DrawnPage>>;

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
    Page(u16, PagePlace),
    /// What is drawn of a track: its stream and number, and the number of the page.
    Drawn(u16, u32, u64),
}

/// Track, level and number.
pub(crate) type PagePlace = (u32, u8, u32);
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
    /// None where there is no such page.
    Drawn(Option<Arc<DrawnPage>>),
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
    pub(crate) fn page(&self, capture: CaptureId, stream: u16, place: PagePlace) -> Option<Arc<TrackPage>> {
        match self.lock().find(DecodedKey { capture, part: Part::Page(stream, place) }) {
            Some(Content::Page(page)) => Some(Arc::clone(page)),
            _ => None,
        }
    }

    pub(crate) fn keep_page(&self, capture: CaptureId, stream: u16, place: PagePlace, page: &Arc<TrackPage>) {
        let key = DecodedKey { capture, part: Part::Page(stream, place) };
        self.lock().keep(key, Content::Page(Arc::clone(page)), page.memory_bytes());
    }

    /// What is drawn of a track, or that there is no such page; none where nothing is known of it.
    pub(crate) fn drawn(&self, capture: CaptureId, stream: u16, track: u32, number: u64) -> Option<KnownDrawn> {
        match self.lock().find(DecodedKey { capture, part: Part::Drawn(stream, track, number) }) {
            Some(Content::Drawn(page)) => Some(page.clone()),
            _ => None,
        }
    }

    pub(crate) fn keep_drawn(
        &self,
        capture: CaptureId,
        (stream, track, number): (u16, u32, u64),
        page: Option<&Arc<DrawnPage>>,
    ) {
        let key = DecodedKey { capture, part: Part::Drawn(stream, track, number) };
        let bytes = page.map_or(0, |page| page.memory_bytes()) + KEPT_BYTES;
        self.lock().keep(key, Content::Drawn(page.cloned()), bytes);
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

//! Stored captures as views read them: chunk lists and dictionaries in memory, chunks decoded when asked for, and the
//! decoded ones kept within [`MAX_DECODED_BYTES`].
//!
//! What a view gets is a snapshot ([`CaptureView`]): a running capture as it was at the last stored chunk. The next
//! snapshot of it reads only what is new.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bathyscope_capture::{Batch, CaptureId, ColumnData, Loss, StreamSchema, decode_chunk};
use bathyscope_store::{CaptureRecord, CaptureState, ChunkInfo, Store, StoreError};
use bathyscope_views::{ChunkMeta, Dictionaries, Source, ViewError};
use tokio::runtime::Handle;

/// Decoded columns that are kept for the next view.
const MAX_DECODED_BYTES: usize = 128 << 20;
/// Captures whose chunk lists and dictionaries are kept.
const MAX_CAPTURES: usize = 6;

/// All captures that were looked at lately. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CaptureCache {
    store: Store,
    decoded: Arc<Decoded>,
    captures: Arc<Mutex<HashMap<CaptureId, Known>>>,
    clock: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Known {
    loaded: Arc<tokio::sync::Mutex<Option<Loaded>>>,
    used: u64,
}

/// What was read of a capture.
#[derive(Clone, Debug)]
struct Loaded {
    /// Nothing of it changes any more but its title.
    settled: bool,
    chunks: Arc<Vec<Vec<ChunkMeta>>>,
    dictionaries: Arc<Dictionaries>,
    last_mapping: u32,
    last_frame: u32,
    last_symbol: u32,
    processes: usize,
}

impl Loaded {
    fn empty(streams: usize) -> Self {
        Self {
            settled: false,
            chunks: Arc::new(vec![Vec::new(); streams]),
            dictionaries: Arc::default(),
            last_mapping: 0,
            last_frame: 0,
            last_symbol: 0,
            processes: 0,
        }
    }
}

/// A snapshot of one capture. Views of it must run where they may wait: it loads chunks through the runtime.
#[derive(Clone, Debug)]
pub struct CaptureView {
    record: Arc<CaptureRecord>,
    schemas: Vec<StreamSchema>,
    chunks: Arc<Vec<Vec<ChunkMeta>>>,
    dictionaries: Arc<Dictionaries>,
    decoded: Arc<Decoded>,
    store: Store,
    runtime: Handle,
}

impl CaptureCache {
    /// A cache over `store`, empty.
    pub fn new(store: Store) -> Self {
        Self { store, decoded: Arc::default(), captures: Arc::default(), clock: Arc::default() }
    }

    /// A snapshot of a capture. `is_busy` says that its recorder still works on it, be it only on its symbols.
    ///
    /// # Errors
    /// [`StoreError::NoCapture`], or the database's.
    pub async fn view(&self, id: CaptureId, is_busy: bool) -> Result<CaptureView, StoreError> {
        let record = match self.store.capture(id).await {
            Ok(record) => record,
            Err(error) => {
                self.forget(id);
                return Err(error);
            }
        };
        let known = self.known(id);
        let mut slot = known.lock().await;
        // Names may have become better when the recorder ended: what was read before is read again, once.
        let done = !is_busy && record.state != CaptureState::Recording;
        let mut loaded = match slot.take() {
            Some(loaded) if loaded.settled || !done => loaded,
            _ => Loaded::empty(record.streams.len()),
        };
        if !loaded.settled {
            self.read_new(&record, &mut loaded).await?;
            loaded.settled = done;
        }
        *slot = Some(loaded.clone());
        drop(slot);
        Ok(CaptureView {
            schemas: record.streams.iter().map(|stream| stream.schema.clone()).collect(),
            record: Arc::new(record),
            chunks: loaded.chunks,
            dictionaries: loaded.dictionaries,
            decoded: Arc::clone(&self.decoded),
            store: self.store.clone(),
            runtime: Handle::current(),
        })
    }

    /// Forgets what is known of a capture, when it was deleted.
    pub fn forget(&self, id: CaptureId) {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.decoded.forget(id);
    }

    fn known(&self, id: CaptureId) -> Arc<tokio::sync::Mutex<Option<Loaded>>> {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut captures = self.captures.lock().unwrap_or_else(PoisonError::into_inner);
        if captures.len() >= MAX_CAPTURES && !captures.contains_key(&id) {
            let oldest = captures.iter().min_by_key(|(_id, known)| known.used).map(|(id, _known)| *id);
            oldest.map(|id| captures.remove(&id));
        }
        let known = captures.entry(id).or_insert_with(|| Known { loaded: Arc::default(), used });
        known.used = used;
        Arc::clone(&known.loaded)
    }

    /// Reads what is new. Chunks first: what they refer to was stored with them or before.
    async fn read_new(&self, record: &CaptureRecord, loaded: &mut Loaded) -> Result<(), StoreError> {
        let (store, id) = (&self.store, record.id);
        let chunks = Arc::make_mut(&mut loaded.chunks);
        for (stream, known) in chunks.iter_mut().enumerate() {
            let Ok(stream) = u16::try_from(stream) else { break };
            let from = u32::try_from(known.len()).unwrap_or(u32::MAX);
            known.extend(store.chunk_index(id, stream, from).await?.into_iter().map(meta));
        }
        let dictionaries = Arc::make_mut(&mut loaded.dictionaries);
        for (id, bytes) in store.strings(id, dictionaries.last_string()).await? {
            dictionaries.insert_string(id, bytes);
        }
        for (id, mapping) in store.mappings(id, loaded.last_mapping).await? {
            loaded.last_mapping = id;
            dictionaries.insert_mapping(id, mapping);
        }
        for (id, frame) in store.frames(id, loaded.last_frame).await? {
            loaded.last_frame = id;
            dictionaries.insert_frame(id, frame);
        }
        for (id, stack) in store.stacks(id, dictionaries.last_stack()).await? {
            dictionaries.insert_stack(id, stack);
        }
        for (id, symbol) in store.symbols(id, loaded.last_symbol).await? {
            loaded.last_symbol = id;
            dictionaries.insert_symbol(id, symbol);
        }
        let processes = store.processes(id).await?;
        processes.iter().skip(loaded.processes).for_each(|change| dictionaries.insert_process(change));
        loaded.processes = processes.len();
        Ok(())
    }
}

fn meta(info: ChunkInfo) -> ChunkMeta {
    ChunkMeta { rows: info.rows, first_ns: info.first_ns, last_ns: info.last_ns, stats: info.stats }
}

impl CaptureView {
    /// The capture, as it was when the snapshot was taken.
    pub fn record(&self) -> &CaptureRecord {
        &self.record
    }

    fn load(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let schema = self.schemas.get(usize::from(stream));
        let schema = schema.ok_or(ViewError::NoSuchStream { stream, count: self.schemas.len() })?;
        let seq = u32::try_from(chunk).unwrap_or(u32::MAX);
        let bytes = self.runtime.block_on(self.store.chunk(self.record.id, stream, seq));
        let bytes = bytes.map_err(|error| ViewError::Load { stream, chunk, source: Box::new(error) })?;
        let batch = decode_chunk(schema, &bytes, wanted);
        batch.map(Arc::new).map_err(|source| ViewError::Chunk { stream, chunk, source })
    }
}

impl Source for CaptureView {
    fn origin_ns(&self) -> u64 {
        self.record.start_ns
    }

    fn streams(&self) -> &[StreamSchema] {
        &self.schemas
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.chunks.get(usize::from(stream)).map_or(&[], Vec::as_slice)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let key = Key { capture: self.record.id, stream, chunk };
        let wanted = match self.decoded.find(key, wanted) {
            Ok(batch) => return Ok(batch),
            Err(all) => all,
        };
        let batch = self.load(stream, chunk, &wanted)?;
        self.decoded.keep(key, wanted, &batch);
        Ok(batch)
    }

    fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    fn losses(&self) -> &[Loss] {
        &self.record.ledger.losses
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    capture: CaptureId,
    stream: u16,
    chunk: usize,
}

/// Decoded chunks, the least recently used forgotten first.
#[derive(Debug, Default)]
struct Decoded {
    inner: Mutex<DecodedInner>,
}

#[derive(Debug, Default)]
struct DecodedInner {
    chunks: HashMap<Key, DecodedChunk>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct DecodedChunk {
    batch: Arc<Batch>,
    columns: Vec<usize>,
    bytes: usize,
    used: u64,
}

impl Decoded {
    /// The chunk if all wanted columns of it are there, else the columns to decode: the wanted ones and those that
    /// were there.
    fn find(&self, key: Key, wanted: &[usize]) -> Result<Arc<Batch>, Vec<usize>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clock += 1;
        let clock = inner.clock;
        let Some(known) = inner.chunks.get_mut(&key) else { return Err(wanted.to_vec()) };
        known.used = clock;
        if wanted.iter().all(|column| known.columns.contains(column)) {
            return Ok(Arc::clone(&known.batch));
        }
        let mut all: Vec<usize> = known.columns.iter().chain(wanted).copied().collect();
        all.sort_unstable();
        all.dedup();
        Err(all)
    }

    fn keep(&self, key: Key, columns: Vec<usize>, batch: &Arc<Batch>) {
        let bytes: usize = batch.columns.iter().map(column_bytes).sum();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clock += 1;
        let used = inner.clock;
        let new = DecodedChunk { batch: Arc::clone(batch), columns, bytes, used };
        let old = inner.chunks.insert(key, new).map_or(0, |old| old.bytes);
        inner.bytes = inner.bytes + bytes - old;
        while inner.bytes > MAX_DECODED_BYTES {
            let oldest = inner.chunks.iter().min_by_key(|(_key, chunk)| chunk.used).map(|(key, _chunk)| *key);
            let Some(oldest) = oldest.and_then(|key| inner.chunks.remove(&key)) else { break };
            inner.bytes -= oldest.bytes;
        }
    }

    fn forget(&self, capture: CaptureId) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.chunks.retain(|key, _chunk| key.capture != capture);
        inner.bytes = inner.chunks.values().map(|chunk| chunk.bytes).sum();
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

    fn key(chunk: usize) -> Key {
        Key { capture: CaptureId::from_bits(1), stream: 0, chunk }
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

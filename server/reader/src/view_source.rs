//! Stored captures as views read them: chunk lists in memory, chunks decoded and pages of dictionaries read when asked
//! for, and kept for a while ([`crate::decoded`], [`crate::dictionaries`]).
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

use bathyscope_capture::{
    Batch, CaptureId, ColumnGrid, DRAWN_LEVEL, DrawnDecoder, Grouping, IndexBlock, IndexDirectory, Loss, ScriptSpec,
    StackId, StreamSchema, StreamTotals, TrackDirectory, TrackPageDecoder, decode_chunk, drawn_number,
};
use bathyscope_query::Capture;
use bathyscope_store::{
    BlockingStore, CaptureRecord, CaptureState, ChunkInfo, DictionaryEnds, Store, StoreError, TrackPlace,
};
use bathyscope_views::{
    CallForest, Cancel, ChunkMeta, Dictionaries, DrawnPageMap, KeptViews, LastIds, LoadPages, Narrowed, Scope, Source,
    TimeRange, TrackPageMap, ViewError,
};

use crate::{
    call_forests::CallForests,
    decoded::{Decoded, DecodedKey, PagePlace, Part},
    dictionaries::{DictionaryPages, Loader},
    kept_parts::KeptParts,
    removal::RemovedView,
};

mod removed;

/// Captures whose chunk lists are kept.
const MAX_CAPTURES: usize = 6;

/// All captures that were looked at lately. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CaptureCache {
    store: Store,
    decoded: Arc<Decoded>,
    pages: Arc<DictionaryPages>,
    forests: CallForests,
    kept_views: Arc<KeptViews>,
    parts: KeptParts,
    /// Tracks of captures of which something was removed.
    removals: KeptParts,
    captures: Arc<Mutex<HashMap<CaptureId, Known>>>,
    clock: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Known {
    loaded: Arc<tokio::sync::Mutex<Option<Loaded>>>,
    used: u64,
}

/// Which blocks of the time index a capture has.
type Directories = Arc<HashMap<(u16, Grouping), IndexDirectory>>;

/// The tracks of streams that have some.
type Tracks = Arc<Vec<(u16, TrackDirectory)>>;

/// What was read of a capture.
#[derive(Clone, Debug)]
struct Loaded {
    /// Nothing of it changes any more but its title.
    settled: bool,
    chunks: Arc<Vec<Vec<ChunkMeta>>>,
    index: Directories,
    tracks: Tracks,
    ends: DictionaryEnds,
}

impl Loaded {
    fn empty(streams: usize) -> Self {
        Self {
            settled: false,
            chunks: Arc::new(vec![Vec::new(); streams]),
            index: Arc::default(),
            tracks: Arc::default(),
            ends: DictionaryEnds::default(),
        }
    }
}

/// A snapshot of one capture. Views of it must run where they may wait: it reads chunks when it is asked for their rows.
#[derive(Clone, Debug)]
pub struct CaptureView {
    record: Arc<CaptureRecord>,
    /// What made it, if that was a script, whatever is told of it.
    script: Option<Arc<ScriptSpec>>,
    schemas: Vec<StreamSchema>,
    chunks: Arc<Vec<Vec<ChunkMeta>>>,
    index: Directories,
    tracks: Tracks,
    /// Whether pages of tracks are as they will be.
    settled: bool,
    dictionaries: Arc<Dictionaries>,
    loader: Arc<Loader>,
    decoded: Arc<Decoded>,
    forests: CallForests,
    kept_views: Arc<KeptViews>,
    parts: KeptParts,
    removals: KeptParts,
    /// The part that it is narrowed to, if it is.
    narrowed: Option<Arc<Narrowed>>,
    /// The time of that part.
    narrowed_to: Option<TimeRange>,
    /// What is left of that, if something was removed.
    removed: Option<Arc<RemovedView>>,
    store: Store,
    reads: BlockingStore,
}

impl CaptureCache {
    /// A cache over `store`, empty.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            decoded: Arc::default(),
            pages: Arc::default(),
            forests: CallForests::default(),
            kept_views: Arc::default(),
            parts: KeptParts::default(),
            removals: KeptParts::default(),
            captures: Arc::default(),
            clock: Arc::default(),
        }
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
        let done = !is_busy && record.state != CaptureState::Recording;
        let mut loaded = slot.take().unwrap_or_else(|| Loaded::empty(record.streams.len()));
        if loaded.chunks.len() < record.streams.len() {
            // Streams are computed of it meanwhile.
            Arc::make_mut(&mut loaded.chunks).resize(record.streams.len(), Vec::new());
        }
        if !loaded.settled {
            self.read_new(&record, &mut loaded).await?;
            loaded.settled = done;
        }
        *slot = Some(loaded.clone());
        drop(slot);
        let loader = Arc::new(self.loader(id, &loaded));
        let dictionaries = Arc::new(Dictionaries::paged(Arc::clone(&loader) as Arc<dyn LoadPages>, loader.last));
        Ok(CaptureView {
            script: record.spec.script().cloned().map(Arc::new),
            schemas: record.streams.iter().map(|stream| stream.schema.clone()).collect(),
            record: Arc::new(record),
            chunks: loaded.chunks,
            index: loaded.index,
            tracks: loaded.tracks,
            settled: loaded.settled,
            dictionaries,
            loader,
            decoded: Arc::clone(&self.decoded),
            forests: self.forests.clone(),
            kept_views: Arc::clone(&self.kept_views),
            parts: self.parts.clone(),
            removals: self.removals.clone(),
            narrowed: None,
            narrowed_to: None,
            removed: None,
            store: self.store.clone(),
            reads: self.store.blocking(),
        })
    }

    /// What loads the dictionaries of a snapshot. Names of functions may become better until the recorder has ended, so they are kept
    /// for other views only then.
    fn loader(&self, capture: CaptureId, loaded: &Loaded) -> Loader {
        let DictionaryEnds { strings, mappings, frames, stacks } = loaded.ends;
        let last = LastIds { string: strings, mapping: mappings, frame: frames, stack: stacks };
        let (pages, store, settled) = (Arc::clone(&self.pages), self.store.blocking(), loaded.settled);
        Loader { pages, store, capture, last, settled }
    }

    /// Forgets what is known of a capture, when it was deleted.
    pub fn forget(&self, id: CaptureId) {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.decoded.forget(id);
        self.pages.forget(id);
        self.forests.forget(id);
        self.kept_views.forget(id.bits());
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

    /// Reads what is new. Blocks of the index before chunks, which are stored with them or before; then chunks: what they
    /// refer to was stored with them or before.
    async fn read_new(&self, record: &CaptureRecord, loaded: &mut Loaded) -> Result<(), StoreError> {
        let (store, id) = (&self.store, record.id);
        loaded.index = Arc::new(store.index(id).await?);
        // Its pages are there before a directory tells of them.
        loaded.tracks = Arc::new(directories(id, store.track_directories(id).await?));
        let chunks = Arc::make_mut(&mut loaded.chunks);
        for (stream, known) in chunks.iter_mut().enumerate() {
            let Ok(stream) = u16::try_from(stream) else { break };
            let from = u32::try_from(known.len()).unwrap_or(u32::MAX);
            known.extend(store.chunk_index(id, stream, from).await?.into_iter().map(meta));
        }
        loaded.ends = store.dictionary_ends(id).await?;
        Ok(())
    }
}

/// What is told of a capture that is narrowed: its head, and of its rows only those that are left.
fn record_of(whole: &CaptureRecord, narrowed: &Narrowed) -> CaptureRecord {
    let mut record = whole.clone();
    record.ledger.losses = narrowed.losses().to_vec();
    let mut totals = Vec::new();
    for (number, stream) in (0_u16..).zip(&mut record.streams) {
        stream.rows = narrowed.rows(number);
        (stream.bytes, stream.chunks, stream.reading) = (0, 0, None);
        let emitted = stream.rows + record.ledger.lost(number);
        totals.push(StreamTotals { hits: emitted, filtered: 0, emitted, stored: stream.rows });
    }
    record.ledger.streams = totals;
    for derivation in &mut record.derivations {
        // What a rule could not tell it has counted over all of it.
        derivation.counts = String::new();
    }
    (record.output_bytes, record.chunk_bytes, record.size_bytes) = (0, 0, 0);
    // It has text of a row that may not be left.
    record.firing = None;
    record
}

/// Directories that can be read. The index follows from the rows: what is damaged is drawn from these.
fn directories(capture: CaptureId, stored: Vec<(u16, Vec<u8>)>) -> Vec<(u16, TrackDirectory)> {
    let decode = |(stream, bytes): (u16, Vec<u8>)| match TrackDirectory::decode(&bytes) {
        Ok(directory) => Some((stream, directory)),
        Err(error) => {
            tracing::warn!(%capture, stream, %error, "the tracks of a stream cannot be read");
            None
        }
    };
    stored.into_iter().filter_map(decode).collect()
}

fn meta(info: ChunkInfo) -> ChunkMeta {
    ChunkMeta { rows: info.rows, first_ns: info.first_ns, last_ns: info.last_ns, stats: info.stats }
}

impl CaptureView {
    /// The capture, as it was when the snapshot was taken.
    pub fn record(&self) -> &CaptureRecord {
        &self.record
    }

    /// What was made of this view, unless something that rows refer to could not be loaded for it: then that error.
    ///
    /// # Errors
    /// Those of `made`, and those of [`Dictionaries::check`].
    pub fn checked<T>(&self, made: Result<T, ViewError>) -> Result<T, ViewError> {
        self.dictionaries.check()?;
        made
    }

    /// A range relative to the capture's start, as far as it was recorded: what is told of a second needs the time in which nothing
    /// happened too.
    pub fn recorded(&self, (start, end): (Option<i64>, Option<i64>)) -> TimeRange {
        let rows = TimeRange::of(self);
        let absolute = |relative: i64| self.origin_ns().saturating_add_signed(relative);
        let (mut first, mut last) = (rows.start_ns.min(self.record.start_ns), rows.end_ns.max(self.record.end_ns));
        if let Some(part) = self.narrowed_to {
            (first, last) = (first.max(part.start_ns), last.min(part.end_ns).max(first.max(part.start_ns)));
        }
        let start_ns = start.map_or(first, absolute).clamp(first, last);
        TimeRange { start_ns, end_ns: end.map_or(last, absolute).clamp(start_ns, last) }
    }

    /// The calls of functions, put together; of `range` at least.
    ///
    /// # Errors
    /// [`ViewError::NoCalls`] if there are none, or if chunks cannot be loaded, or `cancel` was set.
    pub fn calls(&self, range: TimeRange, cancel: &Cancel) -> Result<Arc<CallForest>, ViewError> {
        self.forests.of(self.record.id, self, range, cancel)
    }

    /// What is left of it in a scope, as a snapshot for all views: none of them can tell that there is more. Finding it out reads
    /// the rows of the scope, so it must run where it may wait. It is kept by `name`, which names this scope and no other.
    ///
    /// # Errors
    /// [`ViewError::NarrowedWhileRunning`] if the capture still changes, and those of [`Narrowed::of`].
    pub fn narrowed(&self, name: u64, scope: &Scope, cancel: &Cancel) -> Result<Self, ViewError> {
        if !self.settled {
            return Err(ViewError::NarrowedWhileRunning);
        }
        let narrowed = if self.narrowed.is_some() {
            // Its chunks are those of the whole, by which a part is known.
            Arc::new(Narrowed::of(self, scope, cancel)?)
        } else {
            self.parts.of(name, &self.chunks, || Narrowed::of(self, scope, cancel))?
        };
        // Calls that are put together of its rows are not those of the capture, and neither is what else is kept of it.
        let (index, tracks, forests) = (Arc::default(), Arc::default(), CallForests::default());
        let record = Arc::new(record_of(&self.record, &narrowed));
        let narrowed_to = Some(scope.range);
        Ok(Self { record, index, tracks, forests, narrowed: Some(narrowed), narrowed_to, ..self.clone() })
    }

    /// Whether it has rows with this stack; of a whole capture any.
    ///
    /// # Errors
    /// If chunks cannot be loaded, or `cancel` was set.
    pub fn has_stack(&self, stack: StackId, cancel: &Cancel) -> Result<bool, ViewError> {
        self.narrowed.as_ref().map_or(Ok(true), |narrowed| narrowed.has_stack(self, stack, cancel))
    }

    /// The capture for queries.
    ///
    /// # Errors
    /// The database's.
    pub async fn to_query(self) -> Result<Capture, StoreError> {
        let processes = self.store.processes(self.record.id).await?;
        let totals = self.record.ledger.streams.clone();
        Ok(Capture { source: Arc::new(self), processes: Arc::new(processes), totals })
    }

    /// A chunk of what it is narrowed to, whatever is removed.
    fn told_batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        match &self.narrowed {
            Some(narrowed) => narrowed.batch(stream, chunk, |whole| self.whole_batch(stream, whole, wanted)),
            None => self.whole_batch(stream, chunk, wanted),
        }
    }

    /// A chunk as it is stored, whatever the view is narrowed to.
    fn whole_batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let key = DecodedKey { capture: self.record.id, part: Part::Chunk(stream, chunk) };
        let wanted = match self.decoded.find(key, wanted) {
            Ok(batch) => return Ok(batch),
            Err(all) => all,
        };
        let batch = self.load(stream, chunk, &wanted)?;
        self.decoded.keep(key, wanted, &batch);
        Ok(batch)
    }

    fn load(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let schema = self.schemas.get(usize::from(stream));
        let schema = schema.ok_or(ViewError::NoSuchStream { stream, count: self.schemas.len() })?;
        let seq = u32::try_from(chunk).unwrap_or(u32::MAX);
        let bytes = self.reads.read(|store| store.chunk(self.record.id, stream, seq));
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

    fn sample_period_ns(&self, stream: u16) -> Option<u64> {
        self.record.sample_period_ns(stream)
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        if let Some(removed) = &self.removed {
            return removed.chunks(stream);
        }
        if let Some(narrowed) = &self.narrowed {
            return narrowed.chunks(stream);
        }
        self.chunks.get(usize::from(stream)).map_or(&[], Vec::as_slice)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        self.dictionaries.check()?;
        let told = self.told_batch(stream, chunk, wanted)?;
        Ok(self.removed.as_ref().map_or_else(|| Arc::clone(&told), |removed| removed.batch(stream, &told)))
    }

    fn index(&self, stream: u16, grouping: Grouping) -> Option<&IndexDirectory> {
        self.index.get(&(stream, grouping))
    }

    fn index_block(
        &self,
        stream: u16,
        grouping: Grouping,
        level: u8,
        number: u32,
    ) -> Result<Arc<IndexBlock>, ViewError> {
        let place = (stream, grouping, level, number);
        if let Some(block) = self.decoded.block(self.record.id, place) {
            return Ok(block);
        }
        let chunk = number as usize;
        let bytes = self.reads.read(|store| store.index_block(self.record.id, place));
        let bytes = bytes.map_err(|error| ViewError::Load { stream, chunk, source: Box::new(error) })?;
        let missing = ViewError::Shape { stream, chunk, what: "a block of the time index is missing" };
        let block = IndexBlock::decode(&bytes.ok_or(missing)?);
        let block = Arc::new(block.map_err(|source| ViewError::Chunk { stream, chunk, source })?);
        self.decoded.keep_block(self.record.id, place, &block);
        Ok(block)
    }

    fn kept(&self) -> Option<(&KeptViews, u64)> {
        (self.settled && self.narrowed.is_none() && self.removed.is_none())
            .then(|| (&*self.kept_views, self.record.id.bits()))
    }

    fn tracks(&self) -> &[(u16, TrackDirectory)] {
        self.part_with_tracks().map_or(&self.tracks, |part| part.tracks())
    }

    fn drawn_pages(&self, stream: u16, grid: ColumnGrid, places: &[(u32, u64)]) -> Result<DrawnPageMap, ViewError> {
        if let Some(part) = self.part_with_tracks() {
            return part.drawn_pages(stream, grid, places);
        }
        if self.removed.is_some() {
            return Ok(DrawnPageMap::new());
        }
        let capture = self.record.id;
        let mut pages = DrawnPageMap::new();
        let mut missing: HashMap<TrackPlace, (u32, u64)> = HashMap::new();
        for (track, page) in places {
            let number = drawn_number(grid, *page);
            match self.decoded.drawn(capture, stream, *track, number).filter(|_| self.settled) {
                Some(known) => drop(known.map(|known| pages.insert((*track, *page), known))),
                None => drop(missing.insert((*track, DRAWN_LEVEL, number), (*track, *page))),
            }
        }
        if missing.is_empty() {
            return Ok(pages);
        }
        let wanted = missing.keys().copied().collect();
        let read = self.reads.read(|store| store.track_pages(capture, stream, wanted));
        let read = read.map_err(|error| ViewError::Load { stream, chunk: 0, source: Box::new(error) })?;
        let mut decoder = DrawnDecoder::default();
        for (place, bytes) in read {
            let page = decoder.decode(&bytes);
            let page = Arc::new(page.map_err(|source| ViewError::Chunk { stream, chunk: 0, source })?);
            let Some(wanted) = missing.remove(&place) else { continue };
            if self.settled {
                self.decoded.keep_drawn(capture, (stream, place.0, place.2), Some(&page));
            }
            pages.insert(wanted, page);
        }
        if self.settled {
            missing.keys().for_each(|place| self.decoded.keep_drawn(capture, (stream, place.0, place.2), None));
        }
        Ok(pages)
    }

    fn track_pages(&self, stream: u16, places: &[PagePlace]) -> Result<TrackPageMap, ViewError> {
        if let Some(part) = self.part_with_tracks() {
            return part.track_pages(stream, places);
        }
        if self.removed.is_some() {
            return Ok(TrackPageMap::default());
        }
        let capture = self.record.id;
        let mut pages = TrackPageMap::default();
        let mut missing = Vec::new();
        for place in places {
            match self.decoded.page(capture, stream, *place).filter(|_| self.settled) {
                Some(page) => drop(pages.insert(*place, page)),
                None => missing.push(*place),
            }
        }
        if missing.is_empty() {
            return Ok(pages);
        }
        let missing = missing.into_iter().map(|(track, level, number)| (track, level, number.into())).collect();
        let read = self.reads.read(|store| store.track_pages(capture, stream, missing));
        let read = read.map_err(|error| ViewError::Load { stream, chunk: 0, source: Box::new(error) })?;
        let mut decoder = TrackPageDecoder::default();
        for ((track, level, number), bytes) in read {
            let place = (track, level, u32::try_from(number).unwrap_or(u32::MAX));
            let page = decoder.decode(&bytes);
            let page = Arc::new(page.map_err(|source| ViewError::Chunk { stream, chunk: 0, source })?);
            if self.settled {
                self.decoded.keep_page(capture, stream, place, &page);
            }
            pages.insert(place, page);
        }
        Ok(pages)
    }

    fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    fn losses(&self) -> &[Loss] {
        &self.record.ledger.losses
    }
}

//! What a rule asks of its capture, and where its rows go.

use std::{
    collections::HashMap,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{Scope, ScopedJoinHandle},
};

use bathyscope_capture::{
    Batch, CaptureId, EncodedChunk, Packed, StreamSchema, StringId, TrackIndexBuilder, TrackRule, encode_chunk,
};
use bathyscope_derive::DerivationHost;
use bathyscope_store::{BlockingStore, StoreError, TrackChanges};

use super::DerivationFailure;

/// Batches of a stream that wait to be encoded, and encoded ones that wait to be stored.
const MAX_WAITING: usize = 4;
/// Strings that are read at once, as the store has checksums for them.
const PAGE: u32 = 2048;
/// Pages of strings that are kept.
const MAX_PAGES: usize = 32;

/// Takes rows of a stream of the rule.
type TakeRows<'a> = Box<dyn FnMut(u16, Batch) -> Result<(), DerivationFailure> + 'a>;
/// Gives the id of a text.
type NameText<'a> = Box<dyn FnMut(&[u8]) -> Result<StringId, DerivationFailure> + 'a>;

/// The capture as a rule sees it.
pub(super) struct StoreHost<'a> {
    store: &'a BlockingStore,
    capture: CaptureId,
    take_rows: TakeRows<'a>,
    name_text: NameText<'a>,
    ids: HashMap<Vec<u8>, StringId>,
    pages: HashMap<u32, Packed<u8>>,
    failure: Option<DerivationFailure>,
}

impl<'a> StoreHost<'a> {
    pub(super) fn new(
        (store, capture): (&'a BlockingStore, CaptureId),
        take_rows: impl FnMut(u16, Batch) -> Result<(), DerivationFailure> + 'a,
        name_text: impl FnMut(&[u8]) -> Result<StringId, DerivationFailure> + 'a,
    ) -> Self {
        let (take_rows, name_text) = (Box::new(take_rows), Box::new(name_text));
        Self { store, capture, take_rows, name_text, ids: HashMap::new(), pages: HashMap::new(), failure: None }
    }

    /// What went wrong since this was asked before.
    pub(super) fn check(&mut self) -> Result<(), DerivationFailure> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Gives nothing more; what went wrong.
    pub(super) fn close(self) -> Result<(), DerivationFailure> {
        self.failure.map_or(Ok(()), Err)
    }

    fn note<T>(&mut self, result: Result<T, impl Into<DerivationFailure>>) -> Option<T> {
        result.map_err(|error| self.failure.get_or_insert(error.into())).ok()
    }

    /// A page of strings. The last one grows while the capture is recorded, so it is not kept.
    fn page(&mut self, page: u32) -> Option<&Packed<u8>> {
        if !self.pages.contains_key(&page) {
            if self.pages.len() >= MAX_PAGES {
                self.pages.clear();
            }
            let (first, last) = (page * PAGE + 1, (page * PAGE).saturating_add(PAGE));
            let read = self.store.read(|store| store.string_page(self.capture, first, last));
            let read = self.note(read)?;
            self.pages.insert(page, read);
        }
        self.pages.get(&page)
    }
}

impl DerivationHost for StoreHost<'_> {
    fn string_id(&mut self, text: &[u8]) -> StringId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = (self.name_text)(text);
        let id = self.note(id).unwrap_or(0);
        self.ids.insert(text.to_vec(), id);
        id
    }

    fn string(&mut self, id: StringId) -> Option<Vec<u8>> {
        let page = id.checked_sub(1)? / PAGE;
        let found = self.page(page)?.get(id).map(<[u8]>::to_vec);
        if found.is_none() {
            // It was stored after the page was read.
            self.pages.remove(&page);
            return self.page(page)?.get(id).map(<[u8]>::to_vec);
        }
        found
    }

    fn rows(&mut self, output: usize, rows: Batch) {
        let taken = u16::try_from(output).map_or(Ok(()), |output| (self.take_rows)(output, rows));
        self.note(taken);
    }
}

/// Encodes rows of a stream of a rule.
pub(super) fn encoded(schemas: &[StreamSchema], output: u16, rows: &Batch) -> Result<EncodedChunk, DerivationFailure> {
    let Some(schema) = schemas.get(usize::from(output)) else {
        return Err(DerivationFailure::System("finding a stream"));
    };
    encode_chunk(schema, rows).map_err(|source| DerivationFailure::Rows { stream: schema.name.clone(), source })
}

/// What is to be stored in one go.
type Stored = (Vec<(u16, EncodedChunk)>, Vec<TrackChanges>);

/// Where a rule's rows go.
pub(super) struct RowSender {
    /// By stream of the rule.
    streams: Vec<SyncSender<Batch>>,
}

impl RowSender {
    /// Gives rows of a stream away; an error when nobody takes them, of which the thread that did says why.
    pub(super) fn send(&self, output: u16, rows: Batch) -> Result<(), DerivationFailure> {
        let sent = self.streams.get(usize::from(output)).map(|stream| stream.send(rows));
        sent.and_then(Result::ok).ok_or(DerivationFailure::System("storing rows"))
    }
}

/// The threads that encode and store rows.
pub(super) struct StoredRows<'scope> {
    encoding: Vec<ScopedJoinHandle<'scope, Result<(), DerivationFailure>>>,
    storing: ScopedJoinHandle<'scope, Result<u64, DerivationFailure>>,
}

impl StoredRows<'_> {
    /// Waits for their end; says how many rows there were.
    pub(super) fn join(self) -> Result<u64, DerivationFailure> {
        let panicked = |_panicked| DerivationFailure::System("storing rows");
        // Why nothing is stored any more also explains why nobody takes what was encoded.
        let stored = self.storing.join().map_err(panicked)?;
        let encoded: Vec<_> = self.encoding.into_iter().map(|thread| thread.join().map_err(panicked)).collect();
        let rows = stored?;
        encoded.into_iter().try_for_each(|ended| ended?)?;
        Ok(rows)
    }
}

/// Starts the threads that encode rows and make tracks of them, one for each stream, since that takes longer than most rules; and
/// one that stores what they give. They end when nobody can send them rows any more.
pub(super) fn store_beside<'scope>(
    scope: &'scope Scope<'scope, '_>,
    store: &'scope BlockingStore,
    of: (CaptureId, u16),
    schemas: &'scope [StreamSchema],
) -> Result<(RowSender, StoredRows<'scope>), DerivationFailure> {
    let (to_store, to_be_stored) = sync_channel(MAX_WAITING);
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let none = |_none| DerivationFailure::System("starting a thread");
    let storing =
        named("derived-store").spawn_scoped(scope, move || store_all(store, of, &to_be_stored)).map_err(none)?;
    let (mut streams, mut encoding) = (Vec::new(), Vec::new());
    for (output, _) in (0..).zip(schemas) {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let to_store = to_store.clone();
        let encode = move || encode_rows(schemas, output, &receiver, &to_store);
        encoding.push(named("derived-rows").spawn_scoped(scope, encode).map_err(none)?);
        streams.push(sender);
    }
    Ok((RowSender { streams }, StoredRows { encoding, storing }))
}

/// Encodes the rows of one stream and makes its tracks.
fn encode_rows(
    schemas: &[StreamSchema],
    output: u16,
    rows: &Receiver<Batch>,
    to_store: &SyncSender<Stored>,
) -> Result<(), DerivationFailure> {
    let gone = |_gone| DerivationFailure::System("storing rows");
    let mut tracks = DerivedTracks::of(schemas);
    for rows in rows {
        let chunk = encoded(schemas, output, &rows)?;
        let changes = tracks.add(output, &rows);
        to_store.send((vec![(output, chunk)], changes)).map_err(gone)?;
    }
    let last = tracks.take_all();
    if last.is_empty() { Ok(()) } else { to_store.send((Vec::new(), last)).map_err(gone) }
}

/// Stores what was encoded, and says how many rows that were.
fn store_all(
    store: &BlockingStore,
    (capture, number): (CaptureId, u16),
    to_be_stored: &Receiver<Stored>,
) -> Result<u64, DerivationFailure> {
    let mut rows = 0;
    while let Ok((mut chunks, mut tracks)) = to_be_stored.recv() {
        // What waits is stored with it.
        for (more_chunks, more_tracks) in to_be_stored.try_iter().take(MAX_WAITING) {
            chunks.extend(more_chunks);
            tracks.extend(more_tracks);
        }
        rows += chunks.iter().map(|(_, chunk)| u64::from(chunk.rows)).sum::<u64>();
        store.read(|store| store.append_derived(capture, number, chunks, tracks))?;
    }
    Ok(rows)
}

/// The tracks of a rule's streams as they grow.
pub(super) struct DerivedTracks {
    builders: Vec<Option<TrackIndexBuilder>>,
}

impl DerivedTracks {
    pub(super) fn of(schemas: &[StreamSchema]) -> Self {
        let builder = |schema| TrackRule::of(schema).map(TrackIndexBuilder::new);
        Self { builders: schemas.iter().map(builder).collect() }
    }

    fn builder(&mut self, output: u16) -> Option<&mut TrackIndexBuilder> {
        self.builders.get_mut(usize::from(output))?.as_mut()
    }

    /// Adds rows of a stream; gives the pages to which nothing is added any more.
    pub(super) fn add(&mut self, output: u16, rows: &Batch) -> Vec<TrackChanges> {
        let Some(builder) = self.builder(output) else { return Vec::new() };
        builder.add(rows);
        let pages = builder.take_full_pages();
        if pages.is_empty() { Vec::new() } else { vec![TrackChanges { stream: output, pages, directory: None }] }
    }

    /// All that is new, with the directories of its streams.
    pub(super) fn take_all(&mut self) -> Vec<TrackChanges> {
        let mut all = Vec::new();
        for (stream, builder) in (0..).zip(&mut self.builders) {
            let Some(builder) = builder else { continue };
            let pages = builder.take_pages();
            if !pages.is_empty() {
                all.push(TrackChanges { stream, pages, directory: Some(builder.directory().encode()) });
            }
        }
        all
    }
}

/// The id of a text in a capture that has ended.
pub(super) fn stored_text(
    store: &BlockingStore,
    capture: CaptureId,
    text: &[u8],
) -> Result<StringId, DerivationFailure> {
    let ids: Result<Vec<StringId>, StoreError> =
        store.read(|store| store.derived_string_ids(capture, vec![text.to_vec()]));
    ids?.first().copied().ok_or(DerivationFailure::System("naming a text"))
}

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

/// Batches that wait to be stored.
const MAX_WAITING: usize = 4;
/// Strings that are read at once, as the store has checksums for them.
const PAGE: u32 = 2048;
/// Pages of strings that are kept.
const MAX_PAGES: usize = 32;

/// Takes rows of a stream of the rule.
type TakeRows<'a> = Box<dyn FnMut(u16, Batch) -> Result<(), DerivationFailure> + 'a>;
/// Gives the id of a text.
type NameText<'a> = Box<dyn FnMut(&[u8]) -> Result<StringId, DerivationFailure> + 'a>;

/// The thread that stores rows; it ends with how many there were.
pub(super) type StoredRows<'scope> = ScopedJoinHandle<'scope, Result<u64, DerivationFailure>>;

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

/// Starts the thread that encodes and stores rows, which takes longer than most rules. It ends when nobody can send it rows any
/// more, and says how many it has stored.
pub(super) fn store_beside<'scope>(
    scope: &'scope Scope<'scope, '_>,
    store: &'scope BlockingStore,
    of: (CaptureId, u16),
    schemas: &'scope [StreamSchema],
) -> Result<(SyncSender<(u16, Batch)>, StoredRows<'scope>), DerivationFailure> {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    let thread = std::thread::Builder::new().name("derived-rows".to_owned());
    let started = thread.spawn_scoped(scope, move || store_rows(store, of, schemas, &receiver));
    Ok((sender, started.map_err(|_none| DerivationFailure::System("starting a thread"))?))
}

fn store_rows(
    store: &BlockingStore,
    (capture, number): (CaptureId, u16),
    schemas: &[StreamSchema],
    receiver: &Receiver<(u16, Batch)>,
) -> Result<u64, DerivationFailure> {
    let (mut stored, mut tracks) = (0, DerivedTracks::of(schemas));
    for (output, rows) in receiver {
        let chunk = encoded(schemas, output, &rows)?;
        stored += u64::from(chunk.rows);
        let changes = tracks.add(output, &rows);
        store.read(|store| store.append_derived(capture, number, vec![(output, chunk)], changes))?;
    }
    for changes in tracks.take_all() {
        store.read(|store| store.append_derived(capture, number, Vec::new(), vec![changes]))?;
    }
    Ok(stored)
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

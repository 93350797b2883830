//! Pages of stored captures' dictionaries: read when a view first asks for them, kept for the next view within
//! [`MAX_KEPT_BYTES`], and never more than [`MAX_BYTES`] together with those that views hold.

use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
};

use bathyscope_capture::CaptureId;
use bathyscope_store::{BlockingStore, StoreError};
use bathyscope_views::{LastIds, LoadError, LoadPages, Page, PageContent, PageKind, ProcessNames, Room, page_ids};

/// Bytes of pages that are kept for the next view.
const MAX_KEPT_BYTES: usize = 128 << 20;
/// Bytes of all pages, those that views hold among them. A view that needs more fails.
const MAX_BYTES: usize = 768 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PageKey {
    capture: CaptureId,
    kind: PageKind,
    number: u32,
}

#[derive(Debug)]
struct KeptPage {
    page: Arc<Page>,
    /// The largest id of the dictionary when it was read: entries behind it may have come since then.
    end: u32,
    used: u64,
}

/// Pages, the least recently used forgotten first.
#[derive(Debug)]
pub(crate) struct DictionaryPages {
    all_bytes: Arc<AtomicUsize>,
    most_kept: usize,
    most: usize,
    inner: Mutex<KeptPages>,
}

#[derive(Debug, Default)]
struct KeptPages {
    pages: HashMap<PageKey, KeptPage>,
    bytes: usize,
    clock: u64,
}

impl Default for DictionaryPages {
    fn default() -> Self {
        Self::with_limits(MAX_KEPT_BYTES, MAX_BYTES)
    }
}

impl KeptPages {
    fn remove(&mut self, key: PageKey) {
        if let Some(old) = self.pages.remove(&key) {
            self.bytes -= old.page.bytes();
        }
    }

    fn shrink(&mut self, most: usize) {
        while self.bytes > most {
            let oldest = self.pages.iter().min_by_key(|(_key, kept)| kept.used).map(|(key, _kept)| *key);
            let Some(oldest) = oldest else { break };
            self.remove(oldest);
        }
    }
}

impl DictionaryPages {
    fn with_limits(most_kept: usize, most: usize) -> Self {
        Self { all_bytes: Arc::default(), most_kept, most, inner: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, KeptPages> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page that has all up to the id `end`.
    fn find(&self, key: PageKey, end: u32) -> Option<Arc<Page>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let used = inner.clock;
        let kept = inner.pages.get_mut(&key).filter(|kept| kept.end >= end)?;
        kept.used = used;
        Some(Arc::clone(&kept.page))
    }

    /// Counts what was read; forgets what is kept where there is no room for it otherwise.
    pub(crate) fn page(&self, content: PageContent) -> Result<Arc<Page>, LoadError> {
        let bytes = content.bytes();
        let room = Room::take(bytes, &self.all_bytes, self.most).or_else(|| {
            self.lock().shrink(0);
            Room::take(bytes, &self.all_bytes, self.most)
        });
        let room = room.ok_or(LoadError::NoRoom { limit_bytes: self.most })?;
        Ok(Arc::new(Page::new(content, room)))
    }

    fn keep(&self, key: PageKey, end: u32, page: &Arc<Page>) {
        let mut inner = self.lock();
        inner.remove(key);
        inner.clock += 1;
        let used = inner.clock;
        inner.bytes += page.bytes();
        inner.pages.insert(key, KeptPage { page: Arc::clone(page), end, used });
        inner.shrink(self.most_kept);
    }

    /// Forgets a capture's pages.
    pub(crate) fn forget(&self, capture: CaptureId) {
        let mut inner = self.lock();
        inner.pages.retain(|key, _kept| key.capture != capture);
        inner.bytes = inner.pages.values().map(|kept| kept.page.bytes()).sum();
    }
}

/// Reads pages of one snapshot of a capture. It waits for the database: never on a thread of the runtime.
#[derive(Debug)]
pub(crate) struct Loader {
    pub(crate) pages: Arc<DictionaryPages>,
    pub(crate) store: BlockingStore,
    pub(crate) capture: CaptureId,
    pub(crate) last: LastIds,
    /// Whether names of functions and the process history stay as they are.
    pub(crate) settled: bool,
}

impl Loader {
    /// Up to which id a page must have entries; none if it may change in other ways and is not kept.
    fn end(&self, kind: PageKind, last_of_page: u32) -> Option<u32> {
        match kind {
            PageKind::Texts => Some(self.last.string.min(last_of_page)),
            PageKind::Stacks => Some(self.last.stack.min(last_of_page)),
            PageKind::Frames => Some(self.last.frame.min(last_of_page)),
            PageKind::Mappings => Some(self.last.mapping),
            PageKind::Symbols | PageKind::Names => self.settled.then_some(0),
        }
    }

    fn read(&self, kind: PageKind, (first, last): (u32, u32)) -> Result<PageContent, StoreError> {
        let (store, id) = (&self.store, self.capture);
        Ok(match kind {
            PageKind::Texts => PageContent::Texts(store.read(|store| store.string_page(id, first, last))?),
            PageKind::Stacks => PageContent::Stacks(store.read(|store| store.stack_page(id, first, last))?),
            PageKind::Frames => {
                let frames = store.read(|store| store.frame_page(id, first, last))?;
                PageContent::Frames(PageContent::placed(first, frames))
            }
            PageKind::Symbols => {
                let symbols = store.read(|store| store.symbol_page(id, first, last))?;
                PageContent::Symbols(PageContent::placed(first, symbols))
            }
            PageKind::Mappings => {
                let mappings = store.read(|store| store.mappings(id, 0))?;
                PageContent::Mappings(PageContent::placed(1, mappings))
            }
            PageKind::Names => {
                let mut names = ProcessNames::default();
                store.read(|store| store.processes(id))?.iter().for_each(|change| names.insert(change));
                PageContent::Names(names)
            }
        })
    }
}

impl LoadPages for Loader {
    fn page(&self, kind: PageKind, number: u32, keep: bool) -> Result<Arc<Page>, LoadError> {
        let key = PageKey { capture: self.capture, kind, number };
        let ids = page_ids(number);
        let end = self.end(kind, ids.1);
        if let Some(known) = end.and_then(|end| self.pages.find(key, end)) {
            return Ok(known);
        }
        let content = self.read(kind, ids);
        let failed = |error: StoreError| LoadError::Failed(Arc::<dyn Error + Send + Sync>::from(Box::from(error)));
        let page = self.pages.page(content.map_err(failed)?)?;
        if let Some(end) = end.filter(|_| keep) {
            self.pages.keep(key, end, &page);
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::Packed;

    use super::*;

    fn key(capture: u64, number: u32) -> PageKey {
        PageKey { capture: CaptureId::from_bits(capture), kind: PageKind::Texts, number }
    }

    fn texts(bytes: usize) -> PageContent {
        PageContent::Texts(Packed::dense(1, [], Vec::<u8>::with_capacity(bytes)).unwrap_or_default())
    }

    #[test]
    fn a_page_is_kept_until_there_is_no_room_and_while_it_has_all() {
        let pages = DictionaryPages::with_limits(100, 250);
        let put = |capture, number, end| {
            let page = pages.page(texts(40)).unwrap();
            pages.keep(key(capture, number), end, &page);
        };
        put(1, 0, 7);
        assert!(pages.find(key(1, 0), 7).is_some() && pages.find(key(1, 0), 8).is_none(), "it grew");
        put(1, 0, 9);
        put(2, 0, 1);
        assert!(pages.find(key(1, 0), 9).is_some());
        put(2, 1, 1);
        let kept = [key(1, 0), key(2, 0), key(2, 1)].map(|key| pages.find(key, 0).is_some());
        assert_eq!(kept, [true, false, true], "the least recently used went");
        pages.forget(CaptureId::from_bits(2));
        assert!(pages.find(key(2, 1), 0).is_none());
        assert_eq!(pages.all_bytes.load(std::sync::atomic::Ordering::Relaxed), 40);
    }

    #[test]
    fn what_views_hold_is_limited_too() {
        let pages = DictionaryPages::with_limits(100, 250);
        let held: Vec<_> = (0..5).map(|_| pages.page(texts(50)).unwrap()).collect();
        assert!(matches!(pages.page(texts(1)), Err(LoadError::NoRoom { limit_bytes: 250 })));
        drop(held);
        let kept = pages.page(texts(90)).unwrap();
        pages.keep(key(1, 0), 1, &kept);
        drop(kept);
        assert!(pages.page(texts(200)).is_ok(), "what is only kept gives way");
        assert!(pages.find(key(1, 0), 1).is_none());
    }
}

//! Dictionaries of which a view has the pages that it asked for.

use std::sync::{Arc, OnceLock};

use super::page::{LoadError, LoadPages, PAGE_IDS, Page, PageContent, PageKind};
use crate::ViewError;

/// The largest id of each dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastIds {
    /// Of strings.
    pub string: u32,
    /// Of mappings.
    pub mapping: u32,
    /// Of frames.
    pub frame: u32,
    /// Of stacks.
    pub stack: u32,
}

/// Pages of one kind, each loaded when it is first asked for.
type Pages = Box<[OnceLock<Arc<Page>>]>;

#[derive(Clone, Debug)]
pub(super) struct Paged {
    load: Arc<dyn LoadPages>,
    last: LastIds,
    texts: Pages,
    stacks: Pages,
    frames: Pages,
    symbols: Pages,
    mappings: Pages,
    names: Pages,
    /// The first error; nothing is loaded after it.
    failed: Arc<OnceLock<Failure>>,
}

#[derive(Clone, Debug)]
struct Failure {
    kind: PageKind,
    number: u32,
    why: LoadError,
}

/// Ids beyond this are damage.
const MAX_ID: u32 = 1 << 28;

fn pages(last: u32) -> Pages {
    let pages = last.min(MAX_ID).div_ceil(PAGE_IDS) as usize;
    std::iter::repeat_with(OnceLock::new).take(pages).collect()
}

impl Paged {
    pub(super) fn new(load: Arc<dyn LoadPages>, last: LastIds) -> Self {
        Self {
            load,
            last,
            texts: pages(last.string),
            stacks: pages(last.stack),
            frames: pages(last.frame),
            symbols: pages(last.frame),
            mappings: pages(1),
            names: pages(1),
            failed: Arc::default(),
        }
    }

    pub(super) const fn last(&self) -> LastIds {
        self.last
    }

    /// The page with an id, and the id's place in it.
    pub(super) fn find(&self, kind: PageKind, id: u32) -> Option<(&PageContent, usize)> {
        let index = id.checked_sub(1)?;
        let page = self.get(kind, index / PAGE_IDS)?;
        Some((page.content(), (index % PAGE_IDS) as usize))
    }

    /// A page, which stays as long as these dictionaries.
    pub(super) fn get(&self, kind: PageKind, number: u32) -> Option<&Page> {
        let slot = self.slot(kind, number)?;
        match slot.get() {
            Some(page) => Some(page),
            None => {
                let page = self.load(kind, number, true)?;
                Some(slot.get_or_init(|| page))
            }
        }
    }

    /// A page that stays only as long as it is held, unless it is there already.
    pub(super) fn borrow(&self, kind: PageKind, number: u32, keep: bool) -> Option<Arc<Page>> {
        match self.slot(kind, number)?.get() {
            Some(page) => Some(Arc::clone(page)),
            None => self.load(kind, number, keep),
        }
    }

    fn slot(&self, kind: PageKind, number: u32) -> Option<&OnceLock<Arc<Page>>> {
        let pages = match kind {
            PageKind::Texts => &self.texts,
            PageKind::Stacks => &self.stacks,
            PageKind::Frames => &self.frames,
            PageKind::Symbols => &self.symbols,
            PageKind::Mappings => &self.mappings,
            PageKind::Names => &self.names,
        };
        pages.get(number as usize)
    }

    #[cold]
    fn load(&self, kind: PageKind, number: u32, keep: bool) -> Option<Arc<Page>> {
        // A database that does not answer is not asked once for each entry.
        if self.failed.get().is_some() {
            return None;
        }
        let failed = |why| Failure { kind, number, why };
        self.load.page(kind, number, keep).map_err(|why| self.failed.get_or_init(|| failed(why))).ok()
    }

    pub(super) fn check(&self) -> Result<(), ViewError> {
        let Some(Failure { kind, number, why }) = self.failed.get() else { return Ok(()) };
        let (what, first) = (kind.what(), super::page_ids(*number).0);
        Err(match why {
            LoadError::Failed(source) => ViewError::Dictionary { what, first, source: Arc::clone(source) },
            LoadError::NoRoom { limit_bytes } => ViewError::TooMuch { what, limit_bytes: *limit_bytes },
        })
    }
}

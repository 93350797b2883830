//! Parts of dictionaries that are loaded when they are first asked for.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bathyscope_capture::{Frame, FrameId, Mapping, Packed, Symbol};

use super::names::ProcessNames;

/// How many ids have one page.
pub const PAGE_IDS: u32 = 2048;

/// What a page is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// Strings.
    Texts,
    /// Stacks.
    Stacks,
    /// Frames.
    Frames,
    /// Names of frames, by the frames' ids.
    Symbols,
    /// Mappings; all are one page.
    Mappings,
    /// The names of processes; all are one page.
    Names,
}

impl PageKind {
    /// In words, for errors.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Texts => "texts",
            Self::Stacks => "stacks",
            Self::Frames => "code addresses",
            Self::Symbols => "names of functions",
            Self::Mappings => "mappings",
            Self::Names => "the process history",
        }
    }
}

/// The first and the last id of a page.
pub const fn page_ids(number: u32) -> (u32, u32) {
    let first = number.saturating_mul(PAGE_IDS).saturating_add(1);
    (first, first.saturating_add(PAGE_IDS - 1))
}

/// Loads pages. It may keep them for others if it is told so; a page that may still change must be loaded anew for each
/// [`super::Dictionaries`].
pub trait LoadPages: std::fmt::Debug + Send + Sync {
    /// The page of a kind that begins with the id of [`page_ids`].
    ///
    /// # Errors
    /// Why it cannot be read.
    fn page(&self, kind: PageKind, number: u32, keep: bool) -> Result<Arc<Page>, LoadError>;
}

/// Why a page could not be loaded.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// It could not be read.
    Failed(Arc<dyn Error + Send + Sync>),
    /// All pages together would take more memory than this.
    NoRoom {
        /// The limit.
        limit_bytes: usize,
    },
}

/// What is in a page.
#[derive(Debug)]
pub enum PageContent {
    /// Strings.
    Texts(Packed<u8>),
    /// Stacks.
    Stacks(Packed<FrameId>),
    /// Frames by their places in the page.
    Frames(Vec<Option<Frame>>),
    /// Symbols by their frames' places in the page.
    Symbols(Vec<Option<Symbol>>),
    /// Mappings, from the first on.
    Mappings(Vec<Option<Mapping>>),
    /// Names of processes.
    Names(ProcessNames),
}

impl PageContent {
    /// Entries by their places in the page that begins with the id `first`; what is not of it is left out.
    pub fn placed<T>(first: u32, entries: Vec<(u32, T)>) -> Vec<Option<T>> {
        let index = |id: u32| id.checked_sub(first).map(|index| index as usize);
        let last = entries.iter().filter_map(|(id, _)| index(*id)).filter(|index| *index < MAX_PLACES).max();
        let mut places: Vec<Option<T>> =
            std::iter::repeat_with(|| None).take(last.map_or(0, |last| last + 1)).collect();
        for (id, entry) in entries {
            if let Some(place) = index(id).and_then(|index| places.get_mut(index)) {
                *place = Some(entry);
            }
        }
        places
    }

    /// About the bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let lines = |symbol: &Symbol| {
            let of = |line: &bathyscope_capture::SymbolLine| size_of_val(line) + line.function.len() + line.file.len();
            symbol.function.len() + symbol.lines.iter().map(of).sum::<usize>()
        };
        match self {
            Self::Texts(texts) => texts.bytes(),
            Self::Stacks(stacks) => stacks.bytes(),
            Self::Frames(frames) => size_of_val(frames.as_slice()),
            Self::Symbols(symbols) => {
                size_of_val(symbols.as_slice()) + symbols.iter().flatten().map(lines).sum::<usize>()
            }
            Self::Mappings(mappings) => {
                let texts = mappings.iter().flatten().map(|mapping| mapping.name.len() + mapping.build_id.len());
                size_of_val(mappings.as_slice()) + texts.sum::<usize>()
            }
            Self::Names(names) => names.bytes(),
        }
    }
}

/// Ids of mappings beyond this are damage: one wild id must not cost gigabytes.
const MAX_PLACES: usize = 1 << 20;

/// A page, counted as long as anybody has it.
#[derive(Debug)]
pub struct Page {
    content: PageContent,
    room: Room,
}

impl Page {
    /// A page that takes up this room.
    pub const fn new(content: PageContent, room: Room) -> Self {
        Self { content, room }
    }

    /// What is in it.
    pub const fn content(&self) -> &PageContent {
        &self.content
    }

    /// The bytes that it was counted with.
    pub const fn bytes(&self) -> usize {
        self.room.bytes
    }
}

/// Bytes that are counted until it is dropped.
#[derive(Debug)]
pub struct Room {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Room {
    /// Counts `bytes` in `all`; none if that were more than `most`.
    pub fn take(bytes: usize, all: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let sum = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= most);
        let taken = all.try_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        taken.is_ok().then(|| Self { bytes, all: Arc::clone(all) })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_up_and_never_more_than_there_is() {
        let all = Arc::default();
        let first = Room::take(60, &all, 100);
        assert!(first.is_some() && Room::take(41, &all, 100).is_none());
        assert!(Room::take(40, &all, 100).is_some(), "and it was given up at once");
        drop(first);
        assert_eq!(all.load(Ordering::Relaxed), 0);
        assert!(Room::take(usize::MAX, &all, usize::MAX).is_some());
    }

    #[test]
    fn entries_have_their_places() {
        assert_eq!(PageContent::placed(5, vec![(5, 'a'), (7, 'c'), (4, 'x')]), [Some('a'), None, Some('c')]);
        assert_eq!(PageContent::placed(1, vec![(u32::MAX, 'x'), (1, 'a')]), [Some('a')]);
        assert_eq!(PageContent::placed::<char>(1, Vec::new()), []);
        assert_eq!((page_ids(0), page_ids(1)), ((1, 2048), (2049, 4096)));
    }
}

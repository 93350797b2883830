//! Pages of tracks, read level by level for all tracks of a stream at once.

use std::{
    cell::RefCell,
    sync::{Arc, atomic::Ordering},
};

use bathyscope_capture::{TrackPage, TrackPages};

use crate::{Cancel, Source, TrackPageMap, ViewError};

/// Pages of a stream that are at hand, and those that somebody asked for and that are not.
pub(super) struct ReadPages {
    pages: TrackPageMap,
    wanted: RefCell<Vec<(u32, u8, u32)>>,
}

/// The pages of one track.
pub(super) struct PagesOfTrack<'a> {
    pub(super) read: &'a ReadPages,
    pub(super) track: u32,
}

impl TrackPages for PagesOfTrack<'_> {
    fn page(&self, level: u8, number: u32) -> Option<Arc<TrackPage>> {
        let place = (self.track, level, number);
        let page = self.read.pages.get(&place);
        if page.is_none() {
            self.read.wanted.borrow_mut().push(place);
        }
        page.map(Arc::clone)
    }
}

impl ReadPages {
    /// How many pages were asked for that are not at hand, one asked for again counted again.
    pub(super) fn wanted(&self) -> usize {
        self.wanted.borrow().len()
    }

    /// Reads what `each` asks for, until it finds everything: each time one level deeper.
    ///
    /// # Errors
    /// If pages cannot be read, one is missing, or `cancel` was set.
    pub(super) fn until_read(
        source: &dyn Source,
        stream: u16,
        cancel: &Cancel,
        mut each: impl FnMut(&Self),
    ) -> Result<(), ViewError> {
        let mut read = Self { pages: TrackPageMap::default(), wanted: RefCell::default() };
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(ViewError::Cancelled);
            }
            each(&read);
            let mut wanted = read.wanted.take();
            if wanted.is_empty() {
                return Ok(());
            }
            wanted.sort_unstable();
            wanted.dedup();
            let new = source.track_pages(stream, &wanted)?;
            if wanted.iter().any(|place| !new.contains_key(place)) {
                return Err(ViewError::Shape { stream, chunk: 0, what: "a page of the track index is missing" });
            }
            read.pages.extend(new);
        }
    }
}

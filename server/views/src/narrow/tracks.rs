//! Tracks that were made of rows which are left of a capture, in memory as a store would have them.

use std::{collections::HashMap, sync::Arc};

use bathyscope_capture::{
    ChunkError, ColumnGrid, DRAWN_LEVEL, DrawnDecoder, TrackDirectory, TrackIndexBuilder, TrackPageDecoder,
    drawn_number,
};

use crate::{DrawnPageMap, TrackPageMap, ViewError};

/// Tracks of some streams. Pages are kept as they are stored, a few bytes a row, and are decoded when they are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuiltTracks {
    directories: Vec<(u16, TrackDirectory)>,
    /// By stream, track, level and number.
    pages: HashMap<(u16, u32, u8, u64), Box<[u8]>>,
}

impl BuiltTracks {
    /// Adds those of a stream, whose rows have all been added.
    pub(crate) fn insert(&mut self, stream: u16, mut builder: TrackIndexBuilder) {
        let pages = builder.take_pages();
        let placed = pages.into_iter().map(|page| ((stream, page.track, page.level, page.number), page.bytes.into()));
        self.pages.extend(placed);
        self.directories.push((stream, builder.directory()));
    }

    pub(crate) fn directories(&self) -> &[(u16, TrackDirectory)] {
        &self.directories
    }

    pub(crate) fn pages(&self, stream: u16, places: &[(u32, u8, u32)]) -> Result<TrackPageMap, ViewError> {
        let mut decoder = TrackPageDecoder::default();
        let mut found = TrackPageMap::default();
        for (track, level, number) in places {
            let Some(bytes) = self.pages.get(&(stream, *track, *level, u64::from(*number))) else { continue };
            found.insert((*track, *level, *number), Arc::new(decoder.decode(bytes).map_err(unreadable(stream))?));
        }
        Ok(found)
    }

    pub(crate) fn drawn_pages(
        &self,
        stream: u16,
        grid: ColumnGrid,
        places: &[(u32, u64)],
    ) -> Result<DrawnPageMap, ViewError> {
        let mut decoder = DrawnDecoder::default();
        let mut found = DrawnPageMap::new();
        for (track, page) in places {
            let place = (stream, *track, DRAWN_LEVEL, drawn_number(grid, *page));
            let Some(bytes) = self.pages.get(&place) else { continue };
            found.insert((*track, *page), Arc::new(decoder.decode(bytes).map_err(unreadable(stream))?));
        }
        Ok(found)
    }
}

fn unreadable(stream: u16) -> impl Fn(ChunkError) -> ViewError {
    move |source| ViewError::Chunk { stream, chunk: 0, source }
}

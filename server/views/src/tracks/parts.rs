//! Where what is drawn of a track is taken from: pages of what is drawn where there are some, rows and their sums where not.

use std::{ops::Range, sync::Arc};

use bathyscope_capture::{ColumnGrid, ColumnSum, DrawnPage, TrackColumns, TrackInfo, walk_track};

use super::pages::{PagesOfTrack, ReadPages};
use crate::{DrawnPageMap, Source, TimeRange, ViewError};

/// Tracks with fewer rows have no pages of what is drawn.
const LEAST_ROWS: u64 = 512;

/// Part of a window.
pub(super) enum WindowPart {
    /// What the page with this number has in a span of time.
    Drawn {
        /// The page.
        page: Arc<DrawnPage>,
        /// Its number.
        number: u64,
        /// The span.
        span: Range<u64>,
    },
    /// What rows and sums have in a span of time.
    Rows(Range<u64>),
}

/// The parts of a window of a track, in order of time.
pub(super) struct TrackParts<'a> {
    pub(super) track: u32,
    pub(super) parts: Vec<WindowPart>,
    info: &'a TrackInfo,
    grid: ColumnGrid,
}

impl<'a> TrackParts<'a> {
    /// Those of tracks of a stream.
    pub(super) fn of_tracks(
        source: &dyn Source,
        stream: u16,
        grid: ColumnGrid,
        range: TimeRange,
        tracks: &[(u32, &'a TrackInfo)],
    ) -> Result<Vec<Self>, ViewError> {
        let mut places = Vec::new();
        for (track, info) in tracks.iter().filter(|(_, info)| info.rows > LEAST_ROWS) {
            let span = span_of(info, range);
            if !span.is_empty() {
                places.extend((grid.page(span.start)..=grid.page(span.end - 1)).map(|page| (*track, page)));
            }
        }
        let drawn = source.drawn_pages(stream, grid, &places)?;
        Ok(tracks.iter().map(|(track, info)| Self::new(*track, info, grid, range, &drawn)).collect())
    }

    fn new(track: u32, info: &'a TrackInfo, grid: ColumnGrid, range: TimeRange, drawn: &DrawnPageMap) -> Self {
        let span = span_of(info, range);
        let mut parts = Vec::new();
        let mut at = span.start;
        if !span.is_empty() && info.rows > LEAST_ROWS {
            for number in grid.page(span.start)..=grid.page(span.end - 1) {
                let Some(page) = drawn.get(&(track, number)) else { continue };
                let start = number.saturating_mul(grid.page_ns());
                let until = start.saturating_add(u64::from(page.until) * grid.unit_ns()).min(span.end);
                let from = start.max(at);
                if from >= until {
                    continue;
                }
                if at < from {
                    parts.push(WindowPart::Rows(at..from));
                }
                parts.push(WindowPart::Drawn { page: Arc::clone(page), number, span: from..until });
                at = until;
            }
        }
        if at < span.end {
            parts.push(WindowPart::Rows(at..span.end));
        }
        Self { track, parts, info, grid }
    }

    /// The spans that are drawn from rows.
    fn spans(&self) -> impl Iterator<Item = &Range<u64>> {
        self.parts.iter().filter_map(|part| if let WindowPart::Rows(span) = part { Some(span) } else { None })
    }

    /// Asks for the pages that are not at hand. Nothing is drawn, so it costs little to do it again for each level.
    pub(super) fn ask(&self, read: &ReadPages) {
        let pages = PagesOfTrack { read, track: self.track };
        for span in self.spans() {
            walk_track(&pages, self.info, span.clone(), self.grid.column_ns() / 2, &mut |_piece| {});
        }
    }

    /// What each of the parts of rows has, in order of time, as far as pages are at hand.
    pub(super) fn walk(&self, read: &ReadPages) -> Vec<Vec<ColumnSum>> {
        let pages = PagesOfTrack { read, track: self.track };
        let walk = |span: &Range<u64>| {
            let mut sums = Vec::new();
            let mut columns = TrackColumns::new(self.grid);
            let mut goes_on = Vec::new();
            walk_track(&pages, self.info, span.clone(), self.grid.column_ns() / 2, &mut |piece| {
                let sum = ColumnSum::from(&piece);
                // What began before the part is not drawn together with what begins in it.
                if piece.begin_ns < span.start && piece.rows == 1 {
                    goes_on.push(sum);
                } else {
                    columns.push(sum, &mut |sum| sums.push(sum));
                }
            });
            columns.finish(&mut |sum| sums.push(sum));
            goes_on.append(&mut sums);
            goes_on
        };
        self.spans().map(walk).collect()
    }
}

/// The time of a track in a range.
fn span_of(info: &TrackInfo, range: TimeRange) -> Range<u64> {
    let last_ns = info.sum.end_ns.saturating_add(1);
    range.start_ns.max(info.sum.begin_ns)..range.end_ns.min(last_ns)
}

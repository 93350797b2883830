//! Single rows of a track.

use std::sync::Arc;

use super::{TrackEntry, TrackInfo, TrackPage, TrackPages, page_entries, walk::EntryRange};

/// What can be said of a row with the pages that are at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundRow {
    /// The row, by its number on the track.
    Row(u64, TrackEntry),
    /// There is none.
    None,
    /// A page is not at hand.
    Unread,
}

/// The first row of a track that ends after a moment: the one at the moment, or else the next.
pub fn row_at(pages: &dyn TrackPages, track: &TrackInfo, time_ns: u64) -> FoundRow {
    if track.rows == 0 {
        return FoundRow::None;
    }
    let mut entries = EntryRange::top(track);
    loop {
        let (number, places) = entries.place();
        let Some(page) = pages.page(entries.level, number) else { return FoundRow::Unread };
        match &*page {
            TrackPage::Rows(rows) => {
                let rows = rows.get(places.start..places.end.min(rows.len())).unwrap_or_default();
                let at = rows.partition_point(|row| row.end_ns <= time_ns);
                return rows.get(at).map_or(FoundRow::None, |row| FoundRow::Row(entries.first + at as u64, *row));
            }
            TrackPage::Summaries(sums) => {
                let sums = sums.get(places.start..places.end.min(sums.len())).unwrap_or_default();
                let at = sums.partition_point(|sum| sum.end_ns <= time_ns);
                if at == sums.len() || entries.level == 0 {
                    return FoundRow::None;
                }
                entries = EntryRange::below(entries.level, entries.first + at as u64);
            }
        }
    }
}

/// The row with a number.
pub fn row_number(pages: &dyn TrackPages, track: &TrackInfo, row: u64) -> FoundRow {
    if row >= track.rows {
        return FoundRow::None;
    }
    let entries = page_entries(0) as u64;
    let page = pages.page(0, u32::try_from(row / entries).unwrap_or(u32::MAX));
    match page.as_ref().map(Arc::as_ref) {
        Some(TrackPage::Rows(rows)) => {
            rows.get((row % entries) as usize).map_or(FoundRow::None, |found| FoundRow::Row(row, *found))
        }
        Some(TrackPage::Summaries(_)) => FoundRow::None,
        None => FoundRow::Unread,
    }
}

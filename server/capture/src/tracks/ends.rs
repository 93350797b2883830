//! When each page of rows of a track ends: by it the rows of a short window are found without the levels above them.

use std::ops::Range;

use super::{PAGE_ROWS, TrackInfo, TrackPage, TrackPages};

/// The level by which the ends of pages of rows are stored.
pub(super) const PAGE_ENDS_LEVEL: u8 = super::DRAWN_LEVEL - 1;
/// How many ends a page has, the last excepted.
pub(super) const ENDS_OF_PAGE: usize = 4096;
/// A window of more pages of rows is drawn from the levels above: about as many rows have a page of what is drawn.
const MOST_PAGES: u64 = if cfg!(test) { 2 } else { 10 };

/// Pages of rows that have what is in a range of time.
pub(super) enum RowPages {
    /// These, and they are few.
    Few(Range<u32>),
    /// So many that the levels above are better, or it is not known.
    Many,
    /// A page of ends is not at hand.
    Unread,
}

/// Which pages of rows of a track have what is in a range of time.
pub(super) fn row_pages(pages: &dyn TrackPages, track: &TrackInfo, range: &Range<u64>) -> RowPages {
    let page_count = track.rows.div_ceil(PAGE_ROWS as u64);
    if !track.has_page_ends || page_count < 2 {
        return RowPages::Many;
    }
    let (mut first, mut last, mut before, mut is_unread) = (None, None, 0, false);
    // Those that are not at hand are asked for all at once.
    for number in 0..page_count.div_ceil(ENDS_OF_PAGE as u64) {
        let page = pages.page(PAGE_ENDS_LEVEL, number as u32);
        let Some(TrackPage::RowPageEnds(ends)) = page.as_deref() else {
            is_unread = true;
            continue;
        };
        let place = |time_ns: u64| {
            let at = ends.partition_point(|end_ns| *end_ns < time_ns);
            (at < ends.len()).then_some(before + at as u64)
        };
        first = first.or_else(|| place(range.start));
        last = last.or_else(|| place(range.end));
        before += ends.len() as u64;
    }
    if is_unread {
        return RowPages::Unread;
    }
    let end = last.map_or(page_count, |last| last + 1).min(page_count);
    let first = first.unwrap_or(page_count).min(end);
    if end - first > MOST_PAGES { RowPages::Many } else { RowPages::Few(first as u32..end as u32) }
}

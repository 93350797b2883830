//! From the highest level of a track down to what is drawn of a window.

use std::sync::Arc;

use super::{
    FAN_OUT, TrackEntry, TrackInfo, TrackNameId, TrackPage, TrackSummary,
    ends::{RowPages, row_pages},
    page_entries,
};

/// Rows without a wide one or a wide gap are drawn together up to this width. Drawing them one by one would cost four times as
/// many pages, and look the same.
const DENSE_PIXELS: u64 = 4;
/// Names that are told of rows that are drawn together.
pub const PIECE_NAMES: usize = 3;

/// Pages of one track, by level and number.
pub trait TrackPages {
    /// The page; none where it is not at hand. What is on it is left out then.
    fn page(&self, level: u8, number: u32) -> Option<Arc<TrackPage>>;
}

/// What is drawn of a track: one row, or rows that are together no wider than a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackPiece {
    /// When the first began.
    pub begin_ns: u64,
    /// When the last ended.
    pub end_ns: u64,
    /// How many rows it stands for.
    pub rows: u64,
    /// The names whose rows took most of the time, and how long they took; 0 where there are fewer names.
    pub names: [(TrackNameId, u64); PIECE_NAMES],
    /// For how long there were rows.
    pub busy_ns: u64,
}

impl From<&TrackEntry> for TrackPiece {
    fn from(entry: &TrackEntry) -> Self {
        let TrackEntry { begin_ns, end_ns, name } = *entry;
        let mut names = [(0, 0); PIECE_NAMES];
        names[0] = (name, entry.duration_ns());
        Self { begin_ns, end_ns, rows: 1, names, busy_ns: entry.duration_ns() }
    }
}

impl From<&TrackSummary> for TrackPiece {
    fn from(sum: &TrackSummary) -> Self {
        if sum.rows == 1 {
            // A row that took no time has no place among the names that took most.
            return Self::from(&sum.longest);
        }
        let [first, second, third, ..] = sum.top;
        let (begin_ns, end_ns, rows) = (sum.begin_ns, sum.end_ns, sum.rows);
        Self { begin_ns, end_ns, rows, names: [first, second, third], busy_ns: sum.busy_ns() }
    }
}

/// Some entries of a level that follow each other.
pub(super) struct EntryRange {
    pub(super) level: u8,
    pub(super) first: u64,
    pub(super) count: usize,
}

impl EntryRange {
    /// All of the level that has one page.
    pub(super) fn top(track: &TrackInfo) -> Self {
        let level = track.top_level();
        Self { level, first: 0, count: page_entries(level) }
    }

    /// What an entry of a level above the rows sums up.
    pub(super) fn below(level: u8, entry: u64) -> Self {
        Self { level: level.saturating_sub(1), first: entry.saturating_mul(FAN_OUT as u64), count: FAN_OUT }
    }

    /// The page that they are in, and their places there. All of a group are in one page.
    pub(super) fn place(&self) -> (u32, std::ops::Range<usize>) {
        let entries = page_entries(self.level) as u64;
        let start = (self.first % entries) as usize;
        (u32::try_from(self.first / entries).unwrap_or(u32::MAX), start..start + self.count)
    }
}

/// Calls `each` with what is drawn of a track between two moments, in order of time.
pub fn walk_track(
    pages: &dyn TrackPages,
    track: &TrackInfo,
    range: std::ops::Range<u64>,
    pixel_ns: u64,
    each: &mut dyn FnMut(TrackPiece),
) {
    if track.rows == 0 || range.is_empty() {
        return;
    }
    match row_pages(pages, track, &range) {
        RowPages::Few(numbers) => {
            // All of them are asked for before any is looked at.
            let read: Vec<_> = numbers.map(|number| pages.page(0, number)).collect();
            for page in read.iter().flatten() {
                if let TrackPage::Rows(rows) = &**page {
                    draw_rows(rows, &range, each);
                }
            }
        }
        RowPages::Many => visit(pages, &EntryRange::top(track), &range, pixel_ns, each),
        RowPages::Unread => {}
    }
}

fn draw_rows(rows: &[TrackEntry], range: &std::ops::Range<u64>, each: &mut dyn FnMut(TrackPiece)) {
    overlapping(rows, range, |row| (row.begin_ns, row.end_ns)).for_each(|(_, row)| each(row.into()));
}

fn visit(
    pages: &dyn TrackPages,
    entries: &EntryRange,
    range: &std::ops::Range<u64>,
    pixel_ns: u64,
    each: &mut dyn FnMut(TrackPiece),
) {
    let (number, places) = entries.place();
    let Some(page) = pages.page(entries.level, number) else { return };
    match &*page {
        TrackPage::Rows(rows) => {
            let rows = rows.get(places.start..places.end.min(rows.len())).unwrap_or_default();
            draw_rows(rows, range, each);
        }
        TrackPage::RowPageEnds(_) => {}
        TrackPage::Summaries(sums) => {
            let sums = sums.get(places.start..places.end.min(sums.len())).unwrap_or_default();
            for (at, sum) in overlapping(sums, range, |sum| (sum.begin_ns, sum.end_ns)) {
                if is_fine(sum, pixel_ns) || sum.rows == 1 || entries.level == 0 {
                    each(sum.into());
                } else {
                    let below = EntryRange::below(entries.level, entries.first + at as u64);
                    visit(pages, &below, range, pixel_ns, each);
                }
            }
        }
    }
}

/// Whether rows are drawn together: they are narrower than a pixel all together, or each of them is, as are the gaps between
/// them, and all of them are not much wider. Without pixels each row is drawn for itself, also where several take no time.
fn is_fine(sum: &TrackSummary, pixel_ns: u64) -> bool {
    if pixel_ns == 0 {
        return false;
    }
    let span_ns = sum.end_ns - sum.begin_ns;
    let is_dense = sum.longest.duration_ns() <= pixel_ns && span_ns.saturating_sub(sum.busy_ns()) <= pixel_ns;
    span_ns <= pixel_ns || is_dense && span_ns <= pixel_ns.saturating_mul(DENSE_PIXELS)
}

/// The entries that are in a range of time, each with its place. They are in order and do not overlap.
pub(super) fn overlapping<'a, T>(
    entries: &'a [T],
    range: &'a std::ops::Range<u64>,
    times: impl Fn(&T) -> (u64, u64) + Copy + 'a,
) -> impl Iterator<Item = (usize, &'a T)> {
    let first = entries.partition_point(|entry| times(entry).1 < range.start);
    let inside = move |(begin_ns, end_ns): (u64, u64)| end_ns > range.start || begin_ns == end_ns;
    let from_first = entries.iter().enumerate().skip(first);
    from_first.take_while(move |(_, entry)| times(entry).0 < range.end).filter(move |(_, entry)| inside(times(entry)))
}

//! Single rows of a track.

use std::sync::Arc;

use super::{
    FAN_OUT, TrackEntry, TrackInfo, TrackNameId, TrackPage, TrackPages, TrackSummary, page_entries, walk::EntryRange,
};

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
            TrackPage::RowPageEnds(_) => return FoundRow::None,
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
        Some(TrackPage::Summaries(_) | TrackPage::RowPageEnds(_)) => FoundRow::None,
        None => FoundRow::Unread,
    }
}

/// The nearest row before or after another that has a name and takes time.
pub fn row_of_name(
    pages: &dyn TrackPages,
    track: &TrackInfo,
    name: TrackNameId,
    from: u64,
    is_backwards: bool,
) -> FoundRow {
    if track.rows == 0 {
        return FoundRow::None;
    }
    let search = NameSearch { pages, name, from, is_backwards };
    search.within(&EntryRange::top(track)).unwrap_or(FoundRow::None)
}

struct NameSearch<'a> {
    pages: &'a dyn TrackPages,
    name: TrackNameId,
    from: u64,
    is_backwards: bool,
}

impl NameSearch<'_> {
    /// The row, if it is among these entries; that it is not known, if a page is not at hand.
    fn within(&self, entries: &EntryRange) -> Option<FoundRow> {
        let (number, places) = entries.place();
        let Some(page) = self.pages.page(entries.level, number) else { return Some(FoundRow::Unread) };
        let within = |len: usize| places.start..places.end.min(len);
        match &*page {
            TrackPage::Rows(rows) => {
                let found = rows.get(within(rows.len())).unwrap_or_default();
                let is_it = |(at, row): &(u64, &TrackEntry)| {
                    let is_beyond = if self.is_backwards { *at < self.from } else { *at > self.from };
                    is_beyond && row.name == self.name && row.duration_ns() > 0
                };
                let mut rows = (entries.first..).zip(found);
                let at = if self.is_backwards { rows.filter(is_it).last() } else { rows.find(is_it) };
                at.map(|(at, row)| FoundRow::Row(at, *row))
            }
            TrackPage::Summaries(sums) => {
                let sums = sums.get(within(sums.len())).unwrap_or_default();
                let count = sums.len() as u64;
                let rows = (FAN_OUT as u64).saturating_pow(entries.level.into());
                (0..count).find_map(|step| {
                    let place = if self.is_backwards { count - 1 - step } else { step };
                    let (at, sum) = (entries.first + place, sums.get(place as usize)?);
                    let (first, end) = (at.saturating_mul(rows), (at + 1).saturating_mul(rows));
                    let is_beyond = if self.is_backwards { first < self.from } else { end > self.from + 1 };
                    let may_have = is_beyond && entries.level > 0 && self.may_be_in(sum);
                    may_have.then(|| self.within(&EntryRange::below(entries.level, at))).flatten()
                })
            }
            TrackPage::RowPageEnds(_) => None,
        }
    }

    /// Whether rows of the name may be among those that are summed up.
    fn may_be_in(&self, sum: &TrackSummary) -> bool {
        sum.other_ns > 0 || sum.top.iter().any(|(name, time_ns)| *name == self.name && *time_ns > 0)
    }
}

//! How long rows of each name took in a range of time.

use super::{
    TrackInfo, TrackNameId, TrackPage, TrackPages,
    walk::{EntryRange, overlapping},
};
use crate::IdMap;

/// By name, how long its rows took.
pub type NameTotals = IdMap<TrackNameId, u64>;

/// Adds to `totals` how long rows of a track took between two moments, as far as they lie there.
pub fn track_totals(pages: &dyn TrackPages, track: &TrackInfo, range: std::ops::Range<u64>, totals: &mut NameTotals) {
    if track.rows > 0 && !range.is_empty() {
        visit(pages, &EntryRange::top(track), &range, totals);
    }
}

fn visit(pages: &dyn TrackPages, entries: &EntryRange, range: &std::ops::Range<u64>, totals: &mut NameTotals) {
    let mut add = |name: TrackNameId, time_ns: u64| {
        let sum = totals.entry(name).or_default();
        *sum = sum.saturating_add(time_ns);
    };
    let (number, places) = entries.place();
    let Some(page) = pages.page(entries.level, number) else { return };
    match &*page {
        TrackPage::Rows(rows) => {
            let rows = rows.get(places.start..places.end.min(rows.len())).unwrap_or_default();
            for (_, row) in overlapping(rows, range, |row| (row.begin_ns, row.end_ns)) {
                add(row.name, row.end_ns.min(range.end).saturating_sub(row.begin_ns.max(range.start)));
            }
        }
        TrackPage::RowPageEnds(_) => {}
        TrackPage::Summaries(sums) => {
            let sums = sums.get(places.start..places.end.min(sums.len())).unwrap_or_default();
            let mut parts = Vec::new();
            for (at, sum) in overlapping(sums, range, |sum| (sum.begin_ns, sum.end_ns)) {
                let is_inside = sum.begin_ns >= range.start && sum.end_ns <= range.end;
                if is_inside && sum.other_ns == 0 || entries.level == 0 {
                    sum.top.iter().filter(|(_, time_ns)| *time_ns > 0).for_each(|(name, time_ns)| add(*name, *time_ns));
                } else {
                    parts.push(at);
                }
            }
            for at in parts {
                let below = EntryRange::below(entries.level, entries.first + at as u64);
                visit(pages, &below, range, totals);
            }
        }
    }
}

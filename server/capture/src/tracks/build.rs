//! Adding rows to tracks.

use super::{
    FAN_OUT, MAX_LANES, MAX_STREAM_TRACKS, MAX_TRACK_NAMES, TrackDirectory, TrackEntry, TrackInfo, TrackName,
    TrackNameId, TrackPage, TrackRule, TrackSummary,
    drawn_build::{DrawnBuilder, PageOutput},
    ends::{ENDS_OF_PAGE, PAGE_ENDS_LEVEL},
    page_entries,
    rule::TrackRow,
    top_level,
};
use crate::{Batch, IdMap, codec::Encoder};

/// A page as it is stored. One with the same track, level and number takes the place of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltPage {
    /// The track, by its number in the stream.
    pub track: u32,
    /// The level, 0 for rows, [`super::DRAWN_LEVEL`] for what is drawn, one less for when pages of rows end.
    pub level: u8,
    /// Which of the level.
    pub number: u64,
    /// The page.
    pub bytes: Vec<u8>,
}

/// Makes the tracks of a stream from its rows, as they come.
pub struct TrackIndexBuilder {
    rule: TrackRule,
    tracks: Vec<OpenTrack>,
    /// By key, its lanes: their tracks.
    lanes: IdMap<u64, Vec<u32>>,
    names: Vec<TrackName>,
    named: IdMap<TrackName, TrackNameId>,
    dropped_rows: u64,
    encoder: Encoder,
    full: Vec<BuiltPage>,
}

/// What of a track is not in whole pages yet.
#[derive(Debug)]
struct OpenTrack {
    key: u64,
    lane: u16,
    pid: u64,
    comm: u32,
    count: u64,
    last_end_ns: u64,
    rows: Vec<TrackEntry>,
    /// When pages of rows end, those that are on no whole page of ends yet.
    page_ends_ns: Vec<u64>,
    /// Level 1 and those above: the number of the page, and its entries.
    levels: Vec<OpenLevel>,
    drawn: DrawnBuilder,
    sum: TrackSummary,
    is_changed: bool,
}

#[derive(Debug, Default)]
struct OpenLevel {
    number: u32,
    entries: Vec<TrackSummary>,
}

impl std::fmt::Debug for TrackIndexBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrackIndexBuilder").field("rule", &self.rule).field("tracks", &self.tracks.len()).finish()
    }
}

impl TrackIndexBuilder {
    /// For a stream without rows yet.
    pub fn new(rule: TrackRule) -> Self {
        Self {
            rule,
            tracks: Vec::new(),
            lanes: IdMap::default(),
            names: Vec::new(),
            named: IdMap::default(),
            dropped_rows: 0,
            encoder: Encoder::new(),
            full: Vec::new(),
        }
    }

    /// The rule for its rows.
    pub const fn rule(&self) -> &TrackRule {
        &self.rule
    }

    /// Adds rows, which are in order of their beginnings, and end after those that were added before them.
    pub fn add(&mut self, batch: &Batch) {
        let rule = self.rule.clone();
        rule.for_each(batch, |row| self.add_row(row));
    }

    /// What is to be stored since this was asked before: whole pages, and those that are not whole as they are now.
    pub fn take_pages(&mut self) -> Vec<BuiltPage> {
        let mut pages = std::mem::take(&mut self.full);
        for (number, track) in (0..).zip(&mut self.tracks) {
            if track.is_changed {
                track.publish(number, &mut self.encoder, &mut pages);
                track.is_changed = false;
            }
        }
        pages
    }

    /// Pages that are whole, of which nothing will change.
    pub fn take_full_pages(&mut self) -> Vec<BuiltPage> {
        std::mem::take(&mut self.full)
    }

    /// All tracks and names, as the last [`Self::take_pages`] has left them.
    pub fn directory(&self) -> TrackDirectory {
        let info = |track: &OpenTrack| TrackInfo {
            key: track.key,
            lane: track.lane,
            pid: track.pid,
            comm: track.comm,
            rows: track.count,
            has_page_ends: true,
            sum: track.sum,
        };
        let tracks = self.tracks.iter().map(info).collect();
        TrackDirectory { tracks, names: self.names.clone(), dropped_rows: self.dropped_rows }
    }

    fn add_row(&mut self, row: TrackRow) {
        let Some(number) = self.track_of(&row) else {
            self.dropped_rows += 1;
            return;
        };
        let name = self.name_of(row.name);
        let Some(track) = self.tracks.get_mut(number as usize) else { return };
        // Rows of one depth overlap only where events were lost between them.
        let begin_ns = row.entry.begin_ns.max(track.last_end_ns);
        let entry = TrackEntry { begin_ns, end_ns: row.entry.end_ns.max(begin_ns), name };
        track.comm = row.comm;
        // Not as soon as a page is whole: if it is the last one of its level, it tells what the whole track is.
        if track.rows.len() == page_entries(0) {
            track.flush(number, &mut self.encoder, &mut self.full);
        }
        track.push(entry);
    }

    /// The track that a row belongs to, made if there is none.
    fn track_of(&mut self, row: &TrackRow) -> Option<u32> {
        let lanes = self.lanes.entry(row.key).or_default();
        let tracks = &self.tracks;
        let lane_of = |number: &u32| tracks.get(*number as usize);
        let depth = row.depth.map(|depth| u16::try_from(depth).unwrap_or(u16::MAX).min(MAX_LANES - 1));
        let known = match depth {
            Some(depth) => lanes.iter().find(|number| lane_of(number).is_some_and(|track| track.lane == depth)),
            None => {
                lanes.iter().find(|number| lane_of(number).is_some_and(|track| track.last_end_ns <= row.entry.begin_ns))
            }
        };
        if let Some(known) = known {
            return Some(*known);
        }
        if self.tracks.len() >= MAX_STREAM_TRACKS || lanes.len() >= usize::from(MAX_LANES) {
            return None;
        }
        let lane = depth.unwrap_or(lanes.len() as u16);
        let number = self.tracks.len() as u32;
        lanes.push(number);
        self.tracks.push(OpenTrack {
            key: row.key,
            lane,
            pid: row.pid,
            comm: row.comm,
            count: 0,
            last_end_ns: 0,
            rows: Vec::new(),
            page_ends_ns: Vec::new(),
            levels: Vec::new(),
            drawn: DrawnBuilder::default(),
            sum: TrackSummary::default(),
            is_changed: false,
        });
        Some(number)
    }

    fn name_of(&mut self, name: TrackName) -> TrackNameId {
        if let Some(known) = self.named.get(&name) {
            return *known;
        }
        let names = &mut self.names;
        if names.len() >= MAX_TRACK_NAMES {
            return (names.len() - 1) as TrackNameId;
        }
        let id = names.len() as TrackNameId;
        names.push(name);
        self.named.insert(name, id);
        id
    }
}

impl OpenLevel {
    fn is_full(&self) -> bool {
        self.entries.len() >= page_entries(1)
    }
}

/// The last entries that are no whole group yet.
fn pending<T>(entries: &[T]) -> &[T] {
    entries.get(entries.len() / FAN_OUT * FAN_OUT..).unwrap_or_default()
}

impl OpenTrack {
    fn push(&mut self, entry: TrackEntry) {
        self.rows.push(entry);
        self.count += 1;
        self.last_end_ns = entry.end_ns;
        self.is_changed = true;
        let mut whole =
            whole_group(&self.rows).and_then(|rows| TrackSummary::sum(rows.iter().copied().map(TrackSummary::of)));
        let mut level = 0;
        while let Some(sum) = whole.take() {
            if self.levels.len() <= level {
                self.levels.push(OpenLevel::default());
            }
            let Some(above) = self.levels.get_mut(level) else { return };
            above.entries.push(sum);
            whole = whole_group(&above.entries).and_then(|group| TrackSummary::sum(group.iter().copied()));
            level += 1;
        }
    }

    /// Takes away what is a whole page.
    fn flush(&mut self, track: u32, encoder: &mut Encoder, pages: &mut Vec<BuiltPage>) {
        let most = page_entries(0);
        if self.rows.len() == most {
            let number = (self.count - 1) / most as u64;
            let rows = std::mem::take(&mut self.rows);
            self.drawn.add(&rows, &mut PageOutput { track, encoder, pages });
            let page = TrackPage::Rows(rows);
            pages.push(BuiltPage { track, level: 0, number, bytes: page.encode_with(encoder) });
            self.page_ends_ns.push(self.last_end_ns);
            if self.page_ends_ns.len() == ENDS_OF_PAGE {
                let ends = std::mem::take(&mut self.page_ends_ns);
                pages.push(page_of_ends(track, number, ends, encoder));
            }
        }
        for (level, open) in (1..).zip(&mut self.levels).filter(|(_, open)| open.is_full()) {
            let page = TrackPage::Summaries(std::mem::take(&mut open.entries));
            pages.push(BuiltPage { track, level, number: open.number.into(), bytes: page.encode_with(encoder) });
            open.number += 1;
        }
    }

    /// Gives the last pages of all levels, with what sums up the rows that are no whole group yet.
    fn publish(&mut self, track: u32, encoder: &mut Encoder, pages: &mut Vec<BuiltPage>) {
        self.drawn.publish(&self.rows, &mut PageOutput { track, encoder, pages });
        let mut rest = TrackSummary::sum(pending(&self.rows).iter().copied().map(TrackSummary::of));
        if !self.rows.is_empty() {
            let number = (self.count - 1) / page_entries(0) as u64;
            let page = TrackPage::Rows(self.rows.clone());
            pages.push(BuiltPage { track, level: 0, number, bytes: page.encode_with(encoder) });
            // One page of rows is found without.
            if number > 0 {
                let ends = self.page_ends_ns.iter().copied().chain([self.last_end_ns]).collect();
                pages.push(page_of_ends(track, number, ends, encoder));
            }
        }
        let top = top_level(self.count);
        if top == 0 {
            self.sum = TrackSummary::sum(self.rows.iter().copied().map(TrackSummary::of)).unwrap_or_default();
        }
        let none = OpenLevel::default();
        for level in 1..=top {
            let open = self.levels.get(usize::from(level) - 1).unwrap_or(&none);
            let all: Vec<TrackSummary> = open.entries.iter().copied().chain(rest).collect();
            rest = TrackSummary::sum(pending(&open.entries).iter().copied().chain(rest));
            if level == top {
                self.sum = TrackSummary::sum(all.iter().copied()).unwrap_or_default();
            }
            if !all.is_empty() {
                let page = TrackPage::Summaries(all);
                pages.push(BuiltPage { track, level, number: open.number.into(), bytes: page.encode_with(encoder) });
            }
        }
    }
}

/// A page of ends, the last of which is that of the page of rows with this number.
fn page_of_ends(track: u32, row_page: u64, ends_ns: Vec<u64>, encoder: &mut Encoder) -> BuiltPage {
    let bytes = TrackPage::RowPageEnds(ends_ns).encode_with(encoder);
    BuiltPage { track, level: PAGE_ENDS_LEVEL, number: row_page / ENDS_OF_PAGE as u64, bytes }
}

/// The last group, if it has just become whole.
fn whole_group<T>(entries: &[T]) -> Option<&[T]> {
    if entries.is_empty() || !entries.len().is_multiple_of(FAN_OUT) {
        return None;
    }
    entries.get(entries.len() - FAN_OUT..)
}

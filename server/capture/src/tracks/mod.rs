//! The track index: what each thread, CPU or device did one thing after another, so that any window at any zoom is drawn
//! without rows.
//!
//! A *track* is the sequence of states or slices of one stream that have one key ([`TrackRule`]) and do not overlap; slices of
//! a key that do are on several *lanes*, each a track. Its rows are entries of level 0. [`FAN_OUT`] entries of a level are
//! summed up by one of the level above ([`TrackSummary`]): from when to when, how many rows, the longest, and how long each of
//! the [`TOP`] that took most of the time. Entries are in *pages* of a fixed number, so an entry's children are found by
//! counting, and nothing points anywhere.
//!
//! A window is drawn from the one page of the highest level downwards ([`walk_track`]): an entry that is narrower than a pixel is drawn
//! as it is, others through their children. So whatever is as wide as a pixel is drawn exactly, and what is not costs no more
//! than a few entries a pixel, however many rows there are. Sums over a range are exact in the same way ([`track_totals`]).
//!
//! Where that would be many pages, what is drawn is stored as well, for each width of columns ([`DrawnPage`]). Where a window has
//! few rows, their pages are found at once by when each page of rows ends, without the levels in between.
//!
//! Rows come in order of their ends, and so do those of one track; so pages are only added to, and a capture that is recorded
//! is indexed as it grows ([`TrackIndexBuilder`]). What rows are called is a number in the stream's list of [`TrackName`]s.
//!
//! The idea is that of the implicit forests of the time index and of trace viewers, with pages for each track, as a window
//! shows some tens of thousands of tracks.

mod build;
mod code;
mod columns;
mod directory;
mod drawn;
mod drawn_build;
mod ends;
mod find;
mod rule;
mod totals;
mod walk;

use crate::StringId;

pub use build::{BuiltPage, TrackIndexBuilder};
pub use code::{MAX_TRACK_PAGE_BYTES, TrackPageDecoder};
pub use columns::{ColumnGrid, ColumnSum, PAGE_COLUMNS, SHARE_STEPS, TrackColumns, rows_code};
pub use directory::{MAX_TRACK_DIRECTORY_BYTES, TrackDirectory};
pub use drawn::{DRAWN_LEVEL, DrawnDecoder, DrawnPage, DrawnPiece, drawn_number, packed_shares};
pub use find::{FoundRow, row_at, row_number, row_of_name};
pub use rule::{TrackKind, TrackRow, TrackRule};
pub use totals::{NameTotals, track_totals};
pub use walk::{PIECE_NAMES, TrackPages, TrackPiece, walk_track};

/// How many entries one of the level above sums up.
pub(crate) const FAN_OUT: usize = 16;
/// Entries of a page of rows.
pub(crate) const PAGE_ROWS: usize = 512;
/// Entries of a page of sums.
pub(crate) const PAGE_SUMMARIES: usize = 256;
/// Names of a summary whose time is told.
pub(crate) const TOP: usize = 6;
/// Levels above the rows: enough for all rows that a stream can have.
pub const MAX_TRACK_LEVELS: u8 = ends::PAGE_ENDS_LEVEL - 1;
/// The most tracks of a stream; rows of further ones are counted and not in the index.
pub const MAX_STREAM_TRACKS: usize = 1 << 15;
/// The most lanes of a key whose slices overlap.
pub const MAX_LANES: u16 = 64;
/// The most names of a stream; rows with further ones are called by the last.
pub const MAX_TRACK_NAMES: usize = 1 << 20;

/// What a row is called: a number in the order of their first rows.
pub type TrackNameId = u32;

/// What rows of a track are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackName {
    /// A text such as the state, the call or the function; 0 where rows have none.
    pub text: StringId,
    /// A number that tells rows without text apart, such as that of a soft interrupt.
    pub number: u64,
    /// Of a CPU's track, the process that ran.
    pub pid: u32,
    /// Of a CPU's track, the thread that ran.
    pub tid: u32,
}

/// A row of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackEntry {
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What it is called.
    pub name: TrackNameId,
}

impl TrackEntry {
    /// How long it took.
    pub const fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// Some rows of a track that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackSummary {
    /// When the first began.
    pub begin_ns: u64,
    /// When the last ended.
    pub end_ns: u64,
    /// How many there are.
    pub rows: u64,
    /// The longest; the first of equals.
    pub longest: TrackEntry,
    /// How long rows of the names took that took most, from the longest on; 0 where there are fewer names.
    pub top: [(TrackNameId, u64); TOP],
    /// How long the rows of all other names took.
    pub other_ns: u64,
}

impl TrackSummary {
    /// Of one row.
    pub(crate) fn of(entry: TrackEntry) -> Self {
        let mut top = [(0, 0); TOP];
        top[0] = (entry.name, entry.duration_ns());
        Self { begin_ns: entry.begin_ns, end_ns: entry.end_ns, rows: 1, longest: entry, top, other_ns: 0 }
    }

    /// Of some that follow each other; none if there are none.
    pub(crate) fn sum(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut all = parts.next()?;
        // As many as most groups have.
        let mut names: Vec<(TrackNameId, u64)> = Vec::with_capacity(FAN_OUT);
        let mut add = |part: &Self| {
            for (name, time_ns) in part.top.iter().filter(|(_, time_ns)| *time_ns > 0) {
                match names.iter_mut().find(|(known, _)| known == name) {
                    Some((_, sum)) => *sum += time_ns,
                    None => names.push((*name, *time_ns)),
                }
            }
        };
        add(&all);
        for part in parts {
            add(&part);
            all.end_ns = part.end_ns;
            all.rows += part.rows;
            all.other_ns += part.other_ns;
            if part.longest.duration_ns() > all.longest.duration_ns() {
                all.longest = part.longest;
            }
        }
        names.sort_unstable_by_key(|(name, time_ns)| (std::cmp::Reverse(*time_ns), *name));
        all.top = [(0, 0); TOP];
        all.top.iter_mut().zip(&names).for_each(|(place, name)| *place = *name);
        all.other_ns += names.iter().skip(TOP).map(|(_, time_ns)| time_ns).sum::<u64>();
        Some(all)
    }

    /// For how long there were rows.
    pub fn busy_ns(&self) -> u64 {
        self.top.iter().map(|(_, time_ns)| time_ns).sum::<u64>() + self.other_ns
    }
}

/// A page of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackPage {
    /// Of level 0.
    Rows(Vec<TrackEntry>),
    /// Of a level above.
    Summaries(Vec<TrackSummary>),
    /// When each of some pages of level 0 that follow each other ends, nanoseconds.
    RowPageEnds(Vec<u64>),
}

/// A track of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackInfo {
    /// The thread, the CPU, or the value of the stream's key, by [`TrackRule::kind`]; a text by its id.
    pub key: u64,
    /// Which of several that have this key: the depth of nested slices, or one of those that slices share which overlap.
    pub lane: u16,
    /// Of a thread, its process.
    pub pid: u64,
    /// Of a thread, its last name.
    pub comm: StringId,
    /// How many rows there are.
    pub rows: u64,
    /// Whether it is stored when each page of rows ends; indexes of earlier releases do not have it.
    pub has_page_ends: bool,
    /// All rows at once.
    pub sum: TrackSummary,
}

impl TrackInfo {
    /// The level that has one page.
    pub fn top_level(&self) -> u8 {
        top_level(self.rows)
    }

    /// How many entries a level has.
    pub fn entries(&self, level: u8) -> u64 {
        (0..level).fold(self.rows, |entries, _| entries.div_ceil(FAN_OUT as u64))
    }
}

/// The level that has one page, of a track with so many rows.
fn top_level(rows: u64) -> u8 {
    let mut entries = rows;
    let mut level = 0;
    while entries > page_entries(level) as u64 && level < MAX_TRACK_LEVELS {
        entries = entries.div_ceil(FAN_OUT as u64);
        level += 1;
    }
    level
}

/// How many entries a page of a level has, the last of a level excepted.
pub(crate) const fn page_entries(level: u8) -> usize {
    if level == 0 { PAGE_ROWS } else { PAGE_SUMMARIES }
}

#[cfg(test)]
mod tests;

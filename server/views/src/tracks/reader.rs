//! Rows of tracks read one after another, wherever the one before leads: pages and chunks that were read are kept meanwhile.

use std::{cell::RefCell, collections::HashMap, sync::Arc, sync::atomic::Ordering};

use bathyscope_capture::{
    Batch, ColumnData, FoundRow, NameTotals, TrackDirectory, TrackEntry, TrackInfo, TrackPage, TrackPages, TrackRule,
    row_at, row_number, track_totals,
};

use crate::{Cancel, Source, TrackPageMap, ViewError, answers::TrackId};

/// Pages that are kept; then all are forgotten and read again as they are needed.
const MAX_KEPT_PAGES: usize = 4096;
/// Chunks that a row is looked for in, behind and before the one that it is most likely in.
const NEAR_CHUNKS: usize = 8;

/// A track with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundTrack<'a> {
    pub(crate) id: TrackId,
    pub(crate) info: &'a TrackInfo,
}

/// A stream that has tracks.
#[derive(Clone, Debug)]
pub(crate) struct TrackedStream<'a> {
    pub(crate) stream: u16,
    pub(crate) directory: &'a TrackDirectory,
    pub(crate) rule: TrackRule,
    /// By key, its tracks: one for each lane.
    tracks: HashMap<u64, Vec<u32>>,
}

impl<'a> TrackedStream<'a> {
    /// The streams that have tracks, as far as `is_wanted` says so of their numbers and rules.
    pub(crate) fn all(source: &'a dyn Source, is_wanted: impl Fn(u16, &TrackRule) -> bool) -> Vec<Self> {
        let one = |(stream, directory): &'a (u16, TrackDirectory)| {
            let rule = TrackRule::of(source.streams().get(usize::from(*stream))?)?;
            is_wanted(*stream, &rule).then(|| Self::new(*stream, directory, rule))
        };
        source.tracks().iter().filter_map(one).collect()
    }

    fn new(stream: u16, directory: &'a TrackDirectory, rule: TrackRule) -> Self {
        let mut tracks: HashMap<u64, Vec<u32>> = HashMap::new();
        for (number, track) in (0..).zip(&directory.tracks) {
            tracks.entry(track.key).or_default().push(number);
        }
        Self { stream, directory, rule, tracks }
    }

    /// The tracks of a key, by lane as they came.
    pub(crate) fn of_key(&self, key: u64) -> impl Iterator<Item = FoundTrack<'a>> {
        self.tracks.get(&key).into_iter().flatten().filter_map(|track| self.track(*track))
    }

    /// All tracks.
    pub(crate) fn every(&self) -> impl Iterator<Item = FoundTrack<'a>> {
        let stream = self.stream;
        let found = move |(track, info)| FoundTrack { id: TrackId { stream, track }, info };
        (0..).zip(&self.directory.tracks).map(found)
    }

    /// The track with a number.
    pub(crate) fn track(&self, track: u32) -> Option<FoundTrack<'a>> {
        let info = self.directory.tracks.get(track as usize)?;
        Some(FoundTrack { id: TrackId { stream: self.stream, track }, info })
    }

    /// The text that rows of an entry's name have; empty where there is none.
    pub(crate) fn text<'b>(&self, source: &'b dyn Source, entry: &TrackEntry) -> &'b [u8] {
        let name = self.directory.names.get(entry.name as usize).map_or(0, |name| name.text);
        source.dictionaries().text(name).unwrap_or_default()
    }

    /// The stored row that an entry was made of, with the columns in `wanted` (ascending); none where it is not found. Rows
    /// are stored in the order of their ends: it is in the first chunk that has a row from after its end, or in one just
    /// before that.
    ///
    /// # Errors
    /// If a chunk cannot be read.
    pub(crate) fn stored_row(
        &self,
        source: &dyn Source,
        key: u64,
        entry: &TrackEntry,
        wanted: &[usize],
    ) -> Result<Option<StoredRow>, ViewError> {
        let chunks = source.chunks(self.stream);
        let likely = chunks.partition_point(|chunk| chunk.last_ns < entry.end_ns);
        let (first, last) = (likely.saturating_sub(NEAR_CHUNKS), (likely + NEAR_CHUNKS).min(chunks.len()));
        let mut near: Vec<usize> = (first..last).collect();
        near.sort_by_key(|chunk| chunk.abs_diff(likely));
        let mut columns: Vec<usize> = self.rule.columns().into_iter().chain(wanted.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        for chunk in near {
            if chunks.get(chunk).is_none_or(|meta| meta.first_ns > entry.end_ns) {
                continue;
            }
            let batch = source.batch(self.stream, chunk, &columns)?;
            if let Some(row) = self.rule.row_of(&batch, key, entry) {
                return Ok(Some(StoredRow { batch, row }));
            }
        }
        Ok(None)
    }
}

/// A row as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredRow {
    pub(crate) batch: Arc<Batch>,
    pub(crate) row: usize,
}

impl StoredRow {
    /// A number or an id of it; none where there is no such column.
    pub(crate) fn number(&self, column: Option<usize>) -> Option<u64> {
        word(&self.batch, column, self.row)
    }

    /// A number that may be negative.
    pub(crate) fn signed(&self, column: Option<usize>) -> Option<i64> {
        self.number(column).map(u64::cast_signed)
    }
}

/// A number or an id of a row; none where there is no such column.
pub(crate) fn word(batch: &Batch, column: Option<usize>, row: usize) -> Option<u64> {
    match batch.columns.get(column?)? {
        ColumnData::U64(values) => values.get(row).copied(),
        ColumnData::I64(values) => values.get(row).map(|value| value.cast_unsigned()),
        ColumnData::Id(values) => values.get(row).map(|id| u64::from(*id)),
    }
}

/// Reads rows of tracks.
pub(crate) struct TrackReader<'a> {
    pub(crate) source: &'a dyn Source,
    cancel: &'a Cancel,
    pages: HashMap<u16, TrackPageMap>,
    kept: usize,
}

/// The pages of a track that are at hand, and those that were asked for and are not.
struct PagesAtHand<'a> {
    pages: Option<&'a TrackPageMap>,
    track: u32,
    missing: RefCell<Vec<(u32, u8, u32)>>,
}

impl TrackPages for PagesAtHand<'_> {
    fn page(&self, level: u8, number: u32) -> Option<Arc<TrackPage>> {
        let place = (self.track, level, number);
        let page = self.pages.and_then(|pages| pages.get(&place));
        if page.is_none() {
            self.missing.borrow_mut().push(place);
        }
        page.map(Arc::clone)
    }
}

impl<'a> TrackReader<'a> {
    /// Nothing is read yet.
    pub(crate) fn new(source: &'a dyn Source, cancel: &'a Cancel) -> Self {
        Self { source, cancel, pages: HashMap::new(), kept: 0 }
    }

    /// Whether nobody waits any more.
    ///
    /// # Errors
    /// [`ViewError::Cancelled`] then.
    pub(crate) fn go_on(&self) -> Result<(), ViewError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ViewError::Cancelled) } else { Ok(()) }
    }

    /// The first row of a track that ends after a moment, with its number.
    ///
    /// # Errors
    /// If a page cannot be read, or the view was cancelled.
    pub(crate) fn row_at(
        &mut self,
        track: FoundTrack<'_>,
        time_ns: u64,
    ) -> Result<Option<(u64, TrackEntry)>, ViewError> {
        self.until_read(track.id, |pages| row_at(pages, track.info, time_ns)).map(row)
    }

    /// The row of a track with a number.
    ///
    /// # Errors
    /// As [`Self::row_at`].
    pub(crate) fn row_number(&mut self, track: FoundTrack<'_>, number: u64) -> Result<Option<TrackEntry>, ViewError> {
        let found = self.until_read(track.id, |pages| row_number(pages, track.info, number))?;
        Ok(row(found).map(|(_, entry)| entry))
    }

    /// How long rows of each name took in a range.
    ///
    /// # Errors
    /// As [`Self::row_at`].
    pub(crate) fn totals(
        &mut self,
        track: FoundTrack<'_>,
        range: std::ops::Range<u64>,
    ) -> Result<NameTotals, ViewError> {
        self.until_read(track.id, |pages| {
            let mut totals = NameTotals::default();
            track_totals(pages, track.info, range.clone(), &mut totals);
            totals
        })
    }

    /// Asks `find` until all pages that it wants are at hand.
    ///
    /// # Errors
    /// As [`Self::row_at`].
    fn until_read<T>(&mut self, track: TrackId, find: impl Fn(&dyn TrackPages) -> T) -> Result<T, ViewError> {
        loop {
            if let Some(found) = self.until_read_most(track, MAX_KEPT_PAGES, &find)? {
                return Ok(found);
            }
        }
    }

    /// Asks `find` until all pages that it wants are at hand; none if these are more than so many.
    ///
    /// # Errors
    /// As [`Self::row_at`].
    pub(crate) fn until_read_most<T>(
        &mut self,
        TrackId { stream, track }: TrackId,
        most: usize,
        find: impl Fn(&dyn TrackPages) -> T,
    ) -> Result<Option<T>, ViewError> {
        let mut read = 0;
        loop {
            let at_hand = PagesAtHand { pages: self.pages.get(&stream), track, missing: RefCell::default() };
            let found = find(&at_hand);
            let missing = at_hand.missing.take();
            if missing.is_empty() {
                return Ok(Some(found));
            }
            self.go_on()?;
            read += missing.len();
            if read > most {
                return Ok(None);
            }
            if self.kept + missing.len() > MAX_KEPT_PAGES {
                self.pages.clear();
                self.kept = 0;
            }
            let new = self.source.track_pages(stream, &missing)?;
            if missing.iter().any(|place| !new.contains_key(place)) {
                return Err(ViewError::Shape { stream, chunk: 0, what: "a page of the track index is missing" });
            }
            self.kept += new.len();
            self.pages.entry(stream).or_default().extend(new);
        }
    }
}

fn row(found: FoundRow) -> Option<(u64, TrackEntry)> {
    match found {
        FoundRow::Row(number, entry) => Some((number, entry)),
        FoundRow::None | FoundRow::Unread => None,
    }
}

//! Where views take a capture's rows from.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
};

use bathyscope_capture::{
    Batch, ColumnGrid, ColumnStats, DrawnPage, EncodedChunk, Grouping, IdMap, IndexBlock, IndexDirectory, Loss,
    StreamSchema, TrackDirectory, TrackPage,
};

use crate::{Dictionaries, KeptViews, ViewError, unasked::UnaskedRows};

/// Set to true by whoever asked for a view and no longer wants it.
pub type Cancel = AtomicBool;

/// What is known of a chunk without loading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkMeta {
    /// Rows in it, at least 1.
    pub rows: u32,
    /// Time of the first row, monotonic nanoseconds.
    pub first_ns: u64,
    /// Time of the last row, monotonic nanoseconds.
    pub last_ns: u64,
    /// One for each column, or none at all where they were not loaded; chunks that cannot match a filter are skipped by
    /// them.
    pub stats: Vec<ColumnStats>,
}

impl From<&EncodedChunk> for ChunkMeta {
    fn from(chunk: &EncodedChunk) -> Self {
        Self { rows: chunk.rows, first_ns: chunk.first_ns, last_ns: chunk.last_ns, stats: chunk.stats.clone() }
    }
}

/// Pages of tracks by track, level and number.
pub type TrackPageMap = IdMap<(u32, u8, u32), Arc<TrackPage>>;

/// Pages of what is drawn of tracks, by track and page.
pub type DrawnPageMap = HashMap<(u32, u64), Arc<DrawnPage>>;

/// A capture as views read it. Chunk lists and dictionaries are in memory; chunks are loaded one by one.
///
/// It is a snapshot: what a view sees must not change while it runs, so a running capture is given as it was at the last
/// stored chunk.
pub trait Source {
    /// The capture's start, monotonic nanoseconds; the zero of all serialised times.
    fn origin_ns(&self) -> u64;

    /// The streams, by index.
    fn streams(&self) -> &[StreamSchema];

    /// The chunks of a stream in stored order; empty for a stream that does not exist.
    fn chunks(&self, stream: u16) -> &[ChunkMeta];

    /// Loads one chunk. Columns in `wanted` (ascending indexes) hold all rows, the others may be empty.
    ///
    /// # Errors
    /// [`ViewError::Load`] or [`ViewError::Chunk`].
    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError>;

    /// Which blocks of the time index there are of a stream; nothing if it has no index.
    fn index(&self, _stream: u16, _grouping: Grouping) -> Option<&IndexDirectory> {
        None
    }

    /// Loads a block that [`Source::index`] has.
    ///
    /// # Errors
    /// [`ViewError::Load`] or [`ViewError::Chunk`].
    fn index_block(
        &self,
        stream: u16,
        _grouping: Grouping,
        _level: u8,
        number: u32,
    ) -> Result<Arc<IndexBlock>, ViewError> {
        Err(ViewError::Shape { stream, chunk: number as usize, what: "there is no such block of the index" })
    }

    /// The nanoseconds of a CPU that each sample of a stream stands for, if that is known: the period of a clock.
    fn sample_period_ns(&self, _stream: u16) -> Option<u64> {
        None
    }

    /// Where what was made of this capture is kept, and by which number, if it does not change any more.
    fn kept(&self) -> Option<(&KeptViews, u64)> {
        None
    }

    /// The tracks of streams that have some, by their index.
    fn tracks(&self) -> &[(u16, TrackDirectory)] {
        &[]
    }

    /// Pages of a stream's tracks, by track, level and number; those that there are.
    ///
    /// # Errors
    /// [`ViewError::Load`] or [`ViewError::Chunk`].
    fn track_pages(&self, _stream: u16, _places: &[(u32, u8, u32)]) -> Result<TrackPageMap, ViewError> {
        Ok(TrackPageMap::default())
    }

    /// What is drawn of tracks of a stream with one width of columns, by track and page of these; where there is none, the rows
    /// and their sums say it.
    ///
    /// # Errors
    /// [`ViewError::Load`] or [`ViewError::Chunk`].
    fn drawn_pages(&self, _stream: u16, _grid: ColumnGrid, _places: &[(u32, u64)]) -> Result<DrawnPageMap, ViewError> {
        Ok(DrawnPageMap::new())
    }

    /// Rows that scans leave out, as the capture that this one is compared with did not ask for such.
    fn unasked(&self) -> Option<&UnaskedRows> {
        None
    }

    /// Strings, stacks, frames, mappings, symbols and process names.
    fn dictionaries(&self) -> &Dictionaries;

    /// The losses of the capture's ledger.
    fn losses(&self) -> &[Loss];
}

/// A span of time, monotonic nanoseconds: from `start_ns` until before `end_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first moment in it.
    pub start_ns: u64,
    /// The first moment after it.
    pub end_ns: u64,
}

impl TimeRange {
    /// All time.
    pub const ALL: Self = Self { start_ns: 0, end_ns: u64::MAX };

    /// A range given relative to the start of a capture, as URLs have it.
    pub fn relative(origin_ns: u64, start: u64, end: u64) -> Self {
        Self { start_ns: origin_ns.saturating_add(start), end_ns: origin_ns.saturating_add(end) }
    }

    /// From the capture's start (or its first row, if that is earlier) to just after its last row.
    pub fn of(source: &dyn Source) -> Self {
        let mut range = Self { start_ns: source.origin_ns(), end_ns: source.origin_ns().saturating_add(1) };
        for stream in 0..u16::try_from(source.streams().len()).unwrap_or(u16::MAX) {
            for chunk in source.chunks(stream) {
                range.start_ns = range.start_ns.min(chunk.first_ns);
                range.end_ns = range.end_ns.max(chunk.last_ns.saturating_add(1));
            }
        }
        range
    }

    /// Its length in nanoseconds; 0 if it is empty or turned round.
    pub const fn span_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Whether the moment is in it.
    pub const fn contains(self, time_ns: u64) -> bool {
        self.start_ns <= time_ns && time_ns < self.end_ns
    }
}

/// `time_ns` relative to `origin_ns`; negative before it.
pub(crate) fn relative(origin_ns: u64, time_ns: u64) -> i64 {
    let difference = i128::from(time_ns) - i128::from(origin_ns);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

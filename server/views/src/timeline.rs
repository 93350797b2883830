//! What ran where and when: tracks of bins one pixel wide, and their binary form.

use serde::Serialize;

use crate::{Cancel, Filter, Source, TimeRange, ViewError};

/// The widest timeline in pixels.
pub const MAX_TIMELINE_WIDTH: u32 = 8192;
/// The most tracks of a timeline.
pub const MAX_TRACKS: u32 = 1024;
/// The first four bytes of the binary form, little endian: `BTL1`.
pub const TIMELINE_MAGIC: u32 = 0x314c_5442;

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// A CPU; tracks in the order of their numbers, names are threads' names.
    Cpu,
    /// A thread; the busiest first, names are events, or the thread's names in a profile.
    Thread,
}

/// Which part of a capture to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Pixels, 1 to [`MAX_TIMELINE_WIDTH`].
    pub width: u32,
    /// What a track is.
    pub group: Group,
    /// Which rows. A stream without the columns of the filter shows none.
    pub filter: Option<Filter>,
    /// The most tracks, 1 to [`MAX_TRACKS`]; the busiest are kept.
    pub limit_tracks: u32,
}

/// A window of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// Start of the range, relative to the capture's start.
    pub start: i64,
    /// End of the range, relative to the capture's start.
    pub end: i64,
    /// Number of bins.
    pub width: u32,
    /// What a track is.
    pub group: Group,
    /// The tracks.
    pub tracks: Vec<Track>,
    /// The names that bins refer to, made visible.
    pub names: Vec<String>,
    /// How many tracks with rows are not here.
    pub more_tracks: u64,
    /// The bins of each track, not in the JSON head.
    #[serde(skip)]
    pub bins: Vec<TrackBins>,
}

/// One track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Track {
    /// Names the track in URLs: `cpu:N` or `tid:N`.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// More about it: pid and tid.
    pub sub: String,
    /// Rows in the range that satisfy the filter.
    pub rows: u64,
    /// The process, of a thread.
    pub pid: Option<u64>,
    /// The thread.
    pub tid: Option<u64>,
    /// The CPU.
    pub cpu: Option<u64>,
}

/// The bins of a track that have rows: three lists of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackBins {
    /// Which pixel, ascending, less than the width.
    pub bin: Vec<u32>,
    /// How many rows; [`u32::MAX`] for that many or more.
    pub count: Vec<u32>,
    /// The most frequent name, an index into [`Timeline::names`].
    pub name: Vec<u32>,
}

/// Makes a window of the timeline; at most `width` bins in each of at most `limit_tracks` tracks.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn timeline(source: &dyn Source, query: &TimelineQuery, cancel: &Cancel) -> Result<Timeline, ViewError> {
    let _ = (source, query, cancel);
    unimplemented!()
}

impl Timeline {
    /// Puts a head in JSON (the caller serialises `self`) and the bins together in the binary form: magic, length of the
    /// head, head, zeroes to a multiple of 8, then for each track the number of bins, zero, bins, counts, names, zeroes
    /// to a multiple of 8. Little endian.
    pub fn encode(&self, head_json: &[u8]) -> Vec<u8> {
        let _ = head_json;
        unimplemented!()
    }
}

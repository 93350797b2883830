//! Which part of which tracks: the parameters of addresses about tracks.

use bathyscope_views::{
    Filter, RangeQuery, Source, TickQuery, TimeRange, TrackId, TrackMomentQuery, TrackWindowQuery, ViewError,
};
use serde::Deserialize;

const DEFAULT_WIDTH: u32 = 1200;

/// The parameters. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TracksQuery {
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// Pixels.
    pub width: Option<u32>,
    /// The tracks, with commas between them; for a moment one.
    pub tracks: String,
    /// The moment.
    pub time: Option<i64>,
}

/// A range of time; all of the capture where it is not told.
pub(crate) fn range(source: &dyn Source, start: Option<i64>, end: Option<i64>) -> TimeRange {
    let all = TimeRange::of(source);
    let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
    // Rows end after their time.
    let tracks = source.tracks().iter().flat_map(|(_, directory)| &directory.tracks);
    let last_ns = tracks.map(|track| track.sum.end_ns).max().unwrap_or(0);
    let end_ns = end.map_or(all.end_ns.max(last_ns), absolute);
    TimeRange { start_ns: start.map_or(all.start_ns, absolute).min(end_ns), end_ns }
}

impl TracksQuery {
    /// As a window.
    ///
    /// # Errors
    /// If a track cannot be read.
    pub fn window(&self, source: &dyn Source) -> Result<TrackWindowQuery, ViewError> {
        let range = range(source, self.start, self.end);
        Ok(TrackWindowQuery { range, width: self.width.unwrap_or(DEFAULT_WIDTH), tracks: self.tracks()? })
    }

    /// As a range of some or all tracks.
    ///
    /// # Errors
    /// If a track cannot be read.
    pub fn range(&self, source: &dyn Source) -> Result<RangeQuery, ViewError> {
        Ok(RangeQuery { range: range(source, self.start, self.end), tracks: self.tracks()? })
    }

    /// As a moment of a track.
    ///
    /// # Errors
    /// If it does not name one track.
    pub fn moment(&self, source: &dyn Source) -> Result<TrackMomentQuery, ViewError> {
        let [track] = self.tracks()?[..] else {
            return Err(ViewError::TrackId(self.tracks.parse::<TrackId>().err().unwrap_or_default()));
        };
        Ok(TrackMomentQuery { track, time_ns: source.origin_ns().saturating_add_signed(self.time.unwrap_or(0)) })
    }

    fn tracks(&self) -> Result<Vec<TrackId>, ViewError> {
        let words = self.tracks.split(',').filter(|word| !word.is_empty());
        Ok(words.map(str::parse).collect::<Result<_, _>>()?)
    }
}

/// Which sample or instant: the parameters of addresses about one. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InstantQuery {
    /// The streams, with commas between them.
    pub streams: String,
    /// The thread; rows of all without.
    pub tid: Option<u64>,
    /// The filter, as people write it.
    pub filter: String,
    /// The moment.
    pub time: Option<i64>,
    /// In place of the moment, a row of a stream: both numbers with a point between them.
    pub row: Option<String>,
}

impl InstantQuery {
    /// As a moment of rows.
    ///
    /// # Errors
    /// If a stream, a row or the filter cannot be read.
    pub fn tick(&self, source: &dyn Source) -> Result<TickQuery, ViewError> {
        let number = |word: &str| word.parse().map_err(|_not_a_number| ViewError::StreamNumber(word.to_owned()));
        let row = |text: &String| {
            let numbers =
                text.split_once('.').and_then(|(stream, row)| Some((stream.parse().ok()?, row.parse().ok()?)));
            numbers.ok_or_else(|| ViewError::RowNumber(text.clone()))
        };
        Ok(TickQuery {
            streams: self.streams.split(',').filter(|word| !word.is_empty()).map(number).collect::<Result<_, _>>()?,
            tid: self.tid,
            filter: Filter::parse(&self.filter)?,
            time_ns: source.origin_ns().saturating_add_signed(self.time.unwrap_or(0)),
            row: self.row.as_ref().map(row).transpose()?,
        })
    }
}

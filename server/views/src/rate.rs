//! How many rows per bin of time, for each stream, and where events were lost.

use bathyscope_capture::LossStage;
use serde::Serialize;

use crate::{Cancel, Filter, Source, TimeRange, ViewError};

/// The most bins of a rate.
pub const MAX_BINS: u32 = 8192;

/// What to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Into how many bins, 1 to [`MAX_BINS`].
    pub bins: u32,
    /// Which rows. A stream without the columns of the filter counts none.
    pub filter: Option<Filter>,
}

/// Counts per bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Start of the range, relative to the capture's start.
    pub start: i64,
    /// End of the range, relative to the capture's start.
    pub end: i64,
    /// Number of bins.
    pub bins: u32,
    /// The streams, all of them.
    pub streams: Vec<StreamRate>,
    /// Losses that can have happened in the range.
    pub losses: Vec<RateLoss>,
}

/// Counts of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamRate {
    /// The stream.
    pub stream: u16,
    /// Its name.
    pub name: String,
    /// Rows in each bin.
    pub counts: Vec<u64>,
}

/// One loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RateLoss {
    /// The stream, where it can be told.
    pub stream: Option<u16>,
    /// Where it happened.
    pub stage: LossStage,
    /// How many events.
    pub count: u64,
    /// The earliest moment, relative to the capture's start.
    pub start: i64,
    /// The latest moment, relative to the capture's start.
    pub end: i64,
}

/// Counts rows per bin.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn rate(source: &dyn Source, query: &RateQuery, cancel: &Cancel) -> Result<Rate, ViewError> {
    let _ = (source, query, cancel);
    unimplemented!()
}

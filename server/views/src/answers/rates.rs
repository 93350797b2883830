//! How many rows there were, by time.

use bathyscope_capture::LossStage;
use serde::Serialize;

/// Counts per bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Start of the first bin, relative to the capture's start: at or before the start of the range.
    pub start: i64,
    /// End of the last bin, relative to the capture's start: at or after the end of the range.
    pub end: i64,
    /// Number of bins, all of one length. Rows outside of the range do not count in them.
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

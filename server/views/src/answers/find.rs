//! What was found in all of a capture.

use serde::Serialize;

use super::RowFields;

/// Rows that were found in a part of a capture: counted, and marked by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FoundRows {
    /// The range's start.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// How many columns of equal width it has.
    pub columns: u32,
    /// The streams with rows that were found.
    pub streams: Vec<FoundInStream>,
    /// The columns with rows that were found, ascending.
    pub marked: Vec<u32>,
    /// How many there are in each of them.
    pub counts: Vec<u64>,
    /// The same by track, as far as there is room.
    pub tracks: Vec<FoundOnTrack>,
    /// The same by CPU that rows were recorded on, at their times.
    pub cpus: Vec<FoundOnCpu>,
    /// Rows that were found on tracks that are not among these.
    pub left_out: u64,
    /// Rows that last longer than what was asked about and are not told with their times.
    pub long_left_out: u64,
    /// Rows that were looked at for this answer.
    pub looked_at: u64,
    /// Rows that there are in all.
    pub rows: u64,
    /// Where to go on, if this is not all.
    pub next: Option<u64>,
}

/// How many rows of a stream were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundInStream {
    /// The stream.
    pub stream: u16,
    /// Its name.
    pub name: String,
    /// How many.
    pub rows: u64,
}

/// Where on a track rows were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundOnTrack {
    /// What the track is of, as the list of tracks has it.
    pub key: String,
    /// Its stream, if that is a value of a column of the stream.
    pub of_stream: Option<u16>,
    /// Runs of columns in which rows are, over their length: the first column of a run, and how many it has, by turns.
    pub runs: Vec<u32>,
    /// From when until when rows lasted that are longer than what was asked about: begins and ends, by turns.
    pub long: Vec<i64>,
}

/// On which rows of a CPU were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundOnCpu {
    /// The CPU.
    pub cpu: u64,
    /// Runs of columns in which times of rows are, as of tracks.
    pub runs: Vec<u32>,
}

/// The next row that was found, or the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FoundStep {
    /// The row; none if there is none, or none so far.
    pub row: Option<FoundHit>,
    /// Where to go on, if it may be further on.
    pub next: Option<u64>,
    /// Rows that were looked at for this answer.
    pub looked_at: u64,
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundHit {
    /// The time that it is stored with.
    pub time: i64,
    /// When what it tells of began.
    pub start: i64,
    /// When it ended; the same for a moment.
    pub end: i64,
    /// Its stream.
    pub stream: u16,
    /// The stream's name.
    pub name: String,
    /// Its number in the stream, from 0.
    pub row: u64,
    /// The track that it is on, as the list of tracks has it.
    pub key: String,
    /// That track's stream, if the track is of a value of one of its columns.
    pub of_stream: Option<u16>,
    /// All of its columns.
    pub fields: RowFields,
    /// In which of the columns of the range it is.
    pub column: u32,
    /// How many rows before it were found in that column; none where counting them would take too long.
    pub before: Option<u64>,
}

//! Tracks of a capture, and windows of them in their binary form.

use std::{fmt, str::FromStr};

use bathyscope_capture::{PIECE_NAMES, ShownCell, packed_shares};
use serde::Serialize;

use super::{ColumnHead, Track, TrackFlows};

/// The first four bytes of the binary form, little endian: `BTW2`.
pub const TRACK_WINDOW_MAGIC: u32 = 0x3257_5442;

/// A track of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackId {
    /// The stream.
    pub stream: u16,
    /// Its number there.
    pub track: u32,
}

impl fmt::Display for TrackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.stream, self.track)
    }
}

/// What does not name a track.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no track: a stream's number, a point, and the track's number there, such as 3.17")]
pub struct ParseTrackIdError(String);

impl FromStr for TrackId {
    type Err = ParseTrackIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseTrackIdError(text.to_owned());
        let (stream, track) = text.split_once('.').ok_or_else(bad)?;
        Ok(Self { stream: stream.parse().map_err(|_bad| bad())?, track: track.parse().map_err(|_bad| bad())? })
    }
}

/// All tracks that a capture has an index of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackList {
    /// When the first row of all begins.
    pub start: i64,
    /// When the last one ends.
    pub end: i64,
    /// The streams that have tracks.
    pub streams: Vec<TrackStream>,
    /// Their tracks, by stream; those of a thread, a CPU or a value follow each other by lane.
    pub tracks: Vec<TrackLine>,
    /// The names that tracks refer to.
    pub names: Vec<TrackLabel>,
    /// Rows that are on no track, as there are too many.
    pub left_out: u64,
    /// What else the tree has.
    pub binned: BinnedList,
}

/// What the tree has besides tracks of states and slices: it is drawn from bins of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BinnedList {
    /// The streams whose rows are samples or instants of threads, and say what no state does.
    pub tick_streams: Vec<u16>,
    /// The threads that have such rows, those with most of them first.
    pub ticks: Vec<Track>,
    /// The counters.
    pub counters: Vec<CounterTrack>,
    /// How many threads and counters there are besides.
    pub more: u64,
}

/// A counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CounterTrack {
    /// What it is.
    #[serde(flatten)]
    pub track: Track,
    /// Its greatest value in all of the capture, as bins of timelines tell it.
    pub most: u64,
}

/// A stream whose rows are on tracks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackStream {
    /// Its number.
    pub stream: u16,
    /// Its name.
    pub name: String,
    /// What its rows are.
    pub row: TrackedRow,
    /// What a track of it is.
    pub of: TrackOf,
    /// The column whose values tracks are of; empty for threads and CPUs.
    pub column: String,
}

/// What rows of a track are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackedRow {
    /// One follows the other.
    State,
    /// There may be time between them.
    Slice,
}

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackOf {
    /// A thread, or the idle thread of a CPU.
    Thread,
    /// A CPU.
    Cpu,
    /// A value of a column.
    Value,
}

/// One track.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrackLine {
    /// Names it in requests: stream and number.
    pub id: String,
    /// Its stream.
    pub stream: u16,
    /// What it is of, as addresses of pages have it: `tid:N`, `cpu:N`, `idle:N` by CPU, or the value. It is the same in other
    /// captures.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// Of a thread, its process.
    pub pid: Option<u64>,
    /// Of a thread, its number.
    pub tid: Option<u64>,
    /// Of a CPU or an idle thread, the CPU.
    pub cpu: Option<u64>,
    /// Which of several that are of the same: the depth of nested slices.
    pub lane: u16,
    /// How many rows there are.
    pub rows: u64,
    /// When the first begins.
    pub start: i64,
    /// When the last ends.
    pub end: i64,
    /// How long all take, in nanoseconds.
    pub busy: u64,
    /// How long the longest takes.
    pub longest: u64,
    /// How long those of the names take that take most.
    pub top: Vec<NameTime>,
}

/// How long rows of a name take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NameTime {
    /// The name, an index.
    pub name: u32,
    /// How long, in nanoseconds.
    pub time: u64,
}

/// What rows are called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrackLabel {
    /// The text, made visible.
    pub text: String,
    /// On a CPU's track, the process that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// On a CPU's track, the thread that ran; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
}

/// The rows of a track at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrackMoment {
    /// The one before.
    pub before: Option<TrackRowLine>,
    /// The one at the moment, or the next if there is none then.
    pub at: Option<TrackRowLine>,
    /// The one after that.
    pub after: Option<TrackRowLine>,
    /// All columns of the one at the moment; none where it cannot be found among the stored rows.
    pub fields: Option<RowFields>,
    /// The stacks of those columns that have some.
    pub stacks: Vec<RowStack>,
    /// What leads to the one at the moment, and on from it.
    pub flows: TrackFlows,
    /// The nearest one before it that is called the same.
    pub before_same: Option<TrackRowLine>,
    /// The nearest one after it that is called the same.
    pub after_same: Option<TrackRowLine>,
    /// Whether the search for either was given up, as too many rows are in between.
    pub same_cut: bool,
    /// The column that has the names of rows; none if they have none.
    pub name_column: Option<String>,
    /// Of a sample or an instant, whether the search for those before and after it was given up, as too many rows are in between.
    pub is_cut: bool,
}

/// A stack of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowStack {
    /// The column.
    pub column: String,
    /// Functions, the innermost first.
    pub functions: Vec<String>,
}

/// A row of a track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackRowLine {
    /// The stream that it is of.
    pub stream: u16,
    /// Its number on the track, from 0; of a sample or an instant, in its stream.
    pub number: u64,
    /// When it began.
    pub start: i64,
    /// When it ended.
    pub end: i64,
    /// How long it took, in nanoseconds.
    pub duration: u64,
    /// What it is called.
    pub name: TrackLabel,
}

/// All columns of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowFields {
    /// The columns.
    pub columns: Vec<ColumnHead>,
    /// Their values.
    pub cells: Vec<ShownCell>,
}

/// A window of some tracks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackWindow {
    /// Its start. What began before is cut off there.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Nanoseconds of a unit, in which times are told.
    pub unit: u64,
    /// The tracks, in the order in which they were asked for.
    pub tracks: Vec<ShownTrack>,
    /// The names that pieces refer to.
    pub names: Vec<TrackLabel>,
    /// Names that pieces have together, indices into the names; not in the JSON head.
    #[serde(skip)]
    pub looks: Vec<[u16; PIECE_NAMES]>,
    /// The pieces of all tracks, one track after another; not in the JSON head.
    #[serde(skip)]
    pub pieces: Vec<ShownPiece>,
}

/// A track of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownTrack {
    /// Names it: stream and number.
    pub id: String,
    /// How many pieces it has.
    pub pieces: u32,
}

/// A row, or rows that are drawn together: at most two pieces for each column, which is two pixels wide or a little more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownPiece {
    /// How many units after the end of the piece before it on its track it begins; the first, after the window's start.
    pub gap: u32,
    /// How many units wide it is.
    pub width: u32,
    /// What it is called, an index into [`TrackWindow::looks`].
    pub look: u32,
    /// How many rows it stands for: one, or about so many, as `rows_code` of the data model tells it.
    pub rows: u8,
    /// How much of its time each of the look's names takes, in 15ths.
    pub shares: [u8; PIECE_NAMES],
}

/// What a list of single bytes has where a number is in the list of large ones.
const LARGE: u8 = u8::MAX;

impl TrackWindow {
    /// Puts a head in JSON (the caller serialises `self`) and the pieces together in the binary form: magic, length of the head,
    /// head, zeroes to a multiple of 4; how many looks, pieces, pieces of several rows and large numbers there are (4 bytes each). Then
    /// lists: the large numbers (4 bytes each); of the looks the first, the second and the third name (2 bytes each); of
    /// all pieces gaps and widths (1 byte each, 255 for the next of the large numbers, those of gaps first), the looks' low, middle and
    /// high bytes, and rows; of those that stand for several rows two shares in one byte, and what all three leave of 15. Little
    /// endian. Numbers that are alike are beside each other, as that is what compression finds.
    pub fn encode(&self, head_json: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + head_json.len() + 6 * self.looks.len() + 8 * self.pieces.len());
        out.extend_from_slice(&TRACK_WINDOW_MAGIC.to_le_bytes());
        out.extend_from_slice(&u32::try_from(head_json.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(head_json);
        out.resize(out.len().next_multiple_of(4), 0);
        let several = || self.pieces.iter().filter(|piece| piece.rows > 1);
        let gaps = || self.pieces.iter().map(|piece| piece.gap);
        let widths = || self.pieces.iter().map(|piece| piece.width);
        let large: Vec<u32> = gaps().chain(widths()).filter(|number| *number >= LARGE.into()).collect();
        for count in [self.looks.len(), self.pieces.len(), several().count(), large.len()] {
            out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        }
        large.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        for place in 0..PIECE_NAMES {
            let name = |look: &[u16; PIECE_NAMES]| look.get(place).copied().unwrap_or(0).to_le_bytes();
            self.looks.iter().for_each(|look| out.extend_from_slice(&name(look)));
        }
        let small = |number: u32| u8::try_from(number).unwrap_or(LARGE);
        out.extend(gaps().map(small));
        out.extend(widths().map(small));
        for plane in 0..3 {
            out.extend(self.pieces.iter().map(|piece| (piece.look >> (8 * plane)) as u8));
        }
        out.extend(self.pieces.iter().map(|piece| piece.rows));
        out.extend(several().map(|piece| packed_shares(piece.shares)[0]));
        out.extend(several().map(|piece| packed_shares(piece.shares)[1]));
        out
    }
}

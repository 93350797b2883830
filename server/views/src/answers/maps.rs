//! Maps of scripts.

use std::{fmt, str::FromStr};

use bathyscope_capture::ShownCell;
use serde::{Deserialize, Serialize, Serializer};

use super::ColumnHead;

/// A moment at which a map was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct At {
    /// The snapshot's number, from 1.
    pub snapshot: u64,
    /// When, nanoseconds since the capture's start.
    pub time: i64,
}

/// A page of a map's elements, sorted by value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MapTable {
    /// Which snapshot; none if there is none with anything in it.
    pub at: Option<At>,
    /// The snapshot since which it came in; none for all that did until then.
    pub since: Option<At>,
    /// Which column rows are sorted and compared by; none of a map without numbers.
    pub main_column: Option<usize>,
    /// What the numbers of that column count.
    pub unit: Unit,
    /// Heads of the key's columns and then the value's.
    pub columns: Vec<ColumnHead>,
    /// How many of them are the key's.
    pub key_columns: usize,
    /// The rows.
    pub rows: Vec<Vec<ShownCell>>,
    /// Elements in the snapshot (for histograms: buckets).
    pub total: u64,
    /// Elements before the page.
    pub offset: u64,
    /// Sum of the values, where they can be added: counts and sums.
    pub sum: Option<ShownCell>,
}

/// One key's value over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesLine {
    /// The key.
    pub id: KeyId,
    /// Its parts.
    pub key: Vec<ShownCell>,
    /// One for each of [`SeriesView::at`]; null where the key was not there.
    pub values: Vec<ShownCell>,
}

/// Values over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SeriesView {
    /// The moments: snapshots, or for a time series its intervals (with the number of the snapshot that they are from).
    pub at: Vec<At>,
    /// The keys with the greatest last values.
    pub lines: Vec<SeriesLine>,
    /// Keys that are not told.
    pub more_keys: u64,
    /// What the values count.
    pub unit: Unit,
}

/// A bucket: from `low` until before `high`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// The least value.
    pub low: ShownCell,
    /// The first value after it.
    pub high: ShownCell,
    /// How many.
    pub count: u64,
}

/// A key of a histogram map, with how much is in its histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyTotal {
    /// Its id.
    pub id: KeyId,
    /// Its parts.
    pub key: Vec<ShownCell>,
    /// Over all buckets.
    pub total: u64,
}

/// A histogram of one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistogramView {
    /// Which snapshot; none if there is none with anything in it.
    pub at: Option<At>,
    /// The snapshot since which it came in; none for all that did until then.
    pub since: Option<At>,
    /// What the limits of the buckets count.
    pub unit: Unit,
    /// Keys, the fullest first.
    pub keys: Vec<KeyTotal>,
    /// Keys that are not told.
    pub more_keys: u64,
    /// The buckets of the chosen key, or of all keys together, from the first to the last with something in it; those
    /// between that are empty are left out.
    pub buckets: Vec<Bucket>,
    /// Over all buckets that are told.
    pub total: u64,
}

/// What came into a histogram between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeatColumn {
    /// When it begins, nanoseconds since the capture's start: the snapshot before.
    pub from: i64,
    /// The snapshot at its end.
    #[serde(flatten)]
    pub at: At,
    /// By bucket, in the order of [`HeatView::buckets`].
    pub counts: Vec<u64>,
}

/// Histograms over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeatView {
    /// Limits of the buckets, the lowest first.
    pub buckets: Vec<(ShownCell, ShownCell)>,
    /// One for each snapshot; where there are more than [`crate::MAX_MAP_SNAPSHOTS`], for several of them.
    pub columns: Vec<HeatColumn>,
    /// The greatest count of any.
    pub most: u64,
    /// Snapshots in a column, at most.
    pub snapshots_per_column: usize,
    /// What the limits of the buckets count.
    pub unit: Unit,
}

/// What a map's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MapKind {
    /// A row for each bucket: `low`, `high`, `count`.
    Histogram,
    /// A row for each interval: `begin`, `value`.
    TimeSeries,
    /// `count`, `average`, `total`.
    Stats,
    /// `count()`.
    Count,
    /// `sum()`.
    Sum,
    /// `min()`.
    Min,
    /// `max()`.
    Max,
    /// `avg()`.
    Average,
    /// Whatever was put in.
    Value,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// How often something was hit.
    Hits,
    /// How often a CPU was looked at.
    Samples,
    /// Time.
    Nanoseconds,
    /// Time.
    Microseconds,
    /// Time.
    Milliseconds,
    /// Time.
    Seconds,
    /// Sizes.
    Bytes,
    /// Nobody said.
    #[default]
    Values,
}

/// Names a key the same in all snapshots of a capture. Written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub u64);

/// The text is not 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a map's key is 16 lower-case hexadecimal digits")]
pub struct ParseKeyIdError;

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for KeyId {
    type Err = ParseKeyIdError;

    fn from_str(text: &str) -> Result<Self, ParseKeyIdError> {
        let node: crate::NodeId = text.parse().map_err(|_same_form| ParseKeyIdError)?;
        Ok(Self(node.0))
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

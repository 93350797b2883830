//! Two captures, or two parts of one, line by line.

use bathyscope_capture::{Display, ShownCell};
use serde::Serialize;

use super::{DifferenceVerdict, HeatMap, Normalised, Unit};

/// What one side is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgainstSide {
    /// The start of its range.
    pub start: i64,
    /// The end of its range.
    pub end: i64,
    /// Rows that were counted: calls, or what came into a map.
    pub rows: u64,
    /// Rows that were lost of what is compared, at any time of the capture.
    pub lost: u64,
    /// Rows of further lines than there is room for, which are in no line.
    pub left_out: u64,
}

/// A column that lines are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgainstKey {
    /// Its name.
    pub name: String,
    /// How it is written.
    pub display: Display,
}

/// What kind of number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgainstKind {
    /// What adds up: it is compared for each second, as shares, or as it is.
    Amount,
    /// A mean: it is compared as it is.
    Mean,
    /// Another number, such as a percentile or the greatest: it is told, and nobody tests it.
    Level,
}

/// A number of each line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgainstMeasure {
    /// Its name.
    pub name: String,
    /// How it is written.
    pub display: Display,
    /// What it counts.
    pub unit: Unit,
    /// What kind of number it is.
    pub kind: AgainstKind,
}

/// A number of a line on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AgainstValue {
    /// As it was recorded here; none where there is none.
    pub here: Option<f64>,
    /// As it was recorded there.
    pub there: Option<f64>,
    /// What is compared here: of amounts a second, or a share.
    pub by_here: Option<f64>,
    /// The same there.
    pub by_there: Option<f64>,
    /// How much more is here of that; none where a side has none.
    pub difference: Option<f64>,
    /// The standard error of the difference; none where it is not known.
    pub error: Option<f64>,
    /// What the difference is worth.
    pub verdict: DifferenceVerdict,
}

/// Which side has a line that the other has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnlySide {
    /// Only here.
    Here,
    /// Only there.
    There,
}

/// Two histograms in the same buckets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgainstHistogram {
    /// From which value until before which, the lowest first; those that are empty on both sides are left out.
    pub buckets: Vec<(ShownCell, ShownCell)>,
    /// How many are in each here.
    pub here: Vec<u64>,
    /// How many there.
    pub there: Vec<u64>,
}

/// A line of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstLine {
    /// Its parts, one for each of [`AgainstTable::keys`].
    pub key: Vec<ShownCell>,
    /// The condition on rows here that it stands for; empty where none can say it.
    pub filter: String,
    /// The side that alone has it; none if both have.
    pub only: Option<OnlySide>,
    /// Whether there are lines within it.
    pub has_inner: bool,
    /// One for each of [`AgainstTable::measures`].
    pub values: Vec<AgainstValue>,
    /// How its values are spread, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<AgainstHistogram>,
}

/// A table of two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstTable {
    /// By what amounts are compared.
    pub normalised: Normalised,
    /// This side.
    pub here: AgainstSide,
    /// The other one.
    pub there: AgainstSide,
    /// What lines are told apart by.
    pub keys: Vec<AgainstKey>,
    /// What is told of each.
    pub measures: Vec<AgainstMeasure>,
    /// The first lines in the order that was asked for.
    pub lines: Vec<AgainstLine>,
    /// How many lines there are, on either side.
    pub compared: u64,
    /// How many of them have a number that differs by more than chance.
    pub changed: u64,
    /// How many only this side has.
    pub only_here: u64,
    /// How many only the other has.
    pub only_there: u64,
    /// What makes the comparison less than it seems, in sentences.
    pub cautions: Vec<String>,
}

/// Two heat maps with the same rows and columns of the same length, so that one scale of shades is for both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatPair {
    /// This side.
    pub here: HeatMap,
    /// The other one.
    pub there: HeatMap,
    /// How long this side's range is, in nanoseconds.
    pub here_ns: u64,
    /// How long the other's is: columns behind it are not empty, but of no time that was asked for.
    pub there_ns: u64,
}

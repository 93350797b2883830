//! Two captures beside each other, and numbers of one that are followed over many.

use bathyscope_capture::{Display, ShownCell};
use serde::{Deserialize, Serialize};

use super::{ShownValues, Unit};

/// A number of a capture, and how sure it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredNumber {
    /// As it was recorded.
    pub value: f64,
    /// Its standard error; none where there are too few rows to tell it, or where it has none, as a greatest value.
    pub error: Option<f64>,
    /// The least that it can have been with the rows that were lost; none where there is no limit.
    pub least: Option<f64>,
    /// The greatest, likewise.
    pub most: Option<f64>,
}

/// What a difference between two numbers is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceVerdict {
    /// Recording again would hardly give it by chance.
    BeyondChance,
    /// Recording again gives as much by chance.
    WithinChance,
    /// There are too few rows to tell.
    TooFew,
    /// It is more than chance, but rows that were lost can explain it.
    LostRows,
    /// It is not tested: the number says nothing of chance, as a greatest value.
    Untested,
}

/// A number of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedNumber {
    /// `count`, `rate`, `p50`, `p90`, `p99` or `most`.
    pub what: &'static str,
    /// Of the first.
    pub a: MeasuredNumber,
    /// Of the second.
    pub b: MeasuredNumber,
    /// How much more the second has.
    pub difference: f64,
    /// The standard error of that; none where it is not known.
    pub error: Option<f64>,
    /// What it is worth.
    pub verdict: DifferenceVerdict,
}

/// A stream as one of two captures has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ComparedStreamSide {
    /// Its number there.
    pub stream: u16,
    /// Its rows.
    pub rows: u64,
    /// Rows of it that were lost; of a computed stream those of all streams.
    pub lost: u64,
}

/// A stream of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedStream {
    /// Its name.
    pub name: String,
    /// The source that it is of; empty where that is not known, or it was computed.
    pub source: String,
    /// Whether it was computed from others.
    pub computed: bool,
    /// In the first.
    pub a: ComparedStreamSide,
    /// In the second.
    pub b: ComparedStreamSide,
    /// Rows, and rows a second.
    pub numbers: Vec<ComparedNumber>,
    /// Its columns of numbers that both have, those that rows are about first.
    pub columns: Vec<ComparedColumn>,
    /// How many further ones both have.
    pub left_out: usize,
}

/// A column of numbers of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedColumn {
    /// Which.
    #[serde(flatten)]
    pub of: ShownValues,
    /// How many have a value, percentiles and the greatest.
    pub numbers: Vec<ComparedNumber>,
    /// From which value until before which the buckets are, without a gap.
    pub buckets: Vec<(ShownCell, ShownCell)>,
    /// How many of the first are in each.
    pub a: Vec<u64>,
    /// Of the second.
    pub b: Vec<u64>,
}

/// Something that both can have more or less of, such as a process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedName {
    /// `process`, `call` (how often) or `call_time` (for how long, in nanoseconds).
    pub kind: &'static str,
    /// Of which stream, by its place among those that are compared.
    pub stream: usize,
    /// What it is called.
    pub name: String,
    /// The condition that its rows satisfy.
    pub filter: String,
    /// In the first, a second.
    pub a: MeasuredNumber,
    /// In the second.
    pub b: MeasuredNumber,
    /// How much more the second has.
    pub difference: f64,
    /// What that is worth.
    pub verdict: DifferenceVerdict,
}

/// What two captures have in rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CaptureComparison {
    /// Streams of both, in the order of the first.
    pub streams: Vec<ComparedStream>,
    /// Names of those that only the first has.
    pub only_a: Vec<String>,
    /// Names of those that only the second has.
    pub only_b: Vec<String>,
    /// How many of both are not compared, as they are too many.
    pub left_out: usize,
    /// Processes and system calls that changed most, those of which it is more than chance first.
    pub names: Vec<ComparedName>,
    /// How many were compared.
    pub names_compared: usize,
    /// How many of them changed by more than chance.
    pub names_changed: usize,
}

/// What a key number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyWhat {
    /// Rows of a stream.
    Count,
    /// Rows a second.
    Rate,
    /// The median of a column.
    P50,
    /// The value that 99 of 100 are not greater than.
    P99,
    /// The share of samples of the function that had most.
    HottestFunction,
    /// The share of samples of the process that had most.
    HottestProcess,
    /// The share of samples of a function.
    FunctionShare,
    /// The share of samples of a process.
    ProcessShare,
}

impl KeyWhat {
    /// All, each with its word in keys.
    pub const ALL: [(&'static str, Self); 8] = [
        ("count", Self::Count),
        ("rate", Self::Rate),
        ("p50", Self::P50),
        ("p99", Self::P99),
        ("hottest_function", Self::HottestFunction),
        ("hottest_process", Self::HottestProcess),
        ("function_share", Self::FunctionShare),
        ("process_share", Self::ProcessShare),
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, what)| *what == self).map_or("", |(word, _)| word)
    }
}

/// A number of a capture that is followed over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyNumber {
    /// Names it in all runs: `rate@STREAM`, `p99:COLUMN@STREAM`, `function_share:NAME@STREAM`.
    pub key: String,
    /// What it says.
    pub what: KeyWhat,
    /// The stream's name.
    pub stream: String,
    /// The column; empty where it is of none.
    pub column: String,
    /// The function or process; of the hottest the one that it was; else empty.
    pub name: String,
    /// How its value is written.
    pub display: Display,
    /// What it counts.
    pub unit: Unit,
    /// The number.
    pub number: MeasuredNumber,
}

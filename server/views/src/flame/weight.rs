//! What stacks are weighted by: what samples count themselves, the time on CPUs that they stand for, rows of any stream that has
//! stacks, or the values of one of its columns.
//!
//! Rows without a value (system calls whose beginning was not recorded, samples of a clock whose period nobody knows) and
//! with a negative one are no part of a sum; they are counted and told ([`crate::answers::LeftOutRows`]). A sum that does
//! not fit 64 bits is refused.

use std::fmt;

use bathyscope_capture::{ColumnType, Display, StreamKind, StreamSchema};

use super::count::{sample_unit, weight_of};
use crate::{
    Source, ViewError,
    answers::{OfferedWeight, SampleUnit, Unit},
    calls::calls_stream,
    distribution::{ChunkValues, ValueColumn},
    needle::shown,
    scan::Hit,
};

/// What addresses call the time on CPUs.
const CPU_TIME: &str = "cpu_time";
/// Weights that a refusal names.
const MOST_NAMED: usize = 12;
/// The longest text of a weight that a refusal repeats, in characters.
const MOST_REPEATED: usize = 120;

/// What is added up for each stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Weight {
    /// What samples count; of several units this one, if any do. Without samples it is rows of the first stream with stacks.
    Own(Option<SampleUnit>),
    /// The time on CPUs that samples of a clock stand for: the clock's period for each.
    CpuTime,
    /// Rows of a stream, or the values of one of its columns.
    Rows(RowWeight),
}

/// Rows with stacks. Written as `COLUMN@STREAM`, `@STREAM` where each row counts for one, with `#STACK` behind it for another column
/// of stacks than the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowWeight {
    /// The stream; all that are called so and have the columns.
    pub stream: String,
    /// The column of stacks; none for the first one.
    pub stack: Option<String>,
    /// The column of numbers; none where each row counts for one.
    pub column: Option<String>,
}

impl Default for Weight {
    fn default() -> Self {
        Self::Own(None)
    }
}

impl fmt::Display for RowWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.column.as_deref().unwrap_or(""), self.stream)?;
        self.stack.as_ref().map_or(Ok(()), |stack| write!(f, "#{stack}"))
    }
}

impl RowWeight {
    /// In words: `duration_ns of syscalls`.
    fn words(&self) -> String {
        let counted = self.column.as_deref().map_or("rows".into(), |column| shown(column.as_bytes()));
        let stream = shown(self.stream.as_bytes());
        match &self.stack {
            Some(stack) => format!("{counted} of {stream}, by {}", shown(stack.as_bytes())),
            None => format!("{counted} of {stream}"),
        }
    }

    /// The columns of stacks and of numbers in a stream; none if this is not about it.
    fn columns(&self, schema: &StreamSchema) -> Option<(usize, Option<usize>)> {
        let stack = match &self.stack {
            Some(name) => schema.column(name).filter(|at| stacks_of(schema).any(|stack| stack == *at)),
            None => stacks_of(schema).next(),
        };
        let stack = stack.filter(|_| schema.name == self.stream)?;
        match &self.column {
            Some(name) => Some((stack, Some(schema.column(name).filter(|at| is_number(schema, *at))?))),
            None => Some((stack, None)),
        }
    }
}

/// The columns of a stream that have stacks. Those of maps are keys, which have a graph of their own.
fn stacks_of(schema: &StreamSchema) -> impl Iterator<Item = usize> {
    let is_map = schema.kind == StreamKind::Map;
    let columns = schema.columns.iter().enumerate().filter(move |_| !is_map);
    columns.filter(|(_, column)| column.ty == ColumnType::Stack).map(|(at, _)| at)
}

fn is_number(schema: &StreamSchema, at: usize) -> bool {
    schema.columns.get(at).is_some_and(|column| matches!(column.ty, ColumnType::U64 | ColumnType::I64))
}

/// All weights of a stream's rows; `every` also those by columns that tell rows apart, whose sums mean little.
fn of_rows(schema: &StreamSchema, every: bool) -> Vec<RowWeight> {
    let keys = schema.meaning().key;
    let numbers = schema.columns.iter().enumerate().filter(|(at, column)| {
        let names_something = *at < StreamSchema::COMMON.len()
            || matches!(column.display, Display::Hex | Display::TimeNs)
            || keys.contains(&column.name);
        is_number(schema, *at) && (every || !names_something)
    });
    let numbers: Vec<Option<String>> =
        std::iter::once(None).chain(numbers.map(|(_, column)| Some(column.name.clone()))).collect();
    let name = |at: usize| schema.columns.get(at).map(|column| column.name.clone());
    let stacks = stacks_of(schema).enumerate().map(|(nth, at)| if nth == 0 { None } else { name(at) });
    stacks
        .flat_map(|stack| {
            let one = move |column: &Option<String>| RowWeight {
                stream: schema.name.clone(),
                stack: stack.clone(),
                column: column.clone(),
            };
            numbers.iter().map(one).collect::<Vec<_>>()
        })
        .collect()
}

/// The weights that stacks of these streams have, the usual ones first. `period_ns` gives what a sample of a stream stands for.
pub fn offered_weights<'a>(
    streams: impl Iterator<Item = (u16, &'a StreamSchema)>,
    period_ns: impl Fn(u16) -> Option<u64>,
) -> Vec<OfferedWeight> {
    let streams: Vec<(u16, &StreamSchema)> = streams.collect();
    let units: Vec<SampleUnit> = streams.iter().filter_map(|(_, schema)| sample_unit(schema)).collect();
    let mut out: Vec<OfferedWeight> = Vec::new();
    let mut add = |value: String, title: String, unit: &'static str| {
        if !out.iter().any(|known| known.value == value) {
            out.push(OfferedWeight { value, title, unit });
        }
    };
    for unit in &units {
        add(unit.as_str().to_owned(), unit_title(*unit).to_owned(), unit.as_str());
    }
    if streams.iter().any(|(at, schema)| sample_unit(schema) == Some(SampleUnit::Samples) && period_ns(*at).is_some()) {
        add(CPU_TIME.to_owned(), "CPU time".to_owned(), SampleUnit::Nanoseconds.as_str());
    }
    for (_, schema) in &streams {
        let unit = sample_unit(schema);
        let is_only = unit.is_some_and(|unit| units.iter().filter(|other| **other == unit).count() == 1);
        let own = weight_of(schema).and_then(|at| schema.columns.get(at)).map(|column| &column.name);
        for weight in of_rows(schema, false) {
            // The same as what its samples count.
            let is_own = weight.stack.is_none()
                && match own {
                    Some(own) => weight.column.as_ref() == Some(own),
                    None => weight.column.is_none(),
                };
            if !(is_only && is_own) {
                let unit = column_unit(schema, weight.column.as_deref());
                add(weight.to_string(), capital(&weight.words()), unit);
            }
        }
    }
    out
}

fn unit_title(unit: SampleUnit) -> &'static str {
    match unit {
        SampleUnit::Samples => "Samples",
        SampleUnit::Nanoseconds => "Time off CPU",
        SampleUnit::Bytes => "Bytes",
    }
}

/// Names of columns stay as they are.
fn capital(words: &str) -> String {
    words.strip_prefix("rows of ").map_or_else(|| words.to_owned(), |stream| format!("Rows of {stream}"))
}

/// What values of a column count; `rows` without one.
fn column_unit(schema: &StreamSchema, column: Option<&str>) -> &'static str {
    let at = column.map(|name| schema.column(name));
    at.map_or("rows", |at| at.map_or(Unit::Values, |at| ValueColumn::unit_of(schema, at)).name())
}

impl Weight {
    /// The weight of this text, as addresses have it; empty for the usual one.
    ///
    /// # Errors
    /// If the capture has no such weight.
    pub fn named(text: &str, source: &dyn Source) -> Result<Self, ViewError> {
        if text.is_empty() {
            return Ok(Self::Own(None));
        }
        let unit = SampleUnit::named(text);
        if unit.is_some() && source.streams().iter().any(|schema| sample_unit(schema) == unit) {
            return Ok(Self::Own(unit));
        }
        let streams = || (0_u16..).zip(source.streams());
        let offered = offered_weights(streams(), |stream| source.sample_period_ns(stream));
        if text == CPU_TIME && offered.iter().any(|weight| weight.value == CPU_TIME) {
            return Ok(Self::CpuTime);
        }
        let mut all = streams().flat_map(|(_, schema)| of_rows(schema, true));
        let found = all.find(|weight| weight.to_string() == text).map(Self::Rows);
        found.ok_or_else(|| {
            let mut known: Vec<&str> = offered.iter().map(|weight| weight.value.as_str()).take(MOST_NAMED).collect();
            if offered.len() > MOST_NAMED {
                known.push("…");
            }
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let repeated: String = text.chars().take(MOST_REPEATED).collect();
            ViewError::NoSuchWeight {
                weight: shown(repeated.as_bytes()).into_owned(),
                known: shown(known.as_bytes()).into_owned(),
            }
        })
    }

    /// Whether stacks of a capture can be folded by it.
    ///
    /// # Errors
    /// If they cannot.
    pub fn check(&self, source: &dyn Source) -> Result<(), ViewError> {
        let is_calls = *self == Self::Own(None) && calls_stream(source).is_some();
        if is_calls || Counting::of(source, self)?.is_some() { Ok(()) } else { Err(ViewError::NoSamples) }
    }
}

/// A weight with the streams of a capture that it is about.
pub(super) struct Counting {
    weight: Weight,
    /// What sums are measured in.
    pub(super) unit: &'static str,
    /// What is counted, in words, if it is not samples.
    pub(super) words: String,
}

/// What rows of one stream count for.
pub(super) struct StreamCounting {
    /// The column of stacks.
    pub(super) stack: usize,
    value: StreamValue,
}

enum StreamValue {
    /// All alike.
    Each(u64),
    /// The weight that the stream says its samples have.
    Own(usize),
    Column(ValueColumn),
    /// Nobody knows.
    Unknown,
}

/// The values of rows of one chunk.
pub(super) enum ChunkWeights<'h> {
    Each(u64),
    Own(&'h [u64]),
    Column(ChunkValues<'h>),
    Unknown,
}

/// What one row counts for.
pub(super) enum RowValue {
    Counts(u64),
    Missing,
    Negative,
}

impl Counting {
    /// None if samples would be counted and there are none, nor other rows with stacks.
    ///
    /// # Errors
    /// If a column that is to be counted is not one of numbers.
    pub(super) fn of(source: &dyn Source, weight: &Weight) -> Result<Option<Self>, ViewError> {
        let of_streams = |row: &RowWeight| source.streams().iter().find(|schema| row.columns(schema).is_some());
        Ok(match weight {
            Weight::Own(wanted) => {
                let mut units = source.streams().iter().filter_map(sample_unit);
                // What no samples count is what the first ones do.
                let first = units.clone().next();
                match units.find(|unit| *wanted == Some(*unit)).or(first) {
                    Some(unit) => Some(Self::own(unit)),
                    None if wanted.is_none() && calls_stream(source).is_none() => {
                        let first = source.streams().iter().flat_map(|schema| of_rows(schema, false)).next();
                        first.map(|row| Self::rows(row, "rows"))
                    }
                    None => None,
                }
            }
            Weight::CpuTime => {
                let (unit, words) = (SampleUnit::Nanoseconds.as_str(), "CPU time".to_owned());
                Some(Self { weight: Weight::CpuTime, unit, words })
            }
            Weight::Rows(row) => {
                let schema = of_streams(row).ok_or(ViewError::NoSamples)?;
                Some(Self::rows(row.clone(), column_unit(schema, row.column.as_deref())))
            }
        })
    }

    fn own(unit: SampleUnit) -> Self {
        let words = match unit {
            SampleUnit::Samples | SampleUnit::Bytes => String::new(),
            SampleUnit::Nanoseconds => "time off CPU".to_owned(),
        };
        Self { weight: Weight::Own(Some(unit)), unit: unit.as_str(), words }
    }

    fn rows(row: RowWeight, unit: &'static str) -> Self {
        let words = row.words();
        Self { weight: Weight::Rows(row), unit, words }
    }

    /// What samples count themselves, if that is what is counted.
    pub(super) fn own_unit(&self) -> Option<SampleUnit> {
        if let Weight::Own(unit) = self.weight { unit } else { None }
    }

    /// The same rows, each counting for one: in the order of time they are drawn whatever they count for. Times off CPUs stay, as
    /// they are how long boxes are.
    pub(super) fn of_moments(self) -> Self {
        match self.weight {
            Weight::Own(_) => self,
            Weight::CpuTime => Self::own(SampleUnit::Samples),
            Weight::Rows(row) => Self::rows(RowWeight { column: None, ..row }, "rows"),
        }
    }

    /// Whether rows of a stream are counted.
    pub(super) fn takes(&self, schema: &StreamSchema) -> bool {
        match &self.weight {
            Weight::Own(unit) => sample_unit(schema).is_some() && sample_unit(schema) == *unit,
            Weight::CpuTime => sample_unit(schema) == Some(SampleUnit::Samples),
            Weight::Rows(row) => row.columns(schema).is_some(),
        }
    }

    /// What rows of a stream that it takes count for.
    ///
    /// # Errors
    /// If a column is not one of numbers.
    pub(super) fn of_stream(&self, source: &dyn Source, stream: u16) -> Result<StreamCounting, ViewError> {
        let schema = crate::scan::schema_of(source, stream)?;
        Ok(match &self.weight {
            Weight::Own(_) => {
                let value = weight_of(schema).map_or(StreamValue::Each(1), StreamValue::Own);
                StreamCounting { stack: StreamSchema::STACK, value }
            }
            Weight::CpuTime => {
                let value = source.sample_period_ns(stream).map_or(StreamValue::Unknown, StreamValue::Each);
                StreamCounting { stack: StreamSchema::STACK, value }
            }
            Weight::Rows(row) => {
                let (stack, _) = row.columns(schema).ok_or(ViewError::NoSamples)?;
                let column = row.column.as_ref().map(|name| ValueColumn::of(source, schema, name)).transpose()?;
                StreamCounting { stack, value: column.map_or(StreamValue::Each(1), StreamValue::Column) }
            }
        })
    }

    /// The columns that are read of a stream that it takes.
    pub(super) fn columns(&self, source: &dyn Source, schema: &StreamSchema) -> Vec<usize> {
        match &self.weight {
            Weight::Own(_) | Weight::CpuTime => {
                let weight = weight_of(schema).filter(|_| self.weight != Weight::CpuTime);
                [Some(StreamSchema::STACK), weight].into_iter().flatten().collect()
            }
            Weight::Rows(row) => {
                let stack = row.columns(schema).map(|(stack, _)| stack);
                let named = row.column.as_ref().and_then(|name| ValueColumn::of(source, schema, name).ok());
                stack.into_iter().chain(named.iter().map(ValueColumn::index)).collect()
            }
        }
    }
}

impl StreamCounting {
    /// What rows of a chunk count for.
    ///
    /// # Errors
    /// If a column is not what it should be.
    pub(super) fn of_chunk<'h>(&self, hit: &'h Hit) -> Result<ChunkWeights<'h>, ViewError> {
        Ok(match &self.value {
            StreamValue::Each(weight) => ChunkWeights::Each(*weight),
            StreamValue::Own(column) => ChunkWeights::Own(hit.u64s(*column)?),
            StreamValue::Column(column) => ChunkWeights::Column(column.of_chunk(hit)),
            StreamValue::Unknown => ChunkWeights::Unknown,
        })
    }
}

impl ChunkWeights<'_> {
    pub(super) fn at(&self, row: usize) -> RowValue {
        match self {
            Self::Each(weight) => RowValue::Counts(*weight),
            Self::Own(weights) => RowValue::Counts(weights.get(row).copied().unwrap_or(0)),
            Self::Column(values) => match values.at(row) {
                Some(value) => u64::try_from(value).map_or(RowValue::Negative, RowValue::Counts),
                None => RowValue::Missing,
            },
            Self::Unknown => RowValue::Missing,
        }
    }
}

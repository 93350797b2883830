//! Rows in groups by the values of columns, and what is told of each group: count, sum, mean, extremes, percentiles, distinct
//! values, first and last.
//!
//! One pass over the chunks. There is room for [`MAX_PIVOT_GROUPS`] groups; rows of further ones are counted together and told.
//! Percentiles and distinct values are exact as long as all of them together have room, and told as rough after that.

mod against;
mod held;
mod tell;

use bathyscope_capture::{Column, ColumnType, StreamSchema};

pub use against::groups_against;

use self::held::{Held, KeptCount};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{Pivot, PivotSeries},
    filter::no_such_column,
    hash::IdMap,
    scan::{Hit, Scan, bits, schema_of},
    source::relative,
};

/// The most columns that rows are grouped by.
pub const MAX_PIVOT_KEYS: usize = 4;
/// The most values that are told of a group.
pub const MAX_PIVOT_VALUES: usize = 12;
/// How many groups are told apart.
pub const MAX_PIVOT_GROUPS: usize = 1 << 16;
/// The most lines of an answer.
pub const MAX_PIVOT_LINES: u32 = 10_000;
/// The most bins that a value is drawn over time in.
pub const MAX_PIVOT_BINS: u32 = 1000;
/// How many lines are drawn over time.
pub const PIVOT_SERIES: usize = 40;

/// What is told of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// Its rows.
    Count,
    /// What the numbers of a column make together.
    Sum(String),
    /// Their mean.
    Mean(String),
    /// The least.
    Min(String),
    /// The greatest.
    Max(String),
    /// The least number that at least so many percent, in thousandths, do not exceed.
    Percentile(String, u32),
    /// How many distinct values there are.
    Distinct(String),
    /// The value of the first row.
    First(String),
    /// The value of the last row.
    Last(String),
}

impl Aggregate {
    /// Reads `count`, `sum:COLUMN`, `p99:COLUMN`, `p99.9:COLUMN` and so on.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, ViewError> {
        let wrong = || ViewError::Aggregate(text.chars().take(80).collect());
        let Some((name, column)) = text.split_once(':') else {
            return if text == "count" { Ok(Self::Count) } else { Err(wrong()) };
        };
        let column = column.to_owned();
        Ok(match name {
            "sum" => Self::Sum(column),
            "mean" => Self::Mean(column),
            "min" => Self::Min(column),
            "max" => Self::Max(column),
            "distinct" => Self::Distinct(column),
            "first" => Self::First(column),
            "last" => Self::Last(column),
            name => Self::Percentile(column, name.strip_prefix('p').and_then(thousandths).ok_or_else(wrong)?),
        })
    }

    /// The column that it is about; none for the count.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Count => None,
            Self::Sum(column)
            | Self::Mean(column)
            | Self::Min(column)
            | Self::Max(column)
            | Self::Percentile(column, _)
            | Self::Distinct(column)
            | Self::First(column)
            | Self::Last(column) => Some(column),
        }
    }

    /// Whether it is of numbers alone.
    fn wants_numbers(&self) -> bool {
        !matches!(self, Self::Count | Self::Distinct(_) | Self::First(_) | Self::Last(_))
    }
}

/// A number from 0 to 100 with up to three decimals, in thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(rest) {
        return None;
    }
    let all = whole.parse::<u32>().ok()? * 1000 + format!("{rest:0<3}").parse::<u32>().ok()?;
    (all <= 100_000).then_some(all)
}

/// Which groups of which rows.
#[derive(Clone, Debug, PartialEq)]
pub struct PivotQuery {
    /// The stream.
    pub stream: u16,
    /// From when to when.
    pub range: TimeRange,
    /// Which rows.
    pub filter: Option<Filter>,
    /// Names of the columns that rows are grouped by, at most [`MAX_PIVOT_KEYS`]; all rows are one group if there are none.
    pub by: Vec<String>,
    /// What is told of each group, at least one and at most [`MAX_PIVOT_VALUES`].
    pub values: Vec<Aggregate>,
    /// By which column of the answer lines are sorted; the first value if there is none.
    pub sort: Option<usize>,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// How many lines are told, at most [`MAX_PIVOT_LINES`].
    pub limit: u32,
    /// In how many bins the first value of the first lines is told over time; none if it is 0.
    pub bins: u32,
}

/// The values of a row in the columns of the keys: numbers by their bits, texts and stacks by their ids.
type Key = (u64, u64, u64, u64);

/// Numbers of groups by key.
struct PivotGroups {
    numbers: IdMap<Key, u32>,
    keys: Vec<Key>,
    last: Option<(Key, u32)>,
    left_out: u64,
    /// Whether keys are what they were when the groups were counted: others are left out.
    is_fixed: bool,
}

impl PivotGroups {
    fn new() -> Self {
        Self { numbers: IdMap::default(), keys: Vec::new(), last: None, left_out: 0, is_fixed: false }
    }

    fn fixed(keys: Vec<Key>) -> Self {
        let numbers = keys.iter().zip(0..).map(|(key, number)| (*key, number)).collect();
        Self { numbers, keys, last: None, left_out: 0, is_fixed: true }
    }

    /// The number of a group; none if there is no room for it.
    fn number(&mut self, key: Key) -> Option<u32> {
        if let Some((last, number)) = self.last
            && last == key
        {
            return Some(number);
        }
        let known = self.numbers.get(&key).copied();
        let number = match known {
            Some(number) => number,
            None if self.is_fixed => return None,
            None if self.keys.len() >= MAX_PIVOT_GROUPS => {
                self.left_out += 1;
                return None;
            }
            None => {
                // There are fewer than 2^16.
                let new = self.keys.len() as u32;
                self.keys.push(key);
                self.numbers.insert(key, new);
                new
            }
        };
        self.last = Some((key, number));
        Some(number)
    }
}

/// The columns of a query, found in the stream.
struct Found<'a> {
    schema: &'a StreamSchema,
    by: Vec<usize>,
    values: Vec<(&'a Aggregate, Option<usize>)>,
}

impl<'a> Found<'a> {
    fn new(schema: &'a StreamSchema, query: &'a PivotQuery) -> Result<Self, ViewError> {
        let (keys, values) = (query.by.len() as u64, query.values.len() as u64);
        ViewError::within("the number of columns to group by", keys, 0, MAX_PIVOT_KEYS as u64)?;
        ViewError::within("the number of values of a group", values, 1, MAX_PIVOT_VALUES as u64)?;
        ViewError::within("the number of lines", query.limit.into(), 1, MAX_PIVOT_LINES.into())?;
        ViewError::within("the number of bins", query.bins.into(), 0, MAX_PIVOT_BINS.into())?;
        let sort = query.sort.unwrap_or_default() as u64;
        ViewError::within("the number of the column to sort by", sort, 0, keys + values - 1)?;
        let find = |name: &str| schema.column(name).ok_or_else(|| no_such_column(schema, name));
        let by = query.by.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
        let value = |value: &'a Aggregate| {
            let column = value.column().map(find).transpose()?;
            let described = column.and_then(|column| schema.columns.get(column));
            let is_number = |column: &Column| matches!(column.ty, ColumnType::U64 | ColumnType::I64);
            match described.filter(|column| value.wants_numbers() && !is_number(column)) {
                Some(column) => Err(ViewError::Mismatch {
                    field: column.name.clone(),
                    is: if column.ty == ColumnType::Stack { "a stack" } else { "text" },
                    wanted: "added up or put in order; of it there are distinct, first and last",
                }),
                None => Ok((value, column)),
            }
        };
        let values = query.values.iter().map(value).collect::<Result<_, _>>()?;
        Ok(Self { schema, by, values })
    }

    fn wanted(&self) -> Vec<usize> {
        self.by.iter().copied().chain(self.values.iter().filter_map(|(_, column)| *column)).collect()
    }

    fn key(&self, hit: &Hit) -> impl Fn(usize) -> Key {
        let data = |at: usize| self.by.get(at).and_then(|column| hit.batch.columns.get(*column));
        let [a, b, c, d] = [data(0), data(1), data(2), data(3)];
        move |row| (bits(a, row), bits(b, row), bits(c, row), bits(d, row))
    }
}

/// Puts rows into groups.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn pivot(source: &dyn Source, query: &PivotQuery, cancel: &Cancel) -> Result<Pivot, ViewError> {
    let found = Found::new(schema_of(source, query.stream)?, query)?;
    let scan = |wanted: &[usize]| Scan::new(source, query.stream, query.range, query.filter.as_ref(), wanted, cancel);
    let mut groups = PivotGroups::new();
    let mut held: Vec<Held> =
        found.values.iter().map(|(value, column)| Held::new(found.schema, value, *column)).collect();
    let mut room = KeptCount::default();
    let (mut rows, mut numbers) = (0, Vec::new());
    scan(&found.wanted())?.for_each_hit(|hit| {
        rows += hit.picked.len() as u64;
        let key = found.key(hit);
        numbers.clear();
        hit.picked.for_each(|row| {
            if let Some(number) = groups.number(key(row)) {
                numbers.push((number, row as u32));
            }
        });
        let count = groups.keys.len();
        held.iter_mut().for_each(|held| held.add(&numbers, count, &hit.batch, &mut room));
        Ok(())
    })?;
    let mut answer = Pivot { rows, groups: groups.keys.len() as u64, left_out: groups.left_out, ..Pivot::default() };
    let first = tell::tell(source, query, &found, (&groups.keys, held), &mut answer);
    if query.bins > 0 {
        let keys: Vec<Key> =
            first.iter().take(PIVOT_SERIES).filter_map(|number| groups.keys.get(*number)).copied().collect();
        answer.series = Some(series(source, query, &found, keys, scan)?);
    }
    Ok(answer)
}

/// The first value of some groups over time.
fn series<'a>(
    source: &'a dyn Source,
    query: &PivotQuery,
    found: &Found<'_>,
    keys: Vec<Key>,
    scan: impl Fn(&[usize]) -> Result<Scan<'a>, ViewError>,
) -> Result<PivotSeries, ViewError> {
    let within = TimeRange::of(source);
    let start_ns = query.range.start_ns.max(within.start_ns);
    let end_ns = query.range.end_ns.min(within.end_ns).max(start_ns + 1);
    let bins = u64::from(query.bins).min(end_ns - start_ns).max(1);
    let (span, lines) = (u128::from(end_ns - start_ns), keys.len());
    let mut groups = PivotGroups::fixed(keys);
    let Some((value, column)) = found.values.first() else {
        return Ok(PivotSeries { start: 0, end: 0, lines: Vec::new() });
    };
    let mut held = Held::new(found.schema, value, *column);
    let (mut room, mut numbers) = (KeptCount::default(), Vec::new());
    let mut wanted = found.by.clone();
    wanted.extend(column);
    wanted.push(StreamSchema::TIME);
    scan(&wanted)?.for_each_hit(|hit| {
        let (key, times) = (found.key(hit), hit.u64s(StreamSchema::TIME)?);
        numbers.clear();
        hit.picked.for_each(|row| {
            let Some(number) = groups.number(key(row)) else { return };
            let inside = u128::from(times.get(row).copied().unwrap_or(0).saturating_sub(start_ns));
            // A bin is below their number, which is small.
            let bin = (inside * u128::from(bins) / span).min(u128::from(bins) - 1) as u32;
            numbers.push((number * bins as u32 + bin, row as u32));
        });
        held.add(&numbers, lines * bins as usize, &hit.batch, &mut room);
        Ok(())
    })?;
    held.close();
    let value = |number: usize| held.number(number);
    let line = |line: usize| (0..bins as usize).map(|bin| value(line * bins as usize + bin)).collect();
    Ok(PivotSeries {
        start: relative(source.origin_ns(), start_ns),
        end: relative(source.origin_ns(), end_ns),
        lines: (0..lines).map(line).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_groups_are_read() {
        let column = || "a:b".to_owned();
        let cases = [
            ("count", Some(Aggregate::Count)),
            ("sum:a:b", Some(Aggregate::Sum(column()))),
            ("p50:a:b", Some(Aggregate::Percentile(column(), 50_000))),
            ("p99.95:a:b", Some(Aggregate::Percentile(column(), 99_950))),
            ("p100:a:b", Some(Aggregate::Percentile(column(), 100_000))),
            ("last:a:b", Some(Aggregate::Last(column()))),
            ("p101:a", None),
            ("p:a", None),
            ("p9.9999:a", None),
            ("p-1:a", None),
            ("median:a", None),
            ("sum", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Aggregate::parse(text).ok(), expected, "{text}");
        }
    }
}

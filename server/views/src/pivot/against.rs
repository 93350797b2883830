//! Groups of rows of two sides: sums and counts of each group by part of time, so that it can be told what a difference is worth.

use bathyscope_capture::{ShownCell, StreamSchema};

use super::{
    Aggregate, Found, PivotGroups, PivotQuery,
    held::{Held, KeptCount},
    tell::Teller,
};
use crate::{
    Cancel, Source, ViewError,
    against::{
        AgainstHeads, AgainstQuery, MAX_AGAINST_LINES, MatchedLine, MatchedLines, MatchedSide, MatchedValue, against,
        parts, same_columns,
    },
    answers::{AgainstKey, AgainstKind, AgainstMeasure, AgainstTable, PivotColumn, Unit},
    chance::block_of,
    distribution::ValueColumn,
    scan::{Hit, Scan, lost_of, schema_of},
};

/// How a value of a group is measured by part of time.
enum GroupMeasure {
    Rows,
    Sum(ValueColumn),
    Mean(ValueColumn),
    /// Not at all: what it is of all rows is told.
    Level,
}

impl GroupMeasure {
    fn of(source: &dyn Source, schema: &StreamSchema, value: &Aggregate) -> Result<Self, ViewError> {
        let column = |name: &str| ValueColumn::of(source, schema, name);
        Ok(match value {
            Aggregate::Count => Self::Rows,
            Aggregate::Sum(name) => Self::Sum(column(name)?),
            Aggregate::Mean(name) => Self::Mean(column(name)?),
            _ => Self::Level,
        })
    }

    const fn kind(&self) -> AgainstKind {
        match self {
            Self::Rows | Self::Sum(_) => AgainstKind::Amount,
            Self::Mean(_) => AgainstKind::Mean,
            Self::Level => AgainstKind::Level,
        }
    }

    fn empty(&self) -> MatchedValue {
        match self {
            Self::Rows => MatchedValue::Rows(parts()),
            Self::Sum(column) => MatchedValue::Sum(parts(), column.is_signed()),
            Self::Mean(column) => MatchedValue::Mean(parts(), parts(), 0.0, column.is_signed()),
            Self::Level => MatchedValue::Level(None),
        }
    }
}

/// Groups of rows of two sides, each with a query of the same columns and values: the stream of the other is the one that has the
/// same rows there.
///
/// # Errors
/// If a query does not fit its capture, columns are of other types there or are stacks, a chunk cannot be loaded, or `cancel` was
/// set.
pub fn groups_against(
    (here, of_here): (&dyn Source, &PivotQuery),
    (there, of_there): (&dyn Source, &PivotQuery),
    query: &AgainstQuery,
    cancel: &Cancel,
) -> Result<AgainstTable, ViewError> {
    let named = of_here.values.iter().filter(|value| value.wants_numbers());
    let columns: Vec<String> =
        of_here.by.iter().cloned().chain(named.filter_map(|value| value.column().map(str::to_owned))).collect();
    same_columns((here, of_here.stream), (there, of_there.stream), &columns)?;
    let (heads, side) = groups(here, of_here, cancel)?;
    let (_, other) = groups(there, of_there, cancel).map_err(ViewError::of_other)?;
    against(heads, (side, other), query)
}

/// The groups of a side.
struct GatheredGroups<'a> {
    query: &'a PivotQuery,
    measures: Vec<GroupMeasure>,
    groups: PivotGroups,
    values: Vec<Vec<MatchedValue>>,
    /// The group of each row of a chunk; none for a row that is in none.
    of_row: Vec<u32>,
    left_out: u64,
}

const NO_GROUP: u32 = u32::MAX;

fn groups(source: &dyn Source, query: &PivotQuery, cancel: &Cancel) -> Result<(AgainstHeads, MatchedSide), ViewError> {
    let schema = schema_of(source, query.stream)?;
    let found = Found::new(schema, query)?;
    let measures =
        query.values.iter().map(|value| GroupMeasure::of(source, schema, value)).collect::<Result<_, _>>()?;
    let mut gathered = GatheredGroups {
        query,
        measures,
        groups: PivotGroups::new(),
        values: Vec::new(),
        of_row: Vec::new(),
        left_out: 0,
    };
    let mut held: Vec<Held> = found.values.iter().map(|(value, column)| Held::new(schema, value, *column)).collect();
    let (mut room, mut rows, mut numbers) = (KeptCount::default(), 0, Vec::new());
    let mut wanted = found.wanted();
    wanted.push(StreamSchema::TIME);
    Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)?.for_each_hit(|hit| {
        rows += hit.picked.len() as u64;
        gathered.place(&found, hit, &mut numbers);
        let count = gathered.values.len();
        held.iter_mut().for_each(|held| held.add(&numbers, count, &hit.batch, &mut room));
        gathered.add(hit)
    })?;
    held.iter_mut().for_each(Held::close);
    let teller = Teller::new(source, &found, held);
    let lost = lost_of(source, query.stream, schema);
    let heads = heads(&found, &teller.columns(), &gathered.measures);
    Ok((heads, gathered.side(source, &teller, (rows, lost))))
}

fn heads(found: &Found<'_>, columns: &[PivotColumn], measures: &[GroupMeasure]) -> AgainstHeads {
    let keys = found.by.len();
    let key = |column: &PivotColumn| AgainstKey { name: column.name.clone(), display: column.display };
    let measure = |((column, measure), unit): ((&PivotColumn, &GroupMeasure), Unit)| AgainstMeasure {
        name: column.name.clone(),
        display: column.display,
        unit,
        kind: measure.kind(),
    };
    let units = found.values.iter().map(|(value, column)| match (value, column) {
        (Aggregate::Distinct(_), _) | (_, None) => Unit::Hits,
        (_, Some(column)) => ValueColumn::unit_of(found.schema, *column),
    });
    AgainstHeads {
        keys: columns.iter().take(keys).map(key).collect(),
        measures: columns.iter().skip(keys).zip(measures).zip(units).map(measure).collect(),
    }
}

impl GatheredGroups<'_> {
    /// Finds the group of each row of a chunk.
    fn place(&mut self, found: &Found<'_>, hit: &Hit, numbers: &mut Vec<(u32, u32)>) {
        let key = found.key(hit);
        let rows = hit.batch.columns.iter().map(bathyscope_capture::ColumnData::len).max().unwrap_or(0);
        self.of_row.clear();
        self.of_row.resize(rows, NO_GROUP);
        numbers.clear();
        hit.picked.for_each(|row| {
            let number = self.groups.number(key(row)).filter(|number| (*number as usize) < MAX_AGAINST_LINES);
            let (Some(number), Some(place)) = (number, self.of_row.get_mut(row)) else {
                self.left_out += 1;
                return;
            };
            *place = number;
            numbers.push((number, row as u32));
        });
        let count = self.groups.keys.len().min(MAX_AGAINST_LINES);
        let empty = || self.measures.iter().map(GroupMeasure::empty).collect::<Vec<_>>();
        self.values.resize_with(count, empty);
    }

    /// Adds the numbers of a chunk to those of its groups.
    fn add(&mut self, hit: &Hit) -> Result<(), ViewError> {
        let times = hit.u64s(StreamSchema::TIME)?;
        let (range, of_row, values) = (self.query.range, &self.of_row, &mut self.values);
        let block = |row: usize| block_of(range, times.get(row).copied().unwrap_or(0));
        for (at, measure) in self.measures.iter().enumerate() {
            match measure {
                GroupMeasure::Level => {}
                GroupMeasure::Rows => hit.picked.for_each(|row| {
                    if let Some(MatchedValue::Rows(parts)) = value_of(values, of_row, (row, at)) {
                        add(&mut **parts, block(row), 1.0);
                    }
                }),
                GroupMeasure::Sum(column) => {
                    column.for_each(hit, |row, key| {
                        if let Some(MatchedValue::Sum(parts, _)) = value_of(values, of_row, (row, at)) {
                            add(&mut **parts, block(row), column.value(key) as f64);
                        }
                    });
                }
                GroupMeasure::Mean(column) => {
                    column.for_each(hit, |row, key| {
                        if let Some(MatchedValue::Mean(sums, rows, squares, _)) = value_of(values, of_row, (row, at)) {
                            let value = column.value(key) as f64;
                            add(&mut **sums, block(row), value);
                            add(&mut **rows, block(row), 1.0);
                            *squares += value * value;
                        }
                    });
                }
            }
        }
        Ok(())
    }

    fn side(self, source: &dyn Source, teller: &Teller<'_>, (rows, lost): (u64, u64)) -> MatchedSide {
        let mut lines = MatchedLines::default();
        let keys = self.query.by.len();
        for (number, (key, mut values)) in self.groups.keys.iter().zip(self.values).enumerate() {
            let line = teller.line(number, *key);
            for (value, cell) in values.iter_mut().zip(line.cells.iter().skip(keys)) {
                if let MatchedValue::Level(level) = value {
                    *level = number_of(cell);
                }
            }
            let key = line.cells.into_iter().take(keys).collect();
            let filter = line.condition.unwrap_or_default();
            lines.add(MatchedLine { key, filter, values, ..MatchedLine::default() });
        }
        MatchedSide {
            origin_ns: source.origin_ns(),
            range: self.query.range,
            rows,
            lost,
            left_out: self.left_out,
            lines,
            wholes: Vec::new(),
            caution: None,
        }
    }
}

/// A value of the group of a row.
fn value_of<'a>(
    values: &'a mut [Vec<MatchedValue>],
    of_row: &[u32],
    (row, at): (usize, usize),
) -> Option<&'a mut MatchedValue> {
    let group = of_row.get(row).copied().filter(|group| *group != NO_GROUP)?;
    values.get_mut(group as usize)?.get_mut(at)
}

fn add(parts: &mut [f64], block: usize, more: f64) {
    if let Some(sum) = parts.get_mut(block) {
        *sum += more;
    }
}

/// A cell that is a number.
fn number_of(cell: &ShownCell) -> Option<f64> {
    match cell {
        ShownCell::Number(number) => Some(*number as f64),
        ShownCell::Real(number) => Some(*number),
        _ => None,
    }
}

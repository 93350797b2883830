//! A map of two sides by key.

use std::collections::HashMap;

use bathyscope_capture::{ColumnType, Display, ShownCell};

use super::{MapShape, Period, adds_up, period::Readings, snapshots};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    against::{
        AgainstHeads, AgainstQuery, MatchedLine, MatchedLines, MatchedSide, MatchedValue, against, name_of, parts,
    },
    answers::{AgainstKey, AgainstKind, AgainstMeasure, AgainstTable, MapKind, Unit},
    cell::cells,
    chance::{Draw, block_of},
    scan::{lost_of, schema_of},
};

/// So many readings tell how a value varies over time, at least.
const MIN_READINGS: usize = 8;
/// What a map is made of in the words of a script.
const KINDS: [(MapKind, &str); 9] = [
    (MapKind::Histogram, "a histogram"),
    (MapKind::TimeSeries, "a series over time"),
    (MapKind::Stats, "counts, averages and totals"),
    (MapKind::Count, "a count"),
    (MapKind::Sum, "a sum"),
    (MapKind::Min, "a least value"),
    (MapKind::Max, "a greatest value"),
    (MapKind::Average, "an average"),
    (MapKind::Value, "whatever is put in"),
];

fn words(kind: MapKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("", |(_, words)| words)
}

/// A map of one side.
#[derive(Clone, Copy)]
pub struct SideMap<'a> {
    /// The capture.
    pub source: &'a dyn Source,
    /// The map.
    pub shape: &'a MapShape,
    /// Of which time.
    pub range: TimeRange,
}

/// A map of two sides by key: what came in within their ranges, or of values that do not add up what they were at the end. How much
/// a value varies is told by its readings, if they are enough.
///
/// # Errors
/// If the maps are not of one kind, of one unit and of one key, are keyed by stacks or are series over time, a chunk cannot be
/// loaded, or `cancel` was set.
pub fn map_against(
    here: SideMap<'_>,
    there: SideMap<'_>,
    query: &AgainstQuery,
    cancel: &Cancel,
) -> Result<AgainstTable, ViewError> {
    let heads = heads(here, there)?;
    against(heads, (side(here, cancel)?, side(there, cancel)?), query)
}

fn heads(here: SideMap<'_>, there: SideMap<'_>) -> Result<AgainstHeads, ViewError> {
    let schema = schema_of(here.source, here.shape.stream)?;
    let name = bathyscope_capture::shown(&schema.name);
    let refused = |why: String| Err(ViewError::AgainstMap { name: name.clone(), why });
    let (one, two) = (here.shape, there.shape);
    if one.kind != two.kind {
        return refused(format!("it is {} here and {} there", words(one.kind), words(two.kind)));
    }
    if one.unit != two.unit {
        return refused(format!("its values are {} here and {} there", one.unit.name(), two.unit.name()));
    }
    if one.key.len() != two.key.len() {
        return refused(format!("its key has {} parts here and {} there", one.key.len(), two.key.len()));
    }
    if one.kind == MapKind::TimeSeries {
        return refused("its values are of moments, and moments of two recordings are not the same".to_owned());
    }
    if one.has_stacks(here.source)? || two.has_stacks(there.source)? {
        return refused("its keys are stacks, which have other numbers in each capture".to_owned());
    }
    let key = |column: &usize| {
        let column = schema.columns.get(*column)?;
        Some(AgainstKey { name: column.name.clone(), display: column.display })
    };
    let unit = if one.kind == MapKind::Histogram { Unit::Hits } else { one.unit };
    let measure = |(name, unit, kind): (&str, Unit, AgainstKind)| AgainstMeasure {
        // Its numbers are what the script put in, whatever they count.
        display: Display::Decimal,
        ..AgainstMeasure::named((name, unit, kind))
    };
    let named = match one.kind {
        MapKind::Stats => vec![
            ("count", Unit::Hits, AgainstKind::Amount),
            ("total", unit, AgainstKind::Amount),
            ("average", unit, AgainstKind::Level),
        ],
        MapKind::Histogram | MapKind::Count => vec![("count", unit, AgainstKind::Amount)],
        MapKind::Sum => vec![("sum", unit, AgainstKind::Amount)],
        MapKind::Min => vec![("min", unit, AgainstKind::Level)],
        MapKind::Max => vec![("max", unit, AgainstKind::Level)],
        MapKind::Average => vec![("average", unit, AgainstKind::Level)],
        MapKind::Value | MapKind::TimeSeries => vec![("value", unit, AgainstKind::Level)],
    };
    Ok(AgainstHeads {
        keys: one.key.iter().filter_map(key).collect(),
        measures: named.into_iter().map(measure).collect(),
    })
}

/// What came into elements of a key by part of time, one for each number that adds up.
struct KeyParts {
    amounts: Vec<Draw>,
    before: Vec<i128>,
    /// Whether they can be below 0, and become less by themselves.
    is_signed: bool,
}

/// The numbers of a row that add up: count and total of statistics, the count of a bucket, or the value.
fn amounts_of(shape: &MapShape, row: &[ShownCell]) -> Vec<i128> {
    let number = |column: &usize| match row.get(*column) {
        Some(ShownCell::Number(number)) => *number,
        _ => 0,
    };
    match shape.kind {
        MapKind::Histogram => shape.value.iter().skip(2).map(number).collect(),
        MapKind::Stats => shape.value.iter().step_by(2).map(number).collect(),
        _ => shape.value.iter().take(1).map(number).collect(),
    }
}

fn side(map: SideMap<'_>, cancel: &Cancel) -> Result<MatchedSide, ViewError> {
    let SideMap { source, shape, range } = map;
    let schema = schema_of(source, shape.stream)?;
    let came = if adds_up(shape.kind) { by_parts(map, cancel)? } else { None };
    let few = adds_up(shape.kind) && came.is_none();
    let mut found: HashMap<String, MatchedLine> = HashMap::new();
    let mut rows = 0_u64;
    let mut add = |row: Vec<ShownCell>| {
        let key: Vec<ShownCell> = shape.key.iter().filter_map(|column| row.get(*column).cloned()).collect();
        let name = name_of(&key);
        let amounts = amounts_of(shape, &row);
        let first = amounts.first().copied().unwrap_or(0);
        rows = rows.saturating_add(u64::try_from(first.max(0)).unwrap_or(u64::MAX));
        let line = found.entry(name).or_insert_with(|| MatchedLine { key, ..MatchedLine::default() });
        if let (MapKind::Histogram, Some((low, high))) = (shape.kind, limits_of(shape, &row)) {
            line.buckets.push((low, high, u64::try_from(first.max(0)).unwrap_or(u64::MAX)));
        }
        let values = values_of(shape, &row, &amounts);
        if line.values.is_empty() {
            line.values = values;
        } else {
            line.values.iter_mut().zip(values).for_each(|(sum, more)| sum.absorb(more));
        }
    };
    if let Some(readings) = Readings::of(source, shape, Period::Range(range), cancel)? {
        readings.each(source, shape, cancel, &mut |_, row| add(row))?;
    }
    let (mut lines, mut left_out) = (MatchedLines::default(), 0);
    let mut came = came.unwrap_or_default();
    for (name, mut line) in found {
        if let Some(parts) = came.remove(&name) {
            replace(shape, &mut line.values, parts);
        }
        let more = line.values.first().and_then(MatchedValue::recorded).unwrap_or(0.0);
        left_out += if lines.add(line) { 0 } else { more as u64 };
    }
    let lost = lost_of(source, shape.stream, schema);
    let caution =
        few.then(|| format!("Fewer than {MIN_READINGS} readings of the map are too few to tell chance, in the range"));
    let wholes = Vec::new();
    Ok(MatchedSide { origin_ns: source.origin_ns(), range, rows, lost, left_out, lines, wholes, caution })
}

fn limits_of(shape: &MapShape, row: &[ShownCell]) -> Option<(i128, i128)> {
    let number = |index: usize| match row.get(*shape.value.get(index)?)? {
        ShownCell::Number(number) => Some(*number),
        _ => None,
    };
    Some((number(0)?, number(1)?))
}

/// The numbers of a row, of which nobody knows yet when they came.
fn values_of(shape: &MapShape, row: &[ShownCell], amounts: &[i128]) -> Vec<MatchedValue> {
    let level = |column: Option<&usize>| {
        let number = column.and_then(|column| match row.get(*column) {
            Some(ShownCell::Number(number)) => Some(*number as f64),
            Some(ShownCell::Real(number)) => Some(*number),
            _ => None,
        });
        MatchedValue::Level(number)
    };
    let whole = |at: usize| MatchedValue::Whole(amounts.get(at).copied().unwrap_or(0) as f64);
    match shape.kind {
        MapKind::Stats => vec![whole(0), whole(1), level(shape.value.get(1))],
        kind if adds_up(kind) => vec![whole(0)],
        _ => vec![level(shape.value.first())],
    }
}

/// Puts what came by part of time in the place of what came in all.
fn replace(shape: &MapShape, values: &mut [MatchedValue], parts: KeyParts) {
    for (at, (value, amount)) in values.iter_mut().zip(parts.amounts).enumerate() {
        let is_count = at == 0 && matches!(shape.kind, MapKind::Histogram | MapKind::Count | MapKind::Stats);
        *value = if is_count {
            MatchedValue::Rows(Box::new(amount))
        } else {
            MatchedValue::Sum(Box::new(amount), parts.is_signed)
        };
    }
}

/// What came in by part of time, by key; none where readings of the range are too few to tell.
fn by_parts(map: SideMap<'_>, cancel: &Cancel) -> Result<Option<HashMap<String, KeyParts>>, ViewError> {
    let SideMap { source, shape, range } = map;
    let all = snapshots(source, shape, cancel)?;
    let inside = all.iter().filter(|info| range.contains(info.time_ns)).count();
    if inside < MIN_READINGS {
        return Ok(None);
    }
    // Before the range the last reading is what later ones are less.
    let before = all.iter().take_while(|info| info.time_ns <= range.start_ns).last();
    let from = before.map_or(range.start_ns, |info| info.time_ns);
    let count = if shape.kind == MapKind::Stats { 2 } else { 1 };
    let schema = schema_of(source, shape.stream)?;
    let value = shape.value.first().and_then(|column| schema.columns.get(*column));
    let is_signed = shape.kind == MapKind::Sum && value.is_some_and(|column| column.ty == ColumnType::I64);
    let mut growth = KeyGrowth { range, resets: shape.resets, count, is_signed, found: HashMap::new() };
    let mut now: HashMap<String, Vec<i128>> = HashMap::new();
    let mut reading: Option<(u64, u64)> = None;
    let readings = TimeRange { start_ns: from, end_ns: range.end_ns };
    shape.each_in(source, readings, cancel, &mut |number, schema, batch, row| {
        // Readings come in their order; each has a time of its own.
        let time_ns = crate::scan::bits(batch.columns.first(), row);
        if let Some((last, last_ns)) = reading
            && last != number
        {
            growth.close(&mut now, last_ns);
        }
        reading = Some((number, time_ns));
        let row = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
        let key: Vec<ShownCell> = shape.key.iter().filter_map(|column| row.get(*column).cloned()).collect();
        let amounts = amounts_of(shape, &row);
        let sums = now.entry(name_of(&key)).or_insert_with(|| vec![0; count]);
        sums.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum = sum.saturating_add(amount));
    })?;
    if let Some((_, time_ns)) = reading {
        growth.close(&mut now, time_ns);
    }
    Ok(Some(growth.found))
}

/// What came in so far, reading by reading.
struct KeyGrowth {
    range: TimeRange,
    /// Whether the script empties the map, so that each reading begins anew.
    resets: bool,
    /// How many numbers of a key add up.
    count: usize,
    is_signed: bool,
    found: HashMap<String, KeyParts>,
}

impl KeyGrowth {
    /// Ends a reading: what it has more than the one before came in then.
    fn close(&mut self, now: &mut HashMap<String, Vec<i128>>, time_ns: u64) {
        let is_before = time_ns <= self.range.start_ns && !self.resets;
        let block = block_of(self.range, time_ns);
        let (count, is_signed) = (self.count, self.is_signed);
        for (name, amounts) in now.drain() {
            let none = || KeyParts { amounts: vec![*parts(); count], before: vec![0; count], is_signed };
            let known = self.found.entry(name).or_insert_with(none);
            // Less than before: the element was taken out in between.
            let fell = self.resets || (!is_signed && amounts.first() < known.before.first());
            let sums = known.amounts.iter_mut().zip(&amounts).zip(&known.before);
            for ((sum, amount), before) in sums.filter(|_| !is_before) {
                let came = if fell { *amount } else { amount - before };
                if let Some(sum) = sum.get_mut(block) {
                    *sum += came as f64;
                }
            }
            known.before = amounts;
        }
    }
}

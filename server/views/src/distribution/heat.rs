//! Heat maps: how many rows there are by time and by value, or by period and by the offset in it.

use bathyscope_capture::StreamSchema;

use super::{
    ValueLimits,
    cells::{Grid, TimeColumns},
    scale::{Buckets, ValueScale, extremes},
    shown,
    values::{Outside, ValueColumn},
};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::HeatMap,
    scan::{Hit, Scan, schema_of},
    source::relative,
};

/// How many rows one answer looks at, about.
pub const HEAT_ROWS: u64 = 16_000_000;
/// The most columns.
pub const MAX_HEAT_COLUMNS: u32 = 1024;
/// The most buckets of a power of two of values, as bits: a picture has no room for more.
const MAX_HEAT_BITS: u8 = 4;
/// The most rows of a picture of equal width.
const MAX_HEAT_ROWS: u32 = 1024;
/// The shortest period that offsets are shown in, and the longest.
const PERIODS_NS: (u64, u64) = (1_000, 86_400_000_000_000);

/// What is from bottom to top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeatAxis {
    /// Values of a column of numbers, of the one that rows are about if it is empty.
    Value {
        /// The column.
        column: String,
        /// In which buckets.
        scale: ValueScale,
        /// Which of them.
        limits: ValueLimits,
    },
    /// The offset of a row's time within a period; columns are the periods from the capture's start on.
    Offset {
        /// How long a period is.
        period_ns: u64,
        /// Into how many rows it is divided.
        rows: u32,
    },
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeatQuery {
    /// The stream.
    pub stream: u16,
    /// When.
    pub range: TimeRange,
    /// Which rows.
    pub filter: Option<Filter>,
    /// What is from bottom to top.
    pub axis: HeatAxis,
    /// The most columns, 1 to [`MAX_HEAT_COLUMNS`]; periods are as many as there are.
    pub columns: u32,
    /// How many chunks have been looked at already.
    pub skip: u64,
    /// How many rows are looked at, about; [`HEAT_ROWS`] but for tests.
    pub budget_rows: u64,
}

/// Rows by time and value, of as many chunks as the budget has rows for, at least one.
///
/// # Errors
/// If there is no such stream or column, a parameter is out of its limits, a chunk cannot be read, or `cancel` was set.
pub fn heat_map(source: &dyn Source, query: &HeatQuery, cancel: &Cancel) -> Result<HeatMap, ViewError> {
    ViewError::within("the number of columns", query.columns.into(), 1, MAX_HEAT_COLUMNS.into())?;
    match &query.axis {
        HeatAxis::Value { column, scale, limits } => by_value(source, query, (column, *scale, *limits), None, cancel),
        HeatAxis::Offset { period_ns, rows } => by_offset(source, query, (*period_ns, *rows), cancel),
    }
}

/// By time and value, in columns of `step` nanoseconds, or as many as the query says.
pub(super) fn by_value(
    source: &dyn Source,
    query: &HeatQuery,
    (name, scale, limits): (&str, ValueScale, ValueLimits),
    step: Option<u64>,
    cancel: &Cancel,
) -> Result<HeatMap, ViewError> {
    match scale {
        ValueScale::Linear(rows) => ViewError::within("the number of buckets", rows.into(), 2, MAX_HEAT_ROWS.into())?,
        ValueScale::Log(bits) => {
            ViewError::within("buckets of a power of two, as bits,", bits.into(), 0, MAX_HEAT_BITS.into())?;
        }
    }
    let schema = schema_of(source, query.stream)?;
    let column = ValueColumn::of(source, schema, name)?;
    let taken = column.range(limits);
    let wanted = [column.index(), StreamSchema::TIME];
    let mut scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)?;
    // Buckets of equal width depend on the exact extremes, which an answer hands to the ones that go on.
    let is_exact = matches!(scale, ValueScale::Linear(_)) && query.skip == 0;
    let found = extremes(&mut scan, &column, (taken, is_exact), (query.range, cancel))?;
    let told = match (limits.low, limits.high) {
        (Some(low), Some(high)) => Some((column.key(low), column.key(high.saturating_sub(1)))),
        _ => found,
    };
    let buckets = Buckets::new(scale, &column, told.unwrap_or((0, 0)));
    let (first, last) = found.map_or((0, -1), |(first, last)| (buckets.index(first), buckets.index(last)));
    let rows = usize::try_from(last - first + 1).unwrap_or(0);
    let begin = relative(source.origin_ns(), query.range.start_ns);
    let step = step.unwrap_or_else(|| query.range.span_ns().div_ceil(query.columns.into()).max(1));
    let count = usize::try_from(query.range.span_ns().div_ceil(step)).unwrap_or(0).max(1);
    let (mut grid, mut columns) = (Grid::new(count, rows.max(1)), TimeColumns::new(begin, step, count));
    let mut outside = Outside::default();
    let mut answer = HeatMap { of: column.of.clone(), ..head(source, query, (begin, step, count)) };
    (answer.low, answer.high) = match told {
        Some((least, most)) => (Some(shown(column.value(least))), Some(shown(column.value(most) + 1))),
        None => (None, None),
    };
    let origin_ns = source.origin_ns();
    in_parts(&mut scan, query, &mut answer, |hit, answer| {
        let times = hit.u64s(StreamSchema::TIME)?;
        answer.without += column.for_each(hit, |row, key| {
            if !taken.takes(key, &mut outside) {
                return;
            }
            let time = times.get(row).map(|time_ns| relative(origin_ns, *time_ns));
            let Some((at, _)) = time.and_then(|time| columns.of(time)) else { return };
            grid.add(at, usize::try_from(buckets.index(key) - first).unwrap_or(usize::MAX), 1);
        });
        Ok(())
    })?;
    (answer.below, answer.above) = (outside.below, outside.above);
    if let Some((from, to)) = grid.filled_rows() {
        let index = |row: usize| first.saturating_add(i32::try_from(row).unwrap_or(i32::MAX));
        let limits = (from..=to).map(|row| buckets.limits(index(row)));
        answer.buckets = limits.map(|(low, high)| (shown(low), shown(high))).collect();
        answer.cells = grid.cells(from);
    }
    Ok(answer)
}

fn by_offset(
    source: &dyn Source,
    query: &HeatQuery,
    (period_ns, rows): (u64, u32),
    cancel: &Cancel,
) -> Result<HeatMap, ViewError> {
    ViewError::within("the period in nanoseconds", period_ns, PERIODS_NS.0, PERIODS_NS.1)?;
    ViewError::within("the number of rows", rows.into(), 2, MAX_HEAT_ROWS.into())?;
    let mut scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &[StreamSchema::TIME], cancel)?;
    let origin_ns = source.origin_ns();
    let period = i64::try_from(period_ns).unwrap_or(i64::MAX);
    let number = |time_ns: u64| relative(origin_ns, time_ns).div_euclid(period);
    let (first, last) = (number(query.range.start_ns), number(query.range.end_ns.saturating_sub(1)));
    let count = last.abs_diff(first).saturating_add(1);
    ViewError::within("the number of periods in the range", count, 1, query.columns.into())?;
    let height = period_ns.div_ceil(rows.into());
    let rows = period_ns.div_ceil(height);
    let begin = first.saturating_mul(period);
    let size = (usize::try_from(count).unwrap_or(0), usize::try_from(rows).unwrap_or(0));
    let (mut grid, mut columns) = (Grid::new(size.0, size.1), TimeColumns::new(begin, period_ns, size.0));
    let mut answer = head(source, query, (begin, period_ns, size.0));
    in_parts(&mut scan, query, &mut answer, |hit, _| {
        let times = hit.u64s(StreamSchema::TIME)?;
        hit.picked.for_each(|row| {
            let time = times.get(row).map(|time_ns| relative(origin_ns, *time_ns));
            if let Some((at, inside)) = time.and_then(|time| columns.of(time)) {
                grid.add(at, usize::try_from(inside / height).unwrap_or(usize::MAX), 1);
            }
        });
        Ok(())
    })?;
    let limits = (0..rows).map(|row| (row * height, ((row + 1) * height).min(period_ns)));
    answer.buckets = limits.map(|(low, high)| (shown(low.into()), shown(high.into()))).collect();
    answer.cells = grid.cells(0);
    Ok(answer)
}

fn head(source: &dyn Source, query: &HeatQuery, (begin, step, count): (i64, u64, usize)) -> HeatMap {
    HeatMap {
        start: relative(source.origin_ns(), query.range.start_ns),
        end: relative(source.origin_ns(), query.range.end_ns),
        begin,
        step,
        columns: count,
        ..HeatMap::default()
    }
}

/// Gives the chunks with rows to `each`, from those on that have not been looked at, as long as the budget lasts.
fn in_parts(
    scan: &mut Scan<'_>,
    query: &HeatQuery,
    answer: &mut HeatMap,
    mut each: impl FnMut(&Hit, &mut HeatMap) -> Result<(), ViewError>,
) -> Result<(), ViewError> {
    answer.total = scan.total();
    let skip = usize::try_from(query.skip).unwrap_or(usize::MAX);
    for chunk in skip..scan.chunks().len() {
        if answer.looked_at >= query.budget_rows {
            answer.next = Some(chunk as u64);
            break;
        }
        answer.looked_at += scan.chunks().get(chunk).map_or(0, |meta| u64::from(meta.rows));
        if let Some(hit) = scan.hit(chunk)? {
            answer.rows += hit.picked.len() as u64;
            each(&hit, answer)?;
        }
    }
    Ok(())
}

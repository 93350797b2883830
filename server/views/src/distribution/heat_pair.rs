//! Two heat maps with the same rows and with columns of the same length.

use bathyscope_capture::ShownCell;

use super::{
    ValueLimits,
    heat::{HeatAxis, HeatQuery, by_value},
    scale::{Buckets, ValueScale, extremes},
    shown,
    values::ValueColumn,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{HeatMap, HeatPair},
    scan::{Scan, schema_of},
};

/// Rows of two sides by time and value. Columns are as long as those of the longer side, so the shorter one has fewer.
///
/// # Errors
/// As [`super::heat_map()`], and if one is of offsets.
pub fn heat_pair(
    (here, of_here): (&dyn Source, &HeatQuery),
    (there, of_there): (&dyn Source, &HeatQuery),
    cancel: &Cancel,
) -> Result<HeatPair, ViewError> {
    let columns = u64::from(of_here.columns);
    ViewError::within("the number of columns", columns, 1, super::MAX_HEAT_COLUMNS.into())?;
    let (one, two) = (SideHeat::new(here, of_here)?, SideHeat::new(there, of_there).map_err(ViewError::of_other)?);
    let spans = (of_here.range.span_ns(), of_there.range.span_ns());
    let step = spans.0.max(spans.1).div_ceil(columns).max(1);
    let limits = match one.scale {
        ValueScale::Log(_) => one.limits,
        // Buckets of equal width depend on the extremes of both.
        ValueScale::Linear(_) => common(one.extremes(cancel)?, two.extremes(cancel)?, one.limits),
    };
    let (mut a, mut b) = (one.draw(limits, step, cancel)?, two.draw(limits, step, cancel)?);
    one.align(limits, (&mut a, &mut b));
    Ok(HeatPair { here: a, there: b, here_ns: spans.0, there_ns: spans.1 })
}

/// One side.
struct SideHeat<'a> {
    source: &'a dyn Source,
    query: &'a HeatQuery,
    column: ValueColumn,
    scale: ValueScale,
    limits: ValueLimits,
}

impl<'a> SideHeat<'a> {
    fn new(source: &'a dyn Source, query: &'a HeatQuery) -> Result<Self, ViewError> {
        let HeatAxis::Value { column, scale, limits } = &query.axis else { return Err(ViewError::AgainstOffsets) };
        let column = ValueColumn::of(source, schema_of(source, query.stream)?, column)?;
        Ok(Self { source, query, column, scale: *scale, limits: *limits })
    }

    fn extremes(&self, cancel: &Cancel) -> Result<Option<(i128, i128)>, ViewError> {
        let Self { source, query, column, limits, .. } = self;
        let (range, filter) = (query.range, query.filter.as_ref());
        let mut scan = Scan::new(*source, query.stream, range, filter, &[column.index()], cancel)?;
        let found = extremes(&mut scan, column, (column.range(*limits), true), (range, cancel))?;
        Ok(found.map(|(first, last)| (column.value(first), column.value(last))))
    }

    fn draw(&self, limits: ValueLimits, step: u64, cancel: &Cancel) -> Result<HeatMap, ViewError> {
        // Two halves of a picture can only be compared when both are whole.
        let whole = HeatQuery { skip: 0, budget_rows: u64::MAX, ..self.query.clone() };
        by_value(self.source, &whole, (&self.column.of.column, self.scale, limits), Some(step), cancel)
    }

    /// Gives both maps the rows of either.
    fn align(&self, limits: ValueLimits, (a, b): (&mut HeatMap, &mut HeatMap)) {
        let column = &self.column;
        let told = limits.low.zip(limits.high).map(|(low, high)| (column.key(low), column.key(high.saturating_sub(1))));
        let buckets = Buckets::new(self.scale, column, told.unwrap_or((0, 0)));
        let index = |cell: &ShownCell| {
            if let ShownCell::Number(low) = cell { Some(buckets.index(column.key(*low))) } else { None }
        };
        let ends = |map: &HeatMap| {
            let first = map.buckets.first().and_then(|(low, _)| index(low))?;
            Some((first, first + i32::try_from(map.buckets.len()).unwrap_or(i32::MAX) - 1))
        };
        let (of_a, of_b) = (ends(a), ends(b));
        let all = || of_a.iter().chain(&of_b);
        let (Some(first), Some(last)) = (all().map(|ends| ends.0).min(), all().map(|ends| ends.1).max()) else {
            return;
        };
        let rows: Vec<_> =
            (first..=last).map(|row| buckets.limits(row)).map(|(low, high)| (shown(low), shown(high))).collect();
        for (map, ends) in [(a, of_a), (b, of_b)] {
            let shift = ends.map_or(0, |(own, _)| usize::try_from(own - first).unwrap_or(0));
            map.cells.row.iter_mut().for_each(|row| *row += shift);
            map.buckets.clone_from(&rows);
        }
    }
}

/// Limits that have the values of both sides.
fn common(a: Option<(i128, i128)>, b: Option<(i128, i128)>, limits: ValueLimits) -> ValueLimits {
    let all = || a.iter().chain(&b);
    let (low, last) = (all().map(|ends| ends.0).min(), all().map(|ends| ends.1).max());
    ValueLimits { low: limits.low.or(low), high: limits.high.or(last.map(|last| last + 1)) }
}

//! Looking for rows in all streams of a capture.
//!
//! What is looked for is a filter: text in any text or function of a row, or a condition on columns. Text is also looked for in the
//! names of streams, as rows of events are called so. Each text of the dictionaries is looked at once; then rows are compared by
//! their ids. An answer looks at a bounded number of rows and says where to go on, so that a large capture is searched in parts.

mod marks;
mod place;
mod step;

use bathyscope_capture::{StreamSchema, visible};

pub use step::{FindStepQuery, FoundPlace, find_step};

use self::{marks::Marks, place::RowPlaces};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{FoundInStream, FoundRows},
    needle::Needle,
    scan::Scan,
    source::relative,
};

/// The most columns that rows are marked in.
pub const MAX_FIND_COLUMNS: u32 = 4096;
/// How many rows one answer looks at, about.
pub const FIND_ROWS: u64 = 4_000_000;
/// What is looked for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindQuery {
    /// What is looked for.
    pub filter: Filter,
    /// When.
    pub range: TimeRange,
    /// How many columns the range is divided into, 1 to [`MAX_FIND_COLUMNS`].
    pub columns: u32,
    /// Rows that are not longer than this and whose time is outside of the range are marked as far as they reach into it.
    pub reach_ns: u64,
    /// Rows that last longer than this are told with their times; none if they are only marked.
    pub long_ns: Option<u64>,
    /// How many chunks of all streams, one after another, have been looked at already.
    pub skip: u64,
    /// How many rows are looked at, about; [`FIND_ROWS`] but for tests.
    pub budget_rows: u64,
}

/// Columns of equal width of a range of time.
#[derive(Clone, Copy, Debug)]
struct Columns {
    range: TimeRange,
    count: u32,
}

impl Columns {
    fn new(range: TimeRange, count: u32) -> Result<Self, ViewError> {
        ViewError::within("the number of columns", count.into(), 1, MAX_FIND_COLUMNS.into())?;
        Ok(Self { range, count })
    }

    /// The column that a moment is in; moments outside are in the first or the last.
    fn of(self, time_ns: u64) -> u32 {
        let inside = u128::from(time_ns.saturating_sub(self.range.start_ns));
        let column = inside * u128::from(self.count) / u128::from(self.range.span_ns().max(1));
        u32::try_from(column).unwrap_or(u32::MAX).min(self.count - 1)
    }

    /// The columns that a time is in, from the first to the last; none if it is outside of the range.
    fn of_time(self, (start_ns, end_ns): (u64, u64)) -> Option<(u32, u32)> {
        let (from_ns, to_ns) =
            (start_ns.max(self.range.start_ns), end_ns.max(start_ns.saturating_add(1)).min(self.range.end_ns));
        (from_ns < to_ns).then(|| (self.of(from_ns), self.of(to_ns - 1)))
    }

    /// The first moment of a column.
    fn begin_ns(self, column: u32) -> u64 {
        let count = u128::from(self.count);
        let inside = (u128::from(self.range.span_ns()) * u128::from(column)).div_ceil(count);
        self.range.start_ns.saturating_add(u64::try_from(inside).unwrap_or(u64::MAX))
    }
}

/// The streams that have what is looked for, each as a scan. A stream whose name has the text counts with all of its rows. Rows that
/// last have to be within `reach_ns` of the range.
fn scans<'a>(
    source: &'a dyn Source,
    (filter, range, reach_ns): (&Filter, TimeRange, u64),
    cancel: &'a Cancel,
) -> Result<Vec<Scan<'a>>, ViewError> {
    let mut scans = Vec::new();
    let mut refused = None;
    for (stream, schema) in (0_u16..).zip(source.streams()) {
        let filter = (!is_named(schema, filter)).then_some(filter);
        match Scan::new(
            source,
            stream,
            RowPlaces::new(source, stream, schema).reached(range, reach_ns),
            filter,
            &RowPlaces::columns(schema),
            cancel,
        ) {
            Ok(scan) => scans.push(scan),
            // Another stream may have the column.
            Err(error) if error.is_misfit() => {
                refused = refused.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(error) if scans.is_empty() => Err(error),
        _ => Ok(scans),
    }
}

fn is_named(schema: &StreamSchema, filter: &Filter) -> bool {
    match filter {
        Filter::Substring(text) => Needle::new(text).is_some_and(|needle| needle.is_in_bytes(schema.name.as_bytes())),
        Filter::Predicate(_) => false,
    }
}

/// Counts and marks what is looked for, in as many chunks as the budget has rows for, at least one.
///
/// # Errors
/// If no stream has the columns of a condition, columns are out of their limits, chunks cannot be read, or `cancel` was set.
pub fn find(source: &dyn Source, query: &FindQuery, cancel: &Cancel) -> Result<FoundRows, ViewError> {
    let columns = Columns::new(query.range, query.columns)?;
    let mut marks = Marks::new(columns, query);
    let mut answer = FoundRows {
        start: relative(source.origin_ns(), query.range.start_ns),
        end: relative(source.origin_ns(), query.range.end_ns),
        columns: query.columns,
        ..FoundRows::default()
    };
    let mut number = 0;
    for mut scan in scans(source, (&query.filter, query.range, query.reach_ns), cancel)? {
        let (stream, schema) = (scan.stream(), scan.schema());
        let places = RowPlaces::new(source, stream, schema);
        let mut found = 0;
        answer.rows += scan.total();
        for chunk in 0..scan.chunks().len() {
            let mine = number;
            number += 1;
            if mine < query.skip || answer.next.is_some() {
                continue;
            }
            if answer.looked_at >= query.budget_rows {
                answer.next = Some(mine);
                continue;
            }
            answer.looked_at += scan.chunks().get(chunk).map_or(0, |meta| u64::from(meta.rows));
            let Some(hit) = scan.hit(chunk)? else { continue };
            hit.picked.for_each(|row| found += u64::from(marks.add(&places, &hit.batch, row)));
        }
        if found > 0 {
            answer.streams.push(FoundInStream { stream, name: visible(schema.name.as_bytes()), rows: found });
        }
    }
    marks.tell(source, &mut answer);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_begin_where_their_moments_do() {
        for (span, count) in [(1000, 7), (7, 1000), (1, 1), (u64::MAX / 2, 4096)] {
            let columns = Columns::new(TimeRange { start_ns: 5, end_ns: 5 + span }, count).unwrap();
            for column in 0..count {
                let begin_ns = columns.begin_ns(column);
                assert!(columns.of(begin_ns) >= column || begin_ns >= columns.range.end_ns, "{span} {count} {column}");
                assert!(begin_ns == 5 || columns.of(begin_ns - 1) < column.max(1), "{span} {count} {column}");
            }
        }
    }
}

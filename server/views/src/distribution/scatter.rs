//! Single rows by time and value, where they are few.

use bathyscope_capture::StreamSchema;

use super::{
    ValueLimits, shown,
    values::{Outside, ValueColumn},
};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::Scatter,
    scan::{Picked, Scan, schema_of},
    source::relative,
};

/// The most rows that are told one by one.
pub const MAX_SCATTERED: usize = 20_000;

/// Which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterQuery {
    /// The stream.
    pub stream: u16,
    /// A column of numbers; the one that rows are about if it is empty.
    pub column: String,
    /// When.
    pub range: TimeRange,
    /// Which rows.
    pub filter: Option<Filter>,
    /// Which values.
    pub limits: ValueLimits,
}

/// Time and value of each row, if there are at most [`MAX_SCATTERED`]; else only how many there are.
///
/// # Errors
/// If there is no such stream or column, a chunk cannot be read, or `cancel` was set.
pub fn scatter(source: &dyn Source, query: &ScatterQuery, cancel: &Cancel) -> Result<Scatter, ViewError> {
    let schema = schema_of(source, query.stream)?;
    let column = ValueColumn::of(source, schema, &query.column)?;
    let taken = column.range(query.limits);
    let wanted = [column.index(), StreamSchema::TIME];
    let mut scan = Scan::new(source, query.stream, query.range, query.filter.as_ref(), &wanted, cancel)?;
    let mut answer = Scatter {
        of: column.of.clone(),
        start: relative(source.origin_ns(), query.range.start_ns),
        end: relative(source.origin_ns(), query.range.end_ns),
        most: MAX_SCATTERED,
        ..Scatter::default()
    };
    let mut outside = Outside::default();
    // Rows of tables are numbered so: those of the range and the filter, in their order.
    let mut before = 0_u64;
    scan.for_each_hit(|hit| {
        let times = hit.u64s(StreamSchema::TIME)?;
        let mut numbers = Numbers::default();
        answer.without += column.for_each(hit, |row, key| {
            if !taken.takes(key, &mut outside) {
                return;
            }
            answer.shown += 1;
            if answer.rows.len() < MAX_SCATTERED {
                let time_ns = times.get(row).copied().unwrap_or(0);
                answer.times.push(relative(source.origin_ns(), time_ns));
                answer.values.push(shown(column.value(key)));
                answer.rows.push(before + numbers.of(&hit.picked, row));
            }
        });
        before += hit.picked.len() as u64;
        Ok(())
    })?;
    if answer.shown > MAX_SCATTERED as u64 {
        (answer.times, answer.values, answer.rows) = (Vec::new(), Vec::new(), Vec::new());
    }
    (answer.total, answer.below, answer.above) = (before, outside.below, outside.above);
    Ok(answer)
}

/// The place of rows among those that were picked: they come in that order.
#[derive(Default)]
struct Numbers {
    next: usize,
}

impl Numbers {
    fn of(&mut self, picked: &Picked, row: usize) -> u64 {
        while picked.get(self.next).is_some_and(|at| at < row) {
            self.next += 1;
        }
        self.next as u64
    }
}

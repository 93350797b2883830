//! When the rows at some places of a table are, so that its scroll bar can tell the time.

use bathyscope_capture::StreamSchema;

use super::{RowsQuery, order, scan_of};
use crate::{
    Cancel, Source, ViewError,
    answers::RowTimes,
    scan::{load, schema_of},
    source::relative,
};

/// The most places.
pub const MAX_TIME_MARKS: u32 = 1000;

/// The times of rows at places that are evenly spread over a table by time, the first and the last row among them.
///
/// # Errors
/// If the query does not fit the capture or is not by time, a chunk cannot be loaded, or `cancel` was set.
pub fn row_times(source: &dyn Source, query: &RowsQuery, marks: u32, cancel: &Cancel) -> Result<RowTimes, ViewError> {
    ViewError::within("the number of marks", marks.into(), 2, MAX_TIME_MARKS.into())?;
    let schema = schema_of(source, query.stream)?;
    let Some(descending) = order::by_time(schema, &query.order) else {
        return Ok(RowTimes::default());
    };
    let mut scan = scan_of(source, query, None, cancel)?;
    let mut counts = Vec::new();
    for chunk in 0..scan.chunks().len() {
        counts.push(scan.picked(chunk)?.len() as u64);
    }
    let matched: u64 = counts.iter().sum();
    let Some(last) = matched.checked_sub(1) else { return Ok(RowTimes::default()) };
    let marks = u64::from(marks).min(matched.max(2));
    let rank = |mark: u64| u128::from(mark) * u128::from(last) / u128::from(marks - 1);
    let mut ranks: Vec<u64> = (0..marks).map(rank).filter_map(|rank| u64::try_from(rank).ok()).collect();
    if descending {
        // Places of a table that is turned round are counted from its end.
        ranks = ranks.into_iter().rev().map(|rank| last - rank).collect();
    }
    let mut times = Vec::new();
    let (mut before, mut wanted) = (0, ranks.iter().peekable());
    for (chunk, count) in counts.iter().enumerate() {
        let end = before + count;
        if wanted.peek().is_some_and(|rank| **rank < end) {
            let picked = scan.picked(chunk)?;
            let batch = load(source, query.stream, chunk, &[StreamSchema::TIME])?;
            let all = batch.columns.get(StreamSchema::TIME).map_or(&[][..], |data| data.as_u64());
            while let Some(rank) = wanted.next_if(|rank| **rank < end) {
                let row = usize::try_from(rank - before).ok().and_then(|index| picked.get(index));
                let time_ns = row.and_then(|row| all.get(row)).copied().unwrap_or(0);
                times.push(relative(source.origin_ns(), time_ns));
            }
        }
        before = end;
    }
    if descending {
        times.reverse();
    }
    Ok(RowTimes { matched, times })
}

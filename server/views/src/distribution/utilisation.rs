//! How much of the time CPUs and devices were busy.
//!
//! A device has several requests at once: it is busy while it has any, as `iostat` counts it. So the times of a key's rows are
//! joined, in whatever order they come.

use std::collections::HashMap;

use bathyscope_capture::{RowKind, StreamSchema, TrackKind, TrackRule};

use super::{cells::Grid, groups::group_value};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{Utilisation, UtilisedKey},
    filter::Prepared,
    range::OverlapScan,
    scan::schema_of,
    source::relative,
    tracks::track_key,
};

/// The most CPUs or devices; rows of further ones are counted as left out.
pub const MAX_UTILISED: usize = 1024;
/// The most columns.
const MAX_COLUMNS: u32 = 1024;
/// The most times of a key that are kept to be joined with what comes later; what began before the first of them counts twice.
const MAX_SPANS: usize = 4096;

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UtilisationQuery {
    /// A stream whose rows say from when to when a CPU or a device had something to do.
    pub stream: u16,
    /// When.
    pub range: TimeRange,
    /// Which rows count as busy.
    pub filter: Option<Filter>,
    /// How many columns, 1 to 1024.
    pub columns: u32,
}

/// Whether rows of a stream say what CPUs or devices did.
fn is_utilised(schema: &StreamSchema) -> bool {
    let is_slice = matches!(schema.meaning().kind, RowKind::Slice { .. });
    TrackRule::of(schema).is_some_and(|rule| match rule.kind() {
        TrackKind::Cpu => true,
        TrackKind::Value(_) => is_slice,
        TrackKind::Thread => false,
    })
}

/// Times that are joined: they do not touch each other and are in their order.
#[derive(Default)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// Adds a time, and gives each part of it that was not there yet to `new`.
    fn add(&mut self, (start_ns, end_ns): (u64, u64), mut new: impl FnMut(u64, u64)) {
        let from = self.0.partition_point(|(_, end)| *end < start_ns);
        let to = from + self.0.get(from..).unwrap_or_default().partition_point(|(start, _)| *start <= end_ns);
        let mut free_ns = start_ns;
        let mut joined = (start_ns, end_ns);
        for (start, end) in self.0.get(from..to).unwrap_or_default() {
            if free_ns < *start {
                new(free_ns, *start);
            }
            free_ns = free_ns.max(*end);
            joined = (joined.0.min(*start), joined.1.max(*end));
        }
        if free_ns < end_ns {
            new(free_ns, end_ns);
        }
        self.0.splice(from..to, [joined]);
        if self.0.len() > MAX_SPANS {
            self.0.drain(..MAX_SPANS / 2);
        }
    }
}

/// What a CPU or a device did.
#[derive(Default)]
struct BusyKey {
    busy: Spans,
    known: Spans,
    /// By column.
    busy_ns: Vec<u64>,
    known_ns: Vec<u64>,
    rows: u64,
}

/// Columns of a range.
#[derive(Clone, Copy)]
struct Steps {
    range: TimeRange,
    step_ns: u64,
}

impl Steps {
    fn add(self, sums: &mut [u64], (start_ns, end_ns): (u64, u64)) {
        let mut at_ns = start_ns;
        while at_ns < end_ns {
            let column = (at_ns - self.range.start_ns) / self.step_ns;
            let next_ns = (self.range.start_ns.saturating_add((column + 1).saturating_mul(self.step_ns))).min(end_ns);
            if let Some(sum) = sums.get_mut(usize::try_from(column).unwrap_or(usize::MAX)) {
                *sum += next_ns - at_ns;
            }
            at_ns = next_ns;
        }
    }
}

/// How busy each CPU or device was in each part of a range.
///
/// # Errors
/// If there is no such stream or its rows are of neither, a parameter is out of its limits, a chunk cannot be read, or `cancel`
/// was set.
pub fn utilisation(source: &dyn Source, query: &UtilisationQuery, cancel: &Cancel) -> Result<Utilisation, ViewError> {
    ViewError::within("the number of columns", query.columns.into(), 1, MAX_COLUMNS.into())?;
    let schema = schema_of(source, query.stream)?;
    let rule = TrackRule::of(schema).filter(|_| is_utilised(schema)).ok_or(ViewError::NotUtilised)?;
    // Rows of states tell what a CPU did also where it did nothing; those of requests do not.
    let tells_idle = matches!(schema.meaning().kind, RowKind::State { .. });
    let mut filter = query.filter.as_ref().map(|filter| Prepared::new(source, schema, filter, cancel)).transpose()?;
    let more = filter.as_ref().map(|filter| filter.columns().to_vec()).unwrap_or_default();
    let range = query.range;
    let steps = Steps { range, step_ns: range.span_ns().div_ceil(query.columns.into()).max(1) };
    let columns = usize::try_from(range.span_ns().div_ceil(steps.step_ns)).unwrap_or(0).max(1);
    let mut keys: HashMap<u64, BusyKey> = HashMap::new();
    let mut left_out = 0;
    let scan = OverlapScan { source, stream: query.stream, rule: &rule, range, more: &more, cancel };
    scan.for_each_chunk(|batch, rows| {
        for (place, row) in rows {
            if keys.len() >= MAX_UTILISED && !keys.contains_key(&row.key) {
                left_out += 1;
                continue;
            }
            let key = keys.entry(row.key).or_insert_with(|| BusyKey {
                busy_ns: vec![0; columns],
                known_ns: vec![0; if tells_idle { columns } else { 0 }],
                ..BusyKey::default()
            });
            let span = (row.entry.begin_ns.max(range.start_ns), row.entry.end_ns.min(range.end_ns));
            if span.0 >= span.1 {
                continue;
            }
            if tells_idle {
                let known_ns = &mut key.known_ns;
                key.known.add(span, |start, end| steps.add(known_ns, (start, end)));
            }
            let is_idle = tells_idle && row.tid == 0;
            if is_idle || filter.as_mut().is_some_and(|filter| !filter.matches(batch, *place)) {
                continue;
            }
            key.rows += 1;
            let busy_ns = &mut key.busy_ns;
            key.busy.add(span, |start, end| steps.add(busy_ns, (start, end)));
        }
        Ok(())
    })?;
    Ok(told(source, query, (&rule, steps, columns), (keys, tells_idle, left_out)))
}

fn told(
    source: &dyn Source,
    query: &UtilisationQuery,
    (rule, steps, columns): (&TrackRule, Steps, usize),
    (keys, tells_idle, left_out): (HashMap<u64, BusyKey>, bool, u64),
) -> Utilisation {
    let mut keys: Vec<(u64, BusyKey)> = keys.into_iter().collect();
    keys.sort_unstable_by_key(|(key, _)| *key);
    let (mut busy, mut known) = (Grid::new(columns, keys.len().max(1)), Grid::new(columns, keys.len().max(1)));
    let mut answer = Utilisation {
        start: relative(source.origin_ns(), query.range.start_ns),
        end: relative(source.origin_ns(), query.range.end_ns),
        step: steps.step_ns,
        columns,
        tells_idle,
        left_out,
        ..Utilisation::default()
    };
    for (number, (key, of)) in keys.into_iter().enumerate() {
        of.busy_ns.iter().enumerate().for_each(|(column, sum)| busy.add(column, number, *sum));
        of.known_ns.iter().enumerate().for_each(|(column, sum)| known.add(column, number, *sum));
        answer.keys.push(UtilisedKey {
            key: track_key(source, query.stream, key),
            filter: condition(source, query.stream, (rule, key)),
            busy: of.busy_ns.iter().sum(),
            known: of.known_ns.iter().sum(),
            rows: of.rows,
        });
    }
    answer.busy = busy.cells(0);
    answer.known = known.cells(0);
    answer
}

/// The condition that rows of a key satisfy.
fn condition(source: &dyn Source, stream: u16, (rule, key): (&TrackRule, u64)) -> String {
    let Some(schema) = source.streams().get(usize::from(stream)) else { return String::new() };
    let column = match rule.kind() {
        TrackKind::Cpu => Some(StreamSchema::CPU),
        TrackKind::Value(column) => schema.column(column),
        TrackKind::Thread => Some(StreamSchema::TID),
    };
    column.map(|column| group_value(source, schema, (column, key)).1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn joined_times_count_each_moment_once(
            spans in prop::collection::vec((0_u64..200, 0_u64..60), 0..80),
        ) {
            let (mut joined, mut seen) = (Spans::default(), [0_u32; 300]);
            let mut naive = [false; 300];
            for (start, length) in spans {
                joined.add((start, start + length), |from, to| (from..to).for_each(|at| seen[at as usize] += 1));
                (start..start + length).for_each(|at| naive[at as usize] = true);
            }
            for (count, is_there) in seen.iter().zip(naive) {
                prop_assert_eq!(*count, u32::from(is_there));
            }
            prop_assert!(joined.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}

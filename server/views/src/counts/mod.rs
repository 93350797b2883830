//! Captures of counts: sums with what they say about each other, gauges, and how they went over time.

mod derive;

use std::collections::HashMap;

use bathyscope_capture::{RowKind, StreamSchema, visible};

use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{CountLine, CountView, Counted, ValueRange},
    scan::{Hit, Scan, schema_of},
    source::relative,
};

pub(crate) use derive::is_clock;
pub use derive::{EventSum, derived, is_time};

/// The most pairs of event and scope that are told apart.
pub const MAX_COUNT_SUMS: usize = 1 << 14;
/// The most lines over time; how many more there are is told.
pub const MAX_COUNT_LINES: usize = 512;
/// The most moments.
pub const MAX_COUNT_POINTS: u32 = 2000;

/// What of a capture of counts is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountQuery {
    /// From when to when.
    pub range: TimeRange,
    /// The most moments of the lines, 1 to [`MAX_COUNT_POINTS`]; intervals are joined where there are more.
    pub points: u32,
}

/// Columns of a stream of counts.
struct CountColumns {
    event: usize,
    scope: usize,
    state: usize,
    numbers: [usize; 4],
    /// Not in captures from before there were gauges.
    gauge: Option<usize>,
    unit: Option<usize>,
}

impl CountColumns {
    fn of(schema: &StreamSchema) -> Result<Self, ViewError> {
        let column = |name: &str| {
            let available = || schema.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
            schema.column(name).ok_or_else(|| ViewError::NoSuchColumn { name: name.to_owned(), available: available() })
        };
        let numbers = [column("value")?, column("enabled_ns")?, column("running_ns")?, column("span_ns")?];
        let (event, scope, state) = (column("event")?, column("scope")?, column("state")?);
        let RowKind::Counter { gauge, unit_of, .. } = schema.meaning().kind else {
            return Ok(Self { event, scope, state, numbers, gauge: None, unit: None });
        };
        let known = |name: Option<String>| name.and_then(|name| schema.column(&name));
        Ok(Self { event, scope, state, numbers, gauge: known(gauge), unit: known(unit_of) })
    }

    fn wanted(&self) -> Vec<usize> {
        let [value, enabled, running, span] = self.numbers;
        let always = [StreamSchema::TIME, self.event, self.scope, self.state, value, enabled, running, span];
        always.into_iter().chain(self.gauge).chain(self.unit).collect()
    }
}

/// A row of a stream of counts; texts are ids.
#[derive(Clone, Copy)]
struct CountedRow {
    time_ns: u64,
    event: u32,
    scope: u32,
    state: u32,
    unit: Option<u32>,
    is_gauge: bool,
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
    span_ns: u64,
}

/// Calls `each` for every row.
fn rows(hit: &Hit, columns: &CountColumns, each: &mut dyn FnMut(CountedRow)) -> Result<(), ViewError> {
    let times = hit.u64s(StreamSchema::TIME)?;
    let (events, scopes, states) = (hit.ids(columns.event)?, hit.ids(columns.scope)?, hit.ids(columns.state)?);
    let [values, enabled, running, spans] = columns.numbers.map(|column| hit.u64s(column));
    let (values, enabled, running, spans) = (values?, enabled?, running?, spans?);
    let gauges = columns.gauge.map(|column| hit.u64s(column)).transpose()?;
    let units = columns.unit.map(|column| hit.ids(column)).transpose()?;
    let number = |column: &[u64], row: usize| column.get(row).copied().unwrap_or(0);
    let id = |column: &[u32], row: usize| column.get(row).copied().unwrap_or(0);
    hit.picked.for_each(|row| {
        each(CountedRow {
            time_ns: number(times, row),
            event: id(events, row),
            scope: id(scopes, row),
            state: id(states, row),
            unit: units.map(|units| id(units, row)),
            is_gauge: gauges.is_some_and(|gauges| number(gauges, row) != 0),
            value: number(values, row),
            enabled_ns: number(enabled, row),
            running_ns: number(running, row),
            span_ns: number(spans, row),
        });
    });
    Ok(())
}

/// What was told of a moment.
#[derive(Clone, Copy, Default)]
struct CountPoint {
    /// How many; of a gauge its value times nanoseconds.
    value: f64,
    /// Length of the intervals.
    span_ns: u64,
}

#[derive(Default)]
struct GatheredSums {
    sums: Vec<EventSum>,
    by_ids: HashMap<[u32; 2], usize>,
    /// Of each moment and sum.
    points: Vec<HashMap<usize, CountPoint>>,
    at_ns: Vec<u64>,
    left_out: u64,
}

/// Sums and lines of a stream of counts.
///
/// # Errors
/// If the stream is none of counts, the query does not fit, a chunk cannot be loaded, or `cancel` was set.
pub fn count_view(
    source: &dyn Source,
    stream: u16,
    query: CountQuery,
    cancel: &Cancel,
) -> Result<CountView, ViewError> {
    ViewError::within("the number of moments", query.points.into(), 1, MAX_COUNT_POINTS.into())?;
    let columns = CountColumns::of(schema_of(source, stream)?)?;
    let joined = intervals(source, stream, query.range, cancel)?.div_ceil(query.points.into()).max(1);
    let mut gathered = GatheredSums::default();
    let (mut last_ns, mut interval) = (None, 0_u64);
    let mut scan = Scan::new(source, stream, query.range, None, &columns.wanted(), cancel)?;
    scan.for_each_hit(|hit| {
        rows(hit, &columns, &mut |row| {
            if last_ns.is_some_and(|last| last != row.time_ns) {
                interval += 1;
            }
            last_ns = Some(row.time_ns);
            gathered.row(source, usize::try_from(interval / joined).unwrap_or(usize::MAX), row);
        })
    })?;
    Ok(gathered.finish(source, joined))
}

/// How many moments have rows.
fn intervals(source: &dyn Source, stream: u16, range: TimeRange, cancel: &Cancel) -> Result<u64, ViewError> {
    let (mut count, mut last_ns) = (0, None);
    let mut scan = Scan::new(source, stream, range, None, &[StreamSchema::TIME], cancel)?;
    scan.for_each_hit(|hit| {
        let times = hit.u64s(StreamSchema::TIME)?;
        hit.picked.for_each(|row| {
            let time = times.get(row).copied();
            count += u64::from(time != last_ns);
            last_ns = time;
        });
        Ok(())
    })?;
    Ok(count)
}

impl GatheredSums {
    fn row(&mut self, source: &dyn Source, point: usize, row: CountedRow) {
        let CountedRow { event, scope, value, span_ns, .. } = row;
        let text = |id: u32| source.dictionaries().text(id).map(visible).unwrap_or_default();
        let index = match self.by_ids.get(&[event, scope]) {
            Some(index) => *index,
            None if self.sums.len() >= MAX_COUNT_SUMS => {
                self.left_out += 1;
                return;
            }
            None => {
                self.by_ids.insert([event, scope], self.sums.len());
                let (state, unit) = (text(row.state), row.unit.map(text).unwrap_or_default());
                self.sums.push(EventSum { event: text(event), scope: text(scope), state, unit, ..EventSum::default() });
                self.sums.len() - 1
            }
        };
        let Some(sum) = self.sums.get_mut(index) else { return };
        // A gauge that could not be read has no value.
        sum.add_value(value, (row.is_gauge && span_ns > 0).then(|| ValueRange::of(value)));
        sum.enabled_ns = sum.enabled_ns.saturating_add(row.enabled_ns);
        sum.running_ns = sum.running_ns.saturating_add(row.running_ns);
        sum.span_ns = sum.span_ns.saturating_add(span_ns);
        if span_ns == 0 {
            return;
        }
        if self.points.len() <= point {
            self.points.resize_with(point + 1, HashMap::new);
            self.at_ns.resize(point + 1, 0);
        }
        if let (Some(values), Some(at_ns)) = (self.points.get_mut(point), self.at_ns.get_mut(point)) {
            *at_ns = row.time_ns;
            let entry = values.entry(index).or_default();
            entry.value += if row.is_gauge { value as f64 * span_ns as f64 } else { value as f64 };
            entry.span_ns = entry.span_ns.saturating_add(span_ns);
        }
    }

    fn finish(self, source: &dyn Source, joined: u64) -> CountView {
        // A moment of which only is told what is not counted has no point.
        let kept = |at_ns: &u64| *at_ns > 0;
        let at: Vec<u64> = self.at_ns.iter().copied().filter(kept).collect();
        let points: Vec<_> = self.points.iter().zip(&self.at_ns).filter(|(_, at)| kept(at)).map(|it| it.0).collect();
        let lined: Vec<usize> =
            self.sums.iter().enumerate().filter(|(_, sum)| sum.is_counted()).map(|(index, _)| index).collect();
        let line = |of: &usize| {
            let factor = self.sums.get(*of).map_or(1e9, line_factor);
            let value = |point: &CountPoint| factor * point.value / point.span_ns as f64;
            CountLine { of: *of, values: points.iter().map(|values| values.get(of).map(value)).collect() }
        };
        CountView {
            lines: lined.iter().take(MAX_COUNT_LINES).map(line).collect(),
            more_lines: lined.len().saturating_sub(MAX_COUNT_LINES),
            at: at.into_iter().map(|at_ns| relative(source.origin_ns(), at_ns)).collect(),
            counts: counted(&self.sums),
            joined,
            left_out: self.left_out,
        }
    }
}

/// What a value for each nanosecond is multiplied with, to be what a line shows.
fn line_factor(sum: &EventSum) -> f64 {
    match sum {
        sum if sum.range.is_some() || sum.is_clock() || is_time(&sum.event) => 1.0,
        sum if sum.is_share_of_time() => 100.0,
        _ => 1e9,
    }
}

/// Sums with what those of one scope say about each other.
pub fn counted(sums: &[EventSum]) -> Vec<Counted> {
    let mut by_scope: HashMap<&str, Vec<&EventSum>> = HashMap::new();
    sums.iter().for_each(|sum| by_scope.entry(&sum.scope).or_default().push(sum));
    let one = |sum: &EventSum| Counted {
        event: sum.event.clone(),
        scope: sum.scope.clone(),
        value: sum.value,
        is_clock: sum.is_clock() || is_time(&sum.event),
        unit: sum.unit.clone(),
        range: sum.range,
        counted: sum.is_counted(),
        running_ns: sum.running_ns,
        span_ns: sum.span_ns,
        share: sum.share(),
        derived: by_scope.get(sum.scope.as_str()).and_then(|others| derived(sum, others)),
        state: sum.state.clone(),
    };
    sums.iter().map(one).collect()
}

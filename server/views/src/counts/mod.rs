//! Captures of counts: sums with what they say about each other, and how they went over time.

mod derive;

use std::collections::HashMap;

use bathyscope_capture::{StreamSchema, visible};

use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{CountLine, CountView, Counted},
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
}

impl CountColumns {
    fn of(schema: &StreamSchema) -> Result<Self, ViewError> {
        let column = |name: &str| {
            let available = || schema.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
            schema.column(name).ok_or_else(|| ViewError::NoSuchColumn { name: name.to_owned(), available: available() })
        };
        let numbers = [column("value")?, column("enabled_ns")?, column("running_ns")?, column("span_ns")?];
        Ok(Self { event: column("event")?, scope: column("scope")?, state: column("state")?, numbers })
    }

    fn wanted(&self) -> Vec<usize> {
        let [value, enabled, running, span] = self.numbers;
        vec![StreamSchema::TIME, self.event, self.scope, self.state, value, enabled, running, span]
    }
}

/// Calls `each` for every row: time, event, scope, state, and value, enabled, running, span.
fn rows(hit: &Hit, columns: &CountColumns, each: &mut dyn FnMut(u64, [u32; 3], [u64; 4])) -> Result<(), ViewError> {
    let times = hit.u64s(StreamSchema::TIME)?;
    let (events, scopes, states) = (hit.ids(columns.event)?, hit.ids(columns.scope)?, hit.ids(columns.state)?);
    let [values, enabled, running, spans] = columns.numbers.map(|column| hit.u64s(column));
    let (values, enabled, running, spans) = (values?, enabled?, running?, spans?);
    let number = |column: &[u64], row: usize| column.get(row).copied().unwrap_or(0);
    let id = |column: &[u32], row: usize| column.get(row).copied().unwrap_or(0);
    hit.picked.for_each(|row| {
        let ids = [id(events, row), id(scopes, row), id(states, row)];
        let numbers = [number(values, row), number(enabled, row), number(running, row), number(spans, row)];
        each(number(times, row), ids, numbers);
    });
    Ok(())
}

#[derive(Default)]
struct GatheredSums {
    sums: Vec<EventSum>,
    by_ids: HashMap<[u32; 2], usize>,
    /// Of each moment and sum: value and span.
    points: Vec<HashMap<usize, (u64, u64)>>,
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
    if query.points == 0 || query.points > MAX_COUNT_POINTS {
        let (value, most) = (u64::from(query.points), u64::from(MAX_COUNT_POINTS));
        return Err(ViewError::OutOfRange { what: "the number of moments", value, least: 1, most });
    }
    let columns = CountColumns::of(schema_of(source, stream)?)?;
    let joined = intervals(source, stream, query.range, cancel)?.div_ceil(query.points.into()).max(1);
    let mut gathered = GatheredSums::default();
    let (mut last_ns, mut interval) = (None, 0_u64);
    let mut scan = Scan::new(source, stream, query.range, None, &columns.wanted(), cancel)?;
    scan.for_each_hit(|hit| {
        rows(hit, &columns, &mut |time_ns, ids, numbers| {
            if last_ns.is_some_and(|last| last != time_ns) {
                interval += 1;
            }
            last_ns = Some(time_ns);
            gathered.row(source, usize::try_from(interval / joined).unwrap_or(usize::MAX), time_ns, (ids, numbers));
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
    fn row(&mut self, source: &dyn Source, point: usize, time_ns: u64, row: ([u32; 3], [u64; 4])) {
        let ([event, scope, state], [value, enabled_ns, running_ns, span_ns]) = row;
        let text = |id: u32| source.dictionaries().text(id).map(visible).unwrap_or_default();
        let index = match self.by_ids.get(&[event, scope]) {
            Some(index) => *index,
            None if self.sums.len() >= MAX_COUNT_SUMS => {
                self.left_out += 1;
                return;
            }
            None => {
                self.by_ids.insert([event, scope], self.sums.len());
                let sum = EventSum { event: text(event), scope: text(scope), ..EventSum::default() };
                self.sums.push(EventSum { state: text(state), ..sum });
                self.sums.len() - 1
            }
        };
        let Some(sum) = self.sums.get_mut(index) else { return };
        sum.value = sum.value.saturating_add(value);
        sum.enabled_ns = sum.enabled_ns.saturating_add(enabled_ns);
        sum.running_ns = sum.running_ns.saturating_add(running_ns);
        sum.span_ns = sum.span_ns.saturating_add(span_ns);
        if span_ns == 0 {
            return;
        }
        if self.points.len() <= point {
            self.points.resize_with(point + 1, HashMap::new);
            self.at_ns.resize(point + 1, 0);
        }
        if let (Some(values), Some(at_ns)) = (self.points.get_mut(point), self.at_ns.get_mut(point)) {
            *at_ns = time_ns;
            let entry = values.entry(index).or_insert((0, 0));
            *entry = (entry.0.saturating_add(value), entry.1.saturating_add(span_ns));
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
            let clock = self.sums.get(*of).is_some_and(|sum| sum.is_clock() || is_time(&sum.event));
            let factor = if clock { 1.0 } else { 1e9 };
            let value = |(value, span): &(u64, u64)| factor * *value as f64 / *span as f64;
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

/// Sums with what those of one scope say about each other.
pub fn counted(sums: &[EventSum]) -> Vec<Counted> {
    let mut by_scope: HashMap<&str, Vec<&EventSum>> = HashMap::new();
    sums.iter().for_each(|sum| by_scope.entry(&sum.scope).or_default().push(sum));
    let one = |sum: &EventSum| Counted {
        event: sum.event.clone(),
        scope: sum.scope.clone(),
        value: sum.value,
        is_clock: sum.is_clock() || is_time(&sum.event),
        counted: sum.is_counted(),
        running_ns: sum.running_ns,
        span_ns: sum.span_ns,
        share: sum.share(),
        derived: by_scope.get(sum.scope.as_str()).and_then(|others| derived(sum, others)),
        state: sum.state.clone(),
    };
    sums.iter().map(one).collect()
}

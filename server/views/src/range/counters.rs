//! What counters were in a range: the least, the mean, the most, the first and the last, and how much came.

use bathyscope_capture::{ColumnData, RowKind, RowMeaning, StreamSchema};

use super::{RangeQuery, groups::RangeGroups, overlap::word, text};
use crate::{
    Cancel, Source, ViewError,
    answers::{RangeCounter, RangeCounters},
    scan::Scan,
    source::relative,
};

/// The most counters; readings of further ones are the rest.
const MAX_COUNTERS: usize = 1 << 14;

/// The columns of a stream of counters.
struct CounterColumns {
    value: usize,
    /// Where a row says that its value is that of the moment; none where all are, or none is.
    gauge: Option<usize>,
    /// Whether values are those of moments where no column says it.
    are_gauges: bool,
    unit_of: Option<usize>,
    unit: String,
    /// Says why there is no value; empty where there is one.
    state: Option<usize>,
    key: Vec<usize>,
}

impl CounterColumns {
    fn of(schema: &StreamSchema) -> Option<Self> {
        let meaning = schema.meaning();
        let RowKind::Counter { value, span, unit, gauge, unit_of } = meaning.kind else { return None };
        let known = |name: Option<String>| name.and_then(|name| schema.column(&name));
        Some(Self {
            value: schema.column(&value)?,
            gauge: known(gauge),
            are_gauges: span.is_none(),
            unit_of: known(unit_of),
            unit: unit.unwrap_or_default(),
            state: schema.column("state"),
            key: meaning.key.iter().filter_map(|name| schema.column(name)).collect(),
        })
    }

    fn wanted(&self) -> Vec<usize> {
        let optional = [self.gauge, self.unit_of, self.state].into_iter().flatten();
        [StreamSchema::TIME, self.value].into_iter().chain(self.key.iter().copied()).chain(optional).collect()
    }
}

/// Readings of one counter.
#[derive(Clone, Copy, Debug, Default)]
struct CounterReadings {
    count: u64,
    least: f64,
    most: f64,
    sum: f64,
    first: (u64, f64),
    last: (u64, f64),
    is_gauge: bool,
    unit: u32,
}

impl CounterReadings {
    fn add(&mut self, time_ns: u64, value: f64) {
        if self.count == 0 {
            (self.least, self.most, self.first, self.last) = (value, value, (time_ns, value), (time_ns, value));
        }
        self.count += 1;
        self.sum += value;
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        if time_ns < self.first.0 {
            self.first = (time_ns, value);
        }
        if time_ns >= self.last.0 {
            self.last = (time_ns, value);
        }
    }
}

type CounterKey = (u16, [u64; RowMeaning::MAX_KEY_COLUMNS]);

/// What counters were. They are of the machine or of what was counted, and so of no track.
///
/// # Errors
/// If a chunk cannot be read, or `cancel` was set.
pub fn range_counters(source: &dyn Source, query: &RangeQuery, cancel: &Cancel) -> Result<RangeCounters, ViewError> {
    let mut counters: RangeGroups<CounterKey, CounterReadings> = RangeGroups::new(MAX_COUNTERS);
    for (stream, schema) in (0u16..).zip(source.streams()) {
        let Some(columns) = CounterColumns::of(schema) else { continue };
        let mut scan = Scan::new(source, stream, query.range, None, &columns.wanted(), cancel)?;
        scan.for_each_hit(|hit| {
            hit.picked.for_each(|row| {
                let at = |column: usize| word(&hit.batch, column, row);
                let has_value = columns
                    .state
                    .is_none_or(|state| source.dictionaries().text(at(state) as u32).is_none_or(<[u8]>::is_empty));
                if !has_value {
                    return;
                }
                let mut key = [0; RowMeaning::MAX_KEY_COLUMNS];
                key.iter_mut().zip(&columns.key).for_each(|(place, column)| *place = at(*column));
                let Some(readings) = counters.of((stream, key), 0) else { return };
                readings.is_gauge = columns.gauge.map_or(columns.are_gauges, |gauge| at(gauge) != 0);
                readings.unit = columns.unit_of.map_or(0, |unit| at(unit) as u32);
                let is_signed = matches!(hit.batch.columns.get(columns.value), Some(ColumnData::I64(_)));
                let value = at(columns.value);
                readings.add(at(StreamSchema::TIME), if is_signed { value.cast_signed() as f64 } else { value as f64 });
            });
            Ok(())
        })?;
    }
    let (lines, rest) = counters.greatest(|readings| readings.count, |readings| (readings.count, 0));
    let mut counters: Vec<RangeCounter> =
        lines.into_iter().map(|((stream, key), readings)| counter(source, stream, key, &readings)).collect();
    counters.sort_by(|a, b| (a.stream, &a.name).cmp(&(b.stream, &b.name)));
    let origin = source.origin_ns();
    let (start, end) = (relative(origin, query.range.start_ns), relative(origin, query.range.end_ns));
    Ok(RangeCounters { start, end, counters, rest })
}

fn counter(
    source: &dyn Source,
    stream: u16,
    key: [u64; RowMeaning::MAX_KEY_COLUMNS],
    readings: &CounterReadings,
) -> RangeCounter {
    let schema = source.streams().get(usize::from(stream));
    let columns = schema.and_then(CounterColumns::of);
    let part = |(column, word): (&usize, u64)| match schema.and_then(|schema| schema.columns.get(*column)) {
        Some(column) if column.ty == bathyscope_capture::ColumnType::Text => text(source, word as u32),
        _ => word.to_string(),
    };
    let parts = columns.iter().flat_map(|columns| columns.key.iter().zip(key));
    let told = text(source, readings.unit);
    let unit =
        if told.is_empty() { columns.as_ref().map(|columns| columns.unit.clone()).unwrap_or_default() } else { told };
    RangeCounter {
        stream,
        name: parts.map(part).collect::<Vec<_>>().join(" "),
        unit,
        is_gauge: readings.is_gauge,
        count: readings.count,
        least: readings.least,
        mean: readings.sum / readings.count.max(1) as f64,
        most: readings.most,
        first: readings.first.1,
        last: readings.last.1,
        change: if readings.is_gauge { readings.last.1 - readings.first.1 } else { readings.sum },
    }
}

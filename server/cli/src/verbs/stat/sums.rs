//! Rows of a capture of counts as they are stored, summed by interval and altogether.

use std::collections::{BTreeMap, HashMap};

use bathyscope_capture::{CaptureId, ColumnData, StreamSchema, decode_chunk, visible};
use bathyscope_protocol::CpuTime;
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{Dictionaries, EventSum, ValueRange};

/// A row: when, on which CPU, of which thread, and what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CountRow {
    /// From the capture's start.
    pub(super) time_ns: u64,
    pub(super) cpu: u32,
    pub(super) sum: EventSum,
}

/// Reads the rows that are new.
pub(super) struct Reader {
    store: Store,
    id: CaptureId,
    schema: Option<(StreamSchema, u64)>,
    next: u32,
    strings: u32,
    dictionaries: Dictionaries,
}

impl Reader {
    pub(super) fn new(store: Store, id: CaptureId) -> Self {
        Self { store, id, schema: None, next: 0, strings: 0, dictionaries: Dictionaries::default() }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Rows since the last call, in order of time.
    pub(super) async fn new_rows(&mut self) -> Result<Vec<CountRow>, StoreError> {
        if self.schema.is_none() {
            let record = self.store.capture(self.id).await?;
            self.schema = record.streams.into_iter().next().map(|stream| (stream.schema, record.start_ns));
        }
        let mut found = Vec::new();
        for info in self.store.chunk_index(self.id, 0, self.next).await? {
            self.next = info.seq + 1;
            found.push(info.seq);
        }
        // After the chunks: what they refer to is there by then.
        for (id, text) in self.store.strings(self.id, self.strings).await? {
            self.strings = self.strings.max(id);
            self.dictionaries.insert_string(id, text);
        }
        let mut rows = Vec::new();
        for seq in found {
            let bytes = self.store.chunk(self.id, 0, seq).await?;
            if let Some((schema, origin_ns)) = &self.schema {
                rows.extend(rows_of(schema, &bytes, &self.dictionaries, *origin_ns));
            }
        }
        Ok(rows)
    }
}

fn rows_of(schema: &StreamSchema, bytes: &[u8], dictionaries: &Dictionaries, origin_ns: u64) -> Vec<CountRow> {
    let wanted: Vec<usize> = (0..schema.columns.len()).collect();
    let batch = match decode_chunk(schema, bytes, &wanted) {
        Ok(batch) => batch,
        Err(error) => {
            tracing::error!(%error, "stored counts cannot be read back");
            return Vec::new();
        }
    };
    let column = |name: &str| schema.column(name).and_then(|index| batch.columns.get(index));
    let number = |name: &str, row: usize| match column(name) {
        Some(ColumnData::U64(values)) => values.get(row).copied().unwrap_or(0),
        _ => 0,
    };
    let text = |name: &str, row: usize| match column(name) {
        Some(ColumnData::Id(ids)) => {
            ids.get(row).and_then(|id| dictionaries.text(*id)).map(visible).unwrap_or_default()
        }
        _ => String::new(),
    };
    let row = |row: usize| CountRow {
        time_ns: number("time", row).saturating_sub(origin_ns),
        cpu: u32::try_from(number("cpu", row)).unwrap_or(u32::MAX),
        sum: EventSum {
            event: text("event", row),
            scope: text("scope", row),
            value: number("value", row),
            enabled_ns: number("enabled_ns", row),
            running_ns: number("running_ns", row),
            span_ns: number("span_ns", row),
            state: text("state", row),
            unit: text("unit", row),
            range: (number("gauge", row) != 0).then(|| ValueRange::of(number("value", row))),
        },
    };
    (0..batch.rows()).map(row).collect()
}

/// Sums of a run.
#[derive(Default)]
pub(super) struct Sums {
    cores: Option<BTreeMap<u32, String>>,
    total: Table,
    interval: Table,
    interval_ns: u64,
    /// When counting began.
    begun_ns: Option<u64>,
    /// What the command has used, if one was counted.
    pub(super) command: Option<CpuTime>,
}

/// Sums by event and scope, in the order in which they came.
#[derive(Default)]
struct Table {
    sums: Vec<EventSum>,
    places: HashMap<(String, String), usize>,
}

impl Table {
    /// Adds a count. The parts of a core are counted at the same time, so that its time is that of one of them.
    fn add(&mut self, sum: &EventSum, new_time: bool) {
        let key = (sum.event.clone(), sum.scope.clone());
        let place = *self.places.entry(key).or_insert_with(|| {
            self.sums.push(EventSum { event: sum.event.clone(), scope: sum.scope.clone(), ..EventSum::default() });
            self.sums.len() - 1
        });
        let Some(known) = self.sums.get_mut(place) else { return };
        known.add_value(sum.value, sum.range);
        known.enabled_ns = known.enabled_ns.saturating_add(sum.enabled_ns);
        known.running_ns = known.running_ns.saturating_add(sum.running_ns);
        if new_time {
            known.span_ns = known.span_ns.saturating_add(sum.span_ns);
        }
        known.state.clone_from(&sum.state);
        known.unit.clone_from(&sum.unit);
    }
}

impl Sums {
    /// Sums of the cores of CPUs, or of what the rows are of.
    pub(super) fn new(cores: Option<BTreeMap<u32, String>>) -> Self {
        Self { cores, ..Self::default() }
    }

    /// Adds a row. Gives the interval before it and when it ended, from the beginning of counting, if the row begins
    /// another.
    pub(super) fn add(&mut self, mut row: CountRow) -> Option<(u64, Vec<EventSum>)> {
        if let Some(core) = self.cores.as_ref().and_then(|cores| cores.get(&row.cpu)).filter(|_| row.sum.scope != "all")
        {
            row.sum.scope.clone_from(core);
        }
        if row.sum.span_ns > 0 {
            self.begun_ns.get_or_insert(row.time_ns.saturating_sub(row.sum.span_ns));
        }
        let new = row.time_ns != self.interval_ns;
        let before = if new { self.last_interval() } else { None };
        self.interval_ns = row.time_ns;
        let key = (row.sum.event.clone(), row.sum.scope.clone());
        let first = !self.interval.places.contains_key(&key);
        self.interval.add(&row.sum, first);
        self.total.add(&row.sum, first);
        before
    }

    /// The interval that no row came after; none if there is none.
    pub(super) fn last_interval(&mut self) -> Option<(u64, Vec<EventSum>)> {
        let Table { sums, .. } = std::mem::take(&mut self.interval);
        let ended_ns = self.interval_ns.saturating_sub(self.begun_ns.unwrap_or(0));
        (!sums.is_empty()).then_some((ended_ns, sums))
    }

    /// All intervals together.
    pub(super) fn total(&self) -> &[EventSum] {
        &self.total.sums
    }

    /// Nanoseconds that were counted.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.total.sums.iter().map(|sum| sum.span_ns).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time_ns: u64, cpu: u32, event: &str, value: u64) -> CountRow {
        let scope = format!("CPU{cpu}");
        let sum =
            EventSum { event: event.to_owned(), scope, value, span_ns: 10, running_ns: 10, ..EventSum::default() };
        CountRow { time_ns, cpu, sum }
    }

    fn values(sums: &[EventSum]) -> Vec<(String, u64, u64)> {
        sums.iter().map(|sum| (format!("{} {}", sum.scope, sum.event), sum.value, sum.span_ns)).collect()
    }

    #[test]
    fn intervals_end_where_the_next_begins() {
        let mut sums = Sums::new(None);
        let mut uncounted = row(110, 0, "cycles", 0);
        (uncounted.sum.state, uncounted.sum.span_ns) = ("not supported".to_owned(), 0);
        assert_eq!(sums.add(uncounted), None);
        assert_eq!(sums.add(row(110, 0, "cs", 1)), None);
        assert_eq!(sums.add(row(110, 1, "cs", 2)), None);
        let (time_ns, first) = sums.add(row(120, 0, "cs", 3)).unwrap();
        assert_eq!((time_ns, first.len(), first[0].state.as_str()), (10, 3, "not supported"));
        assert_eq!(sums.last_interval().map(|(time, sums)| (time, sums.len())), Some((20, 1)));
        assert_eq!(sums.last_interval(), None);
        let expected = [("CPU0 cycles", 0, 0), ("CPU0 cs", 4, 20), ("CPU1 cs", 2, 10)];
        assert_eq!(values(sums.total()), expected.map(|(name, value, span)| (name.to_owned(), value, span)));
        assert_eq!(sums.elapsed_ns(), 20);
    }

    #[test]
    fn gauges_are_not_added_up() {
        let mut sums = Sums::new(None);
        for (time, value) in [(10, 700), (20, 300), (30, 500)] {
            let mut free = row(time, 0, "memory:free", value);
            (free.sum.range, free.sum.unit) = (Some(ValueRange::of(value)), "bytes".to_owned());
            drop(sums.add(free));
        }
        let [free] = sums.total() else { panic!() };
        assert_eq!((free.value, free.range), (500, Some(ValueRange { least: 300, most: 700 })));
        assert_eq!((free.unit.as_str(), free.span_ns, sums.elapsed_ns()), ("bytes", 30, 30));
    }

    #[test]
    fn cores_are_sums_of_their_cpus() {
        let cores = BTreeMap::from([(0, "S0-C0".to_owned()), (1, "S0-C0".to_owned()), (2, "S0-C1".to_owned())]);
        let mut sums = Sums::new(Some(cores));
        for time in [10, 20] {
            (0..3).for_each(|cpu| drop(sums.add(row(time, cpu, "cs", 1 << cpu))));
        }
        let expected = [("S0-C0 cs", 6, 20), ("S0-C1 cs", 8, 20)];
        assert_eq!(values(sums.total()), expected.map(|(name, value, span)| (name.to_owned(), value, span)));
    }
}

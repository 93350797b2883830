//! System calls of two sides by call and name: numbers of processes are others in each capture, so calls of processes of one name
//! are one line.

use std::collections::HashMap;

use bathyscope_capture::{Display, ShownCell, StringId};

use super::{CallRow, GatheredCalls, SyscallColumns, SyscallGroup, SyscallQuery, filter_of_names, read_calls, text};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    against::{
        AgainstHeads, AgainstQuery, MAX_AGAINST_LINES, MatchedLine, MatchedLines, MatchedSide, MatchedValue, against,
        parts,
    },
    answers::{AgainstKey, AgainstKind, AgainstMeasure, AgainstTable, Unit},
    chance::{Draw, block_of},
    log_buckets::LogBuckets,
    scan::lost_of,
};

/// Numbers of a line, by name: how they are written, and what they are.
const MEASURES: [(&str, Unit, AgainstKind); 7] = [
    ("calls", Unit::Hits, AgainstKind::Amount),
    ("errors", Unit::Hits, AgainstKind::Amount),
    ("time", Unit::Nanoseconds, AgainstKind::Amount),
    ("mean", Unit::Nanoseconds, AgainstKind::Mean),
    ("p99", Unit::Nanoseconds, AgainstKind::Level),
    ("longest", Unit::Nanoseconds, AgainstKind::Level),
    ("bytes", Unit::Bytes, AgainstKind::Amount),
];

/// Sums of calls by part of time.
pub(super) struct CallParts {
    range: TimeRange,
    lines: HashMap<(StringId, StringId), LineParts>,
    left_out: u64,
}

struct LineParts {
    calls: Box<Draw>,
    errors: Box<Draw>,
    time: Box<Draw>,
    /// Calls of which it is known how long they took.
    measured: Box<Draw>,
    squares: f64,
    bytes: Box<Draw>,
    longest_ns: u64,
    buckets: LogBuckets,
}

impl LineParts {
    fn new() -> Self {
        Self {
            calls: parts(),
            errors: parts(),
            time: parts(),
            measured: parts(),
            squares: 0.0,
            bytes: parts(),
            longest_ns: 0,
            buckets: LogBuckets::default(),
        }
    }

    fn add(&mut self, row: &CallRow, block: usize) {
        let add = |parts: &mut Draw, more: f64| {
            if let Some(sum) = parts.get_mut(block) {
                *sum += more;
            }
        };
        add(&mut self.calls, 1.0);
        add(&mut self.errors, if row.error == 0 { 0.0 } else { 1.0 });
        add(&mut self.bytes, row.bytes as f64);
        if row.duration_ns > 0 {
            let duration = row.duration_ns as f64;
            add(&mut self.time, duration);
            add(&mut self.measured, 1.0);
            self.squares += duration * duration;
            self.longest_ns = self.longest_ns.max(row.duration_ns);
            self.buckets.add(row.duration_ns);
        }
    }

    /// In the order of [`MEASURES`].
    fn into_values(self) -> (Vec<MatchedValue>, Vec<(i128, i128, u64)>) {
        let is_known = self.longest_ns > 0;
        let level = |value: u64| MatchedValue::Level(is_known.then_some(value as f64));
        let p99 = level(self.buckets.permille(990).min(self.longest_ns));
        let longest = level(self.longest_ns);
        let bucket =
            |(low, count): (u64, u64)| (i128::from(low), i128::from(if low == 0 { 1 } else { low }) * 2, count);
        let buckets = self.buckets.powers().into_iter().map(bucket).collect();
        let mean = MatchedValue::Mean(self.time.clone(), self.measured, self.squares, false);
        let values = vec![
            MatchedValue::Rows(self.calls),
            MatchedValue::Rows(self.errors),
            MatchedValue::Sum(self.time, false),
            mean,
            p99,
            longest,
            MatchedValue::Sum(self.bytes, false),
        ];
        (values, buckets)
    }
}

impl CallParts {
    fn new(range: TimeRange) -> Self {
        Self { range, lines: HashMap::new(), left_out: 0 }
    }

    pub(super) fn add(&mut self, row: &CallRow, group: SyscallGroup) {
        let key = (if group.has_call() { row.call } else { 0 }, if group.has_owner() { row.comm } else { 0 });
        if self.lines.len() >= MAX_AGAINST_LINES && !self.lines.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let block = block_of(self.range, row.time_ns);
        self.lines.entry(key).or_insert_with(LineParts::new).add(row, block);
    }
}

/// System calls of two sides. What calls are told apart by is that of the first; processes and threads count by their name.
///
/// # Errors
/// If a query does not fit its capture, one has no system calls, a chunk cannot be read, or `cancel` was set.
pub fn syscalls_against(
    here: (&dyn Source, &SyscallQuery),
    there: (&dyn Source, &SyscallQuery),
    query: &AgainstQuery,
    cancel: &Cancel,
) -> Result<AgainstTable, ViewError> {
    let group = here.1.group;
    let key = |name: &str| AgainstKey { name: name.to_owned(), display: Display::Text };
    let keys = [group.has_call().then(|| key("call")), group.has_owner().then(|| key("comm"))];
    let heads = AgainstHeads {
        keys: keys.into_iter().flatten().collect(),
        measures: MEASURES.into_iter().map(AgainstMeasure::named).collect(),
    };
    let other = SyscallQuery { group, ..there.1.clone() };
    let of_here = side(here.0, here.1, cancel)?;
    let of_there = side(there.0, &other, cancel).map_err(ViewError::of_other)?;
    against(heads, (of_here, of_there), query)
}

fn side(source: &dyn Source, query: &SyscallQuery, cancel: &Cancel) -> Result<MatchedSide, ViewError> {
    let gathered = read_calls(source, query, Some(CallParts::new(query.range)), cancel)?;
    let GatheredCalls { all, parts, .. } = gathered;
    let CallParts { lines: found, left_out, .. } = parts.unwrap_or_else(|| CallParts::new(query.range));
    let group = query.group;
    let mut lines = MatchedLines::default();
    for ((call, comm), parts) in found {
        let shown = |id: StringId| ShownCell::Text(text(source, id));
        let key = [group.has_call().then(|| shown(call)), group.has_owner().then(|| shown(comm))];
        let filter = filter_of_names(source, group, (call, comm));
        let (values, buckets) = parts.into_values();
        let key = key.into_iter().flatten().collect();
        lines.add(MatchedLine { key, filter, values, buckets, has_inner: false });
    }
    let streams =
        (0_u16..).zip(source.streams()).filter(|(stream, schema)| SyscallColumns::of(*stream, schema).is_some());
    let lost = streams.map(|(stream, schema)| lost_of(source, stream, schema)).max().unwrap_or(0);
    Ok(MatchedSide {
        origin_ns: source.origin_ns(),
        range: query.range,
        rows: all.calls,
        lost,
        left_out,
        lines,
        wholes: Vec::new(),
        caution: None,
    })
}

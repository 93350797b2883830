//! Who woke whom, how often.

use std::{cmp::Reverse, collections::HashMap};

use bathyscope_capture::TrackRow;

use super::{
    RangeQuery, is_latency,
    marked::MarkedTracks,
    overlap::{OverlapScan, word},
    text, timed_streams,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{RangeWakeups, WakeThread},
    source::relative,
};

/// The most wakers and the most woken threads that are told apart; others are together in the last row and column.
pub const MAX_WAKEUP_THREADS: usize = 24;
/// The most pairs that are counted; wake-ups of further ones are counted apart.
const MAX_PAIRS: usize = 1 << 20;

#[derive(Debug, Default)]
struct Pairs {
    counts: HashMap<(u64, u64), u64>,
    /// The last process and name of each thread.
    threads: HashMap<u64, (u64, u32)>,
    uncounted: u64,
}

impl Pairs {
    fn add(&mut self, waker: (u64, u64, u32), row: &TrackRow) {
        let pair = (waker.0, row.tid);
        if self.counts.len() >= MAX_PAIRS && !self.counts.contains_key(&pair) {
            self.uncounted += 1;
            return;
        }
        *self.counts.entry(pair).or_default() += 1;
        self.threads.insert(waker.0, (waker.1, waker.2));
        self.threads.insert(row.tid, (row.pid, row.comm));
    }

    /// The threads on one side of pairs, those with most wake-ups first.
    fn side(&self, of: impl Fn(&(u64, u64)) -> u64) -> Vec<(u64, u64)> {
        let mut sums: HashMap<u64, u64> = HashMap::new();
        self.counts.iter().for_each(|(pair, count)| *sums.entry(of(pair)).or_default() += count);
        let mut sums: Vec<(u64, u64)> = sums.into_iter().collect();
        sums.sort_by_key(|(tid, count)| (Reverse(*count), *tid));
        sums
    }
}

/// Who woke whom: wake-ups of the range after which the thread got a CPU, within the range or later.
///
/// # Errors
/// If a track does not exist, a chunk cannot be read, or `cancel` was set.
pub fn range_wakeups(source: &dyn Source, query: &RangeQuery, cancel: &Cancel) -> Result<RangeWakeups, ViewError> {
    let marked = MarkedTracks::of(source, &query.tracks)?;
    let mut pairs = Pairs::default();
    for (stream, schema, rule) in timed_streams(source, is_latency) {
        let columns = ["waker_tid", "waker_pid", "waker_comm"].map(|name| schema.column(name));
        let more: Vec<usize> = columns.into_iter().flatten().collect();
        let scan = OverlapScan { source, stream, rule: &rule, range: query.range, more: &more, cancel };
        scan.for_each_chunk(|batch, rows| {
            // The wake-up is where waiting begins.
            for (place, row) in rows.iter().filter(|(_, row)| query.range.contains(row.entry.begin_ns)) {
                let [tid, pid, comm] = columns.map(|column| column.map_or(0, |column| word(batch, column, *place)));
                if marked.has_either(tid, row.tid, row.cpu) {
                    pairs.add((tid, pid, comm as u32), row);
                }
            }
            Ok(())
        })?;
    }
    Ok(answer(source, query, &pairs))
}

fn answer(source: &dyn Source, query: &RangeQuery, pairs: &Pairs) -> RangeWakeups {
    let (wakers, wakees) = (pairs.side(|(waker, _)| *waker), pairs.side(|(_, wakee)| *wakee));
    let places = |side: &[(u64, u64)]| -> HashMap<u64, usize> {
        side.iter().take(MAX_WAKEUP_THREADS).zip(0..).map(|((tid, _), place)| (*tid, place)).collect()
    };
    let (rows, columns) = (places(&wakers), places(&wakees));
    let mut counts: HashMap<(usize, usize), u64> = HashMap::new();
    for ((waker, wakee), count) in &pairs.counts {
        let place = |known: &HashMap<u64, usize>, tid| known.get(tid).copied().unwrap_or(known.len());
        *counts.entry((place(&rows, waker), place(&columns, wakee))).or_default() += count;
    }
    let mut counts: Vec<(u32, u32, u64)> =
        counts.into_iter().map(|((row, column), count)| (row as u32, column as u32, count)).collect();
    counts.sort_unstable();
    let thread = |(tid, count): &(u64, u64)| {
        let (pid, comm) = pairs.threads.get(tid).copied().unwrap_or_default();
        WakeThread { tid: *tid, pid, name: text(source, comm), count: *count }
    };
    let shown = |side: &[(u64, u64)]| side.iter().take(MAX_WAKEUP_THREADS).map(thread).collect::<Vec<_>>();
    let more = |side: &[(u64, u64)]| side.len().saturating_sub(MAX_WAKEUP_THREADS) as u64;
    let origin = source.origin_ns();
    RangeWakeups {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        total: pairs.counts.values().sum(),
        wakers: shown(&wakers),
        more_wakers: more(&wakers),
        wakees: shown(&wakees),
        more_wakees: more(&wakees),
        counts,
        uncounted: pairs.uncounted,
    }
}

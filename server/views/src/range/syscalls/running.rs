//! When threads ran, from recorded states: how much of a call was on a CPU, and how much it waited.

use std::collections::HashMap;

use bathyscope_capture::{RowKind, TrackKind};

use super::super::{overlap::OverlapScan, timed_streams};
use crate::{Cancel, Source, TimeRange, ViewError};

/// The most times that are kept, of all threads together.
const MAX_TIMES: usize = 1 << 23;

/// Times of a thread.
#[derive(Debug, Default)]
struct ThreadTimes {
    /// When it ran: begin, end, and for how long it had run before; sorted.
    ran: Vec<(u64, u64, u64)>,
    /// From when to when its state is known without a gap: spans, sorted.
    known: Vec<(u64, u64)>,
}

/// When each thread ran.
#[derive(Debug, Default)]
pub(super) struct RunningTimes {
    threads: HashMap<u64, ThreadTimes>,
    /// Whether there are more than are kept. Then none are: a part would tell the wrong thing.
    pub(super) are_too_many: bool,
}

impl RunningTimes {
    /// Reads the states that reach into a range; none if there are none.
    ///
    /// # Errors
    /// If a chunk cannot be read, or `cancel` was set.
    pub(super) fn read(source: &dyn Source, range: TimeRange, cancel: &Cancel) -> Result<Option<Self>, ViewError> {
        let mut times = Self::default();
        let mut count = 0_usize;
        let is_states = |kind: &RowKind| matches!(kind, RowKind::State { .. });
        // Calls that begin in the range may end behind it.
        let range = TimeRange { end_ns: u64::MAX, ..range };
        for (stream, _, rule) in timed_streams(source, |schema| is_states(&schema.meaning().kind)) {
            if *rule.kind() != TrackKind::Thread {
                continue;
            }
            let scan = OverlapScan { source, stream, rule: &rule, range, more: &[], cancel };
            scan.for_each_chunk(|_, rows| {
                for (_, row) in rows {
                    count += 1;
                    if row.tid == 0 || count > MAX_TIMES {
                        continue;
                    }
                    let is_running = source.dictionaries().text(row.name.text) == Some(b"running");
                    let thread = times.threads.entry(row.tid).or_default();
                    let (begin, end) = (row.entry.begin_ns, row.entry.end_ns);
                    thread.known.push((begin, end));
                    if is_running {
                        thread.ran.push((begin, end, 0));
                    }
                }
                Ok(())
            })?;
        }
        if count > MAX_TIMES {
            return Ok(Some(Self { are_too_many: true, ..Self::default() }));
        }
        times.threads.values_mut().for_each(ThreadTimes::finish);
        Ok((!times.threads.is_empty()).then_some(times))
    }

    /// For how long a thread ran from one moment to another; none where its states are not known.
    pub(super) fn within(&self, tid: u64, begin_ns: u64, end_ns: u64) -> Option<u64> {
        let thread = self.threads.get(&tid)?;
        let at = thread.known.partition_point(|(begin, _)| *begin <= begin_ns);
        let (_, known_until) = thread.known.get(at.checked_sub(1)?)?;
        (end_ns <= *known_until).then(|| thread.ran_until(end_ns).saturating_sub(thread.ran_until(begin_ns)))
    }
}

impl ThreadTimes {
    fn finish(&mut self) {
        self.ran.sort_unstable();
        let mut before = 0;
        for (begin, end, ran) in &mut self.ran {
            *ran = before;
            before += end.saturating_sub(*begin);
        }
        self.known.sort_unstable();
        let mut whole: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in self.known.drain(..) {
            match whole.last_mut() {
                Some((_, until)) if begin <= *until => *until = (*until).max(end),
                _ => whole.push((begin, end)),
            }
        }
        self.known = whole;
    }

    /// For how long it had run by a moment.
    fn ran_until(&self, time_ns: u64) -> u64 {
        let at = self.ran.partition_point(|(begin, ..)| *begin <= time_ns);
        let Some((begin, end, before)) = at.checked_sub(1).and_then(|at| self.ran.get(at)) else { return 0 };
        before + time_ns.min(*end).saturating_sub(*begin)
    }
}

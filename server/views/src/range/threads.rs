//! How long threads were in which state.

use std::cmp::Reverse;

use bathyscope_capture::{RowKind, TrackKind, TrackRow};

use super::{
    MAX_RANGE_LINES, RangeQuery,
    groups::RangeGroups,
    marked::MarkedTracks,
    overlap::{OverlapScan, inside_ns},
    text, timed_streams,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{RangeState, RangeThread, RangeThreads},
    source::relative,
    tracks::track_key,
};

/// The most threads that are counted; rows of further ones are the rest.
const MAX_THREADS: usize = 1 << 16;
/// The state that threads are ordered by: who ran is asked first.
const RUNNING: &[u8] = b"running";

#[derive(Clone, Debug, Default)]
struct StateSums {
    pid: u64,
    comm: u32,
    running_ns: u64,
    all_ns: u64,
    rows: u64,
    /// By the state's text; there are some ten.
    states: Vec<(u32, StateSum)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct StateSum {
    count: u64,
    time_ns: u64,
    longest_ns: u64,
    begin_ns: u64,
}

impl StateSums {
    fn add(&mut self, row: &TrackRow, inside_ns: u64, is_running: bool) {
        (self.pid, self.comm) = (row.pid, row.comm);
        self.rows += 1;
        self.all_ns += inside_ns;
        if is_running {
            self.running_ns += inside_ns;
        }
        let place = self.states.iter().position(|(state, _)| *state == row.name.text).unwrap_or_else(|| {
            self.states.push((row.name.text, StateSum::default()));
            self.states.len() - 1
        });
        let Some((_, sum)) = self.states.get_mut(place) else { return };
        let (length_ns, begin_ns) = (row.entry.duration_ns(), row.entry.begin_ns);
        if sum.count == 0 || (length_ns, Reverse(begin_ns)) > (sum.longest_ns, Reverse(sum.begin_ns)) {
            (sum.longest_ns, sum.begin_ns) = (length_ns, begin_ns);
        }
        sum.count += 1;
        sum.time_ns += inside_ns;
    }
}

/// How long threads were in which state, those that ran longest first.
///
/// # Errors
/// If a track does not exist, a chunk cannot be read, or `cancel` was set.
pub fn range_threads(source: &dyn Source, query: &RangeQuery, cancel: &Cancel) -> Result<RangeThreads, ViewError> {
    let marked = MarkedTracks::of(source, &query.tracks)?;
    let mut threads: RangeGroups<(u16, u64), StateSums> = RangeGroups::new(MAX_THREADS);
    let is_states = |kind: &RowKind| matches!(kind, RowKind::State { .. });
    for (stream, _, rule) in timed_streams(source, |schema| is_states(&schema.meaning().kind)) {
        if *rule.kind() != TrackKind::Thread {
            continue;
        }
        let scan = OverlapScan { source, stream, rule: &rule, range: query.range, more: &[], cancel };
        let mut running = RunningText { source, id: None };
        scan.for_each_chunk(|_, rows| {
            for (_, row) in rows.iter().filter(|(_, row)| marked.has_row(stream, row)) {
                let inside_ns = inside_ns(row, query.range);
                if let Some(sums) = threads.of((stream, row.key), inside_ns) {
                    sums.add(row, inside_ns, running.is(row.name.text));
                }
            }
            Ok(())
        })?;
    }
    Ok(answer(source, query, threads))
}

/// Finds out once which text says that a thread runs.
struct RunningText<'a> {
    source: &'a dyn Source,
    id: Option<u32>,
}

impl RunningText<'_> {
    fn is(&mut self, text: u32) -> bool {
        if self.id.is_none() && self.source.dictionaries().text(text) == Some(RUNNING) {
            self.id = Some(text);
        }
        self.id == Some(text)
    }
}

fn answer(source: &dyn Source, query: &RangeQuery, threads: RangeGroups<(u16, u64), StateSums>) -> RangeThreads {
    let origin = source.origin_ns();
    let (lines, rest) = threads.greatest(|sums| (sums.running_ns, sums.all_ns), |sums| (sums.rows, sums.all_ns));
    let mut states: Vec<u32> = Vec::new();
    let mut threads = Vec::with_capacity(lines.len().min(MAX_RANGE_LINES));
    for ((stream, key), sums) in lines {
        let mut of_thread = Vec::with_capacity(sums.states.len());
        for (state, sum) in sums.states {
            let number = states.iter().position(|known| *known == state).unwrap_or_else(|| {
                states.push(state);
                states.len() - 1
            });
            of_thread.push(RangeState {
                state: number as u32,
                count: sum.count,
                time: sum.time_ns,
                longest: sum.longest_ns,
                at: relative(origin, sum.begin_ns),
            });
        }
        let key = track_key(source, stream, key);
        threads.push(RangeThread { stream, key, name: text(source, sums.comm), pid: sums.pid, states: of_thread });
    }
    RangeThreads {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        states: states.into_iter().map(|state| text(source, state)).collect(),
        threads,
        rest,
    }
}

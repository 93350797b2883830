//! How long threads waited for a CPU after they were woken, and by whom.

use bathyscope_capture::TrackRow;

use super::{
    RangeQuery,
    durations::Durations,
    groups::RangeGroups,
    is_latency,
    marked::MarkedTracks,
    overlap::{OverlapScan, inside_ns, word},
    text, timed_streams,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{RangeWait, RangeWaits, RangeWaker},
    source::relative,
    tracks::track_key,
};

/// The most threads; rows of further ones are the rest.
const MAX_THREADS: usize = 1 << 12;
/// Wakers of a thread that are told apart, and those that are told.
const MAX_WAKERS: usize = 64;
const SHOWN_WAKERS: usize = 3;

#[derive(Clone, Debug, Default)]
struct WaitSums {
    durations: Durations,
    pid: u64,
    comm: u32,
    wakers: Vec<Waked>,
    /// Wake-ups by other threads than these.
    others: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waked {
    tid: u64,
    comm: u32,
    count: u64,
}

impl WaitSums {
    fn add(&mut self, row: &TrackRow, inside_ns: u64, waker: u64, waker_comm: u32) {
        self.durations.add(row, inside_ns);
        (self.pid, self.comm) = (row.pid, row.comm);
        let has_room = self.wakers.len() < MAX_WAKERS;
        match self.wakers.iter_mut().find(|known| known.tid == waker) {
            Some(known) => (known.count, known.comm) = (known.count + 1, waker_comm),
            None if has_room => {
                self.wakers.push(Waked { tid: waker, comm: waker_comm, count: 1 });
            }
            None => self.others += 1,
        }
    }
}

/// How long threads waited for a CPU, those that waited longest in all first.
///
/// # Errors
/// If a track does not exist, a chunk cannot be read, or `cancel` was set.
pub fn range_waits(source: &dyn Source, query: &RangeQuery, cancel: &Cancel) -> Result<RangeWaits, ViewError> {
    let marked = MarkedTracks::of(source, &query.tracks)?;
    let mut threads: RangeGroups<(u16, u64), WaitSums> = RangeGroups::new(MAX_THREADS);
    let mut all = Durations::default();
    for (stream, schema, rule) in timed_streams(source, is_latency) {
        let (waker, comm) = (schema.column("waker_tid"), schema.column("waker_comm"));
        let more: Vec<usize> = [waker, comm].into_iter().flatten().collect();
        let scan = OverlapScan { source, stream, rule: &rule, range: query.range, more: &more, cancel };
        scan.for_each_chunk(|batch, rows| {
            for (place, row) in rows.iter().filter(|(_, row)| marked.has_row(stream, row)) {
                let inside_ns = inside_ns(row, query.range);
                all.add(row, inside_ns);
                let told = |column: Option<usize>| column.map_or(0, |column| word(batch, column, *place));
                if let Some(sums) = threads.of((stream, row.key), inside_ns) {
                    sums.add(row, inside_ns, told(waker), told(comm) as u32);
                }
            }
            Ok(())
        })?;
    }
    let (lines, rest) =
        threads.greatest(|sums| sums.durations.time_ns, |sums| (sums.durations.count, sums.durations.time_ns));
    let origin = source.origin_ns();
    Ok(RangeWaits {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        all: all.answer(origin),
        threads: lines.into_iter().map(|((stream, key), sums)| wait(source, stream, key, sums)).collect(),
        rest,
    })
}

fn wait(source: &dyn Source, stream: u16, key: u64, mut sums: WaitSums) -> RangeWait {
    sums.wakers.sort_by_key(|waker| (std::cmp::Reverse(waker.count), waker.tid));
    let others: u64 = sums.wakers.iter().skip(SHOWN_WAKERS).map(|waker| waker.count).sum();
    let told = |waker: &Waked| RangeWaker { tid: waker.tid, name: text(source, waker.comm), count: waker.count };
    RangeWait {
        stream,
        key: track_key(source, stream, key),
        name: text(source, sums.comm),
        pid: sums.pid,
        durations: sums.durations.answer(source.origin_ns()),
        wakers: sums.wakers.iter().take(SHOWN_WAKERS).map(told).collect(),
        by_others: sums.others + others,
    }
}

//! The samples of a range by lane, in the order of time.

use bathyscope_capture::StreamSchema;

use super::{
    super::{
        FlameQuery,
        count::Counts,
        groups::SampleGroups,
        weight::{Counting, RowValue},
    },
    MAX_MOMENTS,
};
use crate::{Cancel, Source, TimeRange, ViewError, hash::IdMap, scan::Scan};

/// One sample.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) time_ns: u64,
    /// Until when it is drawn.
    pub(super) end_ns: u64,
    /// Which of [`Moments::pairs`].
    pub(super) pair: u32,
}

/// A lane before it is drawn.
pub(super) struct LaneMoments {
    /// The thread or CPU.
    pub(super) key: u32,
    /// The process; 0 for a CPU.
    pub(super) pid: u64,
    /// Its samples in the range, drawn or not.
    pub(super) samples: u64,
    pub(super) moments: Vec<Moment>,
    /// Samples that were seen, also before the range.
    seen: u64,
}

/// The samples of a range.
pub(super) struct Moments {
    pub(super) lanes: Vec<LaneMoments>,
    /// Groups with stacks, each once.
    pub(super) pairs: Vec<(u32, u32)>,
    /// One of so many samples of a lane is here.
    pub(super) step: u64,
    /// All samples that were read, by group and stack.
    pub(super) counts: Counts,
}

/// Samples that `read` asks for and that may be drawn in `range`, by lanes and groups. `has_lengths`: they count how long they took.
pub(super) fn gather(
    source: &dyn Source,
    read: &FlameQuery,
    range: TimeRange,
    (of_lanes, groups): (&mut SampleGroups<'_>, &mut SampleGroups<'_>),
    (counting, has_lengths): (&Counting, bool),
    cancel: &Cancel,
) -> Result<Moments, ViewError> {
    groups.check(source, |schema| counting.takes(schema))?;
    let (by_lanes, by_groups): (&SampleGroups<'_>, &SampleGroups<'_>) = (of_lanes, groups);
    let columns = |schema: &StreamSchema| -> Vec<usize> {
        let common = [StreamSchema::TIME, StreamSchema::PID, StreamSchema::TID].into_iter();
        let by = by_lanes.columns(schema).into_iter().chain(by_groups.columns(schema));
        common.chain(by).chain(counting.columns(source, schema)).collect()
    };
    let takes = |schema: &StreamSchema| counting.takes(schema);
    let scans = Scan::all(source, read.range, read.filter.as_ref(), columns, cancel, takes)?;
    let step = scans.iter().map(|scan| rows_within(scan, read.range)).sum::<u64>().div_ceil(MAX_MOMENTS).max(1);
    let (last_stack, is_cpu) = (source.dictionaries().last_stack(), of_lanes.is_cpu());
    let mut out = Moments { lanes: Vec::new(), pairs: Vec::new(), step, counts: Counts::up_to(last_stack) };
    let (mut by_key, mut by_pair) = (IdMap::<u32, usize>::default(), IdMap::<(u32, u32), u32>::default());
    for mut scan in scans {
        let of_stream = counting.of_stream(source, scan.stream())?;
        let place = (scan.stream(), scan.schema());
        scan.for_each_hit(|hit| {
            let weights = of_stream.of_chunk(hit)?;
            let (times, stacks) = (hit.u64s(StreamSchema::TIME)?, hit.ids(of_stream.stack)?);
            let (pids, tids) = (hit.u64s(StreamSchema::PID)?, hit.u64s(StreamSchema::TID)?);
            let (lanes_of, groups_of) = (of_lanes.of_chunk(place, hit)?, groups.of_chunk(place, hit)?);
            hit.picked.for_each(|row| {
                let at = |values: &[u64]| values.get(row).copied().unwrap_or(0);
                let (time_ns, pid, tid) = (at(times), at(pids), at(tids));
                let other = read.pid.is_some_and(|wanted| wanted != pid) || read.tid.is_some_and(|it| it != tid);
                if other {
                    return;
                }
                let stack = stacks.get(row).copied().filter(|stack| *stack <= last_stack).unwrap_or(0);
                let pair = (groups.of_row(&groups_of, row), stack);
                let value = weights.at(row);
                let length_ns = if let RowValue::Counts(weight) = value { weight } else { 0 };
                out.counts.add_row(pair.0, pair.1, value);
                let end_ns = time_ns.saturating_add(if has_lengths { length_ns } else { 0 });
                if has_lengths && end_ns <= range.start_ns {
                    return;
                }
                let key = of_lanes.of_row(&lanes_of, row);
                let lane = *by_key.entry(key).or_insert_with(|| {
                    let pid = if is_cpu { 0 } else { pid };
                    out.lanes.push(LaneMoments { key, pid, samples: 0, moments: Vec::new(), seen: 0 });
                    out.lanes.len() - 1
                });
                let Some(lane) = out.lanes.get_mut(lane) else { return };
                lane.samples += u64::from(time_ns >= range.start_ns || has_lengths);
                lane.seen += 1;
                if !(lane.seen - 1).is_multiple_of(step) {
                    return;
                }
                let pair = *by_pair.entry(pair).or_insert_with(|| {
                    out.pairs.push(pair);
                    (out.pairs.len() - 1) as u32
                });
                lane.moments.push(Moment { time_ns, end_ns, pair });
            });
            out.counts.check_total(counting)
        })?;
    }
    for lane in &mut out.lanes {
        // Streams and CPUs are stored one after another.
        lane.moments.sort_by_key(|moment| moment.time_ns);
    }
    Ok(out)
}

/// At most so many rows of a scan are in a range, as chunks tell without being read.
fn rows_within(scan: &Scan<'_>, range: TimeRange) -> u64 {
    let within = scan.chunks().iter().filter(|it| it.last_ns >= range.start_ns && it.first_ns < range.end_ns);
    within.map(|chunk| u64::from(chunk.rows)).sum()
}

/// Tells each sample until when it is drawn; gives the usual distance of samples, 0 where that does not count.
pub(super) fn draw_until(found: &mut Moments, has_lengths: bool) -> u64 {
    let period_ns = if has_lengths { 0 } else { usual_distance_ns(&found.lanes) };
    for lane in &mut found.lanes {
        let mut next_ns = None;
        for moment in lane.moments.iter_mut().rev() {
            moment.end_ns = match next_ns {
                _ if has_lengths => moment.end_ns.min(next_ns.unwrap_or(u64::MAX)),
                Some(next_ns) if next_ns - moment.time_ns <= period_ns.saturating_mul(2) => next_ns,
                _ => moment.time_ns.saturating_add(period_ns.max(1)),
            };
            next_ns = Some(moment.time_ns);
        }
    }
    period_ns
}

/// The median distance of neighbours in lanes; 0 without any.
fn usual_distance_ns(lanes: &[LaneMoments]) -> u64 {
    let neighbours = lanes.iter().flat_map(|lane| lane.moments.iter().zip(lane.moments.iter().skip(1)));
    let mut distances: Vec<u64> =
        neighbours.map(|(one, next)| next.time_ns - one.time_ns).filter(|distance| *distance > 0).collect();
    let middle = distances.len() / 2;
    if distances.is_empty() { 0 } else { *distances.select_nth_unstable(middle).1 }
}

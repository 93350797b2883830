//! Calls over time where there are more than can be put together: from the time index, which knows the longest call of each
//! level of each thread in each bin, at most one box for each pixel of a level.

use std::collections::BTreeMap;

use bathyscope_capture::{CallLevel, ColumnStats, Grouping, IndexTrack, StreamSchema, StringId};

use super::{
    ChartQuery, MAX_CALLS,
    chart::{self, MAX_CHART_BOXES},
    forest::{calls_stream, schema_columns},
    tree::comm_of,
};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{CallBoxes, CallChart, Lane, Lanes},
    hash::IdMap,
    scan::{Scan, schema_of},
    source::relative,
    window::Window,
};

/// Whether a range has more calls than [`CallForest::build`](super::CallForest::build) puts together.
pub fn needs_overview(source: &dyn Source, range: TimeRange) -> bool {
    let Some(stream) = calls_stream(source) else { return false };
    let inside = |first: u64, last: u64| last >= range.start_ns && first < range.end_ns;
    let chunks = source.chunks(stream).iter().filter(|chunk| inside(chunk.first_ns, chunk.last_ns));
    chunks.map(|chunk| u64::from(chunk.rows)).sum::<u64>() > MAX_CALLS as u64
}

/// Draws all calls of a range by threads. A box is the longest of the calls that end in a pixel, drawn as if it ended where the
/// pixel does; it has no id.
///
/// # Errors
/// If there are no calls, the query is out of range, a chunk or block cannot be loaded, or `cancel` was set.
pub fn call_overview(
    source: &dyn Source,
    range: TimeRange,
    query: ChartQuery,
    cancel: &Cancel,
) -> Result<CallChart, ViewError> {
    chart::check_query(query)?;
    let stream = calls_stream(source).ok_or(ViewError::NoCalls)?;
    let window = Window::new(range, query.width.max(2), chart::MAX_WIDTH, "the width of the chart in pixels")?;
    let blocks = window.fill(source, None, Grouping::Level, None, cancel)?;
    let block = blocks.into_iter().find(|(of, _)| *of == stream).map(|(_, block)| block).unwrap_or_default();
    let mut lanes: BTreeMap<(u64, u64, u64), Overview> = BTreeMap::new();
    for track in &block.tracks {
        let level = CallLevel::from_key(track.key);
        lanes.entry((track.pid, level.tid, level.idle_cpu)).or_default().levels.push((level, track));
    }
    let open = open_calls(source, stream, range.end_ns, cancel)?;
    for call in &open {
        lanes.entry((call.pid, call.level.tid, call.level.idle_cpu)).or_default().open.push(*call);
    }
    Ok(Drawing { source, range, query, window: &window, names: Vec::new(), by_name: IdMap::default() }.chart(lanes))
}

/// A call that lasts longer than the range.
#[derive(Clone, Copy)]
struct Open {
    pid: u64,
    level: CallLevel,
    start_ns: u64,
    end_ns: u64,
    function: StringId,
    comm: StringId,
}

/// Rows and bins have calls by their ends, so those that are open at the range's end are looked for in the rows of chunks whose
/// longest call can be.
fn open_calls(source: &dyn Source, stream: u16, at_ns: u64, cancel: &Cancel) -> Result<Vec<Open>, ViewError> {
    let schema = schema_of(source, stream)?;
    let Some([function, depth, duration]) = schema_columns(schema) else { return Ok(Vec::new()) };
    let common = [StreamSchema::TIME, StreamSchema::CPU, StreamSchema::PID, StreamSchema::TID, StreamSchema::COMM];
    let wanted: Vec<usize> = common.into_iter().chain([function, depth, duration]).collect();
    let after = TimeRange { start_ns: at_ns, end_ns: u64::MAX };
    let mut scan = Scan::new(source, stream, after, None, &wanted, cancel)?;
    // Of each level the one that ends first.
    let mut open: IdMap<u64, Open> = IdMap::default();
    for (chunk, meta) in source.chunks(stream).iter().enumerate() {
        let longest = match meta.stats.get(duration) {
            Some(ColumnStats::U64(_, most)) => *most,
            _ => u64::MAX,
        };
        if meta.last_ns < at_ns || meta.first_ns.max(at_ns).saturating_sub(longest) >= at_ns {
            continue;
        }
        let Some(hit) = scan.hit(chunk)? else { continue };
        let [times, cpus, pids, tids] = [0, 1, 2, 3].map(|column| hit.u64s(column));
        let (times, cpus, pids, tids) = (times?, cpus?, pids?, tids?);
        let (comms, functions) = (hit.ids(StreamSchema::COMM)?, hit.ids(function)?);
        let (depths, durations) = (hit.u64s(depth)?, hit.u64s(duration)?);
        let number = |column: &[u64], row: usize| column.get(row).copied().unwrap_or(0);
        let id = |column: &[u32], row: usize| column.get(row).copied().unwrap_or(0);
        hit.picked.for_each(|row| {
            let end_ns = number(times, row);
            let start_ns = end_ns.saturating_sub(number(durations, row));
            if start_ns >= at_ns {
                return;
            }
            let level = CallLevel::of(number(tids, row), number(cpus, row), number(depths, row));
            let (function, comm, pid) = (id(functions, row), id(comms, row), number(pids, row));
            let call = Open { pid, level, start_ns, end_ns, function, comm };
            let known = open.entry(level.key()).or_insert(call);
            if known.end_ns > end_ns {
                *known = call;
            }
        });
    }
    Ok(open.into_values().collect())
}

/// What there is of a thread.
#[derive(Default)]
struct Overview<'a> {
    levels: Vec<(CallLevel, &'a IndexTrack)>,
    open: Vec<Open>,
}

impl Overview<'_> {
    fn calls(&self) -> u64 {
        self.levels.iter().map(|(_, track)| track.rows()).sum::<u64>() + self.open.len() as u64
    }

    /// The lowest depth: a graph that begins inside of a function begins deeper.
    fn top(&self) -> u8 {
        let depths = self.levels.iter().map(|(level, _)| level.depth);
        depths.chain(self.open.iter().map(|call| call.level.depth)).min().unwrap_or(0)
    }

    fn comm(&self) -> StringId {
        let named = self.levels.iter().find_map(|(_, track)| track.names.first());
        named.or(self.open.first().map(|call| call.comm)).unwrap_or(0)
    }
}

struct Drawing<'a> {
    source: &'a dyn Source,
    range: TimeRange,
    query: ChartQuery,
    window: &'a Window,
    names: Vec<String>,
    by_name: IdMap<StringId, u32>,
}

impl Drawing<'_> {
    fn chart(mut self, lanes: BTreeMap<(u64, u64, u64), Overview<'_>>) -> CallChart {
        let mut busy: Vec<u64> = lanes.values().map(Overview::calls).collect();
        busy.sort_unstable_by(|a, b| b.cmp(a));
        let limit = self.query.limit_lanes as usize;
        let least = busy.get(limit.saturating_sub(1)).copied().unwrap_or(0);
        let (mut drawn, mut boxes, mut more_lanes, mut hidden) = (Vec::new(), 0, 0, 0);
        for (key, lane) in lanes {
            if lane.calls() < least || drawn.len() >= limit || boxes >= MAX_CHART_BOXES {
                more_lanes += 1;
                continue;
            }
            let lane = self.lane(key, &lane);
            boxes += lane.boxes.start.len();
            hidden += lane.boxes.more.iter().sum::<u64>();
            drawn.push(lane);
        }
        CallChart {
            start: relative(self.source.origin_ns(), self.range.start_ns),
            end: relative(self.source.origin_ns(), self.range.end_ns),
            width: self.query.width,
            by: Lanes::Thread,
            coarse: true,
            lanes: drawn,
            names: self.names,
            more_lanes,
            hidden,
            left_out: 0,
        }
    }

    fn lane(&mut self, (pid, tid, idle_cpu): (u64, u64, u64), of: &Overview<'_>) -> Lane {
        let (top, mut placed) = (of.top(), Vec::new());
        for call in &of.open {
            let level = u32::from(call.level.depth - top);
            placed.push((call.start_ns, level, call.end_ns - call.start_ns, call.function, 0));
        }
        for (level, track) in &of.levels {
            let level = u32::from(level.depth.saturating_sub(top));
            for (at, bin) in track.bins.iter().enumerate() {
                let function = track.names_at(at).first().unwrap_or(0);
                let (begin_ns, end_ns) = (self.window.start_of(bin.number), self.window.start_of(bin.number + 1));
                let start_ns = begin_ns.min(end_ns.saturating_sub(bin.most));
                placed.push((start_ns, level, bin.most, function, bin.rows.saturating_sub(1)));
            }
        }
        placed.sort_unstable();
        let mut boxes = CallBoxes::default();
        let mut levels = 0;
        for (start_ns, level, duration_ns, function, more) in placed {
            levels = levels.max(level + 1);
            boxes.start.push(relative(self.source.origin_ns(), start_ns));
            boxes.duration.push(duration_ns);
            boxes.level.push(level);
            boxes.name.push(self.name(function));
            boxes.state.push(0);
            boxes.more.push(more);
        }
        let label = comm_of(self.source, tid, of.comm());
        let (key, sub) = chart::words_of(pid, tid, (tid == 0).then_some(idle_cpu));
        Lane { key, label, sub, calls: of.calls(), levels, boxes }
    }

    fn name(&mut self, function: StringId) -> u32 {
        let (source, names) = (self.source, &mut self.names);
        *self.by_name.entry(function).or_insert_with(|| {
            names.push(super::tree::function_text(source, function));
            names.len() as u32 - 1
        })
    }
}

//! Calls over time: one lane for each thread or CPU, calls within calls below each other, cut to pixels.

use std::cmp::Reverse;

use super::{
    CallChoice, CallForest,
    forest::{NONE, Record},
    tree::{comm_of, function_of},
};
use crate::{
    Source, ViewError,
    answers::{CallBoxes, CallChart, CallState, Lane, Lanes},
    hash::IdMap,
    source::relative,
};

/// The most boxes of a chart.
pub const MAX_CHART_BOXES: usize = 100_000;
/// The most lanes of a chart.
pub const MAX_CHART_LANES: u32 = 256;
/// The widest chart in pixels.
pub(super) const MAX_WIDTH: u32 = 8192;
/// The most levels of a lane.
const MAX_LEVELS: u32 = 128;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartQuery {
    /// Pixels; 1 to 8192.
    pub width: u32,
    /// What a lane is.
    pub lanes: Lanes,
    /// The most lanes, 1 to [`MAX_CHART_LANES`]; those with the most calls are kept.
    pub limit_lanes: u32,
}

/// Draws the calls of the query; at most one box for each pixel of a level.
///
/// # Errors
/// If the width or the number of lanes is out of range.
pub fn call_chart(
    source: &dyn Source,
    forest: &CallForest,
    choice: &CallChoice,
    query: ChartQuery,
) -> Result<CallChart, ViewError> {
    check_query(query)?;
    let (mut lanes, mut more_lanes) = kept(forest, choice, query);
    let mut painter =
        Painter { source, forest, choice, query, names: Vec::new(), by_name: IdMap::default(), hidden: 0 };
    let (mut drawn, mut boxes) = (Vec::new(), 0);
    for lane in lanes.drain(..) {
        if boxes >= MAX_CHART_BOXES {
            more_lanes += 1;
            continue;
        }
        let lane = painter.lane(&lane);
        boxes += lane.boxes.id.len();
        drawn.push(lane);
    }
    Ok(CallChart {
        start: relative(source.origin_ns(), choice.range.start_ns),
        end: relative(source.origin_ns(), choice.range.end_ns),
        width: query.width,
        by: query.lanes,
        coarse: false,
        lanes: drawn,
        names: painter.names,
        more_lanes,
        hidden: painter.hidden,
        left_out: forest.left_out(),
    })
}

pub(super) fn check_query(query: ChartQuery) -> Result<(), ViewError> {
    ViewError::within("the width of the chart in pixels", query.width.into(), 1, MAX_WIDTH.into())?;
    ViewError::within("the number of lanes", query.limit_lanes.into(), 1, MAX_CHART_LANES.into())
}

/// A lane before it is drawn.
struct Kept {
    key: u32,
    calls: u64,
    roots: Vec<u32>,
}

/// The lanes with the most calls, by their keys: CPUs in order, threads by process.
fn kept(forest: &CallForest, choice: &CallChoice, query: ChartQuery) -> (Vec<Kept>, u64) {
    let mut by_key: IdMap<u32, usize> = IdMap::default();
    let mut lanes: Vec<Kept> = Vec::new();
    for root in choice.level(forest, None) {
        let Some(call) = forest.call(root) else { continue };
        let key = if query.lanes == Lanes::Cpu { call.cpu } else { call.task };
        let at = *by_key.entry(key).or_insert(lanes.len());
        if at == lanes.len() {
            lanes.push(Kept { key, calls: 0, roots: Vec::new() });
        }
        if let Some(lane) = lanes.get_mut(at) {
            lane.roots.push(root);
            lane.calls += shown_within(forest, choice, root, true);
        }
    }
    lanes.sort_by_key(|lane| (Reverse(lane.calls), lane.key));
    let more = lanes.len().saturating_sub(query.limit_lanes as usize) as u64;
    lanes.truncate(query.limit_lanes as usize);
    let task = |key: u32| forest.tasks.get(key as usize).map(|task| (task.pid, task.tid, task.cpu));
    match query.lanes {
        Lanes::Cpu => lanes.sort_by_key(|lane| lane.key),
        Lanes::Thread => lanes.sort_by_key(|lane| task(lane.key)),
    }
    (lanes, more)
}

/// Calls of the query in a tree; `touching` leaves out those that do not touch the range.
fn shown_within(forest: &CallForest, choice: &CallChoice, root: u32, touching: bool) -> u64 {
    let Some(call) = forest.call(root) else { return 0 };
    let whole = call.start_ns >= choice.range.start_ns && call.end_ns < choice.range.end_ns;
    if choice.everything && (whole || !touching) {
        return 1 + u64::from(call.inner);
    }
    let mut open = vec![root];
    let mut count = 0;
    while let Some(index) = open.pop() {
        count += u64::from(choice.is_hit(index));
        open.extend(forest.children(index).map(|(child, _)| child).filter(|child| choice.is_shown(*child)));
    }
    count
}

struct Painter<'a> {
    source: &'a dyn Source,
    forest: &'a CallForest,
    choice: &'a CallChoice,
    query: ChartQuery,
    names: Vec<String>,
    by_name: IdMap<u32, u32>,
    hidden: u64,
}

/// A box that may still be taken over by a longer call of its pixel.
#[derive(Clone, Copy)]
struct Spot {
    call: u32,
    duration_ns: u64,
    more: u64,
}

impl Painter<'_> {
    fn lane(&mut self, kept: &Kept) -> Lane {
        let mut spots: IdMap<(u32, u32), Spot> = IdMap::default();
        // On each level, until when it is taken by a tree.
        let mut taken: Vec<u64> = Vec::new();
        for root in &kept.roots {
            let Some(call) = self.forest.call(*root) else { continue };
            // Threads nest; on a CPU, a tree begins below those that are still open.
            let open =
                taken.iter().rposition(|until| *until > call.start_ns).filter(|_| self.query.lanes == Lanes::Cpu);
            let base = open.map_or(0, |level| level as u32 + 1).min(MAX_LEVELS - 1);
            let deepest = self.tree(*root, base, &mut spots);
            let levels = deepest as usize + 1;
            if taken.len() < levels {
                taken.resize(levels, 0);
            }
            let own = taken.iter_mut().take(levels).skip(base as usize);
            own.for_each(|until| *until = (*until).max(call.end_ns));
        }
        let mut placed: Vec<((u32, u32), Spot)> = spots.into_iter().collect();
        placed.sort_unstable_by_key(|((level, _), spot)| (self.start(spot.call), *level));
        let mut boxes = CallBoxes::default();
        let mut levels = 0;
        for ((level, _), spot) in placed {
            levels = levels.max(level + 1);
            self.hidden += spot.more;
            self.put(&mut boxes, level, spot);
        }
        let (key, label, sub) = self.words(kept);
        Lane { key, label, sub, calls: kept.calls, levels, boxes }
    }

    fn start(&self, index: u32) -> u64 {
        self.forest.call(index).map_or(0, |call| call.start_ns)
    }

    /// Puts a tree where it belongs; gives its deepest level. What is within a call that has no box of its own has none.
    fn tree(&mut self, root: u32, base: u32, spots: &mut IdMap<(u32, u32), Spot>) -> u32 {
        let mut open = vec![(root, base)];
        let mut deepest = base;
        while let Some((index, level)) = open.pop() {
            let Some(call) = self.forest.call(index) else { continue };
            if !self.choice.is_shown(index) || !call.overlaps(self.choice.range) {
                continue;
            }
            let (first, last) = (self.pixel(call.start_ns), self.pixel(call.end_ns));
            // What is within it gets no boxes.
            let is_closed = first == last || level + 1 >= MAX_LEVELS;
            let (duration_ns, all) = (call.duration_ns(), shown_within(self.forest, self.choice, index, false));
            deepest = deepest.max(level);
            match spots.entry((level, first)) {
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(Spot {
                        call: index,
                        duration_ns,
                        more: if is_closed { all.saturating_sub(1) } else { 0 },
                    });
                }
                std::collections::hash_map::Entry::Occupied(mut other) => {
                    let spot = other.get_mut();
                    spot.more += if is_closed { all } else { 1 };
                    if duration_ns > spot.duration_ns {
                        (spot.call, spot.duration_ns) = (index, duration_ns);
                    }
                }
            }
            if is_closed {
                continue;
            }
            open.extend(self.forest.children(index).map(|(child, _)| (child, level + 1)));
        }
        deepest
    }

    fn pixel(&self, time_ns: u64) -> u32 {
        let range = self.choice.range;
        let into = time_ns.clamp(range.start_ns, range.end_ns) - range.start_ns;
        let pixel = u128::from(into) * u128::from(self.query.width) / u128::from(range.span_ns().max(1));
        u32::try_from(pixel).unwrap_or(u32::MAX).min(self.query.width - 1)
    }

    fn put(&mut self, boxes: &mut CallBoxes, level: u32, spot: Spot) {
        let Some(call) = self.forest.call(spot.call) else { return };
        boxes.id.push(self.forest.id(spot.call));
        boxes.start.push(relative(self.source.origin_ns(), call.start_ns));
        boxes.duration.push(call.duration_ns());
        boxes.level.push(level);
        boxes.name.push(self.name(call));
        boxes.state.push(match call.state {
            CallState::Returned => 0,
            CallState::Unfinished => 1,
            CallState::Unstarted => 2,
        });
        boxes.more.push(spot.more);
    }

    fn name(&mut self, call: &Record) -> u32 {
        let (source, names) = (self.source, &mut self.names);
        *self.by_name.entry(call.function).or_insert_with(|| {
            names.push(function_of(source, call));
            names.len() as u32 - 1
        })
    }

    fn words(&self, kept: &Kept) -> (String, String, String) {
        if self.query.lanes == Lanes::Cpu {
            return (format!("cpu:{}", kept.key), format!("CPU {}", kept.key), String::new());
        }
        let Some(task) = self.forest.tasks.get(kept.key as usize) else {
            return (format!("tid:{NONE}"), String::new(), String::new());
        };
        let label = comm_of(self.source, task.tid, task.comm);
        let (key, sub) = words_of(task.pid, task.tid, task.cpu);
        (key, label, sub)
    }
}

/// The key of a thread's lane, and more about it; `idle_cpu` is of an idle thread.
pub(super) fn words_of(pid: u64, tid: u64, idle_cpu: Option<u64>) -> (String, String) {
    match idle_cpu {
        Some(cpu) => (format!("idle:{cpu}"), format!("CPU {cpu}")),
        None if pid == tid => (format!("tid:{tid}"), format!("pid {pid}")),
        None => (format!("tid:{tid}"), format!("pid {pid} tid {tid}")),
    }
}

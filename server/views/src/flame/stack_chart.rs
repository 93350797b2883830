//! Stacks in the order of time: a lane for each thread or CPU, in which samples that follow each other are one box as far from
//! the root as their stacks agree.
//!
//! A sample says what a stack was at one moment. It is drawn until the next one of its lane, if that comes within twice the usual
//! distance of samples, else for the usual distance. Samples that are lengths of time (off a CPU) are drawn for as long as they are.
//! Memory is bounded: of more than [`MAX_MOMENTS`] samples every so manieth of each lane is drawn, and where boxes would be more
//! than [`MAX_BOXES`], those that begin within a few pixels are one; the answer tells both.

mod boxes;
mod moments;

use std::cmp::Reverse;

use bathyscope_capture::FrameId;

use self::{
    boxes::BoxPainter,
    moments::{LaneMoments, Moments, gather},
};
use super::{
    FlameQuery, checked_width,
    fold::{FoldedStacks, NO_GROUP, OTHER},
    fold_counted,
    groups::SampleGroups,
    paths::MAX_STACK_NAMES,
    transform::{TracedStacks, traced},
    weight::Counting,
};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{GroupBy, Lanes, SampleUnit, StackChart, StackLane},
    calls::MAX_CHART_LANES,
    frame_names,
    hash::IdMap,
    source::relative,
};

/// The most samples that are drawn.
const MAX_MOMENTS: u64 = 1 << 21;
/// The most boxes of a chart.
const MAX_BOXES: usize = 60_000;
/// Pixels within which boxes are one, if there are too many.
const GRIDS: [u32; 5] = [1, 2, 4, 8, 16];
/// How far before the range a sample may be that is drawn into it.
const BEFORE_NS: u64 = 2_000_000_000;

/// What to draw in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackChartQuery {
    /// What a lane is.
    pub lanes: Lanes,
    /// The most lanes, 1 to [`MAX_CHART_LANES`]; those with the most samples are kept.
    pub limit_lanes: u32,
}

/// Draws the samples of a query in the order of time. `invert` and `focus` do not count.
///
/// # Errors
/// If the query does not fit the capture, times off CPUs are asked for by CPU, a chunk cannot be loaded, or `cancel` was set.
pub fn stack_chart(
    source: &dyn Source,
    query: &FlameQuery,
    chart: StackChartQuery,
    cancel: &Cancel,
) -> Result<StackChart, ViewError> {
    checked_width(query.width)?;
    ViewError::within("the number of lanes", chart.limit_lanes.into(), 1, MAX_CHART_LANES.into())?;
    let search = query.searched()?;
    let counting = Counting::of(source, &query.weight)?.ok_or(ViewError::NoSamples)?.of_moments();
    let has_lengths = counting.own_unit() == Some(SampleUnit::Nanoseconds);
    if has_lengths && chart.lanes == Lanes::Cpu {
        return Err(ViewError::TimesByCpu);
    }
    let read = FlameQuery { range: read_range(source, query.range, has_lengths), invert: false, ..query.clone() };
    let mut of_lanes =
        SampleGroups::new(source, if chart.lanes == Lanes::Cpu { GroupBy::Cpu } else { GroupBy::Thread });
    let mut groups = SampleGroups::new(source, query.by);
    let by = (&mut of_lanes, &mut groups);
    let mut found = gather(source, &read, query.range, by, (&counting, has_lengths), cancel)?;
    let folded = fold_counted(source, &read, (&found.counts, &groups), cancel)?;
    let traced = traced(&folded, &query.transforms, cancel)?;
    let origins = origins(source, &folded, &groups, &found.pairs);
    let recorded = found.lanes.iter().map(|lane| lane.samples).sum();
    let more_lanes = keep_busiest(&mut found.lanes, chart.limit_lanes);
    let period = moments::draw_until(&mut found, has_lengths);
    let draw = Draw { source, query, chart, traced: &traced, origins: &origins, of_lanes: &of_lanes, cancel };
    let (lanes, names, grid, hidden) = draw.lanes(&found)?;
    Ok(StackChart {
        start: relative(source.origin_ns(), query.range.start_ns),
        end: relative(source.origin_ns(), query.range.end_ns),
        width: query.width,
        by: chart.lanes,
        unit: counting.unit,
        period,
        step: found.step,
        grid,
        lanes,
        found: names.iter().filter_map(|name| Some(search.as_ref()?.is_in(traced.name(name.0)))).collect(),
        modules: names.iter().map(|name| traced.module(name.1).to_owned()).collect(),
        names: names.iter().map(|name| traced.name(name.0).to_owned()).collect(),
        more_lanes,
        hidden,
        transforms: traced.applied.clone(),
        recorded,
    })
}

/// What is read for a range: samples before it may last into it.
fn read_range(source: &dyn Source, range: TimeRange, has_lengths: bool) -> TimeRange {
    let start_ns = if has_lengths {
        TimeRange::of(source).start_ns.min(range.start_ns)
    } else {
        range.start_ns.saturating_sub(BEFORE_NS)
    };
    TimeRange { start_ns, ..range }
}

/// Keeps the lanes with the most samples, in the order of their keys; gives how many are left out.
fn keep_busiest(lanes: &mut Vec<LaneMoments>, most: u32) -> u64 {
    lanes.retain(|lane| lane.samples > 0);
    lanes.sort_by_key(|lane| (Reverse(lane.samples), lane.key));
    let more = lanes.len().saturating_sub(most as usize);
    lanes.truncate(most as usize);
    lanes.sort_by_key(|lane| (lane.pid, lane.key));
    more as u64
}

/// By pair of a group and a stack: the number of the folded stack that it became; nothing for one that was put to others.
fn origins(
    source: &dyn Source,
    folded: &FoldedStacks,
    groups: &SampleGroups<'_>,
    pairs: &[(u32, u32)],
) -> Vec<Option<usize>> {
    let dictionaries = source.dictionaries();
    let mut by_frame: IdMap<FrameId, Vec<Option<u32>>> = IdMap::default();
    let mut by_stack: IdMap<u32, Option<Vec<u32>>> = IdMap::default();
    let mut by_group: IdMap<u32, u32> = IdMap::default();
    let other = folded.name_index(OTHER).map(|name| vec![name]);
    let mut names_of = |stack: u32| {
        let frames = dictionaries.stack(stack).unwrap_or(&[]);
        let mut names: Vec<Option<u32>> = Vec::with_capacity(frames.len());
        for frame in frames {
            let known = by_frame.entry(*frame).or_insert_with(|| {
                frame_names(dictionaries, *frame).iter().map(|(name, _)| folded.name_index(name)).collect()
            });
            names.extend_from_slice(known);
        }
        if names.is_empty() {
            names.push(folded.name_index("[no stack]"));
        }
        names.reverse();
        names.truncate(MAX_STACK_NAMES);
        names.into_iter().collect::<Option<Vec<u32>>>()
    };
    pairs
        .iter()
        .map(|(group, stack)| {
            let group = *by_group
                .entry(*group)
                .or_insert_with(|| groups.name(*group).and_then(|name| folded.name_index(&name)).unwrap_or(NO_GROUP));
            let names = by_stack.entry(*stack).or_insert_with(|| names_of(*stack));
            let own = names.as_ref().and_then(|names| folded.position(group, names));
            own.or_else(|| folded.position(group, other.as_deref()?))
        })
        .collect()
}

/// What lanes are drawn from.
struct Draw<'a> {
    source: &'a dyn Source,
    query: &'a FlameQuery,
    chart: StackChartQuery,
    traced: &'a TracedStacks,
    origins: &'a [Option<usize>],
    of_lanes: &'a SampleGroups<'a>,
    cancel: &'a Cancel,
}

/// A name with the module of its code.
type ChartName = (u32, u16);

impl Draw<'_> {
    /// The lanes, the names of their boxes, the pixels of the grid, and how many boxes are hidden.
    fn lanes(&self, found: &Moments) -> Result<(Vec<StackLane>, Vec<ChartName>, u32, u64), ViewError> {
        let mut last = (Vec::new(), Vec::new(), 1, 0);
        for grid in GRIDS {
            let mut painter = BoxPainter::new(self.source.origin_ns(), self.query.range, self.query.width, grid);
            let mut lanes = Vec::with_capacity(found.lanes.len());
            for lane in &found.lanes {
                if self.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(ViewError::Cancelled);
                }
                let samples = lane.moments.iter().filter_map(|moment| {
                    let origin = (*self.origins.get(moment.pair as usize)?)?;
                    Some((moment.time_ns, moment.end_ns, self.traced.levels(origin)?))
                });
                let (boxes, levels) = painter.lane(samples);
                lanes.push(self.lane(lane, boxes, levels));
            }
            let boxes: usize = lanes.iter().map(|lane| lane.boxes.start.len()).sum();
            last = (lanes, painter.names, grid, painter.hidden);
            if boxes <= MAX_BOXES {
                break;
            }
        }
        Ok(last)
    }

    fn lane(&self, lane: &LaneMoments, boxes: crate::answers::StackBoxes, levels: u32) -> StackLane {
        let label = self.of_lanes.name(lane.key).unwrap_or_default().into_owned();
        let (key, sub) = match self.chart.lanes {
            Lanes::Cpu => (format!("cpu:{}", lane.key), String::new()),
            Lanes::Thread => (format!("tid:{}", lane.key), format!("pid {}", lane.pid)),
        };
        StackLane { key, label, sub, samples: lane.samples, levels, boxes }
    }
}

//! Samples of a lane to boxes, at most one for each place of a grid of pixels on each level.

use std::collections::hash_map::Entry;

use super::{super::transform::StackLevel, ChartName};
use crate::{
    TimeRange,
    answers::{NodeKind, StackBoxes},
    hash::IdMap,
    source::relative,
};

/// The most levels of a lane; what is deeper is counted as hidden.
const MAX_LEVELS: usize = 256;

/// A box that samples still continue.
struct OpenBox {
    name: ChartName,
    kind: NodeKind,
    start_ns: u64,
    samples: u64,
}

/// A box that a longer one may still take the place of.
struct PlacedBox {
    name: ChartName,
    kind: NodeKind,
    start_ns: u64,
    end_ns: u64,
    samples: u64,
    more: u64,
}

/// Makes boxes of lanes, one lane after another.
pub(super) struct BoxPainter {
    origin_ns: u64,
    range: TimeRange,
    /// Places of the grid in the range.
    cells: u32,
    /// The names of all boxes so far.
    pub(super) names: Vec<ChartName>,
    by_name: IdMap<(u32, u32), u32>,
    /// Boxes that others have the place of.
    pub(super) hidden: u64,
    placed: IdMap<(u32, u32), PlacedBox>,
}

impl BoxPainter {
    pub(super) fn new(origin_ns: u64, range: TimeRange, width: u32, grid: u32) -> Self {
        let (names, by_name, placed) = Default::default();
        Self { origin_ns, range, cells: width.div_ceil(grid).max(1), names, by_name, hidden: 0, placed }
    }

    /// The boxes of samples, each from when until when with its levels from the root; and how many levels they take.
    pub(super) fn lane<'a>(
        &mut self,
        samples: impl Iterator<Item = (u64, u64, &'a [StackLevel])>,
    ) -> (StackBoxes, u32) {
        let mut open: Vec<OpenBox> = Vec::new();
        let mut until_ns = 0;
        for (start_ns, end_ns, levels) in samples {
            // A group of the graph is no level here: lanes are the groups.
            let group = usize::from(levels.first().is_some_and(|level| level.kind == NodeKind::Process));
            let levels = levels.get(group..).unwrap_or(&[]);
            self.hidden += levels.len().saturating_sub(MAX_LEVELS) as u64;
            let levels = levels.get(..MAX_LEVELS).unwrap_or(levels);
            let is_same = |(open, level): (&OpenBox, &StackLevel)| open.name == (level.name, level.module);
            let shared = if start_ns > until_ns {
                0
            } else {
                open.iter().zip(levels).take_while(|both| is_same((both.0, both.1))).count()
            };
            self.close(&mut open, shared, until_ns.min(start_ns));
            open.iter_mut().for_each(|it| it.samples += 1);
            open.extend(levels.iter().skip(shared).map(|level| OpenBox {
                name: (level.name, level.module),
                kind: level.kind,
                start_ns,
                samples: 1,
            }));
            until_ns = end_ns;
        }
        self.close(&mut open, 0, until_ns);
        self.finish()
    }

    /// Ends the boxes below the first so many levels.
    fn close(&mut self, open: &mut Vec<OpenBox>, keep: usize, end_ns: u64) {
        for (level, it) in (keep as u32..).zip(open.drain(keep..)) {
            let start_ns = it.start_ns.max(self.range.start_ns);
            let end_ns = end_ns.min(self.range.end_ns);
            if start_ns >= end_ns {
                continue;
            }
            let new = PlacedBox { name: it.name, kind: it.kind, start_ns, end_ns, samples: it.samples, more: 0 };
            match self.placed.entry((level, self.cell(start_ns))) {
                Entry::Vacant(free) => {
                    free.insert(new);
                }
                Entry::Occupied(mut other) => {
                    let other = other.get_mut();
                    let more = other.more + 1;
                    if new.end_ns - new.start_ns > other.end_ns - other.start_ns {
                        *other = new;
                    }
                    other.more = more;
                }
            }
        }
    }

    fn cell(&self, time_ns: u64) -> u32 {
        let into = time_ns.saturating_sub(self.range.start_ns);
        let cell = u128::from(into) * u128::from(self.cells) / u128::from(self.range.span_ns().max(1));
        u32::try_from(cell).unwrap_or(u32::MAX).min(self.cells - 1)
    }

    fn finish(&mut self) -> (StackBoxes, u32) {
        let mut placed: Vec<((u32, u32), PlacedBox)> = self.placed.drain().collect();
        placed.sort_unstable_by_key(|((level, _), it)| (it.start_ns, *level));
        let (mut boxes, mut levels) = (StackBoxes::default(), 0);
        for ((level, _), it) in placed {
            levels = levels.max(level + 1);
            self.hidden += it.more;
            boxes.start.push(relative(self.origin_ns, it.start_ns));
            boxes.duration.push(it.end_ns - it.start_ns);
            boxes.level.push(level);
            boxes.name.push(self.name(it.name));
            boxes.kind.push(it.kind as u8);
            boxes.samples.push(it.samples);
            boxes.more.push(it.more);
        }
        (boxes, levels)
    }

    fn name(&mut self, name: ChartName) -> u32 {
        let names = &mut self.names;
        *self.by_name.entry((name.0, name.1.into())).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        })
    }
}

//! Stacks in the order of time.

use serde::Serialize;

use super::{AppliedTransform, Lanes};

/// Stacks over time: below each other the levels of the stack that a thread or CPU had, for as long as it had them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackChart {
    /// Start of the range, relative to the capture's start.
    pub start: i64,
    /// End of the range.
    pub end: i64,
    /// Pixels.
    pub width: u32,
    /// What a lane is.
    pub by: Lanes,
    /// What samples count, as [`super::FlameGraph::unit`] has it.
    pub unit: &'static str,
    /// The usual distance of samples of a lane in nanoseconds, which a sample without a near one after it is drawn for. 0 where
    /// samples have lengths of their own, or there are too few to tell.
    pub period: u64,
    /// One of so many samples of each lane is drawn.
    pub step: u64,
    /// Boxes that begin within so many pixels of one level are one, the longest of them.
    pub grid: u32,
    /// The lanes.
    pub lanes: Vec<StackLane>,
    /// The names that boxes refer to, made visible.
    pub names: Vec<String>,
    /// What the code of names was mapped from, by their index; empty where that is not known.
    pub modules: Vec<String>,
    /// The names that the search finds, by their index; nothing where nothing is looked for.
    pub found: Vec<bool>,
    /// Lanes that are not here.
    pub more_lanes: u64,
    /// Boxes of these lanes that are not here, because a longer one has their place.
    pub hidden: u64,
    /// What transforms did, in their order.
    pub transforms: Vec<AppliedTransform>,
    /// Samples of the range, whatever transforms leave out.
    pub recorded: u64,
}

/// A lane of stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackLane {
    /// Names it in addresses: `tid:N` or `cpu:N`.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// More about it.
    pub sub: String,
    /// Its samples in the range.
    pub samples: u64,
    /// How many levels it has.
    pub levels: u32,
    /// Its boxes.
    pub boxes: StackBoxes,
}

/// Boxes of a lane, columns of one length, in the order of their starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StackBoxes {
    /// From when, relative to the capture's start.
    pub start: Vec<i64>,
    /// For how long, nanoseconds.
    pub duration: Vec<u64>,
    /// On which level it is, from 0.
    pub level: Vec<u32>,
    /// Index of its name.
    pub name: Vec<u32>,
    /// What it is, as [`super::NodeKind`] numbers it.
    pub kind: Vec<u8>,
    /// Samples that follow each other in it; of one of several, those that are drawn.
    pub samples: Vec<u64>,
    /// Other boxes in its place.
    pub more: Vec<u64>,
}

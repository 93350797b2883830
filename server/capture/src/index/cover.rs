//! Which blocks a window is drawn from.

use std::ops::Range;

use crate::IdMap;

use super::{FAN_OUT, LEVELS, node_chunks};

/// Which blocks there are of a stream and grouping, and how fine they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexDirectory {
    shifts: IdMap<(u8, u32), u8>,
    /// The highest level that there is.
    top: u8,
}

/// A part of a stream that is looked at as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPiece {
    /// A block.
    Node {
        /// Its level.
        level: u8,
        /// Its number in the level.
        number: u32,
    },
    /// A chunk whose rows have to be counted.
    Chunk(u32),
}

impl IndexDirectory {
    /// Adds a block with bins of 2^shift nanoseconds.
    pub fn insert(&mut self, level: u8, number: u32, shift: u8) {
        self.shifts.insert((level, number), shift);
        self.top = self.top.max(level.min(LEVELS));
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.shifts.is_empty()
    }

    /// The fewest pieces that hold the first `chunks` chunks in bins of at most 2^shift nanoseconds, in order, without those
    /// for whose chunks `overlaps` says no.
    pub fn pieces(&self, chunks: u32, shift: u8, overlaps: impl Fn(Range<u32>) -> bool) -> Vec<IndexPiece> {
        let level = (0..LEVELS).find(|level| node_chunks(*level) >= u64::from(chunks)).unwrap_or(LEVELS);
        let level = level.max(self.top);
        let mut pieces = Vec::new();
        self.descend((level, 0), chunks, shift, &overlaps, &mut pieces);
        pieces
    }

    fn descend(
        &self,
        (level, number): (u8, u32),
        chunks: u32,
        shift: u8,
        overlaps: &impl Fn(Range<u32>) -> bool,
        pieces: &mut Vec<IndexPiece>,
    ) {
        let start = u64::from(number).saturating_mul(node_chunks(level));
        let end = start.saturating_add(node_chunks(level)).min(u64::from(chunks));
        if start >= end || !overlaps(start as u32..end as u32) {
            return;
        }
        if self.shifts.get(&(level, number)).is_some_and(|known| *known <= shift) {
            pieces.push(IndexPiece::Node { level, number });
        } else if let Some(below) = level.checked_sub(1) {
            let children = number.saturating_mul(FAN_OUT)..number.saturating_add(1).saturating_mul(FAN_OUT);
            children.for_each(|child| self.descend((below, child), chunks, shift, overlaps, pieces));
        } else {
            pieces.push(IndexPiece::Chunk(number));
        }
    }
}

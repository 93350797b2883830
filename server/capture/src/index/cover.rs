//! Which blocks a window is drawn from.

use std::{collections::BTreeMap, ops::Range};

use super::{LEVELS, node_chunks};

/// Which blocks there are of a stream and grouping, and how fine they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexDirectory {
    shifts: BTreeMap<(u8, u32), u8>,
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
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.shifts.is_empty()
    }

    /// The fewest pieces that hold the first `chunks` chunks in bins of at most 2^shift nanoseconds, without those for whose
    /// chunks `overlaps` says no.
    pub fn pieces(&self, chunks: u32, shift: u8, overlaps: impl Fn(Range<u32>) -> bool) -> Vec<IndexPiece> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < chunks {
            let (piece, next) = self.largest(at, chunks, shift);
            if overlaps(at..next) {
                pieces.push(piece);
            }
            at = next;
        }
        pieces
    }

    /// The largest piece that begins at a chunk, and where the next begins.
    fn largest(&self, at: u32, chunks: u32, shift: u8) -> (IndexPiece, u32) {
        for level in (0..=LEVELS).rev() {
            let (size, start) = (node_chunks(level), u64::from(at));
            if start % size != 0 {
                continue;
            }
            let number = (start / size) as u32;
            if self.shifts.get(&(level, number)).is_some_and(|known| *known <= shift) {
                let next = (start + size).min(u64::from(chunks)) as u32;
                return (IndexPiece::Node { level, number }, next);
            }
        }
        (IndexPiece::Chunk(at), at + 1)
    }
}

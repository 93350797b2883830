//! The time index: how many rows a track has in each bin of time, so that a window of a long capture is drawn without its
//! rows.
//!
//! A *track* is what rows have in common: their CPU or their thread ([`Grouping`]). A *bin* is a span of time of a power of
//! two nanoseconds that begins at a multiple of its length on the capture's clock, so that bins of different length nest
//! and sums stay exact. A *block* ([`IndexBlock`]) holds the bins of all tracks of one stream over some chunks, with as fine
//! bins as [`MAX_BINS`] allow.
//!
//! Blocks form a forest that is implied by their numbers: the block `number` of level `level` is of the chunks from
//! `number × 16^level` on, 16^level of them; so the parent of a block is found by dividing, and nothing points anywhere.
//! Each chunk has its leaves (level 0); a parent is made when its last child comes ([`IndexForest`]), by adding the
//! children, and the last ones when the capture ends. To draw a window, take the largest blocks whose bins are fine enough;
//! where even leaves are too coarse, rows are counted, which are few then.
//!
//! This is the idea of a segment tree without pointers (as "implicit in-order forests" of trace viewers are) with an arity
//! of 16 instead of 2, because a node is read from a database: fewer, larger nodes.
//!
//! Counts are exact, and so is how long the longest of a bin's rows took, where rows are slices of time
//! ([`StreamSchema::duration_column`]). Names are those that were among the [`TOP`] most frequent of each part that was added.

mod build;
mod code;
mod cover;
mod forest;

use crate::{StreamKind, StreamSchema, StringId};

pub use build::{IndexBuilder, leaf_blocks};
pub use code::MAX_INDEX_BYTES;
pub use cover::{IndexDirectory, IndexPiece};
pub use forest::{IndexForest, IndexNode};

/// How many children a node has.
pub(crate) const FAN_OUT: u32 = 16;
/// The most bins that a block's time is divided into. At least half as many are used where a block has two or more.
pub(crate) const MAX_BINS: u64 = 2048;
/// The most bins that a block holds, all tracks together; with more of them they are made coarser.
pub(crate) const MAX_BLOCK_BINS: usize = 1 << 18;
/// The most tracks of a block; the busiest are kept.
pub(crate) const MAX_BLOCK_TRACKS: usize = 4096;
/// Names that are kept of a bin, and of a track.
pub(crate) const TOP: usize = 4;
/// Levels above the leaves; the highest is of 2³² chunks.
pub(crate) const LEVELS: u8 = 8;

/// How many chunks a node of `level` is of.
pub(crate) const fn node_chunks(level: u8) -> u64 {
    (FAN_OUT as u64).pow(if level > LEVELS { LEVELS } else { level } as u32)
}

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// A CPU; names are those of threads.
    Cpu,
    /// A thread; names are those it had, in samples; events have no names.
    Thread,
}

impl Grouping {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Cpu, Self::Thread];

    /// The column that tracks are told apart by.
    pub const fn key_column(self) -> usize {
        match self {
            Self::Cpu => StreamSchema::CPU,
            Self::Thread => StreamSchema::TID,
        }
    }

    /// Whether bins of such a stream have names.
    pub fn has_names(self, schema: &StreamSchema) -> bool {
        self == Self::Cpu || schema.kind == StreamKind::Samples
    }
}

/// The most frequent names of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopNames([(StringId, u32); TOP]);

impl TopNames {
    /// Adds a name with its rows. If there is no room, the one with the fewest rows gives way.
    pub fn add(&mut self, name: StringId, rows: u32) {
        if let Some(same) = self.0.iter_mut().find(|(known, count)| *count > 0 && *known == name) {
            same.1 = same.1.saturating_add(rows);
            return;
        }
        // Of equals the one with the higher id, so that the order of adding does not matter among these.
        if let Some(least) = self.0.iter_mut().min_by_key(|(known, count)| (*count, std::cmp::Reverse(*known)))
            && (least.1, std::cmp::Reverse(least.0)) < (rows, std::cmp::Reverse(name))
        {
            *least = (name, rows);
        }
    }

    /// Adds all names of another.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(name, rows)| self.add(name, rows));
    }

    /// The names with their rows, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (StringId, u32)> + '_ {
        self.0.iter().copied().filter(|(_, rows)| *rows > 0)
    }

    /// The name with most rows, the lower id of equals.
    pub fn first(&self) -> Option<StringId> {
        self.iter().max_by_key(|(name, rows)| (*rows, std::cmp::Reverse(*name))).map(|(name, _)| name)
    }
}

/// A bin that has rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexBin {
    /// Its number: the time divided by its length.
    pub number: u64,
    /// Rows in it.
    pub rows: u64,
    /// How long the longest of them took, in nanoseconds, whatever part of it lies in the bin; 0 where that is not known.
    pub longest_ns: u64,
    /// Their most frequent names.
    pub names: TopNames,
}

/// The bins of one track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTrack {
    /// The CPU or thread.
    pub key: u64,
    /// The process that the first row names.
    pub pid: u64,
    /// The thread's most frequent names; nothing for CPUs.
    pub names: TopNames,
    /// Bins with rows, in order.
    pub bins: Vec<IndexBin>,
}

impl IndexTrack {
    /// Rows in all bins.
    pub fn rows(&self) -> u64 {
        self.bins.iter().map(|bin| bin.rows).sum()
    }
}

/// The bins of all tracks of a stream over some chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexBlock {
    /// Bins are 2^shift nanoseconds long.
    pub shift: u8,
    /// Whether bins know their longest row. Blocks of captures from before it was kept do not.
    pub has_longest: bool,
    /// The tracks, by ascending key.
    pub tracks: Vec<IndexTrack>,
    /// How many tracks there were besides.
    pub dropped_tracks: u64,
}

#[cfg(test)]
mod tests;

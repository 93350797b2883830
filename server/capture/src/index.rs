//! The time index: how many rows a track has in each bin of time, so that a window of a long capture is drawn without its
//! rows.
//!
//! A *track* is what rows have in common: their CPU, their thread, their level in a thread's calls, or what is counted
//! ([`Grouping`]). A *bin* is a span of time of a power of
//! two nanoseconds that begins at a multiple of its length on the capture's clock, so that bins of different length nest
//! and sums stay exact. A *block* ([`IndexBlock`]) holds the bins of all tracks of one stream over some chunks, with as fine
//! bins as [`MAX_BINS`] allow.
//!
//! Blocks form a forest that is implied by their numbers: the block `number` of level `level` is of the chunks from
//! `number × 4^level` on, 4^level of them; so the parent of a block is found by dividing, and nothing points anywhere.
//! Each chunk has its leaves (level 0); a parent is made when its last child comes ([`IndexForest`]), by adding the
//! children, and the last ones when the capture ends. To draw a window, take the largest blocks whose bins are fine enough;
//! where even leaves are too coarse, rows are counted, which are few then.
//!
//! This is the idea of a segment tree without pointers (as "implicit in-order forests" of trace viewers are) with an arity
//! of 4 instead of 2: nodes are read from a database, so they are fewer and larger; but a window decodes up to as many times
//! more bins than it shows as a node has children.
//!
//! Counts are exact, and so is what else bins know ([`Measure`]): how long the longest of their rows took, or the least, the
//! greatest and the last value of a counter. Names are those that were among the [`TOP`] most frequent of each part that was
//! added; the name of a longest row is exact.
//!
//! Rows that lie far before the others of their chunk (calls are stored when they end) cost a bin each, but do not make the
//! bins of the others coarser.

mod build;
mod code;
mod cover;
mod forest;
mod rows;

use crate::{StreamKind, StreamSchema, StringId};

pub use build::{IndexBuilder, leaf_blocks};
pub use code::MAX_INDEX_BYTES;
pub use cover::{IndexDirectory, IndexPiece};
pub use forest::{IndexForest, IndexNode};
pub use rows::index_columns;

/// How many children a node has.
pub(crate) const FAN_OUT: u32 = 4;
/// The most bins that a block's time is divided into. At least half as many are used where a block has two or more. With more
/// of them a window decodes more bins outside of it, and the index takes more room; with fewer it counts more rows, where
/// bins of leaves are too long (`cargo bench -p bathyscope-views`: 512 to 2048 were tried).
pub(crate) const MAX_BINS: u64 = 1024;
/// The most bins that a block holds, all tracks together; with more of them they are made coarser.
pub(crate) const MAX_BLOCK_BINS: usize = 1 << 18;
/// The most tracks of a block; the busiest are kept.
pub(crate) const MAX_BLOCK_TRACKS: usize = 4096;
/// Names that are kept of a bin, and of a track.
pub(crate) const TOP: usize = 4;
/// Levels above the leaves; the highest is of 2³² chunks.
pub(crate) const LEVELS: u8 = 16;

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
    /// A level of a thread's calls ([`CallLevel`]); the name is the function of the longest call. Only of recorded calls.
    Level,
    /// An event that is counted in a scope ([`counter_key`]); no names. Only of counts.
    Counter,
}

impl Grouping {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Thread, Self::Level, Self::Counter];

    /// Whether the rows of such a stream have such tracks.
    pub fn is_of(self, schema: &StreamSchema) -> bool {
        match self {
            Self::Cpu | Self::Thread => schema.has_events(),
            Self::Level | Self::Counter => schema.has_events() && rows::Columns::of(schema, self).is_some(),
        }
    }

    /// Whether bins of such a stream have names.
    pub fn has_names(self, schema: &StreamSchema) -> bool {
        match self {
            Self::Cpu | Self::Level => true,
            Self::Thread => schema.kind == StreamKind::Samples,
            Self::Counter => false,
        }
    }
}

/// What bins know beside how many rows they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Nothing.
    #[default]
    Nothing,
    /// How long the longest row took.
    Longest,
    /// How long the longest row took, and the only name is that row's.
    LongestNamed,
    /// The least, the greatest and the last value.
    Values,
}

/// A level of a thread's calls, as tracks of [`Grouping::Level`] are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallLevel {
    /// The thread; 0 for idle threads.
    pub tid: u64,
    /// The CPU of an idle thread, of which each CPU has one; else 0.
    pub idle_cpu: u64,
    /// From 0; calls that are deeper than 255 count there.
    pub depth: u8,
}

impl CallLevel {
    const IDLE: u64 = 1 << 63;

    /// The level that a row is on.
    pub fn of(tid: u64, cpu: u64, depth: u64) -> Self {
        let depth = u8::try_from(depth).unwrap_or(u8::MAX);
        Self { tid, idle_cpu: if tid == 0 { cpu } else { 0 }, depth }
    }

    /// The track's key: levels of a thread follow each other.
    pub fn key(self) -> u64 {
        let thread = if self.tid == 0 { Self::IDLE | (self.idle_cpu << 8 & (Self::IDLE - 1)) } else { self.tid << 8 };
        thread | u64::from(self.depth)
    }

    /// The level with this key.
    pub fn from_key(key: u64) -> Self {
        let depth = key as u8;
        match key & Self::IDLE {
            0 => Self { tid: key >> 8, idle_cpu: 0, depth },
            _ => Self { tid: 0, idle_cpu: (key ^ Self::IDLE) >> 8, depth },
        }
    }
}

/// The key of the track of an event that is counted in a scope, both by their texts.
pub fn counter_key(event: StringId, scope: StringId) -> u64 {
    u64::from(event) << 32 | u64::from(scope)
}

/// Event and scope of a track with this key.
pub fn counter_of(key: u64) -> (StringId, StringId) {
    ((key >> 32) as StringId, key as StringId)
}

/// The most frequent names of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopNames([(StringId, u32); TOP]);

impl TopNames {
    /// Only this name.
    pub(crate) fn one(name: StringId) -> Self {
        let mut names = Self::default();
        names.add(name, 1);
        names
    }

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
    /// By [`IndexBlock::measure`]: how long the longest of them took, in nanoseconds, whatever part of it lies in the bin; or
    /// the greatest value of a counter, in thousandths: a second, or of a gauge as such. 0 where neither is known.
    pub most: u64,
}

/// What else a bin of a counter knows, in thousandths: a second, or of a gauge as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterBin {
    /// The least value.
    pub least: u64,
    /// The last value.
    pub last: u64,
}

/// The bins of one track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTrack {
    /// The CPU or thread, or what [`CallLevel::key`] and [`counter_key`] say.
    pub key: u64,
    /// The process that the first row names; only of threads and their levels.
    pub pid: u64,
    /// The thread's most frequent names; nothing for CPUs and counters.
    pub names: TopNames,
    /// Bins with rows, in order.
    pub bins: Vec<IndexBin>,
    /// The names of each bin, most frequent of its rows; empty where bins have none.
    pub bin_names: Vec<TopNames>,
    /// What else is known of each bin of a counter; empty for others.
    pub counters: Vec<CounterBin>,
}

impl IndexTrack {
    /// Rows in all bins.
    pub fn rows(&self) -> u64 {
        self.bins.iter().map(|bin| bin.rows).sum()
    }

    /// The names of the bin at this place.
    pub fn names_at(&self, at: usize) -> TopNames {
        self.bin_names.get(at).copied().unwrap_or_default()
    }
}

/// The bins of all tracks of a stream over some chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexBlock {
    /// Bins are 2^shift nanoseconds long.
    pub shift: u8,
    /// What bins know. Blocks of captures from before it was kept know nothing.
    pub measure: Measure,
    /// The tracks, by ascending key.
    pub tracks: Vec<IndexTrack>,
    /// How many tracks there were besides.
    pub dropped_tracks: u64,
}

impl IndexBlock {
    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let track = |track: &IndexTrack| {
            size_of::<IndexTrack>()
                + size_of_val(track.bins.as_slice())
                + size_of_val(track.bin_names.as_slice())
                + size_of_val(track.counters.as_slice())
        };
        self.tracks.iter().map(track).sum()
    }
}

#[cfg(test)]
mod tests;

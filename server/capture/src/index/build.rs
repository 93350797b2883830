//! Making blocks: of rows, and of other blocks.

use crate::{Batch, IdMap, StreamSchema, StringId};

use super::{
    CounterBin, Grouping, IndexBin, IndexBlock, IndexTrack, MAX_BINS, MAX_BLOCK_BINS, MAX_BLOCK_TRACKS, Measure,
    TopNames,
    rows::{IndexedRow, Rows},
};

/// How many tracks of rows before are remembered.
const NEAR: usize = 256;

/// What is added to a bin.
#[derive(Clone, Copy)]
struct Part<'a> {
    rows: u64,
    most: u64,
    names: Option<&'a TopNames>,
    counter: Option<CounterBin>,
}

/// A track that is still filled.
#[derive(Debug, Default)]
struct Filling {
    track: IndexTrack,
    /// The bin that rows are added to.
    open: usize,
    /// All names of that bin.
    names: Vec<(StringId, u32)>,
}

impl Filling {
    /// The place of the bin with this number, which is made if it is not there. Most rows are of the last one.
    fn at(&mut self, number: u64, of: &Part<'_>) -> usize {
        let bins = &self.track.bins;
        let at = match bins.last() {
            Some(last) if last.number == number => return bins.len() - 1,
            Some(last) if last.number > number => bins.partition_point(|bin| bin.number < number),
            _ => bins.len(),
        };
        if bins.get(at).is_none_or(|bin| bin.number != number) {
            let before = self.track.bins.len();
            let track = &mut self.track;
            track.bins.insert(at, IndexBin { number, rows: 0, most: 0 });
            if of.names.is_some() || !track.bin_names.is_empty() {
                track.bin_names.resize(before, TopNames::default());
                track.bin_names.insert(at, TopNames::default());
            }
            if of.counter.is_some() || !track.counters.is_empty() {
                track.counters.resize(before, CounterBin::default());
                track.counters.insert(at, CounterBin { least: u64::MAX, last: 0 });
            }
        }
        at
    }

    /// Puts the names of the open bin into it; none is open then.
    fn close(&mut self) {
        if let Some(names) = self.track.bin_names.get_mut(self.open).filter(|_| !self.names.is_empty()) {
            // Most frequent first: what comes later gives way.
            self.names.sort_unstable_by_key(|(name, rows)| (std::cmp::Reverse(*rows), *name));
            self.names.iter().for_each(|(name, rows)| names.add(*name, *rows));
        }
        self.names.clear();
        self.open = usize::MAX;
    }

    fn add_row(&mut self, number: u64, row: &IndexedRow, measure: Measure) {
        if self.track.bins.get(self.open).is_none_or(|bin| bin.number != number) {
            self.close();
            let values = CounterBin { least: row.measured, last: row.measured };
            let counter = (measure == Measure::Values).then_some(values);
            let none = TopNames::default();
            self.open = self.at(number, &Part { rows: 0, most: 0, names: row.name.map(|_| &none), counter });
        }
        let Some(bin) = self.track.bins.get_mut(self.open) else { return };
        let is_longest = bin.rows == 0 || row.measured > bin.most;
        bin.rows += 1;
        bin.most = bin.most.max(row.measured);
        if let Some(counter) = self.track.counters.get_mut(self.open) {
            *counter = CounterBin { least: counter.least.min(row.measured), last: row.measured };
        }
        match (row.name, measure) {
            (Some(name), Measure::LongestNamed) => {
                if let Some(names) = self.track.bin_names.get_mut(self.open).filter(|_| is_longest) {
                    *names = TopNames::one(name);
                }
            }
            (Some(name), _) => match self.names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => *rows = rows.saturating_add(1),
                None => self.names.push((name, 1)),
            },
            (None, _) => {}
        }
    }

    fn add_part(&mut self, number: u64, part: &Part<'_>, measure: Measure) {
        let at = self.at(number, part);
        let Some(bin) = self.track.bins.get_mut(at) else { return };
        let (is_new, is_longest) = (bin.rows == 0, bin.rows == 0 || part.most > bin.most);
        bin.rows = bin.rows.saturating_add(part.rows);
        bin.most = bin.most.max(part.most);
        if let (Some(names), Some(added)) = (self.track.bin_names.get_mut(at), part.names) {
            match measure {
                Measure::LongestNamed if !is_longest => {}
                Measure::LongestNamed => *names = *added,
                _ if is_new => *names = *added,
                _ => names.merge(added),
            }
        }
        if let (Some(counter), Some(added)) = (self.track.counters.get_mut(at), part.counter) {
            *counter = CounterBin { least: counter.least.min(added.least), last: added.last };
        }
    }

    /// Adds the bins of a track with such numbers, after they were made coarser by 2^by.
    fn add_track(&mut self, track: &IndexTrack, bins: std::ops::Range<u64>, by: u8, measure: Measure) {
        // A bin that is put in between moves the open one.
        self.close();
        self.track.names.merge(&track.names);
        let start = track.bins.partition_point(|bin| bin.number >> by < bins.start);
        let end = track.bins.partition_point(|bin| bin.number >> by < bins.end);
        for at in start..end {
            let Some(bin) = track.bins.get(at) else { break };
            let (names, counter) = (track.bin_names.get(at), track.counters.get(at).copied());
            self.add_part(bin.number >> by, &Part { rows: bin.rows, most: bin.most, names, counter }, measure);
        }
    }

    fn coarsen(&mut self, by: u8, measure: Measure) {
        self.close();
        let fine = std::mem::take(&mut self.track);
        self.track = IndexTrack { key: fine.key, pid: fine.pid, ..IndexTrack::default() };
        self.track.bins.reserve(fine.bins.len() / 2 + 1);
        self.add_track(&fine, 0..u64::MAX, by, measure);
    }
}

/// Adds rows and blocks to one block.
#[derive(Debug)]
pub struct IndexBuilder {
    shift: u8,
    /// What all that was added knows; none before anything was added.
    measure: Option<Measure>,
    bounded: bool,
    tracks: Vec<Filling>,
    by_key: IdMap<u64, u32>,
    dropped_tracks: u64,
}

impl IndexBuilder {
    /// Bins of 2^shift nanoseconds, however many that makes.
    pub fn new(shift: u8) -> Self {
        Self {
            shift: shift.min(63),
            measure: None,
            bounded: false,
            tracks: Vec::new(),
            by_key: IdMap::default(),
            dropped_tracks: 0,
        }
    }

    /// Bins of at least 2^shift nanoseconds, made longer where there would be too many for a block.
    pub(super) fn bounded(shift: u8) -> Self {
        Self { bounded: true, ..Self::new(shift) }
    }

    /// Bins are 2^shift nanoseconds long.
    pub fn shift(&self) -> u8 {
        self.shift
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }

    /// Where the track with this key is; it is made if it is not there.
    fn track(&mut self, key: u64, pid: u64) -> usize {
        let next = self.tracks.len() as u32;
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            let track = IndexTrack { key, pid, ..IndexTrack::default() };
            self.tracks.push(Filling { track, open: usize::MAX, names: Vec::new() });
        }
        index as usize
    }

    /// What is known of all after something that knows `added`. Whether the longest row is known can change from block to
    /// block; what else bins are does not.
    fn learn(&mut self, added: Measure) -> Measure {
        let measure = match self.measure {
            None | Some(Measure::Longest) => added,
            Some(known) => known,
        };
        self.measure = Some(measure);
        measure
    }

    /// Adds rows of a chunk: those with an index in `rows`, ascending. The [`index_columns`](super::index_columns) must be
    /// there; rows without them are left out, and all of a stream that has no such tracks.
    pub fn add_rows(
        &mut self,
        schema: &StreamSchema,
        grouping: Grouping,
        batch: &Batch,
        rows: impl Iterator<Item = usize>,
    ) {
        let Some(source) = Rows::new(schema, grouping, batch) else { return };
        let (measure, shift) = (self.learn(source.measure()), self.shift);
        // The tracks of rows before, by the low bits of their keys: most rows are of one of them.
        let mut near = [(0_u64, usize::MAX); NEAR];
        source.for_each(rows, |time, row| {
            let slot = (row.key % NEAR as u64) as usize;
            let at = match near.get(slot) {
                Some((known, at)) if *known == row.key && *at != usize::MAX => *at,
                _ => self.track(row.key, row.pid),
            };
            if let Some(slot) = near.get_mut(slot) {
                *slot = (row.key, at);
            }
            let Some(filling) = self.tracks.get_mut(at) else { return };
            filling.add_row(time >> shift, &row, measure);
            if let Some(comm) = row.comm {
                filling.track.names.add(comm, 1);
            }
        });
    }

    /// Adds the bins of a block that begin in `bins` (numbers of this builder's bins).
    pub fn add_block(&mut self, block: &IndexBlock, bins: std::ops::Range<u64>) {
        if block.shift > self.shift {
            self.coarsen(block.shift - self.shift);
        }
        let measure = self.learn(block.measure);
        let by = self.shift - block.shift;
        for track in &block.tracks {
            let inside = |bin: &IndexBin| bins.contains(&(bin.number >> by));
            let first = track.bins.partition_point(|bin| bin.number >> by < bins.start);
            if !track.bins.get(first).is_some_and(inside) {
                continue;
            }
            let at = self.track(track.key, track.pid);
            if let Some(filling) = self.tracks.get_mut(at) {
                filling.add_track(track, bins.clone(), by, measure);
            }
        }
        self.dropped_tracks = self.dropped_tracks.saturating_add(block.dropped_tracks);
        if self.bounded {
            self.keep_bounds();
        }
    }

    fn coarsen(&mut self, by: u8) {
        let measure = self.measure.unwrap_or_default();
        self.tracks.iter_mut().for_each(|track| track.coarsen(by, measure));
        self.shift += by;
    }

    fn keep_bounds(&mut self) {
        if self.tracks.len() > 2 * MAX_BLOCK_TRACKS {
            self.keep_busiest();
        }
        loop {
            let bins: usize = self.tracks.iter().map(|filling| filling.track.bins.len()).sum();
            if (bins <= MAX_BLOCK_BINS && self.has_few_bins()) || self.shift >= 63 {
                return;
            }
            self.coarsen(1);
        }
    }

    /// Whether the block's time has at most [`MAX_BINS`] bins with rows.
    fn has_few_bins(&self) -> bool {
        let bins = || self.tracks.iter().map(|filling| &filling.track.bins);
        let first = bins().filter_map(|bins| bins.first()).map(|bin| bin.number).min().unwrap_or(0);
        let last = bins().filter_map(|bins| bins.last()).map(|bin| bin.number).max().unwrap_or(0);
        if last.saturating_sub(first) < MAX_BINS {
            return true;
        }
        if bins().any(|bins| bins.len() as u64 > MAX_BINS) {
            return false;
        }
        let mut numbers: Vec<u64> = bins().flatten().map(|bin| bin.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len() as u64 <= MAX_BINS
    }

    fn keep_busiest(&mut self) {
        if self.tracks.len() <= MAX_BLOCK_TRACKS {
            return;
        }
        self.tracks.sort_by_key(|filling| (std::cmp::Reverse(filling.track.rows()), filling.track.key));
        self.dropped_tracks = self.dropped_tracks.saturating_add((self.tracks.len() - MAX_BLOCK_TRACKS) as u64);
        self.tracks.truncate(MAX_BLOCK_TRACKS);
        self.by_key = (0..).zip(&self.tracks).map(|(index, filling)| (filling.track.key, index)).collect();
    }

    /// What was added, as a block.
    pub fn finish(mut self) -> IndexBlock {
        if self.bounded {
            self.keep_busiest();
        }
        self.tracks.iter_mut().for_each(Filling::close);
        let mut tracks: Vec<IndexTrack> = self.tracks.into_iter().map(|filling| filling.track).collect();
        tracks.sort_unstable_by_key(|track| track.key);
        let measure = self.measure.unwrap_or_default();
        IndexBlock { shift: self.shift, measure, tracks, dropped_tracks: self.dropped_tracks }
    }
}

/// The leaves of a chunk, one for each grouping that its stream has; none for streams whose rows are no events.
pub fn leaf_blocks(schema: &StreamSchema, batch: &Batch) -> Vec<(Grouping, IndexBlock)> {
    let of_stream = Grouping::ALL.into_iter().filter(|grouping| grouping.is_of(schema));
    let mut shift = None;
    let leaf = |grouping: Grouping| {
        let rows = Rows::new(schema, grouping, batch)?;
        let shift = *shift.get_or_insert_with(|| finest(rows.times()));
        let mut builder = IndexBuilder::bounded(shift);
        builder.add_rows(schema, grouping, batch, 0..rows.times().len());
        builder.keep_bounds();
        (!builder.is_empty()).then(|| (grouping, builder.finish()))
    };
    of_stream.filter_map(leaf).collect()
}

/// The length of the finest bins, as a power of two, of which at most [`MAX_BINS`] have rows. Times are in order.
fn finest(times: &[u64]) -> u8 {
    let (first, last) = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
    let by_span = |first: u64, last: u64| {
        (0..63).find(|shift| (last >> shift).saturating_sub(first >> shift) < MAX_BINS).unwrap_or(63)
    };
    let all = by_span(first, last);
    // Where most rows are; if it is much shorter, few bins are outside of it.
    let at = |part: usize| times.get(times.len() * part / 16).copied().unwrap_or(last);
    let most = by_span(at(1), at(15));
    let bins = |shift: u8| times.chunk_by(|a, b| a >> shift == b >> shift).count() as u64;
    (most..all).find(|shift| bins(*shift) <= MAX_BINS).unwrap_or(all)
}

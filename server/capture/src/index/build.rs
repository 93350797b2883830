//! Making blocks: of rows, and of other blocks.

use crate::{Batch, ColumnData, IdMap, StreamSchema, StringId};

use super::{Grouping, IndexBin, IndexBlock, IndexTrack, MAX_BINS, MAX_BLOCK_BINS, MAX_BLOCK_TRACKS, TopNames};

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
    /// The bin with this number, which is made if it is not there. Most rows are of the last one.
    fn at(&mut self, number: u64) -> usize {
        let bins = &mut self.track.bins;
        let new = IndexBin { number, rows: 0, longest_ns: 0, names: TopNames::default() };
        match bins.last() {
            Some(last) if last.number == number => bins.len() - 1,
            Some(last) if last.number > number => {
                let at = bins.partition_point(|bin| bin.number < number);
                if bins.get(at).is_none_or(|bin| bin.number != number) {
                    bins.insert(at, new);
                }
                at
            }
            _ => {
                bins.push(new);
                bins.len() - 1
            }
        }
    }

    /// Puts the names of the open bin into it; none is open then.
    fn close(&mut self) {
        if let Some(bin) = self.track.bins.get_mut(self.open) {
            // Most frequent first: what comes later gives way.
            self.names.sort_unstable_by_key(|(name, rows)| (std::cmp::Reverse(*rows), *name));
            self.names.iter().for_each(|(name, rows)| bin.names.add(*name, *rows));
        }
        self.names.clear();
        self.open = usize::MAX;
    }

    fn add_row(&mut self, number: u64, duration_ns: u64, name: Option<StringId>) {
        if self.track.bins.get(self.open).is_none_or(|bin| bin.number != number) {
            self.close();
            self.open = self.at(number);
        }
        if let Some(bin) = self.track.bins.get_mut(self.open) {
            bin.rows += 1;
            bin.longest_ns = bin.longest_ns.max(duration_ns);
        }
        if let Some(name) = name {
            match self.names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => *rows = rows.saturating_add(1),
                None => self.names.push((name, 1)),
            }
        }
    }

    fn add_bin(&mut self, number: u64, added: &IndexBin) {
        // A bin that is put in between moves the open one.
        self.close();
        let at = self.at(number);
        if let Some(bin) = self.track.bins.get_mut(at) {
            bin.add(added);
        }
    }

    fn coarsen(&mut self, by: u8) {
        self.close();
        let mut coarse: Vec<IndexBin> = Vec::with_capacity(self.track.bins.len() / 2 + 1);
        for bin in &self.track.bins {
            let number = bin.number >> by;
            match coarse.last_mut() {
                Some(last) if last.number == number => {
                    last.add(bin);
                }
                _ => coarse.push(IndexBin { number, ..*bin }),
            }
        }
        self.track.bins = coarse;
    }
}

impl IndexBin {
    fn add(&mut self, other: &Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.names.merge(&other.names);
    }
}

/// Adds rows and blocks to one block.
#[derive(Debug)]
pub struct IndexBuilder {
    shift: u8,
    /// Whether all that was added knows how long rows took; none before anything was added.
    has_longest: Option<bool>,
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
            has_longest: None,
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

    fn track(&mut self, key: u64, pid: u64) -> Option<&mut Filling> {
        let next = self.tracks.len() as u32;
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            let track = IndexTrack { key, pid, ..IndexTrack::default() };
            self.tracks.push(Filling { track, open: usize::MAX, names: Vec::new() });
        }
        self.tracks.get_mut(index as usize)
    }

    /// The columns that rows of such a stream are added by.
    pub fn columns(schema: &StreamSchema, grouping: Grouping) -> Vec<usize> {
        let pid = (grouping == Grouping::Thread).then_some(StreamSchema::PID);
        let always = [StreamSchema::TIME, grouping.key_column(), StreamSchema::COMM];
        always.into_iter().chain(pid).chain(schema.duration_column()).collect()
    }

    /// Adds rows of a chunk: those with an index in `rows`, ascending. The [`columns`](Self::columns) must be there; rows
    /// without them are left out.
    pub fn add_rows(
        &mut self,
        schema: &StreamSchema,
        grouping: Grouping,
        batch: &Batch,
        rows: impl Iterator<Item = usize>,
    ) {
        let numbers = |column: usize| batch.columns.get(column).map_or(&[][..], ColumnData::as_u64);
        let (times, keys) = (numbers(StreamSchema::TIME), numbers(grouping.key_column()));
        let names = batch.columns.get(StreamSchema::COMM).map_or(&[][..], ColumnData::as_id);
        let pids = if grouping == Grouping::Thread { numbers(StreamSchema::PID) } else { &[] };
        let durations = schema.duration_column().map(numbers);
        self.has_longest = Some(self.has_longest.unwrap_or(true) && durations.is_some());
        let durations = durations.unwrap_or_default();
        let (named, shift) = (grouping.has_names(schema), self.shift);
        // Neighbours are often of the same track.
        let mut last: Option<(u64, usize)> = None;
        for row in rows {
            let (Some(time), Some(key)) = (times.get(row), keys.get(row)) else { continue };
            let at = match last {
                Some((known, at)) if known == *key => at,
                _ => {
                    let _made = self.track(*key, pids.get(row).copied().unwrap_or(0));
                    self.by_key.get(key).map_or(0, |index| *index as usize)
                }
            };
            last = Some((*key, at));
            let Some(filling) = self.tracks.get_mut(at) else { continue };
            let name = names.get(row).copied();
            let duration_ns = durations.get(row).copied().unwrap_or(0);
            filling.add_row(time >> shift, duration_ns, name.filter(|_| named));
            if grouping == Grouping::Thread
                && let Some(name) = name
            {
                filling.track.names.add(name, 1);
            }
        }
    }

    /// Adds the bins of a block that begin in `bins` (numbers of this builder's bins).
    pub fn add_block(&mut self, block: &IndexBlock, bins: std::ops::Range<u64>) {
        if block.shift > self.shift {
            self.coarsen(block.shift - self.shift);
        }
        self.has_longest = Some(self.has_longest.unwrap_or(true) && block.has_longest);
        let by = self.shift - block.shift;
        for track in &block.tracks {
            let inside = |bin: &&IndexBin| bins.contains(&(bin.number >> by));
            let mut found = track.bins.iter().filter(inside).peekable();
            if found.peek().is_none() {
                continue;
            }
            let Some(filling) = self.track(track.key, track.pid) else { continue };
            filling.track.names.merge(&track.names);
            found.for_each(|bin| filling.add_bin(bin.number >> by, bin));
        }
        self.dropped_tracks = self.dropped_tracks.saturating_add(block.dropped_tracks);
        if self.bounded {
            self.keep_bounds();
        }
    }

    fn coarsen(&mut self, by: u8) {
        self.tracks.iter_mut().for_each(|track| track.coarsen(by));
        self.shift += by;
    }

    fn keep_bounds(&mut self) {
        if self.tracks.len() > 2 * MAX_BLOCK_TRACKS {
            self.keep_busiest();
        }
        loop {
            let ends = self.tracks.iter().filter_map(|filling| {
                let bins = &filling.track.bins;
                Some((bins.first()?.number, bins.last()?.number))
            });
            let (first, last) = ends.fold((u64::MAX, 0), |all, one| (all.0.min(one.0), all.1.max(one.1)));
            let bins: usize = self.tracks.iter().map(|filling| filling.track.bins.len()).sum();
            if (last.saturating_sub(first) < MAX_BINS && bins <= MAX_BLOCK_BINS) || self.shift >= 63 {
                return;
            }
            self.coarsen(1);
        }
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
        let has_longest = self.has_longest == Some(true);
        IndexBlock { shift: self.shift, has_longest, tracks, dropped_tracks: self.dropped_tracks }
    }
}

/// The leaves of a chunk, one for each grouping; none for streams whose rows are no events.
pub fn leaf_blocks(schema: &StreamSchema, batch: &Batch) -> Option<[IndexBlock; 2]> {
    if !schema.has_events() {
        return None;
    }
    let times = batch.columns.get(StreamSchema::TIME).map_or(&[][..], ColumnData::as_u64);
    let (first, last) = (times.first().copied()?, times.last().copied()?);
    let shift = (0..63).find(|shift| (last >> shift) - (first >> shift) < MAX_BINS).unwrap_or(63);
    Some(Grouping::ALL.map(|grouping| {
        let mut builder = IndexBuilder::bounded(shift);
        builder.add_rows(schema, grouping, batch, 0..times.len());
        builder.keep_bounds();
        builder.finish()
    }))
}

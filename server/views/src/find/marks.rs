//! Where rows were found: by column, by track over their length, by CPU.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use bathyscope_capture::{Batch, StreamSchema};

use super::{
    Columns, FindQuery,
    place::{RowPlaces, TrackKeyOfRow, word},
};
use crate::{
    Source,
    answers::{FoundOnCpu, FoundOnTrack, FoundRows},
    source::relative,
};

/// The most tracks that rows are marked on.
const MAX_FOUND_TRACKS: usize = 2000;
/// The most numbers that runs of all tracks have.
const MAX_RUN_NUMBERS: usize = 60_000;
/// The most CPUs that rows are marked on.
const MAX_FOUND_CPUS: usize = 4096;
/// The most long rows of an answer.
const MAX_LONG_ROWS: usize = 8000;

/// A bit for each column.
#[derive(Clone, Debug, Default)]
struct ColumnBits(Vec<u64>);

impl ColumnBits {
    fn new(columns: u32) -> Self {
        Self(vec![0; columns.div_ceil(64) as usize])
    }

    /// Sets the bits from the first to the last.
    fn set(&mut self, (first, last): (u32, u32)) {
        for word in first / 64..=last / 64 {
            let from = if word == first / 64 { first % 64 } else { 0 };
            let to = if word == last / 64 { last % 64 } else { 63 };
            if let Some(bits) = self.0.get_mut(word as usize) {
                *bits |= (u64::MAX >> (63 - (to - from))) << from;
            }
        }
    }

    /// Runs of bits that are set: the first of each, and how many, by turns.
    fn runs(&self, columns: u32) -> Vec<u32> {
        let is_set =
            |column: u32| self.0.get((column / 64) as usize).is_some_and(|word| word >> (column % 64) & 1 == 1);
        let mut runs = Vec::new();
        let mut begin = None;
        for column in 0..=columns {
            match (column < columns && is_set(column), begin) {
                (true, None) => begin = Some(column),
                (false, Some(first)) => {
                    runs.extend([first, column - first]);
                    begin = None;
                }
                _ => {}
            }
        }
        runs
    }
}

/// What was found on a track.
#[derive(Clone, Debug, Default)]
struct TrackMarks {
    bits: ColumnBits,
    rows: u64,
    long: Vec<(u64, u64)>,
}

/// Where rows were found.
pub(super) struct Marks {
    columns: Columns,
    long_ns: Option<u64>,
    counts: Vec<u64>,
    tracks: HashMap<TrackKeyOfRow, TrackMarks>,
    cpus: BTreeMap<u64, ColumnBits>,
    /// Rows on tracks for which there was no room.
    more: u64,
    long_rows: usize,
    /// Long rows for which there was no room.
    more_long: u64,
}

impl Marks {
    pub(super) fn new(columns: Columns, query: &FindQuery) -> Self {
        Self {
            columns,
            long_ns: query.long_ns,
            counts: vec![0; columns.count as usize],
            tracks: HashMap::new(),
            cpus: BTreeMap::new(),
            more: 0,
            long_rows: 0,
            more_long: 0,
        }
    }

    /// Marks a row over its length; whether its time is in the range, so that it counts.
    pub(super) fn add(&mut self, places: &RowPlaces, batch: &Batch, row: usize) -> bool {
        let time_ns = word(batch, StreamSchema::TIME, row);
        let counts = self.columns.range.contains(time_ns);
        if counts {
            let column = self.columns.of(time_ns);
            if let Some(count) = self.counts.get_mut(column as usize) {
                *count += 1;
            }
            self.mark_cpu(word(batch, StreamSchema::CPU, row), column);
        }
        let times = places.times_of(batch, row);
        // What has no length, and what ends where the range begins, is at its time.
        let marked = self
            .columns
            .of_time(times)
            .or_else(|| counts.then(|| (self.columns.of(time_ns), self.columns.of(time_ns))));
        if let Some(marked) = marked {
            self.mark_track(places.key_of(batch, row), (marked, times), counts);
        }
        counts
    }

    fn mark_cpu(&mut self, cpu: u64, column: u32) {
        if self.cpus.len() < MAX_FOUND_CPUS || self.cpus.contains_key(&cpu) {
            let columns = self.columns.count;
            self.cpus.entry(cpu).or_insert_with(|| ColumnBits::new(columns)).set((column, column));
        }
    }

    fn mark_track(&mut self, key: TrackKeyOfRow, (columns, times): ((u32, u32), (u64, u64)), counts: bool) {
        if self.tracks.len() >= MAX_FOUND_TRACKS && !self.tracks.contains_key(&key) {
            self.more += u64::from(counts);
            return;
        }
        let count = self.columns.count;
        let track = self
            .tracks
            .entry(key)
            .or_insert_with(|| TrackMarks { bits: ColumnBits::new(count), ..TrackMarks::default() });
        track.rows += u64::from(counts);
        track.bits.set(columns);
        if self.long_ns.is_none_or(|long_ns| times.1.saturating_sub(times.0) <= long_ns) {
            return;
        }
        if self.long_rows < MAX_LONG_ROWS {
            self.long_rows += 1;
            track.long.push(times);
        } else {
            self.more_long += 1;
        }
    }

    pub(super) fn tell(self, source: &dyn Source, answer: &mut FoundRows) {
        for (column, count) in (0_u32..).zip(&self.counts).filter(|(_, count)| **count > 0) {
            answer.marked.push(column);
            answer.counts.push(*count);
        }
        let columns = self.columns.count;
        answer.cpus = self.cpus.into_iter().map(|(cpu, bits)| FoundOnCpu { cpu, runs: bits.runs(columns) }).collect();
        answer.left_out = self.more;
        answer.long_left_out = self.more_long;
        let mut tracks: Vec<(TrackKeyOfRow, TrackMarks)> = self.tracks.into_iter().collect();
        // Those with most rows first, so that what is left out is the least.
        tracks.sort_by_key(|(key, marks)| (Reverse(marks.rows), *key));
        let mut numbers = 0;
        for (key, TrackMarks { bits, rows, long }) in tracks {
            let runs = bits.runs(columns);
            if numbers + runs.len() > MAX_RUN_NUMBERS {
                answer.left_out += rows;
                continue;
            }
            numbers += runs.len();
            let origin_ns = source.origin_ns();
            let long = long.into_iter().flat_map(|(start, end)| [relative(origin_ns, start), relative(origin_ns, end)]);
            answer.tracks.push(FoundOnTrack {
                key: key.text(source),
                of_stream: key.stream(),
                runs,
                long: long.collect(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_bits() {
        let bits = |runs: &[(u32, u32)], columns| {
            let mut bits = ColumnBits::new(columns);
            runs.iter().for_each(|run| bits.set(*run));
            bits.runs(columns)
        };
        assert_eq!(bits(&[(0, 2), (4, 4)], 5), [0, 3, 4, 1]);
        assert_eq!(bits(&[(63, 65)], 66), [63, 3]);
        assert_eq!(bits(&[(0, 199), (3, 8)], 200), [0, 200]);
        assert_eq!(bits(&[(64, 127)], 200), [64, 64]);
        assert!(bits(&[], 64).is_empty());
    }
}

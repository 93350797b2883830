//! Blocks as bytes.
//!
//! All numbers are little endian: magic `BIDX`, version (2 bytes, 1), shift (1), what bins know (1; 0 nothing, 1 their
//! longest row, 2 that and its name, 3 values of a counter), CRC-32 of all else (4). Then
//! how many tracks there are and how many were dropped (8 bytes each), and lists of numbers one after another: of the tracks
//! their keys, pids, counts of bins and counts of names; then all their names and the names' rows; of the bins how far each
//! is from the one before it in its track (the first from the block's first), their rows, unless nothing is known how long the
//! longest took or the greatest value, of counters the least and the last value, and counts of names; then all names and the
//! names' rows. The lengths of the lists follow from the counts.
//!
//! Lists are coded as `lists.rs` describes them.

use crate::{
    ChunkError, StringId,
    codec::{Encoder, MAX_CHUNK_ROWS},
    lists::{ListReader, crc_of, put_list},
    reader::{Reader, damaged},
};

use super::{CounterBin, IndexBin, IndexBlock, IndexTrack, MAX_BLOCK_BINS, MAX_BLOCK_TRACKS, Measure, TOP, TopNames};

const MAGIC: [u8; 4] = *b"BIDX";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 12;
/// The most bytes of a block: as many as there are if nothing of it can be compressed.
pub const MAX_INDEX_BYTES: usize = 64 + (MAX_BLOCK_TRACKS * (4 + 2 * TOP) + MAX_BLOCK_BINS * (6 + 2 * TOP)) * 9;

impl IndexBlock {
    /// The block as bytes, at most [`MAX_INDEX_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        let bins = || self.tracks.iter().flat_map(|track| &track.bins);
        let mut lists = Lists { encoder: Encoder::new(), out: Vec::new() };
        lists.out.extend_from_slice(&(self.tracks.len() as u64).to_le_bytes());
        lists.out.extend_from_slice(&self.dropped_tracks.to_le_bytes());
        lists.put(self.tracks.iter().map(|track| track.key).collect());
        lists.put(self.tracks.iter().map(|track| track.pid).collect());
        lists.put(self.tracks.iter().map(|track| track.bins.len() as u64).collect());
        lists.put_names(self.tracks.iter().map(|track| &track.names));
        lists.put(self.distances());
        lists.put(bins().map(|bin| bin.rows).collect());
        if self.measure != Measure::Nothing {
            lists.put(bins().map(|bin| bin.most).collect());
        }
        if self.measure == Measure::Values {
            let counters = || self.tracks.iter().flat_map(|track| &track.counters);
            lists.put(counters().map(|counter| counter.least).collect());
            lists.put(counters().map(|counter| counter.last).collect());
        }
        let names_of = |track: &IndexTrack| (0..track.bins.len()).map(|at| track.names_at(at)).collect::<Vec<_>>();
        let names: Vec<TopNames> = self.tracks.iter().flat_map(names_of).collect();
        lists.put_names(names.iter());
        let mut bytes = Vec::with_capacity(HEAD_BYTES + lists.out.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[self.shift, measure_tag(self.measure)]);
        let crc = crc_of(&bytes, &lists.out);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.append(&mut lists.out);
        bytes
    }

    /// How far each bin is from the one before; a track's first from the first bin of all, which stands in front.
    fn distances(&self) -> Vec<u64> {
        let first = self.tracks.iter().filter_map(|track| track.bins.first()).map(|bin| bin.number).min().unwrap_or(0);
        let mut distances = vec![first];
        for track in &self.tracks {
            let mut before = first;
            for bin in &track.bins {
                distances.push(bin.number - before);
                before = bin.number;
            }
        }
        distances
    }

    /// The block that was encoded.
    ///
    /// # Errors
    /// If the bytes are damaged. Never panics, and allocates no more than the largest block needs.
    pub fn decode(bytes: &[u8]) -> Result<Self, ChunkError> {
        let mut reader = Reader { bytes, offset: 0 };
        if reader.array()? != MAGIC || u16::from_le_bytes(reader.array()?) != VERSION {
            return Err(damaged(0, "it does not begin as a block of the index"));
        }
        let [shift, tag] = reader.array()?;
        let measure = measure_of(tag).filter(|_| shift <= 63);
        let measure =
            measure.ok_or(damaged(6, "the length of its bins is out of range, or what they know is not known"))?;
        let crc = u32::from_le_bytes(reader.array()?);
        let (head, body) = (bytes.get(..HEAD_BYTES - 4), bytes.get(HEAD_BYTES..));
        if crc_of(head.unwrap_or_default(), body.unwrap_or_default()) != crc {
            return Err(damaged(8, "the checksum of a block of the index is wrong"));
        }
        let count = u64::from_le_bytes(reader.array()?);
        let dropped_tracks = u64::from_le_bytes(reader.array()?);
        let count = usize::try_from(count).ok().filter(|count| *count <= MAX_CHUNK_ROWS);
        let count = count.ok_or(damaged(HEAD_BYTES, "it has too many tracks"))?;
        let mut lists = Parsed { lists: ListReader::new(reader) };
        let tracks = lists.tracks(count, measure)?;
        lists.lists.end()?;
        Ok(Self { shift, measure, tracks, dropped_tracks })
    }
}

const fn measure_tag(measure: Measure) -> u8 {
    match measure {
        Measure::Nothing => 0,
        Measure::Longest => 1,
        Measure::LongestNamed => 2,
        Measure::Values => 3,
    }
}

const fn measure_of(tag: u8) -> Option<Measure> {
    match tag {
        0 => Some(Measure::Nothing),
        1 => Some(Measure::Longest),
        2 => Some(Measure::LongestNamed),
        3 => Some(Measure::Values),
        _ => None,
    }
}

struct Lists {
    encoder: Encoder,
    out: Vec<u8>,
}

impl Lists {
    fn put(&mut self, list: Vec<u64>) {
        put_list(&mut self.encoder, &mut self.out, &list);
    }

    fn put_names<'a>(&mut self, names: impl Iterator<Item = &'a TopNames> + Clone) {
        self.put(names.clone().map(|names| names.iter().count() as u64).collect());
        self.put(names.clone().flat_map(TopNames::iter).map(|(name, _)| u64::from(name)).collect());
        self.put(names.flat_map(TopNames::iter).map(|(_, rows)| u64::from(rows)).collect());
    }
}

struct Parsed<'a> {
    lists: ListReader<'a>,
}

impl Parsed<'_> {
    fn list(&mut self, length: usize) -> Result<Vec<u64>, ChunkError> {
        self.lists.list(length)
    }

    /// Lengths of lists whose sum is at most `most`.
    fn lengths(&mut self, length: usize, most: usize) -> Result<(Vec<usize>, usize), ChunkError> {
        let at = self.lists.reader.offset;
        let lengths = self.list(length)?.into_iter().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let lengths: Vec<usize> = lengths.collect();
        let sum = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        match sum.filter(|sum| *sum <= most) {
            Some(sum) => Ok((lengths, sum)),
            None => Err(damaged(at, "it has more bins or names than a block can have")),
        }
    }

    fn names(&mut self, count: usize) -> Result<Vec<TopNames>, ChunkError> {
        let at = self.lists.reader.offset;
        let (lengths, sum) = self.lengths(count, count.saturating_mul(TOP))?;
        let (ids, rows) = (self.list(sum)?, self.list(sum)?);
        if ids.iter().chain(&rows).any(|number| *number > u64::from(u32::MAX)) {
            return Err(damaged(at, "a name does not fit"));
        }
        let (mut all, mut from) = (vec![TopNames::default(); count], 0);
        for (names, length) in all.iter_mut().zip(lengths) {
            let pairs = ids.iter().zip(&rows).skip(from).take(length);
            for (place, (id, rows)) in names.0.iter_mut().zip(pairs) {
                *place = (*id as StringId, *rows as u32);
            }
            if length > TOP {
                return Err(damaged(at, "a bin has more names than are kept"));
            }
            from += length;
        }
        Ok(all)
    }

    fn tracks(&mut self, count: usize, measure: Measure) -> Result<Vec<IndexTrack>, ChunkError> {
        let (keys, pids) = (self.list(count)?, self.list(count)?);
        let (lengths, sum) = self.lengths(count, MAX_BLOCK_BINS)?;
        let names = self.names(count)?;
        let at = self.lists.reader.offset;
        let distances = self.list(sum + 1)?;
        let mut bins = Bins { first: distances.first().copied().unwrap_or(0), ..self.bins(&distances, measure)? };
        let mut tracks = Vec::with_capacity(count);
        for (((key, pid), length), names) in keys.into_iter().zip(pids).zip(lengths).zip(names) {
            let mut track = IndexTrack { key, pid, names, ..IndexTrack::default() };
            bins.take(length, &mut track).map_err(|what| damaged(at, what))?;
            tracks.push(track);
        }
        if !tracks.is_sorted_by(|a, b| a.key < b.key) {
            return Err(damaged(at, "the tracks are not in order"));
        }
        Ok(tracks)
    }

    /// What is known of all bins; `distances` has one number more than there are bins.
    fn bins<'d>(&mut self, distances: &'d [u64], measure: Measure) -> Result<Bins<'d>, ChunkError> {
        let distances = distances.get(1..).unwrap_or_default();
        let count = distances.len();
        let mut list = |wanted: bool| if wanted { self.list(count) } else { Ok(Vec::new()) };
        let rows = list(true)?;
        let most = list(measure != Measure::Nothing)?;
        let (least, last) = (list(measure == Measure::Values)?, list(measure == Measure::Values)?);
        let names = self.names(count)?;
        // Blocks of events by thread have names nowhere.
        let has_names = names.iter().any(|names| names.first().is_some());
        Ok(Bins {
            first: 0,
            distances,
            rows,
            most,
            least,
            last,
            names: if has_names { names } else { Vec::new() },
            from: 0,
        })
    }
}

/// All bins of a block, one track after another.
struct Bins<'a> {
    first: u64,
    distances: &'a [u64],
    rows: Vec<u64>,
    most: Vec<u64>,
    least: Vec<u64>,
    last: Vec<u64>,
    names: Vec<TopNames>,
    /// How many are of earlier tracks.
    from: usize,
}

impl Bins<'_> {
    /// Gives a track its bins.
    fn take(&mut self, length: usize, track: &mut IndexTrack) -> Result<(), &'static str> {
        fn of<T>(all: &[T], from: usize, length: usize) -> &[T] {
            all.get(from..).map_or(&[], |rest| rest.get(..length).unwrap_or(rest))
        }
        let (from, mut number) = (self.from, self.first);
        self.from += length;
        let distances = of(self.distances, from, length);
        if distances.iter().skip(1).any(|distance| *distance == 0) {
            return Err("a bin is there twice");
        }
        let rows = of(&self.rows, from, length);
        let most = of(&self.most, from, length).iter().copied().chain(std::iter::repeat(0));
        track.bins.reserve(distances.len());
        for ((distance, rows), most) in distances.iter().zip(rows).zip(most) {
            number = number.checked_add(*distance).ok_or("a bin is after the end of time")?;
            track.bins.push(IndexBin { number, rows: *rows, most });
        }
        track.bin_names = of(&self.names, from, length).to_vec();
        let values = of(&self.least, from, length).iter().zip(of(&self.last, from, length));
        track.counters = values.map(|(least, last)| CounterBin { least: *least, last: *last }).collect();
        Ok(())
    }
}

//! Blocks as bytes.
//!
//! All numbers are little endian: magic `BIDX`, version (2 bytes, 1), shift (1), whether bins know their longest row (1; 0
//! or 1), CRC-32 of all else (4). Then
//! how many tracks there are and how many were dropped (8 bytes each), and lists of numbers one after another: of the tracks
//! their keys, pids, counts of bins and counts of names; then all their names and the names' rows; of the bins how far each
//! is from the one before it in its track (the first from the block's first), their rows, how long the longest took if that
//! is known, and counts of names; then all names and the names' rows. The lengths of the lists follow from the counts.
//!
//! A list is cut into pieces of 65,536 numbers, each coded as a column of a chunk is: flags and width (1 byte each), two
//! zeroes, length of the body (4), base and step (8 each), body.

use crate::{
    ChunkError, StringId,
    chunk::{
        MAX_CHUNK_ROWS, Reader,
        codec::{Coding, Decoder, Encoder},
        damaged,
    },
};

use super::{IndexBin, IndexBlock, IndexTrack, MAX_BLOCK_BINS, MAX_BLOCK_TRACKS, TOP, TopNames};

const MAGIC: [u8; 4] = *b"BIDX";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 12;
/// The most bytes of a block: as many as there are if nothing of it can be compressed.
pub const MAX_INDEX_BYTES: usize = 64 + (MAX_BLOCK_TRACKS * (4 + 2 * TOP) + MAX_BLOCK_BINS * (4 + 2 * TOP)) * 9;

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
        if self.has_longest {
            lists.put(bins().map(|bin| bin.longest_ns).collect());
        }
        lists.put_names(bins().map(|bin| &bin.names));
        let mut bytes = Vec::with_capacity(HEAD_BYTES + lists.out.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[self.shift, u8::from(self.has_longest)]);
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
        let [shift, has_longest] = reader.array()?;
        if shift > 63 || has_longest > 1 {
            return Err(damaged(6, "the length of its bins is out of range, or what they know is not known"));
        }
        let has_longest = has_longest == 1;
        let crc = u32::from_le_bytes(reader.array()?);
        let (head, body) = (bytes.get(..HEAD_BYTES - 4), bytes.get(HEAD_BYTES..));
        if crc_of(head.unwrap_or_default(), body.unwrap_or_default()) != crc {
            return Err(damaged(8, "the checksum of a block of the index is wrong"));
        }
        let count = u64::from_le_bytes(reader.array()?);
        let dropped_tracks = u64::from_le_bytes(reader.array()?);
        let count = usize::try_from(count).ok().filter(|count| *count <= MAX_CHUNK_ROWS);
        let count = count.ok_or(damaged(HEAD_BYTES, "it has too many tracks"))?;
        let mut lists = Parsed { reader, decoder: Decoder::new() };
        let tracks = lists.tracks(count, has_longest)?;
        if lists.reader.offset != bytes.len() {
            return Err(damaged(lists.reader.offset, "there is more than the lists"));
        }
        Ok(Self { shift, has_longest, tracks, dropped_tracks })
    }
}

fn crc_of(head: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(body);
    hasher.finalize()
}

struct Lists {
    encoder: Encoder,
    out: Vec<u8>,
}

impl Lists {
    fn put(&mut self, list: Vec<u64>) {
        for piece in list.chunks(MAX_CHUNK_ROWS) {
            let (coding, body) = self.encoder.encode(piece);
            self.out.extend_from_slice(&[coding.flags(), coding.width, 0, 0]);
            // A piece has at most 512 KiB.
            self.out.extend_from_slice(&(body.len() as u32).to_le_bytes());
            self.out.extend_from_slice(&coding.base.to_le_bytes());
            self.out.extend_from_slice(&coding.step.to_le_bytes());
            self.out.extend_from_slice(&body);
        }
    }

    fn put_names<'a>(&mut self, names: impl Iterator<Item = &'a TopNames> + Clone) {
        self.put(names.clone().map(|names| names.iter().count() as u64).collect());
        self.put(names.clone().flat_map(TopNames::iter).map(|(name, _)| u64::from(name)).collect());
        self.put(names.flat_map(TopNames::iter).map(|(_, rows)| u64::from(rows)).collect());
    }
}

struct Parsed<'a> {
    reader: Reader<'a>,
    decoder: Decoder,
}

impl Parsed<'_> {
    /// The next list, of `length` numbers.
    fn list(&mut self, length: usize) -> Result<Vec<u64>, ChunkError> {
        let mut list = Vec::new();
        while list.len() < length {
            let rows = (length - list.len()).min(MAX_CHUNK_ROWS);
            let at = self.reader.offset;
            let [flags, width, _, _] = self.reader.array()?;
            let bytes = u32::from_le_bytes(self.reader.array()?);
            let base = u64::from_le_bytes(self.reader.array()?);
            let step = u64::from_le_bytes(self.reader.array()?);
            let coding = Coding::from_parts(flags, width, base, step);
            let coding = coding.ok_or(damaged(at, "the coding of a list is not known"))?;
            let body = self.reader.slice(bytes as usize)?;
            list.extend(self.decoder.decode(&coding, rows, body).map_err(|what| damaged(at, what))?);
        }
        Ok(list)
    }

    /// Lengths of lists whose sum is at most `most`.
    fn lengths(&mut self, length: usize, most: usize) -> Result<(Vec<usize>, usize), ChunkError> {
        let at = self.reader.offset;
        let lengths = self.list(length)?.into_iter().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let lengths: Vec<usize> = lengths.collect();
        let sum = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        match sum.filter(|sum| *sum <= most) {
            Some(sum) => Ok((lengths, sum)),
            None => Err(damaged(at, "it has more bins or names than a block can have")),
        }
    }

    fn names(&mut self, count: usize) -> Result<Vec<TopNames>, ChunkError> {
        let at = self.reader.offset;
        let (lengths, sum) = self.lengths(count, count.saturating_mul(TOP))?;
        let (ids, rows) = (self.list(sum)?, self.list(sum)?);
        let narrow = |number: u64| u32::try_from(number).map_err(|_large| damaged(at, "a name does not fit"));
        let mut pairs = ids.into_iter().zip(rows);
        let mut all = Vec::with_capacity(lengths.len());
        for length in lengths {
            let mut names = TopNames::default();
            for (id, rows) in pairs.by_ref().take(length) {
                let name: StringId = narrow(id)?;
                names.add(name, narrow(rows)?);
            }
            all.push(names);
        }
        Ok(all)
    }

    fn tracks(&mut self, count: usize, has_longest: bool) -> Result<Vec<IndexTrack>, ChunkError> {
        let (keys, pids) = (self.list(count)?, self.list(count)?);
        let (lengths, sum) = self.lengths(count, MAX_BLOCK_BINS)?;
        let names = self.names(count)?;
        let at = self.reader.offset;
        let distances = self.list(sum + 1)?;
        let first = distances.first().copied().unwrap_or(0);
        let rows = self.list(sum)?;
        let longest = if has_longest { self.list(sum)? } else { vec![0; sum] };
        let of_bins = self.names(sum)?;
        let mut bins = distances.into_iter().skip(1).zip(rows).zip(longest).zip(of_bins);
        let mut tracks = Vec::with_capacity(count);
        for (((key, pid), length), names) in keys.into_iter().zip(pids).zip(lengths).zip(names) {
            let mut track = IndexTrack { key, pid, names, bins: Vec::with_capacity(length) };
            let mut number = first;
            for (((distance, rows), longest_ns), names) in bins.by_ref().take(length) {
                number = number.checked_add(distance).ok_or(damaged(at, "a bin is after the end of time"))?;
                if distance == 0 && !track.bins.is_empty() {
                    return Err(damaged(at, "a bin is there twice"));
                }
                track.bins.push(IndexBin { number, rows, longest_ns, names });
            }
            tracks.push(track);
        }
        if !tracks.is_sorted_by(|a, b| a.key < b.key) {
            return Err(damaged(at, "the tracks are not in order"));
        }
        Ok(tracks)
    }
}

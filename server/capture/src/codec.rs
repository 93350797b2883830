//! One column as bytes: offsets or differences, in planes, compressed.

use std::cell::RefCell;

use crate::{ColumnData, ColumnType};

/// The most rows in a chunk.
pub const MAX_CHUNK_ROWS: usize = 1 << 16;
/// Level 1 is four times as fast as level 9 and loses 1 % (measured on scheduler events).
const ZSTD_LEVEL: i32 = 1;
/// Rows on which both codings are tried; in a larger column, a quarter of them from each of four places.
const SAMPLE_ROWS: usize = 4096;
const DIFFERENCES: u8 = 1;
const COMPRESSED: u8 = 2;

/// How a column is coded; the description of chunks has the meaning of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) differences: bool,
    pub(crate) compressed: bool,
    pub(crate) width: u8,
    pub(crate) base: u64,
    pub(crate) step: u64,
}

impl Coding {
    pub(crate) const fn flags(&self) -> u8 {
        (if self.differences { DIFFERENCES } else { 0 }) | (if self.compressed { COMPRESSED } else { 0 })
    }

    pub(crate) const fn from_parts(flags: u8, width: u8, base: u64, step: u64) -> Option<Self> {
        if flags & !(DIFFERENCES | COMPRESSED) != 0 || width > 8 {
            return None;
        }
        let (differences, compressed) = (flags & DIFFERENCES != 0, flags & COMPRESSED != 0);
        Some(Self { differences, compressed, width, base, step })
    }
}

/// The sign bit: adding it puts signed values in the order of unsigned ones.
const SIGN: u64 = 1 << 63;

/// The values of a column as unsigned words.
pub(crate) fn to_words(data: &ColumnData) -> Vec<u64> {
    match data {
        ColumnData::U64(values) => values.clone(),
        ColumnData::I64(values) => values.iter().map(|value| value.cast_unsigned() ^ SIGN).collect(),
        ColumnData::Id(values) => values.iter().map(|value| u64::from(*value)).collect(),
    }
}

/// The column that [`to_words`] made these words of; none if an id does not fit.
pub(crate) fn from_words(ty: ColumnType, words: Vec<u64>) -> Option<ColumnData> {
    match ty {
        ColumnType::U64 => Some(ColumnData::U64(words)),
        ColumnType::I64 => Some(ColumnData::I64(words.into_iter().map(|word| (word ^ SIGN).cast_signed()).collect())),
        ColumnType::Text | ColumnType::Stack => {
            let ids: Result<Vec<u32>, _> = words.into_iter().map(u32::try_from).collect();
            ids.ok().map(ColumnData::Id)
        }
    }
}

/// Encodes columns, with one compressor and the same memory for all of them.
pub(crate) struct Encoder {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    /// Offsets or differences of what is encoded.
    rest: Vec<u64>,
    planes: Vec<u8>,
}

impl Encoder {
    /// An encoder. Without memory for a compressor, columns are stored uncompressed.
    pub(crate) fn new() -> Self {
        Self { compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL).ok(), rest: Vec::new(), planes: Vec::new() }
    }

    /// Does `work` with the encoder of this thread: to make one takes as long as to encode some columns.
    pub(crate) fn of_thread<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        thread_local! {
            static OF_THREAD: RefCell<Option<Encoder>> = const { RefCell::new(None) };
        }
        // It is not there while it is used: what would want one within gets another.
        let mut encoder = OF_THREAD.take().unwrap_or_else(Self::new);
        let done = work(&mut encoder);
        OF_THREAD.set(Some(encoder));
        done
    }

    /// The smaller coding of these words and its body.
    pub(crate) fn encode(&mut self, words: &[u64]) -> (Coding, Vec<u8>) {
        if words.len() > SAMPLE_ROWS {
            let sample = sample(words);
            let differences = self.with(&sample, true).1.len() < self.with(&sample, false).1.len();
            return self.with(words, differences);
        }
        let (offsets, differences) = (self.with(words, false), self.with(words, true));
        if differences.1.len() < offsets.1.len() { differences } else { offsets }
    }

    /// The coding of these words by differences or by offsets, and its body.
    pub(crate) fn with(&mut self, words: &[u64], differences: bool) -> (Coding, Vec<u8>) {
        let rest = &mut self.rest;
        let (base, step) = if differences { to_differences(words, rest) } else { to_offsets(words, rest) };
        let width = width_of(rest);
        to_planes(rest, width, &mut self.planes);
        let coding = Coding { differences, compressed: false, width, base, step };
        let planes = std::mem::take(&mut self.planes);
        let coded = match self.compress(&planes) {
            Some(smaller) => (Coding { compressed: true, ..coding }, smaller),
            None => (coding, planes.clone()),
        };
        self.planes = planes;
        coded
    }

    /// The compressed bytes if they are fewer.
    pub(crate) fn compress(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let compressed = self.compressor.as_mut()?.compress(bytes).ok()?;
        (compressed.len() < bytes.len()).then_some(compressed)
    }
}

/// Runs of rows from four places, so that a quiet beginning does not decide for the rest.
fn sample(words: &[u64]) -> Vec<u64> {
    let run = SAMPLE_ROWS / 4;
    let places = [0, words.len() / 4, words.len() / 2, words.len() - run];
    places.iter().flat_map(|at| words.iter().skip(*at).take(run).copied()).collect()
}

/// Base and step; what is left goes to `rest`.
fn to_offsets(words: &[u64], rest: &mut Vec<u64>) -> (u64, u64) {
    let base = words.iter().copied().min().unwrap_or(0);
    rest.clear();
    rest.extend(words.iter().map(|word| word - base));
    (base, 0)
}

/// As [`to_offsets`].
fn to_differences(words: &[u64], rest: &mut Vec<u64>) -> (u64, u64) {
    let base = words.first().copied().unwrap_or(0);
    let differences = || words.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed());
    let step = differences().min().unwrap_or(0);
    rest.clear();
    rest.push(0);
    rest.extend(differences().map(|difference| difference.wrapping_sub(step).cast_unsigned()));
    (base, step.cast_unsigned())
}

/// The bytes that the largest of these words needs, 0 to 8.
fn width_of(words: &[u64]) -> u8 {
    let bits = u64::BITS - words.iter().fold(0, |all, word| all | word).leading_zeros();
    u8::try_from(bits.div_ceil(8)).unwrap_or(8)
}

fn to_planes(words: &[u64], width: u8, planes: &mut Vec<u8>) {
    planes.clear();
    for plane in 0..width {
        planes.extend(words.iter().map(|word| (word >> (8 * plane)) as u8));
    }
}

fn from_planes(planes: &[u8], rows: usize) -> Vec<u64> {
    let mut words = vec![0; rows];
    for (index, plane) in planes.chunks_exact(rows).enumerate() {
        for (word, byte) in words.iter_mut().zip(plane) {
            *word |= u64::from(*byte) << (8 * index);
        }
    }
    words
}

/// Decodes columns, with one decompressor for all of them.
#[derive(Default)]
pub(crate) struct Decoder {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decoder {
    /// The words that were encoded to `body`.
    pub(crate) fn decode(&mut self, coding: &Coding, rows: usize, body: &[u8]) -> Result<Vec<u64>, &'static str> {
        let size = rows.min(MAX_CHUNK_ROWS) * usize::from(coding.width);
        let unpacked;
        let planes = if coding.compressed {
            unpacked = self.decompress(body, size)?;
            unpacked.as_slice()
        } else {
            body
        };
        if planes.len() != size {
            return Err("a column has not as many values as there are rows");
        }
        let mut words = from_planes(planes, rows);
        if coding.differences {
            let mut value = coding.base.wrapping_sub(coding.step);
            for word in &mut words {
                value = value.wrapping_add(coding.step).wrapping_add(*word);
                *word = value;
            }
        } else {
            words.iter_mut().for_each(|word| *word = word.wrapping_add(coding.base));
        }
        Ok(words)
    }

    /// The bytes that were compressed, which are `size` at most.
    pub(crate) fn decompress(&mut self, body: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
        const FAILED: &str = "a column cannot be decompressed";
        if self.decompressor.is_none() {
            self.decompressor = zstd::bulk::Decompressor::new().ok();
        }
        let decompressor = self.decompressor.as_mut().ok_or("there is no memory to decompress a column")?;
        // The capacity is a hard limit: a frame that says or holds more is an error, not an allocation.
        decompressor.decompress(body, size).map_err(|_zstd| FAILED)
    }
}

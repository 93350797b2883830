//! Columns of up to 64 Ki rows as one block of bytes: packed, compressed, with a CRC for each column.
//!
//! All numbers are little endian. A chunk is a head, a directory with one entry for each column of the schema, and the
//! columns' bodies one after another with nothing between or after them:
//!
//! ```text
//! head        0  4  magic "BCHK"
//!             4  2  version, 1 or 2: only in 2 a column tells another one
//!             6  2  number of columns, as in the schema
//!             8  4  rows, 1 to 65,536
//!            12  4  CRC-32 of the bytes 0 to 12 and of the whole directory
//! directory  16     28 bytes for each column:
//!             0  1  type: 1 unsigned, 2 signed, 3 text id, 4 stack id
//!             1  1  coding: bit 0 differences instead of offsets, bit 1 compressed with zstd; what another column tells:
//!                   bit 2 the value of the row before, bit 3 the time until the next row
//!             2  1  width: bytes for each value before compression, 0 to 8
//!             3  1  the number of the column that tells this one; zero for none
//!             4  4  length of the body
//!             8  8  base: what is added to each value; for differences the first value
//!            16  8  step: what is added to each difference; zero for offsets
//!            24  4  CRC-32 of the body
//! bodies            before compression: `width` planes of one byte for each row, the lowest bytes first
//! ```
//!
//! *Offsets* are `value − base`, *differences* `value − value before − step` (the first is zero), both modulo 2⁶⁴; signed
//! values are moved by 2⁶³ first, so that the base is the least of them. Planes instead of whole values put the bytes that
//! hardly change side by side, which is what makes zstd at level 1 fast and good here. Which of the two codings is smaller
//! is tried for each column on some of its rows: time wants differences, nearly everything else offsets. A column with
//! one value has width 0 and no body.
//!
//! Of a column that *another one tells* (bit 2 or 3) the values are first replaced by what they differ from what is told by
//! the other rows with the same value in that column, modulo 2⁶⁴: bit 2, the value of the last row before (0 of the first);
//! bit 3, the time of the next row less that of this one (0 of the last). So the process and the name of a thread and how
//! long its states are take next to nothing. Such a column needs the one that tells it, and for bit 3 the time; neither of these
//! is told by another one.
//!
//! Measured with `examples/chunk_sizes.rs` (12 columns of scheduler switches, full chunks, one core): 4.1 bytes a row and 8.7 M
//! rows/s in, 35 M out. Before columns were told by others 6.9 bytes and 10 M rows/s in; variable-length integers instead of planes
//! took 7.0 bytes and 7.5 M rows/s in; offsets alone 7.9 bytes.
//!
//! A reader decodes only the columns that it wants and those that tell them, and checks their CRCs, so damage in others does not
//! stop it.

mod stats;
mod told;

use std::rc::Rc;

use told::{Keys, Rule, Told};

use crate::{
    Batch, ColumnData, ColumnType, Grouping, IndexBlock, StreamSchema,
    codec::{self, MAX_CHUNK_ROWS},
    leaf_blocks,
    reader::{ChunkError, Reader, damaged},
};

pub use stats::ColumnStats;

/// The most columns in a chunk.
pub const MAX_CHUNK_COLUMNS: usize = 128;
/// The most bytes of a chunk: no smaller limit can be kept for rows that do not compress.
pub const MAX_CHUNK_BYTES: usize = HEAD_BYTES + MAX_CHUNK_COLUMNS * (ENTRY_BYTES + 8 * MAX_CHUNK_ROWS);

const MAGIC: [u8; 4] = *b"BCHK";
/// Of a chunk in which no column tells another one, and of one in which some do.
const VERSIONS: [u16; 2] = [1, 2];
const HEAD_BYTES: usize = 16;
const ENTRY_BYTES: usize = 28;
/// The head up to its CRC.
const HEAD_CHECKED_BYTES: usize = 12;

/// A chunk as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedChunk {
    /// Rows in it, at least 1.
    pub rows: u32,
    /// Time of the first row, monotonic nanoseconds.
    pub first_ns: u64,
    /// Time of the last row, monotonic nanoseconds.
    pub last_ns: u64,
    /// One for each column.
    pub stats: Vec<ColumnStats>,
    /// The encoded columns.
    pub bytes: Vec<u8>,
    /// Its leaves in the time index; none where they were not made, or for rows that are no events.
    pub leaves: Vec<(Grouping, IndexBlock)>,
}

/// One column's place in the directory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    ty: u8,
    coding: codec::Coding,
    told: Option<Told>,
    length: u32,
    crc: u32,
}

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut out = [0; ENTRY_BYTES];
        let (flags, key) = self.told.map_or((0, 0), |told| (told.flags(), told.key));
        let head = [self.ty, self.coding.flags() | flags, self.coding.width, key];
        let length = self.length.to_le_bytes();
        let (base, step) = (self.coding.base.to_le_bytes(), self.coding.step.to_le_bytes());
        let bytes = head.into_iter().chain(length).chain(base).chain(step).chain(self.crc.to_le_bytes());
        out.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        out
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ChunkError> {
        let at = reader.offset;
        let [ty, flags, width, key] = reader.array()?;
        let length = u32::from_le_bytes(reader.array()?);
        let base = u64::from_le_bytes(reader.array()?);
        let step = u64::from_le_bytes(reader.array()?);
        let crc = u32::from_le_bytes(reader.array()?);
        let told = Told::read(flags, key);
        let (told, flags) =
            told.ok_or(damaged(at + 3, "a column is told by none, or by another one without a rule"))?;
        let coding = codec::Coding::from_parts(flags, width, base, step);
        let coding = coding.ok_or(damaged(at + 1, "the coding is not known"))?;
        Ok(Self { ty, coding, told, length, crc })
    }
}

const fn type_tag(ty: ColumnType) -> u8 {
    match ty {
        ColumnType::U64 => 1,
        ColumnType::I64 => 2,
        ColumnType::Text => 3,
        ColumnType::Stack => 4,
    }
}

/// Encodes the rows of `batch`, sorted by time, at least 1 and at most [`MAX_CHUNK_ROWS`].
///
/// # Errors
/// [`ChunkError::Unfit`] if the batch has other columns than the schema, no rows, too many, or rows out of order.
pub fn encode_chunk(schema: &StreamSchema, batch: &Batch) -> Result<EncodedChunk, ChunkError> {
    codec::Encoder::of_thread(|encoder| encode_chunk_with(schema, batch, encoder))
}

fn encode_chunk_with(
    schema: &StreamSchema,
    batch: &Batch,
    encoder: &mut codec::Encoder,
) -> Result<EncodedChunk, ChunkError> {
    let times = check_batch(schema, batch)?;
    let rows = u32::try_from(times.len()).map_err(|_large| ChunkError::Unfit { what: "too many rows" })?;
    let columns =
        u16::try_from(batch.columns.len()).map_err(|_large| ChunkError::Unfit { what: "too many columns" })?;
    let mut encoder = ColumnEncoder::new(schema, times, encoder);
    let mut entries = Vec::with_capacity(batch.columns.len() * ENTRY_BYTES);
    let mut bodies = Vec::new();
    for (index, (column, data)) in schema.columns.iter().zip(&batch.columns).enumerate() {
        let (coding, told, body) = encoder.encode(batch, index, &codec::to_words(data));
        let length = u32::try_from(body.len()).map_err(|_large| ChunkError::Unfit { what: "a column is too large" })?;
        let entry = Entry { ty: type_tag(column.ty), coding, told, length, crc: crc32fast::hash(&body) };
        entries.extend_from_slice(&entry.to_bytes());
        bodies.extend_from_slice(&body);
    }
    let [plain, told] = VERSIONS;
    let version = if encoder.told.contains(&true) { told } else { plain };
    let mut bytes = Vec::with_capacity(HEAD_BYTES + entries.len() + bodies.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&columns.to_le_bytes());
    bytes.extend_from_slice(&rows.to_le_bytes());
    let crc = head_crc(&bytes, &entries);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(&entries);
    bytes.extend_from_slice(&bodies);
    let first_ns = times.first().copied().unwrap_or(0);
    let last_ns = times.last().copied().unwrap_or(0);
    let stats = batch.columns.iter().map(ColumnStats::of).collect();
    Ok(EncodedChunk { rows, first_ns, last_ns, stats, bytes, leaves: leaf_blocks(schema, batch) })
}

/// Encodes the columns of a chunk one after another.
struct ColumnEncoder<'a> {
    schema: &'a StreamSchema,
    times: &'a [u64],
    encoder: &'a mut codec::Encoder,
    /// Columns that tell others, which must not be told.
    keys: Vec<Option<Rc<Keys>>>,
    /// Columns that are told, which must not tell others.
    told: Vec<bool>,
}

impl<'a> ColumnEncoder<'a> {
    fn new(schema: &'a StreamSchema, times: &'a [u64], encoder: &'a mut codec::Encoder) -> Self {
        let columns = schema.columns.len();
        Self { schema, times, encoder, keys: vec![None; columns], told: vec![false; columns] }
    }

    fn encode(&mut self, batch: &Batch, index: usize, words: &[u64]) -> (codec::Coding, Option<Told>, Vec<u8>) {
        let Some(found) = self.differences(batch, index, words) else {
            let (coding, body) = self.encoder.encode(words);
            return (coding, None, body);
        };
        let told = self.encoder.encode(&found.words);
        if !found.is_short {
            let plain = self.encoder.encode(words);
            if plain.1.len() <= told.1.len() {
                return (plain.0, None, plain.1);
            }
        }
        if let Some(is_told) = self.told.get_mut(index) {
            *is_told = true;
        }
        (told.0, Some(found.told), told.1)
    }

    fn differences(&mut self, batch: &Batch, index: usize, words: &[u64]) -> Option<told::Differences> {
        let Self { schema, times, keys, told, .. } = self;
        if keys.get(index).is_some_and(Option::is_some) {
            return None;
        }
        told::differences(told::candidates(schema, index), words, times, |key| {
            let key = usize::from(key);
            if told.get(key).copied().unwrap_or(true) {
                return None;
            }
            let known = keys.get_mut(key)?;
            let made = || batch.columns.get(key).map(|data| Rc::new(Keys::of(&codec::to_words(data))));
            if known.is_none() {
                *known = made();
            }
            known.clone()
        })
    }
}

/// The times of a batch that can be encoded.
fn check_batch<'a>(schema: &StreamSchema, batch: &'a Batch) -> Result<&'a [u64], ChunkError> {
    let unfit = |what| Err(ChunkError::Unfit { what });
    if schema.columns.len() != batch.columns.len() {
        return unfit("the number of columns is not the schema's");
    }
    if schema.columns.len() > MAX_CHUNK_COLUMNS {
        return unfit("there are more than 128 columns");
    }
    let fits = |(column, data): (&crate::Column, &ColumnData)| ColumnData::empty(column.ty).same_kind(data);
    if !schema.columns.iter().zip(&batch.columns).all(fits) {
        return unfit("a column has not the schema's type");
    }
    let Some(ColumnData::U64(times)) = batch.columns.first() else {
        return unfit("the first column is not the time");
    };
    if times.is_empty() || times.len() > MAX_CHUNK_ROWS {
        return unfit("there are no rows or more than 65,536");
    }
    if batch.columns.iter().any(|column| column.len() != times.len()) {
        return unfit("the columns have different lengths");
    }
    if !times.is_sorted() {
        return unfit("the rows are not in order of time");
    }
    Ok(times)
}

fn head_crc(head: &[u8], directory: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(directory);
    hasher.finalize()
}

/// Decodes the columns whose index is in `wanted`; the others come back empty.
///
/// # Errors
/// If the bytes are not a chunk of this schema, or a wanted column, or one that tells it, is damaged or not in the schema. Never
/// panics, and allocates at most what [`MAX_CHUNK_ROWS`] rows of the wanted columns and of those that tell them need, three times.
pub fn decode_chunk(schema: &StreamSchema, bytes: &[u8], wanted: &[usize]) -> Result<Batch, ChunkError> {
    let mut reader = Reader { bytes, offset: 0 };
    let (rows, entries) = read_directory(schema, &mut reader)?;
    let mut batch = Batch::empty(schema);
    if wanted.iter().any(|index| *index >= batch.columns.len()) {
        return Err(damaged(0, "a column was asked for that the schema does not have"));
    }
    let mut columns = Vec::with_capacity(entries.len());
    for entry in entries {
        columns.push((entry, reader.offset, reader.slice(entry.length as usize)?));
    }
    if reader.offset != bytes.len() {
        return Err(damaged(reader.offset, "there is more than the directory says"));
    }
    let mut decoder = ColumnDecoder::new(rows, &columns);
    for index in 0..columns.len() {
        if wanted.contains(&index) {
            decoder.decode(index)?;
        }
    }
    let decoded = schema.columns.iter().zip(&mut batch.columns).zip(&columns).zip(decoder.words).enumerate();
    for (index, (((column, data), (_, at, _)), words)) in decoded {
        if let (true, Some(words)) = (wanted.contains(&index), words) {
            *data = codec::from_words(column.ty, words).ok_or(damaged(*at, "an id is larger than 32 bits"))?;
        }
    }
    Ok(batch)
}

/// Decodes columns of a chunk, each with its entry, its place and its body, and each once: one that tells others may be wanted too.
struct ColumnDecoder<'a> {
    rows: usize,
    columns: &'a [(Entry, usize, &'a [u8])],
    decoder: codec::Decoder,
    /// Words of columns that were decoded.
    words: Vec<Option<Vec<u64>>>,
    /// Keys of columns that have told one.
    keys: Vec<Option<Keys>>,
}

impl<'a> ColumnDecoder<'a> {
    fn new(rows: usize, columns: &'a [(Entry, usize, &'a [u8])]) -> Self {
        let (words, keys) = (columns.iter().map(|_| None).collect(), columns.iter().map(|_| None).collect());
        Self { rows, columns, decoder: codec::Decoder::default(), words, keys }
    }

    /// Decodes a column, and those that tell it.
    fn decode(&mut self, index: usize) -> Result<(), ChunkError> {
        if self.words_of(index).is_some() {
            return Ok(());
        }
        let (mut words, told) = self.stored(index)?;
        if let Some(Told { rule, key }) = told {
            let key = usize::from(key);
            self.decode_plain(key)?;
            if rule == Rule::UntilNext {
                self.decode_plain(0)?;
            }
            if let Some((keys, known)) = self.keys.get_mut(key).zip(self.words.get(key).and_then(Option::as_deref)) {
                let keys = keys.get_or_insert_with(|| Keys::of(known));
                let times = self.words.first().and_then(Option::as_deref).unwrap_or_default();
                rule.restore(&mut words, keys, times);
            }
        }
        if let Some(place) = self.words.get_mut(index) {
            *place = Some(words);
        }
        Ok(())
    }

    /// Decodes a column that tells others, and so is told by none.
    fn decode_plain(&mut self, index: usize) -> Result<(), ChunkError> {
        match self.columns.get(index) {
            Some((entry, _, _)) if entry.told.is_none() => self.decode(index),
            Some((_, at, _)) => Err(damaged(*at, "a column is told by one that is told itself")),
            None => Err(damaged(0, "a column is told by one that the schema does not have")),
        }
    }

    fn words_of(&self, index: usize) -> Option<&[u64]> {
        self.words.get(index).and_then(Option::as_deref)
    }

    /// What is stored of a column.
    fn stored(&mut self, index: usize) -> Result<(Vec<u64>, Option<Told>), ChunkError> {
        let missing = damaged(0, "a column was asked for that the chunk does not have");
        let Some((entry, at, body)) = self.columns.get(index) else { return Err(missing) };
        if crc32fast::hash(body) != entry.crc {
            return Err(damaged(*at, "the checksum of a column is wrong"));
        }
        let words = self.decoder.decode(&entry.coding, self.rows, body).map_err(|what| damaged(*at, what))?;
        Ok((words, entry.told))
    }
}

/// The number of rows and the directory of a chunk, checked against its own CRC and the schema.
fn read_directory(schema: &StreamSchema, reader: &mut Reader<'_>) -> Result<(usize, Vec<Entry>), ChunkError> {
    let head = reader.slice(HEAD_CHECKED_BYTES)?;
    let mut fields = Reader { bytes: head, offset: 0 };
    if fields.array()? != MAGIC {
        return Err(damaged(0, "it does not begin as a chunk"));
    }
    let version = u16::from_le_bytes(fields.array()?);
    if !VERSIONS.contains(&version) {
        return Err(damaged(4, "its version is not known"));
    }
    let columns = usize::from(u16::from_le_bytes(fields.array()?));
    let rows = u32::from_le_bytes(fields.array()?) as usize;
    if columns != schema.columns.len() || columns > MAX_CHUNK_COLUMNS {
        return Err(damaged(6, "the number of columns is not the schema's"));
    }
    if rows == 0 || rows > MAX_CHUNK_ROWS {
        return Err(damaged(8, "the number of rows is out of range"));
    }
    let crc = u32::from_le_bytes(reader.array()?);
    let directory = reader.slice(columns * ENTRY_BYTES)?;
    if head_crc(head, directory) != crc {
        return Err(damaged(HEAD_CHECKED_BYTES, "the checksum of the head is wrong"));
    }
    let mut reader = Reader { bytes: directory, offset: 0 };
    let mut entries = Vec::with_capacity(columns);
    for column in &schema.columns {
        let at = HEAD_BYTES + reader.offset;
        let entry = Entry::read(&mut reader)?;
        if entry.ty != type_tag(column.ty) {
            return Err(damaged(at, "the type of a column is not the schema's"));
        }
        if entry.told.is_some() && version == 1 {
            return Err(damaged(at, "a column is told by another one in a chunk of version 1"));
        }
        entries.push(entry);
    }
    Ok((rows, entries))
}

#[cfg(test)]
mod tests;

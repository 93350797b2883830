//! Lists of numbers one after another, as blocks of the time index and pages of tracks hold them.
//!
//! A list is cut into pieces of 65,536 numbers, each coded as a column of a chunk is: flags and width (1 byte each), two
//! zeroes, length of the body (4), base and step (8 each), body. How long a list is its reader knows.

use crate::{
    ChunkError,
    codec::{Coding, Decoder, Encoder, MAX_CHUNK_ROWS},
    reader::{Reader, damaged},
};

/// Adds a list, in the smaller of both codings.
pub(crate) fn put_list(encoder: &mut Encoder, out: &mut Vec<u8>, list: &[u64]) {
    put_pieces(out, list, |piece| encoder.encode(piece));
}

/// Adds a list by differences or by offsets, for lists of which it is known which are shorter.
pub(crate) fn put_list_as(differences: bool, encoder: &mut Encoder, out: &mut Vec<u8>, list: &[u64]) {
    put_pieces(out, list, |piece| encoder.with(piece, differences));
}

fn put_pieces(out: &mut Vec<u8>, list: &[u64], mut encode: impl FnMut(&[u64]) -> (Coding, Vec<u8>)) {
    for piece in list.chunks(MAX_CHUNK_ROWS) {
        let (coding, body) = encode(piece);
        out.extend_from_slice(&[coding.flags(), coding.width, 0, 0]);
        // A piece has at most 512 KiB.
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&coding.base.to_le_bytes());
        out.extend_from_slice(&coding.step.to_le_bytes());
        out.extend_from_slice(&body);
    }
}

/// Reads lists, with one decompressor for all of them.
pub(crate) struct ListReader<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) decoder: Decoder,
}

impl<'a> ListReader<'a> {
    pub(crate) fn new(reader: Reader<'a>) -> Self {
        Self { reader, decoder: Decoder::default() }
    }

    /// The next list, of `length` numbers.
    pub(crate) fn list(&mut self, length: usize) -> Result<Vec<u64>, ChunkError> {
        // Most lists are one piece, and are not copied.
        let mut list = if length > MAX_CHUNK_ROWS { Vec::with_capacity(length) } else { Vec::new() };
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
            let piece = self.decoder.decode(&coding, rows, body).map_err(|what| damaged(at, what))?;
            if rows == length {
                return Ok(piece);
            }
            list.extend(piece);
        }
        Ok(list)
    }

    /// The next list, of numbers of 32 bits.
    pub(crate) fn small_list(&mut self, length: usize) -> Result<Vec<u32>, ChunkError> {
        let at = self.reader.offset;
        let list: Result<Vec<u32>, _> = self.list(length)?.into_iter().map(u32::try_from).collect();
        list.map_err(|_large| damaged(at, "a number of a list is out of range"))
    }

    /// Fails if there is more.
    pub(crate) fn end(&self) -> Result<(), ChunkError> {
        let Reader { bytes, offset } = self.reader;
        if offset == bytes.len() { Ok(()) } else { Err(damaged(offset, "there is more than the lists")) }
    }
}

/// The checksum of a head and what follows it.
pub(crate) fn crc_of(head: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(body);
    hasher.finalize()
}

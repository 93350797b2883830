//! Pages of what is drawn of a track, with one width of columns: so a window is drawn from one or two pages of each track, however
//! many rows there are.
//!
//! A page has the pieces ([`super::columns`]) of [`super::PAGE_COLUMNS`] columns. There is one where it saves reading pages of rows, which is
//! where it has more than [`super::drawn_build::LEAST_ROWS`] rows; everything else is drawn from the levels of rows and sums. So
//! what is drawn never depends on whether a page is there.
//!
//! As bytes, little endian: magic `BTDP`, version (1 byte, 1), flags (1; 1 for a body that is compressed, 2 for a first piece that goes
//! on from before the page), pieces (2), until when the page has everything in units (2), looks (2), CRC-32 of all else (4). Then
//! lists: of the looks the first, the second and the third name (4 bytes each); of the pieces the low and the high bytes of the gap
//! before each in units, of its width, of its look; the number of rows as [`super::rows_code`]; two shares in one byte, and what is
//! missing of all with the third.

use super::{PIECE_NAMES, SHARE_STEPS, TrackNameId, columns::ColumnGrid};
use crate::{
    ChunkError,
    codec::{Decoder, Encoder},
    lists::crc_of,
    reader::{Reader, damaged},
};

/// The level by which pages of what is drawn are stored; rows and sums have lower ones.
pub const DRAWN_LEVEL: u8 = 12;
const MAGIC: [u8; 4] = *b"BTDP";
const VERSION: u8 = 1;
const COMPRESSED: u8 = 1;
const GOES_ON: u8 = 2;
const HEAD_BYTES: usize = 16;
const CRC_AT: usize = 12;
/// Bytes of a look and of a piece.
const LOOK_BYTES: usize = 4 * PIECE_NAMES;
const PIECE_BYTES: usize = 9;
/// The most pieces: two of each column, and one that goes on from before.
pub(super) const MAX_PIECES: usize = 2 * super::PAGE_COLUMNS as usize + 2;

/// A row, or rows that are drawn together, on a page. Times are units of the page's columns, from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawnPiece {
    /// When it begins.
    pub begin: u16,
    /// When it ends, cut at the end of the page.
    pub end: u16,
    /// Which of the page's looks it has.
    pub look: u16,
    /// How many rows it stands for, as [`super::rows_code`] tells them.
    pub rows: u8,
    /// How much of its time each of the look's names takes, in [`SHARE_STEPS`].
    pub shares: [u8; PIECE_NAMES],
}

/// What is drawn of a track in the time of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnPage {
    /// Whether the first piece goes on from before the page.
    pub goes_on: bool,
    /// Until when everything is on it, in units: what begins later may be missing.
    pub until: u16,
    /// The names of pieces.
    pub looks: Vec<[TrackNameId; PIECE_NAMES]>,
    /// In order of time.
    pub pieces: Vec<DrawnPiece>,
}

/// The number by which a page is stored among those of its track.
pub const fn drawn_number(grid: ColumnGrid, page: u64) -> u64 {
    ((grid.shift() as u64) << 56) | page
}

impl DrawnPage {
    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.looks.as_slice()) + size_of_val(self.pieces.as_slice())
    }

    /// The page as bytes.
    pub(super) fn encode_with(&self, encoder: &mut Encoder) -> Vec<u8> {
        let body = self.body();
        let compressed = encoder.compress(&body);
        let flags = if compressed.is_some() { COMPRESSED } else { 0 } | if self.goes_on { GOES_ON } else { 0 };
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[VERSION, flags]);
        for number in [self.pieces.len() as u16, self.until, self.looks.len() as u16] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let body = compressed.unwrap_or(body);
        let crc = crc_of(&bytes, &body);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(LOOK_BYTES * self.looks.len() + PIECE_BYTES * self.pieces.len());
        for place in 0..PIECE_NAMES {
            let name = |look: &[TrackNameId; PIECE_NAMES]| look.get(place).copied().unwrap_or(0).to_le_bytes();
            self.looks.iter().for_each(|look| body.extend_from_slice(&name(look)));
        }
        let mut last = 0;
        let gaps = self.pieces.iter().map(|piece| {
            let gap = piece.begin.saturating_sub(last);
            last = piece.end;
            gap
        });
        put_words(&mut body, gaps.collect());
        put_words(&mut body, self.pieces.iter().map(|piece| piece.end.saturating_sub(piece.begin)).collect());
        put_words(&mut body, self.pieces.iter().map(|piece| piece.look).collect());
        body.extend(self.pieces.iter().map(|piece| piece.rows));
        body.extend(self.pieces.iter().map(|piece| packed_shares(piece.shares)[0]));
        body.extend(self.pieces.iter().map(|piece| packed_shares(piece.shares)[1]));
        body
    }
}

/// Low bytes, then high bytes.
fn put_words(body: &mut Vec<u8>, words: Vec<u16>) {
    body.extend(words.iter().map(|word| word.to_le_bytes()[0]));
    body.extend(words.iter().map(|word| word.to_le_bytes()[1]));
}

/// Three shares in two bytes, of which the second is mostly 0: the first two, and what all of them leave.
pub fn packed_shares([first, second, third]: [u8; PIECE_NAMES]) -> [u8; 2] {
    let rest = SHARE_STEPS.saturating_sub(first.saturating_add(second).saturating_add(third));
    [first & 15 | second << 4, rest]
}

fn unpacked_shares(packed: u8, rest: u8) -> Option<[u8; PIECE_NAMES]> {
    let (first, second) = (packed & 15, packed >> 4);
    let third = SHARE_STEPS.checked_sub(first)?.checked_sub(second)?.checked_sub(rest)?;
    Some([first, second, third])
}

/// Decodes pages of what is drawn, with one decompressor for all of them.
#[derive(Default)]
pub struct DrawnDecoder {
    decoder: Decoder,
}

impl std::fmt::Debug for DrawnDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DrawnDecoder").finish_non_exhaustive()
    }
}

impl DrawnDecoder {
    /// The page that was encoded.
    ///
    /// # Errors
    /// If the bytes are damaged. Never panics, and allocates no more than the largest page needs.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<DrawnPage, ChunkError> {
        let mut reader = Reader { bytes, offset: 0 };
        if reader.array()? != MAGIC {
            return Err(damaged(0, "it does not begin as a page of what is drawn"));
        }
        let [version, flags] = reader.array()?;
        let mut number = || Ok::<_, ChunkError>(u16::from_le_bytes(reader.array()?));
        let (pieces, until, looks) = (usize::from(number()?), number()?, usize::from(number()?));
        if version != VERSION || flags & !(COMPRESSED | GOES_ON) != 0 || pieces > MAX_PIECES || looks > pieces {
            return Err(damaged(4, "the head of a page of what is drawn is out of range"));
        }
        let crc = u32::from_le_bytes(reader.array()?);
        let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
        if crc_of(bytes.get(..CRC_AT).unwrap_or_default(), body) != crc {
            return Err(damaged(CRC_AT, "the checksum of a page of what is drawn is wrong"));
        }
        let size = looks * LOOK_BYTES + pieces * PIECE_BYTES;
        let unpacked;
        let body = if flags & COMPRESSED == 0 {
            body
        } else {
            unpacked = self.decoder.decompress(body, size).map_err(|what| damaged(HEAD_BYTES, what))?;
            unpacked.as_slice()
        };
        let bad = || damaged(HEAD_BYTES, "the body of a page of what is drawn does not fit its head");
        let (names, body) = body.split_at_checked(looks * LOOK_BYTES).ok_or_else(bad)?;
        let pieces = parse_pieces(body, pieces, looks).ok_or_else(bad)?;
        Ok(DrawnPage { goes_on: flags & GOES_ON != 0, until, looks: parse_looks(names, looks), pieces })
    }
}

fn parse_looks(names: &[u8], looks: usize) -> Vec<[TrackNameId; PIECE_NAMES]> {
    let (words, _) = names.as_chunks::<4>();
    let name = |at: usize| words.get(at).map_or(0, |word| u32::from_le_bytes(*word));
    (0..looks).map(|look| [name(look), name(looks + look), name(2 * looks + look)]).collect()
}

/// None if the lists are not as long as they should be, or a number is out of range.
fn parse_pieces(body: &[u8], count: usize, looks: usize) -> Option<Vec<DrawnPiece>> {
    if count == 0 {
        return body.is_empty().then(Vec::new);
    }
    let mut lists = body.chunks_exact(count);
    let mut list = || lists.next();
    let (gap_low, gap_high) = (list()?, list()?);
    let (width_low, width_high) = (list()?, list()?);
    let (look_low, look_high) = (list()?, list()?);
    let (rows, packed, rest) = (list()?, list()?, list()?);
    if lists.next().is_some() || !lists.remainder().is_empty() {
        return None;
    }
    let mut last: u16 = 0;
    let words = |low: &'_ [u8], high: &'_ [u8]| -> Vec<u16> {
        low.iter().zip(high).map(|(low, high)| u16::from_le_bytes([*low, *high])).collect()
    };
    let (gaps, widths, of_look) = (words(gap_low, gap_high), words(width_low, width_high), words(look_low, look_high));
    let shares = packed.iter().zip(rest).map(|(packed, rest)| unpacked_shares(*packed, *rest));
    let spans = gaps.iter().zip(&widths);
    let mut pieces = Vec::with_capacity(count);
    for ((((gap, width), look), rows), shares) in spans.zip(&of_look).zip(rows).zip(shares) {
        let begin = last.checked_add(*gap)?;
        last = begin.checked_add(*width)?;
        if usize::from(*look) >= looks {
            return None;
        }
        pieces.push(DrawnPiece { begin, end: last, look: *look, rows: *rows, shares: shares? });
    }
    Some(pieces)
}

//! Pages as bytes.
//!
//! All numbers are little endian: magic `BTRK`, version (1 byte, 1), what its entries are (1; 0 for rows, 1 for sums, 2 for ends of
//! pages of rows), how many (2), CRC-32 of all else (4), the moment that the first begins (8; of ends 0). Then lists, coded as `lists.rs` describes them. Of rows: how long after the end of the one
//! before each begins, how long it took, its name. Of sums: the same two times of all that they sum up; rows; how long after
//! the beginning the longest began and how long it took; then the names of the longest and of those that took most, and
//! the times of the latter and of all others, one list after another in one column each. Of ends: the ends.

use super::{PAGE_ROWS, PAGE_SUMMARIES, TOP, TrackEntry, TrackPage, TrackSummary, ends::ENDS_OF_PAGE};
use crate::{
    ChunkError,
    codec::{Decoder, Encoder},
    lists::{ListReader, crc_of, put_list_as},
    reader::{Reader, damaged},
};

const MAGIC: [u8; 4] = *b"BTRK";
const VERSION: u8 = 1;
/// Lists of numbers of a page of sums, and columns.
const SUMMARY_LISTS: usize = 5 + 2 * (1 + TOP);
const MAX_COLUMNS: usize = 7;
/// The most bytes of a page: as many as there are if nothing of it can be compressed.
pub const MAX_TRACK_PAGE_BYTES: usize = 64 + MAX_COLUMNS * 24 + PAGE_SUMMARIES * SUMMARY_LISTS * 8;
const CHECKED_AT: usize = 12;
/// What a page's entries are.
const ROWS: u8 = 0;
const SUMMARIES: u8 = 1;
const ENDS: u8 = 2;
const BAD_NUMBER: &str = "a number of a track's page is out of range";

impl TrackPage {
    /// The page as bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(&mut Encoder::new())
    }

    pub(super) fn encode_with(&self, encoder: &mut Encoder) -> Vec<u8> {
        let (kind, count, first_ns) = match self {
            Self::Rows(rows) => (ROWS, rows.len(), rows.first().map(|row| row.begin_ns)),
            Self::Summaries(sums) => (SUMMARIES, sums.len(), sums.first().map(|sum| sum.begin_ns)),
            Self::RowPageEnds(ends) => (ENDS, ends.len(), None),
        };
        let mut out = first_ns.unwrap_or(0).to_le_bytes().to_vec();
        // Moments grow; all else are lengths and names.
        let differences = matches!(self, Self::RowPageEnds(_));
        self.columns().iter().for_each(|column| put_list_as(differences, encoder, &mut out, column));
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[VERSION, kind]);
        bytes.extend_from_slice(&(count as u16).to_le_bytes());
        let crc = crc_of(&bytes, &out);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.append(&mut out);
        bytes
    }

    fn columns(&self) -> Vec<Vec<u64>> {
        match self {
            Self::Rows(rows) => {
                let spans = rows.iter().map(|row| (row.begin_ns, row.end_ns));
                let mut columns = times(spans);
                columns.push(rows.iter().map(|row| row.name.into()).collect());
                columns
            }
            Self::Summaries(sums) => {
                let mut columns = times(sums.iter().map(|sum| (sum.begin_ns, sum.end_ns)));
                columns.push(sums.iter().map(|sum| sum.rows).collect());
                columns.push(sums.iter().map(|sum| sum.longest.begin_ns.saturating_sub(sum.begin_ns)).collect());
                columns.push(sums.iter().map(|sum| sum.longest.duration_ns()).collect());
                let top = |at: usize| sums.iter().map(move |sum| sum.top.get(at).copied().unwrap_or_default());
                let longest = sums.iter().map(|sum| sum.longest.name);
                columns.push(
                    longest.chain((0..TOP).flat_map(|at| top(at).map(|(name, _)| name))).map(u64::from).collect(),
                );
                let others = sums.iter().map(|sum| sum.other_ns);
                columns.push((0..TOP).flat_map(|at| top(at).map(|(_, time_ns)| time_ns)).chain(others).collect());
                columns
            }
            Self::RowPageEnds(ends) => vec![ends.clone()],
        }
    }

    /// The page that was encoded.
    ///
    /// # Errors
    /// If the bytes are damaged. Never panics, and allocates no more than the largest page needs.
    pub fn decode(bytes: &[u8]) -> Result<Self, ChunkError> {
        TrackPageDecoder::default().decode(bytes)
    }

    fn decode_with(bytes: &[u8], decoder: &mut Decoder) -> Result<Self, ChunkError> {
        let mut reader = Reader { bytes, offset: 0 };
        if reader.array()? != MAGIC {
            return Err(damaged(0, "it does not begin as a track's page"));
        }
        let [version, kind] = reader.array()?;
        let count = usize::from(u16::from_le_bytes(reader.array()?));
        if version != VERSION || count == 0 || count > most_entries(kind) {
            return Err(damaged(4, "the kind of a track's page or the number of its entries is out of range"));
        }
        let crc = u32::from_le_bytes(reader.array()?);
        let (head, body) = (bytes.get(..CHECKED_AT - 4), bytes.get(CHECKED_AT..));
        if crc_of(head.unwrap_or_default(), body.unwrap_or_default()) != crc {
            return Err(damaged(8, "the checksum of a track's page is wrong"));
        }
        let first_ns = u64::from_le_bytes(reader.array()?);
        let mut columns = PageReader { lists: ListReader { reader, decoder: std::mem::take(decoder) } };
        let page = match kind {
            ROWS => {
                let spans = columns.spans(first_ns, count)?;
                columns.rows(&spans)?
            }
            SUMMARIES => {
                let spans = columns.spans(first_ns, count)?;
                columns.summaries(&spans)?
            }
            _ => Self::RowPageEnds(columns.column(count)?),
        };
        columns.lists.end()?;
        *decoder = columns.lists.decoder;
        Ok(page)
    }

    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Rows(rows) => size_of_val(rows.as_slice()),
            Self::Summaries(sums) => size_of_val(sums.as_slice()),
            Self::RowPageEnds(ends) => size_of_val(ends.as_slice()),
        }
    }
}

/// The most entries of a page; none of a kind that there is not.
const fn most_entries(kind: u8) -> usize {
    match kind {
        ROWS => PAGE_ROWS,
        SUMMARIES => PAGE_SUMMARIES,
        ENDS => ENDS_OF_PAGE,
        _ => 0,
    }
}

/// How long after the end of the one before each begins, and how long each takes.
fn times(spans: impl Iterator<Item = (u64, u64)>) -> Vec<Vec<u64>> {
    let mut last_ns = None;
    let (mut gaps, mut lengths) = (Vec::new(), Vec::new());
    for (begin_ns, end_ns) in spans {
        gaps.push(begin_ns.saturating_sub(last_ns.unwrap_or(begin_ns)));
        lengths.push(end_ns.saturating_sub(begin_ns));
        last_ns = Some(end_ns);
    }
    vec![gaps, lengths]
}

/// Decodes pages, with one decompressor for all of them.
#[derive(Default)]
pub struct TrackPageDecoder {
    decoder: Decoder,
}

impl std::fmt::Debug for TrackPageDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrackPageDecoder").finish_non_exhaustive()
    }
}

impl TrackPageDecoder {
    /// The page that was encoded.
    ///
    /// # Errors
    /// As [`TrackPage::decode`].
    pub fn decode(&mut self, bytes: &[u8]) -> Result<TrackPage, ChunkError> {
        TrackPage::decode_with(bytes, &mut self.decoder)
    }
}

struct PageReader<'a> {
    lists: ListReader<'a>,
}

impl PageReader<'_> {
    fn column(&mut self, count: usize) -> Result<Vec<u64>, ChunkError> {
        self.lists.list(count)
    }

    fn spans(&mut self, first_ns: u64, count: usize) -> Result<Vec<(u64, u64)>, ChunkError> {
        let (gaps, lengths) = (self.column(count)?, self.column(count)?);
        let mut at_ns = first_ns;
        let span = |(gap, length): (u64, u64)| {
            let begin_ns = at_ns.checked_add(gap)?;
            at_ns = begin_ns.checked_add(length)?;
            Some((begin_ns, at_ns))
        };
        let spans = gaps.into_iter().zip(lengths).map(span);
        all_of(spans, count).ok_or(damaged(self.lists.reader.offset, BAD_NUMBER))
    }

    fn rows(&mut self, spans: &[(u64, u64)]) -> Result<TrackPage, ChunkError> {
        let names = self.lists.small_list(spans.len())?;
        let row =
            |((begin_ns, end_ns), name): (&(u64, u64), u32)| TrackEntry { begin_ns: *begin_ns, end_ns: *end_ns, name };
        Ok(TrackPage::Rows(spans.iter().zip(names).map(row).collect()))
    }

    fn summaries(&mut self, spans: &[(u64, u64)]) -> Result<TrackPage, ChunkError> {
        let count = spans.len();
        let rows = self.column(count)?;
        let (offsets, lengths) = (self.column(count)?, self.column(count)?);
        let names = self.lists.small_list(count * (1 + TOP))?;
        let times = self.column(count * (1 + TOP))?;
        let at = self.lists.reader.offset;
        let name = |list: usize, index: usize| names.get(list * count + index).copied().unwrap_or(0);
        let time = |list: usize, index: usize| times.get(list * count + index).copied().unwrap_or(0);
        let one = |(index, (begin_ns, end_ns)): (usize, &(u64, u64))| {
            let part = |list: &[u64]| list.get(index).copied().unwrap_or(0);
            let longest_ns = begin_ns.checked_add(part(&offsets))?;
            let longest = TrackEntry {
                begin_ns: longest_ns,
                end_ns: longest_ns.checked_add(part(&lengths))?,
                name: name(0, index),
            };
            let mut top = [(0, 0); TOP];
            for (list, place) in top.iter_mut().enumerate() {
                *place = (name(1 + list, index), time(list, index));
            }
            let (begin_ns, end_ns, other_ns) = (*begin_ns, *end_ns, time(TOP, index));
            // So that sums of sums cannot overflow.
            top.iter().try_fold(other_ns, |sum, (_, time_ns)| sum.checked_add(*time_ns))?;
            Some(TrackSummary { begin_ns, end_ns, rows: part(&rows), longest, top, other_ns })
        };
        let sums = all_of(spans.iter().enumerate().map(one), count);
        sums.map(TrackPage::Summaries).ok_or(damaged(at, BAD_NUMBER))
    }
}

/// All `count` of them in memory that is taken once; none if one is missing.
fn all_of<T>(each: impl Iterator<Item = Option<T>>, count: usize) -> Option<Vec<T>> {
    let mut all = Vec::with_capacity(count);
    for one in each {
        all.push(one?);
    }
    Some(all)
}

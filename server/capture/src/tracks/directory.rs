//! Which tracks a stream has, and what their rows are called, as bytes.
//!
//! All numbers are little endian: magic `BTRD`, version (2 bytes, 1), flags (1; 1 if ends of pages of rows are stored), a zero, CRC-32 of all else (4), tracks, names and rows
//! that are in no track (8 each), then lists of numbers. Of the tracks: keys, lanes, processes, names of the threads, rows;
//! of their sums beginning, end, beginning and end and name of the longest row, for each place of those that took most the name
//! and the time, and the time of all others. Of the names: text, number, process, thread. Lists are coded as `lists.rs`
//! describes them.

use super::{MAX_STREAM_TRACKS, MAX_TRACK_NAMES, TOP, TrackEntry, TrackInfo, TrackName, TrackSummary};
use crate::{
    ChunkError,
    codec::Encoder,
    lists::{ListReader, crc_of, put_list},
    reader::{Reader, damaged},
};

const MAGIC: [u8; 4] = *b"BTRD";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 12;
/// The flag that says that ends of pages of rows are stored.
const PAGE_ENDS: u8 = 1;
const BAD_NUMBER: &str = "a number of the directory of tracks is out of range";
/// The most bytes of a directory.
pub const MAX_TRACK_DIRECTORY_BYTES: usize = 64 + (MAX_STREAM_TRACKS * (11 + 2 * TOP) + MAX_TRACK_NAMES * 4) * 9;

/// The tracks of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackDirectory {
    /// The tracks, by their numbers.
    pub tracks: Vec<TrackInfo>,
    /// What rows are called, by its number.
    pub names: Vec<TrackName>,
    /// Rows that are in no track, because there are too many.
    pub dropped_rows: u64,
}

impl TrackDirectory {
    /// The directory as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let (mut encoder, mut out) = (Encoder::new(), Vec::new());
        for number in [self.tracks.len() as u64, self.names.len() as u64, self.dropped_rows] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let mut put = |of: &dyn Fn(&TrackInfo) -> u64| {
            put_list(&mut encoder, &mut out, &self.tracks.iter().map(of).collect::<Vec<_>>());
        };
        put(&|track| track.key);
        put(&|track| track.lane.into());
        put(&|track| track.pid);
        put(&|track| track.comm.into());
        put(&|track| track.rows);
        put(&|track| track.sum.begin_ns);
        put(&|track| track.sum.end_ns);
        put(&|track| track.sum.longest.begin_ns);
        put(&|track| track.sum.longest.end_ns);
        put(&|track| track.sum.longest.name.into());
        for at in 0..TOP {
            put(&|track| track.sum.top.get(at).map_or(0, |(name, _)| (*name).into()));
            put(&|track| track.sum.top.get(at).map_or(0, |(_, time_ns)| *time_ns));
        }
        put(&|track| track.sum.other_ns);
        let mut put = |of: &dyn Fn(&TrackName) -> u64| {
            put_list(&mut encoder, &mut out, &self.names.iter().map(of).collect::<Vec<_>>());
        };
        put(&|name| name.text.into());
        put(&|name| name.number);
        put(&|name| name.pid.into());
        put(&|name| name.tid.into());
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        let has_page_ends = self.tracks.iter().any(|track| track.has_page_ends);
        bytes.extend_from_slice(&[if has_page_ends { PAGE_ENDS } else { 0 }, 0]);
        let crc = crc_of(&bytes, &out);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.append(&mut out);
        bytes
    }

    /// The directory that was encoded.
    ///
    /// # Errors
    /// If the bytes are damaged. Never panics, and allocates no more than the largest directory needs.
    pub fn decode(bytes: &[u8]) -> Result<Self, ChunkError> {
        let mut reader = Reader { bytes, offset: 0 };
        let is_directory = reader.array()? == MAGIC && u16::from_le_bytes(reader.array()?) == VERSION;
        let [flags, zero] = reader.array()?;
        if !is_directory || flags & !PAGE_ENDS != 0 || zero != 0 {
            return Err(damaged(0, "it does not begin as a directory of tracks"));
        }
        let crc = u32::from_le_bytes(reader.array()?);
        let (head, body) = (bytes.get(..HEAD_BYTES - 4), bytes.get(HEAD_BYTES..));
        if crc_of(head.unwrap_or_default(), body.unwrap_or_default()) != crc {
            return Err(damaged(8, "the checksum of a directory of tracks is wrong"));
        }
        let counts = [u64::from_le_bytes(reader.array()?), u64::from_le_bytes(reader.array()?)];
        let dropped_rows = u64::from_le_bytes(reader.array()?);
        let [tracks, names] = counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        if tracks > MAX_STREAM_TRACKS || names > MAX_TRACK_NAMES {
            return Err(damaged(HEAD_BYTES, "there are too many tracks or names"));
        }
        let mut lists = ListReader::new(reader);
        let tracks = parse_tracks(&mut lists, tracks, flags & PAGE_ENDS != 0)?;
        let names = parse_names(&mut lists, names)?;
        lists.end()?;
        Ok(Self { tracks, names, dropped_rows })
    }
}

fn parse_tracks(lists: &mut ListReader<'_>, count: usize, has_page_ends: bool) -> Result<Vec<TrackInfo>, ChunkError> {
    let bad = || damaged(HEAD_BYTES, BAD_NUMBER);
    let (keys, lanes, pids) = (lists.list(count)?, lists.list(count)?, lists.list(count)?);
    let (comms, rows) = (lists.small_list(count)?, lists.list(count)?);
    let (begins, ends) = (lists.list(count)?, lists.list(count)?);
    let (longest, longest_ends, names) = (lists.list(count)?, lists.list(count)?, lists.small_list(count)?);
    let mut tops = vec![[(0, 0); TOP]; count];
    for place in 0..TOP {
        let (names, times) = (lists.small_list(count)?, lists.list(count)?);
        for (top, found) in tops.iter_mut().zip(names.into_iter().zip(times)) {
            top.iter_mut().skip(place).take(1).for_each(|top| *top = found);
        }
    }
    let others = lists.list(count)?;
    let word = |list: &[u64], at: usize| list.get(at).copied().unwrap_or(0);
    let id = |list: &[u32], at: usize| list.get(at).copied().unwrap_or(0);
    let track = |(at, top): (usize, [(u32, u64); TOP])| {
        let longest =
            TrackEntry { begin_ns: word(&longest, at), end_ns: word(&longest_ends, at), name: id(&names, at) };
        let (begin_ns, end_ns, other_ns) = (word(&begins, at), word(&ends, at), word(&others, at));
        // So that sums cannot overflow.
        top.iter().try_fold(other_ns, |all, (_, time_ns)| all.checked_add(*time_ns)).ok_or_else(bad)?;
        let rows = word(&rows, at);
        let sum = TrackSummary { begin_ns, end_ns, rows, longest, top, other_ns };
        let lane = u16::try_from(word(&lanes, at)).map_err(|_large| bad())?;
        if begin_ns > end_ns {
            return Err(bad());
        }
        let (key, pid, comm) = (word(&keys, at), word(&pids, at), id(&comms, at));
        Ok(TrackInfo { key, lane, pid, comm, rows, has_page_ends, sum })
    };
    tops.into_iter().enumerate().map(track).collect()
}

fn parse_names(lists: &mut ListReader<'_>, count: usize) -> Result<Vec<TrackName>, ChunkError> {
    let (texts, numbers) = (lists.small_list(count)?, lists.list(count)?);
    let (pids, tids) = (lists.small_list(count)?, lists.small_list(count)?);
    let name = |(((text, number), pid), tid)| TrackName { text, number, pid, tid };
    Ok(texts.into_iter().zip(numbers).zip(pids).zip(tids).map(name).collect())
}

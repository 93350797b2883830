//! What ran where and when: tracks of bins one pixel wide, and their binary form.

use std::{cmp::Reverse, collections::BTreeSet};

use bathyscope_capture::{StreamKind, StreamSchema, StringId, visible};
use serde::Serialize;

use crate::{Cancel, Filter, Source, TimeRange, ViewError, hash::IdMap, rate::Bins, scan::Scan, source::relative};

/// The widest timeline in pixels.
pub const MAX_TIMELINE_WIDTH: u32 = 8192;
/// The most tracks of a timeline.
pub const MAX_TRACKS: u32 = 1024;
/// The first four bytes of the binary form, little endian: `BTL1`.
pub const TIMELINE_MAGIC: u32 = 0x314c_5442;

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// A CPU; tracks in the order of their numbers, names are threads' names.
    Cpu,
    /// A thread; the busiest first, names are events, or the thread's names in a profile.
    Thread,
}

/// Which part of a capture to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Pixels, 1 to [`MAX_TIMELINE_WIDTH`].
    pub width: u32,
    /// What a track is.
    pub group: Group,
    /// Which rows. A stream without the columns of the filter shows none.
    pub filter: Option<Filter>,
    /// The most tracks, 1 to [`MAX_TRACKS`]; the busiest are kept.
    pub limit_tracks: u32,
}

/// A window of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// Start of the range, relative to the capture's start.
    pub start: i64,
    /// End of the range, relative to the capture's start.
    pub end: i64,
    /// Number of bins.
    pub width: u32,
    /// What a track is.
    pub group: Group,
    /// The tracks.
    pub tracks: Vec<Track>,
    /// The names that bins refer to, made visible.
    pub names: Vec<String>,
    /// How many tracks with rows are not here.
    pub more_tracks: u64,
    /// The bins of each track, not in the JSON head.
    #[serde(skip)]
    pub bins: Vec<TrackBins>,
}

/// One track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Track {
    /// Names the track in URLs: `cpu:N` or `tid:N`.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// More about it: pid and tid.
    pub sub: String,
    /// Rows in the range that satisfy the filter.
    pub rows: u64,
    /// The process, of a thread.
    pub pid: Option<u64>,
    /// The thread.
    pub tid: Option<u64>,
    /// The CPU.
    pub cpu: Option<u64>,
}

/// The bins of a track that have rows: three lists of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackBins {
    /// Which pixel, ascending, less than the width.
    pub bin: Vec<u32>,
    /// How many rows; [`u32::MAX`] for that many or more.
    pub count: Vec<u32>,
    /// The most frequent name, an index into [`Timeline::names`].
    pub name: Vec<u32>,
}

/// Makes a window of the timeline; at most `width` bins in each of at most `limit_tracks` tracks.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn timeline(source: &dyn Source, query: &TimelineQuery, cancel: &Cancel) -> Result<Timeline, ViewError> {
    let bins = Bins::new(query.range, query.width, MAX_TIMELINE_WIDTH, "the width of the timeline in pixels")?;
    if query.limit_tracks == 0 || query.limit_tracks > MAX_TRACKS {
        let (value, most) = (u64::from(query.limit_tracks), u64::from(MAX_TRACKS));
        return Err(ViewError::OutOfRange { what: "the number of tracks", value, least: 1, most });
    }
    let lanes = Lanes::count(source, query, cancel)?;
    let mut builder = Builder { source, query, bins, cells: IdMap::default() };
    builder.fill(&lanes, cancel)?;
    Ok(builder.finish(lanes))
}

impl TimelineQuery {
    fn key_column(&self) -> usize {
        match self.group {
            Group::Cpu => StreamSchema::CPU,
            Group::Thread => StreamSchema::TID,
        }
    }

    fn scans<'a>(
        &self,
        source: &'a dyn Source,
        wanted: &[usize],
        cancel: &'a Cancel,
    ) -> Result<Vec<Scan<'a>>, ViewError> {
        Scan::all(source, self.range, self.filter.as_ref(), wanted, cancel, StreamSchema::has_events)
    }
}

/// The tracks that are kept: first of two passes, so that memory is for these only.
struct Lanes {
    lanes: Vec<Lane>,
    by_key: IdMap<u64, u32>,
    more: u64,
}

/// A thread that renames itself without end gets no list without end: later names cannot become its label.
const MAX_LANE_NAMES: usize = 16;

/// A track as it is counted.
#[derive(Default)]
struct Lane {
    key: u64,
    pid: u64,
    rows: u64,
    /// How often each name was seen; only for threads.
    comms: Vec<(StringId, u64)>,
}

impl Lane {
    fn see_comm(&mut self, comm: StringId) {
        if let Some((_, count)) = self.comms.iter_mut().find(|(seen, _)| *seen == comm) {
            *count += 1;
        } else if self.comms.len() < MAX_LANE_NAMES {
            self.comms.push((comm, 1));
        }
    }
}

impl Lanes {
    fn count(source: &dyn Source, query: &TimelineQuery, cancel: &Cancel) -> Result<Self, ViewError> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut by_key: IdMap<u64, u32> = IdMap::default();
        let (key, threads) = (query.key_column(), query.group == Group::Thread);
        let wanted: &[usize] =
            if threads { &[StreamSchema::PID, StreamSchema::TID, StreamSchema::COMM] } else { &[key] };
        for mut scan in query.scans(source, wanted, cancel)? {
            scan.for_each_hit(|hit| {
                let keys = hit.u64s(key)?;
                let (pids, comms) = match threads {
                    true => (hit.u64s(StreamSchema::PID)?, hit.ids(StreamSchema::COMM)?),
                    false => (&[][..], &[][..]),
                };
                hit.picked.for_each(|row| {
                    let Some(key) = keys.get(row) else { return };
                    let index = *by_key.entry(*key).or_insert(lanes.len() as u32);
                    if index as usize == lanes.len() {
                        lanes.push(Lane { key: *key, pid: pids.get(row).copied().unwrap_or(0), ..Lane::default() });
                    }
                    let Some(lane) = lanes.get_mut(index as usize) else { return };
                    lane.rows += 1;
                    if let Some(comm) = comms.get(row) {
                        lane.see_comm(*comm);
                    }
                });
                Ok(())
            })?;
        }
        Ok(Self::keep(lanes, query))
    }

    /// Keeps the busiest and puts them in the order of the tracks.
    fn keep(mut lanes: Vec<Lane>, query: &TimelineQuery) -> Self {
        lanes.sort_by_key(|lane| (Reverse(lane.rows), lane.key));
        let more = lanes.len().saturating_sub(query.limit_tracks as usize) as u64;
        lanes.truncate(query.limit_tracks as usize);
        if query.group == Group::Cpu {
            lanes.sort_by_key(|lane| lane.key);
        }
        let by_key = (0u32..).zip(&lanes).map(|(index, lane)| (lane.key, index)).collect();
        Self { lanes, by_key, more }
    }
}

/// Track and bin, then what a name is: a string, or a stream for events of threads.
type CellKey = (u64, u32);

struct Builder<'a> {
    source: &'a dyn Source,
    query: &'a TimelineQuery,
    bins: Bins,
    cells: IdMap<CellKey, u64>,
}

/// Names that are streams have this bit, so that both kinds can be in one timeline.
const STREAM_NAME: u32 = 1 << 31;

fn cell_of(track: u32, bin: u32) -> u64 {
    u64::from(track) << 32 | u64::from(bin)
}

impl Builder<'_> {
    fn fill(&mut self, lanes: &Lanes, cancel: &Cancel) -> Result<(), ViewError> {
        let key = self.query.key_column();
        let all = [StreamSchema::TIME, key, StreamSchema::COMM];
        let (bins, cells) = (&mut self.bins, &mut self.cells);
        for mut scan in self.query.scans(self.source, &all, cancel)? {
            let by_comm = self.query.group == Group::Cpu || scan.schema().kind == StreamKind::Samples;
            let stream = STREAM_NAME | u32::from(scan.stream());
            let mut last: Option<(CellKey, u64)> = None;
            scan.for_each_hit(|hit| {
                let (times, keys, comms) =
                    (hit.u64s(StreamSchema::TIME)?, hit.u64s(key)?, hit.ids(StreamSchema::COMM)?);
                hit.picked.for_each(|row| {
                    let (Some(time), Some(key), Some(comm)) = (times.get(row), keys.get(row), comms.get(row)) else {
                        return;
                    };
                    let (Some(bin), Some(track)) = (bins.of(*time), lanes.by_key.get(key)) else { return };
                    let cell = (cell_of(*track, bin), if by_comm { *comm & !STREAM_NAME } else { stream });
                    // The same thing often happens many times in a row.
                    match &mut last {
                        Some((same, count)) if *same == cell => *count += 1,
                        _ => {
                            if let Some((cell, count)) = last.replace((cell, 1)) {
                                *cells.entry(cell).or_insert(0) += count;
                            }
                        }
                    }
                });
                Ok(())
            })?;
            if let Some((cell, count)) = last {
                *cells.entry(cell).or_insert(0) += count;
            }
        }
        Ok(())
    }

    fn name(&self, name: u32) -> String {
        if name & STREAM_NAME == 0 {
            return comm_text(self.source, name);
        }
        let schema = self.source.streams().get((name & !STREAM_NAME) as usize);
        schema.map(|schema| visible(schema.name.as_bytes())).unwrap_or_default()
    }

    fn finish(self, lanes: Lanes) -> Timeline {
        let best = self.most_frequent();
        let used: BTreeSet<u32> = best.iter().map(|(_, _, name)| *name).collect();
        // Two ids can look the same when shown; they are one name then.
        let texts: Vec<(u32, String)> = used.iter().map(|name| (*name, self.name(*name))).collect();
        let names: Vec<String> =
            texts.iter().map(|(_, text)| text.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let index_of: IdMap<u32, u32> =
            texts.iter().map(|(name, text)| (*name, names.partition_point(|other| other < text) as u32)).collect();
        let mut bins = vec![TrackBins::default(); lanes.lanes.len()];
        for (cell, count, name) in best {
            if let Some(track) = bins.get_mut((cell >> 32) as usize) {
                track.bin.push(cell as u32);
                track.count.push(u32::try_from(count).unwrap_or(u32::MAX));
                track.name.push(index_of.get(&name).copied().unwrap_or(0));
            }
        }
        let origin = self.source.origin_ns();
        Timeline {
            start: relative(origin, self.query.range.start_ns),
            end: relative(origin, self.query.range.end_ns),
            width: self.query.width,
            group: self.query.group,
            tracks: lanes.lanes.iter().map(|lane| self.track(lane)).collect(),
            names,
            more_tracks: lanes.more,
            bins,
        }
    }

    /// Each track's bins with the sum of rows and the name with most of them (the lower id of equals), in order.
    fn most_frequent(&self) -> Vec<(u64, u64, u32)> {
        let mut all: Vec<(u64, u32, u64)> =
            self.cells.iter().map(|((cell, name), count)| (*cell, *name, *count)).collect();
        all.sort_unstable();
        let same_cell = all.chunk_by(|a, b| a.0 == b.0);
        same_cell
            .filter_map(|names| {
                let (cell, name, _) = names.iter().max_by_key(|(_, name, count)| (*count, Reverse(*name)))?;
                Some((*cell, names.iter().map(|(_, _, count)| count).sum(), *name))
            })
            .collect()
    }

    fn track(&self, lane: &Lane) -> Track {
        let (key, pid, rows) = (lane.key, lane.pid, lane.rows);
        match self.query.group {
            Group::Cpu => {
                let (label, sub) = (format!("CPU {key}"), String::new());
                Track { key: format!("cpu:{key}"), label, sub, rows, pid: None, tid: None, cpu: Some(key) }
            }
            Group::Thread => {
                let comm = lane.comms.iter().max_by_key(|(comm, count)| (*count, Reverse(*comm)));
                let label = comm.map(|(comm, _)| comm_text(self.source, *comm)).unwrap_or_default();
                let sub = if pid == key { format!("pid {pid}") } else { format!("pid {pid} tid {key}") };
                Track { key: format!("tid:{key}"), label, sub, rows, pid: Some(pid), tid: Some(key), cpu: None }
            }
        }
    }
}

/// A thread's name, made visible.
fn comm_text(source: &dyn Source, comm: StringId) -> String {
    source.dictionaries().text(comm).map_or_else(|| "[no name]".to_owned(), visible)
}

impl Timeline {
    /// Puts a head in JSON (the caller serialises `self`) and the bins together in the binary form: magic, length of the
    /// head, head, zeroes to a multiple of 8, then for each track the number of bins, zero, bins, counts, names, zeroes
    /// to a multiple of 8. Little endian.
    pub fn encode(&self, head_json: &[u8]) -> Vec<u8> {
        fn put(out: &mut Vec<u8>, number: u32) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        fn pad(out: &mut Vec<u8>) {
            out.resize(out.len().next_multiple_of(8), 0);
        }
        let rows: usize = self.bins.iter().map(|track| track.bin.len()).sum();
        let mut out = Vec::with_capacity(16 + head_json.len() + 16 * self.bins.len() + 12 * rows);
        put(&mut out, TIMELINE_MAGIC);
        put(&mut out, u32::try_from(head_json.len()).unwrap_or(u32::MAX));
        out.extend_from_slice(head_json);
        pad(&mut out);
        for track in &self.bins {
            put(&mut out, u32::try_from(track.bin.len()).unwrap_or(u32::MAX));
            put(&mut out, 0);
            for list in [&track.bin, &track.count, &track.name] {
                list.iter().for_each(|number| put(&mut out, *number));
            }
            pad(&mut out);
        }
        out
    }
}

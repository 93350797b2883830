//! What ran where and when: tracks of bins one or two pixels wide.

use std::{cmp::Reverse, collections::BTreeSet};

use bathyscope_capture::{
    CounterBin, Grouping, IndexBlock, IndexTrack, Measure, StringId, TopNames, counter_of, visible,
};
use bathyscope_catalog::perf_events::ProcCounter;

use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{CounterValues, Group, Timeline, Track, TrackBins},
    counts::is_clock,
    hash::IdMap,
    source::relative,
    window::Window,
};

/// The widest timeline in pixels.
pub const MAX_TIMELINE_WIDTH: u32 = 8192;
/// The most tracks of a timeline.
pub const MAX_TRACKS: u32 = 1024;
/// In place of the name of a thread that has none.
const NO_NAME: &str = "[no name]";
/// The track of rows that no thread caused.
const NO_THREAD: &str = "[no thread]";

/// Which part of a capture to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineQuery {
    /// From when to when; all of the bins that it touches are drawn.
    pub range: TimeRange,
    /// Pixels, 1 to [`MAX_TIMELINE_WIDTH`]: the most bins (or 2). There are at least half as many, as their length is a power of
    /// two of nanoseconds.
    pub width: u32,
    /// What a track is.
    pub group: Group,
    /// Which rows. A stream without the columns of the filter shows none.
    pub filter: Option<Filter>,
    /// The most tracks, 1 to [`MAX_TRACKS`]; the busiest are kept.
    pub limit_tracks: u32,
    /// Only the rows of these streams; of all without.
    pub streams: Option<Vec<u16>>,
}

/// Makes a window of the timeline; at most `width` bins in each of at most `limit_tracks` tracks.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be loaded, or `cancel` was set.
pub fn timeline(source: &dyn Source, query: &TimelineQuery, cancel: &Cancel) -> Result<Timeline, ViewError> {
    let what = "the width of the timeline in pixels";
    let window = Window::new(query.range, query.width, MAX_TIMELINE_WIDTH, what)?.whole();
    ViewError::within("the number of tracks", query.limit_tracks.into(), 1, MAX_TRACKS.into())?;
    let count = source.streams().len();
    let missing = query.streams.iter().flatten().find(|stream| usize::from(**stream) >= count);
    if let Some(stream) = missing {
        return Err(ViewError::NoSuchStream { stream: *stream, count });
    }
    let blocks =
        window.fill(source, query.filter.as_ref(), query.group.grouping(), query.streams.as_deref(), cancel)?;
    let lanes = CountedTracks::of(&blocks, query);
    let parts = |key| IndexedTrack::all(source, &blocks, query.group, key);
    let cells = lanes.lanes.iter().map(|lane| cells(parts(lane.key), &window)).collect();
    let has_longest = blocks.iter().any(|(_, block)| block.measure == Measure::Longest);
    Ok(TimelineBuilder { source, query, window, has_longest, cells }.finish(lanes))
}

impl Group {
    fn grouping(self) -> Grouping {
        match self {
            Self::Cpu | Self::Stream => Grouping::Cpu,
            Self::Thread => Grouping::Thread,
            Self::Counter => Grouping::Counter,
        }
    }
}

/// The tracks that are kept.
struct CountedTracks {
    lanes: Vec<CountedTrack>,
    more: u64,
}

/// A track as it is counted.
#[derive(Default)]
struct CountedTrack {
    key: u64,
    pid: u64,
    rows: u64,
    /// Only of threads.
    names: TopNames,
}

impl CountedTracks {
    /// The busiest, in the order of the tracks.
    fn of(blocks: &[(u16, IndexBlock)], query: &TimelineQuery) -> Self {
        let mut by_key: IdMap<u64, CountedTrack> = IdMap::default();
        let tracks = blocks.iter().flat_map(|(stream, block)| block.tracks.iter().map(move |track| (*stream, track)));
        for (stream, track) in tracks {
            let key = if query.group == Group::Stream { stream.into() } else { track.key };
            let new = || CountedTrack { key, pid: track.pid, ..CountedTrack::default() };
            let lane = by_key.entry(key).or_insert_with(new);
            lane.rows += track.rows();
            lane.names.merge(&track.names);
        }
        let mut lanes: Vec<CountedTrack> = by_key.into_values().collect();
        lanes.sort_by_key(|lane| (Reverse(lane.rows), lane.key));
        let dropped: u64 = blocks.iter().map(|(_, block)| block.dropped_tracks).sum();
        let more = lanes.len().saturating_sub(query.limit_tracks as usize) as u64 + dropped;
        lanes.truncate(query.limit_tracks as usize);
        // Ids of texts grow as they come.
        if query.group != Group::Thread {
            lanes.sort_by_key(|lane| lane.key);
        }
        Self { lanes, more }
    }
}

/// Names that are streams have this bit, so that both kinds can be in one timeline.
const STREAM_NAME: u32 = 1 << 31;

/// A bin of a track.
#[derive(Clone, Copy)]
struct TimelineCell {
    bin: u32,
    rows: u64,
    longest_ns: u64,
    /// The most frequent.
    name: u32,
    /// The least and the last value of a counter, whose greatest is `longest_ns`.
    counter: CounterBin,
}

/// The bins of a track in one stream.
struct IndexedTrack<'a> {
    track: &'a IndexTrack,
    /// The next bin's place.
    at: usize,
    /// What bins are called by, if not by their names.
    stream_name: Option<u32>,
}

impl<'a> IndexedTrack<'a> {
    /// All that are one track of the timeline.
    fn all(source: &dyn Source, blocks: &'a [(u16, IndexBlock)], group: Group, key: u64) -> Vec<Self> {
        if group != Group::Stream {
            return blocks.iter().filter_map(|block| Self::of(source, block, group.grouping(), key)).collect();
        }
        let own = blocks.iter().filter(|(stream, _)| u64::from(*stream) == key);
        let part = |stream: u16, track: &'a IndexTrack| Self {
            track,
            at: 0,
            stream_name: Some(STREAM_NAME | u32::from(stream)),
        };
        own.flat_map(|(stream, block)| block.tracks.iter().map(move |track| part(*stream, track))).collect()
    }

    fn of(source: &dyn Source, (stream, block): &'a (u16, IndexBlock), grouping: Grouping, key: u64) -> Option<Self> {
        let at = block.tracks.binary_search_by_key(&key, |track| track.key).ok()?;
        let has_names = source.streams().get(usize::from(*stream)).is_some_and(|schema| grouping.has_names(schema));
        let stream_name = (!has_names).then_some(STREAM_NAME | u32::from(*stream));
        Some(Self { track: block.tracks.get(at)?, at: 0, stream_name })
    }

    fn next_number(&self) -> Option<u64> {
        self.track.bins.get(self.at).map(|bin| bin.number)
    }

    /// Adds the bin with this number, if it is the next one.
    fn take(&mut self, number: u64, cell: &mut TimelineCell, names: &mut Vec<(u64, Reverse<u32>)>) {
        let Some(bin) = self.track.bins.get(self.at).filter(|bin| bin.number == number) else { return };
        cell.rows += bin.rows;
        cell.longest_ns = cell.longest_ns.max(bin.most);
        cell.counter = self.track.counters.get(self.at).copied().unwrap_or_default();
        match self.stream_name {
            Some(name) => add_name(names, name, bin.rows),
            None => self.track.names_at(self.at).iter().for_each(|(name, rows)| {
                add_name(names, name & !STREAM_NAME, u64::from(rows));
            }),
        }
        self.at += 1;
    }
}

/// The bins of one track, in order: those of all streams, merged.
fn cells(mut parts: Vec<IndexedTrack<'_>>, window: &Window) -> Vec<TimelineCell> {
    let mut cells = Vec::new();
    let mut names: Vec<(u64, Reverse<u32>)> = Vec::new();
    while let Some(number) = parts.iter().filter_map(IndexedTrack::next_number).min() {
        let mut cell = TimelineCell {
            bin: window.relative(number),
            rows: 0,
            longest_ns: 0,
            name: 0,
            counter: CounterBin::default(),
        };
        parts.iter_mut().for_each(|part| part.take(number, &mut cell, &mut names));
        // Of names with equally many rows it is the one with the lowest id.
        cell.name = names.drain(..).max().map_or(0, |(_, Reverse(name))| name);
        cells.push(cell);
    }
    cells
}

/// Adds rows to a name of a bin, of which there are few.
fn add_name(names: &mut Vec<(u64, Reverse<u32>)>, name: u32, rows: u64) {
    match names.iter_mut().find(|(_, Reverse(known))| *known == name) {
        Some((sum, _)) => *sum += rows,
        None => names.push((rows, Reverse(name))),
    }
}

struct TimelineBuilder<'a> {
    source: &'a dyn Source,
    query: &'a TimelineQuery,
    window: Window,
    has_longest: bool,
    /// By track.
    cells: Vec<Vec<TimelineCell>>,
}

impl TimelineBuilder<'_> {
    fn name(&self, name: u32) -> String {
        if name & STREAM_NAME == 0 {
            return comm_text(self.source, name);
        }
        let schema = self.source.streams().get((name & !STREAM_NAME) as usize);
        schema.map(|schema| visible(schema.name.as_bytes())).unwrap_or_default()
    }

    fn finish(self, lanes: CountedTracks) -> Timeline {
        let has_values = self.query.group == Group::Counter;
        let mut used: Vec<u32> = self.cells.iter().flatten().map(|cell| cell.name).collect();
        used.sort_unstable();
        used.dedup();
        // Counters are told by their tracks.
        used.retain(|_| !has_values);
        // Two ids can look the same when shown; they are one name then.
        let texts: Vec<(u32, String)> = used.iter().map(|name| (*name, self.name(*name))).collect();
        let names: Vec<String> =
            texts.iter().map(|(_, text)| text.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let index_of: IdMap<u32, u32> =
            texts.iter().map(|(name, text)| (*name, names.partition_point(|other| other < text) as u32)).collect();
        let track = |cells: &Vec<TimelineCell>| TrackBins {
            bin: cells.iter().map(|cell| cell.bin).collect(),
            count: cells.iter().map(|cell| u32::try_from(cell.rows).unwrap_or(u32::MAX)).collect(),
            name: cells.iter().map(|cell| index_of.get(&cell.name).copied().unwrap_or(0)).collect(),
            values: if has_values { cells.iter().map(values_of).collect() } else { Vec::new() },
            longest_ns: if self.has_longest { cells.iter().map(|cell| cell.longest_ns).collect() } else { Vec::new() },
        };
        let (origin, span) = (self.source.origin_ns(), self.window.span());
        Timeline {
            start: relative(origin, span.start_ns),
            end: relative(origin, span.end_ns),
            width: self.window.bins,
            group: self.query.group,
            tracks: lanes.lanes.iter().map(|lane| self.track(lane)).collect(),
            more_tracks: lanes.more,
            has_longest: self.has_longest,
            has_values,
            bins: self.cells.iter().map(track).collect(),
            names,
        }
    }

    fn track(&self, lane: &CountedTrack) -> Track {
        let (key, pid, rows) = (lane.key, lane.pid, lane.rows);
        match self.query.group {
            Group::Cpu => {
                let (label, sub) = (format!("CPU {key}"), String::new());
                Track { key: format!("cpu:{key}"), label, sub, rows, cpu: Some(key), ..Track::default() }
            }
            Group::Thread => {
                let label = lane.names.first().map(|name| comm_text(self.source, name)).unwrap_or_default();
                let sub = if pid == key { format!("pid {pid}") } else { format!("pid {pid} tid {key}") };
                // The idle threads have a name; what has none is of a timer or a beginning.
                let of_none = key == 0 && (label.is_empty() || label == NO_NAME);
                let (label, sub) = if of_none { (NO_THREAD.to_owned(), String::new()) } else { (label, sub) };
                Track {
                    key: format!("tid:{key}"),
                    label,
                    sub,
                    rows,
                    pid: Some(pid),
                    tid: Some(key),
                    ..Track::default()
                }
            }
            Group::Stream => {
                let label = u32::try_from(key).map(|stream| self.name(STREAM_NAME | stream)).unwrap_or_default();
                Track { key: format!("stream:{key}"), label, rows, ..Track::default() }
            }
            Group::Counter => {
                let (event, scope) = counter_of(key);
                let text = |id| self.source.dictionaries().text(id).map(visible).unwrap_or_default();
                let (label, sub) = (text(event), text(scope));
                let is_clock = is_clock(&label);
                let of_file = ProcCounter::named(&label);
                Track {
                    key: format!("counter:{event}:{scope}"),
                    label,
                    sub,
                    rows,
                    is_clock,
                    is_gauge: of_file.is_some_and(ProcCounter::is_gauge),
                    unit: of_file.map_or("", |counter| counter.unit().text()),
                    ..Track::default()
                }
            }
        }
    }
}

fn values_of(cell: &TimelineCell) -> CounterValues {
    CounterValues { least: cell.counter.least, most: cell.longest_ns, last: cell.counter.last }
}

/// A thread's name, made visible.
fn comm_text(source: &dyn Source, comm: StringId) -> String {
    source.dictionaries().text(comm).map_or_else(|| NO_NAME.to_owned(), visible)
}

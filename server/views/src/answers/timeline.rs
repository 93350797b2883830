//! Timelines, and their binary form.

use serde::Serialize;

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
    /// An event that is counted in a scope, in the order in which they were told; without names, but with values.
    Counter,
    /// A stream; in the order of their numbers, names are the streams'.
    Stream,
}

/// A window of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// Start of the first bin, relative to the capture's start: at or before the start of the range.
    pub start: i64,
    /// End of the last bin, relative to the capture's start: at or after the end of the range.
    pub end: i64,
    /// Number of bins, all of one length.
    pub width: u32,
    /// What a track is.
    pub group: Group,
    /// The tracks.
    pub tracks: Vec<Track>,
    /// The names that bins refer to, made visible.
    pub names: Vec<String>,
    /// How many tracks with rows are not here.
    pub more_tracks: u64,
    /// Whether some stream has rows that take time, so that bins know their longest.
    pub has_longest: bool,
    /// Whether bins have values of counters.
    pub has_values: bool,
    /// The bins of each track, not in the JSON head.
    #[serde(skip)]
    pub bins: Vec<TrackBins>,
}

/// One track.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Track {
    /// Names the track in URLs: `cpu:N`, `tid:N`, `stream:N`, or `counter:N:M` by the ids of event and scope.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// More about it: pid and tid, or the scope that is counted in.
    pub sub: String,
    /// Rows in the bins that satisfy the filter.
    pub rows: u64,
    /// The process, of a thread.
    pub pid: Option<u64>,
    /// The thread.
    pub tid: Option<u64>,
    /// The CPU.
    pub cpu: Option<u64>,
    /// Whether values of the counter are of a clock: thousandths of a nanosecond a second, and so many CPUs times 10¹².
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_clock: bool,
    /// Whether values of the counter are those of the moment: thousandths of its unit, and not of its unit a second.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_gauge: bool,
    /// What the counter is measured in: `ns` of time in which threads waited, `bytes`; empty for numbers and clocks.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
}

/// The bins of a track that have rows: lists of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackBins {
    /// Which pixel, ascending, less than the width.
    pub bin: Vec<u32>,
    /// How many rows; [`u32::MAX`] for that many or more.
    pub count: Vec<u32>,
    /// The most frequent name, an index into [`Timeline::names`].
    pub name: Vec<u32>,
    /// How long the longest row took, in nanoseconds, 0 for rows of which that is not known; an empty list where it is
    /// known of none.
    pub longest_ns: Vec<u64>,
    /// The values of a counter in the bin, in thousandths a second, or of a gauge as such; an empty list for other tracks.
    pub values: Vec<CounterValues>,
}

/// What is known of a counter's values in a bin, in thousandths a second, or of a gauge as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// The least.
    pub least: u64,
    /// The greatest.
    pub most: u64,
    /// The last.
    pub last: u64,
}

impl Timeline {
    /// Puts a head in JSON (the caller serialises `self`) and the bins together in the binary form: magic, length of the
    /// head, head, zeroes to a multiple of 8, then for each track the number of bins, zero, bins, counts, names, zeroes
    /// to a multiple of 8, where the head says `has_longest` the longest rows (8 bytes each), and where it says `has_values` the
    /// least, the greatest and the last values (lists of 8 bytes each). Little endian.
    pub fn encode(&self, head_json: &[u8]) -> Vec<u8> {
        fn put(out: &mut Vec<u8>, number: u32) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        fn pad(out: &mut Vec<u8>) {
            out.resize(out.len().next_multiple_of(8), 0);
        }
        let rows: usize = self.bins.iter().map(|track| track.bin.len()).sum();
        let mut out = Vec::with_capacity(16 + head_json.len() + 16 * self.bins.len() + 20 * rows);
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
            let values = |of: fn(&CounterValues) -> u64| track.values.iter().map(of);
            let values = values(|it| it.least).chain(values(|it| it.most)).chain(values(|it| it.last));
            let numbers = track.longest_ns.iter().copied().chain(values);
            numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        }
        out
    }
}

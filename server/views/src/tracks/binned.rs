//! What the tree of tracks has besides states and slices: threads with samples and instants, and counters.

use bathyscope_capture::{RowKind, StreamSchema};

use crate::{
    Cancel, MAX_TRACKS, Source, TimeRange, TimelineQuery, ViewError,
    answers::{BinnedList, CounterTrack, Group, Timeline},
    timeline,
};

/// What states of threads are computed from says nothing that they do not.
const OF_STATES: [&str; 6] =
    ["switches", "wakeups", "sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_waking"];
/// Of the bins only sums are wanted.
const FEWEST_BINS: u32 = 2;

/// Which threads have samples and instants, and which counters there are.
///
/// # Errors
/// If rows cannot be read, or `cancel` was set.
pub(super) fn binned_list(source: &dyn Source, cancel: &Cancel) -> Result<BinnedList, ViewError> {
    let streams = || (0_u16..).zip(source.streams());
    let has_rows = |stream: u16, schema: &StreamSchema| schema.is_recorded() && !source.chunks(stream).is_empty();
    let is_tick = |schema: &StreamSchema| {
        matches!(schema.meaning().kind, RowKind::Sample { .. } | RowKind::Instant)
            && !OF_STATES.contains(&schema.name.as_str())
    };
    let is_counter = |schema: &StreamSchema| matches!(schema.meaning().kind, RowKind::Counter { .. });
    let tick_streams: Vec<u16> =
        streams().filter(|(stream, schema)| is_tick(schema) && has_rows(*stream, schema)).map(|(it, _)| it).collect();
    let mut list = BinnedList { tick_streams, ..BinnedList::default() };
    if !list.tick_streams.is_empty() {
        let found = whole(source, Group::Thread, Some(list.tick_streams.clone()), cancel)?;
        list.more += found.more_tracks;
        list.ticks = found.tracks;
    }
    if streams().any(|(stream, schema)| is_counter(schema) && has_rows(stream, schema)) {
        let found = whole(source, Group::Counter, None, cancel)?;
        list.more += found.more_tracks;
        let most = found.bins.iter().map(|bins| bins.values.iter().map(|values| values.most).max().unwrap_or(0));
        list.counters = found.tracks.into_iter().zip(most).map(|(track, most)| CounterTrack { track, most }).collect();
    }
    Ok(list)
}

/// The tracks of all of the capture.
fn whole(source: &dyn Source, group: Group, streams: Option<Vec<u16>>, cancel: &Cancel) -> Result<Timeline, ViewError> {
    let range = TimeRange::of(source);
    let query = TimelineQuery { range, width: FEWEST_BINS, group, filter: None, limit_tracks: MAX_TRACKS, streams };
    timeline(source, &query, cancel)
}

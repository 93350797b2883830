//! What can be read from a range of time: states of threads, slices by name, waiting for a CPU, counters, wake-ups, bytes.
//!
//! All go through the rows of the range chunk by chunk, so sums, counts and the longest are exact; percentiles come from buckets
//! that are less than 1 % wide on either side ([`durations`]). What is kept while they do is bounded, and so is the answer: rows
//! beyond are counted as the rest ([`groups`]).
//!
//! A row is in the range if any part of it is. Times are those within the range; means, percentiles and the longest are of whole
//! rows, also of those that reach out of it: the range cuts off what happened, and not how long it took.

mod amounts;
mod counters;
mod durations;
mod groups;
mod marked;
pub(crate) mod overlap;
mod slices;
mod syscalls;
mod threads;
mod waits;
mod wakeups;

use bathyscope_capture::{StreamSchema, TrackRule, visible};

pub use amounts::range_amounts;
pub use counters::range_counters;
pub(crate) use overlap::{OverlapScan, word};
pub use slices::range_slices;
pub use syscalls::{SyscallGroup, SyscallQuery, syscall_table, syscalls_against};
pub use threads::range_threads;
pub use waits::range_waits;
pub use wakeups::{MAX_WAKEUP_THREADS, range_wakeups};

use crate::{Source, TimeRange, answers::TrackId};

/// The most lines of an answer; what has less of what they are ordered by is counted as the rest.
pub const MAX_RANGE_LINES: usize = 500;

/// Which range of which tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Rows of these threads, on these CPUs and of these values count, at most [`crate::MAX_WINDOW_TRACKS`]; all rows if there
    /// are none.
    pub tracks: Vec<TrackId>,
}

/// The streams of how long threads waited for a CPU after they were woken, by the rule that makes them.
const LATENCY: &str = "run-queue latency";

fn is_latency(schema: &StreamSchema) -> bool {
    schema.name == LATENCY && schema.derived.is_some() && schema.column("waker_tid").is_some()
}

/// The streams whose rows say how long they took and that `takes` wants.
pub(crate) fn timed_streams(
    source: &dyn Source,
    takes: impl Fn(&StreamSchema) -> bool,
) -> impl Iterator<Item = (u16, &StreamSchema, TrackRule)> {
    let streams = (0u16..).zip(source.streams());
    streams.filter_map(move |(stream, schema)| {
        Some((stream, schema, TrackRule::of(schema)?)).filter(|(_, schema, _)| takes(schema))
    })
}

/// A text of the capture's dictionary as people read it; empty where there is none.
fn text(source: &dyn Source, id: u32) -> String {
    source.dictionaries().text(id).map(visible).unwrap_or_default()
}

//! The critical path of a thread: what its time went into, through whoever it waited for.
//!
//! At a moment at which a thread runs or waits for a CPU, that is what its time goes into. At one at which it sleeps until
//! another thread wakes it, its time goes into what that thread does at that moment; which may be sleeping until a third wakes
//! it, and so on. At one at which it sleeps until an interrupt wakes it, its time goes into the device or the timer.
//!
//! So a path is walked backwards from the end of a range ([`walk`]): from a sleep to the waker at the moment of the wake-up, and from
//! there back until the thread fell asleep. What a wake-up came from is found out from what was recorded ([`causes`]), and sums
//! are made of the parts ([`sums`]).

mod causes;
mod frames;
mod sums;
mod walk;

use bathyscope_capture::{RowKind, TrackKind};

use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{CriticalPath, PathStop, TrackId},
    source::relative,
    tracks::{FoundTrack, TrackReader, TrackedStream},
};
pub(crate) use causes::Causes;
use walk::{PathWalk, ThreadStatesOf};

/// The most parts, and the most waits, of a path.
pub const MAX_PATH_PARTS: usize = 4000;

/// Which thread's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathOf {
    /// That of a track of states.
    Track(TrackId),
    /// The thread with this number.
    Thread(u64),
}

/// Which critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CriticalPathQuery {
    /// Whose.
    pub of: PathOf,
    /// Over which range.
    pub range: TimeRange,
}

/// The critical path of a thread over a range: walked back from its end, no further than [`MAX_PATH_PARTS`] parts.
///
/// # Errors
/// If there are no states of such a thread, rows cannot be read, or `cancel` was set.
pub fn critical_path(
    source: &dyn Source,
    query: &CriticalPathQuery,
    cancel: &Cancel,
) -> Result<CriticalPath, ViewError> {
    let streams = state_streams(source);
    let (states, track) = find(&streams, query.of)?;
    let reader = TrackReader::new(source, cancel);
    let mut causes = Causes::of(source);
    let recorded = causes.recorded();
    let TimeRange { start_ns, end_ns } = query.range;
    let mut walk = PathWalk::new(ThreadStatesOf::new(source, states), reader, &mut causes);
    let stopped_ns = walk.walk(track, start_ns..end_ns.max(start_ns))?;
    let (parts, waits, threads) = walk.made();
    let time = |time_ns: u64| relative(source.origin_ns(), time_ns);
    let limit = u32::try_from(MAX_PATH_PARTS).unwrap_or(u32::MAX);
    let sums = sums::of(&parts, &waits);
    Ok(CriticalPath {
        start: time(start_ns),
        end: time(end_ns),
        threads,
        parts,
        waits,
        shares: sums.shares,
        waited: sums.waited,
        sums: sums.sums,
        stopped: stopped_ns.map(|at_ns| PathStop { time: time(at_ns), limit }),
        recorded,
    })
}

/// The streams of states of threads.
pub(crate) fn state_streams(source: &dyn Source) -> Vec<TrackedStream<'_>> {
    TrackedStream::all(source, |stream, rule| {
        let schema = source.streams().get(usize::from(stream));
        let is_state = schema.is_some_and(|schema| matches!(schema.meaning().kind, RowKind::State { .. }));
        is_state && *rule.kind() == TrackKind::Thread
    })
}

fn find<'a, 'b>(
    streams: &'b [TrackedStream<'a>],
    of: PathOf,
) -> Result<(&'b TrackedStream<'a>, FoundTrack<'a>), ViewError> {
    match of {
        PathOf::Track(TrackId { stream, track }) => {
            let none = || ViewError::NoTrack { stream, track };
            let states = streams.iter().find(|states| states.stream == stream).ok_or_else(none)?;
            Ok((states, states.track(track).ok_or_else(none)?))
        }
        PathOf::Thread(tid) => {
            let found = streams.iter().find_map(|states| Some((states, states.of_key(tid).next()?)));
            found.ok_or(ViewError::NoThread { tid })
        }
    }
}

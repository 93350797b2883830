//! Tracks of states and slices, from the track index: which there are, what is on them in a window and at a moment; and what else
//! the tree of tracks has.

mod binned;
mod critical_path;
mod flows;
mod keys;
mod list;
mod moment;
mod named;
mod pages;
mod parts;
mod reader;
mod ticks;
mod wakeups;
mod window;

use bathyscope_capture::{TrackDirectory, TrackEntry, TrackName, TrackNameId, visible};

use crate::{Source, answers::TrackLabel};

pub(crate) use keys::track_key;
pub(crate) use reader::{FoundTrack, StoredRow, TrackReader, TrackedStream, word};
pub(crate) use wakeups::{Wakeup, Wakeups};

pub use critical_path::{CriticalPathQuery, MAX_PATH_PARTS, PathOf, critical_path};
pub use list::track_list;
pub(crate) use list::value_text;
pub use moment::{TrackMomentQuery, track_moment};
pub use ticks::{MAX_TICK_CHUNKS, TickQuery, tick_moment};
pub use window::{MAX_WINDOW_TRACKS, TrackWindowQuery, track_window};

/// What the kernel calls its soft interrupts, by their numbers.
const SOFT_INTERRUPTS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What rows with a name are called.
pub(crate) fn tracked_label(source: &dyn Source, tracks: &TrackedStream<'_>, name: TrackNameId) -> TrackLabel {
    label(source, (tracks.stream, tracks.directory), name)
}

/// What a row is called.
pub(crate) fn entry_label(source: &dyn Source, tracks: &TrackedStream<'_>, row: &TrackEntry) -> TrackLabel {
    tracked_label(source, tracks, row.name)
}

/// What rows with a name are called.
fn label(source: &dyn Source, (stream, directory): (u16, &TrackDirectory), id: TrackNameId) -> TrackLabel {
    name_label(source, stream, directory.names.get(id as usize).copied().unwrap_or_default())
}

/// What rows of a stream with this name are called.
pub(crate) fn name_label(source: &dyn Source, stream: u16, name: TrackName) -> TrackLabel {
    let TrackName { text, number, pid, tid } = name;
    let schema = source.streams().get(usize::from(stream));
    let of_cpu = schema.is_some_and(|schema| schema.name == "cpu occupation");
    let known = source.dictionaries().text(text).map(visible).filter(|text| !text.is_empty());
    let text = known.unwrap_or_else(|| match schema {
        Some(schema) if schema.name == "soft interrupts" => {
            let known = usize::try_from(number).ok().and_then(|number| SOFT_INTERRUPTS.get(number));
            known.map_or_else(|| number.to_string(), |known| (*known).to_owned())
        }
        Some(schema) if number == 0 => visible(schema.name.as_bytes()),
        _ => number.to_string(),
    });
    TrackLabel { text, pid: of_cpu.then_some(pid), tid: of_cpu.then_some(tid) }
}

//! Which rows are of the tracks that a range is over.

use std::collections::HashSet;

use bathyscope_capture::{TrackKind, TrackRow, TrackRule};

use crate::{MAX_WINDOW_TRACKS, Source, ViewError, answers::TrackId};

/// The tracks that a range is over.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkedTracks {
    is_all: bool,
    /// By their keys: idle threads by CPU.
    threads: HashSet<u64>,
    cpus: HashSet<u64>,
    /// By stream.
    values: HashSet<(u16, u64)>,
}

impl MarkedTracks {
    /// Finds out what the tracks are of.
    ///
    /// # Errors
    /// If there is no such track, or there are too many.
    pub(super) fn of(source: &dyn Source, tracks: &[TrackId]) -> Result<Self, ViewError> {
        ViewError::within("the number of tracks", tracks.len() as u64, 0, MAX_WINDOW_TRACKS as u64)?;
        let mut marked = Self { is_all: tracks.is_empty(), ..Self::default() };
        for TrackId { stream, track } in tracks.iter().copied() {
            let directory =
                source.tracks().iter().find(|(number, _)| *number == stream).map(|(_, directory)| directory);
            let info = directory.and_then(|directory| directory.tracks.get(track as usize));
            let rule = source.streams().get(usize::from(stream)).and_then(TrackRule::of);
            let (Some(info), Some(rule)) = (info, rule) else { return Err(ViewError::NoTrack { stream, track }) };
            match rule.kind() {
                TrackKind::Thread => marked.threads.insert(info.key),
                TrackKind::Cpu => marked.cpus.insert(info.key),
                TrackKind::Value(_) => marked.values.insert((stream, info.key)),
            };
        }
        Ok(marked)
    }

    /// Whether rows of this thread on this CPU count.
    pub(super) fn has(&self, tid: u64, cpu: u64) -> bool {
        self.is_all || self.has_thread(tid, cpu) || self.cpus.contains(&cpu)
    }

    fn has_thread(&self, tid: u64, cpu: u64) -> bool {
        self.threads.contains(&if tid == 0 { TrackRule::idle_key(cpu) } else { tid })
    }

    /// Whether a row of a stream of states or slices counts.
    pub(super) fn has_row(&self, stream: u16, row: &TrackRow) -> bool {
        self.has_key(stream, Some(row.key), row.tid, row.cpu)
    }

    /// Whether a row counts whose track may have a key.
    pub(super) fn has_key(&self, stream: u16, key: Option<u64>, tid: u64, cpu: u64) -> bool {
        self.has(tid, cpu) || key.is_some_and(|key| self.values.contains(&(stream, key)))
    }

    /// Whether a wake-up counts: either of the two threads is marked, or the CPU.
    pub(super) fn has_either(&self, waker: u64, wakee: u64, cpu: u64) -> bool {
        self.has(wakee, cpu) || self.has_thread(waker, cpu)
    }
}

//! How long rows of each name took on some tracks.

use std::{cmp::Reverse, collections::HashMap};

use bathyscope_capture::{NameTotals, TrackInfo, TrackNameId, track_totals as totals_of};

use super::{
    label,
    pages::{PagesOfTrack, ReadPages},
    window::TrackWindowQuery,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{NameTime, TrackId, TrackLabel, TrackSum, TrackTotals},
    source::relative,
};

/// How long rows of each name took on some tracks in a range, as far as they lie in it.
///
/// # Errors
/// If the query does not fit, a page cannot be read, or `cancel` was set.
pub fn track_totals(source: &dyn Source, query: &TrackWindowQuery, cancel: &Cancel) -> Result<TrackTotals, ViewError> {
    query.check()?;
    let mut labels = Labels { source, names: Vec::new(), known: HashMap::new() };
    let mut sums: HashMap<TrackId, Vec<NameTime>> = HashMap::new();
    for stream in query.streams() {
        let Some((_, directory)) = source.tracks().iter().find(|(number, _)| *number == stream) else { continue };
        let wanted: Vec<(u32, &TrackInfo)> =
            query.of_stream(stream).filter_map(|track| Some((track, directory.tracks.get(track as usize)?))).collect();
        let mut found: Vec<NameTotals> = Vec::new();
        let range = query.range.start_ns..query.range.end_ns;
        ReadPages::until_read(source, stream, cancel, |read| {
            found.clear();
            for (track, info) in &wanted {
                let mut totals = NameTotals::default();
                totals_of(&PagesOfTrack { read, track: *track }, info, range.clone(), &mut totals);
                found.push(totals);
            }
        })?;
        for ((track, _), totals) in wanted.iter().zip(found) {
            let mut times: Vec<(TrackNameId, u64)> = totals.into_iter().filter(|(_, time_ns)| *time_ns > 0).collect();
            times.sort_unstable_by_key(|(name, time_ns)| (Reverse(*time_ns), *name));
            let times = times.into_iter().map(|(name, time)| NameTime { name: labels.number(stream, name), time });
            sums.insert(TrackId { stream, track: *track }, times.collect());
        }
    }
    let sum = |id: &TrackId| TrackSum { id: id.to_string(), names: sums.get(id).cloned().unwrap_or_default() };
    let origin = source.origin_ns();
    Ok(TrackTotals {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        tracks: query.tracks.iter().map(sum).collect(),
        names: labels.names,
    })
}

struct Labels<'a> {
    source: &'a dyn Source,
    names: Vec<TrackLabel>,
    known: HashMap<(u16, TrackNameId), u32>,
}

impl Labels<'_> {
    fn number(&mut self, stream: u16, name: TrackNameId) -> u32 {
        let (source, names) = (self.source, &mut self.names);
        *self.known.entry((stream, name)).or_insert_with(|| {
            let directory = source.tracks().iter().find(|(number, _)| *number == stream);
            names.push(directory.map(|(_, directory)| label(source, (stream, directory), name)).unwrap_or_default());
            (names.len() - 1) as u32
        })
    }
}

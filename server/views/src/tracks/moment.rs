//! What a track has at a moment, and before and after that.

use bathyscope_capture::{FoundRow, TrackEntry, TrackRule, row_at, row_number};

use super::{
    label,
    pages::{PagesOfTrack, ReadPages},
};
use crate::{
    Cancel, Source, ViewError,
    answers::{RowFields, TrackId, TrackMoment, TrackRowLine},
    cells, heads,
    source::relative,
};

/// Chunks that a row is looked for in, behind and before the one that it is most likely in.
const NEAR_CHUNKS: usize = 8;

/// Which moment of which track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackMomentQuery {
    /// The track.
    pub track: TrackId,
    /// The moment.
    pub time_ns: u64,
}

/// The row of a track at a moment, or the next one after it, with all of its columns, and those before and after it.
///
/// # Errors
/// If there is no such track, pages or rows cannot be read, or `cancel` was set.
pub fn track_moment(source: &dyn Source, query: &TrackMomentQuery, cancel: &Cancel) -> Result<TrackMoment, ViewError> {
    let TrackId { stream, track } = query.track;
    let none = || ViewError::NoTrack { stream, track };
    let (_, directory) = source.tracks().iter().find(|(number, _)| *number == stream).ok_or_else(none)?;
    let info = directory.tracks.get(track as usize).ok_or_else(none)?;
    let mut found: [Option<(u64, TrackEntry)>; 3] = [None; 3];
    ReadPages::until_read(source, stream, cancel, |read| {
        let pages = PagesOfTrack { read, track };
        found = [None; 3];
        let row = |found| if let FoundRow::Row(number, entry) = found { Some((number, entry)) } else { None };
        let at = match row_at(&pages, info, query.time_ns) {
            FoundRow::Unread => return,
            // After the end of all, the last one is before.
            FoundRow::None => info.rows,
            FoundRow::Row(number, entry) => {
                found[1] = Some((number, entry));
                found[2] = row(row_number(&pages, info, number + 1));
                number
            }
        };
        found[0] = at.checked_sub(1).and_then(|before| row(row_number(&pages, info, before)));
    })?;
    let line = |(number, entry): (u64, TrackEntry)| TrackRowLine {
        number,
        start: relative(source.origin_ns(), entry.begin_ns),
        end: relative(source.origin_ns(), entry.end_ns),
        duration: entry.duration_ns(),
        name: label(source, (stream, directory), entry.name),
    };
    let fields = match found[1] {
        Some((_, entry)) => fields(source, stream, info.key, &entry)?,
        None => None,
    };
    let [before, at, after] = found.map(|row| row.map(line));
    Ok(TrackMoment { before, at, after, fields })
}

/// All columns of the row that an entry was made of. Rows are stored in the order of their ends: it is in the first chunk that
/// has a row from after its end, or in one just before that.
fn fields(source: &dyn Source, stream: u16, key: u64, entry: &TrackEntry) -> Result<Option<RowFields>, ViewError> {
    let Some(schema) = source.streams().get(usize::from(stream)) else { return Ok(None) };
    let Some(rule) = TrackRule::of(schema) else { return Ok(None) };
    let chunks = source.chunks(stream);
    let likely = chunks.partition_point(|chunk| chunk.last_ns < entry.end_ns);
    let (first, last) = (likely.saturating_sub(NEAR_CHUNKS), (likely + NEAR_CHUNKS).min(chunks.len()));
    let mut near: Vec<usize> = (first..last).collect();
    near.sort_by_key(|chunk| chunk.abs_diff(likely));
    let wanted: Vec<usize> = (0..schema.columns.len()).collect();
    for chunk in near {
        let inside = chunks.get(chunk).is_some_and(|meta| meta.first_ns <= entry.begin_ns);
        if !inside {
            continue;
        }
        let batch = source.batch(stream, chunk, &wanted)?;
        if let Some(row) = rule.row_of(&batch, key, entry) {
            return Ok(Some(RowFields {
                columns: heads(schema),
                cells: cells(source.dictionaries(), schema, &batch, row, source.origin_ns()),
            }));
        }
    }
    Ok(None)
}

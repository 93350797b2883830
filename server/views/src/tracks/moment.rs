//! What a track has at a moment, and before and after that.

use bathyscope_capture::{Batch, Column, ColumnType, StreamSchema, TrackEntry};

use super::{
    StoredRow, TrackReader, TrackedStream,
    flows::{FlowFinder, stack_lines},
    named::same_name,
    tracked_label, word,
};
use crate::{
    Cancel, Source, ViewError,
    answers::{RowFields, RowStack, TrackId, TrackMoment, TrackRowLine},
    cells, heads,
    source::relative,
};

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
    let tracks = TrackedStream::all(source, |number, _| number == stream);
    let tracks = tracks.first().ok_or_else(none)?;
    let track = tracks.track(track).ok_or_else(none)?;
    let mut reader = TrackReader::new(source, cancel);
    reader.go_on()?;
    let at = reader.row_at(track, query.time_ns)?;
    let before = match at.map_or(track.info.rows, |(number, _)| number).checked_sub(1) {
        Some(before) => reader.row_number(track, before)?.map(|row| (before, row)),
        None => None,
    };
    let after = match at {
        Some((number, _)) => reader.row_number(track, number + 1)?.map(|row| (number + 1, row)),
        None => None,
    };
    let line = |(number, entry): (u64, TrackEntry)| TrackRowLine {
        stream,
        number,
        start: relative(source.origin_ns(), entry.begin_ns),
        end: relative(source.origin_ns(), entry.end_ns),
        duration: entry.duration_ns(),
        name: tracked_label(source, tracks, entry.name),
    };
    let mut moment =
        TrackMoment { before: before.map(line), at: at.map(line), after: after.map(line), ..TrackMoment::default() };
    let (Some(at), Some(schema)) = (at, source.streams().get(usize::from(stream))) else { return Ok(moment) };
    let name_column = tracks.rule.name_column().and_then(|at| schema.columns.get(at));
    moment.name_column = name_column.map(|column| column.name.clone());
    let wanted: Vec<usize> = (0..schema.columns.len()).collect();
    if let Some(StoredRow { batch, row }) = tracks.stored_row(source, track.info.key, &at.1, &wanted)? {
        let cells = cells(source.dictionaries(), schema, &batch, row, source.origin_ns());
        moment.stacks = stacks(source, schema, &batch, row);
        moment.fields = Some(RowFields { columns: heads(schema), cells });
    }
    let same = same_name(&mut reader, track, at)?;
    (moment.before_same, moment.after_same) = (same.before.map(line), same.after.map(line));
    moment.same_cut = same.is_cut;
    moment.flows = FlowFinder::new(source).of_row(&mut reader, track, at)?;
    Ok(moment)
}

/// The stacks of a row, by column.
pub(super) fn stacks(source: &dyn Source, schema: &StreamSchema, batch: &Batch, row: usize) -> Vec<RowStack> {
    let columns = schema.columns.iter().enumerate().filter(|(_, column)| column.ty == ColumnType::Stack);
    let stack = |(at, column): (usize, &Column)| {
        let stack = word(batch, Some(at), row).and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        RowStack { column: column.name.clone(), functions: stack_lines(source.dictionaries(), stack) }
    };
    columns.map(stack).filter(|stack| !stack.functions.is_empty()).collect()
}

//! A script's maps: histograms, heat maps, tables, flame graphs and lines over time, from the rows of their snapshots.

mod heat;
mod shape;
mod table;

use bathyscope_capture::StackId;
use serde::Serialize;

use crate::{
    Cancel, Cell, FlameGraph, FlameQuery, MAX_FLAME_WIDTH, Source, ViewError,
    cell::cells,
    flame::{Weighted, fold_weighted},
};

pub use heat::{Bucket, HeatColumn, HeatView, HistogramView, KeyTotal, heat, histogram};
pub use shape::{KeyId, MapKind, MapShape, ParseKeyIdError, SnapshotInfo, snapshots};
pub use table::{Line, MapTable, SeriesView, TableQuery, map_table, series};

/// The most keys that are told with a histogram.
pub const MAX_MAP_KEYS: usize = 200;
/// The most columns of a heat map and points of a line.
pub const MAX_MAP_SNAPSHOTS: usize = 600;
/// The most lines.
pub const MAX_MAP_LINES: usize = 20;
/// The most rows of a page of a map's table.
pub const MAX_MAP_PAGE: u32 = 1000;

/// A moment at which a map was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct At {
    /// The snapshot's number, from 1.
    pub snapshot: u64,
    /// When, nanoseconds since the capture's start.
    pub time: i64,
}

/// The snapshot that is asked for, or the last.
fn choose(
    source: &dyn Source,
    shape: &MapShape,
    number: Option<u64>,
    cancel: &Cancel,
) -> Result<Option<SnapshotInfo>, ViewError> {
    let all = snapshots(source, shape, cancel)?;
    match number {
        None => Ok(all.last().copied()),
        Some(number) => match all.iter().find(|info| info.number == number) {
            Some(found) => Ok(Some(*found)),
            None => {
                let (least, most) = all.first().zip(all.last()).map_or((0, 0), |(a, b)| (a.number, b.number));
                Err(ViewError::OutOfRange { what: "the number of the snapshot", value: number, least, most })
            }
        },
    }
}

/// A flame graph of a map that is keyed by stacks, its values as weights. Other parts of the key, joined, are the first
/// level. Range, filter, process and thread of the query do not count.
///
/// # Errors
/// [`ViewError::NoSamples`] if its keys have no stacks; or if the snapshot does not exist, a chunk cannot be loaded, or
/// `cancel` was set.
pub fn map_flame(
    source: &dyn Source,
    shape: &MapShape,
    number: Option<u64>,
    query: &FlameQuery,
    cancel: &Cancel,
) -> Result<FlameGraph, ViewError> {
    let (least, most) = (1, u64::from(MAX_FLAME_WIDTH));
    if !(least..=most).contains(&u64::from(query.width)) {
        let what = "the width of the flame graph in pixels";
        return Err(ViewError::OutOfRange { what, value: u64::from(query.width), least, most });
    }
    if !shape.has_stacks(source)? {
        return Err(ViewError::NoSamples);
    }
    let mut stacks = Vec::new();
    if let Some(info) = choose(source, shape, number, cancel)? {
        shape.each(source, &info, cancel, &mut |schema, batch, row| {
            let row_cells = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
            let key = || shape.key.iter().filter_map(|column| row_cells.get(*column));
            let ids: Vec<StackId> =
                key().filter_map(|cell| if let Cell::Stack { id, .. } = cell { Some(*id) } else { None }).collect();
            let rest = key().filter(|cell| !matches!(cell, Cell::Stack { .. } | Cell::Null));
            let group = rest.map(words).collect::<Vec<_>>().join(", ");
            let weight = shape.weight(&row_cells);
            if weight > 0 {
                stacks.push(Weighted { group, stacks: ids, weight });
            }
        })?;
    }
    let grouped = stacks.iter().any(|stack| !stack.group.is_empty());
    let folded = fold_weighted(source, query, stacks, grouped);
    Ok(folded.graph(query.focus, query.search.as_deref(), query.width))
}

/// A cell in words.
fn words(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Number(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Stack { top, .. } => top.clone(),
    }
}

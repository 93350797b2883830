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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use bathyscope_capture::{Batch, Column, ColumnData, ColumnType, Display, StreamKind, StreamSchema};

    use super::*;
    use crate::MemorySource;

    static CANCEL: Cancel = Cancel::new(false);

    /// Snapshot, key, low, high, count.
    type Row = (u64, u32, i64, i64, u64);

    /// A histogram with a key of text.
    fn source(rows: &[Row]) -> MemorySource {
        let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
        let own = [
            column("snapshot", ColumnType::U64),
            column("key", ColumnType::Text),
            column("low", ColumnType::I64),
            column("high", ColumnType::I64),
            column("count", ColumnType::U64),
        ];
        let schema = StreamSchema::new("@", StreamKind::Map, own);
        let numbers = |value: &dyn Fn(&Row) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let none = || numbers(&|_| 0);
        let columns = vec![
            numbers(&|row| 100 + row.0),
            none(),
            none(),
            none(),
            ColumnData::Id(vec![0; rows.len()]),
            numbers(&|row| row.0),
            ColumnData::Id(rows.iter().map(|row| row.1).collect()),
            ColumnData::I64(rows.iter().map(|row| row.2).collect()),
            ColumnData::I64(rows.iter().map(|row| row.3).collect()),
            numbers(&|row| row.4),
        ];
        let mut source = MemorySource::new(100);
        source.push_stream(schema, vec![Batch { columns }]);
        source.dictionaries.insert_string(1, *b"dd");
        source.dictionaries.insert_string(2, *b"cat");
        source
    }

    fn shape(source: &MemorySource, resets: bool) -> MapShape {
        MapShape::of(0, source.streams().first().unwrap(), resets).unwrap()
    }

    fn made() -> MemorySource {
        source(&[(1, 1, 0, 1, 5), (1, 2, 2, 3, 1), (2, 1, 0, 1, 8), (2, 1, 4, 7, 2), (3, 1, 0, 1, 3)])
    }

    #[test]
    fn the_shape_follows_from_the_columns() {
        let source = made();
        let shape = shape(&source, false);
        assert_eq!(
            (shape.kind, shape.key.as_slice(), shape.value.as_slice()),
            (MapKind::Histogram, &[6][..], &[7, 8, 9][..])
        );
        let events = StreamSchema::new("printf:1", StreamKind::Events, []);
        assert_eq!(MapShape::of(0, &events, false), None);
    }

    #[test]
    fn a_histogram_is_of_one_key_or_of_all() {
        let source = made();
        let shape = shape(&source, false);
        let all = histogram(&source, &shape, Some(1), None, &CANCEL).unwrap();
        assert_eq!((all.total, all.buckets.len(), all.keys.len()), (6, 2, 2));
        assert_eq!(all.keys.first().unwrap().key, [Cell::Text("dd".to_owned())]);
        let one = histogram(&source, &shape, Some(1), Some(all.keys.last().unwrap().id), &CANCEL).unwrap();
        assert_eq!((one.total, one.buckets.len()), (1, 1));
        assert_eq!(histogram(&source, &shape, None, None, &CANCEL).unwrap().at, Some(At { snapshot: 3, time: 3 }));
        assert!(histogram(&source, &shape, Some(9), None, &CANCEL).is_err());
    }

    #[test]
    fn a_heat_map_shows_what_came_in() {
        let source = made();
        let counts = |resets| -> Vec<Vec<u64>> {
            let view = heat(&source, &shape(&source, resets), None, &CANCEL).unwrap();
            assert_eq!(view.buckets.len(), 3);
            view.columns.into_iter().map(|column| column.counts).collect()
        };
        // The third is less than the second, so the map was emptied in between.
        assert_eq!(counts(false), [[5, 1, 0], [3, 0, 2], [3, 0, 0]]);
        assert_eq!(counts(true), [[5, 1, 0], [8, 0, 2], [3, 0, 0]]);
    }

    #[test]
    fn tables_and_lines_begin_with_the_greatest() {
        let source = made();
        let shape = shape(&source, false);
        let query = TableQuery { snapshot: Some(2), offset: 0, limit: 1, ascending: false };
        let table = map_table(&source, &shape, &query, &CANCEL).unwrap();
        assert_eq!((table.total, table.rows.len(), table.sum), (2, 1, Some(Cell::Number(10))));
        assert_eq!(table.rows.first().unwrap().last(), Some(&Cell::Number(8)));
        let lines = series(&source, &shape, &CANCEL).unwrap();
        let number = Cell::Number;
        assert_eq!(lines.at.len(), 3);
        let values: Vec<_> = lines.lines.into_iter().map(|line| line.values).collect();
        assert_eq!(values, [vec![number(5), number(10), number(3)], vec![number(1), Cell::Null, Cell::Null]]);
        assert!(matches!(map_flame(&source, &shape, None, &FlameQuery::default(), &CANCEL), Err(ViewError::NoSamples)));
    }
}

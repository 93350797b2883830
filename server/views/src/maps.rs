//! A script's maps: histograms, heat maps, tables, flame graphs and lines over time, from the rows of their snapshots.

mod against;
mod heat;
mod period;
mod shape;
mod table;
mod unit;

use bathyscope_capture::{MappingKind, ShownCell, StackId};
use period::{Readings, adds_up};

use crate::{
    Cancel, FlameQuery, MAX_FLAME_WIDTH, Source, ViewError,
    answers::FlameGraph,
    flame::{Weighted, fold_weighted},
};

pub use against::{SideMap, map_against};
pub use heat::{heat, histogram};
pub use period::Period;
pub use shape::{MapShape, SnapshotInfo, snapshots};
pub use table::{TableQuery, map_table, series};

/// The most keys that are told with a histogram.
pub const MAX_MAP_KEYS: usize = 200;
/// The most columns of a heat map and points of a line.
pub const MAX_MAP_SNAPSHOTS: usize = 600;
/// The most lines.
pub const MAX_MAP_LINES: usize = 20;
/// The most rows of a page of a map's table.
pub const MAX_MAP_PAGE: u32 = 1000;

/// A flame graph of a map that is keyed by stacks, its values as weights. Other parts of the key, joined, are the first
/// level. Whatever the order of its parts, kernel frames are called by user frames. Filter, process and thread of the query
/// do not count.
///
/// # Errors
/// [`ViewError::NoSamples`] if its keys have no stacks; or if the snapshot does not exist, a chunk cannot be loaded, or
/// `cancel` was set.
pub fn map_flame(
    source: &dyn Source,
    shape: &MapShape,
    period: Period,
    query: &FlameQuery,
    cancel: &Cancel,
) -> Result<FlameGraph, ViewError> {
    ViewError::within("the width of the flame graph in pixels", query.width.into(), 1, MAX_FLAME_WIDTH.into())?;
    if !shape.has_stacks(source)? {
        return Err(ViewError::NoSamples);
    }
    let mut stacks = Vec::new();
    if let Some(readings) = Readings::of(source, shape, period, cancel)? {
        readings.each(source, shape, cancel, &mut |_key, row_cells| {
            let key = || shape.key.iter().filter_map(|column| row_cells.get(*column));
            let mut ids: Vec<StackId> = key()
                .filter_map(|cell| if let ShownCell::Stack { id, .. } = cell { Some(*id) } else { None })
                .collect();
            ids.sort_by_key(|id| !is_of_kernel(source, *id));
            let rest = key().filter(|cell| !matches!(cell, ShownCell::Stack { .. } | ShownCell::Null));
            let group = rest.map(words).collect::<Vec<_>>().join(", ");
            let weight = shape.weight(&row_cells);
            if weight > 0 {
                stacks.push(Weighted { group, stacks: ids, weight });
            }
        })?;
    }
    let grouped = stacks.iter().any(|stack| !stack.group.is_empty());
    let search = query.searched()?;
    let fold = |query: &FlameQuery| Ok(fold_weighted(source, query, stacks, grouped, shape.unit.name()));
    Ok(query.arranged(cancel, fold)?.graph(query.focus, search.as_ref(), query.width))
}

/// Whether a stack is one of the kernel.
fn is_of_kernel(source: &dyn Source, stack: StackId) -> bool {
    let dictionaries = source.dictionaries();
    let outermost = dictionaries.stack(stack).and_then(|frames| frames.last()).and_then(|id| dictionaries.frame(*id));
    let mapping = outermost.and_then(|frame| dictionaries.mapping(frame.mapping));
    mapping.is_some_and(|mapping| mapping.kind == MappingKind::Kernel)
}

/// A cell in words.
fn words(cell: &ShownCell) -> String {
    match cell {
        ShownCell::Null => String::new(),
        ShownCell::Number(number) => number.to_string(),
        ShownCell::Real(number) => number.to_string(),
        ShownCell::Text(text) => text.clone(),
        ShownCell::Stack { top, .. } => top.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use bathyscope_capture::{
        Batch, Column, ColumnData, ColumnType, Display, Frame, Mapping, StreamKind, StreamSchema, Symbol,
    };

    use super::*;
    use crate::{At, MapKind};
    use crate::{MemorySource, TimeRange};

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
        let all = histogram(&source, &shape, Period::Snapshot(1), None, &CANCEL).unwrap();
        assert_eq!((all.total, all.buckets.len(), all.keys.len()), (6, 2, 2));
        assert_eq!(all.keys.first().unwrap().key, [ShownCell::Text("dd".to_owned())]);
        let one = histogram(&source, &shape, Period::Snapshot(1), Some(all.keys.last().unwrap().id), &CANCEL).unwrap();
        assert_eq!((one.total, one.buckets.len()), (1, 1));
        assert_eq!(
            histogram(&source, &shape, Period::Last, None, &CANCEL).unwrap().at,
            Some(At { snapshot: 3, time: 3 })
        );
        assert!(histogram(&source, &shape, Period::Snapshot(9), None, &CANCEL).is_err());
    }

    #[test]
    fn a_heat_map_shows_what_came_in() {
        let source = made();
        let counts = |resets| -> Vec<Vec<u64>> {
            let view = heat(&source, &shape(&source, resets), None, TimeRange::ALL, &CANCEL).unwrap();
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
        let query = TableQuery { period: Period::Snapshot(2), offset: 0, limit: 1, ascending: false };
        let table = map_table(&source, &shape, &query, &CANCEL).unwrap();
        assert_eq!((table.total, table.rows.len(), table.sum), (2, 1, Some(ShownCell::Number(10))));
        assert_eq!(table.rows.first().unwrap().last(), Some(&ShownCell::Number(8)));
        let lines = series(&source, &shape, TimeRange::ALL, &CANCEL).unwrap();
        let number = ShownCell::Number;
        assert_eq!(lines.at.len(), 3);
        let values: Vec<_> = lines.lines.into_iter().map(|line| line.values).collect();
        assert_eq!(values, [vec![number(5), number(10), number(3)], vec![number(1), ShownCell::Null, ShownCell::Null]]);
        assert!(matches!(
            map_flame(&source, &shape, Period::Last, &FlameQuery::default(), &CANCEL),
            Err(ViewError::NoSamples)
        ));
    }

    /// Times of the snapshots are 101, 102, … from an origin of 100.
    const fn within(start: u64, end: u64) -> Period {
        Period::Range(TimeRange { start_ns: 100 + start, end_ns: 100 + end })
    }

    #[test]
    fn a_range_is_what_came_in_between_its_readings() {
        let source = source(&[
            (1, 1, 0, 1, 5),
            (1, 2, 2, 3, 1),
            (2, 1, 0, 1, 8),
            (2, 2, 2, 3, 1),
            (3, 1, 0, 1, 9),
            (3, 1, 4, 7, 2),
            (3, 2, 2, 3, 4),
            (4, 1, 0, 1, 1),
        ]);
        let totals = |resets: bool, period| {
            let view = histogram(&source, &shape(&source, resets), period, None, &CANCEL).unwrap();
            let counts: Vec<u64> = view.buckets.iter().map(|bucket| bucket.count).collect();
            (counts, view.since.map(|at| at.snapshot), view.at.map(|at| at.snapshot))
        };
        // From the first to the third: 4 and 2 of one key, 3 of the other.
        assert_eq!(totals(false, within(1, 4)), (vec![4, 3, 2], Some(1), Some(3)));
        assert_eq!(totals(false, within(0, 2)), (vec![5, 1], None, Some(1)));
        assert_eq!(totals(false, within(0, 99)), (vec![1], None, Some(4)));
        // The fourth has less than the third, so its element was taken out in between.
        assert_eq!(totals(false, within(3, 99)), (vec![1], Some(3), Some(4)));
        // No reading in it, or before any.
        assert_eq!(totals(false, within(5, 99)), (vec![], None, None));
        assert_eq!(totals(false, within(0, 1)), (vec![], None, None));
        // A map that the script empties itself: what its readings hold together.
        assert_eq!(totals(true, within(2, 4)), (vec![17, 5, 2], None, Some(3)));
        let one = |resets| {
            let range = TimeRange { start_ns: 102, end_ns: 104 };
            let view = heat(&source, &shape(&source, resets), None, range, &CANCEL).unwrap();
            view.columns.into_iter().map(|column| (column.from, column.at.time, column.counts)).collect::<Vec<_>>()
        };
        // The column that the range ends in is there too.
        assert_eq!(one(false), [(2, 3, vec![1, 3, 2]), (3, 4, vec![1, 0, 0])]);
        assert_eq!(one(true), [(2, 3, vec![9, 4, 2]), (3, 4, vec![1, 0, 0])]);
        let shape = shape(&source, false);
        let query = TableQuery { period: within(1, 4), offset: 0, limit: 9, ascending: false };
        let table = map_table(&source, &shape, &query, &CANCEL).unwrap();
        assert_eq!((table.total, table.sum, table.main_column), (3, Some(ShownCell::Number(9)), Some(3)));
        assert_eq!(
            series(&source, &shape, TimeRange { start_ns: 102, end_ns: 104 }, &CANCEL).unwrap().at.len(),
            2,
            "only moments of the range"
        );
    }

    #[test]
    fn many_readings_share_columns_and_none_is_left_out() {
        let rows: Vec<Row> = (1..=1500).map(|number| (number, 1, 0, 1, number)).collect();
        let source = source(&rows);
        let view = heat(&source, &shape(&source, false), None, TimeRange::ALL, &CANCEL).unwrap();
        assert_eq!((view.snapshots_per_column, view.columns.len()), (3, 500));
        assert_eq!(view.columns.iter().flat_map(|column| &column.counts).sum::<u64>(), 1500);
        assert_eq!(view.columns.last().map(|column| (column.from, column.at.time)), Some((1497, 1500)));
    }

    /// A map keyed by a stack of the program and then one of the kernel, as a script may write it.
    fn keyed_by_stacks() -> MemorySource {
        let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
        let own = [
            column("snapshot", ColumnType::U64),
            column("key0", ColumnType::Stack),
            column("key1", ColumnType::Stack),
            column("sum", ColumnType::U64),
        ];
        let schema = StreamSchema::new("@us", StreamKind::Map, own);
        let number = |value| ColumnData::U64(vec![value]);
        let id = |value| ColumnData::Id(vec![value]);
        let columns = vec![number(101), number(0), number(0), number(0), id(0), number(1), id(1), id(2), number(7_000)];
        let mut source = MemorySource::new(100);
        source.push_stream(schema, vec![Batch { columns }]);
        for (id, kind, name) in [(1, MappingKind::File, "worker"), (2, MappingKind::Kernel, "schedule")] {
            let mapping = Mapping { kind, build_id: Vec::new(), name: name.into(), pid: 0 };
            source.dictionaries.insert_mapping(id, mapping);
            source.dictionaries.insert_frame(id, Frame { mapping: id, offset: 16 });
            source.dictionaries.insert_symbol(id, Symbol { function: name.to_owned(), offset: 0, lines: Vec::new() });
            source.dictionaries.insert_stack(id, vec![id].into());
        }
        source
    }

    #[test]
    fn the_kernel_is_above_the_program_whatever_the_order_of_the_key() {
        let source = keyed_by_stacks();
        let shape = shape(&source, false);
        let graph = map_flame(&source, &shape, Period::Last, &FlameQuery::default(), &CANCEL).unwrap();
        let level = |depth: u32| {
            let index = graph.nodes.depth.iter().position(|one| *one == depth).unwrap();
            graph.names.get(*graph.nodes.name.get(index).unwrap() as usize).unwrap().as_str()
        };
        assert_eq!((level(1), level(2)), ("worker", "schedule"));
        assert_eq!((graph.unit, graph.total), ("microseconds", 7_000));
        let svg = crate::svg(&graph, &crate::SvgOptions::default());
        assert!(svg.contains("7,000 µs") && !svg.contains("sample"), "{svg}");
    }
}

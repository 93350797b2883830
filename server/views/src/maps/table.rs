//! A snapshot as a table, and values over all snapshots as lines.

use std::collections::{BTreeMap, HashMap};

use bathyscope_capture::ShownCell;

use super::{MAX_MAP_LINES, MAX_MAP_PAGE, MAX_MAP_SNAPSHOTS, MapShape, Period, period::Readings, snapshots};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{At, KeyId, MapKind, MapTable, SeriesLine, SeriesView},
    cell::{cells, heads},
    scan::schema_of,
};

/// The most elements of a snapshot that are sorted.
const MAX_SORTED: usize = 1 << 20;

/// Which part of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableQuery {
    /// Which part of the map's history.
    pub period: Period,
    /// Elements before the page.
    pub offset: u64,
    /// Elements in the page, at most [`MAX_MAP_PAGE`].
    pub limit: u32,
    /// Whether the least come first.
    pub ascending: bool,
}

/// A page of a snapshot.
///
/// # Errors
/// If the snapshot does not exist, the page is too large, a chunk cannot be loaded, or `cancel` was set.
pub fn map_table(
    source: &dyn Source,
    shape: &MapShape,
    query: &TableQuery,
    cancel: &Cancel,
) -> Result<MapTable, ViewError> {
    ViewError::within("the number of rows in a page", query.limit.into(), 0, MAX_MAP_PAGE.into())?;
    let heads = heads(schema_of(source, shape.stream)?);
    let own = || shape.key.iter().chain(&shape.value);
    let columns = own().filter_map(|column| heads.get(*column).cloned()).collect();
    let main = shape.main_column().and_then(|column| own().position(|one| *one == column));
    let mut table = MapTable {
        columns,
        key_columns: shape.key.len(),
        offset: query.offset,
        main_column: main,
        unit: shape.unit,
        ..MapTable::default()
    };
    let Some(readings) = Readings::of(source, shape, query.period, cancel)? else { return Ok(table) };
    let mut rows: Vec<(Option<i128>, Vec<ShownCell>)> = Vec::new();
    let mut sum: i128 = 0;
    readings.each(source, shape, cancel, &mut |_key, row| {
        if !shape.is_in(&row, query.period.range(), source.origin_ns()) {
            return;
        }
        table.total += 1;
        let number = shape.number(&row);
        sum = sum.saturating_add(number.unwrap_or(0));
        if rows.len() < MAX_SORTED {
            rows.push((number, own().filter_map(|column| row.get(*column).cloned()).collect()));
        }
    })?;
    // Stable: elements of the same value stay in the order in which they are printed.
    match query.ascending {
        true => rows.sort_by_key(|(number, _)| *number),
        false => rows.sort_by_key(|(number, _)| std::cmp::Reverse(*number)),
    }
    let from = usize::try_from(query.offset).unwrap_or(usize::MAX);
    table.rows = rows.into_iter().skip(from).take(query.limit as usize).map(|(_, row)| row).collect();
    (table.at, table.since) = (readings.at(source), readings.since(source));
    let adds_up = matches!(shape.kind, MapKind::Count | MapKind::Sum | MapKind::Histogram | MapKind::Stats);
    table.sum = adds_up.then_some(ShownCell::Number(sum));
    Ok(table)
}

/// The values of the greatest keys over the snapshots of a range; of a time series, over the intervals of its last snapshot.
///
/// # Errors
/// If there is no such stream, a chunk cannot be loaded, or `cancel` was set.
pub fn series(
    source: &dyn Source,
    shape: &MapShape,
    within: TimeRange,
    cancel: &Cancel,
) -> Result<SeriesView, ViewError> {
    let mut all = snapshots(source, shape, cancel)?;
    if shape.kind != MapKind::TimeSeries {
        all.retain(|info| within.contains(info.time_ns));
    }
    let skipped = if shape.kind == MapKind::TimeSeries {
        all.len().saturating_sub(1)
    } else {
        all.len().saturating_sub(MAX_MAP_SNAPSHOTS)
    };
    let kept = all.get(skipped..).unwrap_or_default();
    let Some(first) = kept.first() else { return Ok(SeriesView::default()) };
    let end_ns = kept.last().map_or(first.time_ns, |info| info.time_ns).saturating_add(1);
    let range = TimeRange { start_ns: first.time_ns, end_ns };
    // Moments: by snapshot number, or by the begin of the interval.
    let mut moments: BTreeMap<i128, At> = BTreeMap::new();
    if shape.kind != MapKind::TimeSeries {
        moments = kept.iter().map(|info| (i128::from(info.number), info.at(source))).collect();
    }
    let mut keys: HashMap<KeyId, (Vec<ShownCell>, BTreeMap<i128, i128>)> = HashMap::new();
    shape.each_in(source, range, cancel, &mut |number, schema, batch, row| {
        let id = shape.key_id(batch, row);
        let row = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
        let Some(value) = shape.number(&row).filter(|_| shape.is_in(&row, within, source.origin_ns())) else { return };
        let moment = match (shape.kind, shape.value.first().and_then(|column| row.get(*column))) {
            (MapKind::TimeSeries, Some(ShownCell::Number(begin))) => {
                let time = i64::try_from(*begin).unwrap_or(i64::MAX);
                moments.insert(*begin, At { snapshot: number, time });
                *begin
            }
            _ => i128::from(number),
        };
        let parts = || shape.key.iter().filter_map(|column| row.get(*column).cloned()).collect();
        let (_, values) = keys.entry(id).or_insert_with(|| (parts(), BTreeMap::new()));
        let sum = values.entry(moment).or_insert(0_i128);
        *sum = sum.saturating_add(value);
    })?;
    let mut keys: Vec<_> = keys.into_iter().collect();
    let last = |values: &BTreeMap<i128, i128>| values.last_key_value().map(|(_, value)| *value);
    keys.sort_by(|(a, (_, x)), (b, (_, y))| last(y).cmp(&last(x)).then(a.cmp(b)));
    let more_keys = keys.len().saturating_sub(MAX_MAP_LINES) as u64;
    let line = |(id, (key, values)): (KeyId, (Vec<ShownCell>, BTreeMap<i128, i128>))| {
        let value = |moment: &i128| values.get(moment).map_or(ShownCell::Null, |value| ShownCell::Number(*value));
        SeriesLine { id, key, values: moments.keys().map(value).collect() }
    };
    let lines = keys.into_iter().take(MAX_MAP_LINES).map(line).collect();
    Ok(SeriesView { at: moments.into_values().collect(), lines, more_keys, unit: shape.unit })
}

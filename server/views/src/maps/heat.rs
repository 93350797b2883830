//! Histograms: one snapshot as buckets, all snapshots as a heat map.

use std::collections::{BTreeMap, HashMap};

use bathyscope_capture::ShownCell;

use super::{MAX_MAP_KEYS, MAX_MAP_SNAPSHOTS, MapShape, Period, SnapshotInfo, period::Readings, snapshots};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{Bucket, HeatColumn, HeatView, HistogramView, KeyId, KeyTotal},
    cell::cells,
    source::relative,
};

type Limits = (i128, i128);

/// The limits and count in a row.
fn bucket_of(shape: &MapShape, row: &[ShownCell]) -> Option<(Limits, u64)> {
    let number = |index: usize| match row.get(*shape.value.get(index)?)? {
        ShownCell::Number(number) => Some(*number),
        _ => None,
    };
    Some(((number(0)?, number(1)?), u64::try_from(number(2)?).ok()?))
}

/// The histogram of a period, of one key or of all together.
///
/// # Errors
/// If the snapshot does not exist, a chunk cannot be loaded, or `cancel` was set.
pub fn histogram(
    source: &dyn Source,
    shape: &MapShape,
    period: Period,
    key: Option<KeyId>,
    cancel: &Cancel,
) -> Result<HistogramView, ViewError> {
    let unit = shape.unit;
    let Some(readings) = Readings::of(source, shape, period, cancel)? else {
        return Ok(HistogramView { unit, ..HistogramView::default() });
    };
    let mut keys: HashMap<KeyId, KeyTotal> = HashMap::new();
    let mut buckets: BTreeMap<Limits, u64> = BTreeMap::new();
    readings.each(source, shape, cancel, &mut |id, row| {
        let Some((limits, count)) = bucket_of(shape, &row) else { return };
        let parts = || shape.key.iter().filter_map(|column| row.get(*column).cloned()).collect();
        keys.entry(id).or_insert_with(|| KeyTotal { id, key: parts(), total: 0 }).total += count;
        if key.is_none_or(|wanted| wanted == id) {
            *buckets.entry(limits).or_insert(0) += count;
        }
    })?;
    let mut keys: Vec<KeyTotal> = keys.into_values().collect();
    keys.sort_by(|a, b| b.total.cmp(&a.total).then(a.id.cmp(&b.id)));
    let more_keys = keys.len().saturating_sub(MAX_MAP_KEYS) as u64;
    keys.truncate(MAX_MAP_KEYS);
    let total = buckets.values().sum();
    let bucket = |((low, high), count)| Bucket { low: ShownCell::Number(low), high: ShownCell::Number(high), count };
    let buckets = buckets.into_iter().map(bucket).collect();
    let (at, since) = (readings.at(source), readings.since(source));
    Ok(HistogramView { at, since, unit, keys, more_keys, buckets, total })
}

/// What came in so far, snapshot by snapshot.
#[derive(Default)]
struct Growth {
    number: Option<u64>,
    now: BTreeMap<Limits, u64>,
    before: BTreeMap<Limits, u64>,
    /// By number of the snapshot's column.
    columns: BTreeMap<usize, BTreeMap<Limits, u64>>,
}

impl Growth {
    /// Ends a snapshot: what it has more than the one before goes to its column.
    fn close(&mut self, resets: bool, column: Option<usize>) {
        let now = std::mem::take(&mut self.now);
        if let Some(column) = column {
            let sums = self.columns.entry(column).or_default();
            for (limits, count) in &now {
                let before = if resets { 0 } else { self.before.get(limits).copied().unwrap_or(0) };
                // Less than before: it was emptied in between.
                *sums.entry(*limits).or_insert(0) += count.checked_sub(before).unwrap_or(*count);
            }
        }
        self.before = now;
    }
}

/// The snapshots whose columns touch a range as a heat map, of one key or of all together: what came in since the snapshot before, where the
/// script does not empty the map itself.
///
/// # Errors
/// If there is no such stream, a chunk cannot be loaded, or `cancel` was set.
pub fn heat(
    source: &dyn Source,
    shape: &MapShape,
    key: Option<KeyId>,
    range: TimeRange,
    cancel: &Cancel,
) -> Result<HeatView, ViewError> {
    let all = snapshots(source, shape, cancel)?;
    // A column is from the snapshot before to its own.
    let first = all.partition_point(|info| info.time_ns <= range.start_ns && range.start_ns > source.origin_ns());
    let behind = all.len().min(all.partition_point(|info| info.time_ns < range.end_ns).saturating_add(1));
    let kept = all.get(first..behind).unwrap_or_default();
    let (Some(earliest), Some(last)) = (kept.first(), kept.last()) else { return Ok(HeatView::default()) };
    let per_column = kept.len().div_ceil(MAX_MAP_SNAPSHOTS).max(1);
    // One more, to subtract it.
    let before: Option<&SnapshotInfo> = first.checked_sub(1).and_then(|index| all.get(index));
    let column_of = |number: u64| {
        let index = kept.binary_search_by_key(&number, |info| info.number).ok()?;
        Some(index / per_column)
    };
    let mut growth = Growth::default();
    let range = TimeRange { start_ns: before.unwrap_or(earliest).time_ns, end_ns: last.time_ns.saturating_add(1) };
    shape.each_in(source, range, cancel, &mut |number, schema, batch, row| {
        if growth.number != Some(number) {
            let column = growth.number.and_then(column_of);
            growth.close(shape.resets, column);
            growth.number = Some(number);
        }
        if key.is_some_and(|wanted| wanted != shape.key_id(batch, row)) {
            return;
        }
        let row = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
        if let Some((limits, count)) = bucket_of(shape, &row) {
            *growth.now.entry(limits).or_insert(0) += count;
        }
    })?;
    let column = growth.number.and_then(column_of);
    growth.close(shape.resets, column);
    let mut limits: Vec<Limits> = growth.columns.values().flat_map(|buckets| buckets.keys().copied()).collect();
    limits.sort_unstable();
    limits.dedup();
    let none = BTreeMap::new();
    let mut from = before.map_or(0, |info| relative(source.origin_ns(), info.time_ns));
    let mut view = HeatView { snapshots_per_column: per_column, unit: shape.unit, ..HeatView::default() };
    for (index, group) in kept.chunks(per_column).enumerate() {
        let Some(info) = group.last() else { continue };
        let now = growth.columns.get(&index).unwrap_or(&none);
        let counts: Vec<u64> = limits.iter().map(|limits| now.get(limits).copied().unwrap_or(0)).collect();
        view.most = view.most.max(counts.iter().copied().max().unwrap_or(0));
        let at = info.at(source);
        view.columns.push(HeatColumn { from, at, counts });
        from = at.time;
    }
    view.buckets = limits.into_iter().map(|(low, high)| (ShownCell::Number(low), ShownCell::Number(high))).collect();
    Ok(view)
}

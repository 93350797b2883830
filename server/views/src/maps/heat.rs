//! Histograms: one snapshot as buckets, all snapshots as a heat map.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{At, KeyId, MAX_MAP_KEYS, MAX_MAP_SNAPSHOTS, MapShape, choose, snapshots};
use crate::{Cancel, Cell, Source, TimeRange, ViewError, cell::cells};

/// A bucket: from `low` until before `high`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The least value.
    pub low: Cell,
    /// The first value after it.
    pub high: Cell,
    /// How many.
    pub count: u64,
}

/// A key of a histogram map, with how much is in its histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyTotal {
    /// Its id.
    pub id: KeyId,
    /// Its parts.
    pub key: Vec<Cell>,
    /// Over all buckets.
    pub total: u64,
}

/// A histogram of one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HistogramView {
    /// Which snapshot; none if there is none with anything in it.
    pub at: Option<At>,
    /// Keys, the fullest first.
    pub keys: Vec<KeyTotal>,
    /// Keys that are not told.
    pub more_keys: u64,
    /// The buckets of the chosen key, or of all keys together, from the first to the last with something in it; those
    /// between that are empty are left out.
    pub buckets: Vec<Bucket>,
    /// Over all buckets that are told.
    pub total: u64,
}

type Limits = (i128, i128);

/// The limits and count in a row.
fn bucket_of(shape: &MapShape, row: &[Cell]) -> Option<(Limits, u64)> {
    let number = |index: usize| match row.get(*shape.value.get(index)?)? {
        Cell::Number(number) => Some(*number),
        _ => None,
    };
    Some(((number(0)?, number(1)?), u64::try_from(number(2)?).ok()?))
}

/// One snapshot's histogram, of one key or of all together.
///
/// # Errors
/// If the snapshot does not exist, a chunk cannot be loaded, or `cancel` was set.
pub fn histogram(
    source: &dyn Source,
    shape: &MapShape,
    number: Option<u64>,
    key: Option<KeyId>,
    cancel: &Cancel,
) -> Result<HistogramView, ViewError> {
    let Some(info) = choose(source, shape, number, cancel)? else { return Ok(HistogramView::default()) };
    let mut keys: HashMap<KeyId, KeyTotal> = HashMap::new();
    let mut buckets: BTreeMap<Limits, u64> = BTreeMap::new();
    shape.each(source, &info, cancel, &mut |schema, batch, row| {
        let id = shape.key_id(batch, row);
        let row = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
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
    let bucket = |((low, high), count)| Bucket { low: Cell::Number(low), high: Cell::Number(high), count };
    let buckets = buckets.into_iter().map(bucket).collect();
    Ok(HistogramView { at: Some(info.at(source)), keys, more_keys, buckets, total })
}

/// What came into a histogram between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeatColumn {
    /// The later snapshot.
    #[serde(flatten)]
    pub at: At,
    /// By bucket, in the order of [`HeatView::buckets`].
    pub counts: Vec<u64>,
}

/// Histograms over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeatView {
    /// Limits of the buckets, the lowest first.
    pub buckets: Vec<(Cell, Cell)>,
    /// One for each snapshot, the last [`MAX_MAP_SNAPSHOTS`].
    pub columns: Vec<HeatColumn>,
    /// The greatest count of any.
    pub most: u64,
    /// Earlier snapshots that are not told.
    pub earlier: u64,
}

/// All snapshots as a heat map, of one key or of all together: what came in since the snapshot before, where the script does
/// not empty the map itself.
///
/// # Errors
/// If there is no such stream, a chunk cannot be loaded, or `cancel` was set.
pub fn heat(source: &dyn Source, shape: &MapShape, key: Option<KeyId>, cancel: &Cancel) -> Result<HeatView, ViewError> {
    let all = snapshots(source, shape, cancel)?;
    // One more, to subtract it.
    let skipped = all.len().saturating_sub(MAX_MAP_SNAPSHOTS + 1);
    let kept = all.get(skipped..).unwrap_or_default();
    let Some(first) = kept.first() else { return Ok(HeatView::default()) };
    let mut counts: BTreeMap<u64, BTreeMap<Limits, u64>> = BTreeMap::new();
    let range = TimeRange { start_ns: first.time_ns, ..TimeRange::ALL };
    shape.each_in(source, range, cancel, &mut |number, schema, batch, row| {
        if key.is_some_and(|wanted| wanted != shape.key_id(batch, row)) {
            return;
        }
        let row = cells(source.dictionaries(), schema, batch, row, source.origin_ns());
        if let Some((limits, count)) = bucket_of(shape, &row) {
            *counts.entry(number).or_default().entry(limits).or_insert(0) += count;
        }
    })?;
    let mut limits: Vec<Limits> = counts.values().flat_map(|buckets| buckets.keys().copied()).collect();
    limits.sort_unstable();
    limits.dedup();
    let mut before: Option<&BTreeMap<Limits, u64>> = None;
    let mut view = HeatView { earlier: skipped as u64, ..HeatView::default() };
    let none = BTreeMap::new();
    for info in kept {
        let now = counts.get(&info.number).unwrap_or(&none);
        let came_in = |limits: &Limits| {
            let now = now.get(limits).copied().unwrap_or(0);
            let before = before.filter(|_| !shape.resets).and_then(|before| before.get(limits)).copied().unwrap_or(0);
            // Less than before: it was emptied in between.
            now.checked_sub(before).unwrap_or(now)
        };
        let counts: Vec<u64> = limits.iter().map(came_in).collect();
        view.most = view.most.max(counts.iter().copied().max().unwrap_or(0));
        view.columns.push(HeatColumn { at: info.at(source), counts });
        before = Some(now);
    }
    if skipped > 0 {
        view.columns.remove(0);
    }
    view.buckets = limits.into_iter().map(|(low, high)| (Cell::Number(low), Cell::Number(high))).collect();
    Ok(view)
}

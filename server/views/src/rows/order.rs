//! The order of a sorted table: each row has a key of whole numbers, whatever its columns are of.

use std::collections::BinaryHeap;

use bathyscope_capture::{ColumnData, ColumnType, StreamSchema};

use super::{
    MAX_SORT_COLUMNS, MAX_SORTED_ROWS, Order, RowPlace,
    pairs::{Intervals, SINCE, UNTIL},
};
use crate::{
    Dictionaries, ViewError, cell,
    filter::no_such_column,
    hash::IdMap,
    scan::{Hit, Scan},
};

/// What is compared.
enum Compared {
    Number(usize),
    /// The rank of each text, or of each stack by its innermost function.
    Ranked(usize, IdMap<u32, u64>),
    Since,
    Until,
}

/// One column of an order.
struct SortKey {
    compared: Compared,
    descending: bool,
}

impl SortKey {
    /// A number that is less where the row comes first; no value is least.
    fn key(&self, hit: &Hit, row: usize, interval: (u64, u64)) -> u64 {
        let length = |ns: u64| ns.wrapping_add(1);
        let key = match &self.compared {
            Compared::Number(column) => match hit.batch.columns.get(*column) {
                Some(ColumnData::U64(values)) => values.get(row).copied().unwrap_or(0),
                Some(ColumnData::I64(values)) => values.get(row).map_or(0, |value| value.cast_unsigned() ^ (1 << 63)),
                _ => 0,
            },
            Compared::Ranked(column, ranks) => {
                let id = hit.batch.columns.get(*column).and_then(|data| data.as_id().get(row));
                id.and_then(|id| ranks.get(id)).copied().unwrap_or(0)
            }
            // What has no neighbour is u64::MAX, and becomes zero.
            Compared::Since => length(interval.0),
            Compared::Until => length(interval.1),
        };
        if self.descending { !key } else { key }
    }
}

/// By what rows are sorted: columns, the first of them first.
pub(super) struct Sorting(Vec<SortKey>);

/// Whether an order is that of time, forwards or backwards; none if it is another one.
pub(super) fn by_time(schema: &StreamSchema, orders: &[Order]) -> Option<bool> {
    match orders {
        [] => Some(false),
        [only] if schema.column(&only.column) == Some(StreamSchema::TIME) => Some(only.descending),
        _ => None,
    }
}

/// The columns of the stream that an order reads.
///
/// # Errors
/// If there is no such column, or there are too many.
pub(super) fn columns(schema: &StreamSchema, orders: &[Order], has_pairs: bool) -> Result<Vec<usize>, ViewError> {
    ViewError::within("the number of columns to sort by", orders.len() as u64, 0, MAX_SORT_COLUMNS as u64)?;
    let mut found = Vec::new();
    for order in orders {
        match schema.column(&order.column) {
            Some(column) => found.push(column),
            None if has_pairs && [SINCE, UNTIL].contains(&order.column.as_str()) => {}
            None => return Err(no_such_column(schema, &order.column)),
        }
    }
    Ok(found)
}

/// Whether an order asks for intervals between rows.
pub(super) fn wants_intervals(schema: &StreamSchema, orders: &[Order]) -> bool {
    orders.iter().any(|order| schema.column(&order.column).is_none())
}

impl Sorting {
    /// Looks at all rows once where texts or stacks have to be put in order.
    pub(super) fn new(scan: &mut Scan<'_>, dictionaries: &Dictionaries, orders: &[Order]) -> Result<Self, ViewError> {
        let schema = scan.schema();
        let mut parts = Vec::new();
        for order in orders {
            let column = schema.column(&order.column);
            let ty = column.and_then(|column| schema.columns.get(column)).map(|column| column.ty);
            let compared = match (column, ty) {
                (Some(column), Some(ColumnType::U64 | ColumnType::I64)) => Compared::Number(column),
                (Some(column), Some(ColumnType::Text)) => {
                    let text = |id| dictionaries.text(id).map(<[u8]>::to_vec);
                    Compared::Ranked(column, ranks(scan, column, text)?)
                }
                (Some(column), _) => {
                    Compared::Ranked(column, ranks(scan, column, |id| Some(cell::top_of(dictionaries, id)))?)
                }
                (None, _) if order.column == SINCE => Compared::Since,
                (None, _) => Compared::Until,
            };
            parts.push(SortKey { compared, descending: order.descending });
        }
        Ok(Self(parts))
    }

    /// The places of the rows from `offset` to before `end` in this order, and how many there are in all.
    pub(super) fn places(
        &self,
        scan: &mut Scan<'_>,
        intervals: Option<&Intervals>,
        (offset, end): (u64, u64),
    ) -> Result<(Vec<RowPlace>, u64), ViewError> {
        // A page past the end of the stream is empty however far it is.
        let reach = end.min(scan.total());
        if reach > MAX_SORTED_ROWS {
            return Err(ViewError::TooFar { wanted: end, limit: MAX_SORTED_ROWS });
        }
        let window = (offset, reach);
        match self.0.as_slice() {
            [only] => least(scan, window, |hit, row, at| only.key(hit, row, interval(intervals, at))),
            parts => least(scan, window, |hit, row, at| {
                let mut keys = [0; MAX_SORT_COLUMNS];
                let interval = interval(intervals, at);
                keys.iter_mut().zip(parts).for_each(|(key, part)| *key = part.key(hit, row, interval));
                keys
            }),
        }
    }
}

fn interval(intervals: Option<&Intervals>, at: usize) -> (u64, u64) {
    intervals.map_or((u64::MAX, u64::MAX), |intervals| intervals.of(at))
}

/// Each text or stack that occurs with its rank, from 1 on; those that are the same are equal.
fn ranks<T: Ord>(
    scan: &mut Scan<'_>,
    column: usize,
    read: impl Fn(u32) -> Option<T>,
) -> Result<IdMap<u32, u64>, ViewError> {
    let mut seen: IdMap<u32, Option<T>> = IdMap::default();
    scan.for_each_hit(|hit| {
        let ids = hit.ids(column)?;
        hit.picked.for_each(|row| {
            if let Some(id) = ids.get(row).filter(|id| **id != 0) {
                seen.entry(*id).or_insert_with(|| read(*id));
            }
        });
        Ok(())
    })?;
    let mut names: Vec<&T> = seen.values().flatten().collect();
    names.sort_unstable();
    names.dedup();
    let rank = |name: &T| names.partition_point(|one| *one < name) as u64 + 1;
    Ok(seen.iter().filter_map(|(id, name)| Some((*id, rank(name.as_ref()?)))).collect())
}

/// Keeps the rows with the least keys; the heap never holds more than `end` of them. Rows with equal keys stay in time order.
fn least<K: Ord>(
    scan: &mut Scan<'_>,
    (offset, end): (u64, u64),
    key: impl Fn(&Hit, usize, usize) -> K,
) -> Result<(Vec<RowPlace>, u64), ViewError> {
    let room = end as usize;
    let mut kept: BinaryHeap<(K, RowPlace)> = BinaryHeap::new();
    let mut matched = 0;
    for chunk in 0..scan.chunks().len() {
        let Some(hit) = scan.hit(chunk)? else { continue };
        hit.picked.for_each(|row| {
            let entry = (key(&hit, row, matched), (chunk, row));
            matched += 1;
            if kept.len() < room {
                kept.push(entry);
            } else if let Some(mut worst) = kept.peek_mut().filter(|worst| entry < **worst) {
                *worst = entry;
            }
        });
    }
    let places = kept.into_sorted_vec().into_iter().map(|(_, place)| place);
    Ok((places.skip(usize::try_from(offset).unwrap_or(usize::MAX)).collect(), matched as u64))
}

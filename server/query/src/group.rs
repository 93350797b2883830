//! Puts rows with the same values next to each other, as `group by` and `distinct` want them, without sorting.
//!
//! SQLite groups by sorting all rows, which takes most of the time of a query that only counts. Here rows get the number
//! of their group while chunks are decoded, only the groups are sorted, and rows come out group by group. The groups must
//! be in order, because SQLite takes them so where `order by` names the same columns as `group by`.

use std::{
    cmp::Ordering as Order,
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
};

use bathyscope_capture::{Batch, ColumnData};

use crate::{
    members::{Added, Members},
    plan::By,
    scan::{Hit, Scan},
    shared::{RowMode, Shared, Stop},
    values::{Reading, SqlValue},
};

/// The most columns that rows are grouped by here.
pub(crate) const MAX_KEYS: usize = 3;
/// The most groups; with more, SQLite sorts.
const MAX_GROUPS: usize = 1 << 20;
/// The most bytes that rows take while they are put together; with more, SQLite sorts.
const MAX_BYTES: u64 = 256 << 20;
/// Columns whose values together can be so many things need no hashing.
const DENSE: usize = 1 << 20;

/// Bytes that a value of a column takes.
const fn width(reading: Reading) -> u64 {
    match reading {
        Reading::Text | Reading::Stack => 4,
        _ => 8,
    }
}

/// Whether so many rows with these other columns can be put together.
pub(crate) fn fits(rows: u64, others: impl Iterator<Item = Reading>) -> bool {
    let bytes: u64 = others.map(width).sum();
    // A row is kept with its group and its place; if nothing else is read, rows are only counted.
    rows < u64::from(u32::MAX) && (bytes == 0 || rows.saturating_mul(bytes + 8) <= MAX_BYTES)
}

type Key = [i64; MAX_KEYS];

/// Rows put together.
pub(crate) struct Grouped {
    keys: Vec<usize>,
    /// The values of each group in the columns of `keys`.
    groups: Vec<Key>,
    /// Rows of each group.
    counts: Vec<u32>,
    /// Where rows are only added up: of each group what was added of each of these columns.
    added: Vec<Vec<Added>>,
    added_columns: Vec<usize>,
    /// The other columns that are read, all rows one after the other as they were found.
    others: Option<Batch>,
    /// The rows in the order of their groups; empty if no other column is read.
    order: Vec<u32>,
    group: usize,
    in_group: u32,
    at: usize,
    held: u64,
}

impl Grouped {
    /// Reads all rows of a scan. `others` are the columns that are read besides `keys`; with `once`, rows that are the same
    /// come once.
    pub(crate) fn read(scan: &Scan, keys: &[By], others: &[usize], once: bool) -> rusqlite::Result<Self> {
        if scan.shared.mode == RowMode::Summed {
            return Self::add_up(scan, keys, others);
        }
        let mut finder = Finder::new(scan, keys);
        let mut batch = empty(scan, others);
        let mut members: Vec<u32> = Vec::new();
        let mut counts: Vec<u32> = Vec::new();
        for chunk in 0..scan.chunks() {
            let Some(hit) = scan.hit(chunk)? else { continue };
            for index in 0..hit.len() {
                let group = finder.group(scan, &hit, hit.row(index));
                match counts.get_mut(group as usize) {
                    Some(count) => *count += 1,
                    None => counts.push(1),
                }
                if !others.is_empty() {
                    members.push(group);
                }
            }
            append(&mut batch, &hit, others);
            if finder.groups.len() > MAX_GROUPS {
                return Err(scan.shared.fail(Stop::OtherMode));
            }
        }
        let bytes: u64 =
            others.iter().filter_map(|other| scan.readings.get(*other)).map(|reading| width(*reading)).sum();
        let held = members.len() as u64 * (bytes + 4) + finder.groups.len() as u64 * 64;
        scan.shared.held.fetch_add(held, Ordering::Relaxed);
        sort(scan, keys, &mut finder.groups, &mut counts, &mut members, &mut []);
        let order = in_order(&members, &counts);
        if once && others.is_empty() {
            counts.iter_mut().for_each(|count| *count = 1);
        }
        Ok(Self {
            keys: keys.iter().map(|key| key.column).collect(),
            groups: finder.groups,
            counts,
            added: Vec::new(),
            added_columns: Vec::new(),
            others: (!others.is_empty()).then_some(batch),
            order,
            group: 0,
            in_group: 0,
            at: 0,
            held,
        })
    }

    /// Adds up the rows of each group, and keeps none.
    fn add_up(scan: &Scan, keys: &[By], others: &[usize]) -> rusqlite::Result<Self> {
        let mut finder = Finder::new(scan, keys);
        let (mut counts, mut added): (Vec<u32>, Vec<Vec<Added>>) = Default::default();
        let mut groups = Vec::new();
        for chunk in 0..scan.chunks() {
            let Some(hit) = scan.hit(chunk)? else { continue };
            groups.clear();
            groups.extend((0..hit.len()).map(|index| finder.group(scan, &hit, hit.row(index))));
            counts.resize(finder.groups.len(), 0);
            added.resize(finder.groups.len(), vec![Added::default(); others.len()]);
            for group in &groups {
                if let Some(count) = counts.get_mut(*group as usize) {
                    *count += 1;
                }
            }
            for (at, other) in others.iter().enumerate() {
                add_column(scan, &hit, *other, &groups, (&mut added, at));
            }
            if finder.groups.len() > MAX_GROUPS / (others.len() + 1) {
                return Err(scan.shared.fail(Stop::OtherMode));
            }
        }
        let held = (finder.groups.len() * (64 + size_of::<Added>() * others.len())) as u64;
        scan.shared.held.fetch_add(held, Ordering::Relaxed);
        sort(scan, keys, &mut finder.groups, &mut counts, &mut [], &mut added);
        Ok(Self {
            keys: keys.iter().map(|key| key.column).collect(),
            groups: finder.groups,
            counts,
            added,
            added_columns: others.to_vec(),
            others: None,
            order: Vec::new(),
            group: 0,
            in_group: 0,
            at: 0,
            held,
        })
    }

    pub(crate) fn is_done(&self) -> bool {
        self.group >= self.groups.len()
    }

    pub(crate) fn advance(&mut self) {
        self.at += 1;
        self.in_group += 1;
        if self.counts.get(self.group).is_none_or(|count| self.in_group >= *count) {
            self.group += 1;
            self.in_group = 0;
        }
    }

    /// Goes to the next group.
    pub(crate) fn advance_group(&mut self) {
        self.at += self.counts.get(self.group).map_or(0, |count| *count as usize);
        self.group += 1;
    }

    /// The rows of the present group as one.
    pub(crate) fn members(&self, scan: &Scan) -> Members {
        let rows = self.counts.get(self.group).map_or(0, |count| *count as usize);
        let added = self.added.get(self.group).map_or(&[][..], Vec::as_slice);
        Members {
            origin_ns: scan.origin_ns(),
            readings: Arc::clone(&scan.readings),
            batch: None,
            rows: 0..rows,
            picked: None,
            added: self.added_columns.iter().copied().zip(added.iter().copied()).collect(),
        }
    }

    /// Whether rows are grouped by a column.
    pub(crate) fn is_key(&self, column: usize) -> bool {
        self.keys.contains(&column)
    }

    /// A value of the row.
    pub(crate) fn value<'a>(&self, shared: &'a Shared, readings: &[Reading], column: usize) -> SqlValue<'a> {
        let source = &shared.capture.source;
        let Some(reading) = readings.get(column) else { return SqlValue::Null };
        let number = match self.keys.iter().position(|key| *key == column) {
            Some(index) => self.groups.get(self.group).and_then(|key| key.get(index)).copied(),
            None => self.others.as_ref().and_then(|others| {
                let row = *self.order.get(self.at)? as usize;
                reading.number(source.origin_ns(), others.columns.get(column)?, row)
            }),
        };
        number.map_or(SqlValue::Null, |number| reading.value(source.dictionaries(), number))
    }

    /// The number of the row in this order.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// The bytes that it holds, told once.
    pub(crate) fn take_held(&mut self) -> u64 {
        std::mem::take(&mut self.held)
    }
}

fn empty(scan: &Scan, others: &[usize]) -> Batch {
    let column = |(index, reading): (usize, &Reading)| match reading {
        _ if !others.contains(&index) => ColumnData::Id(Vec::new()),
        Reading::Text | Reading::Stack => ColumnData::Id(Vec::new()),
        Reading::Signed => ColumnData::I64(Vec::new()),
        Reading::Time | Reading::Unsigned | Reading::Length => ColumnData::U64(Vec::new()),
    };
    Batch { columns: scan.readings.iter().enumerate().map(column).collect() }
}

fn append(all: &mut Batch, hit: &Hit, others: &[usize]) {
    let Some(batch) = &hit.batch else { return };
    let rows = || (0..hit.len()).map(|index| hit.row(index));
    for other in others {
        let (Some(to), Some(from)) = (all.columns.get_mut(*other), batch.columns.get(*other)) else { continue };
        match (to, from) {
            (ColumnData::U64(to), ColumnData::U64(from)) => to.extend(rows().filter_map(|row| from.get(row))),
            (ColumnData::I64(to), ColumnData::I64(from)) => to.extend(rows().filter_map(|row| from.get(row))),
            (ColumnData::Id(to), ColumnData::Id(from)) => to.extend(rows().filter_map(|row| from.get(row))),
            // A batch has the types of its schema, and the others are from the schema too.
            _ => {}
        }
    }
}

/// Adds the numbers of a column to what there is at this place of the rows' groups.
fn add_column(scan: &Scan, hit: &Hit, column: usize, groups: &[u32], (added, at): (&mut [Vec<Added>], usize)) {
    let reading = scan.readings.get(column).copied().unwrap_or(Reading::Unsigned);
    let Some(data) = hit.batch.as_ref().and_then(|batch| batch.columns.get(column)) else { return };
    for (index, group) in groups.iter().enumerate() {
        let number = reading.number(scan.origin_ns(), data, hit.row(index));
        let slot = added.get_mut(*group as usize).and_then(|columns| columns.get_mut(at));
        if let (Some(number), Some(slot)) = (number.filter(|number| !reading.is_none(*number)), slot) {
            slot.add(number);
        }
    }
}

/// Brings groups into the order of their values: no value first, text by its bytes.
fn sort(
    scan: &Scan,
    keys: &[By],
    groups: &mut Vec<Key>,
    counts: &mut Vec<u32>,
    members: &mut [u32],
    added: &mut [Vec<Added>],
) {
    let dictionaries = scan.shared.capture.source.dictionaries();
    let text = |id: i64| u32::try_from(id).ok().and_then(|id| dictionaries.text(id));
    let compare = |(a, _): &(Key, u32), (b, _): &(Key, u32)| {
        let by_column = keys.iter().zip(a.iter().zip(b)).map(|(key, (a, b))| {
            let rising = match scan.readings.get(key.column) {
                Some(Reading::Text) => text(*a).cmp(&text(*b)),
                Some(Reading::Length) => (*a != 0).cmp(&(*b != 0)).then(a.cmp(b)),
                _ => a.cmp(b),
            };
            if key.falling { rising.reverse() } else { rising }
        });
        by_column.fold(Order::Equal, Order::then)
    };
    let mut sorted: Vec<(Key, u32)> = std::mem::take(groups).into_iter().zip(0..).collect();
    sorted.sort_by(compare);
    let mut places = vec![0_u32; sorted.len()];
    for ((_, old), new) in sorted.iter().zip(0..) {
        if let Some(place) = places.get_mut(*old as usize) {
            *place = new;
        }
    }
    *counts = sorted.iter().filter_map(|(_, old)| counts.get(*old as usize).copied()).collect();
    let mut moved: Vec<Vec<Added>> = added.iter_mut().map(std::mem::take).collect();
    for ((_, old), slot) in sorted.iter().zip(added) {
        *slot = moved.get_mut(*old as usize).map(std::mem::take).unwrap_or_default();
    }
    *groups = sorted.into_iter().map(|(key, _)| key).collect();
    for member in members {
        *member = places.get(*member as usize).copied().unwrap_or(*member);
    }
}

/// The rows in the order of their groups, those of one group in the order in which they were found.
fn in_order(members: &[u32], counts: &[u32]) -> Vec<u32> {
    if members.is_empty() {
        return Vec::new();
    }
    let mut next: Vec<u32> = counts
        .iter()
        .scan(0_u32, |sum, count| {
            let begin = *sum;
            *sum = sum.saturating_add(*count);
            Some(begin)
        })
        .collect();
    let mut order = vec![0_u32; members.len()];
    for (row, group) in (0_u32..).zip(members) {
        if let Some(slot) = next.get_mut(*group as usize) {
            if let Some(place) = order.get_mut(*slot as usize) {
                *place = row;
            }
            *slot += 1;
        }
    }
    order
}

/// Finds the groups of rows.
struct Finder {
    keys: Vec<(usize, Reading)>,
    groups: Vec<Key>,
    by_key: HashMap<Key, u32>,
    /// Numbers of groups plus one, by the place of their values, if these lie close together; else empty.
    dense: Vec<u32>,
    /// For each column the least value and how many there may be; empty if there are too many in all.
    spans: Vec<(i64, usize)>,
    last: Option<(Key, u32)>,
}

impl Finder {
    fn new(scan: &Scan, keys: &[By]) -> Self {
        let reading = |key: &By| (key.column, scan.readings.get(key.column).copied().unwrap_or(Reading::Unsigned));
        let keys: Vec<_> = keys.iter().map(reading).collect();
        let (mut spans, mut places) = (Vec::new(), 1_usize);
        for (column, reading) in &keys {
            let width = span(scan, *column, *reading).and_then(|(from, to)| {
                let width = usize::try_from(i128::from(to) - i128::from(from) + 1).ok()?;
                places = places.checked_mul(width).filter(|places| *places <= DENSE)?;
                Some((from, width))
            });
            match width {
                Some(span) => spans.push(span),
                None => {
                    (spans, places) = (Vec::new(), 0);
                    break;
                }
            }
        }
        let dense = vec![0; places];
        Self { keys, groups: Vec::new(), by_key: HashMap::new(), dense, spans, last: None }
    }

    /// The place of a key's values in `dense`; none if there is none.
    fn place(&self, key: &Key) -> Option<usize> {
        if self.spans.is_empty() {
            return None;
        }
        self.spans.iter().zip(key).try_fold(0_usize, |place, ((least, width), value)| {
            let at = usize::try_from(value.checked_sub(*least)?).ok().filter(|at| at < width)?;
            place.checked_mul(*width)?.checked_add(at)
        })
    }

    fn group(&mut self, scan: &Scan, hit: &Hit, row: usize) -> u32 {
        let mut key = Key::default();
        for ((column, reading), slot) in self.keys.iter().zip(&mut key) {
            *slot = key_number(scan, hit, *column, *reading, row);
        }
        if let Some((last, group)) = self.last
            && last == key
        {
            return group;
        }
        let slot = self.place(&key);
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        let group = match slot.and_then(|slot| self.dense.get_mut(slot)) {
            Some(0) => None,
            Some(found) => Some(*found - 1),
            None => self.by_key.get(&key).copied(),
        };
        let group = group.unwrap_or_else(|| {
            match slot.and_then(|slot| self.dense.get_mut(slot)) {
                Some(found) => *found = next.saturating_add(1),
                None => drop(self.by_key.insert(key, next)),
            }
            self.groups.push(key);
            next
        });
        self.last = Some((key, group));
        group
    }
}

/// What rows of a group have in common in a column; texts that say the same have one id.
fn key_number(scan: &Scan, hit: &Hit, column: usize, reading: Reading, row: usize) -> i64 {
    let source = &scan.shared.capture.source;
    let data = hit.batch.as_ref().and_then(|batch| batch.columns.get(column));
    let number = data.and_then(|data| reading.number(source.origin_ns(), data, row)).unwrap_or(0);
    match reading {
        Reading::Text => {
            let id = u32::try_from(number).unwrap_or(0);
            i64::from(scan.shared.texts().canonical(source.dictionaries(), id))
        }
        _ => number,
    }
}

/// The least and the greatest number of a column in the whole stream, where they are known.
fn span(scan: &Scan, column: usize, reading: Reading) -> Option<(i64, i64)> {
    let source = &scan.shared.capture.source;
    match reading {
        Reading::Text => return Some((0, i64::from(source.dictionaries().last_string()))),
        Reading::Stack => return Some((0, i64::from(source.dictionaries().last_stack()))),
        _ => {}
    }
    let chunks = source.chunks(scan.stream).iter();
    chunks.map(|chunk| reading.extremes(source.origin_ns(), chunk, column)).try_fold(None, |all, ends| {
        let (least, most) = ends?;
        let (from, to) = all.unwrap_or((least, most));
        Some(Some((least.min(from), most.max(to))))
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_group_by_group_as_they_were_found() {
        assert_eq!(in_order(&[1, 0, 1, 2, 0], &[2, 2, 1]), [1, 4, 0, 2, 3]);
        assert!(in_order(&[], &[]).is_empty());
        assert!(fits(10, [Reading::Time].into_iter()) && fits(1 << 31, [].into_iter()));
        assert!(!fits(1 << 30, [Reading::Time].into_iter()) && !fits(1 << 32, [].into_iter()));
    }
}

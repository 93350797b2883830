//! The row before and the row after each row that has the same key, among the rows that a table shows: how long ago the one was,
//! how long until the other is, and what they have in some columns.

use std::collections::{BTreeMap, HashMap};

use bathyscope_capture::{Column, ColumnData, ColumnType, Display, ShownCell, StreamSchema};

use super::{MAX_SORTED_ROWS, RowPlace};
use crate::{
    Source, ViewError,
    answers::{ColumnHead, RowsPage},
    cell,
    filter::no_such_column,
    hash::IdMap,
    scan::{Hit, Scan, bits, load, schema_of},
};

/// The name of the column that says how long ago the row before was.
pub(super) const SINCE: &str = "since_previous";
/// The name of the column that says how long until the row after is.
pub(super) const UNTIL: &str = "until_next";
/// The most columns of a key.
pub const MAX_PAIR_KEYS: usize = 3;
/// The most columns that are told of the rows before and after.
pub const MAX_PAIR_VALUES: usize = 4;

/// Which rows belong together, and what is told of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPairs {
    /// Names of columns in which rows of one key are equal; without any, all rows are of one.
    pub keys: Vec<String>,
    /// Names of columns that are told of the row before and of the row after.
    pub values: Vec<String>,
}

/// The values of a row in the columns of the key, by their bits.
type Key = (u64, u64, u64);

/// The columns of pairs, found in a stream.
pub(super) struct FoundPairs {
    keys: Vec<usize>,
    values: Vec<usize>,
}

/// How long ago the row before was and how long until the row after is, of all rows of a scan in the order of time; `u64::MAX`
/// where there is none.
pub(super) struct Intervals {
    since: Vec<u64>,
    until: Vec<u64>,
}

impl Intervals {
    pub(super) fn of(&self, at: usize) -> (u64, u64) {
        let of = |all: &[u64]| all.get(at).copied().unwrap_or(u64::MAX);
        (of(&self.since), of(&self.until))
    }
}

impl FoundPairs {
    pub(super) fn new(schema: &StreamSchema, pairs: &RowPairs) -> Result<Self, ViewError> {
        let (keys, values) = (pairs.keys.len() as u64, pairs.values.len() as u64);
        ViewError::within("the number of columns of a key", keys, 0, MAX_PAIR_KEYS as u64)?;
        ViewError::within("the number of columns of neighbours", values, 0, MAX_PAIR_VALUES as u64)?;
        let find = |name: &String| schema.column(name).ok_or_else(|| no_such_column(schema, name));
        let all = |names: &[String]| names.iter().map(find).collect::<Result<Vec<_>, _>>();
        Ok(Self { keys: all(&pairs.keys)?, values: all(&pairs.values)? })
    }

    /// The columns that intervals are told from.
    pub(super) fn wanted(&self) -> Vec<usize> {
        [StreamSchema::TIME].into_iter().chain(self.keys.iter().copied()).collect()
    }

    /// The heads of the columns of pairs.
    pub(super) fn heads(&self, schema: &StreamSchema) -> Vec<ColumnHead> {
        let length =
            |name: &str| ColumnHead { name: name.to_owned(), ty: ColumnType::U64, display: Display::DurationNs };
        let told = |column: &usize| schema.columns.get(*column);
        let of = |word: &str, Column { name, ty, display }: &Column| ColumnHead {
            name: format!("{word} {name}"),
            ty: *ty,
            display: *display,
        };
        let mut heads = vec![length(SINCE), length(UNTIL)];
        heads.extend(
            self.values.iter().filter_map(told).flat_map(|column| [of("previous", column), of("next", column)]),
        );
        heads
    }

    /// Puts what is told of neighbours behind the columns of a page.
    pub(super) fn append(
        &self,
        source: &dyn Source,
        scan: &mut Scan<'_>,
        places: &[RowPlace],
        page: &mut RowsPage,
    ) -> Result<(), ViewError> {
        let (schema, stream) = (scan.schema(), scan.stream());
        page.columns.extend(self.heads(schema));
        let [previous, next] = [self.walk(scan, places, true)?, self.walk(scan, places, false)?];
        let own: Vec<Option<RowPlace>> = places.iter().copied().map(Some).collect();
        let cells = |places: &[Option<RowPlace>]| cells_at(source, stream, places, &self.values);
        let moments = |places: &[Option<RowPlace>]| times_of(source, stream, places);
        let (times, previous_times, next_times) = (moments(&own)?, moments(&previous)?, moments(&next)?);
        let (previous, next) = (cells(&previous)?, cells(&next)?);
        let length = |from: Option<&Option<u64>>, to: Option<&Option<u64>>| match (from, to) {
            (Some(Some(from_ns)), Some(Some(to_ns))) => ShownCell::Number(to_ns.saturating_sub(*from_ns).into()),
            _ => ShownCell::Null,
        };
        for (slot, row) in page.rows.iter_mut().enumerate() {
            let time = times.get(slot);
            row.push(length(previous_times.get(slot), time));
            row.push(length(time, next_times.get(slot)));
            let told = |all: &[Vec<ShownCell>]| all.get(slot).cloned().unwrap_or_default();
            row.extend(told(&previous).into_iter().zip(told(&next)).flat_map(|(before, after)| [before, after]));
        }
        Ok(())
    }

    fn key(&self, hit: &Hit) -> impl Fn(usize) -> Key {
        let data = |at: usize| self.keys.get(at).and_then(|column| hit.batch.columns.get(*column));
        let [a, b, c] = [data(0), data(1), data(2)];
        move |row| (bits(a, row), bits(b, row), bits(c, row))
    }

    /// Intervals of all rows, for a table that is sorted by them.
    pub(super) fn intervals(&self, scan: &mut Scan<'_>) -> Result<Intervals, ViewError> {
        let mut all = Intervals { since: Vec::new(), until: Vec::new() };
        let mut last: IdMap<Key, (u64, usize)> = IdMap::default();
        scan.for_each_hit(|hit| {
            let rows = (all.since.len() + hit.picked.len()) as u64;
            if rows > MAX_SORTED_ROWS {
                return Err(ViewError::TooManyPairs { limit: MAX_SORTED_ROWS });
            }
            let (key, times) = (self.key(hit), hit.u64s(StreamSchema::TIME)?);
            hit.picked.for_each(|row| {
                let time_ns = times.get(row).copied().unwrap_or(0);
                let before = last.insert(key(row), (time_ns, all.since.len()));
                let ago = before.map_or(u64::MAX, |(before_ns, _)| time_ns.saturating_sub(before_ns));
                all.since.push(ago);
                all.until.push(u64::MAX);
                if let Some(until) = before.and_then(|(_, at)| all.until.get_mut(at)) {
                    *until = ago;
                }
            });
            Ok(())
        })?;
        Ok(all)
    }

    /// The neighbours of the rows of a page: looked for from each row on until it is found, so that a page in the middle of many
    /// rows is soon there where keys are not rare.
    fn walk(&self, scan: &mut Scan<'_>, places: &[RowPlace], back: bool) -> Result<Vec<Option<RowPlace>>, ViewError> {
        let mut found = vec![None; places.len()];
        let slots: HashMap<RowPlace, usize> = places.iter().enumerate().map(|(slot, place)| (*place, slot)).collect();
        let (Some(first), Some(last)) =
            (places.iter().map(|(chunk, _)| *chunk).min(), places.iter().map(|(chunk, _)| *chunk).max())
        else {
            return Ok(found);
        };
        // The row that waits for each key: a row that comes later in this direction takes its place once it has its answer.
        let mut waiting: IdMap<Key, usize> = IdMap::default();
        let mut met = 0;
        let count = scan.chunks().len();
        let mut chunk = if back { last } else { first };
        loop {
            if let Some(hit) = scan.hit(chunk)? {
                let key = self.key(&hit);
                let rows = hit.picked.len();
                for n in 0..rows {
                    let Some(row) = hit.picked.get(if back { rows - 1 - n } else { n }) else { continue };
                    if waiting.is_empty() && met == places.len() {
                        break;
                    }
                    let slot = slots.get(&(chunk, row));
                    // Keys need not be read as long as nobody waits and the row is none of the page.
                    if waiting.is_empty() && slot.is_none() {
                        continue;
                    }
                    let key = key(row);
                    if let Some(known) = waiting.remove(&key).and_then(|waits| found.get_mut(waits)) {
                        *known = Some((chunk, row));
                    }
                    if let Some(slot) = slot {
                        waiting.insert(key, *slot);
                        met += 1;
                    }
                }
            }
            let is_over = waiting.is_empty() && met == places.len();
            let next = if back { chunk.checked_sub(1) } else { Some(chunk + 1).filter(|next| *next < count) };
            match next.filter(|_| !is_over) {
                Some(next) => chunk = next,
                None => return Ok(found),
            }
        }
    }
}

/// What rows have in some columns; missing where there is no row.
fn cells_at(
    source: &dyn Source,
    stream: u16,
    places: &[Option<RowPlace>],
    columns: &[usize],
) -> Result<Vec<Vec<ShownCell>>, ViewError> {
    let mut cells = vec![vec![ShownCell::Null; columns.len()]; places.len()];
    if columns.is_empty() {
        return Ok(cells);
    }
    let mut wanted = columns.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let schema = schema_of(source, stream)?;
    for (chunk, rows) in by_chunk(places) {
        let batch = load(source, stream, chunk, &wanted)?;
        for (slot, row) in rows {
            let all = cell::cells(source.dictionaries(), schema, &batch, row, source.origin_ns());
            if let Some(cells) = cells.get_mut(slot) {
                *cells = columns.iter().map(|column| all.get(*column).cloned().unwrap_or(ShownCell::Null)).collect();
            }
        }
    }
    Ok(cells)
}

/// Slots and rows by chunk.
fn by_chunk(places: &[Option<RowPlace>]) -> BTreeMap<usize, Vec<(usize, usize)>> {
    let mut found: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (slot, place) in places.iter().enumerate() {
        if let Some((chunk, row)) = place {
            found.entry(*chunk).or_default().push((slot, *row));
        }
    }
    found
}

/// The time of a row; none where it has none.
fn times_of(source: &dyn Source, stream: u16, places: &[Option<RowPlace>]) -> Result<Vec<Option<u64>>, ViewError> {
    let mut times = vec![None; places.len()];
    for (chunk, rows) in by_chunk(places) {
        let batch = load(source, stream, chunk, &[StreamSchema::TIME])?;
        let all = batch.columns.get(StreamSchema::TIME).map_or(&[][..], ColumnData::as_u64);
        for (slot, row) in rows {
            if let Some(time) = times.get_mut(slot) {
                *time = all.get(row).copied();
            }
        }
    }
    Ok(times)
}

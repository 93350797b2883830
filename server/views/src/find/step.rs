//! The next row that was found, and the one before.

use std::collections::BinaryHeap;

use bathyscope_capture::{StreamSchema, visible};

use super::{Columns, RowPlaces, scans};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{FoundHit, FoundStep, RowFields},
    cells, heads,
    scan::{Scan, load},
    source::relative,
};

/// The place of a row among all: rows are in the order of their times, at the same time by stream and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundPlace {
    /// Its time.
    pub time_ns: u64,
    /// Its stream, and its number there; none for a moment before all rows of that time.
    pub row: Option<(u16, u64)>,
}

/// Which row is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindStepQuery {
    /// What is looked for.
    pub filter: Filter,
    /// From where; that row itself is not found.
    pub from: FoundPlace,
    /// Whether the row before is wanted, and not the one after.
    pub back: bool,
    /// The range whose columns say where the row is.
    pub range: TimeRange,
    /// How many columns it has.
    pub columns: u32,
    /// How many chunks, in the order in which they are looked at, have been looked at in vain.
    pub skip: u64,
    /// How many rows are looked at, about; [`super::FIND_ROWS`] but for tests.
    pub budget_rows: u64,
}

/// A chunk that can have the row: how far it is at least, the scan, its number. The greatest is the nearest: distances are counted
/// down, so that a heap gives one after the other.
type NearChunk = (u64, usize, usize);

/// A row that was found: its place, the scan, the chunk, the row there.
#[derive(Clone, Copy, Debug)]
struct FoundAt {
    place: FoundPlace,
    scan: usize,
    chunk: usize,
    row: usize,
}

/// Looks for the row that comes next, in either direction, in as many chunks as the budget has rows for.
///
/// # Errors
/// If no stream has the columns of a condition, columns are out of their limits, chunks cannot be read, or `cancel` was set.
pub fn find_step(source: &dyn Source, query: &FindStepQuery, cancel: &Cancel) -> Result<FoundStep, ViewError> {
    let columns = Columns::new(query.range, query.columns)?;
    let mut scans = scans(source, (&query.filter, TimeRange::ALL, 0), cancel)?;
    // In most calls the first of them has the row: the others are never put in order.
    let mut chunks = near_chunks(&scans, query);
    let mut answer = FoundStep::default();
    let mut best: Option<FoundAt> = None;
    let mut number = 0;
    while let Some((near, scan, chunk)) = chunks.pop() {
        let is_past = |best: FoundAt| near < nearness(best.place.time_ns, query);
        if best.is_some_and(is_past) {
            break;
        }
        let mine = number;
        number += 1;
        if mine < query.skip {
            continue;
        }
        if best.is_none() && answer.looked_at >= query.budget_rows {
            answer.next = Some(mine);
            return Ok(answer);
        }
        let Some(of) = scans.get_mut(scan) else { continue };
        answer.looked_at += of.chunks().get(chunk).map_or(0, |meta| u64::from(meta.rows));
        if let Some(found) = in_chunk(of, (scan, chunk), query)? {
            let is_nearer =
                |best: FoundAt| if query.back { found.place > best.place } else { found.place < best.place };
            if best.is_none_or(is_nearer) {
                best = Some(found);
            }
        }
    }
    if let Some(found) = best {
        let Some(of) = scans.get(found.scan) else { return Ok(answer) };
        answer.row = Some(told(source, (of, found), (query, columns), cancel)?);
    }
    Ok(answer)
}

/// How near a moment is in the direction of the step: the greater, the nearer.
fn nearness(time_ns: u64, query: &FindStepQuery) -> u64 {
    if query.back { time_ns } else { u64::MAX - time_ns }
}

/// The chunks that can have the row, by their bound on the near side.
fn near_chunks(scans: &[Scan<'_>], query: &FindStepQuery) -> BinaryHeap<NearChunk> {
    let chunks = scans.iter().enumerate().flat_map(|(number, scan)| {
        let metas = scan.chunks().iter().enumerate();
        metas.filter_map(move |(chunk, meta)| {
            let (is_ahead, bound_ns) = match query.back {
                true => (meta.first_ns <= query.from.time_ns, meta.last_ns),
                false => (meta.last_ns >= query.from.time_ns, meta.first_ns),
            };
            is_ahead.then(|| (nearness(bound_ns, query), number, chunk))
        })
    });
    // A heap of all at once takes a step for each of them, less than any order would.
    chunks.collect::<Vec<NearChunk>>().into()
}

/// The nearest row of a chunk.
fn in_chunk(
    scan: &mut Scan<'_>,
    (number, chunk): (usize, usize),
    query: &FindStepQuery,
) -> Result<Option<FoundAt>, ViewError> {
    let stream = scan.stream();
    let before: u64 = scan.chunks().iter().take(chunk).map(|meta| u64::from(meta.rows)).sum();
    let Some(hit) = scan.hit(chunk)? else { return Ok(None) };
    let times = hit.u64s(StreamSchema::TIME)?;
    let at = |index: usize| {
        let row = hit.picked.get(index)?;
        let time_ns = *times.get(row)?;
        let place = FoundPlace { time_ns, row: Some((stream, before + row as u64)) };
        Some(FoundAt { place, scan: number, chunk, row })
    };
    // Rows of a chunk are in the order of places.
    let (mut low, mut high) = (0, hit.picked.len());
    while low < high {
        let middle = low.midpoint(high);
        let is_before = at(middle).is_some_and(|found| match query.back {
            true => found.place < query.from,
            false => found.place <= query.from,
        });
        if is_before { low = middle + 1 } else { high = middle }
    }
    Ok(if query.back { low.checked_sub(1).and_then(at) } else { at(low) })
}

fn told(
    source: &dyn Source,
    (scan, found): (&Scan<'_>, FoundAt),
    (query, columns): (&FindStepQuery, Columns),
    cancel: &Cancel,
) -> Result<FoundHit, ViewError> {
    let (stream, schema) = (scan.stream(), scan.schema());
    let all: Vec<usize> = (0..schema.columns.len()).collect();
    let batch = load(source, stream, found.chunk, &all)?;
    let places = RowPlaces::new(source, stream, schema);
    let (start_ns, end_ns) = places.times_of(&batch, found.row);
    let origin_ns = source.origin_ns();
    let key = places.key_of(&batch, found.row);
    let column = columns.of(found.place.time_ns);
    Ok(FoundHit {
        time: relative(origin_ns, found.place.time_ns),
        start: relative(origin_ns, start_ns),
        end: relative(origin_ns, end_ns),
        stream,
        name: visible(schema.name.as_bytes()),
        row: found.place.row.map_or(0, |(_, row)| row),
        key: key.text(source),
        of_stream: key.stream(),
        fields: RowFields {
            columns: heads(schema),
            cells: cells(source.dictionaries(), schema, &batch, found.row, origin_ns),
        },
        column,
        before: before(source, (query, found.place), columns.begin_ns(column), cancel)?,
    })
}

/// How many rows from `since_ns` on come before a place; none where that would take too long.
fn before(
    source: &dyn Source,
    (query, place): (&FindStepQuery, FoundPlace),
    since_ns: u64,
    cancel: &Cancel,
) -> Result<Option<u64>, ViewError> {
    // Where the range begins later than the capture, what is before it counts in its first column.
    let start_ns = if since_ns <= query.range.start_ns { 0 } else { since_ns };
    let range = TimeRange { start_ns, end_ns: place.time_ns.saturating_add(1) };
    let (mut count, mut looked_at) = (0, 0);
    for mut scan in scans(source, (&query.filter, range, 0), cancel)? {
        let (stream, mut first) = (scan.stream(), 0);
        for chunk in 0..scan.chunks().len() {
            let Some(meta) = scan.chunks().get(chunk) else { break };
            let (rows, near) = (u64::from(meta.rows), meta.last_ns >= range.start_ns && meta.first_ns < range.end_ns);
            let mine = first;
            first += rows;
            if !near {
                continue;
            }
            looked_at += rows;
            if looked_at > query.budget_rows {
                return Ok(None);
            }
            let Some(hit) = scan.hit(chunk)? else { continue };
            let times = hit.u64s(StreamSchema::TIME)?;
            hit.picked.for_each(|row| {
                let time_ns = times.get(row).copied().unwrap_or(0);
                let is_before = FoundPlace { time_ns, row: Some((stream, mine + row as u64)) } < place;
                count += u64::from(is_before);
            });
        }
    }
    Ok(Some(count))
}

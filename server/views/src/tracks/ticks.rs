//! A sample or an instant at a moment, and those before and after it, among the rows of several streams.

use bathyscope_capture::{ColumnStats, StreamSchema, visible};

use super::{moment::stacks, word};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{RowFields, TrackLabel, TrackMoment, TrackRowLine},
    cells, heads,
    scan::Scan,
    source::relative,
};

/// Chunks of a stream that are read to find a row before or after another; those that cannot have one of its thread are not.
pub const MAX_TICK_CHUNKS: usize = 256;

/// Which moment of which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickQuery {
    /// The streams, at least one.
    pub streams: Vec<u16>,
    /// Only rows of this thread.
    pub tid: Option<u64>,
    /// Only these rows. A stream without the columns of the filter has none.
    pub filter: Option<Filter>,
    /// The moment.
    pub time_ns: u64,
    /// In place of the moment, a row: its stream and its number there.
    pub row: Option<(u16, u64)>,
}

/// Where a row is among those of several streams: by time, then by stream and number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct TickPlace {
    time_ns: u64,
    stream: u16,
    row: u64,
}

/// The row at a moment or the next one after it, with all of its columns, and those before and after it.
///
/// # Errors
/// If there is no such stream, rows cannot be read, or `cancel` was set.
pub fn tick_moment(source: &dyn Source, query: &TickQuery, cancel: &Cancel) -> Result<TrackMoment, ViewError> {
    let count = source.streams().len();
    let missing = query.streams.iter().find(|stream| usize::from(**stream) >= count);
    if query.streams.is_empty() {
        return Err(ViewError::StreamNumber(String::new()));
    }
    if let Some(stream) = missing {
        return Err(ViewError::NoSuchStream { stream: *stream, count });
    }
    let mut finder = TickFinder::new(source, query, cancel)?;
    let at = match query.row {
        Some((stream, row)) => finder.numbered(stream, row)?,
        None => finder.next(TickPlace { time_ns: query.time_ns, ..TickPlace::default() })?,
    };
    // Why nothing is at the moment is told too.
    let mut moment = TrackMoment { is_cut: finder.is_cut, ..TrackMoment::default() };
    let Some(at) = at else { return Ok(moment) };
    let before = finder.previous(at)?;
    let after = finder.next(TickPlace { row: at.row + 1, ..at })?;
    moment.is_cut = finder.is_cut;
    (moment.before, moment.after) = (before.map(|it| line(source, it)), after.map(|it| line(source, it)));
    moment.at = Some(line(source, at));
    add_row(source, at, &mut moment)?;
    Ok(moment)
}

fn line(source: &dyn Source, TickPlace { time_ns, stream, row }: TickPlace) -> TrackRowLine {
    let schema = source.streams().get(usize::from(stream));
    let text = schema.map(|schema| visible(schema.name.as_bytes())).unwrap_or_default();
    let start = relative(source.origin_ns(), time_ns);
    let name = TrackLabel { text, pid: None, tid: None };
    TrackRowLine { stream, number: row, start, end: start, duration: 0, name }
}

/// Adds what a row says.
fn add_row(source: &dyn Source, at: TickPlace, moment: &mut TrackMoment) -> Result<(), ViewError> {
    let Some(schema) = source.streams().get(usize::from(at.stream)) else { return Ok(()) };
    let Some((chunk, row)) = chunk_of(source, at.stream, at.row) else { return Ok(()) };
    let wanted: Vec<usize> = (0..schema.columns.len()).collect();
    let batch = source.batch(at.stream, chunk, &wanted)?;
    moment.stacks = stacks(source, schema, &batch, row);
    let cells = cells(source.dictionaries(), schema, &batch, row, source.origin_ns());
    moment.fields = Some(RowFields { columns: heads(schema), cells });
    Ok(())
}

/// The chunk in which a stream's row is, and where there.
fn chunk_of(source: &dyn Source, stream: u16, row: u64) -> Option<(usize, usize)> {
    let mut first = 0;
    for (chunk, meta) in source.chunks(stream).iter().enumerate() {
        let next = first + u64::from(meta.rows);
        if row < next {
            return Some((chunk, usize::try_from(row - first).ok()?));
        }
        first = next;
    }
    None
}

/// Looks for rows of some streams in both directions.
struct TickFinder<'a> {
    source: &'a dyn Source,
    /// With the number of the first row of each chunk.
    scans: Vec<(Scan<'a>, Vec<u64>)>,
    tid: Option<u64>,
    /// Whether a search was given up.
    is_cut: bool,
}

impl<'a> TickFinder<'a> {
    fn new(source: &'a dyn Source, query: &'a TickQuery, cancel: &'a Cancel) -> Result<Self, ViewError> {
        let columns = |_: &StreamSchema| vec![StreamSchema::TIME, StreamSchema::TID];
        let scans = Scan::all(source, TimeRange::ALL, query.filter.as_ref(), columns, cancel, |_| true)?;
        let wanted = scans.into_iter().filter(|scan| query.streams.contains(&scan.stream()));
        let firsts = |scan: &Scan<'_>| {
            let mut next = 0;
            let first = |rows: u64| {
                next += rows;
                next - rows
            };
            scan.chunks().iter().map(|chunk| u64::from(chunk.rows)).map(first).collect()
        };
        let scans = wanted.map(|scan| {
            let firsts = firsts(&scan);
            (scan, firsts)
        });
        Ok(Self { source, scans: scans.collect(), tid: query.tid, is_cut: false })
    }

    /// A row by its number.
    fn numbered(&self, stream: u16, row: u64) -> Result<Option<TickPlace>, ViewError> {
        let Some((chunk, at)) = chunk_of(self.source, stream, row) else { return Ok(None) };
        let batch = self.source.batch(stream, chunk, &[StreamSchema::TIME])?;
        let time_ns = word(&batch, Some(StreamSchema::TIME), at);
        Ok(time_ns.map(|time_ns| TickPlace { time_ns, stream, row }))
    }

    /// The first row that is not before a place.
    fn next(&mut self, from: TickPlace) -> Result<Option<TickPlace>, ViewError> {
        let tid = self.tid;
        let mut best: Option<TickPlace> = None;
        for (scan, firsts) in &mut self.scans {
            let first = scan.chunks().partition_point(|chunk| chunk.last_ns < from.time_ns);
            let mut read = 0;
            for chunk in first..scan.chunks().len() {
                let begins_ns = scan.chunks().get(chunk).map_or(0, |meta| meta.first_ns);
                if best.is_some_and(|best| begins_ns > best.time_ns) {
                    break;
                }
                if !may_have(scan, chunk, tid) {
                    continue;
                }
                if read == MAX_TICK_CHUNKS {
                    self.is_cut = true;
                    break;
                }
                read += 1;
                each_place(scan, firsts, chunk, tid, |place| {
                    if place >= from && best.is_none_or(|best| place < best) {
                        best = Some(place);
                    }
                })?;
            }
        }
        Ok(best)
    }

    /// The last row before a place.
    fn previous(&mut self, until: TickPlace) -> Result<Option<TickPlace>, ViewError> {
        let tid = self.tid;
        let mut best: Option<TickPlace> = None;
        for (scan, firsts) in &mut self.scans {
            let last = scan.chunks().partition_point(|chunk| chunk.first_ns <= until.time_ns);
            let mut read = 0;
            for chunk in (0..last).rev() {
                let ends_ns = scan.chunks().get(chunk).map_or(0, |meta| meta.last_ns);
                if best.is_some_and(|best| ends_ns < best.time_ns) {
                    break;
                }
                if !may_have(scan, chunk, tid) {
                    continue;
                }
                if read == MAX_TICK_CHUNKS {
                    self.is_cut = true;
                    break;
                }
                read += 1;
                each_place(scan, firsts, chunk, tid, |place| {
                    if place < until && best.is_none_or(|best| place > best) {
                        best = Some(place);
                    }
                })?;
            }
        }
        Ok(best)
    }
}

/// Whether a chunk can have rows of a thread, by the least and the greatest number in it.
fn may_have(scan: &Scan<'_>, chunk: usize, tid: Option<u64>) -> bool {
    let stats = scan.chunks().get(chunk).and_then(|meta| meta.stats.get(StreamSchema::TID));
    match (tid, stats) {
        (Some(tid), Some(ColumnStats::U64(least, most))) => (*least..=*most).contains(&tid),
        _ => true,
    }
}

/// Calls `each` for every row of a chunk that is wanted.
fn each_place(
    scan: &mut Scan<'_>,
    firsts: &[u64],
    chunk: usize,
    tid: Option<u64>,
    mut each: impl FnMut(TickPlace),
) -> Result<(), ViewError> {
    let (stream, first) = (scan.stream(), firsts.get(chunk).copied().unwrap_or(0));
    let Some(hit) = scan.hit(chunk)? else { return Ok(()) };
    hit.picked.for_each(|row| {
        let number = |column| word(&hit.batch, Some(column), row);
        if tid.is_none() || number(StreamSchema::TID) == tid {
            each(TickPlace { time_ns: number(StreamSchema::TIME).unwrap_or(0), stream, row: first + row as u64 });
        }
    });
    Ok(())
}

//! What is on some tracks in a window of time.

use std::collections::HashMap;

use bathyscope_capture::{
    ColumnGrid, ColumnSum, DrawnPage, IdMap, PIECE_NAMES, TrackDirectory, TrackInfo, TrackNameId, rows_code,
};

use super::{
    label,
    pages::ReadPages,
    parts::{TrackParts, WindowPart},
};
use crate::{
    Cancel, MAX_TIMELINE_WIDTH, Source, TimeRange, ViewError,
    answers::{ShownPiece, ShownTrack, TrackId, TrackLabel, TrackWindow},
    source::relative,
};

/// The most tracks of a window.
pub const MAX_WINDOW_TRACKS: usize = 512;
/// The most names of a window; what has others is called by the last.
const MAX_NAMES: usize = 1 << 16;

/// Which part of which tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackWindowQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Pixels, 1 to [`MAX_TIMELINE_WIDTH`]: what is narrower than a column of two or a little more is drawn together.
    pub width: u32,
    /// The tracks, at most [`MAX_WINDOW_TRACKS`]. One that does not exist has nothing on it.
    pub tracks: Vec<TrackId>,
}

impl TrackWindowQuery {
    /// Fails if a number is outside its limits.
    pub(super) fn check(&self) -> Result<(), ViewError> {
        ViewError::within("the width of the window in pixels", self.width.into(), 1, MAX_TIMELINE_WIDTH.into())?;
        ViewError::within("the number of tracks", self.tracks.len() as u64, 1, MAX_WINDOW_TRACKS as u64)
    }

    /// The streams of the tracks.
    pub(super) fn streams(&self) -> Vec<u16> {
        let mut streams: Vec<u16> = self.tracks.iter().map(|track| track.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        streams
    }

    /// The tracks of a stream.
    pub(super) fn of_stream(&self, stream: u16) -> impl Iterator<Item = u32> {
        self.tracks.iter().filter(move |track| track.stream == stream).map(|track| track.track)
    }
}

/// Makes a window of some tracks. A row that is wider than a column, which is less than four pixels, is a piece of its own.
///
/// # Errors
/// If the query does not fit, a page cannot be read, or `cancel` was set.
pub fn track_window(source: &dyn Source, query: &TrackWindowQuery, cancel: &Cancel) -> Result<TrackWindow, ViewError> {
    query.check()?;
    let range = query.range;
    let pixel_ns = range.span_ns().div_ceil(query.width.into()).max(1);
    // Columns of at least two pixels, and less than four: with narrower ones the answer would be twice as long.
    let grid = ColumnGrid::of_pixel(pixel_ns.saturating_mul(2).saturating_sub(1));
    let mut names = WindowNames::new(source);
    let mut drawn: HashMap<TrackId, Vec<ShownPiece>> = HashMap::new();
    for stream in query.streams() {
        let Some((_, directory)) = source.tracks().iter().find(|(number, _)| *number == stream) else { continue };
        let tracks: Vec<(u32, &TrackInfo)> =
            query.of_stream(stream).filter_map(|track| Some((track, directory.tracks.get(track as usize)?))).collect();
        let all = TrackParts::of_tracks(source, stream, grid, range, &tracks)?;
        let walked = walk(source, stream, &all, cancel)?;
        for (track, walked) in all.iter().zip(walked) {
            let mut look = |look| names.look(stream, directory, look);
            let strip = Strip::of(track, walked, (grid, range), &mut look);
            drawn.insert(TrackId { stream, track: track.track }, strip.pieces);
        }
    }
    let unit_start = |time_ns: u64| relative(source.origin_ns(), time_ns / grid.unit_ns() * grid.unit_ns());
    let mut window = TrackWindow {
        start: unit_start(range.start_ns),
        end: relative(source.origin_ns(), range.end_ns),
        unit: grid.unit_ns(),
        tracks: Vec::with_capacity(query.tracks.len()),
        names: names.labels,
        looks: names.looks,
        pieces: Vec::with_capacity(drawn.values().map(Vec::len).sum()),
    };
    for id in &query.tracks {
        let pieces = drawn.get(id).map_or(&[][..], Vec::as_slice);
        window.tracks.push(ShownTrack { id: id.to_string(), pieces: pieces.len() as u32 });
        window.pieces.extend_from_slice(pieces);
    }
    Ok(window)
}

/// What the parts of each track without a page have, from rows and sums.
fn walk(
    source: &dyn Source,
    stream: u16,
    tracks: &[TrackParts<'_>],
    cancel: &Cancel,
) -> Result<Vec<Vec<Vec<ColumnSum>>>, ViewError> {
    let mut done: Vec<Option<Vec<Vec<ColumnSum>>>> = tracks.iter().map(|_| None).collect();
    ReadPages::until_read(source, stream, cancel, |read| {
        for (track, done) in tracks.iter().zip(&mut done).filter(|(_, done)| done.is_none()) {
            let before = read.wanted();
            track.ask(read);
            if read.wanted() == before {
                *done = Some(track.walk(read));
            }
        }
    })?;
    Ok(done.into_iter().map(Option::unwrap_or_default).collect())
}

/// The names of a window, and those that pieces have together.
struct WindowNames<'a> {
    source: &'a dyn Source,
    labels: Vec<TrackLabel>,
    /// By stream and the directory's number, that in the window.
    named: IdMap<(u16, TrackNameId), u16>,
    looks: Vec<[u16; PIECE_NAMES]>,
    known: IdMap<(u16, u16, u16), u32>,
}

impl<'a> WindowNames<'a> {
    fn new(source: &'a dyn Source) -> Self {
        Self { source, labels: Vec::new(), named: IdMap::default(), looks: Vec::new(), known: IdMap::default() }
    }

    fn look(&mut self, stream: u16, directory: &TrackDirectory, look: [TrackNameId; PIECE_NAMES]) -> u32 {
        let look = look.map(|name| self.name(stream, directory, name));
        let next = self.looks.len() as u32;
        let known = *self.known.entry(look.into()).or_insert(next);
        if known == next {
            self.looks.push(look);
        }
        known
    }

    fn name(&mut self, stream: u16, directory: &TrackDirectory, name: TrackNameId) -> u16 {
        if let Some(known) = self.named.get(&(stream, name)) {
            return *known;
        }
        let number = self.labels.len().min(MAX_NAMES - 1) as u16;
        if self.labels.len() < MAX_NAMES {
            self.labels.push(label(self.source, (stream, directory), name));
        }
        self.named.insert((stream, name), number);
        number
    }
}

/// The pieces of a track, in units from the window's start.
struct Strip {
    grid: ColumnGrid,
    start: u64,
    end: u64,
    last: u64,
    pieces: Vec<ShownPiece>,
}

/// A piece in units from the zero of the clock.
struct NewPiece {
    begin: u64,
    end: u64,
    look: u32,
    rows: u8,
    shares: [u8; PIECE_NAMES],
}

impl Strip {
    /// That of a track, with what its parts of rows have.
    fn of(
        track: &TrackParts<'_>,
        walked: Vec<Vec<ColumnSum>>,
        (grid, range): (ColumnGrid, TimeRange),
        look: &mut impl FnMut([TrackNameId; PIECE_NAMES]) -> u32,
    ) -> Self {
        let end = grid.unit(range.end_ns.saturating_sub(1)).saturating_add(1);
        let drawn = track
            .parts
            .iter()
            .map(|part| if let WindowPart::Drawn { page, .. } = part { page.pieces.len() } else { 0 });
        let most = drawn.sum::<usize>() + walked.iter().map(Vec::len).sum::<usize>();
        let mut strip = Self { grid, start: grid.unit(range.start_ns), end, last: 0, pieces: Vec::with_capacity(most) };
        let mut walked = walked.into_iter();
        for part in &track.parts {
            match part {
                WindowPart::Drawn { page, number, span } => strip.add_page(page, *number, span, look),
                WindowPart::Rows(span) => strip.add_rows(walked.next().unwrap_or_default(), span, look),
            }
        }
        strip
    }

    /// Units from the window's start, cut at both of its ends.
    fn inside(&self, unit: u64) -> u64 {
        unit.clamp(self.start, self.end.max(self.start)) - self.start
    }

    /// What was last goes on until then, if there is something; says so.
    fn goes_on(&mut self, until: u64) -> bool {
        let until = self.inside(until);
        let Some(last) = self.pieces.last_mut() else { return false };
        last.width = last.width.saturating_add(small(until.saturating_sub(self.last)));
        self.last = self.last.max(until);
        true
    }

    fn push(&mut self, piece: &NewPiece) {
        let begin = self.inside(piece.begin).max(self.last);
        let end = self.inside(piece.end).max(begin);
        let (gap, width) = (small(begin - self.last), small(end - begin));
        self.last = end;
        self.pieces.push(ShownPiece { gap, width, look: piece.look, rows: piece.rows, shares: piece.shares });
    }

    fn add_page(
        &mut self,
        page: &DrawnPage,
        number: u64,
        span: &std::ops::Range<u64>,
        look: &mut impl FnMut([TrackNameId; PIECE_NAMES]) -> u32,
    ) {
        let start = self.grid.unit(number.saturating_mul(self.grid.page_ns()));
        let (from, until) = (self.grid.unit(span.start), self.grid.unit(span.end - 1) + 1);
        let mut looks: Vec<Option<u32>> = vec![None; page.looks.len()];
        let first = page.pieces.partition_point(|piece| start + u64::from(piece.end) < from);
        for (at, piece) in page.pieces.iter().enumerate().skip(first) {
            let (begin, end) = (start + u64::from(piece.begin), start + u64::from(piece.end));
            if begin >= until {
                break;
            }
            let is_over = end == from && begin < from;
            if is_over || (at == 0 && page.goes_on && self.goes_on(end)) {
                continue;
            }
            let Some(names) = page.looks.get(usize::from(piece.look)) else { continue };
            let Some(known) = looks.get_mut(usize::from(piece.look)) else { continue };
            let look = *known.get_or_insert_with(|| look(*names));
            self.push(&NewPiece { begin, end, look, rows: piece.rows, shares: piece.shares });
        }
    }

    /// Adds what was found in the rows between two moments.
    fn add_rows(
        &mut self,
        sums: Vec<ColumnSum>,
        span: &std::ops::Range<u64>,
        look: &mut impl FnMut([TrackNameId; PIECE_NAMES]) -> u32,
    ) {
        let until = self.grid.unit(span.end - 1) + 1;
        for sum in sums {
            let (begin, end) = (self.grid.unit(sum.begin_ns), self.grid.unit(sum.end_ns).min(until));
            // A single row from before is the end of the part before already, if there is one.
            if sum.rows == 1 && sum.begin_ns < span.start && self.goes_on(end) {
                continue;
            }
            let (names, shares) = sum.look();
            self.push(&NewPiece { begin, end, look: look(names), rows: rows_code(sum.rows), shares });
        }
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

//! What is on some tracks in a window of time.

use std::collections::HashMap;

use bathyscope_capture::{TrackInfo, TrackNameId, TrackPiece, walk_track};

use super::{
    label,
    pages::{PagesOfTrack, ReadPages},
};
use crate::{
    Cancel, MAX_TIMELINE_WIDTH, Source, TimeRange, ViewError,
    answers::{ShownPiece, ShownTrack, TrackId, TrackLabel, TrackWindow},
    source::relative,
};

/// The most tracks of a window.
pub const MAX_WINDOW_TRACKS: usize = 512;
/// Times are told to so many parts of a pixel.
const UNITS_OF_PIXEL: u64 = 4;
/// What is narrower than a pixel is drawn together in columns of so many pixels.
const COLUMN_PIXELS: u64 = 2;
/// Numbers of rows are told with so many bits, and shares in so many steps: more cannot be seen, and would not be compressed.
const ROWS_BITS: u32 = 3;
const SHARE_STEPS: u128 = 15;
/// The most names of a window; what has others is called by the last.
const MAX_NAMES: usize = 1 << 16;

/// Which part of which tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackWindowQuery {
    /// From when to when.
    pub range: TimeRange,
    /// Pixels, 1 to [`MAX_TIMELINE_WIDTH`]: what is narrower than one is drawn together.
    pub width: u32,
    /// The tracks, at most [`MAX_WINDOW_TRACKS`]. One that does not exist has nothing on it.
    pub tracks: Vec<TrackId>,
}

impl TrackWindowQuery {
    /// Fails if a number is outside its limits.
    pub(super) fn check(&self) -> Result<(), ViewError> {
        let check = |what, value: u64, most: u64| {
            if value == 0 || value > most { Err(ViewError::OutOfRange { what, value, least: 1, most }) } else { Ok(()) }
        };
        check("the width of the window in pixels", self.width.into(), MAX_TIMELINE_WIDTH.into())?;
        check("the number of tracks", self.tracks.len() as u64, MAX_WINDOW_TRACKS as u64)
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

/// Makes a window of some tracks.
///
/// # Errors
/// If the query does not fit, a page cannot be read, or `cancel` was set.
pub fn track_window(source: &dyn Source, query: &TrackWindowQuery, cancel: &Cancel) -> Result<TrackWindow, ViewError> {
    query.check()?;
    let pixel_ns = query.range.span_ns().div_ceil(query.width.into()).max(1);
    let mut drawing = TrackWindowBuilder {
        source,
        range: query.range,
        pixel_ns,
        unit_ns: (pixel_ns / UNITS_OF_PIXEL).max(1),
        names: Vec::new(),
        named: HashMap::new(),
    };
    let mut drawn: HashMap<TrackId, Vec<ShownPiece>> = HashMap::new();
    for stream in query.streams() {
        for (track, pieces) in drawing.stream(stream, query.of_stream(stream), cancel)? {
            drawn.insert(TrackId { stream, track }, pieces);
        }
    }
    let origin = source.origin_ns();
    let mut window = TrackWindow {
        start: relative(origin, query.range.start_ns),
        end: relative(origin, query.range.end_ns),
        unit: drawing.unit_ns,
        tracks: Vec::with_capacity(query.tracks.len()),
        names: drawing.names,
        pieces: Vec::new(),
    };
    for id in &query.tracks {
        let pieces = drawn.get(id).map_or(&[][..], Vec::as_slice);
        window.tracks.push(ShownTrack { id: id.to_string(), pieces: pieces.len() as u32 });
        window.pieces.extend_from_slice(pieces);
    }
    Ok(window)
}

struct TrackWindowBuilder<'a> {
    source: &'a dyn Source,
    range: TimeRange,
    pixel_ns: u64,
    unit_ns: u64,
    names: Vec<TrackLabel>,
    /// By stream and the directory's number, that in the window.
    named: HashMap<(u16, TrackNameId), u16>,
}

impl TrackWindowBuilder<'_> {
    fn stream(
        &mut self,
        stream: u16,
        tracks: impl Iterator<Item = u32>,
        cancel: &Cancel,
    ) -> Result<Vec<(u32, Vec<ShownPiece>)>, ViewError> {
        let Some((_, directory)) = self.source.tracks().iter().find(|(number, _)| *number == stream) else {
            return Ok(Vec::new());
        };
        let wanted: Vec<(u32, &TrackInfo)> =
            tracks.filter_map(|track| Some((track, directory.tracks.get(track as usize)?))).collect();
        let mut columns: Vec<Vec<PixelColumn>> = Vec::new();
        let (range, pixel_ns) = (self.range.start_ns..self.range.end_ns, self.pixel_ns);
        ReadPages::until_read(self.source, stream, cancel, |read| {
            columns.clear();
            for (track, info) in &wanted {
                let mut pixels = Pixels { start_ns: range.start, pixel_ns, columns: Vec::new() };
                let pages = PagesOfTrack { read, track: *track };
                walk_track(&pages, info, range.clone(), pixel_ns, &mut |piece| pixels.add(&piece));
                columns.push(pixels.columns);
            }
        })?;
        let mut drawn = Vec::with_capacity(wanted.len());
        for ((track, _), columns) in wanted.iter().zip(columns) {
            let mut last = 0;
            let pieces = columns.iter().map(|column| self.shown(stream, column, &mut last)).collect();
            drawn.push((*track, pieces));
        }
        Ok(drawn)
    }

    /// A piece in units; `last` is where the one before it ends.
    fn shown(&mut self, stream: u16, column: &PixelColumn, last: &mut u64) -> ShownPiece {
        let unit = |time_ns: u64| {
            let inside = time_ns.clamp(self.range.start_ns, self.range.end_ns) - self.range.start_ns;
            inside / self.unit_ns
        };
        let begin = unit(column.begin_ns).max(*last);
        let end = unit(column.end_ns).max(begin);
        let gap = begin - *last;
        *last = end;
        let span_ns = (column.end_ns - column.begin_ns).max(1);
        let mut names = column.names.clone();
        names.sort_by_key(|(name, time_ns)| (std::cmp::Reverse(*time_ns), *name));
        let at = |place: usize| names.get(place).copied().filter(|(_, time_ns)| place == 0 || *time_ns > 0);
        let mut name = |place: usize| at(place).map_or(0, |(name, _)| self.name(stream, name));
        let (first, others) = (name(0), [name(1), name(2)]);
        let shares = shares_of([0, 1, 2].map(|place| at(place).map_or(0, |(_, time_ns)| time_ns)), span_ns);
        let rows = u32::try_from(about(column.rows)).unwrap_or(u32::MAX);
        ShownPiece { gap: small(gap), width: small(end - begin), name: first, rows, shares, others }
    }

    fn name(&mut self, stream: u16, name: TrackNameId) -> u16 {
        if let Some(known) = self.named.get(&(stream, name)) {
            return *known;
        }
        let directory = self.source.tracks().iter().find(|(number, _)| *number == stream);
        let number = self.names.len().min(MAX_NAMES - 1) as u16;
        if let Some((_, directory)) = directory.filter(|_| self.names.len() < MAX_NAMES) {
            self.names.push(label(self.source, (stream, directory), name));
        }
        self.named.insert((stream, name), number);
        number
    }
}

/// A number with its first bits only, rounded down.
fn about(number: u64) -> u64 {
    let spare = (u64::BITS - number.leading_zeros()).saturating_sub(ROWS_BITS);
    number >> spare << spare
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A row that is wider than a pixel, or all that begins in one pixel.
#[derive(Clone, Debug, Default)]
struct PixelColumn {
    begin_ns: u64,
    end_ns: u64,
    rows: u64,
    names: Vec<(TrackNameId, u64)>,
    /// Whether it is together no wider than a pixel, so that others may be added.
    is_narrow: bool,
}

/// Puts what is narrower than a pixel together, pixel by pixel.
struct Pixels {
    start_ns: u64,
    pixel_ns: u64,
    columns: Vec<PixelColumn>,
}

impl Pixels {
    fn add(&mut self, piece: &TrackPiece) {
        // Rows that were drawn together already may be wider.
        let is_narrow = piece.rows > 1 || piece.end_ns - piece.begin_ns <= self.pixel_ns;
        let wide_ns = self.pixel_ns.saturating_mul(COLUMN_PIXELS);
        let pixel = |time_ns: u64| time_ns.saturating_sub(self.start_ns) / wide_ns;
        let same = self
            .columns
            .last_mut()
            .filter(|column| column.is_narrow && is_narrow && pixel(column.begin_ns) == pixel(piece.begin_ns));
        let names = piece.names.iter().filter(|(_, time_ns)| *time_ns > 0);
        let Some(column) = same else {
            let mut names: Vec<_> = names.copied().collect();
            if names.is_empty() {
                names.push(piece.names[0]);
            }
            let TrackPiece { begin_ns, end_ns, rows, .. } = *piece;
            self.columns.push(PixelColumn { begin_ns, end_ns, rows, names, is_narrow });
            return;
        };
        column.end_ns = piece.end_ns;
        column.rows += piece.rows;
        for (name, time_ns) in names {
            match column.names.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += time_ns,
                None => column.names.push((*name, *time_ns)),
            }
        }
    }
}

/// The shares of a span that times take, most first, in 255ths of it: each in whole steps, one that took part has at least one, and
/// together they are not more than all.
fn shares_of(times_ns: [u64; 3], span_ns: u64) -> [u8; 3] {
    let step = |time_ns: u64| {
        let nearest = (u128::from(time_ns) * SHARE_STEPS + u128::from(span_ns) / 2) / u128::from(span_ns);
        nearest.clamp(u128::from(time_ns > 0), SHARE_STEPS)
    };
    let mut steps = times_ns.map(step);
    while steps.iter().sum::<u128>() > SHARE_STEPS {
        if let Some(largest) = steps.iter_mut().max() {
            *largest -= 1;
        }
    }
    steps.map(|steps| (steps * 255 / SHARE_STEPS) as u8)
}

#[cfg(test)]
mod tests {
    use super::shares_of;

    #[test]
    fn shares_are_near_and_together_not_more_than_all() {
        let step = 17;
        for (times, span, expected) in [
            ([100, 0, 0], 100, [15, 0, 0]),
            ([50, 50, 0], 100, [8, 7, 0]),
            ([47, 33, 20], 100, [7, 5, 3]),
            ([98, 1, 1], 100, [13, 1, 1]),
            ([1, 0, 0], 1000, [1, 0, 0]),
            ([40, 30, 10], 100, [6, 5, 2]),
            ([200, 0, 0], 100, [15, 0, 0]),
        ] {
            assert_eq!(shares_of(times, span).map(|share| share / step), expected, "{times:?} of {span}");
        }
    }
}

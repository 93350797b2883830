//! Pages of what is drawn, made as rows come.
//!
//! Rows go into the columns of one width, which depends on how dense they are; what comes out there goes into columns that are twice as
//! wide, and so on. Finer columns would not save anything, so a page whose rows did not all go through its columns is not made.

use super::{
    BuiltPage, TrackEntry, TrackNameId,
    columns::{ColumnGrid, ColumnSum, MAX_SHIFT, PAGE_COLUMNS, TrackColumns, rows_code},
    drawn::{DRAWN_LEVEL, DrawnPage, DrawnPiece, drawn_number},
};
use crate::{IdMap, codec::Encoder};

/// A page with fewer rows is not stored: a few pages of rows say the same.
pub(super) const LEAST_ROWS: u64 = if cfg!(test) { 40 } else { 1024 };
/// Below this, a unit would be less than a nanosecond.
const MIN_SHIFT: u8 = 3;
/// A page that is not whole is stored again when it has so many times the rows, in quarters.
const GROWN_QUARTERS: u64 = 5;

/// What of the drawing of a track is not stored yet.
#[derive(Debug, Default)]
pub(super) struct DrawnBuilder {
    /// The width of the first of the levels.
    lowest: u8,
    levels: Vec<DrawnLevel>,
}

/// Columns of one width.
#[derive(Debug)]
struct DrawnLevel {
    columns: TrackColumns,
    /// Whether rows go through it now.
    is_fed: bool,
    page: OpenPage,
}

/// A page that is added to.
#[derive(Clone, Debug)]
struct OpenPage {
    grid: ColumnGrid,
    number: u64,
    /// Whether all rows that began in it are on it.
    is_whole: bool,
    rows: u64,
    /// How many rows it had when it was stored.
    stored_rows: u64,
    looks: IdMap<(TrackNameId, TrackNameId, TrackNameId), u16>,
    content: DrawnPage,
}

/// Where pages go.
pub(super) struct PageOutput<'a> {
    pub(super) track: u32,
    pub(super) encoder: &'a mut Encoder,
    pub(super) pages: &'a mut Vec<BuiltPage>,
}

impl DrawnBuilder {
    /// Adds rows that follow each other.
    pub(super) fn add(&mut self, rows: &[TrackEntry], out: &mut PageOutput<'_>) {
        let (Some(first), Some(base)) = (rows.first(), self.base(rows)) else { return };
        self.cover(base);
        // What finer columns have not given on yet goes before the rows, which do not go through them.
        let mut moved = Vec::new();
        for (shift, level) in (self.lowest..base).zip(&mut self.levels).filter(|(_, level)| level.is_fed) {
            moved = level.columns_of(&moved, true);
            moved.iter().for_each(|sum| level.page.add(sum, out));
            level.page.store(Some(first.begin_ns), out);
            level.page = OpenPage::new(shift, 0, false);
            level.is_fed = false;
        }
        for (shift, level) in (self.lowest..).zip(&mut self.levels).filter(|(shift, _)| *shift >= base) {
            if !level.is_fed {
                level.page = OpenPage::new(shift, level.page.grid.page(first.begin_ns), false);
                level.is_fed = true;
            }
        }
        moved.extend(rows.iter().map(ColumnSum::from));
        self.give_on(base, moved, out);
    }

    /// The width of columns that these rows go through first. It does not change for a factor below four.
    fn base(&self, rows: &[TrackEntry]) -> Option<u8> {
        let wanted = base_of(rows)?;
        let now = self.levels.iter().position(|level| level.is_fed).map(|place| self.lowest + place as u8);
        Some(match now {
            Some(now) if wanted > now => now.max(wanted - 1),
            _ => wanted,
        })
    }

    /// Makes sure that there are columns of this width.
    fn cover(&mut self, base: u8) {
        if self.levels.is_empty() {
            self.lowest = base;
        }
        while base < self.lowest {
            self.lowest -= 1;
            self.levels.insert(0, DrawnLevel::new(self.lowest, false));
        }
        while usize::from(base - self.lowest) >= self.levels.len() {
            self.levels.push(DrawnLevel::new(self.lowest + self.levels.len() as u8, true));
        }
    }

    fn give_on(&mut self, base: u8, mut sums: Vec<ColumnSum>, out: &mut PageOutput<'_>) {
        let mut shift = base;
        while !sums.is_empty() && shift <= MAX_SHIFT {
            self.cover(shift);
            let Some(level) = self.levels.get_mut(usize::from(shift - self.lowest)) else { return };
            sums = level.columns_of(&sums, false);
            sums.iter().for_each(|sum| level.page.add(sum, out));
            shift += 1;
        }
    }

    /// Gives the last pages of all widths as they are with `rows`, which are not added yet, where they have grown enough.
    pub(super) fn publish(&mut self, rows: &[TrackEntry], out: &mut PageOutput<'_>) {
        let Some(base) = self.levels.iter().position(|level| level.is_fed) else { return };
        let mut sums: Vec<ColumnSum> = rows.iter().map(ColumnSum::from).collect();
        for level in self.levels.iter_mut().skip(base) {
            let before = level.columns.clone();
            sums = level.columns_of(&sums, true);
            level.columns = before;
            let rows = level.page.rows + sums.iter().map(|sum| sum.rows).sum::<u64>();
            if rows <= LEAST_ROWS || rows < level.page.stored_rows / 4 * GROWN_QUARTERS {
                continue;
            }
            let mut page = level.page.clone();
            sums.iter().for_each(|sum| page.add(sum, out));
            page.store(sums.last().map(|sum| sum.end_ns), out);
            level.page.stored_rows = rows;
        }
    }
}

/// The width of columns that rows so dense go through first: where a page has about as many rows as it must have to be stored.
fn base_of(rows: &[TrackEntry]) -> Option<u8> {
    let (first, last) = (rows.first()?, rows.last()?);
    let page_ns = u128::from(last.end_ns.saturating_sub(first.begin_ns)) * u128::from(LEAST_ROWS) / rows.len() as u128;
    let column_ns = u64::try_from(page_ns / u128::from(PAGE_COLUMNS)).unwrap_or(u64::MAX).max(1);
    let shift = (u64::BITS - 1 - column_ns.leading_zeros()) as u8;
    Some(shift.clamp(MIN_SHIFT, MAX_SHIFT))
}

impl DrawnLevel {
    fn new(shift: u8, is_fed: bool) -> Self {
        let page = OpenPage::new(shift, 0, is_fed);
        Self { columns: TrackColumns::new(page.grid), is_fed, page }
    }

    /// What comes out of the columns if this goes in.
    fn columns_of(&mut self, sums: &[ColumnSum], is_last: bool) -> Vec<ColumnSum> {
        let mut given = Vec::with_capacity(sums.len() / 2);
        sums.iter().for_each(|sum| self.columns.push(*sum, &mut |sum| given.push(sum)));
        if is_last {
            self.columns.finish(&mut |sum| given.push(sum));
        }
        given
    }
}

impl OpenPage {
    fn new(shift: u8, number: u64, is_whole: bool) -> Self {
        let grid = ColumnGrid::new(shift).unwrap_or_else(|| ColumnGrid::of_pixel(u64::MAX));
        Self { grid, number, is_whole, rows: 0, stored_rows: 0, looks: IdMap::default(), content: DrawnPage::default() }
    }

    /// Adds what begins on this page or a later one, and goes on with the page on which it ends.
    fn add(&mut self, sum: &ColumnSum, out: &mut PageOutput<'_>) {
        let page = self.grid.page(sum.begin_ns);
        if page != self.number {
            self.turn(page, out);
        }
        self.rows += sum.rows;
        self.put(sum);
        let last = self.grid.page(sum.end_ns.saturating_sub(1));
        if last > page {
            self.turn(last, out);
            self.content.goes_on = true;
            self.put(sum);
        }
    }

    fn turn(&mut self, page: u64, out: &mut PageOutput<'_>) {
        self.store(None, out);
        *self = Self::new(self.grid.shift(), page, true);
    }

    fn put(&mut self, sum: &ColumnSum) {
        if !self.is_whole {
            // It is never stored.
            return;
        }
        let units = self.grid.page_units();
        let start = self.number * units;
        let unit = |time_ns: u64| self.grid.unit(time_ns).saturating_sub(start).min(units) as u16;
        let (names, shares) = sum.look();
        let next = self.looks.len() as u16;
        let look = *self.looks.entry(names.into()).or_insert(next);
        if look == next {
            self.content.looks.push(names);
        }
        let (begin, end) = (unit(sum.begin_ns), unit(sum.end_ns));
        self.content.pieces.push(DrawnPiece { begin, end, look, rows: rows_code(sum.rows), shares });
    }

    /// Stores the page if that saves reading; of one that is not whole, until when it has everything.
    fn store(&mut self, until_ns: Option<u64>, out: &mut PageOutput<'_>) {
        let pieces = self.content.pieces.len() as u64;
        if !self.is_whole || self.rows <= LEAST_ROWS || pieces * 2 > self.rows {
            return;
        }
        let units = self.grid.page_units();
        let until = |time_ns| self.grid.unit(time_ns).saturating_sub(self.number * units).min(units);
        self.content.until = until_ns.map_or(units, until) as u16;
        let bytes = self.content.encode_with(out.encoder);
        let number = drawn_number(self.grid, self.number);
        out.pages.push(BuiltPage { track: out.track, level: DRAWN_LEVEL, number, bytes });
    }
}

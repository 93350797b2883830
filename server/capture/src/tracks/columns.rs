//! Columns of time, in which rows that are too narrow to be seen one by one are drawn together.
//!
//! A [`ColumnGrid`] cuts time into columns of a power of two of nanoseconds, counted from the zero of the clock: whichever window is
//! asked for, its columns are the same. A row that is wider than a column is a piece of its own; all narrower ones that begin in a
//! column are one piece ([`TrackColumns`]). So there are at most two pieces a column. Columns of a coarser grid are made of those of a finer one
//! and are the same as those made of the rows.

use super::{PIECE_NAMES, TOP, TrackEntry, TrackNameId, TrackPiece};

/// Columns of a page of what is drawn.
pub const PAGE_COLUMNS: u64 = 512;
/// Parts of a column, in which times are told.
const COLUMN_UNITS_SHIFT: u8 = 3;
/// The width of the widest columns: 2 to the power of it.
pub(super) const MAX_SHIFT: u8 = 46;
/// Steps of a share.
pub const SHARE_STEPS: u8 = 15;
/// Numbers of rows are told with so many bits: more cannot be seen, and would not be compressed.
const ROWS_BITS: u32 = 3;

/// Columns of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnGrid {
    shift: u8,
}

impl ColumnGrid {
    /// Columns of 2 to the power of `shift` nanoseconds; none if they would be too wide.
    pub const fn new(shift: u8) -> Option<Self> {
        if shift <= MAX_SHIFT { Some(Self { shift }) } else { None }
    }

    /// The widest columns that are no wider than two pixels.
    pub fn of_pixel(pixel_ns: u64) -> Self {
        let shift = u64::BITS - 1 - pixel_ns.saturating_mul(2).max(1).leading_zeros();
        Self { shift: (shift as u8).min(MAX_SHIFT) }
    }

    /// The power of two that is the width.
    pub const fn shift(self) -> u8 {
        self.shift
    }

    /// How wide a column is.
    pub const fn column_ns(self) -> u64 {
        1 << self.shift
    }

    /// The unit in which times are told.
    pub const fn unit_ns(self) -> u64 {
        1 << self.unit_shift()
    }

    const fn unit_shift(self) -> u8 {
        self.shift.saturating_sub(COLUMN_UNITS_SHIFT)
    }

    /// How much time a page of what is drawn has.
    pub const fn page_ns(self) -> u64 {
        self.column_ns() * PAGE_COLUMNS
    }

    /// The column of a moment.
    pub const fn column(self, time_ns: u64) -> u64 {
        time_ns >> self.shift
    }

    /// The unit of a moment.
    pub const fn unit(self, time_ns: u64) -> u64 {
        time_ns >> self.unit_shift()
    }

    /// The page of a moment.
    pub const fn page(self, time_ns: u64) -> u64 {
        time_ns / self.page_ns()
    }

    /// The units that a page has.
    pub(super) const fn page_units(self) -> u64 {
        self.page_ns() >> self.unit_shift()
    }
}

/// A row, or rows that are drawn together, with the time of each name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSum {
    /// When the first began.
    pub begin_ns: u64,
    /// When the last ended.
    pub end_ns: u64,
    /// How many rows.
    pub rows: u64,
    /// How long rows of the names took that took most; 0 where there are fewer names.
    names: [(TrackNameId, u64); TOP],
}

impl From<&TrackEntry> for ColumnSum {
    fn from(entry: &TrackEntry) -> Self {
        let mut names = [(0, 0); TOP];
        names[0] = (entry.name, entry.duration_ns());
        Self { begin_ns: entry.begin_ns, end_ns: entry.end_ns, rows: 1, names }
    }
}

impl From<&TrackPiece> for ColumnSum {
    fn from(piece: &TrackPiece) -> Self {
        let mut names = [(0, 0); TOP];
        names.iter_mut().zip(piece.names).for_each(|(place, name)| *place = name);
        Self { begin_ns: piece.begin_ns, end_ns: piece.end_ns, rows: piece.rows, names }
    }
}

impl ColumnSum {
    /// Whether others may be drawn together with it.
    const fn is_narrow(&self, grid: ColumnGrid) -> bool {
        self.rows > 1 || self.end_ns.saturating_sub(self.begin_ns) <= grid.column_ns()
    }

    /// Adds what follows it.
    fn add(&mut self, other: &Self) {
        self.end_ns = other.end_ns;
        self.rows = self.rows.saturating_add(other.rows);
        for (name, time_ns) in other.names.iter().filter(|(_, time_ns)| *time_ns > 0) {
            let known = self.names.iter_mut().find(|(known, sum)| *sum > 0 && known == name);
            if let Some((_, sum)) = known {
                *sum = sum.saturating_add(*time_ns);
                continue;
            }
            // Of more names than there is room for, those with the least time are given up.
            let least = self.names.iter_mut().min_by_key(|(_, sum)| *sum);
            if let Some(least) = least.filter(|least| least.1 < *time_ns) {
                *least = (*name, *time_ns);
            }
        }
    }

    /// The names that take most of the time and their shares of it, in order of the names; unused places have the first name and no share.
    pub fn look(&self) -> ([TrackNameId; PIECE_NAMES], [u8; PIECE_NAMES]) {
        let mut names = self.names;
        let span_ns = self.end_ns.saturating_sub(self.begin_ns).max(1);
        if names.iter().filter(|(_, time_ns)| *time_ns > 0).count() > 1 {
            names.sort_unstable_by_key(|(name, time_ns)| (std::cmp::Reverse(*time_ns), *name));
        } else if let [(name, time_ns), ..] = names
            && time_ns == span_ns
        {
            // A row by itself, as most are.
            return ([name; PIECE_NAMES], [SHARE_STEPS, 0, 0]);
        }
        let [first, second, third, ..] = names;
        let steps = shares_of([first.1, second.1, third.1], span_ns);
        let mut told = [(first.0, steps[0]), (second.0, steps[1]), (third.0, steps[2])];
        for place in told.iter_mut().skip(1).filter(|(_, share)| *share == 0) {
            place.0 = first.0;
        }
        told.sort_by_key(|(name, share)| (*share == 0, *name));
        (told.map(|(name, _)| name), told.map(|(_, share)| share))
    }
}

/// The shares of a span that times take, most first, in [`SHARE_STEPS`]: one that took part has at least one step, and together
/// they are not more than all.
fn shares_of(times_ns: [u64; PIECE_NAMES], span_ns: u64) -> [u8; PIECE_NAMES] {
    let all = u64::from(SHARE_STEPS);
    let step = |time_ns: u64| {
        let nearest = match time_ns.checked_mul(all).and_then(|times| times.checked_add(span_ns / 2)) {
            // Nearly always; dividing 128 bits takes ten times as long.
            Some(times) => times / span_ns,
            None => {
                let times = u128::from(time_ns) * u128::from(all) + u128::from(span_ns) / 2;
                (times / u128::from(span_ns)).min(all.into()) as u64
            }
        };
        nearest.clamp(u64::from(time_ns > 0), all)
    };
    // Names that took no time have no share.
    let mut steps = times_ns.map(|time_ns| if time_ns == 0 { 0 } else { step(time_ns) });
    while steps.iter().sum::<u64>() > all {
        if let Some(largest) = steps.iter_mut().max() {
            *largest -= 1;
        }
    }
    steps.map(|steps| steps as u8)
}

/// A number of rows in one byte: its first three bits and how many follow, rounded down.
pub fn rows_code(rows: u64) -> u8 {
    let exponent = u64::BITS - 1 - rows.max(1).leading_zeros();
    if exponent < ROWS_BITS - 1 {
        return rows as u8;
    }
    (exponent * 4 + ((rows >> (exponent + 1 - ROWS_BITS)) & 3) as u32) as u8
}

/// Puts what is narrower than a column together, column by column. What is put in is in order of time.
#[derive(Clone, Debug)]
pub struct TrackColumns {
    grid: ColumnGrid,
    pending: Option<ColumnSum>,
}

impl TrackColumns {
    /// Without anything yet.
    pub const fn new(grid: ColumnGrid) -> Self {
        Self { grid, pending: None }
    }

    /// Adds what comes next; calls `each` with what is done with.
    pub fn push(&mut self, sum: ColumnSum, each: &mut impl FnMut(ColumnSum)) {
        let is_narrow = sum.is_narrow(self.grid);
        let same = |pending: &&mut ColumnSum| {
            is_narrow && self.grid.column(pending.begin_ns) == self.grid.column(sum.begin_ns)
        };
        if let Some(pending) = self.pending.as_mut().filter(same) {
            pending.add(&sum);
            return;
        }
        self.finish(each);
        if is_narrow {
            self.pending = Some(sum);
        } else {
            each(sum);
        }
    }

    /// Calls `each` with what is not done with yet.
    pub fn finish(&mut self, each: &mut impl FnMut(ColumnSum)) {
        if let Some(pending) = self.pending.take() {
            each(pending);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnGrid, rows_code, shares_of};

    #[test]
    fn shares_are_near_and_together_not_more_than_all() {
        for (times, span, expected) in [
            ([100, 0, 0], 100, [15, 0, 0]),
            ([50, 50, 0], 100, [8, 7, 0]),
            ([47, 33, 20], 100, [7, 5, 3]),
            ([98, 1, 1], 100, [13, 1, 1]),
            ([1, 0, 0], 1000, [1, 0, 0]),
            ([40, 30, 10], 100, [6, 5, 2]),
            ([200, 0, 0], 100, [15, 0, 0]),
            ([u64::MAX / 2, u64::MAX / 4, 1], u64::MAX, [7, 4, 1]),
            ([u64::MAX, 0, 0], u64::MAX, [15, 0, 0]),
        ] {
            assert_eq!(shares_of(times, span), expected, "{times:?} of {span}");
        }
    }

    #[test]
    fn numbers_of_rows_are_told_with_three_bits() {
        let codes = [0, 1, 3, 4, 5, 7, 8, 9, 10, 15, 16, u64::MAX].map(rows_code);
        assert_eq!(codes, [0, 1, 3, 8, 9, 11, 12, 12, 13, 15, 16, 255]);
    }

    #[test]
    fn columns_are_no_wider_than_two_pixels() {
        for pixel_ns in [1, 2, 3, 4, 5, 1000, 1 << 40] {
            let column_ns = ColumnGrid::of_pixel(pixel_ns).column_ns();
            assert!(column_ns <= 2 * pixel_ns && column_ns > pixel_ns, "{column_ns} of {pixel_ns}");
        }
        assert_eq!(ColumnGrid::of_pixel(u64::MAX).shift(), super::MAX_SHIFT);
        assert!(ColumnGrid::new(super::MAX_SHIFT + 1).is_none());
    }
}

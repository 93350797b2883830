//! Counts by column and row of a picture, of which most are 0.

use crate::answers::HeatCells;

/// The counts, column by column.
pub(super) struct Grid {
    rows: usize,
    counts: Vec<u64>,
}

impl Grid {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { rows, counts: vec![0; columns * rows] }
    }

    pub(super) fn add(&mut self, column: usize, row: usize, count: u64) {
        if row < self.rows
            && let Some(sum) = self.counts.get_mut(column * self.rows + row)
        {
            *sum += count;
        }
    }

    /// The first and the last row that have something.
    pub(super) fn filled_rows(&self) -> Option<(usize, usize)> {
        let filled =
            (0..self.rows).filter(|row| self.counts.iter().skip(*row).step_by(self.rows).any(|count| *count > 0));
        let (mut first, mut last) = (None, 0);
        for row in filled {
            first = first.or(Some(row));
            last = row;
        }
        first.map(|first| (first, last))
    }

    /// What is not 0, with rows counted from `first` on.
    pub(super) fn cells(&self, first: usize) -> HeatCells {
        let mut cells = HeatCells::default();
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            cells.push(at / self.rows, (at % self.rows).saturating_sub(first), *count);
        }
        cells
    }
}

/// TimeColumns of equal width, and the one that the last moment was in: moments of a chunk come in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeColumns {
    first: i64,
    pub(super) step: u64,
    count: usize,
    at: usize,
    begin: i64,
    end: i64,
}

impl TimeColumns {
    /// TimeColumns from `first` on, each `step` wide.
    pub(super) fn new(first: i64, step: u64, count: usize) -> Self {
        let end = first.saturating_add_unsigned(step);
        Self { first, step, count, at: 0, begin: first, end }
    }

    /// The column of a moment, and how far into it that is; none outside.
    pub(super) fn of(&mut self, time: i64) -> Option<(usize, u64)> {
        if time < self.begin || time >= self.end {
            let inside = u64::try_from(i128::from(time) - i128::from(self.first)).ok()?;
            self.at = usize::try_from(inside / self.step).ok()?;
            self.begin = time.saturating_sub_unsigned(inside % self.step);
            self.end = self.begin.saturating_add_unsigned(self.step);
        }
        (self.at < self.count).then(|| (self.at, time.abs_diff(self.begin)))
    }
}

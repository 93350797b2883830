//! Rows by value, with room for a bounded number of values.

use crate::hash::IdMap;

/// Values below this, as most numbers of CPUs, processes and texts are, have a place of their own.
const SMALL: usize = 4096;

/// Rows by value.
pub(super) struct Tally {
    small: Vec<u64>,
    large: IdMap<u64, u64>,
    /// How many large values there is room for.
    room: usize,
    further: u64,
}

impl Tally {
    pub(super) fn new(room: usize) -> Self {
        Self { small: vec![0; SMALL], large: IdMap::default(), room: room.saturating_sub(SMALL), further: 0 }
    }

    /// Counts a value; whether it has a place.
    pub(super) fn add(&mut self, value: u64) -> bool {
        if let Some(rows) = usize::try_from(value).ok().and_then(|value| self.small.get_mut(value)) {
            *rows += 1;
            return true;
        }
        if let Some(rows) = self.large.get_mut(&value) {
            *rows += 1;
            return true;
        }
        if self.large.len() < self.room {
            self.large.insert(value, 1);
            return true;
        }
        self.further += 1;
        false
    }

    /// Rows with values that have no place.
    pub(super) fn further(&self) -> u64 {
        self.further
    }

    /// Tells each value with its rows.
    pub(super) fn counts(&self, mut each: impl FnMut(u64, u64)) {
        for (value, rows) in (0..).zip(&self.small) {
            if *rows > 0 {
                each(value, *rows);
            }
        }
        for (value, rows) in &self.large {
            each(*value, *rows);
        }
    }

    /// Each value with its rows.
    pub(super) fn into_counts(self) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        self.counts(|value, rows| all.push((value, rows)));
        all
    }
}

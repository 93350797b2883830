//! Sums of rows by what they have in common, as many as there is room for.

use std::{collections::HashMap, hash::Hash};

use super::MAX_RANGE_LINES;
use crate::answers::RangeRest;

/// Sums by key. Rows of keys that came when there was no room any more are counted together.
#[derive(Debug)]
pub(super) struct RangeGroups<K, V> {
    known: HashMap<K, V>,
    most: usize,
    /// How many rows of further keys there are.
    further_rows: u64,
    /// How much they have of what lines are ordered by.
    further_size: u64,
}

impl<K: Eq + Hash + Ord + Copy, V: Default> RangeGroups<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { known: HashMap::new(), most, further_rows: 0, further_size: 0 }
    }

    /// The sums of a key; none where there is no room for it, and a row with `size` is counted.
    pub(super) fn of(&mut self, key: K, size: u64) -> Option<&mut V> {
        if self.known.len() >= self.most && !self.known.contains_key(&key) {
            self.further_rows += 1;
            self.further_size = self.further_size.saturating_add(size);
            return None;
        }
        Some(self.known.entry(key).or_default())
    }

    /// The groups that have most, by `size` and then by key, and what the others are together: `whole` gives the rows of a
    /// group and its part of the sum.
    pub(super) fn greatest<S: Ord>(
        self,
        size: impl Fn(&V) -> S,
        whole: impl Fn(&V) -> (u64, u64),
    ) -> (Vec<(K, V)>, RangeRest) {
        let mut all: Vec<(K, V)> = self.known.into_iter().collect();
        all.sort_by(|(key, a), (other, b)| size(b).cmp(&size(a)).then_with(|| key.cmp(other)));
        let mut rest = RangeRest {
            lines: all.len().saturating_sub(MAX_RANGE_LINES) as u64,
            rows: self.further_rows,
            sum: self.further_size,
            has_further: self.further_rows > 0,
        };
        for (_, value) in all.iter().skip(MAX_RANGE_LINES) {
            let (rows, sum) = whole(value);
            rest.rows += rows;
            rest.sum = rest.sum.saturating_add(sum);
        }
        all.truncate(MAX_RANGE_LINES);
        (all, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut groups: RangeGroups<u64, u64> = RangeGroups::new(MAX_RANGE_LINES + 2);
        for key in 0..MAX_RANGE_LINES as u64 + 5 {
            for _ in 0..2 {
                if let Some(sum) = groups.of(key, key) {
                    *sum += key;
                }
            }
        }
        let (lines, rest) = groups.greatest(|sum| *sum, |sum| (2, *sum));
        let most = MAX_RANGE_LINES as u64;
        assert_eq!(
            (lines.len(), lines[0], lines[lines.len() - 1]),
            (MAX_RANGE_LINES, (most + 1, 2 * most + 2), (2, 4))
        );
        let sum = 2 + 2 * (most + 2 + most + 3 + most + 4);
        assert_eq!(rest, RangeRest { lines: 2, rows: 4 + 6, sum, has_further: true });
    }
}

//! Rows of several streams, one by one in order of time.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, binary_heap::PeekMut},
    sync::Arc,
};

use bathyscope_capture::{Batch, ColumnData, StreamSchema};

/// The most rows that are held until nothing earlier can come any more; beyond that the earliest are looked at, whatever may
/// still come.
pub const MAX_HELD_ROWS: usize = 1 << 19;

/// A batch of an input, from its next row on.
#[derive(Debug)]
struct Run {
    time_ns: u64,
    input: usize,
    /// Batches are numbered as they come.
    number: u64,
    rows: Arc<Batch>,
    next: usize,
}

impl Run {
    /// Which comes first: the earlier row; of the same moment the input that is named first; then what was there first.
    const fn key(&self) -> (u64, usize, u64) {
        (self.time_ns, self.input, self.number)
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Run {}

impl PartialOrd for Run {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The greatest is the one whose row comes first, as the heap wants it.
impl Ord for Run {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Until when rows are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// All from before this moment.
    Before(u64),
    /// The earliest, until no more than so many are held.
    Held(usize),
    /// All.
    End,
}

/// Puts batches of rows in order of time.
#[derive(Debug, Default)]
pub(crate) struct RowMerge {
    runs: BinaryHeap<Run>,
    held: usize,
    batches: u64,
    /// The time of the last row that was given.
    reached_ns: u64,
    late: u64,
}

fn times(rows: &Batch) -> &[u64] {
    rows.columns.get(StreamSchema::TIME).map(ColumnData::as_u64).unwrap_or_default()
}

impl RowMerge {
    /// Adds rows of an input, in order of time. Of the same moment, rows of a lower input come first.
    pub(crate) fn push(&mut self, input: usize, rows: Arc<Batch>) {
        let Some(time_ns) = times(&rows).first().copied() else { return };
        self.held += times(&rows).len();
        self.batches += 1;
        self.runs.push(Run { time_ns, input, number: self.batches, rows, next: 0 });
    }

    /// How many rows came after later ones had been given; they are never given.
    pub(crate) fn take_late(&mut self) -> u64 {
        std::mem::take(&mut self.late)
    }

    /// Whether more rows are held than may be.
    pub(crate) const fn is_full(&self) -> bool {
        self.held > MAX_HELD_ROWS
    }

    /// Gives rows to `each` in order of time: the input, and the batch with the place in it.
    pub(crate) fn advance(&mut self, until: Until, mut each: impl FnMut(usize, &Batch, usize)) {
        loop {
            // The rows of the first run go on until the first of another; the children of a heap's root are next to it.
            let other = self.runs.as_slice().get(1..).unwrap_or_default().iter().take(2).map(Run::key).min();
            let Some(mut top) = self.runs.peek_mut() else { return };
            let run: &mut Run = &mut top;
            let begin = run.next;
            let all = times(&run.rows);
            let is_due = |time_ns: u64, given: usize| match until {
                Until::Before(end_ns) => time_ns < end_ns,
                Until::Held(held) => self.held - given > held,
                Until::End => true,
            };
            while let Some(time_ns) = all.get(run.next) {
                let comes_first = other.is_none_or(|other| (*time_ns, run.input, run.number) <= other);
                if !comes_first || !is_due(*time_ns, run.next - begin) {
                    break;
                }
                if *time_ns < self.reached_ns {
                    self.late += 1;
                } else {
                    self.reached_ns = *time_ns;
                    each(run.input, &run.rows, run.next);
                }
                run.next += 1;
            }
            let (given, next) = (run.next - begin, all.get(run.next).copied());
            match next {
                Some(time_ns) => run.time_ns = time_ns,
                None => drop(PeekMut::pop(top)),
            }
            self.held -= given;
            if given == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(times: &[u64]) -> Arc<Batch> {
        Arc::new(Batch { columns: vec![ColumnData::U64(times.to_vec())] })
    }

    fn given(merge: &mut RowMerge, until: Until) -> Vec<(usize, u64)> {
        let mut out = Vec::new();
        merge.advance(until, |input, rows, row| out.push((input, times(rows)[row])));
        out
    }

    #[test]
    fn rows_come_in_order_of_time_and_of_inputs() {
        let mut merge = RowMerge::default();
        merge.push(1, batch(&[1, 3, 3, 9]));
        merge.push(0, batch(&[2, 3, 4]));
        merge.push(0, batch(&[]));
        // Overlaps the batch before it.
        merge.push(0, batch(&[3, 5]));
        assert_eq!(given(&mut merge, Until::Before(1)), []);
        assert_eq!(given(&mut merge, Until::Before(4)), [(1, 1), (0, 2), (0, 3), (0, 3), (1, 3), (1, 3)]);
        merge.push(0, batch(&[2, 3, 6]));
        assert_eq!(given(&mut merge, Until::Held(3)), [(0, 3), (0, 4)], "5, 6 and 9 are left, and one was late");
        assert_eq!(given(&mut merge, Until::End), [(0, 5), (0, 6), (1, 9)]);
        assert_eq!((merge.take_late(), merge.held), (1, 0));
    }

    #[test]
    fn rows_that_are_not_in_order_are_late() {
        let mut merge = RowMerge::default();
        merge.push(0, batch(&[5, 4, 6]));
        assert_eq!(given(&mut merge, Until::End), [(0, 5), (0, 6)]);
        assert_eq!(merge.take_late(), 1);
    }
}

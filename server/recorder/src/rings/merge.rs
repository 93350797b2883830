//! Puts the records of several rings in order of time (P31).
//!
//! Each ring is in order by itself; between rings a record may have to wait until it is certain that no other ring still
//! holds an earlier one. That is known from the reader: a ring that it found empty holds nothing from before that
//! moment, and one that it did not finish holds nothing from before its last record. The room for waiting is bounded;
//! when it is full the earliest record goes, and what comes after its time is counted as late and goes at once.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Bytes of records that wait at most.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// A record's time is taken a moment before the ring shows it.
const SLACK_NS: u64 = 1_000_000;

#[derive(Debug)]
struct MergedRecord<T> {
    key_ns: u64,
    ring: usize,
    sequence: u64,
    bytes: usize,
    item: T,
}

impl<T> PartialEq for MergedRecord<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for MergedRecord<T> {}

impl<T> PartialOrd for MergedRecord<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for MergedRecord<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.key_ns, self.ring, self.sequence).cmp(&(other.key_ns, other.ring, other.sequence))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct RingTime {
    /// The greatest time so far, so that a ring's own order stays.
    last_ns: u64,
    /// No record from before this moment will come.
    complete_ns: u64,
}

/// Merges records of rings by time.
#[derive(Debug)]
pub(crate) struct Merge<T> {
    rings: Vec<RingTime>,
    waiting: BinaryHeap<Reverse<MergedRecord<T>>>,
    waiting_bytes: usize,
    max_waiting_bytes: usize,
    sequence: u64,
    released_ns: u64,
    late: u64,
}

impl<T> Merge<T> {
    /// For `rings` rings.
    pub(crate) fn new(rings: usize) -> Self {
        Self {
            rings: vec![RingTime::default(); rings],
            waiting: BinaryHeap::new(),
            waiting_bytes: 0,
            max_waiting_bytes: MAX_WAITING_BYTES,
            sequence: 0,
            released_ns: 0,
            late: 0,
        }
    }

    /// The greatest time that a ring has shown.
    pub(crate) fn last_ns(&self, ring: usize) -> u64 {
        self.rings.get(ring).map_or(0, |ring| ring.last_ns)
    }

    /// Adds a record of `ring`, in the ring's order. A record without a time goes with the one before it.
    pub(crate) fn push(&mut self, ring: usize, time_ns: Option<u64>, bytes: usize, item: T) {
        let Some(times) = self.rings.get_mut(ring) else { return };
        times.last_ns = times.last_ns.max(time_ns.unwrap_or(0));
        let key_ns = times.last_ns;
        self.insert(ring, key_ns, bytes, item);
    }

    /// Adds a record of a ring whose records are not in order, as those of a ring that several CPUs share: each is no later in the
    /// ring than what a reading tells.
    pub(crate) fn push_unordered(&mut self, ring: usize, time_ns: u64, bytes: usize, item: T) {
        let Some(times) = self.rings.get_mut(ring) else { return };
        times.last_ns = times.last_ns.max(time_ns);
        self.insert(ring, time_ns, bytes, item);
    }

    fn insert(&mut self, ring: usize, key_ns: u64, bytes: usize, item: T) {
        if key_ns < self.released_ns {
            self.late += 1;
        }
        self.sequence += 1;
        self.waiting_bytes += bytes;
        self.waiting.push(Reverse(MergedRecord { key_ns, ring, sequence: self.sequence, bytes, item }));
    }

    /// The reader has read `ring`: to its end at `read_ns`, or only in part.
    pub(crate) fn read(&mut self, ring: usize, read_ns: u64, to_its_end: bool) {
        if let Some(times) = self.rings.get_mut(ring) {
            let complete_ns = if to_its_end { read_ns } else { times.last_ns };
            times.complete_ns = times.complete_ns.max(complete_ns.saturating_sub(SLACK_NS));
        }
    }

    /// No record from before this moment will come any more from any ring.
    pub(crate) fn complete_ns(&self) -> u64 {
        self.rings.iter().map(|ring| ring.complete_ns).min().unwrap_or(u64::MAX)
    }

    /// The time of the earliest record that waits.
    pub(crate) fn first_ns(&self) -> Option<u64> {
        self.waiting.peek().map(|Reverse(first)| first.key_ns)
    }

    /// Whether so much waits that the earliest record must go, whatever may still come.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes > self.max_waiting_bytes
    }

    /// The time of the next record whose turn has come; with `all` of any, as nothing more will come.
    pub(crate) fn next_ns(&self, all: bool) -> Option<u64> {
        let due = |first_ns: &u64| all || self.is_full() || *first_ns < self.complete_ns();
        self.first_ns().filter(due)
    }

    /// No record from before this moment will be taken out any more.
    pub(crate) fn pending_ns(&self) -> u64 {
        self.complete_ns().min(self.first_ns().unwrap_or(u64::MAX))
    }

    /// The next record that is not from after this moment, for a reader that has read all rings since.
    pub(crate) fn pop_until(&mut self, until_ns: u64) -> Option<(usize, u64, T)> {
        let due = self.waiting.peek().is_some_and(|Reverse(first)| first.key_ns <= until_ns);
        if due { self.pop_any() } else { None }
    }

    /// The next record, whether its turn has come or not: after the end nothing more will come.
    pub(crate) fn pop_any(&mut self) -> Option<(usize, u64, T)> {
        let Reverse(first) = self.waiting.pop()?;
        self.waiting_bytes -= first.bytes;
        self.released_ns = self.released_ns.max(first.key_ns);
        Some((first.ring, first.key_ns, first.item))
    }

    /// How many records came after a later one had gone.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drain(merge: &mut Merge<(usize, usize)>, all: bool) -> Vec<(u64, (usize, usize))> {
        let next = |merge: &mut Merge<(usize, usize)>| merge.next_ns(all).and_then(|_| merge.pop_any());
        std::iter::from_fn(|| next(merge)).map(|(_, time, item)| (time, item)).collect()
    }

    proptest! {
        /// Rings are read in parts, in any pattern; what the reader says about them is true.
        #[test]
        fn p31_order_is_kept_and_nothing_is_late(
            rings in proptest::collection::vec(proptest::collection::vec(0_u64..50_000_000, 0..40), 1..5),
            parts in proptest::collection::vec((0_usize..5, 1_usize..10), 0..60),
        ) {
            let rings: Vec<Vec<u64>> = rings.into_iter().map(|mut times| { times.sort_unstable(); times }).collect();
            let (mut merge, mut at) = (Merge::new(rings.len()), vec![0; rings.len()]);
            let mut out = Vec::new();
            for (ring, count) in parts {
                let ring = ring % rings.len();
                for _ in 0..count {
                    let Some(time) = rings[ring].get(at[ring]) else { break };
                    merge.push(ring, Some(*time), 1, (ring, at[ring]));
                    at[ring] += 1;
                }
                match rings[ring].get(at[ring]) {
                    // Everything up to the next record was read: the ring is empty just before that.
                    Some(next) => merge.read(ring, next + SLACK_NS, at[ring] % 2 == 0),
                    None => merge.read(ring, u64::MAX, true),
                }
                out.extend(drain(&mut merge, false));
            }
            for (ring, times) in rings.iter().enumerate() {
                for (index, time) in times.iter().enumerate().skip(at[ring]) {
                    merge.push(ring, Some(*time), 1, (ring, index));
                }
            }
            out.extend(drain(&mut merge, true));
            prop_assert_eq!(merge.late(), 0);
            prop_assert!(out.is_sorted_by_key(|(time, _)| *time));
            for (ring, times) in rings.iter().enumerate() {
                let own: Vec<usize> = out.iter().filter(|(_, item)| item.0 == ring).map(|(_, item)| item.1).collect();
                prop_assert_eq!(own, (0..times.len()).collect::<Vec<_>>());
            }
        }

        /// However wrong the times are, nothing is lost, and each ring keeps its order.
        #[test]
        fn p31_late_records_are_counted_and_kept(
            records in proptest::collection::vec((0_usize..3, 0_u64..10_000_000, any::<bool>()), 0..200),
        ) {
            let mut merge = Merge::new(3);
            merge.max_waiting_bytes = 20;
            let mut out = Vec::new();
            for (index, (ring, time, end)) in records.iter().enumerate() {
                merge.push(*ring, Some(*time), 1, (*ring, index));
                merge.read(*ring, time + 2 * SLACK_NS, *end);
                out.extend(drain(&mut merge, false));
                prop_assert!(merge.waiting.len() <= 20);
            }
            out.extend(drain(&mut merge, true));
            prop_assert_eq!(out.len(), records.len());
            for ring in 0..3 {
                let own: Vec<usize> = out.iter().filter(|(_, item)| item.0 == ring).map(|(_, item)| item.1).collect();
                prop_assert!(own.is_sorted());
            }
            let steps_back = out.windows(2).filter(|pair| pair[1].0 < pair[0].0).count() as u64;
            prop_assert!(steps_back <= merge.late());
        }
    }

    #[test]
    fn records_of_a_shared_ring_are_put_in_order() {
        let mut merge = Merge::new(1);
        let times = [7, 5, 9, 8].map(|time| time * SLACK_NS);
        times.iter().for_each(|time| merge.push_unordered(0, *time, 1, *time));
        assert_eq!(merge.last_ns(0), 9 * SLACK_NS);
        merge.read(0, 9 * SLACK_NS, true);
        let due: Vec<u64> =
            std::iter::from_fn(|| merge.next_ns(false).and_then(|_| merge.pop_any())).map(|it| it.2).collect();
        assert_eq!(
            due,
            [5, 7].map(|time| time * SLACK_NS),
            "what is as old as the reading may still have one before it"
        );
        assert_eq!((merge.pop_any().map(|it| it.2), merge.late()), (Some(8 * SLACK_NS), 0));
    }

    #[test]
    fn a_record_without_time_goes_with_the_one_before() {
        let mut merge = Merge::new(2);
        merge.push(0, Some(10), 1, 'a');
        merge.push(0, None, 1, 'b');
        merge.push(1, Some(5), 1, 'c');
        let order: Vec<char> = std::iter::from_fn(|| merge.pop_any()).map(|(_, _, item)| item).collect();
        assert_eq!(order, ['c', 'a', 'b']);
    }
}

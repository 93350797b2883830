//! Begins that wait for their ends.

use std::collections::{HashMap, VecDeque};

use super::definition::{MAX_SPAN_COLUMNS, SpanPairing};

/// The most begins that are open at a time; with more of them the oldest is given up.
pub const MAX_OPEN_BEGINS: usize = 1 << 18;

/// The values of a key's columns: numbers by their value, texts by their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SpanKey {
    values: [u64; MAX_SPAN_COLUMNS],
    /// Which of them are below zero, one bit each.
    negative: u8,
}

impl SpanKey {
    /// Sets the value at this place.
    pub(super) fn set(&mut self, at: usize, value: u64, is_negative: bool) {
        if let Some(place) = self.values.get_mut(at) {
            *place = value;
            self.negative |= u8::from(is_negative) << at;
        }
    }
}

/// A place for a begin.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The number of the begin that is there; 0 if the place is free.
    number: u64,
    key: SpanKey,
}

/// Open begins, each with some words that belong to it.
#[derive(Debug)]
pub(super) struct OpenBegins {
    /// How many words each has.
    width: usize,
    most: usize,
    slots: Vec<Slot>,
    words: Vec<u64>,
    free: Vec<u32>,
    /// The places of the begins of each key, in the order in which they came.
    by_key: HashMap<SpanKey, VecDeque<u32>>,
    /// Numbers and places of begins in the order in which they came, with many that are not open any more.
    ages: VecDeque<(u64, u32)>,
    begins: u64,
}

impl OpenBegins {
    pub(super) fn new(width: usize) -> Self {
        Self::with_limit(width, MAX_OPEN_BEGINS)
    }

    fn with_limit(width: usize, most: usize) -> Self {
        Self {
            width,
            most,
            slots: Vec::new(),
            words: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            ages: VecDeque::new(),
            begins: 0,
        }
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// How many begins of a key are open.
    pub(super) fn depth(&self, key: &SpanKey) -> u64 {
        self.by_key.get(key).map_or(0, |places| places.len() as u64)
    }

    /// Adds a begin; `true` if the oldest had to give way.
    pub(super) fn add(&mut self, key: SpanKey, words: &[u64]) -> bool {
        let is_full = self.len() >= self.most;
        if is_full {
            self.evict();
        }
        self.begins += 1;
        let slot = Slot { number: self.begins, key };
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(old) = self.slots.get_mut(place as usize) {
                    *old = slot;
                }
                place
            }
            None => {
                self.slots.push(slot);
                self.words.resize(self.slots.len() * self.width, 0);
                // There are at most `MAX_OPEN_BEGINS`.
                (self.slots.len() - 1) as u32
            }
        };
        let kept = self.words.chunks_exact_mut(self.width).nth(place as usize).into_iter().flatten();
        kept.zip(words).for_each(|(kept, word)| *kept = *word);
        self.by_key.entry(key).or_default().push_back(place);
        self.ages.push_back((self.begins, place));
        if self.ages.len() > 2 * self.len() + 1024 {
            let slots = &self.slots;
            self.ages.retain(|(number, place)| is_there(slots, *number, *place));
        }
        is_full
    }

    /// Takes the begin that an end of this key belongs to, and puts its words into `words`; `false` if there is none.
    pub(super) fn take(&mut self, key: &SpanKey, pairing: SpanPairing, words: &mut Vec<u64>) -> bool {
        let Some(places) = self.by_key.get_mut(key) else { return false };
        let place = match pairing {
            SpanPairing::Nested => places.pop_back(),
            SpanPairing::Overlapping | SpanPairing::Exclusive => places.pop_front(),
        };
        if places.is_empty() {
            self.by_key.remove(key);
        }
        let Some(place) = place else { return false };
        words.clear();
        words.extend(self.words.chunks_exact(self.width).nth(place as usize).into_iter().flatten());
        self.release(place);
        true
    }

    fn release(&mut self, place: u32) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.number = 0;
            self.free.push(place);
        }
    }

    /// Gives up the oldest begin, which is the first of its key.
    fn evict(&mut self) {
        while let Some((number, place)) = self.ages.pop_front() {
            if !is_there(&self.slots, number, place) {
                continue;
            }
            let Some(key) = self.slots.get(place as usize).map(|slot| slot.key) else { return };
            if let Some(places) = self.by_key.get_mut(&key) {
                places.pop_front();
                if places.is_empty() {
                    self.by_key.remove(&key);
                }
            }
            return self.release(place);
        }
    }

    /// Gives up all; how many there were.
    pub(super) fn clear(&mut self) -> u64 {
        let open = self.len() as u64;
        *self = Self::with_limit(self.width, self.most);
        open
    }
}

fn is_there(slots: &[Slot], number: u64, place: u32) -> bool {
    slots.get(place as usize).is_some_and(|slot| slot.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: u64) -> SpanKey {
        let mut key = SpanKey::default();
        key.set(0, value, false);
        key
    }

    fn taken(open: &mut OpenBegins, of: u64, pairing: SpanPairing) -> Option<u64> {
        let mut words = Vec::new();
        open.take(&key(of), pairing, &mut words).then(|| words[0])
    }

    #[test]
    fn an_end_takes_the_begin_that_its_pairing_says() {
        let mut open = OpenBegins::new(1);
        for (of, word) in [(1, 10), (2, 20), (1, 11), (1, 12)] {
            assert!(!open.add(key(of), &[word]));
        }
        assert_eq!((open.depth(&key(1)), open.depth(&key(3))), (3, 0));
        assert_eq!(taken(&mut open, 1, SpanPairing::Nested), Some(12));
        assert_eq!(taken(&mut open, 1, SpanPairing::Overlapping), Some(10));
        assert_eq!(taken(&mut open, 3, SpanPairing::Nested), None);
        assert_eq!(open.clear(), 2);
        assert_eq!(taken(&mut open, 1, SpanPairing::Nested), None);
    }

    #[test]
    fn the_oldest_begin_gives_way() {
        let mut open = OpenBegins::with_limit(1, 3);
        let evicted: Vec<bool> = (0..5).map(|of| open.add(key(of % 4), &[of])).collect();
        assert_eq!(evicted, [false, false, false, true, true]);
        assert_eq!(taken(&mut open, 0, SpanPairing::Overlapping), Some(4), "the first of this key was the oldest");
        assert_eq!(taken(&mut open, 1, SpanPairing::Overlapping), None);
        // Begins that ended leave no traces behind.
        for of in 0..100_000 {
            open.add(key(of), &[of]);
            taken(&mut open, of, SpanPairing::Nested).unwrap();
        }
        assert!(open.ages.len() < 2000 && open.slots.len() == 3 && open.by_key.len() == 2);
    }

    #[test]
    fn a_negative_number_is_no_large_one() {
        let mut negative = SpanKey::default();
        negative.set(0, u64::MAX, true);
        assert_ne!(negative, key(u64::MAX));
    }
}

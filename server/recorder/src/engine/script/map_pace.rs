//! How often the maps of a running script are read. Reading one costs the agent and this process CPU time for each
//! element, so a map is read again only after so long that all of them together take a small share of the time; one that
//! is too large to be shown is left alone as long as nobody looks. At the end each is read once, whatever that costs.

use std::time::{Duration, Instant};

use crate::live::MapTick;

/// How often a map is read that costs little.
pub(super) const USUAL: Duration = Duration::from_secs(1);
/// How often a map that is too large is looked at again: it may have been emptied.
const LARGE: Duration = Duration::from_secs(10);
/// The longest pause.
const MOST: Duration = Duration::from_secs(600);
/// Reading all maps takes at most one part in so many of the time.
const SHARE: u32 = 50;

/// What is known of one map.
#[derive(Clone, Copy, Debug)]
struct MapCost {
    due: Instant,
    cost: Duration,
    pause: Duration,
    elements: u64,
    large: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct MapPace(Vec<MapCost>);

impl MapPace {
    /// For so many maps, which are first read when [`USUAL`] has passed.
    pub(super) fn new(maps: usize, now: Instant) -> Self {
        let known = MapCost { due: now + USUAL, cost: Duration::ZERO, pause: USUAL, elements: 0, large: false };
        Self(vec![known; maps])
    }

    /// Whether a map is to be read now, if somebody looks (`watched`) or its snapshots are kept (`kept`).
    pub(super) fn is_due(&self, map: u32, now: Instant, watched: bool, kept: bool) -> bool {
        self.0.get(map as usize).is_some_and(|known| known.due <= now && (watched || (kept && !known.large)))
    }

    /// A map was read until `now`, which cost so much CPU time of the agent and this process; `large` if it has more elements than are shown or kept.
    pub(super) fn was_read(&mut self, map: u32, now: Instant, cost: Duration, elements: u64, large: bool) {
        let maps = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let least = if large { LARGE } else { USUAL };
        let Some(known) = self.0.get_mut(map as usize) else { return };
        let pause = cost.saturating_mul(SHARE).saturating_mul(maps).clamp(least, MOST);
        *known = MapCost { due: now + pause, cost, pause, elements, large };
    }

    /// What reading costs, of the maps that were read.
    pub(super) fn ticks(&self, name: impl Fn(usize) -> String) -> Vec<MapTick> {
        let read = self.0.iter().enumerate().filter(|(_, known)| known.cost > Duration::ZERO);
        let tick = |(index, known): (usize, &MapCost)| MapTick {
            name: name(index),
            elements: known.elements,
            read_us: u64::try_from(known.cost.as_micros()).unwrap_or(u64::MAX),
            every_ms: u64::try_from(known.pause.as_millis()).unwrap_or(u64::MAX),
            too_large: known.large,
        };
        read.map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn reading_takes_a_small_share_of_the_time() {
        let start = Instant::now();
        let mut pace = MapPace::new(2, start);
        let (watched, kept) = (true, true);
        assert!(!pace.is_due(0, start, watched, kept) && pace.is_due(0, start + USUAL, watched, kept));
        // What it costs, and the pause after it: each of two maps may take one part in a hundred.
        for (cost, pause) in [(MS, USUAL), (20 * MS, 2 * USUAL), (90 * MS, 9 * USUAL), (60 * USUAL, MOST)] {
            pace.was_read(0, start, cost, 10, false);
            assert!(!pace.is_due(0, start + pause - MS, watched, kept), "{cost:?}");
            assert!(pace.is_due(0, start + pause, watched, kept), "{cost:?}");
        }
        // The other one has its own time.
        assert!(pace.is_due(1, start + USUAL, watched, kept));
        assert!(!pace.is_due(2, start + MOST, watched, kept));
    }

    #[test]
    fn what_nobody_wants_is_not_read() {
        let start = Instant::now();
        let mut pace = MapPace::new(1, start);
        let later = start + USUAL;
        assert!(!pace.is_due(0, later, false, false));
        assert!(pace.is_due(0, later, false, true) && pace.is_due(0, later, true, false));
        pace.was_read(0, later, MS, 1 << 20, true);
        let much_later = later + MOST;
        assert!(!pace.is_due(0, much_later, false, true), "a large map waits until somebody looks");
        assert!(!pace.is_due(0, later + LARGE - MS, true, true) && pace.is_due(0, later + LARGE, true, true));
        pace.was_read(0, much_later, MS, 5, false);
        assert!(pace.is_due(0, much_later + USUAL, false, true), "it was emptied");
    }

    #[test]
    fn the_cost_is_told() {
        let mut pace = MapPace::new(2, Instant::now());
        pace.was_read(1, Instant::now(), 40 * MS, 5000, true);
        let tick =
            MapTick { name: "@1".to_owned(), elements: 5000, read_us: 40_000, every_ms: 10_000, too_large: true };
        assert_eq!(pace.ticks(|index| format!("@{index}")), [tick]);
    }
}

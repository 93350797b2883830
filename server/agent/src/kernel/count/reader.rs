//! The thread that reads counters.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use bathyscope_protocol::{ProbeReading, rings::SimulatedBpfRing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Counter, times::Times};
use crate::{clock::monotonic_ns, count_row::CountRow, spending::Spending};

/// Everything that the thread needs.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) counters: Vec<Counter>,
    pub(super) ring: SimulatedBpfRing,
    pub(super) interval_ms: u32,
    /// How long after the rest counting begins.
    pub(super) delay_ms: u32,
    /// The processes that end the counting when all of them have ended; none if nobody does.
    pub(super) targets: Vec<OwnedFd>,
    /// Times that are told beside.
    pub(super) times: Times,
    /// Readable when the counting is to end.
    pub(super) stop: OwnedFd,
    pub(super) told: Arc<Mutex<ProbeReading>>,
    /// Only each so many intervals are read, to spare the agent.
    pub(super) rarer: Arc<AtomicU32>,
    /// Whose time this is.
    pub(super) spending: Spending,
    /// End of the last interval.
    pub(super) last_ns: u64,
    /// Nanoseconds spent on reading.
    pub(super) spent_ns: u64,
}

impl Reader {
    /// Begins to count.
    pub(super) fn enable(&self) -> io::Result<()> {
        self.each(|event| event.enable())
    }

    fn each(&self, mut call: impl FnMut(&crate::os::perf::Event) -> io::Result<()>) -> io::Result<()> {
        self.counters.iter().flat_map(|counter| &counter.slots).try_for_each(|slot| call(&slot.event))
    }

    /// Reads at each interval until the target ends or the capture is stopped, then once more.
    pub(super) fn run(mut self) {
        let begun = self.begin_later();
        let usual = Duration::from_millis(u64::from(self.interval_ms));
        let mut next = Instant::now() + usual;
        while begun && self.wait(next) {
            self.read();
            self.spending.note();
            let interval = usual * self.rarer.load(Ordering::Relaxed).max(1);
            let now = Instant::now();
            while next <= now {
                next += interval;
            }
        }
        // One whose CPU went offline is disabled already.
        let _gone = self.each(|event| {
            let _gone = event.disable();
            Ok(())
        });
        self.read();
    }

    /// Waits for the moment at which counting begins, and begins; says whether it came before the end.
    fn begin_later(&mut self) -> bool {
        if self.delay_ms == 0 {
            return true;
        }
        let begun = self.wait(Instant::now() + Duration::from_millis(self.delay_ms.into()));
        if begun {
            // One whose CPU went offline, or whose thread has ended, counts nothing.
            let _gone = self.each(|event| {
                let _gone = event.enable();
                Ok(())
            });
        }
        self.last_ns = monotonic_ns();
        self.times.begin(self.last_ns);
        begun
    }

    /// Whether the next interval came before the end.
    fn wait(&mut self, next: Instant) -> bool {
        loop {
            let left = Timespec::try_from(next.saturating_duration_since(Instant::now())).unwrap_or_default();
            let mut polled = vec![PollFd::new(&self.stop, PollFlags::IN)];
            polled.extend(self.targets.iter().map(|target| PollFd::new(target, PollFlags::IN)));
            match poll(&mut polled, Some(&left)) {
                Ok(0) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Ok(_ready) => {
                    let ended: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
                    let (stopped, ended) = ended.split_first().map_or((true, &[][..]), |(first, rest)| (*first, rest));
                    let mut ended = ended.iter();
                    self.targets.retain(|_| !ended.next().copied().unwrap_or(false));
                    if stopped || self.targets.is_empty() {
                        return false;
                    }
                }
                // Without waiting it would read all the time.
                Err(_errno) => return false,
            }
        }
    }

    /// A row for each counter, the first time also for each event that cannot be counted. What did not fit into the ring
    /// is in the next row.
    fn read(&mut self) {
        let clock = Instant::now();
        let time_ns = monotonic_ns();
        let span_ns = time_ns.saturating_sub(self.last_ns);
        let (mut rows, mut full) = (0, 0);
        let times = self.times.read(time_ns);
        for counter in &mut self.counters {
            if let Some((tool, told)) = &mut counter.time {
                let now = times(*tool);
                let (value, enabled_ns) = (now.saturating_sub(*told), span_ns);
                let row = CountRow { time_ns, span_ns, value, enabled_ns, running_ns: span_ns, ..counter.row.clone() };
                rows += 1;
                if self.ring.push(&row.encode()) {
                    *told = now;
                } else {
                    full += 1;
                }
                continue;
            }
            if counter.slots.is_empty() {
                if !counter.row.state.is_empty() && !counter.told {
                    rows += 1;
                    counter.told = self.ring.push(&CountRow { time_ns, ..counter.row.clone() }.encode());
                    full += u64::from(!counter.told);
                }
                continue;
            }
            let words: Vec<[u64; 3]> =
                counter.slots.iter().map(|slot| slot.event.read_words().unwrap_or(slot.told)).collect();
            let mut row = CountRow { time_ns, span_ns, ..counter.row.clone() };
            for (slot, now) in counter.slots.iter().zip(&words) {
                let (value, enabled_ns, running_ns) = since(slot.told, *now);
                row.value = row.value.saturating_add(value);
                row.enabled_ns = row.enabled_ns.saturating_add(enabled_ns);
                row.running_ns = row.running_ns.saturating_add(running_ns);
            }
            rows += 1;
            if self.ring.push(&row.encode()) {
                counter.slots.iter_mut().zip(words).for_each(|(slot, now)| slot.told = now);
            } else {
                full += 1;
            }
        }
        self.last_ns = time_ns;
        self.spent_ns += u64::try_from(clock.elapsed().as_nanos()).unwrap_or(0);
        self.note(rows, full);
    }

    fn note(&self, rows: u64, full: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.hits += rows;
        told.ring_full += full;
        told.ns_per_hit = (told.hits > 0).then(|| self.spent_ns as f64 / told.hits as f64);
    }
}

/// What was counted between two readings: the count, made larger where the event shared its counter with others and was
/// on it for a part of the time only, and for how long it was enabled and on the counter.
fn since(before: [u64; 3], now: [u64; 3]) -> (u64, u64, u64) {
    let [count, enabled, running] = [0, 1, 2].map(|word: usize| {
        let of = |words: [u64; 3]| words.get(word).copied().unwrap_or(0);
        of(now).saturating_sub(of(before))
    });
    let scaled = match running {
        0 => count,
        running if running >= enabled => count,
        running => u64::try_from(u128::from(count) * u128::from(enabled) / u128::from(running)).unwrap_or(u64::MAX),
    };
    (scaled, enabled, running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shared_a_counter_is_scaled() {
        let cases = [
            ([0; 3], [10, 100, 100], (10, 100, 100)),
            ([10, 100, 100], [30, 200, 150], (40, 100, 50)),
            ([5, 10, 10], [5, 20, 10], (0, 10, 0)),
            ([7, 7, 7], [6, 6, 6], (0, 0, 0)),
            ([0; 3], [u64::MAX, u64::MAX, 1], (u64::MAX, u64::MAX, 1)),
        ];
        for (before, now, expected) in cases {
            assert_eq!(since(before, now), expected, "{before:?} {now:?}");
        }
    }
}

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

use bathyscope_catalog::perf_events::ToolEvent;
use bathyscope_protocol::{ProbeReading, rings::SimulatedBpfRing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{CountedBy, Counter, times::Times};
use crate::{clock::monotonic_ns, count_row::CountRow, os::proc_counters::ProcCounters, spending::Spending};

/// Everything that the thread needs.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) counters: Vec<Counter>,
    /// What some of them are read from.
    pub(super) files: ProcCounters,
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
        self.counters.iter().flat_map(Counter::slots).try_for_each(|slot| call(&slot.event))
    }

    /// Reads at each interval until the target ends or the capture is stopped, then once more.
    pub(super) fn run(mut self) {
        let begun = self.begin_later();
        self.begin_files();
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

    /// What files tell is counted from now on.
    fn begin_files(&mut self) {
        self.files.read();
        let now_ns = monotonic_ns();
        for counter in &mut self.counters {
            if let CountedBy::Proc(slot) = &mut counter.counted {
                slot.told = self.files.value(slot.place).unwrap_or(slot.told);
                slot.told_ns = now_ns;
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
        self.files.read();
        let interval = Interval { time_ns, span_ns, times: &times, files: &self.files };
        for counter in &mut self.counters {
            let Some(fits) = counter.tell(&interval, &mut self.ring) else { continue };
            rows += 1;
            full += u64::from(!fits);
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

/// An interval that ends now, and where numbers are read.
struct Interval<'a> {
    time_ns: u64,
    span_ns: u64,
    times: &'a dyn Fn(ToolEvent) -> u64,
    files: &'a ProcCounters,
}

impl Counter {
    /// Writes the row of an interval; whether there was room for it. None where there is nothing to tell.
    fn tell(&mut self, interval: &Interval<'_>, ring: &mut SimulatedBpfRing) -> Option<bool> {
        let Interval { time_ns, span_ns, .. } = *interval;
        let mut row = CountRow { time_ns, span_ns, ..self.row.clone() };
        match &mut self.counted {
            CountedBy::Nothing { told: true } => None,
            CountedBy::Nothing { told } => {
                *told = ring.push(&CountRow { span_ns: 0, ..row }.encode());
                Some(*told)
            }
            CountedBy::Time { tool, told_ns } => {
                let now = (interval.times)(*tool);
                row.value = now.saturating_sub(*told_ns);
                (row.enabled_ns, row.running_ns) = (span_ns, span_ns);
                let fits = ring.push(&row.encode());
                *told_ns = if fits { now } else { *told_ns };
                Some(fits)
            }
            CountedBy::Proc(slot) => {
                let now = interval.files.value(slot.place)?;
                let since_ns = time_ns.saturating_sub(slot.told_ns);
                row.value = if row.is_gauge { now } else { now.saturating_sub(slot.told) };
                (row.span_ns, row.enabled_ns, row.running_ns) = (since_ns, since_ns, since_ns);
                let fits = ring.push(&row.encode());
                if fits {
                    (slot.told, slot.told_ns) = (now, time_ns);
                }
                Some(fits)
            }
            CountedBy::Events(slots) if slots.is_empty() => None,
            CountedBy::Events(slots) => {
                let words: Vec<[u64; 3]> =
                    slots.iter().map(|slot| slot.event.read_words().unwrap_or(slot.told)).collect();
                for (slot, now) in slots.iter().zip(&words) {
                    let (value, enabled_ns, running_ns) = since(slot.told, *now);
                    row.value = row.value.saturating_add(value);
                    row.enabled_ns = row.enabled_ns.saturating_add(enabled_ns);
                    row.running_ns = row.running_ns.saturating_add(running_ns);
                }
                let fits = ring.push(&row.encode());
                if fits {
                    slots.iter_mut().zip(words).for_each(|(slot, now)| slot.told = now);
                }
                Some(fits)
            }
        }
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

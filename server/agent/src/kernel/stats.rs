//! What a hit costs, from the kernel's own statistics of running programs, and what the guard does about it.
//!
//! The statistics are one switch for the whole host and cost every program two readings of the clock, so they are on
//! for a short window now and then only. Of what runs no program (ftrace, samples, counters) the kernel tells no time: how
//! often it happened is multiplied with what it costs on usual machines ([`CostMeter::estimate`]), and called an estimate.

use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bathyscope_protocol::{GuardStage, rings::RingProgress};

use crate::{
    guard::{Action, Cost, Guard, SharedBudget},
    os::bpf::{self, ProgramStats},
    spending::Spending,
};

/// How long the statistics are on.
const WINDOW: Duration = Duration::from_millis(50);
/// How long they are off in between.
const PAUSE: Duration = Duration::from_millis(950);
/// The same while the capture uses more than half of its budget: a breach that lasts is over within two seconds.
const ALERT_PAUSE: Duration = Duration::from_millis(300);

/// How often estimates are made.
const ESTIMATE_PAUSE: Duration = Duration::from_millis(500);

/// How many nanoseconds something has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpentTime {
    /// For what was asked for.
    pub(crate) asked_ns: u64,
    /// To pass over what others did.
    pub(crate) passing_ns: u64,
}

impl SpentTime {
    /// All of it for what was asked for.
    pub(crate) fn asked(asked_ns: u64) -> Self {
        Self { asked_ns, passing_ns: 0 }
    }

    /// Of several.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            asked_ns: self.asked_ns.saturating_add(other.asked_ns),
            passing_ns: self.passing_ns.saturating_add(other.passing_ns),
        }
    }

    /// What it came to since `before`, in so much time, if nothing was written.
    pub(crate) fn cost_since(self, before: Self, elapsed: Duration) -> Cost {
        let permille =
            |now: u64, before: u64| now.saturating_sub(before) as f64 / elapsed.as_secs_f64().max(1e-6) / 1e6;
        Cost {
            cpu_permille: permille(self.asked_ns, before.asked_ns),
            passing_permille: permille(self.passing_ns, before.passing_ns),
            ..Cost::default()
        }
    }
}

/// What happens in a capture whose cost no statistics tell.
pub(crate) struct Estimate {
    /// What it has taken so far, by what was counted.
    pub(crate) spent: Box<dyn Fn() -> SpentTime + Send>,
    /// What one hit takes.
    pub(crate) ns_per_hit: f64,
}

/// What a capture has written so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Rows.
    pub(crate) rows: u64,
    /// Bytes of records.
    pub(crate) bytes: u64,
    /// Rows that its programs left out, to keep to a budget.
    pub(crate) held_rows: u64,
    /// Bytes of these.
    pub(crate) held_bytes: u64,
}

impl Written {
    /// What was written since `before`, in so much time, beside `cost`.
    fn rates_since(self, before: Self, elapsed: Duration, cost: Cost) -> Cost {
        let seconds = elapsed.as_secs_f64().max(1e-6);
        let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        Cost {
            rows_per_s: per_s(self.rows, before.rows),
            bytes_per_s: per_s(self.bytes, before.bytes),
            held_rows_per_s: per_s(self.held_rows, before.held_rows),
            held_bytes_per_s: per_s(self.held_bytes, before.held_bytes),
            ..cost
        }
    }
}

/// What a capture's programs did for what was asked for, as they count it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// How often a program ran for it.
    pub(crate) runs: u64,
    /// Nanoseconds that they measured, of which what they do before they know what they run for is no part.
    pub(crate) spent_ns: u64,
}

impl Asked {
    /// Of `used_ns` in `runs` runs, what was for what was asked for since `before`. What is not measured all runs have alike.
    fn share_since(self, before: Self, used_ns: u64, runs: u64) -> u64 {
        let measured = self.spent_ns.saturating_sub(before.spent_ns).min(used_ns);
        let own = self.runs.saturating_sub(before.runs).min(runs);
        let rest = u128::from(used_ns - measured) * u128::from(own) / u128::from(runs.max(1));
        measured + u64::try_from(rest).unwrap_or(u64::MAX)
    }
}

/// What the guard of a capture can do.
pub(crate) struct Guarded {
    /// Decides.
    pub(crate) guard: Guard,
    /// What has been written so far; nothing where that is not known or never much.
    pub(crate) written: Box<dyn Fn() -> Written + Send>,
    /// What was done for what was asked for so far; where that is not told apart, all was.
    pub(crate) asked: Option<Box<dyn Fn() -> Option<Asked> + Send>>,
    /// Lets so many rows a second be written, over all CPUs.
    pub(crate) thin: Box<dyn FnMut(u64) + Send>,
    /// Detaches all probes.
    pub(crate) detach: Box<dyn FnMut() + Send>,
}

impl Guarded {
    /// Of a capture that is detached or not: a part of its rows would be worth less than none, or would not make it cheaper.
    pub(crate) fn whole(budget: SharedBudget, detach: impl FnMut() + Send + 'static) -> Self {
        Self {
            guard: Guard::new(budget, false),
            written: Box::new(Written::default),
            asked: None,
            thin: Box::new(|_rows_per_s| {}),
            detach: Box::new(detach),
        }
    }

    /// One whose programs tell what they do for what was asked for from what they do to pass over the rest.
    pub(crate) fn telling_apart(self, asked: impl Fn() -> Option<Asked> + Send + 'static) -> Self {
        Self { asked: Some(Box::new(asked)), ..self }
    }

    /// One that tells what it writes, so that its budgets of rows and bytes are watched too.
    pub(crate) fn writing(self, written: impl Fn() -> Written + Send + 'static) -> Self {
        Self { written: Box::new(written), ..self }
    }

    /// One that writes into a ring.
    pub(crate) fn writing_into(self, ring: BorrowedFd<'_>) -> Self {
        match RingProgress::of(ring) {
            Ok(progress) => self.writing(move || Written { bytes: progress.bytes(), ..Written::default() }),
            Err(error) => {
                tracing::warn!(%error, "what a capture writes is not known, so its budget is not enforced");
                self
            }
        }
    }
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded").field("guard", &self.guard).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct MeterState {
    ns_per_hit: Vec<Option<f64>>,
    stage: GuardStage,
    ended: bool,
}

#[derive(Debug, Default)]
struct MeterShared {
    state: Mutex<MeterState>,
    changed: Condvar,
    /// Whose time the meter's is.
    spending: Spending,
}

impl MeterShared {
    fn lock(&self) -> MutexGuard<'_, MeterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`; `true` if the measuring has ended.
    fn pause(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

/// Measures a capture's programs while it runs.
#[derive(Debug)]
pub(crate) struct CostMeter {
    shared: Arc<MeterShared>,
    thread: Option<JoinHandle<()>>,
}

impl CostMeter {
    /// Begins to measure `programs`, and to watch over them.
    pub(crate) fn start(programs: Vec<OwnedFd>, guarded: Guarded) -> Self {
        let shared = Arc::new(MeterShared { spending: Spending::of_here(), ..MeterShared::default() });
        shared.lock().ns_per_hit = vec![None; programs.len()];
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("bathyscope-cost".into())
            .spawn(move || measure(&programs, guarded, &theirs))
            .inspect_err(|error| tracing::warn!(%error, "the cost of probes is not measured"))
            .ok();
        Self { shared, thread }
    }

    /// Begins to watch over a capture whose cost can only be estimated.
    pub(crate) fn estimate(estimate: Estimate, guarded: Guarded) -> Self {
        let shared = Arc::new(MeterShared { spending: Spending::of_here(), ..MeterShared::default() });
        shared.lock().ns_per_hit = vec![Some(estimate.ns_per_hit)];
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("bathyscope-cost".into())
            .spawn(move || watch_estimate(&estimate, guarded, &theirs))
            .inspect_err(|error| tracing::warn!(%error, "the budget of a capture is not enforced"))
            .ok();
        Self { shared, thread }
    }

    /// How far the guard has gone.
    pub(crate) fn stage(&self) -> GuardStage {
        self.shared.lock().stage.clone()
    }

    /// Nanoseconds for each hit of program `index`, from the last window in which it was hit.
    pub(crate) fn ns_per_hit(&self, index: usize) -> Option<f64> {
        self.shared.lock().ns_per_hit.get(index).copied().flatten()
    }
}

impl CostMeter {
    /// Measures and guards no more; what is known stays.
    pub(crate) fn end(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It does not panic, and ends at once.
            let _ended = thread.join();
        }
    }
}

impl Drop for CostMeter {
    fn drop(&mut self) {
        self.end();
    }
}

fn read(programs: &[OwnedFd]) -> Vec<ProgramStats> {
    programs.iter().map(|program| bpf::program_stats(program.as_fd()).unwrap_or_default()).collect()
}

fn run_count(stats: &[ProgramStats]) -> u64 {
    stats.iter().map(|stats| stats.run_count).sum()
}

fn run_time_ns(stats: &[ProgramStats]) -> u64 {
    stats.iter().map(|stats| stats.run_time_ns).sum()
}

/// The share of one CPU, in thousandths, that `programs` use now; measured for a moment. None where the kernel does not
/// tell.
pub(crate) fn cpu_permille_now(programs: &[OwnedFd]) -> Option<f64> {
    let _switch = bpf::enable_stats().ok()?;
    let (before, clock) = (run_time_ns(&read(programs)), Instant::now());
    std::thread::sleep(WINDOW);
    let used = run_time_ns(&read(programs)).saturating_sub(before);
    Some(used as f64 * 1000.0 / clock.elapsed().as_nanos().max(1) as f64)
}

fn measure(programs: &[OwnedFd], mut guarded: Guarded, shared: &MeterShared) {
    loop {
        let switch = match bpf::enable_stats() {
            Ok(switch) => switch,
            Err(error) => {
                tracing::warn!(%error, "the cost of probes cannot be measured, so its budget is not enforced");
                return;
            }
        };
        let asked = || guarded.asked.as_ref().and_then(|asked| asked());
        let (before, asked_before, written, clock) = (read(programs), asked(), (guarded.written)(), Instant::now());
        let ended = shared.pause(WINDOW);
        let (after, asked_after, elapsed) = (read(programs), asked(), clock.elapsed());
        let written_now = (guarded.written)();
        drop(switch);
        let used_ns = run_time_ns(&after).saturating_sub(run_time_ns(&before));
        note(shared, &before, &after);
        if ended {
            return;
        }
        let runs = run_count(&after).saturating_sub(run_count(&before));
        let asked_ns = asked_before.zip(asked_after).map(|(before, after)| after.share_since(before, used_ns, runs));
        let asked_ns = asked_ns.unwrap_or(used_ns);
        let spent = SpentTime { asked_ns, passing_ns: used_ns.saturating_sub(asked_ns) };
        let now = written_now.rates_since(written, elapsed, spent.cost_since(SpentTime::default(), elapsed));
        let pause = if guarded.guard.is_alert(now) { ALERT_PAUSE } else { PAUSE };
        act(&mut guarded, now);
        shared.spending.note();
        shared.lock().stage = guarded.guard.stage().clone();
        if guarded.guard.stage().is_detached() || shared.pause(pause) {
            return;
        }
    }
}

fn watch_estimate(estimate: &Estimate, mut guarded: Guarded, shared: &MeterShared) {
    loop {
        let (before, written, clock) = ((estimate.spent)(), (guarded.written)(), Instant::now());
        if shared.pause(ESTIMATE_PAUSE) {
            return;
        }
        let elapsed = clock.elapsed();
        let now = (guarded.written)().rates_since(written, elapsed, (estimate.spent)().cost_since(before, elapsed));
        act(&mut guarded, now);
        shared.spending.note();
        shared.lock().stage = guarded.guard.stage().clone();
        if matches!(guarded.guard.stage(), GuardStage::Detached { .. }) {
            return;
        }
    }
}

fn act(guarded: &mut Guarded, now: Cost) {
    match guarded.guard.look(now) {
        Action::Leave => {}
        Action::Thin { rows_per_s } => (guarded.thin)(rows_per_s),
        Action::Detach => (guarded.detach)(),
    }
}

fn note(shared: &MeterShared, before: &[ProgramStats], after: &[ProgramStats]) {
    let mut state = shared.lock();
    for ((slot, before), after) in state.ns_per_hit.iter_mut().zip(before).zip(after) {
        *slot = cost(*before, *after).or(*slot);
    }
}

fn cost(before: ProgramStats, after: ProgramStats) -> Option<f64> {
    let hits = after.run_count.saturating_sub(before.run_count);
    let time = after.run_time_ns.saturating_sub(before.run_time_ns);
    (hits > 0).then(|| time as f64 / hits as f64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use bathyscope_protocol::{Budget, BudgetOf};

    use super::*;

    #[test]
    fn p24_what_is_estimated_to_cost_too_much_is_detached() {
        let (spent_ns, (tell, told)) = (AtomicU64::new(0), std::sync::mpsc::sync_channel(1));
        // Each look finds a second's worth of time more.
        let spent = Box::new(move || SpentTime::asked(spent_ns.fetch_add(1_000_000_000, Ordering::Relaxed)));
        let guarded = Guarded {
            guard: Guard::new(SharedBudget::alone(Budget::of_cpu(50, true)), false),
            written: Box::new(Written::default),
            asked: None,
            thin: Box::new(|_rows_per_s| {}),
            detach: Box::new(move || tell.send(()).expect("somebody waits")),
        };
        let mut meter = CostMeter::estimate(Estimate { spent, ns_per_hit: 100.0 }, guarded);
        told.recv_timeout(Duration::from_secs(60)).expect("it is detached");
        meter.end();
        assert!(
            matches!(meter.stage(), GuardStage::Detached { over } if over.of == BudgetOf::Probes && over.used > 50),
            "{:?}",
            meter.stage()
        );
        assert_eq!(meter.ns_per_hit(0), Some(100.0));
    }

    #[test]
    fn p24_what_was_asked_for_is_told_from_passing_over_the_rest() {
        let asked = |runs, spent_ns| Asked { runs, spent_ns };
        let share = |before: Asked, after: Asked, used_ns, runs| after.share_since(before, used_ns, runs);
        // 15,000 runs for others, none for the target.
        assert_eq!(share(asked(5, 70), asked(5, 70), 3_000_000, 15_000), 0);
        // All runs were asked for: so was all time, whatever was measured.
        assert_eq!(share(asked(0, 0), asked(100, 60_000), 90_000, 100), 90_000);
        // Ten runs of a hundred, measured at 10 µs, and their part of the rest.
        assert_eq!(share(asked(0, 0), asked(10, 10_000), 30_000, 100), 10_000 + 2_000);
        // What is measured by samples may be more than all.
        assert_eq!(share(asked(0, 0), asked(10, 99_000), 30_000, 10), 30_000);
        assert_eq!(share(asked(9, 9), asked(3, 3), 0, 0), 0);
    }

    #[test]
    fn cost_is_time_by_hits_and_nothing_without_hits() {
        let at = |run_time_ns, run_count| ProgramStats { run_time_ns, run_count, missed: 0 };
        assert_eq!(cost(at(100, 1), at(400, 3)), Some(150.0));
        assert_eq!(cost(at(100, 1), at(100, 1)), None);
        assert_eq!(cost(at(400, 3), at(100, 1)), None);
    }
}

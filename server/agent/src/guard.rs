//! Decides what is done about a capture that costs more than it may. Pure: readings go in, decisions come out.
//!
//! The order is always the same: the capture is warned of, then thinned if it can be (fewer rows, the rest is counted), then
//! its probes are detached. Each step waits for the next reading, so that one burst costs no data, and a capture that has
//! become cheap again is left alone.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bathyscope_protocol::{AgentError, AgentErrorKind, Budget, BudgetOf, GuardStage, Overspent};

use crate::error::failed;

/// Rows per second below which a capture is not thinned: so few say nothing.
const LEAST_ROWS_PER_S: u64 = 100;

/// How many times its budget the passing over what others do may take before the probes are detached: a quarter of all CPUs
/// with the usual budget. Above the budget it is told.
const PASSING_DETACH: u64 = 5;

/// After how many attached probes it is looked a second time at what they use, before the rest is attached; the first time
/// is after the first one.
pub(crate) const SECOND_STAGE: usize = 9;

/// Whether the rest of the probes can be attached, now that `attached` of `all` use `used_permille`.
///
/// # Errors
/// If these use more than twice the budget already.
pub(crate) fn check_stage(budget: Budget, used_permille: f64, attached: usize, all: usize) -> Result<(), AgentError> {
    if !budget.detach || used_permille <= 2.0 * f64::from(budget.cpu_permille) {
        return Ok(());
    }
    let doing = format!("attaching {all} probes");
    let why = format!(
        "the first {attached} alone use {:.0} % of a CPU, and the budget is {:.1} %",
        used_permille / 10.0,
        f64::from(budget.cpu_permille) / 10.0
    );
    let remedy = "Choose fewer or rarer probes or a narrower target, or allow more.";
    Err(failed(AgentErrorKind::Limit, doing, why, remedy))
}

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Share of one CPU that the capture's programs used for what was asked for, in thousandths.
    pub(crate) cpu_permille: f64,
    /// Share of one CPU that they used to pass over what others did, in thousandths; nothing where it is not told apart.
    pub(crate) passing_permille: f64,
    /// Rows that they wrote, per second.
    pub(crate) rows_per_s: f64,
    /// Bytes of records that they wrote, per second.
    pub(crate) bytes_per_s: f64,
    /// Rows that they left out to keep to a budget, per second.
    pub(crate) held_rows_per_s: f64,
    /// Bytes of these, per second.
    pub(crate) held_bytes_per_s: f64,
}

impl Cost {
    fn plus(self, other: &Self) -> Self {
        Self {
            cpu_permille: self.cpu_permille + other.cpu_permille,
            passing_permille: self.passing_permille + other.passing_permille,
            rows_per_s: self.rows_per_s + other.rows_per_s,
            bytes_per_s: self.bytes_per_s + other.bytes_per_s,
            held_rows_per_s: self.held_rows_per_s + other.held_rows_per_s,
            held_bytes_per_s: self.held_bytes_per_s + other.held_bytes_per_s,
        }
    }

    /// How much of what there is a budget of.
    fn of(&self, of: BudgetOf) -> f64 {
        match of {
            BudgetOf::Probes => self.cpu_permille,
            BudgetOf::Passing => self.passing_permille,
            BudgetOf::Rows => self.rows_per_s,
            BudgetOf::Bytes => self.bytes_per_s,
            // The agent's own are watched by its own guard.
            BudgetOf::AgentCpu | BudgetOf::AgentMemory => 0.0,
        }
    }
}

/// The budget of a capture as one of its sources has it: what all of them cost together counts, and it is the dearest that has
/// to become cheaper.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedBudget {
    budget: Budget,
    /// What each source cost at its last reading.
    costs: Arc<Mutex<Vec<Cost>>>,
    /// The number of the source.
    index: usize,
}

impl SharedBudget {
    /// For the source of a capture that has no other.
    #[cfg(test)]
    pub(crate) fn alone(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// For each of so many sources.
    pub(crate) fn among(budget: Budget, sources: usize) -> impl Iterator<Item = Self> {
        let costs = Arc::new(Mutex::new(vec![Cost::default(); sources]));
        (0..sources).map(move |index| Self { budget, costs: Arc::clone(&costs), index })
    }

    fn costs(&self) -> MutexGuard<'_, Vec<Cost>> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the source costs now; returns what all do.
    fn note(&self, cost: Cost) -> Cost {
        let mut costs = self.costs();
        if costs.len() <= self.index {
            costs.resize(self.index + 1, Cost::default());
        }
        if let Some(own) = costs.get_mut(self.index) {
            *own = cost;
        }
        costs.iter().fold(Cost::default(), Cost::plus)
    }

    /// Whether no other source costs more of it. Of two that cost the same, the first is the dearest.
    fn is_dearest(&self, of: BudgetOf) -> bool {
        let costs = self.costs();
        let own = costs.get(self.index).map_or(0.0, |cost| cost.of(of));
        let dearer = |(index, cost): (usize, &Cost)| cost.of(of) > own || (cost.of(of) >= own && index < self.index);
        !costs.iter().enumerate().any(dearer)
    }

    /// Whether there are other sources.
    fn is_shared(&self) -> bool {
        self.costs().len() > 1
    }
}

impl Deref for SharedBudget {
    type Target = Budget;

    fn deref(&self) -> &Budget {
        &self.budget
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    Leave,
    /// Write at most so many rows per second.
    Thin {
        /// How many.
        rows_per_s: u64,
    },
    /// Detach all probes.
    Detach,
}

/// Watches one source of a capture.
///
/// The budget of time is for what the person asked for, and of one CPU. What it takes to pass over everything else, which
/// nobody can choose and which grows with the machine, has a budget of its own: the same share of all CPUs. It is told above
/// that, and the probes are detached above [`PASSING_DETACH`] times that.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    budget: SharedBudget,
    /// The machine's CPUs.
    cpus: u32,
    can_thin: bool,
    /// The programs hold the budgets of rows and bytes themselves.
    holds_rates: bool,
    thinned: bool,
    stage: GuardStage,
    over: u32,
}

/// How much was used, with its budget.
fn overspent(of: BudgetOf, used: f64, budget: u64) -> Overspent {
    Overspent { of, used: used as u64, budget }
}

impl Guard {
    /// For a capture with this budget. One that may not be detached is only warned of.
    pub(crate) fn new(budget: SharedBudget, can_thin: bool) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX));
        Self { budget, cpus, can_thin, holds_rates: false, thinned: false, stage: GuardStage::Watching, over: 0 }
    }

    /// On a machine with so many CPUs.
    pub(crate) fn on_cpus(self, cpus: u32) -> Self {
        Self { cpus: cpus.max(1), ..self }
    }

    /// What may be used to pass over what others do, thousandths of one CPU.
    fn passing_permille(&self) -> u64 {
        u64::from(self.budget.cpu_permille) * u64::from(self.cpus)
    }

    /// One whose programs hold the budgets of rows and bytes that were chosen: that they do is told, and no reason to detach
    /// them.
    pub(crate) fn holding_rates(self) -> Self {
        Self { holds_rates: self.budget.detach, ..self }
    }

    /// How far it has gone.
    pub(crate) fn stage(&self) -> &GuardStage {
        &self.stage
    }

    /// Whether the next reading should come soon after `last`.
    pub(crate) fn is_alert(&self, last: Cost) -> bool {
        let Budget { cpu_permille, rows_per_s, .. } = *self.budget;
        let last = self.budget.note(last);
        last.cpu_permille * 2.0 > f64::from(cpu_permille)
            || last.passing_permille * 2.0 > self.passing_permille() as f64
            || rows_per_s.is_some_and(|rows| last.rows_per_s * 2.0 > rows as f64)
            || last.bytes_per_s * 2.0 > self.budget.most_bytes_per_s() as f64
    }

    /// What is used most above its budget.
    fn worst(&self, cost: Cost) -> Option<Overspent> {
        let budget = &self.budget;
        // What each holds by itself several may exceed together.
        let holds_rates = self.holds_rates && !budget.is_shared();
        let rows = budget.rows_per_s.filter(|_| !holds_rates);
        let bytes = Some(budget.most_bytes_per_s()).filter(|_| !holds_rates || budget.bytes_per_s.is_none());
        let all = [
            (BudgetOf::Probes, cost.cpu_permille, Some(u64::from(budget.cpu_permille))),
            (BudgetOf::Rows, cost.rows_per_s, rows),
            (BudgetOf::Bytes, cost.bytes_per_s, bytes),
        ];
        let over = all.into_iter().filter_map(|(of, used, budget)| Some((of, used, budget?)));
        let over = over.filter(|(_, used, budget)| *used > *budget as f64);
        let ratio = |(_, used, budget): &(BudgetOf, f64, u64)| used / (*budget).max(1) as f64;
        let worst = over.max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        worst.map(|(of, used, budget)| overspent(of, used, budget)).or_else(|| self.passing(cost))
    }

    /// Whether it takes too much to pass over what others do. It is looked at last, as it is mostly only told.
    fn passing(&self, cost: Cost) -> Option<Overspent> {
        let budget = self.passing_permille();
        (cost.passing_permille > budget as f64).then(|| overspent(BudgetOf::Passing, cost.passing_permille, budget))
    }

    /// Tells that the programs leave rows out, and to which budget they keep.
    fn note_held(&mut self, cost: Cost) {
        let thinned = matches!(self.stage, GuardStage::Thinned { .. } | GuardStage::Detached { .. });
        if !self.holds_rates || thinned || cost.held_rows_per_s <= 0.0 {
            return;
        }
        let (rows, bytes) = (cost.rows_per_s + cost.held_rows_per_s, cost.bytes_per_s + cost.held_bytes_per_s);
        let (of_rows, of_bytes) = (self.budget.rows_per_s, self.budget.bytes_per_s);
        let over = |used: f64, budget: Option<u64>| budget.map_or(0.0, |budget| used / budget.max(1) as f64);
        let over = match (of_rows, of_bytes) {
            (Some(budget), _) if over(rows, of_rows) >= over(bytes, of_bytes) => {
                overspent(BudgetOf::Rows, rows, budget)
            }
            (_, Some(budget)) => overspent(BudgetOf::Bytes, bytes, budget),
            // What nobody has chosen is told by the counter of what was left out.
            _ => return,
        };
        let rows_per_s = match over.of {
            BudgetOf::Rows => Some(over.budget),
            _ => Some((rows * over.budget as f64 / bytes.max(1.0)) as u64),
        };
        self.stage = GuardStage::Thinned { over, rows_per_s };
    }

    /// Takes a reading.
    pub(crate) fn look(&mut self, cost: Cost) -> Action {
        self.note_held(cost);
        let all = self.budget.note(cost);
        let Some(over) = self.worst(all).filter(|over| self.budget.is_dearest(over.of)) else {
            self.over = 0;
            return Action::Leave;
        };
        self.over += 1;
        let told = !matches!(self.stage, GuardStage::Watching);
        match self.over {
            _ if self.stage.is_detached() => Action::Leave,
            over_for if over_for == 1 || !told => {
                if !matches!(self.stage, GuardStage::Thinned { .. }) {
                    self.stage = GuardStage::Warned { over };
                }
                Action::Leave
            }
            _ if !self.budget.detach => Action::Leave,
            // A busy machine is no reason to end what was asked for, unless it is slowed down by it.
            _ if over.of == BudgetOf::Passing && over.used <= over.budget.saturating_mul(PASSING_DETACH) => {
                Action::Leave
            }
            // Fewer rows would not make it cheaper to pass over what is no row.
            _ if over.of != BudgetOf::Passing
                && self.can_thin
                && !self.thinned
                && cost.rows_per_s > LEAST_ROWS_PER_S as f64 =>
            {
                self.thinned = true;
                // What the others cost is left to them.
                let (own, others) = (cost.of(over.of), all.of(over.of) - cost.of(over.of));
                let fitting = cost.rows_per_s * (over.budget as f64 - others).max(0.0) / own.max(1.0);
                let rows_per_s = (fitting as u64).max(LEAST_ROWS_PER_S);
                self.stage = GuardStage::Thinned { over, rows_per_s: Some(rows_per_s) };
                Action::Thin { rows_per_s }
            }
            _ => {
                self.stage = GuardStage::Detached { over };
                // What is detached costs nothing, whatever else is found out about it.
                self.budget.note(Cost::default());
                Action::Detach
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: u32 = 50;

    fn cost(cpu_permille: f64) -> Cost {
        Cost { cpu_permille, rows_per_s: 100_000.0, ..Cost::default() }
    }

    /// The stages after each reading, by their first letters.
    fn stages(detaches: bool, can_thin: bool, readings: &[f64]) -> String {
        let mut guard = Guard::new(SharedBudget::alone(Budget::of_cpu(BUDGET, detaches)), can_thin);
        let stage = |permille: &f64| {
            guard.look(cost(*permille));
            match guard.stage() {
                GuardStage::Watching => '.',
                GuardStage::Warned { .. } => 'w',
                GuardStage::Thinned { .. } => 't',
                GuardStage::Detached { .. } => 'd',
            }
        };
        readings.iter().map(stage).collect()
    }

    #[test]
    fn p24_a_breach_is_warned_of_then_thinned_then_detached() {
        let over = [80.0; 4];
        assert_eq!(stages(true, true, &over), "wtdd");
        assert_eq!(stages(true, false, &over), "wddd");
        assert_eq!(stages(false, true, &over), "wwww");
        assert_eq!(stages(true, true, &[50.0, 49.0, 0.0]), "...");
        // One burst now and then costs nothing.
        assert_eq!(stages(true, true, &[80.0, 10.0, 80.0, 10.0]), "wwww");
        // Thinning that helps is all; a later breach that lasts detaches.
        assert_eq!(stages(true, true, &[80.0, 80.0, 10.0, 10.0]), "wttt");
        assert_eq!(stages(true, true, &[80.0, 80.0, 10.0, 80.0, 80.0]), "wtttd");
    }

    #[test]
    fn p24_as_many_rows_are_left_as_fit_the_budget() {
        let mut guard = Guard::new(SharedBudget::alone(Budget::of_cpu(BUDGET, true)), true);
        assert_eq!(guard.look(cost(200.0)), Action::Leave);
        assert_eq!(guard.look(cost(200.0)), Action::Thin { rows_per_s: 25_000 });
        assert_eq!(guard.look(cost(200.0)), Action::Detach);
        assert_eq!(guard.look(cost(200.0)), Action::Leave);
        let mut few = Guard::new(SharedBudget::alone(Budget::of_cpu(BUDGET, true)), true);
        let rare = Cost { cpu_permille: 200.0, rows_per_s: 50.0, ..Cost::default() };
        assert_eq!((few.look(rare), few.look(rare)), (Action::Leave, Action::Detach));
    }

    #[test]
    fn p24_passing_over_others_has_a_budget_of_all_cpus() {
        let passing = |permille: f64| Cost { cpu_permille: 1.0, passing_permille: permille, ..Cost::default() };
        let on = |cpus: u32| Guard::new(SharedBudget::alone(Budget::of_cpu(BUDGET, true)), false).on_cpus(cpus);
        let mut two = on(2);
        for _ in 0..5 {
            assert_eq!(two.look(passing(90.0)), Action::Leave);
            assert!(two.stage().is_watching() && two.is_alert(passing(90.0)), "9 % of one CPU are 4.5 % of two");
        }
        // A busy machine is told, and ends nothing.
        let mut one = on(1);
        assert_eq!((one.look(passing(250.0)), one.look(passing(250.0))), (Action::Leave, Action::Leave));
        let over = Overspent { of: BudgetOf::Passing, used: 250, budget: 50 };
        assert_eq!(*one.stage(), GuardStage::Warned { over });
        // Until it takes a quarter of all CPUs.
        assert_eq!(one.look(passing(260.0)), Action::Detach);
        let over = Overspent { of: BudgetOf::Passing, used: 260, budget: 50 };
        assert_eq!(*one.stage(), GuardStage::Detached { over });
        // What was asked for has the budget of one CPU however many there are.
        let mut many = on(64);
        let asked = Cost { passing_permille: 9000.0, ..cost(80.0) };
        assert_eq!((many.look(asked), many.look(asked)), (Action::Leave, Action::Detach));
        assert_eq!(many.stage().over().map(|over| over.of), Some(BudgetOf::Probes));
    }

    fn rates(rows_per_s: f64, bytes_per_s: f64) -> Cost {
        Cost { rows_per_s, bytes_per_s, ..Cost::default() }
    }

    #[test]
    fn p24_rows_and_bytes_have_budgets_too() {
        let budget = Budget { rows_per_s: Some(1000), bytes_per_s: Some(1 << 20), ..Budget::of_cpu(BUDGET, true) };
        let mut rows = Guard::new(SharedBudget::alone(budget), false);
        let over = Overspent { of: BudgetOf::Rows, used: 5000, budget: 1000 };
        assert_eq!(rows.look(rates(5000.0, 1e6)), Action::Leave);
        assert_eq!(*rows.stage(), GuardStage::Warned { over });
        assert_eq!(rows.look(rates(5000.0, 1e6)), Action::Detach);
        assert_eq!(*rows.stage(), GuardStage::Detached { over });
        // The one that is exceeded most is the reason.
        let mut bytes = Guard::new(SharedBudget::alone(budget), false);
        bytes.look(rates(1500.0, 8e6));
        assert_eq!(bytes.stage().over(), Some(Overspent { of: BudgetOf::Bytes, used: 8_000_000, budget: 1 << 20 }));
        // Without a choice there is a limit of bytes that no usual capture comes near, and none of rows.
        let mut usual = Guard::new(SharedBudget::alone(Budget::of_cpu(BUDGET, true)), false);
        assert_eq!(usual.look(rates(1e9, 100e6)), Action::Leave);
        assert!(usual.stage().is_watching());
        assert_eq!((usual.look(rates(1e9, 200e6)), usual.look(rates(1e9, 200e6))), (Action::Leave, Action::Detach));
    }

    #[test]
    fn p24_rates_that_the_programs_hold_are_told_and_detach_nothing() {
        let budget = Budget { rows_per_s: Some(1000), bytes_per_s: Some(1 << 20), ..Budget::of_cpu(BUDGET, true) };
        let mut guard = Guard::new(SharedBudget::alone(budget), true).holding_rates();
        let held = Cost { held_rows_per_s: 9000.0, held_bytes_per_s: 9e5, ..rates(1050.0, 1e5) };
        for _ in 0..5 {
            assert_eq!(guard.look(held), Action::Leave);
        }
        let over = Overspent { of: BudgetOf::Rows, used: 10_050, budget: 1000 };
        assert_eq!(*guard.stage(), GuardStage::Thinned { over, rows_per_s: Some(1000) });
        // The time of the probes still ends it.
        let dear = Cost { cpu_permille: 500.0, ..held };
        let then = [guard.look(dear), guard.look(dear), guard.look(dear)];
        assert_eq!(then, [Action::Leave, Action::Thin { rows_per_s: 105 }, Action::Detach]);
    }

    #[test]
    fn p24_sources_share_a_budget_and_the_dearest_acts() {
        let mut shared = SharedBudget::among(Budget::of_cpu(BUDGET, true), 2);
        let (mut dear, mut cheap) =
            (Guard::new(shared.next().unwrap(), true), Guard::new(shared.next().unwrap(), true));
        // Each alone is below 5 %, both together are not.
        assert_eq!(cheap.look(cost(20.0)), Action::Leave);
        assert_eq!((dear.look(cost(40.0)), cheap.look(cost(20.0))), (Action::Leave, Action::Leave));
        assert!(cheap.stage().is_watching(), "{:?}", cheap.stage());
        let over = Overspent { of: BudgetOf::Probes, used: 60, budget: u64::from(BUDGET) };
        assert_eq!(*dear.stage(), GuardStage::Warned { over });
        // It is thinned to what the other leaves: 3 % of 4 %.
        assert_eq!(dear.look(cost(40.0)), Action::Thin { rows_per_s: 75_000 });
        assert_eq!(dear.look(cost(40.0)), Action::Detach);
        // From here on the other has the budget for itself.
        assert_eq!((cheap.look(cost(45.0)), cheap.look(cost(45.0))), (Action::Leave, Action::Leave));
        assert!(cheap.stage().is_watching(), "{:?}", cheap.stage());
        assert_eq!(
            (cheap.look(cost(80.0)), cheap.look(cost(80.0))),
            (Action::Leave, Action::Thin { rows_per_s: 62_500 })
        );
    }
}

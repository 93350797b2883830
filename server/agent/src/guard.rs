//! Decides what is done about a capture that costs more than it may. Pure: readings go in, decisions come out.
//!
//! The order is always the same: the capture is warned of, then thinned if it can be (fewer rows, the rest is counted), then
//! its probes are detached. Each step waits for the next reading, so that one burst costs no data, and a capture that has
//! become cheap again is left alone.

use bathyscope_protocol::{AgentError, AgentErrorKind, Budget, GuardStage};

use crate::error::failed;

/// Rows per second below which a capture is not thinned: so few say nothing.
const LEAST_ROWS_PER_S: u64 = 100;

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Share of one CPU that the capture's programs used, in thousandths.
    pub(crate) cpu_permille: f64,
    /// Rows that they wrote, per second.
    pub(crate) rows_per_s: f64,
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

/// Watches one capture.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    budget_cpu_permille: u32,
    detaches: bool,
    can_thin: bool,
    stage: GuardStage,
    over: u32,
}

impl Guard {
    /// For a capture with this budget. One that may not be detached is only warned of.
    pub(crate) fn new(budget_cpu_permille: u32, detaches: bool, can_thin: bool) -> Self {
        Self { budget_cpu_permille, detaches, can_thin, stage: GuardStage::Watching, over: 0 }
    }

    /// How far it has gone.
    pub(crate) fn stage(&self) -> &GuardStage {
        &self.stage
    }

    /// Whether the next reading should come soon after `last`.
    pub(crate) fn is_alert(&self, last: Cost) -> bool {
        last.cpu_permille * 2.0 > f64::from(self.budget_cpu_permille)
    }

    /// Takes a reading.
    pub(crate) fn look(&mut self, cost: Cost) -> Action {
        let budget = f64::from(self.budget_cpu_permille);
        if cost.cpu_permille <= budget {
            self.over = 0;
            return Action::Leave;
        }
        self.over += 1;
        let used_permille = cost.cpu_permille.min(f64::from(u32::MAX)) as u32;
        let thinned = matches!(self.stage, GuardStage::Thinned { .. });
        match (self.over, &self.stage) {
            (_, GuardStage::Detached { .. }) => Action::Leave,
            (1, _) | (_, GuardStage::Watching) => {
                if !thinned {
                    self.stage = GuardStage::Warned { used_permille };
                }
                Action::Leave
            }
            _ if !self.detaches => Action::Leave,
            _ if self.can_thin && !thinned && cost.rows_per_s > LEAST_ROWS_PER_S as f64 => {
                let rows_per_s = ((cost.rows_per_s * budget / cost.cpu_permille) as u64).max(LEAST_ROWS_PER_S);
                self.stage = GuardStage::Thinned { used_permille, rows_per_s };
                Action::Thin { rows_per_s }
            }
            _ => {
                self.stage = GuardStage::Detached { used_permille };
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
        Cost { cpu_permille, rows_per_s: 100_000.0 }
    }

    /// The stages after each reading, by their first letters.
    fn stages(detaches: bool, can_thin: bool, readings: &[f64]) -> String {
        let mut guard = Guard::new(BUDGET, detaches, can_thin);
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
        let mut guard = Guard::new(BUDGET, true, true);
        assert_eq!(guard.look(cost(200.0)), Action::Leave);
        assert_eq!(guard.look(cost(200.0)), Action::Thin { rows_per_s: 25_000 });
        assert_eq!(guard.look(cost(200.0)), Action::Detach);
        assert_eq!(guard.look(cost(200.0)), Action::Leave);
        let mut few = Guard::new(BUDGET, true, true);
        let rare = Cost { cpu_permille: 200.0, rows_per_s: 50.0 };
        assert_eq!((few.look(rare), few.look(rare)), (Action::Leave, Action::Detach));
    }
}

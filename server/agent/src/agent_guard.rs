//! Decides what is done when the agent itself uses more than the captures' budgets allow. Pure: readings go in, a decision
//! comes out.
//!
//! The agent's time and memory are those of all captures together. So of those whose budget is exceeded the one that costs
//! the agent most is warned of, then made cheaper if it can be, then detached; what nobody's capture costs ends none.

use bathyscope_protocol::{Budget, BudgetOf, GuardStage, Overspent};

/// A capture below this share of a CPU, in thousandths, is not the reason for what the agent uses.
const LEAST_PERMILLE: f64 = 1.0;
/// The same of memory, bytes.
const LEAST_BYTES: u64 = 4 << 20;
/// How many readings in a row are let pass before the first step: making a capture takes time once.
const GRACE: u32 = 2;

/// What the agent uses, and how much of it for one capture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AgentUse {
    /// Share of one CPU, in thousandths.
    pub(crate) cpu_permille: f64,
    /// Resident memory, bytes.
    pub(crate) bytes: u64,
}

/// What has been done about one capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentGuard {
    stage: GuardStage,
    over: u32,
    spared: bool,
}

/// What is to be done about a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentAction {
    /// Nothing.
    Leave,
    /// Make it cheaper if it can be; it is told with [`AgentGuard::spared`] that it could.
    Spare(Overspent),
    /// Detach it.
    Detach,
}

impl AgentGuard {
    /// How far it has gone.
    pub(crate) fn stage(&self) -> &GuardStage {
        &self.stage
    }

    /// It was made cheaper.
    pub(crate) fn spared(&mut self, over: Overspent) {
        self.stage = GuardStage::Thinned { over, rows_per_s: None };
    }

    /// It cannot be made cheaper and was detached.
    pub(crate) fn detached(&mut self, over: Overspent) {
        self.stage = GuardStage::Detached { over };
    }

    /// It is not the one that costs most, or nothing is too much.
    pub(crate) fn rest(&mut self) {
        self.over = 0;
    }

    /// It is the one that costs most.
    pub(crate) fn look(&mut self, over: Overspent, detaches: bool) -> AgentAction {
        self.over += 1;
        if self.over < GRACE || self.stage.is_detached() {
            return AgentAction::Leave;
        }
        if self.over == GRACE || self.stage.is_watching() {
            if self.stage.is_watching() {
                self.stage = GuardStage::Warned { over };
            }
            return AgentAction::Leave;
        }
        if !detaches {
            return AgentAction::Leave;
        }
        if over.of == BudgetOf::AgentCpu && !self.spared {
            self.spared = true;
            return AgentAction::Spare(over);
        }
        self.detached(over);
        AgentAction::Detach
    }
}

/// Which of the captures, each with its budget and its own part of what the agent uses, is to be looked at, and why.
pub(crate) fn costliest(agent: AgentUse, captures: &[(Budget, AgentUse)]) -> Option<(usize, Overspent)> {
    let most = |breach: &dyn Fn(&Budget) -> Option<Overspent>, share: &dyn Fn(&AgentUse) -> f64, least: f64| {
        let over =
            captures.iter().enumerate().filter_map(|(index, (budget, own))| Some((index, breach(budget)?, share(own))));
        let worst = over.filter(|(.., share)| *share >= least).max_by(|a, b| a.2.total_cmp(&b.2));
        worst.map(|(index, over, _)| (index, over))
    };
    let memory = |budget: &Budget| {
        let over = Overspent { of: BudgetOf::AgentMemory, used: agent.bytes, budget: budget.agent_bytes };
        (over.used > over.budget).then_some(over)
    };
    let cpu = |budget: &Budget| {
        let permille = u64::from(budget.agent_cpu_permille);
        let over = Overspent { of: BudgetOf::AgentCpu, used: agent.cpu_permille as u64, budget: permille };
        (over.used > over.budget).then_some(over)
    };
    // Memory first: too much of it ends the agent, and all captures with it.
    most(&memory, &|own| own.bytes as f64, LEAST_BYTES as f64)
        .or_else(|| most(&cpu, &|own| own.cpu_permille, LEAST_PERMILLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(cpu_permille: f64, mib: u64) -> AgentUse {
        AgentUse { cpu_permille, bytes: mib << 20 }
    }

    fn budget(agent_cpu_permille: u32, mib: u64, detach: bool) -> Budget {
        Budget { agent_cpu_permille, agent_bytes: mib << 20, ..Budget::of_cpu(50, detach) }
    }

    #[test]
    fn p24_the_capture_that_costs_the_agent_most_is_looked_at() {
        let few = budget(500, 1024, true);
        let captures = [(few, uses(100.0, 10)), (few, uses(600.0, 20)), (budget(900, 2048, true), uses(50.0, 900))];
        let chosen = |agent| costliest(agent, &captures).map(|(index, over)| (index, over.of, over.used, over.budget));
        assert_eq!(chosen(uses(400.0, 300)), None);
        assert_eq!(chosen(uses(760.0, 300)), Some((1, BudgetOf::AgentCpu, 760, 500)));
        // The third holds most, but may; of the others the second holds more.
        assert_eq!(chosen(uses(760.0, 1100)), Some((1, BudgetOf::AgentMemory, 1100 << 20, 1 << 30)));
        assert_eq!(chosen(uses(0.0, 2100)), Some((2, BudgetOf::AgentMemory, 2100 << 20, 2 << 30)));
        // What the agent does for nobody's capture ends none.
        assert_eq!(costliest(uses(900.0, 300), &[(few, uses(0.5, 1))]), None);
        assert_eq!(costliest(uses(0.0, 3000), &[(few, uses(0.0, 1))]), None);
    }

    /// The stages after each of so many readings, by their first letters.
    fn stages(of: BudgetOf, detaches: bool, can_be_spared: bool) -> String {
        let (mut guard, over) = (AgentGuard::default(), Overspent { of, used: 700, budget: 500 });
        let one = |_| {
            match guard.look(over, detaches) {
                AgentAction::Spare(over) if can_be_spared => guard.spared(over),
                AgentAction::Spare(over) => guard.detached(over),
                AgentAction::Leave | AgentAction::Detach => {}
            }
            match guard.stage() {
                GuardStage::Watching => '.',
                GuardStage::Warned { .. } => 'w',
                GuardStage::Thinned { .. } => 't',
                GuardStage::Detached { .. } => 'd',
            }
        };
        (0..5).map(one).collect()
    }

    #[test]
    fn p24_it_is_warned_of_then_made_cheaper_then_detached() {
        assert_eq!(stages(BudgetOf::AgentCpu, true, true), ".wtdd");
        assert_eq!(stages(BudgetOf::AgentCpu, true, false), ".wddd");
        assert_eq!(stages(BudgetOf::AgentMemory, true, true), ".wddd");
        assert_eq!(stages(BudgetOf::AgentCpu, false, true), ".wwww");
        let over = Overspent { of: BudgetOf::AgentCpu, used: 700, budget: 500 };
        let mut now_and_then = AgentGuard::default();
        for _ in 0..10 {
            assert_eq!(now_and_then.look(over, true), AgentAction::Leave);
            now_and_then.rest();
        }
        assert!(now_and_then.stage().is_watching());
    }
}

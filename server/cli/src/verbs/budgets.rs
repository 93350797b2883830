//! What a capture may cost, as all verbs that record take it.

use std::time::Duration;

use bathyscope_capture::{Limits, MAX_BUDGET_CPU_PERMILLE, OverBudget, ReadingPriority, Target};
use bathyscope_protocol::Budget;
use clap::Args;

use crate::config::bytes;

/// What a capture may cost. One that costs more is told of, thinned, then detached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Budgets")]
pub struct BudgetArgs {
    /// Detach the probes if they use more than this share of one CPU for what is recorded, or of all CPUs to pass over the rest, in percent [default: 5]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub budget: Option<u32>,
    /// Record at most so many rows a second; where the kernel cannot leave rows out, end at more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(100..))]
    pub rows_per_second: Option<u64>,
    /// Record at most so many bytes a second, such as 512K or 10M [default: 128M]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub bytes_per_second: Option<u64>,
    /// Share of one CPU that the agent may use, in percent [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub agent_budget: Option<u32>,
    /// Memory that the agent may use, such as 512M or 2G [default: 1G]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub agent_memory: Option<u64>,
    /// Read what is recorded before programs of the usual priority run (niceness -10): less is lost on a busy machine, which pays for it
    #[arg(long)]
    pub high_priority: bool,
}

impl BudgetArgs {
    /// Whether somebody has chosen any.
    pub(crate) fn is_given(&self) -> bool {
        *self != Self { high_priority: self.high_priority, ..Self::default() }
    }

    /// `limits` with these budgets. Who chooses one wants it kept.
    pub(crate) fn apply(&self, limits: Limits) -> Limits {
        let reading = if self.high_priority { ReadingPriority::High } else { limits.reading };
        let limits = Limits { reading, ..limits };
        if !self.is_given() {
            return limits;
        }
        let mut with = Limits { over_budget: Some(OverBudget::Detach), ..limits };
        with.budget_cpu_permille = self.budget.unwrap_or(with.budget_cpu_permille);
        let budgets = &mut with.budgets;
        budgets.rows_per_s = self.rows_per_second.or(budgets.rows_per_s);
        budgets.bytes_per_s = self.bytes_per_second.or(budgets.bytes_per_s);
        budgets.agent_cpu_permille = self.agent_budget.unwrap_or(budgets.agent_cpu_permille);
        budgets.agent_bytes = self.agent_memory.unwrap_or(budgets.agent_bytes);
        with
    }

    /// The limits of a capture that is recorded from a terminal: as long as it is wanted, without a limit of room.
    pub(crate) fn limits(&self, duration: Option<Duration>) -> Limits {
        let duration_ms = duration.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.apply(Limits { duration_ms, max_bytes: None, ..Limits::default() })
    }

    /// The limits of what is printed at a terminal: whoever sits there sees what it costs and can end it, so that what is
    /// usual is only told of.
    pub(crate) fn limits_of_a_watched_one(&self, duration: Option<Duration>) -> Limits {
        watched(self.limits(duration))
    }

    /// The limits of a capture of `target`.
    pub(crate) fn limits_of(&self, target: &Target, duration: Option<Duration>) -> Limits {
        limits_of_target(self.limits(duration), target)
    }

    /// What the agent is told, if somebody has chosen any.
    pub(crate) fn of_the_agent(&self) -> Option<Budget> {
        let limits = self.apply(Limits::default());
        self.is_given().then(|| Budget::of_cpu(limits.budget_cpu_permille, true).with(limits.budgets))
    }
}

/// `limits` for a capture of `target`. A command that was started at a terminal is not ended because watching others costs too
/// much, unless somebody has chosen a budget: it is only told of.
pub(crate) fn limits_of_target(limits: Limits, target: &Target) -> Limits {
    if target.command().is_some() { watched(limits) } else { limits }
}

/// The same, with what is usual only told of.
fn watched(limits: Limits) -> Limits {
    Limits { over_budget: limits.over_budget.or(Some(OverBudget::Warn)), ..limits }
}

/// Reads a share of one CPU in percent, and gives thousandths.
fn percent(text: &str) -> Result<u32, String> {
    let most = MAX_BUDGET_CPU_PERMILLE;
    let permille = text.trim_end_matches('%').parse::<f64>().map(|percent| (percent * 10.0).round());
    match permille {
        Ok(permille) if (1.0..=f64::from(most)).contains(&permille) => Ok(permille as u32),
        _ => Err(format!("write a number from 0.1 to {}", most / 10)),
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::Budgets;

    use super::*;

    #[test]
    fn budgets_are_percents() {
        for (text, permille) in [("5", 50), ("0.1", 1), ("100%", 1000), ("2.5%", 25)] {
            assert_eq!(percent(text), Ok(permille), "{text}");
        }
        for bad in ["", "0", "101", "-1", "x", "nan"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn who_chooses_a_budget_wants_it_kept() {
        let none = BudgetArgs::default();
        assert_eq!((none.limits(None).over_budget, none.of_the_agent()), (None, None));
        assert_eq!(none.limits_of_a_watched_one(None).over_budget, Some(OverBudget::Warn));
        let during = Target::during(vec!["make".to_owned()], None, Target::System);
        assert_eq!(none.limits_of(&during, None).over_budget, Some(OverBudget::Warn));
        assert_eq!(none.limits_of(&Target::System, None).over_budget, None);
        let few = BudgetArgs { budget: Some(20), rows_per_second: Some(500), ..none };
        let limits = few.limits_of_a_watched_one(Some(Duration::from_secs(2)));
        assert_eq!((limits.over_budget, limits.duration_ms), (Some(OverBudget::Detach), Some(2000)));
        assert_eq!(limits.budgets, Budgets { rows_per_s: Some(500), ..Budgets::default() });
        assert!(few.of_the_agent().is_some_and(|budget| budget.cpu_permille == 20 && budget.detach));
    }
}

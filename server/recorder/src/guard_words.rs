//! What the guard has done and why, in words with numbers.

use bathyscope_protocol::{BudgetOf, GuardStage, Overspent};

use super::progress::size;

/// What the guard has done and why; empty if nothing.
pub fn guard_words(guard: &GuardStage) -> String {
    let Some(over) = guard.over() else { return String::new() };
    let why = why(over);
    match guard {
        GuardStage::Watching | GuardStage::Warned { .. } => why,
        GuardStage::Thinned { rows_per_s: Some(rows), .. } => {
            format!("{why}: at most {rows} rows a second are recorded now")
        }
        GuardStage::Thinned { rows_per_s: None, .. } => format!("{why}: it reads more rarely now"),
        GuardStage::Detached { .. } if is_agents(over) => format!("{why}: the probes were detached"),
        GuardStage::Detached { .. } => format!("{why}: they were detached"),
    }
}

fn is_agents(over: Overspent) -> bool {
    matches!(over.of, BudgetOf::AgentCpu | BudgetOf::AgentMemory)
}

fn why(over: Overspent) -> String {
    let (used, budget) = (amount(over.of, over.used), amount(over.of, over.budget));
    match over.of {
        BudgetOf::Probes => format!("the probes used {used}, and the budget is {}", share(over.budget)),
        BudgetOf::Passing => format!(
            "to pass over what others do the probes used {used}, and the budget for that on this machine is {}",
            share(over.budget)
        ),
        BudgetOf::Rows | BudgetOf::Bytes => format!("the probes wrote {used} a second, and the budget is {budget}"),
        BudgetOf::AgentCpu => format!("the agent used {used}, and the budget is {}", share(over.budget)),
        BudgetOf::AgentMemory => format!("the agent used {used} of memory, and the budget is {budget}"),
    }
}

fn amount(of: BudgetOf, amount: u64) -> String {
    match of {
        BudgetOf::Probes | BudgetOf::Passing | BudgetOf::AgentCpu => format!("{} of one CPU", share(amount)),
        BudgetOf::Rows => format!("{amount} rows"),
        BudgetOf::Bytes | BudgetOf::AgentMemory => size(amount),
    }
}

/// What is added to the reason why a capture ended; empty if the guard did nothing, or if its doing is the reason.
/// `peak_permille` is the largest share of one CPU that its probes used.
pub(super) fn end_words(guard: &GuardStage, peak_permille: f64) -> String {
    let Some(over) = guard.over().filter(|_| !guard.is_detached()) else { return String::new() };
    let mut words = if over.of == BudgetOf::Probes {
        let peak = percent(peak_permille.max(over.used as f64));
        format!("the probes used up to {peak} of one CPU, over the budget of {}", share(over.budget))
    } else {
        why(over)
    };
    match guard {
        GuardStage::Thinned { rows_per_s: Some(rows), .. } => {
            words.push_str(&format!(", so at most {rows} rows a second were recorded"));
        }
        GuardStage::Thinned { rows_per_s: None, .. } => words.push_str(", so it read more rarely"),
        GuardStage::Watching | GuardStage::Warned { .. } | GuardStage::Detached { .. } => {}
    }
    words
}

fn share(permille: u64) -> String {
    percent(permille as f64)
}

fn percent(permille: f64) -> String {
    if permille >= 100.0 { format!("{:.0} %", permille / 10.0) } else { format!("{:.1} %", permille / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_guard_did_is_told_with_numbers() {
        let over = |of, used, budget| Overspent { of, used, budget };
        let probes = over(BudgetOf::Probes, 120, 50);
        let thinned = GuardStage::Thinned { over: probes, rows_per_s: Some(700) };
        let cases = [
            (GuardStage::Watching, ""),
            (
                thinned.clone(),
                "the probes used 12 % of one CPU, and the budget is 5.0 %: at most 700 rows a second are recorded now",
            ),
            (
                GuardStage::Detached { over: over(BudgetOf::Passing, 230, 100) },
                "to pass over what others do the probes used 23 % of one CPU, and the budget for that on this machine is \
                 10 %: they were detached",
            ),
            (
                GuardStage::Detached { over: over(BudgetOf::Bytes, 9 << 20, 1 << 20) },
                "the probes wrote 9 MiB a second, and the budget is 1 MiB: they were detached",
            ),
            (
                GuardStage::Thinned { over: over(BudgetOf::AgentCpu, 620, 500), rows_per_s: None },
                "the agent used 62 % of one CPU, and the budget is 50 %: it reads more rarely now",
            ),
            (
                GuardStage::Detached { over: over(BudgetOf::AgentMemory, 2 << 30, 1 << 30) },
                "the agent used 2 GiB of memory, and the budget is 1 GiB: the probes were detached",
            ),
        ];
        for (guard, expected) in cases {
            assert_eq!(guard_words(&guard), expected);
        }
        let told = "the probes used up to 20 % of one CPU, over the budget of 5.0 %, so at most 700 rows a second were recorded";
        assert_eq!(end_words(&thinned, 200.0), told);
        let rows = GuardStage::Thinned { over: over(BudgetOf::Rows, 9000, 1000), rows_per_s: Some(1000) };
        let told = "the probes wrote 9000 rows a second, and the budget is 1000 rows, so at most 1000 rows a second were recorded";
        assert_eq!(end_words(&rows, 0.0), told);
        assert_eq!(end_words(&GuardStage::Detached { over: probes }, 0.0), "", "that is the reason already");
        assert_eq!((percent(52.0).as_str(), percent(250.0).as_str()), ("5.2 %", "25 %"));
    }
}

//! How often calls were made, how long they took and how many failed: the table of `strace -c`.

use std::collections::HashMap;

use super::text::put;
use crate::constants::{Arch, syscall_number};

/// What the table is sorted by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryOrder {
    /// Time.
    #[default]
    Time,
    /// The shortest call.
    Shortest,
    /// The longest call.
    Longest,
    /// Time of a call.
    Mean,
    /// Calls.
    Calls,
    /// Errors.
    Errors,
    /// The name.
    Name,
    /// The number that the processor's own interface has for the call.
    Number,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as what they show")]
pub enum SummaryColumn {
    Share,
    Time,
    Shortest,
    Longest,
    Mean,
    Calls,
    Errors,
    Name,
}

impl SummaryColumn {
    /// Those that a table has if nothing is said.
    pub const USUAL: [Self; 6] = [Self::Share, Self::Time, Self::Mean, Self::Calls, Self::Errors, Self::Name];

    fn heading(self) -> &'static str {
        match self {
            Self::Share => "% time",
            Self::Time => "seconds",
            Self::Shortest => "shortest",
            Self::Longest => "longest",
            Self::Mean => "usecs/call",
            Self::Calls => "calls",
            Self::Errors => "errors",
            Self::Name => "syscall",
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Share => 6,
            Self::Time | Self::Mean => 11,
            Self::Shortest | Self::Longest => 8,
            Self::Calls | Self::Errors => 9,
            Self::Name => 16,
        }
    }

    fn cell(self, name: &str, total: Total, all_ns: u64) -> String {
        let seconds = |ns: u64| format!("{:.6}", ns as f64 / 1e9);
        match self {
            Self::Share if all_ns == 0 => "0.00".to_owned(),
            Self::Share => format!("{:.2}", 100.0 * total.time_ns as f64 / all_ns as f64),
            Self::Time => seconds(total.time_ns),
            Self::Shortest => seconds(total.shortest_ns),
            Self::Longest => seconds(total.longest_ns),
            Self::Mean => (total.time_ns / 1000).checked_div(total.calls).unwrap_or(0).to_string(),
            Self::Calls => total.calls.to_string(),
            Self::Errors if total.errors == 0 => String::new(),
            Self::Errors => total.errors.to_string(),
            Self::Name => name.to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    calls: u64,
    errors: u64,
    time_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
}

impl Total {
    fn and(self, other: Self) -> Self {
        let shortest_ns = match (self.calls, other.calls) {
            (0, _) => other.shortest_ns,
            (_, 0) => self.shortest_ns,
            _ => self.shortest_ns.min(other.shortest_ns),
        };
        Self {
            calls: self.calls + other.calls,
            errors: self.errors + other.errors,
            time_ns: self.time_ns.saturating_add(other.time_ns),
            shortest_ns,
            longest_ns: self.longest_ns.max(other.longest_ns),
        }
    }

    fn mean_ns(self) -> u64 {
        self.time_ns.checked_div(self.calls).unwrap_or(0)
    }
}

/// Sums over calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    totals: HashMap<String, Total>,
}

impl Summary {
    /// Adds a call.
    pub fn add(&mut self, name: &str, duration_ns: u64, failed: bool) {
        let one = Total {
            calls: 1,
            errors: u64::from(failed),
            time_ns: duration_ns,
            shortest_ns: duration_ns,
            longest_ns: duration_ns,
        };
        match self.totals.get_mut(name) {
            Some(total) => *total = total.and(one),
            None => drop(self.totals.insert(name.to_owned(), one)),
        }
    }

    /// The table.
    pub fn table(&self, order: SummaryOrder, columns: &[SummaryColumn]) -> String {
        let mut rows: Vec<(&str, Total)> = self.totals.iter().map(|(name, total)| (name.as_str(), *total)).collect();
        let number = |name: &str| syscall_number(Arch::HOST, name).unwrap_or(i64::MAX);
        rows.sort_by(|(a_name, a), (b_name, b)| {
            let by = match order {
                SummaryOrder::Time => b.time_ns.cmp(&a.time_ns),
                SummaryOrder::Shortest => b.shortest_ns.cmp(&a.shortest_ns),
                SummaryOrder::Longest => b.longest_ns.cmp(&a.longest_ns),
                SummaryOrder::Mean => b.mean_ns().cmp(&a.mean_ns()),
                SummaryOrder::Calls => b.calls.cmp(&a.calls),
                SummaryOrder::Errors => b.errors.cmp(&a.errors),
                SummaryOrder::Name => std::cmp::Ordering::Equal,
                SummaryOrder::Number => number(a_name).cmp(&number(b_name)),
            };
            by.then_with(|| a_name.cmp(b_name))
        });
        let sum = rows.iter().fold(Total::default(), |sum, (_, total)| sum.and(*total));
        let mut out = String::new();
        line(&mut out, columns, |column| column.heading().to_owned());
        let rule = |out: &mut String| line(out, columns, |column| "-".repeat(column.width()));
        rule(&mut out);
        for (name, total) in &rows {
            line(&mut out, columns, |column| column.cell(name, *total, sum.time_ns));
        }
        rule(&mut out);
        line(&mut out, columns, |column| column.cell("total", sum, sum.time_ns));
        out
    }
}

/// A line of the table; what is to the right of names begins in the same column.
fn line(out: &mut String, columns: &[SummaryColumn], cell: impl Fn(SummaryColumn) -> String) {
    for (index, column) in columns.iter().enumerate() {
        let (text, width) = (cell(*column), column.width());
        if index > 0 {
            out.push(' ');
        }
        match column {
            SummaryColumn::Name if index + 1 == columns.len() => out.push_str(&text),
            SummaryColumn::Name => put(out, format_args!("{text:<width$}")),
            _ => put(out, format_args!("{text:>width$}")),
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_strace() {
        let mut summary = Summary::default();
        summary.add("read", 3_000_000, false);
        summary.add("read", 1_000_000, true);
        summary.add("openat", 12_000_000, false);
        let expected = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 75.00    0.012000       12000         1           openat
 25.00    0.004000        2000         2         1 read
------ ----------- ----------- --------- --------- ----------------
100.00    0.016000        5333         3         1 total
";
        assert_eq!(summary.table(SummaryOrder::Time, &SummaryColumn::USUAL), expected);
        assert!(summary.table(SummaryOrder::Calls, &SummaryColumn::USUAL).lines().nth(2).unwrap().ends_with("read"));
        assert!(
            Summary::default()
                .table(SummaryOrder::Name, &SummaryColumn::USUAL)
                .ends_with("  0.00    0.000000           0         0           total\n")
        );
    }

    #[test]
    fn columns_and_orders_are_those_of_strace() {
        use SummaryColumn::{Calls, Longest, Name, Shortest};
        let mut summary = Summary::default();
        for (name, ns) in [("read", 3_000_000), ("read", 1_000_000), ("openat", 2_500_000)] {
            summary.add(name, ns, false);
        }
        let expected = "\
syscall          shortest  longest     calls
---------------- -------- -------- ---------
read             0.001000 0.003000         2
openat           0.002500 0.002500         1
---------------- -------- -------- ---------
total            0.001000 0.003000         3
";
        assert_eq!(summary.table(SummaryOrder::Longest, &[Name, Shortest, Longest, Calls]), expected);
        let first = |order| summary.table(order, &[Calls, Name]).lines().nth(2).unwrap().ends_with("openat");
        assert!(first(SummaryOrder::Shortest) && first(SummaryOrder::Name) && !first(SummaryOrder::Number));
        assert!(!first(SummaryOrder::Calls) && first(SummaryOrder::Mean));
    }
}

//! How often calls were made, how long they took and how many failed: the table of `strace -c`.

use std::collections::HashMap;

use super::text::put;

/// What the table is sorted by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryOrder {
    /// Time.
    #[default]
    Time,
    /// Calls.
    Calls,
    /// Errors.
    Errors,
    /// The name.
    Name,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    calls: u64,
    errors: u64,
    time_ns: u64,
}

/// Sums over calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    totals: HashMap<String, Total>,
}

impl Summary {
    /// Adds a call.
    pub fn add(&mut self, name: &str, duration_ns: u64, failed: bool) {
        if !self.totals.contains_key(name) {
            self.totals.insert(name.to_owned(), Total::default());
        }
        let Some(total) = self.totals.get_mut(name) else { return };
        total.calls += 1;
        total.errors += u64::from(failed);
        total.time_ns = total.time_ns.saturating_add(duration_ns);
    }

    /// The table.
    pub fn table(&self, order: SummaryOrder) -> String {
        let mut rows: Vec<(&str, Total)> = self.totals.iter().map(|(name, total)| (name.as_str(), *total)).collect();
        rows.sort_by(|(a_name, a), (b_name, b)| {
            let by = match order {
                SummaryOrder::Time => b.time_ns.cmp(&a.time_ns),
                SummaryOrder::Calls => b.calls.cmp(&a.calls),
                SummaryOrder::Errors => b.errors.cmp(&a.errors),
                SummaryOrder::Name => std::cmp::Ordering::Equal,
            };
            by.then_with(|| a_name.cmp(b_name))
        });
        let sum = rows.iter().fold(Total::default(), |sum, (_, total)| Total {
            calls: sum.calls + total.calls,
            errors: sum.errors + total.errors,
            time_ns: sum.time_ns.saturating_add(total.time_ns),
        });
        let line = "------ ----------- ----------- --------- --------- ----------------\n";
        let mut out = String::from("% time     seconds  usecs/call     calls    errors syscall\n");
        out.push_str(line);
        rows.iter().for_each(|(name, total)| row(&mut out, name, *total, sum.time_ns));
        out.push_str(line);
        row(&mut out, "total", sum, sum.time_ns);
        out
    }
}

fn row(out: &mut String, name: &str, total: Total, all_ns: u64) {
    let share = if all_ns == 0 { 0.0 } else { 100.0 * total.time_ns as f64 / all_ns as f64 };
    let mean = (total.time_ns / 1000).checked_div(total.calls).unwrap_or(0);
    let errors = if total.errors == 0 { String::new() } else { total.errors.to_string() };
    put(
        out,
        format_args!(
            "{share:6.2} {:11.6} {mean:11} {:9} {errors:>9} {name}\n",
            total.time_ns as f64 / 1e9,
            total.calls
        ),
    );
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
        assert_eq!(summary.table(SummaryOrder::Time), expected);
        assert!(summary.table(SummaryOrder::Calls).lines().nth(2).unwrap().ends_with("read"));
        assert!(
            Summary::default()
                .table(SummaryOrder::Name)
                .ends_with("  0.00    0.000000           0         0           total\n")
        );
    }
}

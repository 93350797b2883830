//! The rows of the table that is shown: sorted, filtered, as texts.

use bathyscope_formats::last_part;
use bathyscope_link::activity::ProcessActivity;

use super::{
    super::text::bytes,
    data::{SampledLine, TopData},
    state::{TopState, TopTable},
};

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TopRow {
    /// By column.
    pub(super) cells: Vec<String>,
    /// The process that it is of.
    pub(super) process: Option<(u64, String)>,
    /// Whether it is of the kernel.
    pub(super) is_kernel: bool,
}

/// A column: its head, how wide it is at least, and whether values stand at the right.
pub(super) type ColumnShape = (&'static str, usize, bool);

/// The columns of a table. The last one takes what is left of the width.
pub(super) fn columns(table: TopTable) -> &'static [ColumnShape] {
    match table {
        TopTable::Functions => &[
            ("Self", 8, true),
            ("Total", 8, true),
            ("Samples", 9, true),
            ("Shared Object", 18, false),
            ("Function", 20, false),
        ],
        TopTable::Sampled => &[("Self", 8, true), ("Samples", 9, true), ("PID", 8, true), ("Command", 16, false)],
        TopTable::Processes => &[
            ("PID", 8, true),
            ("User", 10, false),
            ("CPU", 7, true),
            ("Memory", 9, true),
            ("Faults/s", 9, true),
            ("Read/s", 9, true),
            ("Written/s", 10, true),
            ("Threads", 8, true),
            ("S", 1, false),
            ("Command", 16, false),
        ],
    }
}

/// The rows, as they are sorted and filtered.
pub(super) fn rows(state: &TopState, data: &TopData) -> Vec<TopRow> {
    let mut rows = match state.table {
        TopTable::Functions => sampled(state, data, &data.functions),
        TopTable::Sampled => sampled(state, data, &data.processes),
        TopTable::Processes => processes(state, data),
    };
    let wanted = state.filter.to_lowercase();
    if !wanted.is_empty() {
        rows.retain(|row| row.cells.iter().any(|cell| cell.to_lowercase().contains(&wanted)));
    }
    if state.is_reversed {
        rows.reverse();
    }
    rows
}

fn sampled(state: &TopState, data: &TopData, lines: &[SampledLine]) -> Vec<TopRow> {
    let mut lines: Vec<&SampledLine> = lines.iter().collect();
    match state.sort() {
        "Total" => lines.sort_by_key(|line| std::cmp::Reverse((line.total, line.own))),
        "Samples" => lines.sort_by_key(|line| std::cmp::Reverse(line.samples)),
        "PID" => lines.sort_by_key(|line| line.pid),
        "Function" | "Command" => lines.sort_by(|a, b| a.name.cmp(&b.name)),
        _ => lines.sort_by_key(|line| std::cmp::Reverse((line.own, line.total))),
    }
    let share = |weight: u64| format!("{:.2}%", weight as f64 * 100.0 / data.weight.max(1) as f64);
    let row = |line: &SampledLine| match state.table {
        TopTable::Functions => TopRow {
            cells: vec![
                share(line.own),
                share(line.total),
                line.samples.to_string(),
                short(&line.module),
                format!("[{}] {}", if line.is_kernel { 'k' } else { '.' }, line.name),
            ],
            process: None,
            is_kernel: line.is_kernel,
        },
        _ => TopRow {
            cells: vec![share(line.own), line.samples.to_string(), line.pid.to_string(), line.name.clone()],
            process: Some((line.pid, line.name.clone())),
            is_kernel: false,
        },
    };
    lines.into_iter().map(row).collect()
}

/// The file of a path.
fn short(path: &str) -> String {
    let part = last_part(path);
    if part.is_empty() { "[unknown]".to_owned() } else { part.to_owned() }
}

fn processes(state: &TopState, data: &TopData) -> Vec<TopRow> {
    let Some(activity) = &data.activity else { return Vec::new() };
    let mut all: Vec<&ProcessActivity> = activity.processes.iter().collect();
    let most = |of: fn(&ProcessActivity) -> u64| move |process: &&ProcessActivity| std::cmp::Reverse(of(process));
    match state.sort() {
        "Memory" => all.sort_by_key(most(|process| process.usage.memory_bytes)),
        "Faults/s" => all.sort_by_key(most(|process| process.usage.faults_per_s)),
        "Read/s" => all.sort_by_key(most(|process| process.usage.read_bytes_per_s)),
        "Written/s" => all.sort_by_key(most(|process| process.usage.written_bytes_per_s)),
        "PID" => all.sort_by_key(|process| process.pid),
        "Command" => all.sort_by(|a, b| a.comm.cmp(&b.comm)),
        _ => all.sort_by_key(most(|process| process.usage.cpu_permille)),
    }
    let row = |process: &ProcessActivity| TopRow {
        cells: vec![
            process.pid.to_string(),
            process.user.clone(),
            permille(process.usage.cpu_permille as f64),
            bytes(process.usage.memory_bytes),
            process.usage.faults_per_s.to_string(),
            bytes(process.usage.read_bytes_per_s),
            bytes(process.usage.written_bytes_per_s),
            process.threads.to_string(),
            process.state.clone(),
            match &process.container {
                Some(container) => format!("{} ({container})", process.comm),
                None => process.comm.clone(),
            },
        ],
        process: Some((process.pid.into(), process.comm.clone())),
        is_kernel: process.kernel,
    };
    all.into_iter().map(row).collect()
}

/// Thousandths of a CPU in percent.
pub(super) fn permille(permille: f64) -> String {
    format!("{:.1}%", permille / 10.0)
}

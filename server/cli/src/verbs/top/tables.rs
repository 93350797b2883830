//! The tables as text, where there is no terminal.

use super::{
    data::TopData,
    rows::{TopRow, columns, permille, rows},
    state::{TopState, TopTable},
};

/// Rows that are printed of each table.
const MOST_ROWS: usize = 30;

/// All tables.
pub(super) fn tables(data: &TopData) -> String {
    let guard = if data.guard.is_empty() { String::new() } else { format!(" · {}", data.guard) };
    let mut out = format!(
        "# {} {:.1} s: {} samples, {} lost; own cost {} of a CPU{guard}\n",
        data.event,
        data.elapsed_s,
        data.samples,
        data.lost,
        permille(data.own_cpu_permille + data.agent_cpu_permille)
    );
    for table in TopTable::ALL {
        let state = TopState { table, ..TopState::default() };
        let rows = rows(&state, data);
        if !rows.is_empty() {
            add_table(table, &rows, &mut out);
        }
    }
    if !data.absent.is_empty() {
        out.push_str(&format!("# counters of processes: {}\n", data.absent));
    }
    out
}

fn add_table(table: TopTable, rows: &[TopRow], out: &mut String) {
    let columns = columns(table);
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(columns).map(|(text, (_, width, is_number))| match is_number {
            true => format!("{text:>width$}"),
            false => format!("{text:<width$}"),
        });
        let line = cells.collect::<Vec<_>>().join(" ");
        format!("{}\n", line.trim_end())
    };
    out.push_str(&format!("# {}\n", table.title()));
    out.push_str(&line(&mut columns.iter().map(|(head, ..)| *head)));
    for row in rows.iter().take(MOST_ROWS) {
        out.push_str(&line(&mut row.cells.iter().map(String::as_str)));
    }
    if rows.len() > MOST_ROWS {
        out.push_str(&format!("# {} more\n", rows.len() - MOST_ROWS));
    }
    out.push('\n');
}

//! `report --calls`: functions by what their calls took.

use std::io::{BufWriter, Write};

use bathyscope_formats::{GraphEnd, duration_mark, write_graph_text};
use bathyscope_reader::{CallsQuery, CaptureView, SortOrder, WireRank};
use bathyscope_views::{
    CallChoice, Cancel, FunctionRow, FunctionsPage, FunctionsQuery, MAX_FUNCTION_PAGE, ViewError, all_call_lines,
    rank_functions,
};

use super::ReportArgs;

/// Writes the table.
pub(super) fn write(view: &CaptureView, args: &ReportArgs) -> Result<(), ViewError> {
    let cancel = Cancel::new(false);
    let filter = args.filters.condition();
    // Names are read from a to z.
    let order = (args.rank == WireRank::Name).then_some(SortOrder::Asc);
    let (start, end) = (args.range.start, args.range.end);
    let rank = Some(args.rank);
    let query = CallsQuery { start, end, filter, part: args.by, rank, order, ..CallsQuery::default() };
    let forest = view.calls(query.range(view), &cancel)?;
    let choice = CallChoice::new(view, &forest, &query.calls(view)?, &cancel)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut offset = 0;
    loop {
        let page = FunctionsQuery { offset, limit: MAX_FUNCTION_PAGE, ..query.functions() };
        let page = rank_functions(view, &forest, &choice, &page, &cancel)?;
        print(&page, args.json, &mut out).map_err(ViewError::Write)?;
        offset += page.rows.len() as u64;
        if page.rows.is_empty() || offset >= page.total {
            break;
        }
    }
    out.flush().map_err(ViewError::Write)
}

/// Writes the calls as the kernel does.
pub(super) fn write_graph(view: &CaptureView, args: &ReportArgs) -> Result<(), ViewError> {
    let cancel = Cancel::new(false);
    let (start, end) = (args.range.start, args.range.end);
    let query = CallsQuery { start, end, filter: args.filters.condition(), ..CallsQuery::default() };
    let forest = view.calls(query.range(view), &cancel)?;
    let choice = CallChoice::new(view, &forest, &query.calls(view)?, &cancel)?;
    let behind = match forest.left_out() {
        0 => GraphEnd::All,
        calls => GraphEnd::LeftOut(calls),
    };
    let lines = all_call_lines(view, &forest, &choice, None);
    let mut out = BufWriter::new(std::io::stdout().lock());
    write_graph_text(lines, behind, &mut out).and_then(|()| out.flush()).map_err(ViewError::Write)
}

fn print(page: &FunctionsPage, json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if json {
        return page.rows.iter().try_for_each(|row| writeln!(out, "{}", serde_json::to_value(row).unwrap_or_default()));
    }
    if page.offset == 0 {
        let calls = page.chosen;
        writeln!(out, "# {calls} calls, {} rows; times in µs, of calls whose both ends are known", page.total)?;
        if page.left_out > 0 {
            writeln!(out, "# {} more calls did not fit and are not counted", page.left_out)?;
        }
        let heads = ["calls", "total", "self", "average", "median", "p99", "longest"];
        let heads: String = heads.iter().map(|head| format!("{head:>12} ")).collect();
        writeln!(out, "{heads}  function")?;
    }
    page.rows.iter().try_for_each(|row| writeln!(out, "{}", line(row)))
}

fn line(row: &FunctionRow) -> String {
    let mut line = format!("{:>12} ", row.calls);
    for ns in [row.total, row.own, row.average, row.median, row.p99, row.longest] {
        line.push_str(&format!("{:>12} ", format!("{}.{:03}", ns / 1000, ns % 1000)));
    }
    line.push_str(&format!("{} {}", duration_mark(row.longest), row.function));
    if let Some(part) = &row.part {
        line.push_str(&format!("  {part}"));
    }
    if row.part.is_none() && !row.irqs.is_empty() {
        let irqs: Vec<String> = row.irqs.iter().map(|irq| format!("{} ×{}", irq.name, irq.count)).collect();
        line.push_str(&format!("  [{}]", irqs.join(", ")));
    }
    if row.cut > 0 {
        line.push_str(&format!("  ({} of unknown duration)", row.cut));
    }
    line
}

#[cfg(test)]
mod tests {
    use bathyscope_views::IrqShare;

    use super::*;

    #[test]
    fn a_line_has_marks_parts_and_what_is_unknown() {
        let row = FunctionRow {
            function: "do_irq".to_owned(),
            part: None,
            cpu: None,
            tid: None,
            calls: 4,
            cut: 1,
            total: 120_500,
            own: 20_000,
            average: 40_166,
            median: 1_772,
            p99: 110_000,
            longest: 110_000,
            longest_id: Some(7),
            irqs: vec![IrqShare { name: "eth0 (irq 24)".to_owned(), count: 3 }],
        };
        let expected = "           4      120.500       20.000       40.166        1.772      110.000      110.000 ! do_irq  \
                        [eth0 (irq 24) ×3]  (1 of unknown duration)";
        assert_eq!(line(&row), expected);
        let part = FunctionRow { part: Some("CPU 3".to_owned()), cut: 0, ..row };
        assert!(line(&part).ends_with("! do_irq  CPU 3"), "{}", line(&part));
    }
}

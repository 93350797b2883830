//! Samples by keys as `perf report --stdio` prints them, and two captures beside each other as `perf diff` does.

use std::{collections::HashMap, fmt::Write as _, io::Write};

use bathyscope_capture::visible;
use bathyscope_views::{ChainNode, FlameDifference, ReportKey, ReportRow, ReportValue, SampleReport, ViewError};
use serde_json::{Map, Value, json};

/// How chains of calls are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainShape {
    /// As a tree.
    #[default]
    Graph,
    /// Each chain in a line.
    Folded,
    /// Not at all.
    Nothing,
}

/// What is printed.
#[derive(Clone, Debug)]
pub struct ReportText<'a> {
    /// The event that samples are of, as its stream is called.
    pub event: &'a str,
    /// How many samples of it were lost, in words where that is not known to the end.
    pub lost: String,
    /// The keys in the order of their columns.
    pub keys: &'a [ReportKey],
    /// Whether there is a column of samples with what was called.
    pub children: bool,
    /// Whether there is a column with the number of samples.
    pub counts: bool,
    /// How chains are printed.
    pub chains: ChainShape,
    /// Branches of chains with a smaller share of all samples, in percent, were left out.
    pub chain_percent: f64,
    /// Rows with a smaller share, in percent, are left out.
    pub percent_limit: f64,
}

/// The column of blanks before the tree of chains.
const TREE_MARGIN: usize = 12;

/// Writes the table.
///
/// # Errors
/// If the output cannot be written.
pub fn write_perf_report(report: &SampleReport, text: &ReportText<'_>, out: &mut dyn Write) -> Result<(), ViewError> {
    written(table(report, text, out))
}

/// Writes an object a line: each row, with its chains folded.
///
/// # Errors
/// If the output cannot be written.
pub fn write_report_json(report: &SampleReport, text: &ReportText<'_>, out: &mut dyn Write) -> Result<(), ViewError> {
    let (rows, _) = shown_rows(report, text);
    for row in rows {
        written(writeln!(out, "{}", row_json(report, text, row)))?;
    }
    Ok(())
}

/// Writes what differs between captures.
///
/// # Errors
/// If the output cannot be written.
pub fn write_perf_diff(found: &FlameDifference, text: &DiffText, out: &mut dyn Write) -> Result<(), ViewError> {
    written(difference(found, text, out))
}

fn written(result: std::io::Result<()>) -> Result<(), ViewError> {
    result.map_err(ViewError::Write)
}

fn percent(value: u64, total: u64) -> f64 {
    value as f64 * 100.0 / total.max(1) as f64
}

/// The rows that are large enough, and what the others have: how many, and their weight.
fn shown_rows<'r>(report: &'r SampleReport, text: &ReportText<'_>) -> (Vec<&'r ReportRow>, (usize, u64)) {
    let of = |row: &ReportRow| if text.children { row.total } else { row.own };
    let is_shown = |row: &&ReportRow| percent(of(row), report.total) >= text.percent_limit && of(row) > 0;
    let (shown, hidden): (Vec<_>, Vec<_>) = report.rows.iter().partition(is_shown);
    let weight = hidden.iter().map(|row| row.own).sum();
    (shown, (hidden.len(), weight))
}

fn table(report: &SampleReport, text: &ReportText<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let (rows, (hidden, weight)) = shown_rows(report, text);
    writeln!(out, "# Total Lost Samples: {}\n#", text.lost)?;
    writeln!(out, "# Samples: {} of event '{}'", report.samples, visible(text.event.as_bytes()))?;
    match report.unit.as_str() {
        "samples" => {}
        unit => writeln!(out, "# Event count: {} {unit}", report.total)?,
    }
    writeln!(out, "#")?;
    let columns = columns(report, &rows, text);
    let line = |cell: &dyn Fn(&Column) -> String| {
        let cells: Vec<String> = columns.iter().map(|column| column.cell(&cell(column))).collect();
        cells.join("  ").trim_end().to_owned()
    };
    writeln!(out, "# {}", line(&|column| column.head.to_owned()))?;
    writeln!(out, "# {}\n#", line(&|column| ".".repeat(column.width)))?;
    for (at, row) in rows.iter().enumerate() {
        writeln!(out, "  {}", line(&|column| column.cells.get(at).cloned().unwrap_or_default()))?;
        match text.chains {
            ChainShape::Graph => tree(&row.chains, report.total, out)?,
            ChainShape::Folded => folded(&row.chains, report.total, out)?,
            ChainShape::Nothing => {}
        }
    }
    if hidden > 0 {
        let share = percent(weight, report.total);
        writeln!(
            out,
            "#\n# {hidden} rows below {}% are not shown; {share:.2}% of the samples ended in them",
            text.percent_limit
        )?;
    }
    let has_hidden =
        |rows: &[&ReportRow]| rows.iter().any(|row| row.chains.is_empty() || row.chains.iter().any(any_hidden));
    if text.chains != ChainShape::Nothing && has_hidden(&rows) {
        writeln!(out, "#\n# Branches of calls below {}% are not shown", text.chain_percent)?;
    }
    Ok(())
}

fn any_hidden(node: &ChainNode) -> bool {
    node.hidden > 0 || node.below.iter().any(any_hidden)
}

/// One column of the table.
struct Column {
    head: &'static str,
    width: usize,
    /// Whether values stand at the right.
    is_number: bool,
    cells: Vec<String>,
}

impl Column {
    fn cell(&self, text: &str) -> String {
        let blanks = " ".repeat(self.width.saturating_sub(text.chars().count()));
        if self.is_number { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
    }
}

fn columns(report: &SampleReport, rows: &[&ReportRow], text: &ReportText<'_>) -> Vec<Column> {
    let names = ShortNames::of(report);
    let cells = |cell: &dyn Fn(&ReportRow) -> String| rows.iter().map(|row| cell(row)).collect();
    let share = |head: &'static str, of: fn(&ReportRow) -> u64| {
        let cells = cells(&|row| format!("{:.2}%", percent(of(row), report.total)));
        Column { head, width: 8, is_number: true, cells }
    };
    let mut columns = match text.children {
        true => vec![share("Children", |row| row.total), share("Self", |row| row.own)],
        false => vec![share("Overhead", |row| row.own)],
    };
    if text.counts {
        let cells = cells(&|row| row.samples.to_string());
        columns.push(Column { head: "Samples", width: 12, is_number: true, cells });
    }
    for (index, key) in text.keys.iter().enumerate() {
        let cells: Vec<String> =
            cells(&|row| row.values.get(index).map_or_else(String::new, |value| names.text(value)));
        let head = head(*key);
        let width = cells.iter().map(|cell| cell.chars().count()).chain([head.len()]).max().unwrap_or(0);
        columns.push(Column { head, width, is_number: false, cells });
    }
    columns
}

fn head(key: ReportKey) -> &'static str {
    match key {
        ReportKey::Comm => "Command",
        ReportKey::Dso => "Shared Object",
        ReportKey::Symbol => "Symbol",
        ReportKey::SourceLine => "Source:Line",
        ReportKey::Cpu => "CPU",
        ReportKey::Pid => "    Pid:Command",
        ReportKey::Tid => "    Tid:Command",
        ReportKey::Cgroup => "Cgroup",
    }
}

/// Files by the last part of their path, where it tells them apart.
struct ShortNames {
    by_short: HashMap<String, String>,
    shared: Vec<String>,
}

impl ShortNames {
    fn of(report: &SampleReport) -> Self {
        let mut names = Self { by_short: HashMap::new(), shared: Vec::new() };
        for value in report.rows.iter().flat_map(|row| &row.values) {
            let ReportValue::Module(path) = value else { continue };
            let short = last_part(path);
            match names.by_short.get(short) {
                None => _ = names.by_short.insert(short.to_owned(), path.clone()),
                Some(known) if known != path => names.shared.push(short.to_owned()),
                Some(_) => {}
            }
        }
        names
    }

    fn short<'v>(&self, path: &'v str) -> &'v str {
        let short = last_part(path);
        if self.shared.iter().any(|shared| shared == short) { path } else { short }
    }

    fn text(&self, value: &ReportValue) -> String {
        match value {
            ReportValue::Text(text) => text.clone(),
            ReportValue::Module(path) if path.is_empty() => "[unknown]".to_owned(),
            ReportValue::Module(path) => self.short(path).to_owned(),
            ReportValue::Function { name, is_kernel } => format!("[{}] {name}", if *is_kernel { 'k' } else { '.' }),
            ReportValue::Number(number) => format!("{number:03}"),
            ReportValue::Thread { id, comm } => format!("{id:>7}:{comm}"),
            ReportValue::Other => "[others]".to_owned(),
        }
    }
}

/// The file of a path, as reports have it.
pub fn last_part(path: &str) -> &str {
    // Memory without a file has a name that looks like a path.
    if path.starts_with("//") {
        return path;
    }
    path.rsplit('/').next().filter(|part| !part.is_empty()).unwrap_or(path)
}

fn name_of((name, is_inlined): &ChainName) -> String {
    if *is_inlined { format!("{name} (inlined)") } else { name.clone() }
}

/// Writes trees as perf draws them: one root continues the line that leads to it, several are branches.
fn tree(roots: &[ChainNode], total: u64, out: &mut dyn Write) -> std::io::Result<()> {
    let margin = " ".repeat(TREE_MARGIN);
    match roots {
        [] => return Ok(()),
        [root] => {
            writeln!(out, "{margin}|")?;
            for (at, name) in root.names.iter().enumerate() {
                let lead = if at == 0 { "---" } else { "   " };
                writeln!(out, "{margin}{lead}{}", name_of(name))?;
            }
            branches(&root.below, total, &format!("{margin}   "), out)?;
        }
        several => branches(several, total, &margin, out)?,
    }
    writeln!(out)
}

fn branches(nodes: &[ChainNode], total: u64, margin: &str, out: &mut dyn Write) -> std::io::Result<()> {
    for (at, node) in nodes.iter().enumerate() {
        let is_last = at + 1 == nodes.len();
        writeln!(out, "{margin}|")?;
        let share = format!("--{:.2}%--", percent(node.value, total));
        let lead = if is_last { " " } else { "|" };
        // What comes below stands under the first letter of the name.
        let below = format!("{margin}{lead}{}", " ".repeat(share.len()));
        for (at, name) in node.names.iter().enumerate() {
            match at {
                0 => writeln!(out, "{margin}{lead}{share}{}", name_of(name))?,
                _ => writeln!(out, "{below}{}", name_of(name))?,
            }
        }
        branches(&node.below, total, &below, out)?;
    }
    Ok(())
}

/// A name of a chain, and whether it was inlined.
type ChainName = (String, bool);

/// Each chain with its own weight.
fn chains_of<'n>(nodes: &'n [ChainNode], before: &mut Vec<&'n ChainName>, each: &mut dyn FnMut(&[&ChainName], u64)) {
    for node in nodes {
        let length = before.len();
        before.extend(&node.names);
        if node.own > 0 {
            each(before, node.own);
        }
        chains_of(&node.below, before, each);
        before.truncate(length);
    }
}

fn folded(nodes: &[ChainNode], total: u64, out: &mut dyn Write) -> std::io::Result<()> {
    let mut lines = Vec::new();
    chains_of(nodes, &mut Vec::new(), &mut |names, own| {
        let names: Vec<String> = names.iter().map(|(name, _)| name.replace(';', ":")).collect();
        lines.push((own, names.join(";")));
    });
    lines.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    lines.iter().try_for_each(|(own, names)| writeln!(out, "{:.2}% {names}", percent(*own, total)))
}

fn row_json(report: &SampleReport, text: &ReportText<'_>, row: &ReportRow) -> Value {
    let mut line = Map::new();
    let mut put = |name: &str, value: Value| _ = line.insert(name.to_owned(), value);
    put("event", text.event.into());
    put("unit", report.unit.as_str().into());
    put("self", row.own.into());
    put("self_percent", percent(row.own, report.total).into());
    if text.children {
        put("children", row.total.into());
        put("children_percent", percent(row.total, report.total).into());
    }
    put("samples", row.samples.into());
    for (key, value) in text.keys.iter().zip(&row.values) {
        let value = match value {
            ReportValue::Text(text) | ReportValue::Module(text) => text.as_str().into(),
            ReportValue::Function { name, is_kernel } => {
                put("is_kernel", (*is_kernel).into());
                name.as_str().into()
            }
            ReportValue::Number(number) => (*number).into(),
            ReportValue::Thread { id, comm } => {
                put(&format!("{}_comm", key.name()), comm.as_str().into());
                (*id).into()
            }
            ReportValue::Other => Value::Null,
        };
        put(key.name(), value);
    }
    if text.chains != ChainShape::Nothing {
        let mut chains = Vec::new();
        chains_of(&row.chains, &mut Vec::new(), &mut |names, own| {
            let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            chains.push(json!({ "weight": own, "frames": names }));
        });
        put("chains", chains.into());
    }
    Value::Object(line)
}

/// What is printed of a comparison.
#[derive(Clone, Debug, Default)]
pub struct DiffText {
    /// What is compared, a line each.
    pub heads: Vec<String>,
    /// Rows whose two shares are both smaller, in percent, are left out.
    pub percent_limit: f64,
    /// Only what is more than chance.
    pub only_significant: bool,
    /// Whether a column has the ratio, not the difference.
    pub ratio: bool,
}

fn difference(found: &FlameDifference, text: &DiffText, out: &mut dyn Write) -> std::io::Result<()> {
    for line in &text.heads {
        writeln!(out, "# {line}")?;
    }
    let total = found.graph.total as f64;
    let share = |value: f64| value * 100.0 / total.max(1.0);
    let change = if text.ratio { "Ratio" } else { "Delta" };
    writeln!(out, "#\n# Baseline  {change:>9}  Chance  Symbol\n# ........  .........  ......  ......\n#")?;
    let mut hidden = 0_usize;
    for function in &found.functions {
        let (before, now) = (share(function.other_own), share(function.own as f64));
        let is_small = before.max(now) < text.percent_limit || (before == 0.0 && now == 0.0);
        if is_small || (text.only_significant && !function.is_significant) {
            hidden += 1;
            continue;
        }
        let mut line = String::from("  ");
        _ = match before {
            0.0 => write!(line, "{:>8}  ", ""),
            _ => write!(line, "{:>8}  ", format!("{before:.2}%")),
        };
        let changed = match (text.ratio, before) {
            (true, 0.0) => "new".to_owned(),
            (true, _) => format!("{:.4}", now / before),
            (false, _) => format!("{:+.2}%", now - before),
        };
        let chance = if function.is_significant { "beyond" } else { "within" };
        writeln!(out, "{line}{changed:>9}  {chance:<6}  {}", visible(function.name.as_bytes()))?;
    }
    let unsent = found.compared - found.functions.len();
    if hidden + unsent > 0 {
        writeln!(out, "#\n# {} more functions", hidden + unsent)?;
    }
    let words = "within: sampling again would differ as much; beyond: in 99 of 100 tables no row would by chance";
    writeln!(out, "#\n# {} of {} functions differ by more than chance ({words})", found.significant, found.compared)
}

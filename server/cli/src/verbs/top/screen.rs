//! Draws the state on a screen of cells.

use ratatui_core::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
    terminal::Frame,
    text::{Line, Span as Text},
};

use super::{
    super::text::bytes,
    data::TopData,
    rows::{ColumnShape, TopRow, columns, permille},
    state::{Span, TopState, TopTable},
};

/// Lines above the table.
const HEAD_LINES: u16 = 3;
/// The width of the help.
const HELP_WIDTH: u16 = 78;

/// A screen of fewer columns shows less of each row.
const NARROW: u16 = 70;
/// Columns that a narrow screen does not have.
const WIDE_ONLY: [&str; 7] = ["Samples", "Shared Object", "User", "Faults/s", "Read/s", "Written/s", "Threads"];

/// What the keys do.
const HELP: [(&str, &str); 14] = [
    ("↑ ↓ j k", "select a row; Page Up, Page Down, Home, End"),
    ("Tab 1 2 3", "functions, processes by samples, processes"),
    ("s S", "sort by the next or previous column"),
    ("r", "turn the order round"),
    ("/", "only rows with a text; Enter keeps it, Esc removes it"),
    ("Enter →", "functions of the selected process alone"),
    ("Esc ←", "back: without the text, of all processes"),
    ("Space f", "freeze what is shown; again to go on"),
    ("w", "samples of the last 10 s, or of the whole time"),
    ("z", "count from now on"),
    ("? h", "this help"),
    ("q Ctrl-C", "end"),
    ("Self", "samples that ended in a function; Total: also in what it called"),
    ("[k] [.]", "a function of the kernel, of a program or library"),
];

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut TopState, data: &TopData, rows: &[TopRow]) {
    let area = frame.area();
    let out = frame.buffer_mut();
    let [first, second] = head_lines(data);
    put(out, area, 0, &first);
    put(out, area, 1, &second);
    put(out, area, 2, &title_line(state, rows.len()));
    let foot = area.height.saturating_sub(1).max(HEAD_LINES);
    let table = Rect { y: HEAD_LINES, height: foot.saturating_sub(HEAD_LINES), ..area }.intersection(area);
    draw_table(out, table, state, data, rows);
    put(out, area, foot, &foot_line(state));
    if state.has_help {
        draw_help(out, area);
    }
}

/// A line of an area, if there is room for it.
fn put(out: &mut Buffer, area: Rect, at: u16, line: &Line<'_>) {
    if at < area.height {
        out.set_line(area.x, area.y + at, line, area.width);
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// What is sampled, what was lost, what it costs; what the host does.
fn head_lines(data: &TopData) -> [Line<'static>; 2] {
    let lost = if data.lost > 0 { Style::new().fg(Color::Red).add_modifier(Modifier::BOLD) } else { Style::new() };
    let mut first = vec![
        Text::styled(format!("{} ", data.event), bold()),
        Text::raw(format!("{:.0} s · {} samples · ", data.elapsed_s, data.samples)),
        Text::styled(format!("{} lost", data.lost), lost),
    ];
    if !data.guard.is_empty() {
        first.push(Text::styled(format!(" · {}", data.guard), Style::new().fg(Color::Yellow)));
    }
    first.push(Text::raw(format!(
        " · own cost {} of a CPU (agent {})",
        permille(data.own_cpu_permille + data.agent_cpu_permille),
        permille(data.agent_cpu_permille)
    )));
    let second = match &data.activity {
        Some(activity) => {
            let host = &activity.host;
            let used = host.memory_bytes.saturating_sub(host.memory_available_bytes);
            let [one, five, fifteen] = host.load;
            Line::from(format!(
                "{} CPUs {} · load {one:.2} {five:.2} {fifteen:.2} · memory {} of {} · {} running, {} blocked · {} processes",
                host.cpus,
                permille(host.cpu_permille.into()),
                bytes(used),
                bytes(host.memory_bytes),
                host.running,
                host.blocked,
                activity.processes_total
            ))
        }
        None if data.absent.is_empty() => Line::styled("reading the counters of processes…", dim()),
        None => Line::styled(format!("counters of processes: {}", data.absent), Style::new().fg(Color::Red)),
    };
    [Line::from(first), second]
}

fn title_line(state: &TopState, rows: usize) -> Line<'static> {
    let mut parts = Vec::new();
    if state.is_frozen {
        parts.push(Text::styled("FROZEN ", Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD)));
    }
    for (number, table) in (1..).zip(TopTable::ALL) {
        let style = if table == state.table { bold().add_modifier(Modifier::REVERSED) } else { dim() };
        parts.push(Text::styled(format!(" {number} {} ", table.title()), style));
        parts.push(Text::raw(" "));
    }
    if let Some((pid, comm)) = &state.zoom {
        parts.push(Text::styled(format!("of {comm} ({pid}) "), Style::new().fg(Color::Cyan)));
    }
    if !state.filter.is_empty() {
        parts.push(Text::styled(format!("with “{}” ", state.filter), Style::new().fg(Color::Cyan)));
    }
    parts.push(Text::raw(format!("{rows} rows")));
    if state.table != TopTable::Processes {
        parts.push(Text::raw(if state.span == Span::Recent { ", last 10 s" } else { ", whole time" }));
    }
    Line::from(parts)
}

/// Why there are no rows.
fn nothing(state: &TopState, data: &TopData) -> String {
    match (&state.filter, &state.zoom, state.table) {
        (filter, ..) if !filter.is_empty() => format!("No row has “{filter}”; Esc shows all."),
        (_, Some((pid, comm)), TopTable::Functions | TopTable::Sampled) => {
            format!("No samples of {comm} ({pid}) yet; Esc shows all processes.")
        }
        (.., TopTable::Processes) if !data.absent.is_empty() => "The counters cannot be read.".to_owned(),
        (.., TopTable::Processes) => "The counters are read twice before anything is told.".to_owned(),
        _ => "No samples yet.".to_owned(),
    }
}

fn draw_table(out: &mut Buffer, area: Rect, state: &mut TopState, data: &TopData, rows: &[TopRow]) {
    state.page = usize::from(area.height.saturating_sub(1));
    if rows.is_empty() {
        put(out, area, 0, &Line::raw(nothing(state, data)));
        return;
    }
    let columns = columns(state.table);
    let is_narrow = area.width < NARROW;
    let heads: Vec<String> = columns.iter().map(|(head, ..)| (*head).to_owned()).collect();
    let sort = state.sort();
    let style = |at: usize| match columns.get(at) {
        Some((head, ..)) if *head == sort => bold().add_modifier(Modifier::UNDERLINED),
        _ => bold(),
    };
    put(out, area, 0, &cells(columns, &heads, is_narrow, style));
    // The selected row stays in sight.
    let page = state.page.max(1);
    let first = if state.selected < state.scroll {
        state.selected
    } else {
        state.scroll.max((state.selected + 1).saturating_sub(page))
    };
    state.scroll = first.min(rows.len().saturating_sub(page));
    for (at, row) in rows.iter().enumerate().skip(state.scroll).take(state.page) {
        let mut style = if row.is_kernel { Style::new().fg(Color::Magenta) } else { Style::new() };
        if at == state.selected {
            style = style.add_modifier(Modifier::REVERSED);
        }
        let line = u16::try_from(at - state.scroll + 1).unwrap_or(u16::MAX);
        put(out, area, line, &cells(columns, &row.cells, is_narrow, |_| style));
        if at == state.selected && line < area.height {
            out.set_style(Rect { y: area.y + line, height: 1, ..area }, style);
        }
    }
}

/// A line of cells, as wide as their columns are; the last one takes what is left. A narrow line has fewer columns.
fn cells(columns: &[ColumnShape], texts: &[String], is_narrow: bool, style: impl Fn(usize) -> Style) -> Line<'static> {
    let mut parts = Vec::new();
    for (at, ((head, width, is_number), text)) in columns.iter().zip(texts).enumerate() {
        if is_narrow && WIDE_ONLY.contains(head) {
            continue;
        }
        let is_last = at + 1 == columns.len();
        let shown: String = if is_last { text.clone() } else { text.chars().take(*width).collect() };
        let blanks = " ".repeat(width.saturating_sub(shown.chars().count()));
        let gap = if is_last { "" } else { " " };
        let (before, after) = if *is_number { (blanks.as_str(), "") } else { ("", blanks.as_str()) };
        parts.push(Text::raw(before.to_owned()));
        parts.push(Text::styled(shown, style(at)));
        parts.push(Text::raw(format!("{after}{gap}")));
    }
    Line::from(parts)
}

fn foot_line(state: &TopState) -> Line<'static> {
    if state.is_typing {
        return Line::from(vec![
            Text::styled("/", bold()),
            Text::raw(state.filter.clone()),
            Text::styled("▏", Style::new().fg(Color::Cyan)),
            Text::styled(" Enter keeps, Esc removes", dim()),
        ]);
    }
    Line::styled("? help  Tab tables  s sort  / filter  Enter process  f freeze  w time  z zero  q end", dim())
}

fn draw_help(out: &mut Buffer, area: Rect) {
    let lines = u16::try_from(HELP.len()).unwrap_or(u16::MAX);
    let (width, height) = (HELP_WIDTH.min(area.width), (lines + 2).min(area.height));
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    let inner = usize::from(width.saturating_sub(2));
    let rule = |left: &str, title: &str, right: &str| {
        let rest = "─".repeat(inner.saturating_sub(title.chars().count()));
        Line::raw(format!("{left}{title}{rest}{right}"))
    };
    put(out, place, 0, &rule("┌", " Keys ", "┐"));
    for (at, (keys, does)) in (1..).zip(HELP) {
        let text: String = format!(" {keys:<11}{does:<inner$}").chars().take(inner).collect();
        put(out, place, at, &Line::raw(format!("│{text}│")));
    }
    put(out, place, height.saturating_sub(1), &rule("└", "", "┘"));
}

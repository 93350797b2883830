//! The text of `trace-cmd report`: one line for each event, and the tree of calls of `function_graph`.
//!
//! A line is `COMM-TID [CPU] SECONDS: EVENT: TEXT`, in the order of monotonic time over all streams; the text is what the
//! kernel's format of the event prints, or `name=value` of its fields where that cannot be told. Calls are drawn as the kernel draws them: one line for a call
//! without others in it, else one where it begins and one where it ends.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
};

use bathyscope_capture::{Cell, Display, ShownCell, StreamSchema, visible};
use bathyscope_views::{Dictionaries, EventText, RecordedCell, RowCursor, RowView, ViewError, stack_cell};

/// The most calls that are drawn: their tree needs all of them in memory.
pub const MAX_REPORT_CALLS: usize = 1 << 20;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Lines.
    pub lines: u64,
    /// Whether there are more than [`MAX_REPORT_CALLS`] calls, of which the later ones were left out.
    pub cut: bool,
}

/// A line and its moment relative to the capture's start.
type Line = (i128, String);

/// The streams' lines, each in order.
enum Lines<'a> {
    Events(Box<RowCursor<'a>>, Option<Box<EventText<'a>>>),
    Calls(std::vec::IntoIter<Line>),
}

/// Writes rows of several streams as `trace-cmd report` does. `start_ns` is when the capture began, monotonic time.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_trace_report(
    streams: Vec<RowCursor<'_>>,
    start_ns: u64,
    out: &mut dyn Write,
) -> Result<Reported, ViewError> {
    let mut reported = Reported::default();
    let mut sources = Vec::new();
    for stream in streams {
        let lines = match CallColumns::of(stream.schema()) {
            Some(columns) => Lines::Calls(call_lines(stream, &columns, start_ns, &mut reported.cut)?.into_iter()),
            None => {
                // What is not understood is shown by its fields.
                let text = EventText::of(stream.schema(), stream.dictionaries()).ok().flatten();
                Lines::Events(Box::new(stream), text.map(Box::new))
            }
        };
        sources.push(lines);
    }
    let mut heads = Vec::new();
    for source in &mut sources {
        heads.push(source.next(start_ns)?);
    }
    loop {
        let times = heads.iter().enumerate().filter_map(|(index, head)| Some((head.as_ref()?.0, index)));
        let Some((_, first)) = times.min() else { return Ok(reported) };
        let (Some(head), Some(source)) = (heads.get_mut(first), sources.get_mut(first)) else { return Ok(reported) };
        if let Some((_, line)) = std::mem::replace(head, source.next(start_ns)?) {
            writeln!(out, "{line}").map_err(ViewError::Write)?;
            reported.lines += 1;
        }
    }
}

impl Lines<'_> {
    fn next(&mut self, start_ns: u64) -> Result<Option<Line>, ViewError> {
        let (cursor, text) = match self {
            Self::Calls(lines) => return Ok(lines.next()),
            Self::Events(cursor, text) => (cursor, text),
        };
        let (schema, dictionaries) = (cursor.schema(), cursor.dictionaries());
        let Some(row) = cursor.next_row()? else { return Ok(None) };
        let time = number(row.value(StreamSchema::TIME));
        if let Some((event, text)) = own_event(schema, &row) {
            return Ok(Some((time, head(&Task::of(&row), time, start_ns, &event) + &text)));
        }
        let mut line = head(&Task::of(&row), time, start_ns, event_name(schema));
        if !text.as_ref().is_some_and(|text| text.write(|column| row.value(column), &mut line)) {
            fields(schema, &row, dictionaries, &mut line);
        }
        Ok(Some((time, line)))
    }
}

/// Who an event happened to.
#[derive(Clone, Debug)]
struct Task {
    comm: String,
    tid: i128,
    cpu: i128,
}

impl Task {
    fn of(row: &RowView<'_>) -> Self {
        let comm = match row.value(StreamSchema::COMM) {
            Cell::Text(bytes) if !bytes.is_empty() => visible(bytes),
            _ => "<...>".to_owned(),
        };
        let tid = number(row.value(StreamSchema::TID));
        let comm = if tid == 0 { "<idle>".to_owned() } else { comm };
        Self { comm, tid, cpu: number(row.value(StreamSchema::CPU)) }
    }
}

fn number(value: RecordedCell<'_>) -> i128 {
    match value {
        Cell::U64(number) => i128::from(number),
        Cell::I64(number) => i128::from(number),
        Cell::Null | Cell::Text(_) | Cell::Stack(_) => 0,
    }
}

/// The event's name without its group.
fn event_name(schema: &StreamSchema) -> &str {
    schema.name.rsplit(':').next().unwrap_or(&schema.name)
}

fn head(task: &Task, time: i128, start_ns: u64, event: &str) -> String {
    let micros = (time + i128::from(start_ns)).max(0) / 1000;
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let event = format!("{}:", visible(event.as_bytes()));
    format!("{:>16}-{:<7} [{:03}] {seconds:>5}.{micros:06}: {event:<20} ", task.comm, task.tid, task.cpu)
}

/// An event of the tracer's own: its name, and its text with a line for each function of a stack.
fn own_event(schema: &StreamSchema, row: &RowView<'_>) -> Option<(String, String)> {
    let column = |name| schema.column(name).filter(|_| schema.name == "ftrace");
    let text = |index: usize| match row.value(index) {
        Cell::Text(bytes) => Some(visible(bytes)),
        _ => None,
    };
    let (event, text) = (text(column("event")?)?, text(column("text")?)?);
    let text = match text.strip_prefix("=> ") {
        Some(stack) => {
            let mut lines = "<stack trace>".to_owned();
            stack.split(" => ").for_each(|function| lines.push_str(&format!("\n => {function}")));
            lines
        }
        None => text,
    };
    Some((event, text))
}

fn fields(schema: &StreamSchema, row: &RowView<'_>, dictionaries: &Dictionaries, line: &mut String) {
    let own = || schema.columns.iter().enumerate().skip(StreamSchema::COMMON.len());
    let text = |value: RecordedCell<'_>| match value {
        Cell::Text(bytes) => visible(bytes),
        _ => String::new(),
    };
    // A function's call reads better as the kernel shows it.
    if let (Some((func, _)), Some((caller, _)), "function") =
        (own().find(|(_, c)| c.name == "func"), own().find(|(_, c)| c.name == "caller"), schema.name.as_str())
    {
        let _infallible = write!(line, "{} <-- {}", text(row.value(func)), text(row.value(caller)));
        return;
    }
    for (position, (index, column)) in own().enumerate() {
        let space = if position == 0 { "" } else { " " };
        let _infallible = write!(line, "{space}{}=", visible(column.name.as_bytes()));
        // Writing to a String cannot fail.
        let _infallible = match row.value(index) {
            Cell::Text(bytes) => write!(line, "{}", visible(bytes)),
            Cell::U64(number) if column.display == Display::Hex => write!(line, "{number:#x}"),
            Cell::Null => write!(line, "?"),
            Cell::Stack(id) => match stack_cell(dictionaries, id) {
                ShownCell::Stack { top, depth, .. } => write!(line, "{top} ({depth} frames)"),
                _ => write!(line, "?"),
            },
            value => write!(line, "{}", number(value)),
        };
    }
}

/// Where the parts of a call are in a row.
struct CallColumns {
    function: usize,
    depth: usize,
    duration: usize,
    state: usize,
}

impl CallColumns {
    fn of(schema: &StreamSchema) -> Option<Self> {
        let column = |name| schema.column(name);
        let is_graph = schema.name == "function_graph";
        let (function, depth) = (column("func").filter(|_| is_graph)?, column("depth")?);
        Some(Self { function, depth, duration: column("duration_ns")?, state: column("state")? })
    }
}

struct CallRow {
    task: Task,
    start: i128,
    end: i128,
    duration: i128,
    depth: usize,
    function: String,
    began: bool,
    ended: bool,
}

/// The lines of all calls, in order of time.
fn call_lines(
    mut rows: RowCursor<'_>,
    columns: &CallColumns,
    start_ns: u64,
    cut: &mut bool,
) -> Result<Vec<Line>, ViewError> {
    // Each CPU has an idle task, and all have the number 0.
    let mut tasks: HashMap<(i128, i128), Vec<CallRow>> = HashMap::new();
    let mut count = 0;
    while let Some(row) = rows.next_row()? {
        count += 1;
        if count > MAX_REPORT_CALLS {
            *cut = true;
            break;
        }
        let call = CallRow::of(&row, columns);
        let key = (call.task.tid, if call.task.tid == 0 { call.task.cpu } else { 0 });
        tasks.entry(key).or_default().push(call);
    }
    let mut lines = Vec::new();
    let mut tasks: Vec<_> = tasks.into_iter().collect();
    tasks.sort_by_key(|(key, _)| *key);
    for (_, mut calls) in tasks {
        calls.sort_by_key(|call| (call.start, call.depth));
        task_lines(&calls, start_ns, &mut lines);
    }
    // Stable: what a task did at one moment stays in its order.
    lines.sort_by_key(|(time, _)| *time);
    Ok(lines)
}

impl CallRow {
    fn of(row: &RowView<'_>, columns: &CallColumns) -> Self {
        let text = |column| match row.value(column) {
            Cell::Text(bytes) => visible(bytes),
            _ => String::new(),
        };
        let (end, duration) = (number(row.value(StreamSchema::TIME)), number(row.value(columns.duration)));
        let state = text(columns.state);
        Self {
            task: Task::of(row),
            start: end - duration,
            end,
            duration,
            depth: usize::try_from(number(row.value(columns.depth))).unwrap_or(0).min(256),
            function: text(columns.function),
            began: state != "unstarted",
            ended: state != "unfinished",
        }
    }
}

/// The lines of one task, whose calls are in the order of their beginning.
fn task_lines(calls: &[CallRow], start_ns: u64, lines: &mut Vec<Line>) {
    let mut open: Vec<&CallRow> = Vec::new();
    let exit = |call: &CallRow, lines: &mut Vec<Line>| {
        if call.ended {
            let what = format!("}} /* {} */", call.function);
            lines.push((call.end, call.line(call.end, start_ns, "funcgraph_exit", &what, true)));
        }
    };
    for (index, call) in calls.iter().enumerate() {
        while let Some(last) = open.pop_if(|last| last.depth >= call.depth) {
            exit(last, lines);
        }
        let has_inner = calls.get(index + 1).is_some_and(|next| next.depth > call.depth && next.start <= call.end);
        if call.began && call.ended && !has_inner {
            let what = format!("{}();", call.function);
            lines.push((call.start, call.line(call.start, start_ns, "funcgraph_entry", &what, true)));
            continue;
        }
        if call.began {
            let what = format!("{}() {{", call.function);
            lines.push((call.start, call.line(call.start, start_ns, "funcgraph_entry", &what, false)));
        }
        open.push(call);
    }
    while let Some(last) = open.pop() {
        exit(last, lines);
    }
}

impl CallRow {
    fn line(&self, time: i128, start_ns: u64, event: &str, what: &str, timed: bool) -> String {
        let mut line = head(&self.task, time, start_ns, event);
        let duration = if timed { duration(self.duration) } else { String::new() };
        // Writing to a String cannot fail.
        let _infallible = write!(line, "{duration:<16}|  {:indent$}{what}", "", indent = 2 * self.depth);
        line
    }
}

/// The kernel's mark for a call of this length: `+` above 10 µs, `!` 100 µs, `#` 1 ms, `*` 10 ms, `@` 100 ms, `$` 1 s.
pub fn duration_mark(ns: u64) -> char {
    let marks =
        [(1_000_000_000, '$'), (100_000_000, '@'), (10_000_000, '*'), (1_000_000, '#'), (100_000, '!'), (10_000, '+')];
    marks.iter().find(|(least, _)| ns > *least).map_or(' ', |(_, mark)| *mark)
}

/// Microseconds with a mark for the long ones, as the kernel writes it.
fn duration(ns: i128) -> String {
    let mark = duration_mark(u64::try_from(ns).unwrap_or(0));
    let micros = (ns / 1000).to_string();
    let rest = format!("{:03}", ns % 1000);
    let room = 7_usize.saturating_sub(micros.len()).min(3);
    let point = if room == 0 { "" } else { "." };
    format!("{mark} {micros}{point}{} us", rest.get(..room).unwrap_or_default())
}

/// Ends the text with a word about what was left out.
///
/// # Errors
/// If the output cannot be written.
pub fn write_report_note(reported: Reported, out: &mut dyn Write) -> io::Result<()> {
    if reported.cut {
        writeln!(out, "# only the first {MAX_REPORT_CALLS} calls are shown; choose some with -F")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_marks() {
        let cases = [
            (0, "  0.000 us"),
            (1_772, "  1.772 us"),
            (14_913, "+ 14.913 us"),
            (803_442, "! 803.442 us"),
            (9_766_643, "# 9766.643 us"),
            (12_350_870, "* 12350.87 us"),
            (3_000_000_000, "$ 3000000 us"),
        ];
        for (ns, expected) in cases {
            assert_eq!(duration(ns), expected);
        }
    }

    /// A call as `began depth function state`.
    fn call(start: i128, end: i128, depth: usize, function: &str, state: &str) -> CallRow {
        let task = Task { comm: "ls".to_owned(), tid: 7, cpu: 1 };
        let (began, ended) = (state != "unstarted", state != "unfinished");
        CallRow { task, start, end, duration: end - start, depth, function: function.to_owned(), began, ended }
    }

    #[test]
    fn calls_are_drawn_as_a_tree() {
        let calls = [
            call(0, 5_000, 3, "before", "unstarted"),
            call(10_000, 90_000, 0, "outer", "returned"),
            call(20_000, 30_000, 1, "leaf", "returned"),
            call(40_000, 80_000, 1, "inner", "returned"),
            call(50_000, 60_000, 2, "deep", "returned"),
            call(100_000, 200_000, 0, "exit", "unfinished"),
        ];
        let mut lines = Vec::new();
        task_lines(&calls, 1_000_000_000, &mut lines);
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.split_once(']').unwrap().1).collect();
        let expected = [
            "     1.000005: funcgraph_exit:        5.000 us      |        } /* before */",
            "     1.000010: funcgraph_entry:                     |  outer() {",
            "     1.000020: funcgraph_entry:       10.000 us     |    leaf();",
            "     1.000040: funcgraph_entry:                     |    inner() {",
            "     1.000050: funcgraph_entry:       10.000 us     |      deep();",
            "     1.000080: funcgraph_exit:      + 40.000 us     |    } /* inner */",
            "     1.000090: funcgraph_exit:      + 80.000 us     |  } /* outer */",
            "     1.000100: funcgraph_entry:                     |  exit() {",
        ];
        assert_eq!(text, expected);
        assert!(lines.iter().all(|(_, line)| line.starts_with("              ls-7       [001]")));
    }
}

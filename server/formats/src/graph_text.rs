//! Calls as ftrace's own file `trace` shows them with the tracer `function_graph` and the option `funcgraph-proc`.

use std::io::{self, Write};

use bathyscope_views::{CallLine, CallState, MAX_CALL_LINES};

const HEAD: &str = "\
# tracer: function_graph
#
# CPU  TASK/PID         DURATION                  FUNCTION CALLS
# |     |    |           |   |                     |   |   |   |
";
/// Letters of a thread's name.
const COMM: usize = 7;
/// Letters of name and number together.
const TASK: usize = 14;

/// What there is behind the calls that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphEnd {
    /// Nothing.
    All,
    /// More than [`MAX_CALL_LINES`], of which these are the first.
    Cut,
    /// So many calls that did not fit into memory.
    LeftOut(u64),
}

/// Writes calls that come as [`bathyscope_views::all_call_lines`] gives them, one after the other.
///
/// # Errors
/// If the output cannot be written.
pub fn write_graph_text(
    calls: impl IntoIterator<Item = CallLine>,
    behind: GraphEnd,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    let mut open: Vec<CallLine> = Vec::new();
    let mut calls = calls.into_iter().peekable();
    while let Some(call) = calls.next() {
        while let Some(last) = open.pop_if(|last| last.tid != call.tid || !contains(last, &call)) {
            end(&last, open.len(), out)?;
        }
        let has_inner = calls.peek().is_some_and(|next| next.tid == call.tid && contains(&call, next));
        let name = &call.function;
        match (call.state, has_inner) {
            (CallState::Returned, false) => line(&call, open.len(), Some(call.duration), &format!("{name}();"), out)?,
            (CallState::Unstarted, false) => end(&call, open.len(), out)?,
            (CallState::Unstarted, true) => open.push(call),
            (CallState::Returned | CallState::Unfinished, _) => {
                line(&call, open.len(), None, &format!("{name}() {{"), out)?;
                open.push(call);
            }
        }
    }
    while let Some(last) = open.pop() {
        end(&last, open.len(), out)?;
    }
    match behind {
        GraphEnd::All => Ok(()),
        GraphEnd::Cut => {
            writeln!(out, "# only the first {MAX_CALL_LINES} calls are shown; `bathyscope report --graph` has all")
        }
        GraphEnd::LeftOut(calls) => {
            writeln!(out, "# {calls} more calls did not fit into memory; narrow the filter to see them")
        }
    }
}

/// Whether a call that comes later in the order of the tree is within `outer`.
fn contains(outer: &CallLine, call: &CallLine) -> bool {
    call.depth > outer.depth && call.start < outer.start.saturating_add_unsigned(outer.duration)
}

fn end(call: &CallLine, level: usize, out: &mut dyn Write) -> io::Result<()> {
    match call.state {
        // It is not known when it ended.
        CallState::Unfinished => Ok(()),
        CallState::Returned => line(call, level, Some(call.duration), "}", out),
        CallState::Unstarted => line(call, level, Some(call.duration), &format!("}} /* {} */", call.function), out),
    }
}

fn line(call: &CallLine, level: usize, duration_ns: Option<u64>, what: &str, out: &mut dyn Write) -> io::Result<()> {
    let comm: String = call.comm.chars().take(COMM).collect();
    let task = format!("{comm}-{}", call.tid);
    let duration = duration_ns.map_or_else(|| " ".repeat(14), duration);
    writeln!(out, " {:>2}) {task:^TASK$} | {duration}|  {:indent$}{what}", call.cpu, "", indent = 2 * level)
}

/// Microseconds with at most seven digits, and a mark for the long ones.
fn duration(ns: u64) -> String {
    let micros = (ns / 1000).to_string();
    let places = 7_usize.saturating_sub(micros.len()).min(3);
    let rest = format!("{:03}", ns % 1000);
    let point = if places == 0 { "" } else { "." };
    let number = format!("{micros}{point}{}", rest.get(..places).unwrap_or_default());
    let room = 8_usize.saturating_sub(number.len());
    format!("{} {number} us {:room$}", crate::duration_mark(ns), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(start: i64, duration: u64, depth: u32, function: &str, state: CallState) -> CallLine {
        let (id, own, cpu, pid, tid, children, inner) = (0, 0, 3, 1808, 1808, 0, 0);
        let (function, comm) = (function.to_owned(), "sshd-session".to_owned());
        CallLine {
            id,
            function,
            start,
            duration,
            own,
            cpu,
            pid,
            tid,
            comm,
            depth,
            state,
            children,
            inner,
            hit: true,
            gap: false,
        }
    }

    #[test]
    fn the_text_is_the_kernels() {
        use CallState::{Returned, Unfinished, Unstarted};
        let calls = [
            call(0, 180_000, 1, "before", Unstarted),
            call(200_000, 40_772, 0, "do_sys_open", Returned),
            call(201_000, 1_772, 1, "getname", Returned),
            call(204_000, 30_000, 1, "do_filp_open", Returned),
            call(205_000, 500, 2, "set_nameidata", Returned),
            call(300_000, 9_000_000, 0, "do_exit", Unfinished),
        ];
        let mut text = Vec::new();
        write_graph_text(calls, GraphEnd::All, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().skip(4).collect();
        let expected = [
            "  3)  sshd-se-1808  | ! 180.000 us  |  } /* before */",
            "  3)  sshd-se-1808  |               |  do_sys_open() {",
            "  3)  sshd-se-1808  |   1.772 us    |    getname();",
            "  3)  sshd-se-1808  |               |    do_filp_open() {",
            "  3)  sshd-se-1808  |   0.500 us    |      set_nameidata();",
            "  3)  sshd-se-1808  | + 30.000 us   |    }",
            "  3)  sshd-se-1808  | + 40.772 us   |  }",
            "  3)  sshd-se-1808  |               |  do_exit() {",
        ];
        assert_eq!(lines, expected);
    }
}

//! The files of tracefs: what is written to each and what is read of it.

use std::ops::Range;

use bathyscope_capture::{TRACE_CLOCKS, refused_tracer};

use super::{FileUse, Tracefs};
use crate::{
    answer::{Marks, Page, Refusal, Result},
    host::Host,
    shell::ExpansionKind,
};

/// Files whose names alone say that they are of tracefs.
const FILES: [&str; 42] = [
    "available_events",
    "available_filter_functions",
    "available_tracers",
    "buffer_size_kb",
    "buffer_total_size_kb",
    "current_tracer",
    "dynamic_events",
    "events",
    "instances",
    "kprobe_events",
    "kprobe_profile",
    "max_graph_depth",
    "options",
    "per_cpu",
    "README",
    "saved_cmdlines",
    "set_event",
    "set_event_pid",
    "set_ftrace_filter",
    "set_ftrace_notrace",
    "set_ftrace_pid",
    "set_graph_function",
    "set_graph_notrace",
    "snapshot",
    "stack_max_size",
    "stack_trace",
    "stack_trace_filter",
    "synthetic_events",
    "trace",
    "trace_clock",
    "trace_marker",
    "trace_options",
    "trace_pipe",
    "tracing_cpumask",
    "tracing_max_latency",
    "tracing_on",
    "tracing_thresh",
    "uprobe_events",
    "uprobe_profile",
    "function_profile_enabled",
    "trace_stat",
    "printk_formats",
];

/// Files that a capture does not set: why, and what is nearest.
const NOT_SET: [(&str, &str, &str); 11] = [
    ("tracing_cpumask", "A capture is of all CPUs.", "Filter the rows: cpu == 1."),
    ("tracing_thresh", "A threshold is not set.", "Sort or filter calls by their duration where they are shown."),
    ("trace_marker", "Texts are not written into a trace by a capture.", "Notes can be put on a time of a capture."),
    ("snapshot", "A capture keeps all that it records.", "Stop it at the moment that matters."),
    (
        "synthetic_events",
        "Synthetic events are not made.",
        "A script of the probe language matches two events by a key.",
    ),
    (
        "function_profile_enabled",
        "Functions are not profiled by ftrace.",
        "The tools kfunccount and kfunclatency count and time functions.",
    ),
    ("stack_max_size", "The stack tracer is not used.", "Remove the line."),
    ("stack_trace_filter", "The stack tracer is not used.", "Remove the line."),
    ("set_event_notrace_pid", "Processes are chosen, not left out.", "Filter the rows: pid != 1."),
    ("set_ftrace_notrace_pid", "Processes are chosen, not left out.", "Filter the rows: pid != 1."),
    ("per_cpu", "A capture is of all CPUs.", "Filter the rows: cpu == 1."),
];

const CLEARS: &str =
    "this clears what this text has set and nothing else: the capture has a tracing instance of its own";
const AT_THE_END: &str = "the capture removes at its end what it has made";

/// The names of files.
pub(crate) fn file_names() -> impl Iterator<Item = &'static str> {
    FILES.into_iter()
}

/// Whether a file of this name is of tracefs.
pub(super) fn is_file(name: &str) -> bool {
    FILES.contains(&name) || NOT_SET.iter().any(|(known, ..)| *known == name)
}

impl Tracefs {
    /// Writes to a file.
    pub(super) fn write(&mut self, used: &FileUse<'_>, host: &dyn Host, marks: &mut Marks) -> Result<()> {
        let is_probes = matches!(used.path.as_str(), "kprobe_events" | "uprobe_events" | "dynamic_events");
        if let (Some(one), false) = (used.word.expansions.iter().find(|one| one.kind != ExpansionKind::Glob), is_probes)
        {
            return Err(one.refusal());
        }
        let text = used.word.text.trim().to_owned();
        if self.has_ended && is_setting_back(&used.path, &text) {
            marks.ignore(&used.at, AT_THE_END);
            return Ok(());
        }
        if let Some(rest) = used.path.strip_prefix("events/") {
            return self.write_event(rest, &text, used, marks);
        }
        if let Some(option) = used.path.strip_prefix("options/") {
            return self.option(&format!("{}{option}", if text == "0" { "no" } else { "" }), used);
        }
        match used.path.as_str() {
            "current_tracer" => self.tracer(&text, used),
            "tracing_on" => {
                self.switch(&text);
                Ok(())
            }
            "trace" => {
                marks.note(&used.at, CLEARS);
                Ok(())
            }
            "set_ftrace_filter" => functions(&mut self.trace.functions, &text, used, marks),
            "set_ftrace_notrace" => functions(&mut self.trace.not_functions, &text, used, marks),
            "set_graph_function" => functions(&mut self.trace.graph_roots, &text, used, marks),
            "set_graph_notrace" => functions(&mut self.trace.graph_not, &text, used, marks),
            "max_graph_depth" => {
                self.trace.max_depth = number(&text, used)?.filter(|depth| *depth > 0);
                Ok(())
            }
            "buffer_size_kb" => {
                self.trace.buffer_kib = number(&text, used)?;
                Ok(())
            }
            "trace_options" => text.split_whitespace().try_for_each(|option| self.option(option, used)),
            "trace_clock" => self.clock(&text, used),
            "set_ftrace_pid" | "set_event_pid" => self.processes(&text, used),
            "set_event" => self.set_event(&text, used, marks),
            "kprobe_events" | "uprobe_events" | "dynamic_events" => self.define(used, host, marks),
            "tracing_max_latency" => {
                marks.ignore(&used.at, "each capture begins with a latency of its own");
                Ok(())
            }
            path => Err(not_set(path, used)),
        }
    }

    /// Reads a file.
    pub(super) fn show(&mut self, path: &str, at: &Range<usize>, _host: &dyn Host, marks: &mut Marks) -> Result<()> {
        let page = |kind: &str, text: &str| Page::new("/catalog", &[("q", text), ("kind", kind)]);
        let mut event = path.strip_prefix("events/").unwrap_or_default().split('/');
        let shown = match path {
            "trace" | "trace_pipe" | "per_cpu/cpu0/trace" | "tracing_max_latency" | "snapshot" => {
                self.reads = true;
                self.has_ended |= path == "trace" && (self.is_on || self.argv.is_some() || self.duration_ms.is_some());
                return Ok(());
            }
            "available_tracers" | "current_tracer" => (
                page("tracer", ""),
                "Shows the tracers of this kernel, what each is for, and which option a missing one needs.".to_owned(),
            ),
            "available_filter_functions" | "set_ftrace_filter" => {
                (page("function", ""), "Shows the functions of this kernel and how each can be probed.".to_owned())
            }
            "available_events" | "set_event" => {
                (page("tracepoint", ""), "Shows the tracepoints of this kernel.".to_owned())
            }
            "kprobe_profile" | "uprobe_profile" | "kprobe_events" | "uprobe_events" | "dynamic_events" => (
                Page::new("/host", &[]),
                "Shows the dynamic events that there are now, with their hits and misses.".to_owned(),
            ),
            "events" => (page("tracepoint", ""), "Shows the tracepoints of this kernel.".to_owned()),
            path if path.starts_with("events/") => {
                let names: Vec<&str> = event
                    .by_ref()
                    .take(2)
                    .filter(|name| !matches!(*name, "format" | "enable" | "filter" | "id"))
                    .collect();
                let name = names.join(":");
                (page("tracepoint", &name), format!("Shows {name} with its fields."))
            }
            path => {
                marks.ignore(at, format!("{path} has no meaning here: what a capture has set is on its page"));
                return Ok(());
            }
        };
        self.page = Some(shown);
        Ok(())
    }

    fn tracer(&mut self, text: &str, used: &FileUse<'_>) -> Result<()> {
        if text == "nop" || text.is_empty() {
            self.trace.tracer = None;
            return Ok(());
        }
        if let Some(why) = refused_tracer(text) {
            return Err(refuse(used, format!("the tracer {text} is not for this: {why}"), "Choose another one."));
        }
        self.trace.tracer = Some(text.to_owned());
        Ok(())
    }

    fn switch(&mut self, text: &str) {
        match text {
            "1" => self.is_on = true,
            _ if self.is_on || self.argv.is_some() || self.duration_ms.is_some() => self.has_ended = true,
            _ => {}
        }
    }

    fn option(&mut self, text: &str, used: &FileUse<'_>) -> Result<()> {
        let (name, on) = match text.strip_prefix("no") {
            Some(name) => (name, false),
            None => (text, true),
        };
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if name.is_empty() || !plain {
            return Err(refuse(
                used,
                format!("`{text}` is no option of ftrace"),
                "Write its name, with `no` before it to switch it off.",
            ));
        }
        if name == "overwrite" {
            self.trace.overwrite = on;
            return Ok(());
        }
        self.trace.options.retain(|(known, _)| known != name);
        self.trace.options.push((name.to_owned(), on));
        Ok(())
    }

    fn clock(&mut self, text: &str, used: &FileUse<'_>) -> Result<()> {
        if !TRACE_CLOCKS.contains(&text) {
            let why = format!("times of the clock `{text}` cannot be compared with those of other captures");
            return Err(refuse(used, why, "Write mono, mono_raw or boot, or leave the line out."));
        }
        self.trace.clock = (text != "mono").then(|| text.to_owned());
        Ok(())
    }

    fn processes(&mut self, text: &str, used: &FileUse<'_>) -> Result<()> {
        if !used.appends {
            self.pids.clear();
        }
        for word in text.split_whitespace() {
            match word.parse::<u32>() {
                Ok(pid) if pid > 0 && !self.pids.contains(&pid) => self.pids.push(pid),
                Ok(pid) if pid > 0 => {}
                _ => return Err(refuse(used, format!("`{word}` is no process id"), "Write a number.")),
            }
        }
        Ok(())
    }
}

/// A refusal of what is written.
pub(super) fn refuse(used: &FileUse<'_>, why: impl Into<String>, remedy: impl Into<String>) -> Refusal {
    let at = if used.word.source.is_empty() { used.at.clone() } else { used.word.source.clone() };
    Refusal::new(at, why, remedy)
}

fn not_set(path: &str, used: &FileUse<'_>) -> Refusal {
    let first = path.split('/').next().unwrap_or(path);
    match NOT_SET.iter().find(|(name, ..)| *name == first) {
        Some((name, why, nearest)) => Refusal::new(used.at.clone(), format!("{name} is not set. {why}"), *nearest),
        None => {
            let near = bathyscope_catalog::closest(first, FILES).map(|near| format!("Did you mean {near}?"));
            let why = format!("{path} is no file of tracefs that a capture sets");
            Refusal::new(used.at.clone(), why, near.unwrap_or_else(|| "Leave the line out.".to_owned()))
        }
    }
}

fn number(text: &str, used: &FileUse<'_>) -> Result<Option<u32>> {
    text.parse::<u32>().map(Some).map_err(|_number| refuse(used, format!("`{text}` is no number"), "Write a number."))
}

/// Names and patterns of functions, as the kernel's files take them.
fn functions(list: &mut Vec<String>, text: &str, used: &FileUse<'_>, marks: &mut Marks) -> Result<()> {
    if !used.appends {
        list.clear();
    }
    marks.mark(&used.word.source, crate::answer::SpanKind::Event);
    for word in text.split_whitespace() {
        if let Some(name) = word.strip_prefix('!') {
            list.retain(|known| known != name);
        } else if word.contains(':') && !word.contains(":mod:") {
            let why = format!("`{word}` is a command of ftrace that acts on the machine");
            return Err(refuse(used, why, "Write names and patterns of functions, or PATTERN:mod:MODULE."));
        } else if word != "*" && !list.iter().any(|known| known == word) {
            list.push(word.to_owned());
        }
    }
    Ok(())
}

/// Whether a line at the end of a trace only sets back what lines before it have set.
fn is_setting_back(path: &str, text: &str) -> bool {
    let empties =
        text.is_empty() || matches!(text, "0" | "nop" | "!*") || text.starts_with('!') || text.starts_with("no");
    empties || path.ends_with("_events") && text.starts_with('-')
}

//! What a person asks of the kernel's own tracer, ftrace: a tracer, functions, events with filters in the kernel's own
//! language, probes in the kernel's own grammar.
//!
//! Constraints: no I/O. The rules here are about form: what is safe to put into a line that the kernel reads. Whether
//! there is such a function, event or option only the kernel knows. Nothing that passes these rules can hold a second
//! line, a comment, or one of the commands that `set_ftrace_filter` takes beside names.

use serde::{Deserialize, Serialize};

use crate::spec::{DynamicProbe, SpecError, TracepointName, in_range, one_line};

/// The most events in one trace.
pub const MAX_TRACE_EVENTS: usize = 256;
/// The most dynamic events in one trace.
pub const MAX_DYNAMIC_EVENTS: usize = 64;
/// The most lines of each list of functions.
pub const MAX_FUNCTION_LINES: usize = 256;
/// The longest pattern of functions, in bytes.
pub const MAX_FUNCTION_BYTES: usize = 256;
/// The longest filter of an event, in bytes; the kernel takes less than a page.
pub const MAX_FILTER_BYTES: usize = 4000;
/// The most options.
pub const MAX_TRACE_OPTIONS: usize = 64;
/// The smallest buffer, in KiB for each CPU.
pub const MIN_TRACE_BUFFER_KIB: u32 = 16;
/// The largest buffer, in KiB for each CPU.
pub const MAX_TRACE_BUFFER_KIB: u32 = 256 << 10;
/// The clocks whose stamps can be put beside those of other captures: nanoseconds that never go back.
pub const TRACE_CLOCKS: [&str; 3] = ["mono", "mono_raw", "boot"];
/// The deepest limit of a call graph, as deep as the kernel's own stack of returns.
const MAX_GRAPH_DEPTH: u32 = 256;
/// Tracers that are not for this: they stop or change the machine.
const REFUSED_TRACERS: [(&str, &str); 3] = [
    (
        "blk",
        "it records only what is switched on for each device in sysfs, which Bathyscope does not do; record the events of the \
         subsystem block, which are the same moments",
    ),
    ("nop", "it records nothing; leave the tracer out"),
    ("mmiotrace", "it takes all CPUs but one offline; use it by hand on a machine that may stop"),
];
/// Options that are not for this: they change what others see.
const REFUSED_OPTIONS: [(&str, &str); 2] = [
    ("trace_printk_dest", "it takes the output of trace_printk() away from everybody else"),
    ("pause-on-trace", "it has no effect on a buffer that is read as pages"),
];

/// A trace by the kernel's ftrace: all that is asked for is set up in a tracing instance of the capture's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceSpec {
    /// The tracer by its name in `available_tracers`; none records events only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracer: Option<String>,
    /// Functions to trace: patterns with `*`, `?` and `[…]`, or `PATTERN:mod:MODULE`; none means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Functions not to trace, in the same form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_functions: Vec<String>,
    /// Functions whose calls the graph begins with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graph_roots: Vec<String>,
    /// Functions that the graph leaves out with all that they call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graph_not: Vec<String>,
    /// How deep the graph goes, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// Events to record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TraceEvent>,
    /// Probes to make and record: at functions of the kernel, at functions and places in files, on other events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dynamic: Vec<DynamicProbe>,
    /// Options of `trace_options`, by name, on or off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<(String, bool)>,
    /// One of [`TRACE_CLOCKS`]; none means `mono`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// KiB of buffer for each CPU; none leaves it to the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_kib: Option<u32>,
    /// Whether a full buffer loses its oldest events; otherwise it loses the new ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
}

/// An event of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEvent {
    /// Which.
    pub event: TracepointName,
    /// A condition in the kernel's own filter language, which the kernel checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// Why a tracer of the kernel is not for this, if so.
pub fn refused_tracer(name: &str) -> Option<&'static str> {
    REFUSED_TRACERS.iter().find(|(refused, _)| *refused == name).map(|(_, why)| *why)
}

impl TraceSpec {
    /// See [`crate::Method::without_texts`].
    pub(super) fn without_texts(&self, name: &dyn Fn(&str) -> String) -> Self {
        let names = |names: &[String]| -> Vec<String> { names.iter().map(|one| name(one)).collect() };
        Self {
            tracer: self.tracer.clone(),
            functions: names(&self.functions),
            not_functions: names(&self.not_functions),
            graph_roots: names(&self.graph_roots),
            graph_not: names(&self.graph_not),
            max_depth: self.max_depth,
            events: self.events.iter().map(|event| TraceEvent { filter: None, ..event.clone() }).collect(),
            options: self.options.clone(),
            clock: self.clock.clone(),
            buffer_kib: self.buffer_kib,
            overwrite: self.overwrite,
            dynamic: Vec::new(),
        }
    }

    /// The clock of its stamps.
    pub fn clock(&self) -> &str {
        self.clock.as_deref().unwrap_or("mono")
    }

    /// What it records, in a few words: the tracer, or the first event.
    pub fn title(&self) -> String {
        let events = self.events.iter().map(|event| event.event.to_string());
        let mut all =
            self.tracer.iter().cloned().chain(events).chain(self.dynamic.iter().map(|probe| probe.typed.clone()));
        let Some(first) = all.next() else { return "an empty trace".to_owned() };
        match all.count() {
            0 => first,
            more => format!("{first} and {more} more"),
        }
    }

    /// Checks everything that can be checked without a host.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.tracer.is_none() && self.events.is_empty() && self.dynamic.is_empty() {
            return Err(SpecError::EmptyTrace);
        }
        self.validate_tracer()?;
        self.validate_functions()?;
        self.validate_events()?;
        in_range("the number of options", self.options.len() as u64, 0, MAX_TRACE_OPTIONS as u64)?;
        self.options.iter().try_for_each(|(name, _on)| validate_option(name))?;
        if !TRACE_CLOCKS.contains(&self.clock()) {
            let rule = "its timestamps cannot be compared with those of other captures; use mono, mono_raw or boot";
            return Err(part("the clock", self.clock(), rule));
        }
        let kib = self.buffer_kib.unwrap_or(MIN_TRACE_BUFFER_KIB);
        let (least, most) = (u64::from(MIN_TRACE_BUFFER_KIB), u64::from(MAX_TRACE_BUFFER_KIB));
        in_range("the buffer of each CPU in KiB", u64::from(kib), least, most)
    }

    fn validate_tracer(&self) -> Result<(), SpecError> {
        let Some(tracer) = &self.tracer else { return Ok(()) };
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if tracer.is_empty() || tracer.len() > 32 || !tracer.bytes().all(allowed) {
            return Err(part("the tracer", tracer, "tracers have names such as function_graph"));
        }
        refused("the tracer", tracer, &REFUSED_TRACERS)
    }

    fn validate_functions(&self) -> Result<(), SpecError> {
        let lists = [&self.functions, &self.not_functions, &self.graph_roots, &self.graph_not];
        for list in lists {
            in_range("the number of functions of a list", list.len() as u64, 0, MAX_FUNCTION_LINES as u64)?;
            list.iter().try_for_each(|line| validate_function(line))?;
        }
        let graph = !self.graph_roots.is_empty() || !self.graph_not.is_empty() || self.max_depth.is_some();
        if graph && self.tracer.as_deref() != Some("function_graph") {
            let tracer = self.tracer.as_deref().unwrap_or("none");
            return Err(part("the tracer", tracer, "roots and depth of a graph need the tracer function_graph"));
        }
        if self.tracer.is_none() && !(self.functions.is_empty() && self.not_functions.is_empty()) {
            let rule = "a choice of functions needs a tracer of functions, such as function or function_graph";
            return Err(part("the tracer", "none", rule));
        }
        let depth = u64::from(self.max_depth.unwrap_or(1));
        in_range("the depth of the graph", depth, 1, u64::from(MAX_GRAPH_DEPTH))
    }

    fn validate_events(&self) -> Result<(), SpecError> {
        in_range("the number of events", self.events.len() as u64, 0, MAX_TRACE_EVENTS as u64)?;
        for (index, TraceEvent { event, filter }) in self.events.iter().enumerate() {
            if self.events.iter().take(index).any(|earlier| earlier.event == *event) {
                return Err(part("the event", &event.to_string(), "it is listed twice; list it once"));
            }
            if event.system() == "ftrace" {
                let rule = "it is the tracer's own and cannot be switched on; choose a tracer instead";
                return Err(part("the event", &event.to_string(), rule));
            }
            if let Some(filter) = filter {
                in_range("the length of a filter in bytes", filter.len() as u64, 1, MAX_FILTER_BYTES as u64)?;
                one_line("a filter", filter)?;
            }
        }
        in_range("the number of dynamic events", self.dynamic.len() as u64, 0, MAX_DYNAMIC_EVENTS as u64)?;
        self.dynamic.iter().try_for_each(DynamicProbe::validate)
    }
}

fn part(what: &'static str, text: &str, rule: &'static str) -> SpecError {
    SpecError::TracePart { what, text: text.chars().take(80).collect(), rule }
}

fn refused(what: &'static str, name: &str, list: &'static [(&'static str, &'static str)]) -> Result<(), SpecError> {
    let found = list.iter().find(|(refused, _why)| *refused == name);
    found.map_or(Ok(()), |(_name, why)| Err(part(what, name, why)))
}

/// `PATTERN` or `PATTERN:mod:MODULE`. The kernel's files take more than that: `!…` removes, a number is a place in a list,
/// and `PATTERN:traceoff` and the like are commands that act on the machine.
fn validate_function(line: &str) -> Result<(), SpecError> {
    const RULE: &str = "write a name or a pattern such as vfs_*, or PATTERN:mod:MODULE";
    let (pattern, module) = match line.split_once(':') {
        Some((pattern, rest)) => (pattern, rest.strip_prefix("mod:").ok_or_else(|| part("the function", line, RULE))?),
        None => (line, "any"),
    };
    let in_pattern = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$*?[]!^-".contains(&byte);
    let in_module = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*".contains(&byte);
    let begins_well = !pattern.starts_with(|first: char| first == '!' || first.is_ascii_digit());
    let right = line.len() <= MAX_FUNCTION_BYTES
        && !pattern.is_empty()
        && begins_well
        && pattern.bytes().all(in_pattern)
        && !module.is_empty()
        && module.bytes().all(in_module);
    if right { Ok(()) } else { Err(part("the function", line, RULE)) }
}

fn validate_option(name: &str) -> Result<(), SpecError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > 48 || !name.bytes().all(allowed) || name.starts_with("no") && name != "no" {
        return Err(part("the option", name, "name it as in trace_options without `no`, and say on or off"));
    }
    refused("the option", name, &REFUSED_OPTIONS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn graph() -> TraceSpec {
        TraceSpec { tracer: Some("function_graph".to_owned()), ..TraceSpec::default() }
    }

    #[test]
    fn functions_are_names_and_patterns_and_never_commands() {
        let cases = [
            ("vfs_read", true),
            ("vfs_*", true),
            ("*:mod:ext4", true),
            ("tcp_v[46]_rcv", true),
            ("foo.constprop.0", true),
            ("", false),
            ("!vfs_read", false),
            ("12", false),
            ("vfs_read:traceoff", false),
            ("vfs_read:mod:", false),
            ("vfs_read:mod:ext4:traceoff", false),
            ("vfs_read vfs_write", false),
            ("vfs_read\nvfs_write", false),
        ];
        for (line, right) in cases {
            let spec = TraceSpec { functions: vec![line.to_owned()], ..graph() };
            assert_eq!(spec.validate().is_ok(), right, "{line:?}");
        }
        assert!(TraceSpec { functions: vec!["x".repeat(MAX_FUNCTION_BYTES + 1)], ..graph() }.validate().is_err());
    }

    #[test]
    fn what_would_record_nothing_or_harm_others_is_refused() {
        assert_eq!(TraceSpec::default().validate(), Err(SpecError::EmptyTrace));
        let tracer = |name: &str| TraceSpec { tracer: Some(name.to_owned()), ..TraceSpec::default() }.validate();
        assert!(tracer("function").is_ok() && tracer("wakeup_rt").is_ok());
        for name in ["nop", "mmiotrace", "blk", "", "a b", "Function"] {
            assert!(tracer(name).is_err(), "{name}");
        }
        let option = |name: &str| TraceSpec { options: vec![(name.to_owned(), true)], ..graph() }.validate();
        assert!(
            option("funcgraph-proc").is_ok() && option("trace_printk_dest").is_err() && option("nooverwrite").is_err()
        );
        let clock = |name: &str| TraceSpec { clock: Some(name.to_owned()), ..graph() }.validate();
        assert!(clock("boot").is_ok() && clock("local").is_err() && clock("x86-tsc").is_err());
        let event = |name: &str| TraceEvent { event: name.parse().unwrap(), filter: None };
        let events = |events: Vec<TraceEvent>| TraceSpec { events, ..TraceSpec::default() }.validate();
        assert!(events(vec![event("a:b"), event("a:c")]).is_ok());
        assert!(events(vec![event("a:b"), event("a:b")]).is_err() && events(vec![event("ftrace:function")]).is_err());
        let depth = TraceSpec { max_depth: Some(1), tracer: Some("function".to_owned()), ..TraceSpec::default() };
        assert!(depth.validate().is_err() && TraceSpec { max_depth: Some(1), ..graph() }.validate().is_ok());
    }
}

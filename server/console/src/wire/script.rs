//! What is said about scripts.

use bathyscope_bpf::lang::place;
use bathyscope_capture::{ScriptProbe, visible};
use bathyscope_plan::{Diagnostic, Severity};
use serde::Serialize;

/// A message about a script, with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScriptMessage {
    /// `error` or `warning`.
    severity: &'static str,
    message: String,
    /// What would be right; may be empty.
    hint: String,
    /// From 1; 0 where the text is not at hand.
    line: u32,
    /// From 1, in characters.
    column: u32,
    end_line: u32,
    end_column: u32,
    /// First byte of the text that it is about, and the first after it.
    start: u32,
    end: u32,
    /// More, such as the verifier's log.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
}

impl ScriptMessage {
    /// A message about `text`.
    pub fn new(text: &str, diagnostic: &Diagnostic) -> Self {
        let (first, last) = (place(text, diagnostic.start), place(text, diagnostic.end));
        let known = u32::from(!text.is_empty());
        Self {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: lines(&diagnostic.message),
            hint: lines(&diagnostic.hint),
            line: first.line * known,
            column: first.column * known,
            end_line: last.line * known,
            end_column: last.column * known,
            start: diagnostic.start,
            end: diagnostic.end,
            detail: lines(&diagnostic.detail),
        }
    }
}

/// Text of several lines, each made visible.
fn lines(text: &str) -> String {
    text.split('\n').map(|line| visible(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

/// One program of a script, with what it counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    name: String,
    line: u32,
    attached: u32,
    hits: u64,
    filtered: u64,
    ring_full: u64,
    map_full: u64,
    helper_failed: u64,
    stack_lost: u64,
    missed: u64,
    nested: u64,
    ns_per_hit: Option<f64>,
}

impl From<&ScriptProbe> for Probe {
    fn from(probe: &ScriptProbe) -> Self {
        Self {
            name: visible(probe.name.as_bytes()),
            line: probe.line,
            attached: probe.attached,
            hits: probe.hits,
            filtered: probe.filtered,
            ring_full: probe.ring_full,
            map_full: probe.map_full,
            helper_failed: probe.helper_failed,
            stack_lost: probe.stack_lost,
            missed: probe.missed,
            nested: probe.nested,
            ns_per_hit: probe.ns_per_hit,
        }
    }
}
